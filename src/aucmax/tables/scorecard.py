"""Scorecards: the terms of a table model as whole numbers of points.

Conventions
-----------
With the odds of the positive class, the score is

    score = base_score + points_to_double * log2(odds / base_odds)

so that a row with the odds `base_odds` has the score `base_score`, and each `points_to_double` points double the odds.
The log-odds are a constant plus the sum of the curves, hence so is the score. Each value of a curve is rounded to whole
points, and so is the constant, the base points. For SQL and Python, the cells of curves become conditions.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._docs import inherit_entries
from ..metrics import roc_auc
from .classifier import TableClassifier
from .curves import Values, cell_labels, list_values, term_name
from .terms import Term, edges_of

# Entries of the docstrings of the methods of `Scorecard`.
METHODS = """
Parameters
----------
X : {array-like, dataframe} of shape (n_samples, n_features)
    Rows.
y : array-like of shape (n_samples,)
    Their classes.
sample_weight : array-like of shape (n_samples,), default=None
    Their weights.
"""


def borders(values: Values, name: str) -> list[str]:
    """Return the conditions that a number is in a range, in SQL and Python."""
    low = [f"{name} > {values.low!r}"] if math.isfinite(values.low) else []
    return low + ([f"{name} <= {values.high!r}"] if math.isfinite(values.high) else [])


def sql_condition(values: Values, name: str) -> str:
    """Return the condition of SQL that a column has one of these values; nothing if there are none.

    Examples
    --------
    >>> from aucmax.tables.curves import Values
    >>> from aucmax.tables.scorecard import sql_condition
    >>> print(sql_condition(Values(1.5, 3.0), "size"))
    "size" > 1.5 AND "size" <= 3.0
    >>> print(sql_condition(Values(known=["a", "b"], missing=True), "plan"))
    ("plan" NOT IN ('a', 'b') OR "plan" IS NULL)
    """
    name = '"' + name.replace('"', '""') + '"'
    parts = []
    if values.low == values.low:
        parts.append(" AND ".join(borders(values, name)) or f"{name} IS NOT NULL")
    for word, levels in (("IN", values.levels), ("NOT IN", values.known)):
        if levels:
            listed = ", ".join("'" + level.replace("'", "''") + "'" for level in levels)
            parts.append(f"{name} {word} ({listed})")
    if values.known == []:
        parts.append(f"{name} IS NOT NULL")
    if values.missing:
        parts.append(f"{name} IS NULL")
    return f"({' OR '.join(parts)})" if len(parts) > 1 else "".join(parts)


def python_condition(values: Values, v: str) -> str:
    """Return the condition of Python that the variable `v` has one of these values; nothing if there are none."""
    present, parts = f"{v} is not None and {v} == {v}", []
    if values.low == values.low:
        parts.append(" and ".join([present, *borders(values, v)]))
    if values.levels:
        parts.append(f"{v} in {tuple(values.levels)!r}")
    if values.known is not None:
        parts.append(f"{present} and {v} not in {tuple(values.known)!r}")
    if values.missing:
        parts.append(f"({v} is None or {v} != {v})")
    return f"({' or '.join(parts)})" if len(parts) > 1 else "".join(parts)


class Entry(NamedTuple):
    """A line of a scorecard.

    Attributes
    ----------
    column : str
        The name of the column, or of the pair.
    values : str
        The values that the line is for, in words.
    points : int
        The points.
    share : float
        The share of the training rows, by weight.
    """

    column: str
    values: str
    points: int
    share: float


class Line(NamedTuple):
    """A curve or surface, the points of its cells, and the weight of the training rows in them."""

    term: Term
    points: np.ndarray
    mass: np.ndarray


class Scorecard:
    """The points of a fitted table model.

    Parameters
    ----------
    model : TableClassifier
        The fitted model.
    base_score : float, default=600
        The score of a row with the odds `base_odds`.
    base_odds : float, default=1
        Odds of the positive class.
    points_to_double : float, default=20
        The points that double the odds of the positive class. If it is negative, higher scores mean lower odds: scores
        of risk, whose positive class is the bad one.

    Attributes
    ----------
    base_points : int
        The points that every row has.
    points : list of ndarray of int
        The points of the cells of each curve.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import Scorecard, TableClassifier
    >>> X = np.repeat([[0.0], [1.0], [2.0]], 40, axis=0)
    >>> y = np.r_[np.arange(40) < 5, np.arange(40) < 20, np.arange(40) < 35].astype(int)
    >>> card = Scorecard(TableClassifier("curves", cv=0).fit(X, y))
    >>> card.base_points
    600
    >>> [(entry.values, entry.points) for entry in card.table()]
    [('up to 0.5', -53), ('0.5 to 1.5', 0), ('above 1.5', 53)]
    >>> card.score([[0.0], [2.0]])
    array([547, 653])
    """

    def __init__(self, model: Any, base_score: float = 600, base_odds: float = 1, points_to_double: float = 20) -> None:
        if not isinstance(model, TableClassifier):
            raise TypeError(f"Scorecard takes a TableClassifier, not a {type(model).__name__}.")
        check_is_fitted(model, "terms_")
        self.model = model
        if not base_odds > 0:
            raise ValueError(f"base_odds is {base_odds!r}: odds are above 0.")
        if not points_to_double:
            raise ValueError("points_to_double is 0: give the points that double the odds.")
        slope, base_logit = model.calibration_.tolist()
        unit = points_to_double / np.log(2)
        logit = base_logit + slope * float(model.intercept_[0])
        self.base_points = round(base_score + unit * (logit - np.log(base_odds)))
        whole = np.rint(unit * slope * model.coef_[0]).astype(np.int64)
        self.points = np.split(whole, edges_of(model.terms_)[1:-1])

    def table(self) -> list[Entry]:
        """Return all lines of the scorecard, the curves of the columns first.

        Neighbouring bins of a number that have the same points are one line.

        Returns
        -------
        lines : list of Entry
            Column, values, points and share of the training rows of each line.
        """
        entries = []
        for term, points, mass in self._lines():
            name, total = term_name(self.model, term), max(float(mass.sum()), 1e-300)
            for label, whole, weight in zip(cell_labels(self.model, term), points, mass, strict=True):
                entries.append(Entry(name, label, int(whole), float(weight) / total))
        return entries

    def _lines(self) -> list[Line]:
        """Return the curves with their points; neighbours that have the same points are one."""
        masses = np.split(self.model.mass_, edges_of(self.model.terms_)[1:-1])
        terms = zip(self.model.terms_, self.points, masses, strict=True)
        return [self._merge(Line(*each)) for each in terms]

    def _merge(self, line: Line) -> Line:
        column = self.model.columns_[line.term.columns[0]]
        if len(line.term.columns) > 1 or column.categorical:
            return line
        starts = np.append(True, line.points[1:] != line.points[:-1])
        starts[column.n_values :] = True  # missing values have no neighbours
        (group,), first = line.term.groups, np.flatnonzero(starts)
        term = Term(line.term.columns, ((np.cumsum(starts) - 1)[group],), (len(first),))
        return Line(term, line.points[first], np.add.reduceat(line.mass, first))

    def parts(self, X: Any) -> np.ndarray:
        """Return the points of each row for each curve, shape (n_samples, n_terms).

        Returns
        -------
        points : ndarray of shape (n_samples, n_terms)
            Whole points.
        """
        codes = self.model._codes(X)
        terms = zip(self.model.terms_, self.points, strict=True)
        return np.column_stack([np.append(points, 0)[term.cells(codes)] for term, points in terms])

    def score(self, X: Any) -> np.ndarray:
        """Return the score of each row: the base points and the points of its curves, shape (n_samples,).

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Whole points.
        """
        return self.base_points + self.parts(X).sum(axis=1)

    def reasons(self, X: Any, n_reasons: int = 4) -> list[list[tuple[str, int]]]:
        """Return why each score is as low as it is: the curves that take the most points from it.

        The mean of each curve over the training rows is 0 points, up to rounding. Only curves below it are named.

        Parameters
        ----------
        n_reasons : int, default=4
            The largest number of curves to name.

        Returns
        -------
        reasons : list of list of (str, int)
            For each row the curves and their points, the worst first.
        """
        names = [term_name(self.model, term) for term in self.model.terms_]
        found = []
        for row in self.parts(X):
            order = [t for t in np.argsort(row, kind="stable")[:n_reasons] if row[t] < 0]
            found.append([(names[t], int(row[t])) for t in order])
        return found

    def auc_lost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the AUC of the model on some rows minus the AUC of the whole points.

        Returns
        -------
        lost : float
            What rounding to whole points costs.
        """
        sign = 1 if np.concatenate(self.points) @ self.model.coef_[0] >= 0 else -1  # a higher score may be a risk
        positive = np.asarray(y) == self.model.classes_[1]
        auc = self.model.score(X, y, sample_weight)
        return auc - float(roc_auc(positive, sign * self.score(X), sample_weight))

    # Export

    def to_csv(self) -> str:
        """Return the table as CSV, with the base points in the first line.

        Returns
        -------
        text : str
            A header and a line for each entry.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Entry._fields)
        writer.writerow(("", "base points", self.base_points, 1.0))
        writer.writerows(self.table())
        return text.getvalue()

    def to_sql(self) -> str:
        """Return the score as an expression of SQL, over columns with the names of the training data.

        Columns are taken as the model reads them: numbers without signs, 1 and 0 for truth values, an age in days and
        the other parts of a date. Levels are texts.

        Returns
        -------
        expression : str
            A sum of CASE expressions.
        """
        return "\n+ ".join([str(self.base_points), *(self._sql(line) for line in self._lines())])

    def _sql(self, line: Line) -> str:
        names = [self.model.reading_.part_names[j] for j in line.term.columns]
        cases = self._cases(line, lambda values, k: sql_condition(values, names[k]))
        if not cases:
            return "0"
        whens = [f"    WHEN {' AND '.join(conditions)} THEN {whole}" for conditions, whole in cases]
        return "\n".join(["CASE", *whens, "    ELSE 0", "  END"])

    def _cases(self, line: Line, condition: Callable[[Values, int], str]) -> list[tuple[list[str], int]]:
        """Return the conditions on the columns of a line for each of its cells that has some, and its points."""
        sides = [
            list_values(self.model, j, group) for j, group in zip(line.term.columns, line.term.groups, strict=True)
        ]
        cells = zip(itertools.product(*sides), line.points, strict=True)
        cases = [([condition(each, k) for k, each in enumerate(values)], int(whole)) for values, whole in cells]
        return [case for case in cases if all(case[0])]

    def to_python(self) -> str:
        """Return the source of a Python function `score(row)`, for a mapping of column names to values.

        It needs no library. A missing value is None or NaN. Columns of a table are taken as in `to_sql`.

        Returns
        -------
        source : str
            The source of the function.
        """
        lines, names = ["def score(row):", f"    total = {self.base_points}"], self.model.reading_.part_names
        for line in self._lines():
            lines += [f"    v{k} = row[{names[j]!r}]" for k, j in enumerate(line.term.columns)]
            cases = self._cases(line, lambda values, k: python_condition(values, f"v{k}"))
            for n, (conditions, whole) in enumerate(cases):
                lines += [f"    {'elif' if n else 'if'} {' and '.join(conditions)}:", f"        total += {whole}"]
        return "\n".join([*lines, "    return total", ""])


inherit_entries(Scorecard, METHODS)
