"""The rows of a file behind the verbs of `data.Rows`, as far as passes over its blocks can offer them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..data.block_moments import column_moments
from ..data.folds import deal
from ..data.moments import ClassMoments, check_no_overflow, grouped_moments
from ..files import Block, Source
from ..files.labels import Classes, Labels
from ..files.source import n_bytes_of, stack
from ..models.model_file import versions
from ..selection.calibration import Calibration
from ..selection.cross_validation import merge
from ..stochastic.epochs import Stream
from .cells import Cells
from .passes import Passes, Tree

MEMORY = 2 << 30
INTERPRETER = 300 << 20  # bytes that Python and the libraries take before the first row
# Of the rest, one part in so many is for rows of the rarer class, and one for cells.
KEPT_SHARE = 16
# A block of text becomes a table, an array, rows of a class: it takes up to so many times its size.
BLOCK_SHARE, LARGEST_BLOCK, SMALLEST_BLOCK = 32, 32 << 20, 1 << 16
CODES = np.array([False, True])


class BlockRows:
    """The rows of a source.

    The first pass is `gather` or `column_statistics`; it finds out the classes and the shape.

    Parameters
    ----------
    passes : Passes
        How the blocks are read.
    positive : str, default=None
        The positive label, where the user named it.
    memory : int, default=2 GiB
        About how many bytes the process may use.

    Attributes
    ----------
    classes : Classes
        The labels.
    counts : ndarray of shape (2,)
        Rows of each class.
    n_features : int
        Number of columns.
    parts : list of ClassMoments
        The moments of each fold, after `gather`.
    rare : ndarray or csr_array or None
        The rows of the rarer class, after `gather`; None where they take more than their share of the memory.
    rare_is_positive : bool
        Which class that is.
    """

    X = y = None  # what callbacks are told
    classes: Classes
    counts: np.ndarray
    n_features: int
    parts: list[ClassMoments]
    rare: Any
    rare_is_positive: bool

    def __init__(self, passes: Passes, positive: str | None = None, memory: float = MEMORY) -> None:
        self.passes, self.positive, self.memory = passes, positive, memory

    @classmethod
    def open(
        cls,
        estimator: Any,
        source: Source,
        positive: str | None = None,
        memory: int = MEMORY,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 30.0,
        on_block: Callable[[str, Block], None] | None = None,
        **command: str,
    ) -> BlockRows:
        """Return the rows of a source for a fit in so much memory, at its checkpoint if there is one.

        A checkpoint is refused if anything that the model depends on has changed; `command` is what only the caller
        knows of that.
        """
        parameters = estimator.get_params().items()
        fit = {
            "the estimator": type(estimator).__name__,
            **{name: repr(v.tolist() if isinstance(v, np.ndarray) else v) for name, v in parameters},
            "the file": os.path.realpath(source.name),
            "the time of the file": os.stat(source.name).st_mtime_ns if os.path.exists(source.name) else None,
            "the format": source.format,
            "the target": source.target,
            "the names of the columns": source.feature_names,
            "the positive label": positive,
            "the memory": memory,
            **{f"the version of {library}": version for library, version in versions().items()},
            **command,
        }
        available = max(memory - INTERPRETER, memory / 8)
        n_bytes = int(np.clip(available / BLOCK_SHARE, SMALLEST_BLOCK, LARGEST_BLOCK))
        passes = Passes(source, n_bytes, checkpoint=checkpoint, every=every, command=fit, on_block=on_block)
        return cls(passes, positive, available)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def describe(self, clf: Any) -> None:
        """Tell an estimator what it is fitted to."""
        clf.classes_, clf.n_features_in_ = self.classes.array(), self.n_features
        clf.__dict__.pop("feature_names_in_", None)
        if self.passes.source.feature_names is not None:
            clf.feature_names_in_ = np.array(self.passes.source.feature_names, dtype=object)

    def take(self, block: Block) -> tuple[Any, np.ndarray]:
        """Return the rows of a block, all columns of the file, and the mask of the positives."""
        return widen(block.X, self.n_features), self.classes.mask(np.asarray(block.y), self.passes.source.name)

    # The first pass

    def gather(self, n_folds: int) -> None:
        """Take the moments of each fold of the first round."""

        def step(tree: Tree, block: Block, codes: np.ndarray) -> None:
            width = max(tree["n_features"], 1)
            self.check_moments(width, n_folds)
            parts = tree["parts"] or [ClassMoments(width, CODES) for _ in range(n_folds)]
            tree["parts"] = [part.widened(width) for part in parts]
            add_moments(tree["parts"], widen(block.X, width), codes, tree["counts"], tree["counts"], 0)
            for c, members in enumerate((~codes, codes) if n_folds > 1 else ()):
                self._keep(tree, c, block.X[members])

        empty = {"parts": [], "kept": [[], []], "kept_bytes": [0, 0]}
        name = f"class moments in {n_folds} folds" if n_folds > 1 else "class moments"
        tree, swapped = self._first_pass(name, empty, step)
        rare = int(np.argmin(tree["counts"]))
        if "rare" not in tree:  # what checkpoints keep from here on
            kept = tree.pop("kept")[rare]
            tree["rare"] = widen(stack(kept), self.n_features) if kept else None
        self.rare, self.rare_is_positive = tree["rare"], bool(rare) ^ swapped
        self.parts = [part.relabelled(self.classes.array(), swapped) for part in tree["parts"]]

    def _keep(self, tree: Tree, c: int, X: Any) -> None:
        """Keep rows of a class, or drop it where there are too many."""
        if tree["kept"][c] is not None:
            tree["kept"][c].append(X)
            tree["kept_bytes"][c] += n_bytes_of(X)
            if tree["kept_bytes"][c] > self.memory / KEPT_SHARE:
                tree["kept"][c] = None

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""

        def step(tree: Tree, block: Block, codes: np.ndarray) -> None:
            X = widen(block.X, tree["n_features"])
            for name in ("means", "squares"):
                tree[name] = np.pad(tree[name], ((0, 0), (0, X.shape[1] - tree[name].shape[1])))
            for c, members in enumerate((~codes, codes)):
                n_old, n_new = int(tree["counts"][c]), int(np.count_nonzero(members))
                if n_new:
                    chosen = np.flatnonzero(members)
                    shift = None if sparse.issparse(X) else X[chosen].mean(axis=0)
                    mean, variance = column_moments(X, chosen, np.full(len(codes), 1 / n_new), shift)
                    step = mean - tree["means"][c]
                    tree["means"][c] += step * (n_new / (n_old + n_new))
                    tree["squares"][c] += n_new * variance + step**2 * (n_old * n_new / (n_old + n_new))

        empty = {"means": np.zeros((2, 0)), "squares": np.zeros((2, 0))}
        with np.errstate(over="ignore", invalid="ignore"):
            tree, swapped = self._first_pass("column statistics", empty, step)
        check_no_overflow(tree["squares"])
        turn = -1 if swapped else 1
        return tree["means"][::turn], tree["squares"][::turn] / self.counts[:, None]

    def _first_pass(self, name: str, state: Tree, step: Callable[[Tree, Block, np.ndarray], None]) -> tuple[Tree, bool]:
        """Make a pass in which classes and columns are found out; the masks may turn out to be of the negatives."""
        source = self.passes.source

        def observe(tree: Tree, block: Block) -> None:
            labels = Labels(source.name, self.positive, tree["found"])
            codes = labels.observe(np.asarray(block.y))
            tree["found"], tree["n_features"] = labels.found, max(tree["n_features"], block.X.shape[1])
            step(tree, block, codes)
            tree["counts"] = tree["counts"] + [np.count_nonzero(~codes), np.count_nonzero(codes)]

        start = {"found": [], "n_features": source.n_features or 0, "counts": np.zeros(2, dtype=np.int64)}
        tree = self.passes.run(name, start | state, observe)
        self.classes, swapped = Labels(source.name, self.positive, tree["found"]).classes()
        self.counts, self.n_features = tree["counts"][:: -1 if swapped else 1], tree["n_features"]
        return tree, swapped

    def check_moments(self, n_features: int, n_folds: int) -> None:
        """Raise a ValueError where the moments of so many columns would take more than half of the memory."""
        needed = 3 * n_folds * 2 * 8 * n_features**2  # of all blocks, of one, and what is solved
        if needed > self.memory / 2:
            raise ValueError(
                f"{self.passes.source.name}: the class moments of {n_features:,} columns in {n_folds} "
                f"fold{'s' if n_folds > 1 else ''} take {needed / 1e9:.2g} GB, more than half of the "
                f"{self.memory / 1e9:.2g} GB that --memory leaves for them: raise --memory, "
                f"{'give --alpha, ' if n_folds > 1 and needed / n_folds <= self.memory / 2 else ''}or take an online "
                "algorithm such as SOLAM."
            )

    def check_state(self, clf: Any, state: Any) -> None:
        """Raise a ValueError where the state of an algorithm would take more than half of the memory."""
        needed = 3 * n_bytes_in(state)  # it, and what a checkpoint makes of it
        if needed > self.memory / 2:
            raise ValueError(
                f"{self.passes.source.name}: {type(clf).__name__} takes {needed / 1e9:.2g} GB for {self.n_features:,} "
                f"columns, more than half of the {self.memory / 1e9:.2g} GB that --memory leaves for it: raise "
                "--memory or take an algorithm that is linear in the columns, such as SOLAM."
            )

    # Later passes

    def moments(self) -> list[ClassMoments]:
        """Return the moments of all rows."""
        return [merge(self.parts)]

    def reduce_scores(self, w: np.ndarray, function: Callable[..., np.ndarray]) -> np.ndarray:
        """Return the sum of `function` of scores, mask of the positives and no weights over blocks of rows."""

        def step(tree: Tree, block: Block) -> None:
            X, positive = self.take(block)
            tree["sum"] = tree["sum"] + function(X @ w, positive, None)

        return self.passes.run("scores", {"sum": np.zeros(())}, step)["sum"]

    def calibrate(self, w: np.ndarray, center: float, scale: float, stream: Stream) -> tuple[Calibration, Stream]:
        """Return the curve of scores that lie around `center`, and the stream after it has seen them."""

        def step(tree: Tree, block: Block) -> None:
            X, positive = self.take(block)
            scores = X @ w
            tree["cells"].add(scores[:, None], positive)
            tree["stream"] = tree["stream"].watch(scores, positive)

        cells = Cells.around(np.array([center]), np.array([scale]))
        tree = self.passes.run("scores", {"cells": cells, "stream": stream}, step)
        return tree["cells"].calibrate(), tree["stream"]


def widen(X: Any, n_features: int) -> Any:
    """Return rows with columns of zeros up to so many."""
    if X.shape[1] == n_features:
        return X
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def n_bytes_in(state: Any) -> int:
    """Return the size of the arrays of a named tuple, and of those in it."""
    return sum(n_bytes_in(part) for part in state) if isinstance(state, tuple) else getattr(state, "nbytes", 0)


def deal_block(codes: np.ndarray, seen: np.ndarray, counts: np.ndarray, n_folds: int, number: int) -> np.ndarray:
    """Return the folds of rows that come after so many of each class, as `deal_folds` deals all of them.

    The first round does without the counts of the classes.
    """
    folds = np.empty(len(codes), dtype=np.int16)
    for members, start, count in zip((~codes, codes), seen.tolist(), counts.tolist(), strict=True):
        folds[members] = deal(start + np.arange(np.count_nonzero(members)), count, n_folds, number)
    return folds


def add_moments(
    parts: list[ClassMoments], X: Any, codes: np.ndarray, seen: np.ndarray, counts: np.ndarray, number: int
) -> None:
    """Add rows to the moments of their folds, in place."""
    folds = None if len(parts) == 1 else deal_block(codes, seen, counts, len(parts), number)
    for part, new in zip(parts, grouped_moments(X, codes, CODES, None, folds, len(parts)), strict=True):
        part.absorb(new)
