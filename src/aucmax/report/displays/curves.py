"""CurvesDisplay: the curves of a table model. The report draws each curve with the same `paint_curve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._docs import inherit_entries
from ...tables.curves import WIDE, Curve, curves_of, most_varied
from .base import AREA_ALPHA, METHODS, PALETTE, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DENSITY = 0.2  # of the height, for the density of the rows
GAP = 0.08  # of the width, between a curve and the point of missing values
MOST_LEVELS = 30  # of a category, and the point of other levels


class CurvesDisplay:
    """The curves of a table model with their 95% intervals, and the density of the training rows.

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

    See Also
    --------
    ImportanceDisplay : The AUC lost without a column.

    Examples
    --------
    >>> from aucmax import CurvesDisplay, TableClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = TableClassifier("curves", cv=0).fit(X.iloc[:, :4], y)
    >>> display = CurvesDisplay.from_estimator(clf, columns=["mean radius", "mean texture"])
    >>> [ax.get_title() for ax in display.axes_]
    ['mean radius', 'mean texture']
    """

    def __init__(self, curves: list[Curve]) -> None:
        self.curves = curves

    @classmethod
    def from_estimator(cls, model: Any, columns: Any = None) -> Self:
        """Draw the curves of a fitted model.

        Parameters
        ----------
        model : TableClassifier
            The fitted model.
        columns : sequence of int or str, default=None
            The columns by name or position; None for the twelve curves that vary most over the training rows.
        """
        curves = curves_of(model)
        chosen = most_varied(curves) if columns is None else [curves[model._place(each, "columns")] for each in columns]
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
            paint_curve(ax, curve, PALETTE)
            ax.set_title(shorten(curve.name), parse_math=False)  # names of columns are not formulas
        return self


inherit_entries(CurvesDisplay, METHODS)


def paint_curve(axes: Axes, curve: Curve, colours: Mapping[str, Any]) -> None:
    """Draw a curve with its interval, and the density of the training rows below it."""
    (paint_levels if curve.categorical else paint_steps)(axes, curve, colours)
    axes.set_ylabel("log-odds")


def paint_steps(axes: Axes, curve: Curve, colours: Mapping[str, Any]) -> None:
    """Draw the steps of a numeric column; missing values are a point to the right of them."""
    n = len(curve.low)
    borders = np.append(curve.low, curve.high[-1:])
    finite = borders[np.isfinite(borders)]
    borders = np.clip(borders, finite.min(initial=0.0), finite.max(initial=0.0))
    values, errors = curve.values[:n], WIDE * curve.errors[:n]
    axes.stairs(values, borders, baseline=None, color=colours["accent"], linewidth=1.6)
    band = axes.stairs(values + errors, borders, baseline=values - errors, fill=True, color=colours["accent"])
    band.set(alpha=AREA_ALPHA, linewidth=0)
    if len(curve.values) > n:
        place = borders[-1] + GAP * (float(np.ptp(borders)) or 1.0)
        axes.errorbar(place, curve.values[n], WIDE * curve.errors[n], fmt="o", color=colours["other"])
        text = axes.annotate("missing", (place, curve.values[n]), (-6, 0), textcoords="offset points")
        text.set(ha="right", va="center", fontsize="small", color=colours["muted"])
    widths = np.diff(borders)
    density = np.divide(curve.share[:n], widths, out=np.zeros(n), where=widths > 0)
    paint_density(axes, density, borders, colours)


def paint_levels(axes: Axes, curve: Curve, colours: Mapping[str, Any]) -> None:
    """Draw the most frequent levels of a category as points, and what levels have that no training row had."""
    often = np.argsort(-curve.share[:-1], kind="stable")[:MOST_LEVELS]
    shown = [*sorted(often.tolist()), len(curve.share) - 1]
    axes.errorbar(range(len(shown)), curve.values[shown], WIDE * curve.errors[shown], fmt="o", color=colours["accent"])
    labels = [shorten(curve.labels[k], 14) for k in shown]
    axes.set_xticks(range(len(shown)), labels, rotation=60, ha="right", fontsize="small", parse_math=False)
    paint_density(axes, curve.share[shown], np.arange(len(shown) + 1) - 0.5, colours)


def paint_density(axes: Axes, density: np.ndarray, borders: np.ndarray, colours: Mapping[str, Any]) -> None:
    """Draw a density at the foot of the axes, and make room for it below what is drawn there."""
    low, high = axes.dataLim.intervaly
    axes.update_datalim([(borders[0], low - DENSITY / (1 - DENSITY) * (high - low))])
    axes.autoscale_view()
    heights = DENSITY * density / max(float(density.max(initial=0.0)), 1e-300)
    foot = axes.get_xaxis_transform()  # heights are shares of the height of the axes
    axes.stairs(heights, borders, fill=True, color=colours["muted"], alpha=0.4, linewidth=0, transform=foot)
