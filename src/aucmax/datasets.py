"""The artificial data of the papers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import ortho_group
from sklearn.utils import check_random_state

from ._compat import Interval, StrOptions, validate_params
from .rows.summaries.moments import ClassMoments


class GaussianSet(NamedTuple):
    """The parameters of an artificial data set."""

    n_features: int
    n_samples: int
    ratio: float  # share of the positives
    outliers: float  # share of the training rows of each class that have the label of the other


# Table 1 of Ghanbari and Scheinberg (2018).
GAUSSIAN_SETS = {
    "data1": GaussianSet(500, 5000, 0.05, 0.0),
    "data2": GaussianSet(500, 5000, 0.35, 0.05),
    "data3": GaussianSet(500, 5000, 0.5, 0.1),
    "data4": GaussianSet(1000, 5000, 0.15, 0.0),
    "data5": GaussianSet(1000, 5000, 0.4, 0.05),
    "data6": GaussianSet(1000, 5000, 0.5, 0.1),
    "data7": GaussianSet(2500, 5000, 0.1, 0.0),
    "data8": GaussianSet(2500, 5000, 0.35, 0.05),
    "data9": GaussianSet(2500, 5000, 0.5, 0.1),
}
# Exact moments count as if estimated from this many rows, so that shrinkage does not change them.
EXACT_WEIGHT = 1e12


@validate_params(
    {
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_informative": [Interval(Integral, 0, None, closed="left")],
        "ratio": [Interval(Real, 0, 1, closed="neither")],
        "shift": [Interval(Real, None, None, closed="neither")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_sparse_shift(
    n_samples: int = 1000,
    n_features: int = 1000,
    *,
    n_informative: int = 20,
    ratio: float = 0.05,
    shift: float = 0.3,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two classes of standard normal columns, a few of which are shifted in the positive class.

    This is the simulation of a disease outbreak by Yang et al. [1]_: the shifted columns are the outbreak.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=1000
        Number of columns.
    n_informative : int, default=20
        Number of shifted columns, chosen at random.
    ratio : float in (0, 1), default=0.05
        Share of the positives, rounded to whole rows, at least one of each class.
    shift : float, default=0.3
        Mean of the shifted columns in the positive class; all other means are 0.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in random order.
    y : ndarray of shape (n_samples,)
        Their classes, 0 and 1.
    support : ndarray of shape (n_informative,)
        Indices of the shifted columns, increasing.

    See Also
    --------
    aucmax.metrics.support_f1 : How well a weight vector finds the support.

    References
    ----------
    .. [1] Z. Yang, B. Zhou, Y. Lei and Y. Ying, "Stochastic hard thresholding algorithms for AUC maximization",
       ICDM 2020.

    Examples
    --------
    >>> from aucmax.datasets import make_sparse_shift
    >>> X, y, support = make_sparse_shift(n_informative=4, random_state=0)
    >>> X.shape, y.sum(), len(support)
    ((1000, 1000), np.int64(50), 4)
    """
    if n_informative > n_features:
        raise ValueError(f"n_informative={n_informative} columns cannot be chosen among n_features={n_features}.")
    rng = check_random_state(random_state)
    y = labels(n_samples, ratio, rng)
    support = np.sort(rng.permutation(n_features)[:n_informative])
    X = rng.standard_normal((n_samples, n_features))
    X[np.ix_(y == 1, support)] += shift
    return X, y, support


@validate_params(
    {
        "name": [StrOptions(set(GAUSSIAN_SETS))],
        "n_samples": [Interval(Integral, 2, None, closed="left"), None],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "ratio": [Interval(Real, 0, 1, closed="neither"), None],
        "outliers": [Interval(Real, 0, 1, closed="both"), None],
        "auc": [Interval(Real, 0.5, 1, closed="left")],
        "spread": [Interval(Real, 0, None, closed="neither")],
        "train_size": [Interval(Real, 0, 1, closed="both")],
        "moments": [ClassMoments, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_gaussian(
    name: str = "data1",
    *,
    n_samples: int | None = None,
    n_features: int | None = None,
    ratio: float | None = None,
    outliers: float | None = None,
    auc: float = 0.9965,
    spread: float = 2.0,
    train_size: float = 0.8,
    moments: ClassMoments | None = None,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray, ClassMoments]:
    """Draw two Gaussian classes with random moments, and return these moments too.

    These are the nine artificial sets of Ghanbari and Scheinberg [1]_. The first rows are for training. Some of them,
    the outliers, have the label of the other class. The other rows are for testing and have no outliers.

    Parameters
    ----------
    name : {"data1", ..., "data9"}, default="data1"
        The set, in the order of the paper: 500, 1,000 and 2,500 columns; without outliers, with 5% and with 10%.
    n_samples, n_features : int, default=None
        Number of rows and columns; None uses the set's own.
    ratio : float in (0, 1), default=None
        Share of the positives, rounded to whole rows, at least one of each class; None uses the set's own.
    outliers : float in [0, 1], default=None
        Share of the training rows of each class that get the label of the other; None uses the set's own.
    auc : float in [0.5, 1), default=0.9965
        The largest AUC of a linear classifier on the distribution without outliers.
    spread : float, default=2.0
        The mean variance of the positives, divided by the mean variance of the negatives.
    train_size : float in [0, 1], default=0.8
        Share of the rows that are for training; these are the first rows.
    moments : ClassMoments, default=None
        Moments that an earlier call returned. If given, new rows are drawn with these moments, and `auc`, `spread`
        and `n_features` are not used.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same data each time.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows, in random order.
    y : ndarray of shape (n_samples,)
        Their classes: 0 and 1, or the classes of the given `moments`.
    moments : ClassMoments
        The exact moments of the two classes without outliers. Their weights are the priors times 10^12, so that
        estimators with shrinkage do not shrink them.

    Notes
    -----
    The paper says only that there are "random first and second moments". Here each class has a covariance of its own.
    Its eigenvectors are drawn uniformly from all rotations, and its eigenvalues uniformly from [0.5, 1.5], times
    `spread` for the positives. The means are normal and independent, at the scale that the AUC requires. The published
    figures suggest covariances that are nearly spherical, and a little larger for the positives: see
    ``docs/measured/papers/gaussian.md``.

    The paper reports test accuracies of 0.99 with 10% of outliers, so its test rows have none.

    References
    ----------
    .. [1] H. Ghanbari and K. Scheinberg, "Directly and efficiently optimizing prediction error and AUC of linear
       classifiers", arXiv:1802.02535 (2018).

    Examples
    --------
    >>> from aucmax.datasets import make_gaussian
    >>> X, y, moments = make_gaussian("data3", n_features=10, random_state=0)
    >>> X.shape, round(float(y.mean()), 2), moments.mean.shape
    ((5000, 10), 0.5, (2, 10))
    >>> X, y, _ = make_gaussian("data3", moments=moments, random_state=1)  # new rows of the same classes
    """
    given: dict[str, Any] = {"n_features": n_features, "n_samples": n_samples, "ratio": ratio, "outliers": outliers}
    setting = GAUSSIAN_SETS[name]._replace(**{key: value for key, value in given.items() if value is not None})
    rng = check_random_state(random_state)
    if moments is not None:
        moments.check_both_classes()
    else:
        moments = random_moments(setting.n_features, setting.ratio, auc, spread, rng)
    y = labels(setting.n_samples, setting.ratio, rng)
    X = rng.standard_normal((setting.n_samples, moments.n_features))
    for c in range(2):
        X[y == c] = moments.mean[c] + X[y == c] @ root(moments, c).T
    n_train = round(train_size * setting.n_samples)
    for members in [np.flatnonzero(y[:n_train] == c) for c in range(2)]:
        y[rng.permutation(members)[: round(setting.outliers * len(members))]] ^= 1
    return X, moments.classes[y], moments


def labels(n_samples: int, ratio: float, rng: np.random.RandomState) -> np.ndarray:
    """Return shuffled labels with this share of ones, at least one of each."""
    n_positive = min(max(round(ratio * n_samples), 1), n_samples - 1)
    return rng.permutation(np.repeat([0, 1], [n_samples - n_positive, n_positive]))


def root(moments: ClassMoments, c: int) -> np.ndarray:
    """Return L with LL' the covariance of a class."""
    try:
        return np.linalg.cholesky(moments.scatter[c] / moments.weight[c])
    except np.linalg.LinAlgError:
        raise ValueError("moments must have covariances of full rank: rows cannot be drawn from these.") from None


def random_moments(
    n_features: int, ratio: float, auc: float, spread: float, rng: np.random.RandomState
) -> ClassMoments:
    """Return the moments of two random Gaussian classes whose best linear AUC is `auc`."""
    moments = ClassMoments(n_features)
    moments.weight = EXACT_WEIGHT * np.array([1 - ratio, ratio])
    moments.mean[:] = rng.standard_normal((2, n_features))
    covariance = np.zeros((n_features, n_features))
    for c, scale in enumerate((1.0, spread)):
        U = ortho_group.rvs(n_features, random_state=rng) if n_features > 1 else np.ones((1, 1))
        S = scale * (U * rng.uniform(0.5, 1.5, n_features)) @ U.T
        covariance += S
        moments.scatter[c] = moments.weight[c] * S
    shift = moments.mean[1] - moments.mean[0]
    moments.mean *= ndtri(auc) / np.sqrt(shift @ np.linalg.solve(covariance, shift))
    return moments
