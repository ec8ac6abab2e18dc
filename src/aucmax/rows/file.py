"""Rows in a file that need not fit into memory.

The first pass determines the classes and the number of rows and columns, and computes what will be asked first
(`prefetch`). Every later method of the protocol takes one pass or more. Memory holds a block and the result, whatever
the number of rows.

A pass can be killed at any moment and resumed. A checkpoint holds the state of the pass, the position in the file and
the results of the earlier passes. A resumed fit computes everything else again from these. Blocks are always cut at the
same places, so a resumed fit gives bitwise the result of an uninterrupted one.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._text import parse_bytes
from ..files import Block, Path, Source, find_formats, open_source
from ..files.labels import Classes, Labels
from ..files.open_source import check_options
from ..models.checkpoint import Checkpoint
from .blocks.block import (
    CODES,
    Pass,
    RowBlock,
    Sizes,
    State,
    add_moments,
    add_statistics,
    empty_statistics,
    finish_statistics,
    widen,
)
from .blocks.rows import MEMORY, BlockedRows, moments_memory
from .machine import check_columns
from .protocol import Targets
from .summaries.moments import ClassMoments
from .validate import check_class_weights

# Bytes that Python, the libraries and the compiled loops take with hardly any rows: 320 MiB for logistic on CSV.
INTERPRETER = 330 << 20
# A block of text becomes a table, an array, rows of a class: it takes up to so many times its size.
BLOCK_SHARE, LARGEST_BLOCK, SMALLEST_BLOCK = 32, 32 << 20, 1 << 16
# With more columns, the first pass does not gather class moments: solvers then iterate on the rows.
MOST_COLUMNS, MOST_COLUMNS_SPARSE = 4096, 1024
# A checkpoint is written often, so it does not hold larger results of finished passes: a resumed fit makes these passes
# again.
KEPT_BYTES = 1 << 18
OnBlock = Callable[[str, Block], None]
DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(open_source).parameters.items()}


class Passes:
    """Passes over a source, in blocks of about `n_bytes` bytes of text.

    `command` describes the fit, in names and values that JSON can hold: a checkpoint of another fit is refused.
    `on_block` is called with the name of the pass and the block after each step.
    """

    def __init__(
        self, source: Source, n_bytes: int, checkpoint: Checkpoint | None, command: State, on_block: OnBlock | None
    ) -> None:
        self.source, self.n_bytes, self.checkpoint, self.on_block = source, n_bytes, checkpoint, on_block
        self.n_passes = 0
        self.command = {**command, "the size of the file": source.size}
        self._resumed: State = {}
        self._finished: State = {}

    def _resume(self) -> None:
        """Load the checkpoint before the first pass, when all of the command is known."""
        if self.checkpoint is not None:
            self._resumed = self.checkpoint.load({**self.command, "the size of a block": self.n_bytes}) or {}
            self._finished = dict(self._resumed.get("finished", {}))

    def run(
        self,
        name: str,
        state: State,
        step: Callable[[State, Block], None],
        again: Callable[[State], bool] = lambda state: False,
        keep: bool = True,
    ) -> State:
        """Update a state with all blocks, in place, in as many passes as `again` asks for; return the last state.

        If an earlier process finished this pass, the state comes from the checkpoint. With `keep`, checkpoints hold the
        result even if it is large.
        """
        if self.n_passes == 0:
            self._resume()
        number = str(self.n_passes)
        self.n_passes += 1
        if number in self._finished:
            return self._finished[number]
        start = 0
        if self._resumed.get("number") == number:
            state, start = self._resumed["state"], self._resumed["position"]
        while True:
            for block in self.source.blocks(self.n_bytes, start):
                step(state, block)
                if self.on_block is not None:
                    self.on_block(name, block)
                if self.checkpoint is not None and self.checkpoint.due():
                    position = {"number": number, "state": state, "position": block.position}
                    self.checkpoint.save({"finished": self._finished, **position})
            start = 0
            if not again(state):
                break
        if self.checkpoint is not None and (keep or bytes_in(state) <= KEPT_BYTES):
            self._finished[number] = state
        return state


def bytes_in(value: Any) -> int:
    """Return the size of the arrays in a value."""
    if isinstance(value, dict):
        return sum(map(bytes_in, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(bytes_in, value))
    return int(getattr(value, "nbytes", 0))


class FileRows(BlockedRows):
    """The rows of a file, from the passes over its blocks.

    `positive` is the positive label; all other labels are then negative. By default there must be two labels, and the
    larger is positive. `memory` is about how many bytes may be used in addition to the interpreter's.
    """

    def __init__(self, passes: Passes, positive: str | None = None, memory: float = MEMORY) -> None:
        self.passes, self.positive, self.memory = passes, positive, memory
        self.is_sparse, self.feature_names = passes.source.sparse, passes.source.feature_names
        self.reading = passes.source.reading
        self._expected: State = {"moments": False, "columns": False, "values": None}  # from the first pass
        self._file: Any = None

    def __enter__(self) -> FileRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, *where: Any) -> None:
        if kind is None:
            self.finish()

    def finish(self) -> None:
        if self.passes.checkpoint is not None:
            self.passes.checkpoint.remove()

    def as_table(self) -> Self:
        """Return the rows of a table with its numbers and codes of levels, before the first pass."""
        changed = self.passes.source.change_output("levels")
        return type(self)(self.passes, self.positive, self.memory) if changed else self

    def prefetch(
        self, fit: Mapping[str, str], moments: bool = False, columns: bool = False, values: Any = None
    ) -> None:
        self.passes.command |= fit
        self._expected = {"moments": moments, "columns": columns, "values": values}

    def gather(self, name: str, *how: Any) -> State:
        """Return a summary of the values of all rows; the first pass may have it."""
        known = self._first["values"]
        return super().gather(name, *how) if name != "values" or known is None else known

    def put_away(self, array: np.ndarray) -> np.ndarray:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, self._file.close)
        start = self._file.seek(0, 2)
        array.tofile(self._file)
        self._file.flush()
        return np.memmap(self._file, array.dtype, "r", start, array.shape) if array.size else array

    # The first pass

    @cached_property
    def _first(self) -> State:
        """The state at the end of the first pass, with the negative class first."""
        source, expected = self.passes.source, self._expected

        def step(state: State, block: Block) -> None:
            labels = Labels(source.name, self.positive, state["found"])
            codes = labels.observe(np.asarray(block.y))
            width = max(state["n_features"], block.features.shape[1], 1)
            check_columns(width)
            taken = RowBlock(widen(block.features, width), Targets(codes, block.weight, np.ones(2), block.group))
            self._answer(state, taken, width)
            state["found"], state["n_features"] = labels.found, width
            state["sizes"] = list(Sizes(*state["sizes"]).add(taken))

        start: State = {
            "found": [],
            "n_features": source.n_features or 0,
            "sizes": list(Sizes.none()),
            "moments": ClassMoments(0, CODES) if expected["moments"] else None,
            "columns": empty_statistics(0) if expected["columns"] else None,
            "values": expected["values"].empty() if expected["values"] is not None else None,
        }
        with np.errstate(over="ignore", invalid="ignore"):  # the results are checked when they are used
            state = self.passes.run("first pass", start, step)
        labels, swapped = Labels(source.name, self.positive, state["found"]).classes()
        sizes, turn = Sizes(*state["sizes"]), -1 if swapped else 1
        check_class_weights(sizes.totals[::turn], labels.array())
        sizes = sizes._replace(counts=sizes.counts[::turn], totals=sizes.totals[::turn])
        return {**state, "sizes": sizes, "labels": labels, "swapped": swapped}

    def _answer(self, state: State, block: RowBlock, width: int) -> None:
        """Add a block to what will be asked first. The moments are dropped if there are too many columns."""
        if state["moments"] is not None:
            most = MOST_COLUMNS_SPARSE if self.is_sparse else MOST_COLUMNS
            if width > most or moments_memory(width) > self.memory / 2:
                state["moments"] = None
                return
            state["moments"] = state["moments"].widened(width)
            add_moments(state["moments"], block)
        if state["columns"] is not None:
            add_statistics(state["columns"], block)
        if state["values"] is not None:
            self._expected["values"].add(state["values"], block.X, block.targets)

    # Sizes

    @property
    def labels(self) -> Classes:
        return self._first["labels"]

    @property
    def classes(self) -> np.ndarray:
        return self.labels.array()

    @property
    def n_features(self) -> int:
        return self._first["n_features"]

    @property
    def _sizes(self) -> Sizes:
        return self._first["sizes"]

    def _turned(self, by_class: np.ndarray) -> np.ndarray:
        return by_class[:: -1 if self._first["swapped"] else 1]

    def spreads(self) -> np.ndarray:
        return super().spreads() if self._first["moments"] is None else self.moments().std()

    # What the first pass may have computed

    def moments(self) -> ClassMoments:
        known = self._first["moments"]
        return super().moments() if known is None else known.relabelled(self.classes, self._first["swapped"])

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        if self._first["columns"] is None:
            return super().column_statistics()
        means, variances = finish_statistics(self._first["columns"])
        return self._turned(means), self._turned(variances)

    # Later passes

    def _read(self, task: Pass) -> State:
        n_features, labels, totals, source = self.n_features, self.labels, self.totals, self.passes.source

        def taken(state: State, block: Block) -> None:
            positive = labels.mask(np.asarray(block.y), source.name)
            targets = Targets(positive, block.weight, totals, block.group)
            task.step(state, RowBlock(widen(block.features, n_features), targets))

        return self.passes.run(task.name, task.begin(0), taken, task.again, task.keep)


def rows_of(
    source: Source,
    *,
    positive: str | None = None,
    memory: int = MEMORY,
    checkpoint: Checkpoint | None = None,
    command: Mapping[str, Any] | None = None,
    on_block: OnBlock | None = None,
) -> FileRows:
    """Return the rows of a source, which are read block by block.

    `memory` is about how many bytes the process may use. `command` describes the fit: a checkpoint of another fit is
    refused. `on_block` is called with the name of the pass and the block after each step.
    """
    available = max(memory - INTERPRETER, memory / 8)
    n_bytes = int(np.clip(available / BLOCK_SHARE, SMALLEST_BLOCK, LARGEST_BLOCK))
    about = {
        "the digest of the file": source.digest() if checkpoint is not None else "",
        "the format": source.format,
        "the target": source.target,
        "the column of weights": source.weight,
        "the column of groups": source.group,
        "the names of the columns": source.feature_names,
        "the positive label": positive,
        "the memory": memory,
        **(command or {}),
    }
    return FileRows(Passes(source, n_bytes, checkpoint, about, on_block), positive, available)


def open_rows(
    path: Path | Sequence[Path],
    *,
    positive: str | None = None,
    memory: int | str = MEMORY,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = 30.0,
    **options: Any,
) -> FileRows:
    """Open a file of any size as rows for `fit_rows`.

    Every loss, penalty, path and cross-validation gives the weights that it gives in memory. A fit reads the file
    several times. Its memory does not grow with the number of rows, with two exceptions. The hinges keep about 120
    bytes for each row of the rarer class, and a fit that has not enough memory for them is refused. `TableClassifier`
    keeps about 20 bytes for each row, and the codes of its columns in a temporary file.

    Parameters
    ----------
    path : path-like or list of paths
        The file: LIBSVM text, CSV, Parquet or ``.npz``; or several with the same columns, which a pattern such as
        ``"part-*.csv"`` may stand for.
    positive : str, default=None
        The positive label; all others are negative then. By default there must be two, and the larger is positive.
    memory : int or str, default=2 GiB
        About how many bytes the process may use, such as ``"2GB"`` or ``"500 MiB"``.
    checkpoint : path-like, default=None
        A file that a fit resumes from after an interruption. Used as ``with open_rows(...) as rows:``, it is removed
        when the fit is done. The checkpoint of another fit is refused.
    checkpoint_every : float, default=30
        Seconds between two checkpoints.
    **options
        Options of :func:`aucmax.files.open_source`: the format, and the columns of labels, weights and groups. One that
        the format of the file does not use is an error.

    Returns
    -------
    rows : FileRows
        The rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import dump_svmlight_file, load_breast_cancer
    >>> from aucmax import AUCClassifier, open_rows
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "train.libsvm"
    ...     dump_svmlight_file(X, y, str(path), zero_based=False)
    ...     clf = AUCClassifier().fit_rows(open_rows(path))
    >>> round(clf.score(X, y), 3)
    0.997
    """
    n_bytes = parse_bytes(memory)
    given = {name: value for name, value in options.items() if value not in (DEFAULTS.get(name), None, (), [])}
    check_options(given, find_formats(path, options.get("format")))
    source = open_source(path, **{"with_target": True, **options})
    check_options(given, [source.format])  # the format of standard input is known only now
    kept = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_every)
    command = {name: str(value) for name, value in options.items()}
    return rows_of(source, positive=positive, memory=n_bytes, checkpoint=kept, command=command)
