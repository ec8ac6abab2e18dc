"""What a column holds, as a summary that merges: of a block of a file, a whole file, a frame or a partition.

A column of text may be read in several ways: as numbers of some form, as dates of some form, as levels. The summary has
the statistics of each. `kinds` then decides which one covers the column, when all rows have been seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .cells import find_missing, list_number_forms, read_numbers, trim
from .dates import DATE_FORMS, DIGITS_FORM, TIME_FORM, read_days, read_times, split_times

MAX_DISTINCT = 65_536  # different texts whose rows are counted
SECONDS = 86_400  # of a day
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
CALENDAR = (-62_135_596_800, 253_402_300_799)  # the years 1 to 9999, in seconds since 1970
MIXED = "mixed"  # a column that must be summarised as text, because only some blocks have the type of numbers or dates
READ = {"", "number", "date", "category", MIXED}
INFINITY = "(?i)^[-+]?inf(inity)?$"
PARTS = {"month": 12, "weekday": 7, "hour": 24}  # the parts of a date, and how many values each has


class NumberSummary(NamedTuple):
    """Numbers: how many, their mean, and the extremes."""

    n_cells: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray | None = None) -> NumberSummary:
        """Return the summary of finite numbers, each of which occurs once or as `counts` say."""
        n_cells = len(values) if counts is None else int(counts.sum())
        with np.errstate(over="ignore", invalid="ignore"):
            mean = values.mean() if counts is None else np.average(values, weights=counts)
        if not np.isfinite(mean):  # the sum is too large, but no mean is
            mean = (values * ((1 if counts is None else counts) / n_cells)).sum()
        return cls(n_cells, float(mean), float(values.min()) + 0.0, float(values.max()) + 0.0)  # -0 is 0

    def merge(self, other: NumberSummary) -> NumberSummary:
        """Return the summary of both."""
        n_cells = self.n_cells + other.n_cells
        mean = self.mean * (self.n_cells / n_cells) + other.mean * (other.n_cells / n_cells)
        return NumberSummary(n_cells, mean, min(self.low, other.low), max(self.high, other.high))


class DateSummary(NamedTuple):
    """Dates: how many, their mean and the extremes in seconds since 1970, and how many are in each part (`PARTS`)."""

    n_cells: int
    mean: float
    earliest: float
    latest: float
    parts: dict[str, np.ndarray]

    @classmethod
    def of(cls, seconds: np.ndarray, counts: np.ndarray) -> DateSummary:
        """Return the summary of dates, which occur as `counts` say."""
        codes = split_dates(seconds)
        parts = {part: np.bincount(codes[part], counts, size) for part, size in PARTS.items()}
        mean, earliest, latest = np.average(seconds, weights=counts), seconds.min(), seconds.max()
        return cls(int(counts.sum()), float(mean), float(earliest), float(latest), parts)

    def merge(self, other: DateSummary) -> DateSummary:
        """Return the summary of both."""
        count = self.n_cells + other.n_cells
        mean = self.mean + (other.mean - self.mean) * other.n_cells / count
        parts = {part: counts + other.parts[part] for part, counts in self.parts.items()}
        return DateSummary(count, mean, min(self.earliest, other.earliest), max(self.latest, other.latest), parts)


def split_dates(seconds: np.ndarray) -> dict[str, np.ndarray]:
    """Return the parts of dates, each counted from 0: January, Monday and midnight are 0."""
    days = np.floor(seconds / SECONDS).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    hours = ((seconds - SECONDS * days) // 3600).astype(np.int64)
    return {"month": months, "weekday": (days + 3) % 7, "hour": hours}  # 1 January 1970 was a Thursday


class ColumnSummary(NamedTuple):
    """What a column holds."""

    n_rows: int  # with n_missing: the number of cells, and of those that are missing
    n_missing: int
    numbers: dict[str, NumberSummary]  # for each form of numbers, those cells that have it
    dates: dict[str, DateSummary]  # for each form of dates, those cells that have it
    # How often each text occurs; None if there are more than `MAX_DISTINCT`, or if the column is not text.
    levels: dict[str, int] | None
    # "number", "date" or "category" if the type of the column says so, MIXED if the blocks have different types, why a
    # column cannot be read, or nothing for text.
    declared: str = ""
    n_infinite: int = 0  # the number of infinities among texts, which are numbers that cannot be used

    @property
    def n_present(self) -> int:
        """The number of cells that are not missing."""
        return self.n_rows - self.n_missing

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """Return the summary of the rows of both."""
        n_rows, n_missing = self.n_rows + other.n_rows, self.n_missing + other.n_missing
        for some, others in ((self, other), (other, self)):
            if others.n_present == 0 and others.declared in READ:
                return some._replace(n_rows=n_rows, n_missing=n_missing)
        levels = None
        if self.levels is not None and other.levels is not None:
            levels = self.levels | {text: self.levels.get(text, 0) + n for text, n in other.levels.items()}
        return ColumnSummary(
            n_rows,
            n_missing,
            _merge(self.numbers, other.numbers),
            _merge(self.dates, other.dates),
            levels if levels is not None and len(levels) <= MAX_DISTINCT else None,
            _declared({self.declared, other.declared}),
            self.n_infinite + other.n_infinite,
        )


def _declared(types: set[str]) -> str:
    """Return what the types of two blocks say about a column."""
    unread = sorted(types - READ)
    if unread or len(types) == 1:
        return min(unread or types)
    return "category" if types == {"", "category"} else MIXED


def _merge(ours: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    return {**ours, **{form: ours[form].merge(each) if form in ours else each for form, each in others.items()}}


def summarise(
    column: Any, na_values: Sequence[str] = (), thousands: str | None = None, must_be_text: bool = False
) -> ColumnSummary:
    """Return the summary of an Arrow column of any type.

    `thousands` is the separator, if the user names it. A column that `must_be_text` is summarised as if it were text.
    """
    import pyarrow.types as types

    cells = decode(column)
    kind = find_type(cells.type)
    if kind == "":
        return ColumnSummary(len(cells), cells.null_count, {}, {}, None, describe_unread(cells.type))
    as_levels = types.is_dictionary(column.type) and kind != "date" and not types.is_boolean(cells.type)
    if kind == "number" and not must_be_text and not as_levels:
        values = native_numbers(cells, na_values)
        finite = values[np.isfinite(values)]
        numbers = {"1234.5": NumberSummary.of(finite)} if len(finite) else {}
        return ColumnSummary(len(values), int(np.isnan(values).sum()), numbers, {}, None, "number")
    if kind == "date" and not must_be_text:
        seconds = native_dates(cells)
        known = seconds[np.isfinite(seconds)]
        dates = {"": DateSummary.of(known, np.ones(len(known)))} if len(known) else {}
        return ColumnSummary(len(seconds), len(seconds) - len(known), {}, dates, None, "date")
    text = trim(cells if kind == "text" else as_text(cells))
    return _summarise_text(text, na_values, thousands)._replace(declared="category" if as_levels else "")


def decode(column: Any) -> Any:
    """Return an Arrow column as one of a type that is read, if its values can be read so.

    Dictionaries become their values, durations numbers of days, periods of pandas the dates of their beginning, bytes
    and UUIDs text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    dtype = column.type
    if isinstance(dtype, pa.BaseExtensionType):
        if dtype.extension_name == "pandas.period":
            return pa.array(column.to_pandas().dt.to_timestamp(), from_pandas=True)
        if dtype.extension_name == "arrow.uuid":
            return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
        return decode(column.cast(dtype.storage_type))
    if types.is_dictionary(dtype):
        return column if types.is_nested(dtype.value_type) else decode(column.cast(dtype.value_type))
    if types.is_run_end_encoded(dtype):
        return decode(pc.run_end_decode(column))
    if types.is_float16(dtype):
        return column.cast(pa.float32())
    if types.is_duration(dtype):
        return pa.array(native_numbers(column.cast(pa.int64())) / (UNITS[dtype.unit] * SECONDS), from_pandas=True)
    if types.is_fixed_size_binary(dtype):
        column = column.cast(pa.binary())
    if is_bytes(dtype):
        try:
            return column.cast(pa.string())
        except pa.ArrowInvalid:
            return column
    return column


def is_bytes(dtype: Any) -> bool:
    """Return whether values of an Arrow type are bytes."""
    return str(dtype).startswith(("binary", "large_binary", "fixed_size_binary"))


def find_type(dtype: Any) -> str:
    """Return how a type of decoded columns is read: as "number", "date", "text" (truth values too), or nothing."""
    import pyarrow.types as types

    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_time(dtype):
        return "number"
    if types.is_date(dtype) or types.is_timestamp(dtype):
        return "date"
    text = types.is_string(dtype) or types.is_large_string(dtype) or types.is_string_view(dtype)
    return "text" if text or types.is_boolean(dtype) or types.is_null(dtype) else ""


def describe_unread(dtype: Any) -> str:
    """Return why a column of a type is not read."""
    return "bytes that are not text in UTF-8" if is_bytes(dtype) else f"the type {str(dtype)[:60]} is not read"


def as_text(column: Any) -> Any:
    """Return a decoded column as text; whole numbers without a decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = column.cast(pa.string())
    return pc.replace_substring_regex(text, r"\.0+$", "") if pa.types.is_floating(column.type) else text


def native_numbers(column: Any, na_values: Sequence[str] = ()) -> np.ndarray:
    """Return a column of a number type as float64, NaN where it is missing; times of day are hours."""
    import pyarrow as pa

    if pa.types.is_time(column.type):
        counts = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        return native_numbers(counts) / (3600 * UNITS[column.type.unit])
    # Not safe: integers beyond 2^53 are rounded, as in every other format.
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) if len(column) else np.empty(0)
    known = [float(value) for value in na_values if _is_number(value)]
    return np.where(np.isin(values, known), np.nan, values) if known else values


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def native_dates(column: Any) -> np.ndarray:
    """Return a column of dates as seconds since 1970, by the clock of its time zone; NaN where it is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    is_days = pa.types.is_date32(column.type)
    counts = column.cast(pa.int32()).cast(pa.int64()) if is_days else column.cast(pa.int64())
    unit = column.type.unit if pa.types.is_timestamp(column.type) else "ms"
    per_second = 1 / SECONDS if is_days else UNITS[unit]
    low, high = pc.min_max(counts).as_py().values()
    if low is not None and (low < CALENDAR[0] * per_second or high > CALENDAR[1] * per_second):
        raise ValueError("it has a date before the year 1 or after the year 9999")  # which milliseconds may not hold
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    seconds = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    return seconds.cast(pa.float64()).to_numpy(zero_copy_only=False) / 1000


def _summarise_text(text: Any, na_values: Sequence[str], thousands: str | None) -> ColumnSummary:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.value_counts(text)
    values, counts = found.field(0), found.field(1).to_numpy()
    missing = find_missing(values, na_values)
    n_missing = int(counts[missing].sum())
    values, counts = values.filter(pa.array(~missing)), counts[~missing]
    levels = dict(zip(values.to_pylist(), counts.tolist(), strict=True)) if len(values) <= MAX_DISTINCT else None
    numbers, dates = {}, {}
    tried = [(form, read_numbers(cells, form, strict)) for form, cells, strict in list_number_forms(values, thousands)]
    for form, read in (*tried, (TIME_FORM, read_times(values))):
        known = np.isfinite(read)
        if known.any():
            numbers[form] = NumberSummary.of(read[known], counts[known])
    day, time = split_times(values)
    for form in (*DATE_FORMS, DIGITS_FORM) if day.null_count < len(day) else ():
        seconds = read_days(day, time, form)
        known = np.isfinite(seconds)
        if known.any():
            dates[form] = DateSummary.of(seconds[known], counts[known])
    infinite = pc.match_substring_regex(values, INFINITY).to_numpy(zero_copy_only=False)
    n_infinite = int(counts[infinite].sum()) if len(values) else 0
    return ColumnSummary(len(text), n_missing, numbers, dates, levels, n_infinite=n_infinite)
