"""The stochastic algorithms against scikit-learn's SGDClassifier, and the sparse fits against liblinear's L1.

    python -m aucmax_studies stochastic [--repeats 7] [--write docs/measured/stochastic.md]

The time of an epoch is that of a fit of many passes minus that of one of few, over the difference of their numbers; the
two sides take turns. Algorithms do different work on a row, so their times are divided by their multiply-adds:

    SGDClassifier (log loss)   2 nnz                   product, step
    SOLAM, RegSOLAM, SPAM      3 nnz                   and the step of the average
    OPAUCr                     (3 q + 3) nnz + 5 q^2   and those of sketches with q = rank + 1 columns

Without the folder of real data (see realdata.py) the tables hold only the synthetic set of paper 003.
"""

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler

from aucmax import OPAUC, SHTAUC, SOLAM, SPAM, AUCClassifier, RegSOLAM
from aucmax.datasets import make_sparse_shift

from ..common.realdata import available, load
from ..common.timing import Table, seconds, side_by_side

BAR = 1.5


def narrow_indices(X: Any) -> Any:
    """Return CSR with 32-bit indices, which scikit-learn needs."""
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def epoch_times(estimators: list[Any], X: Any, y: np.ndarray, passes: tuple[int, int], repeats: int) -> list[float]:
    """Return the median time of one pass of each estimator; they take turns."""
    few, many = passes

    def one(estimator: Any) -> float:
        times = [seconds(lambda n=n: clone(estimator).set_params(max_iter=n).fit(X, y)) for n in passes]
        return (times[1] - times[0]) / (many - few)

    for estimator in estimators:
        one(estimator)  # compiles
    rounds = [[one(estimator) for estimator in estimators] for _ in range(repeats)]
    return [median(times) for times in zip(*rounds, strict=True)]


def epochs(table: Table, repeats: int) -> None:
    for name in ("a9a", "covtype"):
        if name not in available():
            continue
        X, y = load(name)
        X = narrow_indices(X) if sparse.issparse(X) else StandardScaler().fit_transform(X)
        nnz = X.nnz / len(y) if sparse.issparse(X) else X.shape[1]
        kinds = {kind: (kind(random_state=0), 3 * nnz) for kind in (SOLAM, RegSOLAM, SPAM)}
        compare(table, name, X, y, nnz, {kind.__name__: made for kind, made in kinds.items()}, (2, 12), repeats)
        rows = np.random.default_rng(0).permutation(len(y))[:60_000]
        q = 51
        made = OPAUC(rank=q - 1, random_state=0), (3 * q + 3) * nnz + 5 * q * q
        compare(table, name, X[rows], y[rows], nnz, {"OPAUCr": made}, (1, 3), repeats)


def compare(
    table: Table,
    data: str,
    X: Any,
    y: np.ndarray,
    nnz: float,
    kinds: dict[str, tuple[Any, float]],
    passes: tuple[int, int],
    repeats: int,
) -> None:
    """Report the time of an epoch per multiply-add over that of SGDClassifier."""
    rival = SGDClassifier(loss="log_loss", tol=None, random_state=0)
    *ours, theirs = epoch_times([*(made for made, _ in kinds.values()), rival], X, y, passes, repeats)
    for (name, (_, work)), time in zip(kinds.items(), ours, strict=True):
        ratio = (time / work) / (theirs / (2 * nnz))
        each = f"{1e9 * time / len(y):,.0f} to {1e9 * theirs / len(y):,.0f} ns a row"
        what = f"{name}, epoch on {data} ({X.shape[0]:,} x {X.shape[1]}), per multiply-add: times SGDClassifier"
        table.report(what, f"{ratio:.2f} ({each})", f"<= {BAR}", ratio <= BAR)


def sparse_fits(table: Table, repeats: int) -> None:
    X, y, _ = make_sparse_shift(n_informative=20, ratio=0.05, random_state=0)
    one_liblinear(table, "003's synthetic set (1,000 x 1,000)", X, y, range(10, 101, 10), repeats)
    if "news20" in available():
        X, y = load("news20")
        one_liblinear(
            table, f"news20 ({X.shape[0]:,} x {X.shape[1]:,})", narrow_indices(X), y, (10, 20, 50, 100), repeats
        )


def one_liblinear(table: Table, data: str, X: Any, y: np.ndarray, ks: Sequence[int], repeats: int) -> None:
    """Report the times of sparse fits over that of one logistic regression with an L1 penalty."""
    rival = LogisticRegression(solver="liblinear", l1_ratio=1)
    fits = {
        "SHTAUC(n_nonzero=50)": lambda: SHTAUC(n_nonzero=50, random_state=0).fit(X, y),
        "AUCClassifier(n_nonzero=50, alpha=1)": lambda: AUCClassifier(n_nonzero=50, alpha=1.0).fit(X, y),
        f"exact L0 path of {len(ks)} values of k": lambda: [
            AUCClassifier(n_nonzero=k, alpha=1.0).fit(X, y) for k in ks
        ],
    }
    for name, fit in fits.items():
        times = side_by_side(fit, lambda: rival.fit(X, y), repeats)
        table.report_times(f"{name} on {data}: times liblinear with L1", times, "none set", at_most=np.inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = Table("what", "measured (ours to theirs)", "bar")
    epochs(table, arguments.repeats)
    sparse_fits(table, max(1, arguments.repeats // 2))
    if arguments.write:
        table.write(arguments.write, "make study NAME=stochastic")


if __name__ == "__main__":
    main()
