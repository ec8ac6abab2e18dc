"""How well scores separate two classes: all measures of a report, from one sort of the rows.

Conventions
-----------
A row is called positive if ``score > threshold``. The rows are sorted by score; each distinct score gives a point of
the ROC curve, which runs from (0, 0), where nothing is called positive, to (1, 1). Rows of equal scores are called
positive together or not at all. With weights, every count is a sum of weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.utils import check_consistent_length, column_or_1d

from ..files.labels import label_text
from ..metrics import AUCInterval, auc_influences, roc_auc, roc_auc_ci
from ..rows.validate import MISSING
from .rates import (
    CERTAIN,
    TENTHS,
    Calibration,
    Count,
    Estimate,
    Sample,
    effective_size,
    estimate,
    kish_size,
    measure_calibration,
    measure_rate,
    wilson_interval,
)

N_STEPS = 250  # steps of the thinned curve, with up to two points each
AREA_TOLERANCE = 1e-4
N_RESAMPLES = 500
PERCENTS = (1, 5, 10)  # of false positives, and of the rows, that have a threshold of their own
ROUNDING = 1e-9  # that probabilities may fall from one score to the next
FEW = 10  # rows of each class from which a group has an AUC
Costs = tuple[float, float]
BEST, OWN = "best balanced accuracy", "threshold in use"


class Confusion(NamedTuple):
    """What happens at a threshold: counts of rows, or sums of their weights, and rates with their intervals.

    Attributes
    ----------
    threshold : float
        Rows with a higher score are called positive.
    tn, fp : int
        Negative rows that are called negative, and that are called positive.
    fn, tp : int
        Positive rows that are called negative, and that are called positive.
    probability : float
        The probability at the threshold, between its neighbours; NaN beyond the rows, without probabilities, or if they
        do not rise with the scores.
    called_share : Estimate
        Share of the rows that are called positive.
    precision : Estimate
        Share of positives among the rows that are called positive.
    recall, fpr : Estimate
        Share of the positives, and of the negatives, that are called positive: true and false positive rate.
    specificity : Estimate
        Share of the negatives that are called negative.
    balanced_accuracy : Estimate
        Mean of recall and specificity. Its interval joins theirs, as if they were independent (Newcombe).
    cost : float
        The cost of the errors; NaN without costs.
    """

    threshold: float
    tn: Count
    fp: Count
    fn: Count
    tp: Count
    probability: float
    called_share: Estimate
    precision: Estimate
    recall: Estimate
    fpr: Estimate
    specificity: Estimate
    balanced_accuracy: Estimate
    cost: float

    @property
    def called(self) -> Count:
        """Rows that are called positive."""
        return self.tp + self.fp


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


class GroupEvaluation(NamedTuple):
    """How well scores do on the rows of one group.

    Attributes
    ----------
    group : str
        The value of the group; "missing" for rows without one.
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    auc : AUCInterval or None
        With its interval; None for a group with fewer than ten rows of a class.
    note : str
        Why there is no AUC.
    base_rate : Estimate
        The share of the positives.
    at : Confusion or None
        What happens at the threshold in use, if there is one.
    calibration : Calibration or None
        Whether the probabilities are right, if there are any.
    """

    group: str
    n_samples: int
    n_positive: int
    auc: AUCInterval | None
    note: str
    base_rate: Estimate
    at: Confusion | None
    calibration: Calibration | None


class Evaluation(NamedTuple):
    """How well scores rank labelled rows.

    Attributes
    ----------
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    base_rate : float
        The share of the positives, by weight.
    n_groups : int or None
        Number of groups of dependent rows, if there are any.
    auc : AUCInterval
        Area under the ROC curve with DeLong's interval, or Obuchowski's if there are groups.
    ks : Estimate
        The Kolmogorov-Smirnov statistic: the largest difference of the true and the false positive rate. Its interval
        is for a threshold that stays fixed, as if the two rates were independent (Newcombe).
    ks_threshold : float
        The threshold of this difference.
    partial_auc : float
        Area over the false positive rates up to `max_fpr`, standardised by McClish: 0.5 is chance, 1 is perfect.
    max_fpr : float
        The false positive rate where that area ends.
    average_precision : Estimate
        Mean precision over the positives, as scikit-learn defines it; random scores have the share of the positives.
        Its interval is from the influence of each row.
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
    by : list of GroupEvaluation
        The same for parts of the rows, numbers in their order, then text in its order, then rows without a value.
    costs : (float, float) or None
        Of a false positive and of a false negative.
    confidence_level : float
        The level of the intervals and of the band.
    """

    n_samples: int
    n_positive: int
    base_rate: float
    n_groups: int | None
    auc: AUCInterval
    ks: Estimate
    ks_threshold: float
    partial_auc: float
    max_fpr: float
    average_precision: Estimate
    thresholds: dict[str, Confusion]
    gains: list[Tenth]
    roc: RocCurve
    calibration: Calibration | None
    by: list[GroupEvaluation]
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

        def counts(at: Confusion) -> dict[str, Any]:
            content = {"called": at.called, **at._asdict()}
            return content if self.costs else {key: value for key, value in content.items() if key != "cost"}

        rules = [{"rule": rule, **counts(at)} for rule, at in self.thresholds.items()]
        by = [group._asdict() | ({} if group.at is None else counts(group.at)) for group in self.by]
        for group in by:
            del group["at"]
        auc = {"auc": self.auc.auc, **{f"auc_{name}": getattr(self.auc, name) for name in AUCInterval._fields[1:]}}
        content = self._asdict() | auc | {"gini": self.gini, "thresholds": rules, "by": by}
        del content["roc"]
        return dict(as_json(content))


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    by: ArrayLike | None = None,
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
    groups : array-like of shape (n_samples,), default=None
        Groups of rows that depend on each other, such as the rows of one patient, for the intervals of the AUC, the
        rates and the calibration. By default, all rows are independent.
    by : array-like of shape (n_samples,), default=None
        A column, such as the sex: AUC, rates and calibration are also measured for each of its values.
    threshold : float, default=0
        The threshold in use: rows with a higher score are called positive. None if there is none.
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
    The band is nowhere narrower than Wilson's interval of the true positive rate. With groups, it is drawn of as many
    rows of each class as tell as much about the AUC.

    Examples
    --------
    >>> from aucmax.report.evaluation import evaluate
    >>> evaluation = evaluate([0, 0, 1, 0, 1, 1], [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> round(evaluation.auc.auc, 3), round(evaluation.gini.value, 3), round(evaluation.ks.value, 3)
    (0.889, 0.778, 0.667)
    >>> evaluation.best.threshold, evaluation.best.tp, evaluation.best.recall.value
    (0.75, 2, 0.6666666666666666)
    >>> evaluation.thresholds["threshold in use"].recall == evaluation.best.recall
    True

    The columns of `by` are evaluated apart:

    >>> for part in evaluate([0, 0, 1, 1], [-1.0, 0.5, 2.0, 1.0], by=["a", "b", "a", "b"]).by:
    ...     print(part.group, part.at.recall.value, part.at.fpr.value, part.note)
    a 1.0 0.0 no AUC: 1 positive and 1 negative, and 10 of each are needed
    b 1.0 1.0 no AUC: 1 positive and 1 negative, and 10 of each are needed
    """
    sample = Sample.of(y, scores, sample_weight, probabilities, groups, pos_label)
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number or None, got {threshold!r}.")
    costs = None if costs is None else _check_costs(costs)
    parts: np.ndarray = np.zeros(len(sample.scores)) if by is None else column_or_1d(np.asarray(by))
    check_consistent_length(parts, sample.scores)
    used = np.flatnonzero(sample.mass() > 0)
    order = used[np.argsort(sample.scores[used])]  # all measures are fastest on sorted rows
    sample, parts = sample.take(order), parts[order]
    positive, values, weights, _, codes = sample
    cuts = _Cuts.of(sample)
    auc = roc_auc_ci(positive, values, weights, groups=codes, confidence_level=confidence_level)
    ks_threshold = cuts.threshold(int(np.argmax(np.abs(cuts.tp * cuts.fp[-1] - cuts.fp * cuts.tp[-1]))))
    # The difference of the two rates is twice the balanced accuracy, less 1.
    ks = 2 * np.array(_count(sample, ks_threshold, math.nan, None, confidence_level).balanced_accuracy) - 1
    rules = cuts.find_thresholds(threshold, costs)
    probability = dict(zip(rules, _probabilities_at(sample, [*rules.values()]), strict=True))
    names: list[str] = []
    if by is not None:
        parts, names = _find_groups(parts)
    own = threshold, probability.get(OWN, math.nan), costs, confidence_level
    return Evaluation(
        n_samples=len(values),
        n_positive=int(np.count_nonzero(positive)),
        base_rate=float(cuts.tp[-1] / (cuts.tp[-1] + cuts.fp[-1])),
        n_groups=None if codes is None else len(np.unique(codes)),
        auc=auc,
        ks=Estimate(*(ks if ks[0] >= 0 else -ks[[0, 2, 1]]).tolist()),
        ks_threshold=ks_threshold,
        partial_auc=float(roc_auc(positive, values, weights, max_fpr=max_fpr)),
        max_fpr=max_fpr,
        average_precision=cuts.average_precision(sample, confidence_level),
        thresholds={rule: _count(sample, at, probability[rule], costs, confidence_level) for rule, at in rules.items()},
        gains=cuts.gains(),
        roc=_with_band(*_thin(cuts.fp, cuts.tp), _class_sizes(sample), confidence_level),
        calibration=measure_calibration(sample, confidence_level),
        by=[_evaluate_group(name, sample.take(parts == k), *own) for k, name in enumerate(names)],
        costs=costs,
        confidence_level=confidence_level,
    )


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


def _evaluate_group(
    name: str, sample: Sample, threshold: float | None, probability: float, costs: Costs | None, level: float
) -> GroupEvaluation:
    positive, scores, weights, _, groups = sample
    # The interval of the AUC is made of rows, or of groups of rows.
    codes = np.arange(len(scores)) if groups is None else groups
    n_positive, n_negative = (len(np.unique(codes[side])) for side in (positive, ~positive))
    note = f"no AUC: {n_positive} positive and {n_negative} negative, and {FEW} of each are needed"
    enough = min(n_positive, n_negative) >= FEW
    return GroupEvaluation(
        name,
        len(scores),
        int(np.count_nonzero(positive)),
        roc_auc_ci(positive, scores, weights, groups=groups, confidence_level=level) if enough else None,
        "" if enough else note if groups is None else note.replace("negative", "negative groups of rows"),
        base_rate=measure_rate(sample, positive, None, level),
        at=None if threshold is None else _count(sample, threshold, probability, costs, level),
        calibration=measure_calibration(sample, level),
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


def _check_costs(costs: Any) -> Costs:
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
    def of(cls, sample: Sample) -> _Cuts:
        """Return the cuts of rows in increasing order of their scores."""
        positive, scores = sample.positive[::-1], sample.scores[::-1]
        weights = 1 if sample.weights is None else sample.weights[::-1]
        last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
        fp, tp = (np.append(0, np.cumsum(weights * each)[last]) for each in (~positive, positive))
        return cls(scores[last], fp, tp)

    def threshold(self, cut: int) -> float:
        """Return the threshold of a cut, halfway between the scores on both sides of it."""
        if cut == 0:
            return float(self.scores[0])
        above = self.scores[cut - 1].item()
        if cut == len(self.scores):
            return math.nextafter(above, -math.inf)
        below = self.scores[cut].item()
        middle = (above + below) / 2
        return middle if below <= middle < above else below

    def find_thresholds(self, own: float | None, costs: Costs | None) -> dict[str, float]:
        """Return the threshold of each rule; of several that are as good, the highest."""

        def within(counts: np.ndarray, percent: int) -> int:  # the last cut with at most so many percent of them
            limit = percent * counts[-1] * (1 + 1e-12)  # a sum of weights may be off by rounding
            return int(np.searchsorted(100 * counts, limit, "right")) - 1

        found = {f"false positive rate {percent}%": within(self.fp, percent) for percent in PERCENTS}
        found |= {f"top {percent}%": within(self.fp + self.tp, percent) for percent in PERCENTS}
        # In integers without weights, so that ties are exact.
        found[BEST] = int(np.argmax(self.tp * self.fp[-1] - self.fp * self.tp[-1]))
        if costs is not None:
            cost = costs[0] * self.fp + costs[1] * (self.tp[-1] - self.tp)
            found[f"lowest cost, {costs[0]:g} : {costs[1]:g}"] = int(np.argmin(cost))
        thresholds = {rule: self.threshold(cut) for rule, cut in found.items()}
        return thresholds if own is None else thresholds | {OWN: float(own)}

    def average_precision(self, sample: Sample, level: float) -> Estimate:
        """Return the mean of tp / called: a row of a higher score adds 1 to `called`, and to `tp` if it is positive."""
        found, called = np.diff(self.tp), self.tp[1:] + self.fp[1:]
        precision = self.tp[1:] / called
        value = float(found @ precision / self.tp[-1])
        raised, lowered = (np.cumsum(each[::-1])[::-1] for each in (found / called, found * precision / called))
        at = len(found) - 1 - np.searchsorted(self.scores[::-1], sample.scores)
        moves = sample.positive * (precision - value + raised)[at] - lowered[at]
        return estimate(sample, value, sample.mass() * moves / self.tp[-1], level, 0, 1)

    def gains(self) -> list[Tenth]:
        called = self.fp + self.tp
        n_rows, n_positive = float(called[-1]), float(self.tp[-1])
        ends = n_rows * np.arange(TENTHS + 1) / TENTHS
        within = np.interp(ends, called, self.tp)
        base, size = n_positive / n_rows, n_rows / TENTHS
        positives, total = np.diff(within), within[1:]
        rate = positives / size
        columns = np.full(TENTHS, size), positives, rate, rate / base, total / n_positive, total / ends[1:] / base
        return [Tenth(*row) for row in np.transpose(columns).tolist()]


def _count(sample: Sample, threshold: float, probability: float, costs: Costs | None, level: float) -> Confusion:
    """Return counts and rates at a threshold."""
    positive, called = sample.positive, sample.scores > threshold

    def count(rows: np.ndarray) -> Count:
        return int(np.count_nonzero(rows)) if sample.weights is None else float(sample.weights[rows].sum())

    recall, fpr = measure_rate(sample, called, positive, level), measure_rate(sample, called, ~positive, level)
    specificity = Estimate(1 - fpr.value, 1 - fpr.high, 1 - fpr.low)
    balanced = (recall.value + specificity.value) / 2
    fp, fn = count(~positive & called), count(positive & ~called)
    down, up = (math.hypot(recall.value - recall[k], specificity.value - specificity[k]) / 2 for k in (1, 2))
    return Confusion(
        threshold,
        tn=count(~positive & ~called),
        fp=fp,
        fn=fn,
        tp=count(positive & called),
        probability=probability,
        called_share=measure_rate(sample, called, None, level),
        precision=measure_rate(sample, positive, called, level),
        recall=recall,
        fpr=fpr,
        specificity=specificity,
        balanced_accuracy=Estimate(balanced, balanced - down, balanced + up),
        cost=math.nan if costs is None else costs[0] * fp + costs[1] * fn,
    )


def _probabilities_at(sample: Sample, thresholds: Sequence[float]) -> list[float]:
    """Return the probabilities at these scores: between rows, the logits are interpolated."""
    scores, probabilities = sample.scores, sample.probabilities
    if probabilities is None or np.any(np.diff(probabilities) < -ROUNDING):
        return [math.nan] * len(thresholds)
    if np.array_equal(scores, probabilities):
        return [at if 0 <= at <= 1 else math.nan for at in thresholds]
    logits = logit(np.clip(probabilities, CERTAIN, 1 - CERTAIN))
    return [float(each) for each in expit(np.interp(thresholds, scores, logits, math.nan, math.nan))]


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
    least, most = wilson_interval(tpr, sizes[1], confidence_level)
    return RocCurve(fpr, tpr, np.minimum(low, least), np.maximum(high, most))


def _class_sizes(sample: Sample) -> tuple[float, float]:
    """Return for each class how many independent rows of equal weight would tell as much about the AUC."""
    positive, scores, weights, _, groups = sample
    mass, sides = sample.mass(), (~positive, positive)
    if groups is None:
        return kish_size(mass[~positive]), kish_size(mass[positive])
    moves = auc_influences(positive, scores, weights, np.arange(len(scores)))
    negatives, positives = (effective_size(mass[side], moves[side], groups[side]) for side in sides)
    return negatives, positives
