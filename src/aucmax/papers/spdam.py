"""SPDAM: a stochastic primal-dual algorithm for AUC maximisation, with linear convergence.

Natole, Ying and Lyu (2019), Stochastic AUC optimization algorithms with linear convergence; a variant of SPDC, Zhang
and Xiao (2017), Stochastic primal-dual coordinate method for regularized empirical risk minimization.

Objective
---------
The pairwise square loss with an L2 penalty, f(w)/2 + alpha/2 |w|^2, as in `AUCClassifier`. With m_y the class means,
p_y the shares of the classes, b = m- - m+ and x_i = (z_i - m_y) / sqrt(p_y) it is, but for the constant 1/2,

    P(w) = (1/n) sum (w.x_i)^2 / 2 + g(w),    g(w) = b.w + (b.w)^2 / 2 + alpha/2 |w|^2

       = max over beta of  (1/n) sum (beta_i w.x_i - beta_i^2 / 2) + g(w)

so each row has one dual variable, and the best beta_i is w.x_i. A row with a weight has the root of it, relative to the
mean weight, as a factor of x_i, and the shares p_y are shares of the weight. With u = (1/n) sum beta_i x_i, the dual
D(beta) is the minimum of this over w, which lies where (b b' + alpha I) w = -(u + b). For any w and beta, with v the
minimiser for u,

    P(w) - D(beta) = (1/n) sum (w.x_i - beta_i)^2 / 2 + (b.(w - v))^2 / 2 + alpha/2 |w - v|^2

bounds how far w is from optimal: a sum of squares, so nothing cancels. Over P(w) + 1/2 it is what `tol` is for.

With a radius R, w and v stay in the ball |w| <= R, the other penalty of the paper's (11). If mu is the multiplier of
the ball at v, for which (b b' + (alpha + mu) I) v = -(u + b), then mu |w - v|^2 / 2 + mu (R^2 - |w|^2) / 2 is added.

One pass over the rows
----------------------
1. u = (1/n) sum beta_i x_i afresh, so that rounding does not add up; the rows are put into a random order and cut into
   batches. For each batch I, of m rows:
2. beta_i <- (beta_i + sigma_i w~.x_i) / (1 + sigma_i) for i in I; step = (1/n) sum over I of (change of beta_i) x_i.
3. w+ solves (b b' + (alpha + 1/tau) I) w+ = w/tau - (u + (n/m) step) - b, by Sherman-Morrison; u <- u + step. With a
   radius the least number is added to the diagonal that brings w+ into the ball.
4. w~ <- w+ + theta (w+ - w), and w <- w+.

The steps
---------
The proof needs, in the paper with r_i = 4 max |x|^2,

    tau sigma_i r_i <= 1,   1 / (1 + 2 alpha tau) <= theta,   1 - 2 sigma_i m / (n (1 + 2 sigma_i)) <= theta <= 1

since for any numbers c_i, |sum over I of c_i x_i|^2 is at most m max |x|^2 times the sum over I of c_i^2. But it needs
this in the mean over all batches only, and there the sum over I of m k_i c_i^2 is enough, with L the largest eigenvalue
of (1/n) sum x_i x_i' = C+ + C- and k_i = q L + (1 - q) |x_i|^2, q = n (m - 1) / (m (n - 1)). The 4 becomes
(2 - m/n)^2 if Young's inequality treats its two products, of a change of u with a change of w, by the factors 1 and
1 - m/n that they have. So r_i = (2 - m/n)^2 k_i: for batches of 10% of a9a about 70 instead of 170,000, and the number
of passes falls with the root of it. Rows shorter than the longest have longer steps. With r = max r_i,

    sigma = [alpha (n - m) + sqrt(alpha^2 (n - m)^2 + alpha n m r)] / (m r),   tau = 1 / (sigma r)
    sigma_i = 1 / (tau r_i),   theta = 1 / (1 + 2 alpha tau)

are the paper's steps if all r_i are r, and like there the expected squared distances from the optimum fall by theta
with each batch. This is proved for batches drawn independently; in one random order after the other the measured rate
is at least as good. Steps that are given take the place of these, and the others follow by the three conditions.

A ball has no curvature: its multiplier stands for alpha in the formula of sigma. At the optimum it is at most
1 / (2 R^2), since f(0)/2 = 1/2. With alpha = 0, theta is 1, and the proof promises no rate.

variant="paper"
---------------
r_i = 4 max |x|^2 for all rows, which gives the steps of Theorem 4.1. Each batch has m rows, drawn from all rows without
replacement; a pass has as many batches as it takes for n rows. The paper misprints its (12) and the sigma of the
theorem, which both variants correct: docs/guide/misprints.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._compat import Interval, RealNotInt, jit
from ..solvers.descent import largest_eigenvalue
from .engine.epochs import StochasticClassifier
from .engine.row_access import (
    KernelRows,
    combine_rows,
    coordinates,
    row_axpy,
    row_dot,
    score_rows,
    settle,
    zero_weights,
)
from .engine.sample import Sample, draw_batches
from .engine.variant import COUNT, NOT_NEGATIVE, POSITIVE

SLACK = 1 + 1e-9  # rounding must not break a condition of the proof


class CentredRows(NamedTuple):
    """The rows x_i of the docstring above: each less its class mean, over the root of the share of its class."""

    rows: KernelRows  # the rows z
    positive: np.ndarray  # shape (n,): which are positive
    means: np.ndarray  # shape (2, width): the class means of z, as weight vectors
    # shape (n,): what z_i - m_y is divided by: sqrt(p_y) over the root of the relative weight of the row
    roots: np.ndarray
    norms: np.ndarray  # shape (n,): |x|^2 of each
    top: float  # the largest eigenvalue L of (1/n) sum x x'; not a number with variant="paper", which does not need it

    @classmethod
    def of(cls, sample: Sample, paper: bool = False) -> CentredRows:
        """Return the centred rows of a sample; the paper's have no L."""
        n, means, own = len(sample.positive), np.asarray(sample.means), sample.positive.astype(np.intp)
        roots = np.sqrt([1 - sample.share, sample.share])[own]
        if sample.weights is not None:
            roots /= np.sqrt(sample.weights / sample.weights.mean())
        x = cls(sample.rows, sample.positive, means, roots, np.empty(n), 0.0)
        towards = np.choose(own, [x.scores(mean) for mean in means])  # x . the mean of its own class
        # |z - m|^2 = |z|^2 - |m|^2 - 2 (z - m).m
        squares = sample.norms - np.sum(sample.centers**2, axis=1)[own] - 2 * roots * towards
        top = np.nan if paper else largest_eigenvalue(lambda s: x.scores(x.combine(s)), n)
        return x._replace(norms=np.maximum(squares, 0) / roots**2, top=top)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w.x of each row."""
        low, high = (coordinates(mean) @ coordinates(w) for mean in self.means)
        return (score_rows(self.rows, w) - np.where(self.positive, high, low)) / self.roots

    def combine(self, beta: np.ndarray) -> np.ndarray:
        """Return (1/n) sum beta_i x_i."""
        a = beta / (len(beta) * self.roots)
        return combine_rows(self.rows, a) - np.bincount(self.positive, a, 2) @ self.means


class Steps(NamedTuple):
    """The step sizes."""

    sigma: np.ndarray  # shape (n,): of the dual variable of each row
    tau: float  # of the weights
    theta: float  # how far w~ is ahead of w

    @classmethod
    def of(
        cls,
        x: CentredRows,
        alpha: float,
        m: int,
        paper: bool = False,
        radius: float = np.inf,
        given: Sequence[float | None] = (None, None, None),
    ) -> Steps:
        """Return the steps for batches of at least m rows, but for the sigma, tau and theta that are given."""
        n, (sigma, tau, theta) = len(x.norms), given
        convexity = max(alpha, 0.5 / radius**2)
        r = bounds_of_rows(x, m, convexity, paper)
        if tau is None:
            longest, rest = r.max(), convexity * (n - m)
            root = np.sqrt(rest**2 + convexity * n * m * longest)
            tau = 1 / (((rest + root) / (m * longest) if sigma is None else sigma) * longest)
        steps = cls(1 / (tau * r) if sigma is None else np.full(n, sigma), tau, 0.0)
        return steps._replace(theta=steps.least_theta(alpha, m) if theta is None else theta)

    def least_theta(self, alpha: float, m: int) -> float:
        """Return the least theta that the proof allows with this sigma and tau."""
        odds = 1 + 1 / (2 * self.sigma.min())
        return max(1 / (1 + 2 * alpha * self.tau), 1 - m / (len(self.sigma) * odds))


def bounds_of_rows(x: CentredRows, m: int, convexity: float, paper: bool) -> np.ndarray:
    """Return the r_i, with which the proof needs tau sigma_i r_i <= 1."""
    n = len(x.norms)
    if paper:
        return np.full(n, 4 * x.norms.max() or convexity)
    q = n * (m - 1) / (m * (n - 1))
    # Where there is less curvature than penalty, more of it costs nothing, and nothing is divided by 0.
    return np.maximum((2 - m / n) ** 2 * (q * x.top + (1 - q) * x.norms), convexity)


class PrimalDualState(NamedTuple):
    """State of SPDAM."""

    w: np.ndarray  # with ahead: the weights w and w~
    ahead: np.ndarray
    beta: np.ndarray  # shape (n,): the dual variable of each row that has weight
    u: np.ndarray  # (1/n) sum beta_i x_i, up to rounding


class SPDAM(StochasticClassifier):
    """Stochastic primal-dual AUC maximisation: the exact minimiser of the pairwise square loss, to any precision.

    It converges linearly, and a duality gap says how near it is.

    Parameters
    ----------
    alpha : float, default=0.1
        Regularisation strength, as in :class:`aucmax.AUCClassifier`: the paper's lambda. The number of passes grows
        with 1 / sqrt(alpha). It may be 0 if there is a radius.

    radius : float, default=None
        Radius R of a ball that the weights stay in, as in :class:`aucmax.SOLAM`. With ``alpha=0`` this is the penalty
        of the paper's (11). None leaves the weights free.

    batch_size : int or float, default=0.1
        Number of rows of a batch, or their share of all rows; at least 1, at most all. Every pass cuts the rows evenly
        into as few batches as that allows.

    sigma : float, default=None
        Step of the dual variables, for all rows. None takes the longest steps that the proof allows. `fit` warns of
        steps that it does not allow.

    tau : float, default=None
        Step of the weights, under the same terms.

    theta : float, default=None
        How far to look ahead, from 0 to 1, under the same terms; None takes the least that the proof allows.

    max_iter : int, default=2000
        Limit of passes over the rows.

    tol : float, default=1e-6
        Where `fit` stops: the duality gap over the objective. The objective is at most that share above its minimum.

    warm_start : bool, default=False
        Whether `fit` continues from the state of the last call, random numbers included: two fits of 5 passes are the
        same as one of 10. The rows must be as many as in the last call, since each has a dual variable.

    Attributes
    ----------
    convergence_ : ndarray of shape (`n_iter_`,)
        The relative duality gap after each pass.

    See Also
    --------
    AUCClassifier : The same minimiser in closed form.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns are standardised (a shift changes nothing here): the penalty then does not depend on their units.
    - the steps are as long as the proof allows: for batches of 10% of a9a the bound r that limits them is 70 instead of
      170,000, and the number of passes falls with the root of it.
    - each pass meets each row once, instead of batches drawn independently.

    The default of alpha is the best of 1e-3, 1e-2 and 1e-1 by test AUC on the benchmark data sets, or as good as the
    best, and needs the fewest passes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifier, SPDAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SPDAM(alpha=0.1, tol=1e-12, random_state=0).fit(X, y)
    >>> bool(clf.convergence_[-1] <= 1e-12)
    True
    >>> np.allclose(clf.coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, rtol=1e-4)
    True
    """

    alpha: float = 0.1
    radius: float | None = None
    batch_size: float = 0.1
    sigma: float | None = None
    tau: float | None = None
    theta: float | None = None
    max_iter: int = 2000
    tol: float | None = 1e-6

    _parameter_constraints = {  # noqa: RUF012
        "alpha": [NOT_NEGATIVE],
        **{name: [POSITIVE, None] for name in ("radius", "sigma", "tau")},
        "theta": [Interval(Real, 0, 1, closed="both"), None],
        "batch_size": [COUNT, Interval(RealNotInt, 0, 1, closed="right")],
    }
    _by_variant = {"_long_steps": (True, False), "_partition": (True, False)}  # noqa: RUF012

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.alpha == 0 and self.radius is None:
            raise ValueError("alpha=0 needs a radius: without a penalty SPDAM does not converge.")
        if self.warm_start and hasattr(self, "state_") and len(self.state_.beta) != n_rows:
            raise ValueError(
                f"With warm_start=True X must have the {len(self.state_.beta)} rows of the last fit, each with its "
                f"dual variable; it has {n_rows}."
            )

    def _n_rows_in(self, state: Any) -> int:
        return len(getattr(state, "beta", ()))

    _repeats_rows = False  # the weights are in the rows x

    def _start(self, n_features: int, n_rows: int) -> PrimalDualState:
        w = zero_weights(n_features)
        return PrimalDualState(w, w.copy(), np.zeros(n_rows), w.copy())

    def _prepare(self, sample: Sample) -> Any:
        x = CentredRows.of(sample, not self._chosen("_long_steps"))
        if (self.sigma, self.tau, self.theta) != (None, None, None):
            self._check_steps(x)
        return x

    def _check_steps(self, x: CentredRows) -> None:
        """Warn of steps that break a condition of the proof."""
        steps, m = self._steps(x)
        r = bounds_of_rows(x, m, self.alpha, not self._chosen("_long_steps"))
        product, least = steps.tau * (steps.sigma * r).max(), steps.least_theta(self.alpha, m)
        if product > SLACK or steps.theta * SLACK < least:
            broken = f"sigma and tau have {product:.3g} times the largest product"
            broken = broken if product > SLACK else f"theta is below {least:.4g}"
            warnings.warn(f"SPDAM may not converge: {broken} that the proof allows.", RuntimeWarning, stacklevel=8)

    def _steps(self, x: CentredRows) -> tuple[Steps, int]:
        """Return the steps, and the least number of rows of a batch."""
        m = int(np.diff(self._cut(len(x.norms))).min())
        given = self.sigma, self.tau, self.theta
        return Steps.of(x, self.alpha, m, not self._chosen("_long_steps"), self._radius, given), m

    @property
    def _radius(self) -> float:
        return np.inf if self.radius is None else self.radius

    def _draw(self, state: PrimalDualState, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return the rows of all batches, and where the batches begin and end."""
        bounds = self._cut(len(order))
        if not self._chosen("_partition"):
            order = draw_batches(len(order), np.diff(bounds), rng)
        return order, bounds

    def _epoch(self, state: PrimalDualState, sample: Any, drawn: Any) -> None:
        order, bounds = drawn
        state.u[:] = sample.combine(state.beta)
        primal_dual_epoch(state, sample, self._steps(sample)[0], order, bounds, self.alpha, self._radius)

    def _cut(self, n: int) -> np.ndarray:
        """Return where the batches of a pass begin and end."""
        size = self.batch_size
        m = min(int(size), n) if np.issubdtype(type(size), np.integer) else max(1, int(size * n))
        numbers = np.arange(-(-n // m) + 1)
        return numbers * n // numbers[-1] if self._chosen("_partition") else numbers * m

    def _weights(self, state: PrimalDualState) -> np.ndarray:
        return state.w.copy()

    def _measure(self, state: PrimalDualState, sample: Any, before: np.ndarray, after: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # where the steps diverge
            gap, primal = duality_gap(sample, self.alpha, after, state.beta, state.u, self._radius)
            return gap / primal

    def _refuse_weights(self) -> NoReturn:
        raise ValueError("The steps of SPDAM diverged: lower sigma or tau, or leave them at None.")


def duality_gap(
    x: CentredRows, alpha: float, w: np.ndarray, beta: np.ndarray, u: np.ndarray, radius: float = np.inf
) -> tuple[float, float]:
    """Return P(w) - D(beta) and P(w) + 1/2, where u = (1/n) sum beta_i x_i."""
    scores, b = x.scores(w), x.means[0] - x.means[1]
    v = -(u + b)
    curvature = solve_in_ball(v, b, alpha, radius)
    w, v, b = coordinates(w), coordinates(v), coordinates(b)
    primal = np.mean(scores**2) + (1 + b @ w) ** 2 + alpha * w @ w
    gap = np.mean((scores - beta) ** 2) + (b @ (w - v)) ** 2 + curvature * (w - v) @ (w - v)
    if curvature > alpha:
        gap += (curvature - alpha) * max(radius**2 - w @ w, 0.0)
    return float(gap / 2), float(primal / 2)


@jit
def solve_in_ball(c, b, a, radius):
    """Overwrite c by the minimiser of w'(b b' + a I)w / 2 - c.w over |w| <= radius.

    Returns a plus the multiplier of the ball: the least a' >= a for which (b b' + a' I)^-1 c is in it.
    """
    bb = np.dot(coordinates(b), coordinates(b))
    if radius == np.inf:
        for j in range(c.shape[0]):
            c[j] /= a
        back = np.dot(coordinates(b), coordinates(c)) / (a + bb)
        for j in range(c.shape[0]):
            c[j] -= back * b[j]
        return a
    # c = along b + across, and the squared norm is (|across| / a)^2 + (|along b| / (a + bb))^2. The inverse of the norm
    # is concave in a: Newton's method climbs to its root from any a below.
    along = np.dot(coordinates(b), coordinates(c)) / bb if bb > 0.0 else 0.0
    for j in range(c.shape[0]):
        c[j] -= along * b[j]
    across, length = np.sqrt(np.dot(coordinates(c), coordinates(c))), abs(along) * np.sqrt(bb)
    a = max(a, across / radius, length / radius - bb, 1e-100)
    while True:
        square = (across / a) ** 2 + (length / (a + bb)) ** 2
        slope = (across / a) ** 2 / a + (length / (a + bb)) ** 2 / (a + bb)
        rise = square * (np.sqrt(square) / radius - 1.0) / slope if slope > 0.0 else 0.0
        if not rise > 1e-14 * a:
            break
        a += rise
    for j in range(c.shape[0]):
        c[j] = c[j] / a + along / (a + bb) * b[j]
    return a


@jit
def primal_dual_epoch(state, x, steps, order, bounds, alpha, radius):
    """Take the steps 2 to 4 on each batch; the rows of batch k are order[bounds[k]:bounds[k + 1]]."""
    w, ahead, beta, u = state
    sigma, tau, theta = steps
    n, width = beta.shape[0], w.shape[0]
    b = x.means[0] - x.means[1]
    step, new = np.empty(width), np.empty(width)
    for k in range(bounds.shape[0] - 1):
        centers, totals = np.zeros(2), np.zeros(2)  # w~ . the class means, and sums of the multipliers of the classes
        for c in range(2):
            centers[c] = np.dot(coordinates(x.means[c]), coordinates(ahead))
        step[:] = 0.0
        for i in order[bounds[k] : bounds[k + 1]]:
            c = int(x.positive[i])
            s = (row_dot(x.rows, i, ahead) - centers[c]) / x.roots[i]
            change = sigma[i] * (s - beta[i]) / (1.0 + sigma[i])
            beta[i] += change
            a = change / (n * x.roots[i])
            row_axpy(a, x.rows, i, step)
            totals[c] += a
        settle(x.rows, step)
        for j in range(width):
            step[j] -= totals[0] * x.means[0, j] + totals[1] * x.means[1, j]
        stretch = n / (bounds[k + 1] - bounds[k])
        for j in range(width):
            new[j] = w[j] / tau - u[j] - stretch * step[j] - b[j]
        solve_in_ball(new, b, alpha + 1.0 / tau, radius)
        for j in range(width):
            ahead[j] = new[j] + theta * (new[j] - w[j])
            w[j] = new[j]
            u[j] += step[j]
