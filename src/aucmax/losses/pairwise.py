"""Pairwise losses in score space: value, gradient and Hessian-vector product, and never the pairs themselves.

Conventions
-----------
A loss is the mean over all pairs of a positive row i and a negative row j of l(t), with t = s_i - s_j the margin of
their scores; a pair weighs the product c_i c_j, where c are the sample weights scaled to sum to one in each class. All
this lives in score space and knows nothing of X: gradients and products are vectors with one entry for each row.

    name             l(t)                                 cost of anything
    "squared"        (1 - t)^2 / 2                        n
    "squared_hinge"  max(0, 1 - t)^2 / 2                  n log n
    "hinge"          max(0, 1 - t)                        n log n      a subgradient, and no curvature
    "exponential"    exp(-t)                              n
    "logistic"       log(1 + exp(-t))                     n            see `boxes`
    "sigmoid"        1 / (1 + exp(t))                     n            see `boxes`; not convex

The hinges: with u = s - 1/2 for positives and s + 1/2 for negatives, max(0, 1 - t) = max(0, u_j - u_i), so a pair
loses something if its positive comes first in the order of u. A walk up that order carries the sums of c, c (u - u_i)
and c (u - u_i)^2 over the positives passed, a walk down those over the negatives. To move by h adds h times the first
sum to the second, and so on: all terms have one sign, and nothing cancels, however far the scores are spread.

Importing this module imports Numba; see `jit`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from ..data.validation import check_class_weights, check_weights, find_classes
from ..jit import jit
from .chebyshev_sums import Boxes


class Point(NamedTuple):
    """A loss at given scores.

    Attributes
    ----------
    value : float
        The mean loss.
    gradient : ndarray of shape (n_samples,)
        Its derivative in the score of each row.
    hessian_product : callable
        Returns the second derivative times a vector of shape (n_samples,); zero for "hinge".
    """

    value: float
    gradient: np.ndarray
    hessian_product: Callable[[np.ndarray], np.ndarray]


class PairwiseLoss(Protocol):
    """What a solver asks of a loss: its value, gradient and curvature at any scores."""

    def __call__(self, scores: np.ndarray) -> Point: ...  # noqa: D102


def pairwise_loss(y: Any, scores: Any, loss: str = "squared_hinge", sample_weight: Any = None) -> Point:
    """Compute the mean loss over all pairs of a positive and a negative row, with its first two derivatives.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is the positive one.
    scores : array-like of shape (n_samples,)
        Scores.
    loss : {"squared", "squared_hinge", "hinge", "exponential", "logistic", "sigmoid"}, default="squared_hinge"
        The loss of a pair with the margin t, the difference of its scores: half of (1 - t)^2, half of the square of
        max(0, 1 - t), max(0, 1 - t), exp(-t), log(1 + exp(-t)), 1 / (1 + exp(t)).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; a pair weighs their product.

    Returns
    -------
    point : Point
        Named tuple of `value`, `gradient` and `hessian_product`.

    Examples
    --------
    >>> from aucmax.losses.pairwise import pairwise_loss
    >>> point = pairwise_loss([0, 0, 1], [0.0, 1.0, 1.5], loss="hinge")
    >>> point.value, point.gradient
    (0.25, array([ 0. ,  0.5, -0.5]))
    """
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    if scores.ndim != 1:
        raise ValueError(f"scores must have one dimension, got the shape {scores.shape}.")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(y, scores)
    classes = find_classes(y)
    positive, weights = y == classes[1], check_weights(sample_weight, scores)
    weights = np.ones(len(y)) if weights is None else weights
    totals = np.array([weights[~positive].sum(), weights[positive].sum()])
    check_class_weights(totals, classes)
    return LOSSES[loss](positive, weights / totals[positive.astype(np.intp)])(scores)


class Squared:
    """(1 - t)^2 / 2.

    Parameters
    ----------
    positive : ndarray of bool, shape (n_rows,)
        Which rows are positive.
    weights : ndarray of shape (n_rows,)
        Their weights, of sum 1 in each class.
    """

    def __init__(self, positive: np.ndarray, weights: np.ndarray) -> None:
        self.positive, self.weights = positive, weights

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        lower, upper = self._means(scores)
        rest = scores - np.where(self.positive, upper, lower)
        gap = 1 - (upper - lower)
        gradient = self.curvature(scores) - np.where(self.positive, self.weights, -self.weights)
        return Point(float(self.weights @ rest**2 + gap**2) / 2, gradient, self.curvature)

    def curvature(self, v: np.ndarray) -> np.ndarray:
        """Return the second derivative, the same everywhere, times v."""
        lower, upper = self._means(v)
        return self.weights * (v - np.where(self.positive, lower, upper))

    def _means(self, v: np.ndarray) -> tuple[float, float]:
        weighted = self.weights * v
        return float(np.sum(weighted, where=~self.positive)), float(np.sum(weighted, where=self.positive))


class SquaredHinge:
    """max(0, margin - t)^2 / 2.

    Parameters
    ----------
    positive : ndarray of bool, shape (n_rows,)
        Which rows are positive.
    weights : ndarray of shape (n_rows,)
        Their weights, of sum 1 in each class.
    margin : float, default=1.0
        The t from which on a pair loses nothing.
    """

    def __init__(self, positive: np.ndarray, weights: np.ndarray, margin: float = 1.0) -> None:
        self.positive, self.weights, self.margin = positive, weights, margin

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        order, u = margin_order(scores, self.positive, self.margin)
        gradient = np.empty(len(u))
        value = squared_hinge(u, order, self.positive, self.weights, gradient)

        def hessian_product(v: np.ndarray) -> np.ndarray:
            out = np.empty(len(v))
            hinge_curvature(v, order, self.positive, self.weights, out)
            return out

        return Point(value, gradient, hessian_product)


class Hinge:
    """max(0, 1 - t); parameters as in `Squared`."""

    def __init__(self, positive: np.ndarray, weights: np.ndarray) -> None:
        self.positive, self.weights = positive, weights

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        order, u = margin_order(scores, self.positive, 1.0)
        gradient = np.empty(len(u))
        value = hinge(u, order, self.positive, self.weights, gradient)
        return Point(value, gradient, np.zeros_like)


class SmoothHinge:
    """The hinge with its corner rounded off: (1 - t)^2 / (2 width) for t from 1 - width to 1, then 1 - t - width / 2.

    It is the difference of two squared hinges, with the margins 1 and 1 - width, over the width.
    """

    def __init__(self, positive: np.ndarray, weights: np.ndarray, width: float) -> None:
        self.width = width
        self.outer = SquaredHinge(positive, weights, 1.0)
        self.inner = SquaredHinge(positive, weights, 1.0 - width)

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        outer, inner = self.outer(scores), self.inner(scores)

        def hessian_product(v: np.ndarray) -> np.ndarray:
            return (outer.hessian_product(v) - inner.hessian_product(v)) / self.width

        value, gradient = outer.value - inner.value, outer.gradient - inner.gradient
        return Point(value / self.width, gradient / self.width, hessian_product)


class Exponential:
    """exp(-t), the product of a mean of exp(-s) over the positives and one of exp(s) over the negatives.

    Parameters as in `Squared`.
    """

    def __init__(self, positive: np.ndarray, weights: np.ndarray) -> None:
        self.positive, self.weights = positive, weights

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores; infinite where a pair's is."""
        positive = self.positive
        signed = np.where(positive, -scores, scores)
        tops = [np.max(signed[side & (self.weights > 0)]) for side in (~positive, positive)]
        terms = self.weights * np.exp(signed - np.where(positive, tops[1], tops[0]))
        sums = [terms[side].sum() for side in (~positive, positive)]
        with np.errstate(over="ignore"):
            value = float(np.exp(tops[0] + tops[1]) * sums[0] * sums[1])
        if not np.isfinite(value):
            return Point(np.inf, np.full(len(scores), np.nan), np.zeros_like)
        shares = terms / np.where(positive, sums[1], sums[0])  # of sum 1 in each class
        gradient = value * np.where(positive, -shares, shares)

        def hessian_product(v: np.ndarray) -> np.ndarray:
            lower, upper = (shares[side] @ v[side] for side in (~positive, positive))
            return value * shares * (v - np.where(positive, lower, upper))

        return Point(value, gradient, hessian_product)


class Logistic:
    """log(1 + exp(-t)); parameters as in `Squared`."""

    order = 0
    sign = 1.0

    def __init__(self, positive: np.ndarray, weights: np.ndarray) -> None:
        self.positive, self.weights = positive, weights
        self.signed = self.sign * np.where(positive, weights, -weights)

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        boxes = Boxes(scores, self.positive)
        moments = boxes.moments(self.weights)
        value = self.sign * np.vdot(moments[1], boxes.fields(moments, self.order)[1])
        gradient = self.signed * boxes.at_rows(boxes.fields(moments, self.order + 1))

        @functools.cache
        def second() -> np.ndarray:
            return boxes.at_rows(boxes.fields(moments, self.order + 2))

        def hessian_product(v: np.ndarray) -> np.ndarray:
            others = boxes.fields(boxes.moments(self.weights * v), self.order + 2)
            return self.sign * self.weights * (v * second() - boxes.at_rows(others))

        return Point(float(value), gradient, hessian_product)


class Sigmoid(Logistic):
    """1 / (1 + exp(slope * t)), at a slope of 1 minus the derivative of the logistic loss; see `Squared`."""

    order = 1
    sign = -1.0

    def __init__(self, positive: np.ndarray, weights: np.ndarray, slope: float = 1.0) -> None:
        super().__init__(positive, weights)
        self.slope = slope

    def __call__(self, scores: np.ndarray) -> Point:
        """Return the loss at these scores."""
        value, gradient, product = super().__call__(self.slope * scores)
        return Point(value, self.slope * gradient, lambda v: self.slope**2 * product(v))


LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], PairwiseLoss]] = {
    "squared": Squared,
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "exponential": Exponential,
    "logistic": Logistic,
    "sigmoid": Sigmoid,
}


def margin_order(scores: np.ndarray, positive: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of u = scores -+ margin / 2, and u."""
    u = scores + np.where(positive, -margin / 2, margin / 2)
    order = np.empty(len(u), dtype=np.uint32)
    if not sort_by_cells(u, order):
        order[:] = np.argsort(u)
    return order, u


@jit
def sort_by_cells(u, order):
    """Fill `order` with what sorts u, or return False where u is so uneven that sorting by comparisons is faster.

    The range is cut into as many equal cells as there are values. These are counted into place, and then sorted inside
    each cell, most of which hold one or two: a third of the time of np.argsort for a million Gaussian scores.
    """
    n = u.shape[0]
    low, high = u.min(), u.max()
    if not high - low > 0.0 or not high - low < np.inf:
        return False
    scale = (n - 1) / (high - low)
    cells = np.empty(n, dtype=np.uint32)
    stops = np.zeros(n + 1, dtype=np.uint32)
    for i in range(n):
        cells[i] = np.uint32((u[i] - low) * scale)
        stops[cells[i] + np.uint32(1)] += np.uint32(1)
    crowd = 0.0
    for c in range(n):
        crowd += np.float64(stops[c + 1]) ** 2
        stops[c + 1] += stops[c]
    if crowd > 32.0 * n:
        return False
    for i in range(n):  # afterwards stops[c] is where cell c ends
        order[stops[cells[i]]] = np.uint32(i)
        stops[cells[i]] += np.uint32(1)
    start = 0
    for c in range(n):
        for k in range(start + 1, stops[c]):
            i = order[k]
            value = u[i]
            m = k
            while m > start and u[order[m - 1]] > value:
                order[m] = order[m - 1]
                m -= 1
            order[m] = i
        start = int(stops[c])
    return True


@jit
def squared_hinge(u, order, positive, weights, gradient):
    """Return the sum of c_i c_j max(0, u_j - u_i)^2 / 2 and fill in its gradient."""
    value = 0.0
    mass = first = second = 0.0
    last = u[order[0]]
    for i in order:
        h = u[i] - last
        last = u[i]
        second += h * (2.0 * first + h * mass)
        first += h * mass
        if positive[i]:
            mass += weights[i]
        else:
            value += weights[i] * second
            gradient[i] = weights[i] * first
    mass = first = 0.0
    for i in order[::-1]:
        first += (last - u[i]) * mass
        last = u[i]
        if positive[i]:
            gradient[i] = -weights[i] * first
        else:
            mass += weights[i]
    return 0.5 * value


@jit
def hinge(u, order, positive, weights, gradient):
    """Return the sum of c_i c_j max(0, u_j - u_i) and fill in a subgradient."""
    value = 0.0
    mass = first = 0.0
    last = u[order[0]]
    for i in order:
        first += (u[i] - last) * mass
        last = u[i]
        if positive[i]:
            mass += weights[i]
        else:
            value += weights[i] * first
            gradient[i] = weights[i] * mass
    mass = 0.0
    for i in order[::-1]:
        if positive[i]:
            gradient[i] = -weights[i] * mass
        else:
            mass += weights[i]
    return value


@jit
def hinge_curvature(v, order, positive, weights, out):
    """Fill `out` with the sums over the active pairs of each row of c_i c_j (v - v of the other row)."""
    mass = moment = 0.0
    for i in order:
        if positive[i]:
            mass += weights[i]
            moment += weights[i] * v[i]
        else:
            out[i] = weights[i] * (mass * v[i] - moment)
    mass = moment = 0.0
    for i in order[::-1]:
        if positive[i]:
            out[i] = weights[i] * (mass * v[i] - moment)
        else:
            mass += weights[i]
            moment += weights[i] * v[i]
