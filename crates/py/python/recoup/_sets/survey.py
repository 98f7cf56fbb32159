"""When each file begins and ends, and which connections it shares with others: what chains by time are made of.

The rules are those of Recoup's note that one capture continues another (``lab::analysis::continuity``): connections that are
open at the end of one go on in the other, which begins less than 10 s later.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator

import pyarrow as pa

import recoup

from .chains import Chain
from .fetched import Fetched, Workplace
from .request import Request
from .storage import File, Vanished

#: A file that begins this long after the end of another one, or later, does not continue it (ns).
_LONGEST_GAP = 10_000_000_000

#: Files that begin up to this long before the end of another one may still continue it (ns).
_LONGEST_OVERLAP = 1_000_000_000

#: Connections in a sample.
_MOST_SAMPLED = 1024

SCHEMA = pa.schema(
    [
        ("file", pa.string()),
        ("bytes", pa.int64()),
        ("begun", pa.int64()),
        ("ended", pa.int64()),
        ("begun_before", pa.list_(pa.int64())),
        ("open_at_end", pa.list_(pa.int64())),
    ]
)


def run(request: Request, files: tuple[File, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of files."""
    with Workplace() as workplace:

        def begin(item: tuple[int, File]) -> tuple[File, Fetched]:
            number, file = item
            chain = Chain(file.uri, (file,))
            return file, Fetched(workplace, workplace.folder(number), request.store, chain, 0)

        rows = [_row(request, file, fetched) for file, fetched in workplace.ahead(begin, enumerate(files))]
    yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _row(request: Request, file: File, fetched: Fetched) -> dict:
    """The row of a file. A file that cannot be read has no times: it becomes a chain of its own, whose analysis says why."""
    row = {"file": file.uri, "bytes": file.size, "begun_before": [], "open_at_end": []}
    try:
        with fetched.file(0) as path:
            connections = _connections(path, request)
    except Vanished:
        return row
    return row | _ends(pa.table(connections)) if connections is not None and len(connections) else row


def _connections(path: str, request: Request) -> recoup.Table | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return recoup.analyze(path, threads=request.options.get("threads"), progress=False).connections
    except recoup.CaptureError:
        return None


def _ends(connections: pa.Table) -> dict:
    columns = ("src", "dst", "opening", "closing")
    begun_before, open_at_end = set(), set()
    for src, dst, opening, closing in zip(*(connections[name].to_pylist() for name in columns)):
        if opening == "mid_connection":
            begun_before.add(_digest(src, dst))
        if closing == "capture_end":
            open_at_end.add(_digest(src, dst))
    times = [connections[name].cast(pa.int64()).to_pylist() for name in ("begun", "ended")]
    return {
        "begun": min(times[0]),
        "ended": max(times[1]),
        # The smallest digests: samples of two files have connections in common if the files do.
        "begun_before": sorted(begun_before)[:_MOST_SAMPLED],
        "open_at_end": sorted(open_at_end)[:_MOST_SAMPLED],
    }


def _digest(src: str, dst: str) -> int:
    """The same for both directions."""
    ends = " ".join(sorted((src, dst)))
    return int.from_bytes(hashlib.sha256(ends.encode()).digest()[:8], "big", signed=True)


def by_time(rows: pa.Table) -> list[Chain]:
    """Chains of files that continue each other. The key of a chain is its first file's URI."""
    files = rows.to_pylist()
    untimed = [row for row in files if row["begun"] is None]
    timed = sorted((row for row in files if row["begun"] is not None), key=lambda row: (row["begun"], row["file"]))
    chains: list[list[dict]] = []
    for row in timed:
        begun_before = set(row["begun_before"])
        best, most = None, 0
        for chain in chains:
            gap = row["begun"] - chain[-1]["ended"]
            if -_LONGEST_OVERLAP <= gap < _LONGEST_GAP:
                common = len(begun_before.intersection(chain[-1]["open_at_end"]))
                if common > most:
                    best, most = chain, common
        if best is None:
            chains.append([row])
        else:
            best.append(row)
    chains.extend([row] for row in untimed)
    made = [Chain(chain[0]["file"], tuple(File(row["file"], row["bytes"]) for row in chain)) for chain in chains]
    return sorted(made)
