"""Columns as codes."""

import numpy as np
import pytest
from additive_data import count_values
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from aucmax.tables.bins import between, find_columns, last_of_bins, make_column, share_out


def column_of(x, categorical=False, n_bins=8, weights=None):
    x = np.asarray(x, dtype=np.float64)
    counted = count_values(x, np.ones(len(x)) if weights is None else weights)
    (column,) = find_columns([counted], np.array([categorical]), n_bins, 1000)
    return column


def test_column_of_few_distinct_values_has_a_bin_each():
    column = column_of([3, 1, 1, 2, 3, 3])
    assert_array_equal(column.cuts, [1.5, 2.5])
    assert_array_equal(column.mass, [2, 1, 3])
    assert_array_equal(column.encode(np.array([-9, 1.4, 1.6, 2.9, 99])), [0, 0, 1, 2, 2])


def test_frequent_value_has_its_own_bin():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(2000) < 0.9, 0.0, rng.standard_normal(2000))
    column = column_of(x, n_bins=16)
    (zero,) = column.encode(np.zeros(1))
    assert column.low[zero] == column.high[zero] == 0
    others = np.delete(column.mass, zero)
    assert 12 <= len(others) <= 17
    assert others.max() < 2.5 * others.mean()


def test_even_bins_of_distinct_values():
    column = column_of(np.arange(64), n_bins=8)
    assert_array_equal(column.mass, np.full(8, 8))
    assert_array_equal(column.low, np.arange(0, 64, 8))
    assert_array_equal(column.high, np.arange(7, 64, 8))


@given(st.lists(st.floats(allow_nan=False, width=16), min_size=1, max_size=60), st.integers(2, 9))
def test_encode_puts_values_into_the_range_of_their_bin(values, n_bins):
    x = np.array(values)
    column = column_of(x, n_bins=n_bins)
    codes = column.encode(x)
    assert (column.low[codes] <= x).all()
    assert (x <= column.high[codes]).all()
    assert_array_equal(np.bincount(codes, minlength=column.n_codes), column.mass)


def test_bins_of_weights_are_those_of_repetitions():
    rng = np.random.default_rng(1)
    x, weights = rng.integers(0, 40, 200).astype(float), rng.integers(0, 4, 200)
    x[weights == 0] += 100
    weighted, repeated = column_of(x, weights=weights.astype(float)), column_of(np.repeat(x, weights))
    for ours, theirs in zip(weighted, repeated, strict=True):
        assert_array_equal(ours, theirs)


def test_missing_values_have_the_last_code_of_their_column():
    column = column_of([1, np.nan, 2, np.nan])
    assert (column.missing, column.n_codes, column.n_values) == (True, 3, 2)
    assert_array_equal(column.mass, [1, 1, 2])
    assert_array_equal(column.encode(np.array([np.nan, 1.0])), [2, 0])
    assert_array_equal(column_of([1, 2]).encode(np.array([np.nan])), [2])
    assert_array_equal(column_of([np.nan, np.nan]).encode(np.array([np.nan, 7.0])), [0, 0])


def test_categorical_column_keeps_the_most_frequent_levels():
    column = column_of([5, 5, 5, 7, 7, 9, 2, 2], categorical=True, n_bins=3)
    assert_array_equal(column.cuts, [2, 5, 7])
    assert_array_equal(column.encode(np.array([2, 5, 7, 9, 6, np.nan, -1])), [0, 1, 2, 3, 3, 3, 3])


def test_column_encodes_infinite_values():
    column = column_of([-np.inf, 0, np.inf, np.inf])
    assert_array_equal(column.encode(np.array([-np.inf, -1e300, 0, 1e300, np.inf])), [0, 1, 1, 2, 2])
    assert_array_equal(between(np.array([1.0]), np.array([np.nextafter(1.0, 2)])), [1.0])


@pytest.mark.parametrize(("budget", "expected"), [(1000, 128), (259, 118), (258, 117), (9, 2), (1, 2)])
def test_share_out_of_bins_to_columns(budget, expected):
    assert share_out([500, 120, 20, 3], 128, budget) == expected


def test_count_values_and_make_column_of_few_values():
    x = np.array([2.0, np.nan, 2.0, 1.0])
    values, mass, absent, error = count_values(x, np.array([1.0, 1.0, 2.0, 0.0]))
    assert (absent, error) == (1, 0)
    assert (values.tolist(), mass.tolist()) == ([2.0], [3.0])
    assert last_of_bins(np.array([1.0, 1.0]), 2).all()
    assert make_column(np.zeros(0), np.zeros(0), 0.0, False, 4).n_codes == 0
