"""LinearSVC: the squared hinge of single rows."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed, **parameters)


COMPETITOR = Competitor("LinearSVC", make, grid(C=decades(-6, 1)))
