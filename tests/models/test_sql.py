"""SQL and Python that score a raw table: the same scores as the model on every row."""

import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from raw_tables import CATEGORICAL, KINDS, TABLES, as_text, labels, plain
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, Scorecard, TableClassifier, TableEncoder, export_python, export_sql

pytestmark = pytest.mark.filterwarnings("ignore:X has (levels|values)")
LOADS = {"native": lambda frame: frame, "text": as_text}


def make(name):
    """Return a raw table, the card of its terms, and a linear model of it."""
    rng = np.random.default_rng(7)
    frame = TABLES[name](rng, 900)
    y = labels(frame, rng)
    said = {"na_values": ["-999"], "categorical": CATEGORICAL.get(name)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        terms = TableClassifier("pairs", pairs=2, cv=0, max_bins=9, **said).fit(frame, y)
        linear = make_pipeline(TableEncoder(**said), AUCClassifier("logistic", alpha=1e-3)).fit(frame, y)
    return frame, Scorecard(terms), linear


@pytest.fixture(scope="module", params=TABLES)
def case(request):
    return request.param, *make(request.param)


def in_sqlite(frame, sql):
    with closing(sqlite3.connect(":memory:")) as database:
        frame.map(plain).to_sql("loans", database, index=False)
        return [row[-1] for row in database.execute(sql)]


def in_duckdb(frame, sql):
    with closing(pytest.importorskip("duckdb").connect()) as database:
        database.execute("CREATE TABLE loans AS SELECT * FROM frame")
        return [row[-1] for row in database.execute(sql).fetchall()]


def in_python(frame, source):
    space = {}
    exec(source, space)
    return [space["score"](row) for row in frame.to_dict("records")]


RUN = {"sqlite": in_sqlite, "duckdb": in_duckdb}


def test_raw_tables_hold_what_they_are_for(case):
    name, _, card, _ = case
    assert {column.name: column.kind for column in card.model.reading_.columns} == KINDS[name]


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("dialect", RUN)
def test_sql_scores_every_raw_row_as_the_model_does(case, dialect, load):
    _, frame, card, linear = case
    frame = load(frame)
    expected = card.score(frame)
    assert len(set(expected)) > 20
    assert_array_equal(RUN[dialect](frame, card.to_sql(dialect, table="loans")), expected)
    assert_array_equal(RUN[dialect](frame[:60], f"SELECT {card.to_sql(dialect)} FROM loans"), expected[:60])
    for model in (linear, card.model):
        found = RUN[dialect](frame, export_sql(model, dialect, table="loans"))
        assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_python_scores_every_raw_row_as_the_model_does(case, load):
    _, frame, card, linear = case
    frame = load(frame)
    assert_array_equal(in_python(frame, card.to_python()), card.score(frame))
    for model in (linear, card.model):
        assert_allclose(in_python(frame, export_python(model)), model.decision_function(frame), rtol=1e-9, atol=1e-9)
