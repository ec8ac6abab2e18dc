"""Pairwise losses in score space.

A loss makes a summary of each block of rows and merges the summaries. From the merged summary, each block gets its part
of the value, the gradient and the Hessian products.

Conventions
-----------
A loss is the mean of l(t) over all pairs of a positive row i and a negative row j. The margin t = s_i - s_j is the
difference of their scores. The weight of a pair is the product c_i c_j of the pair weights, which sum to one in each
class.

    name             l(t)                        summary of a block                               cost
    "squared"        (1 - t)^2 / 2               class means and variances                        n
    "pooled"         the same, with the          class means and variances                        n
                     variance of both classes
    "squared_hinge"  max(0, 1 - t)^2 / 2         sorted scores of the rarer class, and sums       n + m log m
                                                 over the other class between two of them
    "hinge"          max(0, 1 - t)               the same; a subgradient and no curvature         n + m log m
    "logistic"       log(1 + exp(-t))            Chebyshev moments of the scores in boxes         n
    "exponential"    exp(-t)                     sums of exponentials                             n
    "sigmoid"        1 / (1 + exp(t))            as "logistic"; not convex                        n

n is the number of rows and m the number of rows of the rarer class. A loss never sees X and does not know where the
rows are: it only calls methods of a :class:`aucmax.rows.protocol.ScoreSpace`. So any split of the rows into blocks
gives the same numbers up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from .base import PairwiseLoss
from .hinges import Hinge, SquaredHinge
from .pairwise import Exponential, Logistic, Sigmoid
from .rowwise import BalancedLogistic
from .squared import Squared

# The one list of the losses.
LOSSES: dict[str, Callable[[], PairwiseLoss]] = {
    "squared": Squared,
    "pooled": partial(Squared, pooled=True),
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "logistic": Logistic,
    "exponential": Exponential,
    "sigmoid": Sigmoid,
    "balanced_logistic": BalancedLogistic,
}
# The losses that can be fitted: these, and one that is not a function of the scores of single pairs or rows.
FITTED = (*LOSSES, "smooth_auc")


def find_loss(name: str) -> PairwiseLoss:
    """Return a loss by its name."""
    return LOSSES[name]()
