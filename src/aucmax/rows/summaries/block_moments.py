"""Mean and centred scatter of one block of rows of one class, dense or CSR.

Rows are shifted close to their mean before they are squared. The mean of the shifted rows is then measured and
subtracted. This avoids cancellation where means are large compared with the spread.
"""

from typing import Any

import numpy as np
from scipy import sparse

from ..machine import gram
from .kernels import add_outer_products, csr_columns, dense_columns

BLOCK = 1 << 13


def gather(block: np.ndarray, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """Copy some rows of a block as float64 into an existing buffer, which saves a quarter of the time."""
    Z = buffer[: len(rows)]
    if block.dtype == Z.dtype and block.flags.c_contiguous:
        return block.take(rows, axis=0, out=Z, mode="clip")  # only "clip" writes to `out` without a copy
    Z[...] = block[rows]
    return Z


def average(Z: np.ndarray, weights: np.ndarray | None, total: float) -> np.ndarray:
    """Return the weighted mean of the rows; `total` is the sum of the weights."""
    return (np.ones(len(Z)) if weights is None else weights) @ Z / total


def dense_moments(
    Z: np.ndarray, weights: np.ndarray | None, total: float, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and centred scatter of rows whose mean is close to `shift`. The rows are overwritten."""
    Z -= shift
    rest = average(Z, weights, total)
    if weights is not None:
        Z *= np.sqrt(weights)[:, None]
    scatter = gram(Z)
    scatter -= np.outer(rest * total, rest)
    return shift + rest, scatter


def csr_moments(Z: Any, weights: np.ndarray | None, total: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and centred scatter of CSR rows from their nonzeros alone.

    A column without zeros is shifted by its mean first. The others are not shifted: one zero among n rows of
    mean m gives a variance of at least about m^2 / n, so that centring afterwards loses few digits.
    """
    n_rows, n_features = Z.shape
    if weights is None:
        weights = np.ones(n_rows)
    Z, shift = shift_full_columns(Z, weights, total)
    scatter = np.zeros((n_features, n_features))
    add_outer_products(Z.data, Z.indices, Z.indptr, weights, scatter)
    scatter += np.triu(scatter, 1).T
    rest = Z.T @ weights / total
    scatter -= np.outer(rest * total, rest)
    return shift + rest, scatter


def shift_full_columns(Z: Any, weights: np.ndarray, total: float) -> tuple[Any, np.ndarray]:
    """Return CSR rows as float64, with each column that has no zeros shifted by about its mean, and the shift."""
    n_rows, n_features = Z.shape
    full = np.bincount(Z.indices, minlength=n_features) == n_rows
    shift = np.where(full, Z.T @ weights / total, 0.0)
    return subtract(Z, shift), shift


def subtract(X: Any, shift: np.ndarray) -> Any:
    """Return X - shift; a CSR column that is shifted must have no zeros."""
    if not sparse.issparse(X):
        return X - shift
    return type(X)((X.data - shift[X.indices], X.indices, X.indptr), shape=X.shape)


def class_columns(
    X: Any, positive: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the weight of each class, and mean and centred sum of squares of each column in it, in one pass over X.

    As in the class moments, dense rows and CSR columns without zeros are shifted before they are squared.
    """
    weight, means, squares = np.zeros(2), np.zeros((2, X.shape[1])), np.zeros((2, X.shape[1]))
    if sparse.issparse(X):
        csr_columns(X.data, X.indices, X.indptr, positive, weights, weight, means, squares)
    else:
        dense_columns(X, positive, weights, weight, means, squares)
    return weight, means, squares
