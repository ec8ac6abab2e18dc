"""How rows are dealt out to folds: without randomness, and so that a file can be dealt out block by block."""

from __future__ import annotations

import numpy as np

GOLDEN_RATIO = (5**0.5 - 1) / 2
SAMPLE = 1000  # the number of the permutation that samples are drawn by: one that no round of folds uses


def deal_folds(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int = 0) -> np.ndarray:
    """Return the fold of each row: the usable rows of each class are dealt out one by one, as `deal` says."""
    folds = np.zeros(len(positive), dtype=np.int16)  # rows without weight go anywhere
    for members in (usable & ~positive, usable & positive):
        count = int(np.count_nonzero(members))
        folds[members] = deal(np.arange(count), count, n_folds, number)
    return folds


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
