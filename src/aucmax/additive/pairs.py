"""Which pairs of columns act together: a test of each pair on what the curves leave unexplained.

The idea is that of FAST (Lou, Caruana, Gehrke and Hooker, 2013). With the probabilities p of the additive model, a cell
of two columns has the sum r of the residuals y - p and the sum h of p (1 - p). A step of Newton's method for a value of
each cell would lower the deviance by the sum of r^2 / h, and one for the two curves alone by g'G^+ g, with the sums g
of r over rows and columns of cells and the matrix G of h. The difference is the score test for a pair: if the columns
do not act together it is about chi-squared, with (a - 1)(b - 1) degrees of freedom for a times b cells. A pair is
chosen if this is too large by chance alone among all pairs. The sums of all pairs are two joint sums of coarse codes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from .bins import Column
from .kernels import joint_sums
from .terms import cell_codes, coarse_term, edges_of

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

    Parameters
    ----------
    codes : ndarray of shape (n, p)
        The code of each row in each column.
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    weights : ndarray of shape (n,)
        How often each row counts.
    columns : sequence of p Column
        The columns.
    allowed : ndarray of int
        The numbers of the columns that may be in a pair.
    additive : ndarray of shape (n,)
        The log-odds of each row in a model without pairs.

    Returns
    -------
    pairs : list of (int, int)
        The numbers of the columns of each pair.
    """
    terms = [coarse_term(int(j), columns[j]) for j in allowed]
    edges, cells, p = edges_of(terms), cell_codes(terms, codes), expit(additive)
    n_cells = int(edges[-1]) + 1
    residuals = joint_sums(cells, weights * (positive - p), n_cells)
    curvatures = joint_sums(cells, weights * p * (1 - p), n_cells)
    found, n_pairs = [], len(terms) * (len(terms) - 1) // 2
    for a, b in itertools.combinations(range(len(terms)), 2):
        block = slice(edges[a], edges[a + 1]), slice(edges[b], edges[b + 1])
        surprise = log_chance(residuals[block], curvatures[block])
        if surprise + np.log(n_pairs) < np.log(LEVEL):
            found.append((surprise, (int(allowed[a]), int(allowed[b]))))
    return [pair for _, pair in sorted(found)]


def log_chance(r: np.ndarray, h: np.ndarray) -> float:
    """Return the logarithm of the chance of residuals as large as these in the cells of two columns."""
    used = h >= LEAST
    r, h = np.where(used, r, 0.0), np.where(used, h, 0.0)
    sums, totals = np.append(r.sum(axis=1), r.sum(axis=0)), np.append(h.sum(axis=1), h.sum(axis=0))
    G = np.diag(totals)
    G[: len(h), len(h) :], G[len(h) :, : len(h)] = h, h.T
    main = sums @ np.linalg.pinv(G, hermitian=True) @ sums
    freedom = np.count_nonzero(used) - np.count_nonzero(totals) + 1
    return float(chi2.logsf(np.sum(r[used] ** 2 / h[used]) - main, freedom)) if freedom > 0 else 0.0
