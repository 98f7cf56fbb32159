"""Chains: files of one capture point, in the order of their times.

Chains are analyzed beside each other. Within a chain connections go on from file to file.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import recoup

from .._recoup import RecoupError
from .storage import File, Store, Vanished

#: What rotation adds to a name: the endings of formats and compression, with tcpdump's number (``.pcap12``).
_ENDING = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst|zstd))?$", re.IGNORECASE)

#: And numbers of three digits or more at the end of the name, with what follows of a date
#: (``_00012_20261122100000``, ``-2026-11-22T10:00:00Z``). Shorter numbers may name hosts (``web-1``, ``web-2``).
_ROTATION = re.compile(r"(?:^|[-_])\d{3,}(?:[-_:T]?\d+)*Z?$")

#: Bytes at the beginning of a file in which its first TCP segment is looked for.
_HEAD = 1 << 18

#: Beginnings of files that are fetched at a time.
_HEADS_AT_A_TIME = 16


class Chain(NamedTuple):
    """Files of one capture point."""

    key: str
    files: tuple[File, ...]


def default_key(uri: str) -> str:
    """The URI without what rotation adds to it."""
    folder, slash, name = uri.rpartition("/")
    name = _ENDING.sub("", name)
    return folder + slash + _ROTATION.sub("", name)


def key_function(chains) -> Callable[[str], str]:
    """How ``chains`` groups files: ``"name"``, a regular expression whose groups are the key, a function, or ``None``."""
    if chains is None:
        return lambda uri: uri
    if chains == "name":
        return default_key
    if callable(chains):
        return lambda uri: str(chains(uri))
    try:
        expression = re.compile(chains)
    except (TypeError, re.error) as error:
        raise RecoupError(
            f"chains: {chains!r}: expected 'name', 'time', None, a function or a regular expression: {error}"
        ) from None
    if not expression.groups:
        raise RecoupError(f"chains: {chains}: expected a group that holds the chain's key, such as '(host[0-9]+)-.*'")

    def key(uri: str) -> str:
        found = expression.search(uri)
        if not found:
            raise RecoupError(f"{uri}: does not match chains={chains}: expected a match in every URI")
        return "/".join(group or "" for group in found.groups())

    return key


def by_name(files: list[File], chains="name") -> list[Chain]:
    """Chains by name, ordered by key."""
    key = key_function(chains)
    groups: dict[str, list[File]] = {}
    for file in files:
        groups.setdefault(key(file.uri), []).append(file)
    return [Chain(key, tuple(sorted(groups[key], key=lambda file: natural(file.uri)))) for key in sorted(groups)]


def natural(name: str) -> list[tuple[int, int, str]]:
    """Orders names so that 9 comes before 10."""
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts if part]


class Ordered(NamedTuple):
    """A chain in the order in which it is read."""

    chain: Chain
    #: Positions of files that begin with the same packets as one before them, and what to say of each.
    repeated: dict[int, str]


def ordered(chain: Chain, store: Store) -> Ordered:
    """The chain in the order of its files' first TCP segments, as ``--join`` reads them. A ring of files
    (``tcpdump -W``) does not begin with its first name. A file without a segment at its beginning keeps its place
    behind the file before it in the order of names."""
    if len(chain.files) < 2:
        return Ordered(chain, {})
    with ThreadPoolExecutor(min(_HEADS_AT_A_TIME, len(chain.files))) as pool:
        begins = list(pool.map(lambda file: first_segment(file, store), chain.files))
    keys, before = [], -1
    for place, begin in enumerate(begins):
        before = before if begin is None else begin
        keys.append((before, place))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    files = tuple(chain.files[place] for place in order)
    begins = [begins[place] for place in order]
    return Ordered(Chain(chain.key, files), _repeated(files, begins, store))


def _repeated(files: tuple[File, ...], begins: list[int | None], store: Store) -> dict[int, str]:
    """Files that hold the packets of another one: an object that was copied, or compressed as well."""
    same_time: dict[int, list[int]] = {}
    for position, begin in enumerate(begins):
        if begin is not None:
            same_time.setdefault(begin, []).append(position)
    found = {}
    for positions in same_time.values():
        for at, position in enumerate(positions[1:], 1):
            first = next((p for p in positions[:at] if _is_same_capture(files[p], files[position], store)), None)
            if first is not None:
                line = f"{files[position].uri}: the same packets as in {files[first].uri}: expected each capture once"
                found[position] = line
    return found


def _is_same_capture(one: File, other: File, store: Store) -> bool:
    """Whether an analysis of both joined leaves the second one out."""
    with tempfile.TemporaryDirectory(prefix="recoup-") as folder:
        paths = [os.path.join(folder, name) for name in ("one", "other")]
        try:
            for file, path in zip((one, other), paths):
                store.fetch(file.uri, path, _HEAD)
        except Vanished:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return bool(recoup.analyze(paths, join=True, threads=1, progress=False).failures)


def first_segment(file: File, store: Store) -> int | None:
    """The time of a file's first TCP segment (ns since 1970). ``None`` if the file's beginning holds none, or is no
    capture: reading the whole file says why."""
    with tempfile.TemporaryDirectory(prefix="recoup-") as folder:
        path = os.path.join(folder, "head")
        # A store that refuses must not change the order: that ends the task.
        try:
            store.fetch(file.uri, path, _HEAD)
        except Vanished:
            return None
        try:
            return recoup.analyze(path, threads=1, progress=False).summary["begun"][0]
        except recoup.CaptureError:
            return None
