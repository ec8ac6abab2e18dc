"""Where to start on a path of penalties: the best combination of the last minimisers, found without the rows.

The scores of a combination of weights are the same combination of their scores. So F can be minimised over all
combinations by Newton's method for two or three numbers, without a product with X.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.protocol import Rows, Targets, Vector
from ..losses.squared import PairwiseLoss, Point

MAX_STEPS = 5
SMALL = 1e-4  # steps that lower F by less than this share of the penalty are not worth an evaluation of the loss
SINGULAR = 1e-12  # minimisers may be multiples of each other


def combine(
    rows: Rows,
    loss: PairwiseLoss,
    V: np.ndarray,
    scores: Sequence[Vector],
    alpha: float,
    point: Point | None = None,
) -> tuple[np.ndarray, Vector, Point]:
    """Return the combination c @ V that about minimises L + alpha/2 |c @ V|^2, its scores and the loss there.

    Parameters
    ----------
    rows : Rows
        The rows.
    loss : PairwiseLoss
        The loss L.
    V : ndarray of shape (n_vectors, n_features)
        Weights, the last minimiser first. F is never higher than there.
    scores : sequence of vectors
        Their scores.
    alpha : float
        The penalty.
    point : Point, default=None
        The loss at the first of the scores, if known.
    """
    penalty = alpha * V @ V.T
    c, step, best = np.zeros(len(V)), np.eye(len(V))[0], np.inf
    for n_steps in range(MAX_STEPS):
        trial = c + step
        total = mix(trial, scores)
        point = loss(rows, total) if n_steps > 0 or point is None else point
        value = point.value + trial @ penalty @ trial / 2
        if not value < best:
            step = step / 4
            continue
        c, best, found = trial, value, (trial @ V, total, point)
        slopes = rows.reduce(products, point.gradient, *scores) + penalty @ c
        curvatures = [rows.reduce(products, point.hessian_product(s), *scores) for s in scores]
        step = -np.linalg.lstsq(np.array(curvatures) + penalty, slopes, rcond=SINGULAR)[0]
        if not -slopes @ step > SMALL * (c @ penalty @ c):
            break
    return found


def mix(c: np.ndarray, scores: Sequence[Vector]) -> Vector:
    """Return the sum of the vectors times their coefficients."""
    total = float(c[0]) * scores[0]
    for factor, s in zip(c[1:], scores[1:], strict=True):
        total = total + float(factor) * s
    return total


def products(targets: Targets, u: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Return the inner products of one vector's block with other vectors' blocks."""
    return np.array([float(u @ other) for other in others])
