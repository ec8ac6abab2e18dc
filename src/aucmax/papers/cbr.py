"""CBR: confidence-weighted bipartite ranking, with the full covariance of the weights or its diagonal (CBRdiag).

Khalid, Ray and Chitsaz (2016), Confidence-weighted bipartite ranking.

Objective
---------
The weights are known as a Gaussian N(mu, Sigma). Each pair z of a positive minus a negative row asks to be ranked right
with probability eta, which is phi sqrt(z'Sigma z) <= mu.z with phi = Phi^-1(eta), and the answer is the soft
confidence-weighted one (SCW-I): the Gaussian of least

    KL(N(mu, Sigma) || the Gaussian so far) + C max(0, phi sqrt(z'Sigma z) - mu.z)

Weights that few pairs have spoken about move far, others little: a second-order method.

One step on a row x of the class y = +-1
-----------------------------------------
1. For each x' in the buffer of the other class, one after the other: z = y (x - x'), m = mu.z, v = z'Sigma z.
2. If phi sqrt(v) > m, with psi = 1 + phi^2 / 2 and xi = 1 + phi^2:
   alpha = min(C, max(0, (-m psi + sqrt(m^2 phi^4 / 4 + v phi^2 xi)) / (v xi)))
   sqrt(u) = (-alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v)) / 2,  beta = alpha phi / (sqrt(u) + alpha v phi)
   mu += alpha Sigma z,  Sigma -= beta Sigma z z'Sigma
   The diagonal version keeps the diagonal of Sigma alone, and takes the diagonal of its change.
   Without C, it is 0.002 over the root mean square of |z| over the pairs so far. The number is small because the pairs
   of a row are far from independent, and longer steps make Sigma small before much was learnt.
3. Row x goes into the buffer of its class: in place of the oldest, or by reservoir sampling as in `oam`.

It starts from mu = 0 and Sigma = I, and the result is the last mu divided by its length.

Most pairs ask for nothing, and to find this out costs O(n_features), not O(n_features^2): Sigma only ever becomes
smaller, so that what b'Sigma b was for a row b in the buffer bounds what it is, and with p = Sigma x of the new row

    v = 2 (x - b).p - x.p + b'Sigma b  <=  2 (x - b).p - x.p + (the bound of b)

where rows are taken relative to the first of the stream, for which z does not care. A bound is renewed when v itself
is computed.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from .._compat import REORDER, Interval, StrOptions, jit
from ..rows.summaries.moments import check_memory
from .engine.buffers import (
    ClassBuffers,
    fifo_slots,
    make_pair,
    put,
    reservoir_slots,
    subtract,
    take,
    z_axpy,
    z_dot,
    z_norm,
)
from .engine.epochs import OnlineClassifier
from .engine.row_access import zero_weights
from .engine.sample import Sample
from .engine.variant import COUNT, POSITIVE

# C times the root of the mean |z|^2, for C=None: best or next to it on five data sets of 8 to 123 columns.
STEP = 0.002


class FullState(NamedTuple):
    """State of CBR with the full covariance."""

    mu: np.ndarray  # shape (width,): the weights
    sigma: np.ndarray  # shape (d, d): their covariance; only the lower triangle is kept up to date
    buffers: ClassBuffers  # the rows kept
    bounds: np.ndarray  # shape (2, buffer_size): what b'Sigma b is at most for each, relative to `first`
    first: np.ndarray  # shape (d,): the first row of all
    scalars: np.ndarray  # shape (2,): number of pairs, and their mean |z|^2


class DiagonalState(NamedTuple):
    """The same with the diagonal of the covariance, of shape (d,)."""

    mu: np.ndarray
    sigma: np.ndarray
    buffers: ClassBuffers
    scalars: np.ndarray


class CBR(OnlineClassifier):
    """Confidence-weighted bipartite ranking: a Gaussian over the weights, updated by pairs of every row with a buffer.

    Parameters
    ----------
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep the covariance of the weights, in O(n_features^2) memory and time a pair that changes it, or its
        diagonal, in O(nonzeros) a pair (CBRdiag).

    buffer : {"fifo", "reservoir"}, default="fifo"
        Whether the last rows of each class are kept, or a uniform sample of those so far.

    C : float, default=None
        The longest step. None takes 0.002 over the root mean square of ``|z|``, the length of the pairs, and 1 with
        variant="paper", whose values are 2^-10 to 2^10.

    eta : float, default=0.7
        Probability, above 0.5, with which a pair has to be ranked right.

    buffer_size : int, default=50
        Rows of each class that are kept.

    See Also
    --------
    OAM : Without confidences.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are standardised (a shift changes no pair), since the start says that all weights are of one size.
    - C follows the scale of the rows, and need not be tuned.
    - the rows of a buffer are met slot by slot, and not from the oldest to the newest: it is simpler.
    - the result has length 1: mu itself becomes shorter with Sigma, so that the scores of a stream would have no scale
      that lasts. This changes no ranking.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import CBR
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(CBR(random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    >>> bool(CBR(covariance="diagonal", random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    """

    covariance: str = "full"
    buffer: str = "fifo"
    C: float | None = None
    eta: float = 0.7
    buffer_size: int = 50
    max_iter: int = 1

    _parameter_constraints = {  # noqa: RUF012
        "covariance": [StrOptions({"full", "diagonal"})],
        "buffer": [StrOptions({"fifo", "reservoir"})],
        "C": [POSITIVE, None],
        "eta": [Interval(Real, 0.5, 1, closed="neither")],
        "buffer_size": [COUNT],
    }
    _by_variant = {"C": (None, 1.0), "_by_age": (False, True), "_unit_length": (True, False)}  # noqa: RUF012

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.covariance == "full":
            check_memory(n_features, advice="keep the diagonal of the covariance instead, with covariance='diagonal'")

    def _start(self, n_features: int, n_rows: int) -> FullState | DiagonalState:
        mu, buffers = zero_weights(n_features), ClassBuffers.empty(self.buffer_size)
        if self.covariance == "diagonal":
            return DiagonalState(mu, np.ones(n_features), buffers, np.zeros(2))
        bounds = np.zeros((2, self.buffer_size))
        return FullState(mu, np.eye(n_features), buffers, bounds, np.zeros(n_features), np.zeros(2))

    def _draw(self, state: Any, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return the order, and the slot in the buffers of each of its rows."""
        positive = sample.positive[order]
        if self.buffer == "fifo":
            return order, fifo_slots(state.buffers, positive)
        return order, reservoir_slots(state.buffers, positive, rng.random_sample(len(order)))

    def _epoch(self, state: Any, sample: Sample, drawn: Any) -> None:
        state.buffers.reserve(sample.rows)
        epoch = full_epoch if isinstance(state, FullState) else diagonal_epoch
        by_age = self._chosen("_by_age") and self.buffer == "fifo"
        C, phi = self._chosen("C") or 0.0, float(ndtri(self.eta))
        epoch(state, sample.rows, sample.positive, *drawn, C, phi, by_age)

    def _weights(self, state: Any) -> np.ndarray:
        return state.mu / (np.linalg.norm(state.mu) or 1.0 if self._chosen("_unit_length") else 1.0)


@jit
def soft_confidence(m, v, C, phi):
    """Return alpha and beta of step 2, for v above 0."""
    psi, xi = 1.0 + 0.5 * phi * phi, 1.0 + phi * phi
    alpha = (-m * psi + np.sqrt(0.25 * m * m * phi**4 + v * phi * phi * xi)) / (v * xi)
    alpha = min(C, max(0.0, alpha))
    a = alpha * v * phi
    root_u = 2.0 * v / (a + np.sqrt(a * a + 4.0 * v))  # its difference in step 2, without cancellation
    return alpha, alpha * phi / (root_u + a)


@jit(fastmath=REORDER)
def multiply(S, z, out):
    """Fill `out` with S z, where S is symmetric and its lower triangle is read; return z'S z."""
    total = 0.0
    for i in range(z.shape[0]):
        row, zi, dot = S[i], z[i], 0.0
        for j in range(i):
            dot += row[j] * z[j]
            out[j] += row[j] * zi
        out[i] = dot + row[i] * zi
        total += zi * (2.0 * dot + row[i] * zi)
    return total


@jit(fastmath=REORDER)
def subtract_outer(S, beta, a):
    """Do S -= beta a a' in the lower triangle."""
    for i in range(a.shape[0]):
        row, step = S[i], beta * a[i]
        for j in range(i + 1):
            row[j] -= step * a[j]


@jit
def oldest(buffers, c, by_age):
    """Return the slot of class c to begin with, and how many slots hold a row."""
    seen, size = buffers.counts[c], buffers.lengths.shape[1]
    return seen % size if by_age and seen > size else 0, min(seen, size)


@jit
def full_epoch(state, rows, positive, order, slots, C, phi, by_age):
    """Take the steps 1 to 3 on the rows in this order, with the full covariance; C = 0 stands for C from the data.

    With `by_age` the rows of a buffer are met from the oldest to the newest, else slot by slot.
    """
    mu, sigma, buffers, bounds = state.mu, state.sigma, state.buffers, state.bounds
    d, size = sigma.shape[0], bounds.shape[1]
    x, z, p, a = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    pair = make_pair(buffers, d)
    pairs, mean_norm = state.scalars
    for t in range(order.shape[0]):
        i = order[t]
        own, sign = (1, 1.0) if positive[i] else (0, -1.0)
        other = 1 - own
        n = take(pair, rows, i)
        x[:] = 0.0
        for k in range(n):
            x[pair.columns[k]] = pair.x[k]
        if buffers.counts[0] + buffers.counts[1] == 0:
            state.first[:] = x
        x -= state.first
        xp = multiply(sigma, x, p)
        first, full = oldest(buffers, other, by_age)
        for number in range(first, first + full):
            slot = number if number < size else number - size
            k = subtract(pair, n, buffers, other, slot)
            pairs += 1.0
            mean_norm += (z_norm(pair, k) - mean_norm) / pairs
            m = sign * z_dot(pair, k, mu)
            rest = 2.0 * z_dot(pair, k, p) - xp
            if m > 0.0 and phi * phi * (rest + bounds[other, slot]) <= m * m:
                continue
            z[:] = 0.0
            z_axpy(1.0, pair, k, z)
            v = multiply(sigma, z, a)
            bounds[other, slot] = v - rest
            if v <= 0.0 or phi * np.sqrt(v) <= m:
                continue
            alpha, beta = soft_confidence(m, v, C if C > 0.0 else STEP / np.sqrt(mean_norm), phi)
            ax = 0.0
            for j in range(d):
                mu[j] += sign * alpha * a[j]
                ax += a[j] * x[j]
            for j in range(d):
                p[j] -= beta * ax * a[j]
            xp -= beta * ax * ax
            subtract_outer(sigma, beta, a)
        put(buffers, own, slots[t], pair, n)
        if slots[t] >= 0:
            bounds[own, slots[t]] = xp
    state.scalars[:] = pairs, mean_norm


@jit
def diagonal_epoch(state, rows, positive, order, slots, C, phi, by_age):
    """Take the steps 1 to 3 on the rows in this order, with the diagonal of the covariance; C and `by_age` as above."""
    mu, sigma, buffers = state.mu, state.sigma, state.buffers
    size = buffers.lengths.shape[1]
    pair = make_pair(buffers, sigma.shape[0])
    pairs, mean_norm = state.scalars
    for t in range(order.shape[0]):
        i = order[t]
        own, sign = (1, 1.0) if positive[i] else (0, -1.0)
        other = 1 - own
        n = take(pair, rows, i)
        first, full = oldest(buffers, other, by_age)
        for number in range(first, first + full):
            slot = number if number < size else number - size
            length = subtract(pair, n, buffers, other, slot)
            pairs += 1.0
            mean_norm += (z_norm(pair, length) - mean_norm) / pairs
            m = v = 0.0
            for k in range(length):
                j, z = pair.columns[k], sign * pair.z[k]
                m += mu[j] * z
                v += sigma[j] * z * z
            if v <= 0.0 or phi * np.sqrt(v) <= m:
                continue
            alpha, beta = soft_confidence(m, v, C if C > 0.0 else STEP / np.sqrt(mean_norm), phi)
            for k in range(length):
                j = pair.columns[k]
                a = sigma[j] * pair.z[k]
                mu[j] += sign * alpha * a
                sigma[j] -= beta * a * a
        put(buffers, own, slots[t], pair, n)
    state.scalars[:] = pairs, mean_norm
