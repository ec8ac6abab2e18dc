"""Proximal maps and projections: soft threshold, L1 ball, hard threshold. Each changes w in place, in O(d).

Importing this module imports Numba; see `jit`.
"""

import numpy as np

from ..._compat import jit


@jit
def soft_threshold(w, l1, l2):
    """Replace w by the minimiser v of |v - w|^2 / 2 + l1 |v|_1 + l2 |v|^2 / 2."""
    for j in range(w.shape[0]):
        size = abs(w[j]) - l1
        w[j] = np.sign(w[j]) * size / (1.0 + l2) if size > 0.0 else 0.0


@jit
def project_l1(w, radius):
    """Replace w by the nearest point with |w|_1 <= radius.

    It is a soft threshold at the level theta where the sum of max(|w| - theta, 0) is the radius. Newton's method on
    this convex, piecewise linear function of theta climbs from the left and ends exactly, after a few passes over w
    (Michelot, 1986; Condat, 2016).
    """
    theta, above, count = 0.0, 0.0, w.shape[0]
    for j in range(w.shape[0]):
        above += abs(w[j])
    if above <= radius:
        return
    while True:
        theta = (above - radius) / count
        above, kept = 0.0, 0
        for j in range(w.shape[0]):
            if abs(w[j]) > theta:
                above += abs(w[j])
                kept += 1
        if kept >= count or kept == 0:  # more where an entry is theta up to rounding: it is 0 either way
            break
        count = kept
    soft_threshold(w, theta, 0.0)


@jit
def hard_threshold(w, k):
    """Keep the k >= 1 entries of w largest in size and set the others to 0; of equal ones the first are kept."""
    d = w.shape[0]
    if k >= d:
        return
    least = order_statistic(np.abs(w), d - k)
    larger = 0
    for j in range(d):
        larger += abs(w[j]) > least
    ties = k - larger
    for j in range(d):
        size = abs(w[j])
        if size < least:
            w[j] = 0.0
        elif size == least:
            if ties == 0:
                w[j] = 0.0
            else:
                ties -= 1


@jit
def order_statistic(a, r):
    """Return the entry that has r others before it in increasing order, and reorder a.

    Hoare's quickselect (1961). Numba's own np.partition takes 20 times as long to compile, and 2 to 20 times to run.
    """
    low, high = 0, a.shape[0] - 1
    while low < high:
        pivot, i, j = a[r], low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if j < r:
            low = i
        if r < i:
            high = j
    return a[r]
