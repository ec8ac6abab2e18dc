"""Studies: the papers' tables as data, read, measured and kept."""

import json
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, train_test_split

from aucmax import OPAUC, SPDAM, GaussianAUC, RegSOLAM, roc_auc, support_f1
from aucmax.compare.tuning import sample_rows
from aucmax.datasets import make_gaussian, make_sparse_shift
from aucmax.papers import PAPERS
from aucmax_studies.reproduce.catalogue import Dataset, Unavailable
from aucmax_studies.reproduce.running import running
from aucmax_studies.reproduce.running.effort import EFFORTS, Effort
from aucmax_studies.reproduce.running.groupings import _groups, match_grouping, measure_groupings
from aucmax_studies.reproduce.running.running import run_study
from aucmax_studies.reproduce.running.samples import Draws, Folds, scale
from aucmax_studies.reproduce.running.store import (
    Grouping,
    Recipe,
    Record,
    Session,
    Setting,
    Store,
    gather_results,
    read_results,
    results_file,
)
from aucmax_studies.reproduce.study import SCALINGS, Protocol, Subject, Value
from aucmax_studies.reproduce.study_file import list_studies, read_study, read_values

STUDY = """
paper = "OPAUC"
label = "Table 9"
title = "A study"
metrics = ["auc", "accuracy"]
[protocol]
scaling = "minmax"
folds = 3
repeats = 2
inner_folds = 3
[methods.ours]
method = "OPAUC(average=False, standardize=False)"
grid = { eta0 = [0.01, 0.1] }
[methods.fast]
method = "GaussianAUC"
[data.cancer]
[data.gone]
missing = "Nobody has it."
[published]
auc = '''
data   | ours       | fast
cancer | .99±.01    | .98±.02•
gone   | .5         | -
'''
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="own"):
        path = tmp_path / f"{name}.toml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


@pytest.fixture
def cancer(monkeypatch):
    """The catalogue holds one data set of three classes; the names of what was loaded are kept."""
    X, y = load_breast_cancer(return_X_y=True)
    labels = y * (1 + (X[:, 0] > 13))
    loaded = []

    def load(name, *, positive, drop_columns, data_dir, download):
        loaded.append(name)
        if name == "wide":
            return Dataset(name, sparse.csr_array(X), y, y)
        if name != "cancer":
            raise Unavailable(f"{name} cannot be had.")
        kept = np.setdiff1d(np.arange(X.shape[1]), drop_columns)
        return Dataset(name, X[:, kept], np.isin(labels, positive or [1, 2]).astype(int), labels)

    monkeypatch.setattr(running, "load", load)
    return loaded


# What a study is


@pytest.mark.parametrize("name", list_studies())
def test_every_study_that_comes_with_the_package_is_whole(name):
    study = read_study(name)
    assert study.paper in PAPERS
    assert study.label
    assert study.title
    assert study.claim
    kind = name.split("-")[1]
    assert study.label.lower().startswith(kind)
    assert (study.curve is not None or study.metrics == ["seconds"]) == (kind == "figure")
    if kind == "table":
        methods = {method for _, method in study.published[study.metrics[0]]}
        assert methods, "a table has published figures"
        named = {data for data, _ in study.published[study.metrics[0]]}
        assert named <= set(study.subjects)
        assert {data.partition(", ")[0] for data in study.subjects} == named, "others are variations of these"
    for entry in study.methods.values():
        assert entry.method() is not None


def test_all_tables_and_figures_of_the_five_papers_are_there():
    figures = {"spdam": (1, 2), "psam": (1,), "opauc": (1, 2, 3, 4, 5, 6), "sht": (1, 2, 3, 4), "gaussian": (1, 2)}
    tables = {"spdam": (3,), "psam": (2, 3), "opauc": (2, 3, 5), "sht": (1, 2, 3), "gaussian": (2, 4, 5, 6, 11, 12)}
    wanted = {f"{paper}-table-{n}" for paper, numbers in tables.items() for n in numbers}
    wanted |= {f"{paper}-figure-{n}" for paper, numbers in figures.items() for n in numbers}
    assert set(list_studies()) == wanted


@pytest.mark.parametrize(
    ("figure", "table"), [("opauc-figure-1", "opauc-table-2"), ("opauc-figure-2", "opauc-table-5")]
)
def test_figures_of_times_are_those_of_the_fits_of_a_table(figure, table):
    times, fits = read_study(figure), read_study(table)
    assert {label: tuple(entry.same_as) for label, entry in times.methods.items()} == {
        label: (table, label) for label in times.methods
    }
    published = {method for _, method in fits.published["auc"]}
    assert set(times.methods) == published
    assert times.protocol == fits.protocol
    whole = {label: subject for label, subject in fits.subjects.items() if not subject.methods}
    assert times.subjects == {label: subject._replace(grouping="") for label, subject in whole.items()}


def test_as_many_weights_are_kept_as_there_are_true_features_for_every_share_of_positives():
    drawn = [(s.options["n_informative"], s.options["ratio"]) for s in read_study("sht-figure-1").subjects.values()]
    assert sorted(drawn) == [(k, r) for k in (20, 40, 60, 80) for r in (0.05, 0.25, 0.5)]
    for subject in read_study("sht-figure-1").subjects.values():
        assert subject.parameters == {"n_nonzero": subject.options["n_informative"]}
        assert subject.label == f"k* = {subject.options['n_informative']}, r = {subject.options['ratio']}"


def test_figures_are_read_as_they_are_printed(write):
    study = read_study(write(STUDY))
    assert study.published["auc"] == {
        ("cancer", "ours"): Value(0.99, 0.01),
        ("cancer", "fast"): Value(0.98, 0.02, "•"),
        ("gone", "ours"): Value(0.5),
    }
    study = read_study(
        write(STUDY.replace("[published]", "[published]\npercent = true").replace(".98±.02•", "97.508 ± 0.143◦"))
    )
    assert study.published["auc"]["cancer", "fast"] == Value(0.97508, 0.00143, "◦")


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ("2^[-2:1]", [0.25, 0.5, 1, 2]),
        ("10^[-10:-9]", [1e-10, 1e-9]),
        ("[1:9:100]", [1, 10, 19, 28, 37, 46, 55, 64, 73, 82, 91, 100]),
        ("[10:10:30]", [10, 20, 30]),
        ([3, 1], [3, 1]),
    ],
)
def test_ranges_are_those_of_the_papers(values, numbers):
    assert read_values(values) == numbers


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('paper = "OPAUC"', 'paper = "XYZ"', "paper is 'XYZ'; there are OPAUC"),
        ('label = "Table 9"', "", "there is no 'label'"),
        ('scaling = "minmax"', 'scaling = "log"', "scaling is 'log'; there are none, minmax"),
        ("folds = 3", "fold = 3", "'fold' is not known; there are scaling, folds"),
        ("[data.gone]", "[data.gone]\nfile = 'x'", "'file' is not known; there are label, name"),
        ("eta0 = [0.01, 0.1]", "eta = [1]", "has no parameter 'eta'"),
        ("eta0 = [0.01, 0.1]", 'eta0 = "2^-12"', "'2^-12' is no range"),
        ("GaussianAUC", "GaussianACU", "'GaussianACU' is not a known method (closest: GaussianAUC"),
        ("cancer | .99±.01 ", "cancers | .99±.01 ", "line 'cancers' of published auc"),
        ("| fast\n", "| slow\n", "column 'slow' of published auc is no method"),
        (".98±.02•", "high", "'high' in line 'cancer' of published auc is no figure"),
        ("title = ", "titel = 1\ntitle = ", "'titel' is not known"),
        ("[published]", "[curve]\nparameter = 'x'\nvalues = [1]\nof = 'me'\n[published]", "curve.of is 'me'"),
        ("[published]", "[[reasons]]\ntext = ''\n[published]", "a reason needs 'run'"),
        ("[published]", "[[reasons]]\ntext = ''\nrun = 'x'\n[published]", "a reason names 'x'"),
        ("[published]", "[published]\nruns = 1", "published runs is 1; it is 2 or more"),
        (
            "[published]",
            "[published]\nfitted = [{ method = 'x' }]",
            "published fitted names 'x', which is neither data nor method",
        ),
        ("[published]", "[[reasons]]\ntext = ''\nrun = 'ours'\ndata = ['x']\n[published]", "a reason names 'x'"),
        ("folds = 3\nrepeats", 'folds = "3"\nrepeats', "folds is '3', which is no int"),
        ("folds = 3\nrepeats", "folds = 1\nrepeats", "folds and inner_folds are 2 or more"),
        ('metrics = ["auc", "accuracy"]', "metrics = 3", "metrics is 3, which is no list"),
        ('metrics = ["auc", "accuracy"]', "metrics = []", "it needs metrics, data and methods"),
        ("eta0 = [0.01, 0.1]", "eta0 = 3", "3 is no range"),
        ("eta0 = [0.01, 0.1]", "eta0 = []", "[] is no range"),
        ("eta0 = [0.01, 0.1]", 'eta0 = "2^[5:1]"', "'2^[5:1]' is no range"),
        ("[data.gone]", "[data.gone]\npositive = 1", "positive is 1, which is no Sequence[Any]"),
        ("[published]", "[[reasons]]\nrun = 'ours'\n[published]", "a reason needs 'text'"),
        ("[published]", "[curve]\nparameter = 'depth'\nvalues = [1]\n[published]", "has no parameter 'depth' to vary"),
        (
            "[data.gone]",
            "[data.gone]\nparameters = { nothing = 1 }",
            "no method has a parameter 'nothing' to set for gone",
        ),
        ("[methods.fast]", "[methods.fast]\nmax_rows = 'many'", "max_rows is 'many', which is no int | None"),
        ("[data.gone]\n", "[data.gone]\ngenerator = 'make_gaussian'\n", "generated data need protocol.runs"),
        ('label = "Table 9"', "label = ", "Invalid value"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_a_sentence(write, old, new, sentence):
    assert old in STUDY
    path = write(STUDY.replace(old, new))
    with pytest.raises(ValueError, match=r"own\.toml is no study: ") as error:
        read_study(path)
    assert sentence in str(error.value)


def test_an_unknown_name_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="There is no study 'opauc-table-99'; there are spdam-table-3, "):
        read_study("opauc-table-99")


# What is kept


def test_results_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "own.jsonl"
    entries = [
        Session("2026-01-01", "a machine", {"numpy": "2.0"}, 2, "quick"),
        Setting("cancer", 569, 30, 0.6, 569, 6),
        Record("cancer", "ours", 0, metrics={"auc": np.float64(0.5)}, parameters={"n": np.int64(3)}),
        Record("cancer", "ours", 0, 0.5, failure="naïve"),
        Grouping("cancer", 3, 0.1, 0.2, 0.3, 0.25),
    ]
    for entry in entries:
        with Store(path) as store:
            store.add(entry)
    results = read_results(path)
    assert results.sessions == entries[:1]
    assert results.settings == {"cancer": entries[1]}
    assert results.records == entries[2:4]
    assert results.groupings == {"cancer": entries[4]}
    assert read_results(tmp_path / "none").records == []


def test_half_a_line_is_skipped_and_the_next_result_gets_its_own_line(tmp_path):
    path = tmp_path / "own.jsonl"
    with Store(path) as store:
        store.add(Record("a", "b", 0, metrics={"auc": 0.5}))
        store.add(Record("a", "b", 1, metrics={"auc": 0.6}))
    path.write_bytes(path.read_bytes()[:-9])
    with Store(path) as store:
        store.add(Record("a", "b", 2, metrics={"auc": 0.7}))
    assert [record.run for record in read_results(path).records] == [0, 2]


def test_of_two_results_of_one_cell_the_later_counts(tmp_path):
    path = tmp_path / "own.jsonl"
    with Store(path) as store:
        for auc in (0.5, 0.6):
            store.add(Record("a", "b", 0, metrics={"auc": auc}))
    assert [record.metrics["auc"] for record in read_results(path).records] == [0.6]


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"record": {"colour": "red"}}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"own.jsonl, line 1, is no result of a study\."):
        read_results(path)


# What is measured on


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rows_are_scaled_as_the_paper_says(scaling):
    X = np.random.default_rng(0).exponential(size=(50, 4)) + 1
    scaled = scale(X, scaling)
    norms = np.linalg.norm(scaled, axis=1)
    if scaling == "minmax":
        np.testing.assert_allclose([scaled.min(axis=0), scaled.max(axis=0)], [[-1] * 4, [1] * 4])
    elif scaling == "standard":
        np.testing.assert_allclose([scaled.mean(axis=0), scaled.std(axis=0)], [[0] * 4, [1] * 4], atol=1e-12)
    elif scaling == "none":
        assert scaled is X
    elif scaling == "minmax constant":
        np.testing.assert_array_equal(scaled, np.hstack([scale(X, "minmax"), np.ones((50, 1))]))
    else:
        np.testing.assert_allclose(norms, 1)
        scaled_columns = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
        directions = {
            "unit": X,
            "centred unit": X - X.mean(axis=0),
            "minmax unit": scaled_columns,
            "standard unit": (X - X.mean(axis=0)) / X.std(axis=0),
        }
        direction = directions[scaling]
        np.testing.assert_allclose(scaled, direction / np.linalg.norm(direction, axis=1, keepdims=True))


@pytest.mark.parametrize("scaling", list(SCALINGS)[1:])
def test_sparse_rows_keep_their_zeros(scaling):
    X = sparse.random_array((50, 20), density=0.2, format="csr", random_state=0)
    scaled = scale(X, scaling)
    assert scaled.nnz == X.nnz + (50 if scaling == "minmax constant" else 0)
    assert np.abs(scaled.data).max() <= 1 or scaling == "standard"


def test_draws_are_new_in_each_run_and_the_same_each_time():
    subject = Subject(
        "s", generator="make_sparse_shift", options={"n_informative": 5, "n_samples": 60, "n_features": 8}
    )
    draws = Draws(subject, "unit", Protocol(runs=3, test_size=0.25), None)
    X, y, support = make_sparse_shift(60, 8, n_informative=5, random_state=2)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    parts = train_test_split(X, y, test_size=0.25, stratify=y, random_state=1)
    for got, expected in zip(draws.split(1, {}), [parts[0], parts[2], parts[1], parts[3], support], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert draws.split(0, {"ratio": 0.5}).y_train.mean() == pytest.approx(0.5, abs=0.02)
    assert Draws(subject, "none", Protocol(runs=3), 40).shape[:2] == (40, 8)


def test_gaussian_draws_share_their_moments_and_are_tested_on_clean_rows():
    options = {"name": "data3", "n_samples": 500, "n_features": 3, "outliers": 0.4}
    draws = Draws(Subject("g", generator="make_gaussian", options=options), "none", Protocol(runs=2), None)
    first, second = draws.split(0, {}), draws.split(1, {})
    assert first.truth is second.truth
    assert not np.array_equal(first.X_train, second.X_train)
    assert (len(first.y_train), len(first.y_test)) == (400, 100)
    exact = GaussianAUC().fit_moments(first.truth)
    assert exact.score(first.X_test, first.y_test) > 0.97  # 40% of outliers leave the training rows near 0.6
    assert exact.score(first.X_train, first.y_train) < 0.75


@pytest.mark.parametrize(
    ("n_samples", "effort", "runs"),
    [
        (1000, "standard", 20),
        (5001, "standard", 20),
        (1000, "quick", 2),
        (5001, "full", 20),
    ],
)
def test_standard_runs_have_all_draws(n_samples, effort, runs):
    study = read_study("sht-table-2")
    subject = study.subjects["k* = 20"]._replace(options={"n_samples": n_samples})
    level = EFFORTS[effort]
    samples, _ = running._open(study, subject, level, None, False)
    assert running._setting(study, samples[""], subject.label, level, 0).runs == runs


def test_too_few_rows_of_a_class_are_said():
    with pytest.raises(Unavailable, match="the rarer class has 2 rows, too few for 5 folds"):
        Folds(np.zeros((9, 1)), np.array([1, 1, 0, 0, 0, 0, 0, 0, 0]), Protocol(), Subject("few"))


def test_all_runs_may_be_repeated_with_folds_that_are_stratified_or_not():
    y = np.repeat([0, 1], [40, 10])
    usual = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0).split(np.zeros(50), y)
    folds = Folds(np.zeros((50, 1)), y, Protocol(repeats=2), Subject("rows"))
    assert all(np.array_equal(*pair) for pair in zip([t for _, t in usual], [t for _, t in folds.splits], strict=True))
    for stratified in (True, False):
        folds = Folds(np.zeros((50, 1)), y, Protocol(repeats=2), Subject("rows", repeats=3, stratified=stratified))
        tests = [test for _, test in folds.splits]
        assert len(tests) == 5 * 2 * 3
        for first in range(0, len(tests), 5):
            np.testing.assert_array_equal(np.sort(np.concatenate(tests[first : first + 5])), np.arange(50))
        assert all(y[test].sum() == 2 for test in tests) == stratified
        assert all(len(np.unique(y[test])) == 2 for test in tests)
        once = Folds(np.zeros((50, 1)), y, Protocol(repeats=2), Subject("rows", stratified=stratified))
        assert all(np.array_equal(*pair) for pair in zip([t for _, t in once.splits], tests, strict=False))


# What is measured


def test_cells_are_those_of_the_protocol_by_hand(write, cancer, tmp_path):
    results = run_study(read_study(write(STUDY)), tmp_path / "r.jsonl", effort="full")
    assert results.settings["gone"].missing == "Nobody has it."
    assert results.settings["cancer"] == Setting("cancer", 569, 30, pytest.approx(0.627, abs=1e-3), 569, 6)
    assert [session.effort for session in results.sessions] == ["full"]
    found = {(record.method, record.run): record for record in results.records}
    assert len(found) == len(results.records) == 2 * 6
    X, y = load_breast_cancer(return_X_y=True)
    X = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    splits = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y))
    for run in (0, 4):
        train, test = splits[run]
        inner = list(StratifiedKFold(3, shuffle=True, random_state=run).split(X[train], y[train]))

        def fit(eta0, rows, run=run):
            return OPAUC(eta0=eta0, average=False, standardize=False, random_state=run).fit(X[rows], y[rows])

        means = [
            np.mean([fit(eta0, train[a]).score(X[train[b]], y[train[b]]) for a, b in inner]) for eta0 in (0.01, 0.1)
        ]
        best = (0.01, 0.1)[int(np.argmax(means))]
        record = found["ours", run]
        assert record.parameters == {"eta0": best}
        clf = fit(best, train)
        assert record.metrics["auc"] == pytest.approx(clf.score(X[test], y[test]), abs=1e-6)
        assert record.metrics["accuracy"] == pytest.approx(np.mean(clf.predict(X[test]) == y[test]), abs=1e-6)
        assert record.metrics["seconds"] > 0
        gaussian = GaussianAUC().fit(X[train], y[train])
        assert found["fast", run].metrics["auc"] == pytest.approx(gaussian.score(X[test], y[test]), abs=1e-6)
        assert found["fast", run].parameters == {}


def test_a_stopped_run_resumes(write, cancer, tmp_path):
    study, path = read_study(write(STUDY)), tmp_path / "r.jsonl"
    whole = run_study(study, path, effort="full")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-5]) + lines[-5][:20])  # killed while writing
    kept = {(record.method, record.run) for record in read_results(path).records}
    assert 0 < len(kept) < 12
    fitted, counts = [], []

    def watch(record, count, total):
        fitted.append((record.method, record.run))
        counts.append((count, total))

    again = run_study(study, path, effort="full", on_progress=watch)
    assert not kept & set(fitted)
    assert counts == [(k, 12) for k in range(len(kept) + 1, 13)]

    def values(results):
        return {(r.method, r.run): (r.metrics["auc"], r.parameters) for r in results.records}

    assert values(again) == values(whole)
    assert len(again.sessions) == 2
    cancer.clear()
    run_study(study, path, effort="full", on_progress=watch)  # nothing to do: not even the data are read
    assert cancer == []
    assert len(read_results(path).sessions) == 2


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ("[0.01, 0.1]", "[0.01, 0.2]", {"ours"}),
        ('"GaussianAUC"', '"GaussianError"', {"fast"}),
        ('scaling = "minmax"', 'scaling = "standard"', {"ours", "fast"}),
        ("[data.cancer]", "[data.cancer]\npositive = [2]", {"ours", "fast"}),
        ("A study", "The same study", set()),
        (".99±.01", ".98±.01", set()),
    ],
)
def test_what_has_changed_in_a_study_is_measured_again(write, cancer, tmp_path, old, new, again):
    path = tmp_path / "r.jsonl"
    run_study(read_study(write(STUDY)), path, effort="quick")
    fitted = []
    study = read_study(write(STUDY.replace(old, new)))
    results = run_study(study, path, effort="quick", on_progress=lambda record, *_: fitted.append(record.method))
    assert set(fitted) == again
    assert len(results.records) == 4
    assert run_study(study, path, effort="quick") == results
    fresh = run_study(study, tmp_path / "fresh.jsonl", effort="quick")
    assert {(r.method, r.run, r.metrics["auc"]) for r in results.records} == {
        (r.method, r.run, r.metrics["auc"]) for r in fresh.records
    }


def drop_last_record(path):
    """Leave one fit to do."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines.pop(max(k for k, line in enumerate(lines) if b'{"record"' in line))
    path.write_bytes(b"".join(lines))


def test_other_rows_under_the_same_name_are_measured_again(write, cancer, tmp_path, monkeypatch):
    study, path = read_study(write(STUDY)), tmp_path / "r.jsonl"
    run_study(study, path, effort="full")
    load = running.load

    def fewer(*arguments, **options):
        data = load(*arguments, **options)
        return data._replace(features=data.features[:300], y=data.y[:300], labels=data.labels[:300])

    monkeypatch.setattr(running, "load", fewer)
    drop_last_record(path)
    results = run_study(study, path, effort="full")
    assert results.settings["cancer"].rows == 300
    fresh = run_study(study, tmp_path / "fresh.jsonl", effort="full")
    assert {(r.method, r.run, r.metrics["auc"]) for r in results.records} == {
        (r.method, r.run, r.metrics["auc"]) for r in fresh.records
    }


def test_data_that_are_gone_leave_what_was_measured(write, cancer, tmp_path, monkeypatch):
    study, path = read_study(write(STUDY)), tmp_path / "r.jsonl"
    before = run_study(study, path, effort="quick")
    monkeypatch.setattr(running, "load", lambda *_, **__: (_ for _ in ()).throw(Unavailable("gone.")))
    drop_last_record(path)
    after = run_study(study, path, effort="quick")
    assert after.settings == before.settings
    assert len(after.records) == len(before.records) - 1


def test_failed_fits_are_tried_again(write, cancer, tmp_path, monkeypatch):
    study, path = read_study(write(STUDY)), tmp_path / "r.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(running, "tune_and_fit", lambda *_, **__: (_ for _ in ()).throw(MemoryError("too large")))
        assert {r.failure for r in run_study(study, path, effort="quick").records} == {"too large"}
    assert {r.failure for r in run_study(study, path, effort="quick").records} == {""}


def test_two_processes_do_not_write_one_file(tmp_path):
    with Store(tmp_path / "r.jsonl"), pytest.raises(ValueError, match=r"r\.jsonl is being written by another process"):
        Store(tmp_path / "r.jsonl")
    Store(tmp_path / "r.jsonl").__exit__()


def test_results_of_another_recipe_are_left_out_of_pages(write, cancer, tmp_path):
    study = read_study(write(STUDY))
    run_study(study, results_file(tmp_path, "own"), effort="quick")
    assert {r.method for r in gather_results(tmp_path, study).records} == {"ours", "fast"}
    changed = read_study(write(STUDY.replace("[0.01, 0.1]", "[0.2]")))
    assert {r.method for r in gather_results(tmp_path, changed).records} == {"fast"}


@pytest.mark.parametrize(
    "line",
    [
        '{"record": {"data": ["a"], "method": "m", "run": 0}}',
        '{"record": {"data": "a", "method": "m", "run": 0, "metrics": 3}}',
    ],
)
def test_results_of_wrong_types_are_refused(tmp_path, line):
    (tmp_path / "r.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=r"r\.jsonl, line 1, is no result of a study"):
        read_results(tmp_path / "r.jsonl")


def test_results_of_another_effort_are_not_mixed(write, cancer, tmp_path):
    study = read_study(write(STUDY))
    run_study(study, tmp_path / "r.jsonl", effort="quick")
    before = (tmp_path / "r.jsonl").read_bytes()
    with pytest.raises(ValueError, match="holds results of a quick run: a full one needs another folder"):
        run_study(study, tmp_path / "r.jsonl", effort="full")
    assert (tmp_path / "r.jsonl").read_bytes() == before


def test_efforts_cap_rows_runs_and_candidates(write, cancer, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "ONE_ROUND", 100)
    monkeypatch.setitem(EFFORTS, "standard", Effort("standard", 400, 500, 99, 4, 2, 1, 1, 399, 9_500))
    study = read_study(write(STUDY.replace("[0.01, 0.1]", '"2^[-9:-2]"')))
    results = run_study(study, tmp_path / "r.jsonl")
    setting = results.settings["cancer"]
    assert (setting.rows, setting.all_rows, setting.runs, setting.candidates) == (400, 569, 4, 1)
    assert setting.first_rows == 9_500 // 30
    assert len({record.parameters["eta0"] for record in results.records if record.method == "ours"}) == 1
    monkeypatch.setitem(EFFORTS, "standard", Effort("standard", 400, 300, 99, 4, 2, 1))
    results = run_study(study, tmp_path / "s.jsonl")
    assert (results.settings["cancer"].runs, results.settings["cancer"].first_rows) == (2, 0)


def test_the_search_of_a_method_may_begin_with_more_rows(write, cancer, tmp_path, monkeypatch):
    def noted(*arguments, **options):
        begun.append(options["first_rows"])
        return tune_and_fit(*arguments, **options)

    begun, tune_and_fit = [], running.tune_and_fit
    monkeypatch.setattr(running, "tune_and_fit", noted)
    monkeypatch.setattr(running, "ONE_ROUND", 100)
    monkeypatch.setitem(
        EFFORTS, "standard", Effort("standard", 400, few_rows=0, runs=1, first_rows=100, first_values=10**6)
    )
    grid = "grid = { eta0 = [0.01, 0.1] }"
    for more, expected in (("", 100), ("\nfirst_rows = 200", 200), ("\nfirst_rows = 50", 100)):
        run_study(read_study(write(STUDY.replace(grid, grid + more))), tmp_path / f"{expected}{more[-3:]}.jsonl")
        assert begun == [expected, 100]
        begun.clear()


def test_candidates_may_be_tried_on_fewer_rows_of_a_data_set(write, cancer, tmp_path, monkeypatch):
    def noted(*arguments, **options):
        tried.append(options["last_rows"])
        return tune_and_fit(*arguments, **options)

    tried, tune_and_fit = [], running.tune_and_fit
    monkeypatch.setattr(running, "tune_and_fit", noted)
    monkeypatch.setitem(EFFORTS, "standard", Effort("standard", 400, few_rows=0, runs=1))
    for more, expected in (("", None), ("\ntuning_rows = 200", 200)):
        run_study(read_study(write(STUDY.replace("[data.cancer]", "[data.cancer]" + more))), tmp_path / f"r{expected}")
        assert tried == [expected, expected]
        tried.clear()


def test_runs_that_a_study_asks_for_later_are_measured(write, cancer, tmp_path, monkeypatch):
    monkeypatch.setitem(EFFORTS, "standard", Effort("standard", 200, few_rows=0, runs=1))
    first = run_study(read_study(write(STUDY)), tmp_path / "r")
    later = run_study(read_study(write(STUDY.replace("[data.cancer]", "[data.cancer]\nruns = 3"))), tmp_path / "r")
    assert [r for r in later.records if r.run == 0] == list(first.records)
    assert {(r.method, r.run) for r in later.records} == {(m, run) for m in ("ours", "fast") for run in range(3)}
    assert (first.settings["cancer"].runs, later.settings["cancer"].runs) == (1, 3)


def test_a_method_may_see_fewer_rows(write, cancer, tmp_path):
    study = read_study(write(STUDY.replace('method = "GaussianAUC"', 'method = "GaussianAUC"\nmax_rows = 50')))
    record = next(
        r for r in run_study(study, tmp_path / "r", effort="full").records if (r.method, r.run) == ("fast", 3)
    )
    X, y = load_breast_cancer(return_X_y=True)
    X = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    train, test = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y))[3]
    rows = train[sample_rows(len(train), 50, 3)]
    assert len(rows) == 50
    assert record.metrics["auc"] == pytest.approx(GaussianAUC().fit(X[rows], y[rows]).score(X[test], y[test]), abs=1e-6)


def test_a_method_may_see_other_columns_and_fewer_candidates(write, cancer, tmp_path):
    own = """method = "GaussianAUC"\nscaling = "unit"\ngrid = { alpha = [0.5, 1.0, 2.0] }\ncandidates = 1"""
    study = read_study(write(STUDY.replace('method = "GaussianAUC"', own)))
    found = {(r.method, r.run): r for r in run_study(study, tmp_path / "r", effort="full").records}
    assert found["fast", 0].parameters == {"alpha": 1.0}, "of three candidates the middle one"
    X, y = load_breast_cancer(return_X_y=True)
    train, test = next(RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0).split(X, y))
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    clf = GaussianAUC(alpha=1.0).fit(X[train], y[train])
    assert found["fast", 0].metrics["auc"] == pytest.approx(clf.score(X[test], y[test]), abs=1e-6)


def test_failures_and_data_that_cannot_be_had_are_kept(write, cancer, tmp_path):
    text = STUDY.replace('method = "GaussianAUC"', 'method = "SHTAUC(n_nonzero=500)"') + "[data.far]\n"
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="quick")
    assert results.settings["far"].missing == "far cannot be had."
    failures = {record.failure for record in results.records if record.method == "fast"}
    assert len(failures) == 1
    assert "500" in failures.pop()
    assert all(not record.failure for record in results.records if record.method == "ours")


GENERATED = """
paper = "SHT"
label = "Value 9"
title = "Curves"
metrics = ["auc", "f1"]
[protocol]
runs = 2
[methods.SHT]
method = "SHTAUC"
grid = { n_nonzero = [3, 6], n_blocks = [1] }
[methods.reference]
method = "AUCClassifier(loss='squared', alpha=0.01)"
constant = true
[data.drawn]
generator = "make_sparse_shift"
options = { n_samples = 200, n_features = 20, n_informative = 4, ratio = 0.3, shift = 1.0 }
[curve]
parameter = "n_nonzero"
values = [2, 4, 8, 20]
"""


def test_a_curve_of_a_parameter_has_a_fit_for_each_value_and_one_of_a_constant(write, tmp_path):
    results = run_study(read_study(write(GENERATED)), tmp_path / "r.jsonl", effort="full")
    cells = sorted((r.method, r.run, r.x or 0) for r in results.records)
    assert cells == [
        *(("SHT", run, x) for run in range(2) for x in (2, 4, 8, 20)),
        *(("reference", run, 0) for run in range(2)),
    ]
    found = {(r.method, r.run, r.x): r for r in results.records}
    assert found["SHT", 0, 4].parameters == {"n_blocks": 1}, "the parameter of the curve is not tuned"
    X, y, support = make_sparse_shift(200, 20, n_informative=4, ratio=0.3, shift=1.0, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    reference = found["reference", 0, None].metrics
    from aucmax import SHTAUC, AUCClassifier

    clf = AUCClassifier("squared", alpha=0.01).fit(X, y)
    assert reference["auc"] == pytest.approx(roc_auc(y_test, clf.decision_function(X_test)), abs=1e-6)
    weights = clf.coef_.ravel()
    assert reference["f1"] == pytest.approx(support_f1(np.where(np.abs(weights) > 1e-3, weights, 0), support), abs=1e-6)
    sht = SHTAUC(n_nonzero=4, n_blocks=1, random_state=0).fit(X, y)
    assert found["SHT", 0, 4].metrics["auc"] == pytest.approx(sht.score(X_test, y_test), abs=1e-6)


@pytest.mark.parametrize("kind", [SPDAM, RegSOLAM])
def test_loss_and_gap_are_those_of_all_pairs(kind):
    """The gap is that of the objective of each: of SPDAM f/2 + alpha/2 |w|^2, of the paper's regSOLAM p (1 - p) f."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + rng.normal(size=40) > 0.5).astype(int)
    pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, 3)
    clf = kind(variant="paper", alpha=0.1, max_iter=2, tol=None, random_state=0).fit(X, y)
    found = running._measure_metrics(clf, running.Split(X, y, X, y), ["loss", "gap"])
    assert found["loss"] == pytest.approx(np.mean((1 - pairs @ clf.coef_[0]) ** 2), abs=1e-6)
    alpha = 0.1 / (y.mean() * (1 - y.mean())) if kind is RegSOLAM else 0.1

    def objective(w):
        return np.mean((1 - pairs @ w) ** 2) / 2 + alpha / 2 * w @ w

    best = np.linalg.solve(pairs.T @ pairs / len(pairs) + alpha * np.eye(3), pairs.mean(axis=0))
    assert found["gap"] == pytest.approx(objective(clf.coef_[0]) - objective(best), rel=1e-5)


def test_parameters_of_data_are_those_of_all_methods_there_and_part_of_the_recipe(write, tmp_path):
    text = (
        GENERATED.replace("n_nonzero = [3, 6], n", "n")
        .replace('"n_nonzero"', '"max_iter"')
        .replace("constant = true", "")
    )
    text = text.replace("AUCClassifier(loss='squared', alpha=0.01)", "StoIHT")
    plain = read_study(write(text))
    study = read_study(write(text.replace("[data.drawn]", "[data.drawn]\nparameters = { n_nonzero = 3 }")))
    for (subject, method), recipe in study.recipes().items():
        assert ("'parameters': {'n_nonzero': 3}" in recipe) == bool(subject)
        if method:
            assert recipe == plain.recipes()["", method]
    assert "parameters" not in plain.recipes()["drawn", ""], "results of before there were parameters stay valid"
    results = run_study(study, tmp_path / "r.jsonl", effort="full")
    found = {(r.method, r.run, r.x): r for r in results.records}
    X, y, _ = make_sparse_shift(200, 20, n_informative=4, ratio=0.3, shift=1.0, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    from aucmax import SHTAUC, StoIHT

    for method, clf in (("SHT", SHTAUC(n_blocks=1)), ("reference", StoIHT())):
        clf.set_params(n_nonzero=3, max_iter=8, random_state=0).fit(X, y)
        assert found[method, 0, 8].metrics["auc"] == pytest.approx(clf.score(X_test, y_test), abs=1e-6)


def test_quick_curves_have_few_points_with_their_ends(write, tmp_path):
    text = GENERATED.replace("[2, 4, 8, 20]", '"[2:2:20]"')
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="quick")
    xs = sorted({record.x for record in results.records if record.x is not None})
    assert len(xs) == EFFORTS["quick"].points
    assert xs[0] == 2
    assert xs[-1] == 20


def test_a_curve_of_the_data_changes_the_generator(write, tmp_path):
    text = GENERATED.replace('parameter = "n_nonzero"', 'parameter = "ratio"\nof = "data"').replace(
        "[2, 4, 8, 20]", "[0.1, 0.5]"
    )
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="full")
    found = {(r.method, r.run, r.x): r for r in results.records}
    assert len(found) == 8
    X, y, _ = make_sparse_shift(200, 20, n_informative=4, ratio=0.5, shift=1.0, random_state=2)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
    from aucmax import AUCClassifier

    clf = AUCClassifier("squared", alpha=0.01).fit(X, y)
    assert found["reference", 1, 0.5].metrics["auc"] == pytest.approx(clf.score(X_test, y_test), abs=1e-6)


def test_a_curve_of_the_rows_trains_on_a_share_or_a_number_of_them(write, tmp_path):
    text = GENERATED.replace('parameter = "n_nonzero"', 'parameter = "rows"\nof = "rows"').replace(
        "[2, 4, 8, 20]", "[0.5, 80]"
    )
    found = {
        (r.method, r.run, r.x): r.metrics["auc"]
        for r in run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="full").records
    }
    assert found["reference", 0, 0.5] == found["reference", 0, 80], "half of 160 rows are 80"
    X, y, _ = make_sparse_shift(200, 20, n_informative=4, ratio=0.3, shift=1.0, random_state=1)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    from aucmax import AUCClassifier

    rows = sample_rows(160, 80, 0)
    clf = AUCClassifier("squared", alpha=0.01).fit(X[rows], y[rows])
    assert found["reference", 0, 80] == pytest.approx(clf.score(X_test, y_test), abs=1e-6)


def test_exact_moments_are_those_of_the_generator(write, tmp_path):
    text = """
    paper = "Gaussian"
    label = "Table 9"
    title = "Moments"
    [protocol]
    runs = 2
    [methods.exact]
    method = "GaussianAUC"
    from_moments = true
    [methods.approximate]
    method = "GaussianAUC"
    [data.drawn]
    generator = "make_gaussian"
    options = { name = "data1", n_features = 5, n_samples = 300, ratio = 0.4 }
    """
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="full")
    options = {"n_features": 5, "ratio": 0.4}
    moments = make_gaussian("data1", n_samples=2, random_state=0, **options)[2]
    X, y, _ = make_gaussian("data1", n_samples=300, moments=moments, random_state=2, **options)
    found = {(r.method, r.run): r.metrics["auc"] for r in results.records}
    assert found["exact", 1] == pytest.approx(GaussianAUC().fit_moments(moments).score(X[240:], y[240:]), abs=1e-6)
    assert found["approximate", 1] == pytest.approx(
        GaussianAUC().fit(X[:240], y[:240]).score(X[240:], y[240:]), abs=1e-6
    )


def test_a_method_measured_in_another_study_is_not_measured_again(write, cancer, tmp_path, monkeypatch):
    first = write(STUDY, "first")
    text = STUDY.replace('method = "GaussianAUC"', 'method = "GaussianError"')
    a = text.index("[methods.ours]")
    text = text[:a] + f"[methods.theirs]\nsame_as = ['{first}', 'ours']\n" + text[text.index("[methods.fast]") :]
    second = read_study(write(text.replace("| ours ", "| theirs "), "second"))
    assert second.methods["theirs"].method.name.startswith("OPAUC")
    for study in (read_study(first), second):
        run_study(study, results_file(tmp_path, study.name), effort="quick")
    assert {r.method for r in read_results(tmp_path / "second.jsonl").records} == {"fast"}
    found, other = gather_results(tmp_path, second), read_results(tmp_path / "first.jsonl")
    assert [r.metrics for r in found.records if r.method == "theirs"] == [
        r.metrics for r in other.records if r.method == "ours"
    ]
    assert len(found.records) == 4
    with Store(tmp_path / "first.jsonl") as store:
        store.add(Recipe("", "ours", "an earlier one"))
    assert {r.method for r in gather_results(tmp_path, second).records} == {"fast"}, "another recipe was measured there"


def test_some_data_are_for_some_methods_alone(write, cancer, tmp_path):
    more = "[data.again]\nname = 'cancer'\nmethods = ['fast']\n"
    text = STUDY.replace("[published]", more + "[published]")
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="quick")
    assert {r.method for r in results.records if r.data == "cancer"} == {"ours", "fast"}
    assert {r.method for r in results.records if r.data == "again"} == {"fast"}
    with pytest.raises(ValueError, match="again names 'slow', which is no method"):
        read_study(write(text.replace("['fast']", "['slow']")))


# Other choices of the classes


def test_groups_are_single_classes_or_halves_each_once():
    classes = np.arange(6)
    assert _groups(classes, "one", 2) == [(c,) for c in range(6)]
    halves = _groups(classes, "halves", 40)
    assert len({frozenset(half) for half in halves} | {frozenset({*classes} - {*half}) for half in halves}) == 20
    assert len(halves) == 10
    assert len(_groups(np.arange(3), "halves", 40)) == 3
    assert len(_groups(np.arange(10), "halves", 7)) == 7
    many = _groups(np.arange(26), "halves", 5)
    assert [len({*half}) for half in many] == [13] * 5


def test_groupings_span_what_exact_fits_give(write, cancer, tmp_path):
    text = STUDY.replace("[data.cancer]", "[data.cancer]\npositive = [2]\ngrouping = 'one'")
    results = run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="full")
    found = results.groupings["cancer"]
    assert found.choices == 3
    assert found.lowest <= found.median <= found.highest
    assert found.lowest <= found.here <= found.highest
    run_study(read_study(write(text)), tmp_path / "r.jsonl", effort="full")
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum("grouping" in line for line in lines) == 1


def test_the_grouping_that_matches_an_auc_is_found():
    """Of four classes on a line, {0, 1} against {2, 3} is easy, {0, 3} is not linear, {0, 2} is between."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 4_000)
    data = Dataset("line", labels[:, None] + rng.standard_normal((4_000, 1)), (labels == 1).astype(int), labels)
    subject = Subject("line", grouping="halves")
    assert match_grouping(subject, data, 0.95) == [2, 3]
    assert match_grouping(subject, data, 0.5) == [1, 2]
    assert match_grouping(subject, data, 0.65) == [1, 3]


def test_classes_that_are_not_in_both_parts_do_not_count():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [60, 39, 1])
    data = Dataset("few", rng.standard_normal((100, 2)), (labels == 1).astype(int), labels)
    assert measure_groupings(Subject("few", grouping="one"), data).choices == 2
