"""Rows of a binary problem behind one interface, `protocol.Rows`, wherever they are.

`dispatch` decides where that is: `memory`, a `file`, Dask collections (`dask`) or an accelerator (`device`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dask.rows import DaskFiles, DaskRows
    from .device.rows import DeviceRows
    from .file import FileRows
    from .memory import MemoryRows
    from .protocol import InMemoryRows, ReadRows, Rows

    def _check_protocol(
        memory: MemoryRows, file: FileRows, files: DaskFiles, dask: DaskRows, device: DeviceRows
    ) -> tuple[InMemoryRows, tuple[ReadRows, ...], tuple[Rows, ...]]:
        """Return all as rows: type checkers report here any member of the protocol that a class lacks."""
        return memory, (file, files), (dask, device)
