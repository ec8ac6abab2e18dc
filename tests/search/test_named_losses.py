"""Losses other than the square one in cross-validation: AUCs of the fits to each fold, and samples of many rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import shifted_class
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifier, cross_validate_path

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
        # The folds are trained coarsely: scores that nearly tie may change places, and the sigmoid may end elsewhere.
        assert_allclose(path.auc[k], expected, atol=0.02 if loss == "sigmoid" else 1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_does_not_change_the_base_rate(monkeypatch, weighted):
    """Probabilities are those of all rows, although the sample has as many of either class."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    X = rng.standard_normal((4000, 3)) + y[:, None]
    weights = np.where(X[:, 2] > 0, 2.0, 1.0) if weighted else None
    everything = AUCClassifier("squared_hinge", alphas=[0.1, 0.01]).fit(X, y, weights)
    monkeypatch.setattr("aucmax.search.search.ENOUGH_OF_A_CLASS", 300)
    sample = AUCClassifier("squared_hinge", alphas=[0.1, 0.01]).fit(X, y, weights)
    assert_allclose(sample.predict_proba(X)[:, 1], everything.predict_proba(X)[:, 1], atol=0.05)
    average = np.average(sample.predict_proba(X)[:, 1], weights=weights)
    assert average == pytest.approx(np.average(y, weights=weights), abs=0.01)
