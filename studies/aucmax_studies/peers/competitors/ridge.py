"""RidgeClassifierCV: least squares on the labels, alpha by its own leave-one-out error, which costs no further fit.

Choosing alpha by the AUC of folds would need a fit for every alpha and fold, which is several times as slow.
"""

from aucmax.papers.registry import powers, standardized

COMPETITOR = standardized(
    "RidgeClassifierCV",
    "sklearn.linear_model:RidgeClassifierCV",
    {},
    parameters={"alphas": powers(10, -2, 5)},
    family="linear",
    note="tunes itself, 8 values of alpha by the squared error of leaving one out",
)
