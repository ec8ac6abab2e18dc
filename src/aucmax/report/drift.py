"""The page of a monitored model: one HTML file that needs no other, as the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..files.atomic_write import write_atomically
from ..monitoring.drift import Drift, Period
from ..monitoring.stability import Stability
from .figures import COLOURS, HEIGHT, draw_svg
from .html import make_environment

if TYPE_CHECKING:
    import os

DETAILS = 12  # columns whose cells are shown
MOST_CELLS = 15


def write_drift(path: str | os.PathLike[str], drift: Drift, title: str) -> None:
    """Write what has changed to an HTML file, completely or not at all."""
    template = make_environment().get_template("drift.html")
    ordered = sorted(drift.columns, key=lambda each: -(each.stability.excess if each.stability else -1))
    cells = [("score", drift.score)] if drift.score is not None else []
    cells += [(each.column, each.stability) for each in ordered if each.stability is not None][:DETAILS]
    dated = [each for each in drift.periods if each.auc is not None]
    page = template.render(
        drift=drift,
        title=title,
        columns=ordered,
        cells=[(name, *list_cells(found)) for name, found in cells],
        periods=draw_periods(dated, drift) if len(dated) > 1 else None,
        version=__version__,
    )
    write_atomically(path, lambda file: file.write(page.encode("utf-8", "replace")))


def list_cells(found: Stability) -> tuple[list[tuple[str, float, float, float]], int]:
    """Return the cells with both shares and the largest of all, and how many of the least changed are not shown."""
    n_left = max(len(found.labels) - MOST_CELLS, 0)
    moved = np.argsort(-np.abs(found.actual - found.expected), kind="stable")
    longest = float(max(found.expected.max(), found.actual.max()))
    shown = sorted(moved[: len(found.labels) - n_left].tolist())
    return [(found.labels[k], float(found.expected[k]), float(found.actual[k]), longest) for k in shown], n_left


def draw_periods(periods: Sequence[Period], drift: Drift) -> str:
    """Draw the AUC of each month with its interval, and the cross-validated one of the training rows."""

    def paint(axes: Any) -> None:
        places, aucs = range(len(periods)), [each.auc for each in periods if each.auc is not None]
        if drift.promised is not None:
            axes.axhspan(drift.promised.low, drift.promised.high, color=COLOURS["muted"], alpha=0.15, linewidth=0)
            axes.axhline(drift.promised.auc, color=COLOURS["muted"], linestyle="--", linewidth=1)
        reach = [[each.auc - each.low for each in aucs], [each.high - each.auc for each in aucs]]
        axes.errorbar(places, [each.auc for each in aucs], reach, fmt="o", color=COLOURS["accent"], capsize=3)
        step = -(-len(periods) // 6)
        axes.set_xticks(places[::step], [each.month for each in periods][::step])
        axes.set(ylabel="AUC")

    return draw_svg("periods", f"AUC of {len(periods)} months with intervals", paint, HEIGHT)
