"""The smooth pairwise losses: exponential, logistic and sigmoid."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ..rows.arrays import by_class, namespace
from ..rows.protocol import ScoreSpace, Targets, Vector
from .base import Point
from .chebyshev_sums import DEGREE, Boxes, BoxMoments


class ExponentialSums(NamedTuple):
    """Weighted sums of exp(s) over the negatives and of exp(-s) over the positives, scaled to avoid overflow."""

    tops: np.ndarray  # (2,): the largest exponent of each class; -inf for a class without rows
    sums: np.ndarray  # (2,): the sum of each class, divided by the exponential of `tops`

    @classmethod
    def of(cls, targets: Targets, scores: np.ndarray) -> ExponentialSums:
        """Return the sums of a block."""
        xp = namespace(scores)
        signed = xp.where(targets.positive, -scores, scores)
        tops, sums = np.full(2, -np.inf), np.zeros(2)
        for c, side in enumerate((~targets.positive, targets.positive)):
            members = side & (targets.pair_weights > 0)
            if bool(xp.any(members)):
                tops[c] = float(xp.max(signed[members]))
                sums[c] = float(targets.pair_weights[members] @ xp.exp(signed[members] - float(tops[c])))
        return cls(tops, sums)

    def merge(self, other: ExponentialSums) -> ExponentialSums:
        """Return the sums of both sets of rows together."""
        tops = np.maximum(self.tops, other.tops)
        with np.errstate(invalid="ignore"):  # -inf - -inf if neither has rows of a class
            parts = [np.where(part.sums > 0, part.sums * np.exp(part.tops - tops), 0.0) for part in (self, other)]
        return ExponentialSums(tops, parts[0] + parts[1])


class Exponential:
    """exp(-t). Its mean is the mean of exp(-s) over the positives times the mean of exp(s) over the negatives."""

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores; infinite if it overflows."""
        tops, sums = space.reduce(ExponentialSums.of, scores, merge=ExponentialSums.merge)
        with np.errstate(over="ignore"):
            value = float(np.exp(tops[0] + tops[1]) * sums[0] * sums[1])
        if not np.isfinite(value):
            return Point(np.inf, space.map(lambda targets, s: s * np.nan, scores), lambda v: 0 * v)

        def local(targets: Targets, s: np.ndarray) -> np.ndarray:
            xp = namespace(s)
            signed = xp.where(targets.positive, -s, s)
            exponents = signed - by_class(tops, targets.positive)
            return targets.pair_weights * xp.exp(exponents) / by_class(sums, targets.positive)

        shares = space.map(local, scores)  # they sum to 1 in each class
        gradient = space.map(lambda targets, p: value * namespace(p).where(targets.positive, -p, p), shares)

        def class_means(targets: Targets, p: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.array([float(p[side] @ v[side]) for side in (~targets.positive, targets.positive)])

        def hessian_product(v: Vector) -> Vector:
            lower, upper = space.reduce(class_means, shares, v)

            def product(targets: Targets, p: np.ndarray, v: np.ndarray) -> np.ndarray:
                return value * p * (v - by_class(np.array([upper, lower]), targets.positive))

            return space.map(product, shares, v)

        return Point(value, gradient, hessian_product)


class Logistic:
    """log(1 + exp(-t))."""

    order = 0
    sign = 1.0

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        order, sign = self.order, self.sign
        sums = space.pair_sums
        boxes = space.map(Boxes.of if sums is None else lambda targets, s: sums.boxes(targets, s, DEGREE), scores)

        def moments_of(*weights: Vector) -> BoxMoments:
            def summary(targets: Targets, boxes: Any, *v: np.ndarray) -> BoxMoments:
                weights = targets.pair_weights * v[0] if v else targets.pair_weights
                return BoxMoments(*boxes.moments(targets.positive, weights))

            return space.reduce(summary, boxes, *weights, merge=BoxMoments.merge)

        def at_rows(fields: BoxMoments) -> Vector:
            return space.map(lambda targets, boxes: boxes.at_rows(targets.positive, fields), boxes)

        moments = moments_of()
        value = sign * float(np.vdot(moments.values[1], moments.fields(order).values[1]))
        slopes = at_rows(moments.fields(order + 1))
        gradient = space.map(lambda targets, f: sign * targets.signed_weights * f, slopes)

        @functools.cache
        def second() -> Vector:
            return at_rows(moments.fields(order + 2))

        def hessian_product(v: Vector) -> Vector:
            others = at_rows(moments_of(v).fields(order + 2))

            def product(targets: Targets, v: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
                return sign * targets.pair_weights * (v * own - other)

            return space.map(product, v, second(), others)

        return Point(value, gradient, hessian_product)


class Sigmoid(Logistic):
    """1 / (1 + exp(slope * t)). With slope 1 it is the negative derivative of the logistic loss."""

    order = 1
    sign = -1.0

    def __init__(self, slope: float = 1.0) -> None:
        self.slope = slope

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        unit = super().__call__(space, self.slope * scores)
        return Point(unit.value, self.slope * unit.gradient, lambda v: self.slope**2 * unit.hessian_product(v))
