"""The curve of each column of an additive model, as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .labels import cell_labels, column_name
from .terms import edges_of

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
        The smallest and the largest value in each bin, without that of missing values.
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
