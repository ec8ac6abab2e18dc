"""Fits to arrays on a device: the weights of memory, and results where their input is.

The namespaces are the strictest implementation of the array API standard, and PyTorch, CuPy and CUDA where they are
installed.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sklearn
from batch_estimators import ALPHAS, FAST, OTHERS, SQUARES
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold
from slow import slow_except

from aucmax import (
    PSAM,
    SOLAM,
    AUCClassifier,
    KMeansNystroem,
    compare_auc,
    cross_validate_path,
    load_model,
    pairwise_loss,
    roc_auc,
    roc_auc_ci,
)
from aucmax.rows.arrays import Bins, namespace, on_device, to_numpy
from aucmax.rows.device.kernels import find_centers, move_centers
from aucmax.rows.device.rows import DeviceRows
from aucmax.rows.memory import MemoryRows

N, D = 120, 4


def strict():
    return pytest.importorskip("array_api_strict").asarray


def torch_tensor():
    return pytest.importorskip("torch").asarray


def cuda_tensor():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    return lambda values: torch.asarray(values, device="cuda")


def cupy_array():
    return pytest.importorskip("cupy").asarray


KINDS = {"array_api_strict": strict, "torch": torch_tensor, "torch on CUDA": cuda_tensor, "cupy": cupy_array}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def put(request, monkeypatch):
    """Return the function that puts a NumPy array on a device."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    move = request.param()
    with sklearn.config_context(array_api_dispatch=True):
        yield move


@pytest.fixture(scope="module")
def data():
    """Rows and labels, and weights, some of them 0."""
    X, y = noisy_line(n=N, d=D)
    return X, y, np.random.default_rng(1).integers(0, 3, N).astype(float)


def assert_same_weights(found, expected, tolerance):
    for name in ("coef_", "intercept_", "calibration_"):
        assert type(getattr(found, name)) is np.ndarray
    assert_allclose(found.coef_, expected.coef_, rtol=0, atol=tolerance * np.abs(expected.coef_).max())
    assert_allclose(found.intercept_, expected.intercept_, rtol=tolerance, atol=tolerance)
    assert_allclose(found.calibration_, expected.calibration_, rtol=1e-8)
    assert_array_equal(found.classes_, expected.classes_)
    assert found.n_features_in_ == expected.n_features_in_


@pytest.mark.parametrize("weighted", slow_except([True], [False, True]), ids=["plain", "weighted"])
@pytest.mark.parametrize("estimator", SQUARES, ids=repr)
def test_square_losses_have_the_weights_of_memory(put, estimator, weighted, data):
    arguments = data if weighted else data[:2]
    expected = clone(estimator).fit(*arguments)
    assert_same_weights(clone(estimator).fit(*map(put, arguments)), expected, 1e-10)


@pytest.mark.parametrize("estimator", slow_except(FAST, OTHERS), ids=repr)
def test_other_losses_have_the_weights_of_memory(put, estimator, data):
    expected = clone(estimator).fit(*data)
    found = clone(estimator).fit(*map(put, data))
    assert_same_weights(found, expected, 1e-8)
    if hasattr(expected, "cv_results_"):
        assert_allclose(found.alphas_, expected.alphas_, rtol=1e-12)
        assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-14)
        assert found.cv_auc_ == pytest.approx(expected.cv_auc_, abs=1e-14)


def test_a_blend_of_a_sample(put):
    """More rows than candidates are compared on, and far from zero."""
    X, y = noisy_line(n=9000, d=3)
    X += [0.0, 1e4, -1e7]
    expected, found = AUCClassifier().fit(X, y), AUCClassifier().fit(put(X), put(y))
    assert_same_weights(found, expected, 1e-8)
    assert found.cv_auc_ == pytest.approx(expected.cv_auc_, abs=1e-14)


@pytest.mark.parametrize("cv", [3, GroupKFold(4)], ids=repr)
def test_device_rows_keep_groups_together(put, cv, data):
    X, y, weights = data
    groups = np.random.default_rng(2).integers(0, 30, N)
    expected = AUCClassifier("squared", cv=cv).fit(X, y, weights, groups)
    for move in (put, np.asarray):
        found = AUCClassifier("squared", cv=cv).fit(put(X), put(y), put(weights), move(groups))
        assert_same_weights(found, expected, 1e-10)


def test_a_path_is_cross_validated_as_in_memory(put, data):
    X, y, weights = data
    expected = cross_validate_path(X, y, sample_weight=weights, alphas=ALPHAS)
    found = cross_validate_path(put(X), put(y), sample_weight=put(weights), alphas=ALPHAS)
    assert_allclose(found.auc, expected.auc, rtol=0, atol=1e-14)


def test_other_numbers_and_constant_columns(put, data):
    X, y, _ = data
    constant = np.column_stack([X, np.full(N, 0.1)])
    clf = AUCClassifier("squared", alpha=0.1)
    for rows in (X.astype(np.float32), np.round(X).astype(np.int64), constant, X[:3], np.tile(X[:20], 9)):
        labels = y[: len(rows)].copy()
        labels[:2] = 0, 1
        assert_same_weights(clone(clf).fit(put(rows), put(labels)), clone(clf).fit(rows, labels), 1e-10)
    assert clone(clf).fit(put(constant), put(y)).coef_[0, -1] == 0


def test_predict_returns_arrays_of_the_device_of_its_input(put, data):
    X, y, weights = data
    clf = AUCClassifier("squared", alpha=0.1).fit(X, y)
    for rows in (X, X.astype(np.float32)):
        for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
            expected, found = getattr(clf, name)(rows), getattr(clf, name)(put(rows))
            assert namespace(found) is namespace(put(X))
            assert found.device == put(X).device
            assert_allclose(to_numpy(found), expected, rtol=1e-12, atol=1e-12)
        for labels in (y, put(y)):
            assert clf.score(put(rows), labels) == clf.score(rows, y)
        assert clf.score(put(rows), put(y), put(weights)) == pytest.approx(clf.score(rows, y, weights), abs=1e-15)


@pytest.mark.parametrize("estimator", SQUARES[:-1], ids=repr)
def test_sparse_rows_of_cupy(estimator, data):
    cupyx = pytest.importorskip("cupyx.scipy.sparse")
    X, y, weights = data
    thin = sparse.csr_matrix(X * (np.random.default_rng(3).random(X.shape) < 0.4))
    expected, found = clone(estimator).fit(thin, y, weights), clone(estimator).fit(cupyx.csr_matrix(thin), y, weights)
    assert_same_weights(found, expected, 1e-10)
    assert_allclose(to_numpy(found.predict_proba(cupyx.csr_matrix(thin))), expected.predict_proba(thin), rtol=1e-9)


def csr_rows(X, y, weights=None):
    """Return CSR rows of SciPy as those of a device: CuPy's have the same methods."""
    return DeviceRows(X, y == 1, np.array([0, 1]), weights)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_wide_sparse_rows_are_not_made_dense(weighted, data, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((N, 2000), density=0.01, format="csr", rng=rng)
    X.data += 1e6  # a column of few values far from zero, and columns of none
    weights = data[2] if weighted else None
    expected = MemoryRows(X.toarray(), data[1], np.array([0, 1]), weights)
    rows = csr_rows(X, data[1], weights)
    monkeypatch.setattr(DeviceRows, "_blocks", None)
    monkeypatch.setattr("aucmax.rows.device.rows.BLOCK_VALUES", 150 * N)
    for found, other in zip(rows.column_statistics(), expected.column_statistics(), strict=True):
        assert_allclose(found, other, rtol=1e-12)
    scale = np.full(2000, 2e6)
    assert_allclose(rows.gram(scale), expected.gram(scale), rtol=1e-9, atol=1e-12)
    X.data[5] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN\."):
        csr_rows(X, data[1]).check_finite()


@pytest.mark.parametrize(("width", "n_rows"), [(512, 262144), (40_000, 20_000), (10**5, 10_737), (10**7, 107)])
def test_a_block_of_many_columns_takes_8_gigabytes_at_most(width, n_rows):
    X = sparse.csr_array((10**6, width))
    rows, sizes = csr_rows(X, np.zeros(10**6)), []
    rows.X = type("Shape", (), {"shape": X.shape, "__getitem__": lambda self, part: sizes.append(part) or X[:1, :1]})()
    next(rows._blocks())
    assert sizes == [slice(0, n_rows)]


def test_moments_that_a_device_has_no_room_for(put, data, monkeypatch):
    class OutOfMemoryError(RuntimeError):
        """As PyTorch has it."""

    for error in (MemoryError("as CuPy has it"), OutOfMemoryError):
        monkeypatch.setattr("aucmax.rows.device.rows.ProductSums", lambda *_, error=error: raises(error))
        message = (
            r"^Class moments for 4 columns take 0 GB, and the products .* use solver='cg', or leave out columns\.$"
        )
        with pytest.raises(MemoryError, match=message):
            AUCClassifier("squared", alpha=0.1).fit(*map(put, data))


def raises(error):
    raise error


def test_labels_that_a_device_cannot_hold(put, data):
    X, y, _ = data
    names = np.array(["no", "yes"])[y]
    clf = AUCClassifier("squared", alpha=0.1).fit(put(X), names)
    assert_array_equal(clf.predict(put(X)), clf.predict(X))
    assert clf.score(put(X), names) == clf.score(X, names)


def test_estimator_fitted_on_a_device_is_pickled_and_saved(put, data, tmp_path):
    X, y, _ = data
    clf = AUCClassifier().fit(put(X), put(y))
    expected = clf.decision_function(X)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).decision_function(X), expected)
    clf.save(tmp_path / "model.safetensors")
    assert_array_equal(load_model(tmp_path / "model.safetensors").decision_function(X), expected)


def test_large_matrices_are_factored_on_the_device(put, data, monkeypatch):
    expected = [clone(clf).fit(*data) for clf in SQUARES[:2]]
    monkeypatch.setattr("aucmax.solvers.square.DEVICE_ORDER", 1)
    monkeypatch.setattr("scipy.linalg.solve", None)
    monkeypatch.setattr("aucmax.solvers.square.one_blas_thread", None)
    for clf, in_memory in zip(SQUARES, expected, strict=False):
        found = clone(clf).fit(*map(put, data))
        assert_same_weights(found, in_memory, 1e-10)
        assert pickle.loads(pickle.dumps(found)).moments_.beside is None
    monkeypatch.undo()


# Kernel features


def test_kernel_features_are_those_of_memory(put, data, monkeypatch):
    X = data[0]
    monkeypatch.setattr("aucmax.rows.device.kernels.BLOCK", 50)
    kernel = KMeansNystroem(20, random_state=0).fit(X)
    on = KMeansNystroem(20, random_state=0).fit(put(X))
    assert on.gamma_ == kernel.gamma_
    assert_allclose(on.components_, kernel.components_, rtol=1e-12)
    for rows in (X, X.astype(np.float32)):
        found = kernel.transform(put(rows))
        assert namespace(found) is namespace(put(X))
        assert_allclose(to_numpy(found), kernel.transform(rows), rtol=1e-9, atol=1e-9)
    far = X.copy()
    far[0] = 1e200
    assert_allclose(to_numpy(kernel.transform(put(far))), kernel.transform(far), rtol=1e-9, atol=1e-9)
    assert_allclose(to_numpy(on.transform(put(X))), kernel.transform(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_clusters", [1, 2, 30, 119])
def test_k_means_is_that_of_memory(put, n_clusters, data, monkeypatch):
    """With the same seed, however many rows are in a block; its iterations end when those of memory do."""
    monkeypatch.setattr("aucmax.papers.nystroem.KMeans", None)
    monkeypatch.setattr("aucmax.rows.device.kernels.BLOCK_VALUES", 500)
    X = data[0] + 1e3
    for max_iter in (1, 5, 300):
        with sklearn.config_context(array_api_dispatch=False):  # with it KMeans of scikit-learn 1.6 fails
            expected = KMeans(n_clusters, n_init=1, max_iter=max_iter, random_state=0).fit(X).cluster_centers_
        kernel = KMeansNystroem(n_clusters, kmeans_iter=max_iter, random_state=0).fit(put(X))
        assert_allclose(kernel.components_, expected, rtol=1e-13)


def test_k_means_of_equal_rows_and_centres_that_lose_their_rows(put):
    X = np.repeat([[0.0], [1.0], [5.0]], [5, 3, 2], axis=0)
    found = find_centers(put(X), 6, 5, np.random.RandomState(0))
    assert_array_equal(np.unique(found), [0, 1, 5])
    # The third centre has no row: it gets the one that is furthest from its own, which then has none of that.
    X, centers = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([[1.0], [7.0], [100.0]])
    found, labels = map(to_numpy, move_centers(put(X), put(centers)))
    assert_array_equal(labels, [0, 0, 0, 1])
    assert_array_equal(found, [[1.0], [1.0], [10.0]])


@pytest.mark.parametrize(
    "estimator", [AUCClassifier("squared", alpha=0.1), AUCClassifier("squared", alphas=ALPHAS, cv=3)], ids=repr
)
def test_kernel_rows_on_a_device_never_hold_all_features(put, estimator, data, monkeypatch):
    X, y, weights = data
    monkeypatch.setattr("aucmax.rows.device.rows.BLOCK_VALUES", 1000)
    kernel = KMeansNystroem(8, random_state=0).fit(X)
    expected = clone(estimator).fit(kernel.transform(X), y, weights)
    for rows in (kernel.rows(put(X), put(y), put(weights)), kernel.rows(X, y, weights)):
        assert_same_weights(clone(estimator).fit_rows(rows), expected, 1e-9)
    with pytest.raises(ValueError, match=r"^X has 3 features, but KMeansNystroem is expecting 4 features as input\.$"):
        kernel.rows(put(X[:, 1:]), put(y))
    with pytest.raises(ValueError, match=r"^Input X contains NaN\."):
        kernel.rows(put(np.where(X[0] == X, np.nan, X)), put(y))


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_wide_moments_are_made_of_panels(put, n_pieces, data, monkeypatch):
    """In several blocks, and in pieces as for CuPy; two columns are far from zero."""
    X, y, weights = data
    wide = np.column_stack([X, X[:, 0] ** 2, X[:, 1] + 1e6, X[:, 2] - 1e7])
    monkeypatch.setattr("aucmax.rows.device.rows.BLOCK_VALUES", 200)
    monkeypatch.setattr("aucmax.rows.device.moments.PANEL", 3)
    monkeypatch.setattr("array_api_compat.is_cupy_namespace", lambda xp: n_pieces > 1)
    for arguments in ((wide, y), (wide, y, weights)):
        expected = MemoryRows(*arguments[:2], np.array([0, 1]), *arguments[2:]).moments()
        rows = DeviceRows.of(*map(put, arguments))
        for view in (rows, rows.columns(np.arange(7))):
            assert len(next(view._pieces(rows._numbers(rows.positive)))[1]) == n_pieces
            found = view.moments()
            assert_allclose(found.mean, expected.mean, rtol=1e-13)
            size = np.sqrt(np.diagonal(expected.scatter, axis1=1, axis2=2))
            error = np.abs(found.scatter - expected.scatter) / (size[:, :, None] * size[:, None, :])
            assert error.max() < 1e-9  # of 1e7, sixteen digits leave nine


@pytest.mark.parametrize("bound", [1e-6, 0.0], ids=["of the kernel", "of the features"])
def test_moments_of_features(put, bound, data, monkeypatch):
    """Those of the kernel, multiplied once, if the kernel of the landmarks is far from singular."""
    X, y, weights = data
    monkeypatch.setattr("aucmax.rows.device.kernels.SQUARED_ERROR", bound)
    kernel = KMeansNystroem(8, gamma=0.1, random_state=0).fit(X)
    rows = kernel.rows(*map(put, (X, y, weights)))
    assert rows._linear.squares_before == (bound > 0)
    expected = MemoryRows(kernel.transform(X), y, np.array([0, 1]), weights).moments()
    found = rows.moments()
    assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-13)
    assert_allclose(found.scatter, expected.scatter, rtol=0, atol=1e-11)
    g = np.random.default_rng(0).standard_normal(N)
    assert_allclose(rows.rmatvec(rows.as_vector(g), expected.mean[0]), (kernel.transform(X) - expected.mean[0]).T @ g)
    single = KMeansNystroem(60, gamma=0.01, random_state=0).fit(X)
    assert not single.rows(put(X), put(y))._linear.squares_before


def test_moments_of_an_ill_conditioned_kernel(put):
    """Its mean is subtracted before it is squared: without that the error is a hundred times larger."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 8)), rng.random(3000) < 0.5
    kernel = KMeansNystroem(60, gamma=0.004, kmeans_rows=60, random_state=0).fit(X)
    rows = kernel.rows(put(X), put(y))
    matrix = kernel.normalization_.astype(np.longdouble)
    of_kernel = to_numpy(rows._linear.before(put(X)))[y].astype(np.longdouble)
    exact = (of_kernel - of_kernel.mean(axis=0)) @ matrix
    exact = exact.T @ exact
    deviations = np.sqrt(np.diagonal(exact))
    found = to_numpy(rows._before_product(rows._linear)._square_rows(rows._numbers(rows.positive), shift_all=True)[2])
    errors = np.abs(matrix.T @ found @ matrix - exact) / np.outer(deviations, deviations)
    least = 1 / np.sum(kernel.normalization_[:, -1] ** 2)
    bound = np.finfo(float).eps * 60 * rows._linear.before.variance / least**2
    assert 1e-12 < errors.max() < bound


# Measures of scores


def test_roc_auc_and_its_intervals_on_a_device(put):
    rng = np.random.default_rng(0)
    y, weights = rng.random(500) < 0.7, rng.integers(0, 4, 500).astype(float)
    a, b = rng.integers(0, 40, (2, 500)) + 5.0 * y  # many ties
    assert roc_auc(put(y), put(a)) == roc_auc(y, a)
    assert roc_auc(y, put(a.astype(np.float32))) == roc_auc(y, a)
    assert_array_equal(roc_auc(put(y), put(np.column_stack([a, b]))), roc_auc(y, np.column_stack([a, b])))
    assert roc_auc(put(y), put(a), put(weights)) == pytest.approx(roc_auc(y, a, weights), abs=1e-15)
    assert roc_auc(put(y), put(a), put(weights), max_fpr=0.2) == roc_auc(y, a, weights, max_fpr=0.2)
    assert roc_auc_ci(put(y), put(a)) == roc_auc_ci(y, a)
    assert compare_auc(put(y), put(a), put(b)) == compare_auc(y, a, b)
    assert_allclose(roc_auc_ci(put(y), put(a), put(weights)), roc_auc_ci(y, a, weights), rtol=1e-12)
    assert_allclose(compare_auc(put(y), put(a), put(b), weights), compare_auc(y, a, b, weights), rtol=1e-10)


@pytest.mark.parametrize(
    "loss", ["squared", "pooled", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid", "balanced_logistic"]
)
def test_pairwise_loss_and_its_derivatives_on_a_device(put, loss):
    rng = np.random.default_rng(1)
    y, weights = rng.random(200) < 0.3, rng.integers(0, 3, 200).astype(float)
    scores, v = np.round(3 * rng.standard_normal((2, 200)), 1)  # some margins are 1 exactly
    if loss in ("logistic", "sigmoid"):
        scores[:2] += [-300, 500]  # boxes far apart
    expected = pairwise_loss(y, scores, loss, weights)
    found = pairwise_loss(put(y), put(scores), loss, put(weights))
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    size = np.abs(expected.gradient).max()
    assert_allclose(to_numpy(found.gradient), expected.gradient, rtol=1e-11, atol=1e-12 * size)
    curved = expected.hessian_product(v)
    assert_allclose(to_numpy(found.hessian_product(put(v))), curved, rtol=1e-10, atol=1e-11 * np.abs(curved).max())


def test_sums_over_bins(put):
    slots, weights = np.random.default_rng(2).integers(0, 7, 50), np.arange(50.0)
    assert_allclose(Bins(put(slots), 9).sums(put(weights)), np.bincount(slots, weights, 9), rtol=1e-14)


# What stays in memory, and what is refused


def test_numpy_never_counts_as_a_device(put, data):
    for values in (data[0], data[0].tolist(), sparse.csr_array(data[0])):
        assert not on_device(values)
    assert on_device(put(data[0]))


def test_tensors_in_memory_are_used_there_without_dispatch(data):
    torch = pytest.importorskip("torch")
    X, y, _ = data
    assert not on_device(torch.asarray(X))
    clf = AUCClassifier("squared", alpha=0.1).fit(torch.asarray(X), torch.asarray(y))
    assert type(clf.decision_function(torch.asarray(X))) is np.ndarray


def test_import_loads_no_library_of_a_device():
    code = "import sys, aucmax; aucmax.AUCClassifier; print({'cupy', 'torch', 'array_api_strict'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_tags_tell_who_takes_devices(put, data):
    X, y = map(put, data[:2])
    assert AUCClassifier().__sklearn_tags__().array_api_support
    for call in (SOLAM().fit, PSAM().fit, SOLAM().partial_fit, AUCClassifier().partial_fit):
        with pytest.raises(
            ValueError, match=r"^The stochastic algorithms and partial_fit take one row after the other"
        ):
            call(X, y)
    assert not SOLAM().__sklearn_tags__().array_api_support


def test_device_arguments_that_do_not_fit_together(put, data):
    X, y, weights = data
    clf = AUCClassifier("squared", alpha=0.1)
    far = X.copy()
    far[3, 1] = np.inf
    for message, arguments in {
        r"^X must have rows and columns, got an array of shape \(120,\)\.$": (put(X[:, 0]), y),
        r"^Found input variables with inconsistent numbers of samples: \[120, 100\]$": (put(X), put(y[:100])),
        r"^y must have one dimension, got an array of shape \(120, 2\)\.$": (put(X), put(np.column_stack([y, y]))),
        r"^AUC needs two classes, but y holds only one class: 0\.$": (put(X), put(0 * y)),
        r"^Only binary classification is supported\.": (put(X), put(np.arange(N))),
        r"^Input X contains NaN\.": (put(X * np.nan), put(y)),
        r"^Input X contains infinity or a value too large for": (put(far), put(y)),
        r"^The squares of the values of X overflow": (put(X * 1e200), put(y)),
        r"^sample_weight must have the shape \(120,\), got \(3,\)\.$": (put(X), put(y), put(weights[:3])),
        r"^Input sample_weight contains NaN\.$": (put(X), put(y), put(weights * np.nan)),
        r"^Negative values in data passed to `sample_weight`\.$": (put(X), put(y), put(-weights)),
        r"^AUC needs two classes, but class 1 has no row with a weight above 0\.$": (put(X), put(y), put(1.0 - y)),
    }.items():
        with pytest.raises(ValueError, match=message):
            clf.fit(*arguments)
    with pytest.raises(NotFittedError):
        clf.predict(put(X))
    clf.fit(X, y)
    with pytest.raises(ValueError, match=r"^X has 3 features, but AUCClassifier is expecting 4 features as input\.$"):
        clf.predict(put(X[:, 1:]))
    with pytest.raises(ValueError, match=r"^y holds 2, but the classes are \[0, 1\]\.$"):
        clf.score(put(X), put(2 * y))


def test_fit_refuses_bad_tensors(data):
    torch = pytest.importorskip("torch")
    X, y, _ = data
    with sklearn.config_context(array_api_dispatch=True):
        tensor, targets = torch.asarray(X), torch.asarray(y)
        clf = AUCClassifier("squared", alpha=0.1)
        expected = clone(clf).fit(X, y)
        for wrong, message in ((tensor + 1j, "^Complex data not supported"), (tensor.to_sparse(), "sparse tensor")):
            with pytest.raises(ValueError, match=message):
                clone(clf).fit(wrong, targets)
        found = clone(clf).fit(tensor.clone().requires_grad_(), targets)
        assert_same_weights(found, expected, 1e-10)
        assert_same_weights(clone(clf).fit(X, targets), expected, 1e-10)
        mixed = compare_auc(y, X[:, 0], tensor[:, 1])
        assert mixed == pytest.approx(compare_auc(y, X[:, 0], X[:, 1]), abs=1e-12)
