"""The application: which commands there are, and how errors and warnings are shown.

An error that users can correct ends with exit status 2 and one line on standard error, or one for each column of a file
whose cells cannot be used; any other error ends with status 1. SIGINT, SIGTERM and SIGHUP end a command as an error
does, so that nothing half-written stays behind, with status 128 plus their number. --debug also shows the traceback.
Results go to standard output, as JSON with --json; notes and progress go to standard error. A command
is imported when it runs, so that `aucmax --help` is fast.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from .. import __version__
from .._text import printable
from .errors import describe_error


class CommandInfo(NamedTuple):
    """A command: where its function is, a line of help, and an example."""

    home: str  # "module:function", as an entry point has it
    help: str | None
    example: str | None = None


HELP: dict[str, tuple[str, str | None]] = {  # a line of help, and an example
    "fit": (
        "Fit a model to the rows of a file, or of several, and write it.",
        "aucmax fit train.csv --target label --test test.csv --report report.html -o model.st",
    ),
    "predict": (
        "Write the scores of the rows of a file: the larger, the more likely the class in the header.",
        "aucmax predict model.st new.csv --proba -o scores.csv",
    ),
    "evaluate": (
        "Measure a model on labelled rows: AUC with its interval, thresholds, gains, calibration, and rates by group.",
        "aucmax evaluate model.st test.csv --report report.html",
    ),
    "monitor": (
        "Compare new rows with the training rows of a model: exit status 0 if they are stable, 3 if they have drifted.",
        "aucmax monitor model.st new.csv --report drift.html",
    ),
    "compare": (
        "Compare methods as the papers do: repeated stratified folds, each method tuned on the training part, t-tests.",
        "aucmax compare data.csv --target label --methods 'AUCClassifier, OPAUC(alpha=0.1)'",
    ),
    "algorithms": ("List what can be fitted and compared.", None),
    "inspect": ("Show what a model file holds, or how the columns of a table are read.", None),
    "export": ("Write a model in another format: ONNX, SQL or Python.", None),
    "scorecard": (
        "Show a model of a table as a scorecard, and write it as a table, as SQL or as Python.",
        "aucmax scorecard model.st --base-odds 50 -o card.sql",
    ),
    "demo": (
        "Find the eights among scanned digits, compare with scikit-learn's classifiers, and write a report.",
        None,
    ),
}
COMMANDS = {name: CommandInfo(f"aucmax.cli.commands.{name}:{name}", *texts) for name, texts in HELP.items()}

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
INTERRUPTED = 128 + signal.SIGINT
PATIENCE = 1.0  # seconds after a signal in which others are ignored
SWALLOWED = 0.01  # seconds until a signal that Python has swallowed comes again
# Signals that end a process, besides SIGINT, and what a command says about them.
ENDING = {
    getattr(signal, name): text
    for name, text in (("SIGTERM", "terminated."), ("SIGHUP", "the terminal was closed."))
    if hasattr(signal, name)
}


class Signalled(BaseException):
    """A signal that ends the command; its number is the argument."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    prepare_streams()
    group = make_group()
    group.running = None
    warnings.showwarning = partial(show_warning, set())
    with Signals() as signals:
        try:
            if has_limit():
                importlib.import_module("aucmax.rows.machine").reserve_blas()
            status = group(arguments, prog_name="aucmax", standalone_mode=False)
            signals.active = False
            sys.stdout.flush()
            if status == INTERRUPTED:
                status = say(KeyboardInterrupt())
        except SystemExit:  # raised by Rich when the reader of our output has closed the pipe
            status = 0
        except BaseException as error:
            signals.active = False
            if "--debug" in arguments:
                sys.stderr.write(printable(traceback.format_exc()))
            # Modules that are being imported turn the exception of a signal into one of their own.
            status = say(error_of(signals.first) if signals.first else error, group.running)
    sys.exit(status or 0)


def has_limit() -> bool:
    """Return whether this process may take only so much address space, as after `ulimit -v`."""
    with suppress(ImportError):  # on Windows
        import resource

        return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    return False


def error_of(number: int) -> BaseException:
    """Return the exception that stands for a signal."""
    return KeyboardInterrupt() if number == signal.SIGINT else Signalled(number)


class Signals:
    """Raises an exception for signals that end a process, so that what is cleaned up after an error is after these too.

    A terminal that is closed, or a user in a hurry, sends several. Those that follow within a second are ignored, so
    that they do not interrupt the cleaning up; later ones are not, in case that the exception was caught on its way.
    Python itself swallows exceptions in finalizers and in callbacks of its imports; the signal then comes again.
    """

    def __init__(self) -> None:
        self.first = 0  # the number of the first signal
        self.active = True  # whether a signal raises an exception; False when the command has ended
        self._raised = -PATIENCE
        self._before: dict[int, Any] = {}
        self._hook: Callable[[Any], Any] = sys.unraisablehook

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():  # others cannot handle signals
            # One that is ignored, as nohup does with SIGHUP, stays so.
            usual = (signal.SIG_DFL, signal.default_int_handler)
            handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING)}
            self._before = {number: handler for number, handler in handlers.items() if handler in usual}
            for number in self._before:
                signal.signal(number, self._end)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._come_again
        return self

    def __exit__(self, *error: Any) -> None:
        sys.unraisablehook = self._hook
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _come_again(self, swallowed: Any) -> None:
        error = swallowed.exc_value
        if not isinstance(error, Signalled | KeyboardInterrupt):
            self._hook(swallowed)
            return
        self._raised = -PATIENCE
        number = error.args[0] if isinstance(error, Signalled) else signal.SIGINT
        again = threading.Timer(SWALLOWED, signal.raise_signal, [number])  # here, it would be swallowed again
        again.daemon = True
        again.start()

    def _end(self, number: int, frame: Any) -> None:
        self.first, now = self.first or number, time.monotonic()
        if self.active and now - self._raised >= PATIENCE:
            self._raised = now
            raise error_of(number)


def prepare_streams() -> None:
    """Make sure that standard output and standard error exist, and accept every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def say(error: BaseException, command: Any = None) -> int:
    """Write one line about an error to standard error, or one for each column of a file; return the exit status."""
    if isinstance(error, BrokenPipeError):  # the reader of our output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, Signalled):
        text, status = ENDING[error.args[0]], 128 + error.args[0]
    elif isinstance(error, KeyboardInterrupt | typer.Abort):
        text, status = "interrupted.", INTERRUPTED
    elif hasattr(error, "format_message"):  # about the options; empty if the command is missing, which shows the help
        text, status = error.format_message(), 2
    elif len(lines := getattr(error, "lines", ())) > 1:  # of a `FileProblems` error
        head = f"{getattr(error, 'name', '')} has problems in {getattr(error, 'where', '')}:"
        shown = [f"aucmax: {' '.join(head.split())}", *(f"  {' '.join(line.split())}" for line in lines)]
        sys.stderr.writelines(f"{printable(line)}\n" for line in shown)
        text, status = "", 2
    elif isinstance(error, ValueError | OSError | ImportError | MemoryError):
        text, status = describe_error(error, command), 2
    else:
        text, status = f"unexpected {type(error).__name__}: {error} (--debug shows where).", 1
    if text:
        sys.stderr.write(f"aucmax: {printable(' '.join(text.split()))}\n")
    return status


def show_warning(shown: set[str], message: Warning | str, *where: Any) -> None:
    """Write one line about a warning to standard error, without its place in the source, unless it was shown before."""
    line = f"aucmax: warning: {printable(' '.join(str(message).split()))}\n"
    if line not in shown:
        shown.add(line)
        sys.stderr.write(line)


def show_version(value: bool) -> None:
    """Print the version and exit."""
    if value:
        print(f"aucmax {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train linear classifiers that maximise the area under the ROC curve, and use them."""


class _InWords:
    """Empties what the help says of the values of flags, and shows arguments by their names alone."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
            elif isinstance(parameter, TyperArgument):
                _show_name(parameter)
        return parameters


def _show_name(argument: Any) -> None:
    """Let the help show an argument by its name alone."""
    name = argument.metavar if argument.required else f"[{argument.metavar}]"
    argument.get_usage_pieces = lambda ctx: [name]
    argument.display_type_rich = lambda ctx: None
    if hasattr(argument, "type"):  # older releases of Typer show the name of the type
        argument.type.name = argument.metavar


class Command(_InWords, TyperCommand):
    """A command."""


class Commands(_InWords, TyperGroup):
    """The command that has all others: it lists them without importing them, and imports the one that runs."""

    running: Any = None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of the command that the arguments name, the command, and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            self.running = command = load_command(name)
        return name, command, rest


def list_commands() -> dict[str, CommandInfo]:
    """Return the commands of this package, and the entry points of other packages in the group aucmax.commands."""
    found = dict(COMMANDS)
    for entry in importlib.metadata.entry_points(group="aucmax.commands"):
        found[entry.name] = CommandInfo(entry.value, entry.dist.metadata["Summary"] if entry.dist else None)
    return found


def load_command(name: str) -> Any:
    """Import the module of a command; return the command with its parameters."""
    info = list_commands()[name]
    alone = typer.Typer(add_completion=False, context_settings=CONTEXT)
    function = importlib.metadata.EntryPoint(name, info.home, "aucmax.commands").load()
    alone.command(name, cls=Command, epilog=info.example and f"Example: {info.example}")(function)
    return typer.main.get_command(alone)


@functools.cache
def make_group() -> Any:
    """Return the group of all commands, which have their names and lines of help only."""
    app = typer.Typer(
        name="aucmax",
        cls=Commands,
        callback=common,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
    )
    for name, info in list_commands().items():
        app.command(name, help=info.help)(lambda: None)
    return typer.main.get_command(app)
