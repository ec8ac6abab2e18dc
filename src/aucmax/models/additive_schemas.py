"""What the file of an `AdditiveAUCClassifier` may hold beside what all classifiers have: its columns and terms.

Compiled loops index the values of cells by what columns and terms say, so these must agree with each other.

Letters stand for sizes: d columns, t terms, K cells.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .checks import Check, Sizes, array, either, instance, items, named_tuple, number

flag, absent = instance(bool, np.bool_), instance(type(None))
COLUMN = named_tuple(
    "Column",
    {
        "categorical": flag,
        "cuts": array("f", None, finite=False),
        "low": array("f", None, finite=False),
        "high": array("f", None, finite=False),
        "mass": array("f", None),
        "missing": flag,
    },
)
TERM = named_tuple("Term", {"columns": instance(tuple), "groups": instance(tuple), "shape": instance(tuple)})


def check_column(value: Any, where: str, sizes: Sizes) -> None:
    """Check how the values of a column become codes."""
    COLUMN(value, where, sizes)
    n_values = len(value.mass) - int(value.missing)
    n_cuts = n_values if value.categorical else max(n_values - 1, 0)
    if n_values < 0 or (len(value.cuts), len(value.low), len(value.high)) != (n_cuts, n_values, n_values):
        raise ValueError(f"{where} has other numbers of cuts, of bins and of their weights than belong together")
    if any(np.isnan(bounds).any() for bounds in (value.cuts, value.low, value.high)) or (value.mass < 0).any():
        raise ValueError(f"{where} holds NaN or negative weights")
    if not (value.cuts[1:] > value.cuts[:-1]).all():
        raise ValueError(f"cuts of {where} do not increase")


def check_term(value: Any, where: str, sizes: Sizes) -> None:
    """Check a term by itself: one column or two, and for each its number of groups."""
    TERM(value, where, sizes)
    if len(value.columns) not in (1, 2) or not len(value.columns) == len(value.groups) == len(value.shape):
        raise ValueError(f"{where} has other numbers of columns, of groups and of sizes than belong together")
    for column, group, n_groups in zip(*value, strict=True):
        number(int, low=0)(column, f"columns of {where}", sizes)
        number(int, low=0)(n_groups, f"shape of {where}", sizes)
        array("i", None)(group, f"groups of {where}", sizes)
        if ((group < 0) | (group >= n_groups)).any():
            raise ValueError(f"groups of {where} are out of range")


def check_categories(value: Any, where: str, sizes: Sizes) -> None:
    """Check the levels of a category column of a dataframe."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "O" or value.ndim != 1:
        raise ValueError(f"{where} is {value!r:.60}, where an array of levels is expected")
    for level in value:
        instance(str, int, float, bool)(level, where, sizes)


def check_additive(attributes: dict[str, Any], name: str) -> None:
    """Raise a ValueError if the columns, terms and values of a model do not belong together."""
    columns, n_cells = attributes["columns_"], 0
    for term in attributes["terms_"]:
        n_cells += math.prod(term.shape)
        for column, group in zip(term.columns, term.groups, strict=True):
            if column >= len(columns) or len(group) != len(columns[column].mass):
                raise ValueError(f"terms_ of {name} are not those of its columns")
    if attributes["coef_"].shape[1] != n_cells:
        raise ValueError(f"coef_ of {name} has other numbers of cells than its terms, which have {n_cells}")


ADDITIVE: dict[str, Check] = {
    "columns_": items(check_column, "d"),
    "terms_": items(check_term, "t"),
    "strengths_": array("f", "t"),
    "freedom_": array("f", "t"),
    "coef_": array("f", 1, "K"),
    "errors_": array("f", "K"),
    "mass_": array("f", "K"),
    "is_categorical_": array("b", "d"),
    "categories_": items(either(absent, check_categories), "d"),
}
