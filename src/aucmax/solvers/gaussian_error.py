"""The linear classifier of least error between two Gaussian classes: the global optimum, by a search along one line.

With class means m_0, m_1, covariances S_0, S_1, delta = m_1 - m_0, priors P_0, P_1, weights w and threshold c,

    error(w, c) = P_1 Phi((c - w.m_1) / sqrt(w'S_1 w)) + P_0 Phi((w.m_0 - c) / sqrt(w'S_0 w))

For given w'S_0 w and w'S_1 w, the error decreases with w.delta. Take a basis where S_0 + S_1 = I and S_1 = diag(g).
There w.delta is maximised under two constraints that are linear in the squares of w. The problem is concave in these
squares, so the Lagrange condition is sufficient, too:

    T w = delta,   T = a S_1 + b S_0   positive semidefinite

The diagonal of T is a linear function of g that is positive from the smallest g to the largest. Up to a factor, its
values at these two ends, 1 - s and s, determine it. So the global optimum is the w of some s in [0, 1]. The threshold c
is where the two densities, times their priors, cross: a root of a quadratic. With increasing s, the error decreases
where the slope of T is below (w.m_1 - c)/(w'S_1 w) - (c - w.m_0)/(w'S_0 w), and increases where it is above. The roots
of this difference are bracketed on a grid and refined; each s costs O(n_features).

If the best threshold lies between the two means, a and b are positive: these are the w among which Anderson and Bahadur
(1962) search, with t = a / (a + b) in (0, 1). If one class is rare, or if the means are close and the covariances
differ, the threshold lies beyond one of the means and t outside (0, 1). This is not a rare case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from .square import EPS, eigh

# The grid covers the logits of s from -REACH to REACH. Beyond these, rounding errors of delta determine w.
REACH = 50
GRID = np.linspace(-REACH, REACH, 4 * REACH + 1)
# Beyond this many standard deviations a Gaussian has no mass in float64.
BEYOND = 40


class Cut(NamedTuple):
    """A threshold on Gaussian scores.

    Attributes
    ----------
    place : float or ndarray
        The threshold, measured from the mean score of the negatives.
    slope : float or ndarray
        The slope of the log-odds there.
    """

    place: Any
    slope: Any


def crossing(gap: Any, variances: Any, priors: np.ndarray) -> Cut:
    """Return where the densities of the scores, times their priors, cross with rising log-odds; nan if they do not.

    The means are `gap` >= 0 apart. This is the threshold of least error, unless predicting one class for all rows is
    better. Let y be measured from the mean of the negatives, and a, b be the variances of the negatives and positives.
    Then y^2 / a - (y - gap)^2 / b = 2 log(P_0 s_1 / (P_1 s_0)), where s_0, s_1 are the standard deviations.
    """
    a, b = variances
    log_ratio = np.log(priors[0] / priors[1]) + 0.5 * np.log(b / a)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(a * b * (gap**2 + 2 * (b - a) * log_ratio))
        place = a * (gap**2 + 2 * b * log_ratio) / (a * gap + root)  # without cancellation
    exists = root > 0
    return Cut(np.where(exists, place, np.nan), np.where(exists, root / (a * b), np.nan))


def error_at(place: Any, gap: Any, variances: Any, priors: np.ndarray) -> Any:
    """Return the error at a threshold measured from the mean of the negatives."""
    a, b = variances
    return priors[0] * ndtr(-place / np.sqrt(a)) + priors[1] * ndtr((place - gap) / np.sqrt(b))


def cut_at(place: float, gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a given threshold with a positive slope."""
    if not variances.all():  # w = 0
        return larger_class_cut(gap, variances, priors)
    slope = (gap - place) / variances[1] + place / variances[0]
    return Cut(place, slope if slope > 0 else 1 / np.sqrt(priors @ variances))


def larger_class_cut(gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a threshold that predicts the larger class for every row; the probability at the mean is the prior."""
    odds = float(logit(priors[1]))
    middle = priors[1] * gap
    away = BEYOND * np.sqrt(variances.max()) + abs(gap) or 1.0
    return Cut(middle - np.sign(odds) * away, abs(odds) / away or 1.0)


def simultaneous_basis(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return g, increasing, and a basis B with B'(S_0 + S_1)B = I and B'S_1 B = diag(g)."""
    L = cholesky(S[0] + S[1], lower=True, check_finite=False)
    half = solve_triangular(L, S[1], lower=True, check_finite=False)
    g, V = eigh(solve_triangular(L, half.T, lower=True, check_finite=False))
    return np.clip(g, EPS, 1 - EPS), solve_triangular(L, V, lower=True, trans="T", check_finite=False)


def least_error(delta: np.ndarray, S: np.ndarray, priors: np.ndarray) -> tuple[np.ndarray, Cut]:
    """Return weights and threshold of least error, by the search described at the head of this file."""
    g, basis = simultaneous_basis(S)
    d = delta @ basis
    # If delta is 0 in a basis vector, the optimum may be a limit of s towards 0 or 1. A tiny value reaches this limit.
    floor = 1e-14 * (np.abs(d).max() or 1.0)
    d = np.where(np.abs(d) < floor, np.copysign(floor, d), d)
    span = float(g[-1] - g[0])
    place = (g - g[0]) / (span or 1.0)

    def weights(x: np.ndarray) -> np.ndarray:
        return d / (np.multiply.outer(expit(-x), 1 - place) + np.multiply.outer(expit(x), place))

    def trace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the error for each logit of s, and a number with the sign of its derivative."""
        W = weights(x)
        gap, variances = W @ d, np.array([W**2 @ (1 - g), W**2 @ g])
        cut = crossing(gap, variances, priors)
        slope = (gap - cut.place) / variances[1] - cut.place / variances[0]
        return error_at(cut.place, gap, variances, priors), np.tanh(x / 2) - span * slope

    errors, signs = trace(GRID)
    rises = np.flatnonzero((signs[:-1] < 0) & (signs[1:] > 0))
    roots = [brentq(lambda x: trace(np.array([x]))[1][0], GRID[k], GRID[k + 1], xtol=1e-14) for k in rises]
    # The optimum is at a point of the grid only if it is a limit, or if the densities do not cross next to it.
    candidates = np.array([*roots, GRID[np.nanargmin(errors)] if np.isfinite(errors).any() else 0.0])
    errors = trace(candidates)[0] * np.append(np.ones(len(roots)), 1 + 1e-9)
    best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
    better_than_one_class = errors[best] < priors.min()
    w = basis @ weights(candidates[best] if better_than_one_class else np.zeros(()))
    w /= np.abs(w).max()
    gap, variances = float(w @ delta), np.array([w @ C @ w for C in S])
    return w, (crossing if better_than_one_class else larger_class_cut)(gap, variances, priors)
