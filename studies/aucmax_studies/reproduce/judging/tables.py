"""The numbers behind the page of a study: published and measured values side by side, and a verdict on each.

1. A cell has the mean and the standard deviation over the runs; if one of them failed, it has the reason instead.
2. Its published value gets a verdict (`criterion`) in its row: the published values of one data set by one metric.
   Values that a paper cites from another one are a row of their own. Times are not judged: the machines differ.
3. The first method is tested against each other one by a paired t-test at 95%, on the runs that both have. The marks
   are the papers': • if the first is better, ◦ if it is worse.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from aucmax.papers.registry import plain_name

from ..running.store import Record, Results
from ..study import Reason, Study, StudyMethod, Value
from .criterion import (
    AGREES,
    BETTER,
    TOO_CLOSE,
    UNDECIDABLE,
    WORSE,
    Estimate,
    Judgement,
    estimate,
    find_spread,
    judge,
    paired_change,
)

WINS, LOSES = "•", "◦"
# Why a published value was not measured.
ABSENT = ("no data", "failed", "not run")
FITTED = "our data were made to match it"
NO_RUNS = "the paper does not say of how many runs its deviation is"
NO_STD = "the paper gives no standard deviation"
ONE_RUN = "there is one run here"
ONE_SPLIT = "the paper's methods differ by less than the luck of its one split"
FEWEST_VALUES = 3  # of a parameter, for its least and its largest to be edges of a grid


class Edge(NamedTuple):
    """How often a parameter was chosen at an end of its grid."""

    parameter: str  # its name
    end: str  # "least" or "largest"
    chosen: int  # in how many fits, and of how many
    runs: int

    @property
    def text(self) -> str:
        """The same in words."""
        return f"{self.parameter} at its {self.end} in {self.chosen} of {self.runs}"


class Cell(NamedTuple):
    """A method on a data set by one metric."""

    data: str  # labels of the study
    method: str
    metric: str
    published: Value | None = None  # the published value, as it is meant
    printed: Value | None = None  # the published value as it is printed, if it is meant otherwise
    # mean and standard deviation over the runs (None for a single one), and the mark of our own test
    measured: Value | None = None
    # the median over the runs, which times are compared by: one that something else slowed does not move it
    median: float | None = None
    runs: int = 0  # number of runs
    edges: Sequence[Edge] = ()  # the parameters that more than half of the runs chose at an end of their grid
    absence: str = ""  # why nothing was measured, in a sentence
    absent: str = ""  # the same in a word, one of `ABSENT`
    repeated: bool = False  # whether another study has the same published value. It is counted there.
    # the comparison of the two values; None if there is nothing to compare, or no interval
    judgement: Judgement | None = None
    unjudged: str = ""  # why there is no judgement, though there are two values
    # the share of the other methods of the row whose measured values agree with this published one, among those for
    # which this can be decided
    substituted: float | None = None
    reason: Reason | None = None  # why the value is better or worse, if the study says so

    @property
    def difference(self) -> float | None:
        """Measured minus published."""
        return self.measured.mean - self.published.mean if self.measured and self.published else None

    @property
    def verdict(self) -> str:
        """The verdict on the published value, one of `OUTCOMES` and `ABSENT`; "" if there is nothing to judge."""
        if self.published is None or self.metric == "seconds":
            return ""
        if self.measured is None:
            return self.absent
        return self.judgement.verdict if self.judgement else UNDECIDABLE

    @property
    def differs(self) -> bool:
        """Whether the value is better or worse than published."""
        return self.verdict in (BETTER, WORSE)

    @property
    def why_undecidable(self) -> str:
        """Why the value is not decidable; "" if it is."""
        return self.judgement.why if self.judgement else self.unjudged


class CurvePoint(NamedTuple):
    """A point of a measured curve: the value of its parameter, mean and deviation over the runs, and their number."""

    x: float
    mean: float
    std: float
    runs: int


class MeasuredCurve(NamedTuple):
    """A metric of a method along the parameter of a curve: the points at which no run failed, and why others failed."""

    points: Sequence[CurvePoint]
    failures: Sequence[str]


Key = tuple[str, str, str]


class Table(NamedTuple):
    """A study beside what was measured."""

    study: Study  # the study
    results: Results  # the fits
    # by the labels of data and method, and by metric, "seconds" among them. In a figure these are the methods that do
    # not depend on the parameter.
    cells: Mapping[Key, Cell]
    curves: Mapping[Key, MeasuredCurve]  # the curves of a figure, by the same keys

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

    @property
    def counted(self) -> list[Cell]:
        """The cells that have a published value, without times and values that are counted in another study."""
        return [cell for cell in self.cells.values() if cell.verdict and not cell.repeated]


Runs = Mapping[int, Record]


def tabulate(study: Study, results: Results) -> Table:
    """Put measured values beside the published ones.

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
    cells: dict[Key, Cell] = {}
    curves: dict[Key, MeasuredCurve] = {}
    first = next(iter(study.methods))
    for data in study.subjects:
        rivals = groups.get((data, first), {}).get(None, {})
        for method, entry in study.methods.items():
            along = groups.get((data, method), {})
            for metric in dict.fromkeys((*study.metrics, *study.published, "seconds")):
                key = data, method, metric
                rival = {} if method == first or is_borrowed(study, entry) else rivals
                cells[key] = _cell(study, results, key, along.get(None, {}), rival)
                if study.curve is not None and any(x is not None for x in along):
                    curves[key] = _measured_curve(along, metric, entry.per_value)
    rows: dict[tuple[str, str, bool], list[Cell]] = {}
    for (data, method, metric), cell in cells.items():
        if cell.verdict:
            rows.setdefault((data, metric, is_borrowed(study, study.methods[method])), []).append(cell)
    for row in rows.values():
        cells.update({(cell.data, cell.method, cell.metric): cell for cell in _judge_row(study, row)})
    return Table(study, results, cells, curves)


def is_borrowed(study: Study, entry: StudyMethod) -> bool:
    """Return whether its values come from another paper: they are of other rows, so they cannot be paired."""
    return bool(entry.same_as) and not entry.same_as[0].startswith(study.paper.lower())


# Cells


def _cell(study: Study, results: Results, key: Key, runs: Runs, rivals: Runs) -> Cell:
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
        edges = [edge for edge in find_edges(study, data, method, list(runs.values())) if 2 * edge.chosen > edge.runs]
        return cell._replace(measured=value, median=float(np.median(sample)), runs=len(sample), edges=edges)
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
    found = None if failure else paired_change(values, first)
    if found is None or abs(found[0]) <= found[1]:
        return ""
    return WINS if found[0] > 0 else LOSES


def _measured_curve(along: Mapping[float | None, Runs], metric: str, per_value: int) -> MeasuredCurve:
    """Return the points at which no run failed, and why the others are missing."""
    points, failures = [], []
    for x in sorted(x for x in along if x is not None):
        values, failure = _values(along[x], metric)
        if failure:
            failures.append(f"at {x * per_value:.6g}, {failure}")
        elif values:
            sample = list(values.values())
            points.append(CurvePoint(x * per_value, float(np.mean(sample)), float(np.std(sample)), len(sample)))
    return MeasuredCurve(points, failures)


def find_edges(study: Study, data: str, method: str, records: Sequence[Record]) -> Iterator[Edge]:
    """Yield for each parameter with a grid of three values or more how often it was chosen at an end of the grid."""
    for name, values in study.methods[method].method.grid.items():
        grid = [v for v in study.subjects[data].grid.get(plain_name(name), values) if isinstance(v, int | float)]
        chosen = [r.parameters[plain_name(name)] for r in records if plain_name(name) in r.parameters]
        if len(grid) >= FEWEST_VALUES and chosen:
            for end, extreme in (("least", min), ("largest", max)):
                yield Edge(plain_name(name), end, chosen.count(extreme(grid)), len(chosen))


# Verdicts


def _judge_row(study: Study, row: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells of a row with their judgements, substitutions and reasons."""
    luck = 0.0
    if study.one_split:  # the deviation between splits of the steadiest method: a noisy one does not widen it
        luck = min((cell.measured.std for cell in row if cell.measured and cell.measured.std is not None), default=0.0)
    for cell in row:
        if cell.published is None or cell.measured is None:
            yield cell
            continue
        unjudged = _why_unjudged(study, cell)
        judged = cell._replace(unjudged=unjudged) if unjudged else _judge_cell(study, cell, row, luck)
        yield judged._replace(reason=study.find_reason(cell.data, cell.method)) if judged.differs else judged


def _judge_cell(study: Study, cell: Cell, row: Sequence[Cell], luck: float) -> Cell:
    assert cell.published is not None  # _judge_row has checked it
    published = estimate(cell.published.mean, cell.published.std or 0.0, study.published_runs, luck)
    others = [other for other in row if other is not cell]
    spread = find_spread(published.mean, [other.published.mean for other in others if other.published])
    substitutes = [judge(published, measured, spread) for measured in map(_measured, others) if measured]
    decided = [substitute.verdict == AGREES for substitute in substitutes if substitute.decides]
    own = _measured(cell)
    assert own is not None  # a single run is not judged
    judgement = judge(published, own, spread)
    if luck and judgement.why == TOO_CLOSE:
        judgement = judgement._replace(why=ONE_SPLIT)
    return cell._replace(judgement=judgement, substituted=sum(decided) / len(decided) if decided else None)


def _measured(cell: Cell) -> Estimate | None:
    if cell.measured is None or cell.measured.std is None:
        return None
    return estimate(cell.measured.mean, cell.measured.std, cell.runs)


def _why_unjudged(study: Study, cell: Cell) -> str:
    """Return why two values cannot be compared; "" if they can."""
    assert cell.published is not None
    assert cell.measured is not None
    if any(fitted.method == cell.method and fitted.data in ("", cell.data) for fitted in study.fitted):
        return FITTED
    if not study.published_runs:
        return NO_RUNS
    # A batch algorithm gives the same value in every run on one split, and no deviation is printed for it.
    if cell.published.std is None and not study.one_split:
        return NO_STD
    return ONE_RUN if cell.measured.std is None else ""


# Two methods of a study


class Contrast(NamedTuple):
    """The difference of two methods on a data set."""

    data: str  # label of the data set
    published: float | None  # as published and meant; None if the paper has no figure of one of the two
    mark: str  # the published mark of the second method; "" if it is against another method than the first
    measured: float  # as measured on the same splits, and half the width of its interval at 95%
    margin: float

    @property
    def sign(self) -> int:
        """1 if the first is better, -1 if it is worse, 0 if the interval has both."""
        return 0 if abs(self.measured) <= self.margin else 1 if self.measured > 0 else -1


def contrast(table: Table, first: str, second: str, metric: str = "", x: float | None = None) -> list[Contrast]:
    """Return the differences of two methods on each data set that has both, by paired t-tests.

    Parameters
    ----------
    table : Table
        The study beside what was measured.
    first, second : str
        Labels of the methods. Labels such as "PSAM, standardised" stand for the published "PSAM".
    metric : str, default=""
        The metric; "" for the first of the study.
    x : float, default=None
        The point of a curve.

    Returns
    -------
    contrasts : list of Contrast
        In the order of the data sets, without those that were measured in another way, such as "news20, small
        penalties": their data set is there already. Nor are there, if the second method is of another paper, data whose
        classes were chosen to match this one.
    """
    metric = metric or table.study.metrics[0]
    published = table.study.published.get(metric, {})
    marked = first == next(iter(table.study.methods))  # the marks of a paper are against its own method
    borrowed = is_borrowed(table.study, table.study.methods[second])
    found = []
    for data in table.study.subjects:
        ours, theirs = (table.results.values(data, method, metric, x) for method in (first, second))
        known = [_published(table, data, method, metric) for method in (first, second)]
        again = published and data not in {label for label, _ in published}
        other_classes = borrowed and any(fitted.data == data for fitted in table.study.fitted)
        if not (again or other_classes) and (measured := paired_change(theirs, ours)):
            printed = known[0].mean - known[1].mean if known[0] and known[1] else None
            found.append(Contrast(data, printed, known[1].mark if known[1] and marked else "", *measured))
    return found


def _published(table: Table, data: str, method: str, metric: str) -> Value | None:
    """Return what was published of a method, or of the one that it reads in another way, as it is meant."""
    cells = (table.cells.get((data, label, metric)) for label in (method, method.partition(",")[0]))
    return next((cell.published for cell in cells if cell and cell.published), None)


def count_signs(contrasts: Sequence[Contrast]) -> tuple[int, int, int]:
    """Return on how many data sets the first method wins, ties and loses.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.tables import Contrast, count_signs
    >>> count_signs([Contrast("a", None, "", 0.2, 0.1), Contrast("b", None, "", 0.0, 0.1)])
    (1, 1, 0)
    """
    signs = Counter(found.sign for found in contrasts)
    return signs[1], signs[0], signs[-1]
