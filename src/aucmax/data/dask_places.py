"""Places of the rows of two large classes in Dask collections, found in buckets (`dask_buckets`).

1. Each bucket finds the place of each of its rows among its own. To the place among all rows it lacks twice the number
   of rows of the other class in lower buckets.
2. The places go back to their partitions, where they are summed. All sums are integers.

In a bucket of equal scores, the place of a row is the number of rows of the other class: only numbers are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dask_buckets import Piece, Pieces, Splitters, cut, join_pieces, piece_of
from .dask_tasks import compute, merge_by_tree
from .places import Places, PlaceSums, compared, places_among


class BucketPlaces(NamedTuple):
    """The places of the rows of a bucket among each other.

    Attributes
    ----------
    counts : ndarray of shape (2,)
        Number of negatives and of positives.
    places : list of ndarray or None
        The places, for each partition; None if all scores are equal.
    """

    counts: np.ndarray
    places: list[np.ndarray] | None


def places_by_buckets(partitions: Sequence[Any], splitters: Mapping[int, Splitters], job: Any) -> Places:
    """Return the places of one or two vectors of scores.

    Parameters
    ----------
    partitions : sequence of tuple
        The partitions of the scores, as the tasks that `job.block` takes; the vectors are columns of its X.
    splitters : mapping of int to Splitters
        The numbers of the columns, and the splitters of each.
    job : Job
        Makes the block of a partition.

    Returns
    -------
    places : Places
        The AUCs, and the sums over both classes.
    """
    import dask

    def task(function: Any) -> Any:
        return dask.delayed(function, pure=False)

    sent = dask.delayed(job, pure=False, traverse=False)
    cuts = [task(cut)(sent, splitters, number, *part) for number, part in enumerate(partitions)]
    local = [
        [
            task(tied_places)([task(counts_of)(piece, c, k) for piece in cuts])
            if is_tied
            else task(bucket_places)([task(piece_of)(piece, c, k) for piece in cuts])
            for k, is_tied in enumerate(tied)
        ]
        for c, (_, tied) in enumerate(splitters.values())
    ]
    counts = [[bucket.counts for bucket in buckets] for buckets in local]
    sums = [
        task(join)(piece, [[task(places_in)(bucket, p) for bucket in buckets] for buckets in local], counts)
        for p, piece in enumerate(cuts)
    ]
    totals, positives, negatives = compute(merge_by_tree(task(merge), sums), cuts)
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


def tied_places(counts: Sequence[np.ndarray]) -> BucketPlaces:
    """Return the places of the rows of a bucket of equal scores, given by the counts of all partitions."""
    return BucketPlaces(np.sum(counts, axis=0), None)


def counts_of(pieces: Pieces, vector: int, bucket: int) -> np.ndarray:
    """Return the numbers of negatives and of positives of a partition in a bucket."""
    return np.bincount(piece_of(pieces, vector, bucket).positive, minlength=2)


def places_in(bucket: BucketPlaces, partition: int) -> np.ndarray | None:
    """Return the places of the rows of one partition in a bucket, None if all scores are equal."""
    return None if bucket.places is None else bucket.places[partition]


def join(
    pieces: Pieces, local: list[list[np.ndarray | None]], counts: list[list[np.ndarray]]
) -> tuple[list[int], PlaceSums, PlaceSums]:
    """Return the sums of a partition: of the positives' places by each vector, and the `PlaceSums` of both classes."""
    places = []
    for order, buckets, own, of_bucket in zip(pieces.orders, local, pieces.buckets, counts, strict=True):
        lower = np.cumsum([np.zeros(2, dtype=np.int64), *of_bucket[:-1]], axis=0)
        in_bucket = []  # the places of the rows, bucket by bucket
        for piece, found, below, its in zip(own, buckets, lower, of_bucket, strict=True):
            other = np.where(piece.positive, 0, 1)
            in_bucket.append((its[other] if found is None else found) + 2 * below[other])
        of_rows = np.empty(len(order), dtype=np.int64)
        of_rows[order] = np.concatenate(in_bucket)
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
