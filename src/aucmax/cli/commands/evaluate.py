"""``aucmax evaluate``: measure a model on labelled rows."""

from typing import Annotated, Any

import typer

from ...files import describe_paths
from ...report.html import write_page
from .. import options
from ..checks import check_inputs, check_outputs
from ..console import Console
from ..display import fit_report, show_evaluation, wrote
from ..model_notes import read_model_file
from ..score import evaluate_file, open_rows


def evaluate(
    context: typer.Context,
    model: options.ModelPath,
    data: options.Data,
    max_fpr: Annotated[
        float, typer.Option(min=1e-9, max=1.0, metavar="RATE", help="Largest false positive rate of the partial AUC.")
    ] = 0.1,
    format: options.Format = None,
    target: options.Target = None,
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
    """Measure a model on labelled rows: AUC with its interval, partial AUC, average precision, the best threshold."""
    console = Console(quiet, as_json)
    check_inputs([model, *data])

    file = read_model_file(model)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target}
    source = open_rows(console, file, data, context=context, with_target=True, **layout)
    check_outputs({"--report": report}, force, [model, *data])
    evaluation, scores, rows = evaluate_file(console, file, source, max_fpr, with_rows=report is not None)
    if report is not None:
        write_page(report, fit_report(file, describe_paths(data), evaluation, scores, "", rows))
    values = {"model": str(model), "data": describe_paths(data), "report": report and str(report)}
    values |= evaluation.to_dict()
    console.result(values, *show_evaluation(file, evaluation), *wrote(report))
