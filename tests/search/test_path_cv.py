"""The cross-validated path against the loop that everybody would write."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from aucmax import AUCClassifier, cross_validate_path
from aucmax.rows.folds import deal_folds
from aucmax.rows.memory import MemoryRows
from aucmax.search.path_cv import PathCV, information_criterion
from aucmax.solvers.candidate import Candidate

ALPHAS = [1e2, 1.0, 1e-2, 1e-4]


def scaled(X, weights=None):
    """Return the columns divided by their standard deviations over all rows."""
    return X / np.sqrt(np.average((X - np.average(X, axis=0, weights=weights)) ** 2, axis=0, weights=weights))


def by_hand(X, y, pairs, weights=None, alphas=ALPHAS, **parameters):
    """Fit each alpha on each training set and measure it on the test set."""
    weights = np.ones(len(y)) if weights is None else weights
    aucs = []
    for train, test in pairs:
        fits = [AUCClassifier(alpha=alpha, **parameters).fit(X[train], y[train], weights[train]) for alpha in alphas]
        scores = [fit.decision_function(X[test]) for fit in fits]
        aucs.append([roc_auc_score(y[test], s, sample_weight=weights[test]) for s in scores])
    return aucs


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    "cv",
    [
        StratifiedKFold(4),
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(3, random_state=0),
        StratifiedShuffleSplit(3, train_size=60, test_size=40, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        PredefinedSplit(np.arange(150) % 4 - 1),
        [(np.arange(100), np.arange(100, 150))],
        [(np.arange(150) < 100, np.arange(150) >= 90)],  # masks, and test rows among the training rows
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_cross_validate_path_equals_a_loop_of_fits(cv, standardize):
    X, y = noisy_line(150, 6)
    weights = np.random.default_rng(0).random(len(y))
    pairs = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    path = cross_validate_path(X, y, alphas=ALPHAS, cv=cv, standardize=standardize, sample_weight=weights)
    expected = by_hand(scaled(X, weights) if standardize else X, y, pairs, weights, standardize=False)
    assert_allclose(path.auc, expected, rtol=0, atol=1e-12)
    assert path.best_index == path.auc.mean(axis=0).argmax()
    assert path.best.alpha == ALPHAS[path.best_index]


@pytest.mark.parametrize("shape", [(150, 6), (40, 60), (150, 20)])
def test_cross_validate_path_of_sparse_and_dense_rows(shape):
    X, y = noisy_line(*shape)
    X = X * (np.random.default_rng(0).random(shape) < 0.3)
    folds = deal_folds(y == 1, np.ones(len(y), dtype=bool), 5)
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    expected = by_hand(scaled(X), y, pairs, solver="moments", standardize=False)
    for data in (X, sparse.csr_array(X)):
        path = cross_validate_path(data, y, alphas=ALPHAS)
        assert_allclose(path.auc[:5], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("cv", [StratifiedKFold(4), ShuffleSplit(3, random_state=0)], ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.3}, {"n_nonzero": 3}])
@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_fits_equal_a_loop_of_fits(monkeypatch, penalty, cv, by_rows, standardize):
    penalty = dict(penalty)
    X, y = noisy_line(150, 8)
    weights = np.random.default_rng(0).random(len(y))
    alphas = [0.3, 0.1, 0.03, 0.01]
    if by_rows:
        monkeypatch.setattr("aucmax.search.training.MAX_MOMENTS", 0)
    path = cross_validate_path(X, y, alphas=alphas, cv=cv, standardize=standardize, sample_weight=weights, **penalty)
    Z = scaled(X, weights) if standardize and not by_rows else X  # with many columns, each training set scales its own
    penalty["standardize"] = standardize and by_rows
    expected = by_hand(Z, y, list(cv.split(X, y)), weights, alphas=alphas, **penalty)
    # Weights that are exact to PENALISED_TOL: scores that nearly tie may change places.
    assert_allclose(path.auc, expected, rtol=0, atol=1e-12 if "n_nonzero" in penalty else 2e-3)
    assert path.best.n_nonzero == penalty.get("n_nonzero")


def test_every_number_of_nonzeros_with_every_alpha():
    X, y = noisy_line(150, 8)
    path = cross_validate_path(X, y, alphas=ALPHAS, n_nonzero=[5, 1, 3, 5])
    numbers = np.array([candidate.n_nonzero for candidate in path.candidates])
    assert_array_equal(numbers, np.repeat([1, 3, 5], 4))
    assert_array_equal(path.alphas, np.tile(ALPHAS, 3))
    for k in (1, 3, 5):
        alone = cross_validate_path(X, y, alphas=ALPHAS, n_nonzero=k)
        assert_array_equal(path.auc[:, numbers == k], alone.auc)
    assert path.best_index == path.auc.mean(axis=0).argmax()
    assert path.best.n_nonzero == numbers[path.best_index]
    table = path.results()
    assert_array_equal(table["param_n_nonzero"], numbers)
    assert table["params"][5] == {"alpha": ALPHAS[1], "loss": "squared", "standardize": True, "n_nonzero": 3}
    assert "param_n_nonzero" not in cross_validate_path(X, y, alphas=ALPHAS).results()


def test_best_n_nonzero_of_ties_is_the_fewest():
    X = np.repeat(np.r_[np.zeros((10, 1)), np.ones((10, 1))], 3, axis=1)
    path = cross_validate_path(X, X[:, 0].astype(int), alphas=[0.1, 1.0], n_nonzero=[3, 2])
    assert_array_equal(path.auc, 1)
    assert (path.best.n_nonzero, path.best.alpha) == (2, 1.0)


def test_the_information_criterion_is_that_of_the_gaussian_model():
    X, y = noisy_line(n=400, d=8)
    moments = MemoryRows(X, y, np.array([0, 1])).moments()
    # Rows of equal weight in the two classes and an own variance of the residuals: what least squares maximises.
    W = np.zeros((3, 8))
    for k, row in zip((0, 2, 8), W, strict=True):
        row[:k] = np.linalg.lstsq(*_balanced(X[:, :k], y), rcond=None)[0][1:] if k else 0
    n = 4 / sum(1 / np.bincount(y))
    values = []
    for k, w in zip((0, 2, 8), W, strict=True):
        A, b = _balanced(X, y)
        offset = A[:, 0] @ (b - A[:, 1:] @ w) / (A[:, 0] @ A[:, 0])
        share = np.sum((b - A @ np.r_[offset, w]) ** 2) / np.sum(b**2)
        values.append(n * np.log(share) + 2 * n * k / (n - k - 1))
    assert_allclose(information_criterion(moments, W), values, rtol=1e-9, atol=1e-9)
    assert information_criterion(MemoryRows(X[:9], y[:9], np.array([0, 1])).moments(), W)[2] == np.inf


def _balanced(X, y):
    """The least squares problem of labels 1 and -1, classes of the same weight, with an offset."""
    root = np.sqrt(np.where(y == 1, 1 / np.sum(y == 1), 1 / np.sum(y == 0)))
    return root[:, None] * np.column_stack([np.ones(len(y)), X]), root * (2 * y - 1)


def test_alphas_follow_the_scale_of_the_data():
    X, y = noisy_line(150, 6)
    small, large = cross_validate_path(X, y, standardize=False), cross_validate_path(1e5 * X, y, standardize=False)
    assert_allclose(large.alphas, 1e10 * small.alphas, rtol=1e-9)
    assert_allclose(large.auc, small.auc, rtol=0, atol=1e-12)
    assert_allclose(cross_validate_path(1e5 * X, y).alphas, cross_validate_path(X, y).alphas, rtol=1e-9)
    assert np.all(np.diff(small.alphas) < 0)
    # At both ends of the grid nothing changes any more: w is parallel to delta, or unregularised.
    means = small.auc.mean(axis=0)
    assert_allclose(means[0], means[1], atol=2e-3)
    assert_allclose(means[-1], means[-2], atol=1e-3)


def test_best_alpha_of_ties_is_the_largest():
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1))]
    path = cross_validate_path(X, X[:, 0].astype(int), alphas=[0.1, 10.0, 1.0])
    assert_array_equal(path.auc, 1)
    assert path.best.alpha == 10.0
    assert_array_equal(path.results()["rank_test_score"], 1)


def test_cross_validate_path_takes_labels_in_a_column():
    X, y = noisy_line(150, 6)
    assert_array_equal(cross_validate_path(X, y[:, None]).auc, cross_validate_path(X, y).auc)


def test_cross_validate_path_refuses_bad_input():
    X, y = noisy_line(150, 6)
    with pytest.raises(
        ValueError, match=r"^alphas must be a sequence of nonnegative numbers, got array\(\[-1\.\]\)\.$"
    ):
        cross_validate_path(X, y, alphas=[-1.0])
    with pytest.raises(ValueError, match=r"Input X contains NaN\."):
        cross_validate_path(np.where(X > 5, np.nan, X), y)
    with pytest.raises(ValueError, match=r"^loss must be one of squared, .* smooth_auc, got 'auto'\.$"):
        cross_validate_path(X, y, loss="auto")
    with pytest.raises(ValueError, match=r"^cv must be at least 2 folds, got 1\.$"):
        cross_validate_path(X, y, cv=1)
    with pytest.raises(ValueError, match=r"^penalty must be one of l2, l1 and elasticnet, got 'l3'\.$"):
        cross_validate_path(X, y, penalty="l3")
    with pytest.raises(ValueError, match=r"^l1_ratio must be above 0 and at most 1, got 0\.$"):
        cross_validate_path(X, y, penalty="elasticnet", l1_ratio=0)
    with pytest.raises(ValueError, match=r"^n_nonzero must be between 1 and the number of columns, 6, got 7\.$"):
        cross_validate_path(X, y, n_nonzero=[1, 7])


def test_aucs_that_differ_by_less_than_a_millionth_are_a_tie():
    auc = np.array([[0.8, 0.9 - 2e-6, 0.9 - 5e-7, 0.9, 0.9]])
    assert PathCV([Candidate(alpha) for alpha in (5.0, 4.0, 3.0, 2.0, 1.0)], auc).best.alpha == 3.0
