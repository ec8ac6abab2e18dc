"""The features of linear models, made from codes.

A number that was missing in training rows has an indicator, and its mean where it is missing. A level is a feature of
zeros and ones, and so are pooled levels and missing ones if enough training rows have them (`kinds.least_rows`).
Otherwise each level has its share of the training rows: to a linear model, that is an average row. A column with too
many levels is the rate of its level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .kinds import MISSING, Part
from .target_encoding import level_rows, rates_of

# X is CSR where there are levels and more features than this: most of them are zeros.
DENSE_UP_TO = 256
ALL = slice(None)


def name_features(part: Part) -> list[str]:
    """Return the names of the features of a part.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.tables.features import name_features
    >>> from aucmax.tables.kinds import Part
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
    """Return the features of rows.

    Parameters
    ----------
    parts : sequence of Part
        What the columns of `codes` hold.
    codes : ndarray of shape (n, n_parts)
        Numbers and codes of levels, NaN where missing.
    sums : mapping of str to ndarray
        The sums of the parts that are target-encoded.
    folds : ndarray of int, shape (n,), default=None
        The folds of training rows.

    Returns
    -------
    X : ndarray or csr_array of shape (n, n_features)
        The features.
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
