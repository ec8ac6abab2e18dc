"""The order of a pass, and what a sample says of its weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from aucmax.papers.engine.sample import Sample, Scaling, row_order
from aucmax.rows.memory import MemoryRows

weights_of_rows = st.lists(st.floats(0, 5) | st.integers(0, 3).map(float), max_size=40).map(np.array)


@settings(deadline=None)  # the first call compiles
@given(weights=weights_of_rows, carry=st.floats(0, 1, exclude_max=True))
def test_a_row_is_met_as_often_as_its_weight_says(weights, carry):
    order, left = row_order(len(weights), weights, False, carry, None)
    assert order.dtype == np.uint64
    assert np.all(np.diff(order.astype(int)) >= 0)
    times = np.bincount(order.astype(int), minlength=len(weights))
    assert np.all(np.abs(times - weights) < 1 + 1e-9)  # floor or ceiling
    assert 0 <= left < 1
    assert len(order) + left == pytest.approx(weights.sum() + carry)


@settings(deadline=None)  # the first call compiles
@given(weights=weights_of_rows, cut=st.integers(0, 40))
def test_any_split_gives_the_same_order(weights, cut):
    whole, left = row_order(len(weights), weights, False, 0.0, None)
    head, tail = weights[:cut], weights[cut:]
    first, carry = row_order(len(head), head, False, 0.0, None)
    second, end = row_order(len(tail), tail, False, carry, None)
    np.testing.assert_array_equal(whole, np.concatenate([first, second + np.uint64(len(head))]))
    assert left == end


def test_shuffled_orders_hold_fractions_on_average():
    weights, rng = np.array([0.3, 2.0, 1.6, 0.05]), np.random.RandomState(0)
    times = np.zeros(4)
    for _ in range(4000):
        order, _ = row_order(4, weights, True, 0.0, rng)
        times += np.bincount(order.astype(int), minlength=4)
    np.testing.assert_allclose(times / 4000, weights, atol=0.03)
    assert times[1] == 8000


def test_whole_weights_draw_no_more_than_repeated_rows():
    one, two = np.random.RandomState(3), np.random.RandomState(3)
    order, _ = row_order(3, np.array([2.0, 0.0, 3.0]), True, 0.0, one)
    np.testing.assert_array_equal(order, np.array([0, 0, 2, 2, 2])[row_order(5, None, True, 0.0, two)[0]])
    assert one.random_sample() == two.random_sample()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_sample_with_weights_is_that_of_repeated_rows(kind):
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((12, 3)), np.arange(12) % 3 == 0, rng.integers(0, 4, 12)
    samples = []
    for rows in (
        MemoryRows(kind(X), y, np.array([False, True]), weights.astype(float)),
        MemoryRows(kind(np.repeat(X, weights, axis=0)), np.repeat(y, weights), np.array([False, True])),
    ):
        means, variances = rows.column_statistics()
        scaling = Scaling.of(rows.totals, means, variances, standardize=True)
        samples.append(Sample.of(rows.X, rows.targets, scaling, means))
    weighted, repeated = samples
    np.testing.assert_allclose(weighted.means, repeated.means, atol=1e-12)
    np.testing.assert_allclose(weighted.totals, repeated.totals)
    assert len(weighted.positive) == np.count_nonzero(weights)
    assert weighted.share == pytest.approx(repeated.share)
    assert weighted.mean_norm == pytest.approx(repeated.mean_norm)
    assert weighted.mean_norm == pytest.approx(3)  # standardised columns
    times = weights[weights > 0]
    np.testing.assert_allclose(np.repeat(weighted.pair_weights / times, times), repeated.pair_weights)
