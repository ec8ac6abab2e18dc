"""What all estimators share: validation, scores, labels, probabilities and progress.

`LinearAUCClassifier` is the base of all. `RowsClassifier` is fitted to all rows at once. `MomentClassifier` is a
function of the class moments, so it can also be fitted to streams, exactly, and to given moments.
"""

from __future__ import annotations

import copy
import functools
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from ._compat import CallbackSupportMixin, _fit_context, end_callbacks
from ._docs import inherit_entries
from .metrics import roc_auc
from .models.checks import FEATURES, Check, array, bins, check_moments, classes, count
from .models.model_file import save_model
from .rows.arrays import by_class, expit, namespace, softplus, to_host, to_numpy
from .rows.dispatch import device_product, predict_where_stored, remote_rows, remote_scores, require_memory
from .rows.machine import check_columns, one_blas_thread
from .rows.memory import MemoryRows, scores_of
from .rows.protocol import Rows
from .rows.summaries.moments import ClassMoments
from .rows.validate import (
    DEVICE_NOT_SUPPORTED,
    canonical,
    check_groups,
    check_indices,
    check_labels,
    check_weights,
    find_classes,
    naming_text,
    refuse_masked,
    stream_classes,
)
from .search.calibration import Calibration, calibrate

# The attributes that predictions need.
PREDICTS = (
    "coef_", "intercept_", "classes_", "calibration_", "n_features_in_", "feature_names_in_",
    "reading_", "columns_", "terms_",  # of tables
)  # fmt: skip

NUMBERS = "biuf"  # kinds of labels that arrays on a device can hold


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a fitting method: if it fails, the estimator is left unchanged, and its callbacks end.

    BLAS has one thread meanwhile, so that the number of threads changes no bit of the weights.
    """

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            try:
                with one_blas_thread():
                    return method(self, *args, **kwargs)
            finally:
                end_callbacks(self)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return wrapper


def lazy_on_dask(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of prediction: for a Dask collection it returns a lazy collection of the same kind."""

    @functools.wraps(method)
    def wrapper(self: Any, X: Any) -> Any:
        return predict_where_stored(method, self, X, PREDICTS)

    return wrapper


def check_finite(scores: np.ndarray) -> np.ndarray:
    """Return the scores of rows; raise a ValueError if one is not a finite number."""
    finite = np.isfinite(scores)
    if not finite.all():
        row = int(finite.argmin())
        raise ValueError(f"X, row {row}: its score is not a finite number: its values or the weights are too large.")
    return scores


# Entries of the docstrings of methods, for all classifiers.
METHODS = """
Parameters
----------
X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
    Rows.
y : array-like of shape (n_samples,)
    Labels of two classes; the larger is the positive one.
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows; a weight of 2 is the same as repeating the row, 0 the same as leaving it out.

Returns
-------
self : estimator
    The fitted classifier.
"""


class LinearAUCClassifier(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """A binary linear classifier whose score is the ROC AUC.

    A subclass defines `_fit_rows`, which sees rows through the protocol alone. It sets `coef_` and calls
    `_set_calibration`, which sets `intercept_` and `calibration_`. Users call `fit` with a matrix, or `fit_rows` with
    anything that implements the protocol.

    What subclasses have in common is documented here and inherited by their docstrings, see `_docs`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights.

    intercept_ : ndarray of shape (1,)
        Puts zero at the score whose probability is the base rate of the training data; AUC does not depend on it.

    classes_ : ndarray of shape (2,)
        The negative and the positive class, sorted.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` in `decision_function`, fitted to the training scores.

    score_bins_ : ndarray of shape (2, n_bins)
        About ten bins of the scores that the calibration was fitted to, for :func:`monitor`: the upper end of each bin,
        and the weight of the rows in it. Class moments and streams have none.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had them.
    """

    # What a model file may hold.
    _file_schema: ClassVar[dict[str, Check]] = {
        **FEATURES,
        "classes_": classes,
        "coef_": array("f", 1, "d"),
        "intercept_": array("f", 1),
        "calibration_": array("f", 2),
        "score_bins_": bins,
        "n_iter_": count,
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherit_entries(cls, METHODS)

    @abstractmethod
    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        """Fit rows of both classes; `callback_args` are the `X` and `y` of `fit`, for callbacks."""

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights to all pairs of a positive and a negative row.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are not copied. If it is a Dask collection, the other arguments are
            too, with the same partitions. CuPy arrays and tensors on a GPU are used there.
        """
        rows, callback_args = self._as_rows(X, y, sample_weight)
        self._fit_rows(rows, **callback_args)
        return self

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_rows(self, rows: Rows) -> Self:
        """Fit rows of any kind: rows of a file, see :func:`aucmax.open_rows`, or your own.

        The rows must implement the protocol :class:`aucmax.rows.protocol.Rows`.

        Parameters
        ----------
        rows : Rows
            The rows.
        """
        parameters = {name: repr(value) for name, value in self.get_params().items()}
        rows.prefetch({"the estimator": type(self).__name__, **parameters}, **self._first_pass_request())
        self._fit_rows(rows)
        self._describe(rows)
        return self

    def _describe(self, rows: Rows) -> None:
        """Set what a fit keeps of the labels and columns."""
        self.classes_, self.n_features_in_ = rows.classes, rows.n_features
        self.__dict__.pop("feature_names_in_", None)
        if rows.feature_names is not None:
            self.feature_names_in_ = np.array(rows.feature_names, dtype=object)

    def _first_pass_request(self) -> dict[str, Any]:
        """Return the arguments of :meth:`aucmax.rows.protocol.Rows.prefetch`: what `_fit_rows` will ask first."""
        return {"columns": True}

    def _as_rows(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> tuple[Rows, dict[str, Any]]:
        """Return the rows of a call of `fit` and the `X` and `y` that callbacks receive; set what is known of them.

        Rows in memory are validated.
        """
        refused = None if self.__sklearn_tags__().array_api_support else DEVICE_NOT_SUPPORTED
        rows = remote_rows(X, y, sample_weight, groups, device_error=refused)
        if rows is not None:
            self._describe(rows)
            return rows, {"X": X, "y": y}
        X, y, sample_weight = self._validate_rows(X, y, sample_weight)
        self.classes_ = find_classes(y)
        return MemoryRows(X, y, self.classes_, sample_weight, check_groups(groups, X)), {"X": X, "y": y}

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any, reset: bool = True) -> tuple[Any, Any, Any]:
        require_memory(X)
        refuse_masked(y=y)
        # Whether X is finite is checked in its moments, which saves a pass over the data.
        with naming_text(X):
            X, y = validate_data(
                self,
                check_indices(X),
                to_host(y),
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
            )
        check_columns(X.shape[1])
        return canonical(X), y, check_weights(sample_weight, X, allow_zero=not reset)

    def _one_row(self, X: Any) -> Any:
        """Return a row of a Dask collection, or of a part of one, of which lazy predictions take their type."""
        return X.reindex([0], fill_value=1.0) if hasattr(X, "reindex") else np.ones((1, X.shape[1]))

    def _set_calibration(self, calibration: Calibration) -> None:
        self.intercept_ = np.array([-calibration.threshold])
        self.calibration_ = np.array([calibration.slope, calibration.base_logit])
        self.__dict__.pop("score_bins_", None)
        if calibration.bins is not None:
            self.score_bins_ = calibration.bins

    @contextmanager
    def _tasks(self, n_tasks: int, callback_args: dict[str, Any]) -> Iterator[Any]:
        """Run a fit of `n_tasks` tasks inside scikit-learn's callbacks; yields the context of the tasks."""
        context = self._init_callback_context(max_subtasks=n_tasks)
        context.call_on_fit_task_begin(estimator=self, **callback_args)
        yield context
        context.call_on_fit_task_end(estimator=self, **callback_args, reconstruction_attributes={})

    @contextmanager
    def _task(self, context: Any, name: str) -> Iterator[None]:
        task = context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=self)
        yield
        task.call_on_fit_task_end(estimator=self)

    @lazy_on_dask
    def decision_function(self, X: Any) -> Any:
        """Return the scores. A larger score means that the row is more likely positive.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``X @ coef_[0] + intercept_``; rows with a score above zero are predicted as positive. As all predictions,
            they are on the device of X.
        """
        check_is_fitted(self, "coef_")
        products = device_product(self, X, self.coef_[0])
        if products is not None:
            return products + float(self.intercept_[0])
        with naming_text(X):
            X = check_indices(X)
            X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(scores_of(X, self.coef_[0]) + self.intercept_[0])

    @lazy_on_dask
    def predict(self, X: Any) -> Any:
        """Return the predicted class of each row.

        A row is predicted as positive if its probability is above the base rate of the training data. If the
        probabilities are calibrated, this threshold has the best balanced accuracy. With rare positives it finds most
        of them, where one half, the threshold of GaussianError and LogisticDescent, would find none.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The predicted classes, each one of `classes_`.
        """
        scores = self.decision_function(X)
        if self.classes_.dtype.kind not in NUMBERS:  # a device has no strings
            scores = to_numpy(scores)
        return by_class(self.classes_, scores > 0)

    @lazy_on_dask
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the two classes, from a logistic curve fitted to the scores.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        logits = self._logits(X)
        return namespace(logits).stack([expit(-logits), expit(logits)], axis=1)

    @lazy_on_dask
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities, without underflow.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, 2)
            In the order of `classes_`.
        """
        logits = self._logits(X)
        return -namespace(logits).stack([softplus(logits), softplus(-logits)], axis=1)

    def _logits(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        slope, base_logit = self.calibration_.tolist()
        return slope * scores + base_logit

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the ROC AUC of the scores, and not the accuracy, so that model selection maximises the AUC.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        auc : float
            Area under the ROC curve.
        """
        scores = self.decision_function(X)
        space = remote_scores(y, sample_weight, self.classes_, scores=scores)
        if space is not None:
            return space.column_aucs()[0]
        y = column_or_1d(y, warn=True)
        check_labels(y, self.classes_)
        return float(roc_auc(y == self.classes_[1], scores, sample_weight))

    def save(self, path: str | os.PathLike[str], moments: bool = True) -> None:
        """Write the fitted classifier to a model file; :func:`aucmax.load_model` reads it.

        Parameters
        ----------
        path : str or path
            The file to write. An existing file is replaced, whole or not at all.
        moments : bool, default=True
            Whether the file holds what `partial_fit` and warm starts continue from, such as the means and covariances
            of the classes. Without, it reveals less of the training rows and is smaller.
        """
        save_model(self, path, moments=moments)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags


inherit_entries(LinearAUCClassifier, METHODS)


class RowsClassifier(LinearAUCClassifier):
    """A linear classifier that is fitted to all rows at once, in one task.

    A subclass defines `_solve_rows`, which returns the weights and sets `n_iter_` and further attributes. The
    calibration is fitted to the training scores.
    """

    @abstractmethod
    def _solve_rows(self, rows: Rows) -> np.ndarray:
        """Return the weights for rows of both classes."""

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        with self._tasks(1, callback_args) as context, self._task(context, "solve"):
            w = self._solve_rows(rows)
            self.coef_ = w[None, :]
            self._set_calibration(self._calibration(rows, w))

    def _calibration(self, rows: Rows, w: np.ndarray) -> Calibration:
        """Return the curve of the probabilities, fitted to the training scores."""
        return calibrate(lambda: rows.score_histogram(w))


class Progress:
    """The tasks of a fit whose number is known only later, as scikit-learn's callbacks see them."""

    def __init__(self, estimator: LinearAUCClassifier, callback_args: dict[str, Any]) -> None:
        self.estimator, self.callback_args = estimator, callback_args

    def begin(self, n_tasks: int) -> None:
        """Begin the fit."""
        self.context = self.estimator._init_callback_context(max_subtasks=n_tasks)
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.callback_args)

    def task(self, name: str) -> Any:
        """Return the context manager of a task."""
        return self.estimator._task(self.context, name)

    def end(self) -> None:
        """End the fit."""
        end = self.context.call_on_fit_task_end
        end(estimator=self.estimator, **self.callback_args, reconstruction_attributes={})


class MomentClassifier(LinearAUCClassifier):
    """A linear classifier that is a function of the class moments: `fit`, `partial_fit` and `fit_moments`.

    A subclass defines `_solve_moments`, which sets `coef_`, `n_iter_` and the calibration.
    """

    _file_schema: ClassVar[dict[str, Check]] = {**LinearAUCClassifier._file_schema, "moments_": check_moments}
    # Attributes that a fit to rows sets and a fit to moments does not.
    _of_rows: tuple[str, ...] = ("feature_names_in_",)

    @abstractmethod
    def _solve_moments(self, moments: ClassMoments) -> None:
        """Set the fitted attributes, from moments of both classes."""

    def _first_pass_request(self) -> dict[str, Any]:
        return {"moments": True}

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        with self._tasks(2, callback_args) as context:
            with self._task(context, "moments"):
                moments = rows.moments()
                moments.check_both_classes()
            with self._task(context, "solve"):
                self._fit_moments(moments)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the class moments and fit all rows so far. Any split of the rows gives the same weights as `fit`.

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
        self : estimator
            The classifier; it can predict as soon as both classes have been seen.
        """
        first = not hasattr(self, "classes_")
        X, y, sample_weight = self._validate_rows(X, y, sample_weight, reset=first)
        known = stream_classes(y, classes, None if first else self.classes_)
        if first:
            moments = ClassMoments(X.shape[1], known)
        elif hasattr(self, "moments_"):
            moments = copy.copy(self.moments_)  # a shallow copy is enough: `update` makes new arrays
        else:
            raise ValueError(
                "partial_fit continues from class moments, and the last fit kept none: start with partial_fit on a new "
                "estimator, or fit with loss='squared' and solver='moments'."
            )
        return self._fit_moments(moments.update(X, y, sample_weight))

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_moments(self, moments: ClassMoments) -> Self:
        """Fit to class moments, which may have been gathered elsewhere, merged, loaded, or known exactly.

        Parameters
        ----------
        moments : ClassMoments
            The moments of both classes.
        """
        moments.check_both_classes()
        self._forget(*self._of_rows)
        self.n_features_in_ = moments.n_features
        if moments.feature_names is not None:
            self.feature_names_in_ = moments.feature_names
        return self._fit_moments(moments.copy())

    def _fit_moments(self, moments: ClassMoments) -> Self:
        self.moments_, self.classes_ = moments, moments.classes
        if hasattr(self, "feature_names_in_"):
            moments.feature_names = self.feature_names_in_
        if moments.weight.all():
            self._solve_moments(moments)
        return self

    def _forget(self, *attributes: str) -> None:
        for name in attributes:
            self.__dict__.pop(name, None)
