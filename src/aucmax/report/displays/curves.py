"""CurvesDisplay: the curves of a table model. The report draws each curve with the same `paint_curve`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..._docs import inherit_entries
from ...tables.curves import WIDE, Curve, curves_of, most_varied
from .base import AREA_ALPHA, METHODS, PALETTE, number_text, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DENSITY = 0.2  # of the height, for the density of the rows
GAP = 0.08  # of the width, between a curve and the point of missing values
FEW = 4  # levels whose names stand side by side
MOST_LEVELS = 30  # of a category, and the point of other levels
TAIL = 0.01  # share of the rows on each side whose bins may lie beyond an axis
FAR = 0.5  # of the width of the other bins: how far an axis may reach beyond them
AROUND = 0.1  # how far it reaches if they go on further
REACH = 0.5  # of the range of all values: how far intervals may widen the common vertical axis
OFTEN = 0.01  # share of the rows that a cell must have for its interval to widen it
RARE = 0.0025  # share of the rows on each side whose values may lie beyond it


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
        columns : sequence of int or str, default=None
            The columns by name or position; None for the twelve curves that vary most over the training rows.
        """
        curves = curves_of(model)
        chosen = most_varied(curves) if columns is None else [curves[model._place(each, "columns")] for each in columns]
        return cls(chosen).plot()

    def plot(self) -> Self:
        """Draw the curves, three in a row, on one vertical scale."""
        from matplotlib import pyplot as plt

        n_rows, n_columns = -(-len(self.curves) // 3), min(len(self.curves), 3)
        self.figure_, axes = plt.subplots(
            n_rows, n_columns, figsize=(4 * n_columns, 3 * n_rows), squeeze=False, layout="constrained"
        )
        self.axes_ = list(axes.ravel()[: len(self.curves)])
        for unused in axes.ravel()[len(self.curves) :]:
            unused.set_axis_off()
        limits = common_range(self.curves)
        for ax, curve in zip(self.axes_, self.curves, strict=True):
            paint_curve(ax, curve, PALETTE, limits)
            ax.set_title(shorten(curve.name), parse_math=False)  # names of columns are not formulas
            if note := beyond_axis(curve, limits):
                ax.set_xlabel(note, fontsize="small")
        return self


inherit_entries(CurvesDisplay, METHODS)


def common_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the ends of a vertical axis for all curves: their values, and the intervals that are not too wide.

    If distant values of few rows would squeeze the others, the axis ends soon after the values of all other rows.
    """
    values = np.concatenate([[0.0], *(curve.values for curve in curves)])
    errors = np.concatenate([[0.0], *(WIDE * curve.errors * (curve.share >= OFTEN) for curve in curves)])
    kept = np.concatenate([[True], *(in_most_rows(curve) for curve in curves)])
    low, high = trim(values[kept].min(), values[kept].max(), values.min(), values.max())
    reach = REACH * (high - low) or 1.0
    ends = np.clip([values - errors, values + errors], low - reach, high + reach)[:, (values >= low) & (values <= high)]
    low, high = float(min(ends.min(), low)), float(max(ends.max(), high))
    return (low, high) if low < high else (-1.0, 1.0)  # all curves are 0


def in_most_rows(curve: Curve) -> np.ndarray:
    """Return which cells have the values of 99.5% of the rows, without the lowest and the highest of the others."""
    order = np.argsort(curve.values, kind="stable")
    above = np.cumsum(curve.share[order][::-1])[::-1]
    total = above[0] if len(above) else 0.0
    kept = np.empty(len(order), dtype=bool)
    kept[order] = (above > RARE * total) & (total - above + curve.share[order] > RARE * total)
    return kept


def trim(first: float, last: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis from `low` to `high`; soon after `first` and `last` if it would go far beyond them."""
    width = last - first
    if first - low > FAR * width:
        low = first - AROUND * width
    if high - last > FAR * width:
        high = last + AROUND * width
    return low, high


def paint_curve(axes: Axes, curve: Curve, colours: Mapping[str, Any], limits: tuple[float, float]) -> None:
    """Draw a curve with its interval, and the density of the training rows below it; `limits` are of the vertical axis.

    The density has the foot of the axes to itself.
    """
    low, high = limits
    axes.set_ylim(low - 1.1 * DENSITY / (1 - DENSITY) * (high - low), high + 0.04 * (high - low))
    (paint_levels if curve.categorical or curve.is_binary else paint_steps)(axes, curve, colours)
    axes.set_ylabel("log-odds")


def steps_of(curve: Curve) -> tuple[np.ndarray, float, float]:
    """Return the borders of the bins, halfway between their values, and the ends of the axis.

    If distant values would squeeze the others, the axis ends soon after the bins of the percentiles 1 and 99.
    """
    borders = np.concatenate([curve.low[:1], (curve.high[:-1] + curve.low[1:]) / 2, curve.high[-1:]])
    finite = borders[np.isfinite(borders)]
    borders = np.clip(borders, finite.min(initial=0.0), finite.max(initial=0.0))
    widths = np.diff(borders)
    for end, value in ((0, -0.5), (-1, 0.5)):
        if curve.low[end] == curve.high[end]:  # one value, which would be a step of no width
            borders[end] += 2 * value * (widths[end] or 0.5)
    share = np.cumsum(np.append(0.0, curve.share[: len(curve.low)]))
    tail = TAIL * share[-1]
    first, last = np.searchsorted(share, tail, "right"), np.searchsorted(share, share[-1] - tail) - 1
    if first >= last:
        return borders, float(borders[0]), float(borders[-1])
    low, high = trim(borders[first], borders[last], borders[0], borders[-1])
    return borders, float(low), float(high)


def beyond_axis(curve: Curve, limits: tuple[float, float]) -> str:
    """Return sentences about the values that the axes leave out; empty if there are none."""
    notes = []
    if not (curve.categorical or curve.is_binary):
        borders, low, high = steps_of(curve)
        parts = [f"from {curve.low[0]:.4g}"] if borders[0] < low else []
        parts += [f"to {curve.high[-1]:.4g}"] if borders[-1] > high else []
        notes += [f"Values go on beyond the axis: {' and '.join(parts)}."] if parts else []
    outside = (curve.values < limits[0]) | (curve.values > limits[1])
    if outside.any():
        ends = sorted({number_text(each(curve.values[outside]), "+.2f") for each in (np.min, np.max)})
        share = curve.share[outside].sum()
        notes.append(f"Cut off: log-odds of {' to '.join(ends)}, for {share:.2%} of the rows.")
    return " ".join(notes)


def paint_steps(axes: Axes, curve: Curve, colours: Mapping[str, Any]) -> None:
    """Draw the steps of a numeric column; missing values are a point to the right of them."""
    n = len(curve.low)
    borders, low, high = steps_of(curve)
    widths, borders = np.diff(borders), np.clip(borders, low, high)
    values, errors = curve.values[:n], WIDE * curve.errors[:n]
    axes.stairs(values, borders, baseline=None, color=colours["accent"], linewidth=1.6)
    band = axes.stairs(values + errors, borders, baseline=values - errors, fill=True, color=colours["accent"])
    band.set(alpha=AREA_ALPHA, linewidth=0)
    place, room = high, GAP * (high - low)
    if len(curve.values) > n:
        place = high + room
        axes.errorbar(place, curve.values[n], WIDE * curve.errors[n], fmt="o", color=colours["other"])
        text = axes.annotate("missing", (place, curve.values[n]), (-6, 0), textcoords="offset points")
        text.set(ha="right", va="center", fontsize="small", color=colours["muted"])
    axes.set_xlim(low - room / 2, place + room / 2)
    paint_density(axes, np.divide(curve.share[:n], widths, out=np.zeros(n), where=widths > 0), borders, colours)


def paint_levels(axes: Axes, curve: Curve, colours: Mapping[str, Any]) -> None:
    """Draw values as points: the most frequent levels of a category and what new levels have, or two numbers."""
    n = len(curve.share) - curve.categorical  # the last one of a category is for levels that no training row had
    often = np.argsort(-curve.share[:n], kind="stable")[:MOST_LEVELS]
    shown = [*sorted(often.tolist()), *range(n, len(curve.share))]
    axes.errorbar(range(len(shown)), curve.values[shown], WIDE * curve.errors[shown], fmt="o", color=colours["accent"])
    labels, few = [shorten(curve.labels[k], 14) for k in shown], len(shown) <= FEW
    turned: dict[str, Any] = {} if few else {"rotation": 60, "ha": "right"}
    axes.set_xticks(range(len(shown)), labels, fontsize="small", parse_math=False, **turned)
    axes.set_xlim(-0.6, len(shown) - 0.4)
    paint_density(axes, curve.share[shown], np.arange(len(shown) + 1) - 0.5, colours)


def paint_density(axes: Axes, density: np.ndarray, borders: np.ndarray, colours: Mapping[str, Any]) -> None:
    """Draw a density at the foot of the axes."""
    heights = DENSITY * density / max(float(density.max(initial=0.0)), 1e-300)
    foot = axes.get_xaxis_transform()  # heights are shares of the height of the axes
    axes.stairs(heights, borders, fill=True, color=colours["muted"], alpha=0.4, linewidth=0, transform=foot)
