"""The columns of a table that are no features: labels, weights and groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from ..tables.cells import read_numbers, trim
from ..tables.summary import UNITS, find_type, native_numbers
from .problems import EMPTY
from .source import Options

TARGETS = ("target", "label", "class", "y")
TRUTH = ("true", "false")
ROUNDED = 2.0**53  # from here on, doubles are not all integers, and two labels may become one
# Fewer than in columns of features: "-" and "none" may be labels.
GAPS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")

Fault = tuple[int, str, int]  # the row of the first fault, what it is, and how many there are


def check_role(
    name: str, column: str, role: str, columns: Collection[str], roles: Mapping[str, str], what: str = "column"
) -> None:
    """Raise a ValueError if there is no such column (or other `what`), or if it has another role already."""
    if column not in columns:
        raise ValueError(f"{name} has no {what} {column!r} to be the {role}; {listed(columns, what)}.")
    if column in roles:
        raise ValueError(f"{name}: the {what} {column!r} is {roles[column]}, so it cannot be the {role}.")


def find_target(name: str, columns: list[str], roles: Mapping[str, str], options: Options) -> str | None:
    """Return the column that `options` name or else the only one with the name of a target, if it has no other role."""
    if options.target is not None:
        if options.with_target:
            check_role(name, options.target, "target", columns, roles)
        return options.target if options.target in columns and options.target not in roles else None
    found = [column for column in columns if column.lower() in TARGETS and column not in roles]
    if len(found) == 1:
        return found[0]
    if options.with_target:
        raise ValueError(
            f"{name}: {'several columns' if found else 'no column'} called {', '.join(TARGETS[:-1])} or {TARGETS[-1]}: "
            f"name the target with target=; {listed(columns)}."
        )
    return None


def listed(columns: Collection[str], what: str = "column") -> str:
    """Return a list of the first columns for a message."""
    first, rest = [" ".join(column.split()) for column in list(columns)[:10]], len(columns) - 10
    return f"its {what}s are {', '.join(first) or 'none'}" + (f" and {rest} more" if rest > 0 else "")


def check_width(name: str, found: int, expected: int | None) -> None:
    """Raise a ValueError if there are no features, or not as many as expected."""
    if found == 0:
        raise ValueError(f"{name} has no columns besides the target.")
    if expected is not None and found != expected:
        raise ValueError(f"{name} has {found} features, but {expected} are expected.")


# Labels


def find_gaps(text: Any) -> np.ndarray:
    """Return which labels, weights or groups are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spelled = pc.is_in(pc.utf8_lower(text), value_set=pa.array(GAPS))
    return pc.or_(pc.is_null(text), spelled).to_numpy(zero_copy_only=False)


def find_label_kind(column: Any) -> str:
    """Return what labels are: "number", "bool" or "text"."""
    import pyarrow as pa

    if find_type(column.type) == "number" or pa.types.is_duration(column.type):
        return "number"
    text = trim(column).unique()
    present = text.filter(pa.array(~find_gaps(text)))
    if not len(present):
        return "number"
    if not np.isnan(read_numbers(present, "1234.5")).any():
        return "number"
    return "bool" if {word.lower() for word in present.to_pylist()} <= set(TRUTH) else "text"


def read_labels(column: Any, kind: str) -> tuple[np.ndarray, Fault | None]:
    """Return labels as float64, bool or str, and the first fault among them; times are seconds."""
    import pyarrow as pa

    if pa.types.is_duration(column.type):
        column = pa.array(native_numbers(column.cast(pa.int64())) / UNITS[column.type.unit], from_pandas=True)
    if find_type(column.type) == "number":
        if kind != "number":
            return read_texts(column)
        return _check(native_numbers(column), column, "label")
    if kind == "text":
        return read_texts(column)
    text = trim(column)
    if kind == "number":
        return _check(np.where(find_gaps(text), np.nan, read_numbers(text, "1234.5")), column, "label")
    words = np.array([str(word).lower() for word in text.to_pylist()])
    values = np.select([words == word for word in TRUTH], [1.0, 0.0], np.nan)
    _, fault = _check(values, column, "truth")
    return values == 1.0, fault


def read_texts(column: Any) -> tuple[np.ndarray, Fault | None]:
    """Return a column as str, and the first empty cell."""
    coded = trim(column).dictionary_encode(null_encoding="encode")  # one str for each text, not for each row
    missing = find_gaps(coded.dictionary)
    places = coded.indices.to_numpy()
    values = np.array(coded.dictionary.to_pylist(), dtype=object)[places]
    rows = np.flatnonzero(missing[places])
    return values, (int(rows[0]), _describe(values[rows[0]], np.nan, "text"), len(rows)) if len(rows) else None


def read_weights(column: Any) -> tuple[np.ndarray, Fault | None]:
    """Return sample weights as float64, and the first that is not a number of 0 or more."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    if find_type(column.type) == "number":
        return _check(native_numbers(column), column, "weight")
    text = trim(column)
    return _check(np.where(find_gaps(text), np.nan, read_numbers(text, "1234.5")), column, "weight")


def _check(values: np.ndarray, cells: Any, what: str) -> tuple[np.ndarray, Fault | None]:
    """Return values, and the first that is not finite, a negative weight, or a label that may be rounded."""
    bad = ~np.isfinite(values)
    if what == "weight":
        bad |= values < 0
    if what == "label":
        bad |= np.abs(values) >= ROUNDED
    if not bad.any():
        return values, None
    row = int(bad.argmax())
    return values, (row, _describe(cells[row].as_py(), float(values[row]), what), int(bad.sum()))


def _describe(cell: Any, value: float, what: str) -> str:
    shown = "" if cell is None else str(cell).strip()
    if value < 0 and what == "weight" and np.isfinite(value):
        return f"{shown} is a negative weight: weights must be 0 or more"
    if np.isfinite(value) and what == "label":
        return f"the label {shown[:40]} is 2^53 or more, and would be rounded: make it text"
    if shown == "":
        return EMPTY
    if shown.lower() in GAPS and shown.lower() != "nan":
        return f"found {shown!r}, a missing value: fill it or drop the row"
    if shown.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{shown} is not a finite number: fill it or drop the row"
    if what == "truth":
        return f"found {shown[:40]!r} where true or false is expected: correct it"
    return f"found the text {shown[:40]!r} where a number is expected: correct it"
