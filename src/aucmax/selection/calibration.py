"""From scores to labels and probabilities: what AUC leaves open.

AUC fixes the order of the scores and nothing else. A logistic curve fitted to them gives both of the rest:

    P(positive | score) = expit(slope * (score - threshold) + logit(base rate))

The threshold is thus the score whose probability is the base rate. For probabilities that are right it is the
threshold of best balanced accuracy; it is estimated from all rows and not from those next to it, which makes it
steadier on new rows than the best cut of the training scores (``docs/defaults.md`` has the figures).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

N_BINS = 1024
REACH = 8  # standard deviations
_wanted = ContextVar("calibration is wanted", default=True)


class Calibration(NamedTuple):
    """The logistic curve of the scores."""

    threshold: float
    slope: float
    base_logit: float


def calibrate_gaussian(means: np.ndarray, variances: np.ndarray, weight: np.ndarray) -> Calibration:
    """Return the curve for scores known by their class moments alone, taken as Gaussian.

    The threshold is where the two densities cross; the slope is that of linear discriminant analysis.
    """
    (low, high), (a, b) = means, np.maximum(variances, 1e-12 * (means[1] - means[0]) ** 2)
    base_logit = float(logit(weight[1] / weight.sum()))
    if not high > low:
        return Calibration(float(low), 0.0, base_logit)
    # (t - low)^2 / a - (t - high)^2 / b = log(b / a) in u = (t - low) / (high - low), written as
    # (b - a) u^2 + 2 a u - a - a b log(b / a) / gap^2 = 0; the root inside (0, 1), free of cancellation
    gap = high - low
    constant = a + a * b * np.log(b / a) / gap**2
    u = constant / (a + np.sqrt(max(a * a + (b - a) * constant, 0.0)))
    pooled = weight @ variances / weight.sum()
    slope = gap / max(pooled, 1e-6 * gap**2)
    return Calibration(float(low + gap * (u if 0 <= u <= 1 else 0.5)), float(slope), base_logit)


class ScoreGrid(NamedTuple):
    """A fine grid that scores are laid on, so that a curve is fitted to them in memory that does not grow with them.

    Each score is shared between its two neighbours: the masses depend on the scores continuously.
    """

    low: float
    high: float

    @classmethod
    def around(cls, means: np.ndarray, variances: np.ndarray) -> ScoreGrid:
        """Return the grid for scores with these means and variances in the two classes."""
        reach = REACH * np.sqrt(variances)
        return cls(float(np.min(means - reach)), float(np.max(means + reach)))

    def lay(self, scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
        """Return the mass of each class on each point of the grid, shape (2, N_BINS + 1)."""
        place = (scores - self.low) * (N_BINS / (self.high - self.low or 1))
        np.clip(place, 0, N_BINS * (1 - 1e-15), out=place)
        cell = place.astype(np.intp)
        right = place - cell
        left = 1 - right
        if sample_weight is not None:
            left, right = left * sample_weight, right * sample_weight
        cell += (N_BINS + 1) * positive
        mass = np.bincount(cell, left, 2 * N_BINS + 2)
        mass += np.bincount(cell + 1, right, 2 * N_BINS + 2)
        return mass.reshape(2, -1)


@contextmanager
def no_calibration() -> Iterator[None]:
    """Leave out what only labels and probabilities need: for fits of which nothing but the ranking is asked."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


def calibrate(scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None = None) -> Calibration:
    """Return the logistic curve fitted to scores that are at hand."""
    with np.errstate(over="ignore", invalid="ignore"):
        statistics = class_statistics(scores, positive, sample_weight)
    if not np.isfinite(statistics).all():
        raise ValueError("The squares of the scores overflow: the weights have diverged, or X needs smaller columns.")
    if not _wanted.get():
        return Calibration(0.0, 1.0, 0.0)
    grid = ScoreGrid.around(*statistics)
    return calibrate_scores(grid, grid.lay(scores, positive, sample_weight), *statistics)


def calibrate_scores(grid: ScoreGrid, mass: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Calibration:
    """Return the logistic curve fitted to scores laid on a grid.

    The targets are Platt's, W_1 + 1 in W_1 + 2 for a positive: perfect scores get a steep curve, not an infinite one.

    Parameters
    ----------
    grid : ScoreGrid
        The grid.
    mass : ndarray of shape (2, N_BINS + 1)
        What it holds.
    means, variances : ndarray of shape (2,)
        Of the scores in the two classes; where the curve would fall, they give a Gaussian one instead.

    Returns
    -------
    calibration : Calibration
        The curve.
    """
    weight = mass.sum(axis=1)
    low, high = grid
    if not (means[1] > means[0] and high - low > 1e-12 * max(abs(low), abs(high))):
        return calibrate_gaussian(means, variances, weight)
    share = (weight + 1) / (weight + 2)  # of its own label that a row of each class counts for
    against = share[0] * mass[0] + (1 - share[1]) * mass[1]
    towards = (1 - share[0]) * mass[0] + share[1] * mass[1]
    used = mass.any(axis=0)
    points = np.linspace(0, 1, N_BINS + 1)[used]
    curve = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=200).fit(
        np.tile(points, 2)[:, None],
        np.repeat([0, 1], len(points)),
        np.concatenate([against[used], towards[used]]),
    )
    slope, offset = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    if not slope > 0:
        return calibrate_gaussian(means, variances, weight)
    base_logit = float(logit(weight[1] / weight.sum()))
    return Calibration(low + (high - low) * (base_logit - offset) / slope, slope / (high - low), base_logit)


def class_statistics(
    scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of the scores in the two classes."""
    weights = np.ones(len(scores)) if sample_weight is None else sample_weight
    groups = [(scores[rows], weights[rows]) for rows in (~positive, positive)]
    means = np.array([np.average(s, weights=w) for s, w in groups])
    variances = np.array([np.average((s - m) ** 2, weights=w) for (s, w), m in zip(groups, means, strict=True)])
    return means, variances
