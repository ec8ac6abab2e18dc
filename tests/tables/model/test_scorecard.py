"""Scorecards: whole points, and the same score in SQL and in Python."""

import csv
import io
import itertools
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_frame
from numpy.testing import assert_allclose, assert_array_equal

from aucmax import Scorecard, TableClassifier

FRAME, Y = mixed_frame()
FRAME.columns = ["age", 'sum "net"', "colour", "noise"]
FRAME["colour"] = FRAME["colour"].replace({"red": "o'red", "green": "{green}"})
MODEL = TableClassifier("pairs", pairs=[("age", "colour")], cv=0, max_bins=10).fit(FRAME, Y)
CARD = Scorecard(MODEL, base_score=500, base_odds=0.5, points_to_double=30)


def test_the_score_is_that_of_the_odds_up_to_rounding():
    log_odds = np.diff(MODEL.predict_log_proba(FRAME), axis=1)[:, 0]
    exact = 500 + 30 * np.log2(np.exp(log_odds) / 0.5)
    assert CARD.score(FRAME).dtype.kind == "i"
    assert np.abs(CARD.score(FRAME) - exact).max() <= 0.5 * (len(MODEL.terms_) + 1)


def test_a_score_of_risk_falls_where_the_odds_rise():
    risk = Scorecard(MODEL, points_to_double=-30, base_score=500, base_odds=0.5)
    assert_allclose(risk.score(FRAME) - 500, -(CARD.score(FRAME) - 500), atol=1)
    assert_allclose(risk.auc_lost(FRAME, Y), CARD.auc_lost(FRAME, Y), atol=1e-9)


def test_rounding_costs_less_auc_the_finer_the_points():
    lost = [abs(Scorecard(MODEL, points_to_double=points).auc_lost(FRAME, Y)) for points in (1, 20, 20_000_000)]
    assert lost[0] > lost[1] > lost[2]
    assert lost[2] < 1e-5


def test_the_table_has_all_points_and_shares():
    table = CARD.table()
    for column, points in zip(("age", 'sum "net"', "colour", "noise", "age x colour"), CARD.points, strict=True):
        found = [entry.points for entry in table if entry.column == column]
        assert found == (points.tolist() if "colour" in column else [whole for whole, _ in itertools.groupby(points)])
    for column in ("age", 'sum "net"', "colour", "noise", "age x colour"):
        assert_allclose(sum(entry.share for entry in table if entry.column == column), 1)
    assert {entry.values for entry in table if entry.column == "colour"} == {"blue", "o'red", "{green}", "other"}
    assert [entry.values for entry in table if entry.column == "age"][-1] == "missing"
    read = list(csv.DictReader(io.StringIO(CARD.to_csv())))
    assert read[0] == {"column": "", "values": "base points", "points": str(CARD.base_points), "share": "1.0"}
    assert [int(line["points"]) for line in read[1:]] == [entry.points for entry in table]


def test_scorecard_table_merges_neighbours_of_the_same_points():
    """A flat curve is one line for all numbers; missing values keep their own."""
    (flat,) = (entry for entry in Scorecard(MODEL, points_to_double=1e-3).table() if entry.column == "noise")
    assert flat == ("noise", "any", 0, pytest.approx(1.0))
    values = [entry.values for entry in Scorecard(MODEL, points_to_double=1e-3).table() if entry.column == "age"]
    assert values == ["any", "missing"]


def test_scorecard_of_many_levels_in_sql_and_python():
    """Levels are mapped to points, also those that are new or missing."""
    rng = np.random.default_rng(0)
    employer = np.char.add("firm ", (60 * rng.random(1500) ** 2).astype(int).astype(str)).astype(object)
    employer[:20] = None
    size = rng.normal(size=1500)
    y = rng.random(1500) < [0.2 if name is None else 0.1 + 0.8 * (int(name[5:]) % 2) for name in employer]
    frame = pd.DataFrame({"size": size, "employer": employer})
    card = Scorecard(TableClassifier("pairs", pairs=[(0, 1)], cv=0, max_bins=12).fit(frame, y))
    new = pd.concat([frame, pd.DataFrame({"size": [0.5, -0.5], "employer": ["nobody's", None]})], ignore_index=True)
    expected, space = card.score(new), {}
    assert np.ptp(card.parts(new)[:, 1]) > 20
    exec(card.to_python(), space)
    assert_array_equal([space["score"](row) for row in new.to_dict("records")], expected)
    with closing(sqlite3.connect(":memory:")) as database:
        new.to_sql("people", database, index=False)
        assert_array_equal(
            [score for (score,) in database.execute(f"SELECT {card.to_sql('sqlite')} FROM people")], expected
        )


def test_sql_has_the_same_scores():
    with closing(sqlite3.connect(":memory:")) as database:
        FRAME.to_sql("people", database, index=False)
        found = [score for (score,) in database.execute(f"SELECT {CARD.to_sql('sqlite')} FROM people")]
    assert_array_equal(found, CARD.score(FRAME))


UNKNOWN = [
    {"age": None, 'sum "net"': None, "colour": "violet", "noise": float("nan")},
    {"age": 0.5, 'sum "net"': 3.0, "colour": None, "noise": 0.0},  # no training row misses a colour: as if new
]


@pytest.mark.filterwarnings("ignore:X has levels")
def test_unknown_values_have_the_same_scores():
    frame = pd.DataFrame(UNKNOWN).astype({"age": float, 'sum "net"': float})
    expected, space = CARD.score(frame), {}
    (new,) = CARD.points[2][-1:]
    assert [CARD.parts(frame)[k, 2] for k in range(2)] == [new, new] != [0, 0]
    exec(CARD.to_python(), space)
    assert [space["score"](row) for row in UNKNOWN] == expected.tolist()
    with closing(sqlite3.connect(":memory:")) as database:
        frame.to_sql("people", database, index=False)
        found = database.execute(f"SELECT {CARD.to_sql('sqlite')} FROM people").fetchall()
    assert [score for (score,) in found] == expected.tolist()


def test_python_has_the_same_scores():
    space = {}
    exec(CARD.to_python(), space)
    assert_array_equal([space["score"](row) for row in FRAME.to_dict("records")], CARD.score(FRAME))


def test_reasons_are_the_curves_that_take_the_most_points():
    for reasons, parts in zip(CARD.reasons(FRAME[:50], 2), CARD.parts(FRAME[:50]), strict=True):
        points = [points for _, points in reasons]
        assert points == [part for part in np.sort(parts)[:2] if part < 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"base_odds": 0}, "^base_odds is 0: odds are above 0.$"), ({"points_to_double": 0}, "^points_to_double is 0: ")],
)
def test_scorecard_refuses_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Scorecard(MODEL, **parameters)
