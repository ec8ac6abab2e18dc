"""The Gaussian kernel between rows on a device and landmarks, the features made from it, and k-means for the landmarks.

`nystroem.py` describes kernel and features. k-means has the steps and the random numbers of scikit-learn's KMeans. The
centres agree up to rounding, unless rounding decides between two candidates of k-means++: two rows that are each
other's nearest leave the same sum of distances.

1. The first centres are rows, drawn one after the other by k-means++: a row is a candidate with a probability in
   proportion to its squared distance from the nearest centre so far. Of 2 + log k candidates, the one that leaves the
   smallest sum of these distances is taken.
2. Each iteration assigns the rows to their nearest centre, and moves each centre to the mean of its rows. A centre
   without rows moves to the row that is furthest from its own centre.

All random numbers are drawn before the first step, and no step of k-means++ waits for the device: k = 40,000 centres
take 40,000 of them. Distances to all centres are made for a block of rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import device_of, namespace, place_beside, to_numpy
from .checks import check_finite, check_matrix

BLOCK_VALUES = 1 << 27  # distances that are in memory at once
TOL = 1e-4  # as in KMeans: of the mean variance of the columns, squared shifts of the centres that end the iterations


# Second moments of features are computed from the kernel's S as e^-1/2 V'SV e^-1/2 if that changes the variance of a
# feature by less than this share of it, at most. S is summed of kernels minus their mean, and has an error of about
# eps s, where s is the variance of the kernel. Rounding errors are not correlated, so that they are no larger for an
# eigenvector. A feature has a variance of about e / m, which makes the share eps m s / e^2 for the smallest e.
# Measured with 500 and 1,000 landmarks, smallest e from 0.13 to 0.0009, it was from half of that up to six times that,
# the latter where it was 2e-13; without subtracting the mean it was 6 to 240 times larger.
SQUARED_ERROR = 1e-6
FIRST_LANDMARKS = 1024  # tell the variance of the kernel
BLOCK = 1 << 16  # on a device


class DeviceKernel:
    """The kernel between blocks of rows on the device of `beside` and landmarks, of shape (m, n_features).

    `kernel` is the centred kernel in memory; the result has its type.
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
    """The features of blocks of rows on a device, a :class:`aucmax.rows.device.rows.LinearChange` of columns.

    `normalization` is the matrix V diag(e)^-1/2 of shape (m, n_features_out), largest eigenvalues first.
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


def eigenvectors(kernel: DeviceKernel, landmarks: np.ndarray, beside: Any) -> tuple[np.ndarray, Any]:
    """Return the eigenvalues of the kernel between landmarks, and the eigenvectors on the device of an array."""
    e, V = namespace(beside).linalg.eigh(kernel(place_beside(landmarks, beside)))
    return to_numpy(e), V


def find_centers(X: Any, n_clusters: int, max_iter: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the k-means centres of more than `n_clusters` rows, in memory and of the type of X."""
    xp, dtype = namespace(X), X.dtype
    X = xp.astype(X, xp.float64)
    mean = xp.mean(X, axis=0)
    X = X - mean
    norms = xp.sum(X * X, axis=1)
    centers = xp.take(X, first_centers(X, norms, n_clusters, rng), axis=0)
    labels: Any = None
    for _ in range(max_iter):
        moved, found = move_centers(X, centers)
        same = labels is not None and bool(xp.all(found == labels))
        shift = float(xp.sum((moved - centers) ** 2))
        centers, labels = moved, found
        if same or shift <= TOL * float(xp.mean(norms)) / X.shape[1]:
            break
    return to_numpy(xp.astype(centers + mean, dtype))


def first_centers(X: Any, norms: Any, n_clusters: int, rng: np.random.RandomState) -> Any:
    """Return the numbers of the rows that k-means++ starts from; `norms` are the squared norms of the rows."""
    xp, n_rows = namespace(X), X.shape[0]
    first = np.array([rng.choice(n_rows, p=np.full(n_rows, 1 / n_rows))])
    draws = place_beside(rng.uniform(size=(n_clusters - 1, 2 + int(np.log(n_clusters)))), X)
    chosen = [place_beside(first, X)]
    closest = distances(X, norms, chosen[0])[0, :]
    potential = xp.sum(closest)
    for c in range(n_clusters - 1):
        numbers = xp.searchsorted(xp.cumulative_sum(closest), draws[c, :] * potential)
        numbers = xp.clip(numbers, 0, n_rows - 1)  # rounding may leave a draw above the last sum
        nearest = xp.minimum(distances(X, norms, numbers), closest[None, :])
        potentials = xp.sum(nearest, axis=1)
        best = xp.reshape(xp.argmin(potentials), (1,))
        chosen.append(xp.take(numbers, best))
        closest, potential = xp.take(nearest, best, axis=0)[0, :], xp.take(potentials, best)
    return xp.concat(chosen)


def distances(X: Any, norms: Any, numbers: Any) -> Any:
    """Return the squared distances of some rows to all rows."""
    xp = namespace(X)
    products = xp.take(X, numbers, axis=0) @ X.T
    return xp.clip(xp.take(norms, numbers)[:, None] - 2 * products + norms[None, :], 0.0, None)


def move_centers(X: Any, centers: Any) -> tuple[Any, Any]:
    """Return the means of the rows that are nearest to each centre, and the number of the centre of each row."""
    xp, (n_clusters, n_features) = namespace(X), centers.shape
    device = device_of(X)
    halves = xp.sum(centers * centers, axis=1) / 2
    sums = xp.zeros((n_clusters, n_features), dtype=X.dtype, device=device)
    counts = xp.zeros(n_clusters, dtype=X.dtype, device=device)
    numbers = xp.arange(n_clusters, device=device)
    labels, step = [], max(BLOCK_VALUES // n_clusters, 1)
    for start in range(0, X.shape[0], step):
        block = X[start : min(start + step, X.shape[0]), :]
        nearest = xp.argmin(halves - block @ centers.T, axis=1)
        members = xp.astype(nearest[:, None] == numbers, X.dtype)
        sums += members.T @ block
        counts += xp.sum(members, axis=0)
        labels.append(nearest)
    together = xp.concat(labels)
    refill_empty(X, centers, together, sums, counts)
    largest = sums[int(xp.argmax(counts)), :] / xp.max(counts)
    each = counts[:, None]
    return xp.where(each > 0, sums / xp.where(each > 0, each, xp.ones_like(each)), largest), together


def refill_empty(X: Any, centers: Any, labels: Any, sums: Any, counts: Any) -> None:
    """Give each centre without rows the row that is furthest from its own centre, in place."""
    xp = namespace(X)
    empty = np.flatnonzero(to_numpy(counts) == 0).tolist()
    if not empty:
        return
    away = to_numpy(xp.sum((X - xp.take(centers, labels, axis=0)) ** 2, axis=1))
    if away.max() == 0:  # fewer distinct rows than centres
        return
    for k, row in zip(empty, np.argsort(-away, kind="stable")[: len(empty)].tolist(), strict=True):
        old = int(labels[row])
        sums[old, :] -= X[row, :]
        sums[k, :] = X[row, :]
        counts[old] -= 1
        counts[k] = 1
