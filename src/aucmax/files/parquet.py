"""Parquet, read by batches of rows; a position is a number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .columns import TableBlock, TableSource, check_names, require_pyarrow
from .paths import File, is_of_the_disk
from .source import Options

SMALL = 1 << 16  # bytes of a file that one thread reads as soon as several


class ParquetSource(TableSource):
    """A Parquet file.

    Parameters
    ----------
    file : File
        The file.
    options : Options
        All are used but `header`, `delimiter`, `encoding` and `zero_based`.
    """

    format = "parquet"

    def __init__(self, file: File, options: Options) -> None:
        require_pyarrow("Parquet")
        self.name, self.size = file.name, file.size
        self._file = file
        with self._open() as parquet:
            schema, self._n_rows = parquet.schema_arrow, parquet.metadata.num_rows
        check_names(self.name, schema.names)
        if self._n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        self._choose(list(schema.names), options)

    def _read(self, columns: Sequence[str], n_bytes: int, start: int) -> Iterator[TableBlock]:
        import pyarrow as pa

        width = len(columns) if self.sparse else max(len(columns), self.n_features or 0)
        n_rows, stop = max(1, n_bytes // (8 * width)), 0
        with self._open() as parquet:
            for group in range(parquet.num_row_groups):
                if stop + parquet.metadata.row_group(group).num_rows <= start:
                    stop += parquet.metadata.row_group(group).num_rows
                    continue
                for batch in parquet.iter_batches(n_rows, [group], list(columns), use_threads=self.size > SMALL):
                    skipped = min(max(0, start - stop), batch.num_rows)
                    first, stop = stop + skipped, stop + batch.num_rows
                    table = pa.Table.from_batches([batch.slice(skipped)])
                    self._check_labels(table)
                    if table.num_rows:
                        yield TableBlock(table, first, stop, self.size * stop // self._n_rows, _placing(first))

    def _check_labels(self, table: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.target in table.column_names and pa.types.is_integer(table.schema.field(self.target).type):
            extremes = pc.min_max(table.column(self.target)).as_py().values()
            if any(value is not None and abs(value) > 2**53 for value in extremes):
                raise ValueError(
                    f"{self.name}, column {self.target!r}: labels beyond 2^53 are rounded: make them text."
                )

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        with self._file.open() as raw:
            try:
                # Column chunks are read in pieces, because a row group may be larger than memory. Each column has a
                # buffer of its own: pieces of 64 kB take as long as those of 1 MB.
                with ParquetFile(raw, buffer_size=1 << 16, pre_buffer=False) as parquet:
                    yield parquet
            except (pa.ArrowException, OSError) as error:
                if is_of_the_disk(error):
                    raise
                reason = str(error).splitlines()[0].rstrip(".")
                raise ValueError(f"{self.name} is not a whole Parquet file ({reason}).") from None


def _placing(first: int) -> Any:
    return lambda row: f"row {first + row + 1}"
