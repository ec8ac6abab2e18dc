"""OPAUC: one-pass AUC optimisation, with full covariances or with sketches of them (OPAUCr).

Gao, Jin, Zhu and Zhou (2013), One-pass AUC optimization.

Objective
---------
f(w)/2 + alpha/2 |w|^2, as in `AUCClassifier`: a row against all rows of the other class so far has the mean loss

    1/2 (1 -+ w.(z - m))^2 + 1/2 w'Cw        m, C: mean and covariance of the other class

so these moments stand for all the rows that are gone.

One step on row z of the class y = +-1
---------------------------------------
1. Update the count T, the mean m and the covariance C of the class of z: the recursion that the paper prints for
   Gamma = C lacks -m m' (of the old mean) in its fraction, so that it is not a covariance. The right one is
   C <- C + (z z' - C - m m') / T + m m' - n n', with n the new mean.
2. Until a row of the other class was seen, do nothing more.
3. w -= eta [alpha w - y (z - m) + (z - m)(z - m).w + C w] with m and C of the other class. Without eta0, on step t
   eta = 1 / (k + sqrt(k^2 + k t)), k the mean so far of |z - m|^2 + tr C + alpha, a bound on the curvature that a step
   meets; at most 1 over the curvature of this row. This is the step of the paper's Theorem 2 at any time t, for a least
   loss of the order of the squared norm of its weights.
4. The result is the average of the w, in which step t has the mass t, or the last w, as in the paper.
5. After d, 2d, 4d, ... rows, without eta0, the inverse of the curvature becomes the metric P of all later steps:

       P = (C+ + C- + (m+ - m-)(m+ - m-)' + (alpha + tr / t) I)^-1        tr: trace of the first three terms

   A step is then w -= eta P [...], and in k |z - m|^2 and tr C become (z - m)'P(z - m) and tr PC: these are the steps
   of 3 on rows whitened by the moments, which OPAUC holds anyway, so nearly singular covariances do not slow it down.
   The ridge tr / t is the error of a curvature that t rows have estimated. A sketch has no metric.

OPAUCr replaces the covariance by a sketch of rank tau, in O(tau d) memory: each row draws r ~ N(0, I) / sqrt(tau), and
Z += z r'. With h the mean of the r of a class and T its count,

    C = (Z - T m h')(Z - T m h')' / T                                       (centering="unbiased")
    C = Z Z' / T - |h|^2 m m'                                               (centering="paper")

The first has the covariance as its mean. The second is the paper's, and does not centre: |h|^2 is about 1/T, so that
on data of mean 3 and variance 1 it estimates a variance of 10.

variant="paper"
---------------
Steps 1 and 2 as above. 3. eta is constant, eta0; or, with eta0="inverse", 1 / (alpha t) followed by a projection on
the ball |w| <= 1 / alpha (the Remark of Theorem 2). 4. The result is the last w. OPAUCr has the paper's sketch.

`effective_rank` is the paper's Definition 3, and `sketch_rank` the rank for which Theorem 4 holds.

A step of the paper's OPAUCr costs O(tau d). Here it costs O(tau nonzeros + tau^2): with the sum of the rows as one more
column of Z (r = 1), both m and C w are combinations of the columns of Z, so w is kept as

    w = scale (u + Z+ c+ + Z- c-)

where a step changes u by a multiple of z and c by tau + 1 numbers, and what it needs of w, Z'w and w.z, is kept up to
date through the Gram matrices of the columns of Z+ and Z-.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._compat import REORDER, StrOptions, jit
from ..rows.summaries.moments import check_memory
from .engine.averages import SMALLEST
from .engine.epochs import OnlineClassifier
from .engine.row_access import row_axpy, row_dot, row_dots, row_outer, settle, zero_weights
from .engine.sample import Sample
from .engine.variant import COUNT, NOT_NEGATIVE, POSITIVE

BLOCK = 256  # rows whose r are drawn at once
INVERSE = -1.0  # stands for eta0="inverse" in kernels


class CovarianceState(NamedTuple):
    """State of OPAUC."""

    w: np.ndarray  # with mean_w: shape (width,): the weights, and their average
    mean_w: np.ndarray
    counts: np.ndarray  # shape (2,): rows of each class
    means: np.ndarray  # shape (2, d): their means
    scatters: np.ndarray  # shape (2, d, d): their centred sums of outer products; the covariance times the count
    metric: np.ndarray  # shape (d, d): what a gradient is multiplied by; 0 as long as it is the identity
    scalars: np.ndarray  # shape (5,): steps taken, their mean curvature, and in the metric tr C and alpha's curvature


class SketchState(NamedTuple):
    """State of OPAUCr, with q = rank + 1 columns in each sketch, the last one the sum of the rows."""

    # with rest: shape (width,): the part of w / scale, and of the sum of mass * w, outside of the sketches
    u: np.ndarray
    rest: np.ndarray
    sketches: np.ndarray  # shape (2, width, q): Z of the two classes
    # with shares: shape (2, q): w = scale (u + sum of Z c); sum of mass * w = rest + share u + sum of Z shares
    c: np.ndarray
    shares: np.ndarray
    dots: np.ndarray  # shape (2, q): z'w / scale
    grams: np.ndarray  # shape (3, q, q): z-'Z-, Z+'Z+ and Z-'Z+
    draws: np.ndarray  # shape (2, q): sums of r in each class; the last is its count
    norms: np.ndarray  # shape (2,): sums of |z|^2 in each class
    scalars: np.ndarray  # shape (5,): steps taken, their mean curvature, scale, share and mass


class OPAUC(OnlineClassifier):
    """One-pass AUC optimisation: every row against the moments of all rows before it.

    Parameters
    ----------
    rank : int, default=None
        None keeps the covariance of each class, in O(n_features^2) memory and time a row. A number keeps sketches of
        that rank instead (OPAUCr), in O(rank * n_features) memory, unless it is above the number of features: then the
        covariances take less memory, and they are kept.

    centering : {"unbiased", "paper"}, default=None
        How sketches are centred: so that their mean is the covariance, or as in the paper, which hardly centres them.
        None is "unbiased", and "paper" with variant="paper". Not used without `rank`.

    alpha : float, default=1e-3
        Regularisation strength, as in :class:`aucmax.AUCClassifier`: the paper's lambda.

    eta0 : float or "inverse", default=None
        The step, constant: the paper's eta. None takes one that follows the moments of the rows and falls as
        1 / sqrt(t), and 2^-9 with variant="paper", whose values are 2^-12 to 2^10. "inverse" is the step of the paper's
        remark on strong convexity, 1 / (alpha t) in the ball of radius 1 / alpha; not with a `rank`.

    max_iter : int, default=None
        Number of passes of `fit` over the rows. None is 5, and one with variant="paper".

    See Also
    --------
    AUCClassifier : The exact minimiser; its `partial_fit` costs O(n_features^2) a row, too.

    Notes
    -----
    How the default differs from the paper (gains: docs/measured/variants.md; misprints: docs/guide/misprints.md):

    - columns are centred and standardised: a constant step cannot suit columns of different scales.
    - steps follow the scale of the rows and fall: no grid of 23 steps has to be searched.
    - covariances also precondition the steps: columns that are nearly linear in others do not slow them down.
    - `fit` makes five passes: a single one over few rows ends before the steps arrive.
    - the result is an average: with steps that fall slowly the last weights still carry the noise of single rows.
    - sketches are centred, as covariances are.

    OPAUCr is this with a `rank`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import OPAUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(OPAUC(random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    >>> bool(OPAUC(rank=10, random_state=0).fit(X, y).score(X, y) > 0.98)
    True
    """

    rank: int | None = None
    centering: str | None = None
    alpha: float = 1e-3
    eta0: float | str | None = None
    average: bool | None = None
    max_iter: int | None = None

    _parameter_constraints = {  # noqa: RUF012
        "rank": [COUNT, None],
        "centering": [StrOptions({"unbiased", "paper"}), None],
        "alpha": [NOT_NEGATIVE],
        "eta0": [POSITIVE, StrOptions({"inverse"}), None],
        "max_iter": [COUNT, None],
    }
    _by_variant = {  # noqa: RUF012
        "eta0": (None, 2.0**-9),
        "average": (True, False),
        "centering": ("unbiased", "paper"),
        "max_iter": (5, 1),
        "_preconditions": (True, False),
    }

    def _check_parameters(self, n_rows: int, n_features: int) -> None:
        if not self._sketches(n_features):
            check_memory(n_features, advice="keep sketches of the covariances instead, with rank=50")
        eta0 = self._chosen("eta0")
        if eta0 == "inverse":
            if self.alpha == 0 or self._sketches(n_features):
                raise ValueError('eta0="inverse" needs covariances and an alpha above 0: set rank=None and alpha.')
        elif eta0 is not None and eta0 * self.alpha >= 1 and not self._is_paper:  # the paper's grid has such pairs
            raise ValueError(
                f"eta0 * alpha must be below 1, got {eta0:g} * {self.alpha:g}: a step would take weights past 0."
            )

    def _sketches(self, n_features: int) -> bool:
        return self.rank is not None and self.rank <= n_features

    def _start(self, n_features: int, n_rows: int) -> CovarianceState | SketchState:
        d, zeros = n_features, zero_weights(n_features)
        if self.rank is None or not self._sketches(n_features):
            moments = np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d))
            return CovarianceState(zeros, zeros.copy(), *moments, np.zeros((d, d)), np.zeros(5))
        q = self.rank + 1
        return SketchState(
            u=zeros,
            rest=zeros.copy(),
            sketches=np.zeros((2, len(zeros), q)),
            c=np.zeros((2, q)),
            shares=np.zeros((2, q)),
            dots=np.zeros((2, q)),
            grams=np.zeros((3, q, q)),
            draws=np.zeros((2, q)),
            norms=np.zeros(2),
            scalars=np.array([0.0, 0.0, 1.0, 0.0, 0.0]),
        )

    def _draw(self, state: Any, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return blocks of the order, with the N(0, I) of each of their rows for sketches."""
        if isinstance(state, CovarianceState):
            return [(order, None)]
        rank = state.c.shape[1] - 1
        blocks = (order[start : start + BLOCK] for start in range(0, len(order), BLOCK))
        return ((block, rng.standard_normal((len(block), rank))) for block in blocks)

    def _epoch(self, state: Any, sample: Sample, drawn: Any) -> None:
        eta0, paper = self._chosen("eta0") or 0.0, self._chosen("centering") == "paper"
        for order, normal in drawn:
            if isinstance(state, CovarianceState):
                self._covariance_steps(state, sample, order, INVERSE if eta0 == "inverse" else eta0)
                continue
            draws = np.column_stack([normal / np.sqrt(normal.shape[1]), np.ones(len(order))])
            sketch_epoch(state, sample.rows, sample.norms, sample.positive, order, draws, eta0, self.alpha, paper)

    def _covariance_steps(self, state: CovarianceState, sample: Sample, order: np.ndarray, eta0: float) -> None:
        """Take the steps on the rows in this order, and renew the metric after d, 2d, 4d, ... rows."""
        d, preconditions = state.means.shape[1], eta0 == 0 and self._chosen("_preconditions")
        while len(order):
            self._check_finite(state.counts.sum(keepdims=True))
            seen = int(state.counts.sum())
            due = d << (seen // d).bit_length()  # d, 2d, 4d, ...: the next one above `seen`
            now, order = order[: due - seen], order[due - seen :]
            covariance_epoch(state, sample.rows, sample.positive, now, eta0, self.alpha)
            if preconditions and state.counts.all() and state.counts.sum() == due:
                renew_metric(state, self.alpha)

    def _weights(self, state: Any) -> np.ndarray:
        average = self._chosen("average")
        if isinstance(state, CovarianceState):
            return (state.mean_w if average else state.w).copy()
        _, _, scale, share, mass = state.scalars
        if average and mass > 0:
            return (state.rest + share * state.u + np.einsum("cjk,ck", state.sketches, state.shares)) / mass
        return scale * (state.u + np.einsum("cjk,ck", state.sketches, state.c))


def effective_rank(covariance: np.ndarray, mu: float) -> float:
    """Return the effective numerical rank of a covariance: the sum of v / (mu + v) over its eigenvalues v.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.papers.opauc import effective_rank
    >>> effective_rank(np.diag([9.0, 1.0, 0.0]), mu=1.0)
    1.4
    """
    values = np.maximum(np.linalg.eigvalsh(covariance), 0)
    return float(np.sum(values / (mu + values)))


def sketch_rank(covariances: Any, n_rows: int, alpha: float, largest: float, epsilon: float = 0.5) -> int:
    """Return the rank of sketches from which on Theorem 4 holds with probability 0.95.

    It is 32 r alpha / epsilon^2 log(2 d T / 0.05), r the largest effective numerical rank of the class covariances, in
    the unit of the theorem, whose rows have norm 1 at most.

    Parameters
    ----------
    covariances : array-like of shape (2, n_features, n_features)
        Of the classes, of the columns as OPAUC takes them.
    n_rows : int
        The theorem's T.
    alpha : float
        Of OPAUC.
    largest : float
        The largest norm of a row.
    epsilon : float, default=0.5
        The share of the least loss that sketches may add to the mean loss is 2 epsilon; at most 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.papers.opauc import sketch_rank
    >>> sketch_rank([np.eye(200), np.eye(200)], n_rows=10_000, alpha=0.1, largest=1.0)
    42351
    """
    unit = largest**2
    rank = max(effective_rank(np.asarray(C) / unit, alpha / unit) for C in covariances)
    bound = 32 * rank * alpha / unit / epsilon**2 * np.log(2 * len(covariances[0]) * n_rows / 0.05)
    return max(1, int(np.ceil(bound)))


def renew_metric(state: CovarianceState, alpha: float) -> None:
    """Make the inverse of the curvature of the objective, by the moments so far, the metric (step 5)."""
    C = state.scatters / state.counts[:, None, None]
    gap = state.means[1] - state.means[0]
    H = C[0] + C[1] + np.outer(gap, gap)
    total = np.trace(H)
    if total > 0:
        ridge = alpha + total / state.counts.sum()
        H.flat[:: len(H) + 1] += ridge
        state.metric[:] = np.linalg.inv(H)
        traces = np.einsum("jk,cjk->c", state.metric, C)
        state.scalars[1:] = traces.sum() + gap @ state.metric @ gap + alpha / ridge, *traces, alpha / ridge


@jit
def choose_step(eta0, steps, mean_curvature, curvature, alpha):
    """Return the step on a row (step 3)."""
    if eta0 != 0.0:
        return eta0 if eta0 > 0.0 else 1.0 / (alpha * steps)
    if curvature == 0.0:
        return 0.0
    k = mean_curvature
    return min(1.0 / (k + np.sqrt(k * (k + steps))), 1.0 / curvature)


@jit(fastmath=REORDER)
def covariance_epoch(state, rows, positive, order, eta0, alpha):
    """Take the steps 1 to 4 on the rows in this order; eta0 = 0 stands for steps from the data."""
    w, mean_w, counts, metric = state.w, state.mean_w, state.counts, state.metric
    steps, mean_curvature = state.scalars[0], state.scalars[1]
    d = state.means.shape[1]
    z, g, move = np.zeros(w.shape[0]), np.zeros(d), np.zeros(d)
    has_metric = metric[0, 0] > 0.0
    traces, penalty = np.zeros(2), alpha
    if has_metric:
        traces[:], penalty = state.scalars[2:4], state.scalars[4]
    for c in range(2):
        for j in range(d):
            traces[c] += 0.0 if has_metric else state.scatters[c, j, j]
    for i in order:
        own = 1 if positive[i] else 0
        z[:] = 0.0
        row_axpy(1.0, rows, i, z)
        settle(rows, z)

        mean, S = state.means[own], state.scatters[own]
        counts[own] += 1.0
        for j in range(d):
            g[j] = z[j] - mean[j]
            mean[j] += g[j] / counts[own]
        for j in range(d):
            a = (1.0 - 1.0 / counts[own]) * g[j]
            traces[own] += 0.0 if has_metric else a * g[j]
            for k in range(d):
                S[j, k] += a * g[k]

        mean, S, T = state.means[1 - own], state.scatters[1 - own], counts[1 - own]
        if T == 0.0:
            continue
        e, norm = -1.0 if positive[i] else 1.0, 0.0
        for j in range(d):
            z[j] -= mean[j]
            e += z[j] * w[j]
            norm += z[j] * z[j]
        for j in range(d):
            Sw = 0.0
            for k in range(d):
                Sw += S[j, k] * w[k]
            g[j] = alpha * w[j] + e * z[j] + Sw / T
        spread = traces[1 - own] / T
        if has_metric:
            norm, spread = 0.0, traces[1 - own]
            for j in range(d):
                Pz = Pg = 0.0
                for k in range(d):
                    Pz += metric[j, k] * z[k]
                    Pg += metric[j, k] * g[k]
                norm += z[j] * Pz
                move[j] = Pg
            g[:] = move
        steps += 1.0
        curvature = norm + spread + penalty
        mean_curvature += (curvature - mean_curvature) / steps
        eta, length = choose_step(eta0, steps, mean_curvature, curvature, alpha), 0.0
        for j in range(d):
            w[j] -= eta * g[j]
            length += w[j] * w[j]
        if eta0 < 0.0 and alpha * alpha * length > 1.0:
            w /= alpha * np.sqrt(length)
        for j in range(d):
            mean_w[j] += 2.0 / (steps + 1.0) * (w[j] - mean_w[j])
    state.scalars[0], state.scalars[1] = steps, mean_curvature


@jit(fastmath=REORDER)
def sketch_epoch(state, rows, norms, positive, order, draws, eta0, alpha, paper):
    """Take the steps 1 to 4 with sketches; `draws` holds (r, 1) for each row."""
    u, rest, c, shares, dots = state.u, state.rest, state.c, state.shares, state.dots
    cross = state.grams[2]
    q = c.shape[1]
    tau = q - 1
    steps, mean_curvature, scale, share, mass = state.scalars
    g, half, kappa = np.zeros((2, q)), np.zeros(q), np.zeros(q)
    for n in range(order.shape[0]):
        i, r = order[n], draws[n]
        own = 1 if positive[i] else 0
        other = 1 - own
        norm = norms[i]
        row_dots(rows, i, state.sketches[0], g[0])
        row_dots(rows, i, state.sketches[1], g[1])
        s = row_dot(rows, i, u)  # z.w / scale
        for k in range(q):
            s += g[0, k] * c[0, k] + g[1, k] * c[1, k]

        # Z += z r' in the own class; u and rest take back what this adds to w and to the average.
        change = change_rest = 0.0
        gram = state.grams[own]
        for k in range(q):
            half[k] = g[own, k] + 0.5 * norm * r[k]
        for k in range(q):
            change -= r[k] * c[own, k]
            change_rest -= r[k] * shares[own, k]
            dots[own, k] += r[k] * s
            for m in range(q):
                gram[k, m] += half[k] * r[m] + r[k] * half[m]
        if own == 0:
            for k in range(q):
                for m in range(q):
                    cross[k, m] += r[k] * g[1, m]
        else:
            for k in range(q):
                for m in range(q):
                    cross[k, m] += g[0, k] * r[m]
        row_outer(rows, i, r, state.sketches[own])
        for k in range(q):
            g[own, k] += norm * r[k]
            state.draws[own, k] += r[k]
        state.norms[own] += norm

        h, gram = state.draws[other], state.grams[other]
        T = h[tau]
        if T > 0.0:
            # C w of the other class is Z kappa.
            kappa[tau] = 0.0
            if paper:
                for k in range(tau):
                    kappa[k] = scale * dots[other, k] / T
                    kappa[tau] -= (h[k] / T) ** 2 * scale * dots[other, tau] / (T * T)
            else:
                for k in range(tau):
                    kappa[k] = scale * (dots[other, k] - h[k] / T * dots[other, tau]) / T
                    kappa[tau] -= h[k] / T * kappa[k]
            # m = Z's last column / T, so |m|^2, z.m and w.m are at hand.
            mm = gram[tau, tau] / (T * T)
            steps += 1.0
            curvature = max(norm - 2.0 * g[other, tau] / T + mm, 0.0) + max(state.norms[other] / T - mm, 0.0) + alpha
            mean_curvature += (curvature - mean_curvature) / steps
            eta = choose_step(eta0, steps, mean_curvature, curvature, alpha)
            e = scale * (s - dots[other, tau] / T) + (-1.0 if positive[i] else 1.0)
            kappa[tau] -= e / T

            scale *= 1.0 - eta * alpha
            if scale < SMALLEST:  # 0 or below it, where eta alpha >= 1
                rest += share * u
                u *= scale
                c *= scale
                dots *= scale
                change *= scale
                share, scale = 0.0, 1.0
            step = eta / scale
            change -= step * e
            for k in range(q):
                c[other, k] -= step * kappa[k]
                dots[0, k] -= step * e * g[0, k]
                dots[1, k] -= step * e * g[1, k]
            for k in range(q):
                for m in range(q):
                    dots[other, k] -= step * gram[k, m] * kappa[m]
            if own == 0:
                for k in range(q):
                    for m in range(q):
                        dots[0, k] -= step * cross[k, m] * kappa[m]
            else:
                for k in range(q):
                    for m in range(q):
                        dots[1, m] -= step * cross[k, m] * kappa[k]
        row_axpy(change, rows, i, u)
        row_axpy(change_rest - share * change, rows, i, rest)
        if T > 0.0:
            mass += steps
            share += steps * scale
            for k in range(q):
                shares[0, k] += steps * scale * c[0, k]
                shares[1, k] += steps * scale * c[1, k]
    state.scalars[:] = steps, mean_curvature, scale, share, mass
