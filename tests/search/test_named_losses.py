"""Losses other than the square one in cross-validation: AUCs of the fits to each fold, and samples of many rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import shifted_class
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifier, cross_validate_path
from aucmax.rows.memory import MemoryRows
from aucmax.search import cross_validation as model_selection

every_loss = pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "exponential", "hinge", "sigmoid"])


@every_loss
def test_newton_cross_validation_equals_a_loop_of_fits(loss):
    X, y = shifted_class(n=200)
    alphas, cv = [1.0, 0.1, 0.01], StratifiedKFold(3)
    path = cross_validate_path(X, y, loss=loss, alphas=alphas, cv=cv)
    for k, (train, test) in enumerate(cv.split(X, y)):
        expected = [
            AUCClassifier(loss, alpha=alpha).fit(X[train], y[train]).score(X[test], y[test]) for alpha in alphas
        ]
        # The path stops at CV_TOL: scores that nearly tie may change places, and the sigmoid may end in another dip.
        assert_allclose(path.auc[k], expected, atol=0.02 if loss == "sigmoid" else 5e-3)


def test_many_rows_are_cross_validated_on_some(monkeypatch):
    X, y = shifted_class(n=1000)
    monkeypatch.setattr(model_selection, "ENOUGH_OF_A_CLASS", 100)
    clf = AUCClassifier("squared_hinge", alphas=[1.0, 0.1]).fit(X, y)
    sample = MemoryRows(X, y, np.array([0, 1])).sample(100)
    assert_array_equal(np.bincount(sample.y), [100, 100])
    assert len(np.unique(sample.X[:, 0])) == 200
    expected = AUCClassifier("squared_hinge", alphas=[1.0, 0.1]).fit(sample.X, sample.y)
    assert_allclose(clf.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], rtol=1e-12)
    assert_allclose(clf.coef_, AUCClassifier("squared_hinge", alpha=clf.alpha_).fit(X, y).coef_, rtol=1e-4)
    # The square loss costs no more on all of them, and splits that were given mean the rows that were given.
    everything = AUCClassifier("squared", alphas=[1.0, 0.1]).fit(X, y)
    monkeypatch.setattr(model_selection, "ENOUGH_OF_A_CLASS", 10**6)
    assert_allclose(
        AUCClassifier("squared", alphas=[1.0, 0.1]).fit(X, y).cv_results_["mean_test_score"],
        everything.cv_results_["mean_test_score"],
    )
    monkeypatch.setattr(model_selection, "ENOUGH_OF_A_CLASS", 100)
    splits = AUCClassifier("squared_hinge", alphas=[1.0, 0.1], cv=StratifiedKFold(5)).fit(X, y)
    assert not np.allclose(splits.cv_results_["mean_test_score"], clf.cv_results_["mean_test_score"])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_does_not_change_the_base_rate(monkeypatch, weighted):
    """Probabilities are those of all rows, although the sample has as many of either class."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    X = rng.standard_normal((4000, 3)) + y[:, None]
    weights = np.where(X[:, 2] > 0, 2.0, 1.0) if weighted else None
    everything = AUCClassifier("squared_hinge", alphas=[0.1, 0.01]).fit(X, y, weights)
    monkeypatch.setattr(model_selection, "ENOUGH_OF_A_CLASS", 300)
    sample = AUCClassifier("squared_hinge", alphas=[0.1, 0.01]).fit(X, y, weights)
    assert_allclose(sample.predict_proba(X)[:, 1], everything.predict_proba(X)[:, 1], atol=0.05)
    average = np.average(sample.predict_proba(X)[:, 1], weights=weights)
    assert average == pytest.approx(np.average(y, weights=weights), abs=0.01)
