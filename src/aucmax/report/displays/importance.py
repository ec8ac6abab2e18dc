"""ImportanceDisplay: what each column of a table model is worth. Columns of any other model are shuffled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from ..._compat import _safe_indexing
from ...metrics import auc_influences, compare_auc, roc_auc
from ...tables.curves import WIDE, auc_lost_without, scores_without
from .base import Display, Key, scores_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SHUFFLES = 3
SHUFFLED_COLUMNS = 50  # at most
SHUFFLED_ROWS = 600_000  # that are scored at most, for all columns together
FEWEST_ROWS = 2_000  # of a column, even if these are more


class Importance(NamedTuple):
    """What a column of a model is worth."""

    name: str
    lost: float  # the AUC that is lost without it, with the ends of its 95% interval
    low: float
    high: float


class ImportanceDisplay(Display):
    """The AUC that is lost when a column is left out, as bars with intervals.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    columns : sequence of (name, lost, low, high)
        The columns, the most important first: the AUC that each is worth, and the ends of its interval.

    See Also
    --------
    CurvesDisplay : The curves of a table model.
    WeightsDisplay : The largest weights of a linear classifier.

    Examples
    --------
    >>> from aucmax import ImportanceDisplay, TableClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean symmetry"]]
    >>> clf = TableClassifier("curves", cv=0).fit(X[:400], y[:400])
    >>> ImportanceDisplay.from_estimator(clf, X[400:], y[400:]).names
    ('mean radius', 'mean symmetry')
    """

    title = "What each column is worth"
    legend_below = True  # bars may be anywhere

    def __init__(self, columns: Sequence[Importance]) -> None:
        self.names, *bars = zip(*columns, strict=True)
        self.lost, self.low, self.high = map(np.array, bars)
        self.size = 5.5, 0.8 + 0.3 * len(self.names)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Any = None) -> Self:
        """Draw the importance of the columns of a fitted model.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_columns)
            The table, best of rows that the model was not fitted to.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        """
        return cls(measure_importance(model, X, y, sample_weight)).plot(ax)

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        return [Key("line", "ink", "95% interval (DeLong, paired)")]

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        places = range(len(self.names))
        axes.barh(places, self.lost, height=0.7, color=(colours["accent"], 0.4))
        axes.hlines(places, self.low, self.high, color=colours["ink"], linewidth=1.2)
        axes.axvline(0, color=colours["muted"], linewidth=0.8)
        axes.set_yticks(places, [shorten(name) for name in self.names], parse_math=False)
        axes.set(xlabel="AUC lost without the column", ylim=(len(self.names) - 0.5, -0.5))


def measure_importance(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, most: int | None = None
) -> list[Importance]:
    """Return what the columns of a fitted model are worth, the most important first, at most so many of them.

    The interval is DeLong's, of the difference of two AUCs on the same rows.
    """
    lost, names = auc_lost_without(model, X, y, sample_weight), model.reading_.part_names
    order = np.argsort(-lost, kind="stable")[:most]
    scores, without = scores_without(model, X)
    found = []
    for j in order:
        difference = compare_auc(y, scores, without[:, j], sample_weight)
        found.append(Importance(names[j], difference.difference, difference.low, difference.high))
    return found


def shuffle_columns(
    model: Any, X: Any, positive: np.ndarray, weights: Any = None, groups: Any = None, *, most: int
) -> tuple[list[Importance], str]:
    """Return the AUC that any model loses if the values of a column are shuffled, and a note about the work.

    `positive` are the rows of the second class of the model. The AUC lost is the mean of some shuffles, always with the
    same random numbers. Its interval is made of how much each row moves the paired difference. Of too many rows,
    equally many of each class are drawn, so that the AUC stays the same in the mean. Of too many columns, the first are
    taken, or those that the model itself finds important.
    """
    X = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    if len(X.shape) != 2:
        return [], ""
    rng, (n_rows, n_columns) = np.random.default_rng(0), X.shape
    worth = np.abs(getattr(model, "feature_importances_", ()))
    known = worth.shape == (n_columns,)
    columns = (np.argsort(-worth, kind="stable") if known else np.arange(n_columns))[:SHUFFLED_COLUMNS]
    most_rows = max(SHUFFLED_ROWS // (N_SHUFFLES * len(columns)), FEWEST_ROWS)
    drawn = [rng.permutation(np.flatnonzero(side))[: most_rows // 2] for side in (positive, ~positive)]
    rows = np.sort(np.concatenate(drawn)) if n_rows > most_rows else np.arange(n_rows)
    X, positive = _safe_indexing(X, rows), positive[rows]
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)[rows]
    codes = np.arange(len(rows)) if groups is None else np.asarray(groups)[rows]

    def measure(values: Any) -> np.ndarray:
        """Return the AUC, and how much each group of rows moves it."""
        scores, _ = scores_of(model, values)
        return np.append(roc_auc(positive, scores, weights), auc_influences(positive, scores, weights, codes))

    names, whole, found = [*getattr(X, "columns", map("column {}".format, range(n_columns)))], measure(X), []
    for j in columns:
        changes = [whole - measure(shuffle_column(X, int(j), rng.permutation(len(rows)))) for _ in range(N_SHUFFLES)]
        lost, *moves = np.mean(changes, axis=0)
        reach = WIDE * float(np.linalg.norm(moves))
        found.append(Importance(str(names[j]), float(lost), float(lost) - reach, float(lost) + reach))
    note = f"The AUC lost when the values of a column are shuffled among the rows, the mean of {N_SHUFFLES} shuffles"
    note += f", on {len(rows):,} of {n_rows:,} rows." if len(rows) < n_rows else "."
    if len(columns) < n_columns:
        which = "of largest feature_importances_" if known else "the first"
        note += f" Only {len(columns)} of {n_columns:,} columns were shuffled, {which}."
    return sorted(found, key=lambda each: -each.lost)[:most], f"{note} At most {most} columns are shown."


def shuffle_column(X: Any, j: int, order: np.ndarray) -> Any:
    """Return a copy of rows whose j-th column has its values in another order."""
    if sparse.issparse(X):
        X = X.tocsc()
        return sparse.hstack([X[:, :j], X[:, [j]][order], X[:, j + 1 :]], format="csr")
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(X[:, j].gather(order))
    if hasattr(X, "isetitem"):  # pandas
        X, column = X.copy(), X.iloc[order, j]
        X.isetitem(j, column.set_axis(X.index))
        return X
    X = np.array(X)
    X[:, j] = X[order, j]
    return X
