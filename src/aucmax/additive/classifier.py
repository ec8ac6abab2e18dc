"""AdditiveAUCClassifier: a curve for each column, levels for categories, pairs of columns."""

from __future__ import annotations

import itertools
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from ..classifier import AUCClassifier
from ..data.dispatch import remote_rows, require_memory
from ..data.memory import MemoryRows
from ..data.protocol import Rows, is_in_memory
from ..data.validation import (
    TooManyColumnsError,
    check_groups,
    check_indices,
    check_weights,
    find_classes,
)
from ..estimators.base import LinearAUCClassifier, all_or_nothing, check_finite, lazy_on_dask
from ..losses import FITTED
from ..selection.calibration import calibrate
from ..selection.optimism import subtract_optimism
from .bins import find_columns
from .coded_blocks import cell_mass, code_rows, summarise_values
from .design import MAX_CELLS, as_dense, draw_sample, encode, make_design
from .frames import find_categorical, find_levels, is_frame, read_frame
from .kernels import gather
from .monotone import Shape, monotone_logistic, monotone_square
from .optimism import find_optimism
from .parameters import read_pairs, read_signs
from .purify import centring, means_of, purification, standard_errors
from .terms import Basis, cell_codes

MAX_COLUMNS = 1024
NEEDS_MEMORY = "AdditiveAUCClassifier needs X in memory, as an array or a dataframe."
OF_SHAPES = ("auto", "squared", "pooled", "balanced_logistic")  # the losses that can be fitted under a shape
# What AUCClassifier sets that is passed on, if it is there.
PASSED_ON = ("loss_", "alpha_", "alphas_", "cv_results_", "blend_", "blend_auc_", "dual_gap_", "n_iter_")


class AdditiveAUCClassifier(LinearAUCClassifier):
    """Additive classifier that maximises the AUC: a curve for each column.

    The score of a row is a sum of curves, each a function of one column, and perhaps of surfaces, each a function of
    two. A curve is a step function over bins of the column, with a bin for missing values; the curve of a category has
    a value for each level. Curves are smoothed by a penalty on the differences of neighbours. How strongly each curve
    is smoothed is found from the marginal likelihood of a logistic model; all strengths together are then scaled by
    cross-validation. In the coordinates in which the penalty is the squared norm, the model is a linear one: it has
    the losses, the paths and the blend of :class:`AUCClassifier`.

    Read more in ``docs/tables.md``.

    Parameters
    ----------
    loss : str, default="auto"
        "auto" is the blend of :class:`AUCClassifier`; the other losses are those listed there.

    alpha : float, default=None
        Scale of all penalties: the objective is loss + alpha / 2 * sum_t strength_t * penalty_t. None to cross-validate
        it.

    alphas : array-like of float, default=None
        The alphas to choose from; None for a default grid.

    cv : int, cross-validation generator or iterable, default=5
        The folds for that choice, as in :class:`AUCClassifier`.

    max_bins : int, default=128
        The largest number of bins of a column, about. Columns have fewer if all together would have more than 1,024.
        A category with more levels than a column may have bins keeps the most frequent ones.

    pairs : {"auto"}, int or list of pairs, default=0
        The pairs of columns that have a surface. A number finds at most so many pairs that clearly act together,
        "auto" all of these. A list has pairs of names or positions.

    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None, default="from_dtype"
        The columns that are categories: a mask, positions or names, as in
        :class:`sklearn.ensemble.HistGradientBoostingClassifier`. With "from_dtype" they are the columns of a dataframe
        whose type is category, or those of levels after ``TableEncoder("codes")``.

    monotonic_cst : array-like of int or dict, default=None
        The shape of curves: 1 to rise, -1 to fall, 0 for any; one for each column, or by name. Curves of a given shape
        are in no pair that is found. The loss must be "auto", which is then "balanced_logistic", or "squared",
        "pooled" or "balanced_logistic". Alpha is that of the model without shapes.

    tol : float, default=1e-6
        Tolerance of the solver, as in :class:`AUCClassifier`.

    max_iter : int, default=1000
        The largest number of its iterations.

    Attributes
    ----------
    columns_ : list of Column
        How the values of each column become codes.

    terms_ : list of Term
        The curves of the columns in their order, then the surfaces of pairs.

    coef_ : ndarray of shape (1, n_cells)
        The values of all curves and surfaces, one after the other. The mean of each over the training rows is 0, and so
        is the value of a category that is new. Surfaces have no main effects: these are in the curves.

    errors_ : ndarray of shape (n_cells,)
        Standard errors of the values as log-odds: of ``calibration_[0] * coef_``.

    mass_ : ndarray of shape (n_cells,)
        The weight of the training rows in each cell.

    strengths_, freedom_ : ndarray of shape (n_terms,)
        The strength of the penalty, and the degrees of freedom of each curve: 0 if it is flat.

    optimism_ : float
        What was subtracted from all held-out AUCs, if anything was cross-validated; see the notes.

    is_categorical_ : ndarray of bool, shape (`n_features_in_`,)
        Which columns are categories.

    categories_ : list
        The levels of each category column of a dataframe; None for other columns.

    intercept_ : ndarray of shape (1,)
        The intercept. A score of zero has the base rate of the training data as its probability.

    blend_ : dict of arrays
        The members of the blend, the largest share first: "loss", "standardize", "alpha", "share", held-out "auc",
        "spread" and "coef", the last in the coordinates of the penalty. Only with loss="auto".

    blend_auc_ : float
        The held-out AUC of the blend. Only with loss="auto".

    loss_ : str
        The loss that was fitted; "blend" if there are several.

    alpha_ : float
        The alpha that was fitted. Not for a blend of several candidates.

    alphas_ : ndarray of shape (n_alphas,)
        The candidates for alpha, decreasing. Only after cross-validation.

    cv_results_ : dict of arrays
        AUC of each candidate on each held-out fold, with the names of :class:`sklearn.model_selection.GridSearchCV`.
        Only after cross-validation.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` as a function of `decision_function`.

    n_iter_ : int
        Number of iterations of the solver; 1 for a direct one.

    See Also
    --------
    AUCClassifier : The linear classifier.

    Notes
    -----
    `score` is the ROC AUC and not the accuracy. Sample weights count as repetitions.

    Rows of a file need not fit into memory: ``fit_rows(open_rows("train.csv", output="codes"))``. The values of each
    column are then summarised in one pass. Up to 65,536 distinct values (fewer with more than 64 columns) the curves
    are those of rows in memory; with more, borders of bins are moved by less than about a thousandth of the rows.

    Strengths and pairs are found on all rows, before the cross-validation, whose models so know something of the labels
    of their test rows. How much this flatters is found by searching strengths and pairs again inside of each fold, with
    coarse bins. All held-out AUCs in `cv_results_`, `blend_` and `blend_auc_` are lower by it: by `optimism_`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier, AUCClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (1000, 3))
    >>> y = X[:, 0] ** 2 + np.sin(3 * X[:, 1]) + rng.normal(size=1000) > 1.5
    >>> clf = AdditiveAUCClassifier().fit(X[:500], y[:500])
    >>> linear = AUCClassifier().fit(X[:500], y[:500])
    >>> bool(clf.score(X[500:], y[500:]) > linear.score(X[500:], y[500:]) + 0.2)
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "loss": [StrOptions({"auto", *FITTED})],
        "alpha": [Interval(Real, 0, None, closed="neither"), None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "max_bins": [Interval(Integral, 2, None, closed="left")],
        "pairs": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), list],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "monotonic_cst": ["array-like", dict, None],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        loss: str = "auto",
        *,
        alpha: float | None = None,
        alphas: Any = None,
        cv: Any = 5,
        max_bins: int = 128,
        pairs: Any = 0,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.alphas = alphas
        self.cv = cv
        self.max_bins = max_bins
        self.pairs = pairs
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.tol = tol
        self.max_iter = max_iter

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> AdditiveAUCClassifier:
        """Fit the curves to all pairs of a positive and a negative row.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe, Dask array} of shape (n_samples, n_features)
            Training rows: numbers, NaN where missing, and categories. Sparse rows are made dense. If X is a Dask array,
            the other arguments are Dask arrays too; :class:`aucmax.TableEncoder` makes one of a Dask dataframe.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that cross-validation keeps together, as in :class:`AUCClassifier`.
        """
        rows = remote_rows(X, y, sample_weight, groups, device_error=NEEDS_MEMORY)
        if rows is not None:
            self._describe(rows)
        else:
            matrix, labels = self._read(X, y, reset=True)
            self.classes_ = find_classes(labels)
            weights = check_weights(sample_weight, matrix)
            rows = MemoryRows(matrix, labels, self.classes_, weights, check_groups(groups, matrix))
        self._fit_rows(rows, X=X, y=y)
        return self

    def _read(self, X: Any, y: Any = "no_validation", reset: bool = False) -> Any:
        """Return X as a float64 matrix, and y if it is given; `reset` sets what is known of the columns."""
        require_memory(X, device_error=NEEDS_MEMORY)
        checks: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
        if not is_frame(X):
            found = validate_data(self, check_indices(X), y, reset=reset, accept_sparse="csr", **checks)
            if not reset:
                return as_dense(found)
            self._set_columns(X, found[0].shape[1])
            return as_dense(found[0]), found[1]
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            self._set_columns(X, X.shape[1])
        matrix = check_array(read_frame(X, self.categories_), **checks)
        return check_X_y(matrix, y, estimator=self, **checks) if reset else matrix

    def _set_columns(self, X: Any, n_features: int) -> None:
        """Set which columns are categories, and their levels."""
        if n_features > MAX_COLUMNS:
            raise TooManyColumnsError(
                f"X has {n_features} columns, and an additive model has at most {MAX_COLUMNS}: use AUCClassifier."
            )
        names = getattr(self, "feature_names_in_", None)
        self.is_categorical_ = find_categorical(X, self.categorical_features, n_features, names)
        self.categories_ = find_levels(X, self.is_categorical_ & is_frame(X))

    def _find_signs(self) -> np.ndarray:
        """Return the shape of each column."""
        signs = read_signs(self.monotonic_cst, self.n_features_in_, getattr(self, "feature_names_in_", None))
        if signs[self.is_categorical_].any():
            raise ValueError("monotonic_cst has a shape for a category, and only numbers can rise or fall.")
        if signs.any() and self.loss not in OF_SHAPES:
            raise ValueError(f"loss={self.loss!r} cannot be fitted with monotonic_cst: use one of {list(OF_SHAPES)}.")
        return signs

    def _first_question(self) -> dict[str, Any]:
        return {}  # values that are missing have no statistics

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        """Fit rows of numbers, NaN where missing, which may come block by block."""
        if "X" not in callback_args or not rows.in_memory:  # `fit` knows the columns of a matrix
            self._describe(rows)
            self._set_columns(rows, rows.n_features)
        with self._tasks(1, callback_args) as context, self._task(context, "solve"):
            self._fit_numbers(rows)

    def _fit_numbers(self, known: Rows) -> None:
        """Find the curves of rows whose columns are known."""
        signs = self._find_signs()
        pairs = read_pairs(self.pairs, self.n_features_in_, getattr(self, "feature_names_in_", None))
        if isinstance(pairs, list) and signs[list(itertools.chain(*pairs))].any():
            raise ValueError("pairs holds a column that monotonic_cst has a shape for: a surface would break it.")
        columns = find_columns(summarise_values(known), self.is_categorical_, self.max_bins, MAX_CELLS)
        sample = draw_sample(known)
        design = make_design(sample, columns, pairs, signs)
        basis = design.basis
        rows = code_rows(known, design.columns, design.terms, basis)
        self.columns_, self.terms_ = design.columns, design.terms
        self.strengths_, self.freedom_ = design.strengths, design.freedom
        self.mass_ = cell_mass(rows)
        u = self._fit_shaped(rows, basis, signs) if signs.any() else self._fit_linear(rows)
        values = basis.values(u)
        for a, column, sign in zip(basis.edges, self.columns_, signs, strict=False):
            if sign:  # the change of basis rounds
                curve = values[a : a + column.n_values]
                curve[:] = sign * np.maximum.accumulate(sign * curve)
        self._set_values(values, design.covariance)
        self.__dict__.pop("optimism_", None)
        if hasattr(self, "cv_results_"):
            folds = self.cv if isinstance(self.cv, Integral) else None
            if is_in_memory(known):  # splits of the user's own are of all rows
                sample, folds = known, self.cv
            self.optimism_ = find_optimism(sample, self.is_categorical_, pairs, signs, folds)
            subtract_optimism(self, self.optimism_)

    def _fit_linear(self, rows: Rows, **changed: Any) -> np.ndarray:
        """Return the coordinates of the linear model."""
        given = {"loss": self.loss, "alpha": self.alpha, "alphas": self.alphas, "cv": self.cv} | changed
        model = AUCClassifier(**given, standardize=False, tol=self.tol, max_iter=self.max_iter)
        model._fit_rows(rows)
        for name in PASSED_ON:
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.intercept_, self.calibration_ = model.intercept_, model.calibration_
        return model.coef_[0]

    def _fit_shaped(self, rows: Rows, basis: Basis, signs: np.ndarray) -> np.ndarray:
        """Return the coordinates of the model whose curves have their shapes."""
        shape = Shape.of(self.terms_, self.columns_, signs)
        alpha = float(1 / rows.totals.sum()) if self.loss == "auto" and self.alpha is None else self.alpha
        loss = "balanced_logistic" if self.loss == "auto" else self.loss
        self._fit_linear(rows, loss=loss, alpha=alpha)
        if loss == "balanced_logistic":
            u, self.n_iter_ = monotone_logistic(rows, basis, shape, self.alpha_, self.tol)
        else:
            u, self.n_iter_ = monotone_square(rows, basis, shape, self.alpha_, loss == "pooled"), 1
        self._set_calibration(calibrate(lambda: rows.score_histogram(u)))
        return u

    def _set_values(self, values: np.ndarray, covariance: np.ndarray) -> None:
        """Set the curves and surfaces: surfaces without main effects, all of mean 0; the intercept has the means."""
        pure = purification(self.terms_, self.mass_)
        values = pure @ values
        means = means_of(self.terms_, self.mass_) @ values
        self.intercept_ = self.intercept_ + means.sum()
        self.coef_ = (values - np.repeat(means, [term.n_cells for term in self.terms_]))[None, :]
        self.errors_ = standard_errors(centring(self.terms_, self.mass_) @ pure, covariance)

    @lazy_on_dask
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores. A larger score means that the row is more likely positive.

        Parameters
        ----------
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The sum of the curves and the intercept; rows with a score above zero are predicted as positive.
        """
        return check_finite(gather(self._cells(X), np.append(self.coef_[0], 0.0)) + self.intercept_[0])

    def _cells(self, X: Any) -> np.ndarray:
        """Return the cell of each row in each term, shape (n_samples, n_terms)."""
        check_is_fitted(self, "coef_")
        return cell_codes(self.terms_, encode(self.columns_, self._read(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.array_api_support = False
        return tags
