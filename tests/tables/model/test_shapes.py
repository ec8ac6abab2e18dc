"""Lines and curves of a given shape: the optimality conditions hold, and so does the shape."""

import itertools

import numpy as np
import pytest
from additive_data import CATEGORICAL, Problem, mixed_frame, mixed_rows
from numpy.testing import assert_allclose

from aucmax import TableClassifier
from aucmax.tables.fitting.evidence import find_mode, find_strengths
from aucmax.tables.fitting.ladder import find_mode_in_shape, make_system
from aucmax.tables.fitting.shapes import constrained, nonnegative_minimum
from aucmax.tables.terms import edges_of

X, Y = mixed_rows(300)
SIGNS = np.array([-1, 1, 0, 0, 0])


def positive_definite(n, rng):
    root = rng.standard_normal((n + 3, n))
    return root.T @ root


@pytest.mark.parametrize("seed", range(20))
def test_nonnegative_minimum_beside_all_active_sets(seed):
    rng = np.random.default_rng(seed)
    A, b, bound = positive_definite(7, rng), rng.standard_normal(7), np.arange(7) > 1
    best = np.inf
    for active in itertools.product([False, True], repeat=5):
        free = np.append([True, True], ~np.array(active))
        v = np.zeros(7)
        v[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
        if (v[bound] >= 0).all():
            best = min(best, v @ A @ v / 2 - b @ v)
    found = nonnegative_minimum(A, b, bound)
    assert (found[bound] >= 0).all()
    assert_allclose(found @ A @ found / 2 - b @ found, best, atol=1e-10)


@pytest.mark.parametrize("n", [50, 200])
def test_nonnegative_minimum_meets_the_conditions_of_optimality(n):
    rng = np.random.default_rng(n)
    A, b, bound = positive_definite(n, rng), rng.standard_normal(n), rng.random(n) < 0.8
    v = nonnegative_minimum(A, b, bound)
    z = A @ v - b
    assert (v[bound] >= 0).all()
    assert (z[bound] >= -1e-10).all()
    assert_allclose(z[~bound], 0, atol=1e-9)
    assert_allclose(v * z, 0, atol=1e-9)
    assert 0 < np.count_nonzero(v[bound] == 0) < bound.sum()


def problem_of(n_levels, signs=SIGNS):
    """Return rows with one more category."""
    codes = np.random.default_rng(0).integers(0, n_levels, len(X)).astype(float)
    return Problem(np.column_stack([X, codes]), Y, np.append(CATEGORICAL, True), 12, signs=signs)


@pytest.mark.parametrize("n_levels", [5, 120], ids=["narrow", "wide"])
@pytest.mark.parametrize("rung", ["lines", "curves", "surfaces"])
def test_a_mode_in_shape_meets_the_conditions_of_optimality(rung, n_levels):
    signs = np.array([-1, -1, 0, 0, 0]) if rung == "lines" else SIGNS
    problem = problem_of(n_levels, signs)
    design, surfaces = problem.design, problem.design.surfaces([(2, 3)], 6, 36)
    blocks = {"lines": design.lines, "curves": design.curves, "surfaces": [*design.curves, *surfaces]}[rung]
    system = make_system(problem.rows, blocks, design)
    fit, _ = find_mode_in_shape(system, find_strengths(system), design, 1e-9)
    f = system.join(fit.coordinates, fit.offset)
    slopes = np.append(system.penalty(fit.strengths, f), 0.0) + system.expand(f).gradient
    gradients, n_active = system.parts(slopes), 0
    for t, block in enumerate(blocks):
        u, g = fit.coordinates[t], gradients[t]
        m = problem.columns[t].n_values if t < 2 and rung != "lines" else int(t < 2)
        if m == 1:
            v, z = signs[t] * u[:1], signs[t] * g[:1]
        elif m:  # a change of a difference moves all values after it
            v, z = signs[t] * np.diff(u[:m]), signs[t] * np.cumsum(g[:m][::-1])[::-1][1:]
            assert_allclose(g[:m].sum(), 0, atol=1e-6)
        else:
            v, z = np.zeros(0), np.zeros(0)
        assert (v >= -1e-12).all()
        assert (z >= -1e-6).all()
        assert_allclose(v * z, 0, atol=1e-6)
        assert_allclose(g[m:], 0, atol=1e-6, err_msg=str(block.term.columns))
        n_active += np.count_nonzero(v < 1e-9)
    assert n_active > 0
    assert_allclose(slopes[-1], 0, atol=1e-6)


@pytest.mark.parametrize("rung", ["lines", "curves"])
def test_without_a_shape_it_is_the_mode(rung):
    problem = problem_of(120)
    system = make_system(problem.rows, getattr(problem.design, rung), problem.design)
    start = find_strengths(system)
    solve = constrained(system, problem.columns, np.zeros(5))
    free, shaped = (find_mode(system, start, 1e-9, 100, each)[0] for each in (None, solve))
    assert_allclose(free.score(problem.rows.X), shaped.score(problem.rows.X), atol=1e-6)


@pytest.mark.parametrize("terms", ["lines", "curves"])
def test_a_shape_that_the_rows_have_changes_nothing(terms):
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(5.0), 200)[:, None]
    y = rng.random(1000) < 0.1 + 0.15 * x[:, 0]
    free, rising = (TableClassifier(terms, cv=0, monotonic_cst=cst).fit(x, y) for cst in (None, [1]))
    assert_allclose(rising.decision_function(x), free.decision_function(x), atol=1e-6)


@pytest.mark.parametrize("parameters", [{"terms": "lines"}, {"terms": "curves"}, {"pairs": [("colour", "noise")]}, {}])
def test_shown_curves_rise_and_fall_exactly(parameters):
    X, y = mixed_frame()
    model = TableClassifier(monotonic_cst={"curve": -1, "zeros": 1}, cv=2, **parameters).fit(X, y)
    for j, sign in ((0, -1), (1, 1)):
        values = model.coef_[0, edges_of(model.terms_)[j] :][: model.columns_[j].n_values]
        assert (sign * np.diff(values) >= 0).all()
    grid = X.iloc[[0] * 200].assign(curve=np.linspace(-3, 3, 200))
    assert (np.diff(model.decision_function(grid)) <= 0).all()


def test_falling_is_rising_upside_down():
    falling = TableClassifier("curves", cv=2, monotonic_cst=[0, 0, 0, -1]).fit(X, Y)
    rising = TableClassifier("curves", cv=2, monotonic_cst=[0, 0, 0, 1]).fit(X * [1, 1, 1, -1], Y)
    assert_allclose(falling.decision_function(X), rising.decision_function(X * [1, 1, 1, -1]), atol=0.05)


def test_a_date_rises_from_earlier_to_later():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 1000, 400)
    frame = pytest.importorskip("pandas").DataFrame(
        {"since": np.datetime64("2020-01-01") + days, "size": rng.random(400)}
    )
    y = rng.random(400) < days / 1000
    latest = frame["since"].max().date()
    for shape in ({"since": 1}, [1, 0], {f"since (days before {latest})": -1}):
        curve = TableClassifier("lines", cv=0, monotonic_cst=shape).fit(frame, y)
        assert curve.score(frame, y) > 0.75, shape
    flat = TableClassifier("lines", cv=0, monotonic_cst={"since": -1}).fit(frame, y)
    assert flat.score(frame, y) < 0.7  # by month and weekday


def test_lines_and_curves_take_no_pairs():
    with pytest.raises(ValueError, match=r"^pairs= is not used with terms='lines'"):
        TableClassifier("lines", cv=0, pairs=2).fit(np.random.default_rng(0).random((40, 2)), np.arange(40) % 2)
