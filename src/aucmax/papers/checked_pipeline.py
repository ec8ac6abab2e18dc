"""The pipelines of kernel features: what the landmarks take is known before the first step passes over the rows."""

from typing import Any, Self

from sklearn.pipeline import Pipeline


class CheckedPipeline(Pipeline):
    """`Pipeline` that refuses rows too wide for the landmarks of a later step before it scales them.

    The steps before the landmarks must keep the number of columns.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        **params
            Given to the steps, as :class:`sklearn.pipeline.Pipeline` does.

        Returns
        -------
        self : CheckedPipeline
            The fitted pipeline.
        """
        if len(getattr(X, "shape", ())) == 2:  # the steps make a matrix of a list, and refuse a vector
            for _, step in self.steps:
                if hasattr(step, "check_width"):
                    step.check_width(*X.shape)
        return super().fit(X, y, **params)
