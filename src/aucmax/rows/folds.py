"""How rows are assigned to folds and samples, without randomness."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._compat import FAST, jit

GOLDEN_RATIO = (5**0.5 - 1) / 2
SAMPLE = 1000  # the number of the permutation that draws samples; no round of folds uses it


def deal_folds(positive: np.ndarray, usable: np.ndarray, n_folds: int, number: int = 0) -> np.ndarray:
    """Return the fold of each row; `deal` describes how the usable rows of each class are assigned."""
    folds = np.zeros(len(positive), dtype=np.int16)  # the fold of a row without weight does not matter
    for members in (usable & ~positive, usable & positive):
        count = int(np.count_nonzero(members))
        folds[members] = deal(np.arange(count), count, n_folds, number)
    return folds


def deal(ranks: np.ndarray, count: int, n_folds: int, number: int) -> np.ndarray:
    """Return the folds of rows with these ranks in a class of `count` rows.

    Every n_folds consecutive rows are dealt out to the folds in turn, one row to each. The fold that gets the first of
    them moves on by steps of the golden ratio. This needs no randomness, and yet it spreads similar rows over all folds
    in a sorted file as well as in a periodic one. Contiguous folds fail on a sorted file: up to 0.007 of test AUC
    lost (``docs/measured/defaults.md``). Always starting with the same fold fails on a periodic one: the rows of news20
    repeat the order of its 20 groups. Rounds after the first permute the rows of each class by the `number` of the
    round.
    """
    if number:
        ranks = permute(ranks, count, number)
    start = np.floor(n_folds * (GOLDEN_RATIO * (ranks // n_folds) % 1)).astype(np.int64)
    return ((ranks + start) % n_folds).astype(np.int16)


def permute(ranks: np.ndarray, count: int, number: int) -> np.ndarray:
    """Return the images of the ranks under permutation `number` of 0..count-1.

    A Feistel network permutes the integers of an even number of bits. It is applied again to each result that is not
    below `count`. No table of the permutation is needed.
    """
    return _walk(ranks, count, range(4 * number, 4 * number + 4), inverse=False)


def preimages(images: np.ndarray, count: int, number: int) -> np.ndarray:
    """Return the ranks that `permute` moves to these images."""
    return _walk(images, count, range(4 * number + 3, 4 * number - 1, -1), inverse=True)


def _walk(ranks: np.ndarray, count: int, keys: range, inverse: bool) -> np.ndarray:
    """Apply a Feistel network with these keys until all results are below `count`."""
    half = max(1, -(-int(count - 1).bit_length() // 2))
    images = ranks.astype(np.uint64)
    feistel(images, np.uint64(count), np.array(keys, dtype=np.uint64), np.uint64(half), inverse)
    return images.astype(np.int64)


def in_parts(parts: Any, chosen: Sequence[int]) -> Any:
    """Return the mask of the rows of the chosen parts, in a fraction of the time of np.isin."""
    return functools.reduce(operator.or_, [parts == part for part in chosen])


@jit(**FAST)
def feistel(images, count, keys, half, inverse):
    """Replace each image by its own image below `count`, in a network of two halves of `half` bits."""
    low = (np.uint64(1) << half) - np.uint64(1)
    for i in range(images.shape[0]):
        image = images[i]
        while True:
            left, right = image >> half, image & low
            for key in keys:
                if inverse:
                    left, right = right ^ (scramble(left, key) & low), left
                else:
                    left, right = right, left ^ (scramble(right, key) & low)
            image = (left << half) | right
            if image < count:
                break
        images[i] = image


@jit(**FAST)
def scramble(bits, key):
    """Return 64 pseudo-random bits: the finaliser of SplitMix64."""
    z = bits + (key << np.uint64(48))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
