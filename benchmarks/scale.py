"""Fits on a Dask cluster: time over workers and partitions, bytes moved, the same files in one process, larger data.

    python benchmarks/scale.py [--rows 2000000] [--columns 40] [--write docs/scale.md]

The rows are float64 in Parquet files, one file for each partition, which are read again in every pass. Two Gaussian
classes, 10% of the rows positive. Workers are processes with one thread each, on this machine. A fit is that of
``AUCClassifier("squared")``: 5 folds of class moments, all alphas, held-out AUCs. Times are medians of three fits, the
cluster's after one that is not counted. Bytes are those that the workers have sent, by Dask's own counters
(`transfer_outgoing_bytes_total`), and passes are graphs that a fit has computed.

The last table computes what larger data would take from rates measured here: rows read and summed by a worker in a
second, the tasks of a partition, and tasks that the scheduler starts in a second. The speed of the network is assumed.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from markdown import replace_block
from timing import Table

from aucmax import AUCClassifier, open_rows

COMMAND = "make scale"
REPEATS = 3
POSITIVE = 0.1
WORKERS, PARTITIONS = (1, 2), (4, 16, 64)
FOLDS, ARITY = 5, 8
LARGE, LARGE_WORKERS, LARGE_PARTITION = (10**9, 10**11), 100, 1_000_000


class ClusterFit(NamedTuple):
    """What a fit on a cluster took."""

    seconds: float
    passes: int
    tasks: int
    sent: float  # bytes that the workers have sent


def make_rows(n_rows: int, n_columns: int) -> Any:
    """Return a dataframe of two Gaussian classes."""
    import pandas as pd

    rng = np.random.default_rng(0)
    shift = rng.standard_normal(n_columns) / math.sqrt(n_columns)
    y = rng.random(n_rows) < POSITIVE
    X = rng.standard_normal((n_rows, n_columns)) + np.outer(y, shift)
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(n_columns)]).assign(label=y.astype(int))


def write_parts(folder: Path, frame: Any, n_parts: int) -> str:
    """Write the rows as Parquet files and return their pattern."""
    for part, rows in enumerate(np.array_split(np.arange(len(frame)), n_parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{n_parts:03d}-{part:03d}.parquet")
    return str(folder / f"part-{n_parts:03d}-*.parquet")


def classifier() -> AUCClassifier:
    """Return the estimator that is fitted everywhere."""
    return AUCClassifier("squared", cv=FOLDS)


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Yield the client of a cluster of processes with one thread each."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as workers,
        Client(workers) as client,
    ):
        yield client


def fit_on(client: Any, pattern: str) -> tuple[AUCClassifier, ClusterFit]:
    """Return the fitted classifier, and what the median fit took."""
    import dask.dataframe as dd

    def fit() -> AUCClassifier:
        frame = dd.read_parquet(pattern)
        return classifier().fit(frame.drop(columns="label"), frame["label"])

    client.get_task_stream()  # tasks are recorded from now on
    fit()
    found = []
    for _ in range(REPEATS):
        before, start = bytes_sent(client), time.time()
        model = fit()
        seconds = time.time() - start
        names = [task["key"] for task in client.get_task_stream(start=start)]
        summed = [name for name in names if "run_partition" in name]
        n_parts = len(list(Path(pattern).parent.glob(Path(pattern).name)))
        passes = round(len(summed) / n_parts)
        found.append(ClusterFit(seconds, passes, len(names), bytes_sent(client) - before))
    return model, sorted(found)[len(found) // 2]


def bytes_sent(client: Any) -> float:
    """Return the bytes that all workers have sent so far, to each other and to this process."""
    return float(sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values()))


def median_seconds(function: Callable[[], Any]) -> float:
    """Return the median time of a call, after one that is not counted."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times[1:])


def measure(folder: Path, n_rows: int, n_columns: int) -> Iterator[str]:
    """Yield the lines of the page."""
    frame = make_rows(n_rows, n_columns)
    patterns = {n_parts: write_parts(folder, frame, n_parts) for n_parts in PARTITIONS}
    fits: dict[tuple[int, int], ClusterFit] = {}
    X, y = frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()
    expected = classifier().fit(X, y).coef_
    worst = 0.0
    table = Table("where", "partitions", "seconds", "of one worker", "passes", "tasks", "MB sent", "MB a pass")
    for n_workers in WORKERS:
        with cluster(n_workers) as client:
            for n_parts, pattern in patterns.items():
                model, fit = fit_on(client, pattern)
                fits[n_workers, n_parts] = fit
                worst = max(worst, np.abs(model.coef_ - expected).max() / np.abs(expected).max())
                alone = fits[WORKERS[0], n_parts].seconds
                table.row(
                    f"cluster of {n_workers}",
                    str(n_parts),
                    f"{fit.seconds:.2f}",
                    f"{fit.seconds / alone:.2f}",
                    str(fit.passes),
                    str(fit.tasks),
                    f"{fit.sent / 1e6:.2f}",
                    f"{fit.sent / 1e6 / fit.passes:.2f}",
                )
    alone = fits[WORKERS[0], PARTITIONS[0]].seconds
    for where, fit_here in (
        ("`open_rows`, one process", lambda: classifier().fit_rows(open_rows(patterns[PARTITIONS[0]], target="label"))),
        ("memory, without reading", lambda: classifier().fit(X, y)),
    ):
        seconds = median_seconds(fit_here)
        table.row(where, str(PARTITIONS[0]), f"{seconds:.2f}", f"{seconds / alone:.2f}", "", "", "", "")
    yield f"{n_rows:,} rows of {n_columns} columns. Weights differ from those of memory by at most {worst:.0e}."
    yield "\n".join(table.lines)
    yield from extrapolate(fits, n_rows, n_columns)


def extrapolate(fits: dict[tuple[int, int], ClusterFit], n_rows: int, n_columns: int) -> Iterator[str]:
    """Yield what larger data would take on many workers, from the rates of the fits."""
    few, many = fits[1, PARTITIONS[0]], fits[1, PARTITIONS[-1]]
    rows_a_second = n_rows * few.passes / few.seconds
    tasks_each = (many.tasks - few.tasks) / (PARTITIONS[-1] - PARTITIONS[0])
    tasks_a_second = (many.tasks - few.tasks) / max(many.seconds - few.seconds, 1e-3)
    state = FOLDS * 2 * n_columns * (n_columns + 1) * 8
    bandwidth = 1e8
    yield (
        f"A worker reads and sums {rows_a_second:,.0f} rows a second (all passes counted); a partition makes "
        f"{tasks_each:.0f} tasks, and each costs {1e3 / tasks_a_second:.1f} ms. A state, the moments of {FOLDS} folds, "
        f"has {state / 1e6:.2f} MB; it is taken to be sent at {bandwidth / 1e6:.0f} MB a second, as by a slow network. "
        f"On {LARGE_WORKERS} workers with "
        f"partitions of {LARGE_PARTITION:,} rows, {few.passes} passes would take, in seconds:"
    )
    header = ["rows", "reading and summing", "merging", "scheduling", "bottleneck"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for rows in LARGE:
        n_parts = rows // LARGE_PARTITION
        tasks = tasks_each * n_parts
        depth = math.ceil(math.log(n_parts, ARITY))
        parts = {
            "reading and summing": few.passes * rows / rows_a_second / LARGE_WORKERS,
            # Each worker sends the states that it has merged itself; then a tree of workers, ARITY states at a time.
            "merging": few.passes * (n_parts / ARITY / LARGE_WORKERS + depth * ARITY) * state / bandwidth,
            "scheduling": tasks / tasks_a_second,
        }
        worst = max(parts, key=lambda name: parts[name])
        lines.append(f"| {rows:.0e} | {' | '.join(f'{value:,.0f}' for value in parts.values())} | {worst} |")
    yield "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--write", type=Path, help="the page whose block is replaced")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n\n".join(measure(Path(folder), arguments.rows, arguments.columns))
    print(text)
    if arguments.write:
        replace_block(arguments.write, COMMAND, text)


if __name__ == "__main__":
    main()
