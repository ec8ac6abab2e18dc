"""The parameters of additive models that name columns: shapes and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .frames import position_of


def read_signs(given: Any, n_features: int, names: np.ndarray | None) -> np.ndarray:
    """Return the shape of each column from the parameter `monotonic_cst`."""
    signs = np.zeros(n_features, dtype=np.int8)
    if isinstance(given, Mapping):
        for name, sign in given.items():
            signs[position_of(name, "monotonic_cst", n_features, names)] = check_sign(sign)
    elif given is not None:
        if len(given) != n_features:
            raise ValueError(f"monotonic_cst has {len(given)} entries, but X has {n_features} columns: one for each.")
        signs[:] = [check_sign(sign) for sign in given]
    return signs


def check_sign(sign: Any) -> int:
    """Return a shape: -1, 0 or 1."""
    if sign not in (-1, 0, 1):
        raise ValueError(f"monotonic_cst holds {sign!r}: shapes are 1 to rise, -1 to fall and 0 for any.")
    return int(sign)


def read_pairs(given: Any, n_features: int, names: np.ndarray | None) -> Any:
    """Return the parameter `pairs` with positions for names, each pair once."""
    if not isinstance(given, list):
        return given if isinstance(given, str) else int(given)
    found = []
    for pair in given:
        both = {position_of(column, "pairs", n_features, names) for column in pair}
        if len(pair) != 2 or len(both) != 2:
            raise ValueError(f"pairs holds {pair!r}: a pair is two different columns.")
        found.append((min(both), max(both)))
    return sorted(set(found))
