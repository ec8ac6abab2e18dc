"""The section of a study on its page: what the paper claims, how it measured, and every value beside ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aucmax.compare.tuning import list_candidates
from aucmax.papers.registry import plain_name

from ..judging.cells import Cell
from ..judging.counts import GLANCE, count_at_a_glance, count_verdicts, count_wins, measure_agreement
from ..judging.criterion import AGREES, BETTER, UNDECIDABLE, WORSE
from ..judging.judging import describe_grouping
from ..judging.tables import LOSES, WINS, CurvePoint, Table, contrast, count_signs
from ..running.store import Session, Setting
from ..study import SCALINGS, Curve, Reason, Study, StudyMethod, Value
from .markdown import (
    NONE,
    escape,
    exact_text,
    fold,
    markdown_table,
    number_text,
    one_line,
    parameter_text,
    share_text,
    short_text,
    value_text,
)
from .plots import METRIC_NAMES

SIGNS = {AGREES: "✓", BETTER: "▲", WORSE: "▼", UNDECIDABLE: "?", "": "□"}  # "": not published
QUICK = "A quick run, with few rows and few candidates: do not compare its figures."


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
    """Yield a sentence that counts the verdicts on the published values."""
    total = count_verdicts([table]).total()
    if total:
        counts = zip(GLANCE, count_at_a_glance([table]), strict=True)
        listed = "; ".join(f"{count:,} {what}" for what, count in counts if count)
        agreement = measure_agreement([table])
        shares = ""
        if agreement.decidable:
            shares = (
                f" Of {agreement.decidable:,} decidable figures {share_text(agreement.true)} agree; with another "
                f"method in place of the right one it would be {share_text(agreement.substituted)}."
            )
        yield f"**Of {total:,} published figures:** {listed}.{shares}"


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
    """Yield a sentence that tells how many candidates of the larger grids were tried."""
    most = max((setting.candidates for setting in table.results.settings.values()), default=0)
    cut = []
    for label, entry in table.study.methods.items():
        least = min(filter(None, (most, entry.candidates)), default=None)
        whole, tried = (len(_candidates(entry, table.study.curve, count)) for count in (None, least))
        if tried < whole:
            cut.append(f"{escape(label)} {tried} of {whole}")
    if cut:
        yield f"Grids thinned evenly, candidates tried: {', '.join(cut)}."
    capped = [f"{escape(m.label)} {m.tuning_rows:,}" for m in table.study.methods.values() if m.tuning_rows]
    if capped:
        yield f"Parameters chosen on at most so many rows: {', '.join(capped)}."
    later = [f"{escape(m.label)} {m.first_rows:,}" for m in table.study.methods.values() if m.first_rows]
    if later:
        yield f"Parameters searched from at least so many rows on: {', '.join(later)}."
    tunes = any(len(_candidates(entry, table.study.curve, None)) > 1 for entry in table.study.methods.values())
    if tunes and any(setting.first_rows for setting in table.results.settings.values()):
        yield (
            "Where parameters are *searched from* some rows on, all are tried on these; the best quarter, but at least "
            "three, and the best with each step on four times as many; and so on, until the rows are all used "
            "(successive halving). A round uses only as many of the inner folds as it takes to test on 4,000 rows."
        )


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
        parts.append(f"at most {setting.candidates} candidates of a grid")
    if study.subjects[setting.data].tuning_rows:
        parts.append(f"parameters chosen on at most {study.subjects[setting.data].tuning_rows:,} rows")
    if setting.first_rows and any(len(_candidates(entry, study.curve, None)) > 1 for entry in own):
        parts.append(f"parameters searched from {setting.first_rows:,} rows on")
    if setting.data in table.results.groupings:
        parts.append(describe_grouping(table.results.groupings[setting.data]).rstrip("."))
    return ", ".join(parts)


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
        count = str(fewest) if fewest == most else f"{fewest} to {most}"
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
    notes: dict[Reason, int] = {}
    for metric in table.metrics:
        if len(table.metrics) > 1:
            yield f"### {METRIC_NAMES[metric]}"
        yield _overview(table, metric)
        yield fold("All figures, published and measured", *_all_figures(table, metric, notes))
    if notes:
        yield "Why figures are better or worse, and what shows it:"
        yield "\n".join(f"{n}. {_explanation(reason, _scope(table, reason))}" for reason, n in notes.items())
    yield from _wins(table)
    yield from _contrasts(table)


def _keys(cell: Cell) -> list[Reason]:
    """Return the reasons of a cell as keys of a dict."""
    return [reason._replace(data=tuple(reason.data), methods=tuple(reason.methods)) for reason in cell.reasons]


def _scope(table: Table, reason: Reason) -> str:
    """Return for which figures a reason was shown: the data sets, by method if it is of some methods only."""
    shown = [cell for cell in table.cells.values() if reason in _keys(cell)]
    by_method = {method: [cell.data for cell in shown if cell.method == method] for method in reason.methods}
    if not by_method:
        return ", ".join(escape(data) for data in dict.fromkeys(cell.data for cell in shown))
    return "; ".join(
        f"{escape(method)} on {', '.join(map(escape, dict.fromkeys(data)))}"
        for method, data in by_method.items()
        if data
    )


def _explanation(reason: Reason, scope: str) -> str:
    mended = "which makes up for three quarters of the difference or more, and by a paired t-test not by luck"
    if reason.shown_by:
        shown = reason.shown_by
    elif reason.witness:
        shown = f"{escape(reason.witness)}, which differs by as much or more on the same data."
    elif reason.remedy:
        shown = f"{escape(reason.remedy)} on the same data, {mended}."
    elif reason.alternative:
        other_side = "which lies on the other side of the published figure, and by a paired t-test not by luck"
        shown = f"{escape(reason.alternative)} on the same data, {other_side}."
    else:
        shown = f"the same method on *{escape(reason.remedy_data.format(data='data'))}*, {mended}."
    return f"*{reason.cause}* ({scope}): {one_line(reason.text)} Shown by {one_line(shown)}"


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
        )
    return f"{markdown_table(['data', *map(escape, methods)], rows)}\n\n{legend}"


def _glance(cell: Cell) -> str:
    if cell.measured is None:
        return cell.absent if cell.absent != "not run" else NONE
    mean = number_text(cell.measured.mean, cell.metric)
    sign = f" {SIGNS[cell.verdict]}" if cell.metric != "seconds" else ""
    return f"{f'**{mean}**' if cell.differs else mean}{cell.measured.mark}{sign}"


def _all_figures(table: Table, metric: str, notes: dict[Reason, int]) -> Iterator[str]:
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


def _note(study: Study, cell: Cell, notes: dict[Reason, int]) -> str:
    """Return the verdict on a cell and why; a reason is given by its number in the list below."""
    parts = []
    causes = [f"{key.cause} ({notes.setdefault(key, len(notes) + 1)})" for key in _keys(cell)]
    if cell.differs:
        parts.append(f"**{cell.verdict}**, {', '.join(causes) or 'unexplained'}")
    elif cell.verdict == AGREES:
        parts.append(AGREES)
    elif cell.verdict == UNDECIDABLE:
        parts.append(f"{UNDECIDABLE}: {cell.why_undecidable}{f'; lower by {causes[0]}' if causes else ''}")
    if cell.repeated:
        parts.append(f"counted in {study.methods[cell.method].same_as[0]}")
    if cell.printed:
        parts.append(f"printed {value_text(cell.printed, cell.metric, exact_text)}, the error halved")
    if cell.absence:
        parts.append(escape(cell.absence))
    return "; ".join(parts)


def _wins(table: Table) -> Iterator[str]:
    wins = count_wins(table)
    if wins:
        rows = [
            [escape(win.method), escape(win.printed) or NONE, _slashes(win.published), _slashes(win.measured)]
            for win in wins
        ]
        first = escape(next(iter(table.study.methods)))
        yield f"Data sets on which {first} wins, ties and loses, by paired t-tests at 95%:"
        yield markdown_table(["against", "as printed, all data", "as printed, the same data", "measured"], rows)


def _contrasts(table: Table) -> Iterator[str]:
    """Yield the differences between two methods that a paper is about, as published and as measured."""
    for first, second in table.study.contrasts:
        rows, contrasts = [], contrast(table, first, second)
        for found in contrasts:
            published = NONE if found.published is None else _signed(found.published)
            interval = f"{_signed(found.measured)} ± {found.margin:.4f}"
            rows.append([escape(found.data), published, interval, found.verdict])
        if rows:
            yield f"{escape(first)} minus {escape(second)}, with the paired interval at 95%:"
            yield markdown_table(["data", "published", "measured", "sign"], rows)
            same, opposite, neither = count_signs(contrasts)
            yield (
                f"The published sign on {same} of {same + opposite + neither} data sets, the opposite one on "
                f"{opposite}; on {neither} the interval has both."
            )


def _signed(difference: float) -> str:
    return f"{difference:+.4f}".replace("-", "\N{MINUS SIGN}")


def _slashes(counts: tuple[int, int, int] | None) -> str:
    return "/".join(map(str, counts)) if counts else NONE


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
