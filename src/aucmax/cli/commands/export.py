"""``aucmax export``: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...files import Source
from ...models.model_file import ModelFile
from ...models.onnx_export import export_onnx, measure_difference
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console
from ..model_notes import read_model_file
from ..score import naming, open_rows, without_names
from ..table_model import split_model


def export(
    model: options.ModelPath,
    onnx: Annotated[Path, typer.Option(metavar="FILE", help="The ONNX file to write.")],
    check: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Rows on which to compare the ONNX scores with ours.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a model in another format."""
    console, rows = Console(quiet), check or []
    check_inputs([model, *rows])

    file = read_model_file(model)
    source = open_rows(console, file, rows, with_target=False, as_levels=True) if rows else None
    check_outputs({"--onnx": onnx}, force, [model, *rows])
    export_onnx(file.model, onnx)
    console.note(f"wrote {onnx}")
    if source is not None:
        console.note(describe_difference(file, onnx, source))


def describe_difference(file: ModelFile, onnx: Path, source: Source) -> str:
    """Return a sentence about the largest difference between ONNX scores and ours on the rows of a file."""
    encoder, inner = split_model(file.model)
    with without_names(), naming(source):
        features = rows = source.read().features
        if encoder is not None:
            rows, features = encoder.reading_.pool(rows), encoder.reading_.convert(rows, encoder.output)
        found = measure_difference(onnx, rows, inner.decision_function(features))
    return (
        f"on {found.n_rows:,} rows of {source.name}, scores of ONNX differ from ours by at most {found.largest:.2g}; "
        f"ours are from {found.low:.4g} to {found.high:.4g}"
    )
