"""Distinct values and quantiles as a summary that merges."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from aucmax.tables.bins import add_values, finish_counts, merge_counts, no_values


def summary_of(x, weights, limit, size):
    """Return the summary of blocks of some size, added one after the other."""
    counts = no_values()
    for start in range(0, len(x), size):
        add_values(counts, x[start : start + size], weights[start : start + size], limit)
    return counts


def exact(x, weights):
    values = np.unique(x[~np.isnan(x) & (weights > 0)])
    return values, np.array([weights[x == value].sum() for value in values])


def largest_rank_error(found, x, weights):
    """Return the largest difference between the weight up to a value by the summary and by all rows."""
    order = np.argsort(x)
    ranks = np.append(0.0, np.cumsum(weights[order]))
    places = np.searchsorted(x[order], found.values, side="right")
    return np.abs(np.cumsum(found.mass) - ranks[places]).max()


@given(
    st.lists(st.tuples(st.sampled_from([np.nan, -np.inf, -1.5, 0.0, 2.0, 7.0, 9.0]), st.integers(0, 3)), max_size=40),
    st.integers(1, 7),
)
def test_counts_of_few_values_are_exact_whatever_the_blocks(rows, size):
    x, weights = np.array([x for x, _ in rows]), np.array([w for _, w in rows], dtype=float)
    found = finish_counts(summary_of(x, weights, 8, size))
    values, mass = exact(x, weights)
    assert_array_equal(found.values, values)
    assert_array_equal(found.mass, mass)
    assert found.absent == weights[np.isnan(x)].sum()
    assert found.error == 0


CASES = {
    "mixed": lambda rng: rng.standard_normal(40_000),
    "sorted": lambda rng: np.sort(rng.standard_normal(40_000)),
    "mostly zero": lambda rng: np.where(rng.random(40_000) < 0.7, 0.0, rng.exponential(1, 40_000)),
    "two lumps": lambda rng: np.round(rng.standard_normal(40_000), 3) + 50 * (np.arange(40_000) > 20_000),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_ranks_of_many_values_are_within_the_stated_bound(case, weighted):
    rng = np.random.default_rng(0)
    x = CASES[case](rng)
    weights = rng.integers(0, 4, len(x)).astype(float) if weighted else np.ones(len(x))
    counts = summary_of(x, weights, 512, 1000)
    found, total = finish_counts(counts), weights.sum()
    assert found.mass.sum() == total
    assert len(found.values) <= 512 * (len(counts["runs"]) + 1)
    assert largest_rank_error(found, x, weights) <= found.error
    assert found.error > 0
    levels = max(run[0] for run in counts["runs"])
    assert found.error <= 4 * (levels + 1) / 512 * total
    assert levels <= 9
    assert found.values[0] == x[weights > 0].min()
    assert found.values[-1] == x[weights > 0].max()
    if case == "mostly zero":  # a heavy value stays by itself
        assert found.mass[found.values == 0.0] == weights[x == 0].sum()


def test_merge_counts_keeps_the_bound_and_changes_no_part():
    rng = np.random.default_rng(1)
    x = rng.standard_normal(30_000)
    parts = [summary_of(part, np.ones(len(part)), 256, 700) for part in np.array_split(x, 13)]
    before = [finish_counts(part).values.copy() for part in parts]
    merged = functools.reduce(functools.partial(merge_counts, limit=256), parts)
    found = finish_counts(merged)
    assert largest_rank_error(found, x, np.ones(len(x))) <= found.error < 0.15 * len(x)
    for part, values in zip(parts, before, strict=True):
        assert_array_equal(finish_counts(part).values, values)
