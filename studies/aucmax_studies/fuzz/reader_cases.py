"""Cases of files of rows: files with unusual spellings, most of them damaged, in every format, plain or packed.

They are small, but for some of CSV with thousands of rows, which pyarrow reads in several threads.

A file is refused in one sentence that names it, at once and by blocks, or it is read: at once, by blocks, and with
another library where that reads it too, with the same labels and values to the last bit. Of a table, other libraries
tell only the columns of plain numbers. What a table holds is learnt at once and by blocks, too.
"""

from __future__ import annotations

import os
import random
import re
import warnings
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from aucmax.files import Source, columns, open_source
from aucmax.tables.reading import Reading
from aucmax.tables.reading.kinds import Column

from .isolation import make_folder
from .other_readers import READERS, Rows, read_csv_with_pandas, unpack
from .row_files import MAKERS, TEXTS, make_csv, pack

warnings.simplefilter("ignore")
FOLDER = make_folder("readers")
BLOCKS = (1, 7, 33, 120, 1 << 20)
FORMATS = ("libsvm", "libsvm", "csv", "csv", "parquet", "npz")
LONG_SHARE, LONGER = 0.02, 1000  # of the cases of CSV, and how many times more rows these have
OVERRIDES = ({"categorical": ["a"]}, {"numeric": ["a"]}, {"date": ["b"]}, {"drop": ["a"]})
OVERRIDES += ({"na_values": ["0", "red"]}, {"thousands": ","}, {"weight": "a"}, {"group": "b"}, {"keep": ["a"]})


def run_case(seed: int) -> str:
    """Return the verdict of one file."""
    rng = random.Random(seed)
    format = rng.choice(FORMATS)
    longer = find_length(format, seed)
    content = MAKERS[format](rng) if longer == 1 else make_csv(rng, longer)
    packing, packed = pack(content, random.Random(f"packing {seed}")) if format in TEXTS else ("", content)
    path = os.path.join(FOLDER, f"rows.{format}{packing}")
    with open(path, "wb") as file:
        file.write(packed)
    is_table = format in ("csv", "parquet")
    options: dict[str, Any] = rng.choice(OVERRIDES) if is_table and rng.random() < 0.3 else {}
    n_bytes = rng.choice(BLOCKS) * longer
    source = open_file(path, options)
    if is_table and rng.random() < 0.3 and (wrong := compare_learning(source, path, options, n_bytes)):
        return wrong
    if isinstance(source, str):
        return source
    sizes = [None, n_bytes] if rng.random() < 0.5 else [n_bytes, None]
    first, second = (read(source, path, size) for size in sizes)
    if isinstance(first, str) or isinstance(second, str):
        wrong = next((found for found in (first, second) if isinstance(found, str) and found.startswith("wrong")), "")
        is_one = isinstance(first, str) and isinstance(second, str)
        return wrong or ("refused" if is_one else f"wrong: {sizes} gave {first} and {second}")
    if not is_same(first, second):
        return "wrong: by blocks and at once differ"
    read_other = read_csv_with_pandas if format == "csv" and rng.random() < 0.1 else READERS[format]
    try:
        other = read_other(unpack(path, packing))
    except Exception:  # it refuses the file in its own way
        return "read"
    if is_same(*share_numbers(first, other)):
        return "read"
    return f"wrong: {format} is read differently by {read_other.__name__}"


def find_length(format: str, seed: int) -> int:
    """Return how many times more rows a file has than a small one."""
    return LONGER if format == "csv" and random.Random(f"length {seed}").random() < LONG_SHARE else 1


def compare_learning(source: Source | str, path: str, options: dict[str, Any], n_bytes: int) -> str:
    """Return what is wrong with a table that is learnt by small blocks; an empty text if nothing is."""
    with mock.patch.object(columns, "BLOCK_BYTES", n_bytes):
        other = open_file(path, options)
    if isinstance(source, str) or isinstance(other, str):
        wrong = f"wrong: learnt at once {source}, by blocks {other}"
        return wrong if type(source) is not type(other) or "wrong" in (str(source) + str(other)) else ""
    is_one = source.reading is not None and other.reading is not None and is_alike(source.reading, other.reading)
    return "" if is_one else "wrong: learnt at once and by blocks, a table is read differently"


def is_alike(a: Reading, b: Reading) -> bool:
    """Return whether two readings are one, but for the rounding of means, which fill gaps."""
    plain = [[column._replace(parts=[]) for column in each.columns] for each in (a, b)]
    parts = [[part._replace(mean=0.0, counts=part.counts.tolist()) for part in each.parts] for each in (a, b)]
    if plain[0] != plain[1] or parts[0] != parts[1] or a.n_rows != b.n_rows:
        return False
    pairs = zip(a.parts, b.parts, [column for column in a.columns for _ in column.parts], strict=True)
    return all(np.isclose(x.mean, y.mean, rtol=1e-9, atol=1e-12 * find_largest(column)) for x, y, column in pairs)


def find_largest(column: Column) -> float:
    """Return the largest value of a column of numbers, from what it is said to hold; days and shares are below 1e3."""
    found = re.match(r"(\S+) to ([^\s,]+)", column.reason) if column.kind == "number" else None
    return max(map(abs, map(float, found.groups()))) if found else 1e3


def open_file(path: str, options: dict[str, Any]) -> Source | str:
    """Return the opened file, or the verdict about its error."""
    try:
        return open_source(path, with_target=True, **options)
    except (ValueError, OSError) as error:
        return judge(error, path)


def read(source: Source, path: str, n_bytes: int | None) -> Rows | str:
    """Return the rows of a file, at once or by blocks, or the verdict about its error."""
    try:
        blocks = [source.read()] if n_bytes is None else list(source.blocks(n_bytes))
    except (ValueError, OSError) as error:
        return judge(error, path)
    if not blocks:
        return "wrong: no rows were read, without an error"
    y = np.concatenate([np.asarray(block.y) for block in blocks])
    return Rows(stack([block.features for block in blocks]), y, find_numbers(source))


def stack(parts: list[Any]) -> Any:
    """Return the rows of all blocks; sparse rows stay sparse, since a damaged index may be as large as 2^31."""
    if not sparse.issparse(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    return sparse.vstack(parts, format="csr")


def judge(error: Exception, path: str) -> str:
    """Return the verdict about an error."""
    text = str(error)
    return "refused" if path in text and "\n" not in text else f"wrong: said {text!r}"


def find_numbers(source: Source) -> dict[str, int] | None:
    """Return the places of the features of a table that are numbers as they stand in the file, without gaps."""
    if source.reading is None or source.feature_names is None:
        return None
    used = source.reading.used
    plain = [each.name for each in used if (each.kind, each.form, each.n_missing) == ("number", "1234.5", 0)]
    return {name: source.feature_names.index(name) for name in plain}


def share_numbers(ours: Rows, other: Rows) -> tuple[Rows, Rows]:
    """Return two readings of a table with the columns that both know as numbers; of other formats, with all."""
    if ours.numbers is None or other.numbers is None:
        return ours, other
    names = [name for name in ours.numbers if name in other.numbers]
    first, second = (
        rows._replace(X=rows.X[:, [rows.numbers[name] for name in names]])  # type: ignore[index]
        for rows in (ours, other)
    )
    return first, second


def is_same(a: Rows, b: Rows) -> bool:
    """Return whether two readings agree to the last bit, but for the sign of zeros, which sparse rows do not have.

    Labels that one of them takes as text and the other as numbers are not compared.
    """
    if a.X.shape != b.X.shape or a.y.shape != b.y.shape or not is_same_matrix(a.X, b.X):
        return False
    return (a.y.dtype.kind == "O") != (b.y.dtype.kind == "O") or a.y.tolist() == b.y.tolist()


def is_same_matrix(a: Any, b: Any) -> bool:
    """Return whether two matrices of one shape have the same values; sparse ones are compared as they are."""
    if not sparse.issparse(a) or not sparse.issparse(b):
        return bool((a == b).all())
    first, second = (sparse.coo_array(matrix) for matrix in (a, b))
    for matrix in (first, second):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    parts = zip((first.data, *first.coords), (second.data, *second.coords), strict=True)
    return all(np.array_equal(*pair) for pair in parts)
