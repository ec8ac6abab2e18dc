"""The work of `aucmax reproduce`: measure studies, save their results, write their pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aucmax.papers import PAPERS

from .judging.counts import count_verdicts, counted_cells, measure_distance
from .judging.criterion import OUTCOMES
from .judging.tables import ABSENT, tabulate
from .pages.markdown import NONE, share_text
from .pages.pages import write_pages
from .running.running import run_study
from .running.store import Record, gather_results, results_file
from .study import Study
from .study_file import list_studies, read_study


def describe_studies() -> list[dict[str, str]]:
    """Return study, paper, label and title of the studies that come with the package.

    Examples
    --------
    >>> from aucmax_studies.reproduce.command import describe_studies
    >>> describe_studies()[0]["label"]
    'Table 3'
    """
    studies = [read_study(name) for name in list_studies()]
    return [
        {
            "study": study.name,
            "paper": PAPERS[study.paper],
            "label": study.label,
            "title": study.title,
        }
        for study in studies
    ]


def reproduce_studies(
    studies: Sequence[Study],
    folder: Path,
    pages: Path,
    *,
    effort: str,
    data_dir: Path | None,
    download: bool,
    n_jobs: int,
    on_progress: Callable[[str, float, float | None, str], None],
    on_note: Callable[[str], None],
) -> tuple[dict[str, Any], list[list[str]]]:
    """Measure studies, unless `effort` is "", and write the pages of all studies that have results in the folder.

    Returns
    -------
    values : dict
        The numbers of published figures by verdict, and how near the measured ones are, for each study and for all.
    lines : list of list of str
        The same as lines of a table.
    """
    names = [study.name for study in studies]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is named twice, and results are kept by that name.")
    pages.mkdir(parents=True, exist_ok=True)
    for study in studies if effort else ():

        def update(record: Record, count: int, total: int, name: str = study.name) -> None:
            on_progress(name, count, total, f"{record.data}, {record.method}: {count:,} of {total:,} fits")

        results = run_study(
            study,
            results_file(folder, study.name),
            effort=effort,
            data_dir=data_dir,
            download=download,
            n_jobs=n_jobs,
            on_progress=update,
        )
        for subject in study.subjects.values():
            if not subject.missing and results.settings[subject.label].missing:
                on_note(f"{study.name}: {results.settings[subject.label].missing}")
    kept = {study.name: study for study in (*map(read_study, list_studies()), *studies)}
    written = [study for study in kept.values() if results_file(folder, study.name).exists()]
    if not written:
        raise ValueError(f"{folder} holds no results: measure them first.")
    for study in studies:
        _note_absences(study, folder, names, on_note)
    write_pages(pages, folder, written)
    tables = {study.name: [tabulate(study, gather_results(folder, study))] for study in written}
    tables["all"] = [table for of_study in tables.values() for table in of_study]
    values, lines = [], []
    for name, found in tables.items():
        counts, distance = count_verdicts(found), measure_distance(counted_cells(found))
        of_verdicts = {verdict.replace(" ", "_"): n for verdict, n in counts.items()}
        values.append({"study": name, "counts": of_verdicts, "distance": distance._asdict()})
        numbers = counts.total(), distance.figures, *(counts[verdict] for verdict in (*OUTCOMES, *ABSENT))
        median = NONE if distance.median is None else f"{distance.median:.4f}"
        lines.append([name, *map(str, numbers), median, share_text(distance.near)])
    return {"studies": values}, lines


def _note_absences(study: Study, folder: Path, names: Sequence[str], on_note: Callable[[str], None]) -> None:
    """Report what the page of a study will lack."""
    if not results_file(folder, study.name).exists():
        on_note(f"{study.name}: {folder} holds no results of it.")
    others = {entry.same_as[0] for entry in study.methods.values() if entry.same_as}
    for other in sorted(others - set(names)):
        if not results_file(folder, other).exists():
            on_note(f"{study.name}: some of its figures are those of {other}, which must be measured too.")


def main() -> None:
    """Run `aucmax reproduce` with the arguments of this process."""
    from aucmax.cli.app import main as run

    run(["reproduce", *sys.argv[1:]])
