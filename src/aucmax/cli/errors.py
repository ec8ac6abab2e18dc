"""The sentences of errors: the library names arguments, as memory=, and the command line flags, as --memory."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any

from .._text import ArgumentError

PARAMETER = re.compile(r"(?:^|(?<=: ))The '(\w+)' parameter of \w+(?= must be )")  # how scikit-learn begins


def describe_error(error: BaseException, command: Any = None) -> str:
    """Return the sentence of an error that the user can correct, with the flags of the command that runs."""
    write = partial(find_flag, command)
    if isinstance(error, OSError) and error.strerror:
        name = error.filename if error.filename is not None else "standard output"
        return f"{os.fsdecode(name)}: {error.strerror}."
    text = error.text(write) if isinstance(error, ArgumentError) else str(error)
    return PARAMETER.sub(lambda found: write(f"{found[1]}="), text) or "there is not enough memory."


def find_flag(command: Any, argument: str) -> str:
    """Return an argument of Python as the command line writes it: "--loss hinge" for "loss='hinge'".

    One that is not an option of the command stays unchanged.
    """
    name, _, value = argument.partition("=")
    option = next((each for each in (command.params if command is not None else ()) if each.name == name), None)
    if option is None:
        return argument
    on, off = ([flag for flag in flags if flag.startswith("--")] for flags in (option.opts, option.secondary_opts))
    flags = off if value == "False" else on if value == "True" else on or off
    if not flags:
        return argument
    shown = "" if value in ("", "True", "False") else " " + re.sub(r"^'(\S+)'$", r"\1", value)
    return flags[0] + shown
