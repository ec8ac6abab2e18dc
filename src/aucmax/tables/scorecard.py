"""Scorecards: a table model as whole numbers of points, in a few lines that can be read, checked and signed.

Conventions
-----------
With the odds of the positive class, the score is

    score = base_score + points_to_double * log2(odds / base_odds)

so that a row with the odds `base_odds` has the score `base_score`, and each `points_to_double` points double the odds.
The log-odds are a constant plus the sum of the curves, hence so is the score. Each value of a curve is rounded to whole
points, and so is the constant, the base points. `merging.py` has the mathematics of short cards.

The weight of evidence of a line is the logarithm of its share of the positive rows over its share of the negative rows,
and the information value of a column is the sum over its lines of the difference of the two shares times this
logarithm. A line that has rows of one class counts as half a row of the other.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Collection, Sequence
from html import escape
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._docs import inherit_entries
from .._text import printable
from ..metrics import AUCComparison, compare_auc, roc_auc
from ..models.formula import Formula, card_formula
from ..models.python_source import to_python
from ..models.sql import to_sql
from ..rows.validate import check_labels
from .classifier import WHOLE, TableClassifier
from .curves import WIDE, Values, level_names, list_values, term_name
from .fitting.merging import Merging, by_column
from .reading.summary import SECONDS
from .terms import Term, edges_of

JUDGED_POINTS = 20  # to double the odds, with which cards were judged; with more, rounding costs less
UNJUDGED = 40  # lines of "auto" if no rows were held out
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a cell begins that a spreadsheet takes for a formula
WIDEST = 60  # letters of a cell of the printed card

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
    rows, positives : float
        The weight of the training rows, and of the positive ones.
    rate : float
        The share of the positives among these rows; NaN if there are none.
    woe : float
        The weight of evidence: above 0 if positives are more frequent than among all rows, NaN if there are no rows.
    """

    column: str
    values: str
    points: int
    share: float
    rows: float
    positives: float
    rate: float
    woe: float


class CardColumn(NamedTuple):
    """A column of a scorecard, or a pair.

    Attributes
    ----------
    column : str
        The name of the column, or of the pair.
    lines : int
        The number of its lines.
    information_value : float
        The information value of its lines.
    auc : float
        The AUC of its points alone, on the training rows.
    """

    column: str
    lines: int
    information_value: float
    auc: float


class AUCLost(NamedTuple):
    """What short cards cost on held-out rows.

    Attributes
    ----------
    lines : int
        The largest number of lines of the cards.
    lost : float
        The AUC of the model less the AUC of the cards, which were merged in each fold of cross-validation.
    low, high : float
        The ends of its 95% confidence interval.
    """

    lines: int
    lost: float
    low: float
    high: float


class Line(NamedTuple):
    """The lines of a column or pair: the groups of its codes, with points and the weights of the training rows."""

    term: Term
    points: np.ndarray
    mass: np.ndarray
    positive: np.ndarray

    def evidence(self) -> tuple[np.ndarray, float]:
        """Return the weight of evidence of each line, and the information value."""
        classes = np.array([self.mass - self.positive, self.positive])
        shares = np.where(classes > 0, classes, 0.5)
        shares /= np.maximum(classes.sum(axis=1, keepdims=True), 0.5)
        woe = np.where(self.mass > 0, np.log(shares[1] / shares[0]), np.nan)
        return woe, float(np.nansum((shares[1] - shares[0]) * woe))


class Scorecard:
    """A fitted table model in whole points, with few lines.

    Neighbouring steps of the curves, similar levels, and missing values with others are merged where this changes the
    scores of the training rows least. The other lines, also of other columns, take over what they can. A column whose
    lines are all merged leaves the card, and surfaces are on none but the longest.

    Read more in ``docs/guide/scorecards.md``.

    Parameters
    ----------
    model : TableClassifier
        The fitted model.
    max_lines : "auto", int or None, default="auto"
        The largest number of lines, of all columns together; from 128 on it makes no difference. "auto" takes the
        shortest card whose held-out AUC is within one standard error, of the paired difference, of the best card of at
        most 60 lines. Without cross-validation there are no held-out rows, and it takes 40. None is the whole model:
        every step of every curve and surface.
    base_score : float, default=600
        The score of a row with the odds `base_odds`.
    base_odds : float, default=1
        Odds of the positive class.
    points_to_double : float, default=20
        The points that double the odds of the positive class. If it is negative, higher scores mean lower odds: scores
        of risk, whose positive class is the bad one.
    require : list of str or int, default=()
        Columns that stay on the card whatever they cost, by name or position. To leave one out, fit the model without
        it, by `drop`.

    Attributes
    ----------
    base_points : int
        The points that every row has.
    points : list of ndarray of int
        The points of the cells of each curve of the model; 0 in columns that are not on the card.
    n_lines : int
        The number of lines.
    left_out : list of str
        The columns and pairs of the model that are not on the card.
    held_out : AUCLost or None
        What merging and rounding cost on the rows that each fold of the cross-validation held out. It was measured with
        20 points to double the odds and nothing required: None with fewer points and with `require`, for the whole
        model, and without cross-validation.

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
    [('up to 0', -53), ('1', 0), ('above 1', 53)]
    >>> card.score([[0.0], [2.0]])
    array([547, 653])
    """

    def __init__(
        self,
        model: Any,
        max_lines: Any = "auto",
        *,
        base_score: float = 600,
        base_odds: float = 1,
        points_to_double: float = 20,
        require: Sequence[Any] = (),
    ) -> None:
        if not isinstance(model, TableClassifier):
            raise TypeError(f"Scorecard takes a TableClassifier, not a {type(model).__name__}.")
        check_is_fitted(model, "terms_")
        self.model = model
        if not base_odds > 0:
            raise ValueError(f"base_odds is {base_odds!r}: odds are above 0.")
        if not points_to_double:
            raise ValueError("points_to_double is 0: give the points that double the odds.")
        self.max_lines = self._find_max_lines(max_lines)
        slope, base_logit = model.calibration_.tolist()
        self._scale = f"{base_score:g} points at odds of {base_odds:g}, and {points_to_double:g} points double the odds"
        unit = points_to_double / np.log(2)
        values, constant = self._merge(require)
        logit = base_logit + slope * constant
        self.base_points = round(base_score + unit * (logit - np.log(base_odds)))
        self._sign = -1 if unit * slope < 0 else 1
        self.points = [np.rint(unit * slope * each).astype(np.int64) for each in values]
        self._found = self._make_lines()
        on = {line.term.columns for line in self._found}
        self.left_out = [term_name(model, term) for term in model.terms_ if term.columns not in on]
        self.n_lines = sum(len(line.points) for line in self._found)
        judged = not len(require) and abs(points_to_double) >= JUDGED_POINTS and self.n_lines > 0
        self.held_out = self._find_held_out() if judged else None

    def _find_max_lines(self, given: Any) -> int | None:
        """Return the largest number of lines."""
        if given is None:
            return None
        if isinstance(given, str) and given == "auto":
            cards = getattr(self.model, "cards_", None)
            return UNJUDGED if cards is None else int(cards["lines"][cards["chosen"]][0])
        if isinstance(given, bool) or not isinstance(given, Integral) or given < 2:
            raise ValueError(f"max_lines is {given!r}: give 'auto', a number from 2 on, or None for every step.")
        return int(given)

    def _merge(self, require: Sequence[Any]) -> tuple[list[np.ndarray], float]:
        """Merge the lines, and return the values of the cells of each term, of mean 0, and the constant."""
        model, edges = self.model, edges_of(self.model.terms_)
        if isinstance(require, str) or not isinstance(require, Collection):
            raise ValueError(f"require is {require!r}: give a list of columns.")
        places = sorted({model._place(column, "require") for column in require})
        if self.max_lines is None:
            if places:
                raise ValueError("require does nothing with max_lines=None, which keeps all: leave one of them out.")
            self._groups = [np.arange(column.n_codes) for column in model.columns_]
            return model._values(), float(model.intercept_[0])
        if 2 * len(places) > self.max_lines:
            raise ValueError(
                f"max_lines={self.max_lines} has no room for the {len(places)} columns of require, with two lines each."
            )
        merging = Merging(model.columns_, model._find_signs(), *model.steps_)
        for j in places:
            if (by_column(model.columns_, model.steps_.line)[j] < 0).all():
                name = model.reading_.part_names[j]
                raise ValueError(f"require names {name!r}, which is on no short card: it hardly has an effect.")
        merging.to(self.max_lines, np.isin(np.arange(len(model.columns_)), places))
        steps = merging.steps()
        self._groups = by_column(model.columns_, steps.line)
        values, constant = np.append(steps.values[:-1], 0.0)[steps.line], float(steps.values[-1])
        found = np.split(np.append(values, np.zeros(edges[-1] - len(values))), edges[1:-1])
        for each, mass in zip(found, np.split(model.mass_, edges[1:-1]), strict=True):
            mean = float(each @ mass) / max(float(mass.sum()), 1e-300)
            constant += mean
            each -= mean
        return found, constant

    def _find_held_out(self) -> AUCLost | None:
        """Return what the longest cards that are not longer than this one cost on held-out rows."""
        cards = getattr(self.model, "cards_", None)
        if cards is None or self.max_lines is None or self.max_lines < cards["lines"][0]:
            return None
        k = int(np.searchsorted(cards["lines"], self.max_lines, "right")) - 1
        lost, reach = float(cards["lost"][k]), WIDE * float(cards["error"][k])
        return AUCLost(int(cards["lines"][k]), lost, lost - reach, lost + reach)

    def table(self) -> list[Entry]:
        """Return all lines of the scorecard, the curves of the columns first.

        Neighbouring bins of a number that have the same points are one line.

        Returns
        -------
        lines : list of Entry
            Column, values, points, and what the training rows say of each line.
        """
        entries = []
        for line in self._found:
            total, (woe, _) = max(float(line.mass.sum()), 1e-300), line.evidence()
            sides = [in_words(self.model, *side) for side in zip(line.term.columns, line.term.groups, strict=True)]
            figures = zip(line.points.tolist(), line.mass.tolist(), line.positive.tolist(), woe.tolist(), strict=True)
            for words, (points, mass, positive, evidence) in zip(itertools.product(*sides), figures, strict=True):
                rate = positive / mass if mass else math.nan
                entries.append(
                    Entry(self._name(line.term), ", ".join(words), points, mass / total, mass, positive, rate, evidence)
                )
        return entries

    def columns(self) -> list[CardColumn]:
        """Return what each column of the card says by itself.

        Returns
        -------
        columns : list of CardColumn
            The number of lines, the information value and the AUC of each column.
        """
        found = []
        for line in self._found:
            labels, masses = np.repeat([0, 1], len(line.points)), np.append(line.mass - line.positive, line.positive)
            scores, used = np.tile(self._sign * line.points, 2), masses > 0
            auc = float(roc_auc(labels[used], scores[used], masses[used]))
            found.append(CardColumn(self._name(line.term), len(line.points), line.evidence()[1], auc))
        return found

    def _name(self, term: Term) -> str:
        """Return the name of a column, or pair; of the age of a date, whose lines are dates, the name of the date."""
        part = self.model.reading_.parts[term.columns[0]]
        if len(term.columns) == 1 and self.model.reading_.kinds[term.columns[0]] == "date" and part.levels is None:
            return str(column_of(self.model, term.columns[0]).name)
        return term_name(self.model, term)

    def _lines(self) -> list[Line]:
        """Return the columns that are on the card."""
        return self._found

    def _make_lines(self) -> list[Line]:
        """Return the columns that are on the card; neighbours that have the same points are one line."""
        model, found = self.model, []
        cuts = edges_of(model.terms_)[1:-1]
        masses = np.split(np.array([model.mass_, model.positive_mass_]), cuts, axis=1)
        for t, (term, points, (mass, positive)) in enumerate(zip(model.terms_, self.points, masses, strict=True)):
            if len(term.columns) == 1:
                group = self._together(t, points)
                term = Term(term.columns, (group,), (int(group.max(initial=-1)) + 1,))
                whole = np.zeros(term.n_cells, dtype=np.int64)
                whole[group] = points
                mass, positive = (np.bincount(group, each, term.n_cells) for each in (mass, positive))
                points = whole
            if self.max_lines is None or (len(term.columns) == 1 and len(points) > 1):
                found.append(Line(term, points, mass, positive))
        return found

    def _together(self, j: int, points: np.ndarray) -> np.ndarray:
        """Return the line of each code of a column."""
        column, lines = self.model.columns_[j], self._groups[j]
        if column.categorical:
            if self.max_lines is None:
                return lines
            return np.unique(self._sign * points, return_inverse=True)[1]
        n = column.n_values
        ranges = np.cumsum(np.append(True, points[1:n] != points[: n - 1])[:n]) - 1
        if not column.missing:
            return ranges
        last = int(ranges.max(initial=-1)) + 1
        same = ranges[lines[:n] == lines[n]]
        return np.append(ranges, same[0] if len(same) else last)

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            A row for each line.
        """
        import pandas as pd

        return pd.DataFrame(self.table(), columns=Entry._fields)

    def summary(self) -> list[str]:
        """Return what the card is, costs and leaves out.

        Returns
        -------
        sentences : list of str
            Sentences, as the printed card begins with.
        """
        model = self.model
        most = "" if self.max_lines in (None, self.n_lines) else f" of at most {self.max_lines}"
        said = [f"{self.n_lines} lines{most}, {self.base_points} base points for class {model.classes_[1]!s}."]
        if (held_out := self.held_out) is not None:
            said.append(
                f"Merging and rounding cost {held_out.lost:.4f} of the AUC on held-out rows, 95% interval "
                f"{held_out.low:.4f} to {held_out.high:.4f} (cards of {held_out.lines} lines)."
            )
        elif self.max_lines is not None and self.n_lines:
            said.append(
                "What merging and rounding cost was not measured on held-out rows"
                + (" (cv=0)" if not hasattr(model, "cards_") else "")
                + ": auc_lost(X, y) measures it on yours."
            )
        if self.left_out:
            said.append(f"Left out: {', '.join(self.left_out)}.")
        return said

    def __repr__(self) -> str:
        found: list[tuple[str, ...]] = [("", *FIGURES)]
        for about, entries in zip(self.columns(), self._by_column(), strict=True):
            worth = f"{printable(about.column)}  (IV {about.information_value:.2f}, AUC {about.auc:.3f})"
            found.append((worth, *[""] * len(FIGURES)))
            found += [(f"  {shorten(printable(entry.values))}", *figures_of(entry)) for entry in entries]
        first, *widths = (max(map(len, cells)) for cells in zip(*found, strict=True))
        lines = ["  ".join([name.ljust(first), *map(str.rjust, figures, widths)]).rstrip() for name, *figures in found]
        return "\n".join([*self.summary(), "", *lines])

    def _repr_html_(self) -> str:
        said, found = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.summary()), []
        for about, line in zip(self.columns(), self._by_column(), strict=True):
            rows = "".join(
                f"<tr><td>{escape(entry.values)}</td>{''.join(f'<td>{each}</td>' for each in figures_of(entry))}</tr>"
                for entry in line
            )
            worth = f"IV {about.information_value:.2f}, AUC {about.auc:.3f}"
            found.append(
                f"<tbody><tr><th>{escape(about.column)} <small>{worth}</small></th>"
                f"{''.join(f'<th>{each}</th>' for each in FIGURES)}</tr>{rows}</tbody>"
            )
        return f"<style>{STYLE}</style><div class=aucmax-card>{said}<table>{''.join(found)}</table></div>"

    def _by_column(self) -> list[list[Entry]]:
        """Return the table, column by column."""
        entries = iter(self.table())
        return [list(itertools.islice(entries, len(line.points))) for line in self._found]

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

    def auc_lost(self, X: Any, y: Any, sample_weight: Any = None) -> AUCComparison:
        """Compare the AUC of the model with the AUC of the card on some rows, by DeLong's paired test.

        Returns
        -------
        comparison : AUCComparison
            What merging and rounding cost: the `difference` of the two AUCs, and its interval from `low` to `high`.
        """
        labels = column_or_1d(y, warn=True)
        check_labels(labels, self.model.classes_)
        positive = labels == self.model.classes_[1]
        return compare_auc(positive, self.model.decision_function(X), self._sign * self.score(X), sample_weight)

    # Export

    def to_csv(self) -> str:
        """Return the table as CSV, with the base points in the first line.

        Text that a spreadsheet would take for a formula begins with an apostrophe.

        Returns
        -------
        text : str
            A header and a line for each entry.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Entry._fields)
        writer.writerow(("", "base points", self.base_points, 1.0, *[""] * (len(Entry._fields) - 4)))
        for column, values, *figures in self.table():
            writer.writerow((harmless(column), harmless(values), *("" if each != each else each for each in figures)))
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
        lines = [(line.term, line.points.tolist()) for line in self._found]
        notes = [self._scale, *self.summary()]
        return card_formula("scorecard of a TableClassifier", self.model, self.base_points, lines, notes)


FIGURES = ("points", "rows", "share", "positives", "rate", "WoE")
STYLE = """
.aucmax-card {color-scheme: light dark; font-family: system-ui, sans-serif; font-size: 13px}
.aucmax-card p {margin: 0.3em 0}
.aucmax-card table {border-collapse: collapse}
.aucmax-card td, .aucmax-card th {padding: 0.15em 0.8em; text-align: right; font-variant-numeric: tabular-nums}
.aucmax-card td:first-child, .aucmax-card th:first-child {text-align: left}
.aucmax-card :is(td, th):first-child {min-width: 9em; max-width: 32em; overflow-wrap: break-word}
.aucmax-card th {padding-top: 0.9em; border-bottom: 1px solid color-mix(in srgb, currentColor 35%, transparent)}
.aucmax-card th:not(:first-child), .aucmax-card small {font-weight: normal; opacity: 0.7}
.aucmax-card td:nth-child(2) {font-weight: 600}
"""


def figures_of(entry: Entry) -> tuple[str, ...]:
    """Return the figures of a line as text."""
    rate, woe = ("", "") if math.isnan(entry.rate) else (f"{entry.rate:.1%}", f"{entry.woe:+.2f}")
    return f"{entry.points:+d}", f"{entry.rows:,.10g}", f"{entry.share:.1%}", f"{entry.positives:,.10g}", rate, woe


def shorten(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def harmless(text: str) -> str:
    """Return text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def column_of(model: Any, j: int) -> Any:
    """Return the column of the table that column j of the model is, or a part of."""
    return [column for column in model.reading_.columns for _ in column.parts][j]


def in_words(model: Any, j: int, groups: np.ndarray) -> list[str]:
    """Return the values of each group of codes of a column in the words of the table.

    Levels are listed, booleans have their words, ages of dates are dates, and ranges of whole numbers begin and end
    with whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import TableClassifier
    >>> from aucmax.tables.scorecard import in_words
    >>> X = np.repeat([[1.0], [2.0], [np.nan], [4.0]], 9, axis=0)
    >>> model = TableClassifier("lines", cv=0).fit(X, np.arange(36) % 2)
    >>> in_words(model, 0, np.array([0, 0, 1, 1]))
    ['up to 3', 'above 3, missing']
    """
    levels, found = level_names(model, j), []
    for values in list_values(model, j, groups):
        parts = [*values.levels]
        if values.low == values.low:
            parts += range_in_words(model, j, values)
        if values.missing and (values.known is None or model.columns_[j].missing):
            parts.append(Values(missing=True).label(levels))
        if values.known is not None:
            parts.append(Values(known=levels).label(levels))
        found.append(", ".join(f'"{part}"' if "," in part and len(parts) > 1 else part for part in parts))
    return found


def range_in_words(model: Any, j: int, values: Values) -> list[str]:
    """Return the words for a range of numbers: one, or both words of a boolean."""
    (low, high), bins, column = values[:2], model.columns_[j], column_of(model, j)
    if column.kind == "boolean":
        words = zip((1, 0), column.reason.split(", "), strict=True)
        return [word for value, word in words if low < value <= high]
    if math.isinf(low) and math.isinf(high):
        return ["any"]
    if column.kind == "date":  # the age grows as dates fall
        step, kind = (SECONDS, "datetime64[D]") if column.latest % SECONDS == 0 else (60, "datetime64[m]")
        ends = [
            math.ceil((column.latest - SECONDS * age) / step) - later if math.isfinite(age) else None
            for age, later in ((high, 0), (low, 1))
        ]
        first, last = (None if end is None else str(np.array(end).astype(kind)).replace("T", " ") for end in ends)
        return [f"up to {last}" if first is None else f"from {first}" if last is None else from_to(first, last)]
    if not all((np.abs(each) < WHOLE).all() and (each == np.rint(each)).all() for each in (bins.low, bins.high)):
        return [values.label(())]
    if len(bins.low) == 2 and (bins.low == bins.high).all():
        return [str(int(bins.low[int(math.isinf(high))]))]
    if math.isinf(low) or math.isinf(high):
        return [f"up to {math.floor(high)}" if math.isinf(low) else f"above {math.floor(low)}"]
    return [from_to(str(math.floor(low) + 1), str(math.floor(high)))]


def from_to(first: str, last: str) -> str:
    """Return the words for a range with both ends."""
    return first if first == last else f"{first} to {last}"


inherit_entries(Scorecard, METHODS)
