"""Frames and arrays as one matrix of numbers: categories become codes, and missing values NaN.

What is accepted, and how categories are named, is as in scikit-learn's `HistGradientBoostingClassifier`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..data.validation import naming_text

LevelNames = list[np.ndarray | None]
ADVICE = 'make_pipeline(TableEncoder("codes"), AdditiveAUCClassifier())'


def is_frame(X: Any) -> bool:
    """Return whether X is a dataframe of pandas, polars or their like."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def find_categorical(X: Any, given: Any, n_features: int, names: np.ndarray | None) -> np.ndarray:
    """Return which columns are categories, as a mask.

    Parameters
    ----------
    X : frame, array or rows of shape (n, n_features)
        The rows.
    given : "from_dtype", None or array-like of bool, int or str
        The parameter `categorical_features`.
    n_features : int
        Number of columns.
    names : ndarray of str or None
        The names of the columns, if they are known.

    Returns
    -------
    mask : ndarray of bool, shape (n_features,)
        The columns.
    """
    mask = np.zeros(n_features, dtype=bool)
    if isinstance(given, str) and given == "from_dtype":
        if getattr(X, "categorical", None) is not None:  # codes of a table
            mask[:] = X.categorical
        elif is_frame(X):
            mask[:] = [str(X[name].dtype).lower().startswith(("category", "categorical", "enum")) for name in X.columns]
        return mask
    chosen = np.asarray([] if given is None else given)
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of shape {chosen.shape}, but X has {n_features} columns: "
                "a mask has one entry for each."
            )
        return chosen.copy()
    for each in chosen.tolist():
        mask[position_of(each, "categorical_features", n_features, names)] = True
    return mask


def position_of(column: Any, parameter: str, n_features: int, names: np.ndarray | None) -> int:
    """Return the position of a column that a parameter gives by position or name."""
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"{parameter} names the column {column!r}, but X has no column names: give positions.")
        found = np.flatnonzero(names == column)
        if not len(found):
            raise ValueError(f"{parameter} names the column {column!r}, which X does not have.")
        return int(found[0])
    if not isinstance(column, int) or not 0 <= column < n_features:
        raise ValueError(
            f"{parameter} holds {column!r}: columns are given by name or by a position from 0 to {n_features - 1}."
        )
    return column


def find_levels(X: Any, categorical: np.ndarray) -> LevelNames:
    """Return the levels of each category column of a frame, sorted; None for the other columns."""
    levels: LevelNames = [None] * len(categorical)
    for j in np.flatnonzero(categorical).tolist():
        found = {value for value in entries(X, j) if not is_missing(value)}
        ordered = sorted(found, key=lambda value: (type(value).__name__, value))
        levels[j] = np.fromiter(ordered, object, len(ordered))
    return levels


def read_frame(X: Any, levels: LevelNames) -> np.ndarray:
    """Return a frame as float64 numbers: for a category its place among the levels, NaN if it is missing or new."""
    matrix = np.empty((len(X), len(levels)))
    numbers = [j for j, names in enumerate(levels) if names is None]
    if numbers:
        part = X[[X.columns[j] for j in numbers]]
        with naming_text(part, ADVICE):
            matrix[:, numbers] = check_array(part, dtype=np.float64, ensure_all_finite=False, input_name="X")
    for j, names in enumerate(levels):
        if names is not None:
            places = {value: k for k, value in enumerate(names.tolist())}
            matrix[:, j] = [np.nan if is_missing(value) else places.get(value, np.nan) for value in entries(X, j)]
    return matrix


def entries(X: Any, j: int) -> Iterable[Any]:
    """Return the entries of a column of a frame as Python objects."""
    return np.asarray(X[X.columns[j]].to_numpy(), dtype=object).tolist()


def is_missing(value: Any) -> bool:
    """Return whether an entry is None, NaN or the missing value of pandas."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)
