"""How far two samples are apart: the population stability index, and the share of rows with new levels.

Conventions
-----------
With the shares e_k of one sample of n rows and a_k of another of m rows in the same B cells, the population stability
index is

    PSI = sum_k (a_k - e_k) log(a_k / e_k),

the sum of both Kullback-Leibler divergences. A cell that is empty in one sample counts as half a row there, and one
that is empty in both does not count. With c = 1/n + 1/m, PSI / c is about the chi-squared statistic of two samples:
noncentral, with B - 1 degrees of freedom and the noncentrality PSI* / c, where PSI* is the index of the two
populations. So the index of two samples without any drift is about (B - 1) c, and an interval of PSI* comes from the
quantiles of that distribution.

If n_1 and n_2 levels have one and two of n training rows, a new row has a level that none of them has with a
probability of about n_1 / n (Good and Turing), whose standard error is sqrt(n_1 (1 - n_1 / n) + 2 n_2) / n (Esty). The
share of such levels in m new rows has the binomial interval of Clopper and Pearson, and the difference of the two
Newcombe's interval.

References
----------
I. J. Good, "The population frequencies of species and the estimation of population parameters", Biometrika 40 (1953).
W. W. Esty, "A normal limit law for a nonparametric estimator of the coverage of a random sample", Annals of Statistics
11 (1983).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, chndtr, chndtrinc, ndtri


class Stability(NamedTuple):
    """A population stability index.

    Attributes
    ----------
    psi : float
        The index.
    by_chance : float
        What it is about in two samples of these sizes without any drift.
    low, high : float
        The ends of the confidence interval of the index of the two populations.
    labels : list of str
        The cells in words.
    expected, actual : ndarray of shape (n_cells,)
        The share of the rows of both samples in each cell.
    """

    psi: float
    by_chance: float
    low: float
    high: float
    labels: list[str]
    expected: np.ndarray
    actual: np.ndarray

    @property
    def excess(self) -> float:
        """What the index is more than by chance, at least 0."""
        return max(self.psi - self.by_chance, 0.0)


def check_level(confidence_level: float) -> None:
    """Raise a ValueError unless this is the level of an interval."""
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be in (0, 1), got {confidence_level!r}.")


def stability_of_counts(
    labels: Sequence[str], expected: np.ndarray, actual: np.ndarray, confidence_level: float
) -> Stability:
    """Return the stability index of the numbers of rows in the same cells."""
    used = (expected > 0) | (actual > 0)
    names = [label for label, is_used in zip(labels, used.tolist(), strict=True) if is_used]
    n, m = float(expected.sum()), float(actual.sum())
    e, a = np.maximum(expected[used], 0.5) / n, np.maximum(actual[used], 0.5) / m
    psi, unit, freedom = float((a - e) @ np.log(a / e)), 1 / n + 1 / m, len(names) - 1
    tails = (1 + confidence_level) / 2, (1 - confidence_level) / 2
    low, high = (unit * noncentrality(psi / unit, freedom, tail) for tail in tails)
    return Stability(psi, freedom * unit, low, high, names, expected[used] / n, actual[used] / m)


def noncentrality(value: float, freedom: int, tail: float) -> float:
    """Return the noncentrality with which a chi-squared variable is below a value with this probability; 0 if none."""
    if freedom == 0 or not chndtr(value, freedom, 0.0) > tail:
        return 0.0
    return float(chndtrinc(value, freedom, tail))


def excess_of_new(
    n_new: float, n_rows: float, once: int, twice: int, n_training: float, confidence_level: float
) -> float:
    """Return the lower end of the interval of the share of rows with new levels less the expected share.

    `once` and `twice` are the numbers of levels with one and with two training rows.

    Examples
    --------
    >>> from aucmax.monitoring.stability import excess_of_new
    >>> round(excess_of_new(100, 500, once=30, twice=10, n_training=1000, confidence_level=0.95), 3)
    0.133
    """
    if not n_rows or not n_training:
        return 0.0
    share, expected = n_new / n_rows, once / n_training
    low = float(betaincinv(n_new, n_rows - n_new + 1, (1 - confidence_level) / 2)) if n_new else 0.0
    error = math.sqrt(max(once * (1 - expected) + 2 * twice, 1)) / n_training
    return float(share - expected - math.hypot(share - low, error * ndtri((1 + confidence_level) / 2)))
