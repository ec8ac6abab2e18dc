"""How much each column of an additive model is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from ..data.validation import check_labels
from ..metrics import roc_auc
from .labels import split_table


def auc_lost_without(model: Any, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Return the AUC that is lost when a column is left out of the sum of curves.

    Nothing is fitted again: the curve of the column, and the surfaces that it is in, have their mean value instead.

    Parameters
    ----------
    model : AdditiveAUCClassifier or Pipeline
        The fitted model, or a pipeline of a :class:`aucmax.TableEncoder` and such a model.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        Rows, best ones that the model was not fitted to.
    y : array-like of shape (n_samples,)
        Their classes.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.

    Returns
    -------
    lost : ndarray of shape (n_features,)
        The AUC of the model minus that without each column, for each column of the additive model; below 0 where a
        column does harm.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier
    >>> from aucmax.additive.importance import auc_lost_without
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 1] ** 2 > 1
    >>> model = AdditiveAUCClassifier("squared", alpha=0.01).fit(X, y)
    >>> lost = auc_lost_without(model, X, y)
    >>> bool(abs(lost[0]) < 0.02), bool(lost[1] > 0.4)
    (True, True)
    """
    encoder, model = split_table(model)
    values = np.append(model.coef_[0], 0.0)[model._cells(X if encoder is None else encoder.transform(X))]
    labels = column_or_1d(y, warn=True)
    check_labels(labels, model.classes_)
    positive = labels == model.classes_[1]
    kept = np.array([[j not in term.columns for term in model.terms_] for j in range(model.n_features_in_)])
    scores = np.column_stack([values.sum(axis=1), values @ kept.T])
    aucs = np.asarray(roc_auc(positive, scores, sample_weight))
    return aucs[0] - aucs[1:]
