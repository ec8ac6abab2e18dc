r"""Levels as rates: each level becomes the share of positive rows that have it, and a row never sees its own label.

Conventions
-----------
Rows are dealt to K folds by their numbers. The sums have the shape (L + 1, K, 2): for each of L levels, and last for
missing values, the weight of the negative and of the positive rows in each fold. Sums of blocks, files and partitions
add up. With n and n+ the weights of all rows and of the positive ones that have a level, and p the share of positives
among all rows, the rate of the level is

    (n+ + M p) / (n + M),

where M is `PRIOR`. A training row gets the rate that is computed without the rows of its fold, and any other row that
of all training rows. This is scikit-learn's ``TargetEncoder``, computed by blocks.
"""

from __future__ import annotations

import numpy as np

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
    """Return the sums of some rows.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The codes of their levels, NaN where missing.
    n_levels : int
        The number of levels L.
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    folds : ndarray of int, shape (n,)
        Their folds.
    weight : ndarray of shape (n,), default=None
        Their weights; 1 by default.

    Returns
    -------
    sums : ndarray of shape (n_levels + 1, FOLDS, 2)
        The sums.
    """
    cells = (level_rows(codes, n_levels) * FOLDS + folds) * 2 + positive
    return np.bincount(cells, weight, (n_levels + 1) * FOLDS * 2).reshape(n_levels + 1, FOLDS, 2).astype(np.float64)


def level_rows(codes: np.ndarray, n_levels: int) -> np.ndarray:
    """Return the row of the sums for each code: the last one for missing values."""
    return np.where(np.isnan(codes), n_levels, codes).astype(np.intp)


def rates_of(sums: np.ndarray) -> np.ndarray:
    """Return the rates for rows of each fold, and last for new rows, shape (L + 1, FOLDS + 1).

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.tables.target_encoding import rates_of
    >>> sums = np.zeros((2, 5, 2))
    >>> sums[0, 0], sums[0, 1] = [10, 0], [0, 10]
    >>> rates_of(sums).round(2)
    array([[0.75, 0.25, 0.5 , 0.5 , 0.5 , 0.5 ],
           [0.5 , 0.5 , 0.5 , 0.5 , 0.5 , 0.5 ]])
    """
    total = sums.sum(axis=1, keepdims=True)
    seen = np.concatenate([total - sums, total], axis=1)
    share = sums[..., 1].sum() / max(sums.sum(), np.finfo(float).tiny)  # the same for all folds, so it tells none apart
    return (seen[..., 1] + PRIOR * share) / (seen.sum(axis=2) + PRIOR)
