"""The options that several commands share."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

DATA, COLUMNS, MODEL, OUTPUT = "Data", "Columns of tables", "Model", "Output"
Data = Annotated[
    list[str], typer.Argument(metavar="DATA...", help="Rows, in one file or in several; - is standard input.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `aucmax fit` wrote.")]
Format = Annotated[
    Literal["libsvm", "csv", "parquet", "npz"] | None,
    typer.Option(
        "--format",
        metavar="libsvm|csv|parquet|npz",
        help="By default, found from the name and the first bytes.",
        rich_help_panel=DATA,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the labels; by default, the one called target, label, class or y.",
        rich_help_panel=DATA,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="The positive label, all others are negative; by default, the larger of two.",
        rich_help_panel=DATA,
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out.", rich_help_panel=COLUMNS)
]
Identifiers = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", help="A column that identifies rows.", rich_help_panel=COLUMNS),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to read as levels.", rich_help_panel=COLUMNS),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column to read as numbers.", rich_help_panel=COLUMNS),
]
Date = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="A column to read as dates.", rich_help_panel=COLUMNS)
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE", help="A further spelling of missing values.", rich_help_panel=COLUMNS),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="The separator of thousands; by default, one that a whole column has.",
        rich_help_panel=COLUMNS,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What separates the cells of CSV; by default, comma, tab or semicolon.",
        rich_help_panel=DATA,
    ),
]
TextEncoding = Annotated[
    str, typer.Option("--encoding", metavar="NAME", help="The encoding of CSV.", rich_help_panel=DATA)
]
Header = Annotated[
    bool,
    typer.Option(
        " /--no-header",
        help="CSV without names of columns: they are x1, x2, ...",
        rich_help_panel=DATA,
        show_default=False,
    ),
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="LIBSVM that counts columns from 0.", rich_help_panel=DATA)
]
ReportPath = Annotated[
    Path | None, typer.Option("--report", metavar="HTML", help="Write a report.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUTPUT)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes, no progress; warnings remain.", rich_help_panel=OUTPUT)
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=OUTPUT)]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=2**32 - 1, metavar="NUMBER", help="Seed of the random numbers.", rich_help_panel=MODEL
    ),
]
# The options about columns of tables, by the names of their arguments in `open_source`.
OF_COLUMNS = ("drop", "identifiers", "categorical", "numeric", "date", "na_values", "thousands")


def said_of_columns(context: typer.Context) -> dict[str, Any]:
    """Return what the user of a running command says about columns of tables, as arguments of `open_source`."""
    given = {name: context.params[name] for name in OF_COLUMNS}
    return {name: value if name == "thousands" else value or () for name, value in given.items()}


Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        min=1,
        metavar="NUMBER",
        help="Number of processes; times are comparable with 1 only.",
        rich_help_panel=MODEL,
    ),
]
