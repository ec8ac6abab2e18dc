"""The options that commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

DATA, MODEL, OUTPUT = "Data", "Model", "Output"
Train = Annotated[str, typer.Argument(metavar="TRAIN", help="Training rows; - is standard input.")]
Data = Annotated[str, typer.Argument(metavar="DATA", help="Rows; - is standard input.")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file that `aucmax fit` wrote.")]
Format = Annotated[
    Literal["libsvm", "csv", "parquet", "npz"] | None,
    typer.Option("--format", help="By default, what the name and the first bytes say.", rich_help_panel=DATA),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="Column of the labels; by default, the one called target, label, class or y.", rich_help_panel=DATA
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The positive label, all others are negative; by default, the larger of two.", rich_help_panel=DATA
    ),
]
OneHot = Annotated[bool, typer.Option("--one-hot", help="One-hot encode columns of text.", rich_help_panel=DATA)]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="CSV without names of the columns: they are x1, x2, ...", rich_help_panel=DATA),
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="LIBSVM whose columns are counted from 0.", rich_help_panel=DATA)
]
ReportPath = Annotated[
    Path | None, typer.Option("--report", metavar="HTML", help="Write a report.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUTPUT)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No notes, no progress; warnings remain.", rich_help_panel=OUTPUT)
]
Json = Annotated[bool, typer.Option("--json", help="The result as one JSON object.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=OUTPUT)]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="For whatever draws random numbers.", rich_help_panel=MODEL)
]
Jobs = Annotated[int, typer.Option(min=1, help="Processes; times are comparable with one only.", rich_help_panel=MODEL)]
Loss = Annotated[
    Literal["auto", "squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid"] | None,
    typer.Option(help="Of a pair; by default, auto: squared or squared_hinge.", rich_help_panel=MODEL),
]
Penalty = Annotated[
    Literal["l2", "l1", "elasticnet"] | None, typer.Option(help="By default, l2.", rich_help_panel=MODEL)
]
