"""The losses that are not square, and the algorithms on pairs: products with X, and times beside scikit-learn's.

    python -m aucmax_studies margin [--repeats 5] [--write docs/measured/margin.md]

A product is one multiplication of X or of its transpose with a vector; the class moments, which every fit begins with,
are not counted. LIBLINEAR's rankSVM, which starts from zero and is not preconditioned, takes 66 steps of conjugate
gradients on a9a and 25 on cod-rna at C = 1: some 146 and 62 products. Both sides of a time take turns in one process.
"""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from aucmax import ASAM, PSAM, AUCClassifier
from aucmax.losses import find_loss
from aucmax.rows.memory import MemoryRows, MemorySpace
from aucmax.rows.protocol import Targets

from ..common.realdata import available, load
from ..common.timing import Table, peak_memory, side_by_side
from .stochastic import epoch_times, narrow_indices

PRODUCTS = 40


@contextmanager
def counted_products() -> Iterator[list[str]]:
    """Record the products with the rows that are made inside the context."""
    calls: list[str] = []
    verbs = {name: getattr(MemoryRows, name) for name in ("scores", "rmatvec")}

    def counting(name: str):
        def counted(self: MemoryRows, *arguments: np.ndarray) -> np.ndarray:
            calls.append(name)
            return verbs[name](self, *arguments)

        return counted

    try:
        for name in verbs:
            setattr(MemoryRows, name, counting(name))
        yield calls
    finally:
        for name, verb in verbs.items():
            setattr(MemoryRows, name, verb)


def products(table: Table) -> None:
    """Count the products of a fit at the cross-validated alpha, that of the calibration included."""
    for name in ("a9a", "cod-rna", "magic04", "letter", "covtype"):
        if name not in available():
            continue
        X, y = load(name)
        alpha = AUCClassifier("squared_hinge").fit(X, y).alpha_
        for tol in (1e-3, 1e-6):
            with counted_products() as calls:
                clf = AUCClassifier("squared_hinge", alpha=alpha, tol=tol).fit(X, y)
            what = f"products on {name} ({X.shape[0]:,} x {X.shape[1]}) to a relative gradient of {tol:g}"
            bar = f"<= {PRODUCTS}" if tol == 1e-3 else "none set"
            table.report(what, f"{len(calls)} ({clf.n_iter_} Newton steps)", bar, tol != 1e-3 or len(calls) <= PRODUCTS)


def fits(table: Table, repeats: int) -> None:
    """Time fits at a given alpha."""
    if "covtype" in available():
        X, y = load("covtype")
        alpha = AUCClassifier("squared_hinge").fit(X, y).alpha_
        clf = AUCClassifier("squared_hinge", alpha=alpha)
        what = f"squared hinge with alpha on covtype {len(y):,} x {X.shape[1]}: faster than"
        times = side_by_side(lambda: clf.fit(X, y), lambda: LogisticRegression().fit(X, y), repeats)
        table.report_times(f"{what} LogisticRegression", times, "> 1", at_least=1)
        Z = StandardScaler().fit_transform(X)
        times = side_by_side(lambda: clf.fit(Z, y), lambda: LogisticRegression().fit(Z, y), repeats)
        table.report_times(f"{what} LogisticRegression, both on standardised columns", times, "none set")
        times = side_by_side(lambda: clf.fit(X, y), lambda: LinearSVC().fit(X, y), 1, warm_up=False)
        table.report_times(f"{what} LinearSVC", times, ">= 3", at_least=3)
        times = side_by_side(lambda: clf.fit(Z, y), lambda: LinearSVC().fit(Z, y), 1, warm_up=False)
        table.report_times(f"{what} LinearSVC, both on standardised columns", times, "none set")
    if "news20" in available():
        X, y = load("news20")
        X = narrow_indices(X)
        alpha = AUCClassifier("squared_hinge").fit(X, y).alpha_
        clf = AUCClassifier("squared_hinge", alpha=alpha)
        times = side_by_side(lambda: clf.fit(X, y), lambda: LinearSVC().fit(X, y), repeats)
        what = f"squared hinge with alpha on news20 {X.shape[0]:,} x {X.shape[1]:,}: times LinearSVC"
        table.report_times(what, times, "<= 5", at_most=5)


def pair_sums(table: Table, repeats: int) -> None:
    """Time the losses by themselves."""
    rng = np.random.default_rng(0)
    positive = rng.random(1_000_000) < 0.1
    scores = rng.standard_normal(len(positive)) + positive
    totals = np.array([(~positive).sum(), positive.sum()], dtype=np.float64)
    space = MemorySpace(Targets(positive, None, totals))
    for name, bar in (("logistic", 6), ("squared_hinge", None), ("hinge", None), ("exponential", None)):
        loss = find_loss(name)
        times = side_by_side(lambda loss=loss: loss(space, scores), lambda: np.sort(scores), repeats)
        what = f"{name} pairs at 1,000,000 rows, value and gradient: times np.sort of the scores"
        table.report_times(what, times, "none set" if bar is None else f"<= {bar}", at_most=bar or np.inf)


def updates(table: Table, repeats: int) -> None:
    """Time an update of the algorithms on pairs."""
    for name in ("a9a", "covtype"):
        if name not in available():
            continue
        X, y = load(name)
        X = narrow_indices(X) if sparse.issparse(X) else StandardScaler().fit_transform(X)
        rivals = {loss: SGDClassifier(loss=loss, tol=None, random_state=0) for loss in ("log_loss", "hinge")}
        ours = {kind.__name__: kind(random_state=0) for kind in (PSAM, ASAM)}
        times = epoch_times([*ours.values(), *rivals.values()], X, y, (2, 12), repeats)
        mine, theirs = times[:2], dict(zip(rivals, times[2:], strict=True))
        for algorithm, time in zip(ours, mine, strict=True):
            for loss, rival in theirs.items():
                what = f"{algorithm}, an update on {name}: times one of SGDClassifier({loss!r})"
                each = f"{1e9 * time / len(y):,.0f} to {1e9 * rival / len(y):,.0f} ns"
                table.report(what, f"{time / rival:.2f} ({each})", "<= 2.5", time <= 2.5 * rival)


def memory(table: Table) -> None:
    """Fit as many rows as susy has."""
    n, d = 5_000_000, 18
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = (X @ rng.standard_normal(d) + 3 * rng.standard_normal(n) > 0).astype(np.int8)
    clf = AUCClassifier("squared_hinge", alpha=1e-3)
    peak = peak_memory(lambda: clf.fit(X, y))
    table.report(
        f"memory of a squared hinge fit on {n:,} x {d} beyond X, in vectors of {n:,} float64 scores",
        f"{peak / (8 * n):.1f} ({peak / 2**20:,.0f} MB)",
        "a few",
        peak <= 20 * 8 * n,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    table = Table("what", "measured (ours to theirs)", "bar")
    products(table)
    pair_sums(table, arguments.repeats)
    updates(table, arguments.repeats)
    memory(table)
    fits(table, min(arguments.repeats, 3))
    if arguments.write:
        table.write(arguments.write, "make study NAME=margin")


if __name__ == "__main__":
    main()
