"""Truncated Newton for the pairwise losses that are not squares, with an L2 penalty.

Conventions
-----------
Minimised, for one alpha or a path of them, is F(v) = L(Xv / scale) + alpha/2 |v|^2, with L a loss of `pairwise` and v
the weights of X / scale, as in `squared`. L lives in score space, so that an iteration costs products with X: one for a
gradient X'L', two for a step of conjugate gradients X'(L''Xp). The scores of a direction are gathered on the way, and
the line search takes no product at all.

The square loss is the model of them all. Its minimiser, scaled, is where the iterations start; its curvature M is what
they are preconditioned with, as kappa M + alpha I, kappa being the curvature of L over that of the square loss along v.
Where that takes more steps than it costs to gather M, it is gathered anew, from rows weighted by their curvature. On
columns too many for M its diagonal takes its place. Along a path of decreasing alphas each start is the end before, and
after cross-validation the models of the folds are where the fit to all rows starts.

Iterations end at a gradient of `tol` times the one at v = 0, which is l'(0) delta; the hinge ends at a duality gap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from ..data.old_rows import Rows
from ..data.threads import one_blas_thread
from ..losses.pairwise import LOSSES, Hinge, PairwiseLoss, Point, Sigmoid, SmoothHinge, Squared
from ..metrics import roc_auc
from .square import EPS, MomentProblem, RowProblem

SUFFICIENT = 1e-4  # of the decrease that the slope promises, for a step to be taken
ROUNDING = 1e-9  # relative, in values of F, of which the hinge with a narrow corner has most
MAX_TRIALS = 40
FORCING = 0.1  # conjugate gradients end at this relative residual, or at the root of that of the iteration
MAX_CG = 500
MOMENTS = 16  # entries of a row for which class moments cost as much as a step of conjugate gradients
SMALLEST_KAPPA = 1e-3
RIDGE = 1e3 * EPS  # keeps the preconditioner definite where alpha is 0 and columns depend on each other
NARROW, NARROWEST = 1e-2, 1e-7  # widths of the rounded corner of the hinge
SLOPES = (1.0, 2.0, 4.0, 8.0, 16.0)  # of the sigmoid, one after the other


class Iterate(NamedTuple):
    """Weights of X / scale, their scores, and the loss there."""

    v: np.ndarray
    scores: np.ndarray
    point: Point

    def under(self, loss: PairwiseLoss) -> Iterate:
        """Return the same weights with another loss."""
        return self._replace(point=loss(self.scores))


def newton_problem(rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> NewtonProblem:
    """Return the problem of a loss that is not the square."""
    kinds = {"hinge": HingeProblem, "sigmoid": SigmoidProblem}
    return kinds.get(loss, NewtonProblem)(rows, square, loss, max_iter)


class NewtonProblem:
    """A smooth convex pairwise loss on rows.

    Parameters
    ----------
    rows : Rows
        Of both classes.
    square : MomentProblem or RowProblem
        The square loss on the same rows.
    loss : {"squared_hinge", "exponential", "logistic"}
        The loss.
    max_iter : int
        Limit of Newton steps for one alpha.
    """

    n_iter = 0
    moments = None

    def __init__(self, rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> None:
        self.rows, self.square, self.max_iter = rows, square, max_iter
        self.default_alphas, self.midpoint = square.default_alphas, square.midpoint
        self.positive, self.weights = rows.positive(), rows.balanced_weights()
        self.loss = self.make_loss(loss)
        self.model = Squared(self.positive, self.weights).curvature
        (self.steepness,) = LOSSES[loss](np.array([True, False]), np.ones(2))(np.zeros(2)).gradient[1:]  # |l'(0)|

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for decreasing alphas."""
        squares = self.square.solutions(alphas, tol)
        self.n_iter, at = 0, None
        V = np.empty_like(squares)
        with one_blas_thread() if sparse.issparse(self.rows.X) else nullcontext():
            for k, alpha in enumerate(alphas):
                # While no step is needed, all pairs being short of the margin, the square loss is the better start.
                start = self.start(squares[k], alpha) if at is None or self.n_iter == 0 else at
                at = self.solve(start, float(alpha), tol)
                V[k] = at.v
        return V / self.square.scale

    def refine(self, w: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Return the minimiser for one alpha, started from weights of the columns as they are."""
        self.n_iter = 0
        v = w * np.where(np.isfinite(self.square.scale), self.square.scale, 0)  # infinite for constant columns
        return self.solve(self.start(v, alpha), alpha, tol).v / self.square.scale

    # What a loss may do in its own way

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss that the iterations start with."""
        return LOSSES[name](self.positive, self.weights)

    def solve(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha."""
        target = tol * self.steepness * self.size
        at, norm = self.minimise(self.loss, at, alpha, target)
        if norm > target:
            warn(f"after {self.n_iter} steps at a gradient {norm / target:.1e} times the tolerated one")
        return at

    # What they share

    @property
    def patience(self) -> float:
        """More steps of conjugate gradients than these, and the preconditioner is made anew."""
        X = self.rows.X
        return max(2.0, (X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]) / MOMENTS)

    @property
    def size(self) -> float:
        """The norm of delta."""
        return float(np.linalg.norm(self.square.delta)) or 1.0

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return the scores of weights of X / scale."""
        return self.rows.scores(v / self.square.scale)

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Return X'g / scale for a g of sum 0, but for rounding, which columns far from zero would magnify."""
        return (self.rows.pullback(g) - g.sum() * self.square.center) / self.square.scale

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times about the factor of least F, found in score space."""
        unit = scores = self.scores(v)
        factor, square = 1.0, alpha * float(v @ v)
        point = self.loss(scores)
        for _ in range(3):
            slope = point.gradient @ unit + factor * square
            curvature = unit @ point.hessian_product(unit) + square
            if not curvature > 0 or abs(slope) < 0.1 * factor * curvature:
                break
            factor = min(max(factor - slope / curvature, factor / 4), 4 * factor)
            scores = factor * unit
            point = self.loss(scores)
        return Iterate(factor * v, scores, point)

    def minimise(self, loss: PairwiseLoss, at: Iterate, alpha: float, target: float) -> tuple[Iterate, float]:
        """Return the minimiser of a loss and the penalty, to a gradient of norm `target`, and that norm.

        `at` is of this loss. The norm is larger where `max_iter` steps are not enough, or rounding ends the search.
        """
        precondition, n_steps = None, 0
        for n_newton in range(self.max_iter + 1):
            gradient = self.pullback(at.point.gradient) + alpha * at.v
            norm = float(np.linalg.norm(gradient))
            if norm <= target or n_newton == self.max_iter:
                break
            if precondition is None or n_steps > self.patience:
                precondition = self.preconditioner(at, alpha, exact=n_steps > 0)
            tolerance = max(min(FORCING, np.sqrt(norm / (self.steepness * self.size))), target / (2 * norm))
            direction, its_scores, n_steps = self.newton_direction(at.point, gradient, alpha, precondition, tolerance)
            new = line_search(loss, at, direction, its_scores, alpha, float(gradient @ direction))
            if new is None:
                break
            at = new
            self.n_iter += 1
        return at, norm

    def preconditioner(self, at: Iterate, alpha: float, exact: bool) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that solves kappa M + alpha I, or its diagonal.

        `exact` has M gathered anew, with the curvature of the loss in each row's score for the weight of the row. Were
        the curvature of a pair a product of one factor for each row, this would be the Hessian.
        """
        ours, square = (at.scores @ product(at.scores) for product in (at.point.hessian_product, self.model))
        kappa = max(ours / square, SMALLEST_KAPPA) if square > 0 else 1.0
        if not isinstance(self.square, MomentProblem):
            diagonal = kappa * self.square.diagonal + alpha
            diagonal += RIDGE * diagonal.max()
            return lambda r: r / diagonal
        moments = self.square.scaled
        if exact:
            curvature = np.abs(at.point.hessian_product(self.positive.astype(np.float64)))
            if (mass := float(curvature[self.positive].sum())) > SMALLEST_KAPPA:
                kappa = mass
                weighted = Rows(self.rows.X, self.rows.y, self.rows.classes, curvature)
                moments = weighted.moments()[0].rescaled(self.square.scale)
        P = kappa * moments.pair_scatter()
        P.flat[:: len(P) + 1] += alpha + RIDGE * np.trace(P)
        factor = linalg.cho_factor(P, overwrite_a=True, check_finite=False)
        return lambda r: linalg.cho_solve(factor, r, check_finite=False)

    def newton_direction(
        self,
        point: Point,
        gradient: np.ndarray,
        alpha: float,
        precondition: Callable[[np.ndarray], np.ndarray],
        tolerance: float,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the step to the minimum of the quadratic model, its scores, and how many steps it took to find.

        Conjugate gradients end at a relative residual of `tolerance`, in the norm of the preconditioner, or at a
        direction of negative curvature, which is not taken unless it is the first.
        """
        d, scores = np.zeros_like(gradient), np.zeros(self.rows.n_rows)
        r = -gradient
        p = z = precondition(r)
        rz = goal = float(r @ z)
        n_steps = 0
        while n_steps < MAX_CG:
            n_steps += 1
            p_scores = self.scores(p)
            q = self.pullback(point.hessian_product(p_scores)) + alpha * p
            curvature = float(p @ q)
            if not curvature > 0:
                return (d, scores, n_steps) if d.any() else (p, p_scores, n_steps)
            step = rz / curvature
            d = d + step * p
            scores += step * p_scores
            r = r - step * q
            z = precondition(r)
            rz, before = float(r @ z), rz
            if rz <= tolerance**2 * goal:
                break
            p = z + rz / before * p
        return d, scores, n_steps


class HingeProblem(NewtonProblem):
    """The pairwise hinge on rows: with its corner rounded off less and less, until a duality gap is closed.

    Any b_ij in [0, 1] give the lower bound mean b - |G|^2 / (2 alpha), G = mean b z, of the minimum. The slopes of the
    rounded hinge at its minimiser are such b, and miss the minimum by a sixth of the squared width times the density of
    the margins there: a gap of 1e-4 takes a width of some 0.05, which Newton's method still finds smooth.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the hinge with its corner rounded off."""
        self.hinge = Hinge(self.positive, self.weights)
        self._set_width(1.0)
        return self.loss

    def solve(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha, to a duality gap of `tol` times F."""
        if alpha == 0:
            raise ValueError("loss='hinge' needs an alpha above 0, got 0.")
        self._set_width(min(4 * self.width, 1.0))
        at = at.under(self.loss)
        while True:
            at, _ = self.minimise(self.loss, at, alpha, np.sqrt(alpha * tol * self.value(at, alpha) / 2))
            bound = self.lower_bound(at, alpha)
            best = self.rescaled(at, alpha) if self.width < NARROW else at
            value = self.value(best, alpha)
            self.gap = value - bound
            if self.gap <= tol * value:
                return best
            if self.width < NARROWEST:
                warn(f"after {self.n_iter} steps at a duality gap of {self.gap / value:.1e} times the objective")
                return best
            self._set_width(self.width * min(max(0.7 * np.sqrt(tol * value / self.gap), 0.1), 0.5))
            at = at.under(self.loss)

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times about the factor of least F, with the corner at its widest."""
        self._set_width(1.0)
        return super().start(v, alpha)

    def rescaled(self, at: Iterate, alpha: float) -> Iterate:
        """Return the weights times the factor of least objective.

        Few rows, or rows that are many times the same, may all but touch the margin, short of it by a part of the
        width; then it is this factor that is missing.
        """
        square = alpha / 2 * float(at.v @ at.v)
        found = minimize_scalar(
            lambda factor: self.hinge(factor * at.scores).value + factor**2 * square,
            bounds=(1 - self.width, 1 + 2 * self.width),
            method="bounded",
            options={"xatol": 1e-6 * self.width},
        )
        return Iterate(found.x * at.v, found.x * at.scores, self.loss(found.x * at.scores))

    def value(self, at: Iterate, alpha: float) -> float:
        """Return the objective, with the hinge as it is."""
        return self.hinge(at.scores).value + alpha / 2 * float(at.v @ at.v)

    def lower_bound(self, at: Iterate, alpha: float) -> float:
        """Return the lower bound by the slopes at an iterate, times the factor in [0, 1] that makes it highest."""
        mean, G = float(at.point.gradient[~self.positive].sum()), self.pullback(at.point.gradient)
        square = float(G @ G) / alpha
        factor = min(mean / square, 1.0) if square > 0 else 1.0
        return factor * mean - factor**2 * square / 2

    def _set_width(self, width: float) -> None:
        self.width, self.loss = width, SmoothHinge(self.positive, self.weights, width)


class SigmoidProblem(NewtonProblem):
    """The pairwise sigmoid, which is AUC itself but for its smooth step, on rows: not convex, so a local minimum.

    It starts at the minimiser of the logistic loss and is sharpened in steps. Of where these end, the start included,
    the weights of the highest AUC of the rows are taken.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss of the start."""
        return LOSSES["logistic"](self.positive, self.weights)

    def solve(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser of the logistic loss, or of a sigmoid that ranks the rows better."""
        best = at = super().solve(at.under(self.loss), alpha, tol)
        highest = self.auc(best)
        for slope in SLOPES:
            loss = Sigmoid(self.positive, self.weights, slope)
            at, _ = self.minimise(loss, at.under(loss), alpha, tol * slope * self.size / 4)
            auc = self.auc(at)
            if auc > highest:
                best, highest = at, auc
        return best

    def auc(self, at: Iterate) -> float:
        """Return the AUC of the rows."""
        return float(roc_auc(self.positive, at.scores, self.rows.sample_weight))


def line_search(
    loss: PairwiseLoss, at: Iterate, direction: np.ndarray, its_scores: np.ndarray, alpha: float, slope: float
) -> Iterate | None:
    """Return an iterate along the direction that lowers F enough and halves its slope, or None where rounding has it.

    The whole direction first, then ever closer between two steps of which one is too short and the other too long:
    where the secant through the slopes is zero, or in the middle.
    """
    value = at.point.value + alpha / 2 * float(at.v @ at.v)
    best = None
    low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
    step = 1.0
    for _ in range(MAX_TRIALS):
        v, scores = at.v + step * direction, at.scores + step * its_scores
        point = loss(scores)
        change = point.value + alpha / 2 * float(v @ v) - value
        here = float(point.gradient @ its_scores + alpha * (v @ direction)) if np.isfinite(change) else np.inf
        lower = change <= SUFFICIENT * step * slope
        unseen = change <= ROUNDING * abs(value)  # the slope decides
        flatter = abs(here) <= -slope / 2
        if lower or (unseen and flatter):
            best = Iterate(v, scores, point)
            if flatter:
                return best
        if here < 0 and (lower or unseen):
            low, low_slope = step, here
        else:
            high, high_slope = step, here if here > 0 else np.inf
        if np.isinf(high):
            step *= 4
        elif np.isinf(high_slope):
            step = (low + high) / 2
        else:
            share = -low_slope / (high_slope - low_slope)
            step = low + min(max(share, 0.1), 0.9) * (high - low)
    return best


def warn(where: str) -> None:
    """Warn that the iterations stopped too soon."""
    warnings.warn(
        f"Newton's method stopped {where}: increase max_iter, tol or alpha.", ConvergenceWarning, stacklevel=2
    )
