"""Changes of columns of rows on a device, which are made block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Change = Callable[[Any], Any]


class LinearChange(Protocol):
    """A change of columns that ends in a product: the new columns are `before(block) @ matrix`.

    Attributes
    ----------
    before : callable
        The change without the product.
    matrix : array of shape (n_before, n_after)
        The matrix.
    squares_before : bool
        Whether second moments may be computed before the product, S = matrix' S_before matrix. That takes one product
        with the matrix in all, and not one for each row, but squares the condition of the matrix.
    """

    before: Change
    matrix: Any
    squares_before: bool

    def __call__(self, block: Any) -> Any: ...  # noqa: D102
