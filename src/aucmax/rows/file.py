"""Rows in a file that need not fit into memory.

The first pass determines the classes and the number of rows and columns. It also computes what will be asked first
(`prefetch`), and keeps the rows of the rarer class as long as they take little memory. Every later method of the
protocol takes one pass or more. Memory holds a block and the result, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..files import Block, Source
from ..files.labels import Classes, Labels
from .blocks.block import (
    CODES,
    DealtFolds,
    RareRows,
    RowBlock,
    Sizes,
    add_moments,
    add_statistics,
    empty_statistics,
    finish_statistics,
    widen,
)
from .blocks.passes import Checkpoint, Pass, Passes, State, bytes_in
from .blocks.rows import KEPT_SHARE, MEMORY, BlockedRows, moments_memory, stack
from .machine import check_columns
from .protocol import Round, Targets
from .summaries.moments import ClassMoments
from .validate import check_class_weights

# Bytes that Python, the libraries and the compiled loops take with hardly any rows: 320 MiB for logistic on CSV.
INTERPRETER = 330 << 20
# A block of text becomes a table, an array, rows of a class: it takes up to so many times its size.
BLOCK_SHARE, LARGEST_BLOCK, SMALLEST_BLOCK = 32, 32 << 20, 1 << 16
# With more columns, the first pass does not gather class moments: solvers then iterate on the rows.
MOST_COLUMNS, MOST_COLUMNS_SPARSE = 4096, 1024


class Expected(NamedTuple):
    """What the first pass computes in addition to the shape."""

    n_folds: int | None = None  # folds whose class moments it gathers; 1: all rows together; None: no moments
    columns: bool = False  # whether it gathers the statistics of the columns


class FileRows(BlockedRows):
    """The rows of a file, from the passes over its blocks.

    `positive` is the positive label; all other labels are then negative. By default there must be two labels, and the
    larger is positive. `memory` is about how many bytes may be used in addition to the interpreter's.
    """

    def __init__(self, passes: Passes, positive: str | None = None, memory: float = MEMORY) -> None:
        self.passes, self.positive, self.memory = passes, positive, memory
        self.is_sparse, self.feature_names = passes.source.sparse, passes.source.feature_names
        self.has_groups, self.categorical = passes.source.group is not None, passes.source.categorical
        self._expected = Expected()

    def __enter__(self) -> FileRows:
        return self

    def __exit__(self, kind: type[BaseException] | None, *where: Any) -> None:
        if kind is None:
            self.finish()

    def finish(self) -> None:
        """Remove the checkpoint, since the fit is done."""
        if self.passes.checkpoint is not None:
            self.passes.checkpoint.remove()

    def prefetch(self, fit: Mapping[str, str], n_folds: int | None = None, columns: bool = False) -> None:
        """Tell what is fitted, and what will be asked first; the first pass answers it."""
        self.passes.command |= fit
        self._expected = Expected(n_folds, columns)

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
            sizes = Sizes(*state["sizes"])
            taken.start, taken.seen = sizes.n_rows, sizes.counts
            self._answer(state, taken, width, expected)
            for c, members in enumerate((~codes & taken.targets.usable, codes & taken.targets.usable)):
                self._keep(state["kept"], c, taken, np.flatnonzero(members))
            state["found"], state["n_features"], state["sizes"] = labels.found, width, list(sizes.add(taken))

        start: State = {
            "found": [],
            "n_features": source.n_features or 0,
            "sizes": list(Sizes.none()),
            "parts": [] if expected.n_folds else None,
            "columns": empty_statistics(0) if expected.columns else None,
            "kept": [[], []],
        }
        with np.errstate(over="ignore", invalid="ignore"):  # the results are checked when they are used
            state = self.passes.run("first pass", start, step)
        labels, swapped = Labels(source.name, self.positive, state["found"]).classes()
        sizes, turn = Sizes(*state["sizes"]), -1 if swapped else 1
        check_class_weights(sizes.totals[::turn], labels.array())
        rare = int(np.argmin(sizes.counts))
        if "rare" not in state:  # checkpoints keep only the rarer class from here on
            kept = state.pop("kept")[rare]
            state["rare"] = None if kept is None else [self._join(list(parts)) for parts in zip(*kept, strict=True)]
        sizes = sizes._replace(counts=sizes.counts[::turn], totals=sizes.totals[::turn])
        return {**state, "sizes": sizes, "labels": labels, "swapped": swapped, "rare_is_positive": bool(rare) ^ swapped}

    def _answer(self, state: State, block: RowBlock, width: int, expected: Expected) -> None:
        """Add a block to what will be asked first. The moments are dropped if there are too many columns."""
        if state["parts"] is not None:
            n_parts = int(expected.n_folds or 1)
            most = MOST_COLUMNS_SPARSE if self.is_sparse else MOST_COLUMNS
            if width > most or moments_memory(width, n_parts) > self.memory / 2:
                state["parts"] = None
                return
            parts = state["parts"] or [ClassMoments(width, CODES) for _ in range(n_parts)]
            state["parts"] = [part.widened(width) for part in parts]
            add_moments(state["parts"], block, DealtFolds(self, n_parts, 0).folds(block))
        if state["columns"] is not None:
            add_statistics(state["columns"], block)

    def _keep(self, kept: list[Any], c: int, block: RowBlock, members: np.ndarray) -> None:
        """Keep the rows of a class, or drop all of them once they take too much memory."""
        if kept[c] is not None and len(members):
            weights = block.targets.sample_weight
            kept[c].append([block.X[members], None if weights is None else weights[members], block.numbers[members]])
            if sum(map(bytes_of_rows, kept[c])) > self.memory / KEPT_SHARE:
                kept[c] = None

    def _join(self, parts: list[Any]) -> Any:
        if parts[0] is None:
            return None
        if parts[0].ndim == 1:
            return np.concatenate(parts)
        width = max(part.shape[1] for part in parts)
        return stack([widen(part, width) for part in parts])

    # Sizes

    @property
    def labels(self) -> Classes:
        """The labels of the two classes."""
        return self._first["labels"]

    @property
    def classes(self) -> np.ndarray:
        """The negative and the positive label."""
        return self.labels.array()

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._first["n_features"]

    @property
    def _sizes(self) -> Sizes:
        return self._first["sizes"]

    def _turned(self, by_class: np.ndarray) -> np.ndarray:
        return by_class[:: -1 if self._first["swapped"] else 1]

    def rare_rows(self) -> RowBlock | None:
        """Return the rows of the rarer class with a weight above 0 if they fitted into memory, else None."""
        if self._first["rare"] is None:
            return None
        X, weights, numbers = self._first["rare"]
        positive = np.full(len(numbers), self._first["rare_is_positive"])
        return RareRows(widen(X, self.n_features), Targets(positive, weights, self.totals), numbers)

    def spreads(self) -> np.ndarray:
        """Return the standard deviation of each column, 1 for constant ones."""
        return super().spreads() if self._first["parts"] is None else self.moments().std()

    # What the first pass may have computed

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""
        parts = self._first["parts"]
        if parts is None:
            return super().moments()
        return parts[0].merge(*parts[1:]).relabelled(self.classes, self._first["swapped"])

    def fold_moments(self, rounds: Any) -> list[list[ClassMoments]]:
        """Return the class moments of each part of each round."""
        parts = self._first["parts"]
        if parts is None or not self._is_answered(rounds[0]):
            return super().fold_moments(rounds)
        first = [part.relabelled(self.classes, self._first["swapped"]) for part in parts]
        return [first, *super().fold_moments(rounds[1:])]

    def _is_answered(self, round: Round) -> bool:
        folds = round.parts
        return isinstance(folds, DealtFolds) and (folds.n_folds, folds.number) == (self._expected.n_folds, 0)

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""
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


def bytes_of_rows(packed: list[Any]) -> int:
    """Return the size of packed rows."""
    X = packed[0]
    arrays = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    return bytes_in([*arrays, *packed[1:]])


def rows_of(
    source: Source,
    *,
    positive: str | None = None,
    memory: int = MEMORY,
    checkpoint: Checkpoint | None = None,
    command: Mapping[str, Any] | None = None,
    on_block: Callable[[str, Block], None] | None = None,
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
    return FileRows(
        Passes(source, n_bytes, checkpoint=checkpoint, command=about, on_block=on_block), positive, available
    )
