"""How estimators read raw tables, and `TableEncoder`: raw frames as features, for pipelines of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._compat import Interval, RealNotInt, StrOptions, _check_feature_names_in, _fit_context, _get_output_config
from .._docs import inherit_entries
from ..models.checks import FEATURES, Check, Sizes, array, fields, text
from ..rows.dispatch import learn_remote_table, transform_remote_table
from .reading import Overrides, Reading
from .reading.cells import check_thousands
from .reading.features import is_sparse
from .reading.frames import COMPLEX, cell_text, check_table, is_frame, to_arrow
from .reading.kinds import RARE
from .reading.table import (
    OF_COLUMNS,
    Levels,
    check_columns,
    check_faults,
    check_names,
    check_overrides,
    check_reading,
    check_used,
    make_reading,
    summarise_table,
    warn_left_out,
    warn_outside,
)

OVERRIDES = ("drop", "id", "categorical", "numeric", "date", "na_values", "thousands")
COLUMN_PARAMETERS: dict[str, Any] = {name: ["array-like", None] for name in OVERRIDES[:-1]} | {"thousands": [str, None]}
# Entries of the docstrings of the methods of `TableEncoder`.
METHODS = """
Parameters
----------
X : {dataframe, array-like} of shape (n_samples, n_columns)
    The table: of pandas, polars, Dask, Arrow or any library with ``__arrow_c_stream__``, or an array.

Returns
-------
X_out : ndarray or CSR of shape (n_samples, n_columns_out)
    The features or codes; a lazy Dask array if X is a Dask dataframe.
"""


class TableReader:
    """What estimators of raw tables share.

    Parameters
    ----------
    drop : list of str, default=None
        Columns to leave out.

    id : list of str, default=None
        Columns that name rows: they are left out, too.

    categorical : list of str, default=None
        Columns to read as levels, whatever their cells look like.

    numeric : list of str, default=None
        Columns to read as numbers.

    date : list of str, default=None
        Columns to read as dates.

    na_values : list of str, default=None
        Further spellings of missing values, in addition to the usual ones such as NA, ?, null and none.

    thousands : str, default=None
        The separator of thousands; by default, one that a whole column has.

    Attributes
    ----------
    reading_ : Reading
        How each column is read, and why.

    n_features_in_ : int
        Number of columns of the table.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had them.
    """

    reading_: Reading
    na_values: Any
    thousands: str | None

    def _learn(self, X: Any) -> Any:
        """Find how a table is read; return the codes of the training rows, or None for a Dask dataframe."""
        learned = learn_remote_table(X, self._overrides)
        if learned is None:
            table = self._table(X, reset=True)
            overrides = self._overrides(table.column_names)
            reading = make_reading(summarise_table(table, overrides), overrides)
            check_used(reading)
            codes, tallies = reading.codes(table)
        else:
            (reading, tallies), codes = learned, None
            check_used(reading)
        check_faults(tallies, "name such cells in na_values=, or the column in categorical=")
        warn_left_out(reading)
        self._set_reading(reading, learned is not None or is_frame(X))
        return codes

    def _read(self, X: Any) -> np.ndarray:
        """Return the codes of all levels of a table in memory."""
        if isinstance(X, Levels):
            return np.asarray(X)
        table = self._table(X, reset=False)
        check_columns(self.reading_, table.column_names)
        codes, tallies = self.reading_.codes(table)
        check_faults(tallies)
        warn_outside(tallies, len(codes))
        return codes

    def _table(self, X: Any, reset: bool) -> Any:
        """Return X as an Arrow table; columns of an array have the names of the training rows, or x0, x1, ..."""
        check_table(X)
        if is_frame(X):
            table = to_arrow(X)
            check_names("X", table.column_names)
            if 0 in table.shape:
                what = "sample(s)" if table.column_names else "feature(s)"
                raise ValueError(f"Found a table with 0 {what} (shape={table.shape}) while a minimum of 1 is required.")
            return table
        if getattr(X, "dtype", None) == np.longdouble:  # which Arrow has not
            X = np.asarray(X, dtype=np.float64)
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise ValueError(f"X: {COMPLEX}.")
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(object), np.nan)
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return to_arrow(X, None if reset else [column.name for column in self.reading_.columns])

    def _overrides(self, names: list[str]) -> Overrides:
        """Return what the parameters say about the columns of a table with these names."""
        said: dict[str, Any] = {name: self._listed(name) for name in OF_COLUMNS}
        check_overrides("X", said, names, names)
        check_thousands(self.thousands)
        said["identifiers"], missing = said.pop("id"), self._listed("na_values", cell_text)
        return Overrides(**said, na_values=missing, thousands=self.thousands)

    def _listed(self, parameter: str, write: Callable[[Any], str] = str) -> tuple[str, ...]:
        """Return a parameter that lists columns or cells, as texts."""
        given = getattr(self, parameter)
        return () if given is None else tuple(map(write, given))

    def _set_reading(self, reading: Reading, named: bool) -> None:
        """Keep how a table is read, whose columns may have names of their own."""
        self.reading_, self.n_features_in_ = reading, len(reading.columns)
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array([column.name for column in reading.columns], dtype=object)

    def _check_file(self, attributes: dict[str, Any], sizes: Sizes) -> None:
        """Raise a ValueError if the names in a file are not the names of the columns that are read."""
        names = attributes.get("feature_names_in_")
        if names is not None and names.tolist() != [column.name for column in attributes["reading_"].columns]:
            raise ValueError(
                f"feature_names_in_ of {type(self).__name__} are not the names of the columns that it reads"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags


class TableEncoder(TableReader, TransformerMixin, BaseEstimator):
    """Turn a raw table into numbers: for each column, what it holds is found from its cells.

    - Numbers stay as they are, also those with currency signs or separators of thousands. Missing ones have their mean
      and an indicator.
    - Truth values in words (yes and no, true and false) become 1 and 0.
    - Texts become levels, each with a feature of zeros and ones. Rare levels are pooled, unseen ones count as rare.
    - Dates and times become an age in days, and month, weekday and hour if they vary.
    - Identifiers, free text and columns without values are left out, with a warning.

    Parameters
    ----------
    output : {"features", "codes"}, default="features"
        "features" are for linear models. "codes" are for models that know categories and missing values, such as
        ``HistGradientBoostingClassifier(categorical_features=encoder.categorical_features_)``: NaN where a value is
        missing, and one column of codes for the levels of a column, the last code for rare and unseen ones. They are
        columns of categories after ``set_output(transform="pandas")`` or ``"polars"``.
    min_frequency : int or float, default=5
        Levels that fewer training rows have are pooled, as in :class:`sklearn.preprocessing.OneHotEncoder`; a float is
        a share of the training rows. In fewer than 100 rows, a twentieth of them counts as 5. Missing values that are
        rarer have no indicator.
    max_categories : int, default=None
        The largest number of levels of a column, with the pooled one: the rarest are pooled. By default, there is no
        limit. ``HistGradientBoostingClassifier`` takes up to 255.

    Attributes
    ----------
    categorical_features_ : ndarray of bool, shape (n_columns_out,)
        For ``output="codes"``, which columns hold codes of levels.
    levels_ : list
        For ``output="codes"``, the levels of each column in the order of their codes, "(rare)" last; None for numbers.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        The columns of the table; columns of an array are called x0, x1, ...

    See Also
    --------
    sklearn.preprocessing.OneHotEncoder : Features of zeros and ones for columns that are all categories.

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
        "_sklearn_output_config": fields({"transform": text}),
    }
    _file_requires = ("reading_", "categorical_features_")
    _parameter_constraints = {  # noqa: RUF012
        "output": [StrOptions({"features", "codes"})],
        "min_frequency": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 1, closed="neither")],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        **COLUMN_PARAMETERS,
    }

    def __init__(
        self,
        output: str = "features",
        *,
        min_frequency: float = RARE,
        max_categories: int | None = None,
        drop: Any = None,
        id: Any = None,
        categorical: Any = None,
        numeric: Any = None,
        date: Any = None,
        na_values: Any = None,
        thousands: str | None = None,
    ) -> None:
        self.output = output
        self.min_frequency = min_frequency
        self.max_categories = max_categories
        self.drop, self.id = drop, id
        self.categorical, self.numeric, self.date = categorical, numeric, date
        self.na_values, self.thousands = na_values, thousands

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find what each column holds.

        Parameters
        ----------
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        self._learn(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Find what each column holds, and return the training rows: the same as ``fit(X).transform(X)``.

        Parameters
        ----------
        y : None
            Ignored.
        """
        codes = self._learn(X)
        return self._transform_remotely(X) if codes is None else self._finish(X, codes)

    def _overrides(self, names: list[str]) -> Overrides:
        frequency, most = self.min_frequency, self.max_categories
        frequency = frequency if isinstance(frequency, float) else int(frequency)
        most = most if most is None else int(most)
        return super()._overrides(names)._replace(min_frequency=frequency, max_categories=most)

    def set_reading(self, reading: Reading) -> Self:
        """Make this a fitted encoder, given how a table is read, for example from a file.

        Parameters
        ----------
        reading : Reading
            How each column is read; the columns have names of their own.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        self._set_reading(reading, named=True)
        return self

    def _set_reading(self, reading: Reading, named: bool) -> None:
        super()._set_reading(reading, named)
        self.categorical_features_ = np.array(reading.categorical)

    def transform(self, X: Any) -> Any:
        """Return rows as features or codes. Columns are found by name; those that are left out may be absent."""
        check_is_fitted(self)
        lazy = self._transform_remotely(X)
        return self._finish(X, self._read(X)) if lazy is None else lazy

    def _finish(self, X: Any, codes: np.ndarray) -> Any:
        """Return the features or codes of rows, given the codes of all levels."""
        found, frames = self.reading_.convert(codes, self.output), _get_output_config("transform", self)["dense"]
        if frames == "default":
            return found
        if self.output == "features":
            return found.toarray() if sparse.issparse(found) else found
        table = codes_table(self.reading_, found)
        if frames == "polars":
            import polars as pl

            return pl.from_arrow(table)
        frame = table.to_pandas()
        return frame.set_axis(X.index) if hasattr(X, "iloc") else frame

    def _transform_remotely(self, X: Any) -> Any:
        """Return a Dask dataframe as a lazy array; None if X is in memory."""
        wide = self.output == "features" and is_sparse(self.reading_.feature_parts)
        return transform_remote_table(X, self.reading_, self.output, len(self.get_feature_names_out()), wide)

    @property
    def levels_(self) -> list[list[str] | None]:
        """For ``output="codes"``, the levels of each column in the order of their codes, "(rare)" last."""
        check_is_fitted(self)
        return [part.labels for part in self.reading_.feature_parts]

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


inherit_entries(TableEncoder, METHODS)


def codes_table(reading: Reading, codes: np.ndarray) -> Any:
    """Return pooled codes as an Arrow table, in which columns of levels are dictionaries."""
    import pyarrow as pa

    columns = []
    for part, values in zip(reading.feature_parts, np.asarray(codes).T, strict=True):
        missing = np.isnan(values)
        if part.labels is None:
            columns.append(pa.array(values))
        else:
            places = pa.array(np.where(missing, 0, values).astype(np.int32), mask=missing)
            columns.append(pa.DictionaryArray.from_arrays(places, pa.array(part.labels, pa.string())))
    return pa.table(columns, names=reading.part_names)
