"""Passes over the blocks of a file, which can be killed at any moment and resumed.

A pass updates a state with each block: a dict of values that a checkpoint can hold. A checkpoint holds this state, the
position in the file and the results of the earlier passes. A resumed fit computes everything else again from these.
Blocks are always cut at the same places, so a resumed fit gives bitwise the result of an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...files.source import Block, Source
from ...models.checkpoint import Checkpoint

State = dict[str, Any]
# A checkpoint is written often, so it does not hold larger results of finished passes: a resumed fit makes these passes
# again.
KEPT_BYTES = 1 << 18


class Pass(NamedTuple):
    """What one pass over all rows does, whether their blocks come one after the other or all at once.

    Rows may be in several *partitions*. Each of these has a state of its own, and the states are merged in the end. The
    blocks of a file are one partition.
    """

    name: str  # the name of the pass in progress bars
    # Returns the state before the first block of a partition, given the number of the partition.
    begin: Callable[[int], State]
    step: Callable[[State, Any], None]  # updates a state with a block, in place
    # Returns the state of two neighbouring partitions together, and changes neither.
    merge: Callable[[State, State], State]
    again: Callable[[State], bool]  # Called with the final state. Returns whether to make another pass.
    keep: bool  # whether checkpoints hold the result even if it is large


class Passes:
    """Passes over a source, in blocks of about `n_bytes` bytes of text.

    `command` describes the fit, in names and values that JSON can hold: a checkpoint of another fit is refused.
    `on_block` is called with the name of the pass and the block after each step.
    """

    def __init__(
        self,
        source: Source,
        n_bytes: int,
        *,
        checkpoint: Checkpoint | None = None,
        command: Mapping[str, Any] | None = None,
        on_block: Callable[[str, Block], None] | None = None,
    ) -> None:
        self.source, self.n_bytes, self.checkpoint, self.on_block = source, n_bytes, checkpoint, on_block
        self.n_passes = 0
        self.command = {**(command or {}), "the size of the file": source.size}
        self._resumed: State = {}
        self._finished: State = {}

    def _resume(self) -> None:
        """Load the checkpoint before the first pass, when all of the command is known."""
        if self.checkpoint is not None:
            self._resumed = self.checkpoint.load({**self.command, "the size of a block": self.n_bytes}) or {}
            self._finished = dict(self._resumed.get("finished", {}))

    def run(
        self,
        name: str,
        state: State,
        step: Callable[[State, Block], None],
        again: Callable[[State], bool] = lambda state: False,
        keep: bool = True,
    ) -> State:
        """Update a state with all blocks, in place, in as many passes as `again` asks for; return the last state.

        If an earlier process finished this pass, the state comes from the checkpoint. With `keep`, checkpoints hold the
        result even if it is large.
        """
        if self.n_passes == 0:
            self._resume()
        number = str(self.n_passes)
        self.n_passes += 1
        if number in self._finished:
            return self._finished[number]
        start = 0
        if self._resumed.get("number") == number:
            state, start = self._resumed["state"], self._resumed["position"]
        while True:
            for block in self.source.blocks(self.n_bytes, start):
                step(state, block)
                if self.on_block is not None:
                    self.on_block(name, block)
                if self.checkpoint is not None and self.checkpoint.due():
                    position = {"number": number, "state": state, "position": block.position}
                    self.checkpoint.save({"finished": self._finished, **position})
            start = 0
            if not again(state):
                break
        if self.checkpoint is not None and (keep or bytes_in(state) <= KEPT_BYTES):
            self._finished[number] = state
        return state


def bytes_in(value: Any) -> int:
    """Return the size of the arrays in a value."""
    if isinstance(value, dict):
        return sum(map(bytes_in, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(bytes_in, value))
    return int(getattr(value, "nbytes", 0))
