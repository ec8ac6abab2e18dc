"""The options that several commands share, and their values as the library takes them."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..models.sql import DIALECTS
from ..papers import ALGORITHMS


def panel(title: str) -> Callable[..., Any]:
    """Return a function that makes an option of a panel of the help, from its help, its metavar and its flags."""

    def make(help: str, metavar: str | None = None, *flags: str, **settings: Any) -> Any:
        return typer.Option(*flags, help=help, metavar=metavar, rich_help_panel=title, **settings)

    return make


data, column = panel("Data"), panel("Columns of tables")
model, output = panel("Model"), panel("Output")
table, linear = panel("Model of a table"), panel("Linear model")

Columns = list[str] | None
Data = Annotated[
    list[str], typer.Argument(metavar="DATA...", help="Rows, in one file or in several; - is standard input.")
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `aucmax fit` wrote.")]
Format = Annotated[
    Literal["libsvm", "csv", "parquet", "npz"] | None,
    data("By default, found from the name and the first bytes.", "libsvm|csv|parquet|npz"),
]
Target = Annotated[
    str | None, data("Column of the labels; by default, the one called target, label, class or y.", "COLUMN")
]
Weight = Annotated[str | None, data("Column of the sample weights; by default, all are 1.", "COLUMN")]
Positive = Annotated[
    str | None, data("The positive label, all others are negative; by default, the label that sorts last.", "LABEL")
]
Drop = Annotated[Columns, column("A column to leave out.", "COLUMN")]
Identifiers = Annotated[Columns, column("A column that identifies rows.", "COLUMN", "--id")]
Categorical = Annotated[Columns, column("A column to read as levels.", "COLUMN")]
Numeric = Annotated[Columns, column("A column to read as numbers.", "COLUMN")]
Date = Annotated[Columns, column("A column to read as dates.", "COLUMN")]
NaValues = Annotated[Columns, column("A further spelling of missing values.", "VALUE")]
Thousands = Annotated[
    str | None, column("The separator of thousands; by default, one that a whole column has.", "CHARACTER")
]
Delimiter = Annotated[
    str | None, data("What separates the cells of CSV; by default, comma, tab or semicolon.", "CHARACTER")
]
TextEncoding = Annotated[str, data("The encoding of CSV.", "NAME", "--encoding")]
Header = Annotated[
    bool, data("CSV without names of columns: they are x1, x2, ...", None, " /--no-header", show_default=False)
]
ZeroBased = Annotated[bool, data("LIBSVM that counts columns from 0.", None, "--zero-based")]
ReportPath = Annotated[Path | None, output("Write a report.", "HTML", "--report")]
Force = Annotated[bool, output("Replace files that exist.", None, "--force")]
Dialect = Annotated[str, output(f"The database that SQL is for: {', '.join(DIALECTS)}.", "NAME")]
Table = Annotated[
    str | None,
    output("The table of the database: SQL is then a SELECT statement, and otherwise an expression.", "NAME"),
]
Keep = Annotated[Columns, output("A column to return with the score; by default, the one of --id.", "COLUMN")]
Quiet = Annotated[bool, output("No notes, no progress; warnings remain.", None, "--quiet", "-q")]
Json = Annotated[bool, output("Print the result as one JSON object.", None, "--json")]
Debug = Annotated[bool, output("Show the traceback of an error.", None, "--debug")]
Seed = Annotated[int, model("Seed of the random numbers.", "NUMBER", "--seed", min=0, max=2**32 - 1)]
Jobs = Annotated[int, model("Number of processes; times are comparable with 1 only.", "NUMBER", "--jobs", min=1)]
# The options about columns of tables, by the names of their arguments in `open_source`.
OF_COLUMNS = ("drop", "identifiers", "categorical", "numeric", "date", "na_values", "thousands")
# Those of the linear model: with one of them, a table is fitted by AUCClassifier.
OF_LINEAR = ("loss", "selection", "penalty", "l1_ratio", "alpha", "n_nonzero", "standardize")
OF_TERMS = ("terms", "pairs", "monotonic_cst", "max_bins")  # of the model of tables
FITTED = ("AUCClassifier", "TableClassifier", *ALGORITHMS)  # what `aucmax fit` takes
SHAPES = {"increasing": 1, "decreasing": -1}


def column_overrides(context: typer.Context) -> dict[str, Any]:
    """Return the options about columns of tables that a running command was given, as arguments of `open_source`."""
    given = {name: context.params[name] for name in OF_COLUMNS}
    return {name: value if name == "thousands" else value or () for name, value in given.items()}


def as_parameters(overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the options about columns as parameters of an estimator."""
    named = {"id" if name == "identifiers" else name: value for name, value in overrides.items()}
    return {name: value if name == "thousands" else list(value) or None for name, value in named.items()}


def parse_pairs(text: str | None) -> str | int | None:
    """Return the parameter `pairs`, given its option."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal():
        raise ValueError(f"--pairs {text} is not understood: give auto or a number.")
    return int(text)


def parse_cuts(given: Sequence[str] | None) -> dict[str, list[Any]] | None:
    """Return the parameter `cuts`, given its option: COLUMN=NUMBER,NUMBER,... or days, any number of times."""
    cuts: dict[str, list[Any]] = {}
    for text in given or ():
        column, _, numbers = text.rpartition("=")
        if not column or column in cuts:
            raise ValueError(f"--cuts {text} is not understood: give COLUMN=25,40,60, once for a column.")
        try:
            is_date = numbers[4:5] == "-"
            cuts[column] = [date.fromisoformat(n) and n if is_date else float(n) for n in numbers.split(",")]
        except ValueError:
            raise ValueError(f"--cuts {text} is not understood: give COLUMN=25,40,60.") from None
    return cuts or None


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
