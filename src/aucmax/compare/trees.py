"""Trees of other libraries, which know categories and missing values: a table reaches them as codes of its levels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ..tables.reading.table import Levels

MOST_LEVELS = 255  # that HistGradientBoostingClassifier takes


def pool_levels(X: Any, max_categories: int | None = None) -> Any:
    """Return rows of a table as codes with pooled levels, as ``TableEncoder("codes")`` does; others stay numbers."""
    return X.reading._replace(max_categories=max_categories).pool(np.asarray(X)) if isinstance(X, Levels) else X


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
    codes = FunctionTransformer(pool_levels, kw_args={"max_categories": MOST_LEVELS})
    return Trees([("codes", codes), ("classifier", HistGradientBoostingClassifier(**parameters))])


def light_gbm(**parameters: Any) -> Trees:
    """Return LightGBM, on one thread."""
    from lightgbm import LGBMClassifier

    return Trees(
        [
            ("codes", FunctionTransformer(pool_levels)),
            ("classifier", LGBMClassifier(n_jobs=1, verbose=-1, **parameters)),
        ]
    )


def ebm(**parameters: Any) -> Trees:
    """Return the explainable boosting machine, on one thread."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return Trees(
        [
            ("codes", FunctionTransformer(pool_levels)),
            ("classifier", ExplainableBoostingClassifier(n_jobs=1, **parameters)),
        ]
    )
