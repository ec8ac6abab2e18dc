"""The interface of all solvers, and the one place where problems are made.

An :class:`Objective` says what to minimise and how. Together with a training set it becomes a :class:`Problem`, which
computes the solution for one candidate. The problems of the square losses compute whole paths of solutions too.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..rows.machine import NEWTON_VECTORS, check_columns
from ..rows.protocol import Rows
from ..rows.summaries.moments import ClassMoments
from .best_subset import SubsetProblem
from .candidate import Candidate, Solution
from .elastic_net import ElasticNetProblem
from .newton import HingeProblem, NewtonProblem, SigmoidProblem
from .smooth_auc import SmoothAUCProblem
from .square import MomentProblem, RowProblem, Square, choose_solver

SQUARES = ("squared", "pooled")  # the losses that class moments are enough for


class Problem(Protocol):
    """An objective on one training set."""

    @property
    def moments(self) -> ClassMoments | None:
        """The class moments of the training set, if the minimisers are a function of these alone."""

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one candidate; losses other than the square one may start from given weights."""


class PathProblem(Problem, Protocol):
    """A square loss on one training set, whose minimisers for many candidates take little longer than for one."""

    def default_alphas(self) -> np.ndarray:
        """Return the grid of alphas for cross-validation, largest first."""

    def candidates(self, alphas: np.ndarray) -> list[Candidate]:
        """Return the candidates with these alphas, in the order of `path`."""

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers of all candidates, shape (n_candidates, n_features)."""


class Objective(NamedTuple):
    """What to minimise, and how."""

    loss: str = "squared"  # one of :data:`aucmax.losses.FITTED`
    penalty: str = "l2"  # the penalty on the weights
    l1_ratio: float = 0.5  # the share of the L1 norm in the penalty "elasticnet"
    n_nonzero: tuple[int, ...] | None = None  # the numbers of nonzero weights to try, increasing; None for no limit
    # Whether the penalty is on the weights of the columns divided by their standard deviations.
    standardize: bool = True
    solver: str = "auto"  # the solver of the square loss, see `solvers/square.py`
    max_iter: int = 1000  # the largest number of iterations

    @property
    def is_sparse(self) -> bool:
        """Whether some weights are exactly 0: columns are chosen."""
        return self.penalty != "l2" or self.n_nonzero is not None

    def on(self, rows: Rows) -> Objective:
        """Return the objective with solver "auto" replaced by the cheapest solver for these rows."""
        return self._replace(solver=choose_solver(rows)) if self.solver == "auto" else self

    def problem(self, rows: Rows, moments: ClassMoments | None = None) -> Problem:
        """Return the problem of these rows; `moments` are their class moments, if known."""
        square = self.square(rows, moments)
        if self.loss in SQUARES:
            return self.penalised(square)
        check_columns(rows.n_features, NEWTON_VECTORS, f"The loss {self.loss} on", "leave out columns")
        return newton_problem(rows, square, self.loss, self.max_iter)

    def square(self, rows: Rows, moments: ClassMoments | None = None) -> Square:
        """Return the square loss of these rows with an L2 penalty."""
        solver = self.on(rows).solver
        if solver == "moments":
            return self.of_moments(moments or rows.moments())
        return RowProblem(rows, self.standardize, solver, self.max_iter, self.loss == "pooled")

    def of_moments(self, moments: ClassMoments) -> MomentProblem:
        """Return the square loss of these moments with an L2 penalty."""
        return MomentProblem(moments, self.standardize, self.loss == "pooled")

    def penalised(self, square: Square) -> PathProblem:
        """Return the square loss with its penalty."""
        if self.n_nonzero is not None:
            return SubsetProblem(square, self.n_nonzero, self.max_iter)
        if self.penalty != "l2":
            return ElasticNetProblem(square, 1.0 if self.penalty == "l1" else self.l1_ratio, self.max_iter)
        return square


def newton_problem(rows: Rows, square: Square, loss: str, max_iter: int) -> NewtonProblem:
    """Return the problem of a loss other than the square loss."""
    kinds = {"hinge": HingeProblem, "sigmoid": SigmoidProblem, "smooth_auc": SmoothAUCProblem}
    return kinds.get(loss, NewtonProblem)(rows, square, loss, max_iter)
