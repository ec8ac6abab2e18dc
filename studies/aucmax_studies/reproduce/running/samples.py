"""The rows that a study is measured on: splits of real data, scaled as the paper says, or draws of generated data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from aucmax import datasets

from ..catalogue import Unavailable
from ..study import Protocol, Subject


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    X_train: Any  # the training rows and their classes, 0 and 1
    y_train: np.ndarray
    X_test: Any  # the test rows and their classes
    y_test: np.ndarray
    truth: Any = None  # what is known about generated data: their true moments or their true support


class Folds:
    """Splits of a data set by repeated k-fold."""

    def __init__(self, X: Any, y: np.ndarray, protocol: Protocol, subject: Subject) -> None:
        rarer = int(min(np.count_nonzero(y), np.count_nonzero(y == 0)))
        if rarer < protocol.folds:
            raise Unavailable(f"the rarer class has {rarer} rows, too few for {protocol.folds} folds.")
        self.features, self.y = X, y
        self.splits: list[tuple[np.ndarray, np.ndarray]] = []
        kind, rng = StratifiedKFold if subject.stratified else KFold, np.random.RandomState(0)
        while len(self.splits) < protocol.folds * protocol.repeats * subject.repeats:
            splits = list(kind(protocol.folds, shuffle=True, random_state=rng).split(np.zeros(len(y)), y))
            if all(len(np.unique(y[test])) == 2 for _, test in splits):  # one class has no AUC
                self.splits += splits

    @property
    def shape(self) -> tuple[int, int, float, int]:
        """Rows, columns, share of positives, and nonzero values of a row."""
        width = self.features.nnz / len(self.y) if sparse.issparse(self.features) else self.features.shape[1]
        return len(self.y), self.features.shape[1], float(self.y.mean()), math.ceil(width)

    def split(self, run: int, options: Mapping[str, Any]) -> Split:
        """Return the split of a run; there are no options."""
        train, test = self.splits[run]
        return Split(self.features[train], self.y[train], self.features[test], self.y[test])


class Draws:
    """Generated data, with a new draw for each run; Gaussian data always have the same moments."""

    def __init__(self, subject: Subject, scaling: str, protocol: Protocol, max_rows: int | None) -> None:
        self.generate = getattr(datasets, subject.generator)
        self.options, self.test_size = dict(subject.options), protocol.test_size
        self.scaling = scaling
        self.latest: tuple[Any, Split | None] = (None, None)  # the methods of a run follow each other
        if max_rows is not None:
            self.options["n_samples"] = max_rows
        self.is_gaussian = "moments" in inspect.signature(self.generate).parameters
        if self.is_gaussian:
            self.options["train_size"] = 1 - self.test_size
            self.options["moments"] = self.generate(**{**self.options, "n_samples": 2}, random_state=0)[2]

    @property
    def shape(self) -> tuple[int, int, float, int]:
        """Rows, columns, share of positives, and values of a row."""
        X, y, _ = self.generate(**self.options, random_state=0)
        return *X.shape, float(y.mean()), X.shape[1]

    def split(self, run: int, options: Mapping[str, Any]) -> Split:
        """Return the draw of a run; the test rows of Gaussian data are the last ones, which have no outliers."""
        key, split = self.latest
        if split is None or key != (run, dict(options)):
            split = self._draw(run, options)
            self.latest = (run, dict(options)), split
        return split

    def _draw(self, run: int, options: Mapping[str, Any]) -> Split:
        X, y, truth = self.generate(**{**self.options, **options}, random_state=run + 1)
        X = scale(X, self.scaling)
        if self.is_gaussian:
            n_train = len(y) - round(self.test_size * len(y))
            return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:], truth)
        X, X_test, y, y_test = train_test_split(X, y, test_size=self.test_size, stratify=y, random_state=run)
        return Split(X, y, X_test, y_test, truth)


def scale(X: Any, scaling: str) -> Any:
    """Return the rows scaled as a paper says; sparse ones keep their zeros."""
    if scaling.startswith("minmax"):
        X = (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler((-1, 1))).fit_transform(X)
    if scaling.startswith("standard"):
        X = StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)
    if scaling == "centred unit" and not sparse.issparse(X):
        X = X - X.mean(axis=0)
    if scaling.endswith("constant"):
        ones = np.ones((X.shape[0], 1))
        X = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])
    return normalize(X) if scaling.endswith("unit") else X
