"""The figures of the report, drawn by matplotlib as SVG.

Each colour stands for a role. In the page it is replaced by the CSS variable of that name, so that one drawing serves
light and dark pages. Text stays text, in the font of the reader's system.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from .displays.base import Display, Key, number_text, shorten
from .displays.blend import BlendDisplay
from .displays.roc import ROCDisplay
from .displays.scores import ScoresDisplay
from .evaluation import OWN, Evaluation
from .rates import Calibration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..compare.comparison import Comparison

WIDTH, HEIGHT = 4.5, 3.4  # inches: a phone shows the figure, 324 points wide, at about one pixel a point
# The colours that matplotlib draws with; the page replaces each by the variable of that name.
COLOURS = {"ink": "#a0b0c1", "muted": "#a0b0c2", "line": "#a0b0c3", "accent": "#a0b0c4", "other": "#a0b0c5"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "aucmax",  # the same report gives the same page
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": COLOURS["line"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": COLOURS["line"],
    "grid.linewidth": 0.5,
    "xtick.color": COLOURS["line"],
    "ytick.color": COLOURS["line"],
    "xtick.labelcolor": COLOURS["muted"],
    "ytick.labelcolor": COLOURS["muted"],
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "lines.linewidth": 1.6,
    "text.parse_math": False,
}


class Drawing(NamedTuple):
    """A figure of the page."""

    title: str
    svg: str
    keys: Sequence[Key] = ()
    note: str = ""  # a sentence below it


def draw(display: Display, name: str, description: str, height: float = HEIGHT) -> Drawing:
    """Return a display as a figure of the page."""
    svg = draw_svg(name, description, partial(display.paint, colours=COLOURS), height)
    return Drawing(display.title, svg, display.keys, display.note)


def draw_roc(evaluation: Evaluation) -> Drawing:
    """Draw the ROC curve, its confidence band and the point of best balanced accuracy."""
    display, best = ROCDisplay([evaluation]), evaluation.best

    def paint(axes: Axes) -> None:
        display.paint(axes, COLOURS)
        axes.plot(best.fpr.value, best.recall.value, "o", color=COLOURS["ink"], markersize=6)

    area, chance = display.keys
    return Drawing(
        display.title,
        draw_svg("roc", f"ROC curve with an area of {evaluation.auc.auc:.4f}", paint),
        [
            area,
            Key("area", "accent", f"{100 * evaluation.confidence_level:g}% confidence at each false positive rate"),
            Key("point", "ink", f"best balanced accuracy, {best.balanced_accuracy.value:.4f}"),
            chance,
        ],
    )


def draw_distributions(
    negatives: np.ndarray, positives: np.ndarray, names: tuple[str, str], evaluation: Evaluation | None
) -> Drawing:
    """Draw the densities of the scores of the two classes, with the thresholds."""
    best, own = (None, 0.0) if evaluation is None else (evaluation.best.threshold, None)
    if evaluation is not None and OWN in evaluation.thresholds:
        own = evaluation.thresholds[OWN].threshold
    display = ScoresDisplay(negatives, positives, names=names, threshold=own, best=best)
    return draw(display, "scores", "Histograms of the scores of the two classes")


def draw_blend(blend: Mapping[str, Any]) -> Drawing:
    """Draw the share of each member of a blend as a bar, with its loss, scaling, alpha and cross-validated AUC."""
    display = BlendDisplay(blend)
    named = zip(display.share, display.labels, strict=True)
    members = "; ".join(f"{share:.0%} {label}".replace("\n", ", ") for share, label in named)
    return draw(display, "blend", f"Shares of the members of the blend: {members}", 0.3 + 0.5 * len(display.share))


def draw_precision_recall(evaluation: Evaluation) -> Drawing:
    """Draw precision over recall, and the precision of random scores."""
    recall, precision = evaluation.precision_recall

    def paint(axes: Axes) -> None:
        axes.axhline(evaluation.base_rate, color=COLOURS["muted"], linestyle=":", linewidth=1)
        axes.plot([0, *recall], [precision[0], *precision], color=COLOURS["accent"], drawstyle="steps-pre")
        axes.set(xlabel="recall", ylabel="precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))

    average = f"average precision {evaluation.average_precision.value:.4f}"
    return Drawing(
        "Precision and recall",
        draw_svg("precision", f"Precision over recall, {average}", paint),
        [Key("line", "accent", average), Key("dots", "muted", f"chance, {evaluation.base_rate:.4f}")],
    )


def draw_gains(evaluation: Evaluation) -> Drawing:
    """Draw the share of positives in each tenth of the rows as bars."""
    tenths = np.arange(1, len(evaluation.gains) + 1)

    def paint(axes: Axes) -> None:
        axes.bar(tenths, [each.rate for each in evaluation.gains], color=(COLOURS["accent"], 0.4), width=0.8)
        axes.axhline(evaluation.base_rate, color=COLOURS["muted"], linestyle=":", linewidth=1)
        axes.set_xticks(tenths)
        axes.grid(visible=False, axis="x")
        axes.set(xlabel="tenth of the rows, highest scores first", ylabel="share of positives", ylim=(0, None))

    return Drawing(
        "",
        draw_svg("gains", "Share of positives in each tenth of the rows as bars", paint),
        [Key("dots", "muted", f"all rows, {evaluation.base_rate:.4f}")],
    )


def draw_calibration(calibration: Calibration, level: float) -> Drawing:
    """Draw the share of positives over the mean probability of each bin, and the fitted logistic curve."""
    means = np.array([each.mean for each in calibration.bins])
    rates = np.array([each.rate for each in calibration.bins])
    top = min(1.05 * max(means.max(), rates[:, 2].max()), 1.02)
    line, x = (calibration.slope.value, calibration.intercept.value), np.linspace(0, 1, 401)[1:-1]

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linestyle=":", linewidth=1)
        if np.isfinite(line).all():
            axes.plot(x, expit(line[0] * logit(x) + line[1]), color=COLOURS["other"], linestyle="--", linewidth=1.2)
        ends = np.abs(rates[:, 1:].T - rates[:, 0])
        axes.errorbar(means, rates[:, 0], ends, fmt="o", color=COLOURS["accent"], markersize=5)
        foot = -0.01 * top
        axes.set(xlabel="mean probability", ylabel="share of positives", xlim=(foot, top), ylim=(foot, top))

    keys = [
        Key("point", "accent", f"a bin, with its {100 * level:g}% interval"),
        Key("dots", "muted", "perfect calibration"),
    ]
    if np.isfinite(line).all():
        keys.append(Key("dash", "other", f"logistic fit, slope {number_text(line[0], '.3f')}"))
    return Drawing("", draw_svg("calibration", "Share of positives over the mean probability of bins", paint), keys)


def draw_convergence(measures: np.ndarray) -> Drawing:
    """Draw the measure of convergence, which `tol` is compared with, by epoch."""
    epochs = np.arange(1, len(measures) + 1)
    shown = measures > 0  # zero has no logarithm

    def paint(axes: Axes) -> None:
        from matplotlib import ticker

        axes.plot(epochs[shown], measures[shown], color=COLOURS["accent"], marker="o", markersize=3)
        axes.set(xlabel="epoch", ylabel="measure of convergence", yscale="log")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()

    return Drawing(
        "Convergence by epoch",
        draw_svg("convergence", f"Convergence over {len(measures)} epochs, the last at {measures[-1]:.2g}", paint),
        [Key("line", "accent", f"what tol is compared with: {measures[-1]:.2g} at the end")],
    )


def draw_boxes(k: int, comparison: Comparison) -> Drawing:
    """Draw the AUCs of the k-th comparison as box plots."""
    aucs = [row[np.isfinite(row)] for row in np.asarray(comparison.auc, dtype=np.float64)]
    places = [place for place, row in enumerate(aucs) if len(row)]

    def paint(axes: Axes) -> None:
        for place in places:
            colour = COLOURS["accent" if place == 0 else "other"]
            line = {"color": colour, "linewidth": 1.2}
            axes.boxplot(
                aucs[place],
                positions=[place],
                widths=0.5,
                orientation="horizontal",
                patch_artist=True,
                boxprops={"facecolor": (colour, 0.25), "edgecolor": colour},
                medianprops=line | {"linewidth": 2},
                whiskerprops=line,
                capprops=line,
                flierprops={"marker": "o", "markersize": 3, "markeredgecolor": colour},
            )
        axes.set_yticks(range(len(aucs)), [shorten(name, 22) for name in comparison.methods])
        axes.set(xlabel="AUC on each split", ylim=(len(aucs) - 0.5, -0.5))
        axes.grid(visible=False, axis="y")

    height = 0.8 + 0.34 * len(aucs)
    return Drawing("", draw_svg(f"boxes{k}", f"Box plots of the AUCs of {len(aucs)} methods", paint, height))


def render_svg(paint: Callable[[Figure], None], size: tuple[float, float], style: dict[Any, Any]) -> bytes:
    """Return a painted figure of this size, in inches, as SVG. Only this style counts, so it is the same each time."""
    import matplotlib
    from matplotlib.figure import Figure

    file = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts may have it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def draw_svg(name: str, description: str, paint: Callable[[Axes], None], height: float = HEIGHT) -> str:
    """Return painted axes as SVG for a page: in its size, colours and font, with ids of its own."""
    from markupsafe import Markup

    drawn = render_svg(lambda figure: paint(figure.subplots()), (WIDTH, height), STYLE).decode()
    _, head, body = re.split(r"(<svg[^>]*>)", drawn, maxsplit=1)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|</svg>|font-family: [^;\"]*;", "", body, flags=re.DOTALL)
    for before, after in (('xlink:href="#', 'href="#'), (' id="', ' id="'), ("url(#", "url(#")):
        body = body.replace(before, f"{after}{name}-")
    for role, colour in COLOURS.items():
        body = body.replace(colour, f"var(--{role})")
    view = re.search(r'viewBox="[^"]*"', head)[0]  # type: ignore[index]
    return Markup(f'<svg {view} role="img"><title>{{}}</title>').format(description) + Markup(body + "</svg>")
