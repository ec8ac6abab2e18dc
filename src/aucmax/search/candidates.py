"""The candidates of the blend: rows as matrices, the models of all folds, and their held-out scores."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..rows.machine import BLEND_VECTORS, check_columns
from ..rows.memory import Rotation, rotate
from ..rows.protocol import InMemoryRows, Round, Rows
from ..rows.summaries.moments import pooled_std
from ..solvers.candidate import Candidate
from ..solvers.problem import SQUARES
from ..solvers.square import penalty_scale
from .cross_validation import RISING
from .held_out import TestSets
from .training import FoldRows, FoldTraining

POOL = (*SQUARES, "balanced_logistic", "smooth_auc")  # the losses
# The alphas of the candidates, as powers of ten of the mean eigenvalue of M. The largest are close to the limit, in
# which the weights are the difference of the class means.
SQUARE_POWERS = tuple(range(2, -6, -1))
LOGISTIC_POWERS = tuple(range(0, -5, -1))
LOGISTIC_CURVATURE = 0.125  # of the balanced logistic loss at 0, relative to the square loss
# Powers that are tried beyond the grid as long as the AUC is still rising; so many at once for the square losses.
N_BEYOND, STRIDE = 9, 3
# The path of the logistic loss ends after so many alphas that are worse than the best one, the last by so much.
PATIENCE, CLEARLY_WORSE = 2, 0.002
MANY_COLUMNS = 256  # with more sparse columns, no matrix of their covariances is made
MAX_COLUMNS = 1024  # nor with more dense ones
# With fewer rows for each column, alphas below 10^-2 are tried only if the AUC is still rising there.
FEW_ROWS, LOWEST_POWER = 4, -2
# With more than MAX_COLUMNS columns the pooled square loss is not tried, and the powers of alpha are these.
HIGHEST_OF_MANY, LOWEST_OF_MANY = 1, -1
# The smooth AUC is tried if there are at least so many rows for each column: it has no penalty to hold it back.
ENOUGH_ROWS = 10
FAR = 10.0  # a mean of so many standard deviations is far from zero
MAX_ROTATED = 2048  # rows that are rotated, if there are more columns than rows


class ScaledSample(NamedTuple):
    """A sample of rows as a matrix Z, with a penalty for its columns."""

    standardize: bool  # whether the penalty is on the weights of standardised columns
    training: FoldTraining  # the training sets, with Z
    level: float  # the mean eigenvalue of M, the Hessian of the square loss, for this penalty
    scale: np.ndarray  # (r,): the columns of X, or the coordinates of the rotation, were divided by it
    center: np.ndarray  # (n_features,): the point half-way between the class means
    rotation: Rotation | None = None  # the rotation, if there are more columns than rows

    def start(self, U: np.ndarray) -> np.ndarray:
        """Return weights of Z as those that a solver starts from: of X, or of the coordinates of a rotation."""
        return U / self.scale

    def weights(self, solution: np.ndarray) -> np.ndarray:
        """Return the weights of X for those that a solver found: of X itself, or of the coordinates of a rotation."""
        return solution if self.rotation is None else self.rotation.weights(solution)


def is_wide(rows: Rows) -> bool:
    """Return whether the rows are better rotated: few rows with more columns."""
    return rows.n_rows < rows.n_features and rows.n_rows <= MAX_ROTATED


def scale_sample(sample: InMemoryRows, rounds: Sequence[Round], scalings: Sequence[bool]) -> dict[bool, ScaledSample]:
    """Return the sample with standardised columns (True) and unscaled ones (False), as asked for."""
    means, variances = sample.column_statistics()
    share, gap = sample.totals / sample.totals.sum(), means[1] - means[0]
    center, middle = share @ means, means.mean(axis=0)
    std = pooled_std(sample.totals, means, variances)
    scales = {standardize: penalty_scale(std, standardize) for standardize in scalings}
    traces = {name: float(np.sum((variances.sum(axis=0) + gap**2) / scale**2)) for name, scale in scales.items()}
    if is_wide(sample):
        views = {}
        for name, scale in scales.items():
            rotation = rotate(sample, scale, center)
            rank = rotation.rows.n_features
            unit = float(np.sqrt(rotation.variances.max(initial=0.0))) or 1.0
            Z = rotation.rows.matrix(np.full(rank, unit))
            training = FoldTraining(
                FoldRows(Z, sample.targets, rounds, rotation.variances / unit**2), np.full(rank, unit)
            )
            views[name] = ScaledSample(
                name, training, traces[name] / rank or 1.0, np.full(rank, unit), middle, rotation
            )
        return views
    check_columns(sample.n_features, BLEND_VECTORS, "A blend on", "give loss= and alpha=, or leave out columns")
    scale = penalty_scale(std, True)  # of Z, so that single precision is enough whatever the unit of X
    near = bool((np.abs(center) <= FAR * std).all())  # columns far from zero must be centred, and so dense
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
    """The candidates of one loss, with A alphas, and their models of all S splits."""

    candidates: list[Candidate]
    models: np.ndarray  # (S, A, r): their models
    scores: np.ndarray  # (A, N): their held-out scores
    spreads: np.ndarray  # (A,): the spreads that divided the scores
    auc: np.ndarray  # (S, A): their AUC on each test set

    @classmethod
    def of(cls, loss: str, alphas: np.ndarray, models: np.ndarray, view: ScaledSample, tests: TestSets) -> LossPath:
        """Evaluate models on the test sets."""
        rows = view.training.rows
        scores, spreads = tests.scores(rows.Z, models, rows.means.mean(axis=1))
        candidates = [Candidate(float(alpha), loss=loss, standardize=view.standardize) for alpha in alphas]
        return cls(candidates, models, scores, spreads, tests.auc(scores))

    def joined(self, other: LossPath) -> LossPath:
        """Return both families together."""
        fields = zip(self[1:], other[1:], (1, 0, 0, 1), strict=True)
        return LossPath(self.candidates + other.candidates, *(np.concatenate([a, b], axis=k) for a, b, k in fields))


def grid(
    view: ScaledSample, powers: Sequence[float], level: float, alphas: np.ndarray | None, extend: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the alphas of a grid, and those beyond it, for a path whose AUC still rises where the grid ends.

    Given alphas are the grid, and there are none beyond it, nor without `extend`.
    """
    if alphas is not None:
        return alphas, np.zeros(0)
    n, r = view.training.rows.Z.shape
    few, many = n < FEW_ROWS * r, r > MAX_COLUMNS
    lowest = LOWEST_OF_MANY if many else LOWEST_POWER if few else SQUARE_POWERS[-1]
    highest = HIGHEST_OF_MANY if many else SQUARE_POWERS[0]
    beyond = lowest - 1.0 - np.arange(N_BEYOND if extend else 0)
    inside = np.array([power for power in powers if lowest <= power <= highest], dtype=np.float64)
    return level * 10.0**inside, level * 10.0**beyond


def square_paths(view: ScaledSample, tests: TestSets, alphas: np.ndarray | None, extend: bool) -> list[LossPath]:
    """Return the candidates of the square losses; with `extend`, beyond the grid if the AUC still rises there."""
    found = []
    inside, beyond = grid(view, SQUARE_POWERS, view.level, alphas, extend)
    n_losses = 1 if view.training.rows.Z.shape[1] > MAX_COLUMNS else len(SQUARES)
    for loss in [loss for loss in SQUARES if loss in POOL][:n_losses]:
        path = LossPath.of(loss, inside, view.training.square(inside, loss == "pooled"), view, tests)
        for more in np.split(beyond, range(STRIDE, len(beyond), STRIDE)):
            if len(more) and is_rising(path.auc.mean(axis=0)):
                path = path.joined(LossPath.of(loss, more, view.training.square(more, loss == "pooled"), view, tests))
        found.append(path)
    return found


def other_paths(view: ScaledSample, tests: TestSets, alphas: np.ndarray | None) -> list[LossPath]:
    """Return the candidates of the balanced logistic loss and of the smooth AUC."""
    if "balanced_logistic" not in POOL:
        return []
    training = view.training
    inside, beyond = grid(view, LOGISTIC_POWERS, LOGISTIC_CURVATURE * view.level, alphas, True)
    both = np.append(inside, beyond)
    tried: list[LossPath] = []
    for k, U in enumerate(training.logistic(both)):
        tried.append(LossPath.of("balanced_logistic", both[k : k + 1], U[:, None], view, tests))
        aucs = [float(one.auc.mean()) for one in tried]
        best = int(np.argmax(aucs))
        ended = k + 1 >= len(inside) and not is_rising(aucs)
        if alphas is None and (ended or (k - best >= PATIENCE and aucs[k] < aucs[best] - CLEARLY_WORSE)):
            break  # smaller alphas take longest
    path = functools.reduce(LossPath.joined, tried)
    n, r = training.rows.Z.shape
    if n < ENOUGH_ROWS * r or "smooth_auc" not in POOL:
        return [path]
    descended = training.smooth_auc(path.models[:, best], float(both[best]))
    return [path, LossPath.of("smooth_auc", both[best : best + 1], descended[:, None], view, tests)]


def is_rising(aucs: Sequence[float] | np.ndarray) -> bool:
    """Return whether the last AUC of a path is the highest by far."""
    return len(aucs) > 1 and aucs[-1] > max(aucs[:-1]) + RISING
