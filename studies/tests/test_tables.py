"""The study of tables: data sets, how rivals are prepared, cells that are kept, and the page, on small made-up data."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from aucmax_studies.common import realdata
from aucmax_studies.peers import table_data, table_models, table_page, tables
from aucmax_studies.peers.table_data import Rows
from aucmax_studies.peers.table_models import OURS, RIVALS, TypedFrame


def make_frame(n_rows=300, seed=0):
    """Text, a date, blanks, truth values, an identifier and numbers, one of which tells the labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.4).astype(np.int64)
    number = rng.standard_normal(n_rows) + y
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(300, size=n_rows), unit="D")
    frame = {
        "number": np.where(rng.random(n_rows) < 0.1, np.nan, number),
        "text number": [" " if k % 7 == 0 else f"{value:.3f}" for k, value in enumerate(number)],
        "truth": rng.random(n_rows) < 0.5,
        "date": days.strftime("%m/%d/%Y"),
        "word": rng.choice(["May", "June", None], n_rows),
        "many": [f"level {k}" for k in rng.integers(40, size=n_rows)],
        "identifier": [f"row-{k}-{k}" for k in range(n_rows)],
    }
    return Rows(pd.DataFrame(frame), y)


# How rivals are prepared


def test_columns_are_numbers_days_and_categories_and_identifiers_are_dropped():
    X = make_frame().X
    typed = TypedFrame().fit_transform(X)
    assert {name: str(dtype) for name, dtype in typed.dtypes.items()} == {
        **dict.fromkeys(["number", "text number", "truth", "date"], "float64"),
        **dict.fromkeys(["word", "many"], "category"),
    }
    assert typed["text number"].isna().tolist() == [k % 7 == 0 for k in range(len(X))]
    assert (typed["date"] == (pd.to_datetime(X["date"]) - pd.Timestamp(0)).dt.days).all()
    assert (typed["word"].isna() == X["word"].isna()).all()
    assert (typed["truth"] == X["truth"]).all()


def test_cells_unlike_the_training_rows_are_missing():
    reader = TypedFrame().fit(make_frame().X)
    other = pd.DataFrame([["x", "1e3", True, "some day", "July", "level 3", "x"]], columns=make_frame().X.columns)
    row = reader.transform(other).iloc[0]
    assert row.isna().tolist() == [True, False, False, True, True, False]
    assert row["text number"] == 1000


def test_columns_of_too_many_levels_are_their_ordinal_numbers():
    X = make_frame().X
    levels = sorted(X["many"].unique())
    typed = TypedFrame(max_levels=len(levels) - 1).fit(X).transform(X.assign(many=[*X["many"][1:], "unseen"]))
    assert typed["many"][:-1].tolist() == [levels.index(level) for level in X["many"][1:]]
    assert np.isnan(typed["many"].iloc[-1])
    assert isinstance(TypedFrame(len(levels)).fit_transform(X)["many"].dtype, pd.CategoricalDtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_takes_raw_frames_with_unseen_levels(name, monkeypatch):
    monkeypatch.setattr(table_models, "GRID", {"num_leaves": [7, 15], "n_estimators": [10]})
    rows, other = make_frame(), make_frame(seed=1)
    other.X.loc[:9, ["word", "many"]] = "unseen"
    try:
        model = RIVALS[name]()
    except ImportError as error:
        pytest.skip(str(error))
    if name == "EBM":
        model.set_params(explainableboostingclassifier__outer_bags=1, explainableboostingclassifier__max_rounds=50)
    scores = tables.scores_of(model.fit(rows.X, rows.y), other.X)
    assert scores.shape == other.y.shape
    assert scores[other.y == 1].mean() > scores[other.y == 0].mean()


def test_the_grid_has_the_defaults():
    lightgbm = pytest.importorskip("lightgbm")
    defaults = lightgbm.LGBMClassifier().get_params()
    assert all(defaults[name] in values for name, values in table_models.GRID.items())
    assert np.prod([len(values) for values in table_models.GRID.values()]) == 24


# Data sets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(realdata, "DATA_DIR", tmp_path)
    (tmp_path / "tables").mkdir()
    rows = make_frame()
    for name in ("adult", "adult_test", "beer", "telco_churn"):
        target, positive = table_data.LABELS.get(name, ("target", "yes"))
        frame = rows.X.assign(**{target: np.where(rows.y == 1, positive, "other"), "customerID": rows.X["identifier"]})
        frame.to_csv(tmp_path / "tables" / f"{name}.csv.bz2", index=False)
    return rows


def test_tables_of_the_folder_are_read_as_they_are(folder, monkeypatch):
    assert table_data.table_names() == ["adult", "beer", "telco_churn"]
    assert [table_data.half_of(name) for name in table_data.table_names()] == ["choice", "verdict", "choice"]
    for name in table_data.table_names():
        read = table_data.load(name)
        assert (read.y == folder.y).all()
        assert ("customerID" in read.X) == (name != "telco_churn")
        assert read.X["text number"].dtype == "str" if name == "beer" else True
    monkeypatch.setattr(table_data, "MAX_ROWS", 50)
    drawn = table_data.load("beer")
    assert len(drawn.X) == len(drawn.y) == 50
    assert drawn.X.equals(table_data.load("beer").X)


def test_folds_of_a_table_test_each_row_once(folder):
    rows = table_data.load("beer")
    tested = np.concatenate([test for _, test in table_data.splits("beer", rows)])
    assert sorted(tested) == list(range(len(rows.y)))


# Cells


class Scorer(ClassifierMixin, BaseEstimator):
    """Scores by the number, and counts its fits."""

    fits = 0

    def fit(self, X, y):
        Scorer.fits += 1
        return self

    def decision_function(self, X):
        return X["number"].fillna(0).to_numpy()


def missing():
    raise ImportError("No module named 'forest'")


@pytest.fixture
def study(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "RESULTS", tmp_path / "tables.json")
    monkeypatch.setattr(tables, "OPTIONAL", ())
    monkeypatch.setattr(tables, "RIVALS", {"logistic CV": Scorer, "forest": missing})
    monkeypatch.setattr(tables, "OURS", {"ladder": Scorer})
    monkeypatch.setattr(Scorer, "fits", 0)
    return lambda *options: tables.main(["--names", "adult,beer", *options])


def test_a_run_resumes_and_leaves_out_what_is_not_installed(study, capsys):
    study("--untimed", "--models", "ladder")
    assert Scorer.fits == 2 * 3
    study("--untimed")
    assert Scorer.fits == 2 * 2 * 3
    assert "forest: No module named 'forest'" in capsys.readouterr().out
    cells = tables.read_cells()
    assert sorted(cells) == sorted(
        f"{n}/{m}/{k}" for n in ("adult", "beer") for m in ("ladder", "logistic CV") for k in range(3)
    )
    assert all(set(cell) == {"auc"} and 0.6 < cell["auc"] < 0.95 for cell in cells.values())
    assert cells["beer/ladder/1"] == cells["adult/ladder/1"]


def test_times_are_measured_apart_and_kept(study):
    study("--untimed", "--models", "ladder")
    before = tables.read_cells()
    study("--time-only", "--models", "ladder")
    assert Scorer.fits == 2 * 3 + 2 * 2, "with a fit to a few rows"
    timed = tables.read_cells()
    assert {key for key, cell in timed.items() if "seconds" in cell} == {"adult/ladder/0", "beer/ladder/0"}
    study("--time-only", "--models", "ladder")
    study("--untimed", "--again", "--models", "ladder")
    assert tables.read_cells() == timed
    assert {key: cell["auc"] for key, cell in timed.items()} == {key: cell["auc"] for key, cell in before.items()}
    study("--again", "--models", "ladder")
    assert all("seconds" in cell for cell in tables.read_cells().values())


# The page

HALVES = {"a": "choice", "b": "verdict", "c": "choice"}
AUCS = {
    "ladder": [0.90, 0.80, 0.70],
    "lines": [0.85, 0.80, 0.70],
    "logistic CV": [0.86, 0.80, 0.60],
    "LightGBM tuned": [0.90, 0.82, 0.60],
}
NUMERIC = {
    "diabetes": {"linear": 0.6, "lines": 0.6, "ladder": 0.7, "LightGBM": 0.8, "EBM": 0.75},
    "segment": {"linear": 0.6, "lines": 0.6, "ladder": 0.69, "LightGBM": 0.7, "EBM": 0.65},
    "shuttle": {"linear": 0.6, "lines": 0.6, "ladder": 0.9, "LightGBM": 0.604, "EBM": 0.6},
}


def made_up(aucs=AUCS, numeric=NUMERIC, shifts=(-0.01, 0.0, 0.01)):
    cells = {
        f"{name}/{model}/{k}": {"auc": figures[i] + shifts[k]} | ({"seconds": 2.0**i} if k == 0 else {})
        for model, figures in aucs.items()
        for i, name in enumerate(HALVES)
        for k in range(3)
    }
    for name, figures in numeric.items():
        for model, auc in figures.items():
            cells |= {f"{name}/{model}/{k}": {"auc": auc} for k in range(1 if model == "EBM" else 2)}
    return {"machine": "abacus", "versions": {"python": "3.x"}, "halves": HALVES, "cells": cells}


def test_ranks_are_among_the_rivals_and_one_of_ours():
    cells = made_up()["cells"]
    rank = table_page.mean_ranks(cells, list(HALVES), list(AUCS))
    assert rank["ladder"] == pytest.approx((1.5 + 2.5 + 1) / 3)
    assert rank["lines"] == pytest.approx((3 + 2.5 + 1) / 3)
    assert rank["logistic CV"] == pytest.approx((3 + 2.5 + 2.5) / 3)
    assert rank["LightGBM tuned"] == pytest.approx((1.5 + 1 + 2.5) / 3)
    alone = table_page.mean_ranks(cells, list(HALVES), ["logistic CV", "LightGBM tuned"])
    assert alone == pytest.approx({"logistic CV": (2 + 2 + 1.5) / 3, "LightGBM tuned": (1 + 1 + 1.5) / 3})


def test_the_sentences_are_computed():
    page = table_page.make_page(made_up(), "About.")
    for line in (
        "verdict half, the ladder is number 2 of 3 with a mean rank of 2.50; the best of the others is LightGBM tuned",
        "ladder to LightGBM tuned: +0.0267 (1 better, 1 worse) on all, +0.0500 (1 better, 0 worse) on choice, -0.0200",
        "- LightGBM tuned leads the ladder by more than 0.01 on 1 (b, 0.0200) of 3 tables.",
        "- Mean difference of the lines to logistic CV: +0.0300 (1 better, 1 worse) on all, ",
        "0.003 and 2 standard errors of the differences on 1 (a, 0.0100) of 3 tables.",
        "- The ladder's time, in the geometric mean, is 1 times that of LightGBM tuned, 1 times that of logistic CV.",
        "by more than 0.005 on 2 of the numeric sets. The ladder closes 63% of the mean lead there.",
        "by more than 0.005 on 1 of those without a star. The ladder closes 90% of the mean lead there.",
        "- On the 3 splits of EBM, its mean AUC is .6667, and the ladder's .7633.",
        "| **ladder** | 1.67 | 1.25 | 2.50 | .8000 | .8000 | .8000 | 2.00 | 2.00 | 2.00 |",
        "| b | verdict | .8000 | .8000 | .8000 | .8200 |",
        "| diabetes * | .6000 | .8000 |  | .6000 | .7000 | .7500 | .7000 |",
    ):
        assert line in page
    assert "Not measured on all tables, and left out: curves, pairs, logistic, AUCClassifier" in page


def test_noisy_folds_are_not_below():
    found = made_up()
    for k, gap in enumerate((0.05, -0.01, -0.01)):
        found["cells"][f"a/lines/{k}"]["auc"] = found["cells"][f"a/logistic CV/{k}"]["auc"] - gap
    assert "standard errors of the differences on none of 3 tables." in table_page.make_page(found, "")


def test_a_page_without_ours_has_the_rivals():
    page = table_page.make_page(made_up({name: AUCS[name] for name in AUCS if name not in OURS}), "")
    assert "left out: ladder, lines, curves, pairs" in page
    assert "the ladder is" not in page
    assert "| LightGBM tuned | 1.17 |" in page
    with pytest.raises(SystemExit, match="measure first"):
        table_page.make_page(made_up({}), "")


def test_the_page_is_made_from_the_file_alone(study, tmp_path, monkeypatch):
    tables.RESULTS.write_text(json.dumps(made_up()), encoding="utf-8")
    monkeypatch.setattr(tables, "measure", lambda *arguments: pytest.fail("it must not measure"))
    study("--write-only", "--write", str(tmp_path / "page.md"))
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert text.startswith(
        "# The table classifier beside trees and EBM\n\nMade by `make study NAME=tables`.\n\nA. The raw"
    )
