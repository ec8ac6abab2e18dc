"""What results were measured with: the machine and the versions of the packages."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("aucmax", "scikit-learn", "numpy", "scipy", "numba")


def find_versions(*more: str) -> dict[str, str]:
    """Return the versions of the packages that results depend on, and of others that are named.

    Examples
    --------
    >>> from aucmax_studies.common.machine import find_versions
    >>> list(find_versions("joblib"))
    ['aucmax', 'scikit-learn', 'numpy', 'scipy', 'numba', 'joblib']
    """
    return {name: metadata.version(name) for name in (*PACKAGES, *more)}


def describe_machine() -> str:
    """Return processor, cores, memory and system of this machine in one line.

    Examples
    --------
    >>> from aucmax_studies.common.machine import describe_machine
    >>> "Python" in describe_machine()
    True
    """
    parts = [_processor(), f"{os.cpu_count()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB of memory")
    return ", ".join([*parts, f"{platform.system()}, Python {platform.python_version()}"])


def _processor() -> str:
    """Return the model of the processor, or what the system knows about it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
