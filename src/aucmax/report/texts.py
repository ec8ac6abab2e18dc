"""Names and numbers as figures and pages show them."""

from __future__ import annotations


def shorten(text: str, length: int = 28) -> str:
    """Return text in one line of at most this length, without characters that do not show.

    Parameters
    ----------
    text : str
        Any text.
    length : int, default=28
        The most characters.

    Returns
    -------
    short : str
        The text, or its beginning and its end with an ellipsis between them.

    Examples
    --------
    >>> from aucmax.report.texts import shorten
    >>> shorten("the_mean_of_all_measurements_of_the_last_year", 20)
    'the_mean_o…last_year'
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def number_text(value: float, form: str = ".4g") -> str:
    """Return a number as a figure shows it."""
    return format(value, form).rstrip(".").replace("-", "\N{MINUS SIGN}")
