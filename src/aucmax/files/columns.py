"""Tables with named columns: which is the target, which are features, and how they become X and y.

A column is of the kind "number", "bool" or "text", or of some type that is not accepted. Tables come with float64, bool
and string columns of these kinds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from .source import Encoding, Options, Source

TARGETS = ("target", "label", "class", "y")
KINDS = ("number", "bool", "text")
MAX_CATEGORIES = 1000
# One-hot features beyond this many are mostly zeros.
DENSE_UP_TO = 256
# A column of X is written with the stride of a row: so many rows stay in the cache until their other columns come.
ROWS_IN_CACHE = 1 << 13


class TableSource(Source):
    """A source with named columns, which chooses among them.

    A subclass calls `_choose` once it knows its columns, and gives `_text_tables` and `_refuse_text`.
    """

    _kinds: dict[str, str]  # of the columns that are read

    @abstractmethod
    def _text_tables(self, columns: list[str]) -> Iterable[Any]:
        """Yield all rows of some columns, as text, by blocks."""

    @abstractmethod
    def _refuse_text(self, columns: list[str]) -> NoReturn:
        """Raise a ValueError about the first text in these columns."""

    def _choose(self, kinds: dict[str, str], options: Options) -> None:
        """Set target, encoding and what follows from them, from the columns and their kinds."""
        known = options.encoding
        target = find_target(self.name, list(kinds), known.columns if known is not None else [], options)
        if options.with_target is not False:
            self.target = target
        columns = [c for c in kinds if c != target] if known is None else known.columns
        self._check_columns(kinds, columns)
        text = [c for c in columns if kinds[c] == "text" and (known is None or c not in known.categories)]
        if text and (known is not None or not options.one_hot):
            self._refuse_text(text)
        self.encoding = known or Encoding(columns, self._find_categories(text))
        self._kinds = {c: "text" if c in self.encoding.categories else kinds[c] for c in self.encoding.columns}
        if self.target is not None:
            self._kinds[self.target] = kinds[self.target]
        self.feature_names = self.encoding.feature_names
        self.n_features = len(self.feature_names)
        self.sparse = bool(self.encoding.categories) and self.n_features > DENSE_UP_TO
        check_width(self.name, self.n_features, options.n_features)

    def _check_columns(self, kinds: dict[str, str], columns: list[str]) -> None:
        for column in columns:
            if column not in kinds:
                raise ValueError(f"{self.name} has no column {column!r}, which the model needs; {listed(kinds)}.")
        for column in [*columns, *([self.target] if self.target is not None else [])]:
            if kinds[column] not in KINDS:
                raise ValueError(
                    f"{self.name}, column {column!r}: the type {kinds[column]} is not accepted: make it numbers or "
                    "leave it out."
                )

    def _find_categories(self, columns: list[str]) -> dict[str, list[str]]:
        found: dict[str, set[str]] = {column: set() for column in columns}
        for table in self._text_tables(columns) if columns else ():
            for column, values in found.items():
                values.update(table.column(column).unique().to_pylist())
                if len(values) > MAX_CATEGORIES:
                    raise ValueError(
                        f"{self.name}, column {column!r}: more than {MAX_CATEGORIES:,} different texts look like an "
                        "identifier: leave the column out."
                    )
        return {column: sorted(values) for column, values in found.items()}

    def _convert(self, table: Any) -> tuple[Any, np.ndarray | None]:
        """Return X and y of a table without gaps."""
        assert self.encoding is not None
        X = csr_features(table, self.encoding) if self.sparse else dense_features(table, self.encoding)
        return X, None if self.target is None else labels(table.column(self.target))


def find_target(name: str, columns: list[str], taken: Collection[str], options: Options) -> str | None:
    """Return the column asked for, or the only one with the name of a target; not one `taken` by the model."""
    if options.target is not None:
        if options.target in columns and options.target not in taken:
            return options.target
        if options.with_target and options.target in taken:
            raise ValueError(f"{name}: the column {options.target!r} is one that the model uses, not the target.")
        if options.with_target:
            raise ValueError(f"{name} has no column {options.target!r} to be the target; {listed(columns)}.")
        return None
    found = [column for column in columns if column.lower() in TARGETS and column not in taken]
    if len(found) == 1:
        return found[0]
    if options.with_target:
        raise ValueError(
            f"{name}: {'several columns' if found else 'no column'} called {', '.join(TARGETS[:-1])} or {TARGETS[-1]}: "
            f"name the target with --target; {listed(columns)}."
        )
    return None


def listed(columns: Collection[str]) -> str:
    """Return a list of the first columns for a message."""
    first, rest = list(columns)[:10], len(columns) - 10
    return f"its columns are {', '.join(first)}" + (f" and {rest} more" if rest > 0 else "")


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


def require_pyarrow(what: str) -> None:
    """Raise an ImportError that says how to get pyarrow, where it is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(f"{what} files are read with pyarrow: pip install 'aucmax[data]'.") from None


# From tables to arrays


def first_gap(table: Any) -> tuple[int, str] | None:
    """Return row and column of the first cell that is empty or not finite."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    gaps = []
    for name in table.column_names:
        column = table.column(name)
        if types.is_boolean(column.type):
            filled = column.is_valid()
        else:
            filled = pc.is_finite(column) if types.is_floating(column.type) else pc.not_equal(column, "")
        row = pc.index(pc.fill_null(filled, False), False).as_py()
        if row >= 0:
            gaps.append((row, name))
    return min(gaps, default=None)


def dense_features(table: Any, encoding: Encoding) -> np.ndarray:
    """Return a row of features for each row of the table; categories that are not known are all zeros."""
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
    """Return the same as `dense_features`, without its zeros."""
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
    """Yield some rows at a time and, for each column, its first feature and its values or its categories' codes."""
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
