"""Where X is: in memory, in Dask collections or on a device. No other module asks, or imports code for one place.

Functions return None if X is in memory; the caller then validates arrays itself.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._compat import _check_n_features
from .arrays import on_device
from .protocol import ReadRows, RemoteScores
from .validate import DASK_NOT_SUPPORTED, DEVICE_NOT_SUPPORTED, check_labels, check_present, is_dask, refuse_dask

# Rows


def remote_rows(X: Any, y: Any, sample_weight: Any = None, groups: Any = None, device_error: str | None = None) -> Any:
    """Return the rows of Dask collections or of arrays on a device; None if X is in memory.

    Rows on a device are refused with the words `device_error`, if these are given.
    """
    if is_dask(X):
        from .dask.rows import DaskRows

        return DaskRows(X, y, sample_weight, groups)
    if on_device(X):
        if device_error is not None:
            raise ValueError(device_error)
        from .device.rows import DeviceRows

        return DeviceRows.of(X, y, sample_weight, groups)
    refuse_dask("X", y=y, sample_weight=sample_weight, groups=groups)
    return None


def cluster_rows(source: Any, positive: str | None, memory: float) -> ReadRows:
    """Return the rows of files that the workers of a Dask cluster read."""
    from .dask.rows import DaskFiles

    return DaskFiles(source, positive, memory)


def require_memory(
    X: Any, dask_error: str = DASK_NOT_SUPPORTED, device_error: str | None = DEVICE_NOT_SUPPORTED
) -> None:
    """Raise a ValueError if X is not in memory; None allows arrays on a device."""
    if is_dask(X):
        raise ValueError(dask_error)
    if device_error is not None and on_device(X):
        raise ValueError(device_error)


# Predictions


def predict_where_stored(method: Callable[..., Any], model: Any, X: Any, attributes: Sequence[str]) -> Any:
    """Call a method of prediction; for a Dask collection, return a lazy collection of the same kind.

    The model that tasks receive has only the named attributes, without what takes memory, such as class moments.
    """
    if not is_dask(X):
        return method(model, X)
    from .dask.predictions import predict_lazily

    check_is_fitted(model, "coef_")
    small = copy.copy(model)
    small.__dict__ = {name: value for name, value in vars(model).items() if name in attributes}
    return predict_lazily(functools.partial(method, small), X, model.classes_, small._one_row)


def device_product(estimator: Any, X: Any, w: np.ndarray) -> Any:
    """Return X @ w for X on a device, which has the columns that the estimator was fitted to."""
    if not on_device(X):
        return None
    from .device.rows import device_scores

    _check_n_features(estimator, X, reset=False)
    return device_scores(X, w)


# Scores


def remote_scores(
    y: Any, sample_weight: Any = None, classes: np.ndarray | None = None, **scores: Any
) -> RemoteScores | None:
    """Return scores in Dask collections or on a device; None if they are in memory.

    At least one of the scores, which errors call by the given names, is there.
    """
    if any(map(is_dask, scores.values())):
        from .dask.scores import DaskScores

        space = DaskScores(y, sample_weight, **scores)
        if classes is not None:
            check_labels(space.classes, classes)
        return space
    if any(map(on_device, scores.values())):
        from .device.scores import DeviceScores

        return DeviceScores(y, sample_weight, classes, **scores)
    refuse_dask("scores", y=y, sample_weight=sample_weight)
    return None


def label_mask(y: Any, pos_label: Any) -> Any:
    """Return which labels are the positive one, where y is; y itself if `pos_label` is None."""
    if pos_label is None:
        return y
    if is_dask(y) or on_device(y):
        return y == pos_label
    labels = check_present(column_or_1d(y, warn=True))
    mask = np.asarray(labels == pos_label) if np.ndim(pos_label) == 0 else np.zeros(len(labels), dtype=bool)
    if mask.shape != labels.shape or not mask.any():
        raise ValueError(f"pos_label={pos_label!r} is not one of the labels of y.")
    return mask


# Tables


def learn_remote_table(X: Any, find_overrides: Callable[[list[str]], Any]) -> Any:
    """Return how the table of a Dask dataframe is read, see :func:`aucmax.rows.dask.tables.learn_partitions`."""
    if not is_dask(X):
        return None
    from .dask.tables import learn_partitions

    return learn_partitions(X, find_overrides([str(name) for name in X.columns]))


def transform_remote_table(X: Any, reading: Any, output: str, n_columns: int, is_sparse: bool) -> Any:
    """Return a Dask dataframe as a lazy array of what `output` says, see `Reading.convert`."""
    if not is_dask(X):
        return None
    from .dask.tables import transform_lazily

    return transform_lazily(reading, X, output, n_columns, is_sparse)


# Kernels


def device_kernels(X: Any) -> Any:
    """Return the module that computes kernels and k-means where X is, `device_kernel`, if X is on a device."""
    if not on_device(X):
        return None
    from .device import kernels as device_kernel

    return device_kernel
