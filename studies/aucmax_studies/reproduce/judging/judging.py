"""Judges the rows of a study: the verdict on each published figure, the test by substitution, and the reasons.

A row has the published figures of one data set by one metric, in the order of the methods. Figures that a paper cites
from another one are a row of their own: their data may have been prepared otherwise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..running.store import Grouping, Results
from ..study import Reason, Study
from .cells import Cell
from .criterion import (
    AGREES,
    FEWEST_REPEATS,
    ROUNDING,
    TOO_CLOSE,
    Estimate,
    Judgement,
    estimate,
    find_spread,
    judge,
    next_mean,
    paired_change,
)

FITTED = "our data were made to match it"
NO_RUNS = "the paper does not say of how many runs its deviation is"
NO_STD = "the paper gives no standard deviation"
ONE_RUN = "there is one run here"
ONE_SPLIT = "the paper's methods differ by less than the luck of its one split"
MOST = 0.75  # the share of a difference that a witness must have, and a remedy must take away


def judge_row(study: Study, row: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a row with their judgements and substitutions.

    Parameters
    ----------
    study : Study
        The study.
    row : sequence of Cell
        All cells of a row that have a published value.

    Returns
    -------
    row : list of Cell
        The same cells, judged.
    """
    luck = _luck(row) if study.one_split else 0.0
    return [_judge_cell(study, cell, row, luck) for cell in row]


def _luck(row: Sequence[Cell]) -> float:
    """Return the standard deviation between splits of the steadiest method: a noisy one does not widen it."""
    return min((cell.measured.std for cell in row if cell.measured and cell.measured.std is not None), default=0.0)


def _judge_cell(study: Study, cell: Cell, row: Sequence[Cell], luck: float) -> Cell:
    if cell.published is None or cell.measured is None:
        return cell
    unjudged = _why_unjudged(study, cell)
    if unjudged:
        return cell._replace(unjudged=unjudged)
    published = estimate(cell.published.mean, cell.published.std or 0.0, study.published_runs, luck)
    others = [other for other in row if other is not cell]
    spread = find_spread(published.mean, [other.published.mean for other in others if other.published])
    substitutes = [judge(published, measured, spread) for measured in map(_measured, others) if measured]
    decided = [substitute.verdict == AGREES for substitute in substitutes if substitute.decides]
    own = _measured(cell)
    assert own is not None  # a single run is not judged
    judgement = judge(published, own, spread)
    if luck and judgement.why == TOO_CLOSE:
        judgement = judgement._replace(why=ONE_SPLIT)
    return cell._replace(judgement=judgement, substituted=sum(decided) / len(decided) if decided else None)


def _measured(cell: Cell) -> Estimate | None:
    if cell.measured is None or cell.measured.std is None:
        return None
    return estimate(cell.measured.mean, cell.measured.std, cell.runs)


def _why_unjudged(study: Study, cell: Cell) -> str:
    """Return why two values cannot be compared; "" if they can."""
    assert cell.published is not None
    assert cell.measured is not None
    if study.unjudged:
        return study.unjudged
    if any(fitted.method == cell.method and fitted.data in ("", cell.data) for fitted in study.fitted):
        return FITTED
    if not study.published_runs:
        return NO_RUNS
    # A batch algorithm gives the same value in every run on one split, and no deviation is printed for it.
    if cell.published.std is None and not study.one_split:
        return NO_STD
    return ONE_RUN if cell.measured.std is None else ""


# Reasons


def find_reasons(
    study: Study, results: Results, cell: Cell, cells: Mapping[tuple[str, str, str], Cell]
) -> Iterator[Reason]:
    """Yield the reasons for a difference that runs show: the first such of the study, and the choice of the classes.

    Parameters
    ----------
    study : Study
        The study.
    results : Results
        What was measured of it.
    cell : Cell
        A judged cell; one that is neither better nor worse and does not lag has no reasons.
    cells : mapping of (str, str, str) to Cell
        All judged cells of the study by data, method and metric: witnesses and remedies are among them.

    Yields
    ------
    reason : Reason
        The reasons.
    """
    if cell.differs or cell.lags:
        given = study.reasons_for(cell.data, cell.method)
        shown = (
            _chance(study, results, cell, reason) if reason.repeated_data else _if_holds(results, reason, cell, cells)
            for reason in given
        )
        yield from itertools.islice(filter(None, shown), 1)
        yield from _choice_of_classes(study, results, cell)


def _if_holds(
    results: Results, reason: Reason, cell: Cell, cells: Mapping[tuple[str, str, str], Cell]
) -> Reason | None:
    """Return the reason if runs show it: its witness differs by as much as the cell or more, or its remedy does not."""
    data = reason.remedy_data.format(data=cell.data) or cell.data
    named = reason.witness or reason.remedy or reason.alternative or cell.method
    other = cells.get((data, named, cell.metric))
    own = cell.judgement
    if own is None or other is None or other is cell:
        return None
    if reason.witness:
        return reason if _differs_as_much(cell, own, other) else None
    if not _is_shown_to_change(results, cell, other):
        return None
    holds = _encloses(own, cell, other) if reason.alternative else _is_mended(cell, own, other)
    return reason if holds else None


def _chance(study: Study, results: Results, cell: Cell, reason: Reason) -> Reason | None:
    """Return the reason, with what shows it, if another repeat of all runs could have the published value."""
    found = _repeat_interval(study, results, cell, reason)
    if found is None or cell.published is None:
        return None
    (low, high), text = found
    if not low <= cell.published.mean <= high:
        return None
    shown = f"{text} lies between {low:.4f} and {high:.4f} with a probability of 95%, as the published "
    return reason._replace(
        data=(cell.data,), methods=(cell.method,), shown_by=f"{shown}{cell.published.mean:.4f} does."
    )


def is_no_chance(study: Study, results: Results, cell: Cell) -> bool:
    """Return whether all runs of a cell were repeated, and the repeats show that its difference is not chance."""
    if not (cell.differs or cell.lags):
        return False
    given = [reason for reason in study.reasons_for(cell.data, cell.method) if reason.repeated_data]
    tested = [reason for reason in given if _repeat_interval(study, results, cell, reason)]
    return bool(tested) and not any(_chance(study, results, cell, reason) for reason in tested)


def _repeat_interval(
    study: Study, results: Results, cell: Cell, reason: Reason
) -> tuple[tuple[float, float], str] | None:
    """Return the interval of the mean of another repeat, and what it is made of; None if the repeats are too few.

    Draws of generated data are independent, and the interval is that of the mean of as many. Folds are not: only the
    means of whole repeats are.
    """
    n_runs, data = study.published_runs, reason.repeated_data.format(data=cell.data)
    by_repeat: dict[int, list[float]] = {}
    for record in results.records:
        if (record.data, record.method) == (data, cell.method) and not record.failure:
            by_repeat.setdefault(record.run // n_runs, []).append(record.metrics[cell.metric])
    whole = [values for values in by_repeat.values() if len(values) == n_runs]
    if len(whole) < FEWEST_REPEATS:
        return None
    if study.subjects[data].generator:
        draws = [value for values in whole for value in values]
        return next_mean(draws, n_runs), f"{len(draws)} draws: the mean of another {n_runs}"
    means = [float(np.mean(values)) for values in whole]
    text = f"{len(means)} repeats of all {n_runs} runs, whose means are {min(means):.4f} to {max(means):.4f}"
    return next_mean(means, 1), f"{text}: that of another"


def _is_shown_to_change(results: Results, cell: Cell, remedy: Cell) -> bool:
    """Return whether a paired t-test shows that a remedy changes the value."""
    before, after = (results.values(one.data, one.method, cell.metric) for one in (cell, remedy))
    found = paired_change(before, after)
    return found is not None and abs(found[0]) > found[1]


def _is_mended(cell: Cell, own: Judgement, remedy: Cell) -> bool:
    """Return whether a remedy makes up for most of the difference."""
    if cell.published is None or remedy.measured is None:
        return False
    return abs(remedy.measured.mean - cell.published.mean) <= (1 - MOST) * abs(own.difference) + ROUNDING


def _encloses(own: Judgement, cell: Cell, alternative: Cell) -> bool:
    """Return whether an alternative lies on the other side of what is published, and no further from it."""
    if cell.published is None or alternative.measured is None:
        return False
    beyond = (cell.published.mean - alternative.measured.mean) * math.copysign(1, own.difference)
    return 0 <= beyond <= abs(own.difference)


def _differs_as_much(cell: Cell, own: Judgement, witness: Cell) -> bool:
    """Return whether the value of a witness differs by as much or more in the same direction, within the tolerance.

    However large the tolerance is, it must differ by most of it. A witness that the paper has no figure of is compared
    with that of the cell.
    """
    if witness.measured is None or cell.published is None:
        return False
    difference, tolerance = witness.measured.mean - cell.published.mean, own.tolerance
    if witness.published is not None:
        if witness.judgement is None:
            return False
        difference, tolerance = witness.judgement.difference, math.hypot(witness.judgement.tolerance, own.tolerance)
    needed = max(abs(own.difference) - tolerance, MOST * abs(own.difference))
    return difference * math.copysign(1, own.difference) >= needed - ROUNDING


def _choice_of_classes(study: Study, results: Results, cell: Cell) -> Iterator[Reason]:
    """Yield the choice of the classes as a reason, if another choice could make up for the difference."""
    grouping = results.groupings.get(cell.data)
    known = not study.subjects[cell.data].grouping
    if grouping is None or known or cell.metric != "auc" or cell.judgement is None:
        return
    # Another choice of the classes should change this AUC by as much as it changes the AUC of the exact fit.
    needed, margin = grouping.here - cell.judgement.difference, cell.judgement.tolerance + ROUNDING
    if grouping.lowest - margin <= needed <= grouping.highest + margin:
        text = "The paper's choice of the classes is not known."
        yield Reason("grouping", text, (cell.data,), shown_by=f"exact fits: {describe_grouping(grouping)}")


def describe_grouping(grouping: Grouping) -> str:
    """Return a sentence on the AUCs of other choices of the classes.

    Parameters
    ----------
    grouping : Grouping
        These AUCs.

    Returns
    -------
    text : str
        The sentence.

    Examples
    --------
    >>> from aucmax_studies.reproduce.running.store import Grouping
    >>> from aucmax_studies.reproduce.judging.judging import describe_grouping
    >>> describe_grouping(Grouping("usps", 126, 0.9011, 0.9491, 0.9838, 0.9266))
    'other choices of the classes give 0.9011 to 0.9838 (126 of them, median 0.9491), this one 0.9266.'
    """
    low, median, high, here = (f"{x:.4f}" for x in (grouping.lowest, grouping.median, grouping.highest, grouping.here))
    return (
        f"other choices of the classes give {low} to {high} ({grouping.choices:,} of them, median {median}), "
        f"this one {here}."
    )
