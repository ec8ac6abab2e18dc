"""Weights that are shrunk and averaged at every step of a kernel, at the cost of the row's nonzeros.

Conventions
-----------
    w = scale * u                                the weights now
    sum of masses * w over all steps = rest + share * u

A step w += a z changes u by (a / scale) z, so `rest` takes away share times as much and the sum over the past stays
what it was; shrinking w changes `scale` alone, and adding w to the sum changes `share` and `mass` alone.
"""

from typing import NamedTuple

import numpy as np

from ..._compat import jit
from .row_access import pair_axpy, pair_dot, recenter, row_axpys, row_dot, settle, vector_dot, zero_weights

SCALE, NORM, SHARE, MASS = range(4)
# Where the scale falls below this, it is multiplied into u, and the sum so far moves into `rest`. Otherwise the two
# parts of the sum would become so much larger than the sum that digits are lost: as many as 1 / scale has.
SMALLEST = 1e-4


class AveragedWeights(NamedTuple):
    """A weight vector with its average over the steps so far."""

    u: np.ndarray  # with rest: weight vectors, see above
    rest: np.ndarray
    scalars: np.ndarray  # shape (4,): scale, |w|^2, share and mass

    @classmethod
    def zeros(cls, n_features: int) -> "AveragedWeights":
        """Return the weights 0, with nothing averaged yet."""
        return cls(zero_weights(n_features), zero_weights(n_features), np.array([1.0, 0.0, 0.0, 0.0]))

    def restart(self, w: np.ndarray) -> None:
        """Set the weights, a settled vector, with nothing averaged yet."""
        self.u[:], self.rest[:], self.scalars[:] = w, 0.0, (1.0, vector_dot(w, w), 0.0, 0.0)

    def last(self) -> np.ndarray:
        """Return the weights now."""
        return self.scalars[SCALE] * self.u

    def average(self) -> np.ndarray:
        """Return the average over the steps so far, or the weights now where there was none."""
        if self.scalars[MASS] == 0:
            return self.last()
        return (self.rest + self.scalars[SHARE] * self.u) / self.scalars[MASS]


@jit
def data_step(gamma, mean_norm, norm):
    """Return a step for w that follows the scale of the rows.

    gamma over the mean of |z|^2 is the step gamma on rows of mean norm 1. At most 1 / (2 |z|^2), so that no row,
    however long, moves its own score past its target; as gamma falls, this binds no more.
    """
    return min(gamma / mean_norm, 0.5 / norm) if norm > 0.0 else 0.0


@jit
def score(w, rows, i):
    """Return z_i . w."""
    return w.scalars[SCALE] * row_dot(rows, i, w.u)


@jit
def mean_scores(w, means):
    """Return the products of w with the two class means, which are settled weight vectors."""
    scale = w.scalars[SCALE]
    return scale * vector_dot(means[0], w.u), scale * vector_dot(means[1], w.u)


@jit
def step(w, a, rows, i, s, norm):
    """Do w += a z_i, where s = z_i . w and norm = |z_i|^2."""
    change = a / w.scalars[SCALE]
    row_axpys(change, w.u, -w.scalars[SHARE] * change, w.rest, rows, i)
    w.scalars[NORM] = max(w.scalars[NORM] + a * (2.0 * s + a * norm), 0.0)


@jit
def shrink(w, factor):
    """Do w *= factor, at most 1."""
    w.scalars[SCALE] *= factor
    w.scalars[NORM] *= factor * factor
    if w.scalars[SCALE] < SMALLEST:
        absorb_scale(w)


@jit
def absorb_scale(w):
    """Multiply the scale into u, and move the sum so far into `rest`; O(d)."""
    w.rest[:] += w.scalars[SHARE] * w.u
    w.u[:] *= w.scalars[SCALE]
    w.scalars[SHARE], w.scalars[SCALE] = 0.0, 1.0


@jit
def step_in_ball(w, a, rows, i, s, norm, kept, radius):
    """Do w += a z_i and w *= kept, and scale w into the ball of this radius; s and norm as in `step`.

    A step far out of the ball is scaled back by as much. The sum moves into `rest` before it: taking such a step out of
    the sum afterwards would leave its rounding error.
    """
    norm_after, factor = w.scalars[NORM] + a * (2.0 * s + a * norm), kept
    if kept * kept * norm_after > radius * radius:
        factor = radius / np.sqrt(norm_after)
    if factor * w.scalars[SCALE] < SMALLEST:
        absorb_scale(w)
    step(w, a, rows, i, s, norm)
    if factor < 1.0:
        shrink(w, factor)


@jit
def unfold(w, rows):
    """Make `coordinates(w.u)` the coordinates of w / scale, free to be changed one by one until `fold`; O(d)."""
    settle(rows, w.u)
    settle(rows, w.rest)
    w.rest[:] += w.scalars[SHARE] * w.u


@jit
def fold(w, rows):
    """Take `coordinates(w.u)` as they are; the average so far stays what it was, |w|^2 is not kept up to date."""
    w.rest[:] -= w.scalars[SHARE] * w.u
    recenter(rows, w.u)
    recenter(rows, w.rest)


@jit
def add_to_average(w, mass):
    """Count the weights now in the average, with this mass."""
    w.scalars[SHARE] += mass * w.scalars[SCALE]
    w.scalars[MASS] += mass


@jit
def pair_score(w, rows, i, j):
    """Return (z_i - z_j) . w."""
    return w.scalars[SCALE] * pair_dot(rows, i, j, w.u)


@jit
def pair_step(w, a, rows, i, j):
    """Do w += a (z_i - z_j); |w|^2 is not kept up to date."""
    change = a / w.scalars[SCALE]
    pair_axpy(change, w.u, -w.scalars[SHARE] * change, w.rest, rows, i, j)
