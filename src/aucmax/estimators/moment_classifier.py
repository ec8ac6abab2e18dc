"""Estimators that are functions of the class moments: they can be fitted to streams, exactly, and to given moments."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

from sklearn.base import _fit_context

from ..data.moments import ClassMoments
from ..data.protocol import Rows
from ..data.validation import stream_classes
from .base import LinearAUCClassifier, all_or_nothing


class MomentClassifier(LinearAUCClassifier):
    """A linear classifier that is a function of the class moments: `fit`, `partial_fit` and `fit_moments`.

    A subclass defines `_solve_moments`, which sets `coef_`, `n_iter_` and the calibration.
    """

    # Attributes that a fit to rows sets and a fit to moments does not.
    _of_rows: tuple[str, ...] = ("feature_names_in_",)

    @abstractmethod
    def _solve_moments(self, moments: ClassMoments) -> None:
        """Set the fitted attributes, from moments of both classes."""

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features)
            Training rows; float32, float64 and CSR are not copied. If it is a Dask collection, the other arguments are
            too, with the same partitions. CuPy arrays and tensors on a GPU are used there.
        """
        rows, callback_args = self._as_rows(X, y, sample_weight)
        self._fit_rows(rows, **callback_args)
        return self

    def _first_question(self) -> dict[str, Any]:
        return {"n_folds": 1}

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
        return self._fit_moments(moments.copy())

    def _fit_moments(self, moments: ClassMoments) -> Self:
        self.moments_, self.classes_ = moments, moments.classes
        if moments.weight.all():
            self._solve_moments(moments)
        return self

    def _forget(self, *attributes: str) -> None:
        for name in attributes:
            self.__dict__.pop(name, None)
