"""A candidate of cross-validation, and the solution for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows.summaries.moments import ClassMoments


class Candidate(NamedTuple):
    """The settings that cross-validation chooses."""

    alpha: float  # the regularisation strength
    n_nonzero: int | None = None  # the number of nonzero weights; None if it is not limited
    loss: str | None = None  # the loss; None if there is only one
    # Whether the penalty is on the weights of standardised columns; None if there is only one scaling.
    standardize: bool | None = None


class Solution(NamedTuple):
    """The minimiser for one candidate."""

    weights: np.ndarray  # (n_features,): the weights of the original, unscaled columns
    n_iter: int = 1  # number of Newton steps, iterations, sweeps or exchanges; 1 for a direct solver
    dual_gap: float | None = None  # the objective minus a lower bound of its minimum, if one is known
    # The class moments of the training set, if the weights are a function of these alone.
    moments: ClassMoments | None = None
