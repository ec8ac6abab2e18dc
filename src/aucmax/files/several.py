"""Several files with the same columns, read one after the other as if they were one."""

from __future__ import annotations

import glob
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from .problems import NoRowsError
from .source import BLOCK_BYTES, Block, Source

FILE_BITS = 96  # a position is that in a file, below 2^96, plus the number of the file times 2^96


Path = str | os.PathLike[str]


def list_files(paths: Path | Sequence[Path]) -> list[str]:
    """Return the files that a path, a pattern or a list of these stands for; those of a pattern sorted by name."""
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


def check_columns_of_empty(empty: NoRowsError, first: Source) -> None:
    """Raise a ValueError if a table without rows has other columns than the first one with rows."""
    columns = getattr(first, "_columns", [])
    if sorted(empty.columns) != sorted(columns):
        raise ValueError(
            f"{empty.name} has no rows, and its columns are not those of {first.name}: leave it out, or make its "
            "header agree."
        )


def check_formats(name: str, sources: Sequence[Source]) -> None:
    """Raise a ValueError if files are of different formats."""
    first = sources[0]
    for source in sources[1:]:
        if source.format != first.format:
            raise ValueError(f"{name}: {source.name} is {source.format}, but {first.name} is {first.format}.")


class SeveralFiles(Source):
    """Several files as one source.

    Parameters
    ----------
    name : str
        What messages call them: the pattern that they match, or the first and how many more there are.
    paths : list of str
        The files.
    sources : sequence of Source
        The files, opened in the same way.
    """

    def __init__(self, name: str, paths: list[str], sources: Sequence[Source]) -> None:
        self.sources, first = list(sources), sources[0]
        self.name, self.paths, self.size = name, paths, sum(source.size for source in sources)
        self.format, self.sparse, self.n_features = first.format, first.sparse, first.n_features
        self.feature_names, self.reading, self.kept = first.feature_names, first.reading, first.kept
        self.categorical = first.categorical
        self.target, self.weight, self.group = first.target, first.weight, first.group

    def digest(self) -> str:  # noqa: D102
        return hashlib.sha256("".join(source.digest() for source in self.sources).encode()).hexdigest()

    def codes(self) -> tuple[np.ndarray, np.ndarray]:  # noqa: D102
        codes, folds = zip(*(source.codes() for source in self.sources), strict=True)
        return np.concatenate(codes), np.concatenate(folds)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        number, position = divmod(start, 1 << FILE_BITS)
        n_before = sum(source.size for source in self.sources[:number])
        for k, source in enumerate(self.sources[number:], number):
            for block in source.blocks(n_bytes, position if k == number else 0):
                yield block._replace(position=(k << FILE_BITS) + block.position, n_read=n_before + block.n_read)
            n_before += source.size
