"""Encoders and models of tables made by hand: what their columns and terms say must belong together."""

import copy

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, TableClassifier, TableEncoder, load_model, save_model
from aucmax.papers.engine.sample import Scaling

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:X has columns that are left out")
RNG = np.random.default_rng(0)
N = 400
Y = RNG.integers(0, 2, N)
FRAME = pandas.DataFrame(
    {
        "amount": np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N) + Y),
        "price": [f"${1000 * x:,.2f}" for x in RNG.random(N) * 9],
        "paid": RNG.choice(["yes", "no"], N),
        "colour": RNG.choice(["red", "blue", "green"], N),
        "firm": [f"firm {k}" for k in RNG.integers(0, 45, N)],
        "since": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "empty": [None] * N,
    }
)


@pytest.fixture(scope="module")
def fitted():
    return TableEncoder().fit(FRAME, Y)


@pytest.fixture
def encoder(fitted):
    return copy.deepcopy(fitted)


def test_a_pipeline_of_a_table_comes_back(tmp_path):
    model = make_pipeline(TableEncoder(drop=["paid"]), AUCClassifier(alpha=1)).fit(FRAME, Y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(FRAME), model.decision_function(FRAME))
    assert [c.kind for c in loaded[0].reading_.columns] == [
        "number",
        "number",
        "left out",
        "category",
        "category",
        "date",
        "left out",
    ]


def replace_column(encoder, name, /, **changes):
    columns = encoder.reading_.columns
    j = [column.name for column in columns].index(name)
    columns[j] = columns[j]._replace(**changes)


def replace_part(encoder, name, **changes):
    (part,) = next(column.parts for column in encoder.reading_.columns if column.name == name)
    replace_column(encoder, name, parts=[part._replace(**changes)])


def replace_reading(encoder, **changes):
    encoder.reading_ = encoder.reading_._replace(**changes)


TABLES = {
    "a kind that is none": (lambda e: replace_column(e, "amount", kind="other"), "kind of .* is 'other'"),
    "a form of no number": (lambda e: replace_column(e, "price", form="$"), "which no numbers have"),
    "a form of no date": (lambda e: replace_column(e, "since", form="%H"), "which no dates have"),
    "a number of dates": (lambda e: replace_column(e, "since", kind="number", form="1234.5"), "parts of .*'number'"),
    "levels of a number": (lambda e: replace_part(e, "amount", levels=["a"]), "parts of .*'number'"),
    "a category of numbers": (lambda e: replace_part(e, "colour", levels=None), "parts of .*'category'"),
    "a level without a share": (lambda e: replace_part(e, "colour", levels=["red"]), "parts of .*'category'"),
    "a level twice": (lambda e: replace_part(e, "colour", levels=["red"] * 3), "parts of .*'category'"),
    "counts of a number": (lambda e: replace_part(e, "amount", counts=np.ones(1)), "parts of .*'number'"),
    "parts of a column left out": (
        lambda e: replace_column(e, "empty", parts=e.reading_.columns[0].parts),
        "parts of .*'left out'",
    ),
    "part of no day": (
        lambda e: replace_column(e, "since", parts=[p._replace(of_date="x") for p in e.reading_.columns[5].parts]),
        "parts of .*'date'",
    ),
    "a column twice": (lambda e: replace_column(e, "amount", name="colour"), "have the same name twice"),
    "other names": (lambda e: replace_column(e, "amount", name="x"), "^feature_names_in_ of TableEncoder are not"),
    "a number of rows below 0": (lambda e: replace_reading(e, n_rows=-1), "n_rows of .* is -1"),
    "a share that is text": (lambda e: replace_reading(e, min_frequency="all"), "min_frequency of .* is 'all'"),
    "a level of no row": (
        lambda e: replace_part(e, "colour", counts=np.array([1.0, 0.0, 3.0])),
        "parts of .*'category'",
    ),
    "spellings that are no text": (lambda e: replace_reading(e, na_values=[1]), "na_values of .* is 1"),
    "a column too few": (lambda e: e.reading_.columns.pop(), "a list of 7 items is expected"),
    "something else": (lambda e: setattr(e, "reading_", Scaling(1, 2)), "where Reading is expected"),
    "a dict": (lambda e: setattr(e, "reading_", e.reading_._asdict()), "where Reading is expected"),
    "nothing": (lambda e: delattr(e, "reading_"), "^TableEncoder lacks reading_"),
    "codes of other parts": (
        lambda e: setattr(e, "categorical_features_", np.zeros(2, bool)),
        "^categorical_features_ of TableEncoder is",
    ),
}


@pytest.mark.parametrize("what", TABLES)
def test_no_encoder_reads_a_table_in_a_way_that_no_fit_finds(what, encoder, tmp_path):
    change, told = TABLES[what]
    change(encoder)
    with pytest.raises(ValueError, match=told):
        save_model(encoder, tmp_path / "model")


@pytest.fixture(scope="module")
def of_table():
    frame = FRAME[["amount", "colour", "empty"]].assign(year=RNG.integers(0, 20, N))
    pairs = [["amount", "year"], ["year", "colour"]]
    return TableClassifier("pairs", pairs=pairs, cv=2, monotonic_cst={}).fit(frame, Y), frame


def test_a_table_model_comes_back_with_its_ladder(of_table, tmp_path):
    model, frame = of_table
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    assert loaded.ladder_.keys() == model.ladder_.keys()
    assert np.isnan(loaded.ladder_.pop("seconds")).all()  # equal fits have equal files
    for name, column in loaded.ladder_.items():
        np.testing.assert_array_equal(column, model.ladder_[name])
    assert (loaded.cv_auc_, loaded.cv_auc_ci_.tolist()) == (model.cv_auc_, model.cv_auc_ci_.tolist())
    assert repr(loaded.reading_) == repr(model.reading_)


def test_shapes_by_name_come_back(of_table, tmp_path):
    _, frame = of_table
    model = TableClassifier("lines", cv=0, monotonic_cst={"amount": 1}).fit(frame, Y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.monotonic_cst == {"amount": 1}
    assert not hasattr(loaded, "ladder_")
    model.monotonic_cst = {"amount": "up"}
    with pytest.raises(ValueError, match=r"^amount of monotonic_cst of TableClassifier is 'up'"):
        save_model(model, tmp_path / "model")


def replace_bins(model, j, **changes):
    model.columns_[j] = model.columns_[j]._replace(**changes)


def replace_term(model, t, **changes):
    model.terms_[t] = model.terms_[t]._replace(**changes)


def out_of_range(model, t, value):
    model.terms_[t].groups[0][0] = value


def replace_rung(model, **changes):
    model.ladder_ |= changes


def replace_steps(model, **changes):
    model.steps_ = model.steps_._replace(**changes)


OTHER_TABLE, OTHER_COLUMNS = "columns_ of .* do not belong to the table", "terms_ of .* do not belong to its columns"
MODELS = {
    "a group above": (lambda m: out_of_range(m, 0, 10**6), "groups of .* are out of range"),
    "a group below": (lambda m: out_of_range(m, 3, -2), "groups of .* are out of range"),
    "a bin without a group": (lambda m: out_of_range(m, 3, -1), OTHER_COLUMNS),
    "more groups than cells": (lambda m: replace_term(m, 3, shape=(2**32, 2**32)), OTHER_COLUMNS),
    "a column that is not there": (lambda m: replace_term(m, 3, columns=(0, 3)), OTHER_COLUMNS),
    "codes of another column": (lambda m: replace_term(m, 3, columns=(2, 0)), OTHER_COLUMNS),
    "a term of another column": (lambda m: replace_term(m, 0, columns=(1,)), "do not begin with one for each column"),
    "a surface too early": (lambda m: m.terms_.reverse(), "do not begin with one for each column"),
    "three columns": (lambda m: replace_term(m, 0, columns=(0, 1, 2)), "numbers of columns, of groups"),
    "no bins for a value": (lambda m: replace_bins(m, 0, mass=np.ones(2)), "numbers of cuts, of bins"),
    "cuts that fall": (lambda m: replace_bins(m, 0, cuts=m.columns_[0].cuts[::-1]), "cuts of .* do not increase"),
    "a cut that is NaN": (lambda m: replace_bins(m, 0, cuts=m.columns_[0].cuts * np.nan), "holds NaN"),
    "a level that no row has": (lambda m: replace_bins(m, 1, cuts=m.columns_[1].cuts + 1), OTHER_TABLE),
    "half a level": (lambda m: replace_bins(m, 1, cuts=m.columns_[1].cuts / 2), OTHER_TABLE),
    "numbers that are levels": (lambda m: m.columns_.__setitem__(0, m.columns_[1]), OTHER_TABLE),
    "a value too many": (lambda m: setattr(m, "mass_", np.append(m.mass_, 0.0)), r"of shape \(K\) with"),
    "an error too few": (lambda m: setattr(m, "errors_", m.errors_[1:]), "^errors_ of TableClassifier do not belong"),
    "other names": (
        lambda m: setattr(m, "feature_names_in_", m.feature_names_in_[::-1]),
        "^feature_names_in_ of TableClassifier are not",
    ),
    "a rung too many": (lambda m: replace_rung(m, terms=np.array(["lines"] * 2)), r"of shape \(r\) with"),
    "a rung without an AUC": (lambda m: m.ladder_.pop("auc"), "^ladder_ of TableClassifier lacks auc"),
    "a rung of something else": (lambda m: replace_rung(m, seeds=np.ones(1)), "ladder_ of .* has 'seeds'"),
    "no interval": (lambda m: delattr(m, "cv_auc_ci_"), "^TableClassifier lacks cv_auc_ci_"),
    "no reading": (lambda m: delattr(m, "reading_"), "^TableClassifier lacks reading_"),
    "a line without cells": (lambda m: replace_steps(m, values=np.append(m.steps_.values, 0.0)), "^lines of steps_ of"),
    "a cell without its line": (lambda m: replace_steps(m, line=m.steps_.line - 2), "^lines of steps_ of"),
    "lines of other cells": (lambda m: replace_steps(m, line=m.steps_.line[1:]), "^steps_ of TableClassifier do not"),
    "lines of two columns": (lambda m: m.steps_.line.__setitem__(0, m.steps_.line.max()), "^steps_ of .* do not"),
    "another covariance": (
        lambda m: replace_steps(m, covariance=m.steps_.covariance[1:, 1:].copy()),
        "^steps_ of .* do",
    ),
    "a negative variance": (lambda m: replace_steps(m, covariance=-m.steps_.covariance), "^covariance of steps_"),
    "cards of other sizes": (lambda m: m.cards_.update(auc=m.cards_["auc"][1:]), r"of shape \(s\) with"),
    "two cards chosen": (lambda m: m.cards_.update(chosen=~m.cards_["chosen"]), "^cards_ of TableClassifier"),
    "more positives than rows": (lambda m: m.positive_mass_.__imul__(1e6), "^positive_mass_ of TableClassifier"),
    "no terms": (lambda m: delattr(m, "terms_"), "^TableClassifier lacks terms_"),
}


@pytest.mark.parametrize("what", MODELS)
def test_no_table_model_has_parts_that_do_not_belong_together(what, of_table, tmp_path):
    model, (change, told) = copy.deepcopy(of_table[0]), MODELS[what]
    change(model)
    with pytest.raises(ValueError, match=told):
        save_model(model, tmp_path / "model")
