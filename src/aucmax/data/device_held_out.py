"""The models of the folds, evaluated on held-out rows on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .device_scores import DeviceVector, ranks_in
from .folds import in_parts
from .protocol import FoldModels
from .ranking import areas
from .scores import ScoreHistogram

if TYPE_CHECKING:
    from .device import DeviceRows


class DeviceHeldOut:
    """The models of the folds, evaluated on held-out rows; see :class:`aucmax.data.protocol.HeldOut`.

    Parameters
    ----------
    rows : DeviceRows
        All rows.
    models : sequence of FoldModels
        The models of each round.

    Attributes
    ----------
    auc : ndarray of shape (n_splits, n_candidates)
        The AUC of each test set, over all rounds.
    """

    def __init__(self, rows: DeviceRows, models: Sequence[FoldModels]) -> None:
        self.rows, self.models = rows, models
        self.auc = np.array([self._areas(*split) for split in self._splits()])

    def _splits(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """Yield the mask of the test rows, the weights and the midpoints of each split."""
        for round, weights, midpoints, _ in self.models:
            for split, W, middle in zip(round.splits, weights, midpoints, strict=True):
                yield in_parts(round.parts.array, split.test), W, middle

    def _areas(self, test: Any, W: np.ndarray, midpoints: np.ndarray) -> list[float]:
        xp = self.rows.xp
        numbers = self.rows._numbers(test)
        scores = self.rows._products(W.T, numbers)
        columns = (scores[:, k] for k in range(len(W)))
        return areas(xp.take(self.rows.positive, numbers), columns, self.rows._weights(numbers))

    def histogram(self, candidate: int) -> ScoreHistogram:
        """Return the histogram of one candidate's held-out scores, minus midpoints and averaged over the rounds."""
        xp = self.rows.xp
        totals = times = self.rows._beside(np.zeros(self.rows.n_rows))
        for test, W, midpoints in self._splits():
            scores = self.rows._products(W[candidate], self.rows._numbers(test)) - float(midpoints[candidate])
            totals = xp.where(test, totals + xp.take(scores, ranks_in(test)), totals)
            times = times + xp.astype(test, xp.float64)
        unknown = xp.full_like(totals, float("nan"))
        means = xp.where(times > 0, totals / xp.where(times > 0, times, xp.ones_like(times)), unknown)
        return ScoreHistogram.of(self.rows, DeviceVector(means))
