"""Open files of rows: one, or several with the same columns, which are read one after the other as if they were one."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NoReturn, cast

from .._text import ArgumentError
from ..tables.reading import Overrides, Reading
from ..tables.reading.cells import check_thousands
from ..tables.reading.frames import cell_text
from .columns import learn_tables
from .delimited import DelimitedSource
from .libsvm import LibsvmSource
from .lines import BOM, HEAD_BYTES, Lines
from .npz import NpzSource
from .parquet import ParquetSource
from .source import BLOCK_BYTES, Block, File, NoRowsError, Options, Source, find_file

FILE_BITS = 96  # a position is that in a file, below 2^96, plus the number of the file times 2^96
Path = str | os.PathLike[str]
FORMATS = ("libsvm", "csv", "parquet", "npz")
TABLES = ("csv", "parquet")
SUFFIXES = {
    **dict.fromkeys((".libsvm", ".svm", ".svmlight"), "libsvm"),
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".npz": "npz",
}
SPREADSHEETS = (".xlsx", ".xls", ".ods")
COMPRESSED = (".gz", ".bz2", ".xz")
UNKNOWN = (
    "aucmax reads LIBSVM text, CSV (both also in gzip, bzip2 or xz), Parquet and .npz; say with {format=} which it is"
)
# A label, then index:value pairs, or tokens that look like pairs: the reader refuses those, with their line.
_LIBSVM_LINE = re.compile(rb"\s*[^\s:,;]+(\s+\w+:[^\s,;]*)*\s*$")
_NUMBER_LINE = re.compile(rb"\s*[-+.\d][-+.\deE]*\s*$")
OF_TABLES = (TABLES, "for CSV and Parquet")
# The formats that use an option, and the end of the sentence "... is used only ...".
USED_BY: dict[str, tuple[tuple[str, ...], str]] = {
    "zero_based": (("libsvm",), "for LIBSVM text"),
    **dict.fromkeys(("header", "delimiter", "encoding"), (("csv",), "for CSV")),
    **dict.fromkeys(("target", "keep", "drop", "identifiers", "categorical", "numeric", "date"), OF_TABLES),
    **dict.fromkeys(("na_values", "thousands"), OF_TABLES),
}


def open_source(
    path: Path | Sequence[Path],
    *,
    format: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    date: Sequence[str] = (),
    na_values: Sequence[str] = (),
    thousands: str | None = None,
    header: bool = True,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    zero_based: bool = False,
    n_features: int | None = None,
    reading: Reading | None = None,
    with_target: bool | None = None,
    keep: Sequence[str] = (),
    output: str = "features",
) -> Source:
    r"""Open a file of rows, to be read by blocks or at once.

    An OSError says that the file cannot be opened, a ValueError that it has none of the formats or does not suit the
    arguments. Faults in later rows are found when they are read.

    Parameters
    ----------
    path : path-like, "-" or a list of paths
        The file, or several with the same columns, which are read as one. "-" is standard input, which is first copied
        to a temporary file. A pattern such as ``"part-*.parquet"`` stands for all files that match it, in the order of
        their names.
    format : {"libsvm", "csv", "parquet", "npz"}, default=None
        The format; by default, it is found from the name of the file and its first bytes.
    target : str, default=None
        CSV and Parquet: the column that holds the labels; by default, the only one called target, label, class or y.
    weight : str, default=None
        The column (CSV, Parquet) or array (``.npz``) that holds the sample weights; by default, none are read.
    group : str, default=None
        The column (CSV, Parquet) or array (``.npz``) that holds the group of each row; by default, none are read.
        Groups are texts or numbers; CSV and Parquet give them as text.
    drop, identifiers : sequence of str, default=()
        CSV and Parquet: columns to leave out, because the user says so or because they identify rows.
    categorical, numeric, date : sequence of str, default=()
        CSV and Parquet: columns to read as levels, as numbers or as dates; by default, their cells decide.
    na_values : sequence of str, default=()
        CSV and Parquet: further spellings of missing values.
    thousands : str, default=None
        CSV and Parquet: the separator of thousands in numbers; by default, one that a whole column has.
    header : bool, default=True
        CSV: whether the first line holds the names of the columns; without it they are x1, x2, ...
    delimiter : str, default=None
        CSV: what separates cells; by default comma, tab or semicolon, whichever the first line has most of.
    encoding : str, default="utf-8"
        CSV: the encoding of the text, one that does not change ASCII.
    zero_based : bool, default=False
        LIBSVM: whether indices count from 0.
    n_features : int, default=None
        The number of columns that X must have.
    reading : Reading, default=None
        CSV and Parquet: how a model reads its columns, which are found by name. Other columns are ignored. By default,
        it is learnt from the rows, in a pass over them.
    with_target : bool, default=None
        Whether labels are required (True) or not read (False); None reads them where their column is clear.
    keep : sequence of str, default=()
        CSV and Parquet: columns whose cells come with the rows as text, in addition to identifiers.
    output : {"features", "codes", "levels"}, default="features"
        CSV and Parquet: what rows become, see `Reading.convert`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.files import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.libsvm")
    ...     _ = path.write_bytes(b"+1 1:0.5 3:2\n-1 2:1\n")
    ...     rows = open_source(path).read()
    >>> rows.features.toarray(), rows.y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    check_thousands(thousands)
    lists = {"drop": drop, "identifiers": identifiers, "categorical": categorical, "numeric": numeric, "date": date}
    for name, value in (lists | {"na_values": na_values, "keep": keep}).items():
        if isinstance(value, str):
            raise ArgumentError(f"{{{name}=}} takes a list of texts, got the text {{}}.", repr(value))
    chosen: dict[str, Any] = {name: tuple(columns) for name, columns in lists.items()}
    overrides = Overrides(**chosen, na_values=tuple(map(cell_text, na_values)), thousands=thousands)
    options = Options(
        target=target,
        weight=weight,
        group=group,
        header=header,
        delimiter=delimiter,
        encoding=encoding,
        zero_based=zero_based,
        n_features=n_features,
        reading=reading,
        overrides=overrides,
        with_target=with_target,
        keep=tuple(keep),
        output=output,
    )
    found = list_files(path)
    sources = _open_all(found, format, options)
    options = options._replace(target=sources[0].target or target)
    name = sources[0].name if len(found) == 1 else describe_paths(path)
    for source in sources[1:]:
        if source.format != sources[0].format:
            raise ValueError(f"{name}: {source.name} is {source.format}, but {sources[0].name} is {sources[0].format}.")
    if sources[0].format in TABLES and reading is None:
        learn_tables(name, cast(Any, sources), options)
    return sources[0] if len(found) == 1 else SeveralFiles(name, found, sources)


def _open_all(paths: list[str], format: str | None, options: Options) -> list[Source]:
    """Open the files; tables without rows are left out, if they have the same columns as the others."""
    sources: list[Source] = []
    empty: list[NoRowsError] = []
    for path in paths:
        try:
            sources.append(_open(path, format, options))
        except NoRowsError as error:
            empty.append(error)
        else:
            options = options._replace(target=sources[0].target or options.target)
    if not sources:
        raise empty[0]
    for table in empty:
        if sorted(table.columns) != sorted(getattr(sources[0], "_columns", [])):
            raise ValueError(
                f"{table.name} has no rows, and its columns differ from {sources[0].name}: leave it out, or make its "
                "header agree."
            )
    return sources


def find_formats(path: Path | Sequence[Path], format: str | None = None) -> list[str]:
    """Return the formats of files, found as `open_source` does; all of them for pipes, which can be read only once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.files import find_formats
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.tsv")
    ...     _ = path.write_bytes(b"a")
    ...     find_formats(path)
    ['csv']
    """
    if format is not None:
        return [format]
    found = list_files(path)
    if not all(os.path.isfile(name) for name in found):
        return list(FORMATS)
    return [find_format(*_begin(name)) for name in found]


def _begin(path: str) -> tuple[File, Lines]:
    file = find_file(path)
    lines = Lines(file)
    if not lines.head.strip():
        raise ValueError(f"{file.name} is empty.")
    return file, lines


def _open(path: str, format: str | None, options: Options) -> Source:
    file, lines = _begin(path)
    format = format or find_format(file, lines)
    if format in ("parquet", "npz"):
        if lines.compression is not None:
            raise ValueError(f"{file.name}: a {format} file inside {lines.compression}: unpack it first.")
        return NpzSource(file, options) if format == "npz" else ParquetSource(file, options)
    if lines.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{file.name} is text in UTF-16: save it in UTF-8.")
    if b"\0" in lines.head:
        raise ArgumentError(f"{{}} is not text: {UNKNOWN}.", file.name)
    return LibsvmSource(lines, options) if format == "libsvm" else DelimitedSource(lines, options)


def find_format(file: File, lines: Lines) -> str:
    """Return the format of a file, from its name or else its first bytes; raise a ValueError if it has none."""
    path = PurePath(file.name.lower())
    suffix = PurePath(path.stem).suffix if path.suffix in COMPRESSED else path.suffix
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if lines.head.startswith(b"PAR1"):
        return "parquet"
    if suffix in SPREADSHEETS:
        raise ValueError(f"{file.name} is a spreadsheet: save it as CSV.")
    if lines.head.startswith(b"\x93NUMPY"):
        raise ValueError(f"{file.name} holds one array: save X and y together with numpy.savez.")
    if lines.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "csv"  # `_open` refuses UTF-16
    if lines.head.startswith(b"PK\x03\x04"):
        return "npz"
    found = find_text_format(lines.head)
    if found is None:
        raise ArgumentError(f"{{}} has an unknown format: {UNKNOWN}.", file.name)
    return found


def find_text_format(head: bytes) -> str | None:
    """Return the format of text, from its first line that is not empty."""
    if b"\0" in head:
        return None
    if len(head) >= HEAD_BYTES - len(BOM):
        head = head[: max(head.rfind(space) for space in b" \t\n,;") + 1]  # without the token that was cut off
    lines = (line.partition(b"#")[0] for line in head.splitlines())
    line = next((line for line in lines if line.strip()), b"")
    if (b":" in line and _LIBSVM_LINE.match(line)) or _NUMBER_LINE.match(line):
        return "libsvm"
    return "csv" if re.search(rb"[,;\t]", line) else None


def list_files(paths: Path | Sequence[Path]) -> list[str]:
    """Return the files that a path, a pattern or a list of these stands for; a pattern gives them sorted by name."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("there must be a file to read.")
    found = [name for path in given for name in _matching_files(os.fspath(path))]
    if len(found) > 1 and "-" in found:
        raise ValueError("standard input (-) cannot be one of several files.")
    twice = next((name for name, count in Counter(map(os.path.realpath, found)).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"{next(name for name in found if os.path.realpath(name) == twice)} is given twice.")
    return found


def _matching_files(pattern: str) -> list[str]:
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        return [pattern]
    found = sorted(name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))
    if not found:
        raise ValueError(f"No file matches {pattern}.")
    return found


def describe_paths(paths: Path | Sequence[Path]) -> str:
    """Return what messages call the files: the path or pattern, or the first of a list and how many more there are."""
    if isinstance(paths, str | os.PathLike):
        return os.fspath(paths)
    first, *others = [os.fspath(path) for path in paths]
    return f"{first} and {len(others)} more" if others else first


class SeveralFiles(Source):
    """Several files, opened in the same way, as one source; `name` is what messages call them."""

    def __init__(self, name: str, paths: list[str], sources: Sequence[Source]) -> None:
        self.sources, first = list(sources), sources[0]
        self.name, self.paths, self.size = name, paths, sum(source.size for source in sources)
        self.format, self.sparse, self.n_features = first.format, first.sparse, first.n_features
        self.feature_names, self.reading, self.kept = first.feature_names, first.reading, first.kept
        self.target, self.weight, self.group = first.target, first.weight, first.group
        self.labels = first.labels

    def change_output(self, output: str) -> bool:  # noqa: D102
        changed = [source.change_output(output) for source in self.sources]
        first = self.sources[0]
        self.sparse, self.n_features, self.feature_names = first.sparse, first.n_features, first.feature_names
        return any(changed)

    def digest(self) -> str:  # noqa: D102
        return hashlib.sha256("".join(source.digest() for source in self.sources).encode()).hexdigest()

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        number, position = divmod(start, 1 << FILE_BITS)
        n_before = sum(source.size for source in self.sources[:number])
        for k, source in enumerate(self.sources[number:], number):
            for block in source.blocks(n_bytes, position if k == number else 0):
                yield block._replace(position=(k << FILE_BITS) + block.position, n_read=n_before + block.n_read)
            n_before += source.size


def check_options(given: Mapping[str, Any], formats: Collection[str]) -> None:
    """Raise a ValueError if files of these formats do not use an option that was given.

    Examples
    --------
    >>> from aucmax.files.open_source import check_options
    >>> check_options({"zero_based": True}, ["csv"])
    Traceback (most recent call last):
    ...
    aucmax._text.ArgumentError: zero_based= is used only for LIBSVM text: leave it out.
    """
    for name, value in given.items():
        if name in USED_BY and not set(USED_BY[name][0]) & set(formats):
            refuse_unused(name, value, USED_BY[name][1])


def refuse_unused(name: str, value: Any, when: str) -> NoReturn:
    """Raise the ValueError about an option that is not used."""
    raise ArgumentError(f"{{{name}={'False' if value is False else ''}}} is used only {when}: leave it out.")
