"""Bytes that can be opened again and again: a file on disk, or standard input kept in a temporary one."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple, cast


def is_of_the_disk(error: Exception) -> bool:
    """Return whether an error is one of the system: what a file holds can only lead to seeks that are invalid."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


class File(NamedTuple):
    """A name for messages, a size, and a function that opens the bytes, each time from their beginning."""

    name: str
    size: int
    open: Callable[[], BinaryIO]


def find_file(path: str | os.PathLike[str]) -> File:
    """Return the file at `path`; "-" is standard input. An OSError says why a path cannot be read."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed.")
        return spool(sys.stdin.buffer, "standard input")
    with open(name, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            return spool(file, name)
    return File(name, status.st_size, lambda: open(name, "rb"))


def spool(stream: BinaryIO, name: str) -> File:
    """Copy what can be read only once into a temporary file without a name, which goes when nothing refers to it."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, copy)
        copy.flush()
    except OSError as error:
        where = f"{tempfile.gettempdir()} (where {name} is kept; TMPDIR names another folder)"
        raise OSError(error.errno, error.strerror, where) from error
    lock = threading.Lock()

    def open_copy() -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_View(copy, lock)))

    weakref.finalize(open_copy, copy.close)
    return File(name, copy.tell(), open_copy)


class _View(io.RawIOBase):
    """A file that others read too, with a place of its own."""

    def __init__(self, file: Any, lock: threading.Lock) -> None:
        self._file, self._lock, self._place = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._lock:
            origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._file.seek(0, os.SEEK_END)}[whence]
        self._place = max(0, origin + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._place)
            n_read = int(self._file.readinto(buffer))
        self._place += n_read
        return n_read
