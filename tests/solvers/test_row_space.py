"""Newton steps in score space, against dense linear algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from aucmax import AUCClassifier
from aucmax.data.memory import MemoryRows
from aucmax.losses import find_loss
from aucmax.solvers import newton
from aucmax.solvers.row_space import estimate_lengths, row_space_direction


def wide_rows(n=60, d=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2)
    y = (X[:, :10].sum(axis=1) + 0.5 * rng.standard_normal(n) > 0).astype(int)
    return X, y


def test_the_step_solves_the_system_of_newton():
    X, y = wide_rows()
    rows, alpha = MemoryRows(X, y, np.array([0, 1])), 1e-3
    rng = np.random.default_rng(1)
    v = 0.05 * rng.standard_normal(150)
    point = find_loss("squared_hinge")(rows, X @ v)
    gradient = X.T @ point.gradient + alpha * v
    H = np.array([point.hessian_product(unit) for unit in np.eye(60)])
    lengths = (X**2).sum(axis=1)
    d, scores, n_steps = row_space_direction(
        rows, rows.scores, rows.rmatvec, point, (np.diag(H), lengths), gradient, alpha, 1e-9, 500
    )
    expected = np.linalg.solve(X.T @ H @ X + alpha * np.eye(150), -gradient)
    assert_allclose(d, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    assert_allclose(scores, X @ d, rtol=0, atol=1e-8)
    assert 0 < n_steps < 500


def test_lengths_are_estimated():
    X, y = wide_rows(d=2000)
    rows = MemoryRows(X, y, np.array([0, 1]))
    ratio = estimate_lengths(rows, 2000, rows.scores) / (X**2).sum(axis=1)
    assert abs(ratio.mean() - 1) < 0.2
    assert ratio.std() < 0.6


@pytest.mark.parametrize("loss", newton.UNEVEN)
def test_the_same_minimiser_as_by_steps_in_the_columns(loss, monkeypatch):
    X, y = wide_rows()
    used = []
    step = newton.row_space_direction
    monkeypatch.setattr(newton, "row_space_direction", lambda *arguments: used.append(1) or step(*arguments))
    tol = 1e-7 if loss == "hinge" else 1e-9
    fits = []
    for limit in (newton.SMALL_ALPHA, 0.0):
        monkeypatch.setattr(newton, "SMALL_ALPHA", limit)
        used.clear()
        clf = AUCClassifier(loss, alpha=1e-3, solver="cg", tol=tol).fit(sparse.csr_array(X), y)
        assert bool(used) == (limit > 0)
        fits.append(clf.coef_)
    assert_allclose(*fits, rtol=0, atol=(1e-3 if loss == "hinge" else 1e-5) * np.abs(fits[0]).max())
