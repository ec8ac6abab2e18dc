"""TableEncoder in pipelines, with frames of every kind."""

import numpy as np
import pyarrow as pa
import pytest
from credit import HEADER, draw_credits
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, TableClassifier, TableEncoder, load_model, roc_auc, save_model

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytestmark = pytest.mark.filterwarnings("ignore:X has columns that are left out")


def credit_frame(n_rows=2000, seed=0):
    frame = pd.DataFrame(draw_credits(n_rows, seed), columns=HEADER)
    return frame.drop(columns="bad"), (frame["bad"] == "yes").to_numpy()


@pytest.mark.filterwarnings("ignore:X has levels")
def test_encoder_pipeline_is_fitted_saved_loaded_and_scored(tmp_path):
    (X, y), (new, truth) = credit_frame(), credit_frame(1000, 1)
    model = make_pipeline(TableEncoder(), AUCClassifier("squared")).fit(X, y)
    scores = model.decision_function(new)
    assert roc_auc(truth, scores) > 0.67
    save_model(model, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").decision_function(new), scores)
    gaps = new.copy()
    gaps.loc[:, gaps.columns != "age"] = None
    gaps["employer"] = "a firm that nobody knows"
    assert np.isfinite(model.decision_function(gaps)).all()
    few = new[["employer", *(name for name in new.columns[::-1] if name not in ("employer", "loan_id"))]]
    np.testing.assert_array_equal(model.decision_function(few), scores)


def test_encoder_of_pandas_polars_and_arrow_frames_is_the_same():
    X, y = credit_frame(300)
    expected = TableEncoder().fit(X, y)
    for frame in (
        pl.DataFrame(X.to_dict("list")),
        pa.Table.from_pandas(X),
        X.astype("string[pyarrow]"),
        X.to_numpy(object),
    ):
        encoder = TableEncoder().fit(frame, y)
        assert [column.kind for column in encoder.reading_.columns] == [c.kind for c in expected.reading_.columns]
        np.testing.assert_array_equal(encoder.transform(frame), expected.transform(X))


def test_encoder_of_typed_columns_of_pandas():
    X = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3] * 10, dtype="Int64"),
            "flag": pd.array([True, None, False] * 10, dtype="boolean"),
            "level": pd.Categorical(["1", "2", None] * 10),
            "arrow": pd.array([1.5, None, 2.5] * 10, dtype="float64[pyarrow]"),
            "when": pd.to_datetime(["2024-01-01", None, "2024-01-02"] * 10),
            "mixed": [1, "one", None] * 10,
        }
    )
    encoder = TableEncoder("codes").fit(X)
    kinds = {column.name: column.kind for column in encoder.reading_.columns}
    assert kinds == {
        "whole": "number",
        "flag": "boolean",
        "level": "category",
        "arrow": "number",
        "when": "date",
        "mixed": "category",
    }
    nan = np.nan
    expected = [[1, 1, 0, 1.5, 1, 0, 0], [nan, nan, 1, nan, nan, nan, 1], [3, 0, nan, 2.5, 0, 1, nan]]
    np.testing.assert_array_equal(encoder.transform(X)[:3], expected)
    names = ["whole", "flag", "level", "arrow", "when (days before 2024-01-02)", "when (weekday)", "mixed"]
    assert encoder.get_feature_names_out().tolist() == names
    assert encoder.categorical_features_.tolist() == [False, False, True, False, False, True, True]
    assert encoder.levels_[1:3] == [None, ["1", "2", "(rare)"]]


@pytest.mark.slow
def test_encoder_codes_are_taken_by_gradient_boosting():
    (X, y), (new, truth) = credit_frame(), credit_frame(1000, 1)
    encoder = TableEncoder("codes", max_categories=255)
    codes = encoder.fit_transform(X, y)
    levels = codes[:, encoder.categorical_features_]
    assert np.nanmin(levels) == 0
    trees = HistGradientBoostingClassifier(
        categorical_features=encoder.categorical_features_, max_iter=30, random_state=0
    ).fit(codes, y)
    assert roc_auc(truth, trees.predict_proba(encoder.transform(new))[:, 1]) > 0.65


def test_labels_play_no_part():
    X, y = credit_frame()
    encoder = TableEncoder()
    found = encoder.fit_transform(X, y)
    np.testing.assert_array_equal(found, encoder.fit(X, ~y).transform(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_output_in_frames(library):
    X, _ = credit_frame(300)
    X.index = X.index[::-1]
    encoder = TableEncoder("codes").set_output(transform=library)
    found, expected = encoder.fit_transform(X), TableEncoder("codes").fit_transform(X)
    assert list(found.columns) == encoder.get_feature_names_out().tolist()
    home = found["home"]
    if library == "pandas":
        assert found.index.equals(X.index)
        assert home.cat.categories.tolist() == ["mortgage", "own", "rent", "(rare)"]
    else:
        assert str(home.dtype).startswith(("Categorical", "Enum"))
    j = list(found.columns).index("home")
    found_codes = [encoder.levels_[j].index(level) if isinstance(level, str) else np.nan for level in home]
    np.testing.assert_array_equal(found_codes, expected[:, j])
    np.testing.assert_array_equal(found["rate"].to_numpy(), expected[:, list(found.columns).index("rate")])
    model = TableClassifier("lines", cv=0, drop=["own car"]).fit(found, X["own car"] == "yes")
    kinds = {column.name: column.kind for column in model.reading_.columns}
    assert [kinds[name] == "category" for name in found.columns] == encoder.categorical_features_.tolist()
    wide = TableEncoder().set_output(transform=library).fit_transform(X)
    assert list(wide.columns) == TableEncoder().fit(X).get_feature_names_out().tolist()


def test_parameters_say_how_columns_are_read():
    X, y = credit_frame(300)
    encoder = TableEncoder(
        drop=["employer"], categorical=["age"], na_values=["car"], date=["since"], numeric=["amount"]
    )
    kinds = {column.name: column.kind for column in clone(encoder).fit(X, y).reading_.columns}
    assert (kinds["employer"], kinds["age"], kinds["since"]) == ("left out", "category", "date")
    assert "purpose=car" not in encoder.fit(X, y).get_feature_names_out()


def test_encoder_refuses_bad_input():
    X, y = credit_frame(300)
    with pytest.raises(ValueError, match=r"^X has no column 'z' for drop=; its columns are loan_id, "):
        TableEncoder(drop=["z"]).fit(X, y)
    with pytest.raises(ValueError, match=r"^X has 2 columns called 'rate': rename all but one of them\.$"):
        TableEncoder().fit(pd.concat([X, X[["rate"]]], axis=1), y)
    with pytest.raises(ValueError, match=r"^Found a table with 0 sample\(s\) \(shape=\(0, 11\)\) while a minimum of 1"):
        TableEncoder().fit(X[:0], y[:0])
    with pytest.raises(
        ValueError, match=r"^X has no column to learn from: all are left out, such as 'loan_id' \(ident"
    ):
        TableEncoder().fit(X[["loan_id"]], y)
    encoder = TableEncoder().fit(X, y)
    with pytest.raises(ValueError, match=r"^X has no column 'rate', which the model needs; its columns are "):
        encoder.transform(X.drop(columns="rate"))
    bad = X.assign(age="old", amount="much")
    told = (
        r"^X, row 0, column 'amount': found 'much' where a number is expected \(300 such cells in all\); row 0, column"
        r".*: correct such cells, or make them missing values\.$"
    )
    with pytest.raises(ValueError, match=told):
        encoder.transform(bad)
    with pytest.raises(ValueError, match=r"expected: name such cells in na_values=, or the column in categorical=\.$"):
        encoder.fit(X.assign(amount=[*["1"] * 299, "much"]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_classifier_without_the_encoder_points_to_it(frame):
    X = frame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]})
    told = r"^X has columns that are not numbers, such as 'colour': put TableEncoder before this estimator, as in "
    with pytest.raises(ValueError, match=told):
        AUCClassifier(alpha=1.0).fit(X, [0, 1, 0, 1])


@pytest.mark.dask
def test_dask_dataframes_are_as_frames_in_memory():
    dd = pytest.importorskip("dask.dataframe")
    X, y = credit_frame()
    y = pd.Series(np.where(y, "yes", "no"))
    in_memory = make_pipeline(TableEncoder(), AUCClassifier("squared", alpha=0.1)).fit(X, y)
    table, labels = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    lazy = make_pipeline(TableEncoder(), AUCClassifier("squared", alpha=0.1)).fit(table, labels)
    assert lazy[0].reading_.part_names == in_memory[0].reading_.part_names
    counts = [[part.counts.tolist() for part in model[0].reading_.parts] for model in (lazy, in_memory)]
    assert counts[0] == counts[1]
    np.testing.assert_allclose(lazy[-1].coef_, in_memory[-1].coef_, rtol=1e-9)
    scores = lazy.decision_function(table)
    assert hasattr(scores, "compute")
    np.testing.assert_allclose(scores.compute(), in_memory.decision_function(X), rtol=1e-9)
    codes = TableEncoder("codes").fit_transform(table, labels)
    expected = TableEncoder("codes").fit_transform(X, y)
    np.testing.assert_allclose(codes.compute(), expected, rtol=1e-12)
    bad = dd.from_pandas(X.assign(age="old"), npartitions=3)
    with pytest.raises(ValueError, match=r"^X, row 0, column 'age': found 'old' where a number is expected"):
        lazy[0].transform(bad).compute()


def test_columns_that_are_left_out_are_named_in_one_warning():
    X, _ = credit_frame(300)
    X["nothing"], X["lists"] = None, [[1]] * 300
    with pytest.warns(UserWarning, match="^X has columns that are left out: ") as caught:
        TableEncoder(drop=["employer"]).fit(X)
    (message,) = [str(each.message) for each in caught]
    assert "'loan_id' (identifier or free text: 300 different texts in 300 rows), 'nothing' (every cell" in message
    assert "'lists' (the type list<item: int64> is not read)" in message
    assert "employer" not in message


def test_values_far_outside_are_named_in_one_warning():
    day = pd.Timestamp("2024-01-01")
    X = pd.DataFrame({"size": [1.0, 3.0] * 10, "day": [day, day + pd.Timedelta(days=2)] * 10, "x": ["1", "2"] * 10})
    encoder = TableEncoder("codes").fit(X)
    new = pd.DataFrame(
        {"size": [-1.1, -1.0, 5.0, 5.1], "day": [day - pd.Timedelta(days=3)] * 4, "x": ["0", "3", "", "4"]}
    )
    text = r"^X has values further outside of the range of the training rows than it is wide: 'size' \(2 cells\), "
    with pytest.warns(UserWarning, match=text) as caught:
        encoder.transform(new)
    assert str(caught[0].message).endswith("'day' (4 cells), 'x' (1 cell).")


def test_a_reading_is_shown_as_a_table():
    X = pd.DataFrame({"size": ["$1", "$2", None] * 10, "home": ["own", "rent", "own"] * 10})
    reading = TableEncoder().fit(X).reading_
    assert repr(reading).splitlines()[1:] == [
        "size    number    1 to 2, written as $1234.5         10  a number",
        "home    category  2 levels                            0  levels",
    ]
    assert reading.to_frame().to_dict("records") == reading.describe()


def test_a_cell_without_the_percent_sign_is_a_fault():
    X = pd.DataFrame({"rate": ["34.5%", "12%"] * 10})
    encoder = TableEncoder("codes").fit(X)
    assert encoder.transform(pd.DataFrame({"rate": ["7 %", None]})).tolist() == [
        [7],
        [pytest.approx(np.nan, nan_ok=True)],
    ]
    text = r"^X, row 1, column 'rate': found '0.345' where a number with % is expected"
    for cells in (["5%", "0.345"], [np.nan, 0.345]):
        with pytest.raises(ValueError, match=text):
            encoder.transform(pd.DataFrame({"rate": cells}))
    with pytest.raises(ValueError, match=r"row 20, column 'rate': found '0.345' where a number with % is expected"):
        encoder.fit(pd.DataFrame({"rate": [*X["rate"], "0.345"]}))
    with pytest.raises(ValueError, match=r"row 20, column 'rate': found '34.5%' where a number is expected"):
        encoder.fit(pd.DataFrame({"rate": [*(str(k / 20) for k in range(20)), "34.5%"]}))


def test_a_cell_without_the_sign_of_a_currency_is_an_amount_in_it():
    encoder = TableEncoder("codes").fit(pd.DataFrame({"price": ["$1,000", "$7", "12"] * 10}))
    assert encoder.transform(pd.DataFrame({"price": ["1,900", "$5", "6"]})).ravel().tolist() == [1900, 5, 6]
    with pytest.raises(ValueError, match=r"found '€5' where a number, with \$ or without, is expected"):
        encoder.transform(pd.DataFrame({"price": ["€5"]}))
