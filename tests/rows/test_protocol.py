"""The row interface: every batch estimator fits rows that it knows by the protocol alone.

The rows are in a shuffled list of small chunks (`odd_rows`). Weights, intercept and calibration are those of the same
rows in memory.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from odd_rows import OddRows
from problems import noisy_line
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from threadpoolctl import threadpool_limits

from aucmax import (
    BAM,
    LSSVM,
    SVMOR,
    AUCClassifier,
    GaussianAUC,
    GaussianError,
    KMeansNystroem,
    LogisticDescent,
    PairwiseDescent,
    SVMPerf,
)
from aucmax.losses import FITTED
from aucmax.search import search
from aucmax.solvers import newton, square

ALPHAS = (3.0, 0.3, 0.03)
TOL = {"hinge": 1e-6}  # beyond, its corner is so narrow that rounding leads Newton's method other ways

GIVEN = {
    **{f"{loss}, {solver}": {"loss": loss, "solver": solver} for loss in FITTED for solver in ("moments", "cg")},
    **{f"l1, {solver}": {"penalty": "l1", "solver": solver} for solver in ("moments", "cg")},
    **{f"elastic net, {solver}": {"penalty": "elasticnet", "solver": solver} for solver in ("moments", "cg")},
    **{f"L0, {solver}": {"n_nonzero": 2, "solver": solver} for solver in ("moments", "cg")},
    "squared, as it is": {"standardize": False},
    "logistic, as it is": {"loss": "logistic", "standardize": False},
}
CROSS_VALIDATED = {
    **{loss: {"loss": loss, "alphas": ALPHAS, "cv": 3} for loss in (*FITTED, "auto")},
    "default grid": {"loss": "squared"},
    "default grid, auto": {"cv": 3},
    "squared, cg": {"loss": "squared", "solver": "cg"},
    "logistic, cg": {"loss": "logistic", "solver": "cg", "alphas": ALPHAS, "cv": 3},
    "l1": {"penalty": "l1"},
    "l1, cg": {"penalty": "l1", "solver": "cg"},
    "elastic net": {"penalty": "elasticnet", "cv": 3},
    "L0": {"n_nonzero": [1, 3]},
    "L0, cg, one alpha": {"n_nonzero": [1, 3], "solver": "cg", "alpha": 0.1},
    "stratified folds": {"loss": "squared", "cv": StratifiedKFold(4)},
    "splits that overlap": {"loss": "squared", "cv": ShuffleSplit(4, random_state=0)},
    "stratified folds, auto": {"alphas": ALPHAS, "cv": StratifiedKFold(3)},
    "the best candidate": {"selection": "best"},
    "a blend of columns as they are": {"standardize": False},
}
GROUPED = {
    "groups": {"loss": "squared", "cv": GroupKFold(4)},
    "groups, logistic": {"loss": "logistic", "alphas": ALPHAS, "cv": GroupKFold(3)},
    "stratified groups": {"loss": "squared", "cv": 4},
}
BATCH = (
    BAM(tol=1e-9),
    SVMPerf(C=0.01),
    SVMOR(C=1.0),
    LSSVM(C=1.0),
    GaussianAUC(),
    GaussianAUC("gradient"),
    GaussianError(),
    PairwiseDescent(),
    PairwiseDescent("logistic", alpha=0.1),
    LogisticDescent(alpha=0.3, tol=1e-3),
)


@pytest.fixture(autouse=True)
def one_thread():
    """With problems this small, threads wait for each other."""
    with threadpool_limits(1):
        yield


def every(cases, slow=()):
    return pytest.mark.parametrize(
        "parameters",
        [pytest.param(case, marks=[pytest.mark.slow] * (name in slow)) for name, case in cases.items()],
        ids=cases,
    )


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def data(request):
    """Rows of two classes; weights are whole numbers, some of them 0."""
    X, y = noisy_line(n=160, d=5)
    return X, y, np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if request.param else None


def assert_same_fit(found, expected):
    size = np.abs(expected.coef_).max()
    assert size > 0
    assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8 * size)
    assert_allclose(found.intercept_, expected.intercept_, rtol=1e-8, atol=1e-8)
    assert_allclose(found.calibration_, expected.calibration_, rtol=1e-8)
    assert_array_equal(found.classes_, expected.classes_)
    assert found.n_features_in_ == expected.n_features_in_


def assert_fits_alike(estimator, X, y, weights=None, groups=None):
    """Fit chunks and memory."""
    grouped = {} if groups is None else {"groups": groups}
    expected = clone(estimator).fit(X, y, sample_weight=weights, **grouped)
    found = clone(estimator).fit_rows(OddRows.of(X, y, weights, groups))
    assert_same_fit(found, expected)
    return found, expected


def assert_chooses_alike(found, expected):
    assert found.loss_ == expected.loss_
    if hasattr(expected, "blend_"):
        for name in ("alpha", "share", "spread", "auc"):
            assert_allclose(found.blend_[name], expected.blend_[name], rtol=1e-6)
        assert_array_equal(found.blend_["loss"], expected.blend_["loss"])
    else:
        assert found.alpha_ == pytest.approx(expected.alpha_, rel=1e-9)
    assert found.cv_auc_ == pytest.approx(expected.cv_auc_, abs=1e-12)
    assert_allclose(found.cv_auc_ci_, expected.cv_auc_ci_, rtol=0, atol=1e-6)
    assert found.cv_results_.keys() == expected.cv_results_.keys()
    for name, values in expected.cv_results_.items():
        if name.startswith("split"):
            assert_allclose(found.cv_results_[name], values, rtol=0, atol=1e-12)


@every(GIVEN)
def test_fit_rows_of_odd_rows_with_a_given_alpha(parameters, data):
    assert_fits_alike(AUCClassifier(alpha=0.1, tol=TOL.get(parameters.get("loss"), 1e-10), **parameters), *data)


@pytest.mark.filterwarnings("ignore:The cross-validated AUC is highest for the smallest alpha")
@every(CROSS_VALIDATED, slow=("L0, cg, one alpha", "l1, cg", "l1", "elastic net", "sigmoid", "hinge", "pooled"))
def test_fit_rows_of_odd_rows_cross_validates_as_memory(parameters, data):
    tol = TOL.get(parameters.get("loss"), 1e-10)
    assert_chooses_alike(*assert_fits_alike(AUCClassifier(tol=tol, **parameters), *data))


@every(GROUPED)
def test_fit_rows_of_odd_rows_keeps_groups_together(parameters, data):
    groups = np.random.default_rng(2).integers(0, 30, len(data[1]))
    found, expected = assert_fits_alike(AUCClassifier(tol=1e-10, **parameters), *data, groups)
    assert_chooses_alike(found, expected)
    alone = AUCClassifier(tol=1e-10, **{**parameters, "cv": 4}).fit(*data)
    assert not np.allclose(alone.cv_results_["split0_test_score"], found.cv_results_["split0_test_score"])


@pytest.mark.parametrize("estimator", BATCH, ids=repr)
def test_fit_rows_of_odd_rows_with_batch_algorithms(estimator, data):
    assert_fits_alike(estimator, *data)


@pytest.mark.parametrize("loss", ["squared", "auto", "logistic"])
def test_fit_rows_of_sparse_odd_rows(loss, data):
    X, y, weights = data
    X = sparse.csr_array(X * (np.random.default_rng(3).random(X.shape) < 0.3))
    assert_fits_alike(AUCClassifier(loss, alphas=ALPHAS, cv=3, tol=1e-10), X, y, weights)


@pytest.mark.parametrize(
    "parameters", [{"alpha": 0.1}, {"alpha": 0.1, "loss": "logistic"}, {"loss": "squared"}], ids=str
)
def test_fit_rows_of_odd_rows_with_more_columns_than_rows(parameters):
    """In memory this takes the dual solver, which others do without."""
    X, y = noisy_line(n=40, d=60)
    found, expected = assert_fits_alike(AUCClassifier(tol=1e-10, **parameters), X, y)
    assert found.loss_ == expected.loss_
    assert found.alpha_ == pytest.approx(expected.alpha_, rel=1e-9)


def test_a_sample_is_cross_validated(monkeypatch, data):
    monkeypatch.setattr(search, "ENOUGH_OF_A_CLASS", 0)
    monkeypatch.setattr(search, "ENOUGH_FOR_A_COLUMN", 4)  # 20 rows of each class
    found, expected = assert_fits_alike(AUCClassifier("squared_hinge", alphas=ALPHAS, cv=3, tol=1e-10), *data)
    assert_chooses_alike(found, expected)


def test_fit_rows_takes_feature_names_of_odd_rows(data):
    rows = OddRows.of(*data)
    assert not hasattr(AUCClassifier(alpha=0.1).fit_rows(rows), "feature_names_in_")
    rows.feature_names = list("abcde")
    assert_array_equal(AUCClassifier(alpha=0.1).fit_rows(rows).feature_names_in_, list("abcde"))


@pytest.mark.parametrize("loss", ["squared", "auto", "logistic"])
def test_fit_rows_of_odd_rows_with_the_dual_solver(loss, data):
    X, y = data[:2]
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((len(y), len(y)))])
    clf = AUCClassifier(loss, alphas=ALPHAS, cv=3, tol=1e-9)  # more columns than rows: the dual solver
    found, expected = assert_fits_alike(clf, wide, y)
    assert_chooses_alike(found, expected)


def test_kernel_features_of_odd_rows(data):
    X, y, *_ = data
    kernel = KMeansNystroem(5, random_state=0).fit(X)
    expected = AUCClassifier("squared").fit_rows(kernel.rows(X, y))
    found = AUCClassifier("squared").fit_rows(kernel.rows(OddRows.of(X, y)))
    assert_allclose(found.coef_, expected.coef_, rtol=1e-7)


# Code that reads more than the protocol has fails.


def test_a_solver_that_touches_the_matrix_fails(monkeypatch, data):
    rows = OddRows.of(*data)
    monkeypatch.setattr(square.RowProblem, "solutions", lambda self, alphas, tol: self.rows.X.sum(axis=0))
    with pytest.raises(AttributeError, match="'OddRows' object has no attribute 'X'"):
        AUCClassifier("squared", alpha=0.1, solver="cg").fit_rows(rows)
    monkeypatch.setattr(newton.NewtonProblem, "scores", lambda self, v: self.rows.X @ (v / self.square.scale))
    with pytest.raises(AttributeError, match="'OddRows' object has no attribute 'X'"):
        AUCClassifier("logistic", alpha=0.1).fit_rows(rows)


def test_a_loss_that_takes_a_vector_for_an_array_fails(monkeypatch, data):
    monkeypatch.setattr(newton.NewtonProblem, "start", lambda self, v, alpha: np.abs(self.scores(v)))
    with pytest.raises(TypeError):
        AUCClassifier("logistic", alpha=0.1).fit_rows(OddRows.of(*data))
