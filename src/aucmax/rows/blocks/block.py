"""A pass, and one block of rows in it: its vectors, its sizes, and what it adds to summaries of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from ..protocol import Targets
from ..summaries.block_moments import class_columns
from ..summaries.moments import ClassMoments, chan_update, check_no_overflow, class_moments, warn_of_underflow

if TYPE_CHECKING:
    from .rows import BlockedRows

State = dict[str, Any]  # what a pass updates: values that a checkpoint can hold
CODES = np.array([False, True])


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


class RowBlock:
    """A block of consecutive rows in a pass.

    X is an array or CSR of shape (n, n_features), or another matrix with products, rows by number and `class_moments`.
    `start` is the number of the first row among all rows, and `seen` (2,) the number of rows of each class, with a
    weight above 0, that came before the block.
    """

    def __init__(self, X: Any, targets: Targets) -> None:
        self.X, self.targets = X, targets
        self.start, self.seen = 0, np.zeros(2, dtype=np.int64)
        self._values: dict[int, Any] = {}

    def value(self, vector: LazyVector) -> Any:
        """Return the entries of a vector for these rows; they are computed once."""
        key = id(vector)
        if key not in self._values:
            self._values[key] = vector.of_block(self)
        return self._values[key]

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of the rows among all rows."""
        return self.start + np.arange(len(self.targets.positive))

    def ranks(self) -> np.ndarray:
        """Return the rank of each row among the rows of its class with a weight above 0; 0 for rows without weight."""
        usable, positive = self.targets.usable, self.targets.positive
        ranks = np.zeros(len(positive), dtype=np.int64)
        for side, start in zip((~positive, positive), self.seen.tolist(), strict=True):
            members = side & usable
            ranks[members] = start + np.arange(np.count_nonzero(members))
        return ranks

    def take(self, rows: np.ndarray | slice) -> RowBlock:
        """Return some of the rows."""
        t = self.targets
        weights = None if t.sample_weight is None else t.sample_weight[rows]
        groups = None if t.groups is None else t.groups[rows]
        return RowBlock(self.X[rows], Targets(t.positive[rows], weights, t.totals, groups))


class LazyVector:
    """A vector with an entry for each of `rows`, computed block by block: `of_block` returns the entries of a block."""

    def __init__(self, rows: BlockedRows, of_block: Callable[[RowBlock], Any]) -> None:
        self.rows, self.of_block = rows, of_block

    def __add__(self, other: LazyVector) -> LazyVector:
        return LazyVector(self.rows, lambda block: block.value(self) + block.value(other))

    def __sub__(self, other: LazyVector) -> LazyVector:
        return LazyVector(self.rows, lambda block: block.value(self) - block.value(other))

    def __mul__(self, factor: float) -> LazyVector:
        return LazyVector(self.rows, lambda block: factor * block.value(self))

    __rmul__ = __mul__

    def __neg__(self) -> LazyVector:
        return -1.0 * self

    def __matmul__(self, other: LazyVector) -> float:
        return float(self.rows.reduce(lambda targets, u, v: u @ v, self, other))


class LazyScores(LazyVector):
    """The scores X @ w. A sum or a multiple of scores is made from the sum or the multiple of the weights."""

    def __init__(self, rows: BlockedRows, w: np.ndarray) -> None:
        super().__init__(rows, lambda block: block.X @ w)
        self.w = w

    def __add__(self, other: LazyVector) -> LazyVector:
        return LazyScores(self.rows, self.w + other.w) if isinstance(other, LazyScores) else super().__add__(other)

    def __sub__(self, other: LazyVector) -> LazyVector:
        return LazyScores(self.rows, self.w - other.w) if isinstance(other, LazyScores) else super().__sub__(other)

    def __mul__(self, factor: float) -> LazyVector:
        return LazyScores(self.rows, factor * self.w)

    __rmul__ = __mul__


class Sizes(NamedTuple):
    """The sizes of a set of rows, which only a pass over all of them can tell."""

    n_rows: int
    counts: np.ndarray  # (2,): number of rows of each class with a weight above 0
    totals: np.ndarray  # (2,): the weight of each class
    n_values: int  # number of stored values

    @classmethod
    def none(cls) -> Sizes:
        """Return the sizes of no rows."""
        return cls(0, np.zeros(2, dtype=np.int64), np.zeros(2), 0)

    def add(self, block: RowBlock) -> Sizes:
        """Return the sizes of these rows and a block together."""
        positive, weights = block.targets.positive, block.targets.sample_weight
        n_values = block.X.nnz if sparse.issparse(block.X) else block.X.size
        return self.merge(Sizes(len(positive), block.targets.counts, np.bincount(positive, weights, 2), n_values))

    def merge(self, other: Sizes) -> Sizes:
        """Return the sizes of both sets of rows together."""
        pairs: Any = zip(self, other, strict=True)
        return Sizes(*(a + b for a, b in pairs))


def widen(X: Any, n_features: int) -> Any:
    """Return the rows with columns of zeros appended, up to `n_features` columns."""
    if X.shape[1] == n_features:
        return X
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def rows_before(partitions: Sequence[Sizes]) -> np.ndarray:
    """Return how many rows come before each partition, and how many of each class with a weight above 0."""
    sizes = np.array([[sizes.n_rows, *sizes.counts] for sizes in partitions], dtype=np.int64).reshape(-1, 3)
    return np.cumsum(sizes, axis=0) - sizes


def add_moments(moments: ClassMoments, block: RowBlock) -> None:
    """Add a block to class moments, in place."""
    X, t = block.X, block.targets
    if hasattr(X, "class_moments"):
        moments.absorb(X.class_moments(t.positive, t.sample_weight))
    else:
        moments.absorb(class_moments(X, t.positive, CODES, t.sample_weight))


def empty_statistics(n_features: int) -> State:
    """Return the statistics of the columns of no rows."""
    return {"weight": np.zeros(2), "means": np.zeros((2, n_features)), "squares": np.zeros((2, n_features))}


def add_statistics(state: State, block: RowBlock) -> None:
    """Add a block, which may have more columns than those before it, to the statistics of the columns."""
    X, t = block.X, block.targets
    if hasattr(X, "class_columns"):
        weight, means, squares = X.class_columns(t.positive, t.sample_weight)
    else:
        weight, means, squares = class_columns(X, t.positive, t.sample_weight)
    for name in ("means", "squares"):
        state[name] = np.pad(state[name], ((0, 0), (0, X.shape[1] - state[name].shape[1])))
    state.update(merge_statistics(state, {"weight": weight, "means": means, "squares": squares}))


def merge_statistics(a: State, b: State) -> State:
    """Return the statistics of the columns of both sets of rows together."""
    merged = []
    for c in range(2):
        before, more = ((state["weight"][c], state["means"][c], state["squares"][c].copy()) for state in (a, b))
        merged.append(chan_update(*before, *more, np.multiply))
    weight, means, squares = map(np.array, zip(*merged, strict=True))
    return {"weight": weight, "means": means, "squares": squares}


def finish_statistics(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances from the statistics of all blocks."""
    check_no_overflow(state["squares"])
    variances = state["squares"] / state["weight"][:, None]
    warn_of_underflow(state["means"], variances)
    return state["means"], variances
