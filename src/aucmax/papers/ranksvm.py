"""BAM, SVM-perf, SVM-OR and LS-SVM: the ranking SVMs, in the papers' own parameters.

- BAM, batch AUC maximisation: Chapelle and Keerthi (2010), Efficient algorithms for ranking with SVMs.
- SVM-perf: Joachims (2005), A support vector method for multivariate performance measures.
- SVM-OR, the ordinal regression SVM: Joachims (2006), Training linear SVMs in linear time.
- LS-SVM, the batch rival of OPAUC in Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization.

Objectives
----------
With z = x+ - x- the difference of a pair, m the number of pairs and l(t) = max(0, 1 - t) the hinge,

    BAM        1/2 |w|^2 + C   sum over the pairs of l(w.z)^2
    SVM-OR     1/2 |w|^2 + C/m sum over the pairs of l(w.z)
    LS-SVM     1/2 |w|^2 + C/m sum over the pairs of (1 - w.z)^2 / 2
    SVM-perf   1/2 |w|^2 + C xi,    w.(Psi(y) - Psi(y')) >= Delta(y') - xi  for every set y' of swapped pairs

with Psi(y) - Psi(y') = 100/m times the sum of z over the swapped pairs, and the loss Delta(y') = 100/m times their
number, the percentage that AUC falls short of 100. The constraint that is violated most swaps the pairs with w.z < 1:
at the optimum xi is 100 times the mean hinge, and SVM-perf with C is SVM-OR with 100 C.

Divided by what the mean loss of a pair is multiplied by, each of them is the objective of :class:`aucmax.AUCClassifier`
with "squared_hinge", "hinge" or "squared", and alpha = 1 / (2 C m), 1 / (100 C) and, for both others, 1 / C. It is
minimised by the solvers of that. LS-SVM has the closed form (C+ + C- + delta delta' + I / C)^-1 delta, with the class
covariances C+ and C-, and delta = m+ - m-: `solvers/square.py`.

What is not as in the papers
----------------------------
BAM is a truncated Newton method there too. SVM-perf and SVM-OR are trained by cutting planes, to a violation of
epsilon; here Newton's method rounds the corner of the hinge off until the duality gap is closed.

Each objective has one minimum, so variant="paper" means no other steps: the columns are unscaled as in the papers.
Otherwise they are standardised, and C is for data of any scale. The pairs of rows with sample weights count as the
products of these, and m is their sum.
"""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

import numpy as np

from .._base import RowsClassifier
from .._compat import Interval
from .._docs import add_sections
from ..models.checks import measured, real
from ..rows.protocol import Rows
from ..solvers.candidate import Candidate
from ..solvers.problem import Objective
from .engine.variant import POSITIVE, VariantMixin
from .registry import PAPERS

# The last sections of the docstrings.
SECTIONS = """References
----------
.. [1] {paper}

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from aucmax import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> clf = {name}().fit(X[:400], y[:400])
>>> round(clf.score(X[400:], y[400:]), 3)
{auc}
"""


class RankSVM(VariantMixin, RowsClassifier):
    """Half the squared norm of the weights and a loss of the pairs; a subclass says which, and what C multiplies.

    Parameters
    ----------
    variant : {"adaptive", "paper"}, default="adaptive"
        "paper" leaves the columns unscaled. The minimum has no other variant.

    tol : float, default=1e-6
        Where the solver stops: with the hinge the duality gap over the objective, with the squared hinge the norm of
        the gradient over that at w = 0, with the square loss the relative residual if it solves by iterations.

    max_iter : int, default=1000
        Limit of iterations.

    Attributes
    ----------
    alpha_ : float
        The alpha of :class:`aucmax.AUCClassifier` that gives the same weights: 1 / C.

    dual_gap_ : float
        With the hinge, the objective less a lower bound of its minimum.

    n_iter_ : int
        Iterations; 1 where none was needed.
    """

    _file_schema = RowsClassifier._file_schema | {"alpha_": real, "dual_gap_": measured}

    C: float = 10.0
    variant: str = "adaptive"
    standardize: bool | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    _parameter_constraints = {"C": [POSITIVE], "tol": [Interval(Real, 0, 1, closed="neither")]}  # noqa: RUF012

    _loss: ClassVar[str]

    def _factor(self, n_pairs: float) -> float:
        """Return what the mean loss of a pair is multiplied by in the objective."""
        return self.C

    def _solve_rows(self, rows: Rows) -> np.ndarray:
        factor = self._factor(float(rows.totals.prod()))
        self.alpha_ = 1 / factor
        objective = Objective(self._loss, standardize=self._chosen("standardize"), max_iter=self.max_iter)
        found = objective.problem(rows).solve(Candidate(self.alpha_), self.tol)
        self.n_iter_ = found.n_iter
        if found.dual_gap is not None:
            self.dual_gap_ = factor * found.dual_gap
        return found.weights


@add_sections(SECTIONS, name="BAM", paper=PAPERS["BAM"], auc="0.999")
class BAM(RankSVM):
    """Batch AUC maximisation: the squared pairwise hinge loss, minimised exactly.

    It minimises ``1/2 |w|^2 + C sum max(0, 1 - w.z)^2`` over all pairs of a positive row x+ and a negative row x-, with
    z = x+ - x-, and never over the pairs themselves.

    Parameters
    ----------
    C : float, default=1e-4
        Weight of the loss, above 0. It multiplies a sum: more rows want a smaller C, some 10 over the number of pairs.

    Attributes
    ----------
    alpha_ : float
        The alpha of :class:`aucmax.AUCClassifier` that gives the same weights: 1 / (2 C) over the number of pairs.

    See Also
    --------
    AUCClassifier : The same loss, with its regularisation chosen by cross-validation.
    NBAM : The same on the features of a Gaussian kernel.
    """

    C: float = 1e-4

    _loss = "squared_hinge"

    def _factor(self, n_pairs: float) -> float:
        return 2 * self.C * n_pairs


@add_sections(SECTIONS, name="SVMPerf", paper=PAPERS["SVM-perf"], auc="0.999")
class SVMPerf(RankSVM):
    """SVM-perf: the support vector machine for multivariate performance measures, with AUC for the measure.

    It minimises ``1/2 |w|^2 + C xi``, xi the least slack with which any pairs swapped score less than the true order by
    as much as they cost, in percent of AUC: 100 times the mean of max(0, 1 - w.z) over all pairs, z = x+ - x-.

    Parameters
    ----------
    C : float, default=0.1
        Weight of the slack, above 0; `-c` of the authors' program, with `-l 10`.

    Attributes
    ----------
    alpha_ : float
        The alpha of :class:`aucmax.AUCClassifier` that gives the same weights: 1 / (100 C).

    See Also
    --------
    SVMOR : The same with 100 times the C.
    AUCClassifier : The same loss, with its regularisation chosen by cross-validation.
    """

    C: float = 0.1

    _loss = "hinge"

    def _factor(self, n_pairs: float) -> float:
        return 100 * self.C


@add_sections(SECTIONS, name="SVMOR", paper=PAPERS["SVM-OR"], auc="0.999")
class SVMOR(RankSVM):
    """SVM-OR: the ordinal regression SVM of two ranks, the pairwise hinge loss minimised exactly.

    It minimises ``1/2 |w|^2 + C mean max(0, 1 - w.z)``, the mean over all pairs, z = x+ - x-.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, above 0.

    See Also
    --------
    SVMPerf : The same with a hundredth of the C.
    AUCClassifier : The same loss, with its regularisation chosen by cross-validation.
    """

    _loss = "hinge"


@add_sections(SECTIONS, name="LSSVM", paper=PAPERS["OPAUC"], auc="0.998")
class LSSVM(RankSVM):
    """LS-SVM: the least squares ranking SVM, the pairwise square loss minimised exactly.

    It minimises ``1/2 |w|^2 + C/2 mean (1 - w.z)^2``, the mean over all pairs, z = x+ - x-.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, above 0: 1 / lambda in the papers.

    See Also
    --------
    OPAUC : The same objective on a stream, in one pass.
    GaussianAUC : The same direction, with its ridge from the moments.
    AUCClassifier : The same loss, with its regularisation chosen by cross-validation.
    """

    _loss = "squared"
