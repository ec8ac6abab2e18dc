"""Small files of rows with unusual spellings, most of them damaged, in every format; each is made from random numbers.

`MAKERS` has a function for each format.
"""

from __future__ import annotations

import bz2
import decimal
import functools
import gzip
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from scipy import sparse

NUMBERS = ["0", "1", "-1", "+1", "0.5", ".5", "5.", "1e3", "-2.5E-1", "1e-300", "1e308", "18446744073709551616", "007"]
ODD = ["", " ", "nan", "inf", "-inf", "NA", "1_0", "0x1", "1e400", "abc", '"', '""', "1,5", "é", "1 2", "\x00", "true"]
ODD += ["#", '"\n"', '"\r\n"', 'a"b', '"a"b', "\u00a0", "\ufeff", "\u0661"]
DIGITS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}  # at most; two are of pyarrow 19
DECIMALS = {getattr(pyarrow, name): digits for name, digits in DIGITS.items() if hasattr(pyarrow, name)}


def number(rng: random.Random) -> str:
    """Return a number in some spelling."""
    value = rng.choice([rng.uniform(-5, 5), rng.uniform(-1, 1) * 10 ** rng.randrange(-30, 30), rng.randrange(-99, 99)])
    how = rng.randrange(14)
    if how > 9:
        return rng.choice(NUMBERS)
    return [repr(value), f"{value:.17g}", f"{value:.3f}", f"{value:.20e}", str(rng.randrange(10 ** (1 + how * 5)))][
        how // 2
    ]


def word(rng: random.Random) -> str:
    """Return a level, a truth value or a number with signs and separators."""
    return rng.choice(["red", "blue", "yes", "no", "$1,200", "3.5%", "n/a", "?"])


def binary(rng: random.Random) -> bytes:
    """Return two bytes, most often of text."""
    return rng.choice([b"no", b"ye", b"01", b"10", "é".encode(), b"\xff\x00"])


def date(rng: random.Random) -> str:
    """Return a date or a time."""
    day, month = rng.randrange(1, 29), rng.randrange(1, 13)
    return rng.choice([f"2021-{month:02}-{day:02}", f"2021-{month:02}-{day:02} 10:30", f"{day:02}/{month:02}/2021", ""])


def damage(content: bytes, rng: random.Random, first: int = 0) -> bytes:
    """Return some bytes with up to three changes from a place on, or none."""
    data = bytearray(content)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        at = rng.randrange(min(first, len(data)), len(data) + 1)
        patch = rng.choice(
            [rng.randbytes(rng.randrange(1, 4)), rng.choice(ODD + NUMBERS).encode(), b"\n", b"\r", b",", b":", b'"']
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


def make_csv(rng: random.Random, longer: int = 1) -> bytes:
    """Return CSV of a few rows, or of so many times as many with no more odd cells."""
    delimiter, end = rng.choice(",;\t"), rng.choice(["\n", "\r\n"])
    names = ["a", "b", rng.choice(["c", '"c d"', "c,d" if delimiter != "," else "c"]), "y"][-rng.randrange(2, 5) :]
    lines = [delimiter.join(names)]
    columns: list[Callable[[], str]] = [
        functools.partial(rng.choice([number, number, number, word, date]), rng) for _ in names[:-1]
    ]
    for _ in range(rng.randrange(1, 8) * longer):
        cells = [spell() for spell in columns] + [rng.choice("01")]
        if rng.random() < 0.1 / longer:
            cells[rng.randrange(len(cells))] = rng.choice(ODD)
        if rng.random() < 0.2:
            cells = [f'"{cell}"' for cell in cells]
        lines.append(delimiter.join(cells))
    return damage((end.join(lines) + rng.choice(["", end, end + end])).encode(), rng)


def decimals(rng: random.Random, n: int) -> Any:
    """Return decimal numbers of any width, precision and scale."""
    make = rng.choice(list(DECIMALS))
    digits = rng.randrange(1, DECIMALS[make] + 1)
    scale = rng.randrange(digits + 1)
    with decimal.localcontext(prec=100):
        values = [decimal.Decimal(rng.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale) for _ in range(n)]
        return pyarrow.array(values, make(digits, scale))


def make_parquet(rng: random.Random) -> bytes:
    """Return a Parquet file; half of the damage is in its schema, which comes last."""
    n = rng.randrange(1, 9)
    kinds: list[Callable[[], Any]] = [
        lambda: np.array([rng.uniform(-9, 9) for _ in range(n)]),
        lambda: np.array([rng.uniform(-9, 9) for _ in range(n)], np.float32),
        lambda: np.array([rng.randrange(-(2**63), 2**63) >> rng.choice([0, 23]) for _ in range(n)]),
        lambda: np.array([rng.random() < 0.5 for _ in range(n)]),
        lambda: decimals(rng, n),
        lambda: [word(rng) for _ in range(n)],
        lambda: pyarrow.array([word(rng) for _ in range(n)]).dictionary_encode(),
        lambda: pyarrow.array([rng.choice([None, 1.5, 2.5]) for _ in range(n)], pyarrow.float64()),
        lambda: pyarrow.array([binary(rng) for _ in range(n)], rng.choice([pyarrow.binary(), pyarrow.large_binary()])),
        lambda: pyarrow.array([binary(rng) for _ in range(n)], pyarrow.binary(2)),
        lambda: np.array([f"2021-01-{rng.randrange(1, 29):02}" for _ in range(n)], "datetime64[s]"),
    ]
    table = {name: rng.choice(kinds)() for name in ("a", "b", "c")[: rng.randrange(1, 4)]}
    table["y"] = np.array([k % 2 for k in range(n)])
    if rng.random() < 0.2:
        table["y"] = rng.choice(kinds)()
    file = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table(table), file, row_group_size=rng.choice([1, 3, 100]), compression=rng.choice(["none", "snappy"])
    )
    content = file.getvalue()
    length = int.from_bytes(content[-8:-4], "little")
    return damage(content, rng, first=len(content) - 8 - length if rng.random() < 0.5 else 0)


def make_npz(rng: random.Random) -> bytes:
    """Return an .npz file of dense or CSR rows; half of the damage is in its arrays, with right checksums."""
    n, d = rng.randrange(1, 9), rng.randrange(1, 4)
    X = np.array([[rng.uniform(-9, 9) for _ in range(d)] for _ in range(n)])
    arrays = {"X": rng.choice([X, X.astype(np.float32), np.asfortranarray(X)])}
    if rng.random() < 0.4:
        rows = sparse.csr_array(np.where(X > 0, X, 0))
        arrays = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
        arrays |= {"format": np.array(b"csr")} if rng.random() < 0.5 else {}
        if rng.random() < 0.3:
            forged = arrays[rng.choice(["indices", "indptr", "shape"])]
            forged[rng.randrange(len(forged) + 1) :][:1] = rng.choice([-1, 0, d, 7, 2**20, 2**31 - 1])
    arrays["y"] = rng.choice([np.arange(n) % 2, (np.arange(n) % 2).astype("U1")])
    file, is_inside = io.BytesIO(), rng.random() < 0.5
    with zipfile.ZipFile(file, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array)
            content = member.getvalue()
            archive.writestr(f"{name}.npy", damage(content, rng) if is_inside and rng.random() < 0.5 else content)
    return file.getvalue() if is_inside else damage(file.getvalue(), rng)


def pack(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Return the ending of a name and the bytes of a file that is compressed, in one of ten cases; half are damaged."""
    if rng.random() < 0.9:
        return "", content
    ending, compress = rng.choice(
        [(".gz", functools.partial(gzip.compress, mtime=0)), (".bz2", bz2.compress), (".xz", lzma.compress)]
    )
    return ending, damage(compress(content), rng) if rng.random() < 0.5 else compress(content)


TEXTS = ("libsvm", "csv")
MAKERS = {"libsvm": make_libsvm, "csv": make_csv, "parquet": make_parquet, "npz": make_npz}
