"""Scores in Dask collections, and their AUCs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from . import dask_buckets
from .blocks import KEPT_SHARE, MEMORY
from .dask import DaskRows
from .dask_auc import aucs_by_buckets
from .dask_buckets import Splitters, find_splitters
from .dask_partitions import align, as_columns
from .dask_places import estimate_by_buckets
from .held_out_exchange import pick
from .places import EstimatedAUCs
from .protocol import Targets
from .ranking import aucs_of_scores
from .row_block import LazyVector, RowBlock
from .weighted_places import largest_weights


class DaskScores(DaskRows):
    """Scores in Dask collections, as rows whose columns are vectors of scores.

    Parameters
    ----------
    y, sample_weight : Dask collection
        See :class:`DaskRows`.
    **scores : Dask array, series or dataframe of shape (n_rows,) or (n_rows, n_scores)
        The scores, under the names that errors call them by.
    """

    _name = "scores"

    def __init__(self, y: Any, sample_weight: Any = None, **scores: Any) -> None:
        self.memory = MEMORY
        columns = {name: as_columns(values) for name, values in scores.items()}
        *blocks, labels, weights = align({**columns, "y": y, "sample_weight": sample_weight})
        side_by_side = [[block for part in parts for block in part] for parts in zip(*blocks, strict=True)]
        self._partitions = [(*part, None) for part in zip(side_by_side, labels, weights, strict=True)]
        self._weighted = sample_weight is not None

    def column(self, k: int) -> LazyVector:
        """Return a vector of scores, in float64; scores that are not finite are refused."""

        def entries(block: RowBlock) -> np.ndarray:
            column = np.ascontiguousarray(block.X[:, k], dtype=np.float64)
            assert_all_finite(column, input_name="scores")
            return column

        return LazyVector(self, entries)

    def column_aucs(self) -> list[float]:
        """Return the AUC of each column of scores."""
        columns = range(self.n_features)
        if not self._both_are_large:
            return aucs_of_scores(self, *map(self.column, columns))
        few_are_positive = bool(self.counts[1] <= self.counts[0])
        splitters = self._splitters(columns)
        return aucs_by_buckets(self._partitions, splitters, few_are_positive, self._weighted, self._job(None))

    def estimate(self, *columns: int) -> EstimatedAUCs:
        """Return the AUCs of one or two vectors of scores and DeLong's variance."""
        if not self._both_are_large:
            return EstimatedAUCs.of(self, *map(self.column, columns), weighted=self._weighted)
        largest = self.reduce(largest_weights, merge=np.maximum) if self._weighted else None
        return estimate_by_buckets(self._partitions, self._splitters(columns), largest, self._job(None))

    @property
    def _both_are_large(self) -> bool:
        return float(8 * self.counts.min()) > self.memory / KEPT_SHARE

    def _splitters(self, columns: Sequence[int]) -> dict[int, Splitters]:
        """Return the splitters of vectors of scores, in one pass."""
        step = max(dask_buckets.BUCKET // dask_buckets.PICKED, 1)

        def pick_each(targets: Targets, start: int, *scores: np.ndarray) -> list[np.ndarray]:
            return [pick(column, step, start) for column in scores]

        starts = LazyVector(self, lambda block: block.start)
        vectors = map(self.column, columns)
        picked = self.reduce(pick_each, starts, *vectors, merge=lambda a, b: list(map(np.append, a, b)))
        return dict(zip(columns, map(find_splitters, picked), strict=True))
