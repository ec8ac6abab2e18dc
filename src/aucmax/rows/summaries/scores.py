"""Summaries of scores: means and variances in the two classes, and histograms."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import namespace, point_masses
from .moments import ClassMoments, chan_update

N_BINS = 1024
REACH = 8  # the grid reaches this many standard deviations beyond the class means


class ScoreMoments(NamedTuple):
    """Weight, mean and centred sum of squares of the scores of each class."""

    weight: np.ndarray  # (2,): the weight of each class
    mean: np.ndarray  # (2,): the mean score of each class
    square: np.ndarray  # (2,): the weighted sum of the squared distances from that mean

    @classmethod
    def of(cls, targets: Any, scores: Any) -> ScoreMoments:
        """Return the moments of a block; in memory, rows whose score is NaN do not count."""
        if not isinstance(scores, np.ndarray):
            return cls._on_device(targets, scores)
        positive, weights = targets.positive, targets.sample_weight
        known = ~np.isnan(scores)
        out = np.zeros((3, 2))
        for c, members in enumerate((known & ~positive, known & positive)):
            s, w = scores[members], None if weights is None else weights[members]
            total = float(len(s)) if w is None else float(w.sum())
            if total > 0:
                mean = np.average(s, weights=w)
                out[:, c] = total, mean, total * np.average((s - mean) ** 2, weights=w)
        return cls(*out)

    @classmethod
    def _on_device(cls, targets: Any, scores: Any) -> ScoreMoments:
        xp = namespace(scores)
        out, zero = np.zeros((3, 2)), xp.zeros_like(scores)
        weights = xp.ones_like(scores) if targets.sample_weight is None else targets.sample_weight
        for c, side in enumerate((~targets.positive, targets.positive)):
            w = xp.where(side, weights, zero)
            total = float(xp.sum(w))
            if total > 0:
                mean = float(w @ scores) / total
                out[:, c] = total, mean, float(w @ (scores - mean) ** 2)
        return cls(*out)

    @classmethod
    def projected(cls, moments: ClassMoments, w: np.ndarray) -> ScoreMoments:
        """Return the moments of the scores X @ w, from the class moments of X."""
        means, variances = moments.project(w)
        return cls(moments.weight, means, variances * moments.weight)

    def merge(self, other: ScoreMoments) -> ScoreMoments:
        """Return the moments of both sets of rows together."""
        merged = [
            chan_update(float(w), float(m), float(s), more, its_mean, its_square, np.multiply)
            for w, m, s, more, its_mean, its_square in zip(*self, *other, strict=True)
        ]
        return ScoreMoments(*np.array(merged).T)

    @property
    def variance(self) -> np.ndarray:
        """The variance of the scores of each class."""
        return self.square / self.weight

    @property
    def spread(self) -> float:
        """The root of the mean of the two variances."""
        return float(np.sqrt(self.variance.mean()))


class ScoreGrid(NamedTuple):
    """A fine grid of N_BINS + 1 points for a histogram of scores, to which a curve can be fitted in little memory.

    The weight of a score is shared between the two points next to it, so that the histogram depends continuously on the
    scores.
    """

    # The first and the last point.
    low: float
    high: float

    @classmethod
    def around(cls, means: np.ndarray, variances: np.ndarray) -> ScoreGrid:
        """Return the grid for scores with these means and variances in the two classes."""
        reach = REACH * np.sqrt(variances)
        return cls(float(np.min(means - reach)), float(np.max(means + reach)))

    def bin(self, targets: Any, scores: Any) -> np.ndarray:
        """Return the weight of each class at each point of the grid, shape (2, N_BINS + 1).

        In memory, scores that are NaN do not count.
        """
        positive, sample_weight = targets.positive, targets.sample_weight
        if not isinstance(scores, np.ndarray):
            return self._bin_on_device(positive, sample_weight, scores)
        if np.isnan(scores.sum()):
            known = ~np.isnan(scores)
            scores, positive = scores[known], positive[known]
            sample_weight = None if sample_weight is None else sample_weight[known]
        place = (scores - self.low) * (N_BINS / (self.high - self.low or 1))
        np.clip(place, 0, N_BINS * (1 - 1e-15), out=place)
        cell = place.astype(np.intp)
        right = place - cell
        left = 1 - right
        if sample_weight is not None:
            left, right = left * sample_weight, right * sample_weight
        cell += (N_BINS + 1) * positive
        mass = np.bincount(cell, left, 2 * N_BINS + 2)
        mass += np.bincount(cell + 1, right, 2 * N_BINS + 2)
        return mass.reshape(2, -1)

    def _bin_on_device(self, positive: Any, sample_weight: Any, scores: Any) -> np.ndarray:
        xp = namespace(scores)
        place = xp.clip((scores - self.low) * (N_BINS / (self.high - self.low or 1)), 0.0, N_BINS * (1 - 1e-15))
        cell = xp.astype(place, xp.int64)
        right = place - xp.astype(cell, xp.float64)
        weights = xp.ones_like(right) if sample_weight is None else sample_weight
        return point_masses(positive, weights, cell, right, N_BINS + 1)


class ScoreHistogram(NamedTuple):
    """A histogram of scores: all that the calibration needs to know about them."""

    grid: ScoreGrid  # the points of the histogram
    mass: np.ndarray  # (2, N_BINS + 1): the weight of each class at each point
    # (2,): mean and variance of the scores in each class.
    means: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, space: Any, scores: Any, moments: ScoreMoments | None = None) -> ScoreHistogram:
        """Return the histogram of a vector of scores; known score moments save a pass."""
        if moments is None:
            with np.errstate(over="ignore", invalid="ignore"):
                moments = space.reduce(ScoreMoments.of, scores, merge=ScoreMoments.merge)
        check_scores(moments)
        grid = ScoreGrid.around(moments.mean, moments.variance)
        return cls(grid, space.reduce(grid.bin, scores), moments.mean, moments.variance)

    def shifted(self, shift: float) -> ScoreHistogram:
        """Return the histogram of the scores plus `shift`."""
        low, high = self.grid
        return self._replace(grid=ScoreGrid(low + shift, high + shift), means=self.means + shift)

    def scaled(self, factor: float) -> ScoreHistogram:
        """Return the histogram of the scores times `factor`, which is above 0."""
        grid = ScoreGrid(self.grid.low * factor, self.grid.high * factor)
        return self._replace(grid=grid, means=self.means * factor, variances=self.variances * factor**2)

    def with_totals(self, totals: np.ndarray) -> ScoreHistogram:
        """Return the histogram with other total weights of the classes."""
        return self._replace(mass=self.mass * (totals / self.mass.sum(axis=1))[:, None])


def check_scores(moments: ScoreMoments) -> None:
    """Raise a ValueError if the squares of the scores are not finite."""
    if not np.isfinite(moments).all():
        raise ValueError("The squares of the scores overflow: the weights have diverged, or X needs smaller columns.")
