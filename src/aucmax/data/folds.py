"""How rows are split for cross-validation: folds that are dealt out, again where one round would be noise."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

# Rounds of folds: until as many rows of the rarer class were held out, and as long as they are cheap (a training set is
# taken to cost the cube of the smaller of rows and columns).
ENOUGH_ROWS, MAX_ROUNDS, MAX_WORK = 1000, 10, 1e9
GOLDEN_RATIO = (5**0.5 - 1) / 2
SAMPLE = 1000  # the number of the permutation that samples are drawn by: one that no round of folds uses


class Splits(NamedTuple):
    """Training and test rows of each split, and the fold of each row where the test sets are disjoint."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    folds: np.ndarray | None


def make_rounds(cv: Any, rows: Any) -> list[Splits]:
    """Return the splits that `cv` makes of the rows, each with both classes on both sides.

    A number of folds is gone through again, with the rows in other orders, where there are so few of the rarer class
    that one round would be noise.
    """
    positive = rows.positive()
    usable = np.ones(rows.n_rows, dtype=bool) if rows.sample_weight is None else rows.sample_weight > 0
    if cv is None or isinstance(cv, Integral):
        rarer = min(int(np.count_nonzero(usable & side)) for side in (positive, ~positive))
        n_rounds = count_rounds(rarer, min(rows.X.shape))
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


def count_rounds(rarer: int, order: int) -> int:
    """Return how often a number of folds is gone through, with so many rows of the rarer class."""
    return max(1, min(MAX_ROUNDS, ENOUGH_ROWS // max(rarer, 1), int(MAX_WORK / order**3)))


def deal_round(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int) -> Splits:
    """Return the splits of one round of folds."""
    folds = deal_folds(positive, usable, n_folds, number)
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
    return Splits(pairs, folds)


def deal_folds(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int = 0) -> np.ndarray:
    """Return the fold of each row: the usable rows of each class are dealt out one by one, as `deal` says."""
    counts = [int(np.count_nonzero(usable & side)) for side in (~positive, positive)]
    n_folds = check_folds(counts, n_folds, quiet=number > 0)
    folds = np.zeros(len(positive), dtype=np.int16)  # rows without weight go anywhere
    for members, count in zip((usable & ~positive, usable & positive), counts, strict=True):
        folds[members] = deal(np.arange(count), count, n_folds, number)
    return folds


def check_folds(counts: Sequence[int], n_folds: int, quiet: bool = False) -> int:
    """Return the number of folds that so many rows of the two classes allow."""
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}.")
    if sum(counts) < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows, got {sum(counts)}.")
    if min(counts) < 2:
        raise ValueError(
            f"Cross-validation needs at least two rows of each class, got {counts[1]} positive and "
            f"{counts[0]} negative: set alpha to a number."
        )
    if min(counts) < n_folds and not quiet:
        warnings.warn(
            f"The rarer class has only {min(counts)} rows, fewer than cv={n_folds}: {min(counts)} folds are used.",
            UserWarning,
            stacklevel=5,
        )
    return min(n_folds, *counts)


def deal(ranks: np.ndarray, count: int, n_folds: int, number: int) -> np.ndarray:
    """Return the folds of rows with these ranks in their class, of `count` rows: each fold in turn gets one.

    Who begins a turn moves on by steps of the golden ratio. Without randomness, so, neither a sorted file nor a
    periodic one puts what belongs together into one fold. Contiguous folds fail on the first (``docs/defaults.md``: up
    to 0.007 of test AUC lost), dealing without the steps on the second (news20 comes in the order of its 20 groups, 1
    to 20, again and again). Further rounds put the rows of a class into an order that their `number` fixes. The fold of
    a row depends on nothing but its rank, the count and the number: a file can be dealt out block by block.
    """
    if number:
        ranks = permute(ranks, count, number)
    start = np.floor(n_folds * (GOLDEN_RATIO * (ranks // n_folds) % 1)).astype(np.int64)
    return ((ranks + start) % n_folds).astype(np.int16)


def permute(ranks: np.ndarray, count: int, number: int) -> np.ndarray:
    """Return where a permutation of 0..count-1, which `number` fixes, takes each of the ranks.

    A Feistel network permutes the numbers of an even number of bits, and is gone through again where it leaves the
    range: no table of the permutation is needed.
    """
    half = max(1, -(-int(count - 1).bit_length() // 2))
    places, outside = ranks.astype(np.uint64), np.ones(len(ranks), dtype=bool)
    while outside.any():
        left, right = places[outside] >> np.uint64(half), places[outside] & np.uint64((1 << half) - 1)
        for key in range(4 * number, 4 * number + 4):
            left, right = right, left ^ (_scramble(right, key) & np.uint64((1 << half) - 1))
        places[outside] = (left << np.uint64(half)) | right
        outside = places >= count
    return places.astype(np.int64)


def _scramble(keys: np.ndarray, number: int) -> np.ndarray:
    """Return 64 bits for each key that look random: the finaliser of SplitMix64."""
    z = keys + np.uint64(number << 48)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


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
