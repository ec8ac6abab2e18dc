"""Features whose inner products are a Gaussian kernel: what gives the linear algorithms curved boundaries.

Zhang, Tsang and Kwok (2008), Improved Nystroem low-rank approximation and error analysis.

Conventions
-----------
    k(x, u) = exp(-gamma |x - u|^2)             the kernel
    U                                           the m landmarks, k-means centres of the rows
    K(U, U) = V diag(e) V'                      its eigenvalues
    f(x) = K(x, U) V diag(e)^-1/2               the features of a row

so that f(x).f(x') = K(x, U) K(U, U)^+ K(U, x'), which is k(x, x') itself where x or x' is a landmark. The symmetric
root K(U, U)^-1/2 of the papers gives the same features turned by V', with the same inner products. Without the turn
they are nearly uncorrelated, the principal components of the kernel, which suits algorithms that scale each column.

Features whose eigenvalue is not above rounding are nothing but rounding, blown up by e^-1/2, and are left out.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import row_norms
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from .data.moments import check_no_overflow, spread
from .data.threads import map_threads, one_blas_thread
from .data.validation import canonical
from .estimators.base import all_or_nothing

# The rows that the default bandwidth is measured on, as published.
BANDWIDTH_ROWS = 80_000
# k-means sees this many rows, or this many for each landmark, and makes this many rounds. With 400 landmarks on
# covtype, cod-rna and susy, twice the rows or ten rounds took at most 4% off the error of the kernel; beginning with
# k-means++ instead of rows drawn at random took off 50, 40 and 3%.
SAMPLE_ROWS = 10_000
SAMPLE_ROWS_EACH = 10
ROUNDS = 5
# Rows transformed at a time: enough for BLAS to run at its speed, few enough for the kernel between them and the
# landmarks to stay in the cache.
BLOCK = 512


class KMeansNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of a Gaussian kernel by the Nystroem method, with k-means centres as landmarks.

    Like :class:`sklearn.kernel_approximation.Nystroem`, which draws its landmarks from the rows; centres come nearer to
    the kernel with the same number of features. The kernel takes the columns as they are: where their scales differ,
    standardise them before.

    Parameters
    ----------
    n_components : int, default=400
        Number of landmarks, and of features but for those that are left out as rounding (see `normalization_`).

    gamma : float, default=None
        The kernel is exp(-gamma |x - u|^2). None takes 1 over the mean squared distance of the rows, of the first
        80,000 if there are more, to their mean.

    random_state : int, RandomState instance or None, default=None
        What the rows for k-means and its first centres are drawn from.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        The landmarks.

    normalization_ : ndarray of shape (n_components, n_features_out)
        What the kernel between rows and landmarks is multiplied by. It has fewer columns than rows where landmarks are
        equal, or so near to each other for the kernel that the precision of the data does not tell them apart.

    gamma_ : float
        The gamma of the kernel.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had them.

    See Also
    --------
    NPSAM : PSAM on these features.
    NBAM : Batch AUC maximisation on these features.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.pipeline import make_pipeline
    >>> from aucmax import AUCClassifier, KMeansNystroem
    >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
    >>> bool(AUCClassifier().fit(X, y).score(X, y) < 0.6)
    True
    >>> clf = make_pipeline(KMeansNystroem(20, random_state=0), AUCClassifier()).fit(X, y)
    >>> bool(clf.score(X, y) > 0.99)
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    components_: np.ndarray
    normalization_: np.ndarray
    gamma_: float

    def __init__(self, n_components: int = 400, *, gamma: float | None = None, random_state: Any = None) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> KMeansNystroem:
        """Find the landmarks and the kernel between them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        self : KMeansNystroem
            The fitted transformer.
        """
        X = self._validate_rows(X, reset=True)
        n_components = self.n_components
        if n_components > X.shape[0]:
            n_components = X.shape[0]
            warnings.warn(
                f"n_components={self.n_components} is more than the {n_components} rows of X, each of which is taken "
                "for a landmark.",
                stacklevel=4,
            )
        gamma = default_gamma(X[:BANDWIDTH_ROWS])  # in any case, since it raises an error where squares overflow
        self.gamma_ = gamma if self.gamma is None else float(self.gamma)
        self.components_ = find_landmarks(X, n_components, check_random_state(self.random_state))
        self.normalization_ = normalize(self.components_, self.gamma_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the features of rows.

        Beside the result, memory holds a block of rows for each thread.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            In float32 if these rows and those of `fit` are, else in float64.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        dtype = np.result_type(X.dtype, self.components_.dtype)
        kernel = GaussianKernel(self.components_, self.gamma_, dtype, centered=not sparse.issparse(X))
        normalization = self.normalization_.astype(dtype, copy=False)
        features = np.empty((X.shape[0], normalization.shape[1]), dtype)

        def transform_block(part: slice) -> None:
            np.matmul(kernel(X[part]), normalization, out=features[part])

        for _ in map_threads(transform_block, blocks_of(X)):
            pass
        return features

    def _validate_rows(self, X: Any, reset: bool) -> Any:
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        return canonical(X)

    @property
    def _n_features_out(self) -> int:
        return self.normalization_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class GaussianKernel:
    """The kernel between rows and landmarks U, by |x - u|^2 = |x|^2 - 2 x.u + |u|^2.

    Dense rows are shifted by the mean of the landmarks before, so that nothing cancels where means are large against
    the spread.

    Parameters
    ----------
    landmarks : ndarray of shape (m, n_features)
        U.
    gamma : float
        Of the kernel.
    dtype : dtype
        Of the result.
    centered : bool
        Whether to shift the rows.
    """

    def __init__(self, landmarks: np.ndarray, gamma: float, dtype: np.dtype[Any], centered: bool) -> None:
        self.center = landmarks.mean(axis=0, dtype=np.float64).astype(dtype) if centered else None
        self.unit = dtype.type(np.sqrt(gamma))
        U = self._shifted(landmarks)
        self.slopes = np.ascontiguousarray(2 * U.T)
        self.norms = row_norms(U, squared=True)
        # exp in float64 took 80 times as long where its result is below the least normal number.
        self.least = np.log(np.finfo(dtype).tiny)

    def __call__(self, rows: Any) -> np.ndarray:
        """Return the kernel of shape (n_rows, m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._shifted(rows)
            K = Z @ self.slopes
            K -= self.norms
            K -= row_norms(Z, squared=True)[:, None]
        np.fmax(K, self.least, out=K)  # also where a row is so far away that its square overflows, and K is no number
        np.minimum(K, 0, out=K)
        return np.exp(K, out=K)

    def _shifted(self, rows: Any) -> Any:
        return (rows if self.center is None else rows - self.center) * self.unit


def default_gamma(X: Any) -> float:
    """Return 1 over the mean squared distance of the rows to their mean; 1 if they are all equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            means, variances = mean_variance_axis(X, axis=0)
        else:
            means = X.mean(axis=0, dtype=np.float64)
            variances = sum(np.square(X[part] - means).sum(axis=0) for part in blocks_of(X)) / X.shape[0]
        check_no_overflow(np.sum(variances))
        distance = np.sum(spread(variances, means) ** 2)
    return 1 / float(distance) if distance >= np.finfo(np.float64).tiny else 1.0


def find_landmarks(X: Any, n_components: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the k-means centres of a sample of the rows, or the rows if there are no more."""
    n_rows = X.shape[0]
    if n_components == n_rows:
        return X.toarray() if sparse.issparse(X) else X.copy()
    n_sample = max(SAMPLE_ROWS, SAMPLE_ROWS_EACH * n_components)
    if n_rows > n_sample:
        X = X[np.sort(sample_without_replacement(n_rows, n_sample, random_state=rng))]
    sample = X.astype(np.float64)  # in which no square overflows
    if sparse.issparse(X):  # KMeans asks for 32-bit indices
        sample.indices, sample.indptr = sample.indices.astype(np.int32), sample.indptr.astype(np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centres: some are equal
        kmeans = KMeans(n_components, n_init=1, max_iter=ROUNDS, copy_x=False, random_state=rng).fit(sample)
    return kmeans.cluster_centers_.astype(X.dtype)


def normalize(landmarks: np.ndarray, gamma: float) -> np.ndarray:
    """Return V diag(e)^-1/2 of the landmarks, the largest eigenvalues first, without those that may be rounding."""
    double = np.dtype(np.float64)
    with one_blas_thread():
        K = GaussianKernel(landmarks, gamma, double, centered=True)(landmarks)
        e, V = linalg.eigh(K, overwrite_a=True, check_finite=False)
    # A feature is about sqrt(e / m) in size, and rounding of the kernel adds about eps / sqrt(e): at e = eps m, one per
    # cent or less (measured). The eigenvalues themselves are off by up to 13 eps m, in float64.
    least = len(e) * max(np.finfo(landmarks.dtype).eps, 100 * np.finfo(double).eps)
    kept = np.flatnonzero(e > least)[::-1]
    return np.ascontiguousarray(V[:, kept] / np.sqrt(e[kept]), dtype=landmarks.dtype)


def blocks_of(X: Any) -> list[slice]:
    """Return slices that cover the rows."""
    return [slice(start, start + BLOCK) for start in range(0, X.shape[0], BLOCK)]
