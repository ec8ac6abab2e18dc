"""From scores to labels and probabilities, which the AUC does not determine.

The AUC depends on the order of the scores alone. A logistic curve fitted to the scores gives both the threshold and the
probabilities:

    P(positive | score) = expit(slope * (score - threshold) + logit(base rate))

The threshold is the score whose probability is the base rate. If the probabilities are calibrated, it is the threshold
of best balanced accuracy. It is estimated from all rows and not only from those close to it, which makes it more stable
on new rows than the best threshold of the training scores (``docs/measured/defaults.md`` has the figures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from ..losses.rowwise import logistic_terms
from ..rows.summaries.scores import N_BINS, ScoreHistogram

SLACK = 1 + 1e-12  # rounding must not decide whether a step of Newton's method is halved

_wanted = ContextVar("calibration is wanted", default=True)


class Calibration(NamedTuple):
    """A logistic curve of the scores."""

    threshold: float  # the score whose probability is the base rate
    slope: float  # the slope of the log-odds in the score
    base_logit: float  # the logit of the base rate, the share of the positives


def calibrate_gaussian(means: np.ndarray, variances: np.ndarray, weight: np.ndarray) -> Calibration:
    """Return the curve for scores of which only the class moments are known, as if they were Gaussian.

    The threshold is where the two densities cross. The slope is the one of linear discriminant analysis.
    """
    (low, high), (a, b) = means, np.maximum(variances, 1e-12 * (means[1] - means[0]) ** 2)
    base_logit = float(logit(weight[1] / weight.sum()))
    if not high > low:
        return Calibration(float(low), 0.0, base_logit)
    # (t - low)^2 / a - (t - high)^2 / b = log(b / a) in u = (t - low) / (high - low), written as
    # (b - a) u^2 + 2 a u - a - a b log(b / a) / gap^2 = 0; the root inside (0, 1), without cancellation
    gap = high - low
    constant = a + a * b * np.log(b / a) / gap**2
    u = constant / (a + np.sqrt(max(a * a + (b - a) * constant, 0.0)))
    pooled = weight @ variances / weight.sum()
    slope = gap / max(pooled, 1e-6 * gap**2)
    return Calibration(float(low + gap * (u if 0 <= u <= 1 else 0.5)), float(slope), base_logit)


@contextmanager
def no_calibration() -> Iterator[None]:
    """Skip the calibration, for fits of which only the ranking is used."""
    token = _wanted.set(False)
    try:
        yield
    finally:
        _wanted.reset(token)


def calibrate(histogram: Callable[[], ScoreHistogram]) -> Calibration:
    """Return the logistic curve fitted to a histogram of scores, which is computed only if the curve is needed.

    The targets are Platt's, (W_1 + 1) / (W_1 + 2) for a positive, so that perfect scores do not get an infinite slope.
    """
    if not _wanted.get():
        return Calibration(0.0, 1.0, 0.0)
    (low, high), mass, means, variances = histogram()
    weight = mass.sum(axis=1)
    if not (means[1] > means[0] and high - low > 1e-12 * max(abs(low), abs(high))):
        return calibrate_gaussian(means, variances, weight)
    share = (weight + 1) / (weight + 2)  # Platt's target for the own label of each class
    against = share[0] * mass[0] + (1 - share[1]) * mass[1]
    towards = (1 - share[0]) * mass[0] + share[1] * mass[1]
    slope, offset = fit_line(np.linspace(0, 1, N_BINS + 1), against, towards)
    if not slope > 0:
        return calibrate_gaussian(means, variances, weight)
    base_logit = float(logit(weight[1] / weight.sum()))
    return Calibration(low + (high - low) * (base_logit - offset) / slope, slope / (high - low), base_logit)


def fit_line(x: np.ndarray, against: np.ndarray, towards: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of a logistic regression on one column x, with weights for both labels of each point.

    Newton's method; a step that does not lower the loss is halved.
    """
    used = against + towards > 0  # the grid reaches far beyond the scores
    x, against, towards = x[used], against[used], towards[used]
    total = against + towards
    z = x - total @ x / total.sum()
    slope, offset = 0.0, float(logit(towards.sum() / total.sum()))
    loss, step = np.inf, (0.0, 0.0)
    for _ in range(100):
        t = (slope - step[0]) * z + (offset - step[1])
        (up, _, _), (down, slope_down, bend) = logistic_terms(t), logistic_terms(-t)
        new = float(against @ down + towards @ up)
        if not new <= SLACK * loss:
            step = step[0] / 2, step[1] / 2
            continue
        slope, offset, loss = slope - step[0], offset - step[1], new
        slopes, curvatures = -total * slope_down - towards, total * bend
        # Around the mean of z under the curvatures, the Hessian is diagonal.
        mass = float(curvatures.sum()) + 1e-300
        center = float(curvatures @ z) / mass
        around = z - center
        rise = float(slopes @ around) / (float(curvatures @ around**2) + 1e-300)
        step = rise, float(slopes.sum()) / mass - rise * center
        if max(map(abs, step)) <= 1e-12 * max(abs(slope), abs(offset)):
            slope, offset = slope - step[0], offset - step[1]
            break
    return slope, offset - slope * float(x[0] - z[0])
