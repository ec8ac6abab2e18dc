"""Time and memory of fits as rows and columns grow, beside LogisticRegression.

    python -m aucmax_studies growth [--quick] [--fresh] [--write docs/measured/scaling.md]

Each fit runs in a new process. It loads the rows, fits a hundred of them so that kernels are compiled before the
timing, and then fits all. Short fits are made three times, and the median counts. Memory is the peak of the resident
set during the first fit, minus its size before that fit, so the rows are not counted. The peak is `VmHWM`, which is
reset just before the fit. If the system cannot reset it, loading may have left a higher peak, and the number is a lower
bound. Less than 1 MB counts as 1 MB. A fit is stopped after 60 s, and some are killed because memory runs out. Such a
method is not tried on larger data.

The slope is that of log time or log memory over log size, by least squares on the upper half of the sizes: 1 means
linear growth, 0 no growth. There is none if a value is off the line by a factor of two or more.

The data are generated as float64; 10% of the rows are positive. Dense columns are standardised and correlated (five
factors), and the classes are Gaussian with a best AUC of 0.86. Sparse rows are CSR: 60 draws from columns whose
frequencies decrease as 1/rank, weighted like words (tf-idf) and scaled to length 1. LogisticRegression uses the columns
unscaled; the other methods scale them, and their times include that. OPAUCr is OPAUC with sketches of 50 columns.

Results are saved after each fit, and a stopped run can be resumed; `--fresh` measures everything again. `--quick`
measures small sizes only and saves no results, unless `--results` names a file. `--write` writes the page and its
figures.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from aucmax.files.atomic_write import write_atomically

from .. import RESULTS_DIR
from ..common.machine import describe_machine, find_versions
from ..common.timing import seconds

RESULTS = RESULTS_DIR / "growth.json"
LIMIT = 60.0  # seconds that a fit may take
REPEATS, SHORT = 3, 3.0  # fits of fewer seconds than this are repeated
MEGABYTE = 10**6
BLOCK = 100_000
OFF_THE_LINE = 2.0  # the factor by which a value may differ from the line of a slope
POSITIVE = 0.1  # share of the rows
N_FACTORS, BEST_AUC = 5, 0.86
N_DRAWS, N_TOPIC = 60, 2  # columns a sparse row draws; how many of them a positive one draws from its topic

Cell = dict[str, Any]


# The data


def write_dense(folder: Path, n_rows: int, n_features: int) -> None:
    """Write Gaussian classes x = B'f + e + y delta, standardised by their true variances, block by block."""
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    B = rng.standard_normal((N_FACTORS, n_features))
    delta = rng.standard_normal(n_features)
    # The covariance is I + B'B, and the best AUC is Phi(D / sqrt(2)), D the Mahalanobis distance of the classes.
    inner = np.linalg.solve(np.eye(N_FACTORS) + B @ B.T, B @ delta)
    delta *= math.sqrt(2) * norm.ppf(BEST_AUC) / math.sqrt(delta @ delta - (B @ delta) @ inner)
    scale = 1 / np.sqrt(1 + (B**2).sum(axis=0) + POSITIVE * (1 - POSITIVE) * delta**2)

    y = rng.random(n_rows) < POSITIVE
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n_rows, n_features))
    for start in range(0, n_rows, BLOCK):
        rows = X[start : start + BLOCK]
        rows[:] = rng.standard_normal(rows.shape)
        rows += rng.standard_normal((len(rows), N_FACTORS)) @ B
        rows += (y[start : start + BLOCK, None] - POSITIVE) * delta
        rows *= scale
    X.flush()
    np.save(folder / "y.npy", y.astype(np.int64))


def write_sparse(folder: Path, n_rows: int, n_features: int) -> None:
    """Write rows of tf-idf; positive ones draw some of their columns from a tenth of all."""
    from sklearn.feature_extraction.text import TfidfTransformer

    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < POSITIVE

    def ranks(n_ranks: int) -> np.ndarray:
        return (n_ranks ** rng.random((n_rows, N_DRAWS))).astype(np.int64) - 1

    columns = ranks(n_features)
    topic = rng.permutation(n_features)[: n_features // 10]
    columns[y, :N_TOPIC] = topic[ranks(len(topic))[y, :N_TOPIC]]
    starts = N_DRAWS * np.arange(n_rows + 1)
    counts = sparse.csr_array((np.ones(columns.size), columns.ravel(), starts), shape=(n_rows, n_features))
    counts.sum_duplicates()
    X = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"{part}.npy", getattr(X, part).astype(np.float64 if part == "data" else np.int32))
    np.save(folder / "shape.npy", X.shape)
    np.save(folder / "y.npy", y.astype(np.int64))


def load(folder: Path) -> tuple[np.ndarray | sparse.csr_array, np.ndarray]:
    """Return the rows and labels that one of the above has written."""
    parts = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    if "X" in parts:
        return parts["X"], parts["y"]
    csr = parts["data"], parts["indices"], parts["indptr"]
    return sparse.csr_array(csr, shape=tuple(parts["shape"])), parts["y"]


# What is measured


class Series(NamedTuple):
    """Sizes at which methods are measured.

    Attributes
    ----------
    title : str
        What the page calls it.
    axis : str
        What grows: "rows" or "columns".
    sizes, quick : sequence of int
        The sizes, and those of a quick run.
    methods : sequence of str
        Names that `make` knows.
    write : callable
        Writes the data of a size into a folder.
    """

    title: str
    axis: str
    sizes: Sequence[int]
    quick: Sequence[int]
    methods: Sequence[str]
    write: Callable[[Path, int], None]


OURS = ("exact fit", "squared hinge", "PSAM")
LOGISTIC = "LogisticRegression"
SERIES = {
    "rows": Series(
        "Rows, 20 dense columns",
        "rows",
        [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000],
        [1_000, 10_000],
        [*OURS, "OPAUC", LOGISTIC],
        lambda folder, size: write_dense(folder, size, 20),
    ),
    "columns": Series(
        "Dense columns, 10,000 rows",
        "columns",
        [10, 30, 100, 300, 1_000, 2_000, 4_000],
        [10, 100],
        [*OURS, "OPAUC", LOGISTIC],
        lambda folder, size: write_dense(folder, 10_000, size),
    ),
    "sparse": Series(
        "Sparse columns, 20,000 rows of about 50 nonzeros",
        "columns",
        [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000],
        [1_000, 10_000],
        [*OURS, "OPAUCr", LOGISTIC],
        lambda folder, size: write_sparse(folder, 20_000, size),
    ),
}


def make(method: str) -> Any:
    """Return the estimator of a method."""
    from sklearn.linear_model import LogisticRegression

    from aucmax import OPAUC, PSAM, AUCClassifier

    return {
        "exact fit": AUCClassifier("squared", alpha=1e-3),
        "squared hinge": AUCClassifier("squared_hinge", alpha=1e-3),
        "PSAM": PSAM(random_state=0),
        "OPAUC": OPAUC(random_state=0),
        "OPAUCr": OPAUC(rank=50, random_state=0),
        LOGISTIC: LogisticRegression(max_iter=1000),
    }[method]


def high_water() -> int:
    """Return the most bytes that this process has held since `lower_water`, or ever."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def lower_water() -> None:
    """Reset the high-water mark to what the process holds now, after giving unused memory back to the system."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # a fit could use such memory without raising the mark
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def measure(folder: Path, method: str, limit: float) -> Cell:
    """Return times and memory of a fit in this process; a fit of more than `limit` seconds ends the process."""
    X, y = load(folder)
    make(method).fit(X[:100], y[:100])
    lower_water()
    before = high_water()
    times: list[float] = []
    while not times or (times[0] < SHORT and len(times) < REPEATS):
        signal.setitimer(signal.ITIMER_REAL, limit)  # without a handler the signal ends the process, even in a kernel
        times.append(seconds(lambda: make(method).fit(X, y)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        if len(times) == 1:
            n_bytes = high_water() - before
    return {"seconds": times, "bytes": n_bytes}


def measure_apart(folder: Path, method: str, limit: float) -> Cell:
    """Return what `measure` returns in a new process; no seconds if that was ended."""
    command = [sys.executable, "-m", "aucmax_studies", "growth", "--cell", str(folder), method, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True)
    ended = {-signal.SIGALRM: f"> {limit:g}", -signal.SIGKILL: "killed"}
    if done.returncode in ended:
        return {"seconds": None, "ended": ended[done.returncode]}
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        raise RuntimeError(f"{method} failed: {reason}")
    cell: Cell = json.loads(done.stdout)
    return cell


# A run


def environment() -> dict[str, str]:
    """Return versions and machine."""
    versions = ", ".join(f"{name} {number}" for name, number in find_versions().items())
    return {"versions": versions, "machine": describe_machine()}


class Results:
    """The cells measured so far, one for each size and method, in a file that is written after each of them."""

    def __init__(self, path: Path, fresh: bool = False) -> None:
        self.path = path
        self.kept: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), **environment(), "cells": []}
        if path.exists() and not fresh:
            self.kept = self._read(set(self.kept))

    def _read(self, names: set[str]) -> dict[str, Any]:
        with suppress(ValueError):
            kept = json.loads(self.path.read_text())
            if isinstance(kept, dict) and names <= set(kept):
                return kept
        raise ValueError(f"{self.path} holds no results of this benchmark: name another file, or begin with --fresh.")

    def check_environment(self) -> None:
        """Raise a ValueError if the file comes from another machine or other versions: its times must be comparable."""
        now = environment()
        if now != {name: self.kept[name] for name in now}:
            raise ValueError(
                f"{self.path} was measured with {self.kept['versions']} on {self.kept['machine']}, which is not what "
                "runs now: measure all of it again with --fresh."
            )

    def cells(self, series: str, method: str) -> dict[int, Cell]:
        """Return the cells of a method by size, in increasing order."""
        found = [cell for cell in self.kept["cells"] if (cell["series"], cell["method"]) == (series, method)]
        return {cell["size"]: cell for cell in sorted(found, key=lambda cell: cell["size"])}

    def is_due(self, series: str, method: str, size: int) -> bool:
        """Return whether a cell was not measured yet and no smaller one took too long."""
        cells = self.cells(series, method)
        too_long = any(cell["seconds"] is None for smaller, cell in cells.items() if smaller < size)
        return size not in cells and not too_long

    def add(self, cell: Cell) -> None:
        """Add a cell and save the file."""
        self.kept["cells"].append(cell)
        text = json.dumps(self.kept, indent=1) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, lambda file: file.write(text.encode()))


def run(results: Results, sizes: dict[str, Sequence[int]], limit: float = LIMIT) -> None:
    """Measure the cells that are due at these sizes of each series."""
    for name in sizes:
        for size in sizes[name]:
            due = [method for method in SERIES[name].methods if results.is_due(name, method, size)]
            if not due:
                continue
            results.check_environment()
            with tempfile.TemporaryDirectory() as folder:
                SERIES[name].write(Path(folder), size)
                for method in due:
                    cell = {
                        "series": name,
                        "size": size,
                        "method": method,
                        **measure_apart(Path(folder), method, limit),
                    }
                    results.add(cell)
                    print(
                        f"{name:8}{size:>11,}  {method:20}{time_text(cell):>8} s{memory_text(cell):>8} MB", flush=True
                    )


# The page


def slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of the logarithms by least squares on the upper half of the points, NaN if there is none."""
    if len(sizes) < 2:
        return math.nan
    upper = slice(-max(2, math.ceil(len(sizes) / 2)), None)
    x, y = np.log(sizes[upper]), np.log(values[upper])
    rise, start = np.polyfit(x, y, 1)
    is_a_line = np.abs(start + rise * x - y).max() < math.log(OFF_THE_LINE)
    return float(rise) if is_a_line else math.nan


def slope_text(sizes: Sequence[float], values: Sequence[float]) -> str:
    value = slope(sizes, values)
    return "none" if math.isnan(value) else f"{round(value, 2) + 0:.2f}".replace("-", "\N{MINUS SIGN}")


def time_text(cell: Cell) -> str:
    if cell["seconds"] is None:
        return str(cell["ended"])
    return f"{median(cell['seconds']):#.3g}".rstrip(".")


def memory_text(cell: Cell) -> str:
    if cell["seconds"] is None:
        return ""
    return f"{cell['bytes'] / MEGABYTE:,.0f}" if cell["bytes"] >= MEGABYTE else "< 1"


class Quantity(NamedTuple):
    """What a table shows of each cell.

    Attributes
    ----------
    title : str
        Its name.
    text : callable
        Returns the text of a cell, for tables.
    value : callable
        Returns the number of a cell, for slopes and figures.
    """

    title: str
    text: Callable[[Cell], str]
    value: Callable[[Cell], float]


QUANTITIES = (
    Quantity("Time of a fit (s)", time_text, lambda cell: median(cell["seconds"])),
    Quantity("Memory of a fit (MB)", memory_text, lambda cell: max(1, cell["bytes"] / MEGABYTE)),
)


def line(results: Results, series: str, method: str, quantity: Quantity) -> tuple[list[int], list[float]]:
    """Return the sizes that a method was measured at, and the values."""
    cells = {size: cell for size, cell in results.cells(series, method).items() if cell["seconds"] is not None}
    return list(cells), [quantity.value(cell) for cell in cells.values()]


def table(results: Results, name: str, quantity: Quantity) -> list[str]:
    """Return a table with a row for each size, and one for the slopes."""
    series = SERIES[name]
    cells = [results.cells(name, method) for method in series.methods]
    rows = [[series.axis, *series.methods]]
    for size in sorted(set().union(*cells)):
        rows.append([f"{size:,}", *(quantity.text(each[size]) if size in each else "" for each in cells)])
    rows.append(["slope", *(slope_text(*line(results, name, method, quantity)) for method in series.methods)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "|---" + "|--:" * len(series.methods) + "|", *lines[1:]]


def draw(results: Results, name: str, path: Path) -> None:
    """Draw time and memory along the sizes of a series."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Text stays text, and the same figures make the same file.
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "aucmax"})
        figure = Figure(figsize=(10, 4.5), layout="constrained")
        for axes, quantity in zip(figure.subplots(1, 2), QUANTITIES, strict=True):
            for method, marker in zip(SERIES[name].methods, "osD^x", strict=True):
                sizes, values = line(results, name, method, quantity)
                look = {"color": "0.4", "linestyle": "--"} if method == LOGISTIC else {}
                axes.plot(sizes, values, marker=marker, markersize=4, label=method, **look)
            axes.set(xscale="log", yscale="log", xlabel=SERIES[name].axis, ylabel=quantity.title)
            axes.grid(color="0.9")
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        write_atomically(path, lambda file: figure.savefig(file, format="svg", metadata={"Date": None}))


def write_page(results: Results, path: Path) -> None:
    """Write tables and figures of all series that were measured."""
    kept = results.kept
    lines = ["# Scaling", "", "Made by `make study NAME=growth`.", ""]
    lines += [__doc__.split("\n\n", 2)[2], f"Measured on {kept['date']}: {kept['machine']}; {kept['versions']}."]
    measured = {cell["series"] for cell in kept["cells"]}
    for name in (name for name in SERIES if name in measured):
        figure = path.with_name(f"{path.stem}-{name}.svg")
        draw(results, name, figure)
        lines += ["", f"## {SERIES[name].title}", "", f"![{SERIES[name].title}: time and memory]({figure.name})"]
        for quantity in QUANTITIES:
            lines += ["", f"{quantity.title}:", "", *table(results, name, quantity)]
    text = "\n".join([*lines, ""])
    write_atomically(path, lambda file: file.write(text.encode()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument("--fresh", action="store_true", help="measure again what has been measured")
    parser.add_argument("--results", type=Path, help="where results are kept (default: results/growth.json)")
    parser.add_argument("--write", type=Path, help="write the page, and the figures beside it")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.cell:
        folder, method, limit = arguments.cell
        print(json.dumps(measure(Path(folder), method, float(limit))))
        return
    sizes = {name: series.quick if arguments.quick else series.sizes for name, series in SERIES.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.results or (Path(folder) / "scaling.json" if arguments.quick else RESULTS)
        try:
            results = Results(path, arguments.fresh)
            run(results, sizes)
            if arguments.write:
                write_page(results, arguments.write)
        except (OSError, RuntimeError, ValueError) as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
