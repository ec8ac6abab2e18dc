"""The row interface: one protocol for rows, wherever they are stored.

Solvers, calibration and the stochastic frame see rows through :class:`Rows` and never touch X. One
class implements the protocol for each place that rows can be in: memory (`memory.py`), a file (`file.py`), Dask
collections (`dask/`) and an accelerator (`device/`). `dispatch.py` chooses the class. The members are documented here,
and in a class only if it does something special. A class of your own needs the members of :class:`Rows`, and its
samples are :class:`InMemoryRows`.

Conventions
-----------
- Class 0 is the negative class and class 1 the positive one.
- A *vector* has one entry for each row: scores, gradients. It stays where the rows are. In memory it is
  an array, on an accelerator an array there; elsewhere it is a recipe that is evaluated block by block. All vectors
  can be added, subtracted, negated, multiplied by a number, and have an inner product ``u @ v``.
- A *summary* is a small object that describes some rows. Summaries of different rows can be merged, and the result
  does not depend, up to rounding, on how the rows were split into blocks. Class moments are one summary; `reduce`
  computes the others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeGuard

import numpy as np

from ..files.labels import Classes
from .arrays import by_class, count_true, namespace
from .summaries.moments import ClassMoments
from .summaries.scores import ScoreHistogram, ScoreMoments

Vector = Any


class Targets:
    """Class and weight of some rows. Functions of the scores receive it with the scores.

    `positive` (n,) tells which rows are positive. `sample_weight` (n,) are the weights of the rows, None where every
    row counts once, and `groups` (n,) their groups, where groups were given. `totals` (2,) is the weight of each class
    over all rows, even where `positive` describes only a block of them.
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
        """The sample weights divided by the total of their class; a pair's weight is the product of two of them."""
        scaled = by_class(1 / self.totals, self.positive)
        return scaled if self.sample_weight is None else self.sample_weight * scaled

    @cached_property
    def signed_weights(self) -> np.ndarray:
        """The pair weights, with a minus sign for the negatives."""
        return namespace(self.positive).where(self.positive, self.pair_weights, -self.pair_weights)

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of rows of each class with a weight above 0."""
        return np.array([count_true(self.usable & side) for side in (~self.positive, self.positive)])

    @property
    def usable(self) -> np.ndarray:
        """The mask of the rows with a weight above 0."""
        if self.sample_weight is None:
            return namespace(self.positive).ones_like(self.positive)
        return self.sample_weight > 0


class PairSums(Protocol):
    """Sums over all pairs, for vectors whose blocks are not the NumPy arrays that the kernels of the losses need.

    The losses define these sums; a place for such vectors computes them, see `device/losses.py`.
    """

    def hinge(self, space: ScoreSpace, scores: Vector, margin: float, squared: bool) -> tuple[float, Vector, Any]:
        """Return value, gradient and Hessian product of a hinge, or of half of its square."""

    def boxes(self, targets: Targets, scores: Any, degree: int) -> Any:
        """Return the boxes of scores, as `aucmax.losses.chebyshev_sums.Boxes.of` does for NumPy arrays."""

    def grid_masses(self, targets: Targets, scores: Any, low: float, step: float, n_points: int) -> np.ndarray:
        """Return the pair weights at the points of a grid, shape (2, n_points): a score is shared by two points."""

    def grid_slopes(self, targets: Targets, scores: Any, low: float, step: float, slopes: np.ndarray) -> Any:
        """Return pair weight times the slope after the last point below each score; `slopes` is (2, n_points)."""


class ScoreSpace(Protocol):
    """Operations on vectors: all that a loss, an AUC or a calibration needs."""

    @property
    def pair_sums(self) -> PairSums | None:
        """The sums over pairs for vectors of another kind; None if the blocks of vectors are NumPy arrays."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def counts(self) -> np.ndarray:
        """Number of rows of each class with a weight above 0, shape (2,)."""

    @property
    def totals(self) -> np.ndarray:
        """The weight of each class, both above 0, shape (2,)."""

    def check_memory(self, what: str, n_bytes: float, advice: str) -> None:
        """Raise a ValueError if something would take too much of the memory that the rows may use.

        `what` would take `n_bytes`: it is the subject of the sentence. `advice` is what to do instead.
        """

    def reduce(
        self, function: Callable[..., Any], *vectors: Vector, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        """Return the summaries ``function(targets, *entries)`` of all blocks, merged in the order of the rows."""

    def accumulate(self, empty: Callable[[], Any], add: Callable[..., None], *vectors: Vector) -> Any:
        """Return a summary to which the blocks were added in place, for summaries that are larger than a block.

        `empty` makes an empty summary, and ``add(summary, targets, *entries)`` adds a block to it. If several summaries
        were filled, their sum is returned.
        """

    def map(self, function: Callable[..., Any], *vectors: Vector) -> Vector:
        """Return the vector whose entries are ``function(targets, *entries)`` of each block.

        `function` may also return another object that describes a block; later functions then receive this object.
        """

    def aucs(self, *scores: Vector) -> list[float]:
        """Return the AUCs of vectors of scores; `ranking.aucs_of_scores` computes them for vectors in blocks."""


class RemoteScores(ScoreSpace, Protocol):
    """Columns of scores that are not in memory, with their labels and weights."""

    def column(self, k: int) -> Vector:
        """Return the scores of a column as a vector."""

    def column_aucs(self) -> list[float]:
        """Return the AUC of each column."""

    def estimate(self) -> tuple[list[float], float]:
        """Return the AUCs of one or two columns, and DeLong's variance of the AUC or of the difference."""


class Rows(ScoreSpace, Protocol):
    """The rows of a binary problem."""

    @property
    def classes(self) -> np.ndarray:
        """The negative and the positive label."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are CSR, so that the cost of a product grows with the number of stored values."""

    @property
    def in_memory(self) -> bool:
        """Whether the rows are :class:`InMemoryRows`.

        If they are not, every product with X reads the file once more, and a solver should need few of them.
        """

    @property
    def row_length(self) -> float:
        """Mean number of stored values in a row."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns, if they are known."""

    @property
    def reading(self) -> Any:
        """How the columns of a table are read; None for numbers."""

    @property
    def more_memory(self) -> str | None:
        """How to give these rows more memory, as advice in errors: "raise memory=". None if nobody can."""

    def prefetch(
        self, fit: Mapping[str, str], moments: bool = False, columns: bool = False, values: Any = None
    ) -> None:
        """Announce the fit, and what it will ask first: a file computes that in the pass that determines its shape.

        `fit` names what is fitted, with its values: the checkpoint of another fit is refused. What will be asked for is
        the class `moments`, the statistics of the `columns`, or a summary of the `values`.
        """

    def put_away(self, array: np.ndarray) -> np.ndarray:
        """Return an array that is kept in a temporary file if rows are read here, or the array itself."""

    def as_table(self) -> Rows:
        """Return the rows of a table with its numbers and codes of levels; rows of numbers stay unchanged."""

    # From columns to scores and back

    def scores(self, w: np.ndarray) -> Vector:
        """Return the vector X @ w."""

    def as_vector(self, values: np.ndarray) -> Vector:
        """Return as a vector the values of all rows, given in the order of the rows."""

    def rmatvec(self, g: Vector, center: np.ndarray | None = None) -> np.ndarray:
        """Return X.T @ g, or (X - center).T @ g.

        Gradients of pairwise losses sum to 0 up to rounding. Columns far from zero would magnify this rounding error;
        subtracting a center from the columns avoids that.
        """

    def score_histogram(self, w: np.ndarray, moments: ScoreMoments | None = None) -> ScoreHistogram:
        """Return the histogram of the scores X @ w, for the calibration; known score moments save a pass."""

    # Summaries of the columns

    def moments(self) -> ClassMoments:
        """Return the class moments of all rows."""

    def column_statistics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of each column in the two classes, each of shape (2, n_features)."""

    def gram(self, scale: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows of X / scale, after shifting the columns to remove large means.

        A shift does not change the difference of two rows.
        """

    def gather(
        self,
        name: str,
        empty: Callable[[], dict[str, Any]],
        add: Callable[[dict[str, Any], Any, Targets], None],
        merge: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """Return a summary of the values of all rows.

        ``add(summary, matrix, targets)`` adds a block to a summary in place. Where several summaries were filled,
        `merge` joins them. `name` is the name of the pass in progress bars and checkpoints.
        """

    # Other views of the same rows

    def sample(self, n_each: int) -> Rows:
        """Return at most `n_each` rows of each class, always the same ones; all rows if there are few.

        They are :class:`InMemoryRows`; if they take too much memory, the rows themselves are returned.
        """

    def columns(self, columns: np.ndarray) -> Rows:
        """Return the same rows with some of their columns, given by sorted column numbers."""

    def reweighted(self, weights: Vector) -> Rows:
        """Return the same rows with other weights."""

    def shifted(self, shift: np.ndarray) -> Rows:
        """Return the same rows with X - shift instead of X; in sparse rows, a column that is shifted has no zeros."""

    def mapped(self, change: Callable[[Any], Any], n_features: int) -> Rows:
        """Return the same rows with other columns, which `change` makes of the matrix of a block.

        It returns an array, or an object with products, with rows by number, and of which :func:`numpy.asarray` makes
        an array; `gather` then passes this object on.
        """

    # The stochastic algorithms

    def iterate(
        self,
        name: str,
        state: dict[str, Any],
        prepare: Callable[[Any, Targets], Any],
        step: Callable[[dict[str, Any], Any], None],
        again: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]:
        """Update a state with one block after the other, in as many passes as `again` asks for; return the last state.

        `prepare` makes the input of `step` from the matrix and the targets of a block; blocks in memory are prepared
        once. The state is changed in place, or replaced by one from a checkpoint. `name` is the name of the passes in
        progress bars and checkpoints.
        """


class InMemoryRows(Rows, Protocol):
    """Rows in memory: their vectors are arrays, and all rows are one block."""

    @property
    def targets(self) -> Targets:
        """Class and weight of all rows."""

    def values(self) -> np.ndarray:
        """Return all values as a dense array, without a copy if they are one."""

    def matrix(self, scale: np.ndarray, center: np.ndarray | None = None) -> Any:
        """Return (X - center) / scale as a dense array, or X / scale, which is CSR if X is. Only samples need it."""

    def as_operator(self, scale: np.ndarray, center: np.ndarray | None = None) -> Any:
        """Return an object that multiplies and takes rows like `matrix`, and may take less memory."""

    def take(self, rows: np.ndarray) -> InMemoryRows:
        """Return rows by their numbers."""

    def subset(self, parts: np.ndarray, chosen: Sequence[int]) -> InMemoryRows:
        """Return the rows of the chosen parts; `parts` numbers the part of each row."""

    def sample(self, n_each: int) -> InMemoryRows:
        """Return at most `n_each` rows of each class, always the same ones; all rows if there are few."""


class ReadRows(Rows, Protocol):
    """Rows that are read from files, by this process or by the workers of a cluster."""

    @property
    def labels(self) -> Classes:
        """The two labels, as the files have them."""

    def spreads(self) -> np.ndarray:
        """Return the standard deviation of each column, 1 for constant ones."""

    def finish(self) -> None:
        """End the fit: a checkpoint is removed."""


def is_in_memory(rows: Rows) -> TypeGuard[InMemoryRows]:
    """Return whether rows are in memory."""
    return rows.in_memory
