"""The AUC of two large classes with weights in Dask collections, found in buckets (`dask_buckets`).

The sums are those of `ranking`: the weights of the smaller class are added in the order of its scores, one after the
other, and the terms of the larger class are summed without rounding. So each bucket goes on from the sum where the one
below it ended, and the AUC is bitwise that of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .dask_buckets import Piece, cut, join_pieces
from .ranking import area, distinct, order_of, sum_below


class Bucket(NamedTuple):
    """The rows of a bucket.

    Attributes
    ----------
    knots, bounds : ndarray
        The distinct scores of the smaller class, and the number of its rows below each, as `distinct` returns them.
    few : ndarray of shape (n_few,)
        The weights of the smaller class, in the order of their scores.
    scores, weights : ndarray of shape (n_many,)
        The scores and the weights of the larger class.
    """

    knots: np.ndarray
    bounds: np.ndarray
    few: np.ndarray
    scores: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, pieces: Sequence[Piece], few_are_positive: bool) -> Bucket:
        """Return the bucket of some pieces, one of each partition."""
        scores, positive, weights = join_pieces(pieces)
        assert weights is not None
        few = positive == few_are_positive
        values = scores[few]
        order = order_of(values)
        return cls(*distinct(values[order]), weights[few][order], scores[~few], weights[~few])

    def below(self, start: float) -> np.ndarray:
        """Return the weight of the smaller class below each of its rows, if `start` is below the bucket."""
        return np.cumsum(np.append(start, self.few))


def weighted_auc(
    partitions: Sequence[Any], column: int, splitters: np.ndarray, few_are_positive: bool, job: Any
) -> float:
    """Return the AUC of a vector of scores with weights.

    Parameters
    ----------
    partitions : sequence of tuple
        The partitions of the scores, as the tasks that `job.block` takes; the vectors are columns of its X.
    column : int
        The number of the column.
    splitters : ndarray
        The splitters of its scores, increasing.
    few_are_positive : bool
        Whether the positives are the smaller class.
    job : Job
        Makes the block of a partition.

    Returns
    -------
    auc : float
        The AUC.
    """
    import dask

    from .dask import compute, merge_by_tree

    def task(function: Any) -> Any:
        return dask.delayed(function, pure=False)

    sent = dask.delayed(job, pure=False, traverse=False)
    cuts = [task(cut)(sent, {column: splitters}, number, *part) for number, part in enumerate(partitions)]
    buckets = [
        task(Bucket.of)([piece.buckets[0][k] for piece in cuts], few_are_positive) for k in range(len(splitters) + 1)
    ]
    starts = [0.0]
    for bucket in buckets:
        starts.append(task(climb)(bucket, starts[-1]))
    sums = [task(wins)(bucket, start, starts[-1]) for bucket, start in zip(buckets, starts, strict=False)]
    return area(compute(merge_by_tree(task(add), sums), cuts), np.ones(1), few_are_positive)


def climb(bucket: Bucket, start: float) -> float:
    """Return the weight of the smaller class in a bucket and below it."""
    return float(bucket.below(start)[-1])


def wins(bucket: Bucket, start: float, total: float) -> tuple[int, int]:
    """Return the sums of `sum_below` over the larger class in a bucket."""
    below = bucket.below(start)[bucket.bounds] / total
    return sum_below(bucket.scores, np.ones(len(bucket.scores), dtype=bool), bucket.weights, bucket.knots, below)


def add(sums: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of several buckets."""
    return sum(a for a, _ in sums), sum(b for _, b in sums)
