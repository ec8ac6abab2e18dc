"""The tables of "Directly and efficiently optimizing prediction error and AUC of linear classifiers", measured again.

    python benchmarks/gaussian.py [--runs 20] [--repeats 4] [--write docs/gaussian.md] [names ...]

Artificial data: 4,000 training rows, with their outliers, and 1,000 clean test rows, drawn anew in each of --runs runs
from the same moments. Real data: --repeats x 5 folds, shuffled and stratified. Figures in brackets are the published
ones (arXiv:1802.02535, Tables 7 to 12). The names are those of data sets; all of them take an hour.
"""

import argparse
import platform
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from markdown import replace_block
from realdata import is_there, read
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_score

import aucmax
from aucmax import GaussianAUC, GaussianError, roc_auc
from aucmax.algorithms.gaussian import descend
from aucmax.datasets import GAUSSIAN_SETS, make_gaussian

# Exact moments, empirical moments, pairwise hinge: AUC, then seconds.
PUBLISHED_AUC = {
    "data1": (0.9972, 0.9941, 0.9790, 0.01, 0.23, 5.39),
    "data2": (0.9963, 0.9956, 0.9634, 0.01, 0.22, 159.23),
    "data3": (0.9965, 0.9959, 0.9766, 0.01, 0.24, 317.44),
    "data4": (0.9957, 0.9933, 0.9782, 0.02, 0.83, 23.36),
    "data5": (0.9962, 0.9951, 0.9589, 0.02, 0.80, 110.26),
    "data6": (0.9962, 0.9949, 0.9470, 0.02, 0.82, 275.06),
    "data7": (0.9965, 0.9874, 0.9587, 0.08, 4.61, 28.31),
    "data8": (0.9966, 0.9929, 0.9514, 0.07, 4.54, 104.16),
    "data9": (0.9962, 0.9932, 0.9463, 0.08, 4.54, 157.62),
}
# Exact moments, empirical moments, logistic regression, LDA: accuracy.
PUBLISHED_ACCURACY = {
    "data1": (0.9965, 0.9907, 0.9897, 0.9851),
    "data2": (0.9905, 0.9806, 0.9557, 0.9670),
    "data3": (0.9884, 0.9745, 0.9537, 0.9630),
    "data4": (0.9935, 0.9791, 0.9782, 0.9672),
    "data5": (0.9899, 0.9716, 0.9424, 0.9455),
    "data6": (0.9904, 0.9670, 0.9291, 0.9417),
    "data7": (0.9945, 0.9786, 0.9697, 0.9086),
    "data8": (0.9901, 0.9290, 0.9263, 0.8526),
    "data9": (0.9899, 0.9249, 0.9264, 0.8371),
}


class RealSet(NamedTuple):
    """AUC, hinge AUC, accuracy and LDA accuracy as published; the positive classes, or those that may be meant."""

    published: tuple[float, float, float, float]
    positive: tuple[int, ...] | None = None
    classes: tuple[int, ...] = ()
    first_column: int = 0


REAL_SETS = {
    "fourclass": RealSet((0.8362, 0.8362, 0.8782, 0.7572)),
    "svmguide1": RealSet((0.9717, 0.9863, 0.9735, 0.8972)),
    "diabetes": RealSet((0.8311, 0.8308, 0.8832, 0.7703)),
    # P+ = 0.22: all but the first class.
    "shuttle": RealSet((0.9872, 0.9861, 0.8920, 0.9109), (2, 3, 4, 5, 6, 7)),
    "vowel": RealSet((0.9585, 0.9765, 0.9809, 0.9600), classes=tuple(range(11)), first_column=3),
    "magic04": RealSet((0.8382, 0.8419, 0.8867, 0.7841)),
    # P+ = 0.02: three of a kind.
    "poker": RealSet((0.5054, 0.5069, 0.9897, 0.9795), (3,)),
    "letter": RealSet((0.9830, 0.9883, 0.9816, 0.9711), classes=tuple(range(1, 27))),
    "segment": RealSet((0.9948, 0.9992, 0.9316, 0.9617), classes=tuple(range(7))),
    "svmguide3": RealSet((0.8013, 0.7877, 0.9118, 0.8238)),
    "ijcnn1": RealSet((0.9269, 0.9287, 0.9512, 0.9081)),
    "german": RealSet((0.7938, 0.7919, 0.8780, 0.7675)),
    # P+ = 0.09: damp grey soil.
    "satimage": RealSet((0.7587, 0.7458, 0.9532, 0.9061), (4,)),
    "sonar": RealSet((0.8214, 0.8456, 0.8926, 0.7622)),
    "a9a": RealSet((0.9004, 0.9027, 0.9193, 0.8452)),
    "w8a": RealSet((0.9636, 0.9643, 0.9851, 0.9839)),
    # P+ = 0.1: a digit, none of which is named; the first.
    "mnist": RealSet((0.9943, 0.9933, 0.9909, 0.9778), (0,)),
    "colon-cancer": RealSet((0.8942, 0.8796, 0.9364, 0.8875)),
}


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def hinge(X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the mean over pairs of max(0, 1 - w.(x+ - x-)) with its gradient, from sorted scores in O(n log n)."""
    positive = y == 1

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        scores = X @ w
        high, low = scores[positive], scores[~positive]
        ordered = np.sort(low)
        sums = np.append(np.cumsum(ordered[::-1])[::-1], 0.0)
        first = np.searchsorted(ordered, high - 1, "right")  # the negatives from here on are within the margin
        n_pairs = len(high) * len(low)
        n_above = len(low) - first
        g = np.empty(len(scores))
        g[positive] = -n_above / n_pairs
        g[~positive] = np.searchsorted(np.sort(high), low + 1, "left") / n_pairs
        return float(np.sum(n_above * (1 - high) + sums[first])) / n_pairs, X.T @ g

    return objective


class PairwiseHinge:
    """The paper's Algorithm 1 on the pairwise hinge, from a random start."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "PairwiseHinge":
        """Fit the weights."""
        w = np.random.default_rng(0).standard_normal(X.shape[1])
        self.w = descend(hinge(X, y), w / np.linalg.norm(w), 250, 1e-7)[0]
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return X @ self.w


MODELS = {
    "empirical moments": GaussianAUC(),
    "descent": GaussianAUC("gradient", alpha=0),
    "pairwise hinge": PairwiseHinge(),
    "error, empirical moments": GaussianError(),
    "error, descent": GaussianError("gradient", shrinkage=0),
    "LogisticRegression": LogisticRegression(max_iter=1000),  # lambda = 1/n, as in the paper
    "LDA": LinearDiscriminantAnalysis(),
}


def artificial(name: str, runs: int) -> dict[str, list[float]]:
    """Return one figure a run and column, for one of the nine sets."""
    results: dict[str, list[float]] = {}

    def add(column: str, value: float) -> None:
        results.setdefault(column, []).append(float(value))

    _, _, moments = make_gaussian(name, n_samples=2, random_state=0)
    best_auc, auc_seconds = timed(GaussianAUC().fit_moments, moments)
    best_error, error_seconds = timed(GaussianError().fit_moments, moments)
    add("seconds, exact moments", auc_seconds)
    add("seconds, error, exact moments", error_seconds)
    add("1 - AUC", 1 - best_auc.expected_auc_)
    add("1 - AUC, descent", 1 - GaussianAUC("gradient").fit_moments(moments).expected_auc_)
    add("error", best_error.expected_error_)
    add("error, descent", GaussianError("gradient").fit_moments(moments).expected_error_)
    for run in range(runs):
        X, y, _ = make_gaussian(name, moments=moments, random_state=run + 1)
        n_train = 4 * len(y) // 5
        X_test, y_test = X[n_train:], y[n_train:]
        add("AUC, exact moments", best_auc.score(X_test, y_test))
        add("accuracy, exact moments", np.mean(best_error.predict(X_test) == y_test))
        for column, model in MODELS.items():
            add(f"seconds, {column}", timed(model.fit, X[:n_train], y[:n_train])[1])
            scores = model.decision_function(X_test)
            add(f"AUC, {column}", roc_auc(y_test, scores))
            add(f"accuracy, {column}", np.mean((scores > 0) == y_test))
    return results


def real(name: str, repeats: int) -> dict[str, Any]:
    """Return the figures of one data set: means and standard deviations over the folds."""
    data = REAL_SETS[name]
    positive = data.classes[:1] or data.positive
    _, X, y, labels = read(name, positive=positive, drop_columns=range(data.first_column))
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    aucs, accuracies, seconds = [], [], []
    for train, test in folds.split(X, y):
        clf, time_of_fit = timed(GaussianAUC().fit, X[train], y[train])
        aucs.append(clf.score(X[test], y[test]))
        seconds.append(time_of_fit)
        accuracies.append(np.mean(GaussianError().fit(X[train], y[train]).predict(X[test]) == y[test]))
    by_class = [np.mean(aucs)]
    for c in data.classes[1:]:  # one against the rest, where the paper does not say which
        folds_of_class = StratifiedKFold(5, shuffle=True, random_state=0)
        by_class.append(cross_val_score(GaussianAUC(), X, (labels == c).astype(int), cv=folds_of_class).mean())
    return {
        "n": len(y),
        "share": y.mean(),
        "AUC": np.mean(aucs),
        "deviation": np.std(aucs),
        "range": (min(by_class), max(by_class)) if data.classes else None,
        "accuracy": np.mean(accuracies),
        "seconds": np.mean(seconds),
    }


def table(title: str, header: list[str], rows: list[list[str]]) -> str:
    lines = [f"### {title}", "", "| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def auc_table(results: dict[str, dict[str, list[float]]]) -> str:
    columns = ("exact moments", "empirical moments", "pairwise hinge")
    rows = []
    for name, result in results.items():
        setting = GAUSSIAN_SETS[name]
        cells = [
            f"{np.mean(result[f'AUC, {column}']):.4f} ({published:.4f})"
            for column, published in zip(columns, PUBLISHED_AUC[name], strict=False)
        ]
        cells.insert(2, f"{np.mean(result['AUC, descent']):.4f}")
        size = f"{setting.n_features:,} columns, {setting.ratio:g} positive, {setting.outliers:.0%} outliers"
        rows.append([name, size, *cells])
    header = ["data", "", columns[0], columns[1], "the same by descent, no ridge", columns[2]]
    return table("Test AUC on artificial data (published in brackets)", header, rows)


def time_table(results: dict[str, dict[str, list[float]]]) -> str:
    columns = ("exact moments", "empirical moments", "pairwise hinge")
    rows = []
    for name, result in results.items():
        cells = [
            f"{np.median(result[f'seconds, {column}']):.2f} ({published:.2f})"
            for column, published in zip(columns, PUBLISHED_AUC[name][3:], strict=True)
        ]
        others = ("error, exact moments", "error, empirical moments", "LogisticRegression", "LDA")
        rows.append([name, *cells, *(f"{np.median(result[f'seconds, {column}']):.2f}" for column in others)])
    header = ["data", *columns, "error, exact moments", "error, empirical moments", "LogisticRegression", "LDA"]
    return table("Seconds of a fit (published in brackets, on the authors' cluster)", header, rows)


def accuracy_table(results: dict[str, dict[str, list[float]]]) -> str:
    columns = ("exact moments", "error, empirical moments", "LogisticRegression", "LDA")
    rows = []
    for name, result in results.items():
        cells = []
        for column, published in zip(columns, PUBLISHED_ACCURACY[name], strict=True):
            again = "" if column == "LDA" else f", {2 * published - 1:.4f}"
            cells.append(f"{np.mean(result[f'accuracy, {column}']):.4f} ({published:.4f}{again})")
        cells.insert(2, f"{np.mean(result['accuracy, error, descent']):.4f}")
        rows.append([name, *cells])
    header = [
        "data",
        "exact moments",
        "empirical moments",
        "the same by descent, no shrinkage",
        "LogisticRegression",
        "LDA",
    ]
    title = "Test accuracy on artificial data (published in brackets: as printed, with its error doubled)"
    return table(title, header, rows)


def optimum_table(results: dict[str, dict[str, list[float]]]) -> str:
    rows = []
    for name, result in results.items():
        cells = []
        for objective in ("1 - AUC", "error"):
            best, reached = result[objective][0], result[f"{objective}, descent"][0]
            assert best <= reached + 1e-12, f"{objective} of {name}: the descent is below the global optimum"
            cells += [f"{best:.6f}", f"{max(reached - best, 0):.1e}"]
        rows.append([name, *cells])
    header = ["data", "1 - AUC, closed form", "more by descent", "error, exact search", "more by descent"]
    return table("The objectives at exact moments: the global optimum, and where the descent ends", header, rows)


def real_table(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, r in results.items():
        auc, hinge_auc, accuracy, lda = REAL_SETS[name].published
        spread = "" if r["range"] is None else f"{r['range'][0]:.4f} to {r['range'][1]:.4f}"
        rows.append(
            [
                name,
                f"{r['n']:,}",
                f"{r['share']:.2f}",
                f"{r['AUC']:.4f} ± {r['deviation']:.4f}",
                spread,
                f"{auc:.4f}",
                f"{hinge_auc:.4f}",
                f"{r['seconds']:.3f}",
                f"{r['accuracy']:.4f}",
                f"{accuracy:.4f}, {2 * accuracy - 1:.4f}",
                f"{lda:.4f}",
            ]
        )
    header = [
        "data",
        "rows",
        "positive",
        "GaussianAUC()",
        "range over the classes",
        "published",
        "published hinge",
        "seconds",
        "accuracy of GaussianError()",
        "published: as printed, error doubled",
        "published LDA",
    ]
    return table("Test AUC and accuracy on real data", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*GAUSSIAN_SETS, *(name for name in REAL_SETS if is_there(name))]
    parser.add_argument("names", nargs="*", default=names)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    drawn, found = {}, {}
    for name in arguments.names:
        if name in GAUSSIAN_SETS:
            drawn[name], seconds = timed(artificial, name, arguments.runs)
        else:
            found[name], seconds = timed(real, name, arguments.repeats)
        print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    versions = f"aucmax {aucmax.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}"
    parts = [
        f"Means of {arguments.runs} runs on artificial data and of {arguments.repeats} x 5 folds on real data. "
        f"{versions}, Python {platform.python_version()}, {platform.machine()}, {time.strftime('%Y-%m-%d')}."
    ]
    if drawn:
        parts += [auc_table(drawn), time_table(drawn), accuracy_table(drawn), optimum_table(drawn)]
    if found:
        parts.append(real_table(found))
    text = "\n\n".join(parts)
    if arguments.write:
        replace_block(arguments.write, "make gaussian", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
