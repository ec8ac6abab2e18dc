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

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

from ..models.checks import Sizes, array, flag, named_tuple
from ..rows.memory import MemoryRows
from ..rows.protocol import Rows, Targets
from .kernels import fill_bins

State = dict[str, Any]
ALL_VALUES = 1 << 22  # of all columns together
LEAST, MOST = 1 << 12, 1 << 16  # of one column
LARGE = 1 << 27  # bytes of codes that are kept in a file


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


def no_values() -> State:
    """Return the summary of no rows."""
    return {"absent": 0.0, "runs": []}


def add_values(counts: State, x: np.ndarray, weights: np.ndarray, limit: int) -> None:
    """Add the values of some rows, in place; those without weight are not seen."""
    missing = np.isnan(x)
    present = ~missing & (weights > 0)
    counts["absent"] += float(weights[missing].sum())
    if present.any():
        push(counts["runs"], [0, 0.0, *distinct(x[present], weights[present], "quicksort")], limit)


def merge_counts(first: State, second: State, limit: int) -> State:
    """Return the summary of the rows of both, and change neither."""
    merged = {"absent": first["absent"] + second["absent"], "runs": list(first["runs"])}
    for run in second["runs"]:
        push(merged["runs"], run, limit)
    return merged


def finish_counts(counts: State) -> Values:
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
    """How the values of a column become codes.

    The bins or levels have the first codes, in their order. Then comes one of missing values if training rows had any,
    and for a category a last one, "other", of levels that no training row had.
    """

    categorical: bool  # whether the values are categories
    # The levels of categories, increasing; for numbers the borders between the bins, increasing. A value on a border
    # belongs to the bin below it.
    cuts: np.ndarray
    low: np.ndarray  # with high: the smallest and the largest value of each bin or level in the training data
    high: np.ndarray
    center: np.ndarray  # shape (n_values,): the mean of the values of each bin or level
    mass: np.ndarray  # shape (n_codes,): the weight of the training rows with each code
    missing: bool  # whether training rows had missing values

    @property
    def n_codes(self) -> int:
        """Number of codes."""
        return len(self.mass)

    @property
    def n_values(self) -> int:
        """Number of bins or levels."""
        return len(self.low)

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Return the code of each value; `n_codes` for a missing number if no training row missed one."""
        codes = np.searchsorted(self.cuts, x)
        absent = np.isnan(x)
        if self.categorical:
            known = codes < len(self.cuts)
            known[known] = self.cuts[codes[known]] == x[known]
            codes = np.where(known, codes, self.n_codes - 1)
        unknown = self.n_codes - self.categorical
        return np.where(absent, self.n_values if self.missing else unknown, codes)


def find_columns(
    counted: Sequence[Values], categorical: np.ndarray, max_bins: int, cuts: Mapping[int, np.ndarray] | None = None
) -> list[Column]:
    """Return how each column becomes codes: a number has at most `max_bins` bins, a category all of its levels.

    Columns whose numbers are in `cuts` have the bins between these.
    """
    return [
        cut_column(each.values, each.mass, each.absent, cuts[j])
        if cuts and j in cuts and len(each.values)
        else make_column(each.values, each.mass, each.absent, bool(is_category), max_bins)
        for j, (each, is_category) in enumerate(zip(counted, categorical, strict=True))
    ]


def cut_column(values: np.ndarray, mass: np.ndarray, absent: float, cuts: np.ndarray) -> Column:
    """Return the column of these distinct numbers with bins between cut points; one without values has its border."""
    bins, n_bins = np.searchsorted(cuts, values), len(cuts) + 1
    total, borders = np.bincount(bins, mass, n_bins), np.append(cuts, cuts[-1])
    shares = mass / np.maximum(total[bins], 1e-300)
    center = np.where(total > 0, np.bincount(bins, values * shares, n_bins), borders)
    low, high = borders.copy(), borders.copy()
    low[bins[::-1]], high[bins] = values[::-1], values  # the last one that is written stays
    return Column(False, cuts, low, high, center, np.append(total, [absent] * (absent > 0)), absent > 0)


def make_column(values: np.ndarray, mass: np.ndarray, absent: float, categorical: bool, max_bins: int) -> Column:
    """Return the column of these distinct values."""
    if categorical:
        first = last = np.arange(len(values))
        cuts = center = values
    else:
        last = np.flatnonzero(last_of_bins(mass, max_bins)) if len(values) else np.zeros(0, dtype=np.intp)
        first = np.append(0, last[:-1] + 1)[: len(last)]
        cuts = between(values[last[:-1]], values[last[:-1] + 1])
        shares = mass / np.repeat(np.add.reduceat(mass, first), last - first + 1) if len(first) else mass
        center = np.add.reduceat(values * shares, first) if len(first) else values
        mass = np.add.reduceat(mass, first) if len(first) else mass
    others = [absent] * (absent > 0) + [0.0] * categorical
    return Column(categorical, cuts, values[first], values[last], center, np.append(mass, others), absent > 0)


def last_of_bins(mass: np.ndarray, n_bins: int) -> np.ndarray:
    """Return which of the distinct values of a column are the last of their bin."""
    if len(mass) <= n_bins:
        return np.ones(len(mass), dtype=bool)
    large = mass * n_bins >= mass.sum()
    n_left = n_bins - np.count_nonzero(large)
    size = float(mass[~large].sum()) / max(int(n_left), 1)
    return fill_bins(mass, large, size * (1 - 1e-9))


def between(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the middle of two numbers, or the lower one where the middle is not finite or rounds to the upper."""
    with np.errstate(invalid="ignore"):
        middle = lower / 2 + upper / 2
    return np.where(np.isfinite(middle) & (middle < upper), middle, lower)


def summarise_values(rows: Rows) -> list[Values]:
    """Return the distinct values of each column: all of them in memory, and a summary if rows come block by block."""
    summary = ValuesSummary(rows.n_features, rows.n_rows if rows.in_memory else limit_of(rows.n_features))
    found = rows.gather("values", summary.empty, summary.add, summary.merge)
    return [finish_counts(counts) for counts in found["columns"]]


class ValuesSummary(NamedTuple):
    """The summary of the values of all columns, for :meth:`aucmax.rows.protocol.Rows.gather`."""

    n_features: int
    limit: int  # how many values of a column are kept exactly

    def empty(self) -> State:
        """Return the summary of no rows."""
        return {"columns": [no_values() for _ in range(self.n_features)]}

    def add(self, state: State, X: Any, targets: Targets) -> None:
        """Add a block, in place."""
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        assert_all_finite(X, allow_nan=True, input_name="X")
        weights = np.ones(len(X)) if targets.sample_weight is None else targets.sample_weight
        for counts, x in zip(state["columns"], X.T, strict=True):
            add_values(counts, x, weights, self.limit)

    def merge(self, a: State, b: State) -> State:
        """Return the summary of the rows of both."""
        pairs = zip(a["columns"], b["columns"], strict=True)
        return {"columns": [merge_counts(first, second, self.limit) for first, second in pairs]}


def encode(columns: Sequence[Column], X: np.ndarray) -> np.ndarray:
    """Return the code of each value, shape (n, p), in as few bytes as they need."""
    largest = max((column.n_codes for column in columns), default=0)
    codes = np.empty((len(X), len(columns)), dtype=np.min_scalar_type(largest))
    for j, column in enumerate(columns):
        codes[:, j] = column.encode(X[:, j])
    return codes


def code_rows(rows: Rows, columns: Sequence[Column]) -> MemoryRows:
    """Return rows in memory whose values are the codes of the columns; a file is read once for it."""

    def add(state: State, X: Any, targets: Targets) -> None:
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        codes = np.asarray(rows.put_away(encode(columns, X)))  # also of a memmap: a checkpoint holds arrays
        state["blocks"].append([codes, targets.positive, targets.sample_weight, targets.groups])

    def merge(a: State, b: State) -> State:
        return {"blocks": a["blocks"] + b["blocks"]}

    found = [block for block in rows.gather("codes", lambda: {"blocks": []}, add, merge)["blocks"] if len(block[1])]
    parts, positive, weights, groups = zip(*found, strict=True)
    codes = parts[0] if len(parts) == 1 else joined(parts)
    weight, group = (None if each[0] is None else np.concatenate(each) for each in (weights, groups))
    return MemoryRows(codes, np.concatenate(positive), np.array([False, True]), weight, group)


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of all parts, in a temporary file if they are many."""
    shape = sum(len(part) for part in parts), parts[0].shape[1]
    if shape[0] * shape[1] * parts[0].itemsize < LARGE:
        return np.concatenate(parts)
    with tempfile.TemporaryFile() as file:
        out, start = np.memmap(file, parts[0].dtype, "w+", shape=shape), 0
    for part in parts:
        out[start : start + len(part)] = part
        start += len(part)
    return out


def check_column(value: Any, where: str, sizes: Sizes) -> None:
    """Check how the values of a column become codes."""
    CHECK_FIELDS(value, where, sizes)
    n_values = len(value.mass) - int(value.missing) - int(value.categorical)
    n_cuts = n_values if value.categorical else max(n_values - 1, 0)
    bounds = (value.low, value.high, value.center)
    if n_values < 0 or len(value.cuts) != n_cuts or any(len(each) != n_values for each in bounds):
        raise ValueError(f"{where} has other numbers of cuts, of bins and of their weights than belong together")
    if any(np.isnan(each).any() for each in (value.cuts, *bounds)) or (value.mass < 0).any():
        raise ValueError(f"{where} holds NaN or negative weights")
    if not (value.cuts[1:] > value.cuts[:-1]).all():
        raise ValueError(f"cuts of {where} do not increase")


CHECK_FIELDS = named_tuple(
    Column,
    categorical=flag,
    cuts=array("f", None, finite=False),
    low=array("f", None, finite=False),
    high=array("f", None, finite=False),
    center=array("f", None, finite=False),
    mass=array("f", None),
    missing=flag,
)
