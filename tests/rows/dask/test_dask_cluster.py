"""Fits on a real cluster of two worker processes: the weights of memory, even if a worker dies; clear errors if not."""

import os
import signal
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose
from problems import noisy_line
from sklearn.base import clone

from aucmax import AUCClassifier, compare_auc, roc_auc
from aucmax.rows.dask import rows as dask_rows
from aucmax.rows.dask import scores as dask_scores
from aucmax.rows.dask import tasks as dask_tasks
from aucmax.rows.dask.rows import DaskRows

pytestmark = pytest.mark.posix  # workers are killed

N, CHUNKS = 200, (0, 70, 1, 129)


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def data():
    X, y = noisy_line(n=N, d=4)
    return X, y, np.random.default_rng(1).integers(0, 3, N).astype(float)


def lazy(values):
    return da.from_array(values, chunks=(CHUNKS, *values.shape[1:]))


def calls_of(folder):
    """Count one more call, and return the number of calls so far; all processes share the folder."""
    number = len(os.listdir(folder)) + 1
    Path(folder, str(number)).touch()
    return number


def killed_once(block, folder):
    """Return the block, but kill this process in the second call with the last partition."""
    if len(block) == CHUNKS[-1] and calls_of(folder) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def always_killed(block):
    if len(block) == CHUNKS[-1]:
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def slow(block, folder):
    calls_of(folder)
    time.sleep(0.2)
    return block


def broken(block):
    raise OSError("the disk is full")


def changed(X, function, *arguments):
    return lazy(X).map_blocks(function, *arguments, meta=np.zeros((0, 0)))


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "squared", "cv": 3}, pytest.param({"loss": "logistic", "alpha": 0.1}, marks=pytest.mark.slow)],
    ids=str,
)
def test_workers_give_the_weights_of_memory(parameters, data, client):
    clf = AUCClassifier(tol=1e-10, **parameters)
    expected = clf.fit(*data).coef_
    found = clf.fit(*map(lazy, data)).coef_
    assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_workers_give_the_bits_of_memory(data, client, monkeypatch):
    X, y, weights = data
    assert roc_auc(*map(lazy, (y, X[:, 0], weights / 7))) == roc_auc(y, X[:, 0], weights / 7)
    assert compare_auc(*map(lazy, (y, X[:, 0], X[:, 1]))) == compare_auc(y, X[:, 0], X[:, 1])
    monkeypatch.setattr(dask_scores, "KEPT_SHARE", np.inf)  # as if both classes were large
    expected = compare_auc(y, X[:, 0], X[:, 1])
    assert compare_auc(*map(lazy, (y, X[:, 0], X[:, 1]))) == pytest.approx(expected, abs=1e-3)
    found = roc_auc(*map(lazy, (y, X[:, 0], weights / 7)))
    assert found == pytest.approx(roc_auc(y, X[:, 0], weights / 7), abs=1e-4)


@pytest.mark.slow
def test_dask_rows_stay_on_their_workers(data, client):
    """A task knows of the rows what the first pass has found, and how its caller treats floating-point errors."""
    rows = DaskRows(*map(lazy, data))
    view = rows.columns(np.arange(2))
    assert view.n_rows == N  # from here on, it knows the sizes of its partitions

    def known(targets):
        return [(sorted(vars(rows)), len(rows._first.partitions), len(view._known), np.geterr()["over"])]

    with np.errstate(over="raise"):
        found = view.reduce(known)
    assert found == [(["_first", "feature_names", "memory"], 0, 1, "raise")] * len(CHUNKS)


@pytest.mark.slow
def test_a_worker_that_dies_during_a_pass(data, client, tmp_path):
    X, y, weights = data
    clf = AUCClassifier("squared", alpha=0.1)
    expected = clf.fit(*map(lazy, data)).coef_
    found = clf.fit(changed(X, killed_once, str(tmp_path)), lazy(y), lazy(weights)).coef_
    assert len(os.listdir(tmp_path)) == 3  # moments; the histogram, in which the worker died; the histogram again
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.slow
def test_dask_graph_limit_sends_large_summaries_without_a_warning(data, client):
    X, y, _ = data
    with dask.config.set({dask_rows.GRAPH_LIMIT: "12kB"}):
        clf = AUCClassifier("squared", cv=3).fit(client.persist(lazy(X)), client.persist(lazy(y)))
    assert clf.coef_.shape == (1, 4)


@pytest.mark.slow
def test_a_partition_that_raises(data, client):
    X, y, _ = data
    with pytest.raises(RuntimeError, match=r"^Dask could not compute a partition: OSError: the disk is full$"):
        AUCClassifier(alpha=0.1).fit(changed(X, broken), lazy(y))


@pytest.mark.slow
def test_a_partition_that_kills_every_worker(data, client, cluster):
    X, y, _ = data
    cluster.scheduler.allowed_failures = 0
    with pytest.raises(RuntimeError, match=r"^Dask could not compute a partition: KilledWorker: Attempted to run task"):
        AUCClassifier(alpha=0.1).fit(changed(X, always_killed), lazy(y))
    cluster.scheduler.allowed_failures = 3


@pytest.fixture
def no_workers(monkeypatch):
    """Return a cluster without workers, on which a pass soon looks for some."""
    for name, seconds in (("LOOK_EVERY", 0.02), ("WARN_AFTER", 0.05)):
        monkeypatch.setattr(dask_tasks, name, seconds)
    with LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster, Client(cluster):
        yield cluster


def test_a_cluster_without_workers_is_told(data, no_workers, monkeypatch):
    monkeypatch.setattr(dask_tasks, "GIVE_UP_AFTER", 0.3)
    with (
        pytest.warns(UserWarning, match="The cluster has no worker: the pass waits for one"),
        pytest.raises(RuntimeError, match=r"^The cluster has had no worker for 0\.3 seconds: start some first\.$"),
    ):
        AUCClassifier("squared").fit(*map(lazy, data))


def test_a_worker_that_comes_late_is_waited_for(data, no_workers):
    threading.Timer(0.3, no_workers.scale, (1,)).start()
    clf = AUCClassifier("squared", alpha=0.1)
    with pytest.warns(UserWarning, match="The cluster has no worker"):
        found = clone(clf).fit(*map(lazy, data))
    assert_allclose(found.coef_, clf.fit(*data).coef_, rtol=1e-10)


@pytest.mark.slow
def test_a_result_may_take_longer_to_come_than_the_look_for_workers(client, monkeypatch):
    monkeypatch.setattr(dask_tasks, "LOOK_EVERY", 1e-3)
    for _ in range(5):
        assert dask_tasks.compute(dask.delayed(np.ones)(1_000_000, pure=False)).sum() == 1_000_000


@pytest.mark.slow
def test_dask_client_that_disconnects_ends_the_fit(data, cluster, tmp_path):
    X, y, _ = data
    errors = []

    def fit():
        try:
            AUCClassifier("hinge", alpha=0.1).fit(changed(X, slow, str(tmp_path)), lazy(y))
        except RuntimeError as error:
            errors.append(str(error))

    with Client(cluster) as client:
        fitting = threading.Thread(target=fit)
        fitting.start()
        while not os.listdir(tmp_path):
            time.sleep(0.01)
        client.close()
        fitting.join(timeout=30)
    assert errors == ["Dask has cancelled a pass: the client was closed, or it has lost its scheduler."]
