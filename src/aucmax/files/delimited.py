"""CSV: a header, then a line of cells for each row, separated by commas, tabs or semicolons.

pyarrow reads chunks of whole lines. It is fast, but says little about what is wrong. A chunk that it refuses, or that
has empty cells or bad numbers, is read again with Python's csv module to find the first cell that is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from .columns import EMPTY, TableSource, check_names, find_fault, find_number_fault, require_pyarrow
from .lines import Chunk, Lines
from .source import BLOCK_BYTES, Block, Options

# The kinds of the columns are found in this much text from the beginning.
KINDS_BYTES = 1 << 20


class DelimitedSource(TableSource):
    """A CSV file.

    Parameters
    ----------
    lines : Lines
        Its text.
    options : Options
        All are used but `zero_based`.
    """

    format = "csv"

    def __init__(self, lines: Lines, options: Options) -> None:
        require_pyarrow("CSV")
        self.name, self.size = lines.file.name, lines.file.size
        self._lines = lines
        self._read_header(options)
        self._choose(self._find_kinds(), options)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        n_rows = 0
        for chunk, table in self._read_chunks(self._kinds, n_bytes, start):
            n_rows += table.num_rows
            yield Block(**self._convert(table), position=chunk.stop, n_read=chunk.n_read)
        if start == 0 and n_rows == 0:
            raise ValueError(f"{self.name} has no rows.")

    # Opening

    def _read_header(self, options: Options) -> None:
        """Set the names of the columns, the delimiter and the position of the first row."""
        chunks = self._lines.chunks(1, quoted=True)
        chunk = next((chunk for chunk in chunks if chunk.text.strip()), None)
        if chunk is None:
            raise ValueError(f"{self.name} is empty.")
        text = self._decode(chunk)
        outside_quotes = re.sub(r'"[^"]*"', "", text)
        self._delimiter = max(",\t;", key=outside_quotes.count)
        (_, cells), *more = self._records(chunk)
        if more:
            self._lines.refuse("its lines end with carriage returns alone: convert the line ends.", chunk.start)
        if not options.header:
            self._names, self._first_row = [f"x{k}" for k in range(1, len(cells) + 1)], 0
            return
        self._names, self._first_row = [cell.strip() for cell in cells], chunk.stop
        if options.encoding is None:
            self._check_header(chunk)
        check_names(self.name, self._names)

    def _check_header(self, chunk: Chunk) -> None:
        if "" in self._names:
            number = self._names.index("") + 1
            self._lines.refuse(f"column {number} has no name: name it or leave it out.", chunk.start)
        counted = [[str(k) for k in range(first, first + len(self._names))] for first in (0, 1)]
        if all(_number(name) is not None for name in self._names) and self._names not in counted:
            self._lines.refuse("found numbers instead of the names of the columns: say header=False.", chunk.start)

    def _find_kinds(self) -> dict[str, str]:
        import pyarrow.types as types

        chunk = next(self._lines.chunks(KINDS_BYTES, self._first_row, quoted=True), None)
        if chunk is None or not chunk.text.strip():
            raise ValueError(f"{self.name} has a header but no rows.")
        kinds = {}
        for field in self._read_csv(chunk, {}).schema:
            number = types.is_integer(field.type) or types.is_floating(field.type) or types.is_null(field.type)
            kinds[field.name] = "number" if number else "bool" if types.is_boolean(field.type) else "text"
        return kinds

    def _text_tables(self, columns: list[str]) -> Iterable[Any]:
        return (table for _, table in self._read_chunks(dict.fromkeys(columns, "text"), BLOCK_BYTES, 0))

    # Reading

    def _read_chunks(self, kinds: dict[str, str], n_bytes: int, start: int) -> Iterator[tuple[Chunk, Any]]:
        for chunk in self._lines.chunks(n_bytes, start or self._first_row, quoted=True):
            table = self._read_csv(chunk, kinds)
            if find_fault(table, self.weight) is not None:
                self._refuse(chunk, kinds)
            if table.num_rows:
                yield chunk, table

    def _read_csv(self, chunk: Chunk, kinds: dict[str, str]) -> Any:
        """Return the columns of these kinds, or all of them if none is given."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        types = {"number": pa.float64(), "bool": pa.bool_(), "text": pa.string()}
        columns = {name: types[kind] for name, kind in kinds.items()}
        has_quotes = b'"' in chunk.text
        if has_quotes and chunk.text.count(b'"') % 2:  # an error, unless the last quote is inside a cell without quotes
            for _ in self._records(chunk, strict=True):
                pass
        for block_size in (1 << 20, min(len(chunk.text) + 1, 2**31 - 1)):  # the second for lines longer than the first
            try:
                return arrow.read_csv(
                    pa.BufferReader(chunk.text),
                    arrow.ReadOptions(column_names=self._names, block_size=block_size),
                    arrow.ParseOptions(delimiter=self._delimiter, newlines_in_values=has_quotes),
                    arrow.ConvertOptions(column_types=columns, include_columns=list(columns)),
                )
            except pa.ArrowInvalid as error:
                reason = str(error).splitlines()[0].rstrip(".")
        self._refuse(chunk, kinds, reason)

    # Errors

    def _refuse_text(self, columns: list[str]) -> NoReturn:
        chunk = next(self._lines.chunks(KINDS_BYTES, self._first_row, quoted=True))
        self._refuse(chunk, dict.fromkeys(columns, "number"))

    def _refuse(self, chunk: Chunk, kinds: dict[str, str], reason: str = "a number in an unusual form") -> NoReturn:
        """Raise a ValueError about the first row or cell that is wrong, or else with pyarrow's reason."""
        for line, cells in self._records(chunk):
            self._check_row(line, cells, kinds)
        raise ValueError(f"{self.name}, line {line} or before it: cannot be read as CSV: {reason}.")

    def _check_row(self, line: int, cells: list[str], kinds: dict[str, str]) -> None:
        if len(cells) != len(self._names):
            raise ValueError(f"{self.name}, line {line}: {len(cells)} cells, but there are {len(self._names)} columns.")
        for column, cell in zip(self._names, cells, strict=True):
            fault = self._find_cell_fault(cell, column, kinds[column]) if column in kinds else None
            if fault:
                raise ValueError(f"{self.name}, line {line}, column {column!r}: {fault}.")

    def _find_cell_fault(self, cell: str, column: str, kind: str) -> str | None:
        if not cell.strip():
            return EMPTY
        if kind == "bool" and cell.strip().lower() not in ("true", "false", "0", "1"):
            return f"found {cell[:40]!r} where true or false is expected: correct it or leave the column out"
        if kind != "number":
            return None
        value = _number(cell)
        if value is None:
            is_decimal = re.fullmatch(r"\s*[-+]?\d*,\d+\s*", cell)
            advice = "write it with a decimal point" if is_decimal else self._advise(column)
            return f"found the text {cell[:40]!r} where a number is expected: {advice}"
        return find_number_fault(value, cell.strip(), column == self.weight)

    def _records(self, chunk: Chunk, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each line that is not empty, as Python's csv module reads them."""
        first_line = line = self._lines.line_number(chunk.start)
        reader = csv.reader(io.StringIO(self._decode(chunk), newline=""), delimiter=self._delimiter, strict=strict)
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = first_line + reader.line_num
        except csv.Error as error:
            raise ValueError(f"{self.name}, line {line}: cannot be read as CSV: {error}.") from None

    def _decode(self, chunk: Chunk) -> str:
        try:
            return chunk.text.decode("utf-8")
        except UnicodeDecodeError as error:
            self._lines.refuse("not UTF-8: save the file in that encoding.", chunk.start, chunk.text[: error.start])


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
