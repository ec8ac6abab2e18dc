"""Frames of any library, and arrays, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def is_frame(X: Any) -> bool:
    """Return whether X is a table with named columns: of pandas, polars, Arrow, Dask, DuckDB or another library."""
    return any(hasattr(X, name) for name in ("iloc", "__arrow_c_stream__", "__arrow_c_array__", "column_names"))


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame, which is not read; None for an array.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from aucmax.tables.reading.frames import column_names
    >>> column_names(pa.table({"size": [1], "colour": ["red"]})), column_names([[1, 2]])
    (['size', 'colour'], None)
    """
    if not is_frame(X):
        return None
    names = X.columns if hasattr(X, "iloc") else getattr(X, "column_names", getattr(X, "columns", None))
    if names is None:
        names = X.schema.names if hasattr(X, "schema") else to_arrow(X).column_names
    return [str(name) for name in names]


def to_arrow(X: Any, names: Sequence[str] | None = None) -> Any:
    """Return a frame or a two-dimensional array as an Arrow table.

    Parameters
    ----------
    X : frame or array-like of shape (n_samples, n_columns)
        The rows: a frame of pandas or polars, an Arrow table or reader, or anything with ``__arrow_c_stream__``.
    names : sequence of str, default=None
        The names of the columns of an array that has as many; x0, x1, ... by default.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.tables.reading.frames import to_arrow
    >>> to_arrow(np.array([[1, "red"], [2, None]], dtype=object)).to_pydict()
    {'x0': [1, 2], 'x1': ['red', None]}
    """
    import pyarrow as pa

    if isinstance(X, pa.Table):
        return X
    if hasattr(X, "iloc"):  # pandas, whose own stream refuses columns of mixed types, and has the index as a column
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return pa.table([_to_column(column) for column in columns], names=[str(name) for name in X.columns])
    if hasattr(X, "to_arrow"):  # polars, whose stream has views of text, which older releases of Arrow cannot cast
        return X.to_arrow()
    if hasattr(X, "read_all"):
        return X.read_all()
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        return pa.table(X)
    X = np.asarray(X)
    if names is None or len(names) != X.shape[1]:
        names = [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind in "iuf":  # NaN stays NaN
        return pa.table([pa.array(column) for column in np.ascontiguousarray(X.T)], names=list(names))
    return pa.table([_to_column(column) for column in X.T], names=list(names))


def _to_column(values: Any) -> Any:
    """Return a column as an Arrow array; one of mixed types as text."""
    import pyarrow as pa

    dtype = getattr(values, "dtype", "")
    if str(getattr(getattr(dtype, "categories", None), "dtype", "")).startswith("interval"):  # of pandas.cut
        values = values.cat.rename_categories(str)
    if str(dtype).startswith("interval") or str(dtype).startswith(("<U", "|S")):
        values = values.astype(object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else _to_text(value) for value in values], pa.string())


def _to_text(value: Any) -> str:
    """Return a cell as Arrow writes it."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
