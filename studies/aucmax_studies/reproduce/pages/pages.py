"""The pages of the studies: Markdown for each paper, an index of them all, and their figures.

Nothing is typed by hand: the same results give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from aucmax.files.atomic_write import write_atomically
from aucmax.papers import PAPERS

from ..judging.claims import UNJUDGED, VERDICTS, check_claims
from ..judging.counts import count_verdicts, counted_cells, measure_agreement, measure_distance
from ..judging.criterion import AGREES, OUTCOMES, UNDECIDABLE
from ..judging.tables import ABSENT, FITTED, Cell, Table, tabulate
from ..running.store import Record, Session, gather_results
from ..study import Study
from .markdown import NONE, escape, join_parts, markdown_table, share_text
from .plots import draw, draw_overview
from .sections import quick_warning, write_section

COMMAND = "aucmax reproduce"
OVERVIEW = "measured-against-published"
RULE = """<a id="claims"></a>
*Shown*: against each rival, more than half of the data sets are for the claim and at most a tenth against it; more
than half are enough where the paper claims it of most data sets. *Shown in part*: otherwise, more are for it than
against. *The opposite*: more than half are against it. *Not shown*: anything else. *Not tested*: one data set of
several is at hand, or the paper does not give what the claim depends on, and with our choice it would be less than
shown in part.

A method ranks *as well as* another one on a data set if it is lower by at most 0.01. Wins, ties and losses are by
paired t-tests at 95% on the same splits. The training rows of folds overlap, so these tests find a difference
somewhat too often: read a win or a loss beside its size."""
FIDELITY = """The weights of the papers' variants are those of their pseudo-code, written down in plain NumPy, to
about 1e-13 of the largest (1e-12 for SOLAM and regSOLAM): `tests/papers/test_paper_variants.py`. The five papers give
no pseudo-code of SOLAM, SPAM, FSAUC, OAM, CBR, StoIHT and HSG-HT: for these it is that of the papers they cite. What
is left are data, splits, scaling and tuning, which the papers give in part, and what differs on purpose, as each page
says: exact solvers of the batch algorithms, stopping rules, thresholds.

The published accuracies of Gaussian are read with their errors doubled, but for those of LDA
([misprints](../../guide/misprints.md))."""
WORDS = """<a id="words"></a>
A strict criterion asks for more than a small distance: could the figure tell its method from the others in its row?
It tests discrimination and protocol, not fidelity.

- The *interval* of the difference, measured minus published, is at 95%, from both standard deviations and numbers of
  runs. Where the paper made all runs on one split, the luck of that split is added. The *spread* is the median
  distance of a published figure from those of the other methods in the same row.
- The *tolerance* is what two measurements as exact as the paper's would differ by, at 95%.
- *Agrees*: the difference is within the tolerance, and the interval is narrower than the spread, so that another
  method would have been noticed.
- *Better*, *worse*: the difference is more than the tolerance, and zero is outside of the interval.
- *Not decidable*: anything else. The methods differ by less than the noise, our runs are too few, the paper does not
  say of how many runs its deviations are, or our data were made to match the figure.

The same figure, of OPAUC on a9a in Tables 2 and 3 for example, can agree in one table and be not decidable in
another: its row has other methods there, and so another spread."""
COUNTED = """Counts are of published figures, without times; a figure that two tables have is counted once. *Fits* are
trainings with the chosen parameters, without those of the search. In a search *by halving*, all values of the
parameters are tried on the rows that are named, the best quarter on four times as many, and so on, until the rows are
all used."""


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
    drawings = {table.study.name: draw(table) for table in tables} | {OVERVIEW: draw_overview(tables)}
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
    parts = [f"# {PAPERS[paper]}", *quick_warning(quick), *_claims(tables)]
    judged = [table for table in tables if table.study.published]
    if judged:
        parts += ["## Its tables", _counts_table(judged), "[What these words mean](README.md#words)."]
    for table in tables:
        parts += write_section(table, bool(drawings[table.study.name]))
    return join_parts([*parts, f"Made by `{COMMAND}`. [All papers](README.md)."])


def _claims(tables: Sequence[Table]) -> Iterator[str]:
    """Yield the claims of a paper, with their verdicts and what shows them."""
    found = list(check_claims(tables))
    rows = [
        [escape(claim.text), f"**{verdict}**", f"{escape(text)} ([{table.study.label}](#{claim.study}))"]
        for claim, table, verdict, text in found
    ]
    if rows:
        counts = Counter(verdict for _, _, verdict, _ in found)
        listed = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
        yield "## What it claims, and whether it holds"
        yield f"Of {len(rows)} claims: {listed}. [What the verdicts mean](README.md#claims)."
        yield markdown_table(["claim", "verdict", "measured"], rows)
        if unjudged := UNJUDGED.get(tables[0].study.paper):
            yield f"**Not judged:** {unjudged}"


def _index(tables: Sequence[Table]) -> str:
    quick = any(table.quick for table in tables)
    papers = list(dict.fromkeys(table.study.paper for table in tables))
    parts = ["# The papers' tables and figures, measured again", *quick_warning(quick)]
    if any(cell.measured for cell in counted_cells(tables)):
        parts += [
            f"![Measured against published, a point for each figure](figures/{OVERVIEW}.svg)",
            "*Each point is a published AUC, accuracy, F1 score or Jaccard index; on the line both are equal.*",
            _distances(tables, papers),
            _fitted(tables),
            FIDELITY,
        ]
    claims = [
        [f"[{paper}]({paper.lower()}.md)", escape(claim.text), f"**{verdict}**"]
        for paper in papers
        for claim, _, verdict, _ in check_claims(tables, paper)
    ]
    if claims:
        parts += ["## What the papers claim, and whether it holds", RULE]
        parts.append(markdown_table(["paper", "claim", "verdict"], claims))
    parts += ["## The strict criterion", WORDS, *_power(tables), _counts_table(tables)]
    parts.append(COUNTED)
    return join_parts([*parts, *_sessions(tables), f"Made by `{COMMAND}`."])


def _distances(tables: Sequence[Table], papers: Sequence[str]) -> str:
    """Return a table of how far measured figures are from the published ones, by paper."""
    rows = []
    for paper in (*papers, ""):
        own = [table for table in tables if paper in ("", table.study.paper)]
        real = [
            cell
            for table in own
            for cell in table.counted
            if cell.metric == "auc" and not table.study.subjects[cell.data].generator
        ]
        name = f"[{paper}]({paper.lower()}.md)" if paper else "**all**"
        rows.append([name, *_distance(counted_cells(own)), *_distance(real)])
    header = ["paper", "figures", "median distance", "within 0.01"]
    return markdown_table([*header, *(f"{name}, AUC on real data" for name in header[1:])], rows)


def _fitted(tables: Sequence[Table]) -> str:
    """Return what the median distance is, and how many figures are of data that were made to match them."""
    fitted = [(table, cell) for table in tables for cell in table.counted if cell.unjudged == FITTED]
    classes = {cell.data for table, cell in fitted if not table.study.subjects[cell.data].generator}
    return (
        "The *median distance* is the median of |measured minus published|: half of the figures are nearer. For "
        f"{len(fitted):,} figures our data were chosen because they match the print, so their distances say nothing. "
        "These are moments of artificial data, and positive classes that a paper does not name "
        f"({', '.join(sorted(classes))}). Some scalings, thresholds and folds that a paper leaves open were chosen for "
        "the same reason, but their figures are judged; the pages say where."
    )


def _distance(cells: Sequence[Cell]) -> list[str]:
    found = measure_distance(cells)
    return [f"{found.figures:,}", NONE if found.median is None else f"{found.median:.4f}", share_text(found.near)]


def _counts_table(tables: Sequence[Table]) -> str:
    """Return a table of the numbers of fits, of published values and of their verdicts."""
    rows = [[_link(table), *_counts([table])] for table in tables]
    return markdown_table(["study", "fits", "published", *OUTCOMES, *ABSENT], [*rows, ["**all**", *_counts(tables)]])


def _counts(tables: Sequence[Table]) -> list[str]:
    verdicts = count_verdicts(tables)
    fits = sum(len(_own_records(table)) for table in tables)
    counts = [fits, verdicts.total(), *(verdicts[verdict] for verdict in (*OUTCOMES, *ABSENT))]
    return [f"{count:,}" if count else "" for count in counts]


def _power(tables: Sequence[Table]) -> Iterator[str]:
    """Yield how many figures agree, and the same with another method of the row in place of the right one."""
    found, counts = measure_agreement(tables), count_verdicts(tables)
    measured = sum(counts[verdict] for verdict in OUTCOMES)
    if found.decidable:
        decided = measured - counts[UNDECIDABLE]
        yield (
            f"Of {measured:,} measured figures {counts[AGREES]:,} agree, {decided - counts[AGREES]:,} are better or "
            f"worse and {counts[UNDECIDABLE]:,} are not decidable. For {found.decidable:,} of the {decided:,} that are"
            " decided the interval is narrower than the spread. The others could only differ, and are left out here: "
            f"{share_text(found.true)} of the {found.decidable:,} agree, and {share_text(found.substituted)} would "
            "with another method of the row measured in place of the right one."
        )


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
    dates: dict[tuple[str, str, int], list[str]] = {}
    for session in (session for table in tables for session in table.results.sessions):
        key = session.machine, _versions(session), session.jobs
        dates.setdefault(key, []).append(session.date)
    if dates:
        rows = [
            [_span(days), escape(machine), escape(versions), str(jobs)]
            for (machine, versions, jobs), days in dates.items()
        ]
        yield "## Machines"
        yield markdown_table(["dates", "machine", "versions", "fits side by side"], rows)


def _versions(session: Session) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(session.versions.items()))


def _span(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"
