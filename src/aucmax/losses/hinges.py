"""The hinge losses: a pair has no loss once its score difference reaches the margin.

Conventions
-----------
A pair is *active* if its loss is not 0, that is if t < margin. Let u = s - margin/2 for positives and s + margin/2 for
negatives. Then margin - t = u_j - u_i for a positive i and a negative j. Let x be u if the positives are the rarer
class, and -u if the negatives are. In both cases

    a pair is active if and only if   x of its common row > x of its rare row,   and margin - t is the difference.

The x of the m rare rows, sorted, are the *knots*. The *slot* of a row is the number of knots below its x. The common
rows of one slot form active pairs with the same knots, so the rare rows need only three sums over them for each slot,

    c,   c h,   c h^2,        h = x - (the last knot below it) >= 0,   c the pair weight.

These merge by addition, and so does the sum of c over the rare rows at each knot. The common rows need, for each knot
k, the sums of c and of c (k - x_i) over the knots x_i up to k. A walk up the knots and a walk down compute the sums
that each side needs from the other side's, in place (`walk`). All terms have one sign, so nothing cancels,
whatever the range of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._compat import jit
from ..rows.protocol import ScoreSpace, Targets, Vector
from .base import Point

CROWDED = 32  # with more knots in the cell of a knot, on average, sorting by comparisons is faster
BYTES_PER_KNOT = 120  # of the knots and of the tables for a gradient and a product with the second derivative
PADDING = 4  # infinities after the last knot, so that a look-up may read beyond it
# Columns of the table of `Knots.add_sums`, before the walks ...
COMMON, COMMON_H, COMMON_HH, RARE = range(4)
# ... and after them: sums over the common rows above a knot, and over the knots below a slot.
ABOVE, ABOVE_D, BELOW_D, BELOW = range(4)


class SquaredHinge:
    """max(0, margin - t)^2 / 2, with margin 1 by default."""

    squared = True

    def __init__(self, margin: float = 1.0) -> None:
        self.margin = margin

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        squared = self.squared
        if space.pair_sums is not None:
            return Point(*space.pair_sums.hinge(space, scores, self.margin, squared))
        knots = Knots.of(space, scores, self.margin)
        slots = space.map(knots.slots, scores)
        table = space.accumulate(lambda: np.zeros((knots.n_knots + 1, 4)), knots.add_sums, scores, slots)
        value = walk(knots.values, table, squared)

        def slopes(targets: Targets, s: np.ndarray, slots: np.ndarray) -> np.ndarray:
            out, is_rare = np.empty(len(s)), targets.positive == knots.rare_positive
            offsets = knots.sign, 0.5 * self.margin
            fill_slopes(s, slots, targets.pair_weights, is_rare, *offsets, knots.values, table, squared, out)
            return out

        product = curvature(space, slots, table, knots.rare_positive) if squared else lambda v: 0 * v
        return Point(value, space.map(slopes, scores, slots), product)


class Hinge(SquaredHinge):
    """max(0, 1 - t), with a subgradient and a curvature of 0."""

    squared = False


def curvature(space: ScoreSpace, slots: Vector, table: np.ndarray, rare_positive: bool) -> Callable[[Vector], Vector]:
    """Return the product of the second derivative with v, from the table (m + 1, 4) after the walks.

    It is the sum over the active pairs of each row of c_i c_j (v - v of the other row). It keeps the slots and two sums
    for each; the knots and the rest of the table are not needed after the gradient.
    """
    masses = np.ascontiguousarray(table[:, [ABOVE, BELOW]])

    def times(v: Vector) -> Vector:
        def add(moments: np.ndarray, targets: Targets, slots: np.ndarray, v: np.ndarray) -> None:
            add_products(slots, v, targets.pair_weights, targets.positive, rare_positive, moments)

        moments = space.accumulate(lambda: np.zeros_like(masses), add, slots, v)
        walk_moments(moments)

        def product(targets: Targets, slots: np.ndarray, v: np.ndarray) -> np.ndarray:
            out = np.empty(len(v))
            fill_curvature(slots, v, targets.pair_weights, targets.positive, rare_positive, masses, moments, out)
            return out

        return space.map(product, slots, v)

    return times


class SmoothHinge:
    """The hinge with a rounded corner: (1 - t)^2 / (2 width) for t from 1 - width to 1, below that 1 - t - width / 2.

    It is the difference of two squared hinges, with the margins 1 and 1 - width, divided by the width.
    """

    def __init__(self, width: float) -> None:
        self.width = width

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        outer, inner = SquaredHinge(1.0)(space, scores), SquaredHinge(1.0 - self.width)(space, scores)

        def hessian_product(v: Vector) -> Vector:
            return (1 / self.width) * (outer.hessian_product(v) - inner.hessian_product(v))

        gradient = (1 / self.width) * (outer.gradient - inner.gradient)
        return Point((outer.value - inner.value) / self.width, gradient, hessian_product)


class Knots(NamedTuple):
    """The x of the rare rows, sorted, with a table of cells that speeds up look-ups."""

    values: np.ndarray  # (m + PADDING,): the knots, increasing, followed by infinities
    # uint32 (m + 1,): number of knots in the cells before each cell; the range of the knots is cut into m equal cells.
    first: np.ndarray
    # The cell of x is floor((x - low) * scale).
    low: float
    scale: float
    margin: float
    rare_positive: bool  # whether the rare rows are the positives

    @classmethod
    def of(cls, space: ScoreSpace, scores: Vector, margin: float) -> Knots:
        """Gather the x of the rare rows and sort them."""
        rare_positive = bool(space.counts[1] <= space.counts[0])
        n_bytes, advice = BYTES_PER_KNOT * float(min(space.counts)), "use {loss='logistic'} or {loss='squared'}"
        space.check_memory(f"A hinge on {min(space.counts):,} rows of the rarer class", n_bytes, advice)

        def rare(targets: Targets, s: np.ndarray) -> np.ndarray:
            return (1.0 if rare_positive else -1.0) * s[targets.positive == rare_positive] - 0.5 * margin

        values = space.reduce(rare, scores, merge=np.append)
        low, high = float(values.min()), float(values.max())
        scale = (len(values) - 1) / (high - low) if 0 < high - low < np.inf else 0.0
        ordered, first = np.empty(len(values) + PADDING), np.zeros(len(values) + 1, dtype=np.uint32)
        ordered[-PADDING:] = np.inf
        if not sort_by_cells(values, low, scale, ordered, first):
            ordered[:-PADDING] = np.sort(values)
        return cls(ordered, first, low, scale, margin, rare_positive)

    @property
    def sign(self) -> float:
        """The sign of x = +-u."""
        return 1.0 if self.rare_positive else -1.0

    @property
    def n_knots(self) -> int:
        """Number of knots, m."""
        return len(self.values) - PADDING

    def slots(self, targets: Targets, scores: np.ndarray) -> np.ndarray:
        """Return the number of knots below each row; rare rows with the same x share the first of their knots."""
        slots = np.empty(len(scores), np.uint32)
        find_slots(scores, targets.positive == self.rare_positive, self.sign, self.margin, *self[:4], slots)
        return slots

    def add_sums(self, table: np.ndarray, targets: Targets, scores: np.ndarray, slots: np.ndarray) -> None:
        """Add c, c h and c h^2 of the common rows of a block in their slots, and c of the rare rows at their knots."""
        is_rare, offsets = targets.positive == self.rare_positive, (self.sign, 0.5 * self.margin)
        add_sums(scores, slots, targets.pair_weights, is_rare, *offsets, self.values, table)


@jit
def cell_of(x, low, scale, last):
    """Return the cell of x, from 0 to `last`; 0 for NaN."""
    return np.uint32(min(last, max(0.0, (x - low) * scale)))


@jit
def sort_by_cells(values, low, scale, ordered, first):
    """Sort values by counting them into as many equal cells as there are values, then inside each cell.

    Fills `first` with the number of values in the cells before each cell. Returns False, with `ordered` unsorted, if
    the values are so uneven that sorting by comparisons is faster. For a million Gaussian values it takes a third of
    the time of np.argsort.
    """
    n = values.shape[0]
    for i in range(n):
        first[cell_of(values[i], low, scale, n - 1.0) + np.uint32(1)] += np.uint32(1)
    crowd = 0.0
    for c in range(n):
        crowd += np.float64(first[c + 1]) ** 2
        first[c + 1] += first[c]
    if crowd > CROWDED * n:
        return False
    stops = first[:-1].copy()
    for i in range(n):
        c = cell_of(values[i], low, scale, n - 1.0)
        ordered[stops[c]] = values[i]
        stops[c] += np.uint32(1)
    for k in range(1, n):  # insertion sort: no value moves beyond its cell
        value = ordered[k]
        m = k
        while m > 0 and ordered[m - 1] > value:
            ordered[m] = ordered[m - 1]
            m -= 1
        ordered[m] = value
    return True


@jit
def find_slots(scores, is_rare, sign, margin, values, first, low, scale, slots):
    """Fill `slots` with the number of knots below each x.

    Even with rounding, the cell is a nondecreasing function of x: knots of earlier cells are below x, knots of later
    cells are not. Most cells hold three knots or fewer, which are compared without a branch; a cell with more is
    bisected.
    """
    last = first.shape[0] - 2.0
    for i in range(scores.shape[0]):
        x = sign * scores[i] + (0.5 - is_rare[i]) * margin
        c = cell_of(x, low, scale, last)
        left = first[c]
        if values[left + np.uint32(3)] < x:
            right = first[c + np.uint32(1)]
            while left < right:
                middle = (left + right) // np.uint32(2)
                if values[middle] < x:
                    left = middle + np.uint32(1)
                else:
                    right = middle
        else:
            left += (
                np.uint32(values[left] < x)
                + np.uint32(values[left + np.uint32(1)] < x)
                + np.uint32(values[left + np.uint32(2)] < x)
            )
        slots[i] = left


@jit
def add_sums(scores, slots, weights, is_rare, sign, offset, values, table):
    """Add the sums of the rows of a block; see `Knots.add_sums`. A common row below the first knot has no loss."""
    for i in range(slots.shape[0]):
        k, c = slots[i], weights[i]
        if is_rare[i]:
            table[k, RARE] += c
        elif k > np.uint32(0):
            h = sign * scores[i] + offset - values[k - np.uint32(1)]
            table[k, COMMON] += c
            table[k, COMMON_H] += c * h
            table[k, COMMON_HH] += c * h * h


@jit
def add_products(slots, v, weights, positive, rare_positive, moments):
    """Add the products of the rows of a block; see `curvature`."""
    for i in range(slots.shape[0]):
        moments[slots[i], 1 if positive[i] == rare_positive else 0] += weights[i] * v[i]


@jit
def walk(knots, table, squared):
    """Turn the sums in each slot and at each knot into the sums over its active pairs, in place; return the loss."""
    m = table.shape[0] - 1
    value = mass = first = second = rare = 0.0
    for k in range(m + 1):  # the knots below slot k: their weight, and the sums of their distances from the last one
        if k > 0:
            d = knots[k - 1] - knots[k - 2] if k > 1 else 0.0
            second += d * (2.0 * first + d * mass)
            first += d * mass
            mass += rare
        if squared:
            value += 0.5 * (table[k, COMMON] * second + 2.0 * table[k, COMMON_H] * first + table[k, COMMON_HH] * mass)
        else:
            value += table[k, COMMON] * first + table[k, COMMON_H] * mass
        rare = table[k, RARE]
        table[k, BELOW_D], table[k, BELOW] = first, mass
    mass = first = common = common_h = 0.0
    for k in range(m, -1, -1):  # the common rows above knot k: their weight, and the sum of their distances from it
        if k < m - 1:
            first += (knots[k + 1] - knots[k]) * mass
        mass += common
        first += common_h
        common, common_h = table[k, COMMON], table[k, COMMON_H]
        table[k, ABOVE], table[k, ABOVE_D] = mass, first
    return value


@jit
def walk_moments(moments):
    """Turn the sums of c v in each slot and at each knot into the sums over its active pairs, in place."""
    m = moments.shape[0] - 1
    below = above = common = 0.0
    for k in range(m + 1):
        rare = moments[k, 1]
        moments[k, 1] = below
        below += rare
    for k in range(m, -1, -1):
        above += common
        common = moments[k, 0]
        moments[k, 0] = above


@jit
def fill_slopes(scores, slots, weights, is_rare, sign, offset, values, table, squared, out):
    """Fill `out` with the gradient of the rows of a block, from the table after the walks."""
    for i in range(out.shape[0]):
        k = slots[i]
        if is_rare[i]:
            out[i] = -sign * weights[i] * (table[k, ABOVE_D] if squared else table[k, ABOVE])
        elif k == np.uint32(0):
            out[i] = 0.0
        elif squared:
            h = sign * scores[i] + offset - values[k - np.uint32(1)]
            out[i] = sign * weights[i] * (table[k, BELOW_D] + h * table[k, BELOW])
        else:
            out[i] = sign * weights[i] * table[k, BELOW]


@jit
def fill_curvature(slots, v, weights, positive, rare_positive, masses, moments, out):
    """Fill `out` with the product of the second derivative and v; see `curvature`."""
    for i in range(out.shape[0]):
        k, c = slots[i], 0 if positive[i] == rare_positive else 1
        out[i] = weights[i] * (masses[k, c] * v[i] - moments[k, c])
