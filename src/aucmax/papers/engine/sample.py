"""Rows as an epoch sees them: scaled columns, weights, and the order that the rows are met in.

Weights
-------
A weight of 2 is the same as the row twice, and 0 the same as leaving it out. `Sample` leaves rows of weight 0 out. An
algorithm that steps on single rows meets a row as often as its weight says: the whole part exactly, and fractions by
systematic resampling. With c_i the sum of the first i weights and u in [0, 1), row i is in the order

    floor(c_i + u) - floor(c_(i-1) + u)

times. Where rows are shuffled, u is drawn for each pass, so that a row appears as often as its weight on average. Where
they keep their order, u is the fraction that the rows before have left over, so that any split of a stream into blocks
gives the same order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._compat import jit
from ...rows.protocol import Targets
from ...rows.summaries.moments import pooled_std
from ...solvers.square import penalty_scale
from .row_access import KernelRows, coordinates, norm_rows, view_rows, weight_vector


class Scaling(NamedTuple):
    """How columns are scaled: z = (x - shift) * unit."""

    shift: np.ndarray  # shape (n_features,): what is taken away from each column
    unit: np.ndarray  # shape (n_features,): what it is then multiplied by; 0 for columns that are constant

    @classmethod
    def none(cls, n_features: int) -> Scaling:
        """Return the scaling that leaves the columns as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    @classmethod
    def of(cls, totals: np.ndarray, means: np.ndarray, variances: np.ndarray, standardize: bool) -> Scaling:
        """Return the scaling to mean 0 and, where columns are standardised, variance 1.

        `totals` are the weights of the classes; `means` and `variances`, of shape (2, n_features), are by class.
        """
        std = pooled_std(totals, means, variances)
        return cls(totals / totals.sum() @ means, 1 / penalty_scale(std, standardize))


@dataclass(frozen=True)
class Sample:
    """The rows of a block that have weight, as kernels see them. Sums over the rows are made when first asked for."""

    rows: KernelRows  # the rows z
    positive: np.ndarray  # shape (n,): which are positive
    weights: np.ndarray | None = None  # shape (n,): all above 0; None where each counts once
    means: np.ndarray | None = None  # shape (2, width): the class means of z, as weight vectors; only in `fit`
    # shape (n, 2): z . the class means; only where an algorithm has `_prepare` add them.
    projections: np.ndarray | None = None
    # The weight of each class over all rows of `fit`; 0 in a stream, whose rows are not all known.
    all_totals: np.ndarray = field(default_factory=lambda: np.zeros(2))

    @classmethod
    def of(cls, X: Any, targets: Targets, scaling: Scaling, means: np.ndarray | None = None) -> Sample:
        """Return the rows of X under a scaling; `means` are the means of X in the two classes."""
        positive, weights = targets.positive, targets.sample_weight
        if weights is not None and not weights.all():
            used = np.flatnonzero(weights)
            X, positive, weights = X[used], positive[used], weights[used]
        rows = view_rows(X, *scaling)
        if means is None:
            return cls(rows, positive, weights)
        means = np.array([weight_vector(rows, z) for z in (means - scaling.shift) * scaling.unit])
        return cls(rows, positive, weights, means, all_totals=targets.totals)

    @cached_property
    def norms(self) -> np.ndarray:
        """|z|^2 of each row."""
        return norm_rows(self.rows)

    @cached_property
    def mean_norm(self) -> float:
        """The mean of |z|^2."""
        return float(np.average(self.norms, weights=self.weights))

    @cached_property
    def totals(self) -> np.ndarray:
        """The weight of each class."""
        if self.weights is None:  # in a tenth of the time of bincount
            n_positive = np.count_nonzero(self.positive)
            return np.array([len(self.positive) - n_positive, n_positive], dtype=np.float64)
        return np.bincount(self.positive, self.weights, 2)

    @cached_property
    def share(self) -> float:
        """The share of the positives in the weight."""
        return float(self.totals[1] / self.totals.sum())

    @cached_property
    def row_weights(self) -> np.ndarray:
        """The weights, of ones where each row counts once."""
        return np.ones(len(self.positive)) if self.weights is None else self.weights

    @property
    def centers(self) -> np.ndarray:
        """The class means of z as coordinates, shape (2, n_features)."""
        return np.array([coordinates(mean) for mean in np.asarray(self.means)])

    @property
    def pair_weights(self) -> np.ndarray:
        """The weights over the total of their class: a pair weighs the product of two of them."""
        return self.row_weights / self.totals[self.positive.astype(np.intp)]


def row_order(
    n_rows: int, weights: np.ndarray | None, shuffle: bool, carry: float, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """Return the order of a pass, numbers of rows as uint64, and the fraction u that is left over; see above."""
    order = np.arange(n_rows, dtype=np.uint64)
    if weights is not None:
        if shuffle and np.any(weights % 1):  # whole weights leave nothing to chance
            carry = rng.random_sample()
        times = np.empty(n_rows, np.int64)
        carry = count_repeats(weights, carry, times)
        order = np.repeat(order, times)
    if shuffle:
        rng.shuffle(order)
    return order, carry


def draw_batches(n_rows: int, sizes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the rows of batches, one batch after the other, each drawn uniformly without replacement from all rows."""
    fast = np.random.default_rng(rng.randint(2**31 - 1))  # its choice takes time in proportion to the size
    return np.concatenate([fast.choice(n_rows, size, replace=False) for size in sizes]).astype(np.uint64)


@jit
def count_repeats(weights, carry, times):
    """Fill `times` with how often each row appears, and return the fraction that is left over.

    Row by row, and not by sums over all rows: rounding is then the same however the rows are split into blocks.
    """
    for i in range(weights.shape[0]):
        carry += weights[i]
        times[i] = np.int64(np.floor(carry))
        carry -= times[i]
    return carry
