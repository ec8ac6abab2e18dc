"""``aucmax predict``: the scores of the rows of a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ..._text import printable
from ...files import Block, Source
from ...files.atomic_write import write_atomically
from ...files.labels import label_text
from ...models.model_file import ModelFile
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console, on_block
from ..model_notes import read_model_file
from ..score import classes_of, naming, open_rows, without_names
from ..table_model import UnseenValues, scored_as, split_model


def predict(
    context: typer.Context,
    model: options.ModelPath,
    data: options.Data,
    output: Annotated[Path | None, options.output("By default, standard output.", "FILE", "--output", "-o")] = None,
    proba: Annotated[bool, options.output("Also the probability of the positive class.", None, "--proba")] = False,
    labels: Annotated[bool, options.output("Also the predicted label.", None, "--labels")] = False,
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
    """Write the scores of the rows of a file, as CSV: the larger, the more likely the class in the header."""
    console = Console(quiet)
    output = None if output == Path("-") else output
    check_inputs([model, *data])

    file = read_model_file(model)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    wanted: dict[str, Any] = {"format": format, "target": target, "with_target": False, "keep": keep or ()}
    source = open_rows(console, file, data, context=context, **wanted, **layout)
    check_outputs({"--output": output}, force, [model, *data])
    unseen = UnseenValues()
    shown = output is None and sys.stdout.isatty()

    def on_rows(name: str, block: Block) -> None:
        unseen.add(block.tallies)
        update(name, block)

    with console.progress() as bar:
        update = on_block(bar, source)
        texts = prediction_lines(file, source, proba, labels, on_rows)
        lines = ((printable(text) if shown else text).encode() for text in texts)
        if output is None:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            write_atomically(output, lambda out: out.writelines(lines))
    for note in unseen.notes(source.name, scored_as(file.model)):
        console.note(note)


def prediction_lines(
    file: ModelFile, source: Source, proba: bool, labels: bool, update: Callable[[str, Block], None]
) -> Iterator[str]:
    """Yield the lines of the output, one block at a time."""
    _, inner = split_model(file.model)
    names = [label_text(label) for label in inner.classes_]
    _, positive = classes_of(file).names
    yield csv_text([[*source.kept, f"score_{positive}", *[f"probability_{positive}"] * proba, *["label"] * labels]])
    with without_names(), naming(source):
        for block in source.blocks():
            scores = inner.decision_function(block.features)
            columns = [*block.kept, scores.tolist()]
            if proba:
                columns.append(inner.predict_proba(block.features)[:, 1].tolist())
            if labels:
                columns.append([names[is_positive] for is_positive in (scores > 0).tolist()])
            yield csv_text(zip(*columns, strict=True))
            update("scoring", block)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as lines of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
