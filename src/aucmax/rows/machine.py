"""What a fit may use of this machine: its threads and its memory.

BLAS cuts a sum into as many parts as it has threads, so the last bits depend on their number. A fit therefore gives
BLAS one thread and shares its large products itself, in pieces that do not depend on the number of threads: rows in
spans, matrices in tiles. BLAS would also leave cores idle if there are few columns, and let threads wait for each other
in small steps.

The memory of the process limits how many vectors of one float per column a fit can hold; a fit that cannot succeed is
refused before it begins.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
import scipy.linalg  # SciPy has a BLAS of its own, which is found once it is loaded
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Rows are cut into this many spans on every machine, so that the number of cores does not change the order of sums.
N_SPANS = 8
# Below this many columns threads share the rows of X.T @ X, and from there on the result, in tiles: each span of rows
# would have a result of its own. Tiles of 256 columns take a thread 1.1 to 1.2 times as long as the whole product, and
# narrower ones longer.
TILES_FROM = 512
TILE = 256  # columns
# Values of X from which threads share a product with it. To start them takes 0.1 ms, and the product 2 ms.
SHARED_FROM = 1 << 22
# Vectors of one float for each column that fits hold at once (measured on up to 10^6 columns): the leanest 13 to 17,
# for weights, means, scales and copies; Newton's method with a given alpha 23; the candidates of a blend, whose rows
# are too many to be rotated, 97 to 104.
LEAST_VECTORS, NEWTON_VECTORS, SEARCH_VECTORS = 16, 20, 80
BLAS_BUFFER = 40 << 20  # bytes of address space that a thread takes in a BLAS (measured: 34 to 37)
UNKNOWN = 8 << 30  # bytes, where the system does not tell
ALWAYS_AVAILABLE = 16 << 20  # bytes that every process has which could import NumPy
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")

_lock = threading.Lock()
_n_holders, _n_before = 0, 1
_limit: Any = None
_here = threading.local()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def count_threads() -> int:
    """Return how many threads may share work: those that BLAS has, or had before a limit; one inside of shared work."""
    if getattr(_here, "is_sharing", False):
        return 1
    with _lock:
        return _n_before if _n_holders else _count_blas()


def _take_control() -> None:
    """Let this thread set limits: from 3.8 on, threadpoolctl ignores all threads but the first that did."""
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


def _count_blas() -> int:
    return max((library["num_threads"] for library in _blas().info()), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread. If several threads hold the limit, the last one to leave lifts it.

    An eigendecomposition is a long sequence of small steps. On two busy cores, its threads waited for each other so
    long that it took 10 to 70 times as long as on one (order 256 to 784).
    """
    global _n_holders, _n_before, _limit
    with _lock:
        if _n_holders == 0:
            _n_before = _count_blas()
            _take_control()
            _limit = _blas().limit(limits=1)
        _n_holders += 1
    try:
        yield
    finally:
        with _lock:
            _n_holders -= 1
            if _n_holders == 0:
                _take_control()
                _limit.restore_original_limits()
                _take_control()  # and give it to whoever comes next


def map_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield `function` of each item, in order, computed on as many threads as BLAS may use.

    BLAS itself uses one thread meanwhile. The function must release the interpreter lock most of the time. What it
    shares itself stays on its thread.
    """
    n_threads = min(len(items), count_threads())
    if n_threads <= 1:
        yield from map(function, items)
    else:
        begin = partial(setattr, _here, "is_sharing", True)
        with one_blas_thread(), ThreadPoolExecutor(n_threads, initializer=begin) as pool:
            yield from pool.map(function, items)


def map_spans(function: Callable[[slice], Result], n_rows: int, step: int, n_features: int) -> Iterator[Result]:
    """Yield `function` of slices that cover the rows, each with at least `step` rows, or one slice with all rows."""
    n_spans = 1 if n_features >= TILES_FROM else max(1, min(N_SPANS, n_rows // step))
    return map_threads(function, cut_rows(n_rows, n_spans))


def cut_rows(n_rows: int, n_spans: int) -> list[slice]:
    """Return slices that cover the rows, of equal lengths up to one."""
    edges = [n_rows * k // n_spans for k in range(n_spans + 1)]
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def gram(Z: Any) -> Any:
    """Return Z.T @ Z for an array of shape (n_rows, n_columns); threads share its tiles if there are many columns."""
    n_columns = Z.shape[1]
    if n_columns < TILES_FROM:
        return Z.T @ Z
    out = np.empty((n_columns, n_columns))
    tiles = [slice(start, min(start + TILE, n_columns)) for start in range(0, n_columns, TILE)]

    def fill(pair: tuple[slice, slice]) -> None:
        left, right = pair
        out[right, left] = Z[:, right].T @ Z[:, left]
        out[left, right] = out[right, left].T

    for _ in map_threads(fill, list(itertools.combinations_with_replacement(tiles, 2))):
        pass
    return out


def usable_memory() -> int:
    """Return the bytes that this process may use: all of the machine's memory, or a lower limit on the process."""
    limits = []
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [] if soft == resource.RLIM_INFINITY else [max(soft - address_space(), 0)]
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:  # it may be "max"
            limits.append(int(file.read()))
    return min(limits, default=UNKNOWN)


def reserve_blas() -> None:
    """Let BLAS take its buffers now; raise a MemoryError if a limit on the address space leaves no room for them.

    OpenBLAS takes a buffer when a thread first needs one, and tries again for ever if there is no room.
    """
    threads = [pool["num_threads"] for pool in _blas().info()]
    room, needed = usable_memory(), BLAS_BUFFER * (sum(threads) + len(threads))
    if room < needed:
        raise MemoryError(
            f"The limit on the address space leaves {room >> 20} MB, and the buffers of BLAS take {needed >> 20} MB: "
            "raise the limit (ulimit -v), or set OPENBLAS_NUM_THREADS=1."
        )
    matrix = np.eye(256)
    for product in (np.dot, partial(scipy.linalg.blas.dgemm, 1.0)):  # each has a BLAS of its own
        product(matrix, matrix)
        for _ in map_threads(partial(product, matrix), [matrix] * count_threads()):
            pass


def address_space() -> int:
    """Return the bytes of address space that this process has taken already; 0 where the system does not tell."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def check_columns(
    n_features: int, n_vectors: int = LEAST_VECTORS, what: str = "A fit to", advice: str = "leave out columns"
) -> None:
    """Raise a MemoryError before a fit begins if its `n_vectors` vectors of one float per column would not fit."""
    needed = 8 * n_vectors * n_features
    # Asking the system takes longer than a small fit.
    if needed > ALWAYS_AVAILABLE and needed > (usable := usable_memory()):
        raise MemoryError(
            f"{what} {n_features:,} columns takes {needed / 1e9:,.1f} GB or more, but this process may use "
            f"{usable / 1e9:,.1f} GB: {advice}."
        )
