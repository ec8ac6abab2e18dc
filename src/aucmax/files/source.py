"""What every file of rows offers: blocks in a fixed order, all rows at once, and what they would take in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# Larger blocks are mapped anew each time: at 64 MiB, LIBSVM text is read at half the speed.
BLOCK_BYTES = 8 << 20


class Block(NamedTuple):
    """Some consecutive rows of a file.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
        Finite float64 values: dense in row order, or canonical CSR with int32 indices if they fit.
    y : ndarray of shape (n_rows,) or None
        Labels as read: float64, bool, or an object array of str; None where no target is read.
    position : int
        Where the next block begins: what `Source.blocks` takes as `start`.
    n_read : int
        Bytes of the file, as it lies on disk, that have been read so far.
    """

    X: Any
    y: np.ndarray | None
    position: int
    n_read: int


class Encoding(NamedTuple):
    """How the columns of a table become features; ``Encoding(**encoding._asdict())`` survives JSON.

    Attributes
    ----------
    columns : list of str
        The columns that are used, in their order.
    categories : dict of str to list of str
        For each column of text its categories, sorted: each becomes a feature of zeros and ones.

    Examples
    --------
    >>> from aucmax.files import Encoding
    >>> Encoding(["size", "colour"], {"colour": ["blue", "red"]}).feature_names
    ['size', 'colour=blue', 'colour=red']
    """

    columns: list[str]
    categories: dict[str, list[str]]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in their order."""
        names = []
        for column in self.columns:
            categories = self.categories.get(column)
            names += [column] if categories is None else [f"{column}={category}" for category in categories]
        return names


class Options(NamedTuple):
    """What the caller of `open_source` asks of a file."""

    target: str | None = None
    one_hot: bool = False
    header: bool = True
    zero_based: bool = False
    n_features: int | None = None
    encoding: Encoding | None = None
    with_target: bool | None = None


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
        Names of the features after one-hot encoding; None where the format has none.
    n_features : int or None
        Number of columns of X; None where only reading tells.
    target : str or None
        The column that y is read from, in formats that name columns.
    encoding : Encoding or None
        How columns become features, in formats that name columns.

    Examples
    --------
    >>> import tempfile
    >>> from aucmax.files import open_source
    >>> with tempfile.NamedTemporaryFile("w", suffix=".libsvm") as file:
    ...     _ = file.write("+1 1:5\n-1 1:6\n+1 1:7\n")
    ...     file.flush()
    ...     source = open_source(file.name)
    ...     first = next(source.blocks(n_bytes=1))
    ...     rest = list(source.blocks(n_bytes=1, start=first.position))
    >>> first.X.toarray(), [block.y for block in rest]
    (array([[5.]]), [array([-1.]), array([1.])])
    """

    format: str
    name: str
    size: int
    sparse: bool = False
    feature_names: list[str] | None = None
    n_features: int | None = None
    target: str | None = None
    encoding: Encoding | None = None

    @abstractmethod
    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:
        """Yield the rows by blocks, in a memory that the size of the file does not change.

        Parameters
        ----------
        n_bytes : int, default=8 MiB
            About the size of the text, or of the rows in memory, of a block.
        start : int, default=0
            Where to begin: 0 or the position of a block that was read with the same `n_bytes`. The blocks that
            follow are those of a reading that was never interrupted.

        Yields
        ------
        block : Block
            At least one row.
        """

    def read(self, on_block: Callable[[Block], None] = lambda block: None) -> tuple[Any, np.ndarray | None]:
        """Return all rows and, where a target is read, all labels; `on_block` is called with each block."""
        blocks = []
        for block in self.blocks():
            blocks.append(block)
            on_block(block)
        if len(blocks) == 1:
            return blocks[0].X, blocks[0].y
        y = None if blocks[0].y is None else np.concatenate([block.y for block in blocks if block.y is not None])
        return stack([block.X for block in blocks]), y

    def memory(self) -> int:
        """Return an upper estimate of the bytes that `read` takes at its peak, from the first rows and the size."""
        first, *more = islice(self.blocks(), 2)
        total = n_bytes_of(first.X) + (0 if first.y is None else first.y.nbytes)
        if more:
            # The rest may hold more rows to the byte, and bzip2, which unpacks 900 kB at a time, has read ahead.
            total = int(1.25 * total * max(1.0, self.size / max(1, first.n_read)))
        # The blocks and the whole that is made of them, beside one block's text, twice, and its columns.
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
