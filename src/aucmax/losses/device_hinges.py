"""The hinge losses of scores on a device: both classes are sorted, and all sums over pairs are prefix sums.

Conventions
-----------
Let x = s - margin/2 for the positives and s + margin/2 for the negatives. A pair is active if the x of its negative row
is above that of its positive row, and margin - t is their difference; a shift of all x changes nothing. A negative row
forms active pairs with the positives up to its place among them, and a positive row with the negatives from its place
on. With the prefix sums A of the pair weights c and B of c x, the sum of c (x - x_i) over the active pairs of a
negative row is x A - B. `hinges.py` computes the same block by block, without a difference of sums.
"""

from __future__ import annotations

from typing import Any

from ..data.arrays import namespace, prefix_sums
from ..data.protocol import ScoreSpace, Targets, Vector
from .squared import Point


def hinge_on_device(space: ScoreSpace, scores: Vector, margin: float, squared: bool) -> Point:
    """Return the hinge, or half of its square, at scores on a device."""
    pairs = space.map(lambda targets, s: ActivePairs(targets, float(margin), s), scores)
    slopes = space.map(lambda targets, pairs: pairs.slopes(), pairs)
    if not squared:
        gradient = space.map(lambda targets, pairs: pairs.signs * pairs.sums_of(None), pairs)
        value = space.reduce(lambda targets, pairs, g: float(pairs.upper_sum(g)), pairs, slopes)
        return Point(value, gradient, lambda v: 0 * v)
    value = space.reduce(lambda targets, pairs, g: float(g @ pairs.x) / 2, pairs, slopes)
    return Point(value, slopes, lambda v: space.map(lambda targets, pairs, v: pairs.curved(v), pairs, v))


class ActivePairs:
    """The active pairs of each row.

    Parameters
    ----------
    targets : Targets
        Classes and weights.
    margin : float
        The score difference at which the loss of a pair becomes 0.
    scores : array of shape (n,)
        The scores.
    """

    def __init__(self, targets: Targets, margin: float, scores: Any) -> None:
        xp = namespace(scores)
        positive = targets.positive
        self.xp, self.positive, self.weights = xp, positive, targets.pair_weights
        self.x = scores + margin * (0.5 - xp.astype(positive, scores.dtype))
        self.signs = xp.where(positive, -self.weights, self.weights)
        # The rows of each class, sorted, and the place of each row of the other class among them.
        self.order = [self._sorted(side) for side in (~positive, positive)]
        below, above = (xp.take(self.x, order) for order in self.order)
        self.places = xp.where(
            positive, xp.searchsorted(below, self.x, side="right"), xp.searchsorted(above, self.x, side="left")
        )
        self.x = self.x - xp.mean(self.x)  # less is lost in differences of sums
        self.masses = self.sums_of(None)

    def _sorted(self, side: Any) -> Any:
        members = self.xp.nonzero(side)[0]
        return self.xp.take(members, self.xp.argsort(self.xp.take(self.x, members), stable=True))

    def sums_of(self, v: Any) -> Any:
        """Return for each row the sum of c v over the rows that it forms active pairs with; of c if v is None."""
        weighted = self.weights if v is None else self.weights * v
        negatives, positives = (prefix_sums(self.xp.take(weighted, order)) for order in self.order)
        of_positives = negatives[-1] - self.xp.take(negatives, self._places_of(self.positive))
        of_negatives = self.xp.take(positives, self._places_of(~self.positive))
        return self.xp.where(self.positive, of_positives, of_negatives)

    def _places_of(self, side: Any) -> Any:
        """Return the places of the rows of a class, and 0 for the others."""
        return self.xp.where(side, self.places, self.xp.zeros_like(self.places))

    def slopes(self) -> Any:
        """Return the derivatives of half of the squared hinge."""
        return self.curved(self.x)

    def curved(self, v: Any) -> Any:
        """Return the second derivative of half of the squared hinge times v."""
        return self.weights * (v * self.masses - self.sums_of(v))

    def upper_sum(self, g: Any) -> Any:
        """Return the sum of g over the negatives."""
        return self.xp.sum(self.xp.where(self.positive, self.xp.zeros_like(g), g))
