"""XGBoost with trees."""

from aucmax.papers.registry import Method

COMPETITOR = Method(
    "XGBoost trees",
    "xgboost:XGBClassifier",
    {"max_depth": [3, 6, 9], "learning_rate": [0.1, 0.3]},
    parameters={"n_estimators": 100, "n_jobs": 1},
    family="trees",
    requires=("xgboost",),
    note="100 trees",
)
