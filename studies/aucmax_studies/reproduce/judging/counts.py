"""Counts of the verdicts on published figures, the shares that agree, and wins, ties and losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..study import Value
from .cells import ABSENT, Cell
from .criterion import AGREES, BETTER, UNDECIDABLE, WORSE
from .tables import LOSES, WINS, Table, is_borrowed

# What a reader sees first, in plain words.
GLANCE = ("reproduced", "better", "worse, reason shown", "worse, unexplained", "not decidable", "not measured")


class Agreement(NamedTuple):
    """How well the criterion tells the right method from others.

    Attributes
    ----------
    decidable : int
        Number of decidable figures: those of sharp comparisons that have a verdict, see `criterion`.
    true : float or None
        The share of them that agree.
    substituted : float or None
        The share that would agree if another method of the row had been measured in place of the right one: the mean
        over the decidable figures for which at least one such substitution can be decided.
    """

    decidable: int
    true: float | None
    substituted: float | None


class WinTieLoss(NamedTuple):
    """Number of data sets on which the first method wins, ties and loses against another one.

    Attributes
    ----------
    method : str
        The label of the other method.
    printed : str
        As printed, over all data of the paper; "" if the paper does not print it.
    published : (int, int, int) or None
        By the published marks, over the data sets that were measured; None if the paper marks nothing.
    measured : (int, int, int)
        By our own tests, over the same data sets.
    """

    method: str
    printed: str
    published: tuple[int, int, int] | None
    measured: tuple[int, int, int]


def count_verdicts(tables: Iterable[Table]) -> Counter[str]:
    """Count the verdicts on published values.

    Parameters
    ----------
    tables : iterable of Table
        One study or several.

    Returns
    -------
    counts : Counter
        By verdict, of `OUTCOMES` and `ABSENT`. Their sum is the number of published values, without the times and
        without those that are repeated from another study.

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


def count_causes(tables: Iterable[Table]) -> Counter[tuple[str, str]]:
    """Count the causes of better and worse values.

    Parameters
    ----------
    tables : iterable of Table
        One study or several.

    Returns
    -------
    counts : Counter
        By verdict ("better" or "worse") and cause ("unexplained" among them).
    """
    return Counter((cell.verdict, cell.cause) for cell in counted_cells(tables) if cell.differs)


def count_at_a_glance(tables: Sequence[Table]) -> list[int]:
    """Count published values as a reader wants to see them.

    Parameters
    ----------
    tables : sequence of Table
        One study or several.

    Returns
    -------
    counts : list of int
        In the order of `GLANCE`; their sum is that of `count_verdicts`.
    """
    verdicts, unexplained = count_verdicts(tables), count_causes(tables)[WORSE, "unexplained"]
    worse, absent = verdicts[WORSE] - unexplained, sum(verdicts[name] for name in ABSENT)
    return [verdicts[AGREES], verdicts[BETTER], worse, unexplained, verdicts[UNDECIDABLE], absent]


def measure_agreement(tables: Iterable[Table]) -> Agreement:
    """Return the share of decidable figures that agree, and the share that agrees by substitution.

    Parameters
    ----------
    tables : iterable of Table
        One study or several.

    Returns
    -------
    agreement : Agreement
        The two shares.
    """
    decidable = [cell for cell in counted_cells(tables) if cell.judgement and cell.judgement.decides]
    shares = [cell.substituted for cell in decidable if cell.substituted is not None]
    return Agreement(
        len(decidable),
        sum(cell.verdict == AGREES for cell in decidable) / len(decidable) if decidable else None,
        sum(shares) / len(shares) if shares else None,
    )


def counted_cells(tables: Iterable[Table]) -> list[Cell]:
    """Return the cells that have a published value, without times and repeated values."""
    return [cell for table in tables for cell in table.cells.values() if cell.verdict and not cell.repeated]


def count_wins(table: Table) -> list[WinTieLoss]:
    """Count on how many data sets the first method wins, ties and loses, by the first metric.

    Parameters
    ----------
    table : Table
        The study.

    Returns
    -------
    wins : list of WinTieLoss
        Against each other method that has values; times are not tested.

    Examples
    --------
    >>> from aucmax_studies.reproduce.running.store import Record, Results
    >>> from aucmax_studies.reproduce.study_file import read_study
    >>> from aucmax_studies.reproduce.judging.counts import count_wins
    >>> from aucmax_studies.reproduce.judging.tables import tabulate
    >>> records = [
    ...     Record("diabetes", method, run, metrics={"auc": auc + 0.001 * run})
    ...     for method, auc in (("OPAUC", 0.83), ("OAMseq", 0.82))
    ...     for run in range(3)
    ... ]
    >>> count_wins(tabulate(read_study("opauc-table-2"), Results(records, {}, {}, [])))[0]
    WinTieLoss(method='OAMseq', printed='14/2/0', published=(0, 1, 0), measured=(1, 0, 0))
    """
    study, metric = table.study, table.metrics[0]
    if metric == "seconds":
        return []
    first, *others = study.methods
    marked = any(value.mark for value in study.published.get(metric, {}).values())
    found = []
    for method in others:
        if is_borrowed(study, study.methods[method]):
            continue
        pairs = [(table.cells[data, first, metric], table.cells[data, method, metric]) for data in study.subjects]
        pairs = [pair for pair in pairs if pair[0].measured and pair[1].measured]
        if study.published.get(metric):  # data that were measured in another way, too, count once
            pairs = [pair for pair in pairs if pair[0].published]
        published = _tally(cell.published for rival, cell in pairs if rival.published)
        measured = _tally(cell.measured for _, cell in pairs)
        printed = study.win_tie_loss.get(method, "")
        if pairs or printed:
            found.append(WinTieLoss(method, printed, published if marked and any(published) else None, measured))
    return found


def _tally(values: Iterable[Value | None]) -> tuple[int, int, int]:
    marks = Counter(value.mark for value in values if value)
    return marks[WINS], marks[""], marks[LOSES]
