"""The parts of a report that only table models have: ladder, curves, what each column is worth, and scorecard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..monitoring.drift import Drift
from ..monitoring.watch import Watch
from ..rows.validate import check_weights
from ..tables.curves import WIDE, Curve, curves_of, most_varied
from ..tables.reading.dates import date_text
from ..tables.reading.summary import SECONDS
from ..tables.scorecard import Entry, Scorecard, worth
from .displays.base import Key, number_text, shorten
from .displays.curves import MOST_LEVELS, beyond_axis, paint_curve
from .displays.importance import Importance, measure_importance
from .figures import COLOURS, Drawing, draw_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_IMPORTANT = 20  # columns that are shown
# Parameters by which a user overrules the data.
IMPOSED = ("monotonic_cst", "cuts", "drop", "id", "categorical", "numeric", "date")


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
    importance: Sequence[Importance]  # of the columns, largest first; empty without rows to measure it on
    summary: Sequence[str]  # of the scorecard
    scorecard: Sequence[tuple[str, str, Sequence[Entry]]]  # its columns, what each says by itself, and its lines
    imposed: str  # the shapes, cut points, kinds and left-out columns that the user gave
    points: tuple[np.ndarray, np.ndarray] | None  # scores on the scorecard, lowest first, and how many rows have each
    drift: Drift | None  # of rows that the model was not trained on
    dates: Sequence[tuple[str, str, str]]  # the columns of dates, with the first and last of these rows


def describe_additive(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, trained_on: bool = False
) -> AdditiveParts:
    """Return the parts of a report for a fitted table model, measured on rows if there are any, or on its own rows."""
    card, ladder = Scorecard(model), []
    if hasattr(model, "ladder_"):
        ladder = [Step(*rung) for rung in zip(*(model.ladder_[name].tolist() for name in Step._fields), strict=True)]
    importance, points, drift, dates = [], None, None, []
    if X is not None:
        importance = measure_importance(model, X, y, sample_weight, most=MOST_IMPORTANT)
        values, rows = np.unique(card.score(X), return_inverse=True)
        points = values, np.bincount(rows, sample_weight)
        if not trained_on:
            card.auc_lost(X, y, sample_weight)  # the summary says it
            watch, levels = Watch(model), model._read(X)
            watch.add(levels, weight=check_weights(sample_weight, levels))
            drift, dates = watch.drift(None, None, 0.25, 0.95), list(find_dates(model, np.asarray(levels)))
    lines = [(about.column, worth(about), entries) for about, entries in card._by_column()]
    given = {name: value for name, value in model.get_params().items() if name in IMPOSED and value is not None}
    imposed = ", ".join(f"{name}={value!r}" for name, value in given.items()) or "nothing"
    curves = most_varied(curves_of(model))
    return AdditiveParts(ladder, curves, importance, card.summary(), lines, imposed, points, drift, dates)


def find_dates(model: Any, levels: np.ndarray) -> Iterator[tuple[str, str, str]]:
    """Yield each column of dates with the first and the last date of rows, which have their ages in days."""
    for column in model.reading_.columns:
        if column.kind == "date":
            ages = levels[:, model.reading_.part_names.index(column.parts[0].name)]
            if not np.isnan(ages).all():
                ends = (column.latest - SECONDS * age for age in (np.nanmax(ages), np.nanmin(ages)))
                first, last = (date_text(float(end), column.latest) for end in ends)
                yield column.name, first, last


def draw_curve(number: int, curve: Curve, limits: tuple[float, float]) -> Drawing:
    """Draw a curve with its interval between these limits, and the density of the training rows at its foot."""
    name = shorten(curve.name)

    def paint(axes: Axes) -> None:
        paint_curve(axes, curve, COLOURS, limits)
        axes.set_xlabel(name)

    points = curve.categorical or curve.is_binary
    keys = [
        Key("point" if points else "line", "accent", "log-odds, compared with the mean"),
        Key("line" if points else "area", "accent", "95% interval"),
        Key("area", "muted", "density of the training rows"),
    ]
    notes, missing = [beyond_axis(curve, limits)], len(curve.low)
    if not curve.categorical and len(curve.values) > missing:
        value, error = curve.values[missing], WIDE * curve.errors[missing]
        notes.append(
            f"Missing values: {number_text(value, '+.2f')} ± {error:.2f}, {curve.share[missing]:.1%} of the rows."
        )
    elif curve.categorical and len(curve.low) > MOST_LEVELS:
        notes.append(f"The most frequent of {len(curve.low):,} levels.")
    return Drawing(name, draw_svg(f"curve{number}", f"Curve of {name}", paint), keys, " ".join(filter(None, notes)))
