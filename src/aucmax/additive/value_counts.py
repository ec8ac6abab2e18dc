"""The distinct values of a column and the weight of each, as a summary that merges.

Up to `limit` distinct values are kept exactly, so the summary is what all rows at once would give. With more, its
memory stays fixed and its ranks have an error, whose bound it knows.

A summary is a list of *runs*: sorted values with the weight of each. Two neighbouring runs of like length become one as
long as this has at most `limit` values. Two that have more are joined if they are of the same *level*, and then thinned
to about half the limit: values of little weight are replaced by the largest of their neighbours. This is the scheme of
Munro and Paterson (1980), made for weights. A value passes through as many thinnings as its run has levels, and their
number grows with the logarithm of the number of rows. A thinning moves ranks by less than the weight of one group,
about 4 / limit of the weight of the run. Nothing is random, so the same blocks give the same summary.

Summaries are dicts of numbers and arrays, which checkpoints and Dask can hold: "absent" is the weight of missing
values, and each of "runs" a level, the bound of its error, its values and their weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Counts = dict[str, Any]
ALL_VALUES = 1 << 22  # of all columns together
LEAST, MOST = 1 << 12, 1 << 16  # of one column


class Values(NamedTuple):
    """A column, summarised.

    Attributes
    ----------
    values : ndarray of shape (m,)
        The distinct values that are not missing, increasing; some of them if there were too many.
    mass : ndarray of shape (m,)
        The weight of each; of one that stands for others, their weight too.
    absent : float
        The weight of missing values.
    error : float
        The weight by which the rank of a value may be wrong; 0 if all distinct values are there.
    """

    values: np.ndarray
    mass: np.ndarray
    absent: float
    error: float


def limit_of(n_columns: int) -> int:
    """Return how many values of a column are kept exactly, given the number of columns."""
    return int(np.clip(ALL_VALUES // max(n_columns, 1), LEAST, MOST))


def no_values() -> Counts:
    """Return the summary of no rows."""
    return {"absent": 0.0, "runs": []}


def add_values(counts: Counts, x: np.ndarray, weights: np.ndarray, limit: int) -> None:
    """Add the values of some rows, in place; those without weight are not seen."""
    missing = np.isnan(x)
    present = ~missing & (weights > 0)
    counts["absent"] += float(weights[missing].sum())
    if present.any():
        push(counts["runs"], [0, 0.0, *distinct(x[present], weights[present], "quicksort")], limit)


def merge_counts(first: Counts, second: Counts, limit: int) -> Counts:
    """Return the summary of the rows of both, and change neither."""
    merged = {"absent": first["absent"] + second["absent"], "runs": list(first["runs"])}
    for run in second["runs"]:
        push(merged["runs"], run, limit)
    return merged


def finish_counts(counts: Counts) -> Values:
    """Return all runs together."""
    run: list[Any] = [0, 0.0, np.zeros(0), np.zeros(0)]
    for other in counts["runs"]:
        run = join(run, other)
    return Values(run[2], run[3], counts["absent"], run[1])


def push(runs: list[Any], run: list[Any], limit: int) -> None:
    """Append a run, and join it with those before it where the scheme says so, in place."""
    while True:
        if len(run[2]) > limit:
            run = thin(run, limit // 2)
        if not runs or len(runs[-1][2]) > 2 * len(run[2]):  # so a value is joined a few times, not with every block
            break
        joined = join(runs[-1], run)
        if len(joined[2]) > limit and runs[-1][0] != run[0]:
            break
        runs.pop()
        run = joined
    runs.append(run)


def join(a: list[Any], b: list[Any]) -> list[Any]:
    """Return two runs as one, with the higher level."""
    # A stable sort merges two sorted runs in one go.
    both = distinct(np.concatenate([a[2], b[2]]), np.concatenate([a[3], b[3]]), "stable")
    return [max(a[0], b[0]), a[1] + b[1], *both]


def distinct(values: np.ndarray, mass: np.ndarray, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ones of some values, increasing, and the weight of each; `kind` is that of the sort."""
    order = np.argsort(values, kind=kind)
    values = values[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[first], np.add.reduceat(mass[order], first) if len(first) else mass


def thin(run: list[Any], n_groups: int) -> list[Any]:
    """Return a run of at most about `n_groups` values, one level higher.

    Neighbours are grouped by their middle ranks. A value as heavy as a group stays by itself, and so does the smallest.
    """
    level, error, values, mass = run
    size = mass.sum() / n_groups
    groups = np.floor((np.cumsum(mass) - mass / 2) / size)
    alone = mass >= size
    alone[0] = True
    last = np.append((np.diff(groups) > 0) | alone[1:], True) | alone
    first = np.append(0, np.flatnonzero(last)[:-1] + 1)
    together = np.add.reduceat(mass, first)
    moved = together - mass[last]
    return [level + 1, error + float(moved.max(initial=0.0)), values[last], together]
