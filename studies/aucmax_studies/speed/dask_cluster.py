"""Fits on a Dask cluster: time over workers and partitions, bytes moved, the same files in one process, larger data.

    python -m aucmax_studies dask [--rows 2000000] [--columns 40] [--partitions 4 16 64] [--write PAGE]

The rows are float64 in Parquet files, one file for each partition, which are read again in every pass. Two Gaussian
classes, 10% of the rows positive. Workers are processes with one thread each, on this machine. A fit is that of
``AUCClassifier("squared")``, with its search on a sample of the rows. Times are medians of three fits, the cluster's
after one that is not counted. Bytes are those that the workers have sent, by Dask's own counters
(`transfer_outgoing_bytes_total`), and passes are graphs that a fit has computed over all rows.

The last table computes what larger data would take from rates that are measured here:

- the seconds that one worker takes for a row in a pass, by Dask's record of tasks, and the number of passes;
- the seconds that a partition takes in a pass whatever its rows, from passes over many partitions of one row;
- the bytes a second between two workers, as Dask's log of transfers has them;
- the bytes of the summaries, from the counters of the fit.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from aucmax import AUCClassifier, open_rows
from aucmax.rows.dask.rows import DaskRows

from ..common.markdown import replace_block
from ..common.timing import Table

COMMAND = "make study NAME=dask"
REPEATS = 3
POSITIVE = 0.1
FOLDS = 5
TINY_PARTITIONS, SENT_BYTES = 1000, 1 << 28
LARGE, LARGE_WORKERS, LARGE_PARTITION = (10**9, 10**11), 100, 1_000_000


class ClusterFit(NamedTuple):
    """What a fit on a cluster took."""

    seconds: float
    passes: int
    tasks: int
    sent: float  # bytes that the workers have sent
    busy: float  # seconds of all tasks that read and sum partitions


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

    free = {"host": "127.0.0.1", "dashboard_address": ":0"}  # any free port: other clusters may be running
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, **free) as workers, Client(workers) as client:
        yield client


def read_rows(pattern: str) -> tuple[Any, Any]:
    """Return the rows of the files and their labels."""
    import dask.dataframe as dd

    frame = dd.read_parquet(pattern)
    return frame.drop(columns="label"), frame["label"]


def fit_on(client: Any, pattern: str) -> tuple[Any, ClusterFit]:
    """Return the fitted classifier, and what the median fit took."""
    n_parts = len(list(Path(pattern).parent.glob(Path(pattern).name)))
    client.get_task_stream()  # tasks are recorded from now on
    classifier().fit(*read_rows(pattern))
    found = []
    for _ in range(REPEATS):
        before, start = bytes_sent(client), time.time()
        model = classifier().fit(*read_rows(pattern))
        seconds = time.time() - start
        tasks = client.get_task_stream(start=start)
        summing = [task for task in tasks if "run_partition" in task["key"]]
        busy = sum(span["stop"] - span["start"] for task in summing for span in task["startstops"])
        passes = round(len({task["key"] for task in summing}) / n_parts)  # a task may run twice
        found.append(ClusterFit(seconds, passes, len(tasks), bytes_sent(client) - before, busy))
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


class Rates(NamedTuple):
    """What a pass costs.

    Attributes
    ----------
    passes : int
        Number of passes of a fit.
    row : float
        Seconds of the tasks of one worker for a row in a pass.
    partition : float
        Seconds for a partition in a pass, whatever its rows: the graph, the scheduler and the merging tasks.
    summary : float
        Bytes that are sent for a partition in a pass.
    bandwidth : float
        Bytes a second between two workers.
    """

    passes: int
    row: float
    partition: float
    summary: float
    bandwidth: float


def measure_rates(client: Any, pattern: str, n_rows: int, n_parts: int) -> Rates:
    """Return the rates on a cluster, which has two workers or more."""
    _, fit = fit_on(client, pattern)
    row, summary = fit.busy / (fit.passes * n_rows), fit.sent / (fit.passes * n_parts)
    return Rates(fit.passes, row, seconds_of_a_partition(), summary, bytes_a_second(client))


def seconds_of_a_partition() -> float:
    """Return what a partition of one row takes in a pass."""
    import dask.array as da

    n = TINY_PARTITIONS
    rows = DaskRows(da.zeros((n, 1), chunks=1), da.arange(n, chunks=1) % 2)
    assert rows.n_rows == n  # the first pass
    return median_seconds(lambda: rows.reduce(lambda targets: len(targets.positive))) / n


def bytes_a_second(client: Any) -> float:
    """Return the bytes a second at which one worker receives an array from another, by Dask's log of transfers."""
    first, second, *_ = client.scheduler_info()["workers"]
    rates = []
    for _ in range(REPEATS):
        array = client.submit(np.ones, SENT_BYTES // 8, workers=[first], pure=False)
        client.submit(len, array, workers=[second], pure=False).result()
        log = client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log)[-1], workers=[second])
        rates.append(log[second]["total"] / log[second]["duration"])
    return median(rates)


def measure(folder: Path, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of the page."""
    frame = make_rows(arguments.rows, arguments.columns)
    patterns = {n_parts: write_parts(folder, frame, n_parts) for n_parts in arguments.partitions}
    fits: dict[tuple[int, int], ClusterFit] = {}
    X, y = frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()
    expected = classifier().fit(X, y).coef_
    worst = 0.0
    table = Table("where", "partitions", "seconds", "of one worker", "passes", "tasks", "MB sent", "MB a pass")
    for n_workers in arguments.workers:
        with cluster(n_workers) as client:
            for n_parts, pattern in patterns.items():
                model, fit = fit_on(client, pattern)
                fits[n_workers, n_parts] = fit
                worst = max(worst, np.abs(model.coef_ - expected).max() / np.abs(expected).max())
                alone = fits[arguments.workers[0], n_parts].seconds
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
            if n_workers == arguments.workers[-1]:
                middle = arguments.partitions[len(arguments.partitions) // 2]
                rates = measure_rates(client, patterns[middle], arguments.rows, middle)
    n_parts = arguments.partitions[0]
    alone = fits[arguments.workers[0], n_parts].seconds
    for where, fit_here in (
        ("`open_rows`, one process", lambda: classifier().fit_rows(open_rows(patterns[n_parts], target="label"))),
        ("memory, without reading", lambda: classifier().fit(X, y)),
    ):
        seconds = median_seconds(fit_here)
        table.row(where, str(n_parts), f"{seconds:.2f}", f"{seconds / alone:.2f}", "", "", "", "")
    yield (
        f"{arguments.rows:,} rows of {arguments.columns} columns. Weights differ from those of memory by at most "
        f"{worst:.0e}."
    )
    yield "\n".join(table.lines)
    yield from on_paper(rates)


def on_paper(rates: Rates) -> Iterator[str]:
    """Yield what larger data would take on many workers."""
    yield (
        f"Measured: a fit makes {rates.passes} passes, and one over the labels. In a pass a worker takes "
        f"{1e6 * rates.row:.2f} \N{MICRO SIGN}s for a row. A partition takes {1e3 * rates.partition:.2f} ms whatever "
        f"its rows, one after the other in the scheduler and in the process that fits. For each partition "
        f"{rates.summary / 1e6:.1f} MB of summaries are sent, and a worker receives {rates.bandwidth / 1e6:,.0f} MB a "
        f"second from another one on the same machine."
    )
    yield (
        f"Assumed: {LARGE_WORKERS} workers with one thread each, which read as fast as here however many they are and "
        f"share all partitions evenly; partitions of {LARGE_PARTITION:,} rows; a network that has this speed between "
        f"all workers at once; no failures. In seconds:"
    )
    parts = ("reading and summing", "sending summaries", "scheduling")
    lines = [f"| rows | {' | '.join(parts)} | bottleneck |", "|---" * (len(parts) + 2) + "|"]
    for n_rows in LARGE:
        n_parts = n_rows / LARGE_PARTITION
        seconds = (
            rates.passes * n_rows * rates.row / LARGE_WORKERS,
            rates.passes * n_parts * rates.summary / rates.bandwidth / LARGE_WORKERS,
            (rates.passes + 1) * n_parts * rates.partition,
        )
        bottleneck = parts[int(np.argmax(seconds))]
        lines.append(f"| {n_rows:.0e} | {' | '.join(f'{value:,.1f}' for value in seconds)} | {bottleneck} |")
    yield "\n".join(lines)
    even = rates.row * LARGE_PARTITION * rates.passes / ((rates.passes + 1) * rates.partition)
    yield (
        f"Scheduling is done by one process: with partitions of this size it takes as long as reading from {even:,.0f} "
        f"workers on. Larger partitions move that point up in proportion."
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--partitions", type=int, nargs="+", default=[4, 16, 64])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="the last number is two or more")
    parser.add_argument("--write", type=Path, help="the page whose block is replaced")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        text = "\n\n".join(measure(Path(folder), arguments))
    print(text)
    if arguments.write:
        replace_block(arguments.write, COMMAND, text)


if __name__ == "__main__":
    main()
