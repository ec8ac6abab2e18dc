"""The AUC of scores in Dask collections: bitwise the AUC in memory, or close to it if both classes are large."""

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
from numpy.testing import assert_allclose, assert_array_equal
from problems import noisy_line

from aucmax import AUCClassifier, compare_auc, roc_auc, roc_auc_ci
from aucmax.rows.dask import scores as dask_scores
from aucmax.rows.summaries import ranking


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


@settings(max_examples=12, deadline=None, derandomize=True)
@given(problems())
def test_roc_auc_of_any_partitions_has_the_bits_of_memory(problem):
    y, scores, weights, chunks = problem
    labels, both, lazy_weights = (lazy(values, chunks) for values in (y, scores, weights))
    first, second = both[:, 0], both[:, 1]
    assert roc_auc(labels, first) == roc_auc(y, scores[:, 0])
    assert roc_auc(labels, first, lazy_weights) == roc_auc(y, scores[:, 0], weights)
    assert_array_equal(roc_auc(labels, both, lazy_weights), roc_auc(y, scores, weights))
    assert roc_auc_ci(labels, first) == roc_auc_ci(y, scores[:, 0])
    assert compare_auc(labels, first, second) == compare_auc(y, *scores.T)
    if min(np.bincount(y[weights > 0], minlength=2)) > 1:
        assert_allclose(roc_auc_ci(labels, first, lazy_weights), roc_auc_ci(y, scores[:, 0], weights), rtol=1e-12)
        found = compare_auc(labels, first, second, lazy_weights)
        assert_allclose(found, compare_auc(y, *scores.T, weights), rtol=1e-10, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_roc_auc_of_compiled_and_small_blocks_agree(weighted):
    rng = np.random.default_rng(0)
    n = 2 * ranking.COMPILED_FROM
    y, scores, weights = rng.random(n) < 0.2, rng.integers(0, 5000, n) / 7, rng.random(n) ** 9
    chunks = (n // 2 + 10, 1000, n // 2 - 1010)  # the first is looked up by compiled code
    given = (lazy(weights, chunks),) if weighted else ()
    assert roc_auc(lazy(y, chunks), lazy(scores, chunks), *given) == roc_auc(y, scores, weights if weighted else None)


def test_roc_auc_does_not_gather_the_larger_class():
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


def test_roc_auc_of_dask_refuses_bad_input():
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
        r"^Partition 0 of scores has 3 rows, but y has 2\.$": lambda: roc_auc(y, scores.rechunk(((3, 1),))),
        r"^scores and y have no rows\.$": lambda: roc_auc(y[:0], scores[:0]),
        r"^Input scores contains NaN\.$": lambda: roc_auc(y, scores * np.nan),
        r"^DeLong's variance needs at least two rows of each class, got 1 positive and 3 negative\.$": lambda: (
            roc_auc_ci(y * (scores > 2), scores)
        ),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_equal_scores_stay_in_the_order_of_the_rows():
    """In another order their weights would be rounded differently, in a bucket and in memory."""
    for n_values in (7, 10**9):
        values = np.random.default_rng(0).integers(0, n_values, 1000) / 7
        assert_array_equal(ranking.order_of(values), np.argsort(values, kind="stable"))


def test_pick_of_small_partitions_is_evenly_spaced():
    """Their least scores alone would not tell where the others lie."""
    scores = np.random.default_rng(0).standard_normal(4000)
    picked = np.concatenate([dask_scores.pick(scores[k : k + 20], 64, k) for k in range(0, 4000, 20)])
    ranks = np.searchsorted(np.sort(scores), np.sort(picked)[:: len(picked) // 8])
    assert np.diff(ranks).max() < 2 * 500
    assert_array_equal(dask_scores.pick(scores, 8, 0), np.sort(scores)[::8])


@pytest.fixture
def both_large(monkeypatch):
    monkeypatch.setattr(dask_scores, "KEPT_SHARE", np.inf)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 15])
def test_roc_auc_of_two_large_classes_is_counted_in_bins(weighted, decimals, both_large, monkeypatch):
    monkeypatch.setattr(dask_scores, "N_BINS", 5000)
    rng = np.random.default_rng(0)
    n, chunks = 20_000, (3000, 0, 1, 16_999)
    y = rng.random(n) < 0.4
    scores = np.round(np.exp(rng.standard_normal((n, 2)) + 0.5 * y[:, None]), decimals)
    weights = (rng.random(n) ** 2 * rng.integers(0, 3, n),) if weighted else ()
    labels, both, *lazy_weights = (lazy(values, chunks) for values in (y, scores, *weights))
    assert dask_scores.DaskScores(labels, scores=both)._both_are_large
    assert_allclose(roc_auc(labels, both, *lazy_weights), roc_auc(y, scores, *weights), atol=1e-5)
    interval, expected = roc_auc_ci(labels, both[:, 1], *lazy_weights), roc_auc_ci(y, scores[:, 1], *weights)
    assert_allclose(interval, expected, atol=1e-5)
    assert interval.standard_error == pytest.approx(expected.standard_error, rel=1e-4)
    assert interval.auc == pytest.approx(roc_auc(labels, both[:, 1], *lazy_weights), abs=1e-14)
    found = compare_auc(labels, both[:, 0], both[:, 1], *lazy_weights)
    assert_allclose(found, compare_auc(y, *scores.T, *weights), rtol=1e-3, atol=1e-3)


def test_two_large_classes_of_few_scores_have_the_auc_of_memory(both_large, monkeypatch):
    """A score that many rows share has a bin of its own, also if one is far away; a constant column is one tie."""
    monkeypatch.setattr(dask_scores, "N_BINS", 50)
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.5
    scores = np.column_stack([rng.integers(0, 5, 500) + y, np.where(rng.random(500) < 0.1, 1e9, y), np.ones(500)])
    labels, lazy_scores = lazy(y, (200, 300)), lazy(scores, (200, 300))
    assert_allclose(roc_auc(labels, lazy_scores), roc_auc(y, scores), atol=1e-14)
    for k in range(3):
        assert_allclose(roc_auc_ci(labels, lazy_scores[:, k]), roc_auc_ci(y, scores[:, k]), atol=1e-14)


def test_no_task_returns_the_scores_of_two_large_classes(both_large, monkeypatch):
    monkeypatch.setattr(dask_scores, "N_BINS", 1024)
    rng = np.random.default_rng(0)
    n, chunks, sizes = 200_000, (100_000,) * 2, []
    y, scores = rng.random(n) < 0.5, rng.standard_normal(n)

    class Sizes(Callback):
        def _posttask(self, key, result, graph, state, worker_id):
            if "run_partition" in str(key) or "merge_states" in str(key):
                sizes.append(len(pickle.dumps(result)))

    with Sizes():
        roc_auc_ci(lazy(y, chunks), lazy(scores, chunks))
    assert max(sizes) < 2 * 1.1 * 8 * 1024 < n


def test_positive_label_of_a_dask_array_is_that_of_memory():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 200), rng.normal(size=200)
    for label in range(3):
        found = roc_auc(lazy(y, 30), lazy(scores, 30), pos_label=label)
        assert found == roc_auc(y, scores, pos_label=label) == roc_auc(y == label, scores)
