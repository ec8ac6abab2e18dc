"""FSAUC: SOLAM in stages, over an L1 ball.

Liu, Zhang, Chen, Wang and Yang (2018), Fast stochastic AUC maximization with O(1/n)-convergence rate; a rival of
SHT-AUC in Yang, Zhou, Lei and Ying (2020).

Objective
---------
The pairwise square loss f(w) over the ball |w|_1 <= R, through the saddle function of SOLAM (`solam`), in weights
v = (w, a, b) and c. The rows are taken in the unit k in which their mean squared norm is 1 (the paper's have norm 1),
so distances are between vectors k w.

Algorithm
---------
1. T = horizon * n steps in m = max(1, floor(log2(2 T / log2 T) / 2) - 1) stages of n0 = floor(T / m), the last one
   longer. v = 0, c = 0, r = 2 sqrt(3) k R, D = 2 sqrt(2) r, beta = 9, delta = 0.1, eta = eta0.
2. A step is one of SOLAM with the constant step eta and gradients without the factor 2: descend v, ascend c.
3. Project w on the L1 ball, |a|, |b| <= R k', |c| <= 2 R k' with k' the largest |z|; then v into the ball around the
   start v1 of the stage with radius r, and c into [c1 - D, c1 + D].
4. At the end of a stage: r /= 2; with L = ln(12 / delta) and q = min(p, 1 - p),
   D = 2 sqrt(2) r + 12 sqrt(2) (2 + sqrt(2 L)) k R / sqrt(q n0 - sqrt(2 n0 L)),
   beta' = 9 + 288 (2 + sqrt(2 L))^2 / (q - sqrt(2 L / n0)) (10^7 where a root or the denominator is not positive),
   eta <- min(eta sqrt(beta' / beta) / 2, eta), beta <- beta'; the next stage starts at the average v of this one, with
   c = (m- - m+).w.
5. The result is the average w of the last stage, or of the one under way.

The projections of step 3 cost O(d), so on sparse rows they are made once for d / (nonzeros of a
row) steps: O(nonzeros) a step.

variant="paper"
---------------
The paper's rows have norm 1, so k = k' = 1. The share p of the positives and the class means m+, m- are over the
steps so far. Step 3 follows every step 2, at O(d) where it changes anything. The last stage is not longer than the
others: T - m n0 steps are not taken.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from .._compat import Interval, jit
from .engine.averages import AveragedWeights, add_to_average, data_step, fold, mean_scores, score, step, unfold
from .engine.epochs import StochasticClassifier
from .engine.proximal import project_l1
from .engine.row_access import coordinates, longest_row, row_axpy, settle, shape_of, steps_per_sweep, zero_weights
from .engine.sample import Sample
from .solam import clip

DELTA = 0.1


class Stage(NamedTuple):
    """Where a stage stands."""

    w: AveragedWeights  # the weights, averaged over the stage
    start: np.ndarray  # shape (width,): the weights when it began
    saddle: np.ndarray  # shape (3, 3): a, b and c now, when the stage began, and their sums over its steps
    scalars: np.ndarray  # shape (6,): steps of the stage, stages ended, r, D, beta and eta
    counts: np.ndarray  # shape (2,): steps on rows of each class, of all stages
    sums: np.ndarray  # shape (2, width): sums of these rows, as weight vectors; empty unless variant="paper"


class FSAUC(StochasticClassifier):
    """Fast stochastic AUC maximisation: the pairwise square loss over an L1 ball, in stages.

    Parameters
    ----------
    radius : float, default=10.0
        Bound on the L1 norm of the weights of the standardised columns, the paper's R.

    eta0 : float, default=None
        The step of the first stage, the paper's eta_1. None takes 1/10 over the mean squared norm of the rows, and 1/8
        with variant="paper", whose values are 2^-10 to 2^10.

    horizon : int, default=None
        Number of passes that the stages are laid out for; None is `max_iter`. With `warm_start`, several fits of fewer
        passes make up one of `horizon` passes.

    See Also
    --------
    SOLAM : Over an L2 ball, without stages.
    AUCClassifier : The exact minimisers, with an L1 penalty too.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are centred and standardised: rows that are far from zero tell mostly where they are.
    - bounds and distances are in the unit of the rows: the constants of the paper are for rows of norm 1.
    - without eta0, steps follow the scale of the rows, and no row moves its own score past its target.
    - p and the class means are over all rows, which `fit` knows, instead of running estimates.
    - on sparse rows the projections are made once for several steps, so that a step costs O(nonzeros).
    - the last stage takes the steps that are left over.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import FSAUC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = FSAUC(radius=1.0, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.99)
    True
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012
        **StochasticClassifier._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither")],
        "eta0": [Interval(Real, 0, None, closed="neither"), None],
        "horizon": [Interval(Integral, 1, None, closed="left"), None],
    }
    _by_variant = {  # noqa: RUF012
        "eta0": (None, 0.125),
        "_bounds_in_units": (True, False),
        "_known_classes": (True, False),
        "_projects_together": (True, False),
        "_takes_all_steps": (True, False),
    }

    def __init__(
        self,
        *,
        radius: float = 10.0,
        eta0: float | None = None,
        horizon: int | None = None,
        variant: str = "adaptive",
        standardize: bool | None = None,
        max_iter: int = 15,
        tol: float | None = None,
        shuffle: bool = True,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        super().__init__(variant, standardize, max_iter, tol, warm_start, random_state)
        self.radius = radius
        self.eta0 = eta0
        self.horizon = horizon
        self.shuffle = shuffle

    def _start(self, n_features: int, n_rows: int) -> Stage:
        # eta, and r and D through it, are set with the first rows, whose scale they follow
        w, zeros = AveragedWeights.zeros(n_features), zero_weights(n_features)
        sums = np.zeros((2, 0 if self._chosen("_known_classes") else len(zeros)))
        return Stage(w, zeros, np.zeros((3, 3)), np.zeros(6), np.zeros(2), sums)

    def _epoch(self, state: Stage, sample: Sample, drawn: np.ndarray) -> None:
        eta0, all_steps = self._chosen("eta0"), self._chosen("_takes_all_steps")
        in_units = self._chosen("_bounds_in_units")
        unit, longest = (np.sqrt(sample.mean_norm), np.sqrt(sample.norms.max())) if in_units else (1.0, 1.0)
        steps = int((self.horizon or self.max_iter) * sample.totals.sum())
        n_stages = max(1, int(0.5 * np.log2(2 * steps / np.log2(steps))) - 1)
        if state.scalars[5] == 0:
            r = 2 * np.sqrt(3) * unit * self.radius
            state.scalars[2:] = r, 2 * np.sqrt(2) * r, 9.0, eta0 or 0.1
        length = steps // n_stages
        every = steps_per_sweep(sample.rows) if self._chosen("_projects_together") else 0
        mean_norm = 0.0 if eta0 else sample.mean_norm
        width = shape_of(sample.rows)[1] if self._chosen("standardize") else longest_row(sample.rows)
        while len(drawn):
            last = state.scalars[1] + 1 >= n_stages
            now = drawn if last and all_steps else drawn[: length - int(state.scalars[0])]
            drawn = drawn[len(now) :]
            if len(now) == 0:  # the last stage of the paper has ended
                return
            rows = sample.rows, sample.norms, sample.positive, now, self._shares(state, sample, now)
            stage_steps(state, *rows, mean_norm, self.radius, self.radius * longest, unit, every, width)
            if not last and state.scalars[0] >= length:
                self._next_stage(state, sample, length, unit)

    def _shares(self, state: Stage, sample: Sample, now: np.ndarray) -> np.ndarray:
        """Return the p of each step, and count the rows in the running estimates of the paper."""
        if self._chosen("_known_classes"):
            return np.full(len(now), sample.share)
        positive = sample.positive[now]
        shares = (state.counts[1] + np.cumsum(positive)) / (state.counts.sum() + np.arange(1, len(now) + 1))
        state.counts[:] += np.bincount(positive, minlength=2)
        add_rows(sample.rows, sample.positive, now, state.sums)
        return shares

    def _next_stage(self, state: Stage, sample: Sample, length: int, unit: float) -> None:
        """End a stage (step 4)."""
        steps, stages, r, _, beta, eta = state.scalars
        if self._chosen("_known_classes"):
            share, means = sample.share, np.asarray(sample.means)
        else:
            share, means = state.counts[1] / state.counts.sum(), state.sums / np.maximum(state.counts, 1)[:, None]
        r /= 2
        q, level = min(share, 1 - share), np.log(12 / DELTA)
        factor = 2 + np.sqrt(2 * level)
        root, below = q * length - np.sqrt(2 * length * level), q - np.sqrt(2 * level / length)
        D = 2 * np.sqrt(2) * r + 12 * np.sqrt(2) * factor * unit * self.radius / np.sqrt(root) if root > 0 else 1e7
        new_beta = 9 + 288 * factor**2 / below if below > 0 else 1e7
        state.start[:] = state.w.average()
        state.w.restart(state.start)
        state.saddle[0] = state.saddle[2] / steps
        low, high = mean_scores(state.w, means)
        state.saddle[0, 2] = low - high
        state.saddle[1], state.saddle[2] = state.saddle[0], 0
        state.scalars[:] = 0, stages + 1, r, D, new_beta, min(eta * np.sqrt(new_beta / beta) / 2, eta)

    def _weights(self, state: Stage) -> np.ndarray:
        return state.w.average()


@jit
def add_rows(rows, positive, order, sums):
    """Add each row to the sum of its class."""
    for i in order:
        row_axpy(1.0, rows, i, sums[int(positive[i])])
    settle(rows, sums[0])
    settle(rows, sums[1])


@jit
def stage_steps(state, rows, norms, positive, order, shares, mean_norm, radius, bound, unit, stride, width):
    """Take the steps 2 and 3 on the rows in this order, with p from `shares`; a and b are at most `bound`.

    Steps of w follow `mean_norm`, the mean of |z|^2, unless it is 0.

    The projections of step 3 are made after `stride` steps; with stride = 0 they are made whenever they may change
    anything: |w|_1 and |v - v1| are then bounded from above, by what they were and the lengths of the steps since, for
    rows of at most `width` entries.
    """
    w, start = state.w, coordinates(state.start)
    u = coordinates(w.u)
    (a, b, c), (a1, b1, c1) = state.saddle[0], state.saddle[1]
    steps, _, r, D, _, eta = state.scalars
    length, distance = np.inf, np.inf
    for n in range(order.shape[0]):
        i, p, a0, b0 = order[n], shares[n], a, b
        eta_w = data_step(eta, mean_norm, norms[i]) if mean_norm > 0.0 else eta
        s = score(w, rows, i)
        if positive[i]:
            change = -eta_w * (1.0 - p) * (s - a - 1.0 - c)
            a, c = a + eta * (1.0 - p) * (s - a), c - eta * (1.0 - p) * (s + p * c)
        else:
            change = -eta_w * p * (s - b + 1.0 + c)
            b, c = b + eta * p * (s - b), c + eta * p * (s - (1.0 - p) * c)
        step(w, change, rows, i, s, norms[i])
        a, b, c = clip(a, bound), clip(b, bound), clip(c, 2.0 * bound)
        if stride == 0:
            moved = abs(change) * np.sqrt(norms[i])
            length += moved * np.sqrt(width)
            distance += moved + abs(a - a0) + abs(b - b0)
            due = length > radius or distance > r
        else:
            due = (n + 1) % stride == 0 or n + 1 == order.shape[0]
        if due:
            unfold(w, rows)
            project_l1(u, radius)
            length = distance = 0.0
            for j in range(u.shape[0]):
                length += abs(u[j])
                distance += (u[j] - start[j]) ** 2
            distance = np.sqrt(unit * unit * distance + (a - a1) ** 2 + (b - b1) ** 2)
            if distance > r:
                near = r / distance
                for j in range(u.shape[0]):
                    u[j] = start[j] + near * (u[j] - start[j])
                a, b = a1 + near * (a - a1), b1 + near * (b - b1)
                length, distance = np.inf, r
            fold(w, rows)
        c = c1 + clip(c - c1, D)
        add_to_average(w, 1.0)
        steps += 1.0
        state.saddle[2, 0] += a
        state.saddle[2, 1] += b
        state.saddle[2, 2] += c
    state.scalars[0] = steps
    state.saddle[0, 0], state.saddle[0, 1], state.saddle[0, 2] = a, b, c
