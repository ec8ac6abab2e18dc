"""The curve of each column of a table model: its numbers, its cells in words, and how much AUC it is worth.

The cells of a curve are ranges of numbers, or levels; then missing values, and levels that no training row had.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._text import one_line
from ..metrics import roc_auc
from ..rows.validate import check_labels
from .reading.dates import date_text
from .reading.features import unlike
from .reading.summary import SECONDS
from .terms import Term, edges_of

MISSING, OTHER = "missing", "other"
WIDE = 1.96  # standard errors on both sides of a curve: 95% of a Gaussian
MAX_CURVES = 12
WHOLE = 2.0**53  # from here on, all numbers are whole


class Values(NamedTuple):
    """The values of a column that belong to one cell."""

    low: float = math.nan  # with high: numbers above `low`, up to `high`; both are NaN where the cell has no numbers
    high: float = math.nan
    levels: Sequence[str] = ()
    known: Sequence[str] | None = None  # all levels of the training rows, if the others belong to the cell
    missing: bool = False  # whether missing values belong to the cell


def level_names(model: Any, j: int) -> list[str]:
    """Return the levels of a column in the order of their codes; none for numbers."""
    levels = model.reading_.parts[j].levels
    return [] if levels is None else [levels[k] for k in model.columns_[j].cuts.astype(np.intp)]


def list_values(model: Any, j: int, groups: np.ndarray) -> list[Values]:
    """Return the values of each group of codes of a column."""
    column, levels = model.columns_[j], level_names(model, j)
    borders, found = [-math.inf, *column.cuts.tolist(), math.inf], []
    for group in range(int(groups.max(initial=-1)) + 1):
        bins = np.flatnonzero(groups[: column.n_values] == group).tolist()
        low, high = math.nan, math.nan
        if bins and not column.categorical:
            low, high = borders[bins[0]], borders[bins[-1] + 1]
        ours = [levels[k] for k in bins] if column.categorical else ()
        known = levels if column.categorical and groups[-1] == group else None
        # Where no training row missed a level, missing values count as levels that no training row had.
        missing = groups[column.n_values] == group if column.missing else known is not None
        found.append(Values(low, high, ours, known, bool(missing)))
    return found


def term_names(model: Any, terms: Sequence[Term]) -> list[str]:
    """Return the names of terms: the name of the column, or of the columns with a cross between them.

    An age has the name of its date, and its values are dates in words.
    """
    pairs = [(column, part) for column in model.reading_.columns for part in column.parts]
    names = [c.name if c.kind == "date" and part.levels is None else part.name for c, part in pairs]
    return [" x ".join(names[j] for j in term.columns) for term in terms]


def column_of(reading: Any, j: int) -> Any:
    """Return the column of the table that a column of the codes is, or a part of."""
    return [column for column in reading.columns for _ in column.parts][j]


def is_age(reading: Any, j: int) -> bool:
    """Return whether a column of the codes is the age of a date."""
    return bool(reading.kinds[j] == "date" and reading.parts[j].levels is None)


def cell_labels(model: Any, term: Term) -> list[str]:
    """Return the values of each cell of a term in the words of the table.

    Levels are listed, booleans have their words, ages of dates are dates, and ranges of whole numbers begin and end
    with whole numbers.
    """
    sides = []
    for j, groups in zip(term.columns, term.groups, strict=True):
        levels, found = level_names(model, j), []
        for values in list_values(model, j, groups):
            parts = [*values.levels]
            if values.low == values.low:
                parts += range_in_words(model, j, values.low, values.high)
            if values.missing and (values.known is None or model.columns_[j].missing):
                parts.append(unlike(levels, MISSING))
            if values.known is not None:
                parts.append(unlike(levels, OTHER))
            found.append(", ".join(f'"{part}"' if "," in part and len(parts) > 1 else part for part in parts))
        sides.append(found)
    return [", ".join(words) for words in itertools.product(*sides)]


def range_in_words(model: Any, j: int, low: float, high: float) -> list[str]:
    """Return the words for a range of numbers: one, or both words of a boolean."""
    bins, column = model.columns_[j], column_of(model.reading_, j)
    if column.kind == "boolean":
        words = zip((1, 0), column.reason.split(", "), strict=True)
        return [word for value, word in words if low < value <= high]
    if math.isinf(low) and math.isinf(high):
        return ["any"]
    if column.kind == "date":  # the age grows as dates fall
        step = SECONDS if column.latest % SECONDS == 0 else 60
        ends = (
            step * (math.ceil(round(column.latest - SECONDS * age, 3) / step) - later) if math.isfinite(age) else None
            for age, later in ((high, 0), (low, 1))
        )
        first, last = (None if end is None else date_text(end, column.latest) for end in ends)
        return [f"up to {last}" if first is None else f"from {first}" if last is None else from_to(first, last)]
    if len(bins.low) == 2 and (bins.low == bins.high).all():
        return [f"{bins.low[int(math.isinf(high))]:g}"]
    is_whole = all((np.abs(each) < WHOLE).all() and (each == np.rint(each)).all() for each in (bins.low, bins.high))
    say: Callable[[float], Any] = math.floor if is_whole else "{:g}".format
    if math.isinf(low) or math.isinf(high):
        return [f"up to {say(high)}" if math.isinf(low) else f"above {say(low)}"]
    return [from_to(str(say(low) + 1 if is_whole else say(low)), str(say(high)))]


def from_to(first: str, last: str) -> str:
    """Return the words for a range with both ends."""
    return first if first == last else f"{first} to {last}"


class Curve(NamedTuple):
    """The curve of a column, in log-odds."""

    name: str  # of the column
    categorical: bool  # whether its values are levels
    labels: list[str]  # the values of each cell in words
    low: np.ndarray  # with high: the smallest and the largest value of each bin or level
    high: np.ndarray
    values: np.ndarray  # with errors: the log-odds of each cell less their mean, and their standard errors
    errors: np.ndarray
    share: np.ndarray  # of the training rows in each cell

    @property
    def is_binary(self) -> bool:
        """Whether it is of numbers that have at most two values."""
        return not self.categorical and len(self.low) <= 2 and np.array_equal(self.low, self.high)


def curves_of(model: Any) -> list[Curve]:
    """Return the curves of all columns of a fitted model."""
    check_is_fitted(model, "terms_")
    edges, found = edges_of(model.terms_), []
    for j, (name, column) in enumerate(zip(model.reading_.part_names, model.columns_, strict=True)):
        cells = slice(edges[j], edges[j + 1])
        values, mass = model.calibration_[0] * model.coef_[0, cells], model.mass_[cells]
        share = mass / max(float(mass.sum()), 1e-300)
        about = name, column.categorical, cell_labels(model, model.terms_[j]), column.low, column.high
        found.append(Curve(*about, values, model.errors_[cells], share))
    return found


def most_varied(curves: list[Curve]) -> list[Curve]:
    """Return the curves that vary most over the training rows, the first of them first."""
    spread = [-float(curve.share @ curve.values**2) for curve in curves]
    return [curves[j] for j in np.argsort(spread, kind="stable")[:MAX_CURVES]]


class Reason(NamedTuple):
    """What a term adds to the log-odds of a row.

    Attributes
    ----------
    term : str
        The column, or the pair of columns.
    value : str
        The value of the row in words.
    log_odds : float
        What the term adds, compared with its mean over the training rows.
    """

    term: str
    value: str
    log_odds: float

    def __str__(self) -> str:
        return one_line(f"{self.term} = {self.value} ({self.log_odds:+.2f})")


def list_reasons(
    reading: Any, terms: Sequence[tuple[str, Sequence[int]]], values: np.ndarray, added: np.ndarray, n_reasons: int
) -> list[list[Reason]]:
    """Return the terms that move the score of each row most, given the values of its columns and what terms add.

    A term is given by its name and its columns.
    """
    if n_reasons < 1:
        raise ValueError(f"n_reasons must be at least 1, got {n_reasons!r}.")
    order = np.argsort(-np.abs(added), axis=1, kind="stable")[:, :n_reasons]
    words = [value_words(reading, j) for j in range(len(reading.parts))]
    found = []
    moves = np.take_along_axis(added, order, axis=1).tolist()
    for row, chosen, moved in zip(values, order.tolist(), moves, strict=True):
        texts = [", ".join(words[j](row[j]) for j in terms[t][1]) for t in chosen]
        reasons = zip([terms[t][0] for t in chosen], texts, moved, strict=True)
        found.append([Reason(*each) for each in reasons if each[-1]])
    return found


def value_words(reading: Any, j: int) -> Callable[[float], str]:
    """Return a function that says a value of a column in words, given as the number or the code that it is read as."""
    levels, column = reading.parts[j].levels, column_of(reading, j)
    missing, other = unlike(levels or (), MISSING), unlike(levels or (), OTHER)

    def words(value: float) -> str:
        if value != value:
            return missing
        if levels is not None:
            return str(levels[int(value)]) if value < len(levels) else other
        if column.kind == "boolean":
            return str(column.reason.split(", ")[int(value == 0)])
        return date_text(column.latest - SECONDS * value, column.latest) if column.kind == "date" else f"{value:.6g}"

    return words


def auc_lost_without(model: Any, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Return the AUC that is lost when a column is left out of the sum of terms.

    Nothing is fitted again: the curve of the column, and the surfaces that it is in, have their mean value instead. The
    columns are ``reading_.part_names``, and the loss is below 0 where a column does harm. The rows of X are best rows
    that the model was not fitted to.
    """
    labels = column_or_1d(y, warn=True)
    check_labels(labels, model.classes_)
    aucs = np.asarray(roc_auc(labels == model.classes_[1], np.column_stack(scores_without(model, X)), sample_weight))
    return aucs[0] - aucs[1:]


def scores_without(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of rows, and in each column the scores without one column of the table."""
    values = model.contributions(X)
    kept = np.array([[j not in term.columns for term in model.terms_] for j in range(len(model.columns_))])
    return values.sum(axis=1), values @ kept.T
