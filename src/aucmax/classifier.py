"""AUCClassifier, the main estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ._base import MomentClassifier, Progress, all_or_nothing
from ._compat import Interval, StrOptions, _fit_context
from .losses import FITTED
from .models.checks import blended, count
from .rows.protocol import Rows
from .rows.summaries.moments import ClassMoments
from .rows.summaries.scores import ScoreMoments
from .search.calibration import calibrate, calibrate_gaussian
from .search.path_cv import PENALTIES, PathCV, check_alphas, check_loss, check_n_nonzero, choose_from_moments
from .search.search import search, solve_members
from .solvers.candidate import Candidate, Solution
from .solvers.problem import SQUARES, Objective, Problem
from .solvers.square import SOLVERS, MomentProblem


class AUCClassifier(MomentClassifier):
    """Linear classifier that maximises the AUC, with nothing to tune.

    By default it fits many candidates, which differ in loss, scaling and regularisation, compares their AUC on held-out
    rows, and blends the best of them. A blend of linear models is a linear model: `coef_` is one vector. With a loss of
    your choice it is the minimiser of that loss, with the regularisation chosen by cross-validation.

    A pair of a positive row x+ and a negative row x- has the margin t = w.(x+ - x-). With the mean over all pairs, the
    objective is::

        penalty="l2"          mean loss(t) + alpha/2 |w|^2
        penalty="l1"          mean loss(t) + alpha |w|_1
        penalty="elasticnet"  mean loss(t) + alpha (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)

    It is minimised exactly, without a loop over pairs. The square losses need only the moments of the two classes,
    which take one pass over the data. The other losses take a few Newton steps from there. With `n_nonzero`, at most
    that many weights are not 0.

    Parameters
    ----------
    loss : str, default="auto"
        "auto" blends candidates of "squared", "pooled", "balanced_logistic" and "smooth_auc". Where an alpha is given,
        in `partial_fit`, with other penalties than "l2", with `n_nonzero` and with a named solver, "auto" means
        "squared". Losses of a pair with the margin t:

        - "squared": (1 - t)^2 / 2. `partial_fit`, the other penalties and `n_nonzero` need it or "pooled".
        - "pooled": the same, with the pooled covariance instead of one for each class, as in linear discriminant
          analysis and ridge regression. It is better if positives are few.
        - "squared_hinge": max(0, 1 - t)^2 / 2, the rankSVM of truncated Newton methods (BAM).
        - "hinge": max(0, 1 - t), the ranking SVM (SVM-perf, SVM-OR). It needs an alpha above 0.
        - "logistic": log(1 + exp(-t)).
        - "exponential": exp(-t), as in RankBoost.
        - "sigmoid": 1 / (1 + exp(t)), a smooth version of 1 - AUC, made steeper in several steps. It is not convex: the
          search starts at the minimum of "logistic" and never returns weights of a lower training AUC.

        Losses that are no sums over pairs:

        - "balanced_logistic": log(1 + exp(-y (w.x + b))) of single rows with y = +-1, half of the weight in each class:
          logistic regression with balanced classes.
        - "smooth_auc": 1 - AUC, with the step of a pair smoothed over an eighth of the spread of the scores. The search
          starts at the minimum of "balanced_logistic" and takes a few steps.

    selection : {"blend", "best"}, default="blend"
        What to do with the candidates of loss="auto": "blend" adds them greedily, with replacement, while the held-out
        AUC rises; "best" takes the one of the highest held-out AUC. Candidates of columns as they are count only if
        these were chosen, see `standardize`; `cv_results_` has all. With a named loss, the best alpha is taken.

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
        Candidates for alpha. None uses a grid around the mean eigenvalue of the problem, so that it depends on the
        scale of the data. It has one alpha per decade: eight for the square losses, seven for the others, and five for
        the logistic loss of a blend; fewer if there are fewer than four rows for each column, and more while the AUC
        still rises at the smallest. "smooth_auc" has three, two decades apart, and one in a blend.
        With `n_nonzero` there are five decades. For "l1" and "elasticnet" there are ten per decade over three decades
        (one and a half with the solver "cg"). The largest of these is the smallest alpha for which all weights are 0.

    cv : int, cross-validation generator or iterable, default=5
        How candidates are cross-validated. An integer is a number of stratified folds; there are fewer if the rarer
        class has fewer rows. If that class has so few rows that one round of folds would be too noisy, there are two
        rounds, the second from another order of the rows, but not with groups, or if rows and columns are more than
        256. The folds are not random. Candidates are compared on at most 2,500 rows of each class, or ten per column;
        the final fit is to all rows. If there are more, it has a smaller alpha than the candidate that was chosen,
        since the best alpha falls as one over the number of rows (for "l1" and "elasticnet" as one over its root). Not
        used if there is nothing to choose.

    standardize : bool or "auto", default="auto"
        Whether the penalty is on the weights of standardised columns. The data are neither changed nor copied, sparse
        data stay sparse, and `coef_` holds the weights of the original columns. "auto" standardises, except in a blend:
        there the square losses try both, and columns are left as they are if this is better by a standard error.

    solver : {"auto", "moments", "dual", "cg"}, default="auto"
        "moments" factors an n_features x n_features matrix. "dual" factors a matrix of the order of the number of rows.
        "cg" runs conjugate gradients on the rows and forms neither matrix. "auto" chooses the fastest. Fits with "l1",
        "elasticnet" or `n_nonzero` use the whole n_features x n_features matrix with "moments"; with the other two they
        compute only the blocks of the columns that they compare.

    tol : float, default=1e-6
        Tolerance at which iterations stop. The quantity that is compared with it is

        - for losses other than the square ones: the norm of the gradient, relative to that at w = 0;
        - for "hinge": the duality gap, relative to the objective;
        - for "cg": the norm of the residual of the linear system, relative to its right-hand side;
        - for "l1" and "elasticnet": the largest distance of the gradient from the optimality conditions in a column,
          relative to alpha * l1_ratio.

        Candidates are compared at coarser tolerances. The members of a blend that was chosen on a sample of the rows
        have at least 1e-4. The search with `n_nonzero` has no tolerance.

    max_iter : int, default=1000
        The largest number of Newton steps for one alpha, of iterations of "cg", of sweeps of coordinate descent for one
        alpha with "l1" and "elasticnet", or of exchanges of columns for one candidate with `n_nonzero`.

    Attributes
    ----------
    blend_ : dict of arrays
        The members of the blend, the largest share first: "loss", "standardize", "alpha", "share", held-out "auc",
        "spread" and "coef". `coef_` is the sum of share / spread * coef; a single member has its own weights. Only with
        loss="auto".

    cv_auc_ : float
        The AUC on held-out rows, which can be quoted: the whole choice was repeated without each fold and judged on
        that fold. The AUCs that candidates were chosen by are in `cv_results_`; the highest of them is too high. Of
        your own splits, those count whose test rows are all apart from those of another split; NaN if there are none,
        as with a single split. Only after cross-validation.

    cv_auc_ci_ : ndarray of shape (2,)
        The ends of the 95% confidence interval of `cv_auc_`. Rows of a group count as one observation.

    loss_ : str
        The loss that was fitted; "blend" if there are several.

    alpha_ : float
        The alpha that was fitted. Not for a blend of several candidates.

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
        The class moments, from which `partial_fit` continues. Only after a blend or with the losses "squared" and
        "pooled", if the weights were computed from them.

    dual_gap_ : float
        The objective minus a lower bound of its minimum. Only with the loss "hinge".

    history_ : dict of arrays
        How the last fit to all rows converged: the "value" of the objective after each iteration, and

        - for losses other than the square ones and for "cg": the norm of the gradient, "gradient_norm", the length of
          the "step", and the "stage". "hinge", "sigmoid" and "smooth_auc" minimise several objectives, each from the
          minimiser of the one before; "stage" counts them from 0. Values of different stages do not compare.
        - for "l1" and "elasticnet", where an iteration takes a working set of columns: "error", which is what is
          compared with `tol`, "n_columns", and "n_sweeps" of coordinate descent;
        - for `n_nonzero`, where an iteration exchanges two columns: the "gain", by which the value falls.

        Not for the direct solvers, which do not iterate, and blends of several candidates; not kept in model files.

    n_iter_ : int
        Number of Newton steps, iterations of "cg", sweeps or exchanges; 1 for a direct solver.

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
    >>> bool(clf.score(X_test, y_test) > 0.99)
    True

    A model of five columns:

    >>> sparse = AUCClassifier(n_nonzero=5, alphas=[0.1, 0.01, 0.001]).fit(X_train, y_train)
    >>> int((sparse.coef_ != 0).sum()), round(sparse.score(X_test, y_test), 3)
    (5, 0.997)
    """

    _file_schema = MomentClassifier._file_schema | blended("d") | {"n_nonzero_": count}
    _of_search = ("alphas_", "cv_results_", "cv_auc_", "cv_auc_ci_", "blend_")
    _of_rows = (*_of_search, "feature_names_in_")
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "loss": [StrOptions({"auto", *FITTED})],
        "selection": [StrOptions({"blend", "best"})],
        "penalty": [StrOptions(set(PENALTIES))],
        "l1_ratio": [Interval(Real, 0, 1, closed="right")],
        "n_nonzero": [Integral, "array-like", None],
        "alpha": [Interval(Real, 0, None, closed="left"), None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "standardize": ["boolean", StrOptions({"auto"})],
        "solver": [StrOptions(set(SOLVERS))],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "auto",
        *,
        selection: str = "blend",
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        n_nonzero: Any = None,
        alpha: float | None = None,
        alphas: Any = None,
        cv: Any = 5,
        standardize: bool | str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.selection = selection
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
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that cross-validation keeps together, for a `cv` such as
            :class:`sklearn.model_selection.GroupKFold`. With groups, an integer `cv` means
            :class:`sklearn.model_selection.StratifiedGroupKFold`.
        """
        rows, callback_args = self._as_rows(X, y, sample_weight, groups)
        self._fit_rows(rows, **callback_args)
        return self

    def _first_pass_request(self) -> dict[str, Any]:
        return {"columns": True} if self.solver not in ("auto", "moments") else {"moments": True}

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        """Search for a candidate or a blend if there are several, then solve for it."""
        self._forget(*self._of_search, "moments_", "dual_gap_", "history_", "n_nonzero_", "alpha_")
        objective = self._objective(rows.n_features)
        if self.alpha is None or len(objective.n_nonzero or ()) > 1:
            self._fit_searched(rows, objective, Progress(self, callback_args))
            return
        with self._tasks(1, callback_args) as context, self._task(context, "solve"):
            problem = objective.problem(rows)
            w = self._solve(problem, objective, Candidate(float(self.alpha)))
            known = None if problem.moments is None else ScoreMoments.projected(problem.moments, w)
            self._set_calibration(calibrate(lambda: rows.score_histogram(w, known)))

    def _objective(self, n_features: int) -> Objective:
        n_nonzero = check_n_nonzero(self.n_nonzero, self.penalty, n_features)
        loss = check_loss(self.loss, self.penalty, n_nonzero)
        if loss == "auto" and (self.alpha is not None or self.solver != "auto"):
            loss = "squared"
        standardize = self.standardize is not False  # "auto" standardises where there is no blend
        return Objective(loss, self.penalty, self.l1_ratio, n_nonzero, standardize, self.solver, self.max_iter)

    def _fit_searched(self, rows: Rows, objective: Objective, progress: Progress) -> None:
        alphas = self.alphas if self.alpha is None else [self.alpha]
        scaling = None if self.standardize == "auto" else bool(self.standardize)
        blended = objective.loss == "auto" and self.selection == "blend"
        given = None if alphas is None else check_alphas(alphas)
        found = search(rows, objective, scaling, self.cv, given, blended, progress)
        path = PathCV(found.candidates, found.aucs)
        self.alphas_, self.cv_results_ = np.unique(path.alphas)[::-1], path.results()
        self.cv_auc_, self.cv_auc_ci_ = found.auc.auc, np.array(found.auc[1:])
        with progress.task("solve"):
            members = solve_members(rows, found, objective, self.tol)
            w = members.combined()
            self.coef_, self.n_iter_ = w[None, :], members.n_iter
            if members.moments is not None:
                self.moments_ = members.moments
            if objective.loss == "auto":
                self.blend_ = members.table()
            self.loss_ = "blend" if members.is_blend else str(members.candidates[0].loss)
            if not members.is_blend:
                self._keep(members.first, members.candidates[0], objective)
            middle = float(w @ members.center)
            self._set_calibration(calibrate(lambda: found.held_out().scaled(members.unit).shifted(middle)))
        progress.end()

    def _solve(self, problem: Problem, objective: Objective, candidate: Candidate) -> np.ndarray:
        """Solve the problem for a candidate, set the fitted attributes, and return the weights."""
        solution = problem.solve(candidate, self.tol)
        self.coef_, self.loss_, self.n_iter_ = solution.weights[None, :], objective.loss, solution.n_iter
        if problem.moments is not None:
            self.moments_ = problem.moments
        self._keep(solution, candidate, objective)
        return solution.weights

    def _keep(self, solution: Solution, candidate: Candidate, objective: Objective) -> None:
        """Set what is known of a single candidate."""
        self.alpha_ = candidate.alpha
        if objective.n_nonzero is not None:
            self.n_nonzero_ = candidate.n_nonzero or objective.n_nonzero[0]
        else:
            self._forget("n_nonzero_")
        self._forget("dual_gap_", "history_")
        if solution.dual_gap is not None:
            self.dual_gap_ = solution.dual_gap
        if solution.iterations:
            self.history_ = solution.history()

    @available_if(lambda self: self.solver in ("auto", "moments") and self.loss in ("auto", *SQUARES))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> AUCClassifier:
        """Add rows to the class moments and fit all rows so far, exactly.

        Any split of the rows into calls, in any order, gives the weights of one `fit` on all of them with the same
        alpha and number of nonzero weights. If these are not given, the values that an earlier `fit` cross-validated
        are used. If there was none, they are chosen from the moments, since the rows are not kept. For "l2", it
        is the alpha that ranks left-out rows best, and for "l1" and "elasticnet", and among several `n_nonzero`, the
        least AICc decides; both are computed as if the classes were Gaussian.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    def _solve_moments(self, moments: ClassMoments) -> None:
        if self.loss not in ("auto", *SQUARES):
            raise ValueError(f"Class moments are enough for the square loss alone: loss={self.loss!r} needs the rows.")
        loss = "squared" if self.loss == "auto" else self.loss
        objective = self._objective(moments.n_features)._replace(loss=loss, solver="moments")
        nothing_to_choose = self.alpha is not None and len(objective.n_nonzero or ()) < 2
        if hasattr(self, "blend_") or nothing_to_choose:  # the candidates of a blend were of other losses and scalings
            self._forget(*self._of_search)
        self._forget("cv_auc_", "cv_auc_ci_")  # of other rows
        square = objective.of_moments(moments)
        w = self._solve(objective.penalised(square), objective, self._keep_or_choose(square, objective))
        self._set_calibration(calibrate_gaussian(*moments.project(w), moments.weight))

    def _keep_or_choose(self, square: MomentProblem, objective: Objective) -> Candidate:
        """Return the candidate that an earlier fit cross-validated, or else the one that the moments suggest."""
        if hasattr(self, "cv_results_") and getattr(self, "loss_", None) in SQUARES:
            n_nonzero = getattr(self, "n_nonzero_", None)
            if objective.n_nonzero is None or n_nonzero in objective.n_nonzero:
                return Candidate(self.alpha_ if self.alpha is None else float(self.alpha), n_nonzero)
        return choose_from_moments(square, objective, self.alpha, self.alphas)
