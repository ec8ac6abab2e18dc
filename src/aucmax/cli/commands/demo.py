"""``aucmax demo``: find the eights among 1,797 scanned digits, a real data set that needs no download."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ...classifier import AUCClassifier
from ...compare.comparison import Comparison, SplitResult, compare
from ...files.labels import Classes
from ...models.model_file import ModelFile, versions
from ...report.evaluation import Evaluation
from ...report.html import write_page
from .. import options
from ..checks import check_outputs
from ..console import Console, on_fit
from ..display import fit_report, headline, show_comparison, show_evaluation, wrote
from ..score import evaluate_scores

METHODS = (
    "AUCClassifier",
    "LogisticRegression",
    "LinearSVC",
    "RidgeClassifier",
    "LinearDiscriminantAnalysis",
    "GaussianAUC",
)
DATA = "scikit-learn's digits"
N_SPLITS, N_REPEATS = 5, 2


def demo(
    output: Annotated[Path, options.output("The report to write.", "FILE", "--output", "-o")] = Path(
        "aucmax-demo.html"
    ),
    n_jobs: options.Jobs = 1,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Find the eights among scanned digits, compare with scikit-learn's classifiers, and write a report."""
    check_outputs({"--output": output}, force, [])

    console = Console(quiet, as_json)
    with console.progress() as bar:
        on_progress = on_fit(bar, len(METHODS) * N_SPLITS * N_REPEATS)
        file, evaluation, scores, comparison = find_eights(n_jobs, on_progress)
    made = fit_report(file, DATA, evaluation, scores, "test")
    write_page(output, made._replace(title="Which digit is an 8?", comparison=comparison))
    values = {
        "report": str(output),
        "test": {"data": DATA, **headline(evaluation)},
        "comparisons": [comparison.to_dict()],
    }
    console.summary(values, *show_evaluation(file, evaluation), *show_comparison(comparison), *wrote(output))


def find_eights(
    n_jobs: int, on_progress: Callable[[SplitResult], None]
) -> tuple[ModelFile, Evaluation, Any, Comparison]:
    """Fit half of the rows, evaluate on the other half, and compare methods on folds of all rows.

    The comparison is with scikit-learn's linear classifiers, each tuned, on standardised columns. The scores are of
    the negatives and of the positives of the other half.
    """
    digits = load_digits(as_frame=False)
    y = digits.target == 8
    X_train, X_test, y_train, y_test = train_test_split(digits.data, y, test_size=0.5, stratify=y, random_state=0)
    clf = AUCClassifier().fit(X_train, y_train)
    clf.feature_names_in_ = digits.feature_names
    training = {"n_samples": len(y_train), "n_positive": int(y_train.sum())}
    notes = {"training": training, "classes": Classes("other", "8")._asdict(), "spreads": X_train.std(axis=0)}
    scores = X_test @ clf.coef_[0] + clf.intercept_[0]
    comparison = compare(
        digits.data,
        y,
        METHODS,
        data=DATA,
        n_splits=N_SPLITS,
        n_repeats=N_REPEATS,
        n_jobs=n_jobs,
        on_progress=on_progress,
    )
    file = ModelFile(clf, notes, versions())
    return file, *evaluate_scores(file, scores, y_test), comparison
