"""XGBoost with trees."""

from typing import Any

from competitors import Competitor, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, n_jobs=1, random_state=seed, **parameters)


COMPETITOR = Competitor(
    "XGBoost trees",
    make,
    grid(max_depth=[3, 6, 9], learning_rate=[0.1, 0.3]),
    family="trees",
    requires=("xgboost",),
    standardize=False,
    note="100 trees",
)
