"""Curves that only rise or only fall: a quadratic programme, solved exactly.

Conventions
-----------
The problem is to minimise 1/2 f'Af - b'f over the values f of all cells, with A positive definite, where the curves of
some columns are to rise (sign 1) or to fall (sign -1) from bin to bin. The bin of missing values is free. In the
variables v, which are f except for sign * (f_k - f_{k-1}) at the bins after the first of such a curve, the constraints
are v >= 0 for some entries: f = C v. With the multipliers z = C'(A C v - b) the optimum is where

    v >= 0,   z >= 0,   v z = 0     for constrained entries,      z = 0 for the others.

The solver exchanges all entries that break a condition between the free and the bound set at once, and factors the
matrix of the free set again (block principal pivoting: Portugal, Judice and Vicente, 1994). If that stops making
progress it exchanges one at a time, which ends for certain (Murty, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..losses.rowwise import row_terms
from ..rows.protocol import Rows, Targets
from ..rows.summaries.moments import ClassMoments
from ..solvers.descent import MAX_NEWTON, along, backtrack
from .bins import Column
from .terms import Basis, Term, edges_of

PATIENCE = 3  # exchanges of all entries without progress
ROUNDING = 1e-12  # of entries and multipliers, relative to the largest


class Shape(NamedTuple):
    """The constraints."""

    C: np.ndarray  # shape (K, K): the change of variables: f = C v
    bound: np.ndarray  # shape (K,): which entries of v must not be negative

    @classmethod
    def of(cls, terms: Sequence[Term], columns: Sequence[Column], signs: np.ndarray) -> Shape:
        """Return the constraints for the sign of each column: 1 to rise, -1 to fall, 0 for none."""
        edges = edges_of(terms)
        C, bound = np.eye(int(edges[-1])), np.zeros(int(edges[-1]), dtype=bool)
        for term, start in zip(terms, edges[:-1], strict=True):
            sign = signs[term.columns[0]]
            if len(term.columns) == 1 and sign:
                m = columns[term.columns[0]].n_values
                C[start : start + m, start : start + m] = np.tri(m) * np.append(1, np.full(m - 1, sign))
                bound[start + 1 : start + m] = True
        return cls(C, bound)

    def minimise(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the f that minimises 1/2 f'Af - b'f under the constraints."""
        return self.C @ nonnegative_minimum(self.C.T @ A @ self.C, self.C.T @ b, self.bound)


def nonnegative_minimum(A: np.ndarray, b: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return the v that minimises 1/2 v'Av - b'v with v >= 0 where `bound`; A is positive definite."""
    free = np.ones(len(b), dtype=bool)
    fewest, patience = len(b) + 1, PATIENCE
    while True:
        v = np.zeros(len(b))
        v[free] = cho_solve(cho_factor(A[np.ix_(free, free)]), b[free])
        z = A @ v - b
        below = free & bound & (v < -ROUNDING * np.abs(v).max(initial=0.0))
        pushed = ~free & (z < -ROUNDING * np.abs(b).max(initial=0.0))
        wrong = np.flatnonzero(below | pushed)
        if not len(wrong):
            return np.where(bound, np.maximum(v, 0.0), v)
        if len(wrong) < fewest:
            fewest, patience = len(wrong), PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        free[wrong] = ~free[wrong]


def monotone_square(rows: Rows, basis: Basis, shape: Shape, alpha: float, pooled: bool) -> np.ndarray:
    """Return the coordinates that minimise the square loss of all pairs, with the penalty alpha |u|^2, under a shape.

    The objective is the same as in `AUCClassifier`: without constraints that bind, its minimiser is returned.
    """
    moments = rows.moments().pooled() if pooled else rows.moments()
    scale = basis.coordinates(np.eye(rows.n_features))
    A = scale.T @ (moments.pair_scatter() + alpha * np.eye(rows.n_features)) @ scale
    return scale @ shape.minimise(A, scale.T @ moments.delta)


def monotone_logistic(rows: Rows, basis: Basis, shape: Shape, alpha: float, tol: float) -> tuple[np.ndarray, int]:
    """Return the coordinates that minimise the balanced logistic loss under a shape, and the number of steps.

    The objective is the mean of the mean losses of the two classes plus alpha / 2 |u|^2. Newton's method: each step is
    a quadratic programme, and a shorter step between two feasible points is feasible.
    """
    K = rows.n_features
    scale = basis.coordinates(np.eye(K))
    S = scale.T @ scale
    grown = Shape(np.pad(shape.C, (0, 1)) + np.diag([0.0] * K + [1.0]), np.append(shape.bound, False))
    outer = np.pad(scale, (0, 1)) + np.diag([0.0] * K + [1.0])  # from values and the offset to coordinates and it

    def value(f: np.ndarray) -> float:
        return rows.reduce(LogisticLoss(f[K]).value, rows.scores(scale @ f[:K])) + alpha / 2 * f[:K] @ S @ f[:K]

    f, n_iter = np.zeros(K + 1), 0
    while n_iter < MAX_NEWTON:
        n_iter += 1
        loss, scores = LogisticLoss(f[K]), rows.scores(scale @ f[:K])
        slopes = rows.map(loss.slopes, scores)
        H = outer.T @ second_moments(rows.reweighted(rows.map(loss.curvatures, scores)).moments()) @ outer
        H[:K, :K] += alpha * S
        pulled = np.append(scale.T @ rows.rmatvec(slopes), rows.reduce(total, slopes))
        gradient = pulled + np.append(alpha * S @ f[:K], 0.0)
        change = grown.minimise(H, H @ f - gradient) - f
        slope, before = float(gradient @ change), value(f)
        if -slope <= tol**2 * max(before, 1e-300):
            break
        f = f + backtrack(along(value, f, change), before, slope) * change
    return scale @ f[:K], n_iter


class LogisticLoss(NamedTuple):
    """The balanced logistic loss of scores plus an offset, and its derivatives, as summaries and vectors of rows."""

    offset: float

    def value(self, targets: Targets, scores: np.ndarray) -> float:
        """Return the loss."""
        return float(targets.pair_weights @ row_terms(targets, scores + self.offset)[0]) / 2

    def slopes(self, targets: Targets, scores: np.ndarray) -> np.ndarray:
        """Return the first derivatives."""
        return targets.signed_weights / 2 * row_terms(targets, scores + self.offset)[1]

    def curvatures(self, targets: Targets, scores: np.ndarray) -> np.ndarray:
        """Return the second derivatives, none of them 0."""
        return targets.pair_weights / 2 * np.maximum(row_terms(targets, scores + self.offset)[2], 1e-12)


def total(targets: Targets, entries: np.ndarray) -> float:
    """Return the sum of a vector."""
    return float(entries.sum())


def second_moments(moments: ClassMoments) -> np.ndarray:
    """Return the sums of products of all columns and a column of ones, shape (K + 1, K + 1)."""
    K = moments.n_features
    sums, means = np.empty((K + 1, K + 1)), moments.weight[:, None] * moments.mean
    sums[:K, :K] = moments.scatter.sum(axis=0) + means.T @ moments.mean
    sums[K, :K] = sums[:K, K] = means.sum(axis=0)
    sums[K, K] = moments.weight.sum()
    return sums
