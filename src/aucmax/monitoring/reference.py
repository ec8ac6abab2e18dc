"""What the training rows of a model were like: the rows in the bins and levels of each column."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from ..models.formula import owners_of
from ..tables.bins import Column, last_of_bins, make_column
from ..tables.encoder import TableEncoder
from ..tables.reading.kinds import Column as KindOfColumn
from ..tables.reading.kinds import Part
from .stability import Stability, check_level, excess_of_new, stability_of_counts

N_CELLS = 10  # of a number
FEWEST = 5  # rows that each sample should have in the cell of a level; rarer levels have one cell together
RARER, NEW, MISSING = "rarer levels", "new levels", "missing"


class Reference(NamedTuple):
    """The training rows in the cells of a column."""

    name: str
    kind: str  # of the column
    expected: np.ndarray  # (n_values,): the rows with each level, or in each bin
    missing: float  # the rows without a value
    cuts: np.ndarray | None = None  # the borders between the bins of a number
    levels: Sequence[str] = ()  # of a category, or the words of a truth value
    low: float = -np.inf  # with high: the range of a number
    high: float = np.inf
    seldom: tuple[int, int] = (0, 0)  # the levels with one training row, and with two

    @property
    def n_rows(self) -> float:
        """The number of training rows."""
        return max(float(self.expected.sum() + self.missing), 1e-300)

    def tally(self, x: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
        """Return how many rows have each value, a new level, and none."""
        n, missing = len(self.expected), np.isnan(x)
        cells = np.searchsorted(self.cuts, x) if self.cuts is not None else np.minimum(np.where(missing, 0, x), n)
        return np.bincount(np.where(missing, n + 1, cells).astype(np.intp), weight, n + 2).astype(np.float64)

    def compare(self, actual: np.ndarray, confidence_level: float) -> Stability:
        """Return the stability index of the rows that were counted."""
        labels, before, after = self.cells(actual)
        labels, before, after = [*labels, MISSING], np.append(before, self.missing), np.append(after, actual[-1])
        return stability_of_counts(labels, before, after, confidence_level)

    def cells(self, actual: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the cells of values in words, and the rows in them.

        Levels that are too rare in a sample are one cell. New levels are in it too, unless they are more than expected.
        """
        after = actual[:-2]
        if self.cuts is not None:
            value = f"{self.low:.6g}"
            labels = [f"below {value}", value, f"above {value}"] if self.low == self.high else ranges(self.cuts)
            return list(self.levels) if len(self.levels) == len(labels) else labels, self.expected, after
        fewer = min(1.0, actual.sum() / self.n_rows)
        rare = self.expected * fewer < FEWEST
        labels = [level for level, is_rare in zip(self.levels, rare.tolist(), strict=True) if not is_rare]
        once, new = self.seldom[0], float(actual[-2])
        apart = new > fewer * once
        before = np.append(self.expected[~rare], [self.expected[rare].sum() - apart * once, apart * once])
        after = np.append(after[~rare], [after[rare].sum() + (not apart) * new, apart * new])
        return [*labels, RARER, NEW], before, after

    def new_levels(self, actual: np.ndarray, confidence_level: float) -> tuple[float | None, ...]:
        """Return the share of new levels, now and expected, and the lower end of the interval of their difference."""
        if self.cuts is not None:
            return None, None, None
        n, m, new = float(self.expected.sum()), float(actual[:-1].sum()), float(actual[-2])
        low = excess_of_new(new, m, *self.seldom, n, confidence_level)
        return new / max(m, 1e-300), self.seldom[0] / max(n, 1e-300), low


def seldom_of(counts: np.ndarray) -> tuple[int, int]:
    """Return how many levels have one row, and how many have two."""
    return int(np.count_nonzero(counts == 1)), int(np.count_nonzero(counts == 2))


def ranges(cuts: np.ndarray) -> list[str]:
    """Return the ranges between borders in words."""
    if not len(cuts):
        return ["any"]
    texts = [f"{cut:.4g}" for cut in cuts.tolist()]
    between = [f"{a} to {b}" for a, b in itertools.pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"above {texts[-1]}"]


def of_bins(name: str, kind: str, column: Column, n_cells: int, n_rows: float) -> Reference:
    """Return the reference of a number, given its bins: neighbours are joined to about `n_cells`."""
    mass = column.mass[: column.n_values] * (n_rows / max(column.mass.sum(), 1e-300))
    missing = n_rows - mass.sum() if column.missing else 0.0
    if not column.n_values:
        return Reference(name, kind, np.zeros(1), missing, np.zeros(0))
    edges = float(column.low[0]), float(column.high[-1])
    if edges[0] == edges[1]:  # a constant: all other values are below or above it
        return Reference(
            name, kind, np.array([0.0, mass[0], 0.0]), missing, np.nextafter(edges[0], [-np.inf, np.inf]), (), *edges
        )
    last = np.flatnonzero(last_of_bins(mass, n_cells))
    first = np.append(0, last[:-1] + 1)
    return Reference(name, kind, np.add.reduceat(mass, first), missing, column.cuts[last[:-1]], (), *edges)


def references_of(reader: Any) -> list[Reference]:
    """Return what the training rows of a model were like, for each column of codes."""
    reading, found = reader.reading_, []
    bins = [None] * len(reading.parts) if isinstance(reader, TableEncoder) else reader.columns_
    for column, part, known in zip(owners_of(reading), reading.parts, bins, strict=True):
        words = column.reason.split(", ")[::-1] if column.kind == "boolean" else []  # for 0 and 1
        if known is None:
            found.append(of_reading(reading.n_rows, column, part)._replace(levels=part.levels or words))
            continue
        n_rows = float(reading.n_rows or known.mass.sum())
        if part.levels is None:
            found.append(of_bins(part.name, column.kind, known, N_CELLS, n_rows)._replace(levels=words))
            continue
        mass, expected = known.mass * (n_rows / max(known.mass.sum(), 1e-300)), np.zeros(len(part.levels))
        expected[known.cuts.astype(np.intp)] = mass[: known.n_values]
        missing = float(mass[known.n_values]) if known.missing else 0.0
        found.append(
            Reference(part.name, column.kind, expected, missing, levels=part.levels, seldom=seldom_of(part.counts))
        )
    return found


def of_reading(n_rows: int, column: KindOfColumn, part: Part) -> Reference:
    """Return what the reading of a table knows of a column: its levels or truth values, or the range of a number."""
    n_present, missing = float(n_rows - column.n_missing), float(column.n_missing)
    if part.levels is not None:
        return Reference(part.name, column.kind, part.counts, missing, seldom=seldom_of(part.counts))
    if column.kind == "boolean":
        shares = np.array([1 - part.mean, part.mean])
        return Reference(part.name, "boolean", n_present * shares, missing, np.array([0.5]), (), 0.0, 1.0)
    return Reference(part.name, column.kind, np.array([n_present]), missing, np.zeros(0), (), column.low, column.high)


def population_stability(
    expected: ArrayLike, actual: ArrayLike, *, n_bins: int = N_CELLS, confidence_level: float = 0.95
) -> Stability:
    """Compute the population stability index of the values of two samples.

    Values below 0.1 usually count as stable and values above 0.25 as drift. That is meant for large samples: in small
    ones the index is above 0 even if nothing has changed, by about `by_chance`.

    Parameters
    ----------
    expected : array-like of shape (n_expected,)
        The values of the training rows, such as scores, or texts.
    actual : array-like of shape (n_actual,)
        The values of new rows.
    n_bins : int, default=10
        Numbers have so many bins, which hold about the same number of expected values. Missing ones have a cell of
        their own. Each text is a cell; texts that are too rare in one sample are one cell together. Texts that are not
        in `expected` have a cell if they are more than its rare texts let expect.
    confidence_level : float in (0, 1), default=0.95
        Probability with which the interval should cover the index of the two populations.

    Returns
    -------
    stability : Stability
        The index, what it is by chance, its interval, and the shares of each cell.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import population_stability
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=2000), rng.normal(0.5, 1, size=500)
    >>> found = population_stability(before, after)
    >>> print(f"{found.psi:.3f} ({found.low:.3f} to {found.high:.3f}), {found.by_chance:.3f} by chance")
    0.240 (0.135 to 0.323), 0.022 by chance
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be at least 2, got {n_bins!r}.")
    check_level(confidence_level)
    samples = [column_or_1d(np.asarray(each)) for each in (expected, actual)]
    for name, sample in zip(("expected", "actual"), samples, strict=True):
        if not len(sample):
            raise ValueError(f"{name} has no values.")
    if all(sample.dtype.kind in "biuf" for sample in samples):
        known, new = (np.asarray(each, dtype=np.float64) for each in samples)
        values, mass = np.unique(known[~np.isnan(known)], return_counts=True)
        column = make_column(values, mass.astype(np.float64), float(np.isnan(known).sum()), False, n_bins)
        reference = of_bins("", "number", column, n_bins, float(len(known)))
        return reference.compare(reference.tally(new), confidence_level)
    levels, places = np.unique(np.concatenate([each.astype(str) for each in samples]), return_inverse=True)
    before, after = (np.bincount(each, minlength=len(levels)) for each in np.split(places, [len(samples[0])]))
    is_known = before > 0
    counts, names = before[is_known], levels[is_known].tolist()
    reference = Reference("", "category", counts.astype(np.float64), 0.0, levels=names, seldom=seldom_of(counts))
    return reference.compare(np.append(after[is_known], [after[~is_known].sum(), 0.0]), confidence_level)
