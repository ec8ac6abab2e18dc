"""The exact AUC: the scores of the rarer class are sorted, and the other class is looked up among them.

Ties count one half. Without weights, all sums are integers and therefore exact. With weights, the sums over the larger
class are rounded once, at the end (`exact_sum`): the AUC does not depend on how these rows are split into blocks, not
even in its last digit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import namespace, prefix_sums
from . import kernels
from .kernels import HALF, N_EXPONENTS, OFFSET

# The compiled loop is faster from 1,000 rows on, but importing Numba and loading the loop takes half a second once.
# Below this number of rows np.searchsorted takes less than 5 ms, so even a hundred calls take less than that.
COMPILED_FROM = 1 << 15


def areas(positive: Any, columns: Iterable[Any], weights: Any) -> list[float]:
    """Return the AUC of each column of scores, from the ranks of the larger class among the smaller."""
    if not isinstance(positive, np.ndarray):
        return [device_area(positive, scores, weights) for scores in columns]
    counted = positive if weights is None else positive[weights > 0]
    few_are_positive = bool(2 * np.count_nonzero(counted) <= len(counted))
    few = positive if few_are_positive else ~positive
    many = ~few
    few_weights = None if weights is None else weights[few]

    aucs = []
    for scores in columns:
        knots, below = sort_distinct(scores.compress(few), few_weights)  # in a third of the time of scores[few]
        aucs.append(area(sum_below(scores, many, weights, knots, below), below, few_are_positive))
    return aucs


def area(sums: tuple[int, int], below: np.ndarray, few_are_positive: bool) -> float:
    """Return the AUC from the sums of `sum_below` over the larger class."""
    doubled_wins, weight = sums
    doubled_pairs = 2 * int(below[-1]) * weight
    return (doubled_pairs - doubled_wins if few_are_positive else doubled_wins) / doubled_pairs


def device_area(positive: Any, scores: Any, weights: Any) -> float:
    """Return the AUC of scores on a device: the sorted negatives are looked up among the sorted positives.

    Without weights all sums are integers. With weights they are rounded as sums of float64 are.
    """
    xp = namespace(scores)
    ranks = xp.argsort(scores, stable=True)
    scores, positive = xp.take(scores, ranks), xp.take(positive, ranks)
    upper, lower = (xp.take(scores, xp.nonzero(side)[0]) for side in (positive, ~positive))
    sides = [xp.searchsorted(upper, lower, side=side) for side in ("left", "right")]
    if weights is None:
        places, pairs = int(xp.sum(sides[0])) + int(xp.sum(sides[1])), 2 * upper.shape[0] * lower.shape[0]
        return (pairs - places) / pairs
    weights = xp.take(weights, ranks)
    below = prefix_sums(xp.take(weights, xp.nonzero(positive)[0]))
    own = xp.take(weights, xp.nonzero(~positive)[0])
    doubled = float(own @ (xp.take(below, sides[0]) + xp.take(below, sides[1])))
    return 1 - doubled / (2 * float(below[-1]) * float(xp.sum(own)))


def aucs_of_scores(space: Any, *scores: Any) -> list[float]:
    """Return the AUCs of scores in blocks. The rarer class is gathered, the other is looked up block by block."""
    few_are_positive = bool(space.counts[1] <= space.counts[0])

    def rare(targets: Any, *s: np.ndarray) -> np.ndarray:
        columns = s if targets.sample_weight is None else (*s, targets.sample_weight)
        return np.array(columns).compress(targets.positive == few_are_positive, axis=1)

    def wins(targets: Any, *s: np.ndarray) -> list[tuple[int, int]]:
        many = targets.positive != few_are_positive
        return [sum_below(column, many, targets.sample_weight, *few) for column, few in zip(s, tables, strict=True)]

    def add(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(x[0] + y[0], x[1] + y[1]) for x, y in zip(a, b, strict=True)]

    gathered = space.reduce(rare, *scores, merge=lambda a, b: np.append(a, b, axis=1))
    weights = gathered[len(scores)] if len(gathered) > len(scores) else None
    tables = [sort_distinct(column, weights) for column in gathered[: len(scores)]]
    sums = space.reduce(wins, *scores, merge=add)
    return [area(of_column, below, few_are_positive) for of_column, (_, below) in zip(sums, tables, strict=True)]


def sort_distinct(values: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, sorted and padded with infinities, and how much lies below each of them.

    The latter is the number of rows, or the share of the weight if there are weights. Its last entry is the total.
    """
    if weights is None:
        values.sort()
        return distinct(values)
    order = order_of(values)
    knots, bounds = distinct(values[order])
    cumulative = np.append(0.0, np.cumsum(weights[order]))
    return knots, cumulative[bounds] / cumulative[-1]


def distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ones of sorted values, padded with infinities, and the number of values below each."""
    is_bound = np.ones(len(values) + 1, dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_bound[1:-1])
    bounds = np.flatnonzero(is_bound)
    knots = np.full(len(bounds) + 2, np.inf)
    np.take(values, bounds[:-1], out=knots[:-3], mode="clip")  # only "clip" writes to `out` without a copy
    return knots, bounds


def order_of(values: np.ndarray) -> np.ndarray:
    """Return the order of values; equal ones, whose weights round differently in other orders, stay as they come."""
    order = np.argsort(values)
    ordered = values[order]
    return np.argsort(values, kind="stable") if np.any(ordered[1:] == ordered[:-1]) else order


def sum_below(
    values: np.ndarray, chosen: np.ndarray, weights: np.ndarray | None, knots: np.ndarray, below: np.ndarray
) -> tuple[int, int]:
    """Return the sum over the chosen values of weight times twice what lies below (a tie: half), and of the weights.

    With weights, both are in units of `exact_sum`.
    """
    if len(values) >= COMPILED_FROM:
        if weights is None:
            return kernels.sum_below(values, chosen, None, knots, below)
        terms = np.zeros(len(values))
        kernels.sum_below(values, chosen, weights, knots, below, terms)
        return exact_sum(terms), exact_sum(weights[chosen])
    values = values[chosen]
    doubled = below[np.searchsorted(knots, values, "left")] + below[np.searchsorted(knots, values, "right")]
    if weights is None:
        return doubled.sum().item(), len(values)
    return exact_sum(weights[chosen] * doubled), exact_sum(weights[chosen])


def exact_sum(values: np.ndarray) -> int:
    """Return the sum of finite values, without rounding, in units of 2^-1126."""
    sums = np.zeros((N_EXPONENTS, 2), dtype=np.int64)
    if len(values) >= COMPILED_FROM:
        kernels.add_exactly(values, sums)
    else:
        mantissas, exponents = np.frexp(values)
        whole = (mantissas * 2.0**53).astype(np.int64)
        np.add.at(sums, exponents + OFFSET, np.column_stack([whole >> HALF, whole & ((1 << HALF) - 1)]))
    return sum(
        (int(high) << (HALF + k)) + (int(low) << k)
        for k, (high, low) in zip(np.flatnonzero(sums.any(axis=1)).tolist(), sums[sums.any(axis=1)], strict=True)
    )
