"""``aucmax predict``: the scores of the rows of a file."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
import typer

from ..._base import LinearAUCClassifier
from ..._text import printable
from ...compare.methods import last_step
from ...files import Block, Source
from ...files.atomic_write import write_atomically
from ...files.labels import label_text
from ...models.contributions import column_reasons
from ...models.model_file import ModelFile
from ...search.calibration import adjust_base_rate, training_base_rate
from ...tables.reading.table import Levels
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console, on_block
from ..model_notes import read_model_file
from ..score import OnBlock, classes_of, naming, open_rows, without_names
from ..table_model import UnseenValues, scored_as, split_model

PARQUET = (".parquet", ".pq")
GZIP = (".csv.gz", ".txt.gz")
ENDINGS = (".csv", ".txt", *GZIP, *PARQUET)


class Wanted(NamedTuple):
    """What is written about each row next to its score."""

    proba: bool
    labels: bool
    threshold: float | None  # of the labels: a score, or a probability if these are written; None for the model's own
    base_rate: float | None
    n_reasons: int


Batch = list[Sequence[Any]]  # the columns of some rows


def predict(
    context: typer.Context,
    model: options.ModelPath,
    data: options.Data,
    output: Annotated[
        Path | None,
        options.output(
            "By default, standard output; .parquet or .pq writes Parquet, .csv.gz compressed CSV, all else CSV.",
            "FILE",
            "--output",
            "-o",
        ),
    ] = None,
    proba: Annotated[bool, options.output("Also the probability of the positive class.", None, "--proba")] = False,
    labels: Annotated[bool, options.output("Also the predicted label.", None, "--labels")] = False,
    threshold: Annotated[
        float | None,
        options.output(
            "Also labels: positive above this score or, with --proba, above this probability.", "NUMBER", "--threshold"
        ),
    ] = None,
    n_top: Annotated[
        str | None,
        options.output(
            "Only the rows with the largest scores: a number of rows, or a share such as 5%.", "NUMBER|%", "--top"
        ),
    ] = None,
    n_reasons: Annotated[
        int, options.output("Also the terms, or columns, that move a score most.", "NUMBER", "--reasons", min=0)
    ] = 0,
    base_rate: Annotated[
        float | None,
        options.output("Probabilities for this share of positives, not the training rows'.", "RATE", "--base-rate"),
    ] = None,
    format: options.Format = None,
    target: Annotated[str | None, options.data("A column of labels, to be left out.", "COLUMN")] = None,
    keep: Annotated[
        list[str] | None, options.output("A column of a table to write next to the scores.", "COLUMN")
    ] = None,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.TextEncoding = "utf-8",
    zero_based: options.ZeroBased = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write the scores of the rows of a file: the larger, the more likely the class in the header."""
    console = Console(quiet)
    output = None if output == Path("-") else output
    check_inputs([model, *data])

    file = read_model_file(model)
    wanted = Wanted(proba, labels or threshold is not None, threshold, base_rate, n_reasons)
    check_wanted(file, wanted)
    if threshold is not None and n_top is not None:
        raise ValueError("--threshold and --top are two ways to choose rows: leave one of them out.")
    top = None if n_top is None else parse_top(n_top)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target, "with_target": False, "keep": keep or ()}
    source = open_rows(console, file, data, context=context, as_levels=n_reasons > 0, **layout)
    check_outputs({"--output": output}, force, [model, *data])
    names = column_names(file, source, wanted, top is not None)
    check_ending(output, names)
    unseen = UnseenValues()

    with console.progress() as bar:
        update = on_block(bar, source)

        def on_rows(name: str, block: Block) -> None:
            if name == "scoring":
                unseen.add(block.tallies)
            update(name, block)

        if top is None:
            batches = score_blocks(file, source, wanted, on_rows)
        else:
            best, note = best_rows(file, source, top, on_rows)
            batches = iter([in_order(file, source, wanted, best, on_rows)])
            console.note(note)
        write(output, names, batches)
    for note in unseen.notes(source.name, scored_as(file.model)):
        console.note(note)


def check_wanted(file: ModelFile, wanted: Wanted) -> None:
    """Raise a ValueError for options that a model does not have, or that would not be used."""
    encoder, inner = split_model(file.model)
    if wanted.threshold is not None and not np.isfinite(wanted.threshold):
        raise ValueError("--threshold must be a finite number.")
    if wanted.proba and wanted.threshold is not None and not 0 <= wanted.threshold <= 1:
        raise ValueError(f"--threshold {wanted.threshold:g} is of a probability with --proba: give 0 to 1.")
    if wanted.base_rate is not None and not wanted.proba:
        raise ValueError("--base-rate is used only with --proba: scores and their order do not change.")
    if wanted.base_rate is not None and not 0 < wanted.base_rate < 1:
        raise ValueError(f"--base-rate must be above 0 and below 1, got {wanted.base_rate:g}.")
    linear = encoder is not None and encoder.output == "features" and isinstance(inner, LinearAUCClassifier)
    if wanted.n_reasons and not (linear or hasattr(inner, "reasons")):
        raise ValueError(f"--reasons is for models of tables, and this is a {type(inner).__name__}: leave it out.")


def check_ending(output: Path | None, names: list[str]) -> None:
    """Raise a ValueError if the name of the output promises another format, or Parquet would have a name twice."""
    if output is not None and output.suffix and not ends(output, ENDINGS):
        raise ValueError(f"--output {output} ends with none of {', '.join(ENDINGS)}, which say what to write.")
    if ends(output, PARQUET) and len(set(names)) < len(names):
        raise ValueError(f"--output {output} would have two columns of one name: {', '.join(names)}.")


def ends(output: Path | None, endings: tuple[str, ...]) -> bool:
    """Return whether the name of the output has one of these endings."""
    return output is not None and output.name.lower().endswith(endings)


def parse_top(text: str) -> int | Decimal:
    """Return the number of rows of `--top`, or their share."""
    number, is_share = text.removesuffix("%"), text.endswith("%")
    try:
        value = Decimal(number)
        if (is_share and 0 < value <= 100) or (not is_share and value > 0 and value == int(value)):
            return value / 100 if is_share else int(value)
    except (InvalidOperation, ValueError, OverflowError):
        pass
    raise ValueError(f"--top {text} is not understood: give a number of rows, or a share such as 5%.")


# Rows


def column_names(file: ModelFile, source: Source, wanted: Wanted, numbered: bool) -> list[str]:
    """Return the names of the columns that are written."""
    _, positive = classes_of(file).names
    names = [*["row"] * numbered, *source.kept, f"score_{positive}"]
    names += [f"probability_{positive}"] * wanted.proba + ["label"] * wanted.labels
    return names + [f"reason_{k + 1}" for k in range(wanted.n_reasons)]


def score_blocks(
    file: ModelFile, source: Source, wanted: Wanted, update: OnBlock, best: np.ndarray | None = None
) -> Iterator[Batch]:
    """Yield the columns of each block; with `best`, of the rows with these numbers alone, and their numbers first."""
    first = 0
    with without_names(), naming(source):
        for block in source.blocks():
            X, kept, n_rows = block.features, list(block.kept), block.features.shape[0]
            if best is None:
                yield [*kept, *describe_rows(file, X, wanted)]
                update("scoring", block)
            else:
                rows = np.sort(best[(best >= first) & (best < first + n_rows)]) - first
                kept = [[cells[k] for k in rows.tolist()] for cells in kept]
                if len(rows):
                    yield [(rows + first + 1).tolist(), *kept, *describe_rows(file, X[rows], wanted)]
                update("writing", block)
            first += n_rows


def describe_rows(file: ModelFile, X: Any, wanted: Wanted) -> Batch:
    """Return scores, and the probabilities, labels and reasons that are wanted."""
    encoder, inner = split_model(file.model)
    levels = X
    if encoder is not None and isinstance(X, Levels):
        X = encoder.reading_.features(np.asarray(X))
    scores = inner.decision_function(X)
    columns, judged, threshold = [scores.tolist()], scores, wanted.threshold or 0.0
    if wanted.proba:
        probabilities = inner.predict_proba(X)[:, 1]
        if wanted.base_rate is not None:
            probabilities = adjust_base_rate(probabilities, wanted.base_rate, training_base_rate(last_step(inner)))
        columns.append(probabilities.tolist())
        judged = scores if wanted.threshold is None else probabilities
    if wanted.labels:
        names = [label_text(label) for label in inner.classes_]
        columns.append([names[is_positive] for is_positive in (judged > threshold).tolist()])
    if wanted.n_reasons:
        n = wanted.n_reasons
        found = inner.reasons(X, n) if encoder is None else column_reasons(file.model, levels, n)
        reasons = [[*map(str, each)] for each in found]
        columns += [[each[k] if k < len(each) else "" for each in reasons] for k in range(wanted.n_reasons)]
    return columns


def best_rows(file: ModelFile, source: Source, top: int | Decimal, update: OnBlock) -> tuple[np.ndarray, str]:
    """Return the numbers of the rows with the largest scores, these first, and a note about how many there are."""
    scores_alone = Wanted(proba=False, labels=False, threshold=None, base_rate=None, n_reasons=0)
    parts = [np.array(batch[-1]) for batch in score_blocks(file, source, scores_alone, update)]
    if not parts:
        raise ValueError(f"{source.name} has no rows, so --top has nothing to choose from.")
    scores = np.concatenate(parts)
    n = max(1, min(len(scores), top if isinstance(top, int) else int(top * len(scores))))
    order = np.argsort(-scores, kind="stable")
    note = f"{source.name}: {n:,} of {len(scores):,} rows, with scores of {scores[order[n - 1]]:.6g} and more"
    tied = scores == scores[order[n - 1]]
    n_tied, n_in = np.count_nonzero(tied), np.count_nonzero(tied[order[:n]])
    if n_in < n_tied:
        note += f"; {n_tied:,} rows have this score, and {n_in:,} of them, the first in the data, are written"
    return order[:n], note


def in_order(file: ModelFile, source: Source, wanted: Wanted, best: np.ndarray, update: OnBlock) -> Batch:
    """Return the columns of the rows with these numbers, in this order."""
    batches = list(score_blocks(file, source, wanted, update, best))
    columns = [[cell for part in parts for cell in part] for parts in zip(*batches, strict=True)]
    places = np.argsort(np.argsort(best)).tolist()  # the file has them by their numbers
    return [[column[k] for k in places] for column in columns]


# Files


def write(output: Path | None, names: list[str], batches: Iterable[Batch]) -> None:
    """Write rows to a file, as its name says, or as CSV to standard output."""
    if output is not None and ends(output, PARQUET):
        write_atomically(output, lambda out: write_parquet(out, names, batches))
        return
    texts = prediction_lines(names, batches)
    if output is not None:
        write_atomically(output, lambda out: write_text(out, texts, ends(output, GZIP)))
        return
    shown = sys.stdout.isatty()
    sys.stdout.flush()
    sys.stdout.buffer.writelines((printable(text) if shown else text).encode() for text in texts)
    sys.stdout.buffer.flush()


def prediction_lines(names: list[str], batches: Iterable[Batch]) -> Iterator[str]:
    """Yield the lines of CSV, one batch at a time."""
    for rows in itertools.chain([[names]], (zip(*batch, strict=True) for batch in batches)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        yield text.getvalue()


def write_text(out: BinaryIO, texts: Iterable[str], compress: bool) -> None:
    """Write text, compressed by gzip if asked for: the same text gives the same bytes."""
    lines = (text.encode() for text in texts)
    if not compress:
        out.writelines(lines)
        return
    with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as file:
        file.writelines(lines)


def write_parquet(out: BinaryIO, names: list[str], batches: Iterable[Batch]) -> None:
    """Write rows as Parquet, each batch as a group of rows."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    writer: Any = None
    for batch in batches:
        types = [None if isinstance(cells[0], int | float) else pa.string() for cells in batch]
        columns = [pa.array(cells, type) for cells, type in zip(batch, types, strict=True)]
        table = pa.Table.from_arrays(columns, names)
        writer = writer or ParquetWriter(out, table.schema)
        writer.write_table(table)
    if writer is None:
        raise ValueError("there are no rows, and so no types of columns to write as Parquet: write .csv.")
    writer.close()
