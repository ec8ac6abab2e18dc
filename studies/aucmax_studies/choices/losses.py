"""Test AUC and fit times of the losses of AUCClassifier beside a logistic regression tuned for AUC.

    python -m aucmax_studies losses [--max-rows 20000] [--write docs/measured/losses.md] [names ...]

Means over five outer folds (shuffled, stratified, seed 0). Everything is chosen inside the training part: alpha, and
with "auto" the loss, by the cross-validation of AUCClassifier; C by LogisticRegressionCV(scoring="roc_auc") with its
ten values and five folds, on standardised columns, other parameters at their defaults. Of data sets with more than
--max-rows rows a seeded sample is taken.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, roc_auc

from ..common.markdown import replace_block
from ..common.realdata import SOURCES, available, load
from ..speed.stochastic import narrow_indices

LOGISTIC = LogisticRegressionCV(Cs=10, cv=5, scoring="roc_auc", l1_ratios=(0,), use_legacy_attributes=False)
VARIANTS: dict[str, Any] = {
    "auto": AUCClassifier(),
    **{loss: AUCClassifier(loss) for loss in ("squared", "squared_hinge", "logistic")},
    "LogisticRegressionCV": make_pipeline(StandardScaler(), LOGISTIC),
}


def measure(X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean test AUC and the mean seconds of a fit of each variant."""
    X = narrow_indices(X) if sparse.issparse(X) else X
    VARIANTS["LogisticRegressionCV"].set_params(standardscaler__with_mean=not sparse.issparse(X))
    aucs, seconds = np.zeros(len(VARIANTS)), np.zeros(len(VARIANTS))
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    for train, test in folds:
        for k, variant in enumerate(VARIANTS.values()):
            start = time.perf_counter()
            clf = clone(variant).fit(X[train], y[train])
            seconds[k] += time.perf_counter() - start
            aucs[k] += roc_auc(y[test], clf.decision_function(X[test]))
    return aucs / len(folds), seconds / len(folds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    few_columns = [name for name in available() if SOURCES[name].columns < 1000 and name != "mnist-8"]
    parser.add_argument("names", nargs="*", default=few_columns)
    parser.add_argument("--max-rows", type=int, default=20_000)
    parser.add_argument("--write", type=Path, help="put the tables into this file, between its marks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for variant in VARIANTS.values():  # compiles
        clone(variant).fit(*load(arguments.names[0], 500))
    header = ["data", *VARIANTS]
    auc_lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    time_lines, everything = list(auc_lines), []
    for name in arguments.names:
        aucs, seconds = measure(*load(name, arguments.max_rows))
        everything.append(aucs)
        best = aucs.max().round(4)
        cells = [f"**{auc:.4f}**" if auc.round(4) == best else f"{auc:.4f}" for auc in aucs]
        auc_lines.append(f"| {name} | {' | '.join(cells)} |")
        time_lines.append(f"| {name} | {' | '.join(f'{second:.2f}' for second in seconds)} |")
        print(auc_lines[-1], time_lines[-1], file=sys.stderr, flush=True)
    table = np.array(everything)
    ranks = rankdata(-table.round(4), axis=1).mean(axis=0)
    auc_lines.append(f"| mean | {' | '.join(f'{auc:.4f}' for auc in table.mean(axis=0))} |")
    auc_lines.append(f"| mean rank | {' | '.join(f'{rank:.2f}' for rank in ranks)} |")
    text = "\n".join(
        [
            f"At most {arguments.max_rows:,} rows of each data set. Test AUC, means over five outer folds:",
            "",
            *auc_lines,
            "",
            f"Seconds of a fit, its cross-validation included, on {os.cpu_count()} cores:",
            "",
            *time_lines,
        ]
    )
    if arguments.write:
        replace_block(arguments.write, "make study NAME=losses", text)
    else:
        print(text)


if __name__ == "__main__":
    main()
