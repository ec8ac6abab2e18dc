"""The score of a raw row as a formula, from which SQL (`sql`) and Python (`python_source`) are written.

A score is a base and a sum over *summands*. A summand of cases has an amount for each of its conditions on one column
or two, and 0 if none holds. A summand of a slope is a weight times a number. Cards, terms and linear models of tables
are all such sums. A cell that the reading refuses makes no score.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._base import LinearAUCClassifier
from .._text import one_line
from ..tables.classifier import TableClassifier
from ..tables.curves import Values, list_values, term_names
from ..tables.encoder import TableEncoder
from ..tables.reading import Reading
from ..tables.reading.cells import read_numbers
from ..tables.reading.features import FeaturePart
from ..tables.reading.kinds import Column, Part
from ..tables.reading.table import numbers_as_table
from ..tables.terms import Term, edges_of


class Cases(NamedTuple):
    """An amount for each of some conditions, of which at most one holds."""

    name: str
    places: tuple[int, ...]  # of the columns of codes, `Reading.parts`
    cases: list[tuple[tuple[Values, ...], float]]  # the values of each column, and the amount


class Slope(NamedTuple):
    """A weight times a number."""

    name: str
    place: int
    weight: float
    absent: float | None  # the amount of a missing number; None if there is no score without it


class Formula(NamedTuple):
    """A base and summands."""

    title: str
    classes: Any
    reading: Reading
    base: float
    summands: list[Cases | Slope]
    notes: Sequence[str] = ()  # further lines of the header

    @property
    def parts(self) -> list[tuple[int, int, Column, Part]]:
        """The columns of codes that summands need, each with its place, and the number of its column in the table."""
        used = {j for each in self.summands for j in (each.places if isinstance(each, Cases) else (each.place,))}
        pairs = [(k, column, part) for k, column in enumerate(self.reading.columns) for part in column.parts]
        return [(j, *pairs[j]) for j in sorted(used)]

    @property
    def header(self) -> list[str]:
        """What a reader must know, each on one line whatever the names are."""
        negative, positive = (repr(getattr(label, "item", lambda label=label: label)()) for label in self.classes)
        lines = [
            f"{self.title}, aucmax {__version__}, written on {date.today()}",
            f"classes {negative} and {positive}: the score is high for the last",
            *self.notes,
        ]
        columns = {column.name: column for _, _, column, _ in self.parts}
        lines += [f"column {name!r}: {', '.join(filter(None, (c.kind, c.reason)))}" for name, c in columns.items()]
        return [one_line(line) for line in lines]


def owners_of(reading: Reading) -> Iterator[Column]:
    """Yield the column of the table for each column of the codes."""
    return (column for column in reading.columns for _ in column.parts)


def card_formula(
    title: str, model: Any, base: float, lines: Sequence[tuple[Term, Sequence[float]]], notes: Sequence[str] = ()
) -> Formula:
    """Return terms of a fitted table model, with an amount for each of their cells, as a formula."""
    summands: list[Cases | Slope] = []
    names = term_names(model, [term for term, _ in lines])
    for name, (term, amounts) in zip(names, lines, strict=True):
        sides = [list_values(model, j, group) for j, group in zip(term.columns, term.groups, strict=True)]
        cells = zip(itertools.product(*sides), amounts, strict=True)
        cases = [(values, amount) for values, amount in cells if all(map(has_values, values))]
        summands.append(Cases(name, term.columns, cases))
    return Formula(title, model.classes_, model.reading_, base, summands, notes)


def has_values(values: Values) -> bool:
    """Return whether any value belongs to a cell."""
    return values.low == values.low or bool(values.levels) or values.known is not None or values.missing


def find_steps(model: Any) -> tuple[Any, Any]:
    """Return the encoder of a fitted model, None if it has none, and its classifier; both make sums of columns."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    encoder = steps.pop(0) if len(steps) == 2 and isinstance(steps[0], TableEncoder) else None
    (*before, classifier) = steps
    if (
        before
        or not isinstance(classifier, LinearAUCClassifier)
        or getattr(encoder, "output", "features") != "features"
    ):
        names = " + ".join(type(step).__name__ for step in (encoder, *steps) if step is not None)
        raise TypeError(
            "this takes a TableClassifier, or a linear classifier of aucmax, alone or after a "
            f"TableEncoder, not {names}."
        )
    check_is_fitted(classifier, "coef_")
    return encoder, classifier


def make_formula(model: Any) -> Formula:
    """Return `decision_function` of a fitted model as a formula over the columns of its table."""
    encoder, classifier = find_steps(model)
    base = float(classifier.intercept_[0])
    if isinstance(classifier, TableClassifier):
        amounts = np.split(classifier.coef_[0], edges_of(classifier.terms_)[1:-1])
        lines = [*zip(classifier.terms_, (each.tolist() for each in amounts), strict=True)]
        return card_formula("score of a TableClassifier", classifier, base, lines)
    if encoder is None:
        if not hasattr(classifier, "feature_names_in_"):
            raise ValueError(f"{type(classifier).__name__} was fitted to columns without names: fit a frame.")
        reading = numbers_as_table(classifier.feature_names_in_.tolist())
        weights = zip(reading.part_names, classifier.coef_[0].tolist(), strict=True)
        summands: list[Cases | Slope] = [Slope(name, j, weight, None) for j, (name, weight) in enumerate(weights)]
    else:
        reading, parts = encoder.reading_, encoder.reading_.feature_parts
        edges = np.cumsum([len(part.names) for part in parts])[:-1]
        blocks = zip(parts, reading.parts, np.split(classifier.coef_[0], edges), strict=True)
        summands = [_linear(j, part, all_of.levels, weights) for j, (part, all_of, weights) in enumerate(blocks)]
    return Formula(f"score of a {type(classifier).__name__}", classifier.classes_, reading, base, summands)


def _linear(place: int, part: FeaturePart, levels: list[str] | None, weights: np.ndarray) -> Cases | Slope:
    """Return what a column adds to the score of a linear model."""
    gap = float(weights[-1]) if part.gaps else 0.0
    if levels is None or part.levels is None:
        return Slope(part.name, place, float(weights[0]), float(weights[0] * part.neutral[0] + gap))
    average = float(part.average @ weights[: part.n_levels])
    pooled = float(weights[len(part.levels)]) if part.n_levels > len(part.levels) else average
    rare = [level for level, code in zip(levels, part.codes, strict=False) if code == len(part.levels)]
    cases: list[tuple[tuple[Values, ...], float]] = [
        ((Values(levels=[level]),), float(w)) for level, w in zip(part.levels, weights, strict=False)
    ]
    cases.append(((Values(levels=rare, known=levels),), pooled))
    cases.append(((Values(missing=True),), gap if part.gaps else average))
    return Cases(part.name, (place,), cases)


def numeric_levels(levels: Sequence[str]) -> dict[float, str]:
    """Return the levels that are numbers, by their value, if no other level has it: tables may hold them as numbers."""
    import pyarrow as pa

    values = read_numbers(pa.array(levels, pa.string()), "1234.5").tolist()
    found: dict[float, list[str]] = {}
    for value, level in zip(values, levels, strict=True):
        if np.isfinite(value):
            found.setdefault(value, []).append(level)
    return {value: names[0] for value, names in found.items() if len(names) == 1}
