"""Where quoted cells of CSV begin and end, so that text is cut at the ends of lines and not inside of cells.

The rule is that of pyarrow and of Python's csv module. A quote opens a cell where the cell begins: at the beginning of
a line or after a delimiter. The next quote closes it, unless another quote follows it at once: the two are then one
quote of the cell. Any other quote, as in ``a 5" pipe``, is part of the cell.
"""

from __future__ import annotations

import numpy as np

QUOTE, LINE_ENDS = ord('"'), b"\r\n"


class Quotes:
    r"""The quotes of a text that comes in parts.

    Parameters
    ----------
    delimiters : bytes
        What separates cells: any one of these.

    Attributes
    ----------
    is_open : bool
        Whether the text so far ends inside of a quoted cell.

    Examples
    --------
    >>> from aucmax.files.quotes import Quotes
    >>> quotes = Quotes(b",")
    >>> quotes.feed(b'1,"two\n')
    >>> quotes.is_open
    True
    >>> quotes.feed(b'lines",a 5" pipe\n')
    >>> quotes.is_open
    False
    """

    def __init__(self, delimiters: bytes) -> None:
        self.is_open = False
        self._begins = np.zeros(256, dtype=bool)  # the bytes after which a cell begins
        self._begins[list(delimiters + LINE_ENDS)] = True
        self._last, self._has_closed = LINE_ENDS[-1], False  # the last byte, and whether it closed a cell

    def feed(self, text: bytes) -> None:
        """Take the next part of the text."""
        closed = -2  # the place of the last quote that closed a cell
        if b'"' in text:
            data = np.frombuffer(text, dtype=np.uint8)
            places = np.flatnonzero(data == QUOTE)
            before = data[places - 1]
            if places[0] == 0:
                before[0] = self._last
            if self._is_regular(before):
                self.is_open ^= len(places) % 2 == 1
                closed = -2 if self.is_open else int(places[-1])
            else:
                closed = self._follow(places.tolist(), self._begins[before].tolist())
        if text:
            self._last, self._has_closed = text[-1], closed == len(text) - 1

    def _is_regular(self, before: np.ndarray) -> bool:
        """Return whether quotes open and close cells by turns, given the byte before each of them.

        Two that stand for one close the cell and open it again.
        """
        opening = before[int(self.is_open) :: 2]
        return bool((self._begins[opening] | (opening == QUOTE)).all()) and (self._last != QUOTE or self._has_closed)

    def _follow(self, places: list[int], begins: list[bool]) -> int:
        """Take quotes one by one, given whether a cell may begin there; return the last place that closed one."""
        closed = -1 if self._has_closed else -2
        for place, at_beginning in zip(places, begins, strict=True):
            if self.is_open:
                self.is_open, closed = False, place
            elif at_beginning or closed == place - 1:
                self.is_open = True
        return closed


def find_opening(text: bytes, delimiters: bytes) -> int:
    """Return where the cell begins that a text leaves open.

    Examples
    --------
    >>> from aucmax.files.quotes import find_opening
    >>> find_opening(b'"1",2,"3 ""4"" 5', b",")
    6
    """
    begins, closed, opening, is_open = {*delimiters, *LINE_ENDS}, -2, -1, False
    for place in np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == QUOTE).tolist():
        if is_open:
            is_open, closed = False, place
        elif closed == place - 1:
            is_open = True
        elif place == 0 or text[place - 1] in begins:
            is_open, opening = True, place
    return opening
