"""The compiled loops over codes.

Conventions
-----------
`codes` has the shape (n, q). Column t holds the code of each row in term t, an index into all K cells: the cells of a
term stand one after the other, and each row is in one cell of each term. The indicator columns of the cells are a
matrix D of shape (n, K) that is never made.
"""

import numpy as np

from ..jit import FAST, jit


@jit(**FAST)
def gather(codes, values):
    """Return D @ values: the sum of the values of the cells of each row; `values` has at least K entries."""
    out = np.empty(codes.shape[0])
    for i in range(codes.shape[0]):
        total = 0.0
        for t in range(codes.shape[1]):
            total += values[codes[i, t]]
        out[i] = total
    return out


@jit(**FAST)
def scatter(codes, g, n_cells):
    """Return D.T @ g: the sum of g over the rows of each cell."""
    out = np.zeros(n_cells)
    for i in range(codes.shape[0]):
        for t in range(codes.shape[1]):
            out[codes[i, t]] += g[i]
    return out


@jit(**FAST)
def joint_sums(codes, g, n_cells):
    """Return D.T @ diag(g) @ D: the sum of g over the rows of each pair of cells.

    It takes q (q + 1) / 2 additions for a row, whatever the number of cells. BLAS would take K (K + 1) / 2
    multiplications: with 14 terms of 640 cells, two thousand times as many.
    """
    out = np.zeros((n_cells, n_cells))
    for i in range(codes.shape[0]):
        for t in range(codes.shape[1]):
            row = out[codes[i, t]]
            for u in range(t, codes.shape[1]):
                row[codes[i, u]] += g[i]
    for a in range(n_cells):
        for b in range(a):
            out[a, b] = out[b, a]
    return out
