"""Columns as codes."""

import itertools

import numpy as np
from additive_data import CATEGORICAL, columns_of, count_values, mixed_rows
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from odd_rows import OddRows

from aucmax.rows.memory import MemoryRows
from aucmax.tables import bins
from aucmax.tables.bins import (
    between,
    code_rows,
    encode,
    find_columns,
    last_of_bins,
    limit_of,
    make_column,
    summarise_values,
)


def column_of(x, categorical=False, n_bins=8, weights=None):
    return columns_of(np.asarray(x, dtype=np.float64)[:, None], [categorical], n_bins, weights)[0]


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


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=30),
    st.lists(st.sampled_from([-9.0, -2.5, 0.0, 1.0, 1.5, 3.0, 7.0]), min_size=1, max_size=7, unique=True).map(sorted),
)
def test_bins_between_cut_points_count_the_rows_between_them(values, cuts):
    x, cuts = np.array([*values, np.nan]), np.array(cuts)
    (column,) = find_columns([count_values(x)], np.zeros(1, bool), 4, {0: cuts})
    assert_array_equal(column.cuts, cuts)
    edges = [-np.inf, *cuts, np.inf]
    for k, (low, high) in enumerate(itertools.pairwise(edges)):
        inside = x[(x > low) & (x <= high)]
        assert column.mass[k] == len(inside)
        if len(inside):
            assert (column.low[k], column.high[k]) == (inside.min(), inside.max())
            assert np.isclose(column.center[k], inside.mean())
        else:
            assert low <= column.low[k] == column.center[k] == column.high[k] <= high
    assert_array_equal(np.bincount(column.encode(x), minlength=column.n_codes), column.mass)


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


@given(st.lists(st.integers(0, 300), min_size=1, max_size=400), st.integers(2, 6))
def test_levels_are_never_cut(levels, max_bins):
    x = np.array(levels, dtype=np.float64)
    column = column_of(x, categorical=True, n_bins=max_bins)
    assert_array_equal(column.cuts, np.unique(x))
    assert_array_equal(column.mass[:-1], np.unique(x, return_counts=True)[1])
    assert_array_equal(column.cuts[column.encode(x)], x)


def test_other_is_the_last_code_of_a_category():
    column = column_of([5, 5, 7, 9, 2], categorical=True)
    assert_array_equal(column.encode(np.array([2, 5, 7, 9, 6, 99, -1, np.nan])), [0, 1, 2, 3, 4, 4, 4, 4])
    assert_array_equal(column.mass, [1, 2, 1, 1, 0])
    missing = column_of([5, np.nan, 2], categorical=True)
    assert_array_equal(missing.encode(np.array([2, 5, np.nan, 6])), [0, 1, 2, 3])
    assert_array_equal(missing.mass, [1, 1, 1, 0])
    assert (missing.n_codes, missing.n_values, missing.missing) == (4, 2, True)


def test_a_level_of_rows_without_weight_is_other():
    column = column_of([1, 2, 3, np.nan], categorical=True, weights=np.array([1.0, 0.0, 2.0, 0.0]))
    assert_array_equal(column.cuts, [1, 3])
    assert_array_equal(column.encode(np.array([2.0, np.nan])), [2, 2])


def test_column_encodes_infinite_values():
    column = column_of([-np.inf, 0, np.inf, np.inf])
    assert_array_equal(column.encode(np.array([-np.inf, -1e300, 0, 1e300, np.inf])), [0, 1, 1, 2, 2])
    assert_array_equal(between(np.array([1.0]), np.array([np.nextafter(1.0, 2)])), [1.0])


def test_count_values_and_make_column_of_few_values():
    x = np.array([2.0, np.nan, 2.0, 1.0])
    values, mass, absent, error = count_values(x, np.array([1.0, 1.0, 2.0, 0.0]))
    assert (absent, error) == (1, 0)
    assert (values.tolist(), mass.tolist()) == ([2.0], [3.0])
    assert last_of_bins(np.array([1.0, 1.0]), 2).all()
    assert make_column(np.zeros(0), np.zeros(0), 0.0, False, 4).n_codes == 0


def test_codes_take_as_few_bytes_as_they_need():
    x = np.arange(70_000.0)[:, None]
    sizes = [encode(columns_of(x[:n], [True]), x[:n]).dtype.itemsize for n in (200, 300, 70_000)]
    assert sizes == [1, 2, 4]


def test_rows_in_blocks_have_the_columns_and_codes_of_memory(monkeypatch):
    X, y = mixed_rows()
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    memory, odd = MemoryRows(X, y, np.array([0, 1]), weights, y), OddRows.of(X, y, weights, y)
    expected = bins.find_columns(summarise_values(memory), CATEGORICAL, 16)
    found = bins.find_columns(summarise_values(odd), CATEGORICAL, 16)
    for ours, theirs in zip(found, expected, strict=True):
        for name, value in ours._asdict().items():
            assert_array_equal(value, getattr(theirs, name))
    codes = code_rows(memory, expected)
    for large in (bins.LARGE, 100):  # in memory, and in a temporary file
        monkeypatch.setattr(bins, "LARGE", large)
        coded = code_rows(odd, found)
        assert isinstance(coded.X, np.memmap) == (large == 100)
        assert_array_equal(coded.X, codes.X)
        for name in ("positive", "sample_weight", "groups"):
            assert_array_equal(getattr(coded.targets, name), getattr(memory.targets, name))


def test_fewer_values_are_kept_of_each_of_many_columns():
    assert [limit_of(n) for n in (10, 100, 1024)] == [1 << 16, (1 << 22) // 100, 1 << 12]
