"""What the file of a `TableEncoder` may hold: how each column of a table is read.

Letters stand for sizes: d columns, p parts, which are columns of numbers or codes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..tables.cells import CODES
from ..tables.dates import DATE_FORMS, DIGITS_FORM, TIME_FORM
from ..tables.features import FOLDS
from ..tables.kinds import LABELS
from .checks import Check, Sizes, array, either, fields, instance, items, named_tuple, number

text, flag, absent = instance(str), instance(bool, np.bool_), instance(type(None))
count, real = number(int, low=0), number(int, float)
KINDS = ("number", "boolean", "category", "date", "identifier", "left out")
NUMBER_FORM = re.compile(rf"{TIME_FORM}|(?:.|{CODES})?1.?234[.,]5%?", re.DOTALL)
PART = named_tuple(
    "TableColumnPart",
    {
        "name": text,
        "levels": either(absent, items(text)),
        "neutral": array("f", None),
        "gaps": flag,
        "encoded": flag,
        "of_date": text,
    },
)
COLUMN = named_tuple(
    "TableColumn",
    {
        "name": text,
        "kind": text,
        "reason": text,
        "n_missing": count,
        "form": text,
        "latest": real,
        "rare": items(text),
        "parts": items(PART),
    },
)


def check_column(value: Any, where: str, sizes: Sizes) -> None:
    """Check how a column is read: its parts must be those of its kind."""
    COLUMN(value, where, sizes)
    if value.kind not in KINDS:
        raise ValueError(f"kind of {where} is {value.kind!r:.60}, where one of {', '.join(KINDS)} is expected")
    if value.kind == "number" and not NUMBER_FORM.fullmatch(value.form):
        raise ValueError(f"form of {where} is {value.form!r:.60}, which is no form of numbers")
    if value.kind == "date" and value.form not in ("", *DATE_FORMS, DIGITS_FORM):
        raise ValueError(f"form of {where} is {value.form!r:.60}, which is no form of dates")
    if not all(has_size(part) for part in value.parts) or not has_parts(value):
        raise ValueError(f"parts of {where} are not those of a column of the kind {value.kind!r}")


def has_size(part: Any) -> bool:
    """Return whether a part has one neutral value, or one for each level."""
    return len(part.neutral) == (1 if part.levels is None else len(part.levels)) > 0


def has_parts(column: Any) -> bool:
    """Return whether a column has the parts of its kind."""
    of_levels = [part.levels is not None for part in column.parts]
    if any(part.encoded for part in column.parts) and column.kind != "category":
        return False
    if column.kind == "date":
        known = all(part.of_date in LABELS for part in column.parts[1:])
        return known and of_levels == [False, *[True] * (len(of_levels) - 1)][: len(of_levels)]
    return of_levels == {"number": [False], "boolean": [False], "category": [True]}.get(column.kind, [])


def check_reading(value: Any, where: str, sizes: Sizes) -> None:
    """Check how a table is read: its columns, and the sums of those that are target-encoded."""
    columns = items(check_column, "d")
    named_tuple("TableReading", {"columns": columns, "na_values": items(text), "sums": anything})(value, where, sizes)
    names = [column.name for column in value.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of {where} have the same name twice")
    encoded = {part.name: len(part.levels) + 1 for part in value.parts if part.encoded}
    sums = {name: array("f", n_levels, FOLDS, 2) for name, n_levels in encoded.items()}
    fields(sums, required=tuple(sums))(value.sums, f"sums of {where}", sizes)
    if any((counted < 0).any() for counted in value.sums.values()):
        raise ValueError(f"sums of {where} holds negative weights")
    sizes["p"] = len(value.parts)


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Check nothing yet."""


def check_names(attributes: dict[str, Any], name: str) -> None:
    """Raise a ValueError if the names of the columns are not those that are read."""
    names = attributes.get("feature_names_in_")
    if names is not None and names.tolist() != [column.name for column in attributes["reading_"].columns]:
        raise ValueError(f"feature_names_in_ of {name} are not the names of the columns that it reads")


TABLE_ENCODER: dict[str, Check] = {
    "n_features_in_": count,
    "feature_names_in_": array("O", "d"),
    "reading_": check_reading,
    "categorical_features_": array("b", "p"),
}
