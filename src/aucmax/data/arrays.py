"""The operations that NumPy arrays and arrays on a device do not have in common.

An array *on a device* belongs to another namespace of the array API standard: a CuPy array, or a PyTorch tensor. Code
for both calls the functions of their namespace, and where the standard has none, those below. Neither CuPy nor PyTorch
is imported here.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np
from array_api_compat import numpy as numpy_namespace
from scipy import special
from sklearn.utils._array_api import _convert_to_numpy, get_config

HOST = ("numpy", "scipy", "pandas", "polars", "builtins")  # packages whose arrays and lists are in memory
GPU = ("cupy", "cupyx")


def on_device(values: Any) -> bool:
    """Return whether an array is to be used where it is.

    That holds for CuPy arrays and for tensors on an accelerator. It holds for other arrays of the standard, such as
    PyTorch tensors in memory, if ``sklearn.set_config(array_api_dispatch=True)`` asks for it. It never holds for NumPy.
    """
    package = type(values).__module__.partition(".")[0]
    if package in HOST or package in GPU:
        return package in GPU
    if isinstance(values, np.ndarray) or not array_api_compat.is_array_api_obj(values):
        return False
    elsewhere = package == "torch" and values.device.type != "cpu"
    return bool(elsewhere or get_config()["array_api_dispatch"])


def namespace(array: Any) -> Any:
    """Return the namespace of an array: NumPy for one in memory."""
    return numpy_namespace if isinstance(array, np.ndarray) else array_api_compat.array_namespace(array)


def to_numpy(array: Any) -> np.ndarray:
    """Return an array of any kind as one of NumPy."""
    if not array_api_compat.is_array_api_obj(array):
        return np.asarray(array)
    return _convert_to_numpy(array, namespace(array))


def to_host(values: Any) -> Any:
    """Return an array on a device as one of NumPy, and other values unchanged."""
    return to_numpy(values) if on_device(values) else values


def place_beside(values: Any, array: Any, dtype: Any = None) -> Any:
    """Return values of any kind as an array of the namespace and on the device of another."""
    xp = namespace(array)
    device = array_api_compat.device(array)
    if not (array_api_compat.is_array_api_obj(values) and namespace(values) is xp):
        values = np.ascontiguousarray(to_numpy(values))
    return xp.asarray(values, dtype=dtype, device=device)


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
    """Rows on a device, sorted by their bin: sums over bins are differences of prefix sums.

    The standard has no sum by index. Adding in place by index would also add in another order each time, and slowly if
    many rows share a bin.

    Parameters
    ----------
    slots : array of int64, shape (n,)
        The bin of each row.
    n_bins : int
        Number of bins.
    """

    def __init__(self, slots: Any, n_bins: int) -> None:
        xp = namespace(slots)
        self.order = xp.argsort(slots)
        edges = xp.arange(n_bins + 1, dtype=slots.dtype, device=array_api_compat.device(slots))
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
