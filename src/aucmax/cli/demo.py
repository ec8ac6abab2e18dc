"""A real data set that needs no download: which of 1,797 scanned digits is an 8."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..models.model_file import ModelFile, versions

if TYPE_CHECKING:
    from ..compare.comparison import Comparison, Fit
    from ..report.evaluation import Evaluation

METHODS = (
    "AUCClassifier",
    "LogisticRegression",
    "LinearSVC",
    "RidgeClassifier",
    "LinearDiscriminantAnalysis",
    "GaussianAUC",
)
N_SPLITS, N_REPEATS = 5, 2


def run_demo(n_jobs: int, on_progress: Callable[[Fit], None]) -> tuple[ModelFile, Evaluation, Any, Comparison]:
    """Fit half of the rows, evaluate on the other half, and compare methods on folds of all of them.

    Returns
    -------
    file : ModelFile
        The model.
    evaluation : Evaluation
        On the half it has not seen.
    scores : pair of ndarray
        Of the negatives and the positives there.
    comparison : Comparison
        With scikit-learn's linear classifiers, each tuned and standardised.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from ..classifier import AUCClassifier
    from ..compare.comparison import compare
    from ..files.labels import Classes
    from ..report.evaluation import evaluate

    digits = load_digits(as_frame=False)
    y = digits.target == 8
    X_train, X_test, y_train, y_test = train_test_split(digits.data, y, test_size=0.5, stratify=y, random_state=0)
    clf = AUCClassifier().fit(X_train, y_train)
    clf.feature_names_in_ = digits.feature_names
    training = {"rows": len(y_train), "positive rows": int(y_train.sum())}
    spreads = X_train.std(axis=0)
    notes = {"training": training, "classes": Classes("other", "8")._asdict(), "spreads": spreads}
    scores = X_test @ clf.coef_[0] + clf.intercept_[0]

    comparison = compare(
        digits.data,
        y,
        METHODS,
        data="digits",
        n_splits=N_SPLITS,
        n_repeats=N_REPEATS,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )
    file = ModelFile(clf, notes, versions())
    return file, evaluate(y_test, scores), (scores[~y_test], scores[y_test]), comparison
