"""BAM: the squared pairwise hinge, minimised exactly. C multiplies a sum over pairs, so its grid reaches far down."""

from typing import Any

from competitors import Competitor, decades, grid


def make(seed: int, n_features: int, **parameters: Any) -> Any:
    from aucmax import BAM

    return BAM(**parameters)


COMPETITOR = Competitor("BAM", make, grid(C=decades(-12, 2, 2)), family="aucmax", standardize=False)
