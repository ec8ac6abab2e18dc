"""Cross-validation along a regularisation path, from one pass for the moments and one for the scores.

The moments of a training set are the merge of those of the other folds, each training set takes one
eigendecomposition for all alphas, and every AUC is the exact one of the held-out rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_array

from .data import Rows
from .metrics import roc_auc
from .moments import ClassMoments
from .solvers.squared import SOLVERS, MomentProblem, Problem, RowProblem, choose_solver
from .threads import map_threads
from .validation import check_rows, check_weights, find_classes

# Of conjugate gradients while alphas are compared: against 1e-6, no AUC on news20 and farm-ads changed by more than
# 0.0002 (0.0011 at the lowest alpha without standardisation).
CV_TOL = 1e-3
GOLDEN_RATIO = (5**0.5 - 1) / 2


class Splits(NamedTuple):
    """Training and test rows of each split, and the fold of each row where the test sets are disjoint."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    folds: np.ndarray | None


class PathCV(NamedTuple):
    """The cross-validated path.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        Regularisation strengths, decreasing.
    auc : ndarray of shape (n_splits, n_alphas)
        AUC on the held-out rows.
    """

    alphas: np.ndarray
    auc: np.ndarray

    @property
    def best_index(self) -> int:
        """Where the mean AUC is highest; the largest such alpha."""
        return int(np.argmax(self.auc.mean(axis=0)))

    @property
    def best_alpha(self) -> float:
        """The alpha of highest mean AUC."""
        return float(self.alphas[self.best_index])

    def results(self) -> dict[str, Any]:
        """Return the table that scikit-learn calls ``cv_results_``."""
        mean = self.auc.mean(axis=0)
        return {
            "param_alpha": self.alphas,
            "params": [{"alpha": float(alpha)} for alpha in self.alphas],
            **{f"split{k}_test_score": auc for k, auc in enumerate(self.auc)},
            "mean_test_score": mean,
            "std_test_score": self.auc.std(axis=0),
            "rank_test_score": (mean[:, None] < mean[None, :]).sum(axis=1) + 1,
        }


def cross_validate_path(
    X: Any,
    y: Any,
    *,
    alphas: Any = None,
    cv: Any = 5,
    standardize: bool = True,
    sample_weight: Any = None,
    solver: str = "auto",
    max_iter: int = 1000,
) -> PathCV:
    """Cross-validate the AUC of the exact square-loss fit along a path of alphas.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is positive.
    alphas : array-like of shape (n_alphas,), default=None
        Regularisation strengths; None takes a grid that follows the scale of the data.
    cv : int, cross-validation generator or iterable, default=5
        A number deals the rows of each class out to that many folds, without randomness.
    standardize : bool, default=True
        Penalise the weights of the standardised columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in training and in the AUC.
    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        See :class:`aucmax.AUCClassifier`.
    max_iter : int, default=1000
        Limit of conjugate gradients.

    Returns
    -------
    path : PathCV
        Alphas, AUC by split and alpha, and the best alpha.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import cross_validate_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = cross_validate_path(X, y, alphas=[1.0, 0.1, 0.01])
    >>> path.auc.shape
    (5, 3)
    >>> bool(path.auc.mean(axis=0).max() > 0.99)
    True
    """
    X, y = check_rows(X, y)
    rows = Rows(X, y, find_classes(y), check_weights(sample_weight, X))
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of auto, moments, dual and cg, got {solver!r}.")
    fitting = Fitting(standardize, choose_solver(X) if solver == "auto" else solver, max_iter)
    splits = make_splits(cv, rows)
    whole, problem_of = fitting.problems(rows, splits)
    alphas = whole.default_alphas() if alphas is None else check_alphas(alphas)
    path, _ = score_path(rows, splits, problem_of, alphas)
    return path


def check_alphas(alphas: Any) -> np.ndarray:
    """Return regularisation strengths in decreasing order."""
    alphas = check_array(alphas, ensure_2d=False, dtype=np.float64, input_name="alphas")
    if alphas.ndim != 1 or np.any(alphas < 0):
        raise ValueError(f"alphas must be a sequence of nonnegative numbers, got {alphas!r}.")
    return np.sort(alphas)[::-1]


class Fitting(NamedTuple):
    """How a training set becomes a problem."""

    standardize: bool
    solver: str
    max_iter: int

    def problem(self, rows: Rows) -> Problem:
        """Return the problem of these rows."""
        if self.solver == "moments":
            return MomentProblem(rows.moments()[0], self.standardize)
        return RowProblem(rows, self.standardize, self.solver, self.max_iter)

    def problems(self, rows: Rows, splits: Splits) -> tuple[Problem, Callable[[int], Problem]]:
        """Return the problem of all rows and a function for those of the training sets; from moments, in one pass."""
        if self.solver != "moments" or splits.folds is None:
            return self.problem(rows), lambda k: self.problem(rows.take(splits.pairs[k][0]))
        parts = rows.moments(splits.folds, int(splits.folds.max()) + 1)
        whole = MomentProblem(_merge(parts), self.standardize)
        return whole, lambda k: MomentProblem(_merge(parts[:k] + parts[k + 1 :]), self.standardize)


def _merge(parts: list[ClassMoments]) -> ClassMoments:
    return parts[0].merge(*parts[1:])


def score_path(
    rows: Rows,
    splits: Splits,
    problem_of: Callable[[int], Problem],
    alphas: np.ndarray,
    task: Callable[[str], AbstractContextManager[Any]] = lambda name: nullcontext(),
) -> tuple[PathCV, np.ndarray]:
    """Return the path and, for the best alpha, the held-out score of each row less its model's midpoint.

    The models of the folds differ in where their scores lie, which no AUC sees; the midpoint of the class means
    brings them to one line for the calibration. Rows that are never held out get NaN.
    """
    positive, weights = rows.positive(), rows.sample_weight

    def one_split(k: int) -> tuple[Any, np.ndarray, np.ndarray]:
        test = splits.pairs[k][1]
        problem = problem_of(k)
        W = problem.path(alphas, CV_TOL)
        auc = roc_auc(positive[test], rows.scores(W.T, test), None if weights is None else weights[test])
        return auc, W, problem.midpoint(W)

    results = map_threads(one_split, range(len(splits.pairs)))
    aucs, paths = [], []
    for _ in splits.pairs:
        with task("fold"):
            auc, *weights_and_midpoints = next(results)
            aucs.append(auc)
            paths.append(weights_and_midpoints)
    path = PathCV(alphas, np.array(aucs))
    best = path.best_index
    scores = np.full(rows.n_rows, np.nan)
    for (_, test), (W, midpoints) in zip(splits.pairs, paths, strict=True):
        scores[test] = rows.scores(W[best], test) - midpoints[best]
    return path, scores


# Splits


def make_splits(cv: Any, rows: Rows) -> Splits:
    """Return the splits that `cv` makes of the rows, each with both classes on both sides."""
    positive = rows.positive()
    usable = np.ones(rows.n_rows, dtype=bool) if rows.sample_weight is None else rows.sample_weight > 0
    if cv is None or isinstance(cv, Integral):
        folds = deal_folds(positive, usable, 5 if cv is None else int(cv))
        pairs = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(int(folds.max()) + 1)]
        return Splits(pairs, folds)
    pairs = [
        (_indices(train, rows.n_rows), _indices(test, rows.n_rows))
        for train, test in check_cv(cv, positive, classifier=True).split(np.zeros(rows.n_rows), positive)
    ]
    for k, pair in enumerate(pairs):
        for side, members in zip(("training", "test"), pair, strict=True):
            if len(np.unique(positive[members[usable[members]]])) < 2:
                raise ValueError(
                    f"The {side} rows of split {k} of cv are not of two classes, so they have no AUC: "
                    "use stratified folds."
                )
    return Splits(pairs, _disjoint_folds(pairs, rows.n_rows))


def deal_folds(positive: np.ndarray, usable: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the fold of each row: the usable rows of each class are dealt out in rounds, one to each fold.

    Each round starts at another fold, by steps of the golden ratio. Without randomness, so, neither a sorted file nor
    a periodic one puts what belongs together into one fold. Contiguous folds fail on the first (``docs/defaults.md``:
    up to 0.007 of test AUC lost), dealing without the steps on the second (news20 comes in the order of its 20 groups,
    1 to 20, again and again).
    """
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds}.")
    counts = [int(np.count_nonzero(usable & side)) for side in (~positive, positive)]
    if sum(counts) < n_folds:
        raise ValueError(f"cv={n_folds} folds need at least {n_folds} rows, got {sum(counts)}.")
    if min(counts) < 2:
        raise ValueError(
            f"Cross-validation needs at least two rows of each class, got {counts[1]} positive and "
            f"{counts[0]} negative: set alpha to a number."
        )
    if min(counts) < n_folds:
        warnings.warn(
            f"The rarer class has only {min(counts)} rows, fewer than cv={n_folds}: {min(counts)} folds are used.",
            UserWarning,
            stacklevel=3,
        )
        n_folds = min(counts)
    folds = np.zeros(len(positive), dtype=np.int16)  # rows without weight go anywhere
    for members in (usable & ~positive, usable & positive):
        rank = np.arange(np.count_nonzero(members))
        start = np.floor(n_folds * (GOLDEN_RATIO * (rank // n_folds) % 1))
        folds[members] = (rank + start) % n_folds
    return folds


def _indices(rows: Any, n_rows: int) -> np.ndarray:
    """Return row numbers, also from a mask."""
    return np.arange(n_rows)[rows]


def _disjoint_folds(pairs: list[tuple[np.ndarray, np.ndarray]], n_rows: int) -> np.ndarray | None:
    """Return the fold of each row if every split trains on just what it does not test, and no row is tested twice.

    Rows in no test set form one more fold.
    """
    folds = np.full(n_rows, len(pairs), dtype=np.int16)
    for k, (_, test) in enumerate(pairs):
        folds[test] = k
    if all(np.array_equal(np.sort(train), np.flatnonzero(folds != k)) for k, (train, _) in enumerate(pairs)):
        return folds
    return None
