"""The cells of curves as conditions of SQL and Python."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .design import encode
from .labels import group_ranges, level_names


class Values(NamedTuple):
    """The values of a column that belong to one group of its codes.

    Attributes
    ----------
    low, high : float
        Numbers above `low`, up to `high`; both are NaN where the group holds no numbers.
    levels : list
        Levels of a category.
    known : list or None
        All levels that are known, if those that are not belong to the group: rare and new texts.
    missing : bool
        Whether missing values belong to the group.
    """

    low: float = math.nan
    high: float = math.nan
    levels: list[Any] = []  # noqa: RUF012
    known: list[Any] | None = None
    missing: bool = False

    def names(self) -> str:
        """Return the levels as a list for people."""
        others = ["(rare or new)"] * (self.known is not None) + ["(missing)"] * self.missing
        return "; ".join([*map(str, self.levels), *others])

    def sql(self, name: str) -> str:
        """Return the condition of SQL that a column has one of the values; nothing if there are none."""
        name = '"' + name.replace('"', '""') + '"'
        borders = [f"{name} > {self.low!r}"] * math.isfinite(self.low)
        borders += [f"{name} <= {self.high!r}"] * math.isfinite(self.high)
        parts = [" AND ".join(borders) or f"{name} IS NOT NULL"] if self.low == self.low else []
        if self.levels:
            parts.append(f"{name} IN ({', '.join(map(sql_value, self.levels))})")
        if self.known is not None:
            others = f"{name} NOT IN ({', '.join(map(sql_value, self.known))})"
            parts.append(others if self.known else f"{name} IS NOT NULL")
        if self.missing:
            parts.append(f"{name} IS NULL")
        return f"({' OR '.join(parts)})" if len(parts) > 1 else "".join(parts)

    def python(self, v: str) -> str:
        """Return the condition of Python that the variable `v` has one of the values; nothing if there are none."""
        present = f"{v} is not None and {v} == {v}"
        borders = [f"{v} > {self.low!r}"] * math.isfinite(self.low) + [f"{v} <= {self.high!r}"] * math.isfinite(
            self.high
        )
        parts = [" and ".join([present, *borders])] if self.low == self.low else []
        if self.levels:
            parts.append(f"{v} in {tuple(self.levels)!r}")
        if self.known is not None:
            parts.append(f"{present} and {v} not in {tuple(self.known)!r}")
        if self.missing:
            parts.append(f"({v} is None or {v} != {v})")
        return f"({' or '.join(parts)})" if len(parts) > 1 else "".join(parts)


def sql_value(value: Any) -> str:
    """Return a level as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def list_values(model: Any, j: int, groups: np.ndarray) -> list[Values]:
    """Return the values of each group of codes of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier
    >>> from aucmax.additive.conditions import list_values
    >>> X = np.array([[1.0], [2.0], [np.nan], [4.0]])
    >>> model = AdditiveAUCClassifier("squared", alpha=1.0).fit(X, [0, 1, 0, 1])
    >>> [values.sql("x") for values in list_values(model, 0, model.terms_[0].groups[0])]
    ['"x" <= 1.5', '"x" > 1.5 AND "x" <= 3.0', '"x" > 3.0', '"x" IS NULL']
    """
    column, rates = model.columns_[j], getattr(model, "level_rates", {}).get(j)
    if rates is not None:
        return _list_encoded(column, rates, groups)
    if column.categorical:
        found = _list_levels(model, j, groups[: column.n_values])
    else:
        found = [Values(low, high) for low, high in group_ranges(column, groups)]
    return [*found, Values(missing=True)] if column.missing else found


def _list_levels(model: Any, j: int, groups: np.ndarray) -> list[Values]:
    """Return the levels of each group of a category; the pooled level, None, is whatever is not known."""
    levels = level_names(model, j)
    known = [] if model.categories_[j] is None else [level for level in model.categories_[j] if level is not None]
    found = []
    for g in np.unique(groups):
        members = [levels[k] for k in np.flatnonzero(groups == g)]
        named = [level for level in members if level is not None]
        found.append(Values(levels=named, known=known if len(named) < len(members) else None))
    return found


def _list_encoded(column: Any, rates: tuple[list[str], np.ndarray], groups: np.ndarray) -> list[Values]:
    """Return the levels of each group of rates; the last two rates are those of rare and of missing values."""
    known, values = rates
    places = groups[encode([column], values[:, None])[:, 0]]
    found = []
    for g in range(int(groups.max(initial=-1)) + 1):
        members = np.flatnonzero(places == g).tolist()
        named = [known[k] for k in members if k < len(known)]
        pooled, missing = len(known) in members, len(known) + 1 in members
        found.append(Values(levels=named, known=known if pooled else None, missing=missing))
    return found
