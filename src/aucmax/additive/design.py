"""What an additive model is made of: the codes of the columns, the terms, and how strongly each is smoothed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..data.protocol import InMemoryRows, Rows, Targets
from ..selection.blend import sample_in_memory
from .bins import Column
from .evidence import find_strengths
from .kernels import gather
from .pairs import find_pairs
from .terms import Basis, Term, cell_codes, pair_term, single_term

MAX_CELLS = 1024  # of all curves together; as many again of all pairs
ENOUGH_ROWS = 25_000  # of each class, on which strengths and pairs are found


class Design(NamedTuple):
    """The terms of a model.

    Attributes
    ----------
    columns : list of Column
        How the values of each column become codes.
    terms : list of Term
        Those of single columns in their order, then those of pairs.
    strengths : ndarray of shape (n_terms,)
        The strengths of their penalties.
    freedom : ndarray of shape (n_terms,)
        The degrees of freedom of each curve.
    values : ndarray of shape (K,)
        The values of the cells as log-odds.
    covariance : ndarray of shape (K, K)
        The covariance of the values of the cells as log-odds.
    """

    columns: list[Column]
    terms: list[Term]
    strengths: np.ndarray
    freedom: np.ndarray
    values: np.ndarray
    covariance: np.ndarray

    @property
    def basis(self) -> Basis:
        """The coordinates in which the penalty is a squared norm."""
        return Basis(self.terms, self.columns, self.strengths)


def as_dense(X: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return X.toarray() if sparse.issparse(X) else X


def weights_of(targets: Targets) -> np.ndarray:
    """Return the weights of rows."""
    return np.ones(len(targets.positive)) if targets.sample_weight is None else targets.sample_weight


def encode(columns: Sequence[Column], X: Any) -> np.ndarray:
    """Return the code of each value, shape (n, p)."""
    return np.column_stack([column.encode(x) for column, x in zip(columns, as_dense(X).T, strict=True)])


def make_design(
    rows: InMemoryRows, columns: list[Column], pairs: Any, signs: np.ndarray, budget: int = MAX_CELLS
) -> Design:
    """Return the terms of a model.

    Parameters
    ----------
    rows : InMemoryRows
        Rows that are enough to find strengths and pairs; their values are NaN where missing.
    columns : list of p Column
        How their values become codes.
    pairs : int, "auto" or list of (int, int)
        The largest number of pairs to find, or the pairs.
    signs : ndarray of int, shape (p,)
        The shape of each column; one that must rise or fall is in no pair that is found.
    budget : int, default=MAX_CELLS
        The largest number of cells of all pairs that are found.

    Returns
    -------
    design : Design
        The terms.
    """
    weights, positive = weights_of(rows.targets), rows.targets.positive
    codes, terms = encode(columns, rows.values()), [single_term(j, column) for j, column in enumerate(columns)]
    found = find_strengths(cell_codes(terms, codes), positive, weights, terms, columns)
    if isinstance(pairs, str | int) and pairs:
        additive = gather(cell_codes(terms, codes), np.append(found.values, 0.0)) + found.offset
        allowed = np.flatnonzero((signs == 0) & (found.freedom > 0))
        clear = find_pairs(codes, positive, weights, columns, allowed, additive)
        chosen = clear if pairs == "auto" else clear[: int(pairs)]
    else:
        chosen = list(pairs or ())
    added = [pair_term(pair, columns) for pair in chosen]
    within = np.cumsum([term.n_cells for term in added]) <= budget
    if added and (isinstance(pairs, list) or within.any()):
        terms += added if isinstance(pairs, list) else list(itertools.compress(added, within))
        found = find_strengths(cell_codes(terms, codes), positive, weights, terms, columns, found)
    return Design(columns, terms, found.strengths, found.freedom, found.values, found.covariance)


def draw_sample(rows: Rows) -> InMemoryRows:
    """Return rows in memory that are enough to find strengths and pairs: all if there are few."""
    return sample_in_memory(rows, ENOUGH_ROWS)
