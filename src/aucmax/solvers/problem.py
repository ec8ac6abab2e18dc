"""What an objective looks like from outside, and the one place where problems are made.

An :class:`Objective` says what is minimised and how. On rows it becomes a :class:`Problem`: paths of minimisers for
cross-validation, and a solution for one candidate.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ..data.moments import ClassMoments
from ..data.protocol import Rows
from .candidate import Candidate, Solution
from .square import MomentProblem, RowProblem, choose_solver

EITHER = ("squared", "squared_hinge")  # what loss="auto" chooses from


class Problem(Protocol):
    """What cross-validation and the estimators ask of an objective on one training set.

    Attributes
    ----------
    moments : ClassMoments or None
        Of the training set, where they were gathered and say all that there is to know of it.
    """

    @property
    def moments(self) -> ClassMoments | None: ...  # noqa: D102

    def default_alphas(self) -> np.ndarray:
        """Return the grid for cross-validation, largest first."""

    def candidates(self, alphas: np.ndarray) -> list[Candidate]:
        """Return the candidates that these alphas make, in the order of a path."""

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers of all candidates, shape (n_candidates, n_features)."""

    def solve(self, candidate: Candidate, tol: float, start: np.ndarray | None = None) -> Solution:
        """Return the minimiser for one candidate; the losses that are not square may start from weights near it."""

    def midpoint(self, W: np.ndarray) -> np.ndarray:
        """Return the score, or scores, half-way between the class means."""


class Objective(NamedTuple):
    """What is minimised, and how.

    Attributes
    ----------
    loss : str
        The loss of a pair, a key of :data:`aucmax.losses.LOSSES`; or "auto", which tries those of `EITHER`.
    penalty : {"l2", "l1", "elasticnet"}
        The penalty on the weights.
    l1_ratio : float
        The share of the L1 norm in the penalty "elasticnet".
    n_nonzero : tuple of int or None
        The numbers of nonzero weights to try, increasing; None for no limit.
    standardize : bool
        Whether the penalty is on the weights of the columns divided by their standard deviations.
    solver : {"auto", "moments", "dual", "cg"}
        How the square loss is solved, see `solvers/square.py`.
    max_iter : int
        Limit of the solvers that iterate.
    """

    loss: str = "squared"
    penalty: str = "l2"
    l1_ratio: float = 0.5
    n_nonzero: tuple[int, ...] | None = None
    standardize: bool = True
    solver: str = "auto"
    max_iter: int = 1000

    def on(self, rows: Rows) -> Objective:
        """Return the objective with the solver that is cheapest for these rows, unless one was named."""
        return self._replace(solver=choose_solver(rows)) if self.solver == "auto" else self

    def problem(self, rows: Rows, moments: ClassMoments | None = None) -> Problem:
        """Return the problem of these rows; `moments` are theirs, where they are known."""
        objective = self.on(rows)
        if objective.solver == "moments":
            square: MomentProblem | RowProblem = MomentProblem(moments or rows.moments(), self.standardize)
        else:
            square = RowProblem(rows, self.standardize, objective.solver, self.max_iter)
        if self.loss == "squared":
            return self.penalised(square)
        from .newton import EitherProblem, newton_problem  # compiled, so imported where it is needed

        if self.loss == "auto":
            return EitherProblem(square, newton_problem(rows, square, EITHER[1], self.max_iter))
        return newton_problem(rows, square, self.loss, self.max_iter)

    def penalised(self, square: MomentProblem | RowProblem) -> Problem:
        """Return the square loss with its penalty; what is not L2 is compiled, and imported here."""
        if self.n_nonzero is not None:
            from .best_subset import SubsetProblem

            return SubsetProblem(square, self.n_nonzero, self.max_iter)
        if self.penalty != "l2":
            from .elastic_net import ElasticNetProblem

            return ElasticNetProblem(square, 1.0 if self.penalty == "l1" else self.l1_ratio, self.max_iter)
        return square
