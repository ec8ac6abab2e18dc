"""The logistic loss of single rows: logistic regression with classes of equal weight.

Conventions
-----------
The loss of a row with the score s and the label y = +-1 is log(1 + exp(-y (s + b))). Both classes have half of the
weight. The offset b is the best one for the scores, so that the loss, like a pairwise loss, does not change if all
scores are shifted, and its gradient sums to 0. It is a sum over rows: value and derivatives need no pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compat import FAST, jit
from ..rows.arrays import expit, namespace, softplus
from ..rows.protocol import ScoreSpace, Targets, Vector
from .base import Point
from .squared import class_sums

MAX_STEPS = 100  # of the search for the offset; a few are enough
LONGEST_STEP = 4.0


class BalancedLogistic:
    """log(1 + exp(-y (s + b))) of single rows, half of the weight in each class, with the best offset b.

    The search for the offset starts at the last call's, measured from the midpoint of the class means.
    """

    def __init__(self) -> None:
        self.shift = 0.0

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        middle = float(space.reduce(class_sums, scores).mean())
        offset = best_offset(space, scores, self.shift - middle)
        self.shift = offset + middle

        terms = space.map(lambda targets, s: row_terms(targets, s + offset), scores)
        value = space.reduce(lambda targets, t: float(targets.pair_weights @ t[0]) / 2, terms)
        gradient = space.map(lambda targets, t: targets.signed_weights / 2 * t[1], terms)
        curvatures = space.map(lambda targets, t: targets.pair_weights / 2 * t[2], terms)
        mass = float(space.reduce(lambda targets, D: namespace(D).sum(D), curvatures))

        def hessian_product(v: Vector) -> Vector:
            mean = curvatures @ v / mass if mass > 0 else 0.0
            return space.map(lambda targets, D, v: D * (v - mean), curvatures, v)

        return Point(value, gradient, hessian_product, curvatures)


def best_offset(space: ScoreSpace, scores: Vector, offset: float) -> float:
    """Return the offset b of least loss, by Newton's method inside an interval that holds it."""
    low, high = -np.inf, np.inf

    def derivatives(targets: Targets, s: np.ndarray) -> np.ndarray:
        _, slopes, curvatures = row_terms(targets, s + offset)
        return np.array([float(targets.signed_weights @ slopes), float(targets.pair_weights @ curvatures)])

    longest = LONGEST_STEP
    for _ in range(MAX_STEPS):
        slope, curvature = space.reduce(derivatives, scores).tolist()
        if slope == 0:
            break
        low, high = (low, offset) if slope > 0 else (offset, high)
        step = -slope / max(curvature, abs(slope) / longest)
        longest *= 2
        new = offset + step
        if not low < new < high:
            if not np.isfinite(high - low):  # a step below the rounding of the offset
                break
            new = (low + high) / 2
        done, offset = abs(new - offset) <= 1e-7 * (1 + abs(offset)), new  # the next step would be its square
        if done:
            break
    return offset


def row_terms(targets: Targets, scores: Any) -> tuple[Any, Any, Any]:
    """Return the logistic loss of each row, and its first two derivatives with respect to the margin y s."""
    return logistic_terms(namespace(scores).where(targets.positive, scores, -scores))


def logistic_terms(margins: Any) -> tuple[Any, Any, Any]:
    """Return log(1 + exp(-t)) and its first two derivatives, for an array of margins t in memory or on a device."""
    if isinstance(margins, np.ndarray):
        values, slopes, curvatures = np.empty((3, *margins.shape), dtype=margins.dtype)
        fill_logistic(margins, values, slopes, curvatures)
        return values, slopes, curvatures
    p = expit(-margins)
    return softplus(-margins), -p, p * (1 - p)


@jit(**FAST)
def logistic(t):
    """Return log(1 + exp(-t)) and its first two derivatives at one margin t, without overflow."""
    e = np.exp(-abs(t))
    p = 1.0 / (1.0 + e)
    return np.log1p(e) - min(t, 0.0), -e * p if t > 0.0 else -p, e * p * p


@jit(**FAST)
def fill_logistic(margins, values, slopes, curvatures):
    """Fill three arrays with the loss and its derivatives at each margin."""
    for i in range(margins.shape[0]):
        values[i], slopes[i], curvatures[i] = logistic(margins[i])
