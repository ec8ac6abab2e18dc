"""The default of AUCClassifier: a blend of candidates, chosen on held-out scores.

Candidates differ in loss, scaling and alpha. Cross-validation leaves the held-out scores of each. Taking the best one
throws the others away, and follows the noise of the choice. Here candidates are added greedily, with replacement, while
the held-out AUC rises (Caruana et al., 2004, Ensemble selection from libraries of models). A blend of linear models is
a linear model. ``docs/measured/defaults.md`` has the figures behind every choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._text import ArgumentError
from ..rows.machine import one_blas_thread
from ..rows.protocol import InMemoryRows, Rows, is_in_memory
from ..rows.summaries.scores import ScoreHistogram
from ..rows.validate import one_of
from ..solvers.candidate import Candidate
from .candidates import (
    MANY_COLUMNS,
    MAX_COLUMNS,
    LossPath,
    ScaledSample,
    is_rising,
    is_wide,
    other_paths,
    scale_sample,
    square_paths,
)
from .cross_validation import PathCV, Task, warn_of_a_rising_path
from .held_out import TestSets
from .rounds import make_rounds

# Candidates are compared on at most so many rows of each class, or so many for each column; on fewer if the memory of a
# file leaves no room for them.
ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN = 2500, 10
FEWEST_OF_A_CLASS = 50  # with fewer, the choice is one by chance
# There are as many rounds of folds; one with more columns than MANY_COLUMNS, or more rows if there are fewer of these.
# Dense rows so wide are standardised in all candidates.
MAX_ROUNDS = 2
N_BEST, N_STEPS = 12, 6  # of the greedy search: the best candidates that it chooses from, and its steps
# Unscaled columns count only if they are better than standardised ones by this many standard errors.
SCALING_MARGIN = 1.0


class Blend(NamedTuple):
    """The candidates, and how they are blended."""

    path: PathCV  # all candidates with their AUC on each test set
    shares: np.ndarray  # (n_candidates,): the share of each candidate; most are 0, and they sum to 1
    # (n_candidates,): the spread of the held-out scores of each candidate, by which its weights are divided before they
    # are added.
    spreads: np.ndarray
    auc: float  # the held-out AUC of the blend
    models: list[np.ndarray]  # the mean of the fold models of each candidate
    sampled: bool  # whether the candidates were compared on a sample of the rows
    # The alphas of the members are the candidates' times this. It is below 1 if the alphas are the default ones
    # and the candidates were compared on a sample: the best alpha falls as one over the number of rows.
    alpha_factor: float
    views: dict[bool, ScaledSample]  # the rows, with standardised columns (True) and unscaled ones (False)
    sample: InMemoryRows  # the rows that the candidates were compared on
    # Returns the histogram of the held-out scores of the blend, of unit spread for each member.
    held_out: Callable[[], ScoreHistogram]

    def view(self, k: int) -> ScaledSample:
        """Return the rows of a candidate."""
        return self.views[bool(self.path.candidates[k].standardize)]

    def member(self, k: int) -> Candidate:
        """Return a candidate with its alpha for all rows."""
        candidate = self.path.candidates[k]
        return candidate._replace(alpha=self.alpha_factor * candidate.alpha)


def sample_in_memory(rows: Rows, n_each: int) -> InMemoryRows:
    """Return at most `n_each` rows of each class in memory, fewer if these do not fit."""
    sample = rows.sample(n_each)
    while not is_in_memory(sample):
        n_each //= 2
        if n_each < FEWEST_OF_A_CLASS:
            raise ArgumentError(
                f"Not enough memory to compare candidates: at least {FEWEST_OF_A_CLASS} rows of each class must fit: "
                f"{one_of('give {loss=} and {alpha=}', rows.more_memory)}."
            )
        sample = rows.sample(n_each)
    return sample


def draw_sample(rows: Rows, cv: Any) -> InMemoryRows:
    """Return the rows that candidates are compared on, in memory: all of them if `cv` has splits of the user's own."""
    if not isinstance(cv, Integral | None):
        sample = rows if rows.in_memory else rows.sample(rows.n_rows)
        if not is_in_memory(sample):
            ways = one_of("use a number of folds as cv", "a single loss such as {loss='squared'}", rows.more_memory)
            raise ArgumentError(f"A blend with splits of your own needs all rows in memory: {ways}.")
        return sample
    sample = sample_in_memory(rows, max(ENOUGH_OF_A_CLASS, ENOUGH_FOR_A_COLUMN * min(rows.n_features, MAX_COLUMNS)))
    usable = sample.targets.usable
    return sample if usable.all() else sample.take(np.flatnonzero(usable))


def choose_blend(
    rows: Rows,
    standardize: bool | None,
    cv: Any,
    alphas: np.ndarray | None,
    blended: bool = True,
    begin: Callable[[int], Task] | None = None,
) -> Blend:
    """Cross-validate the pool of candidates and blend the best of them, or take the best one if not `blended`.

    `standardize` is the scaling of all candidates; None tries both. `begin` is called with the number of steps. It
    returns a function that makes the context manager of each step from its name.
    """
    sample = draw_sample(rows, cv)
    order = min(sample.n_rows, sample.n_features)
    rounds = make_rounds(cv, sample, MAX_ROUNDS if order <= MANY_COLUMNS else 1)
    dense_and_wide = order > MANY_COLUMNS and is_wide(sample) and not sample.is_sparse
    scalings: tuple[bool, ...] = (True,) if dense_and_wide else (True, False)
    scalings = scalings if standardize is None else (standardize,)
    task: Task = (lambda name: nullcontext()) if begin is None else begin(len(scalings) + 2)
    tests = TestSets(sample.targets, rounds)
    families = []
    with one_blas_thread():
        views = scale_sample(sample, rounds, scalings)
        for scaling in scalings:
            with task("candidates"):
                # Unscaled columns that want an alpha beyond the grid do not count, unless they were asked for.
                families += square_paths(views[scaling], tests, alphas, scaling or standardize is False)
        chosen_scaling = choose_scaling(families, len(rounds), alphas is None)
        with task("candidates"):
            families += other_paths(views[chosen_scaling], tests, alphas)
        with task("blend"):
            candidates = [candidate for family in families for candidate in family.candidates]
            path = PathCV(candidates, np.concatenate([family.auc for family in families], axis=1))
            held = np.concatenate([family.scores for family in families])
            divisors = np.concatenate([family.spreads for family in families])
            admitted = np.flatnonzero([candidate.standardize or not chosen_scaling for candidate in candidates])
            best = admitted[np.argsort(-path.auc.mean(axis=0)[admitted], kind="stable")][:N_BEST]
            warn_if_rising(families, candidates[best[0]], alphas)
            found_shares, auc = tests.greedy(np.ascontiguousarray(held[best]), N_STEPS if blended else 0)
    shares = np.zeros(len(candidates))
    shares[best] = found_shares
    models = [model for family in families for model in family.models.mean(axis=0)]

    def histogram() -> ScoreHistogram:
        found = ScoreHistogram.of(sample, sample.as_vector(tests.by_row(shares @ held, sample.n_rows)))
        return found if sample is rows else found.with_totals(rows.totals)

    sampled = sample.counts.sum() < rows.counts.sum()
    factor = float(np.sum(1 / rows.totals) / np.sum(1 / sample.totals)) if sampled and alphas is None else 1.0
    return Blend(path, shares, divisors, auc, models, sampled, factor, views, sample, histogram)


def choose_scaling(squares: Sequence[LossPath], n_rounds: int, by_default: bool = True) -> bool:
    """Return whether to standardise columns, by the AUC of the square losses.

    Columns are left unscaled if the best candidate of these is better by SCALING_MARGIN standard errors. With few rows
    the noise of the choice costs more than the other scaling gains, except where it gains much. A path of unscaled
    columns that still rises at the end of the default grid does not count.
    """
    best: dict[bool, np.ndarray] = {}
    for family in squares:
        auc = family.auc[:, np.argmax(family.auc.mean(axis=0))]
        scaling = bool(family.candidates[0].standardize)
        if by_default and not scaling and True in best and is_rising(family.auc.mean(axis=0)):
            continue
        if scaling not in best or auc.mean() > best[scaling].mean():
            best[scaling] = auc
    if len(best) < 2:
        return next(iter(best))
    gains = best[False] - best[True]
    error = gains.std(ddof=1) / np.sqrt(len(gains) / n_rounds) if len(gains) > 1 else np.inf
    return not gains.mean() > SCALING_MARGIN * error


def warn_if_rising(families: Sequence[LossPath], best: Candidate, alphas: np.ndarray | None) -> None:
    """Warn if the best alpha is the last one of a path that still rises, unless the alphas were given."""
    for family in families:
        last = family.candidates[-1]
        at_the_end = (last.alpha, last.standardize) == (best.alpha, best.standardize)
        if alphas is None and at_the_end and is_rising(family.auc.mean(axis=0)):
            warn_of_a_rising_path(best.alpha)
            return
