"""The AUC of two large classes in Dask collections, found in buckets (`dask_buckets`).

The sums are those of `ranking`: the weights of the smaller class are added in the order of its scores, one after the
other, and the terms of the larger class are summed without rounding. So each bucket goes on from the sum where the one
below it ended, and the AUC is bitwise that of memory. Without weights all sums are integers.

In a bucket of equal scores, each partition goes on from the one before it, and its rows stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dask_buckets import Piece, Splitters, cut, join_pieces, piece_of
from .dask_tasks import compute, merge_by_tree
from .ranking import area, distinct, order_of, sum_below


class Bucket(NamedTuple):
    """The rows of a bucket, of all partitions or of one.

    Attributes
    ----------
    knots, bounds : ndarray
        The distinct scores of the smaller class, and the number of its rows below each, as `distinct` returns them.
    few : ndarray of shape (n_few,) or None
        The weights of the smaller class, in the order of their scores.
    scores, weights : ndarray of shape (n_many,) or None
        The scores and the weights of the larger class.
    """

    knots: np.ndarray
    bounds: np.ndarray
    few: np.ndarray | None
    scores: np.ndarray
    weights: np.ndarray | None

    @classmethod
    def of(cls, pieces: Sequence[Piece], few_are_positive: bool) -> Bucket:
        """Return the bucket of some pieces, one of each partition."""
        scores, positive, weights = join_pieces(pieces)
        few = positive == few_are_positive
        if weights is None:
            return cls(*distinct(np.sort(scores[few])), None, scores[~few], None)
        values = scores[few]
        order = order_of(values)
        return cls(*distinct(values[order]), weights[few][order], scores[~few], weights[~few])

    def below(self, start: float) -> np.ndarray:
        """Return the weight of the smaller class below each knot, and in all, if `start` is below the bucket."""
        return start + self.bounds if self.few is None else np.cumsum(np.append(start, self.few))[self.bounds]


def aucs_by_buckets(
    partitions: Sequence[Any], splitters: Mapping[int, Splitters], few_are_positive: bool, weighted: bool, job: Any
) -> list[float]:
    """Return the AUCs of vectors of scores, in one pass.

    Parameters
    ----------
    partitions : sequence of tuple
        The partitions of the scores, as the tasks that `job.block` takes; the vectors are columns of its X.
    splitters : mapping of int to Splitters
        The numbers of the columns, and the splitters of each.
    few_are_positive : bool
        Whether the positives are the smaller class.
    weighted : bool
        Whether the rows have weights.
    job : Job
        Makes the block of a partition.

    Returns
    -------
    aucs : list of float
        The AUCs.
    """
    import dask

    def task(function: Any) -> Any:
        return dask.delayed(function, pure=False)

    sent = dask.delayed(job, pure=False, traverse=False)
    cuts = [task(cut)(sent, splitters, number, *part) for number, part in enumerate(partitions)]
    found = []
    for c, (edges, tied) in enumerate(splitters.values()):
        total: Any = 0.0 if weighted else 0
        climbed = []  # each bucket, what is below it, and what is below and in it if its scores are all equal
        for k, is_tied in enumerate(tied):
            pieces = [task(piece_of)(piece, c, k) for piece in cuts]
            start, parts = total, []
            for group in [[piece] for piece in pieces] if is_tied else [pieces]:
                parts.append((task(Bucket.of)(group, few_are_positive), total))
                total = task(climb)(*parts[-1])
            ends = (edges[k - 1], start, total) if is_tied else None
            climbed += [(*part, ends) for part in parts]
        sums = [task(wins)(bucket, start, total, ends) for bucket, start, ends in climbed]
        found.append(task(summed)(merge_by_tree(task(add), sums), total))
    sums_and_totals = compute(task(list)(found), cuts)
    return [area(sums, np.array([1 if weighted else total]), few_are_positive) for sums, total in sums_and_totals]


def climb(bucket: Bucket, start: float) -> float:
    """Return the weight of the smaller class in a bucket and below it."""
    return bucket.below(start)[-1].item()


def wins(bucket: Bucket, start: float, total: float, ends: tuple[float, float, float] | None) -> tuple[int, int]:
    """Return the sums of `sum_below` over the larger class in a bucket.

    If all scores of the bucket are equal, `ends` are this score, and the weight of the smaller class below it and up to
    it, in all partitions.
    """
    knots, below = bucket.knots, bucket.below(start)
    if ends is not None:
        (knots, _), below = distinct(np.array(ends[:1])), np.array(ends[1:])
    below = below if bucket.few is None else below / total
    return sum_below(bucket.scores, np.ones(len(bucket.scores), dtype=bool), bucket.weights, knots, below)


def add(sums: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of several buckets."""
    return sum(a for a, _ in sums), sum(b for _, b in sums)


def summed(sums: tuple[int, int], total: float) -> tuple[tuple[int, int], float]:
    """Return the sums of all buckets, and the weight of the smaller class."""
    return sums, total
