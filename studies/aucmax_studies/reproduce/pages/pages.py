"""The pages of the studies: Markdown for each paper, an index of them all, and their figures.

Nothing is typed by hand: the same results give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aucmax.files.atomic_write import write_atomically
from aucmax.papers import PAPERS

from ..judging.cells import ABSENT, LAG, Cell
from ..judging.counts import GLANCE, count_at_a_glance, count_causes, count_verdicts, counted_cells, measure_agreement
from ..judging.criterion import BETTER, OUTCOMES, UNDECIDABLE, WORSE
from ..judging.tables import Table, contrast, count_signs, tabulate
from ..running.store import Record, Session, gather_results
from ..study import CAUSES, Study
from .markdown import NONE, escape, fold, join_parts, markdown_table, number_text, share_text
from .plots import draw
from .sections import quick_warning, write_section

COMMAND = "aucmax reproduce"
WORDS = """<a id="words"></a>
What the verdicts mean:

- The *difference* is measured minus published. Its *interval*, at 95%, comes from both standard deviations and both
  numbers of runs. Where the paper made all runs on one split, the luck of that split is added.
- The *spread* is the median distance of a published figure from those of the other methods in the same row.
- *Agrees* (reproduced): the difference is no more than two measurements as exact as the paper's would differ by, and
  the interval is narrower than the spread, so that another method would have been noticed.
- *Better*, *worse*: the difference is more than that, and zero is outside of the interval.
- *Not decidable*: anything else. The methods differ by less than the noise, our runs are too few or scatter too much,
  the paper does not say of how many runs its deviations are, or our data were made to match the figure.

Noise of our own can make a figure undecidable, but does not make one agree."""


def write_pages(folder: Path, results_folder: Path, studies: Sequence[Study]) -> list[Path]:
    """Write a page for each paper, an index and the figures.

    Parameters
    ----------
    folder : Path
        Where the pages go; it is created if there is none.
    results_folder : Path
        Where the results are, a file ``NAME.jsonl`` for each study. Without one, its page has only published values.
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
    >>> from aucmax_studies.reproduce.pages.pages import write_pages
    >>> from aucmax_studies.reproduce.study_file import read_study
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


def _page(paper: str, tables: Sequence[Table], drawings: Mapping[str, bytes]) -> str:
    quick = any(table.quick for table in tables)
    parts = [f"# {PAPERS[paper]}", *quick_warning(quick), f"Made by `{COMMAND}`. [All papers](README.md)."]
    parts += _glance(tables)
    for table in tables:
        parts += write_section(table, bool(drawings[table.study.name]))
    return join_parts(parts)


def _glance(tables: Sequence[Table]) -> Iterator[str]:
    """Yield the table that a page begins with: what was reproduced, what not, and what cannot be told."""
    judged = [table for table in tables if table.study.published]
    if judged:
        rows = [[_link(table), *_numbers(count_at_a_glance([table]))] for table in judged]
        rows.append(["**all**", *_numbers(count_at_a_glance(judged))])
        yield markdown_table(["published figures", *GLANCE], rows)
        yield "[What these words mean](README.md#words)."


def _index(tables: Sequence[Table]) -> str:
    quick = any(table.quick for table in tables)
    rows = [[_link(table), *_counts([table])] for table in tables]
    rows.append(["**all**", *_counts(tables)])
    return join_parts(
        [
            "# The papers' tables and figures, measured again",
            *quick_warning(quick),
            f"Made by `{COMMAND}`.",
            markdown_table(["study", "fits", "published", "measured", *GLANCE[:-1], *ABSENT], rows),
            "Counts of published figures, without times; a figure that two tables have is counted once.",
            WORDS,
            *_own_methods(tables),
            *_differences(tables),
            *_power(tables),
            *_causes(tables),
            *_undecidable(tables),
            *_unexplained(tables),
            *_lagging(tables),
            *_sessions(tables),
        ]
    )


def _counts(tables: Sequence[Table]) -> list[str]:
    """Return the numbers of fits, of published values and of their verdicts as text; "" for zero."""
    verdicts = count_verdicts(tables)
    fits = sum(len(_own_records(table)) for table in tables)
    measured = sum(verdicts[verdict] for verdict in OUTCOMES)
    glance = count_at_a_glance(tables)[:-1]  # the last counts all that are absent
    return _numbers([fits, verdicts.total(), measured, *glance, *(verdicts[absent] for absent in ABSENT)])


def _numbers(counts: Sequence[int]) -> list[str]:
    return [f"{count:,}" if count else "" for count in counts]


def _own_methods(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of the methods that a paper has published, in its own studies: how far below the print they are."""
    rows = []
    for table in tables:
        for method in table.study.own_methods:
            cells = [cell for cell in counted_cells([table]) if cell.method == method and cell.measured]
            if cells:
                low = [cell for cell in cells if (cell.difference or 0.0) < -LAG]
                shown = sum(bool(cell.reasons) for cell in low)
                noise = sum(cell.within_noise for cell in low if not cell.reasons)
                counts = [len(cells), *_tally(cells), len(low), shown, noise, len(low) - shown - noise]
                rows.append([_link(table), escape(method), *_numbers(counts)])
    if rows:
        yield "## The papers' own methods"
        yield (
            "Those that a paper publishes itself, with rivals that it alone has. "
            f"How often each is lower than published by more than {LAG:g}, decidable or not, and for how many of these "
            "a run shows why. *Within the noise*: none does, but the interval of the difference contains zero, so that "
            "the luck of draws or splits is enough."
        )
        heads = ["study", "method", "measured", *OUTCOMES, "lower", "a run shows why", "within the noise", "neither"]
        yield markdown_table(heads, rows)


def _differences(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of the differences between two methods that papers are about: how often they have these signs."""
    rows = [
        [_link(table), f"{escape(first)} minus {escape(second)}", *map(str, count_signs(found))]
        for table in tables
        for first, second in table.study.contrasts
        if (found := contrast(table, first, second))
    ]
    if rows:
        yield "## Differences that a paper is about"
        yield "On how many data sets a difference of two methods has the published sign, by a paired t-test at 95%."
        yield markdown_table(["study", "difference", "the published sign", "the opposite one", "not shown"], rows)


def _tally(cells: Sequence[Cell]) -> list[int]:
    verdicts = Counter(cell.verdict for cell in cells)
    return [verdicts[outcome] for outcome in OUTCOMES]


def _power(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of the shares that agree, with the right method and with another one in its place."""
    judged = [table for table in tables if measure_agreement([table]).decidable]
    if judged:
        rows = [[_link(table), *_shares([table])] for table in judged]
        rows.append(["**all**", *_shares(judged)])
        yield "## Can this tell right from wrong?"
        yield (
            "Of the decidable figures (agrees, better or worse, where the interval is narrower than the spread), the "
            "share that agrees; and the share that would agree if the measured figure of another method of the same "
            "row stood in the place of the right one, over all such substitutions. The first should be near 95%, the "
            "second near 0."
        )
        yield markdown_table(["study", "decidable", "agree", "agree by substitution"], rows)


def _shares(tables: Sequence[Table]) -> list[str]:
    agreement = measure_agreement(tables)
    return [f"{agreement.decidable:,}", share_text(agreement.true), share_text(agreement.substituted)]


def _causes(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of the causes of better and worse figures."""
    counts = count_causes(tables)
    if counts:
        causes = [c for c in (*CAUSES, "unexplained") if counts[BETTER, c] or counts[WORSE, c]]
        rows = [[cause, *_numbers([counts[BETTER, cause], counts[WORSE, cause]])] for cause in causes]
        yield "## Why figures are better or worse"
        yield (
            "A cause counts only if a run or a table shows it, which the pages name; anything else is unexplained. "
            "*grouping*: the paper does not say which classes are positive, and exact fits of other choices differ by "
            "as much. *chance*: all runs were repeated many times with other splits or draws, and the published figure "
            "lies where another repeat would, with a probability of 95%."
        )
        yield markdown_table(["cause", BETTER, WORSE], rows)


def _undecidable(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table that tells why figures are not decidable."""
    counts = Counter(cell.why_undecidable for cell in counted_cells(tables) if cell.verdict == UNDECIDABLE)
    if counts:
        yield "## Why figures are not decidable"
        yield markdown_table(["because", "figures"], [[why, *_numbers([count])] for why, count in counts.most_common()])


def _unexplained(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a list of the figures that are worse than published and unexplained, the largest difference first."""
    found = [
        (cell.difference or 0.0, table, cell)
        for table in tables
        for cell in counted_cells([table])
        if (cell.verdict, cell.cause) == (WORSE, "unexplained")
    ]
    if found:
        rows = [
            [_link(table), escape(cell.data), escape(cell.method), cell.metric, number_text(difference, cell.metric)]
            for difference, table, cell in sorted(found, key=lambda item: item[0])
        ]
        text = markdown_table(["study", "data", "method", "metric", "difference"], rows)
        yield fold("Worse and unexplained, the largest differences first", text)


def _lagging(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a list of the figures that are lower than published but not decidable, the largest difference first."""
    found = [(cell.difference or 0.0, table, cell) for table in tables for cell in counted_cells([table]) if cell.lags]
    if found:
        rows = [
            [
                _link(table),
                escape(cell.data),
                escape(cell.method),
                cell.metric,
                number_text(difference, cell.metric),
                NONE if cell.judgement is None else number_text(cell.judgement.margin, cell.metric),
                cell.cause,
            ]
            for difference, table, cell in sorted(found, key=lambda item: item[0])
        ]
        text = markdown_table(["study", "data", "method", "metric", "difference", "±", "reason"], rows)
        yield fold(f"Lower than published by more than {LAG:g}, but not decidable, the largest differences first", text)


def _own_records(table: Table) -> list[Record]:
    """Return the records of a study without those it takes from other studies."""
    shared = {label for label, entry in table.study.methods.items() if entry.same_as}
    return [record for record in table.results.records if record.method not in shared]


def _link(table: Table) -> str:
    study = table.study
    label = f"{study.paper}, {study.label}: {study.title}"
    return f"[{escape(label)}]({study.paper.lower()}.md#{study.name}){' (quick run)' if table.quick else ''}"


def _sessions(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a table of machines, versions and dates, a row for each machine with its versions."""
    dates: dict[tuple[str, str, int, str], list[str]] = {}
    for session in (session for table in tables for session in table.results.sessions):
        key = session.machine, _versions(session), session.jobs, session.effort
        dates.setdefault(key, []).append(session.date)
    if dates:
        rows = [
            [_span(days), escape(machine), escape(versions), str(jobs), escape(effort)]
            for (machine, versions, jobs, effort), days in dates.items()
        ]
        yield "## Machines"
        yield markdown_table(["dates", "machine", "versions", "fits side by side", "effort"], rows)


def _versions(session: Session) -> str:
    return ", ".join(f"{name} {version}" for name, version in session.versions.items())


def _span(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"
