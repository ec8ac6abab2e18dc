"""The table classifier beside logistic regression, trees and EBM: test AUC and training time on the same splits.

    python -m aucmax_studies tables [--names adult,taxi] [--models ladder,EBM] [--again] [--untimed | --time-only]
                                [--write docs/measured/tables.md] [--write-only]

A. The raw tables of the folder of data, as pandas reads them: text, numbers, dates, truth values and missing cells; at
most 20,000 rows, and three folds stratified by class. Tables at odd places of the sorted list of names are for choices,
the others for the verdict.

B. The numeric sets of the folder with at most 300 columns, of which at most 10,000 rows are drawn. Three quarters of
the rows train and one quarter tests, split by class at random, twice; EBM runs on the first split alone.

`TableClassifier` is fitted to the raw frame: the ladder, which chooses its terms, and each rung alone: lines and curves
without folds, and pairs with the folds that choose their number. On numeric sets it is lines and the ladder, and
"linear" is `AUCClassifier`. The rivals have columns of numbers, dates as days, and categories, where text with more
levels than half of the rows is left out. Logistic regression and `AUCClassifier` have categories one-hot, with levels
of fewer than 5 rows as one, means for missing numbers with an indicator, and scaled numbers; the trees and EBM have
categories and missing cells of their own. All have their defaults, but logistic regression has up to 1,000 iterations.
Logistic CV chooses among 10 penalties, and LightGBM tuned in a grid of 24 points that has the defaults, both by the AUC
of five shuffled folds.

A cell is one model on one split, with one thread. Its time is that of the processor, after a fit to a few rows that
imports and compiles everything. Each cell is saved to studies/results/tables.json as soon as it ends: a stopped run
resumes there, and the page is made from that file. With `--untimed`, for a busy machine, a cell has the AUC alone, and
the time that it had before. `--time-only` measures the times on the first fold of each table of A, table by table. A
model whose library is missing is left out.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from aucmax import roc_auc
from aucmax.files.atomic_write import write_atomically

from .. import RESULTS_DIR
from ..common.machine import describe_machine, find_versions
from .table_data import N_FOLDS, half_of, load, numeric_names, splits, table_names
from .table_models import NUMERIC_RIVALS, OURS, RIVALS
from .table_page import make_page

RESULTS = RESULTS_DIR / "tables.json"
OPTIONAL = ("lightgbm", "interpret-core")
WARM_UP_ROWS = 500


def run(names: list[str], models: list[str], again: bool = False, timed: bool = True) -> None:
    """Measure the cells that are not there yet; untimed, they keep the time that they had."""
    for name in names:
        for model in models_of(name, models):
            for number in range(n_splits(name, model)):
                before = read_cells().get(f"{name}/{model}/{number}", {})
                if again or "auc" not in before:
                    update(name, model, number, measure(name, model, number, timed))


def run_times(names: list[str], models: list[str], again: bool = False) -> None:
    """Measure the times on the first fold of each table that lacks one, all models of a table in one run."""
    for name in names:
        cells = read_cells()
        chosen = models_of(name, models)
        if again or any("seconds" not in cells.get(f"{name}/{model}/0", {}) for model in chosen):
            for model in chosen:
                figures = measure(name, model, 0, timed=True)
                update(name, model, 0, {key: value for key, value in figures.items() if key == "seconds"})


def models_of(name: str, models: list[str]) -> dict[str, Callable[[], Any]]:
    """Return those of the models that run on a data set."""
    every = {**(RIVALS if name in table_names() else NUMERIC_RIVALS), **OURS}
    return {model: make for model, make in every.items() if model in models}


def n_splits(name: str, model: str) -> int:
    """Return the number of splits that a model runs on."""
    return N_FOLDS if name in table_names() else 1 if model == "EBM" else 2


def measure(name: str, model: str, number: int, timed: bool) -> dict[str, float]:
    """Return the figures of a model on one split, or none if its library is missing."""
    rows = load(name)
    train, test = list(splits(name, rows))[number]
    make = models_of(name, [model])[model]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            fitted = make()
        except ImportError as error:
            print(f"{model}: {error}", flush=True)
            return {}
        if timed:  # the first fit imports and compiles
            few = np.concatenate([train[rows.y[train] == c][: WARM_UP_ROWS // 2] for c in (0, 1)])
            make().fit(rows.X.iloc[few], rows.y[few])
        start = time.process_time()
        fitted.fit(rows.X.iloc[train], rows.y[train])
        seconds = time.process_time() - start
        auc = float(roc_auc(rows.y[test], scores_of(fitted, rows.X.iloc[test])))
    print(f"{name}/{model}/{number}: {auc:.4f}, {seconds:.1f} s", flush=True)
    return {"auc": auc, "seconds": seconds} if timed else {"auc": auc}


def scores_of(model: Any, X: Any) -> np.ndarray:
    """Return decision values, or the probabilities of a model without them."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


# The results


def read_cells() -> dict[str, dict[str, float]]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))["cells"] if RESULTS.exists() else {}


def update(name: str, model: str, number: int, figures: dict[str, float]) -> None:
    """Save new figures of a cell."""
    if not figures:
        return
    cells, key = read_cells(), f"{name}/{model}/{number}"
    cells[key] = cells.get(key, {}) | figures
    versions = find_versions("pandas", *(library for library in OPTIONAL if find_spec(library.partition("-")[0])))
    halves = {table: half_of(table) for table in table_names()}
    found = {
        "machine": describe_machine(),
        "versions": versions,
        "halves": halves,
        "cells": dict(sorted(cells.items())),
    }
    write_atomically(RESULTS, lambda file: file.write((json.dumps(found, indent=1) + "\n").encode()))


def main(arguments: list[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="data sets, with commas; all if left out")
    parser.add_argument("--models", help="models, with commas; all if left out")
    parser.add_argument("--again", action="store_true", help="measure anew what is there already")
    parser.add_argument("--untimed", action="store_true", help="the machine is busy: keep the times that are there")
    parser.add_argument("--time-only", action="store_true", help="time the models on the first fold of each table")
    parser.add_argument("--write", type=Path, help="write the page")
    parser.add_argument("--write-only", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    names = options.names.split(",") if options.names else [*table_names(), *numeric_names()]
    models = options.models.split(",") if options.models else [*RIVALS, *NUMERIC_RIVALS, *OURS]
    if options.time_only:
        run_times([name for name in names if name in table_names()], models, options.again)
    elif not options.write_only:
        run(names, models, options.again, timed=not options.untimed)
    if options.write:
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
        options.write.write_text(make_page(found, about=__doc__.split("\n\n", 2)[2]), encoding="utf-8")


if __name__ == "__main__":
    main()
