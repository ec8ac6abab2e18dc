"""ScoresDisplay: the densities of the scores of the two classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...metrics import _check_labels, _check_scores
from ...rows.dispatch import label_mask
from ..evaluation import evaluate
from .base import MARKS, POWERS, Display, Key, number_text, scores_of, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_BINS = 60
OUTER = 0.001  # share of the scores of a class that may lie outside the histogram on each side


class ScoresDisplay(Display):
    """The densities of the scores of the two classes, with thresholds.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make one. Each class has an area of one, however many rows
    it has.

    Parameters
    ----------
    negatives, positives : array-like of shape (n_rows,)
        The scores of each class.
    names : (str, str), default=("negative", "positive")
        The names of the two classes.
    threshold : float, default=None
        Above it, the model calls a row positive. None draws no line.
    best : float, default=None
        The threshold of best balanced accuracy. None draws no line.

    See Also
    --------
    ROCDisplay : The ROC curve of the same scores.

    Examples
    --------
    >>> from aucmax import ScoresDisplay
    >>> display = ScoresDisplay.from_predictions(["no", "no", "yes", "yes"], [-2.0, 0.5, 1.0, 3.0])
    >>> [key.text for key in display.keys]
    ['no', 'yes', 'best balanced accuracy, 0.75']
    """

    title = "Scores of the two classes"
    headroom = 0.09

    def __init__(
        self,
        negatives: Any,
        positives: Any,
        *,
        names: tuple[str, str] = ("negative", "positive"),
        threshold: float | None = None,
        best: float | None = None,
    ) -> None:
        self.groups = [np.asarray(group, dtype=np.float64) for group in (negatives, positives)]
        self.names, self.threshold, self.best = names, threshold, best
        self.edges = bin_edges(self.groups)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, pos_label: Any = None, ax: Any = None) -> Self:
        """Draw the scores of a fitted classifier."""
        scores, threshold = scores_of(estimator, X, pos_label)
        return cls.from_predictions(y, scores, threshold=threshold, pos_label=pos_label, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, *, threshold: float | None = None, pos_label: Any = None, ax: Any = None
    ) -> Self:
        """Draw scores of labelled rows."""
        values = _check_scores(scores, "scores")
        classes, positive = _check_labels(y, values)
        if pos_label is not None and pos_label != classes[1]:
            classes, positive = classes[::-1], label_mask(y, pos_label)
        best = evaluate(positive, values).best.threshold
        names = str(classes[0]), str(classes[1])
        return cls(values[~positive], values[positive], names=names, threshold=threshold, best=best).plot(ax)

    @property
    def marks(self) -> list[tuple[float, Key]]:
        """The thresholds and their entries of the legend; a distant one would squeeze the rest and is left out."""
        marks = []
        if self.threshold is not None:
            marks.append((self.threshold, Key("dots", "muted", f"threshold in use, {self.threshold:g}")))
        if self.best is not None:
            marks.append((self.best, Key("dash", "ink", f"best balanced accuracy, {number_text(self.best)}")))
        return [mark for mark in marks if self.edges[0] <= mark[0] <= self.edges[-1]]

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        classes = [Key("area", role, shorten(name)) for role, name in zip(("other", "accent"), self.names, strict=True)]
        return [*classes, *(key for _, key in self.marks)]

    @property
    def note(self) -> str:
        """How many scores are not shown."""
        hidden = sum(np.count_nonzero((group < self.edges[0]) | (group > self.edges[-1])) for group in self.groups)
        many = "1 score outside the range is" if hidden == 1 else f"{hidden:,} scores outside the range are"
        return f"{many} not shown." if hidden else ""

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        for group, role in zip(self.groups, ("other", "accent"), strict=True):
            density = np.histogram(group, self.edges)[0] / (len(group) * np.diff(self.edges))
            axes.stairs(density, self.edges, fill=True, color=colours[role], alpha=0.3)
            axes.stairs(density, self.edges, color=colours[role], linewidth=1.4)
        for threshold, key in self.marks:
            axes.axvline(threshold, color=colours[key.colour], linestyle=MARKS[key.mark], linewidth=1.2)
        axes.locator_params(nbins=6)
        axes.ticklabel_format(scilimits=POWERS)
        axes.set(xlabel="score", ylabel="density", ylim=(0, None))


def bin_edges(groups: list[np.ndarray]) -> np.ndarray:
    """Return the edges of common bins, as many as the rows of the smaller class can fill."""
    low = min(np.quantile(group, OUTER, method="lower") for group in groups)
    high = max(np.quantile(group, 1 - OUTER, method="higher") for group in groups)
    n_bins = int(np.clip(4 * np.cbrt(min(map(len, groups))), 10, N_BINS))  # twice Rice's rule
    return np.linspace(low, high, n_bins + 1) if high > low else np.linspace(low - 0.5, low + 0.5, 4)
