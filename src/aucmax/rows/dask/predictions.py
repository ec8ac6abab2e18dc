"""Predictions for Dask collections: lazy, and of the same kind and the same partitions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .partitions import is_array, join_columns

Method = Callable[[Any], np.ndarray]


def predict_lazily(method: Method, X: Any, classes: np.ndarray, one_row: Callable[[Any], Any]) -> Any:
    """Return the predictions of a method for each partition of X, without computing them.

    The method takes rows as an array, CSR or dataframe and returns an array of shape (n,) or (n, 2). It is called once
    here, with `one_row(X)`, and raises its error at once if X has other columns than it expects. The result is an
    array if X is one, else a series or a dataframe with the index of X and the columns `classes`.
    """
    if not is_array(X):
        call = functools.partial(of_frame, method, classes, one_row)
        return X.map_partitions(call, meta=call(X._meta))

    import dask.array as da

    result = method(one_row(X))
    call = functools.partial(of_block, method, result[:0])
    columns = {} if result.ndim == 1 else {"k": result.shape[1]}
    return da.blockwise(call, ["i", *columns], X, "ij", new_axes=columns, meta=result[:0])


def of_block(method: Method, nothing: np.ndarray, blocks: list[Any]) -> np.ndarray:
    """Return the results for rows of an array, which may be none, and may be cut between columns."""
    return method(join_columns(blocks)) if blocks[0].shape[0] else nothing


def of_frame(method: Method, classes: np.ndarray, one_row: Callable[[Any], Any], frame: Any) -> Any:
    """Return the results for a dataframe, which may have no rows, as a series or a dataframe with its index."""
    import pandas as pd

    values = method(frame if len(frame) else one_row(frame))
    found = pd.Series(values) if values.ndim == 1 else pd.DataFrame(values, columns=list(classes))
    return found.iloc[: len(frame)].set_axis(frame.index)
