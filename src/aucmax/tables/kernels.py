"""The compiled loops over codes, and over the values that become codes.

Conventions
-----------
Each row is in one cell of each of q terms. `cells` has the cells, indices into all K cells, term by term: the shape is
(q, n), but (n, q) where all pairs of terms are added row by row.
"""

import numpy as np

from .._compat import FAST, jit


@jit(**FAST)
def gather(cells, values):
    """Return the sum of the values of the cells of each row and of the last value; `cells` has the shape (q, n)."""
    out = np.full(cells.shape[1], values[-1])
    for t in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            out[i] += values[cells[t, i]]
    return out


@jit(**FAST)
def scatter(cells, g, out):
    """Add the sum of g over the rows of each cell to `out`, and over all rows to its last entry; (q, n) as above."""
    for i in range(cells.shape[1]):
        out[-1] += g[i]
    for t in range(cells.shape[0]):
        for i in range(cells.shape[1]):
            out[cells[t, i]] += g[i]


@jit(**FAST)
def add_pairs(cells, g, out):
    """Add the lower half of D.T @ diag(g) @ D to `out`; the cells of later terms have higher numbers.

    This takes q (q + 1) / 2 additions for a row, whatever the number of cells. BLAS takes K (K + 1) / 2
    multiplications: with 14 terms of 640 cells, two thousand times as many.
    """
    for i in range(cells.shape[0]):
        for t in range(cells.shape[1]):
            row = out[cells[i, t]]
            for u in range(t + 1):
                row[cells[i, u]] += g[i]


@jit(**FAST)
def add_joint(first, a, second, b, g, out):
    """Add the sum of g over the rows of each pair of cells to `out`; the cells of two terms count from a and b."""
    for i in range(len(g)):
        out[first[i] - a, second[i] - b] += g[i]


@jit(**FAST)
def add_products(cells, a, X, g, out):
    """Add the sum of g * X over the rows of each cell to the first columns of `out`; the cells count from a."""
    for i in range(len(g)):
        row = out[cells[i] - a]
        for k in range(X.shape[1]):
            row[k] += g[i] * X[i, k]


@jit
def fill_bins(mass, large, size):
    """Return which values are the last of their bin: each large one alone, the others together up to a size."""
    last = np.zeros(len(mass), dtype=np.bool_)
    filled = 0.0
    for k in range(len(mass)):
        filled += mass[k]
        if large[k] or filled >= size or k + 1 == len(mass) or large[k + 1]:
            last[k] = True
            filled = 0.0
    return last
