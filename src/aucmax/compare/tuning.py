"""One method on one training part: its parameters chosen by inner folds, then the fit with these."""

from __future__ import annotations

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
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from ..metrics import roc_auc
from ..selection.calibration import no_calibration
from .methods import Method, leaf

# What a fit raises that does not work out: parameters the data do not allow, steps that diverge, too many columns.
FAILURES = (ValueError, ArithmeticError, MemoryError)


class Fitted(NamedTuple):
    """A fitted estimator, the parameters chosen for it, and what the fit and the choice took in seconds."""

    estimator: Any
    parameters: Mapping[str, Any]
    seconds: float
    tuning_seconds: float


def list_candidates(grid: Mapping[str, Sequence[Any]], n_features: int, most: int | None) -> list[dict[str, Any]]:
    """Return the points of a grid that data of so many columns allow, at most so many.

    Where there are more, each axis is thinned evenly, in proportion to its length, with its ends kept.
    """
    allowed = {
        name: [value for value in values if leaf(name) != "n_nonzero" or value <= n_features]
        for name, values in grid.items()
    }
    axes = {name: values for name, values in allowed.items() if values}
    counts = {name: len(values) for name, values in axes.items()}
    while most is not None and math.prod(counts.values()) > most:
        long = [name for name in counts if counts[name] > 2] or [name for name in counts if counts[name] > 1]
        counts[max(long, key=lambda name: (counts[name] / len(axes[name]), counts[name]))] -= 1
    return list(ParameterGrid({name: thin(values, counts[name]) for name, values in axes.items()}))


def thin(values: Sequence[Any], count: int) -> list[Any]:
    """Return so many of the values, evenly spaced, the ends among them; a single one is that in the middle.

    Examples
    --------
    >>> from aucmax.compare.tuning import thin
    >>> thin(range(10), 4), thin("abc", 1)
    ([0, 3, 6, 9], ['b'])
    """
    if count == 1:
        return [values[len(values) // 2]]
    return [values[round(k * (len(values) - 1) / (count - 1))] for k in range(count)]


def tune_and_fit(
    method: Method,
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    inner_folds: StratifiedKFold,
    seed: int,
    *,
    warm_up: bool = False,
    tuning_rows: int | None = None,
) -> Fitted:
    """Choose the parameters of a method on a training part, and fit it with these.

    Parameters
    ----------
    method : Method
        The method.
    candidates : sequence of mapping
        Of `list_candidates`.
    X : ndarray or CSR array of shape (n_samples, n_features)
        Rows of the training part.
    y : ndarray of shape (n_samples,)
        Their classes, 0 and 1.
    inner_folds : StratifiedKFold
        What the candidates are tried on.
    seed : int
        What the randomness of the method is drawn from.
    warm_up : bool, default=False
        Whether what the fit loads and compiles is not to count: there is one more fit before.
    tuning_rows : int, default=None
        The most rows that candidates are tried on, the same random ones for all of them.

    Returns
    -------
    fitted : Fitted
        The estimator and the times. Raises one of `FAILURES` where no candidate can be fitted.
    """
    estimator = seeded_estimator(method, seed, sparse.issparse(X))
    start = time.perf_counter()
    rows = take_rows(len(y), tuning_rows, seed)
    with no_calibration():
        parameters = choose(
            lambda chosen: clone(estimator).set_params(**chosen), candidates, X[rows], y[rows], inner_folds
        )
    estimator.set_params(**parameters)
    tuned = time.perf_counter()
    if warm_up and len(candidates) == 1:  # else tuning has loaded and compiled everything
        clone(estimator).fit(X, y)
    begun = time.perf_counter()
    estimator.fit(X, y)
    seconds = time.perf_counter() - begun
    return Fitted(estimator, {leaf(name): value for name, value in parameters.items()}, seconds, tuned - start)


def take_rows(n_rows: int, most: int | None, seed: int) -> slice | np.ndarray:
    """Return the numbers of at most so many rows, drawn at random, in their order."""
    if most is None or n_rows <= most:
        return slice(None)
    return np.sort(np.random.RandomState(seed).permutation(n_rows)[:most])


def seeded_estimator(method: Method, seed: int, is_sparse: bool) -> Any:
    """Return the estimator, its randomness drawn from the seed."""
    estimator = method.seeded(seed)
    if is_sparse:
        centring = {name: False for name in estimator.get_params() if leaf(name) == "with_mean"}
        estimator.set_params(**centring)
        if not get_tags(estimator).input_tags.sparse:
            raise ValueError(f"{method.name} takes dense rows only, and these are sparse.")
    return estimator


def choose(
    make: Callable[[Mapping[str, Any]], Any],
    candidates: Sequence[Mapping[str, Any]],
    X: Any,
    y: np.ndarray,
    folds: StratifiedKFold,
    failures: tuple[type[Exception], ...] = FAILURES,
) -> Mapping[str, Any]:
    """Return the candidate of the highest mean AUC over folds, the first of equal ones; a single one is not tried.

    Parameters
    ----------
    make : callable
        Returns the estimator of a candidate.
    candidates : sequence of mapping
        The parameters to choose from.
    X : ndarray or CSR array of shape (n_samples, n_features)
        Rows.
    y : ndarray of shape (n_samples,)
        Their classes, 0 and 1.
    folds : StratifiedKFold
        What the candidates are tried on.
    failures : tuple of exception types, default=FAILURES
        What rules a candidate out instead of ending everything.

    Returns
    -------
    candidate : mapping
        One of the candidates. Raises a ValueError where none can be fitted.
    """
    if len(candidates) == 1:
        return candidates[0]
    totals, reason = np.zeros(len(candidates)), ""
    for train, test in folds.split(np.zeros(len(y)), y):
        X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]  # once for all candidates
        for k in np.flatnonzero(np.isfinite(totals)).tolist():
            try:
                totals[k] += auc_of(make(candidates[k]).fit(X_train, y_train), X_test, y_test)
            except failures as error:
                totals[k], reason = -np.inf, reason_of(error)
    if not np.isfinite(totals).any():
        raise ValueError(f"None of the {len(candidates)} candidates could be fitted, the last because: {reason}")
    return candidates[int(totals.argmax())]


def auc_of(estimator: Any, X: Any, y: np.ndarray) -> float:
    """Return the AUC of a fitted estimator's scores, or of its probabilities where it has no scores."""
    by_scores = hasattr(estimator, "decision_function")
    return float(roc_auc(y, estimator.decision_function(X) if by_scores else estimator.predict_proba(X)[:, 1]))


@contextmanager
def on_one_core() -> Iterator[None]:
    """Silence warnings, thousands of fits would each give theirs, and have one thread.

    Sums are then grouped alike in all processes, and times are those of one core.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        yield


def quiet_workers(n_jobs: int) -> dict[str, Any]:
    """Return what leaves an interrupt from the keyboard, which reaches all processes, to the first of them."""
    return {"initializer": partial(signal.signal, signal.SIGINT, signal.SIG_IGN)} if n_jobs > 1 else {}


def reason_of(error: BaseException) -> str:
    """Return why a fit failed."""
    return str(error) or type(error).__name__
