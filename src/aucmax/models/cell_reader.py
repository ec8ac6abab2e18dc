"""The cells of one row as numbers and levels, with the standard library alone; `python_source` copies this module."""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from numbers import Number
from typing import Any

from ..tables.reading.cells import BLANK, BOOLEANS, MINUS, MISSING

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
DATE_PARTS = {
    "%Y": "(?P<year>[0-9]{4})",
    "%y": "(?P<short>[0-9]{2})",
    "%m": "(?P<month>[0-9]{1,2})",
    "%b": "(?P<name>[A-Za-z]+)",
    "%d": "(?P<day>[0-9]{1,2})",
}
TIME = "(?P<h>[0-9]{1,2}):(?P<m>[0-5][0-9])(?::(?P<s>[0-5][0-9])(?:[.,][0-9]+)?)?(?: ?(?P<half>[AaPp])[Mm])?"
ZONE = "(?:Z|UTC|[-+][0-9]{2}:?[0-9]{2})?"
NOON, DAY = 12 * 3600, 24 * 3600


def to_text(value: Any) -> str:
    """Return a cell as text without blanks around it; whole numbers without a decimal point."""
    if isinstance(value, bytes):
        return value.decode().strip()
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):  # of NumPy
        return str(value).lower()
    if isinstance(value, Number) and hasattr(value, "is_integer") and value.is_integer():
        return str(int(value))  # type: ignore[call-overload]
    return str(value).strip()


def is_missing(value: Any, na_values: tuple[str, ...]) -> bool:
    """Return whether a cell is None, NaN, or a word for a missing value."""
    text = to_text(value)
    return value is None or text.lower() in MISSING or text in na_values


def unreadable(column: str, value: Any, expected: str) -> ValueError:
    """Return the error of a cell that is not what its column holds."""
    return ValueError(f"column {column!r}: found {str(value)[:40]!r} where {expected} is expected")


def cell_of(row: Mapping[str, Any], column: str) -> Any:
    """Return a cell of a row."""
    if column not in row:
        raise ValueError(f"column {column!r} is not in the row")
    return row[column]


def read_level(
    row: Mapping[str, Any], column: str, na_values: tuple[str, ...], numbers: Mapping[float, str]
) -> str | None:
    """Return the level of a row, None if it is missing; `numbers` are the levels by their value."""
    value = cell_of(row, column)
    if is_missing(value, na_values):
        return None
    text = to_text(value)
    if isinstance(value, Number) and text not in numbers.values():
        return numbers.get(float(value), text)  # type: ignore[arg-type]
    return text


def read_truth(row: Mapping[str, Any], column: str, na_values: tuple[str, ...]) -> float | None:
    """Return 1 for a word for true and 0 for one for false, None if it is missing."""
    value = cell_of(row, column)
    if is_missing(value, na_values):
        return None
    word = to_text(value).lower()
    for truth, words in ((1.0, ("1", *(yes for yes, _ in BOOLEANS))), (0.0, ("0", *(no for _, no in BOOLEANS)))):
        if word in words:
            return truth
    raise unreadable(column, value, "yes or no")


def read_number(
    row: Mapping[str, Any], column: str, na_values: tuple[str, ...], sign: str, thousands: str, decimal: str
) -> float | None:
    """Return a number, None if it is missing. A text has the form that `sign`, `thousands` and `decimal` say."""
    value = cell_of(row, column)
    if is_missing(value, na_values):
        return None
    found = native_number(value)
    if found is None or sign == "%":  # 0.345 is not 34.5%
        found = parse_number(to_text(value), sign, thousands, decimal)
    elif found in [
        native_number(float(word)) for word in na_values if re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", word)
    ]:
        return None
    if not math.isfinite(found):
        raise unreadable(column, value, "a number with %" if sign == "%" else "a number")
    return found


def native_number(value: Any) -> float | None:
    """Return a value of a type of numbers as a number; days for durations, hours for times of day; else None."""
    if isinstance(value, timedelta):
        return value / timedelta(days=1)
    if isinstance(value, time):
        return (
            timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
        ) / timedelta(hours=1)
    is_truth = type(value).__name__ == "bool_"
    return float(value) if isinstance(value, Number) or is_truth else None


def parse_number(text: str, sign: str, thousands: str, decimal: str) -> float:
    """Return a text as a number; NaN if it has another form.

    Examples
    --------
    >>> from aucmax.models.cell_reader import parse_number
    >>> parse_number("($1,234.5)", "$", ",", "."), parse_number("1.234,5", "", ".", ","), parse_number("x", "", "", ".")
    (-1234.5, 1234.5, nan)
    """
    for blank in BLANK[1:-1]:
        text = text.replace(blank, " ")
    text = text.replace(MINUS, "-")
    if not re.fullmatch(number_pattern(sign, thousands, decimal), text):
        return math.nan
    digits = text
    for mark in filter(None, (sign, "(", ")", thousands, " ")):
        digits = digits.replace(mark, "")
    return (-1 if "(" in text else 1) * float(digits.replace(decimal, "."))


def number_pattern(sign: str, thousands: str, decimal: str, exponent: str = "[0-9]+") -> str:
    """Return the pattern of numbers of a form, written so that all regular expressions read it alike."""
    digits, point = "[0-9]+", f"[{decimal}]"
    if thousands:
        mark = f"\\{thousands}" if thousands in "[]^\\&~" else f"[{thousands}]"
        digits = f"([1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+|[0-9]+)"
    power = "" if thousands or decimal != "." else f"([eE][-+]?{exponent})?"
    core = f"({digits}({point}[0-9]*)?|{point}[0-9]+){power}"
    if not sign:
        return f"([-+]?{core}|[(]{core}[)])"  # brackets are a minus sign, as in accounts
    mark = sign if sign.isalpha() else f"[{sign}]"
    before, after = f" *{mark} *", f"( *{mark})?"
    first = f"([-+]?({before})?|{mark} *[-+])"
    body = f"({before})?{core}{after}"
    signed = f"{first}{core}{after}"
    if sign == "%":  # which must be there
        body = f"({before}{core}{after}|{core} *{mark})"
        signed = f"(([-+]?{before}|{mark} *[-+]){core}{after}|[-+]?{core} *{mark})"
    return f"({signed}|[(]{body}[)]|{mark} *[(] *{core}{after}[)])"


def read_hours(row: Mapping[str, Any], column: str, na_values: tuple[str, ...]) -> float | None:
    """Return a time of day as hours, None if it is missing."""
    value = cell_of(row, column)
    if is_missing(value, na_values):
        return None
    hours, found = native_number(value), re.fullmatch(TIME, to_text(value))
    if hours is None and found and (seconds := clock(found)) is not None and seconds < DAY:
        hours = seconds / 3600
    if hours is None or not math.isfinite(hours):
        raise unreadable(column, value, "a time of day")
    return hours


def read_date(row: Mapping[str, Any], column: str, na_values: tuple[str, ...], form: str) -> float | None:
    """Return a date as seconds since 1970 by the clock that wrote it, None if it is missing."""
    value = cell_of(row, column)
    if is_missing(value, na_values):
        return None
    if type(value).__name__ == "datetime64":
        value = value.astype("datetime64[ms]").item()
    if isinstance(value, datetime):
        whole = value.replace(tzinfo=None) - datetime(1970, 1, 1)
        return whole // timedelta(milliseconds=1) / 1000
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days * DAY)
    found = re.fullmatch(f"{date_pattern(form)}(?:(?:T|,? +){TIME} ?{ZONE})?", to_text(value))
    days = None if found is None else days_of(found)
    seconds = clock(found) if found is not None and found["h"] else 0.0
    if days is None or seconds is None:
        raise unreadable(column, value, "a date")
    return days * DAY + seconds


def date_pattern(form: str) -> str:
    """Return the pattern of dates of a form."""
    pattern = re.sub("%.", lambda found: DATE_PARTS[found[0]], form.replace(".", "[.]"))
    return pattern.replace("{1,2}", "{2}") if form == "%Y%m%d" else pattern


def days_of(found: re.Match[str]) -> int | None:
    """Return the days since 1970 of a date that was found; None if there is no such day."""
    parts = found.groupdict()
    name, short = (parts.get("name") or "").lower(), parts.get("short")
    months = [k for k, month in enumerate(MONTHS, 1) if name in (month, month[:3])] or [int(parts.get("month") or 0)]
    year = int(parts["year"]) if short is None else int(short) + (1900 if short >= "69" else 2000)
    try:
        return (date(year, months[0], int(parts.get("day") or 1)) - date(1970, 1, 1)).days
    except ValueError:
        return None


def clock(found: re.Match[str]) -> float | None:
    """Return a time of day that was found, in seconds; None for 25:00 and 13:00 AM."""
    seconds = 3600 * int(found["h"]) + 60 * int(found["m"]) + int(found["s"] or 0)
    half = (found["half"] or "").upper()
    if seconds > DAY or (seconds == DAY and half) or (half == "A" and seconds >= DAY / 2 + 3600):
        return None
    if half == "A" and seconds >= NOON:  # 12:30 AM is half past midnight
        seconds -= NOON
    return float(seconds + NOON if half == "P" and seconds < NOON else seconds)


def date_part(seconds: float | None, part: str) -> int | None:
    """Return the month, the weekday or the hour of a date, each counted from 0; Monday is 0."""
    if seconds is None:
        return None
    days, rest = divmod(seconds, DAY)
    month = (date(1970, 1, 1) + timedelta(days=days)).month - 1
    return {"month": month, "weekday": int(days + 3) % 7, "hour": int(rest // 3600)}[part]
