"""The linear classifier of least error between two Gaussian classes: the global optimum, by a search along one line.

With class means m_0, m_1, covariances S_0, S_1, delta = m_1 - m_0, priors P_0, P_1, weights w and threshold c,

    error(w, c) = P_1 Phi((c - w.m_1) / sqrt(w'S_1 w)) + P_0 Phi((w.m_0 - c) / sqrt(w'S_0 w))

For given w'S_0 w and w'S_1 w the larger w.delta is the better. In a basis where
S_0 + S_1 = I and S_1 = diag(g), that is to maximise w.delta under two constraints that are linear in the squares
of w, so it is concave in them, and the Lagrange condition is also sufficient:

    T w = delta,   T = a S_1 + b S_0   positive semidefinite

T is a line over g, positive from the smallest g to the largest, so that up to a factor its values at these two
ends, 1 - s and s, say all: the global optimum is one of the w of an s in [0, 1]. Along them the error falls where
the slope of T is below (w.m_1 - c)/(w'S_1 w) - (c - w.m_0)/(w'S_0 w) and rises where it is above, with c where the
two densities, times their priors, cross: a root of a quadratic. The roots of this difference are bracketed on a
grid and refined; each s costs O(n_features).

Where the best threshold lies between the two means, a and b are positive: these are the w that Anderson and
Bahadur (1962) search, t = a / (a + b) in (0, 1). Where one class is rare, or the means are close for covariances
that differ, it lies beyond one of the means and t outside (0, 1), which is no rare case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr

from .square import EPS, eigh

# Of the logit of s. Beyond it, a direction that is not in delta but for rounding has all the weight.
REACH = 50
GRID = np.linspace(-REACH, REACH, 4 * REACH + 1)
# Standard deviations beyond which a Gaussian has no mass in float64.
BEYOND = 40


class Cut(NamedTuple):
    """A threshold on Gaussian scores, from the mean of the negatives, and the slope of the log-odds there."""

    place: Any
    slope: Any


def crossing(gap: Any, variances: Any, priors: np.ndarray) -> Cut:
    """Return where the densities of the scores, times their priors, cross with rising log-odds; nan where nowhere.

    Of scores with means `gap` >= 0 apart, that is the threshold of least error but for the two that call every row by
    one class. With y from the mean of the negatives and variances a, b of the negatives and positives it solves
    y^2 / a - (y - gap)^2 / b = 2 log(P_0 s_1 / (P_1 s_0)).
    """
    a, b = variances
    log_ratio = np.log(priors[0] / priors[1]) + 0.5 * np.log(b / a)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(a * b * (gap**2 + 2 * (b - a) * log_ratio))
        place = a * (gap**2 + 2 * b * log_ratio) / (a * gap + root)  # free of cancellation
    exists = root > 0
    return Cut(np.where(exists, place, np.nan), np.where(exists, root / (a * b), np.nan))


def error_at(place: Any, gap: Any, variances: Any, priors: np.ndarray) -> Any:
    """Return the error at a threshold measured from the mean of the negatives."""
    a, b = variances
    return priors[0] * ndtr(-place / np.sqrt(a)) + priors[1] * ndtr((place - gap) / np.sqrt(b))


def cut_at(place: float, gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a given threshold, with a slope that is positive."""
    if not variances.all():  # w = 0
        return larger_class_cut(gap, variances, priors)
    slope = (gap - place) / variances[1] + place / variances[0]
    return Cut(place, slope if slope > 0 else 1 / np.sqrt(priors @ variances))


def larger_class_cut(gap: float, variances: np.ndarray, priors: np.ndarray) -> Cut:
    """Return a threshold that calls every row by the larger class, with the prior as the probability in the middle."""
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
    """Return weights and threshold of the least error; the search above."""
    g, basis = simultaneous_basis(S)
    d = delta @ basis
    # An end of the line where delta has nothing may hold the optimum too: then in the limit, which this reaches.
    floor = 1e-14 * (np.abs(d).max() or 1.0)
    d = np.where(np.abs(d) < floor, np.copysign(floor, d), d)
    span = float(g[-1] - g[0])
    place = (g - g[0]) / (span or 1.0)

    def weights(x: np.ndarray) -> np.ndarray:
        return d / (np.multiply.outer(expit(-x), 1 - place) + np.multiply.outer(expit(x), place))

    def trace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the error for each logit of s, and a number of the sign of its derivative."""
        W = weights(x)
        gap, variances = W @ d, np.array([W**2 @ (1 - g), W**2 @ g])
        cut = crossing(gap, variances, priors)
        slope = (gap - cut.place) / variances[1] - cut.place / variances[0]
        return error_at(cut.place, gap, variances, priors), np.tanh(x / 2) - span * slope

    errors, signs = trace(GRID)
    rises = np.flatnonzero((signs[:-1] < 0) & (signs[1:] > 0))
    roots = [brentq(lambda x: trace(np.array([x]))[1][0], GRID[k], GRID[k + 1], xtol=1e-14) for k in rises]
    # A point of the grid has the optimum only where it is in the limit, or the densities no longer cross beside it.
    candidates = np.array([*roots, GRID[np.nanargmin(errors)] if np.isfinite(errors).any() else 0.0])
    errors = trace(candidates)[0] * np.append(np.ones(len(roots)), 1 + 1e-9)
    best = int(np.argmin(np.where(np.isnan(errors), np.inf, errors)))
    better_than_one_class = errors[best] < priors.min()
    w = basis @ weights(candidates[best] if better_than_one_class else np.zeros(()))
    w /= np.abs(w).max()
    gap, variances = float(w @ delta), np.array([w @ C @ w for C in S])
    return w, (crossing if better_than_one_class else larger_class_cut)(gap, variances, priors)
