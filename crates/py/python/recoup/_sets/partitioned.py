"""A chain that is too long for one worker: its packets are first divided by connection (:mod:`recoup.partition`).

::

    split (a task for each file) -> plan (here) -> analyze (a task for each partition) -> settle (here) -> rows, or analyze again

What tasks leave for each other stands under ``scratch``. In an object store, each worker copies what it needs to a folder of
its own machine, whose path is the same everywhere: the plan holds paths. A shared file system is used as it is.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from .. import partition
from .._recoup import CaptureError, RecoupError
from .chains import Chain
from .fetched import named
from .request import Request, conform
from .storage import Store

_TABLES = ("retransmissions", "episodes", "connections", "summary")

#: Where workers keep copies of objects: a path that is the same on all of them.
_STAGING = "/var/tmp/recoup-partitions"

#: What tasks hand back: a number and bytes.
SCHEMA = pa.schema([("number", pa.int64()), ("value", pa.large_binary()), ("files", pa.list_(pa.string()))])

#: How the names of the files end that a split leaves: the packets of its partitions, and their record.
_RESULTS = (".parquet", ".packets")

#: The name of a file with the packets of a partition.
_PACKETS = re.compile(r"\.(\d+)-of-\d+\.parquet$")

Execute = Callable[[list, pa.Schema], pa.Table]


@dataclass(frozen=True)
class Scratch:
    """Where the tasks of a chain leave files for each other."""

    store: Store
    uri: str

    @property
    def folder(self) -> str:
        """The folder on this machine."""
        if self.store.has_objects(self.uri):
            return f"{_STAGING}-{hashlib.sha256(self.uri.encode()).hexdigest()[:16]}"
        return self.store.local_path(self.uri)

    def share(self, path: str) -> None:
        """Hands a file of the folder to other machines."""
        if self.store.has_objects(self.uri):
            self.store.send(path, self._uri(path))
            os.unlink(path)

    def need(self, path: str) -> None:
        """Fetches a file of the folder, if another machine made it."""
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            part = f"{path}.{os.getpid()}.part"
            self.store.fetch(self._uri(path), part)
            os.replace(part, path)

    def done(self, path: str) -> None:
        """Removes this machine's copy of a shared file."""
        if self.store.has_objects(self.uri) and os.path.exists(path):
            os.unlink(path)

    def clear(self, paths: list[str]) -> None:
        """Removes everything when the rows are there."""
        for path in paths:
            self.store.remove(self._uri(path))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _uri(self, path: str) -> str:
        return posixpath.join(self.uri, os.path.relpath(path, self.folder).replace(os.sep, "/"))


@dataclass(frozen=True)
class SplitTask:
    """Divides the packets of a file."""

    request: Request
    scratch: Scratch
    chain: Chain
    position: int
    partitions: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        folder = os.path.join(self.scratch.folder, f"{self.position:08d}")
        os.makedirs(folder, exist_ok=True)
        capture = os.path.join(folder, f"at-{self.position:08d}.capture")
        self.request.store.fetch(self.chain.files[self.position].uri, capture)
        split = partition.split(capture, folder, self.partitions, **self.request.options)
        os.unlink(capture)
        # What an attempt that was killed has left has another name.
        names = (name for name in os.listdir(folder) if name.endswith(_RESULTS))
        files = sorted(os.path.join(folder, name) for name in names)
        for path in files:
            self.scratch.share(path)
        yield pa.RecordBatch.from_pylist([{"number": self.position, "value": split.record, "files": files}], schema=SCHEMA)


@dataclass(frozen=True)
class AnalyzeTask:
    """Analyzes a partition."""

    request: Request
    scratch: Scratch
    plan: bytes
    number: int
    facts: bytes | None
    #: The files of the partition.
    files: tuple[str, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self.files:
            self.scratch.need(path)
        found = partition.analyze(self.plan, self.number, self.facts, table=self.request.table, **self.request.options)
        for path in self.files:
            self.scratch.done(path)
        yield pa.RecordBatch.from_pylist([{"number": self.number, "value": found, "files": []}], schema=SCHEMA)


def check(request: Request, partitions: int, scratch: str | None) -> None:
    """Whether these arguments go together."""
    if request.table not in _TABLES:
        raise RecoupError(f"partitions: the table {request.table} has none: expected one of {', '.join(_TABLES)}")
    if scratch is None:
        raise RecoupError("partitions: expected scratch too: a URI that all workers can write to")
    if request.checkpoint is not None:
        raise RecoupError("partitions and checkpoint: expected one of them")
    if not 1 <= partitions <= 256:
        raise RecoupError(f"partitions={partitions}: expected 1 to 256")


def run(request: Request, chain: Chain, partitions: int, scratch: str, execute: Execute) -> pa.Table:
    """The rows of a chain, in the order of one analysis of its files joined."""
    digest = hashlib.sha256(repr((chain, sorted(request.options.items()), os.urandom(8))).encode()).hexdigest()[:16]
    shared = Scratch(request.store, posixpath.join(scratch, digest))
    splits = [SplitTask(request, shared, chain, at, partitions) for at in range(len(chain.files))]
    split = execute(splits, SCHEMA).sort_by("number").to_pylist()
    files = [path for row in split for path in row["files"]]
    try:
        for path in files:
            if not _is_of_partition(path):
                shared.need(path)
        plan = partition.plan([row["value"] for row in split], **request.options)
        _report(request, chain, plan.failures)
        settled = _analyzed(request, shared, plan, files, execute)
    finally:
        shared.clear(files)
    for note in settled.notes:
        warnings.warn(named(note, chain), RuntimeWarning, stacklevel=3)
    rows = pa.table(settled.table)
    if "file" in rows.column_names:
        uris = [named(name, chain) for name in rows["file"].to_pylist()]
        rows = rows.set_column(rows.column_names.index("file"), "file", pa.array(uris, pa.string()))
    elif request.table == "retransmissions":
        place = rows.column_names.index("frame") + 1
        rows = rows.add_column(place, "file_frame", rows["frame"])
        rows = rows.add_column(place, "file", pa.array([chain.files[0].uri] * rows.num_rows, pa.string()))
    return conform(rows, request.table, chain.key)


def _analyzed(request: Request, shared: Scratch, plan: partition.Plan, files: list[str], execute: Execute) -> partition.Settled:
    """Pass after pass over the partitions, until none needs another one."""
    analyses: dict[int, bytes] = {}
    again, facts = list(range(plan.partitions)), None
    while True:
        tasks = []
        for number in again:
            own = tuple(path for path in files if _is_of_partition(path, number))
            tasks.append(AnalyzeTask(request, shared, plan.value, number, facts, own))
        for row in execute(tasks, SCHEMA).to_pylist():
            analyses[row["number"]] = row["value"]
        settled = partition.settle(plan.value, [analyses[number] for number in sorted(analyses)], table=request.table)
        if settled.table is not None:
            return settled
        again, facts = settled.again, settled.facts


def _is_of_partition(path: str, number: int | None = None) -> bool:
    """Whether a file of a split holds packets, of this partition or of any."""
    found = _PACKETS.search(path)
    return found is not None and number in (None, int(found.group(1)))


def _report(request: Request, chain: Chain, failures: list[str]) -> None:
    lines = [named(line, chain) for line in failures]
    if lines and request.on_error == "raise":
        raise CaptureError(f"{lines[0]}: on_error='skip' leaves such files out")
    for line in lines:
        warnings.warn(line, RuntimeWarning, stacklevel=4)
