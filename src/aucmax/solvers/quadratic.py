"""The quadratic 1/2 v'Mv - delta.v behind the square loss, as sparse fits and conjugate gradients see it.

Conventions
-----------
M and delta are those of X / scale (`solvers/square.py`), and so are the weights v. A sparse fit never needs all of M:
it asks for M v with few nonzeros in v, and for the block of M that a few columns make. Class moments answer from the
matrix itself, rows from products with X, so that M is never formed where it would not fit. A column that is constant
has an infinite scale, and a row and a column of zeros in M.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..data.moments import ClassMoments
from ..data.protocol import Rows
from ..losses.squared import square_curvature


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
    """M as X'HX of X / scale, by products with X.

    Parameters
    ----------
    rows : Rows
        Of both classes.
    scale, center, delta, diagonal : ndarray of shape (n_features,)
        What the columns are divided by, half-way between the class means, and delta and the diagonal of M.
    """

    def __init__(
        self, rows: Rows, scale: np.ndarray, center: np.ndarray, delta: np.ndarray, diagonal: np.ndarray
    ) -> None:
        self.rows, self.scale, self.center, self.delta, self.diagonal = rows, scale, center, delta, diagonal

    def matvec(self, v: np.ndarray) -> np.ndarray:
        """Return M @ v."""
        g = square_curvature(self.rows, self.rows.scores(v / self.scale))
        return self.rows.pullback(g, self.center) / self.scale

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        full = np.zeros(self.rows.n_features)
        full[columns] = v
        return self.matvec(full)

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns], from the class moments of these columns."""
        M = self.rows.columns(columns).moments().pair_scatter()
        M /= self.scale[columns]
        M /= self.scale[columns, None]
        return M
