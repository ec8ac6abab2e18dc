"""How rows are split for cross-validation: folds that are dealt out, again where one round would be noise."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from .data import Rows

# Rounds of folds: until as many rows of the rarer class were held out, and as long as they are cheap (a training set is
# taken to cost the cube of the smaller of rows and columns).
ENOUGH_ROWS, MAX_ROUNDS, MAX_WORK = 1000, 10, 1e9
GOLDEN_RATIO = (5**0.5 - 1) / 2


class Splits(NamedTuple):
    """Training and test rows of each split, and the fold of each row where the test sets are disjoint."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    folds: np.ndarray | None


def make_rounds(cv: Any, rows: Rows) -> list[Splits]:
    """Return the splits that `cv` makes of the rows, each with both classes on both sides.

    A number of folds is gone through again, with the rows in other orders, where there are so few of the rarer class
    that one round would be noise.
    """
    positive = rows.positive()
    usable = np.ones(rows.n_rows, dtype=bool) if rows.sample_weight is None else rows.sample_weight > 0
    if cv is None or isinstance(cv, Integral):
        rarer = min(int(np.count_nonzero(usable & side)) for side in (positive, ~positive))
        order = min(rows.X.shape)
        n_rounds = max(1, min(MAX_ROUNDS, ENOUGH_ROWS // max(rarer, 1), int(MAX_WORK / order**3)))
        return [deal_round(positive, usable, 5 if cv is None else int(cv), k) for k in range(n_rounds)]
    pairs = [
        (_indices(train, rows.n_rows), _indices(test, rows.n_rows))
        for train, test in check_cv(cv, positive, classifier=True).split(np.zeros(rows.n_rows), positive)
    ]
    for k, pair in enumerate(pairs):
        for side, members in zip(("training", "test"), pair, strict=True):
            if len(np.unique(positive[members[usable[members]]])) < 2:
                raise ValueError(
                    f"The {side} rows of split {k} of cv are not of two classes, so they have no AUC: "
                    "use stratified folds."
                )
    return [Splits(pairs, _disjoint_folds(pairs, rows.n_rows))]


def deal_round(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int) -> Splits:
    """Return the splits of one round of folds."""
    folds = deal_folds(positive, usable, n_folds, number)
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
    return Splits(pairs, folds)


def deal_folds(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int = 0) -> np.ndarray:
    """Return the fold of each row: the usable rows of each class are dealt out in rounds, one to each fold.

    Each round starts at another fold, by steps of the golden ratio. Without randomness, so, neither a sorted file nor
    a periodic one puts what belongs together into one fold. Contiguous folds fail on the first (``docs/defaults.md``:
    up to 0.007 of test AUC lost), dealing without the steps on the second (news20 comes in the order of its 20 groups,
    1 to 20, again and again). Further rounds put the rows of a class into an order that their `number` fixes.
    """
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}.")
    counts = [int(np.count_nonzero(usable & side)) for side in (~positive, positive)]
    if sum(counts) < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows, got {sum(counts)}.")
    if min(counts) < 2:
        raise ValueError(
            f"Cross-validation needs at least two rows of each class, got {counts[1]} positive and "
            f"{counts[0]} negative: set alpha to a number."
        )
    if min(counts) < n_folds and number == 0:
        warnings.warn(
            f"The rarer class has only {min(counts)} rows, fewer than cv={n_folds}: {min(counts)} folds are used.",
            UserWarning,
            stacklevel=4,
        )
    n_folds = min(n_folds, *counts)
    folds = np.zeros(len(positive), dtype=np.int16)  # rows without weight go anywhere
    for members in (usable & ~positive, usable & positive):
        rank = np.arange(np.count_nonzero(members))
        rank = np.random.RandomState(number).permutation(rank) if number else rank
        start = np.floor(n_folds * (GOLDEN_RATIO * (rank // n_folds) % 1))
        folds[members] = (rank + start) % n_folds
    return folds


def _indices(rows: Any, n_rows: int) -> np.ndarray:
    """Return row numbers, also from a mask."""
    return np.arange(n_rows)[rows]


def _disjoint_folds(pairs: list[tuple[np.ndarray, np.ndarray]], n_rows: int) -> np.ndarray | None:
    """Return the fold of each row if every split trains on just what it does not test, and no row is tested twice.

    Rows in no test set form one more fold.
    """
    folds = np.full(n_rows, len(pairs), dtype=np.int16)
    for k, (_, test) in enumerate(pairs):
        folds[test] = k
    if all(np.array_equal(np.sort(train), np.flatnonzero(folds != k)) for k, (train, _) in enumerate(pairs)):
        return folds
    return None
