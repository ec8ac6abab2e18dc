"""Cells of text and what they say: missing values, numbers and truth values in their usual spellings.

A *form* says how the cells of a column are written: ``"1,234.5"`` for numbers with commas between the thousands,
``"$1234.5"`` for those with a currency sign. The forms of dates are in `dates`. All functions take Arrow arrays of text
without blanks around it (`trim`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

# In lower case. A category loses nothing by "none": its gaps are a level of their own.
MISSING = (
    *("", "?", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "\\n"),
    *("na", "n/a", "n.a.", "#na", "#n/a", "#n/a n/a", "<na>", "nan", "-nan", "nat", "null", "(null)", "none", "nil"),
    *("missing", "(missing)", "(blank)", "unknown", "undefined", "not available", "not applicable"),
    *("#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!"),  # of spreadsheets
)
NUMBER_FORMS = ("1234.5", "1,234.5", "1234,5", "1.234,5", "1 234,5", "1 234.5", "1'234.5")
CODES = "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|CNY|INR|BRL|MXN|ZAR"  # of currencies
SIGN = rf"[\p{{Sc}}%]|\b(?:{CODES})\b"
BLANK, MINUS = "[\u00a0\u2007\u2009\u202f]", "\u2212"  # that keep a number on one line; of typesetting
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
    """Return which cells are missing: null, in one of the usual spellings, or one of `na_values`."""
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
        raise ValueError(f"{thousands!r} cannot separate thousands: give one character, such as ',' or ' '.")


def list_number_forms(text: Any, thousands: str | None = None) -> Iterator[tuple[str, Any, bool]]:
    """Yield the forms that some cells may have, the cells with their sign, and whether thousands must be separated.

    With `thousands`, the separator that the user names, numbers of four digits and more need not have it.
    """
    import pyarrow.compute as pc

    text = tidy_numbers(text)
    forms: tuple[str, ...] = NUMBER_FORMS
    if thousands is not None:
        plain = () if thousands == "." else ("1234.5",)
        forms = (*plain, *(f"1{thousands}234{decimal}5" for decimal in ".," if decimal != thousands))
    signs = pc.struct_field(pc.extract_regex(text, f"(?P<sign>{SIGN})"), [0])
    for sign in ["", *pc.unique(signs.drop_null()).to_pylist()]:
        cells = pc.if_else(pc.is_null(signs) if sign == "" else pc.equal(signs, sign), text, None)
        for form in forms:
            yield f"{form}%" if sign == "%" else sign + form, cells, thousands is None


def tidy_numbers(text: Any) -> Any:
    """Return cells with plain blanks and minus signs, and a minus sign for brackets around a number, as in accounts."""
    import pyarrow.compute as pc

    text = pc.replace_substring(pc.replace_substring_regex(text, BLANK, " "), MINUS, "-")
    return pc.replace_substring_regex(text, rf"^((?:{SIGN})? *)\((.*\d.*)\)$", r"-\1\2")


def read_numbers(text: Any, form: str, strict: bool = False) -> np.ndarray:
    """Return the cells as numbers; NaN where a cell has another form. A currency sign may be absent, a % may not.

    The cells are tidied. With `strict`, all thousands must be separated.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    sign, thousands, decimal = number_form(form)
    if sign == "%":  # 0.345 is not 34.5%
        text = pc.if_else(pc.match_substring(text, "%"), text, None)
    if sign:
        text = pc.replace_substring_regex(text, rf"^([-+]?) *{re.escape(sign)} *", r"\1")
        text = pc.replace_substring_regex(text, rf" *{re.escape(sign)}$", "")
    has_form = pc.fill_null(pc.match_substring_regex(text, _pattern(thousands, decimal, strict)), False)
    if not pc.any(has_form).as_py():
        return np.full(len(text), np.nan)
    text = pc.if_else(has_form, text, None)
    if thousands:
        text = pc.replace_substring(text, thousands, "")
    if decimal != ".":
        text = pc.replace_substring(text, decimal, ".")
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64()).to_numpy(zero_copy_only=False)


def split_sign(form: str) -> tuple[str, str]:
    """Return the sign of a form of numbers, and the form without it."""
    if "234" not in form:  # times of day
        return "", form
    sign, thousands, decimal = number_form(form)
    return sign, f"1{thousands}234{decimal}5"


def number_form(form: str) -> tuple[str, str, str]:
    """Return the sign, the thousands separator and the decimal separator of a form."""
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
    """Return words for true as 1 and words for false as 0, from any pair; NaN for all other cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lower, values = pc.utf8_lower(text), np.full(len(text), np.nan)
    for value, words in zip((1.0, 0.0), zip(*BOOLEANS, ("1", "0"), strict=True), strict=True):
        values[pc.is_in(lower, value_set=pa.array(words)).to_numpy(zero_copy_only=False)] = value
    return values
