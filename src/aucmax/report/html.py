"""The report: one HTML file that needs no other, for light and dark screens, phones and print.

Jinja escapes all names that come with the data, such as names of classes and features. The page forbids scripts and
requests of any kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compare.comparison import Comparison
from ..files.atomic_write import write_atomically
from ..tables.curves import WIDE
from .curves import AdditiveParts, draw_curve
from .displays.base import count_text, number_text, shorten
from .displays.blend import CandidatesDisplay
from .displays.curves import common_range
from .displays.importance import Importance, ImportanceDisplay
from .displays.path import PathDisplay
from .displays.weights import WeightsDisplay
from .evaluation import Evaluation
from .figures import (
    Drawing,
    draw,
    draw_blend,
    draw_boxes,
    draw_calibration,
    draw_convergence,
    draw_distributions,
    draw_gains,
    draw_precision_recall,
    draw_roc,
)
from .rates import Estimate

if TYPE_CHECKING:
    import os


UNKNOWN = "The figures hold for new rows if the model was not fitted to these."
LOST = "The AUC lost without each column as bars"
NONE = "\N{EN DASH}"


class Report(NamedTuple):
    """The content of a report; the page has no trace of a part that is None.

    Attributes
    ----------
    title : str
        Its heading.
    note : str
        What the reader must know first.
    summary : sequence of (name, value)
        What was fitted, to which data, when, and with which versions.
    evaluation : Evaluation or None
        The headline, thresholds, gains, calibration and curves.
    of_training_rows : bool
        Whether the evaluation is of training rows. `held_out_auc` is then the headline, if there is one.
    held_out_auc : float or None
        The cross-validated AUC of the fit.
    held_out_interval : (float, float) or None
        The ends of its 95% confidence interval.
    scores : (ndarray, ndarray) or None
        Scores of the negatives and of the positives, for their distributions.
    class_names : (str, str)
        The negative and the positive class.
    model_classes : (str, str) or None
        The classes that weights and curves are for, if these differ: a positive weight makes the second more likely.
    path : mapping or None
        ``cv_results_`` of :class:`aucmax.AUCClassifier`.
    best_index : int or None
        The candidate of `path` that was chosen; None for the one of highest mean AUC.
    blend : mapping or None
        ``blend_`` of :class:`aucmax.AUCClassifier`, if the candidates of `path` were blended.
    blend_auc : float or None
        The cross-validated AUC of the blend.
    table : sequence of (column, kind, missing, found)
        How each column of the table is read.
    weights : sequence of (name, weight) or None
        The largest weights, in the order to show.
    weights_note : str
        A sentence about them, such as the scale of the columns.
    convergence : ndarray or None
        The measure of convergence after each epoch.
    by : str
        The column whose values were evaluated apart.
    importance : sequence of Importance
        What each column is worth, if `additive` does not say it.
    importance_note : str
        How this was measured.
    comparison : Comparison, sequence of Comparison, or None
        Methods compared, on one data set or several.
    additive : AdditiveParts or None
        Ladder, curves, importance and scorecard of a table model.
    """

    title: str
    note: str = ""
    summary: Sequence[tuple[str, str]] = ()
    evaluation: Evaluation | None = None
    of_training_rows: bool = False
    held_out_auc: float | None = None
    held_out_interval: Sequence[float] | None = None
    scores: tuple[np.ndarray, np.ndarray] | None = None
    class_names: tuple[str, str] = ("negative", "positive")
    model_classes: tuple[str, str] | None = None
    path: Mapping[str, Any] | None = None
    best_index: int | None = None
    blend: Mapping[str, Any] | None = None
    blend_auc: float | None = None
    table: Sequence[tuple[str, str, int, str]] = ()
    weights: Sequence[tuple[str, float]] | None = None
    weights_note: str = ""
    convergence: np.ndarray | None = None
    comparison: Comparison | Sequence[Comparison] | None = None
    additive: AdditiveParts | None = None
    by: str = ""
    importance: Sequence[Importance] = ()
    importance_note: str = ""

    @property
    def auc_change(self) -> Estimate | None:
        """The AUC of new rows less the cross-validated one, with its 95% interval: the variances add."""
        found, interval = self.evaluation, self.held_out_interval
        if found is None or self.held_out_auc is None or interval is None or self.of_training_rows:
            return None
        change = found.auc.auc - self.held_out_auc
        reach = math.hypot(WIDE * found.auc.standard_error, (interval[1] - interval[0]) / 2)
        return Estimate(change, change - reach, change + reach)


def write_page(path: str | os.PathLike[str], report: Report) -> None:
    """Write the report to an HTML file, completely or not at all.

    Parameters
    ----------
    path : path
        The file; an existing one is replaced.
    report : Report
        The content.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from aucmax.report.html import Report, write_page
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(pathlib.Path(folder, "report.html"), Report("Nothing yet"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.html']
    """
    page = render_page(report).encode("utf-8", "replace")  # a file name may hold broken characters
    write_atomically(path, lambda file: file.write(page))


def make_environment() -> Any:
    """Return the environment of the templates of pages, with their filters."""
    try:
        import jinja2
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("A report needs jinja2 and matplotlib: pip install 'aucmax[report]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("aucmax.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(shorten=shorten, number=number_text, count=count_text)
    environment.tests["finite"] = math.isfinite
    return environment


def render_page(report: Report) -> str:
    """Return the report as an HTML page; the same page for the same report."""
    environment = make_environment()
    comparisons = [report.comparison] if isinstance(report.comparison, Comparison) else report.comparison or []
    found, additive = report.evaluation, report.additive
    calibration = found.calibration if found else None
    importance = additive.importance if additive else report.importance
    classes, limits = report.model_classes or report.class_names, common_range(additive.curves if additive else ())
    weights = WeightsDisplay(*zip(*report.weights, strict=True), classes=classes) if report.weights else None
    columns = ImportanceDisplay(importance) if importance else None
    return environment.get_template("report.html").render(
        report=report,
        found=found,
        model_classes=classes,
        weight_rows=[(*each, None) for each in report.weights or ()],
        gains=draw_gains(found) if found else None,
        calibration=draw_calibration(calibration, found.confidence_level) if found and calibration else None,
        ranking=list(_ranking(report)),
        curves=[draw_curve(k, curve, limits) for k, curve in enumerate(additive.curves)] if additive else [],
        making=list(_making(report)),
        weights=draw(weights, "weights", "The largest weights as bars", weights.size[1]) if weights else None,
        importance=draw(columns, "importance", LOST, columns.size[1]) if columns else None,
        importances=[(name, lost, ends) for name, lost, *ends in importance],
        points=_points(found, additive.points, classes == report.class_names) if found and additive else None,
        comparisons=[(each, each.to_dict()["methods"], draw_boxes(k, each)) for k, each in enumerate(comparisons)],
    )


def _points(found: Evaluation, counts: Any, high_first: bool) -> dict[str, tuple[str, float]] | None:
    """Return the points of the scorecard that predict about as many rows as each threshold, and how many they do."""
    if counts is None:
        return None
    points, rows = (each[:: -1 if high_first else 1] for each in counts)
    called, word = np.cumsum(rows), "from" if high_first else "up to"
    cuts = {rule: np.abs(called - at.called).argmin() for rule, at in found.thresholds.items()}
    return {rule: (f"{word} {points[k]}", float(called[k])) for rule, k in cuts.items()}


def _ranking(report: Report) -> Iterator[Drawing]:
    """Yield the figures of how the scores rank."""
    if report.evaluation is not None:
        yield draw_roc(report.evaluation)
        yield draw_precision_recall(report.evaluation)
    if report.scores is not None:
        yield draw_distributions(*report.scores, report.class_names, report.evaluation)


def _making(report: Report) -> Iterator[Drawing]:
    """Yield the figures of how a linear model was chosen and fitted."""
    if report.blend is not None and len(report.blend["share"]) > 1:
        yield draw_blend(report.blend)
    if report.path is not None and report.blend is not None and report.blend_auc is not None:
        display = CandidatesDisplay(report.path, report.blend, report.blend_auc)
        about = f"Cross-validated AUC of {len(display.x)} candidates along alpha: {display.choice}"
        yield draw(display, "candidates", about)
    elif report.path is not None:
        path = PathDisplay(report.path, best_index=report.best_index)
        yield draw(path, "path", f"Cross-validated AUC along {path.along}: {path.choice}")
    if report.convergence is not None and np.any(np.asarray(report.convergence) > 0):
        yield draw_convergence(np.asarray(report.convergence))
