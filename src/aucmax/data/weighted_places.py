"""DeLong's variance of rows with weights.

Conventions
-----------
With the weights v of a class and V their sum, the AUC is the sum of v_i v_j k_ij / (V+ V-) over the pairs of a positive
i and a negative j, where k_ij is 1, 1/2 for a tie, or 0. The share s_i of a positive is the weight of the negatives
with a lower score, where a tie counts one half, divided by V-; the share of a negative is that of the positives. The
AUC A is the weighted mean of the shares of the positives, and a class adds to its variance

    c sum v_i^2 (s_i - A)^2 / V^2  with  c = V2 / (V2 - 2 V3 / V + V2^2 / V^2),

where V2 and V3 are the sums of v_i^2 and v_i^3, and A for the negatives is the mean of their shares. With c the
expectation is that of the variance of a weighted mean of independent shares. Equal weights give c = n / (n - 1), and
so DeLong's variance. The scale of the weights does not matter. An integer weight is not a repetition: a row with a
weight of 2 is one observation, not two.

Weights are summed as integers, in units of 2^-60 of the largest of their class, and each integer as two halves. All
other sums are exact in memory (`ranking.exact_sum`). So the result does not depend on how rows are split into blocks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .arrays import namespace
from .ranking import UNIT, exact_sum

HALF = 30  # bits of each half of an integer: twice the sum of 2^31 halves is below 2^63


def units_of(weights: Any, largest: Any) -> Any:
    """Return weights as integers, of shape (n, 2): the higher and the lower half of each.

    `largest` is the largest weight of their class, or that of the class of each row.
    """
    xp = namespace(weights)
    whole = xp.astype(xp.round(weights / largest * 2.0 ** (2 * HALF)), xp.int64)
    return xp.stack([whole >> HALF, whole & ((1 << HALF) - 1)], axis=1)


def value_of(units: Any) -> Any:
    """Return integers of two halves as numbers of float64."""
    xp = namespace(units)
    halves = xp.astype(units, xp.float64)
    return halves[..., 0] * 2.0**HALF + halves[..., 1]


def weighted_places_among(others: Any, units: Any, scores: Any) -> Any:
    """Return twice the weight of the others with a lower score, where a tie counts one half, as integers."""
    xp = namespace(scores)
    order = xp.argsort(others, stable=True)
    ordered = xp.take(others, order)
    below = xp.cumulative_sum(xp.take(units, order, axis=0), axis=0, include_initial=True)
    left, right = (xp.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return xp.take(below, left, axis=0) + xp.take(below, right, axis=0)


def shares_of(places: Any, total: np.ndarray) -> Any:
    """Return places divided by twice the weight of the other class, which are exactly 1 for all of it."""
    return value_of(places) / (2 * float(value_of(total)))


class ShareSums(NamedTuple):
    """Sums over the rows of one class, of weights v and shares s, or differences s of two shares of each row.

    Attributes
    ----------
    weight, square, cube : Fraction
        The sums of v, v^2 and v^3.
    mean, first, second : Fraction
        The sums of v s, v^2 s and v^2 s^2.
    each : tuple of Fraction
        The sum of v s for each vector of scores.
    """

    weight: Fraction
    square: Fraction
    cube: Fraction
    mean: Fraction
    first: Fraction
    second: Fraction
    each: tuple[Fraction, ...]

    @classmethod
    def of(cls, weights: Any, shares: list[Any]) -> ShareSums:
        """Return the sums of some rows."""
        s = shares[0] if len(shares) == 1 else shares[0] - shares[1]
        square = weights * weights
        return cls(
            weight=total_of(weights),
            square=total_of(square),
            cube=total_of(square * weights),
            mean=total_of(weights * s),
            first=total_of(square * s),
            second=total_of(square * s * s),
            each=tuple(total_of(weights * share) for share in shares),
        )

    def merge(self, other: ShareSums) -> ShareSums:
        """Return the sums of both sets of rows."""
        return ShareSums(
            weight=self.weight + other.weight,
            square=self.square + other.square,
            cube=self.cube + other.cube,
            mean=self.mean + other.mean,
            first=self.first + other.first,
            second=self.second + other.second,
            each=tuple(a + b for a, b in zip(self.each, other.each, strict=True)),
        )

    @property
    def variance(self) -> float:
        """What the class adds to the variance of the AUC, or of the difference of two."""
        mean = self.mean / self.weight
        spread = max(self.second - 2 * mean * self.first + mean**2 * self.square, Fraction(0))
        lost = self.square - 2 * self.cube / self.weight + (self.square / self.weight) ** 2
        return float(spread / self.weight**2 * self.square / lost)

    def means(self) -> list[float]:
        """Return the weighted mean of the shares by each vector of scores: of positives, the AUCs."""
        return [float(total / self.weight) for total in self.each]


def total_of(values: Any) -> Fraction:
    """Return the sum of values: without rounding if they are in memory."""
    if isinstance(values, np.ndarray):
        return Fraction(exact_sum(values), UNIT)
    return Fraction(float(namespace(values).sum(values)))


def largest_weights(targets: Any) -> np.ndarray:
    """Return the largest weight of the negatives and of the positives of a block."""
    weights, positive = targets.sample_weight, targets.positive
    xp = namespace(weights)
    if not weights.shape[0]:
        return np.zeros(2)
    return np.array([float(xp.max(xp.where(side, weights, 0 * weights))) for side in (~positive, positive)])
