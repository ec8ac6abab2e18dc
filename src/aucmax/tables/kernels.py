"""The compiled loops over codes, and over the values that become codes.

Conventions
-----------
`cells` has the shape (n, q): column t holds the cell of each row in term t, an index into all K cells; each row is in
one cell of each term. The indicator columns of the cells are a matrix D of shape (n, K) that is never made.
"""

import numpy as np

from .._compat import FAST, jit


@jit(**FAST)
def gather(cells, values, out):
    """Add D @ values to `out`: the sum of the values of the cells of each row; cell -1 is the last value."""
    for i in range(cells.shape[0]):
        total = 0.0
        for t in range(cells.shape[1]):
            total += values[cells[i, t]]
        out[i] += total


@jit(**FAST)
def scatter(cells, g, out):
    """Add D.T @ g to `out`: the sum of g over the rows of each cell."""
    for i in range(cells.shape[0]):
        for t in range(cells.shape[1]):
            out[cells[i, t]] += g[i]


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
def add_products(cells, X, g, out):
    """Add D.T @ diag(g) @ X to the first columns of `out`."""
    for i in range(cells.shape[0]):
        for t in range(cells.shape[1]):
            row = out[cells[i, t]]
            for k in range(X.shape[1]):
                row[k] += g[i] * X[i, k]


@jit(**FAST)
def add_cross(cells, others, g, out):
    """Add D.T @ diag(g) @ E to `out`, with the indicator columns E of other cells."""
    for i in range(cells.shape[0]):
        row = out[cells[i]]
        for u in range(others.shape[1]):
            row[others[i, u]] += g[i]


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
