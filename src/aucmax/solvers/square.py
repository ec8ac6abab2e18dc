"""Exact solvers of the pairwise square loss with an L2 penalty.

Conventions
-----------
All solve, for one or many alphas,

    minimise over w   1/2 f(w) + alpha/2 |w|^2,   f(w) = mean over pairs of (1 - w.(x+ - x-))^2

whose optimality condition is the linear system

    (M + alpha I) w = delta,   M = C_0 + C_1 + delta delta' = X'HX

in the notation of `aucmax.rows.summaries.moments`. The loss "pooled" replaces both covariances by the pooled one, in
which a class counts by its weight: the direction of linear discriminant analysis and of ridge regression. The
covariance of a rare class, estimated from few rows, then counts little. In general M = a_0 C_0 + a_1 C_1 + delta
delta', with the shares a_c = 1 or 2 W_c / (W_0 + W_1).

H is the curvature of f/2 in score space: with c_i the sample weights scaled
to sum to one in each class, H s = a c (s - class mean of s) +- c (delta of the class means of s). It is J'J with J of
n + 1 rows: the centred scores times sqrt(a c), then the difference of the class means.

There are three solvers:

- "moments", for few columns: M from the class moments, then Cholesky for one alpha or one eigendecomposition for a
  whole path;
- "dual", for fewer rows than columns: the same spectrum from the (n + 1) x (n + 1) matrix JXX'J';
- "cg", for many of both or for wide sparse data: conjugate gradients on v -> X'H(Xv), which form neither matrix.

A sparse fit (`elastic_net.py`, `best_subset.py`) never needs all of M: it needs the diagonal, M v with few nonzeros in
v, and the block of M of a few columns, for X / scale. A constant column has an infinite scale, so its row and column of
M are zero. Column numbers are sorted.

With ``standardize`` the penalty is alpha/2 |scale * w|^2, where scale holds the standard deviations: the fit is one of
X / scale. The returned weights always apply to X itself. Paths have the shape (n_alphas, n_features).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ..losses.squared import square_curvature
from ..rows.arrays import namespace, place_beside, to_numpy
from ..rows.machine import one_blas_thread
from ..rows.protocol import Rows, Vector
from ..rows.summaries.moments import ClassMoments, covariance_shares, pooled_std
from ..rows.summaries.scores import ScoreMoments
from .candidate import Candidate, Iteration, Solution
from .conjugate_gradients import Operator, shifted_cg

EPS = np.finfo(np.float64).eps
LEFT = 1e-6  # what a row may leave of its own residual; below this the weights fit the rows themselves
RIDGE = 1e3 * EPS  # keeps a preconditioner positive definite if alpha is 0 and columns are linearly dependent
FAR = 1e6  # standard deviations from zero; scores and gradients lose as many digits
SOLVERS = ("auto", "moments", "dual", "cg")
# Up to this many columns or rows, a matrix of that order is factored. On sparse rows conjugate gradients are faster
# from a smaller order on (3,314 x 54,877 with 0.4% nonzeros: 0.2 s for a path, 6 s for the eigendecomposition).
MAX_ORDER = 4096
MAX_ORDER_SPARSE = 1024
DEVICE_ORDER = 1024  # from which on the matrix of rows on a device is factored there


def choose_solver(rows: Rows) -> str:
    """Return the solver that is cheapest for rows of this shape."""
    max_order = MAX_ORDER_SPARSE if rows.is_sparse else MAX_ORDER
    if rows.n_features <= min(rows.n_rows, max_order):
        return "moments"
    return "dual" if rows.n_rows <= max_order else "cg"


class SquareProblem(ABC):
    """The square loss with an L2 penalty: what the solvers from moments and from rows have in common."""

    moments: ClassMoments | None = None  # of the training set, if the problem is solved from these
    scale: np.ndarray  # (n_features,): the columns are divided by it; infinite for constant columns
    center: np.ndarray  # (n_features,): the point half-way between the class means
    # (n_features,): the center in columns so far from zero that scores would lose digits, 0 in all others. Iterations
    # use X - shift.
    shift: np.ndarray
    delta: np.ndarray  # (n_features,): the difference of the class means of X / scale
    iterative = False  # whether the solver iterates, so that small alphas take longer than large ones
    factors = False  # whether M is a matrix in memory, which can be factored
    iterations: Sequence[Iteration] = ()  # of the last path, for its smallest alpha; none for a direct solver

    @abstractmethod
    def solutions(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for X / scale, shape (n_alphas, n_features)."""

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for all alphas."""
        return self.solutions(alphas, tol) / self.scale

    def candidates(self, alphas: np.ndarray) -> list[Candidate]:
        """Return the alphas as candidates."""
        return [Candidate(float(alpha)) for alpha in alphas]

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha; `start` is not used."""
        (w,) = self.path(np.array([candidate.alpha]), tol)
        return self.solution(w)

    def solution(self, w: np.ndarray) -> Solution:
        """Return the weights with the iterations that led to them."""
        return Solution(w, len(self.iterations) or 1, iterations=self.iterations)


class MomentProblem(SquareProblem):
    """The square loss on class moments.

    With `standardize`, the penalty is on the weights of the standardised columns. `scaled` are the moments of X /
    scale, with the pooled covariance for both classes if `pooled`.
    """

    factors = True
    moments: ClassMoments

    def __init__(self, moments: ClassMoments, standardize: bool, pooled: bool = False) -> None:
        moments.check_both_classes()
        self.moments, self.pooled = moments, pooled
        moments = moments.pooled() if pooled else moments
        std = moments.spread()
        self.scale = penalty_scale(std, standardize)
        self.scaled = moments.rescaled(self.scale)
        self.center, self.delta = moments.mean.mean(axis=0), self.scaled.delta
        self.shift = far_shift(self.center, std)

    def default_alphas(self) -> np.ndarray:
        """Return the grid of alphas for cross-validation, largest first."""
        return alpha_grid(float(np.trace(self.scaled.pair_scatter())) / self.scaled.n_features)

    @cached_property
    def M(self) -> np.ndarray:
        """The matrix M, as sparse fits need it."""
        return self.scaled.pair_scatter()

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of M."""
        return np.diagonal(self.M)

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        return v @ self.M[columns]  # M is symmetric, and its rows are contiguous in memory

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns]."""
        return self.M[np.ix_(columns, columns)]

    def solutions(self, alphas: np.ndarray, tol: float = 0) -> np.ndarray:
        """Return the minimisers for X / scale; they are exact, so `tol` is not used."""
        M, delta = self.scaled.pair_scatter(), self.delta
        beside = self.scaled.beside if len(M) >= DEVICE_ORDER else None
        if len(alphas) == 1:
            return solve(M, delta, float(alphas[0]), beside)[None]
        return eigen_solve(M, delta, alphas, beside)

    def curvature(self, v: np.ndarray, scores: Vector) -> float:
        """Return v'Mv, for weights v of X / scale and their scores."""
        means, variances = self.scaled.project(v)
        return float(variances.sum() + (means[1] - means[0]) ** 2)

    def preconditioner(self, kappa: float, alpha: float, moments: ClassMoments | None = None) -> Operator:
        """Return the function that solves a system with kappa M + alpha I; `moments` give another M for X / scale."""
        P = kappa * (moments or self.scaled).pair_scatter()
        return inverse_product(P, alpha)


class RowProblem(SquareProblem):
    """The square loss on rows, without the n_features x n_features matrix M, of which only the diagonal is computed.

    The solver is "dual", an eigendecomposition of order n + 1, or "cg", at most `max_iter` conjugate gradient steps.
    """

    def __init__(self, rows: Rows, standardize: bool, solver: str, max_iter: int, pooled: bool = False) -> None:
        self.solver, self.max_iter = solver, max_iter
        self.shares = covariance_shares(rows.totals, pooled)
        self.iterative = solver == "cg"
        means, variances = rows.column_statistics()
        self.center = means.mean(axis=0)
        gap = means[1] - means[0]
        std = pooled_std(rows.totals, means, variances)
        self.scale, self.shift = penalty_scale(std, standardize), far_shift(self.center, std)
        self.rows = near_zero(rows, self.shift)
        self.delta, self.diagonal = gap / self.scale, (self.shares @ variances + gap**2) / self.scale**2

    def default_alphas(self) -> np.ndarray:
        """Return the grid of alphas for cross-validation, largest first.

        Conjugate gradients slow down as alpha decreases, so their grid ends at a larger alpha; on wide data a small
        alpha is never the best one.
        """
        return alpha_grid(float(self.diagonal.mean()), low=-1 if self.solver == "cg" else -6)

    def matvec(self, v: np.ndarray) -> np.ndarray:
        """Return M @ v."""
        g = square_curvature(self.rows, self.rows.scores(v / self.scale), self.shares)
        return self.rows.rmatvec(g, self.center - self.shift) / self.scale

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        full = np.zeros(self.rows.n_features)
        full[columns] = v
        return self.matvec(full)

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns], from the class moments of these columns."""
        moments = self.rows.columns(columns).moments()
        M = (moments.pooled() if np.ptp(self.shares) else moments).pair_scatter()
        M /= self.scale[columns]
        M /= self.scale[columns, None]
        return M

    def solutions(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for X / scale; conjugate gradients warn if a relative residual stays above `tol`."""
        if self.solver == "dual":
            return dual_path(self.rows, alphas, self.scale, self.center - self.shift, self.shares)
        solutions, iterations, residual = shifted_cg(self.matvec, self.delta, alphas, tol, self.max_iter)
        self.iterations = [one._replace(value=0.5 + one.value) for one in iterations]
        if residual > tol:
            warnings.warn(
                f"Conjugate gradients stopped at max_iter={self.max_iter} with a relative residual of "
                f"{residual:.1e} (tol={tol:g}): increase max_iter, tol or alpha.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return solutions

    def curvature(self, v: np.ndarray, scores: Vector) -> float:
        """Return v'Mv, for weights v of X / scale and their scores."""
        moments = self.rows.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        return float(self.shares @ moments.variance + (moments.mean[1] - moments.mean[0]) ** 2)

    def preconditioner(self, kappa: float, alpha: float, moments: ClassMoments | None = None) -> Operator:
        """Return the function that divides by the diagonal of kappa M + alpha I."""
        diagonal = kappa * self.diagonal + alpha
        diagonal += RIDGE * diagonal.max()
        return lambda r: r / diagonal


Square = MomentProblem | RowProblem


def penalty_scale(std: np.ndarray, standardize: bool) -> np.ndarray:
    """Return the divisors of the columns; infinity for constant columns, so that their weights are exactly 0."""
    return np.where(std == 0, np.inf, std if standardize else 1.0)


def far_shift(center: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return the center in columns that are far from zero compared with their standard deviation, 0 in all others."""
    return np.where((std > 0) & (np.abs(center) > FAR * std), center, 0.0)


def near_zero(rows: Rows, shift: np.ndarray) -> Rows:
    """Return the rows of X - shift; most often all shifts are 0, and these are the rows themselves."""
    return rows.shifted(shift) if shift.any() else rows


def alpha_grid(level: float, low: int = -6, high: int = 4) -> np.ndarray:
    """Return two alphas per decade from 10^high down to 10^low times `level`, the mean eigenvalue of M."""
    return np.logspace(high, low, 2 * (high - low) + 1) * (level or 1.0)


def held_out_alpha(problem: MomentProblem) -> float:
    """Return the alpha, of the default ones and 0, whose weights rank left-out Gaussian rows best."""
    alphas = np.append(problem.default_alphas(), 0.0)
    return float(alphas[np.argmax(held_out_separation(problem, alphas))])


def held_out_separation(problem: MomentProblem, alphas: np.ndarray) -> np.ndarray:
    """Return Phi^-1(AUC) on left-out rows of Gaussian classes for each alpha, from the moments alone.

    Let T be the sum of the covariances in M, H = (T + alpha I)^-1 and w = H delta. Without the row of class c that is
    at z from the mean of its n rows, T loses r zz' and delta loses +-z / (n - 1). Here r is 1 / (n - 1), times 2 n / N
    of all N rows if the classes are pooled. By Sherman and Morrison the score of the row, from the mean score of the
    other rows of its class, is then f (w.z -+ z'Hz / (n - 1)) instead of w.z, with f = n / (n - 1) / (1 - r z'Hz). The
    mean of z'Hz over a class is t = tr(H C_c). With it, the scores of left-out rows have the variance f^2 w'C_c w, and
    their mean is nearer to the other class by f t / (n - 1).
    """
    scaled, n = problem.scaled, problem.moments.weight
    C = problem.moments.rescaled(problem.scale).scatter / n[:, None, None]
    T = (scaled.scatter / n[:, None, None]).sum(axis=0)
    values, U = eigh(T, scaled.beside if len(T) >= DEVICE_ORDER else None)
    C, delta, inverse = U.T @ C @ U, problem.delta @ U, _shifted_inverse(values, alphas)
    W, t, rest = inverse * delta, inverse @ C.diagonal(axis1=1, axis2=2).T, np.maximum(n - 1, EPS)
    left = 1 - t / rest * covariance_shares(n, problem.pooled)
    usable = (left > LEFT).all(axis=1)
    f = n / rest / np.where(usable[:, None], left, 1)
    gap = W @ delta - np.sum(f * t / rest, axis=1)
    variance = np.sum(f**2 * np.einsum("ai,cij,aj->ac", W, C, W, optimize=True), axis=1)
    return np.where(usable, gap / np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny)), -np.inf)


# The linear algebra


def inverse_product(H: np.ndarray, alpha: float) -> Operator:
    """Return the function that solves a system with H + alpha I and a small ridge. H is overwritten."""
    H.flat[:: len(H) + 1] += alpha + RIDGE * np.trace(H)
    factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
    return lambda r: linalg.cho_solve(factor, r, check_finite=False)


def solve(M: np.ndarray, delta: np.ndarray, alpha: float, beside: Any = None) -> np.ndarray:
    """Return the solution of (M + alpha I) w = delta, the one of least norm if there are many. M is overwritten.

    It is computed on the device of `beside`, if that is given.
    """
    if alpha <= EPS * len(M) * np.trace(M):  # Cholesky may succeed on a singular matrix and return noise
        return eigen_solve(M, delta, np.array([alpha]), beside)[0]
    M.flat[:: len(M) + 1] += alpha
    if beside is not None:
        M, delta = place_beside(M, beside), place_beside(delta[:, None], beside)
        return to_numpy(namespace(M).linalg.solve(M, delta))[:, 0]
    return linalg.solve(M, delta, assume_a="pos", overwrite_a=True, check_finite=False)


def eigen_solve(M: np.ndarray, delta: np.ndarray, alphas: np.ndarray, beside: Any = None) -> np.ndarray:
    """Return the solutions of (M + alpha I) w = delta for all alphas, from one eigendecomposition of M."""
    values, U = eigh(M, beside)
    return _shifted_inverse(values, alphas) * (delta @ U) @ U.T


def dual_path(rows: Rows, alphas: np.ndarray, scale: np.ndarray, center: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the minimisers for X / scale and all alphas from an eigendecomposition of order n + 1.

    With A = JX, M = A'A and delta = A'e for the last unit vector e, so w = A'(AA' + alpha I)^-1 e.
    """
    weights = rows.reduce(lambda targets: targets.pair_weights, merge=np.append)
    positive = rows.reduce(lambda targets: targets.positive, merge=np.append)
    signs, root = np.where(positive, weights, -weights), np.sqrt(weights * shares[positive.astype(np.intp)])[:, None]
    classes = np.column_stack([~positive, positive]).astype(np.float64)  # classes @ m is the mean of each row's class
    averages = classes * weights[:, None]  # averages.T @ s are the class means of s

    def J(V: np.ndarray) -> np.ndarray:
        return np.vstack([root * (V - classes @ (averages.T @ V)), signs @ V])

    values, U = eigh(J(J(rows.gram(scale)).T))
    B = (_shifted_inverse(values, alphas) * U[-1] @ U.T).T
    pulled = root * B[:-1]
    pulled = pulled - averages @ (classes.T @ pulled) + signs[:, None] * B[-1]  # J'B
    return (rows.rmatvec(rows.as_vector(pulled), center) / scale[:, None]).T


def eigh(M: np.ndarray, beside: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, increasing, and eigenvectors; by NumPy, since SciPy holds the interpreter lock.

    They are computed on the device of `beside`, if that is given.
    """
    if beside is not None:
        values, U = namespace(beside).linalg.eigh(place_beside(M, beside))
        return to_numpy(values), to_numpy(U)
    with one_blas_thread():
        return np.linalg.eigh(M)


def _shifted_inverse(values: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return 1 / (eigenvalue + alpha), shape (n_alphas, n_values); 0 where both are 0 up to rounding."""
    values = np.maximum(values, 0)
    shifted = values + np.asarray(alphas)[:, None]
    usable = shifted > EPS * len(values) * values[-1]
    return np.where(usable, 1 / np.where(usable, shifted, 1), 0)
