"""OAM: online AUC maximisation with a buffer of each class, by sequential updates (OAMseq) or gradients (OAMgra).

Zhao, Hoi, Jin and Yang (2011), Online AUC maximization.

Objective
---------
The pairwise hinge: the mean of max(0, 1 - w.z) over the pairs z = x+ - x-. There is no penalty; what regularises is
the length of the steps and that there are few passes. A new row meets not all rows of the other class so far but those
in a buffer, a uniform sample of them.

One step on a row x of the class y = +-1
-----------------------------------------
1. With `seen` rows of the other class so far, N the size of a buffer: c = C max(1, seen / N) / 2, so that a buffer
   counts for all the rows it stands for. Without C, c is 4 over the mean of |z|^2 over the pairs so far and the square
   root of their number, at most 1 / |z|^2.
2. For each x' in the buffer of the other class, z = y (x - x'):
   sequential:  w += min(c, max(0, 1 - w.z) / |z|^2) z    (passive-aggressive: to the margin 1 if c allows it)
   gradient:    w += c z if w.z <= 1, all of these with the w before the row
3. Row x goes into the buffer of its class by reservoir sampling: the first N rows stay, then row number k takes the
   place of any one with probability N / k.
4. The result is the average of the w after each row, in which row t has the mass t, or the last w, as in the paper.

variant="paper"
---------------
C is given (1 unless it is), and the result is the last w.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._compat import StrOptions, jit
from .engine.averages import SHARE, AveragedWeights, add_to_average
from .engine.buffers import ClassBuffers, make_pair, put, reservoir_slots, subtract, take, z_axpy, z_dot, z_norm
from .engine.epochs import OnlineClassifier
from .engine.row_access import n_columns
from .engine.sample import Sample
from .engine.variant import COUNT, POSITIVE

STEP = 4.0  # of steps from the data; from 1, 2 and 4 the best in one pass on the choice half of the study's data sets


class OAMState(NamedTuple):
    """State of OAM."""

    w: AveragedWeights  # the weights
    buffers: ClassBuffers  # the rows kept
    scalars: np.ndarray  # shape (3,): rows that met a pair, the number of their pairs, and the mean |z|^2 of these


class OAM(OnlineClassifier):
    """Online AUC maximisation: the pairwise hinge of every row against a buffer of the other class.

    A row costs O(buffer_size * nonzeros).

    Parameters
    ----------
    update : {"sequential", "gradient"}, default="sequential"
        Whether the pairs of a row are taken one after the other, each with a passive-aggressive step (OAMseq), or all
        at once with a gradient (OAMgra).

    C : float, default=None
        The longest step is C / 2, times the rows of the other class that a row in the buffer stands for. None takes
        steps that follow the scale of the rows and fall as 1 / sqrt(t), and C = 1 with variant="paper", whose values
        are 2^-10 to 2^10.

    buffer_size : int, default=100
        Rows of each class that are kept, a uniform sample of those so far.

    See Also
    --------
    CBR : With the confidence in each weight, too.

    Notes
    -----
    How the default differs from the paper, and why; docs/measured/variants.md has the gain of each in AUC:

    - columns are standardised (a shift changes no pair).
    - steps follow the scale of the rows and fall, where the paper's grow with the number of rows: C need not be tuned.
    - the result is an average, which carries less of the noise of the last rows.

    OAMgra is `update="gradient"`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import OAM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(OAM(random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    >>> bool(OAM(update="gradient", random_state=0).fit(X, y).score(X, y) > 0.99)
    True
    """

    update: str = "sequential"
    C: float | None = None
    buffer_size: int = 100
    average: bool | None = None
    max_iter: int = 1

    _parameter_constraints = {  # noqa: RUF012
        "update": [StrOptions({"sequential", "gradient"})],
        "C": [POSITIVE, None],
        "buffer_size": [COUNT],
    }
    _by_variant = {"C": (None, 1.0), "average": (True, False)}  # noqa: RUF012

    def _start(self, n_features: int, n_rows: int) -> OAMState:
        return OAMState(AveragedWeights.zeros(n_features), ClassBuffers.empty(self.buffer_size), np.zeros(3))

    def _draw(self, state: OAMState, sample: Sample, order: np.ndarray, rng: np.random.RandomState) -> Any:
        """Return the order, and the slot in the buffers of each of its rows."""
        return order, reservoir_slots(state.buffers, sample.positive[order], rng.random_sample(len(order)))

    def _epoch(self, state: OAMState, sample: Sample, drawn: Any) -> None:
        state.buffers.reserve(sample.rows)
        gradient = self.update == "gradient"
        hinge_epoch(state, sample.rows, sample.positive, *drawn, self._chosen("C") or 0.0, gradient)


@jit
def hinge_epoch(state, rows, positive, order, slots, C, gradient):
    """Take the steps 1 to 4 on the rows in this order; C = 0 stands for steps from the data."""
    w, buffers = state.w, state.buffers
    steps, pairs, mean_norm = state.scalars
    size = buffers.lengths.shape[1]
    margins = np.zeros(size)
    pair = make_pair(buffers, n_columns(w.u))
    for t in range(order.shape[0]):
        i = order[t]
        own, sign = (1, 1.0) if positive[i] else (0, -1.0)
        other = 1 - own
        n = take(pair, rows, i)
        seen = buffers.counts[other]
        if gradient:
            for slot in range(min(seen, size)):
                m = subtract(pair, n, buffers, other, slot)
                margins[slot] = sign * z_dot(pair, m, w.u)
        for slot in range(min(seen, size)):
            m = subtract(pair, n, buffers, other, slot)
            norm = z_norm(pair, m)
            pairs += 1.0
            mean_norm += (norm - mean_norm) / pairs
            margin = margins[slot] if gradient else sign * z_dot(pair, m, w.u)
            if norm == 0.0 or margin > 1.0:
                continue
            a = 0.5 * C * max(1.0, seen / size) if C > 0.0 else min(STEP / (mean_norm * np.sqrt(pairs)), 1.0 / norm)
            if not gradient:
                a = min(a, (1.0 - margin) / norm)
            z_axpy(sign * a, pair, m, w.u)
            if w.scalars[SHARE] > 0.0:
                z_axpy(-w.scalars[SHARE] * sign * a, pair, m, w.rest)
        if seen > 0:
            steps += 1.0
            add_to_average(w, steps)
        put(buffers, own, slots[t], pair, n)
    state.scalars[:] = steps, pairs, mean_norm
