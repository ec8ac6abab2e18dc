"""The quadratic form 1/2 v'Mv - delta.v of the square loss, for sparse fits and conjugate gradients.

Conventions
-----------
M, delta and the weights v belong to X / scale (`solvers/square.py`). A sparse fit never needs all of M: it needs M v
with few nonzeros in v, and the block of M of a few columns. Class moments give these from the matrix M itself, rows
from products with X, so that M is not formed where it would not fit into memory. A constant column has an infinite
scale, so its row and column of M are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..losses.squared import square_curvature
from ..rows.protocol import Rows
from ..rows.summaries.moments import ClassMoments


class Quadratic(Protocol):
    """The diagonal of M, products and blocks of M, and delta; `columns` are sorted column numbers."""

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
        return v @ self.M[columns]  # M is symmetric, and its rows are contiguous in memory

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns]."""
        return self.M[np.ix_(columns, columns)]


@dataclass
class RowQuadratic:
    """M = X'HX of X / scale, by products with X."""

    rows: Rows
    scale: np.ndarray
    center: np.ndarray  # half-way between the class means
    delta: np.ndarray
    diagonal: np.ndarray
    shares: np.ndarray  # (2,): the factors of the two covariances in M

    def matvec(self, v: np.ndarray) -> np.ndarray:
        """Return M @ v."""
        g = square_curvature(self.rows, self.rows.scores(v / self.scale), self.shares)
        return self.rows.rmatvec(g, self.center) / self.scale

    def product(self, columns: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return M[:, columns] @ v."""
        full = np.zeros(self.rows.n_features)
        full[columns] = v
        return self.matvec(full)

    def block(self, columns: np.ndarray) -> np.ndarray:
        """Return M[columns][:, columns], from the class moments of these columns."""
        moments = self.rows.columns(columns).moments()
        M = (moments.pooled() if np.ptp(self.shares) else moments).pair_scatter()
        M /= self.scale[columns]
        M /= self.scale[columns, None]
        return M
