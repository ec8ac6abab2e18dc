"""Options of `open_source` that only some formats use: one that is given for others is an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn

OF_LIBSVM = (("libsvm",), "for LIBSVM text")
OF_CSV = (("csv",), "for CSV")
OF_TABLES = (("csv", "parquet"), "for CSV and Parquet")
# The formats that use an option, and the end of the sentence "... is used only ...".
USED_BY: dict[str, tuple[tuple[str, ...], str]] = {
    "zero_based": OF_LIBSVM,
    **dict.fromkeys(("header", "delimiter", "encoding"), OF_CSV),
    **dict.fromkeys(("target", "keep", "drop", "identifiers", "categorical", "numeric", "date"), OF_TABLES),
    **dict.fromkeys(("na_values", "thousands"), OF_TABLES),
}


def check_options(given: Mapping[str, Any], formats: Collection[str]) -> None:
    """Raise a ValueError if files of these formats do not use an option that was given.

    Examples
    --------
    >>> from aucmax.files.format_options import check_options
    >>> check_options({"zero_based": True}, ["csv"])
    Traceback (most recent call last):
    ...
    ValueError: zero_based= is used only for LIBSVM text: leave it out.
    """
    for name, value in given.items():
        if name in USED_BY and not set(USED_BY[name][0]) & set(formats):
            refuse_unused(name, value, USED_BY[name][1])


def refuse_unused(name: str, value: Any, when: str) -> NoReturn:
    """Raise the ValueError about an option that is not used."""
    raise ValueError(f"{name}={'False' if value is False else ''} is used only {when}: leave it out.")
