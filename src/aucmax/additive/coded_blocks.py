"""Rows of numbers as codes, wherever they are stored.

The values of a block become codes, and its matrix is D T as in `rows.py`, never made: products and class moments are
sums over codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.protocol import InMemoryRows, Rows, Targets, is_in_memory
from .bins import Column
from .design import as_dense, encode, weights_of
from .rows import CodedMatrix, CodedRows
from .terms import Basis, Term, cell_codes
from .value_counts import Values, add_values, finish_counts, limit_of, merge_counts, no_values

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
    """How the values of rows become codes: a :class:`aucmax.data.blocks.CompactChange`.

    Attributes
    ----------
    columns : sequence of Column
        How the values of each column become codes.
    terms : sequence of Term
        The terms of the model.
    basis : Basis
        The basis of its values.
    """

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
