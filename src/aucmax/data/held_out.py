"""The models of the folds, evaluated on held-out rows that come block by block.

A pass counts which pairs are ranked right (`held_out_counts.py`). If there is one round, the same pass fills the score
histograms of all candidates, so that the calibration needs no pass of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .folds import in_parts
from .held_out_counts import BinCounts, RareCounts
from .held_out_exchange import MOST_SCORES, ExchangedCounts
from .kernels import bin_columns
from .passes import State
from .protocol import FoldModels, Targets
from .row_block import LazyVector, RowBlock
from .row_scores import scores_by_row
from .scores import N_BINS, ScoreGrid, ScoreHistogram, ScoreMoments, check_scores

if TYPE_CHECKING:
    from .blocks import BlockedRows

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
        counts = self._counts(moments)

        def step(state: State, block: RowBlock) -> None:
            for number, k, scores, targets in test_scores(models, block):
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
            return ExchangedCounts(self.rows._run, functools.partial(test_scores, self.models), self.models, n_scores)
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
            for _, k, scores, targets in test_scores([model], block):
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


def test_scores(models: Sequence[FoldModels], block: RowBlock) -> Iterator[tuple[int, int, np.ndarray, Targets]]:
    """Yield for each test set the numbers of its round and split, the scores of its rows in a block and their targets.

    Rows without weight are left out.
    """
    for number, model in enumerate(models):
        parts = block.value(model.round.parts)
        for k, split in enumerate(model.round.splits):
            test = block.take(np.flatnonzero(in_parts(parts, split.test) & block.targets.usable))
            yield number, k, scores_by_row(test.X, model.weights[k]), test.targets


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
        low, high = np.array(self.grids).T
        bin_columns(scores, positive, sample_weight, low, N_BINS / np.where(high > low, high - low, 1.0), mass)

    def of_candidate(self, candidate: int, mass: np.ndarray) -> ScoreHistogram:
        """Return the histogram of one candidate."""
        moments = self.moments[candidate]
        return ScoreHistogram(self.grids[candidate], mass[candidate], moments.mean, moments.variance)
