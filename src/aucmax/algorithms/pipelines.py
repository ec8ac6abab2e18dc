"""OPAUCf, OPAUCrp and OPAUCpca: OPAUC on fewer features, the rivals of OPAUCr.

Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization. Pipelines of scikit-learn's parts: 1,000 features drawn at
random, a Gaussian random projection, or the principal components, followed by OPAUC with full covariances.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from .opauc import OPAUC
from .reduction import LimitedPCA, LimitedProjection, LimitedSelection, LimitedSVD


def OPAUCf(n_components: int = 1000, *, random_state: Any = None, **parameters: Any) -> Pipeline:
    """Return a pipeline of features drawn at random and `OPAUC`.

    Parameters
    ----------
    n_components : int, default=1000
        Number of features; all, if there are fewer.
    random_state : int, RandomState instance or None, default=None
        What the features and the order of the rows are drawn from.
    **parameters
        Of :class:`aucmax.OPAUC`.

    Returns
    -------
    pipeline : Pipeline
        With the steps "select" and "opauc".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import OPAUCf
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OPAUCf(20, random_state=0).fit(X, y)["opauc"].n_features_in_
    20
    """
    draw = LimitedSelection(partial(_random_scores, random_state=random_state), k=n_components)
    return Pipeline([("select", draw), ("opauc", OPAUC(random_state=random_state, **parameters))])


def OPAUCrp(n_components: int = 1000, *, random_state: Any = None, **parameters: Any) -> Pipeline:
    """Return a pipeline of a Gaussian random projection and `OPAUC`.

    Parameters
    ----------
    n_components : int, default=1000
        Number of dimensions; at most the number of columns is used.
    random_state : int, RandomState instance or None, default=None
        What the projection and the order of the rows are drawn from.
    **parameters
        Of :class:`aucmax.OPAUC`.

    Returns
    -------
    pipeline : Pipeline
        With the steps "project" and "opauc".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import OPAUCrp
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OPAUCrp(20, random_state=0).fit(X, y)["opauc"].n_features_in_
    20
    """
    project = LimitedProjection(n_components, random_state=random_state)
    return Pipeline([("project", project), ("opauc", OPAUC(random_state=random_state, **parameters))])


def OPAUCpca(n_components: int = 1000, *, center: bool = True, random_state: Any = None, **parameters: Any) -> Pipeline:
    """Return a pipeline of principal components and `OPAUC`.

    Parameters
    ----------
    n_components : int, default=1000
        Number of components; at most the number of rows or columns is used.
    center : bool, default=True
        Whether columns are centred first. Without, the components are those of `TruncatedSVD`: on sparse rows of many
        columns they hardly differ, the first aside, and are found many times faster.
    random_state : int, RandomState instance or None, default=None
        What the components (if found at random) and the order of the rows are drawn from.
    **parameters
        Of :class:`aucmax.OPAUC`.

    Returns
    -------
    pipeline : Pipeline
        With the steps "pca" and "opauc".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import OPAUCpca
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> OPAUCpca(20, random_state=0).fit(X, y)["opauc"].n_features_in_
    20
    """
    pca = (LimitedPCA if center else LimitedSVD)(n_components, random_state=random_state)
    return Pipeline([("pca", pca), ("opauc", OPAUC(random_state=random_state, **parameters))])


def _random_scores(X: Any, y: Any, random_state: Any) -> np.ndarray:
    return check_random_state(random_state).permutation(X.shape[1]).astype(np.float64)
