"""Labels as text: the one form in which they are printed, name classes, and are compared with the cells of files."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np

SECONDS = {"W": 604_800, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
DIGITS = {"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}  # after the point, in seconds
DATE = re.compile(
    r"(-?[0-9]{1,20})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[ T]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,20}))?)?)?)?)?)?(?:Z|\+00:00)?"
)
TIME = re.compile(r"(-?[0-9]{0,20}\.?[0-9]{0,20}(?:e[-+]?[0-9]{1,3})?)(?: seconds)?")
DAYS = re.compile(r"(-?[0-9]{1,20}) days?(?: \+?([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,20})?))?")  # of pandas


def label_text(label: Any) -> str:
    """Return the text of a label: dates as in ISO 8601, times in seconds, numbers with as few digits as they need.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.label_text import label_text
    >>> label_text(np.datetime64("2021-01-01", "ns")), label_text(np.datetime64("2021", "Y"))
    ('2021-01-01', '2021')
    >>> label_text(np.timedelta64(1500, "ms")), label_text(np.float16(0.1))
    ('1.5 seconds', '0.1')
    """
    if isinstance(label, np.datetime64):
        date, _, time = str(label).partition("T")
        time = time.rstrip("0").rstrip(".") if "." in time else time
        return date if not time.strip("0:") else f"{date}T{time}"
    if isinstance(label, np.timedelta64):
        seconds = _count_seconds(label)
        return str(label) if seconds is None else f"{seconds.normalize():f} seconds"
    if isinstance(label, bytes):
        return label.decode(errors="backslashreplace")
    return str(label)


def show_label(label: Any) -> str:
    """Return a label for a message: numbers as they are, all else in quotes."""
    text = label_text(label)
    is_number = isinstance(label, (bool, int, float, np.number, np.bool_)) and not isinstance(label, np.timedelta64)
    return text if is_number else repr(text)


def same_time(text: str, label: np.datetime64 | np.timedelta64) -> bool:
    """Return whether the text of a cell is a date or time: in any of its spellings, with any number of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.label_text import same_time
    >>> same_time("2021-01-01 00:00:00.000", np.datetime64("2021-01-01")), same_time("1", np.datetime64("2021-01-01"))
    (True, False)
    >>> same_time("0 days 00:00:01.500000", np.timedelta64(1500, "ms"))
    True
    """
    own = label_text(label)
    if text == own:
        return True
    read = _read_date if isinstance(label, np.datetime64) else _read_seconds
    return read(own) is not None and read(text) == read(own)


def _count_seconds(label: np.timedelta64) -> Decimal | None:
    """Return a time in seconds; None for months and years, which have no fixed length."""
    unit, step = np.datetime_data(label.dtype)
    count = int(label.astype(np.int64)) * step
    if unit in DIGITS:
        return Decimal(count).scaleb(-DIGITS[unit])
    return Decimal(count * SECONDS[unit]) if unit in SECONDS else None


def _read_date(text: str) -> tuple[Any, ...] | None:
    """Return the parts of a date; those that are not there are the first of the year, and midnight."""
    found = DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, *clock, fraction = found.groups()
    return int(year), month or "01", day or "01", *(part or "00" for part in clock), (fraction or "").rstrip("0")


def _read_seconds(text: str) -> float | None:
    """Return the seconds of a time, as the nearest double."""
    if found := DAYS.fullmatch(text):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        return float(86_400 * days + 3_600 * hours + 60 * minutes + seconds)
    found = TIME.fullmatch(text)
    try:
        return None if found is None else float(found[1])
    except ValueError:  # a point without digits
        return None
