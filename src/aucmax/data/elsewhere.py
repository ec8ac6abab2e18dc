"""Rows that are not in memory: the one place where it is decided what they are."""

from __future__ import annotations

from typing import Any

from .arrays import on_device
from .validation import is_dask, refuse_dask


def rows_elsewhere(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Any:
    """Return the rows of Dask collections or of arrays on a device; None if X is in memory."""
    if is_dask(X):
        from .dask import DaskRows

        return DaskRows(X, y, sample_weight, groups)
    if on_device(X):
        from .device import DeviceRows

        return DeviceRows.of(X, y, sample_weight, groups)
    refuse_dask("X", y=y, sample_weight=sample_weight, groups=groups)
    return None
