"""The numbers behind the page of a study: published and measured values side by side.

1. A cell has the mean and the standard deviation over the runs; if one of them failed, it has the reason instead.
2. Its published value gets a verdict (`criterion`). Times are not judged: the machines differ.
3. The first method is tested against each other one by a paired t-test at 95%, on the runs that both have. The marks
   are the papers': • if the first is better, ◦ if it is worse.
4. Every published value gets one verdict, so the counts of the verdicts add up to the number of values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aucmax.compare.comparison import SIGNIFICANCE, paired_t_test

from ..running.store import Record, Results
from ..study import Study, StudyMethod, Value
from .cells import Cell
from .criterion import paired_change
from .judging import find_reasons, is_no_chance, judge_row

WINS, LOSES = "•", "◦"


class CurvePoint(NamedTuple):
    """A point of a measured curve.

    Attributes
    ----------
    x : float
        The value of the curve's parameter.
    mean, std : float
        Mean and standard deviation over the runs.
    runs : int
        Number of runs.
    """

    x: float
    mean: float
    std: float
    runs: int


class MeasuredCurve(NamedTuple):
    """A metric of a method on a data set along the parameter of a curve.

    Attributes
    ----------
    points : list of CurvePoint
        The points at which no run failed.
    failures : list of str
        Why there are no others.
    """

    points: Sequence[CurvePoint]
    failures: Sequence[str]


class Table(NamedTuple):
    """A study beside what was measured.

    Attributes
    ----------
    study : Study
        The study.
    results : Results
        The fits.
    cells : dict of Cell
        By the labels of data and method, and by metric, "seconds" among them. In a figure these are the methods that do
        not depend on the parameter.
    curves : dict of MeasuredCurve
        The curves of a figure, by the same keys.
    """

    study: Study
    results: Results
    cells: Mapping[tuple[str, str, str], Cell]
    curves: Mapping[tuple[str, str, str], MeasuredCurve]

    @property
    def metrics(self) -> list[str]:
        """The metrics that a page shows; times only if there is nothing else."""
        known = dict.fromkeys((*self.study.metrics, *self.study.published))
        return [metric for metric in known if metric != "seconds"] or ["seconds"]

    @property
    def is_of_times(self) -> bool:
        """Whether it is a figure of nothing but times, without numbers to compare with: its page has medians."""
        study = self.study
        return list(study.metrics) == ["seconds"] and study.curve is None and not study.published

    @property
    def panels(self) -> dict[str, dict[str, tuple[str, str]]]:
        """The panels of a figure, and the labels of data and method of each of their lines.

        A panel is a data set, and its lines are the methods. Where there is one method only, data sets called
        "PANEL, LINE", such as "k* = 20, r = 0.05", are lines of one panel.
        """
        panels: dict[str, dict[str, tuple[str, str]]] = {}
        methods = self.study.methods
        for data in self.study.subjects:
            panel, _, line = data.partition(", ") if len(methods) == 1 else (data, "", "")
            panels.setdefault(panel, {}).update({line or method: (data, method) for method in methods})
        return panels

    @property
    def quick(self) -> bool:
        """Whether any of it was measured by a quick run."""
        return any(session.effort == "quick" for session in self.results.sessions)


Runs = Mapping[int, Record]


def tabulate(study: Study, results: Results) -> Table:
    """Put measured values beside the published ones.

    Parameters
    ----------
    study : Study
        The published table or figure.
    results : Results
        What was measured of it so far.

    Returns
    -------
    table : Table
        Its cells and curves.

    Examples
    --------
    >>> from aucmax_studies.reproduce.running.store import Record, Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> records = [Record("diabetes", "OPAUC", run, metrics={"auc": 0.82 + 0.01 * run}) for run in range(3)]
    >>> table = tabulate(read_study("opauc-table-2"), Results(records, {}, {}, []))
    >>> cell = table.cells["diabetes", "OPAUC", "auc"]
    >>> cell.published.mean, round(cell.measured.mean, 4), cell.runs, cell.verdict
    (0.8309, 0.83, 3, 'not decidable')
    """
    groups: dict[tuple[str, str], dict[float | None, dict[int, Record]]] = {}
    for record in results.records:  # of two fits of the same thing, the later counts
        groups.setdefault((record.data, record.method), {}).setdefault(record.x, {})[record.run] = record
    cells, curves = {}, {}
    metrics = dict.fromkeys((*study.metrics, *study.published, "seconds"))
    first = next(iter(study.methods))
    for data in study.subjects:
        rivals = groups.get((data, first), {}).get(None, {})
        for method, entry in study.methods.items():
            along = groups.get((data, method), {})
            borrowed = is_borrowed(study, entry)
            for metric in metrics:
                key = data, method, metric
                rival = {} if method == first or borrowed else rivals
                cells[key] = _cell(study, results, key, along.get(None, {}), rival)
                if study.curve is not None and any(x is not None for x in along):
                    curves[key] = _measured_curve(along, metric)
    for row in _rows(study, cells):
        cells.update({(cell.data, cell.method, cell.metric): cell for cell in judge_row(study, row)})
    judged = dict(cells)
    for key, cell in judged.items():
        reasons = tuple(find_reasons(study, results, cell, judged))
        cells[key] = cell._replace(reasons=reasons, no_chance=is_no_chance(study, results, cell))
    return Table(study, results, cells, curves)


def _rows(study: Study, cells: Mapping[tuple[str, str, str], Cell]) -> list[list[Cell]]:
    """Return the rows of the published tables; figures cited from another paper are rows of their own."""
    rows: dict[tuple[str, str, bool], list[Cell]] = {}
    for (data, method, metric), cell in cells.items():
        if cell.verdict:
            rows.setdefault((data, metric, is_borrowed(study, study.methods[method])), []).append(cell)
    return list(rows.values())


def is_borrowed(study: Study, entry: StudyMethod) -> bool:
    """Return whether its values come from another paper: they are of other rows, so they cannot be paired."""
    return bool(entry.same_as) and not entry.same_as[0].startswith(study.paper.lower())


def _cell(study: Study, results: Results, key: tuple[str, str, str], runs: Runs, rivals: Runs) -> Cell:
    data, method, metric = key
    printed = study.published.get(metric, {}).get((data, method))
    doubled = metric == "accuracy" and method in study.doubled_error
    published = _double_error(printed) if printed and doubled else printed
    repeated = (data, method) in study.repeated.get(metric, ())
    cell = Cell(*key, published, printed if doubled else None, repeated=repeated)
    values, failure = _values(runs, metric)
    if not failure and values:
        mark = "" if metric == "seconds" else _mark(values, _values(rivals, metric))
        sample = list(values.values())
        std = float(np.std(sample)) if len(sample) > 1 else None
        value = Value(float(np.mean(sample)), std, mark)
        return cell._replace(measured=value, median=float(np.median(sample)), runs=len(sample))
    missing = study.subjects[data].missing or (results.settings[data].missing if data in results.settings else "")
    if missing:
        return cell._replace(absence=missing, absent="no data")
    if failure:
        return cell._replace(absence=failure, absent="failed")
    return cell._replace(absence="Not run yet.", absent="not run")


def _double_error(value: Value) -> Value:
    """Return an accuracy whose error was halved before it was printed."""
    std = None if value.std is None else round(2 * value.std, 6)
    return Value(round(2 * value.mean - 1, 6), std, value.mark)


def _values(runs: Runs, metric: str) -> tuple[dict[int, float], str]:
    """Return a metric of each run that has it, and a sentence about the runs that failed."""
    in_order = sorted(runs.items())  # otherwise the last bit of a mean would depend on which fit ended first
    failures = [run.failure for _, run in in_order if run.failure]
    values = {number: run.metrics[metric] for number, run in in_order if metric in run.metrics}
    failures += [f"{metric} is {value}." for value in values.values() if not math.isfinite(value)]
    return values, f"{len(failures)} of {len(runs)} runs failed: {failures[0]}" if failures else ""


def _mark(values: Mapping[int, float], rivals: tuple[Mapping[int, float], str]) -> str:
    """Return the mark of a method; its rival is the first method of the study."""
    first, failure = rivals
    common = sorted(first.keys() & values.keys())
    if failure or not common:
        return ""
    differences = np.array([first[run] - values[run] for run in common])
    if paired_t_test(differences) >= SIGNIFICANCE:
        return ""
    return WINS if differences.mean() > 0 else LOSES


def _measured_curve(along: Mapping[float | None, Runs], metric: str) -> MeasuredCurve:
    """Return the points at which no run failed, and why the others are missing."""
    points, failures = [], []
    for x in sorted(x for x in along if x is not None):
        values, failure = _values(along[x], metric)
        if failure:
            failures.append(f"at {x:.6g}, {failure}")
        elif values:
            sample = list(values.values())
            points.append(CurvePoint(x, float(np.mean(sample)), float(np.std(sample)), len(sample)))
    return MeasuredCurve(points, failures)


class Contrast(NamedTuple):
    """The difference of two methods on a data set.

    Attributes
    ----------
    data : str
        Label of the data set.
    published : float or None
        As published; None if the paper has no figure of one of the two.
    measured, margin : float
        As measured on the same splits, and half the width of its interval at 95%.
    """

    data: str
    published: float | None
    measured: float
    margin: float

    @property
    def verdict(self) -> str:
        """Whether the sign is the published one: "same", "opposite", or "not shown" if 0 is in the interval."""
        if self.published is None:
            return ""
        if abs(self.measured) <= self.margin:
            return "not shown"
        return "same" if self.measured * self.published > 0 else "opposite"


def contrast(table: Table, first: str, second: str) -> list[Contrast]:
    """Return the differences of two methods in the first metric of a study, on each data set that has both.

    Parameters
    ----------
    table : Table
        The study beside what was measured.
    first, second : str
        Labels of the methods. Labels such as "PSAM, standardised" stand for the published "PSAM", and those of data
        such as "news20, small penalties" for the published "news20".

    Returns
    -------
    contrasts : list of Contrast
        In the order of the data sets. The interval is that of a paired t-test.
    """
    metric = table.study.metrics[0]
    published = table.study.published.get(metric, {})
    found = []
    for data in table.study.subjects:
        ours, theirs = (table.results.values(data, method, metric) for method in (first, second))
        if measured := paired_change(theirs, ours):
            printed = [published.get((_plain(data), _plain(method))) for method in (first, second)]
            known = printed[0].mean - printed[1].mean if printed[0] and printed[1] else None
            found.append(Contrast(data, known, *measured))
    return found


def count_signs(contrasts: Sequence[Contrast]) -> tuple[int, int, int]:
    """Return on how many data sets a difference has the published sign, the opposite one, and neither.

    Parameters
    ----------
    contrasts : sequence of Contrast
        The differences. Those on data that were measured in another way, such as "news20, small penalties", do not
        count: their data set is there already.

    Returns
    -------
    counts : tuple of int
        The three numbers.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.tables import Contrast, count_signs
    >>> count_signs([Contrast("a", 0.1, 0.2, 0.1), Contrast("a, scaled", 0.1, -0.2, 0.1), Contrast("b", 0.1, 0.0, 0.1)])
    (1, 0, 1)
    """
    verdicts = [found.verdict for found in contrasts if found.data == _plain(found.data)]
    return verdicts.count("same"), verdicts.count("opposite"), verdicts.count("not shown")


def _plain(label: str) -> str:
    """Return a label without what distinguishes it from the published one."""
    return label.partition(",")[0]
