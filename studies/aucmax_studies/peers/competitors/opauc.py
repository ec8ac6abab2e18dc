"""OPAUC: the pairwise square loss in one pass; on wide data with sketches of the covariances, as in its paper."""

from typing import Any

import numpy as np

from aucmax import OPAUC
from aucmax.papers import ALGORITHMS
from aucmax.papers.registry import powers


class OPAUCByWidth(OPAUC):
    """OPAUC of rank 50 beyond 1,000 columns, with full covariances below."""

    def fit(self, X: Any, y: np.ndarray) -> OPAUC:
        """Choose the rank by the number of columns and fit."""
        self.set_params(rank=50 if X.shape[1] > 1000 else None)
        return super().fit(X, y)


COMPETITOR = ALGORITHMS["OPAUC"]._replace(
    source=OPAUCByWidth, grid={"alpha": powers(10, -4, 3)}, note="OPAUCr of rank 50 beyond 1,000 columns"
)
