"""Rows as codes, behind the row interface: the rows of an additive model in the coordinates of its basis.

The matrix of these rows is D T: the indicator columns of all cells times the basis. It is dense, with K columns; the
codes are q integers for each row, one for each term. So products with the matrix take q additions for a row instead of
K, and class moments q^2 / 2 instead of K^2. All solvers, paths, losses and blends see rows through the protocol, and
work unchanged.

Rows that are read by blocks become codes block by block (`Coding`). The matrix of a block is never made either.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..rows.memory import MemoryRows
from ..rows.protocol import InMemoryRows, Rows, Targets, is_in_memory
from ..rows.summaries.moments import ClassMoments
from .bins import Column, Values, add_values, finish_counts, limit_of, merge_counts, no_values
from .kernels import gather, joint_sums, scatter
from .pairs import as_dense, encode, weights_of
from .terms import Basis, Term, cell_codes


def products(codes: np.ndarray, basis: Basis, w: np.ndarray) -> np.ndarray:
    """Return D T w for w of shape (K,) or (K, L)."""
    values = np.append(basis.values(w), np.zeros((1, *w.shape[1:])), axis=0)
    if w.ndim == 1:
        return gather(codes, values)
    return np.array([gather(codes, np.ascontiguousarray(column)) for column in values.T]).T


def rmatvecs(codes: np.ndarray, basis: Basis, g: np.ndarray) -> np.ndarray:
    """Return T'D'g for g of shape (n,) or (n, L)."""
    if g.ndim == 1:
        return basis.rmatvec(scatter(codes, g, basis.n_cells + 1)[:-1])
    return np.array([rmatvecs(codes, basis, np.ascontiguousarray(column)) for column in g.T]).T


def dense_matrix(codes: np.ndarray, basis: Basis) -> np.ndarray:
    """Return D T, shape (n, K)."""
    table, edges = np.zeros((basis.n_cells + 1, basis.n_cells)), basis.edges
    for a, b, T in zip(edges[:-1], edges[1:], basis.blocks, strict=True):
        table[a:b, a:b] = T
    matrix = np.zeros((len(codes), basis.n_cells))
    for t, (a, b) in enumerate(itertools.pairwise(edges)):
        matrix[:, a:b] = table[codes[:, t], a:b]
    return matrix


def cell_moments(
    codes: np.ndarray, basis: Basis, positive: np.ndarray, sample_weight: np.ndarray | None, classes: np.ndarray
) -> ClassMoments:
    """Return the class moments of D T, from the joint sums of the codes."""
    moments, K = ClassMoments(basis.n_cells, classes), basis.n_cells
    weights = np.ones(len(codes)) if sample_weight is None else sample_weight
    for c, side in enumerate((~positive, positive)):
        some, ours = codes[side], weights[side]
        total = float(ours.sum())
        if total > 0:
            mean = scatter(some, ours, K + 1)[:K] / total
            moments.weight[c], moments.mean[c] = total, basis.rmatvec(mean)
            basis.pull_scatter(joint_sums(some, ours, K + 1), total, mean, moments.scatter[c])
    return moments


class CodedOperator:
    """The matrix (D T - center) / scale of some rows, which is never made: it multiplies, and takes rows.

    `codes`, of shape (n, n_terms), has the cell of each row in each term.
    """

    __array_ufunc__ = None  # G @ self is ours

    def __init__(self, codes: np.ndarray, basis: Basis, scale: np.ndarray, center: np.ndarray) -> None:
        self.codes, self.basis, self.scale, self.center = codes, basis, scale, center
        self.shape = len(codes), basis.n_cells

    def __getitem__(self, rows: Any) -> CodedOperator:
        return CodedOperator(self.codes[rows], self.basis, self.scale, self.center)

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        W = W / self.scale[:, None]
        return products(self.codes, self.basis, W) - self.center @ W

    def __rmatmul__(self, G: np.ndarray) -> np.ndarray:
        pulled = rmatvecs(self.codes, self.basis, G.T).T
        return (pulled - np.multiply.outer(G.sum(axis=1), self.center)) / self.scale

    def astype(self, dtype: Any) -> CodedOperator:
        """Return the matrix itself: there are no entries to convert."""
        return self


class CodedMatrix:
    """The matrix D T of a block, as far as passes need it; `codes` has the cell of each row in each term."""

    def __init__(self, codes: np.ndarray, basis: Basis) -> None:
        self.codes, self.basis = codes, basis
        self.shape, self.size = (len(codes), basis.n_cells), codes.size

    def __len__(self) -> int:
        return len(self.codes)

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        return products(self.codes, self.basis, w)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return dense_matrix(self.codes, self.basis).astype(dtype or np.float64, copy=False)

    def __getitem__(self, rows: Any) -> CodedMatrix:
        return CodedMatrix(self.codes[rows], self.basis)

    @property
    def T(self) -> CodedTranspose:
        """The transpose, for products."""
        return CodedTranspose(self)

    def class_moments(self, positive: np.ndarray, weights: np.ndarray | None) -> ClassMoments:
        """Return the class moments, with the classes False and True."""
        return cell_moments(self.codes, self.basis, positive, weights, np.array([False, True]))

    def class_columns(
        self, positive: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weight of each class, and mean and centred sum of squares of each column in it."""
        moments = self.class_moments(positive, weights)
        return moments.weight, moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2)

    def cell_mass(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of the rows in each cell."""
        return scatter(self.codes, weights, self.shape[1] + 1)[:-1]


class CodedTranspose(NamedTuple):
    """The transpose of a `CodedMatrix`."""

    matrix: CodedMatrix

    def __matmul__(self, g: np.ndarray) -> np.ndarray:
        return rmatvecs(self.matrix.codes, self.matrix.basis, g)


class CodedRows(MemoryRows):
    """The rows of a binary problem as codes: the cell of each row in each term, see `terms.cell_codes`.

    The other parameters are as in :class:`aucmax.rows.memory.MemoryRows`.
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

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores for w of shape (K,) or (K, L), columns contiguous."""
        return products(self.codes, self.basis, w)

    def rmatvec(self, g: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
        """Return the matrix transposed times g, for g of shape (n_rows,) or (n_rows, L); minus a center if given."""
        out = rmatvecs(self.codes, self.basis, g)
        return out if center is None else out - np.multiply.outer(center, g.sum(axis=0))

    def score_histogram(self, w: np.ndarray, moments: Any = None) -> Any:
        """Return the histogram of the scores."""
        return super().score_histogram(w)

    # Summaries of the columns

    def gather(self, name: str, empty: Callable[[], Any], add: Callable[[Any, Any, Targets], None], merge: Any) -> Any:
        """Return a summary of the matrix of all rows."""
        state = empty()
        add(state, CodedMatrix(self.codes, self.basis), self.targets)
        return state

    def values(self) -> np.ndarray:
        """Return the matrix."""
        return dense_matrix(self.codes, self.basis)

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""
        return cell_moments(self.codes, self.basis, self.targets.positive, self.sample_weight, self.classes)

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, K)."""
        shares, positive = self.targets.pair_weights, self.targets.positive
        sides = [scatter(self.codes, shares * side, self.n_features + 1)[:-1] for side in (~positive, positive)]
        means, variances = zip(*map(self.basis.statistics, sides), strict=True)
        return np.array(means), np.array(variances)

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows, centred and divided by scale."""
        return self.dense().gram(scale)

    def matrix(self, scale: np.ndarray, center: np.ndarray | None = None) -> np.ndarray:
        """Return the matrix, minus a center and divided by scale. Only samples need it."""
        return self.dense().matrix(scale, center)

    def as_operator(self, scale: np.ndarray, center: np.ndarray | None = None) -> CodedOperator:
        """Return what multiplies like `matrix`."""
        return CodedOperator(self.codes, self.basis, scale, np.zeros(self.n_features) if center is None else center)

    def dense(self) -> MemoryRows:
        """Return the same rows with their matrix."""
        matrix = dense_matrix(self.codes, self.basis)
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


State = dict[str, Any]


def summarise_values(rows: Rows) -> list[Values]:
    """Return the distinct values of each column: all of those in memory, and a summary if rows come block by block."""
    n_features = rows.n_features
    limit = rows.n_rows if rows.in_memory else limit_of(n_features)

    def add(state: State, X: Any, targets: Targets) -> None:
        X = as_dense(X)
        weights = weights_of(targets)
        for counts, x in zip(state["columns"], X.T, strict=True):
            add_values(counts, x, weights, limit)

    def merge(a: State, b: State) -> State:
        pairs = zip(a["columns"], b["columns"], strict=True)
        return {"columns": [merge_counts(first, second, limit) for first, second in pairs]}

    state = rows.gather("values", lambda: {"columns": [no_values() for _ in range(n_features)]}, add, merge)
    return [finish_counts(counts) for counts in state["columns"]]


def code_rows(rows: Rows, columns: Sequence[Column], terms: Sequence[Term], basis: Basis) -> Rows:
    """Return rows of numbers as codes, stored where they are."""
    coding = Coding(columns, terms, basis)
    return coding.of_rows(rows) if is_in_memory(rows) else rows.mapped(coding, basis.n_cells)


def cell_mass(rows: Rows) -> np.ndarray:
    """Return the weight of coded rows in each cell."""
    n_cells = rows.n_features

    def add(state: State, matrix: CodedMatrix, targets: Targets) -> None:
        state["mass"] = state["mass"] + matrix.cell_mass(weights_of(targets))

    def merge(a: State, b: State) -> State:
        return {"mass": a["mass"] + b["mass"]}

    return rows.gather("cells", lambda: {"mass": np.zeros(n_cells)}, add, merge)["mass"]


@dataclass(frozen=True)
class Coding:
    """How the values of rows become codes: a :class:`aucmax.rows.blocks.rows.CompactChange`."""

    columns: Sequence[Column]
    terms: Sequence[Term]
    basis: Basis

    @property
    def n_stored(self) -> int:
        """Number of codes of a row."""
        return len(self.terms)

    def codes(self, X: Any) -> np.ndarray:
        """Return the cell of each row in each term, shape (n, n_terms)."""
        return cell_codes(self.terms, encode(self.columns, X))

    def __call__(self, X: Any) -> CodedMatrix:
        """Return the matrix D T of a block of values."""
        return CodedMatrix(self.codes(X), self.basis)

    def of_rows(self, rows: InMemoryRows) -> CodedRows:
        """Return rows in memory as codes."""
        t = rows.targets
        labels = rows.classes[t.positive.astype(np.intp)]
        return CodedRows(self.codes(rows.values()), self.basis, labels, rows.classes, t.sample_weight, t.groups)
