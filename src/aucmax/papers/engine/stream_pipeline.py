"""A pipeline that learns from a stream: steps that are fitted to its first rows, and an online classifier."""

from __future__ import annotations

from typing import Any, Self

from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if


class StreamPipeline(Pipeline):
    """A `Pipeline` with `partial_fit`, where its last step has one.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import OPAUCf
    >>> rng = np.random.default_rng(0)
    >>> stream = OPAUCf(5, random_state=0)
    >>> for _ in range(3):
    ...     X = rng.standard_normal((100, 20))
    ...     stream = stream.partial_fit(X, X.sum(axis=1) > 0, classes=[False, True])
    >>> stream.decision_function(X).shape
    (100,)
    """

    @available_if(lambda self: hasattr(self.steps[-1][1], "partial_fit"))
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take one step for each row, in the order given.

        The steps before the classifier are fitted to the rows of the first call, unless `fit` was called before, and do
        not change after it: the classifier would see features of another meaning.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their labels; one class is enough.
        classes : array-like of shape (2,), default=None
            The two classes, needed in the first call if its rows are of one class only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the classifier.

        Returns
        -------
        self : StreamPipeline
            The pipeline.
        """
        before = self[:-1]
        if hasattr(self[-1], "classes_"):
            Z = before.transform(X)
        else:
            Z = before.fit_transform(X, y)
            self.steps[:-1] = before.steps
        self[-1].partial_fit(Z, y, classes, sample_weight)
        return self
