"""Frames of every library and columns of every type."""

import datetime
import decimal
import fractions
import uuid

import numpy as np
import pyarrow as pa
import pytest

from aucmax import TableEncoder
from aucmax.tables.reading import Overrides
from aucmax.tables.reading.frames import to_arrow
from aucmax.tables.reading.summary import decode
from aucmax.tables.reading.table import make_reading, summarise_table

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytestmark = pytest.mark.filterwarnings("ignore:X has columns that are left out")

TABLE = pa.table({"size": [1.0, 2.0, None, 4.0] * 10, "colour": ["red", "blue", None, "red"] * 10})


class Stream:
    """A frame of another library."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES = {
    "Arrow": TABLE,
    "batch": TABLE.to_batches()[0],
    "polars": pl.from_arrow(TABLE),
    "pandas": TABLE.to_pandas(),
    "stream": Stream(TABLE),
}


def learn(table):
    return make_reading(summarise_table(table, Overrides()), Overrides())


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_all_libraries_are_the_same_table(frame):
    assert to_arrow(frame).to_pylist() == TABLE.to_pylist()
    encoder = TableEncoder("codes").fit(frame)
    assert encoder.feature_names_in_.tolist() == ["size", "colour"]
    np.testing.assert_array_equal(encoder.transform(frame), TableEncoder("codes").fit_transform(TABLE))


def test_a_reader_is_read_once():
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(7))
    np.testing.assert_array_equal(TableEncoder().fit_transform(reader), TableEncoder().fit_transform(TABLE))


def test_arrays_have_no_names():
    X = np.array([[1, 2], [3, np.nan]])
    assert to_arrow(X).column_names == ["x0", "x1"]
    assert to_arrow(X, ["a", "b"]).column_names == ["a", "b"]
    encoder = TableEncoder("codes", drop=["x0"]).fit(X)
    np.testing.assert_array_equal(encoder.transform(X), [[2], [np.nan]])


DAY = datetime.datetime(2024, 3, 1)
TYPES = {
    "period": (pd.Series(pd.period_range("2024-02", periods=2, freq="M")), "date", [29, 0]),
    "duration": (pd.Series(pd.to_timedelta([36, 12], unit="h")), "number", [1.5, 0.5]),
    "dictionary of booleans": (pd.Series(pd.Categorical([True, False])), "boolean", [1, 0]),
    "dictionary of dates": (pd.Series(pd.Categorical([DAY, DAY - datetime.timedelta(2)])), "date", [0, 2]),
    "dictionary of numbers": (pd.Series(pd.Categorical([7, 5])), "category", [1, 0]),
    "dictionary of whole floats": (pd.Series(pd.Categorical([7.0, 5.0])), "category", [1, 0]),
    "cut": (pd.Series(pd.cut([1, 5], [0, 2, 6])), "category", [0, 1]),
    "intervals": (pd.Series(pd.interval_range(0, 2)), "category", [0, 1]),
    "sparse": (pd.Series(pd.arrays.SparseArray([1.5, np.nan])), "number", [1.5, np.nan]),
    "decimal objects": (pd.Series([decimal.Decimal("1.5"), None]), "number", [1.5, np.nan]),
    "integers of 30 digits": (pd.Series([10**29, None], dtype=object), "number", [1e29, np.nan]),
    "decimals and fractions": (pd.Series([decimal.Decimal("1e80"), fractions.Fraction(1, 2)]), "number", [1e80, 0.5]),
    "categories of large numbers": (pd.Series(pd.Categorical([10**29, 10**30])), "category", [0, 1]),
    "categories of mixed types": (pd.Series(pd.Categorical([1, "1", 2.5])), "category", [0, 0, 1]),
    "categories of tuples": (
        pd.Series(pd.Categorical([(1, 2), (3, 4)])),
        "left out",
        "the type dictionary<values=list<item: int64>, indices=int8, ordered=0 is not read",
    ),
    "UUIDs": (pd.Series([uuid.UUID(int=2), uuid.UUID(int=1)]), "category", [1, 0]),
    "large numbers of polars": (pl.Series([10**29, 1], dtype=pl.Int128), "number", [1e29, 1]),
    "missing of pandas": (pd.Series([1, pd.NA], dtype=object), "number", [1, np.nan]),
    "mixed": (pd.Series([1.0, "one", pd.NA, True]), "category", [0, 1, np.nan, 2]),
    "bytes": (pa.array([b"red", b"blue"]), "category", [1, 0]),
    "fixed bytes": (pa.array([b"b", b"a"], pa.binary(1)), "category", [1, 0]),
    "view of bytes": (pa.array([b"b", b"a"], pa.binary_view()), "category", [1, 0]),
    "view of text": (pa.array(["b", "a"], pa.string_view()), "category", [1, 0]),
    "large text": (pa.array(["b", "a"], pa.large_string()), "category", [1, 0]),
    "decimal": (pa.array([decimal.Decimal("1.5"), None], pa.decimal128(5, 2)), "number", [1.5, np.nan]),
    "half": (pa.array(np.array([1.5, np.nan], np.float16)), "number", [1.5, np.nan]),
    "unsigned": (pa.array([1, 2**64 - 1], pa.uint64()), "number", [1, 2.0**64]),
    "runs": (pa.RunEndEncodedArray.from_arrays([1, 2], ["b", "a"]), "category", [1, 0]),
    "dictionary of bytes": (pa.array([b"b", b"a"]).dictionary_encode(), "category", [1, 0]),
    "list": (pa.array([[1], [2]]), "left out", "the type list<item: int64> is not read"),
    "struct": (pa.array([{"a": 1}, None]), "left out", "the type struct<a: int64> is not read"),
    "no text": (pa.array([b"\xff", b"a"]), "left out", "bytes that are not text in UTF-8"),
}


@pytest.mark.parametrize("what", TYPES)
def test_no_type_is_dropped_that_can_be_read(what):
    cells, kind, codes = TYPES[what]
    makers = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}
    table = to_arrow(makers.get(type(cells), pa.table)({"x": cells}))
    (column,) = learn(table).columns
    assert column.kind == kind, column
    if kind == "left out":
        assert column.reason == codes
    else:
        found, (tally,) = learn(table).codes(table)
        np.testing.assert_array_equal(found[:, 0], codes)
        assert tally.n_faults == 0


def test_a_type_that_cannot_be_read_is_refused_in_new_rows():
    encoder = TableEncoder().fit(pa.table({"x": ["b", "a"]}))
    with pytest.raises(ValueError, match=r"^X, column 'x': the type list<item: int64> is not read\.$"):
        encoder.transform(pa.table({"x": [[1], [2]]}))


NOT_TABLES = {
    "LazyFrame": (pl.LazyFrame({"x": [1.0]}), r"X is a LazyFrame, whose rows are not in memory yet: call .collect\(\)"),
    "Series": (pd.Series([1.0]), "X is a Series, not a table: pass a frame, or an array with a row for each sample"),
    "Series of polars": (pl.Series([1.0]), "X is a Series, not a table"),
    "Array": (pa.array([1.0]), "X is a DoubleArray, not a table"),
    "dict": ({"x": [1.0]}, "X is a dict, not a table"),
    "rows of several lengths": ([[1, 2], [3]], "X is a list, not a table"),
    "records": (np.zeros(2, dtype=[("x", float)]), "X is a ndarray, not a table"),
    "no columns": (pd.DataFrame(index=range(2)), r"Found a table with 0 feature\(s\)"),
    "complex": (pd.DataFrame({"x": [1j]}), "X, column 'x': Complex data not supported: make the real and the imag"),
}


@pytest.mark.parametrize("what", NOT_TABLES)
def test_what_is_not_a_table_is_refused_in_a_sentence(what):
    X, message = NOT_TABLES[what]
    with pytest.raises(ValueError, match=f"^{message}"):
        TableEncoder().fit(X)


def test_arrays_of_any_byte_order_and_unit_are_read():
    for X in (np.array([[1.5], [2.5]], dtype=">f8"), np.array([[36], [60]], dtype="timedelta64[h]")):
        np.testing.assert_array_equal(TableEncoder("codes").fit_transform(X), [[1.5], [2.5]])


def test_names_and_missing_values_may_be_numbers():
    X = pd.DataFrame({10: [1.0, -999] * 10, 20: ["1", "-999"] * 10, 30: [True, False] * 10})
    encoder = TableEncoder("codes", drop=[10], numeric=[30], na_values=[-999.0]).fit(X)
    np.testing.assert_array_equal(encoder.transform(X)[:2], [[1, 1], [np.nan, 0]])


def test_a_numeric_array_is_not_copied_into_other_types():
    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 3)))
    for j, column in enumerate(to_arrow(X).columns):
        assert np.shares_memory(X, column.chunk(0).to_numpy()), j
        assert decode(column) is column


BLOCKS = {
    "numbers, then text": ([1, 2, 3] * 10, ["one", "two", None] * 10),
    "numbers, then numbers as text": ([1, 2, 3] * 10, ["4", "5", None] * 10),
    "whole numbers, then others": ([1.0, 2.0] * 10, [1.0, 2.5] * 10),
    "dates, then text": ([DAY, None] * 10, ["2024-03-02", "?"] * 10),
    "nothing, then text": ([None] * 10, ["a", "b"] * 10),
    "nothing, then numbers": ([np.nan] * 10, [1.5, 2.5] * 10),
    "text, then a list": (["a", "b"] * 10, [[1], [2]] * 10),
}


@pytest.mark.dask
@pytest.mark.parametrize("what", BLOCKS)
@pytest.mark.parametrize("option", [{}, {"categorical": ["x"]}])
def test_a_column_is_the_same_in_any_order_of_its_partitions(what, option):
    dd = pytest.importorskip("dask.dataframe")
    dask = pytest.importorskip("dask")
    parts = [pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": [0.5] * len(cells)}) for cells in BLOCKS[what]]
    found = []
    for order in (parts, parts[::-1]):
        with dask.config.set({"dataframe.convert-string": False, "scheduler": "synchronous"}):
            encoder = TableEncoder(**option).fit(dd.from_delayed([dask.delayed(part) for part in order], meta=parts[0]))
        column, _ = encoder.reading_.columns
        found.append([part._replace(counts=part.counts.tolist()) for part in column.parts] or column.reason)
    assert found[0] == found[1]
