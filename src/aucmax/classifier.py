"""AUCClassifier, the main estimator."""

from __future__ import annotations

import functools
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from .data.moments import ClassMoments
from .data.protocol import Rows
from .data.scores import ScoreMoments
from .estimators.base import all_or_nothing
from .estimators.moment_classifier import MomentClassifier
from .losses import LOSSES
from .selection.calibration import calibrate, calibrate_gaussian
from .selection.cross_validation import PENALTIES, check_alphas, check_loss, check_n_nonzero, cross_validate
from .selection.from_moments import choose_from_moments
from .solvers.candidate import Candidate
from .solvers.problem import Objective, Problem
from .solvers.square import SOLVERS, MomentProblem


class AUCClassifier(MomentClassifier):
    """Linear classifier that minimises a pairwise loss, with loss and regularisation chosen by cross-validation.

    A pair of a positive row x+ and a negative row x- has the margin t = w.(x+ - x-). With the mean over all pairs, the
    objective is

        mean loss(t) + alpha/2 |w|^2                                             penalty="l2"
                     + alpha |w|_1                                               penalty="l1"
                     + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)           penalty="elasticnet"

    It is minimised exactly, without a loop over pairs. The square loss needs only the moments of the two classes, which
    take one pass over the data. The whole path of alphas and its cross-validation take little longer than one fit. The
    other losses take a few Newton steps from there. With `n_nonzero`, at most that many weights are not 0.

    Parameters
    ----------
    loss : {"auto", "squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid"}, default="auto"
        The loss of a pair with the margin t. "auto" chooses "squared_hinge" if its cross-validated AUC is higher by
        more than 0.0001, and "squared" otherwise. Without cross-validation, in `partial_fit`, with other penalties than
        "l2" and with `n_nonzero`, "auto" means "squared".

        - "squared": (1 - t)^2 / 2. Required by `partial_fit`, by the other penalties and by `n_nonzero`.
        - "squared_hinge": max(0, 1 - t)^2 / 2, the rankSVM of truncated Newton methods (BAM).
        - "hinge": max(0, 1 - t), the ranking SVM (SVM-perf, SVM-OR). It needs an alpha above 0.
        - "logistic": log(1 + exp(-t)).
        - "exponential": exp(-t), as in RankBoost.
        - "sigmoid": 1 / (1 + exp(t)), a smooth version of 1 - AUC, made steeper in several steps. It is not convex: the
          search starts at the minimum of "logistic" and never returns weights of a lower training AUC.

    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        The penalty on the weights. "l1" and "elasticnet" leave many of them exactly 0.

    l1_ratio : float, default=0.5
        Share of the L1 norm in the penalty "elasticnet", above 0 and at most 1.

    n_nonzero : int or array-like of int, default=None
        The number of weights that are not 0 (L0), from 1 to the number of columns; there are fewer only if fewer
        columns are not constant. Cross-validation chooses among several numbers, together with alpha if that is None.
        The search for the best columns stops when no exchange of one column for another lowers the objective. This is
        a local minimum, not always the global one. Only with the penalty "l2".

    alpha : float, default=None
        Regularisation strength, at least 0. None chooses it from `alphas` by cross-validated AUC.

    alphas : array-like of shape (n_alphas,), default=None
        Candidates for alpha. None uses two per decade over ten decades around the mean eigenvalue of the problem, so
        that they depend on the scale of the data (five decades with the solver "cg"); with `n_nonzero`, one per decade
        over five decades. For "l1" and "elasticnet" there are ten per decade over three decades (one and a half with
        the solver "cg"). The largest of these is the smallest alpha for which all weights are 0.

    cv : int, cross-validation generator or iterable, default=5
        How loss, alpha and `n_nonzero` are cross-validated. An integer is a number of stratified folds; there are fewer
        if the rarer class has fewer rows. If that class has so few rows that one round of folds would be too noisy,
        there are up to ten rounds, each from another order of the rows. The folds are not random. With losses other
        than "squared", at most 10,000 rows of each class are used, or ten per column. Not used if there is nothing to
        choose.

    standardize : bool, default=True
        Whether the penalty is on the weights of standardised columns. The data are neither changed nor copied, sparse
        data stay sparse, and `coef_` holds the weights of the original columns.

    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        "moments" factors an n_features x n_features matrix. "dual" factors a matrix of the order of the number of rows.
        "cg" runs conjugate gradients on the rows and forms neither matrix. "auto" chooses the fastest. Fits with "l1",
        "elasticnet" or `n_nonzero` use the whole n_features x n_features matrix with "moments"; with the other two they
        compute only the blocks of the columns that they compare.

    tol : float, default=1e-6
        Tolerance at which iterations stop. The quantity that is compared with it is

        - for losses other than "squared": the norm of the gradient, relative to that at w = 0;
        - for "hinge": the duality gap, relative to the objective;
        - for "cg": the norm of the residual of the linear system, relative to that of its right-hand side;
        - for "l1" and "elasticnet": the largest distance of the gradient from the optimality conditions in a column,
          relative to alpha * l1_ratio.

        During cross-validation the tolerance is 1e-3, and 3e-4 for Newton's method. The search with `n_nonzero` has no
        tolerance.

    max_iter : int, default=1000
        The largest number of Newton steps for one alpha, of iterations of "cg", of sweeps of coordinate descent for one
        alpha with "l1" and "elasticnet", or of exchanges of columns for one candidate with `n_nonzero`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights.

    intercept_ : ndarray of shape (1,)
        The intercept. A score of zero has the base rate of the training data as its probability. The AUC does not
        depend on it.

    classes_ : ndarray of shape (2,)
        The negative and the positive class, sorted.

    loss_ : str
        The loss that was fitted.

    alpha_ : float
        The alpha that was fitted.

    n_nonzero_ : int
        The value of `n_nonzero` that was fitted. Only if it was given.

    alphas_ : ndarray of shape (n_alphas,)
        The candidates for alpha, decreasing. Only after cross-validation.

    cv_results_ : dict of arrays
        AUC of each candidate on each held-out fold, with the names of :class:`sklearn.model_selection.GridSearchCV`.
        Only after cross-validation.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` as a function of `decision_function`. They are fitted to
        held-out scores after cross-validation and to training scores if alpha was given. `partial_fit` computes them
        from the class moments.

    moments_ : ClassMoments
        The class moments, from which `partial_fit` continues. Only with the loss "squared" and the solver "moments".

    dual_gap_ : float
        The objective minus a lower bound of its minimum. Only with the loss "hinge".

    n_iter_ : int
        Number of Newton steps, iterations of "cg", sweeps or exchanges; 1 for a direct solver.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X had them.

    See Also
    --------
    cross_validate_path : The cross-validation by itself.
    ClassMoments : All that the exact fit needs to know about the data.
    pairwise_loss : The losses by themselves.

    Notes
    -----
    `score` is the ROC AUC and not the accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import train_test_split
    >>> from aucmax import AUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = AUCClassifier().fit(X_train, y_train)
    >>> round(clf.score(X_test, y_test), 3)
    0.994

    A model of five columns:

    >>> sparse = AUCClassifier(n_nonzero=5).fit(X_train, y_train)
    >>> int((sparse.coef_ != 0).sum()), round(sparse.score(X_test, y_test), 3)
    (5, 0.997)
    """

    _of_rows = ("alphas_", "cv_results_", "feature_names_in_")
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "loss": [StrOptions({"auto", *LOSSES})],
        "penalty": [StrOptions(set(PENALTIES))],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "n_nonzero": [Integral, "array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "standardize": ["boolean"],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "auto",
        *,
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        n_nonzero: Any = None,
        alpha: float | None = None,
        alphas: Any = None,
        cv: Any = 5,
        standardize: bool = True,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.n_nonzero = n_nonzero
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> AUCClassifier:
        """Fit the weights to all pairs of a positive and a negative row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are not copied.
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger is the positive one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as repeating the row, 0 the same as leaving it out.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that cross-validation keeps together, for a `cv` such as
            :class:`sklearn.model_selection.GroupKFold`. With groups, an integer `cv` means
            :class:`sklearn.model_selection.StratifiedGroupKFold`.

        Returns
        -------
        self : AUCClassifier
            The fitted classifier.
        """
        rows = self._enter(X, y, sample_weight, groups)
        self._fit_rows(rows, X=rows.X, y=rows.y)
        return self

    def _first_question(self) -> dict[str, Any]:
        if self.solver not in ("auto", "moments"):
            return {"columns": True}
        chosen = self.alpha is None or np.size(self.n_nonzero) > 1
        made_for_square = self.penalty != "l2" or self.n_nonzero is not None
        square = self.loss == "squared" or (self.loss == "auto" and made_for_square)
        folds = 5 if self.cv is None else self.cv
        return {"n_folds": int(folds) if chosen and square and isinstance(folds, Integral) else 1}

    def _fit_rows(self, rows: Rows, **told: Any) -> None:
        """Choose a candidate if there are several, then solve for it."""
        self._forget("moments_", "alphas_", "cv_results_", "dual_gap_")
        objective = self._objective(rows.n_features)
        if self.alpha is None or len(objective.n_nonzero or ()) > 1:
            self._fit_cross_validated(rows, objective, told)
        else:
            self._fit_given(rows, objective, told)

    def _objective(self, n_features: int) -> Objective:
        n_nonzero = check_n_nonzero(self.n_nonzero, self.penalty, n_features)
        loss = check_loss(self.loss, self.penalty, n_nonzero)
        return Objective(loss, self.penalty, self.l1_ratio, n_nonzero, self.standardize, self.solver, self.max_iter)

    def _fit_given(self, rows: Rows, objective: Objective, told: dict[str, Any]) -> None:
        if objective.loss == "auto":
            objective = objective._replace(loss="squared")
        with self._tasks(1, told) as context, self._task(context, "solve"):
            problem = objective.problem(rows)
            w = self._solve(problem, objective, Candidate(float(self.alpha)))  # type: ignore[arg-type]
            known = None if problem.moments is None else ScoreMoments.projected(problem.moments, w)
            self._set_calibration(calibrate(lambda: rows.score_histogram(w, known)))

    def _fit_cross_validated(self, rows: Rows, objective: Objective, told: dict[str, Any]) -> None:
        context: Any = None

        def begin(n_steps: int) -> Any:
            nonlocal context
            context = self._init_callback_context(max_subtasks=n_steps + 1)
            context.call_on_fit_task_begin(estimator=self, **told)
            return functools.partial(self._task, context)

        alphas = self.alphas if self.alpha is None else [self.alpha]
        found = cross_validate(rows, objective, self.cv, None if alphas is None else check_alphas(alphas), begin)
        self.alphas_, self.cv_results_ = np.unique(found.path.alphas)[::-1], found.path.results()
        with self._task(context, "solve"):
            w = self._solve(found.whole, objective, found.path.best, found.start)
            self._set_calibration(calibrate(lambda: found.histogram(float(found.whole.midpoint(w)))))
        context.call_on_fit_task_end(estimator=self, **told, reconstruction_attributes={})

    def _solve(
        self, problem: Problem, objective: Objective, candidate: Candidate, start: np.ndarray | None = None
    ) -> np.ndarray:
        """Solve the problem for a candidate, set the fitted attributes, and return the weights."""
        w, self.n_iter_, gap, moments = problem.solve(candidate, self.tol, start)
        self.coef_, self.alpha_, self.loss_ = w[None, :], candidate.alpha, candidate.loss or objective.loss
        self._forget("n_nonzero_")
        if objective.n_nonzero is not None:
            self.n_nonzero_ = candidate.n_nonzero or objective.n_nonzero[0]
        if gap is not None:
            self.dual_gap_ = gap
        if moments is not None:
            self.moments_ = moments
        return w

    @available_if(lambda self: self.solver in ("auto", "moments") and self.loss in ("auto", "squared"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> AUCClassifier:
        """Add rows to the class moments and fit all rows so far, exactly.

        Any split of the rows into calls, in any order, gives the weights of one `fit` on all of them with the same
        alpha and number of nonzero weights. If these are not given, the values that an earlier `fit` cross-validated
        are used. If there was none, they are chosen from the moments, since the rows are not kept. For "l2", alpha
        comes from the oracle approximating shrinkage. For "l1" and "elasticnet", and among several `n_nonzero`, the
        least AICc decides, computed as if the classes were Gaussian.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their labels; rows of one class are enough.
        classes : array-like of shape (2,), default=None
            The two classes; required in the first call if its rows are of one class only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : AUCClassifier
            The classifier; it can predict as soon as both classes have been seen.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    def _solve_moments(self, moments: ClassMoments) -> None:
        if self.loss not in ("auto", "squared"):
            raise ValueError(f"Class moments are enough for the square loss alone: loss={self.loss!r} needs the rows.")
        objective = self._objective(moments.n_features)._replace(loss="squared", solver="moments")
        square = MomentProblem(moments, self.standardize)
        w = self._solve(objective.penalised(square), objective, self._keep_or_choose(square, objective))
        self._set_calibration(calibrate_gaussian(*moments.project(w), moments.weight))

    def _keep_or_choose(self, square: MomentProblem, objective: Objective) -> Candidate:
        """Return the candidate that an earlier fit cross-validated, or else the one that the moments suggest."""
        if hasattr(self, "cv_results_"):
            n_nonzero = getattr(self, "n_nonzero_", None)
            if objective.n_nonzero is None or n_nonzero in objective.n_nonzero:
                return Candidate(self.alpha_ if self.alpha is None else float(self.alpha), n_nonzero)
        return choose_from_moments(square, objective, self.alpha, self.alphas)
