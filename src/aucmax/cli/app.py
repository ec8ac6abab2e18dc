"""The application: which commands there are, and how errors and warnings are said.

An error that users can correct ends with exit status 2 and one line on standard error, or one for each column of a file
whose cells cannot be used; any other error with status 1.
--debug also shows the traceback. Results go to standard output, as JSON with --json; notes and progress go to standard
error. Commands import what is heavy when they run, so that `aucmax --help` is fast.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from .. import __version__
from .commands.algorithms import algorithms
from .commands.compare import compare
from .commands.demo import demo
from .commands.evaluate import evaluate
from .commands.export import export
from .commands.fit import fit
from .commands.inspect import inspect
from .commands.predict import predict
from .commands.reproduce import reproduce
from .errors import describe_error, name_flags

app = typer.Typer(
    name="aucmax",
    help="Train linear classifiers that maximise the area under the ROC curve, and use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
app.command(epilog="Example: aucmax fit train.csv --target label --test test.csv --report report.html -o model.st")(fit)
app.command(epilog="Example: aucmax predict model.st new.csv --proba -o scores.csv")(predict)
app.command(epilog="Example: aucmax evaluate model.st test.csv --report report.html")(evaluate)
app.command(epilog="Example: aucmax compare data.csv --target label --methods 'AUCClassifier, OPAUC(alpha=0.1)'")(
    compare
)
app.command()(reproduce)
app.command()(algorithms)
app.command()(inspect)
app.command()(export)
app.command()(demo)

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    group: Any = typer.main.get_command(app)
    command = group.commands.get(next((argument for argument in arguments if not argument.startswith("-")), ""))
    translate = partial(name_flags, command=command, arguments=arguments)
    warnings.showwarning = partial(show_warning, translate)
    try:
        status = group(arguments, prog_name="aucmax", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:
            status = say(KeyboardInterrupt(), translate)
    except SystemExit:  # raised by Rich when the reader of our output has closed the pipe
        status = 0
    except BaseException as error:
        if "--debug" in arguments:
            traceback.print_exc()
        status = say(error, translate)
    sys.exit(status or 0)


def prepare_streams() -> None:
    """Make sure that standard output and standard error exist, and accept every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(error: BaseException, translate: Callable[[str], str]) -> int:
    """Write one line about an error to standard error, or one for each column of a file; return the exit status."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        text, status = "interrupted.", INTERRUPTED
    elif hasattr(error, "format_message"):  # about the options; empty if the command is missing, which shows the help
        text, status = error.format_message(), 2
    elif len(lines := getattr(error, "lines", ())) > 1:  # of a `FileProblems` error
        sys.stderr.write(f"aucmax: {getattr(error, 'name', '')} has problems in {len(lines)} columns:\n")
        sys.stderr.writelines(f"  {' '.join(translate(line).split())}\n" for line in lines)
        text, status = "", 2
    elif isinstance(error, ValueError | OSError | ImportError | MemoryError):
        text, status = translate(describe_error(error)), 2
    else:
        text, status = f"unexpected {type(error).__name__}: {error} (--debug shows where).", 1
    if text:
        sys.stderr.write(f"aucmax: {' '.join(text.split())}\n")
    return status


def show_warning(translate: Callable[[str], str], message: Warning | str, *where: Any) -> None:
    """Write one line about a warning to standard error, without its place in the source."""
    sys.stderr.write(f"aucmax: warning: {' '.join(translate(str(message)).split())}\n")


def show_version(value: bool) -> None:
    """Print the version and exit."""
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
