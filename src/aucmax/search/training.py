"""All models of a cross-validation at once, for rows in memory.

Conventions
-----------
Z holds the n rows in r coordinates: columns divided by their scale, or the coordinates of a rotation. There are S
training sets, the splits of all rounds. A *part* is a set of rows that splits are made of. Sums over training sets are
sums over their parts, so one pass over the rows serves all splits of a round.

Models are weights of Z and have the shape (S, A, r) for A alphas. With a ratio, the penalty is on the weights divided
by the ratio, which belong to the columns of Z * ratio. All solvers work in these columns, without making them.

- Square losses: the class moments of all training sets, and one batch of eigendecompositions. With many coordinates,
  conjugate gradients on the rows, for all training sets and alphas together.
- Other losses: Newton's method with conjugate gradients, for all training sets together. A step is
  tried first, and the gradient there says whether it was the last.
- Smooth AUC: a few steps from the balanced logistic loss.
- L1 penalties and best subsets: the solvers of `solvers/`, for one training set after the other.

This is many times faster than one solver for each training set, which would spend its time on calls. Tolerances, and
the single precision of the products with Z, are enough for a comparison; the final models have the exact solvers.

A training set starts from nothing. Of labels it shares with others only the deviations within the classes, by which
columns are divided. A model that starts at the minimiser
of all rows, or follows a Hessian made of it, keeps what it knows of the test rows until it has converged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..losses.smooth_auc import SmoothAUC, fill_gradients, step_all
from ..rows.machine import map_threads
from ..rows.protocol import InMemoryRows, Targets
from ..rows.summaries.moments import ClassMoments
from ..solvers.conjugate_gradients import conjugate_gradients, shifted_cg
from ..solvers.problem import Objective
from ..solvers.smooth_auc import FIRST_STEP, KAPPA, LEAST_GAIN, N_STEPS
from ..solvers.square import MomentProblem
from .fold_losses import FoldLoss, FoldPoint, PairLoss, RowLoss
from .held_out import set_aucs
from .rounds import Round, Split

MAX_EIGEN = 128  # up to this many coordinates, one eigendecomposition is faster than conjugate gradients
MAX_MOMENTS = 300  # with more coordinates, the square losses are solved on the rows, without class moments
CG_TOL, CG_STEPS = 1e-3, 500
ROW_TOL, ROW_STEPS = 0.03, 20  # of conjugate gradients on the rows
TOL = 0.03  # the length of Newton's step, relative to the length of the weights
MAX_STEPS, PATIENCE = 8, 4  # its steps; after so many the preconditioner is made again
ROWS_PER_COLUMN = 30  # of which it is made
INNER_STEPS, FORCING = 5, 0.2  # of conjugate gradients for Newton's step, and the residual at which they stop
EPS = 1e-7  # the precision of the covariance
PENALISED_TOL = 1e-3  # of coordinate descent


class FoldRows:
    """The rows Z of the training sets of all splits: an array or CSR of shape (n, r), or an object like these.

    `variances` (r,) are given if the coordinates are uncorrelated or too many for a matrix. `totals` (S, 2) is the
    weight of each class in each training set. `weights` (S, n) sum to one half in each class.
    """

    def __init__(self, Z: Any, targets: Targets, rounds: Sequence[Round], variances: np.ndarray | None = None) -> None:
        self.Z, self.positive, self.rounds, self.variances = Z, targets.positive, rounds, variances
        self.weighted = targets.sample_weight is not None
        self.sample_weight = np.ones(Z.shape[0]) if targets.sample_weight is None else targets.sample_weight
        self.members = [membership(round) for round in rounds]
        masses = np.concatenate([m[:, round.parts] for m, round in zip(self.members, rounds, strict=True)])
        masses *= self.sample_weight
        self.totals = np.stack([masses @ ~self.positive, masses @ self.positive], axis=1)
        self.weights = masses * np.where(self.positive, 0.5 / self.totals[:, 1:], 0.5 / self.totals[:, :1])

    @cached_property
    def single(self) -> tuple[Any, Any]:
        """Z in single precision, and its transpose if Z is a matrix."""
        Z = self.Z.astype(np.float32)
        return Z, Z.T.tocsr() if sparse.issparse(Z) else Z.T if isinstance(Z, np.ndarray) else None

    def scores(self, V: np.ndarray) -> np.ndarray:
        """Return the scores of all rows for weights of Z, of shape (B, r), in single precision."""
        Z, Zt = self.single
        V = V.astype(np.float32)
        return V @ Zt if isinstance(Z, np.ndarray) else np.ascontiguousarray((Z @ V.T).T, dtype=np.float32)

    def training_aucs(self, scores: np.ndarray) -> np.ndarray:
        """Return the AUC of scores (S, A, n) on each training set, shape (S, A)."""
        found = np.empty(scores.shape[:2])
        relative = self.sample_weight / self.sample_weight.max()  # products of tiny weights underflow
        for k, own in enumerate(self.weights > 0):
            weight = relative[own] if self.weighted else None
            found[k] = set_aucs(scores[k][:, own], self.positive[own], weight)
        return found

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

    @cached_property
    def covariance(self) -> np.ndarray:
        """The covariance of all rows, shape (r, r)."""
        share = self.sample_weight / self.sample_weight.sum()
        root = np.sqrt(share).astype(np.float32)[:, None] * self.single[0]
        return (root.T @ root).astype(np.float64)


def membership(round: Round) -> np.ndarray:
    """Return which parts are in the training set of each split, as 0 and 1, shape (n_splits, n_parts)."""
    members = np.zeros((len(round.splits), round.n_parts))
    for k, split in enumerate(round.splits):
        members[k, list(split.train)] = 1.0
    return members


class FoldTraining:
    """The solvers of all training sets, for one penalty: on the weights of Z, or on these divided by `ratio` (r,)."""

    def __init__(self, rows: FoldRows, ratio: np.ndarray | None = None) -> None:
        self.rows, self.ratio = rows, ratio
        self.positive, self.weights = rows.positive, rows.weights
        # That of vectors in conjugate gradients, which with so many columns take as long as the products.
        self.precision = np.float32 if rows.Z.shape[1] > MAX_MOMENTS else np.float64
        self.unit = 1.0 if ratio is None else float(ratio.max(initial=0.0)) or 1.0  # alphas are in units of its square
        if ratio is not None:
            self.ratio = (ratio / self.unit).astype(self.precision)

    def models(self, V: np.ndarray) -> np.ndarray:
        """Return the weights of Z for weights of Z * ratio."""
        return V if self.ratio is None else V * self.ratio

    def unmodelled(self, U: np.ndarray) -> np.ndarray:
        """Return the weights of Z * ratio for weights of Z."""
        return U if self.ratio is None else np.divide(U, self.ratio, out=np.zeros_like(U), where=self.ratio > 0)

    # Products with Z * ratio, in single precision

    def scores(self, V: np.ndarray) -> np.ndarray:
        """Return the scores of all rows for the weights V, of shape (B, r), in single precision."""
        return self.rows.scores(self.models(V))

    def rmatvec(self, G: np.ndarray) -> np.ndarray:
        """Return G @ (Z * ratio) for G of shape (B, n)."""
        Z, Zt = self.rows.single
        G = G.astype(np.float32, copy=False)
        return self.models(((Zt @ G.T).T if sparse.issparse(Z) else G @ Z).astype(self.precision))

    # The square losses

    def shares(self, pooled: bool) -> np.ndarray:
        """Return the factors of the two covariances in M, shape (S, 2)."""
        totals = self.rows.totals
        return 2 * totals / totals.sum(axis=1, keepdims=True) if pooled else np.ones_like(totals)

    def square(self, alphas: np.ndarray, pooled: bool) -> np.ndarray:
        """Return the minimisers of the square loss for all alphas."""
        alphas = alphas / self.unit**2
        if self.rows.Z.shape[1] > MAX_MOMENTS or sparse.issparse(self.rows.Z):
            return self.square_by_rows(alphas, pooled)
        delta = self.rows.means[:, 1] - self.rows.means[:, 0]
        M = np.einsum("sc,scij->sij", self.shares(pooled), self.rows.covariances) + delta[:, :, None] * delta[:, None]
        if self.ratio is not None:
            M, delta = M * np.outer(self.ratio, self.ratio), delta * self.ratio
        if M.shape[1] > MAX_EIGEN:
            paths = [shifted_cg(m.__matmul__, b, alphas, CG_TOL, CG_STEPS) for m, b in zip(M, delta, strict=True)]
            return self.models(np.array([path.solutions for path in paths]))
        values, U = np.linalg.eigh(M)
        values = np.maximum(values, 1e-12 * values[:, -1:])
        return self.models((delta[:, None, :] @ U) / (values[:, None, :] + alphas[:, None]) @ U.transpose(0, 2, 1))

    def square_by_rows(self, alphas: np.ndarray, pooled: bool) -> np.ndarray:
        """Return the minimisers of the square loss by conjugate gradients on the rows, without the matrices M."""
        delta = self.models((self.rows.means[:, 1] - self.rows.means[:, 0]).astype(self.precision))
        n_alphas = len(alphas)
        c = 2 * self.weights
        sides = [(c * side).astype(np.float32)[:, :, None] for side in (~self.positive, self.positive)]
        spread = c * self.shares(pooled)[:, self.positive.astype(np.intp)]
        c, spread = (np.repeat(part, n_alphas, axis=0).astype(np.float32) for part in (c, spread))
        penalty = np.tile(alphas, len(delta))[:, None].astype(self.precision)
        kappa = np.full(len(penalty), 2.0, dtype=self.precision)

        def product(V: np.ndarray) -> np.ndarray:
            T = self.scores(V)
            by_split = T.reshape(len(delta), n_alphas, -1)
            lower, upper = ((by_split @ side).reshape(-1, 1) for side in sides)
            G = spread * (T - np.where(self.positive, upper, lower))
            G += c * np.where(self.positive, upper - lower, lower - upper)
            return self.rmatvec(G) + penalty * V

        def precondition(R: np.ndarray) -> np.ndarray:
            return self.solve(R, kappa, penalty)

        b = np.repeat(delta, n_alphas, axis=0)
        solved = conjugate_gradients(product, precondition, b, ROW_TOL, ROW_STEPS)[0]
        return self.models(solved.reshape(len(delta), n_alphas, -1))

    # The losses that need iterations

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The eigenvalues and eigenvectors of the covariance of all rows; no eigenvectors if it counts as diagonal."""
        if self.rows.variances is not None:
            return self.models(self.models(self.rows.variances.astype(self.precision))), None
        C = self.rows.covariance
        return np.linalg.eigh(C if self.ratio is None else C * np.outer(self.ratio, self.ratio))

    def solve(self, R: np.ndarray, kappa: np.ndarray, penalty: float | np.ndarray) -> np.ndarray:
        """Return the solutions of systems with kappa times the covariance of all rows plus a penalty; R is (B, r)."""
        values, Q = self.spectrum
        shifted = kappa[:, None] * np.maximum(values, 0) + EPS * kappa.max() * values.max() + penalty
        return R / shifted if Q is None else (R @ Q) / shifted @ Q.T

    def loss(self, name: str) -> FoldLoss:
        """Return a loss of the scores of all training sets."""
        given = self.positive, self.weights
        return RowLoss(*given) if name == "balanced_logistic" else PairLoss(name, *given)

    def newton_path(self, name: str, alphas: np.ndarray, start: np.ndarray | None = None) -> Iterator[np.ndarray]:
        """Yield the minimisers of a loss for each of decreasing alphas, (S, r).

        A training set starts from its own minimiser for the alpha before; the first alpha starts from `start` or 0.
        """
        loss = self.loss(name)
        W = np.zeros((len(self.weights), self.rows.Z.shape[1] + 1))  # the last weight is the offset, without a penalty
        if start is not None:
            W[:, :-1] = self.unmodelled(start)
        for alpha in alphas:
            W = self.newton(loss, float(alpha) / self.unit**2, W)
            yield self.models(W[:, :-1])

    def newton(self, loss: FoldLoss, alpha: float, W: np.ndarray) -> np.ndarray:
        """Minimise the losses of all training sets, until Newton's steps are short compared with the weights.

        Both lengths are in the norm of the Hessian. A step that does not lower the loss is made shorter.
        """
        best, values = W, np.full(len(W), np.inf)
        steps, length, done = np.zeros_like(W), np.ones(len(W)), np.zeros(len(W), dtype=bool)
        inverses = None
        for number in range(MAX_STEPS):
            trial = best - length[:, None] * steps
            point = loss(self.scores(trial[:, :-1]) + trial[:, -1:].astype(np.float32))
            penalties = alpha * np.einsum("sj,sj->s", trial[:, :-1], trial[:, :-1])
            lower = point.values + penalties / 2 <= (1 + loss.rounding) * values
            length = np.where(lower, 1.0, length / 4)
            best, values = np.where(lower[:, None], trial, best), np.where(lower, point.values + penalties / 2, values)
            gradients = np.column_stack([self.rmatvec(point.slopes) + alpha * trial[:, :-1], point.slopes.sum(axis=1)])
            gradients[:, -1] *= loss.has_offset  # rounding is all there is for a loss of pairs
            if W.shape[1] <= MAX_EIGEN and number % PATIENCE == 0 and not sparse.issparse(self.rows.Z):
                inverses = self.inverse_hessians(point.curvatures, alpha)
            new, decrements = self.direction(point, alpha, gradients, inverses)
            done = np.where(lower, decrements <= TOL**2 * (point.squares + penalties), done)
            if done.all():
                break
            steps = np.where(lower[:, None], new, steps)
        return best

    def inverse_hessians(self, curvatures: np.ndarray, alpha: float) -> np.ndarray:
        """Return the inverse Hessian of each training set, about, from some of its rows."""
        n, r = self.rows.Z.shape
        used = slice(None, None, max(1, n // (ROWS_PER_COLUMN * r)))
        Z = np.column_stack([self.models(self.rows.single[0][used]), np.ones(len(range(n)[used]), dtype=np.float32)])
        c = curvatures[:, used] * (1 / self.weights[:, used].sum(axis=1, keepdims=True).astype(np.float32))
        roots = np.sqrt(c)
        H = np.array([(root.T @ root).astype(np.float64) for root in (column[:, None] * Z for column in roots)])
        places = np.arange(r)
        H[:, places, places] += alpha
        H[:, np.arange(r + 1), np.arange(r + 1)] += 10 * EPS * np.trace(H, axis1=1, axis2=2)[:, None]
        return np.linalg.inv(H)

    def direction(
        self, point: FoldPoint, alpha: float, gradients: np.ndarray, inverses: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Newton's steps for all training sets, and their squared lengths, by conjugate gradients.

        The preconditioners are `inverses`, or the covariance of all rows.
        """
        kappa = point.curvatures.sum(axis=1, dtype=self.precision)
        kappa = np.maximum(kappa, 1e-6 * kappa.max() + 1e-12)

        def precondition(R: np.ndarray) -> np.ndarray:
            if inverses is not None:
                return np.matmul(inverses, R[:, :, None])[:, :, 0]
            return np.column_stack([self.solve(R[:, :-1], kappa, alpha), R[:, -1] / kappa])

        def product(P: np.ndarray) -> np.ndarray:
            G = point.product(self.scores(P[:, :-1]) + P[:, -1:].astype(np.float32))
            return np.column_stack([self.rmatvec(G) + alpha * P[:, :-1], point.has_offset * G.sum(axis=1)])

        return conjugate_gradients(product, precondition, gradients.astype(self.precision), FORCING, INNER_STEPS)

    # Penalties that leave weights 0

    def penalised(
        self, objective: Objective, alphas: np.ndarray, sample: InMemoryRows, scale: np.ndarray
    ) -> np.ndarray:
        """Return the minimisers of a square loss with the penalty of `objective`, for all its candidates.

        Few columns have the moments of the training sets. With many, the problem is made of the rows of `sample`, whose
        columns divided by `scale` are Z.
        """
        if self.rows.Z.shape[1] <= MAX_MOMENTS and not sparse.issparse(self.rows.Z):
            ratio = np.ones(len(scale)) if self.ratio is None else self.unit * self.ratio
            empty = ClassMoments(len(scale))

            def train(k: int) -> np.ndarray:
                totals = self.rows.totals[k]
                scatter = self.rows.covariances[k] * totals[:, None, None] * np.outer(ratio, ratio)
                square = MomentProblem(empty._with(totals, self.rows.means[k] * ratio, scatter), False, pooled)
                return objective.penalised(square).path(alphas, PENALISED_TOL) * ratio

            pooled = objective.loss == "pooled"
            _ = self.rows.covariances  # computed once, before the threads
            return np.array(list(map_threads(train, range(len(self.weights)))))
        splits = [(round, split) for round in self.rows.rounds for split in round.splits]
        finite = np.where(np.isfinite(scale), scale, 0.0)

        def train_rows(job: tuple[Round, Split]) -> np.ndarray:
            round, split = job
            problem = objective.penalised(objective.square(sample.subset(round.parts, split.train)))
            return problem.path(alphas, PENALISED_TOL) * finite

        return np.array(list(map_threads(train_rows, splits)))

    # The smooth AUC

    def smooth_auc(self, U: np.ndarray, alpha: float) -> np.ndarray:
        """Return the ends of the descents on the smooth AUC from U, shape (S, r); see `solvers/smooth_auc.py`."""
        U = self.unmodelled(U)
        kappa, scores = np.full(len(U), KAPPA), self.scores(U).astype(np.float64)
        c = 2 * self.weights
        means = np.stack([(c * side * scores).sum(axis=1) for side in (~self.positive, self.positive)], axis=1)
        own = means[:, self.positive.astype(np.intp)]
        spread = np.sqrt((c * (scores - own) ** 2).sum(axis=1) / 2)
        spread[~(spread > 0)] = 1.0
        U, scores = U / spread[:, None], scores / spread[:, None]
        losses = [SmoothAUC(mean) for mean in means / spread[:, None]]
        lows, steps = np.array([loss.low for loss in losses]), np.array([loss.step for loss in losses])
        grids = lows, steps, np.array([loss.kernel for loss in losses])
        lengths, active = np.full(len(U), -1.0), np.arange(len(U))
        for _ in range(N_STEPS):
            ours, some = [part[active] for part in grids], scores[active]
            gradients = np.empty_like(some)
            values = fill_gradients(some, self.positive, c[active], *ours, gradients)
            directions = -self.solve(self.rmatvec(gradients), kappa[active], alpha / self.unit**2)
            changes, moved = self.scores(directions).astype(np.float64), lengths[active]
            found = step_all(some, changes, self.positive, c[active], *ours, values, gradients, moved, FIRST_STEP)
            U[active] += moved[:, None] * directions
            scores[active], lengths[active] = some, moved
            active = active[(moved > 0) & (values - found >= LEAST_GAIN * values)]
            if not len(active):
                break
        return self.models(U)
