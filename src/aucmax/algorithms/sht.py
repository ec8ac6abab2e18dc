"""SHT-AUC: stochastic hard thresholding for AUC maximisation; and what StoIHT and HSG-HT share with it.

Yang, Zhou, Lei and Ying (2020), Stochastic hard thresholding algorithms for AUC maximization.

Objective
---------
    minimise over w   f(w)/2 + alpha/2 |w|^2   subject to   |w|_0 <= k

with f the pairwise square loss, as in `AUCClassifier`. With m+ and m- the class means, delta = m+ - m- and n_y the
number of rows of class y, f(w)/2 is the mean over the n single rows of

    n / (2 n_y) (w.(z - m_y))^2 + (1 - w.delta)^2 / 2

Of the unbiased gradients that one row can give, the one of this form has the least variance: what is known of all rows,
the term of delta, is not sampled.

One pass over the rows
----------------------
The rows, shuffled once so that both classes are spread evenly, are cut into m contiguous blocks of n // m rows; the
last takes the remainder. A pass is m steps, each on a block B drawn uniformly with replacement:

1. g = delta (delta.w - 1) + m * sum over B of w.(z - m_y) (z - m_y) / n_y, on average the gradient of f/2.
2. v = (w - g / rho) / (1 + alpha / rho), of which the k largest |v| are kept and the others set to 0; of equal ones
   the first are kept.
3. rho is the restricted smoothness: 1 / rho is the step of the theory. It is found on the way. A step begins with 0.9
   times the rho of the last one; if the loss of B curves more than rho between w and v, rho becomes this curvature, or
   1.2 rho if that is more, and step 2 is done again. So no step overshoots on its block, whatever the scale of the
   data, and none is shorter than the sparse directions met demand. With eta0 the step is eta0, and nothing is tried.
4. w = v.

The result is the last w. With one block this is iterative hard thresholding: the objective falls in every step, and w
converges linearly. With more it does so up to a tolerance, set by how much the gradients of the blocks differ.

What is not as in the authors' code: that divides the sum over a block by the block's own size, which is biased where
the last block is larger; takes the blocks in the order of the rows, which may be sorted by class; keeps k - 1 weights,
and none of equal ones; and takes a step of 1 on p (1 - p) f, p the share of the positives, for rows of norm 1.
"""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from ..jit import jit
from ..stochastic.epochs import Sample, StochasticClassifier
from ..stochastic.proximal import hard_threshold
from ..stochastic.row_access import SLOTS, recenter, row_axpy, row_dot, settle

SQUARE, LOGISTIC = range(2)
INTERCEPT, SMOOTHNESS, STEPS, SEED = range(4)
MOST_KEPT = 50  # where n_nonzero is None
MOST_BLOCKS, ROWS_PER_COLUMN = 10, 10  # where n_blocks is None
RELEASE, GROWTH = 0.9, 1.2  # of the smoothness: at each step, and each time that a step is done again
SLACK = 1 + 1e-9  # rounding must not decide whether it is


class ThresholdState(NamedTuple):
    """The weights and, in `scalars`, the intercept, the smoothness, the steps so far and the seed of the row order."""

    w: np.ndarray
    scalars: np.ndarray


class Batches(NamedTuple):
    """The steps of one pass: a step is on rows order[start:stop], and `mass` is what multiplies the sum over them."""

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

    n_nonzero: int | None
    alpha: float | None
    eta0: float | None

    _loss: int

    @abstractmethod
    def _batches(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        """Return the steps of one pass."""

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.n_nonzero is not None and self.n_nonzero > n_features:
            raise ValueError(
                f"n_nonzero={self.n_nonzero} is more than the {n_features} columns of X: "
                f"give a number from 1 to {n_features}, or None."
            )

    def _start(self, width: int, n_rows: int) -> ThresholdState:
        return ThresholdState(np.zeros(width), np.zeros(4))

    def _epoch(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> None:
        d, share = len(state.w) - SLOTS, np.mean(sample.positive)
        if self._loss == LOGISTIC and state.scalars[STEPS] == 0:
            state.scalars[INTERCEPT] = np.log(share / (1 - share))
        k = min(MOST_KEPT, d) if self.n_nonzero is None else self.n_nonzero
        # The mean square of a column. The intercept is the weight of a column of ones in this unit, so that no scale
        # of X slows it.
        unit = np.mean(sample.norms) / d or 1.0
        alpha = self.alpha
        if alpha is None:
            curvature = unit * (share * (1 - share) if self._loss == LOGISTIC else 2)
            alpha = curvature * k * np.log(np.e * d / k) / (4 * len(order) * share * (1 - share))
        threshold_epoch(
            state,
            sample.rows,
            sample.positive,
            sample.means,
            self._batches(state, sample, order, rng),
            self._loss,
            k,
            alpha,
            self.eta0 or 0.0,
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

    shuffle = False

    def __init__(
        self,
        *,
        n_nonzero: int | None = None,
        alpha: float | None = None,
        n_blocks: int | None = None,
        eta0: float | None = None,
        standardize: bool = True,
        max_iter: int = 20,
        tol: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_nonzero = n_nonzero
        self.alpha = alpha
        self.n_blocks = n_blocks
        self.eta0 = eta0
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    def _batches(self, state: ThresholdState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Batches:
        n, m = len(order), self._count_blocks(sample.positive, len(state.w) - SLOTS)
        if m > 1:
            # The seed stands for the order: the state stays small, and other rows may follow.
            if state.scalars[SEED] == 0:
                state.scalars[SEED] = rng.randint(1, 2**31 - 1)
            order = mixed_order(sample.positive, np.random.default_rng(int(state.scalars[SEED])))
        block = rng.randint(m, size=m)
        start = block * (n // m)
        return Batches(order, start, np.where(block == m - 1, n, start + n // m), np.full(m, m / n))

    def _count_blocks(self, positive: np.ndarray, n_features: int) -> int:
        if self.n_blocks is not None:
            return min(self.n_blocks, len(positive))
        rarer = min(int(np.sum(positive)), int(np.sum(~positive)))
        return min(max(rarer // (ROWS_PER_COLUMN * n_features), 1), MOST_BLOCKS)


class SHTAUC(BlockThresholdingClassifier):
    """Stochastic hard thresholding for AUC maximisation (SHT-AUC): the square loss, with at most k nonzero weights.

    Parameters
    ----------
    n_nonzero : int, default=None
        Number k of weights that are kept, the largest ones for the standardised columns; None keeps 50, or all where
        there are fewer. Best chosen by cross-validation: the paper's values are 10, 20, ..., 100, and up to 500 for
        genes.

    alpha : float, default=None
        Strength of an L2 penalty besides, as in :class:`aucmax.AUCClassifier`; the paper has none, 0. None takes the
        mean curvature of f/2 in a column, 2 where it is standardised, times k log(e d / k) / N: what k of d columns
        are worth in parameters, over N = 4 / (1 / n+ + 1 / n-), what the pairs are worth in rows. It vanishes as rows
        are added.

    n_blocks : int, default=None
        Number of blocks that the rows are cut into, at most one a row; a pass makes one step for each. The paper's
        values are 1 to 10. None takes as many, up to 10, as leave each block ten rows of the rarer class for each
        column: blocks that are smaller disagree on which columns matter.

    eta0 : float, default=None
        The step; None takes one over the restricted smoothness, which is found on the way.

    standardize : bool, default=True
        Whether `fit` works on columns divided by their standard deviations. The data are not changed, and `coef_` is
        for the columns as they are.

    max_iter : int, default=20
        Number of passes of `fit` over the rows.

    tol : float, default=None
        Where `fit` stops before: the change of the weights in a pass, relative to their norm.

    warm_start : bool, default=False
        Whether `fit` goes on from where the last call ended, with the same random numbers: two fits of 5 passes are
        one of 10.

    random_state : int, RandomState instance or None, default=None
        What the blocks are drawn from; with one block, nothing is random.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights, `n_nonzero` of which are not zero.

    intercept_ : ndarray of shape (1,)
        Puts zero at the score whose probability is the base rate of the training data.

    classes_ : ndarray of shape (2,)
        The negative and the positive class, sorted.

    state_ : ThresholdState
        Where the algorithm stands.

    n_iter_ : int
        Passes made.

    convergence_ : ndarray of shape (n_iter_,)
        What `tol` is compared with, after each pass.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had them.

    See Also
    --------
    StoIHT : The same for the logistic loss.
    AUCClassifier : The exact minimiser for all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import SHTAUC
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SHTAUC(n_nonzero=5).fit(X, y)
    >>> int(np.count_nonzero(clf.coef_)), bool(clf.score(X, y) > 0.98)
    (5, True)
    """

    _loss = SQUARE


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
    shift_0 = shift_1 = 0.0
    for j in range(v.shape[0] - SLOTS):
        shift_0 -= means[0, j] * v[j]
        shift_1 -= means[1, j] * v[j]
    return shift_0, shift_1


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
def block_gradient(loss, rows, positive, means, block, masses, w, intercept, scores, g):
    """Fill g with the gradient on a block, `scores` with s of its rows, and return the gradient of the intercept."""
    g[:] = 0.0
    shift_0, shift_1 = class_shifts(loss, means, w, intercept)
    total_0 = total_1 = 0.0
    for b, i in enumerate(block):
        s = row_dot(rows, i, w) + (shift_1 if positive[i] else shift_0)
        residual = logistic(s) - positive[i] if loss == LOGISTIC else s
        if positive[i]:
            a = masses[1] * residual
            total_1 += a
        else:
            a = masses[0] * residual
            total_0 += a
        row_axpy(a, rows, i, g)
        scores[b] = s
    settle(rows, g)
    if loss == LOGISTIC:
        return total_0 + total_1
    margin = shift_0 - shift_1 - 1.0
    for j in range(g.shape[0]):
        g[j] += (margin - total_1) * means[1, j] - (margin + total_0) * means[0, j]
    return 0.0


@jit
def block_curvature(loss, rows, positive, means, block, masses, scores, v, intercept):
    """Return the largest second derivative on a block along v, from w to w + v."""
    shift_0, shift_1 = class_shifts(loss, means, v, intercept)
    total_0 = total_1 = 0.0
    for b, i in enumerate(block):
        s = row_dot(rows, i, v) + (shift_1 if positive[i] else shift_0)
        bend = s * s
        if loss == LOGISTIC:
            bend *= steepest(scores[b], scores[b] + s)
        if positive[i]:
            total_1 += bend
        else:
            total_0 += bend
    total = masses[0] * total_0 + masses[1] * total_1
    return total if loss == LOGISTIC else total + (shift_0 - shift_1) ** 2


@jit
def threshold_epoch(state, rows, positive, means, batches, loss, k, alpha, eta0, unit):
    """Take the steps 1 to 4 on the batches; eta0 = 0 stands for steps from the data."""
    w, width = state.w, state.w.shape[0]
    d, n, n_positive = width - SLOTS, positive.shape[0], np.sum(positive)
    intercept, rho, t, _ = state.scalars
    g, v, change, scores = np.empty(width), np.empty(width), np.empty(width), np.empty(n)
    for b in range(batches.start.shape[0]):
        block, mass = batches.order[batches.start[b] : batches.stop[b]], batches.mass[b]
        masses = (mass, mass) if loss == LOGISTIC else (mass * n / (n - n_positive), mass * n / n_positive)
        slope = block_gradient(loss, rows, positive, means, block, masses, w, intercept, scores, g)
        rho *= RELEASE
        while True:
            step = eta0 if eta0 > 0.0 else 1.0 / (rho if rho > 0.0 else unit)
            for j in range(width):
                v[j] = (w[j] - step * g[j]) / (1.0 + step * alpha)
            hard_threshold(v[:d], k)
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
            bend = block_curvature(loss, rows, positive, means, block, masses, scores, change, rise)
            if not bend > SLACK * rho * norm:
                break
            rho = max(bend / norm, GROWTH * rho)
        w[:] = v
        intercept += rise
        t += 1.0
    state.scalars[:3] = intercept, rho, t
