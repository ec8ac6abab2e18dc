"""Results of a study, kept as they come: a file of JSON lines, one for each fit, which a stopped run goes on from."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

try:
    import fcntl
except ImportError:  # on Windows two processes are not told apart
    fcntl = None  # type: ignore[assignment]

from .machine import describe_machine, find_versions

if TYPE_CHECKING:
    from .study import Study


class Record(NamedTuple):
    """One fit.

    Attributes
    ----------
    data, method : str
        Labels of the study.
    run : int
        Number of the split or draw.
    x : float or None
        Value of the curve's parameter.
    metrics : mapping of float
        What was measured: "auc", "accuracy", "f1", "jaccard", "seconds", "tuning_seconds".
    parameters : mapping
        Those chosen from the grid.
    failure : str
        Why there are none.
    """

    data: str
    method: str
    run: int
    x: float | None = None
    metrics: Mapping[str, float] = {}
    parameters: Mapping[str, Any] = {}
    failure: str = ""


class Setting(NamedTuple):
    """What a data set was, and how much was done on it.

    Attributes
    ----------
    data : str
        Label of the study.
    rows, columns : int
        Those measured on.
    positive : float
        Share of the positive rows.
    all_rows : int
        Rows before they were capped.
    runs : int
        Number of splits or draws.
    candidates : int
        The most candidates of a grid that were tried, evenly spaced; 0 for whole grids.
    tuning_rows : int
        The most rows that parameters were chosen on; 0 for all.
    missing : str
        Why there are no data.
    """

    data: str
    rows: int = 0
    columns: int = 0
    positive: float = 0.0
    all_rows: int = 0
    runs: int = 0
    candidates: int = 0
    tuning_rows: int = 0
    missing: str = ""

    def is_other_than(self, before: Setting) -> bool:
        """Return whether what was measured by the setting before cannot stand beside what is measured now."""
        return not before.missing and before._replace(runs=0) != self._replace(runs=0)


class Grouping(NamedTuple):
    """What other choices of the positive classes give: test AUCs of an exact fit, `here` with those of the study."""

    data: str
    choices: int
    lowest: float
    median: float
    highest: float
    here: float


class Recipe(NamedTuple):
    """How a method or a data set is measured: what was measured by another recipe before does not count."""

    data: str
    method: str
    text: str


class Session(NamedTuple):
    """A time that the command ran."""

    date: str
    machine: str
    versions: Mapping[str, str]
    jobs: int
    effort: str


class Results(NamedTuple):
    """What a file of results holds; of records, settings and groupings that are there twice, the later."""

    records: list[Record]
    settings: dict[str, Setting]
    groupings: dict[str, Grouping]
    sessions: list[Session]
    recipes: dict[tuple[str, str], str] = {}  # noqa: RUF012


_KINDS = {kind.__name__.lower(): kind for kind in (Record, Setting, Grouping, Recipe, Session)}


class Store:
    """A file of results that is added to.

    Parameters
    ----------
    path : path
        The file; it is made if there is none.
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
        """Begin a new line where a process that was killed left half of one."""
        if self.file.tell():
            self.file.seek(-1, os.SEEK_END)
            if self.file.read(1) != b"\n":
                self.file.write(b"\n")

    def add(self, entry: Record | Setting | Grouping | Recipe | Session) -> None:
        """Write a line, at once."""
        values = {name: value for name, value in entry._asdict().items() if value != entry._field_defaults.get(name)}
        line = {type(entry).__name__.lower(): values}
        self.file.write(json.dumps(line, ensure_ascii=False, default=_plain).encode() + b"\n")
        self.file.flush()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _plain(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's."""
    return value.item()


def read_results(path: Path) -> Results:
    """Return the results that a file holds; none if there is no file.

    Parameters
    ----------
    path : path
        A file that a `Store` wrote. A line that was cut off is left out.

    Returns
    -------
    results : Results
        The results.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.reproduce.store import Record, Store, read_results
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
            entry = _KINDS[kind](**values)
            key = tuple(getattr(entry, name, None) for name in ("data", "method", "run", "x"))
            before = found[kind].get(key, entry)
            if isinstance(entry, Record):
                dict(entry.metrics)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue  # half a line of a process that was killed: that fit is done again
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"{path}, line {number}, is no result of a study.") from None
        if isinstance(entry, Recipe) and entry != before:
            _forget(found, entry.data, entry.method)
        if isinstance(entry, Setting) and entry.is_other_than(before):
            _forget(found, entry.data, "")
        found[kind][number if kind == "session" else key] = entry
    return Results(
        list(found["record"].values()),
        {entry.data: entry for entry in found["setting"].values()},
        {entry.data: entry for entry in found["grouping"].values()},
        list(found["session"].values()),
        {(entry.data, entry.method): entry.text for entry in found["recipe"].values()},
    )


def _forget(found: dict[str, dict[Any, Any]], of_data: str, of_method: str) -> None:
    """Drop what was measured of a data set or a method."""
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
        Its own, and those of contenders that were measured in another study with the same effort. What was measured
        by another recipe than the study has now is left out.
    """
    results = read_results(results_file(folder, study.name))
    old = {key for key, text in study.recipes().items() if results.recipes.get(key, text) != text}
    records = [r for r in results.records if not {(r.data, ""), ("", r.method)} & old]
    efforts = {session.effort for session in results.sessions}
    for contender in study.contenders.values():
        if contender.same_as:
            other, there = contender.same_as
            others = read_results(results_file(folder, other))
            if not efforts or efforts == {session.effort for session in others.sessions}:
                found = (r for r in others.records if r.method == there and r.data in study.subjects)
                records += [r._replace(method=contender.label) for r in found]
    return results._replace(records=records)


def results_file(folder: Path, study: str) -> Path:
    """Return the file of the results of a study."""
    return folder / f"{study}.jsonl"


def new_session(jobs: int, effort: str) -> Session:
    """Return what is known of this machine and the packages, and the date."""
    return Session(time.strftime("%Y-%m-%d"), describe_machine(), find_versions(), jobs, effort)
