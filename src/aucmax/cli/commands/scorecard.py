"""``aucmax scorecard``: a model of a table as whole numbers of points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..._text import one_line
from ...files.atomic_write import write_atomically
from ...tables.scorecard import FIGURES, Entry, Scorecard, figures_of, shorten
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console, make_table
from ..display import wrote
from ..model_notes import read_model_file
from ..score import open_rows, read_labelled, without_names
from ..table_model import is_table_model

CARD_KEYS = ("column", "n_lines", "information_value", "card_auc")


def scorecard(
    model: options.ModelPath,
    output: Annotated[
        Path | None,
        options.output("Write the card as a table (.csv), SQL (.sql) or Python (.py).", "FILE", "--output", "-o"),
    ] = None,
    max_lines: Annotated[
        str,
        typer.Option(
            metavar="N", help="The largest number of lines; auto lets held-out rows decide, all has every step."
        ),
    ] = "auto",
    require: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column that stays on the card; may be repeated.")
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
        list[str] | None, options.data("Labelled rows, to measure the AUC that the card costs.", "FILE")
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show a model of a table as a scorecard, and write it as a table, as SQL or as Python."""
    check_inputs([model, *(test or [])])

    console, file = Console(as_json=as_json), read_model_file(model)
    if not is_table_model(file.model):
        raise ValueError(
            f"{model} is not a TableClassifier, of which scorecards are made: fit a CSV or Parquet file with the "
            "default options."
        )
    if max_lines not in ("auto", "all") and not (max_lines.isdecimal() and int(max_lines) > 1):
        raise ValueError(f"--max-lines {max_lines} is not understood: give a number from 2 on, auto or all.")
    if (dialect != "postgres" or table or keep) and (output is None or output.suffix != ".sql"):
        raise ValueError("--dialect, --table and --keep are used only with an --output that ends with .sql.")
    card = Scorecard(
        file.model,
        {"auto": "auto", "all": None}[max_lines] if max_lines in ("auto", "all") else int(max_lines),
        base_score=base_score,
        base_odds=base_odds,
        points_to_double=points_to_double,
        require=require or (),
    )
    writers = {".csv": card.to_csv, ".sql": lambda: card.to_sql(dialect, table, keep or None), ".py": card.to_python}
    if output is not None and output.suffix not in writers:
        raise ValueError(f"--output {output} ends with none of {', '.join(writers)}, which say what to write.")
    source = open_rows(console, file, test, with_target=True) if test else None
    check_outputs({"--output": output}, force, [model, *(test or [])])
    if source is not None:
        features, positive = read_labelled(console, file, source)
        with without_names():
            card.auc_lost(features, file.model.classes_[positive.astype(int)])
    values: dict[str, Any] = {
        "model": str(model),
        "output": output and str(output),
        "base_points": card.base_points,
        "lines": [keys_of(entry) for entry in card.table()],
        "card_columns": [dict(zip(CARD_KEYS, each, strict=True)) for each in card.columns()],
        "left_out": card.left_out,
        "held_out": None,
    }
    if (held_out := card.held_out) is not None:
        cost = {"auc_lost": held_out.lost, "auc_lost_ci": [held_out.low, held_out.high]}
        values["held_out"] = {"max_lines": held_out.lines, "points_to_double": held_out.points, **cost}
    if card.tested is not None:
        values |= {"auc_lost": card.tested.difference, "auc_lost_ci": [card.tested.low, card.tested.high]}
    shown: list[Any] = card.summary()
    if output is None:
        rows = [(one_line(e.column), shorten(one_line(e.values)), *figures_of(e)) for e in card.table()]
        shown.append(make_table("", ("column", "values", *FIGURES), rows, right=range(2, 2 + len(FIGURES))))
        about = card.columns()
        worth = [(one_line(name), str(n_lines), f"{value:.3f}", f"{auc:.4f}") for name, n_lines, value, auc in about]
        shown.append(make_table("", ("column", "lines", "information value", "AUC alone"), worth, right=(1, 2, 3)))
    else:
        comment = {".sql": f"-- model {one_line(model.name)}\n", ".py": f"# model {one_line(model.name)}\n"}
        text = comment.get(output.suffix, "") + writers[output.suffix]()
        write_atomically(output, lambda out: out.write(text.encode()))
    console.result(values, *shown, *wrote(output))


def keys_of(entry: Entry) -> dict[str, Any]:
    """Return a line under the keys of the command line."""
    names = {"share": "sample_share", "rows": "n_samples", "positives": "n_positive", "rate": "positive_rate"}
    return {names.get(name, name): None if value != value else value for name, value in entry._asdict().items()}
