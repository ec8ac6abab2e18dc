"""Cells of text in SQL and in Python: the values of the reading, and no value where it finds none."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from test_sql import RUN, score_of

from aucmax.models.formula import Formula, Slope
from aucmax.models.python_source import to_python
from aucmax.models.sql import to_sql
from aucmax.tables.reading import Reading
from aucmax.tables.reading.cells import find_missing, trim
from aucmax.tables.reading.dates import DATE_FORMS, DIGITS_FORM
from aucmax.tables.reading.kinds import LABELS, Column, Part
from aucmax.tables.reading.table import code_column

FORMS = (
    *("1234.5", "1,234.5", "1234,5", "1.234,5", "1 234,5", "1 234.5", "1'234.5", "1_234.5", "1]234.5", "1^234,5"),
    *("$1234.5", "$1,234.5", "€1.234,5", "USD1,234.5", "EUR1 234,5", "1234.5%", "1.234,5%", "1 234.5%", "£1234,5"),
)
PYTHON = ("python", "the module that is copied")
GAP = -123456789.0
NUMBER_LETTERS = [
    *"0012359  ..,,()--++$%eE€'_]^£",
    "USD",
    "EUR",
    "\u00a0",
    "\u2212",
    "N",
    "S",
    "T",
    "D",
    "x",
    "000",
    "234",
]
DATES = (*DATE_FORMS, DIGITS_FORM, "")
TIMES = (
    "",
    " 12:30",
    "T05:06:07",
    " 23:59:59.25",
    " 7:08",
    "T12:30Z",
    " 12:30 UTC",
    " 12:30+02:00",
    " 24:00",
    " 25:00",
    " 13:00 AM",
    " 12:30 am",
    " 12:60",
    "T",
    ", 9:05",
)


def shuffled(rng, letters, n, longest):
    """Return texts of random letters."""
    return ["".join(letters[k] for k in rng.integers(len(letters), size=rng.integers(1, longest))) for _ in range(n)]


def written(rng, form, n):
    """Return numbers in about a form, some of them with a mistake."""
    found = []
    for _ in range(n):
        digits = "".join(str(k) for k in rng.integers(10, size=rng.integers(1, 9)))
        whole = form.replace("1", digits[0]).replace("234", digits[1:4]).replace("5", digits[4:])
        place = int(rng.integers(len(whole) + 1))
        found.append(whole[:place] + rng.choice(["", "", "", *NUMBER_LETTERS]) + whole[place:])
        found += [
            f"-{whole}",
            f"({whole})",
            f" {whole} ",
            f"+{whole}",
            f"{form[0]} ({digits})",
            f"{digits}e{digits[:2]}",
        ]
    return found


def compare(column, texts, dialect):
    """Check that the SQL, or the Python, of a column has the value that the reading has of each text."""
    frame = pd.DataFrame({"c": pd.Series(texts, dtype=object)})
    reading = Reading([column], [], 0)
    cells = trim(pa.array(texts))
    places = range(len(column.parts)) if column.kind == "date" else [0]
    codes, _ = code_column(column, pa.array(texts), [])
    missing = find_missing(cells)
    for place in places:
        expected = np.where(missing, GAP, np.where(np.isfinite(codes[place]), codes[place], np.nan))
        formula = Formula("", np.array([0, 1]), reading, 0.0, [Slope("c", place, 1.0, GAP)])
        if dialect in PYTHON:
            score, found = score_of(to_python(formula), dialect == "python"), []
            for text in texts:
                try:
                    found.append(score({"c": text}))
                except ValueError as error:
                    assert str(error).startswith("column 'c': found ")  # noqa: PT017
                    found.append(None)
        else:
            found = RUN[dialect](frame, to_sql(formula, dialect, table="loans", keep=["row"]))
        found = np.array(found, dtype=float)
        wrong = np.isnan(found) != np.isnan(expected)
        assert not wrong.any(), [(texts[k], found[k], expected[k]) for k in np.flatnonzero(wrong)[:9]]
        assert_allclose(found, expected, rtol=1e-15, atol=0)
        assert np.isnan(expected).any()
        assert not np.isnan(expected).all()


@pytest.mark.parametrize("dialect", [*RUN, *PYTHON])
@pytest.mark.parametrize("form", FORMS)
def test_text_is_a_number_of_a_form_where_the_reading_says_so(form, dialect):
    rng = np.random.default_rng(len(form))
    texts = [*shuffled(rng, NUMBER_LETTERS, 1500, 7), *written(rng, form, 150), "1e999", "inf", "1" * 70, "nan", "?"]
    texts = [text for text in texts if len(text) <= 60] if dialect not in PYTHON else texts
    column = Column("c", "number", "", 0, form, parts=[Part("c")])
    compare(column, texts, dialect)


def cut(rng, texts):
    """Return texts, and some of them with a letter replaced."""
    found = list(texts)
    for text in texts:
        place = int(rng.integers(len(text)))
        found.append(text[:place] + rng.choice([*"0123459 -/.:TZUCx", ""]) + text[place + 1 :])
    return found


@pytest.mark.parametrize("dialect", [*RUN, *PYTHON])
@pytest.mark.parametrize("form", DATES)
def test_text_is_a_date_of_a_form_where_the_reading_says_so(form, dialect):
    """Its age, month, weekday and hour are right, on both sides of leap days and of 1970."""
    rng = np.random.default_rng(len(form))
    days = [
        pd.Timestamp(day)
        for day in ("1900-02-28", "1900-03-01", "2000-02-29", "2024-02-29", "1970-01-01", "1969-12-31")
    ]
    days += [pd.Timestamp("1890-01-01") + pd.Timedelta(days=int(k)) for k in rng.integers(0, 60_000, 50)]
    styles = (form, form.replace("%b", "%B"), form) if form else ("%Y-%m-%d",)
    days = [day.strftime(styles[k % len(styles)]) for k, day in enumerate(days)]
    days = [(day, day.upper(), day.lower())[k // 2 % 3] for k, day in enumerate(days)]
    wrong = [
        "1900-02-29",
        "2023-02-29",
        "2024-04-31",
        "2024-00-10",
        "2024-13-01",
        "2024-01-00",
        "0000-01-01",
        "2024-1-5",
    ]
    wrong += ["29/02/2023", "31.04.24", "2024-13", "2024-00"]
    texts = cut(rng, [day + time for day in days for time in rng.choice(TIMES, 4)]) + wrong + ["", "NaT"]
    parts = [Part("c"), *(Part(part, levels=LABELS[part], of_date=part) for part in LABELS)]
    column = Column("c", "date", "", 0, form, latest=1.7e9, parts=parts)
    texts = [text for text in texts if "0000" not in text]  # a year that only Arrow has
    if dialect not in PYTHON:  # SQL has no 24:00 and no AM; it reads ISO 8601 and +02, as databases write them
        other = "[aA][mM]$|2[4-9]:|[3-9][0-9]:|:[0-9]*[-+][0-9]{2}$" + (
            "|^[0-9]{4}-[0-9]+-" if form not in ("", "%Y-%m-%d") else ""
        )
        texts = [text for text in texts if not re.search(other, text)]
    compare(column, texts, dialect)


@pytest.mark.parametrize("dialect", [*RUN, *PYTHON])
def test_text_is_a_time_of_day_where_the_reading_says_so(dialect):
    rng = np.random.default_rng(0)
    texts = cut(rng, [f"{k // 60}:{k % 60:02}{second}" for k in range(0, 1440, 7) for second in ("", ":05", ":59.5")])
    compare(Column("c", "number", "", 0, "23:59", parts=[Part("c")]), [*texts, "24:00", "1:60", "1:00 Z"], dialect)


@pytest.mark.parametrize("dialect", [*RUN, *PYTHON])
def test_text_is_a_truth_value_where_the_reading_says_so(dialect):
    words = ["Yes", "yEs", " no", "TRUE", "false", "T", "f", "on", "OFF", "1", "0", "2", "yess", "", "N/A", "oui", "01"]
    compare(Column("c", "boolean", "yes, no", 0, parts=[Part("c")]), words, dialect)
