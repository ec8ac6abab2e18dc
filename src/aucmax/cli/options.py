"""The options that several commands share, and their values as the library takes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..papers import ALGORITHMS

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
        help="The positive label, all others are negative; by default, the label that sorts last.",
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
# The options about columns of tables, by the names of their arguments in `open_source`.
OF_COLUMNS = ("drop", "identifiers", "categorical", "numeric", "date", "na_values", "thousands")
FITTED = ("AUCClassifier", "AdditiveAUCClassifier", *ALGORITHMS)  # what `aucmax fit` takes
SHAPES = {"increasing": 1, "decreasing": -1}


def column_overrides(context: typer.Context) -> dict[str, Any]:
    """Return the options about columns of tables that a running command was given, as arguments of `open_source`."""
    given = {name: context.params[name] for name in OF_COLUMNS}
    return {name: value if name == "thousands" else value or () for name, value in given.items()}


def algorithm_names() -> list[str]:
    """Return the algorithms that `aucmax fit` takes."""
    return list(FITTED)


def parse_pairs(text: str | None) -> str | int | None:
    """Return the parameter `pairs`, given its option."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal():
        raise ValueError(f"--pairs {text} is not understood: give auto or a number.")
    return int(text)


def parse_shapes(given: Sequence[str] | None) -> dict[str, int] | None:
    """Return the parameter `monotonic_cst`, given its option: COLUMN=increasing or COLUMN=decreasing, any number."""
    shapes: dict[str, int] = {}
    for text in given or ():
        column, _, shape = text.rpartition("=")
        if shape not in SHAPES or not column:
            raise ValueError(f"--monotonic {text} is not understood: give COLUMN=increasing or COLUMN=decreasing.")
        if column in shapes:
            raise ValueError(f"--monotonic gives two shapes for the column {column!r}.")
        shapes[column] = SHAPES[shape]
    return shapes or None


def parse_bytes(text: str) -> int:
    """Return the number of bytes of a text such as 2GB or 500 MiB.

    Examples
    --------
    >>> from aucmax.cli.options import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes("300000")
    (2000000000, 1610612736, 300000)
    """
    units = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12}
    units |= {"tb": 10**12, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
    number = text.strip().rstrip("bBkKmMgGtTiI ")
    unit = text.strip()[len(number) :].strip().lower()
    try:
        n = float(number) * units[unit]
        if not 0 < n < 1 << 60:
            raise ValueError
    except (KeyError, ValueError):
        raise ValueError(f"--memory takes a size such as 2GB or 500MB, got {text!r}.") from None
    return int(n)
