"""ImportanceDisplay: what each column of a table model is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...tables.curves import auc_lost_without
from .base import Display, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ImportanceDisplay(Display):
    """The AUC that is lost when a column is left out, as bars.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    names : sequence of str
        The columns, the most important first.
    lost : ndarray of shape (n_columns,)
        The AUC that each is worth.

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
    ['mean radius', 'mean symmetry']
    """

    title = "What each column is worth"

    def __init__(self, names: Sequence[str], lost: np.ndarray) -> None:
        self.names, self.lost = list(names), lost
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
        lost = auc_lost_without(model, X, y, sample_weight)
        order, names = np.argsort(-lost, kind="stable"), model.reading_.part_names
        return cls([names[j] for j in order], lost[order]).plot(ax)

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        places = range(len(self.names))
        axes.barh(places, self.lost, height=0.7, color=(colours["accent"], 0.4))
        axes.axvline(0, color=colours["muted"], linewidth=0.8)
        axes.set_yticks(places, [shorten(name) for name in self.names], parse_math=False)
        axes.set(xlabel="AUC lost without the column", ylim=(len(self.names) - 0.5, -0.5))
