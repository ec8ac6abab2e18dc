"""Scorecards: the curves of an additive model as whole numbers of points.

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
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..metrics import roc_auc
from .labels import cell_labels, column_name, group_ranges, level_names, split_table, term_name
from .terms import Term, edges_of


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


class Scorecard:
    """The points of a fitted additive model.

    Parameters
    ----------
    model : AdditiveAUCClassifier or Pipeline
        The fitted model, or a pipeline of a :class:`aucmax.TableEncoder` and such a model.
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
    >>> from aucmax import AdditiveAUCClassifier, Scorecard
    >>> X = np.repeat([[0.0], [1.0], [2.0]], 40, axis=0)
    >>> y = np.r_[np.arange(40) < 5, np.arange(40) < 20, np.arange(40) < 35].astype(int)
    >>> card = Scorecard(AdditiveAUCClassifier("balanced_logistic", alpha=0.001).fit(X, y))
    >>> card.base_points
    600
    >>> [(entry.values, entry.points) for entry in card.table()]
    [('up to 0.5', -53), ('0.5 to 1.5', 0), ('above 1.5', 53)]
    >>> card.score([[0.0], [2.0]])
    array([547, 653])
    """

    def __init__(self, model: Any, base_score: float = 600, base_odds: float = 1, points_to_double: float = 20) -> None:
        self.encoder, self.model = split_table(model)
        check_is_fitted(self.model, "terms_")
        if not base_odds > 0:
            raise ValueError(f"base_odds is {base_odds!r}: odds are above 0.")
        if not points_to_double:
            raise ValueError("points_to_double is 0: give the points that double the odds.")
        slope, base_logit = self.model.calibration_.tolist()
        unit = points_to_double / np.log(2)
        logit = base_logit + slope * float(self.model.intercept_[0])
        self.base_points = round(base_score + unit * (logit - np.log(base_odds)))
        whole = np.rint(unit * slope * self.model.coef_[0]).astype(np.int64)
        self.points = np.split(whole, edges_of(self.model.terms_)[1:-1])

    def table(self) -> list[Entry]:
        """Return all lines of the scorecard, the curves of the columns first.

        Returns
        -------
        lines : list of Entry
            Column, values, points and share of the training rows of each line.
        """
        shares = np.split(self.model.mass_, edges_of(self.model.terms_)[1:-1])
        lines = []
        for term, points, mass in zip(self.model.terms_, self.points, shares, strict=True):
            name, total = term_name(self.model, term), max(float(mass.sum()), 1e-300)
            for label, whole, weight in zip(cell_labels(self.model, term), points, mass, strict=True):
                lines.append(Entry(name, label, int(whole), float(weight) / total))
        return lines

    def parts(self, X: Any) -> np.ndarray:
        """Return the points of each row for each curve, shape (n_samples, n_terms).

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        points : ndarray of shape (n_samples, n_terms)
            Whole points.
        """
        whole = np.append(np.concatenate(self.points), 0)
        return whole[self.model._cells(self._codes(X))]

    def _codes(self, X: Any) -> Any:
        return X if self.encoder is None else self.encoder.transform(X)

    def score(self, X: Any) -> np.ndarray:
        """Return the score of each row: the base points and the points of its curves, shape (n_samples,).

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows.

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
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows.
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
        """Return the AUC of the model on some rows minus that of the whole points.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        lost : float
            What rounding to whole points costs.
        """
        sign = 1 if self._rises else -1
        positive = np.asarray(y) == self.model.classes_[1]
        auc = self.model.score(self._codes(X), y, sample_weight)
        return auc - float(roc_auc(positive, sign * self.score(X), sample_weight))

    @property
    def _rises(self) -> bool:
        """Whether a higher score means higher odds."""
        whole = np.concatenate(self.points)
        return bool(whole @ self.model.coef_[0] >= 0)

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

        Columns of a table are taken as the encoder reads them: numbers without signs, 1 and 0 for truth values, an age
        in days and the other parts of a date, and the rate of a level where there are too many levels.

        Returns
        -------
        expression : str
            A sum of CASE expressions.
        """
        terms = zip(self.model.terms_, self.points, strict=True)
        return "\n+ ".join([str(self.base_points), *(self._sql(term, points) for term, points in terms)])

    def _sql(self, term: Term, points: np.ndarray) -> str:
        sides = [sql_conditions(self.model, j, group) for j, group in zip(term.columns, term.groups, strict=True)]
        lines = ["CASE"]
        for conditions, whole in zip(itertools.product(*sides), points, strict=True):
            lines.append(f"    WHEN {' AND '.join(conditions)} THEN {whole}")
        return "\n".join([*lines, "    ELSE 0", "  END"]) if len(lines) > 1 else "0"

    def to_python(self) -> str:
        """Return the source of a Python function `score(row)`, for a mapping of column names to values.

        It needs no library. A missing value is None or NaN. Columns of a table are taken as in `to_sql`.

        Returns
        -------
        source : str
            The source of the function.
        """
        lines = ["def score(row):", f"    total = {self.base_points}"]
        for term, points in zip(self.model.terms_, self.points, strict=True):
            sides = [
                python_conditions(self.model, j, group) for j, group in zip(term.columns, term.groups, strict=True)
            ]
            for k, j in enumerate(term.columns):
                lines.append(f"    v{k} = row[{column_name(self.model, j)!r}]")
            word = "if"
            for conditions, whole in zip(itertools.product(*sides), points, strict=True):
                test = " and ".join(condition.format(v=f"v{k}") for k, condition in enumerate(conditions))
                lines += [f"    {word} {test}:", f"        total += {whole}"]
                word = "elif"
        return "\n".join([*lines, "    return total", ""])


def sql_conditions(model: Any, j: int, groups: np.ndarray) -> list[str]:
    """Return a condition of SQL for each group of codes of a column."""
    name = '"' + column_name(model, j).replace('"', '""') + '"'
    column = model.columns_[j]
    if column.categorical:
        found = [sql_levels(name, levels, known) for levels, known in grouped_levels(model, j, groups)]
    else:
        found = []
        for low, high in group_ranges(column, groups):
            borders = [f"{name} > {low!r}"] * math.isfinite(low) + [f"{name} <= {high!r}"] * math.isfinite(high)
            found.append(" AND ".join(borders) or f"{name} IS NOT NULL")
    return [*found, f"{name} IS NULL"] if column.missing else found


def grouped_levels(model: Any, j: int, groups: np.ndarray) -> list[tuple[list[Any], list[Any] | None]]:
    """Return the levels of each group of a category column, and all that are known if the pooled level is among them.

    The pooled level, that of rare and new texts, is whatever is not known. Other groups have None.
    """
    levels, ours = level_names(model, j), groups[: model.columns_[j].n_values]
    known = [] if model.categories_[j] is None else [level for level in model.categories_[j] if level is not None]
    found = []
    for g in np.unique(ours):
        members = [levels[k] for k in np.flatnonzero(ours == g)]
        named = [level for level in members if level is not None]
        found.append((named, known if len(named) < len(members) else None))
    return found


def sql_levels(name: str, levels: list[Any], known: list[Any] | None) -> str:
    """Return the condition of SQL that a column has one of some levels, or none of those that are known."""
    parts = [f"{name} IN ({', '.join(map(sql_value, levels))})"] if levels else []
    if known is not None:
        parts.append(f"{name} NOT IN ({', '.join(map(sql_value, known))})" if known else f"{name} IS NOT NULL")
    return f"({' OR '.join(parts)})" if len(parts) > 1 else parts[0]


def python_levels(levels: list[Any], known: list[Any] | None) -> str:
    """Return the same as a condition of Python, with {v} for the value."""

    def listed(values: list[Any]) -> str:
        return repr(tuple(values)).replace("{", "{{").replace("}", "}}")

    parts = [f"{{v}} in {listed(levels)}"] if levels else []
    if known is not None:
        parts.append(f"{{v}} is not None and {{v}} == {{v}} and {{v}} not in {listed(known)}")
    return f"({' or '.join(parts)})" if len(parts) > 1 else parts[0]


def sql_value(value: Any) -> str:
    """Return a level as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def python_conditions(model: Any, j: int, groups: np.ndarray) -> list[str]:
    """Return a condition of Python for each group of codes of a column, with {v} for the value."""
    column = model.columns_[j]
    known = "{v} is not None and {v} == {v}"
    if column.categorical:
        found = [python_levels(levels, known) for levels, known in grouped_levels(model, j, groups)]
    else:
        found = []
        for low, high in group_ranges(column, groups):
            borders = [f"{{v}} > {low!r}"] * math.isfinite(low) + [f"{{v}} <= {high!r}"] * math.isfinite(high)
            found.append(" and ".join([known, *borders]))
    return [*found, "({v} is None or {v} != {v})"] if column.missing else found
