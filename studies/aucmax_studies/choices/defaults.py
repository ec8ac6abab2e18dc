"""What each choice behind the default of AUCClassifier is worth: the default beside itself with one choice changed.

    python -m aucmax_studies defaults [--splits 2] [--max-rows 3000] [--write docs/measured/defaults.md] [names ...]
    python -m aucmax_studies defaults --ridge [--splits 2] [--max-rows 3000] [--write docs/measured/defaults.md]

With --ridge it measures instead the ridge and the shrinkage that GaussianAUC and GaussianError choose from moments
alone, against the best of a grid by the test rows, on five Gaussian designs and on eight data sets: the first of the
verdict half that are dense and have at most 300 columns.

The data sets are those of `common/study_data.py`, in its two halves: choices were made on the first, and the second
shows whether they hold elsewhere. Of larger data sets a seeded sample is taken. Everything is chosen inside the
training rows of a split; times are CPU seconds of one thread.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.linalg import toeplitz
from scipy.sparse import issparse
from sklearn.covariance import oas
from sklearn.metrics import balanced_accuracy_score, log_loss
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, ClassMoments, GaussianAUC, GaussianError
from aucmax.search import choice, pool, rounds, search, training
from aucmax.solvers import smooth_auc

from ..common import study_data
from ..common.markdown import replace_block

HALF_STEPS = tuple(power / 2 for power in range(4, -11, -1))
# The name of a variant, the parameters of AUCClassifier, and the constants that are changed: module, name, value.
VARIANTS: dict[str, tuple[dict[str, Any], list[tuple[Any, str, Any]]]] = {
    "the default": ({}, []),
    "the best candidate instead of a blend": ({"selection": "best"}, []),
    "without squared": ({}, [(pool, "POOL", tuple(set(pool.POOL) - {"squared"}))]),
    "without pooled": ({}, [(pool, "POOL", tuple(set(pool.POOL) - {"pooled"}))]),
    "without smooth_auc": ({}, [(pool, "POOL", tuple(set(pool.POOL) - {"smooth_auc"}))]),
    "squared and pooled only": ({}, [(pool, "POOL", ("squared", "pooled"))]),
    "standardised columns only": ({"standardize": True}, []),
    "columns as they are only": ({"standardize": False}, []),
    "columns as they are without a handicap": ({}, [(choice, "SCALING_MARGIN", 0.0)]),
    "two alphas per decade": ({}, [(pool, "POWERS", HALF_STEPS)]),
    "3 folds": ({"cv": 3}, []),
    "10 folds": ({"cv": 10}, []),
    "one round of folds": ({}, [(search, "MAX_ROUNDS", 1)]),
    "up to five rounds": ({}, [(search, "MAX_ROUNDS", 5), (rounds, "MAX_ROUNDS", 5)]),
    "1,000 rows of each class": ({}, [(search, "ENOUGH_OF_A_CLASS", 1000)]),
    "a search among 30 candidates": ({}, [(choice, "N_BEST", 30)]),
    "12 steps of the search": ({}, [(choice, "N_ADDED", 12)]),
    "2 steps of the search": ({}, [(choice, "N_ADDED", 2)]),
    "24 steps of the smooth AUC": ({}, [(smooth_auc, "N_STEPS", 24), (training, "DESCENT_STEPS", 24)]),
}


def splits_of(name: str, n_splits: int, max_rows: int) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray]]:
    """Yield training and test rows of some splits."""
    X, y = study_data.load(name)
    if len(y) > max_rows:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:max_rows])
        X, y = X[rows], y[rows]
    for number in range(min(n_splits, 10)):
        train, test = study_data.split(y, number)
        yield X[train], y[train], X[test], y[test]


def best_cut(y: np.ndarray, scores: np.ndarray) -> float:
    """Return the threshold of best balanced accuracy on these scores."""
    order = np.argsort(scores)
    y, scores = y[order], scores[order]
    right = np.cumsum(1 - y) / np.sum(1 - y) + 1 - np.cumsum(y) / np.sum(y)
    right[:-1][scores[1:] == scores[:-1]] = -1
    k = int(np.argmax(right[:-1]))
    return float(scores[k] + scores[k + 1]) / 2


def measure(name: str, n_splits: int, max_rows: int) -> dict[str, np.ndarray]:
    """Return by variant AUC and seconds of each split, and what the threshold and the probabilities are worth."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for X, y, X_test, y_test in splits_of(name, n_splits, max_rows):
        for variant, (parameters, changes) in VARIANTS.items():
            with ExitStack() as stack:
                for module, constant, value in changes:
                    stack.enter_context(patch.object(module, constant, value))
                start = time.process_time()
                clf = AUCClassifier(**parameters).fit(X, y)
                seconds = time.process_time() - start
            found.setdefault(variant, []).append((clf.score(X_test, y_test), seconds))
            if variant == "the default":
                scores, training = clf.decision_function(X_test), clf.decision_function(X)
                cut = best_cut(y, training)
                known = clf.blend_
                one = AUCClassifier(known["loss"][0].item(), alpha=known["alpha"][0].item()).fit(X, y)
                cells = (
                    balanced_accuracy_score(y_test, scores > 0),
                    balanced_accuracy_score(y_test, scores > cut),
                    log_loss(y_test, clf.predict_proba(X_test)),
                    log_loss(y_test, one.predict_proba(X_test)),
                )
                found.setdefault("threshold", []).append(cells)
    return {variant: np.array(values) for variant, values in found.items()}


def tables(results: dict[str, dict[str, np.ndarray]]) -> str:
    """Return the tables of the page."""
    halves = study_data.halves()
    lines = [
        "| | AUC, choice half | better / worse | AUC, verdict half | better / worse | time |",
        "|---|---|---|---|---|---|",
    ]
    for variant in VARIANTS:
        cells = []
        for names in halves.values():
            pairs = [(results[name][variant], results[name]["the default"]) for name in names if name in results]
            gaps = np.array([np.mean(ours[:, 0] - default[:, 0]) for ours, default in pairs])
            better, worse = np.sum(gaps > 5e-5), np.sum(gaps < -5e-5)
            is_default = variant == "the default"
            level = np.mean([default[:, 0].mean() for _, default in pairs]) if pairs else np.nan
            cells += [f"{level:.4f}", ""] if is_default else [f"{gaps.mean():+.4f}", f"{better} / {worse}"]
        ratios = [np.median(r[variant][:, 1] / r["the default"][:, 1]) for r in results.values()]
        lines.append(f"| {variant} | {' | '.join(cells)} | {np.exp(np.mean(np.log(ratios))):.2f} |")
    rest = np.array([r["threshold"].mean(axis=0) for r in results.values()]).mean(axis=0)
    return "\n".join(
        [
            *lines,
            "",
            f"Balanced accuracy at the threshold of the classifier: {rest[0]:.4f}; at the best threshold of its "
            f"training scores: {rest[1]:.4f}. Log-loss of its probabilities, from held-out scores: {rest[2]:.4f}; of "
            f"those of its first member, from training scores: {rest[3]:.4f}.",
        ]
    )


# The ridge of the Gaussian classifiers

DESIGNS = ("I", "AR(.9)", "I + AA'", "I + 10 FF', F of 5 columns", "I and AA'/d")
ALPHAS, SHRINKAGES = np.logspace(-8, 4, 25), np.append(np.logspace(-8, -1, 8), np.linspace(0.2, 1, 9))
RIDGE_COMMAND = "python -m aucmax_studies defaults --ridge"


def design(name: str, seed: int, n_train: int = 1_600, n_test: int = 10_000, d: int = 100) -> tuple[Any, ...]:
    """Return training and test rows of two Gaussian classes of equal size."""
    rng = np.random.default_rng(seed)
    A, F, means = rng.standard_normal((d, d)), rng.standard_normal((d, 5)), rng.standard_normal((1, d))
    low, high = {
        "I": 2 * [np.eye(d)],
        "AR(.9)": 2 * [toeplitz(0.9 ** np.arange(d))],
        "I + AA'": 2 * [np.eye(d) + A @ A.T],
        "I + 10 FF', F of 5 columns": 2 * [np.eye(d) + 10 * F @ F.T],
        "I and AA'/d": [np.eye(d), A @ A.T / d + 0.05 * np.eye(d)],
    }[name]
    separation = 2 / np.sqrt(means @ np.linalg.solve(low + high, means.T))  # the best AUC is Phi(2)
    y = np.arange(n_train + n_test) % 2
    Z = rng.standard_normal((len(y), d))
    X = np.where(y[:, None] == 1, Z @ np.linalg.cholesky(high).T + separation * means, Z @ np.linalg.cholesky(low).T)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def measure_ridge(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> tuple[float, ...]:
    """Return the AUCs of the best of the grid, the default, oracle shrinkage and none, and the accuracies likewise."""
    moments = ClassMoments(X.shape[1]).update(X, y)
    std = np.where(moments.spread() > 0, moments.spread(), np.inf)
    rest = (X - moments.mean[y]) / std
    level = sum(np.mean(rest[y == c].var(axis=0)) for c in range(2))
    share = oas(rest, assume_centered=True)[1]

    def auc(alpha: float | None) -> float:
        return GaussianAUC(alpha=alpha).fit_moments(moments).score(X_test, y_test)

    def accuracy(shrinkage: float | None) -> float:
        return float(np.mean(GaussianError(shrinkage=shrinkage).fit_moments(moments).predict(X_test) == y_test))

    best, most = max(auc(a * level) for a in ALPHAS), max(accuracy(r) for r in SHRINKAGES)
    oracle = auc(min(level * share / max(1 - share, 1e-12), 1e4))
    return best, auc(None), oracle, auc(0.0), most, accuracy(None), accuracy(share), accuracy(0.0)


def ridge_table(n_splits: int, max_rows: int) -> str:
    """Return the table of the ridge and the shrinkage."""
    names = [name for name in study_data.halves()["verdict"] if name in study_data.available()]
    rows: dict[str, Any] = {name: map(design, repeat(name), range(n_splits)) for name in DESIGNS}
    for name in names:
        if len(rows) == len(DESIGNS) + 8:
            break
        X = study_data.load(name)[0]
        if not issparse(X) and X.shape[1] <= 300:
            rows[name] = splits_of(name, n_splits, max_rows)
    lines = [
        "| | best AUC | default | oracle | none | best accuracy | default | oracle | none |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, splits in rows.items():
        found = np.mean([measure_ridge(*split) for split in splits], axis=0)
        gaps = found - np.repeat(found[[0, 4]], 4)
        cells = [f"{found[k]:.4f}" if k in (0, 4) else f"{gaps[k]:+.4f}" for k in range(len(found))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=study_data.available())
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--max-rows", type=int, default=3_000)
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    parser.add_argument("--ridge", action="store_true", help="the ridge and the shrinkage of the Gaussian classifiers")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    if arguments.ridge:
        with threadpool_limits(1):
            text = ridge_table(arguments.splits, arguments.max_rows)
        print(text) if arguments.write is None else replace_block(arguments.write, RIDGE_COMMAND, text)
        return
    with threadpool_limits(1):
        for name in arguments.names:
            start = time.perf_counter()
            results[name] = measure(name, arguments.splits, arguments.max_rows)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    head = (
        f"{len(results)} data sets, at most {arguments.max_rows:,} rows of each, {arguments.splits} splits. "
        "The first row has the mean test AUC of the default. The others have the mean difference to it, on how many "
        "data sets the variant is better and worse, and its time over that of the default."
    )
    text = f"{head}\n\n{tables(results)}"
    if arguments.write:
        replace_block(arguments.write, "make study NAME=defaults", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
