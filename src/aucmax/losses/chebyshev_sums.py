"""Sums over all pairs of a smooth function of their score difference, in O(n) and exact up to rounding.

Conventions
-----------
The terms are a b K_r(x - y) for all pairs of a positive score x with weight a and a negative score y with
weight b. K_r is the r-th derivative of

    K(t) = log(1 + exp(-t)),   K_1 = -sigma(-t),   K_2 = sigma(t) sigma(-t),   ...

K is analytic for |Im t| < pi, so on boxes of width 1 a polynomial of low degree equals K up to rounding. (A fast
multipole method for a singular kernel would need a near field; this one does not.) A score is written as
s = box + 1/2 + xi/2 with xi in [-1, 1]. The method has three steps:

1. Each box of sources is summarised by its Chebyshev moments, the sums of b T_l(xi) for l < DEGREE.
2. `translate` turns these into the Chebyshev coefficients of the field in each box of targets. For two boxes at a
   distance of at most REACH it multiplies by a small matrix that depends on this distance alone. For distant boxes it
   uses the first terms of the series

       K(t) = sum over k of (-1)^(k+1) exp(-k t) / k  for t > 0,      K(t) = K(-t) - t  for t < 0.

   Each term is a product of a factor of x and a factor of y, so one walk over the boxes carries its sums along.
3. The fields are evaluated at the targets.

The value of the sum is the inner product of the moments of the targets with the coefficients. The field at the
negatives is the field at the positives after negating all scores. Empty boxes take no time, so the scores may have any
range.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from .._compat import FAST, jit

DEGREE = 16
REACH = 12
N_TERMS = 4
SPARE_BOXES = 1024


class Kernel(NamedTuple):
    """K_r in Chebyshev coefficients."""

    # (2 REACH + 1, DEGREE, DEGREE): the transposes of the matrices that turn moments into coefficients, for boxes at
    # the distances -REACH to REACH.
    near: np.ndarray
    # (N_TERMS,): the coefficients of exp(-k t) for t > 0, and of exp(k t) for t < 0.
    right: np.ndarray
    left: np.ndarray
    # For t < 0, slope * t + offset is added to the series.
    slope: float
    offset: float


@functools.cache
def kernel(order: int) -> Kernel:
    """Return K_r for r = `order` from 0 to 3."""
    angles = (np.arange(DEGREE) + 0.5) * np.pi / DEGREE
    nodes = np.cos(angles)
    transform = np.cos(np.outer(np.arange(DEGREE), angles)) * 2 / DEGREE
    transform[0] /= 2
    distances = np.arange(-REACH, REACH + 1)[:, None, None]
    near = transform @ derivative(distances + (nodes - nodes[:, None]) / 2, order) @ transform.T
    k = np.arange(1, N_TERMS + 1)
    terms = (-1.0) ** (k + 1) * k ** (order - 1.0)
    return Kernel(near, (-1) ** order * terms, terms, -1.0 if order == 0 else 0.0, -1.0 if order == 1 else 0.0)


def derivative(t: np.ndarray, order: int) -> np.ndarray:
    """Return K_r(t) for r = `order` from 0 to 3."""
    if order == 0:
        return np.logaddexp(0, -t)
    if order == 1:
        return -expit(-t)
    bell = expit(t) * expit(-t)
    return bell if order == 2 else bell * (expit(-t) - expit(t))


@functools.cache
def exponentials() -> np.ndarray:
    """Return Chebyshev coefficients of exp(k xi / 2), k from 1 to N_TERMS; signs alternate for exp(-k xi / 2)."""
    angles = (np.arange(DEGREE) + 0.5) * np.pi / DEGREE
    values = np.exp(np.arange(1, N_TERMS + 1)[:, None] * np.cos(angles) / 2)
    coefficients = 2 / DEGREE * values @ np.cos(np.outer(np.arange(DEGREE), angles)).T
    coefficients[:, 0] /= 2
    return coefficients


class BoxMoments(NamedTuple):
    """Chebyshev moments of the rows in each box, or Chebyshev coefficients of the field in each box."""

    ids: np.ndarray  # (n_boxes,): the integers at which the boxes begin, increasing
    # (2, n_boxes, DEGREE): the moments or coefficients of each box, first for the negatives and then for the positives.
    values: np.ndarray

    def merge(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows together."""
        if np.array_equal(self.ids, other.ids):
            return BoxMoments(self.ids, self.values + other.values)
        ids = np.union1d(self.ids, other.ids)
        values = np.zeros((2, len(ids), DEGREE))
        for part in (self, other):
            values[:, np.searchsorted(ids, part.ids)] += part.values
        return BoxMoments(ids, values)

    def fields(self, order: int) -> BoxMoments:
        """Return the field of the positives at the negatives, and of the negatives at the positives."""
        k, tails = kernel(order), exponentials()
        mirror = np.where(np.arange(DEGREE) % 2, -1.0, 1.0)
        fields = np.zeros_like(self.values)
        translate(self.ids, self.values[0], k, tails, fields[1])
        mirrored = np.zeros_like(self.values[1])
        translate(-self.ids[::-1], np.ascontiguousarray(self.values[1, ::-1] * mirror), k, tails, mirrored)
        fields[0] = mirrored[::-1] * mirror
        return BoxMoments(self.ids, fields)


class Boxes(NamedTuple):
    """The rows of a block, assigned to boxes by their scores."""

    ids: np.ndarray  # (n_boxes,): the integers at which the boxes with at least one row begin, increasing
    slots: np.ndarray  # uint32 (n_rows,): the index in `ids` of the box of each row
    xi: np.ndarray  # (n_rows,): the position of each row in its box, from -1 to 1

    @classmethod
    def of(cls, targets: Any, scores: np.ndarray) -> Boxes:
        """Return the boxes of finite scores."""
        if not len(scores):
            return cls(np.zeros(0), np.zeros(0, np.uint32), np.zeros(0))
        low = math.floor(scores.min())
        span = math.floor(scores.max()) - low + 1
        if span > 4 * len(scores) + SPARE_BOXES:  # too many boxes for a table of them
            floors = np.floor(scores)
            ids, inverse = np.unique(floors, return_inverse=True)
            return cls(ids, inverse.astype(np.uint32), 2 * (scores - floors) - 1)
        xi, slots = np.empty(len(scores)), np.empty(len(scores), dtype=np.uint32)
        filled = np.zeros(span, dtype=bool)
        fill(scores, float(low), xi, slots, filled)
        ids = np.flatnonzero(filled).astype(np.float64) + low
        if len(ids) < span:
            slots = (np.cumsum(filled) - 1).astype(np.uint32)[slots]
        return cls(ids, slots, xi)

    def moments(self, positive: np.ndarray, weights: np.ndarray) -> BoxMoments:
        """Return the Chebyshev moments of the rows with these weights."""
        moments = np.zeros((2, len(self.ids), DEGREE))
        add_moments(self.xi, self.slots, positive, weights, moments)
        return BoxMoments(self.ids, moments)

    def at_rows(self, positive: np.ndarray, fields: BoxMoments) -> np.ndarray:
        """Return the field at each row. The fields may cover more boxes than these."""
        values = fields.values
        if len(fields.ids) > len(self.ids):
            values = np.ascontiguousarray(values[:, np.searchsorted(fields.ids, self.ids)])
        out = np.empty(len(self.xi))
        evaluate_boxes(self.xi, self.slots, positive, values, out)
        return out


@jit
def fill(scores, low, xi, slots, filled):
    """Find the box of each score and its position there, both from the score itself: scores[i] - low may round up."""
    for i in range(scores.shape[0]):
        box = np.floor(scores[i])
        slot = np.uint32(box - low)
        xi[i], slots[i], filled[slot] = 2.0 * (scores[i] - box) - 1.0, slot, True


@jit(**FAST)
def add_moments(xi, slots, positive, weights, moments):
    """Add weight * T_l(xi) of each row to the moments of its class and box."""
    T = np.empty(DEGREE)
    T[0] = 1.0
    for i in range(xi.shape[0]):
        x, w = xi[i], weights[i]
        m = moments[np.uint8(positive[i]), slots[i]]
        T[1] = x
        for k in range(2, DEGREE):
            T[k] = 2.0 * x * T[k - 1] - T[k - 2]
        for k in range(DEGREE):
            m[k] += w * T[k]


@jit(**FAST)
def evaluate_boxes(xi, slots, positive, fields, out):
    """Evaluate the field of its class and box at each row."""
    for i in range(xi.shape[0]):
        c = fields[np.uint8(positive[i]), slots[i]]
        x = 2.0 * xi[i]
        a = b = 0.0
        for k in range(DEGREE - 1, 0, -1):
            a, b = c[k] + x * a - b, a
        out[i] = c[0] + xi[i] * a - b


@jit
def translate(ids, sources, kernel, tails, fields):
    """Add the fields of the sources in the boxes `ids` to the fields there; see the head of this file."""
    n_boxes = ids.shape[0]
    for b in range(n_boxes):
        first = b
        while first > 0 and ids[b] - ids[first - 1] <= REACH:
            first -= 1
        for other in range(first, n_boxes):
            distance = ids[b] - ids[other]
            if distance < -REACH:
                break
            near = kernel.near[int(distance) + REACH]
            for j in range(DEGREE):
                for k in range(DEGREE):  # inside, so that the compiler vectorises it
                    fields[b, k] += near[j, k] * sources[other, j]

    # Sources on the left of the targets, t > 0: exp(-k t) = exp(-k distance) exp(-k xi / 2) exp(k eta / 2).
    sums = np.zeros(N_TERMS)
    entered = 0
    for b in range(n_boxes):
        for term in range(N_TERMS):
            sums[term] *= np.exp(-(term + 1) * (ids[b] - ids[b - 1])) if b > 0 else 0.0
        while entered < b and ids[b] - ids[entered] > REACH:
            for term in range(N_TERMS):
                total = 0.0
                for j in range(DEGREE):
                    total += tails[term, j] * sources[entered, j]
                sums[term] += np.exp(-(term + 1) * (ids[b] - ids[entered])) * total
            entered += 1
        for term in range(N_TERMS):
            factor = kernel.right[term] * sums[term]
            for k in range(DEGREE):
                fields[b, k] += factor * (tails[term, k] if k % 2 == 0 else -tails[term, k])

    # Sources on the right, t < 0: the same with both signs changed, plus the linear term.
    sums[:] = 0.0
    mass = lever = 0.0  # sums of the weights, and of weight * (y - the middle of the box)
    entered = n_boxes - 1
    for b in range(n_boxes - 1, -1, -1):
        if b < n_boxes - 1:
            gap = ids[b + 1] - ids[b]
            for term in range(N_TERMS):
                sums[term] *= np.exp(-(term + 1) * gap)
            lever += gap * mass
        while entered > b and ids[entered] - ids[b] > REACH:
            distance = ids[entered] - ids[b]
            for term in range(N_TERMS):
                total = 0.0
                for j in range(DEGREE):
                    total += (tails[term, j] if j % 2 == 0 else -tails[term, j]) * sources[entered, j]
                sums[term] += np.exp(-(term + 1) * distance) * total
            mass += sources[entered, 0]
            lever += distance * sources[entered, 0] + 0.5 * sources[entered, 1]
            entered -= 1
        for term in range(N_TERMS):
            factor = kernel.left[term] * sums[term]
            for k in range(DEGREE):
                fields[b, k] += factor * tails[term, k]
        fields[b, 0] += kernel.offset * mass - kernel.slope * lever
        fields[b, 1] += kernel.slope * 0.5 * mass
