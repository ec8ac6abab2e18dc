"""Scorecards: the terms of a table model as whole numbers of points.

Conventions
-----------
With the odds of the positive class, the score is

    score = base_score + points_to_double * log2(odds / base_odds)

so that a row with the odds `base_odds` has the score `base_score`, and each `points_to_double` points double the odds.
The log-odds are a constant plus the sum of the curves, hence so is the score. Each value of a curve is rounded to whole
points, and so is the constant, the base points.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._docs import inherit_entries
from ..metrics import roc_auc
from ..models.formula import Formula, card_formula
from ..models.python_source import to_python
from ..models.sql import to_sql
from .classifier import TableClassifier
from .curves import cell_labels, term_name
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

    def to_sql(
        self, dialect: str = "postgres", table: str | Sequence[str] | None = None, keep: Sequence[str] | None = None
    ) -> str:
        """Return the score in SQL, over the columns of the raw table, as :func:`aucmax.export_sql` does.

        Parameters
        ----------
        dialect : {"postgres", "duckdb", "sqlite", "mysql", "bigquery", "snowflake", "spark"}, default="postgres"
            The database.
        table : str or sequence of str, default=None
            The table to score, or its schema and its name: a SELECT statement is returned. By default, an
            expression is; bigquery, snowflake and spark need a statement.
        keep : list of str, default=None
            The columns that the statement has before the score; by default, those that are `id=` of the model.

        Returns
        -------
        sql : str
            The points of each row, NULL for a row with a cell that the model would refuse.
        """
        return to_sql(self._formula(), dialect, table, keep)

    def to_python(self) -> str:
        """Return the source of a Python function ``score(row)``, as :func:`aucmax.export_python` does.

        Returns
        -------
        source : str
            The source, which needs no library.
        """
        return to_python(self._formula())

    def _formula(self) -> Formula:
        lines = [(line.term, line.points.tolist()) for line in self._lines()]
        return card_formula("scorecard of a TableClassifier", self.model, self.base_points, lines)


inherit_entries(Scorecard, METHODS)
