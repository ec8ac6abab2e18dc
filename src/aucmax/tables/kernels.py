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


@jit
def merge_chain(values, weights, joined, n, free):
    """Merge neighbouring cells, the pair with the least weighted squared error first, until n groups are left.

    Cell k may be merged with cell k + 1 where `joined`; errors up to `free` are always made. Return the number of cells
    in each group.
    """
    v, w, may, sizes, m = values.copy(), weights.copy(), joined.copy(), np.ones(len(values), np.int64), len(values)
    while True:
        least, k = np.inf, -1
        for i in range(m - 1):
            if may[i]:
                cost = w[i] * w[i + 1] / (w[i] + w[i + 1]) * (v[i + 1] - v[i]) ** 2
                if cost < least:
                    least, k = cost, i
        if k < 0 or (m <= n and least > free):
            break
        v[k] = (w[k] * v[k] + w[k + 1] * v[k + 1]) / (w[k] + w[k + 1])
        w[k] += w[k + 1]
        sizes[k] += sizes[k + 1]
        may[k] = may[k + 1]
        for i in range(k + 1, m - 1):
            v[i], w[i], sizes[i], may[i] = v[i + 1], w[i + 1], sizes[i + 1], may[i + 1]
        m -= 1
    return sizes[:m]


@jit
def merge_lines(f, V, owner, near, alone, signs, kept, group, n):
    """Merge lines of a card, the cheapest pair first, until at most n are left; return how many are.

    All is changed in place, as `merging.py` says: the values f, shape (k + 1,), and their covariance V, both with the
    constant last; `near`, which lines may be merged; `group`, the line that each line has become, or -1 if its
    column says nothing. `owner` is the column of each line; `alone` are the lines of missing values; `signs` the shapes
    of the columns, and `kept` the columns that must say something.
    """
    counts, line = np.zeros(len(signs), np.int64), np.arange(len(owner))
    for i in line[group == line]:
        counts[owner[i]] += 1
    while True:
        alive = line[group == line]
        least, a, b = np.inf, -1, -1
        for number, i in enumerate(alive):
            for j in alive[number + 1 :]:
                if owner[j] != owner[i]:
                    break
                if not near[i, j] or (kept[owner[i]] and counts[owner[i]] == 2):
                    continue
                change = f[j] - f[i]
                wrong = not alone[j] and signs[owner[i]] * change < 0
                if len(alive) <= n and not wrong:
                    continue
                spread = V[i, i] + V[j, j] - 2 * V[i, j]
                cost = -1.0 if wrong else change * change / max(2 * spread, 1e-300)
                cost = cost / 2 if counts[owner[i]] == 2 else cost  # two lines less
                if cost < least:
                    least, a, b = cost, i, j
        if a < 0:
            return len(alive)
        used = np.append(alive, len(owner))
        constrain(f, V, used, V[a] - V[b], f[a] - f[b], V[a, a] + V[b, b] - 2 * V[a, b])
        near[a] |= near[b] & (not alone[b])
        near[a, a] = near[b, :] = False
        near[:, a], near[:, b] = near[a], False
        group[group == b] = a
        counts[owner[a]] -= 1
        if counts[owner[a]] == 1:
            constrain(f, V, used, V[a].copy(), f[a], V[a, a])
            group[group == a] = -1


@jit
def constrain(f, V, used, Vd, value, variance):
    """Change f and V, at the lines that are used, for the constraint d'f = 0, given V d, d'f and d'V d."""
    for i in used:
        row, share = V[i], Vd[i] / variance
        f[i] -= share * value
        for j in used:
            row[j] -= share * Vd[j]
