"""LightGBM with trees. It has no linear booster: its `linear_tree` is a tree with linear leaves."""

from aucmax.papers.registry import Method

COMPETITOR = Method(
    "LightGBM trees",
    "lightgbm:LGBMClassifier",
    {"num_leaves": [7, 31, 127], "learning_rate": [0.1, 0.3]},
    parameters={"n_estimators": 100, "n_jobs": 1, "verbose": -1},
    family="trees",
    requires=("lightgbm",),
    note="100 trees; LightGBM has no linear booster",
)
