"""CSV: a header, then a line of cells for each row, separated by commas, tabs or semicolons.

pyarrow reads chunks of whole lines: columns of plain numbers as numbers, and the others as text. A chunk that it
refuses is read as text. Python's csv module finds the line of a fault.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from .._text import ArgumentError
from ..tables.reading.cells import find_missing, read_numbers, spellings, trim
from ..tables.reading.table import Reading, check_names, must_be_text
from .columns import TableBlock, TableSource
from .lines import BOM, Chunk, Lines
from .source import NoRowsError, Options

# Columns that hold numbers in this much text from the beginning are read as numbers.
GUESS_BYTES = 1 << 20
DELIMITERS = ",\t;"
MANY_COLUMNS = 1000  # pyarrow keeps a table of all spellings of missing values for each column, 60 kB in all
MOST_COLUMNS = 200_000
SMALL = 1 << 16  # bytes of text that are read before other threads would begin
ASCII = bytes(range(128))


class DelimitedSource(TableSource):
    """A CSV file; all options but `zero_based` are used."""

    format = "csv"

    def __init__(self, lines: Lines, options: Options) -> None:
        self.file, self.name, self.size = lines.file, lines.file.name, lines.file.size
        check_delimiter(options.delimiter)
        self._lines, self._encoding = lines, find_encoding(options.encoding)
        self._read_header(options)
        self._native: set[str] = set()
        self._whole: set[str] = set()
        self._na_values = list(options.overrides.na_values)
        self._choose(self._names, options)
        if options.reading is None:
            numbers = self._guess_numbers()
            if options.overrides.thousands != ".":  # pyarrow reads it as the decimal point
                self._native = {name for name in numbers if not must_be_text(name, options.overrides)}

    def use(self, reading: Reading, label_kind: str | None = None) -> None:  # noqa: D102
        super().use(reading, label_kind)
        self._native = {c.name for c in reading.used if c.kind == "number" and c.form == "1234.5"}
        self._na_values = reading.na_values

    def read_as_text(self, columns: Sequence[str]) -> None:  # noqa: D102
        self._native -= set(columns)

    # Opening

    def _read_header(self, options: Options) -> None:
        """Set the names of the columns, the delimiter and the position of the first row."""
        if options.delimiter is None:
            outside_quotes = re.sub(r'"[^"]*"', "", self._decode(self._first_chunk(DELIMITERS)))
            self._delimiter = max(DELIMITERS, key=outside_quotes.count)
        else:
            self._delimiter = options.delimiter
        chunk = self._first_chunk(self._delimiter)
        if (n_columns := chunk.text.count(self._delimiter.encode()) + 1) > MOST_COLUMNS and b'"' not in chunk.text:
            most = f"CSV is read up to {MOST_COLUMNS:,}: write them as LIBSVM or as a sparse .npz"
            raise ValueError(f"{self.name} has {n_columns:,} columns, and {most}.")
        (_, cells), *more = self._records(chunk)
        if more:
            self._lines.refuse("its lines end with carriage returns alone: convert the line ends.", chunk.start)
        if not options.header:
            self._names, self._first_line = [f"x{k}" for k in range(1, len(cells) + 1)], 0
            return
        self._names = [cell.strip() or f"column {k}" for k, cell in enumerate(cells, 1)]
        if options.reading is not None:  # a model of a frame may have names with blanks around them
            known = [column.name for column in options.reading.columns]
            blank = {name.strip(): name for name in known if name.strip() not in known}
            self._names = [blank.get(name, name) for name in self._names]
        self._first_line = chunk.stop
        counted = [[str(k) for k in range(first, first + len(cells))] for first in (0, 1)]
        if options.reading is None and all(map(_is_number, self._names)) and self._names not in counted:
            what = ArgumentError("found numbers instead of the names of the columns: say {header=False}.")
            self._lines.refuse(what, chunk.start)
        check_names(self.name, self._names)

    def _first_chunk(self, delimiters: str) -> Chunk:
        for chunk in self._lines.chunks(1, 0, delimiters.encode()):
            if chunk.text.strip():
                return chunk
        raise ValueError(f"{self.name} is empty.")

    def _guess_numbers(self) -> list[str]:
        """Return the columns that hold numbers in the first rows; digits with a leading zero may be codes."""
        import pyarrow as pa
        from pyarrow import types

        chunk = next(self._lines.chunks(GUESS_BYTES, self._first_line, self._delimiter.encode()), None)
        if chunk is None or not chunk.text.strip():
            raise NoRowsError(f"{self.name} has a header but no rows.", self.name, self._names)
        schema = self._read_csv(chunk, self._names, None).schema
        whole = [each.name for each in schema if types.is_integer(each.type)]
        texts: Any = self._read_csv(chunk, whole, dict.fromkeys(whole, pa.string())) if whole else None
        self._whole = {name for name in whole if not has_codes(texts.column(name))}
        return [each.name for each in schema if each.name in self._whole or types.is_floating(each.type)]

    # Reading

    def _read(self, columns: Sequence[str], n_bytes: int, start: int) -> Iterator[TableBlock]:
        for chunk in self._lines.chunks(n_bytes, start or self._first_line, self._delimiter.encode()):
            table = self._read_columns(chunk, columns)
            if table.num_rows:
                yield TableBlock(table, chunk.stop, chunk.n_read, partial(self._place, chunk))

    def _read_columns(self, chunk: Chunk, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        native = self._native.intersection(columns).difference(self._roles, self.kept)
        texts = dict.fromkeys(columns, pa.string())
        table = self._read_csv(chunk, columns, texts | dict.fromkeys(native, pa.float64()))
        if table is not None:
            if self.reading is None:
                self._doubt(self._find_codes(chunk, native))
            return table
        table = self._read_csv(chunk, columns, texts)
        if table is None:
            self._refuse(chunk)
        for name in native:
            text = trim(table.column(name))
            missing = find_missing(text, self._na_values)
            values = np.where(missing, np.nan, read_numbers(text, "1234.5"))
            if (np.isfinite(values) | missing).all() and not (name in self._whole and has_codes(text)):
                place = table.column_names.index(name)
                table = table.set_column(place, name, pa.array(values))
            elif self.reading is None:
                self._doubt([name])
        return table

    def _doubt(self, columns: Sequence[str]) -> None:
        self._native -= set(columns)
        self._doubted.update(columns)

    def _find_codes(self, chunk: Chunk, native: Collection[str]) -> list[str]:
        """Return the columns of whole numbers that have leading zeros in a chunk: they may be codes.

        What a column is must not depend on whether its first rows have such cells.
        """
        import pyarrow as pa

        whole = [name for name in self._names if name in self._whole.intersection(native)]
        if not whole or not may_have_codes(chunk.text, self._delimiter):
            return []
        texts: Any = self._read_csv(chunk, whole, dict.fromkeys(whole, pa.string()))
        return [name for name in whole if has_codes(texts.column(name))]

    def _read_csv(self, chunk: Chunk, columns: Sequence[str], types: Any) -> Any:
        """Return these columns as these types, or as pyarrow's if there are none; None if they have others."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        text = self._decode(chunk).encode() if self._encoding != "utf-8" else chunk.text
        if text.startswith(BOM):  # pyarrow takes it for a mark even where it is part of the first cell
            text = BOM + text
        has_quotes, missing = b'"' in text, spellings(self._na_values)
        if len(columns) > MANY_COLUMNS:
            missing = [word for word in missing if word.encode() in text]
        convert = arrow.ConvertOptions(column_types=types, include_columns=list(columns), null_values=missing)
        parse = arrow.ParseOptions(delimiter=self._delimiter, newlines_in_values=has_quotes)
        for block_size in (1 << 20, min(len(text) + 1, 2**31 - 1)):  # the second for lines longer than the first
            read = arrow.ReadOptions(use_threads=len(text) > SMALL, column_names=self._names, block_size=block_size)
            try:
                if len(text) > SMALL:
                    return arrow.read_csv(pa.BufferReader(text), read, parse, convert)
                with arrow.open_csv(pa.BufferReader(text), read, parse, convert) as reader:
                    return reader.read_all()
            except pa.ArrowInvalid as error:
                self._reason = str(error).splitlines()[0].rstrip(".")
        if types is None:
            self._refuse(chunk)
        return None

    # Errors

    def _place(self, chunk: Chunk, row: int) -> str:
        line, _ = next(islice(self._records(chunk), row, None))
        return f"line {line}"

    def _refuse(self, chunk: Chunk) -> NoReturn:
        """Raise a ValueError about the first row that is wrong, or else with pyarrow's reason."""
        for line, cells in self._records(chunk):
            if len(cells) != len(self._names):
                columns = f"there are {len(self._names)} columns"
                raise ValueError(f"{self.name}, line {line}: {len(cells)} cells, but {columns}.")
        raise ValueError(f"{self.name}, line {line} or before it: cannot be read as CSV: {self._reason}.")

    def _records(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each line that is not empty, as Python's csv module reads them."""
        first_line = line = self._lines.line_number(chunk.start)
        reader = csv.reader(io.StringIO(self._decode(chunk), newline=""), delimiter=self._delimiter)
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = first_line + reader.line_num
        except csv.Error as error:
            raise ValueError(f"{self.name}, line {line}: cannot be read as CSV: {error}.") from None

    def _decode(self, chunk: Chunk) -> str:
        try:
            return chunk.text.decode(self._encoding)
        except UnicodeDecodeError as error:
            what = ArgumentError("not UTF-8: save the file in that encoding, or say with {encoding=} which it has.")
            if self._encoding != "utf-8":
                what = ArgumentError("not {}: say with {encoding=} which encoding it has.", self._encoding)
            self._lines.refuse(what, chunk.start, chunk.text[: error.start])


def check_delimiter(delimiter: str | None) -> None:
    """Raise a ValueError if text cannot be split by a delimiter."""
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        accepted = "it must be one ASCII character, neither a quote nor a line end"
        raise ValueError(f"delimiter={delimiter!r} separates no cells: {accepted}.")


def find_encoding(encoding: str) -> str:
    """Return the usual name of an encoding; raise a ValueError if it changes ASCII."""
    try:
        name = codecs.lookup(encoding).name.removesuffix("-sig")  # `Lines` takes care of marks
        keeps_ascii = ASCII.decode(name).encode() == ASCII
    except (LookupError, UnicodeError):
        keeps_ascii = False
    if not keeps_ascii:
        accepted = "it must be one in which ASCII stays as it is, such as utf-8 or latin-1"
        raise ValueError(f"encoding={encoding!r} is not accepted: {accepted}.")
    return name


def has_codes(text: Any) -> bool:
    """Return whether cells of whole numbers have a leading zero, as codes do."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(text, r"^\s*0\d")).as_py())


def may_have_codes(text: bytes, delimiter: str) -> bool:
    """Return whether some cell of a text begins with a zero and then has digits alone, as far as its first three bytes.

    Examples
    --------
    >>> from aucmax.files.delimited import may_have_codes
    >>> [may_have_codes(text, ",") for text in (b"1,05914", b"1,0.5,10059", b"01/05/2024,1", b'1,"05"')]
    [True, False, False, True]
    """
    edge = np.zeros(256, dtype=bool)
    edge[list(b'\r\n" \t' + delimiter.encode())] = True
    cells = np.frombuffer(b"\n" + text + b"\n\n", dtype=np.uint8)
    digit = cells - 48 < 10  # bytes below 48 wrap around
    places = np.flatnonzero((cells == 48)[:-2] & digit[1:-1])
    third = cells[places + 2]
    return bool((edge[cells[places - 1]] & (digit[places + 2] | edge[third])).any())


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
