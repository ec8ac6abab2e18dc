"""Cells of text: missing values, numbers and dates in their spellings."""

import datetime

import numpy as np
import pytest

from aucmax.tables.cells import (
    DATE_FORMS,
    DIGITS_FORM,
    NUMBER_FORMS,
    check_thousands,
    find_missing,
    list_number_forms,
    read_dates,
    read_numbers,
    trim,
)

pa = pytest.importorskip("pyarrow")


def test_missing_values_in_their_spellings():
    words = ["", "NA", "n/a", "NaN", "NULL", "None", "?", "-", "missing", None, "#N/A"]
    assert find_missing(trim(pa.array([*words, *(f" {word} " for word in words if word)]))).all()
    others = ["0", "no", "nano", "unknown", "-1", "??"]
    assert not find_missing(pa.array(others)).any()
    assert find_missing(pa.array(others), ["unknown", "-1"]).tolist() == [False, False, False, True, True, False]


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
    ],
)
def test_numbers(form, cells, values):
    text = pa.array(cells)
    np.testing.assert_allclose(read_numbers(text, form), values)
    np.testing.assert_allclose(read_numbers(text, form, strict=True), values)
    whole = [
        name for name, each, strict in list_number_forms(text) if np.isfinite(read_numbers(each, name, strict)).all()
    ]
    assert whole[0] == form


@pytest.mark.parametrize(
    "cell", ["", "x", "1,23", "0x1F", "1_000", "--1", "1e", "1.2.3", "12,34,567", "$", "nan", "inf"]
)
def test_what_is_no_plain_number(cell):
    assert np.isnan(read_numbers(pa.array([cell]), "1234.5")[0])
    assert np.isnan(read_numbers(pa.array([cell]), "1,234.5")[0])


def test_thousands_must_be_separated_everywhere_unless_the_user_names_the_separator():
    assert np.isnan(read_numbers(pa.array(["1234", "1,234"]), "1,234.5", strict=True)).tolist() == [True, False]
    assert [(form, strict) for form, _, strict in list_number_forms(pa.array(["1"]), ".")] == [("1.234,5", False)]


@pytest.mark.parametrize("form", DATE_FORMS)
def test_dates_with_and_without_times(form):
    moments = [
        datetime.datetime(1969, 12, 31),
        datetime.datetime(2024, 2, 29, 13, 5),
        datetime.datetime(2001, 7, 4, 0, 0, 59),
    ]
    expected = [(moment - datetime.datetime(1970, 1, 1)).total_seconds() for moment in moments]
    for time in (" %H:%M:%S", "T%H:%M:%SZ", " %H:%M:%S.000+02:00"):
        text = pa.array([moment.strftime(form + time) for moment in moments])
        assert read_dates(text, form).tolist() == expected
    days = read_dates(pa.array([moment.strftime(form) for moment in moments]), form)
    assert days.tolist() == [86400 * (seconds // 86400) for seconds in expected]


def test_what_is_no_date():
    for cell in ("2024-01-32", "2024-13-01", "2024", "tomorrow", "1.5", "2024-01-01x", "12:30", "32/02/2024"):
        assert all(np.isnan(read_dates(pa.array([cell]), form)[0]) for form in DATE_FORMS), cell


def test_forms_are_told_apart():
    assert len(set(NUMBER_FORMS) | set(DATE_FORMS)) == len(NUMBER_FORMS) + len(DATE_FORMS)


@pytest.mark.parametrize("form", [*DATE_FORMS, DIGITS_FORM])
def test_a_day_that_its_month_does_not_have_is_no_date(form):
    def written(year, month, day):
        """Return a date as text, which `strftime` would refuse to write."""
        name = datetime.date(2000, month, 1).strftime("%b")
        text = form.replace("%Y", f"{year}").replace("%m", f"{month:02}").replace("%d", f"{day:02}")
        return text.replace("%b", name)

    days = [(2021, 2, 30), (2023, 2, 29), (2021, 4, 31), (2024, 2, 29), (2021, 1, 31)]
    found = read_dates(pa.array([written(*day) for day in days]), form)
    assert np.isnan(found).tolist() == [True, True, True, False, False]


@pytest.mark.parametrize("text", ["", ",,", "a", "7", "-"])
def test_what_cannot_separate_thousands(text):
    message = f"^thousands='{text}' cannot separate thousands: give one character, such as ',' or ' '.$"
    with pytest.raises(ValueError, match=message):
        check_thousands(text)
    check_thousands("'")
