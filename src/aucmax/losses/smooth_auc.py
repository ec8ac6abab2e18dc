"""A smooth version of 1 - AUC, from two histograms of the scores.

Conventions
-----------
The loss of a pair is the sigmoid 1 / (1 + exp(SLOPE t)). The scores are in units of their spread, so that the step of
the sigmoid has the same width for all data. Both classes are binned on a grid of N_POINTS points; a score is shared
between the two points next to it. The sums over pairs are then sums over pairs of points, and the loss is a continuous
function of the scores, linear between two points. The histograms are the summary of a block, and merge by addition.

The points of the grid are low, low + step, low + 2 step, ... A score beyond the grid counts as if it were at its end.
`masses` (2, n_points) are the amounts of the negatives and of the positives at each point. A kernel (2 n_points - 1,)
is a function of the score of the positive minus the score of the negative: its values at -(n_points - 1), ...,
n_points - 1 steps.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from .._compat import FAST, jit
from ..rows.arrays import namespace
from ..rows.protocol import ScoreSpace, Targets, Vector
from ..rows.summaries.scores import ScoreMoments
from .base import Point

SLOPE = 8.0
N_POINTS = 256
REACH = 6.0  # the grid reaches this many spreads beyond the class means
CUT = 2.0  # Gaussian scores are then a tenth narrower, or less
NARROWEST = 1e-9  # of the first spread: Cauchy scores of 10^9 rows would be wider


class SmoothAUC:
    """The mean of 1 / (1 + exp(SLOPE t)) over all pairs, for scores with these class means (2,) and unit spread."""

    def __init__(self, means: np.ndarray) -> None:
        self.low = float(means[0]) - REACH
        self.step = (float(means[1]) + REACH - self.low) / (N_POINTS - 1)

    @cached_property
    def kernel(self) -> np.ndarray:
        """The loss of two points at each distance, from -(N_POINTS - 1) to N_POINTS - 1 steps."""
        return expit(-SLOPE * self.step * np.arange(1 - N_POINTS, N_POINTS))

    def masses(self, space: ScoreSpace, scores: Vector) -> np.ndarray:
        """Return the pair weights of all rows at each point, shape (2, N_POINTS)."""
        low, step, sums = self.low, self.step, space.pair_sums

        def block_masses(targets: Targets, s: np.ndarray) -> np.ndarray:
            if sums is not None:
                return sums.grid_masses(targets, s, low, step, N_POINTS)
            masses = np.zeros((2, N_POINTS))
            add_to_points(s, targets.positive, targets.pair_weights, low, 1 / step, masses)
            return masses

        return space.reduce(block_masses, scores)

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores; it is linear between two points, so its second derivative counts as 0."""
        low, step, sums, masses = self.low, self.step, space.pair_sums, self.masses(space, scores)
        fields = np.empty_like(masses)
        fill_fields(masses, self.kernel, fields)
        slopes = np.diff(fields, append=fields[:, -1:]) / step  # from each point to the next

        def block_slopes(targets: Targets, s: np.ndarray) -> np.ndarray:
            if sums is not None:
                return sums.grid_slopes(targets, s, low, step, slopes)
            out = np.empty(len(s))
            fill_slopes(s, targets.positive, targets.pair_weights, low, 1 / step, slopes, out)
            return out

        return Point(float(pair_sum(masses, self.kernel)), space.map(block_slopes, scores), lambda v: 0 * v)


class UnitScores(NamedTuple):
    """The loss of scores that are divided by their spread, the root of the mean of the class variances.

    If scores have long tails, a few of them make almost all of the spread, and would leave all others in a few cells of
    the grid. So the spread is computed again with scores cut off CUT spreads beyond the class means, as often as this
    makes it less than half as wide. Scores without such tails keep their spread, and so do scores that are mostly
    equal.
    """

    loss: SmoothAUC  # the loss of the scores divided by `spread`
    spread: float  # the spread; 0 if the scores do not vary

    @classmethod
    def of(cls, space: ScoreSpace, scores: Vector) -> UnitScores:
        """Return loss and spread for these scores."""
        moments = every = space.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        while moments.spread > NARROWEST * every.spread:
            low, high = (moments.mean + CUT * moments.spread * np.array([-1.0, 1.0])).tolist()
            cut = space.map(lambda targets, s, low=low, high=high: namespace(s).clip(s, low, high), scores)
            narrower = space.reduce(ScoreMoments.of, cut, merge=ScoreMoments.merge)
            if narrower.spread >= moments.spread / 2:
                break
            moments = narrower
        else:
            moments = every
        return cls(SmoothAUC(moments.mean / (moments.spread or 1.0)), moments.spread)


@jit(**FAST)
def fill_slopes(scores, positive, weights, low, scale, slopes, out):
    """Fill `out` with the derivative of each row."""
    for i in range(scores.shape[0]):
        x = grid_position(scores[i], low, scale, N_POINTS)
        out[i] = weights[i] * slopes[np.uint8(positive[i]), np.uint32(x)]


@jit(**FAST)
def grid_position(score, low, scale, n_points):
    """Return the position of a score on the grid, in steps of 1 / scale; NaN is at the first point."""
    x = (score - low) * scale
    return min(x, n_points - 1.000001) if x > 0.0 else 0.0


@jit(**FAST)
def add_to_points(scores, positive, amounts, low, scale, masses):
    """Add amounts, one for each row, to the two points next to its score."""
    for i in range(scores.shape[0]):
        x = grid_position(scores[i], low, scale, masses.shape[1])
        k, c = np.uint32(x), np.uint8(positive[i])
        right = x - k
        masses[c, k] += amounts[i] * (1.0 - right)
        masses[c, k + np.uint32(1)] += amounts[i] * right


@jit(**FAST)
def pair_sum(masses, kernel):
    """Return the sum of a kernel over all pairs of points."""
    n_points, total = masses.shape[1], 0.0
    for b in range(n_points):
        if masses[0, b] != 0.0:
            total += masses[0, b] * dot(masses[1], kernel[n_points - 1 - b :])
    return total


@jit(**FAST)
def fill_fields(masses, kernel, fields):
    """Fill `fields` (2, n_points) with the sums of a kernel over the points of the other class."""
    n_points, backwards = masses.shape[1], kernel[::-1].copy()
    for b in range(n_points):
        fields[0, b] = dot(masses[1], kernel[n_points - 1 - b :])
        fields[1, b] = dot(masses[0], backwards[n_points - 1 - b :])


@jit(**FAST)
def dot(amounts, values):
    """Return the sum of amounts times the first values."""
    total = 0.0
    for k in range(amounts.shape[0]):
        total += amounts[k] * values[k]
    return total
