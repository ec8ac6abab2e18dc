"""Parquet, read by batches of rows; a position is a number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .columns import EMPTY, TableSource, check_names, find_fault, find_number_fault, require_pyarrow
from .paths import File, is_of_the_disk
from .source import BLOCK_BYTES, Block, Options


class ParquetSource(TableSource):
    """A Parquet file.

    Parameters
    ----------
    file : File
        The file.
    options : Options
        All are used but `header` and `zero_based`.
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
        self._choose({field.name: find_kind(field.type) for field in schema}, options)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        for table, stop in self._read_tables(self._kinds, n_bytes, start):
            yield Block(**self._convert(table), position=stop, n_read=self.size * stop // self._n_rows)

    def _text_tables(self, columns: list[str]) -> Iterable[Any]:
        return (table for table, _ in self._read_tables(dict.fromkeys(columns, "text"), BLOCK_BYTES, 0))

    def _read_tables(self, kinds: dict[str, str], n_bytes: int, start: int) -> Iterator[tuple[Any, int]]:
        """Yield tables of columns of these kinds, without faults, each with the number of rows up to its end."""
        import pyarrow as pa

        width = len(kinds) if self.sparse else max(len(kinds), self.n_features or 0)
        n_rows, stop = max(1, n_bytes // (8 * width)), 0
        with self._open() as parquet:
            for group in range(parquet.num_row_groups):
                if stop + parquet.metadata.row_group(group).num_rows <= start:
                    stop += parquet.metadata.row_group(group).num_rows
                    continue
                for batch in parquet.iter_batches(n_rows, row_groups=[group], columns=list(kinds)):
                    skipped = min(max(0, start - stop), batch.num_rows)
                    stop += batch.num_rows
                    table = self._cast(pa.Table.from_batches([batch.slice(skipped)]), kinds)
                    self._check(table, stop - table.num_rows)
                    if table.num_rows:
                        yield table, stop

    def _cast(self, table: Any, kinds: dict[str, str]) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        types = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
        if self.target in table.column_names and pa.types.is_integer(table.schema.field(self.target).type):
            extremes = pc.min_max(table.column(self.target)).as_py().values()
            if any(value is not None and abs(value) > 2**53 for value in extremes):
                raise ValueError(
                    f"{self.name}, column {self.target!r}: labels beyond 2^53 are rounded: make them text."
                )
        # Not safe: integers beyond 2^53 are rounded, as in every other format.
        return table.cast(pa.schema([(column, types[kinds[column]]) for column in table.column_names]), safe=False)

    def _check(self, table: Any, n_before: int) -> None:
        place = find_fault(table, self.weight)
        if place is not None:
            row, column = place
            found = table.column(column)[row].as_py()
            fault = EMPTY if found in (None, "") else find_number_fault(found, str(found), column == self.weight)
            raise ValueError(f"{self.name}, row {n_before + row + 1}, column {column!r}: {fault}.")

    def _refuse_text(self, columns: list[str]) -> NoReturn:
        column = columns[0]
        raise ValueError(f"{self.name}, column {column!r}: text where numbers are expected: {self._advise(column)}.")

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


def find_kind(dtype: Any) -> str:
    """Return the kind of a column of this type, or the type where it is not accepted."""
    import pyarrow.types as types

    if types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype) or types.is_null(dtype):
        return "number"
    if types.is_boolean(dtype):
        return "bool"
    values = dtype.value_type if types.is_dictionary(dtype) else dtype
    text = types.is_string(values) or types.is_large_string(values) or types.is_string_view(values)
    return "text" if text else str(dtype)
