"""Wide rows in as many coordinates as there are rows.

A fit with an L2 penalty depends on the rows through their inner products alone, and its weights lie in the span of the
centred rows. If K = V diag(lambda) V' is the matrix of these inner products, the rows V sqrt(lambda) have the same
inner products in `rank` columns. All folds, losses and alphas are then fitted to these, and the weights u of the
coordinates are the weights (X - mean)' V u / sqrt(lambda) of the columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .memory import MemoryRows
from .protocol import Rows, Targets
from .threads import one_blas_thread

RANK_TOL = 1e-12  # smaller eigenvalues, relative to the largest, are rounding errors


class Rotation(NamedTuple):
    """Rows in coordinates, and the way back.

    Attributes
    ----------
    rows : MemoryRows
        The coordinates of the rows, with the same classes, weights and groups.
    source : Rows
        The rows themselves.
    scale : ndarray of shape (n_features,)
        The columns were divided by it.
    center : ndarray of shape (n_features,)
        A point among the rows.
    variances : ndarray of shape (rank,)
        The variances of the coordinates, which are uncorrelated.
    to_rows : ndarray of shape (n_rows, rank)
        V / sqrt(lambda), which turns weights of the coordinates into a combination of rows.
    """

    rows: MemoryRows
    source: Rows
    scale: np.ndarray
    center: np.ndarray
    variances: np.ndarray
    to_rows: np.ndarray

    def weights(self, U: np.ndarray) -> np.ndarray:
        """Return the weights of X for weights of the coordinates, shape (rank,) or (n, rank)."""
        combination = self.source.as_vector(np.ascontiguousarray((U @ self.to_rows.T).T))
        return self.source.rmatvec(combination, self.center).T / self.scale / self.scale


def rotate(rows: Rows, scale: np.ndarray, center: np.ndarray) -> Rotation:
    """Return the rows of X / scale in coordinates whose inner products are those of the centred rows."""
    K = rows.gram(scale)
    means = K.mean(axis=0)
    K = K - means[:, None] - means + means.mean()
    with one_blas_thread():
        values, V = np.linalg.eigh(K)
    kept = values > RANK_TOL * max(float(values[-1]), 0.0)
    kept[-1] = True  # if all rows are equal, there is one coordinate of zeros
    root = np.sqrt(np.maximum(values[kept], 0.0))
    positive = rows.reduce(lambda targets: targets.positive, merge=np.append)
    groups = rows.reduce(lambda targets: targets.groups, merge=np.append) if rows.has_groups else None
    labels, weights = rows.classes[positive.astype(np.intp)], rows.reduce(sample_weights, merge=np.append)
    coordinates = MemoryRows(V[:, kept] * root, labels, rows.classes, weights, groups)
    to_rows = V[:, kept] / np.where(root > 0, root, 1.0)
    return Rotation(coordinates, rows, scale, center, root**2 / len(V), to_rows)


def sample_weights(targets: Targets) -> np.ndarray:
    """Return the weights of a block."""
    return np.ones(len(targets.positive)) if targets.sample_weight is None else targets.sample_weight
