"""Tables with named columns: which hold features, labels, weights and groups, and how they become arrays.

A column has one of the kinds "number", "bool" and "text", which are read as float64, bool and string columns, or a type
that is not accepted.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from .source import Encoding, Options, Source

TARGETS = ("target", "label", "class", "y")
KINDS = ("number", "bool", "text")
MAX_CATEGORIES = 1000
# X is CSR where one-hot encoding gives more features than this: most of them are zeros.
DENSE_UP_TO = 256
# X is filled column by column, this many rows at a time, so that the rows stay in the cache.
ROWS_IN_CACHE = 1 << 13
EMPTY = "the cell is empty: fill it or drop the row"


class TableSource(Source):
    """A source with named columns.

    A subclass defines `_text_tables` and `_refuse_text`, and calls `_choose` once it knows its columns.
    """

    _kinds: dict[str, str]  # the kind of each column that is read
    _may_encode: bool  # whether one_hot=True would accept columns of text

    @abstractmethod
    def _text_tables(self, columns: list[str]) -> Iterable[Any]:
        """Yield tables of these columns, as text, that together have all rows."""

    @abstractmethod
    def _refuse_text(self, columns: list[str]) -> NoReturn:
        """Raise a ValueError about the first text in these columns, which should hold numbers."""

    def _choose(self, kinds: dict[str, str], options: Options) -> None:
        """Find the columns of features, labels, weights and groups, given the kinds of all columns."""
        known = options.encoding
        self._may_encode = known is None and not options.one_hot
        roles = dict.fromkeys(() if known is None else known.columns, "a feature of the model")
        self.weight, self.group = options.weight, options.group
        for column, role in ((self.weight, "weight"), (self.group, "group")):
            if column is not None:
                check_role(self.name, column, role, kinds, roles)
                roles[column] = f"the {role}"
        target = find_target(self.name, list(kinds), roles, options)
        if options.with_target is not False:
            self.target = target
        columns = [c for c in kinds if c != target and c not in roles] if known is None else known.columns
        self._check_columns(kinds, columns)
        text = [c for c in columns if kinds[c] == "text" and (known is None or c not in known.categories)]
        if text and (known is not None or not options.one_hot):
            self._refuse_text(text)
        if self.weight is not None and kinds[self.weight] == "text":
            self._refuse_text([self.weight])
        self.encoding = known or Encoding(columns, self._find_categories(text))
        self._kinds = {c: "text" if c in self.encoding.categories else kinds[c] for c in self.encoding.columns}
        self._kinds |= {c: kinds[c] for c in (self.target, self.weight) if c is not None}
        if self.group is not None:
            self._kinds[self.group] = "text"  # exact, also for integers beyond 2^53
        self.feature_names = self.encoding.feature_names
        self.n_features = len(self.feature_names)
        self.sparse = bool(self.encoding.categories) and self.n_features > DENSE_UP_TO
        check_width(self.name, self.n_features, options.n_features)

    def _check_columns(self, kinds: dict[str, str], columns: list[str]) -> None:
        for column in columns:
            if column not in kinds:
                raise ValueError(f"{self.name} has no column {column!r}, which the model needs; {listed(kinds)}.")
        for used in [*columns, self.target, self.weight, self.group]:
            if used is not None and kinds[used] not in KINDS:
                raise ValueError(
                    f"{self.name}, column {used!r}: the type {kinds[used]} is not accepted: convert it to numbers or "
                    "leave it out."
                )

    def _find_categories(self, columns: list[str]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {column: set() for column in columns}
        for table in self._text_tables(columns) if columns else ():
            for column, values in found.items():
                values.update(table.column(column).unique().to_pylist())
                if len(values) > MAX_CATEGORIES:
                    raise ValueError(
                        f"{self.name}, column {column!r}: more than {MAX_CATEGORIES:,} different texts, as in a "
                        "column of identifiers: leave it out."
                    )
        return {column: sorted(values) for column, values in found.items()}

    def _convert(self, table: Any) -> dict[str, Any]:
        """Return X, y, weight and group of a table without faults."""
        assert self.encoding is not None
        return {
            "features": csr_features(table, self.encoding) if self.sparse else dense_features(table, self.encoding),
            "y": None if self.target is None else labels(table.column(self.target)),
            "weight": None if self.weight is None else table.column(self.weight).to_numpy().astype(np.float64),
            "group": None if self.group is None else labels(table.column(self.group)),
        }

    def _advise(self, column: str) -> str:
        """Return what to do about text in a column of numbers."""
        encode = self._may_encode and column not in (self.target, self.weight)
        return "correct it or leave the column out" + (", or encode text with one_hot=True" if encode else "")


def check_role(
    name: str, column: str, role: str, columns: Collection[str], roles: Mapping[str, str], what: str = "column"
) -> None:
    """Raise a ValueError if there is no such column (or other `what`), or if it has another role already."""
    if column not in columns:
        raise ValueError(f"{name} has no {what} {column!r} to be the {role}; {listed(columns, what)}.")
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
        raise ValueError(
            f"{name}: {'several columns' if found else 'no column'} called {', '.join(TARGETS[:-1])} or {TARGETS[-1]}: "
            f"name the target with target=; {listed(columns)}."
        )
    return None


def listed(columns: Collection[str], what: str = "column") -> str:
    """Return a list of the first columns for a message."""
    first, rest = list(columns)[:10], len(columns) - 10
    return f"its {what}s are {', '.join(first) or 'none'}" + (f" and {rest} more" if rest > 0 else "")


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise a ValueError if two columns have the same name."""
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise ValueError(f"{name} has two columns called {column!r}: rename one of them.")
        seen.add(column)


def check_width(name: str, found: int, expected: int | None) -> None:
    """Raise a ValueError if there are no features, or not as many as expected."""
    if found == 0:
        raise ValueError(f"{name} has no columns besides the target.")
    if expected is not None and found != expected:
        raise ValueError(f"{name} has {found} features, but {expected} are expected.")


def find_number_fault(value: float, shown: str, is_weight: bool) -> str | None:
    """Return what is wrong with a number, `shown` as the file writes it; None if nothing is."""
    if not math.isfinite(value):
        return f"{shown} is not a finite number: fill it or drop the row"
    return f"{shown} is a negative weight: weights must be 0 or more" if is_weight and value < 0 else None


def require_pyarrow(what: str) -> None:
    """Raise an ImportError that says how to install pyarrow, where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"{what} files are read with pyarrow: pip install 'aucmax[data]'.") from None


# From tables to arrays


def find_fault(table: Any, weight: str | None) -> tuple[int, str] | None:
    """Return row and column of the first cell that is empty, not finite, or negative in the column `weight`."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    faults = []
    for name in table.column_names:
        column = table.column(name)
        if types.is_boolean(column.type):
            good = column.is_valid()
        elif types.is_floating(column.type):
            good = pc.is_finite(column)
            if name == weight:
                good = pc.and_(good, pc.greater_equal(column, 0.0))
        else:
            good = pc.not_equal(column, "")
        row = pc.index(pc.fill_null(good, False), False).as_py()
        if row >= 0:
            faults.append((row, name))
    return min(faults, default=None)


def dense_features(table: Any, encoding: Encoding) -> np.ndarray:
    """Return the features of each row of a table; an unknown category has zeros."""
    X = np.zeros((table.num_rows, len(encoding.feature_names)))
    for rows, columns in _encoded(table, encoding):
        for first, values, codes in columns:
            if codes is None:
                X[rows, first] = values
            else:
                known = np.flatnonzero(codes >= 0)
                X[rows.start + known, first + codes[known]] = 1.0
    return X


def csr_features(table: Any, encoding: Encoding) -> sparse.csr_array:
    """Return what `dense_features` returns, as CSR."""
    n_rows, n_columns = table.num_rows, len(encoding.columns)
    data, indices = np.ones((n_rows, n_columns)), np.empty((n_rows, n_columns), dtype=np.int32)
    for rows, columns in _encoded(table, encoding):
        for k, (first, values, codes) in enumerate(columns):
            if codes is None:
                data[rows, k], indices[rows, k] = values, first
            else:
                data[rows, k], indices[rows, k] = codes >= 0, first + codes
    kept = data != 0
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    X = sparse.csr_array((data[kept], indices[kept], indptr), shape=(n_rows, len(encoding.feature_names)))
    X.has_canonical_format = True  # columns come in the order of their features
    return X


def _encoded(table: Any, encoding: Encoding) -> Iterator[tuple[slice, list[tuple[int, Any, Any]]]]:
    """Yield some rows at a time: for each column, its first feature and its values or the codes of its categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    start = 0
    categories = {column: pa.array(values, pa.string()) for column, values in encoding.categories.items()}
    for batch in table.select(encoding.columns).to_batches(max_chunksize=ROWS_IN_CACHE):
        first, columns = 0, []
        for name in encoding.columns:
            column = batch.column(name)
            if name in categories:
                codes = pc.fill_null(pc.index_in(column, value_set=categories[name]), -1).to_numpy()
                columns.append((first, None, codes))
                first += len(categories[name])
            else:
                columns.append((first, column.to_numpy(zero_copy_only=False), None))
                first += 1
        yield slice(start, start + batch.num_rows), columns
        start += batch.num_rows


def labels(column: Any) -> np.ndarray:
    """Return labels as float64, bool or str."""
    import pyarrow.types as types

    if not types.is_string(column.type):
        return np.array(column.to_numpy())
    coded = column.combine_chunks().dictionary_encode()  # one str for each class, not for each row
    return np.array(coded.dictionary.to_pylist(), dtype=object)[coded.indices.to_numpy()]
