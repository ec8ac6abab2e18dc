"""Parquet, read by batches of rows; a position is a number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .columns import TableSource, check_names, first_gap, require_pyarrow
from .paths import File, is_of_the_disk
from .source import BLOCK_BYTES, Block, Options


class ParquetSource(TableSource):
    """A Parquet file.

    Parameters
    ----------
    file : File
        The file.
    options : Options
        All but `header` and `zero_based` are looked at.
    """

    format = "parquet"

    def __init__(self, file: File, options: Options) -> None:
        require_pyarrow("Parquet")
        self.name, self.size = file.name, file.size
        self._file = file
        self._may_encode = not options.one_hot and options.encoding is None
        with self._open() as parquet:
            schema, self._n_rows = parquet.schema_arrow, parquet.metadata.num_rows
        check_names(self.name, schema.names)
        if self._n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")
        self._choose({field.name: find_kind(field.type) for field in schema}, options)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        for table, stop in self._read_tables(self._kinds, n_bytes, start):
            yield Block(*self._convert(table), stop, self.size * stop // self._n_rows)

    def _text_tables(self, columns: list[str]) -> Iterable[Any]:
        return (table for table, _ in self._read_tables(dict.fromkeys(columns, "text"), BLOCK_BYTES, 0))

    def _read_tables(self, kinds: dict[str, str], n_bytes: int, start: int) -> Iterator[tuple[Any, int]]:
        """Yield tables of columns of these kinds, without gaps, each with the number of rows up to its end."""
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
        # Not safe: integers beyond 2^53 are rounded, as they are in every other format.
        return table.cast(pa.schema([(column, types[kinds[column]]) for column in table.column_names]), safe=False)

    def _check(self, table: Any, n_before: int) -> None:
        gap = first_gap(table)
        if gap is not None:
            row, column = gap
            found = table.column(column)[row].as_py()
            what = "the cell is empty" if found is None or found == "" else f"{found} is not a finite number"
            raise ValueError(
                f"{self.name}, row {n_before + row + 1}, column {column!r}: {what}: fill it or drop the row."
            )

    def _refuse_text(self, columns: list[str]) -> NoReturn:
        advice = "leave the column out" + (", or encode text with --one-hot" if self._may_encode else "")
        raise ValueError(f"{self.name}, column {columns[0]!r}: text where numbers are expected: {advice}.")

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        with self._file.open() as raw:
            try:
                # Column chunks are read piece by piece: a row group may be larger than the memory.
                with ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False) as parquet:
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
