"""Curves, surfaces and their penalties."""

import numpy as np
import pytest
from additive_data import CATEGORICAL, count_values, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal

from aucmax.tables.bins import find_columns
from aucmax.tables.pairs import encode
from aucmax.tables.terms import (
    PAIR_RIDGE,
    RIDGE,
    Basis,
    cell_codes,
    edges_of,
    group_codes,
    pair_term,
    penalty,
    single_term,
)

X, Y = mixed_rows()
COLUMNS = find_columns([count_values(x, np.ones(len(x))) for x in X.T], CATEGORICAL, 20, 1000)
TERMS = [*(single_term(j, column) for j, column in enumerate(COLUMNS)), pair_term((0, 2), COLUMNS)]
BASIS = Basis(TERMS, COLUMNS, np.array([0.5, 1.0, 2.0, 3.0, 10.0]))


def test_the_penalty_of_a_curve_is_its_roughness():
    f = np.random.default_rng(0).standard_normal(COLUMNS[0].n_codes)
    curve, missing = f[:-1], f[-1]
    expected = len(curve) * np.sum(np.diff(curve) ** 2) + RIDGE * curve @ curve + missing**2
    assert_allclose(f @ penalty(TERMS[0], COLUMNS) @ f, expected)


def test_the_penalty_of_levels_is_their_squared_norm():
    assert_array_equal(penalty(TERMS[2], COLUMNS), np.eye(3))


def test_penalty_of_a_surface_by_categories_is_a_curve_for_each_level():
    m, n = TERMS[4].shape
    f = np.random.default_rng(0).standard_normal((m, n))
    curves, missing = f[:-1], f[-1]
    expected = len(curves) * np.sum(np.diff(curves, axis=0) ** 2) + PAIR_RIDGE * np.sum(curves**2) + missing @ missing
    assert_allclose(f.ravel() @ penalty(TERMS[4], COLUMNS) @ f.ravel(), expected)


def test_in_the_coordinates_of_the_basis_the_penalty_is_the_squared_norm():
    u = np.random.default_rng(1).standard_normal(BASIS.n_cells)
    f = BASIS.values(u)
    parts = np.split(f, edges_of(TERMS)[1:-1])
    strengths = (0.5, 1.0, 2.0, 3.0, 10.0)
    total = sum(s * part @ penalty(term, COLUMNS) @ part for s, part, term in zip(strengths, parts, TERMS, strict=True))
    assert_allclose(total, u @ u)
    assert_allclose(BASIS.coordinates(f), u, atol=1e-10)
    g = np.random.default_rng(2).standard_normal(BASIS.n_cells)
    assert_allclose(g @ f, BASIS.rmatvec(g) @ u)


def test_each_row_is_in_one_cell_of_each_term():
    codes = encode(COLUMNS, X)
    cells = cell_codes(TERMS, codes)
    edges = edges_of(TERMS)
    assert (cells >= edges[:-1]).all()
    assert (cells < edges[1:]).all()
    first, second = (group[codes[:, j]] for j, group in zip((0, 2), TERMS[4].groups, strict=True))
    assert_array_equal(cells[:, 4] - edges[4], first * 3 + second)


def test_unknown_codes_are_in_no_cell_of_a_term():
    codes = encode(COLUMNS, np.array([[0.0, 0.0, 99.0, np.nan]]))
    cells = cell_codes(TERMS, codes)[0]
    assert_array_equal(cells == BASIS.n_cells, [False, False, True, True, True])


@pytest.mark.parametrize("j", range(4))
def test_groups_are_neighbours_of_about_the_same_weight(j):
    groups, column = group_codes(COLUMNS[j]), COLUMNS[j]
    assert len(groups) == column.n_codes
    steps = np.diff(groups)
    assert ((steps == 0) | (steps == 1)).all()
    assert groups.max() + 1 <= 8 + column.missing


def test_rare_categories_share_a_group():
    x = np.repeat(np.arange(20.0), np.arange(20, 0, -1))[:, None]
    (column,) = find_columns([count_values(x, np.ones(len(x))) for x in x.T], np.array([True]), 30, 100)
    assert_array_equal(group_codes(column), np.minimum(np.arange(20), 7))
