"""From scores to labels and probabilities: what AUC leaves open.

AUC fixes the order of the scores and nothing else. A logistic curve fitted to them gives both of the rest:

    P(positive | score) = expit(slope * (score - threshold) + logit(base rate))

The threshold is thus the score whose probability is the base rate. For probabilities that are right it is the
threshold of best balanced accuracy; it is estimated from all rows and not from those next to it, so on small
data it does better on new rows than the best cut of the training scores (``docs/defaults.md`` has the figures).
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

N_BINS = 4096
REACH = 8  # standard deviations


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


def calibrate_scores(
    blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray | None]],
    means: np.ndarray,
    variances: np.ndarray,
    weight: np.ndarray,
) -> Calibration:
    """Return the logistic curve fitted to scores that come in blocks, in memory that does not grow with them.

    The scores are laid on a fine grid, each shared between its two neighbours, so that the curve depends
    on them continuously. The targets are Platt's, W_1 + 1 in W_1 + 2 for a positive: perfect scores get a steep
    curve and not an infinite one.

    Parameters
    ----------
    blocks : iterable of (scores, positive, sample_weight or None)
        The scores, with the mask of the positives.
    means, variances, weight : ndarray of shape (2,)
        Of the scores in the two classes; they set the grid.

    Returns
    -------
    calibration : Calibration
        The curve.
    """
    base_logit = float(logit(weight[1] / weight.sum()))
    reach = REACH * np.sqrt(variances)
    low, high = float(np.min(means - reach)), float(np.max(means + reach))
    if not (means[1] > means[0] and high - low > 1e-12 * max(abs(low), abs(high))):
        return calibrate_gaussian(means, variances, weight)
    mass = np.zeros((2, N_BINS + 1))
    for scores, positive, sample_weight in blocks:
        place = np.clip((scores - low) * (N_BINS / (high - low)), 0, N_BINS * (1 - 1e-15))
        cell = place.astype(np.intp)
        right = place - cell
        left = 1 - right
        if sample_weight is not None:
            left, right = left * sample_weight, right * sample_weight
        for c, rows in enumerate((~positive, positive)):
            mass[c, :-1] += np.bincount(cell[rows], left[rows], N_BINS)
            mass[c, 1:] += np.bincount(cell[rows], right[rows], N_BINS)
    u = np.linspace(0, 1, N_BINS + 1)
    share = (weight + 1) / (weight + 2)  # of its own label that a row of each class counts for
    against = share[0] * mass[0] + (1 - share[1]) * mass[1]
    towards = (1 - share[0]) * mass[0] + share[1] * mass[1]
    used = (against + towards) > 0
    curve = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=200).fit(
        np.tile(u[used], 2)[:, None],
        np.repeat([0, 1], used.sum()),
        np.concatenate([against[used], towards[used]]),
    )
    slope, offset = float(curve.coef_[0, 0]), float(curve.intercept_[0])
    if not slope > 0:
        return calibrate_gaussian(means, variances, weight)
    return Calibration(low + (high - low) * (base_logit - offset) / slope, slope / (high - low), base_logit)


def class_statistics(
    scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means, variances and weights of the scores in the two classes."""
    weights = np.ones(len(scores)) if sample_weight is None else sample_weight
    groups = [(scores[rows], weights[rows]) for rows in (~positive, positive)]
    means = np.array([np.average(s, weights=w) for s, w in groups])
    variances = np.array([np.average((s - m) ** 2, weights=w) for (s, w), m in zip(groups, means, strict=True)])
    return means, variances, np.array([w.sum() for _, w in groups])
