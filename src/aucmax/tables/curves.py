"""The curve of each column of an additive model: its numbers, its cells in words, and how much AUC it is worth.

The cells of a curve are ranges of numbers, levels of categories, and missing values.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..metrics import roc_auc
from ..rows.validate import check_labels
from .bins import Column
from .terms import Term, edges_of

MISSING, POOLED = "missing", "(rare)"


def split_table(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a model of tables, None if it has none, and the additive model with the names of the table.

    The encoder gives the additive model codes without names. The copy that is returned knows the names of the columns,
    and the levels of categories; None stands for the pooled level of rare and new texts.
    """
    if not hasattr(model, "steps"):
        return None, model
    encoder, inner = model[0], copy.copy(model[-1])
    inner.column_names = encoder.get_feature_names_out().tolist()
    inner.categories_ = [
        None if levels is None else np.fromiter([*levels[:-1], None], object, len(levels)) for levels in encoder.levels_
    ]
    return encoder, inner


def column_name(model: Any, j: int) -> str:
    """Return the name of a column of a fitted model; "x0", "x1", ... if it has none."""
    names = getattr(model, "column_names", getattr(model, "feature_names_in_", None))
    return f"x{j}" if names is None else str(names[j])


def term_name(model: Any, term: Term) -> str:
    """Return the name of a term: the name of its column, or of its columns with a cross between them."""
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
    >>> from aucmax.tables.curves import cell_labels
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
        labels = [range_label(low, high) for low, high in group_ranges(column, groups)]
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


WIDE = 1.96  # standard errors on both sides of a curve: 95% of a Gaussian
MAX_CURVES = 12


class Curve(NamedTuple):
    """The curve of a column, in log-odds.

    Attributes
    ----------
    name : str
        The name of the column.
    categorical : bool
        Whether its values are levels.
    labels : list of str
        The values of each cell in words.
    low, high : ndarray of shape (n_values,)
        The smallest and the largest value in each bin, without the bin of missing values.
    values, errors : ndarray of shape (n_cells,)
        The log-odds of each cell less their mean, and their standard errors.
    share : ndarray of shape (n_cells,)
        The share of the training rows.
    """

    name: str
    categorical: bool
    labels: list[str]
    low: np.ndarray
    high: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    share: np.ndarray


def curve_of(model: Any, j: int) -> Curve:
    """Return the curve of a column of a fitted model."""
    check_is_fitted(model, "terms_")
    term, column, start = model.terms_[j], model.columns_[j], edges_of(model.terms_)[j]
    cells = slice(start, start + term.n_cells)
    mass = model.mass_[cells]
    return Curve(
        column_name(model, j),
        column.categorical,
        cell_labels(model, term),
        column.low,
        column.high,
        model.calibration_[0] * model.coef_[0, cells],
        model.errors_[cells],
        mass / max(float(mass.sum()), 1e-300),
    )


def most_varied(curves: list[Curve]) -> list[Curve]:
    """Return the curves that vary most over the training rows, the first of them first."""
    spread = [-float(curve.share @ curve.values**2) for curve in curves]
    return [curves[j] for j in np.argsort(spread, kind="stable")[:MAX_CURVES]]


def auc_lost_without(model: Any, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Return the AUC that is lost when a column is left out of the sum of curves.

    Nothing is fitted again: the curve of the column, and the surfaces that it is in, have their mean value instead.

    Parameters
    ----------
    model : AdditiveAUCClassifier or Pipeline
        The fitted model, or a pipeline of a :class:`aucmax.TableEncoder` and such a model.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        Rows, best ones that the model was not fitted to.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.

    Returns
    -------
    lost : ndarray of shape (n_features,)
        The AUC of the model minus that without each column, for each column of the additive model; below 0 where a
        column does harm.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier
    >>> from aucmax.tables.curves import auc_lost_without
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 1] ** 2 > 1
    >>> model = AdditiveAUCClassifier("squared", alpha=0.01).fit(X, y)
    >>> lost = auc_lost_without(model, X, y)
    >>> bool(abs(lost[0]) < 0.02), bool(lost[1] > 0.4)
    (True, True)
    """
    encoder, model = split_table(model)
    values = np.append(model.coef_[0], 0.0)[model._cells(X if encoder is None else encoder.transform(X))]
    labels = column_or_1d(y, warn=True)
    check_labels(labels, model.classes_)
    positive = labels == model.classes_[1]
    kept = np.array([[j not in term.columns for term in model.terms_] for j in range(model.n_features_in_)])
    scores = np.column_stack([values.sum(axis=1), values @ kept.T])
    aucs = np.asarray(roc_auc(positive, scores, sample_weight))
    return aucs[0] - aucs[1:]
