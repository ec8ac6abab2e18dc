"""RidgeClassifierCV: least squares on the labels, alpha by its own leave-one-out error, which costs no further fit.

Its folds with AUC for the score would fit anew for every alpha, several times as slow.
"""

from typing import Any

from competitors import Competitor, decades


def make(seed: int, n_features: int) -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    return RidgeClassifierCV(alphas=decades(-2, 5))


COMPETITOR = Competitor(
    "RidgeClassifierCV", make, note="tunes itself, 8 values of alpha by the squared error of leaving one out"
)
