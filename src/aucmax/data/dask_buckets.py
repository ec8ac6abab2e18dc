"""Buckets of the scores of two large classes, neither of which is gathered: all scores are cut at common splitters.

1. A first pass takes evenly spaced scores of each partition. Every so many of them, sorted, is a splitter.
2. Each partition cuts its scores into buckets between the splitters. Equal scores are in one bucket.
3. Each bucket brings together its scores of all partitions, on some worker, in the order of the rows.

A score that a whole bucket or more would share has a bucket of its own, which is not brought together: what it needs of
each partition is a number or two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

BUCKET = 1 << 22  # about so many rows of one bucket
PICKED = 64  # scores of each bucket among which a splitter is chosen


class Splitters(NamedTuple):
    """Where a vector of scores is cut.

    Attributes
    ----------
    edges : ndarray of shape (n_buckets - 1,)
        The splitters, increasing: a bucket has the scores from one splitter on, below the next.
    tied : list of bool
        For each bucket, whether all its scores are equal: to the splitter below it.
    """

    edges: np.ndarray
    tied: list[bool]


class Piece(NamedTuple):
    """The scores of a partition that are in one bucket.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        The scores.
    positive : ndarray of bool, shape (n_rows,)
        Which of them are those of positives.
    weights : ndarray of shape (n_rows,) or None
        The weights of the rows.
    """

    scores: np.ndarray
    positive: np.ndarray
    weights: np.ndarray | None


class Pieces(NamedTuple):
    """The scores of a partition, cut into buckets.

    Attributes
    ----------
    positive : ndarray of bool, shape (n_rows,)
        Which rows are positive.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    orders : list of ndarray of shape (n_rows,)
        For each vector of scores, the numbers of the rows in the order of their buckets.
    buckets : list of list of Piece
        For each vector, the piece of each bucket.
    """

    positive: np.ndarray
    weights: np.ndarray | None
    orders: list[np.ndarray]
    buckets: list[list[Piece]]


def find_splitters(picked: np.ndarray) -> Splitters:
    """Return the splitters, from what `pick` returned for all partitions."""
    values, times = np.unique(np.sort(picked)[PICKED::PICKED], return_counts=True)
    heavy = values[times > 1]
    edges = np.union1d(values, np.nextafter(heavy, np.inf))
    return Splitters(edges, [False, *np.isin(edges[:-1], heavy).tolist(), False][: len(edges) + 1])


def cut(job: Any, splitters: Mapping[int, Splitters], number: int, *partition: Any) -> Pieces:
    """Return the pieces of a partition.

    Parameters
    ----------
    job : Job
        Makes the block of a partition.
    splitters : mapping of int to Splitters
        The numbers of the columns of scores, and the splitters of each.
    number : int
        The number of the partition.
    *partition
        What `job` makes the block of.

    Returns
    -------
    pieces : Pieces
        The pieces.
    """
    block = job.block(number, *partition)
    positive, weights, orders, buckets = block.targets.positive, block.targets.sample_weight, [], []
    for column, (edges, _) in splitters.items():
        scores = np.asarray(block.X[:, column], dtype=np.float64)
        bucket = np.searchsorted(edges, scores, "right")
        order = np.argsort(bucket, kind="stable")
        bounds = np.searchsorted(bucket[order], np.arange(1, len(edges) + 1))
        orders.append(order)
        buckets.append(
            [
                Piece(scores[rows], positive[rows], None if weights is None else weights[rows])
                for rows in np.split(order, bounds)
            ]
        )
    return Pieces(positive, weights, orders, buckets)


def piece_of(pieces: Pieces, vector: int, bucket: int) -> Piece:
    """Return the piece of a bucket."""
    return pieces.buckets[vector][bucket]


def join_pieces(pieces: Sequence[Piece]) -> Piece:
    """Return a bucket: its pieces of all partitions as one."""
    scores, positive, weights = zip(*pieces, strict=True)
    together = None if weights[0] is None else np.concatenate(weights)
    return Piece(np.concatenate(scores), np.concatenate(positive), together)
