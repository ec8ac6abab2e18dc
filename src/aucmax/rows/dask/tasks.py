"""The tasks of a pass over Dask collections, and how they are computed."""

from __future__ import annotations

import functools
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d

from ..blocks.block import Pass, RowBlock, State
from ..protocol import Targets
from ..validate import check_labels
from .partitions import check_length, read_features, read_labels, read_weights

ARITY = 8  # so many states are merged by one task
LOOK_EVERY = 2.0  # seconds after which a pass looks whether the cluster still has workers
WARN_AFTER, GIVE_UP_AFTER = 10.0, 300.0  # seconds without any worker


class Job(NamedTuple):
    """What the tasks of a pass have in common; it is sent once."""

    task: Pass
    classes: np.ndarray
    n_features: int
    is_sparse: bool
    totals: np.ndarray
    errors: Any  # how the caller treats floating-point errors; the threads of tasks do not know
    name: str = "X"  # what messages call the rows

    def block(self, number: int, X: list[Any], y: list[Any], weights: list[Any] | None, groups: Any) -> RowBlock:
        """Return the block of a partition."""
        features, labels = read_features(X, self.name), read_labels(y)
        check_length(number, self.name, features, labels)
        if features.shape[1] != self.n_features:
            raise ValueError(
                f"Partition {number} of {self.name} has {features.shape[1]} columns, but the first one has "
                f"{self.n_features}."
            )
        if sparse.issparse(features) != self.is_sparse:
            kinds = ("CSR", "dense") if sparse.issparse(features) else ("dense", "CSR")
            raise ValueError(f"Partition {number} of {self.name} is {kinds[0]}, but the first one is {kinds[1]}.")
        check_labels(labels, self.classes)
        if groups is not None:
            groups = column_or_1d(groups[0])
            check_length(number, "groups", groups, labels)
        sample_weight = read_weights(number, weights, labels)
        return RowBlock(features, Targets(labels == self.classes[1], sample_weight, self.totals, groups))

    def state(self, number: int, *partition: Any) -> State:
        """Return the state of one partition."""
        with np.errstate(**self.errors):
            state = self.task.begin(number)
            self.task.step(state, self.block(number, *partition))
        return state

    def merged(self, states: list[State]) -> State:
        """Return the state of neighbouring partitions together."""
        with np.errstate(**self.errors):
            return functools.reduce(self.task.merge, states)


class Failure(NamedTuple):
    """An error of a pass, which is a result: so it is not taken for one of the user's own tasks."""

    error: Exception


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function, or a Failure."""
    try:
        return function(*arguments)
    except Exception as error:
        return Failure(error)


def merge_states(job: Job, states: list[State | Failure]) -> State | Failure:
    """Return the state of neighbouring partitions together, or the first Failure."""
    failures = [state for state in states if isinstance(state, Failure)]
    return failures[0] if failures else attempt(job.merged, states)


def merge_by_tree(merge: Callable[[list[Any]], Any], tasks: list[Any]) -> Any:
    """Return the one task that is left when neighbours are merged, ARITY at a time."""
    while len(tasks) > 1:
        tasks = [merge(tasks[k : k + ARITY]) for k in range(0, len(tasks), ARITY)]
    return tasks[0]


def compute(task: Any, tops: Sequence[Any] = ()) -> Any:
    """Return the result of a task, computed as `dask.compute` does; raise its error, or the first one of a list.

    A cluster without any worker would make Dask wait for ever: after a while that is an error, too. `tops` are the
    tasks that read partitions: each absorbs all tasks that only it needs (`fuse`).
    """
    import dask

    fused = fuse(task, tops)
    client = _waiting_client(fused)
    try:
        (result,) = dask.compute(fused) if client is None else (_result(client, fused),)
    except NoWorkerError:
        raise
    except CancelledError as error:
        raise RuntimeError("Dask has cancelled a pass: the client was closed, or it has lost its scheduler.") from error
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0]
        raise RuntimeError(f"Dask could not compute a partition: {type(error).__name__}: {reason}") from error
    for found in result if isinstance(result, list) else [result]:
        if isinstance(found, Failure):
            raise found.error
    return result


def fuse(result: Any, tops: Iterable[Any]) -> Any:
    """Return the same result, with a graph in which the `tops` have absorbed all tasks that only they need.

    If reading and summing a partition are separate tasks, the scheduler may start the second on another worker than the
    first, and move the rows there; each of the tasks also takes its time.

    Data and futures are not changed, so persisted collections are used in place. Nothing is fused in a graph with
    annotations (`dask.annotate`: retries, resources), which a fused task would lose, or if Dask lacks the private names
    that this takes. No top may need another.
    """
    from dask.delayed import Delayed

    try:
        from dask._task_spec import Alias, Task, convert_legacy_graph

        join = Task.fuse
    except (ImportError, AttributeError):
        return result
    layers = getattr(result.__dask_graph__(), "layers", {})
    if any(layer.annotations for layer in layers.values()):
        return result
    graph = convert_legacy_graph(dict(result.__dask_graph__()))
    users: dict[Any, set[Any]] = defaultdict(set)
    for key, task in graph.items():
        for needed in task.dependencies:
            users[needed].add(key)
    for top in tops:
        own, waiting = {top.key}, [top.key]
        while waiting:
            for needed in graph[waiting.pop()].dependencies - own:
                if users[needed] <= own and isinstance(graph.get(needed), Task | Alias):
                    own.add(needed)
                    waiting.append(needed)
        graph[top.key] = join(*map(graph.pop, own))
    return Delayed(result.key, graph)


class NoWorkerError(RuntimeError):
    """A cluster has had no worker for long."""


def _waiting_client(task: Any) -> Any:
    """Return the client that computes a task and waits for it; None without a cluster, and within one of its tasks."""
    import dask

    if "distributed" not in sys.modules:  # who has a client has imported it
        return None
    from distributed import Client
    from distributed.worker import thread_state

    client = getattr(dask.base.get_scheduler(collections=[task]), "__self__", None)
    return client if isinstance(client, Client) and not hasattr(thread_state, "key") else None


def _result(client: Any, task: Any) -> Any:
    """Return the result of a task; warn, and in the end raise an error, while the cluster has no worker."""
    from distributed import wait

    future, lost, warned = client.compute(task), None, False
    try:
        while True:
            try:
                wait(future, timeout=LOOK_EVERY)
            except TimeoutError:
                pass
            else:
                return future.result()  # outside of `try`: a TimeoutError here is the task's own
            if client.scheduler_info()["workers"]:
                lost = None
                continue
            lost = monotonic() if lost is None else lost
            if monotonic() - lost >= GIVE_UP_AFTER:
                raise NoWorkerError(f"The cluster has had no worker for {GIVE_UP_AFTER:g} seconds: start some first.")
            if not warned and monotonic() - lost >= WARN_AFTER:
                warned = True
                warnings.warn("The cluster has no worker: the pass waits for one.", UserWarning, stacklevel=2)
    finally:
        if not future.done():
            future.cancel()
