"""What engines run: tasks that travel to a worker and yield Arrow record batches there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from . import chain_run, partitioned, survey, sweeps
from .chains import Chain, by_name
from .request import Request
from .storage import File, Store, checked_pattern

#: A file costs as much as this many bytes of packets beside its own.
_FILE_BYTES = 256 << 10


@dataclass(frozen=True)
class ChainsTask:
    """The analysis of chains, one after another."""

    request: Request
    chains: tuple[Chain, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        return chain_run.run(self.request, self.chains)


@dataclass(frozen=True)
class SurveyTask:
    """When files begin and end."""

    request: Request
    files: tuple[File, ...]

    def batches(self) -> Iterator[pa.RecordBatch]:
        return survey.run(self.request, self.files)


@dataclass(frozen=True)
class CellTask:
    """A cell of a sweep."""

    cell: sweeps.Cell
    schema: pa.Schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from sweeps.conform(sweeps.run(self.cell), self.schema).to_batches()


_Item = TypeVar("_Item")

#: Runs tasks on an engine, and returns all their rows, in any order.
Execute = Callable[[list, pa.Schema], pa.Table]


def chains_of(uris, request: Request, chains, execute: Execute) -> list[Chain]:
    """The chains of captures, ordered by key. For chains by time, all files are read once, on the engine."""
    found: dict[str, File] = {}
    for pattern in checked_pattern(uris):
        found |= {file.uri: file for file in request.store.find(pattern)}
    files = list(found.values())
    if chains != "time":
        return by_name(files, chains)
    surveys = [SurveyTask(request, some) for some in _divided(files, lambda file: [file], request.task_bytes)]
    return survey.by_time(execute(surveys, survey.SCHEMA))


def of_chains(chains: list[Chain], request: Request) -> list[ChainsTask]:
    """Tasks for chains, each in one of them. Small chains share a task."""
    return [ChainsTask(request, some) for some in _divided(chains, lambda chain: chain.files, request.task_bytes)]


def _divided(items: list[_Item], files_of: Callable[[_Item], Iterable[File]], most: int) -> Iterator[tuple[_Item, ...]]:
    """Items in groups whose files have up to ``most`` bytes, in order. An item with more is a group."""
    group: list[_Item] = []
    total = 0
    for item in items:
        cost = sum(file.size + _FILE_BYTES for file in files_of(item))
        if group and total + cost > most:
            yield tuple(group)
            group, total = [], 0
        group.append(item)
        total += cost
    if group:
        yield tuple(group)


def in_partitions(chains: list[Chain], request: Request, partitions: int, scratch: str | None, execute: Execute) -> pa.Table:
    """The rows of all chains, each analyzed in partitions."""
    partitioned.check(request, partitions, scratch)
    return pa.concat_tables(partitioned.run(request, chain, partitions, str(scratch), execute) for chain in chains)


def of_sweep(scenario, grid, **options) -> tuple[list[CellTask], pa.Schema]:
    """A task for each cell, and the columns of their rows."""
    cells = sweeps.cells(scenario, grid, **options)
    schema = sweeps.schema(cells)
    return [CellTask(cell, schema) for cell in cells], schema


def request(table, filesystem, on_error, checkpoint, every, task_bytes, options) -> Request:
    """What a call asks of every chain. One thread for each task, unless the call says otherwise: the engine runs tasks beside
    each other."""
    options = {name: value for name, value in options.items() if value is not None}
    options.setdefault("threads", 1)
    return Request(table, Store(filesystem), options, on_error, checkpoint, every, task_bytes)
