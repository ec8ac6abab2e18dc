"""The study of all published algorithms: what it measures, and its page."""

import numpy as np
from sklearn.datasets import make_classification

from aucmax.papers.registry import ALGORITHMS
from aucmax_studies.peers import published

METHODS = {
    published.OURS: (0.9, 1.0),
    published.LOGISTIC: (0.8, 7.0),
    "OPAUC": (0.85, 0.5),
    "BAM": (0.84, 2.0),
    published.OURS_ON_KERNELS: (0.95, 3.0),
    "NPSAM": (0.96, 6.0),
}
CELLS = {
    f"{name}/{method}/{split}": {"default": [auc - gap + split / 100, seconds * (1 + split)]}
    | ({str(n): [auc - gap - 0.1 / n, n * seconds / 5] for n in published.PASSES} if method == "OPAUC" else {})
    for name, gap in (("a", 0.0), ("b", 0.1))
    for method, (auc, seconds) in METHODS.items()
    for split in range(2)
}
FOUND = {"machine": "a machine", "versions": {"aucmax": "1"}, "cells": CELLS | {"c/OPAUC/0": CELLS["a/OPAUC/0"]}}


def test_page_has_the_ranks_and_means_of_the_data_sets_that_are_complete(tmp_path):
    page = published.make_page(FOUND, "About.", "published.svg")
    for line in (
        "Of the 4 linear models, the best mean rank has `AUCClassifier` (1.0, mean AUC 0.8550, 1 times the time). The ",
        "The first published algorithm is `OPAUC` (2.0, mean AUC 0.8050, 0.5 times the time); the first one for",
        "has `NPSAM` (1.0, mean AUC 0.9150, 2 times the time); `KMeansNystroem, AUCClassifier` (2.0",
        "| `OPAUC` | Gao, Jin, Zhu and Zhou (2013) | pairwise square | 2.0 | 0.8050 | 0.7000 | 0 of 2 | 0.5 |",
    ):
        assert line in page
    assert "2 data sets: a, b." in page
    published.draw(FOUND, tmp_path / "published.svg")
    assert "passes over the rows" in (tmp_path / "published.svg").read_text(encoding="utf-8")


def test_figures_after_each_number_of_passes_are_those_of_fits_with_so_many():
    X, y = make_classification(120, 6, random_state=0)
    found = published.measure(ALGORITHMS["SOLAM"].seeded, 3, X[:80], y[:80], X[80:], y[80:])
    assert list(found) == ["default", *map(str, published.PASSES)]
    for n in (1, 20):
        direct = ALGORITHMS["SOLAM"](random_state=3, max_iter=n, tol=None).fit(X[:80], y[:80])
        assert found[str(n)][0] == direct.score(X[80:], y[80:])
    assert list(published.settings_of(ALGORITHMS["BAM"].seeded(0))) == ["default"]
    assert published.settings_of(ALGORITHMS["NPSAM"].seeded(0))["5"] == {"psam__max_iter": 5, "psam__tol": None}
    assert all(np.isfinite(cell).all() for cell in found.values())
