"""How each column of a table is read, decided from its summary, with the reason.

A column is a number, a boolean, a category, a date, an identifier by which the user tells rows apart, or left out. It
becomes one *part* or several: columns of numbers, or of codes of levels.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...models.checks import Sizes, absent, array, count, either, items, named_tuple, number, text
from .cells import BOOLEANS, CODES, NUMBER_FORMS, split_sign
from .dates import DATE_FORMS, DIGITS_FORM, TIME_FORM, date_text, has_days
from .summary import MAX_DISTINCT, PARTS, READ, SECONDS, ColumnSummary, DateSummary, NumberSummary

AS_ASKED = "as asked"  # the reason for columns that the user leaves out
RARE = 5  # rows that a level must have not to be pooled in features, if the user says nothing
MOSTLY = 0.9  # share of numbers or dates from which other texts are faults
FEW_ROWS = 20  # in so few rows, no text is an identifier
IDENTIFIER = re.compile(r"(?:^|[\W_])(?:id|ID|Id|uuid|UUID|guid)$|[a-z](?:Id|ID)$")
ROW_NUMBER = re.compile(r"(?:index|row|row_?number|#|unnamed: \d+|column \d+)$", re.IGNORECASE)

LABELS = {
    "month": [f"{month:02}" for month in range(1, 13)],
    "weekday": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "hour": [f"{hour:02}" for hour in range(24)],
}


class Overrides(NamedTuple):
    """What the user says about columns, as :class:`aucmax.TableEncoder` takes it."""

    drop: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    date: tuple[str, ...] = ()
    na_values: tuple[str, ...] = ()
    thousands: str | None = None
    min_frequency: int | float = RARE
    max_categories: int | None = None


NO_OVERRIDES = Overrides()


class Part(NamedTuple):
    """A column of numbers or codes that a column of the table becomes."""

    name: str  # the name of the column, with what it is of a date
    mean: float = 0.0  # of the numbers in the training rows; 0 for levels
    levels: list[str] | None = None  # all levels of the training rows, in the order of their codes; None for numbers
    counts: np.ndarray = np.empty(0)  # the number of training rows with each level
    of_date: str = ""  # {"", "month", "weekday", "hour"}: the part of a date that the levels are


class Column(NamedTuple):
    """How a column of a table is read."""

    name: str  # its name
    kind: str  # {"number", "boolean", "category", "date", "identifier", "left out"}: what it is
    reason: str  # why, or what was found
    n_missing: int  # number of missing values in the training rows
    form: str = ""  # how numbers or dates are written
    latest: float = 0.0  # the latest date of the training rows, in seconds since 1970
    low: float = 0.0  # with high: the range of the numbers of the training rows, or of the ages of dates in days
    high: float = 0.0
    # The columns of numbers or codes that it becomes.
    parts: list[Part] = []  # noqa: RUF012

    @property
    def is_useless(self) -> bool:
        """Whether it is left out because of its cells, and not because the user says so."""
        return self.kind == "left out" and self.reason != AS_ASKED

    @property
    def expected(self) -> str:
        """What its cells must be, for messages."""
        if self.kind == "boolean":
            return f"one of {self.reason}"
        sign = split_sign(self.form)[0] if self.kind == "number" else ""
        return f"a {self.kind}" + {"": "", "%": " with %"}.get(sign, f", with {sign} or without,")

    @property
    def becomes(self) -> str:
        """What a model takes it as, in words."""
        if self.kind == "date":
            return ", ".join(["age in days", *(part.of_date for part in self.parts[1:])])
        words = {"number": "a number", "boolean": "1 or 0", "category": "levels"}
        return words.get(self.kind, "nothing")


def is_named_identifier(name: str) -> bool:
    """Return whether a column has the name of an identifier: it is then read as text, to count its values."""
    return IDENTIFIER.search(name) is not None or ROW_NUMBER.match(name) is not None


def decide(name: str, summary: ColumnSummary, overrides: Overrides = NO_OVERRIDES) -> Column:
    """Return how a column is read, given the summary of all its rows."""
    if name in overrides.identifiers:
        return Column(name, "identifier", AS_ASKED, summary.n_missing)
    if name in overrides.drop:
        return _left_out(name, AS_ASKED, summary)
    if summary.declared not in READ:
        return _left_out(name, summary.declared, summary)
    if summary.n_present == 0:
        return _left_out(name, "every cell is missing", summary)
    if name in overrides.numeric:
        return _number(name, summary) if truth_words(summary) is None else _boolean(name, summary)
    if name in overrides.date:
        return _date(name, summary, _most(summary.dates))
    if name in overrides.categorical or summary.declared == "category":
        return _category(name, summary)
    return _number(name, summary) if summary.declared == "number" else _decide_alone(name, summary)


def _decide_alone(name: str, summary: ColumnSummary) -> Column:
    """Return how a column is read of which neither the user nor its type tells what it is."""
    if truth_words(summary) is not None:
        return _boolean(name, summary)
    numbers, codes, signs = number_forms(summary), are_codes(summary.levels or ()), currencies(summary)
    form = _most(numbers)
    n_numbers = summary.n_infinite + (0 if form is None else numbers[form].n_cells)
    if n_numbers >= MOSTLY * summary.n_present and not codes:
        return _number(name, summary) if not is_named_identifier(name) else _identifier(name, summary)
    dates = {form: each for form, each in summary.dates.items() if form != DIGITS_FORM}
    form = _most(dates)
    if form is not None and dates[form].n_cells >= MOSTLY * summary.n_present:
        return _date(name, summary, form)
    if summary.levels is not None and summary.n_present >= FEW_ROWS and 2 * len(summary.levels) > summary.n_present:
        many = f"{len(summary.levels):,} different texts in {summary.n_present:,} rows"
        column = _left_out(name, f"identifier or free text: {many}", summary)
    else:
        column = _category(name, summary)
    n_numbers, remark = max((each.n_cells for each in summary.numbers.values()), default=0), ""
    if codes:
        remark = "; digits with leading zeros"
    elif len(signs) > 1:
        remark = f"; amounts in {' and '.join(signs)}"
    elif 2 * n_numbers >= max(summary.n_present, 1):
        remark = f"; {n_numbers:,} cells are numbers"
    return column._replace(reason=column.reason + remark)


def truth_words(summary: ColumnSummary) -> tuple[str, str] | None:
    """Return the words for true and false that all texts of a column are; None if some are not."""
    words = {level.lower() for level in summary.levels or ()}
    return next((pair for pair in BOOLEANS if words and words <= set(pair)), None)


def are_codes(levels: Collection[str]) -> bool:
    """Return whether texts are codes, such as postal codes: digits of one length, some with a leading zero."""
    lengths = {len(level) for level in levels}
    digits = all(level.isascii() and level.isdigit() for level in levels)
    return len(lengths) == 1 and max(lengths) > 1 and digits and any(level[0] == "0" for level in levels)


def number_forms(summary: ColumnSummary) -> dict[str, NumberSummary]:
    """Return the cells of each form of numbers; amounts may lack the sign of their currency if there is only one."""
    signs, found = currencies(summary), {}
    for form, numbers in summary.numbers.items():
        sign, plain = split_sign(form)
        if sign in ("", "%"):
            found[form] = numbers
        elif len(signs) == 1:
            found[form] = numbers.merge(summary.numbers[plain]) if plain in summary.numbers else numbers
    return found


def currencies(summary: ColumnSummary) -> list[str]:
    """Return the signs and codes of currencies of the cells of a column."""
    return sorted({split_sign(form)[0] for form in summary.numbers} - {"", "%"})


def _identifier(name: str, summary: ColumnSummary) -> Column:
    """Return how numbers are read that have the name of an identifier or of row numbers: only if they repeat."""
    if summary.levels is not None and (summary.n_present < FEW_ROWS or 2 * len(summary.levels) <= summary.n_present):
        return _category(name, summary) if IDENTIFIER.search(name) else _number(name, summary)
    return _left_out(name, "identifier: numbers that hardly repeat", summary)


def _left_out(name: str, reason: str, summary: ColumnSummary) -> Column:
    return Column(name, "left out", reason, summary.n_missing)


def _most(found: Mapping[str, Any]) -> str | None:
    """Return the form that most cells have, the most usual one of several; times of day are the least usual."""
    usual = (*DATE_FORMS, *NUMBER_FORMS)
    ranks = {form: usual.index(plain) if (plain := split_sign(form)[1]) in usual else len(usual) for form in found}
    return min(found, key=lambda form: (-found[form].n_cells, ranks[form], form == TIME_FORM), default=None)


def _number(name: str, summary: ColumnSummary) -> Column:
    found = number_forms(summary) or summary.numbers
    form = _most(found)
    numbers = NumberSummary(0, 0.0, 0.0, 0.0) if form is None else found[form]
    low, high, form = numbers.low, numbers.high, form or "1234.5"
    reason = f"{low:g} to {high:g}" + ("" if form == "1234.5" else f", written as {form}")
    return Column(name, "number", reason, summary.n_missing, form, low=low, high=high, parts=[Part(name, numbers.mean)])


def _boolean(name: str, summary: ColumnSummary) -> Column:
    pair, words, positive = truth_words(summary) or BOOLEANS[0], [], 0
    for word in pair[::-1]:
        found = {level: count for level, count in (summary.levels or {}).items() if level.lower() == word}
        words.append(min(found, key=lambda level: (-found[level], level), default=word))  # the most frequent spelling
        positive = sum(found.values())
    part = Part(name, positive / summary.n_present)
    return Column(name, "boolean", ", ".join(words[::-1]), summary.n_missing, parts=[part])


def _category(name: str, summary: ColumnSummary) -> Column:
    if summary.levels is None:
        many = f"more than {MAX_DISTINCT:,} different texts, as identifiers and free text have"
        return _left_out(name, many, summary)
    part = _levels(name, dict(sorted(summary.levels.items())))
    reason = f"{len(part.counts):,} level{'s' if len(part.counts) != 1 else ''}"
    return Column(name, "category", reason, summary.n_missing, parts=[part])


def _levels(name: str, counts: Mapping[str, float]) -> Part:
    return Part(name, levels=list(counts), counts=np.array([*counts.values()], dtype=np.float64))


def _date(name: str, summary: ColumnSummary, form: str | None) -> Column:
    if form is None:  # all cells are faults
        ages = [Part(f"{name} (age in days)")]
        return Column(name, "date", "no date was found", summary.n_missing, DATE_FORMS[0], parts=ages)
    dates: DateSummary = summary.dates[form]
    latest = date_text(dates.latest, dates.latest)
    parts = [Part(f"{name} (days before {latest})", (dates.latest - dates.mean) / SECONDS)]
    varying = [
        part for part in PARTS if np.count_nonzero(dates.parts[part]) > 1 and (part != "weekday" or has_days(form))
    ]
    for part in varying:
        counts = {label: n for label, n in zip(LABELS[part], dates.parts[part], strict=True) if n}
        parts.append(_levels(f"{name} ({part})", counts)._replace(of_date=part))
    reason = f"up to {latest[:10]}, as " + ", ".join(["age", *varying]) + (f"; written as {form}" if form else "")
    day_first = summary.dates.get("%d" + form[2:].replace("%d", "%m"))
    if form.startswith("%m") and day_first is not None and day_first.n_cells == dates.n_cells:
        reason += ", taken as the month first"
    oldest = (dates.latest - dates.earliest) / SECONDS
    return Column(name, "date", reason, summary.n_missing, form, dates.latest, high=oldest, parts=parts)


def check_column(value: Any, where: str, sizes: Sizes) -> None:
    """Check how a column is read: its parts must belong to its kind."""
    CHECK_FIELDS(value, where, sizes)
    if value.kind not in KINDS:
        raise ValueError(f"kind of {where} is {value.kind!r:.60}, where one of {', '.join(KINDS)} is expected")
    is_number, is_date = NUMBER_FORM.fullmatch(value.form), value.form in ("", *DATE_FORMS, DIGITS_FORM)
    if not {"number": is_number, "date": is_date}.get(value.kind, True):
        raise ValueError(f"form of {where} is {value.form!r:.60}, which no {value.kind}s have")
    of_levels = [part.levels is not None for part in value.parts]
    if value.kind == "date":
        have_kind = not any(of_levels[:1]) and all(of_levels[1:]) and all(p.of_date in LABELS for p in value.parts[1:])
    else:
        have_kind = of_levels == {"number": [False], "boolean": [False], "category": [True]}.get(value.kind, [])
    if not have_kind or not all(map(has_size, value.parts)):
        raise ValueError(f"parts of {where} do not belong to a column of the kind {value.kind!r}")


def has_size(part: Part) -> bool:
    """Return whether a part of levels has one or more of them, each with a number of rows."""
    if part.levels is None:
        return len(part.counts) == 0
    return len(part.counts) == len(set(part.levels)) == len(part.levels) > 0 and bool((part.counts > 0).all())


KINDS = ("number", "boolean", "category", "date", "identifier", "left out")
NUMBER_FORM = re.compile(rf"{TIME_FORM}|(?:.|{CODES})?1.?234[.,]5%?", re.DOTALL)
CHECK_PART = named_tuple(
    Part,
    name=text,
    mean=number(int, float),
    levels=either(absent, items(text)),
    counts=array("f", None),
    of_date=text,
)
CHECK_FIELDS = named_tuple(
    Column,
    name=text,
    kind=text,
    reason=text,
    n_missing=count,
    form=text,
    latest=number(int, float),
    low=number(int, float),
    high=number(int, float),
    parts=items(CHECK_PART),
)
