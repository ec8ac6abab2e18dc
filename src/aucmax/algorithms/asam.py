"""ASAM: accelerated stochastic AUC maximisation on sampled pairs; and what PSAM shares with it.

Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods.

Objective
---------
    minimise over w   mean over all pairs of l(w.z) + alpha/2 |w|^2,    z = z+ - z-

where a pair is a positive row and a negative one, and l is the smoothed hinge loss, with slope l'(s) = -min(1 - s, 1)
where s < 1:

    l(s) = 0  where s >= 1,    (1 - s)^2 / 2  where 0 <= s <= 1,    1/2 - s  where s <= 0

One pass over n rows
--------------------
n steps, each on one positive and one negative row, both drawn uniformly with replacement; t counts the steps of all
passes:

1. t <- t + 1, and eta = 1 / (alpha t + 1 / eta0), which is 1 / (alpha (t + t0)) with t0 = 1 / (alpha eta0).
2. If w.z < 1:  w += min(eta min(1 - w.z, 1), (1 - w.z) / |z|^2) z.
3. If t is a multiple of `regularize_every`, r:  w *= 1 - r / (t + t0), which is the product of 1 - 1 / (t + t0) over
   the last r steps, and above 0 since t >= r and t0 > 0, however large alpha is.
4. If t is a multiple of `average_every`, w is counted in the average, which is the result.

What is not as in the papers
----------------------------
Without eta0 it is one over the mean of |z|^2 over all pairs. PSAM's paper leaves t0 open; the rule that goes with such
steps, Bottou's, is eta0 = alpha^(-1/4) for a loss with slopes up to 1. It is meant for |z| of about 1: on standardised
columns its first steps move a score by hundreds, and what one pass learns ranks mostly worse: with the default
alpha by up to 0.006 in AUC. And no step is longer than (1 - w.z) / |z|^2, so that no pair, however long, moves its own
score past its target; as eta falls, this binds no more.

Both classes are drawn from in an order that does not depend on which one is positive, so that swapping them turns the
weights round.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from ..jit import jit
from ..stochastic.averaged_weights import AveragedWeights, add_to_average, pair_score, pair_step, shrink
from ..stochastic.epochs import Sample, StochasticClassifier
from ..stochastic.row_access import SLOTS, CSRRows, DenseRows, pair_norm

SMOOTHED_HINGE, HINGE = range(2)


class PairSample(NamedTuple):
    """Rows to draw pairs from.

    Attributes
    ----------
    rows : DenseRows or CSRRows
        The rows z.
    positive : ndarray of bool, shape (n,)
        Which are positive.
    first, second : ndarray of uint32
        The rows of the class of row 0, and of the other one.
    mean_norm : float
        The mean of |z|^2 over all pairs.
    """

    rows: DenseRows | CSRRows
    positive: np.ndarray
    first: np.ndarray
    second: np.ndarray
    mean_norm: float

    @classmethod
    def of(cls, sample: Sample) -> PairSample:
        """Return the pairs of a sample."""
        positive, (low, high) = sample.positive, np.asarray(sample.means)[:, :-SLOTS]
        first, second = (np.flatnonzero(positive == c).astype(np.uint32) for c in (positive[0], ~positive[0]))
        mean_norm = sample.norms[first].mean() + sample.norms[second].mean() - 2 * low @ high
        return cls(sample.rows, positive, first, second, float(mean_norm))

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Return the positive and the negative rows of n random pairs."""
        first, second = (rows[rng.randint(len(rows), size=n)] for rows in (self.first, self.second))
        return (first, second) if self.positive[0] else (second, first)


class PairState(NamedTuple):
    """The weights and the number of steps so far."""

    w: AveragedWeights
    steps: np.ndarray


class PairSamplingClassifier(StochasticClassifier):
    """A classifier fitted by steps on random pairs."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **{name: kinds for name, kinds in StochasticClassifier._parameter_constraints.items() if name != "shuffle"},
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "eta0": [Interval(Real, 0, None, closed="neither"), None],
        "regularize_every": [Interval(Integral, 1, None, closed="left")],
        "average_every": [Interval(Integral, 1, None, closed="left")],
    }

    shuffle = False  # the pairs are random as they are

    _loss: int

    def __init__(
        self,
        *,
        alpha: float = 1e-3,
        eta0: float | None = None,
        regularize_every: int = 16,
        average_every: int = 16,
        standardize: bool = True,
        max_iter: int = 5,
        tol: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.eta0 = eta0
        self.regularize_every = regularize_every
        self.average_every = average_every
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    def _start(self, width: int, n_rows: int) -> PairState:
        return PairState(AveragedWeights.zeros(width), np.zeros(1))

    def _prepare(self, sample: Sample) -> Any:
        return PairSample.of(sample)

    def _epoch(self, state: PairState, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> None:
        positives, negatives = sample.draw(len(order), rng)
        curvature = 1 / self.eta0 if self.eta0 else sample.mean_norm or 1.0
        every = float(self.regularize_every), float(self.average_every)
        pair_epoch(state, sample.rows, positives, negatives, self._loss, self.alpha, curvature, *every)

    def _weights(self, state: PairState) -> np.ndarray:
        return state.w.average()


class ASAM(PairSamplingClassifier):
    """Accelerated stochastic AUC maximisation: the smoothed pairwise hinge loss, by gradients on random pairs.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regularisation strength, above 0: the penalty alpha/2 |w|^2 to the mean loss of a pair.

    eta0 : float, default=None
        The step is 1 / (alpha t + 1 / eta0) after t steps; None takes 1 over the mean squared distance of the pairs.
        The t0 of the papers is 1 / (alpha eta0).

    regularize_every : int, default=16
        Number of steps between two steps of the penalty, each of which makes up for all of them.

    average_every : int, default=16
        Number of steps between two weights that are counted in the average.

    standardize : bool, default=True
        Whether `fit` works on columns divided by their standard deviations. The data are not changed, and `coef_` is
        for the columns as they are.

    max_iter : int, default=5
        Number of passes; each takes as many steps as there are rows.

    tol : float, default=None
        Where `fit` stops before: the change of the weights in a pass, relative to their norm.

    warm_start : bool, default=False
        Whether `fit` goes on from where the last call ended, with the same random numbers: two fits of 5 passes are
        one of 10.

    random_state : int, RandomState instance or None, default=None
        What the pairs are drawn from.

    Attributes
    ----------
    coef_, intercept_, classes_, state_, n_iter_, convergence_, calibration_, n_features_in_, feature_names_in_
        As in :class:`aucmax.SOLAM`.

    See Also
    --------
    PSAM : With proximal steps, on the hinge loss itself.

    Notes
    -----
    The defaults were chosen on validation rows of eight data sets: on none of them was another alpha up to 0.01 better
    by more than 0.002 in AUC, for ASAM or PSAM.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import ASAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = ASAM(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.99)
    True
    """

    _loss = SMOOTHED_HINGE


@jit
def pair_epoch(state, rows, positives, negatives, loss, alpha, curvature, regularize_every, average_every):
    """Take the steps 1 to 4 on each pair; `curvature` is 1 / eta0."""
    w, t = state.w, state.steps[0]
    scratch = np.zeros_like(w.u)
    regularize_at = (t // regularize_every + 1.0) * regularize_every
    average_at = (t // average_every + 1.0) * average_every
    for n in range(positives.shape[0]):
        i, j = positives[n], negatives[n]
        t += 1.0
        short = 1.0 - pair_score(w, rows, i, j)
        if short > 0.0:
            norm = pair_norm(rows, i, j, scratch)
            if norm > 0.0:
                slope = min(short, 1.0) if loss == SMOOTHED_HINGE else 1.0
                pair_step(w, min(slope / (alpha * t + curvature), short / norm), rows, i, j)
        if t == regularize_at:
            shrink(w, (alpha * (t - regularize_every) + curvature) / (alpha * t + curvature))
            regularize_at += regularize_every
        if t == average_at:
            add_to_average(w, 1.0)
            average_at += average_every
    state.steps[0] = t
