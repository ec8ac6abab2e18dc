"""Truncated Newton method for the pairwise losses other than the square loss, with an L2 penalty.

Conventions
-----------
For one alpha or a path of them,

    minimise over v   F(v) = L(Xv / scale) + alpha/2 |v|^2

where L is a pairwise loss (`losses/`) and v are the weights of X / scale, as in `solvers/square.py`. L is a function of
the scores, so X is needed for products only: one for a gradient X'L', two for a step of conjugate gradients X'(L''Xp).
The scores of a direction are known after that, so the line search needs no further product if the rows are in memory.

The square loss helps to minimise the others in two ways:

- Start: the minimiser of the square loss, scaled. Along a path of decreasing alphas, the best combination of the last
  two minimisers (`combine`): its scores are the same combination of their scores, so F is minimised over two numbers
  without a product with X. After cross-validation, the mean of the models of the folds.
- Preconditioner: kappa M + alpha I, where M is the Hessian of the square loss, and kappa the curvature of L along v
  divided by the square loss's. If conjugate gradients then take too many steps, M is gathered again from rows
  weighted by their curvature. If there are too many columns for M, its diagonal is used instead.

Iterations stop when the norm of the gradient is `tol` times that at v = 0, where the gradient is l'(0) delta. The hinge
stops at a duality gap instead, except along a path.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import bisect
from sklearn.exceptions import ConvergenceWarning

from ..losses import find_loss
from ..losses.base import PairwiseLoss, Point
from ..losses.hinges import Hinge, SmoothHinge
from ..rows.arrays import by_class, namespace
from ..rows.memory import MemorySpace
from ..rows.protocol import Rows, Targets, Vector
from ..rows.summaries.moments import ClassMoments
from .candidate import Candidate, Solution
from .square import RIDGE, MomentProblem, Operator, RowProblem, near_zero

MAX_STEPS = 5  # of `combine`
SMALL = 1e-4  # steps that lower F by less than this share of the penalty are not worth an evaluation of the loss
SINGULAR = 1e-12  # minimisers may be multiples of each other
SUFFICIENT = 1e-4  # Armijo: a step must lower F by this share of what the slope promises
ROUNDING = 1e-9  # relative rounding error of F; it is largest for the hinge with a narrow corner
MAX_TRIALS = 40
FORCING = 0.1  # the relative residual of conjugate gradients; smaller ones save few Newton steps and take longer
MAX_CG = 500
# If a row has 16 k values, class moments take as long as k steps of conjugate gradients. Files follow the same rule,
# although moments save more time there, so that iterations and weights are the same as in memory.
ENTRIES_PER_STEP = 16
SMALLEST_KAPPA = 1e-3
# A gradient of epsilon alpha |v| means a relative error of v of at most epsilon. Along a path, epsilon = 30 tol is
# small enough: 0.009 in cross-validation, where large alphas would otherwise be solved 30 times as exactly.
RELATIVE = 30.0
# From this size on, a product with X takes longer than an evaluation of the loss.
LONG_ROW, MANY_ENTRIES = 40, 300_000
NARROW, NARROWEST = 1e-2, 1e-7  # widths of the rounded corner of the hinge
# The hinge along a path: in cross-validation the width is 0.1, where 0.03 gives the same AUCs up to 0.0002. Without the
# factor of the tolerance, the smallest alphas stop too soon (segment lost 0.002, spambase 0.0006).
PATH_WIDTH, PATH_TOL = 6.0, 0.1
# Where few pairs are near the step of the sigmoid, its gradient is small everywhere: without this factor the smallest
# alphas of a path stop where they start (segment lost 0.001).
STEEPER, STEEP = 0.3, 0.01
SLOPES = 10.0 ** np.linspace(0, 1.25, 6)  # of the sigmoid; in steps such that slope^2 fits the default grid of alphas


class Iterate(NamedTuple):
    """An iterate of Newton's method."""

    v: np.ndarray  # (n_features,): weights of X / scale
    scores: Vector  # their scores
    point: Point  # value and derivatives of the loss at these scores
    # (n_features,): the derivative of the loss with respect to v, if it has been computed.
    slopes: np.ndarray | None = None


class NewtonProblem:
    """A smooth convex pairwise loss on rows.

    `square` is the square loss on the same rows. `max_iter` limits the Newton steps for one alpha, and `n_iter` counts
    the steps of the last path or solution. `steepness` is |l'(0)|, which gives the norm of the gradient at v = 0.
    """

    n_iter = 0
    moments: ClassMoments | None = None
    gap: float | None = None

    def __init__(self, rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> None:
        self.rows, self.square, self.name, self.max_iter = near_zero(rows, square.shift), square, loss, max_iter
        self.default_alphas, self.midpoint, self.candidates = square.default_alphas, square.midpoint, square.candidates
        self.loss = self.make_loss(loss)
        pair = MemorySpace(Targets(np.array([True, False]), None, np.ones(2)))
        self.steepness = float(find_loss(loss)(pair, np.zeros(2)).gradient[1])  # |l'(0)|

    def path(self, alphas: np.ndarray, tol: float, squares: np.ndarray | None = None) -> np.ndarray:
        """Return the minimisers for decreasing alphas; `squares` minimise the square loss, if known.

        Their gradients may be larger than for a single alpha: see `relaxed`.
        """
        if squares is None:  # conjugate gradients to the smallest alphas would take as long as Newton's method
            squares = self.square.solutions(alphas[:1] if self.square.iterative else alphas, tol)
        self.n_iter = 0
        last: list[Iterate] = []
        V = np.empty((len(alphas), self.rows.n_features))
        for k, alpha in enumerate(alphas):
            # Large alphas may need no step, since no pair reaches the margin: then the square loss starts the next.
            known = k < len(squares) and self.n_iter == 0
            start = self.start(squares[k], alpha) if known or not last else self.combined(last, float(alpha))
            at = self.minimiser(start, float(alpha), tol if len(alphas) == 1 else self.relaxed(tol, start, alpha))
            last = [at, *last[:1]]
            V[k] = at.v
        return V / self.square.scale

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha, starting from weights of the unscaled columns or from the square loss."""
        if start is None:
            (w,) = self.path(np.array([candidate.alpha]), tol)
        else:
            self.n_iter = 0
            at = self.start(start * finite(self.square.scale), candidate.alpha)
            at = self.minimiser(at, candidate.alpha, tol)
            w = at.v / self.square.scale
        return Solution(w, max(self.n_iter, 1), self.gap)

    # What subclasses may override

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

    # What all losses share

    @property
    def patience(self) -> float:
        """The number of steps of conjugate gradients after which a new preconditioner is made."""
        return max(2.0, self.rows.row_length / ENTRIES_PER_STEP)

    @property
    def size(self) -> float:
        """The norm of delta."""
        return float(np.linalg.norm(self.square.delta)) or 1.0

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

    def combined(self, last: list[Iterate], alpha: float) -> Iterate:
        """Return where to start: the combination of the last iterates that about minimises F, or the last iterate.

        The combination takes no product with X, but several evaluations of the loss.
        """
        if self.rows.row_length < LONG_ROW or self.rows.n_rows * self.rows.row_length < MANY_ENTRIES:
            return last[0]
        V = np.array([at.v for at in last])
        return Iterate(*combine(self.rows, self.loss, V, [at.scores for at in last], alpha, last[0].point))

    def relaxed(self, tol: float, at: Iterate, alpha: float) -> float:
        """Return the tolerance near these weights that leaves them a relative error of at most RELATIVE tol."""
        slope = alpha * float(np.linalg.norm(at.v))
        return max(tol, min(RELATIVE * tol, 1.0) * slope / (self.steepness * self.size))

    def minimise(self, loss: PairwiseLoss, at: Iterate, alpha: float, target: float) -> tuple[Iterate, float]:
        """Minimise a loss plus the penalty until the norm of the gradient is at most `target`; return that norm too.

        `at` must hold the same loss. The norm is above `target` if `max_iter` steps are not enough, or if the line
        search fails because of rounding.
        """
        precondition, n_steps = None, 0
        for n_newton in range(self.max_iter + 1):
            slopes = self.rmatvec(at.point.gradient) if at.slopes is None else at.slopes
            gradient = slopes + alpha * at.v
            norm = float(np.linalg.norm(gradient))
            if norm <= target or n_newton == self.max_iter:
                break
            if precondition is None or n_steps > self.patience:
                precondition = self.preconditioner(at, alpha, exact=n_steps > 0)
            tolerance = max(FORCING, target / (2 * norm))
            direction, its_scores, n_steps = self.newton_direction(at.point, gradient, alpha, precondition, tolerance)
            new = self.line_search(loss, at, direction, its_scores, alpha, float(gradient @ direction))
            if new is None:
                break
            at = new
            self.n_iter += 1
        return at, norm

    def preconditioner(self, at: Iterate, alpha: float, exact: bool) -> Operator:
        """Return the function that solves a system with kappa M + alpha I or its diagonal.

        With `exact`, M is gathered again; the weight of a row is then the curvature of the loss in the row's score.
        This would be the exact Hessian if the curvature of each pair were a product of one factor for each row.
        """
        if exact and self.square.factors and at.point.curvatures is not None:
            return self.row_hessian(at, alpha)
        if exact and self.square.factors:
            weighted = self.rows.reweighted(self.curvature(at.point)).moments()
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
        H.flat[:: len(H) + 1] += alpha + RIDGE * np.trace(H)
        factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        return lambda r: linalg.cho_solve(factor, r, check_finite=False)

    def curvature(self, point: Point) -> Vector:
        """Return the curvature of the loss in the score of each row."""
        positives = self.rows.map(lambda targets: by_class(np.array([0.0, 1.0]), targets.positive))
        return self.rows.map(lambda targets, h: abs(h), point.hessian_product(positives))

    def newton_direction(
        self,
        point: Point,
        gradient: np.ndarray,
        alpha: float,
        precondition: Operator,
        tolerance: float,
    ) -> tuple[np.ndarray, Vector, int]:
        """Return the step to the minimum of the quadratic model, its scores, and the steps of conjugate gradients.

        Conjugate gradients stop at a relative residual of `tolerance`, in the norm of the preconditioner. They stop
        earlier at a direction of negative curvature, which is returned only if it is the first direction.
        """
        d, scores = np.zeros_like(gradient), None
        r = -gradient
        p = z = precondition(r)
        rz = goal = float(r @ z)
        n_steps = 0
        while n_steps < MAX_CG:
            n_steps += 1
            p_scores = self.scores(p)
            q = self.rmatvec(point.hessian_product(p_scores)) + alpha * p
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
        """Return an iterate along the direction that lowers F enough and halves its slope; None if there is none.

        The first trial is the whole direction. Later trials lie between a step that is too short and one that is too
        long: at the zero of the secant through their slopes, or in the middle.
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
                # If a product with X reads a file, the same pass computes the slopes that the next step needs.
                slopes = None if self.rows.in_memory else self.rmatvec(point.gradient)
                along = point.gradient @ its_scores if slopes is None else slopes @ direction
                here = float(along + alpha * (v @ direction))
            lower = change <= SUFFICIENT * step * slope
            unseen = change <= ROUNDING * abs(value)  # too small to tell from rounding: the slope decides
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
    """The pairwise hinge on rows. Its corner is rounded off less and less, until the duality gap is small enough.

    Any b_ij in [0, 1] give the lower bound mean b - |G|^2 / (2 alpha) of the minimum, G the mean of b_ij (x_i - x_j).
    The slopes of the rounded hinge at its minimiser are such b. Their gap is a sixth of the squared width times the
    density of the margins there: a gap of 1e-4 needs a width of about 0.05, which is still smooth for Newton's method.

    A path has no certificate: a small gap takes long for the small alphas, and hardly changes the order of the scores.
    Its corners have the width `PATH_WIDTH` sqrt(tol), and its gradients are `PATH_TOL` tol times that at v = 0.
    """

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the hinge with a rounded corner."""
        self.hinge = Hinge()
        self._set_width(1.0)
        return self.loss

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha of a path."""
        check_positive(alpha)
        narrowest = min(PATH_WIDTH * np.sqrt(tol), 1.0)
        self._set_width(max(narrowest, 0.1))
        while True:
            at = super().minimiser(self.with_loss(self.loss, at), alpha, PATH_TOL * tol)
            if self.width <= narrowest:
                return at
            self._set_width(max(self.width / 10, narrowest))

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one alpha, to a duality gap of `tol` times F."""
        alpha = candidate.alpha
        check_positive(alpha)
        self.n_iter = 0
        v = self.square.solutions(np.array([alpha]), tol)[0] if start is None else start * finite(self.square.scale)
        at = self.certified(self.start(v, alpha), alpha, tol)
        return Solution(at.v / self.square.scale, max(self.n_iter, 1), self.gap)

    def certified(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the minimiser for one alpha, to a duality gap of `tol` times F."""
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
    penalty alpha / c^2, divided by c. So a single path of slope 1 has the minimisers for all slopes and all alphas. It
    starts at the minimiser of the logistic loss for the largest alpha. For each alpha, the minimiser of the highest AUC
    on the rows is returned, among the minimisers of all slopes and of the logistic loss.
    """

    def __init__(self, rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> None:
        super().__init__(rows, square, loss, max_iter)
        self.logistic = NewtonProblem(rows, square, "logistic", max_iter)

    def path(self, alphas: np.ndarray, tol: float, squares: np.ndarray | None = None) -> np.ndarray:
        """Return the best minimisers for decreasing alphas; `squares` minimise the square loss, if known."""
        return self.steepened(alphas, tol, self.logistic.path(alphas, tol, squares))

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the best minimiser for one alpha, starting from weights of the unscaled columns."""
        smooth = self.logistic.solve(candidate, tol, start).weights[None]
        (w,) = self.steepened(np.array([candidate.alpha]), tol, smooth)
        return Solution(w, max(self.n_iter, 1))

    def steepened(
        self,
        alphas: np.ndarray,
        tol: float,
        smooth: np.ndarray,
    ) -> np.ndarray:
        """Return the best minimisers, given the logistic loss's; a perfect ranking needs no steeper loss."""
        aucs = np.array([self.rows.aucs(self.rows.scores(w))[0] for w in smooth])
        self.n_iter, best, imperfect = self.logistic.n_iter, smooth.copy(), np.flatnonzero(aucs < 1)
        with np.errstate(divide="ignore"):  # alpha may be 0
            exponents = np.round(np.log10(alphas[imperfect, None] / SLOPES**2), 9)
        ladder, places = np.unique(exponents, return_inverse=True)
        V, steep = self.solve_path(smooth[0] * finite(self.square.scale), 10.0 ** ladder[::-1], tol)
        for k, place in zip(imperfect, len(ladder) - 1 - places.reshape(exponents.shape), strict=True):
            m = np.argmax(steep[place])
            if steep[place[m]] > aucs[k]:
                best[k] = V[place[m]] / SLOPES[m] / self.square.scale
        return best

    def solve_path(self, v: np.ndarray, alphas: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimisers for decreasing alphas, each found from the one before, and their AUCs.

        Once the loss is 1 - AUC up to `STEEP`, or the ranking perfect, smaller alphas keep the weights.
        """
        V, aucs = np.empty((len(alphas), len(v))), np.empty(len(alphas))
        scores = self.scores(v)
        at = Iterate(v, scores, self.loss(self.rows, scores))
        last: list[Iterate] = []
        for k, alpha in enumerate(alphas):
            start = self.combined(last, float(alpha)) if last else at
            relaxed = self.relaxed(STEEPER * tol, start, alpha)
            at, _ = self.minimise(self.loss, start, alpha, relaxed * self.steepness * self.size)
            last = [at, *last[:1]]
            V[k:], aucs[k:] = at.v, self.rows.aucs(at.scores)[0]
            if aucs[k] == 1 or at.point.value <= (1 + STEEP) * (1 - aucs[k]):
                break
        return V, aucs


def combine(
    rows: Rows,
    loss: PairwiseLoss,
    V: np.ndarray,
    scores: Sequence[Vector],
    alpha: float,
    point: Point | None = None,
) -> tuple[np.ndarray, Vector, Point]:
    """Return the combination c @ V that about minimises L + alpha/2 |c @ V|^2, its scores and the loss there.

    V is (n_vectors, n_features), the last minimiser first; F is never higher than there. `scores` are the scores of V,
    and `point` is the loss at the first of them, if known.
    """
    penalty = alpha * V @ V.T
    c, step, best = np.zeros(len(V)), np.eye(len(V))[0], np.inf
    for n_steps in range(MAX_STEPS):
        trial = c + step
        total = weighted_sum(trial, scores)
        point = loss(rows, total) if n_steps > 0 or point is None else point
        value = point.value + trial @ penalty @ trial / 2
        if not value < best:
            step = step / 4
            continue
        c, best, found = trial, value, (trial @ V, total, point)
        slopes = rows.reduce(products, point.gradient, *scores) + penalty @ c
        curvatures = [rows.reduce(products, point.hessian_product(s), *scores) for s in scores]
        step = -np.linalg.lstsq(np.array(curvatures) + penalty, slopes, rcond=SINGULAR)[0]
        if not -slopes @ step > SMALL * (c @ penalty @ c):
            break
    return found


def weighted_sum(c: np.ndarray, scores: Sequence[Vector]) -> Vector:
    """Return the sum of the vectors times their coefficients."""
    total = float(c[0]) * scores[0]
    for factor, s in zip(c[1:], scores[1:], strict=True):
        total = total + float(factor) * s
    return total


def products(targets: Targets, u: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the inner products of one vector's block with other vectors' blocks."""
    return np.array([float(u @ other) for other in others])


def check_positive(alpha: float) -> None:
    """Raise a ValueError if the hinge has no penalty."""
    if alpha == 0:
        raise ValueError("loss='hinge' needs an alpha above 0, got 0.")


def finite(scale: np.ndarray) -> np.ndarray:
    """Return the scale with 0 instead of infinity, for constant columns."""
    return np.where(np.isfinite(scale), scale, 0)


def warn(where: str) -> None:
    """Warn that the iterations stopped too soon."""
    warnings.warn(
        f"Newton's method stopped {where}: increase max_iter, tol or alpha.", ConvergenceWarning, stacklevel=2
    )
