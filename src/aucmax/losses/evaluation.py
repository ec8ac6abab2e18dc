"""`pairwise_loss`, which evaluates any loss at given scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from ..rows.dispatch import remote_scores, require_memory
from ..rows.memory import MemorySpace
from ..rows.protocol import Targets
from ..rows.validate import check_class_weights, check_weights, find_classes
from . import LOSSES, find_loss
from .base import Point


def pairwise_loss(y: Any, scores: Any, loss: str = "squared_hinge", sample_weight: Any = None) -> Point:
    """Compute the mean loss over all pairs of a positive and a negative row, with its first two derivatives.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes; the larger is the positive one.
    scores : array-like of shape (n_samples,)
        Scores.
    loss : {"squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid"}, default="squared_hinge"
        The loss of a pair with the score difference t. In this order: (1 - t)^2 / 2, max(0, 1 - t)^2 / 2,
        max(0, 1 - t), log(1 + exp(-t)), exp(-t), 1 / (1 + exp(t)).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows; the weight of a pair is their product.

    Returns
    -------
    point : Point
        Named tuple of `value`, `gradient` and `hessian_product`.

    Examples
    --------
    >>> from aucmax import pairwise_loss
    >>> point = pairwise_loss([0, 0, 1], [0.0, 1.0, 1.5], loss="hinge")
    >>> point.value, point.gradient
    (0.25, array([ 0. ,  0.5, -0.5]))
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")
    for values in (y, scores, sample_weight):
        require_memory(values, "pairwise_loss needs all scores in one place: compute() y and scores first.", None)
    space: Any = remote_scores(y, sample_weight, scores=scores)  # on a device: Dask collections were refused
    if space is not None:
        point = find_loss(loss)(space, space.column(0))

        def product(v: Any) -> Any:
            return space.entries(point.hessian_product(space.as_vector(v)))

        return point._replace(gradient=space.entries(point.gradient), hessian_product=product)
    scores = check_array(scores, ensure_2d=False, dtype=np.float64, input_name="scores")
    if scores.ndim != 1:
        raise ValueError(f"scores must have one dimension, got the shape {scores.shape}.")
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(y, scores)
    classes = find_classes(y)
    positive, weights = y == classes[1], check_weights(sample_weight, scores)
    ones = np.ones(len(y)) if weights is None else weights
    totals = np.array([ones[~positive].sum(), ones[positive].sum()])
    check_class_weights(totals, classes)
    return find_loss(loss)(MemorySpace(Targets(positive, weights, totals)), scores)
