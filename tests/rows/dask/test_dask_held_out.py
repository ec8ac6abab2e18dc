"""Held-out AUCs of rows in Dask collections, where neither class fits into the memory, are exact."""

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from aucmax import AUCClassifier, KMeansNystroem
from aucmax.rows.blocks import exchange as held_out_exchange
from aucmax.rows.blocks import held_out
from aucmax.rows.blocks.exchange import PairCounts, SortedScores, find_edges, pick
from aucmax.rows.dask.rows import DaskRows
from aucmax.rows.memory import MemoryRows
from aucmax.rows.protocol import FoldModels, Round, Split

N, LITTLE = 400, 20_000  # rows, and so few bytes that the rows of neither class are kept


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(values, chunks):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def small_rows(X, y, weights, chunks):
    weights = None if weights is None else lazy(weights, chunks)
    rows = DaskRows(lazy(X, chunks), lazy(y, chunks), weights, memory=LITTLE)
    assert rows.rare_rows() is None
    return rows


def made_up(rows, parts, n_candidates=3):
    """Models of three folds, and of one split whose test set is two of four parts; the last model has no weights."""
    rng, models = np.random.default_rng(1), []
    folds = tuple(Split((k,), tuple(j for j in range(3) if j != k)) for k in range(3))
    for round in (Round(rows.assign_folds(3, 0), 3, folds), Round(rows.as_vector(parts), 4, (Split((0, 3), (1, 3)),))):
        W = rng.integers(-4, 5, (len(round.splits), n_candidates, 4)) / 4  # products are exact: ties are ties
        W[:, -1] = 0
        models.append(FoldModels(round, W, np.zeros(W.shape[:2])))
    return models


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(held_out_exchange, "SLICE", 1 << 13)


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 120), max_size=8), st.sampled_from([3, 10**6]), st.sampled_from([150, 10**9]))
def test_held_out_of_any_partitions_has_the_aucs_of_memory(edges, n_values, slice_size):
    rng = np.random.default_rng(len(edges))
    X, y, parts = rng.integers(-n_values, n_values, (120, 4)) / 8, rng.random(120) < 0.5, rng.integers(0, 4, 120)
    weights = rng.random(120) ** 4 * rng.integers(0, 3, 120)
    chunks = tuple(np.diff([0, *sorted(edges), 120]).tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held_out_exchange, "SLICE", slice_size)
        patch.setattr(held_out_exchange, "PICKED", 4)
        for given_weights in (None, weights):
            memory = MemoryRows(X, y, np.array([False, True]), given_weights)
            rows = small_rows(X, y, given_weights, chunks)
            found, expected = (r.held_out(made_up(r, parts)).auc for r in (rows, memory))
            assert_allclose(found, expected, rtol=0, atol=0 if given_weights is None else 1e-14)


@pytest.mark.parametrize("seed", [1, 9])
def test_on_a_plateau_the_alpha_of_memory_is_chosen(seed, small_slices):
    """In 1,024 bins, all that this memory has room for, another alpha had the highest AUC."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 4))
    y = X[:, 0] + rng.standard_normal(N) > 0
    clf = AUCClassifier("squared", cv=3)
    expected = clf.fit(X, y)
    alpha, coef, results = expected.alpha_, expected.coef_, expected.cv_results_
    found = clf.fit_rows(small_rows(X, y, None, (0, 100, 1, 299)))
    assert found.alpha_ == pytest.approx(alpha, rel=1e-12)
    assert_allclose(found.coef_, coef, rtol=0, atol=1e-10 * np.abs(coef).max())
    assert_array_equal(found.cv_results_["mean_test_score"], results["mean_test_score"])


def test_views_exchange_scores_too(small_slices):
    rng = np.random.default_rng(0)
    X, parts = rng.standard_normal((N, 4)), rng.integers(0, 3, N)
    y = X[:, 0] ** 2 + rng.standard_normal(N) > 1
    rows, memory = small_rows(X, y, None, (150, 250)), MemoryRows(X, y, np.array([False, True]))
    some = [r.subset(r.as_vector(parts), [0, 2]) for r in (rows, memory)]
    labels = rng.integers(0, 4, int(np.sum(parts != 1)))
    found, expected = (r.held_out(made_up(r, labels)).auc for r in some)
    assert_allclose(found, expected, rtol=0, atol=1e-14)
    kernel = KMeansNystroem(5, random_state=0).fit(X)
    alphas = {"alphas": [1.0, 0.01], "cv": 3}
    by_rows = AUCClassifier("squared", **alphas).fit_rows(rows.mapped(kernel.transform, kernel.transform(X).shape[1]))
    at_once = AUCClassifier("squared", **alphas).fit(kernel.transform(X), y)
    assert_allclose(by_rows.cv_results_["mean_test_score"], at_once.cv_results_["mean_test_score"], atol=1e-14)


class SliceSizes(Callback):
    """Counts the scores that come together in each task."""

    def __init__(self):
        super().__init__()
        self.parts, self.joined = {}, []

    def _posttask(self, key, result, graph, state, worker_id):
        if "cut_state" in str(key):
            self.parts[key] = sum(len(part.values) for parts in result for part in parts)
        if "join_slices" in str(key):
            self.joined.append(sum(self.parts[needed] for needed in graph[key].dependencies if needed in self.parts))


@pytest.mark.parametrize("chunk", [50, 1500])
def test_exchange_tasks_hold_at_most_a_slice(chunk, monkeypatch):
    """However small the partitions are; and a model without weights has one score in each."""
    monkeypatch.setattr(held_out_exchange, "SLICE", 4500)
    monkeypatch.setattr(held_out_exchange, "PICKED", 8)
    rng = np.random.default_rng(0)
    n = 3000
    X, y, parts = rng.standard_normal((n, 4)), rng.random(n) < 0.5, rng.integers(0, 4, n)
    rows = small_rows(X, y, None, (chunk,) * (n // chunk))
    with SliceSizes() as sizes:
        rows.held_out(made_up(rows, parts))
    assert len(sizes.joined) == 4  # for 2 rounds, 3 models and 3,000 rows
    tied = 2 * 4 * len(rows._partitions)  # at most: 2 classes, 4 splits
    assert 2 * 1.5 * n - 100 < sum(sizes.joined) < 2 * 1.5 * n + tied + 100
    assert max(sizes.joined) < 1.2 * 2 * 1.5 * n / 4 + tied


def test_more_scores_than_can_be_exchanged_are_counted_in_bins(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_SCORES", 6 * N - 1)
    rng = np.random.default_rng(0)
    X, y, parts = rng.standard_normal((N, 4)), rng.random(N) < 0.5, rng.integers(0, 4, N)
    rows, memory = small_rows(X, y, None, (150, 250)), MemoryRows(X, y, np.array([False, True]))
    with SliceSizes() as sizes:
        found = rows.held_out(made_up(rows, parts)).auc
    assert not sizes.joined
    assert_allclose(found, memory.held_out(made_up(memory, parts)).auc, atol=5e-3)


def test_find_edges_of_small_partitions_are_evenly_spaced():
    """Their least scores alone would not tell where the others lie."""
    scores = np.random.default_rng(0).standard_normal(4000)
    picked = [pick(scores[start : start + 20], 64, start) for start in range(0, 4000, 20)]
    counts = np.bincount(np.searchsorted(find_edges(np.concatenate(picked), 8), scores, "right"))[1:]
    assert len(counts) == 8
    assert counts.max() < 2 * 500
    assert_array_equal(pick(scores, 8, 0), np.sort(scores)[::8])


def test_more_equal_rows_than_64_bits_have_pairs():
    n = 1 << 33
    tied, one = SortedScores(np.zeros(1), np.array([n])), SortedScores(np.array([0.0]), None)
    lower, higher = PairCounts.of(tied, tied), PairCounts.of(tied, one)
    assert lower == (n, n, n * n)
    assert lower.merge_higher(higher) == (2 * n, n + 1, n * n + n + 2 * n)


def test_a_partition_that_raises_in_an_exchange(small_slices, monkeypatch):
    rng = np.random.default_rng(0)
    rows = small_rows(rng.standard_normal((N, 4)), rng.random(N) < 0.5, None, (150, 250))

    def broken(scores, targets):
        raise ValueError("what a task found")

    monkeypatch.setattr(held_out_exchange, "by_class", broken)
    with pytest.raises(ValueError, match=r"^what a task found$"):
        rows.held_out(made_up(rows, np.zeros(N, dtype=int)))
