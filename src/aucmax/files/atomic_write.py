"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import BinaryIO

# Windows has no such locks, and neither moves nor removes a file that is open.
HAS_LOCKS = find_spec("fcntl") is not None
# Seconds. Where files cannot be locked, a draft that was not written to for this long was left by a killed process.
ABANDONED = 3600


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that, whatever happens, it has its old content or all of the new content.

    A draft is written beside the file and replaces it when it is safe on the disk. If anything fails, the draft is
    removed. A killed process leaves it behind, as a hidden file ``.NAME.0123456789abcdef.draft``; the next call for the
    same file removes it. A process that is still writing holds a lock on its draft. Windows has no such locks: there,
    drafts are removed when they are old, and of two processes that write a file at the same time one may be refused.

    `write` writes the content to the binary file that it is given. A symbolic link is followed, a file that exists
    keeps its permissions, and a device or pipe is written to directly.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.files.atomic_write import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/greeting", lambda file: file.write(b"hello"))
    ...     [(path.name, path.read_bytes()) for path in Path(folder).iterdir()]
    [('greeting', b'hello')]
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            write(file)
        return
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:16]}.draft")
    try:
        with _create_locked(draft) as file:
            _remove_abandoned(folder, name, os.stat(draft).st_mtime)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            if os.path.exists(target):
                shutil.copymode(target, draft)
            if not HAS_LOCKS:
                file.close()
            os.replace(draft, target)  # while it is locked: unlocked, it would count as abandoned
    except BaseException as error:
        with suppress(OSError):
            os.unlink(draft)
        if isinstance(error, OSError) and error.errno and error.filename in (None, draft):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # name the file, not the draft
        raise
    _sync_folder(folder)


def _create_locked(path: str) -> BinaryIO:
    """Create a file and lock it; again if another process found it before it was locked, and removed it."""
    while True:
        file = open(path, "xb")  # noqa: SIM115
        _lock(file, wait=True)
        if os.path.exists(path):
            return file
        file.close()


def _lock(file: BinaryIO, wait: bool) -> bool:
    """Lock a file until it is closed, or the process ends; return whether that was possible."""
    if not HAS_LOCKS:
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process holds it, or the file system has no locks
        return False
    return True


def _remove_abandoned(folder: str, name: str, now: float) -> None:
    """Remove the abandoned drafts of a file; `now` is a time of the file system's clock, as their times are."""
    is_draft = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{16}\.draft").fullmatch
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_draft(entry.name):
                with suppress(OSError), open(entry, "rb") as file:
                    if _lock(file, wait=False) or now - os.fstat(file.fileno()).st_mtime > ABANDONED:
                        if not HAS_LOCKS:
                            file.close()
                        os.unlink(entry)


def _sync_folder(folder: str) -> None:
    """Make a new name in a folder safe on the disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
