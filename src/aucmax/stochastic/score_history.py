"""The scores of a stream, from which its calibration is made.

Importing this module imports Numba; see `jit`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..data.kernels import bin_columns
from ..data.protocol import Targets
from ..data.scores import N_BINS, ScoreGrid, ScoreHistogram, ScoreMoments, check_scores
from ..jit import jit


class ScoreHistory(NamedTuple):
    """The scores of a stream of rows, of which later ones count for more: those are scores of better weights.

    Attributes
    ----------
    even : ScoreMoments
        Of scores that count as the weights of their rows say.
    rising : ScoreMoments
        Of scores that count as much again as rows came before them.
    """

    even: ScoreMoments
    rising: ScoreMoments

    @classmethod
    def of(cls, targets: Targets, scores: np.ndarray) -> ScoreHistory:
        """Return the history of a block; a row of weight k counts as k rows one after the other."""
        even, rising = np.zeros((2, 3, 2))
        add_scores(scores, targets.positive, targets.sample_weight, even, rising)
        return cls(ScoreMoments(*even), ScoreMoments(*rising))

    def histogram(self, space: Any, scores: Any) -> ScoreHistogram:
        """Return the histogram of a vector of scores whose history this is."""
        check_scores(self.even)
        means, variances = self.even.mean, self.even.variance
        grid = ScoreGrid.around(means, variances)
        return ScoreHistogram(grid, space.reduce(partial(bin_scores, grid), scores), means, variances)

    def merge(self, after: ScoreHistory) -> ScoreHistory:
        """Return the history of these rows and those that came after them."""
        n, (weight, mean, square) = self.even.weight.sum(), after.even
        again = ScoreMoments(n * weight, mean, n * square)
        return ScoreHistory(self.even.merge(after.even), self.rising.merge(after.rising).merge(again))


def bin_scores(grid: ScoreGrid, targets: Targets, scores: np.ndarray) -> np.ndarray:
    """Return what `grid.bin` does, up to rounding, in two thirds of its time: here Numba is imported already."""
    mass = np.zeros((1, 2, N_BINS + 1))
    low, scale = np.array([grid.low]), np.array([N_BINS / (grid.high - grid.low or 1)])
    bin_columns(scores[:, None], targets.positive, targets.sample_weight, low, scale, mass)
    return mass[0]


@jit
def add_scores(scores, positive, weights, even, rising):
    """Fill weight, mean and centred sum of squares of the scores in each class, for both ways of counting.

    All are 0 at the start. Scores are shifted by the first of their class, so that nothing cancels in the squares.
    """
    first, before = np.zeros(2), 0.0
    for i in range(scores.shape[0]):
        w, own = 1.0 if weights is None else weights[i], np.uint64(positive[i])
        if w > 0.0:
            if even[0, own] == 0.0:
                first[own] = scores[i]
            z, late = scores[i] - first[own], w * (before + 0.5 * (w + 1.0))
            before += w
            even[0, own] += w
            even[1, own] += w * z
            even[2, own] += w * z * z
            rising[0, own] += late
            rising[1, own] += late * z
            rising[2, own] += late * z * z
    for c in range(2):
        for sums in (even, rising):
            if sums[0, c] > 0.0:
                mean = sums[1, c] / sums[0, c]
                sums[1, c], sums[2, c] = first[c] + mean, max(sums[2, c] - mean * sums[1, c], 0.0)
