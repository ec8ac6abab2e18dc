"""The area under the ROC curve, its confidence interval, and a test of the difference of two areas.

Also two measures of how well a classifier has found the columns that matter.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from .rows.arrays import to_host
from .rows.dispatch import label_mask, remote_scores, require_memory
from .rows.memory import MemorySpace
from .rows.protocol import ScoreSpace, Targets
from .rows.summaries.delong import UNITS, doubled_weights, estimate_aucs, units_of
from .rows.summaries.ranking import areas
from .rows.validate import check_class_weights, check_groups, check_weights, find_classes, refuse_masked


class AUCInterval(NamedTuple):
    """An AUC with its confidence interval.

    Attributes
    ----------
    auc : float
        The AUC.
    low, high : float
        The ends of the confidence interval.
    standard_error : float
        The standard error of the AUC.
    """

    auc: float
    low: float
    high: float
    standard_error: float


class AUCComparison(NamedTuple):
    """Two AUCs on the same rows, and the test that they are equal.

    Attributes
    ----------
    auc_a, auc_b : float
        The two AUCs.
    difference : float
        auc_a - auc_b.
    low, high : float
        The ends of the confidence interval of the difference.
    statistic : float
        The difference divided by its standard error, standard normal if the AUCs of the population are equal.
    pvalue : float
        The two-sided p-value of that hypothesis.
    """

    auc_a: float
    auc_b: float
    difference: float
    low: float
    high: float
    statistic: float
    pvalue: float


def roc_auc(
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    max_fpr: float | None = None,
    pos_label: Any = None,
) -> float | np.ndarray:
    """Compute the area under the ROC curve of one or several vectors of scores.

    This is the probability that a random positive row scores higher than a random negative one, where a tie
    counts one half. The result equals :func:`sklearn.metrics.roc_auc_score`. With many rows it is many times
    faster, because it sorts the smaller class only. For Dask arrays, only the scores of the smaller class are
    gathered, and the result is bitwise the same as in memory. If these are more than 16 million, scores are counted in
    65,536 bins with about the same number of rows, and two scores in one bin count as a tie: an error of about 1e-8,
    and at most 1e-5. Intervals and tests do the same. Scores on a GPU are sorted there.

    Parameters
    ----------
    y : {array-like, Dask array or series} of shape (n_samples,)
        Labels of two classes. The larger of the two, in sorted order, is the positive one.
    scores : {array-like, Dask collection} of shape (n_samples,) or (n_samples, n_scores)
        Scores, compared in float64: a higher score means more likely positive. Each column gets an area of its own.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. The weight of a pair is the product of the weights of its two rows.
    max_fpr : float in (0, 1], default=None
        If below 1, compute the partial area over the false positive rates in [0, `max_fpr`], standardised by
        McClish [1]_: 0.5 for scores without information, 1 for perfect scores. It needs all scores in one
        place: compute() Dask collections first.
    pos_label : label, default=None
        The positive class; all other labels are negative. By default, y has two labels and the larger is positive.

    Returns
    -------
    auc : float, or ndarray of shape (n_scores,) if `scores` has two dimensions
        The area, in [0, 1].

    References
    ----------
    .. [1] D. K. McClish, "Analyzing a portion of the ROC curve", Medical Decision Making 9 (1989).

    Examples
    --------
    >>> from aucmax.metrics import roc_auc
    >>> y = ["no", "no", "yes", "yes"]
    >>> roc_auc(y, [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> roc_auc(y, [[1, 4], [2, 3], [3, 2], [4, 1]])
    array([1., 0.])
    """
    if max_fpr is not None and not 0 < max_fpr <= 1:
        raise ValueError(f"max_fpr must be in (0, 1], got {max_fpr!r}.")
    y = label_mask(y, pos_label)
    partial = max_fpr is not None and max_fpr < 1
    if partial:
        require_memory(
            scores, f"max_fpr={max_fpr!r} needs all scores in one place: compute() y and scores first.", None
        )
        y, scores, sample_weight = map(to_host, (y, scores, sample_weight))
    space = remote_scores(y, sample_weight, scores=scores)
    if space is not None:
        aucs = space.column_aucs()
        return aucs[0] if np.ndim(scores) == 1 else np.array(aucs)
    scores = _check_scores(scores, "scores", max_ndim=2)
    classes, positive = _check_labels(y, scores)
    weights = check_weights(sample_weight, scores)
    if weights is not None:
        check_class_weights(np.array([weights[~positive].sum(), weights[positive].sum()]), classes)

    columns = map(np.ascontiguousarray, np.atleast_2d(scores.T))
    if partial:
        aucs = [_partial_area(positive, column, weights, float(max_fpr or 1)) for column in columns]
    else:
        aucs = areas(positive, columns, weights)
    return aucs[0] if scores.ndim == 1 else np.array(aucs)


def roc_auc_ci(
    y: ArrayLike,
    scores: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    pos_label: Any = None,
) -> AUCInterval:
    """Compute the area under the ROC curve and its confidence interval by the method of DeLong [1]_.

    It is the interval of a normal approximation, cut to [0, 1], and takes O(n log n) time.

    Parameters
    ----------
    y : {array-like, Dask array or series} of shape (n_samples,)
        Labels of two classes, with at least two rows of each. The larger label is the positive one.
    scores : {array-like, Dask array or series} of shape (n_samples,)
        Scores of rows that were not used in training: a higher score means more likely positive.
    sample_weight : {array-like, Dask array or series} of shape (n_samples,), default=None
        Weights of the rows. The weight of a pair is the product of the weights of its two rows.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows that depend on each other, such as the rows of one patient: the groups are then independent, and
        the rows of a group need not be [2]_. By default, all rows are independent.
    confidence_level : float in (0, 1), default=0.95
        Probability with which the interval should cover the AUC of the population.
    pos_label : label, default=None
        The positive class; all other labels are negative. By default, y has two labels and the larger is positive.

    Returns
    -------
    interval : AUCInterval
        Named tuple of `auc`, `low`, `high` and `standard_error`.

    Notes
    -----
    At an AUC of 0 or 1 the estimated variance is zero and the interval has no width, even if there are few rows.
    This is a known weakness of the method. Intervals close to 0 or 1 are too short for the same reason.

    The scale of the weights does not matter, and equal ones give DeLong's interval. A row with a weight of 2 is one
    observation that counts double, not two: the AUC is the same as with two equal rows, but the interval is longer.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or more
       correlated receiver operating characteristic curves: a nonparametric approach", Biometrics 44 (1988).
    .. [2] N. A. Obuchowski, "Nonparametric analysis of clustered ROC curve data", Biometrics 53 (1997).

    Examples
    --------
    >>> from aucmax.metrics import roc_auc_ci
    >>> interval = roc_auc_ci([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> print(f"{interval.auc:.3f} in [{interval.low:.3f}, {interval.high:.3f}]")
    0.889 in [0.581, 1.000]
    """
    quantile = _normal_quantile(confidence_level)
    (auc,), error = _delong(label_mask(y, pos_label), sample_weight, groups, scores=scores)
    return AUCInterval(auc, max(auc - quantile * error, 0.0), min(auc + quantile * error, 1.0), error)


def compare_auc(
    y: ArrayLike,
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    confidence_level: float = 0.95,
    pos_label: Any = None,
) -> AUCComparison:
    """Compare the areas under the ROC curves of two scores of the same rows by DeLong's paired test [1]_.

    Parameters
    ----------
    y : {array-like, Dask array or series} of shape (n_samples,)
        Labels of two classes, with at least two rows of each. The larger label is the positive one.
    scores_a, scores_b : {array-like, Dask array or series} of shape (n_samples,)
        Two scores of each row; the rows were not used in training. A higher score means more likely positive.
    sample_weight : {array-like, Dask array or series} of shape (n_samples,), default=None
        Weights of the rows. The weight of a pair is the product of the weights of its two rows.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows that depend on each other, such as the rows of one patient: the groups are then independent, and
        the rows of a group need not be [2]_. By default, all rows are independent.
    confidence_level : float in (0, 1), default=0.95
        Probability with which the interval should cover the difference of the two AUCs of the population.
    pos_label : label, default=None
        The positive class; all other labels are negative. By default, y has two labels and the larger is positive.

    Returns
    -------
    comparison : AUCComparison
        Named tuple of `auc_a`, `auc_b`, their `difference` a - b, its interval from `low` to `high`, and the
        normal `statistic` and the two-sided `pvalue` of the hypothesis that it is zero.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or more
       correlated receiver operating characteristic curves: a nonparametric approach", Biometrics 44 (1988).
    .. [2] N. A. Obuchowski, "Nonparametric analysis of clustered ROC curve data", Biometrics 53 (1997).

    Examples
    --------
    >>> from aucmax.metrics import compare_auc
    >>> comparison = compare_auc([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [1, 5, 4, 3, 2, 6])
    >>> print(f"difference {comparison.difference:.3f}, p = {comparison.pvalue:.3f}")
    difference 0.333, p = 0.221
    """
    quantile = _normal_quantile(confidence_level)
    given = {"scores_a": scores_a, "scores_b": scores_b}
    (auc_a, auc_b), error = _delong(label_mask(y, pos_label), sample_weight, groups, **given)
    difference = auc_a - auc_b
    if error > 0:
        statistic = difference / error
    elif difference:
        statistic = math.copysign(math.inf, difference)
    else:
        statistic = 0.0
    return AUCComparison(
        auc_a,
        auc_b,
        difference,
        low=max(difference - quantile * error, -1.0),
        high=min(difference + quantile * error, 1.0),
        statistic=statistic,
        pvalue=float(2 * ndtr(-abs(statistic))),
    )


def support_f1(coef: Any, support: ArrayLike, *, threshold: float = 0.0) -> float:
    """Compute how well a classifier has found the columns that matter, as the F1 score of two sets.

    Let A be the columns with a nonzero weight, and B the columns that matter. The score is ``2 |A & B| / (|A| + |B|)``,
    the harmonic mean of the precision ``|A & B| / |A|`` and the recall ``|A & B| / |B|``.

    Parameters
    ----------
    coef : array-like of shape (n_features,) or (1, n_features), or fitted linear classifier
        Weights, or an estimator with the attribute `coef_`.
    support : array-like
        The columns that matter: a mask of n_features booleans, or indices.
    threshold : float, default=0
        Weights of at most this size count as zero. [1]_ uses 0.001 for algorithms whose weights are never exactly 0.

    Returns
    -------
    f1 : float
        In [0, 1]; 1 where the two sets are the same.

    References
    ----------
    .. [1] Z. Yang, B. Zhou, Y. Lei and Y. Ying, "Stochastic hard thresholding algorithms for AUC maximization",
       ICDM 2020.

    Examples
    --------
    >>> from aucmax.metrics import support_f1
    >>> support_f1([0.5, 0, -1, 2, 0], support=[2, 3, 4])
    0.6666666666666666
    """
    common, found, sought = _count_support(coef, support, threshold)
    return 2 * common / (found + sought) if found + sought else 1.0


def support_jaccard(coef: Any, support: ArrayLike, *, threshold: float = 0.0) -> float:
    """Compute how well a classifier has found the columns that matter, as the Jaccard index of two sets.

    Let A be the columns with a nonzero weight, and B the columns that matter. The index is ``|A & B| / |A | B|``.

    Parameters
    ----------
    coef : array-like of shape (n_features,) or (1, n_features), or fitted linear classifier
        Weights, or an estimator with the attribute `coef_`.
    support : array-like
        The columns that matter: a mask of n_features booleans, or indices.
    threshold : float, default=0
        Weights of at most this size count as zero.

    Returns
    -------
    jaccard : float
        In [0, 1]; 1 where the two sets are the same.

    Examples
    --------
    >>> from aucmax.metrics import support_jaccard
    >>> support_jaccard([0.5, 0, -1, 2, 0], support=[False, False, True, True, True])
    0.5
    """
    common, found, sought = _count_support(coef, support, threshold)
    return common / (found + sought - common) if found + sought else 1.0


def _count_support(coef: Any, support: ArrayLike, threshold: float) -> tuple[int, int, int]:
    """Return the number of columns in both sets, with a nonzero weight, and in the support."""
    weights: np.ndarray = check_array(getattr(coef, "coef_", coef), ensure_2d=False, input_name="coef")
    if weights.ndim == 2 and len(weights) == 1:
        weights = weights[0]
    if weights.ndim != 1:
        raise ValueError(f"coef must be one vector of weights, got an array of shape {weights.shape}.")
    columns = np.asarray(support)
    if columns.size == 0:
        columns = np.zeros(0, dtype=np.intp)
    is_mask = columns.dtype == bool
    if columns.ndim != 1 or not (is_mask or np.issubdtype(columns.dtype, np.integer)):
        raise ValueError(f"support must be a mask of booleans or a list of indices, got {support!r}.")
    if len(columns) != len(weights) if is_mask else np.any((columns < 0) | (columns >= len(weights))):
        raise ValueError(f"support does not fit the {len(weights)} weights of coef, got {support!r}.")
    sought = np.zeros(len(weights), dtype=bool)
    sought[columns] = True
    found = np.abs(weights) > threshold
    return int(np.sum(found & sought)), int(found.sum()), int(sought.sum())


def _check_scores(scores: ArrayLike, name: str, max_ndim: int = 1) -> np.ndarray:
    """Return finite float64 scores of at most `max_ndim` dimensions, without a copy if possible."""
    refuse_masked(**{name: scores})
    with np.errstate(invalid="ignore"):  # its sum may be inf - inf where scores reach 1e308
        array: np.ndarray = check_array(scores, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name=name)
    if array.ndim > max_ndim:
        allowed = "one dimension" if max_ndim == 1 else "one or two dimensions"
        raise ValueError(f"{name} must have {allowed}, got an array of shape {array.shape}.")
    return array


def _check_labels(y: ArrayLike, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes, sorted, and the mask of the rows of the second."""
    refuse_masked(y=y)
    labels: np.ndarray = column_or_1d(y, warn=True)
    check_consistent_length(labels, scores)
    classes = find_classes(labels)
    return classes, labels == classes[1]


def _partial_area(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None, max_fpr: float) -> float:
    """Return the area under the ROC curve up to `max_fpr`, standardised."""
    order = np.argsort(scores)[::-1]
    scores, positive = scores[order], positive[order]
    weights = np.ones(len(scores)) if weights is None else weights[order]
    ends = np.append(np.flatnonzero(scores[1:] != scores[:-1]), len(scores) - 1)
    tpr = np.append(0.0, np.cumsum(weights * positive)[ends])
    fpr = np.append(0.0, np.cumsum(weights * ~positive)[ends])
    tpr, fpr = tpr / tpr[-1], fpr / fpr[-1]

    stop = np.searchsorted(fpr, max_fpr, "right")
    last_tpr = np.interp(max_fpr, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    area = np.trapezoid(np.append(tpr[:stop], last_tpr), np.append(fpr[:stop], max_fpr))
    chance = 0.5 * max_fpr**2
    return float(0.5 * (1 + (area - chance) / (max_fpr - chance)))


def _normal_quantile(confidence_level: float) -> float:
    """Return the half-width of a two-sided normal interval in standard errors."""
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be in (0, 1), got {confidence_level!r}.")
    return float(-ndtri(0.5 * (1 - confidence_level)))


def _delong(y: Any, sample_weight: Any, groups: Any, **scores: Any) -> tuple[list[float], float]:
    """Return the AUCs, and the standard error of the AUC or of the difference of two."""
    if groups is not None:
        for name, values in scores.items():
            require_memory(values, f"groups= needs all scores in one place: compute() y and {name} first.", None)
        y, sample_weight = to_host(y), to_host(sample_weight)
        scores, groups = {name: to_host(values) for name, values in scores.items()}, check_groups(groups, y)
    remote = remote_scores(y, sample_weight, **scores)
    space: ScoreSpace
    if remote is not None:
        space = remote
    else:
        vectors = [_check_scores(values, name) for name, values in scores.items()]
        check_consistent_length(*vectors)
        classes, positive = _check_labels(y, vectors[0])
        weights = check_weights(sample_weight, vectors[0])
        totals = np.bincount(positive, weights, 2).astype(np.float64)
        check_class_weights(totals, classes)
        space = MemorySpace(Targets(positive, weights, totals))
    n_zeros, n_ones = space.counts.tolist()
    if min(n_zeros, n_ones) < 2:
        raise ValueError(
            f"DeLong's variance needs at least two rows of each class, got {n_ones} positive and {n_zeros} negative."
        )
    if remote is not None:
        aucs, variance = remote.estimate()
    elif groups is not None:
        moves = [auc_influences(positive, each, weights, groups) for each in vectors]
        aucs, change = areas(positive, iter(vectors), weights), moves[0] - moves[1] if len(moves) > 1 else moves[0]
        variance = float(change @ change)
    else:
        aucs, variance = estimate_aucs(space, *vectors, weighted=sample_weight is not None)
    return aucs, math.sqrt(variance)


def auc_influences(
    positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None, groups: np.ndarray
) -> np.ndarray:
    """Return by how much each group of rows moves the AUC; the sum of the squares is the variance of the AUC.

    A row moves it by its placement value minus the mean of its class, times its share of the weight of the class. Both
    classes have a factor n / (n - 1) in the variance, for n groups: if each row is a group, the variance is DeLong's.
    """
    _, codes = np.unique(groups, return_inverse=True)
    weights = np.ones(len(scores)) if weights is None else weights
    moves = np.empty(len(scores))
    for side, sign in ((positive, 1), (~positive, -1)):
        own, other = weights[side], weights[~side]
        counts = doubled_weights(scores[~side], units_of(other, other.sum()), scores[side])
        n = len(np.unique(codes[side & (weights > 0)]))
        if n < 2:
            raise ValueError("the interval by groups needs rows of each class in at least two groups.")
        share = sign * np.sqrt(n / (n - 1)) * own / own.sum()
        moves[side] = share * (counts - np.average(counts, weights=own)) / (2 * UNITS)
    return np.bincount(codes, moves)
