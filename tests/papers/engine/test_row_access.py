"""Rows and weights inside kernels, against NumPy."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from aucmax.papers.engine import averages as weights_module
from aucmax.papers.engine import row_access as rows_module
from aucmax.papers.engine.averages import AveragedWeights, data_step
from aucmax.papers.engine.row_access import (
    coefficients,
    combine_rows,
    coordinates,
    longest_row,
    n_columns,
    norm_rows,
    score_rows,
    shape_of,
    steps_per_sweep,
    vector_dot,
    view_rows,
    weight_vector,
    zero_weights,
)


@numba.njit
def dot(rows, i, w):
    return rows_module.row_dot(rows, i, w)


@numba.njit
def axpy(a, rows, i, w):
    rows_module.row_axpy(a, rows, i, w)


@numba.njit
def axpys(a, w, b, v, rows, i):
    rows_module.row_axpys(a, w, b, v, rows, i)


@numba.njit
def fetch(rows, order):
    for n in range(order.shape[0]):
        rows_module.fetch_ahead(rows, order, n)


@numba.njit
def dots(rows, i, W, out):
    rows_module.row_dots(rows, i, W, out)


@numba.njit
def outer(rows, i, r, W):
    rows_module.row_outer(rows, i, r, W)


@numba.njit
def settle(rows, w):
    rows_module.settle(rows, w)


@numba.njit
def recenter(rows, w):
    rows_module.recenter(rows, w)


N, D = 9, 4


def problem(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6)
    shift, unit = (np.zeros(D), np.ones(D)) if kind == "plain" else (rng.standard_normal(D), rng.random(D) + 0.5)
    Z = (X - shift) * unit
    X = {"plain": X, "dense": X, "csr": sparse.csr_array(X), "matrix": sparse.csr_matrix(X)}[kind]
    return view_rows(X, shift, unit), Z, shift, unit, rng


every_kind = pytest.mark.parametrize("kind", ["plain", "dense", "csr", "matrix"])


@pytest.mark.slow
@every_kind
def test_weight_vectors_stay_linear_through_any_steps(kind):
    rows, Z, shift, unit, rng = problem(0, kind)
    w, plain = zero_weights(D), np.zeros(D)
    for k in range(60):
        i, a = np.uint64(rng.integers(N)), rng.standard_normal()
        assert dot(rows, i, w) == pytest.approx(Z[i] @ plain, abs=1e-12)
        axpy(a, rows, i, w)
        plain += a * Z[i]
        if k % 7 == 0:  # scaling and adding are linear, the slots included
            w, plain = 0.5 * w + 0.25 * w, 0.75 * plain
        if k % 11 == 0:
            settle(rows, w)
            np.testing.assert_allclose(w[:D], plain, atol=1e-12)
        if k % 13 == 0:
            settle(rows, w)
            w[:D] = plain = np.sign(plain) * np.maximum(np.abs(plain) - 0.1, 0)
            plain = plain.copy()
            recenter(rows, w)
    np.testing.assert_allclose(coefficients(w, shift, unit), plain * unit, atol=1e-12)


@every_kind
def test_products_with_several_weight_vectors(kind):
    rows, Z, shift, unit, rng = problem(1, kind)
    W, plain, out = np.zeros((len(zero_weights(D)), 3)), np.zeros((D, 3)), np.empty(3)
    for _ in range(20):
        i, r = np.uint64(rng.integers(N)), rng.standard_normal(3)
        outer(rows, i, r, W)
        plain += np.outer(Z[i], r)
        dots(rows, i, W, out)
        np.testing.assert_allclose(out, Z[i] @ plain, atol=1e-11)
    for k in range(3):
        np.testing.assert_allclose(coefficients(W[:, k], shift, unit), plain[:, k] * unit, atol=1e-12)


@every_kind
def test_a_row_is_added_to_two_weight_vectors_as_to_each(kind):
    rows, Z, shift, unit, rng = problem(8, kind)
    w, v = zero_weights(D), zero_weights(D)
    a, b = rng.standard_normal((2, N))
    for i in range(N):
        axpys(a[i], w, b[i], v, rows, np.uint64(i))
    np.testing.assert_allclose(coefficients(w, shift, unit), a @ Z * unit, atol=1e-12)
    np.testing.assert_allclose(coefficients(v, shift, unit), b @ Z * unit, atol=1e-12)


@pytest.mark.slow
@every_kind
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_fetched_ahead_stay_as_they_are(kind, dtype):
    X = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]], dtype)
    shift, unit = np.zeros(3), np.ones(3)
    if kind == "dense":
        shift[0] = 1.0
    rows = view_rows(X if kind in ("plain", "dense") else sparse.csr_array(X), shift, unit)
    for length in (0, 1, 5, 9):  # shorter and longer than what is asked for ahead
        fetch(rows, np.arange(length, dtype=np.uint64) % np.uint64(3))
    np.testing.assert_array_equal(score_rows(rows, weight_vector(rows, np.ones(3))), (X - shift).sum(axis=1))


@every_kind
def test_norms(kind):
    rows, Z, *_ = problem(2, kind)
    np.testing.assert_allclose(norm_rows(rows), (Z**2).sum(axis=1), rtol=1e-12)


@every_kind
def test_all_rows_at_once(kind):
    rows, Z, shift, unit, rng = problem(6, kind)
    u, g = rng.standard_normal(D), rng.standard_normal(N)
    w = weight_vector(rows, u)
    assert n_columns(w) == D
    np.testing.assert_array_equal(coordinates(w), u)
    np.testing.assert_allclose(coefficients(w, shift, unit), u * unit)
    np.testing.assert_allclose(score_rows(rows, w), Z @ u, atol=1e-12)
    total = combine_rows(rows, g)
    np.testing.assert_allclose(coordinates(total), Z.T @ g, atol=1e-12)
    np.testing.assert_allclose(score_rows(rows, total), Z @ (Z.T @ g), atol=1e-11)
    unsettled = zero_weights(D)
    for i in range(N):
        axpy(g[i], rows, np.uint64(i), unsettled)
    assert vector_dot(w, unsettled) == pytest.approx(u @ (Z.T @ g), abs=1e-12)


def test_shape_and_cost_of_rows():
    X = np.array([[0.0, 3, 0, 0, 0, 0], [0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 0, 0]])
    dense, csr = (view_rows(kind(X), np.zeros(6), np.ones(6)) for kind in (np.asarray, sparse.csr_array))
    assert shape_of(dense) == shape_of(csr) == (3, 6)
    assert (longest_row(dense), longest_row(csr)) == (6, 2)
    assert (steps_per_sweep(dense), steps_per_sweep(csr)) == (1, 6)


def test_rows_are_copied_only_where_they_must_be():
    X = np.arange(12.0).reshape(4, 3)
    ones, zeros = np.ones(3), np.zeros(3)
    assert np.shares_memory(view_rows(X, zeros, 2 * ones).values, X)
    csr = sparse.csr_array(X)
    view = view_rows(csr, ones, ones)
    assert np.shares_memory(view.data, csr.data)
    assert np.shares_memory(view.indices, csr.indices)
    assert view_rows(csr, zeros, 2 * ones).data is not csr.data
    np.testing.assert_array_equal(csr.toarray(), X)


@numba.njit
def run(w, rows, norms, order, actions, values, radius):
    for n in range(order.shape[0]):
        i = order[n]
        s = weights_module.score(w, rows, i)
        kept, most = 0.01 if actions[n] == 1 else 1.0, radius if actions[n] == 2 else np.inf
        weights_module.step_in_ball(w, values[n], rows, i, s, norms[i], kept, most)
        weights_module.add_to_average(w, 1.0 + n)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["dense", "csr"]))
def test_weights_shrunk_projected_and_averaged(seed, kind):
    rows, Z, _, _, rng = problem(seed, kind)
    norms = norm_rows(rows)
    order = rng.integers(N, size=40).astype(np.uint64)
    actions, values = rng.integers(3, size=40), rng.standard_normal(40)
    w = AveragedWeights.zeros(D)
    np.testing.assert_array_equal(w.average(), 0)
    run(w, rows, norms, order, actions, values, 1.5)
    plain, total, mass = np.zeros(D), np.zeros(D), 0.0
    for n, (i, action, value) in enumerate(zip(order, actions, values, strict=True)):
        plain = plain + value * Z[i]
        if action == 1:
            plain = 0.01 * plain
        elif action == 2:
            plain = plain * min(1, 1.5 / np.linalg.norm(plain))
        total += (1 + n) * plain
        mass += 1 + n
    last, average = w.last(), w.average()
    settle(rows, last)
    settle(rows, average)
    np.testing.assert_allclose(last[:D], plain, atol=1e-9)
    np.testing.assert_allclose(average[:D], total / mass, atol=1e-9)
    assert w.scalars[1] == pytest.approx(plain @ plain, abs=1e-9)


def test_long_shrinking_loses_neither_the_weights_nor_their_average():
    rows, Z, *_ = problem(3, "dense")
    norms = norm_rows(rows)
    n = 200  # 0.01^200 is far below the smallest number
    w = AveragedWeights.zeros(D)
    run(w, rows, norms, np.zeros(n, np.uint64), np.ones(n, np.int64), np.ones(n), 1.0)
    plain = 0.01 * Z[0] / (1 - 0.01)
    np.testing.assert_allclose(w.last()[:D], plain, rtol=1e-10)
    np.testing.assert_allclose(w.average()[:D], plain, rtol=1e-2)


def test_a_step_from_the_data_never_moves_a_score_past_its_target():
    assert data_step(0.5, 2.0, 1.0) == 0.25
    assert data_step(0.5, 2.0, 100.0) == 0.005
    assert data_step(0.5, 2.0, 0.0) == 0


@numba.njit
def pair_products(rows, i, j, w):
    scratch = np.zeros(w.shape[0])
    twice = rows_module.pair_norm(rows, i, j, scratch) + rows_module.pair_norm(rows, i, j, scratch)  # if left clean
    return rows_module.pair_dot(rows, i, j, w), 0.5 * twice


@numba.njit
def pair_axpy(a, rows, i, j, w, other):
    rows_module.pair_axpy(a, w, -2.0 * a, other, rows, i, j)


@every_kind
def test_differences_of_two_rows(kind):
    rows, Z, shift, unit, rng = problem(4, kind)
    w, other, plain, sums = zero_weights(D), zero_weights(D), np.zeros(D), np.zeros(D)
    for i in np.arange(N, dtype=np.uint64):
        for j in np.arange(N, dtype=np.uint64):
            a, z = rng.standard_normal(), Z[i] - Z[j]
            axpy(0.1, rows, i, w)  # a weight vector that is not made of differences alone
            plain += 0.1 * Z[i]
            dot_with_w, norm = pair_products(rows, i, j, w)
            assert dot_with_w == pytest.approx(z @ plain, abs=1e-11)
            assert norm == pytest.approx(z @ z, rel=1e-12, abs=1e-30)
            pair_axpy(a, rows, i, j, w, other)
            plain += a * z
            sums -= 2 * a * z
            assert dot(rows, i, w) == pytest.approx(Z[i] @ plain, abs=1e-11)
    np.testing.assert_allclose(coefficients(w, shift, unit), plain * unit, atol=1e-11)
    np.testing.assert_allclose(coefficients(other, shift, unit), sums * unit, atol=1e-11)


def test_differences_of_rows_without_nonzeros():
    X = np.array([[0.0, 0, 0, 0], [0, 3, 0, 4], [1, 0, 0, 0], [0, 0, 0, 0]])
    rows = view_rows(sparse.csr_array(X), np.zeros(4), np.ones(4))
    w = np.append(np.arange(1.0, 5), [0, 0])
    for i in range(4):
        for j in range(4):
            z = X[i] - X[j]
            assert pair_products(rows, np.uint64(i), np.uint64(j), w) == (z @ w[:4], z @ z)


def test_the_distance_of_two_rows_does_not_suffer_from_a_far_centre():
    X = 1e9 + np.array([[0.0, 1, 2], [1, 1, 0]])
    rows = view_rows(sparse.csr_array(X), np.full(3, 1e9), np.ones(3))
    assert pair_products(rows, np.uint64(0), np.uint64(1), np.zeros(5)) == (0, 5)


@numba.njit
def run_pairs(w, rows, left, right, values, scores):
    for n in range(left.shape[0]):
        scores[n] = weights_module.pair_score(w, rows, left[n], right[n])
        weights_module.pair_step(w, values[n], rows, left[n], right[n])
        if n % 3 == 0:
            weights_module.shrink(w, 0.01)
        if n % 2 == 0:
            weights_module.add_to_average(w, 1.0 + n)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_steps_on_pairs_shrunk_and_averaged(kind):
    rows, Z, _, _, rng = problem(5, kind)
    left, right = rng.integers(N, size=(2, 40)).astype(np.uint64)
    values, scores = rng.standard_normal(40), np.empty(40)
    w = AveragedWeights.zeros(D)
    run_pairs(w, rows, left, right, values, scores)
    plain, total, mass = np.zeros(D), np.zeros(D), 0.0
    for n, (i, j, value) in enumerate(zip(left, right, values, strict=True)):
        assert scores[n] == pytest.approx((Z[i] - Z[j]) @ plain, abs=1e-9)
        plain = plain + value * (Z[i] - Z[j])
        if n % 3 == 0:
            plain = 0.01 * plain
        if n % 2 == 0:
            total, mass = total + (1 + n) * plain, mass + 1 + n
    last, average = w.last(), w.average()
    settle(rows, last)
    settle(rows, average)
    np.testing.assert_allclose(last[:D], plain, atol=1e-9)
    np.testing.assert_allclose(average[:D], total / mass, atol=1e-9)
