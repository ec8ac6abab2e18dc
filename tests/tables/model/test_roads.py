"""One table, one model: from a frame, files of text and of Parquet, Dask, and rows that know the protocol alone."""

import functools
import os

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from additive_data import mixed_rows
from numpy.testing import assert_allclose, assert_array_equal
from odd_rows import OddRows
from sklearn.model_selection import GroupKFold

from aucmax import TableClassifier, load_model, open_rows
from aucmax.tables import bins

N = 300
X, Y = mixed_rows(N, seed=3)
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "curve": X[:, 0],
        "zeros": [f"${x:.0f}" for x in X[:, 1]],
        "kind": np.array(["a", "b", "c"])[X[:, 2].astype(int)],
        "town": [f"town {k}" for k in rng.integers(0, 60, N)],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 600, N), "D"),
        "ours": np.where(rng.random(N) < 0.5, "yes", "no"),
    }
)
FRAME.loc[rng.random(N) < 0.1, ["kind", "day"]] = None
LABELS = np.where(Y == 1, "yes", "no")
WEIGHTS, GROUPS = rng.integers(0, 3, N).astype(float), rng.integers(0, 40, N)
TABLE = FRAME.assign(y=LABELS, w=WEIGHTS, g=GROUPS)
MODELS = {
    "auto": {},
    "lines": {"terms": "lines"},
    "many bins": {"terms": "curves", "max_bins": 250, "cv": 2},
    "pairs to find": {"terms": "pairs", "pairs": 2},
    "named pairs and shapes": {"pairs": [("curve", "kind")], "monotonic_cst": {"zeros": 1, "day": -1}, "cv": 2},
    "without folds": {"terms": "curves", "cv": 0},
}


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    TABLE.to_csv(folder / "table.csv", index=False)
    TABLE.to_parquet(folder / "table.parquet", row_group_size=70)
    for number, part in enumerate((TABLE[:1], TABLE[1:200], TABLE[200:])):
        part.to_csv(folder / f"part-{number}.csv", index=False)
    return folder


def of_file(name, folder, model, weighted, memory=400 << 20, **options):
    roles = {"weight": "w", "group": "g"} if weighted else {"drop": ["w", "g"]}
    rows = open_rows(folder / name, target="y", memory=memory, **roles, **options)
    rows.passes.n_bytes = 1 << 12
    return model.fit_rows(rows)


def of_dask(folder, model, weighted):
    parts = dd.from_pandas(TABLE, npartitions=3, sort=False)
    roles = {"sample_weight": parts["w"], "groups": parts["g"]} if weighted else {}
    return model.fit(parts[list(FRAME.columns)], parts["y"], **roles)


ROADS = {
    "CSV": functools.partial(of_file, "table.csv"),
    "parts of CSV": functools.partial(of_file, "part-*.csv"),
    "Parquet": functools.partial(of_file, "table.parquet"),
    "Dask": pytest.param(of_dask, marks=pytest.mark.dask),
}


@functools.cache
def in_memory(name, weighted):
    roles = {"sample_weight": WEIGHTS, "groups": GROUPS} if weighted else {}
    return TableClassifier(**MODELS[name]).fit(FRAME, LABELS, **roles)


def assert_same_model(found, expected):
    assert [term.columns for term in found.terms_] == [term.columns for term in expected.terms_]
    for name in ("coef_", "intercept_", "errors_", "mass_", "positive_mass_", "strengths_", "freedom_", "calibration_"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-8, err_msg=name)
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert_array_equal(found.steps_.line, expected.steps_.line)
    assert_allclose(found.steps_.values, expected.steps_.values, atol=1e-8)
    assert_allclose(found.steps_.covariance, expected.steps_.covariance, atol=1e-8)
    if hasattr(expected, "cv_auc_"):
        assert_allclose([found.cv_auc_, *found.cv_auc_ci_], [expected.cv_auc_, *expected.cv_auc_ci_], atol=1e-9)
        assert_allclose(found.ladder_["auc"], expected.ladder_["auc"], atol=1e-9)
        assert_allclose(found.cards_["lost"], expected.cards_["lost"], atol=1e-9)
    assert_allclose(found.decision_function(FRAME), expected.decision_function(FRAME), atol=1e-8)
    assert found.reading_.part_names == expected.reading_.part_names
    assert [part.levels for part in found.reading_.parts] == [part.levels for part in expected.reading_.parts]


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights and groups"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("fit", ROADS.values(), ids=ROADS)
def test_every_road_leads_to_the_model_of_memory(fit, name, weighted, folder):
    assert_same_model(fit(folder, TableClassifier(**MODELS[name]), weighted), in_memory(name, weighted))


def test_groups_of_a_file_are_text_and_make_the_same_folds(folder):
    expected = TableClassifier("lines", cv=GroupKFold(3)).fit(FRAME, LABELS, groups=GROUPS.astype(str))
    rows = open_rows(folder / "table.csv", target="y", group="g", drop=["w"])
    found = TableClassifier("lines", cv=GroupKFold(3)).fit_rows(rows)
    assert_allclose(found.cv_auc_, expected.cv_auc_, atol=1e-12)


@pytest.mark.filterwarnings("ignore:X has levels")
def test_a_model_of_a_file_scores_frames_saved_and_loaded(folder, tmp_path):
    model = ROADS["CSV"](folder, TableClassifier("pairs", cv=2), False)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    new = FRAME.assign(town="a town that nobody knows")[list(FRAME.columns[::-1])]
    assert_array_equal(loaded.decision_function(new), model.decision_function(new))
    assert loaded.feature_names_in_.tolist() == [*FRAME.columns, "w", "g"]  # those that are dropped may be absent
    assert loaded.ladder_["terms"].tolist() == model.ladder_["terms"].tolist()


@pytest.mark.dask
def test_predictions_of_dask_frames_are_lazy():
    model = in_memory("auto", False)
    parts = dd.from_pandas(FRAME, npartitions=3, sort=False)
    for method in ("decision_function", "predict_proba", "predict"):
        found, expected = getattr(model, method)(parts), getattr(model, method)(FRAME)
        assert hasattr(found, "compute")
        assert_array_equal(np.asarray(found.compute()), expected)
    labels = dd.from_pandas(TABLE, npartitions=3, sort=False)["y"]
    assert_allclose(model.score(parts, labels), model.score(FRAME, LABELS))
    with pytest.raises(ValueError, match=r"^X has no column 'kind', which the model needs; its columns are "):
        model.decision_function(parts.drop(columns="kind"))


@pytest.mark.dask
def test_dask_arrays_of_numbers_are_tables_of_numbers():
    numbers = X[:, [0, 1, 3]]
    model = TableClassifier(max_bins=16, pairs=2, cv=3)
    expected = model.fit(numbers, Y, WEIGHTS)
    expected = (expected.coef_, expected.cv_auc_, expected.decision_function(numbers))
    lazy = [da.from_array(values, chunks=((0, 120, 1, 179), *values.shape[1:])) for values in (numbers, Y, WEIGHTS)]
    model.fit(*lazy)
    assert_allclose(model.coef_, expected[0], atol=1e-8)
    assert_allclose(model.cv_auc_, expected[1], atol=1e-12)
    assert_allclose(model.decision_function(lazy[0]).compute(), expected[2], atol=1e-8)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match=r"^y is a Dask collection, but X is not: compute\(\) y first\.$"):
        model.fit(numbers, lazy[1])


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
def test_rows_that_know_the_protocol_alone(weights):
    numbers = X[:, [0, 1, 3]]
    parameters = {"max_bins": 16, "pairs": 2, "cv": 3}
    expected = TableClassifier(**parameters).fit(numbers, Y, weights, GROUPS)
    found = TableClassifier(**parameters).fit_rows(OddRows.of(numbers, Y, weights, GROUPS))
    assert_allclose(found.coef_, expected.coef_, atol=1e-8)
    assert_allclose(found.cv_auc_, expected.cv_auc_, atol=1e-12)
    assert_allclose(found.decision_function(numbers), expected.decision_function(numbers), atol=1e-8)


def test_with_more_values_than_are_kept_the_auc_is_close(monkeypatch):
    many = np.random.default_rng(5).standard_normal((4000, 2))
    y = (many[:, 0] ** 2 + np.random.default_rng(6).standard_normal(4000) > 1).astype(int)
    memory = TableClassifier("curves", max_bins=16, cv=0).fit(many, y)
    monkeypatch.setattr(bins, "LEAST", 256)
    monkeypatch.setattr(bins, "MOST", 256)
    blocks = TableClassifier("curves", max_bins=16, cv=0).fit_rows(OddRows.of(many, y))
    assert not np.array_equal(blocks.columns_[0].cuts, memory.columns_[0].cuts)
    assert abs(blocks.score(many, y) - memory.score(many, y)) < 0.0005
    assert np.abs(blocks.columns_[0].mass - 4000 / 16).max() < 0.05 * 4000


def test_a_file_is_read_twice(folder):
    """Once for the values, once for the codes; the open itself learns how to read."""
    rows, passes = open_rows(folder / "table.csv", target="y", drop=["w", "g"]), []
    rows.passes.on_block = lambda name, block: passes.append(name)
    TableClassifier(cv=2).fit_rows(rows)
    assert sorted(set(passes)) == ["codes", "first pass"]


class Killed(BaseException):
    pass


def test_a_fit_is_resumed_after_any_block(folder, tmp_path):
    path, expected = tmp_path / "checkpoint", in_memory("without folds", True)

    def stop(name, block):
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    n_lives = 0
    while n_lives < 40:
        n_lives += 1
        options = {"weight": "w", "group": "g", "checkpoint": path, "checkpoint_every": 0}
        rows, left = open_rows(folder / "table.csv", target="y", **options), 4
        rows.passes.n_bytes, rows.passes.on_block = 1 << 10, stop
        try:
            with rows:
                model = TableClassifier(**MODELS["without folds"]).fit_rows(rows)
            break
        except Killed:
            assert path.exists()
    assert 4 < n_lives < 40
    assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"thousands": ","}, r"thousands=',' was not used to read these rows"),
        ({"na_values": ["green"]}, r"na_values=\['green'\] was not used to read these rows"),
        ({"categorical": ["zeros"]}, "categorical= names the column 'zeros', which these rows hold as number"),
    ],
)
def test_parameters_that_a_file_was_not_read_with_are_refused(folder, parameters, message):
    model = TableClassifier("lines", cv=0, **parameters)
    with pytest.raises(ValueError, match=f"^{message}: the rows of a file are read as open_rows was asked to.$"):
        of_file("table.csv", folder, model, False)
    of_file("table.csv", folder, model, False, **parameters)


def test_a_text_in_place_of_a_list_is_refused(folder):
    with pytest.raises(ValueError, match=r"^na_values= takes a list of texts, got the text 'none'\.$"):
        open_rows(folder / "table.csv", target="y", na_values="none")


@pytest.mark.dask
def test_numbers_that_name_columns_of_dask():
    frame = FRAME[["curve", "zeros"]].set_axis([0, 1], axis=1)
    X, y = (dd.from_pandas(each, npartitions=2, sort=False) for each in (frame, TABLE["y"]))
    model = TableClassifier("lines", cv=0, drop=[1]).fit(X, y)
    assert model.reading_.part_names == ["0"]
    assert len(model.predict(X).compute()) == len(FRAME)


def test_memory_has_units(folder):
    assert open_rows(folder / "table.csv", target="y", memory="2GB").memory > 1e9
    for memory in ("lots", 0, None, True):
        with pytest.raises(ValueError, match=r"^memory= takes a number of bytes or a size such as 2GB or 500MB, got "):
            open_rows(folder / "table.csv", target="y", memory=memory)


def test_columns_of_a_file_are_described_when_it_is_opened(folder):
    said = {"drop": ["w", "g"], "categorical": ["zeros"]}
    model = TableClassifier("lines", cv=0, **said).fit_rows(open_rows(folder / "table.csv", target="y", **said))
    assert model.columns_[1].categorical
    for option, column, found in (("drop", "w", "these rows hold as number"), ("date", "x", "X does not have")):
        with pytest.raises(ValueError, match=f"^{option}= names the column '{column}', which {found}: the ro"):
            TableClassifier(**{option: [column]}).fit_rows(open_rows(folder / "table.csv", target="y"))
