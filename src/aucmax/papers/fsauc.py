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

The projections of step 3 cost O(d), so they are made once for rows of d nonzeros: O(nonzeros) a step.

k and k' are over the rows so far. In a stream (`partial_fit`), p, m+ and m- are too, and without `horizon` not even T
is known: then row t is in the stage of the number m that 1. gives for T = t, so the next stage begins where m grows by
one, after about four times as many rows. Radii and steps are halved about as often as if T had been known.

variant="paper"
---------------
The paper's rows have norm 1, so k = k' = 1. The share p of the positives and the class means m+, m- are over the
steps so far. Step 3 follows every step 2, at O(d) where it changes anything. The last stage is not longer than the
others: T - m n0 steps are not taken.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from .._compat import jit
from .._docs import add_sections
from .engine.averages import AveragedWeights, add_to_average, data_step, fold, mean_scores, score, step, unfold
from .engine.epochs import OnlineClassifier
from .engine.proximal import project_l1
from .engine.row_access import coordinates, longest_row, row_axpy, row_lengths, settle, shape_of, zero_weights
from .engine.sample import Sample
from .engine.variant import COUNT, EXAMPLE, POSITIVE
from .solam import clip

DELTA = 0.1
ENDLESS = 1 << 60  # steps


class Stage(NamedTuple):
    """Where a stage stands."""

    w: AveragedWeights  # the weights, averaged over the stage
    start: np.ndarray  # shape (width,): the weights when it began
    saddle: np.ndarray  # shape (3, 3): a, b and c now, when the stage began, and their sums over its steps
    scalars: np.ndarray  # shape (6,): steps of the stage, stages ended, r and D for rows of norm 1, beta and eta
    counts: np.ndarray  # shape (2,): rows of each class, of all stages
    sums: np.ndarray  # shape (2, width): sums of these rows, as weight vectors
    norms: np.ndarray  # shape (4,): steps so far, the sum of their |z|^2, the largest, and nonzeros since a projection


@add_sections(EXAMPLE, name="FSAUC", parameters="radius=1.0, ")
class FSAUC(OnlineClassifier):
    """Fast stochastic AUC maximisation: the pairwise square loss over an L1 ball, in stages.

    Parameters
    ----------
    radius : float, default=10.0
        Bound on the L1 norm of the weights of the standardised columns, the paper's R.

    eta0 : float, default=None
        The step of the first stage, the paper's eta_1. None takes 1/10 over the mean squared norm of the rows, and 1/8
        with variant="paper", whose values are 2^-10 to 2^10.

    horizon : int, default=None
        Number of steps, one for each row of each pass, that the stages are laid out for. None takes the
        steps of `fit`; in a stream, stages then follow one another as its length grows.

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
    """

    radius: float = 10.0
    eta0: float | None = None
    horizon: int | None = None

    _parameter_constraints = {"radius": [POSITIVE], "horizon": [COUNT, None]}  # noqa: RUF012
    _by_variant = {  # noqa: RUF012
        "eta0": (None, 0.125),
        "_bounds_in_units": (True, False),
        "_known_classes": (True, False),
        "_projects_together": (True, False),
        "_takes_all_steps": (True, False),
    }

    def _start(self, n_features: int, n_rows: int) -> Stage:
        w, zeros, r = AveragedWeights.zeros(n_features), zero_weights(n_features), 2 * np.sqrt(3) * self.radius
        scalars = np.array([0.0, 0.0, r, 2 * np.sqrt(2) * r, 9.0, self._chosen("eta0") or 0.1])
        return Stage(w, zeros, np.zeros((3, 3)), scalars, np.zeros(2), np.zeros((2, len(zeros))), np.zeros(4))

    def _epoch(self, state: Stage, sample: Sample, drawn: np.ndarray) -> None:
        steps = self.horizon or int(self.max_iter * sample.all_totals.sum())
        width = shape_of(sample.rows)[1] if self._chosen("standardize") else longest_row(sample.rows)
        choices = self._chosen("eta0") is None, self._chosen("_bounds_in_units"), self.radius, width
        self._check_finite(state.scalars)
        while len(drawn):
            length, last = stage_length(steps, int(state.scalars[1]))
            is_long = last and self._chosen("_takes_all_steps")
            left = len(drawn) if is_long else max(length - int(state.scalars[0]), 0)
            now, drawn = drawn[:left], drawn[left:]
            if len(now):
                seen = self._observe_classes(state, sample, now), *self._observe_rows(state, sample, now)
                stage_steps(state, sample.rows, sample.norms, sample.positive, now, *seen, *choices)
            elif last:  # the last stage of the paper has ended
                return
            if not last and state.scalars[0] >= length:
                self._next_stage(state, length)

    def _observe_classes(self, state: Stage, sample: Sample, now: np.ndarray) -> np.ndarray:
        """Count the rows of some steps; return p at each, of all rows if they are known, or of those so far."""
        if sample.all_totals.any() and self._chosen("_known_classes"):
            state.counts[:], state.sums[:] = sample.all_totals, np.asarray(sample.means) * sample.all_totals[:, None]
            return np.full(len(now), state.counts[1] / state.counts.sum())
        positive = sample.positive[now]
        shares = (state.counts[1] + np.cumsum(positive)) / (state.counts.sum() + np.arange(1, len(now) + 1))
        state.counts[:] += np.bincount(positive, minlength=2)
        add_rows(sample.rows, sample.positive, now, state.sums)
        return shares

    def _observe_rows(self, state: Stage, sample: Sample, now: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean |z|^2 so far at each step, the largest one, and whether projections are due; [] if always."""
        norms, (count, total, largest, nonzeros) = sample.norms[now], state.norms
        sums = np.cumsum([total, *norms])[1:]
        most = np.maximum(np.maximum.accumulate(norms), largest)
        due = np.zeros(0, bool)
        if self._chosen("_projects_together"):
            filled = nonzeros + np.cumsum(row_lengths(sample.rows)[now])
            sweeps = filled // shape_of(sample.rows)[1]
            due, nonzeros = np.diff(sweeps, prepend=0) > 0, filled[-1] % shape_of(sample.rows)[1]
        state.norms[:] = count + len(now), sums[-1], most[-1], nonzeros
        return sums / (count + np.arange(1, len(now) + 1)), most, due

    def _next_stage(self, state: Stage, length: int) -> None:
        """End a stage (step 4)."""
        steps, stages, r, _, beta, eta = state.scalars
        share, means = state.counts[1] / state.counts.sum(), state.sums / np.maximum(state.counts, 1)[:, None]
        r /= 2
        q, level = min(share, 1 - share), np.log(12 / DELTA)
        factor = 2 + np.sqrt(2 * level)
        root, below = q * length - np.sqrt(2 * length * level), q - np.sqrt(2 * level / length)
        D = 2 * np.sqrt(2) * r + 12 * np.sqrt(2) * factor * self.radius / np.sqrt(root) if root > 0 else 1e7
        new_beta = 9 + 288 * factor**2 / below if below > 0 else 1e7
        state.start[:] = state.w.average()
        state.w.restart(state.start)
        state.saddle[0] = state.saddle[2] / steps
        low, high = mean_scores(state.w, means)
        state.saddle[0, 2] = low - high
        state.saddle[1], state.saddle[2] = state.saddle[0], 0
        state.scalars[:] = 0, stages + 1, r, D, new_beta, min(eta * np.sqrt(new_beta / beta) / 2, eta)


def count_stages(steps: int) -> int:
    """Return the m of step 1."""
    return max(1, int(0.5 * np.log2(2 * steps / np.log2(steps))) - 1) if steps > 1 else 1


def stage_length(steps: int, ended: int) -> tuple[int, bool]:
    """Return the length of a stage after those that ended, and whether it is the last; steps = 0 is an unknown T."""
    if steps:
        m = count_stages(steps)
        return steps // m, ended + 1 >= m
    first, end = (0 if m == 1 else bisect_left(range(ENDLESS), m, 2, key=count_stages) for m in (ended + 1, ended + 2))
    return (end - first) or ENDLESS, False  # there are no more stages than 2^60 steps have


@jit
def add_rows(rows, positive, order, sums):
    """Add each row to the sum of its class."""
    for i in order:
        row_axpy(1.0, rows, i, sums[int(positive[i])])
    settle(rows, sums[0])
    settle(rows, sums[1])


@jit
def stage_steps(
    state, rows, norms, positive, order, shares, mean_norms, largest, projects, from_data, in_units, radius, width
):
    """Take the steps 2 and 3 on the rows in this order, with p, the mean |z|^2 and the largest one at each.

    Steps of w follow the mean |z|^2 if `from_data`, and bounds and distances if `in_units`.

    The projections of step 3 are made after the steps of `projects`; if it is empty, whenever they may change anything:
    |w|_1 and |v - v1| are then bounded from above, by what they were and the lengths of the steps since, for rows of at
    most `width` entries.
    """
    w, start = state.w, coordinates(state.start)
    u = coordinates(w.u)
    (a, b, c), (a1, b1, c1) = state.saddle[0], state.saddle[1]
    steps, _, unit_r, unit_D, _, eta = state.scalars
    length, distance = np.inf, np.inf
    for n in range(order.shape[0]):
        i, p, a0, b0 = order[n], shares[n], a, b
        unit, bound = (np.sqrt(mean_norms[n]), radius * np.sqrt(largest[n])) if in_units else (1.0, radius)
        r, D = unit * unit_r, unit * unit_D
        eta_w = data_step(eta, mean_norms[n], norms[i]) if from_data else eta
        s = score(w, rows, i)
        if positive[i]:
            change = -eta_w * (1.0 - p) * (s - a - 1.0 - c)
            a, c = a + eta * (1.0 - p) * (s - a), c - eta * (1.0 - p) * (s + p * c)
        else:
            change = -eta_w * p * (s - b + 1.0 + c)
            b, c = b + eta * p * (s - b), c + eta * p * (s - (1.0 - p) * c)
        step(w, change, rows, i, s, norms[i])
        a, b, c = clip(a, bound), clip(b, bound), clip(c, 2.0 * bound)
        if projects.shape[0] == 0:
            moved = abs(change) * np.sqrt(norms[i])
            length += moved * np.sqrt(width)
            distance += moved + abs(a - a0) + abs(b - b0)
            due = length > radius or distance > r
        else:
            due = projects[n]
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
