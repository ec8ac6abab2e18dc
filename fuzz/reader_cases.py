"""Cases of files of rows: small files with unusual spellings, most of them damaged, in every format.

A file is refused in one sentence that names it, at once and by blocks, or it is read: at once, by blocks, and with
another library where that reads it too, with the same labels and values to the last bit. Of a table, other libraries
tell only the columns of plain numbers.
"""

from __future__ import annotations

import functools
import io
import os
import random
import re
import tempfile
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from aucmax.files import Source, open_source

warnings.simplefilter("ignore")
FOLDER = tempfile.mkdtemp(prefix="fuzz-readers-")
BLOCKS = (1, 7, 33, 120, 1 << 20)
NUMBERS = ["0", "1", "-1", "+1", "0.5", ".5", "5.", "1e3", "-2.5E-1", "1e-300", "1e308", "18446744073709551616", "007"]
ODD = [
    "",
    " ",
    "nan",
    "inf",
    "-inf",
    "NA",
    "1_0",
    "0x1",
    "1e400",
    "abc",
    '"',
    '""',
    "1,5",
    "é",
    "1 2",
    "\x00",
    "true",
    "#",
]


class Rows(NamedTuple):
    """Rows as they were read: values, labels, and which columns of a table are numbers as they stand in the file."""

    X: np.ndarray
    y: np.ndarray
    numbers: dict[str, int] | None = None


def number(rng: random.Random) -> str:
    """Return a number in some spelling."""
    value = rng.choice([rng.uniform(-5, 5), rng.uniform(-1, 1) * 10 ** rng.randrange(-30, 30), rng.randrange(-99, 99)])
    spelled = [
        repr(value),
        f"{value:.17g}",
        f"{value:.3f}",
        f"{value:.20e}",
        str(rng.randrange(10 ** rng.randrange(1, 25))),
    ]
    return rng.choice([*spelled, *spelled, *NUMBERS])


def word(rng: random.Random) -> str:
    """Return a level, a truth value or a number with signs and separators."""
    return rng.choice(["red", "blue", "yes", "no", "$1,200", "3.5%", "n/a", "?"])


def date(rng: random.Random) -> str:
    """Return a date or a time."""
    day, month = rng.randrange(1, 29), rng.randrange(1, 13)
    return rng.choice([f"2021-{month:02}-{day:02}", f"2021-{month:02}-{day:02} 10:30", f"{day:02}/{month:02}/2021", ""])


def damage(content: bytes, rng: random.Random) -> bytes:
    """Return some bytes with up to three changes, or none."""
    data = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(len(data) + 1)
        patch = rng.choice(
            [rng.randbytes(rng.randrange(1, 4)), rng.choice(ODD + NUMBERS).encode(), b"\n", b"\r", b",", b":"]
        )
        how = rng.choice(["insert", "replace", "drop", "double", "cut"])
        if how == "insert":
            data[at:at] = patch
        elif how == "replace":
            data[at : at + len(patch)] = patch
        elif how == "drop":
            del data[at : at + rng.randrange(1, 6)]
        elif how == "double":
            data[at:at] = data[at : at + 20]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def make_libsvm(rng: random.Random) -> bytes:
    """Return LIBSVM text."""
    lines = []
    for _ in range(rng.randrange(1, 7)):
        columns = sorted(rng.sample(range(1, rng.choice([6, 60, 3000])), rng.randrange(0, 5)))
        label = rng.choice(["1", "-1", "+1", "0", "1.0", number(rng)])
        space = rng.choice([" ", "  ", "\t"])
        lines.append(space.join([label, *(f"{j}:{number(rng)}" for j in columns)]) + rng.choice(["", " ", "# x", "\r"]))
    return damage("\n".join([*lines, rng.choice(["", " "])]).encode(), rng)


def make_csv(rng: random.Random) -> bytes:
    """Return CSV."""
    delimiter, end = rng.choice(",;\t"), rng.choice(["\n", "\r\n"])
    names = ["a", "b", rng.choice(["c", '"c d"', "c,d" if delimiter != "," else "c"]), "y"][-rng.randrange(2, 5) :]
    lines = [delimiter.join(names)]
    columns: list[Callable[[], str]] = [
        functools.partial(rng.choice([number, number, number, word, date]), rng) for _ in names[:-1]
    ]
    for _ in range(rng.randrange(1, 8)):
        cells = [spell() for spell in columns] + [rng.choice("01")]
        if rng.random() < 0.1:
            cells[rng.randrange(len(cells))] = rng.choice(ODD)
        if rng.random() < 0.2:
            cells = [f'"{cell}"' for cell in cells]
        lines.append(delimiter.join(cells))
    return damage((end.join(lines) + rng.choice(["", end, end + end])).encode(), rng)


def make_parquet(rng: random.Random) -> bytes:
    """Return a Parquet file."""
    n = rng.randrange(1, 9)
    kinds: list[Callable[[], Any]] = [
        lambda: np.array([rng.uniform(-9, 9) for _ in range(n)]),
        lambda: np.array([rng.uniform(-9, 9) for _ in range(n)], np.float32),
        lambda: np.array([rng.randrange(-(2**40), 2**40) for _ in range(n)]),
        lambda: np.array([rng.random() < 0.5 for _ in range(n)]),
        lambda: [word(rng) for _ in range(n)],
        lambda: np.array([f"2021-01-{rng.randrange(1, 29):02}" for _ in range(n)], "datetime64[s]"),
    ]
    table = {name: rng.choice(kinds)() for name in ("a", "b", "c")[: rng.randrange(1, 4)]}
    table["y"] = np.array([k % 2 for k in range(n)])
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(table), file, row_group_size=rng.choice([1, 3, 100]))
    return damage(file.getvalue(), rng)


def make_npz(rng: random.Random) -> bytes:
    """Return an .npz file."""
    n, d = rng.randrange(1, 9), rng.randrange(1, 4)
    X = np.array([[rng.uniform(-9, 9) for _ in range(d)] for _ in range(n)])
    file = io.BytesIO()
    layout = {"X": rng.choice([X, X.astype(np.float32), np.asfortranarray(X)]), "y": np.arange(n) % 2}
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(file, **layout)
    return damage(file.getvalue(), rng)


# Other libraries


def other_libsvm(path: str) -> Rows:
    """Read with scikit-learn."""
    X, y = load_svmlight_file(path, zero_based=False)
    return Rows(X.toarray(), y)


def other_csv(path: str) -> Rows:
    """Read with pandas."""
    with open(path, "rb") as file:
        head = re.sub(rb'"[^"]*"', b"", file.read().strip().splitlines()[0])
    delimiter = max(",\t;", key=lambda each: head.count(each.encode()))
    frame = pandas.read_csv(path, sep=delimiter, float_precision="round_trip", index_col=False)
    frame.columns = [str(name).strip() for name in frame.columns]
    target = next(name for name in frame.columns if name.lower() in ("target", "label", "class", "y"))
    X = frame.drop(columns=target).apply(pandas.to_numeric, errors="coerce")
    places = {name: j for j, name in enumerate(X.columns)}
    return Rows(X.to_numpy(dtype=np.float64), frame[target].to_numpy(dtype=np.float64), places)


def other_parquet(path: str) -> Rows:
    """Read with pyarrow at once."""
    table = pyarrow.parquet.read_table(path, use_threads=False)
    types = {name: table.schema.field(name).type for name in table.column_names if name != "y"}
    is_other = (pyarrow.types.is_string, pyarrow.types.is_temporal)
    names = [name for name, kind in types.items() if not any(test(kind) for test in is_other)]
    columns = [table.column(name).cast(pyarrow.float64(), safe=False).to_numpy() for name in names]
    X = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    y = table.column("y").cast(pyarrow.float64(), safe=False).to_numpy()
    return Rows(X, y, {name: j for j, name in enumerate(names)})


def other_npz(path: str) -> Rows:
    """Read with NumPy."""
    with np.load(path, allow_pickle=False) as arrays:
        return Rows(arrays["X"].astype(np.float64), arrays["y"].astype(np.float64))


FORMATS: dict[str, tuple[Callable[[random.Random], bytes], Callable[[str], Rows]]] = {
    "libsvm": (make_libsvm, other_libsvm),
    "csv": (make_csv, other_csv),
    "parquet": (make_parquet, other_parquet),
    "npz": (make_npz, other_npz),
}


def run_case(seed: int) -> str:
    """Return the verdict of one file."""
    rng = random.Random(seed)
    format = rng.choice(["libsvm", "libsvm", "csv", "csv", "parquet", "npz"])
    make, read_other = FORMATS[format]
    path = os.path.join(FOLDER, f"rows.{format}")
    with open(path, "wb") as file:
        file.write(make(rng))
    whole, parts = read(path, None), read(path, rng.choice(BLOCKS))
    if isinstance(whole, str) or isinstance(parts, str):
        wrong = next((found for found in (whole, parts) if isinstance(found, str) and found.startswith("wrong")), "")
        return wrong or ("refused" if isinstance(whole, str) and isinstance(parts, str) else differ(whole, parts))
    if not is_same(whole, parts):
        return "wrong: by blocks and at once differ"
    try:
        other = read_other(path)
    except Exception:  # it refuses the file in its own way
        return "read"
    return (
        "read" if is_same(*share_numbers(whole, other)) else f"wrong: {format} is read differently by another library"
    )


def differ(whole: Rows | str, parts: Rows | str) -> str:
    """Return the verdict about a file that only one of the two ways reads."""
    return f"wrong: at once {'refused' if isinstance(whole, str) else 'read'}, by blocks the opposite ({whole} {parts})"


def read(path: str, n_bytes: int | None) -> Rows | str:
    """Return the rows of a file, at once or by blocks, or the verdict about its error."""
    try:
        source = open_source(path, with_target=True)
        blocks = [source.read()] if n_bytes is None else list(source.blocks(n_bytes))
    except (ValueError, OSError) as error:
        text = str(error)
        return "refused" if path in text and "\n" not in text else f"wrong: said {text!r}"
    if not blocks:
        return "wrong: no rows were read, without an error"
    width = max(block.features.shape[1] for block in blocks)
    X = [block.features.toarray() if sparse.issparse(block.features) else block.features for block in blocks]
    X = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in X]
    return Rows(np.concatenate(X), np.concatenate([np.asarray(block.y) for block in blocks]), find_numbers(source))


def find_numbers(source: Source) -> dict[str, int] | None:
    """Return the places of the features of a table that are numbers as they stand in the file, without gaps."""
    if source.reading is None:
        return None
    used = source.reading.used
    plain = [each.name for each in used if (each.kind, each.form, each.n_missing) == ("number", "1234.5", 0)]
    return {name: source.feature_names.index(name) for name in plain}


def share_numbers(whole: Rows, other: Rows) -> tuple[Rows, Rows]:
    """Return two readings of a table with the columns that both know as numbers; of other formats, with all."""
    if whole.numbers is None or other.numbers is None:
        return whole, other
    names = [name for name in whole.numbers if name in other.numbers]
    first, second = (rows._replace(X=rows.X[:, [rows.numbers[n] for n in names]]) for rows in (whole, other))
    return first, second


def is_same(a: Rows, b: Rows) -> bool:
    """Return whether two readings agree to the last bit, but for the sign of zeros, which sparse rows do not have.

    Labels that one of them takes as text and the other as numbers are not compared.
    """
    if a.X.shape != b.X.shape or a.y.shape != b.y.shape or not (a.X == b.X).all():
        return False
    return (a.y.dtype.kind == "O") != (b.y.dtype.kind == "O") or a.y.tolist() == b.y.tolist()
