"""What all readers share: files that can be opened again, what is wrong with their cells, and the rows that they give.

A `File` is one on disk, or a temporary copy of standard input or of a pipe. A `Source` gives its rows by blocks or at
once, and estimates the memory that they take. `FileProblems` says all at once what is wrong with the cells of a file,
each with its column, place and number of cells.
"""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import os
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from scipy import sparse

from ..tables.reading.kinds import NO_OVERRIDES, Overrides
from ..tables.reading.table import Levels, Reading, Tally

EMPTY = "the cell is empty: fill it or drop the row"
# The system maps the memory of larger blocks anew each time: at 64 MiB, LIBSVM text is read at half the speed.
BLOCK_BYTES = 8 << 20


class Block(NamedTuple):
    """Consecutive rows of a file."""

    # Finite float64 values of shape (n_rows, n_features): C-ordered, or canonical CSR with int32 indices if they fit.
    # Codes of a table have NaN where a value is missing.
    features: Any
    y: np.ndarray | None  # labels as read: float64, bool, or an object array of str; None if no target is read
    position: int  # where the next block begins: the `start` of `Source.blocks` that continues after this block
    n_read: int  # bytes of the file on disk that have been read so far
    weight: np.ndarray | None = None  # float64, finite and not negative
    group: np.ndarray | None = None  # an object array of str, or numbers as an ``.npz`` file holds them
    tallies: Sequence[Tally] = ()  # missing values and unseen levels, in formats that name columns
    kept: Sequence[Sequence[str]] = ()  # the cells of each column in `Source.kept`, as text


class Options(NamedTuple):
    """The arguments of `open_source` that readers look at; their meaning is documented there."""

    target: str | None = None
    weight: str | None = None
    group: str | None = None
    header: bool = True
    delimiter: str | None = None
    encoding: str = "utf-8"
    zero_based: bool = False
    n_features: int | None = None
    reading: Reading | None = None
    overrides: Overrides = NO_OVERRIDES
    with_target: bool | None = None
    keep: tuple[str, ...] = ()
    output: str = "features"


class Source(ABC):
    r"""A file of rows that can be read any number of times.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.files import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.libsvm")
    ...     _ = path.write_bytes(b"+1 1:5\n-1 1:6\n+1 1:7\n")
    ...     source = open_source(path)
    ...     first = next(source.blocks(n_bytes=1))
    ...     rest = list(source.blocks(n_bytes=1, start=first.position))
    >>> first.features.toarray(), [block.y for block in rest]
    (array([[5.]]), [array([-1.]), array([1.])])
    """

    format: str  # "libsvm", "csv", "parquet" or "npz"
    name: str  # the path as given, or "standard input"
    size: int  # bytes on disk
    sparse: bool = False  # whether X is CSR
    feature_names: list[str] | None = None  # None if the format has none
    n_features: int | None = None  # None if only reading the file shows it
    target: str | None = None  # the column that holds the labels, in formats that name columns
    weight: str | None = None  # the column or array that holds the sample weights, if they are read
    group: str | None = None  # the one that holds the groups
    labels: Mapping[Any, int] = {}
    reading: Reading | None = None  # how columns become features, in formats that name columns
    kept: Sequence[str] = ()  # the columns of a table whose cells come with the rows as text
    file: File  # its bytes
    paths: list[str] | None = None  # the files, if there are several

    def digest(self) -> str:
        """Return a text that only the same bytes have."""
        with self.file.open() as raw:
            return hashlib.file_digest(cast(BufferedReader, raw), "sha256").hexdigest()

    @abstractmethod
    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:
        """Yield the rows by blocks of at least one row, in memory that does not grow with the file.

        `n_bytes` is about the size of a block: of its text, or of its rows in memory. `start` is where to begin: 0, or
        the position of a block that was read with the same `n_bytes`, so that the blocks are as without interruption.
        """

    def read(self, on_block: Callable[[Block], None] = lambda block: None) -> Block:
        """Return all rows as one block; `on_block` is called with each block on the way."""
        blocks = []
        for block in self.blocks():
            blocks.append(block)
            on_block(block)
        if len(blocks) == 1:
            return blocks[0]
        parts = [(block.y, block.weight, block.group) for block in blocks]
        y, weight, group = (None if each[0] is None else np.concatenate(each) for each in zip(*parts, strict=True))
        features = stack([block.features for block in blocks])
        kept = [list(itertools.chain(*cells)) for cells in zip(*(block.kept for block in blocks), strict=True)]
        return blocks[-1]._replace(features=features, y=y, weight=weight, group=group, kept=kept)

    def change_output(self, output: str) -> bool:
        """Change what the rows of a table become, and return whether it was something else; others have numbers."""
        return False

    def memory(self) -> int:
        """Return an upper estimate of the bytes that `read` takes at its peak, from the first rows and the size."""
        first, *more = itertools.islice(self.blocks(), 2)
        X = first.features
        arrays = [*((X.data, X.indices, X.indptr) if sparse.issparse(X) else [X]), first.y, first.weight, first.group]
        total = sum(array.nbytes for array in arrays if array is not None)
        if more:
            # The rest may hold more rows to the byte, and bzip2 reads ahead: it unpacks 900 kB at a time.
            total = int(1.25 * total * max(1.0, self.size / max(1, first.n_read)))
        # All blocks and the copy that joins them; while one block is parsed, its text, twice, and its columns.
        return 2 * total + 8 * min(total, BLOCK_BYTES)


def stack(parts: list[Any]) -> Any:
    """Return the rows of all parts, as wide as the widest of them."""
    if isinstance(parts[0], Levels):
        return Levels.of(np.concatenate(parts), parts[0].reading)
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], width))
    X = sparse.csr_array(sparse.vstack(parts, format="csr"))
    X.has_canonical_format = True
    return X


def is_of_the_disk(error: Exception) -> bool:
    """Return whether the disk caused an error, not the content of a file, which can only cause invalid seeks."""
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


class File(NamedTuple):
    """A file of bytes."""

    name: str  # for messages
    size: int  # in bytes
    open: Callable[[], BinaryIO]  # opens the file at its beginning, any number of times


def find_file(path: str | os.PathLike[str]) -> File:
    """Return the file at `path`, where "-" is standard input; raise an OSError if it cannot be read."""
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed.")
        return spool(sys.stdin.buffer, "standard input")
    if os.path.isdir(name):  # Windows would say that permission is denied
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    with open(name, "rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            return spool(file, name)
    return File(name, status.st_size, lambda: open(name, "rb"))


def spool(stream: BinaryIO, name: str) -> File:
    """Copy a stream that can be read only once to a temporary file, which is removed when nothing refers to it."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        shutil.copyfileobj(stream, copy)
        copy.flush()
    except OSError as error:
        where = f"{tempfile.gettempdir()} (where {name} is copied; TMPDIR names another folder)"
        raise OSError(error.errno, error.strerror, where) from error
    lock = threading.Lock()

    def open_copy() -> BinaryIO:
        return cast(BinaryIO, io.BufferedReader(_View(copy, lock)))

    weakref.finalize(open_copy, copy.close)
    return File(name, copy.tell(), open_copy)


class _View(io.RawIOBase):
    """One reader of a file that several readers share; each has its own position."""

    def __init__(self, file: Any, lock: threading.Lock) -> None:
        self._file, self._lock, self._position = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with self._lock:
            origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.seek(0, os.SEEK_END)}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._position)
            n_read = int(self._file.readinto(buffer))
        self._position += n_read
        return n_read


class ColumnProblem(NamedTuple):
    """Cells of a column that cannot be used."""

    place: str  # the line or row of the first cell
    what: str  # what it is, and what to do
    n_cells: int


class NoRowsError(ValueError):
    """A table has columns but no rows; the message is for a table that is the only one."""

    def __init__(self, message: str, name: str, columns: list[str]) -> None:
        super().__init__(message)
        self.name, self.columns = name, columns


class FileProblems(ValueError):
    """An error about cells of one or more files; `lines` has a line for each column of a file, `where` counts them."""

    def __init__(self, name: str, lines: list[str], n_files: int = 1) -> None:
        self.lines, self.name = lines, name
        self.where = f"{len(lines)} columns" + (f" of {n_files} files" if n_files > 1 else "")
        what = f", {lines[0]}" if len(lines) == 1 else f" has problems in {self.where}: {'; '.join(lines)}"
        super().__init__(f"{name}{what}.")


def refuse_files(name: str, problems: Mapping[str, Mapping[str, ColumnProblem]]) -> None:
    """Raise a FileProblems error about columns of all files that have problems, if any has."""
    lines = [f"{file}, {line}" for file, each in problems.items() for line in list_problems(each)]
    if len(problems) == 1:
        ((name, each),) = problems.items()
        raise FileProblems(name, list_problems(each))
    if lines:
        raise FileProblems(name, lines, len(problems))


def list_problems(problems: Mapping[str, ColumnProblem]) -> list[str]:
    """Return a line for each column."""
    lines = []
    for column, (place, what, n_cells) in problems.items():
        more = f" ({n_cells:,} such cells in all)" if n_cells > 1 else ""
        lines.append(f"{place}, column {column!r}: {what}{more}")
    return lines
