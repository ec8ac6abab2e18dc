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
logarithm. A line that has rows of one class counts as half a row of the other, of mean weight.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Sequence
from html import escape
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._docs import inherit_entries
from .._text import one_line
from ..metrics import AUCComparison, compare_auc, roc_auc
from ..models.contributions import Contributions
from ..models.formula import Formula, card_formula
from ..models.python_source import to_python
from ..models.sql import to_sql
from ..rows.validate import check_labels
from .classifier import TableClassifier
from .curves import WIDE, cell_labels, term_names
from .fitting.merging import STORED, Merging, by_column
from .terms import Term, edges_of

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
    points : int
        The points that double the odds on them.
    lost : float
        The AUC of the model less the AUC of the cards, which were merged in each fold of cross-validation.
    low, high : float
        The ends of its 95% confidence interval.
    """

    lines: int
    points: int
    lost: float
    low: float
    high: float


class Line(NamedTuple):
    """The lines of a column or pair: the groups of its codes, with points and the weights of the training rows."""

    name: str
    term: Term
    points: np.ndarray
    mass: np.ndarray
    positive: np.ndarray
    row: float  # the mean weight of a row

    def evidence(self) -> tuple[np.ndarray, float]:
        """Return the weight of evidence of each line, and the information value."""
        classes = np.array([self.mass - self.positive, self.positive])
        shares = np.where(classes > 0, classes, self.row / 2)
        shares /= np.maximum(classes.sum(axis=1, keepdims=True), self.row / 2)
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
        Columns that are on the card whatever they cost, by name or position. One whose curve is nearly flat may have 0
        points. To leave one out, fit the model without it, by `drop`.

    Attributes
    ----------
    base_points : int
        The points that every row has.
    n_lines : int
        The number of lines.
    left_out : list of str
        The columns and pairs of the model that are not on the card.
    held_out : AUCLost or None
        What merging and rounding cost on the rows that each fold of the cross-validation held out, with the longest of
        the cards measured there that is not longer, and the most points that are not more; the columns of `require` and
        two lines for each do not count. For "auto" the choice of the length is made again without each fold. None for
        the whole model, with fewer points than 1, and without cross-validation.
    tested : AUCComparison or None
        What `auc_lost` has found.

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
            raise TypeError(
                f"Scorecard takes a TableClassifier, not a {type(model).__name__}: fit TableClassifier('lines'), or "
                "use export_sql, export_python and contributions, which take linear models too."
            )
        check_is_fitted(model, "terms_")
        self.model = model
        if not base_odds > 0:
            raise ValueError(f"base_odds is {base_odds!r}: odds are above 0.")
        if not points_to_double:
            raise ValueError("points_to_double is 0: give the points that double the odds.")
        self.base_score, self.base_odds, self.points_to_double = base_score, base_odds, points_to_double
        self.max_lines = self._find_max_lines(max_lines)
        self._required = self._find_required(require)
        self.held_out = self._find_held_out(max_lines == "auto")
        self.tested: AUCComparison | None = None
        slope, base_logit = model.calibration_.tolist()
        unit = points_to_double / np.log(2)
        self._sign = -1 if unit * slope < 0 else 1
        values, groups, constant = self._merge()
        self.base_points = round(base_score + unit * (base_logit + slope * constant - np.log(base_odds)))
        self._lines = self._make_lines([np.rint(unit * slope * each).astype(np.int64) for each in values], groups)
        on = {line.term.columns for line in self._lines}
        names = zip(term_names(model, model.terms_), model.terms_, strict=True)
        self.left_out = [name for name, term in names if term.columns not in on]
        self.n_lines = sum(len(line.points) for line in self._lines)

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

    def _find_required(self, require: Sequence[Any]) -> list[int]:
        """Return the places of the columns that are on the card whatever they cost."""
        if isinstance(require, str) or not isinstance(require, Collection):
            raise ValueError(f"require is {require!r}: give a list of columns.")
        places = sorted({self.model._place(column, "require") for column in require})
        if places and self.max_lines is None:
            raise ValueError("require does nothing with max_lines=None, which keeps all: leave one of them out.")
        if self.max_lines is not None and 2 * len(places) > self.max_lines:
            raise ValueError(
                f"max_lines={self.max_lines} has no room for the {len(places)} columns of require, with two lines each."
            )
        return places

    def _find_held_out(self, is_auto: bool) -> AUCLost | None:
        """Return what such cards cost on held-out rows."""
        cards = getattr(self.model, "cards_", None)
        if cards is None or self.max_lines is None:
            return None
        most, is_auto = self.max_lines - 2 * len(self._required), is_auto and not self._required
        fits = cards["chosen"] if is_auto else ~cards["chosen"] & (cards["lines"] <= most)
        fits = fits & (cards["points"] <= abs(self.points_to_double)) & np.isfinite(cards["lost"])
        if not fits.any():
            return None
        k = int(np.flatnonzero(fits)[-1])  # more points come later, and more lines
        lost, reach = float(cards["lost"][k]), WIDE * float(cards["error"][k])
        return AUCLost(int(cards["lines"][k]), int(cards["points"][k]), lost, lost - reach, lost + reach)

    def _merge(self) -> tuple[list[np.ndarray], list[np.ndarray], float]:
        """Merge the lines; return the values of the cells of each term, of mean 0, their lines, and the constant."""
        model, edges = self.model, edges_of(self.model.terms_)
        if self.max_lines is None:
            whole = [np.arange(column.n_codes) for column in model.columns_]
            return model._values(), whole, float(model.intercept_[0])
        steps, rate, cuts = model.steps_, float(expit(model.calibration_[1])), edges[1:-1]
        curves, masses = model._values(), np.split(model.mass_, cuts)
        for j in self._required:
            if (by_column(model.columns_, steps.line)[j] < 0).all():
                steps = steps.with_column(model.columns_, j, curves[j], rate * (1 - rate) * masses[j])
        merging = Merging(model.columns_, model._find_signs(), steps)
        flat = [(by_column(model.columns_, steps.line)[j] < 0).all() for j in self._required]  # they have one line
        kept = np.isin(np.arange(len(model.columns_)), self._required)
        merging.to(min(self.max_lines, STORED) - int(sum(flat)), kept)
        steps = merging.steps()
        values, constant = np.append(steps.values[:-1], 0.0)[steps.line], float(steps.values[-1])
        found = np.split(np.append(values, np.zeros(edges[-1] - len(values))), cuts)
        for each, mass in zip(found, masses, strict=True):
            mean = float(each @ mass) / max(float(mass.sum()), 1e-300)
            constant += mean
            each -= mean
        return found, by_column(model.columns_, steps.line), constant

    def _make_lines(self, points: Sequence[np.ndarray], groups: Sequence[np.ndarray]) -> list[Line]:
        """Return the columns that are on the card; neighbours that have the same points are one line."""
        model, found = self.model, []
        names = term_names(model, model.terms_)
        masses = np.split(np.array([model.mass_, model.positive_mass_]), edges_of(model.terms_)[1:-1], axis=1)
        for t, (term, ours, (mass, positive)) in enumerate(zip(model.terms_, points, masses, strict=True)):
            if len(term.columns) == 1:
                group = self._together(t, ours, groups[t])
                term = Term(term.columns, (group,), (int(group.max(initial=-1)) + 1,))
                mass, positive = (np.bincount(group, each, term.n_cells) for each in (mass, positive))
                ours = ours[np.unique(group, return_index=True)[1]]
            if self.max_lines is None or t in self._required or (len(term.columns) == 1 and len(ours) > 1):
                found.append(Line(names[t], term, ours, mass, positive, model.steps_.row))
        return found

    def _together(self, j: int, points: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """Return the line of each code of a column."""
        column = self.model.columns_[j]
        if column.categorical:
            return lines if self.max_lines is None else np.unique(self._sign * points, return_inverse=True)[1]
        n = column.n_values
        ranges = np.cumsum(np.append(True, points[1:n] != points[: n - 1])[:n]) - 1
        if not column.missing:
            return ranges
        same = ranges[lines[:n] == lines[n]]
        return np.append(ranges, same[0] if len(same) else int(ranges.max(initial=-1)) + 1)

    def table(self) -> list[Entry]:
        """Return all lines of the scorecard, the curves of the columns first.

        Neighbouring bins of a number that have the same points are one line.

        Returns
        -------
        lines : list of Entry
            Column, values, points, and what the training rows say of each line.
        """
        return [entry for _, entries in self._by_column() for entry in entries]

    def columns(self) -> list[CardColumn]:
        """Return what each column of the card says by itself.

        Returns
        -------
        columns : list of CardColumn
            The number of lines, the information value and the AUC of each column.
        """
        return [about for about, _ in self._by_column()]

    def _by_column(self) -> list[tuple[CardColumn, list[Entry]]]:
        """Return what each column says by itself, and its lines."""
        found = []
        for line in self._lines:
            (woe, value), sums, total = line.evidence(), (line.mass, line.positive), max(float(line.mass.sum()), 1e-300)
            labels, masses = np.repeat([0, 1], len(line.points)), np.append(line.mass - line.positive, line.positive)
            used = masses > 0
            auc = float(roc_auc(labels[used], np.tile(self._sign * line.points, 2)[used], masses[used]))
            words = cell_labels(self.model, line.term)
            figures = zip(words, *(x.tolist() for x in (line.points, *sums, woe)), strict=True)
            entries = [
                Entry(line.name, words, points, mass / total, mass, ours, ours / mass if mass else math.nan, evidence)
                for words, points, mass, ours, evidence in figures
            ]
            found.append((CardColumn(line.name, len(line.points), value, auc), entries))
        return found

    def summary(self) -> list[str]:
        """Return what the card is, costs and leaves out.

        Returns
        -------
        sentences : list of str
            Sentences, as the printed card begins with.
        """
        negative, positive = (one_line(str(label)) for label in self.model.classes_)
        most = "" if self.max_lines in (None, self.n_lines) else f" of at most {self.max_lines}"
        said = [
            f"{self.n_lines} lines{most}, {self.base_points} base points.",
            f"{self.base_score:g} points are odds of {self.base_odds:g} for class {positive} against {negative}; "
            f"{abs(self.points_to_double):g} points {'more' if self.points_to_double > 0 else 'fewer'} double them.",
        ]
        if (cost := self.held_out) is not None:
            about = f"cards of {cost.lines} lines" + ", without the required columns" * bool(self._required)
            if cost.points < min(abs(self.points_to_double), 20):
                about += f", {cost.points} points to double the odds"
            said.append(f"{cost_in_words('held-out', *cost[2:])} ({about}).")
        if self.tested is not None:
            said.append(f"{cost_in_words('test', *self.tested[2:5])}.")
        elif self.held_out is None and self.max_lines is not None and self.n_lines:
            said.append("What merging and rounding cost was not measured: auc_lost(X, y) measures it on your rows.")
        if self.left_out:
            said.append(f"Left out: {one_line(', '.join(self.left_out))}.")
        flat = [line.name for line in self._lines if line.term.columns[0] in self._required and not line.points.any()]
        if flat:
            said.append(f"Required, with 0 points: {one_line(', '.join(flat))}.")
        return said

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            A row for each line, with the information value and the AUC of its column.
        """
        import pandas as pd

        return pd.DataFrame(self._records(), columns=[*Entry._fields, *CardColumn._fields[2:]])

    def _records(self) -> list[tuple[Any, ...]]:
        """Return the table, with the information value and the AUC of the column of each line."""
        return [(*entry, *about[2:]) for about, entries in self._by_column() for entry in entries]

    def __repr__(self) -> str:
        found: list[tuple[str, ...]] = [("", *FIGURES)]
        for about, entries in self._by_column():
            found.append((f"{one_line(about.column)}  ({worth(about)})", *[""] * len(FIGURES)))
            found += [(f"  {shorten(one_line(entry.values))}", *figures_of(entry)) for entry in entries]
        first, *widths = (max(map(len, cells)) for cells in zip(*found, strict=True))
        lines = ["  ".join([name.ljust(first), *map(str.rjust, figures, widths)]).rstrip() for name, *figures in found]
        return "\n".join([*self.summary(), "", *lines])

    def _repr_html_(self) -> str:
        said, found = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.summary()), []
        for about, entries in self._by_column():
            rows = "".join(
                f"<tr><td>{escape(one_line(entry.values))}</td>"
                f"{''.join(f'<td>{each}</td>' for each in figures_of(entry))}</tr>"
                for entry in entries
            )
            found.append(
                f"<tbody><tr><th>{escape(one_line(about.column))} <small>{worth(about)}</small></th>"
                f"{''.join(f'<th>{each}</th>' for each in FIGURES)}</tr>{rows}</tbody>"
            )
        return f"<style>{STYLE}</style><div class=aucmax-card>{said}<table>{''.join(found)}</table></div>"

    def contributions(self, X: Any) -> Contributions:
        """Return the points of each row for each column or pair on the card, as :func:`aucmax.contributions` does.

        Returns
        -------
        contributions : Contributions
            The names, the whole points, of shape (n_samples, n_names), and the base points.
        """
        names = [line.name for line in self._lines]
        return Contributions(names, self._points(self._cells(X)), float(self.base_points))

    def _points(self, cells: np.ndarray) -> np.ndarray:
        """Return the points of each row for each column of the card, shape (n_samples, n_columns)."""
        values = np.zeros(cells.shape[::-1], dtype=np.int64)
        for t, line in enumerate(self._lines):
            values[:, t] = np.append(line.points, 0)[cells[t]]
        return values

    def _cells(self, X: Any) -> np.ndarray:
        """Return the line of each row in each column of the card, -1 if it has none; shape (n_columns, n_samples)."""
        codes = self.model._codes(X)
        cells = [line.term.cells(codes) for line in self._lines]
        return np.array(cells, dtype=np.intp).reshape(len(cells), len(codes))

    def score(self, X: Any) -> np.ndarray:
        """Return the score of each row: the base points and the points of its lines, shape (n_samples,).

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Whole points.
        """
        return self.base_points + self._points(self._cells(X)).sum(axis=1)

    def reasons(self, X: Any, n_reasons: int = 4, direction: str = "down") -> list[list[Entry]]:
        """Return the lines that take the most points from each row, or that give it the most.

        The mean of each column over the training rows is 0 points, up to rounding. Lines of 0 points are no reasons.

        Parameters
        ----------
        n_reasons : int, default=4
            The largest number of lines to name.
        direction : {"down", "up", "both"}, default="down"
            The lines that take points, those that give points, or both by their size.

        Returns
        -------
        reasons : list of list of Entry
            For each row the lines that it is in, as in `table`, the largest first.
        """
        if n_reasons < 1:
            raise ValueError(f"n_reasons must be at least 1, got {n_reasons!r}.")
        cells = self._cells(X)
        points = self._points(cells)
        ranked = {"down": points, "up": -points, "both": -np.abs(points)}.get(direction)
        if ranked is None:
            raise ValueError(f"direction is {direction!r}: give 'down', 'up' or 'both'.")
        entries = [each for _, each in self._by_column()]
        rows = enumerate(np.argsort(ranked, axis=1, kind="stable")[:, :n_reasons].tolist())
        return [[entries[t][cells[t, i]] for t in chosen if ranked[i, t] < 0] for i, chosen in rows]

    def auc_lost(self, X: Any, y: Any, sample_weight: Any = None) -> AUCComparison:
        """Compare the AUC of the model with the AUC of the card on some rows, by DeLong's paired test.

        Returns
        -------
        comparison : AUCComparison
            What merging and rounding cost: the `difference` of the two AUCs, and its interval from `low` to `high`. The
            card says it from then on.
        """
        labels = column_or_1d(y, warn=True)
        check_labels(labels, self.model.classes_)
        positive = labels == self.model.classes_[1]
        scores = self.model.decision_function(X), self._sign * self.score(X)
        self.tested = compare_auc(positive, *scores, sample_weight)
        return self.tested

    # Export

    def to_csv(self) -> str:
        """Return the table as CSV, with the base points in the first line and the sentences of `summary` in the last.

        Text that a spreadsheet would take for a formula begins with an apostrophe.

        Returns
        -------
        text : str
            A header and a line for each entry.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = *Entry._fields, *CardColumn._fields[2:]
        writer.writerow(names)
        writer.writerow(("", "base points", self.base_points, 1.0, *[""] * (len(names) - 4)))
        for column, values, *figures in self._records():
            writer.writerow((harmless(column), harmless(values), *("" if each != each else each for each in figures)))
        writer.writerows(("", harmless(sentence), *[""] * (len(names) - 2)) for sentence in self.summary())
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
        lines = [(line.term, line.points.tolist()) for line in self._lines]
        return card_formula("scorecard of a TableClassifier", self.model, self.base_points, lines, self.summary())


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


def worth(about: CardColumn) -> str:
    """Return what a column says by itself, as text."""
    return f"IV {about.information_value:.2f}, AUC {about.auc:.3f}"


def cost_in_words(rows: str, lost: float, low: float, high: float) -> str:
    """Return what a card costs on such rows, with its interval."""
    return f"Merging and rounding cost {lost:.4f} of the AUC on {rows} rows, 95% interval {low:.4f} to {high:.4f}"


def shorten(text: str) -> str:
    """Return the beginning of a long text."""
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def harmless(text: str) -> str:
    """Return text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


inherit_entries(Scorecard, METHODS)
