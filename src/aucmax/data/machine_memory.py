"""The memory that this process may use, and what a fit takes of it at least."""

from __future__ import annotations

import os
from contextlib import suppress

# Vectors of one float for each column that fits hold at once (measured on up to 10^6 columns): the leanest 13 to 17,
# for weights, means, scales and copies; Newton's method with a given alpha 23; the candidates of a blend, whose rows
# are too many to be rotated, 97 to 104.
LEAST_VECTORS, NEWTON_VECTORS, BLEND_VECTORS = 16, 20, 80
UNKNOWN = 8 << 30  # bytes, where the system does not tell
ALWAYS_AVAILABLE = 16 << 20  # bytes that every process has which could import NumPy
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_memory() -> int:
    """Return the bytes that this process may use: those of the machine, or of a lower limit on the process.

    Examples
    --------
    >>> from aucmax.data.machine_memory import usable_memory
    >>> usable_memory() > 2**20
    True
    """
    limits = []
    with suppress(AttributeError, ValueError, OSError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [] if soft == resource.RLIM_INFINITY else [max(soft - address_space(), 0)]
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:  # "max" is no number
            limits.append(int(file.read()))
    return min(limits, default=UNKNOWN)


def address_space() -> int:
    """Return the bytes of address space that this process has taken already; 0 where the system does not tell."""
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def check_columns(
    n_features: int, n_vectors: int = LEAST_VECTORS, what: str = "A fit to", advice: str = "leave out columns"
) -> None:
    """Raise a MemoryError if the vectors of a fit would not fit into memory, before it begins.

    Parameters
    ----------
    n_features : int
        The number of columns.
    n_vectors : int, default=LEAST_VECTORS
        How many vectors of one float for each column are held at once.
    what, advice : str
        What holds them, and what to do about it.
    """
    needed = 8 * n_vectors * n_features
    if needed > ALWAYS_AVAILABLE and needed > (
        usable := usable_memory()
    ):  # asking the system takes longer than a small fit
        raise MemoryError(
            f"{what} {n_features:,} columns takes {needed / 1e9:,.1f} GB or more, but this process may use "
            f"{usable / 1e9:,.1f} GB: {advice}."
        )
