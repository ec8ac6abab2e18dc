"""LogisticRegressionCV: ten values of C, chosen by the AUC of its own folds."""

from aucmax.papers.registry import standardized

COMPETITOR = standardized(
    "LogisticRegressionCV",
    "sklearn.linear_model:LogisticRegressionCV",
    {},
    parameters={"Cs": 10, "cv": 3, "scoring": "roc_auc", "l1_ratios": (0,), "use_legacy_attributes": False},
    family="linear",
    note="tunes itself, 10 values of C by 3 folds of all rows",
)
