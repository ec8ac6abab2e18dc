"""Gradient steps that keep the k largest weights: what SHT-AUC, StoIHT and HSG-HT share.

Objective
---------
    minimise over w   F(w) + alpha/2 |w|^2   subject to   |w|_0 <= k

where F is half the pairwise square loss (SHT-AUC) or the mean logistic loss of a row, with an intercept (StoIHT and
HSG-HT).

One step
--------
The algorithms differ in F and in the batches B of rows that the steps are on.

1. g is the gradient of F on B.
2. v = (w - g / rho) / (1 + alpha / rho), of which the k largest |v| are kept and the others set to 0; of equal ones
   the first are kept.
3. rho is the restricted smoothness: 1 / rho is the step of the theory. It is estimated as the steps are made. A step
   begins with 0.9 times the rho of the last one. If the loss of B curves more than rho between w and v, rho becomes
   this curvature, or 1.2 rho if that is more, and step 2 is repeated. So no step overshoots on its batch, whatever the
   scale of the data, and none is shorter than the sparse directions need. With eta0 the step is always eta0.
4. w = v. The result is the last w.

Rows with weights count by them in the gradient and in its curvature, exactly.

The blocks of SHT-AUC and StoIHT: the rows, shuffled once so that both classes are spread evenly, are cut into m
contiguous blocks of n // m rows; the last takes the remainder. A pass is m steps, each on a block drawn uniformly with
replacement.

variant="paper"
---------------
1. g is the mean over the rows of B, whatever their number.
2. alpha is 0.
3. The step is constant: eta0. The intercept takes the same step as a weight, and starts at 0.

The blocks are cut from the rows as they are.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from ..jit import jit
from .epochs import StochasticClassifier
from .proximal import hard_threshold
from .row_access import (
    coordinates,
    n_columns,
    recenter,
    row_axpy,
    row_dot,
    settle,
    vector_dot,
    zero_weights,
)
from .sample import Sample

SQUARE, LOGISTIC = None, 1  # None: Numba then leaves out what is for the other loss
INTERCEPT, SMOOTHNESS, STEPS, SEED = range(4)
MOST_KEPT = 50  # where n_nonzero is None
MOST_BLOCKS, ROWS_PER_COLUMN = 10, 10  # where n_blocks is None
RELEASE, GROWTH = 0.9, 1.2  # of the smoothness: at each step, and each time that a step is done again
SLACK = 1 + 1e-9  # rounding must not decide whether it is


class ThresholdState(NamedTuple):
    """State of the hard thresholding algorithms.

    Attributes
    ----------
    w : ndarray
        The weights.
    scalars : ndarray of shape (4,)
        The intercept, the smoothness rho, the steps so far and the seed of the row order.
    """

    w: np.ndarray
    scalars: np.ndarray


class Batches(NamedTuple):
    """The steps of one pass.

    Attributes
    ----------
    order : ndarray of uint64, shape (n,)
        An order of the rows.
    start, stop : ndarray of shape (n_steps,)
        A step is on the rows order[start:stop].
    mass : ndarray of shape (n_steps,)
        What multiplies the sum over these rows.
    """

    order: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    mass: np.ndarray


class HardThresholdingClassifier(StochasticClassifier):
    """A classifier that keeps the `n_nonzero` largest weights after each gradient step."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **{name: kinds for name, kinds in StochasticClassifier._parameter_constraints.items() if name != "shuffle"},
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "eta0": [Interval(Real, 0, None, closed="neither"), None],
    }
    _by_variant = {  # noqa: RUF012
        **StochasticClassifier._by_variant,
        "alpha": (None, 0.0),
        "_intercept_from_data": (True, False),
    }

    n_nonzero: int | None
    alpha: float | None
    eta0: float | None

    _loss: int | None

    @abstractmethod
    def _batches(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        """Return the steps of one pass."""

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.n_nonzero is not None and self.n_nonzero > n_features:
            raise ValueError(
                f"n_nonzero={self.n_nonzero} is more than the {n_features} columns of X: "
                f"give a number from 1 to {n_features}, or None."
            )

    _repeats_rows = False  # gradients are sums over rows with their weights

    def _start(self, n_features: int, n_rows: int) -> ThresholdState:
        return ThresholdState(zero_weights(n_features), np.zeros(4))

    def _draw(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        return self._batches(state, sample, order, rng)

    def _eta0(self, sample: Sample) -> float | None:
        """Return the step, or None where it is found on the way."""
        return self._chosen("eta0")

    def _epoch(self, state: ThresholdState, sample: Sample, drawn: Batches) -> None:
        d, totals, share = n_columns(state.w), sample.totals, sample.share
        from_data = self._chosen("_intercept_from_data")
        if self._loss == LOGISTIC and state.scalars[STEPS] == 0 and from_data:
            state.scalars[INTERCEPT] = np.log(share / (1 - share))
        k = min(MOST_KEPT, d) if self.n_nonzero is None else self.n_nonzero
        # The mean square of a column. The intercept is the weight of a column of ones in this unit, so that no scale
        # of X slows it.
        unit = sample.mean_norm / d or 1.0 if from_data else 1.0
        alpha = self._chosen("alpha")
        if alpha is None:
            curvature = unit * (share * (1 - share) if self._loss == LOGISTIC else 2)
            alpha = curvature * k * np.log(np.e * d / k) / (4 * totals.sum() * share * (1 - share))
        threshold_epoch(
            state,
            sample.rows,
            sample.positive,
            sample.row_weights,
            totals,
            sample.means,
            drawn,
            self._loss,
            k,
            alpha,
            self._eta0(sample) or 0.0,
            unit,
        )

    def _weights(self, state: ThresholdState) -> np.ndarray:
        return state.w.copy()


class BlockThresholdingClassifier(HardThresholdingClassifier):
    """Hard thresholding on blocks of rows that stay the same."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **HardThresholdingClassifier._parameter_constraints,
        "n_blocks": [Interval(Integral, 1, None, closed="left"), None],
    }
    _by_variant = {  # noqa: RUF012
        **HardThresholdingClassifier._by_variant,
        "n_blocks": (None, 1),
        "_mixed_blocks": (True, False),
    }

    shuffle = False

    def __init__(
        self,
        *,
        n_nonzero: int | None = None,
        alpha: float | None = None,
        n_blocks: int | None = None,
        eta0: float | None = None,
        variant: str = "adaptive",
        standardize: bool | None = None,
        max_iter: int = 20,
        tol: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_nonzero = n_nonzero
        self.alpha = alpha
        self.n_blocks = n_blocks
        self.eta0 = eta0
        self.variant = variant
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    def _order(self, sample: Sample, carry: float, rng: np.random.RandomState) -> tuple[np.ndarray, float]:
        return sample.in_order, carry  # made once: blocks are drawn, not rows

    def _batches(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        n, m = len(order), self._count_blocks(sample, n_columns(state.w))
        if m == 1:  # nothing is random, and a pass of few rows takes less time than to draw it
            return Batches(order, np.zeros(1, np.int64), np.full(1, n), np.full(1, 1 / sample.totals.sum()))
        mixed = self._chosen("_mixed_blocks")
        if mixed:
            # The seed stands for the order: the state stays small, and other rows may follow.
            if state.scalars[SEED] == 0:
                state.scalars[SEED] = rng.randint(1, 2**31 - 1)
            order = mixed_order(sample.positive, np.random.default_rng(int(state.scalars[SEED])))
        block = rng.randint(m, size=m)
        start = block * (n // m)
        stop = np.where(block == m - 1, n, start + n // m)
        mass = np.full(m, m / sample.totals.sum()) if mixed else 1 / batch_weights(sample, order, start, stop)
        return Batches(order, start, stop, mass)

    def _count_blocks(self, sample: Sample, n_features: int) -> int:
        n_blocks = self._chosen("n_blocks")
        if n_blocks is not None:
            return min(n_blocks, len(sample.positive))
        return min(max(int(sample.totals.min()) // (ROWS_PER_COLUMN * n_features), 1), MOST_BLOCKS)


def batch_weights(sample: Sample, order: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """Return the weight of the rows of each batch."""
    if sample.weights is None:
        return stop - start
    sums = np.append(0.0, np.cumsum(sample.weights[order]))
    return sums[stop] - sums[start]


def mixed_order(positive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of the rows in which both classes are spread evenly."""
    members = [rng.permutation(np.flatnonzero(mask)) for mask in (~positive, positive)]
    places = [(np.arange(len(rows)) + 0.5) / len(rows) for rows in members]
    # Two runs that are sorted already: a stable sort merges them in one pass.
    return np.concatenate(members)[np.argsort(np.concatenate(places), kind="stable")].astype(np.uint64)


# With shift_y = -m_y.v for the square loss, and the intercept's part of v for the logistic one, both losses are sums
# over the rows of functions of s = z.v + shift_y; the square loss also has the term of delta.v = shift_0 - shift_1.


@jit
def class_shifts(loss, means, v, intercept):
    """Return what is added to z.v in the two classes."""
    if loss == LOGISTIC:
        return intercept, intercept
    return -vector_dot(means[0], v), -vector_dot(means[1], v)


@jit
def logistic(s):
    """Return 1 / (1 + exp(-s))."""
    return 1.0 / (1.0 + np.exp(-s))


@jit
def steepest(s, t):
    """Return the largest slope of the logistic function between s and t."""
    p = logistic(-min(abs(s), abs(t))) if s * t > 0.0 else 0.5
    return p * (1.0 - p)


@jit
def block_gradient(loss, rows, positive, weights, means, block, masses, w, intercept, scores, g):
    """Fill g with the gradient on a block, and return that of the intercept.

    `scores` is filled with s of its rows for the logistic loss alone, whose curvature depends on them.
    """
    g[:] = 0.0
    shift_0, shift_1 = class_shifts(loss, means, w, intercept)
    total_0 = total_1 = 0.0
    if loss != LOGISTIC and not w.any():  # all scores are 0, as before the first step, and no row adds anything
        block = block[:0]
    for b, i in enumerate(block):
        s = row_dot(rows, i, w) + (shift_1 if positive[i] else shift_0)
        residual = weights[i] * (logistic(s) - positive[i] if loss == LOGISTIC else s)
        if positive[i]:
            a = masses[1] * residual
            total_1 += a
        else:
            a = masses[0] * residual
            total_0 += a
        row_axpy(a, rows, i, g)
        if loss == LOGISTIC:
            scores[b] = s
    settle(rows, g)
    if loss == LOGISTIC:
        return total_0 + total_1
    margin = shift_0 - shift_1 - 1.0
    for j in range(g.shape[0]):
        g[j] += (margin - total_1) * means[1, j] - (margin + total_0) * means[0, j]
    return 0.0


@jit
def block_curvature(loss, rows, positive, weights, means, block, masses, scores, v, intercept):
    """Return the largest second derivative on a block along v, from w to w + v."""
    shift_0, shift_1 = class_shifts(loss, means, v, intercept)
    total_0 = total_1 = 0.0
    for b, i in enumerate(block):
        s = row_dot(rows, i, v) + (shift_1 if positive[i] else shift_0)
        bend = weights[i] * s * s
        if loss == LOGISTIC:
            bend *= steepest(scores[b], scores[b] + s)
        if positive[i]:
            total_1 += bend
        else:
            total_0 += bend
    total = masses[0] * total_0 + masses[1] * total_1
    return total if loss == LOGISTIC else total + (shift_0 - shift_1) ** 2


@jit
def threshold_epoch(state, rows, positive, weights, totals, means, batches, loss, k, alpha, eta0, unit):
    """Take the steps 1 to 4 on the batches; eta0 = 0 stands for steps from the data."""
    w, width = state.w, state.w.shape[0]
    d, total = n_columns(w), totals[0] + totals[1]
    intercept, rho, t, _ = state.scalars
    g, v, change, scores = np.empty(width), np.empty(width), np.empty(width), np.empty(positive.shape[0])
    for b in range(batches.start.shape[0]):
        block, mass = batches.order[batches.start[b] : batches.stop[b]], batches.mass[b]
        masses = (mass, mass) if loss == LOGISTIC else (mass * total / totals[0], mass * total / totals[1])
        slope = block_gradient(loss, rows, positive, weights, means, block, masses, w, intercept, scores, g)
        rho *= RELEASE
        while True:
            step = eta0 if eta0 > 0.0 else 1.0 / (rho if rho > 0.0 else unit)
            for j in range(width):
                v[j] = (w[j] - step * g[j]) / (1.0 + step * alpha)
            hard_threshold(coordinates(v), k)
            recenter(rows, v)
            rise = -step * unit * slope
            if eta0 > 0.0:
                break
            norm = rise * rise / unit
            for j in range(width):
                change[j] = v[j] - w[j]
                norm += change[j] ** 2 if j < d else 0.0
            if norm == 0.0:
                break
            bend = block_curvature(loss, rows, positive, weights, means, block, masses, scores, change, rise)
            if not bend > SLACK * rho * norm:
                break
            rho = max(bend / norm, GROWTH * rho)
        w[:] = v
        intercept += rise
        t += 1.0
    state.scalars[:3] = intercept, rho, t
