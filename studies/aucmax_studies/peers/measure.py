"""Test AUC and training time of AUCClassifier and published algorithms beside the classifiers of other libraries.

    python -m aucmax_studies peers [--names german,a9a] [--write PAGE] [--readme README.md] [--write-only]
    python -m aucmax_studies peers --again AUCClassifier,LogisticRegressionCV  # measured anew, in turn

Competitors are the files of `competitors/`; one that is not installed is skipped, and its name is printed. All
are tuned in the same way, except those that tune themselves:

1. The rows are split by class: up to 5,000 rows into two halves, five times, of which each is the training set once;
   more rows into 80% to train and 20% to test, two or three times (study_data.py).
2. The candidates of a competitor are compared by their mean AUC over three folds of the training rows, of at most
   10,000 of them drawn at random. Those that tune themselves do so on all training rows.
3. The best is fitted to all training rows. Steps 2 and 3 are timed, with the standardisation of columns.

A cell is one competitor on one split. It runs in its own process, with one thread and a time limit. Times are those of
the processor, which other programs disturb less than the time on the wall. Before the clock starts, the competitor is
fitted to a few rows, so that everything is imported and compiled. One that fails on a split is not tried on later
ones. Trees, which are not ranked, run on two splits only. Each cell is saved to studies/results/peers.json as soon
as it ends: a stopped run resumes there, and pages are made from that file alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from aucmax.compare.tuning import auc_of, list_candidates, rank, seeded_estimator
from aucmax.files.atomic_write import write_atomically
from aucmax.papers.registry import Method, plain_name

from .. import RESULTS_DIR
from ..common.machine import describe_machine, find_versions
from ..common.study_data import NAMES, SPLITS, available, half_of, load, n_splits, split, test_share
from ..speed.stochastic import narrow_indices
from .competitors import find_competitors, group
from .page import write_page, write_readme

RESULTS = RESULTS_DIR / "peers.json"
PROTOCOL = {
    "splits": SPLITS,
    "tree_splits": 2,
    "folds": 3,
    "max_tuning_rows": 10_000,
    "limit_seconds": 60,
    "limit_seconds_of_ten_splits": 20,
    "max_dense_gb": 1.0,
}
WARM_UP_ROWS = 500
PATIENCE = 5  # on a busy machine a second of the processor takes up to so many on the wall


# One cell


def measure(competitor: Method, X: Any, y: np.ndarray, number: int) -> dict[str, Any]:
    """Tune, fit and test a competitor on one split, with one thread."""
    if sparse.issparse(X) and not competitor.takes_sparse:
        size = math.prod(X.shape) * 8 / 2**30
        if size > PROTOCOL["max_dense_gb"]:
            raise MemoryError(f"it takes dense rows only, and these would fill {size:.1f} GB")
        X = X.toarray()
    train, test = split(y, number)
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    warm_up(competitor, X_train, y_train, number)
    start = time.process_time()
    parameters = tune(competitor, X_train, y_train, number)
    tuned = time.process_time()
    estimator = build(competitor, X, number, parameters).fit(X_train, y_train)
    end = time.process_time()
    return {
        "auc": auc_of(estimator, X_test, y_test),
        "tuning_seconds": tuned - start,
        "fit_seconds": end - tuned,
        "parameters": plain(parameters),
    }


def build(competitor: Method, X: Any, seed: int, parameters: Any) -> Any:
    """Return the estimator with these parameters, for rows like those of X."""
    return seeded_estimator(competitor, seed, sparse.issparse(X)).set_params(**parameters)


def candidates(competitor: Method) -> list[dict[str, Any]]:
    """Return the parameters to choose from; a competitor that tunes itself has one candidate, without parameters."""
    return list_candidates(competitor.grid, sys.maxsize, None)


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters under their names in the competitor, without that of a step of a pipeline."""
    return {plain_name(name): value for name, value in parameters.items()}


def sample_by_class(y: np.ndarray, n_rows: int, seed: int) -> np.ndarray:
    """Return the indices of at most `n_rows` rows, drawn at random with the same share of each class."""
    rows = np.arange(len(y))
    return rows if len(y) <= n_rows else train_test_split(rows, train_size=n_rows, stratify=y, random_state=seed)[0]


def warm_up(competitor: Method, X: Any, y: np.ndarray, seed: int) -> None:
    """Fit to a few rows, so that libraries are imported and kernels compiled; failures do not matter."""
    rows = sample_by_class(y, WARM_UP_ROWS, seed)
    try:
        auc_of(build(competitor, X, seed, candidates(competitor)[0]).fit(X[rows], y[rows]), X[rows], y[rows])
    except Exception:  # the timed fit will report it
        return


def tune(competitor: Method, X: Any, y: np.ndarray, seed: int) -> Any:
    """Return the candidate of the highest mean AUC over folds of some of the rows."""
    tried = candidates(competitor)
    if len(tried) == 1:  # no rows are drawn while the clock runs
        return tried[0]
    rows = sample_by_class(y, PROTOCOL["max_tuning_rows"], seed)
    folds = StratifiedKFold(PROTOCOL["folds"], shuffle=True, random_state=seed)
    failures = (Exception,)  # libraries have their own errors, and a candidate may diverge
    return rank(partial(build, competitor, X, seed), tried, X[rows], y[rows], folds, failures)[0]


def in_a_process(function: Callable[[], dict[str, Any]], limit: float) -> dict[str, Any]:
    """Return what a function returns in a new process, or the reason of its failure as "failure".

    The limit is in seconds of the processor; a process that waits is stopped after `PATIENCE` times as long.
    """
    context = multiprocessing.get_context("fork")  # shares the data without a copy
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(function, limit, theirs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads, which only BLAS has here
        process.start()
    theirs.close()
    too_slow = {"failure": f"not done after {limit:g} seconds"}
    try:
        return ours.recv() if ours.poll(PATIENCE * limit) else too_slow
    except EOFError:
        process.join()
        ended = {"failure": f"its process ended with exit code {process.exitcode}"}
        return too_slow if process.exitcode == -signal.SIGPROF else ended
    finally:
        process.kill()
        process.join()


def _answer(function: Callable[[], dict[str, Any]], limit: float, connection: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which kills this process
    signal.setitimer(signal.ITIMER_PROF, limit)  # ends this process after so many seconds of the processor
    warnings.simplefilter("ignore")
    try:
        with threadpool_limits(1):
            result = function()
    except Exception as error:
        result = {"failure": " ".join(str(error).split()) or type(error).__name__}
    connection.send(result)


# The results


class Results:
    """The file of the results. It is saved after each cell, so that a stopped run can be resumed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: dict[str, Any] = {"protocol": PROTOCOL, "environments": [], "data": {}, "competitors": {}}
        self.kept["cells"] = []
        if path.exists():
            self.kept = read_results(path)
        if self.kept["protocol"] != PROTOCOL:
            raise ValueError(f"{path} was measured by another protocol, {self.kept['protocol']}: move it away.")

    def register(self, competitors: Iterable[Method]) -> None:
        """Record the competitors; the results of one whose candidates have changed are dropped."""
        for each in competitors:
            record = {
                "family": group(each),
                "candidates": [plain(parameters) for parameters in candidates(each)],
                "note": each.note,
            }
            before = self.kept["competitors"].get(each.name, record)
            if before["candidates"] != record["candidates"]:
                self.forget([each.name])
            missing = {"missing": each.missing} if each.missing else {}
            self.kept["competitors"][each.name] = record | missing
        self.save()

    def forget(self, competitors: Sequence[str]) -> None:
        """Drop the cells of some competitors."""
        self.kept["cells"] = [cell for cell in self.kept["cells"] if cell["competitor"] not in competitors]

    def is_done(self, data: str, competitor: str, number: int) -> bool:
        """Return whether a split was measured, or need not be because the competitor failed on another."""
        cells = [cell for cell in self.kept["cells"] if (cell["data"], cell["competitor"]) == (data, competitor)]
        return any(cell["split"] == number or "failure" in cell for cell in cells)

    def add(self, cell: dict[str, Any]) -> None:
        """Add a cell, with its date and environment, and save the file."""
        environments, current = self.kept["environments"], environment()
        if current not in environments:
            environments.append(current)
        stamp = {"date": time.strftime("%Y-%m-%d"), "environment": environments.index(current)}
        self.kept["cells"].append(cell | stamp)
        self.save()

    def save(self) -> None:
        """Write the file, a line for each cell."""
        head = json.dumps({key: value for key, value in self.kept.items() if key != "cells"}, indent=1)
        cells = ",\n  ".join(json.dumps(cell) for cell in self.kept["cells"])
        text = f'{head[:-2]},\n "cells": [\n  {cells}\n ]\n}}\n'
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, lambda file: file.write(text.encode()))


def read_results(path: Path) -> dict[str, Any]:
    """Return the results in a file."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if {"protocol", "environments", "data", "competitors", "cells"} <= set(kept):
            return kept
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{path} is no file of results of the study peers: move it away, or measure into another.")


@cache
def environment() -> dict[str, Any]:
    """Return the versions of all packages and the machine."""
    required = sorted({module for each in find_competitors() if not each.missing for module in each.requires})
    return {"versions": find_versions(*required), "machine": describe_machine()}


# A run


def run(results: Results, names: Sequence[str], competitors: Sequence[Method], most_splits: int | None = None) -> None:
    """Measure the cells that the results lack."""
    results.register(competitors)
    for each in competitors:
        if each.missing:
            print(f"{each.name} is skipped: {', '.join(each.missing)} not installed", file=sys.stderr)
    there = [each for each in competitors if not each.missing]
    import_all(there)
    for name in names:
        X, y = load(name)
        X = narrow_indices(X) if sparse.issparse(X) else X
        record = describe(name, X, y, most_splits)
        results.kept["data"][name] = record
        for number in range(record["splits"]):
            for each in there:
                if number < n_splits_of(each, record) and not results.is_done(name, each.name, number):
                    cell = in_a_process(partial(measure, each, X, y, number), limit_of(record))
                    results.add({"data": name, "competitor": each.name, "split": number} | cell)
                    print(line(name, each.name, number, cell), file=sys.stderr, flush=True)


def import_all(competitors: Iterable[Method]) -> None:
    """Import what the competitors need, once for all processes; OpenMP gets one thread before it starts."""
    os.environ["OMP_NUM_THREADS"] = "1"
    for each in competitors:
        for module in (each.module, *each.requires):
            importlib.import_module(module)


def describe(name: str, X: Any, y: np.ndarray, most_splits: int | None) -> dict[str, Any]:
    """Return what the pages say about a data set and its splits."""
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "sparse": bool(sparse.issparse(X)),
        "positive": float(y.mean()),
        "half": half_of(name),
        "splits": min(n_splits(*X.shape), most_splits or sys.maxsize),
        "test_share": test_share(len(y)),
    }


def n_splits_of(competitor: Method, record: Mapping[str, Any]) -> int:
    """Return the number of splits of a data set that a competitor is measured on."""
    return min(record["splits"], PROTOCOL["tree_splits"]) if group(competitor) == "trees" else record["splits"]


def limit_of(record: Mapping[str, Any]) -> float:
    """Return the seconds that a split may take; where there are ten, each has less time."""
    return PROTOCOL["limit_seconds_of_ten_splits" if record["test_share"] == 0.5 else "limit_seconds"]


def line(data: str, competitor: str, number: int, cell: dict[str, Any]) -> str:
    """Return a line of the log about a cell."""
    head = f"{data:23} {number} {competitor:26}"
    if "failure" in cell:
        return f"{head} {cell['failure']}"
    return f"{head} {cell['auc']:.4f} {cell['tuning_seconds']:7.2f} + {cell['fit_seconds']:.2f} s {cell['parameters']}"


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def check_known(kind: str, names: Sequence[str], known: Iterable[str]) -> None:
    """Raise a ValueError for a name that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"There is no {kind} {name!r}; there are {', '.join(known)}.")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=split_commas, help="data sets, separated by commas; all if left out")
    parser.add_argument("--competitors", type=split_commas, help="measure and show only these, separated by commas")
    parser.add_argument("--again", type=split_commas, default=[], help="competitors to measure again")
    parser.add_argument("--splits", type=int, help="the most splits of each data set; by its size if left out")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of the results")
    parser.add_argument("--write", type=Path, help="put the tables into this page, and the figure beside it")
    parser.add_argument("--readme", type=Path, help="put the short table into this page")
    parser.add_argument("--write-only", action="store_true", help="measure nothing")
    chosen = parser.parse_args(arguments)
    try:
        if not chosen.write_only:
            competitors = find_competitors()
            known = [each.name for each in competitors]
            names = chosen.names or available()
            check_known("data set", names, NAMES)
            check_known("competitor", [*(chosen.competitors or ()), *chosen.again], known)
            wanted = [each for each in competitors if each.name in (chosen.competitors or known)]
            results = Results(chosen.results)
            results.forget(chosen.again)
            run(results, names, wanted, chosen.splits)
        kept = read_results(chosen.results)
        if chosen.competitors:
            kept["cells"] = [cell for cell in kept["cells"] if cell["competitor"] in chosen.competitors]
        if chosen.write:
            write_page(chosen.write, kept)
        if chosen.readme:
            write_readme(chosen.readme, kept)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped; the next run resumes from here.")


if __name__ == "__main__":
    main()
