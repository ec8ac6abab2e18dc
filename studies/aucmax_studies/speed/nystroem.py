"""What the kernel features of `KMeansNystroem` cost, and how well the kernel pipelines rank with them.

    python -m aucmax_studies nystroem [--splits 3] [--only costs|ranks] [--write docs/measured/nystroem.md]

The time of `transform` is compared with that of its two matrix products alone, each made by one call of BLAS: the rows
times the landmarks, and the kernel times the normalisation.

The test AUC of each pipeline, with 400 landmarks, is compared with the exact minimiser of its loss on the same
features: the squared hinge for NPSAM, NASAM and NBAM, the square loss for NSOLAM. Its penalty is cross-validated. It is
fitted to the features as they are and to standardised features; the one that ranks the test rows better is taken. The
data sets are in two halves: the ridge of the pipelines was chosen on the first, and the second judges it.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from aucmax import NASAM, NBAM, NPSAM, NSOLAM, AUCClassifier, KMeansNystroem

from ..common import study_data
from ..common.markdown import replace_block
from ..common.timing import Table, peak_memory, side_by_side

TRANSFORM_BAR = 2
AUC_BAR = 0.01
PIPELINES = {"NPSAM": NPSAM, "NASAM": NASAM, "NBAM": NBAM, "NSOLAM": NSOLAM}
# The data sets by half, and the numbers of training rows; up to 10,000 others, at least 30% of all, are for the test.
CHOICE = {"breast cancer": (400,), "digits-8": (1200,)} | dict.fromkeys(("covtype", "cod-rna", "susy"), (500, 14_000))
VERDICT = {
    **{"german": (700,), "segment": (1600,), "splice-full": (2200,)},
    **{"spambase": (500, 3200), "satimage": (500, 3000), "letter": (500, 10_000)},
    **dict.fromkeys(("magic04", "ijcnn1"), (500, 12_000)),
}


def costs(repeats: int) -> list[str]:
    """Return the table of what `transform` costs on 20,000 rows with the columns of covtype."""
    table = Table("what", "measured (ours to theirs)", "bar")
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(0).standard_normal((20_000, 54)).astype(dtype)
        for n_components in (400, 1600):
            transformer = KMeansNystroem(n_components, random_state=0).fit(X)
            U, normalization = transformer.components_, transformer.normalization_
            times = side_by_side(
                lambda X=X, t=transformer: t.transform(X), lambda X=X, U=U, N=normalization: X @ U.T @ N, repeats
            )
            what = f"transform, 20,000 x 54, {n_components} landmarks, {dtype.__name__}"
            table.report_times(f"{what}: times its products", times, f"<= {TRANSFORM_BAR}", at_most=TRANSFORM_BAR)
            size = len(X) * normalization.shape[1] * X.itemsize
            peak = peak_memory(lambda X=X, t=transformer: t.transform(X))
            table.report(
                f"{what}: peak memory over the result", f"{(peak - size) / 1e6:.0f} MB", "none set", holds=True
            )
    return table.lines


def load(name: str) -> tuple[Any, np.ndarray]:
    """Return a data set with dense rows."""
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "digits-8":
        X, y = load_digits(return_X_y=True)
        y = y == 8
    else:
        X, y = study_data.load(name)
    return X if isinstance(X, np.ndarray) else X.toarray(), np.asarray(y).astype(int)


def aucs(X: np.ndarray, y: np.ndarray, n_train: int, seed: int) -> dict[str, float]:
    """Return test AUCs on one split: of the pipelines, of exact minimisers, and of NPSAM with other features."""
    test_size = min(10_000, max(len(y) - n_train, int(0.3 * len(y))))
    sizes = {"train_size": min(n_train, len(y) - test_size), "test_size": test_size}
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
    found = {}
    for name, make in PIPELINES.items():
        pipeline = make(random_state=seed).fit(X, y)
        found[name] = pipeline.score(X_test, y_test)
    features, test = pipeline[:2].transform(X), pipeline[:2].transform(X_test)
    exact = {}
    for loss in ("squared_hinge", "squared"):
        both = [AUCClassifier(loss, standardize=scaled).fit(features, y) for scaled in (False, True)]
        exact[loss] = max(clf.score(test, y_test) for clf in both)
    found |= {f"exact for {name}": exact["squared" if name == "NSOLAM" else "squared_hinge"] for name in PIPELINES}
    for name, scaled in (("as they are", False), ("standardised", True)):
        pipeline = clone(NPSAM(random_state=seed, standardize=scaled)).set_params(shrink="passthrough")
        if not scaled:  # the penalty is for columns of about unit variance
            pipeline = pipeline.set_params(psam__alpha=1e-3 * features.var(axis=0).max())
        found[name] = pipeline.fit(X, y).score(X_test, y_test)
    return found


def ranks(n_splits: int) -> list[str]:
    """Return the table of test AUCs, and how far the pipelines are below the exact minimisers."""
    names = [*PIPELINES, "exact for NPSAM", "exact for NSOLAM", "as they are", "standardised"]
    header = [*PIPELINES, "exact, squared hinge", "exact, square loss", "NPSAM, features as they are"]
    table = Table("data", "rows", *header, "NPSAM, standardised features")
    lines = []
    for half, data_sets in (("choice", CHOICE), ("verdict", VERDICT)):
        gaps: dict[str, list[float]] = {name: [] for name in PIPELINES}
        for data_set, sizes in data_sets.items():
            X, y = load(data_set)
            for n_train in sizes:
                found = [aucs(X, y, n_train, seed) for seed in range(n_splits)]
                mean = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
                table.row(f"{data_set} ({half})", f"{n_train:,}", *(f"{mean[name]:.4f}" for name in names))
                for name in PIPELINES:
                    gaps[name].append(mean[f"exact for {name}"] - mean[name])
        for name, below in gaps.items():
            within = sum(gap <= AUC_BAR for gap in below)
            lines.append(
                f"- {name}, {half}: within {AUC_BAR} of the exact minimiser, or above, in {within} of {len(below)}; at "
                f"most {max(below):.4f} below."
            )
    return [*table.lines, "", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", choices=("costs", "ranks"), help="measure one of the two")
    parser.add_argument("--write", type=Path, help="put the tables into this page")
    arguments = parser.parse_args()
    for what, measure in (("costs", lambda: costs(arguments.repeats)), ("ranks", lambda: ranks(arguments.splits))):
        if arguments.only in (None, what):
            lines = measure()
            if arguments.write:
                replace_block(arguments.write, f"make study NAME=nystroem: {what}", "\n".join(lines))
            else:
                print("\n".join(lines))


if __name__ == "__main__":
    main()
