"""Newton steps for fewer rows than columns and a small penalty, by conjugate gradients in score space.

The step d solves (X'HX + alpha I) d = -g, with H the curvature of the loss in score space. Rows with few active pairs
have little curvature, so the eigenvalues of X'HX are spread evenly from alpha upwards, and a diagonal preconditioner in
the columns does not help. With d = -(g + X'Hu) / alpha the system becomes one for a vector u of scores,

    (alpha H + HXX'H) u = -HXg,

whose diagonal is about D (alpha + D k): D are the curvatures of the rows, k their squared lengths. Rows of many rare
columns have few columns in common, so this diagonal is a good preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.protocol import Rows, Targets, Vector
from ..losses.squared import Point

N_PROBES = 12  # the lengths of the rows have a relative error of sqrt(2 / 12), enough for a preconditioner


def estimate_lengths(rows: Rows, n_features: int, scores: Callable[[np.ndarray], Vector]) -> Vector:
    """Return estimates of the squared lengths of the rows: the mean squared scores of random signs."""
    rng = np.random.default_rng(0)

    def squared(targets: Targets, *probes: np.ndarray) -> np.ndarray:
        return np.mean(np.square(probes), axis=0)

    return rows.map(squared, *(scores(rng.choice([-1.0, 1.0], n_features)) for _ in range(N_PROBES)))


def row_space_direction(
    rows: Rows,
    scores: Callable[[np.ndarray], Vector],
    rmatvec: Callable[[Vector], np.ndarray],
    point: Point,
    diagonals: tuple[Vector, Vector],
    gradient: np.ndarray,
    alpha: float,
    tolerance: float,
    max_steps: int,
) -> tuple[np.ndarray, Vector, int]:
    """Return the Newton step, its scores, and the number of steps of conjugate gradients.

    Parameters
    ----------
    rows : Rows
        The rows.
    scores, rmatvec : callable
        The products with X / scale and its transpose.
    point : Point
        The loss at the current scores.
    diagonals : tuple of two vectors
        The curvature of each row, and its squared length.
    gradient : ndarray of shape (n_features,)
        The gradient of the objective.
    alpha : float
        The penalty, above 0.
    tolerance : float
        The largest norm of the residual in the columns, about, as a share of that of the gradient.
    max_steps : int
        The largest number of steps.
    """

    def precondition(targets: Targets, r: np.ndarray, D: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.divide(r, D * (alpha + D * k), out=np.zeros_like(r), where=D > 0)

    def squared_residual(targets: Targets, r: np.ndarray, k: np.ndarray) -> float:
        return float(k @ r**2)  # of X'r, if the rows were orthogonal

    gradient_scores = scores(gradient)
    goal = (tolerance * alpha) ** 2 * float(gradient @ gradient)
    r = -point.hessian_product(gradient_scores)
    p = z = rows.map(precondition, r, *diagonals)
    rz, n_steps = r @ z, 0
    total, total_scores = gradient, gradient_scores  # g + X'Hu
    while n_steps < max_steps and rows.reduce(squared_residual, r, diagonals[1]) > goal:
        n_steps += 1
        curved = point.hessian_product(p)
        pulled = rmatvec(curved)
        pulled_scores = scores(pulled)
        q = alpha * curved + point.hessian_product(pulled_scores)
        step = rz / (p @ q)
        total, total_scores = total + step * pulled, total_scores + step * pulled_scores
        r = r - step * q
        z = rows.map(precondition, r, *diagonals)
        rz, before = r @ z, rz
        p = z + rz / before * p
    return -total / alpha, (-1 / alpha) * total_scores, n_steps
