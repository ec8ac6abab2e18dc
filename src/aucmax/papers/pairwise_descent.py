"""The pairwise hinge and logistic losses by gradient descent: the rivals of the Gaussian AUC.

H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear classifiers",
arXiv:1802.02535 (2018), where F_hinge is what the Gaussian AUC is compared with.

Objective
---------
    F(w) = mean over all pairs of l(w.z) + alpha/2 |w|^2,    z = x+ - x-,    l(t) = max(0, 1 - t) or log(1 + exp(-t))

Algorithm 1
-----------
On columns of mean 0 and variance 1:

1. start at w = delta, the difference of the class means, normalised;
2. stop if |grad F(w)| is at most 1e-7 of what it was at the start, or after 250 steps;
3. a = 1; halve a until F(w - a grad F(w)) <= F(w) - 1e-4 a |grad F(w)|^2;
4. w <- w - a grad F(w); go to 2.

A step costs two products with X and, for each a that is tried, a loss in score space: a sort for the hinge, and O(n)
for the logistic loss.

What is not as in the paper
---------------------------
F_hinge is printed with the sign of w.z reversed, and the test of the backtracking with the sign of its last term. Of
the start the paper says that it is the point that F_error starts at, or random where F is convex, as it is here: on
centred columns the first, without its rounding error, is delta. alpha is 0 there.

The hinge has corners, where its subgradient need not point downhill: the descent ends where no a passes the test. This
may be above the minimum, as may the last of 250 steps; :class:`aucmax.SVMOR` and :class:`aucmax.AUCClassifier` have it.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._base import RowsClassifier
from .._compat import Interval, StrOptions
from ..rows.protocol import Rows, Vector
from ..solvers.descent import gradient_descent
from ..solvers.newton import NewtonProblem
from ..solvers.square import RowProblem


class PairwiseDescent(RowsClassifier):
    """Linear classifier by gradient descent with backtracking on a pairwise loss.

    It descends on ``mean loss(w.z) + alpha/2 |w|^2``, the mean over all pairs of a positive row x+ and a negative row
    x-, with z = x+ - x-, and never looks at the pairs themselves (misprints of the paper: docs/guide/misprints.md).

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        The loss of a pair with the margin t: max(0, 1 - t), or log(1 + exp(-t)).

    alpha : float, default=0.0
        Regularisation strength, at least 0.

    standardize : bool, default=True
        Whether the descent is on standardised columns. The data are neither changed nor copied, sparse ones stay
        sparse, and `coef_` is for the columns as they are.

    max_iter : int, default=250
        Limit of steps. With "hinge", whose gradient does not vanish on the way to a minimum, this is where most fits
        end; with "logistic" there is a warning.

    tol : float, default=1e-7
        Where the descent stops: the norm of the gradient over the norm of the first one.

    Attributes
    ----------
    n_iter_ : int
        Steps; 1 where the first led nowhere.

    See Also
    --------
    GaussianAUC : What it was compared with.
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

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "loss": [StrOptions({"hinge", "logistic"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        loss: str = "hinge",
        *,
        alpha: float = 0.0,
        standardize: bool = True,
        max_iter: int = 250,
        tol: float = 1e-7,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol

    def _solve_rows(self, rows: Rows) -> np.ndarray:
        columns = RowProblem(rows, self.standardize, "cg", self.max_iter)
        problem = NewtonProblem(rows, columns, self.loss, self.max_iter)
        advice = "increase max_iter, tol or alpha, or take AUCClassifier for the minimum"
        v, self.n_iter_ = gradient_descent(
            PairwiseObjective(problem, self.alpha),
            columns.delta / problem.size,
            self.max_iter,
            self.tol,
            None if self.loss == "hinge" else advice,
        )
        return v / columns.scale


class PairwiseObjective:
    """F, as :mod:`aucmax.solvers.descent` takes it."""

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
