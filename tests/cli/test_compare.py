"""`aucmax compare` of a raw table: its own default methods, weights, groups, folds in time, imported estimators."""

import json

import numpy as np
import pytest

from aucmax import TableEncoder
from aucmax.cli.commands.compare import OF_NUMBERS, OF_TABLES, split_names
from aucmax.compare.comparison import compare

pandas = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 180
Y = (RNG.random(N) < 0.4).astype(int)
FRAME = pandas.DataFrame({"size": np.round(RNG.standard_normal(N) + Y, 3), "plan": RNG.choice(["a", "b", "c"], N)})
DAY = RNG.integers(0, 150, N)
WEIGHT, PATIENT = np.arange(N) % 3 + 1, np.arange(N) // 3
METHODS = "RidgeClassifier(alpha=1), LogisticRegression(C=1.0)"
FEW = ["--methods", METHODS, "--folds", "3", "--json"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "rows.csv"
    dates = (np.datetime64("2023-01-01") + DAY).astype("datetime64[D]").astype(str)
    dates = [f"{day[8:]}/{day[5:7]}/{day[:4]}" for day in dates]
    FRAME.assign(opened=dates, weight=WEIGHT, patient=PATIENT, y=Y).to_csv(path, index=False)
    return path


@pytest.fixture
def aucs(run, table):
    """Return a function that compares with options, and returns the AUC of each method on each split."""

    def aucs(*given):
        status, out, err = run("compare", table, *FEW, *given)
        assert (status, err) == (0, "")
        methods = json.loads(out)["comparisons"][0]["methods"]
        return [[split["auc"] for split in method["splits"]] for method in methods]

    return aucs


def expected(**options):
    X = TableEncoder().fit_transform(FRAME)
    return compare(X, Y, split_names(METHODS), n_splits=3, **options).auc


def test_weights_and_groups_are_columns(aucs):
    found = aucs("--weight", "weight", "--group", "patient", "--drop", "opened", "--repeats", "2")
    np.testing.assert_allclose(found, expected(sample_weight=WEIGHT, groups=PATIENT.astype(str), n_repeats=2))
    assert not np.allclose(found, aucs("--drop", "opened", "--drop", "weight", "--drop", "patient", "--repeats", "2"))


def test_folds_in_time_follow_a_column_of_dates_that_is_not_a_feature(aucs):
    found = aucs("--time", "opened", "--drop", "weight", "--drop", "patient")
    np.testing.assert_allclose(found, expected(time=DAY))
    assert np.shape(found) == (2, 3)


def test_time_may_be_a_number(aucs):
    found = aucs("--time", "patient", "--drop", "weight", "--drop", "opened")
    np.testing.assert_allclose(found, expected(time=PATIENT))


def test_default_methods_of_tables_begin_with_the_table_classifier(run, table, tmp_path):
    options = ["--folds", "2", "--repeats", "1", "--candidates", "1", "--json"]
    status, out, err = run("compare", table, *options, "--report", tmp_path / "report.html")
    assert (status, err) == (0, "")
    (told,) = json.loads(out)["comparisons"]
    assert [row["method"] for row in told["methods"]] == OF_TABLES.split(", ")
    assert [row["failure"] for row in told["methods"]] == [None] * 4
    np.savez(tmp_path / "rows.npz", X=FRAME[["size"]].to_numpy(), y=Y)
    status, out, _ = run("compare", tmp_path / "rows.npz", *options)
    assert [row["method"] for row in json.loads(out)["comparisons"][0]["methods"]] == OF_NUMBERS.split(", ")


def test_an_estimator_of_another_library_is_a_method(run, table):
    name = "sklearn.tree.DecisionTreeClassifier(max_depth=2)"
    status, out, _ = run("compare", table, "--method", f"RidgeClassifier(alpha=1), {name}", "--folds", "3", "--json")
    assert status == 0
    told = json.loads(out)["comparisons"][0]["methods"][1]
    assert (told["method"], told["failure"]) == (name, None)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--time", "opened", "--group", "patient"], "--group is not used with --time: leave it out."),
        (["--time", "opened", "--repeats", "3"], "--repeats is not used with --time: leave it out."),
        (["--time", "plan"], "{0}: --time needs dates or numbers, and 'plan' is not such a column (3 levels)."),
        (
            ["--time", "day"],
            "{0} has no column 'day' for --time; its columns are size, plan, opened, weight, patient, y.",
        ),
    ],
)
def test_columns_that_cannot_be_used_are_refused(refused, table, options, line):
    told = refused("compare", table, "--methods", METHODS, *options)
    assert told == line.format(table)


@pytest.mark.filterwarnings("default:.*rows have no time")
def test_rows_without_a_date_are_left_out_with_a_warning(run, aucs, table, tmp_path):
    frame = pandas.read_csv(table)
    path, some = tmp_path / "gaps.csv", RNG.choice(N, 20, replace=False)
    frame.loc[some, "opened"] = None
    frame.to_csv(path, index=False)
    status, out, err = run("compare", path, *FEW, "--time", "opened", "--drop", "weight", "--drop", "patient")
    assert (status, "20 of 180 rows have no time and are left out." in err) == (0, True)
    found = [[split["auc"] for split in each["splits"]] for each in json.loads(out)["comparisons"][0]["methods"]]
    X, known = TableEncoder().fit_transform(FRAME), np.setdiff1d(np.arange(N), some)
    expected = compare(X[known], Y[known], split_names(METHODS), n_splits=3, time=DAY[known]).auc
    np.testing.assert_allclose(found, expected)
    for gap, time in ((np.nan, DAY.astype(float)), (np.datetime64("NaT"), DAY.astype("M8[D]").astype("M8[s]"))):
        time[some] = gap
        with pytest.warns(UserWarning, match="^20 of 180 rows have no time and are left out"):
            np.testing.assert_allclose(compare(X, Y, split_names(METHODS), n_splits=3, time=time).auc, expected)
