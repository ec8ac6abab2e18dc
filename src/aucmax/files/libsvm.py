"""LIBSVM text: a label and ``index:value`` pairs on each line.

The compiled parser at the foot gives the values that Python's ``float`` would give, in one pass over the bytes. A
decimal of at most 19 digits is m 10^e with an integer m below 2^64. If m is at most 2^53 and |e| at most 22, m and
10^|e| are doubles, and their product or quotient is rounded once, so it is exact (Clinger, 1990). If m is larger, the
product or quotient is computed in twice the precision, and rounded if its error cannot change the result (Ziv, 1991).
The rest (ties, longer decimals, larger exponents, and text that is not a decimal) is listed for Python to read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from scipy.sparse import csr_array

from .._compat import jit
from .._text import ArgumentError
from .lines import Chunk, Lines
from .source import BLOCK_BYTES, Block, Options, Source

OK, NOT_A_PAIR, ZERO_INDEX, NOT_INCREASING, TOO_LARGE = range(5)
LARGEST_INDEX = 2**31 - 2

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, MINUS, POINT, ZERO, COLON, UPPER_E, LOWER_E = b"\t\n\r #+-.0:Ee"
POWERS = np.array([10.0**k for k in range(23)])
TEN = np.uint64(10)
LARGEST_EXACT = np.uint64(2**53)
MOST_DIGITS = 19
SPLITTER = 2.0**27 + 1
_TOKEN = re.compile(rb"[^\s#]*")


class LibsvmSource(Source):
    """A file in LIBSVM format; `zero_based`, `n_features` and `with_target` are used, `weight` and `group` refused."""

    format = "libsvm"
    sparse = True

    def __init__(self, lines: Lines, options: Options) -> None:
        self.file, self.name, self.size = lines.file, lines.file.name, lines.file.size
        for role in ("weight", "group"):
            if getattr(options, role) is not None:
                raise ArgumentError(
                    f"{{}}: {{{role}=}} names a column, but LIBSVM text has no column names.", self.name
                )
        self.n_features = options.n_features
        self._lines = lines
        self._first_index = 0 if options.zero_based else 1
        self._with_labels = options.with_target is not False
        self._width = 0  # columns that were seen so far

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        n_rows = width = 0
        for chunk in self._lines.chunks(n_bytes, start):
            X, y = self._parse(chunk)
            n_rows, width = n_rows + len(y), max(width, X.shape[1])
            if len(y):
                yield Block(X, y if self._with_labels else None, chunk.stop, chunk.n_read)
        if start == 0 and n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        if start == 0 and width == 0:
            raise ValueError(f"{self.name} has labels but no columns: not one index:value in {n_rows} rows.")

    def _parse(self, chunk: Chunk) -> tuple[csr_array, np.ndarray]:
        text = np.frombuffer(chunk.text, dtype=np.uint8)
        max_values, max_rows = count(text)
        data, indices = np.empty(max_values), np.empty(max_values, dtype=np.int32)
        indptr, labels = np.empty(max_rows + 1, dtype=np.int32), np.empty(max_rows)
        slow = np.empty((max_values + max_rows, 2), dtype=np.int64)
        n_columns = self.n_features
        if n_columns is None:
            n_columns = LARGEST_INDEX + 1 - self._first_index
        problem, place, n_rows, n_values, width, n_slow = parse(
            text, self._first_index, n_columns, data, indices, indptr, labels, slow
        )
        for slot, position in slow[:n_slow].tolist():
            value = self._parse_slowly(chunk, position, is_label=slot < 0)
            if slot < 0:
                labels[-1 - slot] = value
            else:
                data[slot] = value
        if problem != OK:
            self._refuse(chunk, problem, place)
        self._width = max(self._width, width)
        X = csr_array(
            (data[:n_values], indices[:n_values], indptr[: n_rows + 1]),
            shape=(n_rows, width if self.n_features is None else self.n_features),
        )
        X.has_canonical_format = True  # the parser has checked that indices increase
        return X, labels[:n_rows]

    def _parse_slowly(self, chunk: Chunk, position: int, is_label: bool) -> float:
        token = _token(chunk, position)
        what = "label" if is_label else "value"
        try:
            value = float(token.replace(b"_", b"?"))  # Python would take 1_000
        except ValueError:
            self._lines.refuse(f"the {what} {_show(token)} is not a number.", chunk.start, chunk.text[:position])
        if not math.isfinite(value):
            self._lines.refuse(f"the {what} {_show(token)} is not a finite number.", chunk.start, chunk.text[:position])
        return value

    def find_largest_index(self) -> tuple[int, int] | None:
        """Return the largest index that was read so far and the first line that has it; None if none was read."""
        if self._width == 0:
            return None
        index = self._width - 1 + self._first_index
        pair = re.compile(rb"^[^#\n]*\s0*%d:" % index, re.MULTILINE)
        for chunk in self._lines.chunks(BLOCK_BYTES, 0):
            if found := pair.search(chunk.text):
                return index, self._lines.line_number(chunk.start) + chunk.text.count(b"\n", 0, found.start())
        return None

    def _refuse(self, chunk: Chunk, problem: int, position: int) -> NoReturn:
        token = _token(chunk, position)
        index = _show(token.partition(b":")[0])
        what: str | ArgumentError
        if problem == NOT_A_PAIR and token.startswith(b"qid:"):
            what = f"{_show(token)} puts the row into a group, which is not read from LIBSVM text: leave qid out."
        elif problem == NOT_A_PAIR:
            what = f"found {_show(token)} where index:value is expected, with a whole number as index."
        elif problem == ZERO_INDEX:
            what = ArgumentError("index 0, but LIBSVM counts from 1: say {zero_based=True} if this file counts from 0.")
        elif problem == NOT_INCREASING:
            what = f"index {index} does not come after the index before it: sort the indices, each at most once."
        elif self.n_features is None:
            what = f"index {index} is above {LARGEST_INDEX}, the largest index that is accepted."
        else:
            what = f"index {index} is beyond the {self.n_features} features that are expected."
        self._lines.refuse(what, chunk.start, chunk.text[:position])


def _token(chunk: Chunk, position: int) -> bytes:
    found = _TOKEN.match(chunk.text, position)
    return found.group() if found else b""


def _show(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))


@jit
def count(text):
    """Return the numbers of colons and of line ends, which bound the numbers of values and of rows."""
    colons = lines = 0
    for i in range(text.shape[0]):
        colons += text[i] == COLON
        lines += text[i] == NEWLINE
    return colons, lines


@jit
def parse(text, first_index, n_columns, data, indices, indptr, labels, slow):
    """Fill the arrays of a CSR matrix and its labels from whole lines, each with a line end.

    `first_index` is 1 or 0; indices of `n_columns` columns or more are refused. The arrays are filled; `count` gives
    the lengths that they need. `slow`, of shape (n_values + n_rows, 2), gets the values that Python must read: the
    index in `data`, or -1 - row for a label, and the position in the text. Returns what is wrong, the position in the
    text where it is, and the numbers of rows, values, columns and slow values.
    """
    row = k = width = n_slow = i = 0
    indptr[0] = 0
    while i < text.shape[0]:
        i = skip_spaces(text, i)
        if text[i] == NEWLINE or text[i] == HASH:
            i = skip_line(text, i)
            continue
        labels[row], stop, exact = parse_decimal(text, i)
        if not exact:
            slow[n_slow, 0], slow[n_slow, 1] = -1 - row, i
            n_slow += 1
        last = -1
        i = skip_spaces(text, stop)
        while text[i] != NEWLINE and text[i] != HASH:
            index, stop = parse_index(text, i)
            column = index - first_index
            if stop == i or text[stop] != COLON:
                return NOT_A_PAIR, i, row, k, width, n_slow
            if column < 0:
                return ZERO_INDEX, i, row, k, width, n_slow
            if column <= last:
                return NOT_INCREASING, i, row, k, width, n_slow
            if column >= n_columns:
                return TOO_LARGE, i, row, k, width, n_slow
            data[k], i, exact = parse_decimal(text, stop + 1)
            if not exact:
                slow[n_slow, 0], slow[n_slow, 1] = k, stop + 1
                n_slow += 1
            indices[k] = last = column
            k += 1
            i = skip_spaces(text, i)
        width = max(width, last + 1)
        row += 1
        indptr[row] = k
        i = skip_line(text, i)
    return OK, i, row, k, width, n_slow


@jit(inline="always")
def skip_spaces(text, i):
    """Return the position of the next byte that is not a space; a line end is not one."""
    while text[i] == SPACE or (TAB <= text[i] <= RETURN and text[i] != NEWLINE):
        i += 1
    return i


@jit(inline="always")
def skip_line(text, i):
    """Return the position after the end of this line."""
    while text[i] != NEWLINE:
        i += 1
    return i + 1


@jit
def skip_token(text, i):
    """Return the end of what stands at a position without spaces."""
    while text[i] != SPACE and not TAB <= text[i] <= RETURN and text[i] != HASH:
        i += 1
    return i


@jit(inline="always")
def parse_index(text, i):
    """Return an index, or some number above the largest one, and its end."""
    index = 0
    while ZERO <= text[i] < COLON:
        index = min(10 * index + (text[i] - ZERO), LARGEST_INDEX + 2)
        i += 1
    return index, i


@jit
def parse_decimal(text, i):
    """Return the value of what stands at a position, its end, and whether the value is exact."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    mantissa, n_digits, n_figures, exponent, after_point = np.uint64(0), 0, 0, 0, 0
    while True:
        if ZERO <= text[i] < COLON:
            mantissa = mantissa * TEN + np.uint64(text[i] - ZERO)
            n_digits += n_digits > 0 or text[i] != ZERO  # leading zeros do not count
            n_figures += 1
            exponent -= after_point
        elif text[i] == POINT and not after_point:
            after_point = 1
        else:
            break
        i += 1
    complete = n_figures > 0
    if complete and (text[i] == LOWER_E or text[i] == UPPER_E):
        i += 1
        sign = -1 if text[i] == MINUS else 1
        if text[i] == MINUS or text[i] == PLUS:
            i += 1
        size, end = parse_index(text, i)
        complete = end > i
        exponent += sign * size
        i = end
    if text[i] != SPACE and not TAB <= text[i] <= RETURN and text[i] != HASH:
        return np.nan, skip_token(text, i), False
    if not complete or n_digits > MOST_DIGITS:
        return np.nan, i, False
    value = scale(mantissa, exponent)
    return -value if negative else value, i, value == value


@jit
def scale(mantissa, exponent):
    """Return mantissa * 10^exponent rounded correctly, or NaN."""
    if mantissa == 0:
        return 0.0
    if abs(exponent) > 22:
        return np.nan
    high, power = np.float64(mantissa), POWERS[abs(exponent)]
    if mantissa <= LARGEST_EXACT:
        return high * power if exponent >= 0 else high / power
    low = np.float64(np.int64(mantissa - np.uint64(high)))
    if exponent >= 0:
        first = high * power
        second = product_error(first, high, power) + low * power
    else:
        first = high / power
        product = first * power
        second = (high - product - product_error(product, first, power) + low) / power
    margin = first * 2.0**-100  # a few times what rounding left in the second part
    below, above = first + (second - margin), first + (second + margin)
    return below if below == above else np.nan


@jit(inline="always")
def product_error(product, a, b):
    """Return a * b - product exactly, for the rounded product (Dekker, 1971)."""
    a_high = SPLITTER * a - (SPLITTER * a - a)
    b_high = SPLITTER * b - (SPLITTER * b - b)
    a_low, b_low = a - a_high, b - b_high
    return a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
