"""Descent on a smooth version of 1 - AUC (`losses/smooth_auc.py`), from the minimiser of the balanced logistic loss.

The loss is not convex, and its scale is fixed: only the direction of the weights counts. The descent takes at most
N_STEPS steps, so the result stays near its start. Each step follows the gradient, divided by KAPPA times the Hessian of
the square loss plus alpha I, which is how alpha enters. The length of a step is searched in score space.
"""

from __future__ import annotations

import numpy as np

from ..data.protocol import Vector
from ..data.scores import ScoreMoments
from ..losses import find_loss
from ..losses.smooth_auc import SmoothAUC, UnitScores
from ..losses.squared import PairwiseLoss
from .candidate import Candidate, Solution
from .newton import Iterate, NewtonProblem, finite

N_STEPS = 8
FIRST_STEP = 0.2  # the root mean square of the first change of the scores, in units of their spread
LEAST_GAIN = 1e-5  # the descent ends where a step lowers the loss by a smaller share
MAX_TRIALS = 12
KAPPA = 0.1  # about the curvature of the balanced logistic loss


class SmoothAUCProblem(NewtonProblem):
    """The smooth version of 1 - AUC on rows; see :class:`aucmax.solvers.newton.NewtonProblem`."""

    base = "balanced_logistic"

    def make_loss(self, name: str) -> PairwiseLoss:
        """Return the loss whose minimiser is the start."""
        return find_loss(self.base)

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the end of the descent for one alpha, from the minimiser of the balanced logistic loss or `start`.

        Weights to start from are taken as they are, such as the end of a descent on some of the rows.
        """
        if start is None:
            return super().solve(candidate, tol)
        self.n_iter = 0
        v = start * finite(self.square.scale)
        v, _ = self.descend(v, self.scores(v), candidate.alpha)
        return Solution(v / self.square.scale, max(self.n_iter, 1))

    def minimiser(self, at: Iterate, alpha: float, tol: float) -> Iterate:
        """Return the end of the descent for one alpha, with the scores of unit spread."""
        start = super().minimiser(self.under(self.loss, at), alpha, tol)
        v, scores = self.descend(start.v, start.scores, alpha)
        return start._replace(v=v, scores=scores, slopes=None)

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
            direction = -metric(self.pullback(gradient))
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
