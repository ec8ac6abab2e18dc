"""Scorecards beside optbinning's: test AUC over the number of lines.

    python -m aucmax_studies cards [--names adult,taxi] [--splits 3] [--write docs/measured/cards.md] [--write-only]

The raw tables of the folder of data, with the splits of the study `tables`, and a generated table of 10,000 credits.
Tables at odd places of the sorted list of names are for choices, the others for the verdict.

Ours are `Scorecard(TableClassifier().fit(X, y), max_lines)`: whole points, 20 of which double the odds. The peer is
optbinning's `BinningProcess`, weights of evidence of optimal bins, and a logistic regression of them: for each of
several `max_n_bins`, the m columns of the highest information value, for every m. Missing cells have their own weight
of evidence, which is a line if there are any. Of all cards that have at most so many lines, the one with the highest
AUC in three folds of the training rows is fitted to all of them. Its points are not rounded.

A cell is one table and split. Each is saved to studies/results/cards.json as soon as it ends: a stopped run resumes
there, and the page is made from that file. optbinning must be installed, in any version of Python that it supports.
"""

from __future__ import annotations

import argparse
import json
import runpy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from aucmax import Scorecard, TableClassifier, roc_auc
from aucmax.files.atomic_write import write_atomically

from .. import RESULTS_DIR, ROOT
from ..common.machine import describe_machine, find_versions
from .table_data import N_FOLDS, Rows, half_of, load, splits, table_names
from .table_models import TypedFrame

RESULTS = RESULTS_DIR / "cards.json"
CREDIT, N_CREDITS = "credit", 10_000
LINES = (10, 15, 20, 30, 40, 60, 80)
JUDGED = (20, 40, 60)
MAX_N_BINS = (2, 3, 4, 6, 10)
N_INNER = 3
OURS, PEER, MODEL = "aucmax", "optbinning", "the whole model"


# The rows


def load_credits() -> Rows:
    """Return the generated table of credits, read: numbers without signs, dates as pandas reads them."""
    module = runpy.run_path(str(ROOT / "tests" / "tables" / "credit.py"))
    frame = pd.DataFrame(module["draw_credits"](N_CREDITS), columns=module["HEADER"]).replace([*module["GAPS"]], np.nan)
    y = (frame.pop("bad") == "yes").to_numpy().astype(np.int64)
    for name in ("income", "amount", "rate", "age"):
        frame[name] = frame[name].str.strip("$%").str.replace(",", "").astype(np.float64)
    frame["since"] = pd.to_datetime(frame["since"], format="%d/%m/%Y").dt.strftime("%Y-%m-%d")
    return Rows(frame.drop(columns="loan_id"), y)


def rows_of(name: str) -> Rows:
    return load_credits() if name == CREDIT else load(name)


def splits_of(name: str, rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
    if name == CREDIT:
        return list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(rows.X, rows.y))
    return list(splits(name, rows))


# The peer


class Binned:
    """Optimal bins of some rows, columns by falling information value."""

    def __init__(self, X: pd.DataFrame, y: np.ndarray, max_n_bins: int) -> None:
        from optbinning import BinningProcess

        categories = [name for name in X if X[name].dtype == "category"]
        self.process = BinningProcess([*X], categorical_variables=categories, max_n_bins=max_n_bins)
        self.process.fit(plain(X), y)
        tables = {name: self.process.get_binned_variable(name).binning_table.build() for name in X}
        values = {name: float(table.loc["Totals", "IV"]) for name, table in tables.items()}
        self.names = sorted(values, key=lambda name: -values[name])
        counts = [int((tables[name].drop("Totals")["Count"] > 0).sum()) for name in self.names]
        self.lines = np.cumsum(counts)

    def weights(self, X: pd.DataFrame) -> np.ndarray:
        """Return the weights of evidence, columns by falling information value."""
        found = self.process.transform(plain(X), metric="woe", metric_missing="empirical", metric_special="empirical")
        return np.nan_to_num(found[self.names].to_numpy(dtype=np.float64))


def plain(X: pd.DataFrame) -> pd.DataFrame:
    """Return categories as texts."""
    return X.apply(lambda cells: cells.astype(object) if cells.dtype == "category" else cells)


def score(train: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the scores of a logistic regression."""
    return LogisticRegression(max_iter=1000).fit(train, y).decision_function(test)


def peer_cards(X: pd.DataFrame, y: np.ndarray, T: pd.DataFrame, labels: np.ndarray) -> dict[str, Any]:
    """Return the lines and the test AUC of the best card of at most each number of lines."""
    cards = []
    folds = list(StratifiedKFold(N_INNER, shuffle=True, random_state=0).split(X, y))
    for max_n_bins in MAX_N_BINS:
        held_out = np.zeros(X.shape[1])
        for inner, outer in folds:
            binned = Binned(X.iloc[inner], y[inner], max_n_bins)
            Z, V = binned.weights(X.iloc[inner]), binned.weights(X.iloc[outer])
            for m in range(1, X.shape[1] + 1):
                held_out[m - 1] += roc_auc(y[outer], score(Z[:, :m], y[inner], V[:, :m])) / N_INNER
        binned = Binned(X, y, max_n_bins)
        cards += [
            (float(auc), int(n), binned, m) for m, (auc, n) in enumerate(zip(held_out, binned.lines, strict=True), 1)
        ]
    found: dict[str, Any] = {}
    for n in LINES:
        fitting = [card for card in cards if card[1] <= n]
        if fitting:
            _, lines, binned, m = max(fitting, key=lambda card: card[0])
            test = score(binned.weights(X)[:, :m], y, binned.weights(T)[:, :m])
            found[str(n)] = [lines, float(roc_auc(labels, test))]
    return found


def our_cards(X: pd.DataFrame, y: np.ndarray, T: pd.DataFrame, labels: np.ndarray) -> dict[str, Any]:
    """Return the lines and the test AUC of our cards, of the automatic one, and of the model."""
    model = TableClassifier().fit(X, y)
    sizes: dict[str, Any] = {str(n): n for n in LINES} | {"auto": "auto"}
    found: dict[str, Any] = {}
    for name, n in sizes.items():
        card = Scorecard(model, n)
        found[name] = [card.n_lines, float(roc_auc(labels, card.score(T)))]
    return found | {MODEL: [0, float(roc_auc(labels, model.decision_function(T)))]}


# The results


def run(names: Sequence[str], n_splits: int) -> None:
    """Measure the cells that are not there yet."""
    for number in range(n_splits):
        for name in names:
            for who, measure in ((OURS, our_cards), (PEER, peer_cards)):
                key = f"{name}/{who}/{number}"
                if key in read_cells():
                    continue
                rows = rows_of(name)
                train, test = splits_of(name, rows)[number]
                X, T = rows.X.iloc[train], rows.X.iloc[test]
                if who == PEER:
                    typed = TypedFrame().fit(X)
                    X, T = typed.transform(X), typed.transform(T)
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    try:
                        figures = measure(X, rows.y[train], T, rows.y[test])
                    except ImportError as error:
                        print(f"{who}: {error}", flush=True)
                        continue
                print(key, {n: round(auc, 4) for n, (_, auc) in figures.items()}, flush=True)
                save(key, figures)


def read_cells() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))["cells"] if RESULTS.exists() else {}


def save(key: str, figures: dict[str, Any]) -> None:
    """Save a new cell."""
    found = {
        "machine": describe_machine(),
        "versions": find_versions("pandas", "optbinning"),
        "halves": {name: half_of(name) for name in table_names()} | {CREDIT: "neither"},
        "cells": dict(sorted((read_cells() | {key: figures}).items())),
    }
    write_atomically(RESULTS, lambda file: file.write((json.dumps(found, indent=1) + "\n").encode()))


# The page


def figures(cells: Mapping[str, Any], names: Sequence[str], who: str, n: str) -> np.ndarray:
    """Return the mean AUC of a method's cards of at most n lines on each table, over the splits of both methods."""
    found = []
    for name in names:
        both = [key.rpartition("/")[2] for key in cells if key.startswith(f"{name}/{PEER}/")]
        found.append(np.mean([cells[f"{name}/{who}/{split}"][n][1] for split in both]))
    return np.array(found)


def make_page(found: Mapping[str, Any], about: str, figure: str) -> str:
    """Return docs/measured/cards.md from the results, and what the study says about itself."""
    cells, half_of_each = found["cells"], found["halves"]
    halves = {"all": measured(found)} | {half: measured(found, half) for half in ("choice", "verdict")}
    names = halves["all"]
    versions = ", ".join(f"{library} {version}" for library, version in found["versions"].items())
    lines = ["# Scorecards beside optbinning's", "", "Made by `make study NAME=cards`.", "", about]
    lines += [f"{found['machine']}; {versions}.", "", f"![Mean test AUC over the number of lines]({figure})", ""]
    for half, ours in halves.items():
        for n in map(str, JUDGED):
            gap = figures(cells, ours, OURS, n) - figures(cells, ours, PEER, n)
            lines.append(
                f"- With at most {n} lines, the mean lead of our cards is {gap.mean():+.4f} on {len(ours)} tables "
                f"({half}): {np.sum(gap > 0)} better, {np.sum(gap < 0)} worse."
            )
    columns = [(who, str(n)) for n in JUDGED for who in (OURS, PEER)] + [(OURS, "auto"), (OURS, MODEL)]
    titles = [n if n == MODEL else f"{who}, {n}" for who, n in columns]
    lines += ["", f"| | half | lines of auto | {' | '.join(titles)} |", "|---" * (3 + len(columns)) + "|"]
    for k, name in enumerate(names):
        aucs = [f"{figures(cells, names, who, n)[k]:.4f}".removeprefix("0") for who, n in columns]
        auto = [cells[key]["auto"][0] for key in cells if key.startswith(f"{name}/{OURS}/")]
        lines.append(f"| {name} | {half_of_each[name]} | {np.mean(auto):.0f} | {' | '.join(aucs)} |")
    means = [f"{figures(cells, names, who, n).mean():.4f}".removeprefix("0") for who, n in columns]
    lines.append(f"| mean | | | {' | '.join(means)} |")
    return "\n".join([*lines, ""])


def measured(found: Mapping[str, Any], half: str | None = None) -> list[str]:
    """Return the tables, of one half or all, on which both methods were measured."""
    names = [name for name, each in found["halves"].items() if half in (None, each)]
    return [name for name in names if f"{name}/{PEER}/0" in found["cells"]]


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Draw the mean AUC over the number of lines, on each half."""
    import matplotlib
    from matplotlib.figure import Figure

    cells = found["cells"]
    with matplotlib.rc_context({"svg.hashsalt": "aucmax", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(7.5, 3.2), layout="constrained")
        for axes, half in zip(figure.subplots(1, 2), ("choice", "verdict"), strict=True):
            ours = measured(found, half)
            for who, colour in ((OURS, "#c8511b"), (PEER, "#53616f")):
                means = [figures(cells, ours, who, str(n)).mean() for n in LINES]
                axes.plot(LINES, means, color=colour, marker="o", markersize=4, label=f"{who}, cards")
            whole = figures(cells, ours, OURS, MODEL).mean()
            axes.axhline(whole, color="#c8511b", linewidth=0.8, linestyle=":", label="aucmax, every step")
            axes.set_title(f"{half} half, {len(ours)} tables", fontsize=9)
            axes.set_xlabel("lines, at most")
            axes.grid(linewidth=0.4, alpha=0.5)
            axes.spines[["top", "right"]].set_visible(False)
        figure.axes[0].set_ylabel("mean test AUC")
        figure.axes[0].legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


def main(arguments: list[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="tables, with commas; all if left out")
    parser.add_argument("--splits", type=int, default=N_FOLDS, help="how many splits of each table")
    parser.add_argument("--write", type=Path, help="write the page and its figure")
    parser.add_argument("--write-only", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if not options.write_only:
        run(options.names.split(",") if options.names else [*table_names(), CREDIT], options.splits)
    if options.write:
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
        figure = options.write.with_suffix(".svg")
        options.write.write_text(make_page(found, __doc__.split("\n\n", 2)[2], figure.name), encoding="utf-8")
        draw(found, figure)


if __name__ == "__main__":
    main()
