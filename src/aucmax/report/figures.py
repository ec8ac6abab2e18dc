"""The figures of the report, drawn by matplotlib as SVG.

Each colour stands for a role. In the page it is replaced by the CSS variable of that name, so that one drawing serves
light and dark pages. Text stays text, in the font of the reader's system.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .evaluation import Evaluation

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
N_BINS = 60
OUTER = 0.001  # share of the scores of a class that may lie outside the histogram on each side
MARKS = {"line": "-", "dash": "--", "dots": ":"}
OTHER_LINES = tuple((mark, colour) for colour in ("other", "muted") for mark in MARKS)
LABELS = {"alpha": "alpha {}", "n_nonzero": "{} nonzero weights", "loss": "{}"}
# The columns that the penalty of a candidate sees, by `standardize`, and their colours.
SCALINGS = {True: "standardised", False: "as they are"}
SCALING_COLOURS = {True: "accent", False: "other"}
N_TICKS = 7  # decades of a logarithmic axis that have a label, at most
BAR_SHARE = 0.5  # of the width, for the longest bar; its text takes the rest


class Key(NamedTuple):
    """An entry of a legend.

    Attributes
    ----------
    mark : str
        "line", "dash", "dots", "area", "point" or "ring".
    colour : str
        Its role, a key of `COLOURS`.
    text : str
        What it means.
    """

    mark: str
    colour: str
    text: str


class Drawing(NamedTuple):
    """A figure of the page.

    Attributes
    ----------
    title : str
        Its heading.
    svg : str
        The drawing, as markup.
    keys : sequence of Key
        Its legend.
    note : str
        A sentence below it.
    """

    title: str
    svg: str
    keys: Sequence[Key] = ()
    note: str = ""


def shorten(text: str, length: int = 28) -> str:
    """Return text in one line of at most this length, without characters that do not show.

    Parameters
    ----------
    text : str
        Any text.
    length : int, default=28
        The most characters.

    Returns
    -------
    short : str
        The text, or its beginning and its end with an ellipsis between them.

    Examples
    --------
    >>> from aucmax.report.figures import shorten
    >>> shorten("the_mean_of_all_measurements_of_the_last_year", 20)
    'the_mean_o…last_year'
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def number_text(value: float, form: str = ".4g") -> str:
    """Return a number as a figure shows it."""
    return format(value, form).rstrip(".").replace("-", "\N{MINUS SIGN}")


def draw_roc(evaluation: Evaluation) -> Drawing:
    """Draw the ROC curve, its confidence band and the point of best balanced accuracy."""
    curve, best = evaluation.roc, evaluation.best
    point = 1 - best.specificity, best.recall

    def paint(axes: Axes) -> None:
        axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linestyle=":", linewidth=1)
        axes.fill_between(curve.fpr, curve.low, curve.high, color=COLOURS["accent"], alpha=0.18, linewidth=0)
        axes.plot(curve.fpr, curve.tpr, color=COLOURS["accent"])
        axes.plot(*point, "o", color=COLOURS["ink"], markersize=6)
        axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))

    level = f"{100 * evaluation.confidence_level:g}%"
    return Drawing(
        "ROC curve",
        draw_svg("roc", f"ROC curve with an area of {evaluation.auc.auc:.4f}", paint),
        [
            Key("line", "accent", f"area {evaluation.auc.auc:.4f}"),
            Key("area", "accent", f"{level} confidence at each false positive rate"),
            Key("point", "ink", f"best balanced accuracy, {best.balanced_accuracy:.4f}"),
            Key("dots", "muted", "chance"),
        ],
    )


def draw_distributions(
    negatives: np.ndarray, positives: np.ndarray, names: tuple[str, str], evaluation: Evaluation | None
) -> Drawing:
    """Draw the densities of the scores of the two classes, with the thresholds."""
    groups = [np.asarray(group, dtype=np.float64) for group in (negatives, positives)]
    low = min(np.quantile(group, OUTER, method="lower") for group in groups)
    high = max(np.quantile(group, 1 - OUTER, method="higher") for group in groups)
    n_bins = int(np.clip(4 * np.cbrt(min(map(len, groups))), 10, N_BINS))  # twice Rice's rule
    edges = np.linspace(low, high, n_bins + 1) if high > low else np.linspace(low - 0.5, low + 0.5, 4)

    marks = [(0.0, Key("dots", "muted", "threshold of the model, 0"))]
    if evaluation is not None:
        best = evaluation.best.threshold
        marks.append((best, Key("dash", "ink", f"best balanced accuracy, {number_text(best)}")))
    marks = [mark for mark in marks if edges[0] <= mark[0] <= edges[-1]]  # a distant one would squeeze the rest

    def paint(axes: Axes) -> None:
        for group, colour in zip(groups, ("other", "accent"), strict=True):
            density = np.histogram(group, edges)[0] / (len(group) * np.diff(edges))
            axes.stairs(density, edges, fill=True, color=COLOURS[colour], alpha=0.3)
            axes.stairs(density, edges, color=COLOURS[colour], linewidth=1.4)
        for threshold, key in marks:
            axes.axvline(threshold, color=COLOURS[key.colour], linestyle=MARKS[key.mark], linewidth=1.2)
        axes.set(xlabel="score", ylabel="density", ylim=(0, None))

    classes = [Key("area", colour, shorten(name)) for colour, name in zip(("other", "accent"), names, strict=True)]
    hidden = sum(np.count_nonzero((group < edges[0]) | (group > edges[-1])) for group in groups)
    return Drawing(
        "Scores of the two classes",
        draw_svg("scores", "Histograms of the scores of the two classes", paint),
        [*classes, *(key for _, key in marks)],
        f"{hidden:,} scores further out are not shown." if hidden else "",
    )


def draw_path(results: Mapping[str, Any], best: int | None) -> Drawing:
    """Draw the cross-validated AUC along alpha, or along the number of weights, with the choice marked."""
    mean = np.asarray(results["mean_test_score"], dtype=np.float64)
    splits = np.array([auc for name, auc in results.items() if re.fullmatch(r"split\d+_test_score", name)])
    error = splits.std(axis=0, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else np.zeros(len(mean))
    best = int(np.argmax(mean)) if best is None else best
    along, labels = _lines(results)
    x = np.asarray(results[f"param_{along}"], dtype=np.float64)
    others = [label for label in dict.fromkeys(labels) if label != labels[best]]
    looks = dict(zip(others, itertools.cycle(OTHER_LINES), strict=False)) | {labels[best]: ("line", "accent")}

    def paint(axes: Axes) -> None:
        for label, (mark, colour) in looks.items():
            line = np.flatnonzero([each == label for each in labels])
            line = line[np.argsort(x[line])]
            axes.plot(x[line], mean[line], color=COLOURS[colour], linestyle=MARKS[mark])
            if label == labels[best]:
                limits = mean[line] - error[line], mean[line] + error[line]
                axes.fill_between(x[line], *limits, color=COLOURS["accent"], alpha=0.18, linewidth=0)
        axes.plot(x[best], mean[best], "o", color=COLOURS["ink"], markersize=6)
        _scale(axes, x)
        axes.set(xlabel=along, ylabel="cross-validated AUC")

    choice = f"{along} = {x[best]:.4g} is chosen, AUC {mean[best]:.4f}"
    return Drawing(
        f"AUC along {along}",
        draw_svg("path", f"Cross-validated AUC along {along}: {choice}", paint),
        [
            Key("point", "ink", choice),
            *(Key(*look, label or "mean of the splits") for label, look in reversed(looks.items())),
            Key("area", "accent", "± one standard error"),
        ],
    )


def draw_blend(blend: Mapping[str, Any]) -> Drawing:
    """Draw the share of each member of a blend as a bar, with its loss, scaling, alpha and cross-validated AUC."""
    loss, standardize, alpha, share, auc = (
        np.asarray(blend[name]).tolist() for name in ("loss", "standardize", "alpha", "share", "auc")
    )
    places = range(len(loss))
    labels = [f"{loss[k]}\nalpha {number_text(alpha[k], '.3g')}, {SCALINGS[standardize[k]]}" for k in places]

    def paint(axes: Axes) -> None:
        colours = [(COLOURS[SCALING_COLOURS[scaled]], 0.4) for scaled in standardize]  # as strong as in the legend
        bars = axes.barh(places, share, height=0.55, color=colours)
        texts = [f"{share[k]:.0%}, AUC {auc[k]:.4f}" for k in places]
        axes.bar_label(bars, texts, padding=4, color=COLOURS["muted"], fontsize=9.5)
        axes.set_yticks(places, labels)
        axes.set(xlim=(0, max(share) / BAR_SHARE), ylim=(len(loss) - 0.5, -0.5), xticks=[])
        axes.grid(visible=False)
        axes.spines["bottom"].set_visible(False)

    members = "; ".join(f"{share[k]:.0%} {labels[k]}".replace("\n", ", ") for k in places)
    return Drawing(
        "Shares of the blend",
        draw_svg("blend", f"Shares of the members of the blend: {members}", paint, 0.3 + 0.5 * len(loss)),
        [
            Key("area", SCALING_COLOURS[scaled], f"columns {SCALINGS[scaled]}")
            for scaled in SCALINGS
            if scaled in standardize
        ],
    )


def draw_candidates(results: Mapping[str, Any], blend: Mapping[str, Any], auc: float) -> Drawing:
    """Draw the cross-validated AUC of all candidates along alpha, with the members of the blend and its AUC marked."""
    mean, x = (np.asarray(results[name], dtype=np.float64) for name in ("mean_test_score", "param_alpha"))
    kinds = list(zip(np.asarray(results["param_standardize"]).tolist(), results["param_loss"], strict=True))
    lines = {kind: np.flatnonzero([each == kind for each in kinds]) for kind in dict.fromkeys(kinds)}
    looks = _looks(lines)
    several = len(blend["alpha"]) > 1
    low = _lowest_shown(mean, lines.values(), blend["auc"])

    def paint(axes: Axes) -> None:
        for kind in sorted(lines, key=lambda kind: kind[0]):  # on standardised data, both scalings are the same line
            line = lines[kind]
            (mark, colour), ordered = looks[kind], line[np.argsort(x[line])]
            style: dict[str, Any] = {"marker": "o", "markersize": 5} if mark == "point" else {"linestyle": MARKS[mark]}
            axes.plot(x[ordered], mean[ordered], color=COLOURS[colour], **style)
        ring: dict[str, Any] = {"markerfacecolor": "none", "markersize": 9, "markeredgewidth": 1.4}
        axes.plot(blend["alpha"], blend["auc"], "o", color=COLOURS["ink"], **ring)
        if several:
            axes.axhline(auc, color=COLOURS["ink"], linewidth=1)
        _scale(axes, x)
        axes.set(xlabel="alpha", ylabel="cross-validated AUC")
        if low > mean.min():
            top = max(auc, mean.max())
            axes.set_ylim(low, top + 0.05 * (top - low))

    hidden = np.count_nonzero(mean < low)
    told = f"the blend, AUC {auc:.4f}" if several else f"{blend['loss'][0]} is chosen, AUC {auc:.4f}"
    marks = [Key("line", "ink", told), Key("ring", "ink", "its members")] if several else [Key("ring", "ink", told)]
    return Drawing(
        "AUC of the candidates",
        draw_svg("candidates", f"Cross-validated AUC of {len(x)} candidates along alpha: {told}", paint),
        [*marks, *(Key(*look, f"{loss}, {SCALINGS[scaled]}") for (scaled, loss), look in looks.items())],
        f"Candidates of a lower AUC are not shown: {hidden} of {len(mean)}." if hidden else "",
    )


def _lowest_shown(mean: np.ndarray, lines: Iterable[np.ndarray], members: np.ndarray) -> float:
    """Return the lowest AUC to show: half of the height is for the members and the best candidates of all lines."""
    best = [*(mean[line].max() for line in lines), *members]
    low, high = min(best), max(best)
    return float(low - (high - low)) if high > low else float(mean.min())


def _looks(lines: Mapping[tuple[bool, str], np.ndarray]) -> dict[tuple[bool, str], tuple[str, str]]:
    """Return mark and colour of each line of candidates: the mark is that of its loss, the colour of its scaling."""
    long = dict.fromkeys(loss for (_, loss), line in lines.items() if len(line) > 1)
    marks = dict(zip(long, itertools.cycle(MARKS), strict=False))
    return {kind: (marks.get(kind[1], "point"), SCALING_COLOURS[kind[0]]) for kind in lines}


def _lines(results: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the parameter on the horizontal axis, and for each candidate the label of its line."""
    grid = {name: np.asarray(results[f"param_{name}"]).tolist() for name in LABELS if f"param_{name}" in results}
    varied = [name for name, values in grid.items() if len(set(values)) > 1]
    along = next((name for name in varied if name != "loss"), "alpha")
    apart = [name for name in varied if name != along]
    return along, [", ".join(LABELS[name].format(grid[name][k]) for name in apart) for k in range(len(grid[along]))]


def _scale(axes: Axes, x: np.ndarray) -> None:
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
