"""PSAM: the pairwise hinge by proximal steps on random pairs."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from aucmax import PSAM

    return PSAM(random_state=seed, **parameters)


COMPETITOR = Competitor("PSAM", make, grid(alpha=decades(-5, 2)), family="aucmax", standardize=False)
