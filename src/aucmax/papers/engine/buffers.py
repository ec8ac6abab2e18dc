"""Rows of each class that an online algorithm keeps, and the differences of a new row to them.

Conventions
-----------
A buffer holds up to `size` rows of each class. Which row goes where is decided before a kernel runs (`fifo_slots`,
`reservoir_slots`); the kernel meets rows and pairs through

    n = take(pair, rows, i)                    the new row x, with n entries
    m = subtract(pair, n, buffers, c, slot)    z = x - (the row kept there), with m entries
    z_dot(pair, m, w), z_norm(pair, m)         w.z and |z|^2
    z_axpy(a, pair, m, w)                      w += a z
    put(buffers, c, slot, pair, n)             keep the new row, before the next is taken

Rows are kept as values in units and columns, so that a pair costs O(nonzeros). They are not shifted: a shift cancels in
z, whose values are sums over single columns, never differences of long sums. A row with a value in every column is
taken and subtracted as a block.

Importing this module imports Numba; see `jit`.
"""

from typing import NamedTuple

import numpy as np

from ..._compat import REORDER, jit
from .row_access import KernelRows, copy_row, longest_row


class ClassBuffers(NamedTuple):
    """Rows of the two classes, each slot with room for the longest row so far."""

    values: np.ndarray  # shape (2 * size * room,): entries of the rows, in units
    columns: np.ndarray  # shape (2 * size * room,): their columns
    lengths: np.ndarray  # shape (2, size): number of entries of each row
    counts: np.ndarray  # shape (2,): rows of each class that have come by

    @classmethod
    def empty(cls, size: int) -> "ClassBuffers":
        """Return buffers for `size` rows of each class, with no row yet and no room for one."""
        return cls(np.zeros(0), np.zeros(0, np.uint64), np.zeros((2, size), np.int64), np.zeros(2, np.int64))

    def check(self, where: str, size: int, n_features: int) -> None:
        """Raise a ValueError unless kernels can use buffers from a file: all that they index lies inside."""
        like = ClassBuffers.empty(size)
        same = all(a.dtype == b.dtype and a.ndim == b.ndim for a, b in zip(self, like, strict=True))
        shaped = same and (self.lengths.shape, self.counts.shape) == (like.lengths.shape, like.counts.shape)
        room, rest = divmod(self.values.size, 2 * size)
        if not shaped or rest or self.columns.shape != self.values.shape or room > n_features:
            raise ValueError(f"{where} has arrays of other shapes or types than {size} rows of each class have")
        inside = (self.columns < n_features).all() and (self.lengths >= 0).all() and (self.lengths <= room).all()
        if not inside or (self.counts < 0).any() or not np.isfinite(self.values).all():
            raise ValueError(f"{where} holds columns, lengths or counts that are out of range")

    def reserve(self, rows: KernelRows) -> None:
        """Make room in every slot for the longest of these rows; the arrays are resized in place."""
        n_slots = self.lengths.size
        before = self.values.size // n_slots
        room = longest_row(rows)
        if room > before:
            for array in (self.values, self.columns):
                kept = array.reshape(n_slots, before).copy()
                array.resize(n_slots * room, refcheck=False)  # no view of it outlives a pass
                array.reshape(n_slots, room)[:, :before] = kept


def _numbers(counts: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return how many rows of its own class came before each row."""
    return np.where(positive, counts[1] + np.cumsum(positive), counts[0] + np.cumsum(~positive)) - 1


def fifo_slots(buffers: ClassBuffers, positive: np.ndarray) -> np.ndarray:
    """Return the slots of new rows, each in place of the oldest row of its class."""
    return _numbers(buffers.counts, positive) % buffers.lengths.shape[1]


def reservoir_slots(buffers: ClassBuffers, positive: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the slots of new rows, so that a buffer is a uniform sample of its class; -1 for rows that are not kept.

    Until there are `size` rows, all are kept; then row number k takes a slot with probability size / k, any one alike.
    The draws are uniform in [0, 1).
    """
    number, size = _numbers(buffers.counts, positive), buffers.lengths.shape[1]
    slots = np.where(number < size, number, (draws * (number + 1)).astype(np.int64))
    return np.where(slots < size, slots, -1)


class Pair(NamedTuple):
    """A new row x and its difference z to a kept one."""

    x: np.ndarray  # with z: shape (2 * room,): their entries
    z: np.ndarray
    columns: np.ndarray  # shape (2 * room,): the columns of the entries of z; the entries of x come first
    where: np.ndarray  # shape (n_features,): which entry of x a column is, -1 where there is none


@jit
def make_pair(buffers, d):
    """Return a pair with room for what the buffers have room for, of d columns."""
    room = 2 * (buffers.values.size // buffers.lengths.size)
    return Pair(np.zeros(room), np.zeros(room), np.zeros(room, np.uint64), np.full(d, -1))


@jit
def take(pair, rows, i):
    """Make row i the new row x and return the number of its entries."""
    n = copy_row(rows, i, pair.x, pair.columns)
    for k in range(n):
        pair.where[pair.columns[k]] = k
    return n


@jit
def put(buffers, c, slot, pair, n):
    """Count the new row, of n entries, in class c and keep it in a slot unless this is -1; the pair is free again."""
    buffers.counts[c] += 1
    size = buffers.lengths.shape[1]
    start = (c * size + slot) * (buffers.values.size // (2 * size))
    if slot >= 0:
        buffers.lengths[c, slot] = n
    for k in range(n):
        if slot >= 0:
            buffers.values[start + k] = pair.x[k]
            buffers.columns[start + k] = pair.columns[k]
        pair.where[pair.columns[k]] = -1


@jit
def subtract(pair, n, buffers, c, slot):
    """Make z the new row minus that in a slot of class c, and return the number of its entries."""
    size = buffers.lengths.shape[1]
    start = (c * size + slot) * (buffers.values.size // (2 * size))
    length = buffers.lengths[c, slot]
    values, columns = buffers.values[start : start + length], buffers.columns[start : start + length]
    if n == length == pair.where.shape[0]:
        for k in range(n):
            pair.z[k] = pair.x[k] - values[k]
        return n
    m = n
    pair.z[:n] = pair.x[:n]
    for k in range(length):
        entry = pair.where[columns[k]]
        if entry >= 0:
            pair.z[entry] -= values[k]
        else:
            pair.z[m] = -values[k]
            pair.columns[m] = columns[k]
            m += 1
    return m


@jit
def is_full(pair):
    """Return whether x has an entry in every column, and so the entries of z are in the order of the columns."""
    last = pair.where.shape[0] - 1
    return pair.where[last] == last


@jit(fastmath=REORDER)
def z_dot(pair, m, w):
    """Return w.z."""
    total = 0.0
    if is_full(pair):
        for j in range(m):
            total += pair.z[j] * w[j]
    else:
        for k in range(m):
            total += pair.z[k] * w[pair.columns[k]]
    return total


@jit(fastmath=REORDER)
def z_norm(pair, m):
    """Return |z|^2."""
    total = 0.0
    for k in range(m):
        total += pair.z[k] * pair.z[k]
    return total


@jit(fastmath=REORDER)
def z_axpy(a, pair, m, w):
    """Do w += a z."""
    if is_full(pair):
        for j in range(m):
            w[j] += a * pair.z[j]
    else:
        for k in range(m):
            w[pair.columns[k]] += a * pair.z[k]
