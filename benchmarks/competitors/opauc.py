"""OPAUC: the pairwise square loss in one pass; on wide data with sketches of the covariances, as in its paper."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from aucmax import OPAUC

    return OPAUC(rank=50 if n_features > 1000 else None, random_state=seed, **parameters)


COMPETITOR = Competitor(
    "OPAUC",
    make,
    grid(alpha=decades(-4, 3)),
    family="aucmax",
    standardize=False,
    note="OPAUCr of rank 50 beyond 1,000 columns",
)
