"""A candidate of cross-validation, and the solution for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Candidate(NamedTuple):
    """The settings that cross-validation chooses."""

    alpha: float  # the regularisation strength
    n_nonzero: int | None = None  # the number of nonzero weights; None if it is not limited
    loss: str | None = None  # the loss; None if there is only one
    # Whether the penalty is on the weights of standardised columns; None if there is only one scaling.
    standardize: bool | None = None


class Iteration(NamedTuple):
    """An iteration of a solver: the value of the objective and the norm of its gradient after a step."""

    value: float
    gradient_norm: float
    step: float  # the length of the step, in units of the direction; 0 if the start was already the minimum
    stage: int = 0  # which objective it belongs to, if several are minimised one after the other


class Solution(NamedTuple):
    """The minimiser for one candidate."""

    weights: np.ndarray  # (n_features,): the weights of the original, unscaled columns
    n_iter: int = 1  # number of Newton steps, iterations, sweeps or exchanges; 1 for a direct solver
    dual_gap: float | None = None  # the objective minus a lower bound of its minimum, if one is known
    # The iterations: named tuples of one kind, such as `Iteration`; none for a direct solver.
    iterations: Sequence[NamedTuple] = ()

    def history(self) -> dict[str, np.ndarray]:
        """Return the iterations as one array for each field."""
        names = self.iterations[0]._fields if self.iterations else ()
        return {name: np.array([getattr(one, name) for one in self.iterations]) for name in names}
