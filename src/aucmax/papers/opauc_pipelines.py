"""OPAUCf, OPAUCrp and OPAUCpca: OPAUC on fewer features, the rivals of OPAUCr.

Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization. Pipelines of scikit-learn's parts: 1,000 features drawn at
random, a Gaussian random projection, or the principal components, followed by OPAUC with full covariances. A projection
mixes columns, so they are divided by their standard deviations first, unless variant="paper" is given.

In a stream (`partial_fit`) the first call fixes the features. The drawn ones depend on no rows; the scales and the
principal components are found from its rows, of which there should be many more than components.

The reductions take fewer components than asked for where the data have no more: a default number cannot know the data.
scikit-learn's `SelectKBest` and `GaussianRandomProjection` would warn, `PCA` and `TruncatedSVD` refuse. The reductions
also refuse sparse rows whose indices lead out of their arrays, which scikit-learn would follow, and rows so wide that
the components would not fit into memory.
"""

from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils import check_random_state

from .._docs import add_sections
from ..rows.machine import check_columns, one_blas_thread
from ..rows.validate import check_indices
from .engine.stream_pipeline import StreamPipeline
from .kernel_pipelines import ColumnScaler
from .opauc import OPAUC

# A component is rounding if its standard deviation is at most so many times the rounding of a row's norm.
ROUNDING = 100

# What the docstrings of the pipelines share.
SECTIONS = """Parameters
----------
n_components : int, default=1000
    {number}
random_state : int, RandomState instance or None, default=None
    What {random} and the order of the rows are drawn from.
**parameters
    Of :class:`aucmax.OPAUC`.

Returns
-------
pipeline : StreamPipeline
    With the steps {steps} and "opauc"; `partial_fit` finds the steps before "opauc" in the rows of its first call.

Examples
--------
>>> from sklearn.datasets import load_breast_cancer
>>> from aucmax import {name}
>>> X, y = load_breast_cancer(return_X_y=True)
>>> {name}(20, random_state=0).fit(X, y)["opauc"].n_features_in_
20
"""
CENTER = """
center : bool, default=True
    Whether columns are centred first. Without, the components come from `TruncatedSVD`: on sparse rows of many
    columns they hardly differ, the first aside, and are found many times faster."""


@add_sections(
    SECTIONS,
    name="OPAUCf",
    number="Number of features; all, if there are fewer.",
    random="the features",
    steps='"select"',
)
def OPAUCf(n_components: int = 1000, *, random_state: Any = None, **parameters: Any) -> StreamPipeline:
    """Return a pipeline of features drawn at random and `OPAUC`."""
    draw = LimitedSelection(partial(_random_scores, random_state=random_state), k=n_components)
    return StreamPipeline([("select", draw), ("opauc", OPAUC(random_state=random_state, **parameters))])


@add_sections(
    SECTIONS,
    name="OPAUCrp",
    number="Number of dimensions; at most the number of columns is used.",
    random="the projection",
    steps='"scale", "project"',
)
def OPAUCrp(n_components: int = 1000, *, random_state: Any = None, **parameters: Any) -> StreamPipeline:
    """Return a pipeline of a Gaussian random projection and `OPAUC`."""
    project = LimitedProjection(n_components, random_state=random_state)
    opauc = OPAUC(random_state=random_state, **parameters)
    scale = "passthrough" if opauc.variant == "paper" else ColumnScaler(with_mean=False)
    return StreamPipeline([("scale", scale), ("project", project), ("opauc", opauc)])


@add_sections(
    SECTIONS,
    name="OPAUCpca",
    number="Number of components; at most the number of rows or columns is used." + CENTER,
    random="the components (if found at random)",
    steps='"pca"',
)
def OPAUCpca(
    n_components: int = 1000, *, center: bool = True, random_state: Any = None, **parameters: Any
) -> StreamPipeline:
    """Return a pipeline of principal components and `OPAUC`."""
    pca = (LimitedPCA if center else LimitedSVD)(n_components, random_state=random_state)
    return StreamPipeline([("pca", pca), ("opauc", OPAUC(random_state=random_state, **parameters))])


def _random_scores(X: Any, y: Any, random_state: Any) -> np.ndarray:
    return check_random_state(random_state).permutation(X.shape[1]).astype(np.float64)


class LimitedMixin:
    """Fits the class of scikit-learn with a lower number of components, and takes over what it fitted.

    BLAS has one thread: with more, the last bits of products depend on their number.
    """

    _part: type[BaseEstimator]
    _number = "n_components"
    _advice = "take fewer components, or leave out columns"

    def _most(self, X: Any) -> int:
        """Return the largest number of components that rows allow."""
        return int(X.shape[1])

    def _vectors(self, X: Any, number: int) -> int:
        """Return how many vectors of one float for each column are held at once (measured), beside the rows."""
        raise NotImplementedError

    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit rows with a limited number of components."""
        parameters = self.get_params()  # type: ignore[attr-defined]
        if len(getattr(X, "shape", ())) == 2:  # scikit-learn makes a matrix of a list, and refuses a vector
            number = parameters[self._number] = min(parameters[self._number], self._most(X))
            what = f"{self._part.__name__} with {self._number}={number} on"
            check_columns(X.shape[1], self._vectors(X, number), what, self._advice)
        part = self._part(**parameters).fit(check_indices(X), y)
        vars(self).update({name: value for name, value in vars(part).items() if name not in parameters})
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit rows and return their components, of shape (n_samples, n_components)."""
        return self.fit(X, y).transform(X)

    @one_blas_thread()
    def transform(self, X: Any) -> Any:
        """Return the components of rows, of shape (n_samples, n_components)."""
        return super().transform(check_indices(X))  # type: ignore[misc]


class LimitedSelection(LimitedMixin, SelectKBest):
    """`SelectKBest` that takes all columns if there are fewer than k."""

    _part, _number = SelectKBest, "k"
    _advice = "leave out columns"

    def _vectors(self, X: Any, number: int) -> int:
        return 3  # the scores and their order


class LimitedProjection(LimitedMixin, GaussianRandomProjection):
    """`GaussianRandomProjection` to at most as many dimensions as there are columns."""

    _part = GaussianRandomProjection

    def _vectors(self, X: Any, number: int) -> int:
        return number * (2 if issparse(X) else 1)  # a product with sparse rows copies the matrix


class RankMixin(LimitedMixin):
    """Leaves out components that are nothing but rounding, of rows that have a lower rank than rows and columns.

    A classifier that standardises its columns would take them for features. Their values are other ones in every order
    of summation: a row by itself had other scores than among others.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit rows, and leave out components that are rounding."""
        super().fit(X, y)
        Z = self.transform(X)
        length = np.linalg.norm(X.data if issparse(X) else np.asarray(X)) / np.sqrt(len(Z))
        kept = Z.std(axis=0) > ROUNDING * np.finfo(Z.dtype).eps * length
        kept[0] = True
        for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
            setattr(self, name, getattr(self, name)[kept])
        if hasattr(self, "n_components_"):
            self.n_components_ = int(kept.sum())
        return self


class LimitedPCA(RankMixin, PCA):
    """`PCA` with at most as many components as the rank of the rows."""

    _part = PCA

    def _most(self, X: Any) -> int:
        return max(1, min(X.shape) - issparse(X))  # the solver for sparse rows finds all but one

    def _vectors(self, X: Any, number: int) -> int:
        return 3 * number + 2


class LimitedSVD(RankMixin, TruncatedSVD):
    """`TruncatedSVD` with at most as many components as the rank of the rows."""

    _part = TruncatedSVD

    def _vectors(self, X: Any, number: int) -> int:
        return 3 * number
