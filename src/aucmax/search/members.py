"""The members of a blend, fitted to all rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows.memory import Rotation
from ..rows.protocol import InMemoryRows, Rows
from ..rows.summaries.moments import ClassMoments
from ..rows.summaries.scores import ScoreMoments
from ..solvers.candidate import Candidate, Solution
from ..solvers.problem import SQUARES, Objective, Problem
from ..solvers.square import RowProblem
from .search import Found

# The tolerance of the members if they were compared on a sample, whose noise is larger.
SAMPLED_TOL = 1e-4
CG_COST = 4000  # of all iterations for each stored value, in units of a third of a multiplication and addition


class Members(NamedTuple):
    """The members of a blend, fitted to all rows."""

    candidates: list[Candidate]
    # (n_members,): their shares, the spreads that divide their weights, and their held-out AUC.
    shares: np.ndarray
    spreads: np.ndarray
    auc: np.ndarray
    weights: np.ndarray  # (n_members, n_features): their weights
    center: np.ndarray  # (n_features,): the point half-way between the class means
    n_iter: int  # number of iterations of all solvers
    moments: ClassMoments | None  # the class moments of all rows, if they were needed
    first: Solution  # of the first member

    @property
    def is_blend(self) -> bool:
        """Whether there are several members."""
        return len(self.candidates) > 1

    @property
    def unit(self) -> float:
        """The score of the combined weights that stands for a held-out score of 1."""
        return 1.0 if self.is_blend else float(self.spreads[0])

    def combined(self) -> np.ndarray:
        """Return the weights of the blend; a single member's are exactly its own."""
        return (self.shares / self.spreads) @ self.weights if self.is_blend else self.weights[0]

    def table(self) -> dict[str, np.ndarray]:
        """Return the members as a dict of arrays, the largest share first."""
        order = np.argsort(-self.shares, kind="stable")
        names = "loss", "standardize", "alpha"
        fields = {name: np.array([getattr(candidate, name) for candidate in self.candidates]) for name in names}
        fields |= {"share": self.shares, "spread": self.spreads, "auc": self.auc, "coef": self.weights}
        return {name: values[order] for name, values in fields.items()}


class MemberSolver:
    """The solvers of the members on all rows. Results that several of them need are computed once.

    `moments` are the class moments of all rows (key None), or of rotated rows by their scaling.
    """

    def __init__(self, rows: Rows, found: Found, objective: Objective, tol: float) -> None:
        self.rows, self.found, self.tol, self.may_rotate = rows, found, tol, objective.solver == "auto"
        # On thin rows conjugate gradients are cheaper than to factor the matrix of their moments.
        sparse = self.may_rotate and rows.is_sparse
        thin = sparse and rows.n_features**3 > CG_COST * rows.n_rows * rows.row_length
        self.objective = objective._replace(solver="cg") if thin else objective
        self.moments: dict[bool | None, ClassMoments] = {}
        self.solved: dict[int, Solution] = {}

    def rotation(self, k: int) -> Rotation | None:
        """Return the rotation of the rows of a candidate, if it is solved in its coordinates."""
        return self.found.view(k).rotation if self.may_rotate else None

    def weights(self, k: int) -> np.ndarray:
        """Return the weights of X of a candidate."""
        rotation, solution = self.rotation(k), self.solution(k).weights
        return solution if rotation is None else rotation.weights(solution)

    def solution(self, k: int) -> Solution:
        """Return the solution of a candidate: weights of X, or of the coordinates of a rotation."""
        if k not in self.solved:
            problem = self.problem(k)
            if isinstance(problem, RowProblem) and problem.iterative:
                self.solve_together(k, problem)
            else:
                self.solved[k] = problem.solve(self.found.member(k), self.tol, self.start(k))
        return self.solved[k]

    def problem(self, k: int) -> Problem:
        """Return the problem of a candidate on all rows."""
        candidate, rotation = self.found.member(k), self.rotation(k)
        standardize = bool(candidate.standardize) and rotation is None
        objective = self.objective._replace(loss=str(candidate.loss), standardize=standardize)
        if rotation is not None and candidate.loss not in SQUARES:
            objective = objective._replace(solver="cg")  # coordinates are uncorrelated: a diagonal preconditioner
        rows: Rows = self.rows if rotation is None else rotation.rows
        key = None if rotation is None else self.found.view(k).standardize
        if objective.on(rows).solver == "moments" and key not in self.moments:
            self.moments[key] = rows.moments()
        return objective.problem(rows, self.moments.get(key))

    def solve_together(self, k: int, problem: RowProblem) -> None:
        """Solve a square loss for the alphas of all its members: conjugate gradients take no longer than for one."""
        member, members = self.found.member(k), [int(j) for j in np.flatnonzero(self.found.shares)]
        alike = [j for j in members if self.found.member(j)._replace(alpha=member.alpha) == member]
        path = problem.path(np.array([self.found.member(j).alpha for j in alike]), self.tol)
        for j, weights in zip(alike, path, strict=True):
            self.solved[j] = problem.solution(weights) if j == k else Solution(weights, 0)

    def start(self, k: int) -> np.ndarray | None:
        """Return the weights to start from: the mean of the fold models.

        The smooth AUC on all rows starts from the exact minimiser of the balanced logistic loss.
        """
        candidate, view = self.found.candidates[k], self.found.view(k)
        if candidate.loss == "smooth_auc" and not self.found.sampled:
            logistic = candidate._replace(loss="balanced_logistic")
            known = logistic in self.found.candidates
            return self.solution(self.found.candidates.index(logistic)).weights if known else None
        start = view.start(self.found.models[k])
        return view.weights(start) if self.rotation(k) is None else start


def score_spread(rows: InMemoryRows, w: np.ndarray) -> float:
    """Return the root of the mean variance of the scores in a class."""
    return float(np.sqrt(ScoreMoments.of(rows.targets, rows.scores(w)).variance.mean()))


def solve_members(rows: Rows, found: Found, objective: Objective, tol: float) -> Members:
    """Fit what was chosen to all rows, to the tolerance `tol`; a blend that was chosen on a sample to SAMPLED_TOL."""
    chosen = [int(k) for k in np.flatnonzero(found.shares)]
    enough = found.sampled and objective.loss == "auto"
    solver = MemberSolver(rows, found, objective, max(tol, SAMPLED_TOL) if enough else tol)
    weights = np.array([solver.weights(k) for k in chosen])
    known = solver.moments.get(None)
    center = next(iter(found.views.values())).center if known is None else known.mean.mean(axis=0)
    shares, auc = found.shares[chosen], found.aucs.mean(axis=0)[chosen]
    spreads = found.spreads[chosen]
    if found.alpha_factor < 1:  # with smaller alphas the scores are wider
        spreads = np.array([score_spread(found.sample, w) or 1.0 for w in weights])
    candidates = [found.member(k) for k in chosen]
    n_iter = sum(solution.n_iter for solution in solver.solved.values())
    return Members(candidates, shares, spreads, auc, weights, center, n_iter, known, solver.solution(chosen[0]))
