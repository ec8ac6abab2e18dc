"""Rows as codes, behind the door: the rows of an additive model in the coordinates of its basis.

The matrix of these rows is D T: the indicator columns of all cells times the basis. It is dense, with K columns; the
codes are q integers for each row, one for each term. So products with the matrix take q additions for a row instead of
K, and class moments q^2 / 2 instead of K^2. All solvers, paths, losses and blends see rows through the protocol, and
work unchanged.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.memory import MemoryRows
from ..data.moments import ClassMoments
from ..data.protocol import Round
from .kernels import gather, joint_sums, scatter
from .terms import Basis


class CodedRows(MemoryRows):
    """The rows of a binary problem as codes.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_terms)
        The cell of each row in each term; see `terms.cell_codes`.
    basis : Basis
        The basis.
    y, classes, sample_weight, groups
        As in :class:`aucmax.data.memory.MemoryRows`.
    """

    def __init__(
        self,
        codes: np.ndarray,
        basis: Basis,
        y: np.ndarray,
        classes: np.ndarray,
        sample_weight: np.ndarray | None = None,
        groups: np.ndarray | None = None,
    ) -> None:
        super().__init__(codes, y, classes, sample_weight, groups)
        self.codes, self.basis = codes, basis
        self.n_features = basis.n_cells

    @property
    def row_length(self) -> float:
        """Number of additions for a row, in a product."""
        return float(self.codes.shape[1])

    # From columns to scores and back

    def scores(self, w: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of all rows, or of some, for w of shape (K,) or (K, L), columns contiguous."""
        codes = self.codes if rows is None else self.codes[rows]
        values = np.append(self.basis.values(w), np.zeros((1, *w.shape[1:])), axis=0)
        if w.ndim == 1:
            return gather(codes, values)
        return np.array([gather(codes, np.ascontiguousarray(column)) for column in values.T]).T

    def pullback(self, g: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
        """Return the matrix transposed times g, for g of shape (n_rows,) or (n_rows, L); minus a center if given."""
        parts = np.ascontiguousarray(g.T).reshape(-1, self.n_rows)
        columns = [self.cell_totals(part) for part in parts]
        out = self.basis.pullback(np.array(columns).T).reshape(-1, *g.shape[1:])
        return out if center is None else out - np.multiply.outer(center, g.sum(axis=0))

    def score_histogram(self, w: np.ndarray, moments: Any = None) -> Any:
        """Return the histogram of the scores."""
        return super().score_histogram(w)

    # The same in the values of cells instead of coordinates

    def cell_scores(self, f: np.ndarray) -> np.ndarray:
        """Return the scores for the values f of all cells."""
        return gather(self.codes, np.append(f, 0.0))

    def cell_totals(self, g: np.ndarray) -> np.ndarray:
        """Return the sum of g over the rows of each cell."""
        return scatter(self.codes, g, self.n_features + 1)[:-1]

    def cell_sums(self, g: np.ndarray) -> np.ndarray:
        """Return the sum of g over the rows of each pair of cells; the last row and column are those of all rows."""
        sums = joint_sums(self.codes, g, self.n_features + 1)
        sums[-1, :-1] = sums[:-1, -1] = self.cell_totals(g)
        sums[-1, -1] = g.sum()
        return sums

    # Summaries of the columns

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""
        return self._moments(np.ones(self.n_rows, dtype=bool))

    def fold_moments(self, rounds: Sequence[Round]) -> list[list[ClassMoments]]:
        """Return the class moments of each part of each round."""
        return [[self._moments(round.parts == part) for part in range(round.n_parts)] for round in rounds]

    def _moments(self, chosen: np.ndarray) -> ClassMoments:
        """Return the class moments of some rows, from the joint sums of their codes."""
        moments, K = ClassMoments(self.n_features, self.classes), self.n_features
        positive = self.targets.positive
        weights = np.ones(self.n_rows) if self.sample_weight is None else self.sample_weight
        for c, side in enumerate((~positive, positive)):
            members = np.flatnonzero(chosen & side)
            codes, ours = self.codes[members], weights[members]
            total = float(ours.sum())
            if total > 0:
                mean = scatter(codes, ours, K + 1)[:K] / total
                squares = joint_sums(codes, ours, K + 1)[:K, :K] - np.outer(total * mean, mean)
                squares = self.basis.pullback(self.basis.pullback(squares).T)
                moments.weight[c], moments.mean[c] = total, self.basis.pullback(mean)
                moments.scatter[c] = (squares + squares.T) / 2
        return moments

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, K)."""
        moments = self.moments()
        return moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2) / moments.weight[:, None]

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows, centred and divided by scale."""
        return self.dense().gram(scale)

    def matrix(self, scale: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
        """Return the matrix, minus a center and divided by scale. Only samples need it."""
        return self.dense().matrix(scale, center)

    def dense(self) -> MemoryRows:
        """Return the same rows with their matrix."""
        table, edges = np.zeros((self.n_features + 1, self.n_features)), self.basis.edges
        for a, b, T in zip(edges[:-1], edges[1:], self.basis.blocks, strict=True):
            table[a:b, a:b] = T
        matrix = np.zeros((self.n_rows, self.n_features))
        for t, (a, b) in enumerate(itertools.pairwise(edges)):
            matrix[:, a:b] = table[self.codes[:, t], a:b]
        return MemoryRows(matrix, self.y, self.classes, self.sample_weight, self.groups)

    # Other views of the same rows

    def take(self, rows: np.ndarray) -> CodedRows:
        """Return rows by their numbers."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return CodedRows(self.codes[rows], self.basis, self.y[rows], self.classes, weights, groups)

    def columns(self, columns: np.ndarray) -> MemoryRows:
        """Return the same rows with some of their coordinates."""
        return self.dense().columns(columns)

    def reweighted(self, weights: np.ndarray) -> CodedRows:
        """Return the same rows with other weights."""
        return CodedRows(self.codes, self.basis, self.y, self.classes, weights, self.groups)

    def shifted(self, shift: np.ndarray) -> MemoryRows:
        """Return the rows minus a shift."""
        return self.dense().shifted(shift)
