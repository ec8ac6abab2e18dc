"""The protocol of comparisons: the same splits for all, nothing seen of test rows, right p-values, hostile names."""

import inspect
import json
import math
import sys
import types
import warnings
from functools import partial
from importlib.machinery import ModuleSpec

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from threadpoolctl import threadpool_info, threadpool_limits

from aucmax import OPAUC, roc_auc
from aucmax.compare import comparison
from aucmax.compare.comparison import Comparison, compare, paired_t_test, win_tie_loss
from aucmax.compare.methods import METHODS, describe_methods, find_method, last_step
from aucmax.compare.splits import TimeFolds
from aucmax.compare.tuning import list_candidates, seeded_estimator
from aucmax.papers import ALGORITHMS
from aucmax.papers.registry import Method
from aucmax.tables.reading import Overrides
from aucmax.tables.reading.table import Levels, make_reading, summarise_table

SCIKIT_LEARN = [name for name in METHODS if name not in {"AUCClassifier", *ALGORITHMS}]
DENSE = ("LinearDiscriminantAnalysis", "TableClassifier", "HistGradientBoosting", "LightGBM", "EBM")
FEW = {"n_splits": 3, "n_repeats": 2, "inner_splits": 3}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(150) < 0.3).astype(int)
    return rng.standard_normal((150, 6)) + 0.5 * y[:, None] * rng.standard_normal(6), y


class Spy(ClassifierMixin, BaseEstimator):
    """Keeps a record of what it is given; the first column holds the numbers of the rows, the scores are a column."""

    record: list = []  # noqa: RUF012

    def __init__(self, column=1, random_state=None):
        self.column = column
        self.random_state = random_state

    def fit(self, X, y):
        threads = max(library["num_threads"] for library in threadpool_info())
        self.record.append(("fit", set(X[:, 0]), threads))
        warnings.warn("Not shown, or every test would fail.", UserWarning, stacklevel=2)
        if self.column == "diverges" or (self.column == "sometimes" and 0 in X[:, 0]):
            raise ValueError("The steps diverged.")
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        self.record.append(("score", set(X[:, 0]), None))
        return X[:, self.column] if isinstance(self.column, int) else np.zeros(len(X))


def spied(X):
    return np.column_stack([np.arange(len(X)), X])


def run_spy(X, y, methods, **options):
    """Return the comparison, and what each method was given on each split, in order."""
    given = {}

    def on_progress(result):
        given[result.method, result.split] = list(Spy.record)
        Spy.record.clear()

    Spy.record.clear()
    return compare(spied(X), y, methods, on_progress=on_progress, **FEW | options), given


def test_all_methods_see_the_same_splits_and_nothing_is_fitted_to_test_rows(data):
    X, y = data
    methods = [Method(name, Spy, {"column": [1, 2, 3]}) for name in ("a", "b")]
    _, given = run_spy(X, y, methods)
    splits = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y))
    assert set(given) == {(name, k) for name in ("a", "b") for k in range(6)}
    for k, (train, test) in enumerate(splits):
        assert given["a", k] == given["b", k]
        *tuning, (_, fitted, _), (_, scored, _) = given["a", k]
        assert fitted == set(train)
        assert scored == set(test)
        assert [kind for kind, *_ in tuning] == ["fit", "score"] * (3 * 3)
        for (_, inner_train, _), (_, inner_test, _) in zip(tuning[::2], tuning[1::2], strict=True):
            assert inner_train | inner_test == set(train)
            assert not inner_train & inner_test


def test_compare_does_not_tune_one_candidate_and_repeats_its_first_fit(data):
    table, given = run_spy(*data, [Method("a", Spy), Method("b", Spy, {"column": [2]})])
    for name in "ab":
        assert [kind for kind, *_ in given[name, 0]] == ["fit", "fit", "score"]
        assert [kind for kind, *_ in given[name, 1]] == ["fit", "score"]
    assert table.parameters == [[{}] * 6, [{"column": 2}] * 6]
    assert np.isfinite(table.seconds).all()
    assert table.seconds.shape == table.tuning_seconds.shape == (2, 6)


def test_every_fit_has_one_thread(data):
    with threadpool_limits(2):
        _, given = run_spy(*data, [Method("a", Spy)])
    assert {threads for calls in given.values() for kind, _, threads in calls if kind == "fit"} == {1}


def test_the_chosen_candidate_is_that_of_an_exhaustive_search(data):
    X, y = data
    grid = {"eta0": [1e-4, 0.01, 0.5], "alpha": [1e-3, 1.0]}
    table = compare(X, y, [Method("OPAUC", OPAUC, grid)], random_state=3, **FEW)
    inner_folds = StratifiedKFold(3, shuffle=True, random_state=3)
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=3).split(X, y)
    for k, (train, test) in enumerate(splits):
        search = GridSearchCV(OPAUC(random_state=3), grid, cv=inner_folds, scoring="roc_auc").fit(X[train], y[train])
        assert table.parameters[0][k] == search.best_params_
        assert table.auc[0, k] == roc_auc(y[test], search.decision_function(X[test]))
    assert len({str(chosen) for chosen in table.parameters[0]}) > 1


def test_of_equal_candidates_the_first_is_taken(data):
    X, y = data
    table = compare(np.column_stack([X, X[:, 0]]), y, [Method("a", Spy, {"column": [6, 0]})], **FEW)
    assert table.parameters == [[{"column": 6}] * 6]


def test_comparison_p_values_and_verdicts(data):
    X, y = data
    X = X + 2 * y[:, None] * np.array([1, 0, 0, 0, 0, 0])
    X[:, 1] = -X[:, 0]
    columns = {"best": 0, "same": 0, "worst": 1, "noise": 2}
    methods = [Method(name, partial(Spy, column=column)) for name, column in columns.items()]
    table = compare(X, y, methods, data="made up", **FEW)
    for k in (2, 3):
        assert table.pvalues[k] == pytest.approx(stats.ttest_rel(table.auc[0], table.auc[k]).pvalue)
        d = table.auc[0] - table.auc[k]
        t = d.mean() / math.sqrt((1 / 6 + 1 / 2) * d.var(ddof=1))  # 1/n, and a test part is half of a training part
        assert table.corrected_pvalues[k] == pytest.approx(2 * stats.t.sf(t, df=5))
    assert table.pvalues[:2] == table.corrected_pvalues[:2] == [None, 1.0]
    assert table.verdicts == ["", "tie", "win", "win"]
    assert [row["verdict"] for row in table.to_dict()["methods"]] == [None, "tie", "worse", "worse"], (
        "of the method itself"
    )
    assert compare(X, y, methods[::-1], **FEW).verdicts[1:] == ["win", "loss", "loss"]
    assert table.data == "made up"


def test_verdicts_follow_the_corrected_test(data):
    """Differences with a plain p-value below 5% and a corrected one above are a tie."""
    X, y = data
    rng = np.random.default_rng(6)
    X = np.column_stack([X[:, 0] + 0.8 * y, X[:, 0] + 0.8 * y + 0.6 * rng.standard_normal(len(y))])
    methods = [Method(name, partial(Spy, column=column)) for name, column in (("clean", 0), ("noisy", 1))]
    table = compare(X, y, methods, n_splits=5, n_repeats=3, inner_splits=3)
    assert table.pvalues[1] < 0.05 < table.corrected_pvalues[1]
    assert table.verdicts[1] == "tie"


def test_groups_stay_whole_in_all_folds(data):
    X, y = data
    groups = np.arange(len(y)) // 5
    _, given = run_spy(X, y, [Method("a", Spy, {"column": [1, 2]})], groups=groups)
    tests = []
    for calls in given.values():
        for (_, fitted, _), (_, scored, _) in zip(calls[::2], calls[1::2], strict=True):
            of_train, of_test = (set(groups[[int(row) for row in rows]]) for rows in (fitted, scored))
            assert not of_train & of_test
        tests.append(frozenset(calls[-1][1]))
    assert len(set(tests)) == 6, "the repeats draw other folds"
    assert set.union(*map(set, tests[:3])) == set(range(len(y)))


def test_folds_in_time_test_on_what_comes_next(data):
    X, y = data
    time = np.random.default_rng(0).permutation(len(y))
    methods = [Method("a", Spy, {"column": [1, 2]})]
    _, given = run_spy(X, y, methods, time=np.datetime64("2020-01-01") + time, n_repeats=None)
    expected = list(TimeSeriesSplit(3).split(np.arange(len(y))))
    assert len(given) == 3
    row_at = np.argsort(time)
    for k, (train, test) in enumerate(expected):
        *tuning, (_, fitted, _), (_, scored, _) = given["a", k]
        assert (fitted, scored) == (set(row_at[train]), set(row_at[test]))
        for (_, inner_train, _), (_, inner_test, _) in zip(tuning[::2], tuning[1::2], strict=True):
            latest = max(time[[int(row) for row in inner_train]])
            assert latest < min(time[[int(row) for row in inner_test]])
            assert inner_test <= fitted


def test_rows_of_the_same_time_are_in_one_part():
    time = np.repeat(np.arange(20), 7)
    folds = list(TimeFolds(3).split(time, None, time))
    assert [len(test) for _, test in folds] == [35, 35, 35]
    for train, test in folds:
        assert time[train].max() < time[test].min()
    with pytest.raises(ValueError, match="time has too few different values for 3 folds"):
        list(TimeFolds(3).split(time, None, np.repeat([0, 1, 2], [100, 20, 20])))


def test_weights_of_two_are_rows_twice(data):
    """In the fit of each method that takes weights, in the choice of its parameters, and in the AUC."""
    X, y = data
    X, weights = np.column_stack([X, np.arange(len(y))]), np.arange(len(y)) % 3 + 1.0
    methods = [Method("Ridge", RidgeClassifier, {"alpha": [0.1, 1e4]}), "LogisticRegression(C=1.0)"]
    table = compare(X, y, methods, sample_weight=weights, **FEW)
    splits = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y)
    for k, (train, test) in enumerate(splits):
        again = np.repeat(train, weights[train].astype(int))
        ridge = RidgeClassifier(**table.parameters[0][k]).fit(X[again], y[again])
        logistic = make_pipeline(StandardScaler(), LogisticRegression(C=1.0)).fit(X[again], y[again])
        twice = np.repeat(test, weights[test].astype(int))
        expected = [roc_auc(y[twice], model.decision_function(X[twice])) for model in (ridge, logistic)]
        np.testing.assert_allclose(table.auc[:, k], expected, atol=2e-3)
    failing = compare(X, y, ["RidgeClassifier(alpha=1)", "LinearDiscriminantAnalysis"], sample_weight=weights, **FEW)
    assert failing.failures == {
        "LinearDiscriminantAnalysis": "6 of 6 splits: LinearDiscriminantAnalysis takes no weights."
    }


class Weighed(Spy):
    """Keeps a record of the weights that it is given."""

    def fit(self, X, y, sample_weight=None):
        self.record.append((X[:, 0].astype(int), sample_weight))
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, self.column]


def test_every_fit_has_the_weights_of_its_rows(data):
    X, y = data
    weights = np.random.default_rng(0).random(len(y)) + 0.5
    Spy.record.clear()
    table = compare(spied(X), y, [Method("a", Weighed, {"column": [1, 2]})], sample_weight=weights, **FEW)
    assert table.failures == {}
    assert len(Spy.record) == 6 * (2 * 3 + 1)
    for rows, given in Spy.record:
        np.testing.assert_array_equal(given, weights[rows])


def test_an_estimator_is_imported_by_its_full_name(data):
    name = "sklearn.ensemble.RandomForestClassifier(n_estimators=5, max_depth=2)"
    table = compare(*data, [find_method(name, imports=True), "GaussianAUC"], **FEW)
    assert table.methods[0] == name
    assert table.failures == {}
    X, y = data
    train, test = next(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y))
    forest = RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X[train], y[train])
    assert table.auc[0, 0] == pytest.approx(roc_auc(y[test], forest.predict_proba(X[test])[:, 1]))
    with pytest.raises(ValueError, match="is not a known method"):
        find_method(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.at.All", r"'nowhere.at.All' cannot be imported: No module named 'nowhere'\."),
        ("sklearn.ensemble.Forest", "'sklearn.ensemble.Forest' cannot be imported: module 'sklearn.ensemble' has no"),
        (".ensemble.Forest", "'.ensemble.Forest' is not a known method: write its name"),
        ("os.getcwd", r"'os.getcwd' is not a class of estimators, with fit and get_params\."),
        ("sklearn.preprocessing.StandardScaler", "has neither decision_function nor predict_proba"),
        ("sklearn.svm.SVC(D=1)", r"sklearn.svm.SVC cannot be given D here\."),
        ("sklearn.svm.SVC(C=f())", "is not a known method: write its name"),
    ],
)
def test_names_that_cannot_be_imported(text, message):
    with pytest.raises(ValueError, match=message):
        find_method(text, imports=True)


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    method = METHODS["LightGBM"]._replace(requires=("no_such_library",))
    monkeypatch.setitem(METHODS, "LightGBM", method)
    with pytest.raises(ValueError, match="LightGBM needs no_such_library, which is not installed"):
        find_method("lightgbm(learning_rate=0.1)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": np.zeros(30), "time": np.arange(30)}, "groups= and time= are two kinds of folds"),
        ({"time": np.arange(30), "n_repeats": 2}, "n_repeats= is not used with time="),
        ({"time": np.full(30, np.nan)}, "time= must be numbers or dates, without gaps"),
        ({"time": np.full(30, "May")}, "time= must be numbers or dates, without gaps"),
        ({"time": np.arange(29)}, "inconsistent numbers of samples"),
        ({"time": -1 * (np.arange(30) % 3 == 0) - np.arange(30) / 100}, "rows of one class only: ask for fewer folds"),
        ({"groups": np.arange(30) % 3}, "rows of one class only: ask for fewer folds"),
        ({"sample_weight": np.full(30, -1.0)}, "Negative values"),
    ],
)
def test_compare_refuses_folds_and_weights_that_cannot_be(options, message):
    arguments = {"X": np.arange(30.0)[:, None], "y": np.arange(30) % 3 == 0, "methods": ["GaussianAUC"], **options}
    with pytest.raises(ValueError, match=message):
        compare(**arguments, n_splits=3)


@pytest.mark.parametrize("name", ["HistGradientBoosting", "LightGBM", "EBM"])
def test_trees_know_the_levels_of_a_table(name):
    """Effects that alternate with the place of a level: as a number, a stump of two leaves finds hardly any."""
    need(name)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 600)
    frame = pa.table({"level": [f"L{code:02}" for code in codes], "noise": rng.standard_normal(600)})
    y = (rng.random(600) < np.where(codes % 2, 0.9, 0.1)).astype(int)
    reading = make_reading(summarise_table(frame, Overrides()), Overrides())
    levels = Levels.of(reading.codes(frame)[0], reading)
    stump = {
        "HistGradientBoosting": "HistGradientBoosting(max_iter=1, max_leaf_nodes=2, learning_rate=0.1)",
        "LightGBM": "LightGBM(n_estimators=1, num_leaves=2, learning_rate=0.1, min_data_per_group=1, cat_smooth=0)",
        "EBM": "EBM(interactions=0)",
    }[name]
    table = compare(np.asarray(levels), y, [stump], levels=levels, n_splits=2, n_repeats=1)
    assert table.failures == {}
    assert table.auc.mean() > 0.85
    if name != "EBM":
        assert compare(np.asarray(levels), y, [stump], n_splits=2, n_repeats=1).auc.mean() < 0.75


@pytest.mark.parametrize(
    ("differences", "pvalue"), [([0.0, 0.0, 0.0], 1), ([0.25, 0.25], 0), ([-0.25, -0.25], 0), ([0.1], 1), ([1, -1], 1)]
)
def test_paired_t_test_of_degenerate_differences(differences, pvalue):
    assert paired_t_test(np.array(differences)) == pvalue
    assert paired_t_test(np.array(differences), 0.25) == pvalue


@pytest.mark.slow
def test_compare_with_two_jobs_is_bitwise_the_same(data):
    methods = ["GaussianAUC", "OPAUCf(n_components=3, alpha=0.1)", "SGDClassifier"]
    seen = []
    options = {"n_splits": 2, "n_repeats": 1, "inner_splits": 2, "max_candidates": 3, "random_state": 1}
    one = compare(*data, methods, **options)
    two = compare(*data, methods, n_jobs=2, on_progress=seen.append, **options)
    np.testing.assert_array_equal(one.auc, two.auc)
    assert np.isfinite(one.auc).all()
    assert one.parameters == two.parameters
    assert one.pvalues == two.pvalues
    assert {(result.method, result.split): result.auc for result in seen} == {
        (name, k): two.auc[m, k] for m, name in enumerate(two.methods) for k in range(2)
    }


def test_fits_may_end_in_any_order(data, monkeypatch):
    X, y = data
    methods = [Method("a", Spy, {"column": [1, 2, 3]}), Method("b", partial(Spy, column=4))]
    table = compare(spied(X), y, methods, **FEW)

    def backwards(**options):
        return lambda tasks: [function(*args, **kwargs) for function, args, kwargs in reversed(list(tasks))]

    monkeypatch.setattr(comparison, "Parallel", backwards)
    again = compare(spied(X), y, methods, **FEW)
    np.testing.assert_array_equal(again.auc, table.auc)
    assert again.parameters == table.parameters


def test_failures_are_kept_and_candidates_that_fail_are_not_chosen(data):
    grid = {"column": ["diverges", 1]}
    methods = [
        Method("first", Spy),
        Method("careful", Spy, grid),
        Method("never", Spy, {"column": ["diverges", "diverges"]}),
        Method("sometimes", partial(Spy, column="sometimes")),
        "SHTAUC(n_nonzero=50, n_blocks=1)",
    ]
    X, y = data
    table = compare(spied(X), y, methods, **FEW)
    assert table.parameters[1] == [{"column": 1}] * 6
    np.testing.assert_array_equal(table.auc[1], table.auc[0])
    assert np.isnan(table.auc[2]).all()
    assert np.isnan(table.auc[3]).sum() == 4  # row 0 is in two of three training parts
    assert table.failures == {
        "never": "6 of 6 splits: None of the 2 candidates could be fitted, the last because: The steps diverged.",
        "sometimes": "4 of 6 splits: The steps diverged.",
        "SHTAUC(n_nonzero=50, n_blocks=1)": (
            "6 of 6 splits: n_nonzero=50 is more than the 7 columns of X: give a number from 1 to 7, or None."
        ),
    }
    assert table.verdicts == ["", "tie", "", "", ""]
    assert table.pvalues == table.corrected_pvalues == [None, 1.0, None, None, None]


def test_comparison_to_dict_is_json(data):
    X, y = data
    methods = [Method("a", Spy, {"column": [1, 2]}), Method("b", partial(Spy, column="diverges"))]
    table = compare(spied(X), y, methods, data="d", **FEW)
    (a, b) = json.loads(json.dumps(table.to_dict(), allow_nan=False))["methods"]
    assert (a["method"], b["method"]) == ("a", "b")
    assert [split["auc"] for split in a["splits"]] == table.auc[0].tolist()
    assert a["mean_auc"] == pytest.approx(table.auc[0].mean())
    assert [split["parameters"] for split in a["splits"]] == table.parameters[0]
    assert a["failure"] is None
    assert [split["auc"] for split in b["splits"]] == [None] * 6
    assert b["mean_auc"] is b["pvalue"] is b["mean_seconds"] is None
    assert b["failure"] == table.failures["b"]


def need(name):
    """Return a method, or skip the test if a library that it needs is not installed."""
    method = METHODS[name]
    if method.missing:
        pytest.skip(f"needs {', '.join(method.missing)}")
    return method


@pytest.mark.slow
@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_classifiers_of_scikit_learn_are_standardised_and_tuned_dense_and_sparse(name, data):
    X, y = data
    need(name)
    options = {"n_splits": 2, "n_repeats": 1, "inner_splits": 2, "max_candidates": 2}
    dense = compare(X, y, [name], **options)
    units = compare(X * 2.0 ** np.arange(-9, 9, 3), y, [name], **options)
    np.testing.assert_allclose(dense.auc, units.auc, atol=1e-3)
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    table = compare(rows, y, [name], **options)
    if name in DENSE:
        assert table.failures[name].endswith(f"{name} takes dense rows only, and these are sparse.")
    else:
        assert table.failures == {}


def test_sparse_rows_and_labels_of_any_kind_give_the_same_figures(data):
    X, y = data
    methods = ["GaussianAUC", "RidgeClassifier(alpha=1)"]
    table = compare(X, y, methods, **FEW)
    for rows, labels in ((sparse.csr_array(X), y), (X.tolist(), np.where(y, "sick", "healthy"))):
        np.testing.assert_allclose(compare(rows, labels, methods, **FEW).auc, table.auc, rtol=1e-10)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_seeded_and_its_grid_fits_its_estimator(name):
    method = need(name)
    estimator = seeded_estimator(method, 7, is_sparse=False)
    centring = {key: False for key in estimator.get_params() if key.endswith("with_mean")}
    seeds = [value for key, value in estimator.get_params().items() if key.endswith("random_state")]
    assert set(seeds) <= {7}
    candidates = list_candidates(method.grid, 1000, None)
    assert len(candidates) == math.prod(map(len, method.grid.values()))
    clone(estimator).set_params(**candidates[-1])
    last = last_step(estimator)
    assert hasattr(last, "decision_function") or hasattr(last, "predict_proba")
    assert method.takes_sparse == get_tags(estimator.set_params(**centring)).input_tags.sparse


def test_grids_are_cut_to_the_columns_and_thinned_evenly(data):
    grid = METHODS["SHTAUC"].grid
    assert {point["n_nonzero"] for point in list_candidates(grid, 35, None)} == {10, 20, 30}
    assert list_candidates(grid, 6, None) == [{"n_blocks": n} for n in grid["n_blocks"]]
    thinned = list_candidates(METHODS["OPAUC"].grid, 1000, 30)
    steps, alphas = (sorted({math.log2(point[name]) for point in thinned}) for name in ("eta0", "alpha"))
    assert steps == [-12, -10, -7, -5, -2, 0, 3, 5, 8, 10], "the step keeps the most values"
    assert alphas == [-10, -4, 2]
    assert len(thinned) == 30
    assert list_candidates({"a": [1, 2, 3, 4, 5, 6, 7], "loss": ["x", "y"]}, 9, 4) == [
        {"a": a, "loss": loss} for a in (1, 7) for loss in "xy"
    ]
    assert list_candidates({"a": [1, 2, 3], "loss": ["x", "y"]}, 9, 1) == [{"a": 2, "loss": "y"}]
    assert list_candidates(grid, 1000, 50) == list(ParameterGrid(grid))
    table = compare(*data, [Method("a", Spy, {"column": [0, 1, 2, 3, 4, 5]})], max_candidates=2, **FEW)
    assert {chosen["column"] for chosen in table.parameters[0]} <= {0, 5}


def test_names_with_parameters():
    method = find_method(" SHTAUC( n_nonzero = 10 ) ")
    assert method.name == "SHTAUC(n_nonzero=10)"
    assert set(method.grid) == {"n_blocks"}
    assert method(random_state=1).get_params()["n_nonzero"] == 10
    assert find_method("OPAUC()") == find_method("OPAUC") == METHODS["OPAUC"]
    assert find_method("OPAUCr(rank=3)")().rank == 3
    assert find_method("OPAUCr")().rank == 50
    assert find_method("AUCClassifier(loss='logistic', n_nonzero=[1, 2])")().n_nonzero == [1, 2]
    scaled = find_method("LogisticRegression(C=3)")
    assert scaled.grid == {}
    assert scaled()[-1].C == 3
    assert set(find_method("NSOLAM(n_components=5, eta0=1.0)").grid) == {"solam__radius"}


@pytest.mark.parametrize(
    "text",
    [
        "OPAUC(",
        "OPAUC(0.1)",
        "OPAUC(alpha=__import__('os').system('true'))",
        "OPAUC(alpha=x)",
        "OPAUC(alpha=1, alpha=2)",
        "OPAUC(**{'alpha': 1})",
        "OPAUC(alpha={[]: 1})",
        "OPAUC(alpha=1)(2)",
        "OPAUC(alpha=1); 1",
        "OPAUC(alpha=\0)",
        "OPAUC(alpha=" + "[" * 3000,
    ],
)
def test_hostile_parameters_get_one_sentence(text):
    with pytest.raises(ValueError, match=r"is not a known method: write its name, or NAME\(parameter=value, \.\.\.\)"):
        find_method(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os')", r"'__import__' is not a known method; `aucmax algorithms` lists them all\."),
        ("OPAUC)", r"'OPAUC\)' is not a known method \(closest: OPAUC"),
        ("", "'' is not a known method"),
        ("opauk", r"'opauk' is not a known method \(closest: OPAUC, "),
        ("LogisticRegresion(C=1)", r"\(closest: LogisticRegression"),
        ("OPAUC(alhpa=1)", "OPAUC cannot be given alhpa here; its parameters are alpha, average"),
        ("OPAUC(random_state=1)", "OPAUC cannot be given random_state here"),
        ("SOLAM(max_iter=2, random_state=3)", "SOLAM cannot be given random_state here; its parameters are"),
        ("NSOLAM(n_components=2, max_itr=3)", "NSOLAM cannot be given max_itr here; its parameters are"),
        ("LinearSVC(module='os')", "LinearSVC cannot be given module here"),
        ("AUCClassifier(loss='cubic')", "The 'loss' parameter of AUCClassifier must be"),
        ("LinearSVC(C=-1)", "The 'C' parameter of LinearSVC must be"),
    ],
)
def test_names_and_parameters_that_are_not_there(text, message):
    with pytest.raises(ValueError, match=message):
        find_method(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": []}, "methods must be one or more, all different"),
        ({"methods": ["OPAUC(alpha=1)", "OPAUC( alpha=1 )"]}, "all different; got"),
        ({"n_splits": 1}, "n_splits must be at least 2, got 1"),
        ({"n_repeats": 0}, "n_repeats must be at least 1, got 0"),
        ({"inner_splits": 1}, "inner_splits must be at least 2, got 1"),
        ({"max_candidates": 0}, "max_candidates must be at least 1, got 0"),
        ({"n_splits": 11}, "The rarer class has only 10 rows, too few for 11 folds and 5 inner ones: ask for fewer"),
        ({"n_splits": 2, "inner_splits": 6}, "only 10 rows, too few for 2 folds and 6 inner ones"),
        ({"X": np.full((30, 1), np.nan)}, "X contains NaN"),
        ({"y": np.zeros(30)}, "AUC needs two classes"),
        ({"y": np.arange(30) % 3}, "Only binary classification is supported"),
        ({"y": np.zeros(29)}, "inconsistent numbers of samples"),
    ],
)
def test_compare_refuses_bad_arguments_at_the_start(options, message):
    arguments = {"X": np.arange(30.0)[:, None], "y": np.arange(30) % 3 == 0, "methods": ["OPAUC"], **options}
    with pytest.raises(ValueError, match=message):
        compare(**arguments)


def test_compare_needs_ten_rows_of_a_class_for_five_folds():
    X, y = np.arange(30.0)[:, None], np.arange(30) % 3 == 0
    assert compare(X, y, ["OPAUC(eta0=1)"], n_splits=5, n_repeats=1, max_candidates=2).failures == {}
    assert compare(X, y, ["GaussianAUC"], n_splits=10, n_repeats=1).auc.shape == (1, 10)


def verdicts(**of_methods):
    nothing = np.zeros((len(of_methods), 0))
    return Comparison("", list(of_methods), nothing, nothing, nothing, [], [], [], list(of_methods.values()), {})


def test_win_tie_loss():
    tables = [verdicts(a="", b="win", c="loss"), verdicts(a="", c="win", b="win"), verdicts(a="", b="tie", c="", d="")]
    assert win_tie_loss(tables) == {"b": (2, 1, 0), "c": (1, 0, 1), "d": (0, 0, 0)}
    assert win_tie_loss([]) == {}
    with pytest.raises(ValueError, match="The first method must be the same in all comparisons, got a, b"):
        win_tie_loss([verdicts(a="", b="win"), verdicts(b="", a="win")])


def test_describe_methods_takes_summaries_of_docstrings():
    listed = {each.method: each for each in describe_methods()}
    assert list(listed) == list(METHODS)
    for name, algorithm in ALGORITHMS.items():
        if algorithm.maker == name:
            assert listed[name].summary == inspect.getdoc(algorithm.make).splitlines()[0].rstrip(".")
    assert listed["OPAUCr"].summary == "OPAUC(rank=50)"
    assert listed["SGDClassifier"].grid == "alpha: 1e-06 to 1 (7), loss: hinge/log_loss"
    assert listed["NASAM"].grid == "alpha: 1e-10 to 1e-07 (4)"
    assert all(each.summary and each.family for each in listed.values())


def test_a_method_of_ones_own(data):
    table = compare(*data, ["GaussianAUC", Method("Ridge", RidgeClassifier, {"alpha": [0.1, 10.0]})], **FEW)
    assert table.methods == ["GaussianAUC", "Ridge"]
    assert table.verdicts[1] == "tie"


class FakeTrees(ClassifierMixin, BaseEstimator):
    """Trees with the interface of another library, which keep a record of what they are given."""

    seen: list = []  # noqa: RUF012

    def fit_trees(self, X, y, sample_weight, said, categories):
        self.seen.append((said, X, sample_weight, self.n_jobs))
        self.trees_ = HistGradientBoostingClassifier(max_iter=5, categorical_features=categories)
        self.trees_.fit(X, y, sample_weight)
        self.classes_ = self.trees_.classes_
        return self

    def predict_proba(self, X):
        return self.trees_.predict_proba(X)


class LGBMClassifier(FakeTrees):
    def __init__(self, *, n_jobs=None, verbose=1, learning_rate=0.1, num_leaves=31, random_state=None):
        self.n_jobs, self.verbose, self.random_state = n_jobs, verbose, random_state
        self.learning_rate, self.num_leaves = learning_rate, num_leaves

    def fit(self, X, y, sample_weight=None, categorical_feature="auto"):
        categories = None if categorical_feature == "auto" else categorical_feature
        return self.fit_trees(X, y, sample_weight, categorical_feature, categories)


class ExplainableBoostingClassifier(FakeTrees):
    def __init__(self, *, feature_types=None, n_jobs=-2, random_state=None):
        self.feature_types, self.n_jobs, self.random_state = feature_types, n_jobs, random_state

    def fit(self, X, y, sample_weight=None):
        said = self.feature_types
        return self.fit_trees(X, y, sample_weight, said, said and [each == "nominal" for each in said])


@pytest.mark.parametrize("name", ["LightGBM", "EBM"])
def test_trees_of_other_libraries_get_codes_and_hear_which_columns_are_levels(name, monkeypatch):
    """With a library that has the same interface, where they are not installed."""
    lightgbm, interpret, glassbox = map(types.ModuleType, ("lightgbm", "interpret", "interpret.glassbox"))
    lightgbm.LGBMClassifier, glassbox.ExplainableBoostingClassifier = LGBMClassifier, ExplainableBoostingClassifier
    for module in (lightgbm, interpret, glassbox):
        module.__spec__ = ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(FakeTrees, "seen", seen := [])
    rng = np.random.default_rng(0)
    table = pa.table({"size": rng.normal(size=300), "plan": rng.choice(["a", "b", "c", "d"], 300)})
    y = ((table["plan"].to_numpy() == "b") | (rng.random(300) < 0.2)).astype(int)
    reading = make_reading(summarise_table(table, Overrides()), Overrides())
    codes, weight = reading.codes(table)[0], rng.random(300) + 0.5
    given = {"levels": Levels.of(codes, reading), "sample_weight": weight, "max_candidates": 2}
    found = compare(np.nan_to_num(codes[:, :1]), y, [name, "RidgeClassifier(alpha=1)"], **FEW | given)
    assert found.failures == {}
    assert found.auc[0].mean() > 0.2 + found.auc[1].mean(), "the levels alone tell the classes apart"
    for said, X, sample_weight, n_jobs in seen:
        assert list(said) == ([1] if name == "LightGBM" else ["continuous", "nominal"])
        assert type(X) is np.ndarray
        assert set(X[:, 1]) <= {0, 1, 2, 3}
        assert (len(sample_weight), n_jobs) == (len(X), 1)
    numbers = find_method(name)().fit(codes[:, :1], y)
    assert seen[-1][0] in ("auto", None), "a matrix has no levels"
    assert numbers.predict_proba(codes[:, :1]).shape == (300, 2)
