"""Starts on a path of penalties: the best combination of earlier minimisers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import shifted_class
from scipy.optimize import minimize

from aucmax.losses import find_loss
from aucmax.rows.memory import MemoryRows
from aucmax.solvers import newton
from aucmax.solvers.newton import RELATIVE, combine
from aucmax.solvers.problem import newton_problem
from aucmax.solvers.square import MomentProblem

LOSSES = ("squared_hinge", "logistic", "exponential", "sigmoid")


@pytest.mark.parametrize("loss", LOSSES)
def test_combine_finds_the_best_combination(loss):
    X, y = shifted_class(n=200)
    rows, alpha = MemoryRows(X, y, np.array([0, 1])), 0.03
    V = newton_problem(rows, MomentProblem(rows.moments(), False), loss, 100).path(np.array([0.3, 0.1]), 1e-6)[::-1]
    loss = find_loss(loss)

    def value(c):
        return loss(rows, X @ (c @ V)).value + alpha / 2 * np.sum((c @ V) ** 2)

    v, scores, point = combine(rows, loss, V, list(V @ X.T), alpha)
    assert_allclose(scores, X @ v, atol=1e-12)
    reached, start = point.value + alpha / 2 * v @ v, value([1, 0])
    assert reached == pytest.approx(value(np.linalg.lstsq(V.T, v)[0]), rel=1e-12)
    best = minimize(value, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13}).fun
    assert best - 1e-9 <= reached <= best + 5e-3 * (start - best) < start
    known, *_ = combine(rows, loss, V, list(V @ X.T), alpha, loss(rows, X @ V[0]))
    assert_allclose(known, v, rtol=1e-12)


@pytest.mark.parametrize("V", [np.zeros((2, 5)), np.ones((2, 5)), np.outer([1, -2], np.arange(5.0))])
def test_combine_of_dependent_weights(V):
    X, y = shifted_class(n=60)
    rows, loss = MemoryRows(X, y, np.array([0, 1])), find_loss("logistic")
    v, scores, point = combine(rows, loss, V, list(V @ X.T), 0.1)
    assert_allclose(scores, X @ v, atol=1e-12)
    assert np.linalg.matrix_rank(np.vstack([V, v])) == np.linalg.matrix_rank(V)
    assert point.value + 0.05 * v @ v <= loss(rows, X @ V[0]).value + 0.05 * V[0] @ V[0]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential"])
def test_the_relative_error_along_a_path(loss):
    X, y = shifted_class(n=200)
    rows, tol = MemoryRows(X, y, np.array([0, 1])), 1e-3
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), loss, 100)
    alphas = problem.default_alphas()
    rough, exact = (problem.path(alphas, each) * problem.square.scale for each in (tol, 1e-10))
    for alpha, v, best in zip(alphas, rough, exact, strict=True):
        allowed = max(tol * problem.steepness * problem.size / alpha, RELATIVE * tol * 2 * np.linalg.norm(best))
        assert np.linalg.norm(v - best) <= allowed
    assert np.linalg.norm(rough - exact) > 1e-6 * np.linalg.norm(exact)  # it is an error that is compared


def test_a_path_takes_fewer_steps_than_its_fits(monkeypatch):
    monkeypatch.setattr(newton, "LONG_ROW", 5)
    monkeypatch.setattr(newton, "MANY_ENTRIES", 5 * 300)
    X, y = shifted_class(n=300)
    rows = MemoryRows(X, y, np.array([0, 1]))
    alphas = 10.0 ** -np.arange(0, 4, 0.5)
    problem = newton_problem(rows, MomentProblem(rows.moments(), True), "squared_hinge", 100)
    problem.path(alphas, 1e-4)
    together, apart = problem.n_iter, 0
    monkeypatch.setattr(newton, "MANY_ENTRIES", 5 * 300 + 1)
    problem.path(alphas, 1e-4)
    assert together < 0.8 * problem.n_iter  # from the last minimiser alone
    for alpha in alphas:
        problem.path(np.array([alpha]), 1e-4)
        apart += problem.n_iter
    assert together < apart / 2
