"""Experiments of papers. The program ``recoup-papers`` runs them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cached_property
from html import escape
from pathlib import Path

from . import _html, _recoup
from ._picture import Svg
from ._progress import Report, reporting
from ._recoup import RecoupError, Table

_PROGRAM = "recoup-papers"


def paper(
    name: str = "all",
    figures: str | Iterable[str] = (),
    *,
    quick: bool = False,
    seed: int | None = None,
    progress: bool | Report | None = None,
) -> Paper:
    """Repeats the experiments of a paper: its figures, and the verdicts on its claims.

    ``name``: ``"tail-loss"``, ``"prr"``, ``"slp"``, ``"loss-detection"`` or ``"all"``. ``figures``: those to run; by default
    all. ``quick`` runs fewer flows, which leave more claims undecided.
    """
    if isinstance(figures, str):
        figures = [figures]
    options = ["--quick"] if quick else []
    if seed is not None:
        options += ["--seed", str(seed)]
    with reporting(progress) as report:
        return Paper(_document([name, *figures, *options], report))


def _program() -> str:
    """The program beside this interpreter, or else the first of its name on PATH."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(_PROGRAM, path=beside) or shutil.which(_PROGRAM)
    if found is None:
        raise RecoupError(
            f"paper: the program {_PROGRAM} is neither beside {sys.executable} nor on PATH: "
            f"install it with `cargo install {_PROGRAM}`"
        )
    return found


def _document(arguments: list[str], report: Report | None) -> dict:
    """Everything about the experiments that the arguments name."""
    command = [_program(), "document", *arguments]
    # Documents are longer than a pipe holds, so that the program would wait for a reader of one pipe who reads the other.
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as document,
        subprocess.Popen(command, stdout=document, stderr=subprocess.PIPE, text=True, encoding="utf-8") as program,
    ):
        try:
            assert program.stderr
            lines = []
            for line in program.stderr:
                step = line.rstrip("\n").split("\t")
                if step[0] != "progress":
                    lines.append(line.strip())
                elif report is not None:
                    _, title, done, total = step
                    report(int(done), int(total), title, "experiments")
        except BaseException:
            program.kill()
            raise
        program.wait()
        document.seek(0)
        text = document.read()
    if program.returncode == 2:
        raise RecoupError(" ".join(lines).removeprefix("recoup: "))
    if program.returncode != 0:
        raise RuntimeError(f"{_PROGRAM} ended with {program.returncode}: {' '.join(lines)}")
    return json.loads(text)


class Paper:
    """Finished experiments of a paper. ``paper["fig1"]`` is a figure."""

    def __init__(self, document: dict):
        self._document = document
        figures = [Figure(one) for one in document["figures"]]
        self.figures = {f"{one.paper} {one.name}": one for one in figures}

    @cached_property
    def claims(self) -> Table:
        """A row for each claim, with its verdict."""
        columns = [(name, about) for name, about in self._document["columns"]]
        rows = [[claim[name] for name, _ in columns] for claim in self._document["claims"]]
        return _recoup.table_of(columns, rows)

    def report(self) -> str:
        """Figures and claims as one HTML page."""
        return self._document["report"]

    def __getitem__(self, name: str) -> Figure:
        found = [figure for key, figure in self.figures.items() if name in (key, figure.name)]
        if len(found) != 1:
            what = "no figure" if not found else "several figures"
            raise KeyError(f"{what} {name}: expected one of {', '.join(self.figures)}")
        return found[0]

    def __str__(self):
        return "".join(figure._text for figure in self.figures.values())

    def _repr_html_(self):
        return "".join(figure._repr_html_() for figure in self.figures.values())


class Figure:
    """A figure or table of a paper: picture, data, claims."""

    def __init__(self, figure: dict):
        self.paper: str = figure["paper"]
        self.name: str = figure["name"]
        self.title: str = figure["title"]
        #: The picture.
        self.svg = Svg(figure["svg"])
        #: Data and claims: the figure's object in the JSON document of ``recoup paper``.
        self.data: dict = figure["data"]
        #: The data as CSV.
        self.csv: str = figure["csv"]
        self._claims: str = figure["claims"]
        self._text: str = figure["text"]

    def __repr__(self):
        return f"<recoup.Figure {self.paper} {self.name}: {self.title}>"

    def _repr_html_(self):
        claims = _html.of_text(self._claims)
        return f"<h4>{escape(self.title)}</h4>{_html.of_picture(self.svg.svg)}{claims}"
