"""The checks that scikit-learn does not make: two classes with weight, and indices inside of their arrays.

They are made in the public functions. The code below these trusts its arrays.

Sparse arrays are checked before SciPy or a compiled loop follows their indices. SciPy's `check_format` looks at no
index if the last entry of `indptr` is 0 or less, and its loops then read and write wherever the other entries point.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._compat import check_sample_weight
from .._text import ArgumentError
from .arrays import to_host

BLOCK = 1 << 16
DASK_NOT_SUPPORTED = (
    "The stochastic algorithms and partial_fit take one row after the other, and not the partitions of a Dask "
    "collection: use fit of AUCClassifier or of another batch estimator, or compute() X and y first."
)
DEVICE_NOT_SUPPORTED = (
    "The stochastic algorithms and partial_fit take one row after the other in memory, and not rows on a device: use "
    "fit of AUCClassifier or of another batch estimator, or copy X and y to NumPy arrays first."
)
GAPS = (
    "Input X contains NaN. Fit a TableClassifier, which takes missing values, or put TableEncoder before this "
    "estimator, as in make_pipeline(TableEncoder(), AUCClassifier())."
)
MISSING = ("None", "nan", "<NA>", "NaT")  # labels that are not text, as text
MANY_CLASSES = 20  # of numbers, with which they look like measurements
LEAST_WEIGHT = float(np.finfo(np.float64).tiny)  # below, numbers lose digits, and sums of them their signs
INTEGERS = "biu"  # kinds of labels, booleans among them: they are finite, and any two of them are classes


class TooManyColumnsError(ArgumentError):
    """Rows that are too wide for an estimator, or for the memory that the user names."""


def one_of(*ways: str | None) -> str:
    """Return what a user can do, as "a, b, or c"; None is left out."""
    *others, last = [way for way in ways if way is not None]
    return f"{', '.join(others)}, or {last}" if others else last


def is_dask(values: Any) -> bool:
    """Return whether something is a Dask collection, without importing Dask."""
    return "dask" in sys.modules and sys.modules["dask"].is_dask_collection(values)


def refuse_dask(what: str, **others: Any) -> None:
    """Raise a ValueError if something that belongs to arrays in memory is a Dask collection."""
    for name, values in others.items():
        if is_dask(values):
            raise ValueError(f"{name} is a Dask collection, but {what} is not: compute() {name} first.")


def check_all_finite(X: Any) -> None:
    """Raise a ValueError if X is not finite, which says what to do about missing values."""
    with naming_text(None):
        assert_all_finite(X, input_name="X")


def refuse_masked(**others: Any) -> None:
    """Raise a ValueError if something is a masked array with masked cells: NumPy would use what is under the mask."""
    for name, values in others.items():
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise ValueError(f"{name} has masked cells, and the values under the mask are not data: fill or drop them.")


@contextmanager
def naming_text(X: Any) -> Iterator[None]:
    """Say what to do about frames that are no matrix of numbers: columns of text, of one name, or with gaps."""
    names = [*getattr(X, "columns", ())] if hasattr(X, "dtypes") else []
    twice = next((name for name in names if names.count(name) > 1), None) if len({*names}) < len(names) else None
    if twice is not None:
        raise ValueError(f"X has {names.count(twice)} columns called {twice!r}: rename all but one of them.")
    try:
        yield
    except (ValueError, TypeError) as error:
        if "Input X contains NaN" in str(error):
            raise ValueError(GAPS) from None
        name = find_text(X)
        if name is None:
            raise
        raise ValueError(
            f"X has columns that are not numbers, such as {name!r}: put TableEncoder before this estimator, as in "
            "make_pipeline(TableEncoder(), AUCClassifier())."
        ) from error


def find_text(X: Any) -> str | None:
    """Return the name of the first column of a pandas or polars frame that is neither a number nor a truth value."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return None
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if not re.match(r"(u?int|float|bool|double|decimal)", str(dtype).lower()):
            return str(name)
    return None


def check_rows(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X as float32 or float64, dense or canonical CSR, and y. Whether X is finite is checked in its moments."""
    X = check_indices(X)
    refuse_masked(y=y)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, input_name="X")
    y = column_or_1d(check_array(to_host(y), ensure_2d=False, dtype=None, input_name="y"))
    check_consistent_length(X, y)
    return canonical(X), y


def check_labels(y: np.ndarray, classes: np.ndarray) -> None:
    """Raise a ValueError unless every label is one of the classes."""
    strange = ~np.isin(y, classes)
    if strange.any():
        raise ValueError(f"y holds {y[strange].tolist()[0]!r}, but the classes are {classes.tolist()}.")


def find_classes(y: np.ndarray, name: str = "y") -> np.ndarray:
    """Return the two classes of `y`, sorted, in one pass and without a copy of it.

    They have this machine's byte order, as in model files. ``np.unique`` would sort a copy, which takes a tenth of
    the time of an exact fit at half a million rows.

    Texts of any kind, such as ``np.str_``, become ``str``. So all labels that are accepted can be saved. One class,
    more than two, gaps, continuous values, records, durations, bytes, complex numbers and extended doubles are refused.
    """
    if y.dtype.kind in "VmSc" or y.dtype.char == "g":
        raise ValueError(f"{name} holds labels of the type {str(y.dtype)[:60]}: make them integers, doubles or text.")
    if y.ndim != 1:
        y = column_or_1d(y, warn=True)
    check_present(y, name)
    first, second = y[0], None
    for start in range(0, len(y), BLOCK):
        block = y[start : start + BLOCK]
        other = block != first
        if second is None and other.any():
            second = block[other.argmax()]
        if second is not None and np.any(other & (block != second)):
            check_classification_targets(y)
            n_classes, advice = len(np.unique(y)), "Wrap the estimator in sklearn.multiclass.OneVsRestClassifier."
            if n_classes > MANY_CLASSES and y.dtype.kind in "iuf":
                advice = "It looks like a regression target: make it two classes, such as y > np.median(y)."
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{name} holds {n_classes} classes. {advice}"
            )
    if second is None:
        raise ValueError(f"AUC needs two classes, but {name} holds only one class: {np.asarray(first).item()!r}.")
    try:
        classes = np.sort(np.asarray([first, second], dtype=y.dtype.newbyteorder("=")))
    except TypeError:
        raise ValueError(
            f"The classes of {name} cannot be sorted: {first!r} and {second!r} are of two kinds."
        ) from None
    if y.dtype.kind not in INTEGERS:
        check_classification_targets(classes)
    if y.dtype.kind == "O":
        classes[:] = [str.__str__(label) for label in classes]
    return classes


def check_present(y: np.ndarray, name: str = "y") -> np.ndarray:
    """Return labels; raise a ValueError if some are missing."""
    if y.dtype.kind == "O" and any(not isinstance(label, str) and str(label) in MISSING for label in y):
        raise ValueError(f"{name} has missing labels: leave these rows out.")
    if y.dtype.kind not in INTEGERS:
        assert_all_finite(y, input_name=name)
    return y


def stream_classes(y: np.ndarray, classes: Any, known: np.ndarray | None) -> np.ndarray:
    """Return the two classes in a call of `partial_fit`: found in the first call, `known` in later ones.

    A first call with one class in `y` and no `classes` is refused, and a later one with other classes.
    """
    if known is None:
        if classes is None:
            return find_classes(y, "y of this first call (classes=None)")
        return find_classes(np.asarray(classes), "classes")
    if classes is not None and not np.array_equal(np.sort(classes), known):
        raise ValueError(f"classes={list(classes)} differ from the classes of the first call, {known.tolist()}.")
    return known


def check_weights(sample_weight: Any, X: Any, allow_zero: bool = False) -> np.ndarray | None:
    """Return `sample_weight` as one nonnegative float64 weight for each row, or None where every row counts once.

    `allow_zero` allows all weights to be 0, which is right where X is only a part of the data.
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight=sample_weight)
    weights: np.ndarray = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=allow_zero
    )
    largest = float(weights.max(initial=0.0))
    if 0 < largest < LEAST_WEIGHT:
        raise ValueError(f"The largest of sample_weight is {largest:.3g}, below what numbers hold: scale them.")
    return weights


def check_groups(groups: Any, X: Any) -> np.ndarray | None:
    """Return one group for each row, or None."""
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(X, groups)
    if (groups != groups).any() or (groups.dtype.kind == "O" and any(str(group) in MISSING for group in groups)):
        raise ValueError("groups has missing values: give each row a group, or leave these rows out.")
    try:
        np.unique(groups)
    except TypeError:
        raise ValueError("groups must be of one type, such as numbers or text, got several that do not sort.") from None
    return groups


def check_class_weights(totals: np.ndarray, classes: np.ndarray) -> None:
    """Raise a ValueError unless each class has weight."""
    for label, total in zip(classes.tolist(), totals, strict=True):
        if not total > 0:
            raise ValueError(f"AUC needs two classes, but class {label!r} has no row with a weight above 0.")


def check_indices(X: Any) -> Any:
    """Return X, as CSR if SciPy makes its arrays; raise a ValueError if an index leads out of its arrays.

    This comes before scikit-learn's checks, which convert matrices, and follow every index in doing so. The matrix is
    made anew of the same arrays, so that SciPy looks whether indices are sorted and unique: what an old matrix knows
    about them is wrong if its arrays were changed since. Masked cells are refused.
    """
    refuse_masked(X=X)
    if sparse.issparse(X) and X.ndim == 2:
        if X.format not in ("csr", "csc", "bsr", "coo"):
            X = X.tocsr()
        try:
            check_sparse(X)
        except ValueError as error:
            raise ValueError(f"X is not a valid {X.format.upper()} matrix: {error}") from None
        arrays = (X.data, (X.row, X.col)) if X.format == "coo" else (X.data, X.indices, X.indptr)
        X = type(X)(arrays, shape=X.shape)
    return X


def canonical(X: Any) -> Any:
    """Return X, or a canonical copy if X is CSR with unsorted or repeated column indices."""
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Sequence[int]) -> None:
    """Raise a ValueError unless the arrays make a CSR matrix of this shape.

    Values beyond the last entry of `indptr` belong to no row.
    """
    n_rows, n_columns = shape
    arrays = {"data": data, "indices": indices, "indptr": indptr}
    for name, array in arrays.items():
        if array.ndim != 1:
            raise ValueError(f"{name} of a CSR matrix has the shape {array.shape}, but one axis is accepted.")
        if name != "data" and array.dtype.kind not in "iu":
            raise ValueError(f"{name} of a CSR matrix is of type {array.dtype}, but whole numbers are accepted.")
    if len(indptr) != n_rows + 1:
        raise ValueError(f"indptr has {len(indptr)} entries, but {n_rows} rows take one more than there are rows.")
    if len(indices) != len(data):
        raise ValueError(f"indices has {len(indices)} entries, but data has {len(data)}.")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > len(indices):
        raise ValueError(
            "indptr must begin with 0, must not decrease, and must end with at most "
            f"{len(indices)}, the number of indices."
        )
    used = indices[: indptr[-1]]
    if used.size and (used.min() < 0 or used.max() >= n_columns):
        raise ValueError(f"indices must be from 0 to {n_columns - 1}, but {used.min()} to {used.max()} were found.")


def check_sparse(X: Any) -> None:
    """Raise a ValueError if an index of a CSR, CSC, BSR or COO matrix leads out of its arrays.

    SciPy makes the arrays of other formats itself, from lists, dicts or diagonals.
    """
    if X.format == "csr":
        check_csr(X.data, X.indices, X.indptr, X.shape)
    elif X.format == "csc":
        check_csr(X.data, X.indices, X.indptr, X.shape[::-1])
    elif X.format == "bsr":
        _, height, width = X.data.shape
        check_csr(X.data[:, 0, 0], X.indices, X.indptr, (X.shape[0] // height, X.shape[1] // width))
    elif X.format == "coo":
        for numbers, size in zip((X.row, X.col), X.shape, strict=True):
            if len(numbers) != len(X.data):
                raise ValueError(f"row and col must have {len(X.data)} entries, as data has, but have {len(numbers)}.")
            if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
                raise ValueError(
                    f"row and col must be from 0 to {size - 1}, but {numbers.min()} to {numbers.max()} were found."
                )
