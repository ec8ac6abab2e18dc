"""Truncated Newton for the pairwise losses that are not squares, with an L2 penalty.

Conventions
-----------
For one alpha or a path of them,

    minimise over v   F(v) = L(Xv / scale) + alpha/2 |v|^2

where L is a pairwise loss (`losses/`) and v are the weights of X / scale, as in `solvers/square.py`. L lives in score
space, so an iteration costs products with X: one for a gradient X'L', two for a step of conjugate gradients X'(L''Xp).
The scores of a direction are known after that, so the line search takes no product at all in memory.

The square loss is the model of all others:

- Start: the minimiser of the square loss, scaled. Along a path of decreasing alphas, where the last alpha ended. After
  cross-validation, the mean of the models of the folds.
- Preconditioner: kappa M + alpha I, where M is the curvature of the square loss, and kappa the curvature of L along v
  over that of the square loss. If this takes too many steps, M is gathered anew from rows weighted by their curvature.
  Where there are too many columns for M, its diagonal takes its place.

Iterations end at a gradient of `tol` times the one at v = 0, which is l'(0) delta; the hinge ends at a duality gap.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import bisect
from sklearn.exceptions import ConvergenceWarning

from ..data.memory import MemorySpace
from ..data.moments import ClassMoments
from ..data.protocol import Rows, Targets, Vector
from ..data.ranking import auc_of_scores
from ..data.threads import blas_threads
from ..losses import find_loss
from ..losses.hinges import Hinge, SmoothHinge
from ..losses.pairwise import Sigmoid
from ..losses.squared import PairwiseLoss, Point
from .candidate import Candidate, Solution
from .square import MomentProblem, Operator, RowProblem

SUFFICIENT = 1e-4  # of the decrease that the slope promises, for a step to be taken
ROUNDING = 1e-9  # relative, in values of F, of which the hinge with a narrow corner has most
MAX_TRIALS = 40
FORCING = 0.1  # conjugate gradients end at this relative residual, or at the root of that of the iteration
MAX_CG = 500
# Class moments cost as much as one step of conjugate gradients for each so many entries of a row. The same rule holds
# for files, where moments would be worth more: the iterations, and so the weights, are those of memory.
ENTRIES_PER_STEP = 16
SMALLEST_KAPPA = 1e-3
NARROW, NARROWEST = 1e-2, 1e-7  # widths of the rounded corner of the hinge
SLOPES = (1.0, 2.0, 4.0, 8.0, 16.0)  # of the sigmoid, one after the other


class Iterate(NamedTuple):
    """Where the iterations stand.

    Attributes
    ----------
    v : ndarray of shape (n_features,)
        Weights of X / scale.
    scores : vector
        Their scores.
    point : Point
        The loss there.
    slopes : ndarray of shape (n_features,) or None
        The derivative of the loss in v, where it was needed already.
    """

    v: np.ndarray
    scores: Vector
    point: Point
    slopes: np.ndarray | None = None


def newton_problem(rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> NewtonProblem:
    """Return the problem of a loss that is not the square."""
    kinds = {"hinge": HingeProblem, "sigmoid": SigmoidProblem}
    return kinds.get(loss, NewtonProblem)(rows, square, loss, max_iter)


class EitherProblem:
    """The square loss and another one on the same training set: their paths one after the other.

    Parameters
    ----------
    square : MomentProblem or RowProblem
        The square loss.
    other : NewtonProblem
        The other loss, on the same square problem.
    """

    moments = None

    def __init__(self, square: MomentProblem | RowProblem, other: NewtonProblem) -> None:
        self.square, self.other = square, other
        self.default_alphas, self.midpoint = square.default_alphas, square.midpoint

    def candidates(self, alphas: np.ndarray) -> list[Candidate]:
        """Return all alphas with the square loss, then with the other."""
        return [Candidate(float(alpha), loss=loss) for loss in ("squared", self.other.name) for alpha in alphas]

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for all alphas, those of the square loss first; the others start from them."""
        squares = self.square.solutions(alphas, tol)
        return np.vstack([squares / self.square.scale, self.other.path(alphas, tol, squares)])

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha and one of the losses."""
        problem = self.other if candidate.loss == self.other.name else self.square
        return problem.solve(candidate, tol, start)


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
    moments: ClassMoments | None = None
    gap: float | None = None

    def __init__(self, rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> None:
        self.rows, self.square, self.name, self.max_iter = rows, square, loss, max_iter
        self.default_alphas, self.midpoint, self.candidates = square.default_alphas, square.midpoint, square.candidates
        self.loss = self.make_loss(loss)
        pair = MemorySpace(Targets(np.array([True, False]), None, np.ones(2)))
        self.steepness = float(find_loss(loss)(pair, np.zeros(2)).gradient[1])  # |l'(0)|

    def path(self, alphas: np.ndarray, tol: float, squares: np.ndarray | None = None) -> np.ndarray:
        """Return the minimisers for decreasing alphas; `squares` are those of the square loss, where they are known."""
        squares = self.square.solutions(alphas, tol) if squares is None else squares
        self.n_iter, at = 0, None
        V = np.empty_like(squares)
        with blas_threads(self.rows):
            for k, alpha in enumerate(alphas):
                # While no step is needed, all pairs being short of the margin, the square loss is the better start.
                start = self.start(squares[k], alpha) if at is None or self.n_iter == 0 else at
                at = self.minimiser(start, float(alpha), tol)
                V[k] = at.v
        return V / self.square.scale

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha, from weights of the columns as they are or from the square loss."""
        if start is None:
            (w,) = self.path(np.array([candidate.alpha]), tol)
        else:
            self.n_iter = 0
            v = start * np.where(np.isfinite(self.square.scale), self.square.scale, 0)  # infinite for constant columns
            with blas_threads(self.rows):
                at = self.minimiser(self.start(v, candidate.alpha), candidate.alpha, tol)
            w = at.v / self.square.scale
        return Solution(w, max(self.n_iter, 1), self.gap)

    # What a loss may do in its own way

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss that the iterations start with."""
        return find_loss(name)

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
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
        return max(2.0, self.rows.row_length / ENTRIES_PER_STEP)

    @property
    def size(self) -> float:
        """The norm of delta."""
        return float(np.linalg.norm(self.square.delta)) or 1.0

    def scores(self, v: np.ndarray) -> Vector:
        """Return the scores of weights of X / scale."""
        return self.rows.scores(v / self.square.scale)

    def pullback(self, g: Vector) -> np.ndarray:
        """Return X'g / scale for a g that sums to 0."""
        return self.rows.pullback(g, self.square.center) / self.square.scale

    def under(self, loss: PairwiseLoss, at: Iterate) -> Iterate:
        """Return the same weights with another loss."""
        return at._replace(point=loss(self.rows, at.scores), slopes=None)

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times about the factor of least F, found in score space."""
        unit = scores = self.scores(v)
        factor, square = 1.0, alpha * float(v @ v)
        point = self.loss(self.rows, scores)
        for _ in range(3):
            slope, curvature = self.rows.reduce(inner_products, unit, point.gradient, point.hessian_product(unit))
            slope, curvature = slope + factor * square, curvature + square
            if not curvature > 0 or abs(slope) < 0.1 * factor * curvature:
                break
            factor = min(max(factor - slope / curvature, factor / 4), 4 * factor)
            scores = factor * unit
            point = self.loss(self.rows, scores)
        return Iterate(factor * v, scores, point)

    def minimise(self, loss: PairwiseLoss, at: Iterate, alpha: float, target: float) -> tuple[Iterate, float]:
        """Return the minimiser of a loss and the penalty, to a gradient of norm `target`, and that norm.

        `at` is of this loss. The norm is larger where `max_iter` steps are not enough, or rounding ends the search.
        """
        precondition, n_steps = None, 0
        for n_newton in range(self.max_iter + 1):
            slopes = self.pullback(at.point.gradient) if at.slopes is None else at.slopes
            gradient = slopes + alpha * at.v
            norm = float(np.linalg.norm(gradient))
            if norm <= target or n_newton == self.max_iter:
                break
            if precondition is None or n_steps > self.patience:
                precondition = self.preconditioner(at, alpha, exact=n_steps > 0)
            tolerance = max(min(FORCING, np.sqrt(norm / (self.steepness * self.size))), target / (2 * norm))
            direction, its_scores, n_steps = self.newton_direction(at.point, gradient, alpha, precondition, tolerance)
            new = self.line_search(loss, at, direction, its_scores, alpha, float(gradient @ direction))
            if new is None:
                break
            at = new
            self.n_iter += 1
        return at, norm

    def preconditioner(self, at: Iterate, alpha: float, exact: bool) -> Operator:
        """Return the function that solves kappa M + alpha I, or its diagonal.

        `exact` has M gathered anew, with the curvature of the loss in each row's score for the weight of the row. Were
        the curvature of a pair a product of one factor for each row, this would be the Hessian.
        """
        if exact and self.square.factors:
            positives = self.rows.map(lambda targets: targets.positive.astype(np.float64))
            curvature = self.rows.map(lambda targets, h: np.abs(h), at.point.hessian_product(positives))
            weighted = self.rows.reweighted(curvature).moments()
            if (mass := float(weighted.weight[1])) > SMALLEST_KAPPA:
                return self.square.preconditioner(mass, alpha, weighted.rescaled(self.square.scale))
        ours, square = at.scores @ at.point.hessian_product(at.scores), self.square.curvature(at.v, at.scores)
        return self.square.preconditioner(max(ours / square, SMALLEST_KAPPA) if square > 0 else 1.0, alpha)

    def newton_direction(
        self,
        point: Point,
        gradient: np.ndarray,
        alpha: float,
        precondition: Operator,
        tolerance: float,
    ) -> tuple[np.ndarray, Vector, int]:
        """Return the step to the minimum of the quadratic model, its scores, and how many steps it took to find.

        Conjugate gradients end at a relative residual of `tolerance`, in the norm of the preconditioner, or at a
        direction of negative curvature, which is not taken unless it is the first.
        """
        d, scores = np.zeros_like(gradient), None
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
                return (p, p_scores, n_steps) if scores is None else (d, scores, n_steps)
            step = rz / curvature
            d = d + step * p
            scores = step * p_scores if scores is None else scores + step * p_scores
            r = r - step * q
            z = precondition(r)
            rz, before = float(r @ z), rz
            if rz <= tolerance**2 * goal:
                break
            p = z + rz / before * p
        return d, scores, n_steps

    def line_search(
        self, loss: PairwiseLoss, at: Iterate, direction: np.ndarray, its_scores: Vector, alpha: float, slope: float
    ) -> Iterate | None:
        """Return an iterate along the direction that lowers F enough and halves its slope; None if rounding forbids it.

        The whole direction first, then ever closer between two steps of which one is too short and the other too long:
        where the secant through the slopes is zero, or in the middle.
        """
        value = at.point.value + alpha / 2 * float(at.v @ at.v)
        best = None
        low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
        step = 1.0
        for _ in range(MAX_TRIALS):
            v, scores = at.v + step * direction, at.scores + step * its_scores
            point = loss(self.rows, scores)
            change = point.value + alpha / 2 * float(v @ v) - value
            here, slopes = np.inf, None
            if np.isfinite(change):
                # Where a product with X takes a reading, the slopes that the next step needs are taken at once.
                slopes = None if self.rows.in_memory else self.pullback(point.gradient)
                along = point.gradient @ its_scores if slopes is None else slopes @ direction
                here = float(along + alpha * (v @ direction))
            lower = change <= SUFFICIENT * step * slope
            unseen = change <= ROUNDING * abs(value)  # the slope decides
            flatter = abs(here) <= -slope / 2
            if lower or (unseen and flatter):
                best = Iterate(v, scores, point, slopes)
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


class HingeProblem(NewtonProblem):
    """The pairwise hinge on rows: with its corner rounded off less and less, until a duality gap is closed.

    Any b_ij in [0, 1] give the lower bound mean b - |G|^2 / (2 alpha), G = mean b z, of the minimum. The slopes of the
    rounded hinge at its minimiser are such b, and miss the minimum by a sixth of the squared width times the density of
    the margins there: a gap of 1e-4 takes a width of some 0.05, which Newton's method still finds smooth.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the hinge with its corner rounded off."""
        self.hinge = Hinge()
        self._set_width(1.0)
        return self.loss

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha, to a duality gap of `tol` times F."""
        if alpha == 0:
            raise ValueError("loss='hinge' needs an alpha above 0, got 0.")
        self._set_width(min(4 * self.width, 1.0))
        at = self.under(self.loss, at)
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
            at = self.under(self.loss, at)

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times about the factor of least F, with the corner at its widest."""
        self._set_width(1.0)
        return super().start(v, alpha)

    def rescaled(self, at: Iterate, alpha: float) -> Iterate:
        """Return the weights times the factor of least objective.

        Few rows, or rows that are many times the same, may all but touch the margin, short of it by a part of the
        width; then it is this factor that is missing.
        """
        square = alpha * float(at.v @ at.v)

        def slope(factor: float) -> float:
            return float(self.hinge(self.rows, factor * at.scores).gradient @ at.scores) + factor * square

        low, high = 1 - self.width, 1 + 2 * self.width
        if slope(low) >= 0 or slope(high) <= 0:
            factor = low if slope(low) >= 0 else high
        else:  # the slope jumps: its sign says more than values, which rounding blurs
            factor = bisect(slope, low, high, xtol=1e-9 * self.width)
        scores = factor * at.scores
        return Iterate(factor * at.v, scores, self.loss(self.rows, scores))

    def value(self, at: Iterate, alpha: float) -> float:
        """Return the objective, with the hinge as it is."""
        return self.hinge(self.rows, at.scores).value + alpha / 2 * float(at.v @ at.v)

    def lower_bound(self, at: Iterate, alpha: float) -> float:
        """Return the lower bound by the slopes at an iterate, times the factor in [0, 1] that makes it highest."""
        mean = float(self.rows.reduce(lambda targets, g: g[~targets.positive].sum(), at.point.gradient))
        G = self.pullback(at.point.gradient)
        square = float(G @ G) / alpha
        factor = min(mean / square, 1.0) if square > 0 else 1.0
        return factor * mean - factor**2 * square / 2

    def _set_width(self, width: float) -> None:
        self.width, self.loss = width, SmoothHinge(width)


class SigmoidProblem(NewtonProblem):
    """The pairwise sigmoid, which is AUC itself but for its smooth step, on rows: not convex, so a local minimum.

    It starts at the minimiser of the logistic loss and is sharpened in steps. Of where these end, the start included,
    the weights of the highest AUC of the rows are taken.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss of the start."""
        return find_loss("logistic")

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser of the logistic loss, or of a sigmoid that ranks the rows better."""
        best = at = super().minimiser(self.under(self.loss, at), alpha, tol)
        highest = self.auc(best)
        for slope in SLOPES:
            loss = Sigmoid(slope)
            at, _ = self.minimise(loss, self.under(loss, at), alpha, tol * slope * self.size / 4)
            auc = self.auc(at)
            if auc > highest:
                best, highest = at, auc
        return best

    def auc(self, at: Iterate) -> float:
        """Return the AUC of the rows."""
        return auc_of_scores(self.rows, at.scores)


def inner_products(targets: Targets, u: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the inner products of one block of a vector with that of others."""
    return np.array([u @ other for other in others])


def warn(where: str) -> None:
    """Warn that the iterations stopped too soon."""
    warnings.warn(
        f"Newton's method stopped {where}: increase max_iter, tol or alpha.", ConvergenceWarning, stacklevel=2
    )
