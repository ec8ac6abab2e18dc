"""Additive models from the command line: fitted to raw tables, shown, reported, compared, and written as scorecards."""

import csv
import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from aucmax import Scorecard, TableEncoder, load_model

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 240
Y = np.arange(N) % 3 == 0
JOBS = np.where(RNG.random(N) < 0.4, "clerk", np.where(RNG.random(N) < 0.5 + 0.4 * Y, "smith", "baker"))
JOBS[:4] = ["juggler", "diver", "pilot", "smith"]  # three of them rare
INCOME = np.round(1000 + 300 * Y + 900 * RNG.random(N), 2)
FRAME = pandas.DataFrame({"income": INCOME, "job": JOBS, "owner": np.where(RNG.random(N) < 0.5, "yes", "no")})
FRAME.loc[::7, "income"] = np.nan
FIT = ["--algorithm", "AdditiveAUCClassifier"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("additive")
    FRAME.assign(y=Y.astype(int)).to_csv(folder / "train.csv", index=False)
    return folder


@pytest.fixture
def model(run, folder):
    """Return the model of the table, which is fitted once."""
    path = folder / "m"
    if not path.exists():
        options = ["--pairs", "1", "--monotonic", "income=increasing", "--report", folder / "r.html", "-o", path]
        status, out, err = run("fit", folder / "train.csv", *FIT, *options)
        assert (status, err) == (0, ""), err
        assert "AdditiveAUCClassifier" in out
    return path


def test_the_model_reads_the_original_frame(run, model, folder):
    pipeline = load_model(model)
    assert isinstance(pipeline[0], TableEncoder)
    assert pipeline[-1].is_categorical_.tolist() == [False, True, False]
    curve = pipeline[-1].coef_[0, : pipeline[-1].columns_[0].n_values]
    assert (np.diff(curve) >= 0).all()
    status, out, _ = run("predict", model, folder / "train.csv", "--proba")
    assert status == 0
    found = [float(row["score_1"]) for row in csv.DictReader(out.splitlines())]
    np.testing.assert_allclose(found, pipeline.decision_function(FRAME), rtol=1e-12)


def test_predict_notes_unseen_levels_and_gaps(run, model, tmp_path):
    FRAME.assign(job=["astronaut", None, *FRAME["job"][2:]]).to_csv(tmp_path / "new.csv", index=False)
    status, out, err = run("predict", model, tmp_path / "new.csv")
    assert status == 0
    assert "column 'job': 1 cell with levels that no training row has, scored as rare" in err
    scores = [float(line) for line in out.split()[1:]]
    rare = load_model(model).decision_function(FRAME.assign(job="juggler"))
    assert scores[0] == pytest.approx(rare[0])


def test_curves_importance_and_scorecard_are_in_the_report(run, model, folder, tmp_path):
    run("evaluate", model, folder / "train.csv", "--report", tmp_path / "e.html")
    for path in (folder / "r.html", tmp_path / "e.html"):
        page = path.read_text(encoding="utf-8")
        for text in (
            "Curve of income",
            "What each column is worth",
            "Scorecard",
            "clerk",
            "(rare)",
            "Whole points cost",
        ):
            assert text in page, (path, text)


def test_inspect_lists_curves_of_additive_model(run, model):
    told = json.loads(run("inspect", model, "--json")[1])
    assert told["curves"][0]["curve"] == "income"
    assert {each["curve"] for each in told["curves"]} == {"income", "job", "owner"}
    spreads = [each["spread"] for each in told["curves"]]
    assert spreads == sorted(spreads, reverse=True)
    assert "degrees of freedom" in run("inspect", model)[1]


@pytest.mark.parametrize("suffix", [".csv", ".sql", ".py"])
def test_the_exported_card_scores_as_the_card_does(suffix, run, model, folder, tmp_path):
    odds = ["--base-score", "500", "--base-odds", "2", "--points-to-double", "-30"]
    status, _, err = run("scorecard", model, *odds, "-o", tmp_path / f"card{suffix}", "--test", folder / "train.csv")
    assert (status, err) == (0, "")
    card = Scorecard(load_model(model), 500, 2, -30)
    frame = FRAME.assign(job=["astronaut", *FRAME["job"][1:]])
    text = (tmp_path / f"card{suffix}").read_text(encoding="utf-8")
    if suffix == ".csv":
        lines = list(csv.DictReader(text.splitlines()))
        assert int(lines[0]["points"]) == card.base_points
        assert [(each["column"], int(each["points"])) for each in lines[1:]] == [
            (entry.column, entry.points) for entry in card.table()
        ]
        return
    rows = frame.assign(owner=(frame["owner"] == "yes").astype(int)).astype(object).where(frame.notna(), None)
    if suffix == ".py":
        scope = {}
        exec(text, scope)
        found = [scope["score"](row) for row in rows.to_dict("records")]
    else:
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute("CREATE TABLE t (income REAL, job TEXT, owner INTEGER)")
            base.executemany("INSERT INTO t VALUES (?, ?, ?)", rows.itertuples(index=False))
            found = [score for (score,) in base.execute(f"SELECT {text} FROM t")]
    assert found == card.score(frame).tolist()


def test_the_card_tells_what_whole_points_cost(run, model, folder):
    told = json.loads(run("scorecard", model, "--test", folder / "train.csv", "--json")[1])
    card = Scorecard(load_model(model))
    assert told["auc_lost"] == pytest.approx(card.auc_lost(FRAME, Y.astype(int)))
    assert told["base_points"] == card.base_points
    assert "base points" in run("scorecard", model)[1]


def test_compare_gives_additive_classifier_the_codes(run, folder):
    methods = "AUCClassifier, AdditiveAUCClassifier(monotonic_cst={'income': 1}, alpha=0.01)"
    status, out, _ = run("compare", folder / "train.csv", "--methods", methods, "--repeats", "1", "--json")
    assert status == 0
    told = json.loads(out)["comparisons"][0]["methods"]
    assert told[1]["failure"] is None
    assert told[1]["mean_auc"] > 0.6


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--pairs", "some"], "--pairs some is not understood: give auto or a number."),
        (
            ["--monotonic", "income=rising"],
            "--monotonic income=rising is not understood: give COLUMN=increasing or COLUMN=decreasing.",
        ),
        (
            ["--monotonic", "a=increasing", "--monotonic", "a=decreasing"],
            "--monotonic gives two shapes for the column 'a'.",
        ),
        (
            ["--monotonic", "wage=increasing"],
            "{0} has no column 'wage' for --monotonic; the fitted columns are income, job, owner.",
        ),
        (
            ["--monotonic", "job=increasing"],
            "{0}: monotonic_cst has a shape for a category, and only numbers can rise or fall.",
        ),
        (["--penalty", "l1"], "AdditiveAUCClassifier has no parameter for --penalty."),
    ],
)
def test_fit_refuses_options_of_additive_models(refused, folder, tmp_path, options, line):
    train = folder / "train.csv"
    assert refused("fit", train, *FIT, *options, "-o", tmp_path / "m") == line.format(train)


def test_only_additive_models_have_pairs_shapes_and_cards(refused, run, folder, tmp_path):
    train = folder / "train.csv"
    assert refused("fit", train, "--pairs", "auto") == "AUCClassifier has no parameter for --pairs."
    run("fit", train, "-o", tmp_path / "m")
    line = refused("scorecard", tmp_path / "m")
    assert line == f"{tmp_path / 'm'} is not an additive model: fit one with --algorithm AdditiveAUCClassifier."


def test_the_name_of_the_card_tells_its_format(refused, model, tmp_path):
    line = refused("scorecard", model, "-o", tmp_path / "card.txt")
    assert line == f"--output {tmp_path / 'card.txt'} ends with none of .csv, .sql, .py, which say what to write."
