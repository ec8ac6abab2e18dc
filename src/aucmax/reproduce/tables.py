"""The numbers behind the page of a study: published and measured figures side by side, and why they differ.

1. A cell has the mean and the standard deviation over the runs; where one of them failed, it has the reason instead.
2. It is beyond where the difference to the published mean is more than the larger of the two standard deviations.
   Times are not judged: the machines differ.
3. The first method is tested against each other one on the runs that both have, by a paired t-test at 95%. The marks
   are the papers': • where the first is better, ◦ where it is worse.
4. Every published figure has one verdict, so that the verdicts add up to the figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..compare.comparison import SIGNIFICANCE, paired_t_test
from .store import Grouping, Record, Results
from .study import CAUSES, Contender, Figure, Reason, Study

BETTER, WORSE = "•", "◦"
# What can become of a published figure: measured, with the causes of differences that have a reason, or not measured.
MEASURED = ("within", *CAUSES, "unexplained", "undecided")
ABSENT = ("no data", "failed", "not run")
# Published figures have four decimals; a difference of exactly a standard deviation must not hang on the last bit.
ROUNDING = 1e-9


class Cell(NamedTuple):
    """A method on a data set by one metric.

    Attributes
    ----------
    data, method, metric : str
        Labels of the study.
    published : Figure or None
        As it is to be read.
    printed : Figure or None
        As it is printed, where it is to be read otherwise.
    measured : Figure or None
        Mean and standard deviation over the runs (None for a single one), and the mark of our own test.
    runs : int
        How many.
    absence : str
        Why nothing was measured: a sentence.
    absent : str
        The same in a word, one of `ABSENT`.
    reason : Reason or None
        Why the figures differ, where they do by more than a standard deviation.
    """

    data: str
    method: str
    metric: str
    published: Figure | None = None
    printed: Figure | None = None
    measured: Figure | None = None
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
        stds = [figure.std for figure in (self.published, self.measured) if figure and figure.std is not None]
        return max(stds, default=None)

    @property
    def beyond(self) -> bool:
        """Whether the difference is more than a standard deviation; never for times."""
        if self.difference is None or self.tolerance is None or self.metric == "seconds":
            return False
        return abs(self.difference) > self.tolerance + ROUNDING

    @property
    def verdict(self) -> str:
        """What became of the published figure, one of `MEASURED` and `ABSENT`; "" where none is to be judged."""
        if self.published is None or self.metric == "seconds":
            return ""
        if self.measured is None:
            return self.absent
        if self.tolerance is None:
            return "undecided"
        if not self.beyond:
            return "within"
        return self.reason.cause if self.reason else "unexplained"


class Point(NamedTuple):
    """A point of a curve: where, mean and standard deviation over the runs, and how many they are."""

    x: float
    mean: float
    std: float
    runs: int


class Line(NamedTuple):
    """A method on a data set along the parameter of a curve: its points, and why there are no others."""

    points: Sequence[Point]
    failures: Sequence[str]


class Wins(NamedTuple):
    """Data sets on which the first method wins, ties and loses against another one.

    Attributes
    ----------
    method : str
        The other one.
    printed : str
        As printed, over all data of the paper; "" where it is not.
    published : (int, int, int) or None
        By the published marks, over the data that `measured` is of; None where the paper marks nothing.
    measured : (int, int, int)
        By our own tests.
    """

    method: str
    printed: str
    published: tuple[int, int, int] | None
    measured: tuple[int, int, int]


class Table(NamedTuple):
    """A study and what was measured.

    Attributes
    ----------
    study : Study
        The study.
    results : Results
        What was measured, fit by fit.
    cells : dict of Cell
        By the labels of data and method, and by metric, "seconds" among them. In a figure, these are the constants.
    lines : dict of Line
        The same for the curves of a figure.
    """

    study: Study
    results: Results
    cells: Mapping[tuple[str, str, str], Cell]
    lines: Mapping[tuple[str, str, str], Line]

    @property
    def metrics(self) -> list[str]:
        """The metrics that a page shows, without the times unless they are all there is."""
        known = dict.fromkeys((*self.study.metrics, *self.study.published))
        return [metric for metric in known if metric != "seconds"] or ["seconds"]

    @property
    def quick(self) -> bool:
        """Whether any of it was measured by a quick run."""
        return any(session.effort == "quick" for session in self.results.sessions)


Runs = Mapping[int, Record]


def tabulate(study: Study, results: Results) -> Table:
    """Put what was measured beside what was published.

    Parameters
    ----------
    study : Study
        The published table or figure.
    results : Results
        What was measured of it, all or a part.

    Returns
    -------
    table : Table
        Its cells and curves.

    Examples
    --------
    >>> from aucmax.reproduce.store import Record, Results
    >>> from aucmax.reproduce.study import read_study
    >>> from aucmax.reproduce.tables import tabulate
    >>> records = [Record("diabetes", "OPAUC", run, metrics={"auc": 0.82 + 0.01 * run}) for run in range(3)]
    >>> table = tabulate(read_study("opauc-table-2"), Results(records, {}, {}, []))
    >>> cell = table.cells["diabetes", "OPAUC", "auc"]
    >>> cell.published.mean, round(cell.measured.mean, 4), cell.runs, cell.verdict
    (0.8309, 0.83, 3, 'within')
    """
    groups: dict[tuple[str, str], dict[float | None, dict[int, Record]]] = {}
    for record in results.records:  # of a fit that was made twice, the last counts
        groups.setdefault((record.data, record.method), {}).setdefault(record.x, {})[record.run] = record
    cells, lines = {}, {}
    metrics = dict.fromkeys((*study.metrics, *study.published, "seconds"))
    first = next(iter(study.contenders))
    for data in study.subjects:
        rivals = groups.get((data, first), {}).get(None, {})
        for method, contender in study.contenders.items():
            along = groups.get((data, method), {})
            borrowed = is_borrowed(study, contender)
            for metric in metrics:
                key = data, method, metric
                rival = {} if method == first or borrowed else rivals
                cells[key] = _cell(study, results, key, along.get(None, {}), rival)
                if study.curve is not None and any(x is not None for x in along):
                    lines[key] = _line(along, metric)
    return Table(study, results, cells, lines)


def is_borrowed(study: Study, contender: Contender) -> bool:
    """Return whether its figures are those of another paper: on other rows, so that there is nothing to pair."""
    return bool(contender.same_as) and not contender.same_as[0].startswith(study.paper.lower())


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
        cell = cell._replace(measured=Figure(float(np.mean(list(values.values()))), std, mark), runs=len(values))
        return cell._replace(reason=_reason(study, results, cell)) if cell.beyond else cell
    missing = study.subjects[data].missing or (results.settings[data].missing if data in results.settings else "")
    if missing:
        return cell._replace(absence=missing, absent="no data")
    if failure:
        return cell._replace(absence=failure, absent="failed")
    return cell._replace(absence="Not run yet.", absent="not run")


def _double_error(figure: Figure) -> Figure:
    """Return an accuracy whose error was halved before it was printed."""
    std = None if figure.std is None else round(2 * figure.std, 6)
    return Figure(round(2 * figure.mean - 1, 6), std, figure.mark)


def _values(runs: Runs, metric: str) -> tuple[dict[int, float], str]:
    """Return a metric of each run that has it, and in a sentence what went wrong in any of them."""
    in_order = sorted(runs.items())  # lest the last bit of a mean hang on which fit ended first
    failures = [run.failure for _, run in in_order if run.failure]
    values = {number: run.metrics[metric] for number, run in in_order if metric in run.metrics}
    failures += [f"{metric} is {value}." for value in values.values() if not math.isfinite(value)]
    return values, f"{len(failures)} of {len(runs)} runs failed: {failures[0]}" if failures else ""


def _mark(values: Mapping[int, float], rivals: tuple[Mapping[int, float], str]) -> str:
    """Return the mark of a method whose rival, the first of the study, has these values on the runs."""
    first, failure = rivals
    common = sorted(first.keys() & values.keys())
    if failure or not common:
        return ""
    differences = np.array([first[run] - values[run] for run in common])
    if paired_t_test(differences) >= SIGNIFICANCE:
        return ""
    return BETTER if differences.mean() > 0 else WORSE


def _reason(study: Study, results: Results, cell: Cell) -> Reason | None:
    """Return the reason that the study gives for a difference, or the choice of the classes if that can explain it."""
    grouping = results.groupings.get(cell.data)
    given = study.reason(cell.data, cell.method)
    if given or grouping is None or cell.metric != "auc" or not study.subjects[cell.data].grouping:
        return given
    assert cell.published is not None  # beyond what, otherwise?
    # What another choice would add to the exact fit of this one, it can be expected to add here.
    missing, margin = -(cell.difference or 0.0), (cell.tolerance or 0.0) + ROUNDING
    if not grouping.lowest - margin <= missing + grouping.here <= grouping.highest + margin:
        return None
    text = f"The paper's choice of the classes is not known; {describe_grouping(grouping)}"
    return Reason("grouping", text, (cell.data,))


def describe_grouping(grouping: Grouping) -> str:
    """Return in a sentence what other choices of the classes give.

    Parameters
    ----------
    grouping : Grouping
        What was measured of them.

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


def _line(along: Mapping[float | None, Runs], metric: str) -> Line:
    """Return the points at which no run failed, and for the others why."""
    points, failures = [], []
    for x in sorted(x for x in along if x is not None):
        values, failure = _values(along[x], metric)
        if failure:
            failures.append(f"at {x:.6g}, {failure}")
        elif values:
            sample = list(values.values())
            points.append(Point(x, float(np.mean(sample)), float(np.std(sample)), len(sample)))
    return Line(points, failures)


def count_verdicts(tables: Iterable[Table]) -> Counter[str]:
    """Count what became of the published figures.

    Parameters
    ----------
    tables : iterable of Table
        One study or several.

    Returns
    -------
    counts : Counter
        By verdict, of `MEASURED` and `ABSENT`; their sum is the number of published figures, times aside.

    Examples
    --------
    >>> from aucmax.reproduce.store import Results
    >>> from aucmax.reproduce.study import read_study
    >>> from aucmax.reproduce.tables import count_verdicts, tabulate
    >>> list(count_verdicts([tabulate(read_study("opauc-table-2"), Results([], {}, {}, []))]))
    ['not run', 'no data']
    """
    verdicts = (cell.verdict for table in tables for cell in table.cells.values())
    return Counter(verdict for verdict in verdicts if verdict)


def count_wins(table: Table) -> list[Wins]:
    """Count on how many data sets the first method wins, ties and loses, by the headline metric.

    Parameters
    ----------
    table : Table
        The study.

    Returns
    -------
    wins : list of Wins
        Against each other method that has figures; times are not tested.

    Examples
    --------
    >>> from aucmax.reproduce.store import Record, Results
    >>> from aucmax.reproduce.study import read_study
    >>> from aucmax.reproduce.tables import count_wins, tabulate
    >>> records = [
    ...     Record("diabetes", method, run, metrics={"auc": auc + 0.001 * run})
    ...     for method, auc in (("OPAUC", 0.83), ("OAMseq", 0.82))
    ...     for run in range(3)
    ... ]
    >>> count_wins(tabulate(read_study("opauc-table-2"), Results(records, {}, {}, [])))[0]
    Wins(method='OAMseq', printed='14/2/0', published=(0, 1, 0), measured=(1, 0, 0))
    """
    study, metric = table.study, table.metrics[0]
    if metric == "seconds":
        return []
    first, *others = study.contenders
    marked = any(figure.mark for figure in study.published.get(metric, {}).values())
    found = []
    for method in others:
        if is_borrowed(study, study.contenders[method]):
            continue
        pairs = [(table.cells[data, first, metric], table.cells[data, method, metric]) for data in study.subjects]
        pairs = [pair for pair in pairs if pair[0].measured and pair[1].measured]
        published = _tally(cell.published for rival, cell in pairs if rival.published)
        measured = _tally(cell.measured for _, cell in pairs)
        printed = study.win_tie_loss.get(method, "")
        if pairs or printed:
            found.append(Wins(method, printed, published if marked and any(published) else None, measured))
    return found


def _tally(figures: Iterable[Figure | None]) -> tuple[int, int, int]:
    marks = Counter(figure.mark for figure in figures if figure)
    return marks[BETTER], marks[""], marks[WORSE]
