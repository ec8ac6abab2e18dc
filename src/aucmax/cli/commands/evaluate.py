"""``aucmax evaluate``: measure a model on labelled rows."""

from typing import Annotated, Any

import numpy as np
import typer

from ...files import describe_paths
from ...report.html import write_page
from ...tables.reading.cells import find_missing
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console
from ..display import fit_report, json_figures, show_evaluation, show_gains, show_groups, wrote
from ..model_notes import read_model_file
from ..score import evaluate_scores, keeping, open_rows, score_file


def evaluate(
    context: typer.Context,
    model: options.ModelPath,
    data: options.Data,
    max_fpr: Annotated[
        float, typer.Option(min=1e-9, max=1.0, metavar="RATE", help="Largest false positive rate of the partial AUC.")
    ] = 0.1,
    cost_fp: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="What a false positive costs, for the threshold of lowest cost."),
    ] = None,
    cost_fn: Annotated[
        float | None, typer.Option(min=0.0, metavar="NUMBER", help="What a false negative costs.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Also AUC, rates and calibration in each group of this column.")
    ] = None,
    format: options.Format = None,
    target: options.Target = None,
    weight: options.Weight = None,
    group: Annotated[
        str | None, options.data("Column of the groups of rows that depend on each other, for intervals.", "COLUMN")
    ] = None,
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
    """Measure a model on labelled rows: AUC with its interval, thresholds, gains, calibration, and rates by group."""
    import pyarrow as pa

    console = Console(quiet, as_json)
    check_inputs([model, *data])
    if (cost_fp is None) != (cost_fn is None):
        raise ValueError("--cost-fp and --cost-fn belong together: give both.")

    file = read_model_file(model)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target, "weight": weight}
    parts = {"by": by, "groups": group}
    kept = [*dict.fromkeys(column for column in parts.values() if column is not None)]
    with keeping("group" if by is None else "by"), keeping("group", group or ""):
        source = open_rows(console, file, data, context=context, with_target=True, keep=kept, **layout)
    check_outputs({"--report": report}, force, [model, *data])
    found = score_file(console, file, source, with_rows=report is not None)
    settings: dict[str, Any] = {"max_fpr": max_fpr}
    if cost_fp is not None:
        settings["costs"] = cost_fp, cost_fn
    for name, column in parts.items():
        if column is not None:
            settings[name] = cells = np.array(found.kept[list(source.kept).index(column)], dtype=object)
            missing = find_missing(pa.array(cells, pa.string()))
            if missing.any() and name == "groups":
                raise ValueError(
                    f"{source.name}: {missing.sum():,} rows have no value of {column!r}, the column of --group."
                )
            cells[missing] = None
    evaluation, _ = evaluate_scores(file, found.scores, found.positive, found.weight, **settings)
    if report is not None:
        scores, rows = found.of_classes, found.labelled
        made = fit_report(file, describe_paths(data), evaluation, scores, "", rows, found.weight)
        dependent = [("groups of dependent rows", f"{evaluation.n_groups:,}, by {group}")] if group is not None else []
        write_page(report, made._replace(by=by or "", summary=[*made.summary, ("model file", model.name), *dependent]))
    values = {"model": str(model), "data": describe_paths(data), "report": report and str(report)}
    values |= json_figures(evaluation.to_dict())
    tables = [*show_evaluation(file, evaluation), *show_gains(evaluation), *show_groups(by or "", evaluation.by)]
    console.result(values, *tables, *wrote(report))
