"""The row interface: rows behind one protocol, their class moments, their folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dask import DaskRows
    from .device import DeviceRows
    from .file import FileRows
    from .memory import MemoryRows
    from .protocol import InMemoryRows, Rows

    def _check_protocol(
        memory: MemoryRows, file: FileRows, dask: DaskRows, device: DeviceRows
    ) -> tuple[InMemoryRows, tuple[Rows, ...]]:
        """Return all as rows: type checkers report here any member of the protocol that a class lacks."""
        return memory, (file, dask, device)
