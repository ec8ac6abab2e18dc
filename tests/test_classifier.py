"""AUCClassifier: what it promises beyond scikit-learn's contract."""

import itertools
import pickle
import tracemalloc
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, ClassMoments, ProgressBar, load_model, save_model
from aucmax.search.path_cv import information_criterion
from aucmax.solvers.square import MomentProblem, held_out_alpha

# The objective


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.sampled_from(["moments", "dual", "cg"]), st.booleans())
def test_fit_minimises_the_loss_over_all_pairs(seed, solver, standardize):
    X, y = noisy_line(n=12, d=3, seed=seed)
    alpha = 0.3
    clf = AUCClassifier(alpha=alpha, solver=solver, standardize=standardize, tol=1e-13).fit(X, y)
    pairs = np.array([p - q for p in X[y == 1] for q in X[y == 0]])
    scale = X.std(axis=0) if standardize else np.ones(3)
    # The normal equations of 1/2 mean (1 - w.z)^2 + alpha/2 |scale * w|^2, pair by pair.
    w = np.linalg.solve(pairs.T @ pairs / len(pairs) + alpha * np.diag(scale**2), pairs.mean(axis=0))
    assert_allclose(clf.coef_[0], w, rtol=1e-8, atol=1e-10)


def test_swapped_labels_reverse_the_scores():
    X, y = noisy_line()
    clf, swapped = AUCClassifier().fit(X, y), AUCClassifier().fit(X, 1 - y)
    assert_allclose(swapped.coef_, -clf.coef_, rtol=1e-9)
    assert_allclose(swapped.decision_function(X), -clf.decision_function(X), rtol=1e-7, atol=1e-9)
    assert_allclose(swapped.predict_proba(X), clf.predict_proba(X)[:, ::-1], rtol=1e-7, atol=1e-9)


def test_fit_ignores_units_and_offsets_of_columns():
    X, y = noisy_line()
    scale, shift = np.array([1e-6, 1e3, 1.0, 42.0, 1e6]), np.array([0, 1e4, -1.0, 1e3, -1e7])
    clf, other = AUCClassifier().fit(X, y), AUCClassifier().fit(X * scale + shift, y)
    assert_allclose(other.coef_ * scale, clf.coef_, rtol=1e-6)
    assert_allclose(other.decision_function(X * scale + shift), clf.decision_function(X), rtol=1e-5, atol=1e-6)


# Sparse fits

SPARSE = {
    "l1": {"penalty": "l1", "alpha": 0.1},
    "elastic net": {"penalty": "elasticnet", "l1_ratio": 0.7, "alpha": 0.1},
    "L0": {"n_nonzero": 3, "alpha": 0.1},
    "l1, cross-validated": {"penalty": "l1"},
    "L0, cross-validated": {"n_nonzero": [1, 3]},
}
every_sparse_fit = pytest.mark.parametrize("parameters", SPARSE.values(), ids=SPARSE)


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
def test_fit_minimises_the_loss_over_all_pairs_and_an_l1_norm(l1_ratio, solver):
    X, y = noisy_line(n=30, d=8)
    alpha = 0.1
    penalty = {"penalty": "l1"} if l1_ratio == 1 else {"penalty": "elasticnet", "l1_ratio": l1_ratio}
    clf = AUCClassifier(alpha=alpha, solver=solver, tol=1e-10, **penalty).fit(X, y)
    pairs = np.array([p - q for p in X[y == 1] for q in X[y == 0]])
    scale, w = X.std(axis=0), clf.coef_[0]
    gradient = pairs.T @ (pairs @ w - 1) / len(pairs) / scale + alpha * (1 - l1_ratio) * scale * w
    assert 0 < np.count_nonzero(w) < 8
    assert_allclose(gradient[w != 0], -alpha * l1_ratio * np.sign(w[w != 0]), atol=1e-9)
    assert np.abs(gradient[w == 0]).max() < alpha * l1_ratio


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
def test_n_nonzero_fits_the_best_columns_alone(solver):
    X, y = noisy_line(n=100, d=7)
    clf = AUCClassifier(n_nonzero=3, alpha=0.1, solver=solver).fit(X, y)
    kept = np.flatnonzero(clf.coef_)
    assert (len(kept), clf.n_nonzero_) == (3, 3)
    assert_allclose(clf.coef_[0, kept], AUCClassifier(alpha=0.1).fit(X[:, kept], y).coef_[0], rtol=1e-9)

    def loss(columns):
        w, scale = AUCClassifier(alpha=0.1).fit(X[:, columns], y).coef_[0], X[:, columns].std(axis=0)
        scores = X[:, columns] @ w
        margins = 1 - (scores[y == 1][:, None] - scores[y == 0])
        return np.mean(margins**2) / 2 + 0.05 * np.sum((scale * w) ** 2)

    assert all(loss(kept) <= loss(columns) + 1e-12 for columns in itertools.combinations(range(7), 3))


@pytest.mark.slow
@every_sparse_fit
def test_l1_and_n_nonzero_ignore_order_units_and_names(parameters):
    X, y = noisy_line(n=120, d=8)
    clf = AUCClassifier(tol=1e-10, **parameters).fit(X, y)
    assert clf.coef_.any()
    given = {"alpha": clf.alpha_, "n_nonzero": getattr(clf, "n_nonzero_", None)}
    same = AUCClassifier(**parameters | given, tol=1e-10)
    order = np.random.default_rng(0).permutation(120)
    assert_allclose(clone(same).fit(X[order], y[order]).coef_, clf.coef_, rtol=1e-7, atol=1e-10)
    swapped = AUCClassifier(tol=1e-10, **parameters).fit(X, 1 - y)
    assert_allclose(swapped.coef_, -clf.coef_, rtol=1e-7, atol=1e-10)
    scaler = StandardScaler().fit(X)
    by_hand = clone(same).set_params(standardize=False).fit(scaler.transform(X), y)
    assert_allclose(by_hand.coef_ / scaler.scale_, clf.coef_, rtol=1e-7, atol=1e-10)
    far = AUCClassifier(tol=1e-10, **parameters).fit(1e3 * X + 1e4, y)
    assert_allclose(1e3 * far.coef_, clf.coef_, rtol=1e-6, atol=1e-9)


@every_sparse_fit
@pytest.mark.parametrize("shape", [(120, 8), pytest.param((40, 90), marks=pytest.mark.slow)])
def test_l1_and_n_nonzero_of_csr_rows_equal_dense_rows(shape, parameters):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.3)
    y = (X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(shape[0]) > 0.3).astype(int)
    dense = AUCClassifier(**parameters).fit(X, y)
    clf = AUCClassifier(**parameters).fit(sparse.csr_array(X), y)
    assert clf.alpha_ == pytest.approx(dense.alpha_, rel=1e-9)
    assert_allclose(clf.coef_, dense.coef_, rtol=1e-5, atol=1e-8)
    assert_allclose(clf.predict_proba(sparse.csr_array(X)), dense.predict_proba(X), rtol=1e-5)


@every_sparse_fit
def test_l1_and_n_nonzero_of_streams_and_moments(parameters):
    X, y = noisy_line(n=300, d=8)
    whole = AUCClassifier(tol=1e-10, **parameters).partial_fit(X, y)
    stream = AUCClassifier(tol=1e-10, **parameters)
    for block in np.split(np.random.default_rng(0).permutation(300), [50, 170]):
        stream.partial_fit(X[block], y[block], classes=[0, 1])
    merged = AUCClassifier(tol=1e-10, **parameters).fit_moments(whole.moments_)
    for clf in (stream, merged):
        assert_allclose(clf.coef_, whole.coef_, rtol=1e-7, atol=1e-10)
        assert clf.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
    if parameters.get("alpha") is not None:
        assert_allclose(whole.coef_, AUCClassifier(tol=1e-10, **parameters).fit(X, y).coef_, rtol=1e-9)
    assert whole.score(X, y) > 0.8


@pytest.mark.slow
def test_partial_fit_keeps_cross_validated_n_nonzero_and_alpha():
    X, y = noisy_line(n=300, d=8)
    clf = AUCClassifier(n_nonzero=[2, 4]).fit(X[:200], y[:200])
    chosen = clf.alpha_, clf.n_nonzero_
    clf.partial_fit(X[200:], y[200:])
    assert (clf.alpha_, clf.n_nonzero_) == chosen
    given = AUCClassifier(alpha=chosen[0], n_nonzero=chosen[1]).fit(X, y)
    assert_allclose(clf.coef_, given.coef_, rtol=1e-9)
    # Candidates that cross-validation has not seen
    assert clf.set_params(n_nonzero=[1, 3]).partial_fit(X[:1], y[:1]).n_nonzero_ in (1, 3)
    assert not hasattr(clf.set_params(n_nonzero=None).partial_fit(X[:1], y[:1]), "n_nonzero_")

    stream = AUCClassifier(n_nonzero=[1, 3, 8]).partial_fit(X, y)
    shrinkage = held_out_alpha(MomentProblem(stream.moments_, True))
    assert stream.alpha_ == AUCClassifier(alphas=[0.5]).partial_fit(X, y).alpha_ == shrinkage
    lasso = AUCClassifier(penalty="l1").partial_fit(X, y)
    grid = AUCClassifier(penalty="l1").fit(X, y).alphas_
    assert lasso.alpha_ == pytest.approx(grid[np.argmin(np.abs(grid - lasso.alpha_))], rel=1e-9)
    assert AUCClassifier(penalty="l1", alphas=[0.07]).partial_fit(X, y).alpha_ == 0.07
    paths = {"lasso": [AUCClassifier(penalty="l1", alpha=alpha).fit(X, y).coef_[0] for alpha in grid]}
    paths["stream"] = [AUCClassifier(n_nonzero=k, alpha=stream.alpha_).fit(X, y).coef_[0] for k in (1, 3, 8)]
    for clf, path in ((lasso, paths["lasso"]), (stream, paths["stream"])):
        best = np.argmin(information_criterion(clf.moments_, np.array(path)))
        assert_allclose(clf.coef_[0], path[best], rtol=1e-5, atol=1e-8)


def test_the_number_of_nonzeros_is_cross_validated_with_alpha_or_without():
    X, y = noisy_line(n=150, d=8)
    both = AUCClassifier(n_nonzero=np.array([2, 5])).fit(X, y)
    assert both.n_nonzero_ == np.count_nonzero(both.coef_)
    table = pd.DataFrame(both.cv_results_)
    assert len(table) == 2 * len(both.alphas_)
    best = table.loc[table["mean_test_score"].idxmax()]
    assert (both.alpha_, both.n_nonzero_) == (best["param_alpha"], best["param_n_nonzero"])

    one = AUCClassifier(n_nonzero=[2, 5], alpha=0.1).fit(X, y)
    assert one.alpha_ == 0.1
    assert_array_equal(one.cv_results_["param_n_nonzero"], [2, 5])
    assert_array_equal(one.alphas_, [0.1])
    for clf in (both, one):
        given = AUCClassifier(n_nonzero=clf.n_nonzero_, alpha=clf.alpha_).fit(X, y)
        assert_allclose(given.coef_, clf.coef_, rtol=1e-12)
        assert not hasattr(given, "cv_results_")
    assert not hasattr(both.set_params(n_nonzero=None).fit(X, y), "n_nonzero_")
    assert not hasattr(AUCClassifier(n_nonzero=[5], alpha=0.1).fit(X, y), "cv_results_")


@pytest.mark.slow
def test_l1_and_n_nonzero_find_columns_of_wide_csr_rows():
    rng = np.random.default_rng(0)
    n, d = 1200, 8000
    y = np.arange(n) % 2
    noise = sparse.random_array((n, d), density=0.004, format="csr", rng=rng)
    signal = sparse.random_array((n, 5), density=0.2, format="csr", rng=rng).multiply(y[:, None])  # positives alone
    X = sparse.hstack([noise, signal], format="csr")
    subset = AUCClassifier(n_nonzero=5, cv=2).fit(X, y)
    assert not hasattr(subset, "moments_")
    assert_array_equal(np.flatnonzero(subset.coef_), np.arange(d, d + 5))
    lasso = AUCClassifier(penalty="l1", cv=2).fit(X, y)
    assert lasso.coef_[0, d:].all()
    assert np.count_nonzero(lasso.coef_) < 1000


# Streams, weights, containers


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 199), max_size=8, unique=True), st.booleans())
def test_fit_is_any_sequence_of_partial_fits_and_any_tree_of_merges(seed, cuts, as_sparse):
    X, y = noisy_line(seed=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    blocks = np.split(order, sorted(cuts))
    container = sparse.csr_array if as_sparse else np.asarray
    whole = AUCClassifier(alpha=0.1).fit(X, y)
    stream = AUCClassifier(alpha=0.1)
    for block in blocks:
        stream.partial_fit(container(X[block]), y[block], classes=[0, 1])
    assert_allclose(stream.coef_, whole.coef_, rtol=1e-10, atol=1e-12)

    parts = [ClassMoments(X.shape[1]).update(X[block], y[block]) for block in blocks]
    while len(parts) > 1:
        parts = [
            a.merge(*b) for a, b in zip(parts[::2], [[p] for p in parts[1::2]] + [[]] * (len(parts) % 2), strict=True)
        ]
    merged = AUCClassifier(alpha=0.1).fit_moments(parts[0])
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert_allclose(merged.intercept_, stream.intercept_, rtol=1e-9)
    assert_allclose(merged.calibration_, stream.calibration_, rtol=1e-9)


def test_partial_fit_continues_a_fit():
    X, y = noisy_line()
    both = AUCClassifier(alpha=0.1).fit(X[:120], y[:120]).partial_fit(X[120:], y[120:])
    assert_allclose(both.coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, rtol=1e-10)


def test_partial_fit_keeps_a_cross_validated_alpha_and_else_takes_the_shrinkage():
    X, y = noisy_line()
    clf = AUCClassifier(loss="squared").fit(X[:120], y[:120])
    chosen = clf.alpha_
    assert clf.partial_fit(X[120:], y[120:]).alpha_ == chosen
    stream = AUCClassifier().partial_fit(X, y)
    assert stream.alpha_ > 0
    assert not hasattr(stream, "cv_results_")
    backwards = AUCClassifier().partial_fit(X[100:], y[100:], classes=[0, 1]).partial_fit(X[:100], y[:100])
    assert_allclose(backwards.alpha_, stream.alpha_, rtol=1e-10)


def test_partial_fit_predicts_once_both_classes_were_seen():
    X, y = noisy_line()
    clf = AUCClassifier(alpha=0.1).partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(NotFittedError):
        clf.predict(X)
    clf.partial_fit(X[y == 1], y[y == 1])
    assert_allclose(clf.coef_, AUCClassifier(alpha=0.1).fit(X, y).coef_, rtol=1e-10)


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("penalty", [{}, {"penalty": "l1"}, {"penalty": "elasticnet"}, {"n_nonzero": 3}], ids=str)
def test_integer_weights_are_repeated_rows(penalty, solver):
    X, y = noisy_line(n=60)
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    clf = AUCClassifier(alpha=0.1, solver=solver, tol=1e-12, **penalty)
    weighted = clone(clf).fit(X, y, sample_weight=weights)
    repeated = clone(clf).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7)


def test_rows_without_weight_are_left_out_of_the_folds_too():
    X, y = noisy_line()
    kept = np.random.default_rng(1).random(len(y)) < 0.7
    weighted, removed = (
        AUCClassifier().fit(X, y, sample_weight=kept.astype(float)),
        AUCClassifier().fit(X[kept], y[kept]),
    )
    assert_allclose(weighted.cv_results_["mean_test_score"], removed.cv_results_["mean_test_score"], rtol=1e-12)
    assert_allclose(weighted.coef_, removed.coef_, rtol=1e-9)
    assert_allclose(weighted.predict_proba(X), removed.predict_proba(X), rtol=1e-7)


@pytest.mark.parametrize("shape", [(300, 8), (30, 60)])
def test_fit_of_csr_rows_equals_dense_rows(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * (rng.random(shape) < 0.15)
    y = (X @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0]) > 0.3).astype(int)
    dense = AUCClassifier().fit(X, y)
    for container in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        clf = AUCClassifier().fit(container(X), y)
        assert_allclose(clf.blend_["alpha"], dense.blend_["alpha"], rtol=1e-9)
        assert_allclose(clf.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
        assert_allclose(clf.predict_proba(container(X)), dense.predict_proba(X), rtol=1e-7)


def test_fit_ignores_memory_order_and_single_precision():
    X, y = noisy_line(n=5000)
    clf = AUCClassifier().fit(X, y)
    assert_allclose(AUCClassifier().fit(np.asfortranarray(X), y).coef_, clf.coef_, rtol=1e-8)
    assert_allclose(AUCClassifier().fit(np.repeat(X, 2, axis=0)[::2], y).coef_, clf.coef_, rtol=1e-8)
    single = AUCClassifier().fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float64
    # Rounding may choose among candidates that are equally good.
    assert_allclose(single.coef_ / np.linalg.norm(single.coef_), clf.coef_ / np.linalg.norm(clf.coef_), atol=0.02)
    clf, single = (AUCClassifier("logistic", alpha=0.1).fit(Z, y) for Z in (X, X.astype(np.float32)))
    assert_allclose(single.coef_, clf.coef_, rtol=1e-4)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_bring_feature_names(frame):
    X, y = noisy_line()
    table = frame({f"column {j}": X[:, j] for j in range(X.shape[1])})
    clf = AUCClassifier().fit(table, y)
    assert_array_equal(clf.feature_names_in_, [f"column {j}" for j in range(X.shape[1])])
    assert_allclose(clf.decision_function(table), AUCClassifier().fit(X, y).decision_function(X), rtol=1e-9)


def test_memory_of_a_fit_does_not_grow_with_the_rows():
    def peak(n):
        X, y = noisy_line(n=n, d=20)
        clf = AUCClassifier(alpha=0.1).fit(X, y)
        with threadpoolctl.threadpool_limits(1, user_api="blas"):  # each thread has a block of its own
            tracemalloc.start()
            clf.fit(X, y)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return peak

    assert peak(320_000) < 2 * peak(80_000)  # the threads may have one block more or less


def test_fit_of_a_million_sparse_columns():
    rng = np.random.default_rng(0)
    n, d, per_row = 5000, 1_000_000, 20
    indices = rng.integers(0, d, (n, per_row))
    indices[:, 0] = np.where(np.arange(n) % 2, 17, 18)
    X = sparse.csr_array((np.ones(n * per_row), indices.ravel(), np.arange(0, n * per_row + 1, per_row)), shape=(n, d))
    clf = AUCClassifier(alpha=1.0).fit(X, np.arange(n) % 2)
    assert clf.n_iter_ > 1
    assert clf.coef_[0, 17] > 0 > clf.coef_[0, 18]
    assert clf.score(X, np.arange(n) % 2) == 1


# Labels, probabilities, score


def test_labels_of_any_kind():
    X, y = noisy_line()
    numbers = AUCClassifier().fit(X, y)
    for labels in (np.array(["ham", "spam"]), np.array([-1, 1]), np.array([False, True]), np.array([2.0, 7.0])):
        clf = AUCClassifier().fit(X, labels[y])
        assert_array_equal(clf.classes_, labels)
        assert_array_equal(clf.predict(X), labels[numbers.predict(X)])
        assert clf.score(X, labels[y]) == numbers.score(X, y)


def test_score_is_the_roc_auc():
    X, y = noisy_line()
    weights = np.random.default_rng(0).random(len(y))
    clf = AUCClassifier().fit(X, y)
    assert clf.score(X, y) == pytest.approx(roc_auc_score(y, clf.decision_function(X)), abs=1e-12)
    expected = roc_auc_score(y, clf.decision_function(X), sample_weight=weights)
    assert clf.score(X, y, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match=r"^y holds 3, but the classes are \[0, 1\]\."):
        clf.score(X, y + 2 * (y == 1))


@pytest.mark.parametrize("how", ["cross-validated", "given", "streamed"])
def test_predict_proba_of_rare_positives(how):
    """On Gaussian classes all three calibrations find the best threshold and probabilities that are right."""
    rng = np.random.default_rng(0)
    n, d, rate = 40_000, 4, 0.05
    y = (rng.random(n) < rate).astype(int)
    X = rng.standard_normal((n, d)) + 0.9 * y[:, None]
    train, test = slice(n // 2), slice(n // 2, n)
    if how == "streamed":
        clf = AUCClassifier(alpha=0.01).partial_fit(X[train], y[train])
    else:
        clf = AUCClassifier(alpha=None if how == "cross-validated" else 0.01).fit(X[train], y[train])
    scores, probabilities = clf.decision_function(X[test]), clf.predict_proba(X[test])
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_allclose(np.exp(clf.predict_log_proba(X[test])), probabilities, rtol=1e-9)
    assert_array_equal(np.argsort(probabilities[:, 1], kind="stable"), np.argsort(scores, kind="stable"))
    # Zero is where the probability is the base rate of the training data.
    assert_array_equal(scores > 0, probabilities[:, 1] > y[train].mean())
    assert_array_equal(clf.predict(X[test]), (scores > 0).astype(int))
    accuracies = [
        balanced_accuracy_score(y[test], scores > cut) for cut in np.quantile(scores, np.linspace(0.01, 0.99, 99))
    ]
    assert balanced_accuracy_score(y[test], scores > 0) > max(accuracies) - 0.015
    # The true posterior: log-odds of two unit Gaussians 0.9 apart in each of four columns.
    truth = 1 / (1 + np.exp(-(0.9 * (X[test] - 0.45).sum(axis=1) + np.log(rate / (1 - rate)))))
    assert np.mean(np.abs(probabilities[:, 1] - truth)) < 0.005


def test_predict_proba_is_calibrated_after_a_perfect_training_fit():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 300)), np.arange(60) % 2
    clf = AUCClassifier().fit(X, y)
    assert clf.score(X, y) == 1
    fresh = clf.predict_proba(rng.standard_normal((200, 300)))
    assert fresh.max() < 0.9  # there is nothing to learn, and the held-out scores know it


@pytest.mark.parametrize("penalty", [{}, {"penalty": "l1"}, {"n_nonzero": [1, 2]}], ids=str)
def test_predict_proba_of_constant_columns_is_the_base_rate(penalty):
    y = np.repeat([0, 1], [30, 10])
    clf = AUCClassifier(**penalty).fit(np.ones((40, 3)), y)
    assert_array_equal(clf.coef_, 0)
    assert_allclose(clf.predict_proba(np.ones((2, 3)))[:, 1], 0.25)
    assert clf.score(np.ones((40, 3)), y) == 0.5


def test_fit_shares_the_weight_of_duplicate_columns():
    X, y = noisy_line()
    for solver in ("moments", "dual", "cg"):
        clf = AUCClassifier(alpha=0.1, solver=solver, tol=1e-12).fit(np.hstack([X, X[:, :1]]), y)
        assert_allclose(clf.coef_[0, 0], clf.coef_[0, -1], rtol=1e-8)
    clf = AUCClassifier(alpha=0).fit(np.hstack([X, X]), y)
    assert_allclose(2 * clf.coef_[0, :5], AUCClassifier(alpha=0).fit(X, y).coef_[0], rtol=1e-8)


# Meeting the rest of scikit-learn


def test_cross_validation_is_recorded_like_a_grid_search():
    X, y = noisy_line()
    alphas = [0.01, 10.0, 0.1]
    clf = AUCClassifier(loss="squared", alphas=alphas).fit(X, y)
    assert_array_equal(clf.alphas_, [10.0, 0.1, 0.01])
    table = pd.DataFrame(clf.cv_results_)
    assert list(table["param_alpha"]) == [10.0, 0.1, 0.01]
    splits = table[[name for name in table if name.startswith("split")]]
    assert splits.shape[1] % 5 == 0
    assert_allclose(splits.mean(axis=1), table["mean_test_score"])
    best = table.loc[table["rank_test_score"].idxmin()]
    assert clf.alpha_ == best["param_alpha"]
    assert best["mean_test_score"] == table["mean_test_score"].max()
    assert_allclose(clf.coef_, AUCClassifier(alpha=clf.alpha_).fit(X, y).coef_, rtol=1e-10)
    assert not hasattr(clf.set_params(alpha=0.1).fit(X, y), "cv_results_")


def test_grid_search_pipeline_and_one_vs_rest():
    X, y = noisy_line()
    search = GridSearchCV(AUCClassifier(), {"standardize": [True, False]}, cv=3).fit(X, y)
    expected = cross_val_score(search.best_estimator_, X, y, cv=3, scoring="roc_auc").mean()
    assert search.best_score_ == pytest.approx(expected, abs=1e-12)
    make_pipeline(StandardScaler(), AUCClassifier()).fit(X, y).predict_proba(X)
    iris, species = load_iris(return_X_y=True)
    assert OneVsRestClassifier(AUCClassifier()).fit(iris, species).score(iris, species) > 0.8


def test_sample_weight_is_routed():
    X, y = noisy_line()
    weights = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = AUCClassifier(alpha=0.1).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, clf).fit(X, y, sample_weight=weights)
    direct = AUCClassifier(alpha=0.1).fit(StandardScaler().fit_transform(X), y, weights)
    assert_allclose(routed[-1].coef_, direct.coef_, rtol=1e-12)


def test_partial_fit_continues_a_pickle():
    X, y = noisy_line()
    clf = AUCClassifier(alpha=0.1).fit(X[:100], y[:100])
    copy = pickle.loads(pickle.dumps(clf))
    assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    assert_array_equal(copy.partial_fit(X[100:], y[100:]).coef_, clf.partial_fit(X[100:], y[100:]).coef_)


class Recorder:
    """A callback that writes down the tasks it sees."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append(("setup", context.max_subtasks))

    def teardown(self, estimator, context):
        self.seen.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.seen.append(("end", context.task_name))


OF_A_LOSS = ("candidates", "choice", "solve")


@pytest.mark.parametrize(
    ("parameters", "tasks"),
    [
        ({}, ("candidates", "candidates", "candidates", "choice", "solve")),
        ({"standardize": False}, ("candidates", "candidates", "choice", "solve")),
        ({"loss": "logistic"}, OF_A_LOSS),
        ({"penalty": "l1"}, OF_A_LOSS),
        ({"n_nonzero": [1, 2]}, OF_A_LOSS),
    ],
    ids=str,
)
def test_fit_callbacks_see_every_task(parameters, tasks):
    X, y = noisy_line()
    recorder = Recorder()
    AUCClassifier(cv=StratifiedKFold(3), **parameters).set_callbacks(recorder).fit(X, y)
    expected = [(when, name) for name in tasks for when in ("begin", "end")]
    assert recorder.seen == [("setup", len(tasks)), ("begin", "fit"), *expected, ("end", "fit"), ("teardown", "fit")]

    recorder = Recorder()
    with pytest.raises(ValueError, match="NaN"):
        AUCClassifier(alpha=0.1).set_callbacks(recorder).fit(np.where(X > 4, np.nan, X), y)
    assert recorder.seen[-1] == ("teardown", "fit")


def test_a_progress_bar_names_the_estimator(capsys):
    AUCClassifier().set_callbacks(ProgressBar()).fit(*noisy_line())
    assert "AUCClassifier" in capsys.readouterr().out


def test_a_fit_with_a_bar_is_cloned_copied_and_pickled():
    X, y = noisy_line(n=60)
    clf = AUCClassifier(alpha=0.1).set_callbacks(ProgressBar()).fit(X, y)
    for copy in (pickle.loads(pickle.dumps(clf)), deepcopy(clf)):
        assert_array_equal(copy.coef_, clf.coef_)
    assert len(clone(clf)._skl_callbacks) == 1
    assert not hasattr(clone(clf.set_callbacks()), "_skl_callbacks")


def test_scoring_monitor_of_scikit_learn():
    callbacks = pytest.importorskip("sklearn.callback")  # from 1.9 on
    X, y = noisy_line()
    monitor = callbacks.ScoringMonitor(scoring="roc_auc")
    clf = AUCClassifier().set_callbacks(monitor).fit(X, y)
    assert [row["roc_auc"] for row in monitor.get_logs().data] == [pytest.approx(clf.score(X, y))]


# Hostile input

X, Y = noisy_line(n=40)


def spoilt(value):
    spoilt = X.copy()
    spoilt[3, 1] = value
    return spoilt


@pytest.mark.parametrize("alpha", [None, 0.1])
@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((spoilt(np.nan), Y), r"Input X contains NaN\."),
        ((spoilt(np.inf), Y), r"Input X contains infinity or a value too large for dtype\('float64'\)\."),
        ((sparse.csr_array(spoilt(np.nan)), Y), r"Input X contains NaN\."),
        ((X, np.ones(40)), r"^AUC needs two classes, but y holds only one class: 1\.0\.$"),
        ((X, np.arange(40) % 3), r"^Only binary classification .* y holds 3 classes\. Wrap .*\.OneVsRestClassifier\.$"),
        ((X, X[:, 0]), r"Unknown label type: continuous"),
        ((X, np.where(Y, 1, np.nan)), r"^Input y contains NaN\."),
        ((X, [None, "a"] * 20), r"^y has missing labels: leave these rows out\.$"),
        ((X, np.array([1, "a"] * 20, dtype=object)), r"^The classes of y cannot be sorted: 1 and 'a' are of two kinds"),
        ((1e200 * X, Y), r"^The squares of the values of X overflow: divide its largest columns by a power of ten\.$"),
        ((X[:0], Y[:0]), r"Found array with 0 sample\(s\) .* while a minimum of 1 is required"),
        ((X[:, :0], Y), r"Found array with 0 feature\(s\) .* while a minimum of 1 is required"),
        ((X, Y[:-1]), r"Found input variables with inconsistent numbers of samples: \[40, 39\]"),
        ((X, Y, -np.ones(40)), r"Negative values in data passed to `sample_weight`"),
        ((X, Y, np.zeros(40)), r"Sample weights must contain at least one non-zero number\."),
        ((X, Y, np.ones(39)), r"sample_weight\.shape == \(39,\), expected \(40,\)!"),
        ((X, Y, np.full(40, np.nan)), r"Input sample_weight contains NaN\."),
        ((np.full((40, 2), "red"), Y), r"could not convert string to float"),
    ],
)
def test_fit_refuses_bad_data(data, message, solver, alpha):
    with pytest.raises(ValueError, match=message):
        AUCClassifier(alpha=alpha, solver=solver).fit(*data)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1}, r"The 'alpha' parameter of AUCClassifier must be a float in the range \[0\.0, inf\) or None"),
        ({"loss": "hinged"}, r"The 'loss' parameter of AUCClassifier must be a str among"),
        ({"solver": "magic"}, r"The 'solver' parameter of AUCClassifier must be a str among"),
        ({"alphas": [1.0, -1.0]}, r"^alphas must be a sequence of nonnegative numbers"),
        ({"cv": 1}, r"The 'cv' parameter of AUCClassifier must be an int in the range \[2, inf\)"),
        ({"cv": 41}, r"^cv=41 folds need at least 41 rows, got 40\.$"),
        ({"max_iter": 0}, r"The 'max_iter' parameter of AUCClassifier"),
        ({"penalty": "l3"}, r"The 'penalty' parameter of AUCClassifier must be a str among"),
        ({"l1_ratio": 0}, r"The 'l1_ratio' parameter of AUCClassifier must be a float in the range \(0\.0, 1\.0\]"),
        ({"n_nonzero": 0}, r"^n_nonzero must be between 1 and the number of columns, 5, got 0\.$"),
        ({"n_nonzero": -2}, r"^n_nonzero must be between 1 and the number of columns, 5, got -2\.$"),
        ({"n_nonzero": [2, 6]}, r"^n_nonzero must be between 1 and the number of columns, 5, got 6\.$"),
        ({"n_nonzero": []}, r"^n_nonzero must be an integer or a sequence of integers, got \[\]\.$"),
        ({"n_nonzero": [1.5]}, r"^n_nonzero must be an integer or a sequence of integers, got \[1\.5\]\.$"),
        ({"n_nonzero": 1.5}, r"The 'n_nonzero' parameter of AUCClassifier must be an instance of 'int', an array-like"),
        (
            {"n_nonzero": 2, "penalty": "l1"},
            r"^n_nonzero limits a fit with penalty='l2', got penalty='l1': set n_nonzero to None\.$",
        ),
    ],
)
def test_fit_refuses_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**parameters).fit(X, Y)


def test_fit_refuses_too_few_rows_for_the_folds():
    with pytest.raises(ValueError, match=r"^cv=5 folds need at least 5 rows, got 4\.$"):
        AUCClassifier().fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^Cross-validation needs at least two rows of each class, got 1 positive"):
        AUCClassifier().fit(X, np.arange(40) == 7)
    with pytest.warns(UserWarning, match=r"^The rarer class has only 3 rows: 3 folds are used instead of 5\.$"):
        results = AUCClassifier("squared").fit(X, np.arange(40) < 3).cv_results_
    assert "split5_test_score" in results  # two rounds of three folds
    assert "split6_test_score" not in results


def test_fit_refuses_sample_weight_of_one_class_only():
    for solver, alpha in itertools.product(("moments", "dual", "cg"), (0.1, None)):
        with pytest.raises(
            ValueError, match=r"^AUC needs two classes, but class 0 has no row with a weight above 0\.$"
        ):
            AUCClassifier(alpha=alpha, solver=solver).fit(X, Y, sample_weight=Y)


def test_predict_refuses_other_features():
    clf = AUCClassifier(alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 4 features, but AUCClassifier is expecting 5 features as input"):
        clf.predict(X[:, 1:])
    with pytest.raises(NotFittedError, match=r"This AUCClassifier instance is not fitted yet"):
        AUCClassifier().predict(X)


def test_fit_that_fails_leaves_the_estimator_unchanged():
    table = pd.DataFrame(X, columns=list("abcde"))
    clf = AUCClassifier(loss="squared").fit(table, Y)
    before, moments = dict(vars(clf)), clf.moments_.copy()
    failures = [
        lambda: clf.fit(X[:, :3], np.ones(40)),
        lambda: clf.fit(table.assign(b=np.inf), Y),
        lambda: clf.partial_fit(table[["a", "b"]], Y),
        lambda: clf.partial_fit(table, Y + 1),
        lambda: clf.partial_fit(table, Y, classes=[0, 2]),
        lambda: clf.partial_fit(table.assign(a=np.nan), Y),
        lambda: clf.partial_fit(table, Y, sample_weight=-np.ones(40)),
        lambda: clf.fit_moments(ClassMoments(3)),
        lambda: clf.set_params(cv=99).fit(table, Y),
    ]
    for failure in failures:
        with pytest.raises(ValueError):  # noqa: PT011
            failure()
        clf.set_params(cv=5)
        assert vars(clf).keys() == before.keys()
        assert all(vars(clf)[name] is value for name, value in before.items())
    assert_array_equal(clf.moments_.scatter, moments.scatter)


def test_partial_fit_messages():
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but classes holds only one class"):
        AUCClassifier().partial_fit(X, Y, classes=[1])
    with pytest.raises(
        ValueError,
        match=r"^AUC needs two classes, but y of this first call \(classes=None\) holds only one class: 1\.$",
    ):
        AUCClassifier().partial_fit(X[Y == 1], Y[Y == 1])
    clf = AUCClassifier(alpha=0.1).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 4 features, but AUCClassifier is expecting 5 features"):
        clf.partial_fit(X[:, 1:], Y)
    with pytest.raises(ValueError, match=r"^y holds 2, but the classes are \[0, 1\]\.$"):
        clf.partial_fit(X, Y + 1)
    with pytest.raises(ValueError, match=r"^classes=\[0, 2\] differ from the classes of the first call, \[0, 1\]\.$"):
        clf.partial_fit(X, Y, classes=[0, 2])
    wide = AUCClassifier(alpha=0.1).fit(X[:4], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^partial_fit continues from class moments, and the last fit"):
        wide.partial_fit(X, Y)
    assert not hasattr(AUCClassifier(solver="cg"), "partial_fit")
    with pytest.raises(
        MemoryError, match=r"^Class moments for 1,000,000 columns take 16,000 GB, more than this machine"
    ):
        AUCClassifier().partial_fit(sparse.csr_array((2, 1_000_000)), [0, 1])


# How the fit converged


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"loss": "logistic"}, ["value", "gradient_norm", "step", "stage"]),
        ({"solver": "cg", "alpha": 0.1}, ["value", "gradient_norm", "step", "stage"]),
        ({"solver": "cg"}, ["value", "gradient_norm", "step", "stage"]),
        ({"penalty": "l1", "alphas": [0.1, 0.01]}, ["value", "error", "n_columns", "n_sweeps"]),
        ({"n_nonzero": [2, 3], "alpha": 0.1}, ["value", "gain"]),
        ({"solver": "moments", "alpha": 0.1}, None),
        ({"solver": "dual"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_history_is_of_the_last_fit(parameters, names, tmp_path):
    X, y = noisy_line()
    clf = AUCClassifier("hinge", alpha=0.1).fit(X, y)  # another fit before
    clf.set_params(**{"loss": "auto", "alpha": None, **parameters}).fit(X, y)
    assert not hasattr(clf, "dual_gap_")
    assert hasattr(clf, "history_") == (names is not None)
    if names is not None:
        assert list(clf.history_) == names
        n_iter = clf.history_["n_sweeps"].sum() if "n_sweeps" in names else len(clf.history_["value"])
        assert clf.n_iter_ == n_iter
        assert (np.diff(clf.history_["value"]) < 0).all()
    save_model(clf, tmp_path / "model.safetensors")
    assert not hasattr(load_model(tmp_path / "model.safetensors"), "history_")


def test_partial_fit_forgets_the_history_of_other_rows():
    X, y = noisy_line()
    clf = AUCClassifier(penalty="l1", alpha=0.1).fit(X, y)
    assert "error" in clf.history_
    assert not hasattr(clf.set_params(penalty="l2").partial_fit(X, y), "history_")
