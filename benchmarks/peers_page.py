"""The page of benchmarks/peers.py and the README's table, made from the file of results alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markdown import replace_block
from scipy.stats import rankdata, studentized_range

COMMAND = "make peers"
REFERENCE = "AUCClassifier"
N_RESAMPLES = 10_000
COLOURS = {"aucmax": "C3", "linear": "C0", "trees": "0.5"}


class Summary(NamedTuple):
    """Means over the splits.

    Attributes
    ----------
    data : list of str
        The data sets.
    names, families : list of str
        The competitors, and whether each is one of ours ("aucmax"), "linear" or "trees".
    auc : ndarray of shape (n_data, n_competitors)
        Test AUC; NaN if the competitor failed on a split.
    seconds, fit_seconds : ndarray of the same shape
        Times of tuning and the last fit together, and of the last fit alone.
    failures : dict of str
        By "COMPETITOR on DATA", why it failed.
    """

    data: list[str]
    names: list[str]
    families: list[str]
    auc: np.ndarray
    seconds: np.ndarray
    fit_seconds: np.ndarray
    failures: dict[str, str]

    @property
    def ranked(self) -> np.ndarray:
        """Whether each competitor is linear."""
        return np.array([family != "trees" for family in self.families])


def summarize(kept: dict[str, Any]) -> Summary:
    """Return the means of all competitors that were measured, on the data sets that are complete.

    A data set is complete if all competitors were tried on the same splits of it.
    """
    tried: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for cell in kept["cells"]:
        tried.setdefault((cell["data"], cell["competitor"]), {})[cell["split"]] = cell
    names = [name for name in kept["competitors"] if any(name == competitor for _, competitor in tried)]
    data = [name for name in kept["data"] if _is_complete([tried.get((name, each), {}) for each in names])]
    if not data:
        raise ValueError("There is no data set yet that all competitors were measured on: measure first.")
    figures, failures = np.full((3, len(data), len(names)), np.nan), {}
    for i, j in np.ndindex(len(data), len(names)):
        cells = tried[data[i], names[j]].values()
        reasons = [cell["failure"] for cell in cells if "failure" in cell]
        if reasons:
            failures[f"{names[j]} on {data[i]}"] = reasons[0]
            continue
        tuning, fit = ([cell[key] for cell in cells] for key in ("tuning_seconds", "fit_seconds"))
        figures[:, i, j] = np.mean([cell["auc"] for cell in cells]), np.mean(tuning) + np.mean(fit), np.mean(fit)
    families = [kept["competitors"][name]["family"] for name in names]
    return Summary(data, names, families, *figures, failures)


def _is_complete(cells: list[dict[int, Any]]) -> bool:
    return len({frozenset(by_seed) for by_seed in cells}) == 1 and bool(cells[0])


def ranks(auc: np.ndarray) -> np.ndarray:
    """Return the ranks on each data set, 1 for the highest AUC; AUCs that are equal to four digits share a rank.

    Competitors that failed share the last one.
    """
    return rankdata(-np.where(np.isnan(auc), -1.0, auc.round(4)), axis=1)


def bootstrap_interval(values: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% bootstrap interval of the mean of each column."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(N_RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.025, 0.975], axis=0)
    return low, high


def critical_difference(n_data: int, n_competitors: int) -> float:
    """Return the difference from which two mean ranks are significantly different by Nemenyi's test, at 5%."""
    q = studentized_range.ppf(0.95, n_competitors, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_competitors * (n_competitors + 1) / (6 * n_data)))


def standing(summary: Summary) -> list[dict[str, Any]]:
    """Return for each competitor its mean rank with an interval, and its AUC and time beside those of AUCClassifier.

    Differences and ratios are over the data sets on which neither failed; "n_data" is their number.
    """
    if REFERENCE not in summary.names:
        raise ValueError(f"There are no results of {REFERENCE}, with which all others are compared: measure it.")
    base = summary.names.index(REFERENCE)
    linear = np.flatnonzero(summary.ranked)
    placed = ranks(summary.auc[:, linear])
    low, high = bootstrap_interval(placed)
    rows = []
    for j, name in enumerate(summary.names):
        both = np.isfinite(summary.auc[:, j]) & np.isfinite(summary.auc[:, base])
        row: dict[str, Any] = {"name": name, "n_data": int(both.sum())}
        if summary.ranked[j]:
            k = int(np.searchsorted(linear, j))
            row |= {"rank": placed[:, k].mean(), "low": low[k], "high": high[k]}
        if both.any():
            row["difference"] = (summary.auc[both, j] - summary.auc[both, base]).mean()
            row["ratio"] = np.median(summary.seconds[both, j] / summary.seconds[both, base])
        rows.append(row)
    return rows


# As Markdown


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def auc_table(summary: Summary) -> str:
    """Return the test AUCs; the best linear one of each data set, and those equal to four digits, are bold."""
    rows = []
    for name, aucs in zip(summary.data, summary.auc.round(4), strict=True):
        best = np.nanmax(aucs[summary.ranked], initial=0)
        bold = (aucs == best) & summary.ranked
        cells = [_or_dash(f"{auc:.4f}", auc) for auc in aucs]
        rows.append([name, *(f"**{cell}**" if strong else cell for cell, strong in zip(cells, bold, strict=True))])
    return table(["data", *summary.names], rows)


def time_table(summary: Summary) -> str:
    """Return the seconds of tuning and fit together, with those of the last fit in brackets."""
    rows = [
        [name, *(_or_dash(f"{whole:.3g} ({fit:.2g})", whole) for whole, fit in zip(both, fits, strict=True))]
        for name, both, fits in zip(summary.data, summary.seconds, summary.fit_seconds, strict=True)
    ]
    return table(["data", *summary.names], rows)


def standing_table(summary: Summary) -> str:
    """Return the table of ranks, differences and ratios, best rank first, trees last."""
    rows = []
    for row in sorted(standing(summary), key=lambda row: row.get("rank", np.inf)):
        rank = f"{row['rank']:.1f} ({row['low']:.1f} to {row['high']:.1f})" if "rank" in row else ""
        apart = [f"{row['difference']:+.4f}", f"{row['ratio']:.3g}"] if "ratio" in row else ["", ""]
        rows.append([row["name"], rank, *apart, str(row["n_data"])])
    return table(["", "mean rank", f"AUC less {REFERENCE}'s", f"time over {REFERENCE}'s", "data sets"], rows)


def data_table(kept: dict[str, Any], data: Sequence[str]) -> str:
    """Return sizes, kind and number of splits of the data sets."""
    rows = []
    for name in data:
        shape = kept["data"][name]
        n_splits = len({cell["split"] for cell in kept["cells"] if cell["data"] == name})
        kind = "sparse" if shape["sparse"] else "dense"
        rows.append(
            [name, f"{shape['rows']:,}", f"{shape['columns']:,}", kind, f"{shape['positive']:.0%}", str(n_splits)]
        )
    return table(["data", "rows", "columns", "", "positive", "splits"], rows)


def competitor_list(kept: dict[str, Any]) -> str:
    """Return how each competitor was tuned, and which were not installed."""
    lines = []
    for name, record in kept["competitors"].items():
        n_candidates = len(record["candidates"])
        parts = [f"{n_candidates} candidates of {', '.join(record['candidates'][0])}"] if n_candidates > 1 else []
        parts += [record["note"]] if record["note"] else []
        parts += [f"skipped, {' and '.join(record['missing'])} not installed"] if "missing" in record else []
        lines.append(f"- {name}: {'; '.join(parts) or 'as it comes'}.")
    return "\n".join(lines)


def protocol_text(protocol: dict[str, Any]) -> str:
    """Return how the competitors were measured."""
    splits = protocol["splits"]
    return (
        f"Up to {splits['halved_rows']:,} rows are halved at random five times, and each half is the training set once. "
        f"Larger data are split two or three times, with {splits['test_size']:.0%} of the rows for the test. "
        f"Candidates are chosen by the AUC of {protocol['folds']} folds of at most {protocol['max_tuning_rows']:,} "
        f"training rows; those that tune themselves do so on all of them. "
        f"A split may take {protocol['limit_seconds']:g} seconds of one processor, or "
        f"{protocol['limit_seconds_of_ten_splits']:g} where there are ten. One that fails on a split has no figure for "
        f"that data set. Sparse rows are made dense, where one takes no others, up to {protocol['max_dense_gb']:g} GB. "
        f"Trees are measured on the first {protocol['tree_splits']} splits."
    )


def provenance(kept: dict[str, Any]) -> str:
    """Return dates, machines and versions."""
    dates = sorted({cell["date"] for cell in kept["cells"]})
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    lines = []
    for each in kept["environments"]:
        named = ", ".join(f"{name} {number}" for name, number in each["versions"].items())
        lines.append(f"{each['machine']}; {named}")
    return f"Measured {when} with one thread on {'; and on '.join(lines)}."


def _or_dash(text: str, value: float) -> str:
    return text if np.isfinite(value) else "-"


def write_page(path: Path, kept: dict[str, Any]) -> None:
    """Put the tables between the marks of a page, and the figure beside it."""
    summary = summarize(kept)
    figure = path.with_suffix(".svg")
    draw_auc_against_time(summary, figure)
    n_data, n_linear = len(summary.data), int(summary.ranked.sum())
    test = f"By Nemenyi's test two mean ranks differ at the level of 5% if they are \
{critical_difference(n_data, n_linear):.1f} apart."
    partly = [name for name in kept["data"] if name not in summary.data]
    failures = [f"- {cell}: {reason}" for cell, reason in summary.failures.items()]
    parts = [
        provenance(kept),
        protocol_text(kept["protocol"]),
        f"Linear classifiers ranked on {n_data} data sets, with 95% bootstrap intervals over these; one without a "
        f"figure comes last on that data set, and trees are not ranked. {test}",
        standing_table(summary),
        f"![AUC against training time]({figure.name})",
        "Test AUC, means over the splits, the best linear one in bold:",
        auc_table(summary),
        "Seconds of tuning and fit together, of the last fit in brackets; a self-tuning fit is both:",
        time_table(summary),
        *(["No figure:", "\n".join(failures)] if failures else []),
        *([f"Not complete, and left out: {', '.join(partly)}."] if partly else []),
        "The data:",
        data_table(kept, summary.data),
        "The competitors:",
        competitor_list(kept),
    ]
    replace_block(path, COMMAND, "\n\n".join(parts))


def write_readme(path: Path, kept: dict[str, Any]) -> None:
    """Put the short table between the marks of a page."""
    summary = summarize(kept)
    shapes = [kept["data"][name] for name in summary.data]
    rows, columns = ([shape[key] for shape in shapes] for key in ("rows", "columns"))
    scope = f"{len(shapes)} data sets of {min(rows):,} to {max(rows):,} rows and {min(columns):,} to \
{max(columns):,} columns"
    text = f"Means over {scope}; ranks are among linear classifiers, with 95% bootstrap intervals. {provenance(kept)}"
    replace_block(path, COMMAND, f"{text}\n\n{standing_table(summary)}")


# As a figure


def draw_auc_against_time(summary: Summary, path: Path) -> None:
    """Draw the median gap to the best linear AUC against the median time, both over data sets."""
    import matplotlib
    from matplotlib.figure import Figure

    base = summary.names.index(REFERENCE)
    best = np.nanmax(np.where(summary.ranked, summary.auc, np.nan), axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        x = np.nanmedian(summary.seconds / summary.seconds[:, [base]], axis=0)
        y = np.nanmedian(summary.auc - best, axis=0)
    colours = [COLOURS[family] for family in summary.families]
    with matplotlib.rc_context({"svg.hashsalt": "aucmax", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(8, 4.8), layout="constrained")
        axes = figure.subplots()
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1e-3)
        shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        axes.scatter(x[shown], y[shown], c=[colours[j] for j in shown], s=36, zorder=3)
        heights = np.linspace(0.02, 0.98, len(shown))
        for height, j in zip(heights, shown[np.lexsort((x[shown], y[shown]))], strict=True):
            axes.annotate(
                summary.names[j],
                (x[j], y[j]),
                (1.06, height),
                textcoords="axes fraction",
                va="center",
                color=colours[j],
                arrowprops={"arrowstyle": "-", "color": colours[j], "linewidth": 0.5, "alpha": 0.6},
            )
        axes.set(xlabel=f"training time, tuning included, as a multiple of {REFERENCE}'s (median)")
        axes.set(ylabel="AUC less that of the best linear one (median)")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(linewidth=0.4, alpha=0.5)
        figure.savefig(path, metadata={"Date": None})
