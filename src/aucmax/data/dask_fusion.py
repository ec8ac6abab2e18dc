"""Graphs in which a partition is read and summarised by one task.

If reading and summing are tasks of their own, the scheduler may start the second on another worker than the first, and
move the rows there; each of the tasks also takes its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any


def fuse(result: Any, tops: Iterable[Any]) -> Any:
    """Return a Delayed object in which some tasks have absorbed all that only they need.

    Data and futures stay as they are, so that what the user has persisted is used where it is. A graph with
    annotations (`dask.annotate`: retries, resources) stays as it is too, since a fused task would lose them; and so
    does every graph if Dask lacks the names that this takes, which are private.

    Parameters
    ----------
    result : Delayed
        The result of the graph.
    tops : iterable of Delayed
        The tasks that absorb others, none of which needs another.

    Returns
    -------
    fused : Delayed
        The same result.
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
