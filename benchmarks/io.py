"""Files: how fast they are read, what a fit by blocks costs beside reading alone, and that its memory does not grow.

    python benchmarks/io.py [--repeats 3] [--write docs/files.md]

Reading is a pass over all blocks, from a warm cache of the file system. A fit by blocks makes two or three passes: its
time is that of all of them. Memory is the largest resident set of a process of its own, `aucmax fit`, interpreter and
libraries included; what both sizes share is what does not depend on the file.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from realdata import DATA_DIR, SOURCES, available
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from timing import Table, side_by_side

from aucmax import OPAUC, SOLAM, AUCClassifier
from aucmax.files import open_source
from aucmax.streaming import fit_stream
from aucmax.streaming.block_rows import BlockRows

N_FEATURES = 30
MEMORY = 1 << 30
FITTED = {
    "alpha given": ["--alpha", "1"],
    "cross-validated": ["--loss", "squared"],
    "SOLAM": ["--algorithm", "SOLAM(max_iter=1)"],
}
PEAK = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "aucmax", *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def make_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.random(n_rows) < 0.1
    X = rng.standard_normal((n_rows, N_FEATURES)) + 0.3 * y[:, None] * rng.standard_normal(N_FEATURES)
    return X.round(6), y.astype(np.int64)


def write_table(folder: Path, X: np.ndarray, y: np.ndarray) -> pa.Table:
    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    pa.csv.write_csv(table, folder / "rows.csv")
    pa.parquet.write_table(table, folder / "rows.parquet", row_group_size=100_000)
    dump_svmlight_file(X, y, str(folder / "rows.libsvm"), zero_based=False)
    return table


def read_all(path: Path) -> tuple[sparse.csr_array, np.ndarray]:
    return open_source(path).read()


def read_blocks(path: Path) -> int:
    source = open_source(path, with_target=True)
    n_bytes = BlockRows.open(AUCClassifier(), source, memory=MEMORY).passes.n_bytes  # as the fits do
    return sum(block.X.shape[0] for block in source.blocks(n_bytes))


# The LIBSVM reader


def libsvm_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield files of LIBSVM text, unpacked: short and sparse, short and dense, numbers of full precision."""
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


def fits() -> Iterator[tuple[str, int, Callable[[Path], object]]]:
    """Yield names, numbers of passes and fits."""
    yield "alpha given", 2, lambda path: fit_stream(AUCClassifier("squared", alpha=0.1), path, memory=MEMORY)
    yield "cross-validated", 2, lambda path: fit_stream(AUCClassifier("squared"), path, memory=MEMORY)
    solam, opauc = SOLAM(max_iter=1, shuffle=False), OPAUC(max_iter=1, shuffle=False)
    yield "SOLAM, one epoch", 3, lambda path: fit_stream(solam, path, memory=MEMORY)
    yield "OPAUC, one epoch", 3, lambda path: fit_stream(opauc, path, memory=MEMORY)


def measure_fits(table: Table, folder: Path, n_rows: int, repeats: int) -> None:
    for suffix in ("csv", "parquet", "libsvm"):
        path = folder / f"rows.{suffix}"
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        for name, n_passes, fit in fits():
            time, alone = side_by_side(partial(fit, path), partial(read_blocks, path), repeats)
            value = f"{time / alone:.1f} ({n_rows / time:,.0f} to {n_rows / alone:,.0f} rows/s)"
            table.report(f"{suffix} of {size}, {name}, {n_passes} passes: times one reading", value, "none set", True)


# Memory


def measure_memory(table: Table, folder: Path, n_small: int, growth: int) -> None:
    """Fit a file and one that repeats its rows, each in a process of its own."""
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
                arguments = ["fit", str(path), "-o", str(folder / "model"), "--force", "--quiet", "--memory", "1GiB"]
                arguments += [*options, "--checkpoint", str(folder / "checkpoint")]
                done = subprocess.run([sys.executable, "-c", PEAK, *arguments], capture_output=True, text=True)
                peaks.append(int(done.stdout))
            sizes = " and ".join(f"{path.stat().st_size / 1e6:,.0f} MB" for path in paths)
            value = f"{peaks[1] / peaks[0]:.2f} ({peaks[0] / 1e6:.0f} to {peaks[1] / 1e6:.0f} MB)"
            table.report(
                f"peak memory, {suffix} of {sizes}, {name}", value, "1, within a tenth", peaks[1] < 1.1 * peaks[0]
            )
            table.report("  within --memory 1GiB", f"{max(peaks) / 1e6:.0f} MB", "<= 1074 MB", max(peaks) <= MEMORY)
        for path in paths:
            path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--growth", type=int, default=8, help="how many times larger the large file is")
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    table = Table("what", "measured", "bar")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure_libsvm(table, folder, arguments.repeats)
        write_table(folder, *make_rows(arguments.rows))
        measure_fits(table, folder, arguments.rows, arguments.repeats)
        measure_memory(table, folder, 3, arguments.growth)
    if arguments.write:
        table.write(arguments.write, "make io")


if __name__ == "__main__":
    main()
