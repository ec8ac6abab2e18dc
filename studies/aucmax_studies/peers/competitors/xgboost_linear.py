"""XGBoost with its linear booster."""

from aucmax.papers.registry import standardized

COMPETITOR = standardized(
    "XGBoost linear",
    "xgboost:XGBClassifier",
    {"reg_lambda": [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]},
    parameters={"booster": "gblinear", "updater": "coord_descent", "n_estimators": 100, "n_jobs": 1},
    family="linear",
    requires=("xgboost",),
    note='booster="gblinear", 100 rounds',
)
