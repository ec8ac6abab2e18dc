"""The interface of all losses: a loss of scores returns a :class:`Point`, its value and derivatives there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..rows.protocol import ScoreSpace, Vector


class Point(NamedTuple):
    """Value and derivatives of a loss at given scores.

    Attributes
    ----------
    value : float
        The mean loss over all pairs.
    gradient : vector
        Its derivative with respect to the score of each row.
    hessian_product : callable
        Returns the second derivative times a vector; zero for "hinge".
    curvatures : vector or None
        The second derivative with respect to the score of each row, if the loss is a sum over rows.
    """

    value: float
    gradient: Vector
    hessian_product: Callable[[Vector], Vector]
    curvatures: Vector | None = None


# A pairwise loss: called with a score space and scores, it returns value, gradient and Hessian product.
PairwiseLoss = Callable[[ScoreSpace, Vector], Point]
