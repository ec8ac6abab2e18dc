"""TableClassifier: what goes in, what comes out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from additive_data import mixed_frame, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from aucmax import AUCClassifier, TableClassifier, load_model, roc_auc, save_model

X, Y = mixed_rows()
FRAME = mixed_frame()[0]
CURVES = TableClassifier("curves", cv=0, max_bins=16)
PAIRS = TableClassifier("pairs", cv=0, pairs=2)
RUNGS = [TableClassifier("lines", cv=0), CURVES, PAIRS]
every_rung = pytest.mark.parametrize("model", RUNGS, ids=lambda model: model.terms)


def levels_of(n, n_levels, spread=1.0, seed=0, n_noise=0, per_level=None, slope=0.0):
    """Return a table of columns of noise and of levels with normal effects, with labels."""
    effects, rng = spread * np.random.default_rng(99).standard_normal(n_levels), np.random.default_rng(seed)
    level = rng.integers(0, n_levels, n) if per_level is None else np.repeat(np.arange(n_levels), per_level)
    frame = pd.DataFrame(rng.standard_normal((len(level), n_noise)), columns=[f"x{j}" for j in range(n_noise)])
    logits = effects[level] + (slope * frame["x0"] if slope else 0.0)
    return frame.assign(level=np.char.add("l", level.astype(str))), rng.random(len(level)) < 1 / (1 + np.exp(-logits))


# Scores


def test_curves_find_what_a_linear_model_cannot():
    frame, y = mixed_frame(2000, seed=1)
    model, linear = TableClassifier().fit(FRAME, Y), AUCClassifier().fit(np.nan_to_num(X), Y)
    assert model.score(frame, y) > linear.score(np.nan_to_num(mixed_rows(2000, seed=1)[0]), y) + 0.1
    assert abs(model.score(frame, y) - model.cv_auc_) < 0.03


@every_rung
def test_a_score_is_the_sum_of_the_terms(model):
    model = clone(model).fit(FRAME, Y)
    parts = model.contributions(FRAME)
    assert parts.shape == (len(Y), len(model.terms_))
    assert_allclose(parts.sum(axis=1) + model.intercept_[0], model.decision_function(FRAME))
    assert_allclose(parts.mean(axis=0), 0, atol=1e-10)
    total, start = np.full(len(Y), model.intercept_[0]), 0
    codes = model._codes(FRAME)
    for term in model.terms_:
        values = model.coef_[0, start : start + term.n_cells].reshape(term.shape)
        total += values[tuple(group[codes[:, j]] for j, group in zip(term.columns, term.groups, strict=True))]
        assert_allclose(model.mass_[start : start + term.n_cells].sum(), len(Y))
        start += term.n_cells
    assert_allclose(model.decision_function(FRAME), total)
    assert len(model.errors_) == sum(column.n_codes for column in model.columns_)
    assert len(model.strengths_) == len(model.freedom_) == len(model.terms_)


@pytest.mark.filterwarnings("ignore:X has levels")
def test_an_unseen_level_has_the_value_of_other_and_a_gap_that_nobody_had_the_mean():
    model = clone(CURVES).fit(FRAME, Y)
    new = FRAME.iloc[:1].assign(colour="violet", noise=np.nan)
    known, unknown = model.contributions(FRAME.iloc[:1])[0], model.contributions(new)[0]
    values = model._values()[2]
    column = model.columns_[2]
    assert column.mass[-1] == 0
    assert unknown[2] == values[-1]
    assert values[:-1].min() < values[-1] < values[:-1].max()
    assert unknown[3] == 0
    assert_array_equal(unknown[:2], known[:2])


@every_rung
def test_swapped_labels_reverse_the_scores(model):
    found, swapped = (clone(model).fit(FRAME, y).decision_function(FRAME) for y in (Y, 1 - Y))
    assert_allclose(swapped, -found, atol=1e-6)


@every_rung
def test_weights_are_repetitions_of_rows(model):
    counts = np.random.default_rng(3).integers(0, 3, len(Y))
    weighted = clone(model).fit(FRAME, Y, counts)
    repeated = clone(model).fit(FRAME.loc[FRAME.index.repeat(counts)], np.repeat(Y, counts))
    assert_allclose(weighted.decision_function(FRAME), repeated.decision_function(FRAME), atol=1e-7)


@every_rung
def test_the_order_of_rows_does_not_matter(model):
    order = np.random.default_rng(0).permutation(len(Y))
    first, other = clone(model).fit(FRAME, Y), clone(model).fit(FRAME.iloc[order], Y[order])
    assert_allclose(other.coef_, first.coef_, atol=1e-7)


def test_rows_without_weight_may_have_values_that_no_other_row_has():
    weights = np.append(np.ones(len(Y)), np.zeros(5))
    more = pd.concat([FRAME, FRAME.iloc[:5].assign(noise=np.nan, colour="violet")], ignore_index=True)
    labels = np.append(Y, [0, 1, 0, 1, 0])
    parameters = {"pairs": [("noise", "colour")], "terms": "pairs", "cv": 3}
    found = TableClassifier(**parameters).fit(more, labels, weights)
    expected = TableClassifier(**parameters).fit(FRAME, Y, np.ones(len(Y)))
    assert_allclose(found.decision_function(FRAME), expected.decision_function(FRAME), atol=1e-8)
    assert found.cv_auc_ == expected.cv_auc_


@pytest.mark.parametrize("scale", [1e-6, 1e5])
def test_weights_that_count_no_rows_are_told(scale):
    with pytest.warns(UserWarning, match=r"^The mean of sample_weight is 1e[-+]0\d, and weights count as rep"):
        clone(CURVES).fit(FRAME, Y, np.full(len(Y), scale))


# Tables


def as_categories(frame):
    return frame.astype({"colour": "category"})


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas, as_categories])
def test_frames_of_all_libraries_give_the_same_model(make):
    expected = clone(PAIRS).fit(FRAME, Y)
    found = clone(PAIRS).fit(make(FRAME), Y)
    assert_array_equal(found.coef_, expected.coef_)
    assert_array_equal(found.predict(make(FRAME)), expected.predict(FRAME))
    assert_array_equal(expected.decision_function(FRAME[FRAME.columns[::-1]]), found.decision_function(FRAME))
    assert found.feature_names_in_.tolist() == list(FRAME.columns)


def test_arrays_of_numbers_and_of_cells_give_the_model_of_frames():
    numbers = FRAME[["curve", "zeros", "noise"]]
    expected = clone(CURVES).fit(numbers, Y)
    assert_array_equal(clone(CURVES).fit(numbers.to_numpy(), Y).coef_, expected.coef_)
    cells = clone(CURVES).fit(FRAME.to_numpy(object), Y)
    assert_array_equal(cells.coef_, clone(CURVES).fit(FRAME, Y).coef_)
    assert not hasattr(cells, "feature_names_in_")


def test_names_of_columns_say_how_they_are_read():
    frame = FRAME.assign(
        key=[f"k{k}" for k in range(len(Y))],
        age=np.arange(len(Y)) % 5,
        since=pd.date_range("2020-01-01", periods=len(Y)).strftime("%d/%m/%Y"),
        amount=["?" if k % 7 == 0 else f"1.{k:03}" for k in range(len(Y))],
    )
    model = TableClassifier(
        "pairs",
        cv=0,
        id=["key"],
        drop=["noise"],
        categorical=["age"],
        date=["since"],
        numeric=["amount"],
        na_values=["blue"],
        thousands=".",
        pairs=[("age", "since"), ("curve", "amount")],
        monotonic_cst={"zeros": 1},
    ).fit(frame, Y)
    kinds = {column.name: column.kind for column in model.reading_.columns}
    assert [kinds[name] for name in ("key", "noise", "age", "since")] == ["identifier", "left out", "category", "date"]
    names = model.reading_.part_names
    assert [tuple(names[j] for j in term.columns) for term in model.terms_ if len(term.columns) == 2] == [
        ("curve", "amount"),
        ("age", "since (days before 2021-02-03)"),
    ]
    assert "blue" not in model.reading_.parts[names.index("colour")].levels
    amounts = model.columns_[names.index("amount")]
    assert (amounts.low[0], amounts.missing) == (1001, True)
    used = frame.drop(columns=["key", "noise"])
    assert_array_equal(model.decision_function(used), model.decision_function(frame))


def test_cells_that_a_column_cannot_have_are_refused():
    frame = FRAME.assign(rate=[f"{k % 90}.5%" for k in range(len(Y))])
    model = clone(CURVES).fit(frame, Y)
    with pytest.raises(ValueError, match=r"^X, row 1, column 'rate': found '0.345' where a number with % is exp"):
        model.predict(frame.iloc[:2].assign(rate=["34.5%", "0.345"]))
    with pytest.raises(ValueError, match=r"^X has 2 features, but TableClassifier is expecting 3 features as input"):
        clone(CURVES).fit(X[:, [0, 1, 3]], Y).predict(np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"^X has no column 'noise', which the model needs; its columns are "):
        model.predict(frame.drop(columns="noise"))
    with pytest.warns(UserWarning, match=r"^X has values further outside of the range .*: 'noise' \(1 cell\)\.$"):
        model.predict(frame.iloc[:2].assign(noise=[0.0, 1e3]))


# No silent loss


@pytest.mark.parametrize("terms", ["lines", "curves", pytest.param("auto", marks=pytest.mark.slow)])
def test_many_levels_stay_beside_many_columns_of_noise(terms):
    frame, y = levels_of(3000, 30, n_noise=200)
    new, truth = levels_of(10_000, 30, seed=1, n_noise=200)
    cv = 3 if terms == "auto" else 0
    model = TableClassifier(terms, cv=cv, pairs=0).fit(frame, y)
    alone = TableClassifier("lines", cv=0).fit(frame[["level"]], y)
    assert model.columns_[-1].n_values == 30
    assert model.score(new, truth) > alone.score(new[["level"]], truth) - 0.01 > 0.67


def test_levels_of_three_rows_rank_as_well_as_by_target_encoding():
    shape = {"spread": 2.0, "per_level": 3, "n_noise": 1, "slope": 1.0}
    (frame, y), (new, truth) = (levels_of(0, 10_000, seed=seed, **shape) for seed in (0, 1))
    encoder = make_column_transformer((TargetEncoder(), ["level"]), remainder="passthrough")
    theirs = make_pipeline(encoder, LogisticRegression()).fit(frame, y).decision_function(new)
    model = TableClassifier("lines", categorical=["level"]).fit(frame, y)
    assert model.columns_[1].n_values == 10_000
    assert model.score(new, truth) > roc_auc(truth, theirs) + 0.005
    assert abs(model.cv_auc_ - model.score(new, truth)) < 0.03


def test_few_bins_delete_no_level():
    months = np.array(list("abcdefghijkl"))
    rng, sizes = np.random.default_rng(0), [2, 90, 4, 60, 300, 80, 200, 100, 4, 5, 50, 5]
    month, x = rng.permutation(np.repeat(np.arange(12), sizes)), rng.random(900)
    y = rng.random(900) < np.where(np.isin(month, [0, 2, 8, 9, 11]), 0.6, 0.1)
    model = TableClassifier("curves", cv=0, max_bins=6).fit(pd.DataFrame({"month": months[month], "x": x}), y)
    column = model.columns_[0]
    assert model.reading_.parts[0].levels == sorted(months)
    assert_array_equal(column.mass[:-1], [np.sum(months[month] == name) for name in sorted(months)])
    assert model.columns_[1].n_values <= 7


WARNINGS = {
    "^X has columns that are constant: 'other'.$": np.ones(len(Y)),
    "^X has columns of whole numbers that are all different, like identifiers: 'other'.$": np.arange(len(Y)),
    "^X has columns whose own AUC is above 0.99, as if they knew the label: 'other'.$": -3.0 * Y,
    "^X has columns whose own AUC is above 0.99, as if .*: 'other'.$": np.where(Y, "good", "bad"),
    "^X has columns whose own AUC .* knew the label: 'other'.$": np.where(Y, (-1.0) ** np.arange(len(Y)), 0.0),
}


@pytest.mark.parametrize("message", WARNINGS)
def test_columns_that_ruin_models_are_told(message):
    with pytest.warns(UserWarning, match=message) as caught:
        TableClassifier("curves", cv=0).fit(FRAME.assign(other=WARNINGS[message]), Y)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "other",
    [np.arange(400) + 0.5, np.arange(400) * 2.0**60, [f"k{k % 190}" for k in range(400)], np.arange(400) % 399],
    ids=["fractions", "large numbers", "levels of two rows", "one is there twice"],
)
def test_ordinary_columns_are_not_told(other):
    TableClassifier("curves", cv=0).fit(FRAME.assign(other=other), Y)


# Parameters


def test_cut_points_outside_of_the_column_warn():
    with pytest.warns(UserWarning, match=r"^cuts of 'curve' leave all rows in one bin: \[500.0, 600.0\].$"):
        TableClassifier("curves", cv=0, cuts={"curve": [500, 600]}).fit(FRAME, Y)


def test_columns_may_be_listed_in_any_sequence():
    plain = TableClassifier("pairs", pairs=[("curve", "zeros")], drop=["noise"], cv=0).fit(FRAME, Y)
    for drop in (FRAME.columns[FRAME.columns == "noise"], np.array(["noise"]), ("noise",)):
        other = TableClassifier("pairs", pairs=(["curve", "zeros"],), drop=drop, cv=0).fit(FRAME, Y)
        np.testing.assert_array_equal(other.coef_, plain.coef_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"monotonic_cst": [1, 0]}, "^monotonic_cst has 2 entries, but X has 4 columns: one for each.$"),
        ({"monotonic_cst": [1, 0, 0, 2]}, "^monotonic_cst holds 2: shapes are 1 to rise, -1 to fall and 0 for any.$"),
        ({"monotonic_cst": {"size": 1}}, "^monotonic_cst= names the column 'size', which the table does not have.$"),
        ({"monotonic_cst": {"colour": 1}}, "^monotonic_cst= has a shape for 'colour', a category, and only"),
        ({"monotonic_cst": [0, 0, -1, 0]}, "^monotonic_cst= has a shape for 'colour', a category, and only"),
        ({"monotonic_cst": {"noise": 1}, "drop": ["noise"]}, "^monotonic_cst= names the column 'noise', which is "),
        ({"monotonic_cst": {"noise": "up"}}, "^monotonic_cst holds 'up': shapes are 1 to rise, -1 to fall and 0 for a"),
        ({"pairs": [("noise", "noise")]}, r"^pairs holds \('noise', 'noise'\): a pair is two different columns.$"),
        ({"pairs": [("noise",)]}, r"^pairs holds \('noise',\): a pair is two different columns.$"),
        ({"pairs": ["noise"]}, "^pairs holds 'noise': a pair is two different columns.$"),
        ({"pairs": [0, 1]}, "^pairs holds 0: a pair is two different columns.$"),
        ({"pairs": [("noise", "size")]}, "^pairs= names the column 'size', which the table does not have.$"),
        ({"pairs": [(1, 9)]}, "^pairs holds 9: columns are given by name or by a position from 0 to 3.$"),
        ({"pairs": [(0, 1)], "monotonic_cst": {"curve": 1}}, r"^pairs holds \(0, 1\), and monotonic_cst a shape "),
        ({"drop": ["size"]}, r"^X has no column 'size' for drop=; its columns are curve, zeros"),
        ({"thousands": "ab"}, "^'ab' cannot separate thousands: give one character"),
        ({"terms": "trees"}, "^The 'terms' parameter of TableClassifier must be a str among "),
        ({"max_bins": 1}, "^The 'max_bins' parameter of TableClassifier must be an int in the range"),
    ],
)
def test_parameters_are_refused_in_a_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        TableClassifier(**parameters).fit(FRAME, Y)


def test_shapes_by_list_are_shapes_by_name():
    by_name, by_list = (
        TableClassifier("curves", cv=0, monotonic_cst=cst).fit(FRAME, Y) for cst in ({"noise": 1, 0: -1}, [-1, 0, 0, 1])
    )
    assert_array_equal(by_name.coef_, by_list.coef_)


def test_a_number_that_is_a_name_and_another_position_is_refused():
    numbers = FRAME[["curve", "noise"]].set_axis([1, 0], axis=1)
    with pytest.raises(ValueError, match=r"^monotonic_cst holds 1, the name of one column and the position of another"):
        TableClassifier("curves", cv=0, monotonic_cst={1: 1}).fit(numbers, Y)
    by_name, by_text = (
        TableClassifier("curves", cv=0, monotonic_cst=cst).fit(numbers.set_axis([10, 20], axis=1), Y)
        for cst in ({10: 1}, {"10": 1})
    )
    assert_array_equal(by_name.coef_, by_text.coef_)


def test_a_column_is_found_by_its_own_name_first():
    frame = FRAME[["noise"]].assign(day=pd.date_range("2020", periods=len(Y)))
    frame = frame.rename(columns={"noise": "day (age in days)"})[["day", "day (age in days)"]]
    model = TableClassifier("curves", cv=0).fit(frame, Y)
    assert model._place("day", "pairs") == 0
    assert model._place("day (age in days)", "pairs") == len(model.reading_.parts) - 1


def test_rows_are_refused():
    with pytest.raises(NotFittedError):
        TableClassifier().predict(FRAME)
    with pytest.raises(ValueError, match=r"^X has no column to learn from: all are left out, such as 'curve' "):
        TableClassifier(drop=["curve"]).fit(FRAME[["curve"]], Y)
    with pytest.raises(ValueError, match=r"^AUC needs two classes, but y holds only one class: 1"):
        TableClassifier().fit(FRAME, np.ones(len(Y)))
    with pytest.raises(ValueError, match=r"^The classes of y cannot be sorted: 1 and 'no' are of two kinds\.$"):
        TableClassifier().fit(FRAME, np.array([1, "no"] * (len(Y) // 2), dtype=object))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        TableClassifier().fit(FRAME, Y[:-1])


# scikit-learn


def test_a_model_is_saved_loaded_and_cloned(tmp_path):
    model = TableClassifier(pairs=[("curve", "colour")], monotonic_cst={"noise": 1}).fit(FRAME, Y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(FRAME), model.predict_proba(FRAME))
    assert loaded.get_params() == model.get_params() == clone(model).get_params()
    for name in ("terms", "auc", "chosen"):
        assert_array_equal(loaded.ladder_[name], model.ladder_[name])
    assert (loaded.cv_auc_, loaded.cv_auc_ci_.tolist()) == (model.cv_auc_, model.cv_auc_ci_.tolist())


def test_weights_and_groups_are_routed():
    groups, weights = np.arange(len(Y)) % 40, np.random.default_rng(0).uniform(0.5, 2, len(Y))
    with config_context(enable_metadata_routing=True):
        model = TableClassifier("lines", cv=2).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        found = cross_validate(
            model,
            FRAME,
            Y,
            cv=GroupKFold(3),
            params={"groups": groups, "sample_weight": weights},
            return_estimator=True,
        )
    train = next(GroupKFold(3).split(FRAME, Y, groups))[0]
    expected = TableClassifier("lines", cv=2).fit(FRAME.iloc[train], Y[train], weights[train], groups[train])
    first = found["estimator"][0]
    assert_array_equal(first.coef_, expected.coef_)
    assert first.cv_auc_ == expected.cv_auc_
    ungrouped = TableClassifier("lines", cv=2).fit(FRAME.iloc[train], Y[train], weights[train])
    assert first.cv_auc_ != ungrouped.cv_auc_


def test_a_failed_fit_leaves_the_model_unchanged():
    model = clone(CURVES).fit(FRAME, Y)
    before = model.decision_function(FRAME)
    with pytest.raises(ValueError, match=r"^monotonic_cst= names the column"):
        model.set_params(monotonic_cst={"size": 1}).fit(FRAME.drop(columns="noise"), Y)
    assert_array_equal(model.decision_function(FRAME), before)


def test_parameters_are_searched():
    search = GridSearchCV(TableClassifier(cv=0), {"terms": ["lines", "curves"]}, cv=3).fit(FRAME, Y)
    assert search.best_params_ == {"terms": "curves"}


class Recorder:
    """A callback that writes down the tasks it sees."""

    def __init__(self):
        self.seen = []

    def setup(self, estimator, context):
        self.seen.append(context.max_subtasks)

    def teardown(self, estimator, context):
        self.seen.append("end")

    def on_fit_task_begin(self, estimator, context):
        self.seen.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        pass


@pytest.mark.parametrize(
    ("parameters", "tasks"),
    [({"pairs": 1, "cv": 2}, ["lines", "curves", "pairs", "solve"]), ({"terms": "lines", "cv": 0}, ["solve"])],
)
def test_callbacks_see_every_rung(parameters, tasks):
    recorder = Recorder()
    TableClassifier(**parameters).set_callbacks(recorder).fit(FRAME, Y)
    assert recorder.seen == [len(tasks), "fit", *tasks, "end"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_are_refused(missing):
    labels = np.array([missing, *["yes", "no"] * (len(FRAME) // 2)], dtype=object)[: len(FRAME)]
    with pytest.raises(ValueError, match=r"^y has missing labels: leave these rows out.$"):
        TableClassifier().fit(FRAME, labels)
