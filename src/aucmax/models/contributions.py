"""What each column, or each term, adds to the scores of a linear model or of a table model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..tables.classifier import TableClassifier
from ..tables.curves import Reason, list_reasons, term_names
from ..tables.reading import Reading
from ..tables.reading.table import Levels
from .formula import find_steps, owners_of


class Contributions(NamedTuple):
    """The parts of scores.

    Attributes
    ----------
    names : list of str
        The columns or terms.
    values : ndarray of shape (n_samples, n_names)
        What each adds to the score of each row.
    base : float
        The score without them: `base` and the sum of a row of `values` are its `decision_function`.
    """

    names: list[str]
    values: np.ndarray
    base: float


def contributions(model: Any, X: Any, reference: Any = None) -> Contributions:
    """Return what each column, or each term, adds to the score of each row.

    Parameters
    ----------
    model : estimator
        A fitted :class:`aucmax.TableClassifier`, a linear classifier of aucmax, or one after a
        :class:`aucmax.TableEncoder`.
    X : {array-like, dataframe} of shape (n_samples, n_columns)
        Rows, as the model takes them.
    reference : array-like of shape (n_features,), default=None
        For a linear classifier alone, the row that the others are compared with, such as ``X_train.mean(axis=0)``. By
        default, all of its values are 0. Other models compare with the mean of their training rows.

    Returns
    -------
    contributions : Contributions
        The names, the values and the base. A table model has a name for each of its terms, a linear one for each
        column.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AUCClassifier, contributions
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    >>> clf = AUCClassifier(alpha=0.1).fit(X, [0, 0, 1, 1])
    >>> found = contributions(clf, X, reference=X.mean(axis=0))
    >>> bool(np.allclose(found.values.sum(axis=1) + found.base, clf.decision_function(X)))
    True
    """
    encoder, classifier = find_steps(model)
    if reference is not None and (encoder is not None or isinstance(classifier, TableClassifier)):
        raise ValueError("reference= is for a linear classifier alone: other models compare with their training rows.")
    if isinstance(classifier, TableClassifier):
        names = term_names(classifier, classifier.terms_)
        return Contributions(names, classifier.contributions(X), float(classifier.intercept_[0]))
    weights, intercept = classifier.coef_[0], float(classifier.intercept_[0])
    if encoder is not None:
        return _by_column(encoder.reading_, encoder.reading_.features(encoder._read(X)), weights, intercept)
    classifier.decision_function(X)  # refuses what is not numbers
    rows = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    origin = np.zeros(rows.shape[1]) if reference is None else np.asarray(reference, dtype=np.float64)
    if origin.shape != weights.shape:
        raise ValueError(f"reference has the shape {origin.shape}: it is a row, of shape {weights.shape}.")
    names = getattr(classifier, "feature_names_in_", [f"x{j}" for j in range(len(weights))])
    return Contributions([*names], (rows - origin) * weights, intercept + float(origin @ weights))


def column_reasons(model: Any, levels: Levels, n_reasons: int) -> list[list[Reason]]:
    """Return the columns that move the score of each row most, of a linear classifier after a `TableEncoder`."""
    encoder, classifier = find_steps(model)
    reading, values = encoder.reading_, np.asarray(levels)
    found = _by_column(reading, reading.features(values), classifier.coef_[0], 0.0)
    terms = [(name, [j for j, owner in enumerate(owners_of(reading)) if owner.name == name]) for name in found.names]
    return list_reasons(reading, terms, values, classifier.calibration_[0] * found.values, n_reasons)


def _by_column(reading: Reading, features: Any, weights: np.ndarray, intercept: float) -> Contributions:
    """Return what each column of a table adds, compared with the mean of the training rows."""
    values: dict[str, np.ndarray] = {column.name: np.zeros(features.shape[0]) for column in reading.used}
    first, base = 0, intercept
    for part, column in zip(reading.feature_parts, owners_of(reading), strict=True):
        share = column.n_missing / max(reading.n_rows, 1) if part.gaps else 0.0
        means = part.neutral if part.levels is None else part.neutral[: part.n_levels] * (1 - share)
        block = slice(first, first + len(part.names))
        mean = float(np.append(means, [share] * part.gaps) @ weights[block])
        values[column.name] += features[:, block] @ weights[block] - mean
        first, base = block.stop, base + mean
    return Contributions([*values], np.column_stack([*values.values()]), base)
