"""Drawings of a study as SVG: measured against published values, curves with their standard deviations, or times.

The same results give the same bytes: ids come from a fixed salt, there is no date, and text stays text.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aucmax.report.figures import render_svg

from ..judging.criterion import UNDECIDABLE
from ..judging.tables import Cell, MeasuredCurve, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
PANEL = 3.4, 2.7  # inches
GROUP = 0.7  # the share of the room of a data set that its dots spread over
TICKS = 8  # the most that a panel has room for
LEGEND_MARK, LEGEND_LETTER = 0.6, 0.08  # inches that an entry of the legend takes: its mark and spaces, and each letter
METRIC_NAMES = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "f1": "F1",
    "jaccard": "Jaccard index",
    "loss": "training loss",
    "gap": "gap to the minimum",
    "seconds": "seconds",
}
# The palette of Okabe and Ito, which most colour-blind people can tell apart, without its yellow: too pale on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = "os^Dv"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "aucmax",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.9",
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "text.parse_math": False,
}


def draw(table: Table) -> bytes:
    """Draw a study: measured against published values of a table, or the curves or times of a figure.

    Examples
    --------
    >>> from aucmax_studies.reproduce.pages.plots import draw
    >>> from aucmax_studies.reproduce.running.store import Record, Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> results = Results([Record("diabetes", "OPAUC", 0, metrics={"auc": 0.83})], {}, {}, [])
    >>> draw(tabulate(read_study("opauc-table-2"), results))[:5]
    b'<?xml'
    """
    if any(line.points for line in table.curves.values()):
        return _curves(table)
    if table.is_of_times:
        return _times(table)
    compared = {metric: _compared(table, metric) for metric in table.metrics}
    compared = {metric: cells for metric, cells in compared.items() if cells}
    return _dots(table, compared) if compared else b""


def draw_overview(tables: Sequence[Table]) -> bytes:
    """Draw a point for each published figure that was measured, measured against published, by paper."""
    measured = [(table.study, cell) for table in tables for cell in table.counted if cell.measured]
    real = [(s, cell) for s, cell in measured if cell.metric == "auc" and not s.subjects[cell.data].generator]
    papers = dict.fromkeys(study.paper for study, _ in measured)
    looks = {paper: {"color": c, "marker": m} for paper, c, m in zip(papers, COLOURS, MARKERS, strict=False)}

    def paint(figure: Figure) -> None:
        for axes, cells, title in zip(
            figure.subplots(1, 2), (measured, real), ("all figures", "AUC on real data"), strict=True
        ):
            values = [(s.paper, c.published.mean, c.measured.mean) for s, c in cells if c.published and c.measured]
            ends = min((min(value[1:]) for value in values), default=0.0) - 0.01, 1.01
            axes.plot(ends, ends, color="0.5", linewidth=1)
            for paper, look in looks.items():
                x, y = ([value[k] for value in values if value[0] == paper] for k in (1, 2))
                axes.plot(x, y, linestyle="", label=paper, alpha=0.6, **look)
            axes.set(xlim=ends, ylim=ends, aspect="equal", xlabel="published", ylabel="measured", title=title)
        _legend(figure, looks)

    return _svg(paint, 2.8 * PANEL[0], 2 * PANEL[1]) if measured else b""


def _compared(table: Table, metric: str) -> list[Cell]:
    return [cell for cell in table.cells.values() if cell.metric == metric and cell.published and cell.measured]


def _looks(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return a colour and a marker for each label; when the colours are used up, the marker changes."""
    looks = [{"color": colour, "marker": marker} for marker in MARKERS for colour in COLOURS]
    return dict(zip(dict.fromkeys(labels), itertools.cycle(looks), strict=False))


def _dots(table: Table, compared: dict[str, list[Cell]]) -> bytes:
    """Draw a panel for each metric, with a dot for each cell."""
    looks = _looks(table.study.methods)

    def paint(figure: Figure) -> None:
        panels = figure.subplots(1, len(compared), squeeze=False)[0]
        for axes, (metric, cells) in zip(panels, compared.items(), strict=True):
            _identity(axes, cells)
            for cell in cells:
                _dot(axes, cell, looks[cell.method])
            for method in dict.fromkeys(cell.method for cell in cells):
                axes.plot([], [], linestyle="", label=method, **looks[method])  # in the legend no dot is hollow
            name = METRIC_NAMES[metric]
            axes.set(xlabel=f"published {name}", ylabel=f"measured {name}")
        _legend(figure, looks)

    return _svg(paint, 1.6 * PANEL[0] * len(compared), 1.9 * PANEL[1])


def _identity(axes: Axes, cells: Sequence[Cell]) -> None:
    """Draw the diagonal, where both agree, with room for all error bars."""
    figures = [figure for cell in cells for figure in (cell.published, cell.measured) if figure]
    lowest = min(figure.mean - (figure.std or 0.0) for figure in figures)
    highest = max(figure.mean + (figure.std or 0.0) for figure in figures)
    margin = 0.03 * (highest - lowest) or 0.01
    ends = lowest - margin, highest + margin
    axes.plot(ends, ends, color="0.5", linestyle=":", linewidth=1)
    axes.set(xlim=ends, ylim=ends, aspect="equal")


def _dot(axes: Axes, cell: Cell, look: dict[str, Any]) -> None:
    """Draw a cell with its error bars; it is hollow if it is better or worse, and pale if that is not decidable."""
    assert cell.published is not None  # _compared has chosen these
    assert cell.measured is not None
    axes.errorbar(
        cell.published.mean,
        cell.measured.mean,
        xerr=cell.published.std,
        yerr=cell.measured.std,
        markerfacecolor="white" if cell.differs else look["color"],
        alpha=0.25 if cell.verdict == UNDECIDABLE else 1.0,
        linestyle="",
        elinewidth=0.6,
        **look,
    )


def _curves(table: Table) -> bytes:
    """Draw the panels, and rows of them for each metric."""
    measured, looks = table.curves, _looks(line for lines in table.panels.values() for line in lines)
    metrics = [m for m in table.metrics if any(curve.points for key, curve in measured.items() if key[2] == m)]
    drawn = {key[0] for key in measured}
    contents = [name for name, lines in table.panels.items() if any(data in drawn for data, _ in lines.values())]
    columns = min(COLUMNS, len(contents))
    rows = math.ceil(len(contents) / columns)

    def paint(figure: Figure) -> None:
        panels = figure.subplots(rows * len(metrics), columns, squeeze=False).ravel()
        for axes in panels:
            axes.set_axis_off()  # until something is drawn there
        for k, metric in enumerate(metrics):
            for axes, name in zip(panels[k * rows * columns :], contents, strict=False):
                _panel(axes, table, name, metric, looks)
        _legend(figure, looks)

    return _svg(paint, PANEL[0] * columns, PANEL[1] * rows * len(metrics))


def _panel(axes: Axes, table: Table, name: str, metric: str, looks: dict[str, dict[str, Any]]) -> None:
    assert table.study.curve is not None  # only figures have curves
    curve = table.study.curve
    axes.set_axis_on()
    if metric == "gap":  # over a linear axis of iterations linear convergence is a straight line
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:.0e}")
    for label, (data, method) in table.panels[name].items():
        look, line, cell = looks[label], table.curves.get((data, method, metric)), table.cells[data, method, metric]
        if line is not None and line.points:
            style = "--" if table.study.methods[method].constant else "-"
            _band(axes, line, label, {**look, "linestyle": style})
        elif cell.measured is not None:
            axes.axhline(cell.measured.mean, color=look["color"], linestyle="--", label=label)
    axes.set(title=name, xlabel=curve.label or curve.parameter, ylabel=METRIC_NAMES[metric])
    if curve.scale == "log" and metric != "gap":
        per_value = {entry.per_value for entry in table.study.methods.values()}
        _logarithmic(axes, sorted({x * times for x in curve.values for times in per_value}))


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """Make the axis of a curve logarithmic, with ticks at its values if there is room for all of them."""
    above = [value for value in values if value > 0]
    if len(above) == len(values):
        axes.set_xscale("log")
    else:  # zero has no logarithm: it stands a decade to the left
        axes.set_xscale("symlog", linthresh=min(above))
    if len(values) <= TICKS:
        axes.set_xticks(values)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _band(axes: Axes, line: MeasuredCurve, label: str, look: dict[str, Any]) -> None:
    x, mean, std, _ = zip(*line.points, strict=True)
    # where the axis is logarithmic, the band ends above 0
    low = [m - s if m > s or axes.get_yscale() == "linear" else m for m, s in zip(mean, std, strict=True)]
    high = [m + s for m, s in zip(mean, std, strict=True)]
    axes.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    axes.plot(x, mean, label=label, markevery=max(1, len(x) // 12), **look)


def _times(table: Table) -> bytes:
    """Draw the data sets side by side, with a dot for the median time of each method."""
    looks = _looks(table.study.methods)
    medians = {key[:2]: cell.median for key, cell in table.cells.items() if key[2] == "seconds" and cell.median}
    subjects = [data for data in table.study.subjects if any(key[0] == data for key in medians)]
    if not subjects:
        return b""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for k, (method, look) in enumerate(looks.items()):
            shift = GROUP * ((k + 0.5) / len(looks) - 0.5)
            dots = {i + shift: medians[data, method] for i, data in enumerate(subjects) if (data, method) in medians}
            if dots:
                axes.plot(list(dots), list(dots.values()), linestyle="", label=method, **look)
        axes.set(yscale="log", ylabel="median seconds of a fit", xlim=(-0.5, len(subjects) - 0.5))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xticks(range(len(subjects)), subjects)
        axes.set_xticks([i - 0.5 for i in range(1, len(subjects))], minor=True)
        axes.grid(visible=False, axis="x")
        axes.grid(axis="x", which="minor")  # between the data sets
        axes.tick_params(axis="x", which="both", length=0)
        _legend(figure, looks)

    return _svg(paint, max(1.6 * PANEL[0], 0.8 * len(subjects)), 1.3 * PANEL[1])


def _legend(figure: Figure, labels: Iterable[str]) -> None:
    """Put one legend under all panels, in the order of the study, with as many columns as the figure has room for."""
    found: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    shown = [label for label in labels if label in found]
    column = LEGEND_MARK + LEGEND_LETTER * max(map(len, shown), default=0)
    n_columns = min(4, max(1, int(figure.get_figwidth() / column)))
    handles = [found[label] for label in shown]
    figure.legend(handles, shown, loc="outside lower center", ncols=n_columns, frameon=False)


def _svg(paint: Callable[[Figure], None], width: float, height: float) -> bytes:
    return render_svg(paint, (width, height), STYLE)
