"""SOLAM and regSOLAM: AUC maximisation as a stochastic saddle-point problem.

Ying, Wen and Lyu (2016), Stochastic online AUC maximization; Natole, Ying and Lyu (2019), Stochastic AUC
optimization algorithms with linear convergence.

Objective
---------
SOLAM minimises the pairwise square loss f(w) over the ball |w| <= R; regSOLAM minimises f(w)/2 + alpha/2 |w|^2, as
`AUCClassifier` does. With p the share of the positives, p (1 - p) f(w) is, but for a constant, the minimum over a and b
and the maximum over c of the mean over single rows of

    y = +1:  (1 - p) [(s - a)^2 - 2 (1 + c) s] - p (1 - p) c^2
    y = -1:       p  [(s - b)^2 + 2 (1 + c) s] - p (1 - p) c^2        s = w.z

(at the optimum a and b are the mean scores of the classes, and c = b - a), so each row by itself gives an unbiased
gradient in O(nonzeros of the row).

One step on row t, with all gradients at the old values
---------------------------------------------------
1. p is the share of the positives in rows 1..t; until both classes were seen, nothing more is done.
2. The step is gamma = eta0 / sqrt(t). Without eta0 it is 1 / (4 p (1 - p) sqrt(t)) for a, b and c, and that over the
   mean of |z|^2 so far for w: the curvature of the objective is in proportion to p (1 - p). No step passes the target
   of its own row: with q = 1 - p at a positive and p at a negative row, gamma is at most 1 / (2 q), and for w at most
   1 / (4 q |z|^2).
3. y = +1:  w -= gamma 2 (1 - p)(s - a - 1 - c) z;  a += gamma 2 (1 - p)(s - a);  c -= gamma 2 (1 - p)(s + p c)
   y = -1:  w -= gamma 2 p (s - b + 1 + c) z;       b += gamma 2 p (s - b);       c += gamma 2 p (s - (1 - p) c)
4. regSOLAM: w /= 1 + gamma 2 p (1 - p) alpha.
5. Project: |w| <= R, |a|, |b| <= R k, |c| <= 2 R k with k the largest |z| so far (the authors' code bounds a and b on
   one side only). regSOLAM takes R = sqrt(1 / alpha), outside of which no minimiser lies.
6. The result is the average of the w, in which step t has the mass t.

The paper's penalty is lambda/2 |w|^2 beside f, which is alpha = lambda / 2 and R = sqrt(2 / lambda).

variant="paper"
---------------
1. Steps are taken from the first row on: the gradients are 0 until both classes were seen.
2. The step is gamma = eta0 / sqrt(t) for all of w, a, b and c, with eta0 the papers' zeta.
4. regSOLAM: the gradient of w has lambda w in it, lambda = 2 alpha. This is (6) of the paper, whose penalty is beside
   p (1 - p) f and not beside f as in its (3): what is minimised is p (1 - p) f(w) + alpha |w|^2.
5. k is the largest |z| of all rows of `fit` (of the rows so far in `partial_fit`); the papers' rows have norm 1.
6. Step t counts the w before it, with the mass gamma.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from .._compat import jit
from .._docs import add_sections
from .engine.averages import AveragedWeights, add_to_average, data_step, score, shrink, step_in_ball
from .engine.epochs import OnlineClassifier
from .engine.row_access import fetch_ahead
from .engine.sample import Sample
from .engine.variant import EXAMPLE, POSITIVE


class SaddleState(NamedTuple):
    """State of SOLAM and regSOLAM."""

    w: AveragedWeights  # the weights
    scalars: np.ndarray  # shape (7,): rows and positives so far, a, b, c, and the mean and the largest |z|^2


class SaddlePointClassifier(OnlineClassifier):
    """A classifier by steps on the saddle function.

    Parameters
    ----------
    eta0 : float, default=None
        The step on row t is eta0 / sqrt(t), with eta0 the zeta of the paper. None takes 1 over the mean squared norm of
        the rows and over 4 p (1 - p), p the share of the positives; with variant="paper" 1, the least of the paper's
        values 1, 10, ..., 100.

    average : bool, default=True
        Whether the result is the average of the weights over all steps, later ones counting for more (with
        variant="paper" in proportion to the steps), or the last ones.
    """

    eta0: float | None = None
    average: bool = True

    _parameter_constraints = {"average": ["boolean"]}  # noqa: RUF012
    _by_variant = {"eta0": (None, 1.0)}  # noqa: RUF012

    @abstractmethod
    def _penalty(self) -> tuple[float, float]:
        """Return alpha and the radius."""

    def _start(self, n_features: int, n_rows: int) -> SaddleState:
        return SaddleState(AveragedWeights.zeros(n_features), np.zeros(7))

    def _epoch(self, state: SaddleState, sample: Sample, drawn: np.ndarray) -> None:
        rows, eta0 = (sample.rows, sample.norms, sample.positive, drawn), self._chosen("eta0")
        if self._is_paper:
            if sample.all_totals.any():  # in a stream the rows to come are not known
                state.scalars[-1] = max(state.scalars[-1], sample.norms.max())
            paper_epoch(state, *rows, eta0, *self._penalty())
        else:
            saddle_epoch(state, *rows, eta0 or 0.0, *self._penalty())


@add_sections(EXAMPLE, name="SOLAM", parameters="")
class SOLAM(SaddlePointClassifier):
    """Stochastic online AUC maximisation: the pairwise square loss over a ball, in O(nonzeros) a row.

    Parameters
    ----------
    radius : float, default=10.0
        Bound on the norm of the weights of the standardised columns, the paper's R.

    See Also
    --------
    RegSOLAM : With an L2 penalty instead of the ball.
    AUCClassifier : The exact minimiser.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns are centred and standardised: rows that are far from zero tell mostly where they are, and so do columns of
      large units.
    - without eta0, steps follow the norm of the rows, which is 1 in the paper, and the share of the rarer class, and no
      row moves its own score past its target: eta0 need not be tuned.
    - nothing is averaged before both classes were seen, and later weights count for more.
    """

    radius: float = 10.0

    _parameter_constraints = {"radius": [POSITIVE]}  # noqa: RUF012

    def _penalty(self) -> tuple[float, float]:
        return 0.0, self.radius


@add_sections(EXAMPLE, name="RegSOLAM", parameters="alpha=0.01, ")
class RegSOLAM(SaddlePointClassifier):
    """SOLAM with an L2 penalty instead of the ball (regSOLAM): the objective of `AUCClassifier`, in O(nonzeros) a row.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regularisation strength, above 0, as in :class:`aucmax.AUCClassifier`. The lambda of the paper is 2 alpha.
        With variant="paper" the penalty is beside p (1 - p) times the loss, p the share of the positives.

    See Also
    --------
    SOLAM : With the ball instead.
    AUCClassifier : The exact minimiser.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns, steps and the average are as in :class:`aucmax.SOLAM`.
    - the penalty counts for p (1 - p): what is minimised is the paper's problem (3), whose (6) is another one.
    - the penalty is a proximal step: no step takes weights past 0, however strong it is. It is measured together with
      the average and p (1 - p), with steps from the paper's grid on both sides.
    """

    alpha: float = 1e-3

    _parameter_constraints = {"alpha": [POSITIVE]}  # noqa: RUF012

    def _penalty(self) -> tuple[float, float]:
        return self.alpha, 1 / np.sqrt(self.alpha)


@jit
def saddle_gradients(positive, s, a, b, c, p):
    """Return the gradients at a row with the score s: the factor of z in the gradient by w, and the ones by a, b, c."""
    if positive:
        return 2.0 * (1.0 - p) * (s - a - 1.0 - c), -2.0 * (1.0 - p) * (s - a), 0.0, -2.0 * (1.0 - p) * (s + p * c)
    return 2.0 * p * (s - b + 1.0 + c), 0.0, -2.0 * p * (s - b), 2.0 * p * (s - (1.0 - p) * c)


@jit
def clip(value, bound):
    """Return the number in [-bound, bound] next to a value."""
    return min(max(value, -bound), bound)


@jit
def paper_epoch(state, rows, norms, positive, order, zeta, alpha, radius):
    """Take the steps of variant="paper" on the rows in this order."""
    w = state.w
    t, n_positive, a, b, c, mean_norm, largest = state.scalars
    for n, i in enumerate(order):
        fetch_ahead(rows, order, n)
        t += 1.0
        n_positive += positive[i]
        largest = max(largest, norms[i])
        gamma, bound = zeta / np.sqrt(t), radius * np.sqrt(largest)
        add_to_average(w, gamma)
        s = score(w, rows, i)
        g_w, g_a, g_b, g_c = saddle_gradients(positive[i], s, a, b, c, n_positive / t)
        if alpha > 0.0:
            kept = 1.0 - gamma * 2.0 * alpha
            shrink(w, kept)
            s *= kept
        step_in_ball(w, -gamma * g_w, rows, i, s, norms[i], 1.0, radius)
        a, b, c = clip(a - gamma * g_a, bound), clip(b - gamma * g_b, bound), clip(c + gamma * g_c, 2.0 * bound)
    state.scalars[:] = t, n_positive, a, b, c, mean_norm, largest


@jit
def saddle_epoch(state, rows, norms, positive, order, eta0, alpha, radius):
    """Take the steps 1 to 6 on the rows in this order; eta0 = 0 stands for steps from the data."""
    w = state.w
    t, n_positive, a, b, c, mean_norm, largest = state.scalars  # largest: of |z|^2
    bound = radius * np.sqrt(largest)
    for n, i in enumerate(order):
        fetch_ahead(rows, order, n)
        t += 1.0
        share = 1.0 / t
        n_positive += positive[i]
        norm = norms[i]
        mean_norm += (norm - mean_norm) * share
        if norm > largest:
            largest = norm
            bound = radius * np.sqrt(largest)
        p = n_positive * share
        if n_positive == 0.0 or n_positive == t or mean_norm == 0.0:
            continue
        gamma = gamma_w = eta0 * np.sqrt(share)
        if eta0 == 0.0:
            q = 2.0 * (1.0 - p if positive[i] else p)
            gamma = np.sqrt(share) / (4.0 * p * (1.0 - p))
            gamma, gamma_w = min(gamma, 1.0 / q), data_step(gamma * q, mean_norm, norm) / q
        s = score(w, rows, i)
        g_w, g_a, g_b, g_c = saddle_gradients(positive[i], s, a, b, c, p)
        kept = 1.0 / (1.0 + gamma_w * 2.0 * p * (1.0 - p) * alpha)
        step_in_ball(w, -gamma_w * g_w, rows, i, s, norm, kept, radius)
        a, b, c = clip(a - gamma * g_a, bound), clip(b - gamma * g_b, bound), clip(c + gamma * g_c, 2.0 * bound)
        add_to_average(w, t)
    state.scalars[:] = t, n_positive, a, b, c, mean_norm, largest
