"""The cells of curves in words: ranges of numbers, levels of categories, missing values."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..tables.target_encoding import rates_of
from .bins import Column
from .terms import Term

MISSING, POOLED = "missing", "(rare)"


def split_table(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a model of tables, None if it has none, and the additive model with the names of the table.

    The encoder gives the additive model codes without names. The copy that is returned knows the names of the columns,
    and the levels of categories; None stands for the pooled level, that of rare and new texts. For columns of many
    levels it knows the rates of these, of rare ones and of missing values.
    """
    if not hasattr(model, "steps"):
        return None, model
    encoder, inner = model[0], copy.copy(model[-1])
    inner.column_names = encoder.get_feature_names_out().tolist()
    inner.categories_ = [
        None if levels is None else np.fromiter([*levels[:-1], None], object, len(levels)) for levels in encoder.levels_
    ]
    reading = encoder.reading_
    inner.level_rates = {
        j: (part.levels[:-1], rates_of(reading.sums[part.name])[:, -1])
        for j, part in enumerate(reading.parts)
        if part.encoded and part.levels is not None
    }
    return encoder, inner


def column_name(model: Any, j: int) -> str:
    """Return the name of a column of a fitted model; "x0", "x1", ... if it has none."""
    names = getattr(model, "column_names", getattr(model, "feature_names_in_", None))
    return f"x{j}" if names is None else str(names[j])


def term_name(model: Any, term: Term) -> str:
    """Return the name of a term: that of its column, or of its columns with a cross between them."""
    return " x ".join(column_name(model, j) for j in term.columns)


def level_names(model: Any, j: int) -> list[Any]:
    """Return the levels of a category column as they were in the training data; None for the pooled one of a table."""
    places, levels = model.columns_[j].cuts, model.categories_[j]
    return places.tolist() if levels is None else levels[places.astype(np.intp)].tolist()


def group_ranges(column: Column, groups: np.ndarray) -> list[tuple[float, float]]:
    """Return for each group of bins of a numeric column the border below it and that above it; infinite at the ends."""
    borders = [-np.inf, *column.cuts.tolist(), np.inf]
    ours = groups[: column.n_values]
    return [
        (borders[int(np.argmax(ours == g))], borders[1 + int(np.flatnonzero(ours == g)[-1])]) for g in np.unique(ours)
    ]


def cell_labels(model: Any, term: Term) -> list[str]:
    """Return the words for each cell of a term.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier
    >>> from aucmax.additive.labels import cell_labels
    >>> X = np.array([[1.0], [2.0], [np.nan], [4.0]])
    >>> model = AdditiveAUCClassifier("squared", alpha=1.0).fit(X, [0, 1, 0, 1])
    >>> cell_labels(model, model.terms_[0])
    ['up to 1.5', '1.5 to 3', 'above 3', 'missing']
    """
    parts = [side_labels(model, j, group) for j, group in zip(term.columns, term.groups, strict=True)]
    return parts[0] if len(parts) == 1 else [f"{first}, {second}" for first in parts[0] for second in parts[1]]


def side_labels(model: Any, j: int, groups: np.ndarray) -> list[str]:
    """Return the words for each group of codes of a column."""
    column = model.columns_[j]
    if column.categorical:
        names = level_names(model, j)
        ours = groups[: column.n_values]
        labels = [", ".join(level_label(names[k]) for k in np.flatnonzero(ours == g)) for g in np.unique(ours)]
    else:
        what = "rate " if j in getattr(model, "level_rates", {}) else ""
        labels = [what + range_label(low, high) for low, high in group_ranges(column, groups)]
    return [*labels, MISSING] if column.missing else labels


def level_label(level: Any) -> str:
    """Return a level in words."""
    if level is None:
        return POOLED
    return f"{level:g}" if isinstance(level, float) else str(level)


def range_label(low: float, high: float) -> str:
    """Return a range of numbers in words; the upper border belongs to it."""
    if np.isinf(low):
        return "any" if np.isinf(high) else f"up to {high:g}"
    return f"above {low:g}" if np.isinf(high) else f"{low:g} to {high:g}"
