"""What the kernel features of `KMeansNystroem` cost.

    python -m aucmax_studies nystroem [--repeats 7] [--write docs/measured/nystroem.md]

The time of `transform` is compared with that of its two matrix products alone, each made by one call of BLAS: the rows
times the landmarks, and the kernel times the normalisation. `aucmax reproduce psam-table-3` measures how well the
features rank.
"""

import argparse
from pathlib import Path

import numpy as np

from aucmax import KMeansNystroem

from ..common.timing import Table, peak_memory, side_by_side

TRANSFORM_BAR = 2


def costs(repeats: int) -> list[str]:
    """Return the table of what `transform` costs on 20,000 rows with the columns of covtype."""
    table = Table("what", "measured (ours to theirs)", "bar")
    for dtype in (np.float64, np.float32):
        X = np.random.default_rng(0).standard_normal((20_000, 54)).astype(dtype)
        for n_components in (400, 1600):
            transformer = KMeansNystroem(n_components, random_state=0).fit(X)
            U, normalization = transformer.components_, transformer.normalization_
            times = side_by_side(
                lambda X=X, t=transformer: t.transform(X), lambda X=X, U=U, N=normalization: X @ U.T @ N, repeats
            )
            what = f"transform, 20,000 x 54, {n_components} landmarks, {dtype.__name__}"
            table.report_times(f"{what}: times its products", times, f"<= {TRANSFORM_BAR}", at_most=TRANSFORM_BAR)
            size = len(X) * normalization.shape[1] * X.itemsize
            peak = peak_memory(lambda X=X, t=transformer: t.transform(X))
            table.report(
                f"{what}: peak memory over the result", f"{(peak - size) / 1e6:.0f} MB", "none set", holds=True
            )
    return table.lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", type=Path, help="write the page")
    arguments = parser.parse_args()
    lines = costs(arguments.repeats)
    if arguments.write:
        head = [
            "# What kernel features cost",
            "",
            "Made by `make study NAME=nystroem`.",
            "",
            __doc__.split("\n\n", 2)[2],
        ]
        arguments.write.write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    main()
