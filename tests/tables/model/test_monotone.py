"""Curves of a given shape: the optimality conditions hold, and so does the shape."""

import itertools

import numpy as np
import pytest
from additive_data import design_of, mixed_rows
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit

from aucmax import AdditiveAUCClassifier
from aucmax.classifier import AUCClassifier
from aucmax.tables.kernels import gather, scatter
from aucmax.tables.shapes import Shape, monotone_logistic, monotone_square, nonnegative_minimum

X, Y = mixed_rows(300)
DESIGN, ROWS = design_of(X, Y, 12, [(0, 2)])
K, ALPHA = ROWS.n_features, 1e-2
SHAPE = Shape.of(DESIGN.terms, DESIGN.columns, np.array([-1, 1, 0, 0]))
S = ROWS.basis.coordinates(np.eye(K)).T @ ROWS.basis.coordinates(np.eye(K))


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


def check_conditions(f, gradient):
    """Check the shape, and that no change that keeps the shape lowers the objective."""
    first = f[: DESIGN.columns[0].n_values]
    second = f[DESIGN.columns[0].n_codes :][: DESIGN.columns[1].n_values]
    assert (np.diff(first) <= 1e-12).all()
    assert (np.diff(second) >= -1e-12).all()
    z, v = SHAPE.C.T @ gradient, np.linalg.solve(SHAPE.C, f)
    assert (z[SHAPE.bound] >= -1e-7).all()
    assert_allclose(z[~SHAPE.bound], 0, atol=1e-7)
    assert_allclose(z * v, 0, atol=1e-7)
    assert (v[SHAPE.bound] < 1e-9).any()


@pytest.mark.parametrize("pooled", [False, True])
def test_the_conditions_of_the_square_loss(pooled):
    u = monotone_square(ROWS, ROWS.basis, SHAPE, ALPHA, pooled)
    moments = ROWS.moments().pooled() if pooled else ROWS.moments()
    scale = ROWS.basis.coordinates(np.eye(K))
    gradient = scale.T @ (moments.squared_loss_gradient(u) / 2 + ALPHA * u)
    check_conditions(ROWS.basis.values(u), gradient)


def test_the_conditions_of_the_logistic_loss():
    u, n_iter = monotone_logistic(ROWS, ROWS.basis, SHAPE, ALPHA, 1e-9)
    f, c = ROWS.basis.values(u), ROWS.targets.pair_weights / 2
    scores = gather(ROWS.codes, np.append(f, 0.0))
    best = brentq(lambda offset: c @ (expit(scores + offset) - Y), -9, 9, xtol=1e-14)
    gradient = scatter(ROWS.codes, c * (expit(scores + best) - Y), K + 1)[:K] + ALPHA * S @ f
    assert 1 < n_iter < 20
    check_conditions(f, gradient)


@pytest.mark.parametrize("loss", ["squared", "pooled", "balanced_logistic"])
def test_without_a_binding_shape_it_is_the_model_without_shapes(loss):
    free = AUCClassifier(loss, alpha=ALPHA, standardize=False, tol=1e-9)
    free._fit_rows(ROWS)
    none = Shape.of(DESIGN.terms, DESIGN.columns, np.zeros(4))
    if loss == "balanced_logistic":
        u, _ = monotone_logistic(ROWS, ROWS.basis, none, ALPHA, 1e-9)
    else:
        u = monotone_square(ROWS, ROWS.basis, none, ALPHA, loss == "pooled")
    assert_allclose(ROWS.scores(u), ROWS.scores(free.coef_[0]), atol=1e-6)


@pytest.mark.parametrize("loss", ["auto", "squared"])
def test_the_estimator_has_its_shapes_and_falling_is_rising_upside_down(loss):
    falling = AdditiveAUCClassifier(loss, monotonic_cst=[0, 0, 0, -1], categorical_features=[2]).fit(X, Y)
    mirrored = np.column_stack([X[:, :3], -X[:, 3]])
    rising = AdditiveAUCClassifier(loss, monotonic_cst=[0, 0, 0, 1], categorical_features=[2]).fit(mirrored, Y)
    grid = np.column_stack([np.zeros((50, 3)), np.linspace(-3, 3, 50)])
    assert (np.diff(falling.coef_[0, -falling.columns_[3].n_values :]) <= 0).all()
    assert (np.diff(falling.decision_function(grid)) <= 1e-12).all()
    upside_down = np.column_stack([grid[:, :3], -grid[:, 3]])
    difference = falling.decision_function(grid) - rising.decision_function(upside_down)
    assert_allclose(difference, difference[0], atol=0.05)  # borders between bins of many values differ
