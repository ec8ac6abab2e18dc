"""Models of tables as the source of a Python function that scores a raw row and needs no library."""

from __future__ import annotations

import inspect
import math
from typing import Any

from .._text import one_line
from ..tables.curves import Values
from ..tables.reading import Reading
from ..tables.reading.cells import BLANK, BOOLEANS, MINUS, MISSING, number_form
from ..tables.reading.dates import DATE_FORMS, TIME_FORM
from ..tables.reading.kinds import LABELS, Column, Part
from . import cell_reader
from .formula import Cases, Formula, Slope, make_formula, numeric_levels, owners_of, places_of

SHARED = {"BLANK": BLANK, "BOOLEANS": BOOLEANS, "MINUS": MINUS, "MISSING": MISSING}


def export_python(model: Any) -> str:
    """Return the source of a Python function ``score(row)`` of a fitted model.

    A row maps the columns of the table to their raw cells: text, numbers, truth values, dates, None and NaN. They are
    read as the model reads a table. A cell that it would refuse raises a ValueError that names the column. The source
    needs no library.

    Parameters
    ----------
    model : estimator
        A fitted `TableClassifier`, a linear classifier of aucmax after a `TableEncoder`, or one that was fitted to a
        frame of numbers.

    Returns
    -------
    source : str
        The source. ``score(row)`` is `decision_function`.

    Examples
    --------
    >>> import pandas as pd
    >>> from aucmax import TableClassifier, export_python
    >>> X = pd.DataFrame({"paid": ["Yes", "No", "n/a"] * 20})
    >>> clf = TableClassifier("curves", cv=0).fit(X, [1, 0, 0] * 18 + [0, 1, 1] * 2)
    >>> namespace = {}
    >>> exec(export_python(clf), namespace)
    >>> [round(namespace["score"]({"paid": cell}), 3) for cell in (" yes ", "FALSE", None)]
    [2.492, -1.399, -1.651]
    >>> clf.decision_function(X[:3]).round(3).tolist()
    [2.492, -1.399, -1.651]
    """
    return to_python(make_formula(model))


def to_python(formula: Formula) -> str:
    """Return the source of a function that computes a formula."""
    reader = inspect.getsource(cell_reader).split("\n\n", 1)[1]
    imports, body = reader.split("from ..tables.reading.cells import BLANK, BOOLEANS, MINUS, MISSING\n")
    shared = [f"{name} = {value!r}" for name, value in SHARED.items()]
    lines = [*(f"# {line}" for line in formula.header), "", imports.strip(), "", *shared, body.rstrip(), "", ""]
    lines += ["def score(row):", '    """Return the score of a row, a mapping of the columns to their cells."""']
    lines += [f"    {line}" for line in _read(formula)]
    lines.append(f"    total = {formula.base!r}")
    for summand in formula.summands:
        lines += [f"    {line}" for line in _add(summand, formula.reading)]
    return "\n".join([*lines, "    return total", ""])


def _read(formula: Formula) -> list[str]:
    """Return the lines that read the cells."""
    reading, places = formula.reading, {place for each in formula.summands for place in places_of(each)}
    numbers = {column.name: k for k, column in enumerate(reading.columns)}
    lines, seen = [], set[str]()
    for j, (part, column) in enumerate(zip(reading.parts, owners_of(reading), strict=True)):
        if j not in places:
            continue
        cell = f"cell{numbers[column.name]}"
        if column.name not in seen:
            lines.append(f"{cell} = {_call(column, part, tuple(reading.na_values))}")
            seen.add(column.name)
        value = cell
        if part.of_date:
            value = f"date_part({cell}, {part.of_date!r})"
        elif column.kind == "date":
            value = f"None if {cell} is None else ({column.latest!r} - {cell}) / DAY"
        lines.append(f"v{j} = {value}")
    return lines


def _call(column: Column, part: Part, na_values: tuple[str, ...]) -> str:
    """Return the call that reads a cell."""
    given = f"row, {column.name!r}, {na_values!r}"
    if column.kind == "category":
        return f"read_level({given}, {numeric_levels(part.levels or [])!r})"
    if column.kind == "boolean":
        return f"read_truth({given})"
    if column.kind == "date":
        return f"read_date({given}, {column.form or DATE_FORMS[0]!r})"
    if column.form == TIME_FORM:
        return f"read_hours({given})"
    return "read_number({}, {!r}, {!r}, {!r})".format(given, *number_form(column.form))


def _add(summand: Cases | Slope, reading: Reading) -> list[str]:
    """Return the lines that add a summand."""
    lines = ["# " + one_line(summand.name)]
    if isinstance(summand, Slope):
        value = f"v{summand.place}"
        absent = repr(summand.absent)
        if summand.absent is None:
            name = reading.part_names[summand.place]
            return [
                *lines,
                f"if {value} is None:",
                f"    raise unreadable({name!r}, None, 'a number')",
                f"total += {summand.weight!r} * {value}",
            ]
        return [*lines, f"total += {absent} if {value} is None else {summand.weight!r} * {value}"]
    for values, amount in summand.cases:  # of which one holds; a chain of elif would be too deep for the parser
        sides = zip(values, summand.places, strict=True)
        conditions = [condition(each, f"v{j}", reading.parts[j]) for each, j in sides]
        lines += [f"if {' and '.join(conditions)}:", f"    total += {amount!r}"]
    return lines


def condition(values: Values, v: str, part: Part) -> str:
    """Return the condition that the variable `v` has one of these values.

    Examples
    --------
    >>> from aucmax.models.python_source import condition
    >>> from aucmax.tables.curves import Values
    >>> from aucmax.tables.reading.kinds import Part
    >>> condition(Values(1.5, 3.0), "v0", Part("size"))
    'v0 is not None and 1.5 < v0 <= 3.0'
    """
    name = LABELS[part.of_date].index if part.of_date else str
    found, present = [], f"{v} is not None"
    if values.low == values.low:
        low = "" if values.low == -math.inf else f"{values.low!r} < "
        high = "" if values.high == math.inf else f" <= {values.high!r}"
        found.append(f"{present} and {low}{v}{high}" if low or high else present)
    if values.levels:
        found.append(f"{v} in {tuple(map(name, values.levels))!r}")
    if values.known is not None:
        found.append(f"{present} and {v} not in {tuple(map(name, values.known))!r}")
    if values.missing:
        found.append(f"{v} is None")
    return f"({' or '.join(found)})" if len(found) > 1 else found[0]
