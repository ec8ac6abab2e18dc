"""The generators: what they promise of sizes, labels and moments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import aucmax
from aucmax import ClassMoments, GaussianAUC
from aucmax.datasets import GAUSSIAN_SETS, make_gaussian, make_sparse_shift

# Five standard errors of a mean or covariance of thousands of entries, seed fixed.
SIGMAS = 5


def small(name="data1", **parameters):
    return make_gaussian(name, **({"n_samples": 400, "n_features": 6, "random_state": 0} | parameters))


def test_datasets_module_is_found_by_its_name():
    assert aucmax.datasets.make_gaussian is make_gaussian


def test_sparse_shift_is_the_outbreak_of_the_paper():
    X, y, support = make_sparse_shift(20_000, 30, n_informative=7, ratio=0.25, shift=0.3, random_state=0)
    assert X.shape == (20_000, 30)
    assert_array_equal(np.bincount(y), [15_000, 5000])
    assert_array_equal(support, np.unique(support))
    assert len(support) == 7
    expected = np.zeros((2, 30))
    expected[1, support] = 0.3
    for c, n in enumerate((15_000, 5000)):
        assert_allclose(X[y == c].mean(axis=0), expected[c], atol=SIGMAS / np.sqrt(n))
        assert_allclose(np.cov(X[y == c], rowvar=False), np.eye(30), atol=SIGMAS * np.sqrt(2 / n))
    assert y[:1000].any()  # in random order
    defaults = make_sparse_shift(random_state=0)
    assert (defaults[0].shape, defaults[1].sum(), len(defaults[2])) == ((1000, 1000), 50, 20)


def test_the_support_is_random_and_at_most_all_columns():
    supports = {tuple(make_sparse_shift(10, 40, n_informative=3, random_state=seed)[2]) for seed in range(10)}
    assert len(supports) == 10
    assert_array_equal(make_sparse_shift(10, 4, n_informative=4, random_state=0)[2], range(4))
    assert len(make_sparse_shift(10, 4, n_informative=0, random_state=0)[2]) == 0
    with pytest.raises(ValueError, match=r"^n_informative=5 columns cannot be chosen among n_features=4\.$"):
        make_sparse_shift(10, 4, n_informative=5)


@pytest.mark.parametrize(("ratio", "n_positive"), [(1e-9, 1), (0.5, 5), (0.26, 3), (1 - 1e-9, 9)])
def test_datasets_have_a_row_of_both_classes(ratio, n_positive):
    assert make_sparse_shift(10, 2, n_informative=1, ratio=ratio, random_state=0)[1].sum() == n_positive
    assert small(n_samples=10, ratio=ratio, outliers=0)[1].sum() == n_positive


def test_the_nine_sets_are_those_of_the_paper():
    assert [s.n_features for s in GAUSSIAN_SETS.values()] == [500] * 3 + [1000] * 3 + [2500] * 3
    assert [s.outliers for s in GAUSSIAN_SETS.values()] == [0, 0.05, 0.1] * 3
    assert [s.ratio for s in GAUSSIAN_SETS.values()] == [0.05, 0.35, 0.5, 0.15, 0.4, 0.5, 0.1, 0.35, 0.5]
    X, y, moments = make_gaussian("data2", n_features=3, outliers=0, random_state=0)
    assert X.shape == (5000, 3)
    assert y.sum() == 1750
    assert_allclose(moments.weight / moments.weight.sum(), [0.65, 0.35])
    assert make_gaussian("data1", n_samples=10, random_state=0)[0].shape == (10, 500)


def test_rows_have_the_moments_that_are_given_with_them():
    n = 40_000
    X, y, exact = small(n_samples=n, ratio=0.5)
    found = ClassMoments(6).update(X, y)
    for c in range(2):
        S, estimate = exact.scatter[c] / exact.weight[c], found.scatter[c] / found.weight[c]
        deviation = np.sqrt(np.diag(S))
        assert_allclose(found.mean[c] / deviation, exact.mean[c] / deviation, atol=SIGMAS / np.sqrt(n / 2))
        scale = np.outer(deviation, deviation)
        assert_allclose(estimate / scale, S / scale, atol=SIGMAS * np.sqrt(2 / (n / 2)))
        values = np.linalg.eigvalsh(S)
        assert 0.5 <= values.min() / (1 + c) < values.max() / (1 + c) <= 1.5
    assert np.abs(exact.scatter[0] - np.diag(np.diag(exact.scatter[0]))).max() > 0.05 * exact.weight[0]


@pytest.mark.parametrize("spread", [0.25, 3.0])
def test_the_spread_is_the_ratio_of_the_variances(spread):
    moments = small(spread=spread, n_features=200)[2]
    negative, positive = (np.trace(moments.scatter[c]) / moments.weight[c] for c in range(2))
    assert positive / negative == pytest.approx(spread, rel=0.1)
    assert GaussianAUC().fit_moments(moments).expected_auc_ == pytest.approx(0.9965, abs=1e-9)


@pytest.mark.parametrize("n_features", [1, 2, 50])
@pytest.mark.parametrize("auc", [0.5, 0.8, 0.9965])
def test_the_best_auc_is_as_asked(auc, n_features):
    _, _, moments = small(auc=auc, n_features=n_features)
    assert GaussianAUC().fit_moments(moments).expected_auc_ == pytest.approx(auc, abs=1e-9)


def test_outliers_are_among_the_training_rows_alone():
    parameters = {"name": "data3", "n_samples": 1000, "ratio": 0.3}
    X, clean, moments = small(**parameters, outliers=0)
    X_too, y, _ = small(**parameters)
    assert_array_equal(X_too, X)
    swapped = np.flatnonzero(y != clean)
    assert swapped.max() < 800
    positives = clean[:800].sum()
    assert_array_equal(np.bincount(clean[swapped]), np.round([0.1 * (800 - positives), 0.1 * positives]))
    everywhere = small(**parameters, train_size=1.0)[1]
    assert np.flatnonzero(everywhere != clean).max() > 900
    assert_array_equal(small(**parameters, train_size=0)[1], clean)
    assert_array_equal(small(**parameters, outliers=1, train_size=1)[1], 1 - clean)
    assert_array_equal(small(**parameters)[2].scatter, moments.scatter)  # of the clean classes


def test_make_gaussian_of_given_moments():
    X, _, moments = small()
    X_too, y, same = small(moments=moments, random_state=1, n_features=99)
    assert same is moments
    assert X_too.shape == (400, 6)
    assert not np.isin(X_too, X).any()
    assert_allclose(X_too[y == 0].mean(axis=0), moments.mean[0], atol=SIGMAS * np.sqrt(1.5 / 380))
    words = ClassMoments(2, ["ham", "spam"]).update([[0.0, 1], [1, 0], [3, 3]] * 2, ["ham"] * 3 + ["spam"] * 3)
    assert set(make_gaussian(n_samples=20, moments=words, random_state=0)[1]) == {"ham", "spam"}
    with pytest.raises(ValueError, match=r"^moments must have covariances of full rank: rows cannot be drawn"):
        small(moments=ClassMoments(2).update([[0.0, 1], [1, 1]] * 2, [0, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but class 0 has no row with a weight above 0\.$"):
        small(moments=ClassMoments(2))


@pytest.mark.parametrize("make", [small, lambda **p: make_sparse_shift(50, 40, **p)])
def test_datasets_random_state_gives_the_same_data(make):
    first, again, other = make(random_state=3), make(random_state=np.random.RandomState(3)), make(random_state=4)
    assert_array_equal(first[0], again[0])
    assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_gaussian("data10"), r"The 'name' parameter of make_gaussian must be a str among"),
        (lambda: small(auc=1), r"The 'auc' parameter of make_gaussian must be a float in the range \[0\.5, 1\.0\)"),
        (
            lambda: small(outliers=2),
            r"The 'outliers' parameter of make_gaussian must be a float in the range \[0\.0, 1",
        ),
        (lambda: small(moments=3), r"The 'moments' parameter of make_gaussian must be an instance of '.*ClassMoments'"),
        (
            lambda: make_sparse_shift(ratio=0),
            r"The 'ratio' parameter of make_sparse_shift must be a float in the range",
        ),
        (
            lambda: make_sparse_shift(1),
            r"The 'n_samples' parameter of make_sparse_shift must be an int in the range \[2",
        ),
    ],
)
def test_datasets_refuse_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()
