"""Files of rows, read by blocks: LIBSVM text, CSV, Parquet and ``.npz``; gzip, bzip2 or xz around text.

Memory is a block, whatever the size of the file. Whatever is wrong with a file is said in one sentence, with its name
and the line or row.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePath

from .lines import BOM, HEAD_BYTES, Lines
from .paths import File, find_file
from .source import Block, Encoding, Options, Source

__all__ = ["FORMATS", "Block", "Encoding", "Source", "open_source"]

FORMATS = ("libsvm", "csv", "parquet", "npz")
SUFFIXES = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}
SPREADSHEETS = (".xlsx", ".xls", ".ods")
COMPRESSED = (".gz", ".bz2", ".xz")
ACCEPTED = "LIBSVM text, CSV (both also in gzip, bzip2 or xz), Parquet and .npz are read"
# A label, then index:value pairs or, to be refused where the line is known, something like them.
_LIBSVM_LINE = re.compile(rb"\s*[^\s:,;]+(\s+\w+:[^\s,;]*)*\s*$")
_NUMBER_LINE = re.compile(rb"\s*[-+.\d][-+.\deE]*\s*$")


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    target: str | None = None,
    one_hot: bool = False,
    header: bool = True,
    zero_based: bool = False,
    n_features: int | None = None,
    encoding: Encoding | None = None,
    with_target: bool | None = None,
) -> Source:
    r"""Open a file of rows.

    Parameters
    ----------
    path : path-like or "-"
        The file; "-" is standard input, which is copied to a temporary file.
    format : {"libsvm", "csv", "parquet", "npz"}, default=None
        The format; None goes by the file's name and its first bytes.
    target : str, default=None
        CSV and Parquet: the column of the labels; None takes the only one called target, label, class or y.
    one_hot : bool, default=False
        CSV and Parquet: one-hot encode columns of text, which are refused otherwise.
    header : bool, default=True
        CSV: whether the first line has the names of the columns; without it they are x1, x2, ...
    zero_based : bool, default=False
        LIBSVM: whether indices count from 0.
    n_features : int, default=None
        The number of features that X must have.
    encoding : Encoding, default=None
        CSV and Parquet: the columns to be used, found by their names, and their categories. What it does not know is
        ignored: other columns, and other categories, which become zeros.
    with_target : bool, default=None
        Whether there must be a target (True), or none is read (False); None reads it where it is found without doubt.

    Returns
    -------
    source : Source
        The file, to be read by blocks or at once.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ImportError
        If it is CSV or Parquet and pyarrow is not installed.
    ValueError
        If it is none of the formats, or not what is asked for; faults further on are found when they are read.

    Examples
    --------
    >>> import tempfile
    >>> from aucmax.files import open_source
    >>> with tempfile.NamedTemporaryFile("w", suffix=".libsvm") as file:
    ...     _ = file.write("+1 1:0.5 3:2\n-1 2:1\n")
    ...     file.flush()
    ...     X, y = open_source(file.name).read()
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}.")
    file = find_file(path)
    options = Options(target, one_hot, header, zero_based, n_features, encoding, with_target)
    lines = Lines(file)
    if not lines.head.strip():
        raise ValueError(f"{file.name} is empty.")
    return _make(format or find_format(file, lines), file, lines, options)


def _make(format: str, file: File, lines: Lines, options: Options) -> Source:
    if format in ("parquet", "npz"):
        if lines.compression is not None:
            raise ValueError(f"{file.name}: a {format} file inside of {lines.compression}: unpack it first.")
        if format == "npz":
            from .npz import NpzSource

            return NpzSource(file, options)
        from .parquet import ParquetSource

        return ParquetSource(file, options)
    if lines.head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{file.name} is text in UTF-16: save it in UTF-8.")
    if b"\0" in lines.head:
        raise ValueError(f"{file.name} is not text: {ACCEPTED}; --format says which.")
    if format == "libsvm":
        from .libsvm import LibsvmSource

        return LibsvmSource(lines, options)
    from .delimited import DelimitedSource

    return DelimitedSource(lines, options)


def find_format(file: File, lines: Lines) -> str:
    """Return the format of a file by its name or else its first bytes.

    Raises
    ------
    ValueError
        If it looks like none of them.
    """
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
        return "csv"  # to be refused as UTF-16
    if lines.head.startswith(b"PK\x03\x04"):
        return "npz"
    found = find_text_format(lines.head)
    if found is None:
        raise ValueError(f"{file.name} is of no known format: {ACCEPTED}; --format says which.")
    return found


def find_text_format(head: bytes) -> str | None:
    """Return the format of a text by its first line that is not empty."""
    if b"\0" in head:
        return None
    if len(head) >= HEAD_BYTES - len(BOM):
        head = head[: max(head.rfind(space) for space in b" \t\n,;") + 1]  # what was cut through tells nothing
    lines = (line.partition(b"#")[0] for line in head.splitlines())
    line = next((line for line in lines if line.strip()), b"")
    if (b":" in line and _LIBSVM_LINE.match(line)) or _NUMBER_LINE.match(line):
        return "libsvm"
    return "csv" if re.search(rb"[,;\t]", line) else None
