"""``aucmax fit``: fit a model to a file and write it."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..._text import parse_bytes
from ...files import TABLES, Source, describe_paths, find_formats, open_source
from ...losses import FITTED
from ...models.checkpoint import Checkpoint
from ...models.model_file import save_model
from ...report.html import write_page
from ...rows.file import rows_of
from ...tables.reading.table import warn_left_out
from .. import options
from ..checks import after_writing, check_inputs, check_outputs, check_used
from ..console import Console, FitProgress, format_bytes, on_block
from ..display import describe_model, fit_report, headline, show_reading, summarise
from ..fit import (
    BlockReading,
    check_blocks,
    check_columns,
    connect,
    default_memory,
    find_need,
    fit_by_blocks,
    fit_in_memory,
    fit_on_cluster,
    make_estimator,
)
from ..options import parse_cuts, parse_pairs, parse_shapes
from ..score import evaluate_scores, open_rows, score_file
from ..table_model import is_table_model

MODEL_FILE = Path("model.safetensors")

if TYPE_CHECKING:
    LossName = str
else:  # what Typer sees
    LossName = Literal["auto", *FITTED]


def fit(
    context: typer.Context,
    train: Annotated[
        list[str],
        typer.Argument(metavar="TRAIN...", help="Training rows, in one file or in several; - is standard input."),
    ],
    output: Annotated[Path, options.output("The model file to write.", "FILE", "--output", "-o")] = MODEL_FILE,
    test: Annotated[
        list[str] | None, options.data("Rows to evaluate the model on; given more than once, in several files.", "FILE")
    ] = None,
    algorithm: Annotated[
        str | None,
        options.model(
            "What to fit, as NAME or 'NAME(parameter=value)'; `aucmax algorithms` lists the published algorithms. By "
            "default, TableClassifier for CSV and Parquet without options of the linear model, else AUCClassifier.",
            "NAME",
            autocompletion=lambda: list(options.FITTED),
        ),
    ] = None,
    loss: Annotated[
        LossName | None,
        options.linear("The loss; by default, auto: several are tried and blended.", "|".join(("auto", *FITTED))),
    ] = None,
    selection: Annotated[
        Literal["blend", "best"] | None,
        options.linear(
            "What auto does with its candidates: blend them, or take the best; by default, blend.", "blend|best"
        ),
    ] = None,
    penalty: Annotated[
        Literal["l2", "l1", "elasticnet"] | None, options.linear("By default, l2.", "l2|l1|elasticnet")
    ] = None,
    l1_ratio: Annotated[float | None, options.linear("Share of L1 in elasticnet.", "NUMBER")] = None,
    alpha: Annotated[
        float | None, options.linear("Regularisation strength; by default, cross-validated.", "NUMBER")
    ] = None,
    n_nonzero: Annotated[
        list[int] | None,
        options.linear("Largest number of weights that are not 0; several are cross-validated.", "NUMBER", min=1),
    ] = None,
    cv: Annotated[
        int | None, options.model("Number of folds; by default, 5. 0 fits one rung without.", "NUMBER", min=0)
    ] = None,
    standardize: Annotated[
        bool | None,
        options.linear(
            "Whether the penalty is on standardised columns; by default, auto: a blend tries both, other fits do."
        ),
    ] = None,
    terms: Annotated[
        Literal["auto", "lines", "curves", "pairs"] | None,
        options.table("The rung of the ladder; by default, auto: held-out rows choose it.", "auto|lines|curves|pairs"),
    ] = None,
    pairs: Annotated[
        str | None,
        options.table("The number of surfaces; by default, auto: half and twice as many as columns.", "auto|NUMBER"),
    ] = None,
    monotonic_cst: Annotated[
        list[str] | None,
        options.table("A column whose curve is increasing or decreasing.", "COLUMN=SHAPE", "--monotonic"),
    ] = None,
    max_bins: Annotated[
        int | None, options.table("The largest number of bins of a number; by default, 128.", "NUMBER", min=2)
    ] = None,
    cuts: Annotated[
        list[str] | None,
        options.table("Your own bins of a column, by the numbers or days between them.", "COLUMN=N,N,..."),
    ] = None,
    random_state: options.Seed = 0,
    format: options.Format = None,
    target: options.Target = None,
    positive: options.Positive = None,
    weight: options.Weight = None,
    group: Annotated[
        str | None, options.data("Column of the groups, which cross-validation keeps whole.", "COLUMN")
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
    memory: Annotated[
        str | None,
        options.data(
            "Read larger files by blocks in about this much memory, as 2GB; by default, half of the machine's.", "SIZE"
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, options.data("Read by blocks, and resume from this file after an interruption.", "FILE")
    ] = None,
    checkpoint_every: Annotated[
        float | None, options.data("Time between two checkpoints; by default, 30.", "SECONDS", min=0)
    ] = None,
    cluster: Annotated[
        str | None,
        options.data(
            "Fit on a Dask cluster: the address of its scheduler, or local; each file is a partition.", "ADDRESS"
        ),
    ] = None,
    moments: Annotated[
        bool,
        options.output(
            "Leave class moments and states, which only partial_fit needs, out of the model file.",
            None,
            " /--no-moments",
            show_default=False,
        ),
    ] = True,
    report: options.ReportPath = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Fit a model to the rows of a file, or of several, and write it."""
    console = Console(quiet, as_json)
    resumed = checkpoint is not None and checkpoint.exists()
    check_inputs([*train, *(test or [])])

    if checkpoint is not None and train == ["-"]:
        raise ValueError("--checkpoint needs a file that can be read again, not standard input.")
    if cluster is not None and (checkpoint is not None or train == ["-"]):
        raise ValueError(
            "--cluster needs files that workers can open, and no --checkpoint: a lost worker costs no pass."
        )
    allowed = default_memory() if memory is None else parse_bytes(memory)
    how = BlockReading(allowed, checkpoint, is_given=memory is not None)
    layout: dict[str, Any] = {"header": header, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    columns: dict[str, Any] = {"target": target, "weight": weight, "group": group}
    overrides = options.column_overrides(context)
    linear = any(context.params[name] not in (None, [], ()) for name in options.OF_LINEAR)
    parameters = {name: context.params[name] for name in (*options.OF_LINEAR, "cv", "terms", "max_bins")}
    parameters["n_nonzero"] = n_nonzero if n_nonzero is None or len(n_nonzero) > 1 else n_nonzero[0]
    parameters |= {"pairs": parse_pairs(pairs), "monotonic_cst": parse_shapes(monotonic_cst)}
    parameters["cuts"] = parse_cuts(cuts)
    make = partial(make_estimator, algorithm, random_state, **parameters)
    formats = find_formats(train, format)
    tests = find_formats(test) if test else []
    # The format of standard input is not known yet: options of tables say that it is one.
    as_table = any(parameters[name] is not None for name in options.OF_TERMS) and not set(formats).isdisjoint(TABLES)
    is_table = not linear and (as_table or set(formats) <= set(TABLES))
    check_used(context, [*formats, *tests], make(is_table=is_table, by_blocks=False))
    source = open_source(train, format=format, with_target=True, output="levels", **columns, **overrides, **layout)
    formats = [source.format]
    estimator = make(is_table=not linear and source.reading is not None, by_blocks=False)
    of_table = is_table_model(estimator)
    if of_table:
        if source.reading is None:
            raise ValueError(f"{source.name}: {type(estimator).__name__} is fitted to CSV and Parquet files only.")
        estimator.set_params(**options.as_parameters(overrides))
    else:
        source.change_output("features")
    if test:  # its faults are better found before a long fit than after it
        known: dict[str, Any] = {"reading": source.reading, "target": source.target, "output": "levels"}
        tested = open_source(test, with_target=True, **known, **layout)
        formats.append(tested.format)
    by_blocks = cluster is not None or checkpoint is not None or find_need(source, how) > allowed
    if by_blocks:
        estimator = estimator if of_table else make(is_table=False, by_blocks=True)
        check_blocks(estimator, algorithm, source, how, cluster is not None)
    check_used(context, formats, estimator)  # again, since the format of standard input is known only now
    check_outputs({"the model": output, "--report": report}, force or resumed, [*train, *(test or [])], checkpoint)
    check_columns(estimator, source)
    if source.reading is not None and (quiet or as_json):
        warn_left_out(source.reading)
    elif source.reading is not None:
        console.result({}, *show_reading(source, positive))
    begun, rows = time.perf_counter(), None
    with console.progress() as bar:
        if cluster is not None:
            with connect(cluster) as n_workers:
                console.note(f"{source.name}: {format_bytes(source.size)}, read by {n_workers} workers")
                trained = fit_on_cluster(estimator, source, positive, allowed)
        elif by_blocks:
            # A checkpoint of another command is refused.
            command = {**layout, **overrides, "output": output, "report": report}
            about = {name: str(value) for name, value in command.items()}
            every = 30.0 if checkpoint_every is None else checkpoint_every
            saved = None if checkpoint is None else Checkpoint(checkpoint, every)
            settings: dict[str, Any] = {"memory": allowed, "checkpoint": saved, "command": about}
            rows = rows_of(source, positive=positive, on_block=on_block(bar, source), **settings)
            console.note(describe_reading(source, estimator, resumed))
            trained = fit_by_blocks(estimator, rows, source)
        else:
            trained = fit_in_memory(estimator, source, positive, on_block(bar, source), FitProgress(bar))
    seconds = time.perf_counter() - begun
    file, evaluation, scores, measured = trained.file, None, None, trained.rows
    save_model(file.model, output, moments=moments, **file.notes)
    with after_writing(output):
        if test:
            tested = open_rows(console, file, test, with_target=True, target=target, **layout)
            found = score_file(console, file, tested, with_rows=report is not None)
            evaluation, _ = evaluate_scores(file, found.scores, found.positive)
            scores, measured = found.of_classes, found.labelled
            file.notes["test"] = {"data": describe_paths(test), **headline(evaluation)}
            save_model(file.model, output, moments=moments, **file.notes)
        elif report is not None and trained.scores is not None and trained.rows is not None:
            evaluation, scores = evaluate_scores(file, trained.scores, trained.rows[1])
        if report is not None:
            which, data = ("test", describe_paths(test)) if test else ("training", source.name)
            write_page(report, fit_report(file, data, evaluation, scores, which, measured))
    if rows is not None:
        rows.finish()
    shown = summarise(file, seconds, output, report, is_named=positive is not None)
    values = {"model": str(output), "report": report and str(report), "seconds": seconds, **describe_model(file)}
    console.summary(values, *shown)


def describe_reading(source: Source, estimator: Any, resumed: bool) -> str:
    """Return the note about a fit that reads its file by blocks."""
    text = f"{source.name}: {format_bytes(source.size)}, read by blocks"
    if resumed:
        text += ", resumed from the checkpoint"
    if hasattr(estimator, "shuffle"):
        text += "; rows are taken in the order of the file"
    return text
