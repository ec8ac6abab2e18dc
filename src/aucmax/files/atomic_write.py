"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

# Drafts that nobody has written to for this long, in seconds, were left by a process that was killed.
ABANDONED = 3600


def write_atomically(path: str | os.PathLike[str], write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that, whatever happens, its name stands for the old content or for all of the new one.

    A draft beside the file takes its place when it is safe on the disk. Where anything fails, the draft is removed. A
    killed process leaves it behind, as a hidden file ``.NAME.0123456789abcdef.draft``, until a later call for the same
    file finds it an hour old.

    Parameters
    ----------
    path : str or path
        The file. A symbolic link is followed. A file that exists keeps its permissions; a device or pipe is written to
        as it is.
    write : callable
        Is given a binary file and writes the content to it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.models.model_file import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/greeting", lambda file: file.write(b"hello"))
    ...     [(path.name, path.read_text()) for path in Path(folder).iterdir()]
    [('greeting', 'hello')]
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        with open(target, "wb") as file:
            write(file)
        return
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{uuid.uuid4().hex[:16]}.draft")
    try:
        with open(draft, "xb") as file:
            _remove_abandoned(folder, name, os.stat(draft).st_mtime)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(draft)
        if isinstance(error, OSError) and error.errno and error.filename in (None, draft):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error  # the name that the caller knows
        raise
    _sync_folder(folder)


def _remove_abandoned(folder: str, name: str, now: float) -> None:
    """Remove the old drafts of a file; `now` is by the clock of the file system, like their times."""
    is_draft = re.compile(re.escape(f".{name}.") + r"[0-9a-f]{16}\.draft").fullmatch
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_draft(entry.name) and now - entry.stat().st_mtime > ABANDONED:
                os.unlink(entry)


def _sync_folder(folder: str) -> None:
    """Make a new name in a folder safe on the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
