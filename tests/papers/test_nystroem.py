"""KMeansNystroem and the pipelines on its features."""

import pickle
import tracemalloc

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import noisy_line
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from aucmax import BAM, NBAM, NPSAM, AUCClassifier, KMeansNystroem, open_rows
from aucmax.papers import ALGORITHMS, nystroem

PIPELINES = ("NSOLAM", "NASAM", "NPSAM", "NBAM")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((300, 4)) * [1, 2, 0.5, 1] + [0, 5, -1, 0]


@pytest.fixture(scope="module")
def sparse_rows():
    return sparse.random_array((300, 30), density=0.2, format="csr", rng=np.random.default_rng(1))


def gram(transformer, X, Y):
    return transformer.transform(X) @ transformer.transform(Y).T


# What the features are


@pytest.mark.parametrize("gamma", [None, 0.03, 2.0])
def test_inner_products_are_the_nystroem_approximation(X, gamma):
    new = np.random.default_rng(1).standard_normal((50, 4)) * 3
    transformer = KMeansNystroem(25, gamma=gamma, random_state=0).fit(X)
    U, gamma_ = transformer.components_, transformer.gamma_
    assert U.shape == (25, 4)
    kernel = rbf_kernel(new, U, gamma=gamma_)
    expected = kernel @ linalg.pinvh(rbf_kernel(U, gamma=gamma_)) @ kernel.T
    np.testing.assert_allclose(gram(transformer, new, new), expected, rtol=1e-7, atol=1e-9)


def test_nystroem_kernel_is_exact_on_the_landmarks(X):
    transformer = KMeansNystroem(25, random_state=0).fit(X)
    U = transformer.components_
    np.testing.assert_allclose(gram(transformer, X, U), rbf_kernel(X, U, gamma=transformer.gamma_), atol=1e-9)
    np.testing.assert_allclose(gram(transformer, U, U), rbf_kernel(U, gamma=transformer.gamma_), atol=1e-9)


def test_with_all_rows_for_landmarks_the_kernel_is_exact(X, sparse_rows):
    for rows in (X, sparse_rows):
        transformer = KMeansNystroem(300, random_state=0).fit(rows)
        expected = rbf_kernel(rows, gamma=transformer.gamma_)
        # The small eigenvalues that are left out are a share of 2^-26 of the trace at most.
        np.testing.assert_allclose(gram(transformer, rows, rows), expected, atol=300 * nystroem.LEAST)


def test_nystroem_features_are_in_the_order_of_eigenvalues(X):
    transformer = KMeansNystroem(25, random_state=0).fit(X)
    eigenvalues = linalg.eigvalsh(rbf_kernel(transformer.components_, gamma=transformer.gamma_))[::-1]
    on_landmarks = transformer.transform(transformer.components_)
    np.testing.assert_allclose(on_landmarks.T @ on_landmarks, np.diag(eigenvalues), atol=1e-9)


def test_landmarks_are_near_the_rows_as_k_means_has_them():
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((12, 5)) * 10
    X = np.repeat(centers, 50, axis=0) + 0.1 * rng.standard_normal((600, 5))
    U = KMeansNystroem(12, random_state=0).fit(X).components_
    assert euclidean_distances(centers, U).min(axis=1).max() < 0.1


# The bandwidth


def test_gamma_is_one_over_the_mean_squared_distance_of_the_first_rows(monkeypatch, X, sparse_rows):
    monkeypatch.setattr(nystroem, "BANDWIDTH_ROWS", 120)
    for rows in (X, X.astype(np.float32), np.asfortranarray(X), sparse_rows):
        dense = (rows.toarray() if sparse.issparse(rows) else rows).astype(np.float64)[:120]
        mean = sum(dense) / 120
        expected = 120 / sum(np.sum((row - mean) ** 2) for row in dense)
        assert KMeansNystroem(5, random_state=0).fit(rows).gamma_ == pytest.approx(expected, rel=1e-6)
    assert KMeansNystroem(5, gamma=0.7).fit(X).gamma_ == 0.7


def test_the_published_rule_looks_at_80_000_rows():
    X = np.zeros((80_001, 1))
    X[:80_000:2], X[-1] = 2, 1e6
    assert KMeansNystroem(2, random_state=0).fit(X).gamma_ == 1


def test_nystroem_ignores_scale_and_place_of_the_data(X):
    features = KMeansNystroem(20, random_state=0).fit_transform(X)
    moved = KMeansNystroem(20, random_state=0).fit_transform(X + 1e6)
    np.testing.assert_allclose(moved @ moved.T, features @ features.T, atol=1e-8)
    for scale in (2.0**-400, 2.0**400):
        scaled = KMeansNystroem(20, random_state=0).fit_transform(X * scale)
        np.testing.assert_allclose(scaled @ scaled.T, features @ features.T, atol=1e-9)
    for scale in (2.0**-80, 2.0**80):
        scaled = KMeansNystroem(20, random_state=0).fit_transform((X * scale).astype(np.float32))
        np.testing.assert_allclose(scaled @ scaled.T, features @ features.T, atol=1e-4)


# Kinds of input


def test_nystroem_of_dense_and_sparse_rows_is_the_same(sparse_rows):
    dense = sparse_rows.toarray()
    transformer = KMeansNystroem(20, random_state=0).fit(dense)
    duplicated = sparse.csr_array(
        (np.repeat(sparse_rows.data / 2, 2), np.repeat(sparse_rows.indices, 2), 2 * sparse_rows.indptr), dense.shape
    )
    wide = sparse_rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (sparse_rows, sparse.csr_matrix(dense), sparse.csc_array(dense), duplicated, wide):
        np.testing.assert_allclose(transformer.transform(rows), transformer.transform(dense), atol=1e-9)
        fitted = KMeansNystroem(20, random_state=0).fit(rows)
        np.testing.assert_allclose(gram(fitted, rows, rows), gram(transformer, dense, dense), atol=1e-9)


def test_nystroem_keeps_single_precision_near_to_double(X, sparse_rows):
    for rows in (X, sparse_rows):
        double = KMeansNystroem(20, random_state=0).fit(rows)
        single = KMeansNystroem(20, random_state=0).fit(rows.astype(np.float32))
        assert double.transform(rows).dtype == np.float64
        features = single.transform(rows.astype(np.float32))
        assert {features.dtype, single.components_.dtype, single.normalization_.dtype} == {np.dtype(np.float32)}
        np.testing.assert_allclose(features @ features.T, gram(double, rows, rows), atol=1e-4)
        mixed = double.transform(rows.astype(np.float32))
        assert mixed.dtype == np.float64
        np.testing.assert_allclose(mixed, double.transform(rows.astype(np.float32).astype(np.float64)), atol=1e-9)


def test_nystroem_leaves_out_directions_of_rounding():
    X = np.random.default_rng(0).standard_normal((400, 1))  # in one column, 60 landmarks tell little more than 15
    exact = rbf_kernel(X, gamma=1.0)
    widths = []
    for dtype, tolerance in ((np.float32, 1e-4), (np.float64, 60 * nystroem.LEAST)):
        transformer = KMeansNystroem(60, gamma=1.0, random_state=0).fit(X.astype(dtype))
        features = transformer.transform(X.astype(dtype))
        np.testing.assert_allclose(features @ features.T, exact, atol=tolerance)
        again = transformer.transform((X + 1e-7 * np.abs(X)).astype(dtype))
        assert np.max(np.linalg.norm(again - features, axis=0) / np.linalg.norm(features, axis=0)) < 0.03
        widths.append(features.shape[1])
        assert transformer.get_feature_names_out().shape == (features.shape[1],)
    assert widths[0] < widths[1] < 60


def test_nystroem_of_equal_rows_and_constant_data():
    X = np.repeat(np.random.default_rng(0).standard_normal((6, 3)), 20, axis=0)
    transformer = KMeansNystroem(30, random_state=0).fit(X)
    assert transformer.components_.shape == (30, 3)
    assert transformer.transform(X).shape == (120, 6)
    np.testing.assert_allclose(gram(transformer, X, X), rbf_kernel(X, gamma=transformer.gamma_), atol=1e-9)
    for constant in (np.full((50, 3), 0.1), sparse.csr_array(np.full((50, 3), 0.1)), np.full((50, 3), 1e-170)):
        transformer = KMeansNystroem(10, random_state=0).fit(constant)
        assert transformer.gamma_ == 1
        np.testing.assert_allclose(np.abs(transformer.transform(constant)), np.ones((50, 1)))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_rows_whose_squares_underflow_are_told(X, layout):
    with pytest.warns(UserWarning, match=r"^The squares of the values of X underflow, so that all rows count as equal"):
        KMeansNystroem(10, random_state=0).fit(layout(X * 1e-300))


def test_nystroem_of_more_landmarks_than_rows(X):
    few = X[:7]
    transformer = KMeansNystroem().fit(few)
    np.testing.assert_array_equal(transformer.components_, few)
    assert transformer.transform(X).shape == (300, 7)


def test_nystroem_features_of_rows_far_away_are_zero(X):
    transformer = KMeansNystroem(10, random_state=0).fit(X)
    for far in (np.full((1, 4), 1e5), np.full((1, 4), -1e200), np.full((1, 4), 1.7e308)):
        for rows in (far, sparse.csr_array(far)):
            np.testing.assert_allclose(transformer.transform(rows), 0, atol=1e-250)


def test_gaussian_kernel_is_never_above_one(X):
    rows = sparse.csr_array(X + 1e6)  # where squared distances by differences of squares may be below zero
    kernel = nystroem.GaussianKernel(X + 1e6, 1.0, np.dtype(np.float64), is_sparse=True)(rows)
    assert kernel.max() == 1


def test_nystroem_refuses_bad_input(X):
    for rows in (X * 1e200, X * 1e307, sparse.csr_array(X * 1e200)):
        with pytest.raises(ValueError, match=r"^The squares of the values of X overflow"):
            KMeansNystroem(5).fit(rows)
        with pytest.raises(ValueError, match=r"^The squares of the values of X overflow"):
            KMeansNystroem(5, gamma=1.0).fit(rows)
    fitted = KMeansNystroem(5, random_state=0).fit(X)
    before = fitted.transform(X)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.where(X > 6, np.nan, X))
    np.testing.assert_array_equal(fitted.transform(X), before)  # a fit that fails leaves it as it was
    with pytest.raises(ValueError, match="expecting 4 features"):
        fitted.transform(X[:, :3])
    for parameters in ({"n_components": 0}, {"gamma": 0.0}, {"gamma": "scale"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            KMeansNystroem(**parameters).fit(X)


# Blocks, samples, threads


def test_nystroem_features_are_independent_of_blocks(monkeypatch, X, sparse_rows):
    for rows in (X, sparse_rows):
        transformer = KMeansNystroem(20, random_state=0).fit(rows)
        whole = transformer.transform(rows)
        for block in (1, 7, 100, 299, 300):
            monkeypatch.setattr(nystroem, "BLOCK", block)
            with threadpool_limits(2, user_api="blas"):
                np.testing.assert_allclose(transformer.transform(rows), whole, rtol=1e-9, atol=1e-11)
            assert nystroem.default_gamma(rows) == pytest.approx(transformer.gamma_, rel=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seconds", [1, 1e7])
def test_scores_of_single_rows_are_those_of_batches(layout, seconds):
    """A column of unix times, or a single column, leaves small eigenvalues and large means."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1.6e9 + seconds * rng.random(200), seconds / 10 * rng.standard_normal((200, 2))])
    y = np.sin(X[:, 0] * 10 / seconds) + X[:, 1] / seconds > 0
    for columns in (X, X[:, :1]):
        rows = layout(columns)
        model = make_pipeline(KMeansNystroem(60, random_state=0), AUCClassifier("squared", alpha=1e-6)).fit(rows, y)
        scores = model.decision_function(rows)
        alone = [model.decision_function(rows[i : i + 1])[0] for i in range(200)]
        np.testing.assert_allclose(alone, scores, rtol=0, atol=1e-9 * np.ptp(scores))
        dense = model.decision_function(columns)
        np.testing.assert_allclose(dense, scores, rtol=0, atol=1e-9 * np.ptp(scores))


def test_k_means_sees_a_sample(monkeypatch, X):
    monkeypatch.setattr(nystroem, "SAMPLE_ROWS", 40)
    seen = []

    class Watched(nystroem.KMeans):
        def fit(self, X):
            seen.append(X.copy())
            return super().fit(X)

    monkeypatch.setattr(nystroem, "KMeans", Watched)
    for seed in (0, 0, 1):
        KMeansNystroem(3, random_state=seed).fit(X)
    KMeansNystroem(20, random_state=0).fit(X)
    assert [len(rows) for rows in seen] == [40, 40, 40, 200]  # at least ten for each landmark
    assert len(np.unique(seen[0], axis=0)) == 40
    assert set(map(tuple, seen[0])) <= set(map(tuple, X))
    assert np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[0], seen[2])
    for rows, expected in ((50, 50), (300, 300), (10_000, 300)):
        KMeansNystroem(3, kmeans_rows=rows, random_state=0).fit(X)
        assert len(seen[-1]) == expected
    n_calls = len(seen)
    landmarks = KMeansNystroem(3, kmeans_rows=1, random_state=0).fit(X).components_  # never fewer rows than landmarks
    assert landmarks.shape == (3, 4)
    assert set(map(tuple, landmarks)) <= set(map(tuple, X))
    assert len(seen) == n_calls


def test_more_iterations_of_k_means_bring_the_landmarks_nearer_to_the_rows(X):
    distances = [
        np.mean(
            euclidean_distances(X, KMeansNystroem(9, kmeans_iter=k, random_state=0).fit(X).components_).min(axis=1) ** 2
        )
        for k in (1, 3, 30)
    ]
    assert distances[0] > distances[1] > distances[2]


def test_nystroem_random_state_gives_the_same_bits(X):
    first, again, other = (KMeansNystroem(20, random_state=seed).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.transform(X), again.transform(X))
    assert not np.array_equal(first.components_, other.components_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).transform(X), first.transform(X))


def test_transform_holds_little_beside_its_result(monkeypatch):
    monkeypatch.setattr(nystroem, "BLOCK", 128)
    X = np.random.default_rng(0).standard_normal((20_000, 10))
    transformer = KMeansNystroem(50, random_state=0).fit(X)
    for rows in (X, sparse.csr_array(X)):
        with threadpool_limits(2, user_api="blas"):
            tracemalloc.start()
            features = transformer.transform(rows)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < features.nbytes + 1_000_000  # the kernel of all rows alone would be 8 MB


def test_nystroem_feature_names_and_frames(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"), index=range(1000, 1300))
    transformer = KMeansNystroem(5, random_state=0).set_output(transform="pandas")
    features = transformer.fit_transform(frame)
    assert list(features.columns) == [f"kmeansnystroem{j}" for j in range(5)]
    assert features.index.equals(frame.index)
    assert list(transformer.feature_names_in_) == list("abcd")


# The pipelines


@pytest.mark.parametrize("name", PIPELINES)
def test_kernel_pipelines_rank_circles(name):
    X, y = make_circles(600, noise=0.15, factor=0.5, random_state=0)
    X = X * [1, 1000] + [0, 5000]  # columns of any scale
    assert AUCClassifier().fit(X, y).score(X, y) < 0.6
    make = ALGORITHMS[name]
    pipeline = make(n_components=30, random_state=0).fit(X[:400], y[:400])
    assert pipeline.score(X[400:], y[400:]) > 0.95
    again = clone(pipeline).fit(X[:400], y[:400])
    np.testing.assert_array_equal(again.decision_function(X), pipeline.decision_function(X))
    assert pickle.loads(pickle.dumps(pipeline)).score(X, y) == pipeline.score(X, y)
    csr = make(n_components=30, random_state=0).fit(sparse.csr_array(X[:400]), y[:400])
    assert csr.score(sparse.csr_array(X[400:]), y[400:]) > 0.95


@pytest.mark.parametrize("name", PIPELINES)
def test_kernel_pipelines_pass_parameters_on(name):
    pipeline = ALGORITHMS[name](n_components=7, gamma=0.3, random_state=5, max_iter=3)
    assert isinstance(pipeline["scale"], StandardScaler)
    assert pipeline["nystroem"].get_params() == {**KMeansNystroem(7).get_params(), "gamma": 0.3, "random_state": 5}
    assert pipeline[-1].max_iter == 3
    assert name == "N" + pipeline.steps[-1][0].upper()
    assert not pipeline[-1].standardize
    if name == "NBAM":
        assert pipeline["bam"].loss == "squared_hinge"
    else:
        assert type(pipeline[-1]).__name__ == name[1:]
        assert pipeline[-1].random_state == 5
        assert ALGORITHMS[name](standardize=True)[-1].standardize
    published = ALGORITHMS[name](n_components=7, variant="paper")  # the papers take columns as distributed
    assert published["scale"] == published["shrink"] == "passthrough"
    assert name == "NBAM" or published[-1].variant == "paper"


def test_features_of_little_variance_stay_small(X):
    y = X[:, 0] > 0
    pipeline = NPSAM(20, random_state=0).fit(X, y)
    features = pipeline[:2].transform(X)
    variances = np.mean((features - features.mean(axis=0)) ** 2, axis=0)
    expected = (features - features.mean(axis=0)) / np.sqrt(variances + 10 * variances.sum() / len(X))
    assert_allclose(pipeline[:3].transform(X), expected, atol=1e-9)
    equal = NPSAM(random_state=0).fit(np.ones((10, 2)), np.arange(10) % 2)
    assert_allclose(equal.decision_function(np.ones((1, 2))), 0, atol=1e-9)


def test_nbam_with_a_c_is_bam_on_the_features(X):
    """The objective 1/2 |w|^2 + C sum max(0, 1 - w.z)^2 over all pairs has no gradient at its minimiser."""
    y = X[:, 0] * X[:, 3] + X[:, 2] > 0
    for variant, n_before in (("adaptive", 3), ("paper", 2)):
        pipeline = NBAM(15, C=0.02, variant=variant, tol=1e-10, random_state=0).fit(X, y)
        features = X
        for step in pipeline[:n_before] if variant == "adaptive" else pipeline[1:2]:
            features = step.transform(features)
        w = pipeline[-1].coef_[0]
        Z = (features[y][:, None] - features[~y][None]).reshape(-1, features.shape[1])
        assert_allclose(w, 2 * 0.02 * np.maximum(1 - Z @ w, 0) @ Z, atol=1e-6 * np.abs(w).max())
        assert NBAM(variant="paper", C=2).set_params(bam__C=3)["bam"].C == 3
    assert NBAM(variant="paper")["bam"].C == BAM().C
    with pytest.raises(ValueError, match=r"^variant must be 'adaptive' or 'paper', got 'papers'\.$"):
        NBAM(variant="papers")


@pytest.mark.parametrize("name", PIPELINES[:3])
def test_kernel_pipelines_learn_from_a_stream(name):
    X, y = make_circles(1200, noise=0.15, factor=0.5, random_state=0)
    stream = ALGORITHMS[name](n_components=30, random_state=0)
    stream.partial_fit(X[:300], y[:300])
    landmarks = stream["nystroem"].components_.copy()
    parts = [np.arange(300, 1000)], np.array_split(np.arange(300, 1000), 7)
    ends = []
    for split in parts:
        fitted = pickle.loads(pickle.dumps(stream))
        for part in split:
            fitted.partial_fit(X[part], y[part])
        ends.append(fitted[-1].coef_)
        np.testing.assert_array_equal(fitted["nystroem"].components_, landmarks)
        assert fitted.score(X[1000:], y[1000:]) > 0.95
    assert_allclose(*ends, rtol=1e-9)
    assert not hasattr(NBAM(C=1), "partial_fit")


@pytest.mark.dask
def test_nystroem_rows_of_files_and_dask_are_made_by_blocks(tmp_path):
    X, y = noisy_line(n=300, d=3)
    kernel = KMeansNystroem(12, random_state=0).fit(X)
    estimator = AUCClassifier("squared", cv=3)
    expected = clone(estimator).fit(kernel.transform(X), y)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,label", comments="", fmt="%.17g")
    chunks = (100, 1, 0, 199)
    lazy = [da.from_array(values, chunks=(chunks, *values.shape[1:])) for values in (X, y)]
    with pytest.raises(ValueError, match=r"^KMeansNystroem takes no Dask collections: .*kernel\.rows\(X, y\)"):
        kernel.transform(lazy[0])
    for rows in (kernel.rows(open_rows(path, target="label")), kernel.rows(*lazy), kernel.rows(X, y)):
        found = clone(estimator).fit_rows(rows)
        for name, values in expected.cv_results_.items():
            if np.issubdtype(np.asarray(values).dtype, np.number):
                assert_allclose(found.cv_results_[name], values, rtol=1e-9, err_msg="held-out AUCs in bins differ more")
        assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-9 * np.abs(expected.coef_).max())
        assert found.alpha_ == pytest.approx(expected.alpha_, rel=1e-12)
