"""Parquet, read by batches of rows; a position is a number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..tables.reading.cells import trim
from ..tables.reading.summary import find_type
from ..tables.reading.table import check_names
from .columns import TableBlock, TableSource
from .source import File, NoRowsError, Options, is_of_the_disk

SMALL = 1 << 16  # bytes of a file that one thread reads as soon as several


class ParquetSource(TableSource):
    """A Parquet file; all options but `header`, `delimiter`, `encoding` and `zero_based` are used."""

    format = "parquet"

    def __init__(self, file: File, options: Options) -> None:
        self.file, self.name, self.size = file, file.name, file.size
        with self._open() as parquet:
            schema, self._n_rows = parquet.schema_arrow, parquet.metadata.num_rows
        register_periods(schema)
        check_names(self.name, schema.names)
        if self._n_rows == 0:
            raise NoRowsError(f"{self.name} has no rows.", self.name, list(schema.names))
        self._choose(list(schema.names), options)

    def _read(self, columns: Sequence[str], n_bytes: int, start: int) -> Iterator[TableBlock]:
        import pyarrow as pa

        width = len(columns) if self.sparse else max(len(columns), self.n_features or 0)
        n_rows, stop = max(1, n_bytes // (8 * width)), 0
        with self._open(columns) as parquet:
            for group in range(parquet.num_row_groups):
                if stop + parquet.metadata.row_group(group).num_rows <= start:
                    stop += parquet.metadata.row_group(group).num_rows
                    continue
                for batch in parquet.iter_batches(n_rows, [group], list(columns), use_threads=self.size > SMALL):
                    skipped = min(max(0, start - stop), batch.num_rows)
                    first, stop = stop + skipped, stop + batch.num_rows
                    table = pa.Table.from_batches([batch.slice(skipped)])
                    self._check_cells(table)
                    if table.num_rows:
                        yield TableBlock(table, stop, self.size * stop // self._n_rows, _placing(first))

    def _check_cells(self, table: Any) -> None:
        """Raise a ValueError if cells are not what their column says: text that is not UTF-8, codes out of range.

        Labels, weights, groups and columns to be kept may be of any type that has a text, such as bytes.
        """
        import pyarrow as pa

        for name, column in zip(table.column_names, table.columns, strict=True):
            try:
                column.validate(full=True)
                if name in [*self._roles, *self.kept] and find_type(column.type) not in ("number", "date", "text"):
                    trim(column)
            except NotImplementedError:
                what = f"its type {str(column.type)[:60]} has no text: make it numbers or text"
                raise ValueError(f"{self.name}, column {name!r}: {what}.") from None
            except pa.ArrowException as error:
                raise ValueError(f"{self.name}, column {name!r}: {_describe(error)}.") from None

    @contextmanager
    def _open(self, columns: Sequence[str] = ()) -> Iterator[Any]:
        """Open the file; an error names the column that cannot be read."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        with self.file.open() as raw:
            try:
                # Column chunks are read in pieces, because a row group may be larger than memory. Each column has a
                # buffer of its own: pieces of 64 kB take as long as pieces of 1 MB.
                with ParquetFile(raw, buffer_size=1 << 16, pre_buffer=False) as parquet:
                    yield parquet
            except (pa.ArrowException, OSError, LookupError, UnicodeDecodeError) as error:
                if is_of_the_disk(error):
                    raise
                damaged = self._find_damaged(columns)
                if damaged is not None:
                    raise ValueError(f"{self.name}, column {damaged!r}: {_describe(error)}.") from None
                raise ValueError(f"{self.name} is not a whole Parquet file ({_reason(error)}).") from None

    def _find_damaged(self, columns: Sequence[str]) -> str | None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        for name in columns:
            with self.file.open() as raw, ParquetFile(raw, buffer_size=1 << 16, pre_buffer=False) as parquet:
                try:
                    for _ in parquet.iter_batches(columns=[name], use_threads=False):
                        pass
                except (pa.ArrowException, OSError, LookupError, UnicodeDecodeError):
                    return name
        return None


def register_periods(schema: Any) -> None:
    """Make pyarrow read columns of periods as such: it takes them for integers as long as pandas has made none."""
    if any((field.metadata or {}).get(b"ARROW:extension:name") == b"pandas.period" for field in schema):
        import pandas as pd
        import pyarrow as pa

        pa.array(pd.period_range("2000-01-01", periods=1))


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "names in it are not UTF-8"
    return str(error).splitlines()[0].rstrip(".")


def _describe(error: Exception) -> str:
    if "UTF8" in str(error):
        return "some of its text is not UTF-8: write the file again with text in that encoding"
    return f"it is damaged ({_reason(error)})"


def _placing(first: int) -> Any:
    return lambda row: f"row {first + row + 1}"
