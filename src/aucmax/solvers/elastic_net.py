"""The square loss with an L1 or elastic-net penalty.

Conventions
-----------
In the coordinates of the scaled columns (`solvers/square.py`),

    minimise over v   1/2 f(v) + l1 |v|_1 + l2/2 |v|^2,   1/2 f(v) = 1/2 v'Mv - delta.v + 1/2

with l1 = alpha * l1_ratio and l2 = alpha * (1 - l1_ratio). Let g = Mv - delta + l2 v. Then v is optimal if
g_j = -l1 sign(v_j) for all v_j that are not 0, and |g_j| <= l1 for those that are. The error of v is the largest
distance from this condition.

For each alpha, starting from the weights for the alpha before:

1. Minimise over a working set of columns, with its block of M. A few sweeps of coordinate descent find the signs, then
   Newton steps for these signs find the weights. Coordinate descent alone is slow if columns are correlated: on
   leukemia it took more than 1,000 sweeps, where 24 are enough now.
2. Compute the gradient over all columns. The columns that violate the condition most join the working set.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from .._compat import jit
from ..rows.machine import one_blas_thread
from ..rows.summaries.moments import ClassMoments
from .candidate import Candidate, Solution
from .square import Square

# The grid has ten alphas per decade. On eleven data sets of 72 to 10,000 rows, twice as many over four decades changed
# the mean test AUC by 0.001 at most, and two decades lost as much. On wide sparse data the grid is shorter: the time of
# a path grows faster than the square of its nonzero weights, and on news20 two decades took 200 s for 6,300 of them.
DECADES = 3.0
DECADES_WIDE = 1.5
# Added to the diagonal of a Newton system, relative to it, because columns may be linearly dependent.
NEWTON_RIDGE = 1e-10


class ElasticNetProblem:
    """The square loss `base` with an L1 or elastic-net penalty; `l1_ratio` is above 0 and at most 1.

    `max_iter` limits the sweeps for one alpha. `iterations` are the working sets for the last alpha.
    """

    def __init__(self, base: Square, l1_ratio: float, max_iter: int) -> None:
        self.base, self.l1_ratio, self.max_iter = base, l1_ratio, max_iter
        self.moments: ClassMoments | None = base.moments
        self.candidates = base.candidates
        self.iterations: list[Minimisation] = []

    def default_alphas(self) -> np.ndarray:
        """Return the grid of alphas for cross-validation; the largest is the smallest alpha whose weights are all 0."""
        alpha = float(np.abs(self.base.delta).max()) / self.l1_ratio or 1.0
        decades = DECADES_WIDE if self.base.iterative else DECADES
        return alpha * np.logspace(0, -decades, round(10 * decades) + 1)

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha."""
        (w,) = self.path(np.array([candidate.alpha]), tol)
        return Solution(w, sum(one.n_sweeps for one in self.iterations) or 1, iterations=self.iterations)

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for all alphas; warn if the error of one is above `tol` times l1."""
        solutions = np.zeros((len(alphas), len(self.base.scale)))
        state, worst = WorkingSet(self.base, len(alphas) == 1), 0.0
        with one_blas_thread():
            for v, alpha in zip(solutions, alphas, strict=True):
                if alpha > 0:
                    l1, l2 = alpha * self.l1_ratio, alpha * (1 - self.l1_ratio)
                    self.iterations = state.solve(l1, l2, tol * l1, self.max_iter)
                    v[state.columns] = state.v / self.base.scale[state.columns]
                    worst = max(worst, self.iterations[-1].error)
                else:  # no penalty: the solution of least norm
                    v[:], self.iterations = self.base.path(np.zeros(1), tol)[0], []
        if worst > tol:
            warnings.warn(
                f"Coordinate descent stopped at max_iter={self.max_iter} sweeps with a gradient that is "
                f"{worst:.1e} of the L1 penalty off the optimum (tol={tol:g}): increase max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return solutions


class Minimisation(NamedTuple):
    """A minimisation over one working set of columns."""

    value: float  # of the objective after it; NaN if it was not wanted
    error: float  # of the weights, over all columns, relative to l1
    n_columns: int  # in the working set
    n_sweeps: int  # of coordinate descent


class WorkingSet:
    """Sorted columns, their weights v (k,) and their block of M (k, k). The weights of all other columns are zero.

    The values of the objective are computed if `with_values`: a path of many alphas does not need them.
    """

    def __init__(self, square: Square, with_values: bool) -> None:
        self.square, self.with_values = square, with_values
        self.columns, self.v = np.empty(0, dtype=np.intp), np.empty(0)
        self.block = np.empty((0, 0))

    def solve(self, l1: float, l2: float, tol: float, max_iter: int) -> list[Minimisation]:
        """Move the weights to the minimiser; return what led there, one minimisation for each working set."""
        delta, iterations = self.square.delta, list[Minimisation]()
        while True:
            n, inside = descend(self.block, delta[self.columns], self.v, l1, l2, tol, max_iter)
            max_iter -= n
            used = self.v != 0
            columns, v = self.columns[used], self.v[used]
            gradient = self.square.product(columns, v) - delta
            value = np.nan
            if self.with_values:
                value = float(1 + v @ (gradient - delta)[columns] + l2 * v @ v) / 2 + l1 * float(np.abs(v).sum())
            size = np.abs(gradient)
            size[self.columns] = 0
            outside = float(size.max()) - l1
            iterations.append(Minimisation(value, max(inside, outside) / l1, len(self.columns), n))
            if outside <= tol or max_iter <= 0:
                return iterations
            self.grow(size, int(np.count_nonzero(size > l1)))

    def grow(self, size: np.ndarray, n_wanted: int) -> None:
        """Add the columns of largest `size`: `n_wanted` of them, within limits.

        The set grows by at least an eighth, so all blocks of a path together cost only a few times the last one. It at
        most about doubles, so no block is much larger than needed.
        """
        n = len(self.columns)
        n_new = min(max(n_wanted, 16 + n // 8), 100 + n, int(np.count_nonzero(size)))
        columns = np.concatenate([self.columns, np.argpartition(-size, n_new - 1)[:n_new]])
        order = np.argsort(columns)
        self.columns, self.v = columns[order], np.append(self.v, np.zeros(n_new))[order]
        self.block = self.square.block(self.columns)


def descend(
    M: np.ndarray, b: np.ndarray, v: np.ndarray, l1: float, l2: float, tol: float, max_iter: int
) -> tuple[int, float]:
    """Move v, in place, to the minimiser of 1/2 v'Mv - b.v plus the penalty; return the sweeps and the error."""
    n_sweeps = 0
    while True:
        gradient = M @ v - b
        error = float(distance(gradient + l2 * v, v, l1).max(initial=0))
        if error <= tol or n_sweeps >= max_iter:
            return n_sweeps, error
        # These sweeps take about as long as a Newton step
        n_before_newton = 5 + np.count_nonzero(v) // 50
        n_sweeps += sweep(M, v, gradient, l1, l2, tol, min(n_before_newton, max_iter - n_sweeps))
        while newton(M, b, v, l1, l2):
            pass


def distance(gradient: np.ndarray, v: np.ndarray, l1: float) -> np.ndarray:
    """Return the distance of each entry of the gradient of the smooth part from the optimality condition."""
    return np.where(v == 0, np.maximum(np.abs(gradient) - l1, 0), np.abs(gradient + l1 * np.sign(v)))


def newton(M: np.ndarray, b: np.ndarray, v: np.ndarray, l1: float, l2: float) -> bool:
    """Move the nonzero weights towards the minimiser for their signs; return whether some became zero.

    Weights that would change their sign become zero. If that does not lower the objective, the step is shortened to the
    point where the first of them becomes zero.
    """
    used = np.flatnonzero(v)
    if not len(used):
        return False
    A, x, signs = M[np.ix_(used, used)], v[used], np.sign(v[used])
    A.flat[:: len(A) + 1] += l2
    rhs = b[used] - l1 * signs

    def value(x: np.ndarray) -> float:
        return float(0.5 * x @ A @ x - rhs @ x)

    step = linalg.cho_solve(linalg.cho_factor(A + np.diag(NEWTON_RIDGE * np.diagonal(A))), rhs - A @ x)
    to_zero = np.where(step * signs < 0, -x / np.where(step == 0, 1, step), np.inf)
    for length in (1.0, min(1.0, to_zero.min())):
        new = np.where(to_zero <= length, 0, x + length * step)
        if value(new) < value(x):
            v[used] = new
            return not new.all()
    return False


@jit
def sweep(M, v, gradient, l1, l2, tol, max_sweeps):  # type: ignore[no-untyped-def]
    """Minimise over one weight after the other, in place, until no step changes the gradient by more than `tol`.

    `gradient` is M v - b and is updated with v. Returns the number of sweeps.
    """
    for n in range(max_sweeps):
        largest = 0.0
        for j in range(v.shape[0]):
            curvature = M[j, j] + l2
            rho = M[j, j] * v[j] - gradient[j]  # minus the gradient with v[j] = 0
            new = 0.0
            if abs(rho) > l1:
                new = (rho - l1 if rho > 0 else rho + l1) / curvature
            step = new - v[j]
            if step != 0:
                v[j] = new
                largest = max(largest, curvature * abs(step))
                for i in range(v.shape[0]):
                    gradient[i] += step * M[j, i]
        if largest <= tol:
            return n + 1
    return max_sweeps
