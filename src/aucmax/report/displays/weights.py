"""WeightsDisplay: the largest weights of a linear classifier as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_is_fitted

from ...files.labels import label_text
from ...rows.validate import check_indices
from .base import POWERS, Display, Key, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_TICKS = 5  # at most; their labels stand side by side


class WeightsDisplay(Display):
    """The largest weights of a linear classifier as bars.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    names : sequence of str
        The columns.
    weights : sequence of float
        Their weights, in the order to show.
    classes : (str, str), default=("negative", "positive")
        The names of the two classes.

    See Also
    --------
    ImportanceDisplay : The AUC lost without a column, of a table model.

    Examples
    --------
    >>> from aucmax import AUCClassifier, WeightsDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = WeightsDisplay.from_estimator(AUCClassifier(n_nonzero=3, alpha=0.1).fit(X, y), X)
    >>> sorted(display.names)
    ['worst concave points', 'worst radius', 'worst texture']
    """

    title = "Largest weights"
    legend_below = True  # bars may be anywhere

    def __init__(
        self, names: Sequence[str], weights: Sequence[float], *, classes: tuple[str, str] = ("negative", "positive")
    ) -> None:
        self.names, self.weights, self.classes = list(names), list(weights), classes
        self.size = 5.5, 0.8 + 0.3 * len(self.names)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, *, n_weights: int = 20, ax: Any = None) -> Self:
        """Draw the largest weights of a fitted linear classifier.

        Parameters
        ----------
        estimator : fitted linear classifier
            It has `coef_` of one row.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows. If given, each weight is multiplied by the standard deviation of its column, so that columns of
            different units can be compared.
        n_weights : int, default=20
            The largest number of weights to show; zeros are left out.
        """
        check_is_fitted(estimator, "coef_")
        spreads = None if X is None else column_spreads(X)
        chosen = largest_weights(
            estimator.coef_[0], spreads, getattr(estimator, "feature_names_in_", None), n_weights=n_weights
        )
        names, weights = [name for name, _ in chosen], [weight for _, weight in chosen]
        negative, positive = estimator.classes_
        display = cls(names, weights, classes=(label_text(negative), label_text(positive))).plot(ax)
        display.ax_.set_xlabel("weight" if X is None else "weight times the standard deviation of the column")
        return display

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        signs = (("accent", self.classes[1], 1), ("other", self.classes[0], -1))
        return [
            Key("area", role, f"makes {shorten(name)} more likely")
            for role, name, sign in signs
            if any(sign * weight > 0 for weight in self.weights)
        ]

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        places = range(len(self.names))
        fills = [(colours["accent" if weight > 0 else "other"], 0.4) for weight in self.weights]
        axes.barh(places, self.weights, height=0.7, color=fills)
        axes.axvline(0, color=colours["muted"], linewidth=0.8)
        axes.set_yticks(places, [shorten(name) for name in self.names], parse_math=False)
        axes.set(xlabel="weight", ylim=(len(self.names) - 0.5, -0.5))
        axes.locator_params(axis="x", nbins=N_TICKS)
        axes.ticklabel_format(axis="x", scilimits=POWERS)


def largest_weights(
    weights: np.ndarray, spreads: np.ndarray | None, names: Any, *, n_weights: int
) -> list[tuple[str, float]]:
    """Return the names of the columns with the largest weights, and these weights; zeros are left out.

    If the standard deviations of the columns are known, each weight is multiplied by the one of its column.
    """
    scaled = weights if spreads is None else weights * spreads
    chosen = [j for j in np.argsort(-np.abs(scaled), kind="stable")[:n_weights] if scaled[j]]
    return [(f"column {j + 1}" if names is None else str(names[j]), float(scaled[j])) for j in chosen]


def column_spreads(X: Any) -> np.ndarray:
    """Return the standard deviations of the columns of dense or sparse rows."""
    X = check_array(check_indices(X), accept_sparse="csr", dtype=np.float64)
    return np.sqrt(mean_variance_axis(X, axis=0)[1]) if hasattr(X, "tocsr") else X.std(axis=0)
