"""Raw tables in Dask dataframes: summaries and labels of the partitions are merged, and rows become features lazily."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from ...tables.reading import Overrides, Reading
from ...tables.reading.features import deal_folds, is_sparse
from ...tables.reading.frames import to_arrow
from ...tables.reading.summary import ColumnSummary
from ...tables.reading.table import Tally, check_faults, make_reading, merge_summaries, summarise_table
from ..validate import find_classes
from .partitions import align
from .tasks import compute

Finish = Callable[[Reading, np.ndarray, np.ndarray | None], Any]


def learn_partitions(
    X: Any, y: Any, sample_weight: Any, overrides: Overrides
) -> tuple[Reading, np.ndarray, list[Tally]]:
    """Learn how to read the columns of a Dask dataframe; labels and weights serve columns that are target-encoded.

    Returns the reading, the number of rows before each partition, and what was found in the columns of each partition.
    The row number of a fault counts from the start of its partition.
    """
    import dask

    partitions = list(zip(*align({"X": X, "y": y, "sample_weight": sample_weight}), strict=True))
    summary, look = dask.delayed(summarise_partition, pure=False), dask.delayed(look_at_partition, pure=False)
    together = dask.delayed(list, pure=False)
    found = compute(together([summary(frame, overrides) for (frame,), *_ in partitions]))
    n_rows, summaries = zip(*found, strict=True)
    first_rows = np.concatenate([[0], np.cumsum(n_rows)[:-1]]).astype(int)
    reading = make_reading(merge_summaries([each for each in summaries if each]), overrides)
    classes = None
    if any(part.encoded for part in reading.parts) and y is not None:
        labels = compute(together([dask.delayed(np.unique, pure=False)(labels[0]) for _, labels, _ in partitions]))
        classes = find_classes(np.concatenate(labels))
    starts = first_rows.tolist()
    results = compute(
        together([look(reading, classes, start, *each) for start, each in zip(starts, partitions, strict=True)])
    )
    for sums, _ in results:
        total = {name: reading.sums.get(name, 0.0) + each for name, each in sums.items()}
        reading = reading._replace(sums={**reading.sums, **total})
    return reading, first_rows, [tally for _, tallies in results for tally in tallies]


def summarise_partition(frame: Any, overrides: Overrides) -> tuple[int, dict[str, ColumnSummary]]:
    """Return the number of rows of a partition and the summaries of its columns; none if it is empty."""
    table = to_arrow(frame)
    return table.num_rows, summarise_table(table, overrides) if table.num_rows else {}


def look_at_partition(
    reading: Reading, classes: np.ndarray | None, first_row: int, frame: Any, y: Any, weight: Any
) -> tuple[dict[str, np.ndarray], list[Tally]]:
    """Return the sums of target encoding of a partition, and what was met in its columns."""
    codes, tallies = reading.codes(to_arrow(frame[0]))
    if classes is None:
        return {}, tallies
    positive = column_or_1d(np.asarray(y[0])) == classes[1]
    weight = None if weight is None else np.asarray(weight[0], dtype=np.float64)
    return reading.add_labels(codes, positive, deal_folds(first_row, len(codes)), weight).sums, tallies


def transform_lazily(reading: Reading, X: Any, finish: Finish, first_rows: np.ndarray | None, n_columns: int) -> Any:
    """Return the rows of a Dask dataframe as a lazy array with `n_columns` columns.

    `finish` makes features or codes from the codes of a partition and, for training rows, their folds. `first_rows` is
    the number of rows before each partition of training rows; None for other rows.
    """
    import dask
    import dask.array as da

    convert = dask.delayed(functools.partial(convert_partition, reading, finish), pure=False)
    starts = [None] * X.npartitions if first_rows is None else first_rows.tolist()
    meta = sparse.csr_array((0, n_columns)) if is_sparse(reading.parts) else np.empty((0, n_columns))
    blocks = [
        da.from_delayed(convert(part, start), (np.nan, n_columns), meta=meta)
        for part, start in zip(X.to_delayed(), starts, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def convert_partition(reading: Reading, finish: Finish, frame: Any, first_row: int | None) -> Any:
    """Return a partition as features or codes."""
    codes, tallies = reading.codes(to_arrow(frame))
    check_faults(tallies)
    return finish(reading, codes, None if first_row is None else deal_folds(first_row, len(codes)))
