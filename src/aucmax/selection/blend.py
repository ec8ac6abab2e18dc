"""The default of AUCClassifier: a blend of candidates, chosen on held-out scores.

Candidates differ in loss, scaling and alpha. Cross-validation leaves the held-out scores of each. Taking the best one
throws the others away, and follows the noise of the choice. Here candidates are added greedily, with replacement, while
the held-out AUC rises (Caruana et al., 2004, Ensemble selection from libraries of models). A blend of linear models is
a linear model. ``docs/defaults.md`` has the figures behind every choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.memory import MemoryRows
from ..data.moments import ClassMoments, spread
from ..data.protocol import Round, Rows
from ..data.rotation import Rotation, rotate
from ..data.scores import ScoreHistogram
from ..data.threads import one_blas_thread
from ..solvers.candidate import Candidate
from ..solvers.problem import SQUARES, Objective
from ..solvers.square import penalty_scale
from .cross_validation import RISING, PathCV, Task
from .rounds import make_rounds

if TYPE_CHECKING:
    from .fold_training import FoldTraining
    from .held_out_scores import TestSets

POOL = ("squared", "pooled", "balanced_logistic", "smooth_auc")  # the losses; as they are, columns have the square ones
# The alphas of the candidates, as powers of ten of the mean eigenvalue of M. The largest are close to the limit, in
# which the weights are the difference of the class means.
SQUARE_POWERS = tuple(range(2, -6, -1))
LOGISTIC_POWERS = tuple(range(0, -5, -1))
LOGISTIC_CURVATURE = 0.125  # of the balanced logistic loss at 0, relative to the square loss
# Candidates are compared on at most so many rows of each class, or so many for each column; on fewer if the memory of a
# file leaves no room for them.
ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN = 2500, 10
MAX_ROUNDS = 2
N_BEST, N_STEPS = 12, 6  # of the greedy search: the best candidates that it chooses from, and its steps
# Columns as they are count only if they are better than standardised ones by this many standard errors.
HANDICAP = 1.0
N_BEYOND = 3  # powers that are tried beyond the grid, if the AUC is still rising there
# The path of the logistic loss ends after so many alphas that are worse than the best one, the last by so much.
PATIENCE, CLEARLY_WORSE = 2, 0.002
# With more columns, or more rows if there are fewer of these, there is one round of folds, and dense wide rows are
# standardised in all candidates.
MANY_COLUMNS = 256
# With fewer rows for each column, alphas below 10^-2 are tried only if the AUC is still rising there.
FEW_ROWS, LOWEST_POWER = 4, -2
# The smooth AUC is tried if there are at least so many rows for each column: it has no penalty to hold it back.
ENOUGH_ROWS = 10
FAR = 10.0  # a mean of so many standard deviations is far from zero
MAX_COLUMNS = 1024  # with more columns, or MANY_COLUMNS sparse ones, no matrix of their covariances is made
# With more than MAX_COLUMNS columns the pooled square loss is not tried, and the powers of alpha are these.
HIGHEST_OF_MANY, LOWEST_OF_MANY = 1, -1
# The tolerance of the members if they were compared on a sample, whose noise is larger.
SAMPLED_TOL = 1e-4
MAX_ROTATED = 2048  # rows that are rotated, if there are more columns than rows


class Blend(NamedTuple):
    """The candidates, and how they are blended.

    Attributes
    ----------
    path : PathCV
        All candidates with their AUC on each test set.
    shares : ndarray of shape (n_candidates,)
        The share of each candidate; most are 0, and they sum to 1.
    spreads : ndarray of shape (n_candidates,)
        The spread of the held-out scores of each candidate, by which its weights are divided before they are added.
    auc : float
        The held-out AUC of the blend.
    starts : dict of int to ndarray
        The mean of the fold models of each member, as weights of X.
    sampled : bool
        Whether the candidates were compared on a sample of the rows.
    views : dict of bool to View
        The rows, with standardised columns (True) and as they are (False).
    held_out : callable
        Returns the histogram of the held-out scores of the blend.
    """

    path: PathCV
    shares: np.ndarray
    spreads: np.ndarray
    auc: float
    starts: dict[int, np.ndarray]
    sampled: bool
    views: dict[bool, View]
    held_out: Callable[[], ScoreHistogram]


class View(NamedTuple):
    """A sample of rows as a matrix Z, with a penalty for its columns.

    Attributes
    ----------
    training : FoldTraining
        The training sets, with Z.
    level : float
        The mean eigenvalue of M, the Hessian of the square loss, for this penalty.
    scale : ndarray of shape (n_features,)
        The columns of X were divided by it.
    center : ndarray of shape (n_features,)
        The point half-way between the class means.
    ratio : ndarray of shape (r,) or None
        The penalty is on the weights of the columns of Z times `ratio`; None for those of Z itself.
    rotation : Rotation or None
        The rotation, if there are more columns than rows.
    """

    training: FoldTraining
    level: float
    scale: np.ndarray
    center: np.ndarray
    ratio: np.ndarray | None = None
    rotation: Rotation | None = None

    def weights(self, U: np.ndarray) -> np.ndarray:
        """Return the weights of X for weights of Z."""
        return U / self.scale if self.rotation is None else self.rotation.weights(U)

    def weights_of(self, solution: np.ndarray) -> np.ndarray:
        """Return the weights of X for those that a solver found: of X itself, or of the coordinates of a rotation."""
        return solution if self.rotation is None else self.rotation.weights(solution)


def is_wide(rows: Rows) -> bool:
    """Return whether the rows are better rotated: few rows with more columns."""
    return rows.n_rows < rows.n_features and rows.n_rows <= MAX_ROTATED


def draw_sample(rows: Rows, cv: Any) -> MemoryRows:
    """Return the rows that candidates are compared on, in memory: all of them if `cv` has splits of the user's own."""
    if not isinstance(cv, Integral | None):
        sample = rows if rows.in_memory else rows.sample(rows.n_rows)
        if not isinstance(sample, MemoryRows):
            raise ValueError(
                "A blend with splits of your own needs all rows in memory: use a number of folds as cv, a single loss "
                "such as loss='squared', or raise memory=."
            )
        return sample
    n_each = max(ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN * min(rows.n_features, MAX_COLUMNS))
    sample = rows.sample(n_each)
    while not isinstance(sample, MemoryRows):
        n_each //= 2
        sample = rows.sample(n_each)
    usable = sample.targets.usable
    return sample if usable.all() else sample.take(np.flatnonzero(usable))


def view_rows(sample: MemoryRows, rounds: Sequence[Round], scalings: Sequence[bool]) -> dict[bool, View]:
    """Return the sample with standardised columns (True) and as they are (False), where these are wanted."""
    from .fold_training import FoldTraining

    means, variances = sample.column_statistics()
    share, gap = sample.totals / sample.totals.sum(), means[1] - means[0]
    center, middle = share @ means, means.mean(axis=0)
    std = spread(share @ variances + share.prod() * gap**2, center)
    scales = {standardize: penalty_scale(std, standardize) for standardize in scalings}
    traces = {name: float(np.sum((variances.sum(axis=0) + gap**2) / scale**2)) for name, scale in scales.items()}
    if is_wide(sample):
        views = {}
        for name, scale in scales.items():
            rotation = rotate(sample, scale, center)
            rank = rotation.rows.n_features
            Z = rotation.rows.matrix(np.ones(rank))
            training = FoldTraining(Z, sample.targets, rounds, rotation.variances)
            views[name] = View(training, traces[name] / rank or 1.0, scale, middle, None, rotation)
        return views
    first, scale = next(iter(scales.items()))
    near = bool((np.abs(center) <= FAR * std).all())  # columns far from zero must be centred, and so dense
    many = sample.n_features > (MANY_COLUMNS if sample.is_sparse and near else MAX_COLUMNS)
    Z = sample.matrix(scale, None if many and sample.is_sparse else center)
    training = FoldTraining(Z, sample.targets, rounds, (std / scale) ** 2 if many else None)
    n_varying = max(int(np.count_nonzero(std)), 1)
    levels = {name: trace / n_varying or 1.0 for name, trace in traces.items()}
    views = {first: View(training, levels[first], scale, middle)}
    for name in scalings[1:]:
        ratio = np.divide(scale, scales[name], out=np.zeros_like(scale), where=np.isfinite(scale))
        views[name] = View(training, levels[name], scale, middle, ratio)
    return views


def choose_blend(
    rows: Rows,
    standardize: bool | None,
    cv: Any,
    alphas: np.ndarray | None,
    blended: bool = True,
    begin: Callable[[int], Task] | None = None,
) -> Blend:
    """Cross-validate the pool of candidates and blend the best of them.

    Parameters
    ----------
    rows : Rows
        All rows.
    standardize : bool or None
        The scaling of all candidates; None tries both.
    cv : int, cross-validation generator, iterable or None
        See `make_rounds`.
    alphas : ndarray of shape (n_alphas,) or None
        The alphas of all candidates; None for the default ones.
    blended : bool, default=True
        Whether to blend candidates, or to take the best one.
    begin : callable, default=None
        Called with the number of steps. Returns a function that makes the context manager of each step from its name.

    Returns
    -------
    blend : Blend
        The candidates and their shares.
    """
    from .held_out_scores import TestSets

    sample = draw_sample(rows, cv)
    order = min(sample.n_rows, sample.n_features)
    rounds = make_rounds(cv, sample, MAX_ROUNDS if order <= MANY_COLUMNS else 1)
    dense_and_wide = order > MANY_COLUMNS and is_wide(sample) and not sample.is_sparse
    scalings: tuple[bool, ...] = (True,) if dense_and_wide else (True, False)
    scalings = scalings if standardize is None else (standardize,)
    task: Task = (lambda name: nullcontext()) if begin is None else begin(len(scalings) + 1)
    tests = TestSets(sample.targets, rounds)
    candidates: list[Candidate] = []
    scores, spreads, models, aucs = [], [], [], []
    with one_blas_thread():
        views = view_rows(sample, rounds, scalings)
        for scaling in scalings:
            with task("candidates"):
                for family in train(views[scaling], tests, alphas, scaling or len(scalings) == 1):
                    candidates += [candidate._replace(standardize=scaling) for candidate in family.candidates]
                    scores.append(family.scores)
                    spreads.append(family.spreads)
                    aucs.append(family.auc)
                    models.append(family.models.mean(axis=0))
        with task("blend"):
            path = PathCV(candidates, np.concatenate(aucs, axis=1))
            held, divisors = np.concatenate(scores), np.concatenate(spreads)
            chosen = admitted(path, len(rounds))
            best = chosen[np.argsort(-path.auc.mean(axis=0)[chosen], kind="stable")][:N_BEST]
            found_shares, auc = tests.greedy(np.ascontiguousarray(held[best]), N_STEPS if blended else 0)
    shares = np.zeros(len(candidates))
    shares[best] = found_shares
    flat = [(views[bool(c.standardize)], u) for c, u in zip(candidates, (u for U in models for u in U), strict=True)]
    starts = {int(k): flat[k][0].weights(flat[k][1]) for k in np.flatnonzero(shares)}

    def histogram() -> ScoreHistogram:
        blended = shares @ held
        if len(starts) == 1:  # the weights of a single member are not divided by its spread
            blended *= divisors[next(iter(starts))]
        totals, times = np.zeros(sample.n_rows), np.zeros(sample.n_rows)
        for members, (start, _, stop) in zip(tests.rows, tests.edges, strict=True):
            totals[members] += blended[start:stop]
            times[members] += 1
        with np.errstate(invalid="ignore"):
            found = ScoreHistogram.of(sample, sample.label(totals / times))
        return found if sample is rows else found.with_totals(rows.totals)

    return Blend(path, shares, divisors, auc, starts, sample.counts.sum() < rows.counts.sum(), views, histogram)


class Members(NamedTuple):
    """The members of a blend, fitted to all rows.

    Attributes
    ----------
    candidates : list of Candidate
        The members.
    shares, spreads, auc : ndarray of shape (n_members,)
        Their shares, the spreads that divide their weights, and their held-out AUC.
    weights : ndarray of shape (n_members, n_features)
        Their weights.
    center : ndarray of shape (n_features,)
        The point half-way between the class means.
    n_iter : int
        Number of iterations of all solvers.
    moments : ClassMoments or None
        The class moments of all rows, if they were needed.
    """

    candidates: list[Candidate]
    shares: np.ndarray
    spreads: np.ndarray
    auc: np.ndarray
    weights: np.ndarray
    center: np.ndarray
    n_iter: int
    moments: ClassMoments | None

    def combined(self) -> np.ndarray:
        """Return the weights of the blend; those of a single member are exactly its own."""
        if len(self.candidates) == 1:
            return self.weights[0]
        return (self.shares / self.spreads) @ self.weights

    def table(self) -> dict[str, np.ndarray]:
        """Return the members as a dict of arrays, the largest share first."""
        order = np.argsort(-self.shares, kind="stable")
        names = "loss", "standardize", "alpha"
        fields = {name: np.array([getattr(candidate, name) for candidate in self.candidates]) for name in names}
        fields |= {"share": self.shares, "spread": self.spreads, "auc": self.auc, "coef": self.weights}
        return {name: values[order] for name, values in fields.items()}


def solve_members(rows: Rows, blend: Blend, objective: Objective, tol: float) -> Members:
    """Fit the members of a blend to all rows, each to the tolerance `tol`, or SAMPLED_TOL if that is enough."""
    tol = max(tol, SAMPLED_TOL) if blend.sampled else tol
    chosen = np.flatnonzero(blend.shares)
    candidates = [blend.path.candidates[k] for k in chosen]
    moments: dict[bool | None, ClassMoments] = {}
    weights, n_iter = [], 0
    for k, candidate in zip(chosen, candidates, strict=True):
        view = blend.views[bool(candidate.standardize)]
        ours = objective._replace(loss=str(candidate.loss), standardize=bool(candidate.standardize))
        target: Rows = rows
        start: np.ndarray | None = blend.starts[int(k)]
        if view.rotation is not None:
            target, start, ours = view.rotation.rows, None, ours._replace(standardize=False)
        elif candidate.loss == "smooth_auc" and not blend.sampled:
            start = None  # from the balanced logistic loss, as without a blend
        key = None if view.rotation is None else bool(candidate.standardize)
        if ours.on(target).solver == "moments" and key not in moments:
            moments[key] = target.moments()
        solution = ours.problem(target, moments.get(key)).solve(candidate, tol, start)
        weights.append(view.weights_of(solution.weights))
        n_iter += solution.n_iter
    known = moments.get(None)
    center = view.center if known is None else known.mean.mean(axis=0)
    shares, spreads, auc = blend.shares[chosen], blend.spreads[chosen], blend.path.auc.mean(axis=0)[chosen]
    return Members(candidates, shares, spreads, auc, np.array(weights), center, n_iter, known)


class Family(NamedTuple):
    """The candidates of one loss, with A alphas, and their models of all S splits.

    Attributes
    ----------
    candidates : list of Candidate
        The candidates.
    models : ndarray of shape (S, A, r)
        Their models.
    scores : ndarray of shape (A, N)
        Their held-out scores.
    spreads : ndarray of shape (A,)
        The spreads that divided the scores.
    auc : ndarray of shape (S, A)
        Their AUC on each test set.
    """

    candidates: list[Candidate]
    models: np.ndarray
    scores: np.ndarray
    spreads: np.ndarray
    auc: np.ndarray

    @classmethod
    def of(cls, loss: str, alphas: np.ndarray, models: np.ndarray, Z: Any, tests: TestSets) -> Family:
        """Evaluate models on the test sets."""
        scores, spreads = tests.scores(Z, models)
        return cls([Candidate(float(a), loss=loss) for a in alphas], models, scores, spreads, tests.auc(scores))

    def joined(self, other: Family) -> Family:
        """Return both families together."""
        fields = zip(self[1:], other[1:], (1, 0, 0, 1), strict=True)
        return Family(self.candidates + other.candidates, *(np.concatenate([a, b], axis=k) for a, b, k in fields))


def train(view: View, tests: TestSets, alphas: np.ndarray | None, everything: bool) -> list[Family]:
    """Return the candidates of one scaling; with `everything` those of the whole pool, else of the square losses."""
    training = view.training
    n, r = training.Z.shape
    few, many = n < FEW_ROWS * r, r > MAX_COLUMNS
    lowest = LOWEST_OF_MANY if many else LOWEST_POWER if few else SQUARE_POWERS[-1]
    highest = HIGHEST_OF_MANY if many else SQUARE_POWERS[0]

    def grid(powers: Sequence[float], level: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the alphas of the grid, and those beyond it, for a path whose AUC still rises where the grid ends."""
        if alphas is not None:
            return alphas, np.zeros(0)
        beyond = lowest - 1.0 - np.arange(0 if many else N_BEYOND)
        inside = np.array([power for power in powers if lowest <= power <= highest], dtype=np.float64)
        return level * 10.0**inside, level * 10.0**beyond

    def family(loss: str, its_alphas: np.ndarray, models: np.ndarray) -> Family:
        return Family.of(loss, its_alphas, models, training.Z, tests)

    found = []
    inside, beyond = grid(SQUARE_POWERS, view.level)
    for loss in (loss for loss in (("squared",) if many else SQUARES) if loss in POOL):
        path = family(loss, inside, training.square(inside, loss == "pooled", view.ratio))
        if len(beyond) and is_rising(path.auc.mean(axis=0)):
            path = path.joined(family(loss, beyond, training.square(beyond, loss == "pooled", view.ratio)))
        found.append(path)
    if everything and "balanced_logistic" in POOL:
        inside, beyond = grid(LOGISTIC_POWERS, LOGISTIC_CURVATURE * view.level)
        both = np.append(inside, beyond)
        aucs: list[float] = []
        for k, U in enumerate(training.logistic(both)):
            one = family("balanced_logistic", both[k : k + 1], U[:, None])
            path = one if k == 0 else path.joined(one)
            aucs.append(float(one.auc.mean()))
            best = int(np.argmax(aucs))
            ended = k + 1 >= len(inside) and not is_rising(aucs)
            if alphas is None and (ended or (k - best >= PATIENCE and aucs[k] < aucs[best] - CLEARLY_WORSE)):
                break  # smaller alphas take longest
        found.append(path)
        if n >= ENOUGH_ROWS * r and "smooth_auc" in POOL:
            descended = training.smooth_auc(path.models[:, best], float(both[best]))
            found.append(family("smooth_auc", both[best : best + 1], descended[:, None]))
    return found


def is_rising(aucs: Sequence[float] | np.ndarray) -> bool:
    """Return whether the last AUC of a path is the highest by far."""
    return len(aucs) > 1 and aucs[-1] > max(aucs[:-1]) + RISING


def admitted(path: PathCV, n_rounds: int) -> np.ndarray:
    """Return the candidates to blend: those of columns as they are only if the best of them is clearly better.

    With few rows the noise of the choice costs more than the other scaling gains, except where it gains much.
    """
    standardized = np.array([candidate.standardize for candidate in path.candidates])
    if standardized.all() or not standardized.any():
        return np.arange(len(standardized))
    mean = path.auc.mean(axis=0)
    ours, other = (int(np.argmax(np.where(side, mean, -1.0))) for side in (standardized, ~standardized))
    gains = path.auc[:, other] - path.auc[:, ours]
    error = gains.std(ddof=1) / np.sqrt(len(gains) / n_rounds) if len(gains) > 1 else np.inf
    return np.arange(len(mean)) if gains.mean() > HANDICAP * error else np.flatnonzero(standardized)
