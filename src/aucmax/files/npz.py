"""``.npz`` archives of X and y, read by rows; a position is a number of rows. Nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from ..data.validation import canonical
from .columns import check_width
from .paths import File, is_of_the_disk
from .source import BLOCK_BYTES, Block, Options, Source

NAMES = (("X", "y"), ("X_train", "y_train"))
CSR_NAMES = ("data", "indices", "indptr", "shape")
ACCEPTED = "accepted are X and y, X_train and y_train, or y and what scipy.sparse.save_npz writes"
LARGEST_ROW = 1 << 30


class NpzSource(Source):
    """An archive of dense rows, or of a CSR matrix, which is read whole when it is opened.

    Parameters
    ----------
    file : File
        The file.
    options : Options
        `n_features` and `with_target` are looked at.
    """

    format = "npz"

    def __init__(self, file: File, options: Options) -> None:
        self.name, self.size = file.name, file.size
        self._file = file
        self._csr: CSRRows | None = None
        with self._open() as archive:
            self._find_names([name.removesuffix(".npy") for name in archive.namelist()], options)
            if self.sparse:
                with self._unpacking():
                    self._csr = CSRRows(archive)
                if self._csr.format != "csr":
                    self._refuse(f"a sparse matrix in the format {self._csr.format!r}: convert it with tocsr()")
            X, y = self._arrays(archive)
            self._check("X", X, "biuf")
            if len(X.shape) < 2:
                self._refuse(f"X has the shape {X.shape}, but rows and columns are needed")
            if y is not None:
                self._check("y", y, "biufUS")
                if y.shape not in (X.shape[:1], (X.shape[0], 1)):
                    self._refuse(f"X has {X.shape[0]} rows, but y has the shape {y.shape}")
            self._n_rows, self.n_features = X.shape[0], X.width
        check_width(self.name, X.width, options.n_features)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        with self._open() as archive:
            X, y = self._arrays(archive)
            step = max(1, n_bytes // X.row_bytes)
            for first in range(start, self._n_rows, step):
                stop = min(first + step, self._n_rows)
                with self._unpacking():
                    rows = X.take(first, stop)
                    rows = rows if self.sparse else np.array(rows, dtype=np.float64, order="C")
                    labels = None if y is None else as_labels(y.take(first, stop).ravel())
                self._check_finite(rows, labels, first)
                yield Block(rows, labels, stop, self.size * stop // self._n_rows)

    def _arrays(self, archive: zipfile.ZipFile) -> tuple[Any, Any]:
        with self._unpacking():
            X = self._csr or DenseRows(archive, self._X_name)
            return X, DenseRows(archive, self._y_name) if self._y_name else None

    def _find_names(self, members: list[str], options: Options) -> None:
        found = [pair for pair in NAMES if pair[0] in members]
        if not found and not set(members) >= set(CSR_NAMES):
            self._refuse(f"the arrays are {', '.join(members[:10]) or 'none'}, but {ACCEPTED}")
        self.sparse = not found
        self._X_name, y_name = found[0] if found else ("", "y")
        if options.with_target and y_name not in members:
            self._refuse(f"there are no labels: the array {y_name} is missing")
        self._y_name = y_name if y_name in members and options.with_target is not False else None

    # What is wrong

    def _check(self, name: str, array: Any, kinds: str) -> None:
        if array.dtype.kind not in kinds:
            self._refuse(f"{name} is of type {array.dtype}, which is not accepted")
        if not array.shape or array.shape[0] == 0:
            self._refuse(f"{name} has no rows")
        if array.row_bytes > LARGEST_ROW:
            self._refuse(f"one row of {name} takes more than 1 GiB")

    def _check_finite(self, rows: Any, labels: np.ndarray | None, first: int) -> None:
        finite = np.isfinite(rows.data if self.sparse else rows)
        if not finite.all():
            k = int(np.argmin(finite))  # in the order of the rows, dense or not
            row, column = (c[k] for c in rows.tocoo().coords) if self.sparse else divmod(k, rows.shape[1])
            self._refuse(f"row {first + row + 1}, column {column + 1} of X is not a finite number: fill or drop it")
        if labels is not None:
            good = labels != "" if labels.dtype == object else np.isfinite(labels)
            if not good.all():
                self._refuse(f"row {first + int(np.argmin(good)) + 1} of y is empty or not finite: fill or drop it")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"{self.name}: {what}.")

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        with self._file.open() as raw:
            with self._unpacking():
                archive = zipfile.ZipFile(raw)
            with archive:
                yield archive

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # NumPy and zipfile have many, from KeyError to BadZipFile
            if is_of_the_disk(error):
                raise
            if isinstance(error, MemoryError):
                raise ValueError(
                    f"{self.name} does not fit in the memory, and its arrays cannot be read by rows."
                ) from None
            reason = "pickled objects are not read" if "allow_pickle" in str(error) else "it is damaged or cut short"
            raise ValueError(f"{self.name} is not a whole .npz file of arrays: {reason}.") from None


class DenseRows:
    """An array in an archive, of which rows are taken without the rest; more than two axes count as columns."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._stream = archive.open(f"{name}.npy")
        version = npy.read_magic(self._stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        self.shape, in_columns, self.dtype = read_header(self._stream)
        self.width = math.prod(self.shape[1:])
        self.row_bytes = max(1, self.width) * max(8, self.dtype.itemsize)
        self._first_byte = self._stream.tell()
        self._whole: np.ndarray | None = None
        if in_columns:  # each row is all over the file
            self._whole = read_whole(archive, name).reshape(self.shape[0], -1)

    def take(self, first: int, stop: int) -> np.ndarray:
        """Return some rows."""
        if self._whole is not None:
            return self._whole[first:stop]
        row_bytes = self.width * self.dtype.itemsize
        self._stream.seek(self._first_byte + first * row_bytes)
        data = self._stream.read((stop - first) * row_bytes)
        return np.frombuffer(data, dtype=self.dtype).reshape(stop - first, self.width)


class CSRRows:
    """The sparse matrix of an archive, checked if it is CSR."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.format = str(read_whole(archive, "format").astype(str)) if "format.npy" in archive.namelist() else "csr"
        if self.format != "csr":
            return
        data, indices, indptr, shape = (read_whole(archive, name) for name in CSR_NAMES)
        self._X = sparse.csr_array(
            (data.astype(np.float64, casting="same_kind"), indices, indptr), shape=tuple(shape.tolist())
        )
        self._X.check_format(full_check=True)
        self._X = canonical(self._X)
        self.dtype, self.shape, self.width = data.dtype, self._X.shape, self._X.shape[1]
        self.row_bytes = max(1, (12 * self._X.nnz + 4 * self.shape[0]) // max(1, self.shape[0]))

    def take(self, first: int, stop: int) -> sparse.csr_array:
        """Return some rows."""
        rows = self._X[first:stop]
        rows.has_canonical_format = True
        return rows


def read_whole(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return an array of an archive."""
    with archive.open(f"{name}.npy") as stream:
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def as_labels(y: np.ndarray) -> np.ndarray:
    """Return labels as float64, bool or str."""
    if y.dtype.kind not in "US":
        return np.array(y, dtype=np.bool_ if y.dtype.kind == "b" else np.float64)
    classes, codes = np.unique(y.astype(str), return_inverse=True)  # one str for each class, not for each row
    return classes.astype(object)[codes]
