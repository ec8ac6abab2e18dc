"""Surrogate losses by gradient descent: the rivals of the Gaussian AUC and of the Gaussian error.

H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear classifiers",
arXiv:1802.02535 (2018), where F_hinge is what the Gaussian AUC is compared with, and F_log what the Gaussian error is.

Objectives
----------
    F_pairs(w)  = mean over all pairs of l(w.(x+ - x-)) + alpha/2 |w|^2,    l(t) = max(0, 1 - t) or log(1 + exp(-t))
    F_log(w, b) = mean over all rows of log(1 + exp(-y (w.x + b))) + alpha/2 |w|^2

Both by Algorithm 1, which `gaussian.py` lists. A step costs two products with X and, for each length that is tried, a
loss in score space: a sort for the hinge, and O(n) for the logistic losses.

variant="paper"
---------------
The start is random, on the unit sphere: the paper says "selected randomly, since the optimization problem is convex".
Columns are unscaled; with ``standardize=True`` they have mean 0 and variance 1, as in its experiments. F_log
has no b. By default F_pairs starts at the difference of the class means, normalised, and F_log at 0.

F_hinge has no penalty there: alpha is 0. F_log has lambda r(w) with lambda = 1/n, read as alpha = 1/n.

The hinge has corners, where its subgradient need not point downhill: the descent ends where no a passes the test. This
may be above the minimum, as may the last of 250 steps; :class:`aucmax.SVMOR` and :class:`aucmax.AUCClassifier` have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._base import RowsClassifier
from .._compat import StrOptions
from ..losses.rowwise import row_terms
from ..models.checks import array, real
from ..rows.arrays import by_class, namespace
from ..rows.protocol import Rows, Targets, Vector
from ..rows.summaries.moments import pooled_std
from ..search.calibration import Calibration
from ..solvers.newton import NewtonProblem
from ..solvers.square import RowProblem, far_shift, near_zero, penalty_scale
from .engine.variant import NOT_NEGATIVE
from .gaussian import DescentMixin


class RowsDescent(DescentMixin, RowsClassifier):
    """A convex loss of rows in memory or elsewhere, by the paper's descent.

    Parameters
    ----------
    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" starts at a random point, on unscaled columns.

    random_state : int, RandomState instance or None, default=None
        What the random start of variant="paper" is drawn from.

    Attributes
    ----------
    n_iter_ : int
        Steps; 1 where the first led nowhere.
    """

    random_state: Any = None

    _parameter_constraints = {"random_state": ["random_state"]}  # noqa: RUF012

    def _start(self, w: np.ndarray) -> np.ndarray:
        """Return where the descent starts: w, or a random point of the unit sphere."""
        if self._is_paper:
            w = check_random_state(self.random_state).standard_normal(len(w))
            w /= np.linalg.norm(w)
        return w


class PairwiseDescent(RowsDescent):
    """Linear classifier by gradient descent with backtracking on a pairwise loss.

    It descends on ``mean loss(w.z) + alpha/2 |w|^2``, the mean over all pairs of a positive row x+ and a negative row
    x-, with z = x+ - x-, and never looks at the pairs themselves (misprints of the paper: docs/guide/misprints.md).

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        The loss of a pair with the margin t: max(0, 1 - t), or log(1 + exp(-t)).

    alpha : float, default=0.0
        Regularisation strength, at least 0.

    max_iter : int, default=250
        Limit of steps. With "hinge", whose gradient does not vanish on the way to a minimum, this is where most fits
        end; with "logistic" there is a warning.

    See Also
    --------
    GaussianAUC : What it was compared with.
    LogisticDescent : The logistic loss of single rows.
    AUCClassifier : The exact minimum of the same objectives.

    References
    ----------
    .. [1] H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear
       classifiers", arXiv:1802.02535 (2018).

    Examples
    --------
    >>> from aucmax import PairwiseDescent
    >>> from aucmax.datasets import make_gaussian
    >>> X, y, _ = make_gaussian("data1", n_samples=1000, n_features=20, random_state=0)
    >>> clf = PairwiseDescent().fit(X[:800], y[:800])
    >>> round(clf.score(X[800:], y[800:]), 2)
    1.0
    """

    loss: str = field(default="hinge", kw_only=False)
    alpha: float = 0.0

    _parameter_constraints = {"loss": [StrOptions({"hinge", "logistic"})], "alpha": [NOT_NEGATIVE]}  # noqa: RUF012

    def _solve_rows(self, rows: Rows) -> np.ndarray:
        columns = RowProblem(rows, self._chosen("standardize"), "cg", self.max_iter)
        problem = NewtonProblem(rows, columns, self.loss, self.max_iter)
        advice = "increase max_iter, tol or alpha, or take AUCClassifier for the minimum"
        start = self._start(columns.delta / problem.size)
        objective = PairwiseObjective(problem, self.alpha)
        return self._descend(objective, start, None if self.loss == "hinge" else advice) / columns.scale


class PairwiseObjective:
    """F_pairs, as :mod:`aucmax.solvers.descent` takes it."""

    def __init__(self, problem: NewtonProblem, alpha: float) -> None:
        self.problem, self.alpha = problem, alpha

    def scores(self, v: np.ndarray) -> Vector:
        """Return the scores of the weights v of the scaled columns."""
        return self.problem.scores(v)

    def evaluate(self, v: np.ndarray, scores: Vector) -> tuple[float, Callable[[], np.ndarray]]:
        """Return F, and a function that returns its gradient."""
        point = self.problem.loss(self.problem.rows, scores)
        value = point.value + self.alpha / 2 * float(v @ v)
        return value, lambda: self.problem.rmatvec(point.gradient) + self.alpha * v


class LogisticDescent(RowsDescent):
    """Logistic regression by gradient descent with backtracking.

    It descends on ``mean log(1 + exp(-y (w.x + b))) + alpha/2 |w|^2``, the mean over all rows, with y = +-1.

    Parameters
    ----------
    alpha : float, default=None
        Regularisation strength, at least 0. None is the paper's 1 over the number of rows.

    fit_intercept : bool, default=None
        Whether there is a b, which has no penalty. None is True, and False with variant="paper".

    Attributes
    ----------
    intercept_ : ndarray of shape (1,)
        b, for the original columns.

    alpha_ : float
        The alpha of the weights.

    priors_ : ndarray of shape (2,)
        The shares of the classes.

    See Also
    --------
    GaussianError : What it was compared with.
    sklearn.linear_model.LogisticRegression : The exact minimum, with C = 1 / (n alpha).

    Notes
    -----
    `decision_function` is the log-odds, and `predict` takes the class whose probability is above one half. `score` is
    the ROC AUC and not the accuracy.

    References
    ----------
    .. [1] H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear
       classifiers", arXiv:1802.02535 (2018).

    Examples
    --------
    >>> from aucmax import LogisticDescent
    >>> from aucmax.datasets import make_gaussian
    >>> X, y, _ = make_gaussian("data1", n_samples=1000, n_features=20, random_state=0)
    >>> clf = LogisticDescent(alpha=0.1, tol=1e-3).fit(X[:800], y[:800])
    >>> float((clf.predict(X[800:]) == y[800:]).mean())
    0.99
    >>> clf.history_["value"][[0, 5, 10]].round(3)
    array([0.486, 0.217, 0.164])
    """

    _file_schema = RowsDescent._file_schema | {"alpha_": real, "priors_": array("f", 2)}
    alpha: float | None = None
    fit_intercept: bool | None = None

    _parameter_constraints = {"alpha": [NOT_NEGATIVE, None], "fit_intercept": ["boolean", None]}  # noqa: RUF012
    _by_variant = {"fit_intercept": (True, False)}  # noqa: RUF012

    def _solve_rows(self, rows: Rows) -> np.ndarray:
        self.priors_ = rows.totals / rows.totals.sum()
        self.alpha_ = float(1 / rows.totals.sum() if self.alpha is None else self.alpha)
        objective = LogisticObjective(rows, self._chosen("standardize"), self._chosen("fit_intercept"), self.alpha_)
        start = self._start(np.zeros(rows.n_features + objective.fit_intercept))
        advice = "increase max_iter, tol or alpha, or take LogisticRegression of scikit-learn"
        w, offset = objective.split(self._descend(objective, start, None if self._is_paper else advice))
        self.intercept_ = np.array([offset - objective.center @ w])
        return w

    def _calibration(self, rows: Rows, w: np.ndarray) -> Calibration:
        return Calibration(-float(self.intercept_[0]), 1.0, 0.0)


class LogisticObjective:
    """F_log of v, the weights of the scaled columns and b, as :mod:`aucmax.solvers.descent` takes it."""

    def __init__(self, rows: Rows, standardize: bool, fit_intercept: bool, alpha: float) -> None:
        self.fit_intercept, self.alpha = fit_intercept, alpha
        self.share = rows.totals / rows.totals.sum()
        means, variances = rows.column_statistics()
        std = pooled_std(rows.totals, means, variances)
        self.scale = penalty_scale(std, standardize)
        self.center = self.share @ means if standardize else np.zeros(rows.n_features)
        shift = far_shift(self.center, std)
        self.rows, self.rest = near_zero(rows, shift), self.center - shift

    def split(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the weights of the unscaled columns, and b."""
        return v[: len(self.scale)] / self.scale, float(v[-1]) if self.fit_intercept else 0.0

    def scores(self, v: np.ndarray) -> Vector:
        """Return w.x + b of each row."""
        w, offset = self.split(v)
        offset -= float(self.rest @ w)
        return self.rows.map(lambda targets, s: s + offset, self.rows.scores(w))

    def evaluate(self, v: np.ndarray, scores: Vector) -> tuple[float, Callable[[], np.ndarray]]:
        """Return F, and a function that returns its gradient."""

        def shares(targets: Targets) -> Any:  # pair weights count both classes alike
            return by_class(self.share, targets.positive)

        rows, penalised = self.rows, v.copy()
        if self.fit_intercept:
            penalised[-1] = 0
        terms = rows.map(row_terms, scores)
        value = rows.reduce(lambda targets, t: float(shares(targets) * targets.pair_weights @ t[0]), terms)

        def gradient() -> np.ndarray:
            slopes = rows.map(lambda targets, t: shares(targets) * targets.signed_weights * t[1], terms)
            of_offset = [rows.reduce(lambda _, g: float(namespace(g).sum(g)), slopes)] if self.fit_intercept else []
            return np.append(rows.rmatvec(slopes, self.rest) / self.scale, of_offset) + self.alpha * penalised

        return value + self.alpha / 2 * float(penalised @ penalised), gradient
