"""Reductions of the features by scikit-learn, with fewer components than asked for if the data have no more.

`SelectKBest` and `GaussianRandomProjection` warn when they are asked for more components than there are columns, and
`PCA` and `TruncatedSVD` refuse. A default number of components cannot know the data, so these subclasses lower it. They
also refuse sparse rows whose indices lead out of their arrays, which scikit-learn would follow.
"""

from typing import Any, Self

from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.random_projection import GaussianRandomProjection

from ..data.validation import check_indices


class LimitedMixin:
    """Fits the class of scikit-learn with a lower number of components, and takes over what it fitted."""

    _part: type[BaseEstimator]
    _number = "n_components"

    def _most(self, X: Any) -> int:
        """Return the largest number of components that rows allow."""
        return int(X.shape[1])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their labels.

        Returns
        -------
        self : transformer
            The fitted transformer.
        """
        parameters = self.get_params()  # type: ignore[attr-defined]
        if hasattr(X, "shape"):
            parameters[self._number] = min(parameters[self._number], self._most(X))
        part = self._part(**parameters).fit(check_indices(X), y)
        vars(self).update({name: value for name, value in vars(part).items() if name not in parameters})
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit rows and return their components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their labels.

        Returns
        -------
        components : ndarray of shape (n_samples, n_components)
            The reduced rows.
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> Any:
        """Return the components of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        components : ndarray of shape (n_samples, n_components)
            The reduced rows.
        """
        return super().transform(check_indices(X))  # type: ignore[misc]


class LimitedSelection(LimitedMixin, SelectKBest):
    """`SelectKBest` that takes all columns if there are fewer than k."""

    _part, _number = SelectKBest, "k"


class LimitedProjection(LimitedMixin, GaussianRandomProjection):
    """`GaussianRandomProjection` to at most as many dimensions as there are columns."""

    _part = GaussianRandomProjection


class LimitedPCA(LimitedMixin, PCA):
    """`PCA` with at most as many components as there are rows or columns."""

    _part = PCA

    def _most(self, X: Any) -> int:
        return max(1, min(X.shape) - issparse(X))  # the solver for sparse rows finds all but one


class LimitedSVD(LimitedMixin, TruncatedSVD):
    """`TruncatedSVD` with at most as many components as there are columns."""

    _part = TruncatedSVD
