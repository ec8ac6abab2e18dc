"""From a file to a model and back to scores: what the command line does, without its words."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from ..algorithms import ALGORITHMS
from ..classifier import AUCClassifier
from ..estimators.base import LinearAUCClassifier
from ..files import Block, Encoding, Source, open_source
from ..files.labels import Classes, Labels
from ..models.model_file import ModelFile, versions
from ..stochastic.epochs import StochasticClassifier
from ..streaming import can_stream, fit_blocks
from ..streaming.block_rows import INTERPRETER, BlockRows

TOP = 20  # weights that are shown

DENSE_FROM = 0.6  # share of nonzeros
FIT_SHARE = 1.5  # of what reading takes, for the fit

OnBlock = Callable[[str, Block], None]


def ignore(name: str, block: Block) -> None:
    """Do nothing about a block."""


class Streaming(NamedTuple):
    """How a file may be read by blocks.

    Attributes
    ----------
    memory : int
        Bytes that the process may use.
    checkpoint : path or None
        Where to go on from.
    every : float
        Seconds between two checkpoints.
    """

    memory: int
    checkpoint: Path | None = None
    every: float = 30.0


class Training(NamedTuple):
    """What a fit to a file gave.

    Attributes
    ----------
    file : ModelFile
        The fitted model and what is kept with it: a summary of the training, and how columns become features.
    scores, positive : ndarray or None
        Of the training rows; None where they were not in memory.
    """

    file: ModelFile
    scores: np.ndarray | None
    positive: np.ndarray | None


def default_memory() -> int:
    """Return half of the memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2 if hasattr(os, "sysconf") else 4 << 30


def must_stream(source: Source, how: Streaming) -> bool:
    """Return whether a file has to be read by blocks: it is large, or a checkpoint is asked for."""
    return how.checkpoint is not None or FIT_SHARE * source.memory() + INTERPRETER > how.memory


def fit_in_memory(
    estimator: Any, source: Source, positive: str | None, on_block: OnBlock = ignore, *callbacks: Any
) -> Training:
    """Fit an estimator to all rows of a file at once.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    source : Source
        The file.
    positive : str or None
        The positive label, where the user named it.
    on_block : callable
        Called with "reading" and each block.
    *callbacks
        Callbacks of scikit-learn's.
    """
    X, y = read_rows(source, on_block)
    classes, mask = find_classes_of(source, y, positive)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    last.set_callbacks(*callbacks)
    with naming(source.name):
        estimator.fit(X, mask)
    last.set_callbacks()
    scores = estimator.decision_function(X)
    describe(estimator, classes, source)
    counts = np.array([np.count_nonzero(~mask), np.count_nonzero(mask)])
    spreads = StandardScaler(with_mean=False).fit(X).scale_ if hasattr(estimator, "coef_") else None
    notes = _notes(source, classes, counts, X.shape[1], spreads, streamed=False)
    return Training(ModelFile(estimator, notes, versions()), scores, mask)


def open_blocks(
    estimator: Any, source: Source, positive: str | None, how: Streaming, on_block: OnBlock, command: dict[str, Any]
) -> BlockRows:
    """Return the rows of a file that need not fit into memory, at the checkpoint if there is one.

    Parameters
    ----------
    estimator, source, positive
        As for `fit_in_memory`.
    how : Streaming
        What may be used.
    on_block : callable
        Called with the name of a pass and each block.
    command : dict
        What else the checkpoint must have been made with.
    """
    rest = {name: str(value) for name, value in command.items()}
    return BlockRows.open(estimator, source, positive, how.memory, how.checkpoint, how.every, on_block, **rest)


def fit_by_blocks(estimator: Any, rows: BlockRows) -> Training:
    """Fit an estimator to rows that are read by blocks."""
    source = rows.passes.source
    with naming(source.name):
        fit_blocks(estimator, rows)
    notes = _notes(source, rows.classes, rows.counts, rows.n_features, _spreads(estimator), streamed=True)
    return Training(ModelFile(estimator, notes, versions()), None, None)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put the name of a file before what is wrong with its rows."""
    try:
        yield
    except (ValueError, MemoryError) as error:
        if name in str(error):
            raise
        raise ValueError(f"{name}: {error}") from error


def read_rows(source: Source, on_block: OnBlock = ignore) -> tuple[Any, np.ndarray]:
    """Return all rows of a file and their labels; rows of few zeros as an array, which is smaller and faster."""
    X, y = source.read(lambda block: on_block("reading", block))
    if sparse.issparse(X) and X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X, np.asarray(y)


def find_classes_of(source: Source, y: np.ndarray, positive: str | None) -> tuple[Classes, np.ndarray]:
    """Return the two classes of labels, and the mask of the positives."""
    labels = Labels(source.name, positive)
    codes = labels.observe(y)
    classes, swapped = labels.classes()
    return classes, codes ^ swapped


def describe(estimator: Any, classes: Classes, source: Source) -> None:
    """Give a model that was fitted to a mask the labels and the columns of its file."""
    first, last = (estimator[0], estimator[-1]) if isinstance(estimator, Pipeline) else (estimator, estimator)
    last.classes_ = classes.array()
    if hasattr(last, "moments_"):
        last.moments_ = last.moments_.relabelled(last.classes_)
    if source.feature_names is not None:
        first.feature_names_in_ = np.array(source.feature_names, dtype=object)


def _notes(
    source: Source,
    classes: Classes,
    counts: np.ndarray,
    n_features: int,
    spreads: np.ndarray | None,
    streamed: bool,
) -> dict[str, Any]:
    """Return what is kept with a model; no date and no time, so that the same command writes the same file."""
    negative, positive = counts.tolist()
    return {
        "training": {
            "file": source.name,
            "format": source.format,
            "rows": negative + positive,
            "positive rows": positive,
            "columns": n_features,
            "read by blocks": streamed,
        },
        "classes": classes._asdict(),
        "target": source.target,
        "encoding": None if source.encoding is None else source.encoding._asdict(),
        "spreads": spreads,
    }


def _spreads(estimator: Any) -> np.ndarray | None:
    """Return the standard deviations of the columns, where a fit by blocks has kept them."""
    if hasattr(estimator, "moments_"):
        return estimator.moments_.std()
    if isinstance(estimator, StochasticClassifier) and estimator.standardize:
        scale = estimator._stream.scaling.scale
        return np.where(np.isfinite(scale), scale, 1.0)
    return None


def open_for(
    file: ModelFile, path: str, *, with_target: bool | None, target: str | None = None, **options: Any
) -> Source:
    """Open a file of rows for a model: its columns, in its order."""
    encoding = file.notes.get("encoding")
    return open_source(
        path,
        n_features=file.model.n_features_in_,
        encoding=None if encoding is None else Encoding(**encoding),
        target=target or file.notes.get("target"),
        with_target=with_target,
        **options,
    )


def classes_of(file: ModelFile) -> Classes:
    """Return the classes of a model."""
    known = file.notes.get("classes")
    return Classes(**known) if known else Classes(*file.model.classes_.tolist())


@contextmanager
def nameless() -> Iterator[None]:
    """Let arrays pass where a model knows names: the columns were found by name already."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield


def score_source(file: ModelFile, source: Source, on_block: OnBlock = ignore) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all rows of a file, and the mask of the positives."""
    scores, masks = [], []
    classes = classes_of(file)
    with nameless():
        for block in source.blocks():
            scores.append(file.model.decision_function(block.X))
            masks.append(classes.mask(np.asarray(block.y), source.name))
            on_block("scoring", block)
    positive = np.concatenate(masks)
    for label, members in zip(classes.names, (~positive, positive), strict=True):
        if not members.any():
            raise ValueError(f"{source.name}: AUC needs two classes, but no row has the label {label}.")
    return np.concatenate(scores), positive


def largest_weights(model: Any, spreads: np.ndarray | None, n: int = TOP) -> list[tuple[str, float]] | None:
    """Return the names of the columns with the largest weights, and these; None for a model that is not linear.

    Weights are those of the columns divided by their standard deviations, where these are known.
    """
    if not hasattr(model, "coef_"):
        return None
    weights = model.coef_[0] if spreads is None else model.coef_[0] * spreads
    names = getattr(model, "feature_names_in_", None)
    chosen = [j for j in np.argsort(-np.abs(weights), kind="stable")[:n] if weights[j]]
    return [(f"column {j + 1}" if names is None else str(names[j]), float(weights[j])) for j in chosen]


def make_estimator(algorithm: str | None, seed: int, streamed: bool, **parameters: Any) -> Any:
    """Return the estimator of the options of `aucmax fit`.

    Parameters
    ----------
    algorithm : str or None
        As :func:`aucmax.compare.methods.find_method` takes it; None is AUCClassifier.
    seed : int
        For estimators that draw random numbers.
    streamed : bool
        Whether it will read a file by blocks, in the order of the file.
    **parameters
        What else was asked for; None where it was not.
    """
    from ..compare.methods import METHODS, find_method

    estimator = find_method("AUCClassifier" if algorithm is None else algorithm).seeded(seed)
    inner = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(inner, LinearAUCClassifier):
        fitted = ", ".join(name for name in METHODS if name in {"AUCClassifier", *ALGORITHMS})
        raise ValueError(f"{algorithm} can be compared with, not fitted here: --algorithm takes one of {fitted}.")
    wanted = {name: value for name, value in parameters.items() if value is not None}
    for name in wanted:
        option = f"--{name.replace('_', '-')}"
        if name not in inner.get_params():
            raise ValueError(f"{type(inner).__name__} has no parameter for {option}.")
        if re.search(rf"\b{name}\s*=", algorithm or ""):
            raise ValueError(f"{name} is given twice, by --algorithm and by {option}.")
    inner.set_params(**wanted)
    if streamed and not can_stream(estimator):
        what = f"--loss {inner.loss}" if isinstance(inner, AUCClassifier) else type(inner).__name__
        raise ValueError(
            f"{what} needs all rows in memory, and the file is larger than --memory allows or --checkpoint was given: "
            "take --loss squared or an online algorithm, or raise --memory."
        )
    if streamed and "shuffle" in inner.get_params():
        inner.set_params(shuffle=False)
    return estimator
