"""Fits to Dask collections: the weights of memory, whatever the partitions, and nothing computed beyond the passes."""

import functools
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from batch_estimators import ALPHAS, FAST, OTHERS, SQUARES
from dask.callbacks import Callback
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold
from slow import slow_except

from aucmax import (
    SOLAM,
    AUCClassifier,
    GaussianAUC,
    cross_validate_path,
    load_model,
)
from aucmax.losses.hinges import BYTES_PER_KNOT
from aucmax.rows.dask import tasks as dask_tasks
from aucmax.rows.dask.rows import DaskRows

N, D = 120, 4


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data():
    """Rows and labels, and weights, some of them 0."""
    X, y = noisy_line(n=N, d=D)
    return X, y, np.random.default_rng(1).integers(0, 3, N).astype(float)


def lazy(values, chunks=(0, 1, 40, 0, N - 41)):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def assert_same_weights(found, expected, tolerance):
    assert_allclose(found.coef_, expected.coef_, rtol=0, atol=tolerance * np.abs(expected.coef_).max())
    assert_allclose(found.intercept_, expected.intercept_, rtol=tolerance, atol=tolerance)
    assert_allclose(found.calibration_, expected.calibration_, rtol=1e-8)
    assert_array_equal(found.classes_, expected.classes_)
    assert found.n_features_in_ == expected.n_features_in_


@st.composite
def partitions(draw, most):
    """Sizes of partitions, many of them 0 or so small that they lack a class."""
    edges = sorted(draw(st.lists(st.integers(0, N), max_size=most)))
    return tuple(np.diff([0, *edges, N]).tolist())


@pytest.mark.parametrize(
    ("estimator", "tolerance", "n_examples"),
    [
        (AUCClassifier("squared", alpha=0.1), 1e-10, 15),
        (AUCClassifier(), 1e-8, 6),
        pytest.param(AUCClassifier("squared", alphas=ALPHAS, cv=3), 1e-10, 12, marks=pytest.mark.slow),
        pytest.param(AUCClassifier("squared_hinge", alpha=0.1, tol=1e-10), 1e-8, 4, marks=pytest.mark.slow),
        pytest.param(AUCClassifier("logistic", alpha=0.1, tol=1e-10), 1e-8, 4, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_dask_rows_of_any_partitions_give_the_weights_of_memory(estimator, tolerance, n_examples, data):
    """Also of rows that are sorted by their class, with weights or without."""
    in_memory = functools.cache(lambda by_class, weighted: clone(estimator).fit(*given_rows(data, by_class, weighted)))

    @settings(max_examples=n_examples, deadline=None, derandomize=True)
    @given(partitions(most=10 if n_examples > 10 else 5), st.booleans(), st.booleans())
    def check(chunks, by_class, weighted):
        found = clone(estimator).fit(*(lazy(values, chunks) for values in given_rows(data, by_class, weighted)))
        assert_same_weights(found, in_memory(by_class, weighted), tolerance)

    check()


def given_rows(data, by_class, weighted):
    order = np.argsort(data[1], kind="stable") if by_class else np.arange(N)
    return [values[order] for values in data[: 3 if weighted else 2]]


@pytest.mark.parametrize("estimator", [*SQUARES, *slow_except(FAST, OTHERS)], ids=repr)
def test_dask_rows_fit_every_batch_estimator_as_memory(estimator, data):
    expected = clone(estimator).fit(*data)
    found = clone(estimator).fit(*map(lazy, data))
    assert_same_weights(found, expected, 1e-10 if estimator in SQUARES else 1e-8)
    if hasattr(expected, "cv_results_"):
        assert_allclose(found.alphas_, expected.alphas_, rtol=1e-12)
        assert_allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-14)
        assert found.cv_auc_ == pytest.approx(expected.cv_auc_, abs=1e-14)


def test_hinge_on_dask_warns_that_it_gathers_scores(data):
    X, y, weights = map(lazy, data)
    rare = min(np.bincount(data[1][data[2] > 0] == data[1].max()))

    def fit(memory, loss="squared_hinge"):
        return AUCClassifier(loss, alpha=0.1).fit_rows(DaskRows(X, y, weights, memory=memory))

    with pytest.warns(UserWarning, match=rf"^A hinge on {rare:,} rows of the rarer class gathers their scores") as told:
        fit(50 * BYTES_PER_KNOT * rare)
    assert len(told) == 1, "once for a fit, not for a pass"
    with pytest.raises(ValueError, match=r"more than half of the [^=]*: use loss=.logistic. or loss=.squared.\.$"):
        fit(1.9 * BYTES_PER_KNOT * rare)
    fit(200 * BYTES_PER_KNOT * rare)
    fit(50 * BYTES_PER_KNOT * rare, "logistic")


@pytest.mark.parametrize(
    ("clf", "ways"),
    [
        (AUCClassifier("squared", alpha=0.1), "of 4 columns take .*: use solver='cg'"),
        (AUCClassifier("squared"), "give loss= and alpha="),
        (AUCClassifier(), "give loss= and alpha="),
    ],
)
def test_advice_where_memory_is_short_names_no_argument_of_other_rows(data, clf, ways):
    """`fit` of a Dask collection has no memory=, and no online algorithm takes one."""
    rows = DaskRows(*map(lazy, data), memory=50 * data[0].shape[1] ** 2)
    with pytest.raises(ValueError, match=ways) as refused:
        clf.fit_rows(rows)
    assert "memory=" not in str(refused.value)
    assert "SOLAM" not in str(refused.value)


def test_columns_of_one_frame_of_parquet_files(data, tmp_path):
    """Dask joins partitions of a single column, which are small, when it optimises."""
    X, y, _ = data
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    for k, rows in enumerate(np.array_split(np.arange(N), 5)):
        frame.iloc[rows].to_parquet(tmp_path / f"{k}.parquet")
    lazy_frame = dd.read_parquet(tmp_path / "*.parquet")
    found = AUCClassifier("squared", alpha=0.1).fit(lazy_frame.drop(columns="label"), lazy_frame["label"])
    assert_same_weights(found, AUCClassifier("squared", alpha=0.1).fit(X, y), 1e-10)
    assert found.feature_names_in_.tolist() == list("abcd")
    assert found.score(lazy_frame[list("abcd")], lazy_frame["label"]) == found.score(frame[list("abcd")], y)


@pytest.mark.parametrize("cv", [3, GroupKFold(4)], ids=repr)
def test_dask_rows_keep_groups_together(cv, data):
    X, y, weights = data
    groups = np.random.default_rng(2).integers(0, 30, N)
    clf = AUCClassifier("squared", cv=cv)
    expected = clone(clf).fit(X, y, weights, groups)
    assert_same_weights(clone(clf).fit(*map(lazy, (X, y, weights, groups))), expected, 1e-10)


def test_a_path_is_cross_validated_as_in_memory(data):
    X, y, weights = data
    expected = cross_validate_path(X, y, sample_weight=weights, alphas=ALPHAS)
    found = cross_validate_path(lazy(X), lazy(y), sample_weight=lazy(weights), alphas=ALPHAS)
    assert_allclose(found.auc, expected.auc, rtol=0, atol=1e-14)


def frames(X, y, npartitions=3):
    """Return the rows and labels as dataframes with an index of their own."""
    names, index = [f"x{j}" for j in range(X.shape[1])], np.arange(len(y)) * 10
    together = pd.DataFrame(X, columns=names, index=index).assign(label=np.where(y == 1, "yes", "no"))
    return together, dd.from_pandas(together, npartitions=npartitions)


def collections(X, y):
    """Return the same rows and labels in collections of several kinds, and as memory has them."""
    together, frame = frames(X, y)
    names = list(together.columns[:-1])
    unknown = frame[names].to_dask_array()
    assert np.isnan(unknown.shape[0])
    thin = X * (np.random.default_rng(3).random(X.shape) < 0.4)
    labels = lazy(y)
    return {
        "array": (lazy(X), labels, X, y),
        "columns cut too": (da.from_array(X, chunks=((50, N - 50), (1, D - 1))), lazy(y, (50, N - 50)), X, y),
        "float32": (lazy(X.astype(np.float32)), labels, X.astype(np.float32), y),
        "CSR": (lazy(thin).map_blocks(sparse.csr_array), labels, sparse.csr_array(thin), y),
        "dataframe": (frame[names], frame["label"], together[names], together["label"]),
        "unknown sizes": (unknown, frame["label"], X, together["label"]),
        "whole numbers": (lazy(np.arange(N)[:, None]), labels, np.arange(N)[:, None], y),
    }


@pytest.mark.parametrize("loss", slow_except(["squared"], ["squared", "logistic"]))
@pytest.mark.parametrize("kind", collections(*noisy_line(n=N, d=D)))
def test_dask_collections_of_every_kind_fit_and_predict(kind, loss, data):
    X, y, rows, labels = collections(*data[:2])[kind]
    clf = AUCClassifier(loss, alpha=0.1, tol=1e-10)
    found, expected = clone(clf).fit(X, y), clone(clf).fit(rows, labels)
    assert_same_weights(found, expected, 1e-10 if loss == "squared" else 1e-8)
    assert_array_equal(getattr(found, "feature_names_in_", []), getattr(expected, "feature_names_in_", []))
    for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        lazily, at_once = getattr(found, name)(X), getattr(found, name)(rows)
        assert lazily.ndim == at_once.ndim
        computed = lazily.compute()
        if kind == "dataframe":
            assert isinstance(lazily, dd.Series if at_once.ndim == 1 else dd.DataFrame)
            assert_array_equal(computed.index, rows.index)
            assert at_once.ndim == 1 or list(computed.columns) == ["no", "yes"]
        else:
            assert isinstance(lazily, da.Array)
            assert (lazily.dtype, lazily.shape[1:]) == (at_once.dtype, at_once.shape[1:])
        if name == "predict":
            assert_array_equal(computed, at_once)
        else:
            assert_allclose(computed, at_once, rtol=1e-9, atol=1e-9)


def test_predict_of_dask_collections_without_rows(data):
    _, frame = frames(*data[:2])
    X = frame[["x0", "x1", "x2", "x3"]]
    clf = AUCClassifier(alpha=0.1).fit(X, frame["label"])
    nothing = X[X.x0 > np.inf]
    assert clf.predict_proba(nothing).compute().shape == (0, 2)
    assert clf.predict(nothing).compute().dtype == clf.predict(X).compute().dtype


@pytest.mark.slow
def test_estimator_fitted_on_dask_is_pickled_and_saved(data, tmp_path):
    X, y, _ = data
    clf = AUCClassifier().fit(lazy(X), lazy(y))
    expected = clf.decision_function(X)
    assert_array_equal(pickle.loads(pickle.dumps(clf)).decision_function(X), expected)
    clf.save(tmp_path / "model.safetensors")
    assert_array_equal(load_model(tmp_path / "model.safetensors").decision_function(X), expected)
    names = clf.fit(*(frames(X, y)[1][columns] for columns in (["x0", "x1"], "label"))).feature_names_in_
    assert_array_equal(names, ["x0", "x1"])
    assert not hasattr(clf.fit(lazy(X), lazy(y)), "feature_names_in_")


class Graphs(Callback):
    """Counts the tasks of each graph that is computed."""

    def __init__(self):
        super().__init__()
        self.counts = []

    def _start(self, graph):
        self.counts.append(len(graph))


def test_a_pass_is_one_graph_and_the_first_one_reads_labels(data):
    """A partition is read and summarised by one task."""
    X, y, _ = data
    calls = []

    def read(values):
        parts = np.split(values, 12)
        read = dask.delayed(parts.__getitem__)
        return da.concatenate([da.from_delayed(read(k), v.shape, v.dtype) for k, v in enumerate(parts)])

    def features(block):
        calls.append(len(block))
        return block

    rows, labels = read(X).map_blocks(features, dtype=float, meta=np.zeros((0, 0))), read(y)
    with Graphs() as graphs:
        AUCClassifier("squared", alpha=0.1).fit(rows, labels)
    merges, job = 2 + 1, 1
    # The first pass looks at all labels and one block; then come the moments, and the histogram.
    assert graphs.counts == [12 + 1 + 1, 12 + merges + job, 12 + merges + job]
    assert calls == [10] * (1 + 12 + 12)
    with Graphs() as graphs:
        AUCClassifier("squared", alpha=0.1).fit(rows, labels).predict_proba(rows)
    assert len(graphs.counts) == 3  # predictions are lazy


def test_what_rows_and_labels_share_is_computed_once(data):
    calls = []

    def read(block):
        calls.append(len(block))
        return block

    together = lazy(np.column_stack(data[:2]), (30, 90)).map_blocks(read, meta=np.zeros((0, 0)))
    GaussianAUC().fit(together[:, :-1], together[:, -1])
    assert sorted(calls) == [30, 30, 90, 90]  # two passes


def test_annotations_of_tasks_stay(data):
    """The tasks of a graph with annotations are not fused: they would lose theirs."""
    rows, labels = lazy(data[0]), lazy(data[1])
    with dask.annotate(retries=3):
        top = dask.delayed(len)(rows.map_blocks(np.negative))
    kept = dask_tasks.fuse(top, [top])
    assert {"retries": 3} in [layer.annotations for layer in kept.dask.layers.values()]
    assert kept.compute() == N
    with dask.annotate(retries=3), Graphs() as graphs:
        found = AUCClassifier("squared", alpha=0.1).fit(rows, labels)
    assert max(graphs.counts) > 3 * rows.numblocks[0]
    assert_same_weights(found, AUCClassifier("squared", alpha=0.1).fit(*data[:2]), 1e-10)


def test_a_dask_without_the_private_names_fuses_nothing(data, monkeypatch):
    monkeypatch.delattr("dask._task_spec.GraphNode.fuse")
    with Graphs() as graphs:
        found = AUCClassifier("squared", alpha=0.1).fit(lazy(data[0]), lazy(data[1]))
    assert max(graphs.counts) > 3 * 5
    assert_same_weights(found, AUCClassifier("squared", alpha=0.1).fit(*data[:2]), 1e-10)


def test_threads_give_the_same_weights_bit_by_bit(data):
    with dask.config.set(scheduler="threads", num_workers=4):
        threads = AUCClassifier("logistic", alpha=0.1).fit(*map(lazy, data))
    assert_array_equal(threads.coef_, AUCClassifier("logistic", alpha=0.1).fit(*map(lazy, data)).coef_)


# What is refused, in one sentence


def test_collections_that_do_not_fit_together(data):
    X, y, weights = data
    clf = AUCClassifier(alpha=0.1)
    halves, others = (60, 60), (50, 70)
    rows, labels = lazy(X, halves), lazy(y, halves)
    for message, arguments in {
        r"^y must be a Dask collection with the partitions of X, got ndarray\.$": (rows, y),
        r"^y has 5 partitions, but X has 2\.$": (rows, lazy(y)),
        r"^sample_weight has 5 partitions, but X has 2\.$": (rows, labels, lazy(weights)),
        r"^Partition 0 of X has 60 rows, but y has 50\.$": (rows, lazy(y, others)),
        r"^Partition 0 of sample_weight has 50 rows, but y has 60\.$": (rows, labels, lazy(weights, others)),
        r"^Partition 0 of groups has 50 rows, but y has 60\.$": (rows, labels, None, lazy(y, others)),
        r"^AUC needs two classes, but y holds only one class: 0\.$": (rows, 0 * labels),
        r"^Only binary classification is supported\.": (rows, lazy(np.arange(N), halves)),
        r"^X and y have no rows\.$": (rows[:0], labels[:0]),
        r"^Input X contains NaN\.": (rows * np.nan, labels),
        r"^Negative values in data passed to `sample_weight`\.$": (rows, labels, lazy(-weights, halves)),
    }.items():
        with pytest.raises(ValueError, match=message):
            clf.fit(*arguments)


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_labels_with_gaps_and_columns_of_text(kind, data):
    """Dask makes texts of objects, whose gaps have no order; a column of text is named as in memory."""
    together, frame = frames(*data[:2])
    names, gaps = list(together.columns[:-1]), together["label"].astype(object)
    gaps.iloc[[3, 90]] = None
    labels = dd.from_pandas(gaps.astype(kind), npartitions=frame.npartitions)
    with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
        AUCClassifier(alpha=0.1).fit(frame[names], labels)
    text = dd.from_pandas(together.assign(x1=together["label"].astype(kind)), npartitions=frame.npartitions)
    with pytest.raises(ValueError, match=r"^X has columns that are not numbers, such as 'x1': put TableEncoder before"):
        AUCClassifier(alpha=0.1).fit(text[names], frame["label"])


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("dense CSR", "1 of X is CSR, but the first one is dense"),
        ("CSR dense", "1 of X is dense, but the first one is CSR"),
    ],
)
def test_dask_partitions_of_two_kinds_are_refused(kinds, message, data):
    X, y, _ = data
    make = {"dense": np.asarray, "CSR": sparse.csr_array}
    parts = [dask.delayed(make[kind])(part) for kind, part in zip(kinds.split(), np.split(X, 2), strict=True)]
    rows = da.concatenate([da.from_delayed(part, (N // 2, D), meta=np.zeros((0, 0))) for part in parts])
    with pytest.raises(ValueError, match=rf"^Partition {message}\.$"):
        AUCClassifier("squared", alpha=0.1).fit(rows, lazy(y, (N // 2, N // 2)))


def test_dask_partition_that_raises(data):
    X, y, _ = data

    def broken(block):
        raise OSError("the disk\nis full")

    rows = lazy(X).map_blocks(broken, dtype=float, meta=np.zeros((0, 0)))
    clf = AUCClassifier(alpha=0.1).fit(X, y)
    before = clf.coef_
    with pytest.raises(RuntimeError, match=r"^Dask could not compute a partition: OSError: the disk$"):
        clf.fit(rows, lazy(y))
    assert clf.coef_ is before


def test_stochastic_algorithms_refuse_dask_collections(data):
    X, y = map(lazy, data[:2])
    for call in (SOLAM().fit, SOLAM().partial_fit, AUCClassifier().partial_fit):
        with pytest.raises(
            ValueError, match=r"^The stochastic algorithms and partial_fit take one row after the other"
        ):
            call(X, y)


def test_predict_of_dask_refuses_bad_input_at_once(data):
    X, y, _ = data
    with pytest.raises(NotFittedError):
        AUCClassifier().predict(lazy(X))
    clf = AUCClassifier(alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"^X has 3 features, but AUCClassifier is expecting 4 features as input\.$"):
        clf.predict(lazy(X[:, 1:]))
