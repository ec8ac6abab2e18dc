"""Tables with named columns: how they are read, and the rows that they become.

A table that a model was fitted to is read as then. Any other table is learnt first, in one pass or more: what each
column holds (`aucmax.tables.reading`), and whether its cells can be used.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._text import ArgumentError, listed
from ..tables.reading import Overrides, Reading
from ..tables.reading.cells import read_numbers, tidy_numbers, trim
from ..tables.reading.features import is_sparse
from ..tables.reading.kinds import number_forms
from ..tables.reading.summary import UNITS, ColumnSummary, find_type, native_numbers
from ..tables.reading.table import (
    Tally,
    check_columns,
    check_overrides,
    check_used,
    describe_fault,
    make_reading,
    merge_summaries,
    mixed_columns,
    summarise_table,
)
from .labels import label_value
from .source import BLOCK_BYTES, EMPTY, Block, ColumnProblem, FileProblems, Options, Source, list_problems, refuse_files

TARGETS = ("target", "label", "class", "y")
TRUTH = ("true", "false")
OF_OVERRIDES = ("drop", "identifiers", "categorical", "numeric", "date")  # that name columns
MANY_LABELS = 100  # that are counted, of labels that nobody can use
ROUNDED = 2.0**53  # from here on, doubles are not all integers, and two labels may become one
# Fewer than in columns of features: "-" and "none" may be labels.
GAPS = ("", "na", "n/a", "#n/a", "<na>", "nan", "null")

Fault = tuple[int, str, int]  # the row of the first fault, what it is, and how many there are


class TableBlock(NamedTuple):
    """Consecutive rows of a table."""

    table: Any  # the columns that were asked for
    position: int  # `position` and `n_read` are as in a `Block`
    n_read: int
    place: Callable[[int], str]  # returns what messages call a row of the part: its line, or its number


class TableSource(Source):
    """A source with named columns.

    A subclass defines `_read`, and calls `_choose` once it knows its columns.
    """

    reading: Reading | None = None
    _label_kind: str | None = None

    @abstractmethod
    def _read(self, columns: Sequence[str], n_bytes: int, start: int) -> Iterator[TableBlock]:
        """Yield these columns of the rows, by parts of at least one row.

        A column that was read as numbers and turns out to be text is added to `_doubted`, and is read as text later.
        """

    def read_as_text(self, columns: Sequence[str]) -> None:
        """Read columns as text, whatever their cells look like, until the table is learnt."""

    @property
    def _roles(self) -> list[str]:
        """The columns of labels, weights and groups."""
        return [column for column in (self.target, self.weight, self.group) if column is not None]

    # Opening

    def _choose(self, names: list[str], options: Options) -> None:
        """Find the columns of features, labels, weights and groups, given the names of all columns."""
        known, self._options, self._columns = options.reading, options, names
        self._doubted: set[str] = set()
        roles = {} if known is None else {column.name: "a feature of the model" for column in known.used}
        self.weight, self.group = options.weight, options.group
        for column, role in ((self.weight, "weight"), (self.group, "group")):
            if column is not None:
                check_role(self.name, column, role, names, roles)
                roles[column] = f"the {role}"
        target = find_target(self.name, names, roles, options)
        if options.with_target is not False:
            self.target = target
        identifiers = [] if known is None else [c.name for c in known.columns if c.kind == "identifier"]
        for column in options.keep:
            if column not in names:
                raise ArgumentError(
                    "{} has no column {} for {keep=}; {}.", self.name, repr(column), listed(names, meant=column)
                )
        self.kept = list(dict.fromkeys([*(name for name in identifiers if name in names), *options.keep]))
        self._candidates = [name for name in names if name != target and name not in roles]
        if known is not None:
            check_columns(known, names, self.name)
            self.use(known)
        else:
            given = {name: getattr(options.overrides, name) for name in OF_OVERRIDES}
            check_overrides(self.name, given, names, self._candidates)

    def follow(self, first: TableSource) -> None:
        """Take the columns of the first of several tables."""
        for column in first._candidates:
            if column not in self._columns:
                raise ValueError(
                    f"{self.name} has no column {column!r}, which {first.name} has; {listed(self._columns)}."
                )
        self._candidates = first._candidates

    def use(self, reading: Reading, label_kind: str | None = None) -> None:
        """Read the columns in this way from now on."""
        self.reading, self._label_kind = reading, label_kind
        if self._options.output != "features":
            self.feature_names, self.sparse = reading.part_names, False
        else:
            self.feature_names, self.sparse = reading.feature_names, is_sparse(reading.feature_parts)
        self.n_features = len(self.feature_names)
        check_width(self.name, self.n_features, self._options.n_features)

    def change_output(self, output: str) -> bool:  # noqa: D102
        assert self.reading is not None
        before, self._options = self._options.output, self._options._replace(output=output)
        self.use(self.reading, self._label_kind)
        return before != output

    # Rows

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        assert self.reading is not None
        used = dict.fromkeys([*(column.name for column in self.reading.used), *self._roles, *self.kept])
        for part in self._read(list(used), n_bytes, start):
            codes, tallies, values, problems = self._convert(part, self.reading)
            if problems:
                raise FileProblems(self.name, list_problems(problems))
            features = self.reading.convert(codes, self._options.output)
            kept = [read_texts(part.table.column(column))[0].tolist() for column in self.kept]
            yield Block(features, position=part.position, n_read=part.n_read, tallies=tallies, kept=kept, **values)

    def _convert(
        self, part: TableBlock, reading: Reading
    ) -> tuple[np.ndarray, list[Tally], dict[str, Any], dict[str, ColumnProblem]]:
        """Return the codes of some rows, what was met in them, their labels, weights and groups, and all problems."""
        codes, tallies = reading.codes(part.table, self.name)
        advice = "correct it"
        if self.reading is None:  # it is being learnt
            advice += ", call it a missing value, or read the column as categories or drop it"
        faults: dict[str, Fault] = {
            each.column.name: (each.first, f"{describe_fault(each)}: {advice}", each.n_faults)
            for each in tallies
            if each.n_faults
        }
        if self._label_kind is None and self.target is not None:  # the table was not learnt: the first rows decide
            self._label_kind = find_label_kind(part.table.column(self.target))
        values, others = self._read_roles(part.table, self._label_kind)
        problems = {
            column: ColumnProblem(part.place(row), what, count)
            for column, (row, what, count) in (faults | others).items()
        }
        return codes, tallies, values, problems

    def _read_roles(self, table: Any, label_kind: str | None) -> tuple[dict[str, Any], dict[str, Fault]]:
        """Return labels of a kind, weights and groups of some rows, and the first fault of each column of these."""
        values: dict[str, Any] = dict.fromkeys(("y", "weight", "group"))
        faults: dict[str, Fault] = {}
        readers: list[Any] = [functools.partial(read_labels, kind=label_kind), read_weights, read_texts]
        for role, column, read in zip(values, (self.target, self.weight, self.group), readers, strict=True):
            if column is not None:
                values[role], fault = read(table.column(column))
                faults |= {} if fault is None else {column: fault}
        return values, faults


# Learning


class Learnt(NamedTuple):
    """What a pass over a table finds."""

    summaries: dict[str, ColumnSummary]  # of the columns of features
    label_kind: str | None  # what the labels are; None if there are none
    labels: Counter[Any]  # the number of rows with each label, of a few
    faulty: bool  # whether a label, weight or group cannot be used

    def merge(self, other: Learnt) -> Learnt:
        """Return what both find together."""
        kind, labels = self.label_kind, self.labels + other.labels
        if kind != other.label_kind:
            kind, labels = "text", Counter({str(label_value(label)): n for label, n in labels.items()})
        labels = Counter(dict(labels.most_common(MANY_LABELS)))
        summaries = merge_summaries([self.summaries, other.summaries])
        return Learnt(summaries, kind, labels, self.faulty or other.faulty)


def learn_tables(name: str, sources: Sequence[TableSource], options: Options) -> None:
    """Learn how tables with the same columns are read, and read them so; `name` is what messages call them together."""
    for source in sources[1:]:
        source.follow(sources[0])
    learnt = _learn_all(sources, options.overrides)
    reading = make_reading(learnt.summaries, options.overrides)
    doubtful = []  # columns that may have cells of another form
    for column in reading.used:
        summary = learnt.summaries[column.name]
        forms: Mapping[str, Any] = number_forms(summary) if column.kind == "number" else summary.dates
        n_cells = forms[column.form].n_cells if column.form in forms else 0
        if column.kind in ("number", "date") and n_cells < summary.n_present:
            doubtful.append(column)
    for source in sources:
        source._label_kind, source.labels = learnt.label_kind, dict(learnt.labels)
    if doubtful or learnt.faulty:
        found = {source.name: _find_problems(source, reading._replace(columns=doubtful)) for source in sources}
        refuse_files(name, {file: problems for file, problems in found.items() if problems})
    check_width(name, len(reading.columns), None)
    check_used(reading, name)
    for source in sources:
        source.use(reading, learnt.label_kind)


def _learn_all(sources: Sequence[TableSource], overrides: Overrides) -> Learnt:
    learnt = functools.reduce(Learnt.merge, [_learn(source, overrides) for source in sources])
    mixed = mixed_columns(learnt.summaries)
    if mixed:
        for source in sources:
            source.read_as_text(mixed)
        again = [_pass(source, mixed, overrides, mixed).summaries for source in sources]
        learnt = learnt._replace(summaries={**learnt.summaries, **merge_summaries(again)})
    return learnt


def _learn(source: TableSource, overrides: Overrides) -> Learnt:
    learnt = _pass(source, source._candidates, overrides)
    while source._doubted:
        again, source._doubted = sorted(source._doubted), set()
        learnt = learnt._replace(summaries={**learnt.summaries, **_pass(source, again, overrides).summaries})
    return learnt


def _pass(source: TableSource, columns: Sequence[str], overrides: Overrides, texts: Sequence[str] = ()) -> Learnt:
    found = []
    for part in source._read([*columns, *source._roles], BLOCK_BYTES, 0):
        kind = None if source.target is None else find_label_kind(part.table.column(source.target))
        values, faults = source._read_roles(part.table, kind)
        summaries = summarise_table(part.table.select(columns), overrides, texts, source.name)
        found.append(Learnt(summaries, kind, Counter([] if kind is None else values["y"].tolist()), bool(faults)))
    if not found:
        raise ValueError(f"{source.name} has no rows.")
    return functools.reduce(Learnt.merge, found)


def _find_problems(source: TableSource, reading: Reading) -> dict[str, ColumnProblem]:
    """Return what cannot be used in these columns and in labels, weights and groups, by column."""
    problems: dict[str, ColumnProblem] = {}
    names = [*(column.name for column in reading.columns), *source._roles]
    for part in source._read(names, BLOCK_BYTES, 0):
        for column, problem in source._convert(part, reading)[-1].items():
            first = problems.get(column, problem._replace(n_cells=0))
            problems[column] = first._replace(n_cells=first.n_cells + problem.n_cells)
    return {name: problems[name] for name in names if name in problems}


# The columns of a table that are not features: labels, weights and groups.


def check_role(
    name: str, column: str, role: str, columns: Collection[str], roles: Mapping[str, str], what: str = "column"
) -> None:
    """Raise a ValueError if a column (or other `what`) is missing or has another role already."""
    if column not in columns:
        raise ValueError(f"{name} has no {what} {column!r} to be the {role}; {listed(columns, what, column)}.")
    if column in roles:
        raise ValueError(f"{name}: the {what} {column!r} is {roles[column]}, so it cannot be the {role}.")


def find_target(name: str, columns: list[str], roles: Mapping[str, str], options: Options) -> str | None:
    """Return the column that `options` name or else the only one with the name of a target, if it has no other role."""
    if options.target is not None:
        if options.with_target:
            check_role(name, options.target, "target", columns, roles)
        return options.target if options.target in columns and options.target not in roles else None
    found = [column for column in columns if column.lower() in TARGETS and column not in roles]
    if len(found) == 1:
        return found[0]
    if options.with_target:
        raise ArgumentError(
            f"{{}}: {'several columns' if found else 'no column'} called {', '.join(TARGETS[:-1])} or {TARGETS[-1]}: "
            "name the target with {target=}; {}.",
            *(name, listed(columns)),
        )
    return None


def check_width(name: str, found: int, expected: int | None) -> None:
    """Raise a ValueError if there are no features, or not as many as expected."""
    if found == 0:
        raise ValueError(f"{name} has no columns besides the target.")
    if expected is not None and found != expected:
        raise ValueError(f"{name} has {found} features, but {expected} are expected.")


# Labels


def find_gaps(text: Any) -> np.ndarray:
    """Return which labels, weights or groups are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spelled = pc.is_in(pc.utf8_lower(text), value_set=pa.array(GAPS))
    return pc.or_(pc.is_null(text), spelled).to_numpy(zero_copy_only=False)


def find_label_kind(column: Any) -> str:
    """Return what labels are: "number", "bool" or "text"."""
    import pyarrow as pa

    if find_type(column.type) == "number" or pa.types.is_duration(column.type):
        return "number"
    text = trim(column).unique()
    present = text.filter(pa.array(~find_gaps(text)))
    if not np.isnan(read_numbers(tidy_numbers(present), "1234.5")).any():
        return "number"
    return "bool" if {word.lower() for word in present.to_pylist()} <= set(TRUTH) else "text"


def read_labels(column: Any, kind: str | None) -> tuple[np.ndarray, Fault | None]:
    """Return labels as float64, bool or str, and the first fault among them; times are seconds."""
    import pyarrow as pa

    if pa.types.is_duration(column.type):
        column = pa.array(native_numbers(column.cast(pa.int64())) / UNITS[column.type.unit], from_pandas=True)
    if kind == "number":
        return _read_numbers(column, "label")
    if kind == "text" or find_type(column.type) == "number":
        return read_texts(column)
    words = np.array([str(word).lower() for word in trim(column).to_pylist()])
    values = np.select([words == word for word in TRUTH], [1.0, 0.0], np.nan)
    _, fault = _check(values, column, "truth")
    return values == 1.0, fault


def read_texts(column: Any) -> tuple[np.ndarray, Fault | None]:
    """Return a column as str, and the first empty cell."""
    coded = trim(column).dictionary_encode(null_encoding="encode")  # one str for each text, not for each row
    missing = find_gaps(coded.dictionary)
    places = coded.indices.to_numpy()
    values = np.array(coded.dictionary.to_pylist(), dtype=object)[places]
    rows = np.flatnonzero(missing[places])
    return values, (int(rows[0]), _describe(values[rows[0]], np.nan, "text"), len(rows)) if len(rows) else None


def read_weights(column: Any) -> tuple[np.ndarray, Fault | None]:
    """Return sample weights as float64, and the first that is not a number of 0 or more."""
    import pyarrow as pa

    return _read_numbers(column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column, "weight")


def _read_numbers(column: Any, what: str) -> tuple[np.ndarray, Fault | None]:
    if find_type(column.type) == "number":
        return _check(native_numbers(column), column, what)
    text = trim(column)
    return _check(np.where(find_gaps(text), np.nan, read_numbers(tidy_numbers(text), "1234.5")), column, what)


def _check(values: np.ndarray, cells: Any, what: str) -> tuple[np.ndarray, Fault | None]:
    """Return values, and the first that is not finite, a negative weight, or a label that may be rounded."""
    bad = ~np.isfinite(values)
    if what == "weight":
        bad |= values < 0
    if what == "label":
        bad |= np.abs(values) >= ROUNDED
    if not bad.any():
        return values, None
    row = int(bad.argmax())
    return values, (row, _describe(cells[row].as_py(), float(values[row]), what), int(bad.sum()))


def _describe(cell: Any, value: float, what: str) -> str:
    shown = "" if cell is None else str(cell).strip()
    if value < 0 and what == "weight" and np.isfinite(value):
        return f"{shown} is a negative weight: weights must be 0 or more"
    if np.isfinite(value) and what == "label":
        return f"the label {shown[:40]} is 2^53 or more, and would be rounded: make it text"
    if shown == "":
        return EMPTY
    if shown.lower() in GAPS and shown.lower() != "nan":
        return f"found {shown!r}, a missing value: fill it or drop the row"
    if shown.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        return f"{shown} is not a finite number: fill it or drop the row"
    if what == "truth":
        return f"found {shown[:40]!r} where true or false is expected: correct it"
    return f"found {shown[:40]!r} where a number is expected: correct it"
