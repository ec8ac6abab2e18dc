"""Columns as codes: a bin for each value of a column, or for a range of values; a level for each category.

A numeric column with few distinct values has a bin for each of them. With more, a value that fills a bin by itself has
its own, and the others are shared out evenly, in their order. Quantiles would do the second alone: in a column that is
mostly zero they are all zero. Missing values have a bin of their own if there were any. Labels play no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .value_counts import Values


class Column(NamedTuple):
    """How the values of a column become codes.

    Attributes
    ----------
    categorical : bool
        Whether the values are categories.
    cuts : ndarray
        The levels of categories, increasing; for numbers the borders between the bins, increasing. A value on a border
        belongs to the bin below it.
    low, high : ndarray
        The smallest and the largest value of each bin or level in the training data.
    mass : ndarray of shape (n_codes,)
        The weight of the training rows with each code.
    missing : bool
        Whether there were missing values: they have the last code. Without, and for a category that is new or rare,
        the code is `n_codes`, which stands for nothing known.
    """

    categorical: bool
    cuts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mass: np.ndarray
    missing: bool

    @property
    def n_codes(self) -> int:
        """Number of codes, with that of missing values."""
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

    Parameters
    ----------
    counted : sequence of p Values
        The distinct values of each column and their weights.
    categorical : ndarray of bool, shape (p,)
        Which columns are categories.
    max_bins : int
        The largest number of bins of a column.
    budget : int
        The largest number of bins of all columns together, if at least two for each: columns with many values have
        fewer than `max_bins`, and all of these the same number.

    Returns
    -------
    columns : list of Column
        One for each column.
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
