"""What the defaults of the stochastic algorithms gain over the papers' own variants, as a whole and by each deviation.

    python benchmarks/variants.py [--fresh] [--write docs/variants.md] [--docstrings] [algorithms ...]

The default has no parameter tuned. The paper variant has its step, C or alpha chosen from at most 8 values, evenly
spread over the paper's grid, by the AUC on a fifth of the training rows; other parameters have their default values.
SPDAM, SHTAUC, StoIHT, HSGHT, GaussianAUC and GaussianError, whose grids have no step, are not tuned. The paper variant
is given the columns as distributed, rows divided by their norms, and standardised columns. Of larger data sets a seeded
sample is taken.

`deviations.py` lists what the defaults do otherwise than the papers. Each of these is put back by itself, and all else
is as in the default; a step that is put back is tuned as above. A fit has diverged if its weights overflow, which
counts as an AUC of .5, or if its test AUC is below .5, that of the weights 0.

Results are saved after each algorithm, and what is there is not measured again unless --fresh is given. --docstrings
writes the gains into the docstrings of the classes.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import study_data
from deviations import DEVIATIONS
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits
from variants_page import DEFAULT, PREPARED, base_of, write_docstrings, write_page

from aucmax.files.atomic_write import write_atomically
from aucmax.papers import ALGORITHMS

RESULTS = Path(__file__).parent / "results" / "variants.json"
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(DEVIATIONS))
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    parser.add_argument("--docstrings", action="store_true", help="put the gains into the docstrings")
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
    if arguments.docstrings:
        write_docstrings(found)


if __name__ == "__main__":
    main()
