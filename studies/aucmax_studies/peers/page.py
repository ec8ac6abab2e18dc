"""The page of the study `peers` and the README's table, made from the file of results alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..common.markdown import replace_block
from .competitors import GROUPS
from .summary import (
    BASELINE,
    MARGIN,
    N_ERRORS,
    REFERENCE,
    Duel,
    Estimate,
    Standing,
    Summary,
    competitor_names,
    critical_difference,
    duels,
    geometric_mean,
    mean_differences,
    standings,
    summarize,
)

COMMAND = "make study NAME=peers"
COLOURS = {"aucmax": "C3", "linear": "C0", "trees": "0.5"}
# The linear classifiers of the README: the default, and the best-known rivals, among them a faster one.
WELL_KNOWN = (REFERENCE, BASELINE, "LinearSVC", "RidgeClassifierCV", "LinearDiscriminantAnalysis")
FAMILIES = {"aucmax": "aucmax", "linear": "other linear classifiers", "trees": "trees"}
GENERATED = "made-"  # how the names of generated data sets begin
HALVES = {"choice": "the half for choices", "verdict": "the half for the verdict"}


def write_page(path: Path, kept: dict[str, Any]) -> None:
    """Put the tables between the marks of a page, and the figure beside it."""
    summary = summarize(kept)
    figure = path.with_suffix(".svg")
    draw_standings(summary, figure)
    draw_first(summary, path.with_name("first.svg"))
    partly = [name for name in sorted(kept["data"]) if name not in summary.data]
    unranked = [name for name in competitor_names(kept) if name not in summary.names]
    failures = [f"- {name} on {data}: {reason}" for (data, name), reason in summary.failures.items()]
    parts = [
        provenance(kept),
        protocol_text(kept["protocol"]),
        "## The verdict",
        findings(summary),
        f"Linear classifiers ranked on {len(summary.data)} data sets, with 95% bootstrap intervals over these. One "
        "without a figure comes last on that data set, and trees are not ranked. Differences and the ratio of times "
        f"are to {REFERENCE}; those of ranks are paired over the data sets. {nemenyi(summary)} "
        "Times are geometric means.",
        standing_table(standings(summary)),
        f"![Ranks, AUC and training time]({figure.name})",
        "## The two halves",
        halves_text(summary),
        halves_table(summary),
        "## Data set by data set",
        f"{REFERENCE} beside the linear rival that has the highest AUC of all on that data set. The standard error is "
        "that of the mean difference over the splits, with the correction of Nadeau and Bengio (2003): training sets "
        "overlap, so the variance of J differences is multiplied by 1/J + n_test/n_train instead of 1/J. Of 5 x 2 "
        "splits this makes it 3.3 times as large as the uncorrected one, which takes the splits as independent. "
        f"The last column is the time of {REFERENCE} over that of {BASELINE}.",
        duel_table(duels(summary)),
        "## All figures",
        "Test AUC, means over the splits, the best linear one in bold; trees on the first splits only:",
        auc_table(summary),
        "Seconds of tuning and fit together, of the last fit in brackets; a self-tuning fit is both:",
        time_table(summary),
        *(["No figure:", "\n".join(failures)] if failures else []),
        *([f"Not complete, and left out: {', '.join(partly)}."] if partly else []),
        *([f"Not ranked, since not measured on all of these data sets: {', '.join(unranked)}."] if unranked else []),
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
    made = sum(name.startswith(GENERATED) for name in summary.data)
    scope = (
        f"{len(shapes) - made} real and {made} generated data sets of {min(rows):,} to {max(rows):,} rows and "
        f"{min(columns):,} to {max(columns):,} columns, one thread each, measured {dates(kept)}; ranks are among "
        "linear classifiers, with 95% bootstrap intervals, and times are geometric means."
    )
    lines = [times(duels(summary)), *trees(summary)]
    if "verdict" in summary.halves:
        part = summary.half("verdict")
        lines.insert(0, f"On the {len(part.data)} data sets held out from tuning, {place(part)}")
    bullets = "\n".join(f"- {line}" for line in lines if line)
    shown = [row for row in standings(summary) if row.name in WELL_KNOWN or not row.rank]
    replace_block(path, COMMAND, f"{scope}\n\n{standing_table(shown, short=True)}\n\n{bullets}")


# Sentences


def findings(summary: Summary) -> str:
    """Return who ranks best, where AUCClassifier is below, what it costs and what trees gain, one line each."""
    found = duels(summary)
    lines = [place(summary), below(found), times(found), *trees(summary)]
    return "\n".join(f"- {line}" for line in lines if line)


def place(summary: Summary) -> str:
    """Return the place of AUCClassifier among linear classifiers, and whether it is clear of LogisticRegressionCV."""
    linear = [row for row in standings(summary) if row.rank]
    by_name = {row.name: row for row in linear}
    own, baseline = by_name[REFERENCE], by_name[BASELINE]
    number = 1 + sum(row.rank.mean < own.rank.mean for row in linear)
    next_one = next(row for row in linear if row.name != REFERENCE)
    head = f"{REFERENCE} has the mean rank {interval(own.rank)}, "
    if number == 1:
        head += f"the best of {len(linear)} linear classifiers; next is {next_one.name} with {interval(next_one.rank)}."
    else:
        head += f"place {number} of {len(linear)} linear classifiers; the best is {next_one.name} with "
        head += f"{interval(next_one.rank)}."
    return f"{head} {clearness(own, baseline, told=next_one is baseline)}"


def clearness(own: Standing, baseline: Standing, told: bool = False) -> str:
    """Return whether the intervals overlap, and that of the difference; `told`: the last sentence was on both."""
    overlap = own.rank.low <= baseline.rank.high and baseline.rank.low <= own.rank.high
    verb = "overlaps with" if overlap else "is clear of"
    other = "that one" if told else f"that of {BASELINE}, {interval(baseline.rank)}"
    return (
        f"Its interval {verb} {other}; "
        f"the paired difference of their ranks is {interval(baseline.rank_difference, sign='+')}."
    )


def below(found: Sequence[Duel]) -> str:
    """Return on how many data sets AUCClassifier is below the best linear rival, and which."""
    clearly = [duel for duel in found if duel.is_below(duel.error)]
    perhaps = [duel for duel in found if duel.is_below(duel.plain_error)]
    return (
        f"It is below the best linear rival by more than {MARGIN:g} and more than {number_word(N_ERRORS)} standard "
        f"errors on {losses(clearly)} of {len(found)} data sets; with standard errors that take the splits as "
        f"independent, which are smaller, on {losses(perhaps)}."
    )


def losses(lost: Sequence[Duel]) -> str:
    """Return the number of data sets that were lost, and which."""
    named = "; ".join(f"{duel.data}, {-duel.difference:.4f} below {duel.rival}" for duel in lost)
    return f"{len(lost)} ({named})" if lost else "none"


def times(found: Sequence[Duel]) -> str:
    """Return the time of AUCClassifier as a share of LogisticRegressionCV's."""
    timed = [duel for duel in found if np.isfinite(duel.time_ratio)]
    if not timed:
        return ""
    longest = max(timed, key=lambda duel: duel.time_ratio)
    slower = sum(duel.time_ratio > 1 for duel in timed)
    return (
        f"Its time is {geometric_mean(np.array([duel.time_ratio for duel in timed])):.2g} of {BASELINE}'s in the "
        f"geometric mean, and at most {longest.time_ratio:.2g} ({longest.data}); it is longer on {slower} of "
        f"{len(timed)} data sets."
    )


def trees(summary: Summary) -> list[str]:
    """Return on how many data sets trees have a higher AUC than AUCClassifier, and their mean lead."""
    lines = []
    for row in standings(summary):
        if row.rank or not row.n_data:
            continue
        leads = mean_differences(summary)[:, summary.column(row.name)]
        most = int(np.nanargmax(leads))
        blind = summary.auc[:, summary.column(row.name)] == 0.5
        learnt = (
            f" On {' and '.join(np.array(summary.data)[blind])}, which have few rows, they learn nothing; without "
            f"these the mean difference is {np.nanmean(leads[~blind]):+.4f}."
            if blind.any()
            else ""
        )
        lines.append(
            f"{row.name}, which are not linear, have a higher AUC than {REFERENCE} on {np.sum(leads > 0)} of "
            f"{row.n_data} data sets; the mean difference is {row.difference:+.4f}, the largest {leads[most]:+.4f} "
            f"({summary.data[most]}).{learnt}"
        )
    return lines


def halves_text(summary: Summary) -> str:
    """Return the rule of the halves and the findings of each."""
    rule = (
        "The data sets were halved by a rule that was fixed before the study: sorted by name, the first, third, fifth "
        "and so on are for choices, and the others judge what was chosen."
    )
    lines = [rule]
    for half, title in HALVES.items():
        part = summary.half(half)
        if part.data:
            found = duels(part)
            lines.append(
                f"On {title}, {len(part.data)} data sets: {place(part)} {below(found)} {times(found)} {nemenyi(part)}"
            )
    return "\n\n".join(lines)


def nemenyi(summary: Summary) -> str:
    """Return Nemenyi's critical difference as a sentence."""
    difference = critical_difference(len(summary.data), int(summary.ranked.sum()))
    return f"By Nemenyi's test two mean ranks differ at the level of 5% if they are {difference:.1f} apart."


def protocol_text(protocol: dict[str, Any]) -> str:
    """Return how the competitors were measured."""
    splits = protocol["splits"]
    return (
        f"Up to {splits['halved_rows']:,} rows are halved at random five times, and each half is the training set once "
        f"(5 x 2 splits). Larger data are split two or three times, with {splits['test_size']:.0%} of the rows for the "
        f"test. Candidates are chosen by the AUC of {protocol['folds']} folds of at most "
        f"{protocol['max_tuning_rows']:,} training rows; those that tune themselves do so on all training rows. No "
        f"test row is seen before the test. A split may take {protocol['limit_seconds']:g} seconds of a processor, or "
        f"{protocol['limit_seconds_of_ten_splits']:g} where there are ten; one that takes longer has no figure for "
        f"that data set. Sparse rows are made dense, where one takes no others, up to {protocol['max_dense_gb']:g} GB. "
        f"Trees are measured on the first {number_word(protocol['tree_splits'])} splits."
    )


def provenance(kept: dict[str, Any]) -> str:
    """Return dates, machines and versions."""
    lines = []
    for each in kept["environments"]:
        named = ", ".join(f"{name} {number}" for name, number in each["versions"].items())
        lines.append(f"{each['machine']}; {named}")
    return f"Measured {dates(kept)} with one thread on {'; and on '.join(lines)}. Times are those of the processor."


def dates(kept: dict[str, Any]) -> str:
    """Return the day of the measurements, or the first and the last."""
    days = sorted({cell["date"] for cell in kept["cells"]})
    return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"


def interval(estimate: Estimate, sign: str = "") -> str:
    """Return a mean with its interval."""
    return f"{estimate.mean:{sign}.1f} ({estimate.low:{sign}.1f} to {estimate.high:{sign}.1f})"


def number_word(number: int) -> str:
    """Return a small number as a word."""
    return {1: "one", 2: "two", 3: "three"}.get(number, str(number))


# Tables


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def standing_table(shown: Sequence[Standing], short: bool = False) -> str:
    """Return the table of ranks, differences and ratios; a short one has fewer columns, whose titles say to whom."""
    rows = []
    for row in shown:
        rank = interval(row.rank) if row.rank else ""
        apart = interval(row.rank_difference, sign="+") if row.rank_difference else ""
        figures = [_or_dash(f"{row.difference:+.4f}", row.difference), _or_dash(f"{row.ratio:.3g}", row.ratio)]
        rows.append([row.name, rank, *([] if short else [apart]), *figures, *([] if short else [str(row.n_data)])])
    header = [f"AUC minus that of {REFERENCE}", f"time relative to {REFERENCE}"]
    if not short:
        header = ["rank difference", "AUC difference", "time ratio", "data sets"]
    return table(["", "mean rank", *header], rows)


def halves_table(summary: Summary) -> str:
    """Return mean ranks and their differences to AUCClassifier's on both halves side by side."""
    parts = {half: summary.half(half) for half in HALVES if half in summary.halves}
    placed = {half: {row.name: row for row in standings(part)} for half, part in parts.items()}
    rows = [
        [row.name, *(cell for by_name in placed.values() for cell in half_cells(by_name[row.name]))]
        for row in standings(summary)
        if row.rank
    ]
    header = [f"{half}: {title}" for half in parts for title in ("mean rank", "rank difference", "AUC difference")]
    return table(["", *header], rows)


def half_cells(row: Standing) -> list[str]:
    """Return what the table of the halves says about a linear competitor on one half."""
    apart = interval(row.rank_difference, sign="+")
    return [interval(row.rank), apart, _or_dash(f"{row.difference:+.4f}", row.difference)]


def duel_table(found: Sequence[Duel]) -> str:
    """Return AUCClassifier beside the best linear rival of each data set."""
    rows = [
        [
            *(duel.data, duel.half, f"{duel.auc:.4f}", duel.rival, f"{duel.rival_auc:.4f}", f"{duel.difference:+.4f}"),
            *(_or_dash(f"{error:.4f}", error) for error in (duel.error, duel.plain_error)),
            *(verdict(duel), _or_dash(f"{duel.time_ratio:.2f}", duel.time_ratio)),
        ]
        for duel in found
    ]
    header = ["data", "half", REFERENCE, "best linear rival", "its AUC", "difference", "standard error", "uncorrected"]
    return table([*header, "", "time"], rows)


def verdict(duel: Duel) -> str:
    """Return whether AUCClassifier is the best, below the best rival by a clear margin, or neither."""
    return "**below**" if duel.is_below(duel.error) else "best" if round(duel.difference, 4) >= 0 else ""


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


def data_table(kept: dict[str, Any], data: Sequence[str]) -> str:
    """Return sizes, kind, half and splits of the data sets."""
    rows = []
    for name in data:
        record = kept["data"][name]
        sizes = [f"{record['rows']:,}", f"{record['columns']:,}", "sparse" if record["sparse"] else "dense"]
        splits = f"{record['splits']} with {record['test_share']:.0%} for the test"
        rows.append([name, *sizes, f"{record['positive']:.0%}", record["half"], splits])
    return table(["data", "rows", "columns", "", "positive", "half", "splits"], rows)


def competitor_list(kept: dict[str, Any]) -> str:
    """Return how each competitor was tuned, and which were not installed."""
    lines = []
    for name, record in sorted(
        kept["competitors"].items(), key=lambda item: (GROUPS.index(item[1]["family"]), item[0])
    ):
        n_candidates = len(record["candidates"])
        parts = [f"{n_candidates} candidates of {', '.join(record['candidates'][0])}"] if n_candidates > 1 else []
        parts += [record["note"]] if record["note"] else []
        parts += [f"skipped, {' and '.join(record['missing'])} not installed"] if "missing" in record else []
        lines.append(f"- {name}: {'; '.join(parts) or 'as it comes'}.")
    return "\n".join(lines)


def _or_dash(text: str, value: float) -> str:
    return text if np.isfinite(value) else "-"


# The figure


def draw_standings(summary: Summary, path: Path) -> None:
    """Draw mean ranks with intervals, and medians and quartiles of AUC differences and time ratios."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    rows = standings(summary)[::-1]
    heights = np.arange(len(rows))
    order = [summary.names.index(row.name) for row in rows]
    colours = [COLOURS[summary.families[j]] for j in order]
    base = summary.column(REFERENCE)
    ratios = quartiles(summary.seconds[:, order] / summary.seconds[:, [base]])
    gaps = quartiles(mean_differences(summary)[:, order])
    placed = np.array([[*row.rank] if row.rank else [np.nan] * 3 for row in rows]).T[[1, 0, 2]]
    with matplotlib.rc_context({"svg.hashsalt": "aucmax", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.5, 0.9 + 0.28 * len(rows)), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        titles = (
            "mean rank with its 95% interval",
            f"AUC minus that of {REFERENCE},\nmedian and quartiles over the data sets",
            f"time relative to {REFERENCE},\nmedian and quartiles over the data sets",
        )
        for axes, (low, middle, high), title in zip(panels, (placed, gaps, ratios), titles, strict=True):
            axes.hlines(heights, low, high, colors=colours, linewidth=1.5)
            axes.scatter(middle, heights, c=colours, s=24, zorder=3)
            axes.set_title(title, fontsize=9)
            axes.grid(axis="x", linewidth=0.4, alpha=0.5)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
        panels[0].set_yticks(heights, [row.name for row in rows])
        panels[1].set_xscale("symlog", linthresh=0.01)
        panels[1].set_xticks([-0.1, -0.01, 0, 0.01, 0.1], ["-0.1", "-0.01", "0", "0.01", "0.1"])
        panels[1].axvline(0, color=COLOURS["aucmax"], linewidth=0.6)
        panels[2].set_xscale("log")
        panels[2].xaxis.set_major_formatter("{x:g}")
        panels[2].axvline(1, color=COLOURS["aucmax"], linewidth=0.6)
        dots = [Line2D([], [], color=colour, marker="o", markersize=5, linewidth=1.5) for colour in COLOURS.values()]
        figure.legend(dots, FAMILIES.values(), loc="outside lower center", ncols=len(dots), frameon=False)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def draw_first(summary: Summary, path: Path) -> None:
    """Draw what the first screen of the README and of the site shows: mean ranks and times of linear classifiers."""
    import matplotlib
    from matplotlib.figure import Figure

    rows = [row for row in standings(summary) if row.rank][::-1]
    heights = np.arange(len(rows))
    colours = [COLOURS["aucmax" if row.name == REFERENCE else "trees"] for row in rows]
    style = {"svg.hashsalt": "aucmax", "svg.fonttype": "path", "font.size": 10, "savefig.facecolor": "white"}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(6.6, 0.7 + 0.27 * len(rows)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        ranks = np.array([[row.rank.low, row.rank.mean, row.rank.high] for row in rows]).T
        left.hlines(heights, ranks[0], ranks[2], colors=colours, linewidth=2)
        left.scatter(ranks[1], heights, c=colours, s=36, zorder=3)
        right.hlines(heights, 1, [row.ratio for row in rows], colors=colours, linewidth=2)
        right.scatter([row.ratio for row in rows], heights, c=colours, s=36, zorder=3)
        left.set_title(f"mean rank by AUC\n{len(summary.data)} data sets", fontsize=10)
        right.set_title(f"time with tuning,\nrelative to {REFERENCE}", fontsize=10)
        left.set_yticks(heights, [row.name for row in rows])
        right.set_xscale("log")
        right.set_xticks([0.5, 1, 2, 5, 20], ["0.5", "1", "2", "5", "20"])
        right.minorticks_off()
        for axes in (left, right):
            axes.grid(axis="x", linewidth=0.4, alpha=0.5)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
        figure.savefig(path, metadata={"Date": None})


def quartiles(values: np.ndarray) -> np.ndarray:
    """Return lower quartile, median and upper quartile of each column, without its missing values."""
    columns = [column[np.isfinite(column)] for column in values.T]
    return np.array([np.quantile(each, [0.25, 0.5, 0.75]) if len(each) else [np.nan] * 3 for each in columns]).T
