"""Test AUC by the number of passes of PSAM, ASAM and SOLAM, beside the batch optimum: Figure 1 of PSAM's paper.

    python benchmarks/epochs.py [--write docs/epochs.md]

Khalid, Chitsaz and Ray claim that PSAM is at the optimum after one pass. Here: one split of 80% to 20%, all parameters
the untuned defaults, means over three seeds; the batch optimum is BAM, AUCClassifier("squared_hinge") with alpha
cross-validated. Fits go on from one number of passes to the next (`warm_start`). With --write the curves are drawn,
too, in a figure of the page's name, which needs matplotlib: pip install '.[report]'.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from published import load_grouped
from realdata import available
from sklearn.model_selection import train_test_split
from timing import Table

from aucmax import ASAM, PSAM, SOLAM, AUCClassifier

EPOCHS = (1, 2, 3, 4, 5, 10, 30, 60)
NAMES = ("a9a", "connect-4", "covtype", "spambase", "letter", "ijcnn1")
ALGORITHMS = (PSAM, ASAM, SOLAM)
SEEDS = range(3)


def split(name: str) -> list[Any]:
    """Return training and test rows and labels."""
    X, y = load_grouped(name)
    return train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)


def curve(algorithm: Any, X: Any, X_test: Any, y: np.ndarray, y_test: np.ndarray, seed: int) -> list[float]:
    """Return the test AUC after each number of passes."""
    clf, aucs = algorithm(random_state=seed, warm_start=True), []
    for passes in np.diff((0, *EPOCHS)):
        aucs.append(clf.set_params(max_iter=int(passes)).fit(X, y).score(X_test, y_test))
    return aucs


def curves(names: list[str]) -> dict[str, dict[str, np.ndarray]]:
    """Return the curves of each data set and algorithm, that of BAM with one value."""
    found = {}
    for name in names:
        X, X_test, y, y_test = split(name)
        found[name] = {"BAM": np.array([AUCClassifier("squared_hinge").fit(X, y).score(X_test, y_test)])}
        for algorithm in ALGORITHMS:
            runs = [curve(algorithm, X, X_test, y, y_test, seed) for seed in SEEDS]
            found[name][algorithm.__name__] = np.mean(runs, axis=0)
    return found


def draw(found: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """Draw a panel for each data set."""
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "aucmax"  # the same file for the same figures
    figure, axes = plt.subplots(2, -(-len(found) // 2), figsize=(11, 6), layout="constrained")
    for axis, (name, lines) in zip(axes.flat, found.items(), strict=False):
        for algorithm, aucs in lines.items():
            if algorithm == "BAM":
                axis.axhline(aucs[0], color="0.4", linestyle="--", label="BAM (batch)")
            else:
                axis.plot(EPOCHS, aucs, marker="o", markersize=3, label=algorithm)
        axis.set(title=name, xscale="log", xlabel="epochs", ylabel="test AUC")
        axis.set_xticks(EPOCHS, [str(epochs) for epochs in EPOCHS])
        axis.minorticks_off()
    axes.flat[0].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[name for name in NAMES if name in available()])
    parser.add_argument("--write", type=Path, help="write the page, and the figure beside it")
    arguments = parser.parse_args()
    found = curves(arguments.names)
    table = Table("data", "algorithm", *(f"{epochs}" for epochs in EPOCHS), "BAM")
    for name, lines in found.items():
        for algorithm in ALGORITHMS:
            aucs = [f"{auc:.4f}" for auc in lines[algorithm.__name__]]
            table.row(name, algorithm.__name__, *aucs, f"{lines['BAM'][0]:.4f}")
    if arguments.write:
        figure = arguments.write.with_suffix(".svg")
        draw(found, figure)
        head = ["# AUC by epochs", "", "Made by `make epochs`.", "", __doc__.split("\n\n", 2)[2]]
        arguments.write.write_text("\n".join([*head, f"![test AUC by epochs]({figure.name})", "", *table.lines, ""]))


if __name__ == "__main__":
    main()
