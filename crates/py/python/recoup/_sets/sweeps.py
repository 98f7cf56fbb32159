"""Sweeps: each combination of values is a cell, which any worker runs with the same numbers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

import recoup

from .._recoup import RecoupError


class Cell(NamedTuple):
    """A run of a scenario."""

    number: int
    scenario: str
    #: One value for each key.
    values: dict
    profiles: tuple[str, ...]
    flows: int | None
    seed: int | None
    settings: dict


def cells(scenario, grid: Mapping, *, profiles=(), flows=None, seed=None, settings=None) -> list[Cell]:
    """The cells of a grid: every combination of its values, the last key first. The key ``seed`` is the seed."""
    if not isinstance(grid, Mapping) or not grid:
        raise RecoupError("grid: expected a dict of lists, such as {'rtt': ['20ms', '80ms']}")
    lists = {}
    for key, values in grid.items():
        values = [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)
        if not values:
            raise RecoupError(f"grid: {key}: expected at least one value")
        lists[key] = values
    if "seed" in lists and seed is not None:
        raise RecoupError("seed: given twice, in the grid and as an argument: expected one of them")
    profiles = (profiles,) if isinstance(profiles, str) else tuple(profiles)
    found = []
    for number, values in enumerate(itertools.product(*lists.values())):
        chosen = dict(zip(lists, values))
        own = chosen.pop("seed", seed)
        found.append(Cell(number, os.fspath(scenario), chosen, profiles, flows, own, dict(settings or {})))
    return found


def run(cell: Cell) -> pa.Table:
    """The rows of a cell: those that a sweep on one machine has for it."""
    settings = cell.settings | {key: [value] for key, value in cell.values.items()}
    results = recoup.run(
        cell.scenario,
        profiles=cell.profiles,
        flows=cell.flows,
        seed=cell.seed,
        settings=settings,
        progress=False,
    ).results
    table = pa.table(results).replace_schema_metadata(None)
    number = pa.array([cell.number] * table.num_rows, pa.int64())
    if "cell" in table.column_names:
        return table.set_column(table.column_names.index("cell"), "cell", number)
    return table.add_column(0, "cell", number)


@lru_cache(maxsize=16)
def _schema(scenario: str, keys: tuple, profiles: tuple, settings: tuple) -> pa.Schema:
    cell = Cell(0, scenario, dict(keys), profiles, 1, None, dict(settings))
    try:
        return run(cell).schema
    except RecoupError:
        # Worlds take no number of flows. Any other error occurs again.
        return run(cell._replace(flows=None)).schema


def schema(cells: list[Cell]) -> pa.Schema:
    """The columns of the cells, from a short run of the first. A column without values there counts as numbers."""
    first = cells[0]
    as_pairs = [tuple((key, str(value)) for key, value in one.items()) for one in (first.values, first.settings)]
    return _schema(first.scenario, as_pairs[0], first.profiles, as_pairs[1])


def conform(rows: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Rows with the columns of the sweep's schema."""
    if rows.column_names != wanted.names:
        odd = sorted(set(rows.column_names) ^ set(wanted.names))
        raise RecoupError(f"cell {rows['cell'][0]}: its results have other columns than cell 0's: {', '.join(odd)}")
    return rows.cast(wanted)
