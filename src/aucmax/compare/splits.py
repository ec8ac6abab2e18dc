"""The folds of a comparison, the same for all methods: stratified, of whole groups, or in the order of time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedGroupKFold, StratifiedKFold

Split = tuple[np.ndarray, np.ndarray]  # the training rows and the test rows


class TimeFolds:
    """Folds in the order of time: each tests on the rows that come next after its training rows.

    The last rows are cut into test parts of the same size, and each is tested with all rows before it as training
    rows. Rows of the same time are in the same part. With times that are all different, these are the splits of
    :class:`sklearn.model_selection.TimeSeriesSplit`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.compare.splits import TimeFolds
    >>> times = np.array([3, 1, 2, 5, 4, 6])
    >>> [(train.tolist(), test.tolist()) for train, test in TimeFolds(2).split(times, None, times)]
    [([1, 2], [0, 4]), ([0, 1, 2, 4], [3, 5])]
    """

    def __init__(self, n_splits: int) -> None:
        self.n_splits = n_splits

    def get_n_splits(self) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, times: np.ndarray) -> Iterator[Split]:
        """Yield the training and the test rows of each fold."""
        ordered, n = np.sort(times), len(times)
        size = n // (self.n_splits + 1)
        cuts = [*ordered[n - size * np.arange(self.n_splits, 0, -1)].tolist(), None] if size else []
        if len(set(cuts)) <= self.n_splits or cuts[0] == ordered[0]:
            raise ValueError(f"time has too few different values for {self.n_splits} folds: ask for fewer folds.")
        for first, end in itertools.pairwise(cuts):
            later = times >= first
            yield np.flatnonzero(~later), np.flatnonzero(later if end is None else later & (times < end))


def make_splits(
    y: np.ndarray, groups: np.ndarray | None, time: np.ndarray | None, n_splits: int, n_repeats: int, seed: int
) -> list[Split]:
    """Return the splits of a comparison."""
    zeros = np.zeros(len(y))
    if time is not None:
        splits = list(TimeFolds(n_splits).split(zeros, y, time))
    elif groups is not None:
        rng = np.random.RandomState(seed)
        drawn = [StratifiedGroupKFold(n_splits, shuffle=True, random_state=rng) for _ in range(n_repeats)]
        splits = [split for folds in drawn for split in folds.split(zeros, y, groups)]
    else:
        drawn_anew = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=n_repeats, random_state=seed)
        splits = list(drawn_anew.split(zeros, y))
    for rows in (part for split in splits for part in split):
        if len(np.unique(y[rows])) < 2:
            raise ValueError(f"One of the {n_splits} folds would have rows of one class only: ask for fewer folds.")
    return splits


def make_inner_folds(groups: Any, time: Any, n_splits: int, seed: int) -> Any:
    """Return the folds of the training parts, by which parameters are chosen."""
    if time is not None:
        return TimeFolds(n_splits)
    folds = StratifiedKFold if groups is None else StratifiedGroupKFold
    return folds(n_splits, shuffle=True, random_state=seed)


def check_folds(y: np.ndarray, n_splits: int, inner_splits: int) -> None:
    """Raise a ValueError unless every fold, inner ones too, can hold a row of each class."""
    rarer = min(np.count_nonzero(y), np.count_nonzero(y == 0))
    if rarer < n_splits or rarer - math.ceil(rarer / n_splits) < inner_splits:
        inner = f" and {inner_splits} inner ones" if inner_splits else ""
        raise ValueError(
            f"The rarer class has only {rarer} rows, too few for {n_splits} folds{inner}: ask for fewer folds."
        )
