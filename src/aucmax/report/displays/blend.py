"""CandidatesDisplay, the AUC of all candidates of a blend, and BlendDisplay, the shares of its members."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.ndimage import binary_dilation
from sklearn.utils.validation import check_is_fitted

from .base import MARKS, Display, Key, number_text
from .path import scale_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The columns that the penalty of a candidate sees, by `standardize`, and their colours.
SCALINGS = {True: "standardised", False: "unscaled"}
SCALING_COLOURS = {True: "accent", False: "other"}
BAR_SHARE = 0.5  # of the width, for the longest bar; its text takes the rest


class CandidatesDisplay(Display):
    """The cross-validated AUC of all candidates of a blend along alpha, with its members and its AUC marked.

    Use :meth:`from_estimator` to make one. Half of the height is for the members, the AUC of the blend and the best
    candidates of all lines; candidates far below are not shown. The AUC of the blend can be quoted. It may be below the
    AUCs of its members: these are too high, because the members were chosen by them.

    Parameters
    ----------
    results : mapping
        ``cv_results_`` of an :class:`AUCClassifier` with loss="auto".
    blend : mapping
        Its ``blend_``.
    auc : float
        Its ``cv_auc_``; NaN if it is not known.

    See Also
    --------
    BlendDisplay : The shares of the members.
    PathDisplay : The same for one loss.

    Examples
    --------
    >>> from aucmax import AUCClassifier, CandidatesDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> clf = AUCClassifier().fit(*load_breast_cancer(return_X_y=True))
    >>> display = CandidatesDisplay.from_estimator(clf)
    >>> display.ax_.get_xlabel()
    'alpha'
    """

    title = "AUC of the candidates"
    size = (5.5, 5.0)
    legend_below = True

    def __init__(self, results: Mapping[str, Any], blend: Mapping[str, Any], auc: float) -> None:
        self.mean, self.x = (np.asarray(results[name], dtype=np.float64) for name in ("mean_test_score", "param_alpha"))
        self.blend, self.auc = blend, auc
        kinds = list(zip(np.asarray(results["param_standardize"]).tolist(), results["param_loss"], strict=True))
        self.lines = {kind: np.flatnonzero([each == kind for each in kinds]) for kind in dict.fromkeys(kinds)}
        long = dict.fromkeys(loss for (_, loss), line in self.lines.items() if len(line) > 1)
        marks = dict(zip(long, itertools.cycle(MARKS), strict=False))
        # The mark of a line shows its loss, the colour its scaling.
        self.looks = {kind: (marks.get(kind[1], "point"), SCALING_COLOURS[kind[0]]) for kind in self.lines}
        chosen = [*blend["auc"], *([] if np.isnan(auc) else [auc])]
        self.low = lowest_shown(self.mean, self.lines.values(), chosen)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the candidates of a fitted blend.

        Parameters
        ----------
        estimator : AUCClassifier
            The classifier, fitted with loss="auto".
        """
        check_is_fitted(estimator, "blend_")
        return cls(estimator.cv_results_, estimator.blend_, estimator.cv_auc_).plot(ax)

    @property
    def several(self) -> bool:
        """Whether the blend has more than one member."""
        return len(self.blend["alpha"]) > 1

    @property
    def choice(self) -> str:
        """The blend, or its only member, in words."""
        chosen = "the blend" if self.several else f"{self.blend['loss'][0]} is chosen"
        return chosen if np.isnan(self.auc) else f"{chosen}, AUC {self.auc:.4f}"

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        marks = [Key("ring", "ink", self.choice)]
        if self.several:
            marks = [Key("line", "ink", self.choice), Key("ring", "ink", "its members")]
        return [*marks, *(Key(*look, f"{loss}, {SCALINGS[scaled]}") for (scaled, loss), look in self.looks.items())]

    @property
    def note(self) -> str:
        """How many candidates are not shown."""
        hidden = np.count_nonzero(self.mean < self.low)
        return f"Candidates of a lower AUC are not shown: {hidden} of {len(self.mean)}." if hidden else ""

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        x, mean = self.x, self.mean
        for kind in sorted(self.lines, key=lambda kind: kind[0]):  # on standardised data, both scalings are one line
            (mark, role), line = self.looks[kind], self.lines[kind]
            ordered = line[np.argsort(x[line])]
            # Points next to one that is shown are drawn, too; the others would only widen the axis.
            ordered = ordered[binary_dilation(mean[ordered] >= self.low)]
            style: dict[str, Any] = {"marker": "o", "markersize": 5} if mark == "point" else {"linestyle": MARKS[mark]}
            axes.plot(x[ordered], mean[ordered], color=colours[role], **style)
        ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 9, "markeredgewidth": 1.4}
        axes.plot(self.blend["alpha"], self.blend["auc"], "o", color=colours["ink"], **ring)
        if self.several and not np.isnan(self.auc):
            axes.axhline(self.auc, color=colours["ink"], linewidth=1)
        scale_axis(axes, x)
        axes.set(xlabel="alpha", ylabel="cross-validated AUC")
        if self.low > mean.min():
            top = np.fmax(self.auc, mean.max())
            axes.set_ylim(self.low, top + 0.05 * (top - self.low))


class BlendDisplay(Display):
    """The share of each member of a blend as a bar, with its loss, scaling, alpha and cross-validated AUC.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    blend : mapping
        ``blend_`` of an :class:`AUCClassifier` with loss="auto".

    See Also
    --------
    CandidatesDisplay : What the members were chosen from.

    Examples
    --------
    >>> from aucmax import AUCClassifier, BlendDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> clf = AUCClassifier().fit(*load_breast_cancer(return_X_y=True))
    >>> display = BlendDisplay.from_estimator(clf)
    >>> len(display.ax_.patches) == len(clf.blend_["share"])
    True
    """

    title = "Shares of the blend"

    def __init__(self, blend: Mapping[str, Any]) -> None:
        self.loss, self.standardize, self.alpha, self.share, self.auc = (
            np.asarray(blend[name]).tolist() for name in ("loss", "standardize", "alpha", "share", "auc")
        )
        self.size = 6.5, 0.6 + 0.5 * len(self.loss)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the shares of the members of a fitted blend.

        Parameters
        ----------
        estimator : AUCClassifier
            The classifier, fitted with loss="auto".
        """
        check_is_fitted(estimator, "blend_")
        return cls(estimator.blend_).plot(ax)

    @property
    def labels(self) -> list[str]:
        """Loss, alpha and scaling of each member."""
        members = zip(self.loss, self.alpha, self.standardize, strict=True)
        return [f"{loss}\nalpha {number_text(alpha, '.3g')}, {SCALINGS[scaled]}" for loss, alpha, scaled in members]

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend."""
        found = [scaled for scaled in SCALINGS if scaled in self.standardize]
        return [Key("area", SCALING_COLOURS[scaled], f"{SCALINGS[scaled]} columns") for scaled in found]

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles."""
        places = range(len(self.loss))
        strength = 0.4  # as strong as in the legend
        fills = [(colours[SCALING_COLOURS[scaled]], strength) for scaled in self.standardize]
        bars = axes.barh(places, self.share, height=0.55, color=fills)
        texts = [f"{share:.0%}, AUC {auc:.4f}" for share, auc in zip(self.share, self.auc, strict=True)]
        axes.bar_label(bars, texts, padding=4, color=colours["muted"], fontsize=9.5)
        axes.set_yticks(places, self.labels)
        axes.set(xlim=(0, max(self.share) / BAR_SHARE), ylim=(len(self.loss) - 0.5, -0.5), xticks=[])
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)


def lowest_shown(mean: np.ndarray, lines: Iterable[np.ndarray], chosen: Iterable[float]) -> float:
    """Return the lowest AUC to show: half of the height is for what was chosen and the best candidates of all lines."""
    best = [*(mean[line].max() for line in lines), *chosen]
    low, high = min(best), max(best)
    return float(low - (high - low)) if high > low else float(mean.min())
