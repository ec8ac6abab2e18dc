"""The pages of the studies: Markdown for each paper, an index of them all, and their figures.

Nothing is typed by hand: the same results give the same bytes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..algorithms import PAPERS
from ..compare.methods import leaf
from ..compare.tuning import list_candidates
from ..files.atomic_write import write_atomically
from .plots import METRIC_NAMES, draw
from .store import Record, Session, Setting, gather_results
from .study import Contender, Curve, Figure, Reason, Study
from .tables import (
    ABSENT,
    BETTER,
    MEASURED,
    WORSE,
    Cell,
    Point,
    Table,
    count_verdicts,
    count_wins,
    describe_grouping,
    tabulate,
)

COMMAND = "aucmax reproduce"
QUICK = "A quick run: rows capped, few candidates: not to be compared."
NONE = "\N{EN DASH}"
SCALINGS = {
    "none": "columns as they are",
    "minmax": "columns scaled to [-1, 1]",
    "standard": "columns scaled to mean 0 and variance 1",
    "unit": "rows scaled to length 1",
    "centred unit": "columns centred, then rows scaled to length 1",
    "minmax unit": "columns scaled to [-1, 1], then rows to length 1",
}
LONG = 12  # rows that a table may have before it is folded away


def write_pages(folder: Path, results_folder: Path, studies: Sequence[Study]) -> list[Path]:
    """Write a page for each paper, an index and the figures.

    Parameters
    ----------
    folder : Path
        Where the pages go; it is made if there is none.
    results_folder : Path
        Where the results are, a file ``NAME.jsonl`` for each study. A study without one has only published figures.
    studies : sequence of Study
        In the order of the pages.

    Returns
    -------
    paths : list of Path
        What was written, the index first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucmax.reproduce.pages import write_pages
    >>> from aucmax.reproduce.study import read_study
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_pages(Path(folder), Path(folder, "results"), [read_study("opauc-table-2")])
    ...     [path.name for path in paths], paths[1].read_text(encoding="utf-8").splitlines()[0]
    (['README.md', 'opauc.md'], '# Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization')
    """
    tables = [tabulate(study, gather_results(results_folder, study)) for study in studies]
    drawings = {table.study.name: draw(table) for table in tables}
    files = {Path("README.md"): _index(tables).encode()}
    for paper in dict.fromkeys(study.paper for study in studies):
        of_paper = [table for table in tables if table.study.paper == paper]
        files[Path(f"{paper.lower()}.md")] = _page(paper, of_paper, drawings).encode()
    files |= {Path("figures", f"{name}.svg"): drawing for name, drawing in drawings.items() if drawing}
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / path, lambda file, content=content: file.write(content))  # type: ignore[misc]
    return [folder / path for path in files]


# The pages


def _page(paper: str, tables: Sequence[Table], drawings: Mapping[str, bytes]) -> str:
    quick = any(table.quick for table in tables)
    parts = [f"# {PAPERS[paper]}", *_quick_warning(quick), f"Made by `{COMMAND}`. [All papers](README.md)."]
    for table in tables:
        parts += _section(table, bool(drawings[table.study.name]))
    return _join(parts)


def _index(tables: Sequence[Table]) -> str:
    quick = any(table.quick for table in tables)
    rows = [[_link(table), *_counts([table])] for table in tables]
    rows.append(["**all**", *_counts(tables)])
    return _join(
        [
            "# The papers' tables and figures, measured again",
            *_quick_warning(quick),
            f"Made by `{COMMAND}`.",
            "Published figures, times aside: how many were measured here, and how many of these lie within one "
            "standard deviation, the larger of the published and the measured one. Those beyond are counted by the "
            "cause of the difference, which the pages explain; *undecided* are without any standard deviation.",
            _markdown_table(["study", "fits", "published", "measured", *MEASURED, *ABSENT], rows),
            *_sessions(tables),
        ]
    )


def _counts(tables: Sequence[Table]) -> list[str]:
    """Return how many fits and published figures there are, and what became of these; nothing for none."""
    verdicts = count_verdicts(tables)
    fits = sum(len(_own_records(table)) for table in tables)
    measured = sum(verdicts[verdict] for verdict in MEASURED)
    counts = fits, verdicts.total(), measured, *(verdicts[verdict] for verdict in (*MEASURED, *ABSENT))
    return [f"{count:,}" if count else "" for count in counts]


def _own_records(table: Table) -> list[Record]:
    """Return the records of a study without those that it shares with others."""
    shared = {label for label, contender in table.study.contenders.items() if contender.same_as}
    return [record for record in table.results.records if record.method not in shared]


def _link(table: Table) -> str:
    study = table.study
    label = f"{study.paper}, {study.label}: {study.title}"
    return f"[{_escape(label)}]({study.paper.lower()}.md#{study.name}){' (quick run)' if table.quick else ''}"


def _sessions(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of where and when it was measured, a row for each machine with its versions."""
    dates: dict[tuple[str, str, int, str], list[str]] = {}
    for session in (session for table in tables for session in table.results.sessions):
        key = session.machine, _versions(session), session.jobs, session.effort
        dates.setdefault(key, []).append(session.date)
    if dates:
        rows = [
            [_span(days), _escape(machine), _escape(versions), str(jobs), _escape(effort)]
            for (machine, versions, jobs, effort), days in dates.items()
        ]
        yield "## Machines"
        yield _markdown_table(["dates", "machine", "versions", "fits side by side", "effort"], rows)


def _versions(session: Session) -> str:
    return ", ".join(f"{name} {version}" for name, version in session.versions.items())


def _span(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"


# The section of a study


def _section(table: Table, drawn: bool) -> Iterator[str]:
    study = table.study
    heading = f"{study.label}: {study.title}{' (quick run)' if table.quick else ''}"
    yield f'<a id="{study.name}"></a>'
    yield f"## {_escape(heading)}"
    yield from _quick_warning(table.quick)
    if study.claim:
        yield f"**The paper's claim.** {_one_line(study.claim)}"
    yield f"**Protocol.** {_protocol(study)}"
    if study.note:
        yield f"**Here.** {study.note}"
    shared = sorted({contender.same_as[0] for contender in study.contenders.values() if contender.same_as})
    if shared:
        labels = [label for label, contender in study.contenders.items() if contender.same_as]
        yield f"Measured in {' and '.join(shared)}, and shown again here: {_escape(', '.join(labels))}."
    yield from _summary(table)
    yield from _settings(table)
    yield from _curve_tables(table) if study.curve else _tables(table)
    if drawn:
        what = "means, with a band of one standard deviation"
        if study.curve is None:
            what = "measured against published, hollow where more than one standard deviation apart"
        yield f"![{_escape(study.label)}: {what}](figures/{study.name}.svg)"
        yield f"*{_escape(study.label)}: {what}.*"


def _quick_warning(quick: bool) -> list[str]:
    return [f"> **{QUICK}**"] if quick else []


def _protocol(study: Study) -> str:
    protocol, parts = study.protocol, [SCALINGS[study.protocol.scaling]]
    generated = [bool(subject.generator) for subject in study.subjects.values()]
    if not all(generated):
        parts.append(f"{protocol.repeats} x {protocol.folds} stratified folds")
    if any(generated):
        parts.append(f"{protocol.runs} draws of generated data, {100 * protocol.test_size:g}% of the rows to test on")
    if any(contender.method.grid for contender in study.contenders.values()):
        parts.append(f"parameters chosen by {protocol.inner_folds} inner folds")
    if study.curve:
        values = study.curve.values
        varied = f"from {_place(values[0])} to {_place(values[-1])} ({len(values)} values)"
        parts.append(f"{study.curve.label or study.curve.parameter} {varied}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _summary(table: Table) -> Iterator[str]:
    """Yield in a sentence what became of the published figures."""
    verdicts = count_verdicts([table])
    if verdicts:
        measured = sum(verdicts[verdict] for verdict in MEASURED)
        listed = ", ".join(f"{verdicts[verdict]:,} {verdict}" for verdict in MEASURED if verdicts[verdict])
        yield f"**Measured: {measured:,} of {verdicts.total():,} published figures{f' ({listed})' if listed else ''}.**"


def _settings(table: Table) -> Iterator[str]:
    """Yield a table of the data, with what was done otherwise than in the paper."""
    rows = []
    for data, subject in table.study.subjects.items():
        setting = table.results.settings.get(data, Setting(data, missing="Not run yet."))
        missing = subject.missing or setting.missing
        numbers = [f"{setting.rows:,}", f"{setting.columns:,}", f"{setting.positive:.3f}"]
        rows.append(
            [_escape(data), *([NONE] * 3 if missing else numbers), _escape(missing) or _otherwise(table, setting)]
        )
    yield _fold("Data", _markdown_table(["data", "rows", "columns", "positive", "what is otherwise here"], rows))
    yield from _cut_grids(table)


def _cut_grids(table: Table) -> Iterator[str]:
    """Yield in a sentence how many candidates of larger grids were tried."""
    most = max((setting.candidates for setting in table.results.settings.values()), default=0)
    cut = []
    for label, contender in table.study.contenders.items():
        whole, tried = (len(_candidates(contender, table.study.curve, count)) for count in (None, most or None))
        if tried < whole:
            cut.append(f"{_escape(label)} {tried} of {whole}")
    if cut:
        yield f"Grids thinned evenly, candidates tried: {', '.join(cut)}."


def _otherwise(table: Table, setting: Setting) -> str:
    """Return in words where less was done than the protocol asks for, and what is known of the classes."""
    study, parts = table.study, []
    if setting.rows < setting.all_rows:
        parts.append(f"{setting.rows:,} of {setting.all_rows:,} rows")
    parts += _fewer_runs(study, setting)
    if study.curve:
        measured = {record.x for record in table.results.records if record.data == setting.data} - {None}
        if 0 < len(measured) < len(study.curve.values):
            parts.append(f"{len(measured)} of {len(study.curve.values)} points")
    own = [contender for contender in study.contenders.values() if not contender.same_as]
    if setting.tuning_rows and any(len(_candidates(contender, study.curve, None)) > 1 for contender in own):
        parts.append(f"parameters chosen on {setting.tuning_rows:,} rows")
    if setting.data in table.results.groupings:
        parts.append(describe_grouping(table.results.groupings[setting.data]).rstrip("."))
    return ", ".join(parts)


def _fewer_runs(study: Study, setting: Setting) -> Iterator[str]:
    protocol = study.protocol
    if study.subjects[setting.data].generator:
        whole, what, repeats, rest = protocol.runs, "draws", 0, 0
    else:
        whole, what = protocol.folds * protocol.repeats, "splits"
        repeats, rest = divmod(setting.runs, protocol.folds)
    if setting.runs != whole:
        of_folds = repeats and not rest
        yield f"{repeats} x {protocol.folds} folds" if of_folds else f"{setting.runs} of {whole} {what}"


def _candidates(contender: Contender, curve: Curve | None, most: int | None) -> list[dict[str, Any]]:
    """Return the candidates of a method, the parameter that a curve goes along left out."""
    along = leaf(contender.parameter or curve.parameter) if curve and curve.of == "method" else ""
    grid = {name: values for name, values in contender.method.grid.items() if leaf(name) != along}
    return list_candidates(grid, sys.maxsize, most)


def _tables(table: Table) -> Iterator[str]:
    """Yield for each metric what was measured at a glance, then every figure beside the published one."""
    notes: dict[Reason, int] = {}
    for metric in table.metrics:
        if len(table.metrics) > 1:
            yield f"### {METRIC_NAMES[metric]}"
        yield _overview(table, metric)
        yield _fold("All figures, published and measured", *_all_figures(table, metric, notes))
    if notes:
        yield "Why figures differ by more than a standard deviation:"
        yield "\n".join(f"{n}. {_explanation(reason)}" for reason, n in notes.items())
    yield from _wins(table)


def _explanation(reason: Reason) -> str:
    scope = ", ".join(map(_escape, (*reason.data, *reason.methods)))
    return f"*{reason.cause}*{f' ({scope})' if scope else ''}: {_one_line(reason.text)}"


def _overview(table: Table, metric: str) -> str:
    contenders = table.study.contenders
    rows = [
        [_escape(data), *(_glance(table.cells[data, method, metric]) for method in contenders)]
        for data in table.study.subjects
    ]
    legend = "Measured means."
    if metric != "seconds":
        first = _escape(next(iter(contenders)))
        legend = (
            "Measured means; in bold those that are more than one standard deviation from the published ones. "
            f"{BETTER} {first} is significantly better, {WORSE} worse, by a paired t-test at 95%."
        )
    return f"{_markdown_table(['data', *map(_escape, contenders)], rows)}\n\n{legend}"


def _glance(cell: Cell) -> str:
    if cell.measured is None:
        return cell.absent if cell.absent != "not run" else NONE
    mean = _number(cell.measured.mean, cell.metric)
    return f"{f'**{mean}**' if cell.beyond else mean}{cell.measured.mark}"


def _all_figures(table: Table, metric: str, notes: dict[Reason, int]) -> Iterator[str]:
    """Yield a row for each figure; the times stand beside the first metric."""
    timed = metric == table.metrics[0] != "seconds"
    header = ["data", "method", "published", "measured", "difference", "runs", *(["seconds"] if timed else []), "note"]
    rows = []
    for data in table.study.subjects:
        for method in table.study.contenders:
            cell = table.cells[data, method, metric]
            if not cell.published and not cell.measured and cell.absent != "failed":
                continue  # neither the paper nor we have it
            times = [_times(table.cells[data, method, "seconds"])] if timed else []
            figures = _figure(cell.published, metric, _exact), _figure(cell.measured, metric)
            row = [_escape(data), _escape(method), *figures, _difference(cell), str(cell.runs or NONE), *times]
            rows.append([*row, _note(cell, notes)])
    yield _markdown_table(header, rows)
    if timed and table.results.sessions:
        yield _machines(table.results.sessions)


def _machines(sessions: Sequence[Session]) -> str:
    machines = "; ".join(dict.fromkeys(_escape(session.machine) for session in sessions))
    jobs = max(session.jobs for session in sessions)
    crowded = f", up to {jobs} fits side by side" if jobs > 1 else ""
    return f"Seconds are means of a fit, the published ones in brackets. Measured on: {machines}{crowded}."


def _note(cell: Cell, notes: dict[Reason, int]) -> str:
    """Return what is to be said of a cell; a reason is a number of the list below."""
    parts = []
    if cell.printed:
        parts.append(f"printed {_figure(cell.printed, cell.metric, _exact)}, the error halved")
    if cell.beyond and cell.reason:
        key = cell.reason._replace(data=tuple(cell.reason.data), methods=tuple(cell.reason.methods))
        parts.append(f"**beyond**, {key.cause} ({notes.setdefault(key, len(notes) + 1)})")
    elif cell.beyond:
        parts.append("**beyond**, unexplained")
    if cell.absence:
        parts.append(_escape(cell.absence))
    return "; ".join(parts)


def _wins(table: Table) -> Iterator[str]:
    wins = count_wins(table)
    if wins:
        rows = [
            [_escape(win.method), _escape(win.printed) or NONE, _slashes(win.published), _slashes(win.measured)]
            for win in wins
        ]
        first = _escape(next(iter(table.study.contenders)))
        yield f"Data sets on which {first} wins, ties and loses, by paired t-tests at 95%:"
        yield _markdown_table(["against", "as printed, all data", "as printed, the same data", "measured"], rows)


def _slashes(counts: tuple[int, int, int] | None) -> str:
    return "/".join(map(str, counts)) if counts else NONE


# Curves


def _curve_tables(table: Table) -> Iterator[str]:
    """Yield the range of every curve, then the points of each data set."""
    for metric in table.metrics:
        if len(table.metrics) > 1:
            yield f"### {METRIC_NAMES[metric]}"
        yield _ranges(table, metric)
        for data in table.study.subjects:
            if any(key[0] == data and key[2] == metric and line.points for key, line in table.lines.items()):
                yield _fold(f"{_escape(data)}, every point", _points(table, data, metric))
    yield from _failures(table)


def _ranges(table: Table, metric: str) -> str:
    rows = [
        [_escape(data), *(_range(table, (data, method, metric)) for method in table.study.contenders)]
        for data in table.study.subjects
    ]
    legend = "Lowest to highest mean along the curve, and where the highest is."
    return f"{_markdown_table(['data', *map(_escape, table.study.contenders)], rows)}\n\n{legend}"


def _range(table: Table, key: tuple[str, str, str]) -> str:
    points = table.lines[key].points if key in table.lines else ()
    if not points:
        return _figure(table.cells[key].measured, key[2]) if table.cells[key].measured else _glance(table.cells[key])
    low, high = (extreme(points, key=lambda point: point.mean) for extreme in (min, max))
    return f"{_number(low.mean, key[2])} to {_number(high.mean, key[2])} at {_place(high.x)}"


def _points(table: Table, data: str, metric: str) -> str:
    """Return a row for each value of the parameter, and one for the methods that do not depend on it."""
    assert table.study.curve is not None  # a table of lines is that of a figure
    methods = table.study.contenders
    at: dict[tuple[str, float], Point] = {
        (method, point.x): point
        for method in methods
        for point in (table.lines[data, method, metric].points if (data, method, metric) in table.lines else ())
    }
    values = sorted({x for _, x in at})
    rows = [[_place(x), *(_point(at.get((method, x)), metric) for method in methods)] for x in values]
    constants = {method: table.cells[data, method, metric].measured for method in methods}
    if any(constants.values()):
        rows.append(["any", *(_figure(constants[method], metric) for method in methods)])
    label = table.study.curve.label or table.study.curve.parameter
    return _markdown_table([_escape(label), *map(_escape, methods)], rows)


def _point(point: Point | None, metric: str) -> str:
    return NONE if point is None else _figure(Figure(point.mean, point.std), metric)


def _failures(table: Table) -> Iterator[str]:
    """Yield why points and constants are missing from curves."""
    points = [(*key, failure) for key, line in table.lines.items() for failure in line.failures]
    constants = [(*key, cell.absence) for key, cell in table.cells.items() if cell.absent == "failed"]
    lines = (
        f"- {_escape(data)}, {_escape(method)}: {_escape(failure)}" for data, method, _, failure in points + constants
    )
    once = dict.fromkeys(lines)  # what failed has none of the metrics
    if once:
        yield "Left out:"
        yield "\n".join(once)


# Text


def _number(value: float, metric: str) -> str:
    """Return a number with the papers' four decimals; a time with two or three digits."""
    if metric != "seconds":
        return f"{value:.4f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def _figure(figure: Figure | None, metric: str, number: Callable[[float, str], str] = _number) -> str:
    if figure is None:
        return NONE
    std = "" if figure.std is None else f" ± {number(figure.std, metric)}"
    return f"{number(figure.mean, metric)}{std}{figure.mark}"


def _exact(value: float, metric: str) -> str:
    """Return a published number with all of its digits."""
    text = f"{value:,.6f}".rstrip("0").rstrip(".")
    return text if metric == "seconds" or len(text.partition(".")[2]) > 4 else f"{value:.4f}"


def _place(x: float) -> str:
    """Return a value of the parameter of a curve."""
    return f"{x:,.0f}" if x == round(x) else f"{x:.3g}"


def _difference(cell: Cell) -> str:
    if cell.difference is None or cell.metric == "seconds":
        return NONE
    return f"{cell.difference:+.4f}".replace("-", "\N{MINUS SIGN}")


def _times(cell: Cell) -> str:
    measured = _number(cell.measured.mean, "seconds") if cell.measured else NONE
    return f"{measured} ({_exact(cell.published.mean, 'seconds')})" if cell.published else measured


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_one_line(cell) for cell in line)} |" for line in lines)


def _fold(title: str, *parts: str) -> str:
    """Return parts, folded away behind their title where they are long."""
    text = "\n\n".join(parts)
    if text.count("\n") <= LONG:
        return f"*{title}:*\n\n{text}"
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _escape(text: str) -> str:
    """Return text that Markdown shows as it is, in a table too."""
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
