"""Frames of pandas, polars and Arrow, and arrays, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def to_arrow(X: Any, names: Sequence[str] | None = None) -> Any:
    """Return a frame or a two-dimensional array as an Arrow table.

    Parameters
    ----------
    X : pandas or polars DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
        The rows.
    names : sequence of str, default=None
        The names of the columns of an array that has as many; x0, x1, ... by default.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.tables.reading.frames import to_arrow
    >>> to_arrow(np.array([[1, "red"], [2, None]], dtype=object)).to_pydict()
    {'x0': [1, 2], 'x1': ['red', None]}
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("TableEncoder reads frames with pyarrow: pip install 'aucmax[data]'.") from None

    if isinstance(X, pa.Table):
        return X
    if hasattr(X, "to_arrow"):  # polars
        return X.to_arrow()
    if hasattr(X, "iloc"):  # pandas
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
        return pa.table([_to_column(column) for column in columns], names=[str(name) for name in X.columns])
    X = np.asarray(X)
    if names is None or len(names) != X.shape[1]:
        names = [f"x{j}" for j in range(X.shape[1])]
    return pa.table([_to_column(column) for column in X.T], names=list(names))


def _to_column(values: Any) -> Any:
    """Return a column as an Arrow array; one of mixed types as text."""
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype.kind in "US":
        values = values.astype(object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([_to_text(value) for value in values], pa.string())


def _to_text(value: Any) -> str | None:
    missing = value is None or value != value  # NaN is the only value that differs from itself
    return None if missing else str(value)
