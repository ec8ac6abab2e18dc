"""Fits on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..data.dispatch import cluster_rows
from ..files import Source
from ..models.model_file import ModelFile, versions
from .display import is_linear
from .fit_file import TrainedModel, check_columns, describe, describe_training
from .read_file import naming
from .table_model import join_model

SECONDS = 10  # to wait for a scheduler


@contextmanager
def connect(address: str) -> Iterator[int]:
    """Make a cluster the one that Dask uses; yields its number of workers.

    Parameters
    ----------
    address : str
        The address of a scheduler, or "local" for worker processes on this machine.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("cluster= needs Dask: pip install 'aucmax[dask]'.") from None
    if address == "local":
        with LocalCluster(dashboard_address=":0") as cluster, Client(cluster):
            yield len(cluster.workers)
        return
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(f"No Dask scheduler answers at {address}: cluster= is local or an address.") from error
    with client:
        yield len(client.scheduler_info(n_workers=-1)["workers"])


def fit_on_cluster(estimator: Any, source: Source, positive: str | None, memory: float) -> TrainedModel:
    """Fit an estimator to files that the workers of the active cluster read."""
    check_columns(estimator, source)
    with naming(source):
        try:
            rows = cluster_rows(source, positive, memory)
            estimator.fit_rows(rows)
            spreads = rows.spreads() if is_linear(estimator) else None
        except RuntimeError as error:  # of Dask; a fault in a file is its cause
            raise (
                error.__cause__ if isinstance(error.__cause__, ValueError | OSError) else ValueError(error)
            ) from error
    describe(estimator, rows.labels)
    notes = describe_training(source, rows.labels, rows.counts, spreads, by_blocks=True)
    return TrainedModel(ModelFile(join_model(source, estimator), notes, versions()), None, None)
