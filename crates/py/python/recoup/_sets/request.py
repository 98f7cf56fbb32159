"""What is asked of a set of captures, and the columns of the answer."""

from __future__ import annotations

import difflib
import io
import struct
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa

import recoup

from .._recoup import RecoupError
from .storage import Store

#: The tables, with the columns that order the rows of a chain.
ORDER = {
    "retransmissions": ("frame", "seq"),
    "episodes": ("connection", "capture_point", "frame", "side", "cause"),
    "connections": ("connection", "capture_point"),
    "intervals": ("time",),
    "summary": (),
    "files": ("position",),
}

#: Bytes of files that share a task by default. A worker analyzes them in about a second; for an engine a task costs up to a
#: tenth of a second.
TASK_BYTES = 64 << 20

#: What happened to the files.
FILES = pa.schema(
    [
        pa.field("chain", pa.string(), False),
        pa.field("position", pa.int64(), False),
        pa.field("file", pa.string(), False),
        pa.field("bytes", pa.int64(), False),
        pa.field("status", pa.string(), False),
        pa.field("message", pa.string(), True),
    ]
)

_OPTIONS = ("filter", "start", "end", "profile", "idle", "threads")


@dataclass(frozen=True)
class Request:
    """What is asked of every chain. It travels to the workers."""

    table: str
    store: Store
    options: dict = field(default_factory=dict)
    #: ``"skip"`` or ``"raise"``.
    on_error: str = "skip"
    checkpoint: str | None = None
    #: Files after which a checkpoint is written.
    every: int = 1
    #: Bytes of files whose chains share a task. A chain with more has a task of its own.
    task_bytes: int = TASK_BYTES

    def __post_init__(self):
        _one_of("table", self.table, ORDER)
        _one_of("on_error", self.on_error, ("skip", "raise"))
        for name in self.options:
            _one_of("option", name, _OPTIONS)
        if self.every < 1:
            raise RecoupError(f"every={self.every}: expected a number of files from 1")
        if self.task_bytes < 1:
            raise RecoupError(f"task_bytes={self.task_bytes}: expected a number of bytes from 1")
        if self.checkpoint is not None and self.table == "intervals":
            raise RecoupError("checkpoint: the table intervals has none: expected another table, or no checkpoint")
        # Wrong options are found here, before any task runs.
        recoup.Continuation("summary", **self.options)

    @property
    def view(self) -> str:
        """The table of the analysis that this table is made of."""
        return "summary" if self.table == "files" else self.table

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return schema(self.table)


def _one_of(what: str, value, allowed) -> None:
    if value in allowed:
        return
    similar = difflib.get_close_matches(str(value), allowed, 1)
    hint = f"; did you mean {similar[0]}?" if similar else ""
    raise RecoupError(f"{what} {value}: expected one of {', '.join(allowed)}{hint}")


@lru_cache
def schema(table: str) -> pa.Schema:
    """The columns of a table: those of one analysis of the files joined, with the chain before them."""
    if table == "files":
        return FILES
    found = pa.table(getattr(recoup.analyze(_one_segment(), intervals=True, progress=False), table)).schema
    if table == "retransmissions":
        # As in the analysis of joined files.
        place = found.get_field_index("frame") + 1
        found = found.insert(place, pa.field("file_frame", pa.int64()))
        found = found.insert(place, pa.field("file", pa.string()))
    return found.insert(0, pa.field("chain", pa.string())).remove_metadata()


def _one_segment() -> io.BytesIO:
    """A capture of one TCP segment."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, b"\xc0\0\2\1", b"\xc0\0\2\2")
    tcp = struct.pack(">HHIIBBHHH", 32768, 80, 1, 0, 0x50, 0x02, 65535, 0, 0)
    raw_ip = 101
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, raw_ip)
    return io.BytesIO(header + struct.pack("<IIII", 0, 0, 40, 40) + ip + tcp)


def empty(table: str) -> pa.Table:
    """No rows."""
    return schema(table).empty_table()


def conform(rows: pa.Table, table: str, chain: str) -> pa.Table:
    """Rows with the columns of :func:`schema`, in their order. Metadata of columns falls away."""
    wanted = schema(table)
    columns = {"chain": pa.array([chain] * rows.num_rows, pa.string())}
    columns |= dict(zip(rows.column_names, rows.columns))
    missing = [name for name in wanted.names if name not in columns]
    if missing:
        raise RuntimeError(f"the table {table} lacks {', '.join(missing)}: the worker has another version of recoup")
    return pa.table([columns[name] for name in wanted.names], schema=wanted)
