"""Checkpoints: a long fit that was interrupted, even by ``kill -9``, resumes from the last state that was saved."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .._text import printable
from .model_file import read_values, versions, write_values

# What a command says of its rows; numbers that tell a user nothing.
ROWS = ("the digest of the file", "the size of the file")
# What follows from other entries: blocks are as large as memory allows.
FOLLOWING = {"the size of a block": "the memory"}
VERSION = "the version of "
MOST_LISTED = 3  # differences of one kind


class Absent:
    """What a command does not say."""

    def __str__(self) -> str:
        """Return what messages call it."""
        return "not given"


ABSENT = Absent()


class Checkpoint:
    """A file that holds the state of a fit under way, to resume from after an interruption.

    Call `load` first. Then call `save` whenever `due` says so, and `remove` when the fit is done. `every` is the number
    of seconds between two saves; with 0, one is always due.

    Examples
    --------
    >>> import tempfile
    >>> from aucmax.models.checkpoint import Checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(f"{folder}/checkpoint", every=0)
    ...     print(checkpoint.load({"alpha": 0.1}))
    ...     checkpoint.save({"epoch": 3})
    ...     print(Checkpoint(f"{folder}/checkpoint").load({"alpha": 0.1}))
    None
    {'epoch': 3}
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 30.0) -> None:
        self.path, self.every = Path(path), every
        self._command: dict[str, Any] | None = None
        self._saved_at = time.monotonic()

    def load(self, command: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last state that was saved, equal to the last bit, or None without a file.

        `command` is everything that the result of the fit depends on, by name: numbers, text, None, and lists, tuples
        and dicts of these. It is saved with each state, and the checkpoint of a different command is refused.
        """
        self._command = {**command, **{f"{VERSION}{library}": version for library, version in versions().items()}}
        try:
            saved = read_values(self.path, "checkpoint")
        except FileNotFoundError:
            return None
        there = saved.get("command")
        if not (isinstance(there, dict) and isinstance(saved.get("state"), dict)):
            raise ValueError(f"{self.path} holds no state of a fit.")
        if reasons := describe_differences(there, self._command):
            raise ValueError(f"{self.path} is the checkpoint of another fit: {reasons}; remove the file to start anew.")
        return saved["state"]

    def due(self) -> bool:
        """Return whether `every` seconds have passed since the last save, or since the start."""
        return time.monotonic() - self._saved_at >= self.every

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file by one with this state, of values that a model file can hold.

        An interruption leaves the old file or the new one, each whole.
        """
        if self._command is None:
            raise RuntimeError("Call load before save: a state is saved with the command that load was given.")
        write_values(self.path, "checkpoint", {"command": self._command, "state": state})
        self._saved_at = time.monotonic()

    def remove(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


def is_same(a: Any, b: Any) -> bool:
    """Return whether two values of a command are the same, in their types too: True is not 1, but NaN is NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and is_same(a.tolist(), b.tolist())
    return bool(a == b or (a != a and b != b))


def _tell(was: Any, now: Any) -> str:
    """Return two values in words, with their types if they look the same."""
    before, after = (" ".join(printable(str(value)).split())[:60] for value in (was, now))
    if before == after:
        before, after = f"{before} ({type(was).__name__})", f"{after} ({type(now).__name__})"
    return f"{before}, now {after}"


def describe_differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return in words how the command of a checkpoint differs from this fit's; an empty text if it does not."""
    keys = [key for key in {**now, **was} if not is_same(was.get(key, ABSENT), now.get(key, ABSENT))]
    keys = [key for key in keys if FOLLOWING.get(key) not in keys]
    pairs = {key: _tell(was.get(key, ABSENT), now.get(key, ABSENT)) for key in keys}
    kinds = {
        "options": [f"{printable(key):.60} {pairs[key]}" for key in keys if key not in ROWS and VERSION not in key],
        "versions": [f"{printable(key.removeprefix(VERSION)):.60} {pairs[key]}" for key in keys if VERSION in key],
    }
    reasons = ["its rows differ"] if {*ROWS} & {*keys} else []
    for kind, differences in kinds.items():
        if differences:
            others = [f"and {len(differences) - MOST_LISTED} more"] if len(differences) > MOST_LISTED else []
            reasons.append(f"its {kind} differ: {'; '.join([*differences[:MOST_LISTED], *others])}")
    return ", and ".join(reasons)
