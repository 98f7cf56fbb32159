"""Captures: what happened in them, why, and what would have helped."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from . import _captures, _html, _recoup
from ._picture import Svg
from ._captures import Captures
from ._progress import Report, reporting
from ._recoup import RecoupError, Table


#: The options of every analysis, as :func:`analyze` describes them.
_OPTIONS = ("filter", "start", "end", "profile", "idle", "threads")

#: Connections that an explanation keeps, as in the program.
MOST_CONNECTIONS = 2000


def _options(function: str, given: dict) -> dict:
    """The options of a call of ``function``. Numbers of times and durations are refused later, with what was expected."""
    for name in given:
        if name not in _OPTIONS:
            similar = difflib.get_close_matches(name, _OPTIONS, 1)
            hint = f", did you mean `{similar[0]}`?" if similar else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
    options = dict.fromkeys(_OPTIONS) | given
    for name in ("start", "end", "idle"):
        if options[name] is not None:
            options[name] = str(options[name])
    return options


def _warn(failures) -> None:
    for line in failures:
        warnings.warn(line, RuntimeWarning, stacklevel=3)


def analyze(
    captures: Captures,
    *,
    join: bool = False,
    intervals: bool = False,
    progress: bool | Report | None = None,
    **options: Any,
) -> Analysis:
    """Explains every retransmission of captures: why it was sent, and whether it was needed.

    ``captures``: a path, a pattern such as ``"day.pcap*"``, a list of both, or a binary file object. pcap and pcapng, plain,
    gzip or zstd. Each file is analyzed by itself, unless ``join`` is true: then they are one capture, in the order of their
    times. A file that cannot be read is a warning and is listed in ``failures``, if another one can.

    ``intervals`` collects the table of that name in the same reading. Otherwise captures are read again when it is asked for.

    ``options``:

    - ``filter``: analyze these connections only: an expression of tcpdump, such as ``"port 443"``.
    - ``start``, ``end``: analyze only this time: a duration after the first segment (``"5s"``), or a time in UTC
      (``"2026-11-22T10:00:00Z"``).
    - ``profile``: explain every sender by this profile, such as ``"linux-6"``. By default each sender by the profile that
      explains most.
    - ``idle``: a connection is over after this long without a packet; by default ``"15min"``.
    - ``threads``: threads that read and analyze; by default one per core.

    Raises :class:`CaptureError` for captures that cannot be read, :class:`RecoupError` for wrong arguments.
    """
    chosen = _options("analyze", options)
    # The file of a stream is gone afterwards.
    reread = None if hasattr(captures, "read") else _captures.paths(captures)
    with _captures.files(captures if reread is None else reread) as paths:
        with reporting(progress) as report:
            found = _recoup.analyze(paths, join, chosen, intervals, report)
    _warn(found.failures)
    return Analysis(found, reread, join, chosen)


class Analysis:
    """What the captures of one call of :func:`analyze` hold.

    ``analysis[13]`` is the connection with number 13, of one capture or of joined ones.
    """

    def __init__(self, found, paths, join, options):
        self._found = found
        self._paths = paths
        self._join = join
        self._options = options

    @property
    def retransmissions(self) -> Table:
        """A row for each retransmission, in the order of the capture."""
        return self._found.retransmissions

    @property
    def connections(self) -> Table:
        """A row for each connection, ordered by number. ``src`` opened the connection, or sent its first packet. Columns of
        its data begin with ``src_``, those of the other end's data with ``dst_``."""
        return self._found.connections

    @property
    def episodes(self) -> Table:
        """The time lost: a row for each episode of recovery and each late ACK, with its cause. What was lost otherwise has a
        row for each connection, sender and cause. Sums over the table are those of :func:`explain`."""
        return self._found.episodes

    @cached_property
    def intervals(self) -> Table:
        """A row for each interval of time: segments, retransmissions, goodput and round-trip time of all connections.
        All intervals of a capture are equally long, and there are at most 2,048. The captures are read again, unless
        :func:`analyze` was called with ``intervals=True``."""
        collected = self._found.intervals
        if collected is not None:
            return collected
        if self._paths is None:
            raise RecoupError("intervals: the capture was a stream: expected analyze(…, intervals=True)")
        with reporting(None) as report:
            return _recoup.intervals(self._paths, self._join, self._options, report)

    @property
    def summary(self) -> Table:
        """A row for each capture: its totals."""
        return self._found.summary

    @property
    def captures(self) -> list[str]:
        """The names of the captures."""
        return self._found.captures

    @property
    def notes(self) -> list[str]:
        """What the user should know of the captures."""
        return self._found.notes

    @property
    def failures(self) -> list[str]:
        """Why captures could not be read, a line each."""
        return self._found.failures

    def __getitem__(self, number: int) -> Connection:
        self._check_one(f"[{number}]")
        return Connection(self, number)

    def explain(self, *, progress: bool | Report | None = None, **options: Any) -> Explanation:
        """Where the time of these connections went (:func:`explain`)."""
        self._check_rereadable("explain")
        return _explain(self._paths, self._join, self._options, progress, **options)

    def whatif(
        self,
        alternatives: str | Iterable[str] = (),
        *,
        progress: bool | Report | None = None,
        **options: Any,
    ) -> WhatIf:
        """What other settings or loss recovery would have changed (:func:`whatif`)."""
        self._check_rereadable("whatif")
        return _whatif(self._paths, alternatives, self._join, self._options, progress, **options)

    def _check_rereadable(self, what):
        if self._paths is None:
            raise RecoupError(f"{what}: the capture was a stream: expected one in a file, which is read again")

    def _check_one(self, what):
        if len(self._found.captures) != 1:
            raise RecoupError(f"{what}: expected an analysis of one capture, or join=True")

    def __str__(self):
        return self._found.text()

    def __repr__(self):
        names = ", ".join(self.captures)
        return f"<recoup.Analysis of {names}: {len(self.connections)} connections, {len(self.retransmissions)} retransmissions>"

    def _repr_html_(self):
        return _html.of_text(str(self))


class Connection:
    """A connection of a capture: its row, its explanation and its picture."""

    def __init__(self, analysis: Analysis, number: int):
        self._analysis = analysis
        self.number = number
        numbers = analysis.connections["connection"]
        if number not in numbers:
            last = max(numbers, default=None)
            found = "there is none" if last is None else f"expected 0 to {last}"
            raise RecoupError(f"no connection {number}: {found}")
        self._row = analysis.connections[numbers.index(number)]

    @property
    def row(self) -> dict:
        """Its row of ``connections``."""
        return dict(self._row)

    def __getitem__(self, column: str) -> Any:
        if column not in self._row:
            # The table's error names the similar column.
            self._analysis.connections[column]
        return self._row[column]

    @property
    def retransmissions(self) -> list[dict]:
        """Its rows of ``retransmissions``."""
        table = self._analysis.retransmissions
        numbers = table["connection"]
        return [table[place] for place, number in enumerate(numbers) if number == self.number]

    def plot(
        self, *, width: str | None = None, dark: bool = False, progress: bool | Report | None = None
    ) -> Svg:
        """Its time–sequence diagram, retransmissions marked by trigger and verdict. ``width`` is a CSS length, such as
        ``"900px"``."""
        analysis = self._analysis
        analysis._check_rereadable("plot")
        with reporting(progress) as report:
            svg = _recoup.plot(
                analysis._paths, analysis._join, analysis._options, self.number, width, dark, report
            )
        return Svg(svg)

    def explain(self, *, progress: bool | Report | None = None) -> str:
        """What happened, episode by episode."""
        analysis = self._analysis
        analysis._check_rereadable("explain")
        with reporting(progress) as report:
            return _recoup.explain_connection(
                analysis._paths, analysis._join, analysis._options, self.number, report
            )

    def __repr__(self):
        row = self._row
        return f"<recoup.Connection {self.number}: {row['src']} > {row['dst']}>"

    @cached_property
    def _html(self):
        if self._analysis._paths is None:
            return _html.of_text(repr(self))
        return _html.of_text(self.explain(progress=False)) + _html.of_picture(self.plot(progress=False).svg)

    def _repr_html_(self):
        return self._html


def explain(
    captures: Captures | None = None,
    *,
    join: bool = False,
    advice: bool = True,
    sort: str = "time-lost",
    top: int = MOST_CONNECTIONS,
    by: str | Iterable[str] = (),
    progress: bool | Report | None = None,
    **options: Any,
) -> Explanation:
    """Says where the time of captures' connections went, and what made them lose time.

    ``captures``: as for :func:`analyze`; None is a small capture that is built in. ``advice`` also says what would have
    helped; for that the captures are read again. ``sort`` and ``top``: which connections, and how many of them, the document
    and the page have; the text lists 3. ``by``: what connections are grouped by in :attr:`Explanation.groups`: ``"server"``,
    ``"client"``, ``"prefix:24"``, ``"port"``, ``"path"``, ``"capture"``, or several of them. ``options``: as for
    :func:`analyze`.
    """
    chosen = _options("explain", options)
    if captures is None:
        return _explain([], join, chosen, progress, advice=advice, sort=sort, top=top, by=by)
    with _captures.files(captures) as paths:
        return _explain(paths, join, chosen, progress, advice=advice, sort=sort, top=top, by=by)


def _explain(paths, join, chosen, progress, *, advice=True, sort="time-lost", top=MOST_CONNECTIONS, by=()):
    by = [by] if isinstance(by, str) else list(by)
    with reporting(progress) as report:
        explained = _recoup.explain(paths, join, chosen, advice, sort, top, by, report)
    _warn(explained.failures)
    return Explanation(explained, (paths, join, chosen, advice, sort, by))


class Explanation:
    """Where the time went. ``print`` shows it in sentences."""

    def __init__(self, explained, request):
        self._explained = explained
        self._request = request

    @property
    def findings(self) -> list[str]:
        """How much time was lost, a sentence for each capture."""
        return self._explained.findings

    @property
    def groups(self) -> Table:
        """A row for each group of ``by``, of all captures together: those that lost most time first."""
        return self._explained.groups

    @cached_property
    def document(self) -> dict:
        """Everything, as in the JSON document of ``recoup explain`` (docs/schemas.md). A warning says how many connections it
        leaves out; each capture's ``connections_left_out`` does, too."""
        document = json.loads(self._explained.json())
        for capture in document["captures"]:
            self._warn_of_connections_left_out(capture)
        return document

    @staticmethod
    def _warn_of_connections_left_out(capture):
        left_out, kept = capture["connections_left_out"], len(capture["connections"])
        if not left_out:
            return
        lost = sum(connection["lost_ms"] for connection in capture["connections"])
        line = (
            f"{capture['capture']}: the document has {kept:,} of {kept + left_out:,} connections, which lost {lost / 1e3:.3f} of "
            f"{capture['lost_ms'] / 1e3:.3f} s: explain(…, top=…) keeps more, and analyze(…).episodes has all"
        )
        warnings.warn(line, RuntimeWarning, stacklevel=4)

    def page(self, *, top: int = MOST_CONNECTIONS, progress: bool | Report | None = None) -> str:
        """One HTML page with charts, tables and diagrams, about all captures and about each. They are read again."""
        paths, join, chosen, advice, sort, by = self._request
        with reporting(progress) as report:
            return _recoup.page(paths, join, chosen, advice, sort, top, by, report)

    def __str__(self):
        return self._explained.text()

    def __repr__(self):
        return f"<recoup.Explanation: {' '.join(self.findings)}>"

    @cached_property
    def _html(self):
        return _html.of_pages(self._explained.pages(_html.SHOWN_CONNECTIONS), str(self))

    def _repr_html_(self):
        return self._html


def compare(
    before: Captures,
    after: Captures,
    expected: str | None = None,
    *,
    progress: bool | Report | None = None,
    **options: Any,
) -> Comparison:
    """Says what changed between two captures, and what is no more than their own spread.

    ``before`` and ``after``: as for :func:`analyze`; the files of each are one capture. ``expected``: a lever, profile or
    mechanism, as for :func:`whatif`: also says whether what is predicted for ``before`` came true. ``options``: as for
    :func:`analyze`.
    """
    chosen = _options("compare", options)
    with _captures.files(before) as one, _captures.files(after) as other, reporting(progress) as report:
        return Comparison(_recoup.compare(one, other, chosen, expected, report))


class Comparison:
    """What changed between two captures. ``print`` shows it in tables."""

    def __init__(self, compared):
        self._compared = compared

    @cached_property
    def document(self) -> dict:
        """Everything, as in the JSON document of ``recoup compare`` (docs/schemas.md)."""
        return json.loads(self._compared.json())

    def page(self) -> str:
        """One HTML page: the quantities with their intervals."""
        return self._compared.page()

    def __str__(self):
        return self._compared.text()

    def _repr_html_(self):
        return _html.of_text(str(self))


def whatif(
    captures: Captures,
    alternatives: str | Iterable[str] = (),
    *,
    join: bool = False,
    draws: int = 10,
    seed: int = 1,
    progress: bool | Report | None = None,
    **options: Any,
) -> WhatIf:
    """Runs every connection of captures again with other settings or loss recovery, and says what would have changed.

    ``alternatives``: levers of an operator such as ``"congestion-control=bbr"``, profiles such as ``"rfc6675"``, or mechanisms
    on top of what each sender has, such as ``"+tlpr"``; by default the levers that may matter, and what senders lack. ``draws``: runs of each connection and mechanism where the capture does not hold the
    fate of every packet. ``captures`` and ``options``: as for :func:`analyze`.
    """
    chosen = _options("whatif", options)
    with _captures.files(captures) as paths:
        return _whatif(paths, alternatives, join, chosen, progress, draws=draws, seed=seed)


def _whatif(paths, alternatives, join, chosen, progress, *, draws=10, seed=1):
    if isinstance(alternatives, str):
        alternatives = [alternatives]
    with reporting(progress) as report:
        answers = _recoup.whatif(paths, join, chosen, list(alternatives), draws, seed, report)
    _warn(answers.failures)
    return WhatIf(answers)


class WhatIf:
    """What other settings or loss recovery would have changed. ``print`` shows it in sentences."""

    def __init__(self, answers):
        self._answers = answers

    @property
    def results(self) -> Table:
        """A row for each mechanism."""
        return self._answers.results

    @property
    def connections(self) -> Table:
        """A row for each connection and mechanism: what is predicted."""
        return self._answers.connections

    @property
    def notes(self) -> list[str]:
        """What the user should know."""
        return self._answers.notes

    def __str__(self):
        return self._answers.text()

    def _repr_html_(self):
        return _html.of_text(str(self))


class Continuation:
    """An analysis that goes on from file to file, and from process to process.

    ``table``: ``"retransmissions"``, ``"episodes"``, ``"connections"`` or ``"summary"``. ``state``: what an earlier analysis left
    (:attr:`state`). ``options``: as for :func:`analyze`, and always the same for one state.

    ::

        first = recoup.Continuation("retransmissions")
        first.read("day-00.pcap")
        records = first.finish()
        second = recoup.Continuation("retransmissions", first.state)
        second.read("day-01.pcap")
        records = second.finish()

    The records are rows that are new, revised or withdrawn; the column ``record`` says which. The latest record of every key
    (frame and seq; connection and capture_point; of episodes also side, frame and cause) is the row of one analysis of all
    files joined.
    """

    def __init__(self, table: str = "retransmissions", state: bytes | None = None, **options: Any):
        self.state: bytes | None = None
        self.failures: list[str] = []
        self.notes: list[str] = []
        self.frames = 0
        with _state_file(state is not None) as path:
            if path is not None and state is not None:
                with open(path, "wb") as file:
                    file.write(state)
            self._steps = _recoup.Continuation(table, path, _options("Continuation", options))

    def read(self, captures: Captures, *, progress: bool | Report | None = False) -> None:
        """Reads captures, as :func:`analyze` with ``join=True``. They go on from those read before."""
        with _captures.files(captures) as paths:
            with reporting(progress) as report:
                self._steps.read(paths, report)

    def finish(self, *, save: bool = True) -> Table:
        """The records: rows that changed since the state was made. Afterwards :attr:`state` has the new state, unless
        ``save`` is false; ``failures`` and ``notes`` say what could not be read; ``frames`` is the number of frames so far."""
        with _state_file(save) as path:
            table, self.failures, self.notes, self.frames = self._steps.finish(path)
            if path is not None:
                with open(path, "rb") as file:
                    self.state = file.read()
        return table


@contextmanager
def _state_file(is_needed: bool) -> Iterator[str | None]:
    """Where a state lies for a moment, if it is needed."""
    if not is_needed:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="recoup-") as folder:
        yield os.path.join(folder, "state")
