"""PathDisplay: the cross-validated AUC along alpha, or along the number of weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...search.choice import TIE
from .base import AREA_ALPHA, MARKS, Display, Key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OTHER_LINES = tuple((mark, colour) for colour in ("other", "muted") for mark in MARKS)
LABELS = {"alpha": "alpha {}", "n_nonzero": "{} nonzero weights", "loss": "{}"}
N_TICKS = 7  # decades of a logarithmic axis that have a label, at most


class PathDisplay(Display):
    """The cross-validated AUC along alpha, or along the number of nonzero weights, with the choice marked.

    Use :meth:`from_estimator` or :meth:`from_cv_results` to make one. The band is one standard error of the mean over
    the splits on each side.

    Parameters
    ----------
    results : mapping
        ``cv_results_`` of :class:`AUCClassifier`, or of :class:`sklearn.model_selection.GridSearchCV` over its `alpha`.
    best_index : int, default=None
        The candidate that was chosen; None for the one of highest mean AUC.

    See Also
    --------
    CandidatesDisplay : The same for the candidates of a blend.
    cross_validate_path : The cross-validation by itself.

    Examples
    --------
    >>> from aucmax import PathDisplay, cross_validate_path
    >>> from sklearn.datasets import load_breast_cancer
    >>> path = cross_validate_path(*load_breast_cancer(return_X_y=True), alphas=[1.0, 0.1, 0.01])
    >>> display = PathDisplay.from_cv_results(path.results())
    >>> display.keys[0].text
    'alpha = 0.01 is chosen, AUC 0.9943'
    """

    size = (5.5, 4.6)
    legend_below = True

    def __init__(self, results: Mapping[str, Any], *, best_index: int | None = None) -> None:
        self.mean = np.asarray(results["mean_test_score"], dtype=np.float64)
        splits = np.array([auc for name, auc in results.items() if re.fullmatch(r"split\d+_test_score", name)])
        self.error = splits.std(axis=0, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else np.zeros(len(self.mean))
        self.best_index = int(np.argmax(self.mean)) if best_index is None else best_index
        self.along, self.labels = find_lines(results)
        self.x = np.asarray(results[f"param_{self.along}"], dtype=np.float64)
        own = self.labels[self.best_index]
        others = [label for label in dict.fromkeys(self.labels) if label != own]
        self.looks = dict(zip(others, itertools.cycle(OTHER_LINES), strict=False)) | {own: ("line", "accent")}
        self.title = f"AUC along {self.along}"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a classifier that was fitted with one loss and cross-validated.

        Parameters
        ----------
        estimator : AUCClassifier
            The fitted classifier, with `cv_results_`.
        """
        check_is_fitted(estimator, "cv_results_")
        return cls(estimator.cv_results_, best_index=chosen_index(estimator)).plot(ax)

    @classmethod
    def from_cv_results(cls, cv_results: Mapping[str, Any], *, best_index: int | None = None, ax: Any = None) -> Self:
        """Draw the path of cross-validated candidates.

        Parameters
        ----------
        cv_results : mapping
            The results, with the names of :class:`sklearn.model_selection.GridSearchCV`.
        """
        return cls(cv_results, best_index=best_index).plot(ax)

    @property
    def choice(self) -> str:
        """The chosen candidate in words."""
        return f"{self.along} = {self.x[self.best_index]:.4g} is chosen, AUC {self.mean[self.best_index]:.4f}"

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        lines = [Key(*look, label or "mean of the splits") for label, look in reversed(self.looks.items())]
        return [Key("point", "ink", self.choice), *lines, Key("area", "accent", "± one standard error")]

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        x, mean, error = self.x, self.mean, self.error
        for label, (mark, role) in self.looks.items():
            line = np.flatnonzero([each == label for each in self.labels])
            line = line[np.argsort(x[line])]
            axes.plot(x[line], mean[line], color=colours[role], linestyle=MARKS[mark])
            if label == self.labels[self.best_index]:
                limits = mean[line] - error[line], mean[line] + error[line]
                axes.fill_between(x[line], *limits, color=colours["accent"], alpha=AREA_ALPHA, linewidth=0)
        axes.plot(x[self.best_index], mean[self.best_index], "o", color=colours["ink"], markersize=6)
        scale_axis(axes, x)
        axes.set(xlabel=self.along, ylabel="cross-validated AUC")


def chosen_index(model: Any) -> int | None:
    """Return the index of the candidate that cross-validation chose; None if it chose none, or blended several."""
    if not hasattr(model, "cv_results_") or hasattr(model, "blend_"):
        return None
    mean = np.asarray(model.cv_results_["mean_test_score"])
    best = int(np.argmax(mean >= mean.max() - TIE))
    candidate = model.cv_results_["params"][best]
    same = all(getattr(model, f"{name}_", value) == value for name, value in candidate.items() if name != "alpha")
    # The alpha of a fit to more rows than were compared is smaller.
    return best if same and model.alpha_ <= candidate["alpha"] else None


def find_lines(results: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the parameter on the horizontal axis, and for each candidate the label of its line."""
    grid = {name: np.asarray(results[f"param_{name}"]).tolist() for name in LABELS if f"param_{name}" in results}
    varied = [name for name, values in grid.items() if len(set(values)) > 1]
    along = next((name for name in varied if name != "loss"), "alpha")
    apart = [name for name in varied if name != along]
    return along, [", ".join(LABELS[name].format(grid[name][k]) for name in apart) for k in range(len(grid[along]))]


def scale_axis(axes: Axes, x: np.ndarray) -> None:
    """Make the axis of a path logarithmic; zero has no logarithm and stands a decade to the left."""
    from matplotlib import ticker

    above = x[x > 0]
    if not len(above) or x.min() == x.max():
        return
    if len(above) < len(x):
        axes.set_xscale("symlog", linthresh=above.min())
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(
            ticker.LogLocator(subs=(1,) if x.max() > 50 * x.min() else (1, 2, 5), numticks=N_TICKS)
        )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
