"""Trees of other libraries, which know categories and missing values: a table reaches them as codes of its levels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline

from ..tables.reading.table import Levels

MOST_LEVELS = 255  # that HistGradientBoostingClassifier takes


class LevelCodes(TransformerMixin, BaseEstimator):
    """Rows of a table as codes with pooled levels, as ``TableEncoder("codes")`` has them; others stay as numbers."""

    def __init__(self, max_categories: int | None = None) -> None:
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: the levels know how their table is read."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the codes."""
        if not isinstance(X, Levels):
            return X
        return X.reading._replace(max_categories=self.max_categories).pool(np.asarray(X))


class Trees(Pipeline):
    """Codes, and trees that learn from the levels which columns are categories."""

    def fit(self, X: Any, y: Any = None, **parameters: Any) -> Self:
        """Fit the levels of a table, or numbers."""
        if isinstance(X, Levels):
            categories, trees = np.array(X.reading.categorical), self[-1]
            if hasattr(trees, "categorical_features"):
                trees.set_params(categorical_features=categories)
            elif hasattr(trees, "feature_types"):
                trees.set_params(feature_types=np.where(categories, "nominal", "continuous").tolist())
            else:
                parameters["classifier__categorical_feature"] = np.flatnonzero(categories).tolist()
        super().fit(X, y, **parameters)
        return self


def hist_gradient_boosting(**parameters: Any) -> Trees:
    """Return scikit-learn's gradient boosting."""
    trees = HistGradientBoostingClassifier(**parameters)
    return Trees([("codes", LevelCodes(MOST_LEVELS)), ("classifier", trees)])


def light_gbm(**parameters: Any) -> Trees:
    """Return LightGBM, on one thread."""
    from lightgbm import LGBMClassifier

    return Trees([("codes", LevelCodes()), ("classifier", LGBMClassifier(n_jobs=1, verbose=-1, **parameters))])


def ebm(**parameters: Any) -> Trees:
    """Return the explainable boosting machine, on one thread."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return Trees([("codes", LevelCodes()), ("classifier", ExplainableBoostingClassifier(n_jobs=1, **parameters))])
