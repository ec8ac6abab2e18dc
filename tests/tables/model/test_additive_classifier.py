"""AdditiveAUCClassifier: what goes in, what comes out."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from additive_data import CATEGORICAL, design_of, mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from aucmax import AdditiveAUCClassifier, AUCClassifier, load_model

X, Y = mixed_rows()
WORDS = np.array(["red", "green", "blue"], dtype=object)[X[:, 2].astype(int)]
QUICK = {"loss": "squared", "alpha": 0.01, "max_bins": 16}


def as_pandas(category=True):
    frame = pd.DataFrame({"curve": X[:, 0], "zeros": X[:, 1], "colour": WORDS, "noise": X[:, 3]})
    return frame.astype({"colour": "category"}) if category else frame


def as_polars(category=True):
    frame = pl.from_pandas(as_pandas(False))
    return frame.with_columns(pl.col("colour").cast(pl.Categorical)) if category else frame


def test_the_blend_finds_curves_that_a_linear_model_cannot():
    X_test, y_test = mixed_rows(2000, seed=1)
    model = AdditiveAUCClassifier(categorical_features=CATEGORICAL).fit(X, Y)
    linear = AUCClassifier().fit(np.nan_to_num(X), Y)
    assert model.loss_ == "blend" or model.loss_ in model.blend_["loss"]
    assert model.score(X_test, y_test) > linear.score(np.nan_to_num(X_test), y_test) + 0.1


def test_additive_classifier_learns_nothing_from_shuffled_labels():
    rng = np.random.default_rng(0)
    X_test, _ = mixed_rows(4000, seed=2)
    aucs = []
    for _ in range(5):
        model = AdditiveAUCClassifier(categorical_features=CATEGORICAL, pairs="auto", max_bins=32)
        aucs.append(model.fit(X, rng.permutation(Y)).score(X_test, rng.integers(0, 2, 4000)))
    assert abs(np.mean(aucs) - 0.5) < 3 * 0.5 / np.sqrt(3 * 4000 / 4 * 5)


def test_decision_function_is_the_sum_of_the_curves():
    model = AdditiveAUCClassifier(**QUICK, categorical_features=CATEGORICAL, pairs=[(0, 3)]).fit(X, Y)
    total, start = np.full(len(X), model.intercept_[0]), 0
    for term in model.terms_:
        codes = [model.columns_[j].encode(X[:, j]) for j in term.columns]
        values = model.coef_[0, start : start + term.n_cells].reshape(term.shape)
        total += values[tuple(group[code] for group, code in zip(term.groups, codes, strict=True))]
        mass = model.mass_[start : start + term.n_cells]
        assert_allclose(mass @ values.ravel(), 0, atol=1e-9)
        assert_allclose(mass.sum(), len(X))
        start += term.n_cells
    assert_allclose(model.decision_function(X), total)


def test_decision_function_is_the_linear_model_of_codes():
    model = AdditiveAUCClassifier(**QUICK, categorical_features=CATEGORICAL).fit(X, Y)
    _, rows = design_of(X, Y, 16)
    linear = AUCClassifier("squared", alpha=0.01, standardize=False)
    linear._fit_rows(rows)
    assert_allclose(model.decision_function(X), rows.scores(linear.coef_[0]) + linear.intercept_[0], atol=1e-10)


def test_new_category_or_gap_has_the_mean_of_the_curve():
    model = AdditiveAUCClassifier(**QUICK, categorical_features=CATEGORICAL).fit(X, Y)
    known, unknown = np.array([[0.0, 0.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 77.0, np.nan]])
    start = sum(column.n_codes for column in model.columns_[:2])
    noise = start + model.columns_[2].n_codes + model.columns_[3].encode(np.zeros(1))[0]
    difference = model.decision_function(known) - model.decision_function(unknown)
    assert_allclose(difference, model.coef_[0, start + 1] + model.coef_[0, noise])


@pytest.mark.parametrize("make", [as_pandas, as_polars])
@pytest.mark.parametrize("categorical", ["from_dtype", ["colour"], [2], [False, False, True, False]], ids=str)
def test_frames_have_the_model_of_their_codes(make, categorical):
    frame = make(category=categorical == "from_dtype")
    codes = np.column_stack([X[:, :2], np.searchsorted(["blue", "green", "red"], WORDS.astype(str)), X[:, 3]])
    ours = AdditiveAUCClassifier(**QUICK, categorical_features=categorical).fit(frame, Y)
    theirs = AdditiveAUCClassifier(**QUICK, categorical_features=[2]).fit(codes, Y)
    assert_array_equal(ours.coef_, theirs.coef_)
    assert_array_equal(ours.predict(frame), theirs.predict(codes))
    assert ours.categories_[2].tolist() == ["blue", "green", "red"]
    assert ours.is_categorical_.tolist() == [False, False, True, False]


def test_categorical_features_may_be_missing_and_have_new_levels():
    frame = as_pandas(False)
    frame.loc[:20, "colour"] = None
    frame["zeros"] = frame["zeros"].astype("Int64")
    frame.loc[5, "zeros"] = pd.NA
    model = AdditiveAUCClassifier(**QUICK, categorical_features=["colour"]).fit(frame, Y)
    assert [column.missing for column in model.columns_] == [True, True, True, False]
    other = frame.assign(colour="violet")
    assert_allclose(model.decision_function(other), model.decision_function(frame.assign(colour=None)))


def test_a_model_file_holds_columns_levels_and_curves(tmp_path):
    frame = as_pandas()
    model = AdditiveAUCClassifier(**QUICK, pairs=[("curve", "colour")], monotonic_cst={"noise": 1}).fit(frame, Y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.categories_[2].tolist() == model.categories_[2].tolist()
    assert type(loaded.terms_[4]).__name__ == "Term"


def test_sample_weight_repeats_rows_of_additive_classifier():
    counts = np.random.default_rng(3).integers(0, 3, len(Y))
    weighted = AdditiveAUCClassifier(**QUICK).fit(X, Y, counts)
    repeated = AdditiveAUCClassifier(**QUICK).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-8)


def test_swapped_labels_reverse_the_scores():
    model, swapped = (AdditiveAUCClassifier(**QUICK).fit(X, y) for y in (Y, 1 - Y))
    assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-6)


@pytest.mark.dask
def test_predict_proba_of_dask_rows_is_lazy():
    model = AdditiveAUCClassifier(**QUICK).fit(X, Y)
    assert_allclose(model.predict_proba(da.from_array(X, (100, 4))).compute(), model.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"categorical_features": [True]}, r"^categorical_features is a mask of shape \(1,\), but X has 4 columns: "),
        ({"categorical_features": ["colour"]}, "^categorical_features names the column 'colour', but X has no column "),
        ({"categorical_features": [4]}, "^categorical_features holds 4: .* by name or by a position from 0 to 3.$"),
        ({"monotonic_cst": [1, 0]}, "^monotonic_cst has 2 entries, but X has 4 columns: one for each.$"),
        ({"monotonic_cst": [1, 0, 0, 2]}, "^monotonic_cst holds 2: shapes are 1 to rise, -1 to fall and 0 for any.$"),
        ({"monotonic_cst": [0, 0, 1, 0], "categorical_features": [2]}, "^monotonic_cst has a shape for a category, "),
        ({"monotonic_cst": [1, 0, 0, 0], "loss": "hinge"}, "^loss='hinge' cannot be fitted with monotonic_cst: use "),
        ({"pairs": [(1, 1)]}, r"^pairs holds \(1, 1\): a pair is two different columns.$"),
        (
            {"pairs": [(0, 1)], "monotonic_cst": [1, 0, 0, 0]},
            "^pairs holds a column that monotonic_cst has a shape for",
        ),
        ({"pairs": [(1, 9)]}, "^pairs holds 9: columns are given by name or by a position from 0 to 3.$"),
    ],
)
def test_additive_classifier_refuses_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AdditiveAUCClassifier(**parameters).fit(X, Y)


def test_additive_classifier_refuses_rows():
    with pytest.raises(ValueError, match=r"^X has 2000 columns, and an additive model has at most 1024: use AUCClass"):
        AdditiveAUCClassifier().fit(np.zeros((4, 2000)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"^categorical_features names the column 'size', which X does not have.$"):
        AdditiveAUCClassifier(categorical_features=["size"]).fit(as_pandas(), Y)
    with pytest.raises(NotFittedError):
        AdditiveAUCClassifier().predict(X)
