"""Checks of a state that was read from a file, before a kernel continues from it."""

from typing import Any

import numpy as np

from .row_buffers import ClassBuffers


def check_like(found: Any, start: Any, where: str, n_features: int) -> None:
    """Raise a ValueError unless a state is made as the one that a fit starts from: kernels trust shapes and indices.

    Parameters
    ----------
    found, start : named tuple or ndarray
        The state from a file, and that of an algorithm with the same parameters before its first row.
    where : str
        What an error calls it.
    n_features : int
        The number of columns.
    """
    if type(found) is not type(start):
        raise ValueError(f"{where} is {type(found).__name__}, where {type(start).__name__} is expected")
    if isinstance(start, ClassBuffers):
        found.check(where, start.lengths.shape[1], n_features)
    elif isinstance(start, tuple):
        for name, part, expected in zip(type(start)._fields, found, start, strict=True):  # type: ignore[attr-defined]
            check_like(part, expected, f"{name} of {where}", n_features)
    elif (found.dtype, found.shape) != (start.dtype, start.shape):
        told = f"{start.dtype} of shape {start.shape}"
        raise ValueError(f"{where} is {found.dtype} of shape {found.shape}, where {told} is expected")
    elif not found.flags.c_contiguous:
        raise ValueError(f"{where} is not in the order of rows")
    elif not np.isfinite(found).all():
        raise ValueError(f"{where} holds values that are not finite")
