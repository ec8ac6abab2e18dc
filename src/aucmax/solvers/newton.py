"""Truncated Newton method for the pairwise losses other than the square loss, with an L2 penalty.

Conventions
-----------
For one alpha,

    minimise over v   F(v) = L(Xv / scale) + alpha/2 |v|^2

where L is a pairwise loss (`losses/`) and v are the weights of X / scale, as in `solvers/square.py`. L is a function of
the scores, so X is needed for products only: one for a gradient X'L', two for a step of conjugate gradients X'(L''Xp).

The iterations start at the minimiser of the square loss or at given weights, times the factor that about minimises F.
Each has six steps:

1. Gradient: X'L' + alpha v.
2. Stop test: its norm is at most `tol` times the norm at v = 0, where the gradient is l'(0) delta. The hinge stops at a
   duality gap instead.
3. Preconditioner: kappa M + alpha I, where M is the Hessian of the square loss, and kappa the curvature of L along v
   divided by the square loss's. If conjugate gradients then take too many steps, M is gathered again from rows
   weighted by their curvature. If there are too many columns for M, its diagonal is used instead.
4. Direction: conjugate gradients on the Hessian of F, until the residual is a tenth of the gradient.
5. Line search: a step that lowers F and halves its slope. The scores of the direction are known from step 4, so it
   needs no further product with X if the rows are in memory.
6. History: the value of F, the norm of its gradient and the length of the step are recorded. The hinge and the sigmoid
   minimise several F one after the other; the stage of an iteration is the number of its F.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import bisect
from sklearn.exceptions import ConvergenceWarning

from ..losses import find_loss
from ..losses.base import PairwiseLoss, Point
from ..losses.hinges import Hinge, SmoothHinge
from ..rows.arrays import by_class, namespace
from ..rows.memory import MemorySpace
from ..rows.protocol import Rows, Targets, Vector
from ..rows.summaries.moments import ClassMoments
from .candidate import Candidate, Iteration, Solution
from .conjugate_gradients import Operator, conjugate_gradients
from .descent import SUFFICIENT
from .square import Square, inverse_product, near_zero

ROUNDING = 1e-9  # relative rounding error of F; it is largest for the hinge with a narrow corner
MAX_TRIALS = 40
FORCING = 0.1  # the relative residual of conjugate gradients; smaller ones save few Newton steps and take longer
MAX_CG = 500
# If a row has 16 k values, class moments take as long as k steps of conjugate gradients. Files follow the same rule,
# although moments save more time there, so that iterations and weights are the same as in memory.
ENTRIES_PER_STEP = 16
SMALLEST_KAPPA = 1e-3
NARROW, NARROWEST = 1e-2, 1e-7  # widths of the rounded corner of the hinge
# Where few pairs are near the step of the sigmoid, its gradient is small everywhere: without this factor small alphas
# stop where they start (segment lost 0.001).
STEEPER, STEEP = 0.3, 0.01
SLOPES = 10.0 ** np.linspace(0, 1.25, 6)  # of the sigmoid


class Iterate(NamedTuple):
    """An iterate of Newton's method."""

    v: np.ndarray  # (n_features,): weights of X / scale
    scores: Vector  # their scores
    point: Point  # value and derivatives of the loss at these scores
    # (n_features,): the derivative of the loss with respect to v, if it has been computed.
    slopes: np.ndarray | None = None
    step: float = 0.0  # the length of the step that led here

    def value(self, alpha: float) -> float:
        """Return F."""
        return self.point.value + alpha / 2 * float(self.v @ self.v)


class NewtonProblem:
    """A smooth convex pairwise loss on rows.

    `square` is the square loss on the same rows. `max_iter` limits the Newton steps for one alpha, and `iterations` are
    the steps of the last solution. `steepness` is |l'(0)|, which gives the norm of the gradient at v = 0.
    """

    moments: ClassMoments | None = None
    gap: float | None = None

    def __init__(self, rows: Rows, square: Square, loss: str, max_iter: int) -> None:
        self.rows, self.square, self.max_iter = near_zero(rows, square.shift), square, max_iter
        self.iterations: list[Iteration] = []
        self.loss = self.make_loss(loss)
        pair = MemorySpace(Targets(np.array([True, False]), None, np.ones(2)))
        self.steepness = float(find_loss(loss)(pair, np.zeros(2)).gradient[1])  # |l'(0)|

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha, starting from weights of the unscaled columns or from the square loss."""
        self.iterations = []
        if start is None:
            (v,) = self.square.solutions(np.array([candidate.alpha]), tol)
        else:
            v = self.scaled(start)
        at = self.minimiser(self.start(v, candidate.alpha), candidate.alpha, tol)
        return self.solution(at.v / self.square.scale)

    def solution(self, w: np.ndarray) -> Solution:
        """Return the weights with the iterations that led to them."""
        return Solution(w, len(self.iterations), self.gap, self.iterations)

    # What subclasses may override

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss that the iterations start with."""
        return find_loss(name)

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha."""
        target = tol * self.steepness * self.size
        at, norm = self.minimise(self.loss, at, alpha, target)
        if norm > target:
            warn(f"after {len(self.iterations)} steps at a gradient {norm / target:.1e} times the tolerated one")
        return at

    # What all losses share

    @property
    def patience(self) -> float:
        """The number of steps of conjugate gradients after which a new preconditioner is made."""
        return max(2.0, self.rows.row_length / ENTRIES_PER_STEP)

    @property
    def size(self) -> float:
        """The norm of delta."""
        return float(np.linalg.norm(self.square.delta)) or 1.0

    def scaled(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of X / scale for weights w of X; 0 for constant columns, whose scale is infinite."""
        return w * np.where(np.isfinite(self.square.scale), self.square.scale, 0)

    def scores(self, v: np.ndarray) -> Vector:
        """Return the scores of weights of X / scale."""
        return self.rows.scores(v / self.square.scale)

    def rmatvec(self, g: Vector) -> np.ndarray:
        """Return X'g / scale for a g that sums to 0."""
        return self.rows.rmatvec(g, self.square.center - self.square.shift) / self.square.scale

    def with_loss(self, loss: PairwiseLoss, at: Iterate) -> Iterate:
        """Return the iterate with the same weights and another loss."""
        return at._replace(point=loss(self.rows, at.scores), slopes=None)

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times the factor that about minimises F, which takes one product with X."""
        unit = scores = self.scores(v)
        factor, square = 1.0, alpha * float(v @ v)
        point = self.loss(self.rows, scores)
        for _ in range(3):
            slope, curvature = self.rows.reduce(products, unit, point.gradient, point.hessian_product(unit))
            slope, curvature = slope + factor * square, curvature + square
            if not curvature > 0 or abs(slope) < 0.1 * factor * curvature:
                break
            factor = min(max(factor - slope / curvature, factor / 4), 4 * factor)
            scores = factor * unit
            point = self.loss(self.rows, scores)
        return Iterate(factor * v, scores, point)

    def minimise(self, loss: PairwiseLoss, at: Iterate, alpha: float, target: float) -> tuple[Iterate, float]:
        """Minimise a loss plus the penalty until the norm of the gradient is at most `target`; return that norm too.

        `at` must hold the same loss. The norm is above `target` if `max_iter` steps are not enough, or if the line
        search fails because of rounding. The head of this file lists the six numbered steps.
        """
        precondition, n_steps, stage = None, 0, self.next_stage()
        at, gradient, norm = self.gradient(at, alpha)  # 1
        for _ in range(self.max_iter):
            if norm <= target:  # 2
                break
            if precondition is None or n_steps > self.patience:  # 3
                precondition = self.preconditioner(at, alpha, exact=n_steps > 0)
            tolerance = max(FORCING, target / (2 * norm))
            found = self.newton_direction(at.point, gradient, alpha, precondition, tolerance)  # 4
            direction, its_scores, n_steps = found
            new = self.line_search(loss, at, direction, its_scores, alpha, float(gradient @ direction))  # 5
            if new is None:
                break
            at, gradient, norm = self.gradient(new, alpha)  # 1
            self.iterations.append(Iteration(at.value(alpha), norm, at.step, stage))  # 6
        if not self.iterations:
            self.iterations.append(Iteration(at.value(alpha), norm, 0.0))
        return at, norm

    def next_stage(self) -> int:
        """Return the stage of the iterations that follow."""
        return self.iterations[-1].stage + 1 if self.iterations else 0

    def gradient(self, at: Iterate, alpha: float) -> tuple[Iterate, np.ndarray, float]:
        """Return an iterate with its slopes, the gradient of F there, and its norm."""
        slopes = self.rmatvec(at.point.gradient) if at.slopes is None else at.slopes
        gradient = slopes + alpha * at.v
        return at._replace(slopes=slopes), gradient, float(np.linalg.norm(gradient))

    def preconditioner(self, at: Iterate, alpha: float, exact: bool) -> Operator:
        """Return the function that solves a system with kappa M + alpha I or its diagonal.

        With `exact`, M is gathered again; the weight of a row is then the curvature of the loss in the row's score.
        This would be the exact Hessian if the curvature of each pair were a product of one factor for each row.
        """
        if exact and self.square.factors and at.point.curvatures is not None:
            return self.row_hessian(at, alpha)
        if exact and self.square.factors:
            # The curvature of the loss in the score of each row.
            positives = self.rows.map(lambda targets: by_class(np.array([0.0, 1.0]), targets.positive))
            curvatures = self.rows.map(lambda targets, h: abs(h), at.point.hessian_product(positives))
            weighted = self.rows.reweighted(curvatures).moments()
            if (mass := float(weighted.weight[1])) > SMALLEST_KAPPA:
                return self.square.preconditioner(mass, alpha, weighted.rescaled(self.square.scale))
        ours, square = at.scores @ at.point.hessian_product(at.scores), self.square.curvature(at.v, at.scores)
        return self.square.preconditioner(max(ours / square, SMALLEST_KAPPA) if square > 0 else 1.0, alpha)

    def row_hessian(self, at: Iterate, alpha: float) -> Operator:
        """Return the function that solves a system with the exact Hessian of a sum over rows."""
        weighted = self.rows.reweighted(at.point.curvatures).moments().rescaled(self.square.scale)
        H = weighted.scatter.sum(axis=0) + weighted.weight.prod() / weighted.weight.sum() * np.outer(
            weighted.delta, weighted.delta
        )
        return inverse_product(H, alpha)

    def newton_direction(
        self, point: Point, gradient: np.ndarray, alpha: float, precondition: Operator, tolerance: float
    ) -> tuple[np.ndarray, Vector, int]:
        """Return the step to the minimum of the quadratic model, its scores, and the steps of conjugate gradients.

        Conjugate gradients stop at a relative residual of `tolerance`, in the norm of the preconditioner.
        """
        scores: Vector = None
        last: Vector = None  # the scores of the last direction of conjugate gradients
        n_steps = 0

        def product(p: np.ndarray) -> np.ndarray:
            nonlocal last
            last = self.scores(p[0])
            return (self.rmatvec(point.hessian_product(last)) + alpha * p[0])[None]

        def add(step: np.ndarray) -> None:
            nonlocal scores, n_steps
            scores = float(step[0]) * last if scores is None else scores + float(step[0]) * last
            n_steps += 1

        def solve(r: np.ndarray) -> np.ndarray:
            return precondition(r[0])[None]

        (d,), _ = conjugate_gradients(product, solve, -gradient[None], tolerance, MAX_CG, add)
        return d, scores, n_steps

    def line_search(
        self, loss: PairwiseLoss, at: Iterate, direction: np.ndarray, its_scores: Vector, alpha: float, slope: float
    ) -> Iterate | None:
        """Return an iterate along the direction that lowers F enough and halves its slope; None if there is none.

        The first trial is the whole direction. Later trials lie between a step that is too short and one that is too
        long: at the zero of the secant through their slopes, or in the middle.
        """
        value, best = at.value(alpha), None
        low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
        step = 1.0
        for _ in range(MAX_TRIALS):
            v, scores = at.v + step * direction, at.scores + step * its_scores
            point = loss(self.rows, scores)
            change = point.value + alpha / 2 * float(v @ v) - value
            here, slopes = np.inf, None
            if np.isfinite(change):
                # If a product with X reads a file, the same pass computes the slopes that the next step needs.
                slopes = None if self.rows.in_memory else self.rmatvec(point.gradient)
                along = point.gradient @ its_scores if slopes is None else slopes @ direction
                here = float(along + alpha * (v @ direction))
            lower = change <= SUFFICIENT * step * slope
            unseen = change <= ROUNDING * abs(value)  # too small to tell from rounding: the slope decides
            flatter = abs(here) <= -slope / 2
            if lower or (unseen and flatter):
                best = Iterate(v, scores, point, slopes, step)
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
    """The pairwise hinge on rows. Its corner is rounded off less and less, until the duality gap is small enough.

    Any b_ij in [0, 1] give the lower bound mean b - |G|^2 / (2 alpha) of the minimum, G the mean of b_ij (x_i - x_j).
    The slopes of the rounded hinge at its minimiser are such b. Their gap is a sixth of the squared width times the
    density of the margins there: a gap of 1e-4 needs a width of about 0.05, which is still smooth for Newton's method.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the hinge with a rounded corner."""
        self.hinge = Hinge()
        self._set_width(1.0)
        return self.loss

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha, to a duality gap of `tol` times F."""
        if alpha == 0:
            raise ValueError("loss='hinge' needs an alpha above 0, got 0.")
        while True:
            at, _ = self.minimise(self.loss, at, alpha, np.sqrt(alpha * tol * self.value(at, alpha) / 2))
            bound = self.lower_bound(at, alpha)
            best = self.rescaled(at, alpha) if self.width < NARROW else at
            value = self.value(best, alpha)
            self.gap = value - bound
            if self.gap <= tol * value:
                return best
            if self.width < NARROWEST:
                warn(
                    f"after {len(self.iterations)} steps at a duality gap of {self.gap / value:.1e} times the objective"
                )
                return best
            self._set_width(self.width * min(max(0.7 * np.sqrt(tol * value / self.gap), 0.1), 0.5))
            at = self.with_loss(self.loss, at)

    def start(self, v: np.ndarray, alpha: float) -> Iterate:
        """Return v times the factor that about minimises F, for the widest corner."""
        self._set_width(1.0)
        return super().start(v, alpha)

    def rescaled(self, at: Iterate, alpha: float) -> Iterate:
        """Return the weights times the factor that minimises the objective with the true hinge.

        If there are few different rows, many pairs may miss the margin by a fraction of the width. This factor corrects
        that.
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
        """Return the objective with the true hinge."""
        return self.hinge(self.rows, at.scores).value + alpha / 2 * float(at.v @ at.v)

    def lower_bound(self, at: Iterate, alpha: float) -> float:
        """Return the lower bound from the slopes at an iterate, times the factor in [0, 1] that maximises it."""
        mean = float(self.rows.reduce(lambda targets, g: namespace(g).sum(g[~targets.positive]), at.point.gradient))
        G = self.rmatvec(at.point.gradient)
        square = float(G @ G) / alpha
        factor = min(mean / square, 1.0) if square > 0 else 1.0
        return factor * mean - factor**2 * square / 2

    def _set_width(self, width: float) -> None:
        self.width, self.loss = width, SmoothHinge(width)


class SigmoidProblem(NewtonProblem):
    """The pairwise sigmoid on rows: 1 - AUC with a smooth step. It is not convex, so the result is a local minimum.

    Steeper sigmoids are closer to 1 - AUC. One of slope c with the penalty alpha has the minimiser of slope 1 with the
    penalty alpha / c^2, divided by c. The slopes increase, each starting from the minimiser before it, the first from
    the minimiser of the logistic loss. The minimiser of the highest AUC on the rows is returned, among the minimisers
    of all slopes and of the logistic loss.
    """

    def __init__(self, rows: Rows, square: Square, loss: str, max_iter: int) -> None:
        super().__init__(rows, square, loss, max_iter)
        self.logistic = NewtonProblem(rows, square, "logistic", max_iter)

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the best minimiser for one alpha, starting from weights of the unscaled columns.

        It needs no steeper slope once the loss is 1 - AUC up to `STEEP`, or the ranking perfect.
        """
        w = self.logistic.solve(candidate, tol, start).weights
        self.iterations = self.logistic.iterations
        v = self.scaled(w)
        scores = self.scores(v)
        at, best = Iterate(v, scores, self.loss(self.rows, scores)), self.rows.aucs(scores)[0]
        for slope in SLOPES if best < 1 else ():
            target = STEEPER * tol * self.steepness * self.size
            at, _ = self.minimise(self.loss, at, candidate.alpha / slope**2, target)
            auc = self.rows.aucs(at.scores)[0]
            if auc > best:
                w, best = at.v / slope / self.square.scale, auc
            if auc == 1 or at.point.value <= (1 + STEEP) * (1 - auc):
                break
        return self.solution(w)


def products(targets: Targets, u: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the inner products of one vector's block with other vectors' blocks."""
    return np.array([float(u @ other) for other in others])


def warn(where: str) -> None:
    """Warn that the iterations stopped too soon."""
    warnings.warn(
        f"Newton's method stopped {where}: increase max_iter, tol or alpha.", ConvergenceWarning, stacklevel=2
    )
