"""Whether the cross-validated AUC can be quoted: on shuffled labels, and beside nested folds.

    python -m aucmax_studies honest [--draws 200] [--repeats 10] [--write docs/measured/honest.md]

With shuffled labels the AUC of every model is one half on new rows. `cv_auc_` should have this mean, and its 95%
interval should hold one half in 95% of the draws. On real data `cv_auc_` is compared with nested cross-validation: the
mean AUC on the test rows of fits to the training rows of five folds (stratified, shuffled, `--repeats` times).

Where two columns act together, a fit to four fifths of few rows is clearly worse than the fit to all of them. Then
`cv_auc_` errs low: it is compared with the AUC of the model on 5,000 new rows.
"""

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, TableClassifier

from ..common.markdown import replace_block
from ..common.study_data import available, load

REAL = ("colon-cancer", "sonar", "diabetes", "vowel", "german", "svmguide3")


def shuffled(n: int, n_positive: int, rng: np.random.Generator) -> np.ndarray:
    """Return labels that know nothing, as a mask."""
    return rng.permutation(n) < n_positive


def few_positives(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows and labels: 30 positives in 1,000 rows of 8 columns."""
    return rng.standard_normal((1000, 8)), shuffled(1000, 30, rng)


def wide(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows and labels: 30 positives in 100 rows of 500 columns."""
    return rng.standard_normal((100, 500)), shuffled(100, 30, rng)


def of_many_scales(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows and labels: 50 positives in 150 rows of 8 columns, whose deviations are 10^-4 to 10^3."""
    return rng.standard_normal((150, 8)) * 10.0 ** np.arange(-4, 4), shuffled(150, 50, rng)


def real_columns(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows and labels: 50 positives in 200 rows of the breast cancer data, whose columns are correlated."""
    X = load_breast_cancer().data
    return X[rng.permutation(len(X))[:200]], shuffled(200, 50, rng)


def grouped(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return rows, labels and groups: 600 rows in 120 groups, which share a label and most of their columns."""
    groups = np.repeat(np.arange(120), 5)
    X = 2 * rng.standard_normal((120, 8))[groups] + rng.standard_normal((600, 8))
    return X, shuffled(120, 36, rng)[groups], groups


def numbers(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a table and labels: 50 positives in 300 rows of 8 numbers."""
    return pd.DataFrame(rng.standard_normal((300, 8)), columns=list("abcdefgh")), shuffled(300, 50, rng)


def table(n_levels: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a table and labels: 30 positives in 1,000 rows of a text column and 4 of numbers."""
    frame = pd.DataFrame(rng.standard_normal((1000, 4)), columns=list("abcd"))
    frame["text"] = [f"level {k}" for k in rng.integers(n_levels, size=1000)]
    return frame, shuffled(1000, 30, rng)


def fit(X: Any, y: np.ndarray, groups: Any = None) -> AUCClassifier:
    """Return the default, fitted to rows."""
    return AUCClassifier().fit(X, y, groups=groups)


def fit_smooth_auc(X: Any, y: np.ndarray) -> AUCClassifier:
    """Return the smooth AUC by name, fitted to rows."""
    return AUCClassifier("smooth_auc").fit(X, y)


def table_of_groups(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return a table, labels and groups: 600 rows of 120 patients, a text column with the ward of each, 2 numbers."""
    X, y, groups = grouped(rng)
    wards = rng.integers(60, size=120)[groups]
    return pd.DataFrame(X[:, :2], columns=list("ab")).assign(ward=[f"ward {k}" for k in wards]), y, groups


def fit_table(frame: Any, y: np.ndarray, groups: Any = None) -> TableClassifier:
    """Return the ladder, fitted to a table."""
    return TableClassifier().fit(frame, y, groups=groups)


SETTINGS: dict[str, tuple[Callable[..., tuple[Any, ...]], Callable[..., Any]]] = {
    "few positives: 30 in 1,000 rows, 8 columns": (few_positives, fit),
    "wide: 30 positives in 100 rows, 500 columns": (wide, fit),
    "scales of 10^-4 to 10^3: 50 positives in 150 rows, 8 columns": (of_many_scales, fit),
    "columns of breast cancer: 50 positives in 200 rows": (real_columns, fit),
    "smooth_auc, columns of breast cancer: 50 positives in 200 rows": (real_columns, fit_smooth_auc),
    "groups: 600 rows in 120 groups, 36 of them positive, 8 columns": (grouped, fit),
    "table: 8 numbers, 50 positives in 300 rows": (numbers, fit_table),
    "table: text of 30 levels and 4 numbers, 30 positives in 1,000 rows": (lambda rng: table(30, rng), fit_table),
    "table: text of 100 levels and 4 numbers, 30 positives in 1,000 rows": (lambda rng: table(100, rng), fit_table),
    "table: 600 rows of 120 patients, 36 of them positive, wards as text": (table_of_groups, fit_table),
}


def draw(setting: str, seed: int) -> tuple[float, ...]:
    """Return the AUC that was chosen by, `cv_auc_` and the ends of its interval, for shuffled labels."""
    make, fit_to = SETTINGS[setting]
    clf = fit_to(*make(np.random.default_rng(seed)))
    known = clf.ladder_["auc"] if hasattr(clf, "ladder_") else clf.cv_results_["mean_test_score"]
    return float(known.max()), clf.cv_auc_, *clf.cv_auc_ci_.tolist()


def summarise(draws: np.ndarray) -> tuple[float, float, float, float]:
    """Return the means of the AUC chosen by and of `cv_auc_`, the standard error of the latter, and the coverage."""
    chosen, auc, low, high = draws.T
    covered = (low <= 0.5) & (high >= 0.5)
    return chosen.mean(), auc.mean(), auc.std(ddof=1) / np.sqrt(len(auc)), covered.mean()


def shuffled_lines(n_draws: int) -> Iterator[str]:
    """Yield the table of shuffled labels."""
    yield f"{n_draws} draws of each setting; ± is one standard error of the mean:\n"
    yield "| shuffled labels | chosen by | cross-validated | standard errors from 0.5 | intervals that hold 0.5 |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS:
        chosen, auc, error, covered = summarise(np.array([draw(setting, seed) for seed in range(n_draws)]))
        yield f"| {setting} | {chosen:.4f} | {auc:.4f} ± {error:.4f} | {(auc - 0.5) / error:+.1f} | {covered:.1%} |"


def two_together(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of 6 numbers and labels, where the product of two columns is all that matters."""
    X = rng.standard_normal((n, 6))
    return pd.DataFrame(X, columns=list("abcdef")), rng.random(n) < expit(1.2 * X[:, 0] * X[:, 1])


def together_lines(n_draws: int) -> Iterator[str]:
    """Yield the table of columns that act together."""
    yield f"Two of 6 columns act together; the AUC on 5,000 new rows is the mean over {n_draws} models:\n"
    yield "| rows | cross-validated | on new rows | intervals that hold it |"
    yield "|---|---|---|---|"
    for n in (300, 600, 1200):
        found = []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            clf, (X, y) = TableClassifier().fit(*two_together(n, rng)), two_together(5000, rng)
            auc, (low, high) = clf.score(X, y), clf.cv_auc_ci_
            found.append((clf.cv_auc_, auc, low <= auc <= high))
        cv, new, covered = np.mean(found, axis=0)
        yield f"| {n:,} | {cv:.4f} | {new:.4f} | {covered:.1%} |"


def nested_lines(repeats: int) -> Iterator[str]:
    """Yield the table of real data, if its files are there."""
    names = [name for name in REAL if name in available()]
    if not names:
        return
    yield f"Real data; nested is the mean over five folds, {repeats} times:\n"
    yield "| data | chosen by | cross-validated | nested | difference | standard errors |"
    yield "|---|---|---|---|---|---|"
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    for name in names:
        X, y = load(name)
        clf = AUCClassifier().fit(X, y)
        nested = cross_val_score(AUCClassifier(), X, y, cv=folds).mean()
        low, high = clf.cv_auc_ci_
        freedom = np.bincount(y).min() - 5  # the interval is one of Student's t, with a mean for each fold
        gap, error = clf.cv_auc_ - nested, (clf.cv_auc_ - low) / stdtrit(freedom, 0.975)
        chosen = clf.cv_results_["mean_test_score"].max()
        yield (
            f"| {name} | {chosen:.4f} | {clf.cv_auc_:.4f} ({low:.4f} to {high:.4f}) | {nested:.4f} | {gap:+.4f} | "
            f"{gap / error:+.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200, help="of each setting")
    parser.add_argument("--repeats", type=int, default=10, help="of the outer folds on real data")
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    parts = (
        shuffled_lines(arguments.draws),
        [""],
        together_lines(arguments.draws),
        [""],
        nested_lines(arguments.repeats),
    )
    with threadpool_limits(1):
        for line in itertools.chain(*parts):
            found.append(line)
            print(line, file=sys.stderr, flush=True)
    text = "\n".join(found).strip()
    if arguments.write:
        replace_block(arguments.write, "make study NAME=honest", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
