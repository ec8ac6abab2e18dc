"""``aucmax inspect``: what a model file holds, or how a table is read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ...files import describe_paths, find_formats, open_source
from ...models.model_file import is_model
from ...report.displays.weights import largest_weights
from ...report.model_report import is_linear
from .. import options
from ..checks import check_used
from ..console import Console, format_bytes, make_table
from ..display import (
    describe_model,
    list_curves,
    list_entries,
    show_blend,
    show_curves,
    show_ladder,
    show_table,
)
from ..model_notes import read_model_file
from ..table_model import feature_names, split_model


def inspect(
    context: typer.Context,
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A file that `aucmax fit` wrote, or a table: CSV or Parquet, in one file or in several.",
        ),
    ],
    top: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="How many weights or curves of a model to show.")
    ] = 20,
    format: options.Format = None,
    target: options.Target = None,
    drop: options.Drop = None,
    identifiers: options.Identifiers = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    date: options.Date = None,
    na_values: options.NaValues = None,
    thousands: options.Thousands = None,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.TextEncoding = "utf-8",
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show what a model file holds, or how the columns of a table are read."""
    models = [path for path in map(Path, paths) if path.exists() and is_model(path)]  # a pattern does not exist
    if models and len(paths) > 1:
        raise ValueError(f"{models[0]} is a model, which is shown by itself: leave out the other files.")
    if models:
        check_used(context, ["model"])
        return inspect_model(models[0], top, as_json)
    overrides = options.column_overrides(context)
    layout: dict[str, Any] = {"format": format, "header": header, "delimiter": delimiter, "encoding": encoding}
    inspect_table(context, paths, as_json, target=target, **overrides, **layout)


def inspect_model(path: Path, top: int, as_json: bool) -> None:
    """Show what a model file holds."""
    file, size = read_model_file(path), path.stat().st_size
    (_, model), spreads, weights = split_model(file.model), file.notes.get("spreads"), None
    if is_linear(model):
        weights = largest_weights(model.coef_[0], spreads, feature_names(file.model), n_weights=top)
    about, curves = describe_model(file), list_curves(file.model)
    values = {"model": str(path), "size": size} | about | {"weights": weights and dict(weights), "curves": curves}
    parameters = ", ".join(f"{name}={value!r}" for name, value in model.get_params(deep=False).items())
    entries = [("file", f"{path}, {format_bytes(size)}"), *list_entries(file), ("parameters", parameters)]
    width = 2 + max(len(name) for name, _ in entries)
    shown: list[Any] = [f"{name:<{width}}{text}" for name, text in entries]
    shown += show_table(about["table"])
    shown += [*show_ladder(about), *show_blend(about)]
    if weights:
        what = "weight" if spreads is None else "weight times standard deviation"
        shown.append(make_table("", ("column", what), [(name, f"{w:.6g}") for name, w in weights], right=(1,)))
    Console(as_json=as_json).result(values, *shown, *show_curves(curves, top))


def inspect_table(context: typer.Context, paths: list[str], as_json: bool, **chosen: Any) -> None:
    """Show how the columns of a table are read."""
    name = describe_paths(paths)
    formats = find_formats(paths, chosen["format"])
    if set(formats) & {"csv", "parquet"}:
        check_used(context, formats)  # before a pass over the table
    required = True if chosen["target"] is not None else None  # a mistyped target is an error
    source = open_source(paths, with_target=required, **chosen)
    if source.reading is None:
        raise ValueError(f"{name} is {source.format}, which has no columns to show: inspect takes a model or a table.")
    check_used(context, [source.format])  # again: the format of standard input is known only now
    columns = source.reading.describe()
    values = {"data": name, "target": source.target, "n_features": source.n_features, "table": columns}
    labels = "no target" if source.target is None else f"target {source.target}"
    line = f"{name}: {labels}, {len(columns):,} other columns, {source.n_features:,} features"
    Console(as_json=as_json).result(values, line, *show_table(columns))
