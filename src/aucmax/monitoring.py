"""Whether new rows are still like the training rows: the stability index of each column and of the score, and the AUC.

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
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chndtr, chndtrinc, expit
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ._base import LinearAUCClassifier
from .metrics import AUCInterval, roc_auc_ci
from .rows.validate import check_labels
from .search.calibration import training_base_rate
from .tables.bins import Column, last_of_bins, make_column
from .tables.encoder import TableEncoder, TableReader
from .tables.reading import Reading
from .tables.reading.kinds import Column as KindOfColumn
from .tables.reading.kinds import Part
from .tables.reading.table import Levels, Tally, check_columns, check_faults

N_CELLS = 10  # of a number
FEWEST = 5  # rows that each sample should have in the cell of a level; rarer levels have one cell together
STABLE = 0.1  # an index up to here, beyond chance, is no drift by common usage
RARER, NEW, PRESENT, MISSING = "rarer levels", "new levels", "present", "missing"


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


def population_stability(
    expected: ArrayLike, actual: ArrayLike, *, n_bins: int = N_CELLS, confidence_level: float = 0.95
) -> Stability:
    """Compute the population stability index of the values of two samples.

    Values below 0.1 usually count as stable and values above 0.25 as drift. That is meant for large samples: in small
    ones the index is above 0 even if nothing has changed, by about `by_chance`.

    Parameters
    ----------
    expected : array-like of shape (n_expected,)
        The values of the training rows, such as scores, or texts.
    actual : array-like of shape (n_actual,)
        The values of new rows.
    n_bins : int, default=10
        Numbers have so many bins, which hold about the same number of expected values. Missing ones have a cell of
        their own. Each text is a cell; texts that are too rare in one sample are one cell together. Texts that are not
        in `expected` have a cell if they are more than its rare texts let expect.
    confidence_level : float in (0, 1), default=0.95
        Probability with which the interval should cover the index of the two populations.

    Returns
    -------
    stability : Stability
        The index, what it is by chance, its interval, and the shares of each cell.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import population_stability
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=2000), rng.normal(0.5, 1, size=500)
    >>> found = population_stability(before, after)
    >>> print(f"{found.psi:.3f} ({found.low:.3f} to {found.high:.3f}), {found.by_chance:.3f} by chance")
    0.240 (0.135 to 0.323), 0.022 by chance
    """
    if n_bins < 2:
        raise ValueError(f"n_bins must be at least 2, got {n_bins!r}.")
    check_level(confidence_level)
    samples = [column_or_1d(np.asarray(each)) for each in (expected, actual)]
    for name, sample in zip(("expected", "actual"), samples, strict=True):
        if not len(sample):
            raise ValueError(f"{name} has no values.")
    if all(sample.dtype.kind in "biuf" for sample in samples):
        known, new = (np.asarray(each, dtype=np.float64) for each in samples)
        values, mass = np.unique(known[~np.isnan(known)], return_counts=True)
        column = make_column(values, mass.astype(np.float64), float(np.isnan(known).sum()), False, n_bins)
        reference = of_bins("", "number", column, n_bins, float(len(known)))
        return reference.compare(reference.tally(new), confidence_level)
    levels, places = np.unique(np.concatenate([each.astype(str) for each in samples]), return_inverse=True)
    before, after = (np.bincount(each, minlength=len(levels)) for each in np.split(places, [len(samples[0])]))
    is_known = before > 0
    reference = Reference("", "category", before[is_known].astype(np.float64), 0.0, levels=levels[is_known].tolist())
    return reference.compare(np.append(after[is_known], [after[~is_known].sum(), 0]), confidence_level)


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


# What training rows were like


class Reference(NamedTuple):
    """The training rows in the cells of a column."""

    name: str
    kind: str  # of the column
    expected: np.ndarray  # (n_values,): the rows with each level, or in each bin
    missing: float  # the rows without a value
    cuts: np.ndarray | None = None  # the borders between the bins of a number
    levels: Sequence[str] = ()  # of a category, or the words of a truth value
    low: float = -np.inf  # with high: the range of a number
    high: float = np.inf

    def tally(self, x: np.ndarray) -> np.ndarray:
        """Return how many rows have each value, a new level, and none."""
        n, missing = len(self.expected), np.isnan(x)
        cells = np.searchsorted(self.cuts, x) if self.cuts is not None else np.minimum(np.where(missing, 0, x), n)
        return np.bincount(np.where(missing, n + 1, cells).astype(np.intp), minlength=n + 2)

    def compare(self, actual: np.ndarray, confidence_level: float) -> Stability:
        """Return the stability index of the rows that were counted."""
        labels, before, after = self.cells(actual)
        labels, before, after = [*labels, MISSING], np.append(before, self.missing), np.append(after, actual[-1])
        return stability_of_counts(labels, before, after, confidence_level)

    def cells(self, actual: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the cells of values in words, and the rows in them.

        Levels that are too rare in a sample are one cell, and new levels are in it too unless there are more than the
        training rows let expect: as many as those whose level no other training row has, by Good and Turing.
        """
        after = actual[:-2]
        if self.cuts is not None:
            value = f"{self.low:.6g}"
            labels = [f"below {value}", value, f"above {value}"] if self.low == self.high else ranges(self.cuts)
            return list(self.levels) if len(self.levels) == len(labels) else labels, self.expected, after
        fewer = min(1.0, actual.sum() / max(self.expected.sum() + self.missing, 1.0))
        rare = self.expected * fewer < FEWEST
        labels = [
            *(level for level, is_rare in zip(self.levels, rare.tolist(), strict=True) if not is_rare),
            RARER,
            NEW,
        ]
        single, new = float(self.expected[self.expected < 1.5].sum()), float(actual[-2])
        apart = new > fewer * single
        before = np.append(self.expected[~rare], [self.expected[rare].sum() - apart * single, apart * single])
        after = np.append(after[~rare], [after[rare].sum() + (not apart) * new, apart * new])
        return labels, before, after


def ranges(cuts: np.ndarray) -> list[str]:
    """Return the ranges between borders in words."""
    if not len(cuts):
        return ["any"]
    texts = [f"{cut:.4g}" for cut in cuts.tolist()]
    between = [f"{a} to {b}" for a, b in itertools.pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"above {texts[-1]}"]


def of_bins(name: str, kind: str, column: Column, n_cells: int, n_rows: float) -> Reference:
    """Return the reference of a number, given its bins: neighbours are joined to about `n_cells`."""
    mass = column.mass[: column.n_values] * (n_rows / max(column.mass.sum(), 1e-300))
    missing = n_rows - mass.sum() if column.missing else 0.0
    if not column.n_values:
        return Reference(name, kind, np.zeros(1), missing, np.zeros(0))
    edges = float(column.low[0]), float(column.high[-1])
    if edges[0] == edges[1]:  # a constant: all other values are below or above it
        return Reference(
            name, kind, np.array([0.0, mass[0], 0.0]), missing, np.nextafter(edges[0], [-np.inf, np.inf]), (), *edges
        )
    last = np.flatnonzero(last_of_bins(mass, n_cells))
    first = np.append(0, last[:-1] + 1)
    return Reference(name, kind, np.add.reduceat(mass, first), missing, column.cuts[last[:-1]], (), *edges)


def references_of(reader: Any) -> list[Reference]:
    """Return what the training rows of a model were like, for each column of codes."""
    reading: Reading = reader.reading_
    if isinstance(reader, TableEncoder):
        columns = [(column, part) for column in reading.columns for part in column.parts]
        return [of_reading(reading.n_rows, column, part) for column, part in columns]
    found, words = [], {part.name: words_of(column) for column in reading.columns for part in column.parts}
    for part, kind, column in zip(reading.parts, reading.kinds, reader.columns_, strict=True):
        n_rows = float(reading.n_rows or column.mass.sum())
        if part.levels is None:
            found.append(of_bins(part.name, kind, column, N_CELLS, n_rows)._replace(levels=words[part.name]))
            continue
        mass, expected = column.mass * (n_rows / max(column.mass.sum(), 1e-300)), np.zeros(len(part.levels))
        expected[column.cuts.astype(np.intp)] = mass[: column.n_values]
        missing = float(mass[column.n_values]) if column.missing else 0.0
        found.append(Reference(part.name, kind, expected, missing, None, part.levels))
    return found


def words_of(column: KindOfColumn) -> list[str]:
    """Return the words for 0 and 1 of truth values; none for other columns."""
    return column.reason.split(", ")[::-1] if column.kind == "boolean" else []


def of_reading(n_rows: int, column: KindOfColumn, part: Part) -> Reference:
    """Return what the reading of a table knows of a column: its levels or truth values, or the range of a number."""
    n_present, missing = float(n_rows - column.n_missing), float(column.n_missing)
    if part.levels is not None:
        return Reference(part.name, column.kind, part.counts, missing, None, part.levels)
    if column.kind == "boolean":
        shares = np.array([1 - part.mean, part.mean])
        return Reference(part.name, "boolean", n_present * shares, missing, np.array([0.5]), words_of(column), 0.0, 1.0)
    return Reference(part.name, column.kind, np.array([n_present]), missing, np.zeros(0), (), column.low, column.high)


# What new rows are like


class ColumnDrift(NamedTuple):
    """What has changed in a column.

    Attributes
    ----------
    column : str
        Its name, with what it is of a date.
    kind : str
        What the column is read as.
    stability : Stability or None
        The stability index; None if the model does not know how the numbers of its training rows were distributed.
    expected_missing_share, missing_share : float
        The share of rows without a value, in training and now.
    new_levels : dict
        The levels that no training row had, with their numbers of rows.
    vanished_levels : list of str
        The levels of which five rows or more were to be expected, and that no row has.
    n_outside : int
        Rows with numbers outside of the range of the training rows.
    counts : bool
        Whether it counts for the verdict: dates move on by themselves, but not the share of missing ones.
    """

    column: str
    kind: str
    stability: Stability | None
    expected_missing_share: float
    missing_share: float
    new_levels: dict[str, int]
    vanished_levels: list[str]
    n_outside: int
    counts: bool

    @property
    def remarks(self) -> list[str]:
        """New and vanished levels and rows outside of the range, in words."""
        found = []
        if self.new_levels:
            found.append(f"new: {first_of([f'{level} ({n:,})' for level, n in self.new_levels.items()])}")
        if self.vanished_levels:
            found.append(f"gone: {first_of(self.vanished_levels)}")
        if self.n_outside:
            found.append(f"{self.n_outside:,} row{'s' if self.n_outside > 1 else ''} outside of the range")
        return found


class Period(NamedTuple):
    """How well the rows of a month are ranked.

    Attributes
    ----------
    month : str
        The month.
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    auc : AUCInterval or None
        The AUC with DeLong's interval; None with fewer than two rows of a class.
    """

    month: str
    n_samples: int
    n_positive: int
    auc: AUCInterval | None


class Drift(NamedTuple):
    """What has changed since the training of a model.

    Attributes
    ----------
    n_samples : int
        Number of new rows.
    score : Stability or None
        The stability index of the score; None if the model does not know the scores that it was calibrated on.
    columns : list of ColumnDrift
        The columns of the table; none if the model was not fitted to a table.
    base_rate, mean_probability : float
        The share of positives that probabilities are for, and the mean probability of the new rows.
    auc : AUCInterval or None
        The AUC of the new rows, if their labels are known.
    promised : AUCInterval or None
        The cross-validated AUC of the training rows with its 95% interval, whose standard error is not kept.
    periods : list of Period
        The AUC by month, if labels and dates are known.
    limit : float
        An index that is more by this than by chance is drift, if its interval says so too.
    """

    n_samples: int
    score: Stability | None
    columns: list[ColumnDrift]
    base_rate: float
    mean_probability: float
    auc: AUCInterval | None
    promised: AUCInterval | None
    periods: list[Period]
    limit: float

    def status(self, stability: Stability | None) -> str | None:
        """Return what an index says.

        Parameters
        ----------
        stability : Stability or None
            The index of a column or of the score.

        Returns
        -------
        status : {"stable", "moved", "drift"} or None
            None without an index. For drift, the whole interval must be above what counts as stable too.
        """
        if stability is None:
            return None
        if stability.excess > self.limit and stability.low > self.border:
            return "drift"
        return "moved" if stability.excess > self.border else "stable"

    @property
    def border(self) -> float:
        """Up to here an index is stable, and above it the whole interval must be for drift."""
        return min(STABLE, self.limit)

    @property
    def auc_loss(self) -> str | None:
        """That the interval of the AUC is wholly below what the fit promised, in words; None if it is not."""
        if self.auc is None or self.promised is None:
            return None
        knows_low = not math.isnan(self.promised.low)
        promised = self.promised.low if knows_low else self.promised.auc
        if not self.auc.high < promised:
            return None
        auc, low, high, _ = self.auc
        what = "the lower end of the cross-validated one" if knows_low else "the cross-validated one"
        return f"the AUC of {auc:.4f} ({low:.4f} to {high:.4f}) is below {promised:.4f}, {what}"

    @property
    def drifted(self) -> list[str]:
        """What has drifted: the AUC, the score, and columns."""
        found = [("score", self.score), *((each.column, each.stability) for each in self.columns if each.counts)]
        lost = ["AUC"] if self.auc_loss else []
        return lost + [name for name, stability in found if self.status(stability) == "drift"]

    @property
    def verdict(self) -> str:
        """What has drifted, and how the AUC fell, in words."""
        if self.is_stable:
            return "stable"
        return f"drift: {', '.join(self.drifted)}" + (f"; {self.auc_loss}" if self.auc_loss else "")

    @property
    def is_stable(self) -> bool:
        """Whether nothing has drifted."""
        return not self.drifted

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON.

        Returns
        -------
        content : dict
            Numbers, text, lists and dicts; None for what is not known.
        """
        promised = self.promised
        return {
            "n_samples": self.n_samples,
            "is_stable": self.is_stable,
            "drifted": self.drifted,
            "verdict": self.verdict,
            "limit": self.limit,
            "base_rate": self.base_rate,
            "mean_probability": self.mean_probability,
            "score": None if self.score is None else self._index(self.score),
            "drift": [
                {
                    "column": each.column,
                    "kind": each.kind,
                    **self._index(each.stability),
                    "counts": each.counts,
                    "expected_missing_share": each.expected_missing_share,
                    "missing_share": each.missing_share,
                    "new_levels": [{"level": level, "n_samples": n} for level, n in each.new_levels.items()],
                    "vanished_levels": each.vanished_levels,
                    "n_outside": each.n_outside,
                }
                for each in self.columns
            ],
            **_auc_dict(self.auc),
            "cross_validated_auc": None if promised is None else promised.auc,
            "cross_validated_auc_interval": None if promised is None else [promised.low, promised.high],
            "periods": [
                {"month": each.month, "n_samples": each.n_samples, "n_positive": each.n_positive, **_auc_dict(each.auc)}
                for each in self.periods
            ],
        }

    def _index(self, found: Stability | None) -> dict[str, Any]:
        if found is None:
            return dict.fromkeys(("psi", "psi_by_chance", "psi_low", "psi_high", "status")) | {"cells": []}
        cells = zip(found.labels, found.expected.tolist(), found.actual.tolist(), strict=True)
        return {
            "psi": found.psi,
            "psi_by_chance": found.by_chance,
            "psi_low": found.low,
            "psi_high": found.high,
            "status": self.status(found),
            "cells": [dict(zip(("cell", "expected_share", "actual_share"), each, strict=True)) for each in cells],
        }


def _auc_dict(auc: AUCInterval | None) -> dict[str, Any]:
    names = ("auc", "auc_low", "auc_high", "auc_standard_error")
    return dict(zip(names, auc or (None,) * 4, strict=True))


def monitor(
    model: Any, X: Any, y: Any = None, *, time: Any = None, limit: float = 0.25, confidence_level: float = 0.95
) -> Drift:
    """Compare new rows with the training rows of a model.

    The model knows how many training rows had each level and lay in each bin, and how their scores were distributed. No
    training rows are needed.

    Parameters
    ----------
    model : TableClassifier, pipeline of TableEncoder and a classifier, or classifier
        A fitted model of this package. `TableClassifier` knows the distribution of all columns. A
        :class:`TableEncoder` in front of a linear model knows levels and truth values, but only the range of numbers.
        A classifier of a matrix knows its scores alone.
    X : dataframe or array-like of shape (n_samples, n_columns)
        The new rows.
    y : array-like of shape (n_samples,), default=None
        Their labels, if they are known already.
    time : array-like of shape (n_samples,), default=None
        The date of each row, for the AUC by month.
    limit : float, default=0.25
        A stability index that is more by this than it is by chance is drift if its interval is above 0.1 too. Of
        dates, only the share of missing cells counts. With labels, an AUC below the cross-validated one is drift.
    confidence_level : float in (0, 1), default=0.95
        The level of the intervals.

    Returns
    -------
    drift : Drift
        What has changed, column by column, and in the score.

    See Also
    --------
    population_stability : The index of the values of two samples.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from aucmax import TableClassifier, monitor
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.normal(40, 10, 2000), "plan": rng.choice(["basic", "plus"], 2000)})
    >>> model = TableClassifier().fit(X, rng.random(2000) < X["age"] / 100)
    >>> new = X[:500].assign(age=X["age"] + 8, plan=["family"] * 5 + ["basic"] * 495)
    >>> drift = monitor(model, new)
    >>> drift.drifted
    ['score', 'age', 'plan']
    >>> [(each.column, round(each.stability.psi, 2), each.new_levels) for each in drift.columns]
    [('age', 0.68, {}), ('plan', 3.37, {'family': 5})]
    """
    watch = Watch(model)
    watch.add_table(X)
    positive = None
    if y is not None:
        labels = column_or_1d(y, warn=True)
        check_labels(labels, watch.classes)
        positive = labels == watch.classes[1]
    return watch.drift(positive, time, limit, confidence_level)


class Watch:
    """Counts what comes in, block by block, and says what has changed."""

    def __init__(self, model: Any) -> None:
        last = model[-1] if isinstance(model, Pipeline) else model
        if not isinstance(last, LinearAUCClassifier):
            raise TypeError(f"monitor takes a fitted classifier of aucmax, not a {type(last).__name__}.")
        check_is_fitted(last, "coef_")
        first = model[0] if isinstance(model, Pipeline) else model
        self.reader = first if isinstance(first, TableReader) else None
        self.model, self.last, self.classes = model, last, last.classes_
        self.references = [] if self.reader is None else references_of(self.reader)
        self.counts = [np.zeros(len(each.expected) + 2, dtype=np.int64) for each in self.references]
        self.outside = [0] * len(self.references)
        self.new: dict[str, Counter[str]] = {}
        self.scores: list[np.ndarray] = []

    def add_table(self, X: Any) -> None:
        """Add rows as the model takes them."""
        if self.reader is None:
            self.add(X)
            return
        table = self.reader._table(X, reset=False)
        check_columns(self.reader.reading_, table.column_names)
        codes, tallies = self.reader.reading_.codes(table)
        check_faults(tallies)
        self.add(codes, tallies)

    def add(self, X: Any, tallies: Sequence[Tally] = ()) -> None:
        """Add rows: the codes of all levels, or the features of a classifier without a table."""
        for j, reference in enumerate(self.references):
            x = np.asarray(X)[:, j]
            self.counts[j] += reference.tally(x)
            self.outside[j] += int(np.count_nonzero((x < reference.low) | (x > reference.high)))
        for tally in tallies:
            self.new.setdefault(tally.column.name, Counter()).update(tally.new)
        self.scores.append(self._score(X))

    def _score(self, X: Any) -> np.ndarray:
        if self.reader is None:
            return self.model.decision_function(X)
        levels = Levels.of(np.asarray(X), self.reader.reading_)
        if isinstance(self.reader, TableEncoder):
            return self.model[1:].decision_function(self.reader.reading_.convert(levels, self.reader.output))
        return self.model.decision_function(levels)

    def drift(self, positive: np.ndarray | None, time: Any, limit: float, confidence_level: float) -> Drift:
        """Return what has changed; `positive` is the mask of the positive rows, if their labels are known."""
        if not limit > 0:
            raise ValueError(f"limit must be above 0, got {limit!r}.")
        check_level(confidence_level)
        scores = np.concatenate(self.scores)
        slope, base_logit = self.last.calibration_.tolist()
        promised = getattr(self.last, "cv_auc_", np.nan)
        low, high = getattr(self.last, "cv_auc_ci_", (np.nan, np.nan))
        return Drift(
            len(scores),
            self._score_stability(scores, confidence_level),
            self._columns(confidence_level),
            training_base_rate(self.last),
            float(expit(slope * scores + base_logit).mean()),
            None if positive is None else interval(positive, scores, confidence_level),
            None if np.isnan(promised) else AUCInterval(float(promised), float(low), float(high), math.nan),
            [] if positive is None or time is None else by_month(positive, scores, time, confidence_level),
            float(limit),
        )

    def _score_stability(self, scores: np.ndarray, confidence_level: float) -> Stability | None:
        if not hasattr(self.last, "score_bins_"):
            return None
        ends, weights = self.last.score_bins_
        reference = Reference("score", "number", weights, 0.0, ends[:-1])
        return reference.compare(reference.tally(scores), confidence_level)

    def _columns(self, confidence_level: float) -> list[ColumnDrift]:
        dates = [] if self.reader is None else [each for each in self.reader.reading_.columns if each.kind == "date"]
        of_ages, found = {each.parts[0].name: each.name for each in dates}, []
        for j, reference in enumerate(self.references):
            column = self._column(j, confidence_level)
            if reference.name in of_ages:
                before = np.array([reference.expected.sum(), reference.missing])
                after = np.array([self.counts[j][:-1].sum(), self.counts[j][-1]])
                gaps = stability_of_counts([PRESENT, MISSING], before, after, confidence_level)
                name = f"{of_ages[reference.name]} ({MISSING})"
                found.append(column._replace(column=name, stability=gaps, n_outside=0, counts=True))
            found.append(column)
        return found

    def _column(self, j: int, confidence_level: float) -> ColumnDrift:
        reference, counts = self.references[j], self.counts[j]
        known = reference.cuts is None or len(reference.cuts) > 0 or not isinstance(self.reader, TableEncoder)
        n, m = max(reference.expected.sum() + reference.missing, 1e-300), counts.sum()
        levels = reference.levels if reference.cuts is None else []
        gone = ((reference.expected * (m / n) >= FEWEST) & (counts[:-2] == 0))[: len(levels)]
        return ColumnDrift(
            reference.name,
            reference.kind,
            reference.compare(counts, confidence_level) if known else None,
            float(reference.missing / n),
            float(counts[-1] / m),
            dict(self.new.get(reference.name, Counter()).most_common()),
            [level for level, is_gone in zip(levels, gone.tolist(), strict=True) if is_gone],
            self.outside[j],
            reference.kind != "date",
        )


def first_of(texts: Sequence[str], n: int = 5) -> str:
    """Return the first of some texts, and how many more there are."""
    return ", ".join(" ".join(text.split()) for text in texts[:n]) + (
        f" and {len(texts) - n:,} more" if len(texts) > n else ""
    )


def interval(positive: np.ndarray, scores: np.ndarray, confidence_level: float) -> AUCInterval | None:
    """Return the AUC with its interval; None with fewer than two rows of a class."""
    if min(np.count_nonzero(positive), np.count_nonzero(~positive)) < 2:
        return None
    return roc_auc_ci(positive, scores, confidence_level=confidence_level)


def by_month(positive: np.ndarray, scores: np.ndarray, time: Any, confidence_level: float) -> list[Period]:
    """Return the AUC of the rows of each month."""
    try:
        dates = np.asarray(column_or_1d(time))
        if dates.dtype.kind in "biufc":
            raise ValueError("numbers are not dates")
        months = dates.astype("M8[M]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"time must hold a date for each row: {error}.") from error
    check_consistent_length(months, scores)
    if np.isnat(months).any():
        raise ValueError("time has missing dates: leave these rows out.")
    found = []
    for month in np.unique(months):
        rows = months == month
        auc = interval(positive[rows], scores[rows], confidence_level)
        found.append(Period(str(month), int(rows.sum()), int(positive[rows].sum()), auc))
    return found
