"""The Gaussian kernel between rows in memory and landmarks; `data/device_kernel.py` has it on a device.

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


def normalize(landmarks: np.ndarray, gamma: float) -> np.ndarray:
    """Return V diag(e)^-1/2 of the landmarks, largest eigenvalues first, without those within rounding of 0."""
    with one_blas_thread():
        K = GaussianKernel(landmarks, gamma, np.dtype(np.float64), centered=True)(landmarks)
        e, V = linalg.eigh(K, overwrite_a=True, check_finite=False)
    return scale_eigenvectors(e, V, landmarks.dtype)


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
