"""The pairwise square loss, (1 - t)^2 / 2, whose curvature is the same everywhere; and what all losses share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..data.protocol import ScoreSpace, Targets, Vector
from ..data.scores import ScoreMoments


class Point(NamedTuple):
    """Value and derivatives of a loss at given scores.

    Attributes
    ----------
    value : float
        The mean loss over all pairs.
    gradient : vector
        Its derivative with respect to the score of each row.
    hessian_product : callable
        Returns the second derivative times a vector; zero for "hinge".
    """

    value: float
    gradient: Vector
    hessian_product: Callable[[Vector], Vector]


class PairwiseLoss(Protocol):
    """A pairwise loss: called with a score space and scores, it returns value, gradient and Hessian product."""

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point: ...  # noqa: D102


class Squared:
    """(1 - t)^2 / 2."""

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores."""
        moments = space.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        lower, upper = moments.mean
        value = float(moments.variance.sum() + (1 - (upper - lower)) ** 2) / 2

        def gradient(targets: Targets, s: np.ndarray) -> np.ndarray:
            return targets.pair_weights * (s - np.where(targets.positive, lower + 1, upper - 1))

        return Point(value, space.map(gradient, scores), functools.partial(square_curvature, space))


def square_curvature(space: ScoreSpace, v: Vector) -> Vector:
    """Return the second derivative of the square loss times v."""
    lower, upper = space.reduce(class_sums, v)

    def product(targets: Targets, v: np.ndarray) -> np.ndarray:
        return targets.pair_weights * (v - np.where(targets.positive, lower, upper))

    return space.map(product, v)


def class_sums(targets: Targets, v: np.ndarray) -> np.ndarray:
    """Return the sums of pair weight times v in the two classes; over all rows these are the class means of v."""
    weighted = targets.pair_weights * v
    return np.array([np.sum(weighted, where=~targets.positive), np.sum(weighted, where=targets.positive)])
