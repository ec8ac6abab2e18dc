"""The members of a blend, fitted to all rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows.protocol import InMemoryRows, Rows
from ..rows.summaries.moments import ClassMoments
from ..rows.summaries.scores import ScoreMoments
from ..solvers.candidate import Candidate
from ..solvers.problem import SQUARES, Objective, Problem
from ..solvers.square import RowProblem
from .blend import Blend

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

    def __init__(self, rows: Rows, blend: Blend, objective: Objective, tol: float) -> None:
        solver = "cg" if is_thin(rows) else objective.solver
        self.rows, self.blend, self.objective, self.tol = rows, blend, objective._replace(solver=solver), tol
        self.moments: dict[bool | None, ClassMoments] = {}
        self.solved: dict[int, np.ndarray] = {}
        self.n_iter = 0

    def weights(self, k: int) -> np.ndarray:
        """Return the weights of X of a candidate."""
        return self.blend.view(k).weights(self.solution(k))

    def solution(self, k: int) -> np.ndarray:
        """Return the solution of a candidate: weights of X, or of the coordinates of a rotation."""
        if k not in self.solved:
            problem = self.problem(k)
            if isinstance(problem, RowProblem) and problem.iterative:
                self.solve_together(k, problem)
            else:
                found = problem.solve(self.blend.member(k), self.tol, self.start(k))
                self.solved[k] = found.weights
                self.n_iter += found.n_iter
        return self.solved[k]

    def problem(self, k: int) -> Problem:
        """Return the problem of a candidate on all rows."""
        candidate, view = self.blend.member(k), self.blend.view(k)
        standardize = bool(candidate.standardize) and view.rotation is None
        objective = self.objective._replace(loss=str(candidate.loss), standardize=standardize)
        if view.rotation is not None and candidate.loss not in SQUARES:
            objective = objective._replace(solver="cg")  # coordinates are uncorrelated: a diagonal preconditioner
        rows: Rows = self.rows if view.rotation is None else view.rotation.rows
        key = None if view.rotation is None else view.standardize
        if objective.on(rows).solver == "moments" and key not in self.moments:
            self.moments[key] = rows.moments()
        return objective.problem(rows, self.moments.get(key))

    def solve_together(self, k: int, problem: RowProblem) -> None:
        """Solve a square loss for the alphas of all its members: conjugate gradients take no longer than for one."""
        loss, standardize = self.blend.member(k).loss, self.blend.member(k).standardize
        alike = [
            j for j, share in enumerate(self.blend.shares)
            if share > 0 and (self.blend.member(j).loss, self.blend.member(j).standardize) == (loss, standardize)
        ]  # fmt: skip
        path = problem.path(np.array([self.blend.member(j).alpha for j in alike]), self.tol)
        self.solved |= dict(zip(alike, path, strict=True))
        self.n_iter += problem.n_iter

    def start(self, k: int) -> np.ndarray:
        """Return the weights to start from: the mean of the fold models.

        The smooth AUC on all rows starts from the exact minimiser of the balanced logistic loss, as without a blend.
        """
        candidate = self.blend.path.candidates[k]
        if candidate.loss == "smooth_auc" and not self.blend.sampled:
            return self.solution(self.blend.path.candidates.index(candidate._replace(loss="balanced_logistic")))
        return self.blend.view(k).start(self.blend.models[k])


def is_thin(rows: Rows) -> bool:
    """Return whether conjugate gradients on sparse rows are cheaper than to factor the matrix of their moments."""
    return rows.is_sparse and rows.n_features**3 > CG_COST * rows.n_rows * rows.row_length


def score_spread(rows: InMemoryRows, w: np.ndarray) -> float:
    """Return the root of the mean variance of the scores in a class."""
    return float(np.sqrt(ScoreMoments.of(rows.targets, rows.scores(w)).variance.mean()))


def solve_members(rows: Rows, blend: Blend, objective: Objective, tol: float) -> Members:
    """Fit the members of a blend to all rows, each to the tolerance `tol`, or SAMPLED_TOL if that is enough."""
    chosen = np.flatnonzero(blend.shares)
    solver = MemberSolver(rows, blend, objective, max(tol, SAMPLED_TOL) if blend.sampled else tol)
    weights = np.array([solver.weights(int(k)) for k in chosen])
    known = solver.moments.get(None)
    center = next(iter(blend.views.values())).center if known is None else known.mean.mean(axis=0)
    shares, auc = blend.shares[chosen], blend.path.auc.mean(axis=0)[chosen]
    spreads = blend.spreads[chosen]
    if blend.alpha_factor < 1:  # with smaller alphas the scores are wider
        spreads = np.array([score_spread(blend.sample, w) or 1.0 for w in weights])
    candidates = [blend.member(int(k)) for k in chosen]
    return Members(candidates, shares, spreads, auc, weights, center, solver.n_iter, known)
