"""One method on one training part: choose its parameters by inner folds, then fit it with them."""

from __future__ import annotations

import itertools
import math
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from ..metrics import roc_auc
from ..papers.registry import Method, plain_name
from ..search.calibration import no_calibration

# What a failed fit raises: the data do not allow a parameter, steps diverge, or memory is too small for the columns.
FAILURES = (ValueError, ArithmeticError, MemoryError)
# Successive halving: every round has so many times more rows and fewer candidates, and at least so many of them.
FACTOR = 4
FEWEST = 3
# Rounds with many rows use only as many folds as it takes to test on this many rows.
ENOUGH_TEST_ROWS = 4_000


class Extras(NamedTuple):
    """What is known of rows besides their columns and labels."""

    sample_weight: np.ndarray | None = None
    order: np.ndarray | None = None  # their groups or times, which folds respect

    def of(self, rows: Any) -> Extras:
        """Return what is known of some rows."""
        return Extras(*(None if each is None else each[rows] for each in self))


NO_EXTRAS = Extras()


class TunedEstimator(NamedTuple):
    """An estimator, fitted with the parameters that were chosen for it."""

    estimator: Any
    parameters: Mapping[str, Any]  # the chosen ones, under their plain names
    seconds: float  # of the fit
    tuning_seconds: float  # of choosing the parameters


def list_candidates(grid: Mapping[str, Sequence[Any]], n_features: int, most: int | None) -> list[dict[str, Any]]:
    """Return the candidates of a grid that data with `n_features` columns allow, at most `most` of them.

    If there are more, values are left out evenly, with both ends kept: first of the later parameters, down to three
    each, then of the first one, which is the step of the stochastic algorithms.
    """
    allowed = {
        name: [value for value in values if plain_name(name) != "n_nonzero" or value <= n_features]
        for name, values in grid.items()
    }
    axes = {name: values for name, values in allowed.items() if values}
    counts = {name: len(values) for name, values in axes.items()}
    while most is not None and math.prod(counts.values()) > most:
        first, *later = counts
        long = [name for name in later if counts[name] > 3] or [name for name in counts if counts[name] > 2]
        long = long or [name for name in counts if counts[name] > 1]
        counts[max(long, key=lambda name: (counts[name], name == first))] -= 1
    return list(ParameterGrid({name: thin(values, counts[name]) for name, values in axes.items()}))


def thin(values: Sequence[Any], count: int) -> list[Any]:
    """Return `count` evenly spaced values, the two ends among them; a single one is the middle one."""
    if count == 1:
        return [values[len(values) // 2]]
    return [values[round(k * (len(values) - 1) / (count - 1))] for k in range(count)]


def tune_and_fit(
    method: Method,
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    inner_folds: Any,
    seed: int,
    *,
    warm_up: bool = False,
    first_rows: int | None = None,
    last_rows: int | None = None,
    extras: Extras = NO_EXTRAS,
) -> TunedEstimator:
    """Choose the parameters of a method on a training part, and fit it with them.

    `candidates` are made by `list_candidates`; `inner_folds` compare them. `y` is 0 or 1. With `warm_up`, a fit before
    the one that is timed keeps imports and compilation out of its time. `first_rows` and `last_rows` are the rows of
    the first and of the last round of the search, see `rank`; by default it has one round, with all rows. Every value
    of the grid's first parameter, which is the step of the stochastic algorithms, is in all rounds. `extras` are the
    weights of the rows, and the groups or times that the inner folds respect. Raises one of `failures_of` the method
    if no candidate can be fitted.
    """
    estimator, failures = seeded_estimator(method, seed, sparse.issparse(X)), failures_of(method)
    start = time.perf_counter()
    rows = sample_rows(len(y), last_rows, seed)
    with no_calibration():
        ranked = rank(
            lambda chosen: clone(estimator).set_params(**chosen),
            candidates,
            X[rows],
            y[rows],
            inner_folds,
            failures,
            first_rows=first_rows,
            every=next(iter(method.grid), None),
            seed=seed,
            extras=extras.of(rows),
        )
    tuning_seconds = time.perf_counter() - start
    for parameters in ranked:
        estimator.set_params(**parameters)
        try:
            if warm_up and len(candidates) == 1:  # otherwise tuning has imported and compiled everything
                fit_weighted(clone(estimator), X, y, extras)
            start = time.perf_counter()
            fit_weighted(estimator, X, y, extras)
            break
        except failures:  # steps may diverge on all rows although they converged on the folds
            if parameters is ranked[-1]:
                raise
    seconds = time.perf_counter() - start
    plain = {plain_name(name): value for name, value in parameters.items()}
    return TunedEstimator(estimator, plain, seconds, tuning_seconds)


def failures_of(method: Method) -> tuple[type[Exception], ...]:
    """Return the exceptions that say that a method cannot be fitted: any, of estimators of other libraries."""
    return (Exception,) if method.family in ("trees", "imported") else FAILURES


def fit_weighted(estimator: Any, X: Any, y: np.ndarray, extras: Extras) -> Any:
    """Fit an estimator with the weights of the rows, if there are any, as each of its steps takes them."""
    if extras.sample_weight is None:
        return estimator.fit(X, y)
    is_pipeline = isinstance(estimator, Pipeline)
    steps = [(f"{name}__", step) for name, step in estimator.steps] if is_pipeline else [("", estimator)]
    taking = [name for name, step in steps if has_fit_parameter(step, "sample_weight")]
    last, classifier = steps[-1]
    if last not in taking:
        raise ValueError(f"{type(classifier).__name__} takes no weights.")
    return estimator.fit(X, y, **{f"{name}sample_weight": extras.sample_weight for name in taking})


def sample_rows(n_rows: int, most: int | None, seed: int) -> slice | np.ndarray:
    """Return the indices of at most `most` rows, drawn at random, in increasing order."""
    if most is None or n_rows <= most:
        return slice(None)
    return np.sort(np.random.RandomState(seed).permutation(n_rows)[:most])


def seeded_estimator(method: Method, seed: int, is_sparse: bool) -> Any:
    """Return an estimator that draws its random numbers from the seed and takes rows of this kind."""
    if is_sparse and not method.takes_sparse:
        raise ValueError(f"{method.name} takes dense rows only, and these are sparse.")
    estimator = method.seeded(seed)
    if is_sparse:
        centring = {name: False for name in estimator.get_params() if plain_name(name) == "with_mean"}
        estimator.set_params(**centring)
    return estimator


def rank(
    make: Callable[[Mapping[str, Any]], Any],
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    folds: Any,
    failures: tuple[type[Exception], ...] = FAILURES,
    *,
    first_rows: int | None = None,
    every: str | None = None,
    seed: int = 0,
    extras: Extras = NO_EXTRAS,
) -> list[Mapping[str, Any]]:
    """Return candidates by their mean AUC over folds, best first; equal ones stay in order, a single one is not tried.

    With `first_rows` this is successive halving, as in scikit-learn's `HalvingGridSearchCV`: all candidates are tried
    on a few rows, and the best of each round on four times as many, until the rows are all used. So a whole grid is
    searched, and the last choice is made on all rows. A short step looks poor on few rows and may be the best on many.
    So `every` names a parameter of which each value stays to the end, with the best of its candidates.

    `make` returns the estimator of a candidate, `y` is 0 or 1, and `failures` are the exceptions that rule out one
    candidate; any other is raised. Candidates that failed in one of their rounds are left out; candidates of later
    rounds come first. Raises a ValueError if none is left.
    """
    left, reason = list(candidates), ""
    ranked: list[Mapping[str, Any]] = []
    for n_rows in round_sizes(first_rows or len(y), len(y)):
        if len(left) < 2:
            break
        rows = sample_rows(len(y), n_rows, seed)
        scores, reason = _compare(make, left, X[rows], y[rows], folds, failures, extras.of(rows))
        best = [left[k] for k in np.argsort(-scores, kind="stable").tolist() if np.isfinite(scores[k])]
        n_kept = len(best) if n_rows == len(y) else max(FEWEST, math.ceil(len(left) / FACTOR))
        left, given_up = _keep(best, n_kept, every)
        ranked = given_up + ranked
    if not left + ranked:
        raise ValueError(f"None of the {len(candidates)} candidates could be fitted, the last because: {reason}")
    return left + ranked


def _keep(
    best: Sequence[Mapping[str, Any]], count: int, every: str | None
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the first candidates and the first with each value of the parameter `every`, and the ones given up."""
    values = [candidate.get(every) for candidate in best] if every else []
    kept = set(range(count)) | {values.index(value) for value in values}
    return [c for k, c in enumerate(best) if k in kept], [c for k, c in enumerate(best) if k not in kept]


def round_sizes(first: int, last: int) -> list[int]:
    """Return the numbers of rows of the rounds of a search, the last one with all."""
    sizes = []
    while first < last:
        sizes.append(first)
        first *= FACTOR
    return [*sizes, last]


def _compare(
    make: Callable[[Mapping[str, Any]], Any],
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    folds: Any,
    failures: tuple[type[Exception], ...],
    extras: Extras,
) -> tuple[np.ndarray, str]:
    """Return the mean AUC of each candidate over the folds, -inf if it cannot be fitted, and why the last could not."""
    totals, reason = np.zeros(len(candidates)), ""
    n_folds = min(folds.get_n_splits(), math.ceil(ENOUGH_TEST_ROWS * folds.get_n_splits() / len(y)))
    for train, test in itertools.islice(folds.split(np.zeros(len(y)), y, extras.order), n_folds):
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]  # once for all candidates
        weights = extras.of(test).sample_weight
        for k in np.flatnonzero(np.isfinite(totals)).tolist():
            try:
                fitted = fit_weighted(make(candidates[k]), X_train, y_train, extras.of(train))
                totals[k] += auc_of(fitted, X_test, y_test, weights) / n_folds
            except failures as error:
                totals[k], reason = -np.inf, reason_of(error)
    return totals, reason


def auc_of(estimator: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Return the AUC of a fitted estimator's scores, or of its probabilities if it has no scores."""
    by_scores = hasattr(estimator, "decision_function")
    scores = estimator.decision_function(X) if by_scores else estimator.predict_proba(X)[:, 1]
    return float(roc_auc(y, scores, sample_weight))


@contextmanager
def quiet_and_single_threaded() -> Iterator[None]:
    """Silence warnings and use one BLAS thread: a comparison makes thousands of fits.

    With one thread, all processes add numbers in the same order, and times are times of one core.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def worker_options(n_jobs: int) -> dict[str, Any]:
    """Return options of joblib by which only the main process reacts to Ctrl-C, which reaches all of them."""
    return {"initializer": partial(signal.signal, signal.SIGINT, signal.SIG_IGN)} if n_jobs > 1 else {}


def reason_of(error: BaseException) -> str:
    """Return why a fit failed."""
    return str(error) or type(error).__name__
