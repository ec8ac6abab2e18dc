"""Scores in Dask collections, and their AUCs.

The scores of the rarer class are gathered if they take at most a sixteenth of the memory, which has room for 16 million
rows. The AUCs are then exact. Otherwise the scores of both classes are counted in bins, all with about the same number
of rows. Two scores in one bin count as a tie: the error of an AUC is far below 1e-5, half the share of these pairs,
where its standard error is 1e-5 or more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite

from ..blocks.block import LazyVector, RowBlock
from ..blocks.rows import MEMORY
from ..folds import GOLDEN_RATIO
from ..protocol import Targets
from ..summaries.delong import WeightedPlacementSums, estimate_aucs
from ..summaries.ranking import aucs_of_scores
from .partitions import align, as_columns
from .rows import DaskRows

KEPT_SHARE = 16  # one part in so many of the memory is for the scores of the rarer class
N_BINS = 1 << 16  # about so many bins for each vector of scores


class DaskScores(DaskRows):
    """Scores in Dask collections, as rows whose columns are vectors of scores; errors use their keyword names."""

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

    @property
    def vectors(self) -> list[LazyVector]:
        """All vectors of scores."""
        return list(map(self.column, range(self.n_features)))

    def column_aucs(self) -> list[float]:
        if not self._both_are_large:
            return aucs_of_scores(self, *self.vectors)
        aucs = []
        for negatives, positives in self._masses(self._edges()):
            below = 2 * np.cumsum(negatives) - negatives  # a tie counts one half
            aucs.append(float(below @ positives / (2 * negatives.sum() * positives.sum())))
        return aucs

    def estimate(self) -> tuple[list[float], float]:
        if not self._both_are_large:
            return estimate_aucs(self, *self.vectors, weighted=self._weighted)
        edges = self._edges()
        masses = self._masses(edges)
        below = [2 * np.cumsum(mass, axis=1) - mass for mass in masses]
        totals = masses[0].sum(axis=1)
        mean_weight = totals / self.counts

        def look_up(targets: Targets, *scores: np.ndarray) -> list[WeightedPlacementSums]:
            sums = []
            for own, side in enumerate((~targets.positive, targets.positive)):
                doubled = [b[1 - own][find_bins(e, s[side])] for b, e, s in zip(below, edges, scores, strict=True)]
                v = np.ones(len(doubled[0])) if targets.sample_weight is None else targets.sample_weight[side]
                sums.append(WeightedPlacementSums.of(v / mean_weight[own], doubled, 2 * totals[1 - own]))
            return sums

        negatives, positives = self.reduce(
            look_up, *self.vectors, merge=lambda a, b: list(map(WeightedPlacementSums.merge, a, b))
        )
        return positives.means(), negatives.variance + positives.variance

    @property
    def _both_are_large(self) -> bool:
        return float(8 * self.counts.min()) > self.memory / KEPT_SHARE

    def _edges(self) -> list[np.ndarray]:
        """Return the edges of the bins of each vector: evenly spaced scores, and those that many rows share alone."""
        step = max(self.n_rows // N_BINS, 1)

        def pick_each(targets: Targets, start: int, *scores: np.ndarray) -> list[np.ndarray]:
            return [pick(column, step, start) for column in scores]

        starts = LazyVector(self, lambda block: block.start)
        edges = []
        for picked in self.reduce(pick_each, starts, *self.vectors, merge=lambda a, b: list(map(np.append, a, b))):
            values, times = np.unique(picked, return_counts=True)
            edges.append(np.union1d(values, np.nextafter(values[times > 1], np.inf)))
        return edges

    def _masses(self, edges: list[np.ndarray]) -> list[np.ndarray]:
        """Return for each vector the weight of the negatives and of the positives in each bin."""

        def count(targets: Targets, *scores: np.ndarray) -> list[np.ndarray]:
            weights = np.ones(len(targets.positive)) if targets.sample_weight is None else targets.sample_weight
            sides = (~targets.positive, targets.positive)
            return [
                np.array([np.bincount(find_bins(e, s[side]), weights[side], len(e) + 1) for side in sides])
                for e, s in zip(edges, scores, strict=True)
            ]

        return self.reduce(count, *self.vectors, merge=lambda a, b: list(map(np.add, a, b)))


def find_bins(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the bin of each score: a bin has the scores from one edge on, below the next."""
    return np.searchsorted(edges, scores, "right")


def pick(scores: np.ndarray, step: int, start: int) -> np.ndarray:
    """Return evenly spaced scores of a partition, one in `step` of them, where `start` rows come before it.

    The first rank depends on `start`, and is spread evenly over partitions: of small ones, whose scores are fewer than
    a step, some have one picked, and it is of any rank.
    """
    ranks = np.arange(int(start * GOLDEN_RATIO % 1.0 * step), len(scores), step)
    return np.partition(scores, ranks)[ranks] if len(ranks) else scores[:0]
