"""Cross-validation along a regularisation path.

The square loss takes one pass for the moments and one for the scores: the moments of a training set are the merge of
those of the other folds, and each training set takes one eigendecomposition for all alphas. The other losses start from
there. Every AUC is the exact one of the held-out rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from ..data.folds import Splits, make_rounds
from ..data.moments import ClassMoments
from ..data.old_rows import Rows
from ..data.threads import map_threads
from ..data.validation import check_rows, check_weights, find_classes
from ..metrics import roc_auc
from ..solvers.square import EPS, SOLVERS, MomentProblem, Problem, RowProblem, choose_solver, shrinkage_alpha
from .calibration import Calibration, calibrate

# Of conjugate gradients while alphas are compared: against 1e-6, no AUC on news20 and farm-ads changed by more than
# 0.0002 (0.0011 at the lowest alpha without standardisation).
CV_TOL = 1e-3
# Of Newton's method: at 1e-3 the smallest alphas end where larger ones did (segment lost 0.002), below 3e-4 nothing
# changes but the time.
NEWTON_CV_TOL = 3e-4
PENALTIES = ("l2", "l1", "elasticnet")
LOSSES = ("squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid")
EITHER = ("squared", "squared_hinge")  # what loss="auto" chooses from
HEAD_START = 1e-4
# Mean AUCs that differ by less are a tie, which the larger alpha wins. No data tell them apart, but rounding does where
# a path is flat: weights would depend on the number of cores, or on whether a file was read by blocks.
TIE = 1e-6
# Losses that are not square are cross-validated on this many rows of each class at most, or so many for each column.
ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN = 10_000, 10


class PathCV(NamedTuple):
    """The cross-validated path.

    Attributes
    ----------
    alphas : ndarray of shape (n_candidates,)
        Regularisation strength of each candidate, decreasing; where the number of nonzero weights is chosen too,
        decreasing for each number.
    auc : ndarray of shape (n_splits, n_candidates)
        AUC on the held-out rows.
    n_nonzero : ndarray of shape (n_candidates,) or None
        Number of nonzero weights of each candidate, increasing.
    loss : ndarray of shape (n_candidates,) or None
        Loss of each candidate, where that is chosen too: all alphas with the first, then with the second.
    """

    alphas: np.ndarray
    auc: np.ndarray
    n_nonzero: np.ndarray | None = None
    loss: np.ndarray | None = None

    @property
    def best_index(self) -> int:
        """Where the mean AUC is highest; of several (within 0.000001), the fewest nonzero weights, the largest alpha.

        The square loss, the cheaper one, is given a head start of 0.0001.
        """
        mean = self.auc.mean(axis=0)
        if self.loss is not None:
            mean = mean + HEAD_START * (self.loss == EITHER[0])
        return int(np.argmax(mean >= mean.max() - TIE))

    @property
    def best_alpha(self) -> float:
        """The alpha of highest mean AUC."""
        return float(self.alphas[self.best_index])

    @property
    def best_n_nonzero(self) -> int | None:
        """The number of nonzero weights of highest mean AUC, or None where it is not limited."""
        return None if self.n_nonzero is None else int(self.n_nonzero[self.best_index])

    @property
    def best_loss(self) -> str | None:
        """The loss of highest mean AUC, or None where there is one only."""
        return None if self.loss is None else str(self.loss[self.best_index])

    def results(self) -> dict[str, Any]:
        """Return the table that scikit-learn calls ``cv_results_``."""
        mean = self.auc.mean(axis=0)
        table = {"alpha": self.alphas}
        if self.loss is not None:
            table["loss"] = self.loss
        if self.n_nonzero is not None:
            table["n_nonzero"] = self.n_nonzero
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
    solver: str = "auto",
    max_iter: int = 1000,
    penalty: str = "l2",
    l1_ratio: float = 0.5,
    n_nonzero: Any = None,
) -> PathCV:
    """Cross-validate the AUC of the exact fit along a path of alphas.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is positive.
    loss : {"auto", "squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid"}, default="squared"
        The loss of a pair, see :class:`aucmax.AUCClassifier`; "auto" goes through the alphas with "squared" and with
        "squared_hinge".
    alphas : array-like of shape (n_alphas,), default=None
        Regularisation strengths; None takes a grid that follows the scale of the data.
    cv : int, cross-validation generator or iterable, default=5
        A number deals the rows of each class out to that many folds, without randomness; up to ten times, each in
        another order, where rows of the rarer class are few.
    standardize : bool, default=True
        Penalise the weights of the standardised columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in training and in the AUC.
    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        See :class:`aucmax.AUCClassifier`.
    max_iter : int, default=1000
        Limit of the solvers that iterate.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        The penalty on the weights, see :class:`aucmax.AUCClassifier`.
    l1_ratio : float, default=0.5
        Share of the L1 norm in the elastic net, above 0, at most 1.
    n_nonzero : int or array-like of int, default=None
        Numbers of nonzero weights, each of them cross-validated with every alpha.

    Returns
    -------
    path : PathCV
        Alphas, AUC by split and candidate, and the best candidate.

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
    X, y = check_rows(X, y)
    rows = Rows(X, y, find_classes(y), check_weights(sample_weight, X))
    if loss not in (*LOSSES, "auto"):
        raise ValueError(f"loss must be one of auto, {', '.join(LOSSES)}, got {loss!r}.")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of auto, moments, dual and cg, got {solver!r}.")
    if penalty not in PENALTIES:
        raise ValueError(f"penalty must be one of l2, l1 and elasticnet, got {penalty!r}.")
    if not 0 < l1_ratio <= 1:
        raise ValueError(f"l1_ratio must be above 0 and at most 1, got {l1_ratio!r}.")
    solver = choose_solver(X) if solver == "auto" else solver
    numbers = check_n_nonzero(n_nonzero, penalty, rows.n_features)
    fitting = Fitting(standardize, solver, max_iter, penalty, l1_ratio, numbers, check_loss(loss, penalty, numbers))
    alphas = None if alphas is None else check_alphas(alphas)
    return cross_validate(rows, fitting, cv, alphas).path


def check_alphas(alphas: Any) -> np.ndarray:
    """Return regularisation strengths in decreasing order."""
    alphas = check_array(alphas, ensure_2d=False, dtype=np.float64, input_name="alphas")
    if alphas.ndim != 1 or np.any(alphas < 0):
        raise ValueError(f"alphas must be a sequence of nonnegative numbers, got {alphas!r}.")
    return np.sort(alphas)[::-1]


def check_n_nonzero(n_nonzero: Any, penalty: str, n_features: int) -> tuple[int, ...] | None:
    """Return the numbers of nonzero weights, increasing and each of them once, or None for no limit."""
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
    """Return the loss; "auto" is the square loss with the penalties that are made for it alone."""
    if penalty == "l2" and n_nonzero is None:
        return loss
    if loss not in ("auto", "squared"):
        name, value = ("penalty", penalty) if n_nonzero is None else ("n_nonzero", n_nonzero)
        raise ValueError(f"loss={loss!r} is fitted with the penalty 'l2' alone, got {name}={value!r}: use 'squared'.")
    return "squared"


class Fitting(NamedTuple):
    """How a training set becomes a problem."""

    standardize: bool
    solver: str
    max_iter: int
    penalty: str = "l2"
    l1_ratio: float = 0.5
    n_nonzero: tuple[int, ...] | None = None
    loss: str = "squared"

    def problem(self, rows: Rows) -> Problem:
        """Return the problem of these rows."""
        if self.solver == "moments":
            square: MomentProblem | RowProblem = MomentProblem(rows.moments()[0], self.standardize)
        else:
            square = RowProblem(rows, self.standardize, self.solver, self.max_iter)
        return self.complete(square, lambda: rows)

    def complete(self, square: MomentProblem | RowProblem, rows: Callable[[], Rows]) -> Problem:
        """Return the problem with its loss and its penalty; what is not square and L2 is compiled, and imported here.

        Only the losses that are not square ask for the rows.
        """
        if self.loss == "squared":
            return self.penalised(square)
        from ..solvers.newton import newton_problem

        if self.loss == "auto":
            return EitherProblem(square, newton_problem(rows(), square, EITHER[1], self.max_iter))
        return newton_problem(rows(), square, self.loss, self.max_iter)

    def penalised(self, loss: MomentProblem | RowProblem) -> Problem:
        """Return the square loss with its penalty."""
        if self.n_nonzero is not None:
            from ..solvers.best_subset import SubsetProblem

            return SubsetProblem(loss, self.n_nonzero, self.max_iter)
        if self.penalty != "l2":
            from ..solvers.elastic_net import LassoProblem

            return LassoProblem(loss, 1.0 if self.penalty == "l1" else self.l1_ratio, self.max_iter)
        return loss

    def problems(self, rows: Rows, splits: Splits) -> tuple[Problem, Callable[[int], Problem]]:
        """Return the problem of all rows and a function for those of the training sets; from moments, in one pass."""

        def take(k: int) -> Rows:
            return rows.take(splits.pairs[k][0])

        if self.solver != "moments" or splits.folds is None:
            return self.problem(rows), lambda k: self.problem(take(k))
        parts = rows.moments(splits.folds, int(splits.folds.max()) + 1)

        def problem_of(k: int) -> Problem:
            square = MomentProblem(merge(parts[:k] + parts[k + 1 :]), self.standardize)
            return self.complete(square, lambda: take(k))

        return self.complete(MomentProblem(merge(parts), self.standardize), lambda: rows), problem_of

    def candidates(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Return alpha, the number of nonzero weights and the loss of each candidate, in the order of a path."""
        if self.n_nonzero is not None:
            return np.tile(alphas, len(self.n_nonzero)), np.repeat(self.n_nonzero, len(alphas)), None
        if self.loss == "auto":
            return np.tile(alphas, len(EITHER)), None, np.repeat(EITHER, len(alphas))
        return alphas, None, None


class EitherProblem:
    """The square loss and the squared hinge on one training set: their paths one after the other.

    Parameters
    ----------
    problems : Problem
        Of the losses, in the order of `EITHER`.
    """

    moments = None
    n_iter = 1

    def __init__(self, *problems: Problem) -> None:
        self.problems = dict(zip(EITHER, problems, strict=True))
        self.default_alphas, self.midpoint = problems[0].default_alphas, problems[0].midpoint

    def path(self, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Return the minimisers for all alphas, those of the square loss first."""
        return np.vstack([problem.path(alphas, tol) for problem in self.problems.values()])


def choose_from_moments(
    loss: MomentProblem, fitting: Fitting, alpha: float | None, alphas: Any
) -> tuple[float, int | None]:
    """Return alpha and the number of nonzero weights for rows that are known by their moments alone.

    An alpha that is not given is the oracle approximating shrinkage if the penalty is L2, and else one of `alphas` or
    of the default grid. What is left to choose has the least `information_criterion`.
    """
    problem = fitting.penalised(loss)
    if alpha is not None or fitting.penalty == "l2":
        alphas = np.array([shrinkage_alpha(loss) if alpha is None else alpha], dtype=np.float64)
    else:
        alphas = problem.default_alphas() if alphas is None else check_alphas(alphas)
    alphas_of, numbers_of, _ = fitting.candidates(alphas)
    best = 0
    if len(alphas_of) > 1:
        best = int(np.argmin(information_criterion(loss.moments, problem.path(alphas, CV_TOL))))
    return float(alphas_of[best]), None if numbers_of is None else int(numbers_of[best])


def information_criterion(moments: ClassMoments, W: np.ndarray) -> np.ndarray:
    """Return Akaike's criterion, corrected for few rows (AICc), of each row of W, the classes taken as Gaussian.

    Weights w gain the log-likelihood n/2 log(1 + D^2/2), D^2 = (w.delta)^2 / w'(C_0 + C_1)w, with n the number of rows
    that the two classes are worth, 4 / (1/W_0 + 1/W_1), and cost as many parameters as they have nonzeros (Zou, Hastie
    and Tibshirani, 2007). On ten data sets it came within 0.01 of the test AUC of cross-validation.
    """
    n = 4 / float(np.sum(1 / moments.weight))
    n_parameters = np.count_nonzero(W, axis=1)
    gaps = W @ moments.delta
    spreads = np.sum([np.einsum("ij,ij->i", W @ S, W) for S in moments.scatter / moments.weight[:, None, None]], axis=0)
    ratio = np.divide(gaps**2, spreads, out=np.zeros(len(W)), where=spreads > EPS * gaps**2)
    room = np.maximum(n - n_parameters - 1, 0)
    price = np.divide(2 * n * n_parameters, room, out=np.full(len(W), np.inf), where=room > 0)
    return price - n * np.log1p(ratio / 2)


def merge(parts: list[ClassMoments]) -> ClassMoments:
    """Return the moments of all parts together."""
    return parts[0].merge(*parts[1:])


class CrossValidation(NamedTuple):
    """What cross-validation finds.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The candidates for alpha.
    path : PathCV
        The AUCs.
    whole : Problem
        The problem of all rows.
    start : ndarray of shape (n_features,)
        The mean of the weights of the folds, for the best candidate.
    calibrate : callable
        Returns the curve of the held-out scores of the best candidate, given the midpoint of the final scores. The
        models of the folds differ in where their scores lie, which no AUC sees; the midpoint of the class means of
        each brings them to one line.
    """

    alphas: np.ndarray
    path: PathCV
    whole: Problem
    start: np.ndarray
    calibrate: Callable[[float], Calibration]


Task = Callable[[str], AbstractContextManager[Any]]


def cross_validate(
    rows: Rows, fitting: Fitting, cv: Any, alphas: np.ndarray | None, begin: Callable[[int], Task] | None = None
) -> CrossValidation:
    """Cross-validate the alphas, by default those of the problem of all rows.

    `begin` is told how many steps there will be, and returns what each of them is wrapped in.
    """
    sample = rows
    if fitting.loss != "squared" and isinstance(cv, Integral | None):
        sample = rows.sample(max(ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN * rows.n_features))
    rounds = make_rounds(cv, sample)
    n_steps = 1 + sum(len(splits.pairs) for splits in rounds)
    task = (lambda name: nullcontext()) if begin is None else begin(n_steps)
    with task("moments"):
        whole, problem_of = fitting.problems(sample, rounds[0])
        if sample is not rows:
            whole = fitting.problem(rows)
        alphas = whole.default_alphas() if alphas is None else alphas
    positive, weights = sample.positive(), sample.sample_weight
    tol = CV_TOL if fitting.loss == "squared" else NEWTON_CV_TOL

    def one_split(test: np.ndarray, problem: Callable[[], Problem]) -> tuple[Any, np.ndarray, np.ndarray]:
        trained = problem()
        W = trained.path(alphas, tol)
        auc = roc_auc(positive[test], sample.scores(W.T, test), None if weights is None else weights[test])
        return auc, W, trained.midpoint(W)

    aucs, models = [], []
    for splits in rounds:
        if splits is not rounds[0]:
            _, problem_of = fitting.problems(sample, splits)
        jobs = [(test, functools.partial(problem_of, k)) for k, (_, test) in enumerate(splits.pairs)]
        results = map_threads(lambda job: one_split(*job), jobs)
        for test, _ in jobs:
            with task("fold"):
                auc, W, midpoints = next(results)
            aucs.append(auc)
            models.append((test, W, midpoints))
    alphas_of, numbers_of, losses_of = fitting.candidates(alphas)
    path = PathCV(alphas_of, np.array(aucs), numbers_of, losses_of)
    best = path.best_index
    totals, times = np.zeros(sample.n_rows), np.zeros(sample.n_rows)
    for test, W, midpoints in models:
        totals[test] += sample.scores(W[best], test) - midpoints[best]
        times[test] += 1
    if sample is not rows:  # the classes weigh what they do in all rows
        shares = (rows.totals() / sample.totals())[positive.astype(np.intp)]
        weights = shares if weights is None else shares * weights
    used = times > 0
    held_out, positive, weights = totals[used] / times[used], positive[used], None if weights is None else weights[used]
    start = np.mean([W[best] for _, W, _ in models], axis=0)
    return CrossValidation(
        alphas, path, whole, start, lambda midpoint: calibrate(held_out + midpoint, positive, weights)
    )
