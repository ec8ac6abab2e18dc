"""``aucmax monitor``: whether new rows are still like the training rows of a model."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from ...files import describe_paths
from ...monitoring.drift import ColumnDrift, Drift
from ...monitoring.stability import Stability
from ...monitoring.watch import Watch
from ...report.drift import write_drift
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console, make_table, on_block
from ..display import wrote
from ..model_notes import read_model_file
from ..score import classes_of, keeping, naming, open_rows, read_times, without_names

SHOWN = 50  # columns
DRIFTED = 3  # the exit status; 1 is a bug, 2 an error


def monitor(
    context: typer.Context,
    model: options.ModelPath,
    data: options.Data,
    limit: Annotated[
        float,
        typer.Option(
            min=1e-9, metavar="NUMBER", help="A stability index that is more by this than by chance is drift."
        ),
    ] = 0.25,
    time: Annotated[
        str | None, options.data("Column of dates, for the AUC by month if labels are there.", "COLUMN")
    ] = None,
    format: options.Format = None,
    target: options.Target = None,
    weight: options.Weight = None,
    header: options.Header = True,
    delimiter: options.Delimiter = None,
    encoding: options.TextEncoding = "utf-8",
    zero_based: options.ZeroBased = False,
    report: options.ReportPath = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare new rows with the training rows of a model: exit status 0 if they are stable, 3 if they have drifted."""
    console = Console(quiet, as_json)
    check_inputs([model, *data])

    file = read_model_file(model)
    watch = Watch(file.model)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target, "with_target": None if target is None else True, "weight": weight}
    with keeping("time"):
        kept = [] if time is None else [time]
        source = open_rows(console, file, data, context=context, as_levels=True, keep=kept, **layout)
    check_outputs({"--report": report}, force, [model, *data])
    masks: list[np.ndarray] = []
    times: list[str] = []
    classes = classes_of(file)
    with console.progress() as bar, naming(source), without_names():
        update = on_block(bar, source)
        for block in source.blocks():
            watch.add(block.features, block.tallies, block.weight)
            masks += [] if block.y is None else [classes.mask(np.asarray(block.y), source.name)]
            times += [] if time is None else block.kept[list(source.kept).index(time)]
            update("scoring", block)
        if not watch.scores:
            raise ValueError(f"{source.name} has no rows.")
        if time is not None and not masks:
            console.note(f"{source.name}: --time is for the AUC by month, and there are no labels")
        dates = read_times(source.name, time, times) if time is not None and masks else None
        found = watch.drift(np.concatenate(masks) if masks else None, dates, limit, 0.95)
    if report is not None:
        write_drift(report, found, f"{model.name} on {describe_paths(data)}")
    values = {"model": str(model), "data": describe_paths(data), "report": report and str(report), **found.to_dict()}
    console.result(values, *show_drift(found), *wrote(report))
    if not found.is_stable:
        raise typer.Exit(DRIFTED)


def show_drift(found: Drift) -> list[Any]:
    """Return the lines and the table of what has changed."""
    index = "" if found.score is None else f"{' '.join(show_index(found.score))}, {found.status(found.score)}; "
    lines: list[Any] = [f"{found.n_samples:,} rows", f"score: {index}{found.score_note or 'against held-out scores'}"]
    lines.append(f"mean probability {found.mean_probability:.4f}, base rate of the training rows {found.base_rate:.4f}")
    form = "{:.4f} ({:.4f} to {:.4f})"
    if found.auc is not None:
        promised = "" if found.promised is None else f"; cross-validated in training {form.format(*found.promised[:3])}"
        lines.append(f"AUC {form.format(*found.auc[:3])}{promised}")
    if found.columns:
        ordered = sorted(found.columns, key=lambda each: -(each.stability.excess if each.stability else -1))
        rows = [show_column(found, each) for each in ordered[:SHOWN]]
        header = ("column", "read as", "index", "by chance", "95% interval", "missing", "", "")
        lines.append(make_table("", header, rows, right=(2, 3)))
        if len(ordered) > SHOWN:
            lines.append(f"and {len(ordered) - SHOWN:,} more columns, which --json and --report list")
    if found.periods:
        rows = [
            (
                each.month,
                f"{each.n_samples:,}",
                f"{each.n_positive:,}",
                "too few rows of a class" if each.auc is None else "{:.4f}  ({:.4f} to {:.4f})".format(*each.auc[:3]),
            )
            for each in found.periods
        ]
        lines.append(make_table("", ("month", "rows", "positive", "AUC, 95% interval"), rows, right=(1, 2)))
    rule = f"an index of more than {found.limit:g} beyond chance, its interval above {found.border:g}, is drift"
    if any(each.new_levels for each in found.columns):
        rule += f", and so are new levels in {found.limit / 5:g} more of the rows than expected"
    return [*lines, f"{found.verdict} ({rule})"]


def show_index(found: Stability) -> tuple[str, str, str]:
    """Return an index, what it is by chance, and its interval, as text."""
    return f"{found.psi:.3f}", f"{found.by_chance:.3f}", f"{found.low:.3f} to {found.high:.3f}"


def show_column(found: Drift, column: ColumnDrift) -> tuple[str, ...]:
    """Return the line of a column."""
    index = ("", "", "") if column.stability is None else show_index(column.stability)
    shares = column.expected_missing_share, column.missing_share
    missing = "{:.1%} to {:.1%}".format(*shares) if any(shares) else ""
    status = (found.status(column) or "") + ("" if column.counts else ", a date")
    return column.column, column.kind, *index, missing, "; ".join(column.remarks), status
