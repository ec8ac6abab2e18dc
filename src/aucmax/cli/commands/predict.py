"""``aucmax predict``: the scores of the rows of a file."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..console import Console, on_block, printable
from ..options import DATA, OUTPUT, Data, Debug, Force, Format, Header, ModelPath, Quiet, ZeroBased
from ..outputs import check_inputs, check_outputs

if TYPE_CHECKING:
    from ...files import Block, Source
    from ...models.model_file import ModelFile


def predict(
    context: typer.Context,
    model: ModelPath,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="By default, standard output.", rich_help_panel=OUTPUT)
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of the positive class.", rich_help_panel=OUTPUT)
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Also the predicted label.", rich_help_panel=OUTPUT)] = False,
    format: Format = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of labels, to be left out.", rich_help_panel=DATA)
    ] = None,
    header: Header = True,
    zero_based: ZeroBased = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the scores of the rows of a file, as CSV: the larger, the more likely positive."""
    console = Console(quiet)
    output = None if output == Path("-") else output
    check_inputs([model, *data])
    from ...files.atomic_write import write_atomically
    from ..model_notes import read_model_file
    from ..score_file import open_rows

    file = read_model_file(model)
    source = open_rows(
        console,
        file,
        data,
        context=context,
        target=target,
        with_target=False,
        format=format,
        header=header,
        zero_based=zero_based,
    )
    check_outputs({"--output": output}, force, [model, *data])
    shown = output is None and sys.stdout.isatty()
    with console.progress() as bar:
        texts = prediction_lines(file, source, proba, labels, on_block(bar, source), shown)
        lines = (text.encode() for text in texts)
        if output is None:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            write_atomically(output, lambda out: out.writelines(lines))


def prediction_lines(
    file: ModelFile,
    source: Source,
    proba: bool,
    labels: bool,
    update: Callable[[str, Block], None],
    shown: bool,
) -> Iterator[str]:
    """Yield the lines of the output, those of one block at a time; those `shown` on a terminal are escaped."""
    from ..score_file import without_names

    yield ",".join(["score"] + ["probability"] * proba + ["label"] * labels) + "\n"
    with without_names():
        for block in source.blocks():
            scores = file.model.decision_function(block.features)
            columns = [scores.tolist()]
            if proba:
                columns.append(file.model.predict_proba(block.features)[:, 1].tolist())
            if labels:
                columns.append(file.model.classes_[(scores > 0).astype(int)].tolist())
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
            yield printable(text.getvalue()) if shown else text.getvalue()
            update("scoring", block)
