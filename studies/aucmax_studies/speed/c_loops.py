"""Epochs and fits of SOLAM, SPAM and SHT-AUC beside straightforward C loops.

    python -m aucmax_studies c-loops [--repeats 5] [--write docs/measured/stochastic.md]

`loops.c` has the loops, which are compiled with `-O3 -march=native`. They get rows, orders and class means that are
ready; ours is `fit`, which has to check the rows, draw the orders, and calibrate. The time of an epoch is that of a fit
of many passes minus that of one of few, over the difference of their numbers. Sides take turns, and the medians count.
Before that, the weights of both sides are compared: they must agree. SHT-AUC starts at w = 0, where all scores are 0:
our first pass takes its gradient from the class means and visits no row, where the C loop visits all. So a fit of 5
passes has 4 of them.

The rows "adaptive" are the defaults, which do more work: their times are divided by their multiply-adds over those of
the C loop. A row of n stored values in d columns takes SOLAM's loop 2 n + 2 d (score, step, average, norm), SPAM's
2 n + 4 d (two products with the means more) and SHT-AUC's 2 n. Ours shift and scale each value of a dense row that they
read, one multiply-add more for each of the 2 n, and on CSR take 4 for the centre of the columns. SHT-AUC also measures
the curvature along each step, another product with the row; steps that are taken again are not counted.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from aucmax import SHTAUC, SOLAM, SPAM
from aucmax.papers.engine.sample import row_order

from ..common.realdata import available, load
from ..common.timing import Table, seconds

EPOCH_BAR, FIT_BAR = 1.2, 1.5
FIT_PASSES = 5
RADIUS, STEP, BETA = 10.0, 1.0, 1e-3


class Rows(ctypes.Structure):
    """The rows as `loops.c` takes them."""

    _fields_ = (
        ("values", ctypes.c_void_p),
        ("columns", ctypes.c_void_p),
        ("starts", ctypes.c_void_p),
        ("positive", ctypes.c_void_p),
        ("n_rows", ctypes.c_int64),
        ("d", ctypes.c_int64),
    )


def compile_loops(compiler: str) -> ctypes.CDLL:
    """Return the compiled loops."""
    folder = Path(tempfile.mkdtemp())
    source, library = Path(__file__).with_name("loops.c"), folder / "loops.so"
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Loops:
    """The C loops on one data set."""

    def __init__(self, library: ctypes.CDLL, X: Any, y: np.ndarray) -> None:
        self.library, self.d = library, X.shape[1]
        self.is_sparse = sparse.issparse(X)
        self.row_length = X.nnz / len(y) if self.is_sparse else float(self.d)
        self.p = float(y.mean())
        positive = y.astype(np.uint8)
        self.means = np.concatenate([np.asarray(X[y == label].mean(axis=0)).ravel() for label in (0, 1)])
        if sparse.issparse(X):
            parts = [X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)]
        else:
            parts = [np.ascontiguousarray(X)]
        self.kept = [*parts, positive]
        places = [pointer(part) for part in parts] + [None] * (3 - len(parts))
        self.rows = Rows(*places, pointer(positive), *X.shape)
        norms = X.multiply(X).sum(axis=1) if sparse.issparse(X) else (X * X).sum(axis=1)
        self.kappa = float(np.sqrt(np.max(norms)))

    def call(self, name: str, order: np.ndarray, *numbers: Any, n_work: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Run a loop from w = 0; return w and the array beside it."""
        w, work = np.zeros(self.d), np.zeros(n_work * self.d)
        as_c = {float: ctypes.c_double, int: ctypes.c_int64}
        kinds = [as_c.get(type(number), lambda x: x)(number) for number in numbers]
        getattr(self.library, name)(
            ctypes.byref(self.rows), pointer(order), ctypes.c_int64(len(order)), *kinds, pointer(w), pointer(work)
        )
        return w, work

    def solam(self, order: np.ndarray) -> np.ndarray:
        """Return the averaged weights of SOLAM."""
        return self.call("solam", order, STEP, RADIUS, self.kappa)[1]

    def spam(self, order: np.ndarray) -> np.ndarray:
        """Return the averaged weights of SPAM with an L2 penalty."""
        return self.call("spam", order, STEP, BETA, self.p, pointer(self.means))[1]

    def sht(self, order: np.ndarray) -> np.ndarray:
        """Return the weights of SHT-AUC with one block."""
        gamma = self.p * (1 - self.p)
        return self.call("sht_auc", order, 1, gamma, 50, self.p, pointer(self.means), n_work=2)[0]


def orders(n_rows: int, passes: int) -> np.ndarray:
    """Return the rows of several passes, in the orders that `fit` draws with random_state=0."""
    rng = np.random.RandomState(0)
    return np.concatenate([row_order(n_rows, None, True, 0.0, rng)[0] for _ in range(passes)]).astype(np.int64)


class Case(NamedTuple):
    """An algorithm on both sides.

    Attributes
    ----------
    name : str
        What the table calls it.
    make : callable
        Returns our estimator for a number of passes.
    loop : callable
        The C loop.
    by_row : bool
        Whether its steps are on single rows.
    work : float
        Our multiply-adds over those of the C loop.
    agrees : bool
        Whether both sides have the same weights in the end.
    """

    name: str
    make: Callable[[int], Any]
    loop: Callable[[np.ndarray], np.ndarray]
    by_row: bool
    work: float = 1.0
    agrees: bool = True


def cases(loops: Loops) -> list[Case]:
    """Return the algorithms in both variants."""
    paper = {"variant": "paper", "random_state": 0}
    d, n, is_sparse = loops.d, loops.row_length, loops.is_sparse
    read = 2.0 if not is_sparse else 1 + 2 / n  # multiply-adds for a value of a row that is read: 2 n + 4 on CSR
    return [
        Case("SOLAM", lambda k: SOLAM(radius=RADIUS, eta0=STEP, max_iter=k, **paper), loops.solam, True),
        Case("SPAM", lambda k: SPAM(alpha=BETA, eta0=STEP, max_iter=k, **paper), loops.spam, True),
        Case("SHT-AUC", lambda k: SHTAUC(n_nonzero=50, n_blocks=1, max_iter=k, **paper), loops.sht, False),
        Case(
            "SOLAM, adaptive",
            lambda k: SOLAM(max_iter=k, random_state=0),
            loops.solam,
            True,
            (2 * n * read + 2 * d) / (2 * n + 2 * d),
            False,
        ),
        Case(
            "SPAM, adaptive",
            lambda k: SPAM(alpha=BETA, max_iter=k, random_state=0),
            loops.spam,
            True,
            (2 * n * read + 4 * d) / (2 * n + 4 * d),
            False,
        ),
        Case(
            "SHT-AUC, adaptive",
            lambda k: SHTAUC(n_nonzero=50, n_blocks=1, max_iter=k),
            loops.sht,
            False,
            3 * n * read / (2 * n),
            False,
        ),
    ]


def compare(table: Table, data: str, X: Any, y: np.ndarray, library: ctypes.CDLL, repeats: int) -> None:
    """Report the ratios of all algorithms on one data set."""
    loops = Loops(library, X, y)
    few, many = 2, 12
    for name, make, loop, by_row, work, agrees in cases(loops):
        visits = {n: orders(len(y), n) if by_row else np.zeros(n, dtype=np.int64) for n in (few, FIT_PASSES, many)}
        found, expected = make(FIT_PASSES).fit(X, y).coef_[0], loop(visits[FIT_PASSES])
        gap = np.abs(found - expected).max() / np.abs(expected).max()
        if agrees and gap > 1e-6:
            raise AssertionError(f"{name} on {data}: the weights of the two sides differ by {gap:.1e}.")
        times: dict[tuple[int, bool], list[float]] = {(n, ours): [] for n in visits for ours in (True, False)}
        for _ in range(repeats):
            for n, order in visits.items():
                times[n, True].append(seconds(partial(lambda make, n: make(n).fit(X, y), make, n)))
                times[n, False].append(seconds(partial(loop, order)))
        middle = {key: median(values) for key, values in times.items()}
        epoch = ((middle[many, side] - middle[few, side]) / (many - few) for side in (True, False))
        for what, ours, theirs, bar in (
            ("an epoch", *epoch, EPOCH_BAR),
            (f"a fit of {FIT_PASSES} passes", middle[FIT_PASSES, True], middle[FIT_PASSES, False], FIT_BAR),
        ):
            ratio, per = ours / theirs / work, "" if work == 1 else ", per multiply-add"
            value = f"{ratio:.2f} ({1000 * ours:.1f} to {1000 * theirs:.1f} ms)"
            table.report(f"{name}, {what} on {data}{per}: times C", value, f"<= {bar}", ratio <= bar)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        sys.exit("There is no C compiler here.")
    library = compile_loops(compiler)
    table = Table("what", "measured (ours to C)", "bar")
    with threadpool_limits(1):
        if "a9a" in available():
            X, y = load("a9a")
            compare(table, f"a9a ({X.shape[0]:,} x {X.shape[1]}, CSR)", X, y, library, arguments.repeats)
        rng = np.random.default_rng(0)
        X = rng.standard_normal((100_000, 54)) / np.sqrt(54)
        y = (X[:, 0] + 0.1 * rng.standard_normal(len(X)) > 0.15).astype(int)
        compare(table, "100,000 x 54 dense rows", X, y, library, arguments.repeats)
    if arguments.write:
        table.write(arguments.write, "make study NAME=c-loops")


if __name__ == "__main__":
    main()
