"""Take from Linux what Windows does not have, so that tests find code that needs it: `make test-like-windows`.

This is a plugin of pytest, which must be imported before anything else opens a file. It hides modules and functions of
POSIX, ends lines of text files with CR LF, and refuses to remove or move an open file, to open a folder, and names that
Windows does not allow. The locale, which knows only ASCII, is chosen by whoever starts the process.
"""

import builtins
import errno
import io
import os
import re
import signal
import sys
import time

# These choose between POSIX and Windows when they are imported, and find Linux.
import asyncio  # isort: skip  # noqa: F401
import multiprocessing.util  # isort: skip  # noqa: F401
import shutil  # isort: skip  # noqa: F401
import subprocess  # isort: skip  # noqa: F401
import tempfile  # isort: skip  # noqa: F401

MODULES = ("fcntl", "grp", "pwd", "resource", "syslog", "termios")
FUNCTIONS = {  # not getuid, which pytest asks for
    os: ["chown", "fork", "geteuid", "mkfifo", "sched_getaffinity", "setuid", "statvfs", "sysconf"],
    signal: ["SIGALRM", "SIGHUP", "SIGXFSZ", "alarm"],
    time: ["tzset"],
}
FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]$')


def hide_posix():
    """Hide the modules and functions."""
    for name in MODULES:
        sys.modules[name] = None
    for module, names in FUNCTIONS.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


def open_like_windows(
    file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None
):
    """Open a file as `open` does on Windows."""
    if opener is None and not isinstance(file, int):
        if os.path.isdir(file):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(file))
        if FORBIDDEN.search(os.path.basename(os.fsdecode(file))):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fspath(file))
    if set(mode) & set("wax") and "b" not in mode and newline is None:
        newline = "\r\n"
    return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)


def refuse_open_files(function):
    """Return a function of paths that refuses those that this process has open, or mapped into memory."""

    def refusing(*paths, dir_fd=None, **options):
        folder = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        used = _open_files() if paths and not isinstance(paths[0], int) else ()
        for path in paths:
            if os.path.realpath(os.path.join(folder, os.fsdecode(path))) in used:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return function(*paths, **({} if dir_fd is None else {"dir_fd": dir_fd}), **options)

    return refusing


def _open_files():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        if os.path.exists(path := f"/proc/self/fd/{name}"):
            found.add(os.readlink(path))
    with _open("/proc/self/maps", encoding="utf-8") as maps:
        return found | {line.split(maxsplit=5)[5].rstrip("\n") for line in maps if line.count("/")}


_open = io.open
hide_posix()
io.open = builtins.open = open_like_windows
for each in ("unlink", "remove", "replace", "rename"):
    setattr(os, each, refuse_open_files(getattr(os, each)))
