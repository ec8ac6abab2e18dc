"""A smooth version of 1 - AUC, from two histograms of the scores.

Conventions
-----------
The loss of a pair is the sigmoid 1 / (1 + exp(SLOPE t)). The scores are in units of their spread, so that the step of
the sigmoid has the same width for all data. Both classes are binned on a grid of N_POINTS points; a score is shared
between the two points next to it. The sums over pairs are then sums over pairs of points, and the loss is a continuous
function of the scores, linear between two points. The histograms are the summary of a block, and merge by addition.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from .._compat import FAST, jit
from ..rows.protocol import ScoreSpace, Targets, Vector
from ..rows.summaries.scores import ScoreMoments
from .base import Point

SLOPE = 8.0
N_POINTS = 256
REACH = 6.0  # the grid reaches this many spreads beyond the class means


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
            add_masses(s, targets.positive, targets.pair_weights, low, 1 / step, masses)
            return masses

        return space.reduce(block_masses, scores)

    def __call__(self, space: ScoreSpace, scores: Vector) -> Point:
        """Return the loss at these scores; it is linear between two points, so its second derivative counts as 0."""
        low, step, sums, masses = self.low, self.step, space.pair_sums, self.masses(space, scores)
        slopes = field_slopes(masses, self.kernel) / step

        def block_slopes(targets: Targets, s: np.ndarray) -> np.ndarray:
            if sums is not None:
                return sums.grid_slopes(targets, s, low, step, slopes)
            out = np.empty(len(s))
            fill_slopes(s, targets.positive, targets.pair_weights, low, 1 / step, slopes, out)
            return out

        return Point(float(pair_sum(masses, self.kernel)), space.map(block_slopes, scores), lambda v: 0 * v)


class UnitScores(NamedTuple):
    """The loss of scores that are divided by their spread, the root of the mean of the class variances."""

    loss: SmoothAUC  # the loss of the scores divided by `spread`
    spread: float  # the spread; 0 if the scores do not vary

    @classmethod
    def of(cls, moments: ScoreMoments) -> UnitScores:
        """Return loss and spread for scores with these moments."""
        return cls(SmoothAUC(moments.mean / (moments.spread or 1.0)), moments.spread)


@jit(**FAST)
def place(score, low, scale):
    """Return the position of a score on the grid, in steps."""
    return min(max((score - low) * scale, 0.0), N_POINTS - 1.000001)


@jit(**FAST)
def add_masses(scores, positive, weights, low, scale, masses):
    """Add the weight of each row to the two points next to its score."""
    for i in range(scores.shape[0]):
        x = place(scores[i], low, scale)
        k, c = np.uint32(x), np.uint8(positive[i])
        right = x - k
        masses[c, k] += weights[i] * (1.0 - right)
        masses[c, k + np.uint32(1)] += weights[i] * right


@jit(**FAST)
def pair_sum(masses, kernel):
    """Return the sum over all pairs of points."""
    total = 0.0
    for a in range(N_POINTS):
        if masses[1, a] != 0.0:
            part = 0.0
            for b in range(N_POINTS):
                part += masses[0, b] * kernel[a - b + N_POINTS - 1]
            total += masses[1, a] * part
    return total


@jit(**FAST)
def field_slopes(masses, kernel):
    """Return how the sum over the points of the other class rises from each point to the next, shape (2, N_POINTS)."""
    fields = np.zeros((2, N_POINTS))
    for a in range(N_POINTS):
        negative, positive = masses[0, a], masses[1, a]
        if negative != 0.0:
            for b in range(N_POINTS):
                fields[1, b] += negative * kernel[b - a + N_POINTS - 1]
        if positive != 0.0:
            for b in range(N_POINTS):
                fields[0, b] += positive * kernel[a - b + N_POINTS - 1]
    slopes = np.zeros((2, N_POINTS))
    for c in range(2):
        for b in range(N_POINTS - 1):
            slopes[c, b] = fields[c, b + 1] - fields[c, b]
    return slopes


@jit(**FAST)
def fill_slopes(scores, positive, weights, low, scale, slopes, out):
    """Fill `out` with the derivative of each row."""
    for i in range(scores.shape[0]):
        out[i] = weights[i] * slopes[np.uint8(positive[i]), np.uint32(place(scores[i], low, scale))]


@jit(**FAST)
def step_length(scores, change, positive, weights, low, scale, kernel, value, slope, length):
    """Return a step along `change` that lowers the loss, and the loss there; a step of 0 if there is none.

    The first trial is `length`. It is doubled while the loss falls, or divided by 3 until it does.
    """
    best, best_length, shorter = value, 0.0, False
    trial, masses = np.empty_like(scores), np.empty((2, N_POINTS))
    for _ in range(12):
        for i in range(scores.shape[0]):
            trial[i] = scores[i] + length * change[i]
        masses[:] = 0.0
        add_masses(trial, positive, weights, low, scale, masses)
        here = pair_sum(masses, kernel)
        if here < best and here <= value + 1e-4 * length * slope:
            best, best_length = here, length
            if shorter:
                break
            length *= 2.0
        elif best_length > 0.0:
            break
        else:
            length /= 3.0
            shorter = True
    return best_length, best


@jit(**FAST)
def fill_gradients(scores, positive, weights, lows, steps, kernels, gradients):
    """Return the losses of many vectors of scores, and fill `gradients` with their derivatives."""
    values = np.empty(scores.shape[0])
    for k in range(scores.shape[0]):
        masses = np.zeros((2, N_POINTS))
        add_masses(scores[k], positive, weights[k], lows[k], 1.0 / steps[k], masses)
        slopes = field_slopes(masses, kernels[k]) / steps[k]
        fill_slopes(scores[k], positive, weights[k], lows[k], 1.0 / steps[k], slopes, gradients[k])
        values[k] = pair_sum(masses, kernels[k])
    return values


@jit(**FAST)
def step_all(scores, changes, positive, weights, lows, steps, kernels, values, gradients, lengths, first):
    """Move many vectors of scores along their changes, and return the losses there.

    Each change is shifted to the mean 0 and `lengths` is filled with the lengths of the steps; 0 if there is none. A
    length of -1 stands for a first step, whose change of the scores has the root mean square `first`.
    """
    found = values.copy()
    for k in range(scores.shape[0]):
        change, scale = changes[k], 1.0 / steps[k]
        mean = size = slope = 0.0
        for i in range(change.shape[0]):
            mean += weights[k, i] * change[i] / 2.0
        for i in range(change.shape[0]):
            change[i] -= mean
            size += weights[k, i] * change[i] ** 2 / 2.0
            slope += gradients[k, i] * change[i]
        if lengths[k] < 0.0:
            lengths[k] = first / np.sqrt(size) if size > 0.0 else 0.0
        if slope < 0.0 and lengths[k] > 0.0:
            at = scores[k], change, positive, weights[k], lows[k], scale
            lengths[k], found[k] = step_length(*at, kernels[k], values[k], slope, lengths[k])
            for i in range(change.shape[0]):
                scores[k, i] += lengths[k] * change[i]
        else:
            lengths[k] = 0.0
    return found
