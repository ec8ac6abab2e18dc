"""ASAM and PSAM: steps on random pairs of a positive and a negative row.

ASAM: Khalid, Ray and Chitsaz (2018), Scalable nonlinear AUC maximization methods.
PSAM: Khalid, Chitsaz and Ray, Proximal stochastic AUC maximization.

Objective
---------
    minimise over w   mean over all pairs of l(w.z) + alpha/2 |w|^2,    z = z+ - z-

where l(s) is the hinge loss max(0, 1 - s) (PSAM), or the smoothed hinge loss (ASAM), with slope l'(s) = -min(1 - s, 1)
where s < 1:

    l(s) = 0  where s >= 1,    (1 - s)^2 / 2  where 0 <= s <= 1,    1/2 - s  where s <= 0

(The paper of PSAM gives the slope of the smoothed loss, but its proximal map is the map of the hinge loss.)

One pass over n rows
--------------------
n steps, each on one positive and one negative row, both drawn uniformly with replacement; t counts the steps of all
passes. Rows with weights are drawn in proportion to them, and n is their total.

1. t <- t + 1, and eta = 1 / (alpha t + 1 / eta0), which is 1 / (alpha (t + t0)) with t0 = 1 / (alpha eta0).
2. If w.z < 1:  w += min(-eta l'(w.z), (1 - w.z) / |z|^2) z. For PSAM this is the minimiser over v of
   eta max(0, 1 - v.z) + |v - w|^2 / 2.
3. If t is a multiple of `regularize_every`, r:  w *= 1 - r / (t + t0), which is the product of 1 - 1 / (t + t0) over
   the last r steps, and above 0 since t >= r and t0 > 0, however large alpha is.
4. If t is a multiple of `average_every`, w is counted in the average, which is the result.

Without eta0 it is one over the mean of |z|^2 over all pairs. PSAM's paper leaves t0 open; Bottou's rule for such steps,
eta0 = alpha^(-1/4), is for |z| of about 1.

In a stream (`partial_fit`) each row makes a step with a row drawn uniformly from a reservoir: up to 100 rows of the
other class so far. It then goes into the reservoir of its own class. The mean of |z|^2 is over the pairs so far.

With variant="paper", ASAM's step 2 is w -= eta l'(w.z) z, columns are as they are, and without eta0 it is Bottou's.

The class of row 0 is drawn first, whether it is positive or not. So swapping the classes changes the sign of the
weights and nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from .._compat import jit
from .._docs import add_sections
from .engine.averages import SCALE, SHARE, AveragedWeights, add_to_average, pair_score, pair_step, shrink
from .engine.buffers import ClassBuffers, make_pair, put, reservoir_slots, subtract, take, z_axpy, z_dot, z_norm
from .engine.epochs import OnlineClassifier, StochasticClassifier
from .engine.row_access import KernelRows, n_columns, pair_norm
from .engine.sample import Sample
from .engine.variant import COUNT, EXAMPLE, POSITIVE

RESERVOIR = 100  # rows of each class that a stream keeps, as OAM does
# The kinds of step 2: PSAM's, ASAM's with a limit, and ASAM's as published.
PROXIMAL, LIMITED, GRADIENT = range(3)


class ClassSampler(NamedTuple):
    """The rows of one class, to be drawn from with replacement."""

    members: np.ndarray  # the numbers of the rows
    weights: np.ndarray | None  # their weights; None where each counts once

    @classmethod
    def of(cls, mask: np.ndarray, weights: np.ndarray | None) -> ClassSampler:
        """Return the rows of a mask."""
        members = np.flatnonzero(mask)
        return cls(members.astype(np.uint32), None if weights is None else weights[members])

    def average(self, values: np.ndarray) -> float:
        """Return the mean of values, given for all rows, over the rows of this class."""
        return float(np.average(values[self.members], weights=self.weights))

    def draw(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Return n rows; for whole weights the same ones as if each row were there as often as its weight says."""
        if self.weights is None:
            return self.members[rng.randint(len(self.members), size=n)]
        ends = np.cumsum(self.weights)
        whole = not np.any(self.weights % 1)
        places = rng.randint(int(ends[-1]), size=n) if whole else rng.random_sample(n) * ends[-1]
        return self.members[np.searchsorted(ends, places, side="right").clip(max=len(ends) - 1)]


class PairSample(NamedTuple):
    """Rows to draw pairs from."""

    rows: KernelRows  # the rows z
    positive: np.ndarray  # shape (n,): which are positive
    weights: np.ndarray | None  # shape (n,): their weights; None where each counts once
    first: ClassSampler  # with second: the rows of the class of row 0, and of the other one
    second: ClassSampler
    mean_norm: float  # the mean of |z|^2 over all pairs

    @classmethod
    def of(cls, sample: Sample) -> PairSample:
        """Return the pairs of a sample."""
        positive, (low, high) = sample.positive, sample.centers
        first, second = (ClassSampler.of(positive == c, sample.weights) for c in (positive[0], ~positive[0]))
        mean_norm = first.average(sample.norms) + second.average(sample.norms) - 2 * low @ high
        return cls(sample.rows, positive, sample.weights, first, second, float(mean_norm))

    def draw(self, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Return the positive and the negative rows of n random pairs."""
        first, second = self.first.draw(n, rng), self.second.draw(n, rng)
        return (first, second) if self.positive[0] else (second, first)


class PairState(NamedTuple):
    """State of ASAM and PSAM."""

    w: AveragedWeights  # the weights
    scalars: np.ndarray  # shape (3,): the number of steps so far; the number of pairs and their mean |z|^2
    buffers: ClassBuffers  # the rows of a stream that are kept


class PairSamplingClassifier(StochasticClassifier):
    """A classifier fitted by steps on random pairs.

    Parameters
    ----------
    alpha : float, default=1e-3
        Regularisation strength, above 0: the penalty ``alpha/2 |w|^2`` to the mean loss of a pair. The lambda of the
        paper of ASAM, whose values are 10^-10 to 10^-7, and the gamma of the paper of PSAM.

    eta0 : float, default=None
        The step is 1 / (alpha t + 1 / eta0) after t steps; the papers' t0 is 1 / (alpha eta0). None takes 1 over the
        mean squared distance of the pairs, and alpha^(-1/4) with variant="paper": Bottou's rule, since the papers leave
        t0 open.

    regularize_every : int, default=16
        Number of steps between two steps of the penalty, each of which makes up for all of them: the papers' rskip.

    average_every : int, default=16
        Number of steps between two weights that are counted in the average: the papers' askip.

    max_iter : int, default=5
        Number of passes; each takes as many steps as there are rows.
    """

    alpha: float = 1e-3
    eta0: float | None = None
    regularize_every: int = 16
    average_every: int = 16
    max_iter: int = 5

    _parameter_constraints = {  # noqa: RUF012
        "alpha": [POSITIVE],
        "regularize_every": [COUNT],
        "average_every": [COUNT],
    }

    shuffle = False  # the pairs are random as they are
    partial_fit = OnlineClassifier.partial_fit  # `fit` draws from all rows, in memory

    @property
    @abstractmethod
    def _step(self) -> int:
        """Return the kind of the steps, one of the three above."""

    def _start(self, n_features: int, n_rows: int) -> PairState:
        return PairState(AveragedWeights.zeros(n_features), np.zeros(3), ClassBuffers.empty(RESERVOIR))

    def _prepare(self, sample: Sample) -> Any:
        return PairSample.of(sample)

    def _draw(self, state: PairState, sample: Any, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return random pairs; of a stream its order, and for each row which kept row it meets and its own slot."""
        if isinstance(sample, PairSample):
            return sample.draw(len(order), rng)
        draws = rng.random_sample(len(order))
        return sample.positive, order, draws, reservoir_slots(state.buffers, sample.positive[order], draws)

    def _epoch(self, state: PairState, sample: Any, drawn: Any) -> None:
        every = float(self.regularize_every), float(self.average_every)
        known = isinstance(sample, PairSample)
        curvature = self.alpha**0.25 if self._is_paper else (sample.mean_norm or 1.0) if known else 0.0
        curvature = curvature if self.eta0 is None else 1 / self.eta0
        if not known:
            state.buffers.reserve(sample.rows)
        epoch = pair_epoch if known else stream_epoch
        epoch(state, sample.rows, *drawn, self._step, self.alpha, curvature, *every)
        if known:
            state.scalars[1:] = state.scalars[0], sample.mean_norm


@add_sections(EXAMPLE, name="ASAM", parameters="")
class ASAM(PairSamplingClassifier):
    """Accelerated stochastic AUC maximisation: the smoothed pairwise hinge loss, by gradients on random pairs.

    See Also
    --------
    PSAM : With proximal steps, on the hinge loss itself.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are standardised (a shift changes no pair): the penalty then does not depend on their units.
    - eta0 follows the scale of the rows: Bottou's rule is for pairs of norm 1 or so. On standardised columns its first
      steps move a score by hundreds, and one pass ranks worse by up to 0.006 in AUC.
    - no step is longer than ``(1 - w.z) / |z|^2``, which takes the pair to its target, as in PSAM: pairs that are much
      longer than others cannot do harm.

    With the longer first steps of Bottou's rule the limit may change much: on spambase as distributed, alpha=1e-8, one
    pass of the paper variant has an AUC of 0.78, a pass of PSAM 0.87.

    The defaults were chosen on validation rows of eight data sets: on none of them was another alpha up to 0.01 better
    by more than 0.002 in AUC, for ASAM or PSAM.
    """

    _by_variant = {"_limited": (True, False)}  # noqa: RUF012

    @property
    def _step(self) -> int:
        return LIMITED if self._chosen("_limited") else GRADIENT


@add_sections(EXAMPLE, name="PSAM", parameters="")
class PSAM(PairSamplingClassifier):
    """Proximal stochastic AUC maximisation: the pairwise hinge loss, by proximal maps on random pairs.

    See Also
    --------
    ASAM : With gradients, on the smoothed hinge loss.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns are standardised (a shift changes no pair): the penalty then does not depend on their units.
    - eta0 follows the scale of the rows: Bottou's rule is for pairs of norm 1 or so.
    """

    _step = PROXIMAL


@jit
def pair_epoch(state, rows, positives, negatives, kind, alpha, curvature, regularize_every, average_every):
    """Take the steps 1 to 4 on each pair; `curvature` is 1 / eta0."""
    w, t = state.w, state.scalars[0]
    scratch = np.zeros_like(w.u)
    regularize_at = (t // regularize_every + 1.0) * regularize_every
    average_at = (t // average_every + 1.0) * average_every
    for n in range(positives.shape[0]):
        i, j = positives[n], negatives[n]
        t += 1.0
        short = 1.0 - pair_score(w, rows, i, j)
        if short > 0.0:
            norm = pair_norm(rows, i, j, scratch) if kind != GRADIENT else 0.0
            pair_step(w, step_length(kind, short, norm, alpha * t + curvature), rows, i, j)
        if t == regularize_at:
            shrink(w, (alpha * (t - regularize_every) + curvature) / (alpha * t + curvature))
            regularize_at += regularize_every
        if t == average_at:
            add_to_average(w, 1.0)
            average_at += average_every
    state.scalars[0] = t


@jit
def step_length(kind, short, norm, divisor):
    """Return the length of step 2 along z, where `short` is 1 - w.z, above 0, and eta is 1 / divisor."""
    length = (1.0 if kind == PROXIMAL else min(short, 1.0)) / divisor
    if kind == GRADIENT:
        return length
    return min(length, short / norm) if norm > 0.0 else 0.0


@jit
def stream_epoch(state, rows, positive, order, draws, slots, kind, alpha, curvature, regularize_every, average_every):
    """Take the steps 1 to 4 on each row, with a kept row of the other class; curvature 0 stands for the mean |z|^2."""
    w, buffers = state.w, state.buffers
    t, pairs, mean_norm = state.scalars
    size = buffers.lengths.shape[1]
    pair = make_pair(buffers, n_columns(w.u))
    for n in range(order.shape[0]):
        own, sign = (1, 1.0) if positive[order[n]] else (0, -1.0)
        entries = take(pair, rows, order[n])
        kept = min(buffers.counts[1 - own], size)
        if kept > 0:
            length = subtract(pair, entries, buffers, 1 - own, int(draws[n] * kept))
            norm = z_norm(pair, length)
            t += 1.0
            pairs += 1.0
            mean_norm += (norm - mean_norm) / pairs
            bend = curvature if curvature > 0.0 else mean_norm if mean_norm > 0.0 else 1.0
            short = 1.0 - sign * w.scalars[SCALE] * z_dot(pair, length, w.u)
            if short > 0.0:
                change = sign * step_length(kind, short, norm, alpha * t + bend) / w.scalars[SCALE]
                z_axpy(change, pair, length, w.u)
                z_axpy(-w.scalars[SHARE] * change, pair, length, w.rest)
            if t % regularize_every == 0.0:
                shrink(w, (alpha * (t - regularize_every) + bend) / (alpha * t + bend))
            if t % average_every == 0.0:
                add_to_average(w, 1.0)
        put(buffers, own, slots[n], pair, entries)
    state.scalars[:] = t, pairs, mean_norm
