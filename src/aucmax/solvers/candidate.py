"""A candidate of cross-validation, and the solution for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..rows.summaries.moments import ClassMoments


class Candidate(NamedTuple):
    """The settings that cross-validation chooses.

    Attributes
    ----------
    alpha : float
        The regularisation strength.
    n_nonzero : int or None
        The number of nonzero weights; None if it is not limited.
    loss : str or None
        The loss; None if there is only one.
    standardize : bool or None
        Whether the penalty is on the weights of standardised columns; None if there is only one scaling.
    """

    alpha: float
    n_nonzero: int | None = None
    loss: str | None = None
    standardize: bool | None = None


class Solution(NamedTuple):
    """The minimiser for one candidate.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        The weights of the original, unscaled columns.
    n_iter : int
        Number of Newton steps, iterations, sweeps or exchanges; 1 for a direct solver.
    dual_gap : float or None
        The objective minus a lower bound of its minimum, if one is known.
    moments : ClassMoments or None
        The class moments of the training set, if the weights are a function of these alone.
    """

    weights: np.ndarray
    n_iter: int = 1
    dual_gap: float | None = None
    moments: ClassMoments | None = None
