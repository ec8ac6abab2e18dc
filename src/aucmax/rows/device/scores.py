"""Scores on a device: vectors whose entries are one array there, and the space of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from ..arrays import device_of, namespace, on_device, place_beside, to_numpy
from ..memory import MemorySpace
from ..protocol import Targets
from ..summaries.delong import estimate_aucs
from ..summaries.ranking import areas
from ..validate import check_class_weights
from . import losses as device_losses
from .checks import check_device_weights, check_finite, check_targets


class DeviceVector:
    """A vector whose entries are an array on a device, of shape (n_rows,) or (n_rows, L)."""

    __array_ufunc__ = None  # so that a number of NumPy leaves a product to this class

    def __init__(self, array: Any) -> None:
        self.array = array

    def __add__(self, other: DeviceVector) -> DeviceVector:
        return DeviceVector(self.array + other.array)

    def __sub__(self, other: DeviceVector) -> DeviceVector:
        return DeviceVector(self.array - other.array)

    def __mul__(self, factor: float) -> DeviceVector:
        return DeviceVector(float(factor) * self.array)

    __rmul__ = __mul__

    def __neg__(self) -> DeviceVector:
        return DeviceVector(-self.array)

    def __matmul__(self, other: DeviceVector) -> float:
        return float(self.array @ other.array)


class DeviceSpace(MemorySpace):
    """A score space whose vectors are arrays on a device: all rows are one block."""

    pair_sums = device_losses

    def reduce(
        self, function: Callable[..., Any], *vectors: Any, merge: Callable[[Any, Any], Any] = operator.add
    ) -> Any:
        found = function(self.targets, *map(entries, vectors))
        return to_numpy(found) if hasattr(found, "shape") else found

    def map(self, function: Callable[..., Any], *vectors: Any) -> Any:
        found = function(self.targets, *map(entries, vectors))
        return DeviceVector(found) if hasattr(found, "shape") else found


def find_targets(positive: Any, weights: Any, classes: np.ndarray, groups: np.ndarray | None = None) -> Targets:
    """Return the targets of rows on a device."""
    xp = namespace(positive)
    counted = xp.ones(positive.shape, dtype=xp.float64, device=device_of(positive)) if weights is None else weights
    zero = xp.zeros_like(counted)
    totals = np.array([float(xp.sum(xp.where(side, counted, zero))) for side in (~positive, positive)])
    check_class_weights(totals, classes)
    return Targets(positive, weights, totals, groups)


def entries(vector: Any) -> Any:
    """Return the array of a vector; other objects that describe rows are not changed."""
    return vector.array if isinstance(vector, DeviceVector) else vector


class DeviceScores(DeviceSpace):
    """Scores on a device, with labels and weights from anywhere.

    Each of `scores`, which errors call by the keyword, is (n_rows,) or (n_rows, n_scores). At least one is on a device,
    to which the others are moved. Known `classes` are checked.
    """

    def __init__(self, y: Any, sample_weight: Any = None, classes: np.ndarray | None = None, **scores: Any) -> None:
        beside = next(filter(on_device, scores.values()), next(iter(scores.values())))
        xp = namespace(beside)
        self.columns = []
        for name, values in scores.items():
            values = place_beside(values, beside, xp.float64)
            check_finite(values, name)
            check_consistent_length(beside, values)
            self.columns += [values] if values.ndim == 1 else [values[:, k] for k in range(values.shape[1])]
        self.classes, positive = check_targets(y, beside, classes)
        check_consistent_length(beside, positive)
        weights = check_device_weights(sample_weight, beside, beside.shape[0])
        super().__init__(find_targets(positive, weights, self.classes))

    def column(self, k: int) -> DeviceVector:
        return DeviceVector(self.columns[k])

    def as_vector(self, values: Any) -> DeviceVector:
        return DeviceVector(values)

    def entries(self, vector: DeviceVector) -> Any:
        """Return the array of a vector."""
        return vector.array

    def column_aucs(self) -> list[float]:
        return areas(self.targets.positive, self.columns, self.targets.sample_weight)

    def estimate(self) -> tuple[list[float], float]:
        vectors = [self.column(k) for k in range(len(self.columns))]
        return estimate_aucs(self, *vectors, weighted=self.targets.sample_weight is not None)
