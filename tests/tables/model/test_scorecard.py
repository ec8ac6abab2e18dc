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

from aucmax import AUCClassifier, Scorecard, TableClassifier, load_model
from aucmax.tables.bins import encode
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
    slope, edges = MODEL.calibration_[0], np.cumsum([term.n_cells for term in MODEL.terms_])[:-1]
    whole = np.rint(30 / np.log(2) * slope * MODEL.coef_[0])
    for column, points in zip(
        ("age", 'sum "net"', "colour", "noise", "age x colour"), np.split(whole, edges), strict=True
    ):
        found = [entry.points for entry in table if entry.column == column]
        assert found == (points.tolist() if "colour" in column else [whole for whole, _ in itertools.groupby(points)])
    for column in ("age", 'sum "net"', "colour", "noise", "age x colour"):
        assert_allclose(sum(entry.share for entry in table if entry.column == column), 1)
    assert {entry.values for entry in table if entry.column == "colour"} == {"blue", "o'red", "{green}", "other"}
    assert [entry.values for entry in table if entry.column == "age"][-1] == "missing"
    read = list(csv.DictReader(io.StringIO(CARD.to_csv())))
    assert list(read[0].values()) == ["", "base points", str(CARD.base_points), "1.0", *[""] * 6]
    lines = [line for line in read if line["column"]]
    assert [int(line["points"]) for line in lines] == [entry.points for entry in table]
    about = {each.column: each for each in CARD.columns()}
    for line in lines:
        assert float(line["information_value"]) == about[line["column"]].information_value
        assert float(line["auc"]) == about[line["column"]].auc
    assert [line["values"] for line in read[1 + len(lines) :]] == CARD.summary()
    assert CARD.summary()[1] == "500 points are odds of 0.5 for class 1 against 0; 30 points more double them."


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
        names, values, _ = each.contributions(new)
        assert np.ptp(values[:, names.index("employer")]) > 20
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
    (new,) = [entry.points for entry in CARD.table() if entry[:2] == ("colour", "other")]
    assert [CARD.contributions(frame).values[k, 2] for k in range(2)] == [new, new] != [0, 0]
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


@pytest.mark.parametrize(("direction", "rank"), [("down", 1), ("up", -1), ("both", 0)])
def test_reasons_are_the_lines_that_move_the_score_most(direction, rank):
    """Lines that take points, that give points, or both; each is the line of the table that the row is in."""
    for card in (CARD, SHORT):
        names, values, base = card.contributions(FRAME[:50])
        assert_array_equal(values.sum(axis=1) + base, card.score(FRAME[:50]))
        assert names == [each.column for each in card.columns()]
        for reasons, row in zip(card.reasons(FRAME[:50], 2, direction), values, strict=True):
            amounts = -np.abs(row) if rank == 0 else rank * row
            assert [-abs(each.points) if rank == 0 else rank * each.points for each in reasons] == [
                amount for amount in np.sort(amounts)[:2] if amount < 0
            ]
            for each in reasons:
                assert each in card.table()
                assert each.points == row[names.index(each.column)]


def test_reasons_name_the_values_of_the_row():
    levels = {entry.column: entry for entry in CARD.reasons(FRAME[:1], 9, "both")[0]}
    assert levels["colour"].values == FRAME["colour"][0]
    with pytest.raises(ValueError, match=r"^direction is 'sideways': give 'down', 'up' or 'both'.$"):
        CARD.reasons(FRAME[:1], direction="sideways")
    with pytest.raises(ValueError, match=r"^n_reasons must be at least 1, got 0.$"):
        CARD.reasons(FRAME[:1], 0)


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
    merging = Merging(MODEL.columns_, MODEL._find_signs(), MODEL.steps_)
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
    for name in FRAME.columns:
        assert abs(sum(entry.points * entry.share for entry in SHORT.table() if entry.column == name)) <= 0.5


def test_lines_count_the_training_rows():
    """Rows, positives, weights of evidence and information values by hand, from the rows that have the points."""
    weights = np.random.default_rng(0).integers(1, 4, len(Y)).astype(float)
    model = TableClassifier("curves", cv=0, max_bins=10).fit(FRAME, Y, sample_weight=weights)
    card = Scorecard(model, 12)
    names = [name for name in FRAME.columns if name not in card.left_out]
    assert [each.column for each in card.columns()] == names
    for about in card.columns():
        found = card.contributions(FRAME)
        parts, value = found.values[:, found.names.index(about.column)], 0.0
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
    (line,) = Scorecard(TableClassifier("curves", cv=0).fit([[0.0], [1.0]] * 30, [0, 1] * 30), 2)._lines
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
    assert 10 <= card.max_lines <= 60
    at_20 = (cards["points"] == 20) & ~cards["chosen"] & (cards["lines"] >= 10) & (cards["lines"] <= 60)
    best = np.argmax(np.where(at_20, cards["auc"], 0))
    assert cards["auc"][at_20 & (cards["lines"] == card.max_lines)] <= cards["auc"][best]
    assert card.max_lines <= cards["lines"][best]
    assert Scorecard(MODEL).max_lines == 40
    assert "cost was not measured: auc_lost(X, y)" in repr(Scorecard(MODEL))


def test_the_card_says_the_cost_of_its_lines_and_points(judged):
    """The longest measured card that is not longer, with the most points that are not more."""
    cards = judged.cards_
    cost = {
        (lines, points): lost
        for lines, points, lost, chosen in zip(*(cards[k] for k in ("lines", "points", "lost", "chosen")), strict=True)
        if not chosen
    }
    for (n, points), (lines, fewer) in {
        (37, 20): (30, 20),
        (20, -40): (20, 20),
        (5, 20): (4, 20),
        (20, -5): (20, 5),
        (500, 19.9): (128, 10),
        (2, 1): (2, 1),
    }.items():
        card = Scorecard(judged, n, points_to_double=points)
        assert card.held_out[:3] == (lines, fewer, cost[lines, fewer])
        fine = fewer >= min(abs(points), 20)
        about = f"(cards of {lines} lines" + (")." if fine else f", {fewer} points to double the odds).")
        assert f"{card.held_out.lost:.4f} of the AUC on held-out rows, 95% interval" in repr(card)
        assert about in repr(card)
    required = Scorecard(judged, 20, require=["age"])
    assert required.held_out[:3] == (15, 20, cost[15, 20])
    assert "(cards of 15 lines, without the required columns)." in repr(required)
    assert Scorecard(judged, None).held_out is Scorecard(judged, 9, points_to_double=0.5).held_out is None
    assert cost[20, 1] > cost[20, 20]


def test_the_cost_on_test_rows_stands_on_the_card(judged):
    card = Scorecard(judged, 9, points_to_double=0.5)
    assert "was not measured" in repr(card)
    lost = card.auc_lost(FRAME, Y)
    assert card.tested == lost
    said = f"{lost.difference:.4f} of the AUC on test rows, 95% interval {lost.low:.4f} to {lost.high:.4f}."
    for text in (repr(card), card._repr_html_(), card.to_csv()):
        assert said in text
        assert "was not measured" not in text


def test_the_choice_of_the_length_is_judged_without_each_fold(judged):
    """One split leaves no other to choose by: there is no cost of the choice, and of each length there is."""
    chosen = judged.cards_["chosen"]
    assert judged.cards_["points"][chosen].tolist() == [1, 2, 5, 10, 20]
    assert np.isfinite(judged.cards_["lost"]).all()
    card = Scorecard(judged)
    assert card.held_out[:3] == (card.max_lines, 20, judged.cards_["lost"][chosen][-1])
    split = next(StratifiedKFold(3, shuffle=True, random_state=0).split(FRAME, Y))
    alone = TableClassifier("curves", cv=[split], max_bins=20).fit(FRAME, Y)
    assert Scorecard(alone).held_out is None
    assert Scorecard(alone, 20).held_out is not None


def test_held_out_cards_are_those_of_the_folds(judged):
    """The AUC lost, with cards that are fitted to the training rows of each fold by hand."""
    terms = judged.ladder_["terms"][judged.ladder_["chosen"]][0]
    assert terms in ("lines", "curves")
    lost = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(FRAME, Y):
        model = TableClassifier(terms, cv=0, max_bins=20).fit(FRAME.iloc[train], Y[train])
        lost.append(Scorecard(model, 10).auc_lost(FRAME.iloc[test], Y[test]).difference)
    assert Scorecard(judged, 10).held_out.lost == pytest.approx(np.mean(lost), abs=0.03)
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


def test_a_column_that_left_before_is_brought_back():
    """At most three lines of its own curve, merged; the lines of the other columns keep their values."""
    rng = np.random.default_rng(0)
    frame = FRAME.assign(**{f"x{k}": rng.normal(size=len(Y)) for k in range(70)}, one=1.0)
    with pytest.warns(UserWarning, match="columns that are constant: 'one'"):
        model = TableClassifier("curves", cv=0, max_bins=20).fit(frame, Y)
    free, edges = Scorecard(model, 20), np.cumsum([0, *(term.n_cells for term in model.terms_)])
    gone = [j for j, lines in enumerate(np.split(model.steps_.line, edges[1:-1])) if (lines < 0).all()]
    curves = np.split(model.coef_[0], edges[1:-1])
    j = max(gone, key=lambda j: np.ptp(curves[j]))  # the least flat one
    name = frame.columns[j]
    assert name in free.left_out
    card = Scorecard(model, 20, require=[name], points_to_double=20_000)
    ours = [entry.points for entry in card.table() if entry.column == name]
    assert 2 <= len(ours) <= 3
    assert card.n_lines <= 20
    points = card.contributions(frame).values[:, [each.column for each in card.columns()].index(name)]
    curve = curves[j][model.columns_[j].encode(frame[name].to_numpy())]
    groups = np.unique(points, return_inverse=True)[1]
    means = np.bincount(groups, curve) / np.bincount(groups)
    assert_allclose(points, 20_000 / np.log(2) * model.calibration_[0] * means[groups], rtol=0.01, atol=1)
    both = Scorecard(model, 20, require=["one", name])
    assert [entry[1:3] for entry in both.table() if entry.column == "one"] == [("any", 0)]
    assert both.n_lines <= 20
    flat = [each for each in (name, "one") if all(entry.points == 0 for entry in both.table() if entry.column == each)]
    assert f"Required, with 0 points: {', '.join(flat)}." in repr(both)
    assert "one" not in both.left_out


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


def test_dates_are_cut_after_days(tmp_path):
    rng = np.random.default_rng(0)
    opened = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 1440 * 900, 600), "min")
    y = (opened > "2023-01-01") ^ (rng.random(600) < 0.2)
    days = ["2022-06-30", "2022-12-31", "2024-01-31"]
    cuts = {"opened": days}
    model = TableClassifier("curves", cv=0, cuts=cuts).fit(pd.DataFrame({"opened": opened}), y)
    ends = [*(pd.Timestamp(day) + pd.Timedelta(1, "D") for day in days), pd.Timestamp("2100-01-01")]
    inside = np.diff([0, *(np.sum(opened < end) for end in ends)])
    assert_array_equal(model.mass_[:4], inside[::-1])
    words = [entry.values for entry in Scorecard(model, None).table() if entry.column == "opened"]
    assert words == [
        "from 2024-02-01 00:00",
        "2023-01-01 00:00 to 2024-01-31 23:59",
        "2022-07-01 00:00 to 2022-12-31 23:59",
        "up to 2022-06-30 23:59",
    ]
    model.save(tmp_path / "model")
    assert load_model(tmp_path / "model").cuts == cuts
    for wrong in ([300.0], ["2023-02-30"], days[::-1], "2023-01-01", [], ["2023-01-01 12:00"]):
        with pytest.raises(
            ValueError, match=r"^cuts of 'opened' are .*: give a list of increasing days such as '2024-"
        ):
            TableClassifier("curves", cv=0, cuts={"opened": wrong}).fit(pd.DataFrame({"opened": opened}), y)


def test_control_characters_are_escaped_where_a_card_is_shown():
    frame = FRAME.rename(columns={"age": "a\nge\x1b[2J"}).assign(colour=FRAME["colour"].replace("blue", "bl\r\nue"))
    card = Scorecard(TableClassifier("curves", cv=0, max_bins=10).fit(frame, Y), 14, require=["a\nge\x1b[2J", "colour"])
    assert repr(card).count("\n") == card.n_lines + len(card.columns()) + len(card.summary()) + 1
    for text in (repr(card), card._repr_html_()):
        assert r"a\nge\x1b[2J" in text
        assert r"bl\r\nue" in text
        assert "\x1b" not in text
    assert all(str(reason).isprintable() for reason in card.model.reasons(frame[:9], 9)[0])


def test_linear_models_have_no_card():
    with pytest.raises(TypeError, match=r"not a AUCClassifier: fit TableClassifier\('lines'\), or use export_sql"):
        Scorecard(AUCClassifier())


@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1e3, 1e6])
def test_cards_do_not_depend_on_the_scale_of_the_weights(factor):
    """Of a given model: the lines, their values, and the half row of a class that a line lacks."""
    weights = np.random.default_rng(0).uniform(0.5, 1.5, len(Y))
    codes, edges = encode(MODEL.columns_, MODEL._read(FRAME)), np.cumsum([t.n_cells for t in MODEL.terms_])[:-1]
    given = MODEL.columns_, MODEL._find_signs(), np.split(MODEL.coef_[0], edges)[:4], codes
    found = []
    for w in (weights, factor * weights):
        merging = Merging.project(*given, w, MODEL.decision_function(FRAME))
        merging.to(12)
        found.append(merging.steps())
    (one, many) = found
    assert_array_equal(one.line, many.line)
    assert_allclose(many.values, one.values, rtol=1e-6, atol=1e-9)
    assert_allclose(factor * many.covariance, one.covariance, rtol=1e-6)
    line = Scorecard(MODEL, 9)._lines[0]._replace(mass=np.array([5.0, 40.0]), positive=np.array([0.0, 30.0]))
    scaled = line._replace(mass=factor * line.mass, positive=factor * line.positive, row=factor)
    assert_allclose(scaled.evidence()[0], line.evidence()[0])
    assert scaled.evidence()[1] == pytest.approx(line.evidence()[1])


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
    assert words["own"] == ["No", "Yes"]
    assert words["active"] == ["0", "1"]
    assert words["visits"][0].startswith("up to ")
    assert words["visits"][-1].startswith("above ")
    assert all(word.replace(" to ", "").isdecimal() for word in words["visits"][1:-1])
    for level in ("Rome", "Ulm, Danube", "Oslo", "missing", "other"):
        (word,) = (each for each in words["town"] if level in each)
        assert word == level or f'"{level}"' in word or level in word.split(", ")
    # Each row has the points of the one line whose words its cell matches.
    parts = card.contributions(frame)
    for name, column in (("opened", day.normalize()), ("seen", frame["seen"].dt.floor("min"))):
        lines = [entry for entry in card.table() if entry.column == name]
        found = np.zeros(n)
        for entry in lines:
            low, high = ends_of(entry.values)
            found += np.where((column >= low) & (column <= high), entry.points, 0)
        assert_array_equal(found, parts.values[:, parts.names.index(name)])


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
            assert np.isfinite([float(cell) for cell in line[2:] if text.index(cell) > text.index("base")]).all()
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
    shown = card.to_frame()
    pd.testing.assert_frame_equal(shown[[*Entry._fields]], pd.DataFrame(card.table(), columns=Entry._fields))
    assert {*zip(shown["column"], shown["information_value"], shown["auc"], strict=True)} == {
        (each.column, each.information_value, each.auc) for each in card.columns()
    }
    assert text.startswith(f"{card.n_lines} lines")
    assert f"{card.held_out.lost:.4f} of the AUC on held-out rows" in text
