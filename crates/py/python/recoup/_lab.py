"""The simulator: scenarios and sweeps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from . import _html, _recoup
from ._progress import Report, reporting
from ._recoup import RecoupError, Table


class Scenario(NamedTuple):
    """A built-in scenario."""

    name: str
    about: str


def scenarios() -> list[Scenario]:
    """The built-in scenarios."""
    return [Scenario(*one) for one in _recoup.scenarios()]


def run(
    scenario: str | os.PathLike[str],
    *,
    profiles: str | Iterable[str] = (),
    flows: int | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool | Report | None = None,
    **more: Any,
) -> Run:
    """Runs a scenario in the simulator, once per profile, with the same traffic over the same network.

    ``scenario``: the name of a built-in one (:func:`scenarios`), or a .toml file. ``profiles``: such as
    ``["linux-6", "rfc6675+tlp"]``; by default the scenario's. ``flows``: flows per profile. ``seed``: of everything random.

    Every other argument is a setting (``recoup scenario list``): ``rtt="80ms"``, ``drop="tail:2"``. ``settings`` takes them as
    a dict, for names with dots. A list of values is a sweep: ``rtt=["20ms", "80ms"]`` runs each of them, and several lists
    every combination, at most 1,000.
    """
    if isinstance(profiles, str):
        profiles = [profiles]
    fixed, swept = [], []
    for key, value in {**(settings or {}), **more}.items():
        if isinstance(value, (list, tuple)):
            if not value:
                raise RecoupError(f"{key}: expected at least one value")
            # Semicolons separate values that may contain commas.
            swept.append(f"{key}={';'.join(map(_text, value))};")
        else:
            fixed.append((key, _text(value)))
    with reporting(progress) as report:
        results = _recoup.run(os.fspath(scenario), list(profiles), flows, seed, fixed, swept, report)
    return Run(results)


def _text(value) -> str:
    """A value as settings are written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Run:
    """What the profiles of a run cost. ``print`` shows it as a table."""

    def __init__(self, results):
        self._results = results

    @property
    def results(self) -> Table:
        """A row for each profile; in a sweep for each combination of values and profile, and in a world for each workload and
        profile. Columns of settings begin with ``set_``."""
        return self._results.results

    @property
    def seed(self) -> int:
        """The seed that repeats the run."""
        return self._results.seed

    @property
    def notes(self) -> list[str]:
        """What the user should know of the results."""
        return self._results.notes

    @cached_property
    def document(self) -> dict:
        """Everything, as in the JSON document of ``recoup run`` (docs/schemas.md)."""
        return json.loads(self._results.json())

    def __str__(self):
        return self._results.text()

    def _repr_html_(self):
        return _html.of_text(str(self))
