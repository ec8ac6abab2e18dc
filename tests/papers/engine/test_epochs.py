"""The epoch loop on rows that come in blocks, and the history of scores."""

import copy
import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from aucmax import SOLAM, SPDAM, UniSqu
from aucmax.papers import ALGORITHMS
from aucmax.papers.engine.epochs import OnlineClassifier, ScoreHistory
from aucmax.rows.memory import MemoryRows, MemorySpace
from aucmax.rows.protocol import Targets

ONLINE = [
    name
    for name, algorithm in ALGORITHMS.items()
    if isinstance(algorithm.make, type) and issubclass(algorithm.make, OnlineClassifier)
]
SIZES = (1, 0, 30, 7, 42, 10)  # of the blocks; one is empty, and one holds one row only


class Killed(Exception):
    """The end of a process."""


class BlockRows(MemoryRows):
    """Rows that come in blocks, as those of a file do, with a checkpoint after each block."""

    in_memory = False
    feature_names = ("a", "b", "c", "d")

    def __init__(self, *rows, checkpoint=None, kill_after=None, memory=np.inf):
        super().__init__(*rows)
        self.checkpoint, self.kill_after, self.memory = {} if checkpoint is None else checkpoint, kill_after, memory

    def check_memory(self, what, n_bytes, advice):
        if n_bytes > self.memory:
            raise ValueError(f"{what} takes {n_bytes} bytes: {advice}.")

    def blocks(self):
        ends = np.cumsum((0, *SIZES))
        for start, stop in itertools.pairwise(ends):
            part = self.take(np.arange(start, stop))
            yield part.X, Targets(part.y == self.classes[1], part.sample_weight, self.totals)

    def reduce(self, function, scores, merge=operator.add):
        ends = np.cumsum((0, *SIZES))
        parts = [
            function(targets, scores[start:stop])
            for (_, targets), start, stop in zip(self.blocks(), ends, ends[1:], strict=False)
        ]
        whole = parts[0]
        for part in parts[1:]:
            whole = merge(whole, part)
        return whole

    def score_histogram(self, w, moments=None):
        return MemoryRows(self.X, self.y, self.classes, self.sample_weight).score_histogram(w, moments)

    def iterate(self, name, state, prepare, step, again):
        if "state" in self.checkpoint:
            state = copy.deepcopy(self.checkpoint["state"])
        skip, taken = self.checkpoint.get("position", 0), 0
        while True:
            for number, (X, targets) in enumerate(self.blocks()):
                if number < skip:
                    continue
                step(state, prepare(X, targets))
                self.checkpoint.update(state=copy.deepcopy(state), position=number + 1)
                taken += 1
                if taken == self.kill_after:
                    raise Killed
            skip = 0
            if not again(state):
                return state


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = (rng.random(90) < 0.3).astype(int)
    X = rng.standard_normal((90, 4)) @ rng.standard_normal((4, 4)) + y[:, None] * rng.standard_normal(4)
    return X * (rng.random(X.shape) < 0.8), y, rng.uniform(0, 2, 90).round(2)


def make(name, **parameters):
    rank = {"rank": 3} if name == "OPAUCr" else {}
    return ALGORITHMS[name](**{"random_state": 0, "shuffle": False, "max_iter": 2, **rank, **parameters})


def assert_same_fit(first, second):
    for attribute in ("coef_", "intercept_", "calibration_", "convergence_"):
        np.testing.assert_allclose(getattr(first, attribute), getattr(second, attribute), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first._stream.moments, second._stream.moments, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("kind", [np.asarray, pytest.param(sparse.csr_array, marks=pytest.mark.slow)])
@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_are_fitted_as_rows_in_memory(name, kind, weighted, data):
    X, y, weights = data
    rows = (kind(X), y, np.array([0, 1]), weights if weighted else None)
    blocks = make(name).fit_rows(BlockRows(*rows))
    assert_same_fit(blocks, make(name).fit_rows(MemoryRows(*rows)))
    assert_same_fit(blocks, make(name).fit(kind(X), y, weights if weighted else None))
    assert list(blocks.feature_names_in_) == ["a", "b", "c", "d"]
    assert blocks.n_iter_ == 2
    more = blocks.partial_fit(kind(X), y)  # a stream goes on from there
    assert np.isfinite(more.coef_).all()


@pytest.mark.parametrize("name", ["SOLAM", "OPAUCr", "OAM"])
@pytest.mark.parametrize("kill_after", [1, 6, 8])
def test_killed_after_a_block_and_resumed_it_ends_bitwise_the_same(name, kill_after, data):
    X, y, weights = data
    whole = make(name).fit_rows(BlockRows(X, y, np.array([0, 1]), weights))
    checkpoint, clf = {}, make(name)
    with pytest.raises(Killed):
        clf.fit_rows(BlockRows(X, y, np.array([0, 1]), weights, checkpoint=checkpoint, kill_after=kill_after))
    assert not hasattr(clf, "classes_")
    resumed = clf.fit_rows(BlockRows(X, y, np.array([0, 1]), weights, checkpoint=checkpoint))
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.convergence_, whole.convergence_)
    np.testing.assert_array_equal(resumed._stream.rng.get_state()[1], whole._stream.rng.get_state()[1])


def test_what_cannot_be_fitted_by_blocks_gets_a_sentence(data):
    X, y, _ = data
    rows = BlockRows(X, y, np.array([0, 1]))
    for clf in (SPDAM(), UniSqu(solver="exact")):
        with pytest.raises(
            ValueError, match=rf"^{type(clf).__name__} needs all rows in memory: take an online algorithm"
        ):
            clf.fit_rows(rows)
    for parameter in ("shuffle", "warm_start"):
        message = rf"^A file is read in its own order, from the start: set {parameter}=False\.$"
        with pytest.raises(ValueError, match=message):
            SOLAM(**{"shuffle": False, "warm_start": False, parameter: True}).fit_rows(rows)
    with pytest.raises(ValueError, match=r"^The state of SOLAM for \d+ columns takes \d+ bytes: take an algorithm"):
        SOLAM(shuffle=False).fit_rows(BlockRows(X, y, np.array([0, 1]), memory=1))


def test_a_warm_start_needs_the_columns_and_classes_of_the_last_fit(data):
    X, y, _ = data
    clf = SPDAM(warm_start=True, random_state=0, max_iter=2, tol=None).fit_rows(MemoryRows(X, y, np.array([0, 1])))
    message = r"^With warm_start=True the rows must have the 4 columns and the classes \[0, 1\] of the last fit\.$"
    for rows in (MemoryRows(X[:, :2], y, np.array([0, 1])), MemoryRows(X, y + 1, np.array([1, 2]))):
        with pytest.raises(ValueError, match=message):
            clf.fit_rows(rows)
    whole = SPDAM(random_state=0, max_iter=4, tol=None).fit(X, y)
    np.testing.assert_array_equal(clf.fit_rows(MemoryRows(X, y, np.array([0, 1]))).coef_, whole.coef_)


class Watch:
    """A callback that records what it is told."""

    max_propagation_depth = 0

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X, y):
        self.told.append(("begin", context.task_name, X is None, y is None))

    def on_fit_task_end(self, estimator, context, *, X, y):
        self.told.append(("end", context.task_name, X is None, y is None))


@pytest.mark.parametrize("door", [False, True])
def test_callbacks_are_told_of_every_epoch_and_of_the_matrix_where_there_is_one(door, data):
    X, y, _ = data
    watch = Watch()
    clf = make("SOLAM").set_callbacks(watch)
    clf.fit_rows(BlockRows(X, y, np.array([0, 1]))) if door else clf.fit(X, y)
    inner = [told for told in watch.told if told[1] == "epoch"]
    assert inner == [("begin", "epoch", door, door), ("end", "epoch", door, door)] * 2
    assert [told[0] for told in watch.told] == ["begin", "begin", "end", "begin", "end", "end"]


# The history of scores


def history(scores, positive, weights):
    return ScoreHistory.of(Targets(positive, weights, np.ones(2)), scores)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), cuts=st.tuples(st.integers(0, 20), st.integers(0, 20)), whole=st.booleans())
def test_a_history_does_not_depend_on_how_the_rows_are_split(seed, cuts, whole):
    rng = np.random.default_rng(seed)
    scores, positive = rng.standard_normal(20), rng.random(20) < 0.5
    weights = rng.integers(0, 4, 20).astype(float) if whole else rng.uniform(0, 3, 20)
    first, second = sorted(cuts)
    parts = [history(*(a[part] for a in (scores, positive, weights)))
             for part in (slice(first), slice(first, second), slice(second, None))]  # fmt: skip
    merged, all_rows = parts[0].merge(parts[1]).merge(parts[2]), history(scores, positive, weights)
    np.testing.assert_allclose(np.array(merged), np.array(all_rows), rtol=1e-9, atol=1e-9)
    if whole:
        times = weights.astype(int)
        repeated = history(np.repeat(scores, times), np.repeat(positive, times), None)
        np.testing.assert_allclose(np.array(all_rows), np.array(repeated), rtol=1e-9, atol=1e-9)


def test_a_row_counts_as_much_as_rows_came_before_it():
    _, rising = history(np.array([1.0, 5.0, 2.0, 4.0]), np.array([False, True, True, False]), None)
    np.testing.assert_allclose(rising.weight, [1 + 4, 2 + 3])
    np.testing.assert_allclose(rising.mean, [(1 + 16) / 5, (10 + 6) / 5])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_histogram_of_a_history_is_that_of_its_scores(weighted):
    rng = np.random.default_rng(0)
    scores, positive = rng.standard_normal(500), rng.random(500) < 0.3
    weights = rng.uniform(0, 3, 500) if weighted else None
    scores[0] = 40.0  # beyond the grid
    if weighted:
        scores[1], weights[1] = np.nan, 0.0  # a row that does not count may overflow
    targets = Targets(positive, weights, np.ones(2))
    found = ScoreHistory.of(targets, scores).histogram(MemorySpace(targets), scores)
    np.testing.assert_allclose(found.mass, found.grid.bin(targets, scores), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.mass.sum(), np.sum(weights) if weighted else 500)
