"""Whether a measured figure agrees with the published one, and whether that could be told at all.

1. The standard error of a mean over n runs with standard deviation s is s / sqrt(n - 1). If all runs of the paper are
   on one split of the rows, the luck of that split is added in squares: the standard deviation between splits of the
   steadiest method of the row here.
2. The interval of the difference is d ± t sqrt(e_p^2 + e_m^2), where d is measured minus published, e_p and e_m are the
   standard errors of the two, and t is Student's quantile for 95% with the degrees of freedom of the fewer runs. Folds
   of one data set are not independent, so these are errors of splits, not of data sets.
3. The tolerance is the same with e_p in place of e_m: it allows for a measurement that is as exact as the paper's. The
   noise of our own methods does not widen it; the luck of a single split, which only our splits can tell, does.
4. The spread is the median distance of the published figure from those of the other methods in its row. The median is
   chosen because it takes half of the other methods to change it: neither one twin nor one outlier does. The distance
   is measured from this figure, and not between all pairs: in a row of five equal methods and two outliers, the figures
   of the five cannot be told apart, while those of the outliers can.
5. A comparison is sharp if the interval and twice the tolerance are both narrower than the spread. A method that is as
   far away as the spread is then found outside of the tolerance in 97.5% of measurements.
6. A figure agrees if |d| is at most the tolerance and the comparison is sharp: where methods cannot be told apart, a
   small difference says nothing. It is better or worse if |d| is more than the tolerance and 0 is outside of the
   interval: a difference that is shown needs no spread. Anything else is not decidable.

As our noise grows, the interval widens and the tolerance stays. So a figure can become undecidable, but one that is
better or worse can never turn into one that agrees.

The share of figures that agree is taken among the sharp comparisons with a verdict (`Judgement.decides`). Others can
only differ or be undecidable, and would lower it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
# Published values have four decimals; a difference of exactly the tolerance must not depend on the last bit.
ROUNDING = 1e-9
AGREES, BETTER, WORSE, UNDECIDABLE = "agrees", "better", "worse", "not decidable"
OUTCOMES = (AGREES, BETTER, WORSE, UNDECIDABLE)
TOO_CLOSE = "the paper's methods differ by less than its noise"
TOO_NOISY = "our runs are too few or scatter too much"


class Estimate(NamedTuple):
    """A mean over runs."""

    mean: float  # the mean
    error: float  # its standard error
    runs: int  # number of runs, at least 2


class Judgement(NamedTuple):
    """What can be said about a measured figure."""

    verdict: str  # one of `OUTCOMES`
    difference: float  # measured minus published
    margin: float  # half the width of the interval of the difference
    tolerance: float  # the largest difference that agrees
    spread: float  # the median distance of the published figure from those of the other methods
    why: str = ""  # why it is not decidable

    @property
    def sharp(self) -> bool:
        """Whether the interval can tell the method from others."""
        return 2 * max(self.margin, self.tolerance) < self.spread

    @property
    def decides(self) -> bool:
        """Whether the comparison is sharp and has a verdict: it could have shown either."""
        return self.sharp and self.verdict != UNDECIDABLE


def estimate(mean: float, std: float, runs: int, luck: float = 0.0) -> Estimate:
    """Return a mean with its standard error; `luck` is the deviation between splits if all runs are on one of them.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.criterion import estimate
    >>> estimate(0.8, 0.02, 26)
    Estimate(mean=0.8, error=0.004, runs=26)
    """
    return Estimate(mean, math.hypot(std / math.sqrt(runs - 1), luck), runs)


def half_width(first: Estimate, second: Estimate) -> float:
    """Return half the width of the interval of the difference between two means.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.criterion import Estimate, half_width
    >>> round(half_width(Estimate(0.8, 0.003, 25), Estimate(0.9, 0.004, 1000)), 4)  # 2.064 * 0.005
    0.0103
    """
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, min(first.runs, second.runs) - 1)
    return float(quantile * math.hypot(first.error, second.error))


def paired_change(before: Mapping[int, float], after: Mapping[int, float]) -> tuple[float, float] | None:
    """Return the mean of after minus before on the runs that both have, and half the width of its 95% interval.

    The interval is that of a paired t-test; None if fewer than two runs are in both.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.criterion import paired_change
    >>> change, margin = paired_change({0: 0.70, 1: 0.80, 2: 0.90}, {0: 0.71, 1: 0.81, 2: 0.93})
    >>> round(change, 4), round(margin, 4)
    (0.0167, 0.0287)
    """
    differences = [after[run] - before[run] for run in before.keys() & after.keys()]
    n = len(differences)
    if n < 2:
        return None
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1)
    return float(np.mean(differences)), float(quantile * np.std(differences, ddof=1) / math.sqrt(n))


def find_spread(figure: float, others: Sequence[float]) -> float:
    """Return the median distance of a published figure from those of the other methods in its row, 0 without any.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.criterion import find_spread
    >>> find_spread(5.0, [5.0, 5.5, 1.0])
    0.5
    """
    return float(np.median(np.abs(np.subtract(others, figure)))) if len(others) else 0.0


def judge(published: Estimate, measured: Estimate, spread: float) -> Judgement:
    """Compare a measured figure with the published one.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.criterion import Estimate, judge
    >>> published = Estimate(0.80, 0.002, 25)
    >>> judge(published, Estimate(0.79, 0.001, 25), spread=0.05).verdict
    'worse'
    >>> judge(published, Estimate(0.79, 0.02, 25), spread=0.05).verdict  # our noise does not buy agreement
    'not decidable'
    >>> judge(published, Estimate(0.80, 0.001, 25), spread=0.05).verdict
    'agrees'
    >>> judge(published, Estimate(0.80, 0.001, 25), spread=0.01).verdict  # other methods are as near
    'not decidable'
    """
    difference = measured.mean - published.mean
    margin, tolerance = half_width(published, measured), half_width(published, published)
    found = Judgement(UNDECIDABLE, difference, margin, tolerance, spread)
    if abs(difference) > max(margin, tolerance) + ROUNDING:
        return found._replace(verdict=BETTER if difference > 0 else WORSE)
    if abs(difference) <= tolerance + ROUNDING and found.sharp:
        return found._replace(verdict=AGREES)
    return found._replace(why=TOO_CLOSE if 2 * tolerance >= spread else TOO_NOISY)
