"""Uni-Squ, Uni-Exp and Uni-Log: losses of single rows that count both classes alike.

Kotlowski, Dembczynski and Huellermeier (2011), Bipartite ranking through minimization of univariate loss; rivals of
OPAUC in Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization.

Objective
---------
    F(w, c) = (1/n+) sum over positives of l(s) + (1/n-) sum over negatives of l(-s) + alpha/2 |w|^2,    s = w.z + c

with n+ and n- the numbers of rows of the classes (the sums of their weights, with which rows then count in the sums)
and l(m) the loss of the margin m:

    Uni-Squ  (1 - m)^2        Uni-Exp  exp(-m)        Uni-Log  log(1 + exp(-m))

c has no penalty, so that a shift of the columns changes nothing; it is part of the model that is fitted and not of the
result, whose `intercept_` is found as for all estimators here.

The exact minimiser
-------------------
Uni-Squ: with C+ and C- the class covariances and delta = m+ - m-, the best c makes the mean scores of the classes
opposite, and what is left is w'(C+ + C-)w + 2 (1 - w.delta / 2)^2 + alpha/2 |w|^2. Its minimiser is

    w = (C+ + C- + delta delta' / 2 + alpha/2 I)^-1 delta = v / (1 - v.delta / 2)

with v the weights of `AUCClassifier(alpha=alpha / 2)` (Sherman-Morrison): the univariate and the pairwise square loss
rank alike.

Uni-Exp and Uni-Log: Newton's method, with conjugate gradients for its steps. Margins are linear in the step, so each
length tried costs O(n). A length at which the exponential overflows is rejected like any other that is too long: at a
point as good as w = 0 or better, no row has l(m) > 2 max(n+, n-).

One step of SGD on row t, of class y
------------------------------------
1. T_y and N_y are the number and the mean of |z|^2 of the rows of class y so far. Until both classes were seen, nothing
   more is done. rho = (N+ + N-) / (2 d) is the square of the constant column that belongs to c, of the size of others.
2. The step is gamma = eta0 / sqrt(t). Without eta0 it is, with h = l''(0),

       1 / gamma = 2 h (N+ + N- + 2 rho) sqrt(1 + t / 1000) + alpha t

   A step as long as the curvature allows, its decline where nothing more is known of the objective, and the decline
   that its strong convexity allows.
3. With m = y (w.z + c) and the class weight t / T_y: find the change of the margin e that solves

       e = -gamma (t / T_y) (|z|^2 + rho) l'(m + e)

   and do w += e y z / (|z|^2 + rho), c += rho e y / (|z|^2 + rho). This is the step to the minimiser of the loss of
   the row plus the squared distance (Kulis and Bartlett, 2010, Implicit online learning). Unlike a gradient step it
   cannot overshoot, however long or rare the row is, and however steep the exponential is at it.
4. w /= 1 + gamma alpha.
5. The result is the average of the w with the masses t (Lacoste-Julien, Schmidt and Bach, 2012).

variant="paper"
---------------
The papers name the losses and a grid of steps, and no more; their linear models are w.z. So c is 0 for both solvers,
the exact one minimises F(w, 0), and steps are plain stochastic gradients. On a row of class y, with n_y the number of
rows of that class and n of all (of the rows so far in `partial_fit`),

    w <- w - eta0 (alpha w + (n / n_y) l'(y w.z) y z)

The step eta0 is constant, alpha is 0 unless it is given, and the result is the last w.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._compat import StrOptions, jit
from .._docs import add_sections
from ..losses.rowwise import logistic_terms
from ..rows.protocol import Rows
from ..solvers.candidate import Candidate
from ..solvers.conjugate_gradients import Operator, conjugate_gradients
from ..solvers.descent import MAX_NEWTON, DescentPoint
from ..solvers.problem import Objective as PairwiseObjective
from .engine.averages import AveragedWeights, add_to_average, score, shrink, step
from .engine.epochs import EpochLoop, OnlineClassifier
from .engine.row_access import combine_rows, coordinates, n_columns, score_rows, weight_vector
from .engine.sample import Sample
from .engine.variant import EXAMPLE, POSITIVE

SQUARE, EXPONENTIAL, LOGISTIC = range(3)
STEADY = 1000  # rows after which the steps fall
MAX_PLAIN_CG, TOL = 5000, 1e-9  # of the exact solver, whose conjugate gradients have no preconditioner

Terms = tuple[np.ndarray, np.ndarray, np.ndarray]  # a loss of margins, and its first and second derivative


def square_terms(m: np.ndarray) -> Terms:
    """Return (1 - m)^2 and its derivatives."""
    return (1 - m) ** 2, 2 * (m - 1), np.full_like(m, 2.0)


def exponential_terms(m: np.ndarray) -> Terms:
    """Return exp(-m) and its derivatives."""
    e = np.exp(-m)
    return e, -e, e


TERMS: tuple[Callable[[np.ndarray], Terms], ...] = (square_terms, exponential_terms, logistic_terms)


class UnivariateState(NamedTuple):
    """State of the univariate algorithms."""

    w: AveragedWeights  # the weights
    scalars: np.ndarray  # shape (5,): rows of each class so far, their mean |z|^2, and c


class UnivariateClassifier(OnlineClassifier):
    """A classifier of a loss of single rows.

    Parameters
    ----------
    alpha : float, default=None
        Regularisation strength, above 0. None is 1e-2, and no penalty with variant="paper" and "sgd".

    solver : {"sgd", "exact"}, default="sgd"
        "sgd" passes over single rows and has `partial_fit`. "exact" goes to the minimiser, from the moments of the
        classes or, for Uni-Exp and Uni-Log, by Newton's method; it uses none of the parameters below but
        `standardize` and `variant`. With variant="paper" neither has the intercept c, which the papers do not have.

    eta0 : float, default=None
        The step on row t is eta0 / sqrt(t); None takes steps from the data. Rows that are longer or rarer than others
        never overshoot, whatever it is. With variant="paper" the step is eta0 itself, the paper's eta, and a plain
        gradient step; None is 2^-9 then, and the paper's values are 2^-12 to 2^10.

    Attributes
    ----------
    n_iter_ : int
        Passes made, or iterations of the exact solver.

    convergence_ : ndarray of shape (`n_iter_`,)
        The number that `tol` is compared with, after each pass; for the exact solver the norm of the gradient over that
        at 0.
    """

    alpha: float | None = None
    solver: str = "sgd"
    eta0: float | None = None
    average: bool | None = None

    _parameter_constraints = {"alpha": [POSITIVE, None], "solver": [StrOptions({"sgd", "exact"})]}  # noqa: RUF012
    _by_variant = {"eta0": (None, 2.0**-9), "average": (True, False)}  # noqa: RUF012

    _loss: ClassVar[int]  # SQUARE, EXPONENTIAL or LOGISTIC

    partial_fit = available_if(lambda self: self.solver == "sgd")(OnlineClassifier.partial_fit)

    def _start(self, n_features: int, n_rows: int) -> UnivariateState:
        return UnivariateState(AveragedWeights.zeros(n_features), np.zeros(5))

    def _epoch(self, state: UnivariateState, sample: Sample, drawn: np.ndarray) -> None:
        rows, loss = (sample.rows, sample.norms, sample.positive, drawn), self._loss
        eta0, alpha = self._chosen("eta0"), self._strength()
        if self._is_paper:
            gradient_epoch(state, *rows, sample.all_totals, loss, eta0, alpha)
        else:
            univariate_epoch(state, *rows, loss, float(TERMS[loss](np.zeros(1))[2][0]), eta0 or 0.0, alpha)

    def _strength(self) -> float:
        """Return alpha."""
        if self.alpha is None:
            return 0.0 if self._is_paper and self.solver == "sgd" else 1e-2
        return self.alpha

    def _run(self, loop: EpochLoop, progress: dict[str, Any]) -> dict[str, Any]:
        if self.solver == "sgd":
            return super()._run(loop, progress)

        def solve(progress: dict[str, Any], sample: Sample) -> None:
            objective = UnivariateObjective(self._loss, sample, self._strength(), not self._is_paper)
            v, progress["measures"] = self._minimise(objective, loop)
            progress["weights"] = weight_vector(sample.rows, v[:-1])
            progress["state"].w.restart(progress["weights"])
            progress["state"].scalars[-1] = v[-1]

        with self._task(loop.context, "solve"):
            progress = loop.rows.iterate("solve", progress, loop.prepare, solve, lambda progress: False)
        if progress["measures"][-1] > TOL:
            warnings.warn(
                f"The exact solver of {type(self).__name__} stopped where the gradient was "
                f"{progress['measures'][-1]:.1e} of the first one (above {TOL:g}): increase alpha.",
                ConvergenceWarning,
                stacklevel=6,
            )
        return progress

    def _check_total_weight(self, rows: Rows) -> None:
        if self.solver == "sgd":
            super()._check_total_weight(rows)

    def _minimise(self, objective: UnivariateObjective, loop: EpochLoop) -> tuple[np.ndarray, list[float]]:
        """Return the minimiser (w, c), and the norm of the gradient over that at 0 after each iteration."""
        return newton(objective, np.zeros(loop.rows.n_features + 1))


@add_sections(EXAMPLE, name="UniSqu", parameters="")
class UniSqu(UnivariateClassifier):
    """Univariate square loss with class weights (Uni-Squ): class-balanced least squares.

    It minimises the mean of (1 - s)^2 over the positives plus the mean of (1 + s)^2 over the negatives plus
    ``alpha/2 |w|^2``, where s = w.x + c. Its minimiser points where the minimiser of the pairwise square loss does.

    See Also
    --------
    UniExp, UniLog : The exponential and the logistic loss.
    AUCClassifier : The pairwise square loss. With alpha / 2 it ranks as the minimiser here does.

    Notes
    -----
    How the default differs from the papers, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are centred and standardised.
    - steps are implicit: no row overshoots, where a gradient step on the exponential loss of a long row may be of any
      length. They follow the scale of the rows and fall; there is an intercept, so that a shift changes nothing; and
      class weights are from the rows so far. These are measured together, over the best of eight constant steps.
    - the result is an average, and there is a penalty.
    """

    _loss = SQUARE

    def _minimise(self, objective: UnivariateObjective, loop: EpochLoop) -> tuple[np.ndarray, list[float]]:
        if self._is_paper:
            return super()._minimise(objective, loop)
        pairwise = PairwiseObjective("squared", standardize=self._chosen("standardize"), max_iter=MAX_PLAIN_CG)
        unit = np.where(loop.scaling.unit == 0, 1.0, loop.scaling.unit)  # 0 for constant columns, whose weight is 0
        v = pairwise.problem(loop.rows).solve(Candidate(self._strength() / 2), TOL / 10).weights / unit
        low, high = objective.means
        w = v / (1 - v @ (high - low) / 2)
        # What rounding left, where columns are nearly dependent, Newton's method takes away.
        return newton(objective, np.append(w, -w @ (low + high) / 2))


@add_sections(EXAMPLE, name="UniExp", parameters="")
class UniExp(UnivariateClassifier):
    """Univariate exponential loss with class weights (Uni-Exp).

    It minimises the mean of exp(-s) over the positives plus the mean of exp(s) over the negatives plus
    ``alpha/2 |w|^2``, where s = w.x + c. With the best c, the two means together are twice the root of the mean of
    exp(-w.(x+ - x-)) over all pairs: it ranks as the pairwise exponential loss does, but for the penalty.

    See Also
    --------
    UniSqu : The square loss, with notes on how the default differs from the papers.
    UniLog : The logistic loss.
    """

    _loss = EXPONENTIAL


@add_sections(EXAMPLE, name="UniLog", parameters="")
class UniLog(UnivariateClassifier):
    """Univariate logistic loss with class weights (Uni-Log): class-balanced logistic regression.

    It minimises the mean of log(1 + exp(-s)) over the positives plus the mean of log(1 + exp(s)) over the negatives
    plus ``alpha/2 |w|^2``, where s = w.x + c.

    See Also
    --------
    UniSqu : The square loss, with notes on how the default differs from the papers.
    UniExp : The exponential loss.
    """

    _loss = LOGISTIC


# The exact solver


class UnivariateObjective:
    """F of v = (w, c), with the margins y (w.z + c) for scores, as :mod:`aucmax.solvers.descent` takes it.

    Without an intercept the derivatives by c are 0, so that a c of 0 stays 0.
    """

    def __init__(self, loss: int, sample: Sample, alpha: float, intercept: bool = True) -> None:
        self.terms, self.rows, self.intercept = TERMS[loss], sample.rows, intercept
        self.means = sample.centers
        self.signs = np.where(sample.positive, 1.0, -1.0)
        self.weights = sample.pair_weights
        self.penalty = np.append(np.full(self.means.shape[1], alpha), 0.0)

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return the margins of all rows."""
        return self.signs * (score_rows(self.rows, weight_vector(self.rows, v[:-1])) + v[-1])

    def evaluate(self, v: np.ndarray, margins: np.ndarray) -> tuple[float, Callable[[], np.ndarray]]:
        """Return F, and a function that returns its gradient."""
        with np.errstate(over="ignore"):  # infinite is the right answer
            values, slopes, _ = self.terms(margins)
            value = float(self.weights @ values + self.penalty @ v**2 / 2)
        return value, lambda: self._pull(slopes) + self.penalty * v

    def curvature(self, margins: np.ndarray) -> Operator:
        """Return the function that multiplies a row of shape (1, n_features + 1) by the Hessian of F."""
        h = self.terms(margins)[2]
        return lambda v: (self._pull(h * self.scores(v[0])) + self.penalty * v[0])[None]

    def _pull(self, g: np.ndarray) -> np.ndarray:
        g = self.weights * self.signs * g
        return np.append(coordinates(combine_rows(self.rows, g)), g.sum() if self.intercept else 0.0)


def newton(objective: UnivariateObjective, v: np.ndarray) -> tuple[np.ndarray, list[float]]:
    """Return the minimiser, from v on, and the norm of the gradient over that at 0 after each step."""
    first = np.linalg.norm(DescentPoint(objective, 0 * v).gradient) or 1.0
    at = DescentPoint(objective, v)
    residuals = [float(np.linalg.norm(at.gradient) / first)]
    while residuals[-1] > TOL and len(residuals) <= MAX_NEWTON:
        # The rougher the steps are to begin with the fewer products they take; towards the end they become exact.
        accuracy = min(0.1, residuals[-1])
        hessian, b = objective.curvature(at.scores), -at.gradient[None]
        (direction,), _ = conjugate_gradients(hessian, lambda r: r, b, accuracy, MAX_PLAIN_CG)
        new = at.step(direction)
        if new is None:
            break
        at = new
        residuals.append(float(np.linalg.norm(at.gradient) / first))
    return at.v, residuals[1:] or residuals  # without the start, unless it was the end


# The kernels


@jit
def implicit_change(loss, m, h):
    """Return the e that solves e = -h l'(m + e), for h > 0."""
    if loss == SQUARE:
        return 2.0 * h * (1.0 - m) / (1.0 + 2.0 * h)
    if loss == EXPONENTIAL:
        return lambert_w_exp(np.log(h) - m)
    # e = h / (1 + exp(m + e)) is in (0, h): Newton's method, and bisection where it leaves what is known to hold it.
    low, high, e = 0.0, h, 0.0
    while True:
        q = 1.0 / (1.0 + np.exp(m + e))
        excess = e - h * q
        if excess > 0.0:
            high = e
        else:
            low = e
        new = e - excess / (1.0 + h * q * (1.0 - q))
        if not abs(new - e) > 1e-12 * e:  # NaN ends it too
            return new
        e = new if low < new < high else 0.5 * (low + high)


@jit
def lambert_w_exp(k):
    """Return the e > 0 that solves e + log(e) = k: Lambert's W of exp(k), without overflow."""
    if k < -36.0:
        return np.exp(k)
    # Newton's method on a concave function climbs to the root from below, where W(x) >= x / (1 + x) and, from e on,
    # W(x) >= log(x) - log(log(x)).
    e = k - np.log(k) if k > 1.0 else 1.0 / (1.0 + np.exp(-k))
    while True:
        new = e * (1.0 + k - np.log(e)) / (1.0 + e)
        if not new - e > 1e-12 * new:  # NaN ends it too
            return new
        e = new


@jit
def univariate_epoch(state, rows, norms, positive, order, loss, h, eta0, alpha):
    """Take the steps 1 to 5 on the rows in this order; eta0 = 0 stands for steps from the data."""
    w = state.w
    d = n_columns(w.u)
    counts, means, c = state.scalars[:2], state.scalars[2:4], state.scalars[4:]
    for i in order:
        norm, own = norms[i], int(positive[i])
        counts[own] += 1.0
        means[own] += (norm - means[own]) / counts[own]
        size = means[0] + means[1]
        if counts[0] == 0.0 or counts[1] == 0.0 or size == 0.0:
            continue
        t = counts[0] + counts[1]
        rho = size / (2 * d)
        if eta0 > 0.0:
            gamma = eta0 / np.sqrt(t)
        else:
            gamma = 1.0 / (2.0 * h * (size + 2.0 * rho) * np.sqrt(1.0 + t / STEADY) + alpha * t)
        y = 1.0 if own == 1 else -1.0
        s = score(w, rows, i)
        a = y * implicit_change(loss, y * (s + c[0]), gamma * t / counts[own] * (norm + rho)) / (norm + rho)
        step(w, a, rows, i, s, norm)
        c[0] += rho * a
        shrink(w, 1.0 / (1.0 + gamma * alpha))
        add_to_average(w, t)


@jit
def slope(loss, m):
    """Return l'(m)."""
    if loss == SQUARE:
        return 2.0 * (m - 1.0)
    return -np.exp(-m) if loss == EXPONENTIAL else -1.0 / (1.0 + np.exp(m))


@jit
def gradient_epoch(state, rows, norms, positive, order, totals, loss, eta, alpha):
    """Take the steps of variant="paper" on the rows in this order; `totals` are 0 in a stream."""
    w, counts = state.w, state.scalars[:2]
    is_stream = totals[0] == 0.0
    for i in order:
        own, y = (1, 1.0) if positive[i] else (0, -1.0)
        counts[own] += 1.0
        if is_stream and counts[1 - own] == 0.0:
            continue
        weights = counts if is_stream else totals
        s = score(w, rows, i)
        g = slope(loss, y * s) * y * (weights[0] + weights[1]) / weights[own]
        if alpha > 0.0:
            shrink(w, 1.0 - eta * alpha)
        step(w, -eta * g, rows, i, s, norms[i])
        add_to_average(w, counts[0] + counts[1])
