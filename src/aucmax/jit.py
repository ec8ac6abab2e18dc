"""The decorator that compiles kernels.

Importing this module imports Numba (about 0.35 s). Files of kernels import it at their top; everybody else imports
those files where they first need them. Kernels take arrays, numbers and named tuples of them, and trust them. The next
process finds them in Numba's disk cache.
"""

import functools
from collections.abc import Callable
from typing import Any

import numba

# Sums may be reordered and contracted, which makes them fast, but infinities and NaN keep their meaning.
REORDER = {"reassoc", "contract"}
FAST: Any = {"fastmath": REORDER}


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Compile `function` without the interpreter lock, cached on disk wherever a folder can be written."""
    if function is None:
        return functools.partial(jit, **options)
    try:
        return numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # Numba's "no locator available": no folder may hold the cache
        return numba.njit(nogil=True, **options)(function)
