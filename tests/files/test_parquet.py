"""Parquet from strangers: decimals, dates, text and schemas of every kind are read as Arrow does, or refused."""

import decimal
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aucmax.files import open_source

DIGITS = {"decimal32": 9, "decimal64": 18, "decimal128": 38, "decimal256": 76}  # the first two from pyarrow 19 on
WIDTHS = {getattr(pa, name): digits for name, digits in DIGITS.items() if hasattr(pa, name)}
N = 12


def write(path, **columns):
    table = pa.table({**columns, "y": np.arange(N) % 2})
    pq.write_table(table, path, row_group_size=5)
    return path


def make_decimals(make, digits, scale, rng):
    with decimal.localcontext(prec=100):
        values = [rng.randrange(1 - 10**digits, 10**digits) for _ in range(N)]
        return pa.array([decimal.Decimal(value).scaleb(-scale) for value in values], make(digits, scale))


@pytest.mark.parametrize("make", WIDTHS, ids=lambda make: make.__name__)
def test_decimals_are_those_of_arrow_at_once_and_by_blocks(tmp_path, make):
    rng, most = random.Random(0), WIDTHS[make]
    kinds = [(digits, scale) for digits in {1, most // 3, most - 1, most} for scale in {0, 1, digits // 2, digits}]
    kinds = [(digits, scale) for digits, scale in kinds if scale <= digits]
    columns = {f"x{k}": make_decimals(make, *kind, rng) for k, kind in enumerate(kinds)}
    path = write(tmp_path / "rows.parquet", **columns)
    expected = np.column_stack([column.cast(pa.float64()).to_numpy() for column in columns.values()])
    source = open_source(path)
    np.testing.assert_array_equal(source.read().features, expected)
    for n_bytes in (1, 8 * len(kinds) * 4):
        parts = [block.features for block in source.blocks(n_bytes)]
        assert len(parts) > 2
        np.testing.assert_array_equal(np.concatenate(parts), expected)


def text_of(parts):
    """Return an array that says it is text, with bytes that may be none."""
    content = pa.array(parts)
    return pa.Array.from_buffers(pa.string(), len(parts), content.buffers())


@pytest.mark.parametrize("options", [{}, {"target": "x"}, {"weight": "x"}, {"group": "x"}, {"categorical": ["x"]}])
def test_text_that_is_not_utf8_is_refused_with_file_and_column(tmp_path, options):
    bad = text_of([b"a", b"b\xff", b"c"] * (N // 3))
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=bad)
    told = f"{path}, column 'x': some of its text is not UTF-8: write the file again with text in that encoding."
    with pytest.raises(ValueError, match="UTF-8") as error:
        open_source(path, **options)
    assert str(error.value) == told


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
@pytest.mark.parametrize("options", [{"target": "x"}, {"weight": "x"}, {"group": "x"}, {"keep": ["x"]}], ids=str)
def test_bytes_that_are_not_utf8_are_refused_with_file_and_column(tmp_path, type, options):
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=pa.array([b"aa", b"b\xff", b"cc"] * (N // 3), type))
    with pytest.raises(ValueError, match="UTF-8") as error:
        open_source(path, **options).read()
    assert str(error.value).startswith(f"{path}, column 'x': some of its text is not UTF-8")


@pytest.mark.parametrize("cells", [[[1]] * N, [{"a": 1}] * N], ids=["lists", "structs"])
def test_labels_of_a_type_without_text_are_refused_with_file_and_column(tmp_path, cells):
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=pa.array(cells))
    with pytest.raises(ValueError, match=r"rows.parquet, column 'x': its type .+ has no text"):
        open_source(path, target="x").read()


def test_parquet_labels_may_be_bytes_and_times(tmp_path):
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=pa.array([b"aa", b"bb"] * (N // 2), pa.binary(2)))
    assert open_source(path, target="x").read().y[:2].tolist() == ["aa", "bb"]
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=np.array([90, 1500] * (N // 2), "m8[ms]"))
    assert open_source(path, target="x").read().y[:2].tolist() == [0.09, 1.5]


def test_parquet_levels_and_names_must_be_utf8(tmp_path):
    coded = pa.DictionaryArray.from_arrays(np.arange(N) % 3, text_of([b"a", b"b\xff", b"c"]))
    path = write(tmp_path / "rows.parquet", n=np.arange(N), x=coded)
    with pytest.raises(ValueError, match=r"rows.parquet, column 'x': some of its text is not UTF-8"):
        open_source(path)
    path = write(tmp_path / "rows.parquet", qzq=np.arange(N))
    path.write_bytes(path.read_bytes().replace(b"qzq", b"q\xffq"))
    with pytest.raises(ValueError, match=r"rows.parquet is not a whole Parquet file \(names in it are not UTF-8\)"):
        open_source(path)


def test_text_of_later_rows_is_checked_when_it_is_read(tmp_path):
    reading = open_source(write(tmp_path / "a.parquet", n=np.arange(N), x=["a", "b", "c"] * (N // 3))).reading
    path = write(tmp_path / "b.parquet", n=np.arange(N), x=text_of([b"a"] * (N - 1) + [b"\xff"]))
    with pytest.raises(ValueError, match=r"b.parquet, column 'x': some of its text is not UTF-8"):
        list(open_source(path, reading=reading).blocks(1))


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_dates_of_no_calendar_are_refused_with_file_and_column(tmp_path, unit):
    good = np.array(["2021-01-01", "2021-03-05"] * (N // 2), f"datetime64[{unit}]")
    reading = open_source(write(tmp_path / "a.parquet", x=good)).reading
    bad = good.copy()
    bad[7] = np.datetime64(2**62, unit)
    path = write(tmp_path / "b.parquet", x=bad)
    for options in ({}, {"reading": reading}):
        with pytest.raises(ValueError, match="year 9999") as error:
            list(open_source(path, **options).blocks(1))
        assert str(error.value) == f"{path}, column 'x': it has a date before the year 1 or after the year 9999."


def test_any_byte_of_a_schema_may_be_wrong(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": [0.5, 1.5, 2.5], "b": ["x", "y", "x"], "y": [0, 1, 1]})
    pq.write_table(table, path, store_schema=False)
    content = path.read_bytes()
    length, rng, counts = int.from_bytes(content[-8:-4], "little"), random.Random(0), Counter()
    for place in range(len(content) - 8 - length, len(content), 3):
        data = bytearray(content)
        data[place] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            source = open_source(path)
            whole, parts = source.read().features, [block.features for block in source.blocks(1)]
            np.testing.assert_array_equal(np.concatenate(parts), whole)
            counts["read"] += 1
        except (ValueError, OSError) as error:
            counts["refused" if str(path) in str(error) and "\n" not in str(error) else "in other words"] += 1
    assert set(counts) == {"read", "refused"}
    assert min(counts.values()) > 10


def test_periods_of_pandas_are_dates(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": pd.period_range("2024-01", periods=N, freq="M"), "y": np.arange(N) % 2})
    frame.to_parquet(tmp_path / "rows.parquet")
    script = f"from aucmax.files import open_source; print(open_source({str(tmp_path / 'rows.parquet')!r}).reading)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "x       date  up to 2024-12-01, as age, month, weekday" in shown
