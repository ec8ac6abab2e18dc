"""Exact AUCs of held-out scores in partitions, where neither class is gathered.

1. The pass over the held-out scores picks evenly spaced ones of each partition, for every model.
2. These are sorted, and cut into S parts of the same size. The S - 1 scores between the parts are the splitters.
3. Another pass sorts the scores of each partition and class, equal ones together, and cuts them at the splitters.
4. Slice s brings together what all partitions have of part s, for all models, and counts the pairs in it. A positive
   also wins against all negatives of lower slices.

Without weights all counts are integers, and the AUC is bitwise the same as in memory. Equal scores of a partition take
the room of one, so that no slice is much larger than the others, not even for a model without weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..folds import GOLDEN_RATIO
from ..protocol import FoldModels, Targets
from .passes import Exchange, Pass, State

SLICE = 1 << 23  # about so many scores of all models are brought together by one task, or more,
MOST_SLICES = 128  # since each slice takes a task for each partition,
MOST_SCORES = 1 << 33  # but not more than 2^26, which take half a gigabyte
PICKED = 64  # scores of each slice and model among which splitters are chosen
LOW_BITS = 20  # counts are cut there before they are multiplied: 2^43 rows may be equal


class SortedScores(NamedTuple):
    """Scores of one class, increasing."""

    values: np.ndarray  # (n,): the scores, all different
    # (n,): the number of rows with each score, or their weight; None where each score has one row.
    mass: np.ndarray | None

    @classmethod
    def of(cls, values: np.ndarray, mass: np.ndarray | None) -> SortedScores:
        """Sort scores, and take equal ones together."""
        order = None if mass is None else np.argsort(values, kind="stable")
        values = np.sort(values) if order is None else values[order]
        starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
        if len(starts) == len(values):
            return cls(values, None if mass is None else mass[order])
        if mass is None:
            return cls(values[starts], np.diff(starts, append=len(values)))
        return cls(values[starts], np.add.reduceat(mass[order], starts))

    @classmethod
    def joined(cls, parts: Iterable[SortedScores]) -> SortedScores:
        """Return the scores of all parts together."""
        values, masses = zip(*parts, strict=True)
        if all(mass is None for mass in masses):
            return cls.of(np.concatenate(values), None)
        each = [np.ones(len(v), dtype=np.int64) if m is None else m for v, m in zip(values, masses, strict=True)]
        return cls.of(np.concatenate(values), np.concatenate(each))

    def part(self, low: float, high: float) -> SortedScores:
        """Return the scores from `low` on, below `high`."""
        start, stop = np.searchsorted(self.values, [low, high])
        return SortedScores(self.values[start:stop], None if self.mass is None else self.mass[start:stop])

    def below(self) -> np.ndarray:
        """Return the number or the weight of the rows before each score, and of all."""
        steps = np.ones(len(self.values), dtype=np.int64) if self.mass is None else self.mass
        return np.append(np.zeros(1, dtype=steps.dtype), np.cumsum(steps))


class PairCounts(NamedTuple):
    """The pairs of some rows, by their numbers or by their weight."""

    negatives: float
    positives: float
    doubled: float  # twice the pairs in which the positive scores higher, and once those that are tied

    @classmethod
    def of(cls, negatives: SortedScores, positives: SortedScores) -> PairCounts:
        """Count the pairs of a negative and a positive."""
        below, mass = negatives.below(), np.diff(positives.below())
        sides = [np.searchsorted(negatives.values, positives.values, side) for side in ("left", "right")]
        doubled = below[sides[0]] + below[sides[1]]
        if np.issubdtype(np.result_type(mass, below), np.floating):
            return cls(below[-1].item(), mass.sum().item(), (mass @ doubled).item())
        high, low = doubled >> LOW_BITS, doubled & ((1 << LOW_BITS) - 1)
        return cls(below[-1].item(), mass.sum().item(), ((mass @ high).item() << LOW_BITS) + (mass @ low).item())

    def merge_higher(self, higher: PairCounts) -> PairCounts:
        """Return the pairs of these rows and of others, whose scores are all higher."""
        return PairCounts(
            self.negatives + higher.negatives,
            self.positives + higher.positives,
            self.doubled + higher.doubled + 2 * self.negatives * higher.positives,
        )


class ExchangedCounts:
    """Scores that are picked in one pass, and counted exactly in another.

    `run` makes a pass with an exchange. `scores` yields for a block the number of the round and of the split, the
    scores and the targets of each test set. `n_scores` is the number of all scores.
    """

    def __init__(
        self,
        run: Callable[[Pass], Any],
        scores: Callable[[Any], Iterator[tuple[int, int, np.ndarray, Targets]]],
        models: Sequence[FoldModels],
        n_scores: int,
    ) -> None:
        self._run, self._scores = run, scores
        self.shapes = [model.midpoints.shape for model in models]
        self.n_slices = min(-(-n_scores // SLICE), MOST_SLICES)
        n_rows = n_scores // sum(n_candidates for _, n_candidates in self.shapes)
        self.steps = [max(n_rows // (n_splits * self.n_slices * PICKED), 1) for n_splits, _ in self.shapes]

    def __getstate__(self) -> State:
        """Return what the tasks of the first pass need."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def empty(self) -> list[list[list[np.ndarray]]]:
        """Return for each round, split and candidate no scores."""
        return [[[np.zeros(0)] * n_candidates for _ in range(n_splits)] for n_splits, n_candidates in self.shapes]

    def add(self, counts: list[Any], number: int, k: int, scores: np.ndarray, targets: Targets, start: int) -> None:
        """Pick some of the scores of rows that one split holds out."""
        if self.n_slices > 1:
            new = [pick(column, self.steps[number], start) for column in scores.T]
            counts[number][k] = list(map(np.append, counts[number][k], new))

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        """Return the scores picked from both sets of rows."""
        return [
            [list(map(np.append, *of_split)) for of_split in zip(*of_round, strict=True)]
            for of_round in zip(a, b, strict=True)
        ]

    def auc(self, counts: list[Any]) -> np.ndarray:
        """Return the AUC of each split and model, from another pass."""
        edges = [[[find_edges(p, self.n_slices) for p in of_split] for of_split in of_round] for of_round in counts]
        scores = self._scores

        def step(state: State, block: Any) -> None:
            for number, k, columns, targets in scores(block):
                state["scores"] += [
                    (number, k, c, *by_class(column, targets))
                    for c, column in enumerate(np.ascontiguousarray(columns.T))
                ]

        def cut(state: State, s: int) -> list[tuple[SortedScores, SortedScores]]:
            return [
                (negatives.part(*edges[number][k][c][s : s + 2]), positives.part(*edges[number][k][c][s : s + 2]))
                for number, k, c, negatives, positives in state["scores"]
            ]

        task = Pass(
            "held-out scores",
            begin=lambda number: {"scores": []},
            step=step,
            merge=lambda a, b: a,
            again=lambda state: False,
            keep=False,
            exchange=Exchange(self.n_slices, cut, count_slice),
        )
        total, *slices = self._run(task)
        for more in slices:
            total = [lower.merge_higher(higher) for lower, higher in zip(total, more, strict=True)]
        return np.reshape([w.doubled / (2 * w.positives * w.negatives) for w in total], (-1, self.shapes[0][1]))


def pick(scores: np.ndarray, step: int, start: int) -> np.ndarray:
    """Return evenly spaced scores of a partition, one in `step` of them, where `start` rows come before it.

    The first rank depends on `start`, and is spread evenly over partitions: of small ones, whose scores are fewer than
    a step, some have one picked, and it is of any rank.
    """
    ranks = np.arange(int(start * GOLDEN_RATIO % 1.0 * step), len(scores), step)
    return np.partition(scores, ranks)[ranks] if len(ranks) else scores[:0]


def find_edges(picked: np.ndarray, n_slices: int) -> np.ndarray:
    """Return the ends of slices of the same size: the splitters between two infinities."""
    ordered = np.sort(picked)
    ranks = np.arange(1, n_slices) * len(ordered) // n_slices
    splitters = ordered[ranks] if len(ordered) else np.zeros(n_slices - 1)
    return np.concatenate([[-np.inf], splitters, [np.inf]])


def by_class(scores: np.ndarray, targets: Targets) -> tuple[SortedScores, SortedScores]:
    """Return the scores of the negatives and of the positives."""
    weights = targets.sample_weight
    sides = (~targets.positive, targets.positive)
    negatives, positives = (SortedScores.of(scores[side], None if weights is None else weights[side]) for side in sides)
    return negatives, positives


def count_slice(slices: Sequence[list[tuple[SortedScores, SortedScores]]]) -> list[PairCounts]:
    """Return the pairs of one slice for each model, given what each partition has of it."""
    found = []
    for of_model in zip(*slices, strict=True):
        negatives, positives = zip(*of_model, strict=True)
        found.append(PairCounts.of(SortedScores.joined(negatives), SortedScores.joined(positives)))
    return found
