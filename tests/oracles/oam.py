"""OAM, sequential and by gradients. Zhao, Hoi, Jin, Yang: Online AUC Maximization (2011)."""

import numpy as np


def update_buffer(B, x, N, slot):
    """Reservoir sampling: append until there are N rows, then replace row `slot`, or no row if it is -1."""
    if len(B) < N:
        return [*B, x]
    return B if slot < 0 else [*B[:slot], x, *B[slot + 1 :]]


def oam(X, y, order, slots, *, C, N=100, update) -> np.ndarray:
    """OAM, Algorithm 1. Not in the papers at hand, which only name it: from memory of its own listing.

    `slots` has one entry for each visit: where the row goes in the full buffer of its class, or -1 if it is not kept.
    It is read only when that buffer is full. Reservoir sampling keeps a row with probability N/seen, the row itself
    counted in seen, at a uniform slot. `update` is `sequential` or `gradient`, in the order of the slots. Iterates,
    one row per step.
    """
    B, seen, w, iterates = {+1: [], -1: []}, {+1: 0, -1: 0}, np.zeros(X.shape[1]), []
    for i, slot in zip(order, slots, strict=True):
        x, k = X[i], int(y[i])
        seen[k] += 1
        C_t = C * max(1, seen[-k] / N)
        B[k] = update_buffer(B[k], x, N, slot)
        w = update(w, [k * (x - other) for other in B[-k]], C_t)
        iterates.append(w)
    return np.array(iterates)


def sequential(w, Z, C_t):
    """Algorithm 3: a passive-aggressive step along each z = y(x - x') in turn; equal rows, z = 0, make none."""
    for z in Z:
        if z @ z > 0:
            w = w + min(C_t / 2, max(0, 1 - w @ z) / (z @ z)) * z
    return w


def gradient(w, Z, C_t):
    """Algorithm 4: one step along all z = y(x - x') with w.z <= 1, for the old w."""
    return w + C_t / 2 * sum((z for z in Z if w @ z <= 1), start=np.zeros_like(w))


def oam_seq(X, y, order, slots, *, C, N=100) -> np.ndarray:
    """OAM with sequential updates: `oam`."""
    return oam(X, y, order, slots, C=C, N=N, update=sequential)


def oam_gra(X, y, order, slots, *, C, N=100) -> np.ndarray:
    """OAM with gradient updates: `oam`."""
    return oam(X, y, order, slots, C=C, N=N, update=gradient)
