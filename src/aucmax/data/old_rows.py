"""Data in memory behind three verbs: moments, scores and pullback.

Batch solvers see rows through these verbs alone, so that whatever offers them (a file read by blocks, a
cluster, another device) is fitted by the same code. All results are float64, whatever the precision of X.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .block_moments import BLOCK, column_moments
from .moments import ClassMoments, grouped_moments
from .threads import map_spans
from .validation import check_class_weights


class Rows:
    """The rows of a binary problem, dense or CSR, validated.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Finite float32 or float64 values.
    y : ndarray of shape (n_rows,)
        Labels, each one of `classes`.
    classes : ndarray of shape (2,)
        The negative and the positive label.
    sample_weight : ndarray of shape (n_rows,), default=None
        Nonnegative weights.
    """

    def __init__(self, X: Any, y: np.ndarray, classes: np.ndarray, sample_weight: np.ndarray | None = None) -> None:
        self.X, self.y, self.classes, self.sample_weight = X, y, classes, sample_weight
        self.n_rows, self.n_features = X.shape

    def take(self, rows: np.ndarray) -> Rows:
        """Return some of the rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return Rows(self.X[rows], self.y[rows], self.classes, weights)

    def sample(self, n_each: int) -> Rows:
        """Return the rows of each class, or this many of them, always the same."""
        if max(np.count_nonzero(self.positive()), np.count_nonzero(~self.positive())) <= n_each:
            return self
        kept = []
        for side in (~self.positive(), self.positive()):
            members = np.flatnonzero(side)
            kept.append(np.random.RandomState(0).permutation(members)[:n_each] if len(members) > n_each else members)
        return self.take(np.sort(np.concatenate(kept)))

    # The three verbs

    def moments(self, folds: np.ndarray | None = None, n_folds: int = 1) -> list[ClassMoments]:
        """Return the class moments of each fold, in one pass."""
        return grouped_moments(self.X, self.y, self.classes, self.sample_weight, folds, n_folds)

    def scores(self, W: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return X[rows] @ W for W of shape (n_features,) or (n_features, L), columns contiguous."""
        if rows is None and (sparse.issparse(self.X) or self.X.dtype == np.float64):
            return np.asfortranarray(self.X @ W)
        n_rows = self.n_rows if rows is None else len(rows)
        out = np.empty((*W.shape[1:], n_rows))
        for start in range(0, n_rows, BLOCK):  # gathered rows, or float32 ones in float64, are never all there at once
            part = slice(start, start + BLOCK)
            block = self.X[part] if rows is None else self.X[rows[part]]
            out[..., part] = (block @ W).T
        return out.T

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Return X.T @ g for g of shape (n_rows,) or (n_rows, L)."""
        if sparse.issparse(self.X):
            return self.X.T @ g
        out = np.zeros((self.n_features, *g.shape[1:]))  # by blocks BLAS takes less than half the time on tall X, too
        for start in range(0, self.n_rows, BLOCK):
            out += self.X[start : start + BLOCK].T @ g[start : start + BLOCK]
        return out

    # What the solvers and the calibration ask besides

    def positive(self) -> np.ndarray:
        """Return the mask of the positives."""
        return self.y == self.classes[1]

    def totals(self) -> np.ndarray:
        """Return the weight of each class, both above 0."""
        positive = self.positive()
        totals = [np.sum(m if self.sample_weight is None else self.sample_weight[m]) for m in (~positive, positive)]
        check_class_weights(np.array(totals), self.classes)
        return np.array(totals, dtype=np.float64)

    def balanced_weights(self) -> np.ndarray:
        """Return the sample weights scaled to sum to one in each class."""
        scaled = 1 / self.totals()[self.positive().astype(np.intp)]
        return scaled if self.sample_weight is None else self.sample_weight * scaled

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""
        weights, positive = self.balanced_weights(), self.positive()
        means, variances = np.zeros((2, self.n_features)), np.zeros((2, self.n_features))
        for c, members in enumerate((~positive, positive)):
            shift = None if sparse.issparse(self.X) else self.pullback(weights * (positive == c))
            means[c], variances[c] = column_moments(self.X, np.flatnonzero(members & (weights > 0)), weights, shift)
        return means, variances

    def reduce_scores(
        self, w: np.ndarray, function: Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]
    ) -> np.ndarray:
        """Return the sum of `function` of scores, mask of the positives and weights over blocks of rows."""

        def one_span(span: slice) -> np.ndarray:
            total: Any = 0
            for start in range(span.start, span.stop, BLOCK):
                part = slice(start, min(start + BLOCK, span.stop))
                weights = None if self.sample_weight is None else self.sample_weight[part]
                total = total + function(self.X[part] @ w, self.y[part] == self.classes[1], weights)
            return total

        return sum(map_spans(one_span, self.n_rows, BLOCK, self.n_features), np.zeros(()))
