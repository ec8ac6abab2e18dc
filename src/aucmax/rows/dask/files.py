"""Files as partitions on a Dask cluster: each file is read where its task runs, anew for each pass."""

from __future__ import annotations

from typing import Self

import numpy as np

from ...files import Block, Source
from ...files.labels import Classes, Labels
from ..blocks.block import widen
from ..blocks.passes import State
from ..blocks.rows import MEMORY
from .rows import DaskRows
from .tasks import compute


class DaskFiles(DaskRows):
    """The rows of one or several files, which all workers can open by the same paths.

    Its classes are False and True; `labels` has their names in the files. If `positive` is given, all other labels are
    negative. `memory` is about how many bytes may be used in this process.
    """

    more_memory = "raise {memory=}"
    labels: Classes

    def __init__(self, source: Source, positive: str | None = None, memory: float = MEMORY) -> None:
        import dask

        files = list(getattr(source, "sources", [source]))
        look, read = dask.delayed(labels_and_width, pure=False), dask.delayed(read_file, pure=False)
        sent = [dask.delayed(file, pure=False, traverse=False) for file in files]
        looks = dask.delayed(list, pure=False)([look(file) for file in sent])
        found, widths = zip(*compute(looks), strict=True)
        labels = Labels(source.name, positive)
        labels.observe(np.concatenate(found))
        self.labels, _ = labels.classes()
        self.memory, self.feature_names, self.reading = memory, source.feature_names, source.reading
        self._source, self._positive = source, positive
        self._partitions = []
        for file in sent:
            block = read(file, self.labels, max(widths))
            weights = None if source.weight is None else [block.weight]
            groups = None if source.group is None else [block.group]
            self._partitions.append(([block.features], [block.y], weights, groups))

    def as_table(self) -> Self:
        if not self._source.change_output("levels"):
            return self
        return type(self)(self._source, self._positive, self.memory)

    def __getstate__(self) -> State:
        """Return what tasks know of these rows."""
        return {name: value for name, value in super().__getstate__().items() if name != "_source"}

    def finish(self) -> None:
        """Do nothing: a cluster has no checkpoint."""


def labels_and_width(source: Source) -> tuple[np.ndarray, int]:
    """Return the distinct labels of a file, and its number of columns."""
    found, width = [], 0
    for block in source.blocks():
        found.append(np.unique(np.asarray(block.y)))
        width = max(width, block.features.shape[1])
    return np.unique(np.concatenate(found)), width


def read_file(source: Source, labels: Classes, n_features: int) -> Block:
    """Return the rows of a file, with the mask of the positives as labels."""
    rows = source.read()
    positive = labels.mask(np.asarray(rows.y), source.name)
    return rows._replace(features=widen(rows.features, n_features), y=positive)
