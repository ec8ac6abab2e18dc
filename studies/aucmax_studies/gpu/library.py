"""Data on a device, made with one library, and times of calls on it."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np


class Library:
    """Makes data on a device with one library."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "cupy":
            import cupy

            self.xp, self.rng = cupy, cupy.random.default_rng(0)
        elif name == "torch":
            import torch

            self.xp = torch
            self.device = "cuda" if torch.cuda.is_available() else "cpu"
            self.rng = torch.Generator(self.device).manual_seed(0)
        else:
            import array_api_strict

            self.xp, self.rng = array_api_strict, np.random.default_rng(0)

    def normal(self, *shape: int) -> Any:
        """Return standard normal values."""
        if self.name == "torch":
            return self.xp.randn(shape, generator=self.rng, device=self.device, dtype=self.xp.float64)
        return self.xp.asarray(self.rng.standard_normal(shape))

    def put(self, values: np.ndarray) -> Any:
        """Return an array on the device."""
        return self.xp.asarray(values, device=self.device) if self.name == "torch" else self.xp.asarray(values)

    def wait(self) -> None:
        """Wait until all work on the device is done."""
        if self.name == "cupy":
            self.xp.cuda.Device().synchronize()
        elif self.name == "torch" and self.device == "cuda":
            self.xp.cuda.synchronize()

    def free(self) -> None:
        """Give memory that is not used back to the device."""
        if self.name == "cupy":
            self.xp.get_default_memory_pool().free_all_blocks()
        elif self.name == "torch" and self.device == "cuda":
            self.xp.cuda.empty_cache()

    def seconds(self, function: Callable[[], Any], repeats: int) -> float:
        """Return the median time of a call, after one that does not count."""
        return median([self.once(function) for _ in range(repeats + 1)][1:])

    def once(self, function: Callable[[], Any]) -> float:
        """Return the time of one call."""
        self.wait()
        start = time.perf_counter()
        function()
        self.wait()
        return time.perf_counter() - start


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the time of a call on the processor, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result
