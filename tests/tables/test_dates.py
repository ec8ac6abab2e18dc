"""Dates and times of day in their spellings."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from aucmax.tables.reading.cells import NUMBER_FORMS
from aucmax.tables.reading.dates import DATE_FORMS, DIGITS_FORM, has_days, read_dates, read_times
from aucmax.tables.reading.kinds import decide
from aucmax.tables.reading.summary import summarise


@pytest.mark.parametrize("form", DATE_FORMS)
def test_dates_with_and_without_times(form):
    day = [31, 29, 4] if has_days(form) else [1, 1, 1]
    moments = [
        datetime.datetime(1969, 12, day[0]),
        datetime.datetime(2024, 2, day[1], 13, 5),
        datetime.datetime(2001, 7, day[2], 0, 0, 59),
    ]
    expected = [(moment - datetime.datetime(1970, 1, 1)).total_seconds() for moment in moments]
    for time in (" %H:%M:%S", "T%H:%M:%SZ", " %H:%M:%S.000+02:00", " %I:%M:%S %p"):
        text = pa.array([moment.strftime(form + time) for moment in moments])
        assert read_dates(text, form).tolist() == expected
    days = read_dates(pa.array([moment.strftime(form) for moment in moments]), form)
    assert days.tolist() == [86400 * (seconds // 86400) for seconds in expected]


def test_what_is_no_date():
    for cell in ("Mayor 2019", "2024-00", "1/2/024"):
        assert all(np.isnan(read_dates(pa.array([cell]), form)[0]) for form in DATE_FORMS), cell
    for cell in (
        "2024-01-32",
        "2024-13-01",
        "2024",
        "tomorrow",
        "1.5",
        "2024-01-01x",
        "12:30",
        "32/02/2024",
        "Mayor 2019",
        "2024-00",
        "1/2/024",
    ):
        assert all(np.isnan(read_dates(pa.array([cell]), form)[0]) for form in DATE_FORMS), cell


@pytest.mark.parametrize("form", [form for form in (*DATE_FORMS, DIGITS_FORM) if has_days(form)])
def test_a_day_that_its_month_does_not_have_is_no_date(form):
    def written(year, month, day):
        """Return a date as text, which `strftime` would refuse to write."""
        name = datetime.date(2000, month, 1).strftime("%b")
        text = (
            form.replace("%Y", f"{year}")
            .replace("%y", f"{year % 100:02}")
            .replace("%m", f"{month:02}")
            .replace("%d", f"{day:02}")
        )
        return text.replace("%b", name)

    days = [(2021, 2, 30), (2023, 2, 29), (2021, 4, 31), (2024, 2, 29), (2021, 1, 31)]
    found = read_dates(pa.array([written(*day) for day in days]), form)
    assert np.isnan(found).tolist() == [True, True, True, False, False]


def test_forms_are_told_apart():
    assert len(set(NUMBER_FORMS) | set(DATE_FORMS)) == len(NUMBER_FORMS) + len(DATE_FORMS)


@pytest.mark.parametrize("form", DATE_FORMS)
def test_a_column_of_dates_has_its_form(form):
    """Days above 12 tell days and months apart."""
    days = [datetime.date(1995, 1, 13) + datetime.timedelta(days=37 * k) for k in range(120)]
    column = decide("since", summarise(pa.array([day.strftime(form) for day in days])))
    assert (column.kind, column.form) == ("date", form)
    latest = days[-1] if has_days(form) else days[-1].replace(day=1)
    assert column.reason.startswith(f"up to {latest}, as age, month")
    assert ("weekday" in column.reason) == has_days(form)


def test_a_year_of_two_digits_is_of_this_century_or_the_last():
    assert read_dates(pa.array(["01/02/70"]), "%m/%d/%y")[0] == 86400
    assert np.isnan(read_dates(pa.array(["01/02/70"]), "%m/%d/%Y"))
    assert np.isnan(read_dates(pa.array(["70-01-02"]), "%Y-%m-%d"))


def test_dates_with_a_time_that_no_clock_shows_are_none():
    days = ["1970-01-01 99:00", "1970-01-01 13:00 AM", "1970-01-01T24:01", "1970-01-01 24:00 PM", "1970-01-01 24:00"]
    assert read_dates(pa.array(days), "%Y-%m-%d").tolist() == pytest.approx([np.nan] * 4 + [86400.0], nan_ok=True)


@pytest.mark.parametrize(
    ("cell", "hours"),
    [("00:00", 0), ("9:30", 9.5), ("12:30 AM", 0.5), ("12:15pm", 12.25), ("23:59:30", 23 + 119 / 120)],
)
def test_times_of_day_are_hours(cell, hours):
    assert read_times(pa.array([cell]))[0] == pytest.approx(hours)


def test_what_is_no_time_of_day():
    cells = ["24:00", "1:60", "12", "1:2", "noon", "25:00", "99:00", "13:00 AM", None]
    assert np.isnan(read_times(pa.array(cells))).all()


@pytest.mark.parametrize("type", [None, pa.time32("s"), pa.time64("us")], ids=str)
def test_a_column_of_times_is_a_number_of_hours(type):
    times = [datetime.time(k % 24, 30) for k in range(60)]
    cells = pa.array([f"{time:%H:%M}" for time in times]) if type is None else pa.array(times, type)
    column = decide("at", summarise(cells))
    assert column.kind == "number"
    assert column.reason.startswith("0.5 to 23.5")
    assert column.parts[0].mean == np.mean([0.5 + k % 24 for k in range(60)])
