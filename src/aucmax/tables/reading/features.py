"""The features of linear models, and the codes of other models, made from the codes of all levels.

Levels that fewer than `least_rows` training rows have are pooled, as by the ``OneHotEncoder`` of scikit-learn. Each
level that is kept is a feature of zeros and ones, and so are pooled and missing levels if enough training rows have
them. Otherwise such a row has the share of each level in the training rows: to a linear model, it is an average row.
It has zeros where that would be more than `MOST_SHARES`. A number has its mean where it is missing, and an
indicator if enough training rows lack it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .kinds import FEW_ROWS, RARE, Part

POOLED, MISSING = "(rare)", "(missing)"
# X is CSR where there are levels and more features than this: most of them are zeros.
DENSE_UP_TO = 256
MOST_SHARES = 256
ALL = slice(None)


def least_rows(n_rows: int, min_frequency: int | float) -> float:
    """Return the number of training rows that a level must have not to be pooled.

    A float is a share of all rows. In small tables, a twentieth of all rows counts as `RARE` rows.
    """
    if isinstance(min_frequency, float):
        return min_frequency * n_rows
    return min_frequency if min_frequency > RARE else min(min_frequency, max(1, n_rows // FEW_ROWS))


def unlike(levels: Sequence[str], word: str) -> str:
    """Return a word in as many brackets as make it none of the levels, in any case of letters."""
    taken = {level.lower() for level in levels}
    while word in taken:
        word = f"({word})"
    return word


class FeaturePart(NamedTuple):
    """A part with pooled levels."""

    name: str
    levels: list[str] | None  # that are not pooled; None for numbers
    # For each level of the training rows, and last for any other, its place in `levels`: the first after them if it is
    # pooled.
    codes: np.ndarray
    # What stands for a value that is not known: the mean of numbers, or the share of each level and of the pooled ones,
    # which is 0 if too few training rows have them.
    neutral: np.ndarray
    gaps: bool  # whether missing values have an indicator

    @property
    def n_levels(self) -> int:
        """The number of levels that have a feature: pooled ones have none if too few rows have them."""
        return len(self.neutral) - int(self.neutral[-1] == 0)

    @property
    def labels(self) -> list[str] | None:
        """The levels with the pooled one, which no text of the column is; None for numbers."""
        return None if self.levels is None else [*self.levels, unlike(self.levels, POOLED)]

    @property
    def average(self) -> np.ndarray:
        """The features of a level that has none of its own."""
        n_levels = self.n_levels
        return self.neutral[:n_levels] if n_levels <= MOST_SHARES else np.zeros(n_levels)

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        gap = [f"{self.name}={MISSING}"] if self.gaps else []
        if self.labels is None:
            return [self.name, *gap]
        return [f"{self.name}={level}" for level in self.labels[: self.n_levels]] + gap


def pool(part: Part, least: float, max_categories: int | None, gaps: bool) -> FeaturePart:
    """Return a part with those levels pooled that fewer than `least` rows have, and with at most so many categories."""
    if part.levels is None:
        return FeaturePart(part.name, None, np.empty(0, dtype=np.intp), np.array([part.mean]), gaps)
    kept = part.counts >= least
    if max_categories is not None and kept.sum() + (not kept.all()) > max_categories:
        most = np.argsort(-part.counts, kind="stable")[: max_categories - 1]
        kept &= np.isin(np.arange(len(kept)), most)
    places, pooled = np.flatnonzero(kept), part.counts[~kept].sum()
    codes = np.full(len(kept) + 1, len(places))
    codes[places] = np.arange(len(places))
    shares = np.append(part.counts[places], pooled if pooled >= least or not len(places) else 0.0)
    return FeaturePart(part.name, [part.levels[k] for k in places], codes, shares / shares.sum(), gaps)


def is_sparse(parts: Sequence[FeaturePart]) -> bool:
    """Return whether the features are CSR."""
    return any(part.levels is not None for part in parts) and sum(len(part.names) for part in parts) > DENSE_UP_TO


def pool_codes(parts: Sequence[FeaturePart], codes: np.ndarray) -> np.ndarray:
    """Return codes in which pooled and unseen levels have the last code of their column."""
    codes = codes.copy()
    for j, part in enumerate(parts):
        if part.levels is not None:
            known = ~np.isnan(codes[:, j])
            codes[known, j] = part.codes[codes[known, j].astype(np.intp)]
    return codes


def make_features(parts: Sequence[FeaturePart], codes: np.ndarray) -> Any:
    """Return the features of rows, an array or CSR of shape (n, n_features), given their pooled codes."""
    first = np.concatenate([[0], np.cumsum([len(part.names) for part in parts])]).astype(int)
    shape = codes.shape[0], int(first[-1])
    entries = (
        (rows, first[j] + offsets, values)
        for j, part in enumerate(parts)
        for rows, offsets, values in _entries(part, codes[:, j])
    )
    if is_sparse(parts):
        return _csr(entries, shape)
    X = np.zeros(shape)
    for rows, columns, values in entries:
        X[rows, columns] = values
    return X


def _entries(part: FeaturePart, codes: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows, features counted from the first of this part, and the values there."""
    missing = np.isnan(codes)
    if part.levels is None:
        yield ALL, 0, np.where(missing, part.neutral[0], codes)
        n_values = 1
    else:
        n_values = part.n_levels
        known = np.flatnonzero(codes < n_values)
        yield known, codes[known].astype(int), 1.0
        unknown = np.flatnonzero(~(codes < n_values) & ~(missing & part.gaps))
        for k in np.flatnonzero(part.average) if len(unknown) else ():
            yield unknown, k, part.neutral[k]
    if part.gaps:
        yield np.flatnonzero(missing), n_values, 1.0


def _csr(entries: Iterator[tuple[Any, Any, Any]], shape: tuple[int, int]) -> sparse.csr_array:
    found = []
    for rows, columns, values in entries:
        rows = np.arange(shape[0]) if isinstance(rows, slice) else rows
        found.append(np.broadcast_arrays(rows, columns, values))
    rows, columns, values = (np.concatenate(each) for each in zip(*found, strict=True))
    kept, narrow = values != 0, np.int32 if len(values) < 2**31 and max(shape) < 2**31 else np.int64
    places = rows[kept].astype(narrow), columns[kept].astype(narrow)
    return sparse.coo_array((values[kept], places), shape=shape).tocsr()
