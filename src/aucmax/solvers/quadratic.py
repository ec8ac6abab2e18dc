"""The quadratic 1/2 v'Mv - delta.v behind the square loss, as sparse fits and conjugate gradients see it.

Conventions
-----------
M and delta are those of X / scale (`solvers/squared.py`), and so are the weights v. A sparse fit never needs all of M:
it asks for M v with few nonzeros in v, and for the block of M that a few columns make. Class moments answer from the
matrix itself, rows from products with X, so that M is never formed where it would not fit. A column that is constant
has an infinite scale, and a row and a column of zeros in M.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from ..data.moments import ClassMoments
from ..data.old_rows import Rows


class Quadratic(Protocol):
    """What a sparse fit asks of M and delta; `columns` are sorted column numbers."""

    delta: np.ndarray

    @property
    def diagonal(self) -> np.ndarray: ...  # noqa: D102
    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray: ...  # noqa: D102
    def block(self, columns: np.ndarray) -> np.ndarray: ...  # noqa: D102


class MomentQuadratic:
    """M itself, from the class moments of X / scale."""

    def __init__(self, moments: ClassMoments) -> None:
        self.M, self.delta = moments.pair_scatter(), moments.delta

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of M."""
        return np.diagonal(self.M)

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        return v @ self.M[columns]  # rows of a symmetric matrix: they lie together in memory

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns]."""
        return self.M[np.ix_(columns, columns)]


class RowQuadratic:
    """M as X'HX of X / scale, by products with X."""

    def __init__(self, rows: Rows, scale: np.ndarray) -> None:
        self.rows, self.scale = rows, scale
        self.weights, self.positive = rows.balanced_weights(), rows.positive()
        self.signs = np.where(self.positive, self.weights, -self.weights)
        self.center = rows.pullback(self.weights) / 2
        self.delta = rows.pullback(self.signs) / scale

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of M."""
        means, variances = self.rows.column_statistics()
        return (variances.sum(axis=0) + (means[1] - means[0]) ** 2) / self.scale**2

    def matvec(self, v: np.ndarray) -> np.ndarray:
        """Return M @ v."""
        weights, positive = self.weights, self.positive
        s = self.rows.scores(v / self.scale)
        upper, lower = weights[positive] @ s[positive], weights[~positive] @ s[~positive]
        g = weights * (s - np.where(positive, upper, lower)) + self.signs * (upper - lower)
        # g sums to zero but for rounding, which columns far from zero would magnify.
        return (self.rows.pullback(g) - g.sum() * self.center) / self.scale

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        full = np.zeros(self.rows.n_features)
        full[columns] = v
        return self.matvec(full)

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns], from the class moments of these columns."""
        rows = self.rows
        part = Rows(rows.X[:, columns], rows.y, rows.classes, rows.sample_weight)
        M = part.moments()[0].pair_scatter()
        M /= self.scale[columns]
        M /= self.scale[columns, None]
        return M
