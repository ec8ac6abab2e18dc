"""The features of linear models, made from codes.

A number that was missing in training rows has an indicator, and its mean where it is missing. A level is a feature of
zeros and ones, and so are pooled levels and missing ones if enough training rows have them (`kinds.least_rows`).
Otherwise each level has its share of the training rows: to a linear model, that is an average row. A column with too
many levels is the rate of its level.

The rate of a level is the share of positive rows among those that have it. A row never sees its own label.

Conventions
-----------
Rows are dealt to K folds by their numbers. The sums have the shape (L + 1, K, 2): for each of L levels, and last for
missing values, the weight of the negative and of the positive rows in each fold. Sums of blocks, files and partitions
add up. With n and n+ the weights of all rows and of the positive ones that have a level, and p the share of positives
among all rows, the rate of the level is

    (n+ + M p) / (n + M),

where M is `PRIOR`. A training row gets the rate that is computed without the rows of its fold, and any other row the
rate of all training rows. This is scikit-learn's ``TargetEncoder``, computed by blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .kinds import MISSING, Part

# X is CSR where there are levels and more features than this: most of them are zeros.
DENSE_UP_TO = 256
ALL = slice(None)


def name_features(part: Part) -> list[str]:
    """Return the names of the features of a part.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.tables.reading.features import name_features
    >>> from aucmax.tables.reading.kinds import Part
    >>> name_features(Part("colour", ["blue", "red", "(rare)"], np.array([0.5, 0.5, 0.0]), gaps=True))
    ['colour=blue', 'colour=red', 'colour=(missing)']
    """
    if part.encoded:
        return [f"{part.name} (rate)"]
    gap = [f"{part.name}={MISSING}"] if part.gaps else []
    if part.levels is None:
        return [part.name, *gap]
    return [f"{part.name}={level}" for level in part.levels[: count_levels(part)]] + gap


def count_levels(part: Part) -> int:
    """Return the number of levels that have a feature: all, or all but the pooled one if too few rows have it."""
    return len(part.neutral) if part.neutral[-1] > 0 else len(part.neutral) - 1


def is_sparse(parts: Sequence[Part]) -> bool:
    """Return whether the features are CSR."""
    has_levels = any(part.levels is not None and not part.encoded for part in parts)
    return has_levels and sum(len(name_features(part)) for part in parts) > DENSE_UP_TO


def make_features(
    parts: Sequence[Part], codes: np.ndarray, sums: Mapping[str, np.ndarray], folds: np.ndarray | None = None
) -> Any:
    """Return the features of rows, an array or CSR of shape (n, n_features).

    `codes`, of shape (n, n_parts), has numbers and codes of levels, NaN where missing. `sums` are for the parts that
    are target-encoded, and `folds` are the folds of training rows.
    """
    first = np.concatenate([[0], np.cumsum([len(name_features(part)) for part in parts])]).astype(int)
    shape = codes.shape[0], int(first[-1])
    entries = (
        (rows, first[j] + offsets, values)
        for j, part in enumerate(parts)
        for rows, offsets, values in _entries(part, codes[:, j], sums, folds)
    )
    if is_sparse(parts):
        return _csr(entries, shape)
    X = np.zeros(shape)
    for rows, columns, values in entries:
        X[rows, columns] = values
    return X


def _entries(
    part: Part, codes: np.ndarray, sums: Mapping[str, np.ndarray], folds: np.ndarray | None
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows, features counted from the first of this part, and the values there."""
    missing = np.isnan(codes)
    if part.encoded and part.levels is not None:
        rates = rates_of(sums[part.name])
        yield ALL, 0, rates[level_rows(codes, len(part.levels)), -1 if folds is None else folds]
        return
    if part.levels is None:
        yield ALL, 0, np.where(missing, part.neutral[0], codes)
        n_values = 1
    else:
        n_values = count_levels(part)
        known = np.flatnonzero(codes < n_values)
        yield known, codes[known].astype(int), 1.0
        unknown = np.flatnonzero(~(codes < n_values) & ~(missing & part.gaps))
        for k in range(n_values if len(unknown) else 0):
            yield unknown, k, part.neutral[k]
    if part.gaps:
        yield np.flatnonzero(missing), n_values, 1.0


def _csr(entries: Iterator[tuple[Any, Any, Any]], shape: tuple[int, int]) -> sparse.csr_array:
    found = []
    for rows, columns, values in entries:
        rows = np.arange(shape[0]) if isinstance(rows, slice) else rows
        found.append(np.broadcast_arrays(rows, columns, values))
    rows, columns, values = (np.concatenate(each) for each in zip(*found, strict=True))
    kept = values != 0
    rows, columns, values = rows[kept], columns[kept].astype(np.int32), values[kept]
    order = np.argsort(rows, kind="stable")  # the features of a row come in their order
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(np.int32)
    X = sparse.csr_array((values[order], columns[order], indptr), shape=shape)
    X.has_canonical_format = True
    return X


FOLDS = 5
PRIOR = 10.0  # rows that the share of positives in all rows counts for


def deal_folds(first: int, n_rows: int) -> np.ndarray:
    """Return the folds of consecutive rows, given the number of the first; files that are sorted are mixed."""
    numbers = np.arange(first, first + n_rows, dtype=np.uint64) + np.uint64(1)
    numbers *= np.uint64(0x9E3779B97F4A7C15)
    numbers ^= numbers >> np.uint64(29)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    return ((numbers >> np.uint64(32)) % np.uint64(FOLDS)).astype(np.intp)


def sum_levels(
    codes: np.ndarray, n_levels: int, positive: np.ndarray, folds: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the sums of some rows, of shape (n_levels + 1, FOLDS, 2); codes are NaN where a level is missing."""
    cells = (level_rows(codes, n_levels) * FOLDS + folds) * 2 + positive
    return np.bincount(cells, weight, (n_levels + 1) * FOLDS * 2).reshape(n_levels + 1, FOLDS, 2).astype(np.float64)


def level_rows(codes: np.ndarray, n_levels: int) -> np.ndarray:
    """Return the row of the sums for each code: the last one for missing values."""
    return np.where(np.isnan(codes), n_levels, codes).astype(np.intp)


def rates_of(sums: np.ndarray) -> np.ndarray:
    """Return the rates for rows of each fold, and last for new rows, shape (L + 1, FOLDS + 1)."""
    total = sums.sum(axis=1, keepdims=True)
    seen = np.concatenate([total - sums, total], axis=1)
    share = sums[..., 1].sum() / max(sums.sum(), np.finfo(float).tiny)  # the same for all folds, so it tells none apart
    return (seen[..., 1] + PRIOR * share) / (seen.sum(axis=2) + PRIOR)
