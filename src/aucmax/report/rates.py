"""Rates of labelled rows with their intervals, and whether probabilities are right.

Conventions
-----------
Every rate has Wilson's interval, of as many independent rows as tell as much: (sum w)^2 / sum w^2 for the weights w
(Kish). If rows belong to groups, this number is divided by the design effect: the variance of the rate if groups are
independent, over its variance if rows are (Korn and Graubard).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.utils import check_consistent_length, column_or_1d

from ..metrics import _check_scores
from ..rows.validate import check_class_weights, check_groups, check_weights, find_classes
from ..search.calibration import fit_line

TENTHS = 10  # parts of the rows in tables of gains and of calibration
CERTAIN = 1e-15  # probabilities are at least so far from 0 and 1 when their logarithms are taken
Count = int | float


class Estimate(NamedTuple):
    """A number with the ends of its confidence interval; NaN where the rows do not determine it.

    Attributes
    ----------
    value, low, high : float
        The estimate, and the ends of its interval.
    """

    value: float
    low: float
    high: float


NO_ESTIMATE = Estimate(math.nan, math.nan, math.nan)


class CalibrationBin(NamedTuple):
    """Rows with neighbouring probabilities.

    Attributes
    ----------
    rows : float
        How many there are.
    mean : float
        The mean of their probabilities.
    rate : Estimate
        The share of positives, with Wilson's interval.
    """

    rows: Count
    mean: float
    rate: Estimate


class Calibration(NamedTuple):
    """Whether probabilities are right.

    Attributes
    ----------
    mean : float
        The mean probability, which should be the share of the positives.
    brier : Estimate
        The Brier score: the mean squared difference of the probability and the label, 0 or 1.
    slope, intercept : Estimate
        Of the logistic regression of the labels on the logit of the probabilities. They should be 1 and 0; a slope
        below 1 means that probabilities are too extreme. NaN where the rows have no such regression: if probabilities
        are all equal, or separate the classes. The intervals use the sandwich estimator.
    bins : list of CalibrationBin
        Ten bins of equally many rows; rows of equal probabilities are in one bin.
    """

    mean: float
    brier: Estimate
    slope: Estimate
    intercept: Estimate
    bins: list[CalibrationBin]


class Sample(NamedTuple):
    """Rows that were checked."""

    positive: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    probabilities: np.ndarray | None
    groups: np.ndarray | None  # the number of the group of each row

    @classmethod
    def of(cls, y: Any, scores: Any, sample_weight: Any, probabilities: Any, groups: Any, pos_label: Any) -> Sample:
        """Return rows, checked as the arguments of `evaluate`."""
        values = _check_scores(scores, "scores")
        labels: np.ndarray = column_or_1d(y, warn=True)
        check_consistent_length(labels, values)
        classes = find_classes(labels)
        if pos_label is not None and pos_label not in classes.tolist():
            raise ValueError(f"pos_label must be one of the classes {classes.tolist()}, got {pos_label!r}.")
        positive = labels == (classes[1] if pos_label is None else pos_label)
        weights = check_weights(sample_weight, values)
        if weights is not None:
            check_class_weights(np.bincount(labels == classes[1], weights, 2), classes)
        if probabilities is not None:
            probabilities = _check_scores(probabilities, "probabilities")
            check_consistent_length(probabilities, values)
            low, high = probabilities.min(), probabilities.max()
            if low < 0 or high > 1:
                raise ValueError(f"probabilities must be in [0, 1], got {low:g} to {high:g}.")
        names = check_groups(groups, values)
        codes = None if names is None else np.unique(names, return_inverse=True)[1]
        return cls(positive, values, weights, probabilities, codes)

    def mass(self) -> np.ndarray:
        """Return the weights, 1 for each row without them."""
        return np.ones(len(self.scores)) if self.weights is None else self.weights

    def take(self, rows: np.ndarray) -> Sample:
        """Return some rows."""
        return Sample(*(None if each is None else each[rows] for each in self))  # type: ignore[arg-type]


def measure_calibration(sample: Sample, level: float) -> Calibration | None:
    """Return whether the probabilities of rows are right; None without probabilities."""
    positive, probabilities, mass = sample.positive, sample.probabilities, sample.mass()
    if probabilities is None:
        return None
    errors = (probabilities - positive) ** 2
    brier = float(np.average(errors, weights=mass))
    return Calibration(
        float(np.average(probabilities, weights=mass)),
        estimate(sample, brier, mass * (errors - brier) / mass.sum(), level, 0, 1),
        *calibration_line(sample, probabilities, level),
        calibration_bins(sample, probabilities, level),
    )


def calibration_line(sample: Sample, probabilities: np.ndarray, level: float) -> tuple[Estimate, Estimate]:
    """Return slope and intercept of the logistic regression on the logits, with intervals of the sandwich estimator.

    There are none if a value parts the logits of the two classes, or if all are equal.
    """
    positive, mass = sample.positive, sample.mass()
    x = logit(np.clip(probabilities, CERTAIN, 1 - CERTAIN))
    zeros, ones = x[~positive], x[positive]
    if not (len(zeros) and len(ones) and zeros.max() > ones.min() and ones.max() > zeros.min()):
        return NO_ESTIMATE, NO_ESTIMATE
    line = np.array(fit_line(x, mass * ~positive, mass * positive))
    Z = np.column_stack([x, np.ones(len(x))])
    fitted = expit(Z @ line)
    bread = np.linalg.inv((Z.T * (mass * fitted * (1 - fitted))) @ Z)
    moves = bread @ Z.T * (mass * (positive - fitted))
    slope, intercept = (estimate(sample, float(line[k]), moves[k], level) for k in range(2))
    return slope, intercept


def estimate(
    sample: Sample, value: float, moves: np.ndarray, level: float, least: float = -math.inf, most: float = math.inf
) -> Estimate:
    """Return a value with its interval from least to most: its variance is the sum of squares of what rows move it."""
    moves = moves if sample.groups is None else group_sums(sample.groups, moves)
    reach = float(ndtri((1 + level) / 2) * np.linalg.norm(moves))
    return Estimate(value, max(value - reach, least), min(value + reach, most))


def calibration_bins(sample: Sample, probabilities: np.ndarray, level: float) -> list[CalibrationBin]:
    """Return bins of about equally many rows: equal probabilities go where the middle of their rows does."""
    mass = sample.mass()
    _, same = np.unique(probabilities, return_inverse=True)
    weight = np.bincount(same, mass)
    bins = (TENTHS * (np.cumsum(weight) - weight / 2) / weight.sum()).astype(np.intp)[same]
    found = []
    for rows in (bins == k for k in np.unique(bins)):
        mean = float(np.average(probabilities[rows], weights=mass[rows]))
        found.append(CalibrationBin(float(mass[rows].sum()), mean, measure_rate(sample, sample.positive, rows, level)))
    return found


def kish_size(weights: np.ndarray) -> float:
    """Return how many rows of equal weight tell as much as these."""
    return float(weights.sum() ** 2 / (weights @ weights))


def effective_size(mass: np.ndarray, moves: np.ndarray, groups: np.ndarray | None) -> float:
    """Return how many independent rows of equal weight tell as much as these, which move an estimate by `moves`.

    It is at most their number, and at least the number of the groups that are there: rows of a group may be all equal.
    """
    if groups is None:
        return kish_size(mass)
    totals = np.bincount(groups, mass)
    independent, together = moves @ moves, group_sums(groups, moves)
    least, most = kish_size(totals[totals > 0]), kish_size(mass)
    return min(max(most * independent / (together @ together), least), most) if together.any() else least


def group_sums(groups: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sums of values (..., n) over groups, with the factor that makes the sum of their squares unbiased."""
    codes = np.unique(groups, return_inverse=True)[1]
    n = codes.max() + 1
    sums = np.array([np.bincount(codes, each) for each in np.atleast_2d(values)])
    return np.sqrt(n / max(n - 1, 1)) * (sums if values.ndim > 1 else sums[0])


def measure_rate(sample: Sample, which: np.ndarray, among: np.ndarray | None, level: float) -> Estimate:
    """Return the share of some rows, `among` others or all, with Wilson's interval; NaN if there are none."""
    mass, groups = sample.mass(), sample.groups
    if among is not None:
        mass, which, groups = mass[among], which[among], None if groups is None else groups[among]
    if not len(mass):
        return NO_ESTIMATE
    share = np.average(which, weights=mass)
    n = effective_size(mass, mass * (which - share), groups)
    return Estimate(*map(float, (share, *wilson_interval(share, n, level))))


def wilson_interval(share: np.ndarray, n: float, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval of a binomial share of n rows, which contains it."""
    z2 = ndtri((1 + confidence_level) / 2) ** 2 / n
    center, reach = share + z2 / 2, np.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return np.clip((center - reach) / (1 + z2), 0, share), np.clip((center + reach) / (1 + z2), share, 1)
