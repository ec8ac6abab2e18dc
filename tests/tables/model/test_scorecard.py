"""Scorecards: whole points, and the same score in SQL and in Python."""

import csv
import io
import itertools
import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_frame
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from aucmax import Scorecard, TableClassifier, load_model
from aucmax.tables.bins import encode
from aucmax.tables.curves import term_name
from aucmax.tables.fitting.merging import Merging
from aucmax.tables.scorecard import Entry

FRAME, Y = mixed_frame()
FRAME.columns = ["age", 'sum "net"', "colour", "noise"]
FRAME["colour"] = FRAME["colour"].replace({"red": "o'red", "green": "{green}"})
MODEL = TableClassifier("pairs", pairs=[("age", "colour")], cv=0, max_bins=10).fit(FRAME, Y)
SCALE = {"base_score": 500, "base_odds": 0.5, "points_to_double": 30}
CARD = Scorecard(MODEL, None, **SCALE)  # every step
SHORT = Scorecard(MODEL, 9, **SCALE)


def test_the_score_is_that_of_the_odds_up_to_rounding():
    log_odds = np.diff(MODEL.predict_log_proba(FRAME), axis=1)[:, 0]
    exact = 500 + 30 * np.log2(np.exp(log_odds) / 0.5)
    assert CARD.score(FRAME).dtype.kind == "i"
    assert np.abs(CARD.score(FRAME) - exact).max() <= 0.5 * (len(MODEL.terms_) + 1)


def test_a_score_of_risk_falls_where_the_odds_rise():
    for card in (CARD, SHORT):
        risk = Scorecard(MODEL, card.max_lines, **SCALE | {"points_to_double": -30})
        assert_allclose(risk.score(FRAME) - 500, -(card.score(FRAME) - 500), atol=1)
        assert_allclose(risk.auc_lost(FRAME, Y), card.auc_lost(FRAME, Y), atol=1e-9)
        assert_allclose([each.auc for each in risk.columns()], [each.auc for each in card.columns()])


def test_rounding_costs_less_auc_the_finer_the_points():
    cards = [Scorecard(MODEL, None, points_to_double=points) for points in (1, 20, 20_000_000)]
    lost = [abs(card.auc_lost(FRAME, Y).difference) for card in cards]
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
    assert list(read[0].values()) == ["", "base points", str(CARD.base_points), "1.0", "", "", "", ""]
    assert [int(line["points"]) for line in read[1:]] == [entry.points for entry in table]


def test_scorecard_table_merges_neighbours_of_the_same_points():
    """A flat curve is one line for all numbers; missing values keep their own."""
    coarse = Scorecard(MODEL, None, points_to_double=1e-3).table()
    (flat,) = (entry for entry in coarse if entry.column == "noise")
    assert flat[:4] == ("noise", "any", 0, pytest.approx(1.0))
    values = [entry.values for entry in coarse if entry.column == "age"]
    assert values == ["any", "missing"]


def test_scorecard_of_many_levels_in_sql_and_python():
    """Levels are mapped to points, also those that are new or missing."""
    rng = np.random.default_rng(0)
    employer = np.char.add("firm ", (60 * rng.random(1500) ** 2).astype(int).astype(str)).astype(object)
    employer[:20] = None
    size = rng.normal(size=1500)
    y = rng.random(1500) < [0.2 if name is None else 0.1 + 0.8 * (int(name[5:]) % 2) for name in employer]
    frame = pd.DataFrame({"size": size, "employer": employer})
    model = TableClassifier("pairs", pairs=[(0, 1)], cv=0, max_bins=12).fit(frame, y)
    card, short = Scorecard(model, None), Scorecard(model, 12)
    listed = [entry.values.split(", ") for entry in short.table() if entry.column == "employer"]
    assert sorted(itertools.chain(*listed)) == sorted({*filter(None, employer), "missing", "other"})
    new = pd.concat([frame, pd.DataFrame({"size": [0.5, -0.5], "employer": ["nobody's", None]})], ignore_index=True)
    for each in (card, short):
        expected, space = each.score(new), {}
        assert np.ptp(each.parts(new)[:, 1]) > 20
        exec(each.to_python(), space)
        assert_array_equal([space["score"](row) for row in new.to_dict("records")], expected)
        with closing(sqlite3.connect(":memory:")) as database:
            new.to_sql("people", database, index=False)
            found = database.execute(f"SELECT {each.to_sql('sqlite')} FROM people").fetchall()
        assert_array_equal([score for (score,) in found], expected)


@pytest.mark.parametrize("card", [CARD, SHORT], ids=["every step", "short"])
def test_sql_has_the_same_scores(card):
    with closing(sqlite3.connect(":memory:")) as database:
        FRAME.to_sql("people", database, index=False)
        found = [score for (score,) in database.execute(f"SELECT {card.to_sql('sqlite')} FROM people")]
    assert_array_equal(found, card.score(FRAME))


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
    [
        ({"base_odds": 0}, "^base_odds is 0: odds are above 0.$"),
        ({"points_to_double": 0}, "^points_to_double is 0: "),
        ({"max_lines": 1}, "^max_lines is 1: give 'auto', a number from 2 on, or None for every step.$"),
        ({"max_lines": True}, "^max_lines is True: "),
        ({"max_lines": 40.0}, "^max_lines is 40.0: "),
        ({"max_lines": 3, "require": ["age", "colour"]}, "^max_lines=3 has no room for the 2 columns of require"),
        ({"max_lines": None, "require": ["age"]}, "^require does nothing with max_lines=None"),
        ({"require": "age"}, "^require is 'age': give a list of columns.$"),
        ({"require": ["size"]}, "^require= names the column 'size', which the table does not have.$"),
    ],
)
def test_scorecard_refuses_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Scorecard(MODEL, **parameters)


@pytest.mark.filterwarnings("ignore:X has columns that are constant")
def test_a_column_without_effect_cannot_be_kept():
    model = TableClassifier("curves", cv=0).fit(FRAME.assign(flat=np.arange(len(Y)) % 2, one=1.0), Y)
    with pytest.raises(ValueError, match=r"^require names 'one', which is on no short card: it hardly has an effect.$"):
        Scorecard(model, 10, require=["one"])


# Short cards


def test_a_short_card_has_at_most_so_many_lines_and_is_close_to_the_model():
    lost = []
    for n in (4, 8, 16, 128):
        card = Scorecard(MODEL, n)
        assert card.n_lines == len(card.table()) <= n
        assert {line.column for line in card.table()} | {*card.left_out} == {*FRAME.columns, "age x colour"}
        assert "age x colour" in card.left_out
        lost.append(float(np.mean((card.score(FRAME) - CARD_20.score(FRAME)) ** 2)))
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 2 * lost[-1]


CARD_20 = Scorecard(MODEL, None)


def test_points_of_a_short_card_are_the_rounded_projection():
    """The points are those of the merged values, less their mean; a score is its log-odds, up to rounding."""
    merging = Merging(MODEL.columns_, MODEL._find_signs(), *MODEL.steps_)
    merging.to(9)
    steps = merging.steps()
    values = np.append(steps.values[:-1], 0.0)[steps.line]
    codes = encode(MODEL.columns_, MODEL._read(FRAME))
    edges = np.cumsum([0, *(column.n_codes for column in MODEL.columns_)])
    log_odds = MODEL.calibration_[1] + steps.values[-1] * MODEL.calibration_[0]
    for a, b, code in zip(edges, edges[1:], codes.T, strict=False):
        log_odds = log_odds + MODEL.calibration_[0] * np.append(values[a:b], 0)[code]
    exact = 500 + 30 * (log_odds / np.log(2) - np.log2(0.5))
    assert np.abs(SHORT.score(FRAME) - exact).max() <= 0.5 * (len(MODEL.columns_) + 1)
    for points, mass in zip(SHORT.points, np.split(MODEL.mass_, edges[1:])[:4], strict=False):
        assert abs(points @ mass / mass.sum()) <= 0.5


def test_lines_count_the_training_rows():
    """Rows, positives, weights of evidence and information values by hand, from the rows that have the points."""
    weights = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    model = TableClassifier("curves", cv=0, max_bins=10).fit(FRAME, Y, sample_weight=weights)
    card = Scorecard(model, 12)
    names = [name for name in FRAME.columns if name not in card.left_out]
    assert [each.column for each in card.columns()] == names
    for about in card.columns():
        j = FRAME.columns.tolist().index(about.column)
        parts, value = card.parts(FRAME)[:, j], 0.0
        assert about.auc == pytest.approx(roc_auc_score(Y, parts, sample_weight=weights))
        lines = [entry for entry in card.table() if entry.column == about.column]
        assert len(lines) == about.lines
        assert_allclose(sum(entry.rows for entry in lines), weights.sum())
        for points in {entry.points for entry in lines}:  # neighbours differ, but ranges may have equal points
            ours = [entry for entry in lines if entry.points == points]
            chosen = parts == points
            assert_allclose(sum(entry.rows for entry in ours), weights[chosen].sum())
            assert_allclose(sum(entry.positives for entry in ours), weights[chosen & (Y == 1)].sum())
        for entry in lines:
            negatives = entry.rows - entry.positives
            good = (entry.positives or 0.5) / weights[Y == 1].sum()
            bad = (negatives or 0.5) / weights[Y == 0].sum()
            assert (entry.rate, entry.share) == pytest.approx(
                (entry.positives / entry.rows, entry.rows / weights.sum())
            )
            assert entry.woe == pytest.approx(np.log(good / bad))
            value += (good - bad) * np.log(good / bad)
        assert about.information_value == pytest.approx(value)


@pytest.mark.filterwarnings("ignore:X has columns whose own AUC")
def test_a_line_of_one_class_has_half_a_row_of_the_other():
    (line,) = Scorecard(TableClassifier("curves", cv=0).fit([[0.0], [1.0]] * 30, [0, 1] * 30), 2)._lines()
    woe, value = line.evidence()
    assert_allclose(woe, [np.log(0.5 / 30), np.log(30 / 0.5)])
    assert value == pytest.approx(2 * (1 - 0.5 / 30) * np.log(60))


@pytest.fixture(scope="module")
def judged():
    return TableClassifier(cv=3, max_bins=20).fit(FRAME, Y)


def test_auto_takes_the_shortest_card_within_a_standard_error(judged):
    cards = judged.cards_
    card = Scorecard(judged)
    assert card.max_lines == cards["lines"][cards["chosen"]][0]
    assert (card.held_out.lines, card.held_out.lost) == (card.max_lines, cards["lost"][cards["chosen"]][0])
    best = np.argmax(cards["auc"])
    assert cards["auc"][cards["chosen"]][0] <= cards["auc"][best]
    assert np.flatnonzero(cards["chosen"])[0] <= best
    assert Scorecard(judged, 37).held_out.lines == 30
    assert Scorecard(judged, 5).held_out is Scorecard(judged, None).held_out is None
    assert Scorecard(judged, 20, require=["age"]).held_out is None
    assert Scorecard(MODEL).max_lines == 40
    assert "was not measured on held-out rows (cv=0): auc_lost(X, y)" in repr(Scorecard(MODEL))
    coarse = Scorecard(judged, 20, points_to_double=-5)
    assert coarse.held_out is None, "it was judged with 20 points"
    assert "cost was not measured on held-out rows: auc_lost(X, y)" in repr(coarse)
    assert Scorecard(judged, 20, points_to_double=-40).held_out == Scorecard(judged, 20).held_out


def test_held_out_cards_are_those_of_the_folds(judged):
    """The AUC lost, with cards that are fitted to the training rows of each fold by hand."""
    terms = judged.ladder_["terms"][judged.ladder_["chosen"]][0]
    assert terms in ("lines", "curves")
    lost = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(FRAME, Y):
        model = TableClassifier(terms, cv=0, max_bins=20).fit(FRAME.iloc[train], Y[train])
        lost.append(Scorecard(model, 10).auc_lost(FRAME.iloc[test], Y[test]).difference)
    assert judged.cards_["lost"][0] == pytest.approx(np.mean(lost), abs=0.03)
    assert (judged.cards_["error"] > 0).all()


def test_a_card_from_a_file_is_the_same(judged, tmp_path):
    judged.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for n in ("auto", 6, 12):
        card, same = Scorecard(judged, n), Scorecard(loaded, n)
        assert card.table() == same.table()
        assert repr(card) == repr(same)


def test_columns_that_are_kept_are_on_the_card():
    assert "noise" in Scorecard(MODEL, 6).left_out
    card = Scorecard(MODEL, 6, require=["noise"])
    assert [entry.column for entry in card.table()].count("noise") == 2
    assert card.n_lines <= 6


def test_shapes_hold_on_short_cards():
    model = TableClassifier("curves", cv=0, monotonic_cst={"noise": 1, 'sum "net"': 1}).fit(FRAME, Y)
    for n in range(2, 40, 3):
        card = Scorecard(model, n, require=["noise"] if n > 2 else ())
        for name in ("noise", 'sum "net"'):
            points = [entry.points for entry in card.table() if entry.column == name]
            assert points == sorted(points)


def test_cut_points_of_the_user_are_the_only_ones(tmp_path):
    cuts = [-1.0, 0.0, 0.5, 9.0]
    model = TableClassifier("pairs", pairs=[("age", "noise")], cuts={"age": cuts, "noise": np.zeros(1)}, cv=0).fit(
        FRAME, Y
    )
    assert_array_equal(model.columns_[0].cuts, cuts)
    assert_array_equal(model.columns_[3].cuts, [0])
    age = FRAME["age"].to_numpy()
    inside = [np.sum((age > low) & (age <= high)) for low, high in itertools.pairwise([-np.inf, *cuts, np.inf])]
    assert_array_equal(model.mass_[:6], [*inside, np.isnan(age).sum()])
    for n in (None, 128, 8):
        lines = Scorecard(model, n, require=["age"] if n else ()).table()
        words = " ".join(entry.values for entry in lines if entry.column == "age")
        ends = {*re.findall(r"-?[\d.]+", words)}
        assert ends <= {"-1", "0", "0.5", "9"}
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").cuts["age"] == cuts


@pytest.mark.parametrize("given", [[1.0, 1.0], [2.0, 1.0], [], 3.0, (1.0, 2.0), ["a"], [np.nan], [[1.0]], [np.inf]])
def test_cut_points_increase(given):
    with pytest.raises(ValueError, match=r"^cuts of 'age' are .*: give a list of increasing numbers.$"):
        TableClassifier("curves", cv=0, cuts={"age": given}).fit(FRAME, Y)


def test_cut_points_are_of_numbers():
    with pytest.raises(ValueError, match=r"^cuts names the column 'colour', a category, and only numbers have cut"):
        TableClassifier("curves", cv=0, cuts={"colour": [1.0]}).fit(FRAME, Y)


def test_words_are_those_of_the_table():
    rng = np.random.default_rng(0)
    n = 600
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    frame = pd.DataFrame(
        {
            "own": np.where(rng.random(n) < 0.5, "Yes", "No"),
            "visits": rng.integers(0, 9, n),
            "active": rng.integers(0, 2, n),
            "town": rng.choice(["Rome", "Ulm, Danube", "Oslo"], n),
            "opened": day.strftime("%d.%m.%Y"),
            "seen": day + pd.to_timedelta(rng.integers(0, 1440, n), "min"),
        }
    )
    frame.loc[:40, "town"] = None
    score = 2.0 * (frame["own"] == "Yes") + frame["visits"] / 2 + frame["active"] + (frame["town"] == "Rome")
    score += 2.0 * (day > "2023-01-01") + (frame["seen"].dt.hour > 12)
    y = (score + rng.logistic(size=n) > np.median(score)).astype(int)
    model = TableClassifier("curves", cv=0).fit(frame, y)
    card = Scorecard(model, 40, require=["town", "seen", "active"])
    words = {}
    for entry in card.table():
        words.setdefault(entry.column, []).append(entry.values)
    assert words["own"] == ["no", "yes"]
    assert words["active"] == ["0", "1"]
    assert words["visits"][0].startswith("up to ")
    assert words["visits"][-1].startswith("above ")
    assert all(word.replace(" to ", "").isdecimal() for word in words["visits"][1:-1])
    for level in ("Rome", "Ulm, Danube", "Oslo", "missing", "other"):
        (word,) = (each for each in words["town"] if level in each)
        assert word == level or f'"{level}"' in word or level in word.split(", ")
    # Each row has the points of the one line whose words its cell matches.
    parts = card.parts(frame)
    for name, column in (("opened", day.normalize()), ("seen", frame["seen"].dt.floor("min"))):
        j = [term_name(model, term) for term in model.terms_].index(f"{name} (age in days)")
        lines = [entry for entry in card.table() if entry.column == name]
        found = np.zeros(n)
        for entry in lines:
            low, high = ends_of(entry.values)
            found += np.where((column >= low) & (column <= high), entry.points, 0)
        assert_array_equal(found, parts[:, j])


def ends_of(words):
    """Return the first and the last moment of a range of dates in words."""
    first, _, last = words.removeprefix("from ").partition(" to ")
    if words.startswith("up to "):
        first, last = "1900-01-01", words.removeprefix("up to ")
    elif words.startswith("from "):
        last = "2100-01-01"
    return pd.Timestamp(first), pd.Timestamp(last or first)


def test_no_cell_of_the_csv_is_a_formula():
    levels = ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "\tt", "\rr", "plain"]
    frame = pd.DataFrame({"=1+1": np.array(levels)[np.arange(700) % 7], "x": np.linspace(-5, 5, 700)})
    y = (np.arange(700) % 7 + frame["x"] > 3).astype(int)
    model = TableClassifier("curves", cv=0).fit(frame, y)
    for n in (8, 40, None):
        text = Scorecard(model, n, require=["=1+1"] if n else ()).to_csv()
        for line in csv.reader(io.StringIO(text)):
            for cell in line[:2]:
                assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert np.isfinite([float(cell) for cell in line[2:] if cell and cell not in Entry._fields]).all()
        assert "'=1+1" in text
    assert "'@x" in text


def test_shown_cards_name_every_line_and_escape():
    frame = FRAME.rename(columns={"age": "<b>age"}).assign(colour=FRAME["colour"].replace("blue", "<i>" * 40))
    card = Scorecard(TableClassifier("curves", cv=2, max_bins=10).fit(frame, Y), 14)
    page, text = card._repr_html_(), repr(card)
    assert page.count("<tr>") == card.n_lines + len(card.columns())
    assert "&lt;b&gt;age" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert max(map(len, text.splitlines()[2:])) < 160
    for about in card.columns():
        assert f"IV {about.information_value:.2f}, AUC {about.auc:.3f}" in text
    pd.testing.assert_frame_equal(card.to_frame(), pd.DataFrame(card.table(), columns=Entry._fields))
    assert text.startswith(f"{card.n_lines} lines")
    assert f"{card.held_out.lost:.4f} of the AUC on held-out rows" in text
