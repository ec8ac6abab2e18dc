"""The square loss with at most k nonzero weights (L0), and an L2 penalty on them.

Conventions
-----------
In the coordinates of the scaled columns (`solvers/square.py`),

    minimise over v   1/2 f(v) + alpha/2 |v|^2   subject to   |v|_0 <= k,   1/2 f(v) = 1/2 v'Mv - delta.v + 1/2

so the best v on a support S is (M_SS + alpha I)^-1 delta_S, and it lowers the objective by 1/2 delta_S.v. What remains
is the choice of S:

1. Hard thresholding with debiasing, starting from the k largest |delta|. Exchange the columns whose removal costs least
   for those whose gradient promises the largest gain, and solve on the new support. If that did not lower the
   objective, exchange half as many.
2. The same for about 2k columns. Then remove the column whose removal costs least until k are left.
3. Starting from each of the two, exchange one column of the support for one outside as long as the objective decreases.
   Keep the better result. The gains of all k (d - k) exchanges are computed exactly in O(k d). Where none of them
   helps, no step of iterative hard thresholding does either.

The result for one k and alpha does not depend on which other values are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from .._compat import jit
from ..rows.machine import one_blas_thread
from ..rows.summaries.moments import ClassMoments
from .candidate import Candidate, Solution
from .square import Square, alpha_grid, solve

# Added to the diagonal of M, relative to it, while columns are compared: some may be linearly dependent.
SEARCH_RIDGE = 1e-8
# The least relative gain of an exchange.
GAIN = 1e-9


class SubsetProblem:
    """The square loss `base` with at most k nonzero weights, for each k of `n_nonzero`.

    `max_iter` limits the exchanges for one k and alpha. `iterations` are the exchanges that led to the last solution.
    """

    def __init__(self, base: Square, n_nonzero: Sequence[int], max_iter: int) -> None:
        self.base, self.n_nonzero, self.max_iter = base, n_nonzero, max_iter
        self.moments: ClassMoments | None = base.moments
        self.iterations: list[Swap] = []

    def candidates(self, alphas: np.ndarray) -> list[Candidate]:
        """Return all alphas with the first k, then with the second, and so on."""
        return [Candidate(float(alpha), k) for k in self.n_nonzero for alpha in alphas]

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha and one k, by default the first k."""
        k = candidate.n_nonzero or self.n_nonzero[0]
        (w,) = self.minimisers(np.array([candidate.alpha]), (k,))
        return Solution(w, len(self.iterations) or 1, iterations=self.iterations)

    def default_alphas(self) -> np.ndarray:
        """Return the grid of alphas for cross-validation, largest first: one per decade.

        With the largest alphas only the class means matter: the columns with the k largest |delta| are chosen.
        """
        return alpha_grid(float(self.base.diagonal.mean()), low=-3, high=2)[::2]

    def path(self, alphas: np.ndarray, tol: float = 0) -> np.ndarray:
        """Return the minimisers for all alphas with the first k, then with the second, and so on."""
        return self.minimisers(alphas, self.n_nonzero)

    def minimisers(self, alphas: np.ndarray, n_nonzero: Sequence[int]) -> np.ndarray:
        """Return the minimisers for these numbers of nonzero weights, in the order of `path`."""
        solutions = np.zeros((len(n_nonzero), len(alphas), len(self.base.scale)))
        most, self.iterations = 1, []
        with one_blas_thread():
            for a, alpha in enumerate(alphas if self.base.diagonal.any() else ()):  # constant columns: all zero
                search = Search(self.base, float(alpha), self.max_iter)
                for i, k in enumerate(n_nonzero):
                    columns, self.iterations, n_exchanges = search.best(k)
                    block, delta = self.base.block(columns), self.base.delta[columns]
                    solutions[i, a, columns] = solve(block, delta, float(alpha))
                    most = max(most, n_exchanges)
        if most >= self.max_iter:
            warnings.warn(
                f"The search for the best columns stopped after max_iter={self.max_iter} exchanges: increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solutions.reshape(-1, len(self.base.scale)) / self.base.scale


class Support(NamedTuple):
    """A set of columns with the best weights on them."""

    columns: np.ndarray  # (k,): the column numbers, sorted
    v: np.ndarray  # (k,): the weights
    gain: float  # how much these weights lower the objective, compared with v = 0


class Swap(NamedTuple):
    """An exchange of one column for another."""

    value: float  # of the objective after it
    gain: float  # how much it lowered the objective; 0 if no exchange did, at the start


class Search:
    """The search for the best columns for one alpha.

    The penalty (n_features,) is added to the diagonal of M: alpha, and a small ridge. The curvature is the diagonal of
    M plus the penalty, infinite for constant columns.
    """

    def __init__(self, square: Square, alpha: float, max_iter: int) -> None:
        self.square, self.delta, self.max_iter = square, square.delta, max_iter
        self.usable = square.diagonal > 0
        self.penalty = SEARCH_RIDGE * square.diagonal + alpha
        self.curvature = np.where(self.usable, square.diagonal + self.penalty, np.inf)

    def best(self, k: int) -> tuple[np.ndarray, list[Swap], int]:
        """Return the best k columns found, or all usable ones, their exchanges, and how many the longer search made."""
        n_usable = int(np.count_nonzero(self.usable))
        k, more = min(k, n_usable), min(2 * k + 10, n_usable)
        ends = [self.exchange(self.pursue(k)), self.exchange(self.eliminate(self.pursue(more), k))]
        support, swaps = max(ends, key=lambda end: end[0].gain)
        return support.columns, swaps, max(len(swaps) for _, swaps in ends)

    def solve(self, columns: np.ndarray) -> Support:
        """Return the minimiser on these columns."""
        columns = np.sort(columns)
        v = linalg.cho_solve(self.factor(columns, self.square.block(columns)), self.delta[columns])
        return Support(columns, v, float(self.delta[columns] @ v) / 2)

    def factor(self, columns: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return the Cholesky factor of M_SS with the penalty, given M_SS."""
        return linalg.cho_factor(block + np.diag(self.penalty[columns]))

    def inverse(self, columns: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return the inverse of M_SS with the penalty, given M_SS."""
        return linalg.cho_solve(self.factor(columns, block), np.eye(len(columns)))

    def pursue(self, k: int) -> Support:
        """Return the result of hard thresholding that starts from the k largest |delta|."""
        size = np.where(self.usable, np.abs(self.delta), -1)
        support = self.solve(np.argsort(-size, kind="stable")[:k])
        n = k
        while n > 0:
            columns, v, gain = support
            promise = (self.square.product(columns, v) - self.delta) ** 2 / self.curvature
            promise[columns] = 0
            price = self.curvature[columns] * v**2
            enters, leaves = np.argsort(-promise, kind="stable")[:n], np.argsort(price, kind="stable")[:n]
            n = int(np.count_nonzero(promise[enters] > price[leaves]))
            trial = self.solve(np.concatenate([np.delete(columns, leaves[:n]), enters[:n]]))
            if trial.gain > gain * (1 + GAIN):
                support = trial
            else:
                n //= 2
        return support

    def eliminate(self, support: Support, k: int) -> Support:
        """Return a support of k columns, after removing one at a time the column whose removal costs least."""
        columns, v, _ = support
        B = self.inverse(columns, self.square.block(columns))
        while len(columns) > k:
            i = int(np.argmin(v**2 / np.diagonal(B)))
            rest = np.delete(np.arange(len(columns)), i)
            v = v[rest] - v[i] / B[i, i] * B[rest, i]
            B = B[np.ix_(rest, rest)] - np.outer(B[rest, i] / B[i, i], B[i, rest])
            columns = columns[rest]
        return self.solve(columns)

    def exchange(self, start: Support) -> tuple[Support, list[Swap]]:
        """Return a support that no exchange of one column for another improves, and the exchanges that led there."""
        state, value = Exchange(self, start.columns), 0.5 - start.gain
        swaps: list[Swap] = []
        while len(swaps) < self.max_iter:
            i, j, gain = best_exchange(state.W, state.v, np.diagonal(state.B).copy(), state.r, state.s, state.outside)
            if gain <= 2 * GAIN * start.gain:
                break
            state.replace(i, j)
            value -= gain / 2
            swaps.append(Swap(value, gain / 2))
        end = self.solve(state.columns)
        return (end if end.gain > start.gain else start), swaps or [Swap(value, 0.0)]


class Exchange:
    """A support, with what is needed to value the exchange of any of its columns for any other.

    Let B = (M_SS + alpha I)^-1 and W = B M_S:. The weights are v = B delta_S. Every column has a residual
    r = delta - M_:S v and a remaining curvature s = diag(M + alpha I - M_:S W). Removing the i-th column of the support
    costs v_i^2 / B_ii, and adds W_i v_i / B_ii to r and W_i^2 / B_ii to s. Adding column j then gains r_j^2 / s_j.
    (Both amounts are twice the change of the objective.)
    """

    def __init__(self, search: Search, columns: np.ndarray) -> None:
        self.search, self.columns = search, columns.copy()
        self.outside = search.usable.copy()
        self.outside[columns] = False
        M_S = np.array([self.column(j) for j in columns])
        self.B = search.inverse(columns, M_S[:, columns])
        self.W, self.v = self.B @ M_S, self.B @ search.delta[columns]
        self.r = search.delta - self.v @ M_S
        self.s = search.curvature - np.einsum("ij,ij->j", M_S, self.W)

    def column(self, j: int) -> np.ndarray:
        """Return a column of M."""
        return self.search.square.product(np.array([j]), np.ones(1))

    def replace(self, i: int, j: int) -> None:
        """Replace the i-th column of the support by column j."""
        B, W, v, r, s = self.B, self.W, self.v, self.r, self.s
        # Remove the i-th column
        out, b, v_i, B_ii = W[i].copy(), B[i] / B[i, i], v[i], B[i, i]
        r += v_i / B_ii * out
        s += out**2 / B_ii
        v -= v_i * b
        B -= np.outer(b, b * B_ii)
        # Add column j in its place; the i-th rows of W, B and v are zero now, and are filled below
        column, u, r_j, s_j = self.column(j), W[:, j] - out[j] * b, r[j], s[j]
        c = column[self.columns]
        t = (column - c @ W + (c @ b) * out) / s_j
        r -= r_j * t
        s -= s_j * t**2
        v -= r_j / s_j * u
        B += np.outer(u, u) / s_j
        subtract_outer_products(W, b, out, u, t)
        v[i], W[i], B[i], B[:, i], B[i, i] = r_j / s_j, t, -u / s_j, -u / s_j, 1 / s_j
        self.outside[[self.columns[i], j]] = True, False
        self.columns[i] = j


@jit
def subtract_outer_products(W, a, x, b, y):  # type: ignore[no-untyped-def]
    """Subtract a x' + b y' from W."""
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            W[i, j] -= a[i] * x[j] + b[i] * y[j]


@jit
def best_exchange(W, v, b, r, s, outside):  # type: ignore[no-untyped-def]
    """Return i, j and twice the gain of the exchange that lowers the objective most; b is the diagonal of B."""
    best_i, best_j, best = 0, 0, 0.0
    for i in range(W.shape[0]):
        price, step, stiffness = v[i] ** 2 / b[i], v[i] / b[i], 1 / b[i]
        for j in range(W.shape[1]):
            r_j = r[j] + step * W[i, j]
            s_j = s[j] + stiffness * W[i, j] ** 2
            if outside[j] and r_j**2 > (best + price) * s_j:
                best_i, best_j, best = i, j, r_j**2 / s_j - price
    return best_i, best_j, best
