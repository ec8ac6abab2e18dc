"""``aucmax reproduce``: measure the papers' tables and figures again."""

from pathlib import Path
from typing import Annotated

import typer

from aucmax.cli import options
from aucmax.cli.console import Console, make_table


def study_names() -> list[str]:
    """Return the published tables and figures, which the Tab key offers."""
    from .study_file import list_studies

    return list_studies()


VERDICTS = ("agrees", "better", "worse", "not decidable", "no data", "failed", "not run")
FIGURES = ("published", "measured", *VERDICTS, "median distance", "within 0.01")


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...",
            help="Published tables and figures, as --list names them, or TOML files.",
            autocompletion=study_names,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List them and do nothing.")] = False,
    data_dir: Annotated[
        Path | None, options.data("Folder of the data sets; by default, AUCMAX_DATA. Others are downloaded.", "FOLDER")
    ] = None,
    download: Annotated[
        bool,
        options.data("Leave out data sets that are not in the folder.", None, " /--no-download", show_default=False),
    ] = True,
    quick: Annotated[
        bool, options.model("A trial: few rows, runs and candidates; not for comparison.", None, "--quick")
    ] = False,
    full: Annotated[bool, options.model("All runs and candidates of the papers; takes days.", None, "--full")] = False,
    n_jobs: options.Jobs = 1,
    output: Annotated[
        Path | None,
        options.output(
            "Where results are kept and resumed from; by default, aucmax-results and the effort.",
            "FOLDER",
            "--output",
            "-o",
        ),
    ] = None,
    pages: Annotated[
        Path | None, options.output("Where pages and figures go; by default, pages in --output.", "FOLDER")
    ] = None,
    no_run: Annotated[
        bool, options.output("Only write the pages of the results that are kept.", None, "--no-run")
    ] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Measure the papers' tables and figures again, and set published and measured figures side by side."""
    from aucmax.papers.registry import short_paper

    from .command import describe_studies, reproduce_studies
    from .running.store import gather_results
    from .study_file import list_studies, read_study

    console = Console(quiet, as_json)
    if listing:
        found = describe_studies()
        lines = [[*(row | {"paper": short_paper(row["paper"])}).values()] for row in found]
        table = make_table("", ("name", "paper", "", "what it shows"), lines)
        console.result({"studies": found}, table)
        return
    if bool(names) == everything:
        raise ValueError("name what to reproduce, or say --all; --list lists it.")
    if quick and full:
        raise ValueError("--quick and --full exclude each other.")
    effort = "quick" if quick else "full" if full else "standard"
    studies = [read_study(name) for name in (list_studies() if everything else names or [])]
    folder = output or Path("aucmax-results", effort)
    with console.progress() as bar:
        values, rows = reproduce_studies(
            studies,
            folder,
            pages or folder / "pages",
            effort="" if no_run else effort,
            data_dir=data_dir,
            download=download,
            n_jobs=n_jobs,
            on_progress=bar.update,
            on_note=console.note,
        )
    note = "A quick run: rows, runs and candidates were capped, so these figures are not to be compared."
    console.result(
        values,
        make_table("", ("", *FIGURES), rows, right=range(1, 1 + len(FIGURES))),
        *([note] if effort == "quick" else []),
        f"wrote {pages or folder / 'pages'}",
    )
    if not no_run and not any(gather_results(folder, study).records for study in studies):
        raise ValueError("none of the requested data sets was found; --data-dir names their folder.")
