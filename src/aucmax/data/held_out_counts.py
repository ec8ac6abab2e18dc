"""Three ways to count which pairs of held-out rows are ranked right, as rows come block by block.

- :class:`RareCounts`, if the rows of the rarer class are in memory: their scores are sorted before the pass, and the
  pass looks up the scores of the other class among them.
- :class:`ExchangedCounts` (`held_out_exchange.py`), if rows are in partitions that can exchange their scores, and these
  are not too many: the pass picks some of the scores, another one cuts all of them there.
- :class:`BinCounts` otherwise: the pass counts the scores in bins, whose error is far below the difference that counts
  as a tie (`auc_bins.py`).

The first two are exact. Each has the same methods: `empty` makes the counts of no rows, `add` adds rows that one split
holds out, `merge` joins the counts of different rows, and `auc` makes the AUCs of all splits, over all rounds, of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .auc_bins import AUCBins, count_of_bins
from .folds import in_parts
from .protocol import FoldModels, Targets
from .ranking import sort_distinct
from .row_block import RowBlock
from .row_scores import scores_by_row
from .scores import ScoreMoments


class RareCounts(NamedTuple):
    """The sorted held-out scores of the rarer class, among which the scores of the other class are looked up.

    Attributes
    ----------
    tables : list of list of list of tuple
        For each round, split and candidate, the sorted scores and the weight below each (`ranking.sort_distinct`).
    positive : bool
        Whether the rarer class is the positive one.
    """

    tables: list[list[list[tuple[np.ndarray, np.ndarray]]]]
    positive: bool

    @classmethod
    def of(cls, rare: RowBlock, models: Sequence[FoldModels]) -> RareCounts:
        """Score the rare rows with the models of the split that holds them out."""
        tables = []
        for model in models:
            parts, of_round = rare.value(model.round.parts), []
            for split, W in zip(model.round.splits, model.weights, strict=True):
                test = np.flatnonzero(in_parts(parts, split.test))
                weights = rare.targets.sample_weight
                weights = None if weights is None else weights[test]
                scores = scores_by_row(rare.X[test], W)
                of_round.append([sort_distinct(column.copy(), weights) for column in scores.T])
            tables.append(of_round)
        return cls(tables, bool(rare.targets.positive[0]))

    def empty(self) -> list[np.ndarray]:
        """Return for each round the counts of no rows."""
        return [np.zeros((len(of_round), len(of_round[0]), 2)) for of_round in self.tables]

    def add(
        self, counts: list[np.ndarray], number: int, k: int, scores: np.ndarray, targets: Targets, start: int
    ) -> None:
        """Add for each model of a split twice the weight of the pairs that the other class wins, and its weight."""
        from .kernels import sum_below  # from the first row on: blocks are many

        others = targets.positive != self.positive
        columns = np.ascontiguousarray(scores.T)
        for c, (column, few) in enumerate(zip(columns, self.tables[number][k], strict=True)):
            counts[number][k, c] += sum_below(column, others, targets.sample_weight, *few)

    def merge(self, a: list[np.ndarray], b: list[np.ndarray]) -> list[np.ndarray]:
        """Return the counts of both sets of rows together."""
        return list(map(np.add, a, b))

    def auc(self, counts: list[np.ndarray]) -> np.ndarray:
        """Return the AUC of each split and model."""
        wins = np.concatenate(counts)
        below = np.array([[table[1][-1] for table in tables] for of_round in self.tables for tables in of_round])
        share = wins[..., 0] / (2 * below * wins[..., 1])
        return 1 - share if self.positive else share


class BinCounts(NamedTuple):
    """Where the bins of the held-out scores are.

    Attributes
    ----------
    centers, scales : list of ndarray of shape (n_splits, n_candidates)
        The position and the width of the bins of each model, for each round.
    n_bins : int
        Number of bins of a model.
    """

    centers: list[np.ndarray]
    scales: list[np.ndarray]
    n_bins: int

    @classmethod
    def around(
        cls, models: Sequence[FoldModels], moments: Sequence[list[list[ScoreMoments]]], memory: float
    ) -> BinCounts:
        """Return bins around the scores, as many as the memory has room for."""
        scales = [np.array([[np.sqrt(m.variance.mean()) for m in of_split] for of_split in each]) for each in moments]
        centers = [model.midpoints for model in models]
        return cls(centers, scales, count_of_bins(sum(center.size for center in centers), memory))

    def empty(self) -> list[list[AUCBins]]:
        """Return for each round and split empty bins."""
        return [
            [AUCBins.around(*of_split, self.n_bins) for of_split in zip(*of_round, strict=True)]
            for of_round in zip(self.centers, self.scales, strict=True)
        ]

    def add(
        self, counts: list[list[AUCBins]], number: int, k: int, scores: np.ndarray, targets: Targets, start: int
    ) -> None:
        """Add the scores of rows that one split holds out."""
        counts[number][k].add(scores, targets.positive, targets.sample_weight)

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Return the counts of both sets of rows together."""
        return [list(map(AUCBins.merge, *pair)) for pair in zip(a, b, strict=True)]

    def auc(self, counts: list[list[AUCBins]]) -> np.ndarray:
        """Return the AUC of each split and model."""
        return np.array([bins.auc() for of_round in counts for bins in of_round])
