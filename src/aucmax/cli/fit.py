"""From a file of labelled rows to a fitted model, in memory, by blocks or on a Dask cluster."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from .._base import LinearAUCClassifier
from .._text import ArgumentError
from ..compare.methods import find_method, last_step
from ..files import Block, Source
from ..files.labels import Classes
from ..models.model_file import ModelFile, versions
from ..papers.engine.epochs import OnlineClassifier, StochasticClassifier
from ..report.model_report import is_linear
from ..rows.dispatch import cluster_rows
from ..rows.file import INTERPRETER
from ..rows.machine import usable_memory
from ..rows.protocol import ReadRows
from .console import format_bytes
from .options import FITTED
from .score import OnBlock, find_classes, naming, read_rows
from .table_model import join_model

SECONDS = 10  # to wait for a scheduler
FIT_SHARE = 1.5  # memory that reading and fitting take together, as a multiple of what reading takes
ROLES = {"weight": "sample_weight", "group": "groups"}  # columns of a file, and the arguments of `fit` that take them


class BlockReading(NamedTuple):
    """How a file is read by blocks."""

    memory: int  # bytes that the process may use
    checkpoint: Path | None  # the file to resume from after an interruption
    is_given: bool  # whether the user named the memory, which is else a share of the machine's


class TrainedModel(NamedTuple):
    """A model that was fitted to a file."""

    file: ModelFile  # the model, with a summary of the training rows as notes
    scores: np.ndarray | None  # of the training rows; None if they were read by blocks
    rows: tuple[Any, np.ndarray] | None  # the training rows and the mask of the positives; None if read by blocks


def default_memory() -> int:
    """Return half of the memory that this process may use."""
    return usable_memory() // 2


def find_need(source: Source, how: BlockReading) -> float:
    """Return the bytes that a fit in memory takes, to compare with the bytes that it may use.

    The interpreter counts where the user names the memory of the whole process.
    """
    return FIT_SHARE * source.memory() + (INTERPRETER if how.is_given else 0)


def check_blocks(estimator: Any, called: str | None, source: Source, how: BlockReading, on_cluster: bool) -> None:
    """Raise a ValueError that says why a file is read by blocks, if an estimator cannot be fitted so."""
    if can_read_blocks(estimator):
        return
    others = "take AUCClassifier or an online algorithm"
    if on_cluster:
        why = f"but with --cluster they are in several processes: {others}"
    elif how.checkpoint is not None:
        why = f"but with --checkpoint they are read by blocks: leave it out, or {others}"
    else:
        allowed = "--memory is" if how.is_given else "by default a fit takes no more than"
        why = f"about {format_bytes(find_need(source, how))}, but {allowed} {format_bytes(how.memory)}: {others}, or "
        why += "raise --memory"
    raise ValueError(f"{source.name}: {called} needs all rows in memory, {why}.")


def fit_in_memory(
    estimator: Any, source: Source, positive: str | None, on_block: OnBlock, *callbacks: Any
) -> TrainedModel:
    """Fit an estimator, in place, to all rows of a file at once; `callbacks` are scikit-learn callbacks of the fit."""
    rows = read_rows(source, on_block)
    classes, mask = find_classes(source, rows, positive)
    last = last_step(estimator)
    last.set_callbacks(*callbacks)
    with naming(source):
        estimator.fit(rows.features, mask, **fit_arguments(estimator, rows))
    last.set_callbacks()
    scores = estimator.decision_function(rows.features)
    describe(estimator, classes)
    counts = np.bincount(mask if rows.weight is None else mask[rows.weight > 0], minlength=2)
    spreads = None
    if is_linear(estimator):
        spreads = StandardScaler(with_mean=False).fit(rows.features, sample_weight=rows.weight).scale_
    file = describe_model_file(estimator, source, classes, counts, spreads, by_blocks=False)
    return TrainedModel(file, scores, (rows.features, mask))


def check_columns(estimator: Any, source: Source) -> None:
    """Raise a ValueError if a file has weights or groups that the estimator cannot be fitted with."""
    last = last_step(estimator)
    for role, argument in ROLES.items():
        if getattr(source, role) is not None and not has_fit_parameter(last, argument):
            raise ArgumentError(f"{type(last).__name__} cannot be fitted with {{{role}=}}: leave it out.")


def fit_arguments(estimator: Any, rows: Block) -> dict[str, np.ndarray]:
    """Return the weights and groups of rows as arguments of an estimator's `fit`, or of a pipeline's last step."""
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    given = {prefix + argument: getattr(rows, role) for role, argument in ROLES.items()}
    return {argument: values for argument, values in given.items() if values is not None}


def fit_by_blocks(estimator: Any, rows: ReadRows, source: Source) -> TrainedModel:
    """Fit an estimator to rows that are read by blocks."""
    with naming(source), warnings.catch_warnings():
        # They were listed before the fit.
        warnings.filterwarnings("ignore", message="X has columns that are left out", category=UserWarning)
        estimator.fit_rows(rows)
    spreads = rows.spreads() if is_linear(estimator) else None
    file = describe_model_file(estimator, source, rows.labels, rows.counts, spreads, by_blocks=True)
    return TrainedModel(file, None, None)


def can_read_blocks(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to a file that is read by blocks."""
    if isinstance(estimator, StochasticClassifier):
        return isinstance(estimator, OnlineClassifier) and hasattr(estimator, "partial_fit")
    return hasattr(estimator, "fit_rows") and getattr(estimator, "solver", "auto") != "dual"


def describe(estimator: Any, classes: Classes) -> None:
    """Give a model that was fitted to a mask the labels of its file."""
    last = last_step(estimator)
    last.classes_ = classes.array()
    if hasattr(last, "moments_"):
        last.moments_ = last.moments_.relabelled(last.classes_)


def describe_model_file(
    estimator: Any, source: Source, classes: Classes, counts: np.ndarray, spreads: np.ndarray | None, by_blocks: bool
) -> ModelFile:
    """Return a model with notes; without date and time, so that the same command writes the same file."""
    negative, positive = counts.tolist()
    notes = {
        "training": {
            "data": source.name,
            "format": source.format,
            "n_samples": negative + positive,
            "n_positive": positive,
            "by_blocks": by_blocks,
        },
        "classes": classes._asdict(),
        "target": source.target,
        "spreads": spreads,
    }
    return ModelFile(join_model(source, estimator), notes, versions())


def make_estimator(algorithm: str | None, seed: int, is_table: bool, by_blocks: bool, **parameters: Any) -> Any:
    """Return the estimator that the options of `aucmax fit` describe.

    `algorithm` is a text that `find_method` takes; None is TableClassifier if `is_table`, else AUCClassifier. `seed` is
    for estimators that draw random numbers. `by_blocks` is whether the estimator will read a file by blocks, in the
    order of the file. A parameter that the user did not give is None.
    """
    default = "TableClassifier" if is_table else "AUCClassifier"
    estimator = find_method(default if algorithm is None else algorithm).seeded(seed)
    inner = last_step(estimator)
    if not isinstance(inner, LinearAUCClassifier):
        fitted = ", ".join(FITTED)
        raise ValueError(f"{algorithm} can be compared with, not fitted here: --algorithm takes one of {fitted}.")
    called = default if algorithm is None else algorithm.partition("(")[0].strip()
    wanted = {name: value for name, value in parameters.items() if value is not None}
    for name in wanted:
        if name not in inner.get_params():
            raise ArgumentError(f"{{}} has no parameter for {{{name}=}}.", called)
        if re.search(rf"\b{name}\s*=", algorithm or ""):
            raise ArgumentError(f"{name} is given twice, by --algorithm and by {{{name}=}}.")
    inner.set_params(**wanted)
    if by_blocks and "shuffle" in inner.get_params() and not re.search(r"\bshuffle\s*=", algorithm or ""):
        inner.set_params(shuffle=False)
    return estimator


@contextmanager
def connect(address: str) -> Iterator[int]:
    """Make a cluster the one that Dask uses; yields its number of workers.

    `address` is the address of a scheduler, or "local" for worker processes on this machine.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("--cluster needs Dask: pip install 'aucmax[dask]'.") from None
    if address == "local":
        with LocalCluster(dashboard_address=":0") as cluster, Client(cluster):
            yield len(cluster.workers)
        return
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(f"No Dask scheduler answers at {address}: --cluster is local or an address.") from error
    with client:
        yield len(client.scheduler_info(n_workers=-1)["workers"])


def fit_on_cluster(estimator: Any, source: Source, positive: str | None, memory: float) -> TrainedModel:
    """Fit an estimator to files that the workers of the active cluster read."""
    with naming(source):
        try:
            rows = cluster_rows(source, positive, memory)
            trained = fit_by_blocks(estimator, rows, source)
        except RuntimeError as error:  # of Dask; a fault in a file is its cause
            raise (
                error.__cause__ if isinstance(error.__cause__, ValueError | OSError) else ValueError(error)
            ) from error
    describe(estimator, rows.labels)
    return trained
