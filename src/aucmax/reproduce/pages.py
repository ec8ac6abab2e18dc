"""The pages of the studies: Markdown for each paper, an index of them all, and their figures.

Nothing is typed by hand: the same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..algorithms import PAPERS
from ..files.atomic_write import write_atomically
from .markdown import escape, join_parts, markdown_table
from .plots import draw
from .sections import quick_warning, write_section
from .store import Record, Session, gather_results
from .study import Study
from .tables import ABSENT, MEASURED, Table, count_verdicts, tabulate

COMMAND = "aucmax reproduce"


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
    >>> from aucmax.reproduce.pages import write_pages
    >>> from aucmax.reproduce.study_file import read_study
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
    for table in tables:
        parts += write_section(table, bool(drawings[table.study.name]))
    return join_parts(parts)


def _index(tables: Sequence[Table]) -> str:
    quick = any(table.quick for table in tables)
    rows = [[_link(table), *_counts([table])] for table in tables]
    rows.append(["**all**", *_counts(tables)])
    return join_parts(
        [
            "# The papers' tables and figures, measured again",
            *quick_warning(quick),
            f"Made by `{COMMAND}`.",
            "How many of the published figures (without times) were measured here, and how many of these lie within "
            "one standard deviation: the larger of the published and the measured one. Those beyond it are counted by "
            "the cause of the difference, which the pages explain. *Undecided* ones have no standard deviation.",
            markdown_table(["study", "fits", "published", "measured", *MEASURED, *ABSENT], rows),
            *_sessions(tables),
        ]
    )


def _counts(tables: Sequence[Table]) -> list[str]:
    """Return the numbers of fits, of published values and of their verdicts as text; "" for zero."""
    verdicts = count_verdicts(tables)
    fits = sum(len(_own_records(table)) for table in tables)
    measured = sum(verdicts[verdict] for verdict in MEASURED)
    counts = fits, verdicts.total(), measured, *(verdicts[verdict] for verdict in (*MEASURED, *ABSENT))
    return [f"{count:,}" if count else "" for count in counts]


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
