"""Lines, levels, curves and surfaces: their penalties, and how they are shown."""

import numpy as np
import pytest
from additive_data import CATEGORICAL, Problem, columns_of, mixed_frame, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal

from aucmax import TableClassifier
from aucmax.tables.bins import encode
from aucmax.tables.fitting.ladder import Climb
from aucmax.tables.terms import (
    MAX_GROUPS,
    MOST,
    RIDGE,
    cell_codes,
    curve,
    edges_of,
    functions_of,
    group_codes,
    line,
    main_effects,
    narrow,
    show,
    single_term,
)

X, Y = mixed_rows()
COLUMNS = columns_of(X, max_bins=20)
PAIRS = [(0, 2), (0, 3), (1, 2)]


def test_the_penalty_of_a_curve_is_its_roughness():
    block = curve(0, COLUMNS[0], 0, 99)
    f = np.random.default_rng(0).standard_normal(block.size)
    values, missing = f[:-1], f[-1]
    expected = len(values) * np.sum(np.diff(values) ** 2) + RIDGE * values @ values + missing**2
    assert_allclose(f @ block.pull(f), expected)


@pytest.mark.parametrize("n_functions", [3, 7])
def test_functions_of_a_curve_are_orthonormal_and_have_the_roughness_of_their_values(n_functions):
    block, column = curve(0, COLUMNS[0], 0, n_functions), COLUMNS[0]
    shares = column.mass[:-1] / column.mass[:-1].sum()
    functions = block.T[:-1, :-1]
    assert functions.shape == (column.n_values, n_functions)
    assert_allclose(functions.T @ (shares[:, None] * functions), np.eye(n_functions), atol=1e-6)
    u = np.random.default_rng(0).standard_normal(block.size)
    f = block.values(u)
    roughness = curve(0, column, 0, 99).pull(f) @ f
    assert_allclose(u @ block.pull(u), roughness, rtol=1e-8)
    assert f[-1] == u[-1]


def test_a_line_is_the_standardised_mean_of_each_bin():
    block, column = line(0, COLUMNS[0], 0), COLUMNS[0]
    shares = column.mass[:-1] / column.mass[:-1].sum()
    slope = block.T[:-1, 0]
    assert_allclose([shares @ slope, shares @ slope**2], [0, 1], atol=1e-12)
    assert_allclose(np.corrcoef(slope, column.center)[0, 1], 1)
    assert_array_equal(block.T[-1], [0, 1])
    constant = columns_of(np.ones((9, 1)), [False])[0]
    assert_array_equal(line(0, constant, 0).T, [[0.0]])


@pytest.mark.parametrize("j", range(4))
def test_functions_of_a_surface_are_orthonormal_over_groups(j):
    functions = functions_of(COLUMNS[j], 4)
    known = functions.groups >= 0
    mass = np.bincount(functions.groups[known], COLUMNS[j].mass[known])
    product = functions.values.T @ (mass[:, None] / mass.sum() * functions.values)
    assert_allclose(product, np.eye(len(product)), atol=1e-6)


@pytest.mark.parametrize("most", [1, 20, 999])
def test_surfaces_have_the_smoothest_products_of_functions(most):
    """Each product has the penalty of its two functions; none that is left out is smoother than one that is in."""
    problem = Problem(X, Y, max_bins=20)
    surfaces = problem.design.surfaces(PAIRS, 7, most)
    whole = problem.design.surfaces(PAIRS, 7, 999)
    assert [block.strength for block in surfaces] == [7, 8, 9]
    assert sum(block.size for block in surfaces) < most + len(PAIRS)
    left_out = np.concatenate([np.setdiff1d(each.S, block.S) for block, each in zip(surfaces, whole, strict=True)])
    for pair, block in zip(PAIRS, surfaces, strict=True):
        assert block.size == 1 or block.S.max() < left_out.min(initial=np.inf)
        a, b = (functions_of(COLUMNS[j], MOST) for j in pair)
        products = np.einsum("aj,bk->abjk", a.values, b.values).reshape(len(block.T), -1)
        used = [np.flatnonzero((products == column[:, None]).all(axis=0))[0] for column in block.T.T]
        assert_allclose(block.S, np.outer(a.roughness, b.roughness).ravel()[used])


@pytest.mark.parametrize("n_functions", [3, 7])
def test_a_narrow_curve_is_next_to_the_curve(n_functions):
    """Least squares over the rows, whether the curve was made of bins or of functions."""
    column = COLUMNS[0]
    wide = curve(0, column, 0, column.n_values - 1)
    values = np.random.default_rng(0).standard_normal(column.n_codes)
    block, u = narrow(wide, column, n_functions, values)
    root = np.sqrt(np.append(column.mass[:-1], 1.0))
    assert_allclose(u, np.linalg.lstsq(root[:, None] * block.T, root * values)[0], atol=1e-6)
    assert_allclose(block.S, np.append(curve(0, column, 0, n_functions).S[:-1], 1.0))


def test_each_row_is_in_one_cell_of_each_term():
    problem = Problem(X, Y, max_bins=20)
    terms = [block.term for block in (*problem.design.curves, *problem.design.surfaces(PAIRS, 5, 64))]
    cells, edges = cell_codes(terms, problem.rows.X), edges_of(terms)
    assert (cells >= edges[:-1]).all()
    assert (cells < edges[1:]).all()
    first, second = (group[problem.rows.X[:, j]] for j, group in zip((0, 2), terms[4].groups, strict=True))
    assert_array_equal(cells[:, 4] - edges[4], first * terms[4].shape[1] + second)


def test_unknown_codes_are_in_no_cell_of_a_term():
    """A level that no training row had is known as "other", but not to a surface."""
    terms = [single_term(j, column) for j, column in enumerate(COLUMNS)]
    problem = Problem(X, Y, max_bins=20)
    terms.append(problem.design.surfaces([(0, 2)], 5, 64)[0].term)
    cells = cell_codes(terms, encode(COLUMNS, np.array([[0.0, 0.0, 99.0, np.nan]])))[0]
    assert_array_equal(cells == edges_of(terms)[-1], [False, False, False, True, True])


@pytest.mark.parametrize("j", range(4))
def test_groups_are_neighbours_of_about_the_same_weight(j):
    column = columns_of(X, max_bins=60)[j]
    groups = group_codes(column, 8)
    steps = np.diff(groups[: column.n_values])
    assert len(groups) == column.n_codes
    assert ((steps == 0) | (steps == 1)).all()
    assert groups.max() + 1 <= 8 + column.missing
    if j == 3:
        assert np.bincount(groups, column.mass).max() < 2 * len(X) / 8


def test_the_rarest_levels_share_a_group():
    (column,) = columns_of(np.repeat(np.arange(20.0), np.arange(20, 0, -1))[:, None], [True])
    assert_array_equal(group_codes(column, 8), [*np.minimum(np.arange(20), 7), -1])


def test_main_effects_are_found_and_leave_nothing():
    rng = np.random.default_rng(0)
    W = rng.integers(0, 5, (4, 6)).astype(float)
    W[2], W[:, 5] = 0, 0  # a line and a column without rows
    a, b = rng.standard_normal(4), rng.standard_normal(6)
    found = main_effects(W) @ np.add.outer(a, b).ravel()
    left = (np.add.outer(a, b) - np.add.outer(found[:4], found[4:]))[W > 0]
    assert_allclose(left, 0, atol=1e-10)
    assert found[2] == pytest.approx(0)


def check_pure(terms, values, masses):
    """Check that all terms have the mean 0, and surfaces in each of their lines."""
    for term, f, mass in zip(terms, values, masses, strict=True):
        assert_allclose(mass @ f / mass.sum(), 0, atol=1e-10)
        if len(term.columns) > 1:
            F = (mass * f / mass.sum()).reshape(term.shape)
            assert_allclose(F.sum(axis=0), 0, atol=1e-10)
            assert_allclose(F.sum(axis=1), 0, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_terms_are_shown_without_main_effects_and_scores_stay(weighted):
    weights = np.random.default_rng(0).uniform(0.5, 3, len(X)) if weighted else None
    problem = Problem(X, Y, max_bins=20, weights=weights)
    fit = Climb(problem.rows, problem.design, PAIRS).fit("pairs")
    masses = problem.system(fit.blocks).masses()
    rng = np.random.default_rng(1)
    coordinates = [rng.standard_normal(len(u)) for u in fit.coordinates]
    shown = show(fit.blocks, coordinates, [mass / mass.sum() for mass in masses])
    terms = [block.term for block in fit.blocks]
    check_pure(terms, shown.values, masses)
    scores = np.append(np.concatenate(shown.values), 0.0)[cell_codes(terms, problem.rows.X)].sum(axis=1)
    before = fit._replace(coordinates=coordinates).score(problem.rows.X)
    assert_allclose(scores + shown.mean + fit.offset, before, atol=1e-10)
    for (values, made_of), share in zip(zip(shown.values, shown.made_of, strict=False), masses, strict=False):
        parts = [coordinates[t] if matrix is None else matrix @ coordinates[t] for t, matrix in made_of]
        total = sum(parts)
        assert_allclose(total - share @ total / share.sum(), values, atol=1e-10)


def test_the_estimator_has_pure_surfaces_of_mean_0():
    frame, y = mixed_frame()
    model = TableClassifier(pairs=[("curve", "colour"), ("curve", "noise"), (1, 2)], terms="pairs", cv=0).fit(frame, y)
    assert [term.columns for term in model.terms_[4:]] == PAIRS
    cuts = edges_of(model.terms_)[1:-1]
    check_pure(model.terms_, np.split(model.coef_[0], cuts), np.split(model.mass_, cuts))
    assert all(max(term.shape) <= MAX_GROUPS + 1 for term in model.terms_[4:])
    assert CATEGORICAL.tolist() == [column.categorical for column in model.columns_]
