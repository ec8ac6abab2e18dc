"""How far the defaults of the stochastic algorithms are from the exact minimiser of their own loss, in test AUC.

    python -m aucmax_studies minimisers [--max-rows 4000] [--write docs/measured/defaults.md]

Steps and passes were chosen on the data sets of `CHOICE`; `VERDICT` shows whether they hold elsewhere. Three
folds of five; nothing is tuned.
"""

import argparse
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from aucmax import AUCClassifier
from aucmax.papers import ALGORITHMS

from ..common import study_data
from ..common.generated import flipped_rare_positives, nearly_singular
from ..common.markdown import replace_block

OWN = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits, 8 against the rest": lambda: (load_digits().data, (load_digits().target == 8).astype(int)),
    "rare positives, 1% of the labels turned": flipped_rare_positives,
    "nearly singular covariance": nearly_singular,
}
CHOICE = (*OWN, "diabetes", "made-equal-gaussians", "made-rare-positives", "spambase", "svmguide3")
VERDICT = (
    *("german", "made-unequal-gaussians", "made-logistic-model", "magic04"),
    *("segment", "splice-full", "svmguide1", "vowel"),
)
EXACT = {"square": AUCClassifier("squared", alpha=1e-3), "hinge": AUCClassifier("hinge", alpha=1e-5, standardize=True)}
METHODS = {
    "square": ("OPAUC", "OPAUCrp", "OPAUCpca", "SOLAM", "RegSOLAM", "FSAUC"),
    "hinge": ("OAM", "OAMgra"),
}


def measure(name: str, max_rows: int) -> dict[str, float]:
    """Return the mean test AUC of each exact minimiser, and of each method less its minimiser."""
    X, y = OWN[name]() if name in OWN else study_data.load(name)
    if len(y) > max_rows:
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:max_rows])
        X, y = X[rows], y[rows]
    found: dict[str, list[float]] = {}
    for train, test in islice(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y), 3):
        for loss, methods in METHODS.items():
            exact = EXACT[loss].fit(X[train], y[train]).score(X[test], y[test])
            found.setdefault(loss, []).append(exact)
            for method in methods:
                auc = ALGORITHMS[method].seeded(0).fit(X[train], y[train]).score(X[test], y[test])
                found.setdefault(method, []).append(auc - exact)
    return {column: float(np.mean(values)) for column, values in found.items()}


def table(names: tuple[str, ...], max_rows: int) -> str:
    """Return the table of some data sets."""
    columns: Any = [column for loss, methods in METHODS.items() for column in (loss, *methods)]
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        found = measure(name, max_rows)
        cells = (f"{found[c]:.4f}" if c in METHODS else f"{found[c]:+.4f}" for c in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-rows", type=int, default=4_000)
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        tables = [table(names, arguments.max_rows) for names in (CHOICE, VERDICT)]
    text = f"Choice:\n\n{tables[0]}\n\nVerdict:\n\n{tables[1]}"
    if arguments.write:
        replace_block(arguments.write, "make study NAME=minimisers", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
