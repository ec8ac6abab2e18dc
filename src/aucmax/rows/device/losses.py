"""Sums over pairs of scores on a device: the functions of :class:`aucmax.rows.protocol.PairSums`.

Conventions
-----------
Hinges. Let x = s - margin/2 for the positives and s + margin/2 for the negatives. A pair is active if its
negative row has a larger x than its positive row, and margin - t is their difference; a shift of all x changes nothing.
A negative row forms active pairs with the positives up to its place among them, and a positive row with the negatives
from its place on. With the prefix sums A of the pair weights c and B of c x, the sum of c (x - x_i) over the active
pairs of a negative row is x A - B. `losses/hinges.py` computes the same block by block, without a difference of sums.

Boxes. Rows are sorted by class and box. The Chebyshev moments of a box are then differences of prefix sums, with the
error of a sum over all rows: the weights of a class sum to one. The moments of all boxes are small, and fields are
translated from box to box on the host, in `losses/chebyshev_sums.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Bins, namespace, place_beside, point_masses, prefix_sums, to_numpy
from ..protocol import ScoreSpace, Targets, Vector


def hinge(space: ScoreSpace, scores: Vector, margin: float, squared: bool) -> tuple[float, Vector, Any]:
    """Return value, gradient and Hessian product of the hinge, or of half of its square."""
    pairs = space.map(lambda targets, s: ActivePairs(targets, float(margin), s), scores)
    slopes = space.map(lambda targets, pairs: pairs.curved(pairs.x), pairs)  # of half of the square
    if not squared:
        gradient = space.map(lambda targets, pairs: pairs.signs * pairs.sums_of(None), pairs)
        value = space.reduce(lambda targets, pairs, g: float(pairs.upper_sum(g)), pairs, slopes)
        return value, gradient, lambda v: 0 * v
    value = space.reduce(lambda targets, pairs, g: float(g @ pairs.x) / 2, pairs, slopes)
    return value, slopes, lambda v: space.map(lambda targets, pairs, v: pairs.curved(v), pairs, v)


def boxes(targets: Targets, scores: Any, degree: int) -> Boxes:
    """Return the boxes of finite scores."""
    xp = namespace(scores)
    floors = xp.floor(scores)
    ids = xp.unique_values(floors)
    slots = xp.searchsorted(ids, floors) + ids.shape[0] * xp.astype(targets.positive, xp.int64)
    return Boxes(to_numpy(ids), slots, 2 * (scores - floors) - 1, Bins(slots, 2 * ids.shape[0]), degree)


def grid_masses(targets: Targets, scores: Any, low: float, step: float, n_points: int) -> np.ndarray:
    """Return the pair weights at the points of a grid, shape (2, n_points)."""
    points, shares = grid_positions(scores, low, step, n_points)
    return point_masses(targets.positive, targets.pair_weights, points, shares, n_points)


def grid_slopes(targets: Targets, scores: Any, low: float, step: float, slopes: np.ndarray) -> Any:
    """Return pair weight times the slope after the last point below each score."""
    xp, n_points = namespace(scores), slopes.shape[1]
    own = grid_positions(scores, low, step, n_points)[0] + n_points * xp.astype(targets.positive, xp.int64)
    return targets.pair_weights * xp.take(place_beside(slopes.ravel(), scores), own)


def grid_positions(scores: Any, low: float, step: float, n_points: int) -> tuple[Any, Any]:
    """Return the point before each score, and the share of the point after it."""
    xp = namespace(scores)
    x = xp.clip((scores - low) / step, 0.0, n_points - 1.000001)
    k = xp.astype(x, xp.int64)
    return k, x - xp.astype(k, xp.float64)


class ActivePairs:
    """The active pairs of each row: of those whose score difference is below the margin."""

    def __init__(self, targets: Targets, margin: float, scores: Any) -> None:
        xp = namespace(scores)
        positive = targets.positive
        self.xp, self.positive, self.weights = xp, positive, targets.pair_weights
        self.x = scores + margin * (0.5 - xp.astype(positive, scores.dtype))
        self.signs = xp.where(positive, -self.weights, self.weights)
        # The rows of each class, sorted, and the place of each row of the other class among them.
        self.order = [self._sorted(side) for side in (~positive, positive)]
        below, above = (xp.take(self.x, order) for order in self.order)
        self.positions = xp.where(
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
        of_positives = negatives[-1] - self.xp.take(negatives, self._positions_of(self.positive))
        of_negatives = self.xp.take(positives, self._positions_of(~self.positive))
        return self.xp.where(self.positive, of_positives, of_negatives)

    def _positions_of(self, side: Any) -> Any:
        return self.xp.where(side, self.positions, self.xp.zeros_like(self.positions))

    def curved(self, v: Any) -> Any:
        """Return the second derivative of half of the squared hinge times v."""
        return self.weights * (v * self.masses - self.sums_of(v))

    def upper_sum(self, g: Any) -> Any:
        """Return the sum of g over the negatives."""
        return self.xp.sum(self.xp.where(self.positive, self.xp.zeros_like(g), g))


class Boxes(NamedTuple):
    """Rows on a device, assigned to boxes by their scores."""

    ids: np.ndarray  # (n_boxes,): the integers at which the boxes with at least one row begin, increasing
    slots: Any  # int64 (n_rows,): the index of the box of each row; n_boxes more for positive rows
    xi: Any  # (n_rows,): the position of each row in its box, from -1 to 1
    bins: Bins  # the rows sorted by their slots
    degree: int  # number of moments of a box

    def moments(self, positive: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the boxes, and the Chebyshev moments of the rows with these weights."""
        xi, weights = self.bins.sort(self.xi), self.bins.sort(weights)
        columns = [self.bins.sums_of_sorted(weights * T) for T in polynomials(xi, self.degree)]
        return self.ids, np.stack(columns, axis=-1).reshape(2, len(self.ids), self.degree)

    def at_rows(self, positive: Any, fields: Any) -> Any:
        """Return the field at each row, by Clenshaw's recurrence."""
        xp = namespace(self.xi)
        coefficients = fields.values.reshape(-1, self.degree)
        a = b = xp.zeros_like(self.xi)
        for k in range(self.degree - 1, 0, -1):
            a, b = self._at(coefficients[:, k]) + 2 * self.xi * a - b, a
        return self._at(coefficients[:, 0]) + self.xi * a - b

    def _at(self, values: np.ndarray) -> Any:
        """Return one value of its slot for each row."""
        return namespace(self.xi).take(place_beside(values, self.xi), self.slots)


def polynomials(x: Any, degree: int) -> Iterator[Any]:
    """Yield the first Chebyshev polynomials of x."""
    before, now = namespace(x).ones_like(x), x
    for _ in range(degree):
        yield before
        before, now = now, 2 * x * now - before
