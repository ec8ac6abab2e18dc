"""Threads for work that BLAS does not run well in parallel: it would leave cores idle or let threads wait."""

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

# Rows are cut into this many spans on every machine, so that the number of cores does not change the order of sums.
N_SPANS = 8
# Below this many columns BLAS does not run X.T @ X well in parallel (1.08 times faster on two cores at 54 columns), so
# threads share the rows (1.8 times faster). With more columns BLAS uses all cores itself.
BLAS_THREADS_FROM = 256

_lock = threading.Lock()
_n_holders = 0
_limit: Any = None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread. If several threads hold the limit, the last one to leave lifts it.

    An eigendecomposition is a long sequence of small steps. On two busy cores, its threads waited for each other so
    long that it took 10 to 70 times as long as on one (order 256 to 784).
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
    """Limit BLAS to one thread while solvers iterate on sparse rows, where it only computes inner products."""
    return one_blas_thread() if rows.is_sparse else nullcontext()


def map_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yield `function` of each item, in order, computed on as many threads as BLAS may use.

    BLAS itself uses one thread meanwhile. The function must release the interpreter lock most of the time.
    """
    n_threads = min(len(items), max((library["num_threads"] for library in _blas().info()), default=1))
    if n_threads <= 1:
        yield from map(function, items)
    else:
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            yield from pool.map(function, items)


def map_spans(function: Callable[[slice], Result], n_rows: int, step: int, n_features: int) -> Iterator[Result]:
    """Yield `function` of slices that cover the rows, each with at least `step` rows, or one slice with all rows."""
    n_spans = 1 if n_features >= BLAS_THREADS_FROM else max(1, min(N_SPANS, n_rows // step))
    edges = [n_rows * k // n_spans for k in range(n_spans + 1)]
    return map_threads(function, [slice(*pair) for pair in itertools.pairwise(edges)])
