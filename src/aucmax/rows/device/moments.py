"""Second moments of rows on a device, from sums over blocks.

Conventions
-----------
With z = x - shift, where only columns far from zero are shifted, the sums over the rows of all blocks are

    W = sum of the weights w,   s = sum of w z,   P = sum of w z z'

and the mean is shift + s / W, the centred second moment P - s s' / W. The sums stay on the device, and nothing waits
for them until the last block was added.

P is symmetric. It is summed by panels of rows from the diagonal on, and completed at the end: with 512 columns that
takes 75% of the operations of whole products, with 32,000 columns 53%.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import compat, device_of, namespace

# Columns further from zero than so many standard deviations are shifted before they are squared. The others lose at
# most four of sixteen digits, and shifting all took a quarter of the time of the product.
FAR = 100.0
FIRST_ROWS = 4096  # tell which columns are far from zero
# A panel has a multiple of PANEL columns: 256 of 512, 2,048 of 32,000. Wide panels are multiplied faster, and narrow
# ones leave less of the product to be made twice.
PANEL = 256


class ProductSums:
    """The sums W, s and P of rows that come block by block.

    The `first` block, in pieces side by side as for `add`, shows which columns are far from zero. `shift_all` shifts
    the others, too: the rounding error then grows with the squares of their spread, not of their size.
    """

    def __init__(self, first: Sequence[Any], shift_all: bool = False) -> None:
        xp, place = namespace(first[0]), device_of(first[0])
        widths = [piece.shape[1] for piece in first]
        self.starts = [0, *np.cumsum(widths).tolist()]
        self.panels = [panels_of(width) if len(first) == 1 else [slice(0, width)] for width in widths]
        self.shifts = [far_means(piece, 0.0 if shift_all else FAR) for piece in first]
        self.weight: Any = 0.0
        self.sums = [xp.zeros(width, dtype=first[0].dtype, device=place) for width in widths]
        self.products = xp.zeros((sum(widths), sum(widths)), dtype=first[0].dtype, device=place)

    def add(self, pieces: Sequence[Any], weights: Any = None) -> None:
        """Add a block, whose columns come in pieces side by side, each (n, n_columns); the weights are 1 by default."""
        xp, n = namespace(pieces[0]), pieces[0].shape[0]
        pieces = [piece if shift is None else piece - shift for piece, shift in zip(pieces, self.shifts, strict=True)]
        counted = xp.ones(n, dtype=pieces[0].dtype, device=device_of(pieces[0])) if weights is None else weights
        self.weight = self.weight + (n if weights is None else xp.sum(weights))
        for total, piece in zip(self.sums, pieces, strict=True):
            total += counted @ piece  # a product: CuPy takes 20 times as long for a sum over rows
        if weights is not None:
            pieces = [piece * xp.sqrt(weights)[:, None] for piece in pieces]
        for k, left in enumerate(pieces):
            for panel in self.panels[k]:
                self._add_product(k, panel, k, left[:, panel], left[:, panel.start :])
                for other in range(k + 1, len(pieces)):
                    self._add_product(k, panel, other, left[:, panel], pieces[other])

    def _add_product(self, k: int, panel: slice, other: int, left: Any, right: Any) -> None:
        """Add the product of a panel of one piece with the last columns of another, or of the same one."""
        stop = self.starts[other + 1]
        view = self.products[self._rows(k, panel), stop - right.shape[1] : stop]
        view += left.T @ right

    def _rows(self, k: int, panel: slice) -> slice:
        """Return where the columns of a panel are among all columns."""
        return slice(self.starts[k] + panel.start, self.starts[k] + panel.stop)

    def finish(self) -> tuple[float, Any, Any]:
        """Return weight, mean and centred second moment; the sums are used up."""
        xp, S = namespace(self.products), self.products
        weight, sums = float(self.weight), xp.concat(self.sums)
        for rows in (self._rows(k, panel) for k, panels in enumerate(self.panels) for panel in panels):
            strip = S[rows, rows.start :]
            strip -= (sums[rows] / weight)[:, None] * sums[None, rows.start :]
            S[rows.stop :, rows] = S[rows, rows.stop :].T
        shifts = [xp.zeros_like(s) if shift is None else shift for s, shift in zip(self.sums, self.shifts, strict=True)]
        return weight, xp.concat(shifts) + sums / weight, S


@contextmanager
def room_for_moments(n_columns: int) -> Iterator[None]:
    """Say in a sentence if a device has no room for the moments: CuPy and PyTorch raise errors of their own."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, MemoryError) and "OutOfMemory" not in type(error).__name__:
            raise
        raise MemoryError(
            f"Class moments for {n_columns:,} columns take {8e-9 * n_columns**2:,.0f} GB, and the products they are "
            f"summed from as much again, more than the device has room for: use solver='cg', or leave out columns."
        ) from error


def far_means(piece: Any, far_from: float) -> Any:
    """Return the means of the columns that are so many deviations from zero, 0 for the others; None if none are."""
    xp = namespace(piece)
    first = piece[: min(FIRST_ROWS, piece.shape[0]), ...]
    share = xp.full(first.shape[0], 1 / first.shape[0], dtype=first.dtype, device=device_of(first))
    means = share @ first
    variances = share @ (first - means) ** 2
    far = means**2 > far_from**2 * variances
    return xp.where(far, means, xp.zeros_like(means)) if bool(xp.any(far)) else None


def panels_of(n_columns: int) -> list[slice]:
    """Return slices that cover the columns."""
    width = PANEL * max(round(math.sqrt(n_columns / (2 * PANEL))), 1)
    return [slice(start, min(start + width, n_columns)) for start in range(0, n_columns, width)]


def pieces_of(xp: Any, n_columns: int) -> list[slice]:
    """Return how the columns of blocks are cut into pieces.

    Most libraries multiply columns of a matrix where they are. CuPy would copy a panel for each product, so each panel
    is a piece of its own.
    """
    return panels_of(n_columns) if compat().is_cupy_namespace(xp) else [slice(0, n_columns)]
