"""The logistic loss of single rows: logistic regression with classes of equal weight.

Conventions
-----------
The loss of a row with the score s and the label y = +-1 is log(1 + exp(-y (s + b))). Both classes have half of the
weight. The offset b is the best one for the scores, so that the loss, like a pairwise loss, does not change if all
scores are shifted, and its gradient sums to 0. It is a sum over rows: value and derivatives need no pairs.
"""

from __future__ import annotations

import numpy as np

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

        def losses(targets: Targets, s: np.ndarray) -> float:
            t = namespace(s).where(targets.positive, s + offset, -s - offset)
            return float(targets.pair_weights @ softplus(-t)) / 2

        def slope(targets: Targets, s: np.ndarray) -> np.ndarray:
            return targets.pair_weights / 2 * (expit(s + offset) - namespace(s).astype(targets.positive, s.dtype))

        def curvature(targets: Targets, s: np.ndarray) -> np.ndarray:
            p = expit(s + offset)
            return targets.pair_weights / 2 * p * (1 - p)

        curvatures = space.map(curvature, scores)
        mass = float(space.reduce(lambda targets, D: namespace(D).sum(D), curvatures))

        def hessian_product(v: Vector) -> Vector:
            mean = curvatures @ v / mass if mass > 0 else 0.0
            return space.map(lambda targets, D, v: D * (v - mean), curvatures, v)

        return Point(space.reduce(losses, scores), space.map(slope, scores), hessian_product, curvatures)


def best_offset(space: ScoreSpace, scores: Vector, offset: float) -> float:
    """Return the offset b of least loss, by Newton's method inside an interval that holds it."""
    low, high = -np.inf, np.inf

    def derivatives(targets: Targets, s: np.ndarray) -> np.ndarray:
        p = expit(s + offset)
        c, y = targets.pair_weights, namespace(s).astype(targets.positive, s.dtype)
        return np.array([float(c @ (p - y)), float(c @ (p * (1 - p)))])

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
