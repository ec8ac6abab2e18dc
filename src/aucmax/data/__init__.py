"""The door to the data: rows behind one protocol, their class moments, their folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .file import FileRows
    from .memory import MemoryRows
    from .protocol import Rows

    def behind_the_door(memory: MemoryRows, file: FileRows) -> tuple[Rows, ...]:
        """Return both as rows: type checkers report here any member of the protocol that a class lacks."""
        return memory, file
