"""``aucmax compare``: compare methods on files, as the papers do."""

import re
from typing import Annotated, Any

import typer

from ...compare.comparison import compare as compare_methods
from ...compare.comparison import win_tie_loss
from ...compare.methods import find_method
from ...files import find_formats, open_source
from ...report.html import write_page
from .. import options
from ..checks import check_inputs, check_outputs, check_used
from ..console import Console, make_table, on_block, on_fit
from ..display import comparison_report, show_comparison, wrote
from ..score import find_classes, naming, read_rows

DEFAULT_METHODS = "AUCClassifier, LogisticRegression, LinearSVC, RidgeClassifier, GaussianAUC"


def compare(
    context: typer.Context,
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="One or more files of labelled rows.")],
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Names, or 'NAME(parameter=value)', separated by commas; the first is tested against the others.",
        ),
    ] = DEFAULT_METHODS,
    n_splits: Annotated[int, options.model("Number of folds.", "NUMBER", "--folds", min=2)] = 5,
    n_repeats: Annotated[int, options.model("How often the folds are drawn.", "NUMBER", "--repeats", min=1)] = 5,
    inner_splits: Annotated[
        int, options.model("Number of folds that tune parameters.", "NUMBER", "--inner-folds", min=2)
    ] = 5,
    max_candidates: Annotated[
        int | None,
        options.model("Try at most this many candidates of a grid, evenly spaced.", "NUMBER", "--candidates", min=1),
    ] = None,
    n_jobs: options.Jobs = 1,
    random_state: options.Seed = 0,
    format: options.Format = None,
    target: options.Target = None,
    positive: options.Positive = None,
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
    zero_based: options.ZeroBased = False,
    report: options.ReportPath = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare methods as the papers do: repeated stratified folds, each method tuned on the training part, t-tests."""
    console = Console(quiet, as_json)
    check_inputs(data)

    chosen = [find_method(name) for name in split_names(methods)]
    found = []
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target}
    overrides = options.column_overrides(context)
    check_used(context, [each for path in data for each in find_formats(path, format)])  # before a pass over tables
    sources = [open_source(path, with_target=True, **overrides, **layout) for path in data]
    check_used(context, [source.format for source in sources])  # again: the format of standard input is known only now
    check_outputs({"--report": report}, force, data)
    for source in sources:
        with console.progress() as bar, naming(source):
            rows = read_rows(source, on_block(bar, source))
            _, mask = find_classes(source, rows, positive)
            levels = None
            if any(method.takes_tables for method in chosen) and source.change_output("levels"):
                levels = read_rows(source).features
            found.append(
                compare_methods(
                    rows.features,
                    mask,
                    chosen,
                    levels=levels,
                    data=source.name,
                    n_splits=n_splits,
                    n_repeats=n_repeats,
                    inner_splits=inner_splits,
                    max_candidates=max_candidates,
                    random_state=random_state,
                    n_jobs=n_jobs,
                    on_progress=on_fit(bar, len(chosen) * n_splits * n_repeats),
                )
            )
    if report is not None:
        write_page(report, comparison_report(found, n_splits, n_repeats))
    counts = win_tie_loss(found)
    values = {
        "report": report and str(report),
        "n_splits": n_splits,
        "n_repeats": n_repeats,
        "comparisons": [comparison.to_dict() for comparison in found],
        "win_tie_loss": [
            {"method": name, **dict(zip(("wins", "ties", "losses"), count, strict=True))}
            for name, count in counts.items()
        ],
    }
    shown = [item for comparison in found for item in show_comparison(comparison)]
    if len(found) > 1:
        lines = [(name, *map(str, count)) for name, count in counts.items()]
        title = f"{found[0].methods[0]} against, over {len(found)} data sets"
        shown.append(make_table(title, ("", "win", "tie", "loss"), lines, right=(1, 2, 3)))
    console.result(values, *shown, *wrote(report))


def split_names(text: str) -> list[str]:
    """Return the names of a list, split at the commas outside brackets."""
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("--methods names no method; `aucmax algorithms` lists them.")
    return names
