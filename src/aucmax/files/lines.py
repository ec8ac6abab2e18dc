"""Text in chunks of whole lines, plain or compressed.

A chunk begins at a position of the unpacked text and ends with the first line that ends at least `n_bytes` further on.
Its end depends on nothing else, so reading can continue from the end of any chunk. Lines are counted only for the error
that gives a line number.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from .._text import ArgumentError
from .source import File, is_of_the_disk

LONGEST_LINE = 1 << 30
QUOTE, LINE_ENDS = ord('"'), b"\r\n"
BOM = b"\xef\xbb\xbf"
HEAD_BYTES = 1 << 16
UNPACKERS: dict[str, Any] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # what a block of data begins with, and the end of the stream


class Chunk(NamedTuple):
    """Whole lines of a text."""

    text: bytes  # the lines; the last one too ends with a line end
    start: int  # where they begin and end in the unpacked text
    stop: int
    n_read: int  # bytes of the file on disk that have been read so far


def find_compression(head: bytes) -> str | None:
    """Return how a file that begins with these bytes is compressed."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"BZh") and head[4:10] in _BZIP2_BLOCKS:
        return "bzip2"
    return "xz" if head.startswith(b"\xfd7zXZ\x00") else None


class Lines:
    """The lines of a text file, unpacked if it is compressed."""

    def __init__(self, file: File) -> None:
        self.file = file
        with file.open() as raw:
            self.compression = find_compression(raw.read(16))
        with self._open() as (text, _), self._unpacking():
            self.head = text.read(HEAD_BYTES).removeprefix(BOM)

    def chunks(self, n_bytes: int, start: int = 0, delimiters: bytes = b"") -> Iterator[Chunk]:
        """Yield chunks of about `n_bytes` from the position `start`; given delimiters, quoted cells stay whole."""
        n_bytes = min(n_bytes, LONGEST_LINE)
        with self._open() as (text, raw):
            with self._unpacking():
                text.seek(start)
            while True:
                with self._unpacking():
                    lines = self._read_lines(text, n_bytes, start, delimiters)
                if not lines:
                    return
                stop = start + len(lines)
                if start == 0:
                    lines = lines.removeprefix(BOM)
                yield Chunk(lines if lines.endswith(b"\n") else lines + b"\n", start, stop, raw.tell())
                start = stop

    def _read_lines(self, text: BinaryIO, n_bytes: int, start: int, delimiters: bytes) -> bytes:
        parts, size, quotes = [text.read(n_bytes)], 0, Quotes(delimiters)
        while True:
            size += len(parts[-1])
            if delimiters:
                quotes.feed(parts[-1] if start > 0 or len(parts) > 1 else parts[-1].removeprefix(BOM))
            if not parts[-1] or (parts[-1].endswith(b"\n") and not quotes.is_open):
                break
            if size >= n_bytes + LONGEST_LINE:
                self.refuse("longer than 1 GiB, or with a quote that is not closed.", start)
            ahead = text.peek(1) if quotes.is_open else b""  # type: ignore[attr-defined]
            inside = ahead.find(b'"') % (len(ahead) + 1)  # bytes of a quoted cell, whose lines may be many and short
            parts.append(text.read(inside) if inside else text.readline(LONGEST_LINE))
        lines = b"".join(parts)
        if quotes.is_open:
            before = lines[: find_opening(lines, delimiters)]
            self.refuse("a quote opens a cell that is not closed before the end of the file.", start, before)
        return lines

    def refuse(self, what: str | ArgumentError, start: int, before: bytes = b"") -> NoReturn:
        """Raise a ValueError about the line that follows the text up to `start` and the bytes `before`."""
        number = self.line_number(start) + before.count(b"\n")
        raise ArgumentError(f"{{}}, line {number}: {{}}", self.file.name, what)

    def line_number(self, position: int) -> int:
        """Return the number of the line at a position of the text, from 1."""
        number = 1
        with self._open() as (text, _), self._unpacking():
            while position > 0 and (part := text.read(min(position, 1 << 20))):
                number += part.count(b"\n")
                position -= len(part)
        return number

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        with self.file.open() as raw:
            if self.compression is None:
                yield raw, raw
            else:
                with UNPACKERS[self.compression](raw) as text:
                    yield text, raw

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if is_of_the_disk(error):
                raise
            raise ValueError(
                f"{self.file.name} is damaged or cut short: its {self.compression} data end early."
            ) from None


# Quoted cells of CSV, so that text is cut at the ends of lines and not inside of cells. The rule is the one of pyarrow
# and of Python's csv module. A quote opens a cell where the cell begins: at the beginning of a line or after a
# delimiter. The next quote closes it, unless another quote follows it at once: the two are then one quote of the cell.
# Any other quote, as in `a 5" pipe`, is part of the cell.


class Quotes:
    r"""The quotes of a text that comes in parts; any one of the `delimiters` separates cells.

    `is_open` is whether the text so far ends inside of a quoted cell.

    Examples
    --------
    >>> from aucmax.files.lines import Quotes
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
        self._opening = -1  # where the last cell was opened, among quotes that were taken one by one
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
                self.is_open, self._opening = True, place if at_beginning else self._opening
        return closed


def find_opening(text: bytes, delimiters: bytes) -> int:
    """Return where the cell begins that a text leaves open.

    Examples
    --------
    >>> from aucmax.files.lines import find_opening
    >>> find_opening(b'"1",2,"3 ""4"" 5', b",")
    6
    """
    quotes, data = Quotes(delimiters), np.frombuffer(text, dtype=np.uint8)
    places = np.flatnonzero(data == QUOTE)
    begins = quotes._begins[data[places - 1]] | (places == 0)
    quotes._follow(places.tolist(), begins.tolist())
    return quotes._opening
