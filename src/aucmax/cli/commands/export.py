"""``aucmax export``: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...files import Source
from ...files.atomic_write import write_atomically
from ...models.model_file import ModelFile
from ...models.onnx_export import export_onnx, measure_difference
from ...models.python_source import export_python
from ...models.sql import export_sql
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console
from ..model_notes import read_model_file
from ..score import naming, open_rows, without_names
from ..table_model import split_model


def export(
    model: options.ModelPath,
    onnx: Annotated[Path | None, typer.Option(metavar="FILE", help="An ONNX file to write.")] = None,
    sql: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of SQL to write.")] = None,
    python: Annotated[Path | None, typer.Option(metavar="FILE", help="A file of Python to write.")] = None,
    dialect: options.Dialect = "postgres",
    table: options.Table = None,
    keep: options.Keep = None,
    check: Annotated[
        list[str] | None, typer.Option(metavar="DATA", help="Rows on which to compare the ONNX scores with ours.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a model in another format: ONNX, SQL or Python."""
    console, rows = Console(quiet), check or []
    if onnx is None and sql is None and python is None:
        raise ValueError("there is nothing to write: give --onnx, --sql or --python.")
    if rows and onnx is None:
        raise ValueError("--check compares the scores of an ONNX file: give --onnx, too.")
    if sql is None and (table or keep):
        raise ValueError("--table and --keep are about SQL: give --sql, too.")
    check_inputs([model, *rows])

    file = read_model_file(model)
    source = open_rows(console, file, rows, with_target=False, as_levels=True) if rows else None
    check_outputs({"--onnx": onnx, "--sql": sql, "--python": python}, force, [model, *rows])
    texts = [(sql, export_sql(file.model, dialect, table, keep or None))] if sql is not None else []
    texts += [(python, export_python(file.model))] if python is not None else []
    if onnx is not None:
        export_onnx(file.model, onnx)
        console.note(f"wrote {onnx}")
    for path, text in texts:
        write_text(path, text)
        console.note(f"wrote {path}")
    if source is not None and onnx is not None:
        console.note(describe_difference(file, onnx, source))


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    write_atomically(path, lambda out: out.write(text.encode()))


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
