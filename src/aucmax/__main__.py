"""The process of the command line, which ``aucmax`` and ``python -m aucmax`` start."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn


def run() -> NoReturn:
    """Run the command line as a process of its own.

    The process ends without taking the interpreter apart. After an error, threads of pyarrow may still hold Python
    objects; one that waits for the interpreter while it is taken apart aborts the process: status 134 instead of 2.
    """
    status: Any = 1
    try:
        from .cli.app import main  # takes a third of a second, in which somebody may press Ctrl-C

        main()
    except SystemExit as leaving:
        status = leaving.code
    except KeyboardInterrupt:  # before the command has begun, or after its end
        status = say("interrupted.", 128 + signal.SIGINT)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        status = say("the command line needs typer and rich: pip install 'aucmax[cli]'", 2)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError, KeyboardInterrupt):
            stream.flush()
    os._exit(status)


def say(sentence: str, status: int) -> int:
    """Write a sentence to standard error, if there is one, and return the exit status."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"aucmax: {sentence}\n")
    return status


if __name__ == "__main__":
    run()
