"""Scores counted in cells: their AUC and their calibration, in memory that does not grow with the rows.

A score s falls into one of N cells by u = z / (1 + |z|), z = (s - center) / scale: the cells lie close where the scores
do, and none lies beyond the last. Two scores of one cell count as a tie, so the AUC is off by less than half the share
of the pairs that meet in a cell, and since the densities hardly change inside a cell, most of that cancels (18 million
rows: 7e-8 were left with 2^14 cells, 4e-8 with 2^16).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..selection.calibration import Calibration, calibrate

MOST_CELLS, FEWEST_CELLS = 1 << 16, 1 << 10


def count_of_cells(n_models: int, memory: float) -> int:
    """Return the number of cells, a power of 2, that so many models may have in so many bytes."""
    affordable = 1 << max(int(np.log2(memory / (16 * n_models))), 0)
    return int(np.clip(affordable, FEWEST_CELLS, MOST_CELLS))


class Cells(NamedTuple):
    """Counts of the scores of L models.

    Attributes
    ----------
    center, scale : ndarray of shape (L,)
        Where the cells lie.
    counts : ndarray of int64, shape (L, 2, N)
        How many rows of each class fell into each.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.streaming.cells import Cells
    >>> cells = Cells.around(np.zeros(1), np.ones(1))
    >>> cells.add(np.array([[0.1], [0.4], [0.35], [0.8]]), np.array([False, False, True, True]))
    >>> cells.auc()
    array([0.75])
    """

    center: np.ndarray
    scale: np.ndarray
    counts: np.ndarray

    @classmethod
    def around(cls, center: np.ndarray, scale: np.ndarray, n_cells: int = MOST_CELLS) -> Cells:
        """Return empty cells; a scale of 0 counts as 1."""
        return cls(center, np.where(scale > 0, scale, 1.0), np.zeros((len(center), 2, n_cells), dtype=np.int64))

    def add(self, scores: np.ndarray, positive: np.ndarray) -> None:
        """Count the scores of new rows, of shape (n, L), in place."""
        from ..data.kernels import count_cells

        if not np.isfinite(scores).all():
            raise ValueError("The scores overflow: divide the largest columns of X by a power of ten.")
        count_cells(np.ascontiguousarray(scores), positive, self.center, self.scale, self.counts)

    def of_model(self, k: int) -> Cells:
        """Return the cells of one model, with its scores measured from their center."""
        return Cells(np.zeros(1), self.scale[k : k + 1], self.counts[k : k + 1])

    def auc(self) -> np.ndarray:
        """Return the AUC of each model."""
        below = np.cumsum(self.counts[:, 0], axis=1) - 0.5 * self.counts[:, 0]
        pairs = self.counts.sum(axis=2).prod(axis=1, dtype=np.float64)
        return np.einsum("lk,lk->l", below, self.counts[:, 1].astype(np.float64)) / pairs

    @classmethod
    def stack(cls, parts: Sequence[Cells]) -> Cells:
        """Return the cells of all models together."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def calibrate(self, shift: float = 0.0) -> Calibration:
        """Return the logistic curve of the scores plus `shift`, all models' together."""
        edge = np.linspace(-1, 1, self.counts.shape[2] + 1)
        u = 0.5 * (edge[:-1] + edge[1:])
        points = self.center[:, None] + self.scale[:, None] * (u / (1 - np.abs(u))) + shift
        used = self.counts > 0
        points = np.broadcast_to(points[:, None], used.shape)[used]
        positive = np.broadcast_to(np.array([False, True])[:, None], used.shape)[used]
        return calibrate(points, positive, self.counts[used].astype(np.float64))
