"""The first step of the kernel pipelines: columns divided by their standard deviations, by scikit-learn."""

from typing import Any, Self

from sklearn.preprocessing import StandardScaler

from ..data.machine_memory import check_columns
from ..data.validation import check_indices


class CheckedScaler(StandardScaler):
    """`StandardScaler` that refuses sparse rows whose indices lead out of their arrays, and rows too wide for memory.

    scikit-learn's compiled loops follow such indices, and end the process or write elsewhere.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the means and standard deviations of the columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : CheckedScaler
            The fitted scaler.
        """
        X = check_indices(X)
        if len(getattr(X, "shape", ())) == 2:  # scikit-learn makes a matrix of a list, and refuses a vector
            check_columns(X.shape[1])
        return super().fit(X, y, sample_weight)

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        """Return rows with scaled columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        copy : bool, default=None
            Whether X is left as it is; by default, the parameter of the scaler.

        Returns
        -------
        X_scaled : {ndarray, sparse matrix} of shape (n_samples, n_features)
            The scaled rows.
        """
        return super().transform(check_indices(X), copy)
