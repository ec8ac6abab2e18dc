"""How well scores separate two classes: all measures of a report, from one sort of the rows.

Conventions
-----------
A row is called positive if ``score > threshold``. The rows are sorted by decreasing score; each distinct score gives a
point of the ROC curve, which runs from (0, 0), where nothing is called positive, to (1, 1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils import check_consistent_length

from ..metrics import AUCInterval, _check_scores, roc_auc, roc_auc_ci
from ..rows.validate import find_classes

N_STEPS = 250  # steps of the thinned curve, with up to two points each
AREA_TOLERANCE = 1e-4
N_RESAMPLES = 500


class Confusion(NamedTuple):
    """How many rows of each class are called positive at a threshold.

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
    tn: int
    fp: int
    fn: int
    tp: int

    @property
    def recall(self) -> float:
        """Share of the positives that are found: the true positive rate."""
        return self.tp / (self.tp + self.fn)

    @property
    def specificity(self) -> float:
        """Share of the negatives that are called negative: one minus the false positive rate."""
        return self.tn / (self.tn + self.fp)

    @property
    def precision(self) -> float:
        """Share of positives among the rows that are called positive; NaN if there are none."""
        called = self.tp + self.fp
        return self.tp / called if called else math.nan

    @property
    def balanced_accuracy(self) -> float:
        """Mean of recall and specificity."""
        return (self.recall + self.specificity) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return counts and rates for JSON, where NaN is None.

        Returns
        -------
        content : dict
            Numbers.
        """
        rates = {name: getattr(self, name) for name in ("balanced_accuracy", "precision", "recall", "specificity")}
        return self._asdict() | {name: None if math.isnan(rate) else rate for name, rate in rates.items()}


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


class Evaluation(NamedTuple):
    """How well scores rank labelled rows.

    Attributes
    ----------
    n_samples, n_positive : int
        Number of rows, and of positive ones.
    auc : AUCInterval
        Area under the ROC curve with DeLong's interval.
    partial_auc : float
        Area over the false positive rates up to `max_fpr`, standardised by McClish: 0.5 is chance, 1 is perfect.
    max_fpr : float
        The false positive rate where that area ends.
    average_precision : float
        Mean precision over the positives, as scikit-learn defines it; random scores have the share of the positives.
    best : Confusion
        At the threshold of best balanced accuracy on these rows; if there are several, at the highest.
    at_zero : Confusion
        At the model's own threshold, zero.
    roc : RocCurve
        The curve, thinned, with its confidence band.
    confidence_level : float
        The level of the interval and of the band.
    """

    n_samples: int
    n_positive: int
    auc: AUCInterval
    partial_auc: float
    max_fpr: float
    average_precision: float
    best: Confusion
    at_zero: Confusion
    roc: RocCurve
    confidence_level: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the curve for JSON.

        Returns
        -------
        content : dict
            Numbers, and dicts of them.
        """
        return {
            "n_samples": self.n_samples,
            "n_positive": self.n_positive,
            "auc": self.auc.auc,
            "auc_low": self.auc.low,
            "auc_high": self.auc.high,
            "auc_standard_error": self.auc.standard_error,
            "confidence_level": self.confidence_level,
            "partial_auc": self.partial_auc,
            "max_fpr": self.max_fpr,
            "average_precision": self.average_precision,
            "best": self.best.to_dict(),
            "at_zero": self.at_zero.to_dict(),
        }


def evaluate(
    positive: ArrayLike, scores: ArrayLike, *, max_fpr: float = 0.1, confidence_level: float = 0.95
) -> Evaluation:
    """Evaluate scores of labelled rows.

    Parameters
    ----------
    positive : array-like of bool, shape (n_samples,)
        Which rows are positive; at least two of each class.
    scores : array-like of shape (n_samples,)
        Scores of rows that were not used in training: higher means more likely positive, above zero is called so.
    max_fpr : float in (0, 1], default=0.1
        False positive rate up to which the partial area is taken.
    confidence_level : float in (0, 1), default=0.95
        The level of the interval of the area and of the band of the curve. The band holds at each false positive rate
        separately, not for the whole curve.

    Returns
    -------
    evaluation : Evaluation
        Areas, average precision, confusion tables and the curve.

    Notes
    -----
    The band is a stratified percentile bootstrap: both classes are drawn again 500 times, always with the same random
    numbers. What is drawn are counts on the pieces of the thinned curve, so that the cost does not grow with the rows.
    The band is nowhere narrower than Wilson's interval of the true positive rate.

    Examples
    --------
    >>> from aucmax.report.evaluation import evaluate
    >>> evaluation = evaluate([False, False, True, False, True, True], [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    >>> round(evaluation.auc.auc, 3)
    0.889
    >>> evaluation.best
    Confusion(threshold=0.75, tn=3, fp=0, fn=1, tp=2)
    >>> evaluation.at_zero.recall == evaluation.best.recall
    True
    """
    mask = np.asarray(positive)
    if mask.dtype != bool or mask.ndim != 1:
        raise ValueError(f"positive must be a vector of booleans, got {mask.dtype} of shape {mask.shape}.")
    values = _check_scores(scores, "scores")
    check_consistent_length(mask, values)
    find_classes(mask, "positive")
    order = np.argsort(values)
    mask, values = mask[order], values[order]  # all measures are fastest on sorted rows
    cuts = _Cuts.of(mask[::-1], values[::-1])
    return Evaluation(
        n_samples=len(values),
        n_positive=int(cuts.tp[-1]),
        auc=roc_auc_ci(mask, values, confidence_level=confidence_level),
        partial_auc=float(roc_auc(mask, values, max_fpr=max_fpr)),
        max_fpr=max_fpr,
        average_precision=cuts.average_precision(),
        best=cuts.best(),
        at_zero=cuts.at_zero(),
        roc=_with_band(*_thin(cuts.fp, cuts.tp), confidence_level),
        confidence_level=confidence_level,
    )


class _Cuts(NamedTuple):
    """The distinct scores in decreasing order, and how many rows of each class are above every cut between them.

    Cut c calls the rows with the c highest of these scores positive, so there is one more cut than scores.
    """

    scores: np.ndarray
    fp: np.ndarray
    tp: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray) -> _Cuts:
        """Return the cuts of rows in decreasing order of their scores."""
        last = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
        tp = np.append(0, np.cumsum(positive)[last])
        return cls(scores[last], np.append(0, last + 1) - tp, tp)

    def confusion(self, threshold: float, cut: int) -> Confusion:
        fp, tp = int(self.fp[cut]), int(self.tp[cut])
        return Confusion(threshold, int(self.fp[-1]) - fp, fp, int(self.tp[-1]) - tp, tp)

    def average_precision(self) -> float:
        tp, called = self.tp[1:], self.tp[1:] + self.fp[1:]
        return float(np.diff(self.tp) @ (tp / called) / tp[-1])

    def at_zero(self) -> Confusion:
        return self.confusion(0.0, int(np.count_nonzero(self.scores > 0)))

    def best(self) -> Confusion:
        cut = int(np.argmax(self.tp * self.fp[-1] - self.fp * self.tp[-1]))  # in integers, so that ties are exact
        if cut == 0:
            return self.confusion(float(self.scores[0]), cut)
        above, below = self.scores[cut - 1].item(), self.scores[cut].item()
        middle = (above + below) / 2
        return self.confusion(middle if below <= middle < above else below, cut)


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


def _with_band(fp: np.ndarray, tp: np.ndarray, confidence_level: float) -> RocCurve:
    """Return the curve with the quantiles of its resampled true positive rates at each of its false positive rates.

    If all positives are found, or none, all resamples agree and the band would have no width. It is therefore made at
    least as wide as Wilson's interval of the true positive rate: without it, the band of 40 positives missed a true
    rate of 0.98 one time in four.
    """
    fpr, tpr = fp / fp[-1], tp / tp[-1]
    rng = np.random.default_rng(0)
    drawn = [np.cumsum(rng.multinomial(n[-1], np.diff(n) / n[-1], N_RESAMPLES), axis=1) / n[-1] for n in (fp, tp)]
    resampled = [np.interp(fpr, np.append(0, x), np.append(0, y)) for x, y in zip(*drawn, strict=True)]
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    least, most = _wilson(tpr, tp[-1], confidence_level)
    return RocCurve(fpr, tpr, np.minimum(low, least), np.maximum(high, most))


def _wilson(share: np.ndarray, n: int, confidence_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's interval of a binomial share of n rows, which contains it."""
    z2 = ndtri((1 + confidence_level) / 2) ** 2 / n
    center, reach = share + z2 / 2, np.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return np.clip((center - reach) / (1 + z2), 0, share), np.clip((center + reach) / (1 + z2), share, 1)
