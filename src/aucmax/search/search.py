"""The one search behind AUCClassifier, whatever the loss.

1. Draw a sample of the rows into memory (`draw_sample`) and make rounds of folds of it (`rounds.py`).
2. Train the candidates of the pool on all training sets at once (`pool.py`, `training.py`).
3. Score them on the test sets (`held_out.py`).
4. Choose the best candidate or a blend, and judge this choice (`choice.py`).
5. Fit what was chosen to all rows (`solve_members`).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._text import ArgumentError
from ..rows.machine import one_blas_thread
from ..rows.memory import Rotation
from ..rows.protocol import InMemoryRows, Rows, is_in_memory
from ..rows.summaries.moments import ClassMoments
from ..rows.summaries.scores import ScoreHistogram, ScoreMoments
from ..rows.validate import one_of
from ..solvers.candidate import Candidate, Solution
from ..solvers.problem import SQUARES, Objective, Problem
from ..solvers.square import RowProblem
from .choice import Choices, HeldOutAUC, choose_scaling, interval_of, signal_share
from .held_out import TestSets
from .pool import (
    MANY_COLUMNS,
    MAX_COLUMNS,
    LossPath,
    ScaledSample,
    Task,
    Trainer,
    default_paths,
    is_rising,
    is_wide,
    named_path,
    scale_sample,
)
from .rounds import MAX_ROUNDS, make_rounds

# Candidates are compared on at most so many rows of each class, or so many for each column; on fewer if the memory of a
# file leaves no room for them.
ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN = 2500, 10
FEWEST_OF_A_CLASS = 50  # with fewer, the choice is one by chance
# The tolerance of the members if they were compared on a sample, whose noise is larger.
SAMPLED_TOL = 1e-4
CG_COST = 4000  # of all iterations for each stored value, in units of a third of a multiplication and addition


class Progress(Protocol):
    """What a search reports to: the number of its tasks, then each of them."""

    def begin(self, n_tasks: int) -> None: ...  # noqa: D102
    def task(self, name: str) -> Any: ...  # noqa: D102


class Found(NamedTuple):
    """The result of a search: the candidates, and what was chosen."""

    candidates: list[Candidate]
    aucs: np.ndarray  # (n_splits, n_candidates): their AUC on each test set
    shares: np.ndarray  # (n_candidates,): the share of each candidate; most are 0, and they sum to 1
    # (n_candidates,): the spread of the held-out scores of each candidate, by which its weights are divided before they
    # are added.
    spreads: np.ndarray
    auc: HeldOutAUC  # of the choice, on held-out rows that had no part in it
    models: list[np.ndarray]  # the mean of the fold models of each candidate
    sampled: bool  # whether the candidates were compared on a sample of the rows
    # The alphas of the members are the candidates' times this. It is below 1 if the alphas are the default ones and
    # the candidates were compared on a sample.
    alpha_factor: float
    views: dict[bool, ScaledSample]  # the rows, with standardised columns (True) and unscaled ones (False)
    sample: InMemoryRows  # the rows that the candidates were compared on
    # Returns the histogram of the held-out scores of what was chosen, of unit spread for each member.
    held_out: Callable[[], ScoreHistogram]

    def view(self, k: int) -> ScaledSample:
        """Return the rows of a candidate."""
        return self.views[bool(self.candidates[k].standardize)]

    def member(self, k: int) -> Candidate:
        """Return a candidate with its alpha for all rows."""
        candidate = self.candidates[k]
        return candidate._replace(alpha=self.alpha_factor * candidate.alpha)


def search(
    rows: Rows,
    objective: Objective,
    standardize: bool | None,
    cv: Any,
    alphas: np.ndarray | None,
    blended: bool,
    progress: Progress | None = None,
) -> Found:
    """Compare the candidates of a pool, and choose a blend, or the best one if not `blended`.

    The loss "auto" of `objective` has the pool of the default, any other loss a pool of its own. `standardize` is the
    scaling of all candidates; None tries both in the default, and standardises otherwise.
    """
    sample = draw_sample(rows, cv)
    order = min(sample.n_rows, sample.n_features)
    rounds = make_rounds(cv, sample, 1 if order > MANY_COLUMNS else MAX_ROUNDS)
    scalings: tuple[bool, ...] = (True,) if standardize is None else (standardize,)
    dense_and_wide = order > MANY_COLUMNS and is_wide(sample) and not sample.is_sparse
    if objective.loss == "auto" and standardize is None and not dense_and_wide:
        scalings = (True, False)
    task: Task = lambda name: nullcontext()  # noqa: E731
    if progress is not None:
        progress.begin((len(scalings) + 1 if objective.loss == "auto" else 1) + 2)
        task = progress.task
    tests = TestSets(sample.targets, rounds)
    with one_blas_thread():
        views = scale_sample(sample, rounds, scalings, may_rotate=not objective.is_sparse)
        trainers = {scaling: Trainer(views[scaling], tests, alphas) for scaling in scalings}
        if objective.loss == "auto":
            equal = np.full(len(tests.rows), 1 / len(tests.rows))
            choose = functools.partial(choose_scaling, judge=equal, n_rounds=len(rounds), by_default=alphas is None)
            paths = list(default_paths(trainers, choose, task))
        else:
            with task("candidates"):
                paths = [named_path(trainers[scalings[0]], objective, sample)]
        with task("choice"):
            choices = Choices(paths, tests, rounds, alphas is None)
            shares = choices.choose(blended)[0]
            auc = judge(choices, shares, blended, objective, views)
    best = int(np.argmax(np.where(shares > 0, choices.auc.mean(axis=0), -1)))
    if alphas is None:
        warn_if_rising(paths, choices.candidates[best])

    def histogram() -> ScoreHistogram:
        mean = tests.by_row(shares @ choices.scores, sample.n_rows)
        return ScoreHistogram.of(sample, mean).with_totals(rows.totals)  # also of rows that no split holds out

    sampled = bool(sample.counts.sum() < rows.counts.sum())
    return Found(
        choices.candidates,
        choices.auc,
        shares,
        np.concatenate([path.spreads for path in paths]),
        auc,
        [model for path in paths for model in path.models.mean(axis=0)],
        sampled,
        alpha_factor(rows, sample, objective) if sampled and alphas is None else 1.0,
        views,
        sample,
        histogram,
    )


def judge(
    choices: Choices, shares: np.ndarray, blended: bool, objective: Objective, views: dict[bool, ScaledSample]
) -> HeldOutAUC:
    """Return the AUC on held-out rows of a choice with these shares, and its confidence interval."""
    tests, scores, first = choices.tests, np.zeros((len(choices.auc), len(choices.tests.groups)), dtype=np.float32), 0
    for path in choices.paths:
        ours = shares[first : first + len(path.candidates)] / path.spreads
        first += len(path.candidates)
        if ours.any():
            models = np.einsum("a,sar->sr", ours, path.models)
            scores += views[bool(path.candidates[0].standardize)].training.rows.scores(models)
    trained = float(next(iter(views.values())).training.rows.training_aucs(scores[:, None]).mean())
    # An AUC may be above one half by chance, so the signal counts from two standard errors below.
    chosen = tests.auc((shares @ choices.scores)[None])[:, 0]
    error = float(chosen.std(ddof=1)) * np.sqrt(len(choices.blocks) / len(chosen)) if len(chosen) > 1 else 0.0
    every, aucs = choices.honest(blended, signal_share(float(chosen.mean()) - 2 * error, trained))
    known = np.flatnonzero(np.isfinite(aucs)).tolist()
    if not known:
        return HeldOutAUC(np.nan, np.nan, np.nan)
    moves, freedom = tests.influences(tests.blend(choices.scores, every), known)
    auc, error = float(aucs[known].mean()), float(np.sqrt(moves @ moves))
    return interval_of(auc, moves, signal_share(auc - 2 * error, trained), freedom, 3 if objective.is_sparse else 2)


def alpha_factor(rows: Rows, sample: Rows, objective: Objective) -> float:
    """Return by how much the best alpha for all rows is smaller than for the sample.

    The best L2 penalty falls as one over the number of rows, and the best L1 penalty as one over its root.
    """
    factor = float(np.sum(1 / rows.totals) / np.sum(1 / sample.totals))
    return factor if objective.penalty == "l2" else float(np.sqrt(factor))


def sample_in_memory(rows: Rows, n_each: int) -> InMemoryRows:
    """Return at most `n_each` rows of each class in memory, fewer if these do not fit."""
    sample = rows.sample(n_each)
    while not is_in_memory(sample):
        n_each //= 2
        if n_each < FEWEST_OF_A_CLASS:
            raise ArgumentError(
                f"Not enough memory to compare candidates: at least {FEWEST_OF_A_CLASS} rows of each class must fit: "
                f"{one_of('give {loss=} and {alpha=}', rows.more_memory)}."
            )
        sample = rows.sample(n_each)
    return sample


def draw_sample(rows: Rows, cv: Any, n_each: int | None = None) -> InMemoryRows:
    """Return the rows that candidates are compared on, in memory: all of them if `cv` has splits of the user's own.

    By default there are enough rows of each class to compare linear models.
    """
    if not isinstance(cv, Integral | None):
        sample = rows if rows.in_memory else rows.sample(rows.n_rows)
        if not is_in_memory(sample):
            ways = one_of("use a number of folds as cv", rows.more_memory)
            raise ArgumentError(f"A search with splits of your own needs all rows in memory: {ways}.")
        return sample
    if n_each is None:
        n_each = max(ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN * min(rows.n_features, MAX_COLUMNS))
    sample = sample_in_memory(rows, n_each)
    usable = sample.targets.usable
    return sample if usable.all() else sample.take(np.flatnonzero(usable))


def warn_if_rising(paths: Sequence[LossPath], best: Candidate) -> None:
    """Warn if the best alpha is the last one of a path that still rises.

    The alphas of the smooth AUC are too far apart to tell.
    """
    for path in paths:
        last = path.candidates[-1]
        at_the_end = (last.alpha, last.standardize) == (best.alpha, best.standardize)
        if last.loss != "smooth_auc" and at_the_end and is_rising(path.mean):
            warnings.warn(
                f"The cross-validated AUC is highest for the smallest alpha that was tried, {best.alpha:.2g}, and "
                "still rising there: try smaller ones with alphas=.",
                UserWarning,
                stacklevel=5,
            )
            return


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
        start = self.found.models[k] / view.scale
        return start if view.rotation is None or self.may_rotate else view.rotation.weights(start)


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
        sample = found.sample
        spreads = np.array([ScoreMoments.of(sample.targets, sample.scores(w)).spread or 1.0 for w in weights])
    candidates = [found.member(k) for k in chosen]
    n_iter = sum(solution.n_iter for solution in solver.solved.values())
    return Members(candidates, shares, spreads, auc, weights, center, n_iter, known, solver.solution(chosen[0]))
