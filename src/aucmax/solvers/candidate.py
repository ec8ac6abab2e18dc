"""What cross-validation chooses, and what solving for it gives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.moments import ClassMoments


class Candidate(NamedTuple):
    """What cross-validation chooses.

    Attributes
    ----------
    alpha : float
        The regularisation strength.
    n_nonzero : int or None
        The number of nonzero weights; None where it is not limited.
    loss : str or None
        The loss; None where there is one only.
    """

    alpha: float
    n_nonzero: int | None = None
    loss: str | None = None


class Solution(NamedTuple):
    """The minimiser for one candidate.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        The weights, for the columns as they are.
    n_iter : int
        Newton steps, iterations, sweeps or exchanges; 1 where none was needed.
    dual_gap : float or None
        The objective less a lower bound of its minimum, where there is one.
    moments : ClassMoments or None
        The class moments of the training set, where the weights are a function of these.
    """

    weights: np.ndarray
    n_iter: int = 1
    dual_gap: float | None = None
    moments: ClassMoments | None = None
