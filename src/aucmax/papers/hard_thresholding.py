"""SHT-AUC, StoIHT and HSG-HT: gradient steps that keep the k largest weights.

SHT-AUC: Yang, Zhou, Lei and Ying (2020), Stochastic hard thresholding algorithms for AUC maximization.
StoIHT: Nguyen, Needell and Woolf (2017), Linear convergence of stochastic iterative greedy algorithms with sparse
constraints.
HSG-HT: Zhou, Yuan and Feng (2018), Efficient stochastic gradient hard thresholding.

Objective
---------
    minimise over w   F(w) + alpha/2 |w|^2   subject to   |w|_0 <= k

SHT-AUC: F = f/2, with f the pairwise square loss, as in `AUCClassifier`. With m+ and m- the class means,
delta = m+ - m- and n_y the number of rows of class y, f(w)/2 is the mean over the n single rows of

    n / (2 n_y) (w.(z - m_y))^2 + (1 - w.delta)^2 / 2

Of the unbiased gradients that one row can give, the one of this form has the least variance: what is known of all rows,
the term of delta, is not sampled.

StoIHT and HSG-HT, which Yang et al. compare with: F(w, b) is the mean over the rows of log(1 + exp(-y (w.z + b))), with
y = +1 or -1. It does not measure ranking, and rows count alike, however rare their class. The intercept b has no
penalty and is never set to 0. It starts at the log-odds of the positives, where it is best for w = 0.

One step
--------
The algorithms differ in F and in the batches B of rows that the steps are on.

1. g is the gradient of F on B:
   SHT-AUC   g = delta (delta.w - 1) + m * sum over B of w.(z - m_y) (z - m_y) / n_y, on average the gradient of f/2
   StoIHT    g = (m / n) * sum over B of (1 / (1 + exp(-w.z - b)) - [y = +1]) z, and for b the same with 1 for z
   HSG-HT    the mean over B of the same terms
2. v = (w - g / rho) / (1 + alpha / rho), of which the k largest |v| are kept and the others set to 0; of equal ones
   the first are kept.
3. rho is the restricted smoothness: 1 / rho is the step of the theory. It is estimated as the steps are made. A step
   begins with 0.9 times the rho of the last one. If the loss of B curves more than rho between w and v, rho becomes
   this curvature, or 1.2 rho if that is more, and step 2 is repeated. So no step overshoots on its batch, whatever the
   scale of the data, and none is shorter than the sparse directions need. With eta0 the step is always eta0.
   For the logistic loss it is the largest curvature on the way from w to v: where the loss is flat, steps are long.
4. w = v. The result is the last w.

Rows with weights count by them in the gradient and in its curvature, exactly.

The batches of a pass
---------------------
SHT-AUC and StoIHT: the rows, shuffled once so that both classes are spread evenly, are cut into m contiguous blocks of
n // m rows; the last takes the remainder. A pass is m steps, each on a block drawn uniformly with replacement. At w = 0
the gradient of SHT-AUC is -delta, and no row is visited. With one block this is iterative hard thresholding: the
objective falls in every step, and w converges linearly. With more it does so up to a tolerance, set by how much the
gradients of the blocks differ.

HSG-HT: the rows, in a new random order, are cut into batches; the batch of step t = 0, 1, ... has floor(tau zeta^t)
rows. Where fewer are left than the next batch needs, the last one of the pass takes them too. So the first steps are
cheap, and from some step on each batch is all rows: w converges as with full gradients, with no tolerance left.

variant="paper"
---------------
1. g is the mean over the rows of B, whatever their number.
2. alpha is 0.
3. The step is constant: eta0. The intercept takes the same step as a weight, and starts at 0.

Blocks are cut from the rows in their own order, which may be sorted by class. The authors' step of SHT-AUC is 1 on
p (1 - p) f, and their step of HSG-HT is 3, both for rows of norm 1. They name no step for StoIHT; it is 1 here, where
the loss curves by at most (|z|^2 + 1) / 4 = 1/2. HSG-HT draws the rows of each batch from all rows without replacement,
as in Zhou et al.; a pass ends when as many rows were drawn as there are. docs/guide/misprints.md says where the code of
Yang et al. differs from their paper.
"""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np

from .._compat import Interval, jit
from .._docs import add_sections
from .engine.epochs import StochasticClassifier
from .engine.proximal import hard_threshold
from .engine.row_access import coordinates, n_columns, recenter, row_axpy, row_dot, settle, vector_dot, zero_weights
from .engine.sample import Sample, draw_batches
from .engine.variant import COUNT, NOT_NEGATIVE

SQUARE, LOGISTIC = None, 1  # None: Numba then leaves out what is for the other loss
INTERCEPT, SMOOTHNESS, STEPS, SEED = range(4)
MOST_KEPT = 50  # where n_nonzero is None
MOST_BLOCKS, ROWS_PER_COLUMN = 10, 10  # where n_blocks is None
RELEASE, GROWTH = 0.9, 1.2  # of the smoothness: at each step, and each time that a step is done again
SLACK = 1 + 1e-9  # rounding must not decide whether it is


EXAMPLE = """Examples
--------
>>> import numpy as np
>>> from aucmax import {name}
>>> from sklearn.datasets import load_breast_cancer
>>> X, y = load_breast_cancer(return_X_y=True)
>>> clf = {name}(n_nonzero=5, random_state=0).fit(X, y)
>>> int(np.count_nonzero(clf.coef_)), bool(clf.score(X, y) > 0.98)
(5, True)
"""


class ThresholdState(NamedTuple):
    """State of the hard thresholding algorithms."""

    w: np.ndarray  # the weights
    scalars: np.ndarray  # shape (4,): the intercept, the smoothness rho, the steps so far and the seed of the row order


class Batches(NamedTuple):
    """The steps of one pass."""

    order: np.ndarray  # shape (n,): an order of the rows
    start: np.ndarray  # with stop: shape (n_steps,): A step is on the rows order[start:stop]
    stop: np.ndarray
    mass: np.ndarray  # shape (n_steps,): what multiplies the sum over these rows


class HardThresholdingClassifier(StochasticClassifier):
    """A classifier that keeps the `n_nonzero` largest weights after each gradient step.

    Parameters
    ----------
    n_nonzero : int, default=None
        Number k of weights that are kept, the largest ones for the standardised columns; None keeps 50, or all where
        there are fewer. Best chosen by cross-validation: the paper's values are 10, 20, ..., 100, and up to 500 for
        genes.

    alpha : float, default=None
        Strength of an additional L2 penalty, ``alpha/2 |w|^2`` to the mean loss of a row; the papers have none, 0. None
        uses the same share of the curvature as :class:`aucmax.SHTAUC`: k log(e d / k) / (4 n) for standardised columns.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights, `n_nonzero` of which are not zero.
    """

    n_nonzero: int | None = None
    alpha: float | None = None
    eta0: float | None = None
    max_iter: int = 20

    _parameter_constraints = {"n_nonzero": [COUNT, None], "alpha": [NOT_NEGATIVE, None]}  # noqa: RUF012
    _by_variant = {"alpha": (None, 0.0), "_intercept_from_data": (True, False)}  # noqa: RUF012

    _loss: ClassVar[int | None]

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.n_nonzero is not None and self.n_nonzero > n_features:
            raise ValueError(
                f"n_nonzero={self.n_nonzero} is more than the {n_features} columns of X: "
                f"give a number from 1 to {n_features}, or None."
            )

    _repeats_rows = False  # gradients are sums over rows with their weights

    def _start(self, n_features: int, n_rows: int) -> ThresholdState:
        return ThresholdState(zero_weights(n_features), np.zeros(4))

    def _epoch(self, state: ThresholdState, sample: Sample, drawn: Batches) -> None:
        d, totals, share, eta0 = n_columns(state.w), sample.totals, sample.share, self._chosen("eta0")
        if self._is_paper and eta0 is None:  # SHT-AUC: the authors' step of 1 on p (1 - p) f
            eta0 = 2 * share * (1 - share)
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
        rows = sample.rows, sample.positive, sample.row_weights, totals, sample.means
        threshold_epoch(state, *rows, drawn, self._loss, k, alpha, eta0 or 0.0, unit)

    def _weights(self, state: ThresholdState) -> np.ndarray:
        return state.w.copy()


class BlockThresholdingClassifier(HardThresholdingClassifier):
    """Hard thresholding on blocks of rows that stay the same.

    Parameters
    ----------
    n_blocks : int, default=None
        Number of blocks that the rows are cut into, at most one a row; a pass makes one step for each. The paper's
        values are 1 to 10. None takes as many, up to 10, as leave each block ten rows of the rarer class for each
        column: blocks that are smaller disagree on which columns matter. With variant="paper" it is 1.
    """

    n_blocks: int | None = None

    _parameter_constraints = {"n_blocks": [COUNT, None]}  # noqa: RUF012
    _by_variant = {"n_blocks": (None, 1), "_mixed_blocks": (True, False)}  # noqa: RUF012

    shuffle = False

    def _order(self, sample: Sample, carry: float, rng: np.random.RandomState) -> tuple[np.ndarray, float]:
        return np.arange(len(sample.positive), dtype=np.uint64), carry  # blocks are drawn, not rows

    def _draw(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
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


@add_sections(EXAMPLE, name="SHTAUC")
class SHTAUC(BlockThresholdingClassifier):
    """Stochastic hard thresholding for AUC maximisation (SHT-AUC): the square loss, with at most k nonzero weights.

    Parameters
    ----------
    alpha : float, default=None
        Strength of an additional L2 penalty, as in :class:`aucmax.AUCClassifier`. None is 0, as in the paper, with
        variant="paper". Else it takes the mean curvature of f/2 in a column, 2 where it is standardised, times
        k log(e d / k) / N: what k of d columns are worth in parameters, over N = 4 / (1 / n+ + 1 / n-), what the pairs
        are worth in rows.

    eta0 : float, default=None
        The step on f/2; the paper's gamma, a step on f, is eta0 / 2. None takes one over the restricted smoothness,
        which is found on the way, and 2 p (1 - p) with variant="paper", p the share of the positives: the step of the
        authors' code.

    See Also
    --------
    StoIHT : The same for the logistic loss.
    AUCClassifier : The exact minimiser for all columns.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns are standardised (a shift changes nothing here): the largest weights belong to the best columns only if
      columns have one scale.
    - the step is found on the way: the step of the authors' code is for rows of norm 1.
    - a small L2 penalty, for columns that depend on each other.
    - there are as many blocks as the rows allow, where the paper's number is tuned; 1 is put back here.
    - the rows are shuffled once with both classes spread evenly, and the sum over a block is divided by the mean number
      of rows of a block, so that the gradient is unbiased whatever the order and the number of the rows.
    """

    _loss = SQUARE


@add_sections(EXAMPLE, name="StoIHT")
class StoIHT(BlockThresholdingClassifier):
    """Stochastic iterative hard thresholding (StoIHT): the logistic loss, with at most k nonzero weights.

    Parameters
    ----------
    eta0 : float, default=None
        The step; None takes one over the restricted smoothness, which is found on the way, and 1 with variant="paper",
        our choice: on rows of norm 1 any step below 4 descends on its block if all weights are kept.

    See Also
    --------
    SHTAUC : The same for the pairwise square loss.
    HSGHT : With batches that grow.

    Notes
    -----
    The default differs from the papers as :class:`aucmax.SHTAUC` does (docs/measured/variants.md has the gain of each
    in AUC), and the intercept starts at the log-odds of the positives instead of 0, and takes its steps in the unit of
    the columns, which are also centred. It is in `state_`: `intercept_` is found from the scores.
    """

    _loss = LOGISTIC
    _by_variant = {"eta0": (None, 1.0)}  # noqa: RUF012


@add_sections(EXAMPLE, name="HSGHT")
class HSGHT(HardThresholdingClassifier):
    """Hybrid stochastic gradient hard thresholding (HSG-HT): the logistic loss on batches that grow.

    Parameters
    ----------
    batch_size : int, default=100
        Rows of the first batch, tau; the paper's values are 1, 10, 100 and 1000.

    growth : float, default=1.033
        What a batch is larger by than the last one, zeta; at least 1.

    eta0 : float, default=None
        The step; None takes one over the restricted smoothness, which is found on the way, and 3, as Yang et al., with
        variant="paper".

    See Also
    --------
    StoIHT : With blocks that stay the same.
    SHTAUC : For the pairwise square loss.

    Notes
    -----
    The default differs from the papers in its columns, steps, penalty and intercept as :class:`aucmax.StoIHT` does
    (docs/measured/variants.md has the gain of each in AUC). The batches of a pass are cut from one random order, so
    that each row is met once.
    """

    batch_size: int = 100
    growth: float = 1.033

    _parameter_constraints = {"batch_size": [COUNT], "growth": [Interval(Real, 1, None, closed="left")]}  # noqa: RUF012
    _by_variant = {"eta0": (None, 3.0), "_cut_batches": (True, False)}  # noqa: RUF012

    _loss = LOGISTIC

    def _draw(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        n, t, cut = len(order), state.scalars[STEPS], self._chosen("_cut_batches")
        ends = [0]
        while ends[-1] < n:
            end = ends[-1] + self._size(t, n)
            ends.append(n if end + self._size(t + 1, n) > n and cut else end)
            t += 1
        start, stop = np.array(ends[:-1]), np.array(ends[1:])
        if not cut:
            order = draw_batches(n, stop - start, rng)
        return Batches(order, start, stop, 1 / batch_weights(sample, order, start, stop))

    def _size(self, t: float, n: int) -> int:
        with np.errstate(over="ignore"):
            return int(np.clip(self.batch_size * np.float64(self.growth) ** t, 1, n))


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
    """Fill g with the gradient on a block, and return the derivative by the intercept.

    `scores` is filled with s of its rows for the logistic loss alone, whose curvature depends on them.
    """
    g[:] = 0.0
    shifts, sums = class_shifts(loss, means, w, intercept), np.zeros(2)
    if loss != LOGISTIC and not w.any():  # all scores are 0, as before the first step, and no row adds anything
        block = block[:0]
    for b, i in enumerate(block):
        own = int(positive[i])
        s = row_dot(rows, i, w) + shifts[own]
        a = masses[own] * (weights[i] * (logistic(s) - own if loss == LOGISTIC else s))
        sums[own] += a
        row_axpy(a, rows, i, g)
        if loss == LOGISTIC:
            scores[b] = s
    settle(rows, g)
    if loss == LOGISTIC:
        return sums[0] + sums[1]
    margin = shifts[0] - shifts[1] - 1.0
    for j in range(g.shape[0]):
        g[j] += (margin - sums[1]) * means[1, j] - (margin + sums[0]) * means[0, j]
    return 0.0


@jit
def block_curvature(loss, rows, positive, weights, means, block, masses, scores, v, intercept):
    """Return the largest second derivative on a block along v, from w to w + v."""
    shifts, sums = class_shifts(loss, means, v, intercept), np.zeros(2)
    for b, i in enumerate(block):
        own = int(positive[i])
        s = row_dot(rows, i, v) + shifts[own]
        bend = weights[i] * s * s
        sums[own] += bend * steepest(scores[b], scores[b] + s) if loss == LOGISTIC else bend
    total = masses[0] * sums[0] + masses[1] * sums[1]
    return total if loss == LOGISTIC else total + (shifts[0] - shifts[1]) ** 2


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
