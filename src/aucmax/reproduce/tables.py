"""The numbers behind the page of a study: published and measured values side by side, and why they differ.

1. A cell has the mean and the standard deviation over the runs; if one of them failed, it has the reason instead.
2. A cell is beyond if it differs from the published mean by more than the larger of the two standard deviations. Times
   are not judged: the machines differ.
3. The first method is tested against each other one by a paired t-test at 95%, on the runs that both have. The marks
   are the papers': • if the first is better, ◦ if it is worse.
4. Every published value gets one verdict, so the counts of the verdicts add up to the number of values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..compare.comparison import SIGNIFICANCE, paired_t_test
from .store import Grouping, Record, Results
from .study import CAUSES, Reason, Study, StudyMethod, Value

BETTER, WORSE = "•", "◦"
# The verdicts on a published value: measured, with the causes of explained differences among them, or not measured.
MEASURED = ("within", *CAUSES, "unexplained", "undecided")
ABSENT = ("no data", "failed", "not run")
# Published values have four decimals; a difference of exactly a standard deviation must not depend on the last bit.
ROUNDING = 1e-9


class Cell(NamedTuple):
    """A method on a data set by one metric.

    Attributes
    ----------
    data, method, metric : str
        Labels of the study.
    published : Value or None
        The published value, as it is meant.
    printed : Value or None
        The published value as it is printed, if it is meant otherwise.
    measured : Value or None
        Mean and standard deviation over the runs (None for a single one), and the mark of our own test.
    runs : int
        Number of runs.
    absence : str
        Why nothing was measured, in a sentence.
    absent : str
        The same in a word, one of `ABSENT`.
    reason : Reason or None
        Why the values differ, if they do by more than a standard deviation.
    """

    data: str
    method: str
    metric: str
    published: Value | None = None
    printed: Value | None = None
    measured: Value | None = None
    runs: int = 0
    absence: str = ""
    absent: str = ""
    reason: Reason | None = None

    @property
    def difference(self) -> float | None:
        """Measured minus published."""
        return self.measured.mean - self.published.mean if self.measured and self.published else None

    @property
    def tolerance(self) -> float | None:
        """The larger standard deviation of those that are known."""
        stds = [value.std for value in (self.published, self.measured) if value and value.std is not None]
        return max(stds, default=None)

    @property
    def beyond(self) -> bool:
        """Whether the difference is more than a standard deviation; never for times."""
        if self.difference is None or self.tolerance is None or self.metric == "seconds":
            return False
        return abs(self.difference) > self.tolerance + ROUNDING

    @property
    def verdict(self) -> str:
        """The verdict on the published value, one of `MEASURED` and `ABSENT`; "" if there is nothing to judge."""
        if self.published is None or self.metric == "seconds":
            return ""
        if self.measured is None:
            return self.absent
        if self.tolerance is None:
            return "undecided"
        if not self.beyond:
            return "within"
        return self.reason.cause if self.reason else "unexplained"


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


class WinTieLoss(NamedTuple):
    """Number of data sets on which the first method wins, ties and loses against another one.

    Attributes
    ----------
    method : str
        The label of the other method.
    printed : str
        As printed, over all data of the paper; "" if the paper does not print it.
    published : (int, int, int) or None
        By the published marks, over the data sets that were measured; None if the paper marks nothing.
    measured : (int, int, int)
        By our own tests, over the same data sets.
    """

    method: str
    printed: str
    published: tuple[int, int, int] | None
    measured: tuple[int, int, int]


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
    >>> from aucmax.reproduce.store import Record, Results
    >>> from aucmax.reproduce.study_file import read_study
    >>> from aucmax.reproduce.tables import tabulate
    >>> records = [Record("diabetes", "OPAUC", run, metrics={"auc": 0.82 + 0.01 * run}) for run in range(3)]
    >>> table = tabulate(read_study("opauc-table-2"), Results(records, {}, {}, []))
    >>> cell = table.cells["diabetes", "OPAUC", "auc"]
    >>> cell.published.mean, round(cell.measured.mean, 4), cell.runs, cell.verdict
    (0.8309, 0.83, 3, 'within')
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
    return Table(study, results, cells, curves)


def is_borrowed(study: Study, entry: StudyMethod) -> bool:
    """Return whether its values come from another paper: they are of other rows, so they cannot be paired."""
    return bool(entry.same_as) and not entry.same_as[0].startswith(study.paper.lower())


def _cell(study: Study, results: Results, key: tuple[str, str, str], runs: Runs, rivals: Runs) -> Cell:
    data, method, metric = key
    printed = study.published.get(metric, {}).get((data, method))
    doubled = metric == "accuracy" and method in study.doubled_error
    published = _double_error(printed) if printed and doubled else printed
    cell = Cell(*key, published, printed if doubled else None)
    values, failure = _values(runs, metric)
    if not failure and values:
        mark = "" if metric == "seconds" else _mark(values, _values(rivals, metric))
        std = float(np.std(list(values.values()))) if len(values) > 1 else None
        cell = cell._replace(measured=Value(float(np.mean(list(values.values()))), std, mark), runs=len(values))
        return cell._replace(reason=_reason(study, results, cell)) if cell.beyond else cell
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
    return BETTER if differences.mean() > 0 else WORSE


def _reason(study: Study, results: Results, cell: Cell) -> Reason | None:
    """Return the study's reason for a difference, or the choice of the classes if that can explain it."""
    grouping = results.groupings.get(cell.data)
    given = study.reason(cell.data, cell.method)
    if given or grouping is None or cell.metric != "auc" or not study.subjects[cell.data].grouping:
        return given
    assert cell.published is not None  # a cell without it is not beyond
    # Another choice of the classes should change this AUC by as much as it changes the AUC of the exact fit.
    missing, margin = -(cell.difference or 0.0), (cell.tolerance or 0.0) + ROUNDING
    if not grouping.lowest - margin <= missing + grouping.here <= grouping.highest + margin:
        return None
    text = f"The paper's choice of the classes is not known; {describe_grouping(grouping)}"
    return Reason("grouping", text, (cell.data,))


def describe_grouping(grouping: Grouping) -> str:
    """Return a sentence on the AUCs of other choices of the classes.

    Parameters
    ----------
    grouping : Grouping
        These AUCs.

    Returns
    -------
    text : str
        The sentence.

    Examples
    --------
    >>> from aucmax.reproduce.store import Grouping
    >>> from aucmax.reproduce.tables import describe_grouping
    >>> describe_grouping(Grouping("usps", 126, 0.9011, 0.9491, 0.9838, 0.9266))
    'other choices of the classes give 0.9011 to 0.9838 (126 of them, median 0.9491), this one 0.9266.'
    """
    low, median, high, here = (f"{x:.4f}" for x in (grouping.lowest, grouping.median, grouping.highest, grouping.here))
    return (
        f"other choices of the classes give {low} to {high} ({grouping.choices:,} of them, median {median}), "
        f"this one {here}."
    )


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


def count_verdicts(tables: Iterable[Table]) -> Counter[str]:
    """Count the verdicts on published values.

    Parameters
    ----------
    tables : iterable of Table
        One study or several.

    Returns
    -------
    counts : Counter
        By verdict, of `MEASURED` and `ABSENT`; their sum is the number of published values without the times.

    Examples
    --------
    >>> from aucmax.reproduce.store import Results
    >>> from aucmax.reproduce.study_file import read_study
    >>> from aucmax.reproduce.tables import count_verdicts, tabulate
    >>> list(count_verdicts([tabulate(read_study("opauc-table-2"), Results([], {}, {}, []))]))
    ['not run', 'no data']
    """
    verdicts = (cell.verdict for table in tables for cell in table.cells.values())
    return Counter(verdict for verdict in verdicts if verdict)


def count_wins(table: Table) -> list[WinTieLoss]:
    """Count on how many data sets the first method wins, ties and loses, by the first metric.

    Parameters
    ----------
    table : Table
        The study.

    Returns
    -------
    wins : list of WinTieLoss
        Against each other method that has values; times are not tested.

    Examples
    --------
    >>> from aucmax.reproduce.store import Record, Results
    >>> from aucmax.reproduce.study_file import read_study
    >>> from aucmax.reproduce.tables import count_wins, tabulate
    >>> records = [
    ...     Record("diabetes", method, run, metrics={"auc": auc + 0.001 * run})
    ...     for method, auc in (("OPAUC", 0.83), ("OAMseq", 0.82))
    ...     for run in range(3)
    ... ]
    >>> count_wins(tabulate(read_study("opauc-table-2"), Results(records, {}, {}, [])))[0]
    WinTieLoss(method='OAMseq', printed='14/2/0', published=(0, 1, 0), measured=(1, 0, 0))
    """
    study, metric = table.study, table.metrics[0]
    if metric == "seconds":
        return []
    first, *others = study.methods
    marked = any(value.mark for value in study.published.get(metric, {}).values())
    found = []
    for method in others:
        if is_borrowed(study, study.methods[method]):
            continue
        pairs = [(table.cells[data, first, metric], table.cells[data, method, metric]) for data in study.subjects]
        pairs = [pair for pair in pairs if pair[0].measured and pair[1].measured]
        published = _tally(cell.published for rival, cell in pairs if rival.published)
        measured = _tally(cell.measured for _, cell in pairs)
        printed = study.win_tie_loss.get(method, "")
        if pairs or printed:
            found.append(WinTieLoss(method, printed, published if marked and any(published) else None, measured))
    return found


def _tally(values: Iterable[Value | None]) -> tuple[int, int, int]:
    marks = Counter(value.mark for value in values if value)
    return marks[BETTER], marks[""], marks[WORSE]
