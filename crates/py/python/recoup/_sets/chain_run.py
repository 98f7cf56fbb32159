"""The analysis of chains, one after another in one task: from file to file."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.compute as pc

import recoup

from .._recoup import CaptureError, StateError
from .chains import Chain, ordered
from .checkpoint import Checkpoint, Progress
from .fetched import LOCAL, Fetched, Workplace, named, position
from .request import ORDER, Request, conform
from .storage import Vanished

#: Rows handed to the engine at a time.
_ROWS = 1 << 16

#: What the analysis says of a file that begins before the one before it ends.
_OVERLAPS = re.compile(r"begins [0-9.]+ s before the end of the captures")

#: What to do about such files.
_CHAINS = "files of several capture points are several chains: chains=None analyzes each file by itself"

#: Notes that a task warns of. With hundreds of chains, more would hide the files that cannot be read.
_NOTES = 3

#: Views whose records are merged by key.
_KEYS = {view: ORDER[view] for view in ("retransmissions", "episodes", "connections")}


def run(request: Request, chains: tuple[Chain, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of chains, chain by chain. Those of a chain are in the order of one analysis of its files joined."""
    some, count, is_any = [], 0, False
    notes: list[str] = []
    with Workplace() as workplace:
        for one in workplace.ahead(lambda item: _ChainRun(request, workplace, *item), enumerate(chains)):
            rows = one.rows()
            if request.table != "files":
                one.report_failures()
                notes += one.notes()
            if rows is None:
                continue
            some.append(rows)
            count += rows.num_rows
            if count >= _ROWS:
                yield from _batches(some)
                some, count, is_any = [], 0, True
    _report(notes)
    if count or not is_any:
        # Without rows, an engine learns the columns from an empty batch.
        yield from _batches(some) or [pa.RecordBatch.from_pylist([], schema=request.schema)]


def _report(notes: list[str]) -> None:
    for note in notes[:_NOTES]:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    if len(notes) > _NOTES:
        warnings.warn(f"{len(notes) - _NOTES} more notes: the table 'files' lists them", RuntimeWarning, stacklevel=2)


def _batches(tables: list[pa.Table]) -> list[pa.RecordBatch]:
    return pa.concat_tables(tables).combine_chunks().to_batches(max_chunksize=_ROWS) if tables else []


class _ChainRun:
    """The analysis of a chain, begun where its checkpoint ends."""

    def __init__(self, request: Request, workplace: Workplace, number: int, chain: Chain):
        self._request = request
        self._chain, self._repeated = ordered(chain, request.store)
        self._checkpoint = Checkpoint(request.checkpoint, request, self._chain) if request.checkpoint else None
        self._progress = self._resumed()
        self._fetched = Fetched(
            workplace, workplace.folder(number), request.store, self._chain, self._progress.position
        )

    def _resumed(self) -> Progress:
        """Where this chain's checkpoint ends. What happened to files stands in the checkpoints of every view."""
        request, chain = self._request, self._chain
        if self._checkpoint is None or request.checkpoint is None:
            return Progress()
        progress = self._checkpoint.load()
        if request.table == "files" and progress.position < len(chain.files):
            others = (Checkpoint(request.checkpoint, request, chain, view).load() for view in _KEYS)
            return next((other for other in others if other.position == len(chain.files)), progress)
        return progress

    def rows(self) -> pa.Table | None:
        """The rows, or ``None`` without any."""
        rows = self._joined() if self._request.table == "intervals" else self._continued()
        return conform(rows, self._request.table, self._chain.key) if rows is not None else None

    def _continued(self) -> pa.Table | None:
        """The rows by an analysis that goes on from file to file."""
        progress, count = self._progress, len(self._chain.files)
        # Without checkpoints one step reads all files.
        step = self._request.every if self._checkpoint else count
        while progress.position < count:
            before = progress.position
            self._step(before, min(before + step, count))
            if self._checkpoint:
                self._checkpoint.save(progress, before)
        return self._files() if self._request.table == "files" else self._latest()

    def _step(self, begin: int, end: int) -> None:
        """Reads files, and adds their records to the progress."""
        progress = self._progress
        analysis = self._continue()
        for at in range(begin, end):
            failure = self._read(analysis, at)
            if failure is not None:
                progress.failures[at] = failure
        progress.position = end
        begins = progress.state is None
        records = self._finish(analysis, begin, end)
        for line in analysis.failures:
            progress.failures[position(line, begin)] = line
        if begins and all(at in progress.failures for at in range(begin, end)):
            # Nothing in any file was readable so far.
            progress.state, progress.notes, records = None, [], pa.table({})
        progress.records.append(self._with_files(records, begin))

    def _finish(self, analysis: recoup.Continuation, begin: int, end: int) -> pa.Table:
        """The records of a step."""
        progress = self._progress
        try:
            records = pa.table(analysis.finish(save=self._checkpoint is not None))
        except CaptureError as error:
            if progress.state is not None:
                raise
            for at in range(begin, end):
                progress.failures.setdefault(at, str(error))
            return pa.table({})
        progress.state = analysis.state
        progress.notes = analysis.notes
        return records

    def _read(self, analysis: recoup.Continuation, at: int) -> str | None:
        """Reads a file, or returns why it cannot be read."""
        try:
            with self._fetched.file(at) as path:
                if at in self._repeated:
                    return self._repeated[at]
                try:
                    analysis.read(path)
                except CaptureError as error:
                    return str(error)
        except Vanished as error:
            return str(error)
        return None

    def _continue(self) -> recoup.Continuation:
        request = self._request
        try:
            return recoup.Continuation(request.view, self._progress.state, **request.options)
        except StateError as error:
            reason = str(error).partition(": ")[2]
            raise StateError(
                f"checkpoint of the chain {self._chain.key}: {reason}: remove the folder {request.checkpoint}, or name another one"
            ) from None

    def _with_files(self, records: pa.Table, otherwise: int) -> pa.Table:
        """Records whose column ``file`` holds positions. An analysis that has read one file names none."""
        if self._request.view != "retransmissions" or "frame" not in records.column_names:
            return records
        if "file" not in records.column_names:
            place = records.column_names.index("frame") + 1
            readable = [at for at in range(self._progress.position) if at not in self._progress.failures]
            at = readable[-1] if readable else otherwise
            records = records.add_column(place, "file_frame", records["frame"])
            return records.add_column(place, "file", pa.array([at] * records.num_rows, pa.int64()))
        names = records["file"].combine_chunks().dictionary_encode()
        positions = [position(name, otherwise) for name in names.dictionary.to_pylist()]
        at = pa.DictionaryArray.from_arrays(names.indices, pa.array(positions, pa.int64())).dictionary_decode()
        return records.set_column(records.column_names.index("file"), "file", at)

    def _latest(self) -> pa.Table | None:
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
        """What happened to the files, a row each. What concerns the whole chain stands at its first file."""
        rows = []
        for at, file in enumerate(self._chain.files):
            failure = self._progress.failures.get(at)
            own = [note for note in self._progress.notes if at in (list(map(int, LOCAL.findall(note))) or [0])]
            status = "failed" if failure else "noted" if own else "read"
            message = failure or "; ".join(own) or None
            rows.append(
                {
                    "position": at,
                    "file": file.uri,
                    "bytes": file.size,
                    "status": status,
                    "message": message and named(message, self._chain),
                }
            )
        return pa.Table.from_pylist(rows, schema=pa.schema([f for f in self._request.schema if f.name != "chain"]))

    def _joined(self) -> pa.Table | None:
        """The intervals of all files, which are read together."""
        failures, paths = self._progress.failures, []
        with ExitStack() as fetched:
            for at in range(len(self._chain.files)):
                try:
                    paths.append(fetched.enter_context(self._fetched.file(at)))
                except Vanished as error:
                    failures[at] = str(error)
            if not paths:
                return None
            with warnings.catch_warnings():
                # `report_failures` says it.
                warnings.simplefilter("ignore", RuntimeWarning)
                try:
                    options = self._request.options
                    analysis = recoup.analyze(paths, join=True, intervals=True, progress=False, **options)
                except CaptureError as error:
                    failures[position(str(error), 0)] = str(error)
                    return None
        for line in analysis.failures:
            failures[position(line, 0)] = line
        self._progress.notes = analysis.notes
        return pa.table(analysis.intervals)

    def report_failures(self) -> None:
        """Raises the first failure, or warns of all. The table ``files`` has them as rows. Files most of which overlap are no
        chain: without an error, most rows would be missing."""
        failures = [named(line, self._chain) for _, line in sorted(self._progress.failures.items())]
        overlaps = [line for line in failures if _OVERLAPS.search(line)]
        if 2 * len(overlaps) > len(self._chain.files):
            found = f"{len(overlaps)} of {len(self._chain.files)} files overlap others"
            raise CaptureError(f"chain {self._chain.key}: {found}, such as {overlaps[0]}: {_CHAINS}")
        if failures and self._request.on_error == "raise":
            more = f" (and {len(failures) - 1} more files)" if len(failures) > 1 else ""
            raise CaptureError(f"{failures[0]}{more}: on_error='skip' leaves such files out, and the table 'files' lists them")
        for line in failures:
            hint = f": {_CHAINS}" if _OVERLAPS.search(line) else ""
            warnings.warn(line + hint, RuntimeWarning, stacklevel=2)

    def notes(self) -> list[str]:
        """What the user should know of the chain. Each line names it or files of it."""
        files = self._chain.files
        name = files[0].uri if len(files) == 1 else self._chain.key
        return [
            named(note, self._chain) if LOCAL.search(note) else f"{name}: {note}" for note in self._progress.notes
        ]


def latest(steps: list[pa.Table], key: tuple[str, ...]) -> pa.Table:
    """The latest record of every key, in the order of the keys, without those that were withdrawn."""
    order = [(name, "ascending") for name in key]
    records = pa.concat_tables(steps, promote_options="default")
    if pc.all(pc.equal(records["record"], "new")).as_py() is not False:
        # Without a revised record, there is one for each key.
        return records.drop_columns(["record"]).sort_by(order)
    records = records.append_column("age", pa.array(range(records.num_rows), pa.int64()))
    ages = records.group_by(list(key)).aggregate([("age", "max")])["age_max"]
    records = records.take(ages).drop_columns(["age"])
    records = records.filter(pc.not_equal(records["record"], "withdrawn"))
    return records.drop_columns(["record"]).sort_by(order)
