"""The pairwise square loss, (1 - t)^2 / 2, whose curvature is the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rows.arrays import by_class, namespace
from ..rows.protocol import ScoreSpace, Targets, Vector
from ..rows.summaries.moments import covariance_shares
from ..rows.summaries.scores import ScoreMoments
from .base import Point


class Squared:
    """(1 - t)^2 / 2. Its mean is half of (1 - the difference of the class means)^2 + the variances of both classes.

    If `pooled`, both variances are replaced by the pooled variance, in which a class counts by its weight, as in linear
    discriminant analysis and ridge regression.
    """

    def __init__(self, pooled: bool = False) -> None:
        self.pooled = pooled

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        moments = space.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        gap = float(moments.mean[1] - moments.mean[0])
        shares = covariance_shares(space.totals, self.pooled)
        value = float(shares @ moments.variance + (1 - gap) ** 2) / 2
        gradient = space.map(deviations(shares, moments.mean, gap - 1), scores)
        return Point(value, gradient, lambda v: square_curvature(space, v, shares))


def square_curvature(space: ScoreSpace, v: Vector, shares: np.ndarray) -> Vector:
    """Return the second derivative of the square loss times v; `shares` are the factors of the two variances."""
    means = space.reduce(class_sums, v)
    return space.map(deviations(shares, means, means[1] - means[0]), v)


def deviations(shares: np.ndarray, means: np.ndarray, step: float) -> Callable[[Targets, np.ndarray], np.ndarray]:
    """Return a function of v: in each class its deviation from the mean times the share, plus or minus a step."""

    def weighted(targets: Targets, v: np.ndarray) -> np.ndarray:
        share, mean, own = (by_class(values, targets.positive) for values in (shares, means, np.array([-step, step])))
        return targets.pair_weights * (share * (v - mean) + own)

    return weighted


def class_sums(targets: Targets, v: Any) -> np.ndarray:
    """Return the sums of pair weight times v in the two classes; over all rows these are the class means of v."""
    weighted = targets.pair_weights * v
    if not isinstance(v, np.ndarray):
        xp = namespace(v)
        upper, total = float(xp.sum(weighted * xp.astype(targets.positive, v.dtype))), float(xp.sum(weighted))
        return np.array([total - upper, upper])
    return np.array([np.sum(weighted, where=~targets.positive), np.sum(weighted, where=targets.positive)])
