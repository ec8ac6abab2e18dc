"""Counts of the verdicts on published figures, and how far measured figures are from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .criterion import AGREES
from .tables import Cell, Table

NEAR = 0.01


class Distance(NamedTuple):
    """How far measured figures are from the published ones."""

    figures: int  # number of figures
    median: float | None  # the median distance
    near: float | None  # the share of the figures that are within `NEAR`


class Agreement(NamedTuple):
    """How well the criterion tells the right method from others."""

    decidable: int  # number of decidable figures: those of sharp comparisons that have a verdict, see `criterion`
    true: float | None  # the share of them that agree
    # the share that would agree if another method of the row had been measured in place of the right one: the mean over
    # the decidable figures for which at least one such substitution can be decided
    substituted: float | None


def counted_cells(tables: Iterable[Table]) -> list[Cell]:
    """Return the cells that have a published value, without times and repeated values."""
    return [cell for table in tables for cell in table.counted]


def count_verdicts(tables: Iterable[Table]) -> Counter[str]:
    """Count the verdicts on published values.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.counts import count_verdicts
    >>> from aucmax_studies.reproduce.running.store import Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> list(count_verdicts([tabulate(read_study("opauc-table-2"), Results([], {}, {}, []))]))
    ['not run', 'no data']
    """
    return Counter(cell.verdict for cell in counted_cells(tables))


def measure_distance(cells: Sequence[Cell]) -> Distance:
    """Return how far the measured figures among some cells are from the published ones.

    Examples
    --------
    >>> from aucmax_studies.reproduce.judging.counts import measure_distance
    >>> from aucmax_studies.reproduce.judging.tables import Cell
    >>> from aucmax_studies.reproduce.study import Value
    >>> measure_distance([Cell("a", "b", "auc", Value(0.75), measured=Value(0.875)), Cell("a", "c", "auc")])
    Distance(figures=1, median=0.125, near=0.0)
    """
    distances = [abs(cell.difference) for cell in cells if cell.difference is not None]
    if not distances:
        return Distance(0, None, None)
    return Distance(len(distances), float(np.median(distances)), float(np.mean(np.array(distances) <= NEAR)))


def measure_agreement(tables: Iterable[Table]) -> Agreement:
    """Return the share of decidable figures that agree, and the share that agrees by substitution."""
    decidable = [cell for cell in counted_cells(tables) if cell.judgement and cell.judgement.decides]
    shares = [cell.substituted for cell in decidable if cell.substituted is not None]
    return Agreement(
        len(decidable),
        sum(cell.verdict == AGREES for cell in decidable) / len(decidable) if decidable else None,
        sum(shares) / len(shares) if shares else None,
    )
