"""From files of rows to memory, and from a model and rows to scores and their evaluation."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import typer
from scipy import sparse
from scipy.special import expit

from .._text import ArgumentError
from ..compare.methods import last_step
from ..files import Block, Source, open_source
from ..files.labels import Classes, Labels
from ..files.libsvm import LibsvmSource
from ..files.source import stack
from ..models.model_file import ModelFile
from ..report.evaluation import Evaluation, evaluate
from ..rows.validate import TooManyColumnsError
from ..tables.reading import Reading
from ..tables.reading.kinds import NO_OVERRIDES
from ..tables.reading.summary import SECONDS
from ..tables.reading.table import make_reading, summarise_table
from .checks import check_used
from .console import Console, on_block
from .table_model import UnseenValues, find_reading, is_table_model, read_as_numbers, scored_as, split_model

DENSE_FROM = 0.6  # share of nonzeros from which a dense array is smaller and faster than CSR

OnBlock = Callable[[str, Block], None]


def read_rows(source: Source, on_block: OnBlock = lambda name, block: None) -> Block:
    """Return all rows of a file as one block, dense if few values are 0; `on_block` sees each block that is read."""
    rows = source.read(lambda block: on_block("reading", block))
    X = rows.features
    if sparse.issparse(X) and X.nnz > DENSE_FROM * X.shape[0] * X.shape[1]:
        return rows._replace(features=X.toarray())
    return rows


@contextmanager
def keeping(option: str, column: str | None = None) -> Iterator[None]:
    """Let errors about a column that is kept, any one or this one, name the option that asks for it."""
    try:
        yield
    except ArgumentError as error:
        sentence, *values = error.args
        if column is not None and repr(column) not in values:
            raise
        raise ArgumentError(sentence.replace("{keep=}", f"{{{option}=}}"), *values) from error


def read_times(name: str, column: str, cells: Sequence[str]) -> np.ndarray:
    """Return a column of dates or numbers, given its cells as text; NaT or NaN where there is none."""
    import pyarrow as pa

    table = pa.table({column: pa.array(cells, pa.string())})
    reading = make_reading(summarise_table(table, NO_OVERRIDES), NO_OVERRIDES)
    (found,) = reading.columns
    if found.kind not in ("date", "number"):
        raise ValueError(
            f"{name}: --time needs dates or numbers, and {column!r} is not such a column ({found.reason})."
        )
    values = reading.codes(table)[0][:, 0]
    if found.kind == "number":
        return values
    seconds = np.rint(found.latest - values * SECONDS)  # they are read as ages in days
    return np.where(np.isnan(values), np.datetime64("NaT"), np.nan_to_num(seconds).astype("M8[s]"))


def find_classes(source: Source, rows: Block, positive: str | None) -> tuple[Classes, np.ndarray]:
    """Return the two classes of the rows of a file, and the mask of the positives."""
    labels = Labels(source.name, positive)
    codes = labels.observe(np.asarray(rows.y))
    classes, swapped = labels.classes()
    return classes, codes ^ swapped


def describe_width(source: Source) -> str:
    """Return a sentence about the largest index of LIBSVM text and its line; an empty text for other formats."""
    for part in getattr(source, "sources", [source]):
        if isinstance(part, LibsvmSource) and (place := part.find_largest_index()) is not None:
            index, line = place
            return f" The largest index, {index}, is in line {line} of {part.name}."
    return ""


@contextmanager
def naming(source: Source) -> Iterator[None]:
    """Put the name of a file before errors about its rows that do not name it, nor one of several files.

    If there are too many columns or not enough memory, the error also names the largest index of LIBSVM text.
    """
    try:
        yield
    except (MemoryError, TooManyColumnsError) as error:
        short = f"{str(error).rstrip('.') or 'there is not enough memory'}."
        sentence = error if isinstance(error, ArgumentError) else short
        raise ArgumentError("{}: {}{}", source.name, sentence, describe_width(source)) from error
    except ValueError as error:
        if any(name in str(error) for name in [source.name, *(source.paths or [])]):
            raise
        raise ArgumentError("{}: {}", source.name, error) from error


def open_rows(
    console: Console,
    file: ModelFile,
    path: Sequence[str],
    *,
    context: typer.Context | None = None,
    target: str | None = None,
    as_levels: bool = False,
    **options: Any,
) -> Source:
    """Open files of rows for a model: its columns, in its order. A note says where names cannot be compared.

    If the command is given as `context`, its options that the files do not use are refused. With `as_levels`, tables
    are not yet encoded.
    """
    reading = find_reading(file.model) or read_as_numbers(file.model)
    encoder, inner = split_model(file.model)
    if is_table_model(inner) or (as_levels and encoder is not None):
        n_features, output = len(cast(Reading, reading).parts), "levels"
    else:
        n_features, output = inner.n_features_in_, "codes" if encoder is None else encoder.output
    target = target or file.notes.get("target")
    source = open_source(path, n_features=n_features, reading=reading, target=target, output=output, **options)
    if context is not None:
        check_used(context, [source.format])
    if (reading is None) != (source.reading is None):
        which = "the model" if reading is None else source.name
        console.note(f"{source.name}: columns are taken in their order, since {which} has no column names")
    return source


def classes_of(file: ModelFile) -> Classes:
    """Return the classes of a model."""
    known = file.notes.get("classes")
    return Classes(**known) if known else Classes(*file.model.classes_)


@contextmanager
def without_names() -> Iterator[None]:
    """Silence scikit-learn's warning about arrays without names: the columns were already found by name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        yield


class Scored(NamedTuple):
    """Labelled rows that a model has scored."""

    scores: np.ndarray
    positive: np.ndarray  # the mask of the positives
    weight: np.ndarray | None
    kept: list[list[str]]  # the cells of each column of `Source.kept`
    rows: Any  # the rows as the model takes them, if they are to be kept

    @property
    def of_classes(self) -> tuple[np.ndarray, np.ndarray]:
        """The scores of the negatives and of the positives that have weight."""
        used = np.ones(len(self.scores), dtype=bool) if self.weight is None else self.weight > 0
        return self.scores[used & ~self.positive], self.scores[used & self.positive]

    @property
    def labelled(self) -> tuple[Any, np.ndarray] | None:
        """The rows and the mask of the positives, if they were kept."""
        return None if self.rows is None else (self.rows, self.positive)


def score_rows(file: ModelFile, source: Source, unseen: UnseenValues, on_block: OnBlock, keep: bool = False) -> Scored:
    """Return the scores of all rows of a file and their classes, and the rows if they are to be kept."""
    scores, masks, rows, blocks = [], [], [], []
    classes, (_, inner) = classes_of(file), split_model(file.model)
    with without_names():
        for block in source.blocks():
            scores.append(inner.decision_function(block.features))
            unseen.add(block.tallies)
            rows += [block.features] if keep else []
            masks.append(classes.mask(np.asarray(block.y), source.name))
            blocks.append((block.weight, block.kept))
            on_block("scoring", block)
    if not masks:
        raise ValueError(f"{source.name} has no rows.")
    positive = np.concatenate(masks)
    for label, members in zip(classes.names, (~positive, positive), strict=True):
        if not members.any():
            raise ValueError(f"{source.name}: AUC needs two classes, but no row has the label {label}.")
    weights, kept = zip(*blocks, strict=True)
    weight = None if source.weight is None else np.concatenate(weights)
    cells = [list(itertools.chain(*parts)) for parts in zip(*kept, strict=True)]
    return Scored(np.concatenate(scores), positive, weight, cells, stack(rows) if keep else None)


def read_labelled(console: Console, file: ModelFile, source: Source) -> tuple[Any, np.ndarray]:
    """Return all rows of labelled files as a model takes them, and the mask of the positives."""
    with console.progress() as bar, naming(source):
        found = score_rows(file, source, UnseenValues(), on_block(bar, source), keep=True)
    return found.rows, found.positive


def score_file(console: Console, file: ModelFile, source: Source, *, with_rows: bool = False) -> Scored:
    """Return the scores of a model on a file that is open.

    The rows are kept only if they are asked for and the model is a sum of terms, whose report shows more.
    """
    with console.progress() as bar, naming(source):
        unseen = UnseenValues()
        found = score_rows(file, source, unseen, on_block(bar, source), with_rows and is_table_model(file.model))
    for note in unseen.notes(source.name, scored_as(file.model)):
        console.note(note)
    return found


def evaluate_scores(
    file: ModelFile, scores: np.ndarray, positive: np.ndarray, sample_weight: Any = None, **settings: Any
) -> tuple[Evaluation, tuple[np.ndarray, np.ndarray]]:
    """Return the evaluation of the scores of a model, and the scores of the negatives and of the positives."""
    line = getattr(last_step(file.model), "calibration_", None)
    probabilities = None if line is None else expit(line[0] * scores + line[1])
    found = evaluate(positive, scores, sample_weight, probabilities=probabilities, **settings)
    return found, (scores[~positive], scores[positive])
