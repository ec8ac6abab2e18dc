"""ImportanceDisplay: what each column of a table model is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ...metrics import compare_auc
from ...tables.curves import auc_lost_without, scores_without
from .base import Display, Key, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Importance(NamedTuple):
    """What a column of a table model is worth."""

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
        model : TableClassifier
            The fitted model.
        X : {array-like, dataframe} of shape (n_samples, n_columns)
            The table, best of rows that the model was not fitted to.
        y : array-like of shape (n_samples,)
            Their classes.
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
