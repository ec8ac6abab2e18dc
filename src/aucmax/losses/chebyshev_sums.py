"""Sums over all pairs of a smooth function of their difference, in O(n) and to rounding.

Conventions
-----------
The sums are over the pairs of a positive score x, of weight a, and a negative one y, of weight b, of a b K_r(x - y),
with K_r the r-th derivative of

    K(t) = log(1 + exp(-t)),   K_1 = -sigma(-t),   K_2 = sigma(t) sigma(-t),   ...

K is analytic for |Im t| < pi, so on boxes of width 1 a polynomial of low degree is K to rounding, and there is no near
field. The scores are put into boxes, s = box + 1/2 + xi/2 with xi in [-1, 1]; then

1. each box of sources is summed up as its Chebyshev moments, sum of b T_l(xi), l < DEGREE;
2. `translate` turns these into the Chebyshev coefficients of the field in each box of targets: by a small matrix that
   depends on the distance of the boxes alone where that is at most REACH, and beyond by the first terms of

       K(t) = sum over k of (-1)^(k+1) exp(-k t) / k  for t > 0,      K(t) = K(-t) - t  for t < 0,

   whose pairs separate, and which one walk over the boxes carries from each to the next;
3. the fields are evaluated at the targets.

The value of the sum is the moments of the targets times the coefficients. The field at the negatives is that at the
positives with all scores negated. Boxes without scores take no time, so the range of the scores may be anything.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..jit import FAST, jit

DEGREE = 16
REACH = 12
N_TERMS = 4
SPARE_BOXES = 1024


class Kernel(NamedTuple):
    """K_r in Chebyshev coefficients.

    Attributes
    ----------
    near : ndarray of shape (2 REACH + 1, DEGREE, DEGREE)
        From moments to coefficients, for boxes at the distances -REACH to REACH.
    right, left : ndarray of shape (N_TERMS,)
        The coefficients of exp(-k t) for t > 0, and of exp(k t) for t < 0.
    slope, offset : float
        What is added to the latter: slope * t + offset.
    """

    near: np.ndarray
    right: np.ndarray
    left: np.ndarray
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
    near = transform @ derivative(distances + (nodes[:, None] - nodes) / 2, order) @ transform.T
    k = np.arange(1, N_TERMS + 1)
    terms = (-1.0) ** (k + 1) * k ** (order - 1.0)
    return Kernel(near, (-1) ** order * terms, terms, -1.0 if order == 0 else 0.0, -1.0 if order == 1 else 0.0)


def derivative(t: np.ndarray, order: int) -> np.ndarray:
    """Return the derivative of K of an order from 0 to 3."""
    if order == 0:
        return np.logaddexp(0, -t)
    if order == 1:
        return -expit(-t)
    bell = expit(t) * expit(-t)
    return bell if order == 2 else bell * (expit(-t) - expit(t))


@functools.cache
def exponentials() -> np.ndarray:
    """Return the Chebyshev coefficients of exp(k xi / 2), k from 1 to N_TERMS; those of exp(-k xi / 2) alternate."""
    angles = (np.arange(DEGREE) + 0.5) * np.pi / DEGREE
    values = np.exp(np.arange(1, N_TERMS + 1)[:, None] * np.cos(angles) / 2)
    coefficients = 2 / DEGREE * values @ np.cos(np.outer(np.arange(DEGREE), angles)).T
    coefficients[:, 0] /= 2
    return coefficients


class BoxMoments(NamedTuple):
    """What the boxes hold: Chebyshev moments of the rows in them, or Chebyshev coefficients of the fields there.

    Attributes
    ----------
    ids : ndarray of shape (n_boxes,)
        The whole numbers at which the boxes begin, increasing.
    values : ndarray of shape (2, n_boxes, DEGREE)
        Of the negatives and of the positives, box by box.
    """

    ids: np.ndarray
    values: np.ndarray

    def merge(self, other: BoxMoments) -> BoxMoments:
        """Return the moments of both sets of rows."""
        if np.array_equal(self.ids, other.ids):
            return BoxMoments(self.ids, self.values + other.values)
        ids = np.union1d(self.ids, other.ids)
        values = np.zeros((2, len(ids), DEGREE))
        for part in (self, other):
            values[:, np.searchsorted(ids, part.ids)] += part.values
        return BoxMoments(ids, values)

    def fields(self, order: int) -> BoxMoments:
        """Return the fields at the negatives, which the positives make, and at the positives, from these moments."""
        k, tails = kernel(order), exponentials()
        mirror = np.where(np.arange(DEGREE) % 2, -1.0, 1.0)
        fields = np.zeros_like(self.values)
        translate(self.ids, self.values[0], k, tails, fields[1])
        mirrored = np.zeros_like(self.values[1])
        translate(-self.ids[::-1], np.ascontiguousarray(self.values[1, ::-1] * mirror), k, tails, mirrored)
        fields[0] = mirrored[::-1] * mirror
        return BoxMoments(self.ids, fields)


class Boxes(NamedTuple):
    """The rows of a block, put into boxes.

    Attributes
    ----------
    ids : ndarray of shape (n_boxes,)
        The boxes that hold a row.
    slots : ndarray of uint32, shape (n_rows,)
        Which of these each row is in.
    xi : ndarray of shape (n_rows,)
        Its place there, from -1 to 1.
    """

    ids: np.ndarray
    slots: np.ndarray
    xi: np.ndarray

    @classmethod
    def of(cls, targets: Any, scores: np.ndarray) -> Boxes:
        """Return the boxes of finite scores."""
        if not len(scores):
            return cls(np.zeros(0), np.zeros(0, np.uint32), np.zeros(0))
        low = math.floor(scores.min())
        span = math.floor(scores.max()) - low + 1
        if span > 4 * len(scores) + SPARE_BOXES:  # too many boxes to look them up
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
        """Return the Chebyshev moments of weights of the rows."""
        moments = np.zeros((2, len(self.ids), DEGREE))
        add_moments(self.xi, self.slots, positive, weights, moments)
        return BoxMoments(self.ids, moments)

    def at_rows(self, positive: np.ndarray, fields: BoxMoments) -> np.ndarray:
        """Return the field that each row is in; those of more boxes than these are as good."""
        values = fields.values
        if len(fields.ids) > len(self.ids):
            values = np.ascontiguousarray(values[:, np.searchsorted(fields.ids, self.ids)])
        out = np.empty(len(self.xi))
        evaluate(self.xi, self.slots, positive, values, out)
        return out


@jit
def fill(scores, low, xi, slots, filled):
    """Find box and place in it of each score; both from the score itself, since scores[i] - low may round up."""
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
def evaluate(xi, slots, positive, fields, out):
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
    """Add to the fields what the sources, both in the boxes `ids`, make of the kernel; see the head of this file."""
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
            for k in range(DEGREE):
                total = 0.0
                for j in range(DEGREE):
                    total += near[k, j] * sources[other, j]
                fields[b, k] += total

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

    # Sources on the right, t < 0: the same with both signs changed, and the line.
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
