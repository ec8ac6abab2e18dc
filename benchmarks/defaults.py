"""The defaults of AUCClassifier beside their alternatives, on real data, with the square loss.

    python benchmarks/defaults.py [--max-rows 20000] [--write docs/defaults.md] [names ...]

Test AUC over five outer folds (shuffled, stratified, seed 0); everything is chosen inside the training part. Of data
sets with more than --max-rows rows a seeded sample is taken, so that everything takes minutes.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from markdown import replace_block
from realdata import available, load
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifier, ClassMoments, roc_auc
from aucmax.data import folds
from aucmax.solvers.square import choose_solver

# All alternatives have the square loss; benchmarks/losses.py compares the losses.
VARIANTS = {
    "default": AUCClassifier("squared"),
    "not standardised": AUCClassifier("squared", standardize=False),
    "one round of folds": AUCClassifier("squared"),
    "contiguous folds": AUCClassifier("squared", cv=StratifiedKFold(5)),
    "3 folds": AUCClassifier("squared", cv=3),
    "10 folds": AUCClassifier("squared", cv=10),
}


def best_cut(y: np.ndarray, scores: np.ndarray) -> float:
    """Return the threshold of best balanced accuracy on these scores."""
    order = np.argsort(scores)
    y, scores = y[order], scores[order]
    right = np.cumsum(1 - y) / np.sum(1 - y) + 1 - np.cumsum(y) / np.sum(y)
    right[:-1][scores[1:] == scores[:-1]] = -1
    k = int(np.argmax(right[:-1]))
    return float(scores[k] + scores[k + 1]) / 2


def measure(X: np.ndarray | sparse.csr_array, y: np.ndarray) -> dict[str, list[float]]:
    """Return by column of the tables one number for each fold."""
    results: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        results.setdefault(name, []).append(value)

    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
        for name, variant in VARIANTS.items():
            with patch.object(folds, "MAX_ROUNDS", 1 if "round" in name else folds.MAX_ROUNDS):
                clf = clone(variant).fit(X_train, y_train)
            note(name, clf.score(X_test, y_test))
            if name == "default":
                default = clf
        note("alpha", np.log10(default.alpha_ / default.alphas_[0]) + 4)
        if choose_solver(X_train) == "moments":
            moments = ClassMoments(X.shape[1]).update(X_train, y_train)
            note("alpha from moments", AUCClassifier().fit_moments(moments).score(X_test, y_test))
        given = AUCClassifier(alpha=default.alpha_).fit(X_train, y_train)
        scores, cut = default.decision_function(X_test), best_cut(y_train, default.decision_function(X_train))
        note("balanced accuracy", balanced_accuracy_score(y_test, scores > 0))
        note("at the best training cut", balanced_accuracy_score(y_test, scores > cut))
        note("log-loss", log_loss(y_test, default.predict_proba(X_test)))
        note("calibrated on training scores", log_loss(y_test, given.predict_proba(X_test)))
        assert roc_auc(y_test, scores) == default.score(X_test, y_test)
    return results


def table(title: str, columns: list[str], results: dict[str, dict[str, list[float]]]) -> str:
    """Return a Markdown table of means, the best of each row in bold, and the mean difference to the first column."""
    lines = [f"### {title}", "", "| data | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, result in results.items():
        means = [np.mean(result[c]) if c in result else np.nan for c in columns]
        best = np.nanmin(means) if "log-loss" in columns else np.nanmax(means)
        cells = ["" if np.isnan(m) else f"**{m:.4f}**" if round(m, 4) == round(best, 4) else f"{m:.4f}" for m in means]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    gaps = [np.mean([np.mean(r[c]) - np.mean(r[columns[0]]) for r in results.values() if c in r]) for c in columns]
    lines.append("| mean difference to the first | " + " | ".join(f"{gap:+.4f}" for gap in gaps) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=available())
    parser.add_argument("--max-rows", type=int, default=20_000)
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in arguments.names:
        start = time.perf_counter()
        results[name] = measure(*load(name, arguments.max_rows))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    alphas = ", ".join(f"{name} {np.mean(result['alpha']):+.1f}" for name, result in results.items())
    text = "\n\n".join(
        [
            f"At most {arguments.max_rows:,} rows of each data set; means over five outer folds.",
            table("Test AUC", [*VARIANTS, "alpha from moments"], results),
            f"Chosen alpha, as a power of ten of the mean eigenvalue, mean over the folds: {alphas}.",
            table("Test balanced accuracy", ["balanced accuracy", "at the best training cut"], results),
            table("Test log-loss", ["log-loss", "calibrated on training scores"], results),
        ]
    )
    if arguments.write:
        replace_block(arguments.write, "make defaults", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
