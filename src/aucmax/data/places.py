"""The places of rows among the rows of the other class, from which DeLong's variance is computed.

Conventions
-----------
The place of a row is twice the number of rows of the other class with a lower score, where a tie counts one half: an
integer from 0 to twice the size of the other class. The places of the positives sum to the AUC times twice the number
of pairs. For two scores of each row, the places are compared by their difference.

The scores of the rarer class are gathered. The places of the other class are looked up among them, and the places of
the rarer class are summed over the blocks of the other class. All sums are integers, so that results do not depend on
how rows are split into blocks. Rows with weights have shares of the other class instead (`weighted_places.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import namespace, to_numpy
from .weighted_places import ShareSums, largest_weights, shares_of, units_of, weighted_places_among

LOW_BITS = 17  # places are cut there before they are squared: the sum of 2^29 squares of either half is below 2^63


class PlaceSums(NamedTuple):
    """Sums of integers: of the places of the rows of one class, or of the differences of two places of each row.

    Attributes
    ----------
    n, total, square : int
        Number of rows, and the sums of the integers and of their squares.
    """

    n: int
    total: int
    square: int

    @classmethod
    def of(cls, places: Any) -> PlaceSums:
        """Return the sums of some rows."""
        xp = namespace(places)
        high, low = places >> LOW_BITS, places & ((1 << LOW_BITS) - 1)
        squares = [int(xp.sum(a * b)) for a, b in ((high, high), (high, low), (low, low))]
        square = (squares[0] << 2 * LOW_BITS) + (squares[1] << LOW_BITS + 1) + squares[2]
        return cls(places.shape[0], int(xp.sum(places)), square)

    def merge(self, other: PlaceSums) -> PlaceSums:
        """Return the sums of both sets of rows."""
        return PlaceSums(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def variance(self) -> float:
        """The unbiased variance, which is exactly 0 if all integers are equal."""
        return (self.n * self.square - self.total**2) / (self.n * (self.n - 1))


class EstimatedAUCs(NamedTuple):
    """The AUCs of one or two vectors of scores, and DeLong's variance.

    Attributes
    ----------
    aucs : list of float
        The AUC of each vector.
    variance : float
        The variance of the AUC, or of the difference of the two.
    """

    aucs: list[float]
    variance: float

    @classmethod
    def from_places(cls, totals: list[int], positives: PlaceSums, negatives: PlaceSums) -> EstimatedAUCs:
        """Return them from the sums of the places of the positives, by each vector, and the sums over each class."""
        n_ones, n_zeros = positives.n, negatives.n
        variances = positives.variance / (2 * n_zeros) ** 2, negatives.variance / (2 * n_ones) ** 2
        aucs = [total / (2 * n_ones * n_zeros) for total in totals]
        return cls(aucs, variances[0] / n_ones + variances[1] / n_zeros)

    @classmethod
    def from_shares(cls, positives: ShareSums, negatives: ShareSums) -> EstimatedAUCs:
        """Return them from the sums over each class of rows with weights."""
        return cls(positives.means(), positives.variance + negatives.variance)

    @classmethod
    def of(cls, space: Any, *scores: Any, weighted: bool = False) -> EstimatedAUCs:
        """Return those of one or two vectors of a score space, whose rows may have weights."""
        return cls._of_weighted(space, *scores) if weighted else cls._of_places(space, *scores)

    @classmethod
    def _of_places(cls, space: Any, *scores: Any) -> EstimatedAUCs:
        rare = bool(space.counts[1] <= space.counts[0])

        def gather(targets: Any, *scores: Any) -> list[Any]:
            return [chosen(s, targets.positive == rare) for s in scores]

        few = space.reduce(gather, *scores, merge=lambda a, b: list(map(np.append, a, b)))
        ordered = [namespace(s).sort(s, stable=False) for s in few]

        def look_up(targets: Any, *scores: Any) -> tuple[list[Any], PlaceSums]:
            many = [chosen(s, targets.positive != rare) for s in scores]
            of_many = [places_among(*pair) for pair in zip(ordered, many, strict=True)]
            of_few = [places_among(namespace(s).sort(s, stable=False), mine) for s, mine in zip(many, few, strict=True)]
            return of_few, PlaceSums.of(compared(of_many))

        of_few, of_many = space.reduce(
            look_up, *scores, merge=lambda a, b: (list(map(np.add, a[0], b[0])), a[1].merge(b[1]))
        )
        sums = PlaceSums.of(compared(of_few)), of_many
        pairs = 2 * sums[0].n * sums[1].n
        totals = [int(namespace(places).sum(places)) for places in of_few]
        if rare:
            return cls.from_places(totals, *sums)
        return cls.from_places([pairs - total for total in totals], *sums[::-1])

    @classmethod
    def _of_weighted(cls, space: Any, *scores: Any) -> EstimatedAUCs:
        rare = bool(space.counts[1] <= space.counts[0])

        def gather(targets: Any, *scores: Any) -> tuple[list[Any], np.ndarray]:
            side = targets.positive == rare
            return [chosen(s, side) for s in (targets.sample_weight, *scores)], largest_weights(targets)

        (few_weights, *few), largest = space.reduce(
            gather, *scores, merge=lambda a, b: (list(map(np.append, a[0], b[0])), np.maximum(a[1], b[1]))
        )
        of_rare, of_other = largest[[int(rare), int(not rare)]].tolist()
        few_units = units_of(few_weights, of_rare)
        few_total = total_units(few_units)

        def look_up(targets: Any, *scores: Any) -> tuple[list[Any], np.ndarray, ShareSums]:
            weights, *many = (chosen(s, targets.positive != rare) for s in (targets.sample_weight, *scores))
            units = units_of(weights, of_other)
            pairs = list(zip(few, many, strict=True))
            shares = [shares_of(weighted_places_among(mine, few_units, s), few_total) for mine, s in pairs]
            of_few = [weighted_places_among(s, units, mine) for mine, s in pairs]
            return of_few, total_units(units), ShareSums.of(weights / of_other, shares)

        of_few, total, of_many = space.reduce(
            look_up, *scores, merge=lambda a, b: (list(map(np.add, a[0], b[0])), a[1] + b[1], a[2].merge(b[2]))
        )
        sums = ShareSums.of(few_weights / of_rare, [shares_of(places, total) for places in of_few]), of_many
        return cls.from_shares(*(sums if rare else sums[::-1]))


def chosen(scores: Any, mask: Any) -> Any:
    """Return some of the scores."""
    return scores.compress(mask) if isinstance(scores, np.ndarray) else scores[mask]


def places_among(others: Any, scores: Any) -> Any:
    """Return the places of scores among the sorted scores of the other class."""
    xp = namespace(scores)
    return xp.searchsorted(others, scores, side="left") + xp.searchsorted(others, scores, side="right")


def total_units(units: Any) -> np.ndarray:
    """Return the sum of the weights of some rows, as an integer of two halves, in memory."""
    return to_numpy(namespace(units).sum(units, axis=0))


def compared(places: Any) -> Any:
    """Return the places, or the differences of two."""
    return places[0] if len(places) == 1 else places[0] - places[1]
