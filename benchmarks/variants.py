"""What the defaults of the stochastic algorithms gain over the papers' own variants.

    python benchmarks/variants.py [--splits 3] [--max-rows 3000] [--write docs/variants.md] [algorithms ...]

The default has no parameter tuned. The paper variant has its step, C or alpha chosen from at most 8 values, evenly
spread over the paper's grid, by the AUC on a fifth of the training rows; other parameters have their default values.
SPDAM, SHTAUC, StoIHT, HSGHT, GaussianAUC and GaussianError, whose grids have no step, are not tuned. The paper variant
is given the columns as distributed, rows divided by their norms, and standardised columns. Of larger data sets a seeded
sample is taken. A fit that raises a ValueError, as one whose weights overflow does, counts as .5; one that diverges
with finite weights counts by its AUC, which may be below .5.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import study_data
from markdown import replace_block
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from aucmax import ASAM
from aucmax.algorithms import ALGORITHMS
from aucmax.estimators.variant import VariantMixin
from aucmax.stochastic.pair_sampling import GRADIENT

DATA = ("diabetes", "german", "svmguide3", "spambase", "splice-full", "magic04", "letter", "ijcnn1", "a9a", "covtype")
MOST_STEPS = 8  # of a grid that are tried, evenly spread over it
# What the paper variant is given.
PREPARED: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "columns as distributed": (lambda X: X, {}),
    "rows of norm 1": (normalize, {}),
    "standardised columns": (lambda X: X, {"standardize": True}),
}
FIXED = {"OPAUCr": {"rank": 5}}  # diabetes has 8 columns
NO_LIMIT = "ASAM, default without its limit"


def names() -> list[str]:
    """Return the algorithms that have variants."""
    return [
        name
        for name, method in ALGORITHMS.items()
        if isinstance(method.make, type) and issubclass(method.make, VariantMixin)
    ]


def grid_of(name: str) -> list[dict[str, Any]]:
    """Return what is tried for the paper variant."""
    grid = ALGORITHMS[name].grid
    tuned = next((key for key in ("eta0", "C") if key in grid), "alpha" if name in ("ASAM", "PSAM") else None)
    if tuned is None:
        return [{}]
    places = np.unique(np.linspace(0, len(grid[tuned]) - 1, MOST_STEPS).round().astype(int))
    return [{tuned: grid[tuned][k]} for k in places]


def auc(name: str, parameters: dict[str, Any], rows: Sequence[Any]) -> tuple[float, float]:
    """Return the AUC on test rows and the seconds of a fit."""
    X, X_test, y, y_test = rows
    start = time.process_time()
    try:
        found = (
            ALGORITHMS[name].seeded(0).set_params(**FIXED.get(name, {}), **parameters).fit(X, y).score(X_test, y_test)
        )
    except ValueError:
        found = 0.5
    return found, time.process_time() - start


def tuned_auc(name: str, given: dict[str, Any], rows: Sequence[Any]) -> tuple[float, float]:
    """Return the same of the paper variant, with the best of the values that `grid_of` has."""
    X, _, y, _ = rows
    inner = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    tried = grid_of(name)
    given = {"variant": "paper", **given}
    best = max(tried, key=lambda step: auc(name, {**given, **step}, inner)[0]) if len(tried) > 1 else {}
    return auc(name, {**given, **best}, rows)


def measure(name: str, data: str, n_splits: int, max_rows: int) -> dict[str, np.ndarray]:
    """Return AUC and seconds of the default and of the paper variant, means over the splits."""
    X, y = study_data.load(data)
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(n_splits):
        if len(y) > max_rows:
            kept, _ = train_test_split(np.arange(len(y)), train_size=max_rows, random_state=seed, stratify=y)
        else:
            kept = np.arange(len(y))
        rows = train_test_split(X[kept], y[kept], test_size=0.2, random_state=seed, stratify=y[kept])
        found.setdefault("default", []).append(auc(name, {}, rows))
        if name == "ASAM":
            with patch.object(ASAM, "_step", GRADIENT):
                found.setdefault(NO_LIMIT, []).append(auc(name, {}, rows))
        for given, (prepare, parameters) in PREPARED.items():
            prepared = [prepare(part) if part.ndim > 1 else part for part in rows]
            found.setdefault(given, []).append(tuned_auc(name, parameters, prepared))
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def cells(results: list[dict[str, np.ndarray]], key: str) -> str:
    """Return the mean difference to the default, on how many sets it is better and worse, and the ratio of times."""
    gaps = np.array([found[key][0] - found["default"][0] for found in results])
    seconds = np.median([found[key][1] / found["default"][1] for found in results])
    return f"{gaps.mean():+.4f} | {np.sum(gaps > 5e-4)} / {np.sum(gaps < -5e-4)} | {seconds:.2f}"


def table(results: dict[str, list[dict[str, np.ndarray]]]) -> str:
    """Return the table of the page."""
    heads = " | ".join(f"{given} | better / worse | time" for given in PREPARED)
    lines = [f"| | default | {heads} |", "|---" * (2 + 3 * len(PREPARED)) + "|"]
    for name, found in results.items():
        level = np.mean([one["default"][0] for one in found])
        lines.append(f"| {name} | {level:.4f} | {' | '.join(cells(found, given) for given in PREPARED)} |")
    if "ASAM" in results:
        lines += ["", f"{NO_LIMIT}: {cells(results['ASAM'], NO_LIMIT)} (difference, better / worse, time)."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--max-rows", type=int, default=3_000)
    parser.add_argument("--write", type=Path, help="put the table into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    data = [name for name in DATA if name in study_data.available()]
    results = {}
    with threadpool_limits(1), np.errstate(all="ignore"):
        for name in arguments.names:
            start = time.perf_counter()
            results[name] = [measure(name, one, arguments.splits, arguments.max_rows) for one in data]
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    head = (
        f"{len(data)} data sets ({', '.join(data)}), at most {arguments.max_rows:,} rows of each, {arguments.splits} "
        "splits. The second column has the mean test AUC of the default. The others have the mean difference of the "
        "paper variant to it, on how many data sets this is above .0005 and below -.0005, and the median of its time "
        "over that of the default, without the search for its step."
    )
    text = f"{head}\n\n{table(results)}"
    print(text)
    if arguments.write:
        replace_block(arguments.write, "make variants", text)


if __name__ == "__main__":
    main()
