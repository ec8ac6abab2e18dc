"""The places of rows among the rows of the other class, from which DeLong's variance is computed.

Conventions
-----------
The place of a row is twice the number of rows of the other class with a lower score, where a tie counts one half: an
integer from 0 to twice the size of the other class. The places of the positives sum to the AUC times twice the number
of pairs. For two scores of each row, the places are compared by their difference.

The scores of the rarer class are gathered. The places of the other class are looked up among them, and the places of
the rarer class are summed over the blocks of the other class. All sums are integers, so that results do not depend on
how rows are split into blocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import namespace

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


class Places(NamedTuple):
    """The AUCs of one or two vectors of scores, and the places of the two classes.

    Attributes
    ----------
    aucs : list of float
        The AUC of each vector.
    positives, negatives : PlaceSums
        The sums over each class; of the differences of the places if there are two vectors.
    """

    aucs: list[float]
    positives: PlaceSums
    negatives: PlaceSums

    @classmethod
    def of(cls, space: Any, *scores: Any) -> Places:
        """Return the places of one or two vectors of a score space."""
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
        aucs = [(total if rare else pairs - total) / pairs for total in totals]
        return cls(aucs, *(sums if rare else sums[::-1]))


def chosen(scores: Any, mask: Any) -> Any:
    """Return some of the scores."""
    return scores.compress(mask) if isinstance(scores, np.ndarray) else scores[mask]


def places_among(others: Any, scores: Any) -> Any:
    """Return the places of scores among the sorted scores of the other class."""
    xp = namespace(scores)
    return xp.searchsorted(others, scores, side="left") + xp.searchsorted(others, scores, side="right")


def compared(places: Any) -> Any:
    """Return the places, or the differences of two."""
    return places[0] if len(places) == 1 else places[0] - places[1]
