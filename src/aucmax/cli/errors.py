"""The sentences of errors: the library names arguments, such as memory=, and the command line flags, such as --memory.

Errors and warnings of the library pass through `name_flags`, the only place that translates.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

# An argument, with its value if there is one. Not inside quotes, where names of columns and labels are.
ARGUMENT = r"(?<![\w.'\"])(?P<name>[a-z]\w*)=(?P<value>'[^']*'|\[[^]]*\]|[-+.\w]*\w)?"
# A parameter as scikit-learn names it, and one that is the subject of a sentence.
PARAMETER = r"The '(?P<parameter>\w+)' parameter of \w+"
SUBJECT = r"(?:^|(?<=: ))(?P<subject>[a-z]\w*)(?= must be)"
# OPAUC(alpha=0.1) is what --algorithm and --methods take, so it stays.
CALL = r"\w+\([^()]*\)"


def name_flags(text: str, command: Any, arguments: Sequence[str] = ()) -> str:
    """Return a sentence with the flags of a command in place of Python arguments.

    An argument that is no option of the command stays as it is, and so does what the user wrote: a file may be called
    alpha=1.csv.

    Parameters
    ----------
    text : str
        The sentence.
    command : click.Command or None
        The command that runs; None translates nothing.
    arguments : sequence of str, default=()
        The arguments of the command line.

    Returns
    -------
    text : str
        For `aucmax fit`, "raise --memory" for "raise memory=", "--loss hinge" for "loss='hinge'", and "--no-header" for
        "header=False".
    """
    options = {parameter.name: parameter for parameter in command.params} if command is not None else {}
    values = [word.partition("=")[2] if word.startswith("--") else word for word in arguments]
    kept = [re.escape(value) for value in values if "=" in value]

    def replace(found: re.Match[str]) -> str:
        names = found.groupdict()
        name = names["name"] or names["parameter"] or names["subject"]
        flag = find_flag(options[name], names["value"]) if name in options else None
        return found[0] if flag is None else flag

    return re.sub("|".join([*kept, CALL, ARGUMENT, PARAMETER, SUBJECT]), replace, text)


def find_flag(option: Any, value: str | None) -> str | None:
    """Return an option as it is written on the command line, with its value if one is given; None if it cannot be."""
    on, off = ([flag for flag in flags if flag.startswith("--")] for flags in (option.opts, option.secondary_opts))
    if value in ("True", "False"):
        flags, value = on if value == "True" else off, None
    else:
        flags = on or off
    if not flags or value is None:
        return flags[0] if flags else None
    unquoted = re.sub(r"^'(\S+)'$", r"\1", value)
    return f"no {flags[0]}" if value == "None" else f"{flags[0]} {unquoted}"


def describe_error(error: BaseException) -> str:
    """Return the sentence of an error that the user can correct."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename if error.filename is not None else "standard output"
        return f"{os.fsdecode(name)}: {error.strerror}."
    return str(error) or "there is not enough memory."
