"""All published algorithms with their defaults: AUC over processor time and over passes.

    python -m aucmax_studies published [--names german,vowel] [--splits 2] [--write docs/measured/published.md]
                                       [--write-only]

Every algorithm of `aucmax.papers.ALGORITHMS`, `AUCClassifier()`, and scikit-learn's `LogisticRegressionCV` behind a
`StandardScaler`, all with their defaults, on the same splits. The data sets are the half of the study `peers` on which
no default was chosen, where they have at most 250 columns, which all algorithms take in seconds; of larger ones, 5,000
rows are drawn. Linear models and those on the features of a Gaussian kernel are ranked apart: which kind is better is a
matter of the data. Algorithms that pass over the rows are fitted once more with 1, 2, 5, 10, 20 and 50 passes. Times
are processor seconds of one thread, after a first fit that loads compiled code.

A cell is one data set, method and split. Each is saved to studies/results/published.json as soon as it ends: a stopped
run resumes there, and the page is made from that file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier, KMeansNystroem, roc_auc
from aucmax.files.atomic_write import write_atomically
from aucmax.papers.engine.epochs import StochasticClassifier
from aucmax.papers.registry import ALGORITHMS, PAPERS, short_paper

from .. import RESULTS_DIR
from ..common import study_data
from ..common.machine import describe_machine, find_versions

RESULTS = RESULTS_DIR / "published.json"
OURS, LOGISTIC = "AUCClassifier", "LogisticRegressionCV"
OURS_ON_KERNELS = "KMeansNystroem, AUCClassifier"
KINDS = {"linear models": OURS, "models on the features of a Gaussian kernel": OURS_ON_KERNELS}
PASSES = (1, 2, 5, 10, 20, 50)
MAX_ROWS, MAX_COLUMNS = 5_000, 250
NEAR = 0.01  # of the best AUC of a data set
COLOURS = {
    OURS: "#c8511b",
    LOGISTIC: "#222222",
    "OPAUC": "#2ca02c",
    "OAM": "#98d44a",
    "SOLAM": "#9467bd",
    "SPAM": "#c49ae0",
    "FSAUC": "#17becf",
    "SPDAM": "#1f6fb4",
    "SHTAUC": "#8c564b",
    "PSAM": "#e0a800",
    "GaussianAUC": "#b03060",
}


def makers() -> dict[str, Callable[[int], Any]]:
    """Return what makes each method from a seed."""
    logistic = make_pipeline(StandardScaler(with_mean=False), LogisticRegressionCV(max_iter=1000, scoring="roc_auc"))
    others: dict[str, Callable[[int], Any]] = {
        OURS: lambda seed: AUCClassifier(),
        LOGISTIC: lambda seed: clone(logistic),
        OURS_ON_KERNELS: lambda seed: make_pipeline(
            StandardScaler(with_mean=False), KMeansNystroem(random_state=seed), AUCClassifier()
        ),
    }
    return others | {name: method.seeded for name, method in ALGORITHMS.items()}


# The results


def settings_of(estimator: Any) -> dict[str, dict[str, Any]]:
    """Return the parameters to set: none for the default, and the number of passes if it makes passes over the rows."""
    prefix, last = (f"{estimator.steps[-1][0]}__", estimator[-1]) if hasattr(estimator, "steps") else ("", estimator)
    found: dict[str, dict[str, Any]] = {"default": {}}
    if isinstance(last, StochasticClassifier):
        fixed = {f"{prefix}tol": None} if "tol" in last.get_params() else {}
        found |= {str(n): {f"{prefix}max_iter": n} | fixed for n in PASSES}
    return found


def measure(make: Callable[[int], Any], seed: int, X: Any, y: np.ndarray, T: Any, labels: np.ndarray) -> dict[str, Any]:
    """Return AUC and seconds of the default, and after each number of passes."""
    found = {}
    for setting, parameters in settings_of(make(seed)).items():
        estimator = make(seed).set_params(**parameters)
        start = time.process_time()
        estimator.fit(X, y)
        seconds = time.process_time() - start
        scores = estimator.decision_function(T)
        found[setting] = [float(roc_auc(labels, scores)), seconds]
    return found


def data_names() -> list[str]:
    """Return the data sets, those that are there."""
    there = set(study_data.available())
    return [name for name in study_data.halves()["verdict"] if name in there]


def run(names: Sequence[str], n_splits: int) -> None:
    """Measure the cells that are not there yet."""
    there = read_cells()
    for name in names:
        X, y = study_data.load(name)
        if X.shape[1] > MAX_COLUMNS:
            continue
        if len(y) > MAX_ROWS:
            rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MAX_ROWS])
            X, y = X[rows], y[rows]
        for method, make in makers().items():
            missing = [k for k in range(n_splits) if f"{name}/{method}/{k}" not in there]
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                for position, k in enumerate(missing):
                    train, test = study_data.split(y, k)
                    if not position:
                        make(k).fit(X[train], y[train])
                    there[f"{name}/{method}/{k}"] = measure(make, k, X[train], y[train], X[test], y[test])
            if missing:
                save(there)
                auc, seconds = there[f"{name}/{method}/0"]["default"]
                print(f"{name}, {method}: {auc:.4f}, {seconds:.2f} s", flush=True)


def read_cells() -> dict[str, Any]:
    return json.loads(RESULTS.read_text(encoding="utf-8"))["cells"] if RESULTS.exists() else {}


def save(cells: Mapping[str, Any]) -> None:
    found = {"machine": describe_machine(), "versions": find_versions(), "cells": dict(sorted(cells.items()))}
    write_atomically(RESULTS, lambda file: file.write((json.dumps(found) + "\n").encode()))


# The page


class Figures(NamedTuple):
    """AUCs and seconds, means over the splits: of each data set and method, and by the number of passes.

    Attributes
    ----------
    data, methods : list of str
        The names.
    auc, seconds : ndarray of shape (n_data, n_methods)
        With the defaults.
    pass_auc, pass_seconds : ndarray of shape (n_data, n_methods, n_passes)
        After each number of passes, NaN for methods that make none.
    """

    data: list[str]
    methods: list[str]
    auc: np.ndarray
    seconds: np.ndarray
    pass_auc: np.ndarray
    pass_seconds: np.ndarray

    @classmethod
    def of(cls, cells: Mapping[str, Any]) -> Figures:
        """Return the figures of all data sets on which all methods were measured."""
        keys = [key.split("/") for key in cells]
        methods = list(dict.fromkeys(method for _, method, _ in keys))
        data = [
            name
            for name in dict.fromkeys(name for name, _, _ in keys)
            if all(f"{name}/{method}/0" in cells for method in methods)
        ]
        settings = ["default", *map(str, PASSES)]
        values = np.full((len(data), len(methods), len(settings), 2), np.nan)
        for i, name in enumerate(data):
            for j, method in enumerate(methods):
                found = [cell for key, cell in cells.items() if key.startswith(f"{name}/{method}/")]
                for k, setting in enumerate(settings):
                    if setting in found[0]:
                        values[i, j, k] = np.mean([cell[setting] for cell in found], axis=0)
        return cls(data, methods, *values[:, :, 0].transpose(2, 0, 1), *values[:, :, 1:].transpose(3, 0, 1, 2))

    def of_kind(self, ours: str) -> Figures:
        """Return the methods that are on the features of a kernel as ours is, or linear as ours is."""
        chosen = [j for j, name in enumerate(self.methods) if on_kernels(name) == on_kernels(ours)]
        return Figures(self.data, [self.methods[j] for j in chosen], *(values[:, chosen] for values in self[2:]))

    def ranks(self) -> np.ndarray:
        """Return the mean rank of each method by AUC."""
        return rankdata(-self.auc, axis=1).mean(axis=0)

    def near(self) -> np.ndarray:
        """Return on how many data sets each method is near the best."""
        return (self.auc >= self.auc.max(axis=1, keepdims=True) - NEAR).sum(axis=0)

    def time_ratios(self, seconds: np.ndarray, ours: str = OURS) -> np.ndarray:
        """Return times relative to one of our methods, geometric means over the data sets."""
        base = self.seconds[:, self.methods.index(ours)].reshape(-1, *[1] * (seconds.ndim - 1))
        return np.exp(np.log(seconds / base).mean(axis=0))


def on_kernels(name: str) -> bool:
    """Return whether a method is on the features of a kernel."""
    return name == OURS_ON_KERNELS or (name in ALGORITHMS and "kernel" in ALGORITHMS[name].module)


def answer(figures: Figures, kind: str, ours: str) -> str:
    """Return which one of a kind to use, in sentences."""
    ranks, means, times = figures.ranks(), figures.auc.mean(axis=0), figures.time_ratios(figures.seconds, ours)
    order = [int(j) for j in np.argsort(ranks)]
    published = [j for j in order if figures.methods[j] in ALGORITHMS]
    streams = [j for j in published if ALGORITHMS[figures.methods[j]].online]

    def told(j: int) -> str:
        return f"`{figures.methods[j]}` ({ranks[j]:.1f}, mean AUC {means[j]:.4f}, {times[j]:.2g} times the time)"

    said = f"Of the {len(order)} {kind}, the best mean rank has {told(order[0])}"
    own = figures.methods.index(ours)
    said += f"; {told(own)} is number {order.index(own) + 1}. " if own != order[0] else ". "
    said += f"The first published algorithm is {told(published[0])}" if order[0] != published[0] else ""
    said += f"{'; the' if order[0] != published[0] else 'The'} first one for streams is {told(streams[0])}."
    return said


def make_page(found: Mapping[str, Any], about: str, figure: str) -> str:
    """Return docs/measured/published.md from the results, and what the study says about itself."""
    figures = Figures.of(found["cells"])
    versions = ", ".join(f"{library} {version}" for library, version in found["versions"].items())
    lines = ["# How the published algorithms compare", "", "**Which should you use?**", ""]
    lines += [f"- {answer(figures.of_kind(ours), kind, ours)}" for kind, ours in KINDS.items()]
    lines += ["", f"![Mean AUC of linear models over processor time and over passes]({figure})", ""]
    for kind, ours in KINDS.items():
        lines += [f"## {kind[0].upper()}{kind[1:]}", "", *table(figures.of_kind(ours), ours), ""]
    lines += [f"`{OURS}` chooses its loss and its penalty by cross-validation; of the others, most have fixed ones. "]
    lines[-1] += f"{len(figures.data)} data sets: {', '.join(figures.data)}."
    lines += ["", "Made by `make study NAME=published`.", "", about, f"{found['machine']}; {versions}."]
    return "\n".join([*lines, ""])


def table(figures: Figures, ours: str) -> list[str]:
    """Return the lines of the table of methods of a kind."""
    ranks, near, times = figures.ranks(), figures.near(), figures.time_ratios(figures.seconds, ours)
    means, once = figures.auc.mean(axis=0), figures.pass_auc[:, :, 0].mean(axis=0)
    lines = [f"| | published | loss | mean rank | mean AUC | after one pass | within {NEAR} of the best | time |"]
    lines += ["|---" * 8 + "|"]
    for j in np.argsort(ranks):
        name = figures.methods[j]
        method = ALGORITHMS.get(name)
        paper, family = (short_paper(PAPERS[method.paper]), method.family) if method else ("", "")
        one = "" if np.isnan(once[j]) else f"{once[j]:.4f}"
        cells = [f"{ranks[j]:.1f}", f"{means[j]:.4f}", one, f"{near[j]} of {len(figures.data)}", f"{times[j]:.2g}"]
        lines.append(f"| `{name}` | {paper} | {family} | {' | '.join(cells)} |")
    return lines


def draw(found: Mapping[str, Any], path: Path) -> None:
    """Draw the mean AUC of linear models over the processor time, and over the passes."""
    import matplotlib
    from matplotlib.figure import Figure

    figures = Figures.of(found["cells"]).of_kind(OURS)
    means, times = figures.auc.mean(axis=0), figures.time_ratios(figures.seconds)
    pass_means, pass_times = figures.pass_auc.mean(axis=0), figures.time_ratios(figures.pass_seconds)
    with matplotlib.rc_context({"svg.hashsalt": "aucmax", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for j in np.argsort(figures.ranks()):
            name = figures.methods[j]
            colour = COLOURS.get(name, "#c9ced3")
            line = {
                "color": colour,
                "linewidth": 1.4 if name in COLOURS else 0.8,
                "zorder": 2 if name in COLOURS else 1,
            }
            marker, size = ("*", 12) if name == OURS else ("o", 5)
            left.plot(pass_times[j], pass_means[j], **line)
            label = name if name in COLOURS else None
            left.plot(times[j], means[j], marker, color=colour, markersize=size, label=label)
            right.plot(PASSES, pass_means[j], marker=".", **line)
            if name in (OURS, LOGISTIC):
                right.axhline(means[j], color=colour, linewidth=0.8, linestyle=":")
        left.plot([], [], "o", color="#c9ced3", markersize=5, label="the others")
        left.set(
            xscale="log", xlabel=f"processor time relative to {OURS}; dots are the defaults", ylabel="mean test AUC"
        )
        right.set(xscale="log", xlabel="passes over the rows", xticks=PASSES, xticklabels=PASSES)
        right.minorticks_off()
        shown = np.append(means, pass_means[np.isfinite(pass_means)])
        left.set_ylim(max(0.5, np.quantile(shown, 0.05) - 0.01), shown.max() + 0.01)
        for axes in (left, right):
            axes.grid(linewidth=0.4, alpha=0.5)
            axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right center", frameon=False)
        figure.savefig(path, metadata={"Date": None})


def main(arguments: list[str] | None = None) -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="data sets, with commas; all if left out")
    parser.add_argument("--splits", type=int, default=2, help="how many splits of each data set")
    parser.add_argument("--write", type=Path, help="write the page and its figure")
    parser.add_argument("--write-only", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    if not options.write_only:
        run(options.names.split(",") if options.names else data_names(), options.splits)
    if options.write:
        found = json.loads(RESULTS.read_text(encoding="utf-8"))
        figure = options.write.with_suffix(".svg")
        options.write.write_text(make_page(found, __doc__.split("\n\n", 2)[2], figure.name), encoding="utf-8")
        draw(found, figure)


if __name__ == "__main__":
    main()
