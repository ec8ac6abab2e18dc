"""What an additive model is made of: the codes of the columns, the terms, and how strongly each is smoothed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.memory import MemoryRows
from .bins import Column, find_columns
from .terms import Term, cell_codes, edges_of, pair_term, single_term

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
    mass : ndarray of shape (K,)
        The weight of the training rows in each cell.
    errors : ndarray of shape (K,)
        The standard errors of the values of the cells as log-odds, each curve less its mean.
    codes : ndarray of shape (n, n_terms)
        The cell of each training row in each term.
    """

    columns: list[Column]
    terms: list[Term]
    strengths: np.ndarray
    freedom: np.ndarray
    mass: np.ndarray
    errors: np.ndarray
    codes: np.ndarray


def encode(columns: Sequence[Column], X: np.ndarray) -> np.ndarray:
    """Return the code of each value, shape (n, p)."""
    return np.column_stack([column.encode(x) for column, x in zip(columns, X.T, strict=True)])


def make_design(
    rows: MemoryRows, X: np.ndarray, categorical: np.ndarray, max_bins: int, pairs: Any, signs: np.ndarray
) -> Design:
    """Return the terms of a model of these rows.

    Parameters
    ----------
    rows : MemoryRows
        The rows, for their classes and weights.
    X : ndarray of shape (n, p)
        Their values, NaN where missing.
    categorical : ndarray of bool, shape (p,)
        Which columns are categories.
    max_bins : int
        The largest number of bins of a column.
    pairs : int, "auto" or list of (int, int)
        The largest number of pairs to find, or the pairs.
    signs : ndarray of int, shape (p,)
        The shape of each column; one that must rise or fall is in no pair that is found.

    Returns
    -------
    design : Design
        The terms.
    """
    from .evidence import find_strengths
    from .kernels import gather, scatter
    from .pairs import find_pairs

    weights = np.ones(len(X)) if rows.sample_weight is None else rows.sample_weight
    columns = find_columns(X, categorical, weights, max_bins, MAX_CELLS)
    codes, terms = encode(columns, X), [single_term(j, column) for j, column in enumerate(columns)]
    some = sample_rows(rows)
    positive, counts = rows.targets.positive[some], weights[some]
    found = find_strengths(cell_codes(terms, codes[some]), positive, counts, terms, columns)
    if isinstance(pairs, str | int) and pairs:
        additive = gather(cell_codes(terms, codes[some]), np.append(found.values, 0.0)) + found.offset
        allowed = np.flatnonzero((signs == 0) & (found.freedom > 0))
        clear = find_pairs(codes[some], positive, counts, columns, allowed, additive)
        chosen = clear if pairs == "auto" else clear[: int(pairs)]
    else:
        chosen = list(pairs or ())
    added = [pair_term(pair, columns) for pair in chosen]
    within = np.cumsum([term.n_cells for term in added]) <= MAX_CELLS
    if added and (isinstance(pairs, list) or within.any()):
        terms += added if isinstance(pairs, list) else list(itertools.compress(added, within))
        found = find_strengths(cell_codes(terms, codes[some]), positive, counts, terms, columns, found)
    cells = cell_codes(terms, codes)
    mass = scatter(cells, weights, int(edges_of(terms)[-1]) + 1)[:-1]
    errors = centred_errors(found.covariance, mass, edges_of(terms))
    return Design(columns, terms, found.strengths, found.freedom, mass, errors, cells)


def sample_rows(rows: MemoryRows) -> np.ndarray:
    """Return the numbers of rows that are enough to find strengths and pairs: all if there are few."""
    positive, parts = rows.targets.positive, []
    for side in (~positive, positive):
        members = np.flatnonzero(side)
        parts.append(members[:: max(1, -(-len(members) // ENOUGH_ROWS))])
    return np.sort(np.concatenate(parts))


def centred_errors(covariance: np.ndarray, mass: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the standard errors of the values of each curve less its mean over the training rows."""
    errors = np.empty(len(mass))
    for a, b in itertools.pairwise(edges):
        V, share = covariance[a:b, a:b], mass[a:b] / max(mass[a:b].sum(), 1e-300)
        pull = V @ share
        errors[a:b] = np.sqrt(np.maximum(np.diag(V) - 2 * pull + share @ pull, 0))
    return errors
