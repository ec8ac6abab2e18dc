"""Descent on a smooth version of 1 - AUC (`losses/smooth_auc.py`), from the minimiser of the balanced logistic loss.

The loss is not convex, and its scale is fixed: only the direction of the weights counts. The descent takes at most
N_STEPS steps, so the result stays near its start. Each step follows the gradient, divided by KAPPA times the Hessian of
the square loss plus alpha I, which is how alpha enters. The length of a step is searched in score space.
"""

from __future__ import annotations

import numpy as np

from ..losses.smooth_auc import SmoothAUC, UnitScores
from ..rows.protocol import Rows, Vector
from ..rows.summaries.scores import ScoreMoments
from .candidate import Candidate, Solution
from .newton import NewtonProblem, finite
from .square import MomentProblem, RowProblem

N_STEPS = 8
FIRST_STEP = 0.2  # the root mean square of the first change of the scores, in units of their spread
LEAST_GAIN = 1e-5  # the descent ends where a step lowers the loss by a smaller share
MAX_TRIALS = 12
BASE = "balanced_logistic"
KAPPA = 0.1  # about the curvature of the balanced logistic loss


class SmoothAUCProblem(NewtonProblem):
    """The smooth version of 1 - AUC on rows; see :class:`aucmax.solvers.newton.NewtonProblem`."""

    def __init__(self, rows: Rows, square: MomentProblem | RowProblem, loss: str, max_iter: int) -> None:
        super().__init__(rows, square, BASE, max_iter)
        self.logistic = NewtonProblem(rows, square, BASE, max_iter)

    def path(self, alphas: np.ndarray, tol: float, squares: np.ndarray | None = None) -> np.ndarray:
        """Return the ends of the descents for decreasing alphas, each from the minimiser of the logistic loss."""
        starts = self.logistic.path(alphas, tol, squares)
        self.n_iter = self.logistic.n_iter
        return np.array([self.descended(w, float(alpha)) for w, alpha in zip(starts, alphas, strict=True)])

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the end of the descent for one alpha, from the minimiser of the balanced logistic loss or `start`.

        The descent begins at `start` itself, such as the end of a descent on some of the rows.
        """
        self.n_iter = 0
        if start is None:
            start, self.n_iter, *_ = self.logistic.solve(candidate, tol)
        return Solution(self.descended(start, candidate.alpha), max(self.n_iter, 1))

    def descended(self, w: np.ndarray, alpha: float) -> np.ndarray:
        """Return the end of the descent from weights of the unscaled columns."""
        v = w * finite(self.square.scale)
        return self.descend(v, self.scores(v), alpha)[0] / self.square.scale

    def descend(self, v: np.ndarray, scores: Vector, alpha: float) -> tuple[np.ndarray, Vector]:
        """Return weights and scores at the end of the descent from v."""
        moments = self.rows.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        loss, spread = UnitScores.of(moments)
        if not spread > 0:
            return v, scores
        metric = self.square.preconditioner(KAPPA, alpha)
        v, scores = v / spread, (1 / spread) * scores
        value, length = loss.value(self.rows, scores), None
        for _ in range(N_STEPS):
            gradient = loss.gradient(self.rows, scores)
            direction = -metric(self.rmatvec(gradient))
            change = self.scores(direction)
            shift = self.rows.reduce(ScoreMoments.of, change, merge=ScoreMoments.merge)
            middle = float(shift.mean.mean())
            change = self.rows.map(lambda targets, s, middle=middle: s - middle, change)
            slope = float(gradient @ change)
            if length is None:
                size = float(np.sqrt(np.mean(shift.variance + (shift.mean - middle) ** 2)))
                length = FIRST_STEP / size if size > 0 else 0.0
            if not slope < 0 or not length > 0:
                break
            length, new = self.step_length(loss, scores, change, value, slope, length)
            if length == 0:
                break
            v, scores = v + length * direction, scores + length * change
            gain, value = (value - new) / value, new
            self.n_iter += 1
            if gain < LEAST_GAIN:
                break
        return v, scores

    def step_length(
        self, loss: SmoothAUC, scores: Vector, change: Vector, value: float, slope: float, length: float
    ) -> tuple[float, float]:
        """Return a step that lowers the loss, and the loss there; `losses.smooth_auc.step_length` by the protocol."""
        best, best_length, shorter = value, 0.0, False
        for _ in range(MAX_TRIALS):
            here = loss.value(self.rows, scores + length * change)
            if here < best and here <= value + 1e-4 * length * slope:
                best, best_length = here, length
                if shorter:
                    break
                length *= 2
            elif best_length > 0:
                break
            else:
                length, shorter = length / 3, True
        return best_length, best
