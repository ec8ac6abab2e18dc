"""Rows inside kernels: the only place that knows dense from sparse, and how columns are shifted and scaled.

Conventions
-----------
A kernel sees row i as z_i = (x_i - shift) * unit, with `unit` one over the scale of each column, through `copy_row`,
`fetch_ahead` and the functions that begin with `row_` or, for z_i - z_j in the place of z_i, with `pair_`. It meets z
in no other way, so each kernel is written once. `rows` is a `DenseRows`, whose columns are as they are, a `ScaledRows`
or a `CSRRows`; Numba picks the code by its type.

Weight vectors
--------------
Every step on CSR costs O(nonzeros of the row), although z is dense where the shift is not zero. For that, the weight
vector of a kernel has two hidden slots after the d columns:

    w = u - b center,   u = w[:d],   b = w[d],   w[d + 1] = center . u,   center = shift * unit

They are linear in w, so a kernel may scale and add weight vectors as if they were not there. Dense rows leave them
at 0. No other file knows of them. A weight vector is made by `zero_weights` or `weight_vector`. Where a kernel needs
single coordinates, it calls `settle`, which makes b = 0, reads and changes `coordinates(w)`, and calls `recenter`.

Importing this module imports Numba; see `jit`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.extending import intrinsic, register_jitable
from numba.np.arrayobj import make_array
from scipy import sparse

from ..._compat import FAST, jit

SLOTS = 2
AHEAD = 4  # rows: in less time than their steps take, memory answers
LINE = 64  # bytes that come at once
READ, KEEP, DATA = 0, 3, 1  # the arguments of LLVM's instruction


class DenseRows(NamedTuple):
    """Rows of a dense array, columns as they are: z = x, at half the time of a step on `ScaledRows` in the cache."""

    values: np.ndarray  # shape (n, d): the rows x


class ScaledRows(NamedTuple):
    """Rows of a dense array, shifted and scaled when they are read."""

    values: np.ndarray  # shape (n, d): the rows x
    shift: np.ndarray  # with unit: shape (d,): what is taken away from each column, and what it is then multiplied by
    unit: np.ndarray


class CSRRows(NamedTuple):
    """Rows of a CSR matrix, with what centring needs of each row."""

    data: np.ndarray  # with indices, indptr: the arrays of the CSR matrix; the data are multiplied by the units
    indices: np.ndarray
    indptr: np.ndarray
    center: np.ndarray  # shape (d,): shift * unit
    center_dot: np.ndarray  # shape (n,): the product of each row, multiplied by the units, with the center
    center_norm: float  # the squared norm of the center


KernelRows = DenseRows | ScaledRows | CSRRows


# What Python code asks for


def view_rows(X: Any, shift: np.ndarray, unit: np.ndarray) -> KernelRows:
    """Return X as kernels see it; a copy only if it is dense and not in row order, or CSR with units that are not 1."""
    if not sparse.issparse(X):
        values = np.ascontiguousarray(X)
        return ScaledRows(values, shift, unit) if shift.any() or np.any(unit != 1) else DenseRows(values)
    # Unsigned indices spare the check for negative ones: a quarter to a half of the time of a step.
    indices = X.indices.view(np.uint32 if X.indices.dtype.itemsize == 4 else np.uint64)
    indptr = X.indptr.view(np.uint32 if X.indptr.dtype.itemsize == 4 else np.uint64)
    center = shift * unit
    if np.all(unit == 1):
        data, center_dot = X.data, X @ center if center.any() else np.zeros(X.shape[0])
    else:
        data, center_dot = np.empty(len(X.data)), np.empty(X.shape[0])
        _scale_rows(X.data, indices, indptr, unit, center, data, center_dot)
    return CSRRows(data, indices, indptr, center, center_dot, float(center @ center))


def row_lengths(rows: KernelRows) -> np.ndarray:
    """Return the number of stored values of each row."""
    return np.diff(rows.indptr) if isinstance(rows, CSRRows) else np.full(*rows.values.shape)


def longest_row(rows: KernelRows) -> int:
    """Return the number of stored values of the longest row."""
    return int(row_lengths(rows).max(initial=0))


def steps_per_sweep(rows: KernelRows) -> int:
    """Return how many steps on single rows cost as much as one sweep over all weights: 1 where rows have no zeros."""
    if not isinstance(rows, CSRRows):
        return 1
    n_rows, n_features = shape_of(rows)
    return max(1, n_features * n_rows // max(1, len(rows.data)))


def zero_weights(n_features: int) -> np.ndarray:
    """Return the weight vector 0 of kernels."""
    return np.zeros(n_features + SLOTS)


def weight_vector(rows: KernelRows, u: np.ndarray) -> np.ndarray:
    """Return the weight vector of kernels that has the coordinates u, settled."""
    return np.concatenate([u, [0.0, u @ rows.center if isinstance(rows, CSRRows) else 0.0]])


def coefficients(w: np.ndarray, shift: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return the weights for X as it is of a kernel's weight vector."""
    d = len(shift)
    return (w[:d] - w[d] * shift * unit) * unit


def shape_of(rows: KernelRows) -> tuple[int, int]:
    """Return the numbers of rows and of columns."""
    return (len(rows.center_dot), len(rows.center)) if isinstance(rows, CSRRows) else rows.values.shape


def norm_rows(rows: KernelRows) -> np.ndarray:
    """Return |z_i|^2 of all rows."""
    out = np.empty(shape_of(rows)[0])
    _fill_norms(rows, out)
    return out


def score_rows(rows: KernelRows, w: np.ndarray) -> np.ndarray:
    """Return z_i . w of all rows."""
    out = np.empty(shape_of(rows)[0])
    _fill_scores(rows, w, out)
    return out


def combine_rows(rows: KernelRows, g: np.ndarray) -> np.ndarray:
    """Return the sum of g_i z_i over all rows, a weight vector that is settled."""
    out = zero_weights(shape_of(rows)[1])
    _add_rows(rows, g, out)
    return out


# What kernels call, and Python code too


@register_jitable
def n_columns(w):
    """Return the number of columns d of a weight vector."""
    return w.shape[0] - SLOTS


@register_jitable
def coordinates(w):
    """Return the coordinates of a weight vector that is settled; a view."""
    return w[:-SLOTS]


@jit
def vector_dot(v, w):
    """Return v.w of two weight vectors, of which v is settled."""
    d, total = w.shape[0] - SLOTS, 0.0
    for j in range(d):
        total += v[j] * w[j]
    return total - w[d] * v[d + 1]


# What kernels call alone: Numba puts the code for the type of the rows in the place of these names.


def overload(name: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Decorate a function that returns code for types of rows: it becomes a name for kernels, or adds to this one."""

    def decorate(choose: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(choose)
        def called(*arguments: Any) -> Any:
            raise NotImplementedError

        extending.overload(name or called, **options)(choose)
        return name or called

    return decorate


def _is(rows: types.Type, kind: type) -> bool:
    return getattr(rows, "instance_class", None) is kind


def _is_dense(rows: types.Type) -> bool:
    return _is(rows, DenseRows) or _is(rows, ScaledRows)


@overload(jit_options=FAST)
def entry(rows, x, j):
    """Return z_j of a dense row x."""
    if _is(rows, DenseRows):
        return lambda rows, x, j: x[j]
    return lambda rows, x, j: (x[j] - rows.shift[j]) * rows.unit[j]


@overload(jit_options=FAST)
def in_units(rows, difference, j):
    """Return z_j - z'_j of two dense rows from x_j - x'_j."""
    if _is(rows, DenseRows):
        return lambda rows, difference, j: difference
    return lambda rows, difference, j: difference * rows.unit[j]


@overload(jit_options=FAST)
def row_dot(rows, i, w):
    """Return z_i . w."""

    def dense(rows, i, w):
        x, total = rows.values[i], 0.0
        for j in range(x.shape[0]):
            total += entry(rows, x, j) * w[j]
        return total

    return dense if _is_dense(rows) else None


# A sum that may be reordered would be vectorised by gathering w, which takes a third more time on short rows. Two sums
# do not wait for each other at every entry.
@overload(row_dot, jit_options={"fastmath": {"contract"}})
def _csr_row_dot(rows, i, w):
    def csr(rows, i, w):
        even = odd = 0.0
        k, stop = np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1])
        while k + 1 < stop:
            even += rows.data[k] * w[rows.indices[k]]
            odd += rows.data[k + 1] * w[rows.indices[k + 1]]
            k += 2
        if k < stop:
            even += rows.data[k] * w[rows.indices[k]]
        d = rows.center.shape[0]
        return even + odd - w[d] * rows.center_dot[i] - w[d + 1] + w[d] * rows.center_norm

    return None if _is_dense(rows) else csr


@overload(jit_options=FAST)
def row_axpy(a, rows, i, w):
    """Add a z_i to w."""
    if _is_dense(rows):

        def dense(a, rows, i, w):
            x = rows.values[i]
            for j in range(x.shape[0]):
                w[j] += a * entry(rows, x, j)

        return dense

    def csr(a, rows, i, w):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            w[rows.indices[k]] += a * rows.data[k]
        d = rows.center.shape[0]
        w[d] += a
        w[d + 1] += a * rows.center_dot[i]

    return csr


@overload(jit_options=FAST)
def row_axpys(a, w, b, v, rows, i):
    """Add a z_i to w and b z_i to v."""
    if _is_dense(rows):

        def dense(a, w, b, v, rows, i):
            x = rows.values[i]
            for j in range(x.shape[0]):
                z = entry(rows, x, j)
                w[j] += a * z
                v[j] += b * z

        return dense

    def csr(a, w, b, v, rows, i):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            j, z = rows.indices[k], rows.data[k]
            w[j] += a * z
            v[j] += b * z
        d, dot = rows.center.shape[0], rows.center_dot[i]
        w[d] += a
        v[d] += b
        w[d + 1] += a * dot
        v[d + 1] += b * dot

    return csr


@overload(jit_options=FAST)
def row_norm(rows, i):
    """Return |z_i|^2."""
    if _is_dense(rows):

        def dense(rows, i):
            x, total = rows.values[i], 0.0
            for j in range(x.shape[0]):
                z = entry(rows, x, j)
                total += z * z
            return total

        return dense

    def csr(rows, i):
        total = 0.0
        for a in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[a] * rows.data[a]
        return max(total - 2 * rows.center_dot[i] + rows.center_norm, 0.0)

    return csr


@overload(jit_options=FAST)
def row_dots(rows, i, W, out):
    """Fill `out` with z_i . each column of W."""
    if _is_dense(rows):

        def dense(rows, i, W, out):
            x = rows.values[i]
            out[:] = 0.0
            for j in range(x.shape[0]):
                z = entry(rows, x, j)
                for k in range(out.shape[0]):
                    out[k] += z * W[j, k]

        return dense

    def csr(rows, i, W, out):
        d = rows.center.shape[0]
        for k in range(out.shape[0]):
            out[k] = W[d, k] * (rows.center_norm - rows.center_dot[i]) - W[d + 1, k]
        for a in range(rows.indptr[i], rows.indptr[i + 1]):
            j, x = rows.indices[a], rows.data[a]
            for k in range(out.shape[0]):
                out[k] += x * W[j, k]

    return csr


@overload(jit_options=FAST)
def row_outer(rows, i, r, W):
    """Add z_i r' to W."""
    if _is_dense(rows):

        def dense(rows, i, r, W):
            x = rows.values[i]
            for j in range(x.shape[0]):
                z = entry(rows, x, j)
                for k in range(r.shape[0]):
                    W[j, k] += z * r[k]

        return dense

    def csr(rows, i, r, W):
        d = rows.center.shape[0]
        for k in range(r.shape[0]):
            W[d, k] += r[k]
            W[d + 1, k] += rows.center_dot[i] * r[k]
        for a in range(rows.indptr[i], rows.indptr[i + 1]):
            j, x = rows.indices[a], rows.data[a]
            for k in range(r.shape[0]):
                W[j, k] += x * r[k]

    return csr


@overload(jit_options=FAST)
def pair_dot(rows, i, j, w):
    """Return (z_i - z_j) . w."""
    if _is_dense(rows):

        def dense(rows, i, j, w):
            x, y, total = rows.values[i], rows.values[j], 0.0
            for k in range(x.shape[0]):
                total += in_units(rows, x[k] - y[k], k) * w[k]
            return total

        return dense

    def csr(rows, i, j, w):
        total = 0.0
        for a in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.data[a] * w[rows.indices[a]]
        for a in range(rows.indptr[j], rows.indptr[j + 1]):
            total -= rows.data[a] * w[rows.indices[a]]
        return total - w[rows.center.shape[0]] * (rows.center_dot[i] - rows.center_dot[j])

    return csr


@overload(jit_options=FAST)
def pair_axpy(a, w, b, v, rows, i, j):
    """Add a (z_i - z_j) to w and b (z_i - z_j) to v."""
    if _is_dense(rows):

        def dense(a, w, b, v, rows, i, j):
            x, y = rows.values[i], rows.values[j]
            for k in range(x.shape[0]):
                z = in_units(rows, x[k] - y[k], k)
                w[k] += a * z
                v[k] += b * z

        return dense

    def csr(a, w, b, v, rows, i, j):
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            w[rows.indices[k]] += a * rows.data[k]
            v[rows.indices[k]] += b * rows.data[k]
        for k in range(rows.indptr[j], rows.indptr[j + 1]):
            w[rows.indices[k]] -= a * rows.data[k]
            v[rows.indices[k]] -= b * rows.data[k]
        last, dot = rows.center.shape[0] + 1, rows.center_dot[i] - rows.center_dot[j]
        w[last] += a * dot
        v[last] += b * dot

    return csr


@overload(jit_options=FAST)
def pair_norm(rows, i, j, scratch):
    """Return |z_i - z_j|^2; `scratch` holds zeros, one for each column, before and after."""
    if _is_dense(rows):

        def dense(rows, i, j, scratch):
            x, y, total = rows.values[i], rows.values[j], 0.0
            for k in range(x.shape[0]):
                z = in_units(rows, x[k] - y[k], k)
                total += z * z
            return total

        return dense

    def csr(rows, i, j, scratch):
        # Three short loops without a branch: half the time of merging the sorted indices of the two rows.
        total = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            scratch[rows.indices[k]] = rows.data[k]
        for k in range(rows.indptr[j], rows.indptr[j + 1]):
            z = scratch[rows.indices[k]] - rows.data[k]
            scratch[rows.indices[k]] = 0.0
            total += z * z
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            z = scratch[rows.indices[k]]
            scratch[rows.indices[k]] = 0.0
            total += z * z
        return total

    return csr


@overload(jit_options=FAST)
def copy_row(rows, i, values, columns):
    """Write the entries of x_i in units, and their columns; return their number."""
    if _is_dense(rows):

        def dense(rows, i, values, columns):
            x = rows.values[i]
            for j in range(x.shape[0]):
                values[j] = in_units(rows, x[j], j)
                columns[j] = j
            return x.shape[0]

        return dense

    def csr(rows, i, values, columns):
        start = np.int64(rows.indptr[i])
        n = np.int64(rows.indptr[i + 1]) - start
        for k in range(n):
            values[k] = rows.data[start + k]
            columns[k] = rows.indices[start + k]
        return n

    return csr


@overload()
def fetch_ahead(rows, order, n):
    """Ask memory for the row that is visited a few steps after the n-th of an order."""
    if _is_dense(rows):
        per_line = LINE // (rows.types[0].dtype.bitwidth // 8)

        def dense(rows, order, n):
            if n + AHEAD < order.shape[0]:
                d = rows.values.shape[1]
                start = np.int64(order[n + AHEAD]) * d
                for k in range(start, start + d + per_line - 1, per_line):
                    prefetch(rows.values, k)

        return dense

    per_line = LINE // (rows.types[0].dtype.bitwidth // 8)

    def csr(rows, order, n):
        if n + AHEAD < order.shape[0]:
            i = order[n + AHEAD]
            for k in range(np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1]) + per_line - 1, per_line):
                prefetch(rows.data, k)
                prefetch(rows.indices, k)

    return csr


@overload()
def settle(rows, w):
    """Make `coordinates(w)` the coordinates of w."""
    if _is_dense(rows):
        return lambda rows, w: None

    def csr(rows, w):
        d = rows.center.shape[0]
        if w[d] != 0.0:
            if rows.center_norm > 0.0:
                for j in range(d):
                    w[j] -= w[d] * rows.center[j]
                w[d + 1] -= w[d] * rows.center_norm
            w[d] = 0.0

    return csr


@overload(jit_options=FAST)
def recenter(rows, w):
    """Take `coordinates(w)`, changed after `settle`, as the coordinates of w."""
    if _is_dense(rows):
        return lambda rows, w: None

    def csr(rows, w):
        d, total = rows.center.shape[0], 0.0
        if rows.center_norm > 0.0:
            for j in range(d):
                total += rows.center[j] * w[j]
        w[d], w[d + 1] = 0.0, total

    return csr


@jit
def _scale_rows(data, indices, indptr, unit, center, scaled, center_dot):
    for i in range(center_dot.shape[0]):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            scaled[k] = data[k] * unit[j]
            total += scaled[k] * center[j]
        center_dot[i] = total


@jit
def _fill_norms(rows, out):
    for i in range(out.shape[0]):
        out[i] = row_norm(rows, i)


@jit
def _fill_scores(rows, w, out):
    for i in range(out.shape[0]):
        out[i] = row_dot(rows, i, w)


@jit
def _add_rows(rows, g, out):
    for i in range(g.shape[0]):
        row_axpy(g[i], rows, i, out)
    settle(rows, out)


# A step on rows in random order waits for memory most of its time, where the rows do not fit into the cache.
# `fetch_ahead` asks for a row a few steps before.


def _prefetch(typing_context: Any, array: Any, k: Any) -> Any:
    """Ask for entry k of a contiguous array (inside kernels); no entry is touched, so that k may be past the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = builder.module.declare_intrinsic(
            "llvm.prefetch", [place], ir.FunctionType(ir.VoidType(), [place, word, word, word])
        )
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), place)
        builder.call(ask, [address, word(READ), word(KEEP), word(DATA)])
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
