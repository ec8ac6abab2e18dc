"""The exact core against scikit-learn: a table of ratios, each pair timed side by side in one run.

    python -m aucmax_studies speed [--quick] [--repeats 7] [--write docs/measured/speed.md]

Both sides of a row take turns in the same process, and their medians are compared, so that noise of the machine affects
both. The last column is the bar that the project has set itself. Rows on real data need the folder of
`common/realdata.py`; --quick leaves out LogisticRegressionCV on covtype, which takes minutes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, roc_auc

from ..common.realdata import available, load
from ..common.timing import Table, peak_memory, side_by_side


def fit_speed(table: Table, repeats: int, quick: bool) -> None:
    rng = np.random.default_rng(0)
    n, d = 480_000, 54
    cases = {"Gaussian": rng.standard_normal((n, d))}
    labels = {"Gaussian": (cases["Gaussian"] @ rng.standard_normal(d) + 5 * rng.standard_normal(n) > 6).astype(int)}
    if "covtype" in available():
        X, y = load("covtype")
        rows = rng.permutation(len(y))[:n]
        cases["covtype"], labels["covtype"] = StandardScaler().fit_transform(X[rows]), y[rows]
    fixed, crossed, logistic = AUCClassifier(alpha=0.1), AUCClassifier(), LogisticRegression()
    for name, X in cases.items():
        y = labels[name]
        shape = f"{name} {n:,} x {d}"
        times = side_by_side(lambda X=X, y=y: fixed.fit(X, y), lambda X=X: X.T @ X, repeats)
        table.report_times(f"fit with alpha on {shape}: times X.T @ X", times, "<= 2", at_most=2)
        times = side_by_side(lambda X=X, y=y: fixed.fit(X, y), lambda X=X, y=y: logistic.fit(X, y), 3)
        table.report_times(f"fit with alpha on {shape}: faster than LogisticRegression", times, ">= 25", at_least=25)
        times = side_by_side(lambda X=X, y=y: crossed.fit(X, y), lambda X=X, y=y: logistic.fit(X, y), 3)
        table.report_times(f"AUCClassifier() on {shape}: faster than LogisticRegression", times, "> 1", at_least=1)
    if "covtype" in cases and not quick:
        X, y = load("covtype")
        X = StandardScaler().fit_transform(X)
        rival = LogisticRegressionCV(Cs=10, cv=5, scoring="roc_auc", l1_ratios=(0,), use_legacy_attributes=False)
        times = side_by_side(lambda: crossed.fit(X, y), lambda: rival.fit(X, y), 1, warm_up=False)
        table.report_times(
            f"AUCClassifier() on covtype {len(y):,}: faster than LogisticRegressionCV", times, ">= 20", at_least=20
        )


def auc_speed(table: Table, repeats: int) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(1_000_000) < 0.1).astype(int)
    scores = rng.standard_normal(len(y)) + y
    times = side_by_side(lambda: roc_auc(y, scores), lambda: roc_auc_score(y, scores), repeats)
    table.report_times(
        "roc_auc at 1,000,000 rows, 10% positive: faster than roc_auc_score", times, ">= 15", at_least=15
    )
    copies = peak_memory(lambda: roc_auc(y, scores)) / scores.nbytes
    table.report("  its memory in copies of the scores", f"{copies:8.2f}", "<= 2", copies <= 2)


def fit_memory(table: Table) -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for n in (200_000, 800_000):
        X = rng.standard_normal((n, 54))
        y = (X[:, 0] > 1).astype(int)
        peaks.append(peak_memory(lambda X=X, y=y: AUCClassifier(alpha=0.1).fit(X, y)))
    table.report(
        "memory of fit beyond X, 800,000 rows over 200,000 rows",
        f"{peaks[1] / peaks[0]:8.2f} ({peaks[1] / 2**20:.0f} MB)",
        "1",
        peaks[1] <= 1.05 * peaks[0],
    )


def sparse_speed(table: Table, repeats: int) -> None:
    if "news20" not in available():
        return
    X, y = load("news20")
    d = X.shape[1]
    clf, rival = AUCClassifier(alpha=10), LogisticRegression(solver="liblinear")
    X32 = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)  # for liblinear
    times = side_by_side(lambda: clf.fit(X32, y), lambda: rival.fit(X32, y), repeats)
    table.report_times(f"fit with alpha on news20 {X.shape[0]:,} x {d:,}: times liblinear", times, "<= 2", at_most=2)
    peak = peak_memory(lambda: clf.fit(X32, y))
    table.report(
        "  its memory over that of a dense d x d matrix", f"{peak / (8 * d * d):8.5f}", "<< 1", peak < 0.01 * 8 * d * d
    )


def start_up(table: Table, repeats: int) -> None:
    def run(code: str, cache: str | None = None) -> str:
        environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        return result.stdout

    timed = "import time; t = time.perf_counter(); import sklearn.linear_model{}; print(time.perf_counter() - t)"
    for name, extra in (("import aucmax", "; import aucmax"), ("AUCClassifier", "; from aucmax import AUCClassifier")):
        pairs = [(float(run(timed.format(extra))), float(run(timed.format("")))) for _ in range(repeats)]
        more = median(a for a, _ in pairs) - median(b for _, b in pairs)
        table.report(f"{name}: seconds more than import sklearn.linear_model", f"{more:8.3f}", "<= 0.1", more <= 0.1)
    fit = (
        "import numpy as np, time; from scipy import sparse; import aucmax; rng = np.random.default_rng(0);"
        "X = rng.standard_normal((100_000, 5)); y = (X[:, 0] > 0).astype(int);"
        "S = sparse.random_array((2000, 50), density=0.05, format='csr', rng=rng); t = time.perf_counter();"
        "aucmax.AUCClassifier().fit(X, y); aucmax.AUCClassifier().fit(S, y[:2000]);"
        "seconds = time.perf_counter() - t; from aucmax.rows.summaries import kernels;"
        "compiled = (kernels.add_outer_products, kernels.sum_below);"
        "print(sum(sum(k.stats.cache_misses.values()) for k in compiled), seconds)"
    )
    with tempfile.TemporaryDirectory() as cache:
        first, second = (run(fit, cache).split() for _ in range(2))
    table.report(
        "kernels that a second process compiles in its first fits",
        f"{second[0]:>8} ({float(second[1]):.1f} s)",
        "0",
        second[0] == "0" and first[0] != "0",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out LogisticRegressionCV")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = Table("what", "measured (ours to theirs)", "bar")
    start_up(table, arguments.repeats)
    auc_speed(table, arguments.repeats)
    fit_memory(table)
    sparse_speed(table, arguments.repeats)
    fit_speed(table, arguments.repeats, arguments.quick)
    if arguments.write:
        table.write(arguments.write, "make study NAME=speed")


if __name__ == "__main__":
    main()
