"""What every file of rows offers: its rows by blocks or at once, and an estimate of the memory that they take."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from ..tables.kinds import NOTHING_SAID, Overrides
from ..tables.reading import Reading, Tally
from .paths import File

# The system maps the memory of larger blocks anew each time: at 64 MiB, LIBSVM text is read at half the speed.
BLOCK_BYTES = 8 << 20


class Block(NamedTuple):
    """Consecutive rows of a file.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
        Finite float64 values: a C-ordered array, or canonical CSR with int32 indices if they fit. Codes of a table have
        NaN where a value is missing.
    y : ndarray of shape (n_rows,) or None
        Labels as read: float64, bool, or an object array of str; None where no target is read.
    position : int
        Where the next block begins: the `start` of `Source.blocks` that continues after this block.
    n_read : int
        Bytes of the file on disk that have been read so far.
    weight : ndarray of float64, shape (n_rows,), or None
        Sample weights, finite and not negative; None where no weights are read.
    group : ndarray of shape (n_rows,) or None
        Groups: an object array of str, or numbers as an ``.npz`` file holds them; None where none are read.
    tallies : sequence of Tally
        The missing values and the unseen levels that were met, in formats that name columns.
    kept : sequence of sequences of str
        The cells of each column in `Source.kept`, as text.
    """

    features: Any
    y: np.ndarray | None
    position: int
    n_read: int
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    tallies: Sequence[Tally] = ()
    kept: Sequence[Sequence[str]] = ()


class Options(NamedTuple):
    """The arguments of `open_source` that readers look at; their meaning is documented there."""

    target: str | None = None
    weight: str | None = None
    group: str | None = None
    positive: str | None = None
    header: bool = True
    delimiter: str | None = None
    encoding: str = "utf-8"
    zero_based: bool = False
    n_features: int | None = None
    reading: Reading | None = None
    overrides: Overrides = NOTHING_SAID
    with_target: bool | None = None
    keep: tuple[str, ...] = ()
    output: str = "features"
    with_rates: bool = True


class Source(ABC):
    r"""A file of rows that can be read any number of times.

    Attributes
    ----------
    name : str
        The path as given, or "standard input".
    format : str
        "libsvm", "csv", "parquet" or "npz".
    size : int
        Bytes on disk.
    sparse : bool
        Whether X is CSR.
    feature_names : list of str or None
        Names of the features; None where the format has none.
    n_features : int or None
        Number of columns of X; None where only reading tells.
    target : str or None
        The column that holds the labels, in formats that name columns.
    weight, group : str or None
        The column or array that holds the sample weights, and the one that holds the groups, where they are read.
    reading : Reading or None
        How columns become features, in formats that name columns.
    categorical : list of bool or None
        Which columns hold codes of levels, if rows are read as codes.
    kept : sequence of str
        The columns of a table whose cells come with the rows as text.
    file : File
        Its bytes.
    paths : list of str or None
        The files, if there are several.

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

    format: str
    name: str
    size: int
    sparse: bool = False
    feature_names: list[str] | None = None
    n_features: int | None = None
    target: str | None = None
    weight: str | None = None
    group: str | None = None
    reading: Reading | None = None
    categorical: list[bool] | None = None
    kept: Sequence[str] = ()
    file: File
    paths: list[str] | None = None

    def digest(self) -> str:
        """Return a text that only the same bytes have."""
        with self.file.open() as raw:
            return hashlib.file_digest(cast(BufferedReader, raw), "sha256").hexdigest()

    @abstractmethod
    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:
        """Yield the rows by blocks, in memory that does not grow with the file.

        Parameters
        ----------
        n_bytes : int, default=8 MiB
            About the size of a block: of its text, or of its rows in memory.
        start : int, default=0
            Where to begin: 0, or the position of a block that was read with the same `n_bytes`. The blocks are then
            the same as without the interruption.

        Yields
        ------
        block : Block
            At least one row.
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
        return blocks[-1]._replace(features=features, y=y, weight=weight, group=group)

    def codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of all rows of a table, and the folds of target encoding."""
        raise NotImplementedError(f"{self.name} is no table.")

    def memory(self) -> int:
        """Return an upper estimate of the bytes that `read` takes at its peak, from the first rows and the size."""
        first, *more = islice(self.blocks(), 2)
        columns = (first.y, first.weight, first.group)
        total = n_bytes_of(first.features) + sum(column.nbytes for column in columns if column is not None)
        if more:
            # The rest may hold more rows to the byte, and bzip2 reads ahead: it unpacks 900 kB at a time.
            total = int(1.25 * total * max(1.0, self.size / max(1, first.n_read)))
        # All blocks and the copy that joins them; while one block is parsed, its text, twice, and its columns.
        return 2 * total + 8 * min(total, BLOCK_BYTES)


def n_bytes_of(X: Any) -> int:
    """Return the size of rows in memory."""
    return sum(array.nbytes for array in ((X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)))


def stack(parts: list[Any]) -> Any:
    """Return the rows of all parts, as wide as the widest of them."""
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], width))
    X = sparse.csr_array(sparse.vstack(parts, format="csr"))
    X.has_canonical_format = True
    return X
