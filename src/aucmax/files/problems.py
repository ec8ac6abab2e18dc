"""What is wrong with the cells of a file: all of it at once, each with its column, place and number of cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, NoReturn

EMPTY = "the cell is empty: fill it or drop the row"


class Problem(NamedTuple):
    """Cells of a column that cannot be used.

    Attributes
    ----------
    place : str
        The line or row of the first.
    what : str
        What it is, and what to do.
    n_cells : int
        How many there are.
    """

    place: str
    what: str
    n_cells: int

    def merge(self, later: Problem) -> Problem:
        """Return this problem with the cells of later rows."""
        return self._replace(n_cells=self.n_cells + later.n_cells)


class NoRowsError(ValueError):
    """A table has columns but no rows.

    Parameters
    ----------
    message : str
        What is said if it is the only table.
    name : str
        The file.
    columns : list of str
        The names of its columns.
    """

    def __init__(self, message: str, name: str, columns: list[str]) -> None:
        super().__init__(message)
        self.name, self.columns = name, columns


class FileProblems(ValueError):
    """An error about cells of a file, or of several; `lines` has one line for each column of a file.

    Attributes
    ----------
    name : str
        What messages call the file, or all files.
    where : str
        How many columns, and of how many files if there are several.
    lines : list of str
        The problems.
    """

    def __init__(self, name: str, lines: list[str], n_files: int = 1) -> None:
        self.lines, self.name = lines, name
        self.where = f"{len(lines)} columns" + (f" of {n_files} files" if n_files > 1 else "")
        what = f", {lines[0]}" if len(lines) == 1 else f" has problems in {self.where}: {'; '.join(lines)}"
        super().__init__(f"{name}{what}.")


def refuse_problems(name: str, problems: Mapping[str, Problem]) -> NoReturn:
    """Raise a FileProblems error about columns of a file."""
    raise FileProblems(name, list_problems(problems))


def refuse_files(name: str, problems: Mapping[str, Mapping[str, Problem]]) -> None:
    """Raise a FileProblems error about columns of all files that have problems, if any has."""
    if len(problems) == 1:
        refuse_problems(*next(iter(problems.items())))
    lines = [f"{file}, {line}" for file, each in problems.items() for line in list_problems(each)]
    if lines:
        raise FileProblems(name, lines, len(problems))


def list_problems(problems: Mapping[str, Problem]) -> list[str]:
    """Return a line for each column."""
    lines = []
    for column, (place, what, n_cells) in problems.items():
        more = f" ({n_cells:,} such cells in all)" if n_cells > 1 else ""
        lines.append(f"{place}, column {column!r}: {what}{more}")
    return lines
