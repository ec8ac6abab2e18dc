"""Additive models beside linear ones, trees and EBM: test AUC and training time on the same splits.

    python -m aucmax_studies tables [--names adult,telco] [--models additive,EBM] [--again] [--untimed]
                                [--write docs/measured/tables.md] [--write-only]

The rows are those of two tables of mixed types, Adult and Telco churn, and of the numeric sets of the folder of data
with at most 300 columns, of which at most 10,000 rows are drawn. Three quarters of the rows train and one quarter
tests, split by class at random: five times for Telco, twice for the others. All libraries have their defaults. The
linear model has the same table, with categories one-hot and the mean for missing values. A cell is one model on one
split, with one thread; its time is that of the processor, after a fit to a few rows that imports and compiles
everything. EBM takes minutes: it runs on at most two splits of the tables and one of each other set. Each cell is saved
to studies/results/tables.json as soon as it ends: a stopped run resumes there, and the page is made from that file.
With `--untimed`, for a busy machine, a cell has the AUC alone, and the time that it had before.

Defaults (numbers of bins and groups, the ridges, the test for pairs) were chosen on the sets marked with a star, by the
test AUC of these same splits, so their figures flatter; the others judge. The test for pairs was replaced once after a
first look at all sets, because it chose pairs too easily.
"""

from __future__ import annotations

import argparse
import bz2
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from aucmax import AdditiveAUCClassifier, AUCClassifier, roc_auc
from aucmax.files.atomic_write import write_atomically

from .. import RESULTS_DIR
from ..common import realdata
from ..common.machine import describe_machine, find_versions

RESULTS = RESULTS_DIR / "tables.json"
MAX_ROWS, MAX_COLUMNS, WARM_UP_ROWS = 10_000, 300, 500
CHOSEN_ON = ("adult", "telco", "diabetes", "german", "higgs", "letter", "magic04", "spambase", "svmguide3")
SPLITS = {"telco": 5}  # two for the others
LEFT_OUT = ("vowel-train", "splice", "a9a", "w8a")  # parts of others, and columns that are all 0 or 1
# Mean test AUC in the README of InterpretML, as printed there; splits of its own.
PUBLISHED = {
    "adult": {"EBM": 0.928, "XGBoost": 0.927, "logistic regression": 0.907},
    "telco": {"EBM": 0.852, "XGBoost": 0.828, "logistic regression": 0.849},
}
TREES_LEAD = 0.005  # the AUC by which LightGBM must lead the linear model


class Rows(NamedTuple):
    """A data set: values with NaN where missing, which columns are categories, and labels."""

    X: np.ndarray
    categorical: np.ndarray
    y: np.ndarray


def load_table(name: str) -> Rows:
    """Return a table of mixed types: words become codes."""
    import pandas as pd

    table = realdata.TABLES[name]
    files = [table.file, *(["tables/adult_test.csv.bz2"] if name == "adult" else [])]
    parts = []
    for file in files:
        with bz2.open(realdata.DATA_DIR / file, "rt", encoding="utf-8") as text:
            parts.append(pd.read_csv(text, skipinitialspace=True, na_values=["?", "", " "]))
    frame = pd.concat(parts, ignore_index=True).drop(columns=list(table.dropped))
    y = frame.pop(table.target).str.rstrip(".") == table.positive
    categorical = np.array([not pd.api.types.is_numeric_dtype(frame[column]) for column in frame])
    columns = [
        frame[column].astype("category").cat.codes.replace(-1, np.nan) if words else frame[column]
        for column, words in zip(frame, categorical, strict=True)
    ]
    return Rows(np.column_stack(columns).astype(np.float64), categorical, y.to_numpy().astype(np.int64))


def load(name: str) -> Rows:
    """Return a data set by its name."""
    if name in realdata.TABLES:
        return load_table(name)
    X, y = realdata.load(name, max_rows=MAX_ROWS)
    X = X.toarray() if hasattr(X, "toarray") else X
    return Rows(np.asarray(X, dtype=np.float64), np.zeros(X.shape[1], dtype=bool), y)


def names() -> list[str]:
    """Return the names of the data sets: the tables, then the numeric ones, small ones first."""
    numeric = [name for name in realdata.available() if realdata.SOURCES[name].columns <= MAX_COLUMNS]
    return [*realdata.TABLES, *(name for name in numeric if name not in LEFT_OUT)]


# The models: each makes an estimator for a mask of categories.


def linear(categorical: np.ndarray) -> Any:
    numbers = SimpleImputer(), np.flatnonzero(~categorical)
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False), np.flatnonzero(categorical)
    return make_pipeline(make_column_transformer(numbers, words), AUCClassifier())


def light_gbm(categorical: np.ndarray) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, categorical_feature=np.flatnonzero(categorical).tolist())


class EBM:
    """EBM of `interpret`, which takes categories as words."""

    def __init__(self, categorical: np.ndarray) -> None:
        from interpret.glassbox import ExplainableBoostingClassifier

        kinds = ["nominal" if words else "continuous" for words in categorical]
        self.model, self.categorical = ExplainableBoostingClassifier(feature_types=kinds, n_jobs=1), categorical

    def words(self, X: np.ndarray) -> np.ndarray:
        """Return the categories as words."""
        X = X.astype(object)
        for j in np.flatnonzero(self.categorical):
            X[:, j] = [None if value != value else f"level {value:g}" for value in X[:, j]]
        return X

    def fit(self, X: np.ndarray, y: np.ndarray) -> EBM:
        """Fit the model."""
        self.model.fit(self.words(X), y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities."""
        return self.model.predict_proba(self.words(X))


MODELS: dict[str, Callable[[np.ndarray], Any]] = {
    "linear": linear,
    "additive": lambda categorical: AdditiveAUCClassifier(categorical_features=categorical),
    "additive with pairs": lambda categorical: AdditiveAUCClassifier(categorical_features=categorical, pairs="auto"),
    "LightGBM": light_gbm,
    "HistGradientBoosting": lambda categorical: HistGradientBoostingClassifier(categorical_features=categorical),
    "EBM": EBM,
}


def measure(model: Callable[[np.ndarray], Any], rows: Rows, number: int, n_splits: int) -> dict[str, float]:
    """Fit and test a model on one split."""
    folds = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=0)
    train, test = list(folds.split(rows.X, rows.y))[number]
    few = np.concatenate([train[rows.y[train] == c][: WARM_UP_ROWS // 2] for c in (0, 1)])
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model(rows.categorical).fit(rows.X[few], rows.y[few])
        start = time.process_time()
        fitted = model(rows.categorical).fit(rows.X[train], rows.y[train])
        seconds = time.process_time() - start
        scores = fitted.predict_proba(rows.X[test])[:, 1]
    return {"auc": float(roc_auc(rows.y[test], scores)), "seconds": seconds}


def run(chosen: list[str], models: list[str], again: bool, untimed: bool) -> None:
    """Measure the cells that are not there yet."""
    for name in chosen:
        rows = None
        for model in models:
            n_splits = SPLITS.get(name, 2)
            n_run = n_splits if model != "EBM" else 2 if name in realdata.TABLES else 1
            for number in range(n_run):
                key = f"{name}/{model}/{number}"
                if key in read_cells() and not again:
                    continue
                rows = rows or load(name)
                cell = measure(MODELS[model], rows, number, n_splits)
                print(f"{key}: {cell['auc']:.4f}, {cell['seconds']:.1f} s", flush=True)
                if untimed:
                    before = read_cells().get(key, {})
                    cell = {name: value for name, value in cell.items() if name != "seconds"}
                    cell |= {"seconds": before["seconds"]} if "seconds" in before else {}
                save({**read_cells(), key: cell})


def read_cells() -> dict[str, dict[str, float]]:
    return json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else {}


def save(cells: dict[str, dict[str, float]]) -> None:
    versions = find_versions("lightgbm", "interpret-core")
    found = {"machine": describe_machine(), "versions": versions, "cells": dict(sorted(cells.items()))}
    write_atomically(RESULTS, lambda file: file.write((json.dumps(found, indent=1) + "\n").encode()))


# The page


def mean_of(name: str, model: str, key: str, beside: str | None = None) -> float:
    """Return the mean of a figure over the splits of a set, or over those of another model; NaN if there is none."""
    cells = read_cells()
    ran = [k for k in range(5) if f"{name}/{beside or model}/{k}" in cells]
    found = [cells[each][key] for k in ran if key in cells.get(each := f"{name}/{model}/{k}", {})]
    return float(np.mean(found)) if found else float("nan")


def show(figure: float, form: str = ".4f") -> str:
    return "" if np.isnan(figure) else f"{figure:{form}}".removeprefix("0" if form in (".3f", ".4f") else "")


def starred(name: str) -> str:
    return f"{name} *" if name in CHOSEN_ON else name


def table_of(key: str, form: str, chosen: list[str]) -> list[str]:
    """Return the rows of a table of all sets and models but EBM, which ran on fewer splits."""
    models = [model for model in MODELS if model != "EBM"]
    lines = [f"| | {' | '.join(models)} |", f"|---{'|---' * len(models)}|"]
    for name in chosen:
        lines.append(f"| {starred(name)} | {' | '.join(show(mean_of(name, model, key), form) for model in models)} |")
    return lines


def table_beside_ebm(chosen: list[str]) -> list[str]:
    """Return the rows of a table of the splits that EBM ran on."""
    models = ("additive", "additive with pairs", "LightGBM", "EBM")
    lines = [f"| | {' | '.join(models)} | EBM's time to that with pairs |", f"|---{'|---' * len(models)}|---|"]
    for name in chosen:
        aucs = [show(mean_of(name, model, "auc", "EBM")) for model in models]
        lines.append(f"| {starred(name)} | {' | '.join(aucs)} | {show(time_ratio(name), '.0f')} |")
    return lines


def time_ratio(name: str) -> float:
    """Return how many times as long as the additive model with pairs EBM takes."""
    return mean_of(name, "EBM", "seconds") / mean_of(name, "additive with pairs", "seconds", "EBM")


def closed(chosen: list[str], model: str) -> tuple[int, float]:
    """Return the number of sets where trees lead, and the share of their mean gap that a model closes."""
    auc = {each: np.array([mean_of(name, each, "auc") for name in chosen]) for each in ("linear", "LightGBM", model)}
    gaps = auc["LightGBM"] - auc["linear"]
    lead = gaps > TREES_LEAD
    return int(lead.sum()), float((auc[model] - auc["linear"])[lead].sum() / gaps[lead].sum())


def page() -> str:
    """Return docs/measured/tables.md."""
    found = json.loads(RESULTS.read_text())
    measured = [name for name in names() if not np.isnan(mean_of(name, "linear", "auc"))]
    judged = [name for name in measured if name not in CHOSEN_ON]
    with_ebm = [name for name in measured if not np.isnan(mean_of(name, "EBM", "auc"))]
    lines = ["# Additive models on tables", "", "Made by `make study NAME=tables`.", "", __doc__.split("\n\n", 2)[2]]
    versions = ", ".join(f"{library} {version}" for library, version in found["versions"].items())
    lines += [f"{found['machine']}; {versions}.", ""]
    for title, which in (("all sets", measured), ("the sets without a star", judged)):
        n_sets, alone = closed(which, "additive")
        _, paired = closed(which, "additive with pairs")
        lines.append(
            f"- LightGBM leads the linear model by more than {TREES_LEAD} on {n_sets} of {title}. Of the mean gap "
            f"there, the additive model closes {alone:.0%}, and with pairs {paired:.0%}."
        )
    ratios = [time_ratio(name) for name in with_ebm if not np.isnan(time_ratio(name))]
    lines.append(
        f"- EBM takes {np.median(ratios):.0f} times as long as the additive model with pairs (median of the "
        f"{len(ratios)} sets on which both were timed; at least {min(ratios):.0f} times)."
    )
    for name, aucs in PUBLISHED.items():
        each = ", ".join(f"{model} {show(auc, '.3f')}" for model, auc in aucs.items())
        lines.append(f"- Published for {name}, on other splits: {each}.")
    lines += ["", "## Test AUC", "", *table_of("auc", ".4f", measured), ""]
    lines += ["## Test AUC on the splits that EBM ran on", "", *table_beside_ebm(with_ebm), ""]
    return "\n".join([*lines, "## Seconds to train", "", *table_of("seconds", ".2f", measured), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="data sets, with commas; all if left out")
    parser.add_argument("--models", help="models, with commas; all if left out")
    parser.add_argument("--again", action="store_true", help="measure anew what is there already")
    parser.add_argument("--untimed", action="store_true", help="the machine is busy: keep the times that are there")
    parser.add_argument("--write", type=Path, help="write the page")
    parser.add_argument("--write-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    chosen = arguments.names.split(",") if arguments.names else names()
    models = arguments.models.split(",") if arguments.models else list(MODELS)
    if not arguments.write_only:
        run(chosen, models, arguments.again, arguments.untimed)
    if arguments.write:
        arguments.write.write_text(page())


if __name__ == "__main__":
    main()
