"""The partitions of Dask collections: lists of blocks, side by side, since an array may be cut between columns too."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from ..blocks.block import Sizes
from ..validate import (
    canonical,
    check_class_weights,
    check_indices,
    check_weights,
    find_classes,
    is_dask,
    naming_text,
)


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


def join_columns(blocks: list[Any]) -> Any:
    """Return the blocks of the same rows as one; Dask of 2025.2 joins no sparse arrays itself."""
    return blocks[0] if len(blocks) == 1 else (sparse.hstack if sparse.issparse(blocks[0]) else np.hstack)(blocks)


def read_features(blocks: list[Any], name: str) -> Any:
    """Return the rows of a partition: float32 or float64, dense or canonical CSR."""
    X = join_columns([check_indices(block) for block in blocks])
    kinds = [np.float64, np.float32]
    options = {"dtype": kinds, "ensure_all_finite": False, "ensure_min_samples": 0, "input_name": name}
    with naming_text(blocks[0]):
        X = check_array(X, accept_sparse="csr", **options)
    return canonical(X)


def shape_of(blocks: list[Any], name: str) -> tuple[int, bool]:
    """Return the number of columns of a partition, and whether it is CSR."""
    X = read_features(blocks, name)
    return X.shape[1], sparse.issparse(X)


def read_labels(blocks: list[Any]) -> np.ndarray:
    """Return the labels of a partition."""
    labels = blocks[0]
    # Dask makes texts of labels that are objects, and texts with gaps can neither be sorted nor compared.
    if hasattr(labels, "isna") and np.any(labels.isna()):
        raise ValueError("Input y contains NaN.")
    return column_or_1d(labels)


def read_weights(number: int, blocks: list[Any] | None, y: np.ndarray) -> np.ndarray | None:
    """Return the weights of a partition."""
    if blocks is None:
        return None
    check_length(number, "sample_weight", blocks[0], y)
    return check_weights(np.asarray(blocks[0]), y, allow_zero=True) if len(y) else np.zeros(0)


def check_length(number: int, name: str, values: Any, y: np.ndarray) -> None:
    """Raise a ValueError unless a partition has as many rows as y has there."""
    if values.shape[0] != len(y):
        raise ValueError(f"Partition {number} of {name} has {values.shape[0]} rows, but y has {len(y)}.")


# What the first pass determines


class LabelSizes(NamedTuple):
    """The sizes of one partition for each of its labels, before it is known which classes there are."""

    n_rows: int
    labels: np.ndarray  # (n_labels,): the labels, sorted
    # (n_labels,): number of rows with a weight above 0, and the weight of all rows, of each label.
    counts: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, number: int, y: list[Any], sample_weight: list[Any] | None) -> LabelSizes:
        """Return the sizes of a partition."""
        of_rows = read_labels(y)
        weights = read_weights(number, sample_weight, of_rows)
        labels, inverse = np.unique(of_rows, return_inverse=True)
        usable = None if weights is None else weights > 0
        counts = np.bincount(inverse, usable, len(labels)).astype(np.int64)
        return cls(len(of_rows), labels, counts, np.bincount(inverse, weights, len(labels)).astype(np.float64))

    def by_class(self, classes: np.ndarray, n_features: int) -> Sizes:
        """Return the sizes for the two classes."""
        counts, totals = np.zeros(2, dtype=np.int64), np.zeros(2)
        for c, label in enumerate(classes):
            own = self.labels == label
            counts[c], totals[c] = self.counts[own].sum(), self.totals[own].sum()
        return Sizes(self.n_rows, counts, totals, self.n_rows * n_features)


class FirstPass(NamedTuple):
    """What the first pass determines."""

    classes: np.ndarray  # (2,): the negative and the positive label
    n_features: int
    is_sparse: bool  # whether the blocks are CSR
    partitions: list[Sizes]  # the sizes of each partition; of CSR rows, without the number of stored values
    sizes: Sizes  # of all rows together

    @classmethod
    def of(cls, name: str, n_features: int, is_sparse: bool, found: list[LabelSizes]) -> FirstPass:
        """Return the result, from the sizes of all partitions."""
        labels = [partition.labels for partition in found if partition.n_rows]
        if not labels:
            raise ValueError(f"{name} and y have no rows.")
        # Twice, since scikit-learn warns of labels that hardly ever repeat.
        classes = find_classes(np.repeat(np.concatenate(labels), 2))
        partitions = [partition.by_class(classes, n_features) for partition in found]
        sizes = functools.reduce(Sizes.merge, partitions)
        check_class_weights(sizes.totals, classes)
        return cls(classes, n_features, is_sparse, partitions, sizes)
