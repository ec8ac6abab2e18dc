"""What a command prints: results to standard output, notes and progress to standard error."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console as RichConsole
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from .._text import printable

if TYPE_CHECKING:
    from ..compare.comparison import SplitResult
    from ..files import Block, Source

PATIENCE = 1.0  # seconds before a progress bar is shown
WIDTH = 200  # characters of a line if standard output is not a terminal


class Console:
    """What one command prints; `quiet` leaves out notes and progress, `as_json` makes the result one JSON object."""

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.out = RichConsole(highlight=False)
        self.err = RichConsole(stderr=True, highlight=False)
        if not self.out.is_terminal:
            self.out.width = WIDTH

    def note(self, text: str) -> None:
        """Print a note to standard error, unless the command is quiet."""
        if not self.quiet:
            self.err.print(printable(text), markup=False, soft_wrap=True)

    def result(self, values: dict[str, Any], *shown: Any) -> None:
        """Print a result: `values` as JSON, or else the texts and tables `shown`."""
        if self.as_json:
            sys.stdout.write(json.dumps(values, indent=2, allow_nan=False) + "\n")
            return
        for item in shown:
            shown_item = printable(item) if isinstance(item, str) else item
            self.out.print(shown_item, markup=False, soft_wrap=isinstance(item, str))

    def summary(self, values: dict[str, Any], *shown: Any) -> None:
        """Print the result of a command that also writes a file; a quiet command prints it as JSON only."""
        if self.as_json or not self.quiet:
            self.result(values, *shown)

    @contextmanager
    def progress(self) -> Iterator[Bar]:
        """Show a bar on a terminal as soon as the work takes longer than a second."""
        bar = Bar(self.err, enabled=self.err.is_terminal and not self.quiet)
        try:
            yield bar
        finally:
            bar.stop()


class Bar:
    """A progress bar that appears after a second, with the name of the work, its progress and the time left."""

    def __init__(self, console: RichConsole, enabled: bool) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[amount]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not enabled,
        )
        self.task = self.progress.add_task("", total=None, amount="")
        self.timer = threading.Timer(PATIENCE, self.progress.start)
        self.timer.daemon = True
        if enabled:
            self.timer.start()

    def update(self, name: str, completed: float, total: float | None, amount: str = "") -> None:
        """Set the name of the work and its progress; `total` is None if it is not known."""
        self.progress.update(self.task, description=name, completed=completed, total=total, amount=amount)

    def stop(self) -> None:
        """Remove the bar."""
        self.timer.cancel()
        if self.progress.live.is_started:
            self.progress.stop()


class FitProgress:
    """A scikit-learn callback that advances a bar after each step of a fit."""

    def __init__(self, bar: Bar) -> None:
        self.bar, self.count = bar, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self.bar.update("fitting", 0, None)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: a step is counted when it ends."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a step of the fit."""
        if context.parent is not None and context.parent.parent is None:
            self.count += 1
            total = context.parent.max_subtasks
            self.bar.update("fitting", self.count, total, f"{self.count} of {total} steps")

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""


def format_bytes(n: float) -> str:
    """Return a number of bytes as text.

    Examples
    --------
    >>> from aucmax.cli.console import format_bytes
    >>> format_bytes(2_500_000)
    '2.5 MB'
    """
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while n >= 1000 and len(units) > 1:
        n, units = n / 1000, units[1:]
    return f"{n:.3g} {units[0]}"


def on_block(bar: Bar, source: Source) -> Callable[[str, Block], None]:
    """Return a function that advances a bar after each block."""
    counts: dict[str, int] = {}

    def update(name: str, block: Block) -> None:
        counts[name] = counts.get(name, 0) + block.features.shape[0]
        done = min(block.n_read, source.size)
        amount = f"{counts[name]:,} rows, {format_bytes(done)} of {format_bytes(source.size)}"
        bar.update(name, done, source.size, amount)

    return update


def on_fit(bar: Bar, total: int) -> Callable[[SplitResult], None]:
    """Return a function that advances a bar after each fit of a comparison."""
    numbers = itertools.count(1)

    def update(fit: SplitResult) -> None:
        number = next(numbers)
        bar.update("comparing", number, total, f"{number:,} of {total:,} fits, {fit.method}")

    return update


def make_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    """Return a table; the columns with the numbers `right` are aligned to the right."""
    table = Table(title=Text(printable(title)), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(header):
        table.add_column(Text(printable(name)), justify="right" if k in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
