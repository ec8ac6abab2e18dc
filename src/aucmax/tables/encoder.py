"""`TableEncoder`: raw frames as features, for pipelines of scikit-learn."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from .._compat import StrOptions, _check_feature_names_in, _fit_context
from ..models.checks import FEATURES, Check, Sizes, array
from ..rows.dispatch import learn_remote_table, transform_remote_table
from ..rows.validate import check_weights, find_classes
from .reading import Overrides, Reading
from .reading.cells import check_thousands
from .reading.features import deal_folds
from .reading.frames import to_arrow
from .reading.table import check_faults, check_reading, make_reading, summarise_table


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a raw table into numbers: for each column, what it holds is found from its cells.

    - Numbers stay as they are, also those with currency signs or separators of thousands. Missing ones have their mean
      and an indicator.
    - Truth values in words (yes and no, true and false) become 1 and 0.
    - Texts become levels, each with a feature of zeros and ones. Rare levels are pooled, unseen ones count as rare.
    - A column of more than 40 levels becomes the share of positive rows with its level (target encoding). In
      `fit_transform`, and so in a pipeline, the share for a row is computed without the rows of its fold.
    - Dates and times become an age in days, and month, weekday and hour if they vary.
    - Identifiers, free text and columns without values are left out.

    Parameters
    ----------
    output : {"features", "codes"}, default="features"
        "features" are for linear models. "codes" are for models that know categories and missing values, such as
        ``HistGradientBoostingClassifier(categorical_features=encoder.categorical_features_)``: NaN where a value is
        missing, and one column of codes for the levels of a column, the last code for rare and unseen ones.
        :class:`AdditiveAUCClassifier` after it in a pipeline knows by itself which columns hold levels.
    drop : list of str, default=None
        Columns to leave out.
    categorical, numeric, date : list of str, default=None
        Columns to read as levels, as numbers or as dates, whatever their cells look like.
    na_values : list of str, default=None
        Further spellings of missing values, beside the usual ones such as NA, ?, null and none.
    thousands : str, default=None
        The separator of thousands; by default, one that a whole column has.

    Attributes
    ----------
    reading_ : Reading
        How each column is read, and why.
    categorical_features_ : ndarray of bool, shape (n_columns_out,)
        For ``output="codes"``, which columns hold codes of levels.
    levels_ : list
        For ``output="codes"``, the levels of each column in the order of their codes; None for numbers.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        The columns of the table; columns of an array are called x0, x1, ...
    n_features_in_ : int
        Their number.

    See Also
    --------
    sklearn.preprocessing.TargetEncoder : Target encoding alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from aucmax import TableEncoder
    >>> X = pd.DataFrame({"income": ["$1,200", "N/A", "$900"], "paid": ["yes", "no", "no"]})
    >>> encoder = TableEncoder()
    >>> encoder.fit_transform(X)
    array([[1.20e+03, 0.00e+00, 1.00e+00],
           [1.05e+03, 1.00e+00, 0.00e+00],
           [9.00e+02, 0.00e+00, 0.00e+00]])
    >>> encoder.get_feature_names_out().tolist()
    ['income', 'income=(missing)', 'paid']
    """

    _file_schema: ClassVar[dict[str, Check]] = {
        **FEATURES,
        "reading_": check_reading,
        "categorical_features_": array("b", "p"),
    }
    _file_requires = ("reading_", "categorical_features_")
    _parameter_constraints = {  # noqa: RUF012
        "output": [StrOptions({"features", "codes"})],
        "drop": [list, tuple, None],
        "categorical": [list, tuple, None],
        "numeric": [list, tuple, None],
        "date": [list, tuple, None],
        "na_values": [list, tuple, None],
        "thousands": [str, None],
    }

    def __init__(
        self,
        output: str = "features",
        *,
        drop: Any = None,
        categorical: Any = None,
        numeric: Any = None,
        date: Any = None,
        na_values: Any = None,
        thousands: str | None = None,
    ) -> None:
        self.output = output
        self.drop = drop
        self.categorical = categorical
        self.numeric = numeric
        self.date = date
        self.na_values = na_values
        self.thousands = thousands

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find what each column holds.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes, for columns that are target-encoded.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in target encoding.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        self._learn(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find what each column holds, and return the training rows.

        The rates of target encoding are computed without the fold of the row, so this is not ``fit(X).transform(X)``.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in target encoding.

        Returns
        -------
        X_out : ndarray or CSR of shape (n_samples, n_columns_out)
            The features or codes; a lazy Dask array if X is a Dask dataframe.
        """
        codes, first_rows = self._learn(X, y, sample_weight)
        if codes is None:
            return self._transform_remotely(X, first_rows)
        return finish(self.output, self.reading_, codes, deal_folds(0, len(codes)))

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Set the fitted attributes; return the codes of the training rows, or the first rows of Dask partitions."""
        learned = learn_remote_table(X, y, sample_weight, self._overrides)
        if learned is not None:
            reading, first_rows, tallies = learned
            check_used(reading)
            check_faults(tallies)
            check_encoded(reading, y)
            self.set_reading(reading)
            return None, first_rows
        table = self._table(X, reset=True)
        overrides = self._overrides(table.column_names)
        reading = make_reading(summarise_table(table, overrides), overrides)
        check_used(reading)
        codes, tallies = reading.codes(table)
        check_faults(tallies)
        check_encoded(reading, y)
        weight = None if sample_weight is None else check_weights(sample_weight, codes)
        if y is not None and any(part.encoded for part in reading.parts):
            check_consistent_length(codes, y)
            y = column_or_1d(np.asarray(y))
            reading = reading.add_labels(codes, y == find_classes(y)[1], deal_folds(0, len(codes)), weight)
        self.set_reading(reading, named=is_frame(X))
        return codes, None

    def _table(self, X: Any, reset: bool) -> Any:
        """Return X as an Arrow table; columns of an array have the names of the training rows, or x0, x1, ..."""
        if is_frame(X):
            table = to_arrow(X)
            check_names(table)
            return table
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return to_arrow(X, None if reset else [column.name for column in self.reading_.columns])

    def _overrides(self, names: list[str]) -> Overrides:
        said = {option: tuple(getattr(self, option) or ()) for option in ("drop", "categorical", "numeric", "date")}
        for option, columns in said.items():
            for column in columns:
                if column not in names:
                    raise ValueError(f"X has no column {column!r}, which {option}= names; its columns are {names}.")
        check_thousands(self.thousands)
        return Overrides(**said, na_values=tuple(self.na_values or ()), thousands=self.thousands)

    def set_reading(self, reading: Reading, named: bool = True) -> Self:
        """Make this a fitted encoder, given how a table is read, for example from a file.

        Parameters
        ----------
        reading : Reading
            How each column is read.
        named : bool, default=True
            Whether the columns have names of their own, and not those given to columns of arrays.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        self.reading_ = reading
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array([column.name for column in reading.columns], dtype=object)
        self.n_features_in_ = len(reading.columns)
        self.categorical_features_ = find_categorical(reading)
        return self

    def transform(self, X: Any) -> Any:
        """Return rows as features or codes. Columns are found by name; those that are left out may be absent.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, pyarrow Table, or array-like of shape (n_samples, n_columns)
            The table.

        Returns
        -------
        X_out : ndarray or CSR of shape (n_samples, n_columns_out)
            The features or codes; a lazy Dask array if X is a Dask dataframe.
        """
        check_is_fitted(self)
        lazy = self._transform_remotely(X, None)
        if lazy is not None:
            return lazy
        table = self._table(X, reset=False)
        for column in self.reading_.used:
            if column.name not in table.column_names:
                raise ValueError(f"X has no column {column.name!r}, which was there in fit.")
        codes, tallies = self.reading_.codes(table)
        check_faults(tallies)
        return finish(self.output, self.reading_, codes, None)

    def _transform_remotely(self, X: Any, first_rows: Any) -> Any:
        """Return a Dask dataframe as a lazy array; None if X is in memory."""
        finish_part, n_columns = functools.partial(finish, self.output), len(self.get_feature_names_out())
        found = transform_remote_table(X, self.reading_, finish_part, first_rows, n_columns)
        if found is not None and self.output == "codes":
            found.categorical = self.categorical_features_
        return found

    @property
    def levels_(self) -> list[list[str] | None]:
        """For ``output="codes"``, the levels of each column in the order of their codes; None for numbers."""
        check_is_fitted(self)
        return [None if part.encoded else part.levels for part in self.reading_.parts]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of the result.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored, except that it must be the names of the columns of X if it is given.

        Returns
        -------
        names : ndarray of str
            The names.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        names = self.reading_.feature_names if self.output == "features" else self.reading_.part_names
        return np.array(names, dtype=object)

    def _check_file(self, attributes: dict[str, Any], sizes: Sizes) -> None:
        """Raise a ValueError if the names in a file are not the names of the columns that are read."""
        names = attributes.get("feature_names_in_")
        if names is not None and names.tolist() != [column.name for column in attributes["reading_"].columns]:
            raise ValueError("feature_names_in_ of TableEncoder are not the names of the columns that it reads")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def check_names(table: Any) -> None:
    """Raise a ValueError if a table has no rows, or two columns of one name."""
    if table.num_rows == 0:
        raise ValueError(f"Found a table with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required.")
    name, count = max(Counter(table.column_names).items(), key=lambda each: each[1], default=("", 0))
    if count > 1:
        raise ValueError(f"X has {count} columns called {name!r}: rename all but one of them.")


def check_used(reading: Reading) -> None:
    """Raise a ValueError if all columns are left out."""
    if not reading.used:
        found = ", ".join(f"{column.name!r} ({column.reason})" for column in reading.columns[:3])
        raise ValueError(f"X has no column to learn from: all are left out, such as {found}.")


def check_encoded(reading: Reading, y: Any) -> None:
    """Raise a ValueError if there are no labels for columns that are target-encoded."""
    encoded = [part.name for part in reading.parts if part.encoded]
    if encoded and y is None:
        raise ValueError(f"y is needed to encode the many levels of {encoded[0]!r}: give y, or drop the column.")


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas or polars or an Arrow table, with columns of types of their own."""
    return hasattr(X, "iloc") or hasattr(X, "to_arrow") or hasattr(X, "column_names")


class Codes(np.ndarray):
    """A matrix of codes that knows which of its columns hold levels; its parts and copies do not."""

    categorical: np.ndarray | None = None


def finish(output: str, reading: Reading, codes: np.ndarray, folds: np.ndarray | None) -> Any:
    """Return the features or codes of rows, given the codes of their columns."""
    if output == "features":
        return reading.features(codes, folds)
    found = reading.encode_levels(codes, folds).view(Codes)
    found.categorical = find_categorical(reading)
    return found


def find_categorical(reading: Reading) -> np.ndarray:
    """Return which columns of the codes hold levels, shape (n_parts,)."""
    return np.array([part.levels is not None and not part.encoded for part in reading.parts])
