"""From scores to labels and probabilities: what AUC leaves open.

AUC fixes the order of the scores and nothing else. A logistic curve fitted to them gives both of the rest:

    P(positive | score) = expit(slope * (score - threshold) + logit(base rate))

The threshold is thus the score whose probability is the base rate. For probabilities that are right it is the
threshold of best balanced accuracy; it is estimated from all rows and not from those next to it, which makes it
steadier on new rows than the best cut of the training scores (``docs/defaults.md`` has the figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from ..data.scores import N_BINS, ScoreHistogram

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


@contextmanager
def no_calibration() -> Iterator[None]:
    """Leave out what only labels and probabilities need: for fits of which nothing but the ranking is asked."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


def calibrate(histogram: Callable[[], ScoreHistogram]) -> Calibration:
    """Return the logistic curve fitted to the histogram of scores, which is made only if a curve is wanted.

    The targets are Platt's, W_1 + 1 in W_1 + 2 for a positive: perfect scores get a steep curve, not an infinite one.
    """
    if not _wanted.get():
        return Calibration(0.0, 1.0, 0.0)
    (low, high), mass, means, variances = histogram()
    weight = mass.sum(axis=1)
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
