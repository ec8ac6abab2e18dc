"""Tries other choices of the positive classes, for papers that do not say which classes they took."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from aucmax.classifier import AUCClassifier
from aucmax.compare.tuning import quiet_and_single_threaded, sample_rows

from ..catalogue import Dataset
from ..study import Subject
from .store import Grouping

ALPHA = 0.01


def measure_groupings(subject: Subject, data: Dataset, *, most: int = 40, max_rows: int = 20_000) -> Grouping:
    """Return the AUCs of an exact fit for other choices of the positive classes.

    If a paper does not say which classes are positive, all we can expect is that its values lie in this range. All
    choices are tried, or a random sample of them, on five folds, with an alpha of 0.01.

    Parameters
    ----------
    subject : Subject
        With a `grouping` of "halves" or "one".
    data : Dataset
        The data set, with the labels of its file.
    most : int, default=40
        The most choices.
    max_rows : int, default=20_000
        The most rows.

    Returns
    -------
    grouping : Grouping
        The lowest, middle and highest AUC.
    """
    here, *groups = [np.unique(data.labels[data.y == 1]), *_groups(np.unique(data.labels), subject.grouping, most)]
    first, *others = _aucs([here, *groups], data, max_rows)
    aucs = [auc for auc in others if np.isfinite(auc)]
    lowest, median, highest = (round(float(q), 6) for q in np.quantile(aucs, [0, 0.5, 1]))
    return Grouping(subject.label, len(aucs), lowest, median, highest, round(first, 6))


def match_grouping(subject: Subject, data: Dataset, auc: float, *, most: int = 40, max_rows: int = 20_000) -> list[Any]:
    """Return the positive classes for which the AUC of an exact fit is nearest a published one.

    If a paper does not say which classes are positive, but has the figure of an exact minimiser, this choice makes its
    other figures comparable. That figure itself is then no evidence any more: `Study.fitted` names it.

    Parameters
    ----------
    subject, data, most, max_rows
        As in `measure_groupings`.
    auc : float
        The published AUC.

    Returns
    -------
    positive : list
        The positive classes, without the first class where halves are equal.
    """
    classes = np.unique(data.labels)
    groups = _groups(classes, subject.grouping, most)
    nearest = groups[int(np.nanargmin(np.abs(np.subtract(_aucs(groups, data, max_rows), auc))))]
    if subject.grouping == "halves" and classes[0] in nearest:  # the AUC of the complement is the same
        nearest = tuple(c for c in classes if c not in nearest)
    return [c.item() for c in np.sort(nearest)]


def _aucs(groups: Sequence[Any], data: Dataset, max_rows: int) -> list[float]:
    """Return the mean test AUC over five folds of an exact fit for each choice of the positive classes."""
    rows = sample_rows(len(data.y), max_rows, 0)
    X, labels = data.features[rows], data.labels[rows]
    totals = np.zeros(len(groups))
    with quiet_and_single_threaded():
        for train, test in KFold(5, shuffle=True, random_state=0).split(labels):
            X_train, X_test = X[train], X[test]  # once for all choices
            for k, group in enumerate(groups):
                totals[k] += _auc(X_train, np.isin(labels[train], group), X_test, np.isin(labels[test], group))
    return (totals / 5).tolist()


def _auc(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> float:
    """Return the AUC of an exact fit; NaN if a class is so rare that a part has none of it."""
    if not (len({*y}) > 1 < len({*y_test})):
        return np.nan
    return AUCClassifier("squared", alpha=ALPHA).fit(X, y).score(X_test, y_test)


def _groups(classes: np.ndarray, grouping: str, most: int) -> list[tuple[Any, ...]]:
    """Return all single classes, or at most `most` random halves of them; a half and its complement count once."""
    if grouping == "one":
        return [(c,) for c in classes]
    n, size, rng = len(classes), len(classes) // 2, np.random.RandomState(0)
    if math.comb(n, size) > 100 * most:
        return [tuple(rng.permutation(classes)[:size]) for _ in range(most)]
    halves = [half for half in itertools.combinations(classes, size) if 2 * size < n or classes[0] in half]
    return [halves[k] for k in rng.permutation(len(halves))[:most]]
