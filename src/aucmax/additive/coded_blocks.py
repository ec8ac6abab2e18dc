"""Rows as codes that come block by block: from a file or a Dask collection, behind the same door as rows in memory.

The values of a block become codes, and its matrix is D T as in `rows.py`, never made: products and class moments are
sums over codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.blocks import BlockedRows, MappedRows
from ..data.memory import MemoryRows
from ..data.moments import ClassMoments
from ..data.passes import State
from ..data.protocol import Rows, Targets
from ..data.row_block import Sizes
from .bins import Column
from .design import as_dense, encode, values_of
from .kernels import scatter
from .rows import CodedRows, cell_moments, dense_matrix, products, pullbacks
from .terms import Basis, Term, cell_codes
from .value_counts import Values, add_values, finish_counts, limit_of, merge_counts, no_values


def summarise_values(rows: Any) -> list[Values]:
    """Return the distinct values of each column: all of those in memory, and a summary if rows come block by block."""
    n_features = rows.n_features
    limit = rows.n_rows if rows.in_memory else limit_of(n_features)

    def add(state: State, X: Any, targets: Targets) -> None:
        X = as_dense(X)
        weights = row_weights(X, targets)
        for counts, x in zip(state["columns"], X.T, strict=True):
            add_values(counts, x, weights, limit)

    def merge(a: State, b: State) -> State:
        pairs = zip(a["columns"], b["columns"], strict=True)
        return {"columns": [merge_counts(first, second, limit) for first, second in pairs]}

    state = rows.gather("values", lambda: {"columns": [no_values() for _ in range(n_features)]}, add, merge)
    return [finish_counts(counts) for counts in state["columns"]]


def row_weights(X: Any, targets: Targets) -> np.ndarray:
    """Return the weights of the rows of a matrix."""
    return np.ones(len(X)) if targets.sample_weight is None else targets.sample_weight


def code_rows(rows: Rows, columns: Sequence[Column], terms: Sequence[Term], basis: Basis) -> Any:
    """Return rows of numbers as codes, where they are."""
    coding = Coding(columns, terms, basis)
    if isinstance(rows, MemoryRows):
        return CodedRows(coding.codes(values_of(rows)), basis, rows.y, rows.classes, rows.sample_weight, rows.groups)
    assert isinstance(rows, BlockedRows)
    return CodedView(rows, coding)


class Coding(NamedTuple):
    """How the values of rows become codes.

    Attributes
    ----------
    columns, terms, basis
        Those of the model.
    """

    columns: Sequence[Column]
    terms: Sequence[Term]
    basis: Basis

    def codes(self, X: Any) -> np.ndarray:
        """Return the cell of each row in each term, shape (n, n_terms)."""
        return cell_codes(self.terms, encode(self.columns, X))

    def matrix(self, X: Any) -> CodedMatrix:
        """Return the matrix D T of a block of values."""
        return CodedMatrix(self.codes(X), self.basis)


class CodedMatrix:
    """The matrix D T of a block, as far as passes need it.

    Parameters
    ----------
    codes : ndarray of shape (n, n_terms)
        The cell of each row in each term.
    basis : Basis
        The basis, with K coordinates.
    """

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

    def class_moments(
        self, positive: np.ndarray, weights: np.ndarray | None, folds: np.ndarray | None, n_folds: int
    ) -> list[ClassMoments]:
        """Return the class moments of each fold, with the classes False and True."""
        found = []
        for fold in range(n_folds):
            chosen = np.ones(len(self), dtype=bool) if folds is None else folds == fold
            found.append(cell_moments(self.codes, self.basis, positive, weights, chosen, np.array([False, True])))
        return found

    def class_columns(
        self, positive: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weight of each class, and mean and centred sum of squares of each column in it."""
        (moments,) = self.class_moments(positive, weights, None, 1)
        return moments.weight, moments.mean, np.diagonal(moments.scatter, axis1=1, axis2=2)

    def cell_mass(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of the rows in each cell."""
        return scatter(self.codes, weights, self.shape[1] + 1)[:-1]


class CodedTranspose(NamedTuple):
    """The transpose of a `CodedMatrix`."""

    matrix: CodedMatrix

    def __matmul__(self, g: np.ndarray) -> np.ndarray:
        return pullbacks(self.matrix.codes, self.matrix.basis, g)


class CodedView(MappedRows):
    """The rows of others as codes.

    Parameters
    ----------
    parent : BlockedRows
        Rows of numbers, NaN where missing.
    coding : Coding
        How they become codes.
    """

    def __init__(self, parent: BlockedRows, coding: Coding) -> None:
        super().__init__(parent, coding.matrix, coding.basis.n_cells)
        self.coding, self.basis = coding, coding.basis

    @property
    def _sizes(self) -> Sizes:
        return super()._sizes._replace(n_values=self.parent.n_rows * len(self.coding.terms))

    def cell_mass(self) -> np.ndarray:
        """Return the weight of the rows in each cell."""
        n_cells = self.n_features

        def add(state: State, matrix: CodedMatrix, targets: Targets) -> None:
            state["mass"] = state["mass"] + matrix.cell_mass(row_weights(matrix, targets))

        def merge(a: State, b: State) -> State:
            return {"mass": a["mass"] + b["mass"]}

        return self.gather("cells", lambda: {"mass": np.zeros(n_cells)}, add, merge)["mass"]

    def sample(self, n_each: int) -> Rows:
        """Return at most `n_each` rows of each class, always the same ones; in memory, unless they are too large."""
        return code_rows(self.parent.sample(n_each), *self.coding)

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows, centred and divided by scale; the rows are read into memory."""
        rows = self.sample(int(self.counts.max()))
        return rows.gram(scale) if rows is not self else super().gram(scale)
