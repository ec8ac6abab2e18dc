"""The parts of a report that only additive models have: curves, what each column is worth, and the scorecard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..additive.displays import WIDE, Curve, curve_of, most_varied
from ..additive.importance import auc_lost_without
from ..additive.labels import column_name
from ..additive.scorecard import Entry, Scorecard
from .display import Key
from .figures import COLOURS, Drawing, draw_svg
from .texts import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DENSITY = 0.25  # of the height, for the density of the data


class AdditiveParts(NamedTuple):
    """What a report says about an additive model.

    Attributes
    ----------
    curves : sequence of Curve
        The curves that vary most.
    importance : sequence of (name, AUC lost)
        The columns, the most important first; empty without rows to measure it on.
    base_points : int
        The base points of the scorecard.
    scorecard : sequence of Entry
        Its lines.
    auc_lost : float or None
        The AUC that rounding to whole points costs; None without rows to measure it on.
    """

    curves: Sequence[Curve]
    importance: Sequence[tuple[str, float]]
    base_points: int
    scorecard: Sequence[Entry]
    auc_lost: float | None


def describe_additive(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> AdditiveParts:
    """Return the parts of a report for a fitted additive model, measured on some rows if there are any.

    Parameters
    ----------
    model : AdditiveAUCClassifier
        The fitted model.
    X : {array-like, dataframe} of shape (n_samples, n_features), default=None
        Rows, best ones that the model was not fitted to.
    y : array-like of shape (n_samples,), default=None
        Their classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.

    Returns
    -------
    parts : AdditiveParts
        The parts.
    """
    card = Scorecard(model)
    curves = most_varied([curve_of(model, j) for j in range(model.n_features_in_)])
    if X is None:
        return AdditiveParts(curves, [], card.base_points, card.table(), None)
    lost = auc_lost_without(model, X, y, sample_weight)
    importance = [(column_name(model, int(j)), float(lost[j])) for j in np.argsort(-lost, kind="stable")]
    return AdditiveParts(curves, importance, card.base_points, card.table(), card.auc_lost(X, y, sample_weight))


def draw_curve(number: int, curve: Curve) -> Drawing:
    """Draw a curve with its interval, and the density of the data at its foot."""
    n = len(curve.values) if curve.categorical else len(curve.low)
    values, errors = curve.values[:n], WIDE * curve.errors[:n]
    if curve.categorical:
        borders = np.arange(n + 1) - 0.5
    else:
        borders = np.append(curve.low, curve.high[-1:])
        finite = borders[np.isfinite(borders)]
        borders = np.clip(borders, finite.min(initial=0.0), finite.max(initial=0.0))
    widths = np.diff(borders)
    density = np.divide(curve.share[:n], widths, out=np.zeros(n), where=widths > 0)

    def paint(axes: Axes) -> None:
        axes.stairs(values, borders, baseline=None, color=COLOURS["accent"])
        axes.stairs(values + errors, borders, baseline=values - errors, fill=True, color=COLOURS["accent"], alpha=0.18)
        low, high = axes.get_ylim()
        foot = low - DENSITY * (high - low)
        heights = foot + DENSITY * (high - low) * density / max(float(density.max(initial=0.0)), 1e-300)
        axes.stairs(heights, borders, baseline=foot, fill=True, color=COLOURS["muted"], alpha=0.4)
        axes.set(xlabel=shorten(curve.name), ylabel="log-odds", ylim=(foot, high))
        if curve.categorical:
            axes.set_xticks(range(n), [shorten(label, 14) for label in curve.labels], rotation=60, ha="right")

    keys = [
        Key("line", "accent", "log-odds less their mean"),
        Key("area", "accent", "95% interval"),
        Key("area", "muted", "density of the training rows"),
    ]
    note = ""
    if len(curve.values) > n:
        note = (
            f"Missing values: {curve.values[n]:+.2f} ± {WIDE * curve.errors[n]:.2f}, {curve.share[n]:.1%} of the rows."
        )
    return Drawing(
        shorten(curve.name), draw_svg(f"curve{number}", f"Curve of {shorten(curve.name)}", paint), keys, note
    )
