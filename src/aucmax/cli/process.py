"""The process of the command line: how it begins and ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

INTERRUPTED = 130


def run() -> NoReturn:
    """Run the command line as a process of its own.

    The process ends without taking the interpreter apart. After an error, threads of pyarrow may still hold Python
    objects; one that waits for the interpreter while it is taken apart aborts the process: status 134 instead of 2.
    """
    status: Any = 1
    try:
        from .app import main  # takes a third of a second, in which somebody may press Ctrl-C

        main()
    except SystemExit as leaving:
        status = leaving.code
    except KeyboardInterrupt:  # before the command has begun, or after its end
        status = INTERRUPTED
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write("aucmax: interrupted.\n")
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError, KeyboardInterrupt):
            stream.flush()
    os._exit(status)
