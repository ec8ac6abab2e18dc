"""The door to the data: rows behind one protocol, their class moments, their folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .file import FileRows
    from .memory import MemoryRows
    from .protocol import Rows

    def behind_the_door(memory: MemoryRows, file: FileRows) -> tuple[Rows, ...]:
        """Return what must have all that the protocol promises; type checkers see to that."""
        return memory, file
