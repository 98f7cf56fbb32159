"""Captures as arguments: paths, patterns, lists of them, and binary file objects."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeAlias, cast

from ._recoup import CaptureError, RecoupError

#: A path or a pattern, several of them, or a binary file object.
Captures: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | BinaryIO"


def paths(captures: Captures) -> list[str]:
    """The files that ``captures`` names, those of a pattern in the order of their names."""
    if isinstance(captures, (str, os.PathLike)):
        captures = [captures]
    found: list[str] = []
    for one in captures:
        name = os.fspath(one)
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if "://" in name:
            raise RecoupError(
                f"{name}: expected a file of this machine; "
                "recoup.daft.read_captures reads object stores"
            )
        if os.path.exists(name) or not glob.has_magic(name):
            found.append(name)
            continue
        matching = sorted(glob.glob(name, recursive=True))
        if not matching:
            raise CaptureError(f"{name}: no file matches: expected at least one")
        found.extend(matching)
    if not found:
        raise RecoupError("captures: expected at least one file")
    return found


@contextmanager
def files(captures: Captures) -> Iterator[list[str]]:
    """The files of ``captures``. A binary file object is copied into a temporary file, because some analyses read twice."""
    if not hasattr(captures, "read"):
        yield paths(captures)
        return
    name = os.path.basename(str(getattr(captures, "name", "") or "stream"))
    with tempfile.TemporaryDirectory(prefix="recoup-") as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as copy:
            try:
                shutil.copyfileobj(cast(BinaryIO, captures), copy, 1 << 20)
            except TypeError:
                raise RecoupError(
                    f"{name}: expected a binary file object, such as open(path, 'rb')"
                ) from None
        yield [path]
