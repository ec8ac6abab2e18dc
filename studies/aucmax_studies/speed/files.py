"""Files: how fast they are read, what a fit by blocks costs beside reading alone, and that its memory does not grow.

    python -m aucmax_studies files [--repeats 3] [--write docs/measured/files.md]

Reading is one pass over all blocks of a file that is in the cache of the system. The square loss and one epoch of an
online algorithm take two or three passes; Newton's method takes some thirty, of a file that would need eight times the
memory. Memory is the largest resident set of a process, interpreter and libraries included.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from aucmax import OPAUC, SOLAM, AUCClassifier, open_rows
from aucmax.cli.fit import FIT_SHARE
from aucmax.files import open_source
from aucmax.rows.file import INTERPRETER

from ..common.realdata import DATA_DIR, SOURCES, available
from ..common.timing import Table, side_by_side

N_FEATURES = 30
MEMORY = 1 << 30
SUFFIXES = ("csv", "parquet", "libsvm")
FITTED = {
    "alpha given": ["--alpha", "1"],
    "cross-validated": ["--loss", "squared"],
    "SOLAM": ["--algorithm", "SOLAM(max_iter=1)"],
}
# Runs Python and prints its peak memory. A process starts with the peak of the one that it was forked from, so that
# this small one stands between.
PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""
# Fits a file, and then reads it three times with the same blocks. A fit to a small file loads the compiled loops first.
NEWTON = """
import json, statistics, sys, time
from aucmax import AUCClassifier, open_rows

warm_up, path, memory, loss = sys.argv[1:]
fit = lambda path: AUCClassifier(loss, alpha=0.1).fit_rows(open_rows(path, memory=int(memory)))
fit(warm_up)
rows = open_rows(path, memory=int(memory))
begun = time.perf_counter()
clf = AUCClassifier(loss, alpha=0.1).fit_rows(rows)
seconds = time.perf_counter() - begun
readings = []
for _ in range(3):
    begun = time.perf_counter()
    for block in rows.passes.source.blocks(rows.passes.n_bytes):
        pass
    readings.append(time.perf_counter() - begun)
print(json.dumps([clf.coef_[0].tolist(), rows.passes.n_passes, seconds, statistics.median(readings)]))
"""


def make_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < 0.1
    X = rng.standard_normal((n_rows, N_FEATURES)) + 0.3 * y[:, None] * rng.standard_normal(N_FEATURES)
    return X.round(6), y.astype(np.int64)


def write_table(folder: Path, X: np.ndarray, y: np.ndarray, row_group_size: int = 100_000) -> None:
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    pa.csv.write_csv(table, folder / "rows.csv")
    pa.parquet.write_table(table, folder / "rows.parquet", row_group_size=row_group_size)
    dump_svmlight_file(X, y, str(folder / "rows.libsvm"), zero_based=False)


def read_all(path: Path) -> tuple[sparse.csr_array, np.ndarray]:
    return open_source(path).read()[:2]


def read_blocks(path: Path) -> int:
    passes = open_rows(path, memory=MEMORY).passes  # with blocks as the fits have them
    return sum(block.features.shape[0] for block in passes.source.blocks(passes.n_bytes))


# The LIBSVM reader


def libsvm_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield uncompressed LIBSVM files: sparse with short numbers, dense with short numbers, and with all digits."""
    import bz2

    if "a9a" in available():
        (folder / "a9a").write_bytes(10 * bz2.decompress((DATA_DIR / SOURCES["a9a"].files[0]).read_bytes()))
        yield "a9a, ten times over", folder / "a9a"
    if "covtype" in available():
        with np.load(DATA_DIR / SOURCES["covtype"].files[0]) as file:
            X = sparse.csr_array(file["X"][:100_000].astype(np.float64))
            dump_svmlight_file(X, file["y"][:100_000], str(folder / "covtype"), zero_based=False)
        yield "covtype, 100,000 rows", folder / "covtype"
    X = np.random.default_rng(0).standard_normal((40_000, N_FEATURES))
    dump_svmlight_file(X, np.arange(40_000) % 2, str(folder / "gaussian"), zero_based=False)
    yield "Gaussian, all digits", folder / "gaussian"


def measure_libsvm(table: Table, folder: Path, repeats: int) -> None:
    for name, path in libsvm_files(folder):
        ours, theirs = partial(read_all, path), partial(load_svmlight_file, str(path))
        (X, y), (Z, z) = ours(), theirs()
        same = all(np.array_equal(getattr(X, part), getattr(Z, part)) for part in ("data", "indices", "indptr"))
        times = side_by_side(ours, theirs, repeats)
        speeds = [path.stat().st_size / 1e6 / t for t in times]
        value = f"{times[1] / times[0]:.1f} ({speeds[0]:.0f} to {speeds[1]:.0f} MB/s)"
        table.report(f"LIBSVM reader, {name}: faster than load_svmlight_file", value, ">= 4", times[1] >= 4 * times[0])
        table.report("  values identical", "yes" if same and np.array_equal(y, z) else "no", "yes", same)


# Fits by blocks


BY_BLOCKS = {
    "alpha given": AUCClassifier("squared", alpha=0.1),
    "cross-validated": AUCClassifier("squared"),
    "SOLAM, one epoch": SOLAM(max_iter=1, shuffle=False),
    "OPAUC, one epoch": OPAUC(max_iter=1, shuffle=False),
}


def fit_blocks(clf: Any, path: Path) -> int:
    """Fit a file and return the number of passes."""
    rows = open_rows(path, memory=MEMORY)
    clf.fit_rows(rows)
    return rows.passes.n_passes


def measure_fits(table: Table, folder: Path, n_rows: int, repeats: int) -> None:
    for suffix in SUFFIXES:
        path = folder / f"rows.{suffix}"
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        for name, clf in BY_BLOCKS.items():
            n_passes = fit_blocks(clf, path)
            time, alone = side_by_side(partial(fit_blocks, clf, path), partial(read_blocks, path), repeats)
            value = f"{time / alone:.1f} ({n_rows / time:,.0f} to {n_rows / alone:,.0f} rows/s)"
            table.report(f"{suffix} of {size}, {name}, {n_passes} passes: times one reading", value, "none set", True)


# Newton's method by blocks


def measure_newton(table: Table, folder: Path, n_rows: int) -> None:
    """Fit a file in an eighth of the memory that it would take, and an eighth of its rows in the same memory."""
    X, y = make_rows(n_rows)
    large, small, warm_up = (folder / name for name in ("all", "eighth", "warm-up"))
    for each, n in ((large, n_rows), (small, n_rows // 8), (warm_up, 1000)):
        each.mkdir()
        write_table(each, X[:n], y[:n], n_rows // 8)
    for loss in ("squared_hinge", "logistic"):
        expected = AUCClassifier(loss, alpha=0.1).fit(X, y).coef_[0]
        for suffix in SUFFIXES:
            path = large / f"rows.{suffix}"
            needed = FIT_SHARE * open_source(path).memory()
            memory = int(INTERPRETER + needed / 8)
            w, n_passes, seconds, reading, peak = newton(warm_up, path, memory, loss)
            before = newton(warm_up, small / path.name, memory, loss)[-1]
            difference = np.abs(np.array(w) - expected).max() / np.abs(expected).max()
            size = f"{path.stat().st_size / 1e6:,.0f} MB"
            taken = f"{needed / 1e6:,.0f} MB in memory, {needed / 8e6:,.0f} MB here"
            table.report(
                f"{suffix} of {size}, {loss} ({taken}): largest difference from the weights of memory, relative",
                f"{difference:.0e}",
                "<= 1e-8",
                difference <= 1e-8,
            )
            ratio = seconds / (n_passes * reading)
            value = f"{ratio:.2f} ({seconds:.1f} s; {n_passes} passes of {reading:.2f} s)"
            table.report("  time over that of reading as often", value, "<= 1.3", ratio <= 1.3)
            value = f"{peak / before:.2f} ({before / 1e6:.0f} to {peak / 1e6:.0f} MB)"
            table.report(
                "  peak memory, against an eighth of the rows", value, "1, within a tenth", peak < 1.1 * before
            )
            bar = f"<= {memory / 1e6:.0f} MB"
            table.report("  within `--memory`, interpreter included", f"{peak / 1e6:.0f} MB", bar, peak <= memory)


def newton(warm_up: Path, path: Path, memory: int, loss: str) -> tuple[list[float], int, float, float, int]:
    """Return weights, number of passes, seconds, seconds of one reading and peak memory of a fit in a new process."""
    output, peak = run_python("-c", NEWTON, str(warm_up / path.name), str(path), str(memory), loss)
    return *json.loads(output), peak


def run_python(*arguments: str) -> tuple[str, int]:
    """Run Python in a new process; return its output and its peak memory."""
    done = subprocess.run([sys.executable, "-c", PEAK, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    *output, peak = done.stdout.splitlines()
    return "\n".join(output), int(peak)


# Memory


def measure_memory(table: Table, folder: Path, n_small: int, growth: int) -> None:
    """Fit a file and one that repeats its rows, each in a new process."""
    header, _, body = (folder / "rows.csv").read_bytes().partition(b"\n")
    libsvm = (folder / "rows.libsvm").read_bytes()
    for suffix, head, text in (("csv", header + b"\n", body), ("libsvm", b"", libsvm)):
        paths = [folder / f"{size}.{suffix}" for size in ("small", "large")]
        for path, times in zip(paths, (n_small, n_small * growth), strict=True):
            with open(path, "wb") as file:
                file.write(head)
                for _ in range(times):
                    file.write(text)
        for name, options in FITTED.items():
            peaks = []
            for path in paths:
                arguments = ["-m", "aucmax", "fit", str(path), "-o", str(folder / "model"), "--force", "--quiet"]
                arguments += ["--memory", "1GiB", "--checkpoint", str(folder / "checkpoint"), *options]
                peaks.append(run_python(*arguments)[1])
            sizes = " and ".join(f"{path.stat().st_size / 1e6:,.0f} MB" for path in paths)
            value = f"{peaks[1] / peaks[0]:.2f} ({peaks[0] / 1e6:.0f} to {peaks[1] / 1e6:.0f} MB)"
            table.report(
                f"peak memory, {suffix} of {sizes}, {name}", value, "1, within a tenth", peaks[1] < 1.1 * peaks[0]
            )
            table.report("  within `--memory 1GiB`", f"{max(peaks) / 1e6:.0f} MB", "<= 1074 MB", max(peaks) <= MEMORY)
        for path in paths:
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--newton-rows", type=int, default=400_000, help="rows of the files for Newton's method")
    parser.add_argument("--growth", type=int, default=8, help="how many times larger the large file is")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    table = Table("what", "measured", "bar")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_libsvm(table, folder, arguments.repeats)
        write_table(folder, *make_rows(arguments.rows))
        measure_fits(table, folder, arguments.rows, arguments.repeats)
        measure_newton(table, folder, arguments.newton_rows)
        measure_memory(table, folder, 3, arguments.growth)
    if arguments.write:
        table.write(arguments.write, "make study NAME=files")


if __name__ == "__main__":
    main()
