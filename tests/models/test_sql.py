"""SQL and Python that score a raw table: the same scores as the model on every row."""

import datetime
import inspect
import os
import re
import sqlite3
import warnings
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from raw_tables import CATEGORICAL, KINDS, LEVELS, NAMES, TABLES, as_text, labels, plain
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, Scorecard, TableClassifier, TableEncoder, export_python, export_sql
from aucmax.models import cell_reader
from aucmax.models.sql import DIALECTS, STATEMENTS_ONLY, Cell, condition, identifier, literal
from aucmax.tables.curves import Values
from aucmax.tables.reading.kinds import Part

pytestmark = pytest.mark.filterwarnings("ignore:X has (levels|values)")
TELCO = Path(os.environ.get("AUCMAX_DATA", "../shared/data")) / "tables" / "telco_churn.csv.bz2"
LOADS = {"native": lambda frame: frame, "text": as_text}


def make(name):
    """Return a raw table, the card of all steps of its terms, and a linear model of it."""
    rng = np.random.default_rng(7)
    frame = TABLES[name](rng, 900)
    y = labels(frame, rng)
    said = {"na_values": ["-999"], "categorical": CATEGORICAL.get(name)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pair = (frame.columns[0], frame.columns[-1])
        terms = TableClassifier("pairs", pairs=[pair], cv=0, max_bins=9, **said).fit(frame, y)
        linear = make_pipeline(TableEncoder(**said), AUCClassifier("logistic", alpha=1e-3)).fit(frame, y)
    return frame, Scorecard(terms, None), linear


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


def score_of(source, copied=True):
    """Return the function of a source; with `copied` false, it calls the module that the source has a copy of."""
    space = {}
    exec(source, space)
    if not copied:
        space |= {name: each for name, each in vars(cell_reader).items() if inspect.isfunction(each)}
    return space["score"]


def in_python(frame, source):
    return list(map(score_of(source), frame.to_dict("records")))


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
    short = Scorecard(card.model, 20)
    assert_array_equal(RUN[dialect](frame, short.to_sql(dialect, table="loans", keep=["row"])), short.score(frame))
    for model in (linear, card.model):
        found = RUN[dialect](frame, export_sql(model, dialect, table="loans", keep=["row"]))
        assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_python_scores_every_raw_row_as_the_model_does(case, load):
    _, frame, card, linear = case
    frame = load(frame)
    for each in (card, Scorecard(card.model, 20)):
        assert_array_equal(in_python(frame, each.to_python()), each.score(frame))
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


# Rows that are new, wrong or of other types


@pytest.mark.data
@pytest.mark.skipif(not TELCO.exists(), reason="the data sets of AUCMAX_DATA")
@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
def test_telco_churn_has_the_same_points_in_every_language(load):
    frame = load(pd.read_csv(TELCO).drop(columns="customerID"))
    y = frame.pop("Churn") == "Yes"
    model = TableClassifier("pairs", pairs=1, cv=0, max_bins=16).fit(frame, y)
    for card in (Scorecard(model, None), Scorecard(model)):
        expected = card.score(frame)
        for dialect in RUN:
            assert_array_equal(RUN[dialect](frame, card.to_sql(dialect, table="loans", keep=["row"])), expected)
        assert_array_equal(in_python(frame, card.to_python()), expected)


def small_model(**columns):
    """Return a model of curves of a small table, and the table."""
    frame = pd.DataFrame(columns)
    y = np.arange(len(frame)) * 7 % 10 < 5
    return TableClassifier("curves", cv=0).fit(frame, y), frame


@pytest.mark.parametrize("dialect", RUN)
@pytest.mark.parametrize("cell", ["x", "1.2.3", "--5", "inf", "0x10", "1_000", "5%", "12,5", "N", "true"])
def test_cell_that_cannot_be_read_has_no_score(dialect, cell):
    """The model raises an error; SQL has NULL, and never some points."""
    model, frame = small_model(a=np.arange(60.0) % 10, b=["u", "v", "w"] * 20)
    bad = frame[:2].astype(object)
    bad.loc[1, "a"] = cell
    bad = bad.astype({"a": str})
    with pytest.raises(ValueError, match="column 'a'"):
        model.decision_function(bad)
    card = Scorecard(model)
    found = RUN[dialect](bad, card.to_sql(dialect, table="loans", keep=["row"]))
    assert found == [card.score(bad[:1])[0], None]
    with pytest.raises(ValueError, match=f"^column 'a': found '{re.escape(cell)}' where a number is expected$"):
        in_python(bad, card.to_python())


@pytest.mark.parametrize("dialect", RUN)
def test_null_and_nan_are_missing_and_unknown_levels_other(dialect):
    model, _ = small_model(a=[*range(30), *30 * [np.nan]], b=[*["u", "v", None] * 20])
    new = pd.DataFrame({"a": [np.nan, None, 3.0, 1e300], "b": ["u", "never seen", "N/A", None]})
    sql = export_sql(model, dialect, table="loans", keep=["row"])
    assert_allclose(RUN[dialect](new, sql), model.decision_function(new))
    if dialect == "duckdb":  # pandas gives NULL for NaN
        nan = f"SELECT 0, ({export_sql(model, dialect)}) FROM (SELECT 'nan'::DOUBLE AS a, 'u' AS b)"
        assert_allclose(in_duckdb(new, nan), model.decision_function(new)[:1])


@pytest.mark.parametrize("copied", [True, False])
def test_python_takes_values_of_python_and_numpy(copied):
    """Each pair is a cell and the text that it stands for."""
    days = pd.date_range("2020-01-01", periods=60, freq="17h")
    model, _ = small_model(
        n=np.arange(60) % 7,
        t=["yes", "no", "no"] * 20,
        d=days,
        c=["1", "2", "x"] * 20,
        h=["7:30", "18:00", "9:15"] * 20,
    )
    score = score_of(export_python(model), copied)
    row = {"n": "3", "t": "yes", "d": "2020-01-31 12:30:00", "c": "2", "h": "18:00"}
    expected = score(row)
    assert expected == pytest.approx(model.decision_function(pd.DataFrame([row]))[0])
    moment = datetime.datetime(2020, 1, 31, 12, 30)
    zoned = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5)))
    for name, values in {
        "n": (3, 3.0, Decimal("3.00"), np.int8(3), np.float32(3), b"3"),
        "t": (True, 1, 1.0, np.True_, " YES "),
        "d": (moment, zoned, pd.Timestamp(moment), np.datetime64(moment), "2020-01-31T12:30Z"),
        "c": (2, 2.0, np.int64(2), Decimal("2.0")),
        "h": (datetime.time(18), 18, datetime.timedelta(days=18), "6:00 PM"),
    }.items():
        assert [score({**row, name: value}) for value in values] == [expected] * len(values)
    missing = score(dict.fromkeys(row))
    assert score(dict.fromkeys(row, float("nan"))) == score(dict.fromkeys(row, pd.NaT)) == missing
    assert score(dict.fromkeys(row, pd.NA)) == missing
    for name, value in {"n": float("inf"), "t": 2, "d": "2020-02-30", "h": "soon"}.items():
        with pytest.raises(ValueError, match=f"^column '{name}': found "):
            score({**row, name: value})


@pytest.mark.parametrize("copied", [True, False])
def test_python_takes_days_clocks_and_other_words_for_gaps(copied):
    frame = pd.DataFrame(
        {"n": [1, 2, -999] * 20, "d": pd.date_range("2020-01-01", periods=60), "h": ["7:30", "18:00"] * 30}
    )
    model = TableClassifier("curves", cv=0, na_values=["-999.0", "nothing"]).fit(frame, np.arange(60) * 7 % 10 < 5)
    score = score_of(export_python(model), copied)
    row = {"n": None, "d": "2020-01-31", "h": "0:30"}
    assert score(row) == pytest.approx(model.decision_function(pd.DataFrame([row]).astype({"n": float}))[0])
    for name, values in {
        "n": (-999, -999.0, Decimal(-999), "-999.0", "nothing"),
        "d": (datetime.date(2020, 1, 31), np.datetime64("2020-01-31"), "2020-01-31 12:00 am", "2020-1-31"),
        "h": ("12:30 AM", 0.5, datetime.time(0, 30)),
    }.items():
        assert [score({**row, name: value}) for value in values] == [score(row)] * len(values)


def test_header_cannot_be_left_by_a_name():
    model, frame = small_model(**{"a\nDROP TABLE x; --": np.arange(60) % 7, "*/ b": ["p\n", "q", "r"] * 20})
    for text, comment in ((export_sql(model, "sqlite"), "-- "), (export_python(model), "# ")):
        head = text.splitlines()[: text.splitlines().index("(" if comment == "-- " else "")]
        assert all(line.startswith(comment) for line in head)
        assert re.fullmatch(r".* score of a TableClassifier, aucmax .*, written on 20\d\d-\d\d-\d\d", head[0])
        assert head[2] == f"{comment}column 'a\\nDROP TABLE x; --': number, 0 to 6"
    assert in_python(frame, export_python(model)) == pytest.approx(model.decision_function(frame).tolist())


def test_card_without_lines_is_its_base():
    model, frame = small_model(a=np.arange(60) % 3, b=["u", "v"] * 30)
    card = Scorecard(model, 2)
    card._lines, card.n_lines = [], 0
    for sql in (card.to_sql("sqlite", table="loans"), f"SELECT {card.to_sql('sqlite')} AS score FROM loans"):
        with closing(sqlite3.connect(":memory:")) as database:
            frame.to_sql("loans", database, index=False)
            assert database.execute(sql).fetchall() == [(card.base_points,)] * 60
    assert score_of(card.to_python())({}) == card.base_points


def test_statement_without_a_key_says_so():
    model, _ = small_model(a=np.arange(60) % 3, b=["u", "v"] * 30)
    assert "-- no column tells the rows apart" in export_sql(model, "sqlite", table="loans")
    assert "-- no column tells" not in export_sql(model, "sqlite", table="loans", keep=["a"]) + export_sql(model)


def test_sqlite_finds_that_a_column_is_absent():
    """Where it takes names in double quotes for texts, a card would give points to everybody."""
    model, frame = small_model(a=["u", "v", "w"] * 20, b=np.arange(60) % 7)
    with pytest.raises(sqlite3.OperationalError, match="no such column: a"):
        in_sqlite(frame[["b"]], export_sql(model, "sqlite", table="loans", keep=["row"]))


def test_sql_returns_identifiers_and_the_score():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": np.arange(60), "score": rng.integers(7, size=60), "l0": ["u", "v", "w"] * 20})
    model = TableClassifier("curves", cv=0, id=["key"]).fit(frame, rng.random(60) < 0.5)
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("l1", database, index=False)
        found = database.execute(export_sql(model, "sqlite", table="l1"))
        assert [name for name, *_ in found.description] == ["key", "_score"]
        assert_allclose([score for _, score in sorted(found)], model.decision_function(frame))


def test_linear_model_of_named_numbers_in_sql_and_python():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", 'b"', "c d"])
    clf = AUCClassifier("squared", alpha=0.1).fit(frame, frame["a"] > 0)
    expected = clf.decision_function(frame)
    assert_allclose(in_python(frame, export_python(clf)), expected, rtol=1e-9)
    for dialect in RUN:
        assert_allclose(RUN[dialect](frame, export_sql(clf, dialect, table="loans", keep=["row"])), expected, rtol=1e-9)
        gap = frame.assign(a=[None, *frame["a"][1:]])
        assert RUN[dialect](gap, export_sql(clf, dialect, table="loans", keep=["row"]))[0] is None
    with pytest.raises(ValueError, match="column 'a': found 'None' where a number is expected"):
        in_python(frame.assign(a=None), export_python(clf))


def test_wide_table_in_sqlite():
    """SQLite selects at most 2,000 columns, and a text needs three at a time."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(40, 600)), columns=[f"c{j}" for j in range(600)])
    clf = AUCClassifier("squared", alpha=1.0).fit(frame, frame["c0"] > 0)
    found = in_sqlite(frame.iloc[:3], export_sql(clf, "sqlite", table="loans", keep=["row"]))
    assert_allclose(found, clf.decision_function(frame[:3]), rtol=1e-9)


@pytest.mark.parametrize("dialect", RUN)
def test_truth_values_of_the_database_are_numbers_in_a_column_of_numbers(dialect):
    for cells in ([0, 1, 7] * 20, ["0", "1", "1,234"] * 20):
        frame = pd.DataFrame({"a": cells, "b": ["u", "v"] * 30})
        model = TableClassifier("curves", cv=0).fit(frame, (np.arange(60) % 3 == 1) ^ (np.arange(60) % 10 == 0))
        new = pd.DataFrame({"a": [True, False, None], "b": ["u"] * 3}).astype({"a": "boolean"})
        expected = model.decision_function(new)
        assert expected[0] != expected[1]
        sql = export_sql(model, dialect, table="loans", keep=["row"])
        assert_allclose(RUN[dialect](new.astype({"a": object}).replace({pd.NA: None}), sql), expected)
        assert_allclose(in_python(new, export_python(model)), expected)


@pytest.mark.parametrize("dialect", RUN)
def test_dates_with_names_of_months_and_without_marks(dialect):
    days = pd.to_datetime("2019-12-30") + pd.to_timedelta(np.arange(60) * 13, "D")
    for form in ("%d %b %Y", "%B %d, %Y", "%Y%m%d"):
        frame = pd.DataFrame({"when": days.strftime(form), "b": ["u", "v", "w"] * 20})
        model = TableClassifier("curves", cv=0, date=["when"]).fit(frame, np.arange(60) * 7 % 10 < 5)
        expected = model.decision_function(frame)
        assert len(set(expected)) > 5
        tables = [frame, frame.assign(when=days)]
        for table in [*tables, frame.astype({"when": int})] if form == "%Y%m%d" else tables:
            sql = export_sql(model, dialect, table="loans", keep=["row"])
            assert_allclose(RUN[dialect](table, sql), expected)
            assert_allclose(in_python(table, export_python(model)), expected)


def test_header_of_a_card_has_its_scale_and_its_cost():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=300).round(1)})
    model = TableClassifier("curves", cv=3).fit(frame, rng.random(300) < 1 / (1 + np.exp(-2 * frame["a"])))
    card = Scorecard(model, base_odds=50)
    for text, comment in ((card.to_sql(), "-- "), (card.to_python(), "# ")):
        head = text.splitlines()[2:5]
        assert head[0] == f"{comment}600 points at odds of 50, and 20 points double the odds"
        assert head[1].startswith(f"{comment}{card.n_lines} lines, {card.base_points} base points for class True")
        assert head[2].startswith(f"{comment}Merging and rounding cost")


def test_python_names_a_column_that_is_not_in_the_row():
    columns = {"n": np.arange(60) % 7, "t": ["yes", "no", "no"] * 20, "c": ["1", "2", "x"] * 20}
    columns |= {"d": pd.date_range("2020-01-01", periods=60), "h": ["7:30", "18:00", "9:15"] * 20}
    model, frame = small_model(**columns)
    for name in columns:
        with pytest.raises(ValueError, match=f"^column '{name}' is not in the row$"):
            in_python(frame.drop(columns=name), export_python(model))


def test_table_that_is_too_wide_for_a_database_is_refused():
    frame = pd.DataFrame(np.eye(40, 1200), columns=[f"c{j}" for j in range(1200)])
    clf = AUCClassifier("squared", alpha=1.0).fit(frame, frame["c0"] > 0)
    for dialect, most in (("sqlite", "2,000"), ("postgres", "1,664")):
        with pytest.raises(
            ValueError, match=rf"^{dialect} selects at most {most} columns, and the SQL of this model has"
        ):
            export_sql(clf, dialect, table="loans")
    assert export_sql(clf, "duckdb", table="loans")


def test_python_of_thousands_of_levels_is_not_too_deep_for_the_parser():
    """A chain of elif was: its parser has a stack of some thousand levels."""
    frame = pd.DataFrame({"c": [f"level {k}" for k in range(20_000)]})
    encoder = TableEncoder(min_frequency=1, categorical=["c"])
    model = make_pipeline(encoder, AUCClassifier("squared", alpha=1.0)).fit(frame, np.arange(20_000) % 7 < 3)
    found = in_python(frame[:3], export_python(model))
    assert_allclose(found, model.decision_function(frame[:3]), rtol=1e-9)


def test_condition_of_a_column_without_levels():
    """Where only rows of weight 0 have levels, all levels are new."""
    assert (
        condition(DIALECTS["sqlite"], Values(known=[]), Cell("t0", "t0"), Part("c", levels=["u"])) == "t0 IS NOT NULL"
    )


TWO = {"a": [1, 2] * 20}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: export_sql(small_model(**TWO)[0], "oracle"),
            ValueError,
            "^dialect= is one of postgres, .*, not 'oracle'; the nearest is postgres.$",
        ),
        (
            lambda: export_sql(small_model(**TWO)[0], "Postgresql {"),
            ValueError,
            "not 'Postgresql {'; the nearest is postgres.$",
        ),
        (lambda: export_sql(small_model(**TWO)[0], "db2 of IBM"), ValueError, "spark, not 'db2 of IBM'.$"),
        (
            lambda: export_sql(small_model(**TWO)[0], "spark"),
            ValueError,
            "^dialect='spark' needs table=: an expression",
        ),
        (lambda: export_sql(small_model(**TWO)[0], keep=["a"]), ValueError, "^keep= names columns of a statement"),
        (lambda: export_sql(small_model(**{"": [1, 2] * 20})[0]), ValueError, "which SQL cannot name"),
        (lambda: export_sql(small_model(a=["u\0", "v"] * 20)[0]), ValueError, "has a NUL character, which texts of"),
        (lambda: export_sql(AUCClassifier(alpha=1).fit([[0.0], [1.0]], [0, 1])), ValueError, "columns without names"),
        (
            lambda: export_python(StandardScaler()),
            TypeError,
            r"^this takes a TableClassifier, or .* not StandardScaler",
        ),
        (lambda: export_sql(AUCClassifier()), NotFittedError, "not fitted"),
    ],
)
def test_export_refuses(call, error, message):
    with pytest.raises(error, match=message):
        call()
