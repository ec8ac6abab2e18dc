"""Raw tables in Dask dataframes: summaries of the partitions are merged, and rows become features lazily."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import numpy as np
from scipy import sparse

from ...tables.reading import Overrides, Reading
from ...tables.reading.frames import to_arrow
from ...tables.reading.summary import ColumnSummary
from ...tables.reading.table import Tally, check_faults, make_reading, merge_summaries, mixed_columns, summarise_table
from .tasks import compute


def learn_partitions(X: Any, overrides: Overrides) -> tuple[Reading, list[Tally]]:
    """Learn how to read the columns of a Dask dataframe.

    Returns the reading, and what was found in the columns of each partition. The row number of a fault counts from the
    start of its partition.
    """
    import dask

    partitions, together = X.to_delayed(), dask.delayed(list, pure=False)
    summary, look = dask.delayed(summarise_partition, pure=False), dask.delayed(look_at_partition, pure=False)

    def summarise(frames: Any, texts: Collection[str] = ()) -> dict[str, ColumnSummary]:
        found = compute(together([summary(frame, overrides, texts) for frame in frames]))
        return merge_summaries([each for each in found if each])

    summaries = summarise(partitions)
    mixed = mixed_columns(summaries)
    if mixed:
        again = [name for name in X.columns if str(name) in mixed]
        summaries |= summarise(X[again].to_delayed(), mixed)
    reading = make_reading(summaries, overrides)
    tallies = compute(together([look(reading, frame) for frame in partitions]))
    return reading, [tally for each in tallies for tally in each]


def summarise_partition(frame: Any, overrides: Overrides, texts: Collection[str]) -> dict[str, ColumnSummary]:
    """Return the summaries of the columns of a partition; none if it is empty."""
    table = to_arrow(frame)
    return summarise_table(table, overrides, texts) if table.num_rows else {}


def look_at_partition(reading: Reading, frame: Any) -> list[Tally]:
    """Return what was met in the columns of a partition."""
    return reading.codes(to_arrow(frame))[1]


def transform_lazily(reading: Reading, X: Any, output: str, n_columns: int, is_sparse: bool) -> Any:
    """Return the rows of a Dask dataframe as a lazy array with `n_columns` columns, dense or CSR.

    `output` is what `Reading.convert` makes of them.
    """
    import dask
    import dask.array as da

    convert = dask.delayed(functools.partial(convert_partition, reading, output), pure=False)
    meta = sparse.csr_array((0, n_columns)) if is_sparse else np.empty((0, n_columns))
    blocks = [da.from_delayed(convert(part), (np.nan, n_columns), meta=meta) for part in X.to_delayed()]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def convert_partition(reading: Reading, output: str, frame: Any) -> Any:
    """Return a partition as `output` says."""
    codes, tallies = reading.codes(to_arrow(frame))
    check_faults(tallies)
    return reading.convert(codes, output)
