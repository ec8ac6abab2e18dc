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
    """An error about cells of a file; `lines` has one line for each column."""

    def __init__(self, name: str, lines: list[str]) -> None:
        self.lines = lines
        what = f", {lines[0]}" if len(lines) == 1 else f" has problems in {len(lines)} columns: {'; '.join(lines)}"
        super().__init__(f"{name}{what}.")
        self.name = name


def refuse_problems(name: str, problems: Mapping[str, Problem]) -> NoReturn:
    """Raise a FileProblems error about columns of a file."""
    lines = []
    for column, (place, what, n_cells) in problems.items():
        more = f" ({n_cells:,} such cells in all)" if n_cells > 1 else ""
        lines.append(f"{place}, column {column!r}: {what}{more}")
    raise FileProblems(name, lines)
