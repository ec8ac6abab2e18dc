"""Texts for users: errors that name arguments or flags, warnings, and words from outside."""

from __future__ import annotations

import string
import sys
import warnings
from collections.abc import Callable


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


def printable(text: str) -> str:
    r"""Return a text with escapes in place of characters that would control the terminal; line ends stay.

    Examples
    --------
    >>> from aucmax._text import printable
    >>> print(printable("column \x1b[2J"))
    column \x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def warn_user(message: str) -> None:
    """Warn of the line that called aucmax, however deep the call is in it and in scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("aucmax", "sklearn")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level - 1)
