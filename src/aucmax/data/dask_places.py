"""Places of the rows of two large classes in Dask collections, found in buckets (`dask_buckets`).

1. Each bucket finds the place of each of its rows among its own. To the place among all rows it lacks twice the number
   of rows of the other class in lower buckets.
2. The places go back to their partitions, where they are summed. All sums are integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dask_buckets import Piece, Pieces, cut, join_pieces
from .places import Places, PlaceSums, compared, places_among


class BucketPlaces(NamedTuple):
    """The places of the rows of a bucket among each other.

    Attributes
    ----------
    counts : ndarray of shape (2,)
        Number of negatives and of positives.
    places : list of ndarray
        The places, for each partition.
    """

    counts: np.ndarray
    places: list[np.ndarray]


def places_by_buckets(partitions: Sequence[Any], splitters: Mapping[int, np.ndarray], job: Any) -> Places:
    """Return the places of one or two vectors of scores.

    Parameters
    ----------
    partitions : sequence of tuple
        The partitions of the scores, as the tasks that `job.block` takes; the vectors are columns of its X.
    splitters : mapping of int to ndarray
        The numbers of the columns, and the splitters of each, increasing.
    job : Job
        Makes the block of a partition.

    Returns
    -------
    places : Places
        The AUCs, and the sums over both classes.
    """
    import dask

    from .dask import compute, merge_by_tree

    sent = dask.delayed(job, pure=False, traverse=False)
    cuts = [dask.delayed(cut, pure=False)(sent, splitters, number, *part) for number, part in enumerate(partitions)]
    local = [
        [
            dask.delayed(bucket_places, pure=False)([piece.buckets[c][k] for piece in cuts])
            for k in range(len(edges) + 1)
        ]
        for c, edges in enumerate(splitters.values())
    ]
    counts = [[bucket.counts for bucket in buckets] for buckets in local]
    sums = [
        dask.delayed(join, pure=False)(piece, [[bucket.places[p] for bucket in buckets] for buckets in local], counts)
        for p, piece in enumerate(cuts)
    ]
    totals, positives, negatives = compute(merge_by_tree(dask.delayed(merge, pure=False), sums), cuts)
    return Places([total / (2 * positives.n * negatives.n) for total in totals], positives, negatives)


def bucket_places(pieces: Sequence[Piece]) -> BucketPlaces:
    """Return the places of the rows of a bucket, given by the pieces of all partitions."""
    scores, positive, _ = join_pieces(pieces)
    places = np.empty(len(scores), dtype=np.int64)
    for side in (positive, ~positive):
        places[side] = places_among(np.sort(scores[~side]), scores[side])
    n_positive = np.count_nonzero(positive)
    bounds = np.cumsum([len(piece.scores) for piece in pieces])[:-1]
    return BucketPlaces(np.array([len(scores) - n_positive, n_positive]), np.split(places, bounds))


def join(
    pieces: Pieces, local: list[list[np.ndarray]], counts: list[list[np.ndarray]]
) -> tuple[list[int], PlaceSums, PlaceSums]:
    """Return the sums of a partition: of the positives' places by each vector, and the `PlaceSums` of both classes."""
    places = []
    for order, buckets, of_bucket in zip(pieces.orders, local, counts, strict=True):
        lower = np.cumsum([np.zeros(2, dtype=np.int64), *of_bucket[:-1]], axis=0)
        bucket = np.repeat(np.arange(len(buckets)), [len(part) for part in buckets])
        other = np.where(pieces.positive[order], 0, 1)
        of_rows = np.empty(len(order), dtype=np.int64)
        of_rows[order] = np.concatenate(buckets) + 2 * lower[bucket, other]
        places.append(of_rows)
    totals = [of_rows[pieces.positive].sum().item() for of_rows in places]
    difference = compared(places)
    return totals, PlaceSums.of(difference[pieces.positive]), PlaceSums.of(difference[~pieces.positive])


def merge(parts: Sequence[tuple[list[int], PlaceSums, PlaceSums]]) -> tuple[list[int], PlaceSums, PlaceSums]:
    """Return the sums of several partitions."""
    totals, positives, negatives = parts[0]
    for other in parts[1:]:
        totals = [a + b for a, b in zip(totals, other[0], strict=True)]
        positives, negatives = positives.merge(other[1]), negatives.merge(other[2])
    return totals, positives, negatives
