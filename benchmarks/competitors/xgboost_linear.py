"""XGBoost with its linear booster."""

from typing import Any

from competitors import Competitor, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(
        booster="gblinear", updater="coord_descent", n_estimators=100, n_jobs=1, random_state=seed, **parameters
    )


COMPETITOR = Competitor(
    "XGBoost linear",
    make,
    grid(reg_lambda=[0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]),
    requires=("xgboost",),
    note='booster="gblinear", 100 rounds',
)
