"""The check of sparse arrays that came from outside, before SciPy or a compiled loop follows their indices.

SciPy's `check_format` looks at no index where the last entry of `indptr` is 0 or less, and its loops then read and
write wherever the other entries point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def check_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> None:
    """Raise a ValueError unless the arrays make a CSR matrix of this shape.

    Parameters
    ----------
    data, indices : ndarray of shape (n_values,)
        Values and their columns; those beyond the last entry of `indptr` belong to no row.
    indptr : ndarray of shape (n_rows + 1,)
        Where the values of each row begin, and where the last row ends.
    shape : sequence of two int
        The numbers of rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.csr_indices import check_csr
    >>> check_csr(np.ones(2), np.array([0, 4]), np.array([0, 1, 2]), (2, 5))
    >>> check_csr(np.ones(2), np.array([0, 4]), np.array([0, 9, 0]), (2, 5))
    Traceback (most recent call last):
        ...
    ValueError: indptr must begin with 0, must not decrease, and must end with at most 2, the number of indices.
    """
    n_rows, n_columns = shape
    arrays = {"data": data, "indices": indices, "indptr": indptr}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name} of a CSR matrix has the shape {array.shape}, but one axis is accepted.")
        if name != "data" and array.dtype.kind not in "iu":
            raise ValueError(f"{name} of a CSR matrix is of type {array.dtype}, but whole numbers are accepted.")
    if len(indptr) != n_rows + 1:
        raise ValueError(f"indptr has {len(indptr)} entries, but {n_rows} rows take one more than there are rows.")
    if len(indices) != len(data):
        raise ValueError(f"indices has {len(indices)} entries, but data has {len(data)}.")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > len(indices):
        raise ValueError(
            "indptr must begin with 0, must not decrease, and must end with at most "
            f"{len(indices)}, the number of indices."
        )
    used = indices[: indptr[-1]]
    if used.size and (used.min() < 0 or used.max() >= n_columns):
        raise ValueError(f"indices must be from 0 to {n_columns - 1}, but {used.min()} to {used.max()} were found.")


def check_sparse(X: Any) -> None:
    """Raise a ValueError if an index of a SciPy matrix leads out of its arrays.

    Parameters
    ----------
    X : sparse matrix of shape (n_rows, n_columns)
        CSR, CSC, BSR or COO; SciPy makes the arrays of other formats itself, from lists, dicts or diagonals.

    Examples
    --------
    >>> from scipy import sparse
    >>> from aucmax.csr_indices import check_sparse
    >>> X = sparse.csc_array([[1.0, 0.0], [0.0, 2.0]])
    >>> X.indices[1] = 5
    >>> check_sparse(X)
    Traceback (most recent call last):
        ...
    ValueError: indices must be from 0 to 1, but 0 to 5 were found.
    """
    if X.format == "csr":
        check_csr(X.data, X.indices, X.indptr, X.shape)
    elif X.format == "csc":
        check_csr(X.data, X.indices, X.indptr, X.shape[::-1])
    elif X.format == "bsr":
        _, height, width = X.data.shape
        check_csr(X.data[:, 0, 0], X.indices, X.indptr, (X.shape[0] // height, X.shape[1] // width))
    elif X.format == "coo":
        for places, size in zip((X.row, X.col), X.shape, strict=True):
            if len(places) != len(X.data):
                raise ValueError(f"row and col must have {len(X.data)} entries, as data has, but have {len(places)}.")
            if places.size and (places.min() < 0 or places.max() >= size):
                raise ValueError(
                    f"row and col must be from 0 to {size - 1}, but {places.min()} to {places.max()} were found."
                )
