"""Passes over the blocks of a file, which can be killed at any moment and resumed.

A pass takes the blocks into a state: a dict of values that a checkpoint can hold. Between two blocks the state, the
position in the file and the results of the passes before are all there is to know, so that is what a checkpoint holds.
Whatever lies between the passes is computed again from these. Blocks are always cut at the same places, so a resumed
fit ends bitwise where an uninterrupted one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..files.source import Block, Source

if TYPE_CHECKING:
    import numpy as np

State = dict[str, Any]
# Results of passes that are larger are not kept in a checkpoint, which is written again and again: a resumed fit makes
# these passes once more.
KEPT_BYTES = 1 << 18


class Checkpoint(Protocol):
    """Where the state of a fit is kept; see :class:`aucmax.models.checkpoint.Checkpoint`."""

    def load(self, command: Mapping[str, Any]) -> State | None: ...  # noqa: D102
    def due(self) -> bool: ...  # noqa: D102
    def save(self, state: State) -> None: ...  # noqa: D102
    def remove(self) -> None: ...  # noqa: D102


class Passes:
    """Passes over a source.

    Parameters
    ----------
    source : Source
        What is read.
    n_bytes : int
        About how many bytes of text make a block.
    checkpoint : Checkpoint, default=None
        Where the state is kept, and resumed from if there is one.
    command : mapping, default=None
        What is being done, as names and values that JSON can hold: a checkpoint of anything else is refused.
    on_block : callable, default=None
        Called with the name of the pass and each block after it was taken in.
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
        """Take all blocks into the state, in place; once more as long as `again` says so.

        Parameters
        ----------
        name : str
            What the pass is called in progress bars.
        state : dict
            What it starts from.
        step : callable
            Takes a block into the state.
        again : callable, default=never
            Called with the state at the end of the file.
        keep : bool, default=True
            Whether checkpoints keep the result, however large it is.

        Returns
        -------
        state : dict
            The state at the end, whether this process read the file or one before it.
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
    array: np.ndarray | None = value if hasattr(value, "nbytes") else None
    return 0 if array is None else int(array.nbytes)
