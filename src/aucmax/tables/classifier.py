"""TableClassifier: from a raw table to a model that can be read.

1. The table is read (`reading/`): each column becomes numbers or codes of levels.
2. The values become codes of bins and levels (`bins.py`). From here on a file, a cluster and memory are the same.
3. The ladder is climbed on folds, and a rung is chosen (`ladder.py`).
4. The terms of this rung are fitted to all rows (`evidence.py`), and shown without main effects (`terms.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date as Day
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import logit
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._base import LinearAUCClassifier, all_or_nothing, check_finite, lazy_on_dask
from .._compat import Interval, Options, StrOptions, _fit_context
from .._text import ArgumentError, warn_user
from ..models.checks import TOGETHER, Sizes, array, fields, items, measured
from ..rows.dispatch import remote_rows, require_memory, transform_remote_table
from ..rows.memory import MemoryRows
from ..rows.protocol import Rows
from ..rows.summaries.scores import ScoreHistogram
from ..rows.validate import TooManyColumnsError, check_groups, check_weights, find_classes, is_dask
from ..search.calibration import Calibration, calibrate
from ..search.search import draw_sample
from .bins import (
    Column,
    Values,
    ValuesSummary,
    check_column,
    code_rows,
    encode,
    find_columns,
    limit_of,
    summarise_values,
)
from .curves import WHOLE, Reason, column_of, is_age, list_reasons, term_names
from .encoder import COLUMN_PARAMETERS, TableReader
from .fitting.ladder import (
    ENOUGH_ROWS,
    MANY_COLUMNS,
    MOST_COLUMNS,
    RUNGS,
    Climb,
    Design,
    Found,
    climb,
    find_mode_in_shape,
    make_system,
    start_card,
)
from .fitting.merging import STORED, check_lines, check_steps
from .reading import Reading
from .reading.frames import cell_text, is_frame
from .reading.summary import SECONDS
from .reading.table import Levels, check_columns, check_reading, check_used, numbers_as_table, warn_left_out
from .terms import check_term, edges_of, groups_in, show

# What columns are read as that a parameter names.
KINDS = {
    "drop": ("left out",),
    "id": ("identifier",),
    "categorical": ("category",),
    "numeric": ("number", "boolean"),
    "date": ("date",),
}
NUMBERS_OF_RUNGS = ("surfaces", "freedom", "seconds")
CARD = ("auc", "lost", "error")
NO_DEVICE = "TableClassifier needs X in memory or in a Dask dataframe."
TOL = 1e-8  # of the objective of the last fit, relative
LEAK = 0.99  # the AUC of a column that probably knows the label
FEW = 20  # rows of the rarer class, or of a level in the mean, from which the AUC of a column says something
REPETITIONS = 100  # times a row that a weight may well stand for in the mean, and that a row may stand for


class TableClassifier(TableReader, LinearAUCClassifier):
    """Readable classifier for tables: a sum of lines, curves, levels and surfaces.

    The table may have text, dates, gaps and numbers; what each column holds is found from its cells, as in
    :class:`TableEncoder`. The score of a row is a sum of terms. A number has a *line* or a *curve*, a step function
    over bins of its values. Each level of a category has its own value, shrunken the more the fewer rows it has. Two
    columns may have a *surface*. How strongly each term is smoothed is found from the marginal likelihood of a
    logistic model.

    With ``terms="auto"`` the fit climbs a ladder: lines, curves, few surfaces and many. Every rung is judged on
    held-out rows. The lowest rung is taken whose AUC is less than half a standard error below the best one; the
    standard error is that of their paired difference.

    Read more in ``docs/guide/tables.md``.

    Parameters
    ----------
    terms : {"auto", "lines", "curves", "pairs"}, default="auto"
        The rung of the ladder; "auto" chooses it. "pairs" has curves and surfaces.

    pairs : {"auto"}, int or list of pairs, default="auto"
        The surfaces: a number of pairs of columns to find, or the pairs, by name or position. "auto" tries half as many
        as there are columns, and twice as many, at most 128, if these help.

    monotonic_cst : dict or array-like of int, default=None
        The shape of lines and curves: 1 to rise, -1 to fall, 0 for any; by name of the column, or one for each. A date
        rises from earlier to later. Columns with a shape are in no surface.

    cv : int, cross-validation generator or iterable, default=5
        The folds that judge rungs, as in :class:`AUCClassifier`. 0 fits `terms` other than "auto" without them: there
        is no held-out AUC, and probabilities come from the penalised likelihood.

    max_bins : int, default=128
        The largest number of bins of a number, about. Categories have all of their levels.

    cuts : dict, default=None
        Your own bins: ``{"age": [25, 40, 60]}`` has bins up to 25, above 25 up to 40, and so on; by name or position of
        the column. A date is cut after days such as "2024-06-30": ``{"opened": ["2022-12-31", "2023-12-31"]}``.

    Attributes
    ----------
    ladder_ : dict of arrays
        The rungs: "terms", held-out "auc" with the ends "low" and "high" of its 95% interval, the number of "surfaces",
        the degrees of "freedom", "seconds" of a fit, and which was "chosen". ``pandas.DataFrame(clf.ladder_)`` shows it
        as a table. Only after cross-validation.

    cv_auc_ : float
        The AUC on held-out rows. The choice of the rung is made again without each fold and judged on it. It is NaN,
        with a warning, if all splits of `cv` hold out the same rows in part, as a single one does, and there are
        several rungs: no other split is left to choose by.

    cv_auc_ci_ : ndarray of shape (2,)
        The ends of its 95% confidence interval.

    columns_ : list of Column
        How the values of each column become codes.

    terms_ : list of Term
        The lines, curves and levels of the columns in their order, then the surfaces.

    coef_ : ndarray of shape (1, n_cells)
        The values of all terms, one after the other. The mean of each over the training rows is 0. Surfaces have no
        main effects: these are in the curves.

    errors_ : ndarray of shape (n_cells_of_columns,)
        Standard errors of the values of the terms of single columns as log-odds: of ``calibration_[0] * coef_``.

    mass_, positive_mass_ : ndarray of shape (n_cells,)
        The weight of the training rows, and of the positive ones, in each cell.

    steps_ : Steps
        The curves as at most 128 lines of a scorecard, and what is needed to merge them further; see
        :class:`Scorecard`.

    cards_ : dict of arrays
        Scorecards of at most so many "lines", merged in each fold and judged on its held-out rows: the "auc" of their
        whole points, of which so many "points" double the odds, how much of the model's AUC is "lost", and the standard
        "error" of this difference. The last for each number of points was "chosen": the shortest that is within a
        standard error of the best. The choice is made again without each fold and judged on it. Only after
        cross-validation.

    strengths_, freedom_ : ndarray of shape (n_terms,)
        The strength of the penalty, and the degrees of freedom of each term: near 0 if the penalty makes it flat.

    intercept_ : ndarray of shape (1,)
        The intercept. A score of zero has the base rate of the training data as its probability.

    calibration_ : ndarray of shape (2,)
        Slope and offset of the log-odds of `predict_proba` as a function of `decision_function`.

    n_iter_ : int
        Number of steps of Newton's method.

    See Also
    --------
    AUCClassifier : The linear classifier of numbers at any scale.
    Scorecard : The terms as points.

    Notes
    -----
    `score` is the ROC AUC and not the accuracy. Sample weights count as repetitions.

    Rows of a file need not fit into memory: ``fit_rows(open_rows("train.csv", target="churn"))`` gives the same model.
    Strengths, pairs and the rung are found on at most 25,000 rows of each class, and the terms are fitted to all rows.
    With more than 256 columns the ladder has lines alone, and there are at most 8,192.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from aucmax import TableClassifier
    >>> rng = np.random.default_rng(0)
    >>> age, plan = rng.uniform(18, 80, 1000), rng.choice(["basic", "plus", None], 1000)
    >>> leaves = rng.random(1000) < np.where(abs(age - 45) < 15, 0.1, 0.5) + 0.2 * (plan == "plus")
    >>> X, y = pd.DataFrame({"age": age, "plan": plan}), np.where(leaves, "yes", "no")
    >>> clf = TableClassifier().fit(X, y)
    >>> print(pd.DataFrame(clf.ladder_)[["terms", "auc", "surfaces", "chosen"]].round(2))
           terms   auc  surfaces  chosen
    0      lines  0.63       0.0   False
    1     curves  0.73       0.0    True
    2  few pairs  0.73       1.0   False
    >>> round(clf.cv_auc_, 2)
    0.73
    """

    _file_requires = (
        *TOGETHER, "reading_", "columns_", "terms_", "strengths_", "freedom_", "errors_", "mass_", "positive_mass_",
        "steps_",
    )  # fmt: skip
    _file_schema = LinearAUCClassifier._file_schema | {
        "reading_": check_reading,
        "columns_": items(check_column, "p"),
        "terms_": items(check_term, "t"),
        "strengths_": array("f", "t"),
        "freedom_": array("f", "t"),
        "coef_": array("f", 1, "K"),
        "errors_": array("f", None),
        "mass_": array("f", "K"),
        "positive_mass_": array("f", "K"),
        "steps_": check_steps,
        "ladder_": fields(
            {"terms": array("U", "r"), "chosen": array("b", "r")}
            | {name: array("f", "r", finite=False) for name in ("auc", "low", "high", *NUMBERS_OF_RUNGS)},
            ("terms", "auc", "low", "high", *NUMBERS_OF_RUNGS, "chosen"),
        ),
        "cards_": fields(
            {"lines": array("i", "s"), "points": array("i", "s"), "chosen": array("b", "s")}
            | {name: array("f", "s", finite=False) for name in CARD},
            ("lines", "points", *CARD, "chosen"),
        ),
        "cv_auc_": measured,
        "cv_auc_ci_": array("f", 2, finite=False),
    }
    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        "terms": [StrOptions({"auto", "lines", "curves", "pairs"})],
        "pairs": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left"), list, tuple],
        "monotonic_cst": ["array-like", dict, None],
        "cv": ["cv_object", Options(Integral, {0})],
        "max_bins": [Interval(Integral, 2, None, closed="left")],
        "cuts": [dict, None],
        **COLUMN_PARAMETERS,
    }

    def __init__(
        self,
        terms: str = "auto",
        *,
        pairs: Any = "auto",
        monotonic_cst: Any = None,
        cv: Any = 5,
        max_bins: int = 128,
        cuts: Any = None,
        drop: Any = None,
        id: Any = None,
        categorical: Any = None,
        numeric: Any = None,
        date: Any = None,
        na_values: Any = None,
        thousands: str | None = None,
    ) -> None:
        self.terms = terms
        self.pairs = pairs
        self.monotonic_cst = monotonic_cst
        self.cv = cv
        self.max_bins = max_bins
        self.cuts = cuts
        self.drop, self.id = drop, id
        self.categorical, self.numeric, self.date = categorical, numeric, date
        self.na_values, self.thousands = na_values, thousands

    # Reading

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the table.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table: any frame that Arrow can read, or an array with NaN for missing values.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that cross-validation keeps together, as in :class:`AUCClassifier`.
        """
        if not is_dask(X):
            remote_rows(X, y, sample_weight, groups, device_error=NO_DEVICE)  # nothing may be elsewhere
        elif not is_frame(X):
            rows = remote_rows(X, y, sample_weight, groups)
            self._describe(rows)
            self._fit_rows(rows, X=X, y=y)
            return self
        if isinstance(X, Levels):
            self._set_reading(X.reading, named=True)
            levels: Any = np.asarray(X)
        else:
            levels = self._learn(X)
        if levels is None:
            lazy = transform_remote_table(X, self.reading_, "levels", len(self.reading_.parts), False)
            rows = remote_rows(lazy, y, sample_weight, groups)
            self.classes_ = rows.classes
        else:
            labels = column_or_1d(y, warn=True)
            check_consistent_length(levels, labels)
            self.classes_ = find_classes(labels)
            weights = check_weights(sample_weight, levels)
            rows = MemoryRows(levels, labels, self.classes_, weights, check_groups(groups, levels))
        self._fit_rows(rows, X=X, y=y)
        return self

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit_rows(self, rows: Rows) -> Self:
        """Fit the rows of a file, see :func:`aucmax.open_rows`, or your own.

        Parameters
        ----------
        rows : Rows
            The rows; their values are numbers, NaN where missing, or the columns of a table.
        """
        rows = rows.as_table()
        parameters = {name: repr(value) for name, value in self.get_params().items()}
        width = 0 if rows.reading is None else len(rows.reading.parts)
        values = ValuesSummary(width, limit_of(width)) if width else None
        rows.prefetch({"the estimator": type(self).__name__, **parameters}, values=values)
        self._describe(rows)
        self._fit_rows(rows)
        return self

    def _describe(self, rows: Rows) -> None:
        """Set what a fit keeps of the labels and columns, which are read already."""
        check_width(rows.n_features)
        names = rows.feature_names
        reading = rows.reading or numbers_as_table(names or [f"x{j}" for j in range(rows.n_features)])
        check_used(reading)
        self._check_overrides(reading)
        warn_left_out(reading)
        self._set_reading(reading, named=names is not None)
        self.classes_ = rows.classes

    def _check_overrides(self, reading: Reading) -> None:
        """Raise a ValueError if columns are read already, and otherwise than the parameters say."""
        columns = {column.name: column for column in reading.columns}
        wrong = []
        for option, kinds in KINDS.items():
            for name in self._listed(option):
                if name not in columns:
                    wrong.append(f"{option}= names the column {name!r}, which X does not have")
                elif columns[name].kind not in kinds and not columns[name].is_useless:
                    wrong.append(f"{option}= names the column {name!r}, which these rows hold as {columns[name].kind}")
        if not {*self._listed("na_values", cell_text)} <= {*reading.na_values}:
            wrong.append(f"na_values={self.na_values!r} was not used to read these rows")
        if self.thousands not in (None, reading.thousands):
            wrong.append(f"thousands={self.thousands!r} was not used to read these rows")
        if wrong:
            raise ValueError(f"{wrong[0]}: the rows of a file are read as open_rows was asked to.")

    # Fitting

    def _fit_rows(self, rows: Rows, **callback_args: Any) -> None:
        """Fit rows of numbers and of codes of levels, NaN where missing, which may come block by block."""
        check_width(rows.n_features)
        signs = self._find_signs()
        pairs, cuts = self._find_pairs(signs), self._find_cuts()
        rungs, folded = self._rungs(pairs), not (isinstance(self.cv, Integral) and self.cv == 0)
        if not folded and len(rungs) > 1:
            raise ArgumentError("{cv=0} fits one rung without cross-validation: give {terms=} and a number of pairs.")
        counted = summarise_values(rows)
        self.columns_ = find_columns(counted, np.array(self.reading_.categorical), self.max_bins, cuts)
        for j in cuts:
            if np.count_nonzero(self.columns_[j].mass[: self.columns_[j].n_values]) < 2:
                warn_user(f"cuts of {self.reading_.part_names[j]!r} leave all rows in one bin: {cuts[j].tolist()}.")
        coded = code_rows(rows, self.columns_)
        warn_of_columns(self.reading_, self.columns_, counted, coded)
        warn_of_weights(coded)
        design = Design(self.columns_, signs, coded.n_rows)
        with self._tasks(1 + len(rungs) * folded, callback_args) as context:
            found = None
            for name in ("ladder_", "cards_", "cv_auc_", "cv_auc_ci_"):
                self.__dict__.pop(name, None)
            if folded:
                if coded.counts.min() < 2:
                    raise ArgumentError(
                        "Cross-validation needs at least two rows of each class, got {} positive and {} negative: "
                        "set {cv=0}, and {terms=} to one rung.",
                        *coded.counts[::-1],
                    )
                sample = draw_sample(coded, self.cv, ENOUGH_ROWS)
                found = climb(sample, design, rungs, pairs, self.cv, lambda name: self._task(context, name))
                self._set_ladder(found)
            with self._task(context, "solve"):
                self._fit_rung(coded, design, rungs[found.chosen if found else 0], pairs, found)

    def _rungs(self, pairs: Any) -> list[str]:
        """Return the rungs to try."""
        n_columns = len(self.reading_.parts)
        if n_columns > MANY_COLUMNS:
            if self.terms in ("curves", "pairs"):
                raise TooManyColumnsError(
                    f"X has {n_columns} columns, and terms={self.terms!r} takes at most {MANY_COLUMNS}: use "
                    "terms='lines' or drop columns."
                )
            if pairs:
                raise TooManyColumnsError(
                    f"X has {n_columns} columns, and pairs={self.pairs!r} takes at most {MANY_COLUMNS}: drop columns."
                )
            if self.terms == "auto":
                warn_user(f"X has {n_columns} columns: with more than {MANY_COLUMNS}, the ladder has lines alone.")
            return ["lines"]
        surfaces = [] if pairs in (0, []) or n_columns < 2 else ["pairs"] if pairs is not None else list(RUNGS[2:])
        if self.terms == "pairs":
            return surfaces or ["curves"]
        if self.terms != "auto":
            return [self.terms]
        curves = [] if all(self.reading_.categorical) else ["curves"]
        return ["lines", *curves, *surfaces]

    def _fit_rung(self, coded: MemoryRows, design: Design, rung: str, pairs: Any, found: Found | None) -> None:
        """Fit a rung to all rows: its strengths and pairs to a sample if there are many."""
        sample = coded.sample(ENOUGH_ROWS)
        fit = Climb(sample, design, pairs).fit(rung)
        system = make_system(coded, fit.blocks, design)
        fit, factor = find_mode_in_shape(system, fit, design, TOL)
        masses, positives = system.masses(), system.masses(system.positive)
        shares = [mass / mass.sum() for mass in masses]
        shown = show(fit.blocks, fit.coordinates, shares)
        self.terms_ = [block.term for block in fit.blocks]
        self.strengths_ = fit.strengths[[block.strength for block in fit.blocks]]
        self.freedom_, self.n_iter_ = fit.freedom, fit.n_iter
        self.mass_, self.positive_mass_ = np.concatenate(masses), np.concatenate(positives)
        self.coef_ = np.concatenate(shown.values)[None, :]
        for a, column, sign in zip(edges_of(self.terms_), self.columns_, design.signs, strict=False):
            if sign:  # curves with a shape keep it exactly: to show them rounds
                values = self.coef_[0, a : a + column.n_values]
                values[:] = sign * np.maximum.accumulate(sign * values)
        merging = start_card(coded, fit, design, shown.values)
        merging.to(STORED)
        self.steps_ = merging.steps()
        base = float(logit(coded.totals[1] / coded.totals.sum()))
        scale = Calibration(base, 1.0, base)  # the scores are log-odds
        if found is not None:
            held_out = ScoreHistogram.of(found.sample, found.scores).with_totals(coded.totals)
            scale = calibrate(lambda: held_out)
        self._set_calibration(scale._replace(threshold=scale.threshold - fit.offset - shown.mean))
        errors = [factor.errors(parts, share) for parts, share in zip(shown.made_of, shares, strict=False)]
        self.errors_ = scale.slope * np.concatenate(errors)

    def _set_ladder(self, found: Found) -> None:
        aucs = np.array([rung.auc for rung in found.rungs])
        self.ladder_ = {
            "terms": np.array([rung.terms for rung in found.rungs]),
            "auc": aucs[:, 0],
            "low": aucs[:, 1],
            "high": aucs[:, 2],
            **{name: np.array([getattr(rung, name) for rung in found.rungs]) for name in NUMBERS_OF_RUNGS},
            "chosen": np.arange(len(found.rungs)) == found.chosen,
        }
        self.cards_ = found.cards
        self.cv_auc_, self.cv_auc_ci_ = found.auc.auc, np.array(found.auc[1:])
        if math.isnan(self.cv_auc_):
            warn_user(
                "cv_auc_ is NaN: it judges the choice of the rung on rows that had no part in it, and cv holds out too "
                "few different rows for that: give it more splits, or one rung in terms=."
            )

    # Parameters that name columns

    def _place(self, column: Any, parameter: str) -> int:
        """Return the place of a column, given by name or position, among the columns that are fitted."""
        columns = self.reading_.columns
        names, parts = [each.name for each in columns], self.reading_.part_names
        if isinstance(column, str) and column in parts and column not in names:
            return parts.index(column)
        k = int(column) if isinstance(column, Integral) and 0 <= int(column) < len(names) else None
        by_name = names.index(str(column)) if str(column) in names else k
        if isinstance(column, str) and by_name is None:
            raise ArgumentError(f"{{{parameter}=}} names the column {{}}, which the table does not have.", repr(column))
        if by_name is None:
            raise ValueError(
                f"{parameter} holds {column!r}: columns are given by name or by a position from 0 to {len(names) - 1}."
            )
        if k not in (None, by_name):
            raise ValueError(
                f"{parameter} holds {column!r}, the name of one column and the position of another: give the name as "
                f"text, {str(column)!r}."
            )
        if not columns[by_name].parts:
            reason = columns[by_name].reason
            named = f"{{{parameter}=}} names the column {{}}, which is left out: {{}}."
            raise ArgumentError(named, repr(names[by_name]), reason)
        return sum(len(each.parts) for each in columns[:by_name])

    def _find_signs(self) -> np.ndarray:
        """Return the shape of each column."""
        parts, kinds, n_columns = self.reading_.parts, self.reading_.kinds, len(self.reading_.columns)
        signs, given = np.zeros(len(parts), dtype=np.int8), self.monotonic_cst
        if given is None:
            return signs
        if not isinstance(given, Mapping):
            if len(given) != n_columns:
                raise ValueError(
                    f"monotonic_cst has {len(given)} entries, but X has {n_columns} columns: one for each."
                )
            given = {self.reading_.columns[j].name: sign for j, sign in enumerate(given) if sign != 0}
        for column, sign in given.items():
            if sign not in (-1, 0, 1):
                raise ValueError(f"monotonic_cst holds {sign!r}: shapes are 1 to rise, -1 to fall and 0 for any.")
            place = self._place(column, "monotonic_cst")
            if sign and parts[place].levels is not None:
                what = "{monotonic_cst=} has a shape for {}, a category, and only numbers can rise or fall."
                raise ArgumentError(what, repr(parts[place].name))
            is_age = kinds[place] == "date" and parts[place].name != column
            signs[place] = -sign if is_age else sign  # of a date, which is later the lower its age
        return signs

    def _find_cuts(self) -> dict[int, np.ndarray]:
        """Return the cut points of the columns that have them."""
        found = {}
        for column, given in (self.cuts or {}).items():
            place = self._place(column, "cuts")
            if self.reading_.categorical[place]:
                raise ValueError(f"cuts names the column {column!r}, a category, and only numbers have cut points.")
            is_date = is_age(self.reading_, place)
            try:
                if is_date:  # an age is cut after the end of the day
                    ends = 1 + np.array([np.datetime64(Day.fromisoformat(day)) for day in given[::-1]]).astype(np.int64)
                    cuts = (column_of(self.reading_, place).latest - SECONDS * ends) / SECONDS
                else:
                    cuts = np.array(given if isinstance(given, list | np.ndarray) else np.nan, dtype=np.float64)
            except (TypeError, ValueError):
                cuts = np.array(np.nan)
            if cuts.ndim != 1 or not len(cuts) or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
                raise ValueError(
                    f"cuts of {column!r} are {given!r}: give a list of increasing "
                    + ("days such as '2024-06-30'." if is_date else "numbers.")
                )
            found[place] = cuts
        return found

    def _find_pairs(self, signs: np.ndarray) -> Any:
        """Return the parameter `pairs` with places for names, each pair once; None for "auto"."""
        if self.terms in ("lines", "curves") and self.pairs not in ("auto", 0, [], ()):
            raise ArgumentError(f"{{pairs=}} is not used with {{terms={self.terms!r}}}: leave one of them out.")
        if not isinstance(self.pairs, list | tuple):
            return None if isinstance(self.pairs, str) else int(self.pairs)
        found = []
        for pair in self.pairs:
            both = {self._place(column, "pairs") for column in pair} if isinstance(pair, tuple | list) else set()
            if len(both) != 2 or len(pair) != 2:
                raise ValueError(f"pairs holds {pair!r}: a pair is two different columns.")
            if signs[list(both)].any():
                raise ValueError(f"pairs holds {pair!r}, and monotonic_cst a shape that a surface would break.")
            found.append((min(both), max(both)))
        return sorted(set(found))

    # Predicting

    @lazy_on_dask
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores. A larger score means that the row is more likely positive.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table. Columns are found by name; those that are left out may be absent.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The sum of the terms and the intercept; rows with a score above zero are predicted as positive.
        """
        check_is_fitted(self, "coef_")
        codes = self._codes(X)
        scores = np.full(len(codes), self.intercept_[0])
        with np.errstate(over="ignore", invalid="ignore"):
            for part in self._parts(codes):
                scores += part
        return check_finite(scores)

    def contributions(self, X: Any) -> np.ndarray:
        """Return what each term adds to the score of each row.

        Parameters
        ----------
        X : pandas or polars DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_terms)
            In the order of `terms_`; their sum and `intercept_` are `decision_function`.
        """
        codes = self._codes(X)
        found = np.empty((len(codes), len(self.terms_)))
        for t, part in enumerate(self._parts(codes)):
            found[:, t] = part
        return found

    def reasons(self, X: Any, n_reasons: int = 4) -> list[list[Reason]]:
        """Return the terms that move the score of each row most, up or down.

        Parameters
        ----------
        X : pandas or polars DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table.
        n_reasons : int, default=4
            How many terms of each row, at most: terms that add nothing are left out.

        Returns
        -------
        reasons : list of lists of Reason
            For each row `term`, `value` and `log_odds`, the largest first. A reason as text is
            ``contract = monthly (+0.51)``.
        """
        check_is_fitted(self, "coef_")
        require_memory(X, device_error=NO_DEVICE)
        values = self._read(X)
        added = self.calibration_[0] * self.contributions(Levels.of(values, self.reading_))
        terms = [*zip(term_names(self, self.terms_), (term.columns for term in self.terms_), strict=True)]
        return list_reasons(self.reading_, terms, values, added, n_reasons)

    def _parts(self, codes: np.ndarray) -> Iterator[np.ndarray]:
        """Yield what each term adds to the score of each row."""
        for term, values in zip(self.terms_, self._values(), strict=True):
            yield np.append(values, 0.0)[term.cells(codes)]

    def _values(self) -> list[np.ndarray]:
        """Return the values of each term."""
        return np.split(self.coef_[0], edges_of(self.terms_)[1:-1])

    def _codes(self, X: Any) -> np.ndarray:
        """Return the code of each value."""
        check_is_fitted(self, "coef_")
        require_memory(X, device_error=NO_DEVICE)
        return encode(self.columns_, self._read(X))

    def _one_row(self, X: Any) -> Any:
        """Return a row for the type of a lazy prediction."""
        if is_frame(X):
            check_columns(self.reading_, [str(name) for name in X.columns])
        return Levels.of(np.full((1, len(self.columns_)), np.nan), self.reading_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.array_api_support = False
        return tags

    @staticmethod
    def _stored(attributes: dict[str, Any]) -> dict[str, Any]:
        """Return what a file holds: no times, so that equal fits have equal files."""
        if "ladder_" not in attributes:
            return attributes
        times = np.full(len(attributes["ladder_"]["seconds"]), np.nan)
        return {**attributes, "ladder_": {**attributes["ladder_"], "seconds": times}}

    def _check_file(self, attributes: dict[str, Any], sizes: Sizes) -> None:
        """Raise a ValueError if the columns, terms and values of a model from a file do not belong together."""
        super()._check_file(attributes, sizes)
        name, reading, columns = type(self).__name__, attributes["reading_"], attributes["columns_"]
        for column, part in zip(columns, reading.parts, strict=True):
            places = column.cuts if part.levels is None else np.arange(len(part.levels))
            if column.categorical != (part.levels is not None) or not np.isin(column.cuts, places).all():
                raise ValueError(f"columns_ of {name} do not belong to the table that it reads")
        terms, n_cells = attributes["terms_"], 0
        if [term.columns for term in terms[: len(columns)]] != [(j,) for j in range(len(columns))]:
            raise ValueError(f"terms_ of {name} do not begin with one for each column")
        for term in terms:
            n_cells += math.prod(term.shape)
            for j, group, n_groups in zip(*term, strict=True):
                if j >= len(columns) or len(group) != columns[j].n_codes or n_groups != groups_in(columns[j], group):
                    raise ValueError(f"terms_ of {name} do not belong to its columns")
        if attributes["coef_"].shape[1] != n_cells:
            raise ValueError(f"coef_ of {name} has other numbers of cells than its terms, which have {n_cells}")
        if (attributes["positive_mass_"] < 0).any() or (attributes["positive_mass_"] > attributes["mass_"]).any():
            raise ValueError(f"positive_mass_ of {name} is not a part of mass_")
        if "cards_" in attributes and len({*(cards := attributes["cards_"])["lines"][cards["chosen"]].tolist()}) != 1:
            raise ValueError(f"cards_ of {name} do not have one number of lines that was chosen")
        check_lines(attributes["steps_"], columns, f"steps_ of {name}")
        if len(attributes["errors_"]) != sum(column.n_codes for column in columns):
            raise ValueError(f"errors_ of {name} do not belong to its columns")


def check_width(n_columns: int) -> None:
    """Raise a ValueError if a table has more columns than a dense Hessian can have."""
    if n_columns > MOST_COLUMNS:
        raise TooManyColumnsError(
            f"X has {n_columns:,} columns, and TableClassifier takes at most {MOST_COLUMNS:,}: use AUCClassifier."
        )


def warn_of_columns(reading: Reading, columns: Sequence[Column], counted: Sequence[Values], rows: MemoryRows) -> None:
    """Warn about columns that ruin models in practice: constants, row numbers, and those that know the label."""
    said = defaultdict[str, list[str]](list)
    about = zip(reading.part_names, reading.kinds, columns, counted, rows.values().T, strict=True)
    for name, kind, column, (found, *_), codes in about:
        if column.n_values + column.missing <= 1:
            said["columns that are constant"].append(repr(name))
            continue
        differ = kind == "number" and len(found) == rows.n_rows > FEW
        if differ and np.all((found == np.rint(found)) & (np.abs(found) < WHOLE)):
            said["columns of whole numbers that are all different, like identifiers"].append(repr(name))
        if auc_alone(column, codes, rows) > LEAK:
            said[f"columns whose own AUC is above {LEAK}, as if they knew the label"].append(repr(name))
    for what, names in said.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        warn_user(f"X has {what}: {', '.join(names[:5])}{more}.")


def warn_of_weights(rows: MemoryRows) -> None:
    """Warn about weights that have been made to sum to 1, or to the size of a population."""
    mean = float(rows.totals.sum() / rows.counts.sum())
    if not 1 / REPETITIONS <= mean <= REPETITIONS:
        warn_user(
            f"The mean of sample_weight is {mean:.3g}, and weights count as repetitions of rows: divide them by their "
            "mean if they are not."
        )


def auc_alone(column: Column, codes: np.ndarray, rows: MemoryRows) -> float:
    """Return the AUC of a column by itself; 0 if there are few rows of a class or level.

    Levels and bins of many rows are in the order of their shares of positives, other bins in their own or reversed.
    """
    positive, weights = rows.targets.positive, rows.targets.sample_weight
    weights = np.ones(rows.n_rows) if weights is None else weights
    if rows.counts.min() < FEW:
        return 0.0
    # A number that only rows without weight miss has no code.
    n_codes = column.n_codes
    sums = np.array([np.bincount(codes[side], weights[side], n_codes)[:n_codes] for side in (~positive, positive)])
    order = np.arange(column.n_codes, dtype=np.float64)
    if sums.sum() >= FEW * column.n_values:
        order = sums[1] / np.maximum(sums.sum(axis=0), 1e-300)
    elif column.categorical:
        return 0.0
    negatives, positives = sums[:, np.argsort(order, kind="stable")]  # ties, which have equal shares, count one half
    below = np.cumsum(negatives) - negatives / 2
    auc = float(positives @ below / (positives.sum() * negatives.sum()))
    return max(auc, 1 - auc)
