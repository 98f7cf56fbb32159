"""Checkpoints: what an interrupted analysis of a chain goes on from.

A folder for each chain and request, named by a digest, holds two objects for a step::

    00000012-4f0c….records.arrow    the records of the step, and what happened to its files
    00000012-4f0c….state            the analysis; written last: a step counts if this is there

The number is that of the files read so far. The digest after it covers their URIs and sizes. So a chain that has grown goes on
from the old files' step, and a chain whose old files have changed begins anew. Two attempts at one step write the same bytes.
Only the latest state is kept: the records of earlier steps stay, because the rows are made of all of them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import pyarrow as pa

import recoup

from .chains import Chain
from .request import Request


@dataclass
class Progress:
    """How far the analysis of a chain is."""

    #: Files read.
    position: int = 0
    #: The state of the analysis; ``None`` if no file was readable so far.
    state: bytes | None = None
    #: The records of every step, in order.
    records: list[pa.Table] = field(default_factory=list)
    #: Position and message of every file that could not be read.
    failures: dict[int, str] = field(default_factory=dict)
    #: The notes of the analysis so far, with positions in place of names.
    notes: list[str] = field(default_factory=list)


class Checkpoint:
    """The checkpoints of a chain, of the view of a request or another one."""

    def __init__(self, uri: str, request: Request, chain: Chain, view: str | None = None):
        self._store = request.store
        # Another number of threads divides the analysis in another way.
        settings = [recoup.__version__, view or request.view, sorted(request.options.items()), chain.key]
        name = hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:32]
        self._folder = f"{uri.rstrip('/')}/{name}"
        self._digests = _digests(chain)

    def _name(self, position: int) -> str:
        return f"{position:08d}-{self._digests[position]}"

    def load(self) -> Progress:
        """The progress up to the latest whole step that fits the chain."""
        names: set[str] = set(self._store.names(self._folder))
        numbers = range(len(self._digests) - 1, 0, -1)
        latest = next((number for number in numbers if f"{self._name(number)}.state" in names), None)
        if latest is None:
            return Progress()
        state = self._store.read(f"{self._folder}/{self._name(latest)}.state")
        progress, position = Progress(latest, state or None), latest
        while position and state is not None:
            content = self._store.read(f"{self._folder}/{self._name(position)}.records.arrow")
            if content is None:
                state = None
                break
            with pa.ipc.open_file(pa.BufferReader(content)) as file:
                table = file.read_all()
            said = json.loads(table.schema.metadata[b"recoup"])
            progress.failures |= {int(at): line for at, line in said["failures"].items()}
            if position == latest:
                progress.notes = said["notes"]
            progress.records.insert(0, table.replace_schema_metadata(None))
            position = said["before"]
        # Somebody removes checkpoints at this moment: begin anew.
        return Progress() if state is None else progress

    def save(self, progress: Progress, before: int) -> None:
        """Saves the step that ends at ``progress.position``. The step before it ended at ``before``."""
        said = {
            "before": before,
            "failures": {at: line for at, line in progress.failures.items() if at >= before},
            "notes": progress.notes,
        }
        table = progress.records[-1].replace_schema_metadata({b"recoup": json.dumps(said).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as file:
            file.write_table(table)
        name = f"{self._folder}/{self._name(progress.position)}"
        self._store.write(f"{name}.records.arrow", sink.getvalue())
        self._store.write(f"{name}.state", progress.state or b"")
        if before:
            self._store.remove(f"{self._folder}/{self._name(before)}.state")


def _digests(chain: Chain) -> list[str]:
    """For each number of files from 0: a digest of their URIs and sizes."""
    digest = hashlib.sha256()
    digests = [digest.hexdigest()[:32]]
    for file in chain.files:
        digest.update(f"{len(file.uri)}:{file.uri} {file.size}\n".encode())
        digests.append(digest.hexdigest()[:32])
    return digests
