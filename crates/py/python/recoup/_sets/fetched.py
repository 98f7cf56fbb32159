"""The files of chains on this machine, each while it is read. Others are fetched meanwhile."""

from __future__ import annotations

import os
import re
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

from .chains import Chain
from .storage import Store, unlink_after

#: Chains that are begun before the ones before them end: their first files are fetched. An object store needs many
#: milliseconds to answer.
_CHAINS_AHEAD = 8

#: A file's name on this machine: its position in the chain. States and rows carry it from worker to worker.
LOCAL = re.compile(r"(?:[^\s,:;]*/)?at-(\d{8})\.capture")

_Item = TypeVar("_Item")
_Begun = TypeVar("_Begun")


def named(line: str, chain: Chain) -> str:
    """A line with URIs in place of this machine's names."""
    return LOCAL.sub(lambda found: chain.files[int(found.group(1))].uri, line)


def position(line: str, otherwise: int) -> int:
    """The position in its chain of the first file that a line names, or ``otherwise``."""
    found = LOCAL.search(line)
    return int(found.group(1)) if found else otherwise


class Workplace:
    """A folder of this machine and threads that fetch files into it, for one task."""

    def __enter__(self) -> Workplace:
        self._folder = tempfile.TemporaryDirectory(prefix="recoup-")
        self._pool = ThreadPoolExecutor(_CHAINS_AHEAD)
        self._folders = 0
        return self

    def __exit__(self, *_) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def ahead(self, begin: Callable[[_Item], _Begun], items: Iterable[_Item]) -> Iterator[_Begun]:
        """``begin(item)`` for each item, in order. While one is used, the next ones are made."""
        remaining = iter(items)
        waiting = deque(self._pool.submit(begin, item) for item in islice(remaining, _CHAINS_AHEAD))
        while waiting:
            begun = waiting.popleft().result()
            waiting.extend(self._pool.submit(begin, item) for item in islice(remaining, 1))
            yield begun

    def submit(self, call: Callable, *arguments) -> Future:
        """Calls this on another thread."""
        return self._pool.submit(call, *arguments)

    def folder(self, number: int) -> str:
        """A folder for the files of a chain, whose number differs from that of every other one."""
        path = os.path.join(self._folder.name, str(number))
        os.mkdir(path)
        return path


class Fetched:
    """The files of a chain, from the position ``begin`` on. The first is fetched now, on this thread."""

    def __init__(self, workplace: Workplace, folder: str, store: Store, chain: Chain, begin: int):
        self._workplace = workplace
        self._folder = folder
        self._store = store
        self._chain = chain
        self._next: Future = Future()
        try:
            self._fetch(begin)
            self._next.set_result(None)
        except Exception as error:
            self._next.set_exception(error)

    def path(self, at: int) -> str:
        """Where the file at a position of the chain lies while it is read."""
        return os.path.join(self._folder, f"at-{at:08d}.capture")

    def _fetch(self, at: int) -> None:
        if at < len(self._chain.files):
            self._store.fetch(self._chain.files[at].uri, self.path(at))

    @contextmanager
    def file(self, at: int) -> Iterator[str]:
        """A file, until the block ends. Files are asked for in order. The next one is fetched meanwhile."""
        fetched, self._next = self._next, self._workplace.submit(self._fetch, at + 1)
        with unlink_after(self.path(at)) as path:
            fetched.result()
            yield path
