"""The operations that NumPy arrays and arrays on a device do not have in common.

An array *on a device* belongs to another namespace of the array API standard: a CuPy array, or a PyTorch tensor. Code
for both calls the functions of their namespace, and where the standard has none, those below. Neither CuPy nor PyTorch
is imported here, and array-api-compat only if such an array was seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from .._compat import _convert_to_numpy, get_config

HOST = ("numpy", "scipy", "pandas", "polars", "builtins")  # packages whose arrays and lists are in memory
GPU = ("cupy", "cupyx")


def compat() -> Any:
    """Import array-api-compat, which only arrays of other namespaces than NumPy's need."""
    try:
        import array_api_compat
    except ImportError:
        raise ImportError("arrays on a GPU need array-api-compat: pip install 'aucmax[gpu]'") from None
    return array_api_compat


def is_standard(values: Any) -> bool:
    """Return whether an array follows the array API standard and is not NumPy's."""
    in_memory = isinstance(values, np.ndarray | np.generic) or not hasattr(values, "device")
    return not in_memory and bool(compat().is_array_api_obj(values))


def on_device(values: Any) -> bool:
    """Return whether an array is to be used where it is.

    That holds for CuPy arrays and for tensors on an accelerator. It holds for other arrays of the standard, such as
    PyTorch tensors in memory, if ``sklearn.set_config(array_api_dispatch=True)`` asks for it. It never holds for NumPy.
    """
    package = type(values).__module__.partition(".")[0]
    if package in HOST or package in GPU:
        return package in GPU
    elsewhere = package == "torch" and getattr(getattr(values, "device", None), "type", "cpu") != "cpu"
    return bool((elsewhere or get_config()["array_api_dispatch"]) and is_standard(values))


def namespace(array: Any) -> Any:
    """Return the namespace of an array: NumPy for one in memory."""
    return np if isinstance(array, np.ndarray | np.generic) else compat().array_namespace(array)


def device_of(array: Any) -> Any:
    """Return the device of an array: "cpu" for one of NumPy."""
    return "cpu" if isinstance(array, np.ndarray) else compat().device(array)


def to_numpy(array: Any) -> np.ndarray:
    """Return an array of any kind as one of NumPy."""
    if not is_standard(array):
        return np.asarray(array)
    return _convert_to_numpy(array, namespace(array))


def to_host(values: Any) -> Any:
    """Return an array on a device as one of NumPy, and other values unchanged."""
    return to_numpy(values) if on_device(values) else values


def place_beside(values: Any, array: Any, dtype: Any = None) -> Any:
    """Return values of any kind as an array of the namespace and on the device of another."""
    xp = namespace(array)
    device = device_of(array)
    if not (is_standard(values) and namespace(values) is xp):
        values = np.ascontiguousarray(to_numpy(values))
    return xp.asarray(values, dtype=dtype, device=device)


def count_true(mask: Any) -> int:
    """Return how many entries of a mask are true."""
    if isinstance(mask, np.ndarray):
        return int(np.count_nonzero(mask))
    xp = namespace(mask)
    return int(xp.sum(xp.astype(mask, xp.int64)))


def by_class(values: np.ndarray, positive: Any) -> Any:
    """Return one of two values for each row: the second for positive rows."""
    if isinstance(positive, np.ndarray):
        return values[positive.astype(np.intp)]
    xp = namespace(positive)
    return xp.take(place_beside(values, positive), xp.astype(positive, xp.int64))


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    if isinstance(x, np.ndarray):
        return special.expit(x)
    xp = namespace(x)
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small, xp.ones_like(x)) / (1 + small)


def softplus(x: Any) -> Any:
    """Return log(1 + exp(x))."""
    if isinstance(x, np.ndarray):
        return np.logaddexp(0, x)
    xp = namespace(x)
    return xp.where(x > 0, x, xp.zeros_like(x)) + xp.log1p(xp.exp(-xp.abs(x)))


def prefix_sums(values: Any) -> Any:
    """Return the sums of the first 0, 1, ..., n values."""
    return namespace(values).cumulative_sum(values, include_initial=True)


class Bins:
    """Rows on a device, sorted by their bin, which `slots` (n,) gives: sums over bins are differences of prefix sums.

    The standard has no sum by index. Adding in place by index would also add in another order each time, and slowly if
    many rows share a bin.
    """

    def __init__(self, slots: Any, n_bins: int) -> None:
        xp = namespace(slots)
        self.order = xp.argsort(slots, stable=True)
        edges = xp.arange(n_bins + 1, dtype=slots.dtype, device=device_of(slots))
        self.bounds = xp.searchsorted(xp.take(slots, self.order), edges)

    def sums(self, values: Any) -> np.ndarray:
        """Return the sum of the values in each bin."""
        return self.sums_of_sorted(self.sort(values))

    def sort(self, values: Any) -> Any:
        """Return the values in the order of the bins."""
        return namespace(values).take(values, self.order)

    def sums_of_sorted(self, values: Any) -> np.ndarray:
        """Return the sum in each bin of values in the order of the bins."""
        return np.diff(to_numpy(namespace(values).take(prefix_sums(values), self.bounds)))


def point_masses(positive: Any, weights: Any, points: Any, shares: Any, n_points: int) -> np.ndarray:
    """Return the weight of each class at the points of a grid, shape (2, n_points), of rows on a device.

    A row gives this share of its weight to the point after its own, and the rest to its own.
    """
    bins = Bins(points + n_points * namespace(points).astype(positive, points.dtype), 2 * n_points)
    masses = bins.sums(weights * (1 - shares))
    masses[1:] += bins.sums(weights * shares)[:-1]
    return masses.reshape(2, n_points)
