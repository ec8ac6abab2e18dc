"""The compiled loops over codes.

Conventions
-----------
`codes` has the shape (n, q). Column t holds the code of each row in term t, an index into all K cells: the cells of a
term stand one after the other, and each row is in one cell of each term. The indicator columns of the cells are a
matrix D of shape (n, K) that is never made.
"""

import numpy as np
from scipy.linalg.blas import dsyrk

from .._compat import FAST, jit

FEW_CELLS = 3  # of a term
BLOCK = 2048  # rows whose indicators are made at once


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


def joint_sums(codes: np.ndarray, g: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the upper half of D.T @ diag(g) @ D: the sum of g over the rows of each pair of cells.

    The lower half may hold anything. It takes q (q + 1) / 2 additions for a row, whatever the number of cells. BLAS
    takes K (K + 1) / 2 multiplications: with 14 terms of 640 cells, two thousand times as many. Only where terms have
    two or three cells is it faster.
    """
    if n_cells > FEW_CELLS * codes.shape[1] or (g < 0).any():
        return add_pairs(codes, g, n_cells)
    sums = np.zeros((n_cells, n_cells), order="F")
    for start in range(0, len(g), BLOCK):
        some = slice(start, start + BLOCK)
        D = np.zeros((len(g[some]), n_cells))
        D[np.arange(len(D))[:, None], codes[some]] = np.sqrt(g[some])[:, None]
        sums = dsyrk(1.0, D.T, 1.0, sums, lower=True, overwrite_c=True)
    return sums.T


@jit(**FAST)
def add_pairs(codes, g, n_cells):
    """Return the upper half of the joint sums, pair by pair; the lower half is 0 but for the last row."""
    out = np.zeros((n_cells, n_cells))
    for i in range(codes.shape[0]):
        for t in range(codes.shape[1]):
            row = out[codes[i, t]]
            for u in range(t, codes.shape[1]):
                row[codes[i, u]] += g[i]
    return out
