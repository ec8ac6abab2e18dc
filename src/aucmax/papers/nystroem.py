"""Features whose inner products approximate a Gaussian kernel, with which linear algorithms get curved boundaries.

Zhang, Tsang and Kwok (2008), Improved Nystroem low-rank approximation and error analysis.

Conventions
-----------
    k(x, u) = exp(-gamma |x - u|^2)             the kernel
    U                                           the m landmarks, k-means centres of the rows
    K(U, U) = V diag(e) V'                      its eigenvalues
    f(x) = K(x, U) V diag(e)^-1/2               the features of a row

so that f(x).f(x') = K(x, U) K(U, U)^+ K(U, x'), which equals k(x, x') if x or x' is a landmark. The symmetric root
K(U, U)^-1/2 of the papers gives the same features rotated by V', with the same inner products. Without this rotation
the features are the principal components of the kernel. They are nearly uncorrelated, which suits algorithms that scale
each column.

Features whose eigenvalue is within rounding of 0 are left out: their rounding errors are multiplied by e^-1/2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.extmath import row_norms
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from .._base import all_or_nothing
from .._compat import Interval, _check_n_features, _fit_context
from ..models.checks import FEATURES, Check, array, number
from ..rows.arrays import namespace, place_beside, to_host, to_numpy
from ..rows.blocks.rows import MEMORY, SlicedRows
from ..rows.dispatch import device_kernels, remote_rows, require_memory
from ..rows.machine import check_columns, map_threads, one_blas_thread
from ..rows.memory import MemoryRows
from ..rows.summaries.moments import check_no_overflow, spread
from ..rows.validate import canonical, check_groups, check_indices, check_rows, check_weights, find_classes

TAKES_NO_DASK = (
    "KMeansNystroem takes no Dask collections: fit it to rows in memory. Then fit_rows(kernel.rows(X, y)) of a "
    "classifier makes the features of a collection block by block."
)
# The default bandwidth is computed from this many rows, as published.
BANDWIDTH_ROWS = 80_000
# Rows that k-means uses if `kmeans_rows` is None, in all and for each landmark.
SAMPLE_ROWS = 10_000
SAMPLE_ROWS_EACH = 10
# Number of rows transformed at a time: enough for BLAS to be fast, and few enough for the kernel between them and the
# landmarks to stay in the cache.
BLOCK = 512
# Least eigenvalue over m of a feature. The size of a feature is about sqrt(e / m), and its error from rounding of the
# kernel about eps / sqrt(e): with this root of eps, even a classifier that standardises features gives a row the same
# score alone and among others, up to about 1e-9 of the range. With 100 eps it was 1e-4, with columns of unix times.
LEAST = 2.0**-26
LANDMARK_COPIES = 4  # of the landmarks, scaled and transposed, that are held at once (measured)


class KMeansNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of a Gaussian kernel by the Nystroem method, with k-means centres as landmarks.

    :class:`sklearn.kernel_approximation.Nystroem` draws its landmarks from the rows; as many k-means centres
    approximate the kernel better. The columns are not scaled: if their scales differ, standardise them first.

    Parameters
    ----------
    n_components : int, default=400
        Number of landmarks; if there are fewer rows, each of them is one. It is also the number of features, unless
        some are left out (see `normalization_`).

    gamma : float, default=None
        The kernel is ``exp(-gamma |x - u|^2)``. None uses 1 divided by the mean squared distance of the rows to their
        mean, computed from the first 80,000 rows if there are more.

    kmeans_rows : int, default=None
        Number of rows, drawn at random, whose k-means centres are the landmarks; at least `n_components`. None is
        10,000, or ten for each landmark if that is more. The papers do not say how many they use; a number of all rows
        or more uses all. With `n_components` the landmarks are the rows themselves, which takes no k-means.

    kmeans_iter : int, default=5
        Iterations of k-means. The papers give no number.

    random_state : int, RandomState instance or None, default=None
        Draws the rows for k-means and its first centres. Pass an int for the same features each time.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, `n_features_in_`)
        The landmarks.

    normalization_ : ndarray of shape (n_components, n_features_out)
        The matrix by which the kernel between rows and landmarks is multiplied. It has fewer columns than rows if
        landmarks are equal, or so close to each other that the kernel cannot tell them apart up to rounding.

    gamma_ : float
        The gamma of the kernel.

    n_features_in_ : int
        Number of features seen in fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if X had them.

    See Also
    --------
    NPSAM : PSAM on these features.
    NBAM : Batch AUC maximisation on these features.

    Notes
    -----
    With 400 landmarks on covtype, cod-rna and susy, twice the rows or ten iterations of k-means reduced the error of
    the kernel by at most 4%; starting with k-means++, as here, instead of random rows reduced it by 50, 40 and 3%.

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

    _file_schema: ClassVar[dict[str, Check]] = {
        **FEATURES,
        "gamma_": number(float, low=0),
        "components_": array("f", "k", "d"),
        "normalization_": array("f", "k", None),
    }
    _file_requires = ("gamma_", "components_", "normalization_")
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "kmeans_rows": [Interval(Integral, 1, None, closed="left"), None],
        "kmeans_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    components_: np.ndarray
    normalization_: np.ndarray
    gamma_: float

    def __init__(
        self,
        n_components: int = 400,
        *,
        gamma: float | None = None,
        kmeans_rows: int | None = None,
        kmeans_iter: int = 5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.kmeans_rows = kmeans_rows
        self.kmeans_iter = kmeans_iter
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
        beside, device = X, device_kernels(X)
        X = self._validate_rows(X, reset=True)
        n_components = min(self.n_components, X.shape[0])
        what = f"KMeansNystroem with {n_components:,} landmarks on"
        check_columns(X.shape[1], LANDMARK_COPIES * n_components, what, "take fewer landmarks, or leave out columns")
        # Always computed, since it raises an error if squares overflow.
        gamma = default_gamma(to_host(X[: min(BANDWIDTH_ROWS, X.shape[0]), :]))
        self.gamma_ = gamma if self.gamma is None else float(self.gamma)
        self.components_ = self._find_landmarks(X, n_components, check_random_state(self.random_state))
        if device is None:
            with one_blas_thread():
                K = GaussianKernel(self.components_, self.gamma_, np.dtype(np.float64))(self.components_)
                e, V = linalg.eigh(K, overwrite_a=True, check_finite=False)
        else:
            e, V = device.eigenvectors(self._device_kernel(beside, np.float64), self.components_, beside)
        self.normalization_ = scale_eigenvectors(e, V, self.components_.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Return the features of rows.

        Beside the result, only a block of rows for each thread is in memory.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            The features, as float32 if these rows and the training rows are float32, else as float64. They are on the
            device of X.
        """
        check_is_fitted(self)
        X = self._validate_rows(X, reset=False)
        device = device_kernels(X)
        if device is not None:
            single = device.is_single(X) and self.components_.dtype == np.float32
            return self._device_features(X, np.float32 if single else np.float64).all(X)
        dtype = np.result_type(X.dtype, self.components_.dtype)
        kernel = GaussianKernel(self.components_, self.gamma_, dtype, sparse.issparse(X))
        normalization = self.normalization_.astype(dtype, copy=False)
        features = np.empty((X.shape[0], normalization.shape[1]), dtype)

        def transform_block(part: slice) -> None:
            np.matmul(kernel(X[part]), normalization, out=features[part])

        for _ in map_threads(transform_block, list(gen_batches(X.shape[0], BLOCK))):
            pass
        return features

    def rows(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, *, memory: float = MEMORY
    ) -> Any:
        """Return the features of rows for `fit_rows`: they are made block by block and never all in memory.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or dataframe} of shape (n_samples, n_features), or rows
            The rows, which may be on a device. Those of :func:`aucmax.open_rows` have labels and weights of their own.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that cross-validation keeps together.
        memory : float, default=2 GiB
            For rows in memory, about how many bytes may be used beside them; class moments take 48 times the squared
            number of features, for each part of a cross-validation.

        Returns
        -------
        rows : Rows
            The features, as :meth:`aucmax.AUCClassifier.fit_rows` takes them. With more than 4,096 of them, give
            ``solver="moments"``: conjugate gradients would make the features again for each iteration.

        Examples
        --------
        >>> from sklearn.datasets import make_circles
        >>> from aucmax import AUCClassifier, KMeansNystroem
        >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
        >>> kernel = KMeansNystroem(20, random_state=0).fit(X)
        >>> clf = AUCClassifier("squared").fit_rows(kernel.rows(X, y))
        >>> bool(clf.score(kernel.transform(X), y) > 0.99)
        True
        """
        check_is_fitted(self)
        if y is not None:
            rows = remote_rows(X, y, sample_weight, groups)
            if rows is None:
                X, y = check_rows(X, y)
                weights, groups = check_weights(sample_weight, X), check_groups(groups, X)
                rows = SlicedRows(MemoryRows(X, y, find_classes(y), weights, groups), memory)
            X = rows
        if X.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {X.n_features} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input."
            )
        return X.mapped(BlockFeatures(self), self._n_features_out)

    def _device_kernel(self, beside: Any, dtype: Any) -> Any:
        """Return the kernel of blocks on the device of an array."""
        kernel = GaussianKernel(self.components_, self.gamma_, np.dtype(dtype))
        return device_kernels(beside).DeviceKernel(kernel, self.components_, beside)

    def _device_features(self, beside: Any, dtype: Any) -> Any:
        """Return the features of blocks on the device of an array."""
        return device_kernels(beside).DeviceFeatures(self._device_kernel(beside, dtype), self.normalization_)

    def _find_landmarks(self, X: Any, n_components: int, rng: np.random.RandomState) -> np.ndarray:
        """Return the k-means centres of a sample of the rows, or all rows if there are only `n_components`."""
        n_rows, device = X.shape[0], device_kernels(X)
        if n_components == n_rows:
            return X.toarray() if sparse.issparse(X) else to_host(X).copy()
        n_sample = max(self.kmeans_rows or max(SAMPLE_ROWS, SAMPLE_ROWS_EACH * n_components), n_components)
        if n_rows > n_sample:
            numbers = np.sort(sample_without_replacement(n_rows, n_sample, random_state=rng))
            X = X[numbers] if device is None else device.take_rows(X, numbers)
        if X.shape[0] == n_components:  # each is a centre
            return X.toarray() if sparse.issparse(X) else to_host(X)
        if device is not None:
            return device.find_centers(X, n_components, self.kmeans_iter, rng)
        sample = X.astype(np.float64)  # in float64 no square overflows
        if sparse.issparse(X):  # KMeans needs 32-bit indices
            sample.indices, sample.indptr = sample.indices.astype(np.int32), sample.indptr.astype(np.int32)
        kmeans = KMeans(n_components, n_init=1, max_iter=self.kmeans_iter, copy_x=False, random_state=rng)
        # On several threads the sums of k-means have no fixed order, and the centres differ in their last bits. With
        # array_api_dispatch, which NumPy arrays do not need, KMeans of scikit-learn 1.6 fails.
        plain = config_context(array_api_dispatch=False)
        with plain, threadpool_limits(limits=1, user_api="openmp"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centres: some are equal
            return kmeans.fit(sample).cluster_centers_.astype(X.dtype)

    def _validate_rows(self, X: Any, reset: bool) -> Any:
        require_memory(X, TAKES_NO_DASK, None)
        device = device_kernels(X)
        if device is not None:
            X = device.check_rows(X)
            _check_n_features(self, X, reset=reset)
            return X
        X = check_indices(X)
        return canonical(validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]))

    @property
    def _n_features_out(self) -> int:
        return self.normalization_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class BlockFeatures:
    """The features of blocks of rows, made by a fitted transformer."""

    def __init__(self, kernel: KMeansNystroem) -> None:
        self.kernel = kernel

    def __call__(self, X: Any) -> np.ndarray:
        """Return the features of a block in memory, which may have no rows."""
        return self.kernel.transform(X) if X.shape[0] else np.zeros((0, self.kernel._n_features_out))

    def on_device(self, beside: Any) -> Any:
        """Return the change of blocks on the device of an array."""
        return self.kernel._device_features(beside, np.float64)


def default_gamma(X: Any) -> float:
    """Return 1 divided by the mean squared distance of the rows to their mean; 1 if all rows are equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            means, variances = mean_variance_axis(X, axis=0)
        else:
            means = X.mean(axis=0, dtype=np.float64)
            blocks = (X[part] for part in gen_batches(X.shape[0], BLOCK))
            variances = sum(np.square(block - means).sum(axis=0) for block in blocks) / X.shape[0]
        check_no_overflow(np.sum(variances))
        distance = np.sum(spread(variances, means) ** 2)
    if distance >= np.finfo(np.float64).tiny:
        return 1 / float(distance)
    if abs(X.max(axis=0) - X.min(axis=0)).max() > 0:
        warnings.warn(
            "The squares of the values of X underflow, so that all rows count as equal: multiply X by a power of ten.",
            stacklevel=2,
        )
    return 1.0


class GaussianKernel:
    """The kernel between rows and landmarks U, by |x - u|^2 = |x|^2 - 2 x.u + |u|^2.

    Rows are first shifted by the mean of the landmarks, which avoids cancellation where means are large compared with
    the spread. Sparse rows are shifted only in the columns where this is so, which have few zeros: they stay sparse.
    """

    def __init__(self, landmarks: np.ndarray, gamma: float, dtype: np.dtype[Any], is_sparse: bool = False) -> None:
        self.center = landmarks.mean(axis=0, dtype=np.float64).astype(dtype)
        if is_sparse:
            self.center *= abs(self.center) > landmarks.std(axis=0, dtype=np.float64)
        self.unit = dtype.type(np.sqrt(gamma))
        U = self._shifted(landmarks)
        self.slopes = np.ascontiguousarray(2 * U.T)
        self.norms = row_norms(U, squared=True)
        # exp in float64 took 80 times as long where its result is a denormal number.
        self.least = np.log(np.finfo(dtype).tiny)

    def __call__(self, rows: Any) -> np.ndarray:
        """Return the kernel of shape (n_rows, m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._shifted(rows)
            K = Z @ self.slopes
            K -= self.norms
            K -= row_norms(Z, squared=True)[:, None]
        np.fmax(K, self.least, out=K)  # also replaces NaN, which K holds if the square of a distant row overflows
        np.minimum(K, 0, out=K)
        return np.exp(K, out=K)

    def _shifted(self, rows: Any) -> Any:
        if not sparse.issparse(rows):
            return (rows - self.center) * self.unit
        if self.center.any():
            ones = sparse.csr_array(np.ones((rows.shape[0], 1), self.center.dtype))
            rows = sparse.csr_array(rows) - ones @ sparse.csr_array(self.center[None])
        return rows * self.unit


def scale_eigenvectors(e: np.ndarray, V: Any, dtype: Any) -> np.ndarray:
    """Return V diag(e)^-1/2 in memory, largest eigenvalues first, without small ones; V may be on a device."""
    xp = namespace(V)
    least = len(e) * max(np.finfo(dtype).eps, LEAST)
    kept = np.flatnonzero(e > least)[::-1]
    V = xp.take(V, place_beside(kept.copy(), V), axis=1)
    # An eigenvector has no sign. With its largest entry positive, the features are the same on every machine.
    flipped = xp.max(V, axis=0) < -xp.min(V, axis=0)
    roots = place_beside(np.sqrt(e[kept]), V)
    return np.ascontiguousarray(to_numpy(V / xp.where(flipped, -roots, roots)), dtype=dtype)
