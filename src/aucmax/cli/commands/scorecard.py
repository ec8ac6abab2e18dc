"""``aucmax scorecard``: a model of a table as whole numbers of points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...files.atomic_write import write_atomically
from ...tables.scorecard import Scorecard
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console, make_table
from ..display import wrote
from ..model_notes import read_model_file
from ..score import open_rows, read_labelled, without_names
from ..table_model import is_table_model


def scorecard(
    model: options.ModelPath,
    output: Annotated[
        Path | None,
        options.output("Write the card as a table (.csv), SQL (.sql) or Python (.py).", "FILE", "--output", "-o"),
    ] = None,
    base_score: Annotated[float, typer.Option(metavar="NUMBER", help="The score of a row with the base odds.")] = 600,
    base_odds: Annotated[
        float, typer.Option(metavar="NUMBER", help="The odds of the positive class that have the base score.")
    ] = 1,
    points_to_double: Annotated[
        float,
        typer.Option(
            metavar="NUMBER", help="The points that double these odds; below 0, higher scores mean lower odds."
        ),
    ] = 20,
    dialect: options.Dialect = "postgres",
    table: options.Table = None,
    keep: options.Keep = None,
    test: Annotated[
        list[str] | None, options.data("Labelled rows, to measure the AUC that whole points cost.", "FILE")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show a model of a table as a scorecard, and write it as a table, as SQL or as Python."""
    check_inputs([model, *(test or [])])

    console, file = Console(as_json=as_json), read_model_file(model)
    if not is_table_model(file.model):
        raise ValueError(f"{model} is not a model of a table: fit a CSV or Parquet file with the default options.")
    card = Scorecard(file.model, base_score, base_odds, points_to_double)
    writers = {".csv": card.to_csv, ".sql": lambda: card.to_sql(dialect, table, keep or None), ".py": card.to_python}
    if output is not None and output.suffix not in writers:
        raise ValueError(f"--output {output} ends with none of {', '.join(writers)}, which say what to write.")
    source = open_rows(console, file, test, with_target=True) if test else None
    check_outputs({"--output": output}, force, [model, *(test or [])])
    values: dict[str, Any] = {
        "model": str(model),
        "output": output and str(output),
        "base_points": card.base_points,
        # `share` means the share of a member of a blend already.
        "lines": [
            {"column": entry.column, "values": entry.values, "points": entry.points, "sample_share": entry.share}
            for entry in card.table()
        ],
    }
    shown: list[Any] = [f"{card.base_points} base points"]
    if source is not None:
        features, positive = read_labelled(console, file, source)
        with without_names():
            values["auc_lost"] = card.auc_lost(features, file.model.classes_[positive.astype(int)])
        shown.append(f"whole points cost {values['auc_lost']:.5f} of the AUC on {len(positive):,} rows")
    if output is None:
        rows = [(entry.column, entry.values, f"{entry.points:+d}", f"{entry.share:.1%}") for entry in card.table()]
        shown.append(make_table("", ("column", "values", "points", "rows"), rows, right=(2, 3)))
    else:
        text = writers[output.suffix]()
        write_atomically(output, lambda out: out.write(text.encode()))
    console.result(values, *shown, *wrote(output))
