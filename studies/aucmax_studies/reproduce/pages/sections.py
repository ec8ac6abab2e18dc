"""The section of a study on its page: what the paper claims, how it measured, and every value beside ours."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aucmax.compare.tuning import list_candidates
from aucmax.papers.registry import plain_name

from ..judging.counts import count_verdicts, measure_distance
from ..judging.criterion import AGREES, BETTER, OUTCOMES, UNDECIDABLE, WORSE
from ..judging.tables import ABSENT, LOSES, WINS, Cell, CurvePoint, Table, find_edges
from ..running.groupings import ALPHA
from ..running.store import Grouping, Record, Session, Setting
from ..study import SCALINGS, Curve, Study, StudyMethod, Value
from .markdown import (
    NONE,
    escape,
    exact_text,
    fold,
    markdown_table,
    number_text,
    one_line,
    parameter_text,
    short_text,
    value_text,
)
from .plots import METRIC_NAMES

EDGE = "‡"
EDGE_LEGEND = f" {EDGE} Most runs chose a parameter at the edge of its grid."
SIGNS = {AGREES: "✓", BETTER: "▲", WORSE: "▼", UNDECIDABLE: "?", "": "□"}  # "": not published
QUICK = "A quick run, with few rows and few values of parameters: do not compare its figures."


def write_section(table: Table, drawn: bool) -> Iterator[str]:
    """Yield the paragraphs of a study; `drawn` tells whether it has a drawing."""
    study = table.study
    heading = f"{study.label}: {study.title}{' (quick run)' if table.quick else ''}"
    yield f'<a id="{study.name}"></a>'
    yield f"## {escape(heading)}"
    yield from quick_warning(table.quick)
    if study.claim:
        yield f"**The paper's claim.** {one_line(study.claim)}"
    yield f"**Protocol.** {_protocol(study)}"
    if study.note:
        yield f"**Here.** {study.note}"
    shared = sorted({entry.same_as[0] for entry in study.methods.values() if entry.same_as})
    if shared:
        labels = [label for label, entry in study.methods.items() if entry.same_as]
        yield f"Measured in {' and '.join(shared)}, and shown again here: {escape(', '.join(labels))}."
    if "AUCClassifier" in study.methods:
        yield "AUCClassifier is the classifier of this library with its defaults, not a method of the paper."
    yield from _summary(table)
    yield from _settings(table)
    if table.is_of_times:
        yield from _time_table(table)
    else:
        yield from _curve_tables(table) if study.curve else _tables(table)
    if drawn:
        what = "means, with a band of one standard deviation"
        if table.is_of_times:
            what = "median seconds of a fit"
        elif study.curve is None:
            what = "measured against published, hollow where better or worse, pale where not decidable"
        yield f"![{escape(study.label)}: {what}](figures/{study.name}.svg)"
        yield f"*{escape(study.label)}: {what}.*"


def quick_warning(quick: bool) -> list[str]:
    """Return the paragraph that warns of a quick run, if it is one."""
    return [f"> **{QUICK}**"] if quick else []


def _protocol(study: Study) -> str:
    protocol, parts = study.protocol, [SCALINGS[study.protocol.scaling]]
    generated = [bool(subject.generator) for subject in study.subjects.values()]
    if not all(generated):
        parts.append(f"{protocol.repeats} x {protocol.folds} stratified folds")
    if any(generated):
        parts.append(f"{protocol.runs} draws of generated data, {100 * protocol.test_size:g}% of the rows to test on")
    if any(entry.method.grid for entry in study.methods.values()):
        parts.append(f"parameters chosen by {protocol.inner_folds} inner folds")
    if study.curve:
        values = study.curve.values
        varied = f"from {parameter_text(values[0])} to {parameter_text(values[-1])} ({len(values)} values)"
        parts.append(f"{study.curve.label or study.curve.parameter} {varied}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _summary(table: Table) -> Iterator[str]:
    """Yield a sentence that counts the verdicts on the published values, and one on how near the measured ones are."""
    counts = count_verdicts([table])
    if counts:
        listed = ", ".join(f"{counts[verdict]:,} {verdict}" for verdict in (*OUTCOMES, *ABSENT) if counts[verdict])
        yield f"**Published figures:** {counts.total():,}: {listed}. {distance_text(table.counted)}"


def distance_text(cells: Sequence[Cell]) -> str:
    """Return a sentence on how far measured figures are from the published ones; "" if there are none."""
    found = measure_distance(cells)
    if found.median is None or found.near is None:
        return ""
    return f"Median distance {found.median:.4f}; {100 * found.near:.0f}% of {found.figures:,} within 0.01."


def _settings(table: Table) -> Iterator[str]:
    """Yield a table of the data and of what was done differently from the paper."""
    rows = []
    for data, subject in table.study.subjects.items():
        setting = table.results.settings.get(data, Setting(data, missing="Not run yet."))
        missing = subject.missing or setting.missing
        numbers = [f"{setting.rows:,}", f"{setting.columns:,}", f"{setting.positive:.3f}"]
        rows.append(
            [escape(data), *([NONE] * 3 if missing else numbers), escape(missing) or _differences(table, setting)]
        )
    yield fold("Data", markdown_table(["data", "rows", "columns", "positive", "what differs here"], rows))
    yield from _cut_grids(table)


def _cut_grids(table: Table) -> Iterator[str]:
    """Yield a sentence that tells how many combinations of the larger grids were tried."""
    most = max((setting.candidates for setting in table.results.settings.values()), default=0)
    cut = []
    for label, entry in table.study.methods.items():
        least = min(filter(None, (most, entry.candidates)), default=None)
        whole, tried = (len(_candidates(entry, table.study.curve, count)) for count in (None, least))
        if tried < whole:
            cut.append(f"{escape(label)} {tried} of {whole}")
    if cut:
        yield f"Grids thinned evenly, combinations tried: {', '.join(cut)}."
    capped = [f"{escape(m.label)} {m.tuning_rows:,}" for m in table.study.methods.values() if m.tuning_rows]
    if capped:
        yield f"Parameters chosen on at most so many rows: {', '.join(capped)}."
    later = [f"{escape(m.label)} {m.first_rows:,}" for m in table.study.methods.values() if m.first_rows]
    if later:
        yield f"Parameters searched by halving, from at least so many rows: {', '.join(later)}."
    yield from _edges(table)


def _edges(table: Table) -> Iterator[str]:
    """Yield a sentence on the parameters that most fits chose at an end of their grid."""
    chosen: Counter[tuple[str, str, str]] = Counter()
    runs: Counter[tuple[str, str, str]] = Counter()
    by_fit: dict[tuple[str, str], list[Record]] = {}
    for record in table.results.records:
        by_fit.setdefault((record.data, record.method), []).append(record)
    for data, method in by_fit.keys() & {key[:2] for key in table.cells}:
        records = by_fit[data, method]
        for edge in find_edges(table.study, data, method, records):
            chosen[method, edge.parameter, edge.end] += edge.chosen
            runs[method, edge.parameter, edge.end] += edge.runs
    listed = [
        f"{key[1]} of {escape(key[0])} at its {key[2]} in {count:,} of {runs[key]:,}"
        for key, count in sorted(chosen.items())
        if 2 * count > runs[key]
    ]
    if listed:
        yield f"Chosen at the edge of the paper's grid in most fits: {'; '.join(listed)}."


def _differences(table: Table, setting: Setting) -> str:
    """Return what was left out of the protocol, and what other choices of the classes give."""
    study, parts = table.study, []
    if setting.rows < setting.all_rows:
        parts.append(f"{setting.rows:,} of {setting.all_rows:,} rows")
    parts += _fewer_runs(table, setting)
    if study.curve:
        measured = {record.x for record in table.results.records if record.data == setting.data} - {None}
        if 0 < len(measured) < len(study.curve.values):
            parts.append(f"{len(measured)} of {len(study.curve.values)} points")
    own = [entry for entry in study.methods.values() if not entry.same_as]
    if study.subjects[setting.data].candidates and setting.candidates:
        parts.append(f"at most {setting.candidates} combinations of a grid")
    if study.subjects[setting.data].tuning_rows:
        parts.append(f"parameters chosen on at most {study.subjects[setting.data].tuning_rows:,} rows")
    if setting.first_rows and any(len(_candidates(entry, study.curve, None)) > 1 for entry in own):
        parts.append(f"parameters searched by halving from {setting.first_rows:,} rows")
    if setting.data in table.results.groupings:
        parts.append(_other_classes(table.results.groupings[setting.data]))
    return ", ".join(parts)


def _other_classes(grouping: Grouping) -> str:
    """Return the AUCs of an exact fit for other choices of the positive classes."""
    low, median, high, here = (f"{x:.4f}" for x in (grouping.lowest, grouping.median, grouping.highest, grouping.here))
    return (
        "the paper does not say which classes are positive: the exact minimum of the square loss at alpha = "
        f"{ALPHA:g}, which is not tuned, has {here} with these, and {low} to {high} with {grouping.choices:,} other "
        f"choices (median {median})"
    )


def _fewer_runs(table: Table, setting: Setting) -> Iterator[str]:
    """Yield how many runs there are, if not as many as in the paper: the fewest and the most of all methods."""
    protocol = table.study.protocol
    if table.study.subjects[setting.data].generator:
        whole, what = protocol.runs, "draws"
    else:
        whole, what = protocol.folds * protocol.repeats, "splits"
    counts = {cell.runs for cell in table.cells.values() if cell.data == setting.data and cell.runs}
    fewest, most = min(counts, default=setting.runs), max(counts, default=setting.runs)
    if (fewest, most) != (whole, whole):
        count = str(fewest) if fewest == most else f"{fewest} to {most} (by method)"
        if what == "splits" and fewest == most and fewest % protocol.folds == 0:
            yield f"{fewest // protocol.folds} x {protocol.folds} folds"
        else:
            yield f"{count} {what}" if fewest > whole else f"{count} of {whole} {what}"


def _candidates(entry: StudyMethod, curve: Curve | None, most: int | None) -> list[dict[str, Any]]:
    """Return the candidates of a method, without the parameter that varies along the curve."""
    along = plain_name(entry.parameter or curve.parameter) if curve and curve.of == "method" else ""
    grid = {name: values for name, values in entry.method.grid.items() if plain_name(name) != along}
    return list_candidates(grid, sys.maxsize, most)


def _tables(table: Table) -> Iterator[str]:
    """Yield for each metric an overview of what was measured, then every value beside the published one."""
    notes: dict[str, int] = {}
    for metric in table.metrics:
        if len(table.metrics) > 1:
            yield f"### {METRIC_NAMES[metric]}"
        yield _overview(table, metric)
        yield fold("All figures, published and measured", *_all_figures(table, metric, notes))
    if notes:
        yield "Why figures are better or worse, with the run that shows it:"
        yield "\n".join(f"{n}. {_explanation(table, text)}" for text, n in notes.items())
    yield from _readings(table)


def _explanation(table: Table, text: str) -> str:
    """Return a reason with the figures that it is of, and beside them those of the run that shows it."""
    figures = []
    for cell in table.cells.values():
        if cell.reason and cell.reason.text == text and cell.published and cell.measured:
            run = cell.reason.run.format(data=cell.data)
            shown = table.cells[*((cell.data, run) if run in table.study.methods else (run, cell.method)), cell.metric]
            published, other = (
                exact_text(each.published.mean, cell.metric) if each.published else "" for each in (cell, shown)
            )
            measured, by_run = (
                number_text(each.measured.mean, cell.metric) if each.measured else NONE for each in (cell, shown)
            )
            beside = f", published {other}" if other else ""
            figures.append(
                f"{escape(cell.method)} on {escape(cell.data)} {measured}, published {published} "
                f"({escape(run)}: {by_run}{beside})"
            )
    return f"{one_line(text)} {'; '.join(figures)}."


def _readings(table: Table) -> Iterator[str]:
    """Yield how near a published method is, and rows such as "SOLAM, unit rows" that read the paper in another way."""
    rows = []
    for metric in table.metrics:
        published = table.study.published.get(metric, {})
        methods = dict.fromkeys(method for _, method in published)
        for method in methods:
            others = [m for m in table.study.methods if m.startswith(f"{method}, ") and m not in methods]
            for reading in (method, *others) if others else ():
                # with what was published of the method, on the data that all of the rows have
                cells = [
                    table.cells[data, method, metric]._replace(measured=table.cells[data, reading, metric].measured)
                    for data, known in published
                    if known == method and all(table.cells[data, m, metric].measured for m in (method, *others))
                ]
                judged = [cell.judgement.tolerance - abs(cell.difference or 0) for cell in cells if cell.judgement]
                found = measure_distance(cells)
                if found.median is not None:
                    near = f"{sum(left >= 0 for left in judged)} of {len(judged)}"
                    rows.append(
                        [escape(reading), METRIC_NAMES[metric], str(found.figures), f"{found.median:.4f}", near]
                    )
    if rows:
        header = ["row", "of", "figures", "median distance", "within the tolerance of the strict criterion"]
        yield fold("How near other readings of the paper are, and our defaults", markdown_table(header, rows))


def _overview(table: Table, metric: str) -> str:
    methods = table.study.methods
    rows = [
        [escape(data), *(_glance(table.cells[data, method, metric]) for method in methods)]
        for data in table.study.subjects
    ]
    legend = "Measured means."
    if metric != "seconds":
        first = escape(next(iter(methods)))
        legend = (
            "Measured means: ✓ reproduced, ▲ better and ▼ worse than published, ? not decidable, □ not published. "
            f"{WINS} {first} is significantly better, {LOSES} worse, by a paired t-test at 95%."
            f"{EDGE_LEGEND if any(c.edges for c in table.cells.values()) else ''}"
        )
    return f"{markdown_table(['data', *map(escape, methods)], rows)}\n\n{legend}"


def _glance(cell: Cell) -> str:
    if cell.measured is None:
        return cell.absent if cell.absent != "not run" else NONE
    mean = number_text(cell.measured.mean, cell.metric)
    sign = f" {SIGNS[cell.verdict]}{EDGE if cell.edges else ''}" if cell.metric != "seconds" else ""
    return f"{f'**{mean}**' if cell.differs else mean}{cell.measured.mark}{sign}"


def _all_figures(table: Table, metric: str, notes: dict[str, int]) -> Iterator[str]:
    """Yield a table with a row for each value; the times stand beside the first metric."""
    timed = metric == table.metrics[0] != "seconds"
    times_header = ["seconds"] if timed else []
    header = ["data", "method", "published", "measured", "difference", "spread", "runs", *times_header, "verdict"]
    rows = []
    for data in table.study.subjects:
        for method in table.study.methods:
            cell = table.cells[data, method, metric]
            if not cell.published and not cell.measured and cell.absent != "failed":
                continue  # neither published nor measured
            times = [_times(table.cells[data, method, "seconds"])] if timed else []
            figures = value_text(cell.published, metric, exact_text), value_text(cell.measured, metric)
            compared = _difference(cell), _spread(cell), str(cell.runs or NONE)
            row = [escape(data), escape(method), *figures, *compared, *times]
            rows.append([*row, _note(table.study, cell, notes)])
    yield markdown_table(header, rows)
    if timed and table.results.sessions:
        yield _machines(table.results.sessions)


def _machines(sessions: Sequence[Session]) -> str:
    machines = "; ".join(dict.fromkeys(escape(session.machine) for session in sessions))
    jobs = max(session.jobs for session in sessions)
    crowded = f", up to {jobs} fits side by side" if jobs > 1 else ""
    return f"Seconds are means of a fit, the published ones in brackets. Measured on: {machines}{crowded}."


def _note(study: Study, cell: Cell, notes: dict[str, int]) -> str:
    """Return the verdict on a cell and why; a reason is given by its number in the list below."""
    parts = []
    if cell.differs:
        number = f" ({notes.setdefault(cell.reason.text, len(notes) + 1)})" if cell.reason else ""
        parts.append(f"**{cell.verdict}**{number}")
    elif cell.verdict == AGREES:
        parts.append(AGREES)
    elif cell.verdict == UNDECIDABLE:
        parts.append(f"{UNDECIDABLE}: {cell.why_undecidable}")
    if cell.repeated:
        parts.append(f"counted in {study.methods[cell.method].same_as[0]}")
    if cell.printed:
        parts.append(f"printed {value_text(cell.printed, cell.metric, exact_text)}, the error halved")
    parts += [edge.text for edge in cell.edges]
    if cell.absence:
        parts.append(escape(cell.absence))
    return "; ".join(parts)


def _signed(difference: float) -> str:
    return f"{difference:+.4f}".replace("-", "\N{MINUS SIGN}")


# Times and curves


def _time_table(table: Table) -> Iterator[str]:
    """Yield the median times, with their ratios to those of the first method, then why some are missing."""
    first, *_ = methods = list(table.study.methods)
    rows = [
        [
            escape(data),
            *(_time(table.cells[data, method, "seconds"], table.cells[data, first, "seconds"]) for method in methods),
        ]
        for data in table.study.subjects
    ]
    legend = f"Median seconds of a fit, and in brackets how many times those of {escape(first)} they are."
    yield f"{markdown_table(['data', *map(escape, methods)], rows)}\n\n{legend}"
    yield from _failures(table)


def _time(cell: Cell, first: Cell) -> str:
    if cell.median is None:
        return _glance(cell)
    ratio = f" ({short_text(cell.median / first.median)})" if first.median and cell.method != first.method else ""
    return f"{short_text(cell.median)}{ratio}"


def _curve_tables(table: Table) -> Iterator[str]:
    """Yield the range of every curve, then the points of each data set."""
    for metric in table.metrics:
        if len(table.metrics) > 1:
            yield f"### {METRIC_NAMES[metric]}"
        yield _ranges(table, metric)
        for name, lines in table.panels.items():
            if any(_points_of(table, key, metric) for key in lines.values()):
                yield fold(f"{escape(name)}, every point", _point_table(table, lines, metric))
    yield from _failures(table)


def _ranges(table: Table, metric: str) -> str:
    labels = dict.fromkeys(label for lines in table.panels.values() for label in lines)
    rows = [
        [escape(name), *(_range(table, (*lines[label], metric)) if label in lines else NONE for label in labels)]
        for name, lines in table.panels.items()
    ]
    legend = "Lowest to highest mean along the curve, and where the highest is."
    return f"{markdown_table(['data', *map(escape, labels)], rows)}\n\n{legend}"


def _range(table: Table, key: tuple[str, str, str]) -> str:
    points = _points_of(table, key[:2], key[2])
    if not points:
        return value_text(table.cells[key].measured, key[2]) if table.cells[key].measured else _glance(table.cells[key])
    low, high = (extreme(points, key=lambda point: point.mean) for extreme in (min, max))
    return f"{number_text(low.mean, key[2])} to {number_text(high.mean, key[2])} at {parameter_text(high.x)}"


def _points_of(table: Table, key: tuple[str, str], metric: str) -> Sequence[CurvePoint]:
    return table.curves[*key, metric].points if (*key, metric) in table.curves else ()


def _point_table(table: Table, lines: Mapping[str, tuple[str, str]], metric: str) -> str:
    """Return a table with a row for each value of the parameter, and one for the methods that do not depend on it."""
    assert table.study.curve is not None  # only figures have curves
    at: dict[tuple[str, float], CurvePoint] = {
        (label, point.x): point for label, key in lines.items() for point in _points_of(table, key, metric)
    }
    values = sorted({x for _, x in at})
    rows = [[parameter_text(x), *(_point(at.get((label, x)), metric) for label in lines)] for x in values]
    constants = [table.cells[*key, metric].measured for key in lines.values()]
    if any(constants):
        rows.append(["any", *(value_text(constant, metric) for constant in constants)])
    label = table.study.curve.label or table.study.curve.parameter
    return markdown_table([escape(label), *map(escape, lines)], rows)


def _point(point: CurvePoint | None, metric: str) -> str:
    return NONE if point is None else value_text(Value(point.mean, point.std), metric)


def _failures(table: Table) -> Iterator[str]:
    """Yield why points and reference lines are missing."""
    points = [(*key, failure) for key, line in table.curves.items() for failure in line.failures]
    constants = [(*key, cell.absence) for key, cell in table.cells.items() if cell.absent == "failed"]
    lines = (
        f"- {escape(data)}, {escape(method)}: {escape(failure)}" for data, method, _, failure in points + constants
    )
    once = dict.fromkeys(lines)  # a failed fit fails for every metric
    if once:
        yield "Left out:"
        yield "\n".join(once)


def _difference(cell: Cell) -> str:
    """Return the difference, with its interval if it is known."""
    if cell.difference is None or cell.metric == "seconds":
        return NONE
    difference = _signed(cell.difference)
    return f"{difference} ± {cell.judgement.margin:.4f}" if cell.judgement else difference


def _spread(cell: Cell) -> str:
    return f"{cell.judgement.spread:.4f}" if cell.judgement else NONE


def _times(cell: Cell) -> str:
    measured = number_text(cell.measured.mean, "seconds") if cell.measured else NONE
    return f"{measured} ({exact_text(cell.published.mean, 'seconds')})" if cell.published else measured
