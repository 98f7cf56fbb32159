"""Object stores and files, by ``pyarrow.fs``: both engines need pyarrow anyway, and it needs no other package."""

from __future__ import annotations

import os
import re
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from pyarrow import fs

from .._recoup import CaptureError, RecoupError

#: Bytes that are copied at a time.
_CHUNK = 8 << 20

#: Files of a folder that count as captures.
_CAPTURE = re.compile(r"\.(pcap|pcapng|cap|dmp)\d*(\.(gz|zst|zstd))?$", re.IGNORECASE)

#: Where names of a pattern vary.
_MAGIC = re.compile(r"[*?\[]")


class Vanished(CaptureError):
    """A file that was listed is no longer there."""


class File(NamedTuple):
    """A file of a store."""

    uri: str
    size: int


@dataclass(frozen=True)
class Store:
    """Where URIs lead. ``filesystem`` serves all of them; without one, each URI names its own
    (``s3://``, ``gs://``, ``file://`` or a path). It travels to the workers."""

    filesystem: fs.FileSystem | None = None

    def _at(self, uri: str) -> tuple[fs.FileSystem, str]:
        if self.filesystem is not None:
            return self.filesystem, _path(uri)
        try:
            if "://" in uri:
                return fs.FileSystem.from_uri(uri)
            return fs.LocalFileSystem(), os.path.abspath(uri)
        except (OSError, ValueError) as error:
            raise _refused(uri, error) from None

    def find(self, pattern: str) -> list[File]:
        """The files that ``pattern`` names, by name: a file, a folder, or a pattern with ``*``, ``**``, ``?`` or ``[…]``."""
        magic = _MAGIC.search(pattern)
        if not magic:
            return self._find_named(pattern)
        base = pattern[: pattern.rfind("/", 0, magic.start()) + 1] or "./"
        below = pattern[len(base) if base != "./" or pattern.startswith("./") else 0 :]
        deep = "/" in below or "**" in below
        expression = re.compile(_regex(below))
        files = self._find_folder(base, deep, lambda relative: expression.fullmatch(relative))
        if not files:
            raise CaptureError(f"{pattern}: no file matches: expected at least one")
        return files

    def _find_named(self, uri: str) -> list[File]:
        filesystem, path = self._at(uri)
        try:
            info = filesystem.get_file_info(path)
        except OSError as error:
            raise _refused(uri, error) from None
        if info.type == fs.FileType.File:
            return [File(uri, info.size)]
        if info.type == fs.FileType.NotFound:
            raise CaptureError(f"{uri}: there is no such file or folder")
        files = self._find_folder(uri.rstrip("/") + "/", True, _CAPTURE.search)
        if not files:
            raise CaptureError(f"{uri}: no captures in this folder: expected names such as *.pcap, *.pcapng or *.pcap.zst")
        return files

    def _find_folder(self, base: str, deep: bool, wanted) -> list[File]:
        filesystem, folder = self._at(base)
        folder = folder.rstrip("/") or "/"
        try:
            infos = filesystem.get_file_info(fs.FileSelector(folder, recursive=deep))
        except FileNotFoundError:
            raise CaptureError(f"{base}: there is no such folder") from None
        except OSError as error:
            raise _refused(base, error) from None
        files = []
        for info in infos:
            relative = info.path[len(folder) :].lstrip("/")
            if info.type == fs.FileType.File and wanted(relative):
                files.append(File(base + relative if base != "./" else relative, info.size))
        return sorted(files)

    def fetch(self, uri: str, path: str, most: int | None = None) -> None:
        """Copies a file, or its first ``most`` bytes, to ``path`` of this machine. A whole file of this machine is linked.
        Raises :class:`Vanished` for a file that is no longer there, and :class:`CaptureError` if the store refuses."""
        filesystem, remote = self._at(uri)
        if most is None and isinstance(filesystem, fs.LocalFileSystem) and os.path.isfile(remote):
            # An attempt that was killed may have left its link.
            with suppress(FileNotFoundError):
                os.unlink(path)
            os.symlink(remote, path)
            return
        try:
            with filesystem.open_input_stream(remote, compression=None) as source, open(path, "wb") as copy:
                while most is None or most > 0:
                    piece = source.read(_CHUNK if most is None else min(most, _CHUNK))
                    if not piece:
                        break
                    copy.write(piece)
                    most = most if most is None else most - len(piece)
        except FileNotFoundError:
            raise Vanished(f"{uri}: the file has vanished since it was listed: expected it to stay until it is read") from None
        except OSError as error:
            raise _refused(uri, error) from None

    def has_objects(self, uri: str) -> bool:
        """Whether it is an object store, rather than a file system."""
        return _has_objects(self._at(uri)[0])

    def local_path(self, uri: str) -> str:
        """The path of a file of this machine's file systems."""
        return self._at(uri)[1]

    def send(self, path: str, uri: str) -> None:
        """Copies a file of this machine to an object store."""
        filesystem, remote = self._at(uri)
        try:
            with open(path, "rb") as source, filesystem.open_output_stream(remote, compression=None) as copy:
                while piece := source.read(_CHUNK):
                    copy.write(piece)
        except OSError as error:
            raise _refused(uri, error) from None

    def read(self, uri: str) -> bytes | None:
        """A file's bytes, or ``None`` if there is no such file."""
        filesystem, path = self._at(uri)
        try:
            with filesystem.open_input_stream(path, compression=None) as source:
                return source.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refused(uri, error) from None

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, sorted. None if there is no such folder."""
        filesystem, path = self._at(folder)
        try:
            infos = filesystem.get_file_info(fs.FileSelector(path.rstrip("/"), allow_not_found=True))
        except OSError as error:
            raise _refused(folder, error) from None
        return sorted(info.base_name for info in infos if info.type == fs.FileType.File)

    def write(self, uri: str, content: bytes) -> None:
        """Writes a file whole or not at all: an object appears when its upload is complete, a file gets its name last."""
        filesystem, path = self._at(uri)
        try:
            if _has_objects(filesystem):
                with filesystem.open_output_stream(path, compression=None) as out:
                    out.write(content)
                return
            part = f"{path}.{uuid.uuid4().hex}.part"
            filesystem.create_dir(os.path.dirname(path), recursive=True)
            with filesystem.open_output_stream(part, compression=None) as out:
                out.write(content)
            filesystem.move(part, path)
        except OSError as error:
            raise _refused(uri, error) from None

    def remove(self, uri: str) -> None:
        """Removes a file. A file that is not there, or must not be removed, stays so."""
        filesystem, path = self._at(uri)
        with suppress(OSError):
            filesystem.delete_file(path)


def _has_objects(filesystem: fs.FileSystem) -> bool:
    """Whether files are objects, which appear whole."""
    while isinstance(filesystem, fs.SubTreeFileSystem):
        filesystem = filesystem.base_fs
    return any(name in filesystem.type_name for name in ("s3", "gcs", "abfs"))


def _path(uri: str) -> str:
    """The path that a file system of pyarrow takes: without the scheme."""
    if "://" not in uri:
        return uri
    parts = urlsplit(uri, allow_fragments=False)
    return parts.path if parts.scheme == "file" else uri.split("://", 1)[1]


def _regex(pattern: str) -> str:
    """A pattern of names: only ``**`` matches a slash."""
    parts, at = [], 0
    special = re.compile(r"\*\*/?|\*|\?|\[!?\]?[^\]]*\]")
    for found in special.finditer(pattern):
        parts.append(re.escape(pattern[at : found.start()]))
        word = found.group()
        if word.startswith("**"):
            parts.append("(?:.*/)?" if word.endswith("/") else ".*")
        elif word.startswith("["):
            parts.append("[^" + word[2:] if word.startswith("[!") else word)
        else:
            parts.append("[^/]*" if word == "*" else "[^/]")
        at = found.end()
    parts.append(re.escape(pattern[at:]))
    return "".join(parts)


def _refused(uri: str, error: Exception) -> CaptureError:
    reason = " ".join(str(error).split())
    return CaptureError(
        f"{uri}: the store refuses: {reason}: check address, credentials, region and endpoint "
        "(io_config of Daft, filesystem of Ray, or the variables AWS_…)"
    )


def checked_pattern(uris) -> list[str]:
    """The patterns of a set of captures, a list."""
    all_uris = [uris] if isinstance(uris, (str, os.PathLike)) else list(uris)
    patterns = [str(os.fspath(uri)) for uri in all_uris]
    if not patterns:
        raise RecoupError("captures: expected at least one URI or pattern")
    return patterns


@contextmanager
def unlink_after(path: str):
    """Removes a file of this machine afterwards."""
    try:
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
