"""Files that can be opened any number of times: files on disk, and temporary copies of standard input and pipes."""

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
    """Return whether the disk caused an error, not the content of a file, which can only cause invalid seeks."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


class File(NamedTuple):
    """A file of bytes.

    Attributes
    ----------
    name : str
        The name for messages.
    size : int
        Number of bytes.
    open : callable
        Opens the file at its beginning, any number of times.
    """

    name: str
    size: int
    open: Callable[[], BinaryIO]


def find_file(path: str | os.PathLike[str]) -> File:
    """Return the file at `path`, where "-" is standard input; raise an OSError if it cannot be read."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed.")
        return spool(sys.stdin.buffer, "standard input")
    if os.path.isdir(name):  # Windows would say that permission is denied
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    with open(name, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            return spool(file, name)
    return File(name, status.st_size, lambda: open(name, "rb"))


def spool(stream: BinaryIO, name: str) -> File:
    """Copy a stream that can be read only once to a temporary file, which is removed when nothing refers to it."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, copy)
        copy.flush()
    except OSError as error:
        where = f"{tempfile.gettempdir()} (where {name} is copied; TMPDIR names another folder)"
        raise OSError(error.errno, error.strerror, where) from error
    lock = threading.Lock()

    def open_copy() -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_View(copy, lock)))

    weakref.finalize(open_copy, copy.close)
    return File(name, copy.tell(), open_copy)


class _View(io.RawIOBase):
    """One reader of a file that several readers share; each has its own position."""

    def __init__(self, file: Any, lock: threading.Lock) -> None:
        self._file, self._lock, self._position = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._lock:
            origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.seek(0, os.SEEK_END)}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._position)
            n_read = int(self._file.readinto(buffer))
        self._position += n_read
        return n_read
