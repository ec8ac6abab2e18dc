"""The command line: one function for each command of `aucmax`.

What users can fix ends with exit status 2 and one line on standard error, anything else with 1; a traceback is shown
with --debug alone. Results go to standard output, as JSON with --json; notes and progress to standard error.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .console import Console, FitProgress, format_bytes, make_table, on_block, on_fit, parse_bytes
from .display import (
    comparison_report,
    describe_fit,
    describe_model,
    fit_report,
    headline,
    list_entries,
    show_comparison,
    show_evaluation,
    summarise,
    wrote,
)
from .options import (
    DATA,
    MODEL,
    OUTPUT,
    Data,
    Debug,
    Force,
    Format,
    Jobs,
    Json,
    Loss,
    ModelPath,
    NoHeader,
    OneHot,
    Penalty,
    Positive,
    Quiet,
    ReportPath,
    Seed,
    Target,
    Train,
    ZeroBased,
)
from .outputs import after_writing, check_outputs

if TYPE_CHECKING:
    from ..files import Block, Source
    from ..models.model_file import ModelFile
    from ..report.evaluation import Evaluation
    from ..report.html import Report
    from .training import Training

app = typer.Typer(
    name="aucmax",
    help="Train linear classifiers that maximise the area under the ROC curve, and use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

INTERRUPTED = 130
DEFAULT_METHODS = "AUCClassifier, LogisticRegression, LinearSVC, RidgeClassifier, GaussianAUC"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    warnings.showwarning = show_warning  # type: ignore[assignment]
    try:
        status = app(arguments, prog_name="aucmax", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:
            status = say(KeyboardInterrupt())
    except SystemExit:  # of Rich, when whoever reads our output has seen enough
        status = 0
    except BaseException as error:
        if "--debug" in arguments:
            traceback.print_exc()
        status = say(error)
    sys.exit(status or 0)


def prepare_streams() -> None:
    """Make sure that there is something to write to, and that it takes every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(error: BaseException) -> int:
    """Say in one line on standard error what went wrong, and return the exit status."""
    if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        text, status = "interrupted.", INTERRUPTED
    elif hasattr(error, "format_message"):  # of the options; that of a missing command is the help itself
        text, status = error.format_message(), 2
    elif isinstance(error, OSError) and error.strerror:
        name = error.filename if error.filename is not None else "standard output"
        text, status = f"{os.fsdecode(name)}: {error.strerror}.", 2
    elif isinstance(error, ValueError | OSError | ImportError | MemoryError):
        text, status = str(error) or "there is not enough memory.", 2
    else:
        text, status = f"unexpected {type(error).__name__}: {error} (--debug shows where).", 1
    if text:
        sys.stderr.write(f"aucmax: {' '.join(text.split())}\n")
    return status


def show_warning(message: Warning | str, *where: Any) -> None:
    """Say a warning of the library in one line, without a place in its source."""
    sys.stderr.write(f"aucmax: warning: {' '.join(str(message).split())}\n")


def show_version(value: bool) -> None:
    """Print the version and leave."""
    if value:
        print(f"aucmax {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train linear classifiers that maximise the area under the ROC curve, and use them."""


@app.command(epilog="Example: aucmax fit train.csv --target label --test test.csv --report report.html -o model.st")
def fit(
    train: Train,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write.", rich_help_panel=OUTPUT)
    ] = Path("model.safetensors"),
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Rows to evaluate the model on.", rich_help_panel=DATA)
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            help="A published algorithm, as NAME or 'NAME(parameter=value)'; `aucmax algorithms` lists them.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    loss: Loss = None,
    penalty: Penalty = None,
    l1_ratio: Annotated[float | None, typer.Option(help="Share of L1 in elasticnet.", rich_help_panel=MODEL)] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Regularisation strength; by default, cross-validated.", rich_help_panel=MODEL),
    ] = None,
    n_nonzero: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="At most so many weights; give it several times to choose by cross-validation.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    cv: Annotated[
        int | None, typer.Option(min=2, help="Number of folds; by default, 5.", rich_help_panel=MODEL)
    ] = None,
    standardize: Annotated[
        bool | None,
        typer.Option(help="Whether the penalty is on standardised columns.", rich_help_panel=MODEL),
    ] = None,
    seed: Seed = 0,
    format: Format = None,
    target: Target = None,
    positive: Positive = None,
    one_hot: OneHot = False,
    no_header: NoHeader = False,
    zero_based: ZeroBased = False,
    memory: Annotated[
        str | None,
        typer.Option(
            help="Read larger files by blocks in about so much memory, as 2GB; by default, half of the machine's.",
            rich_help_panel=DATA,
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Read by blocks (--loss auto is squared then), and go on from this file after an interruption.",
            rich_help_panel=DATA,
        ),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="Time between two checkpoints.", rich_help_panel=DATA)
    ] = 30.0,
    report: ReportPath = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Fit a model to a file and write it."""
    console = Console(quiet, as_json)
    resumed = checkpoint is not None and checkpoint.exists()
    check_outputs({"the model": output, "--report": report}, force or resumed, [train, test], checkpoint)
    from ..files import open_source
    from ..models.model_file import save_model
    from .training import (
        Streaming,
        default_memory,
        fit_by_blocks,
        fit_in_memory,
        make_estimator,
        must_stream,
        open_blocks,
    )

    if checkpoint is not None and train == "-":
        raise ValueError("--checkpoint needs a file that can be read again, not standard input.")
    how = Streaming(default_memory() if memory is None else parse_bytes(memory), checkpoint, checkpoint_every)
    options: dict[str, Any] = {"header": not no_header, "zero_based": zero_based}
    source = open_source(train, format=format, target=target, one_hot=one_hot, with_target=True, **options)
    if test is not None:  # a fault is better found before a long fit than after it
        open_source(test, encoding=source.encoding, target=source.target, with_target=True, **options)
    streamed = must_stream(source, how)
    estimator = make_estimator(
        algorithm,
        seed,
        streamed,
        loss=loss,
        penalty=penalty,
        l1_ratio=l1_ratio,
        alpha=alpha,
        n_nonzero=n_nonzero if n_nonzero is None or len(n_nonzero) > 1 else n_nonzero[0],
        cv=cv,
        standardize=standardize,
    )
    begun, rows = time.perf_counter(), None
    with console.progress() as bar:
        if streamed:
            rows = open_blocks(
                estimator, source, positive, how, on_block(bar, source), {**options, "output": output, "report": report}
            )
            console.note(streaming_note(source, estimator, resumed))
            training = fit_by_blocks(estimator, rows)
        else:
            training = fit_in_memory(estimator, source, positive, on_block(bar, source), FitProgress(bar))
    seconds = time.perf_counter() - begun
    file, evaluation, scores = training.file, None, None
    save_model(file.model, output, **file.notes)
    with after_writing(output):
        if test is not None:
            evaluation, scores = evaluate_file(console, file, test, target=target, **options)
            file.notes["test"] = {"file": test, **headline(evaluation)}
            save_model(file.model, output, **file.notes)
        elif report is not None and training.scores is not None:
            evaluation, scores = evaluate_training(training)
        if report is not None:
            write(report, fit_report(file, test or source.name, evaluation, scores, "test" if test else "training"))
    if rows is not None:
        rows.passes.clear()
    console.summary(describe_fit(file, seconds, output, report), *summarise(file, seconds, output, report))


@app.command(epilog="Example: aucmax predict model.st new.csv --proba -o scores.csv")
def predict(
    model: ModelPath,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="By default, standard output.", rich_help_panel=OUTPUT)
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also the probability of the positive class.", rich_help_panel=OUTPUT)
    ] = False,
    labels: Annotated[bool, typer.Option("--labels", help="Also the predicted label.", rich_help_panel=OUTPUT)] = False,
    format: Format = None,
    target: Annotated[
        str | None, typer.Option(help="A column of labels, to be left out.", rich_help_panel=DATA)
    ] = None,
    no_header: NoHeader = False,
    zero_based: ZeroBased = False,
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the scores of the rows of a file, as CSV: the larger, the more likely positive."""
    console = Console(quiet)
    output = None if output == Path("-") else output
    check_outputs({"--output": output}, force, [model, data])
    from ..models.model_file import read_model, write_atomically

    file = read_model(model)
    options = {"target": target, "header": not no_header, "zero_based": zero_based}
    source = open_data(console, file, data, with_target=False, format=format, **options)
    with console.progress() as bar:
        lines = (text.encode() for text in prediction_lines(file, source, proba, labels, on_block(bar, source)))
        if output is None:
            sys.stdout.flush()
            sys.stdout.buffer.writelines(lines)
            sys.stdout.buffer.flush()
        else:
            write_atomically(output, lambda out: out.writelines(lines))


@app.command(epilog="Example: aucmax evaluate model.st test.csv --report report.html")
def evaluate(
    model: ModelPath,
    data: Data,
    max_fpr: Annotated[float, typer.Option(min=1e-9, max=1.0, help="Where the partial AUC ends.")] = 0.1,
    format: Format = None,
    target: Target = None,
    no_header: NoHeader = False,
    zero_based: ZeroBased = False,
    report: ReportPath = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure a model on labelled rows: AUC with its interval, partial AUC, average precision, the best threshold."""
    console = Console(quiet, as_json)
    check_outputs({"--report": report}, force, [model, data])
    from ..models.model_file import read_model

    file = read_model(model)
    options: dict[str, Any] = {"header": not no_header, "zero_based": zero_based}
    evaluation, scores = evaluate_file(console, file, data, format=format, target=target, max_fpr=max_fpr, **options)
    if report is not None:
        write(report, fit_report(file, data, evaluation, scores, ""))
    values = {"model": str(model), "data": data, **evaluation.to_dict()}
    console.result(values, *show_evaluation(file, evaluation), *wrote(report))


@app.command(epilog="Example: aucmax compare data.csv --target label --methods 'AUCClassifier, OPAUC(alpha=0.1)'")
def compare(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="One or more files of labelled rows.")],
    methods: Annotated[
        str,
        typer.Option(
            help="Names, or 'NAME(parameter=value)', parted by commas; the first is tested against the others."
        ),
    ] = DEFAULT_METHODS,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds.", rich_help_panel=MODEL)] = 5,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often the rows are dealt out anew.", rich_help_panel=MODEL)
    ] = 5,
    inner_folds: Annotated[int, typer.Option(min=2, help="Folds that tune the parameters.", rich_help_panel=MODEL)] = 5,
    candidates: Annotated[
        int | None,
        typer.Option(min=1, help="Try at most so many candidates of a grid, evenly spaced.", rich_help_panel=MODEL),
    ] = None,
    jobs: Jobs = 1,
    seed: Seed = 0,
    format: Format = None,
    target: Target = None,
    positive: Positive = None,
    one_hot: OneHot = False,
    no_header: NoHeader = False,
    zero_based: ZeroBased = False,
    report: ReportPath = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare methods as the papers do: repeated stratified folds, each method tuned on the training part, t-tests."""
    console = Console(quiet, as_json)
    check_outputs({"--report": report}, force, data)
    from ..compare.comparison import compare as compare_methods
    from ..compare.comparison import win_tie_loss
    from ..compare.methods import find_method
    from ..files import open_source
    from .training import find_classes_of, naming, read_rows

    chosen = [find_method(name) for name in split_names(methods)]
    found = []
    for path in data:
        source = open_source(
            path,
            format=format,
            target=target,
            one_hot=one_hot,
            header=not no_header,
            zero_based=zero_based,
            with_target=True,
        )
        with console.progress() as bar, naming(source.name):
            X, y = read_rows(source, on_block(bar, source))
            _, mask = find_classes_of(source, y, positive)
            found.append(
                compare_methods(
                    X,
                    mask,
                    chosen,
                    data=source.name,
                    n_splits=folds,
                    n_repeats=repeats,
                    inner_splits=inner_folds,
                    max_candidates=candidates,
                    random_state=seed,
                    n_jobs=jobs,
                    on_progress=on_fit(bar, len(chosen) * folds * repeats),
                )
            )
    if report is not None:
        write(report, comparison_report(found, folds, repeats))
    counts = win_tie_loss(found)
    values = {
        "folds": folds,
        "repeats": repeats,
        "comparisons": [comparison.to_dict() for comparison in found],
        "win_tie_loss": {name: list(count) for name, count in counts.items()},
    }
    shown = [item for comparison in found for item in show_comparison(comparison)]
    if len(found) > 1:
        rows = [(name, *map(str, count)) for name, count in counts.items()]
        title = f"{found[0].methods[0]} against, over {len(found)} data sets"
        shown.append(make_table(title, ("", "win", "tie", "loss"), rows, right=(1, 2, 3)))
    console.result(values, *shown, *wrote(report))


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Published tables and figures, as --list names them, or TOML files."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List them and do nothing.")] = False,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the data sets; by default, AUCMAX_DATA. The rest is downloaded.", rich_help_panel=DATA
        ),
    ] = None,
    no_download: Annotated[
        bool, typer.Option("--no-download", help="Leave out data that are not in the folder.", rich_help_panel=DATA)
    ] = False,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A trial: few rows, runs and candidates, not to be compared.", rich_help_panel=MODEL
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="All runs and candidates of the papers; takes days.", rich_help_panel=MODEL),
    ] = False,
    jobs: Jobs = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where results are kept, and gone on from; by default, aucmax-results and the effort.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where pages and figures go; by default, pages in --output.", rich_help_panel=OUTPUT
        ),
    ] = None,
    no_run: Annotated[
        bool, typer.Option("--no-run", help="Only write the pages from results that are kept.", rich_help_panel=OUTPUT)
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Measure the papers' tables and figures again, and set published and measured figures side by side."""
    from ..reproduce.command import describe_studies, reproduce_studies
    from ..reproduce.study import list_studies, read_study

    console = Console(quiet, as_json)
    if listing:
        found = describe_studies()
        table = make_table("", ("name", "paper", "", "what it shows"), [[*row.values()] for row in found])
        console.result({"studies": found}, table)
        return
    if bool(names) == everything:
        raise ValueError("name what to reproduce, or say --all; --list lists it.")
    if quick and full:
        raise ValueError("--quick and --full exclude each other.")
    effort = "quick" if quick else "full" if full else "standard"
    studies = [read_study(name) for name in (list_studies() if everything else names or [])]
    folder = output or Path("aucmax-results", effort)
    with console.progress() as bar:
        values, rows = reproduce_studies(
            studies,
            folder,
            pages or folder / "pages",
            effort="" if no_run else effort,
            data_dir=data_dir,
            download=not no_download,
            n_jobs=jobs,
            on_progress=bar.update,
            on_note=console.note,
        )
    header = (
        "",
        "published",
        "measured",
        "within one std",
        "beyond, explained",
        "beyond",
        "no data",
        "failed",
        "not run",
    )
    note = "A quick run: rows, runs and candidates were capped, so these figures are not to be compared."
    console.result(
        values,
        make_table("", header, rows, right=range(1, len(header))),
        *([note] if effort == "quick" else []),
        f"wrote {pages or folder / 'pages'}",
    )


@app.command()
def algorithms(as_json: Json = False, debug: Debug = False) -> None:
    """List what can be fitted and compared."""
    from ..compare.methods import describe_methods

    rows = describe_methods()
    table = make_table(
        "",
        ("name", "optimises", "stream", "tuned by compare", "what it is", "paper"),
        [(r.name, r.family, "yes" if r.online else "", r.grid, r.summary, r.paper.partition("),")[0]) for r in rows],
    )
    console = Console(as_json=as_json)
    console.result({"methods": [row._asdict() for row in rows]}, table)


@app.command()
def inspect(
    model: ModelPath,
    top: Annotated[int, typer.Option(min=0, help="How many weights to show.")] = 20,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show what a model file holds."""
    from ..models.model_file import read_model
    from .training import largest_weights

    file = read_model(model)
    weights = largest_weights(file.model, file.notes.get("spreads"), top)
    values = describe_model(file) | {"size": model.stat().st_size, "weights": weights and dict(weights)}
    parameters = ", ".join(f"{name}={value!r}" for name, value in file.model.get_params(deep=False).items())
    entries = [
        ("file", f"{model}, {format_bytes(model.stat().st_size)}"),
        *list_entries(file),
        ("parameters", parameters),
    ]
    width = 2 + max(len(name) for name, _ in entries)
    lines = [f"{name:<{width}}{text}" for name, text in entries]
    shown: list[Any] = [*lines]
    if weights:
        what = "weight" if file.notes.get("spreads") is None else "weight times standard deviation"
        shown.append(make_table("", ("column", what), [(name, f"{w:.6g}") for name, w in weights], right=(1,)))
    Console(as_json=as_json).result(values, *shown)


@app.command()
def export(
    model: ModelPath,
    onnx: Annotated[Path, typer.Option(help="The ONNX file to write.")],
    force: Force = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a model in another format."""
    check_outputs({"--onnx": onnx}, force, [model])
    from ..models.model_file import read_model
    from ..models.onnx_export import export_onnx

    file = read_model(model)
    export_onnx(file.model, onnx)
    Console(quiet).note(f"wrote {onnx}")


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The report to write.", rich_help_panel=OUTPUT)] = Path(
        "aucmax-demo.html"
    ),
    jobs: Jobs = 1,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Find the eights among scanned digits, compare with scikit-learn's classifiers, and write a report."""
    check_outputs({"--output": output}, force, [])
    from .demo import METHODS, N_REPEATS, N_SPLITS, run_demo

    console = Console(quiet, as_json)
    with console.progress() as bar:
        on_progress = on_fit(bar, len(METHODS) * N_SPLITS * N_REPEATS)
        file, evaluation, scores, comparison = run_demo(jobs, on_progress)
    made = fit_report(file, "scikit-learn's digits", evaluation, scores, "test")
    write(output, made._replace(title="Which digit is an 8?", comparison=comparison))
    values = {"report": str(output), "test": headline(evaluation), "comparison": comparison.to_dict()}
    console.summary(values, *show_evaluation(file, evaluation), *show_comparison(comparison), *wrote(output))


# What the commands share


def split_names(text: str) -> list[str]:
    """Return the names of a list, parted by the commas outside of brackets."""
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise ValueError("--methods names no method; `aucmax algorithms` lists them.")
    return names


def streaming_note(source: Source, estimator: Any, resumed: bool) -> str:
    """Return what is to be said of a fit by blocks."""
    text = f"{source.name}: {format_bytes(source.size)}, read by blocks"
    if resumed:
        text += ", from the checkpoint on"
    if getattr(estimator, "loss", None) == "auto":
        text += "; the loss is the square"
    if hasattr(estimator, "shuffle"):
        text += "; rows are taken in the order of the file"
    return text


def write(path: Path, report: Report) -> None:
    """Write a report."""
    from ..report.html import write_report

    write_report(path, report)


def open_data(console: Console, file: ModelFile, path: str, **options: Any) -> Source:
    """Open rows for a model, and say so where columns cannot be found by their names."""
    from .training import open_for

    source = open_for(file, path, **options)
    if (file.notes.get("encoding") is None) != (source.encoding is None):
        which = "the model" if source.encoding is not None else source.name
        console.note(f"{source.name}: columns are taken in their order, since {which} has no names of columns")
    return source


def evaluate_file(
    console: Console, file: ModelFile, path: str, max_fpr: float = 0.1, **options: Any
) -> tuple[Evaluation, Any]:
    """Return the evaluation of a model on a file, and the scores of its negatives and positives."""
    from ..report.evaluation import evaluate
    from .training import naming, score_source

    source = open_data(console, file, path, with_target=True, **options)
    with console.progress() as bar, naming(source.name):
        scores, positive = score_source(file, source, on_block(bar, source))
        found = evaluate(positive, scores, max_fpr=max_fpr)
    return found, (scores[~positive], scores[positive])


def evaluate_training(training: Training) -> tuple[Evaluation, Any]:
    """Return the same for the training rows."""
    import numpy as np

    from ..report.evaluation import evaluate

    scores, positive = np.asarray(training.scores), np.asarray(training.positive)
    return evaluate(positive, scores), (scores[~positive], scores[positive])


def prediction_lines(
    file: ModelFile, source: Source, proba: bool, labels: bool, update: Callable[[str, Block], None]
) -> Iterator[str]:
    """Yield the lines of the output of predict, by blocks."""
    from .training import nameless

    yield ",".join(["score"] + ["probability"] * proba + ["label"] * labels) + "\n"
    with nameless():
        for block in source.blocks():
            scores = file.model.decision_function(block.X)
            columns = [scores.tolist()]
            if proba:
                columns.append(file.model.predict_proba(block.X)[:, 1].tolist())
            if labels:
                columns.append(file.model.classes_[(scores > 0).astype(int)].tolist())
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(zip(*columns, strict=True))
            yield text.getvalue()
            update("scoring", block)
