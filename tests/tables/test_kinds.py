"""What a column is, decided from summaries that merge."""

import datetime
import itertools

import numpy as np
import pyarrow as pa
import pytest
from credit import HEADER, draw_credits

from aucmax.tables.reading import Overrides
from aucmax.tables.reading.kinds import decide
from aucmax.tables.reading.summary import summarise
from aucmax.tables.reading.table import make_reading, merge_summaries, summarise_table

MANY = [f"text {k}" for k in range(60)]


def kind_of(cells, name="x", type=None, **overrides):
    column = pa.array(cells, type)
    said = Overrides(**overrides)
    return decide(name, summarise(column, said.na_values, said.thousands), said)


@pytest.mark.parametrize(
    ("cells", "kind", "reason"),
    [
        (["1", "2.5", "?"], "number", "1 to 2.5"),
        (["1,234", "999"] * 9, "number", "999 to 1234, written as 1,234.5"),
        (["$5", "$7,000"] * 9, "number", "5 to 7000, written as $1,234.5"),
        (["1,5", "0,25"] * 9, "number", "0.25 to 1.5, written as 1234,5"),
        (["$5", "7"] * 9, "number", "5 to 7, written as $1234.5"),
        (["$5", "7", "€8"] * 9, "category", "3 levels; amounts in $ and €"),
        (["5%", "7%"] * 9, "number", "5 to 7, written as 1234.5%"),
        (["5%", "0.07"] * 9, "category", "2 levels"),
        (["05914", "10115", "?"] * 9, "category", "2 levels; digits with leading zeros"),
        (["007", "10"] * 9, "number", "7 to 10"),
        (["0", "1", "2"] * 9, "number", "0 to 2"),
        (["Yes", "no", "N/A"], "boolean", "Yes, no"),
        (["TRUE", "true", "True", "TRUE", "False"], "boolean", "TRUE, False"),
        (["Y", "Y"], "boolean", "Y, n"),
        (["TRUE", "false"], "boolean", "TRUE, false"),
        (["yes", "no", "maybe"] * 9, "category", "3 levels"),
        (["2024-05-06", "2024-05-07"] * 9, "date", "up to 2024-05-07, as age, weekday; written as %Y-%m-%d"),
        (["31/12/2023", "01/12/2023"] * 9, "date", "up to 2023-12-31, as age, weekday; written as %d/%m/%Y"),
        (
            ["01/02/2023", "02/01/2023"] * 9,
            "date",
            "up to 2023-02-01, as age, month, weekday; written as %m/%d/%Y, taken as the month first",
        ),
        (MANY, "left out", "identifier or free text: 60 different texts in 60 rows"),
        (MANY * 5, "category", "60 levels"),
        (MANY[:3] * 20 + ["seldom"], "category", "4 levels"),
        (["", "NA", "?"], "left out", "every cell is missing"),
        ([f"text {k}" for k in range(65_537)] * 2, "left out", "more than 65,536 different texts"),
    ],
)
def test_kinds_of_columns(cells, kind, reason):
    column = kind_of(cells)
    assert column.kind == kind
    assert column.reason.startswith(reason)
    assert bool(column.parts) == (kind != "left out")


@pytest.mark.parametrize(
    ("type", "cells", "kind"),
    [
        (pa.int32(), [1, 2, None], "number"),
        (pa.float64(), [1.0, np.inf], "number"),
        (pa.decimal128(5, 2), [1, 2], "number"),
        (pa.bool_(), [True, None, False], "boolean"),
        (pa.date32(), [datetime.date(2024, 1, 1), None], "date"),
        (pa.timestamp("ns", "Europe/Paris"), [0, 10**15], "date"),
        (pa.dictionary(pa.int8(), pa.string()), ["1", "2"], "category"),
        (pa.large_string(), ["1", "2"], "number"),
        (pa.list_(pa.int8()), [[1], [2]], "left out"),
        (pa.null(), [None, None], "left out"),
    ],
    ids=str,
)
def test_types_tell_the_kind(type, cells, kind):
    assert kind_of(cells, type=type).kind == kind


def test_kind_given_by_the_user_is_taken():
    numbers = [str(k % 3) for k in range(60)]
    assert kind_of(numbers, categorical=("x",)).parts[0].levels == ["0", "1", "2"]
    assert kind_of(numbers, drop=("x",)).kind == "left out"
    assert kind_of(numbers, identifiers=("x",)).kind == "identifier"
    assert kind_of(["20240102", "20240203"], date=("x",)).form == "%Y%m%d"
    assert kind_of(["20240102", "20240203"]).kind == "number"
    assert kind_of(["1", "x", "y", "z"], numeric=("x",)).kind == "number"
    assert kind_of(["1234", "1,234"] * 9, thousands=",").reason == "1234 to 1234, written as 1,234.5"
    assert kind_of(["1", "none yet"], na_values=("none yet",)).reason == "1 to 1"


@pytest.mark.parametrize("name", ["id", "loan_id", "customerID", "user id", "uuid"])
def test_numbers_with_the_name_of_an_identifier(name):
    assert kind_of([str(7 * k) for k in range(50)], name).reason == "identifier: numbers that hardly repeat"
    assert kind_of([str(k % 7) for k in range(50)], name).kind == "category"
    assert kind_of([str(7 * k) for k in range(50)], "paid").kind == "number"


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "column 1"])
def test_kind_of_row_numbers_is_left_out(name):
    assert kind_of([str(k) for k in range(50)], name).kind == "left out"
    assert kind_of([str(k % 20) for k in range(50)], name).kind == "number"


def test_one_other_text_among_numbers_is_no_reason_for_levels():
    cells = [str(k / 7) for k in range(300)]
    for gap in ("?", "", "N/A"):
        column = kind_of([*cells, gap])
        assert (column.kind, column.n_missing) == ("number", 1)
        assert len(column.parts) == 1
    assert kind_of([*cells, "oops"]).kind == "number"  # the cell is a fault, which is told with its line


def test_kind_reason_counts_numbers_among_texts():
    cells = [str(k % 90) if k % 4 else f"word {k % 5}" for k in range(300)]
    assert kind_of(cells).reason.endswith(" levels; 225 cells are numbers")
    assert kind_of(["a", "b"] * 50).reason == "2 levels"


def equal(first, second):
    """Return whether two readings are the same up to rounding."""
    np.testing.assert_equal(
        [c._replace(parts=[]) for c in first.columns], [c._replace(parts=[]) for c in second.columns]
    )
    for one, two in zip(first.parts, second.parts, strict=True):
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-12)
        np.testing.assert_array_equal(one.counts, two.counts)
        assert one._replace(mean=0, counts=None) == two._replace(mean=0, counts=None)
    return True


@pytest.mark.parametrize("order", [1, -1])
def test_summaries_of_blocks_merge_to_that_of_the_table(order):
    rows = draw_credits(600)
    table = pa.table({name: list(cells) for name, cells in zip(HEADER, zip(*rows, strict=True), strict=True)})
    whole = summarise_table(table, Overrides())
    cuts = [0, 1, 3, 50, 51, 400, 600]
    blocks = [table.slice(start, stop - start) for start, stop in itertools.pairwise(cuts)]
    merged = merge_summaries([summarise_table(block, Overrides()) for block in blocks][::order])
    assert equal(make_reading(merged, Overrides()), make_reading(whole, Overrides()))


@pytest.mark.parametrize("cells", [["1e308", "1.7e308", "1.7e308", "-5"], ["-0.0", "0", "3", "-0.0"]])
@pytest.mark.parametrize("as_numbers", [False, True])
def test_summaries_of_extreme_numbers_merge(cells, as_numbers):
    table = pa.table({"x": pa.array(cells).cast(pa.float64()) if as_numbers else cells})
    whole = make_reading(summarise_table(table, Overrides()), Overrides())
    parts = [summarise_table(table.slice(k, 1), Overrides()) for k in range(len(cells))]
    assert np.isfinite(whole.parts[0].mean)
    assert equal(make_reading(merge_summaries(parts), Overrides()), whole)
