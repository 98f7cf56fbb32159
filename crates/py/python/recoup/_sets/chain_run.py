"""The analysis of one chain: from file to file, in one task."""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

import recoup

from .._recoup import CaptureError, StateError
from .chains import Chain, Ordered, ordered
from .checkpoint import Checkpoint, Progress
from .request import ORDER, Request, conform, empty
from .storage import unlink_after

#: Rows handed to the engine at a time.
_ROWS = 1 << 16

#: A file's name on this machine: its position in the chain. States and rows carry it from worker to worker.
LOCAL = re.compile(r"(?:[^\s,:;]*/)?at-(\d{8})\.capture")

#: Views whose records are merged by key.
_KEYS = {view: ORDER[view] for view in ("retransmissions", "connections")}


def run(request: Request, chain: Chain) -> Iterator[pa.RecordBatch]:
    """The rows of a chain, in the order of one analysis of its files joined."""
    run = _ChainRun(request, ordered(chain, request.store))
    if request.table == "intervals":
        rows = run.joined()
    else:
        rows = run.continued()
    rows = conform(rows, request.table, chain.key) if rows is not None else empty(request.table)
    run.report()
    batches = rows.combine_chunks().to_batches(max_chunksize=_ROWS)
    # Without rows, an engine learns the columns from an empty batch.
    yield from batches or [pa.RecordBatch.from_pylist([], schema=request.schema)]


class _ChainRun:
    def __init__(self, request: Request, ordered: Ordered):
        self._request = request
        self._chain = ordered.chain
        self._repeated = ordered.repeated
        self._progress = Progress()

    def continued(self) -> pa.Table | None:
        """The rows by an analysis that goes on from file to file."""
        request, files = self._request, self._chain.files
        saved = Checkpoint(request.checkpoint, request, self._chain) if request.checkpoint else None
        if saved:
            self._progress = saved.load()
        progress = self._progress
        # Without checkpoints one step reads all files.
        step = request.every if saved else len(files)
        with _Fetched(request, self._chain, progress.position) as fetched:
            while progress.position < len(files):
                before = progress.position
                self._step(fetched, before, min(before + step, len(files)))
                if saved:
                    saved.save(progress, before)
        if request.table == "files":
            return self._files()
        return self._rows()

    def _step(self, fetched: _Fetched, begin: int, end: int) -> None:
        """Reads files, and adds their records to the progress."""
        progress, request = self._progress, self._request
        analysis = self._continue()
        for position in range(begin, end):
            with fetched.file(position) as path:
                if position in self._repeated:
                    progress.failures[position] = self._repeated[position]
                    continue
                try:
                    analysis.read(path)
                except CaptureError as error:
                    progress.failures[position] = str(error)
        progress.position = end
        try:
            records = pa.table(analysis.finish())
        except CaptureError as error:
            # Nothing in any file was readable so far.
            if progress.state is not None:
                raise
            for position in range(begin, end):
                progress.failures.setdefault(position, str(error))
            records = pa.table({})
        else:
            progress.state = analysis.state
            progress.notes = analysis.notes
        for line in analysis.failures:
            progress.failures[self._position(line, begin)] = line
        progress.records.append(self._with_files(records, begin))

    def _continue(self) -> recoup.Continuation:
        request = self._request
        try:
            return recoup.Continuation(request.view, self._progress.state, **request.options)
        except StateError as error:
            reason = str(error).partition(": ")[2]
            raise StateError(
                f"checkpoint of the chain {self._chain.key}: {reason}: remove the folder {request.checkpoint}, or name another one"
            ) from None

    @staticmethod
    def _position(line: str, otherwise: int) -> int:
        found = LOCAL.search(line)
        return int(found.group(1)) if found else otherwise

    def _with_files(self, records: pa.Table, position: int) -> pa.Table:
        """Records whose column ``file`` holds positions. An analysis that has read one file names none."""
        if self._request.view != "retransmissions" or "frame" not in records.column_names:
            return records
        if "file" not in records.column_names:
            place = records.column_names.index("frame") + 1
            readable = [at for at in range(self._progress.position) if at not in self._progress.failures]
            at = readable[-1] if readable else position
            records = records.add_column(place, "file_frame", records["frame"])
            return records.add_column(place, "file", pa.array([at] * records.num_rows, pa.int64()))
        names = records["file"].combine_chunks().dictionary_encode()
        positions = [self._position(name, position) for name in names.dictionary.to_pylist()]
        at = pa.DictionaryArray.from_arrays(names.indices, pa.array(positions, pa.int64())).dictionary_decode()
        return records.set_column(records.column_names.index("file"), "file", at)

    def _rows(self) -> pa.Table | None:
        """The latest record of every key, without those that were withdrawn."""
        steps = [records for records in self._progress.records if records.num_columns]
        if not steps:
            return None
        if self._request.view == "summary":
            return steps[-1]
        rows = latest(steps, _KEYS[self._request.view])
        if "file" in rows.column_names:
            uris = pa.array([file.uri for file in self._chain.files], pa.string())
            rows = rows.set_column(rows.column_names.index("file"), "file", pc.take(uris, rows["file"].combine_chunks()))
        return rows

    def _files(self) -> pa.Table:
        """What happened to the files, a row each."""
        rows = []
        for position, file in enumerate(self._chain.files):
            failure = self._progress.failures.get(position)
            own = [note for note in self._progress.notes if position in map(int, LOCAL.findall(note))]
            status = "failed" if failure else "noted" if own else "read"
            message = failure or "; ".join(own) or None
            rows.append(
                {
                    "position": position,
                    "file": file.uri,
                    "bytes": file.size,
                    "status": status,
                    "message": message and named(message, self._chain),
                }
            )
        table = pa.Table.from_pylist(rows, schema=pa.schema([f for f in self._request.schema if f.name != "chain"]))
        return table

    def joined(self) -> pa.Table | None:
        """The intervals of all files, which are read together."""
        request, chain = self._request, self._chain
        with tempfile.TemporaryDirectory(prefix="recoup-") as folder:
            paths = []
            for position, file in enumerate(chain.files):
                paths.append(_local(folder, position))
                request.store.fetch(file.uri, paths[-1])
            with warnings.catch_warnings():
                # `report` says it.
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    analysis = recoup.analyze(paths, join=True, progress=False, **request.options)
                except CaptureError as error:
                    self._progress.failures[self._position(str(error), 0)] = str(error)
                    return None
        for line in analysis.failures:
            self._progress.failures[self._position(line, 0)] = line
        self._progress.notes = analysis.notes
        return pa.table(analysis.intervals)

    def report(self) -> None:
        """Raises the first failure, or warns of all. The table ``files`` has them as rows."""
        if self._request.table == "files":
            return
        failures = [named(line, self._chain) for _, line in sorted(self._progress.failures.items())]
        if failures and self._request.on_error == "raise":
            more = f" (and {len(failures) - 1} more files)" if len(failures) > 1 else ""
            raise CaptureError(f"{failures[0]}{more}: on_error='skip' leaves such files out, and the table 'files' lists them")
        for line in failures + [named(note, self._chain) for note in self._progress.notes]:
            warnings.warn(line, RuntimeWarning, stacklevel=2)


def latest(steps: list[pa.Table], key: tuple[str, ...]) -> pa.Table:
    """The latest record of every key, in the order of the keys, without those that were withdrawn."""
    records = pa.concat_tables(steps, promote_options="default")
    records = records.append_column("age", pa.array(range(records.num_rows), pa.int64()))
    ages = records.group_by(list(key)).aggregate([("age", "max")])["age_max"]
    records = records.take(ages).drop_columns(["age"])
    records = records.filter(pc.not_equal(records["record"], "withdrawn"))
    return records.drop_columns(["record"]).sort_by([(name, "ascending") for name in key])


def named(line: str, chain: Chain) -> str:
    """A line with URIs in place of this machine's names."""
    return LOCAL.sub(lambda found: chain.files[int(found.group(1))].uri, line)


def _local(folder: str, position: int) -> str:
    return os.path.join(folder, f"at-{position:08d}.capture")


class _Fetched:
    """The files of a chain on this machine, each while it is read. The next one is fetched meanwhile."""

    def __init__(self, request: Request, chain: Chain, begin: int):
        self._store = request.store
        self._chain = chain
        self._folder = tempfile.TemporaryDirectory(prefix="recoup-")
        self._pool = ThreadPoolExecutor(1)
        self._next: dict[int, Future] = {}
        self._begin = begin

    def __enter__(self):
        self._fetch(self._begin)
        return self

    def __exit__(self, *_):
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def _fetch(self, position: int) -> None:
        if position < len(self._chain.files):
            uri = self._chain.files[position].uri
            self._next[position] = self._pool.submit(self._store.fetch, uri, _local(self._folder.name, position))

    @contextmanager
    def file(self, position: int) -> Iterator[str]:
        """A file, until the block ends."""
        self._next.pop(position).result()
        self._fetch(position + 1)
        with unlink_after(_local(self._folder.name, position)) as path:
            yield path
