"""Dates and times of day in their usual spellings.

A *form* says how the dates of a column are written: ``"%d/%m/%Y"``. A date may have a time of day, and one without a
day is the first of its month. All functions take Arrow arrays of text without blanks around it.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

# The month comes first where the column does not tell.
DATE_FORMS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y"),
    *("%d %b %Y", "%b %d, %Y", "%b %d %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y"),
    *("%Y-%m", "%b-%Y", "%b %Y", "%b-%y"),  # without a day
)
DIGITS_FORM = "%Y%m%d"  # of a date only where the user says so
TIME_FORM = "23:59"  # of times of day without a date, which are numbers of hours
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
MINUTES = r":[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?"
TIME = rf"(?:(?:[01]?\d|2[0-3]){MINUTES}(?: ?[Pp][Mm])?|(?:0?\d|1[0-2]){MINUTES} ?[Aa][Mm]|24:00(?::00)?)"
DATE = (
    rf"^(?P<day>(?:\d|(?i:{MONTHS}))[\w ,./-]*?\d)"
    rf"(?:(?:T|,? +)(?P<time>{TIME}) ?(?:Z|UTC|[-+]\d{{2}}:?\d{{2}})?)?$"
)
PARTS = {"%Y": r"\d{4}", "%y": r"\d{2}", "%m": r"\d{1,2}", "%b": "[A-Za-z]+", "%d": r"(?P<day>\d{1,2})"}
NOON = 12 * 3600


def read_dates(text: Any, form: str) -> np.ndarray:
    """Return the cells as seconds since 1970 by the clock that wrote them; NaN where a cell has another form.

    A day that its month does not have, such as 30 February, has no form.
    """
    return read_days(*split_times(text), form)


def split_times(text: Any) -> tuple[Any, Any]:
    """Return the days and the times of day of dates as text; null where a cell is not a date in any form."""
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
    seconds[~_is_written_so(day, days, form)] = np.nan
    if pc.any(pc.fill_null(pc.not_equal(time, ""), False)).as_py():
        seconds += _seconds(time)
    return seconds


def read_times(text: Any) -> np.ndarray:
    """Return times of day as hours; NaN where a cell is none."""
    import pyarrow.compute as pc

    is_time = pc.match_substring_regex(text, f"^{TIME}$")
    hours = _seconds(pc.if_else(is_time, text, None)) / 3600
    known = pc.fill_null(is_time, False).to_numpy(zero_copy_only=False)
    return np.where(known & (hours < 24), hours, np.nan)


def has_days(form: str) -> bool:
    """Return whether dates of a form give the day, not only the month; a date type always does."""
    return form == "" or "%d" in form


def date_text(seconds: float, latest: float) -> str:
    """Return a date as text: the day, and the minute too if the latest date of its column has a time."""
    unit = "D" if latest % 86_400 == 0 else "m"
    moment = np.datetime64(math.floor(round(seconds, 3)), "s")  # dates are stored as ages in days
    return str(moment.astype(f"datetime64[{unit}]")).replace("T", " ")


def _is_written_so(day: Any, days: Any, form: str) -> np.ndarray:
    """Return which dates have all digits of their form, and a day that their month has.

    `strptime` takes a year of two digits for one of the first century, and 30 February for a day of March.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = PARTS | {"%m": r"\d\d", "%d": r"(?P<day>\d\d)"} if form == DIGITS_FORM else PARTS  # 1898701 is not clear
    pattern = "^" + re.sub("%.", lambda found: parts[found[0]], form.replace(".", r"\.")) + "$"
    if not has_days(form):
        found = pc.match_substring_regex(day, pattern)
    else:
        found = pc.equal(pc.struct_field(pc.extract_regex(day, pattern), [0]).cast(pa.int64()), pc.day(days))
    return pc.fill_null(found, False).to_numpy(zero_copy_only=False)


def _seconds(time: Any) -> np.ndarray:
    """Return times of day such as 13:05 or 1:05 PM as seconds; 0 for those that are empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = pc.extract_regex(time, r"^(?P<h>\d+):(?P<m>\d+)(?::(?P<s>\d+))?[^AaPp]*(?P<half>[AaPp])?")
    seconds = np.zeros(len(time))
    for k, unit in enumerate((3600, 60, 1)):
        digits = pc.struct_field(parts, [k])
        digits = pc.if_else(pc.fill_null(pc.equal(digits, ""), True), "0", digits)
        seconds += unit * digits.cast(pa.float64()).to_numpy(zero_copy_only=False)
    half = pc.fill_null(pc.utf8_upper(pc.struct_field(parts, [3])), "").to_numpy(zero_copy_only=False)
    seconds[(half == "A") & (seconds >= NOON)] -= NOON  # 12:30 AM is half past midnight
    seconds[(half == "P") & (seconds < NOON)] += NOON
    return seconds
