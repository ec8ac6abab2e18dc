"""The models of the folds, evaluated on held-out rows that come block by block.

A pass counts which pairs are ranked right, in one of three ways. If there is one round, the same pass fills the score
histograms of all candidates, so that the calibration needs no pass of its own.

- :class:`RareCounts`, if the rows of the rarer class are in memory: their scores are sorted before the pass, and the
  pass looks up the scores of the other class among them.
- :class:`ExchangedCounts` (`exchange.py`), if rows are in partitions that can exchange their scores, and these
  are not too many: the pass picks some of the scores, another one cuts all of them there.
- :class:`BinCounts` otherwise: the pass counts the scores in bins, whose error is far below the difference that counts
  as a tie (:class:`AUCBins`).

The first two are exact. Each has the same methods: `empty` makes the counts of no rows, `add` adds rows that one split
holds out, `merge` joins the counts of different rows, and `auc` makes the AUCs of all splits, over all rounds, of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..folds import in_parts
from ..protocol import FoldModels, Targets
from ..summaries.kernels import add_to_bins, bin_columns, score_rows, sum_below
from ..summaries.ranking import sort_distinct
from ..summaries.scores import N_BINS, ScoreGrid, ScoreHistogram, ScoreMoments, check_scores
from .block import LazyVector, RowBlock
from .exchange import MOST_SCORES, ExchangedCounts
from .passes import State

if TYPE_CHECKING:
    from .rows import BlockedRows

BINS_SHARE = 16  # bins may take 1/16 of the memory
SENT_BINS_SHARE = 64  # of several partitions 1/64: each makes bins of its own, which are sent and merged
MOST_BINS, FEWEST_BINS = 1 << 16, 1 << 10  # of one model


class BlockedHeldOut:
    """The models of the folds, evaluated on held-out rows; see :class:`aucmax.rows.protocol.HeldOut`.

    If there is one round, `grids` and `mass` (n_candidates, 2, N_BINS + 1) are the score histograms of all candidates.
    """

    def __init__(self, rows: BlockedRows, models: Sequence[FoldModels]) -> None:
        if not all(np.isfinite(model.weights).all() for model in models):
            raise ValueError("The weights overflow: multiply the smallest columns of X by a power of ten.")
        self.rows, self.models = rows, models
        moments = [list(of_round) for of_round in self._statistics()]
        self.grids = CandidateGrids.of(moments[0]) if len(models) == 1 else None
        n_candidates = models[0].midpoints.shape[1]
        counts = self._counts(moments)

        def step(state: State, block: RowBlock) -> None:
            for number, k, scores, targets in held_out_scores(models, block):
                counts.add(state["counts"], number, k, scores, targets, block.start)
                if self.grids is not None:
                    middle = models[number].midpoints[k]
                    self.grids.add(state["mass"], scores - middle, targets.positive, targets.sample_weight)

        def empty() -> State:
            mass = None if self.grids is None else np.zeros((n_candidates, 2, N_BINS + 1))
            return {"counts": counts.empty(), "mass": mass}

        def merge(a: State, b: State) -> State:
            mass = None if self.grids is None else a["mass"] + b["mass"]
            return {"counts": counts.merge(a["counts"], b["counts"]), "mass": mass}

        _ = rows.totals
        state = rows._pass("held-out scores", empty, step, merge)
        self.mass = state["mass"]
        self.auc = counts.auc(state["counts"])

    def _counts(self, moments: Sequence[list[list[ScoreMoments]]]) -> Any:
        """Return how pairs are counted."""
        rare = self.rows.rare_rows()
        if rare is not None:
            return RareCounts.of(rare, self.models)
        n_scores = self.rows.n_rows * sum(model.midpoints.shape[1] for model in self.models)
        if self.rows.can_exchange and n_scores <= MOST_SCORES:
            return ExchangedCounts(
                self.rows._run, functools.partial(held_out_scores, self.models), self.models, n_scores
            )
        share = SENT_BINS_SHARE if self.rows.can_exchange else BINS_SHARE
        return BinCounts.around(self.models, moments, self.rows.memory / share)

    def _statistics(self) -> Iterator[list[list[ScoreMoments]]]:
        """Yield for each round the moments of the held-out scores, minus midpoints, of each split and candidate."""
        for model in self.models:
            if model.moments is None:
                yield self._measured(model)
                continue
            yield [
                [ScoreMoments.projected(part, w).shifted(-middle) for w, middle in zip(W, midpoints, strict=True)]
                for part, W, midpoints in zip(model.moments, model.weights, model.midpoints, strict=True)
            ]

    def _measured(self, model: FoldModels) -> list[list[ScoreMoments]]:
        """Return these moments from a pass, if the class moments of the test sets are not known."""

        def step(state: State, block: RowBlock) -> None:
            for _, k, scores, targets in held_out_scores([model], block):
                state["moments"][k] = [
                    ScoreMoments(*before).merge(ScoreMoments.of(targets, column))
                    for before, column in zip(state["moments"][k], (scores - model.midpoints[k]).T, strict=True)
                ]

        n_splits, n_candidates = model.midpoints.shape

        def empty() -> State:
            return {"moments": [[ScoreMoments(*np.zeros((3, 2)))] * n_candidates for _ in range(n_splits)]}

        def merge(a: State, b: State) -> State:
            pairs = zip(a["moments"], b["moments"], strict=True)
            return {"moments": [list(map(ScoreMoments.merge, *pair)) for pair in pairs]}

        return self.rows._pass("held-out scores", empty, step, merge)["moments"]

    def histogram(self, candidate: int) -> ScoreHistogram:
        """Return the histogram of one candidate's held-out scores, minus midpoints and averaged over the rounds."""
        if self.grids is not None:
            return self.grids.of_candidate(candidate, self.mass)

        def mean_scores(block: RowBlock) -> np.ndarray:
            n = len(block.targets.positive)
            totals, times = np.zeros(n), np.zeros(n)
            for model in self.models:
                parts = block.value(model.round.parts)
                for k, split in enumerate(model.round.splits):
                    test = np.flatnonzero(in_parts(parts, split.test))
                    totals[test] += block.X[test] @ model.weights[k, candidate] - model.midpoints[k, candidate]
                    times[test] += 1
            with np.errstate(invalid="ignore"):
                return totals / times  # NaN where a row was never held out

        return ScoreHistogram.of(self.rows, LazyVector(self.rows, mean_scores))


def held_out_scores(models: Sequence[FoldModels], block: RowBlock) -> Iterator[tuple[int, int, np.ndarray, Targets]]:
    """Yield for each test set the numbers of its round and split, the scores of its rows in a block and their targets.

    Rows without weight are left out.
    """
    for number, model in enumerate(models):
        parts = block.value(model.round.parts)
        for k, split in enumerate(model.round.splits):
            test = block.take(np.flatnonzero(in_parts(parts, split.test) & block.targets.usable))
            yield number, k, scores_by_row(test.X, model.weights[k]), test.targets


def scores_by_row(X: Any, W: np.ndarray) -> np.ndarray:
    """Return X @ W.T, computed for each row by itself: equal rows have equal scores, whatever their block.

    The rounding of a BLAS product depends on the position of a row in the matrix, and would break ties.
    """
    if not isinstance(X, np.ndarray):  # sparse rows, or codes: these are always computed so
        return X @ W.T
    scores = np.empty((len(X), len(W)))
    score_rows(np.ascontiguousarray(X), np.ascontiguousarray(W), scores)
    return scores


class CandidateGrids(NamedTuple):
    """Grids for the held-out scores of all candidates of one round."""

    moments: list[ScoreMoments]  # the moments of the scores of each candidate, over all splits
    grids: list[ScoreGrid]  # the grid on which the scores of each candidate are binned

    @classmethod
    def of(cls, by_split: list[list[ScoreMoments]]) -> CandidateGrids:
        """Return the grids for scores with these moments in each split."""
        merged = by_split[0]
        for of_split in by_split[1:]:
            merged = [a.merge(b) for a, b in zip(merged, of_split, strict=True)]
        for moments in merged:
            check_scores(moments)
        return cls(merged, [ScoreGrid.around(moments.mean, moments.variance) for moments in merged])

    def add(self, mass: np.ndarray, scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Add the scores of rows, of shape (n, n_candidates), to the histograms."""
        low, high = np.array(self.grids).T
        bin_columns(scores, positive, sample_weight, low, N_BINS / np.where(high > low, high - low, 1.0), mass)

    def of_candidate(self, candidate: int, mass: np.ndarray) -> ScoreHistogram:
        """Return the histogram of one candidate."""
        moments = self.moments[candidate]
        return ScoreHistogram(self.grids[candidate], mass[candidate], moments.mean, moments.variance)


class RareCounts(NamedTuple):
    """The sorted held-out scores of the rarer class, among which the scores of the other class are looked up."""

    # For each round, split and candidate, the sorted scores and the weight below each (`ranking.sort_distinct`).
    tables: list[list[list[tuple[np.ndarray, np.ndarray]]]]
    positive: bool  # whether the rarer class is the positive one

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
    """Where the bins of the held-out scores are."""

    # The position and the width of the bins of each model, for each round.
    centers: list[np.ndarray]
    scales: list[np.ndarray]
    n_bins: int  # number of bins of a model

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


class AUCBins(NamedTuple):
    """The weight of the scores of L models in bins, in memory that does not grow with the number of rows.

    The bin of a score s, one of N, is given by u = z / (1 + |z|) with z = (s - center) / scale. The bins are narrow
    where the scores are dense, and together they cover the whole line. Two scores in one bin count as a tie. The error
    of the AUC is therefore less than half the share of pairs that fall into one bin, and most of it cancels because the
    densities hardly change inside a bin (18 million rows: the error was 7e-8 with 2^14 bins and 4e-8 with 2^16).
    """

    # (L,): the position and the width of the bins of each model.
    center: np.ndarray
    scale: np.ndarray
    mass: np.ndarray  # (L, 2, N): the weight of the rows of each class in each bin

    @classmethod
    def around(cls, center: np.ndarray, scale: np.ndarray, n_bins: int = MOST_BINS) -> AUCBins:
        """Return empty bins; a scale of 0 counts as 1."""
        return cls(center, np.where(scale > 0, scale, 1.0), np.zeros((len(center), 2, n_bins)))

    def add(self, scores: np.ndarray, positive: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Add the scores of new rows, of shape (n, L), in place."""
        weights = np.ones(len(scores)) if sample_weight is None else sample_weight
        add_to_bins(np.ascontiguousarray(scores), positive, weights, self.center, self.scale, self.mass)

    def merge(self, other: AUCBins) -> AUCBins:
        """Return the bins of both sets of rows together."""
        return self._replace(mass=self.mass + other.mass)

    def auc(self) -> np.ndarray:
        """Return the AUC of each model."""
        below = np.cumsum(self.mass[:, 0], axis=1) - 0.5 * self.mass[:, 0]
        return np.einsum("lk,lk->l", below, self.mass[:, 1]) / self.mass.sum(axis=2).prod(axis=1)


def count_of_bins(n_models: int, memory: float) -> int:
    """Return the number of bins for each model, a power of 2, that fits into `memory` bytes for all models."""
    affordable = 1 << max(int(np.log2(memory / (16 * n_models))), 0)
    return int(np.clip(affordable, FEWEST_BINS, MOST_BINS))
