"""What all displays share: one drawing for a figure of matplotlib and for the page of a report.

A display paints axes in colours that are given by their roles, and lists the entries of its legend. `plot` makes a
figure with that legend. The report turns the same drawing into SVG, and the same entries into HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..._docs import inherit_entries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colours of a figure by their roles; the page of a report has others.
PALETTE = {"ink": "black", "muted": "0.5", "line": "0.8", "accent": "C0", "other": "C1"}
MARKS: dict[str, Any] = {"line": "-", "dash": "--", "dots": ":"}
AREA_ALPHA = 0.18
LABEL_INCHES = 0.5  # below the axes, for the ticks and the label of the horizontal axis
POWERS = (-2, 4)  # an axis of smaller or larger numbers has their power of ten at its end
TWO_COLUMNS = 4.0  # inches: axes that are wider have legends of two columns below them


# Entries of the docstrings of methods, for all displays.
METHODS = """
Parameters
----------
estimator : fitted classifier
    Its `decision_function` is used, or `predict_proba` if it has none.
model : TableClassifier
    The fitted model.
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    Rows that the classifier was not fitted to.
pos_label : label, default=None
    The positive class; None for the larger label.
y : array-like of shape (n_samples,)
    Labels of the rows; the larger of the two is positive.
scores : array-like of shape (n_samples,)
    Scores of rows that were not used in training: a higher one means more likely positive.
confidence_level : float in (0, 1), default=0.95
    The level of the band and of the interval.
ax : matplotlib Axes, default=None
    Where to draw; None for a new figure.

Returns
-------
display : Self
    The display, drawn.
"""


class Key(NamedTuple):
    """An entry of a legend."""

    mark: str  # "line", "dash", "dots", "area", "point" or "ring"
    colour: str  # its role, a key of `PALETTE`
    text: str


class Display:
    """A figure that paints itself on any axes, in any colours.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes, after `plot`.
    figure_ : matplotlib Figure
        The figure, after `plot`.
    """

    ax_: Any
    figure_: Any
    size: tuple[float, float] = (5.5, 4.2)  # inches
    title: str = ""
    palette: Mapping[str, Any] = PALETTE
    headroom: float = 0.0  # above the drawing, for each entry of the legend, relative to the height
    legend_below: bool = False  # where lines may run anywhere; needs a figure with a layout, which makes room for it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherit_entries(cls, METHODS)

    @property
    def keys(self) -> list[Key]:
        """The entries of the legend; none unless a display has some."""
        return []

    @property
    def note(self) -> str:
        """A sentence about what is not shown; empty if everything is."""
        return ""

    def paint(self, axes: Axes, colours: Mapping[str, Any]) -> None:
        """Draw on axes, in the colours of these roles.

        Parameters
        ----------
        axes : matplotlib Axes
            Where to draw.
        colours : mapping
            The colour of each role, as in `PALETTE`.
        """
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib."""
        from matplotlib import pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=self.size, layout="constrained")
        self.paint(ax, self.palette)
        add_legend(ax, self.keys, self.palette, below=self.legend_below)
        if self.headroom:
            low, high = ax.get_ylim()
            ax.set_ylim(low, high + self.headroom * len(self.keys) * (high - low))
        self.ax_, self.figure_ = ax, ax.figure
        return self


inherit_entries(Display, METHODS)


def add_legend(axes: Any, keys: list[Key], colours: Mapping[str, Any], *, below: bool = False) -> None:
    """Draw a legend; entries of an earlier display on the same axes stay, and the same text is written once.

    Below the axes it covers nothing. A figure without a layout has no room there, and the legend is inside.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {}
    if (earlier := axes.get_legend()) is not None:
        entries = {text.get_text(): handle for text, handle in zip(earlier.texts, earlier.legend_handles, strict=True)}
    for mark, role, text in keys:
        colour = colours[role]
        if mark == "area":
            entries.setdefault(text, Patch(color=colour, alpha=2 * AREA_ALPHA, linewidth=0))
        elif mark in MARKS:
            entries.setdefault(text, Line2D([], [], color=colour, linestyle=MARKS[mark]))
        else:
            fill = "none" if mark == "ring" else colour
            entries.setdefault(text, Line2D([], [], color=colour, marker="o", linestyle="", markerfacecolor=fill))
    if entries:
        place = place_below(axes, len(entries)) if below and axes.figure.get_layout_engine() is not None else {}
        legend = axes.legend(entries.values(), entries.keys(), fontsize="small", **place)
        for text in legend.texts:  # names of classes are not formulas
            text.set_parse_math(False)


def place_below(axes: Any, n_entries: int) -> dict[str, Any]:
    """Return the arguments of a legend below the label of the horizontal axis, in two columns where there is room."""
    from matplotlib.transforms import ScaledTranslation

    down = ScaledTranslation(0, -LABEL_INCHES, axes.figure.dpi_scale_trans)
    wide = axes.bbox.width / axes.figure.dpi > TWO_COLUMNS
    return {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0),
        "bbox_transform": axes.transAxes + down,
        "borderaxespad": 0,
        "frameon": False,
        "ncols": 2 if wide and n_entries > 2 else 1,
    }


def scores_of(estimator: Any, X: Any, pos_label: Any = None) -> tuple[np.ndarray, float]:
    """Return the scores of a fitted classifier and their threshold: `decision_function`, or else probabilities."""
    side = 1 if pos_label is None else place_of(estimator, pos_label)
    if hasattr(estimator, "decision_function"):
        return (2 * side - 1) * np.asarray(estimator.decision_function(X)), 0.0
    return np.asarray(estimator.predict_proba(X))[:, side], 0.5


def place_of(estimator: Any, pos_label: Any) -> int:
    """Return the place of the positive class among the two classes of a fitted classifier."""
    classes = np.asarray(estimator.classes_).tolist()
    if pos_label not in classes:
        raise ValueError(f"pos_label must be one of the classes {classes}, got {pos_label!r}.")
    return int(classes.index(pos_label))


def shorten(text: str, length: int = 28) -> str:
    """Return text in one line of at most this length, its middle left out, without characters that do not show."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def number_text(value: float, form: str = ".4g") -> str:
    """Return a number as a figure shows it."""
    return format(value, form).rstrip(".").replace("-", "\N{MINUS SIGN}")


def count_text(value: float) -> str:
    """Return a number of rows, which is a sum if they have weights, with commas.

    Examples
    --------
    >>> from aucmax.report.displays.base import count_text
    >>> count_text(1234), count_text(1234.0), count_text(1234.56)
    ('1,234', '1,234', '1,234.6')
    """
    return f"{value:,.1f}".removesuffix(".0")
