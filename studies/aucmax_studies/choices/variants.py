"""What the defaults of the stochastic algorithms gain over the papers' own variants, as a whole and by each deviation.

    python -m aucmax_studies variants [--fresh] [--write docs/measured/variants.md] [algorithms ...]

The default has no parameter tuned. The paper variant has its step, C or alpha chosen from at most 8 values, evenly
spread over the paper's grid, by the AUC on a fifth of the training rows; other parameters have their default values.
SPDAM, SHTAUC, StoIHT, HSGHT, GaussianAUC and GaussianError, whose grids have no step, are not tuned. The paper variant
is given the columns as distributed, rows divided by their norms, and standardised columns. Of larger data sets a seeded
sample is taken.

`deviations.py` lists what the defaults do otherwise than the papers. Each of these is put back by itself, and all else
is as in the default; a step that is put back is tuned as above. A fit has diverged if its weights overflow, which
counts as an AUC of .5, or if its test AUC is below .5, that of the weights 0.

Results are saved after each algorithm, and what is there is not measured again unless --fresh is given.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from aucmax.files.atomic_write import write_atomically
from aucmax.papers import ALGORITHMS

from .. import RESULTS_DIR
from ..common import study_data
from ..common.markdown import replace_block
from ..peers.summary import bootstrap_interval
from .deviations import DEVIATIONS, Deviation

RESULTS = RESULTS_DIR / "variants.json"
DEFAULT = "default"
PREPARED = ("columns as distributed", "rows of norm 1", "standardised columns")  # what the paper variant is given
LEVEL = 0.5  # the AUC of the weights 0
MARGIN = 5e-4  # differences above this count as better or worse

DATA = ("diabetes", "german", "svmguide3", "spambase", "splice-full", "magic04", "letter", "ijcnn1", "a9a", "covtype")
N_SPLITS, MAX_ROWS = 3, 3_000
MOST_STEPS = 8  # of a grid that are tried, evenly spread over it
FIXED = {"OPAUCr": {"rank": 5}}  # diabetes has 8 columns

Rows = Sequence[Any]  # training rows, test rows, and the labels of both
Found = dict[str, float | None]


def steps_of(name: str, keys: Sequence[str] = ("eta0", "C")) -> list[dict[str, Any]]:
    """Return the steps, or values of C, that are tried."""
    grid = ALGORITHMS[name].grid
    tuned = next((key for key in keys if key in grid), None)
    if tuned is None:
        return [{}]
    places = np.unique(np.linspace(0, len(grid[tuned]) - 1, MOST_STEPS).round().astype(int))
    return [{tuned: grid[tuned][k]} for k in places]


def fit(name: str, given: Mapping[str, Any], rows: Rows) -> Found:
    """Return the AUC on test rows, None where the weights overflow, and the seconds of the fit."""
    X, X_test, y, y_test = rows
    given = {key: value(y.mean()) if callable(value) else value for key, value in given.items()}
    estimator = ALGORITHMS[name].seeded(0).set_params(**FIXED.get(name, {}))
    estimator.set_params(**{key: value for key, value in given.items() if not key.startswith("_")})
    for key, value in given.items():
        if key.startswith("_"):
            setattr(estimator, key, value)
    start = time.process_time()
    try:
        estimator.fit(X, y)
    except ValueError as error:
        if not any(word in str(error) for word in ("diverged", "overflow", "past 0")):
            raise
        return {"auc": None, "seconds": time.process_time() - start}
    seconds = time.process_time() - start
    return {"auc": estimator.score(X_test, y_test), "seconds": seconds}


def fit_tuned(name: str, given: Mapping[str, Any], rows: Rows, steps: Sequence[Mapping[str, Any]]) -> Found:
    """Return the same with the best of several steps."""
    X, _, y, _ = rows
    inner = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    best = (
        max(steps, key=lambda step: fit(name, {**given, **step}, inner)["auc"] or 0.0) if len(steps) > 1 else steps[0]
    )
    return fit(name, {**given, **best}, rows)


def settings(name: str) -> Iterator[tuple[str, Callable[[Rows], Found]]]:
    """Return what is measured of an algorithm, by name."""
    yield DEFAULT, lambda rows: fit(name, {}, rows)
    paper_steps = steps_of(name, ("eta0", "C", *(["alpha"] if name in ("ASAM", "PSAM") else [])))
    given = {
        "columns as distributed": (lambda X: X, {}),
        "rows of norm 1": (normalize, {}),
        "standardised columns": (lambda X: X, {"standardize": True}),
    }
    for kind in PREPARED:
        prepare, parameters = given[kind]

        def paper(rows: Rows, prepare: Any = prepare, parameters: Any = parameters) -> Found:
            rows = [prepare(part) if part.ndim > 1 else part for part in rows]
            return fit_tuned(name, {"variant": "paper", **parameters}, rows, paper_steps)

        yield f"paper, {kind}", paper
    for deviation in DEVIATIONS[name]:
        steps = steps_of(name) if deviation.tuned else [{}]
        yield deviation.name, lambda rows, back=deviation.back, steps=steps: fit_tuned(name, back, rows, steps)
        if deviation.base is not None:
            base = deviation.base
            yield base_of(deviation), lambda rows, base=base, steps=steps: fit_tuned(name, base, rows, steps)


def splits(data: str) -> Iterator[Rows]:
    """Return the splits of a data set into training and test rows."""
    X, y = study_data.load(data)
    for seed in range(N_SPLITS):
        kept = np.arange(len(y))
        if len(y) > MAX_ROWS:
            kept, _ = train_test_split(kept, train_size=MAX_ROWS, random_state=seed, stratify=y)
        yield train_test_split(X[kept], y[kept], test_size=0.2, random_state=seed, stratify=y[kept])


def measure(name: str, rows_of: Mapping[str, list[Rows]], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of each split, for each setting and data set; what is known is not measured again."""
    on_sparse_rows = {deviation.name for deviation in DEVIATIONS[name] if deviation.sparse}
    found = {}
    for setting, run in settings(name):
        cells = found[setting] = dict(known.get(setting, {}))
        for data, rows in rows_of.items():
            if data not in cells and (issparse(rows[0][0]) or setting not in on_sparse_rows):
                figures = [run(each) for each in rows]
                cells[data] = {key: [rounded(each[key]) for each in figures] for key in figures[0]}
    return found


def rounded(value: float | None) -> float | None:
    """Return a figure with as many digits as the file holds."""
    return None if value is None else float(f"{value:.5g}")


# The page


Cells = Mapping[str, Mapping[str, list[float | None]]]  # figures of each split, by data set and quantity


class Gain(NamedTuple):
    """What one setting gains over another, over the data sets.

    Attributes
    ----------
    gaps : ndarray of shape (n_data,)
        Differences of the mean test AUC.
    diverged : ndarray of bool, shape (n_data,)
        Whether a fit of the other setting has diverged.
    time : float
        The median of the other's time over that of the first.
    """

    gaps: np.ndarray
    diverged: np.ndarray
    time: float

    @classmethod
    def of(cls, first: Cells, other: Cells) -> Gain:
        """Return the gain from the figures of both, on the data sets of the other."""
        first = {data: first[data] for data in other}
        auc = [
            [[LEVEL if a is None else a for a in cells["auc"]] for cells in each.values()] for each in (first, other)
        ]
        gaps = np.mean(auc[0], axis=1) - np.mean(auc[1], axis=1)
        overflowed = np.array([None in cells["auc"] for cells in other.values()])
        # The least of the splits: the first one may compile a kernel.
        seconds = [[min(cells["seconds"]) for cells in each.values()] for each in (first, other)]
        return cls(gaps, overflowed | (np.min(auc[1], axis=1) < LEVEL), float(np.median(np.divide(*seconds[::-1]))))

    @property
    def without_diverged(self) -> str:
        """The mean over the other data sets."""
        return "" if self.diverged.all() else signed(self.gaps[~self.diverged].mean())

    @property
    def counts(self) -> str:
        """On how many data sets the first is better, and worse."""
        return f"{np.sum(self.gaps > MARGIN)} / {np.sum(self.gaps < -MARGIN)}"

    @property
    def divergence(self) -> str:
        """On how many data sets the other has diverged, and the mean over the others; empty where it has not."""
        return f"{self.diverged.sum()} ({self.without_diverged})" if self.diverged.any() else ""


def signed(value: float) -> str:
    """Return a difference with four digits; zero has no sign."""
    text = f"{value:+.4f}"
    return "0.0000" if float(text) == 0 else text


def base_of(deviation: Deviation) -> str:
    """Return the name of the setting that a deviation is compared with."""
    return DEFAULT if deviation.base is None else f"{deviation.name}: compared with"


def gain_of(found: Mapping[str, Any], name: str, deviation: Deviation) -> Gain:
    """Return what a deviation gains."""
    return Gain.of(found[name][base_of(deviation)], found[name][deviation.name])


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def variants_table(found: Mapping[str, Any]) -> str:
    """Return the table of the paper variants beside the defaults."""
    heads = ["", DEFAULT]
    for kind in PREPARED:
        heads += [kind, "better / worse", "diverged", "time"]
    rows = []
    for name, settings in found.items():
        auc = [np.mean(cells["auc"]) for cells in settings[DEFAULT].values()]
        row = [name, f"{np.mean(auc):.4f}"]
        for kind in PREPARED:
            gain = Gain.of(settings[DEFAULT], settings[f"paper, {kind}"])
            row += [signed(gain.gaps.mean()), gain.counts, gain.divergence, f"{gain.time:.2f}"]
        rows.append(row)
    return table(heads, rows)


def deviations_table(found: Mapping[str, Any]) -> str:
    """Return the table of the single deviations."""
    rows = []
    for name in found:
        for deviation in DEVIATIONS[name]:
            gain = gain_of(found, name, deviation)
            low, high = bootstrap_interval(gain.gaps[:, None])
            interval = f"{signed(low[0])} to {signed(high[0])}"
            if deviation.sparse:
                interval = f"on {', '.join(found[name][deviation.name])} alone"
            mark = "" if deviation.base is None else " *"
            row = [name, deviation.name + mark, signed(gain.gaps.mean()), interval, gain.counts, gain.divergence]
            rows.append([*row, f"{gain.time:.2f}"])
    heads = ["", "what the default does", "gain", "95% interval", "better / worse", "diverged", "time"]
    return table(heads, rows)


def write_page(found: Mapping[str, Any], path: Path) -> None:
    """Put both tables between their marks in the page."""
    data = list(next(iter(found.values()))[DEFAULT])
    head = f"{len(data)} data sets: {', '.join(data)}."
    replace_block(path, "make study NAME=variants", f"{head}\n\n{variants_table(found)}")
    replace_block(path, "make study NAME=variants, by deviation", deviations_table(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(DEVIATIONS))
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() and not arguments.fresh else {}
    rows_of = {name: list(splits(name)) for name in DATA if name in study_data.available()}
    with threadpool_limits(1), np.errstate(all="ignore"):
        for name in arguments.names:
            start = time.perf_counter()
            found[name] = measure(name, rows_of, found.get(name, {}))
            text = json.dumps(found, indent=1) + "\n"
            write_atomically(RESULTS, lambda file, text=text: file.write(text.encode()))
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if arguments.write:
        write_page(found, arguments.write)


if __name__ == "__main__":
    main()
