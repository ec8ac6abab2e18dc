"""The generated data sets: the way of training that each docstring calls right has a higher AUC than another one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, roc_auc
from aucmax_studies.common.generated import GENERATED
from aucmax_studies.common.study_data import load, split


def pairwise(loss="squared", alpha=1e-6):
    return AUCClassifier(loss=loss, alpha=alpha)


def logistic(**options):
    return LogisticRegression(solver="liblinear", **options)


def pooled():
    return LinearDiscriminantAnalysis(solver="lsqr")


def standardised(ridge):
    return make_pipeline(StandardScaler(with_mean=False), ridge)


# Beside the right way, others with the best of their parameters.
RIGHT_AND_WRONG = {
    "made-equal-gaussians": (pooled(), [pairwise()]),
    "made-few-columns-matter": (logistic(l1_ratio=1, C=0.1), [logistic(C=C) for C in (0.001, 0.01, 0.1)]),
    "made-heavy-tails": (pairwise("squared_hinge"), [pairwise(), pairwise(alpha=0.1)]),
    "made-logistic-model": (logistic(C=1e4), [pairwise(), pairwise("squared_hinge")]),
    "made-mislabelled": (pairwise("sigmoid", 1e-4), [pairwise("squared_hinge"), pairwise(), logistic(C=1e4)]),
    "made-rare-levels": (Ridge(5.0), [standardised(Ridge(alpha)) for alpha in (1.0, 100.0, 1e3, 1e4)]),
    "made-rare-positives": (pairwise(alpha=10), [pairwise(), pairwise(alpha=0.1)]),
    "made-unequal-gaussians": (pairwise(), [pooled(), logistic(C=1e4)]),
    "made-wide-correlated": (pairwise(alpha=10), [pairwise(alpha=0.01), pairwise(alpha=0.1)]),
}


def mean_auc(estimator, X, y):
    aucs = []
    for train, test in (split(y, number) for number in range(4)):
        fitted = estimator.fit(X[train], y[train])
        scores = getattr(fitted, "decision_function", fitted.predict)(X[test])
        aucs.append(roc_auc(y[test], scores))
    return np.mean(aucs)


@pytest.mark.parametrize("name", GENERATED)
def test_the_right_way_is_better(name):
    X, y = load(name)
    right, others = RIGHT_AND_WRONG[name]
    assert mean_auc(right, X, y) > max(mean_auc(other, X, y) for other in others) + 0.001


@pytest.mark.parametrize("name", GENERATED)
def test_the_rows_are_the_same_at_each_call(name):
    X, y = load(name)
    again, labels = load(name)
    assert np.array_equal(y, labels)
    assert set(y) == {0, 1}
    assert X.dtype == np.float64
    assert abs(X - again).nnz == 0 if sparse.issparse(X) else np.array_equal(X, again)
    assert GENERATED[name].__doc__.partition("\n")[0].endswith(("is right.", "are right."))
