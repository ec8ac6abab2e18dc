"""The papers' protocol: methods are compared on the same folds, each tuned inside the training part, by paired t-tests.

1. Rows are split by repeated stratified k-fold; all methods see the same splits. Folds of groups keep each group whole,
   and folds in time test on later rows than they train on.
2. In each training part, every method gets the parameters of its grid with the highest mean AUC over inner folds of the
   same kind. These are the same for all methods too, and hold no test rows.
3. The method is fitted to the training part with these parameters; its AUC is measured on the test part.
4. The first method is tested against each other one: with d the differences of their AUCs on the n = k x repeats
   splits, t = mean(d) / sqrt(var(d) / n) is compared with Student's distribution of n - 1 degrees of freedom.

The papers' test takes the splits as independent. They are not: training parts overlap, so the test finds differences
too often. Nadeau and Bengio's correction uses 1/n + (test rows / training rows) instead of 1/n. Both are reported, and
the verdict follows the corrected one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from scipy.special import stdtr
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from .._text import ArgumentError, warn_user
from ..papers.registry import Method
from ..rows.validate import check_groups, check_rows, check_weights, find_classes
from ..tables.reading.table import Levels
from .methods import find_method
from .splits import Split, check_folds, make_inner_folds, make_splits
from .tuning import (
    Extras,
    auc_of,
    failures_of,
    list_candidates,
    quiet_and_single_threaded,
    reason_of,
    tune_and_fit,
    worker_options,
)

SIGNIFICANCE = 0.05


class SplitResult(NamedTuple):
    """What one method reached on one split."""

    method: str
    split: int  # from 0
    auc: float = math.nan  # on the test part; NaN if the method failed
    seconds: float = math.nan  # of the fit with the chosen parameters
    tuning_seconds: float = math.nan  # of choosing them
    parameters: Mapping[str, Any] = {}
    failure: str = ""  # why the method failed


# How a method compares with the first, by the verdict of the first against it.
VERDICTS = {"win": "worse", "tie": "tie", "loss": "better", "": None}


class Comparison(NamedTuple):
    """Methods on the same splits of one data set.

    Attributes
    ----------
    data : str
        The name of the data set.
    methods : list of str
        The methods; the first is tested against the others.
    auc : ndarray of shape (n_methods, n_splits * n_repeats)
        Test AUC on each split, NaN where the method failed there.
    seconds : ndarray of the same shape
        Times of the fits with the chosen parameters.
    tuning_seconds : ndarray of the same shape
        Times of choosing them.
    parameters : list of lists of dict
        The chosen parameters of each method on each split.
    pvalues : list of float or None
        Of the paired t-test of the first method against each; None for the first itself, and if one of the two failed.
    corrected_pvalues : list of float or None
        The same with Nadeau and Bengio's correction for training parts that overlap.
    verdicts : list of str
        Of the first method against each, by `corrected_pvalues` at 95%: "win", "tie" or "loss"; "" without a p-value.
    failures : dict of str
        By method: why it failed, and on how many splits.
    """

    data: str
    methods: list[str]
    auc: np.ndarray
    seconds: np.ndarray
    tuning_seconds: np.ndarray
    parameters: list[list[dict[str, Any]]]
    pvalues: list[float | None]
    corrected_pvalues: list[float | None]
    verdicts: list[str]
    failures: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON: one object for each method, in their order, None for what is not known.

        Returns
        -------
        content : dict
            Numbers, text, lists and dicts.
        """
        methods = []
        for k, name in enumerate(self.methods):
            fits = zip(self.auc[k], self.seconds[k], self.tuning_seconds[k], self.parameters[k], strict=True)
            methods.append(
                {
                    "method": name,
                    "mean_auc": _or_none(self.auc[k].mean()),
                    "std_auc": _or_none(self.auc[k].std()),
                    "mean_seconds": _or_none(self.seconds[k].mean()),
                    "mean_tuning_seconds": _or_none(self.tuning_seconds[k].mean()),
                    "pvalue": self.pvalues[k],
                    "corrected_pvalue": self.corrected_pvalues[k],
                    "verdict": VERDICTS[self.verdicts[k]],
                    "failure": self.failures.get(name),
                    "splits": [
                        {"auc": _or_none(auc), "seconds": _or_none(fit), "tuning_seconds": _or_none(tuning)}
                        | {"parameters": parameters}
                        for auc, fit, tuning, parameters in fits
                    ],
                }
            )
        return {"data": self.data, "methods": methods}


def compare(
    X: Any,
    y: Any,
    methods: Sequence[str | Method],
    *,
    sample_weight: Any = None,
    groups: Any = None,
    time: Any = None,
    levels: Levels | None = None,
    data: str = "",
    n_splits: int = 5,
    n_repeats: int | None = None,
    inner_splits: int = 5,
    max_candidates: int | None = None,
    random_state: int = 0,
    n_jobs: int = 1,
    on_progress: Callable[[SplitResult], None] | None = None,
) -> Comparison:
    """Compare methods by their AUC over repeated stratified folds, each tuned inside the training parts.

    If a method cannot be fitted to the data, the reason is kept in place of its figures. Warnings of single fits are
    not shown. Everything but the times is the same in every run, whatever `n_jobs`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is the positive one.
    methods : sequence of str or Method
        What to compare, by names that `find_method` takes or as entries. The first is tested against the others.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for the fits and for the AUCs. A method that takes no weights fails.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows, such as the visits of a patient: no group is in the training part and in the test part.
    time : array-like of shape (n_samples,), default=None
        When each row was seen. If given, each fold tests on the rows that come next after its training rows. Rows
        without a time are left out, with a warning.
    levels : Levels of shape (n_samples, n_columns), default=None
        The same rows with the levels of their table, for methods whose `takes_tables` is True.
    data : str, default=""
        The name of the data, for tables.
    n_splits : int, default=5
        Number of folds.
    n_repeats : int, default=None
        How often the rows are split into folds; by default 5 times, and once with `time`.
    inner_splits : int, default=5
        Number of folds of each training part, by which parameters are chosen.
    max_candidates : int, default=None
        Grids with more candidates are thinned evenly to at most this many; None keeps all.
    random_state : int, default=0
        Seed of the folds and of the methods.
    n_jobs : int, default=1
        Number of processes; -1 for one on each core. Each fit uses one thread. Compare times only if it is 1: fits side
        by side wait for each other's memory.
    on_progress : callable, default=None
        Called in this process with each `SplitResult`, as soon as it is known.

    Returns
    -------
    comparison : Comparison
        AUC, times, chosen parameters, p-values and verdicts.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax.compare.comparison import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> table = compare(X, y, ["AUCClassifier", "OPAUC(eta0=0.01)"], n_repeats=1, max_candidates=2)
    >>> table.auc.shape, table.auc.mean(axis=1).round(2), table.verdicts
    ((2, 5), array([0.99, 0.99]), ['', 'tie'])
    """
    n_repeats = (5 if time is None else 1) if n_repeats is None else n_repeats
    counts: dict[str, tuple[int | None, int]] = {"n_splits": (n_splits, 2), "n_repeats": (n_repeats, 1)}
    counts |= {"inner_splits": (inner_splits, 2), "max_candidates": (max_candidates, 1)}
    for name, (count, least) in counts.items():
        if count is not None and count < least:
            raise ValueError(f"{name} must be at least {least}, got {count}.")
    X, y = _check_data(X, y)
    extras = _check_extras(X, sample_weight, groups, time, n_repeats)
    if time is not None and not (known := ~np.isnan(np.asarray(extras.order))).all():
        where = f"{data}: " if data else ""
        warn_user(f"{where}{np.count_nonzero(~known):,} of {len(y):,} rows have no time and are left out.")
        X, y, extras, levels = X[known], y[known], extras.of(known), None if levels is None else levels[known]
    chosen = [find_method(method) if isinstance(method, str) else method for method in methods]
    names = [method.name for method in chosen]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"methods must be one or more, all different; got {names}.")
    candidates = [list_candidates(method.grid, X.shape[1], max_candidates) for method in chosen]
    check_folds(y, n_splits, inner_splits if max(map(len, candidates)) > 1 else 0)

    order = extras.order if time is None else None, None if time is None else extras.order
    splits = make_splits(y, *order, n_splits, n_repeats, random_state)
    inner_folds = make_inner_folds(groups, time, inner_splits, random_state)

    rows = [X if levels is None or not method.takes_tables else levels for method in chosen]
    tasks = (
        delayed(_fit_split)(method, grid, X_or_levels, y, extras, number, split, inner_folds, random_state)
        for number, split in enumerate(splits)
        for method, grid, X_or_levels in zip(chosen, candidates, rows, strict=True)
    )
    results = {}
    for result in Parallel(n_jobs=n_jobs, return_as="generator_unordered", **worker_options(n_jobs))(tasks):
        results[result.method, result.split] = result
        if on_progress is not None:
            on_progress(result)
    by_method = [[results[name, k] for k in range(len(splits))] for name in names]
    n_train, n_test = (sum(map(len, parts)) for parts in zip(*splits, strict=True))
    return _summarize(data, names, by_method, n_test / n_train)


def _check_data(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X, dense or CSR with 32-bit indices, which liblinear needs, and 1 for positive rows, 0 for others."""
    X, y = check_rows(X, y)
    assert_all_finite(X, input_name="X")
    if sparse.issparse(X) and max(X.nnz, *X.shape) < 2**31:
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X, (y == find_classes(y)[1]).astype(np.int64)


def _check_extras(X: Any, sample_weight: Any, groups: Any, time: Any, n_repeats: int) -> Extras:
    """Return the weights, and the groups or times, of the rows."""
    if groups is not None and time is not None:
        raise ArgumentError("{groups=} and {time=} are two kinds of folds: leave one of them out.")
    if time is not None and n_repeats > 1:
        raise ArgumentError("{n_repeats=} is not used with {time=}: folds in time are the same each time.")
    if time is None:
        return Extras(check_weights(sample_weight, X), check_groups(groups, X))
    times: np.ndarray = column_or_1d(time)
    check_consistent_length(X, times)
    if times.dtype.kind not in "biufM":
        raise ArgumentError("{time=} must be numbers or dates.")
    gaps = np.isnat(times) if times.dtype.kind == "M" else np.isnan(times)
    times = times.astype("M8[us]").astype(np.int64) if times.dtype.kind == "M" else times
    return Extras(check_weights(sample_weight, X), np.where(gaps, np.nan, times) if gaps.any() else times)


def _fit_split(
    method: Method,
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    extras: Extras,
    number: int,
    split: Split,
    inner_folds: Any,
    seed: int,
) -> SplitResult:
    """Tune and fit a method on the training part of a split, and score it on the test part."""
    train, test = split
    with quiet_and_single_threaded():
        try:
            given = X[train], y[train], inner_folds, seed
            tuned = tune_and_fit(method, candidates, *given, warm_up=number == 0, extras=extras.of(train))
            auc = auc_of(tuned.estimator, X[test], y[test], extras.of(test).sample_weight)
        except failures_of(method) as error:
            return SplitResult(method.name, number, failure=reason_of(error))
    return SplitResult(method.name, number, auc, tuned.seconds, tuned.tuning_seconds, tuned.parameters)


# What the splits show


def paired_t_test(differences: np.ndarray, test_over_train: float = 0.0) -> float:
    """Return the p-value of Student's test that paired differences have a mean of zero.

    `test_over_train` is test rows over training rows of a split, for Nadeau and Bengio's correction; 0 for no
    correction. The p-value is two-sided: 1 if all differences are 0 or there is only one, 0 if all are the same other
    number.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.compare.comparison import paired_t_test
    >>> differences = np.array([0.01, 0.03, 0.02, 0.02])
    >>> round(paired_t_test(differences), 3), round(paired_t_test(differences, 1 / 3), 3)
    (0.016, 0.049)
    """
    n, mean = len(differences), abs(differences.mean())
    if n == 1 or mean == 0:
        return 1.0
    error = math.sqrt(differences.var(ddof=1) * (1 / n + test_over_train))
    return float(2 * stdtr(n - 1, -mean / error)) if error else 0.0


def _summarize(data: str, names: list[str], results: list[list[SplitResult]], test_over_train: float) -> Comparison:
    auc = np.array([[result.auc for result in of_method] for of_method in results])
    differences = auc[0] - auc
    tested = [k > 0 and bool(np.isfinite(differences[k]).all()) for k in range(len(names))]
    pvalues, corrected = (
        [paired_t_test(d, ratio) if test else None for d, test in zip(differences, tested, strict=True)]
        for ratio in (0.0, test_over_train)
    )
    failures = {}
    for name, of_method in zip(names, results, strict=True):
        reasons = [result.failure for result in of_method if result.failure]
        if reasons:
            failures[name] = f"{len(reasons)} of {len(of_method)} splits: {reasons[0]}"
    return Comparison(
        data,
        names,
        auc,
        np.array([[result.seconds for result in of_method] for of_method in results]),
        np.array([[result.tuning_seconds for result in of_method] for of_method in results]),
        [[dict(result.parameters) for result in of_method] for of_method in results],
        pvalues,
        corrected,
        [_verdict(p, d.mean()) for p, d in zip(corrected, differences, strict=True)],
        failures,
    )


def _verdict(pvalue: float | None, difference: float) -> str:
    if pvalue is None:
        return ""
    if pvalue >= SIGNIFICANCE:
        return "tie"
    return "win" if difference > 0 else "loss"


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def win_tie_loss(comparisons: Iterable[Comparison]) -> dict[str, tuple[int, int, int]]:
    """Count on how many data sets the first method wins, ties and loses against each other one.

    The comparisons, one for each data set, have the same first method. A data set on which one of the two failed is not
    counted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax.compare.comparison import compare, win_tie_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> methods = ["GaussianAUC", "LinearDiscriminantAnalysis", "SHTAUC(n_nonzero=1)"]
    >>> win_tie_loss([compare(X[:, columns], y, methods, n_repeats=1) for columns in ([0, 1], [8, 9])])
    {'LinearDiscriminantAnalysis': (0, 2, 0), 'SHTAUC(n_nonzero=1)': (1, 1, 0)}
    """
    comparisons = list(comparisons)
    first = {comparison.methods[0] for comparison in comparisons}
    if len(first) > 1:
        raise ValueError(f"The first method must be the same in all comparisons, got {', '.join(sorted(first))}.")
    others = dict.fromkeys(itertools.chain.from_iterable(comparison.methods[1:] for comparison in comparisons))
    verdicts = [pair for each in comparisons for pair in zip(each.methods, each.verdicts, strict=True)]
    return {
        name: (verdicts.count((name, "win")), verdicts.count((name, "tie")), verdicts.count((name, "loss")))
        for name in others
    }
