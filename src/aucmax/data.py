"""Data in memory behind three verbs: moments, scores and pullback.

Batch solvers see rows through these verbs alone, so that whatever offers them (a file read by blocks, a
cluster, another device) is fitted by the same code. All results are float64, whatever the precision of X.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from .moments import ClassMoments, grouped_moments
from .threads import map_spans
from .validation import check_class_weights

BLOCK = 1 << 13


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

    # The three verbs

    def moments(self, folds: np.ndarray | None = None, n_folds: int = 1) -> list[ClassMoments]:
        """Return the class moments of each fold, in one pass."""
        return grouped_moments(self.X, self.y, self.classes, self.sample_weight, folds, n_folds)

    def scores(self, W: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return X[rows] @ W for W of shape (n_features,) or (n_features, L), columns contiguous."""
        n_rows = self.n_rows if rows is None else len(rows)
        out = np.empty((*W.shape[1:], n_rows))
        for start in range(0, n_rows, BLOCK):
            part = slice(start, start + BLOCK)
            block = self.X[part] if rows is None else self.X[rows[part]]
            out[..., part] = (block @ W).T
        return out.T

    def pullback(self, g: np.ndarray) -> np.ndarray:
        """Return X.T @ g for g of shape (n_rows,) or (n_rows, L)."""
        if sparse.issparse(self.X) or self.X.dtype == np.float64:
            return self.X.T @ g
        out = np.zeros((self.n_features, *g.shape[1:]))
        for start in range(0, self.n_rows, BLOCK):  # float32 would be converted as a whole
            out += self.X[start : start + BLOCK].T @ g[start : start + BLOCK]
        return out

    # What the solvers and the calibration ask besides

    def positive(self) -> np.ndarray:
        """Return the mask of the positives."""
        return self.y == self.classes[1]

    def balanced_weights(self) -> np.ndarray:
        """Return the sample weights scaled to sum to one in each class."""
        positive = self.positive()
        weights = np.ones(self.n_rows) if self.sample_weight is None else self.sample_weight
        totals = np.array([weights[~positive].sum(), weights[positive].sum()])
        check_class_weights(totals, self.classes)
        return weights / totals[positive.astype(np.intp)]

    def std(self) -> np.ndarray:
        """Return the standard deviation of each column, 1 where it is constant."""
        return StandardScaler(with_mean=False).fit(self.X, sample_weight=self.sample_weight).scale_

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
