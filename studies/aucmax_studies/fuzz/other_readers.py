"""Files of rows as other libraries read them: scikit-learn, Python's csv module, pandas, pyarrow and NumPy."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

TARGETS = ("target", "label", "class", "y")


class Rows(NamedTuple):
    """Rows as they were read: values, dense or sparse, labels, and which columns of a table are plain numbers."""

    X: Any
    y: np.ndarray
    numbers: dict[str, int] | None = None


def unpack(path: str, packing: str) -> str:
    """Return the path of the same file, unpacked with Python's own modules."""
    if not packing:
        return path
    plain = path.removesuffix(packing)
    with open(path, "rb") as file, open(plain, "wb") as out:
        out.write({".gz": gzip, ".bz2": bz2, ".xz": lzma}[packing].decompress(file.read()))
    return plain


def read_libsvm(path: str) -> Rows:
    """Read with scikit-learn."""
    return Rows(*load_svmlight_file(path, zero_based=False))


def find_delimiter(text: str) -> str:
    """Return what the first line has most of outside of quotes."""
    head = re.sub(r'"[^"]*"', "", text.strip()).splitlines()[0]
    return max(",\t;", key=head.count)


def read_csv(path: str) -> Rows:
    """Read with Python's csv module and `float`; cells that it refuses become NaN."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        text = file.read()
    records = [record for record in csv.reader(io.StringIO(text, newline=""), delimiter=find_delimiter(text)) if record]
    names = [name.strip() for name in records[0]]
    if any(len(record) != len(names) for record in records):
        raise ValueError("lines of different lengths")
    (target,) = (j for j, name in enumerate(names) if name.lower() in TARGETS)
    cells = [[to_number(record[j]) for record in records[1:]] for j in range(len(names)) if j != target]
    y = np.array([float(record[target].strip()) for record in records[1:]])
    places = {name: j for j, name in enumerate(name for k, name in enumerate(names) if k != target)}
    return Rows(np.array(cells).T.reshape(len(y), -1), y, places)


def to_number(cell: str) -> float:
    """Return what `float` says of a cell without the blanks around it, NaN where it refuses."""
    try:
        return float(cell.strip())
    except ValueError:
        return np.nan


def read_csv_with_pandas(path: str) -> Rows:
    """Read with pandas, which loses the empty cell that begins a line after a carriage return alone."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if re.search(r"\r(?!\n)", text):
        raise ValueError("a carriage return alone")
    delimiter = find_delimiter(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)  # cells were lost
        frame = pandas.read_csv(path, sep=delimiter, float_precision="round_trip", index_col=False)
    frame.columns = [str(name).strip() for name in frame.columns]
    target = next(name for name in frame.columns if name.lower() in TARGETS)
    X = frame.drop(columns=target).apply(pandas.to_numeric, errors="coerce")
    places = {name: j for j, name in enumerate(X.columns) if not X[name].isna().any()}
    return Rows(X.to_numpy(dtype=np.float64), frame[target].to_numpy(dtype=np.float64), places)


def read_parquet(path: str) -> Rows:
    """Read with pyarrow at once."""
    table = pyarrow.parquet.ParquetFile(path).read(use_threads=False)
    types = {name: table.schema.field(name).type for name in table.column_names if name != "y"}
    is_other = (pyarrow.types.is_string, pyarrow.types.is_temporal, pyarrow.types.is_dictionary)
    names = [name for name, kind in types.items() if not any(test(kind) for test in is_other)]
    columns = [table.column(name).cast(pyarrow.float64(), safe=False).to_numpy() for name in names]
    X = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    y = table.column("y").cast(pyarrow.float64(), safe=False).to_numpy()
    return Rows(X, y, {name: j for j, name in enumerate(names)})


def read_npz(path: str) -> Rows:
    """Read with NumPy."""
    with np.load(path, allow_pickle=False) as arrays:
        if "X" in arrays:
            X = arrays["X"].astype(np.float64)
        else:  # SciPy checks the indices of COO, but not all of those of CSR
            rows = np.repeat(np.arange(len(arrays["indptr"]) - 1), np.diff(arrays["indptr"]))
            values, columns = (arrays[name][: len(rows)] for name in ("data", "indices"))
            X = sparse.coo_array((values.astype(np.float64), (rows, columns)), shape=tuple(arrays["shape"]))
        return Rows(X, arrays["y"].astype(np.float64))


READERS: dict[str, Callable[[str], Rows]] = {
    "libsvm": read_libsvm,
    "csv": read_csv,
    "parquet": read_parquet,
    "npz": read_npz,
}
