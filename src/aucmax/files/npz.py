"""``.npz`` archives of arrays, read by rows; a position is a number of rows. Nothing is unpickled."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from .._text import listed
from ..rows.validate import check_csr
from .columns import ROUNDED, check_role, check_width
from .source import BLOCK_BYTES, Block, File, Options, Source, is_of_the_disk

NAMES = (("X", "y"), ("X_train", "y_train"))
CSR_NAMES = ("data", "indices", "indptr", "shape")
ACCEPTED = "accepted are X and y, X_train and y_train, or y and what scipy.sparse.save_npz writes"
KINDS = {"target": "biufUS", "weight": "biuf", "group": "biufUS"}  # the types that are accepted, as NumPy's letters
LARGEST_ROW = 1 << 30


class NpzSource(Source):
    """An archive of dense rows, or of a CSR matrix, which is read whole when it is opened.

    The options `weight`, `group`, `n_features` and `with_target` are used.
    """

    format = "npz"

    def __init__(self, file: File, options: Options) -> None:
        self.file, self.name, self.size = file, file.name, file.size
        self.weight, self.group = options.weight, options.group
        self._csr: CSRRows | None = None
        with self._open() as archive:
            self._find_names([name.removesuffix(".npy") for name in archive.namelist()], options)
            if self.sparse:
                with self._unpacking():
                    self._csr = CSRRows(archive)
                if self._csr.format != "csr":
                    self._refuse(f"a sparse matrix in the format {self._csr.format!r}: convert it with tocsr()")
            X, columns = self._arrays(archive)
            self._check("X", X, "biuf")
            if len(X.shape) < 2:
                self._refuse(f"X has the shape {X.shape}, but rows and columns are needed")
            for role, column in columns.items():
                self._check(self._columns[role], column, KINDS[role])
                if column.shape not in (X.shape[:1], (X.shape[0], 1)):
                    self._refuse(f"X has {X.shape[0]} rows, but {self._columns[role]} has the shape {column.shape}")
            self._n_rows, self.n_features = X.shape[0], X.width
        check_width(self.name, X.width, options.n_features)

    def blocks(self, n_bytes: int = BLOCK_BYTES, start: int = 0) -> Iterator[Block]:  # noqa: D102
        with self._open() as archive:
            X, columns = self._arrays(archive)
            step = max(1, n_bytes // X.row_bytes)
            for first in range(start, self._n_rows, step):
                stop = min(first + step, self._n_rows)
                with self._unpacking():
                    rows = X.take(first, stop)
                    rows = rows if self.sparse else np.array(rows, dtype=np.float64, order="C")
                    values = {role: as_column(role, each.take(first, stop).ravel()) for role, each in columns.items()}
                self._check_rows(rows, first)
                self._check_columns(values, first)
                y, weight, group = (values.get(role) for role in KINDS)
                yield Block(rows, y, stop, self.size * stop // self._n_rows, weight, group)

    def _arrays(self, archive: zipfile.ZipFile) -> tuple[Any, dict[str, DenseRows]]:
        """Return X, and the arrays of one value for each row by their roles: target, weight and group."""
        with self._unpacking():
            X = self._csr or DenseRows(archive, self._X_name)
            return X, {role: DenseRows(archive, name) for role, name in self._columns.items()}

    def _find_names(self, members: list[str], options: Options) -> None:
        found = [pair for pair in NAMES if pair[0] in members]
        if not found and not set(members) >= set(CSR_NAMES):
            self._refuse(f"{listed(members, 'array')}, but {ACCEPTED}")
        self.sparse = not found
        self._X_name, y_name = found[0] if found else ("", "y")
        read_target = options.with_target or (options.with_target is None and y_name in members)
        wanted = {"target": y_name if read_target else None, "weight": options.weight, "group": options.group}
        self._columns = {role: name for role, name in wanted.items() if name is not None}
        roles = dict.fromkeys(CSR_NAMES if self.sparse else [self._X_name], "part of X")
        for role, name in self._columns.items():
            check_role(self.name, name, role, members, roles, "array")
            roles[name] = f"the {role}"

    # Errors

    def _check(self, name: str, array: Any, kinds: str) -> None:
        if array.dtype.kind not in kinds:
            self._refuse(f"{name} is of type {array.dtype}, which is not accepted")
        if not array.shape or array.shape[0] == 0:
            self._refuse(f"{name} has no rows")
        if array.row_bytes > LARGEST_ROW:
            self._refuse(f"one row of {name} takes more than 1 GiB")

    def _check_rows(self, rows: Any, first: int) -> None:
        finite = np.isfinite(rows.data if self.sparse else rows)
        if not finite.all():
            k = int(np.argmin(finite))  # in the order of the rows, dense or not
            row, column = (c[k] for c in rows.tocoo().coords) if self.sparse else divmod(k, rows.shape[1])
            self._refuse(f"row {first + row + 1}, column {column + 1} of X is not a finite number: fill or drop it")

    def _check_columns(self, columns: dict[str, np.ndarray], first: int) -> None:
        for role, values in columns.items():
            good = values != "" if values.dtype == object else np.isfinite(values)
            fault = "is empty or not finite: fill or drop it"
            if role == "weight":
                good, fault = good & (values >= 0), "is negative or not finite: weights must be 0 or more"
            if role == "target" and values.dtype.kind == "f" and good.all():
                good, fault = np.abs(values) < ROUNDED, "is 2^53 or more, and would be rounded: make the labels text"
            if not good.all():
                self._refuse(f"row {first + int(np.argmin(good)) + 1} of {self._columns[role]} {fault}")

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"{self.name}: {what}.")

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        with self.file.open() as raw:
            with self._unpacking():
                archive = zipfile.ZipFile(raw)
            with archive:
                yield archive

    @contextmanager
    def _unpacking(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # NumPy and zipfile raise many kinds, from KeyError to BadZipFile
            if is_of_the_disk(error):
                raise
            if isinstance(error, MemoryError):
                raise ValueError(
                    f"{self.name} does not fit in memory, and its arrays cannot be read by rows."
                ) from None
            reason = "pickled objects are not read" if "allow_pickle" in str(error) else "it is damaged or cut short"
            raise ValueError(f"{self.name} is not a whole .npz file of arrays: {reason}.") from None


class DenseRows:
    """An array in an archive, read a few rows at a time; all axes but the first count as columns."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._open = partial(archive.open, f"{name}.npy")
        self._stream = self._open()
        version = npy.read_magic(self._stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        self.shape, in_columns, self.dtype = read_header(self._stream)
        if min(self.shape, default=0) < 0:
            raise ValueError(f"{self.shape} is not the shape of an array")
        self.width = math.prod(self.shape[1:])
        self.row_bytes = max(1, self.width) * max(8, self.dtype.itemsize)
        self._first_byte = self._stream.tell()
        self._whole: np.ndarray | None = None
        if in_columns:  # the values of a row are spread over the whole file
            self._whole = read_whole(archive, name).reshape(self.shape[0], -1)

    def take(self, first: int, stop: int) -> np.ndarray:
        """Return some rows."""
        if self._whole is not None:
            return self._whole[first:stop]
        row_bytes = self.width * self.dtype.itemsize
        self._go_to(self._first_byte + first * row_bytes)
        data = self._stream.read((stop - first) * row_bytes)
        return np.frombuffer(data, dtype=self.dtype).reshape(stop - first, self.width)

    def _go_to(self, position: int) -> None:
        """Go to a byte of the array by reading: in Python 3.13.0, `seek` goes astray where several arrays are open."""
        if position < self._stream.tell():
            self._stream = self._open()
        while (left := position - self._stream.tell()) > 0:
            if not self._stream.read(min(left, BLOCK_BYTES)):
                return  # the file ends here, which the next `read` will find


class CSRRows:
    """The sparse matrix of an archive; only CSR is read and checked."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.format = str(read_whole(archive, "format").astype(str)) if "format.npy" in archive.namelist() else "csr"
        if self.format != "csr":
            return
        data, indices, indptr, shape = (read_whole(archive, name) for name in CSR_NAMES)
        check_csr(data, indices, indptr, shape.tolist())
        self._X = sparse.csr_array(
            (data.astype(np.float64, casting="same_kind"), indices, indptr), shape=tuple(shape.tolist())
        )
        self._X.sum_duplicates()
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


def as_column(role: str, values: np.ndarray) -> np.ndarray:
    """Return text as str, and numbers as float64; truth values stay bool as labels, and groups keep their type."""
    if values.dtype.kind in "US":
        distinct, codes = np.unique(values.astype(str), return_inverse=True)  # one str for each value, not each row
        return distinct.astype(object)[codes]
    keeps_type = role == "group" or (role == "target" and values.dtype.kind == "b")
    return np.array(values, dtype=values.dtype if keeps_type else np.float64)
