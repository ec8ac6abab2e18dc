"""Held-out scores of many candidates, and the AUC of their blends.

Conventions
-----------
The scores of all test sets stand one after the other: N scores for each candidate, one test set after the other, each
with its positives first. The scores of a candidate are shifted in each test set by the midpoint of the class means of
the training set, as for new rows, and divided by their spread, so that candidates of different length can be added. The
AUC of a candidate or a blend is the mean over the test sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._compat import FAST, jit
from ..rows.folds import in_parts
from ..rows.protocol import Targets
from .rounds import Round

# Scores are rounded to multiples of this: equal rows have equal scores in spite of rounding errors, also in blends.
QUANTUM = 2.0**-30


class TestSets:
    """The test sets of all splits.

    `rows` are the row numbers of each test set, its positives first. `edges` (S, 3) are where the scores of each test
    set begin, where its negatives begin, and where it ends. `weights` (N,) are relative to the largest. `groups`
    (n_rows,) are the numbers of the groups; without groups, each row is one.
    """

    __test__ = False  # for pytest

    def __init__(self, targets: Targets, rounds: Sequence[Round]) -> None:
        positive, usable = targets.positive, targets.usable
        self.rows, edges, end = [], [], 0
        for round in rounds:
            for split in round.splits:
                test = in_parts(round.parts, split.test) & usable
                ours = np.flatnonzero(test & positive), np.flatnonzero(test & ~positive)
                edges.append((end, end + len(ours[0]), end + len(ours[0]) + len(ours[1])))
                self.rows.append(np.concatenate(ours))
                end = edges[-1][2]
        self.edges = np.array(edges)
        self.groups = np.arange(len(positive))
        if targets.groups is not None:
            self.groups = np.unique(targets.groups, return_inverse=True)[1]
        self._blocks: tuple[Any, list[Any]] = None, []
        weights = targets.sample_weight
        self.weights: np.ndarray | None = None
        if weights is not None:  # relative to the largest, so that products of tiny ones do not underflow
            self.weights = np.concatenate([weights[rows] for rows in self.rows]) / weights.max()

    def blocks(self, Z: Any) -> list[Any]:
        """Return the rows of each test set; the blocks of the last Z are kept."""
        if self._blocks[0] is not Z:
            self._blocks = Z, [Z[rows] for rows in self.rows]
        return self._blocks[1]

    def scores(self, Z: Any, U: np.ndarray, middles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of A models for each of S splits, shape (A, N), and the spreads that divided them, (A,).

        U is (S, A, r), and `middles` (S, r) are the midpoints of the class means of the training sets.
        """
        scores = np.empty((U.shape[1], self.edges[-1, 2]))
        for block, (start, _, stop), models, middle in zip(self.blocks(Z), self.edges, U, middles, strict=True):
            scores[:, start:stop] = (block @ models.T - models @ middle).T
        weights = np.ones(scores.shape[1]) if self.weights is None else self.weights
        spread = np.sqrt(class_variances(scores, self.edges, weights))
        spread[~(spread > 0)] = 1.0
        scores *= (1 / QUANTUM) / spread[:, None]
        np.rint(scores, out=scores)
        scores *= QUANTUM
        return scores, spread

    def blend(self, scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the scores of a blend for each test set, one after the other (N,), given its shares (S, A)."""
        blended = np.empty(scores.shape[1])
        for k, row in enumerate(shares):
            columns, members = self.columns([k]), np.flatnonzero(row)
            blended[columns] = row[members] @ scores[members, columns]
        return blended

    def by_row(self, scores: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the mean held-out score of each row, from N scores; NaN for rows that are in no test set."""
        totals, times = np.zeros(n_rows), np.zeros(n_rows)
        for members, (start, _, stop) in zip(self.rows, self.edges, strict=True):
            totals[members] += scores[start:stop]
            times[members] += 1
        with np.errstate(invalid="ignore"):
            return totals / times

    def columns(self, sets: Sequence[int]) -> slice:
        """Return the columns of the scores of consecutive test sets."""
        return slice(int(self.edges[sets[0], 0]), int(self.edges[sets[-1], 2]))

    def auc(self, scores: np.ndarray, sets: Sequence[int] | None = None) -> np.ndarray:
        """Return the AUC of each row of scores in each test set, shape (S, A), or in some consecutive ones."""
        edges = self.edges if sets is None else self.edges[sets]
        first, found = edges[0, 0], []
        for start, middle, stop in edges:
            weights = None if self.weights is None else (self.weights[start:middle], self.weights[middle:stop])
            ours = scores[:, start - first : stop - first]
            found.append(areas_of(ours[:, : middle - start], ours[:, middle - start :], weights))
        return np.array(found)

    def influences(self, scores: np.ndarray, sets: Sequence[int] | None = None) -> tuple[np.ndarray, float]:
        """Return by how much each group of rows moves the mean AUC of all test sets, or of some, given N scores.

        A row moves the AUC by its placement value minus the AUC, times its share of the weight of its class in the test
        set (LeDell, Petersen and van der Laan, 2015). This is multiplied by a factor for the degree of freedom that the
        mean takes. The degrees that are left in the rarer class are returned too.
        """
        chosen = range(len(self.rows)) if sets is None else sets
        groups = self.groups
        moves, members = np.zeros(len(groups)), np.concatenate([self.rows[k] for k in chosen])
        edges = self.edges[chosen]
        positive = np.concatenate([np.arange(stop - start) < middle - start for start, middle, stop in edges])
        sizes = [len(np.unique(groups[members[side]])) for side in (positive, ~positive)]
        auc = float(self.auc(scores[None])[chosen].mean())
        for k, (start, middle, stop) in zip(chosen, edges, strict=True):
            rows = self.rows[k]
            weights = np.ones(stop - start) if self.weights is None else self.weights[start:stop]
            upper, lower = slice(0, middle - start), slice(middle - start, stop - start)
            ours = scores[start:stop]
            for (own, other), sign, size in zip(((upper, lower), (lower, upper)), (1, -1), sizes, strict=True):
                values = placement_values(sign * ours[own], sign * ours[other], weights[other])
                factor = np.sqrt(size / max(size - 1, 1)) / len(chosen)
                moves[rows[own]] += factor * weights[own] / weights[own].sum() * (values - auc)
        return np.bincount(groups, moves), max(min(sizes) - 1.0, 1.0)


def areas_of(positives: np.ndarray, negatives: np.ndarray, weights: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """Return the AUC of each row of two arrays of scores."""
    if weights is None:  # NumPy sorts many times faster than a compiled loop
        return areas(np.sort(positives, axis=1), np.sort(negatives, axis=1))
    orders = np.argsort(positives, axis=1), np.argsort(negatives, axis=1)
    return weighted_areas(positives, negatives, *orders, *weights)


@jit
def placement_values(scores, others, weights):
    """Return the share of the weight of the others below each score; a tie counts one half."""
    order = np.argsort(others)
    ordered, sums = others[order], np.append(np.zeros(1), np.cumsum(weights[order]))
    below, up_to = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (sums[below] + sums[up_to]) / (2.0 * sums[-1])


@jit(**FAST)
def class_variances(scores, edges, weights):
    """Return the mean variance of each row of scores in a class of a test set."""
    variances = np.zeros(scores.shape[0])
    for k in range(edges.shape[0]):
        for c in range(2):
            total = 0.0
            for i in range(edges[k, c], edges[k, c + 1]):
                total += weights[i]
            for row in range(scores.shape[0]):
                mean = square = 0.0
                for i in range(edges[k, c], edges[k, c + 1]):
                    mean += weights[i] * scores[row, i]
                mean /= total
                for i in range(edges[k, c], edges[k, c + 1]):
                    square += weights[i] * (scores[row, i] - mean) ** 2
                variances[row] += square / total / 2.0
    return variances / edges.shape[0]


@jit
def areas(positives, negatives):
    """Return the AUC of each row of two arrays of sorted scores; a tie counts one half."""
    out = np.empty(positives.shape[0])
    for row in range(positives.shape[0]):
        p, q = positives[row], negatives[row]
        below = up_to = doubled = 0
        for i in range(p.shape[0]):
            while below < q.shape[0] and q[below] < p[i]:
                below += 1
            up_to = max(up_to, below)
            while up_to < q.shape[0] and q[up_to] <= p[i]:
                up_to += 1
            doubled += below + up_to
        out[row] = doubled / (2.0 * p.shape[0] * q.shape[0])
    return out


@jit
def weighted_areas(positives, negatives, first, second, p_weights, q_weights):
    """Return the AUC of each row of two arrays of scores with weights; `first` and `second` sort them."""
    out = np.empty(positives.shape[0])
    for row in range(positives.shape[0]):
        p, q, order = positives[row], negatives[row], second[row]
        below = up_to = 0
        mass_below = mass_up_to = total = 0.0
        for i in first[row]:
            while below < q.shape[0] and q[order[below]] < p[i]:
                mass_below += q_weights[order[below]]
                below += 1
            if up_to < below:
                up_to, mass_up_to = below, mass_below
            while up_to < q.shape[0] and q[order[up_to]] <= p[i]:
                mass_up_to += q_weights[order[up_to]]
                up_to += 1
            total += p_weights[i] * (mass_below + mass_up_to)
        out[row] = total / (2.0 * p_weights.sum() * q_weights.sum())
    return out
