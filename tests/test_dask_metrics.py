"""The AUC of scores in Dask collections: bitwise that of memory, whatever the partitions."""

import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from problems import noisy_line

from aucmax import AUCClassifier, compare_auc, roc_auc, roc_auc_ci
from aucmax.data import dask_auc, dask_buckets, dask_places, dask_scores, held_out_exchange, ranking


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(values, chunks):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


@st.composite
def problems(draw):
    """Labels, two scores with ties, weights of any size (some 0), and the sizes of the partitions."""
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    y[:4] = [True, False, True, False]
    rng.shuffle(y)
    scores = rng.integers(0, draw(st.sampled_from([3, 1000])), (n, 2)) / 7
    weights = rng.random(n) ** 8 * rng.integers(0, 3, n)
    weights[[np.argmax(y), np.argmin(y)]] = 1 / 3
    edges = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    return y, scores, weights, tuple(np.diff([0, *edges, n]).tolist())


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems())
def test_any_partitions_give_the_bits_of_memory(problem):
    y, scores, weights, chunks = problem
    labels, both, lazy_weights = (lazy(values, chunks) for values in (y, scores, weights))
    first, second = both[:, 0], both[:, 1]
    assert roc_auc(labels, first) == roc_auc(y, scores[:, 0])
    assert roc_auc(labels, first, lazy_weights) == roc_auc(y, scores[:, 0], weights)
    assert_array_equal(roc_auc(labels, both, lazy_weights), roc_auc(y, scores, weights))
    assert roc_auc_ci(labels, first) == roc_auc_ci(y, scores[:, 0])
    assert compare_auc(labels, first, second) == compare_auc(y, *scores.T)
    if min(np.bincount(y[weights > 0], minlength=2)) > 1:
        assert roc_auc_ci(labels, first, lazy_weights) == roc_auc_ci(y, scores[:, 0], weights)
        assert compare_auc(labels, first, second, lazy_weights) == compare_auc(y, *scores.T, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_small_blocks_agree(weighted):
    rng = np.random.default_rng(0)
    n = 2 * ranking.COMPILED_FROM
    y, scores, weights = rng.random(n) < 0.2, rng.integers(0, 5000, n) / 7, rng.random(n) ** 9
    chunks = (n // 2 + 10, 1000, n // 2 - 1010)  # the first is looked up by compiled code
    given = (lazy(weights, chunks),) if weighted else ()
    assert roc_auc(lazy(y, chunks), lazy(scores, chunks), *given) == roc_auc(y, scores, weights if weighted else None)


def test_the_larger_class_is_not_gathered():
    """No task returns more than the rarer class."""
    rng = np.random.default_rng(0)
    n, chunks = 4000, (1000,) * 4
    y = np.zeros(n, dtype=bool)
    y[::400] = True
    scores, sizes = rng.random(n), []

    class Sizes(Callback):
        def _posttask(self, key, result, graph, state, worker_id):
            if "run_partition" in str(key) or "merge_states" in str(key):
                sizes.append(len(pickle.dumps(result)))

    with Sizes():
        compare_auc(lazy(y, chunks), lazy(scores, chunks), lazy(scores**2, chunks))
    assert 0 < max(sizes) < n


def test_score_is_that_of_memory():
    X, y = noisy_line(n=90, d=3)
    labels = np.where(y == 1, "yes", "no")
    weights = np.random.default_rng(1).integers(0, 3, 90) / 7
    clf = AUCClassifier(alpha=0.1).fit(X, labels)
    chunks = (0, 50, 40)
    found = clf.score(*(lazy(values, chunks) for values in (X, labels, weights)))
    assert isinstance(found, float)
    assert found == pytest.approx(clf.score(X, labels, weights), abs=1e-12)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(label=labels), npartitions=2)
    named = AUCClassifier(alpha=0.1).fit(frame[["a", "b", "c"]], frame["label"])
    assert named.score(frame[["a", "b", "c"]], frame["label"]) == pytest.approx(clf.score(X, labels), abs=1e-12)
    assert roc_auc(frame["label"], frame["a"]) == roc_auc(labels, X[:, 0])
    with pytest.raises(ValueError, match=r"^y holds 'maybe', but the classes are \['no', 'yes'\]\.$"):
        clf.score(lazy(X, chunks), lazy(np.where(y == 1, "yes", "maybe"), chunks))


def test_what_is_refused():
    y, scores = lazy(np.array([0, 1, 0, 1]), (2, 2)), lazy(np.arange(4.0), (2, 2))
    for message, call in {
        r"^max_fpr=0\.1 needs all scores in one place: compute\(\) y and scores first\.$": lambda: roc_auc(
            y, scores, max_fpr=0.1
        ),
        r"^y must be a Dask collection with the partitions of scores, got list\.$": lambda: roc_auc([0, 1], scores),
        r"^scores_b has 1 partitions, but scores_a has 2\.$": lambda: compare_auc(y, scores, scores.rechunk(4)),
        r"^y is a Dask collection, but scores is not: compute\(\) y first\.$": lambda: roc_auc(y, np.arange(4.0)),
        r"^sample_weight is a Dask collection, but scores is not": lambda: roc_auc([0, 1, 0, 1], np.arange(4.0), y),
        r"^y is a Dask collection, but scores is not: compute": lambda: roc_auc_ci(y, np.arange(4.0)),
        r"^y is a Dask collection, but X is not: compute\(\) y first\.$": lambda: AUCClassifier().fit(np.eye(4), y),
        r"^Partition 0 of scores has 3 rows, but that of y has 2\.$": lambda: roc_auc(y, scores.rechunk(((3, 1),))),
        r"^scores and y have no rows\.$": lambda: roc_auc(y[:0], scores[:0]),
        r"^Input scores contains NaN\.$": lambda: roc_auc(y, scores * np.nan),
        r"^DeLong's variance needs at least two rows of each class, got 1 positive and 3 negative\.$": lambda: (
            roc_auc_ci(y * (scores > 2), scores)
        ),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(), st.integers(1, 12))
def test_two_large_classes_are_cut_into_buckets_with_the_same_bits(problem, bucket):
    y, scores, weights, chunks = problem
    labels, both = lazy(y, chunks), lazy(scores, chunks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_buckets, "BUCKET", bucket)
        patch.setattr(dask_buckets, "PICKED", max(bucket // 3, 1))
        patch.setattr(dask_scores, "KEPT_SHARE", np.inf)
        assert dask_scores.DaskScores(labels, scores=both)._both_are_large
        assert_array_equal(roc_auc(labels, both), roc_auc(y, scores))
        assert roc_auc_ci(labels, both[:, 1]) == roc_auc_ci(y, scores[:, 1])
        assert compare_auc(labels, both[:, 0], both[:, 1]) == compare_auc(y, *scores.T)
        assert_array_equal(roc_auc(labels, both, lazy(weights, chunks)), roc_auc(y, scores, weights))
        if min(np.bincount(y[weights > 0], minlength=2)) > 1:
            first, second, lazy_weights = both[:, 0], both[:, 1], lazy(weights, chunks)
            assert roc_auc_ci(labels, second, lazy_weights) == roc_auc_ci(y, scores[:, 1], weights)
            assert compare_auc(labels, first, second, lazy_weights) == compare_auc(y, *scores.T, weights)


def test_equal_scores_stay_in_the_order_of_the_rows():
    """In another order their weights would be rounded differently, in a bucket and in memory."""
    for n_values in (7, 10**9):
        values = np.random.default_rng(0).integers(0, n_values, 1000) / 7
        assert_array_equal(ranking.order_of(values), np.argsort(values, kind="stable"))


class BucketSizes(Callback):
    """Counts the rows of each bucket."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def _posttask(self, key, result, graph, state, worker_id):
        if isinstance(result, dask_places.BucketPlaces) and result.places is not None:
            self.sizes.append(sum(map(len, result.places)))
        if isinstance(result, dask_auc.Bucket):
            self.sizes.append(result.bounds[-1] + len(result.scores))


@pytest.fixture
def small_buckets(monkeypatch):
    monkeypatch.setattr(dask_buckets, "BUCKET", 512)
    monkeypatch.setattr(dask_scores, "KEPT_SHARE", np.inf)


def test_no_task_holds_more_than_a_bucket_or_a_partition(small_buckets):
    rng = np.random.default_rng(0)
    n, chunks = 8000, (1000,) * 8
    y, scores, weights = rng.random(n) < 0.5, rng.standard_normal(n), rng.random(n) ** 9
    clf = AUCClassifier("squared", alpha=1.0).fit(scores[:, None], y)
    labels, lazy_scores, rounded = lazy(y, chunks), lazy(scores, chunks), np.round(scores, 3)
    for call, expected in {
        lambda: roc_auc(labels, lazy_scores): roc_auc(y, scores),
        lambda: roc_auc_ci(labels, lazy_scores): roc_auc_ci(y, scores),
        lambda: clf.score(lazy_scores[:, None], labels): clf.score(scores[:, None], y),
        lambda: roc_auc(labels, lazy(rounded, chunks), lazy(weights, chunks)): roc_auc(y, rounded, weights),
    }.items():
        with BucketSizes() as buckets:
            assert call() == expected
        assert sum(buckets.sizes) == n
        assert len(buckets.sizes) > n / 512 / 2
        assert max(buckets.sizes) < 3 * 512


def test_a_score_that_many_rows_share_stays_in_its_partitions(small_buckets):
    """Here four of five rows share one of two scores: these rows are in no bucket with those of other partitions."""
    rng = np.random.default_rng(0)
    n, chunks = 8000, (1000, 0, 3000, 4000)
    y, weights = rng.random(n) < 0.5, rng.random(n) ** 9
    scores = np.where(rng.random(n) < 0.2, rng.standard_normal(n), np.where(rng.random(n) < 0.5, 0.0, 0.5)) + 0.1 * y
    scores = np.column_stack([scores, np.sign(scores)])
    labels, both, lazy_weights = (lazy(values, chunks) for values in (y, scores, weights))
    with BucketSizes() as buckets:
        assert_array_equal(roc_auc(labels, both, lazy_weights), roc_auc(y, scores, weights))
        assert_array_equal(roc_auc(labels, both), roc_auc(y, scores))
    assert sum(buckets.sizes) == 4 * n
    assert {size for size in buckets.sizes if size > 3 * 512} <= {
        np.count_nonzero(scores[start:stop, k] == value)
        for start, stop in ((1000, 4000), (4000, 8000))
        for k in range(2)
        for value in np.unique(scores[:, k])
    }
    with BucketSizes() as buckets:
        assert compare_auc(labels, both[:, 0], both[:, 1]) == compare_auc(y, *scores.T)
    assert sum(buckets.sizes) < n, "of tied rows, only counts come together"
    assert compare_auc(labels, both[:, 0], both[:, 1], lazy_weights) == compare_auc(y, *scores.T, weights)


def test_all_columns_are_cut_in_one_pass(small_buckets):
    """Labels, splitters, buckets: three graphs, however many columns there are."""
    rng = np.random.default_rng(0)
    y, scores, graphs = rng.random(4000) < 0.5, rng.standard_normal((4000, 3)), []

    class Graphs(Callback):
        def _start(self, graph):
            graphs.append(graph)

    with Graphs():
        assert_array_equal(roc_auc(lazy(y, (4000,)), lazy(scores, (4000,))), roc_auc(y, scores))
    assert len(graphs) == 3
    assert_array_equal(held_out_exchange.pick(scores[:, 0], 8, 0), np.sort(scores[:, 0])[::8])
