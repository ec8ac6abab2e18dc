"""The door to the data: all that anybody may ask of rows, wherever they are.

Solvers, cross-validation, calibration and the stochastic frame see rows through :class:`Rows` and never touch X. One
class stands behind the door for each place that rows can be in: memory (`memory.py`) and a file (`file.py`).

Conventions
-----------
- Class 0 is the negative and class 1 the positive one.
- A *vector* has one entry for each row: scores, gradients, part numbers. It stays where the rows are. In memory it is
  an array; in a file it is a recipe that is evaluated block by block. All vectors can be added, subtracted, negated,
  multiplied by a number, and have an inner product ``u @ v``.
- A *summary* is a small object that describes some rows and merges with that of others: the summary of all rows does
  not depend on how they are split into blocks, but for rounding. Class moments are one; `reduce` makes the others.
- *Parts* are sets of rows that do not overlap. A :class:`Round` numbers the part of each row; the folds of a
  cross-validation are parts.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from .moments import ClassMoments
from .scores import ScoreHistogram, ScoreMoments

Vector = Any


class Targets:
    """Class and weight of some rows, as functions in score space see them.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    sample_weight : ndarray of shape (n,) or None
        Their weights; None where every row counts once.
    totals : ndarray of shape (2,)
        The weight of each class over all rows, of which these may be a block.
    groups : ndarray of shape (n,), default=None
        The group of each row, where groups were given.
    """

    def __init__(
        self,
        positive: np.ndarray,
        sample_weight: np.ndarray | None,
        totals: np.ndarray,
        groups: np.ndarray | None = None,
    ) -> None:
        self.positive, self.sample_weight, self.totals, self.groups = positive, sample_weight, totals, groups

    @cached_property
    def pair_weights(self) -> np.ndarray:
        """The sample weights over the total of their class: a pair weighs the product of two of them."""
        scaled = (1 / self.totals)[self.positive.astype(np.intp)]
        return scaled if self.sample_weight is None else self.sample_weight * scaled

    @cached_property
    def signed_weights(self) -> np.ndarray:
        """The pair weights, those of the negatives with a minus."""
        return np.where(self.positive, self.pair_weights, -self.pair_weights)

    @property
    def usable(self) -> np.ndarray:
        """The mask of the rows that have weight."""
        return np.ones(len(self.positive), dtype=bool) if self.sample_weight is None else self.sample_weight > 0


class Split(NamedTuple):
    """A training set and a test set, by the parts of a round. They overlap only where a user's own splits do.

    Attributes
    ----------
    test : tuple of int
        The parts that are tested on.
    train : tuple of int
        The parts that are trained on.
    """

    test: tuple[int, ...]
    train: tuple[int, ...]


class Round(NamedTuple):
    """A numbering of the rows by parts, and the splits that it serves.

    Attributes
    ----------
    parts : vector of int
        The part of each row, from 0 to n_parts - 1.
    n_parts : int
        Number of parts.
    splits : tuple of Split
        What is trained on and tested on.
    """

    parts: Vector
    n_parts: int
    splits: tuple[Split, ...]


class FoldModels(NamedTuple):
    """The models of the splits of one round: L candidates for each of K splits.

    Attributes
    ----------
    round : Round
        The splits.
    weights : ndarray of shape (K, L, n_features)
        The weights of each model.
    midpoints : ndarray of shape (K, L)
        The score half-way between the class means of the training set. Models of different folds differ in where
        their scores lie, which no AUC sees; less their midpoints, they can be compared.
    moments : list of ClassMoments or None
        The moments of each test set, where they are known.
    """

    round: Round
    weights: np.ndarray
    midpoints: np.ndarray
    moments: list[ClassMoments] | None = None


class HeldOut(Protocol):
    """What the rows that were held out say of the models of the folds.

    Attributes
    ----------
    auc : ndarray of shape (n_splits, n_candidates)
        The AUC of each test set, over all rounds.
    """

    auc: np.ndarray

    def histogram(self, candidate: int) -> ScoreHistogram:
        """Return the held-out scores of one candidate, less midpoints and averaged over the rounds, as a histogram."""


class ScoreSpace(Protocol):
    """What can be done with vectors: all that a loss, an AUC or a calibration needs.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    counts : ndarray of shape (2,)
        Number of rows of each class that have weight.
    totals : ndarray of shape (2,)
        The weight of each class, both above 0.
    """

    @property
    def n_rows(self) -> int: ...  # noqa: D102
    @property
    def counts(self) -> np.ndarray: ...  # noqa: D102
    @property
    def totals(self) -> np.ndarray: ...  # noqa: D102

    def reduce(
        self, function: Callable[..., Any], *vectors: Vector, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """Return the summary ``function(targets, *entries)`` of each block, merged in the order of the rows."""

    def accumulate(
        self,
        empty: Callable[[], Any],
        add: Callable[..., None],
        *vectors: Vector,
        merge: Callable[[Any, Any], Any] = operator.add,
    ) -> Any:
        """Return a summary that blocks are added to in place, for summaries that are large beside a block.

        ``add(summary, targets, *entries)`` adds a block to what `empty` made. Where several were begun, `merge` joins
        them.
        """

    def map(self, function: Callable[..., Any], *vectors: Vector) -> Vector:
        """Return the vector whose entries are ``function(targets, *entries)`` of each block.

        What `function` returns may also be another object for the rows of a block, which later functions take.
        """


class Rows(ScoreSpace, Protocol):
    """The rows of a binary problem.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The negative and the positive label.
    n_features : int
        Number of columns.
    is_sparse : bool
        Whether rows are CSR, so that products cost what is stored.
    in_memory : bool
        Whether a product with X takes no more than arithmetic. Where it takes a reading, few passes matter more.
    row_length : float
        Mean number of stored values in a row.
    feature_names : list of str or None
        The names of the columns, where they have some.
    has_groups : bool
        Whether the targets have groups.
    """

    @property
    def classes(self) -> np.ndarray: ...  # noqa: D102
    @property
    def is_sparse(self) -> bool: ...  # noqa: D102
    @property
    def in_memory(self) -> bool: ...  # noqa: D102
    @property
    def feature_names(self) -> list[str] | None: ...  # noqa: D102
    @property
    def has_groups(self) -> bool: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def row_length(self) -> float: ...  # noqa: D102

    def expect(self, fit: Mapping[str, str], n_folds: int | None = None, columns: bool = False) -> None:
        """Tell what is fitted, and what will be asked first: a file answers it from the pass that finds out its shape.

        Parameters
        ----------
        fit : mapping of str to str
            What is fitted, by names and values: the checkpoint of another fit is refused.
        n_folds : int, default=None
            The class moments of the first round of so many folds; 1 for those of all rows.
        columns : bool, default=False
            The statistics of the columns.
        """

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> Vector:
        """Return the vector X @ w."""

    def pullback(self, g: Vector, center: np.ndarray | None = None) -> np.ndarray:
        """Return X.T @ g, or (X - center).T @ g.

        Gradients of pairs sum to 0, but for rounding, which columns far from zero would magnify: a center of the
        columns takes that out.
        """

    def score_histogram(self, w: np.ndarray, moments: ScoreMoments | None = None) -> ScoreHistogram:
        """Return the histogram of the scores X @ w, as calibration needs them; their moments, if known, save a pass."""

    # Summaries of the columns

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""

    def fold_moments(self, rounds: Sequence[Round]) -> list[list[ClassMoments]]:
        """Return the class moments of each part of each round, in as few passes as memory allows."""

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of X / scale, with columns shifted so that large means cancel.

        A shift changes no difference of two rows. Only for rows in memory.
        """

    # Cross-validation

    def deal(self, n_folds: int, number: int) -> Vector:
        """Return the fold of each row in round `number`; `folds.deal` says how they are dealt."""

    def label(self, parts: np.ndarray) -> Vector:
        """Return part numbers, given for all rows in their order, as a vector."""

    def held_out(self, models: Sequence[FoldModels]) -> HeldOut:
        """Score each test set by the models of its split."""

    # Other views of the same rows

    def subset(self, parts: Vector, chosen: Sequence[int]) -> Rows:
        """Return the rows of the chosen parts."""

    def sample(self, n_each: int) -> Rows:
        """Return at most so many rows of each class, always the same ones, in memory; or these if there are few."""

    def columns(self, columns: np.ndarray) -> Rows:
        """Return the same rows with some of their columns, by sorted column numbers."""

    def reweighted(self, weights: Vector) -> Rows:
        """Return the same rows with other weights."""

    # The stochastic algorithms

    def iterate(
        self,
        name: str,
        state: dict[str, Any],
        prepare: Callable[[Any, Targets], Any],
        step: Callable[[dict[str, Any], Any], None],
        again: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]:
        """Take the blocks into a state one after the other, and all of them again as long as `again` says so.

        Parameters
        ----------
        name : str
            What the passes are called in progress bars and checkpoints.
        state : dict
            What the first block meets. It is changed, and may have been read from a checkpoint instead.
        prepare : callable
            Makes of the matrix and the targets of a block what `step` takes. Blocks in memory are prepared once.
        step : callable
            Takes a prepared block into the state.
        again : callable
            Called with the state after each pass over all blocks.

        Returns
        -------
        state : dict
            The state in the end.
        """
