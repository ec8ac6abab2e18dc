"""Texts for users: errors that name arguments or flags, warnings, and words from outside."""

from __future__ import annotations

import string
import sys
import warnings
from collections.abc import Callable, Collection
from difflib import get_close_matches


class ArgumentError(ValueError):
    """An error about arguments: what Python calls memory= is --memory on the command line.

    Parameters
    ----------
    sentence : str
        The text: an argument stands in braces, with "=" and with its value if it has one; {} stands for a value.
    *values
        The values, in their order. The arguments of an `ArgumentError` among them are kept.

    Examples
    --------
    >>> from aucmax._text import ArgumentError
    >>> error = ArgumentError("{}: say {header=False}.", "rows.csv")
    >>> print(error)
    rows.csv: say header=False.
    >>> error.text(lambda argument: "--no-header")
    'rows.csv: say --no-header.'
    """

    def __str__(self) -> str:
        return self.text(str)

    def text(self, write: Callable[[str], str]) -> str:
        """Return the sentence, with each argument as a function writes it."""
        sentence, *values = self.args
        parts, rest = [], iter(values)
        for literal, field, _, _ in string.Formatter().parse(sentence):
            parts.append(literal)
            if field == "":
                value = next(rest)
                parts.append(value.text(write) if isinstance(value, ArgumentError) else str(value))
            elif field is not None:
                parts.append(write(field))
        return "".join(parts)


def listed(columns: Collection[str], what: str = "column", meant: str = "") -> str:
    """Return a list of the first columns for a message, in quotes if blanks are around them; or the one nearest."""
    near = get_close_matches(meant.strip().lower(), [*{column.strip().lower() for column in columns}], 1, 0.75)
    if near:
        return f"the nearest is {next(column for column in columns if column.strip().lower() == near[0])!r}"
    first, rest = list(columns)[:10], len(columns) - 10
    first = [" ".join(column.split()) if column == column.strip() else repr(column) for column in first]
    return f"its {what}s are {', '.join(first) or 'none'}" + (f" and {rest} more" if rest > 0 else "")


def parse_bytes(memory: object) -> int:
    """Return the argument `memory` as bytes: a number, or a text such as 2GB or 500 MiB.

    Examples
    --------
    >>> from aucmax._text import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes("300000"), parse_bytes(2**31)
    (2000000000, 1610612736, 300000, 2147483648)
    """
    units = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12}
    units |= {"tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
    text = str(memory).strip()
    number = text.rstrip("bBkKmMgGtTiI ")
    try:
        n = float(number) * units[text[len(number) :].strip().lower()]
        if not 0 < n < 1 << 60:
            raise ValueError
    except (KeyError, ValueError):
        raise ArgumentError(
            "{memory=} takes a number of bytes or a size such as 2GB or 500MB, got {}.", repr(memory)
        ) from None
    return int(n)


def printable(text: str) -> str:
    r"""Return a text with escapes in place of characters that would control the terminal; line ends stay.

    Examples
    --------
    >>> from aucmax._text import printable
    >>> print(printable("column \x1b[2J"))
    column \x1b[2J
    """
    return "\n".join(map(one_line, text.split("\n")))


def one_line(text: str) -> str:
    r"""Return a text with escapes for all that may end a line or hide something.

    Examples
    --------
    >>> from aucmax._text import one_line
    >>> print(one_line("a" + chr(10) + "DROP TABLE b"))
    a\nDROP TABLE b
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def warn_user(message: str) -> None:
    """Warn of the line that called aucmax, however deep the call is in it and in scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("aucmax", "sklearn")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level - 1)
