"""The compiled parser of LIBSVM text: one pass over the bytes gives the values that Python's ``float`` would give.

A decimal of at most 19 digits is m 10^e with an integer m below 2^64. If m is at most 2^53 and |e| at most 22, m and
10^|e| are doubles, and their product or quotient is rounded once, so it is exact (Clinger, 1990). If m is larger, the
product or quotient is computed in twice the precision, and rounded if its error cannot change the result (Ziv, 1991).
The rest (ties, longer decimals, larger exponents, and text that is no decimal) is listed for Python to read.

Importing this module imports Numba; see `jit`.
"""

import numpy as np

from ..jit import jit

OK, NOT_A_PAIR, ZERO_INDEX, NOT_INCREASING, TOO_LARGE = range(5)
LARGEST_INDEX = 2**31 - 2

TAB, NEWLINE, RETURN, SPACE, HASH, PLUS, MINUS, POINT, ZERO, COLON, UPPER_E, LOWER_E = b"\t\n\r #+-.0:Ee"
POWERS = np.array([10.0**k for k in range(23)])
TEN = np.uint64(10)
LARGEST_EXACT = np.uint64(2**53)
MOST_DIGITS = 19
SPLITTER = 2.0**27 + 1


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

    Parameters
    ----------
    text : array of bytes
        The lines.
    first_index : int
        The index of the first column, 1 or 0.
    n_columns : int
        The number of columns; larger indices are refused.
    data, indices, indptr, labels : arrays
        Filled here; `count` gives the lengths that they need.
    slow : array of shape (n_values + n_rows, 2)
        Filled here with the values that Python must read: the index in `data`, or -1 - row for a label, and the
        position in the text.

    Returns
    -------
    outcome : tuple of int
        What is wrong, the position in the text where it is, and the numbers of rows, values, columns and slow values.
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
    """Return the position of the next byte that is no space; line ends are none."""
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
