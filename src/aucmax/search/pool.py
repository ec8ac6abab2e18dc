"""The pool of a search: the candidates, trained on all folds, with their held-out scores.

Candidates differ in loss, scaling, alpha and the number of nonzero weights. The default has four losses and two
scalings. A named loss is a pool with one loss; so are the L1 penalties and best subsets, which the square losses have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from ..rows.machine import SEARCH_VECTORS, check_columns
from ..rows.memory import Rotation, rotate
from ..rows.protocol import InMemoryRows, Rows
from ..rows.summaries.moments import pooled_std
from ..solvers.candidate import Candidate
from ..solvers.problem import SQUARES, Objective
from ..solvers.square import penalty_scale
from .fold_losses import CURVATURES
from .held_out import TestSets
from .rounds import Round
from .training import FoldRows, FoldTraining

POOL = (*SQUARES, "balanced_logistic", "smooth_auc")  # the losses of the default
# The alphas, as powers of ten of the mean eigenvalue of M times the curvature of the loss at 0. The largest are close
# to the limit, in which the weights are the difference of the class means. A pool with square losses has these limits
# already, so the other losses begin at 10^0 there.
POWERS = tuple(range(2, -6, -1))
HIGHEST_BESIDE_SQUARES, LOWEST_OF_OTHERS = 0, -4
SMOOTH_POWERS = (1, -1, -3)  # of the smooth AUC by name: with more, a fit would take longer than the default's
# Powers that are tried beyond the grid as long as the AUC is still rising; so many at once for the square losses.
N_BEYOND, STRIDE = 9, 3
RISING = 1e-3  # a rise of the AUC at the end of a grid that is worth going on
# In the default, a path of iterations ends after so many alphas that are worse than the best one, the last by so much.
ENOUGH_WORSE, CLEARLY_WORSE = 2, 0.002
MANY_COLUMNS = 256  # with more sparse columns, no matrix of their covariances is made
MAX_COLUMNS = 1024  # nor with more dense ones
# With fewer rows for each column, alphas below 10^-2 are tried only if the AUC is still rising there.
FEW_ROWS, LOWEST_POWER = 4, -2
# With more than MAX_COLUMNS columns the default has no pooled square loss, and the powers of alpha are these.
HIGHEST_OF_MANY, LOWEST_OF_MANY = 1, -1
# The default tries the smooth AUC with at least so many rows for each column: it has no penalty to hold it back.
ENOUGH_ROWS = 10
OFF_CENTER = 10.0  # a mean of so many standard deviations is far from zero
MAX_ROTATED = 2048  # rows that are rotated, if there are more columns than rows
# The squares of the slopes of the sigmoid are powers of ten too, so that alphas of one slope are alphas of another.
N_SLOPES = 3

Task = Callable[[str], AbstractContextManager[Any]]


class ScaledSample(NamedTuple):
    """A sample of rows as a matrix Z, with a penalty for its columns."""

    standardize: bool  # whether the penalty is on the weights of standardised columns
    training: FoldTraining  # the training sets, with Z
    level: float  # the mean eigenvalue of M, the Hessian of the square loss, for this penalty
    scale: np.ndarray  # (r,): the columns of X, or the coordinates of the rotation, were divided by it
    center: np.ndarray  # (n_features,): the point half-way between the class means
    rotation: Rotation | None = None  # the rotation, if there are more columns than rows


def is_wide(rows: Rows) -> bool:
    """Return whether the rows are better rotated: few rows with more columns."""
    return rows.n_rows < rows.n_features and rows.n_rows <= MAX_ROTATED


def scale_sample(
    sample: InMemoryRows, rounds: Sequence[Round], scalings: Sequence[bool], may_rotate: bool = True
) -> dict[bool, ScaledSample]:
    """Return the sample with standardised columns (True) and unscaled ones (False), as asked for."""
    means, variances = sample.column_statistics()
    share, gap = sample.totals / sample.totals.sum(), means[1] - means[0]
    center, middle = share @ means, means.mean(axis=0)
    std = pooled_std(sample.totals, means, variances)
    scales = {standardize: penalty_scale(std, standardize) for standardize in scalings}
    traces = {name: float(np.sum((variances.sum(axis=0) + gap**2) / scale**2)) for name, scale in scales.items()}
    if may_rotate and is_wide(sample):
        views = {}
        for name, scale in scales.items():
            rotation = rotate(sample, scale, center)
            rank, unit = rotation.rows.n_features, float(np.sqrt(rotation.variances.max(initial=0.0))) or 1.0
            units = np.full(rank, unit)
            rows = FoldRows(rotation.rows.matrix(units), sample.targets, rounds, rotation.variances / unit**2)
            level = traces[name] / rank or 1.0
            views[name] = ScaledSample(name, FoldTraining(rows, units), level, units, middle, rotation)
        return views
    check_columns(sample.n_features, SEARCH_VECTORS, "A search on", "give loss= and alpha=, or leave out columns")
    scale = penalty_scale(std, True)  # of Z, so that single precision is enough whatever the unit of X
    near = bool((np.abs(center) <= OFF_CENTER * std).all())  # columns far from zero must be centred, and so dense
    many = sample.n_features > (MANY_COLUMNS if sample.is_sparse and near else MAX_COLUMNS)
    Z = (sample.as_operator if many else sample.matrix)(scale, None if many and sample.is_sparse else center)
    rows = FoldRows(Z, sample.targets, rounds, (std / scale) ** 2 if many else None)
    n_varying = max(int(np.count_nonzero(std)), 1)
    views = {}
    for name, its_scale in scales.items():
        ratio = np.divide(scale, its_scale, out=np.zeros_like(scale), where=np.isfinite(scale))
        training = FoldTraining(rows, None if name else ratio)
        views[name] = ScaledSample(name, training, traces[name] / n_varying or 1.0, scale, middle)
    return views


class LossPath(NamedTuple):
    """The candidates of one loss and scaling, and their models of all S splits."""

    candidates: list[Candidate]
    models: np.ndarray  # (S, A, r): their models
    scores: np.ndarray  # (A, N): their held-out scores
    spreads: np.ndarray  # (A,): the spreads that divided the scores
    auc: np.ndarray  # (S, A): their AUC on each test set

    def joined(self, other: LossPath) -> LossPath:
        """Return both paths together."""
        fields = zip(self[1:], other[1:], (1, 0, 0, 1), strict=True)
        return LossPath(self.candidates + other.candidates, *(np.concatenate([a, b], axis=k) for a, b, k in fields))

    @property
    def mean(self) -> np.ndarray:
        """The mean AUC of each candidate."""
        return self.auc.mean(axis=0)


def is_rising(aucs: Sequence[float] | np.ndarray) -> bool:
    """Return whether the last AUC of a path is the highest by far."""
    return len(aucs) > 1 and aucs[-1] > max(aucs[:-1]) + RISING


class Trainer:
    """Trains the candidates of a pool for one scaling; given alphas are the grid, and there are none beyond it."""

    def __init__(self, view: ScaledSample, tests: TestSets, alphas: np.ndarray | None) -> None:
        self.view, self.tests, self.alphas, self.training = view, tests, alphas, view.training
        self.n, self.r = view.training.rows.Z.shape

    def path(self, candidates: list[Candidate], models: np.ndarray) -> LossPath:
        """Evaluate models (S, A, r) on the test sets."""
        rows = self.training.rows
        scores, spreads = self.tests.scores(rows.Z, models, rows.means.mean(axis=1))
        return LossPath(candidates, models, scores, spreads, self.tests.auc(scores))

    def candidate(self, loss: str, alpha: float) -> Candidate:
        """Return a candidate of this scaling."""
        return Candidate(float(alpha), loss=loss, standardize=self.view.standardize)

    def grid(self, powers: Sequence[float], level: float, extend: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the alphas of a grid, and with `extend` those beyond it, for an AUC that still rises at its end."""
        if self.alphas is not None:
            return self.alphas, np.zeros(0)
        few, many = self.n < FEW_ROWS * self.r, self.r > MAX_COLUMNS
        lowest = LOWEST_OF_MANY if many else LOWEST_POWER if few else POWERS[-1]
        highest = HIGHEST_OF_MANY if many else POWERS[0]
        beyond = lowest - 1.0 - np.arange(N_BEYOND if extend else 0)
        inside = np.array([power for power in powers if lowest <= power <= highest], dtype=np.float64)
        return level * 10.0**inside, level * 10.0**beyond

    def square(self, loss: str, extend: bool) -> LossPath:
        """Return the candidates of a square loss; with `extend`, beyond the grid if the AUC still rises there."""

        def trained(alphas: np.ndarray) -> LossPath:
            models = self.training.square(alphas, loss == "pooled")
            return self.path([self.candidate(loss, alpha) for alpha in alphas], models)

        inside, beyond = self.grid(POWERS, self.view.level, extend)
        path = trained(inside)
        for more in np.split(beyond, range(STRIDE, len(beyond), STRIDE)):
            if len(more) and is_rising(path.mean):
                path = path.joined(trained(more))
        return path

    def newton(self, loss: str, highest: float, patience: int | None = None) -> LossPath:
        """Return the candidates of a loss that needs iterations, largest alpha first: the smallest take longest.

        The path ends early after `patience` alphas that are worse than the best one.
        """
        level = CURVATURES[loss] * self.view.level
        powers = [power for power in POWERS if LOWEST_OF_OTHERS <= power <= highest]
        inside, beyond = self.grid(powers, level, True)
        both, tried = np.append(inside, beyond), []
        start = None if loss == "balanced_logistic" else self.training.square(both[:1] / CURVATURES[loss], False)[:, 0]
        for k, U in enumerate(self.training.newton_path(loss, both, start)):
            tried.append(self.path([self.candidate(loss, both[k])], U[:, None]))
            aucs = [float(one.auc.mean()) for one in tried]
            best = int(np.argmax(aucs))
            ended = k + 1 >= len(inside) and not is_rising(aucs)
            gave_up = patience is not None and k - best >= patience and aucs[k] < aucs[best] - CLEARLY_WORSE
            if self.alphas is None and (ended or gave_up):
                break
        return functools.reduce(LossPath.joined, tried)

    def smooth_auc(self, alphas: np.ndarray, starts: np.ndarray) -> LossPath:
        """Return the candidates of the smooth AUC, from the minimisers (S, A, r) of the balanced logistic loss."""
        models = [self.training.smooth_auc(starts[:, k], alpha) for k, alpha in enumerate(alphas)]
        return self.path([self.candidate("smooth_auc", alpha) for alpha in alphas], np.stack(models, axis=1))

    def sigmoid(self, logistic: LossPath) -> LossPath:
        """Return candidates of the sigmoid: for each alpha and training set the model of the highest AUC there.

        The models are the minimisers of sigmoids of N_SLOPES slopes, and of the logistic loss. A slope c with the
        penalty alpha has the minimiser of slope 1 with alpha / c^2, divided by c: one path has all of them.
        """
        alphas = np.array([candidate.alpha for candidate in logistic.candidates])
        with np.errstate(divide="ignore"):  # alpha may be 0
            powers = np.round(np.log10(alphas)[:, None] - np.arange(N_SLOPES), 9)
        ladder, places = np.unique(-powers, return_inverse=True)
        places = places.reshape(powers.shape)
        steep = np.stack(list(self.training.newton_path("sigmoid", 10.0**-ladder, logistic.models[:, 0])), axis=1)
        found, models = self.training_aucs(steep), logistic.models.copy()
        smooth = self.training_aucs(models)
        for k, place in enumerate(places):
            slope = np.argmax(found[:, place], axis=1)
            better = np.flatnonzero(found[np.arange(len(found)), place[slope]] > smooth[:, k])
            models[better, k] = steep[better, place[slope[better]]] / 10.0 ** (slope[better, None] / 2)
        return self.path([self.candidate("sigmoid", alpha) for alpha in alphas], models)

    def training_aucs(self, models: np.ndarray) -> np.ndarray:
        """Return the AUC of models (S, A, r) on their training sets, shape (S, A)."""
        rows = self.training.rows
        scores = rows.scores(models.reshape(-1, self.r)).reshape(*models.shape[:2], self.n)
        return rows.training_aucs(scores)

    def penalised(self, objective: Objective, sample: InMemoryRows) -> LossPath:
        """Return the candidates of a square loss with an L1 penalty or with few nonzero weights."""
        whole = objective.penalised(objective.square(sample))
        alphas = whole.default_alphas() if self.alphas is None else self.alphas
        candidates = [
            candidate._replace(loss=objective.loss, standardize=self.view.standardize)
            for candidate in whole.candidates(alphas)
        ]
        return self.path(candidates, self.training.penalised(objective, alphas, sample, self.view.scale))


def default_paths(trainers: dict[bool, Trainer], choose: Callable[..., bool], task: Task) -> Iterator[LossPath]:
    """Yield the paths of the default: square losses for each scaling, then the other losses for the chosen scaling."""
    squares = []
    for scaling, trainer in trainers.items():
        with task("candidates"):
            # Unscaled columns that want an alpha beyond the grid do not count, unless they were asked for.
            n_losses = 1 if trainer.r > MAX_COLUMNS else len(SQUARES)
            losses = [loss for loss in SQUARES if loss in POOL][:n_losses]
            squares += [trainer.square(loss, scaling or len(trainers) == 1) for loss in losses]
    yield from squares
    trainer = trainers[choose(squares)]
    with task("candidates"):
        if "balanced_logistic" in POOL:
            path = trainer.newton("balanced_logistic", HIGHEST_BESIDE_SQUARES, ENOUGH_WORSE)
            yield path
            if trainer.n >= ENOUGH_ROWS * trainer.r and "smooth_auc" in POOL:
                best = int(np.argmax(path.mean))
                yield trainer.smooth_auc(np.array([path.candidates[best].alpha]), path.models[:, [best]])


def named_path(trainer: Trainer, objective: Objective, sample: InMemoryRows) -> LossPath:
    """Return the candidates of one loss."""
    loss = objective.loss
    if objective.is_sparse:
        return trainer.penalised(objective, sample)
    if loss in SQUARES:
        return trainer.square(loss, extend=True)
    if loss == "smooth_auc":
        alphas = trainer.grid(SMOOTH_POWERS, CURVATURES[loss] * trainer.view.level, False)[0]
        starts = np.stack(list(trainer.training.newton_path("balanced_logistic", alphas)), axis=1)
        return trainer.smooth_auc(alphas, starts)
    path = trainer.newton("logistic" if loss == "sigmoid" else loss, POWERS[0])
    return trainer.sigmoid(path) if loss == "sigmoid" else path
