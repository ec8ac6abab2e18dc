"""AUCClassifier, the front door."""

from __future__ import annotations

import copy
import functools
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from .base import LinearAUCClassifier, all_or_nothing
from .calibration import ScoreGrid, calibrate_gaussian, calibrate_scores, class_statistics
from .data import Rows
from .model_selection import Fitting, check_alphas, make_splits, score_path
from .moments import ClassMoments
from .solvers.squared import SOLVERS, MomentProblem, Problem, choose_solver, shrinkage_alpha
from .validation import find_classes


class AUCClassifier(LinearAUCClassifier):
    """Linear classifier of exactly minimal pairwise loss, with its regularisation chosen by cross-validation.

    It minimises, over all pairs of a positive row x+ and a negative row x-,

        1/2 mean (1 - w.(x+ - x-))^2 + alpha/2 |w|^2

    exactly, from the moments of the two classes: in one pass over the data, with the whole path of alphas and its
    cross-validation at little more than the price of one fit.

    Parameters
    ----------
    loss : {"squared"}, default="squared"
        The loss of a pair.

    penalty : {"l2"}, default="l2"
        The penalty on the weights.

    alpha : float, default=None
        Regularisation strength, at least 0. None chooses it from `alphas` by cross-validated AUC.

    alphas : array-like of shape (n_alphas,), default=None
        Candidates for alpha. None takes two a decade over ten decades around the mean eigenvalue of the problem,
        so that they follow the scale of the data (five decades with the solver "cg").

    cv : int, cross-validation generator or iterable, default=5
        How alpha is cross-validated. A number deals the rows of each class out to that many folds in rounds, without
        randomness; fewer if the rarer class has fewer rows. Not used if alpha is a number.

    standardize : bool, default=True
        Whether the penalty is on the weights of standardised columns. The data are neither changed nor copied,
        sparse ones stay sparse, and `coef_` is for the columns as they are.

    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        "moments" factors an n_features x n_features matrix, "dual" one of the order of the number of rows, "cg"
        runs conjugate gradients on the rows and forms neither; "auto" takes the cheapest.

    tol : float, default=1e-6
        Where "cg" stops: the norm of the residual of the normal equations over that of their right-hand side. While
        alphas are compared it stops at 1e-3.

    max_iter : int, default=1000
        Limit of iterations of "cg".

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights.

    intercept_ : ndarray of shape (1,)
        Puts zero at the score whose probability is the base rate of the training data; AUC does not depend on it.

    classes_ : ndarray of shape (2,)
        The negative and the positive class, sorted.

    alpha_ : float
        The alpha of the weights.

    alphas_ : ndarray of shape (n_alphas,)
        The candidates, decreasing. Only after cross-validation.

    cv_results_ : dict of arrays
        AUC of each candidate on each held-out fold, with the names of :class:`sklearn.model_selection.GridSearchCV`.
        Only after cross-validation.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`. Fitted to held-out scores after
        cross-validation, to training scores if alpha was given, and computed from the class moments by `partial_fit`.

    moments_ : ClassMoments
        The class moments, which `partial_fit` continues from. Only with the solver "moments".

    n_iter_ : int
        Iterations of "cg"; 1 for the solvers that need none.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had them.

    See Also
    --------
    cross_validate_path : The cross-validation by itself.
    ClassMoments : What the exact fit knows of the data.

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
    0.996
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "loss": [StrOptions({"squared"})],
        "penalty": [StrOptions({"l2"})],
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
        loss: str = "squared",
        *,
        penalty: str = "l2",
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
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.standardize = standardize
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AUCClassifier:
        """Fit the weights to all pairs of a positive and a negative row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are used as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger is the positive one.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a weight of 2 is the same as the row twice, 0 the same as leaving it out.

        Returns
        -------
        self : AUCClassifier
            The fitted classifier.
        """
        X, y, sample_weight = self._validate_rows(X, y, sample_weight)
        self._forget("moments_", "alphas_", "cv_results_")
        self.classes_ = find_classes(y)
        rows = Rows(X, y, self.classes_, sample_weight)
        solver = choose_solver(X) if self.solver == "auto" else self.solver
        if self.alpha is None:
            self._fit_cross_validated(rows, solver)
        else:
            self._fit_alpha(rows, solver)
        return self

    def _fit_alpha(self, rows: Rows, solver: str) -> None:
        context = self._init_callback_context(max_subtasks=1).call_on_fit_task_begin(estimator=self, X=rows.X, y=rows.y)
        with self._task(context, "solve"):
            problem = Fitting(self.standardize, solver, self.max_iter).problem(rows)
            w = self._solve(problem, float(self.alpha))  # type: ignore[arg-type]
            if isinstance(problem, MomentProblem):
                statistics = problem.moments.project(w)
            else:
                statistics = class_statistics(rows.scores(w), rows.positive(), rows.sample_weight)
            grid = ScoreGrid.around(*statistics)
            self._set_calibration(calibrate_scores(grid, rows.reduce_scores(w, grid.lay), *statistics))
        context.call_on_fit_task_end(estimator=self, X=rows.X, y=rows.y, reconstruction_attributes={})

    def _fit_cross_validated(self, rows: Rows, solver: str) -> None:
        splits = make_splits(self.cv, rows)
        context = self._init_callback_context(max_subtasks=len(splits.pairs) + 2)
        context.call_on_fit_task_begin(estimator=self, X=rows.X, y=rows.y)
        with self._task(context, "moments"):
            whole, problem_of = Fitting(self.standardize, solver, self.max_iter).problems(rows, splits)
            alphas = whole.default_alphas() if self.alphas is None else check_alphas(self.alphas)
        path, held_out = score_path(rows, splits, problem_of, alphas, functools.partial(self._task, context))
        self.alphas_, self.cv_results_ = path.alphas, path.results()
        with self._task(context, "solve"):
            w = self._solve(whole, path.best_alpha)
            used = np.isfinite(held_out)
            weights = None if rows.sample_weight is None else rows.sample_weight[used]
            held_out = held_out[used] + whole.midpoint(w)
            block = (held_out, rows.positive()[used], weights)
            statistics = class_statistics(*block)
            grid = ScoreGrid.around(*statistics)
            self._set_calibration(calibrate_scores(grid, grid.lay(*block), *statistics))
        context.call_on_fit_task_end(estimator=self, X=rows.X, y=rows.y, reconstruction_attributes={})

    def _solve(self, problem: Problem, alpha: float) -> np.ndarray:
        """Set what is known from the problem and alpha, and return the weights."""
        (w,) = problem.path(np.array([alpha]), self.tol)
        self.coef_, self.alpha_, self.n_iter_ = w[None, :], alpha, problem.n_iter
        if isinstance(problem, MomentProblem):
            self.moments_ = problem.moments
        return w

    @available_if(lambda self: self.solver in ("auto", "moments"))
    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> AUCClassifier:
        """Add rows to the class moments and fit all rows so far, exactly.

        Any split of the rows into calls, in any order, gives the weights of one `fit` on all of them with the same
        alpha. With ``alpha=None`` the alpha is the one that an earlier `fit` cross-validated, or else the oracle
        approximating shrinkage of the moments, since the rows are not kept.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their labels; one class is enough.
        classes : array-like of shape (2,), default=None
            The two classes, needed in the first call if its rows are of one class only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : AUCClassifier
            The classifier; it predicts as soon as both classes have been seen.
        """
        first = not hasattr(self, "classes_")
        X, y, sample_weight = self._validate_rows(X, y, sample_weight, reset=first)
        if first:
            if classes is None:
                found = find_classes(y, "y of this first call (classes=None)")
            else:
                found = find_classes(np.asarray(classes), "classes")
            moments = ClassMoments(X.shape[1], found)
        elif hasattr(self, "moments_"):
            moments = copy.copy(self.moments_)  # `update` binds new arrays and leaves these alone
        else:
            raise ValueError(
                "partial_fit continues from class moments, and the last fit, with more columns than they are made "
                "for, kept none: start with partial_fit on a new estimator, or fit with solver='moments'."
            )
        if classes is not None and not np.array_equal(np.sort(classes), moments.classes):
            raise ValueError(
                f"classes={list(classes)} differ from those of the first call, {moments.classes.tolist()}."
            )
        return self._fit_moments(moments.update(X, y, sample_weight))

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: ClassMoments) -> AUCClassifier:
        """Fit from class moments alone, as `partial_fit` does: gathered elsewhere, merged, loaded.

        Parameters
        ----------
        moments : ClassMoments
            Of both classes.

        Returns
        -------
        self : AUCClassifier
            The fitted classifier.
        """
        moments.check_both_classes()
        self._forget("alphas_", "cv_results_", "feature_names_in_")
        self.n_features_in_ = moments.n_features
        return self._fit_moments(moments.copy())

    def _fit_moments(self, moments: ClassMoments) -> AUCClassifier:
        self.moments_, self.classes_ = moments, moments.classes
        if moments.weight.all():
            problem = MomentProblem(moments, self.standardize)
            alpha = self.alpha
            if alpha is None:
                alpha = self.alpha_ if hasattr(self, "cv_results_") else shrinkage_alpha(problem)
            w = self._solve(problem, float(alpha))
            self._set_calibration(calibrate_gaussian(*moments.project(w), moments.weight))
        return self

    def _forget(self, *attributes: str) -> None:
        for name in attributes:
            self.__dict__.pop(name, None)
