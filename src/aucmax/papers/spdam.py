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

One pass over the rows
----------------------
1. u = (1/n) sum beta_i x_i afresh, so that rounding does not add up; the rows are put into a random order and cut into
   batches. For each batch I, of m rows:
2. beta_i <- (beta_i + sigma_i w~.x_i) / (1 + sigma_i) for i in I; step = (1/n) sum over I of (change of beta_i) x_i.
3. w+ solves (b b' + (alpha + 1/tau) I) w+ = w/tau - (u + (n/m) step) - b, by Sherman-Morrison; u <- u + step.
4. w~ <- w+ + theta (w+ - w), and w <- w+.

What is not as in the paper
---------------------------
x_i is divided by sqrt(p_y): the sqrt(2 p_y) of the paper's (12) does not give its (13). The printed sigma of its
Theorem 4.1 lost a factor 2 alpha. Both are corrected in both variants. Unless variant="paper", the steps are longer.
The proof needs tau sigma_i r_i <= 1, in the paper with r_i = 4 max |x|^2: for any numbers c_i, |sum over I of c_i
x_i|^2 is at most m max |x|^2 times the sum over I of c_i^2. But it needs this in the mean over all batches only, and
there the sum over I of m k_i c_i^2 is enough, where L is the largest eigenvalue of (1/n) sum x_i x_i', which is C+ +
C-, and

    k_i = q L + (1 - q) |x_i|^2,   q = n (m - 1) / (m (n - 1))

The 4 becomes (2 - m/n)^2 if Young's inequality treats its two products, of a change of u with a change of w, by the
factors 1 and 1 - m/n that they have. So r_i = (2 - m/n)^2 k_i: for batches of 10% of a9a about 70 instead of 170,000,
and the number of passes falls with the root of it. Rows shorter than the longest have longer steps. With r = max r_i,

    sigma = [alpha (n - m) + sqrt(alpha^2 (n - m)^2 + alpha n m r)] / (m r),   tau = 1 / (sigma r)
    sigma_i = 1 / (tau r_i),   theta = 1 / (1 + 2 alpha tau)

are the paper's steps if all r_i are r, and like there the expected squared distances from the
optimum fall by theta with each batch. This is proved for batches drawn independently; in one random order after the
other each row is met in each pass, and the measured rate is at least as good.

variant="paper"
---------------
r_i = 4 max |x|^2 for all rows: with kappa = max |x| and lambda = alpha the steps of Theorem 4.1,

    sigma = lambda [(n - m) + sqrt((n - m)^2 + 4 n m kappa^2 / lambda)] / (4 m kappa^2)
    tau = 1 / (4 sigma kappa^2),   theta = 1 - lambda / (lambda + 2 sigma kappa^2)

Each batch has m rows, drawn from all rows without replacement; a pass has as many batches as it takes for n rows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

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


class CentredRows(NamedTuple):
    """The rows x_i of the docstring above: each less its class mean, over the root of the share of its class."""

    rows: KernelRows  # the rows z
    positive: np.ndarray  # shape (n,): which are positive
    means: np.ndarray  # shape (2, width): the class means of z, as weight vectors
    # shape (n,): what z_i - m_y is divided by: sqrt(p_y), over the root of the weight of the row relative to the mean
    # weight
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
    def of(cls, x: CentredRows, alpha: float, m: int, paper: bool = False) -> Steps:
        """Return the steps for batches of at least m rows."""
        n = len(x.norms)
        if paper:
            r = np.full(n, 4 * x.norms.max() or alpha)
        else:
            q = n * (m - 1) / (m * (n - 1))
            # Where there is less curvature than penalty, more of it costs nothing, and nothing is divided by 0.
            r = np.maximum((2 - m / n) ** 2 * (q * x.top + (1 - q) * x.norms), alpha)
        rest, longest = alpha * (n - m), r.max()
        sigma = (rest + np.sqrt(rest**2 + alpha * n * m * longest)) / (m * longest)
        tau = 1 / (sigma * longest)
        return cls(1 / (tau * r), tau, 1 / (1 + 2 * alpha * tau))


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
        Regularisation strength, above 0, as in :class:`aucmax.AUCClassifier`: the paper's lambda. The number of passes
        grows with 1 / sqrt(alpha).

    batch_size : int or float, default=0.1
        Number of rows of a batch, or their share of all rows; at least 1, at most all. Every pass cuts the rows evenly
        into as few batches as that allows.

    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" takes the steps of the paper's theorem, on batches drawn independently, and leaves the columns as they
        are; the notes list what differs.

    standardize : bool, default=None
        Whether the penalty is on the weights of columns divided by their standard deviations. None is True, and False
        with variant="paper". With variant="adaptive" `fit` also centres the columns, even if this is False. The data
        are not changed, and `coef_` is for the columns as they are.

    max_iter : int, default=2000
        Limit of passes over the rows.

    tol : float, default=1e-6
        Where `fit` stops: the duality gap over the objective. The objective is at most that share above its minimum.

    warm_start : bool, default=False
        Whether `fit` continues from the state of the last call, random numbers included: two fits of 5 passes are the
        same as one of 10. The rows must be as many as in the last call, since each has a dual variable.

    random_state : int, RandomState instance or None, default=None
        The source of the random batches.

    Attributes
    ----------
    convergence_ : ndarray of shape (`n_iter_`,)
        The relative duality gap after each pass.

    See Also
    --------
    AUCClassifier : The same minimiser in closed form.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

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

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **{name: kinds for name, kinds in StochasticClassifier._parameter_constraints.items() if name != "shuffle"},
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="right")],
    }
    _by_variant = {"_long_steps": (True, False), "_partition": (True, False)}  # noqa: RUF012

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        batch_size: float = 0.1,
        variant: str = "adaptive",
        standardize: bool | None = None,
        max_iter: int = 2000,
        tol: float | None = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(variant, standardize, max_iter, tol, warm_start, random_state)
        self.alpha = alpha
        self.batch_size = batch_size

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
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
        return CentredRows.of(sample, paper=not self._chosen("_long_steps"))

    def _draw(self, state: PrimalDualState, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return the rows of all batches, and where the batches begin and end."""
        bounds = self._cut(len(order))
        if not self._chosen("_partition"):
            order = draw_batches(len(order), np.diff(bounds), rng)
        return order, bounds

    def _epoch(self, state: PrimalDualState, sample: Any, drawn: Any) -> None:
        order, bounds = drawn
        steps = Steps.of(sample, self.alpha, int(np.diff(bounds).min()), paper=not self._chosen("_long_steps"))
        state.u[:] = sample.combine(state.beta)
        primal_dual_epoch(state, sample, steps, order, bounds, self.alpha)

    def _cut(self, n: int) -> np.ndarray:
        """Return where the batches of a pass begin and end."""
        size = self.batch_size
        m = min(int(size), n) if np.issubdtype(type(size), np.integer) else max(1, int(size * n))
        numbers = np.arange(-(-n // m) + 1)
        return numbers * n // numbers[-1] if self._chosen("_partition") else numbers * m

    def _weights(self, state: PrimalDualState) -> np.ndarray:
        return state.w.copy()

    def _measure(self, state: PrimalDualState, sample: Any, before: np.ndarray, after: np.ndarray) -> float:
        gap, primal = duality_gap(sample, self.alpha, after, state.beta, state.u)
        return gap / primal


def duality_gap(x: CentredRows, alpha: float, w: np.ndarray, beta: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Return P(w) - D(beta) and P(w) + 1/2, where u = (1/n) sum beta_i x_i."""
    scores, w = x.scores(w), coordinates(w)
    b = coordinates(x.means[0] - x.means[1])
    v = -(coordinates(u) + b) / alpha
    v -= b * (b @ v / (alpha + b @ b))
    primal = np.mean(scores**2) + (1 + b @ w) ** 2 + alpha * w @ w
    gap = np.mean((scores - beta) ** 2) + (b @ (w - v)) ** 2 + alpha * (w - v) @ (w - v)
    return float(gap / 2), float(primal / 2)


@jit
def primal_dual_epoch(state, x, steps, order, bounds, alpha):
    """Take the steps 2 to 4 on each batch; the rows of batch k are order[bounds[k]:bounds[k + 1]]."""
    w, ahead, beta, u = state
    sigma, tau, theta = steps
    n, width = beta.shape[0], w.shape[0]
    b = x.means[0] - x.means[1]
    bb = np.dot(coordinates(b), coordinates(b))
    curvature = alpha + 1.0 / tau
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
            new[j] = (w[j] / tau - u[j] - stretch * step[j] - b[j]) / curvature
        back = np.dot(coordinates(b), coordinates(new)) / (curvature + bb)
        for j in range(width):
            new[j] -= back * b[j]
            ahead[j] = new[j] + theta * (new[j] - w[j])
            w[j] = new[j]
            u[j] += step[j]
