"""Chebyshev moments of scores in boxes, for scores on a device; see `chebyshev_sums.py`.

Rows are sorted by class and box. The moments of a box are then differences of prefix sums, whose error is that of a sum
over all rows: the weights of a class sum to one. The moments of all boxes are small, and fields are translated from box
to box on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Bins, namespace, place_beside, to_numpy
from .chebyshev_sums import DEGREE, BoxMoments


class DeviceBoxes(NamedTuple):
    """Rows on a device, assigned to boxes by their scores.

    Attributes
    ----------
    ids : ndarray of shape (n_boxes,)
        The integers at which the boxes with at least one row begin, increasing.
    slots : array of int64, shape (n_rows,)
        The index of the box of each row; n_boxes more for positive rows.
    xi : array of shape (n_rows,)
        The position of each row in its box, from -1 to 1.
    bins : Bins
        The rows sorted by their slots.
    """

    ids: np.ndarray
    slots: Any
    xi: Any
    bins: Bins

    @classmethod
    def of(cls, positive: Any, scores: Any) -> DeviceBoxes:
        """Return the boxes of finite scores."""
        xp = namespace(scores)
        floors = xp.floor(scores)
        ids = xp.unique_values(floors)
        slots = xp.searchsorted(ids, floors) + ids.shape[0] * xp.astype(positive, xp.int64)
        return cls(to_numpy(ids), slots, 2 * (scores - floors) - 1, Bins(slots, 2 * ids.shape[0]))

    def moments(self, positive: Any, weights: Any) -> BoxMoments:
        """Return the Chebyshev moments of the rows with these weights."""
        xi, weights = self.bins.sort(self.xi), self.bins.sort(weights)
        columns = [self.bins.sums_of_sorted(weights * T) for T in polynomials(xi)]
        return BoxMoments(self.ids, np.stack(columns, axis=-1).reshape(2, len(self.ids), DEGREE))

    def at_rows(self, positive: Any, fields: BoxMoments) -> Any:
        """Return the field at each row, by Clenshaw's recurrence."""
        xp = namespace(self.xi)
        coefficients = fields.values.reshape(-1, DEGREE)
        a = b = xp.zeros_like(self.xi)
        for k in range(DEGREE - 1, 0, -1):
            a, b = self._at(coefficients[:, k]) + 2 * self.xi * a - b, a
        return self._at(coefficients[:, 0]) + self.xi * a - b

    def _at(self, values: np.ndarray) -> Any:
        """Return one value of its slot for each row."""
        return namespace(self.xi).take(place_beside(values, self.xi), self.slots)


def polynomials(x: Any) -> Iterator[Any]:
    """Yield the Chebyshev polynomials of x, up to DEGREE of them."""
    before, now = namespace(x).ones_like(x), x
    for _ in range(DEGREE):
        yield before
        before, now = now, 2 * x * now - before
