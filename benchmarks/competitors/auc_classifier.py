"""AUCClassifier as it comes: loss and alpha by its own cross-validation."""

from typing import Any

from competitors import Competitor


def make(seed: int, n_features: int) -> Any:
    from aucmax import AUCClassifier

    return AUCClassifier()


COMPETITOR = Competitor(
    "AUCClassifier", make, family="aucmax", standardize=False, note="tunes itself, by 5 folds or more of all rows"
)
