"""Train on a real data set that ships with scikit-learn and compare with its linear classifiers.

The task: find the eights among 1,797 scanned digits, one row in ten. Every model sees the same half of the rows,
chooses its regularisation there, and is judged by its AUC on the other half. The interval is DeLong's, the last
column the p-value of his test that the model and AUCClassifier have the same AUC.
"""

import time
import warnings

from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from aucmax import AUCClassifier, compare_auc, roc_auc_ci


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    y = digits == 8
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    models = {
        "AUCClassifier": AUCClassifier(),
        "LogisticRegression": LogisticRegression(),
        "LogisticRegressionCV": LogisticRegressionCV(
            Cs=10, cv=5, scoring="roc_auc", l1_ratios=(0,), use_legacy_attributes=False
        ),
        "LinearSVC": LinearSVC(),
        "RidgeClassifierCV": RidgeClassifierCV(alphas=[10.0**k for k in range(-3, 4)], scoring="roc_auc", cv=5),
        "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(),
    }
    print(f"Which digit is an 8? {len(y_train)} rows to train on, {len(y_test)} to test, {y.mean():.1%} eights")
    print(f"{'':28}{'test AUC':>9}  {'95% interval':16}{'fit':>9}{'p-value':>9}")
    ours = None
    for name, model in models.items():
        # AUCClassifier standardises by itself; the others are given the same advantage.
        model = model if name == "AUCClassifier" else make_pipeline(StandardScaler(), model)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        scores = model.decision_function(X_test)
        auc, low, high, _ = roc_auc_ci(y_test, scores)
        pvalue = "" if ours is None else f"{compare_auc(y_test, ours, scores).pvalue:9.4f}"
        ours = scores if ours is None else ours
        print(f"{name:28}{auc:9.4f}  [{low:.4f}, {high:.4f}]{1000 * seconds:6.0f} ms{pvalue}")


if __name__ == "__main__":
    main()
