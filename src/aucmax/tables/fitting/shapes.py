"""Lines and curves that only rise or only fall: a quadratic programme, solved exactly.

Conventions
-----------
A step of Newton's method minimises 1/2 f'Hf - b'f over the coordinates f, where the curves of some columns are to rise
(sign 1) or to fall (sign -1) from bin to bin, and their lines too. Missing values are free. In the variables v, which
are f except for sign * (f_k - f_{k-1}) at the bins after the first of such a curve, the constraints are v >= 0 for some
entries: f = C v. With the multipliers z = C'(H C v - b) the optimum is where

    v >= 0,   z >= 0,   v z = 0     for constrained entries,      z = 0 for the others.

The solver exchanges all entries that break a condition between the free and the bound set at once, and factors the
matrix of the free set again (block principal pivoting: Portugal, Judice and Vicente, 1994). If that stops making
progress it exchanges one at a time, which ends for certain (Murty, 1974). A shorter step between two feasible points is
feasible, so Newton's method keeps to the shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..bins import Column
from .evidence import Hessian, Solve, System

PATIENCE = 3  # exchanges of all entries without progress
ROUNDING = 1e-12  # of entries and multipliers, relative to the largest


def constrained(system: System, columns: Sequence[Column], signs: np.ndarray) -> Solve:
    """Return the solution of a step under the sign of each column: 1 to rise, -1 to fall, 0 for any shape."""
    k = system.n_narrow
    C, bound = np.eye(k + 1), np.zeros(k + 1, dtype=bool)
    for number, t in enumerate(system.order):
        block, a = system.blocks[t], system.ends[number]
        sign = signs[block.term.columns[0]]
        if len(block.term.columns) > 1 or not sign:
            continue
        m = columns[block.term.columns[0]].n_values if block.T is None else 1
        C[a : a + m, a : a + m] = np.tri(m) * np.append(1, np.full(m - 1, sign)) if block.T is None else sign
        bound[a + (block.T is None) : a + m] = True

    def solve(hessian: Hessian, b: np.ndarray, lam: np.ndarray) -> np.ndarray:
        (lower, *_), diagonals = hessian.reduced(lam)
        A, out = np.tril(lower) + np.tril(lower, -1).T, np.empty(system.K + 1)
        narrow = np.append(b[:k], b[-1])
        for B, D, place in zip(hessian.wide, diagonals, hessian.places, strict=True):
            narrow = narrow - (b[place] / D) @ B
        found = C @ nonnegative_minimum(C.T @ A @ C, C.T @ narrow, bound)
        out[:k], out[-1] = found[:k], found[k]
        for B, D, place in zip(hessian.wide, diagonals, hessian.places, strict=True):
            out[place] = (b[place] - B @ found) / D
        return out

    return solve


def nonnegative_minimum(A: np.ndarray, b: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return the v that minimises 1/2 v'Av - b'v with v >= 0 where `bound`; A is positive definite."""
    free = np.ones(len(b), dtype=bool)
    fewest, patience = len(b) + 1, PATIENCE
    while True:
        v = np.zeros(len(b))
        v[free] = cho_solve(cho_factor(A[np.ix_(free, free)]), b[free])
        z = A @ v - b
        below = free & bound & (v < -ROUNDING * np.abs(v).max(initial=0.0))
        pushed = ~free & (z < -ROUNDING * np.abs(b).max(initial=0.0))
        wrong = np.flatnonzero(below | pushed)
        if not len(wrong):
            return np.where(bound, np.maximum(v, 0.0), v)
        if len(wrong) < fewest:
            fewest, patience = len(wrong), PATIENCE
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        free[wrong] = ~free[wrong]
