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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.utils import check_array

from ..losses.rowwise import logistic_terms
from ..rows.summaries.scores import N_BINS, ScoreHistogram
from ..solvers.descent import MAX_NEWTON, backtrack
from ..solvers.square import EPS

SHARP = 0.02  # the largest share of the rows at a point of the grid that may be the border of a bin
_wanted = ContextVar("calibration is wanted", default=True)


class Calibration(NamedTuple):
    """A logistic curve of the scores."""

    threshold: float  # the score whose probability is the base rate
    slope: float  # the slope of the log-odds in the score
    base_logit: float  # the logit of the base rate, the share of the positives
    # (2, n): bins of the scores less the threshold, about ten: the upper end of each, and the weight of the rows in it.
    bins: np.ndarray | None = None


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
    found = _fit_curve(low, high, mass, means, variances)
    ends, weights = find_bins(np.linspace(low, high, N_BINS + 1), mass.sum(axis=0))
    return found._replace(bins=np.array([np.append(ends, high) - found.threshold, weights]))


def _fit_curve(low: float, high: float, mass: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Calibration:
    """Return the logistic curve fitted to a histogram of scores."""
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


def find_bins(points: np.ndarray, mass: np.ndarray, n_bins: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Return the borders of about `n_bins` bins of equal weight, and the weight of each, given the points of a grid.

    The weight of a score is shared between the points next to it, so a border lies at a point with next to no weight
    of its own, and there are fewer bins if there are not enough such points.
    """
    below, total = np.cumsum(mass) - mass / 2, mass.sum()
    targets = total * np.arange(1, n_bins) / n_bins
    near = np.unique([np.argmin(np.abs(below - target) + mass) for target in targets])
    near = near[(mass[near] < SHARP * total) & (below[near] > 0) & (below[near] < total)]
    return points[near], np.diff(below[near], prepend=0.0, append=total)


def fit_line(x: np.ndarray, against: np.ndarray, towards: np.ndarray) -> tuple[float, float]:
    """Return slope and offset of a logistic regression on one column x, with weights for both labels of each point."""
    used = against + towards > 0  # the grid reaches far beyond the scores
    x, against, towards = x[used], against[used], towards[used]
    total = against + towards
    center = total @ x / total.sum()
    Z = np.column_stack([x - center, np.ones(len(x))])

    def loss(line: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of a slope and an offset, and its derivatives by the log-odds."""
        t = Z @ line
        losses, slopes, curvatures = logistic_terms(-t)
        return float(total @ losses - towards @ t), -total * slopes - towards, total * curvatures

    def along(length: float) -> float:
        return loss(line + length * step)[0]

    line = np.array([0.0, logit(towards.sum() / total.sum())])
    for _ in range(MAX_NEWTON):
        value, slopes, curvatures = loss(line)
        gradient, H = slopes @ Z, (Z.T * curvatures) @ Z
        H.flat[::3] += EPS * np.trace(H)  # it is singular if there is one point
        step = -np.linalg.solve(H, gradient)
        line = line + backtrack(along, value, gradient @ step) * step
        if np.abs(step).max() <= 1e-8 * np.abs(line).max():  # the next step would be its square
            break
    return float(line[0]), float(line[1] - line[0] * center)


def training_base_rate(classifier: Any) -> float:
    """Return the share of positives that the probabilities of a fitted classifier are for."""
    return float(classifier.priors_[1] if hasattr(classifier, "priors_") else expit(classifier.calibration_[1]))


def adjust_base_rate(probabilities: ArrayLike, base_rate: float, training_base_rate: float) -> np.ndarray:
    """Return probabilities for a population in which the share of positives is another one than in training.

    The odds of each row are multiplied by the odds of the new base rate over those of the old one, which is a shift of
    the log-odds. That is right if the rows of each class are distributed as in training, for example if the training
    rows had more positives because negatives were left out. The order of the rows stays.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples,) or (n_samples, 2)
        Probabilities of the positive class, or of both classes as `predict_proba` returns them.
    base_rate : float in (0, 1)
        The share of positives in the population.
    training_base_rate : float in (0, 1)
        The share of positives for which the probabilities are right. For classifiers of this package it is
        ``scipy.special.expit(clf.calibration_[1])``.

    Returns
    -------
    probabilities : ndarray of the same shape
        Probabilities for the new base rate.

    References
    ----------
    M. Saerens, P. Latinne and C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 14 (2002).

    Examples
    --------
    >>> from aucmax import adjust_base_rate
    >>> adjust_base_rate([0.5, 0.9], base_rate=0.1, training_base_rate=0.5)
    array([0.1, 0.5])
    """
    for name, rate in (("base_rate", base_rate), ("training_base_rate", training_base_rate)):
        if not 0 < rate < 1:
            raise ValueError(f"{name} must be above 0 and below 1, got {rate!r}.")
    found: np.ndarray = check_array(probabilities, dtype=np.float64, ensure_2d=False, input_name="probabilities")
    if found.ndim == 2 and found.shape[1] != 2:
        raise ValueError(f"probabilities must have one column or two, got an array of shape {found.shape}.")
    if found.min() < 0 or found.max() > 1:
        raise ValueError("probabilities must be between 0 and 1.")
    negative, positive = (found[:, 0], found[:, 1]) if found.ndim == 2 else (1 - found, found)
    negative = negative * (1 - base_rate) / (1 - training_base_rate)
    positive = positive * base_rate / training_base_rate
    total = negative + positive
    return np.column_stack([negative / total, positive / total]) if found.ndim == 2 else positive / total
