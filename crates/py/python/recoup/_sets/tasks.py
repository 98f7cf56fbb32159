"""What engines run: tasks that travel to a worker and yield Arrow record batches there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from . import chain_run, partitioned, survey, sweeps
from .chains import Chain, by_name
from .request import Request
from .storage import File, Store, checked_pattern


@dataclass(frozen=True)
class ChainTask:
    """The analysis of a chain."""

    request: Request
    chain: Chain

    def batches(self) -> Iterator[pa.RecordBatch]:
        return chain_run.run(self.request, self.chain)


@dataclass(frozen=True)
class SurveyTask:
    """When a file begins and ends."""

    request: Request
    file: File

    def batches(self) -> Iterator[pa.RecordBatch]:
        return survey.run(self.request, self.file)


@dataclass(frozen=True)
class CellTask:
    """A cell of a sweep."""

    cell: sweeps.Cell
    schema: pa.Schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from sweeps.conform(sweeps.run(self.cell), self.schema).to_batches()


#: Runs tasks on an engine, and returns all their rows, in any order.
Execute = Callable[[list, pa.Schema], pa.Table]


def of_captures(uris, request: Request, chains, execute: Execute) -> list[ChainTask]:
    """A task for each chain, ordered by key. Chains by time read all files once, on the engine."""
    found: dict[str, File] = {}
    for pattern in checked_pattern(uris):
        found |= {file.uri: file for file in request.store.find(pattern)}
    files = list(found.values())
    if chains == "time":
        surveys = [SurveyTask(request, file) for file in files]
        made = survey.by_time(execute(surveys, survey.SCHEMA))
    else:
        made = by_name(files, chains)
    return [ChainTask(request, chain) for chain in made]


def in_partitions(all_tasks: list[ChainTask], partitions: int, scratch: str | None, execute: Execute) -> pa.Table:
    """The rows of all chains, each analyzed in partitions."""
    for task in all_tasks:
        partitioned.check(task.request, partitions, scratch)
    return pa.concat_tables(
        partitioned.run(task.request, task.chain, partitions, str(scratch), execute) for task in all_tasks
    )


def of_sweep(scenario, grid, **options) -> tuple[list[CellTask], pa.Schema]:
    """A task for each cell, and the columns of their rows."""
    cells = sweeps.cells(scenario, grid, **options)
    schema = sweeps.schema(cells)
    return [CellTask(cell, schema) for cell in cells], schema


def request(table, filesystem, on_error, checkpoint, every, options) -> Request:
    """What a call asks of every chain. One thread for each task, unless the call says otherwise: the engine runs tasks beside
    each other."""
    options = {name: value for name, value in options.items() if value is not None}
    options.setdefault("threads", 1)
    return Request(table, Store(filesystem), options, on_error, checkpoint, every)
