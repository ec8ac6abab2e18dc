"""SGDClassifier: the hinge or the logistic loss of single rows, by stochastic gradients."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=seed, **parameters)


COMPETITOR = Competitor("SGDClassifier", make, grid(alpha=decades(-4, 0), loss=["hinge", "log_loss"]))
