"""Rows in Dask collections or in files: every pass is one graph, in which each partition makes its own state.

The tasks run where Dask runs them: on the workers of the active client, or on the local scheduler. A tree of tasks
merges the states in the order of the rows, and only the last one comes back. Partitions are computed for each pass from
the user's graph, unless the user has persisted the collections. Each file is read where its task runs.

The first pass reads the labels and weights, and one partition of X. It determines the classes, and the sizes of all
partitions, on which the samples of later passes depend.
"""

from __future__ import annotations

import functools
import warnings
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..._compat import _get_feature_names
from ...files import Block, Source
from ...files.labels import Classes, Labels
from ..blocks.block import Pass, RowBlock, Sizes, State, rows_before, widen
from ..blocks.rows import MEMORY, BlockedRows, add_states
from ..validate import DASK_NOT_SUPPORTED
from .partitions import FirstPass, LabelSizes, align, is_array, shape_of
from .tasks import Job, attempt, compute, merge_by_tree, merge_states

GRAPH_LIMIT = "distributed.admin.large-graph-warning-threshold"
WARN_FRACTION = 100  # what is gathered in this process is announced if it takes a larger share of the memory


class DaskRows(BlockedRows):
    """The rows of Dask collections that have the same partitions.

    The sizes of the partitions need not be known. A partition may be empty or lack a class. X is an array, whose blocks
    may be CSR, or a dataframe; y, weights and groups are arrays or series. `memory` is about how many bytes may be used
    in this process, for the results of passes and for samples.

    Notes
    -----
    A pass brings back a summary of all rows, with these exceptions: samples, on which candidates are compared (all rows
    for your own splits); the scores of the rarer class for the hinges, which are announced if they take more than a
    hundredth of the memory and refused if they take more than half.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from aucmax.rows.dask.rows import DaskRows
    >>> X = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(3, 2))
    >>> y = da.from_array(np.array(["no", "no", "yes", "no", "yes"]), chunks=3)
    >>> rows = DaskRows(X, y)
    >>> rows.n_rows, rows.counts
    (5, array([3, 2]))
    """

    more_memory: str | None = None
    _for_many_columns = "use solver='cg'"
    _name = "X"  # what messages call the rows
    _warned = False

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, memory: float = MEMORY) -> None:
        self.X, self.y, self.memory = X, y, memory
        names = None if is_array(X) else _get_feature_names(X._meta)
        self.feature_names = None if names is None else list(names)
        columns = {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups}
        self._partitions = list(zip(*align(columns), strict=True))

    def __getstate__(self) -> State:
        """Return what tasks know of these rows: the classes and the sizes of all rows together, and no rows."""
        state = {name: value for name, value in vars(self).items() if name not in ("X", "y", "_partitions")}
        return {**state, "_first": self._first._replace(partitions=[])}

    # Sizes

    @cached_property
    def _first(self) -> FirstPass:
        import dask

        look = dask.delayed(attempt, pure=False)
        labels = [look(LabelSizes.of, number, *part[1:3]) for number, part in enumerate(self._partitions)]
        looks = [look(shape_of, self._partitions[0][0], self._name), *labels]
        (n_features, is_sparse), *found = compute(dask.delayed(list, pure=False)(looks), looks)
        return FirstPass.of(self._name, n_features, is_sparse, found)

    @property
    def classes(self) -> np.ndarray:
        return self._first.classes

    @property
    def n_features(self) -> int:
        return self._first.n_features

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self._first.is_sparse

    @property
    def _sizes(self) -> Sizes:
        return self._first.sizes

    @cached_property
    def row_length(self) -> float:
        """Mean number of stored values in a row; CSR rows take a pass for it."""

        def step(state: State, block: RowBlock) -> None:
            state["n_values"] += block.X.nnz

        if not self.is_sparse:
            return float(self.n_features)
        return self._pass("sizes", lambda: {"n_values": 0}, step, add_states)["n_values"] / self.n_rows

    def _before(self) -> np.ndarray:
        return rows_before(self._first.partitions)

    # Passes

    def _read(self, task: Pass) -> State:
        import dask

        job = Job(task, self.classes, self.n_features, self.is_sparse, self.totals, np.geterr(), self._name)
        sent = dask.delayed(job, pure=False, traverse=False)
        run = dask.delayed(attempt, pure=False)
        states = [run(Job.state, sent, number, *part) for number, part in enumerate(self._partitions)]
        result = merge_by_tree(functools.partial(dask.delayed(merge_states, pure=False), sent), states)
        # The graph has what all tasks need, such as weights or tables of scores. If these were sent to the workers
        # beforehand, they would be lost with the workers.
        with dask.config.set({GRAPH_LIMIT: self.memory}):
            return compute(result, states)

    def iterate(self, *arguments: Any, **options: Any) -> State:
        raise ValueError(DASK_NOT_SUPPORTED)

    def check_memory(self, what: str, n_bytes: float, advice: str) -> None:
        """Raise a ValueError if something would take more than half of the memory; warn once if it takes much."""
        super().check_memory(what, n_bytes, advice)
        if n_bytes > self.memory / WARN_FRACTION and not self._warned:
            self._warned = True
            warnings.warn(
                f"{what} gathers their scores in this process in every pass, about {n_bytes / 1e6:,.0f} MB: to avoid "
                f"it, {advice}.",
                UserWarning,
                stacklevel=2,
            )


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
