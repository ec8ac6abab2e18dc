"""From a model and a file of rows to scores and their evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer

from ..files import Encoding, Source, open_source
from ..files.labels import Classes
from ..models.model_file import ModelFile
from ..report.evaluation import Evaluation, evaluate
from .console import Console, on_block
from .read_file import OnBlock, ignore, naming
from .unused_options import check_used


def open_rows(
    console: Console,
    file: ModelFile,
    path: Sequence[str],
    *,
    context: typer.Context | None = None,
    target: str | None = None,
    **options: Any,
) -> Source:
    """Open files of rows for a model: its columns, in its order. A note says where names cannot be compared.

    If the command is given as `context`, its options that the files do not use are refused.
    """
    encoding = encoding_of(file)
    source = open_source(
        path,
        n_features=file.model.n_features_in_,
        encoding=encoding,
        target=target or file.notes.get("target"),
        **options,
    )
    if context is not None:
        check_used(context, [source.format])
    if (encoding is None) != (source.encoding is None):
        which = "the model" if encoding is None else source.name
        console.note(f"{source.name}: columns are taken in their order, since {which} has no names of columns")
    return source


def encoding_of(file: ModelFile) -> Encoding | None:
    """Return how columns become the features of a model: as in its notes, or else the columns that it was fitted to."""
    known, names = file.notes.get("encoding"), getattr(file.model, "feature_names_in_", None)
    if known is not None:
        return Encoding(**known)
    return None if names is None else Encoding([str(name) for name in names], {})


def classes_of(file: ModelFile) -> Classes:
    """Return the classes of a model."""
    known = file.notes.get("classes")
    return Classes(**known) if known else Classes(*file.model.classes_.tolist())


@contextmanager
def without_names() -> Iterator[None]:
    """Silence scikit-learn's warning about arrays without names: the columns were already found by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield


def score_rows(file: ModelFile, source: Source, on_block: OnBlock = ignore) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of all rows of a file, and the mask of the positives."""
    scores, masks = [], []
    classes = classes_of(file)
    with without_names():
        for block in source.blocks():
            scores.append(file.model.decision_function(block.features))
            masks.append(classes.mask(np.asarray(block.y), source.name))
            on_block("scoring", block)
    positive = np.concatenate(masks)
    for label, members in zip(classes.names, (~positive, positive), strict=True):
        if not members.any():
            raise ValueError(f"{source.name}: AUC needs two classes, but no row has the label {label}.")
    return np.concatenate(scores), positive


def evaluate_file(
    console: Console, file: ModelFile, path: Sequence[str], max_fpr: float = 0.1, **options: Any
) -> tuple[Evaluation, tuple[np.ndarray, np.ndarray]]:
    """Return the evaluation of a model on a file, and the scores of its negatives and of its positives."""
    source = open_rows(console, file, path, with_target=True, **options)
    with console.progress() as bar, naming(source):
        scores, positive = score_rows(file, source, on_block(bar, source))
        return evaluate_scores(scores, positive, max_fpr)


def evaluate_scores(
    scores: np.ndarray, positive: np.ndarray, max_fpr: float = 0.1
) -> tuple[Evaluation, tuple[np.ndarray, np.ndarray]]:
    """Return the evaluation of scores, and those of the negatives and of the positives."""
    return evaluate(positive, scores, max_fpr=max_fpr), (scores[~positive], scores[positive])
