"""Rows in Dask collections: every pass is one graph, in which each partition makes its own state.

The tasks run where Dask runs them: on the workers of the active client, or on the local scheduler. A tree of tasks
merges the states in the order of the rows, and only the last one comes back. Partitions are computed for each pass from
the user's graph, unless the user has persisted the collections.

The first pass reads the labels and weights, and one partition of X. It determines the classes, and the sizes of all
partitions, on which the folds of later passes depend.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.validation import _get_feature_names

from .blocks import KEPT_SHARE, MEMORY, BlockedRows, stack
from .dask_auc import aucs_by_buckets
from .dask_buckets import Splitters, find_splitters, pick
from .dask_fusion import fuse
from .dask_places import places_by_buckets
from .passes import Pass, State
from .places import Places
from .protocol import Targets
from .ranking import aucs_of_scores
from .row_block import LazyVector, RareRows, RowBlock, Sizes, rows_before
from .validation import (
    ONE_AFTER_THE_OTHER,
    canonical,
    check_class_weights,
    check_labels,
    check_weights,
    find_classes,
    is_dask,
)

ARITY = 8  # so many states are merged by one task
GRAPH_LIMIT = "distributed.admin.large-graph-warning-threshold"
WORTH_A_WORD = 100  # what is gathered in this process is announced if it takes a larger share of the memory


class DaskRows(BlockedRows):
    """The rows of Dask collections that have the same partitions.

    The sizes of the partitions need not be known. A partition may be empty or lack a class.

    Parameters
    ----------
    X : Dask array or dataframe of shape (n_rows, n_features)
        The rows; the blocks of an array may be CSR.
    y : Dask array or series of shape (n_rows,)
        Labels of two classes; the larger is the positive one.
    sample_weight : Dask array or series of shape (n_rows,), default=None
        Nonnegative weights.
    groups : Dask array or series of shape (n_rows,), default=None
        Groups of rows that cross-validation keeps together, if its folds are made by group.
    memory : float, default=2 GiB
        About how many bytes may be used in this process, for the results of passes and for samples.

    Attributes
    ----------
    X, y : Dask collection
        The rows and their labels.

    Notes
    -----
    A pass brings back a summary of all rows, with these exceptions: samples, on which candidates are compared; the rows
    of the rarer class for held-out AUCs, if they take at most a sixteenth of the memory; the scores of the rarer class
    for the hinges, which are announced if they take more than a hundredth of it and refused if they take more than
    half; labels and groups for splits of your own.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from aucmax.data.dask import DaskRows
    >>> X = da.from_array(np.arange(10.0).reshape(5, 2), chunks=(3, 2))
    >>> y = da.from_array(np.array(["no", "no", "yes", "no", "yes"]), chunks=3)
    >>> rows = DaskRows(X, y)
    >>> rows.n_rows, rows.counts
    (5, array([3, 2]))
    >>> rows.moments().mean
    array([[2.66666667, 3.66666667],
           [6.        , 7.        ]])
    """

    _warned = False

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, memory: float = MEMORY) -> None:
        self.X, self.y, self.memory = X, y, memory
        self.has_groups = groups is not None
        names = None if is_array(X) else _get_feature_names(X._meta)
        self.feature_names = None if names is None else list(names)
        columns = {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups}
        self._partitions = list(zip(*align(columns), strict=True))

    def __getstate__(self) -> State:
        """Return what tasks know of these rows: the classes and the sizes of all rows together, and no rows."""
        state = {name: value for name, value in vars(self).items() if name not in ("X", "y", "_partitions", "_rare")}
        return {**state, "_first": self._first._replace(partitions=[])}

    # Sizes

    @cached_property
    def _first(self) -> FirstPass:
        """The result of the first pass."""
        import dask

        look = dask.delayed(attempt, pure=False)
        labels = [look(LabelSizes.of, number, *part[1:3]) for number, part in enumerate(self._partitions)]
        looks = [look(shape_of, self._partitions[0][0]), *labels]
        (n_features, is_sparse), *found = compute(dask.delayed(list, pure=False)(looks), looks)
        return FirstPass.of(n_features, is_sparse, found)

    @property
    def classes(self) -> np.ndarray:
        """The negative and the positive label."""
        return self._first.classes

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._first.n_features

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether the rows are CSR."""
        return self._first.is_sparse

    @property
    def _sizes(self) -> Sizes:
        return self._first.sizes

    @cached_property
    def row_length(self) -> float:
        """Mean number of stored values in a row; CSR rows take a pass for it."""

        def step(state: State, block: RowBlock) -> None:
            state["n_values"] += block.X.nnz

        def merge(a: State, b: State) -> State:
            return {"n_values": a["n_values"] + b["n_values"]}

        if not self.is_sparse:
            return float(self.n_features)
        return self._pass("sizes", lambda: {"n_values": 0}, step, merge)["n_values"] / self.n_rows

    def _before(self) -> np.ndarray:
        return rows_before(self._first.partitions)

    # Passes

    def _read(self, task: Pass) -> State:
        import dask

        sent = dask.delayed(self._job(task), pure=False, traverse=False)
        run, merge = dask.delayed(run_partition, pure=False), dask.delayed(merge_states, pure=False)
        states = [run(sent, number, *part) for number, part in enumerate(self._partitions)]
        result = merge_by_tree(functools.partial(merge, sent), states)
        # The graph has what all tasks need, for held-out AUCs the rows of the rarer class. If these were sent to the
        # workers beforehand, they would be lost with the workers.
        with dask.config.set({GRAPH_LIMIT: self.memory}):
            return compute(result, states)

    def _job(self, task: Pass | None) -> Job:
        return Job(task, self.classes, self.n_features, self.totals, np.geterr())

    def iterate(self, *arguments: Any, **options: Any) -> State:
        """Raise a ValueError: partitions are not read one after the other."""
        raise ValueError(ONE_AFTER_THE_OTHER)

    def check_memory(self, what: str, n_bytes: float, advice: str) -> None:
        """Raise a ValueError if something would take more than half of the memory; warn once if it takes much."""
        super().check_memory(what, n_bytes, advice)
        if n_bytes > self.memory / WORTH_A_WORD and not self._warned:
            self._warned = True
            warnings.warn(
                f"{what} gathers their scores in this process in every pass, about {n_bytes / 1e6:,.0f} MB: to avoid "
                f"it, {advice}.",
                UserWarning,
                stacklevel=2,
            )

    def rare_rows(self) -> RowBlock | None:
        """Return the rows of the rarer class with a weight above 0 if they fit into memory, else None."""
        return self._rare

    @cached_property
    def _rare(self) -> RowBlock | None:
        rare = int(np.argmin(self.counts))
        if self._bytes_of(self.counts[rare]) > self.memory / KEPT_SHARE:
            return None

        def step(state: State, block: RowBlock) -> None:
            members = np.flatnonzero((block.targets.positive == rare) & block.targets.usable)
            few = block.take(members)
            state["kept"].append([few.X, few.targets.sample_weight, block.numbers[members]])

        def merge(a: State, b: State) -> State:
            return {"kept": a["kept"] + b["kept"]}

        X, weights, numbers = zip(*self._pass("rows", lambda: {"kept": []}, step, merge)["kept"], strict=True)
        positive = np.full(self.counts[rare], bool(rare))
        targets = Targets(positive, None if weights[0] is None else np.concatenate(weights), self.totals)
        return RareRows(stack(list(X)), targets, np.concatenate(numbers))


class DaskScores(DaskRows):
    """Scores in Dask collections, as rows whose columns are vectors of scores.

    Parameters
    ----------
    y, sample_weight : Dask collection
        See :class:`DaskRows`.
    **scores : Dask array, series or dataframe of shape (n_rows,) or (n_rows, n_scores)
        The scores, under the names that errors call them by.
    """

    def __init__(self, y: Any, sample_weight: Any = None, **scores: Any) -> None:
        self.memory = MEMORY
        columns = {name: as_columns(values) for name, values in scores.items()}
        *blocks, labels, weights = align({**columns, "y": y, "sample_weight": sample_weight})
        side_by_side = [[block for part in parts for block in part] for parts in zip(*blocks, strict=True)]
        self._partitions = [(*part, None) for part in zip(side_by_side, labels, weights, strict=True)]
        self._weighted = sample_weight is not None

    def column(self, k: int) -> LazyVector:
        """Return a vector of scores, in float64; scores that are not finite are refused."""

        def entries(block: RowBlock) -> np.ndarray:
            column = np.ascontiguousarray(block.X[:, k], dtype=np.float64)
            assert_all_finite(column, input_name="scores")
            return column

        return LazyVector(self, entries)

    def aucs(self) -> list[float]:
        """Return the AUC of each vector of scores."""
        columns = range(self.n_features)
        if not self._both_are_large:
            return aucs_of_scores(self, *map(self.column, columns))
        few_are_positive = bool(self.counts[1] <= self.counts[0])
        splitters = self._splitters(columns)
        return aucs_by_buckets(self._partitions, splitters, few_are_positive, self._weighted, self._job(None))

    def places(self, *columns: int) -> Places:
        """Return the places of one or two vectors of scores."""
        if self._both_are_large:
            return places_by_buckets(self._partitions, self._splitters(columns), self._job(None))
        return Places.of(self, *map(self.column, columns))

    @property
    def _both_are_large(self) -> bool:
        return float(8 * self.counts.min()) > self.memory / KEPT_SHARE

    def _splitters(self, columns: Sequence[int]) -> dict[int, Splitters]:
        """Return the splitters of vectors of scores, in one pass."""

        def pick_each(targets: Targets, *scores: np.ndarray) -> list[np.ndarray]:
            return list(map(pick, scores))

        picked = self.reduce(pick_each, *map(self.column, columns), merge=lambda a, b: list(map(np.append, a, b)))
        return dict(zip(columns, map(find_splitters, picked), strict=True))


class LabelSizes(NamedTuple):
    """The sizes of one partition for each of its labels, before it is known which classes there are.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    labels : ndarray of shape (n_labels,)
        The labels, sorted.
    counts, totals : ndarray of shape (n_labels,)
        Number of rows with a weight above 0, and the weight of all rows, of each label.
    """

    n_rows: int
    labels: np.ndarray
    counts: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, number: int, y: list[Any], sample_weight: list[Any] | None) -> LabelSizes:
        """Return the sizes of a partition."""
        of_rows = read_labels(y)
        weights = read_weights(number, sample_weight, of_rows)
        labels, places = np.unique(of_rows, return_inverse=True)
        usable = None if weights is None else weights > 0
        counts = np.bincount(places, usable, len(labels)).astype(np.int64)
        return cls(len(of_rows), labels, counts, np.bincount(places, weights, len(labels)).astype(np.float64))

    def by_class(self, classes: np.ndarray, n_features: int) -> Sizes:
        """Return the sizes for the two classes."""
        counts, totals = np.zeros(2, dtype=np.int64), np.zeros(2)
        for c, label in enumerate(classes):
            own = self.labels == label
            counts[c], totals[c] = self.counts[own].sum(), self.totals[own].sum()
        return Sizes(self.n_rows, counts, totals, self.n_rows * n_features)


class FirstPass(NamedTuple):
    """What the first pass determines.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The negative and the positive label.
    n_features : int
        Number of columns.
    is_sparse : bool
        Whether the blocks are CSR.
    partitions : list of Sizes
        The sizes of each partition; of CSR rows, without the number of stored values.
    sizes : Sizes
        Those of all rows.
    """

    classes: np.ndarray
    n_features: int
    is_sparse: bool
    partitions: list[Sizes]
    sizes: Sizes

    @classmethod
    def of(cls, n_features: int, is_sparse: bool, found: list[LabelSizes]) -> FirstPass:
        """Return the result, from the sizes of all partitions."""
        labels = [partition.labels for partition in found if partition.n_rows]
        if not labels:
            raise ValueError("X and y have no rows.")
        # Twice, since scikit-learn warns of labels that hardly ever repeat.
        classes = find_classes(np.repeat(np.concatenate(labels), 2))
        partitions = [partition.by_class(classes, n_features) for partition in found]
        sizes = functools.reduce(Sizes.merge, partitions)
        check_class_weights(sizes.totals, classes)
        return cls(classes, n_features, is_sparse, partitions, sizes)


# Partitions. Each is a list of blocks, side by side: an array may be cut between columns too.


def is_array(collection: Any) -> bool:
    """Return whether a Dask collection is an array, and not a dataframe or a series."""
    return hasattr(collection, "numblocks")


def as_columns(scores: Any) -> Any:
    """Return a Dask array or series of one dimension as a single column."""
    if not is_dask(scores) or scores.ndim > 1:
        return scores
    return scores[:, None] if is_array(scores) else scores.to_frame()


def align(columns: dict[str, Any]) -> list[list[Any]]:
    """Return the partitions of collections, as tasks; None for each partition of a collection that is None."""
    found: list[list[Any]] = []
    first = next(iter(columns))
    for name, collection in columns.items():
        if collection is None:
            found.append([None] * len(found[0]))
            continue
        if not is_dask(collection):
            raise ValueError(
                f"{name} must be a Dask collection with the partitions of {first}, got {type(collection).__name__}."
            )
        # Arrays without optimisation, which would compute what X and y have in common once for each of them. Dataframes
        # are simplified, so that only the columns that are used are read, but no more: the next stage would join
        # partitions of the labels, which are small.
        simple = collection if is_array(collection) else collection.simplify()
        parts = simple.to_delayed(optimize_graph=False)
        found.append(np.reshape(parts, (len(parts), -1)).tolist())
        if len(parts) != len(found[0]):
            raise ValueError(f"{name} has {len(parts)} partitions, but {first} has {len(found[0])}.")
    return found


def read_features(blocks: list[Any]) -> Any:
    """Return the rows of a partition: float32 or float64, dense or canonical CSR."""
    X = blocks[0] if len(blocks) == 1 else (sparse.hstack if sparse.issparse(blocks[0]) else np.hstack)(blocks)
    kinds = [np.float64, np.float32]
    X = check_array(X, accept_sparse="csr", dtype=kinds, ensure_all_finite=False, ensure_min_samples=0, input_name="X")
    return canonical(X)


def shape_of(blocks: list[Any]) -> tuple[int, bool]:
    """Return the number of columns of a partition, and whether it is CSR."""
    X = read_features(blocks)
    return X.shape[1], sparse.issparse(X)


def read_labels(blocks: list[Any]) -> np.ndarray:
    """Return the labels of a partition."""
    return column_or_1d(blocks[0])


def read_weights(number: int, blocks: list[Any] | None, y: np.ndarray) -> np.ndarray | None:
    """Return the weights of a partition."""
    if blocks is None:
        return None
    check_length(number, "sample_weight", blocks[0], y)
    return check_weights(np.asarray(blocks[0]), y, allow_zero=True) if len(y) else np.zeros(0)


def check_length(number: int, name: str, values: Any, y: np.ndarray) -> None:
    """Raise a ValueError unless a partition has as many rows as that of y."""
    if values.shape[0] != len(y):
        raise ValueError(f"Partition {number} of {name} has {values.shape[0]} rows, but that of y has {len(y)}.")


# Tasks


class Job(NamedTuple):
    """What the tasks of a pass have in common; it is sent once.

    Attributes
    ----------
    task : Pass or None
        The pass, if there is one.
    classes, n_features, totals
        Those of the rows.
    errors : dict
        How the caller treats floating-point errors; the threads of tasks do not know.
    """

    task: Pass | None
    classes: np.ndarray
    n_features: int
    totals: np.ndarray
    errors: Any

    def block(self, number: int, X: list[Any], y: list[Any], weights: list[Any] | None, groups: Any) -> RowBlock:
        """Return the block of a partition."""
        features, labels = read_features(X), read_labels(y)
        check_length(number, "X", features, labels)
        if features.shape[1] != self.n_features:
            raise ValueError(
                f"Partition {number} of X has {features.shape[1]} columns, but the first one has {self.n_features}."
            )
        check_labels(labels, self.classes)
        if groups is not None:
            groups = column_or_1d(groups[0])
            check_length(number, "groups", groups, labels)
        sample_weight = read_weights(number, weights, labels)
        return RowBlock(features, Targets(labels == self.classes[1], sample_weight, self.totals, groups))

    def state(self, number: int, *partition: Any) -> State:
        """Return the state of one partition."""
        assert self.task is not None
        with np.errstate(**self.errors):
            state = self.task.begin(number)
            self.task.step(state, self.block(number, *partition))
        return state

    def merged(self, states: list[State]) -> State:
        """Return the state of neighbouring partitions together."""
        assert self.task is not None
        with np.errstate(**self.errors):
            return functools.reduce(self.task.merge, states)


class Failure(NamedTuple):
    """An error of a pass, which is a result: so it is not taken for one of the user's own tasks.

    Attributes
    ----------
    error : Exception
        The error.
    """

    error: Exception


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function, or a Failure."""
    try:
        return function(*arguments)
    except Exception as error:
        return Failure(error)


def run_partition(job: Job, number: int, *partition: Any) -> State | Failure:
    """Return the state of one partition."""
    return attempt(job.state, number, *partition)


def merge_states(job: Job, states: list[State | Failure]) -> State | Failure:
    """Return the state of neighbouring partitions together, or the first Failure."""
    failures = [state for state in states if isinstance(state, Failure)]
    return failures[0] if failures else attempt(job.merged, states)


def merge_by_tree(merge: Callable[[list[Any]], Any], tasks: list[Any]) -> Any:
    """Return the one task that is left when neighbours are merged, ARITY at a time."""
    while len(tasks) > 1:
        tasks = [merge(tasks[k : k + ARITY]) for k in range(0, len(tasks), ARITY)]
    return tasks[0]


def compute(task: Any, tops: Sequence[Any] = ()) -> Any:
    """Return the result of a task, computed as `dask.compute` does; raise its error, or the first one of a list.

    Parameters
    ----------
    task : Delayed
        The task.
    tops : sequence of Delayed
        The tasks that read partitions: each becomes one with all that only it needs (`dask_fusion`).
    """
    import dask

    try:
        (result,) = dask.compute(fuse(task, tops))
    except CancelledError as error:
        raise RuntimeError("Dask has cancelled a pass: the client was closed, or it has lost its scheduler.") from error
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise RuntimeError(f"Dask could not compute a partition: {type(error).__name__}: {reason}") from error
    for found in result if isinstance(result, list) else [result]:
        if isinstance(found, Failure):
            raise found.error
    return result
