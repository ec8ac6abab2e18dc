"""SPAM: stochastic proximal AUC maximisation, with an L2, an L1 or an elastic net penalty.

Natole, Ying and Lyu (2018), Stochastic proximal algorithms for AUC maximization; a rival of SHT-AUC in Yang, Zhou, Lei
and Ying (2020).

Objective
---------
    f(w)/2 + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)

as in `AUCClassifier`, with l1_ratio = 0 for "l2" and 1 for "l1". At the optimum the saddle variables of SOLAM are
a = w.m+, b = w.m- and c = b - a, with m+ and m- the class means; where these are known, the variables need not be
learned, and what is left is a stochastic gradient in w alone, followed by the proximal map of the penalty.

One step on row t
-----------------
0. Before the first pass: p, m+, m- of the training set (by weight), and z.m+, z.m- of each row.
1. The step is eta = eta0 / sqrt(t); without eta0 it is 1 / sqrt(t) over the mean of |z|^2, but never so long that a row
   moves its own score past its target (`averages.data_step`).
2. y = +1:  w -= eta 2 (1 - p)(s - b - 1) z
   y = -1:  w -= eta 2 p (s - a + 1) z        s = w.z
   a and b follow w through z.m+ and z.m-, at no cost. (The signs matter: c = a - b biases the gradient.)
3. w <- the proximal map of eta 2 p (1 - p) alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2).
4. The result is the average of the w, or the last one.

An average of sparse vectors is not sparse, and in the last w the noise of single rows is larger than a single
threshold, so neither has many zeros. With an L1 part the result is therefore the average after one proximal gradient
step on the whole training set: near the optimum such a step finds the columns whose weight there is zero (Lee and
Wright, 2012, Manifold identification in dual averaging).

The L2 part of the map is a change of scale. The L1 part costs O(d), so on sparse rows one is taken for every
d / (nonzeros of a row) steps together, with the sum of their etas: O(nonzeros) a step again. On rows without zeros it
is taken after every step, as in the paper.

variant="paper"
---------------
1. The step is eta = eta0 / sqrt(t), with eta0 the paper's C.
3. w <- the proximal map of eta alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2), after every step. So the penalty is
   beside p (1 - p) f(w), the paper's beta_1 is alpha (1 - l1_ratio) and its beta_2 is alpha l1_ratio.
4. The result is the average as it is.
"""

from __future__ import annotations

import dataclasses
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._compat import Interval, StrOptions, jit
from ..solvers.descent import largest_eigenvalue
from .engine.averages import (
    SCALE,
    AveragedWeights,
    add_to_average,
    data_step,
    fold,
    mean_scores,
    score,
    shrink,
    step,
    unfold,
)
from .engine.epochs import StochasticClassifier
from .engine.proximal import soft_threshold
from .engine.row_access import combine_rows, coordinates, fetch_ahead, score_rows, steps_per_sweep, weight_vector
from .engine.sample import Sample
from .engine.variant import NOT_NEGATIVE


class SPAMState(NamedTuple):
    """State of SPAM."""

    w: AveragedWeights  # the weights
    steps: np.ndarray  # shape (1,): the number of steps so far


class SPAM(StochasticClassifier):
    """Stochastic proximal AUC maximisation, in O(nonzeros) a row.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        The penalty on the weights.

    alpha : float, default=1e-3
        Regularisation strength, as in :class:`aucmax.AUCClassifier`; with variant="paper" the paper's beta.

    l1_ratio : float, default=0.5
        Share of the L1 penalty in the elastic net. The paper has beta_1 for the L2 part and beta_2 for the L1 part:
        give ``alpha=beta_1 + beta_2`` and ``l1_ratio=beta_2 / (beta_1 + beta_2)``.

    eta0 : float, default=None
        The step on row t is eta0 / sqrt(t), with eta0 the C of the paper. None takes 1 over the mean squared norm of
        the rows, and 1 with variant="paper", whose values are 10^-5 to 10^2.

    average : bool, default=None
        Whether the result is the average of the weights over all steps or the last ones. None takes the average, which
        an L1 penalty makes sparse by a proximal gradient step on all rows, unless variant="paper" is given.

    See Also
    --------
    AUCClassifier : The exact minimisers.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are centred and standardised: rows that are far from zero tell mostly where they are.
    - without eta0, steps follow the scale of the rows, and no row moves its own score past its target.
    - alpha is beside f/2, as for all classifiers here, and not beside p (1 - p) f: it does not depend on the classes.
    - an L1 penalty is taken for several steps at once on sparse rows, so that a step costs O(nonzeros).
    - with an L1 penalty the result is made sparse in the end.

    SPAMl1 and SPAMl1l2 are `penalty="l1"` and `penalty="elasticnet"`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import SPAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPAM(penalty="l1", alpha=0.2, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.98), bool((clf.coef_ == 0).sum() > 10)
    (True, True)
    """

    penalty: str = "l2"
    alpha: float = 1e-3
    l1_ratio: float = 0.5
    eta0: float | None = None
    average: bool | None = None
    shuffle: bool = True

    _parameter_constraints = {  # noqa: RUF012
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
        "alpha": [NOT_NEGATIVE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }
    _by_variant = {  # noqa: RUF012
        "eta0": (None, 1.0),
        "average": (None, True),
        "_beside_half_loss": (True, False),
        "_thresholds_together": (True, False),
    }

    def _penalties(self) -> tuple[float, float]:
        """Return the strengths of the L1 and the L2 part."""
        l1_ratio = {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]
        return self.alpha * l1_ratio, self.alpha * (1 - l1_ratio)

    def _start(self, n_features: int, n_rows: int) -> SPAMState:
        return SPAMState(AveragedWeights.zeros(n_features), np.zeros(1))

    def _prepare(self, sample: Sample) -> Sample:
        projections = np.column_stack([score_rows(sample.rows, m) for m in np.asarray(sample.means)])
        return dataclasses.replace(sample, projections=projections)

    def _epoch(self, state: SPAMState, sample: Sample, drawn: np.ndarray) -> None:
        p, (l1, l2) = sample.share, self._penalties()
        beside = 2 * p * (1 - p) if self._chosen("_beside_half_loss") else 1.0  # the steps multiply f/2 by 2 p (1 - p)
        stride = steps_per_sweep(sample.rows) if self._chosen("_thresholds_together") else 1
        rows = sample.rows, sample.norms, sample.positive, sample.means, sample.projections, drawn
        eta0 = self._chosen("eta0") or 0.0
        proximal_epoch(state, *rows, eta0, beside * l1, beside * l2, p, sample.mean_norm, stride)

    def _finish(self, w: np.ndarray, sample: Sample) -> np.ndarray:
        l1, l2 = self._penalties()
        if l1 == 0 or self._chosen("average") is not None:
            return w
        v = coordinates(w).copy()  # settled, since each pass ends with a threshold
        low, high = sample.centers

        def curvature(v: np.ndarray) -> np.ndarray:
            """Return M v, with M = C+ + C- + delta delta' the Hessian of f/2."""
            scores = score_rows(sample.rows, weight_vector(sample.rows, v))
            centred = scores - np.where(sample.positive, high @ v, low @ v)
            within = coordinates(combine_rows(sample.rows, sample.pair_weights * centred))
            return within + (high - low) * ((high - low) @ v)

        # A proximal gradient step descends for any estimate above one half of the largest eigenvalue.
        size = largest_eigenvalue(curvature, len(v)) or 1.0
        v -= (curvature(v) - (high - low)) / size
        soft_threshold(v, l1 / size, l2 / size)
        return weight_vector(sample.rows, v)


@jit
def proximal_epoch(state, rows, norms, positive, means, projections, order, eta0, l1, l2, p, mean_norm, stride):
    """Take the steps 1 to 4 on the rows in this order; eta0 = 0 stands for steps from the data.

    l1 and l2 are the strengths of the penalties beside p (1 - p) f.
    """
    w, t = state.w, state.steps[0]
    b, a = mean_scores(w, means)
    etas = 0.0
    for n in range(order.shape[0]):
        i = order[n]
        fetch_ahead(rows, order, n)
        t += 1.0
        eta = (eta0 if eta0 > 0.0 else 1.0) / np.sqrt(t)
        if eta0 == 0.0:
            eta = data_step(eta, mean_norm, norms[i])
        s = score(w, rows, i)
        change = -2.0 * eta * ((1.0 - p) * (s - b - 1.0) if positive[i] else p * (s - a + 1.0))
        step(w, change, rows, i, s, norms[i])
        b += change * projections[i, 0]
        a += change * projections[i, 1]
        etas += eta
        if l1 > 0.0 and ((n + 1) % stride == 0 or n + 1 == order.shape[0]):
            unfold(w, rows)
            soft_threshold(coordinates(w.u), etas * l1 / w.scalars[SCALE], 0.0)
            fold(w, rows)
            b, a = mean_scores(w, means)
            etas = 0.0
        if l2 > 0.0:
            shrunk = 1.0 / (1.0 + eta * l2)
            shrink(w, shrunk)
            a, b = a * shrunk, b * shrunk
        add_to_average(w, 1.0)
    state.steps[0] = t
