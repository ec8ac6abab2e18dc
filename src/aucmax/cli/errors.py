"""The sentences of errors: the library names arguments, such as memory=, and the command line flags, such as --memory.

Errors and warnings of the library pass through `name_flags`, the only place that translates.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from typing import Any

from ..papers import ALGORITHMS

# An argument, with its value if there is one. Not inside quotes, where names of columns and labels are.
ARGUMENT = r"(?<![\w.'\"])(?P<name>[a-z]\w*)=(?P<value>'[^']*'|\[[^]]*\]|[-+.\w]*\w)?"
# A parameter as scikit-learn names it, and one that is the subject of a sentence.
PARAMETER = r"The '(?P<parameter>\w+)' parameter of \w+"
SUBJECT = r"(?:^|(?<=: ))(?P<subject>[a-z]\w*)(?= must be)"
# What a sentence about too many columns begins with, and an algorithm takes.
PART = (
    r"(?P<part>A fit(?= to )|Class moments(?= for )"
    r"|(?:KMeansNystroem|PCA|TruncatedSVD|GaussianRandomProjection|SelectKBest)(?= with ))"
)
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
    algorithm, of_class = find_algorithm(arguments)

    def replace(found: re.Match[str]) -> str:
        names = found.groupdict()
        if names.get("class"):
            return algorithm
        if names.get("part"):
            return f"{found[0]} of {algorithm}"
        name = names["name"] or names["parameter"] or names["subject"]
        flag = find_flag(options[name], names["value"]) if name in options else None
        return found[0] if flag is None else flag

    named = [PART] if algorithm else []
    named += [rf"(?<![\w.'\"/-])(?P<class>{of_class})(?![\w'\"/-]|\.\w)"] if of_class != algorithm else []
    return re.sub("|".join([*kept, CALL, *named, ARGUMENT, PARAMETER, SUBJECT]), replace, text)


def find_algorithm(arguments: Sequence[str]) -> tuple[str, str]:
    """Return the algorithm that the user named, and the class or function that makes it; empty texts if none was named.

    The class OPAUC also makes OPAUCr. Sentences of the library name the class, the command line what the user wrote.

    Examples
    --------
    >>> from aucmax.cli.errors import find_algorithm
    >>> find_algorithm(["fit", "rows.csv", "--algorithm", "opaucr(rank=9)"])
    ('OPAUCr', 'OPAUC')
    """
    words = [word for argument in arguments for word in argument.split("=", 1 if argument.startswith("--") else 0)]
    given = dict(itertools.pairwise(words)).get("--algorithm", "").partition("(")[0].strip()
    for name, method in ALGORITHMS.items():
        if name.lower() == given.lower():
            return name, method.maker
    return "", ""


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
