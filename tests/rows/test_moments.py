import gc
import os
import re
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

from aucmax import ClassMoments, GaussianAUC
from aucmax.rows import machine as threads
from aucmax.rows import memory
from aucmax.rows.summaries.moments import DENSE_FROM

CLASSES = np.array([0, 1])
EPS = np.finfo(np.float64).eps

weighted_or_not = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def make_data(n=500, d=5, seed=0, share=0.3, mean=0.0):
    """Rows with correlated columns, labels, and weights."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = mean + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + y[:, None]
    return X, y, rng.exponential(size=n)


def make_sparse(n=500, d=30, stored=0.05, seed=0):
    """CSR rows of few or many stored values, some of them zero.

    The first column is stored everywhere, the second almost everywhere.
    """
    rng = np.random.default_rng(seed)
    mask = rng.random((n, d)) < stored
    mask[:, :2] = True
    mask[: n // 50, 1] = False
    X = sparse.csr_array(mask.astype(float))
    X.data[:] = rng.normal(size=X.nnz) + 3 * rng.integers(0, 2, X.nnz)
    X.data[rng.random(X.nnz) < 0.05] = 0
    assert X.has_canonical_format
    return X, (rng.random(n) < 0.4).astype(int), rng.exponential(size=n)


def numpy_moments(X, y, weights=None):
    """The same moments by np.average and np.cov."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    result = ClassMoments(X.shape[1])
    for c in range(2):
        Z, w = X[y == c], weights[y == c]
        result.weight[c] = w.sum()
        if w.sum() > 0:
            result.mean[c] = np.average(Z, axis=0, weights=w)
            result.scatter[c] = w.sum() * np.cov(Z.T, aweights=w, bias=True)
    return result


def assert_same(actual, expected, rtol=1e-10):
    """Equal up to `rtol` times the spread of the columns, however far they are from zero."""
    np.testing.assert_allclose(actual.weight, expected.weight, rtol=1e-12)
    weight, rounding = expected.weight[:, None], EPS * np.abs(expected.mean)
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.diagonal(expected.scatter, axis1=1, axis2=2) / weight)
    spread = np.where(weight > 0, spread, 0)
    assert (np.abs(actual.mean - expected.mean) <= rtol * spread + 8 * rounding).all()
    # Of a column that is constant, only the squares of the rounding errors are left.
    products = rtol * spread[:, :, None] * spread[:, None] + 64 * rounding[:, :, None] * rounding[:, None]
    assert (np.abs(actual.scatter - expected.scatter) <= weight[:, None] * products).all()


def assert_identical(actual, expected):
    np.testing.assert_array_equal(actual.classes, expected.classes)
    np.testing.assert_array_equal(actual.weight, expected.weight)
    np.testing.assert_array_equal(actual.mean, expected.mean)
    np.testing.assert_array_equal(actual.scatter, expected.scatter)


# The moments are NumPy's


DENSE_LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
}


@weighted_or_not
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", DENSE_LAYOUTS)
def test_dense_moments_are_numpys(layout, dtype, weighted):
    X, y, weights = make_data(mean=100.0)
    weights = weights if weighted else None
    X = DENSE_LAYOUTS[layout](X.astype(dtype))
    untouched = X.copy()
    result = ClassMoments(X.shape[1]).update(X, y, weights)
    # float32 rows are the numbers they are: nothing is added up in float32.
    assert_same(result, numpy_moments(X, y, weights), rtol=1e-11)
    assert result.mean.dtype == result.scatter.dtype == result.weight.dtype == np.float64
    np.testing.assert_array_equal(X, untouched)


def unsorted(X):
    """The entries of each row from right to left."""
    order = np.lexsort([-X.indices, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))])
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def doubled(X):
    """Each entry as two halves, side by side."""
    return sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)


def wide_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


SPARSE_LAYOUTS = {
    "array": lambda X: X,
    "matrix": sparse.csr_matrix,
    "unsorted": unsorted,
    "doubled": doubled,
    "unsorted and doubled": lambda X: unsorted(doubled(X)),
    "int64 indices": wide_indices,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
}


@weighted_or_not
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("stored", [0.01, 0.6], ids=["sparse", "dense"])
@pytest.mark.parametrize("layout", SPARSE_LAYOUTS)
def test_sparse_moments_are_numpys(layout, stored, dtype, weighted):
    X, y, weights = make_sparse(stored=stored)
    weights = weights if weighted else None
    X = X.astype(dtype)
    given_X = SPARSE_LAYOUTS[layout](X)
    assert (given_X.nnz > 1.1 * DENSE_FROM * np.prod(X.shape)) == (stored > DENSE_FROM)
    untouched = given_X.copy()
    result = ClassMoments(X.shape[1]).update(given_X, y, weights)
    assert_same(result, numpy_moments(X, y, weights), rtol=1e-11)
    np.testing.assert_array_equal(given_X.data, untouched.data)
    if hasattr(given_X, "indices"):
        np.testing.assert_array_equal(given_X.indices, untouched.indices)


@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (-1, 1), ("ham", "spam"), (False, True), (0.5, 2.0)])
def test_labels_may_be_anything_and_the_second_is_positive(classes):
    X, y, weights = make_data()
    expected = numpy_moments(X, y, weights)
    labels = np.asarray(classes)[y]
    for given_y in (labels, labels.tolist(), labels.astype(object)):
        result = ClassMoments(X.shape[1], classes).update(X, given_y, weights)
        assert result.classes.tolist() == list(classes)
        assert_same(result, expected)


def test_moments_repr_has_the_class_weights():
    X, y, _ = make_data(n=10)
    expected = f"ClassMoments(n_features=5, negative={np.sum(y == 0)}, positive={np.sum(y == 1)})"
    assert repr(ClassMoments(5).update(X, y)) == expected


# Many rows: blocks, spans and threads


def make_many_rows(kind, n=None):
    """More rows than a block, whose means drift, so that blocks differ from one another."""
    if kind == "CSR":
        X, y, weights = make_sparse(n=n or 140_000, d=20, stored=0.03)
        X.data *= np.repeat(np.linspace(1, 5, len(y)), np.diff(X.indptr))
    else:
        X, y, weights = make_data(n=n or 40_000, d=3)
        X += np.linspace(0, 50, len(y))[:, None]
        X = X.astype(np.float32) if kind == "float32" else X
    return X, y, weights


@weighted_or_not
@pytest.mark.parametrize("spans", ["many spans", "one span"])
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR"])
def test_moments_independent_of_block_size(kind, spans, weighted, monkeypatch):
    if spans == "one span":
        monkeypatch.setattr(threads, "TILES_FROM", 0)
    X, y, weights = make_many_rows(kind)
    weights = weights if weighted else None
    expected = numpy_moments(X, y, weights)
    assert_same(ClassMoments(X.shape[1]).update(X, y, weights), expected)
    order = np.argsort(y, kind="stable")  # blocks of one class
    weights = weights if weights is None else weights[order]
    assert_same(ClassMoments(X.shape[1]).update(X[order], y[order], weights), expected)


def test_moments_of_many_columns_are_shared_in_tiles():
    n_columns = threads.TILES_FROM + 4
    X, y, weights = make_data(n=6000, d=n_columns)
    results = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads, user_api="blas"), threads.one_blas_thread():
            results.append(ClassMoments(n_columns).update(X, y, weights))
    assert_same(results[0], numpy_moments(X, y, weights))
    assert_array_equal(threads.gram(X), threads.gram(X).T)
    assert_identical(results[1], results[0])
    assert_identical(results[2], results[0])


def test_count_threads_is_one_inside_map_threads():
    with threadpool_limits(3, user_api="blas"), threads.one_blas_thread():
        assert threads.count_threads() == 3
        assert list(threads.map_threads(lambda _: threads.count_threads(), range(4))) == [1] * 4
        assert threads.count_threads() == 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_products_with_large_rows_are_shared(monkeypatch, dtype, shape):
    monkeypatch.setattr(memory, "SHARED_FROM", 1000)
    monkeypatch.setattr(memory, "BLOCK", 256)
    X, y, _ = make_data(n=3001, d=7)
    rows = memory.MemoryRows(X.astype(dtype), y, np.unique(y))
    rng = np.random.default_rng(1)
    w, g = rng.standard_normal((7, *shape)), rng.standard_normal((len(y), *shape))
    found = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads, user_api="blas"), threads.one_blas_thread():
            found.append((rows.scores(w), rows.rmatvec(g), rows.rmatvec(g, X.mean(axis=0))))
    for scores, back, centred in found:
        assert_allclose(scores, rows.X @ w, rtol=1e-6, atol=1e-6)
        assert_allclose(back, rows.X.T @ g, rtol=1e-6, atol=1e-6)
        assert_allclose(centred, (rows.X - X.mean(axis=0)).T @ g, rtol=1e-4, atol=1e-4)
        for first, other in zip(found[0], (scores, back, centred), strict=True):
            assert_array_equal(first, other)


@pytest.mark.parametrize("kind", ["float64", "float32", "CSR"])
def test_moments_are_bitwise_independent_of_threads(kind):
    X, y, weights = make_many_rows(kind)
    results = []
    for n_threads in (1, 2, 5):
        with threadpool_limits(n_threads, user_api="blas"):
            results.append(ClassMoments(X.shape[1]).update(X, y, weights))
    assert_identical(results[1], results[0])
    assert_identical(results[2], results[0])


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_map_threads_gives_blas_threads_back():
    with threadpool_limits(3, user_api="blas"):
        before = blas_threads()
        assert all(set(seen) == {1} for seen in threads.map_threads(lambda _: blas_threads(), range(5)))
        assert blas_threads() == before
        with threads.one_blas_thread():
            with threads.one_blas_thread():
                pass
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_moments_updated_side_by_side():
    X, y, weights = make_many_rows("float64")
    alone = ClassMoments(X.shape[1]).update(X, y, weights)
    with threadpool_limits(3, user_api="blas"), ThreadPoolExecutor(4) as pool:
        before = blas_threads()
        for result in pool.map(lambda _: ClassMoments(X.shape[1]).update(X, y, weights), range(12)):
            assert_identical(result, alone)
        assert blas_threads() == before


@pytest.mark.parametrize("kind", ["C", "F", "float32", "CSR"])
def test_memory_is_a_block_of_rows_and_not_a_copy(kind):
    if kind == "CSR":
        X = sparse.random_array((100_000, 100), density=0.01, rng=0, format="csr")
        allowed = X.shape[0] * X.shape[1] * 8 / 8  # an eighth of the dense array
    else:
        X = np.random.default_rng(0).random((100_000, 20))
        X = {"C": np.asarray, "F": np.asfortranarray, "float32": np.float32}[kind](X)
        allowed = X.nbytes / 2
    y = np.arange(X.shape[0]) % 2
    result = ClassMoments(X.shape[1]).update(X[:1000], y[:1000])  # what the first call loads is not counted
    tracemalloc.start()
    try:
        result.update(X, y)
        assert tracemalloc.get_traced_memory()[1] < allowed
    finally:
        tracemalloc.stop()


# Any split, any order


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=1, max_size=40),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_any_partition_and_any_tree_of_merges_give_the_same_moments(rows, seed, data):
    rng = np.random.default_rng(seed)
    y, owner = np.array(rows).T
    X, weights = 1000 + rng.normal(size=(len(y), 3)), rng.choice([0.5, 1.0, 3.0], len(y))
    parts = [ClassMoments(3).update(X[owner == k], y[owner == k], weights[owner == k]) for k in np.unique(owner)]
    together = parts[0].merge(*parts[1:])
    while len(parts) > 1:
        left, right = (parts.pop(data.draw(st.integers(0, len(parts) - 1))) for _ in range(2))
        parts.append(left.merge(right))
    expected = numpy_moments(X, y, weights)
    assert_same(parts[0], expected)
    assert_same(together, expected)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    labels=st.sampled_from(["mixed", "one class after the other", "one class only"]),
    seed=st.integers(0, 1000),
)
def test_any_stream_of_updates_gives_the_same_moments(sizes, labels, seed):
    X, y, weights = make_data(n=sum(sizes), d=4, seed=seed, mean=1000)
    y = {"mixed": y, "one class after the other": np.sort(y), "one class only": np.ones_like(y)}[labels]
    result = ClassMoments(4)
    for rows in np.split(np.random.default_rng(seed).permutation(len(y)), np.cumsum(sizes)[:-1]):
        assert result.update(X[rows], y[rows], weights[rows]) is result
    assert_same(result, numpy_moments(X, y, weights))


@pytest.mark.parametrize("size", [1, 7, 100, 2047, 5000])
def test_moments_independent_of_update_size(size):
    n = min(10_000, 300 * size)
    X, y, weights = make_data(n=n, d=3, mean=50)
    result = ClassMoments(3)
    for start in range(0, n, size):
        result.update(X[start : start + size], y[start : start + size], weights[start : start + size])
    assert_same(result, numpy_moments(X, y, weights))


def test_moments_of_nothing_change_nothing():
    X, y, weights = make_data()
    full, empty = ClassMoments(5).update(X, y, weights), ClassMoments(5)
    assert_identical(full.merge(empty), full)
    assert_identical(empty.merge(full), full)
    assert_identical(full.merge(), full)
    assert_identical(full.subtract(empty), full)


def test_moments_share_no_memory_with_their_origin():
    X, y, weights = make_data()
    origin, other = ClassMoments(5).update(X, y), ClassMoments(5).update(X, y, weights)
    kept, kept_other = origin.copy(), other.copy()
    for made in (
        origin.copy(),
        origin.merge(other),
        origin.merge(),
        origin.merge(other).subtract(other),
        origin.subtract(ClassMoments(5)),
        origin.rescaled(np.full(5, 2.0)),
        origin.standardized(),
    ):
        made.update(X, y, weights)
        assert_identical(origin, kept)
        assert_identical(other, kept_other)


# Taking away


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    labels=st.lists(st.integers(0, 1), min_size=2, max_size=40),
    share=st.floats(0.1, 0.9),
    seed=st.integers(0, 1000),
)
def test_subtract_inverts_merge(labels, share, seed):
    rng = np.random.default_rng(seed)
    y = np.array(labels)
    X, weights, taken = 10 + rng.normal(size=(len(y), 3)), rng.uniform(0.5, 2, len(y)), rng.random(len(y)) < share
    parts = [ClassMoments(3), ClassMoments(3)]
    for part, rows in zip(parts, (taken, ~taken), strict=True):
        if rows.any():
            part.update(X[rows], y[rows], weights[rows])
    whole = parts[0].merge(parts[1])
    for part, rest in (parts, parts[::-1]):
        left = whole.subtract(part)
        np.testing.assert_allclose(left.weight, rest.weight, rtol=1e-12)
        np.testing.assert_allclose(left.mean, rest.mean, rtol=0, atol=1e-9)
        np.testing.assert_allclose(left.scatter, rest.scatter, rtol=0, atol=1e-9)


@weighted_or_not
def test_subtract_of_everything_leaves_nothing(weighted):
    X, y, weights = make_data()
    parts = [ClassMoments(5).update(X[k::3], y[k::3], weights[k::3] if weighted else None) for k in range(3)]
    whole = parts[0].merge(*parts[1:])
    for rest in (whole.subtract(whole), whole.subtract(parts[1]).subtract(parts[2]).subtract(parts[0])):
        assert_identical(rest, ClassMoments(5))
    np.testing.assert_array_equal(ClassMoments(5).subtract(ClassMoments(5)).weight, 0)


def test_subtract_of_one_class_leaves_the_other_unchanged():
    X, y, _ = make_data()
    whole = ClassMoments(5).update(X, y)
    rest = whole.subtract(ClassMoments(5).update(X[y == 0], y[y == 0]))
    assert_identical(rest, ClassMoments(5).update(X[y == 1], y[y == 1]))


def test_subtract_refuses_more_than_there_is():
    X, y, _ = make_data()
    whole = ClassMoments(5).update(X, y)
    message = r"Moments of weight (\d+) cannot be subtracted from moments of weight (\d+)\."
    for larger in (whole.merge(whole), whole.merge(ClassMoments(5).update(X[y == 1][:1], [1]))):
        with pytest.raises(ValueError, match=message) as caught:
            whole.subtract(larger)
        part, total = map(int, re.match(message, str(caught.value)).groups())
        assert part > total
    with pytest.raises(ValueError, match=message):
        ClassMoments(5).subtract(whole)


@pytest.mark.parametrize("join", [ClassMoments.merge, ClassMoments.subtract])
def test_merge_and_subtract_need_the_same_columns_and_classes(join):
    ours = ClassMoments(3, ["a", "b"])
    with pytest.raises(ValueError, match=r"Moments of 3 features cannot be joined with moments of 4\."):
        join(ours, ClassMoments(4, ["a", "b"]))
    for classes in (["b", "a"], ["a", "c"], [0, 1]):
        with pytest.raises(ValueError, match=r"Moments of the classes .*a.*b.* cannot be joined with moments of .*\."):
            join(ours, ClassMoments(3, classes))


# Weights


def test_subtract_refuses_rows_that_cannot_be_among_these():
    X, y, _ = make_data()
    whole = ClassMoments(5).update(X, y)
    for other in (X[:400] + 10, 3 * X[:400], X + 1.0):
        with pytest.raises(ValueError, match=r"not part of these: with them, column [0-4] has"):
            whole.subtract(ClassMoments(5).update(other, y[: len(other)]))


def test_moments_add_columns_of_the_same_names_only(tmp_path):
    X, y, _ = make_data(60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    moments = ClassMoments(3).update(frame[:20], y[:20]).update(frame[20:40], y[20:40]).update(X[40:], y[40:])
    assert_same(moments, ClassMoments(3).update(X, y))
    assert moments.feature_names.tolist() == ["a", "b", "c"]
    moments.save(tmp_path / "moments.npz")
    turned = frame[["a", "c", "b"]]
    sentence = "Column 1 is 'c', but it is 'b' in these moments: give the columns the same names"
    for known in (moments, ClassMoments.load(tmp_path / "moments.npz"), GaussianAUC().fit_moments(moments).moments_):
        with pytest.raises(ValueError, match=sentence):
            known.update(turned, y)
        with pytest.raises(ValueError, match=sentence):
            known.merge(ClassMoments(3).update(turned, y))
    with pytest.raises(ValueError, match="names"):
        GaussianAUC().fit_moments(moments).predict(turned)


@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_moments_of_an_integer_weight_repeat_the_row(kind):
    X, y, _ = make_sparse() if kind == "CSR" else make_data(mean=1000)
    times = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    d = X.shape[1]
    assert_same(ClassMoments(d).update(X, y, times), ClassMoments(d).update(X[rows], y[rows]))


@pytest.mark.parametrize("kind", ["dense", "float32", "CSR"])
def test_moments_ignore_rows_of_weight_zero(kind):
    X, y, weights = make_sparse() if kind == "CSR" else make_data()
    X = X.astype(np.float32) if kind == "float32" else X
    d, kept = X.shape[1], np.random.default_rng(1).random(len(y)) < 0.7
    expected = ClassMoments(d).update(X[kept], y[kept], weights[kept])
    assert_same(ClassMoments(d).update(X, y, np.where(kept, weights, 0)), expected)
    # Nor is a class of them.
    result = ClassMoments(d).update(X, y, np.where(y == 1, 0, weights))
    assert_identical(result.subtract(ClassMoments(d).update(X[y == 0], y[y == 0], weights[y == 0])), ClassMoments(d))


def test_moments_of_a_full_column_with_a_zero_of_weight_zero():
    # The column is far from zero wherever it counts, so it has to be centred before it is squared.
    far, noise, y = make_far_from_zero("CSR")
    X = sparse.vstack([far, sparse.csr_array((2, far.shape[1]))]).tocsr()
    weights = np.append(np.ones(len(y)), [0, 0])
    result = ClassMoments(X.shape[1]).update(X, np.append(y, [0, 1]), weights)
    assert_covariance_is_that_of(noise, y, result)


@pytest.mark.parametrize("kind", ["float64", "float32", "CSR"])
@pytest.mark.parametrize("factor", [1e-200, 1e-50, 1e-3, 1e50, 1e200])
def test_moments_ignore_the_scale_of_the_weights(kind, factor):
    X, y, weights = make_sparse() if kind == "CSR" else make_data()
    X = X.astype(np.float32) if kind == "float32" else X
    expected = ClassMoments(X.shape[1]).update(X, y, weights)
    result = ClassMoments(X.shape[1]).update(X, y, factor * weights)
    result.weight /= factor
    result.scatter /= factor
    assert_same(result, expected)


# Numerical safety


def make_far_from_zero(kind, n=3000, mean=1e8):
    """Rows `mean` away from zero, the same rows without it, and labels.

    The rows are multiples of 2^-20, so that adding the mean rounds nothing away.
    """
    rng = np.random.default_rng(0)
    noise = np.round(rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]] * 2**20) / 2**20
    X = noise + mean
    np.testing.assert_array_equal(X - mean, noise)
    if kind == "CSR":
        X = sparse.hstack([X, sparse.csr_array((n, 10))]).tocsr()
        assert X.nnz <= DENSE_FROM * X.shape[0] * X.shape[1]
    return X, noise, rng.integers(0, 2, n)


def assert_covariance_is_that_of(noise, y, result):
    covariance = result.scatter[:, :2, :2] / result.weight[:, None, None]
    for c in range(2):
        np.testing.assert_allclose(covariance[c], np.cov(noise[y == c], rowvar=False, bias=True), rtol=1e-6)


@pytest.mark.parametrize("n_updates", [1, 300])
@pytest.mark.parametrize("kind", ["dense", "CSR"])
def test_a_mean_of_1e8_leaves_six_digits_of_the_covariance(kind, n_updates):
    X, noise, y = make_far_from_zero(kind)
    result = ClassMoments(X.shape[1])
    for rows in np.array_split(np.arange(len(y)), n_updates):
        result.update(X[rows], y[rows])
    assert_covariance_is_that_of(noise, y, result)


def test_moments_of_means_that_drift_between_blocks():
    X, y, weights = make_data(n=2000, d=3)
    X += 1e6 * np.sqrt(np.arange(len(y)))[:, None]
    result = ClassMoments(3)
    for rows in np.array_split(np.arange(len(y)), 200):
        result.update(X[rows], y[rows], weights[rows])
    assert_same(result, numpy_moments(X, y, weights), rtol=1e-12)


@weighted_or_not
@pytest.mark.parametrize("n_updates", [1, 10])
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR"])
@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e8 / 3, 7.3e20, 0.0])
def test_std_of_a_constant_column_is_one(value, kind, n_updates, weighted):
    n = 20_000
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(n, value), rng.normal(size=n) * (rng.random(n) < 0.2), np.zeros((n, 6))])
    X = {"float64": np.asarray, "float32": np.float32, "CSR": sparse.csr_array}[kind](X)
    y, weights = rng.integers(0, 2, n), rng.exponential(size=n)
    result = ClassMoments(8)
    for rows in np.array_split(np.arange(n), n_updates):
        result.update(X[rows], y[rows], weights[rows] if weighted else None)
    std = result.std()
    assert std[0] == 1.0
    assert std[1] != 1.0
    assert (std[2:] == 1.0).all()


def test_std_of_a_nearly_constant_column():
    z, y = np.random.default_rng(0).normal(size=2000), np.arange(2000) % 2
    X = np.column_stack([1 + 1e-12 * z, 1e8 + z])
    np.testing.assert_allclose(ClassMoments(2).update(X, y).std(), X.std(axis=0), rtol=1e-3)


# Rescaling


@weighted_or_not
@pytest.mark.parametrize("kind", ["float64", "float32", "CSR", "one class"])
def test_std_is_that_of_standard_scaler(kind, weighted):
    X, y, weights = make_sparse() if kind == "CSR" else make_data(mean=10)
    if kind == "one class":
        y = np.zeros_like(y)
    X = X.astype(np.float32) if kind == "float32" else X
    weights = weights if weighted else None
    scaler = StandardScaler(with_mean=False).fit(X.astype(np.float64), sample_weight=weights)
    np.testing.assert_allclose(ClassMoments(X.shape[1]).update(X, y, weights).std(), scaler.scale_, rtol=1e-7)


def test_rescaled_moments_are_those_of_the_rescaled_data():
    X, y, weights = make_data(mean=10)
    scale = np.array([0.1, 3.0, 1e6, 1.0, 1e-6])
    result = ClassMoments(5).update(X, y, weights)
    assert_same(result.rescaled(scale), numpy_moments(X / scale, y, weights))
    standardized = StandardScaler(with_mean=False).fit_transform(X, sample_weight=weights)
    assert_same(result.standardized(), numpy_moments(standardized, y, weights))
    np.testing.assert_allclose(result.standardized().std(), 1, rtol=1e-12)


def test_derived_moments_keep_the_classes():
    X, y, _ = make_data()
    origin = ClassMoments(5, ["a", "b"]).update(X, np.array(["a", "b"])[y])
    for made in (origin.copy(), origin.merge(origin), origin.subtract(origin), origin.standardized()):
        assert made.classes.tolist() == ["a", "b"]


# The pairwise square loss


@st.composite
def small_problems(draw):
    """A few rows of both classes, with integers for values, weights, and a direction."""
    y = draw(st.lists(st.integers(0, 1), min_size=2, max_size=8).filter(lambda y: len(set(y)) == 2))
    n, d = len(y), draw(st.integers(1, 3))
    integers = st.integers(-3, 3)
    X = draw(st.lists(st.lists(integers, min_size=d, max_size=d), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.sampled_from([0.25, 1.0, 3.0]), min_size=n, max_size=n))
    w = draw(st.lists(st.floats(-2, 2), min_size=d, max_size=d))
    return np.array(X, dtype=float), np.array(y), weights, np.array(w)


def pairs(X, y, weights):
    """The definition: all differences of a positive and a negative row, and their shares of the weight."""
    weights = np.ones(len(y)) if weights is None else weights
    differences, shares = [], []
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] == 1 and y[j] == 0:
                differences.append(X[i] - X[j])
                shares.append(weights[i] * weights[j])
    return np.array(differences), np.array(shares) / np.sum(shares)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(problem=small_problems())
def test_squared_loss_is_the_mean_over_the_pairs(problem):
    X, y, weights, w = problem
    result = ClassMoments(X.shape[1]).update(X, y, weights)
    differences, shares = pairs(X, y, weights)
    np.testing.assert_allclose(result.delta, shares @ differences, atol=1e-12)
    np.testing.assert_allclose(result.pair_scatter(), differences.T @ (shares[:, None] * differences), atol=1e-12)
    residuals = 1 - differences @ w
    assert result.squared_loss(w) == pytest.approx(shares @ residuals**2, rel=1e-12, abs=1e-12)
    gradient = -2 * (shares * residuals) @ differences
    np.testing.assert_allclose(result.squared_loss_gradient(w), gradient, rtol=1e-12, atol=1e-11)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problem=small_problems())
def test_squared_loss_gradient_is_the_slope_of_the_loss(problem):
    X, y, weights, w = problem
    result = ClassMoments(X.shape[1]).update(X, y, weights)
    # On a parabola a central difference is exact, however wide.
    steps = 0.5 * np.eye(len(w))
    slopes = [result.squared_loss(w + step) - result.squared_loss(w - step) for step in steps]
    np.testing.assert_allclose(result.squared_loss_gradient(w), slopes, rtol=1e-12, atol=1e-11)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=small_problems())
def test_projected_moments_are_those_of_the_scores(problem):
    X, y, weights, w = problem
    means, variances = ClassMoments(X.shape[1]).update(X, y, weights).project(w)
    expected = numpy_moments((X @ w)[:, None], y, weights)
    np.testing.assert_allclose(means, expected.mean[:, 0], atol=1e-12)
    np.testing.assert_allclose(variances, expected.scatter[:, 0, 0] / expected.weight, atol=1e-12)


def test_project_never_gives_a_negative_variance():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    for _ in range(50):
        direction, w = rng.normal(size=(2, 4))
        w -= direction * (w @ direction) / (direction @ direction)
        _, variances = ClassMoments(4).update(np.outer(rng.normal(size=100), direction), y).project(w)
        assert (variances >= 0).all()


@pytest.mark.parametrize(
    "read",
    [
        ClassMoments.pair_scatter,
        ClassMoments.check_both_classes,
        lambda result: result.squared_loss(np.ones(5)),
        lambda result: result.squared_loss_gradient(np.ones(5)),
        lambda result: result.project(np.ones(5)),
    ],
)
def test_pairs_need_both_classes(read):
    X, y, _ = make_data()
    for missing, kept in (("spam", 0), ("ham", 1)):
        result = ClassMoments(5, ["ham", "spam"]).update(X[y == kept], np.array(["ham", "spam"])[y[y == kept]])
        message = rf"AUC needs two classes, but class '{missing}' has no row with a weight above 0\."
        with pytest.raises(ValueError, match=message):
            read(result)


# Files


def saved(path, classes=(0, 1)):
    X, y, weights = make_data()
    result = ClassMoments(X.shape[1], classes).update(X, np.asarray(classes)[y], weights)
    result.save(path)
    return result


@pytest.mark.parametrize(
    "classes",
    [(0, 1), (-1, 1), (0.5, 2.0), (False, True), ("ham", "spam"), np.array(["ham", "spam"], dtype=object)],
    ids=["int", "negative int", "float", "bool", "str", "object"],
)
@pytest.mark.parametrize("name", ["moments.npz", "moments", "moments.v1.bin"])
def test_moments_load_what_was_saved(classes, name, tmp_path):
    original = saved(tmp_path / name, classes)
    assert os.listdir(tmp_path) == [name]
    for path in (tmp_path / name, str(tmp_path / name)):
        loaded = ClassMoments.load(path)
        assert_identical(loaded, original)
        assert loaded.classes.tolist() == original.classes.tolist()
        X, y, _ = make_data(seed=1)
        labels = np.asarray(classes)[y]
        assert_identical(loaded.update(X, labels), original.copy().update(X, labels))


def test_moments_save_replaces_the_file(tmp_path):
    path = tmp_path / "moments.npz"
    original = saved(path)
    twice = original.merge(original)
    twice.save(str(path))
    assert_identical(ClassMoments.load(path), twice)
    assert os.listdir(tmp_path) == ["moments.npz"]


@pytest.mark.posix
def test_moments_save_has_permissions_of_a_plain_file(tmp_path):
    saved(tmp_path / "moments.npz")
    (tmp_path / "other").touch()
    assert (tmp_path / "moments.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["while it is written", "when it is put in place"])
def test_moments_save_that_fails_leaves_the_file_unchanged(error, moment, tmp_path, monkeypatch):
    path = tmp_path / "moments.npz"
    original = saved(path)

    def fail(file, *args, **arrays):
        if moment == "while it is written":
            file.write(b"PK and no more")
        raise error

    place = (np, "savez") if moment == "while it is written" else (os, "replace")
    monkeypatch.setattr(*place, fail)
    with pytest.raises(type(error)):
        original.merge(original).save(path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["moments.npz"]
    assert_identical(ClassMoments.load(path), original)


class Bomb:
    """What a pickle can do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def write(path, save, *arrays, **named):
    with open(path, "wb") as file:
        save(file, *arrays, **named)


def with_arrays(path, **changed):
    """Write a file of moments again, with some arrays changed."""
    with np.load(path) as file:
        arrays = dict(file) | changed
    write(path, np.savez, **{name: array for name, array in arrays.items() if array is not None})


SPOILED = {
    "text": lambda path: path.write_text("weight,mean\n1,2\n", encoding="utf-8"),
    "nothing": lambda path: path.write_bytes(b""),
    "array": lambda path: write(path, np.save, np.zeros(3)),
    "foreign": lambda path: write(path, np.savez, np.zeros(3), x=np.ones(2)),
    "pickle": lambda path: with_arrays(path, classes=np.array([Bomb(path.parent / "bomb"), 1])),
    "pickle alone": lambda path: write(path, np.save, np.array([Bomb(path.parent / "bomb")])),
    "later version": lambda path: with_arrays(path, format=np.array("aucmax.ClassMoments 999")),
    "no scatter": lambda path: with_arrays(path, scatter=None),
    "three weights": lambda path: with_arrays(path, weight=np.ones(3)),
    "flat mean": lambda path: with_arrays(path, mean=np.ones(5)),
    "three means": lambda path: with_arrays(path, mean=np.ones((3, 5))),
    "narrow mean": lambda path: with_arrays(path, mean=np.ones((2, 4))),
    "narrow scatter": lambda path: with_arrays(path, scatter=np.ones((2, 5, 4))),
    "one scatter": lambda path: with_arrays(path, scatter=np.ones((5, 5))),
    "three classes": lambda path: with_arrays(path, classes=np.arange(3)),
    "equal classes": lambda path: with_arrays(path, classes=np.array([1, 1])),
}


def assert_refused(path):
    with pytest.raises(ValueError, match=re.escape(f"{path} is not a whole file of class moments")) as caught:
        ClassMoments.load(path)
    sentence = str(caught.value)
    assert re.fullmatch(r"[^\n]*[^.\n]\.", sentence), sentence
    assert len(sentence) < len(str(path)) + 200


@pytest.mark.parametrize("spoil", SPOILED)
def test_what_is_no_file_of_moments_is_refused_in_one_sentence(spoil, tmp_path):
    path = tmp_path / "moments.npz"
    saved(path)
    SPOILED[spoil](path)
    assert_refused(path)
    assert not (tmp_path / "bomb").exists()


def test_moments_load_refuses_a_truncated_file(tmp_path):
    path = tmp_path / "moments.npz"
    saved(path)
    content = path.read_bytes()
    for length in (*range(0, len(content), 101), len(content) - 1):
        path.write_bytes(content[:length])
        assert_refused(path)


def test_moments_load_refuses_a_wrong_bit(tmp_path):
    path = tmp_path / "moments.npz"
    original = saved(path)
    content = path.read_bytes()
    for value in (original.weight[0], original.mean[1, 2], original.scatter[0, 3, 4]):
        place = content.index(value.tobytes())
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert_refused(path)


def test_moments_load_closes_a_refused_file(tmp_path):
    path = tmp_path / "moments.npz"
    saved(path)
    path.write_bytes(path.read_bytes()[:-1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert_refused(path)
        gc.collect()
    assert [str(warning.message) for warning in caught if str(path) in str(warning.message)] == []


def test_moments_load_of_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        ClassMoments.load(tmp_path / "nowhere.npz")
    with pytest.raises(FileNotFoundError):
        ClassMoments(2).save(tmp_path / "no such folder" / "moments.npz")


# Errors


@pytest.mark.parametrize("classes", [(0, 0), ("a",), (0, 1, 2), 7, [[0, 1]]])
def test_classes_are_two_different_labels(classes):
    with pytest.raises(ValueError, match=r"classes must be two different labels, negative and positive; got .*\."):
        ClassMoments(3, classes)


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="the size of the memory is not known")
def test_moments_larger_than_the_memory_are_refused():
    with pytest.raises(MemoryError, match=r"Class moments for 100,000,000 columns take 160,000,000 GB, more than .*\."):
        ClassMoments(10**8)


def spoiled(X, value):
    X = X.copy()
    X[7, 2] = value
    return X


# X, y and weights made from good ones, and what is said of them.
BAD_UPDATES = {
    "NaN": (lambda X, y, w: (spoiled(X, np.nan), y, w), r"Input X contains NaN"),
    "infinity": (lambda X, y, w: (spoiled(X, np.inf), y, w), r"Input X contains infinity"),
    "NaN in CSR": (lambda X, y, w: (sparse.csr_array(spoiled(X, np.nan)), y, w), r"Input X contains NaN"),
    "NaN in y": (lambda X, y, w: (X, np.where(y == 1, np.nan, y), w), r"Input y contains NaN"),
    "columns": (lambda X, y, w: (X[:, :3], y, w), r"X has 3 features, but these moments were made for 5\."),
    "one row": (lambda X, y, w: (X[0], y[:1], None), r"Expected 2D array, got 1D array instead"),
    "no rows": (lambda X, y, w: (X[:0], y[:0], None), r"Found array with 0 sample\(s\)"),
    "labels": (lambda X, y, w: (X, 2 * y, w), r"y holds 2, but the classes are \[0, 1\]\."),
    "text labels": (lambda X, y, w: (X, y.astype(str), w), r"y holds '[01]', but the classes are \[0, 1\]\."),
    "two columns of labels": (lambda X, y, w: (X, np.column_stack([y, y]), w), r"y should be a 1d array"),
    "fewer labels": (lambda X, y, w: (X, y[1:], w), r"inconsistent numbers of samples: \[500, 499\]"),
    "fewer weights": (lambda X, y, w: (X, y, w[1:]), r"sample_weight\.shape == \(499,\), expected \(500,\)!"),
    "negative weights": (lambda X, y, w: (X, y, w - 1), r"Negative values in data passed to `sample_weight`"),
    "NaN in weights": (lambda X, y, w: (X, y, np.where(y == 1, np.nan, w)), r"Input sample_weight contains NaN"),
    "overflow": (lambda X, y, w: (1e200 * X, y, w), r"The squares of the values of X overflow"),
    "overflow of one value": (lambda X, y, w: (spoiled(X, 1e200), y, None), r"The squares of the values of X overflow"),
    "overflow in CSR": (
        lambda X, y, w: (sparse.csr_array(np.where(X > 2, 1e200, 0)), y, w),
        r"The squares of the values of X overflow",
    ),
    "overflow in many rows": (
        lambda X, y, w: (np.tile(1e200 * X, (50, 1)), np.tile(y, 50), None),
        r"The squares of the values of X overflow: divide its largest columns by a power of ten\.",
    ),
    "overflow in joining": (lambda X, y, w: (X + 1e154, y, w), r"The squares of the values of X overflow"),
}


@pytest.mark.parametrize("case", BAD_UPDATES)
def test_moments_update_that_fails_changes_nothing(case):
    X, y, weights = make_data()
    change, message = BAD_UPDATES[case]
    result = ClassMoments(5).update(X, y, weights)
    before = result.copy()
    with pytest.raises(ValueError, match=message):
        result.update(*change(X, y, weights))
    assert_identical(result, before)


def test_values_whose_squares_are_finite_are_taken():
    X, y, _ = make_data(n=100)
    assert_same(ClassMoments(5).update(1e150 * X, y), numpy_moments(1e150 * X, y))
    tiny = (1e36 * X).astype(np.float32)  # their sum is beyond float32, but nothing is added up in float32
    assert_same(ClassMoments(5).update(tiny, y), numpy_moments(tiny, y), rtol=1e-6)


def test_moments_update_without_weight_changes_nothing():
    X, y, weights = make_data()
    result = ClassMoments(5).update(X, y, weights)
    assert_identical(result.copy().update(X, y, np.zeros(len(y))), result)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
def test_values_that_are_not_finite_are_refused_without_weight_too(form):
    X, y, weights = make_data()
    weights[7] = 0
    with pytest.raises(ValueError, match=r"^Input X contains NaN\."):
        ClassMoments(5).update(form(spoiled(X, np.nan)), y, weights)


def test_widened_moments_are_those_of_columns_of_zeros():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    wide = ClassMoments(3).update(X, y).widened(5)
    direct = ClassMoments(5).update(np.hstack([X, np.zeros((30, 2))]), y)
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(getattr(wide, name), getattr(direct, name), atol=1e-12)


def test_relabelled_moments_may_swap_the_classes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 3 == 0
    moments = ClassMoments(3, [False, True]).update(X, y)
    swapped = moments.relabelled(["b", "a"], swapped=True)
    direct = ClassMoments(3, ["b", "a"]).update(X, np.where(y, "b", "a"))
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(getattr(swapped, name), getattr(direct, name), atol=1e-12)
    assert swapped.classes.tolist() == ["b", "a"]
    assert moments.relabelled(["b", "a"]).weight.tolist() == moments.weight.tolist()
    with pytest.raises(ValueError, match="two different labels"):
        moments.relabelled(["a", "a"])
