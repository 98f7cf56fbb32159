"""Progress of long calls: by tqdm or rich if one of them is installed, else none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

#: ``report(done, all, what, unit)``. ``all`` is None if it is not known.
Report = Callable[[int, "int | None", str, str], object]


@contextmanager
def reporting(progress: bool | Report | None) -> Iterator[Report | None]:
    """Yields the callback of ``progress``: True, False, None, or a callback of the caller's."""
    if callable(progress):
        yield progress
        return
    bar = _bar() if progress or (progress is None and _is_watched()) else None
    if bar is None:
        yield None
        return
    try:
        yield bar.report
    finally:
        bar.close()


def _is_watched() -> bool:
    """Whether somebody sees a bar: on a terminal, or in a notebook that has widgets to draw it."""
    in_notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    return sys.stderr.isatty() or in_notebook


def _bar():
    for kind in (_TqdmBar, _RichBar):
        try:
            return kind()
        except ImportError:
            continue
    return None


class _TqdmBar:
    def __init__(self):
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        self._tqdm = tqdm
        self._bar = None
        self._shown = None

    def report(self, done, total, what, unit):
        if not what:
            return
        if self._shown != (what, unit):
            self.close()
            scaled = {"unit_scale": True, "unit": "B"} if unit == "bytes" else {"unit": f" {unit}"}
            self._bar = self._tqdm(total=total, desc=what, leave=False, **scaled)
            self._shown = (what, unit)
        self._bar.update(done - self._bar.n)

    def close(self):
        if self._bar is not None:
            self._bar.close()


class _RichBar:
    def __init__(self):
        from rich.progress import Progress

        self._progress = Progress(transient=True)
        self._progress.start()
        self._task = None
        self._shown = None

    def report(self, done, total, what, unit):
        if not what:
            return
        if self._shown != (what, unit):
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(f"{what} ({unit})", total=total)
            self._shown = (what, unit)
        self._progress.update(self._task, completed=done)

    def close(self):
        self._progress.stop()
