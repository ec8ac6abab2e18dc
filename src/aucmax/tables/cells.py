"""Cells of text and what they say: missing values, numbers and dates in their usual spellings.

A *form* says how the cells of a column are written: ``"1,234.5"`` for numbers with commas between the thousands,
``"$1234.5"`` for those with a currency sign, ``"%d/%m/%Y"`` for dates. All functions take Arrow arrays of text without
blanks around it (`trim`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

# In lower case. A category loses nothing by "none": its gaps are a level of their own.
MISSING = ("", "?", "-", "--", ".", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "nil", "missing")
NUMBER_FORMS = ("1234.5", "1,234.5", "1234,5", "1.234,5", "1 234,5", "1'234.5")
# The month comes first where the column does not tell.
DATE_FORMS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d.%m.%Y",
    "%m-%d-%Y",
    "%d-%m-%Y",
    "%d-%b-%Y",
    "%d %b %Y",
)
DIGITS_FORM = "%Y%m%d"  # of a date only where the user says so
SIGN = r"[\p{Sc}%]"
DATE = (
    r"^(?P<day>\d[\w ./-]*?\d)(?:(?:T| +)(?P<time>\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?) ?(?:Z|UTC|[-+]\d{2}:?\d{2})?)?$"
)
BOOLEANS = (("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off"))


def trim(column: Any) -> Any:
    """Return the cells of an Arrow column as one array of text, without blanks around it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.utf8_trim_whitespace(column.cast(pa.string()))


def spellings(na_values: Sequence[str]) -> list[str]:
    """Return the spellings of a missing value in the usual cases, as a CSV reader compares them."""
    return sorted(
        {case for word in MISSING for case in (word, word.upper(), word.capitalize(), "NaN", "NaT")} | {*na_values}
    )


def find_missing(text: Any, na_values: Sequence[str] = ()) -> np.ndarray:
    """Return which cells are missing: null, in one of the usual spellings, or one of `na_values`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.cells import find_missing
    >>> find_missing(pa.array(["N/A", "?", None, "0", "-1"]), ["-1"]).tolist()
    [True, True, True, False, True]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    usual = pc.is_in(pc.utf8_lower(text), value_set=pa.array(MISSING))
    missing = pc.or_(pc.is_null(text), usual)
    if na_values:
        missing = pc.or_(missing, pc.is_in(text, value_set=pa.array([str(value) for value in na_values])))
    return missing.to_numpy(zero_copy_only=False)


# Numbers


def check_thousands(thousands: str | None) -> None:
    """Raise a ValueError if what the user names cannot separate thousands."""
    if thousands is not None and (len(thousands) != 1 or thousands.isalnum() or thousands in "+-"):
        raise ValueError(f"thousands={thousands!r} cannot separate thousands: give one character, such as ',' or ' '.")


def list_number_forms(text: Any, thousands: str | None = None) -> Iterator[tuple[str, Any, bool]]:
    """Yield the forms that some cells may have, the cells with their sign, and whether thousands must be separated.

    Parameters
    ----------
    text : Array of text
        The cells.
    thousands : str, default=None
        The separator that the user names. Numbers of four digits and more need not have it then.
    """
    import pyarrow.compute as pc

    forms: tuple[str, ...] = NUMBER_FORMS
    if thousands is not None:
        plain = () if thousands == "." else ("1234.5",)
        forms = (*plain, *(f"1{thousands}234{decimal}5" for decimal in ".," if decimal != thousands))
    signs = pc.struct_field(pc.extract_regex(text, f"(?P<sign>{SIGN})"), [0])
    for sign in ["", *pc.unique(signs.drop_null()).to_pylist()]:
        cells = pc.if_else(pc.is_null(signs) if sign == "" else pc.equal(signs, sign), text, None)
        for form in forms:
            yield f"{form}%" if sign == "%" else sign + form, cells, thousands is None


def read_numbers(text: Any, form: str, strict: bool = False) -> np.ndarray:
    """Return the cells as numbers; NaN where a cell has another form.

    Parameters
    ----------
    text : Array of text
        The cells.
    form : str
        How they are written.
    strict : bool, default=False
        Whether all thousands must be separated.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.cells import read_numbers
    >>> read_numbers(pa.array(["$1,234.5", "-$7", "7", None]), "$1,234.5").tolist()
    [1234.5, -7.0, 7.0, nan]
    >>> read_numbers(pa.array(["1.234,5", "-7", "1e3"]), "1.234,5").tolist()
    [1234.5, -7.0, nan]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sign, thousands, decimal = _split(form)
    if sign:
        text = pc.replace_substring_regex(text, rf"^([-+]?) *{re.escape(sign)} *", r"\1")
        text = pc.replace_substring_regex(text, rf" *{re.escape(sign)}$", "")
    has_form = pc.match_substring_regex(text, _pattern(thousands, decimal, strict))
    if not pc.any(has_form).as_py():
        return np.full(len(text), np.nan)
    text = pc.if_else(has_form, text, None)
    if thousands:
        text = pc.replace_substring(text, thousands, "")
    if decimal != ".":
        text = pc.replace_substring(text, decimal, ".")
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64()).to_numpy(zero_copy_only=False)


def rank_form(form: str) -> int:
    """Return the place of a form among those of numbers or dates: the first is the most usual."""
    if form in DATE_FORMS:
        return DATE_FORMS.index(form)
    if not re.search("1.?234", form):
        return len(DATE_FORMS)
    _, thousands, decimal = _split(form)
    plain = f"1{thousands}234{decimal}5"
    return NUMBER_FORMS.index(plain) if plain in NUMBER_FORMS else len(NUMBER_FORMS)


def _split(form: str) -> tuple[str, str, str]:
    """Return the sign of a form, its separator of thousands and that of decimals."""
    before, thousands, decimal, after = re.fullmatch(r"(.*?)1(.?)234(.)5(.*)", form, re.DOTALL).groups()  # type: ignore[union-attr]
    return before or after, thousands, decimal


def _pattern(thousands: str, decimal: str, strict: bool) -> str:
    digits, point = r"\d+", re.escape(decimal)
    if thousands:
        digits = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+|\d{'{1,3}' if strict else '+'})"
    exponent = "" if thousands or decimal != "." else r"(?:[eE][-+]?\d+)?"
    return rf"^[-+]?(?:{digits}(?:{point}\d*)?|{point}\d+){exponent}$"


# Truth values


def read_truth(text: Any) -> np.ndarray:
    """Return words for true as 1 and words for false as 0, those of any pair; NaN where a cell is none of them.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.cells import read_truth
    >>> read_truth(pa.array(["Yes", "FALSE", "1", "perhaps"])).tolist()
    [1.0, 0.0, 1.0, nan]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    lower, values = pc.utf8_lower(text), np.full(len(text), np.nan)
    for value, words in zip((1.0, 0.0), zip(*BOOLEANS, ("1", "0"), strict=True), strict=True):
        values[pc.is_in(lower, value_set=pa.array(words)).to_numpy(zero_copy_only=False)] = value
    return values


# Dates


def read_dates(text: Any, form: str) -> np.ndarray:
    """Return the cells as seconds since 1970 by the clock that wrote them; NaN where a cell has another form.

    A day that its month does not have, such as 30 February, has no form.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.cells import read_dates
    >>> read_dates(pa.array(["1970-01-02", "1970-01-01T01:00:30Z", "02/01/1970"]), "%Y-%m-%d").tolist()
    [86400.0, 3630.0, nan]
    """
    return read_days(*split_times(text), form)


def split_times(text: Any) -> tuple[Any, Any]:
    """Return the days and the times of day of dates as text; null where a cell is no date of any form."""
    import pyarrow.compute as pc

    found = pc.extract_regex(text, DATE)
    return pc.struct_field(found, [0]), pc.struct_field(found, [1])


def read_days(day: Any, time: Any, form: str) -> np.ndarray:
    """Return days of this form with their times as seconds since 1970; NaN where a day has another form."""
    import pyarrow.compute as pc

    days = pc.strptime(day, form, "s", error_is_null=True)
    seconds = days.to_numpy(zero_copy_only=False).astype("datetime64[s]").astype(np.float64)
    seconds[pc.is_null(days).to_numpy(zero_copy_only=False)] = np.nan
    if days.null_count == len(days):
        return seconds
    seconds[_rolls_over(day, days, form)] = np.nan
    if pc.any(pc.fill_null(pc.not_equal(time, ""), False)).as_py():
        seconds += _seconds(time)
    return seconds


def _rolls_over(day: Any, days: Any, form: str) -> np.ndarray:
    """Return which dates were read as one of the next month, since their month has no such day."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = {"%Y": r"\d{4}", "%m": r"\d{1,2}", "%b": r"\w+", "%d": r"(?P<day>\d{1,2})"}
    pattern = re.sub("%.", lambda found: parts[found[0]], form.replace(".", r"\."))
    written = pc.struct_field(pc.extract_regex(day, f"^{pattern}$"), [0]).cast(pa.int64())
    return pc.fill_null(pc.not_equal(written, pc.day(days)), False).to_numpy(zero_copy_only=False)


def _seconds(time: Any) -> np.ndarray:
    """Return times of day such as 13:05 as seconds; 0 for those that are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(time, r"^(?P<h>\d+):(?P<m>\d+)(?::(?P<s>\d+))?")
    seconds = np.zeros(len(time))
    for k, unit in enumerate((3600, 60, 1)):
        digits = pc.struct_field(parts, [k])
        digits = pc.if_else(pc.fill_null(pc.equal(digits, ""), True), "0", digits)
        seconds += unit * digits.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return seconds
