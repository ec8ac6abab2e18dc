"""Checks of the files that a command writes, before it begins: nothing is lost, and no long fit is in vain.

They come after those of the input and the options: a name that is taken is easily changed, and an error about it would
hide what is wrong with the rest of the command.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import describe_error


def check_inputs(inputs: Sequence[str | Path | None]) -> None:
    """Raise a ValueError if standard input would be read twice."""
    if sum(path is not None and str(path) == "-" for path in inputs) > 1:
        raise ValueError("standard input (-) can be read only once.")


def check_outputs(
    outputs: dict[str, Path | None], force: bool, inputs: Sequence[str | Path | None], checkpoint: Path | None = None
) -> None:
    """Raise a ValueError if a file would be lost or cannot be written.

    Parameters
    ----------
    outputs : dict of str to path or None
        The files to write, by the options that name them.
    force : bool
        Whether files that exist are replaced.
    inputs : sequence of str, path or None
        The files to read, or patterns that stand for them.
    checkpoint : path, default=None
        The checkpoint, which may exist.
    """
    from ..files import list_files

    check_inputs(inputs)
    read = [name for path in inputs if path is not None for name in list_files(path)]
    taken = {os.path.realpath(name): f"{name} is read by this command" for name in read}
    for name, path in {"--checkpoint": checkpoint, **outputs}.items():
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{path} is a directory.")
        if path.is_file() and not force and path is not checkpoint:
            raise ValueError(f"{path} exists: give another name, or --force to replace it.")
        place = os.path.realpath(path)
        if place in taken:
            raise ValueError(f"{taken[place]}, so {name} needs another name.")
        taken[place] = f"{path} is written as {name}"
        folder = Path(place).parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            what = "cannot be written to" if folder.is_dir() else "is not a directory"
            raise ValueError(f"{folder} {what}, so {path.name} cannot be written there.")


@contextmanager
def after_writing(path: Path) -> Iterator[None]:
    """If the block fails, add to its error that the model was written."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise ValueError(f"{describe_error(error)} (The model was written to {path}.)") from error
