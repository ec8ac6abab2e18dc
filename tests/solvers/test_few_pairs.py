"""Compiled paths on few pairs, against the losses and the solver for any number of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import shifted_class
from sklearn.exceptions import ConvergenceWarning

from aucmax import roc_auc
from aucmax.losses.evaluation import pairwise_loss
from aucmax.rows.memory import MemoryRows
from aucmax.solvers import few_pairs
from aucmax.solvers.few_pairs import (
    FewPairs,
    Scores,
    evaluate_pairs,
    fill_gradient,
    find_error,
    find_few_pairs,
    find_scores,
)
from aucmax.solvers.problem import newton_problem
from aucmax.solvers.square import MomentProblem, RowProblem

ALPHAS = 10.0 ** -np.arange(-1, 4, 0.5)


def make(n=150, weighted=False, seed=0):
    """Return rows, some of them far away, the square loss on them, and their pairs."""
    X, y = shifted_class(n=n, seed=seed)
    X[:5] *= 5
    weights = np.random.default_rng(1).integers(0, 3, n).astype(float) if weighted else None
    rows = MemoryRows(X, y, np.array([0, 1]), weights)
    square = MomentProblem(rows.moments(), True)
    return rows, square, FewPairs(rows, square)


@pytest.mark.parametrize("loss", ["logistic", "sigmoid"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [0.1, 3.0, 1e3])
def test_few_pairs_loss_derivatives_and_error(loss, weighted, size):
    """With a size of 1,000, score differences exceed what a product of two exponentials can hold."""
    rows, square, few = make(weighted=weighted)
    weights = rows.sample_weight
    v = size * np.random.default_rng(2).standard_normal(5)
    at = few_pairs.empty_state(few.pairs)
    find_scores(few.pairs, v @ few.U, at.scores)
    mean = evaluate_pairs(few.pairs, loss == "sigmoid", at)
    s = rows.X @ (v / square.scale)
    point = pairwise_loss(rows.y, s, loss, weights)
    assert mean == pytest.approx(pairwise_loss(rows.y, s, "sigmoid", weights).value, rel=1e-9)
    used = np.ones(len(s), bool) if weights is None else weights > 0
    upper, lower = rows.targets.positive & used, ~rows.targets.positive & used
    assert_allclose(np.append(*at.slopes), np.append(point.gradient[upper], point.gradient[lower]), atol=1e-12)
    u = np.random.default_rng(3).standard_normal(len(s))
    product = point.hessian_product(u)
    curved = few_pairs.empty_scores(few.pairs)
    few_pairs.hessian_product(at, Scores(u[upper], u[lower]), curved)
    assert_allclose(np.append(*curved), np.append(product[upper], product[lower]), atol=1e-12)
    gradient = np.empty(5)
    fill_gradient(few.pairs, at.slopes, 0.01, v @ few.U, gradient)
    assert_allclose(gradient @ few.U.T, rows.X.T @ point.gradient / square.scale + 0.01 * v, atol=1e-11)
    assert find_error(few.pairs, at) == pytest.approx(1 - roc_auc(rows.y, s, sample_weight=weights), abs=1e-12)


def test_few_pairs_error_counts_ties_one_half():
    rows = MemoryRows(np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1]), np.array([0, 1]))
    few = FewPairs(rows, MomentProblem(rows.moments(), True))
    at = few_pairs.empty_state(few.pairs)
    find_scores(few.pairs, few.delta, at.scores)
    assert find_error(few.pairs, at) == 0.125


@pytest.mark.parametrize("weighted", [False, True])
def test_the_logistic_path_is_that_of_any_number_of_pairs(weighted, monkeypatch):
    rows, square, _ = make(weighted=weighted)
    fast = newton_problem(rows, square, "logistic", 100).path(ALPHAS, 1e-10)
    monkeypatch.setattr(few_pairs, "MAX_PAIRS", 0)
    slow = newton_problem(rows, square, "logistic", 100).path(ALPHAS, 1e-10)
    assert not np.array_equal(fast, slow)
    assert_allclose(fast, slow, rtol=0, atol=1e-6 * np.abs(slow).max())


@pytest.mark.parametrize("constant", [False, True])
def test_few_pairs_path_of_more_columns_than_rows(constant, monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.standard_normal((30, 50)) + 0.1 * y[:, None]
    if constant:
        X[:, 7] = 3.0
    rows = MemoryRows(X, y, np.array([0, 1]))
    square = RowProblem(rows, True, "dual", 100)
    few = find_few_pairs(rows, square)
    assert few.U.shape == (50, 30)
    assert_allclose(few.pairs.upper @ few.U.T, (X[y == 1] - square.center) / square.scale, atol=1e-12)
    fast = newton_problem(rows, square, "logistic", 100).path(ALPHAS, 1e-10)
    monkeypatch.setattr(few_pairs, "MAX_PAIRS", 0)
    slow = newton_problem(rows, square, "logistic", 100).path(ALPHAS, 1e-10)
    assert_allclose(fast, slow, rtol=0, atol=1e-6 * np.abs(slow).max())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_eigenvalues_are_those_of_the_square_loss(weighted):
    _, square, few = make(weighted=weighted)
    M = (few.U * few.pairs.eigenvalues) @ few.U.T
    assert_allclose(M, square.scaled.pair_scatter(), atol=1e-12)


def test_gradients_vanish_along_the_path_of_the_sigmoid():
    rows, square, few = make(n=300)
    start = few.logistic_path(ALPHAS[:1], 1e-9, 0.0, 100).V[0]
    path = few.sigmoid_path(start, ALPHAS, 1e-9, 0.0, 1000, 0.0)
    assert path.excess <= 1
    previous = np.inf
    for alpha, v, error in zip(ALPHAS, path.V, path.errors, strict=True):
        point = pairwise_loss(rows.y, rows.X @ (v / square.scale), "sigmoid")
        assert np.linalg.norm(rows.X.T @ point.gradient / square.scale + alpha * v) < 1.01e-9
        assert error == pytest.approx(1 - roc_auc(rows.y, rows.X @ (v / square.scale)), abs=1e-12)
        assert point.value + alpha / 2 * v @ v <= previous  # less penalty, and never uphill
        previous = point.value + alpha / 2 * v @ v


def test_once_the_sigmoid_is_steep_the_weights_stay():
    rows, square, few = make()
    path = few.sigmoid_path(few.U @ few.delta, 10.0 ** -np.arange(0, 12.0), 1e-6, 0.0, 100, 0.01)
    first = np.argmax((path.V[-1] == path.V).all(axis=1))
    assert 0 < first < len(path.V) - 1
    loss = [pairwise_loss(rows.y, rows.X @ (v / square.scale), "sigmoid").value for v in path.V]
    assert 0 < loss[first] <= 1.01 * path.errors[first]
    assert loss[first - 1] > 1.01 * path.errors[first - 1]


def test_few_pairs_warn_where_the_steps_are_too_few():
    rows, square, _ = make()
    with pytest.warns(ConvergenceWarning, match=r"^Newton's method stopped after \d+ steps at a gradient"):
        newton_problem(rows, square, "logistic", 1).path(np.array([1.0, 1e-6]), 1e-9)


def test_few_pairs_are_chosen_by_their_number(monkeypatch):
    rows, square, _ = make()
    assert find_few_pairs(rows, square) is not None
    assert find_few_pairs(rows, RowProblem(rows, True, "cg", 100)) is None
    monkeypatch.setattr(few_pairs, "MAX_PAIRS", int(np.prod(rows.counts)) - 1)
    assert find_few_pairs(rows, square) is None


def test_few_pairs_path_with_constant_and_equal_columns():
    X, y = shifted_class(n=80)
    X = np.column_stack([X, np.full(80, 3.0), X[:, 0]])
    rows = MemoryRows(X, y, np.array([0, 1]))
    for loss in ("logistic", "sigmoid"):
        W = newton_problem(rows, MomentProblem(rows.moments(), True), loss, 100).path(ALPHAS, 1e-8)
        assert np.isfinite(W).all()
        assert not W[:, 5].any()
        assert_allclose(W[:, 0], W[:, 6], rtol=1e-6, atol=1e-9)
