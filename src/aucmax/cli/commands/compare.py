"""``aucmax compare``: compare methods on files, as the papers do."""

import re
from typing import Annotated, Any

import typer

from ..._text import ArgumentError
from ...compare.comparison import Comparison, win_tie_loss
from ...compare.comparison import compare as compare_methods
from ...compare.methods import find_method
from ...files import Source, find_formats, open_source
from ...papers.registry import Method
from ...report.html import write_page
from .. import options
from ..checks import check_inputs, check_outputs, check_used
from ..console import Bar, Console, make_table, on_block, on_fit
from ..display import comparison_report, show_comparison, wrote
from ..score import find_classes, keeping, naming, read_rows, read_times

OF_TABLES = "TableClassifier, AUCClassifier, LogisticRegression, HistGradientBoosting"
OF_NUMBERS = "AUCClassifier, LogisticRegression, LinearSVC, RidgeClassifier, GaussianAUC"


def compare(
    context: typer.Context,
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="One or more files of labelled rows.")],
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            "--method",
            metavar="NAMES",
            help="Names, or 'NAME(parameter=value)', separated by commas; the first is tested against the others. "
            "A name with dots, as sklearn.ensemble.RandomForestClassifier, is imported. By default, for tables "
            f"{OF_TABLES}; else {OF_NUMBERS}.",
        ),
    ] = None,
    n_splits: Annotated[int, options.model("Number of folds.", "NUMBER", "--folds", min=2)] = 5,
    n_repeats: Annotated[
        int | None, options.model("How often the folds are drawn; by default 5 times.", "NUMBER", "--repeats", min=1)
    ] = None,
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
    weight: options.Weight = None,
    group: Annotated[str | None, options.data("Column of the groups, which folds keep whole.", "COLUMN")] = None,
    time: Annotated[
        str | None, options.data("Column of dates: each fold tests on the rows after its training rows.", "COLUMN")
    ] = None,
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

    if time is not None and (group is not None or n_repeats not in (None, 1)):
        raise ArgumentError("{} is not used with {time=}: leave it out.", "--repeats" if group is None else "--group")
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    layout |= {"format": format, "target": target, "weight": weight, "group": group}
    layout |= options.column_overrides(context)
    if time is not None:
        layout |= {"drop": [*(drop or ()), time], "keep": [time]}
    chosen = None if methods is None else find_methods(methods)  # before the files are read
    check_used(context, [each for path in data for each in find_formats(path, format)])  # before a pass over tables
    with keeping("time"):
        sources = [open_source(path, with_target=True, **layout) for path in data]
    check_used(context, [source.format for source in sources])  # again: the format of standard input is known only now
    if chosen is None:
        chosen = find_methods(OF_TABLES if all(source.reading is not None for source in sources) else OF_NUMBERS)
    check_outputs({"--report": report}, force, data)
    protocol: dict[str, Any] = {"n_splits": n_splits, "n_repeats": n_repeats or (1 if time else 5)}
    settings: dict[str, Any] = {"inner_splits": inner_splits, "max_candidates": max_candidates}
    settings |= {"random_state": random_state, "n_jobs": n_jobs}
    found = []
    for source in sources:
        with console.progress() as bar, naming(source):
            found.append(compare_on(source, chosen, positive, time, bar, **protocol, **settings))
    if report is not None:
        write_page(report, comparison_report(found, **protocol, kind=folds_in_words(group, time)))
    counts = win_tie_loss(found)
    values = {
        "report": report and str(report),
        **protocol,
        "comparisons": [comparison.to_dict() for comparison in found],
        "win_tie_loss": [
            {"method": name, "wins": wins, "ties": ties, "losses": losses}
            for name, (wins, ties, losses) in counts.items()
        ],
    }
    shown = [item for comparison in found for item in show_comparison(comparison)]
    if len(found) > 1:
        lines = [(name, *map(str, count)) for name, count in counts.items()]
        title = f"{found[0].methods[0]} against, over {len(found)} data sets"
        shown.append(make_table(title, ("", "win", "tie", "loss"), lines, right=(1, 2, 3)))
    console.result(values, *shown, *wrote(report))


def compare_on(
    source: Source, methods: list[Method], positive: str | None, time: str | None, bar: Bar, **protocol: Any
) -> Comparison:
    """Return the comparison of methods on the rows of a file."""
    rows = read_rows(source, on_block(bar, source))
    _, mask = find_classes(source, rows, positive)
    times = None if time is None else read_times(source.name, time, rows.kept[list(source.kept).index(time)])
    levels = None
    if any(method.takes_tables for method in methods) and source.change_output("levels"):
        levels = read_rows(source).features
    protocol |= {"sample_weight": rows.weight, "groups": rows.group, "time": times, "levels": levels}
    protocol["on_progress"] = on_fit(bar, len(methods) * protocol["n_splits"] * protocol["n_repeats"])
    return compare_methods(rows.features, mask, methods, data=source.name, **protocol)


def folds_in_words(group: str | None, time: str | None) -> str:
    """Return what kind of folds a comparison has."""
    if time is not None:
        return f"folds in the order of {time}, each tested on later rows"
    return "stratified folds" + (f" of whole groups ({group})" if group is not None else "")


def find_methods(text: str) -> list[Method]:
    """Return the methods of a list of names, which may name classes to import."""
    return [find_method(name, imports=True) for name in split_names(text)]


def split_names(text: str) -> list[str]:
    """Return the names of a list, split at the commas outside brackets."""
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("--methods names no method; `aucmax algorithms` lists them.")
    return names
