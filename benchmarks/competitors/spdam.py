"""SPDAM: the exact minimiser of the pairwise square loss, by stochastic primal-dual steps; the grid of its paper."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from aucmax import SPDAM

    return SPDAM(random_state=seed, **parameters)


COMPETITOR = Competitor("SPDAM", make, grid(alpha=decades(-5, 1)), family="aucmax", standardize=False)
