"""Paths of the logistic and the sigmoid loss on so few pairs that all of them are kept, compiled.

Conventions
-----------
The method is the one of `solvers/newton.py`: conjugate gradients, the square loss as preconditioner, a line search by
slopes, starts from the last two minimisers. The differences:

- Z is X / scale, centred and rotated to the eigenvectors of M, the Hessian of the square loss.
  There the preconditioner kappa M + alpha I is diagonal. If there are fewer rows than columns, there are as many
  coordinates as rows: M has no other directions.
- A pair of a positive i and a negative j with the score difference t has p = 1 / (1 + exp(t)), which takes a product
  and a division: exp(t) = exp(s_i) exp(-s_j). Loss and derivatives are

      logistic   log(1 + exp(-t)),   -p,         p (1 - p),
      sigmoid    p,                  -p (1 - p), p (1 - p) (1 - 2p).

- The second derivatives of all pairs are a matrix C. A product with the Hessian is one with C and one with C'.

For 30,000 pairs an evaluation takes 0.03 ms, where Chebyshev moments take twenty times as long, since steep losses have
almost as many boxes as rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._compat import FAST, jit
from ..rows.protocol import InMemoryRows, Rows, is_in_memory
from .square import EPS, RIDGE, SquareProblem, eigh

MAX_PAIRS = 250_000  # with 400,000, Chebyshev moments are as fast
MAX_ENTRIES = 1_000_000  # of X, which is copied
FORCING, SMALLEST_KAPPA, MAX_CG, MAX_TRIALS = 0.1, 1e-3, 100, 40  # as in `solvers/newton.py`
SUFFICIENT, ROUNDING = 1e-4, 1e-9
START_TRIALS, SMALL, SINGULAR = 3, 1e-4, 1e-9  # of starts, see `solvers/newton.py`
LARGEST_EXPONENT = 350.0  # the product of two exponentials does not overflow


class Pairs(NamedTuple):
    """The rows of both classes in the coordinates of the eigenvectors of M."""

    # (n_positives, d), (n_negatives, d): the positives and the negatives.
    upper: np.ndarray
    lower: np.ndarray
    # (n_positives,), (n_negatives,): their pair weights.
    a: np.ndarray
    b: np.ndarray
    eigenvalues: np.ndarray  # (d,): the eigenvalues of M


class FewPairsPath(NamedTuple):
    """Minimisers of a path."""

    V: np.ndarray  # (n_alphas, n_features): the weights of X / scale
    errors: np.ndarray  # (n_alphas,): 1 - AUC of each
    excess: float  # the largest norm of a gradient at the end, divided by the tolerated one
    n_iter: int  # number of Newton steps


class FewPairs:
    """All pairs of a small training set: the rows of X - shift in the d coordinates with the directions U."""

    def __init__(self, rows: InMemoryRows, square: SquareProblem) -> None:
        Z = rows.matrix(square.scale, square.center - square.shift)
        basis = None
        if len(Z) < Z.shape[1]:  # the minimisers are combinations of the rows
            basis, R = np.linalg.qr(Z.T)
            Z = R.T
        positive, weights = rows.targets.positive, rows.targets.pair_weights
        used = weights > 0
        (upper, a), (lower, b) = ((Z[side & used], weights[side & used]) for side in (positive, ~positive))
        values, U = eigh(pair_scatter(upper, a, lower, b))
        self.U = U if basis is None else basis @ U
        self.pairs = Pairs(upper @ U, lower @ U, a, b, np.maximum(values, 0))
        self.delta = square.delta @ self.U

    def logistic_path(self, alphas: np.ndarray, floor: float, relative: float, max_iter: int) -> FewPairsPath:
        """Return the minimisers of the logistic loss; gradients are at most max(floor, relative alpha |v|)."""
        start = self.delta / (self.pairs.eigenvalues + alphas[0] + EPS)
        return self._path(start, alphas, floor, relative, max_iter, False, 0.0)

    def sigmoid_path(
        self, v: np.ndarray, alphas: np.ndarray, floor: float, relative: float, max_iter: int, steep: float
    ) -> FewPairsPath:
        """Return minimisers of the sigmoid, from weights v of X / scale.

        Once the loss is at most 1 + steep times the error, smaller alphas keep the weights.
        """
        return self._path(v @ self.U, alphas, floor, relative, max_iter, True, steep)

    def _path(
        self,
        v: np.ndarray,
        alphas: np.ndarray,
        floor: float,
        relative: float,
        max_iter: int,
        sigmoid: bool,
        steep: float,
    ) -> FewPairsPath:
        V, errors = np.empty((len(alphas), len(v))), np.empty(len(alphas))
        state = empty_state(self.pairs)
        excess, n_iter = solve_path(self.pairs, v, alphas, floor, relative, max_iter, sigmoid, steep, state, V, errors)
        return FewPairsPath(V @ self.U.T, errors, excess, n_iter)


def pair_scatter(upper: np.ndarray, a: np.ndarray, lower: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the mean of (x - y)(x - y)' over all pairs: the Hessian of the square loss."""
    means = a @ upper, b @ lower
    M = np.outer(means[1] - means[0], means[1] - means[0])
    for Z, weights, mean in zip((upper, lower), (a, b), means, strict=True):
        M += (weights[:, None] * (Z - mean)).T @ (Z - mean)
    return M


def find_few_pairs(rows: Rows, square: SquareProblem) -> FewPairs | None:
    """Return the pairs if they are so few that this is the fastest way, else None; few rows of a file are read."""
    few = float(rows.counts[0]) * float(rows.counts[1]) <= MAX_PAIRS and rows.n_rows * rows.n_features <= MAX_ENTRIES
    if not few or square.iterative:
        return None
    sample = rows if rows.in_memory else rows.sample(rows.n_rows)
    return FewPairs(sample, square) if is_in_memory(sample) else None


class Scores(NamedTuple):
    """Scores, or anything else with an entry for each row."""

    # (n_positives,), (n_negatives,): the entries of the positives and of the negatives.
    upper: np.ndarray
    lower: np.ndarray


class State(NamedTuple):
    """The loss and its derivatives at some scores; kernels fill the arrays."""

    # The scores, and the first and second derivatives of the loss with respect to each of them.
    scores: Scores
    slopes: Scores
    curvatures: Scores
    C: np.ndarray  # (n_positives, n_negatives): the second derivative of each pair times its weight


def empty_state(pairs: Pairs) -> State:
    """Return arrays for the state."""
    m, n = len(pairs.a), len(pairs.b)
    scores, slopes, curvatures = (Scores(np.zeros(m), np.zeros(n)) for _ in range(3))
    return State(scores, slopes, curvatures, np.zeros((m, n)))


# Kernels: no array expressions and no products by NumPy, which take seconds to compile.


@jit(error_model="numpy", **FAST)  # a check for divisions by 0 would keep the loops from being vectorised
def evaluate_pairs(pairs, sigmoid, at):
    """Fill the derivatives at the scores; return the mean of p over all pairs, which is the sigmoid loss."""
    m, n = at.C.shape
    s1, s0 = at.scores
    g1, g0 = at.slopes
    h1, h0 = at.curvatures
    low, high = s1[0], s1[0]
    for i in range(m):
        low, high = min(low, s1[i]), max(high, s1[i])
    for j in range(n):
        low, high = min(low, s0[j]), max(high, s0[j])
        g0[j] = h0[j] = 0.0
    middle = 0.5 * (low + high)
    factored = high - middle <= LARGEST_EXPONENT
    e0, p, total = np.empty(n), np.empty(n), 0.0
    for j in range(n):
        e0[j] = np.exp(middle - s0[j]) if factored else 0.0
    for i in range(m):
        if factored:
            e1 = np.exp(s1[i] - middle)
            for j in range(n):
                p[j] = 1.0 / (1.0 + e1 * e0[j])
        else:
            for j in range(n):
                p[j] = 1.0 / (1.0 + np.exp(min(s1[i] - s0[j], 2.0 * LARGEST_EXPONENT)))
        a, slope, curvature, part = pairs.a[i], 0.0, 0.0, 0.0
        for j in range(n):
            b, q = pairs.b[j], p[j] * (1.0 - p[j])
            g = q if sigmoid else p[j]
            h = q * (1.0 - 2.0 * p[j]) if sigmoid else q
            part += b * p[j]
            slope += b * g
            curvature += b * h
            g0[j] += a * g
            h0[j] += a * h
            at.C[i, j] = a * b * h
        g1[i], h1[i] = -a * slope, a * curvature
        total += a * part
    for j in range(n):
        g0[j] *= pairs.b[j]
        h0[j] *= pairs.b[j]
    return total


@jit(**FAST)
def find_error(pairs, at):
    """Return 1 - AUC at the scores: the weight of the misranked pairs plus half the weight of the ties."""
    total, (s1, s0) = 0.0, at.scores
    for i in range(s1.shape[0]):
        part = 0.0
        for j in range(s0.shape[0]):
            part += pairs.b[j] * ((s0[j] > s1[i]) + 0.5 * (s0[j] == s1[i]))
        total += pairs.a[i] * part
    return total


@jit(**FAST)
def inner(x, y):
    """Return x'y."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@jit(**FAST)
def axpby(a, x, b, y, out):
    """Fill `out`, which may be x or y, with a x + b y."""
    for i in range(x.shape[0]):
        out[i] = a * x[i] + b * y[i]


@jit
def axpby_scores(a, x, b, y, out):
    """Do the same for the scores of both classes."""
    axpby(a, x.upper, b, y.upper, out.upper)
    axpby(a, x.lower, b, y.lower, out.lower)


@jit
def inner_scores(x, y):
    """Return x'y of both classes."""
    return inner(x.upper, y.upper) + inner(x.lower, y.lower)


@jit(**FAST)
def multiply(Z, v, out):
    """Fill `out` with Z v."""
    for i in range(Z.shape[0]):
        total = 0.0
        for k in range(Z.shape[1]):
            total += Z[i, k] * v[k]
        out[i] = total


@jit
def find_scores(pairs, v, out):
    """Fill the scores of v."""
    multiply(pairs.upper, v, out.upper)
    multiply(pairs.lower, v, out.lower)


@jit(**FAST)
def hessian_product(at, s, out):
    """Fill `out` with the second derivative times scores, in one pass over C."""
    (s1, s0), (h1, h0), (out1, out0) = s, at.curvatures, out
    m, n = at.C.shape
    for j in range(n):
        out0[j] = h0[j] * s0[j]
    for i in range(m):
        total = 0.0
        for j in range(n):
            total += at.C[i, j] * s0[j]
            out0[j] -= at.C[i, j] * s1[i]
        out1[i] = h1[i] * s1[i] - total


@jit(**FAST)
def fill_gradient(pairs, r, alpha, v, out):
    """Fill `out` with Z'r + alpha v."""
    for k in range(v.shape[0]):
        out[k] = alpha * v[k]
    for i in range(r.upper.shape[0]):
        for k in range(v.shape[0]):
            out[k] += r.upper[i] * pairs.upper[i, k]
    for j in range(r.lower.shape[0]):
        for k in range(v.shape[0]):
            out[k] += r.lower[j] * pairs.lower[j, k]


@jit
def empty_scores(pairs):
    """Return arrays for scores."""
    return Scores(np.zeros(pairs.a.shape[0]), np.zeros(pairs.b.shape[0]))


# The following are inlined into `solve_path`: compiled one by one, they would take twice as long.


@jit(inline="always")
def newton_direction(pairs, at, gradient, alpha, diagonal, tolerance, d, ds):
    """Fill the Newton step and its scores; see `NewtonProblem.newton_direction`."""
    size = gradient.shape[0]
    r, z, p, q = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    ps, qs = empty_scores(pairs), empty_scores(pairs)
    rz = 0.0
    for k in range(size):
        d[k], r[k] = 0.0, -gradient[k]
        p[k] = r[k] / diagonal[k]
        rz += r[k] * p[k]
    axpby_scores(0.0, ps, 0.0, ps, ds)
    goal = tolerance**2 * rz
    for n_steps in range(MAX_CG):
        find_scores(pairs, p, ps)
        hessian_product(at, ps, qs)
        fill_gradient(pairs, qs, alpha, p, q)
        curvature = inner(p, q)
        if not curvature > 0.0:
            if n_steps == 0:
                axpby(1.0, p, 0.0, p, d)
                axpby_scores(1.0, ps, 0.0, ps, ds)
            break
        step, before, rz = rz / curvature, rz, 0.0
        axpby(1.0, d, step, p, d)
        axpby_scores(1.0, ds, step, ps, ds)
        axpby(1.0, r, -step, q, r)
        for k in range(size):
            z[k] = r[k] / diagonal[k]
            rz += r[k] * z[k]
        if rz <= goal:
            break
        axpby(1.0, z, rz / before, p, p)


@jit(inline="always")
def search(pairs, sigmoid, at, value, v, d, ds, alpha, slope):
    """Return the length of a step that lowers F enough and halves its slope, and the mean of p there; 0 if none does.

    `at` is moved along. The logistic loss is convex, so its slopes decide alone; see `NewtonProblem.line_search`.
    """
    start = empty_scores(pairs)
    axpby_scores(1.0, at.scores, 0.0, at.scores, start)
    square, along, length = inner(v, v), inner(v, d), inner(d, d)
    first = value + 0.5 * alpha * square
    best_step, last_step, last_value = 0.0, 0.0, value
    low, low_slope, high, high_slope, step = 0.0, slope, np.inf, np.inf, 1.0
    for _ in range(MAX_TRIALS):
        axpby_scores(1.0, start, step, ds, at.scores)
        last_step, last_value = step, evaluate_pairs(pairs, sigmoid, at)
        change = last_value + 0.5 * alpha * (square + step * (2.0 * along + step * length)) - first
        here = inner_scores(at.slopes, ds) + alpha * (along + step * length)
        lower = change <= SUFFICIENT * step * slope if sigmoid else here <= 0.0
        unseen = change <= ROUNDING * abs(first) if sigmoid else True
        flatter = abs(here) <= -0.5 * slope
        if lower or (unseen and flatter):
            best_step = step
            if flatter:
                return step, last_value
        if here < 0.0 and (lower or unseen):
            low, low_slope = step, here
        else:
            high, high_slope = step, here if here > 0.0 else np.inf
        if np.isinf(high):
            step *= 4.0
        elif np.isinf(high_slope):
            step = 0.5 * (low + high)
        else:
            share = -low_slope / (high_slope - low_slope)
            step = low + min(max(share, 0.1), 0.9) * (high - low)
    if best_step != last_step:
        axpby_scores(1.0, start, best_step, ds, at.scores)
        last_value = evaluate_pairs(pairs, sigmoid, at)
    return best_step, last_value


@jit(inline="always")
def minimise(pairs, sigmoid, at, value, v, alpha, target, max_iter):
    """Minimise F from v, in place; return the mean of p, the norm of the gradient and the number of Newton steps."""
    size = v.shape[0]
    diagonal, gradient, d, ds = np.empty(size), np.empty(size), np.empty(size), empty_scores(pairs)
    for n_iter in range(max_iter + 1):
        fill_gradient(pairs, at.slopes, alpha, v, gradient)
        norm = np.sqrt(inner(gradient, gradient))
        if norm <= target or n_iter == max_iter:
            break
        if n_iter == 0:
            hessian_product(at, at.scores, ds)
            ours, square = inner_scores(at.scores, ds), 0.0
            for k in range(size):
                square += pairs.eigenvalues[k] * v[k] ** 2
            kappa, trace = max(ours / square, SMALLEST_KAPPA) if square > 0.0 else 1.0, 0.0
            for k in range(size):
                trace += kappa * pairs.eigenvalues[k]
            for k in range(size):
                diagonal[k] = kappa * pairs.eigenvalues[k] + alpha + RIDGE * trace
        newton_direction(pairs, at, gradient, alpha, diagonal, max(FORCING, 0.5 * target / norm), d, ds)
        step, value = search(pairs, sigmoid, at, value, v, d, ds, alpha, inner(gradient, d))
        if step == 0.0:
            break
        axpby(1.0, v, step, d, v)
    return value, norm, n_iter


@jit(inline="always")
def combine(pairs, sigmoid, at, value, v, w, alpha):
    """Replace v by the combination of v and w that about minimises F, from the state at v; return the mean of p there.

    See `solvers/newton.py`. The value of the logistic loss is not known: a step is taken if it lowers the slope.
    """
    vs, ws, curved = empty_scores(pairs), empty_scores(pairs), empty_scores(pairs)
    axpby_scores(1.0, at.scores, 0.0, at.scores, vs)
    find_scores(pairs, w, ws)
    vv, vw, ww = alpha * inner(v, v), alpha * inner(v, w), alpha * inner(w, w)
    x, y, dx, dy, slope, before = 1.0, 0.0, 0.0, 0.0, -np.inf, np.inf
    for trial in range(START_TRIALS + 1):
        penalty = vv * x * x + 2.0 * vw * x * y + ww * y * y
        gx, gy = inner_scores(at.slopes, vs) + vv * x + vw * y, inner_scores(at.slopes, ws) + vw * x + ww * y
        lower = value + 0.5 * penalty < before if sigmoid else abs(gx * dx + gy * dy) < -slope
        if lower:
            before = value + 0.5 * penalty
            hessian_product(at, vs, curved)
            xx, xy = inner_scores(vs, curved) + vv, inner_scores(ws, curved) + vw
            hessian_product(at, ws, curved)
            yy = inner_scores(ws, curved) + ww
            determinant = xx * yy - xy * xy
            if determinant > SINGULAR * abs(xx * yy):
                dx, dy = (xy * gy - yy * gx) / determinant, (xy * gx - xx * gy) / determinant
            else:
                dx, dy = -gx / xx if xx > 0.0 else 0.0, 0.0
            slope = gx * dx + gy * dy
            if trial == START_TRIALS or not -slope > SMALL * penalty:
                break
        else:  # back to the last one, and a quarter of the step forward, except in the end
            share = 0.25 if trial < START_TRIALS else 0.0
            x, y, dx, dy, slope = x - dx, y - dy, share * dx, share * dy, share * slope
        x, y = x + dx, y + dy
        axpby_scores(x, vs, y, ws, at.scores)
        value = evaluate_pairs(pairs, sigmoid, at)
    axpby(x, v, y, w, v)
    return value


@jit
def solve_path(pairs, start, alphas, floor, relative, max_iter, sigmoid, steep, at, V, errors):
    """Fill the minimisers for decreasing alphas and their errors; return the largest excess and the Newton steps."""
    v, w, excess, n_newton = start.copy(), start.copy(), 0.0, 0
    find_scores(pairs, v, at.scores)
    value = evaluate_pairs(pairs, sigmoid, at)
    for k in range(alphas.shape[0]):
        alpha = alphas[k]
        if k > 1:
            axpby(1.0, V[k - 2], 0.0, V[k - 2], w)
        value = combine(pairs, sigmoid, at, value, v, w, alpha)
        target = max(floor, relative * alpha * np.sqrt(inner(v, v)))
        value, norm, n_iter = minimise(pairs, sigmoid, at, value, v, alpha, target, max_iter)
        excess, n_newton = max(excess, norm / target), n_newton + n_iter
        errors[k] = find_error(pairs, at)
        axpby(1.0, v, 0.0, v, V[k])
        if sigmoid and (errors[k] == 0.0 or value <= (1.0 + steep) * errors[k]):
            for rest in range(k + 1, alphas.shape[0]):
                axpby(1.0, v, 0.0, v, V[rest])
                errors[rest] = errors[k]
            break
    return excess, n_newton
