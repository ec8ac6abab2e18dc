"""SQL and Python that score a raw table: the same scores as the model on every row."""

import re
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from raw_tables import CATEGORICAL, KINDS, LEVELS, NAMES, TABLES, as_text, labels, plain
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, Scorecard, TableClassifier, TableEncoder, export_python, export_sql
from aucmax.models.sql import DIALECTS, STATEMENTS_ONLY, identifier, literal

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
        pair = (frame.columns[0], frame.columns[-1])
        terms = TableClassifier("pairs", pairs=[pair], cv=0, max_bins=9, **said).fit(frame, y)
        linear = make_pipeline(TableEncoder(**said), AUCClassifier("logistic", alpha=1e-3)).fit(frame, y)
    return frame, Scorecard(terms), linear


@pytest.fixture(scope="module", params=TABLES)
def case(request):
    return request.param, *make(request.param)


def in_sqlite(frame, sql):
    """Return what a statement gives for each row of a table called loans, which has the number of the row."""
    with closing(sqlite3.connect(":memory:")) as database:
        frame.map(plain).assign(row=range(len(frame))).to_sql("loans", database, index=False)
        return [score for _, score in sorted(database.execute(sql))]


def in_duckdb(frame, sql):
    frame = frame.assign(row=range(len(frame)))
    with closing(pytest.importorskip("duckdb").connect()) as database:
        database.register("frame", frame)
        database.execute("CREATE TABLE loans AS SELECT * FROM frame")
        return [score for _, score in sorted(database.execute(sql).fetchall())]


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
    assert_array_equal(RUN[dialect](frame, card.to_sql(dialect, table="loans", keep=["row"])), expected)
    assert_array_equal(RUN[dialect](frame[:60], f"SELECT row, {card.to_sql(dialect)} FROM loans"), expected[:60])
    for model in (linear, card.model):
        found = RUN[dialect](frame, export_sql(model, dialect, table="loans", keep=["row"]))
        assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_python_scores_every_raw_row_as_the_model_does(case, load):
    _, frame, card, linear = case
    frame = load(frame)
    assert_array_equal(in_python(frame, card.to_python()), card.score(frame))
    for model in (linear, card.model):
        assert_allclose(in_python(frame, export_python(model)), model.decision_function(frame), rtol=1e-9, atol=1e-9)


# What every dialect gets


def decode(node):
    """Return the text that a string of SQL, as sqlglot parses it, is; None for other nodes."""
    from sqlglot import exp

    if isinstance(node, exp.Paren):
        return decode(node.this)
    if isinstance(node, exp.DPipe):
        return decode(node.this) + decode(node.expression)
    if isinstance(node, exp.Chr):
        return "".join(chr(int(each.this)) for each in node.expressions)
    if isinstance(node, exp.Introducer):
        return bytes.fromhex(node.expression.this).decode()
    return node.this


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("text", [*LEVELS, "", "\x7f\ufeff", "\U000e0001", "a'\n'b", "\\n", "\\u0041", "\\\\''"])
def test_string_is_one_string_in_its_dialect(dialect, text):
    sqlglot = pytest.importorskip("sqlglot")
    (statement,) = sqlglot.parse(f"SELECT {literal(DIALECTS[dialect], text)} AS x", dialect=dialect)
    assert decode(statement.expressions[0].this) == text
    if dialect in RUN:
        assert RUN[dialect](pd.DataFrame({"a": [1]}), f"SELECT row, {literal(DIALECTS[dialect], text)} FROM loans") == [
            text
        ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_name_is_one_name_in_its_dialect(dialect):
    sqlglot = pytest.importorskip("sqlglot")
    for name in NAMES:
        (statement,) = sqlglot.parse(f"SELECT {identifier(DIALECTS[dialect], name)} AS x", dialect=dialect)
        assert statement.expressions[0].this.name == name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_is_one_statement_in_its_dialect(case, dialect):
    sqlglot = pytest.importorskip("sqlglot")
    _, frame, card, linear = case
    written = [
        card.to_sql(dialect, table=("other; schema", 'lo"an`s')),
        export_sql(linear, dialect, table="loans", keep=[frame.columns[0]]),
    ]
    if dialect not in STATEMENTS_ONLY:
        written.append(f"SELECT {card.to_sql(dialect)} FROM loans")
    for sql in written:
        (statement,) = sqlglot.parse(sql, dialect=dialect)
        assert isinstance(statement, sqlglot.exp.Select)
        tables = {table.name for table in statement.find_all(sqlglot.exp.Table)}
        assert {name for name in tables if not re.fullmatch("_*[kl][0-9]", name)} in ({"loans"}, {'lo"an`s'})
        columns = {column.name for column in statement.find_all(sqlglot.exp.Column)}
        assert {column.name for column in card.model.reading_.used} <= columns
