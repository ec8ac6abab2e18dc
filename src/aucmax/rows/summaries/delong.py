"""DeLong's variance of the AUC, from placement values.

Conventions
-----------
The placement value of a row is the share of the other class that has a lower score, where a tie counts one half. The
AUC is the mean placement value of the positives. The variance of the AUC is the sum of two parts, one of each class:
the variance of its placement values, divided by the number of its rows (DeLong, DeLong and Clarke-Pearson, 1988). For
two scores of each row, the difference of the two placement values takes their place.

With the weights v of a class and V their sum, the AUC A is the weighted mean of the placement values s of the
positives, which are now shares of weight. A class adds to the variance

    c sum v_i^2 (s_i - A)^2 / V^2  with  c = V2 / (V2 - 2 V3 / V + V2^2 / V^2),

where V2 and V3 are the sums of v_i^2 and v_i^3, and A for the negatives is the mean of their placement values. The
factor c makes it unbiased if placement values are independent. Equal weights give c = n / (n - 1), and so DeLong's
variance. The scale of the weights does not matter. An integer weight is not a repetition: a row with a weight of 2 is
one observation, not two.

The scores of the rarer class are gathered. The placement values of the other class are looked up among them, and those
of the rarer class are summed over the blocks of the other class. Twice the number of rows below a row is an integer;
weights are rounded to integers, in units of 2^-60 of the weight of their class. So these sums are exact in any order.
Without weights all sums are exact, and results do not depend on how rows are split into blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import namespace, place_beside

LOW_BITS = 17  # integers are cut there before they are squared: the sum of 2^29 squares of either half is below 2^63
UNITS = 2.0**60  # of a class: so the difference of two differences of doubled weights is below 2^63


class PlacementSums(NamedTuple):
    """Sums over the rows of one class of doubled counts: the placement values times twice the size of the other class.

    For two scores of each row, they are the sums of the differences of two counts.
    """

    # Number of rows, and the sums of the integers and of their squares.
    n: int
    total: int
    square: int

    @classmethod
    def of(cls, counts: Any) -> PlacementSums:
        """Return the sums of some rows."""
        xp = namespace(counts)
        high, low = counts >> LOW_BITS, counts & ((1 << LOW_BITS) - 1)
        squares = [int(xp.sum(a * b)) for a, b in ((high, high), (high, low), (low, low))]
        square = (squares[0] << 2 * LOW_BITS) + (squares[1] << LOW_BITS + 1) + squares[2]
        return cls(counts.shape[0], int(xp.sum(counts)), square)

    def merge(self, other: PlacementSums) -> PlacementSums:
        """Return the sums of both sets of rows."""
        return PlacementSums(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def variance(self) -> float:
        """The unbiased variance, which is exactly 0 if all integers are equal."""
        return (self.n * self.square - self.total**2) / (self.n * (self.n - 1))


class WeightedPlacementSums(NamedTuple):
    """Sums over the rows of one class, of weights v and placement values s, or differences s of two.

    Weights are divided by the largest one, and s is measured from the row that has it. If this row outweighs all others
    by far, 1 - v_1 / V and s_1 - A are then sums over the other rows, and do not cancel. For the same reason the sums
    of squares are centred (Chan, Golub and LeVeque, 1979).
    """

    n_largest: int  # number of rows with a weight of 1
    # The sums of v, v^2 and v^3 of the other rows.
    weight: float
    square: float
    cube: float
    each: tuple[float, ...]  # the sum of v s for each vector of scores
    total: float  # the sum of v s
    # The sum of v^2, the mean of s with these weights, and the sum of v^2 (s - mean)^2.
    mass: float
    mean: float
    spread: float

    @classmethod
    def of(cls, v: Any, doubled: Sequence[Any], unit: float) -> WeightedPlacementSums:
        """Return the sums of some rows, whose placement values are `doubled / unit`, of one or two scores."""
        xp = namespace(v)
        is_largest = v == 1
        less, square = xp.where(is_largest, xp.zeros_like(v), v), v * v
        s, *each = (xp.astype(d, xp.float64) / unit for d in (compared(doubled), *doubled))
        mass = float(xp.sum(square))
        mean = float(square @ s) / mass if mass else 0.0
        return cls(
            n_largest=int(xp.sum(xp.astype(is_largest, xp.int64))),
            weight=float(xp.sum(less)),
            square=float(less @ less),
            cube=float(xp.sum(less * less * less)),
            each=tuple(float(v @ of_vector) for of_vector in each),
            total=float(v @ s),
            mass=mass,
            mean=mean,
            spread=float(square @ (s - mean) ** 2),
        )

    def merge(self, other: WeightedPlacementSums) -> WeightedPlacementSums:
        """Return the sums of both sets of rows."""
        mass = self.mass + other.mass
        share, apart = other.mass / mass if mass else 0.0, other.mean - self.mean
        return WeightedPlacementSums(
            n_largest=self.n_largest + other.n_largest,
            weight=self.weight + other.weight,
            square=self.square + other.square,
            cube=self.cube + other.cube,
            each=tuple(a + b for a, b in zip(self.each, other.each, strict=True)),
            total=self.total + other.total,
            mass=mass,
            mean=self.mean + share * apart,
            spread=self.spread + other.spread + self.mass * share * apart**2,
        )

    @property
    def weight_of_all(self) -> float:
        """The sum of v over all rows."""
        return self.n_largest + self.weight

    @property
    def variance(self) -> float:
        """What the class adds to the variance of the AUC, or of the difference of two."""
        V, V2, others = self.weight_of_all, self.n_largest + self.square, self.n_largest - 1
        spread = self.spread + V2 * (self.total / V - self.mean) ** 2
        of_largest = ((others + self.weight) / V) ** 2 + (others + self.square) / V**2
        of_others = self.square - 2 * self.cube / V + V2 * self.square / V**2
        lost = self.n_largest * of_largest + of_others
        if not lost:
            raise ValueError("DeLong's variance is not known where one row has 1e150 times the weight of its class.")
        return spread / V**2 * V2 / lost

    def means(self) -> list[float]:
        """Return the weighted mean of s by each vector of scores."""
        return [total / self.weight_of_all for total in self.each]


def estimate_aucs(space: Any, *scores: Any, weighted: bool = False) -> tuple[list[float], float]:
    """Return the AUCs of one or two vectors of scores, and DeLong's variance of the AUC or of the difference."""
    return (estimate_weighted if weighted else estimate_unweighted)(space, *scores)


def estimate_unweighted(space: Any, *scores: Any) -> tuple[list[float], float]:
    """Return the AUCs and the variance of rows without weights."""
    rare = bool(space.counts[1] <= space.counts[0])

    def gather(targets: Any, *scores: Any) -> list[Any]:
        return [chosen(s, targets.positive == rare) for s in scores]

    few = space.reduce(gather, *scores, merge=lambda a, b: list(map(np.append, a, b)))
    ordered = [namespace(s).sort(s, stable=False) for s in few]

    def look_up(targets: Any, *scores: Any) -> tuple[list[Any], PlacementSums]:
        many = [chosen(s, targets.positive != rare) for s in scores]
        of_many = [doubled_counts(*pair) for pair in zip(ordered, many, strict=True)]
        of_few = [doubled_counts(namespace(s).sort(s, stable=False), mine) for s, mine in zip(many, few, strict=True)]
        return of_few, PlacementSums.of(compared(of_many))

    of_few, sums_of_many = space.reduce(
        look_up, *scores, merge=lambda a, b: (list(map(np.add, a[0], b[0])), a[1].merge(b[1]))
    )
    sums_of_few = PlacementSums.of(compared(of_few))
    pairs = 2 * sums_of_few.n * sums_of_many.n
    totals = [int(namespace(counts).sum(counts)) for counts in of_few]
    positives, negatives = (sums_of_few, sums_of_many) if rare else (sums_of_many, sums_of_few)
    variances = positives.variance / (2 * negatives.n) ** 2, negatives.variance / (2 * positives.n) ** 2
    aucs = [(total if rare else pairs - total) / pairs for total in totals]
    return aucs, variances[0] / positives.n + variances[1] / negatives.n


def estimate_weighted(space: Any, *scores: Any) -> tuple[list[float], float]:
    """Return the AUCs and the variance of rows with weights."""
    rare = bool(space.counts[1] <= space.counts[0])
    weight_of_few, weight_of_many = space.totals[[int(rare), int(not rare)]].tolist()

    def gather(targets: Any, *scores: Any) -> tuple[list[Any], list[float]]:
        rows = [targets.sample_weight, *scores]
        few, many = ([chosen(s, side) for s in rows] for side in (targets.positive == rare, targets.positive != rare))
        return few, heaviest(many)

    (few_weights, *few), (largest, *at) = space.reduce(
        gather, *scores, merge=lambda a, b: (list(map(np.append, a[0], b[0])), max(a[1], b[1], key=lambda row: row[0]))
    )
    few_units = units_of(few_weights, weight_of_few)
    n_few_units = int(namespace(few_units).sum(few_units))
    # The doubled weight of the rarer class below the heaviest row of the other class.
    origins = [
        int(doubled_weights(mine, few_units, place_beside(np.array([score]), mine))[0])
        for mine, score in zip(few, at, strict=True)
    ]

    def look_up(targets: Any, *scores: Any) -> tuple[list[Any], int, WeightedPlacementSums]:
        weights, *many = (chosen(s, targets.positive != rare) for s in (targets.sample_weight, *scores))
        units = units_of(weights, weight_of_many)
        of_many = [
            doubled_weights(mine, few_units, s) - origin for mine, s, origin in zip(few, many, origins, strict=True)
        ]
        of_few = [doubled_weights(s, units, mine) for mine, s in zip(few, many, strict=True)]
        sums = WeightedPlacementSums.of(weights / largest, of_many, 2.0 * n_few_units)
        return of_few, int(namespace(units).sum(units)), sums

    of_few, n_many_units, sums_of_many = space.reduce(
        look_up, *scores, merge=lambda a, b: (list(map(np.add, a[0], b[0])), a[1] + b[1], a[2].merge(b[2]))
    )
    first = int(namespace(few_weights).argmax(few_weights))
    few_origins = [int(doubled[first]) for doubled in of_few]
    sums_of_few = WeightedPlacementSums.of(
        few_weights / float(few_weights[first]),
        [doubled - origin for doubled, origin in zip(of_few, few_origins, strict=True)],
        2.0 * n_many_units,
    )
    positives, origins, n_units = (
        (sums_of_few, few_origins, n_many_units) if rare else (sums_of_many, origins, n_few_units)
    )
    aucs = [origin / (2 * n_units) + mean for origin, mean in zip(origins, positives.means(), strict=True)]
    return aucs, sums_of_few.variance + sums_of_many.variance


def chosen(scores: Any, mask: Any) -> Any:
    """Return some of the scores."""
    return scores.compress(mask) if isinstance(scores, np.ndarray) else scores[mask]


def heaviest(rows: list[Any]) -> list[float]:
    """Return the weight and the scores of the first row that has the largest weight; zeros if there are no rows."""
    weights = rows[0]
    if not weights.shape[0]:
        return [0.0] * len(rows)
    first = int(namespace(weights).argmax(weights))
    return [float(values[first]) for values in rows]


def doubled_counts(others: Any, scores: Any) -> Any:
    """Return twice the number of the others, whose scores are sorted, below each score; a tie counts one half."""
    xp = namespace(scores)
    return xp.searchsorted(others, scores, side="left") + xp.searchsorted(others, scores, side="right")


def units_of(weights: Any, total: float) -> Any:
    """Return the weights of rows as integers, in units of 2^-60 of the weight of their class."""
    xp = namespace(weights)
    return xp.astype(xp.round(weights / total * UNITS), xp.int64)


def doubled_weights(others: Any, units: Any, scores: Any) -> Any:
    """Return twice the weight of the others below each score, as integers; a tie counts one half."""
    xp = namespace(scores)
    order = xp.argsort(others)
    ordered = xp.take(others, order)
    below = xp.cumulative_sum(xp.take(units, order), include_initial=True)
    left, right = (xp.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return xp.take(below, left) + xp.take(below, right)


def compared(values: Sequence[Any]) -> Any:
    """Return the values of one score, or the differences of two."""
    return values[0] if len(values) == 1 else values[0] - values[1]
