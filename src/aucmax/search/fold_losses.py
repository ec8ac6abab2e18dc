"""Losses of many vectors of scores at once: one for each training set of a cross-validation.

Conventions
-----------
Scores are (S, n) in single precision, one row for each training set. Weights (S, n) are 0 for the rows outside of a
training set and sum to one half in each class of it. A loss is called with scores and returns values (S,), and the
slope of each score and the curvature in it (S, n). `product` then multiplies by the Hessian there.

A pairwise loss is evaluated on a grid: each class has a histogram of its scores, in which a score is shared between the
two points next to it, and the sums over pairs are sums over pairs of points. Between two points, sums are interpolated.
This takes O(n) for any loss of a pair, and the error of second order in the step of the grid is far below what a
comparison of candidates can see. Fits to all rows have the exact losses of `aucmax.losses`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from .._compat import FAST, jit
from ..losses.rowwise import logistic as logistic_row
from ..losses.smooth_auc import SLOPE, add_to_points, fill_fields, grid_position, pair_sum

N_POINTS = 128  # of the grid of scores
NARROWEST_STEP = 1e-3  # of the grid; scores are compared with a margin of 1
ENOUGH_SCORES = 150  # for the ends of the central 98%
CORNER = 0.25  # the width of the rounded corner of the hinge, at least two steps of the grid
LARGEST_EXPONENT = 50.0


class FoldPoint(NamedTuple):
    """Values and derivatives of a loss at the scores of all training sets."""

    values: np.ndarray  # (S,): the losses
    squares: np.ndarray  # (S,): the Hessian between the scores and themselves
    slopes: np.ndarray  # (S, n): the derivative with respect to each score
    curvatures: np.ndarray  # (S, n): the second derivative with respect to each score
    product: Callable[[np.ndarray], np.ndarray]  # the Hessian times vectors (S, n)
    has_offset: bool = False  # whether the loss changes if all scores are shifted


class FoldLoss(Protocol):
    """A loss of the scores of all training sets; `rounding` is the relative error of its values."""

    rounding: float

    def __call__(self, scores: np.ndarray) -> FoldPoint: ...  # noqa: D102


class RowLoss:
    """The logistic loss of single rows, log(1 + exp(-y s)) with y = +-1."""

    rounding = 1e-7

    def __init__(self, positive: np.ndarray, weights: np.ndarray) -> None:
        self.signs, self.weights = np.where(positive, 1.0, -1.0).astype(np.float32), weights.astype(np.float32)

    def __call__(self, scores: np.ndarray) -> FoldPoint:
        """Return the loss at these scores."""
        slopes, curvatures = np.empty((2, *scores.shape), dtype=np.float32)
        values, squares = logistic_losses(scores, self.signs, self.weights, slopes, curvatures)
        return FoldPoint(values, squares, slopes, curvatures, lambda V: curvatures * V, True)


class PairLoss:
    """A loss of pairs by its name, from histograms of the scores."""

    rounding = 1e-5

    def __init__(self, name: str, positive: np.ndarray, weights: np.ndarray) -> None:
        self.derivatives, self.positive, self.weights = PAIR_LOSSES[name], positive, (2 * weights).astype(np.float32)

    def __call__(self, scores: np.ndarray) -> FoldPoint:
        """Return the loss at these scores."""
        lows, highs = central_range(scores)
        steps = np.maximum((highs - lows) / (N_POINTS - 1.001), NARROWEST_STEP)
        margins = steps[:, None] * np.arange(1 - N_POINTS, N_POINTS)
        value, slope, curvature = self.derivatives(margins, steps[:, None])
        kernels = np.stack([value, slope, curvature, curvature * margins**2], axis=1)
        slopes, curvatures = np.empty((2, *scores.shape), dtype=np.float32)
        given = self.positive, self.weights, lows, 1 / steps, kernels
        values, squares = evaluate_pairs(scores, *given, slopes, curvatures)

        def product(V: np.ndarray) -> np.ndarray:
            out = curvatures * V
            subtract_cross_products(scores, *given, np.ascontiguousarray(V, dtype=np.float32), out)
            return out

        return FoldPoint(values, squares, slopes, curvatures, product)


def central_range(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the grid of each row of scores begins and ends.

    It has all scores, unless some are far outside: it reaches as far beyond the central 98% of the scores as these are
    wide. Scores beyond it count as if they were at its ends, so that a few of them do not make its steps too wide.
    """
    some = scores[:, :: max(1, scores.shape[1] // ENOUGH_SCORES)]
    n = some.shape[1]
    places = [n // 100, n - 1 - n // 100]
    inner = np.partition(some, places, axis=1)[:, places].astype(np.float64)
    width = np.maximum(inner[:, 1] - inner[:, 0], NARROWEST_STEP)
    lows, highs = (end.astype(np.float64) for end in (scores.min(axis=1), scores.max(axis=1)))
    return np.maximum(lows, inner[:, 0] - width), np.minimum(highs, inner[:, 1] + width)


def logistic(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return log(1 + exp(-t)) and its derivatives."""
    p = expit(-t)
    return np.logaddexp(0, -t), -p, p * (1 - p)


def sigmoid(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return 1 / (1 + exp(t)), its derivative, and the size of its second derivative: steps go downhill."""
    p = expit(-t)
    return p, -p * (1 - p), p * (1 - p) * np.abs(1 - 2 * p)


def smooth_step(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return 1 / (1 + exp(SLOPE t)) for scores of unit spread, with derivatives like the sigmoid's."""
    value, slope, curvature = sigmoid(SLOPE * t, step)
    return value, SLOPE * slope, SLOPE**2 * curvature


def exponential(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return exp(-t) and its derivatives."""
    e = np.exp(np.minimum(-t, LARGEST_EXPONENT))
    return e, -e, e


def squared_hinge(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return max(0, 1 - t)^2 / 2 and its derivatives."""
    short = np.maximum(1 - t, 0)
    return short**2 / 2, -short, (short > 0).astype(np.float64)


def hinge(t: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return max(0, 1 - t) with a rounded corner, and its derivatives."""
    width = np.maximum(CORNER, 2 * step)
    inside = np.clip((1 - t) / width + 0.5, 0, 1)  # 0 above the corner, 1 below
    value = np.where(inside < 1, width * inside**2 / 2, 1 - t)
    return value, -inside, ((inside > 0) & (inside < 1)) / width


PAIR_LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]]] = {
    "logistic": logistic,
    "sigmoid": sigmoid,
    "smooth_auc": smooth_step,
    "exponential": exponential,
    "squared_hinge": squared_hinge,
    "hinge": hinge,
}
# The curvature at 0, compared with the square loss: alphas are in its units. Where it is 0, a similar loss gives it.
CURVATURES = {
    "balanced_logistic": 0.125,
    "smooth_auc": 0.125,
    "logistic": 0.25,
    "sigmoid": 0.25,
    "exponential": 1.0,
    "squared_hinge": 1.0,
    "hinge": 1.0,
}


@jit(**FAST)
def logistic_losses(scores, signs, weights, slopes, curvatures):
    """Return the sums of weight * log(1 + exp(-sign * score)) and of curvature * score^2; fill both derivatives."""
    values, squares = np.zeros(scores.shape[0]), np.zeros(scores.shape[0])
    for k in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            t, c = signs[i] * scores[k, i], weights[k, i]
            value, slope, curvature = logistic_row(t)
            values[k] += c * value
            slopes[k, i] = signs[i] * c * slope
            curvatures[k, i] = c * curvature
            squares[k] += curvatures[k, i] * t * t
    return values, squares


@jit(**FAST)
def interpolated(field, x):
    """Return a field between two points."""
    k = np.uint32(x)
    return field[k] + (x - k) * (field[k + np.uint32(1)] - field[k])


@jit(**FAST)
def evaluate_pairs(scores, positive, weights, lows, scales, kernels, slopes, curvatures):
    """Return the mean of the loss over all pairs, and of curvature * t^2; fill both derivatives."""
    n_sets, n = scores.shape
    values, squares = np.empty(n_sets), np.empty(n_sets)
    fields, bends = np.empty((2, N_POINTS)), np.empty((2, N_POINTS))
    for k in range(n_sets):
        masses = np.zeros((2, N_POINTS))
        add_to_points(scores[k], positive, weights[k], lows[k], scales[k], masses)
        values[k], squares[k] = pair_sum(masses, kernels[k, 0]), pair_sum(masses, kernels[k, 3])
        fill_fields(masses, kernels[k, 1], fields)
        fill_fields(masses, kernels[k, 2], bends)
        for i in range(n):
            x, c = grid_position(scores[k, i], lows[k], scales[k], N_POINTS), np.uint8(positive[i])
            slope = interpolated(fields[c], x)
            slopes[k, i] = weights[k, i] * (slope if positive[i] else -slope)
            curvatures[k, i] = weights[k, i] * max(interpolated(bends[c], x), 0.0)
    return values, squares


@jit(**FAST)
def subtract_cross_products(scores, positive, weights, lows, scales, kernels, V, out):
    """Subtract the part of the Hessian's product that joins two rows."""
    n_sets, n = scores.shape
    fields, amounts = np.empty((2, N_POINTS)), np.empty(n)
    for k in range(n_sets):
        masses = np.zeros((2, N_POINTS))
        for i in range(n):
            amounts[i] = weights[k, i] * V[k, i]
        add_to_points(scores[k], positive, amounts, lows[k], scales[k], masses)
        fill_fields(masses, kernels[k, 2], fields)
        for i in range(n):
            x = grid_position(scores[k, i], lows[k], scales[k], N_POINTS)
            out[k, i] -= weights[k, i] * interpolated(fields[np.uint8(positive[i])], x)
