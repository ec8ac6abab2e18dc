"""The ladder: rungs are judged on held-out rows, and their choice too."""

import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_frame, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from odd_rows import OddRows
from sklearn.model_selection import KFold

from aucmax import TableClassifier, roc_auc
from aucmax.tables.fitting import ladder
from aucmax.tables.fitting.ladder import MARGIN, RUNGS, choose, share_out

FRAME, Y = mixed_frame()


def noise(seed, n=200):
    """Return a table of noise with many levels, and labels."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n), "c": rng.choice(list("xyz"), n)})
    X["d"] = np.char.add("level ", rng.integers(0, 30, n).astype(str))
    return X, (rng.random(n) < 0.4).astype(int)


@pytest.mark.parametrize(
    ("aucs", "error", "expected"),
    [
        ([0.70, 0.75, 0.76], 0.01, 2),
        ([0.70, 0.756, 0.76], 0.01, 1),
        ([0.757, 0.70, 0.76], 0.01, 0),
        ([0.70, 0.76, 0.70], 0.01, 1),
        ([0.70, 0.70, 0.70], 0.0, 0),
    ],
)
def test_the_lowest_rung_within_the_margin_of_the_best_is_chosen(aucs, error, expected):
    assert MARGIN == 0.5
    assert choose(np.array(aucs), error * (1 - np.eye(3))) == expected


@pytest.mark.parametrize(("budget", "expected"), [(1000, 128), (259, 118), (258, 117), (9, 2), (1, 2)])
def test_functions_are_shared_out_to_columns(budget, expected):
    assert share_out([500, 120, 20, 3], 128, budget) == expected


def test_the_ladder_is_a_table_of_its_rungs():
    model = TableClassifier().fit(FRAME, Y)
    found = model.ladder_
    n = len(found["terms"])
    assert tuple(found["terms"]) == RUNGS[:n]
    assert n >= 3
    assert all(len(values) == n for values in found.values())
    assert found["chosen"].sum() == 1
    assert (found["low"] < found["auc"]).all()
    assert (found["auc"] < found["high"]).all()
    assert found["surfaces"][:3].tolist() == [0, 0, 2]
    assert (found["seconds"] > 0).all()
    assert found["auc"][0] < found["auc"][1] - 0.05
    chosen = int(np.flatnonzero(found["chosen"])[0])
    n_surfaces = sum(len(term.columns) == 2 for term in model.terms_)
    assert n_surfaces == found["surfaces"][chosen]
    assert model.cv_auc_ci_[0] < model.cv_auc_ < model.cv_auc_ci_[1]
    assert model.cv_auc_ <= found["auc"].max() + 1e-12
    assert pd.DataFrame(found).shape == (n, 8)


@pytest.mark.parametrize(
    ("parameters", "rungs"),
    [
        ({"terms": "lines"}, ["lines"]),
        ({"terms": "curves"}, ["curves"]),
        ({"terms": "pairs"}, ["few pairs"]),
        ({"terms": "pairs", "pairs": 1}, ["pairs"]),
        ({"terms": "pairs", "pairs": 0}, ["curves"]),
        ({"pairs": 1}, ["lines", "curves", "pairs"]),
        ({"pairs": []}, ["lines", "curves"]),
    ],
)
def test_parameters_fix_the_rungs(parameters, rungs):
    model = TableClassifier(cv=2, max_bins=8, **parameters).fit(FRAME, Y)
    assert model.ladder_["terms"].tolist()[: len(rungs)] == rungs
    if len(model.ladder_["terms"]) == 1:
        assert model.cv_auc_ == model.ladder_["auc"][model.ladder_["chosen"]][0]


def test_a_table_of_categories_has_no_curves():
    model = TableClassifier(cv=2, pairs=0).fit(FRAME[["colour"]], Y)
    assert model.ladder_["terms"].tolist() == ["lines"]


def test_the_held_out_auc_is_that_of_fits_without_each_fold():
    folds = list(KFold(4, shuffle=True, random_state=0).split(FRAME))
    model = TableClassifier("curves", cv=folds).fit(FRAME, Y)
    aucs = []
    for train, test in folds:
        fold = TableClassifier("curves", cv=0).fit(FRAME.iloc[train], Y[train])
        aucs.append(roc_auc(Y[test], fold.decision_function(FRAME.iloc[test])))
    assert_allclose(model.ladder_["auc"], np.mean(aucs), atol=0.005)  # the borders of bins are those of all rows


def test_the_rung_is_chosen_again_without_each_fold(monkeypatch):
    seen = []

    def spy(aucs, errors, *margin):
        if not margin:  # of cards
            seen.append(aucs)
        return choose(aucs, errors, *margin)

    monkeypatch.setattr(ladder, "choose", spy)
    TableClassifier().fit(FRAME, Y)
    assert len(seen) == 6  # by all folds, then without each
    assert all(not np.allclose(each, seen[0], atol=1e-4) for each in seen[1:])


def test_the_choice_among_rungs_of_noise_does_not_flatter():
    found = [TableClassifier().fit(*noise(seed)) for seed in range(12)]
    aucs = np.array([model.cv_auc_ for model in found])
    best = np.array([model.ladder_["auc"].max() for model in found])
    assert abs(aucs.mean() - 0.5) < 2 * aucs.std() / np.sqrt(12)
    assert aucs.mean() < best.mean() - 0.01
    assert np.mean([model.cv_auc_ci_[0] < 0.5 < model.cv_auc_ci_[1] for model in found]) > 0.8


def test_noise_with_groups_reports_one_half():
    """A column of text that is constant in each group knows the labels of rows of known groups alone."""
    known, new = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        groups = rng.integers(0, 60, 600)
        y = rng.random(600) < np.where(rng.random(60) < 0.4, 0.9, 0.1)[groups]
        X = pd.DataFrame({"who": np.char.add("w", groups.astype(str)), "a": rng.normal(size=600)})
        new.append(TableClassifier().fit(X, y, groups=groups).cv_auc_)
        known.append(TableClassifier("lines", cv=2).fit(X, y).cv_auc_)
    assert abs(np.mean(new) - 0.5) < 0.02
    assert np.mean(known) > 0.85


def test_without_folds_probabilities_are_those_of_the_likelihood():
    model = TableClassifier("curves", cv=0).fit(FRAME, Y)
    assert not hasattr(model, "ladder_")
    assert not hasattr(model, "cv_auc_")
    assert model.calibration_[0] == 1
    proba = model.predict_proba(FRAME)[:, 1]
    assert_allclose(proba.mean(), Y.mean(), atol=1e-6)  # the offset has no penalty
    again = TableClassifier("curves").fit(FRAME, Y).set_params(cv=0).fit(FRAME, Y)
    assert not hasattr(again, "cv_auc_")
    assert_array_equal(again.coef_, model.coef_)


def test_with_folds_probabilities_are_calibrated_on_held_out_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": np.char.add("l", rng.integers(0, 150, 600).astype(str)), "x": rng.normal(size=600)})
    y = rng.random(600) < 1 / (1 + np.exp(-X["x"]))
    model = TableClassifier("lines").fit(X, y)
    free = TableClassifier("lines", cv=0).fit(X, y)
    assert_allclose(model.coef_, free.coef_)
    assert_allclose(model.errors_, model.calibration_[0] * free.errors_)
    assert model.calibration_[0] < 1.1
    assert_allclose(model.predict_proba(X)[:, 1].mean(), y.mean(), atol=0.03)


def test_one_split_cannot_judge_the_choice_of_a_rung():
    frame, y = mixed_frame()
    split = [(np.arange(300), np.arange(300, 400))]
    with pytest.warns(UserWarning, match=r"^cv_auc_ is NaN: it judges the choice of the rung on rows that had no part"):
        model = TableClassifier(pairs=0, cv=split).fit(frame, y)
    assert np.isnan([model.cv_auc_, *model.cv_auc_ci_]).all()
    assert np.isfinite(model.ladder_["auc"]).all()
    assert TableClassifier("lines", cv=split).fit(frame, y).cv_auc_ > 0.5


@pytest.mark.parametrize(
    ("cv", "n_positives", "message"),
    [
        (5, 1, "^Cross-validation needs at least two rows of each class, got 1 positive and 399 negative: set"),
        ([(np.arange(200), np.arange(200, 400))], 9, "^The test rows of split 0 of cv are not of two classes, "),
    ],
)
def test_too_few_rows_of_a_class(cv, n_positives, message):
    y = np.arange(400) < n_positives
    with pytest.raises(ValueError, match=message):
        TableClassifier(cv=cv).fit(FRAME, y)
    assert TableClassifier("lines", cv=0).fit(FRAME, y).score(FRAME, y) > 0.5


def test_few_rows_have_fewer_folds():
    with pytest.warns(UserWarning, match="^The rarer class has only 4 rows: 4 folds are used instead of 5"):
        TableClassifier("lines").fit(FRAME, np.arange(400) % 100 == 0)


def test_cv_0_fits_one_rung():
    with pytest.raises(ValueError, match=r"^cv=0 fits one rung without cross-validation: give terms= and a number of"):
        TableClassifier(cv=0).fit(FRAME, Y)


def test_strengths_are_found_on_a_sample_and_terms_are_fitted_to_all_rows(monkeypatch):
    X, y = mixed_rows(3000)
    whole = TableClassifier("curves", cv=3).fit(X, y)
    monkeypatch.setattr(ladder, "ENOUGH_ROWS", 400)
    monkeypatch.setattr("aucmax.tables.classifier.ENOUGH_ROWS", 400)
    sampled = TableClassifier("curves", cv=3).fit(X, y)
    assert_allclose(sampled.mass_, whole.mass_)
    assert not np.allclose(sampled.strengths_, whole.strengths_)
    assert abs(sampled.score(X, y) - whole.score(X, y)) < 0.005
    assert np.ptp(sampled.cv_auc_ci_) > 1.5 * np.ptp(whole.cv_auc_ci_)


def test_many_columns_have_lines_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 257)), rng.integers(0, 2, 120)
    with pytest.warns(UserWarning, match=r"^X has 257 columns: with more than 256, the ladder has lines alone\.$"):
        model = TableClassifier(cv=2).fit(X, y)
    assert model.ladder_["terms"].tolist() == ["lines"]
    for terms in ("curves", "pairs"):
        with pytest.raises(ValueError, match=f"^X has 257 columns, and terms='{terms}' takes at most 256: use terms="):
            TableClassifier(terms, cv=2).fit(X, y)
    assert TableClassifier("lines", cv=0).fit(X, y).score(X, y) > 0.5
    with pytest.raises(ValueError, match=r"^X has 8,193 columns, and TableClassifier takes at most 8,192: use AUC"):
        TableClassifier().fit_rows(OddRows.of(np.zeros((4, 8193)), np.arange(4) % 2))


def test_terms_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("aucmax.rows.memory.usable_memory", lambda: 10**6)
    monkeypatch.setattr("aucmax.rows.memory.ALWAYS_AVAILABLE", 0)
    rng = np.random.default_rng(0)
    with pytest.raises(MemoryError, match=r"^A fit of 200 lines, levels and functions takes 0\.0 GB, but .*: drop col"):
        TableClassifier("lines", cv=0).fit(rng.normal(size=(50, 200)), np.arange(50) % 2)
