"""The models of the folds, evaluated on held-out rows that come block by block.

If the rows of the rarer class are in memory, the AUC is exact: their scores are sorted before the pass, and the pass
looks up the scores of the other class among them. Otherwise the scores are counted in bins, whose error is far below
the difference that counts as a tie (`auc_bins.py`). If there is one round, the same pass fills the score histograms of
all candidates, so that the calibration needs no pass of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .auc_bins import AUCBins, count_of_bins
from .blocks import BlockedRows
from .folds import in_parts
from .passes import State
from .protocol import FoldModels
from .ranking import sort_distinct
from .row_block import LazyVector, RowBlock
from .scores import N_BINS, ScoreGrid, ScoreHistogram, ScoreMoments, check_scores

BINS_SHARE = 16  # bins may take 1/16 of the memory
SENT_BINS_SHARE = 64  # of several partitions 1/64: each makes bins of its own, which are sent and merged


class BlockedHeldOut:
    """The models of the folds, evaluated on held-out rows; see :class:`aucmax.data.protocol.HeldOut`.

    Parameters
    ----------
    rows : BlockedRows
        All rows.
    models : sequence of FoldModels
        The models of each round.

    Attributes
    ----------
    auc : ndarray of shape (n_splits, n_candidates)
        The AUC of each test set, over all rounds.
    grids : CandidateGrids or None
        The grids of the score histograms; None where there are several rounds.
    mass : ndarray of shape (n_candidates, 2, N_BINS + 1) or None
        The histograms on these grids.
    """

    def __init__(self, rows: BlockedRows, models: Sequence[FoldModels]) -> None:
        if not all(np.isfinite(model.weights).all() for model in models):
            raise ValueError("The weights overflow: multiply the smallest columns of X by a power of ten.")
        self.rows, self.models = rows, models
        moments = [list(of_round) for of_round in self._statistics()]
        self.grids = CandidateGrids.of(moments[0]) if len(models) == 1 else None
        n_candidates = models[0].midpoints.shape[1]
        n_splits = sum(len(model.round.splits) for model in models)
        rare = rows.rare_rows()
        looked_up = None if rare is None else [RareScores.of(rare, model) for model in models]
        share = BINS_SHARE if len(rows._before()) == 1 else SENT_BINS_SHARE
        n_bins = count_of_bins(n_splits * n_candidates, rows.memory / share)

        def step(state: State, block: RowBlock) -> None:
            for number, model in enumerate(models):
                parts = block.value(model.round.parts)
                for k, split in enumerate(model.round.splits):
                    test = block.take(np.flatnonzero(in_parts(parts, split.test) & block.targets.usable))
                    positive, weights = test.targets.positive, test.targets.sample_weight
                    scores = scores_by_row(test.X, model.weights[k])
                    if looked_up is None:
                        state["bins"][number][k].add(scores, positive, weights)
                    else:
                        state["wins"][number][k] += looked_up[number].wins(k, scores, positive, weights)
                    if self.grids is not None:
                        self.grids.add(state["mass"], scores - model.midpoints[k], positive, weights)

        def empty() -> State:
            return {
                "bins": []
                if looked_up is not None  # not `rare`, which would be sent to the workers of a cluster
                else [empty_bins(*pair, n_bins) for pair in zip(models, moments, strict=True)],
                "wins": [np.zeros((len(model.round.splits), n_candidates, 2)) for model in models],
                "mass": None if self.grids is None else np.zeros((n_candidates, 2, N_BINS + 1)),
            }

        def merge(a: State, b: State) -> State:
            return {
                "bins": [list(map(AUCBins.merge, *pair)) for pair in zip(a["bins"], b["bins"], strict=True)],
                "wins": list(map(np.add, a["wins"], b["wins"])),
                "mass": None if self.grids is None else a["mass"] + b["mass"],
            }

        _ = rows.totals
        state = rows._pass("held-out scores", empty, step, merge)
        self.mass = state["mass"]
        if looked_up is None:
            self.auc = np.array([bins.auc() for of_round in state["bins"] for bins in of_round])
        else:
            self.auc = np.concatenate([few.auc(wins) for few, wins in zip(looked_up, state["wins"], strict=True)])

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
            parts = block.value(model.round.parts)
            for k, split in enumerate(model.round.splits):
                test = block.take(np.flatnonzero(in_parts(parts, split.test) & block.targets.usable))
                scores = test.X @ model.weights[k].T - model.midpoints[k]
                state["moments"][k] = [
                    ScoreMoments(*before).merge(ScoreMoments.of(test.targets, column))
                    for before, column in zip(state["moments"][k], scores.T, strict=True)
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


def empty_bins(model: FoldModels, moments: list[list[ScoreMoments]], n_bins: int) -> list[AUCBins]:
    """Return empty bins around the scores of each split."""
    return [
        AUCBins.around(midpoints, np.array([np.sqrt(m.variance.mean()) for m in of_split]), n_bins)
        for midpoints, of_split in zip(model.midpoints, moments, strict=True)
    ]


class CandidateGrids(NamedTuple):
    """Grids for the held-out scores of all candidates of one round.

    Attributes
    ----------
    moments : list of ScoreMoments
        The moments of the scores of each candidate, over all splits.
    grids : list of ScoreGrid
        The grid on which the scores of each candidate are binned.
    """

    moments: list[ScoreMoments]
    grids: list[ScoreGrid]

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
        from .kernels import bin_columns

        low, high = np.array(self.grids).T
        bin_columns(scores, positive, sample_weight, low, N_BINS / np.where(high > low, high - low, 1.0), mass)

    def of_candidate(self, candidate: int, mass: np.ndarray) -> ScoreHistogram:
        """Return the histogram of one candidate."""
        moments = self.moments[candidate]
        return ScoreHistogram(self.grids[candidate], mass[candidate], moments.mean, moments.variance)


class RareScores(NamedTuple):
    """The sorted held-out scores of the rarer class, among which the scores of the other class are looked up.

    Attributes
    ----------
    tables : list of list of tuple
        For each split and candidate, the sorted scores and the weight below each (`ranking.sort_distinct`).
    positive : bool
        Whether the rarer class is the positive one.
    """

    tables: list[list[tuple[np.ndarray, np.ndarray]]]
    positive: bool

    @classmethod
    def of(cls, rare: RowBlock, model: FoldModels) -> RareScores:
        """Score the rare rows with the models of the split that holds them out."""
        parts, tables = rare.value(model.round.parts), []
        for split, W in zip(model.round.splits, model.weights, strict=True):
            test = np.flatnonzero(in_parts(parts, split.test))
            weights = rare.targets.sample_weight
            weights = None if weights is None else weights[test]
            scores = scores_by_row(rare.X[test], W)
            tables.append([sort_distinct(column.copy(), weights) for column in scores.T])
        return cls(tables, bool(rare.targets.positive[0]))

    def wins(self, k: int, scores: np.ndarray, positive: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return for each model of a split twice the weight of the pairs that the other class wins, and its weight."""
        from .kernels import sum_below  # from the first row on: blocks are many

        others = positive != self.positive
        columns = np.ascontiguousarray(scores.T)
        found = [sum_below(s, others, weights, *few) for s, few in zip(columns, self.tables[k], strict=True)]
        return np.array(found, dtype=np.float64).reshape(len(columns), 2)

    def auc(self, wins: np.ndarray) -> np.ndarray:
        """Return the AUC of each split and model from all wins."""
        below = np.array([[table[1][-1] for table in tables] for tables in self.tables])
        share = wins[..., 0] / (2 * below * wins[..., 1])
        return 1 - share if self.positive else share


def scores_by_row(X: Any, W: np.ndarray) -> np.ndarray:
    """Return X @ W.T, computed for each row by itself: equal rows have equal scores, whatever their block.

    The rounding of a BLAS product depends on the position of a row in the matrix, and would break ties.
    """
    if not isinstance(X, np.ndarray):  # sparse rows, or codes: these are always computed so
        return X @ W.T
    from .kernels import score_rows

    scores = np.empty((len(X), len(W)))
    score_rows(np.ascontiguousarray(X), np.ascontiguousarray(W), scores)
    return scores
