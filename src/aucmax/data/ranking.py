"""The exact AUC: the scores of the rarer class are sorted, and those of the other class are looked up among them.

Ties count one half. Without weights, all sums are integers and therefore exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

# The compiled loop is faster from 1,000 rows on, but importing Numba and loading the loop takes half a second once.
# Below this number of rows np.searchsorted takes less than 5 ms, so even a hundred calls take less than that.
COMPILED_FROM = 1 << 15


def areas(positive: np.ndarray, columns: Iterable[np.ndarray], weights: np.ndarray | None) -> list[float]:
    """Return the AUC of each column of scores, from the ranks of the larger class among the smaller."""
    few_are_positive = 2 * np.count_nonzero(positive) <= len(positive)
    few = positive if few_are_positive else ~positive
    many = ~few
    few_weights = None if weights is None else weights[few]

    aucs = []
    for scores in columns:
        knots, below = sort_distinct(scores.compress(few), few_weights)  # in a third of the time of scores[few]
        doubled_wins, many_weight = sum_below(scores, many, weights, knots, below)
        doubled_pairs = 2 * below[-1].item() * many_weight
        # Without weights, both are Python integers, so the difference is exact.
        aucs.append((doubled_pairs - doubled_wins if few_are_positive else doubled_wins) / doubled_pairs)
    return aucs


def auc_of_scores(space: Any, scores: Any) -> float:
    """Return the AUC of a vector of scores. The rarer class is gathered, the other is looked up block by block.

    Parameters
    ----------
    space : ScoreSpace
        The space of the vector.
    scores : vector
        The scores.
    """
    few_are_positive = bool(space.counts[1] <= space.counts[0])

    def rare(targets: Any, s: np.ndarray) -> np.ndarray:
        few = targets.positive == few_are_positive
        weights = np.ones(len(s)) if targets.sample_weight is None else targets.sample_weight
        return np.array([s.compress(few), weights.compress(few)])

    def wins(targets: Any, s: np.ndarray) -> np.ndarray:
        many = targets.positive != few_are_positive
        return np.array(sum_below(s, many, targets.sample_weight, knots, below), dtype=np.float64)

    values, weights = space.reduce(rare, scores, merge=lambda a, b: np.append(a, b, axis=1))
    knots, below = sort_distinct(values, weights)
    doubled_wins, weight = space.reduce(wins, scores)
    share = doubled_wins / (2 * below[-1] * weight)
    return float(1 - share if few_are_positive else share)


def sort_distinct(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, sorted and padded with infinities, and how much lies below each of them.

    The latter is the number of rows, or the share of the weight if there are weights. Its last entry is the total.
    """
    if weights is None:
        values.sort()
    else:
        order = np.argsort(values)
        values = values[order]
    is_bound = np.ones(len(values) + 1, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_bound[1:-1])
    bounds = np.flatnonzero(is_bound)
    knots = np.full(len(bounds) + 2, np.inf)
    np.take(values, bounds[:-1], out=knots[:-3], mode="clip")  # only "clip" writes to `out` without a copy
    if weights is None:
        return knots, bounds
    cumulative = np.append(0.0, np.cumsum(weights[order]))
    return knots, cumulative[bounds] / cumulative[-1]


def sum_below(
    values: np.ndarray, chosen: np.ndarray, weights: np.ndarray | None, knots: np.ndarray, below: np.ndarray
) -> tuple[float, float]:
    """Return the sum over the chosen values of weight times twice what lies below (a tie: half), and of the weights."""
    if len(values) >= COMPILED_FROM:
        from . import kernels

        return kernels.sum_below(values, chosen, weights, knots, below)
    values = values[chosen]
    doubled = below[np.searchsorted(knots, values, "left")] + below[np.searchsorted(knots, values, "right")]
    if weights is None:
        return doubled.sum().item(), len(values)
    weights = weights[chosen]  # summed in the same order as the products, so that a perfect ranking gets exactly 1.0
    return (weights * doubled).sum().item(), weights.sum().item()
