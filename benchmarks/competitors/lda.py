"""LinearDiscriminantAnalysis, its covariance shrunk by so much."""

from typing import Any

from competitors import Competitor, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", **parameters)


COMPETITOR = Competitor(
    "LinearDiscriminantAnalysis",
    make,
    grid(shrinkage=[None, "auto", 0.001, 0.01, 0.1, 0.5, 0.9]),
    takes_sparse=False,
)
