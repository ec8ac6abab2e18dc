"""All models of a cross-validation at once, for rows in memory.

Conventions
-----------
Z holds the n rows in r coordinates: columns divided by their scale, or those of a rotation. There are S training sets,
the splits of all rounds. A *part* is a set of rows that splits are made of. Sums over training sets are sums over their
parts, so one pass over the rows serves all splits of a round. Models have the shape (S, A, r) for A alphas.

- Square losses: the class moments of all training sets, and one batch of eigendecompositions. With many coordinates,
  conjugate gradients on the rows, for all training sets and alphas together.
- Balanced logistic loss: Newton's method with conjugate gradients, for all training sets together.
- Smooth AUC: a few steps from the balanced logistic loss.

This is many times faster than one solver for each training set, which would spend its time on calls. Tolerances, and
the single precision of the products with Z, are those of a comparison; the final models have the exact solvers.

A training set starts from nothing, and what it shares with others knows no labels. A model that starts at the minimiser
of all rows, or follows a Hessian made of it, keeps what it knows of the test rows until it has converged.

Importing this module imports Numba; see `jit`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..data.protocol import Round, Targets
from ..jit import FAST, jit
from ..losses.smooth_auc import N_POINTS, SmoothAUC, add_masses, field_slopes, fill_slopes, pair_sum, step_length
from ..solvers.smooth_auc import FIRST_STEP, KAPPA, LEAST_GAIN, N_STEPS
from ..solvers.square import shifted_cg

MAX_EIGEN = 128  # up to this many coordinates, one eigendecomposition is faster than conjugate gradients
MAX_MOMENTS = 300  # with more coordinates, the square losses are solved on the rows, without class moments
CG_TOL, CG_STEPS = 1e-3, 500
ROW_TOL, ROW_STEPS = 0.03, 20  # of conjugate gradients on the rows
TOL = 0.03  # the length of Newton's step for the logistic loss, relative to that of the weights
MAX_STEPS, PATIENCE = 8, 4  # its steps; after so many the preconditioner is made again
ROWS_PER_COLUMN = 30  # of which it is made
INNER_STEPS, FORCING = 5, 0.2  # of conjugate gradients for Newton's step, and the residual at which they stop
EPS = 1e-7  # the precision of the covariance


class FoldTraining:
    """The training sets of all splits.

    Parameters
    ----------
    Z : ndarray or CSR of shape (n, r)
        The rows.
    targets : Targets
        Their classes and weights.
    rounds : sequence of Round
        The splits.
    diagonal : ndarray of shape (r,), default=None
        The variances of the coordinates, if these are uncorrelated or too many for a matrix.

    Attributes
    ----------
    weights : ndarray of shape (S, n)
        The weight of each row in each training set; they sum to one half in each class.
    """

    def __init__(self, Z: Any, targets: Targets, rounds: Sequence[Round], diagonal: np.ndarray | None = None) -> None:
        self.Z, self.positive, self.rounds, self.diagonal = Z, targets.positive, rounds, diagonal
        self.weighted = targets.sample_weight is not None
        self.sample_weight = np.ones(Z.shape[0]) if targets.sample_weight is None else targets.sample_weight
        self.members = [membership(round) for round in rounds]
        masses = np.concatenate([m[:, round.parts] for m, round in zip(self.members, rounds, strict=True)])
        masses *= self.sample_weight
        self.totals = np.stack([masses @ ~self.positive, masses @ self.positive], axis=1)
        self.weights = masses * np.where(self.positive, 0.5 / self.totals[:, 1:], 0.5 / self.totals[:, :1])

    # Products with Z, in single precision

    @cached_property
    def single(self) -> tuple[Any, Any]:
        """Z in single precision, and its transpose."""
        Z = self.Z.astype(np.float32)
        return Z, Z.T.tocsr() if sparse.issparse(Z) else Z.T

    def scores(self, V: np.ndarray) -> np.ndarray:
        """Return the scores of all rows for the weights V, of shape (B, r), in single precision."""
        Z, Zt = self.single
        V = V.astype(np.float32)
        return np.ascontiguousarray((Z @ V.T).T) if sparse.issparse(Z) else V @ Zt

    def pullback(self, G: np.ndarray) -> np.ndarray:
        """Return G @ Z for G of shape (B, n)."""
        Z, Zt = self.single
        G = G.astype(np.float32, copy=False)
        return ((Zt @ G.T).T if sparse.issparse(Z) else G @ Z).astype(np.float64)

    # The square losses

    @cached_property
    def means(self) -> np.ndarray:
        """The class means of the training sets, shape (S, 2, r)."""
        both = 2 * self.weights
        return np.stack([both * ~self.positive @ self.Z, both * self.positive @ self.Z], axis=1)

    @cached_property
    def covariances(self) -> np.ndarray:
        """The class covariances of the training sets, shape (S, 2, r, r)."""
        found, r = [], self.Z.shape[1]
        for members, round in zip(self.members, self.rounds, strict=True):
            cells = 2 * round.parts.astype(np.int64) + self.positive
            order = np.argsort(cells, kind="stable")
            edges = np.searchsorted(cells[order], np.arange(2 * round.n_parts + 1))
            ordered = self.Z[order]
            if self.weighted:
                ordered *= np.sqrt(self.sample_weight[order])[:, None]
            blocks = [ordered[start:stop] for start, stop in itertools.pairwise(edges)]
            sums = np.array([block.T @ block for block in blocks])
            found.append(np.tensordot(members, sums.reshape(round.n_parts, 2, r, r), 1))
        squares = np.concatenate(found) / self.totals[:, :, None, None]
        squares -= self.means[..., :, None] * self.means[..., None, :]
        return squares

    def shares(self, pooled: bool) -> np.ndarray:
        """Return the factors of the two covariances in M, shape (S, 2)."""
        return 2 * self.totals / self.totals.sum(axis=1, keepdims=True) if pooled else np.ones_like(self.totals)

    def square(self, alphas: np.ndarray, pooled: bool, ratio: np.ndarray | None = None) -> np.ndarray:
        """Return the minimisers of the square loss for all alphas.

        With `ratio`, the penalty is on the weights of the columns times `ratio`. The minimisers are those of Z anyway.
        """
        if self.Z.shape[1] > MAX_MOMENTS or sparse.issparse(self.Z):
            return self.square_by_rows(alphas, pooled, ratio)
        delta = self.means[:, 1] - self.means[:, 0]
        M = np.einsum("sc,scij->sij", self.shares(pooled), self.covariances) + delta[:, :, None] * delta[:, None, :]
        if ratio is not None:
            M, delta = M * np.outer(ratio, ratio), delta * ratio
        if self.Z.shape[1] > MAX_EIGEN:
            paths = [shifted_cg(m.__matmul__, b, alphas, CG_TOL, CG_STEPS) for m, b in zip(M, delta, strict=True)]
            found = np.array([path.solutions for path in paths])
        else:
            values, U = np.linalg.eigh(M)
            values = np.maximum(values, 1e-12 * values[:, -1:])
            found = (delta[:, None, :] @ U) / (values[:, None, :] + alphas[:, None]) @ U.transpose(0, 2, 1)
        return found if ratio is None else found * ratio

    def square_by_rows(self, alphas: np.ndarray, pooled: bool, ratio: np.ndarray | None) -> np.ndarray:
        """Return the minimisers of the square loss by conjugate gradients on the rows, without the matrices M."""
        delta, n_alphas, r = self.means[:, 1] - self.means[:, 0], len(alphas), self.Z.shape[1]
        c = 2 * self.weights
        sides = [(c * side).astype(np.float32)[:, :, None] for side in (~self.positive, self.positive)]
        spread = c * self.shares(pooled)[:, self.positive.astype(np.intp)]
        c, spread = (np.repeat(part, n_alphas, axis=0).astype(np.float32) for part in (c, spread))
        penalty = np.tile(alphas, len(delta))[:, None]
        if ratio is not None:
            penalty = penalty / np.where(ratio > 0, ratio, 1.0) ** 2
        kappa = np.full(len(penalty), 2.0)

        def product(V: np.ndarray) -> np.ndarray:
            T = self.scores(V)
            by_split = T.reshape(len(delta), n_alphas, -1)
            lower, upper = ((by_split @ side).reshape(-1, 1) for side in sides)
            G = spread * (T - np.where(self.positive, upper, lower))
            G += c * np.where(self.positive, upper - lower, lower - upper)
            return self.pullback(G) + penalty * V

        def precondition(R: np.ndarray) -> np.ndarray:
            return self.solve(R, kappa, penalty)

        b = np.repeat(delta, n_alphas, axis=0)
        return conjugate_gradients(product, precondition, b, ROW_TOL, ROW_STEPS)[0].reshape(-1, n_alphas, r)

    # The balanced logistic loss

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The eigenvalues and eigenvectors of the covariance of all rows; no eigenvectors if it counts as diagonal."""
        if self.diagonal is not None:
            return self.diagonal, None
        share = self.sample_weight / self.sample_weight.sum()
        root = np.sqrt(share).astype(np.float32)[:, None] * self.single[0]
        return np.linalg.eigh((root.T @ root).astype(np.float64))

    def solve(self, R: np.ndarray, kappa: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
        """Return the solutions of systems with kappa times the covariance of all rows plus a penalty; R is (B, r)."""
        values, Q = self.spectrum
        shifted = kappa[:, None] * np.maximum(values, 0) + EPS * kappa.max() * values.max()
        if Q is None or np.ndim(penalty) < 2 or np.shape(penalty)[1] == 1:
            return R / (shifted + penalty) if Q is None else (R @ Q) / (shifted + penalty) @ Q.T
        return R / (kappa[:, None] + penalty)  # another penalty for each column: standardised columns have variance 1

    def logistic(self, alphas: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the minimisers of the balanced logistic loss for each of decreasing alphas, (S, r).

        A training set starts from its own minimiser for the alpha before.
        """
        W = np.zeros((len(self.weights), self.Z.shape[1] + 1))  # the last weight is the offset, without a penalty
        for alpha in alphas:
            W = self.newton(float(alpha), W)
            yield W[:, :-1]

    def newton(self, alpha: float, W: np.ndarray) -> np.ndarray:
        """Minimise the logistic losses of all training sets, until Newton's steps are short compared with the weights.

        Both lengths are in the norm of the Hessian. A step that does not lower the loss is made shorter.
        """
        signs, c = np.where(self.positive, 1.0, -1.0).astype(np.float32), self.weights.astype(np.float32)
        slopes, curvatures = np.empty((2, *c.shape), dtype=np.float32)
        best, values = W, np.full(len(W), np.inf)
        steps, length, done = np.zeros_like(W), np.ones(len(W)), np.zeros(len(W), dtype=bool)
        inverses = None
        for number in range(MAX_STEPS):
            trial = best - length[:, None] * steps
            scores = self.scores(trial[:, :-1]) + trial[:, -1:].astype(np.float32)
            losses, squares = logistic_losses(scores, signs, c, slopes, curvatures)
            penalties = alpha * np.einsum("sj,sj->s", trial[:, :-1], trial[:, :-1])
            lower = losses + penalties / 2 <= values
            length = np.where(lower, 1.0, length / 4)
            best, values = np.where(lower[:, None], trial, best), np.where(lower, losses + penalties / 2, values)
            gradients = np.column_stack([self.pullback(slopes) + alpha * trial[:, :-1], slopes.sum(axis=1)])
            if W.shape[1] <= MAX_EIGEN and number % PATIENCE == 0 and not sparse.issparse(self.Z):
                inverses = self.inverse_hessians(curvatures, alpha)
            new, decrements = self.direction(curvatures, alpha, gradients, inverses)
            done = np.where(lower, decrements <= TOL**2 * (squares + penalties), done)
            if done.all():
                break
            steps = np.where(lower[:, None], new, steps)
        return best

    def inverse_hessians(self, curvatures: np.ndarray, alpha: float) -> np.ndarray:
        """Return the inverse Hessian of each training set, about, from some of its rows."""
        n, r = self.Z.shape
        used = slice(None, None, max(1, n // (ROWS_PER_COLUMN * r)))
        Z = np.column_stack([self.single[0][used], np.ones(len(range(n)[used]), dtype=np.float32)])
        c = curvatures[:, used] * (1 / self.weights[:, used].sum(axis=1, keepdims=True).astype(np.float32))
        roots = np.sqrt(c)
        H = np.array([(root.T @ root).astype(np.float64) for root in (column[:, None] * Z for column in roots)])
        places = np.arange(r)
        H[:, places, places] += alpha
        H[:, np.arange(r + 1), np.arange(r + 1)] += 10 * EPS * np.trace(H, axis1=1, axis2=2)[:, None]
        return np.linalg.inv(H)

    def direction(
        self, curvatures: np.ndarray, alpha: float, gradients: np.ndarray, inverses: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Newton's steps for all training sets, and their squared lengths, by conjugate gradients.

        The preconditioners are `inverses`, or the covariance of all rows.
        """
        kappa = curvatures.sum(axis=1, dtype=np.float64)
        kappa = np.maximum(kappa, 1e-6 * kappa.max() + 1e-12)

        def precondition(R: np.ndarray) -> np.ndarray:
            if inverses is not None:
                return np.matmul(inverses, R[:, :, None])[:, :, 0]
            return np.column_stack([self.solve(R[:, :-1], kappa, alpha), R[:, -1] / kappa])

        def product(P: np.ndarray) -> np.ndarray:
            G = curvatures * (self.scores(P[:, :-1]) + P[:, -1:].astype(np.float32))
            return np.column_stack([self.pullback(G) + alpha * P[:, :-1], G.sum(axis=1)])

        return conjugate_gradients(product, precondition, gradients, FORCING, INNER_STEPS)

    # The smooth AUC

    def smooth_auc(self, U: np.ndarray, alpha: float) -> np.ndarray:
        """Return the ends of the descents on the smooth AUC from U, shape (S, r); see `solvers/smooth_auc.py`."""
        kappa, scores = np.full(len(U), KAPPA), self.scores(U).astype(np.float64)
        c = 2 * self.weights
        means = np.stack([(c * side * scores).sum(axis=1) for side in (~self.positive, self.positive)], axis=1)
        own = means[:, self.positive.astype(np.intp)]
        spread = np.sqrt((c * (scores - own) ** 2).sum(axis=1) / 2)
        spread[~(spread > 0)] = 1.0
        U, scores = U / spread[:, None], scores / spread[:, None]
        losses = [SmoothAUC(mean) for mean in means / spread[:, None]]
        values, lengths = np.empty(len(U)), np.zeros(len(U))
        active = np.arange(len(U))
        gradients = np.empty_like(scores)
        for number in range(N_STEPS):
            for k in active:
                values[k] = self._smooth_gradient(losses[k], scores[k], c[k], gradients[k])
            directions = -self.solve(self.pullback(gradients[active]), kappa[active], alpha)
            changes, still = self.scores(directions).astype(np.float64), []
            for k, direction, change in zip(active, directions, changes, strict=True):
                change -= c[k] @ change / 2
                slope = float(gradients[k] @ change)
                if number == 0:
                    size = float(np.sqrt(c[k] @ change**2 / 2))
                    lengths[k] = FIRST_STEP / size if size > 0 else 0.0
                if slope < 0 and lengths[k] > 0:
                    loss = losses[k]
                    lengths[k], new = step_length(
                        scores[k], change, self.positive, c[k], loss.low, 1 / loss.step, loss.kernel, values[k], slope,
                        lengths[k],
                    )  # fmt: skip
                    U[k] += lengths[k] * direction
                    scores[k] += lengths[k] * change
                    if values[k] - new >= LEAST_GAIN * values[k]:
                        still.append(k)
            active = np.array(still, dtype=np.intp)
            if not len(active):
                break
        return U

    def _smooth_gradient(self, loss: SmoothAUC, scores: np.ndarray, weights: np.ndarray, out: np.ndarray) -> float:
        masses = np.zeros((2, N_POINTS))
        add_masses(scores, self.positive, weights, loss.low, 1 / loss.step, masses)
        slopes = field_slopes(masses, loss.kernel) / loss.step
        fill_slopes(scores, self.positive, weights, loss.low, 1 / loss.step, slopes, out)
        return float(pair_sum(masses, loss.kernel))


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray],
    precondition: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve many systems at once, one for each row of b; return the solutions and their inner products with b."""
    x, r = np.zeros_like(b), b
    p = z = precondition(r)
    rho = goal = np.einsum("sj,sj->s", r, z)
    for _ in range(max_iter):
        q = product(p)
        step = rho / np.maximum(np.einsum("sj,sj->s", p, q), 1e-300)
        x, r = x + step[:, None] * p, r - step[:, None] * q
        z = precondition(r)
        rho, before = np.einsum("sj,sj->s", r, z), rho
        if (rho <= tol**2 * goal).all():
            break
        p = z + (rho / np.maximum(before, 1e-300))[:, None] * p
    return x, np.einsum("sj,sj->s", b, x)


def membership(round: Round) -> np.ndarray:
    """Return which parts are in the training set of each split, as 0 and 1, shape (n_splits, n_parts)."""
    members = np.zeros((len(round.splits), round.n_parts))
    for k, split in enumerate(round.splits):
        members[k, list(split.train)] = 1.0
    return members


@jit(**FAST)
def logistic_losses(scores, signs, weights, slopes, curvatures):
    """Return the sums of weight * log(1 + exp(-sign * score)) and of curvature * score^2; fill both derivatives."""
    values, squares = np.zeros(scores.shape[0]), np.zeros(scores.shape[0])
    for k in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            t, c = signs[i] * scores[k, i], weights[k, i]
            e = np.exp(-abs(t))
            p = 1.0 / (1.0 + e)
            values[k] += c * (np.log1p(e) - min(t, 0.0))
            slopes[k, i] = -signs[i] * c * (e * p if t > 0.0 else p)
            curvatures[k, i] = c * e * p * p
            squares[k] += curvatures[k, i] * t * t
    return values, squares
