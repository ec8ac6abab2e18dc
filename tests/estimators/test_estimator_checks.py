"""scikit-learn's own contract, in full, for every public estimator."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import aucmax

ESTIMATORS = [
    value
    for name in aucmax.__all__
    if isinstance(value := getattr(aucmax, name), type) and issubclass(value, BaseEstimator)
]
assert ESTIMATORS


@pytest.mark.filterwarnings("ignore:The rarer class has only:UserWarning")
@pytest.mark.filterwarnings("ignore:n_components=400 is more than:UserWarning")
@parametrize_with_checks(
    [
        *(estimator() for estimator in ESTIMATORS),
        *(aucmax.AUCClassifier(alpha=0.1, solver=solver, tol=1e-12) for solver in ("moments", "dual", "cg")),
        aucmax.AUCClassifier(standardize=False),
        aucmax.AUCClassifier(penalty="l1"),
        aucmax.AUCClassifier(penalty="l1", alpha=0.01, solver="cg", tol=1e-12),
        aucmax.AUCClassifier(penalty="elasticnet", alpha=0.01),
        aucmax.AUCClassifier(n_nonzero=1),
        aucmax.AUCClassifier(n_nonzero=1, alpha=0.1, solver="dual"),
        aucmax.KMeansNystroem(5),
    ]
)
def test_estimator_check(estimator, check):
    check(estimator)
