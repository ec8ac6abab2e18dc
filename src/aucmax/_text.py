"""Texts from outside as a terminal may show them."""


def printable(text: str) -> str:
    r"""Return a text with escapes in place of characters that would control the terminal; line ends stay.

    Examples
    --------
    >>> from aucmax._text import printable
    >>> print(printable("column \x1b[2J"))
    column \x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
