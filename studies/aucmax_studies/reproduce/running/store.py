"""Results of a study: a file of JSON lines, one for each fit, written as it ends, from which a stopped run resumes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

try:
    import fcntl
except ImportError:  # on Windows nothing keeps two processes from writing to one file
    fcntl = None  # type: ignore[assignment]

from ...common.machine import describe_machine, find_versions
from ..study_file import read_study

if TYPE_CHECKING:
    from ..study import Study


class Record(NamedTuple):
    """One fit.

    Attributes
    ----------
    data, method : str
        Labels of the study.
    run : int
        Number of the split or draw.
    x : float or None
        Value of the curve's parameter; None in tables.
    metrics : mapping of float
        What was measured: "auc", "accuracy", "f1", "jaccard", "seconds", "tuning_seconds".
    parameters : mapping
        The ones that were chosen from the grid.
    failure : str
        Why the fit failed; "" if it did not.
    """

    data: str
    method: str
    run: int
    x: float | None = None
    metrics: Mapping[str, float] = {}
    parameters: Mapping[str, Any] = {}
    failure: str = ""


class Setting(NamedTuple):
    """What a data set was, and how much was measured on it.

    Attributes
    ----------
    data : str
        Label of the study.
    rows, columns : int
        Number of rows and columns that were measured on.
    positive : float
        Share of the positive rows.
    all_rows : int
        Number of rows before they were capped.
    runs : int
        Number of splits or draws.
    candidates : int
        The most candidates of a grid that were tried; larger grids were thinned evenly. 0 for whole grids.
    first_rows : int
        Number of rows that the search for parameters began with; 0 for all of them at once.
    missing : str
        Why the data cannot be had; "" if they can.
    """

    data: str
    rows: int = 0
    columns: int = 0
    positive: float = 0.0
    all_rows: int = 0
    runs: int = 0
    candidates: int = 0
    first_rows: int = 0
    missing: str = ""

    def is_other_than(self, before: Setting) -> bool:
        """Return whether results of the earlier setting must not be mixed with results of this one."""
        return not before.missing and before._replace(runs=0) != self._replace(runs=0)


class Grouping(NamedTuple):
    """Test AUCs of an exact fit for other choices of the positive classes.

    Attributes
    ----------
    data : str
        Label of the study.
    choices : int
        Number of choices that were tried.
    lowest, median, highest : float
        The lowest, median and highest AUC of all of them.
    here : float
        The AUC with the choice of the study.
    """

    data: str
    choices: int
    lowest: float
    median: float
    highest: float
    here: float


class Recipe(NamedTuple):
    """How a method or a data set is measured. Results of an earlier, different recipe do not count.

    Attributes
    ----------
    data, method : str
        Label of the data set or of the method; the other one is "".
    text : str
        Everything that the results depend on.
    """

    data: str
    method: str
    text: str


class Session(NamedTuple):
    """One run of the command that measured something.

    Attributes
    ----------
    date : str
        The day, as YYYY-MM-DD.
    machine : str
        Processor, cores, memory and system.
    versions : mapping of str
        The versions of the packages that matter.
    jobs : int
        Number of processes.
    effort : str
        The name of the effort.
    """

    date: str
    machine: str
    versions: Mapping[str, str]
    jobs: int
    effort: str


class Results(NamedTuple):
    """What a file of results holds. Of two records, settings or groupings of the same thing, the later counts.

    Attributes
    ----------
    records : list of Record
        The fits.
    settings : dict of Setting
        By the label of the data set.
    groupings : dict of Grouping
        By the label of the data set.
    sessions : list of Session
        The runs of the command.
    recipes : dict of str
        By the labels of data set and method; see `Recipe`.
    """

    records: list[Record]
    settings: dict[str, Setting]
    groupings: dict[str, Grouping]
    sessions: list[Session]
    recipes: dict[tuple[str, str], str] = {}  # noqa: RUF012

    def values(self, data: str, method: str, metric: str) -> dict[int, float]:
        """Return what was measured by the number of the run; curves have none."""
        return {
            record.run: record.metrics[metric]
            for record in self.records
            if (record.data, record.method, record.x) == (data, method, None) and metric in record.metrics
        }


_KINDS = {kind.__name__.lower(): kind for kind in (Record, Setting, Grouping, Recipe, Session)}


class Store:
    """A file of results to append to.

    Parameters
    ----------
    path : path
        The file; it is created if there is none.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("ab+")
        if fcntl is not None:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.file.close()
                raise ValueError(f"{path} is being written by another process.") from None
        self._end_torn_line()

    def _end_torn_line(self) -> None:
        """Begin a new line if a killed process left half of one."""
        if self.file.tell():
            self.file.seek(-1, os.SEEK_END)
            if self.file.read(1) != b"\n":
                self.file.write(b"\n")

    def add(self, item: Record | Setting | Grouping | Recipe | Session) -> None:
        """Write a line and flush it."""
        values = {name: value for name, value in item._asdict().items() if value != item._field_defaults.get(name)}
        line = {type(item).__name__.lower(): values}
        self.file.write(json.dumps(line, ensure_ascii=False, default=_plain).encode() + b"\n")
        self.file.flush()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _plain(value: Any) -> Any:
    """Return a NumPy number as a Python number."""
    return value.item()


def read_results(path: Path) -> Results:
    """Return the results in a file; none if there is no file.

    Parameters
    ----------
    path : path
        A file that a `Store` wrote. A line that was cut off is skipped.

    Returns
    -------
    results : Results
        The results.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax_studies.reproduce.running.store import Record, Store, read_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.jsonl")
    ...     with Store(path) as store:
    ...         store.add(Record("diabetes", "OPAUC", 0, metrics={"auc": 0.83}))
    ...     read_results(path).records[0].metrics
    {'auc': 0.83}
    """
    found: dict[str, dict[Any, Any]] = {kind: {} for kind in _KINDS}
    lines = path.read_bytes().splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            ((kind, values),) = json.loads(line).items()
            item = _KINDS[kind](**values)
            key = tuple(getattr(item, name, None) for name in ("data", "method", "run", "x"))
            before = found[kind].get(key, item)
            if isinstance(item, Record):
                dict(item.metrics)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue  # half a line of a killed process: that fit is made again
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"{path}, line {number}, is no result of a study.") from None
        if isinstance(item, Recipe) and item != before:
            _forget(found, item.data, item.method)
        if isinstance(item, Setting) and item.is_other_than(before):
            _forget(found, item.data, "")
        found[kind][number if kind == "session" else key] = item
    return Results(
        list(found["record"].values()),
        {item.data: item for item in found["setting"].values()},
        {item.data: item for item in found["grouping"].values()},
        list(found["session"].values()),
        {(item.data, item.method): item.text for item in found["recipe"].values()},
    )


def _forget(found: dict[str, dict[Any, Any]], of_data: str, of_method: str) -> None:
    """Drop the results of a data set or a method."""
    for kind in ("record", "setting", "grouping"):
        for key in list(found[kind]):
            data, method, *_ = key
            if data == of_data or (of_method and method == of_method):
                del found[kind][key]


def gather_results(folder: Path, study: Study) -> Results:
    """Return the results of a study, with those that it shares with other studies of the same folder.

    Parameters
    ----------
    folder : path
        Where the results of studies are.
    study : Study
        The study.

    Returns
    -------
    results : Results
        Its own, and those of methods that were measured in another study with the same effort. Results
        of an earlier, different recipe are left out.
    """
    results = read_results(results_file(folder, study.name))
    records = _current_records(results, study)
    efforts = {session.effort for session in results.sessions}
    for entry in study.methods.values():
        if entry.same_as:
            other, there = read_study(entry.same_as[0]), entry.same_as[1]
            others = read_results(results_file(folder, other.name))
            if not efforts or efforts == {session.effort for session in others.sessions}:
                found = (r for r in _current_records(others, other) if r.method == there)
                records += [r._replace(method=entry.label) for r in found if r.data in study.subjects]
    return results._replace(records=records)


def _current_records(results: Results, study: Study) -> list[Record]:
    """Return the records without those of an earlier recipe."""
    old = {key for key, text in study.recipes().items() if results.recipes.get(key, text) != text}
    return [r for r in results.records if not {(r.data, ""), ("", r.method)} & old]


def results_file(folder: Path, study: str) -> Path:
    """Return the file of the results of a study."""
    return folder / f"{study}.jsonl"


def new_session(jobs: int, effort: str) -> Session:
    """Return the session that begins now on this machine."""
    return Session(time.strftime("%Y-%m-%d"), describe_machine(), find_versions(), jobs, effort)
