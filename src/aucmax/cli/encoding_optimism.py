"""How much held-out AUCs of a fit flatter, because rates of target-encoded levels contain labels of other folds.

The rate of a training row is computed without its fold, but with the labels of all others, so also with those of the
rows that a cross-validation tests on. What this is worth is measured as the mean, over the folds of the encoding, of

    AUC(rates as they are) - AUC(rates without the labels of the test fold)

where both models are trained on the other folds. It is subtracted from the held-out AUCs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..files import Source
from ..metrics import roc_auc
from ..selection.optimism import subtract_optimism
from ..tables.target_encoding import FOLDS
from .table_model import list_encoded

LINEAR = {"loss": "squared", "alpha": 0.01}  # of a model that is compared with itself
COARSE = {"loss": "balanced_logistic", "alpha": 1e-3, "max_bins": 32}  # the same of an additive model


def correct_held_out(estimator: Any, source: Source, positive: np.ndarray, weight: np.ndarray | None) -> None:
    """Lower the held-out AUCs of a fit to a table that has target-encoded columns, by what they flatter.

    Parameters
    ----------
    estimator : estimator
        The fitted classifier; one without held-out AUCs is left as it is.
    source : Source
        Its training rows.
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    weight : ndarray of shape (n,) or None
        Their weights.
    """
    if hasattr(estimator, "cv_results_") and list_encoded(source.reading):
        subtract_optimism(estimator, encoding_optimism(estimator, source, positive, weight))


def encoding_optimism(estimator: Any, source: Source, positive: np.ndarray, weight: np.ndarray | None) -> float:
    """Return by how much held-out AUCs are too high, at least 0."""
    reading = source.reading
    assert reading is not None
    codes, folds = source.codes()
    convert = type(reading).features if source.categorical is None else type(reading).encode_levels
    model = clone(estimator).set_params(**(LINEAR if source.categorical is None else COARSE))
    usual, found = convert(reading, codes, folds), []
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        if any(len(np.unique(positive[members])) < 2 for members in (train, test)):
            continue
        sums = {name: np.where(np.arange(FOLDS)[:, None] == fold, 0.0, sums) for name, sums in reading.sums.items()}
        blind = convert(reading._replace(sums=sums), codes, folds)
        weights = {} if weight is None or not has_fit_parameter(model, "sample_weight") else {"sample_weight": weight}
        ours = {name: values[train] for name, values in weights.items()}
        aucs = [
            roc_auc(
                positive[test],
                clone(model).fit(X[train], positive[train], **ours).decision_function(X[test]),
                None if weight is None else weight[test],
            )
            for X in (usual, blind)
        ]
        found.append(float(aucs[0]) - float(aucs[1]))
    return max(float(np.mean(found)), 0.0) if found else 0.0
