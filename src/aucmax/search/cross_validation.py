"""Cross-validation along a regularisation path: one function for rows in memory, in files and anywhere else.

The square loss needs one pass for the moments and one for the scores. The moments of a training set are merged from the
moments of its folds, and one eigendecomposition for each training set serves all alphas. The other losses start from
these solutions. Every AUC is measured on held-out rows.

If only the class moments are known, `choose_from_moments` chooses alpha and the number of nonzero weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from ..losses import FITTED
from ..rows.dispatch import remote_rows
from ..rows.machine import check_columns, map_threads
from ..rows.memory import MemoryRows
from ..rows.protocol import FoldModels, HeldOut, Round, Rows, Split
from ..rows.summaries.moments import ClassMoments
from ..rows.summaries.scores import ScoreHistogram
from ..rows.validate import check_groups, check_rows, check_weights, find_classes
from ..solvers.candidate import Candidate
from ..solvers.problem import SQUARES, Objective, Problem
from ..solvers.square import EPS, SOLVERS, MomentProblem, shrinkage_alpha
from .rounds import make_rounds

# Tolerance of conjugate gradients while alphas are compared. Compared with 1e-6, no AUC on news20 and farm-ads changed
# by more than 0.0002 (0.0011 at the lowest alpha without standardisation).
CV_TOL = 1e-3
# Tolerance of Newton's method. With 1e-3 the smallest alphas stop at the solution of larger ones (segment lost 0.002);
# below 3e-4 only the time changes.
NEWTON_CV_TOL = 3e-4
PENALTIES = ("l2", "l1", "elasticnet")
# Mean AUCs that differ by less are a tie, which the larger alpha wins. No data set is large enough to tell them apart.
# Where a path is flat, rounding would decide: the weights would depend on the number of cores or of blocks.
TIE = 1e-6
RISING = 1e-3  # the rise of the AUC at the end of a grid of alphas that is worth a warning
# Losses other than the square one are cross-validated on at most 10,000 rows of each class, or 10 rows per column.
ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN = 10_000, 10


class PathCV(NamedTuple):
    """A cross-validated path.

    Attributes
    ----------
    candidates : list of Candidate
        The candidates, with decreasing alphas. If the number of nonzero weights or the loss is chosen too, all alphas
        of the first choice come first, then all of the second.
    auc : ndarray of shape (n_splits, n_candidates)
        AUC on the held-out rows.
    """

    candidates: list[Candidate]
    auc: np.ndarray

    @property
    def alphas(self) -> np.ndarray:
        """The alpha of each candidate."""
        return np.array([candidate.alpha for candidate in self.candidates])

    @property
    def best_index(self) -> int:
        """Index of the highest mean AUC; in a tie (within 0.000001), of fewest nonzero weights and largest alpha."""
        mean = self.auc.mean(axis=0)
        return int(np.argmax(mean >= mean.max() - TIE))

    def is_rising(self) -> bool:
        """Return whether the smallest alpha is the best one, and better than the one before by 0.001 or more.

        Returns
        -------
        rising : bool
            Whether smaller alphas should be tried.
        """
        mean = self.auc.mean(axis=0)
        ends = len(self.alphas) > 1 and self.alphas[self.best_index] == self.alphas.min() < self.alphas.max()
        return bool(ends and mean[self.best_index] > mean[self.best_index - 1] + RISING)

    @property
    def best(self) -> Candidate:
        """The candidate of highest mean AUC."""
        return self.candidates[self.best_index]

    def results(self) -> dict[str, Any]:
        """Return the results in the form of scikit-learn's ``cv_results_``.

        Returns
        -------
        results : dict
            Parameters, test scores of each split, their means, standard deviations and ranks.
        """
        mean = self.auc.mean(axis=0)
        table = {"alpha": self.alphas}
        for name in ("loss", "standardize", "n_nonzero"):
            values = [getattr(candidate, name) for candidate in self.candidates]
            if values[0] is not None:
                table[name] = np.array(values)
        rows = zip(*(values.tolist() for values in table.values()), strict=True)
        return {
            **{f"param_{name}": values for name, values in table.items()},
            "params": [dict(zip(table, row, strict=True)) for row in rows],
            **{f"split{k}_test_score": auc for k, auc in enumerate(self.auc)},
            "mean_test_score": mean,
            "std_test_score": self.auc.std(axis=0),
            "rank_test_score": (mean[:, None] < mean[None, :]).sum(axis=1) + 1,
        }


def cross_validate_path(
    X: Any,
    y: Any,
    *,
    loss: str = "squared",
    alphas: Any = None,
    cv: Any = 5,
    standardize: bool = True,
    sample_weight: Any = None,
    groups: Any = None,
    solver: str = "auto",
    max_iter: int = 1000,
    penalty: str = "l2",
    l1_ratio: float = 0.5,
    n_nonzero: Any = None,
) -> PathCV:
    """Cross-validate the AUC of the exact fit along a path of alphas.

    Parameters
    ----------
    X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
        Rows. If it is a Dask collection, so are y, the weights and the groups, with the same partitions. CuPy arrays
        and tensors on a GPU are used there.
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is positive.
    loss : str, default="squared"
        The loss, as for :class:`aucmax.AUCClassifier` but not "auto".
    alphas : array-like of shape (n_alphas,), default=None
        Regularisation strengths; None uses a grid that depends on the scale of the data.
    cv : int, cross-validation generator or iterable, default=5
        How to split the rows. An integer is a number of stratified folds, which are made without randomness. If the
        rarer class has few rows, the folds are made up to ten times, each time from another order of the rows.
    standardize : bool, default=True
        Whether the penalty is on the weights of the standardised columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in training and in the AUC.
    groups : array-like of shape (n_samples,), default=None
        Groups of rows, for a `cv` that keeps groups together. With groups, an integer `cv` means
        :class:`sklearn.model_selection.StratifiedGroupKFold`.
    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        See :class:`aucmax.AUCClassifier`.
    max_iter : int, default=1000
        The largest number of iterations of the solvers that iterate.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        The penalty on the weights, see :class:`aucmax.AUCClassifier`.
    l1_ratio : float, default=0.5
        Share of the L1 norm in the elastic net, above 0 and at most 1.
    n_nonzero : int or array-like of int, default=None
        Numbers of nonzero weights; each is cross-validated with every alpha.

    Returns
    -------
    path : PathCV
        The candidates, the AUC by split and candidate, and the best candidate.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import cross_validate_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = cross_validate_path(X, y, alphas=[1.0, 0.1, 0.01])
    >>> path.auc.shape  # five folds, four times over: there are only 212 rows of the rarer class
    (20, 3)
    >>> bool(path.auc.mean(axis=0).max() > 0.99)
    True
    """
    rows: Rows | None = remote_rows(X, y, sample_weight, groups)
    if rows is None:
        X, y = check_rows(X, y)
        rows = MemoryRows(X, y, find_classes(y), check_weights(sample_weight, X), check_groups(groups, X))
    if loss not in FITTED:
        raise ValueError(f"loss must be one of {', '.join(FITTED)}, got {loss!r}.")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of auto, moments, dual and cg, got {solver!r}.")
    if penalty not in PENALTIES:
        raise ValueError(f"penalty must be one of l2, l1 and elasticnet, got {penalty!r}.")
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be above 0 and at most 1, got {l1_ratio!r}.")
    numbers = check_n_nonzero(n_nonzero, penalty, rows.n_features)
    loss = check_loss(loss, penalty, numbers)
    objective = Objective(loss, penalty, l1_ratio, numbers, standardize, solver, max_iter)
    return cross_validate(rows, objective, cv, None if alphas is None else check_alphas(alphas)).path


def check_alphas(alphas: Any) -> np.ndarray:
    """Return regularisation strengths in decreasing order."""
    # An array already, since scikit-learn 1.6 takes no tuple where array_api_dispatch is on.
    alphas = check_array(np.asarray(alphas), ensure_2d=False, dtype=np.float64, input_name="alphas")
    if alphas.ndim != 1 or np.any(alphas < 0):
        raise ValueError(f"alphas must be a sequence of nonnegative numbers, got {alphas!r}.")
    return np.sort(alphas)[::-1]


def check_n_nonzero(n_nonzero: Any, penalty: str, n_features: int) -> tuple[int, ...] | None:
    """Return the numbers of nonzero weights, increasing and without repetitions, or None for no limit."""
    if n_nonzero is None:
        return None
    if penalty != "l2":
        raise ValueError(f"n_nonzero limits a fit with penalty='l2', got penalty={penalty!r}: set n_nonzero to None.")
    numbers = np.atleast_1d(np.asarray(n_nonzero))
    if numbers.ndim != 1 or not len(numbers) or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"n_nonzero must be an integer or a sequence of integers, got {n_nonzero!r}.")
    for k in numbers.tolist():
        if not 1 <= k <= n_features:
            raise ValueError(f"n_nonzero must be between 1 and the number of columns, {n_features}, got {k}.")
    return tuple(np.unique(numbers).tolist())


def check_loss(loss: str, penalty: str, n_nonzero: tuple[int, ...] | None) -> str:
    """Return the loss; "auto" becomes "squared" with the penalties that only the square loss can have."""
    if penalty == "l2" and n_nonzero is None:
        return loss
    if loss not in ("auto", *SQUARES):
        name, value = ("penalty", penalty) if n_nonzero is None else ("n_nonzero", n_nonzero)
        raise ValueError(f"loss={loss!r} is fitted with penalty='l2' alone, got {name}={value!r}: use loss='squared'.")
    return "squared" if loss == "auto" else loss


class CrossValidation(NamedTuple):
    """The result of a cross-validation."""

    path: PathCV  # the candidates and their AUCs
    whole: Problem  # the problem of all rows
    start: np.ndarray  # (n_features,): the mean of the weights of the folds, for the best candidate
    held_out: HeldOut  # the models of the folds, evaluated on held-out rows
    totals: np.ndarray | None  # (2,): the weight of the classes over all rows, if only a sample was cross-validated

    def histogram(self, midpoint: float) -> ScoreHistogram:
        """Return the histogram of the best candidate's held-out scores, shifted to the midpoint of the final model."""
        found = self.held_out.histogram(self.path.best_index).shifted(midpoint)
        return found if self.totals is None else found.with_totals(self.totals)


Task = Callable[[str], AbstractContextManager[Any]]


def cross_validate(
    rows: Rows, objective: Objective, cv: Any, alphas: np.ndarray | None, begin: Callable[[int], Task] | None = None
) -> CrossValidation:
    """Cross-validate decreasing alphas, by default the grid of the problem of all rows.

    1. Make the rounds of folds, from all rows or, for losses other than the square one, from a sample.
    2. If the solver is "moments", gather the class moments of each part of each round in one pass.
    3. Train on each training set, along the whole path of alphas.
    4. Compute the AUC of each model on its test set.

    `begin` is called with the number of steps. It returns a function that makes the context manager of each step from
    its name.
    """
    objective, sample = objective.on(rows), rows
    if objective.loss not in SQUARES and isinstance(cv, Integral | None):
        sample = rows.sample(max(ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN * rows.n_features))
    rounds = make_rounds(cv, sample)
    jobs = [(round, split, number) for number, round in enumerate(rounds) for split in round.splits]
    task: Task = (lambda name: nullcontext()) if begin is None else begin(len(jobs) + 2)
    with task("moments"):
        parts = sample.fold_moments(rounds) if objective.solver == "moments" else None
        whole = objective.problem(rows, merge(parts[0]) if parts is not None and sample is rows else None)
        by_default, alphas = alphas is None, whole.default_alphas() if alphas is None else alphas
    what = f"The cross-validation of {len(alphas)} alphas on {len(jobs)} training sets with"
    check_columns(rows.n_features, len(alphas) * len(jobs), what, "give alpha=, or leave loss= out")
    tol = CV_TOL if objective.loss in SQUARES else NEWTON_CV_TOL

    def train(job: tuple[Round, Split, int]) -> tuple[np.ndarray, np.ndarray]:
        round, split, number = job
        moments = None if parts is None else merge([parts[number][part] for part in split.train])
        if moments is not None and objective.loss in SQUARES:
            problem = objective.penalised(objective.of_moments(moments))
        else:
            problem = objective.problem(sample.subset(round.parts, split.train), moments)
        W = problem.path(alphas, tol)
        return W, problem.midpoint(W)

    # Training sets in a file are read one after the other: checkpoints identify passes by their order.
    reads = not sample.in_memory and (parts is None or objective.loss not in SQUARES)
    trained, found = (map if reads else map_threads)(train, jobs), []
    for _ in jobs:
        with task("fold"):
            found.append(next(trained))
    with task("scores"):
        models = [join_models(number, round, parts, found) for number, round in enumerate(rounds)]
        held_out = sample.held_out(models)
    path = PathCV(whole.candidates(alphas), held_out.auc)
    if by_default and path.is_rising():
        warn_of_a_rising_path(float(alphas[-1]))
    start = np.mean(np.concatenate([model.weights[:, path.best_index] for model in models]), axis=0)
    return CrossValidation(path, whole, start, held_out, None if sample is rows else rows.totals)


def warn_of_a_rising_path(alpha: float) -> None:
    """Warn that the smallest alpha is the best one."""
    warnings.warn(
        f"The cross-validated AUC is highest for the smallest alpha that was tried, {alpha:.2g}, and still rising "
        "there: try smaller ones with alphas=.",
        UserWarning,
        stacklevel=5,
    )


def join_models(
    number: int, round: Round, parts: list[list[ClassMoments]] | None, found: list[tuple[np.ndarray, np.ndarray]]
) -> FoldModels:
    """Return the models of one round, which are removed from the front of the list."""
    mine = [found.pop(0) for _ in round.splits]
    weights, midpoints = (np.array(values) for values in zip(*mine, strict=True))
    tests = None if parts is None else [merge([parts[number][k] for k in split.test]) for split in round.splits]
    return FoldModels(round, weights, midpoints, tests)


def merge(parts: list[ClassMoments]) -> ClassMoments:
    """Return the moments of all parts together."""
    return parts[0].merge(*parts[1:]) if len(parts) > 1 else parts[0]


def choose_from_moments(square: MomentProblem, objective: Objective, alpha: float | None, alphas: Any) -> Candidate:
    """Return the candidate that the moments suggest.

    If alpha is not given, it comes from the oracle approximating shrinkage if the penalty is L2. For other penalties it
    is one of `alphas` or of the default grid. Among several candidates, the least `information_criterion` wins.
    """
    problem = objective.penalised(square)
    if alpha is not None or objective.penalty == "l2":
        alphas = np.array([shrinkage_alpha(square) if alpha is None else alpha], dtype=np.float64)
    else:
        alphas = problem.default_alphas() if alphas is None else check_alphas(alphas)
    candidates = problem.candidates(alphas)
    if len(candidates) == 1:
        return candidates[0]
    return candidates[int(np.argmin(information_criterion(square.moments, problem.path(alphas, CV_TOL))))]


def information_criterion(moments: ClassMoments, W: np.ndarray) -> np.ndarray:
    """Return Akaike's criterion, corrected for few rows (AICc), of each row of W, as if the classes were Gaussian.

    The log-likelihood gained by weights w is n/2 log(1 + D^2/2), with D^2 = (w.delta)^2 / w'(C_0 + C_1)w and the
    effective number of rows n = 4 / (1/W_0 + 1/W_1). The number of parameters counts the nonzero weights (Zou,
    Hastie and Tibshirani, 2007). On ten data sets it came within 0.01 of the test AUC of cross-validation.
    """
    n = 4 / float(np.sum(1 / moments.weight))
    n_parameters = np.count_nonzero(W, axis=1)
    gaps = W @ moments.delta
    spreads = np.sum([np.einsum("ij,ij->i", W @ S, W) for S in moments.scatter / moments.weight[:, None, None]], axis=0)
    ratio = np.divide(gaps**2, spreads, out=np.zeros(len(W)), where=spreads > EPS * gaps**2)
    room = np.maximum(n - n_parameters - 1, 0)
    price = np.divide(2 * n * n_parameters, room, out=np.full(len(W), np.inf), where=room > 0)
    return price - n * np.log1p(ratio / 2)
