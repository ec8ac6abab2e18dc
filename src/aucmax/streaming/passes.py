"""Passes over the blocks of a source, which may be killed at any moment and gone on with.

A pass folds blocks into a state, a tree of arrays and numbers. Between two blocks the state, the position in the file
and the results of the passes before are all there is to know, so that is what a checkpoint holds. Whatever lies between
the passes is computed again from these, and since blocks are cut at the same places, the end is bitwise the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..files import Block, Source

Tree = dict[str, Any]


class Passes:
    """Passes over a source.

    Parameters
    ----------
    source : Source
        What is read.
    n_bytes : int, default=16 MiB
        About how many bytes of text make a block.
    checkpoint : path, default=None
        Where the checkpoint is written, and gone on from if it is there.
    every : float, default=30
        Seconds between two checkpoints; 0 writes one after each block.
    command : mapping, default=None
        What is being done, as names and JSON-able values: a checkpoint of anything else is refused.
    on_block : callable, default=None
        Called with the name of the pass and each block after it was taken in.
    """

    def __init__(
        self,
        source: Source,
        n_bytes: int = 1 << 24,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 30.0,
        command: Mapping[str, Any] | None = None,
        on_block: Callable[[str, Block], None] | None = None,
    ) -> None:
        self.source, self.n_bytes, self.every, self.on_block = source, n_bytes, every, on_block
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.command = {**(command or {}), "the size of a block": n_bytes, "the size of the file": source.size}
        self._before: Tree = self._load()
        self._finished: Tree = dict(self._before.get("finished", {}))
        self._saved = time.monotonic()

    def run(
        self,
        name: str,
        state: Tree,
        step: Callable[[Tree, Block], None],
        again: Callable[[Tree], bool] = lambda state: False,
    ) -> Tree:
        """Take all blocks into the state, in place; once more as long as `again` says so.

        Parameters
        ----------
        name : str
            Of this pass; each has another.
        state : dict
            What it starts from.
        step : callable
            Takes a block into the state.
        again : callable, default=never
            Called with the state at the end of the file.

        Returns
        -------
        state : dict
            The state at the end, whether this process read the file or one before it.
        """
        if name in self._before.get("finished", {}):
            return self._finished[name]
        start = 0
        if self._before.get("name") == name:
            state, start = self._before["state"], self._before["position"]
            self._before = {}
        while True:
            for block in self.source.blocks(self.n_bytes, start):
                step(state, block)
                if self.on_block is not None:
                    self.on_block(name, block)
                self._save_if_due(name, state, block.position)
            start = 0
            if not again(state):
                break
        self._finished[name] = state
        return state

    def clear(self) -> None:
        """Remove the checkpoint: what it was for is done."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)

    def _save_if_due(self, name: str, state: Tree, position: int) -> None:
        if self.checkpoint is None or time.monotonic() - self._saved < self.every:
            return
        from ..models.model_file import write_tree

        tree = {"command": self.command, "finished": self._finished, "name": name, "state": state, "position": position}
        write_tree(self.checkpoint, "checkpoint", tree)
        self._saved = time.monotonic()

    def _load(self) -> Tree:
        if self.checkpoint is None or not self.checkpoint.exists():
            return {}
        from ..models.model_file import read_tree

        tree = read_tree(self.checkpoint, "checkpoint")
        for key in {**self.command, **tree["command"]}:
            there, here = tree["command"].get(key), self.command.get(key)
            if there != here:
                raise ValueError(
                    f"{self.checkpoint} is the checkpoint of another fit: {key} was {there!s:.60} there and is "
                    f"{here!s:.60} here; remove the file to start anew."
                )
        return tree
