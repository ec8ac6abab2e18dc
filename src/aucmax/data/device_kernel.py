"""The Gaussian kernel between rows on a device and landmarks, and the features made of it; see `nystroem.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import namespace, place_beside, to_numpy
from .device_checks import check_finite, check_matrix
from .device_kmeans import kmeans_centers

# Second moments of features are made of those of the kernel, e^-1/2 V'SV e^-1/2, if that changes the variance of a
# feature by less than this share of it, at most. S is summed of kernels minus their mean, and has an error of about
# eps s, where s is the variance of the kernel. Rounding errors are not correlated, so that they are no larger for an
# eigenvector. A feature has a variance of about e / m, which makes the share eps m s / e^2 for the smallest e.
# Measured with 500 and 1,000 landmarks, smallest e from 0.13 to 0.0009, it was from half of that up to six times that,
# the latter where it was 2e-13; without subtracting the mean it was 6 to 240 times larger.
SQUARED_ERROR = 1e-6
FIRST_LANDMARKS = 1024  # tell the variance of the kernel
BLOCK = 1 << 16  # on a device


class DeviceKernel:
    """The kernel between blocks of rows on a device and landmarks.

    Parameters
    ----------
    kernel : GaussianKernel
        The kernel in memory, centred, whose type is the type of the result.
    landmarks : ndarray of shape (m, n_features)
        The landmarks.
    beside : array
        An array on the device.
    """

    def __init__(self, kernel: Any, landmarks: np.ndarray, beside: Any) -> None:
        self.center, self.slopes, self.norms = (
            place_beside(c, beside) for c in (kernel.center, kernel.slopes, kernel.norms)
        )
        self.unit, self.least = float(kernel.unit), float(kernel.least)
        first = kernel(landmarks[:FIRST_LANDMARKS])
        self.variance = float(np.var(first - first.mean(axis=0)))

    @np.errstate(over="ignore")
    def __call__(self, rows: Any) -> Any:
        """Return the kernel of shape (n_rows, m)."""
        xp = namespace(rows)
        Z = (xp.astype(rows, self.center.dtype, copy=False) - self.center) * self.unit
        norms = xp.sum(Z * Z, axis=1)
        near = xp.isfinite(norms)  # the square of a distant row overflows, and its kernel is 0
        Z = xp.where(near[:, None], Z, xp.zeros_like(Z))
        K = Z @ self.slopes
        K -= self.norms
        K -= xp.where(near, norms, xp.full_like(norms, -2 * self.least))[:, None]
        return xp.exp(xp.clip(K, self.least, 0.0))


class DeviceFeatures:
    """The features of blocks of rows on a device: a change of columns that ends in a product.

    See :class:`aucmax.data.device.LinearChange`.

    Parameters
    ----------
    kernel : DeviceKernel
        The kernel.
    normalization : ndarray of shape (m, n_features_out)
        The matrix V diag(e)^-1/2, largest eigenvalues first.
    """

    def __init__(self, kernel: DeviceKernel, normalization: np.ndarray) -> None:
        self.before = kernel
        self.matrix = place_beside(normalization, kernel.center, kernel.center.dtype)
        eps, (m, n) = float(np.finfo(normalization.dtype).eps), normalization.shape
        least = 1 / float(np.sum(normalization[:, -1].astype(np.float64) ** 2)) if n else 0.0
        self.squares_before = eps * m * kernel.variance < SQUARED_ERROR * least**2

    def __call__(self, rows: Any) -> Any:
        """Return the features of a block."""
        return self.before(rows) @ self.matrix

    def all(self, X: Any) -> Any:
        """Return the features of all rows, made block by block."""
        starts = range(0, X.shape[0], BLOCK)
        return namespace(X).concat([self(X[start : min(start + BLOCK, X.shape[0]), :]) for start in starts])


def check_rows(X: Any) -> Any:
    """Return dense rows on a device as float32 or float64, all finite."""
    X = check_matrix(X, sparse=False)
    check_finite(X, "X")
    return X


def is_single(X: Any) -> bool:
    """Return whether the rows are float32."""
    return bool(X.dtype == namespace(X).float32)


def take_rows(X: Any, numbers: np.ndarray) -> Any:
    """Return rows by their numbers."""
    return namespace(X).take(X, place_beside(numbers, X), axis=0)


def find_centers(X: Any, n_clusters: int, max_iter: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the k-means centres of rows, in memory and of the type of X."""
    xp = namespace(X)
    return to_numpy(xp.astype(kmeans_centers(xp.astype(X, xp.float64), n_clusters, max_iter, rng), X.dtype))


def eigenvectors(kernel: DeviceKernel, landmarks: np.ndarray, beside: Any) -> tuple[np.ndarray, Any]:
    """Return the eigenvalues of the kernel between landmarks, and the eigenvectors on the device of an array."""
    e, V = namespace(beside).linalg.eigh(kernel(place_beside(landmarks, beside)))
    return to_numpy(e), V
