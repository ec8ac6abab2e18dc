"""AdditiveAUCClassifier: a curve for each column, levels for categories, pairs of columns.

Frames and arrays become one matrix of numbers: categories become codes, and missing values NaN. What is accepted, and
how categories are named, is as in scikit-learn's `HistGradientBoostingClassifier`. The parameters that name columns,
shapes and pairs, are read first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from .._base import LinearAUCClassifier, all_or_nothing, check_finite, lazy_on_dask
from .._compat import Interval, StrOptions, _fit_context
from ..classifier import AUCClassifier
from ..losses import FITTED
from ..models.checks import TOGETHER, Sizes, absent, array, blended, either, instance, items, number
from ..rows.dispatch import remote_rows, require_memory
from ..rows.memory import MemoryRows
from ..rows.protocol import Rows, is_in_memory
from ..rows.validate import TooManyColumnsError, check_groups, check_indices, check_weights, find_classes, naming_text
from ..search.calibration import calibrate
from ..search.optimism import subtract_optimism
from .bins import check_column, find_columns
from .kernels import gather
from .optimism import find_optimism
from .pairs import MAX_CELLS, as_dense, draw_sample, encode, make_design
from .rows import cell_mass, code_rows, summarise_values
from .shapes import Shape, monotone_logistic, monotone_square
from .terms import Basis, cell_codes, centring, check_term, means_of, purification, standard_errors


def read_signs(given: Any, n_features: int, names: np.ndarray | None) -> np.ndarray:
    """Return the shape of each column from the parameter `monotonic_cst`."""
    signs = np.zeros(n_features, dtype=np.int8)
    if isinstance(given, Mapping):
        for name, sign in given.items():
            signs[position_of(name, "monotonic_cst", n_features, names)] = check_sign(sign)
    elif given is not None:
        if len(given) != n_features:
            raise ValueError(f"monotonic_cst has {len(given)} entries, but X has {n_features} columns: one for each.")
        signs[:] = [check_sign(sign) for sign in given]
    return signs


def check_sign(sign: Any) -> int:
    """Return a shape: -1, 0 or 1."""
    if sign not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst holds {sign!r}: shapes are 1 to rise, -1 to fall and 0 for any.")
    return int(sign)


def read_pairs(given: Any, n_features: int, names: np.ndarray | None) -> Any:
    """Return the parameter `pairs` with positions for names, each pair once."""
    if not isinstance(given, list):
        return given if isinstance(given, str) else int(given)
    found = []
    for pair in given:
        both = {position_of(column, "pairs", n_features, names) for column in pair}
        if len(pair) != 2 or len(both) != 2:
            raise ValueError(f"pairs holds {pair!r}: a pair is two different columns.")
        found.append((min(both), max(both)))
    return sorted(set(found))


LevelNames = list[np.ndarray | None]
ADVICE = 'make_pipeline(TableEncoder("codes"), AdditiveAUCClassifier())'


def is_frame(X: Any) -> bool:
    """Return whether X is a dataframe of pandas, polars or their like."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def find_categorical(X: Any, given: Any, n_features: int, names: np.ndarray | None) -> np.ndarray:
    """Return which columns are categories, as a mask; `given` is the parameter `categorical_features`."""
    mask = np.zeros(n_features, dtype=bool)
    if isinstance(given, str) and given == "from_dtype":
        if getattr(X, "categorical", None) is not None:  # codes of a table
            mask[:] = X.categorical
        elif is_frame(X):
            mask[:] = [str(X[name].dtype).lower().startswith(("category", "categorical", "enum")) for name in X.columns]
        return mask
    chosen = np.asarray([] if given is None else given)
    if chosen.dtype == bool:
        if chosen.shape != (n_features,):
            raise ValueError(
                f"categorical_features is a mask of shape {chosen.shape}, but X has {n_features} columns: "
                "a mask has one entry for each."
            )
        return chosen.copy()
    for each in chosen.tolist():
        mask[position_of(each, "categorical_features", n_features, names)] = True
    return mask


def position_of(column: Any, parameter: str, n_features: int, names: np.ndarray | None) -> int:
    """Return the position of a column that a parameter gives by position or name."""
    if isinstance(column, str):
        if names is None:
            raise ValueError(f"{parameter} names the column {column!r}, but X has no column names: give positions.")
        found = np.flatnonzero(names == column)
        if not len(found):
            raise ValueError(f"{parameter} names the column {column!r}, which X does not have.")
        return int(found[0])
    if not isinstance(column, int) or not 0 <= column < n_features:
        raise ValueError(
            f"{parameter} holds {column!r}: columns are given by name or by a position from 0 to {n_features - 1}."
        )
    return column


def find_levels(X: Any, categorical: np.ndarray) -> LevelNames:
    """Return the levels of each category column of a frame, sorted; None for the other columns."""
    levels: LevelNames = [None] * len(categorical)
    for j in np.flatnonzero(categorical).tolist():
        found = {value for value in entries(X, j) if not is_missing(value)}
        ordered = sorted(found, key=lambda value: (type(value).__name__, value))
        levels[j] = np.fromiter(ordered, object, len(ordered))
    return levels


def read_frame(X: Any, levels: LevelNames) -> np.ndarray:
    """Return a frame as float64 numbers: for a category its place among the levels, NaN if it is missing or new."""
    matrix = np.empty((len(X), len(levels)))
    numbers = [j for j, names in enumerate(levels) if names is None]
    if numbers:
        part = X[[X.columns[j] for j in numbers]]
        with naming_text(part, ADVICE):
            matrix[:, numbers] = check_array(part, dtype=np.float64, ensure_all_finite=False, input_name="X")
    for j, names in enumerate(levels):
        if names is not None:
            places = {value: k for k, value in enumerate(names.tolist())}
            matrix[:, j] = [np.nan if is_missing(value) else places.get(value, np.nan) for value in entries(X, j)]
    return matrix


def entries(X: Any, j: int) -> Iterable[Any]:
    """Return the entries of a column of a frame as Python objects."""
    return np.asarray(X[X.columns[j]].to_numpy(), dtype=object).tolist()


def is_missing(value: Any) -> bool:
    """Return whether an entry is None, NaN or the missing value of pandas."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


MAX_COLUMNS = 1024
NEEDS_MEMORY = "AdditiveAUCClassifier needs X in memory, as an array or a dataframe."
OF_SHAPES = ("auto", "squared", "pooled", "balanced_logistic")  # the losses that can be fitted under a shape
# What AUCClassifier sets that is passed on, if it is there.
PASSED_ON = ("loss_", "alpha_", "alphas_", "cv_results_", "blend_", "cv_auc_", "cv_auc_ci_", "dual_gap_", "n_iter_")


def check_categories(value: Any, where: str, sizes: Sizes) -> None:
    """Check the levels of a category column of a dataframe."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "O" or value.ndim != 1:
        raise ValueError(f"{where} is {value!r:.60}, where an array of levels is expected")
    for level in value:
        instance(str, int, float, bool)(level, where, sizes)


class AdditiveAUCClassifier(LinearAUCClassifier):
    """Additive classifier that maximises the AUC: a curve for each column.

    The score of a row is a sum of curves, each a function of one column, and perhaps of surfaces, each a function of
    two. A curve is a step function over bins of the column, with a bin for missing values; the curve of a category has
    a value for each level. Curves are smoothed by a penalty on the differences of neighbours. How strongly each curve
    is smoothed is found from the marginal likelihood of a logistic model; all strengths together are then scaled by
    cross-validation. In the coordinates in which the penalty is the squared norm, the model is a linear one: it has
    the losses, the paths and the blend of :class:`AUCClassifier`.

    Read more in ``docs/measured/tables.md``.

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
        whose type is category, or columns of levels after ``TableEncoder("codes")``.

    monotonic_cst : array-like of int or dict, default=None
        The shape of curves: 1 to rise, -1 to fall, 0 for any; one for each column, or by name. Curves of a given shape
        are in no pair that is found. The loss must be "auto", which is then "balanced_logistic", or "squared",
        "pooled" or "balanced_logistic". Alpha is taken from the model without shapes.

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

    cv_auc_ : float
        The AUC on held-out rows, minus `optimism_`; see :class:`aucmax.AUCClassifier`.

    cv_auc_ci_ : ndarray of shape (2,)
        The ends of its 95% confidence interval.

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
    are as for rows in memory; with more, borders of bins are moved by less than about a thousandth of the rows.

    Strengths and pairs are found on all rows, before the cross-validation, whose models so know something of the labels
    of their test rows. How much this flatters is found by searching strengths and pairs again inside of each fold, with
    coarse bins. All held-out AUCs in `cv_results_`, `blend_` and `cv_auc_` are lower by it: by `optimism_`.

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

    _file_requires = (
        *TOGETHER, "columns_", "terms_", "strengths_", "freedom_", "errors_", "mass_", "is_categorical_", "categories_",
    )  # fmt: skip
    _file_schema = (
        LinearAUCClassifier._file_schema
        | {
            "columns_": items(check_column, "d"),
            "terms_": items(check_term, "t"),
            "strengths_": array("f", "t"),
            "freedom_": array("f", "t"),
            "coef_": array("f", 1, "K"),
            "errors_": array("f", "K"),
            "mass_": array("f", "K"),
            "is_categorical_": array("b", "d"),
            "categories_": items(either(absent, check_categories), "d"),
            "optimism_": number(float, low=0),
        }
        | blended("K")
    )
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

    def _first_pass_request(self) -> dict[str, Any]:
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

    def _check_file(self, attributes: dict[str, Any], sizes: Sizes) -> None:
        """Raise a ValueError if the columns, terms and values of a model from a file do not belong together."""
        columns, n_cells = attributes["columns_"], 0
        for term in attributes["terms_"]:
            n_cells += math.prod(term.shape)
            for column, group in zip(term.columns, term.groups, strict=True):
                if column >= len(columns) or len(group) != len(columns[column].mass):
                    raise ValueError(f"terms_ of {type(self).__name__} do not belong to its columns")
        if attributes["coef_"].shape[1] != n_cells:
            raise ValueError(
                f"coef_ of {type(self).__name__} has other numbers of cells than its terms, which have {n_cells}"
            )
