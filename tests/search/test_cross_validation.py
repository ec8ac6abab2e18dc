"""The one-pass cross-validated path against the loop that everybody would write."""

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
from aucmax.rows.folds import deal, deal_folds, permute
from aucmax.rows.memory import MemoryRows
from aucmax.search.cross_validation import PathCV, information_criterion
from aucmax.search.rounds import make_rounds
from aucmax.solvers.candidate import Candidate

ALPHAS = [1e2, 1.0, 1e-2, 1e-4]


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
    assert_allclose(path.auc, by_hand(X, y, pairs, weights, standardize=standardize), rtol=0, atol=1e-12)
    assert path.best_index == path.auc.mean(axis=0).argmax()
    assert path.best.alpha == ALPHAS[path.best_index]


@pytest.mark.parametrize(("solver", "shape"), [("moments", (150, 6)), ("dual", (40, 60)), ("cg", (150, 20))])
def test_cross_validate_path_by_every_solver_sparse_and_dense(solver, shape):
    X, y = noisy_line(*shape)
    X = X * (np.random.default_rng(0).random(shape) < 0.3)
    folds = deal_folds(y == 1, np.ones(len(y), dtype=bool), 5)
    pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    expected = by_hand(X, y, pairs, solver="moments")
    for data in (X, sparse.csr_array(X)):
        path = cross_validate_path(data, y, alphas=ALPHAS, solver=solver)
        # Conjugate gradients stop at CV_TOL: scores that nearly tie may change places.
        assert_allclose(path.auc[:5], expected, rtol=0, atol=0.02 if solver == "cg" else 1e-12)


@pytest.mark.parametrize("solver", ["moments", "dual"])
@pytest.mark.parametrize("cv", [StratifiedKFold(4), ShuffleSplit(3, random_state=0)], ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("penalty", [{"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.3}, {"n_nonzero": 3}])
def test_sparse_fits_equal_a_loop_of_fits(penalty, cv, solver):
    X, y = noisy_line(150, 8)
    weights = np.random.default_rng(0).random(len(y))
    alphas = [0.3, 0.1, 0.03, 0.01]
    path = cross_validate_path(X, y, alphas=alphas, cv=cv, solver=solver, sample_weight=weights, **penalty)
    expected = by_hand(X, y, list(cv.split(X, y)), weights, alphas=alphas, solver=solver, **penalty)
    # Weights that are exact to CV_TOL: scores that nearly tie may change places.
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
    assert table["params"][5] == {"alpha": ALPHAS[1], "n_nonzero": 3}
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
    assert_allclose(small.auc[:, 0], small.auc[:, 1], atol=5e-3)
    assert_allclose(small.auc[:, -1], small.auc[:, -2], atol=1e-3)


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_are_dealt_in_rounds(n_folds):
    positive = np.random.default_rng(0).random(3000) < 0.3
    everything = np.ones(3000, dtype=bool)
    folds = deal_folds(positive, everything, n_folds)
    for members in (positive, ~positive):
        rounds = folds[members][: members.sum() // n_folds * n_folds].reshape(-1, n_folds)
        assert_array_equal(np.sort(rounds, axis=1), np.tile(np.arange(n_folds), (len(rounds), 1)))
    usable = np.random.default_rng(1).random(3000) < 0.8
    assert_array_equal(
        deal_folds(positive, usable, n_folds)[usable], deal_folds(positive[usable], everything[usable], n_folds)
    )


@pytest.mark.parametrize("period", [2, 3, 5, 7, 8, 10, 13, 20, 24, 60])
def test_neither_sorted_nor_periodic_rows_fill_a_fold(period):
    n = 6000
    folds = deal_folds(np.arange(n) >= n // 2, np.ones(n, dtype=bool), 5)
    for kind in (np.arange(n) % period, np.arange(n) * period // n):
        for value in range(period):
            share = np.bincount(folds[kind == value], minlength=5) / np.sum(kind == value)
            assert share.max() < 0.4, f"{share} of the rows of kind {value}"


def test_best_alpha_of_ties_is_the_largest():
    X = np.r_[np.zeros((10, 1)), np.ones((10, 1))]
    path = cross_validate_path(X, X[:, 0].astype(int), alphas=[0.1, 10.0, 1.0])
    assert_array_equal(path.auc, 1)
    assert path.best.alpha == 10.0
    assert_array_equal(path.results()["rank_test_score"], 1)


def test_folds_of_one_class_are_refused():
    X, y = noisy_line(150, 6)
    order = np.argsort(y, kind="stable")
    with pytest.raises(
        ValueError, match=r"^The test rows of split 0 of cv are not of two classes, .* stratified folds\.$"
    ):
        cross_validate_path(X[order], y[order], cv=KFold(3))
    with pytest.raises(ValueError, match=r"^The training rows of split 0 of cv are not of two classes"):
        make_rounds([(np.flatnonzero(y == 0), np.arange(len(y)))], MemoryRows(X, y, np.array([0, 1])))


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
    with pytest.raises(ValueError, match=r"^solver must be one of auto, moments, dual and cg, got 'magic'\.$"):
        cross_validate_path(X, y, solver="magic")
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


@pytest.mark.parametrize("count", [1, 2, 3, 5, 64, 65, 1000])
def test_permute_permutes_otherwise_for_each_number(count):
    places = [permute(np.arange(count), count, number) for number in range(1, 6)]
    for place in places:
        assert np.array_equal(np.sort(place), np.arange(count))
    if count == 1000:
        shuffled = np.corrcoef([np.arange(count), *places])
        assert np.abs(shuffled - np.eye(6)).max() < 0.12
        together = [np.mean(np.diff(place % 5) == 0) for place in places]  # neighbours may share a fold
        assert 0.15 < np.mean(together) < 0.25


def test_a_file_is_dealt_block_by_block_as_all_rows_are():
    rng = np.random.default_rng(0)
    positive = rng.random(500) < 0.3
    counts = np.array([np.sum(~positive), np.sum(positive)])
    for number in (0, 1, 7):
        whole = deal_folds(positive, np.ones(500, dtype=bool), 5, number)
        for side in (positive, ~positive):
            assert np.ptp(np.bincount(whole[side], minlength=5)) <= 1
        seen, parts = np.zeros(2, dtype=int), []
        for block in np.array_split(positive, [7, 8, 100, 330]):
            folds = np.empty(len(block), dtype=int)
            for c, side in enumerate((~block, block)):
                folds[side] = deal(seen[c] + np.arange(side.sum()), counts[c], 5, number)
                seen[c] += side.sum()
            parts.append(folds)
        assert np.array_equal(np.concatenate(parts), whole)
