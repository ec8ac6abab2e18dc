"""``aucmax export``: a model for other runtimes."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ...files import Source
from ...files.atomic_write import write_atomically
from ...models.formula import Formula, make_formula
from ...models.model_file import ModelFile
from ...models.onnx_export import export_onnx, measure_difference
from ...models.python_source import to_python
from ...models.sql import DIALECTS, identifier, to_sql
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console
from ..model_notes import read_model_file
from ..score import keeping, naming, open_rows, without_names
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
        list[str] | None, typer.Option(metavar="DATA", help="Rows on which to compare the scores with ours.")
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write a model in another format: ONNX, SQL or Python."""
    console, rows = Console(quiet), check or []
    if onnx is None and sql is None and python is None:
        raise ValueError("there is nothing to write: give --onnx, --sql or --python.")
    if sql is None and (table or keep):
        raise ValueError("--table and --keep are about SQL: give --sql, too.")
    check_inputs([model, *rows])

    file = read_model_file(model)
    formula = None if sql is None and python is None else make_formula(file.model)
    source = None
    if rows:
        cells = [] if formula is None else [column.name for column in formula.reading.used]
        with keeping("check"):
            source = open_rows(console, file, rows, with_target=False, as_levels=True, keep=cells)
    check_outputs({"--onnx": onnx, "--sql": sql, "--python": python}, force, [model, *rows])
    if onnx is not None:
        export_onnx(file.model, onnx)
        console.note(f"wrote {onnx}")
    if formula is not None:
        formula = formula._replace(notes=[f"model {model.name}"])
        texts = [(sql, to_sql(formula, dialect, table, keep or None))] if sql is not None else []
        texts += [(python, to_python(formula))] if python is not None else []
        for path, text in texts:
            write_text(path, text)
            console.note(f"wrote {path}")
    if source is not None:
        for line in describe_differences(file, source, formula, onnx, None if sql is None else dialect, python):
            console.note(line)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all."""
    write_atomically(path, lambda out: out.write(text.encode()))


def describe_differences(
    file: ModelFile,
    source: Source,
    formula: Formula | None,
    onnx: Path | None,
    dialect: str | None,
    python: Path | None,
) -> Iterator[str]:
    """Yield a sentence about the largest difference between the scores of each format and ours on the rows of files.

    SQL and Python get the cells as text.
    """
    encoder, inner = split_model(file.model)
    with without_names(), naming(source):
        block = source.read()
        features = rows = block.features
        if encoder is not None:
            rows, features = encoder.reading_.pool(rows), encoder.reading_.convert(rows, encoder.output)
        expected = inner.decision_function(features)
        about = f"on {len(expected):,} rows of {source.name}, scores of {{}} differ from ours by at most {{}}; "
        about += f"ours are from {expected.min():.4g} to {expected.max():.4g}"
        if onnx is not None:
            yield about.format("ONNX", f"{measure_difference(onnx, rows, expected).largest:.2g}")
        if formula is None:
            return
        cells = dict(zip(source.kept, block.kept, strict=True))
        table = {column.name: cells[column.name] for column in formula.reading.used}
        if dialect is not None:
            database, scores = score_in_sql(formula, dialect, table)
            instead = "" if database == dialect else f" ({dialect} is not run here)"
            yield about.format(f"SQL in {database}{instead}", largest(scores, expected))
        if python is not None:
            space: dict[str, Any] = {}
            exec(to_python(formula), space)
            scores = [space["score"](dict(zip(table, row, strict=True))) for row in zip(*table.values(), strict=True)]
            yield about.format("Python", largest(scores, expected))


def largest(scores: Sequence[float | None], expected: np.ndarray) -> str:
    """Return the largest difference between scores, and how many rows have none, in words."""
    found = np.array(scores, dtype=float)
    n_none = np.count_nonzero(np.isnan(found))
    without = f", and {n_none:,} rows have no score" if n_none else ""
    return f"{np.nanmax(np.abs(found - expected), initial=0.0):.2g}{without}"


def score_in_sql(
    formula: Formula, dialect: str, table: Mapping[str, Sequence[str | None]]
) -> tuple[str, list[float | None]]:
    """Return the scores of rows of text, and the database: DuckDB if it is asked for and there, or else SQLite."""
    name = dialect if dialect == "duckdb" and importlib.util.find_spec("duckdb") else "sqlite"
    connect = importlib.import_module("duckdb" if name == "duckdb" else "sqlite3").connect
    key = "row" + "_" * max(map(len, table), default=0)  # which no column is called
    columns = [f"{identifier(DIALECTS[name], column)} TEXT" for column in table]
    with closing(connect(":memory:")) as database:
        database.execute(f"CREATE TABLE checked ({', '.join([f'{key} INTEGER', *columns])})")
        places = ", ".join("?" * (1 + len(table)))
        database.executemany(f"INSERT INTO checked VALUES ({places})", list(zip(itertools.count(), *table.values())))
        found = database.execute(to_sql(formula, name, "checked", [key])).fetchall()
    return name, [score for _, score in sorted(found)]
