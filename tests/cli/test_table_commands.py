"""Raw tables from the command line: read, fitted, shown, reported, compared, and written as scorecards."""

import csv
import io
import json
import re
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest

from aucmax import AUCClassifier, Scorecard, TableClassifier, TableEncoder, load_model
from aucmax.cli.commands import export
from aucmax.cli.options import parse_cuts

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 240
Y = np.arange(N) % 3 == 0
JOBS = np.where(RNG.random(N) < 0.4, "clerk", np.where(RNG.random(N) < 0.5 + 0.4 * Y, "smith", "baker"))
JOBS[:4] = ["juggler", "diver", "pilot", "smith"]  # three of them rare
INCOME = np.round(1000 + 300 * Y + 900 * RNG.random(N), 2)
FRAME = pandas.DataFrame({"income": INCOME, "job": JOBS, "owner": np.where(RNG.random(N) < 0.5, "yes", "no")})
FRAME.loc[::7, "income"] = np.nan


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
        options = ["--terms", "pairs", "--pairs", "1", "--monotonic", "income=increasing"]
        status, out, err = run("fit", folder / "train.csv", *options, "--report", folder / "r.html", "-o", path)
        assert (status, err) == (0, ""), err
        assert "TableClassifier" in out
    return path


def test_fit_is_what_python_fits(run, model, folder):
    fitted = TableClassifier("pairs", pairs=1, monotonic_cst={"income": 1}).fit(FRAME, Y.astype(int))
    found = load_model(model)
    np.testing.assert_allclose(found.coef_, fitted.coef_, rtol=0, atol=1e-8 * np.abs(fitted.coef_).max())
    assert found.cv_auc_ == pytest.approx(fitted.cv_auc_, abs=1e-12)
    assert found.ladder_["terms"].tolist() == fitted.ladder_["terms"].tolist()


def test_fit_says_how_columns_are_read_and_shows_the_ladder(run, folder, tmp_path):
    options = ["-o", tmp_path / "m", "--drop", "owner"]
    status, out, err = run("fit", folder / "train.csv", *options)
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"{folder / 'train.csv'}: 240 rows, 33.33% of class 1"
    assert "job category 0 6 levels" in lines
    assert "owner left out 0 as asked" in lines
    place = next(k for k, line in enumerate(lines) if line.startswith("TableClassifier"))
    assert max(k for k, line in enumerate(lines) if line.startswith("owner")) < place
    assert any(line.startswith("lines") for line in lines[place:])
    assert any(line.endswith("chosen") for line in lines[place:])
    assert load_model(tmp_path / "m").get_params()["drop"] == ["owner"]
    told = json.loads(run("fit", folder / "train.csv", *options, "--force", "--json")[1])
    assert [rung["terms"] for rung in told["ladder"]][:2] == ["lines", "curves"]
    assert sum(rung["chosen"] for rung in told["ladder"]) == 1


def test_standard_input_with_options_of_tables_is_a_table(run, folder, tmp_path, monkeypatch):
    text = io.BytesIO((folder / "train.csv").read_bytes())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text, encoding="utf-8"))
    assert run("fit", "-", "--terms", "lines", "--cv", "0", "-o", tmp_path / "m")[0] == 0
    expected = TableClassifier("lines", cv=0).fit(FRAME, Y.astype(int))
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, expected.coef_, rtol=0, atol=1e-8)


@pytest.mark.filterwarnings("always:X has columns")
def test_a_quiet_fit_warns_of_columns_that_are_left_out(run, tmp_path):
    FRAME.assign(y=Y.astype(int), gap="").to_csv(tmp_path / "train.csv", index=False)
    options = ["--terms", "lines", "--cv", "0", "--quiet", "-o", tmp_path / "m"]
    status, out, err = run("fit", tmp_path / "train.csv", *options)
    assert (status, out) == (0, "")
    assert "left out: 'gap' (every cell is missing); name them in drop= if that is right." in err


@pytest.mark.parametrize("option", [["--loss", "auto"], ["--alpha", "0.1"], ["--algorithm", "AUCClassifier"]], ids=str)
def test_options_of_the_linear_model_fit_the_encoder_and_it(run, folder, tmp_path, option):
    assert run("fit", folder / "train.csv", *option, "-o", tmp_path / "m")[0] == 0
    encoder, inner = load_model(tmp_path / "m")
    assert isinstance(encoder, TableEncoder)
    alpha = 0.1 if "--alpha" in option else None
    expected = AUCClassifier(alpha=alpha).fit(TableEncoder().fit_transform(FRAME), Y.astype(int))
    np.testing.assert_allclose(inner.coef_, expected.coef_, rtol=0, atol=1e-9 * np.abs(expected.coef_).max())


def test_the_model_reads_the_original_frame(run, model, folder):
    fitted = load_model(model)
    assert fitted.reading_.categorical == [False, True, False]
    curve = fitted.coef_[0, : fitted.columns_[0].n_values]
    assert (np.diff(curve) >= 0).all()
    status, out, _ = run("predict", model, folder / "train.csv", "--proba")
    assert status == 0
    found = [float(row["score_1"]) for row in csv.DictReader(out.splitlines())]
    np.testing.assert_allclose(found, fitted.decision_function(FRAME), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:X has levels")
def test_predict_notes_unseen_levels_and_gaps(run, model, tmp_path):
    FRAME.assign(job=["astronaut", None, *FRAME["job"][2:]]).to_csv(tmp_path / "new.csv", index=False)
    status, out, err = run("predict", model, tmp_path / "new.csv")
    assert status == 0
    assert "column 'job': 1 cell with levels that no training row has, scored as other" in err
    scores = [float(line) for line in out.split()[1:]]
    known = load_model(model)
    other = known.decision_function(FRAME.assign(job="pianist"))
    assert scores[0] == pytest.approx(other[0])


def test_curves_importance_and_scorecard_are_in_the_report(run, model, folder, tmp_path):
    run("evaluate", model, folder / "train.csv", "--report", tmp_path / "e.html")
    assert "area under the ROC curve,<br>cross-validated" in (folder / "r.html").read_text(encoding="utf-8")
    for path in (folder / "r.html", tmp_path / "e.html"):
        page = path.read_text(encoding="utf-8")
        for text in (
            "Curve of income",
            "What each column is worth",
            "Scorecard",
            "clerk",
            "other",
            "Merging and rounding cost",
        ):
            assert text in page, (path, text)


def test_inspect_lists_the_terms(run, model):
    told = json.loads(run("inspect", model, "--json")[1])
    assert told["curves"][0]["curve"] == "income"
    assert {each["curve"] for each in told["curves"]} == {"income", "job", "owner", "job x owner"}
    spreads = [each["spread"] for each in told["curves"]]
    assert spreads == sorted(spreads, reverse=True)
    assert "degrees of freedom" in run("inspect", model)[1]


@pytest.mark.parametrize("suffix", [".csv", ".sql", ".py"])
def test_the_exported_card_scores_as_the_card_does(suffix, run, model, folder, tmp_path):
    odds = ["--base-score", "500", "--base-odds", "2", "--points-to-double", "-30"]
    odds += ["--dialect", "sqlite"] * (suffix == ".sql")
    status, _, err = run("scorecard", model, *odds, "-o", tmp_path / f"card{suffix}", "--test", folder / "train.csv")
    assert (status, err) == (0, "")
    card = Scorecard(load_model(model), base_score=500, base_odds=2, points_to_double=-30)
    frame = FRAME.assign(job=["astronaut", *FRAME["job"][1:]])
    text = (tmp_path / f"card{suffix}").read_text(encoding="utf-8")
    if suffix == ".csv":
        lines = list(csv.DictReader(text.splitlines()))
        assert int(lines[0]["points"]) == card.base_points
        assert [(each["column"], int(each["points"])) for each in lines if each["column"]] == [
            (entry.column, entry.points) for entry in card.table()
        ]
        return
    rows = frame.astype(object).where(frame.notna(), None)
    if suffix == ".py":
        scope = {}
        exec(text, scope)
        found = [scope["score"](row) for row in rows.to_dict("records")]
    else:
        with closing(sqlite3.connect(":memory:")) as base:
            base.execute("CREATE TABLE t (income REAL, job TEXT, owner TEXT)")
            base.executemany("INSERT INTO t VALUES (?, ?, ?)", rows.itertuples(index=False))
            found = [score for (score,) in base.execute(f"SELECT {text} FROM t")]
    assert found == card.score(frame).tolist()


def test_export_writes_sql_and_python_of_tables(run, refused, model, folder, tmp_path):
    """The linear model has them, too; the rows are those of the raw table."""
    linear, sql, python = (tmp_path / name for name in ("linear", "m.sql", "m.py"))
    assert run("fit", folder / "train.csv", "--loss", "logistic", "--alpha", "1", "-o", linear)[0] == 0
    for fitted in (model, linear):
        options = ["--dialect", "sqlite", "--table", "t", "--keep", "job", "--force"]
        assert run("export", fitted, "--sql", sql, "--python", python, *options)[0] == 0
        expected, scope = load_model(fitted).decision_function(FRAME), {}
        rows = FRAME.astype(object).where(FRAME.notna(), None)
        exec(python.read_text(encoding="utf-8"), scope)
        np.testing.assert_allclose([scope["score"](row) for row in rows.to_dict("records")], expected, rtol=1e-9)
        with closing(sqlite3.connect(":memory:")) as base:
            rows.to_sql("t", base, index=False)
            found = base.execute(sql.read_text(encoding="utf-8")).fetchall()
        np.testing.assert_allclose([score for _, score in found], expected, rtol=1e-9)
    assert refused("export", model).endswith("there is nothing to write: give --onnx, --sql or --python.")
    assert "--dialect spark needs --table: an" in refused(
        "export", model, "--sql", tmp_path / "n", "--dialect", "spark"
    )
    assert "not 'oracle'; the nearest is" in refused("export", model, "--sql", tmp_path / "n", "--dialect", "oracle")
    assert "--table and --keep are" in refused("export", model, "--python", tmp_path / "n", "--table", "t")


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "mysql"])
def test_check_runs_sql_and_python_on_rows(run, model, folder, tmp_path, dialect, monkeypatch):
    name = {"sqlite": "sqlite", "duckdb": "duckdb", "mysql": "sqlite (mysql is not run here)"}[dialect]
    if dialect == "duckdb":
        pytest.importorskip("duckdb")
    sql, python = tmp_path / "m.sql", tmp_path / "m.py"
    arguments = ["export", model, "--sql", sql, "--python", python, "--dialect", dialect, "--force"]
    arguments += ["--check", folder / "train.csv"]
    status, _, err = run(*arguments)
    assert status == 0
    for what in (f"SQL in {name}", "Python"):
        found = re.search(rf"scores of {re.escape(what)} differ from ours by at most (\S+); ours are from -", err)
        assert float(found[1]) < 1e-9
    for text in (sql, python):
        assert f" model {model.name}\n" in text.read_text(encoding="utf-8")
    write = export.to_sql
    monkeypatch.setattr(
        export, "to_sql", lambda formula, *rest: write(formula._replace(base=formula.base + 0.5), *rest)
    )
    assert f"scores of SQL in {name} differ from ours by at most 0.5;" in run(*arguments)[2]


def test_the_card_tells_what_whole_points_cost(run, model, folder):
    told = json.loads(run("scorecard", model, "--test", folder / "train.csv", "--json")[1])
    card = Scorecard(load_model(model))
    lost = card.auc_lost(FRAME, Y.astype(int))
    assert [told["auc_lost"], *told["auc_lost_ci"]] == pytest.approx([lost.difference, lost.low, lost.high])
    assert told["base_points"] == card.base_points
    assert "base points" in run("scorecard", model)[1]


def test_the_card_has_the_lines_and_columns_that_were_asked_for(run, model):
    told = json.loads(run("scorecard", model, "--max-lines", "4", "--require", "owner", "--json")[1])
    card = Scorecard(load_model(model), 4, require=["owner"])
    assert [line["values"] for line in told["lines"]] == [entry.values for entry in card.table()]
    assert (len(told["lines"]), told["left_out"]) == (card.n_lines, card.left_out)
    assert told["held_out"]["max_lines"] == card.held_out.lines == 2
    assert "owner" in [column["column"] for column in told["card_columns"]]
    judged = json.loads(run("scorecard", model, "--max-lines", "20", "--json")[1])["held_out"]
    held_out = Scorecard(load_model(model), 20).held_out
    assert list(judged.values()) == [held_out.lines, 20, held_out.lost, [held_out.low, held_out.high]]
    every = json.loads(run("scorecard", model, "--max-lines", "all", "--json")[1])
    assert len(every["lines"]) == Scorecard(load_model(model), None).n_lines > 10
    for few in ("few", "1"):
        assert f"--max-lines {few} is not understood: give a number" in run("scorecard", model, "--max-lines", few)[2]
    assert "are used only with an --output that ends with .sql" in run("scorecard", model, "--dialect", "mysql")[2]


def test_compare_fits_tables_as_they_are_read(run, folder):
    methods = "AUCClassifier, TableClassifier(terms='curves', monotonic_cst={'income': 1}, cv=0)"
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
            "{0}: --monotonic names the column 'wage', which the table does not have.",
        ),
        (
            ["--monotonic", "job=increasing"],
            "{0}: --monotonic has a shape for 'job', a category, and only numbers can rise or fall.",
        ),
        (["--cuts", "income=1,b"], "--cuts income=1,b is not understood: give COLUMN=25,40,60."),
        (
            ["--cuts", "income=1", "--cuts", "income=2"],
            "--cuts income=2 is not understood: give COLUMN=25,40,60, once for a column.",
        ),
        (
            ["--cuts", "income=2,1"],
            "{0}: cuts of 'income' are [2.0, 1.0]: give a list of increasing numbers.",
        ),
        (["--pairs", "1", "--penalty", "l1"], "AUCClassifier has no parameter for --pairs."),
    ],
)
def test_fit_refuses_options_of_tables(run, folder, tmp_path, options, line):
    train = folder / "train.csv"
    status, _, err = run("fit", train, *options, "-o", tmp_path / "m")
    assert (status, err) == (2, f"aucmax: {line.format(train)}\n")


def test_only_models_of_tables_have_cards(refused, run, folder, tmp_path):
    run("fit", folder / "train.csv", "--alpha", "1", "-o", tmp_path / "m")
    line = refused("scorecard", tmp_path / "m")
    assert line.startswith(f"{tmp_path / 'm'} is not a TableClassifier, of which scorecards are made: fit a CSV or ")


def test_only_tables_have_models_of_tables(refused, tmp_path):
    (tmp_path / "rows.libsvm").write_text("".join(f"{k % 2} 1:{k}\n" for k in range(40)), encoding="utf-8")
    fit = ["fit", tmp_path / "rows.libsvm", "-o", tmp_path / "m"]
    assert refused(*fit, "--terms", "lines") == "AUCClassifier has no parameter for --terms."
    told = refused(*fit, "--algorithm", "TableClassifier")
    assert told == f"{tmp_path / 'rows.libsvm'}: TableClassifier is fitted to CSV and Parquet files only."


def test_the_name_of_the_card_tells_its_format(refused, model, tmp_path):
    line = refused("scorecard", model, "-o", tmp_path / "card.txt")
    assert line == f"--output {tmp_path / 'card.txt'} ends with none of .csv, .sql, .py, which say what to write."


def test_evaluate_and_its_report_show_what_a_validator_asks_first(run, model, folder, tmp_path):
    status, out, err = run("evaluate", model, folder / "train.csv", "--report", tmp_path / "e.html")
    assert status == 0, err
    for line in ("Gini ", "KS ", "Brier score ", "calibration slope ", "false positive rate 1%", "top 10%"):
        assert line in out
    page = (tmp_path / "e.html").read_text(encoding="utf-8")
    for title in ("What it would do", "Gains and lift", "Are the probabilities right?", "How it ranks"):
        assert f"<h2>{title}</h2>" in page
    told = json.loads(run("evaluate", model, folder / "train.csv", "--json")[1])
    rates = {each["rule"]: each["fpr"] for each in told["thresholds"]}
    assert rates["false positive rate 10%"] <= 0.1
    assert len(told["gains"]) == 10
    assert abs(told["calibration"]["mean_probability"] - told["base_rate"]) < 0.05
    probabilities = load_model(model).predict_proba(FRAME)[:, 1]
    assert told["calibration"]["mean_probability"] == pytest.approx(probabilities.mean())


def test_cuts_are_numbers_or_days():
    found = parse_cuts(["opened=2022-12-31,2023-12-31", "a=b=1,2.5"])
    assert found == {"opened": ["2022-12-31", "2023-12-31"], "a=b": [1.0, 2.5]}
    with pytest.raises(ValueError, match=r"^--cuts opened=2023-02-30 is not understood"):
        parse_cuts(["opened=2023-02-30"])
