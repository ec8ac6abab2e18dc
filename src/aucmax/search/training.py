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
- Other losses: Newton's method with conjugate gradients, for all training sets together.
- Smooth AUC: a few steps from the balanced logistic loss, with the same line search.
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
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..losses.smooth_auc import UnitScores
from ..rows.machine import map_threads
from ..rows.memory import MemorySpace
from ..rows.protocol import InMemoryRows, Targets
from ..rows.summaries.moments import ClassMoments, covariance_shares
from ..solvers.conjugate_gradients import Operator, conjugate_gradients, inner, shifted_cg
from ..solvers.descent import backtrack
from ..solvers.problem import Objective
from ..solvers.smooth_auc import KAPPA
from ..solvers.square import MomentProblem
from .fold_losses import FoldLoss, FoldPoint, PairLoss, RowLoss
from .held_out import areas_of
from .rounds import Round, Split

MAX_EIGEN = 128  # up to this many coordinates, one eigendecomposition is faster than conjugate gradients
MAX_MOMENTS = 300  # with more coordinates, the square losses are solved on the rows, without class moments
CG_TOL, CG_STEPS = 1e-3, 500
ROW_TOL, ROW_STEPS = 0.03, 20  # of conjugate gradients on the rows
# Newton's method for all training sets: its tolerance, its steps, and after how many of them the preconditioner is made
# again, from so many rows for each column.
NEWTON_TOL, NEWTON_STEPS, STEPS_TOGETHER, ROWS_PER_COLUMN = 0.01, 8, 4, 30
INNER_TOL, INNER_STEPS = 0.2, 5  # of conjugate gradients for Newton's step
# The steps that a line search tries. Shorter ones are hidden by the grid of a pairwise loss.
SHARES = 1.0, 1 / 4, 1 / 16, 1 / 64, 0.0
SINGLE = 1e-7  # single precision, in which covariances are computed
# A descent on the smooth AUC first tries steps longer than Newton's, as these have the size of each curvature.
LONGER = 1.5
DESCENT_STEPS = 6  # it takes at most so many; two more change the test AUC by less than 0.0001
WORTHWHILE = 5e-3  # it ends where a step lowers the loss by a smaller share, which no comparison of AUCs sees
PENALISED_TOL = 1e-3  # of coordinate descent


class FoldRows:
    """The rows Z of the training sets of all splits: an array or CSR of shape (n, r), or an object like these.

    `variances` (r,) are given if the coordinates are uncorrelated or too many for a matrix. `totals` (S, 2) is the
    weight of each class in each training set. `weights` (S, n) sum to one half in each class.
    """

    def __init__(self, Z: Any, targets: Targets, rounds: Sequence[Round], variances: np.ndarray | None = None) -> None:
        self.Z, self.targets, self.rounds, self.variances = Z, targets, rounds, variances
        self.positive = targets.positive
        self.weighted = targets.sample_weight is not None
        self.sample_weight = np.ones(Z.shape[0]) if targets.sample_weight is None else targets.sample_weight
        # Which parts are in the training set of each split, as 0 and 1: (n_splits, n_parts) for each round.
        self.members = [
            np.array([np.isin(np.arange(round.n_parts), split.train) for split in round.splits], dtype=np.float64)
            for round in rounds
        ]
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
            upper, lower = own & self.positive, own & ~self.positive
            weights = (relative[upper], relative[lower]) if self.weighted else None
            found[k] = areas_of(scores[k][:, upper], scores[k][:, lower], weights)
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


class FoldIterate(NamedTuple):
    """The weights of all training sets, with their loss and its derivatives."""

    W: np.ndarray  # (S, r + 1): the weights of Z * ratio, the last one the offset, without a penalty
    scores: np.ndarray  # (S, n): their scores
    point: FoldPoint  # the loss of these scores
    slopes: np.ndarray  # (S, r + 1): the derivative of the loss with respect to W

    def values(self, alpha: float) -> np.ndarray:
        """Return the losses plus alpha/2 times the squared norms of the weights."""
        return self.point.values + alpha / 2 * inner(self.W[:, :-1], self.W[:, :-1])

    def gradients(self, alpha: float) -> np.ndarray:
        """Return the derivatives of the same."""
        return self.slopes + alpha * np.column_stack([self.W[:, :-1], np.zeros(len(self.W))])

    def squares(self, alpha: float) -> np.ndarray:
        """Return the Hessians of the same between the weights and themselves."""
        return self.point.squares + alpha * inner(self.W[:, :-1], self.W[:, :-1])


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

    def square(self, alphas: np.ndarray, pooled: bool) -> np.ndarray:
        """Return the minimisers of the square loss for all alphas."""
        alphas = alphas / self.unit**2
        if self.rows.Z.shape[1] > MAX_MOMENTS or sparse.issparse(self.rows.Z):
            return self.square_by_rows(alphas, pooled)
        delta = self.rows.means[:, 1] - self.rows.means[:, 0]
        shares = covariance_shares(self.rows.totals, pooled)
        M = np.einsum("sc,scij->sij", shares, self.rows.covariances) + delta[:, :, None] * delta[:, None]
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
        spread = c * covariance_shares(self.rows.totals, pooled)[:, self.positive.astype(np.intp)]
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
        shifted = kappa[:, None] * np.maximum(values, 0) + SINGLE * kappa.max() * values.max() + penalty
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
        at = self.iterate(loss, np.zeros((len(self.weights), self.rows.Z.shape[1])) if start is None else start)
        for alpha in alphas:
            at = self.newton(loss, float(alpha) / self.unit**2, at)
            yield self.models(at.W[:, :-1])

    def newton(self, loss: FoldLoss, alpha: float, at: FoldIterate) -> FoldIterate:
        """Minimise F, the loss plus alpha/2 |v|^2, for all training sets by the steps of `solvers/newton.py`.

        1. Gradient: of each training set.
        2. Stop test: all gradients are at most NEWTON_TOL times the lengths of the weights in the Hessian, measured in
           the inverse of the last preconditioner, or their line searches have failed.
        3. Preconditioner: made for the first step, and again after STEPS_TOGETHER steps.
        4. Direction: conjugate gradients on the Hessian of F, until the residual is INNER_TOL of the gradient.
        5. Line search: backtracking from the whole step, with the scores of the direction that are known from step 4.
        """
        lengths, precondition = np.ones(len(at.W)), None
        for number in range(NEWTON_STEPS):
            gradients = at.gradients(alpha)  # 1
            if precondition is not None:  # 2
                short = inner(gradients, precondition(gradients)) <= NEWTON_TOL**2 * at.squares(alpha)
                if (short | (lengths == 0)).all():
                    break
            if precondition is None or number % STEPS_TOGETHER == 0:  # 3
                precondition = self.preconditioner(at.point, alpha)
            directions, changes = self.newton_directions(at.point, gradients, alpha, precondition)  # 4
            at, lengths = self.line_search(loss, at, directions, changes, alpha, np.sign(lengths))  # 5
        return at

    def iterate(self, loss: FoldLoss, U: np.ndarray) -> FoldIterate:
        """Return weights of Z, (S, r), as an iterate without offsets."""
        if self.ratio is not None:
            U = np.divide(U, self.ratio, out=np.zeros_like(U), where=self.ratio > 0)
        W = np.column_stack([U, np.zeros(len(U))])
        scores = self.scores(W[:, :-1])
        return self.with_slopes(FoldIterate(W, scores, loss(scores), W))

    def with_slopes(self, at: FoldIterate) -> FoldIterate:
        """Return an iterate with the slopes of its weights."""
        slopes = at.point.slopes
        offsets = at.point.has_offset * slopes.sum(axis=1)  # rounding is all there is for a loss of pairs
        return at._replace(slopes=np.column_stack([self.rmatvec(slopes), offsets]))

    def preconditioner(self, point: FoldPoint, alpha: float) -> Operator:
        """Return the function that solves a system for each training set, whose matrix is about its Hessian.

        It is made of some rows of the training set, or is the covariance of all rows if there are many columns.
        """
        if self.rows.Z.shape[1] < MAX_EIGEN and not sparse.issparse(self.rows.Z):
            inverses = self.inverse_hessians(point.curvatures, alpha)
            return lambda R: np.matmul(inverses, R[:, :, None])[:, :, 0]
        kappa = point.curvatures.sum(axis=1, dtype=self.precision)
        kappa = np.maximum(kappa, 1e-6 * kappa.max() + 1e-12)
        return lambda R: np.column_stack([self.solve(R[:, :-1], kappa, alpha), R[:, -1] / kappa])

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
        H[:, np.arange(r + 1), np.arange(r + 1)] += 10 * SINGLE * np.trace(H, axis1=1, axis2=2)[:, None]
        return np.linalg.inv(H)

    def newton_directions(
        self, point: FoldPoint, gradients: np.ndarray, alpha: float, precondition: Operator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Newton's steps for all training sets, and their scores, by conjugate gradients."""
        scores, last = np.zeros_like(point.slopes), np.zeros_like(point.slopes)

        def product(P: np.ndarray) -> np.ndarray:
            nonlocal last
            last = self.scores(P[:, :-1]) + P[:, -1:].astype(np.float32)
            G = point.product(last)
            return np.column_stack([self.rmatvec(G) + alpha * P[:, :-1], point.has_offset * G.sum(axis=1)])

        def add(steps: np.ndarray) -> None:
            nonlocal scores
            scores += steps[:, None].astype(np.float32) * last

        b = (-gradients).astype(self.precision)
        return conjugate_gradients(product, precondition, b, INNER_TOL, INNER_STEPS, add)[0], scores

    def line_search(
        self, loss: FoldLoss, at: FoldIterate, steps: np.ndarray, changes: np.ndarray, alpha: float, longest: np.ndarray
    ) -> tuple[FoldIterate, np.ndarray]:
        """Return the iterate after a part of steps, (S, r + 1), that change the scores by `changes`, (S, n).

        The length of each step, (S,), is at most `longest`. The lengths are returned too, 0 where F does not fall.
        """
        new = at

        def values(lengths: np.ndarray) -> np.ndarray:
            nonlocal new
            scores = at.scores + lengths[:, None].astype(np.float32) * changes
            new = FoldIterate(at.W + lengths[:, None] * steps, scores, loss(scores), at.slopes)
            return new.values(alpha)

        slopes = inner(at.gradients(alpha), steps)
        lengths = backtrack(values, at.values(alpha), slopes, longest, SHARES, loss.rounding)
        return self.with_slopes(new), lengths

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
            empty, pooled = ClassMoments(len(scale)), objective.loss == "pooled"
            covariances = self.rows.covariances  # computed once, before the threads

            def train(k: int) -> np.ndarray:
                totals = self.rows.totals[k]
                scatter = covariances[k] * totals[:, None, None] * np.outer(ratio, ratio)
                square = MomentProblem(empty._with(totals, self.rows.means[k] * ratio, scatter), False, pooled)
                return objective.penalised(square).path(alphas, PENALISED_TOL) * ratio

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
        loss, kappa = self.loss("smooth_auc"), np.full(len(U), KAPPA)
        scores = self.rows.scores(U).mean(axis=0, dtype=np.float64)
        at = self.iterate(loss, U / (UnitScores.of(MemorySpace(self.rows.targets), scores).spread or 1.0))
        lengths = np.ones(len(U))
        for _ in range(DESCENT_STEPS):
            steps = -self.solve(at.slopes[:, :-1], kappa, alpha / self.unit**2)
            changes, directions = self.scores(steps), np.column_stack([steps, np.zeros(len(U))])
            changes -= inner(self.weights, changes)[:, None]  # a shift of all scores does not count
            slopes, bends = inner(at.slopes, directions), inner(at.point.curvatures * changes, changes)
            lengths = np.sign(lengths) * np.divide(-LONGER * slopes, bends, out=np.zeros_like(slopes), where=bends > 0)
            new, lengths = self.line_search(loss, at, directions, changes, 0.0, lengths)
            gains = at.point.values - new.point.values
            at, lengths = new, lengths * (gains >= WORTHWHILE * at.point.values)
            if not lengths.any():
                break
        return self.models(at.W[:, :-1])
