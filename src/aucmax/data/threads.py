"""Work side by side, where BLAS would leave a core idle or have its threads wait for each other."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

# Rows are cut into this many spans whatever the machine: the number of cores does not change how sums are grouped.
N_SPANS = 8
# BLAS does not thread X.T @ X well below this many columns (1.08 times faster on two cores at 54), so the rows are
# shared out above it (1.8 times); with more columns BLAS has the cores to itself.
BLAS_THREADS_FROM = 256

_lock = threading.Lock()
_n_holders = 0
_limit: Any = None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last of several holders, in any thread, lifts the limit.

    An eigendecomposition is a long row of small steps: on two cores that are not idle its threads waited for each
    other so long that it took 10 to 70 times as long as on one (order 256 to 784).
    """
    global _n_holders, _limit
    with _lock:
        if _n_holders == 0:
            _limit = _blas().limit(limits=1)
        _n_holders += 1
    try:
        yield
    finally:
        with _lock:
            _n_holders -= 1
            if _n_holders == 0:
                _limit.restore_original_limits()


def blas_threads(rows: Any) -> AbstractContextManager[None]:
    """Limit BLAS to one thread while solvers iterate on sparse rows: it is left with inner products there."""
    return one_blas_thread() if rows.is_sparse else nullcontext()


def map_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield `function` of each item, in order, on as many threads as BLAS may use, each with a BLAS of one thread.

    The function must spend its time where the interpreter lock is free.
    """
    n_threads = min(len(items), max((library["num_threads"] for library in _blas().info()), default=1))
    if n_threads <= 1:
        yield from map(function, items)
    else:
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(function, items)


def map_spans(function: Callable[[slice], Result], n_rows: int, step: int, n_features: int) -> Iterator[Result]:
    """Yield `function` of slices that cover the rows, each of at least `step` rows or all of them."""
    n_spans = 1 if n_features >= BLAS_THREADS_FROM else max(1, min(N_SPANS, n_rows // step))
    edges = [n_rows * k // n_spans for k in range(n_spans + 1)]
    return map_threads(function, [slice(*pair) for pair in itertools.pairwise(edges)])
