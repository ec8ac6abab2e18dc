"""Sums over pairs of a positive and a negative, whose scores are binned on a grid.

Conventions
-----------
The points of the grid are low, low + step, low + 2 step, ... A score is shared between the two points next to it; a
score beyond the grid counts as if it were at its end. `masses` (2, n_points) are the amounts of the negatives and of
the positives at each point. A kernel (2 n_points - 1,) is a function of the score of the positive minus the score of
the negative: its values at -(n_points - 1), ..., n_points - 1 steps.
"""

from __future__ import annotations

import numpy as np

from .._compat import FAST, jit


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
