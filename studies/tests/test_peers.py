"""The benchmark beside other libraries: data sets, splits, cells and results, on small data and made-up competitors."""

import bz2
import importlib
import itertools
import json
import os
import sys
import time
import types

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from aucmax import roc_auc
from aucmax.compare.tuning import auc_of
from aucmax.papers.registry import Method
from aucmax_studies.common import realdata, study_data
from aucmax_studies.common.study_data import split
from aucmax_studies.peers import measure as peers
from aucmax_studies.peers import page as peers_page
from aucmax_studies.peers.competitors import find_competitors, group


class Scorer(ClassifierMixin, BaseEstimator):
    """Scores by one column, times `sign`; what is done in `fit` is given."""

    def __init__(self, column=0, sign=1.0, in_fit=None):
        self.column, self.sign, self.in_fit = column, sign, in_fit

    def fit(self, X, y):
        if self.in_fit:
            self.in_fit(X, y)
        self.fitted_ = True
        return self

    def decision_function(self, X):
        return self.sign * X[:, self.column]


def fake(name, grid=(), in_fit=None, **fields):
    return Method(name, Scorer, dict(grid), parameters={"in_fit": in_fit}, family="linear", **fields)


def make_data(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.4).astype(np.int64)
    return rng.standard_normal((n_rows, 3)) + np.outer(y, [0.2, 1.0, 0.5]), y


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr(peers, "load", lambda name: make_data(seed=len(name)))
    monkeypatch.setattr(peers, "half_of", lambda name: "choice")


def raise_error(X, y):
    raise RuntimeError("it does not\nlike this")


def compute_forever():
    while True:
        pass


# Data sets and splits


def test_halves_are_every_other_name_of_the_sorted_list():
    choice, verdict = study_data.halves().values()
    assert sorted(study_data.NAMES) == [
        name for pair in itertools.zip_longest(choice, verdict) for name in pair if name
    ]
    assert study_data.half_of("a9a") == "choice"
    assert study_data.half_of("adult") == "verdict"
    assert len(set(study_data.NAMES)) == len(study_data.NAMES) >= 36


def test_halvings_train_once_on_each_half():
    y = make_data(401)[1]
    for number in range(0, 10, 2):
        train, test = split(y, number)
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(401))
        assert abs(len(train) - len(test)) == 1
        assert abs(int(y[train].sum()) - int(y[test].sum())) <= 1
        reverse_train, reverse_test = split(y, number + 1)
        assert np.array_equal(reverse_train, test)
        assert np.array_equal(reverse_test, train)
    assert len({tuple(np.sort(split(y, number)[0])) for number in range(10)}) == 10


def test_large_data_are_split_by_seeds():
    y = make_data(6000)[1]
    train, test = split(y, 1)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(6000))
    assert len(test) == 1200
    assert not np.array_equal(np.sort(test), np.sort(split(y, 0)[1]))
    assert [study_data.n_splits(*shape) for shape in ((5000, 10**5), (5001, 9), (9000, 10**5), (20_001, 9))] == [
        *(10, 3, 2, 2)
    ]


def test_a_table_is_encoded_column_by_column(tmp_path, monkeypatch):
    text = "id, age, job, income\n1, 30, clerk, low\n2, , ?, high\n3, 50, clerk, high\n4, 40, smith, low\n"
    (tmp_path / "table.csv.bz2").write_bytes(bz2.compress(text.encode()))
    monkeypatch.setattr(realdata, "DATA_DIR", tmp_path)
    monkeypatch.setitem(realdata.TABLES, "t", realdata.Table("table.csv.bz2", "income", "high", dropped=("id",)))
    X, y = realdata.load_table("t")
    assert np.array_equal(X.toarray(), [[30, 0, 1, 0], [40, 1, 0, 0], [50, 0, 1, 0], [40, 0, 0, 1]])
    assert np.array_equal(y, [0, 1, 1, 0])


# One cell


def test_the_best_candidate_is_fitted_and_tested_on_rows_it_has_not_seen():
    X, y = make_data()
    seen = []
    competitor = fake("A", {"column": [0, 1, 2]}, in_fit=lambda X, y: seen.append(X))
    cell = peers.measure(competitor, X, y, number=3)
    assert cell["parameters"] == {"column": 1}
    rest = {tuple(row) for row in X} - {tuple(row) for row in seen[-1]}
    test = np.array([tuple(row) in rest for row in X])
    assert np.array_equal(np.flatnonzero(test), np.sort(split(y, 3)[1]))
    assert cell["auc"] == roc_auc(y[test], X[test, 1])
    assert not rest & {tuple(row) for part in seen for row in part}  # not in the warm-up, nor in tuning
    assert len(seen) == 1 + 3 * 3 + 1


def test_tuning_sees_no_more_rows_than_allowed(monkeypatch):
    monkeypatch.setitem(peers.PROTOCOL, "max_tuning_rows", 90)
    X, y = make_data()
    sizes = []
    peers.measure(fake("A", {"column": [0, 1]}, in_fit=lambda X, y: sizes.append(len(y))), X, y, 0)
    assert sizes == [200, *[60] * 6, 200]


def test_a_candidate_that_fails_is_not_chosen():
    X, y = make_data()
    best = {"sign": 1.0, "column": 1}
    assert peers.tune(fake("A", {"sign": [np.nan, -1.0, 1.0], "column": [0, 1]}), X, y, 0) == best
    assert peers.tune(fake("A", {"sign": [np.nan, -1.0]}), X, y, 0) == {"sign": -1.0}
    with pytest.raises(ValueError, match="NaN"):
        peers.tune(fake("A", {"sign": [np.nan], "column": [0, 1]}), X, y, 0)


def test_columns_are_standardised_for_those_that_need_it():
    X, y = make_data()
    X = 1000 * X + 5000
    means = []
    note = lambda X, y: means.append(np.abs(X.mean(axis=0)).max())  # noqa: E731
    for standardize in (True, False):
        peers.measure(fake("A", in_fit=note, standardize=standardize), X, y, 0)
    assert max(means[:2]) < 1e-9
    assert min(means[2:]) > 1000


def test_sparse_rows_stay_sparse_or_are_made_dense_where_memory_allows(monkeypatch):
    X, y = make_data()
    X = sparse.csr_array(X)
    kinds = []
    note = lambda X, y: kinds.append(sparse.issparse(X))  # noqa: E731
    peers.measure(fake("A", in_fit=note, takes_sparse=False), X, y, 0)
    assert kinds == [False, False]
    peers.build(Method("B", LogisticRegression, standardize=True), X, 0, {}).fit(X, y)  # not centred
    monkeypatch.setitem(peers.PROTOCOL, "max_dense_gb", 1e-9)
    with pytest.raises(MemoryError, match="takes dense rows only"):
        peers.measure(fake("A", takes_sparse=False), X, y, 0)


def test_scores_may_be_probabilities():
    X, y = make_data()
    scores = types.SimpleNamespace(predict_proba=lambda X: np.column_stack([-X[:, 1], X[:, 1]]))
    assert auc_of(scores, X, y) == roc_auc(y, X[:, 1])


def test_what_a_process_answers():
    assert peers.in_a_process(lambda: {"auc": 0.5}, 60) == {"auc": 0.5}
    assert peers.in_a_process(lambda: raise_error(0, 0), 60) == {"failure": "it does not like this"}
    assert peers.in_a_process(lambda: os._exit(3), 60) == {"failure": "its process ended with exit code 3"}
    assert peers.in_a_process(lambda: time.sleep(60), 0.1) == {"failure": "not done after 0.1 seconds"}
    assert peers.in_a_process(compute_forever, 0.1) == {"failure": "not done after 0.1 seconds"}


# The results


def test_a_stopped_run_resumes(data, tmp_path, monkeypatch, capsys):
    path = tmp_path / "peers.json"
    competitors = [fake("A"), fake("B", {"column": [0, 1]})]
    measured = []

    def stop_after(n):
        def in_a_process(function, limit):
            if len(measured) == n:
                raise KeyboardInterrupt
            measured.append((function.args[0].name, function.args[3]))
            return function()

        return in_a_process

    monkeypatch.setattr(peers, "in_a_process", stop_after(3))
    with pytest.raises(KeyboardInterrupt):
        peers.run(peers.Results(path), ["x", "yy"], competitors, 2)
    assert len(peers.read_results(path)["cells"]) == 3
    monkeypatch.setattr(peers, "in_a_process", stop_after(None))
    peers.run(peers.Results(path), ["x", "yy"], competitors, 2)
    assert measured == [(name, seed) for _ in range(2) for seed in range(2) for name in "AB"]
    once = path.read_bytes()
    peers.run(peers.Results(path), ["x", "yy"], competitors, 2)
    assert path.read_bytes() == once
    assert "B" in capsys.readouterr().err

    peers.run(peers.Results(path), ["x"], [fake("B", {"column": [2]})], 1)  # another grid: measured again
    cells = peers.read_results(path)["cells"]
    assert [cell["parameters"] for cell in cells if cell["competitor"] == "B"] == [{"column": 2}]


def test_one_that_fails_is_not_tried_again_and_trees_run_twice(data, tmp_path):
    results = peers.Results(tmp_path / "peers.json")
    tree = fake("T")._replace(family="trees")
    peers.run(results, ["x"], [fake("A", in_fit=raise_error), fake("B"), tree], 3)
    splits = [(cell["competitor"], cell["split"]) for cell in results.kept["cells"]]
    assert splits == [("A", 0), ("B", 0), ("T", 0), ("B", 1), ("T", 1), ("B", 2)]
    peers.run(results, ["x"], [fake("A", in_fit=raise_error), fake("B"), tree], 3)
    assert len(results.kept["cells"]) == 6


def test_a_competitor_that_is_not_installed_is_skipped_and_named(data, tmp_path, capsys):
    results = peers.Results(tmp_path / "peers.json")
    peers.run(results, ["x"], [fake("AUCClassifier"), fake("B", requires=("numpy", "no_such_module"))], 1)
    assert "B is skipped: no_such_module not installed" in capsys.readouterr().err
    assert [cell["competitor"] for cell in results.kept["cells"]] == ["AUCClassifier"]
    assert "- B: skipped, no_such_module not installed." in peers_page.competitor_list(results.kept)


def test_results_have_date_versions_and_machine(data, tmp_path):
    results = peers.Results(tmp_path / "peers.json")
    peers.run(results, ["x"], [fake("A")], 1)
    kept = json.loads(results.path.read_text(encoding="utf-8"))
    (environment,) = kept["environments"]
    assert {"aucmax", "numpy", "scipy", "scikit-learn", "numba"} <= set(environment["versions"])
    assert "cores" in environment["machine"]
    (cell,) = kept["cells"]
    assert cell["date"] == time.strftime("%Y-%m-%d")
    assert kept["environments"][cell["environment"]] == environment
    assert kept["data"]["x"]["rows"] == 400
    assert kept["data"]["x"]["positive"] == pytest.approx(make_data(seed=1)[1].mean())


@pytest.mark.parametrize("text", ["", "[1", "[]", "3", '{"cells": []}'])
def test_a_file_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "peers.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"peers\.json is no file of results"):
        peers.Results(path)
    assert path.read_text(encoding="utf-8") == text


def test_results_of_another_protocol_are_refused(data, tmp_path, monkeypatch):
    path = tmp_path / "peers.json"
    peers.run(peers.Results(path), ["x"], [fake("A")], 1)
    monkeypatch.setitem(peers.PROTOCOL, "folds", 4)
    with pytest.raises(ValueError, match="measured by another protocol"):
        peers.Results(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--names", "no such"], "There is no data set 'no such'; there are "),
        (["--competitors", "X"], "There is no competitor 'X'; there are AUCClassifier, BAM, "),
        (["--again", "X"], "There is no competitor 'X'"),
        (["--write-only"], "No such file"),
    ],
)
def test_wrong_arguments_are_one_sentence(tmp_path, arguments, message):
    with pytest.raises(SystemExit, match=message):
        peers.main(["--results", str(tmp_path / "peers.json"), *arguments])


# The competitors of the folder


def test_fourteen_competitors_are_listed_ours_first_and_trees_last():
    names = [each.name for each in find_competitors()]
    assert names[:5] == ["AUCClassifier", "BAM", "OPAUC", "PSAM", "SPDAM"]
    assert len(set(names)) == len(names) == 14
    assert sorted(each.name for each in find_competitors() if group(each) == "trees") == names[-2:]


@pytest.mark.parametrize("competitor", find_competitors(), ids=lambda each: each.name)
def test_a_competitor_ranks_better_than_chance(competitor):
    if competitor.missing or competitor.name == "LibAUC AUCM":
        pytest.skip("not installed, or tested with stand-ins below")
    X, y = make_data(200)
    candidates = peers.candidates(competitor)
    for parameters in candidates[:: max(len(candidates) - 1, 1)]:
        assert auc_of(peers.build(competitor, X, 0, parameters).fit(X, y), X, y) > 0.6


def test_libauc_is_called_as_documented(monkeypatch):
    """With stand-ins for PyTorch and LibAUC that note what they are called with, and a layer of known weights."""
    calls = []

    class Tensor(np.ndarray):
        def backward(self):
            calls.append("backward")

        def split(self, size):
            return [self[start : start + size] for start in range(0, len(self), size)]

        def detach(self):
            return self

        def numpy(self):
            return np.asarray(self)

    class Layer:
        def __init__(self, n_in, n_out):
            self.weight = np.ones((n_out, n_in)).view(Tensor)

        def parameters(self):
            return [self.weight]

        def __call__(self, X):
            return X @ self.weight.T

    class Loss:
        def __init__(self, **options):
            calls.append(("loss", options))

        def __call__(self, scores, y, auto):
            assert scores.shape == (len(y), 1)
            assert not auto
            return scores.sum(keepdims=True)

    class Steps:
        def __init__(self, parameters, **options):
            calls.append(("steps", sorted(options)))

        def zero_grad(self):
            calls.append("zero_grad")

        def step(self):
            calls.append("step")

        def update_regularizer(self, decay_factor):
            calls.append(f"decay {decay_factor}")

    torch = types.ModuleType("torch")
    torch.manual_seed = torch.set_num_threads = lambda number: None
    torch.float32 = np.float32
    torch.tensor = lambda values, dtype: np.asarray(values, dtype=dtype).view(Tensor)
    torch.randperm = lambda n: np.random.default_rng(0).permutation(n).view(Tensor)
    torch.nn = types.SimpleNamespace(Linear=Layer)
    libauc, losses, optimizers = (types.ModuleType(name) for name in ("libauc", "libauc.losses", "libauc.optimizers"))
    losses.AUCMLoss, optimizers.PESG = Loss, Steps
    for module in (torch, libauc, losses, optimizers):
        monkeypatch.setitem(sys.modules, module.__name__, module)

    competitor = importlib.import_module("aucmax_studies.peers.competitors.libauc_aucm").COMPETITOR
    X, y = make_data(600)
    layer = competitor.make(lr=0.001, weight_decay=1e-5).fit(X, y)
    assert np.array_equal(layer.decision_function(X), X.sum(axis=1))
    assert calls[0] == ("loss", {"imratio": y.mean(), "device": "cpu"})
    assert calls[1] == ("steps", ["device", "loss_fn", "lr", "verbose", "weight_decay"])
    passes = ["zero_grad", "backward", "step"] * 3  # 600 rows in batches of 256
    assert calls[2:] == [*passes * 10, "decay 10", *passes * 5, "decay 10", *passes * 5]
