"""Figures of an additive model, as scikit-learn's displays. They import matplotlib when they are drawn."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .importance import auc_lost_without
from .labels import cell_labels, column_name, split_table
from .terms import edges_of

WIDE = 1.96  # standard errors on both sides of a curve: 95% of a Gaussian
MAX_CURVES = 12
DENSITY = 0.25  # of the height, for the bars of the data's density


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


class CurvesDisplay:
    """The curves of an additive model with their intervals, and the density of the data.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    curves : list of Curve
        The curves.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure, after `plot`.
    axes_ : list of matplotlib Axes
        The axes of each curve, after `plot`.
    """

    def __init__(self, curves: list[Curve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(cls, model: Any, columns: Any = None) -> Self:
        """Draw the curves of a fitted model.

        Parameters
        ----------
        model : AdditiveAUCClassifier or Pipeline
            The fitted model, or a pipeline of a :class:`aucmax.TableEncoder` and such a model.
        columns : sequence of int or str, default=None
            The columns by position or name; None for the twelve curves that vary most over the training rows.

        Returns
        -------
        display : CurvesDisplay
            The display, drawn.
        """
        _, model = split_table(model)
        check_is_fitted(model, "terms_")
        names = [column_name(model, j) for j in range(model.n_features_in_)]
        if columns is None:
            chosen = most_varied([curve_of(model, j) for j in range(model.n_features_in_)])
        else:
            chosen = [curve_of(model, names.index(each) if isinstance(each, str) else int(each)) for each in columns]
        return cls(chosen).plot()

    def plot(self) -> Self:
        """Draw the curves, three in a row."""
        from matplotlib import pyplot as plt

        n_rows, n_columns = -(-len(self.curves) // 3), min(len(self.curves), 3)
        self.figure_, axes = plt.subplots(
            n_rows, n_columns, figsize=(4 * n_columns, 3 * n_rows), squeeze=False, layout="constrained"
        )
        self.axes_ = list(axes.ravel()[: len(self.curves)])
        for unused in axes.ravel()[len(self.curves) :]:
            unused.set_axis_off()
        for ax, curve in zip(self.axes_, self.curves, strict=True):
            (draw_levels if curve.categorical else draw_steps)(ax, curve)
            ax.set_title(curve.name)
            ax.set_ylabel("log-odds")
        return self


def draw_steps(ax: Any, curve: Curve) -> None:
    """Draw the steps of a numeric column; missing values are a point to the right of them."""
    n = len(curve.low)
    borders = np.append(curve.low, curve.high[-1:])
    finite = borders[np.isfinite(borders)]
    borders = np.clip(borders, finite.min(initial=0.0), finite.max(initial=0.0))
    values, errors, share = curve.values[:n], WIDE * curve.errors[:n], curve.share[:n]
    repeated = [np.append(each, each[-1:]) for each in (values, values - errors, values + errors)]
    ax.step(borders, repeated[0], where="post", color="C0")
    ax.fill_between(borders, repeated[1], repeated[2], step="post", color="C0", alpha=0.25, linewidth=0)
    if len(curve.values) > n:
        width = float(np.ptp(borders)) or 1.0
        ax.errorbar(borders[-1] + 0.08 * width, curve.values[n], WIDE * curve.errors[n], fmt="o", color="C1")
        ax.annotate("missing", (borders[-1] + 0.08 * width, curve.values[n]), ha="right", fontsize="small")
    widths = np.diff(borders)
    density = np.divide(share, widths, out=np.zeros(n), where=widths > 0)
    draw_density(ax, borders[:-1], density, widths, "edge")


def draw_levels(ax: Any, curve: Curve) -> None:
    """Draw the levels of a category as points."""
    places = np.arange(len(curve.values))
    ax.errorbar(places, curve.values, WIDE * curve.errors, fmt="o", color="C0")
    ax.set_xticks(places, [label[:16] for label in curve.labels], rotation=60, ha="right", fontsize="small")
    draw_density(ax, places, curve.share, np.full(len(places), 0.8), "center")


def draw_density(ax: Any, places: np.ndarray, heights: np.ndarray, widths: np.ndarray, align: str) -> None:
    """Draw bars at the foot of a figure."""
    other = ax.twinx()
    other.bar(places, heights, widths, align=align, color="0.5", alpha=0.3, linewidth=0)
    other.set_ylim(0, max(float(heights.max(initial=0.0)), 1e-300) / DENSITY)
    other.set_yticks([])


class ImportanceDisplay:
    """The AUC that is lost when a column is left out, as bars.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    names : list of str
        The columns, the most important first.
    lost : ndarray of shape (n_columns,)
        The AUC that each is worth.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        What was drawn, after `plot`.
    """

    def __init__(self, names: list[str], lost: np.ndarray) -> None:
        self.names, self.lost = names, lost

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None) -> Self:
        """Draw the importance of the columns of a fitted model; see `auc_lost_without`.

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
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        display : ImportanceDisplay
            The display, drawn.
        """
        lost = auc_lost_without(model, X, y, sample_weight)
        order, (_, named) = np.argsort(-lost, kind="stable"), split_table(model)
        return cls([column_name(named, int(j)) for j in order], lost[order]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None for a new figure.

        Returns
        -------
        display : ImportanceDisplay
            The display itself, drawn.
        """
        from matplotlib import pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(5, 0.6 + 0.3 * len(self.names)), layout="constrained")
        places = np.arange(len(self.names))
        ax.barh(places, self.lost, color="C0")
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel("AUC lost without the column")
        self.ax_, self.figure_ = ax, ax.figure
        return self
