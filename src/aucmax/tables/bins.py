"""Columns as codes: a bin for each value of a column, or for a range of values; a level for each category.

A numeric column with few distinct values has a bin for each of them. With more, a value that fills a bin by itself has
its own, and the others are shared out evenly, in their order. Quantiles would do the second alone: in a column that is
mostly zero they are all zero. Missing values have a bin of their own if there were any. Labels play no part.

The bins are found from the distinct values of a column and the weight of each, in a summary that merges. Up to `limit`
distinct values are kept exactly, so the summary is what all rows at once would give. With more, its memory stays fixed
and its ranks have an error, whose bound it knows.

A summary is a list of *runs*: sorted values with the weight of each. Two neighbouring runs of like length become one as
long as this has at most `limit` values. Two that have more are joined if they are of the same *level*, and then thinned
to about half the limit: values of little weight are replaced by the largest of their neighbours. This is the scheme of
Munro and Paterson (1980), made for weights. A value passes through as many thinnings as its run has levels, and their
number grows with the logarithm of the number of rows. A thinning moves ranks by less than the weight of one group,
about 4 / limit of the weight of the run. Nothing is random, so the same blocks give the same summary.

Summaries are dicts of numbers and arrays, which checkpoints and Dask can hold: "absent" is the weight of missing
values, and each of "runs" a level, the bound of its error, its values and their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..models.checks import Sizes, array, flag, named_tuple

Counts = dict[str, Any]
ALL_VALUES = 1 << 22  # of all columns together
LEAST, MOST = 1 << 12, 1 << 16  # of one column


class Values(NamedTuple):
    """A column, summarised."""

    # shape (m,): the distinct values that are not missing, increasing; some of them if there were too many
    values: np.ndarray
    mass: np.ndarray  # shape (m,): the weight of each; of one that stands for others, their weight too
    absent: float  # the weight of missing values
    error: float  # the weight by which the rank of a value may be wrong; 0 if all distinct values are there


def limit_of(n_columns: int) -> int:
    """Return how many values of a column are kept exactly, given the number of columns."""
    return int(np.clip(ALL_VALUES // max(n_columns, 1), LEAST, MOST))


def no_values() -> Counts:
    """Return the summary of no rows."""
    return {"absent": 0.0, "runs": []}


def add_values(counts: Counts, x: np.ndarray, weights: np.ndarray, limit: int) -> None:
    """Add the values of some rows, in place; those without weight are not seen."""
    missing = np.isnan(x)
    present = ~missing & (weights > 0)
    counts["absent"] += float(weights[missing].sum())
    if present.any():
        push(counts["runs"], [0, 0.0, *distinct(x[present], weights[present], "quicksort")], limit)


def merge_counts(first: Counts, second: Counts, limit: int) -> Counts:
    """Return the summary of the rows of both, and change neither."""
    merged = {"absent": first["absent"] + second["absent"], "runs": list(first["runs"])}
    for run in second["runs"]:
        push(merged["runs"], run, limit)
    return merged


def finish_counts(counts: Counts) -> Values:
    """Return all runs together."""
    run: list[Any] = [0, 0.0, np.zeros(0), np.zeros(0)]
    for other in counts["runs"]:
        run = join(run, other)
    return Values(run[2], run[3], counts["absent"], run[1])


def push(runs: list[Any], run: list[Any], limit: int) -> None:
    """Append a run, and join it with those before it where the scheme says so, in place."""
    while True:
        if len(run[2]) > limit:
            run = thin(run, limit // 2)
        if not runs or len(runs[-1][2]) > 2 * len(run[2]):  # so a value is joined a few times, not with every block
            break
        joined = join(runs[-1], run)
        if len(joined[2]) > limit and runs[-1][0] != run[0]:
            break
        runs.pop()
        run = joined
    runs.append(run)


def join(a: list[Any], b: list[Any]) -> list[Any]:
    """Return two runs as one, with the higher level."""
    # A stable sort merges two sorted runs in one go.
    both = distinct(np.concatenate([a[2], b[2]]), np.concatenate([a[3], b[3]]), "stable")
    return [max(a[0], b[0]), a[1] + b[1], *both]


def distinct(values: np.ndarray, mass: np.ndarray, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ones of some values, increasing, and the weight of each; `kind` is for the sort."""
    order = np.argsort(values, kind=kind)
    values = values[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[first], np.add.reduceat(mass[order], first) if len(first) else mass


def thin(run: list[Any], n_groups: int) -> list[Any]:
    """Return a run of at most about `n_groups` values, one level higher.

    Neighbours are grouped by their middle ranks. A value as heavy as a group stays by itself, and so does the smallest.
    """
    level, error, values, mass = run
    size = mass.sum() / n_groups
    groups = np.floor((np.cumsum(mass) - mass / 2) / size)
    alone = mass >= size
    alone[0] = True
    last = np.append((np.diff(groups) > 0) | alone[1:], True) | alone
    first = np.append(0, np.flatnonzero(last)[:-1] + 1)
    together = np.add.reduceat(mass, first)
    moved = together - mass[last]
    return [level + 1, error + float(moved.max(initial=0.0)), values[last], together]


class Column(NamedTuple):
    """How the values of a column become codes."""

    categorical: bool  # whether the values are categories
    # The levels of categories, increasing; for numbers the borders between the bins, increasing. A value on a border
    # belongs to the bin below it.
    cuts: np.ndarray
    low: np.ndarray  # with high: the smallest and the largest value of each bin or level in the training data
    high: np.ndarray
    mass: np.ndarray  # shape (n_codes,): the weight of the training rows with each code
    # Whether there were missing values: they have the last code. Without, and for a category that is new or rare, the
    # code is `n_codes`, which stands for nothing known.
    missing: bool

    @property
    def n_codes(self) -> int:
        """Number of codes, with the code of missing values."""
        return len(self.mass)

    @property
    def n_values(self) -> int:
        """Number of bins or levels."""
        return len(self.mass) - self.missing

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Return the code of each value; `n_codes` where nothing is known of it."""
        codes = np.searchsorted(self.cuts, x)
        absent = np.isnan(x)
        if self.categorical:
            known = codes < len(self.cuts)
            known[known] = self.cuts[codes[known]] == x[known]
            codes = np.where(known, codes, self.n_codes)
        return np.where(absent, self.n_codes - 1 if self.missing else self.n_codes, codes)


def find_columns(counted: Sequence[Values], categorical: np.ndarray, max_bins: int, budget: int) -> list[Column]:
    """Return how each column becomes codes.

    A column has at most `max_bins` bins. All columns together have at most `budget`, if at least two for each: columns
    with many values have fewer than `max_bins`, and all of these the same number.
    """
    n_bins = share_out([len(each.values) for each in counted], max_bins, budget)
    return [
        make_column(each.values, each.mass, each.absent, bool(is_category), n_bins)
        for each, is_category in zip(counted, categorical, strict=True)
    ]


def share_out(n_values: Sequence[int], max_bins: int, budget: int) -> int:
    """Return the largest number of bins, from 2 to `max_bins`, with which all columns together keep to the budget."""
    for n_bins in range(max_bins, 2, -1):
        if sum(min(n, n_bins) for n in n_values) <= budget:
            return n_bins
    return 2


def make_column(values: np.ndarray, mass: np.ndarray, absent: float, categorical: bool, n_bins: int) -> Column:
    """Return the column of these distinct values; the rarest of too many categories are left out."""
    if categorical:
        kept = np.sort(np.argsort(-mass, kind="stable")[:n_bins])
        cuts, first, last, mass = values[kept], kept, kept, mass[kept]
    else:
        last = np.flatnonzero(last_of_bins(mass, n_bins)) if len(values) else np.zeros(0, dtype=np.intp)
        first = np.append(0, last[:-1] + 1)[: len(last)]
        cuts = between(values[last[:-1]], values[last[:-1] + 1])
        mass = np.add.reduceat(mass, first) if len(first) else mass
    mass = np.append(mass, absent) if absent > 0 else mass
    return Column(categorical, cuts, values[first], values[last], mass, absent > 0)


def last_of_bins(mass: np.ndarray, n_bins: int) -> np.ndarray:
    """Return which of the distinct values of a column are the last of their bin."""
    if len(mass) <= n_bins:
        return np.ones(len(mass), dtype=bool)
    large = mass * n_bins >= mass.sum()
    last = np.append(large[1:], True) | large
    n_left = n_bins - np.count_nonzero(large)
    size = mass[~large].sum() / max(n_left, 1)
    filled = 0.0
    for k in np.flatnonzero(~large):
        filled += mass[k]
        if filled >= size * (1 - 1e-9):
            last[k] = True
        if last[k]:
            filled = 0.0
    return last


def between(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the middle of two numbers, or the lower one where the middle is not finite or rounds to the upper."""
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    return np.where(np.isfinite(middle) & (middle < upper), middle, lower)


def check_column(value: Any, where: str, sizes: Sizes) -> None:
    """Check how the values of a column become codes."""
    CHECK_FIELDS(value, where, sizes)
    n_values = len(value.mass) - int(value.missing)
    n_cuts = n_values if value.categorical else max(n_values - 1, 0)
    if n_values < 0 or (len(value.cuts), len(value.low), len(value.high)) != (n_cuts, n_values, n_values):
        raise ValueError(f"{where} has other numbers of cuts, of bins and of their weights than belong together")
    if any(np.isnan(bounds).any() for bounds in (value.cuts, value.low, value.high)) or (value.mass < 0).any():
        raise ValueError(f"{where} holds NaN or negative weights")
    if not (value.cuts[1:] > value.cuts[:-1]).all():
        raise ValueError(f"cuts of {where} do not increase")


CHECK_FIELDS = named_tuple(
    Column,
    categorical=flag,
    cuts=array("f", None, finite=False),
    low=array("f", None, finite=False),
    high=array("f", None, finite=False),
    mass=array("f", None),
    missing=flag,
)
