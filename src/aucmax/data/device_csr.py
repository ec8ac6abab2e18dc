"""What CSR rows on a device need beside products: statistics of the columns and inner products of rows.

The cost grows with the stored values, and no block of rows is made dense.
"""

from __future__ import annotations

from typing import Any

from .arrays import namespace


def csr_columns(X: Any, weights: Any) -> tuple[float, Any, Any]:
    """Return the weight of some rows, and mean and centred sum of squares of each column.

    With the mean m of a column, W the weight of all rows and V that of the rows that store a value in it, the sum of
    squares is that of w (x - m)^2 over the stored values, plus (W - V) m^2 for the zeros: nothing cancels.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
        The rows.
    weights : array of shape (n,)
        Their weights, all above 0.
    """
    xp = namespace(X.data)
    values = xp.astype(X.data, xp.float64)
    total = float(xp.sum(weights))

    def sums(values: Any) -> Any:
        return type(X)((values, X.indices, X.indptr), shape=X.shape).T @ weights

    mean = sums(values) / total
    zeros = xp.clip(total - sums(xp.ones_like(values)), 0.0, None)
    return total, mean, sums((values - mean[X.indices]) ** 2) + zeros * mean**2


def csr_gram(X: Any, scale: Any, n_values: int) -> Any:
    """Return the inner products of the rows of X / scale, minus their mean, from `n_values` dense values at a time."""
    xp = namespace(X.data)
    n, d = X.shape
    products, step = xp.zeros((n, n), dtype=xp.float64), max(n_values // n, 1)
    columns = X.tocsc()  # of which a CSR matrix would give some in the time of all
    for start in range(0, d, step):
        cut = slice(start, min(start + step, d))
        dense = xp.astype(columns[:, cut].toarray(), xp.float64)
        dense = (dense - xp.mean(dense, axis=0)) / scale[cut]
        products += dense @ dense.T
    return products
