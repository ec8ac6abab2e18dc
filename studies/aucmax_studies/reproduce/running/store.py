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
    """One fit."""

    data: str  # labels of the study
    method: str
    run: int  # number of the split or draw
    x: float | None = None  # value of the curve's parameter; None in tables
    # what was measured: "auc", "accuracy", "f1", "jaccard", "seconds", "tuning_seconds"
    metrics: Mapping[str, float] = {}
    parameters: Mapping[str, Any] = {}  # the ones that were chosen from the grid
    failure: str = ""  # why the fit failed; "" if it did not


class Setting(NamedTuple):
    """What a data set was, and how much was measured on it."""

    data: str  # label of the study
    rows: int = 0  # number of rows and columns that were measured on
    columns: int = 0
    positive: float = 0.0  # share of the positive rows
    all_rows: int = 0  # number of rows before they were capped
    runs: int = 0  # number of splits or draws
    # the most candidates of a grid that were tried; larger grids were thinned evenly. 0 for whole grids.
    candidates: int = 0
    first_rows: int = 0  # number of rows that the search for parameters began with; 0 for all of them at once
    missing: str = ""  # why the data cannot be had; "" if they can

    def is_other_than(self, before: Setting) -> bool:
        """Return whether results of the earlier setting must not be mixed with results of this one."""
        return not before.missing and before._replace(runs=0) != self._replace(runs=0)


class Grouping(NamedTuple):
    """Test AUCs of an exact fit for other choices of the positive classes."""

    data: str  # label of the study
    choices: int  # number of choices that were tried
    lowest: float  # the lowest, median and highest AUC of all of them
    median: float
    highest: float
    here: float  # the AUC with the choice of the study


class Recipe(NamedTuple):
    """How a method or a data set is measured. Results of an earlier, different recipe do not count."""

    data: str  # label of the data set or of the method; the other one is ""
    method: str
    text: str  # everything that the results depend on


class Session(NamedTuple):
    """One run of the command that measured something."""

    date: str  # the day, as YYYY-MM-DD
    machine: str  # processor, cores, memory and system
    versions: Mapping[str, str]  # the versions of the packages that matter
    jobs: int  # number of processes
    effort: str  # the name of the effort


class Results(NamedTuple):
    """What a file of results holds. Of two records, settings or groupings of the same thing, the later counts."""

    records: list[Record]  # the fits
    settings: dict[str, Setting]  # by the label of the data set
    groupings: dict[str, Grouping]  # by the label of the data set
    sessions: list[Session]  # the runs of the command
    # by the labels of data set and method; see `Recipe`
    recipes: dict[tuple[str, str], str] = {}  # noqa: RUF012

    def values(self, data: str, method: str, metric: str, x: float | None = None) -> dict[int, float]:
        """Return what was measured by the number of the run, at a point of a curve or in a table."""
        return {
            record.run: record.metrics[metric]
            for record in self.records
            if (record.data, record.method, record.x) == (data, method, x) and metric in record.metrics
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
    """Return the results of a study, with those that it shares with other studies of the same folder."""
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
