"""The Gaussian kernel between rows and landmarks, in memory and on a device, and the features made of it.

Conventions
-----------
    k(x, u) = exp(-gamma |x - u|^2)             the kernel
    U                                           the m landmarks
    K(U, U) = V diag(e) V'                      its eigenvalues
    f(x) = K(x, U) V diag(e)^-1/2               the features of a row

Features whose eigenvalue is within rounding of 0 are left out: they are rounding errors, multiplied by e^-1/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import row_norms

from .data.arrays import namespace, place_beside, to_numpy
from .data.threads import one_blas_thread

# Second moments of features are made of those of the kernel, e^-1/2 V'SV e^-1/2, if that changes the variance of a
# feature by less than this share of it, at most. S is summed of kernels minus their mean, and has an error of about
# eps s, where s is the variance of the kernel. Rounding errors are not correlated, so that they are no larger for an
# eigenvector. A feature has a variance of about e / m, which makes the share eps m s / e^2 for the smallest e.
# Measured with 500 and 1,000 landmarks, smallest e from 0.13 to 0.0009, it was from half of that up to six times that,
# the latter where it was 2e-13; without subtracting the mean it was 6 to 240 times larger.
SQUARED_ERROR = 1e-6
FIRST_LANDMARKS = 1024  # tell the variance of the kernel


class GaussianKernel:
    """The kernel between rows and landmarks U, by |x - u|^2 = |x|^2 - 2 x.u + |u|^2.

    Dense rows are first shifted by the mean of the landmarks, which avoids cancellation where means are large compared
    with the spread.

    Parameters
    ----------
    landmarks : ndarray of shape (m, n_features)
        The landmarks U.
    gamma : float
        The gamma of the kernel.
    dtype : dtype
        The type of the result.
    centered : bool
        Whether to shift the rows.
    """

    def __init__(self, landmarks: np.ndarray, gamma: float, dtype: np.dtype[Any], centered: bool) -> None:
        self.center = landmarks.mean(axis=0, dtype=np.float64).astype(dtype) if centered else None
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
        return (rows if self.center is None else rows - self.center) * self.unit


class DeviceKernel:
    """The kernel between blocks of rows on a device and landmarks, as :class:`GaussianKernel` computes it in memory.

    Parameters
    ----------
    landmarks : ndarray of shape (m, n_features)
        The landmarks U.
    gamma : float
        The gamma of the kernel.
    dtype : dtype
        The type of the result, float32 or float64.
    beside : array
        An array on the device.
    """

    def __init__(self, landmarks: np.ndarray, gamma: float, dtype: Any, beside: Any) -> None:
        kernel = GaussianKernel(landmarks, gamma, np.dtype(dtype), centered=True)
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

    See :class:`aucmax.data.device_changes.LinearChange`.

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


def normalize(landmarks: np.ndarray, gamma: float) -> np.ndarray:
    """Return V diag(e)^-1/2 of the landmarks, largest eigenvalues first, without those within rounding of 0."""
    with one_blas_thread():
        K = GaussianKernel(landmarks, gamma, np.dtype(np.float64), centered=True)(landmarks)
        e, V = linalg.eigh(K, overwrite_a=True, check_finite=False)
    return scale_eigenvectors(e, V, landmarks.dtype)


def normalize_on_device(landmarks: np.ndarray, gamma: float, beside: Any) -> np.ndarray:
    """Return what `normalize` returns, computed on the device of an array."""
    kernel = DeviceKernel(landmarks, gamma, np.float64, beside)
    e, V = namespace(beside).linalg.eigh(kernel(place_beside(landmarks, beside)))
    return scale_eigenvectors(to_numpy(e), V, landmarks.dtype)


def scale_eigenvectors(e: np.ndarray, V: Any, dtype: Any) -> np.ndarray:
    """Return V diag(e)^-1/2 as an array in memory; V may be on a device."""
    xp = namespace(V)
    # The size of a feature is about sqrt(e / m), and its error from rounding of the kernel about eps / sqrt(e): one per
    # cent or less at e = eps m (measured). The eigenvalues have an error of up to 13 eps m in float64.
    least = len(e) * max(np.finfo(dtype).eps, 100 * np.finfo(np.float64).eps)
    kept = np.flatnonzero(e > least)[::-1]
    V = xp.take(V, place_beside(kept.copy(), V), axis=1)
    # An eigenvector has no sign. With its largest entry positive, the features are the same on every machine.
    flipped = xp.max(V, axis=0) < -xp.min(V, axis=0)
    roots = place_beside(np.sqrt(e[kept]), V)
    return np.ascontiguousarray(to_numpy(V / xp.where(flipped, -roots, roots)), dtype=dtype)
