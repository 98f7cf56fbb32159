"""One long capture, analyzed in parts on several machines.

::

    split (per file) -> plan -> analyze (per partition) -> settle -> a table, or again with what is known now

:func:`split` writes the headers of a file's packets as Parquet, a file for each partition of the connections. Both directions
of a connection are in the same one. :func:`plan` puts the files in order. :func:`analyze` analyzes a partition, and
:func:`settle` puts the partitions together. What one partition shows of a host may matter to another; then :func:`settle` asks
for another pass over those partitions. The rows are those of one analysis of the joined files, in its order.

Each call can run on any machine that sees ``folder`` under the same path. ``split``, ``plan`` and ``analyze`` take the options
of :func:`recoup.analyze`, the same in all calls. :func:`analyze_all` makes all calls here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from . import _recoup
from ._analysis import _options
from ._recoup import Table


class Split(NamedTuple):
    """A file that was split."""

    #: What :func:`plan` needs.
    record: bytes
    #: Why it cannot be read; None if it can. The others are analyzed without it.
    failure: str | None
    #: Packets by partition.
    packets: list[int]


class Plan(NamedTuple):
    """How the partitions of a capture are analyzed."""

    #: What :func:`analyze` and :func:`settle` need.
    value: bytes
    partitions: int
    #: Why files were left out, a line each.
    failures: list[str]
    #: The name of the joined capture.
    name: str


class Settled(NamedTuple):
    """What :func:`settle` decides."""

    #: The rows; None if partitions are to be analyzed again.
    table: Table | None
    #: What the user should know of the capture.
    notes: list[str]
    #: The partitions that are to be analyzed again, with ``facts``. The analyses of the others stay.
    again: list[int]
    facts: bytes | None


def split(capture: str | os.PathLike[str], folder: str | os.PathLike[str], partitions: int, **options: Any) -> Split:
    """Splits a capture file into ``partitions``, 1 to 256. Files in ``folder`` get their names when they are whole."""
    return Split(*_recoup.split(os.fspath(capture), os.fspath(folder), partitions, _options("split", options)))


def plan(records: Iterable[bytes], **options: Any) -> Plan:
    """Plans the analysis of the capture that these files make up, in the order of their times."""
    return Plan(*_recoup.plan(list(records), _options("plan", options)))


def analyze(
    plan: bytes, number: int, facts: bytes | None = None, *, table: str = "retransmissions", **options: Any
) -> bytes:
    """Analyzes the partition ``number``, from 0. ``facts``: those of :class:`Settled`, None in the first pass. ``table``:
    ``"retransmissions"``, ``"episodes"``, ``"connections"`` or ``"summary"``."""
    return _recoup.analyze_partition(plan, number, facts, table, _options("analyze", options))


def settle(plan: bytes, analyses: Sequence[bytes], *, table: str = "retransmissions") -> Settled:
    """Puts the analyses of all partitions together, in any order, or says which are to be made again."""
    return Settled(*_recoup.settle(plan, list(analyses), table))


def analyze_all(plan: bytes, partitions: int, *, table: str = "retransmissions", **options: Any) -> Settled:
    """Analyzes all partitions here, pass by pass."""
    analyses: dict[int, bytes] = {}
    again, facts = list(range(partitions)), None
    while True:
        for number in again:
            analyses[number] = analyze(plan, number, facts, table=table, **options)
        settled = settle(plan, list(analyses.values()), table=table)
        if settled.table is not None:
            return settled
        again, facts = settled.again, settled.facts
