"""The report: one HTML file that needs nothing else, in light and dark, on a phone and in print.

Figures are drawn by matplotlib as SVG with colours that stand for roles. In the page these are CSS variables, so that
one drawing serves both schemes; text stays text, in the font of the reader's system. Names that come with the data, of
classes and features for instance, are escaped by Jinja, and the page forbids scripts and requests of any kind.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from .evaluation import Evaluation

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

WIDTH, HEIGHT = 4.5, 3.4  # inches: a phone shows the figure, 324 points wide, at about one pixel a point
# What matplotlib draws with, and the page replaces by the variable of that name.
COLOURS = {"ink": "#a0b0c1", "muted": "#a0b0c2", "line": "#a0b0c3", "accent": "#a0b0c4", "other": "#a0b0c5"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "aucmax",  # the same page for the same figures
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
OUTER = 0.001  # share of the scores of a class that may lie outside of the figure on each side
NONE = "\N{EN DASH}"
MARKS = {"line": "-", "dash": "--", "dots": ":"}
OTHER_LINES = tuple((mark, colour) for colour in ("other", "muted") for mark in MARKS)
LABELS = {"alpha": "alpha {}", "n_nonzero": "{} nonzero weights", "loss": "{}"}


class Comparison(Protocol):
    """Methods on the same splits of one data set; arrays are of shape (n_methods, n_splits), NaN where one failed."""

    @property
    def data(self) -> str:
        """Name of the data set."""

    @property
    def methods(self) -> Sequence[str]:
        """Names of the methods; the first is tested against each of the others."""

    @property
    def auc(self) -> np.ndarray:
        """Test AUC on each split."""

    @property
    def seconds(self) -> np.ndarray:
        """Time of each fit."""

    @property
    def pvalues(self) -> Sequence[float | None]:
        """Of the first method against each."""

    @property
    def verdicts(self) -> Sequence[str]:
        """Of the first method against each: "win", "tie", "loss", or "" where there is none."""


class Report(NamedTuple):
    """What a report tells; a part that is None leaves no trace.

    Attributes
    ----------
    title : str
        Its heading.
    summary : sequence of (name, value)
        What was fitted, on what, when, by which versions.
    evaluation : Evaluation or None
        The headline, the ROC curve and the confusion tables.
    scores : (ndarray, ndarray) or None
        Scores of the negatives and of the positives, for their distributions.
    class_names : (str, str)
        The negative and the positive class.
    path : mapping or None
        ``cv_results_`` of :class:`aucmax.AUCClassifier`.
    best_index : int or None
        The candidate of `path` that was chosen; None: that of highest mean AUC.
    weights : sequence of (name, weight) or None
        The largest weights, in the order to show.
    weights_note : str
        What should be said of them, such as the scale of the columns.
    convergence : ndarray or None
        The measure of convergence after each epoch.
    comparison : Comparison, sequence of Comparison, or None
        Methods compared, on one data set or several.
    """

    title: str
    summary: Sequence[tuple[str, str]] = ()
    evaluation: Evaluation | None = None
    scores: tuple[np.ndarray, np.ndarray] | None = None
    class_names: tuple[str, str] = ("negative", "positive")
    path: Mapping[str, Any] | None = None
    best_index: int | None = None
    weights: Sequence[tuple[str, float]] | None = None
    weights_note: str = ""
    convergence: np.ndarray | None = None
    comparison: Comparison | Sequence[Comparison] | None = None


class Key(NamedTuple):
    """An entry of a legend: a mark ("line", "dash", "dots", "area" or "point"), its colour and what it means."""

    mark: str
    colour: str
    text: str


class Drawing(NamedTuple):
    """A figure of the page: heading, SVG, legend."""

    title: str
    svg: str
    keys: Sequence[Key] = ()
    note: str = ""


def write_report(path: str | os.PathLike[str], report: Report) -> None:
    """Write the report to an HTML file, whole or not at all.

    Parameters
    ----------
    path : path
        The file; one that exists is replaced.
    report : Report
        What it tells.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from aucmax.report import Report, write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(pathlib.Path(folder, "report.html"), Report("Nothing yet"))
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['report.html']
    """
    from .persistence import write_atomically

    page = render(report).encode("utf-8", "replace")  # a file name may hold half a character
    write_atomically(path, lambda file: file.write(page))


def render(report: Report) -> str:
    """Return the report as an HTML page.

    Parameters
    ----------
    report : Report
        What it tells.

    Returns
    -------
    page : str
        The page; the same for the same report.

    Examples
    --------
    >>> from aucmax.evaluation import evaluate
    >>> from aucmax.report import Report, render
    >>> page = render(Report("Iris & others", evaluation=evaluate([False, False, True, True], [1, 3, 2, 4])))
    >>> "<h1>Iris &amp; others</h1>" in page, "0.7500" in page
    (True, True)
    """
    try:
        import jinja2
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("A report needs jinja2 and matplotlib: pip install 'aucmax[report]'.") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("aucmax"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(shorten=shorten, number=_number)
    return environment.get_template("report.html").render(
        report=report,
        drawings=list(_drawings(report)),
        bars=_bars(report.weights or ()),
        comparisons=[(each, _rows(each), _boxes(k, each)) for k, each in enumerate(_listed(report.comparison))],
    )


def shorten(text: str, length: int = 28) -> str:
    """Return text in one line of at most this length, without characters that do not show.

    Parameters
    ----------
    text : str
        Any text.
    length : int, default=28
        Where it is cut.

    Returns
    -------
    short : str
        The text, or its beginning and its end.

    Examples
    --------
    >>> from aucmax.report import shorten
    >>> shorten("the_mean_of_all_measurements_of_the_last_year", 20)
    'the_mean_o…last_year'
    """
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"


def _number(value: float, form: str = ".4g") -> str:
    return format(value, form).rstrip(".").replace("-", "\N{MINUS SIGN}")


class Bar(NamedTuple):
    """A weight as a bar, whose left end and length are percentages of the room for all of them."""

    name: str
    weight: float
    left: float
    length: float


def _bars(weights: Sequence[tuple[str, float]]) -> list[Bar]:
    values = [0.0, *(float(weight) for _, weight in weights)]
    scale = 100 / (max(values) - min(values) or 1)
    return [Bar(n, w, scale * (min(w, 0.0) - min(values)), scale * abs(w)) for n, w in weights]


def _listed(comparison: Comparison | Sequence[Comparison] | None) -> Sequence[Any]:
    if comparison is None:
        return []
    return [comparison] if hasattr(comparison, "methods") else comparison


class Row(NamedTuple):
    """A method in the table of a comparison, as text."""

    method: str
    auc: str
    spread: str
    seconds: str
    pvalue: str
    verdict: str


def _rows(comparison: Comparison) -> list[Row]:
    def text(value: float | None, form: str) -> str:
        return format(value, form) if value is not None and np.isfinite(value) else NONE

    rows = []
    for k, method in enumerate(comparison.methods):
        aucs, pvalue = comparison.auc[k], comparison.pvalues[k]
        rows.append(
            Row(
                method,
                auc=text(aucs.mean(), ".4f"),
                spread=f"± {aucs.std():.4f}" if len(aucs) > 1 and np.isfinite(aucs).all() else "",
                seconds=text(comparison.seconds[k].mean(), ".3g"),
                pvalue="< 0.001" if pvalue is not None and pvalue < 0.001 else text(pvalue, ".3f"),
                verdict=comparison.verdicts[k] or NONE,
            )
        )
    return rows


# The figures


def _drawings(report: Report) -> Iterator[Drawing]:
    """Yield the figures that the report has parts for."""
    if report.evaluation is not None:
        yield _roc(report.evaluation)
    if report.scores is not None:
        yield _distributions(*report.scores, report.class_names, report.evaluation)
    if report.path is not None:
        yield _path(report.path, report.best_index)
    if report.convergence is not None and np.any(np.asarray(report.convergence) > 0):
        yield _convergence(np.asarray(report.convergence))


def _roc(evaluation: Evaluation) -> Drawing:
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
        _svg("roc", f"ROC curve with an area of {evaluation.auc.auc:.4f}", paint),
        [
            Key("line", "accent", f"area {evaluation.auc.auc:.4f}"),
            Key("area", "accent", f"{level} confidence at each false positive rate"),
            Key("point", "ink", f"best balanced accuracy, {best.balanced_accuracy:.4f}"),
            Key("dots", "muted", "chance"),
        ],
    )


def _distributions(
    negatives: np.ndarray, positives: np.ndarray, names: tuple[str, str], evaluation: Evaluation | None
) -> Drawing:
    groups = [np.asarray(group, dtype=np.float64) for group in (negatives, positives)]
    low = min(np.quantile(group, OUTER, method="lower") for group in groups)
    high = max(np.quantile(group, 1 - OUTER, method="higher") for group in groups)
    n_bins = int(np.clip(4 * np.cbrt(min(map(len, groups))), 10, N_BINS))  # twice Rice's rule
    edges = np.linspace(low, high, n_bins + 1) if high > low else np.linspace(low - 0.5, low + 0.5, 4)

    marks = [(0.0, Key("dots", "muted", "threshold of the model, 0"))]
    if evaluation is not None:
        best = evaluation.best.threshold
        marks.append((best, Key("dash", "ink", f"best balanced accuracy, {_number(best)}")))
    marks = [mark for mark in marks if edges[0] <= mark[0] <= edges[-1]]  # one far off would leave no room for the rest

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
        _svg("scores", "Histograms of the scores of the two classes", paint),
        [*classes, *(key for _, key in marks)],
        f"{hidden:,} scores further out are not shown." if hidden else "",
    )


def _path(results: Mapping[str, Any], best: int | None) -> Drawing:
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
        _svg("path", f"Cross-validated AUC along {along}: {choice}", paint),
        [
            Key("point", "ink", choice),
            *(Key(*look, label or "mean of the splits") for label, look in reversed(looks.items())),
            Key("area", "accent", "± one standard error"),
        ],
    )


def _lines(results: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the parameter that a path goes along, and what tells the line of each candidate from the others."""
    grid = {name: np.asarray(results[f"param_{name}"]).tolist() for name in LABELS if f"param_{name}" in results}
    varied = [name for name, values in grid.items() if len(set(values)) > 1]
    along = next((name for name in varied if name != "loss"), "alpha")
    apart = [name for name in varied if name != along]
    return along, [", ".join(LABELS[name].format(grid[name][k]) for name in apart) for k in range(len(grid[along]))]


def _scale(axes: Axes, x: np.ndarray) -> None:
    """Make the axis of a path logarithmic; zero, which has no logarithm, stands a decade to the left."""
    from matplotlib import ticker

    above = x[x > 0]
    if not len(above) or x.min() == x.max():
        return
    if len(above) < len(x):
        axes.set_xscale("symlog", linthresh=above.min())
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1,) if x.max() > 50 * x.min() else (1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _convergence(measures: np.ndarray) -> Drawing:
    epochs = np.arange(1, len(measures) + 1)
    shown = measures > 0  # a measure that has come to zero has no logarithm

    def paint(axes: Axes) -> None:
        from matplotlib import ticker

        axes.plot(epochs[shown], measures[shown], color=COLOURS["accent"], marker="o", markersize=3)
        axes.set(xlabel="epoch", ylabel="measure of convergence", yscale="log")
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()

    return Drawing(
        "Convergence by epoch",
        _svg("convergence", f"Convergence over {len(measures)} epochs, the last at {measures[-1]:.2g}", paint),
        [Key("line", "accent", f"what tol is compared with: {measures[-1]:.2g} at the end")],
    )


def _boxes(k: int, comparison: Comparison) -> Drawing:
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
    return Drawing("", _svg(f"boxes{k}", f"Box plots of the AUCs of {len(aucs)} methods", paint, height))


def _svg(name: str, description: str, paint: Callable[[Axes], None], height: float = HEIGHT) -> str:
    """Return what is painted as SVG for a page: scaled by it, in its colours and font, with ids of its own."""
    import matplotlib
    from markupsafe import Markup
    from matplotlib.figure import Figure

    file = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's font has it, or the next one
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        paint(figure.subplots())
        figure.savefig(file, format="svg", metadata={"Date": None})
    _, head, body = re.split(r"(<svg[^>]*>)", file.getvalue(), maxsplit=1)
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|</svg>|font-family: [^;\"]*;", "", body, flags=re.DOTALL)
    for before, after in (('xlink:href="#', 'href="#'), (' id="', ' id="'), ("url(#", "url(#")):
        body = body.replace(before, f"{after}{name}-")
    for role, colour in COLOURS.items():
        body = body.replace(colour, f"var(--{role})")
    view = re.search(r'viewBox="[^"]*"', head)[0]  # type: ignore[index]
    return Markup(f'<svg {view} role="img"><title>{{}}</title>').format(description) + Markup(body + "</svg>")
