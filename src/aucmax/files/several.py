"""Several files with the same columns, read one after the other as if they were one."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator

from .source import BLOCK_BYTES, Block, Encoding, Source

FILE_BITS = 48  # a position is that in a file, below 2^48, plus the number of the file times 2^48


def matching_files(path: str | os.PathLike[str]) -> list[str] | None:
    """Return the files that match a pattern, sorted by name; None if `path` is no pattern, or a file is called so."""
    pattern = os.fspath(path)
    if not glob.has_magic(pattern) or os.path.exists(pattern):
        return None
    found = sorted(name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))
    if not found:
        raise ValueError(f"No file matches {pattern}.")
    return found


class SeveralFiles(Source):
    """Several files as one source.

    Parameters
    ----------
    name : str
        The pattern that the files match.
    paths : list of str
        The files.
    open_file : callable
        Opens a file, given its path, the encoding and the target of the first one (None and None for the first).
    one_hot : bool
        Whether columns of text are encoded.
    """

    def __init__(
        self,
        name: str,
        paths: list[str],
        open_file: Callable[[str, Encoding | None, str | None], Source],
        one_hot: bool,
    ) -> None:
        first = open_file(paths[0], None, None)
        if one_hot and first.encoding is not None and first.encoding.categories:
            raise ValueError(
                f"{name}: one_hot= finds the categories of one file, but there are {len(paths)}: join them."
            )
        self.sources = [first, *(open_file(path, first.encoding, first.target) for path in paths[1:])]
        for source in self.sources[1:]:
            if source.format != first.format:
                raise ValueError(f"{name}: {source.name} is {source.format}, but {first.name} is {first.format}.")
        self.name, self.paths, self.size = name, paths, sum(source.size for source in self.sources)
        self.format, self.sparse, self.n_features = first.format, first.sparse, first.n_features
        self.feature_names, self.encoding = first.feature_names, first.encoding
        self.target, self.weight, self.group = first.target, first.weight, first.group

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        number, position = divmod(start, 1 << FILE_BITS)
        n_before = sum(source.size for source in self.sources[:number])
        for k, source in enumerate(self.sources[number:], number):
            for block in source.blocks(n_bytes, position if k == number else 0):
                yield block._replace(position=(k << FILE_BITS) + block.position, n_read=n_before + block.n_read)
            n_before += source.size
