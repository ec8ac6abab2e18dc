"""How well scores separate two classes: all measures of a report, from one sort of the rows.

Conventions
-----------
A row is called positive if ``score > threshold``. The rows are sorted by decreasing score; each distinct score gives a
point of the ROC curve, which runs from (0, 0), where nothing is called positive, to (1, 1). Rows of equal scores are
called positive together or not at all. With weights, every count is a sum of weights, and a binomial interval of rows
with the weights w is one of (sum w)^2 / sum w^2 rows (Kish).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri
from sklearn.utils import check_consistent_length, column_or_1d

from ..files.labels import label_text
from ..metrics import AUCInterval, _check_scores, roc_auc, roc_auc_ci
from ..rows.validate import MISSING, check_class_weights, check_weights, find_classes
from ..search.calibration import fit_line

N_STEPS = 250  # steps of the thinned curve, with up to two points each
AREA_TOLERANCE = 1e-4
N_RESAMPLES = 500
TENTHS = 10  # parts of the rows in tables of gains and of calibration
PERCENTS = (1, 5, 10)  # of false positives, and of the rows, that have a threshold of their own
CERTAIN = 1e-15  # probabilities are at least so far from 0 and 1 when their logarithms are taken
FEW = 10  # rows of each class from which a group has an AUC
BEST, OWN = "best balanced accuracy", "threshold of the model"
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


class Confusion(NamedTuple):
    """How many rows of each class are called positive at a threshold; with weights, how much weight they have.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are called positive.
    tn, fp : int
        Negative rows that are called negative, and that are called positive.
    fn, tp : int
        Positive rows that are called negative, and that are called positive.
    """

    threshold: float
    tn: Count
    fp: Count
    fn: Count
    tp: Count

    @property
    def called(self) -> Count:
        """Rows that are called positive."""
        return self.tp + self.fp

    @property
    def recall(self) -> float:
        """Share of the positives that are found: the true positive rate."""
        return self.tp / (self.tp + self.fn)

    @property
    def fpr(self) -> float:
        """Share of the negatives that are called positive: the false positive rate."""
        return self.fp / (self.tn + self.fp)

    @property
    def specificity(self) -> float:
        """Share of the negatives that are called negative: one minus the false positive rate."""
        return self.tn / (self.tn + self.fp)

    @property
    def precision(self) -> float:
        """Share of positives among the rows that are called positive; NaN if there are none."""
        return self.tp / self.called if self.called else math.nan

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity."""
        return (self.recall + self.specificity) / 2

    def cost(self, costs: tuple[float, float]) -> float:
        """Return the cost of the errors.

        Parameters
        ----------
        costs : (float, float)
            The costs of a false positive and of a false negative.

        Returns
        -------
        cost : float
            Their sum over the rows.
        """
        return costs[0] * self.fp + costs[1] * self.fn

    def to_dict(self) -> dict[str, Any]:
        """Return counts and rates for JSON, where NaN is None.

        Returns
        -------
        content : dict
            Numbers.
        """
        names = ("called", "balanced_accuracy", "precision", "recall", "specificity", "fpr")
        return as_json(self) | {name: as_json(getattr(self, name)) for name in names}


class RocCurve(NamedTuple):
    """Points of a ROC curve.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        False and true positive rates.
    low, high : ndarray of shape (n_points,)
        Confidence limits of the true positive rate at each false positive rate.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Tenth(NamedTuple):
    """A tenth of the rows, the highest scores first.

    Attributes
    ----------
    rows, positives : float
        A tenth of the rows, which need not be a whole number, and how many of them are positive. Of rows with equal
        scores that belong to two tenths, each has its share, positives as expected in random order.
    rate, lift : float
        The share of positives, and this divided by their share among all rows.
    gain, total_lift : float
        The share of all positives in this tenth and those before it, and the lift of all these.
    """

    rows: float
    positives: float
    rate: float
    lift: float
    gain: float
    total_lift: float


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
    brier : float
        The Brier score: the mean squared difference of the probability and the label, 0 or 1.
    slope, intercept : Estimate
        Of the logistic regression of the labels on the logit of the probabilities. They should be 1 and 0; a slope
        below 1 means that probabilities are too extreme. NaN where the rows have no such regression: if probabilities
        are all equal, or separate the classes. The intervals use the sandwich estimator.
    bins : list of CalibrationBin
        Ten bins of equally many rows; rows of equal probabilities are in one bin.
    """

    mean: float
    brier: float
    slope: Estimate
    intercept: Estimate
    bins: list[CalibrationBin]


class Evaluation(NamedTuple):
    """How well scores rank labelled rows.

    Attributes
    ----------
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    base_rate : float
        The share of the positives, by weight.
    auc : AUCInterval
        Area under the ROC curve with DeLong's interval.
    ks, ks_threshold : float
        The Kolmogorov-Smirnov statistic, which is the largest difference of the true and the false positive rate, and
        the threshold of this difference.
    partial_auc : float
        Area over the false positive rates up to `max_fpr`, standardised by McClish: 0.5 is chance, 1 is perfect.
    max_fpr : float
        The false positive rate where that area ends.
    average_precision : float
        Mean precision over the positives, as scikit-learn defines it; random scores have the share of the positives.
    thresholds : dict of Confusion
        What the scores would do at each threshold, by its rule. "false positive rate 5%" and "top 5%" call as many
        rows positive as they can without more than 5% of the negatives, or of the rows. There are several thresholds
        for the same rows: the one halfway to the next score is taken.
    gains : list of Tenth
        Gains and lift, by tenths of the rows.
    roc : RocCurve
        The curve, thinned, with its confidence band.
    calibration : Calibration or None
        Whether the probabilities are right, if there are any.
    costs : (float, float) or None
        Of a false positive and of a false negative.
    confidence_level : float
        The level of the intervals and of the band.
    """

    n_samples: int
    n_positive: int
    base_rate: float
    auc: AUCInterval
    ks: float
    ks_threshold: float
    partial_auc: float
    max_fpr: float
    average_precision: float
    thresholds: dict[str, Confusion]
    gains: list[Tenth]
    roc: RocCurve
    calibration: Calibration | None
    costs: tuple[float, float] | None
    confidence_level: float

    @property
    def gini(self) -> Estimate:
        """Gini coefficient, 2 AUC - 1, with its interval."""
        return Estimate(*(2 * value - 1 for value in self.auc[:3]))

    @property
    def best(self) -> Confusion:
        """At the threshold of best balanced accuracy on these rows; if there are several, at the highest."""
        return self.thresholds[BEST]

    @property
    def precision_recall(self) -> tuple[np.ndarray, np.ndarray]:
        """Recall and precision at the points of the curve where a row is called positive."""
        positive = self.roc.tpr[1:] * self.base_rate
        return self.roc.tpr[1:], positive / (positive + self.roc.fpr[1:] * (1 - self.base_rate))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the curve for JSON, where NaN is None.

        Returns
        -------
        content : dict
            Numbers, and dicts and lists of them.
        """
        rules = [{"rule": rule, **found.to_dict()} for rule, found in self.thresholds.items()]
        if self.costs is not None:
            for entry, found in zip(rules, self.thresholds.values(), strict=True):
                entry["cost"] = found.cost(self.costs)
        content = as_json(self._asdict()) | {"thresholds": rules, "gini": self.gini.value}
        auc = {"auc": self.auc.auc, **{f"auc_{name}": getattr(self.auc, name) for name in AUCInterval._fields[1:]}}
        del content["roc"]
        return content | auc


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    threshold: float | None = 0.0,
    costs: tuple[float, float] | None = None,
    pos_label: Any = None,
    max_fpr: float = 0.1,
    confidence_level: float = 0.95,
) -> Evaluation:
    """Evaluate scores of labelled rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes, with at least two rows of each.
    scores : array-like of shape (n_samples,)
        Scores of rows that were not used in training: higher means more likely positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Rows of weight 0 are left out.
    probabilities : array-like of shape (n_samples,), default=None
        Probabilities of the positive class, whose calibration is measured.
    threshold : float, default=0
        The model's own threshold: it calls rows with a higher score positive. None if there is none.
    costs : (float, float), default=None
        The costs of a false positive and of a false negative, for the threshold of lowest cost.
    pos_label : label, default=None
        The positive class; None for the larger label.
    max_fpr : float in (0, 1], default=0.1
        False positive rate up to which the partial area is taken.
    confidence_level : float in (0, 1), default=0.95
        The level of the intervals and of the band of the curve. The band holds at each false positive rate
        separately, not for the whole curve.

    Returns
    -------
    evaluation : Evaluation
        Areas, average precision, thresholds, gains, calibration and the curve.

    Notes
    -----
    The band is a stratified percentile bootstrap: both classes are drawn again 500 times, always with the same random
    numbers. What is drawn are counts on the pieces of the thinned curve, so that the cost does not grow with the rows.
    The band is nowhere narrower than Wilson's interval of the true positive rate.

    Examples
    --------
    >>> from aucmax.report.evaluation import evaluate
    >>> evaluation = evaluate([0, 0, 1, 0, 1, 1], [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> round(evaluation.auc.auc, 3), round(evaluation.gini.value, 3), round(evaluation.ks, 3)
    (0.889, 0.778, 0.667)
    >>> evaluation.best
    Confusion(threshold=0.75, tn=3, fp=0, fn=1, tp=2)
    >>> evaluation.thresholds["threshold of the model"].recall == evaluation.best.recall
    True
    """
    sample = _Sample.of(y, scores, sample_weight, probabilities, pos_label)
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number or None, got {threshold!r}.")
    costs = None if costs is None else _check_costs(costs)
    sample = sample.take(sample.used())
    sample = sample.take(np.argsort(sample.scores))  # all measures are fastest on sorted rows
    positive, values, weights, _ = sample
    cuts = _Cuts.of(positive[::-1], values[::-1], None if weights is None else weights[::-1])
    ks = cuts.largest(np.abs(cuts.tp * cuts.fp[-1] - cuts.fp * cuts.tp[-1]))
    return Evaluation(
        n_samples=len(values),
        n_positive=int(np.count_nonzero(positive)),
        base_rate=float(cuts.tp[-1] / (cuts.tp[-1] + cuts.fp[-1])),
        auc=roc_auc_ci(positive, values, weights, confidence_level=confidence_level),
        ks=abs(ks.recall - ks.fpr),
        ks_threshold=ks.threshold,
        partial_auc=float(roc_auc(positive, values, weights, max_fpr=max_fpr)),
        max_fpr=max_fpr,
        average_precision=cuts.average_precision(),
        thresholds=cuts.thresholds(threshold, costs),
        gains=cuts.gains(),
        roc=_with_band(*_thin(cuts.fp, cuts.tp), _class_sizes(sample), confidence_level),
        calibration=_calibration(sample, confidence_level),
        costs=costs,
        confidence_level=confidence_level,
    )


class GroupEvaluation(NamedTuple):
    """How well scores do on the rows of one group.

    Attributes
    ----------
    group : str
        The value of the group; "missing" for rows without one.
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    auc : AUCInterval or None
        With DeLong's interval; None for a group with fewer than ten rows of a class.
    note : str
        Why there is no AUC.
    base_rate, called : Estimate
        The shares of rows that are positive, and that are called positive.
    recall, fpr, precision : Estimate
        The rates at the threshold, with Wilson's intervals.
    calibration : Calibration or None
        Whether the probabilities are right, if there are any.
    """

    group: str
    n_samples: int
    n_positive: int
    auc: AUCInterval | None
    note: str
    base_rate: Estimate
    called: Estimate
    recall: Estimate
    fpr: Estimate
    precision: Estimate
    calibration: Calibration | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON, where NaN is None.

        Returns
        -------
        content : dict
            Numbers, texts, and dicts and lists of them.
        """
        return dict(as_json(self))


def evaluate_by(
    groups: ArrayLike,
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    threshold: float = 0.0,
    pos_label: Any = None,
    confidence_level: float = 0.95,
) -> list[GroupEvaluation]:
    """Evaluate scores in each group of rows: AUC, rates at the model's threshold, and calibration, with intervals.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        The group of each row.
    y : array-like of shape (n_samples,)
        Labels of two classes.
    scores : array-like of shape (n_samples,)
        Scores of rows that were not used in training: higher means more likely positive.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Rows of weight 0 are left out.
    probabilities : array-like of shape (n_samples,), default=None
        Probabilities of the positive class, whose calibration is measured.
    threshold : float, default=0
        Rows with a higher score are called positive.
    pos_label : label, default=None
        The positive class; None for the larger label.
    confidence_level : float in (0, 1), default=0.95
        The level of the intervals.

    Returns
    -------
    evaluations : list of GroupEvaluation
        One for each group, numbers in their order, then text in its order, then rows without a group.

    Examples
    --------
    >>> from aucmax.report.evaluation import evaluate_by
    >>> for found in evaluate_by(["a", "b", "a", "b"], [0, 0, 1, 1], [-1.0, 0.5, 2.0, 1.0]):
    ...     print(found.group, found.recall.value, found.fpr.value, found.note)
    a 1.0 0.0 no AUC: 1 positive and 1 negative, and 10 of each are needed
    b 1.0 1.0 no AUC: 1 positive and 1 negative, and 10 of each are needed
    """
    sample = _Sample.of(y, scores, sample_weight, probabilities, pos_label)
    labels: np.ndarray = column_or_1d(np.asarray(groups))
    check_consistent_length(labels, sample.scores)
    used = sample.used()
    sample, (codes, names) = sample.take(used), _find_groups(labels[used])
    return [_evaluate_group(name, sample.take(codes == k), threshold, confidence_level) for k, name in enumerate(names)]


def _find_groups(labels: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the number of the group of each row, and the names of the groups in their order."""
    texts, order = [], {}
    for label in labels.tolist():
        gap = not isinstance(label, str) and str(label) in MISSING
        if isinstance(label, float) and label.is_integer():
            label = int(label)  # a column of whole numbers with gaps is a column of floats
        texts.append("missing" if gap else label_text(label))
        number = isinstance(label, int | float) and not gap
        order[texts[-1]] = (gap, not number, label if number else 0, texts[-1])
    names = sorted(order, key=lambda text: order[text])
    place = {name: k for k, name in enumerate(names)}
    return np.array([place[text] for text in texts]), names


def _evaluate_group(name: str, sample: _Sample, threshold: float, level: float) -> GroupEvaluation:
    positive, scores, weights, _ = sample
    n_positive, n_negative = int(np.count_nonzero(positive)), int(np.count_nonzero(~positive))
    enough, mass, called = min(n_positive, n_negative) >= FEW, sample.mass(), scores > threshold

    def share(which: np.ndarray, among: np.ndarray) -> Estimate:
        return _rate(mass[among], which[among], level)

    everyone = np.ones(len(scores), dtype=bool)
    return GroupEvaluation(
        name,
        len(scores),
        n_positive,
        roc_auc_ci(positive, scores, weights, confidence_level=level) if enough else None,
        "" if enough else f"no AUC: {n_positive} positive and {n_negative} negative, and {FEW} of each are needed",
        base_rate=share(positive, everyone),
        called=share(called, everyone),
        recall=share(called, positive),
        fpr=share(called, ~positive),
        precision=share(positive, called),
        calibration=_calibration(sample, level),
    )


def as_json(value: Any) -> Any:
    """Return a value for JSON: records as dicts, arrays as lists, and None for a number that is not finite."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Sample(NamedTuple):
    """Rows that were checked."""

    positive: np.ndarray
    scores: np.ndarray
    weights: np.ndarray | None
    probabilities: np.ndarray | None

    @classmethod
    def of(cls, y: Any, scores: Any, sample_weight: Any, probabilities: Any, pos_label: Any) -> _Sample:
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
        return cls(positive, values, weights, probabilities)

    def used(self) -> np.ndarray:
        """Return which rows have weight."""
        return self.mass() > 0

    def mass(self) -> np.ndarray:
        """Return the weights, 1 for each row without them."""
        return np.ones(len(self.scores)) if self.weights is None else self.weights

    def take(self, rows: np.ndarray) -> _Sample:
        """Return some rows."""
        weights, probabilities = (None if each is None else each[rows] for each in self[2:])
        return _Sample(self.positive[rows], self.scores[rows], weights, probabilities)


def _check_costs(costs: Any) -> tuple[float, float]:
    values = np.asarray(costs, dtype=np.float64)
    if values.shape != (2,) or not (np.isfinite(values).all() and values.min() >= 0 < values.max()):
        raise ValueError(
            "costs must be two numbers, of a false positive and of a false negative: none below 0 and not both 0, "
            f"got {costs!r}."
        )
    return float(values[0]), float(values[1])


class _Cuts(NamedTuple):
    """The distinct scores in decreasing order, and how many rows of each class are above every cut between them.

    Cut c calls the rows with the c highest of these scores positive, so there is one more cut than scores.
    """

    scores: np.ndarray
    fp: np.ndarray
    tp: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None) -> _Cuts:
        """Return the cuts of rows in decreasing order of their scores."""
        last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
        above = [np.cumsum(each if weights is None else weights * each)[last] for each in (~positive, positive)]
        fp, tp = (np.append(np.zeros(1, each.dtype), each) for each in above)
        return cls(scores[last], fp, tp)

    def confusion(self, threshold: float, cut: int) -> Confusion:
        fp, tp = self.fp[cut], self.tp[cut]
        return Confusion(threshold, *(each.item() for each in (self.fp[-1] - fp, fp, self.tp[-1] - tp, tp)))

    def at(self, cut: int) -> Confusion:
        """Return the counts at a cut, with a threshold halfway between the scores on both sides of it."""
        if cut == 0:
            return self.confusion(float(self.scores[0]), cut)
        above = self.scores[cut - 1].item()
        if cut == len(self.scores):
            return self.confusion(math.nextafter(above, -math.inf), cut)
        below = self.scores[cut].item()
        middle = (above + below) / 2
        return self.confusion(middle if below <= middle < above else below, cut)

    def largest(self, measure: np.ndarray) -> Confusion:
        """Return the counts at the cut where a measure is largest; if there are several, at the highest threshold."""
        return self.at(int(np.argmax(measure)))

    def most(self, counts: np.ndarray, percent: int) -> Confusion:
        """Return the counts at the last cut with at most so many percent of these counts."""
        limit = percent * counts[-1] * (1 + 1e-12)  # a sum of weights may be off by rounding
        return self.at(int(np.searchsorted(100 * counts, limit, "right")) - 1)

    def thresholds(self, own: float | None, costs: tuple[float, float] | None) -> dict[str, Confusion]:
        found = {f"false positive rate {percent}%": self.most(self.fp, percent) for percent in PERCENTS}
        found |= {f"top {percent}%": self.most(self.fp + self.tp, percent) for percent in PERCENTS}
        # In integers without weights, so that ties are exact.
        found[BEST] = self.largest(self.tp * self.fp[-1] - self.fp * self.tp[-1])
        if costs is not None:
            cost = costs[0] * self.fp + costs[1] * (self.tp[-1] - self.tp)
            found[f"lowest cost, {costs[0]:g} : {costs[1]:g}"] = self.largest(-cost)
        if own is not None:
            found[OWN] = self.confusion(float(own), int(np.count_nonzero(self.scores > own)))
        return found

    def average_precision(self) -> float:
        tp, called = self.tp[1:], self.tp[1:] + self.fp[1:]
        return float(np.diff(self.tp) @ (tp / called) / tp[-1])

    def gains(self) -> list[Tenth]:
        called = self.fp + self.tp
        n_rows, n_positive = float(called[-1]), float(self.tp[-1])
        ends = n_rows * np.arange(TENTHS + 1) / TENTHS
        within = np.interp(ends, called, self.tp)
        base, size = n_positive / n_rows, n_rows / TENTHS
        found = []
        for positives, total, end in zip(np.diff(within).tolist(), within[1:].tolist(), ends[1:].tolist(), strict=True):
            rate = positives / size
            found.append(Tenth(size, positives, rate, rate / base, total / n_positive, total / end / base))
        return found


def _calibration(sample: _Sample, level: float) -> Calibration | None:
    """Return whether the probabilities of rows are right; None without probabilities."""
    positive, _, _, probabilities = sample
    if probabilities is None:
        return None
    mass = sample.mass()
    return Calibration(
        float(np.average(probabilities, weights=mass)),
        float(np.average((probabilities - positive) ** 2, weights=mass)),
        *_calibration_line(positive, probabilities, mass, level),
        _calibration_bins(positive, probabilities, mass, level),
    )


def _calibration_line(
    positive: np.ndarray, probabilities: np.ndarray, mass: np.ndarray, level: float
) -> tuple[Estimate, Estimate]:
    """Return slope and intercept of the logistic regression on the logits, with intervals of the sandwich estimator.

    There are none if a value parts the logits of the two classes, or if all are equal.
    """
    x = logit(np.clip(probabilities, CERTAIN, 1 - CERTAIN))
    zeros, ones = x[~positive], x[positive]
    if not (len(zeros) and len(ones) and zeros.max() > ones.min() and ones.max() > zeros.min()):
        return NO_ESTIMATE, NO_ESTIMATE
    line = np.array(fit_line(x, mass * ~positive, mass * positive))
    Z = np.column_stack([x, np.ones(len(x))])
    fitted = expit(Z @ line)
    bread = np.linalg.inv((Z.T * (mass * fitted * (1 - fitted))) @ Z)
    variance = np.diag(bread @ (Z.T * (mass * (positive - fitted)) ** 2) @ Z @ bread)
    reach = ndtri((1 + level) / 2) * np.sqrt(variance)
    slope, intercept = (Estimate(*map(float, each)) for each in zip(line, line - reach, line + reach, strict=True))
    return slope, intercept


def _calibration_bins(
    positive: np.ndarray, probabilities: np.ndarray, mass: np.ndarray, level: float
) -> list[CalibrationBin]:
    """Return bins of about equally many rows: equal probabilities go where the middle of their rows does."""
    _, same = np.unique(probabilities, return_inverse=True)
    weight = np.bincount(same, mass)
    bins = (TENTHS * (np.cumsum(weight) - weight / 2) / weight.sum()).astype(np.intp)[same]
    found = []
    for rows in (bins == k for k in np.unique(bins)):
        mean = np.average(probabilities[rows], weights=mass[rows])
        found.append(CalibrationBin(float(mass[rows].sum()), float(mean), _rate(mass[rows], positive[rows], level)))
    return found


def _thin(fp: np.ndarray, tp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return about 500 points of a ROC curve, whose area differs by at most 1e-4 from the whole curve's.

    The way from (0, 0) to (1, 1) along the axes has length 2. It is cut into N equal steps, and the first and the last
    point of each are kept. A step loses an area of at most 1/2 (1/N)^2, all steps together at most 1 / (2 N). If this
    is too much, N is doubled: until 8,000 at most, and for Gaussian scores seldom.
    """
    fpr, tpr = fp / fp[-1], tp / tp[-1]
    area, n_steps, kept = np.trapezoid(tpr, fpr), N_STEPS, np.arange(0)
    while not len(kept) or abs(np.trapezoid(tpr[kept], fpr[kept]) - area) > AREA_TOLERANCE:
        first = np.searchsorted(fpr + tpr, np.linspace(0, 2, n_steps + 1)[:-1])
        kept = np.unique(np.concatenate([first, first[1:] - 1, [len(fpr) - 1]]))
        n_steps *= 2
    return fp[kept], tp[kept]


def _with_band(fp: np.ndarray, tp: np.ndarray, sizes: tuple[float, float], confidence_level: float) -> RocCurve:
    """Return the curve with the quantiles of its resampled true positive rates at each of its false positive rates.

    If all positives are found, or none, all resamples agree and the band would have no width. It is therefore made at
    least as wide as Wilson's interval of the true positive rate: without it, the band of 40 positives missed a true
    rate of 0.98 one time in four. The sizes are of the negatives and the positives.
    """
    fpr, tpr = fp / fp[-1], tp / tp[-1]
    rng = np.random.default_rng(0)
    counts = zip((fp, tp), map(round, sizes), strict=True)
    drawn = [np.cumsum(rng.multinomial(size, np.diff(n) / n[-1], N_RESAMPLES), axis=1) / size for n, size in counts]
    resampled = [np.interp(fpr, np.append(0, x), np.append(0, y)) for x, y in zip(*drawn, strict=True)]
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    least, most = _wilson(tpr, sizes[1], confidence_level)
    return RocCurve(fpr, tpr, np.minimum(low, least), np.maximum(high, most))


def _class_sizes(sample: _Sample) -> tuple[float, float]:
    """Return how many rows of equal weight tell as much as the negatives, and as the positives."""
    mass = sample.mass()
    return _size(mass[~sample.positive]), _size(mass[sample.positive])


def _size(weights: np.ndarray) -> float:
    return float(weights.sum() ** 2 / (weights @ weights))


def _rate(weights: np.ndarray, positive: np.ndarray, confidence_level: float) -> Estimate:
    """Return the share of the positives with Wilson's interval; NaN if there are no rows."""
    if not len(weights):
        return NO_ESTIMATE
    share = np.average(positive, weights=weights)
    return Estimate(*map(float, (share, *_wilson(share, _size(weights), confidence_level))))


def _wilson(share: np.ndarray, n: float, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval of a binomial share of n rows, which contains it."""
    z2 = ndtri((1 + confidence_level) / 2) ** 2 / n
    center, reach = share + z2 / 2, np.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return np.clip((center - reach) / (1 + z2), 0, share), np.clip((center + reach) / (1 + z2), share, 1)
