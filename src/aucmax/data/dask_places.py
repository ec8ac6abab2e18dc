"""Places of the rows of two large classes in Dask collections, found in buckets (`dask_buckets`).

1. Each bucket finds the place of each of its rows among its own. To the place among all rows it lacks twice the number
   of rows of the other class in lower buckets.
2. The places go back to their partitions, where they are summed. All sums are integers, or shares that are summed
   without rounding (`weighted_places`).

In a bucket of equal scores, the place of a row is the number of rows of the other class: only numbers are sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .dask_buckets import Piece, Pieces, Splitters, cut, join_pieces, piece_of
from .dask_tasks import compute, merge_by_tree
from .places import EstimatedAUCs, PlaceSums, compared, places_among
from .weighted_places import ShareSums, shares_of, units_of, weighted_places_among


class BucketPlaces(NamedTuple):
    """The places of the rows of a bucket among each other.

    Attributes
    ----------
    counts : ndarray of shape (2,) or (2, 2)
        Number of negatives and of positives, or the weight of both as integers of two halves.
    places : list of ndarray of shape (n,) or (n, 2), or None
        The places, for each partition; None if all scores are equal.
    """

    counts: np.ndarray
    places: list[np.ndarray] | None


def estimate_by_buckets(
    partitions: Sequence[Any], splitters: Mapping[int, Splitters], largest: np.ndarray | None, job: Any
) -> EstimatedAUCs:
    """Return the AUCs of one or two vectors of scores and DeLong's variance.

    Parameters
    ----------
    partitions : sequence of tuple
        The partitions of the scores, as the tasks that `job.block` takes; the vectors are columns of its X.
    splitters : mapping of int to Splitters
        The numbers of the columns, and the splitters of each.
    largest : ndarray of shape (2,) or None
        The largest weight of each class; None if rows have no weights.
    job : Job
        Makes the block of a partition.

    Returns
    -------
    found : EstimatedAUCs
        The AUCs and the variance.
    """
    import dask

    def task(function: Any) -> Any:
        return dask.delayed(function, pure=False)

    sent = dask.delayed(job, pure=False, traverse=False)
    cuts = [task(cut)(sent, splitters, number, *part) for number, part in enumerate(partitions)]
    local = [
        [
            task(tied_places)([task(counts_of)(piece, c, k, largest) for piece in cuts])
            if is_tied
            else task(bucket_places)([task(piece_of)(piece, c, k) for piece in cuts], largest)
            for k, is_tied in enumerate(tied)
        ]
        for c, (_, tied) in enumerate(splitters.values())
    ]
    counts = [[bucket.counts for bucket in buckets] for buckets in local]
    sums = [
        task(join)(piece, [[task(places_in)(bucket, p) for bucket in buckets] for buckets in local], counts, largest)
        for p, piece in enumerate(cuts)
    ]
    totals, positives, negatives = compute(merge_by_tree(task(merge), sums), cuts)
    if largest is None:
        return EstimatedAUCs.from_places(totals, positives, negatives)
    return EstimatedAUCs.from_shares(positives, negatives)


def bucket_places(pieces: Sequence[Piece], largest: np.ndarray | None) -> BucketPlaces:
    """Return the places of the rows of a bucket, given by the pieces of all partitions."""
    together = join_pieces(pieces)
    scores, positive, _ = together
    units = units_of_piece(together, largest)
    places = np.empty(len(scores) if units is None else units.shape, dtype=np.int64)
    for side in (positive, ~positive):
        if units is None:
            places[side] = places_among(np.sort(scores[~side]), scores[side])
        else:
            places[side] = weighted_places_among(scores[~side], units[~side], scores[side])
    bounds = np.cumsum([len(piece.scores) for piece in pieces])[:-1]
    return BucketPlaces(count(positive, units), np.split(places, bounds))


def units_of_piece(piece: Piece, largest: np.ndarray | None) -> np.ndarray | None:
    """Return the weights of rows as integers, None if they have none."""
    if largest is None or piece.weights is None:
        return None
    return units_of(piece.weights, largest[piece.positive.astype(np.intp)])


def count(positive: np.ndarray, units: np.ndarray | None) -> np.ndarray:
    """Return the numbers of negatives and of positives, or their weight."""
    if units is None:
        return np.bincount(positive, minlength=2)
    return np.array([units[side].sum(axis=0) for side in (~positive, positive)])


def tied_places(counts: Sequence[np.ndarray]) -> BucketPlaces:
    """Return the places of the rows of a bucket of equal scores, given by the counts of all partitions."""
    return BucketPlaces(np.sum(counts, axis=0), None)


def counts_of(pieces: Pieces, vector: int, bucket: int, largest: np.ndarray | None) -> np.ndarray:
    """Return the numbers of negatives and of positives of a partition in a bucket, or their weight."""
    piece = piece_of(pieces, vector, bucket)
    return count(piece.positive, units_of_piece(piece, largest))


def places_in(bucket: BucketPlaces, partition: int) -> np.ndarray | None:
    """Return the places of the rows of one partition in a bucket, None if all scores are equal."""
    return None if bucket.places is None else bucket.places[partition]


Sums = tuple[list[int], Any, Any]


def join(
    pieces: Pieces, local: list[list[np.ndarray | None]], counts: list[list[np.ndarray]], largest: np.ndarray | None
) -> Sums:
    """Return the sums of a partition: of the positives' places by each vector, and those of both classes.

    The latter are `PlaceSums`, or `ShareSums` of rows with weights, which have those of each vector too.
    """
    places = []
    for order, buckets, own, of_bucket in zip(pieces.orders, local, pieces.buckets, counts, strict=True):
        lower = np.cumsum([0 * of_bucket[0], *of_bucket[:-1]], axis=0)
        in_bucket = []  # the places of the rows, bucket by bucket
        for piece, found, below, its in zip(own, buckets, lower, of_bucket, strict=True):
            other = np.where(piece.positive, 0, 1)
            in_bucket.append((its[other] if found is None else found) + 2 * below[other])
        in_order = np.concatenate(in_bucket)
        of_rows = np.empty_like(in_order)
        of_rows[order] = in_order
        places.append(of_rows)
    if largest is not None:
        return [], *share_sums(pieces, places, np.sum(counts[0], axis=0), largest)
    totals = [of_rows[pieces.positive].sum().item() for of_rows in places]
    difference = compared(places)
    return totals, PlaceSums.of(difference[pieces.positive]), PlaceSums.of(difference[~pieces.positive])


def share_sums(
    pieces: Pieces, places: list[np.ndarray], totals: np.ndarray, largest: np.ndarray
) -> tuple[ShareSums, ShareSums]:
    """Return the sums over the positives and the negatives of a partition."""
    assert pieces.weights is not None
    found = []
    for own, side in ((1, pieces.positive), (0, ~pieces.positive)):
        shares = [shares_of(of_rows[side], totals[1 - own]) for of_rows in places]
        found.append(ShareSums.of(pieces.weights[side] / largest[own], shares))
    return found[0], found[1]


def merge(parts: Sequence[Sums]) -> Sums:
    """Return the sums of several partitions."""
    totals, positives, negatives = parts[0]
    for other in parts[1:]:
        totals = [a + b for a, b in zip(totals, other[0], strict=True)]
        positives, negatives = positives.merge(other[1]), negatives.merge(other[2])
    return totals, positives, negatives
