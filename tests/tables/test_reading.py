"""From cells to codes and features, by brute force."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from aucmax import TableClassifier, TableEncoder, load_model, open_rows, save_model
from aucmax.cli.table_model import UnseenValues
from aucmax.tables.reading import Overrides, features
from aucmax.tables.reading.table import make_reading, summarise_table

pandas = pytest.importorskip("pandas")


def learn(**columns):
    table = pa.table(columns)
    return make_reading(summarise_table(table, Overrides()), Overrides()), table


def test_codes_and_features_of_new_rows():
    reading, _ = learn(size=["1", "3", "?"] * 10, colour=["red", "blue", "red"] * 10, paid=["yes", "no", "no"] * 10)
    new = pa.table(
        {"paid": ["NO", "Yes", ""], "size": ["2", "", "5"], "colour": ["red", "violet", None], "other": [1, 2, 3]}
    )
    codes, tallies = reading.codes(new)
    np.testing.assert_array_equal(codes, [[2, 1, 0], [np.nan, 2, 1], [5, np.nan, np.nan]])
    assert [(tally.column.name, tally.n_missing, tally.n_unseen, tally.n_faults) for tally in tallies] == [
        ("size", 1, 0, 0),
        ("colour", 1, 1, 0),
        ("paid", 1, 0, 0),
    ]
    assert reading.feature_names == ["size", "size=(missing)", "colour=blue", "colour=red", "paid"]
    # A level that no training row has, and a gap where there was none, are an average row.
    np.testing.assert_allclose(
        reading.features(codes), [[2, 0, 0, 1, 0], [2, 1, 1 / 3, 2 / 3, 1], [5, 0, 1 / 3, 2 / 3, 1 / 3]]
    )


def test_rare_levels_are_pooled_and_unseen_ones_are_scored_as_rare():
    reading, table = learn(x=["a"] * 60 + ["b"] * 35 + ["c", "d"] * 2 + ["e"])
    assert reading.feature_names == ["x=a", "x=b", "x=(rare)"]
    codes, (tally,) = reading.codes(pa.table({"x": ["a", "c", "zebra"]}))
    assert codes.ravel().tolist() == [0, 2, 5]
    assert reading.pool(codes).ravel().tolist() == [0, 2, 2]
    assert reading.parts[0].counts.tolist() == [60, 35, 2, 2, 1]
    assert tally.n_unseen == 1
    assert reading.features(codes).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert reading.features(reading.codes(table)[0]).sum(axis=0).tolist() == [60, 35, 5]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"min_frequency": 1}, "abcde"),
        ({"min_frequency": 13}, "abc"),
        ({"min_frequency": 0.2}, "ab"),
        ({"max_categories": 3}, "ab"),
        ({"max_categories": 5, "min_frequency": 1}, "abcde"),
        ({"max_categories": 1}, ""),
    ],
)
def test_levels_are_pooled_as_by_the_encoder_of_scikit_learn(options, kept):
    cells = np.array(list("a" * 40 + "b" * 30 + "c" * 15 + "d" * 12 + "e" * 3), dtype=object)[:, None]
    table, overrides = pa.table({"x": cells[:, 0]}), Overrides(**options)
    reading = make_reading(summarise_table(table, overrides), overrides)
    (part,) = reading.feature_parts
    assert "".join(part.levels) == kept
    reference = OneHotEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **options).fit(cells)
    found = reading.features(reading.codes(table)[0])
    np.testing.assert_array_equal(found[:, : len(kept)], reference.transform(cells)[:, : len(kept)])


def test_a_level_called_rare_is_not_the_pooled_one():
    reading, _ = learn(x=["(rare)"] * 50 + ["b"] * 45 + ["c", "d", "e", "f", "g"])
    assert reading.feature_names == ["x=(rare)", "x=b", "x=((rare))"]


def test_a_row_without_a_level_has_zeros_if_there_are_many_levels():
    reading, _ = learn(x=[f"level {k % 300}" for k in range(3000)])
    found = reading.features(reading.codes(pa.table({"x": ["new", None, "level 0"]}))[0])
    assert found.sum(axis=1).tolist() == [0, 0, 1]


def test_a_row_or_two_decide_no_weight_of_gaps_and_rare_levels():
    """Such a row is an average one, in training and later."""
    reading, table = learn(x=["a"] * 60 + ["b"] * 38 + ["c", "d"], size=["?"] * 4 + ["3"] * 48 + ["5"] * 48)
    assert reading.feature_names == ["x=a", "x=b", "size"]
    average = [60 / 98, 38 / 98, 4]
    np.testing.assert_allclose(reading.features(reading.codes(table)[0])[[0, 98]], [[1, 0, 4], [*average[:2], 5]])
    new = reading.codes(pa.table({"x": ["zebra"], "size": [""]}))[0]
    np.testing.assert_allclose(reading.features(new), [average])
    more, _ = learn(x=["a"] * 95 + [None] * 5, size=["?"] * 5 + ["3", "4"] * 47 + ["5"])
    assert more.feature_names == ["x=a", "x=(missing)", "size", "size=(missing)"]


def test_later_dates_are_counted():
    days = ["2024-01-31", "2024-02-01", "2024-03-05"] * 10
    new = ["2024-03-05", "2024-03-06", None, "2025-01-01"]
    for kind in (pa.string(), pa.date32()):
        reading, _ = learn(day=pa.array(days).cast(kind))
        codes, (tally,) = reading.codes(pa.table({"day": pa.array(new).cast(kind)}))
        assert (tally.n_later, tally.n_missing) == (2, 1)
        np.testing.assert_array_equal(codes[:, 0], [0, -1, np.nan, -302])
    unseen = UnseenValues()
    unseen.add([tally])
    later, far = unseen.notes("new.csv", "rare")[-2:]
    assert later == (
        "new.csv, column 'day': 2 cells with a date after the last one of the training rows, scored by its negative age"
    )
    assert far == "new.csv, column 'day': 1 cell further outside of the range of the training rows than it is wide"


def test_numbers_far_outside_are_counted():
    new = ["-8.1", "-8", "28", "29", None]
    for kind in (pa.string(), pa.float64()):
        reading, _ = learn(size=pa.array(["4", "10", "16"] * 10).cast(kind))
        (tally,) = reading.codes(pa.table({"size": pa.array(new).cast(kind)}))[1]
        assert (tally.column.low, tally.column.high, tally.n_outside) == (4, 16, 2)
    unseen = UnseenValues()
    unseen.add([tally])
    assert unseen.notes("new.csv", "rare")[-1] == (
        "new.csv, column 'size': 2 cells further outside of the range of the training rows than it is wide"
    )
    reading, _ = learn(day=["2024-01-01", "2024-01-11"] * 10)
    assert (reading.columns[0].low, reading.columns[0].high) == (0, 10)
    (tally,) = reading.codes(pa.table({"day": ["2023-12-22", "2023-12-21", "2025-01-01"]}))[1]
    assert (tally.n_outside, tally.n_later) == (2, 1)


def test_missing_levels_are_a_level():
    reading, _ = learn(x=["a", "b", None, ""] * 10)
    assert reading.feature_names == ["x=a", "x=b", "x=(missing)"]
    codes, _ = reading.codes(pa.table({"x": ["b", None]}))
    assert reading.features(codes).tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("native", [False, True])
def test_dates_are_ages_and_the_parts_that_vary(native):
    moments = [datetime.datetime(2024, 3, 1, 6), datetime.datetime(2024, 2, 27, 18), datetime.datetime(2023, 2, 28, 18)]
    cells = moments if native else [moment.strftime("%Y-%m-%d %H:%M") for moment in moments]
    reading, table = learn(x=cells)
    assert reading.part_names == ["x (days before 2024-03-01 06:00)", "x (month)", "x (weekday)", "x (hour)"]
    assert [part.levels for part in reading.parts[1:]] == [
        ["02", "03"],
        ["Tuesday", "Friday"],
        ["06", "18"],
    ]
    ages = [0, 2.5, 366.5]
    np.testing.assert_allclose(reading.codes(table)[0], np.column_stack([ages, [1, 0, 0], [1, 0, 0], [0, 1, 1]]))
    later = datetime.datetime(2024, 3, 11, 6)
    codes, _ = reading.codes(pa.table({"x": [later if native else later.isoformat(), None]}))
    np.testing.assert_allclose(codes, [[-10, 1, 2, 0], [np.nan] * 4])  # no training row is a Monday
    same_time, _ = learn(x=["2024-03-01", "2024-03-01"])
    assert same_time.part_names == ["x (days before 2024-03-01)"]


def test_reading_takes_other_types_than_the_training_rows():
    when = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 9)] * 10
    reading, _ = learn(
        flag=["yes", "no"] * 10, price=["$1", "$2"] * 10, level=["1", "L"] * 10, zero=[0, 1] * 10, day=when
    )
    text = pa.table({"flag": ["True"], "price": ["$2"], "level": ["1"], "zero": ["1"], "day": ["2024-01-08"]})
    typed = pa.table({"flag": [1], "price": [2.0], "level": [1.0], "zero": [True], "day": [datetime.date(2024, 1, 8)]})
    for table in (text, typed):
        codes, tallies = reading.codes(table)
        assert codes.tolist() == [[1, 2, 0, 1, 1, 0]]
        assert sum(tally.n_faults + tally.n_missing for tally in tallies) == 0


def test_faults_are_counted_with_the_first():
    reading, _ = learn(x=["1", "2"] * 10, d=["2024-01-01", "2024-01-02"] * 10, b=["yes", "no"] * 10)
    bad = pa.table(
        {"x": ["1", "one", "inf", "?"], "d": ["2024-01-01", "x", "", "y"], "b": ["yes", "no", "no", "perhaps"]}
    )
    found = [(tally.n_missing, tally.n_faults, tally.first, tally.shown) for tally in reading.codes(bad)[1]]
    assert found == [(1, 2, 1, "one"), (1, 2, 1, "x"), (0, 1, 3, "perhaps")]


def test_csr_features_are_the_dense_ones(monkeypatch):
    rng = np.random.default_rng(0)
    cells = {"a": rng.choice(["x", "y", "z"], 90), "b": rng.choice(["u", "v", None], 90), "n": rng.standard_normal(90)}
    reading, table = learn(**{name: list(values) for name, values in cells.items()})
    new = pa.concat_tables([table, pa.table({"a": ["w", None], "b": ["w", "u"], "n": [0.0, None]})])
    codes, _ = reading.codes(new)
    dense = reading.features(codes)
    monkeypatch.setattr(features, "DENSE_UP_TO", 3)
    csr = reading.features(codes)
    assert sparse.issparse(csr)
    assert csr.has_canonical_format
    assert (np.diff(csr.indices)[np.diff(np.repeat(np.arange(92), np.diff(csr.indptr))) == 0] > 0).all()
    np.testing.assert_array_equal(csr.toarray(), dense)


def coded_frame(n=240):
    rng = np.random.default_rng(0)
    place = rng.integers(0, 12, n)
    y = np.where(rng.random(n) < 0.2 + 0.05 * place, 1, 0)
    return pandas.DataFrame({"place": [f"{k:05d}" for k in place], "size": rng.normal(size=n)}), y


def test_levels_that_are_numbers_are_found_by_value(tmp_path):
    X, y = coded_frame()
    X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    model = TableClassifier("lines", cv=0).fit_rows(open_rows(tmp_path / "t.csv", target="y"))
    read = pandas.read_csv(tmp_path / "t.csv")  # which makes 00007 a 7
    assert read["place"].dtype.kind == "i"
    np.testing.assert_array_equal(model.decision_function(read), model.decision_function(X))


def test_many_unseen_levels_are_warned_of_and_a_few_are_not():
    X, y = coded_frame()
    model = TableClassifier("lines", cv=0).fit(X, y)
    model.decision_function(X.assign(place=["new"] * 20 + X["place"][20:].tolist()))
    with pytest.warns(UserWarning, match=r"^X has levels that no training row has: 'place' \(240 cells\).$"):
        model.decision_function(X.assign(place="new"))


def test_columns_of_a_file_that_are_left_out_are_warned_of(tmp_path):
    X, y = coded_frame()
    X.assign(y=y, empty="").to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning, match="left out: 'empty'"):
        TableClassifier("lines", cv=0).fit_rows(open_rows(tmp_path / "t.csv", target="y"))


def test_an_encoder_with_an_output_is_saved(tmp_path):
    X, y = coded_frame()
    encoder = TableEncoder("codes").set_output(transform="pandas").fit(X)
    save_model(make_pipeline(encoder, TableClassifier("lines", cv=0)).fit(X, y), tmp_path / "m")
    loaded = load_model(tmp_path / "m")[0]
    pandas.testing.assert_frame_equal(loaded.transform(X), encoder.transform(X))


def test_a_column_has_one_role():
    X, _ = coded_frame()
    with pytest.raises(ValueError, match=r"^X: the column 'size' is named by drop= and numeric=\.$"):
        TableEncoder(drop=["size"], numeric=["size"]).fit(X)
