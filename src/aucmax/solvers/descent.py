"""What descent methods share: backtracking, gradient descent, and the largest eigenvalue, which limits a step.

Conventions
-----------
An objective F is a function of weights v and of scores s that are linear in v. The scores of two points on a line give
the scores of all others, so a trial step needs no product with the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .candidate import Iteration

SUFFICIENT = 1e-4  # Armijo: a step must lower F by this share of what the slope promises
MAX_NEWTON = 100  # the largest number of Newton's steps with backtracking; about ten are enough
SLACK = 1e-12  # relative to F: rounding must not decide whether a step of Newton's method is halved
POWER_STEPS = 30  # the largest number of steps of the power method


def powers(beta: float) -> tuple[float, ...]:
    """Return the powers of beta below 1, from 1 down to the rounding of the weights, and 0."""
    return (*beta ** np.arange(np.ceil(-53 / np.log2(beta))), 0.0)


HALVES = powers(0.5)  # of the longest step


class DescentObjective(Protocol):
    """A differentiable function F of weights v and of scores that are linear in them."""

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return the scores of v."""

    def evaluate(self, v: np.ndarray, scores: np.ndarray) -> tuple[float, Callable[[], np.ndarray]]:
        """Return F, and a function that returns its gradient."""


class DescentPoint:
    """A point of an objective: weights v (d,), their scores, F, and its gradient (d,) when first needed."""

    def __init__(self, objective: DescentObjective, v: np.ndarray, scores: np.ndarray | None = None) -> None:
        self.objective, self.v = objective, v
        self.scores = objective.scores(v) if scores is None else scores
        self.value, self._gradient = objective.evaluate(v, self.scores)
        self.length = 0.0  # of the step that led here

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of F."""
        return self._gradient()

    def step(
        self, direction: np.ndarray, slack: float = SLACK, c: float = SUFFICIENT, lengths: Sequence[float] = HALVES
    ) -> DescentPoint | None:
        """Return the point that backtracking finds along a direction; None if there is none."""
        change, new = self.objective.scores(direction), self

        def value(length: float) -> float:
            nonlocal new
            new = DescentPoint(self.objective, self.v + length * direction, self.scores + length * change)
            return new.value

        slope = float(self.gradient @ direction)
        new.length = float(backtrack(value, self.value, slope, 1.0, lengths, slack, c))
        return new if new.length else None


def backtrack(
    F: Callable[[Any], Any],
    value: Any,
    slope: Any,
    longest: Any = 1.0,
    shares: Sequence[float] = HALVES,
    slack: float = SLACK,
    sufficient: float = SUFFICIENT,
) -> Any:
    """Return how far to go along a direction: the first of the lengths `shares` * `longest` that lowers F enough.

    This is Armijo's condition: F falls from its `value` at length 0 by at least the share `sufficient` of what its
    `slope` promises. `slack` is a tolerance for rounding: F may be higher than the condition allows by `slack` times F.
    The last share is 0, where nothing has to fall, and F is called last at the result. Value, slope and lengths are
    numbers, or arrays with one entry for each of several functions.
    """
    length, lower = longest, np.zeros(np.shape(value), dtype=bool)
    for share in shares:
        length = np.where(lower, length, share * longest)
        lower = F(length) <= value + sufficient * length * slope + slack * np.abs(value)
        if np.all(lower):
            break
    return length


def gradient_descent(
    objective: DescentObjective,
    v: np.ndarray,
    max_iter: int,
    tol: float,
    advice: str | None = None,
    c: float = SUFFICIENT,
    lengths: Sequence[float] = HALVES,
) -> tuple[np.ndarray, list[Iteration]]:
    """Return where gradient descent with backtracking ends, and at least one iteration; the last may have the step 0.

    This is Algorithm 1 of Ghanbari and Scheinberg (2018). It stops when the norm of the gradient is `tol` times the
    norm at the start, when no step lowers F enough, or after `max_iter` steps, where a warning gives the `advice`, if
    there is one.
    """
    at = DescentPoint(objective, v)
    norm = first = float(np.linalg.norm(at.gradient))
    iterations: list[Iteration] = []
    while len(iterations) < max_iter:
        new = at.step(-at.gradient, 0.0, c, lengths)
        at = new or at
        norm = float(np.linalg.norm(at.gradient))
        iterations.append(Iteration(at.value, norm, 0.0 if new is None else at.length))
        if new is None or norm <= tol * first:
            return at.v, iterations
    if advice is not None:
        warnings.warn(
            f"Gradient descent stopped at max_iter={max_iter} with its gradient at {norm / first:.1e} of the first one "
            f"(tol={tol:g}): {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return at.v, iterations


def largest_eigenvalue(product: Callable[[np.ndarray], np.ndarray], order: int) -> float:
    """Estimate the largest eigenvalue of a positive semidefinite matrix by the power method.

    It stops when a step raises the estimate by less than one per cent. Estimates are too low, so ten per cent is added.
    """
    v, value = np.random.RandomState(0).standard_normal(order), 0.0
    for _ in range(POWER_STEPS):
        v = product(v / np.linalg.norm(v))
        before, value = value, float(np.linalg.norm(v))
        if value <= 1.01 * before or value == 0:
            break
    return 1.1 * value
