"""The rows that come in, counted block by block, and compared with the training rows of a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._base import LinearAUCClassifier
from ..metrics import AUCInterval, roc_auc_ci
from ..report.rates import kish_size
from ..rows.validate import check_labels, check_weights
from ..search.calibration import training_base_rate
from ..tables.encoder import TableEncoder, TableReader
from ..tables.reading.table import Levels, Tally, check_columns, check_faults
from .drift import ColumnDrift, Drift, Period
from .reference import FEWEST, MISSING, Reference, references_of
from .stability import check_level, stability_of_counts


def monitor(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    time: Any = None,
    limit: float = 0.25,
    confidence_level: float = 0.95,
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
    sample_weight : array-like of shape (n_samples,), default=None
        The weights of the new rows; only their ratios count. The training rows count with the weights of the fit.
    time : array-like of shape (n_samples,), default=None
        The date of each row, for the AUC by month; rows without a date are a period of their own.
    limit : float, default=0.25
        A stability index that is more by this than it is by chance is drift if its interval is above 0.1 too. So is a
        share of rows with new levels that is more than expected by a fifth of it (0.05) in its whole interval. Of
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
    watch, positive = Watch(model), None
    watch.add_table(X, check_weights(sample_weight, X))
    if y is not None:
        labels = column_or_1d(y, warn=True)
        check_labels(labels, watch.classes)
        positive = labels == watch.classes[1]
    return watch.drift(positive, time, limit, confidence_level)


class Watch:
    """Counts what comes in, block by block, and says what has changed."""

    def __init__(self, model: Any) -> None:
        first, last = (model[0], model[-1]) if isinstance(model, Pipeline) else (model, model)
        if not isinstance(last, LinearAUCClassifier):
            raise TypeError(f"monitor takes a fitted classifier of aucmax, not a {type(last).__name__}.")
        check_is_fitted(last, "coef_")
        self.reader = first if isinstance(first, TableReader) else None
        self.model, self.last, self.classes = model, last, last.classes_
        self.references = [] if self.reader is None else references_of(self.reader)
        self.of_score = None
        if hasattr(last, "score_bins_"):
            ends, expected = last.score_bins_
            # The weights of the training rows may have another sum than the rows.
            n_rows = expected.sum() if self.reader is None else self.reader.reading_.n_rows
            self.of_score = Reference("score", "number", expected * (n_rows / expected.sum()), 0.0, ends[:-1])
        self.counts = [np.zeros(len(each.expected) + 2) for each in self.references]
        self.outside = [0] * len(self.references)
        self.new: dict[str, Counter[str]] = {}
        self.scores: list[np.ndarray] = []
        self.weights: list[np.ndarray] = []

    def add_table(self, X: Any, weight: np.ndarray | None = None) -> None:
        """Add rows as the model takes them."""
        if self.reader is None:
            self.add(X, weight=weight)
            return
        table = self.reader._table(X, reset=False)
        check_columns(self.reader.reading_, table.column_names)
        codes, tallies = self.reader.reading_.codes(table)
        check_faults(tallies)
        self.add(codes, tallies, weight)

    def add(self, X: Any, tallies: Sequence[Tally] = (), weight: np.ndarray | None = None) -> None:
        """Add rows: the codes of all levels, or the features of a classifier without a table."""
        for j, reference in enumerate(self.references):
            x = np.asarray(X)[:, j]
            self.counts[j] += reference.tally(x, weight)
            self.outside[j] += int(np.count_nonzero((x < reference.low) | (x > reference.high)))
        for tally in tallies:
            self.new.setdefault(tally.column.name, Counter()).update(tally.new)
        self.scores.append(self._score(X))
        self.weights += [] if weight is None else [weight]

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
        scores, of_score = np.concatenate(self.scores), None
        weight = np.concatenate(self.weights) if self.weights else None
        # Weighted rows say as much as fewer rows of the same weight.
        unit = 1.0 if weight is None else kish_size(weight) / float(weight.sum())
        slope, base_logit = self.last.calibration_.tolist()
        promised = getattr(self.last, "cv_auc_", np.nan)
        low, high = getattr(self.last, "cv_auc_ci_", (np.nan, np.nan))
        if self.of_score is not None:
            of_score = self.of_score.compare(unit * self.of_score.tally(scores, weight), confidence_level)
        return Drift(
            len(scores),
            of_score,
            list(self._columns([unit * each for each in self.counts], confidence_level)),
            training_base_rate(self.last),
            float(np.average(expit(slope * scores + base_logit), weights=weight)),
            None if positive is None else interval(positive, scores, weight, confidence_level),
            None if np.isnan(promised) else AUCInterval(float(promised), float(low), float(high), math.nan),
            [] if positive is None or time is None else by_month(positive, scores, weight, time, confidence_level),
            float(limit),
            hasattr(self.last, "cv_auc_"),
        )

    def _columns(self, counts: Sequence[np.ndarray], confidence_level: float) -> Iterator[ColumnDrift]:
        dates = [] if self.reader is None else [each for each in self.reader.reading_.columns if each.kind == "date"]
        of_ages = {each.parts[0].name: each.name for each in dates}
        for each, n_outside, actual in zip(self.references, self.outside, counts, strict=True):
            known = each.cuts is None or len(each.cuts) > 0 or not isinstance(self.reader, TableEncoder)
            m, levels = actual.sum(), each.levels if each.cuts is None else []
            expected = each.expected * (m / each.n_rows)
            column = ColumnDrift(
                each.name,
                each.kind,
                each.compare(actual, confidence_level) if known else None,
                float(each.missing / each.n_rows),
                float(actual[-1] / m),
                dict(self.new.get(each.name, Counter()).most_common()),
                [level for k, level in enumerate(levels) if expected[k] >= FEWEST and actual[k] == 0],
                n_outside,
                each.kind != "date",
                *each.new_levels(actual, confidence_level),
            )
            if each.name in of_ages:
                before = np.array([each.expected.sum(), each.missing])
                after = np.array([actual[:-1].sum(), actual[-1]])
                gaps = stability_of_counts(["present", MISSING], before, after, confidence_level)
                name = f"{of_ages[each.name]} ({MISSING})"
                yield column._replace(column=name, stability=gaps, n_outside=0, counts=True)
            yield column


def interval(
    positive: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, confidence_level: float
) -> AUCInterval | None:
    """Return the AUC with its interval; None with fewer than two rows of a class."""
    used = np.ones(len(scores), dtype=bool) if weight is None else weight > 0
    if min(np.count_nonzero(positive & used), np.count_nonzero(~positive & used)) < 2:
        return None
    return roc_auc_ci(positive, scores, weight, confidence_level=confidence_level)


def by_month(
    positive: np.ndarray, scores: np.ndarray, weight: np.ndarray | None, time: Any, confidence_level: float
) -> list[Period]:
    """Return the AUC of the rows of each month, and of those without a date."""
    try:
        dates = np.asarray(column_or_1d(time))
        if dates.dtype.kind in "biufc":
            raise ValueError("numbers are not dates")
        months = dates.astype("M8[M]")
    except (TypeError, ValueError) as error:
        raise ValueError(f"time must hold a date for each row: {error}.") from error
    check_consistent_length(months, scores)
    found, (each_month, places) = [], np.unique(months, return_inverse=True)
    for k, month in enumerate(each_month):
        rows = places == k
        auc = interval(positive[rows], scores[rows], None if weight is None else weight[rows], confidence_level)
        name = "no date" if np.isnat(month) else str(month)
        found.append(Period(name, int(rows.sum()), int(positive[rows].sum()), auc))
    return found
