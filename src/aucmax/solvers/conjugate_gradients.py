"""The two conjugate gradients: for many shifts of one matrix, and for many systems with a preconditioner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .candidate import Iteration

Operator = Callable[[np.ndarray], np.ndarray]


class CGPath(NamedTuple):
    """The result of conjugate gradients for several shifts."""

    solutions: np.ndarray  # (n_shifts, n_features): the solution for each shift
    iterations: list[Iteration]  # of the smallest shift
    residual: float  # the relative residual of the smallest shift if the iterations did not converge, else 0


def shifted_cg(matvec: Operator, b: np.ndarray, shifts: np.ndarray, tol: float, max_iter: int) -> CGPath:
    """Solve (M + shift I) x = b for all shifts in about the time that the smallest one takes.

    M + shift I has the same Krylov spaces as M, and all residuals are multiples of the residual r of the smallest
    shift, r_shift = zeta r. So each further shift costs two vectors and no product with M (Jegerlehner, 1996,
    arXiv:hep-lat/9612014). A shift is finished when |r_shift| <= tol |b|. What is recorded are the iterations of the
    smallest shift, on 1/2 x'(M + shift I) x - b.x from x = 0; the residual is minus its gradient.
    """
    shifts = np.asarray(shifts, dtype=np.float64)
    base = shifts.min()
    sigma = shifts - base
    solutions, directions = np.zeros((len(shifts), len(b))), np.tile(b, (len(shifts), 1))
    r, p = b.copy(), b.copy()
    rr = target = float(b @ b)
    zeta, zeta_old = np.ones(len(shifts)), np.ones(len(shifts))
    step_old, beta = 1.0, 0.0
    active = np.arange(len(shifts)) if target > 0 else np.arange(0)
    value, iterations = 0.0, list[Iteration]()
    while len(active) and len(iterations) < max_iter:
        q = matvec(p) + base * p
        curvature = float(p @ q)
        if not curvature > 0:  # a direction without curvature or penalty, up to rounding
            break
        step = rr / curvature
        r -= step * q
        rr_new = float(r @ r)
        value -= step * rr / 2
        iterations.append(Iteration(value, math.sqrt(rr_new), step))
        z, z_old = zeta[active], zeta_old[active]
        z_new = z * z_old * step_old / (step * beta * (z_old - z) + z_old * step_old * (1 + sigma[active] * step))
        beta = rr_new / rr
        for k, ratio, z_k in zip(active, z_new / z, z_new, strict=True):
            solutions[k] += (step * ratio) * directions[k]
            directions[k] *= beta * ratio**2
            directions[k] += z_k * r
        p = r + beta * p
        zeta_old[active], zeta[active] = z, z_new
        step_old, rr = step, rr_new
        active = active[z_new**2 * rr > tol**2 * target]
    residual = float(np.sqrt(rr / target)) if len(active) else 0.0  # the smallest shift finishes last
    return CGPath(solutions, iterations, residual)


def conjugate_gradients(
    product: Operator,
    precondition: Operator,
    b: np.ndarray,
    tol: float,
    max_iter: int,
    callback: Callable[[np.ndarray], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve B systems at once, one for each row of b (B, d); return the solutions and their inner products with b.

    `product` and `precondition` take and return arrays of shape (B, d). The iterations end when the residuals of all
    systems, in the norm of the preconditioner, are at most `tol` times the first ones. A system stops earlier at a
    direction without positive curvature, which is its solution if it is the first direction. After each product,
    `callback` gets the length (B,) of the step along its argument. All vectors have the precision of b.
    """
    x, r = np.zeros_like(b), b
    p = z = precondition(r)
    rho = goal = inner(r, z)
    convex = np.ones(len(b), dtype=bool)
    for n_steps in range(max_iter):
        q = product(p)
        curvature = inner(p, q)
        convex &= curvature > 0
        step = np.divide(rho, curvature, out=np.full_like(rho, n_steps == 0), where=convex)
        if callback is not None:
            callback(step)
        x, r = x + step[:, None] * p, r - step[:, None] * q
        z = precondition(r)
        rho, before = np.where(convex, inner(r, z), 0), rho
        if (rho <= tol**2 * goal).all():
            break
        p = z + np.divide(rho, before, out=np.zeros_like(rho), where=before > 0)[:, None] * p
    return x, inner(b, x)


def inner(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the inner product of each row of U with the same row of V."""
    return np.matmul(U[:, None, :], V[:, :, None])[:, 0, 0]
