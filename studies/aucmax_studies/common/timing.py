"""What the studies share: two sides timed in turn, and a table of ratios with the bar beside each."""

import os
import platform
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import sklearn

import aucmax

from .markdown import replace_block


def seconds(function: Callable[[], Any]) -> float:
    """Return the time of a call, after a pause in which idle threads of the previous call go to sleep."""
    time.sleep(0.2)
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def side_by_side(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int, warm_up: bool = True) -> list[float]:
    """Return the median times of two functions that take turns."""
    if warm_up:
        ours(), theirs()
    return [median(times) for times in zip(*[(seconds(ours), seconds(theirs)) for _ in range(repeats)], strict=True)]


def peak_memory(function: Callable[[], Any]) -> int:
    """Return the most bytes that NumPy and Python held at once during a call."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Table:
    """A table of measured values; each row is printed when it is added."""

    def __init__(self, *header: str) -> None:
        versions = f"aucmax {aucmax.__version__}, scikit-learn {sklearn.__version__}, NumPy {np.__version__}"
        machine = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        self.lines = [f"{versions}, {machine}, {time.strftime('%Y-%m-%d')}.", ""]
        self.lines += [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
        print("\n".join(self.lines))

    def row(self, *cells: str) -> None:
        """Add a row."""
        self.lines.append(f"| {' | '.join(cells)} |")
        print(self.lines[-1], flush=True)

    def report(self, name: str, value: str, bar: str, holds: bool) -> None:
        """Add a measured value and its bar, the value that the project wants to reach."""
        self.row(name, value.strip(), f"{bar}{'' if holds else ' (missed)'}")

    def report_times(
        self, name: str, times: list[float], bar: str, at_most: float | None = None, at_least: float = 0
    ) -> None:
        """Add a ratio of two times and its bar."""
        ours, theirs = times
        if at_most is not None:
            value, holds = f"{ours / theirs:.2f}", ours / theirs <= at_most
        else:
            value, holds = f"{theirs / ours:.1f}", theirs / ours >= at_least
        self.report(name, f"{value} ({1000 * ours:.0f} to {1000 * theirs:.0f} ms)", bar, holds)

    def write(self, path: Path, command: str) -> None:
        """Put the table between the marks of this command in a page."""
        replace_block(path, command, "\n".join(self.lines))
