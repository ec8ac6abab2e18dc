"""Pairwise losses in score space: a summary of each block that merges, and from it value, gradient and curvature.

Conventions
-----------
A loss is the mean over all pairs of a positive row i and a negative row j of l(t), with t = s_i - s_j the margin of
their scores; a pair weighs the product c_i c_j of the pair weights, which sum to one in each class.

    name             l(t)                        summary of a block                               cost
    "squared"        (1 - t)^2 / 2               class means and variances                        n
    "squared_hinge"  max(0, 1 - t)^2 / 2         sorted scores of the rarer class, and sums       n + m log m
                                                 over the other class between two of them
    "hinge"          max(0, 1 - t)               the same; a subgradient, and no curvature        n + m log m
    "logistic"       log(1 + exp(-t))            Chebyshev moments of the scores in boxes         n
    "exponential"    exp(-t)                     sums of exponentials                             n
    "sigmoid"        1 / (1 + exp(t))            as "logistic"; not convex                        n

n is the number of rows and m that of the rarer class. Nothing here knows of X or of where the rows are: a loss asks a
:class:`aucmax.data.protocol.ScoreSpace` to `reduce` and to `map`, so any split of the rows into blocks gives the same
numbers, but for rounding.

Importing this package imports no Numba; :func:`find_loss` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pairwise import pairwise_loss as pairwise_loss
    from .squared import PairwiseLoss

# The one list of the losses, and the classes that implement them.
LOSSES = {
    "squared": ("squared", "Squared"),
    "squared_hinge": ("hinges", "SquaredHinge"),
    "hinge": ("hinges", "Hinge"),
    "logistic": ("pairwise", "Logistic"),
    "exponential": ("pairwise", "Exponential"),
    "sigmoid": ("pairwise", "Sigmoid"),
}


def find_loss(name: str) -> PairwiseLoss:
    """Return a loss by its name."""
    from importlib import import_module

    module, kind = LOSSES[name]
    return getattr(import_module(f".{module}", __name__), kind)()


def __getattr__(name: str) -> Any:
    if name == "pairwise_loss":
        from .pairwise import pairwise_loss

        return pairwise_loss
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
