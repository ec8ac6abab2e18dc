"""Which pairs of columns act together: a score test of each pair on what the fitted terms leave unexplained.

This is the idea of FAST (Lou, Caruana, Gehrke and Hooker, 2013). With the probabilities p of a model, a cell of two
columns has the sum r of the residuals y - p and the sum h of p (1 - p). A step of Newton's method for a value of each
cell would lower the deviance by the sum of r^2 / h, and one for the two curves alone by g'G^+ g, with the sums g of r
over rows and columns of cells and the matrix G of h. The difference is the statistic of the pair: if the columns do not
act together it is about chi-squared, with (a - 1)(b - 1) degrees of freedom for a times b cells. The sums of all pairs
are two joint sums of coarse codes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..bins import Column
from ..kernels import add_pairs
from ..terms import Term, cell_codes, edges_of, group_codes

COARSE = 8  # groups of a column
LEAST = 1.0  # the sum of p (1 - p) of a cell that counts


def rank_pairs(
    codes: np.ndarray, r: np.ndarray, h: np.ndarray, columns: Sequence[Column], allowed: np.ndarray
) -> list[tuple[int, int]]:
    """Return all pairs of columns, those that act together most clearly first.

    `codes` has the shape (n, p); r and h belong to the rows. Only columns whose numbers are `allowed` are in a pair.
    """
    coarse = {int(j): group_codes(columns[j], COARSE) for j in allowed}
    terms = [Term((j,), (groups,), (int(groups.max(initial=-1)) + 1,)) for j, groups in coarse.items()]
    if len(terms) < 2:
        return []
    edges, cells = edges_of(terms), cell_codes(terms, codes)
    n_cells = int(edges[-1]) + 1
    residuals, curvatures = np.zeros((2, n_cells, n_cells))
    add_pairs(cells, r, residuals)
    add_pairs(cells, h, curvatures)
    width = int(np.diff(edges).max())
    places = edges[:-1, None] + np.arange(width)  # of a term's cells, then the empty last one
    places[places >= edges[1:, None]] = n_cells - 1
    residuals[-1], residuals[:, -1], curvatures[-1], curvatures[:, -1] = 0.0, 0.0, 0.0, 0.0
    found = []
    for a in range(len(terms) - 1):
        blocks = places[a + 1 :, :, None], places[a, None, :]
        for b, z in enumerate(surprises(residuals[blocks], curvatures[blocks]).tolist(), a + 1):
            found.append((-z, (int(allowed[a]), int(allowed[b]))))
    return [pair for _, pair in sorted(found)]


def surprises(r: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return how large the statistics of pairs are, as standard normal variables (Wilson and Hilferty, 1931).

    `r` and `h`, of shape (B, a, b), are the sums of residuals and of p (1 - p) in the cells of B pairs.
    """
    used = h >= LEAST
    r, h = np.where(used, r, 0.0), np.where(used, h, 0.0)
    sums, totals = (np.concatenate([part.sum(axis=2), part.sum(axis=1)], axis=1) for part in (r, h))
    n, cells = h.shape[1], np.arange(totals.shape[1])
    G = np.zeros((*totals.shape, totals.shape[1]))
    G[:, cells, cells], G[:, :n, n:], G[:, n:, :n] = totals, h, h.transpose(0, 2, 1)
    main = np.einsum("ki,kij,kj->k", sums, np.linalg.pinv(G, hermitian=True), sums, optimize=True)
    freedom = np.count_nonzero(used, axis=(1, 2)) - np.count_nonzero(totals, axis=1) + 1.0
    gain = np.sum(np.divide(r**2, h, out=np.zeros_like(h), where=used), axis=(1, 2)) - main
    spread = 2 / (9 * np.maximum(freedom, 1))
    found = (np.cbrt(np.maximum(gain, 0.0) / np.maximum(freedom, 1)) - (1 - spread)) / np.sqrt(spread)
    return np.where(freedom > 0, found, -np.inf)
