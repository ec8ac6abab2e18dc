"""All labelled rows of a file, read into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy import sparse

from ..data.validation import TooManyColumnsError
from ..files import Block, Source
from ..files.labels import Classes, Labels
from ..files.libsvm import LibsvmSource

DENSE_FROM = 0.6  # share of nonzeros from which a dense array is smaller and faster than CSR

OnBlock = Callable[[str, Block], None]


def ignore(name: str, block: Block) -> None:
    """Do nothing about a block."""


def read_rows(source: Source, on_block: OnBlock = ignore) -> Block:
    """Return all rows of a file as one block, dense if few values are 0.

    `on_block` is called with "reading" and each block that is read.
    """
    rows = source.read(lambda block: on_block("reading", block))
    X = rows.features
    if sparse.issparse(X) and X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        return rows._replace(features=X.toarray())
    return rows


def find_classes(source: Source, rows: Block, positive: str | None) -> tuple[Classes, np.ndarray]:
    """Return the two classes of the rows of a file, and the mask of the positives."""
    labels = Labels(source.name, positive)
    codes = labels.observe(np.asarray(rows.y))
    classes, swapped = labels.classes()
    return classes, codes ^ swapped


def describe_width(source: Source) -> str:
    """Return a sentence about the largest index of LIBSVM text and its line; an empty text for other formats."""
    for part in getattr(source, "sources", [source]):
        if isinstance(part, LibsvmSource) and (place := part.find_largest_index()) is not None:
            index, line = place
            return f" The largest index, {index}, is in line {line} of {part.name}."
    return ""


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """Put the name of a file before errors about its rows that do not name it, nor one of several files.

    Where there are too many columns or not enough memory, the error also tells what makes the rows of LIBSVM text so
    wide.
    """
    try:
        yield
    except (MemoryError, TooManyColumnsError) as error:
        raise ValueError(
            f"{source.name}: {str(error).rstrip('.') or 'there is not enough memory'}.{describe_width(source)}"
        ) from error
    except ValueError as error:
        if any(name in str(error) for name in [source.name, *(source.paths or [])]):
            raise
        raise ValueError(f"{source.name}: {error}") from error
