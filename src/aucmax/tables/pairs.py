"""What an additive model is made of: the codes of the columns, the terms, and how strongly each is smoothed.

Which pairs of columns act together is found by a test of each pair on what the curves leave unexplained, as FAST does
(Lou, Caruana, Gehrke and Hooker, 2013). With the probabilities p of the additive model, a cell
of two columns has the sum r of the residuals y - p and the sum h of p (1 - p). A step of Newton's method for a value of
each cell would lower the deviance by the sum of r^2 / h, and one for the two curves alone by g'G^+ g, with the sums g
of r over rows and columns of cells and the matrix G of h. The difference is the score test for a pair: if the columns
do not act together it is about chi-squared, with (a - 1)(b - 1) degrees of freedom for a times b cells. A pair is
chosen if this is too large by chance alone among all pairs. The sums of all pairs are two joint sums of coarse codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from scipy.stats import chi2

from ..rows.protocol import InMemoryRows, Rows, Targets
from ..search.search import sample_in_memory
from .bins import Column
from .evidence import find_strengths
from .kernels import gather, joint_sums
from .terms import Basis, Term, cell_codes, coarse_term, edges_of, pair_term, single_term

LEVEL = 0.05  # the chance that any pair is chosen where none acts together
LEAST = 1.0  # the sum of p (1 - p) of a cell that counts


def find_pairs(
    codes: np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray,
    columns: Sequence[Column],
    allowed: np.ndarray,
    additive: np.ndarray,
) -> list[tuple[int, int]]:
    """Return the pairs of columns that act together, the clearest first.

    `codes` has the shape (n, p). Only columns whose numbers are `allowed` may be in a pair. `additive` are the log-odds
    of each row in a model without pairs.
    """
    terms = [coarse_term(int(j), columns[j]) for j in allowed]
    edges, cells, p = edges_of(terms), cell_codes(terms, codes), expit(additive)
    n_cells = int(edges[-1]) + 1
    residuals = joint_sums(cells, weights * (positive - p), n_cells)
    curvatures = joint_sums(cells, weights * p * (1 - p), n_cells)
    width = int(np.diff(edges).max(initial=0))
    places = edges[:-1, None] + np.arange(width)  # of a term's cells, then the empty last one
    places[places >= edges[1:, None]] = n_cells - 1
    residuals[-1], residuals[:, -1], curvatures[-1], curvatures[:, -1] = 0.0, 0.0, 0.0, 0.0
    found, n_pairs = [], len(terms) * (len(terms) - 1) // 2
    for a in range(len(terms) - 1):
        blocks = places[a, :, None], places[a + 1 :, None]
        surprises = log_chances(residuals[blocks], curvatures[blocks])
        for b in np.flatnonzero(surprises + np.log(n_pairs) < np.log(LEVEL)):
            found.append((float(surprises[b]), (int(allowed[a]), int(allowed[a + 1 + b]))))
    return [pair for _, pair in sorted(found)]


def log_chances(r: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the logarithms of the chances of residuals as large as these in the cells of two columns.

    `r` and `h`, of shape (B, a, b), are the sums of residuals and of p (1 - p) in the cells of B pairs.
    """
    used = h >= LEAST
    r, h = np.where(used, r, 0.0), np.where(used, h, 0.0)
    sums, totals = (np.concatenate([part.sum(axis=2), part.sum(axis=1)], axis=1) for part in (r, h))
    n, cells = h.shape[1], np.arange(totals.shape[1])
    G = np.zeros((*totals.shape, totals.shape[1]))
    G[:, cells, cells], G[:, :n, n:], G[:, n:, :n] = totals, h, h.transpose(0, 2, 1)
    main = np.einsum("ki,kij,kj->k", sums, np.linalg.pinv(G, hermitian=True), sums, optimize=True)
    freedom = np.count_nonzero(used, axis=(1, 2)) - np.count_nonzero(totals, axis=1) + 1
    gain = np.sum(np.divide(r**2, h, out=np.zeros_like(h), where=used), axis=(1, 2)) - main
    return np.where(freedom > 0, chi2.logsf(gain, np.maximum(freedom, 1)), 0.0)


MAX_CELLS = 1024  # of all curves together; as many again of all pairs
ENOUGH_ROWS = 25_000  # of each class, on which strengths and pairs are found


class Design(NamedTuple):
    """The terms of a model."""

    columns: list[Column]  # how the values of each column become codes
    terms: list[Term]  # first the terms of single columns in their order, then of pairs
    strengths: np.ndarray  # shape (n_terms,): the strengths of their penalties
    freedom: np.ndarray  # shape (n_terms,): the degrees of freedom of each curve
    values: np.ndarray  # shape (K,): the values of the cells as log-odds
    covariance: np.ndarray  # shape (K, K): the covariance of the values of the cells as log-odds

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
    """Return the terms of a model, from rows that are enough to find strengths and pairs.

    `pairs` is the largest number of pairs to find, "auto", or the pairs themselves. A column that must rise or fall, by
    `signs`, is in no pair that is found. All pairs that are found have at most `budget` cells.
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
