"""The parts of a report that only table models have: ladder, curves, what each column is worth, and scorecard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..tables.curves import WIDE, Curve, auc_lost_without, curves_of, most_varied
from ..tables.scorecard import Entry, Scorecard
from .displays.base import Key, shorten
from .displays.curves import MOST_LEVELS, paint_curve
from .figures import COLOURS, Drawing, draw_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_IMPORTANT = 20  # columns that are shown


class Step(NamedTuple):
    """A rung of the ladder."""

    terms: str
    auc: float  # of held-out rows, with the ends of its interval
    low: float
    high: float
    surfaces: float
    freedom: float
    seconds: float
    chosen: bool


class AdditiveParts(NamedTuple):
    """What a report says about a table model."""

    ladder: Sequence[Step]  # the rungs in their order; empty for a fit without folds
    curves: Sequence[Curve]  # the curves that vary most
    importance: Sequence[tuple[str, float]]  # columns and AUC lost, largest first; empty without rows to measure it on
    base_points: int  # of the scorecard
    scorecard: Sequence[Entry]  # its lines
    auc_lost: float | None  # the AUC that rounding to whole points costs; None without rows to measure it on


def describe_additive(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> AdditiveParts:
    """Return the parts of a report for a fitted table model, measured on some rows if there are any.

    Rows that the model was not fitted to are best.
    """
    card, ladder = Scorecard(model), []
    if hasattr(model, "ladder_"):
        ladder = [Step(*rung) for rung in zip(*(model.ladder_[name].tolist() for name in Step._fields), strict=True)]
    found = AdditiveParts(ladder, most_varied(curves_of(model)), [], card.base_points, card.table(), None)
    if X is None:
        return found
    lost, names = auc_lost_without(model, X, y, sample_weight), model.reading_.part_names
    order = np.argsort(-lost, kind="stable")[:MOST_IMPORTANT]
    importance = [(names[j], float(lost[j])) for j in order]
    return found._replace(importance=importance, auc_lost=card.auc_lost(X, y, sample_weight).difference)


def draw_curve(number: int, curve: Curve) -> Drawing:
    """Draw a curve with its interval, and the density of the training rows at its foot."""
    name = shorten(curve.name)

    def paint(axes: Axes) -> None:
        paint_curve(axes, curve, COLOURS)
        axes.set_xlabel(name)

    keys = [
        Key("point" if curve.categorical else "line", "accent", "log-odds less their mean"),
        Key("line" if curve.categorical else "area", "accent", "95% interval"),
        Key("area", "muted", "density of the training rows"),
    ]
    note, missing = "", len(curve.low)
    if not curve.categorical and len(curve.values) > missing:
        value, error = curve.values[missing], WIDE * curve.errors[missing]
        note = f"Missing values: {value:+.2f} ± {error:.2f}, {curve.share[missing]:.1%} of the rows."
    elif curve.categorical and len(curve.low) > MOST_LEVELS:
        note = f"The most frequent of {len(curve.low):,} levels."
    return Drawing(name, draw_svg(f"curve{number}", f"Curve of {name}", paint), keys, note)
