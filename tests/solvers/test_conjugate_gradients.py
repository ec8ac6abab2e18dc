"""Conjugate gradients for many systems at once, against dense linear algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from aucmax.solvers.conjugate_gradients import conjugate_gradients


def systems(n=4, d=12, dtype=np.float64):
    """Return positive definite matrices and right-hand sides."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d, 2 * d))
    return (A @ A.transpose(0, 2, 1)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)


def product(M):
    return lambda V: np.einsum("sij,sj->si", M, V)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-8), (np.float32, 1e-3)])
def test_conjugate_gradients_solve_all_systems_in_the_precision_of_b(dtype, rtol):
    M, b = systems(dtype=dtype)
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    steps = []
    x, products = conjugate_gradients(product(M), lambda R: R / diagonal, b, 0.1 * rtol, 100, steps.append)
    assert x.dtype == products.dtype == dtype
    assert all(step.dtype == dtype and step.shape == (4,) for step in steps)
    expected = np.linalg.solve(M.astype(np.float64), b[:, :, None])[:, :, 0]
    assert_allclose(x, expected, rtol=0, atol=rtol * np.abs(expected).max())
    assert_allclose(products, np.sum(b * x, axis=1), rtol=1e-4)
    exact, _ = conjugate_gradients(product(M), lambda R: np.linalg.solve(M, R[:, :, None])[:, :, 0], b, 1e-4, 1)
    assert_allclose(exact, expected, rtol=0, atol=rtol * np.abs(expected).max())


def test_conjugate_gradients_callback_sums_the_directions():
    M, b = systems(n=1)
    total, last = np.zeros(12), None

    def remember(V):
        nonlocal last
        last = V[0]
        return product(M)(V)

    def add(step):
        nonlocal total
        total = total + step[0] * last

    x, _ = conjugate_gradients(remember, lambda R: R, b, 1e-6, 100, add)
    assert_allclose(total, x[0], rtol=1e-12)


def test_conjugate_gradients_stop_a_system_at_a_direction_of_negative_curvature():
    M, b = systems(n=3)
    alone, _ = conjugate_gradients(product(M[:1]), lambda R: R, b[:1], 1e-8, 100)
    M[1] = -M[1]  # the first direction
    values, U = np.linalg.eigh(M[2])
    M[2] = U * np.append(-1e-3, values[1:]) @ U.T  # a later one
    x, _ = conjugate_gradients(product(M), lambda R: R, b, 1e-8, 100)
    assert_allclose(x[0], alone[0], rtol=1e-6)
    assert_array_equal(x[1], b[1])
    assert b[2] @ x[2] > 0  # still a direction of descent
    assert x[2] @ M[2] @ x[2] > 0
    nothing, _ = conjugate_gradients(product(M), lambda R: R, 0 * b, 1e-8, 100)
    assert_array_equal(nothing, 0)
