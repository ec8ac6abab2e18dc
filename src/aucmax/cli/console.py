"""What the command line says and where: results on standard output, everything else on standard error."""

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

if TYPE_CHECKING:
    from ..compare.comparison import Fit
    from ..files import Block, Source

PATIENCE = 1.0  # seconds: what is done by then shows no progress
WIDE = 200  # columns, where no terminal says how many


class Console:
    """Standard output and standard error of one command.

    Parameters
    ----------
    quiet : bool
        Whether notes and progress are left out.
    as_json : bool
        Whether the result is one JSON object.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.out = RichConsole(highlight=False)
        self.err = RichConsole(stderr=True, highlight=False)
        if not self.out.is_terminal:
            self.out.width = WIDE

    def note(self, text: str) -> None:
        """Say something on standard error."""
        if not self.quiet:
            self.err.print(text, markup=False, soft_wrap=True)

    def result(self, values: dict[str, Any], *shown: Any) -> None:
        """Print a result: as JSON, or what is to be shown, texts and tables."""
        if self.as_json:
            sys.stdout.write(json.dumps(values, indent=2, allow_nan=False) + "\n")
            return
        for item in shown:
            self.out.print(item, markup=False, soft_wrap=isinstance(item, str))

    def summary(self, values: dict[str, Any], *shown: Any) -> None:
        """Print what a command has to tell besides the file it wrote; nothing if it is to be quiet."""
        if self.as_json or not self.quiet:
            self.result(values, *shown)

    @contextmanager
    def progress(self) -> Iterator[Bar]:
        """Show a bar on a terminal, if it takes longer than a second."""
        bar = Bar(self.err, enabled=self.err.is_terminal and not self.quiet)
        try:
            yield bar
        finally:
            bar.stop()


class Bar:
    """A progress bar that appears when a second has passed: what is being done, how far it is, time left."""

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
        """Say what is being done and how far it is; a total of None is not known."""
        self.progress.update(self.task, description=name, completed=completed, total=total, amount=amount)

    def stop(self) -> None:
        """Take the bar away."""
        self.timer.cancel()
        self.progress.stop()


class FitProgress:
    """A callback of scikit-learn's that moves a bar on after each step of a fit."""

    def __init__(self, bar: Bar) -> None:
        self.bar, self.count = bar, 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit."""
        self.bar.update("fitting", 0, None)

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Do nothing: a step counts when it is done."""

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        """Count a step of the fit."""
        if context.parent is not None and context.parent.parent is None:
            self.count += 1
            total = context.parent.max_subtasks
            self.bar.update("fitting", self.count, total, f"{self.count} of {total} steps")

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit."""


def on_block(bar: Bar, source: Source) -> Callable[[str, Block], None]:
    """Return what moves a bar on after each block."""
    counts: dict[str, int] = {}

    def update(name: str, block: Block) -> None:
        counts[name] = counts.get(name, 0) + block.X.shape[0]
        done = min(block.n_read, source.size)
        amount = f"{counts[name]:,} rows, {format_bytes(done)} of {format_bytes(source.size)}"
        bar.update(name, done, source.size, amount)

    return update


def on_fit(bar: Bar, total: int) -> Callable[[Fit], None]:
    """Return what moves a bar on after each fit of a comparison."""
    numbers = itertools.count(1)

    def update(fit: Fit) -> None:
        number = next(numbers)
        bar.update("comparing", number, total, f"{number:,} of {total:,} fits, {fit.method}")

    return update


def make_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Table:
    """Return a table; the columns numbered in `right` hold numbers."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def format_bytes(n: float) -> str:
    """Return a number of bytes as people say it.

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


def parse_bytes(text: str) -> int:
    """Return the number of bytes that a text such as 2GB or 500 MiB means.

    Examples
    --------
    >>> from aucmax.cli.console import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes("300000")
    (2000000000, 1610612736, 300000)
    """
    units = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12}
    units |= {"tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
    number = text.strip().rstrip("bBkKmMgGtTiI ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        n = float(number) * units[unit]
        if not 0 < n < 1 << 60:
            raise ValueError
    except (KeyError, ValueError):
        raise ValueError(f"--memory takes a size such as 2GB or 500MB, got {text!r}.") from None
    return int(n)
