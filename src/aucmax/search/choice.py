"""The choice among the candidates of a pool, by their held-out AUC, and the AUC of the choice itself.

Taking the best candidate throws the others away, and follows the noise of the choice. A blend adds candidates greedily,
with replacement, while the held-out AUC rises (Caruana et al., 2004, Ensemble selection from libraries of models). A
blend of linear models is a linear model. ``docs/measured/defaults.md`` has the figures behind every constant.

The AUC that a choice was made by is too high. So the whole choice is repeated without each fold in turn, and judged on
that fold (`Choices.honest`). The held-out scores of all candidates are there, so nothing is trained for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from ..solvers.problem import SQUARES
from .held_out import TestSets
from .pool import LossPath, is_rising
from .rounds import Round

N_BEST, N_ADDED = 10, 4  # of the greedy search: the best candidates that it chooses from, and how often it adds one
# Unscaled columns count only if they are better than standardised ones by this many standard errors.
SCALING_MARGIN = 1.0
# Mean AUCs that differ by less are a tie, which the first candidate wins: the fewest nonzero weights and the largest
# alpha. No data set is large enough to tell them apart. Where a path is flat, rounding would decide: the weights would
# depend on the number of cores or of blocks.
TIE = 1e-6
CONFIDENCE = 0.95
OWN_SHARE = 0.5  # of the AUC of a fold that is shared with other folds; see `Choices.honest`


class HeldOutAUC(NamedTuple):
    """An AUC on held-out rows, with its 95% confidence interval; NaN where one split leaves nothing to judge by."""

    auc: float
    low: float
    high: float


class Choices:
    """All that choices are made of: the paths of a pool, and the held-out scores of their candidates.

    A blend is a multiset of candidates. `table` (S, n_known) has the AUC of each known blend on each test set, and
    `known` its column; a block of test sets is filled when a choice first needs it, and 0 until then.
    """

    def __init__(self, paths: Sequence[LossPath], tests: TestSets, rounds: Sequence[Round], by_default: bool) -> None:
        self.paths, self.tests, self.by_default = paths, tests, by_default
        self.candidates = [candidate for path in paths for candidate in path.candidates]
        self.auc = np.concatenate([path.auc for path in paths], axis=1)
        self.scores = np.concatenate([path.scores for path in paths])
        self.blocks, self.are_folds = blocks_of(rounds)
        self.known: dict[tuple[int, ...], int] = {(k,): k for k in range(len(self.candidates))}
        self.filled = [set(self.known) for _ in self.blocks]
        self.table = self.auc

    def choose(self, blended: bool, judges: np.ndarray | None = None) -> np.ndarray:
        """Return the shares of the candidates for several choices, (n_choices, C).

        Each is made by a weighted mean of the AUCs on the test sets; `judges` (n_choices, S) are the weights. By
        default there is one choice, by the mean over all test sets.
        """
        n_sets = len(self.auc)
        judges = np.full((1, n_sets), 1 / n_sets) if judges is None else judges
        shares, best = np.zeros((len(judges), len(self.candidates))), list[list[int]]()
        standardized = np.array([bool(candidate.standardize) for candidate in self.candidates])
        for row, judge in zip(shares, judges, strict=True):
            mean = judge @ self.auc
            if choose_scaling(self.paths, judge, len(self.blocks), self.by_default):
                mean[~standardized] = -np.inf
            if not blended:
                row[np.argmax(mean >= mean.max() - TIE)] = 1.0
            order = np.argsort(-mean, kind="stable")[:N_BEST]
            best.append(np.where(np.isfinite(mean[order]), order, order[0]).tolist())
        if blended:
            for row, winner in zip(shares, self.greedy(best, judges), strict=True):
                row += np.bincount(winner, minlength=len(row)) / len(winner)
        return shares

    def greedy(self, best: Sequence[list[int]], judges: np.ndarray) -> list[tuple[int, ...]]:
        """Blend candidates greedily, for several choices in step, each with as many best candidates, the best first.

        Each step adds the candidate, perhaps once more, that makes the AUC highest. The best of all blends on the way
        is returned, so its AUC is not below the first candidate's.
        """
        taken: list[tuple[int, ...]] = [(ours[0],) for ours in best]
        winners, tops = taken, self.means([[one] for one in taken], judges)[:, 0]
        for _ in range(N_ADDED):
            trials = [[tuple(sorted((*one, k))) for k in ours] for one, ours in zip(taken, best, strict=True)]
            found = self.means(trials, judges)
            taken = [ours[k] for ours, k in zip(trials, np.argmax(found, axis=1), strict=True)]
            highest = found.max(axis=1)
            winners = [one if up else last for one, last, up in zip(taken, winners, highest > tops, strict=True)]
            tops = np.maximum(highest, tops)
        return winners

    def means(self, trials: Sequence[list[tuple[int, ...]]], judges: np.ndarray) -> np.ndarray:
        """Return the weighted mean AUC of as many trials of each choice, (n_choices, n_trials)."""
        for block, filled in zip(self.blocks, self.filled, strict=True):
            needed = [ours for ours, judge in zip(trials, judges, strict=True) if judge[block].any()]
            new = [one for one in dict.fromkeys(itertools.chain(*needed)) if one not in filled]
            if new:
                self.fill(block, new)
                filled.update(new)
        columns = np.array([[self.known[one] for one in ours] for ours in trials])
        return np.einsum("cs,sct->ct", judges, self.table[:, columns])

    def fill(self, block: list[int], blends: list[tuple[int, ...]]) -> None:
        """Compute the AUC of blends on the test sets of a block."""
        for one in blends:
            self.known.setdefault(one, len(self.known))
        more = np.zeros((len(self.table), max(len(self.known) - self.table.shape[1], 0)))
        self.table = np.hstack([self.table, more])
        counts = np.array([np.bincount(one, minlength=len(self.scores)) for one in blends])
        used = np.flatnonzero(counts.any(axis=0))
        sums = counts[:, used].astype(np.float64) @ self.scores[used, self.tests.columns(block)]
        self.table[np.ix_(block, [self.known[one] for one in blends])] = self.tests.auc(sums, block)

    def honest(self, blended: bool, signal: float) -> tuple[np.ndarray, np.ndarray]:
        """Repeat the choice without each test set; return its shares for each, (S, C), and its AUC there, (S,)."""
        judges = judges_without(self.tests, self.blocks, self.are_folds, OWN_SHARE * (1 - signal))
        shares = np.zeros((len(judges), len(self.candidates)))
        known = judges.any(axis=1) | (len(self.candidates) == 1)
        if len(self.candidates) == 1:
            shares[:] = 1.0
        elif known.any():
            shares[known] = self.choose(blended, judges[known])
        scores = self.tests.blend(self.scores, shares)
        aucs = [self.tests.auc(scores[None, self.tests.columns([k])], [k])[0, 0] for k in range(len(shares))]
        return shares, np.where(known, aucs, np.nan)


def judges_without(tests: TestSets, blocks: Sequence[list[int]], are_folds: Sequence[bool], own: float) -> np.ndarray:
    """Return the weights (S, S) of the AUCs on all test sets by which a choice is made again without each of them.

    A fold k is judged by the choice on the other folds of its round: the folds of another round hold its rows. A split
    of the user's own is judged by those that share no test row with it; its weights are 0 if there are none.

    The models of the other folds were trained on fold k, so their AUCs know something of its labels. Where models are
    noise, the AUC of a fold is to the first order a sum over the other folds of an amount that two folds share. Then
    the sum of the AUCs of the others minus the AUC of fold k has nothing to do with fold k. Where they are not, the AUC
    of fold k differs by its own rows alone. So `own` times it is subtracted: the share of noise, or a part of it.
    """
    judges = np.zeros((len(tests.rows), len(tests.rows)))
    for block, folds in zip(blocks, are_folds, strict=True):
        for k in block:
            others = [j for j in block if j != k and (folds or not np.isin(tests.rows[j], tests.rows[k]).any())]
            judges[k, others] = 1.0
            if len(others) == max(len(block) - 1, 2):  # folds, or splits like them
                judges[k, k] = -own
            judges[k] /= max(judges[k].sum(), 1.0)
    return judges


def blocks_of(rounds: Sequence[Round]) -> tuple[list[list[int]], list[bool]]:
    """Return the numbers of the test sets of each round, and whether they are folds of the same rows.

    Splits that are alone in their round are one block.
    """
    sizes = [len(round.splits) for round in rounds]
    every = [list(range(stop - n, stop)) for n, stop in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
    blocks, alone = [ours for ours in every if len(ours) > 1], [ours[0] for ours in every if len(ours) == 1]
    return [*blocks, alone] if alone else blocks, [True] * len(blocks) + [False] * bool(alone)


def choose_scaling(paths: Sequence[LossPath], judge: np.ndarray, n_rounds: int, by_default: bool = True) -> bool:
    """Return whether to standardise columns, by the AUC of the square losses, with a weight for each test set.

    Columns are left unscaled if the best candidate of these is better by SCALING_MARGIN standard errors. With few rows
    the noise of the choice costs more than the other scaling gains, except where it gains much. A path of unscaled
    columns that still rises at the end of the default grid does not count.
    """
    best: dict[bool, np.ndarray] = {}
    for path in paths:
        if path.candidates[0].loss not in SQUARES and len(best):
            continue
        mean, scaling = judge @ path.auc, bool(path.candidates[0].standardize)
        if by_default and not scaling and True in best and is_rising(mean):
            continue
        auc = path.auc[:, np.argmax(mean)]
        if scaling not in best or judge @ auc > judge @ best[scaling]:
            best[scaling] = auc
    if len(best) < 2:
        return next(iter(best))
    gains, used = best[False] - best[True], judge != 0
    n_rounds = n_rounds if used.all() else 1
    error = gains[used].std(ddof=1) / np.sqrt(used.sum() / n_rounds) if used.sum() > 1 else np.inf
    return not judge @ gains > SCALING_MARGIN * error


def signal_share(auc: float, training_auc: float) -> float:
    """Return the share of the squared weights of a model that is not noise, for Gaussian classes, from its two AUCs."""
    return min(max((auc - 0.5) / max(training_auc - 0.5, 1e-12), 0.0), 1.0)


def interval_of(auc: float, moves: np.ndarray, signal: float, freedom: float, n_roles: int) -> HeldOutAUC:
    """Return the interval of Student's t, cut to [0, 1]; `freedom` are the degrees of freedom of the variance.

    The sum of the squares of `moves` is the variance for models that are given. Where models are noise, the rows that
    train them move the AUC as much as the rows that test them: the variance is `n_roles` times as large, the number of
    roles that a row can have. There are two if it trains weights or tests, and three if it chooses columns too.
    """
    factor = n_roles - (n_roles - 1) * signal
    reach = float(stdtrit(freedom, 0.5 + CONFIDENCE / 2) * np.sqrt(factor * (moves @ moves)))
    return HeldOutAUC(auc, max(auc - reach, 0.0), min(auc + reach, 1.0))
