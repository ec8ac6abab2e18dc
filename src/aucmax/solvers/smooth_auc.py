"""Descent on a smooth version of 1 - AUC (`losses/smooth_auc.py`), from the minimiser of the balanced logistic loss.

The loss is not convex, and its scale is fixed: only the direction of the weights counts. The descent takes at most
N_STEPS steps, so the result stays near its start. Each step follows the gradient, divided by KAPPA times the Hessian of
the square loss plus alpha I, which is how alpha enters. The line search is the one of Newton's method. If the AUC of
the rows is lower at the end, the start is returned.
"""

from __future__ import annotations

import numpy as np

from ..losses.smooth_auc import UnitScores
from ..rows.protocol import Rows
from ..rows.summaries.scores import ScoreMoments
from .candidate import Candidate, Iteration, Solution
from .newton import Iterate, NewtonProblem
from .square import Square

N_STEPS = 8
FIRST_STEP = 0.2  # the root mean square of the first change of the scores, in units of their spread
LEAST_GAIN = 1e-5  # the descent ends where a step lowers the loss by a smaller share
BASE = "balanced_logistic"
START_TOL = 1e-2  # of the square loss, where Newton's method starts: on news20 a smaller one took most of the fit
KAPPA = 0.1  # about the curvature of the balanced logistic loss


class SmoothAUCProblem(NewtonProblem):
    """The smooth version of 1 - AUC on rows; see :class:`aucmax.solvers.newton.NewtonProblem`."""

    def __init__(self, rows: Rows, square: Square, loss: str, max_iter: int) -> None:
        super().__init__(rows, square, BASE, max_iter)

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the end of the descent for one alpha, from the minimiser of the balanced logistic loss or `start`.

        The descent begins at `start` itself, such as the end of a descent on some of the rows.
        """
        self.iterations = []
        if start is None:
            (v,) = self.square.solutions(np.array([candidate.alpha]), max(tol, START_TOL))
            start = super().solve(candidate, tol, v / self.square.scale).weights
        return self.solution(self.descend(self.scaled(start), candidate.alpha) / self.square.scale)

    def descend(self, v: np.ndarray, alpha: float) -> np.ndarray:
        """Return the weights at the end of the descent from v, for scores of unit spread; v if its AUC is higher."""
        scores = self.scores(v)
        loss, spread = UnitScores.of(self.rows, scores)
        if not spread > 0:
            return v
        metric, stage = self.square.preconditioner(KAPPA, alpha), self.next_stage()
        scores = (1 / spread) * scores
        start = Iterate(v / spread, scores, loss(self.rows, scores))
        at, gradient, norm = self.gradient(start, 0.0)
        length = None
        for _ in range(N_STEPS):
            direction = -metric(gradient)
            change = self.scores(direction)
            shift = self.rows.reduce(ScoreMoments.of, change, merge=ScoreMoments.merge)
            middle = float(shift.mean.mean())
            if length is None:
                size = float(np.sqrt(np.mean(shift.variance + (shift.mean - middle) ** 2)))
                length = FIRST_STEP / size if size > 0 else 0.0
            step, change = length * direction, self.rows.map(lambda targets, s, k=length, m=middle: k * (s - m), change)
            slope = float(at.point.gradient @ change)
            new = self.line_search(loss, at, step, change, 0.0, slope) if slope < 0 else None
            if new is None:
                break
            length *= new.step
            gain = (at.point.value - new.point.value) / at.point.value
            at, gradient, norm = self.gradient(new, 0.0)
            self.iterations.append(Iteration(at.point.value, norm, length, stage))
            if gain < LEAST_GAIN:
                break
        if not self.iterations:
            self.iterations.append(Iteration(at.point.value, norm, 0.0))
        lower = self.rows.aucs(at.scores)[0] < self.rows.aucs(start.scores)[0]
        return start.v if lower else at.v
