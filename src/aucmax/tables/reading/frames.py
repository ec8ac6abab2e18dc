"""Frames of any library, and arrays, as Arrow tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Rational
from typing import Any

import numpy as np

NOT_OF_ARROW = ("Int128", "UInt128", "Object")  # types of polars
COMPLEX = "Complex data not supported: make the real and the imaginary parts columns of their own"


def is_frame(X: Any) -> bool:
    """Return whether X is a table with named columns: of pandas, polars, Arrow, Dask, DuckDB or another library."""
    return any(hasattr(X, name) for name in ("iloc", "__arrow_c_stream__", "__arrow_c_array__", "column_names"))


def check_table(X: Any) -> None:
    """Raise a ValueError if X is neither a frame nor an array, which scikit-learn checks."""
    if hasattr(X, "collect_schema") and not hasattr(X, "to_arrow"):  # of polars
        raise ValueError(f"X is a {type(X).__name__}, whose rows are not in memory yet: call .collect().")
    lengths: set[Any] = {None}
    if isinstance(X, list | tuple):
        lengths = {len(row) if isinstance(row, list | tuple | np.ndarray) else None for row in X}
    is_array = hasattr(X, "shape") or hasattr(X, "__array__") or (len(lengths) == 1 and None not in lengths)
    is_record = getattr(getattr(X, "dtype", None), "names", None) is not None
    if hasattr(X, "to_frame") or is_record or not (is_frame(X) or is_array):
        raise ValueError(
            f"X is a {type(X).__name__}, not a table: pass a frame, or an array with a row for each sample."
        )


def to_arrow(X: Any, names: Sequence[str] | None = None) -> Any:
    """Return a frame or a two-dimensional array as an Arrow table.

    `names` are the names of the columns of an array, x0, x1, ... by default.
    """
    import pyarrow as pa

    if isinstance(X, pa.Table):
        return X
    if hasattr(X, "iloc"):  # pandas, whose own stream refuses columns of mixed types, and has the index as a column
        return _to_table([X.iloc[:, j] for j in range(X.shape[1])], [str(name) for name in X.columns])
    if hasattr(X, "to_arrow"):  # polars, whose stream has views of text, which older releases of Arrow cannot cast
        others = [name for name, dtype in getattr(X, "schema", {}).items() if str(dtype) in NOT_OF_ARROW]
        if not others:
            return X.to_arrow()
        return _to_table([X[name].to_list() if name in others else X[name].to_arrow() for name in X.columns], X.columns)
    if hasattr(X, "read_all"):
        return X.read_all()
    if is_frame(X):
        try:
            return pa.table(X)
        except pa.ArrowInvalid:  # a column alone
            raise ValueError(f"X is a {type(X).__name__}, not a table: pass a frame with named columns.") from None
    X = np.asarray(X)
    X = X.astype(X.dtype.newbyteorder("="), copy=False)
    if names is None or len(names) != X.shape[1]:
        names = [f"x{j}" for j in range(X.shape[1])]
    if X.dtype.kind in "iuf":  # NaN stays NaN
        return pa.table([pa.array(column) for column in np.ascontiguousarray(X.T)], names=list(names))
    return _to_table(list(X.T), names)


def _to_table(columns: Sequence[Any], names: Sequence[str]) -> Any:
    import pyarrow as pa

    found = []
    for name, values in zip(names, columns, strict=True):
        with naming_column("X", name):
            found.append(_to_column(values))
    return pa.table(found, names=list(names))


@contextmanager
def naming_column(name: str, column: str) -> Iterator[None]:
    """Put the table and the column before errors about cells; errors of pyarrow are ValueErrors, too."""
    try:
        yield
    except ValueError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{name}, column {column!r}: {reason}.") from None


def _to_column(values: Any) -> Any:
    """Return a column as an Arrow array; one of mixed types, or of numbers that Arrow has not, as text."""
    import pyarrow as pa

    dtype: Any = getattr(values, "dtype", "")
    categories = getattr(dtype, "categories", None)  # of pandas
    if str(getattr(categories, "dtype", "")).startswith(("object", "interval", "complex")):
        codes = values.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _to_column(categories))
    if str(dtype).startswith(("interval", "<U", "|S")):
        values = values.astype(object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError):
        if getattr(dtype, "kind", "") in ("m", "M"):  # in hours, for example
            return pa.array(values.astype(f"{dtype.kind}8[s]"))
        return pa.array([None if value is None else cell_text(value) for value in values], pa.string())


def cell_text(value: Any) -> str:
    """Return a cell as Arrow writes it."""
    if isinstance(value, complex):
        raise ValueError(COMPLEX)
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, Rational):  # integers of any size, and fractions
        number: Any = value
        if abs(number) > sys.float_info.max:
            return "inf" if number > 0 else "-inf"
        return str(number if number.denominator == 1 else float(number))
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
