"""A table read: what was decided for each column, and the numbers, codes and features that rows become.

The columns of a table become a matrix of *codes*, float64 with NaN for missing values. A column of numbers, truth
values or ages holds numbers. A column of levels holds 0 to L - 1 for the levels of the training rows, and L for any
other. For linear models the codes become *features* (`features`).
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._text import ArgumentError, listed, one_line, warn_user
from ...models.checks import Sizes, absent, count, either, items, named_tuple, number, text
from .cells import find_missing, read_numbers, read_truth, tidy_numbers, trim
from .dates import DATE_FORMS, TIME_FORM, read_dates, read_times
from .features import FeaturePart, least_rows, make_features, pool, pool_codes
from .frames import naming_column
from .kinds import LABELS, RARE, Column, Overrides, Part, check_column, decide, is_named_identifier
from .summary import (
    MIXED,
    SECONDS,
    ColumnSummary,
    as_text,
    decode,
    describe_unread,
    find_type,
    native_dates,
    native_numbers,
    split_dates,
    summarise,
)

# The share and the number of rows with levels that no training row has, above which a column is warned of.
MANY_UNSEEN, FEW_UNSEEN = 0.1, 10
OF_COLUMNS = ("drop", "id", "categorical", "numeric", "date")  # the parameters of estimators that name columns


class Tally(NamedTuple):
    """What was met in a column of some rows."""

    column: Column  # the column
    n_missing: int  # with n_unseen: cells that are missing, and cells with levels that the training rows do not have
    n_unseen: int = 0
    n_faults: int = 0  # cells that are not what the column holds
    first: int = -1  # the row of the first fault, from 0; -1 if there is none
    shown: str = ""  # the first fault
    n_later: int = 0  # dates after the last one of the training rows
    # Numbers and dates further from the range of the training rows than its width.
    n_outside: int = 0
    new: Mapping[str, int] = {}  # the cells with each level that the training rows do not have


class Reading(NamedTuple):
    """How a table is read.

    Attributes
    ----------
    columns : list of Column
        All columns that were seen, in their order; those that are left out have no parts.
    na_values : list of str
        Further spellings of missing values.
    n_rows : int
        The number of training rows.
    min_frequency : int or float, default=5
        The number or share of training rows that a level must have not to be pooled in features.
    max_categories : int, default=None
        The largest number of levels of a column in features, with the pooled one; by default, there is no limit.
    thousands : str, default=None
        The separator of thousands, if the user names one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.reading import Overrides
    >>> from aucmax.tables.reading.table import make_reading, summarise_table
    >>> table = pa.table({"size": ["1", "N/A", "3"], "colour": ["red", "blue", "red"]})
    >>> reading = make_reading(summarise_table(table, Overrides()), Overrides())
    >>> reading.codes(table)[0]
    array([[ 1.,  1.],
           [nan,  0.],
           [ 3.,  1.]])
    >>> reading.part_names, reading.categorical
    (['size', 'colour'], [False, True])
    """

    columns: list[Column]
    na_values: list[str]
    n_rows: int
    min_frequency: int | float = RARE
    max_categories: int | None = None
    thousands: str | None = None

    @property
    def used(self) -> list[Column]:
        """The columns that are not left out."""
        return [column for column in self.columns if column.parts]

    @property
    def parts(self) -> list[Part]:
        """The columns of the codes."""
        return [part for column in self.columns for part in column.parts]

    @property
    def part_names(self) -> list[str]:
        """The names of the columns of the codes."""
        return [part.name for part in self.parts]

    @property
    def kinds(self) -> list[str]:
        """The kinds of the columns that the columns of the codes are made of."""
        return [column.kind for column in self.columns for _ in column.parts]

    @property
    def categorical(self) -> list[bool]:
        """Which columns of the codes hold levels."""
        return [part.levels is not None for part in self.parts]

    def codes(self, table: Any, name: str = "X") -> tuple[np.ndarray, list[Tally]]:
        """Return the codes of an Arrow table that has the columns by name, in any order, and what was met in it.

        Errors call the table `name`.
        """
        columns, tallies = [], []
        for column in self.used:
            with naming_column(name, column.name):
                found, tally = code_column(column, table.column(column.name), self.na_values)
            columns += found
            tallies.append(tally)
        return np.stack(columns, axis=1) if columns else np.empty((table.num_rows, 0)), tallies

    def describe(self) -> list[dict[str, Any]]:
        """Return for each column what it is read as, what was found, how many values are missing, and what it becomes.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from aucmax.tables.reading import Overrides
        >>> from aucmax.tables.reading.table import make_reading, summarise_table
        >>> table = pa.table({"size": ["1", "N/A", "3"], "empty": ["", "", ""]})
        >>> make_reading(summarise_table(table, Overrides()), Overrides())
        column  kind      found                  n_missing  becomes
        size    number    1 to 3                         1  a number
        empty   left out  every cell is missing          3  nothing
        """
        names = ("column", "kind", "found", "n_missing", "becomes")
        return [
            dict(zip(names, (each.name, each.kind, each.reason, each.n_missing, each.becomes), strict=True))
            for each in self.columns
        ]

    def to_frame(self) -> Any:
        """Return `describe` as a frame of pandas; the list itself if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            return self.describe()
        return pd.DataFrame(self.describe())

    def __repr__(self) -> str:
        lines = [["column", "kind", "found", "n_missing", "becomes"]]
        lines += [[one_line(str(value)) for value in line.values()] for line in self.describe()]
        line = "{{:{}}}  {{:{}}}  {{:{}}}  {{:>{}}}  {{:{}}}".format(
            *(max(map(len, each)) for each in zip(*lines, strict=True))
        )
        return "\n".join(line.format(*each).rstrip() for each in lines)

    # Rare levels are pooled for linear models and for models that take few codes.

    @property
    def feature_parts(self) -> list[FeaturePart]:
        """The columns of the codes with pooled levels; the age of a date has the indicator of its missing values."""
        least = least_rows(self.n_rows, self.min_frequency)
        return [
            pool(part, least, self.max_categories, not part.of_date and column.n_missing >= max(1, least))
            for column in self.columns
            for part in column.parts
        ]

    @property
    def feature_names(self) -> list[str]:
        """The names of the features."""
        return [name for part in self.feature_parts for name in part.names]

    def pool(self, codes: np.ndarray) -> np.ndarray:
        """Return codes in which rare and unseen levels of a column have one code, the last."""
        return pool_codes(self.feature_parts, codes)

    def convert(self, codes: np.ndarray, output: str) -> Any:
        """Return rows as "features", pooled "codes" or `Levels`, given the codes of all levels."""
        if output == "levels":
            return Levels.of(codes, self)
        return self.features(codes) if output == "features" else self.pool(codes)

    def features(self, codes: np.ndarray) -> Any:
        """Return the features of rows, given their codes: an array, or CSR if they are many."""
        parts = self.feature_parts
        return make_features(parts, pool_codes(parts, codes))


class Levels(np.ndarray):
    """Rows of a table, or some of them, as the codes of all levels, which know how the table is read.

    The classifier takes them in place of the table itself.
    """

    reading: Reading

    @classmethod
    def of(cls, codes: np.ndarray, reading: Reading) -> Levels:
        """Return codes that know how their table is read."""
        found = codes.view(cls)
        found.reading = reading
        return found

    def __array_finalize__(self, obj: Any) -> None:
        if isinstance(obj, Levels):
            self.reading = obj.reading

    def __reduce__(self) -> Any:
        return Levels.of, (np.asarray(self), self.reading)


def make_reading(summaries: Mapping[str, ColumnSummary], overrides: Overrides) -> Reading:
    """Return how a table is read, given the summaries of its columns."""
    columns = [decide(name, summary, overrides) for name, summary in summaries.items()]
    n_rows = max((summary.n_rows for summary in summaries.values()), default=0)
    pooling = overrides.min_frequency, overrides.max_categories
    return Reading(columns, list(overrides.na_values), n_rows, *pooling, overrides.thousands)


def numbers_as_table(names: Sequence[str]) -> Reading:
    """Return the reading of columns that are numbers of any size."""
    columns = [Column(name, "number", "", 0, "1234.5", low=-np.inf, high=np.inf, parts=[Part(name)]) for name in names]
    return Reading(columns, [], 0)


def summarise_table(
    table: Any, overrides: Overrides, texts: Collection[str] = (), name: str = "X"
) -> dict[str, ColumnSummary]:
    """Return the summary of each column of an Arrow table, which errors call `name`; `texts` are summarised as text."""
    found = {}
    for column in table.column_names:
        as_text = column in texts or must_be_text(column, overrides)
        with naming_column(name, column):
            found[column] = summarise(table.column(column), overrides.na_values, overrides.thousands, as_text)
    return found


def mixed_columns(summaries: Mapping[str, ColumnSummary]) -> list[str]:
    """Return the columns that must be summarised again, as text."""
    return [name for name, summary in summaries.items() if summary.declared == MIXED]


def must_be_text(name: str, overrides: Overrides) -> bool:
    """Return whether the texts of a column are counted even if they are numbers."""
    return is_named_identifier(name) or name in overrides.categorical or name in overrides.date


def merge_summaries(summaries: Sequence[Mapping[str, ColumnSummary]]) -> dict[str, ColumnSummary]:
    """Return the summaries of all rows, given the summaries of each block."""
    return {name: functools.reduce(ColumnSummary.merge, (each[name] for each in summaries)) for name in summaries[0]}


# One column


def code_column(column: Column, cells: Any, na_values: Sequence[str]) -> tuple[list[np.ndarray], Tally]:
    """Return the columns of codes of an Arrow column, and what was met in it."""
    import pyarrow as pa

    cells = decode(cells)
    if column.kind == "number" and pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    native = find_type(cells.type)
    if native == "":
        raise ValueError(describe_unread(cells.type))
    if native == column.kind and not column.form.endswith("%"):
        values = native_numbers(cells, na_values) if native == "number" else native_dates(cells)
        missing = np.isnan(values)
    else:  # text, which may be texts of numbers: each different text is read once
        cells = cells if native == "text" else as_text(cells)
        coded = trim(cells).dictionary_encode(null_encoding="encode")
        texts, places = coded.dictionary, coded.indices.to_numpy()
        missing = find_missing(texts, na_values)
        if column.kind == "category":
            codes, unseen = _code_levels(column, texts, native == "number")
            codes[missing] = np.nan
            counts, unseen = np.bincount(places, minlength=len(missing)), np.flatnonzero(unseen & ~missing)
            new = {texts[k].as_py(): int(counts[k]) for k in unseen.tolist() if counts[k]}
            return [codes[places]], Tally(column, int(missing[places].sum()), sum(new.values()), new=new)
        values, missing = np.where(missing, np.nan, _read_texts(column, texts))[places], missing[places]
    tally = _tally(column, cells, values, missing)
    return _code_dates(column, values) if column.kind == "date" else [values], tally


def _read_texts(column: Column, texts: Any) -> np.ndarray:
    """Return texts as numbers, truth values, or seconds of dates; NaN where a text is none."""
    if column.kind == "boolean":
        return read_truth(texts)
    if column.kind == "date":
        return read_dates(texts, column.form or DATE_FORMS[0])
    return read_times(texts) if column.form == TIME_FORM else read_numbers(tidy_numbers(texts), column.form)


def _tally(column: Column, cells: Any, values: np.ndarray, missing: np.ndarray) -> Tally:
    """Return what was met in a column of numbers, truth values or seconds of dates."""
    bad = ~missing & ~np.isfinite(values)
    first = int(bad.argmax()) if bad.any() else -1
    shown = "" if first < 0 else str(cells[first].as_py()).strip()[:40]
    low, high = {
        "number": (column.low, column.high),
        "date": (column.latest - column.high * SECONDS, column.latest),
    }.get(column.kind, (-np.inf, np.inf))
    width = high - low
    n_outside = np.count_nonzero((values < low - width) | (values > high + width))
    n_later = np.count_nonzero(values > high) if column.kind == "date" else 0
    return Tally(column, int(missing.sum()), 0, int(bad.sum()), first, shown, int(n_later), int(n_outside))


def _code_levels(column: Column, texts: Any, are_numbers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of texts, and which of them no training row has.

    The texts of numbers are levels of the same value too: pandas reads the 00501 of a file as 501.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    (part,) = column.parts
    levels = part.levels or []
    known = pa.array(levels, pa.string())
    codes = pc.fill_null(pc.index_in(texts, value_set=known), len(known)).to_numpy(zero_copy_only=False)
    if are_numbers and (codes == len(known)).any():
        values = read_numbers(known, "1234.5").tolist()
        n_levels = Counter(values)
        places = {value: k for k, value in enumerate(values) if n_levels[value] == 1}
        ours = [places.get(value, len(known)) for value in read_numbers(texts, "1234.5").tolist()]
        codes = np.where(codes == len(known), ours, codes)
    return codes.astype(np.float64), codes == len(known)


def _code_dates(column: Column, seconds: np.ndarray) -> list[np.ndarray]:
    """Return the age of dates in days, and the codes of the parts that vary."""
    missing = np.isnan(seconds)
    split = split_dates(np.where(missing, 0.0, seconds))
    found = [(column.latest - seconds) / SECONDS]
    for part in column.parts[1:]:
        levels = part.levels or []
        codes = np.array([levels.index(x) if x in levels else len(levels) for x in LABELS[part.of_date]], dtype=float)
        found.append(np.where(missing, np.nan, codes[split[part.of_date]]))
    return found


# What is wrong with a table


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise a ValueError if several columns have the same name; errors call the table `name`."""
    column, n_columns = max(Counter(columns).items(), key=lambda each: each[1], default=("", 0))
    if n_columns > 1:
        raise ValueError(f"{name} has {n_columns} columns called {column!r}: rename all but one of them.")


def check_overrides(
    name: str, given: Mapping[str, Sequence[str]], columns: Sequence[str], features: Collection[str]
) -> None:
    """Raise a ValueError if an argument names a column that is none of the `features`, or that another one names."""
    named: dict[str, str] = {}
    for option, chosen in given.items():
        for column in chosen:
            if column not in columns:
                sentence = f"{{}} has no column {{}} for {{{option}=}}; {{}}."
                raise ArgumentError(sentence, name, repr(column), listed(columns, meant=column))
            if column not in features:
                sentence = f"{{}}: the column {{}} is not a feature, so {{{option}=}} cannot name it."
                raise ArgumentError(sentence, name, repr(column))
            if named.setdefault(column, option) != option:
                sentence = f"{{}}: the column {{}} is named by {{{named[column]}=}} and {{{option}=}}."
                raise ArgumentError(sentence, name, repr(column))


def check_used(reading: Reading, name: str = "X") -> None:
    """Raise a ValueError if all columns of a table, which errors call `name`, are left out."""
    if not reading.used:
        found = ", ".join(f"{column.name!r} ({column.reason})" for column in reading.columns[:3])
        raise ValueError(f"{name} has no column to learn from: all are left out, such as {found}.")


def check_columns(reading: Reading, names: Collection[str], name: str = "X") -> None:
    """Raise a ValueError if a table with columns of these names, which errors call `name`, lacks one that is used."""
    for column in reading.used:
        if column.name not in names:
            raise ValueError(f"{name} has no column {column.name!r}, which the model needs; {listed(names)}.")


def describe_fault(tally: Tally) -> str:
    """Return what is wrong with the first cell of a column that is not what the column holds."""
    if tally.shown.lower().lstrip("+-") in ("inf", "infinity"):
        return f"{tally.shown} is not a finite number"
    return f"found {tally.shown!r} where {tally.column.expected} is expected"


def check_faults(tallies: list[Tally], advice: str = "correct such cells, or make them missing values") -> None:
    """Raise a ValueError about all cells that are not what their columns hold."""
    faults = []
    for tally in tallies:
        if tally.n_faults:
            more = f" ({tally.n_faults:,} such cells in all)" if tally.n_faults > 1 else ""
            faults.append(f"row {tally.first}, column {tally.column.name!r}: {describe_fault(tally)}{more}")
    if faults:
        raise ValueError(f"X, {'; '.join(faults)}: {advice}.")


def warn_left_out(reading: Reading) -> None:
    """Warn of the columns that are left out though the user has not asked for it."""
    left = [column for column in reading.columns if column.is_useless]
    found = [f"{column.name!r} ({column.reason})" for column in left]
    advice = "name them in drop= if that is right"
    if any("identifier" in column.reason for column in left):
        advice += "; categorical= and numeric= keep what looks like identifiers"
    if found:
        warn_user(f"X has columns that are left out: {', '.join(found)}; {advice}.")


def warn_outside(tallies: list[Tally], n_rows: int) -> None:
    """Warn of values far outside of the range of the training rows, and of columns with many levels these do not have.

    A few new levels are nothing unusual where levels are many.
    """
    for what, counts, least in (
        ("values further outside of the range of the training rows than it is wide", "n_outside", 0.0),
        ("levels that no training row has", "n_unseen", max(MANY_UNSEEN * n_rows, FEW_UNSEEN)),
    ):
        found = [(each.column.name, getattr(each, counts)) for each in tallies]
        shown = ", ".join(f"{name!r} ({count_cells(count)})" for name, count in found if count > least)
        if shown:
            warn_user(f"X has {what}: {shown}.")


def count_cells(count: int) -> str:
    """Return a number of cells in words."""
    return f"{count:,} cell{'s' if count != 1 else ''}"


def check_reading(value: Any, where: str, sizes: Sizes) -> None:
    """Check how a table is read."""
    CHECK_READING(value, where, sizes)
    names = [column.name for column in value.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of {where} have the same name twice")
    sizes["p"] = len(value.parts)


CHECK_READING = named_tuple(
    Reading,
    columns=items(check_column, "d"),
    na_values=items(text),
    n_rows=count,
    min_frequency=number(int, float, low=0),
    max_categories=either(absent, number(int, low=2)),
    thousands=either(absent, text),
)
