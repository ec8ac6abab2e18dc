"""The models of the study of tables, each fitted to a raw frame, and how the frames of the rivals are prepared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from aucmax import AUCClassifier

# It contains the defaults.
GRID = {
    "num_leaves": [7, 15, 31],
    "learning_rate": [0.03, 0.1],
    "n_estimators": [100, 300],
    "min_child_samples": [20, 100],
}
MAX_LEVELS = 255  # of HistGradientBoostingClassifier

# How the rivals' frames are prepared


def read_numbers(cells: pd.Series) -> pd.Series:
    """Return numbers, truth values, and text that is a number; NaN for other cells."""
    return pd.to_numeric(cells, errors="coerce").astype(np.float64)


def read_days(cells: pd.Series) -> pd.Series:
    """Return dates as days since 1970; NaN for other cells."""
    dates = pd.to_datetime(cells, format="mixed", utc=True, errors="coerce")
    return (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def read_levels(cells: pd.Series, levels: pd.Index) -> pd.Series:
    """Return categories; a level that is not listed is missing."""
    return pd.Series(pd.Categorical.from_codes(levels.get_indexer(cells), levels), index=cells.index)


def read_codes(cells: pd.Series, levels: pd.Index) -> pd.Series:
    """Return the places of levels in their list as numbers; NaN for others."""
    codes = pd.Series(levels.get_indexer(cells), index=cells.index, dtype=np.float64)
    return codes.mask(codes < 0)


class TypedFrame(TransformerMixin, BaseEstimator):
    """Turn the columns of a raw frame into numbers and categories.

    The training rows decide. A column whose cells are all numbers or blank is one of numbers; one whose cells are all
    dates becomes days; others have the categories of the training rows. Columns of text with more categories than half
    of the rows are dropped. Cells of other rows that do not fit are missing.

    Parameters
    ----------
    max_levels : int or None
        Columns with more categories become ordinal numbers.
    """

    def __init__(self, max_levels: int | None = None) -> None:
        self.max_levels = max_levels

    def fit(self, X: pd.DataFrame, y: Any = None) -> TypedFrame:
        """Decide how each column is read."""
        found = {name: self._choose_reader(cells) for name, cells in X.items()}
        self.readers_ = {name: reader for name, reader in found.items() if reader is not None}
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are kept."""
        return pd.DataFrame({name: reader(blanks_missing(X[name])) for name, reader in self.readers_.items()})

    def _choose_reader(self, cells: pd.Series) -> Callable[[pd.Series], pd.Series] | None:
        cells = blanks_missing(cells).dropna()
        if read_numbers(cells).notna().all():
            return read_numbers
        # Some words, such as May, would also be parsed as dates.
        if cells.astype(str).str.contains(r"\d.*\d").all() and read_days(cells).notna().all():
            return read_days
        levels = pd.Index(np.sort(cells.unique()))
        if len(levels) > len(cells) / 2:
            return None
        as_codes = self.max_levels is not None and len(levels) > self.max_levels
        return partial(read_codes if as_codes else read_levels, levels=levels)


def blanks_missing(cells: pd.Series) -> pd.Series:
    """Return a column with text of spaces alone as missing."""
    return cells if pd.api.types.is_numeric_dtype(cells) else cells.replace(r"^\s*$", np.nan, regex=True)


def one_hot(model: Any) -> Any:
    """Return a model of scaled numbers, indicators of missing ones and one-hot categories."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(TypedFrame(), columns, model)


# The models


# Rows of some tables are sorted by date.
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def logistic_cv() -> Any:
    return one_hot(LogisticRegressionCV(scoring="roc_auc", cv=FOLDS, Cs=10, max_iter=1000, n_jobs=1))


def hist_gradient_boosting() -> Any:
    return make_pipeline(TypedFrame(MAX_LEVELS), HistGradientBoostingClassifier(categorical_features="from_dtype"))


def light_gbm(tuned: bool = False) -> Any:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1)
    if tuned:
        model = GridSearchCV(model, GRID, scoring="roc_auc", cv=FOLDS, n_jobs=1)
    return make_pipeline(TypedFrame(), model)


def ebm() -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return make_pipeline(TypedFrame(), ExplainableBoostingClassifier(n_jobs=1))


def ours(terms: str, cv: int = 5) -> Any:
    """Return a rung of the ladder, or the ladder, from the raw frame."""
    from aucmax import TableClassifier

    return TableClassifier(terms=terms, cv=cv)


# The ladder and its rungs, which run on all data sets.
OURS: dict[str, Callable[[], Any]] = {
    "ladder": partial(ours, "auto"),
    "lines": partial(ours, "lines", cv=0),
    "curves": partial(ours, "curves", cv=0),
    "pairs": partial(ours, "pairs"),
}
# The cheap ones first.
RIVALS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: one_hot(LogisticRegression(max_iter=1000)),
    "logistic CV": logistic_cv,
    "AUCClassifier": lambda: one_hot(AUCClassifier()),
    "LightGBM": light_gbm,
    "HistGradientBoosting": hist_gradient_boosting,
    "LightGBM tuned": partial(light_gbm, tuned=True),
    "EBM": ebm,
}
NUMERIC_RIVALS: dict[str, Callable[[], Any]] = {
    "linear": lambda: make_pipeline(SimpleImputer(), AUCClassifier()),
    "LightGBM": light_gbm,
    "HistGradientBoosting": HistGradientBoostingClassifier,
    "EBM": ebm,
}
