"""Rows that come block by block: the methods of the protocol, as passes over the blocks.

A pass calls a step with each block, in the order of the rows. Rows in several partitions have a state for each, which
begins empty, and these states are merged. :class:`BlockedRows` builds every method of the protocol from such
passes; its subclasses say where the blocks come from. A vector is a recipe (:class:`LazyVector`): nothing is kept for
each row, so memory does not grow with the number of rows.
"""

from __future__ import annotations

import copy
import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..._text import ArgumentError
from ...files.source import stack
from ..folds import SAMPLE, permute
from ..memory import MemoryRows, NumericRows
from ..protocol import Rows, Targets
from ..summaries.block_moments import subtract
from ..summaries.moments import ClassMoments, pooled_std
from ..summaries.ranking import aucs_of_scores
from ..validate import DASK_NOT_SUPPORTED, TooManyColumnsError, one_of
from .block import (
    CODES,
    LazyScores,
    LazyVector,
    Pass,
    RowBlock,
    Sizes,
    State,
    add_moments,
    add_statistics,
    empty_statistics,
    finish_statistics,
    merge_statistics,
    rows_before,
)

MEMORY = 2 << 30
SLICE = 8192  # rows in a block of rows in memory


class BlockedRows(NumericRows, ABC):
    """Rows that come block by block. A subclass defines `_read`, `_sizes`, `classes` and `n_features`."""

    in_memory = False
    pair_sums = None
    more_memory: str | None = "raise {memory=}"
    _for_many_columns = "take an online algorithm such as SOLAM"  # whose class moments take too much memory
    is_sparse: bool
    memory: float

    @property
    @abstractmethod
    def classes(self) -> np.ndarray:
        """The negative and the positive label."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @property
    @abstractmethod
    def _sizes(self) -> Sizes:
        """The sizes, which only a pass over all rows can tell."""

    @property
    def n_rows(self) -> int:
        return self._sizes.n_rows

    @property
    def counts(self) -> np.ndarray:
        return self._sizes.counts

    @property
    def totals(self) -> np.ndarray:
        return self._sizes.totals

    @property
    def row_length(self) -> float:
        return self._sizes.n_values / max(self.n_rows, 1)

    @abstractmethod
    def _read(self, task: Pass) -> State:
        """Make a pass, and return the state at its end."""

    def _before(self) -> np.ndarray:
        """Return how many rows come before each partition, see `rows_before`. By default there is one partition."""
        return rows_before([Sizes.none()])

    def _pass(
        self,
        name: str,
        empty: Callable[[], State],
        step: Callable[[State, RowBlock], None],
        merge: Callable[[State, State], State],
        again: Callable[[State], bool] = lambda state: False,
        keep: bool = True,
    ) -> State:
        """Make a pass that begins with an empty state; see :class:`aucmax.rows.blocks.block.Pass`."""
        return self._run(Pass(name, lambda number: empty(), step, merge, again, keep))

    def _run(self, task: Pass) -> State:
        """Make a pass whose blocks know how many rows came before them."""
        before = self._before()

        def begin(number: int) -> State:
            return {"state": task.begin(number), "start": int(before[number, 0]), "seen": before[number, 1:]}

        def counted(outer: State, block: RowBlock) -> None:
            block.start, block.seen = outer["start"], outer["seen"]
            task.step(outer["state"], block)
            outer["start"], outer["seen"] = block.start + len(block.targets.positive), block.seen + block.targets.counts

        def merge(a: State, b: State) -> State:
            return {**b, "state": task.merge(a["state"], b["state"])}

        def once_more(outer: State) -> bool:
            outer["start"], outer["seen"] = 0, np.zeros(2, dtype=np.int64)
            return task.again(outer["state"])

        return self._read(Pass(task.name, begin, counted, merge, once_more, task.keep))["state"]

    def gather(
        self,
        name: str,
        empty: Callable[[], State],
        add: Callable[[State, Any, Targets], None],
        merge: Callable[[State, State], State],
    ) -> State:
        _ = self.totals  # computed before the pass, so that the targets of its blocks know it
        return self._pass(name, empty, lambda state, block: add(state, block.X, block.targets), merge)

    # Score space

    def reduce(
        self, function: Callable[..., Any], *vectors: LazyVector, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:

        def step(state: State, block: RowBlock) -> None:
            new = function(block.targets, *(block.value(vector) for vector in vectors))
            state.update(joined(state, {"merged": new, "begun": True}))

        def joined(a: State, b: State) -> State:
            return {**b, "merged": merge(a["merged"], b["merged"])} if a["begun"] and b["merged"] is not None else b

        _ = self.totals  # computed before the pass, so that the targets of its blocks know it
        return self._pass("scores", lambda: {"merged": None, "begun": False}, step, joined, keep=False)["merged"]

    def accumulate(self, empty: Callable[[], Any], add: Callable[..., None], *vectors: LazyVector) -> Any:

        def step(state: State, block: RowBlock) -> None:
            add(state["summary"], block.targets, *(block.value(vector) for vector in vectors))

        _ = self.totals
        # A copy, since the caller may change it while a checkpoint holds it.
        return copy.copy(self._pass("scores", lambda: {"summary": empty()}, step, add_states, keep=False)["summary"])

    def map(self, function: Callable[..., Any], *vectors: LazyVector) -> LazyVector:
        return LazyVector(self, lambda block: function(block.targets, *(block.value(vector) for vector in vectors)))

    def aucs(self, *scores: LazyVector) -> list[float]:
        return aucs_of_scores(self, *scores)

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> LazyVector:
        return LazyScores(self, w)

    def as_vector(self, values: np.ndarray) -> LazyVector:
        _ = self._sizes  # row numbers depend on the sizes of earlier partitions
        return LazyVector(self, lambda block: values[block.numbers])

    def rmatvec(self, g: LazyVector, center: np.ndarray | None = None) -> np.ndarray:

        def step(state: State, block: RowBlock) -> None:
            entries = block.value(g)
            state["sum"] = state["sum"] + block.X.T @ entries
            if center is not None:
                state["sum"] -= np.multiply.outer(center, entries.sum(axis=0))

        _ = self.totals
        return self._pass("gradient", lambda: {"sum": np.zeros(())}, step, add_states, keep=False)["sum"]

    # Summaries of the columns

    def moments(self) -> ClassMoments:
        n_features, needed = self.n_features, moments_memory(self.n_features)
        if needed > self.memory / 2:
            raise TooManyColumnsError(
                f"The class moments of {n_features:,} columns take {needed / 1e9:.2g} GB, more than half of the "
                f"{self.memory / 1e9:.2g} GB of memory for them: {one_of(self.more_memory, self._for_many_columns)}."
            )
        state = self._pass(
            "class moments",
            lambda: {"moments": ClassMoments(n_features, CODES)},
            lambda state, block: add_moments(state["moments"], block),
            lambda a, b: {"moments": a["moments"].merge(b["moments"])},
        )
        return state["moments"].relabelled(self.classes)

    def check_memory(self, what: str, n_bytes: float, advice: str) -> None:
        if n_bytes > self.memory / 2:
            raise TooManyColumnsError(
                f"{what} takes {n_bytes / 1e9:.2g} GB, more than half of the {self.memory / 1e9:.2g} GB of memory for "
                f"it: {one_of(self.more_memory, advice)}."
            )

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):  # `finish_statistics` checks the result
            empty = functools.partial(empty_statistics, self.n_features)
            state = self._pass("column statistics", empty, add_statistics, merge_statistics)
        return finish_statistics(state)

    def spreads(self) -> np.ndarray:
        std = pooled_std(self.totals, *self.column_statistics())
        return np.where(std == 0, 1.0, std)

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of X / scale; the rows are read into memory for it."""
        needed = self._bytes_of(self.n_rows)
        if needed > self.memory / 4:
            ways = one_of(self.more_memory, "use solver='cg'")
            raise ArgumentError(
                f"The inner products of all rows need these in memory: {needed / 1e9:.2g} GB, more than a quarter of "
                f"the {self.memory / 1e9:.2g} GB of memory for them: {ways}."
            )
        return self._read_into_memory(lambda block: block).gram(scale)

    def _bytes_of(self, n_rows: float) -> float:
        return 12 * self.row_length * n_rows

    def _read_into_memory(self, choose: Callable[[RowBlock], RowBlock]) -> MemoryRows:

        def step(state: State, block: RowBlock) -> None:  # keeps what a checkpoint can hold
            taken = choose(block)
            X, t = taken.X if sparse.issparse(taken.X) else np.asarray(taken.X), taken.targets
            state["blocks"].append([X, t.positive, t.sample_weight, t.groups])

        blocks = self._pass("rows", lambda: {"blocks": []}, step, add_states)["blocks"]
        parts = [block for block in blocks if len(block[1])] or blocks[:1]
        matrices, positive, *others = zip(*parts, strict=True)
        y = self.classes[np.concatenate(positive).astype(np.intp)]
        weights, groups = (None if each[0] is None else np.concatenate(each) for each in others)
        return MemoryRows(stack(list(matrices)), y, self.classes, weights, groups)

    # Other views of the same rows

    def mapped(self, change: Callable[[Any], np.ndarray], n_features: int) -> BlockedRows:
        """Return the rows with other columns, dense ones, which are made block by block in every pass."""
        return MappedRows(self, change, n_features)

    def columns(self, columns: np.ndarray) -> BlockedRows:
        return RowsView(self, lambda block: RowBlock(block.X[:, columns], block.targets), len(columns))

    def reweighted(self, weights: LazyVector) -> BlockedRows:

        def change(block: RowBlock) -> RowBlock:
            t = block.targets
            return RowBlock(block.X, Targets(t.positive, block.value(weights), t.totals, t.groups))

        return RowsView(self, change)

    def shifted(self, shift: np.ndarray) -> BlockedRows:
        return RowsView(self, lambda block: RowBlock(subtract(block.X, shift), block.targets))

    def sample(self, n_each: int) -> Rows:
        """Return in memory at most `n_each` rows of each class, always the same ones; `self` if these are too large."""
        take_all = self.counts.max() <= n_each

        def choose(block: RowBlock) -> RowBlock:
            if take_all:
                return block
            ranks, own = block.ranks(), block.targets.positive.astype(np.intp)
            drawn = block.targets.usable.copy()
            for c, count in enumerate(self.counts.tolist()):
                members = np.flatnonzero(drawn & (own == c))
                drawn[members] = permute(ranks[members], count, SAMPLE) < n_each
            return block.take(np.flatnonzero(drawn))

        if self._bytes_of(self.n_rows if take_all else np.minimum(self.counts, n_each).sum()) > self.memory / 4:
            return self
        return self._read_into_memory(choose)

    # The stochastic algorithms

    def iterate(
        self,
        name: str,
        state: State,
        prepare: Callable[[Any, Targets], Any],
        step: Callable[[State, Any], None],
        again: Callable[[State], bool],
    ) -> State:

        def one_block(state: State, block: RowBlock) -> None:
            step(state, prepare(block.X, block.targets))

        def refuse(a: State, b: State) -> State:  # a state that takes one row after the other is not made of two
            raise ValueError(DASK_NOT_SUPPORTED)

        return self._pass(name, lambda: state, one_block, refuse, again)


class RowsView(BlockedRows):
    """A view of other rows: `change` returns a block of the view, given a block of `parent`."""

    def __init__(
        self, parent: BlockedRows, change: Callable[[RowBlock], RowBlock], n_features: int | None = None
    ) -> None:
        self.parent, self.change, self.width = parent, change, n_features
        self.is_sparse, self.memory = parent.is_sparse, parent.memory
        self.more_memory, self._for_many_columns = parent.more_memory, parent._for_many_columns
        self._known: list[Sizes] | None = None  # of each partition

    def __getstate__(self) -> State:
        """Return what tasks know of these rows: of their sizes, only the sum."""
        return {**vars(self), "_known": None if self._known is None else [self._sizes]}

    def _before(self) -> np.ndarray:
        return rows_before(self._known) if self._known is not None else 0 * self.parent._before()

    def _read(self, task: Pass) -> State:
        totals = None if self._known is None else self.totals

        def changed(outer: State, block: RowBlock) -> None:
            new = self.change(block)
            if totals is not None:
                new.targets.totals = totals
            task.step(outer, new)

        return self.parent._run(task._replace(step=changed))

    @property
    def classes(self) -> np.ndarray:
        return self.parent.classes

    @property
    def n_features(self) -> int:
        return self.parent.n_features if self.width is None else self.width

    @property
    def _sizes(self) -> Sizes:
        def step(state: State, block: RowBlock) -> None:
            state["sizes"] = [list(Sizes(*state["sizes"][0]).add(block))]

        if self._known is None:
            found = self._pass("sizes", lambda: {"sizes": [list(Sizes.none())]}, step, add_states)["sizes"]
            self._known = [Sizes(*sizes) for sizes in found]
        return functools.reduce(Sizes.merge, self._known)


class MappedRows(RowsView):
    """The rows of `parent` with other columns, which are dense.

    `change` returns the matrix of a block, given the parent's.
    """

    def __init__(self, parent: BlockedRows, change: Callable[[Any], Any], n_features: int) -> None:
        super().__init__(parent, lambda block: RowBlock(change(block.X), block.targets), n_features)
        self.is_sparse = False

    @property
    def _sizes(self) -> Sizes:
        return self.parent._sizes._replace(n_values=self.parent.n_rows * self.n_features)

    def _before(self) -> np.ndarray:
        return self.parent._before()


class SlicedRows(BlockedRows):
    """Rows in memory that come `step` at a time, for columns that are made from them and would not fit.

    `memory` is about how many bytes may be used in addition to the rows.
    """

    def __init__(self, rows: MemoryRows, memory: float = MEMORY, step: int = SLICE) -> None:
        self.rows, self.memory, self.step = rows, memory, step
        self.is_sparse = rows.is_sparse

    @property
    def classes(self) -> np.ndarray:
        return self.rows.classes

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def _sizes(self) -> Sizes:
        return Sizes.none().add(RowBlock(self.rows.X, self.rows.targets))

    def _read(self, task: Pass) -> State:
        state, all_rows = task.begin(0), RowBlock(self.rows.X, self.rows.targets)
        while True:
            for start in range(0, self.rows.n_rows, self.step):
                task.step(state, all_rows.take(slice(start, start + self.step)))
            if not task.again(state):
                return state


def add_states(a: State, b: State) -> State:
    """Return the sum of two states, entry by entry: lists are joined."""
    return {name: a[name] + b[name] for name in a}


def moments_memory(n_features: int) -> int:
    """Return the bytes that class moments take: of all blocks, of one block, and a solver's copy."""
    return 3 * 2 * 8 * n_features**2
