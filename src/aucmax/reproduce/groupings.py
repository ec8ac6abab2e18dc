"""Tries other choices of the positive classes, for papers that do not say which classes they took."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ..classifier import AUCClassifier
from ..compare.tuning import quiet_and_single_threaded, sample_rows
from .catalogue import Dataset
from .store import Grouping
from .study import Subject

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
    auc = _auc_by_group(data, max_rows)
    here = np.unique(data.labels[data.y == 1])
    with quiet_and_single_threaded():
        aucs = np.array([auc(group) for group in _groups(np.unique(data.labels), subject.grouping, most)])
        aucs = aucs[np.isfinite(aucs)]
        lowest, median, highest = (round(float(q), 6) for q in np.quantile(aucs, [0, 0.5, 1]))
        return Grouping(subject.label, len(aucs), lowest, median, highest, round(auc(here), 6))


def match_grouping(subject: Subject, data: Dataset, auc: float, *, most: int = 40, max_rows: int = 20_000) -> list[Any]:
    """Return the positive classes for which the AUC of an exact fit is nearest a published one.

    If a paper does not say which classes are positive, but has the figure of an exact minimiser, this choice makes its
    other figures comparable. That figure itself is then no evidence any more: `Study.fitted` names it.

    Parameters
    ----------
    subject : Subject
        With a `grouping` of "halves" or "one".
    data : Dataset
        The data set, with the labels of its file.
    auc : float
        The published AUC.
    most : int, default=40
        The most choices.
    max_rows : int, default=20_000
        The most rows.

    Returns
    -------
    positive : list
        The positive classes, without the first class where halves are equal.
    """
    measure, classes = _auc_by_group(data, max_rows), np.unique(data.labels)
    groups = _groups(classes, subject.grouping, most)
    with quiet_and_single_threaded():
        distances = [abs(measure(group) - auc) for group in groups]
    nearest = groups[int(np.nanargmin(distances))]
    if subject.grouping == "halves" and classes[0] in nearest:  # the AUC of the complement is the same
        nearest = tuple(c for c in classes if c not in nearest)
    return [c.item() for c in np.sort(nearest)]


def _auc_by_group(data: Dataset, max_rows: int) -> Callable[[Sequence[Any] | np.ndarray], float]:
    """Return a function that measures the mean test AUC of an exact fit for given positive classes, over five folds."""
    rows = sample_rows(len(data.y), max_rows, 0)
    X, labels = data.features[rows], data.labels[rows]
    folds = [
        (X[train], labels[train], X[test], labels[test])
        for train, test in KFold(5, shuffle=True, random_state=0).split(labels)
    ]

    def auc(group: Sequence[Any] | np.ndarray) -> float:
        aucs = []
        for X_train, of_train, X_test, of_test in folds:
            y, y_test = np.isin(of_train, group), np.isin(of_test, group)
            if not (len({*y}) > 1 < len({*y_test})):  # one class is so rare that a part has none of it
                return np.nan
            aucs.append(AUCClassifier("squared", alpha=ALPHA).fit(X_train, y).score(X_test, y_test))
        return float(np.mean(aucs))

    return auc


def _groups(classes: np.ndarray, grouping: str, most: int) -> list[tuple[Any, ...]]:
    """Return all single classes, or at most `most` random halves of them; a half and its complement count once."""
    if grouping == "one":
        return [(c,) for c in classes]
    n, size, rng = len(classes), len(classes) // 2, np.random.RandomState(0)
    if math.comb(n, size) > 100 * most:
        return [tuple(rng.permutation(classes)[:size]) for _ in range(most)]
    halves = [half for half in itertools.combinations(classes, size) if 2 * size < n or classes[0] in half]
    return [halves[k] for k in rng.permutation(len(halves))[:most]]
