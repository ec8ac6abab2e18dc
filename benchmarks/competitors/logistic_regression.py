"""LogisticRegressionCV: ten values of C by the AUC of its own folds."""

from typing import Any

from competitors import Competitor


def make(seed: int, n_features: int) -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(Cs=10, cv=3, scoring="roc_auc", l1_ratios=(0,), use_legacy_attributes=False)


COMPETITOR = Competitor("LogisticRegressionCV", make, note="tunes itself, 10 values of C by 3 folds of all rows")
