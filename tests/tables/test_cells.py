"""Cells of text: missing values and numbers in their spellings."""

import numpy as np
import pyarrow as pa
import pytest

from aucmax.tables.reading.cells import (
    check_thousands,
    find_missing,
    list_number_forms,
    read_numbers,
    tidy_numbers,
    trim,
)


def test_missing_values_in_their_spellings():
    words = ["", "NA", "n/a", "NaN", "NULL", "None", "?", "-", "missing", None, "#N/A"]
    words += ["Unknown", "not available", "#DIV/0!", "\\N", "..", "\u2014", "-nan", "(blank)"]
    assert find_missing(trim(pa.array([*words, *(f" {word} " for word in words if word)]))).all()
    others = ["0", "no", "nano", "nowhere", "-1", "??"]
    assert not find_missing(pa.array(others)).any()
    assert find_missing(pa.array(others), ["nowhere", "-1"]).tolist() == [False, False, False, True, True, False]


@pytest.mark.parametrize(
    ("form", "cells", "values"),
    [
        ("1234.5", ["1", "-2.5", "+.5", "3.", "1e3", "2E-2"], [1, -2.5, 0.5, 3, 1000, 0.02]),
        ("1,234.5", ["1,234", "12,345,678.9", "999", "-1,000"], [1234, 12345678.9, 999, -1000]),
        ("1.234,5", ["1.234", "1.234.567,25", "0,5"], [1234, 1234567.25, 0.5]),
        ("1234,5", ["1,5", "-12345,25", "7"], [1.5, -12345.25, 7]),
        ("1 234,5", ["1 234,5", "12"], [1234.5, 12]),
        ("1'234.5", ["1'234.5", "12"], [1234.5, 12]),
        ("$1,234.5", ["$1,234.50", "-$7", "$ 3"], [1234.5, -7, 3]),
        ("€1.234,5", ["1.234,50 €", "€7"], [1234.5, 7]),
        ("1234.5%", ["12.5%", "3 %"], [12.5, 3]),
        ("1 234.5", ["1 234.5", "12"], [1234.5, 12]),
        ("1 234,5", ["1\u00a0234,5", "1\u202f234\u202f567", "\u22121"], [1234.5, 1234567, -1]),
        ("1,234.5", ["(1,234.50)", "7"], [-1234.5, 7]),
        ("$1,234.5", ["($1,234)", "$(7)", "$8"], [-1234, -7, 8]),
        ("USD1,234.5", ["USD 1,234", "7 USD", "-USD 5"], [1234, 7, -5]),
        ("CHF1'234.5", ["CHF 1'234.50", "CHF 7"], [1234.5, 7]),
    ],
)
def test_read_numbers_of_every_form(form, cells, values):
    text = tidy_numbers(pa.array(cells))
    np.testing.assert_allclose(read_numbers(text, form), values)
    np.testing.assert_allclose(read_numbers(text, form, strict=True), values)
    whole = [
        name for name, each, strict in list_number_forms(text) if np.isfinite(read_numbers(each, name, strict)).all()
    ]
    assert whole[0] == form


@pytest.mark.parametrize(
    "cell", ["", "x", "1,23", "0x1F", "1_000", "--1", "1e", "1.2.3", "12,34,567", "$", "nan", "inf", "()", "(x)"]
)
def test_read_numbers_of_no_plain_number(cell):
    text = tidy_numbers(pa.array([cell]))
    assert np.isnan(read_numbers(text, "1234.5")[0])
    assert np.isnan(read_numbers(text, "1,234.5")[0])


def test_thousands_are_separated_everywhere_unless_named():
    assert np.isnan(read_numbers(pa.array(["1234", "1,234"]), "1,234.5", strict=True)).tolist() == [True, False]
    assert [(form, strict) for form, _, strict in list_number_forms(pa.array(["1"]), ".")] == [("1.234,5", False)]


@pytest.mark.parametrize("text", ["", ",,", "a", "7", "-"])
def test_what_cannot_separate_thousands(text):
    message = f"^'{text}' cannot separate thousands: give one character, such as ',' or ' '.$"
    with pytest.raises(ValueError, match=message):
        check_thousands(text)
    check_thousands("'")
