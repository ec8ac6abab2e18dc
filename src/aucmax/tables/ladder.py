"""The ladder: lines, curves, few surfaces and many, each with the AUC of its held-out rows.

1. The columns become codes, without labels (`bins.py`): these are the same for all folds.
2. In each fold, every rung is fitted to the training rows from the beginning: strengths and pairs are found there, and
   the rung below is where it starts (`Climb`). The test rows are scored.
3. Many surfaces are tried only if few are better than curves by more than a standard error.
4. The best rung is taken, unless a lower one is within MARGIN standard errors of their paired difference. The choice is
   made again without each fold, and judged on that fold: `cv_auc_` is the mean.
5. The rung that was chosen is fitted to all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..rows.protocol import InMemoryRows
from ..search.choice import HeldOutAUC, blocks_of, interval_of, judges_without, signal_share
from ..search.held_out import QUANTUM, TestSets
from ..search.rounds import make_rounds
from ..solvers.descent import MAX_NEWTON
from .bins import Column
from .evidence import Factor, Fit, System, find_mode, find_strengths
from .pairs import rank_pairs
from .shapes import constrained
from .terms import FEWEST, MAX_GROUPS, MOST, Block, curve, functions_of, group_codes, levels, line, surface

RUNGS = ("lines", "curves", "few pairs", "many pairs")
MAX_CELLS = 640  # coordinates of all curves together
FEW_FUNCTIONS = 8  # of a column, which it has even if there are few rows
MANY_COLUMNS, MOST_COLUMNS = 256, 8192  # with more, there are lines alone; with more, nothing
MAX_FUNCTIONS = 1152  # coordinates of all surfaces together
FEW, MANY = 0.5, 2.0  # surfaces for each column
ENOUGH_ROWS = 25_000  # of each class, on which strengths and pairs are found and rungs are compared
MARGIN = 0.5  # standard errors of the paired difference by which a higher rung must be better
COPIES = 4  # of the Hessian that a fit holds at once
N_ROLES = 2  # of a row: it trains a model or tests it; see `interval_of`
ROUGH = 1e-3  # the tolerance of shapes in a fold

Task = Callable[[str], Any]


class Design:
    """The coordinates of all terms, which need no labels.

    `signs`, of shape (p,), are 1 for a column that is to rise, -1 for one that is to fall, and 0 for the others. Few
    rows have few coordinates.
    """

    def __init__(self, columns: Sequence[Column], signs: np.ndarray, n_rows: int) -> None:
        self.columns, self.signs, self.n_rows = columns, signs, n_rows
        self._functions: dict[tuple[int, int], Any] = {}

    @cached_property
    def lines(self) -> list[Block]:
        """A line for each number, which share a strength, and levels."""
        return [
            levels(j, column, 1 + j) if column.categorical else line(j, column, 0)
            for j, column in enumerate(self.columns)
        ]

    @cached_property
    def curves(self) -> list[Block]:
        """A curve for each number, and levels."""
        sizes = [column.n_values for column in self.columns if not column.categorical]
        budget = min(MAX_CELLS, max(self.n_rows, FEW_FUNCTIONS * len(sizes)))
        most = share_out(sizes, max(sizes, default=0), budget)
        return [
            levels(j, column, 1 + j)
            if column.categorical
            else curve(j, column, 1 + j, column.n_values if self.signs[j] else most)
            for j, column in enumerate(self.columns)
        ]

    @cached_property
    def n_groups(self) -> np.ndarray:
        """The number of groups of the codes of each column in a surface, shape (p,)."""
        return np.array([1 + group_codes(column, MAX_GROUPS).max(initial=-1) for column in self.columns])

    def surfaces(self, pairs: Sequence[tuple[int, int]], first: int, budget: int) -> list[Block]:
        """Return the surfaces of pairs with about `budget` coordinates; their strengths are numbered from `first`.

        Each column has at most n functions: the largest n with which the surfaces keep to the budget, but FEWEST or
        more.
        """
        sizes = [self.n_groups[list(pair)] for pair in pairs]
        fitting = (n for n in range(MOST, FEWEST, -1) if sum(np.minimum(both, n).prod() for both in sizes) <= budget)
        n = next(fitting, FEWEST)
        for j in {column for pair in pairs for column in pair}:
            if (j, n) not in self._functions:
                self._functions[j, n] = functions_of(self.columns[j], n)
        return [
            surface(pair, self._functions[pair[0], n], self._functions[pair[1], n], first + k)
            for k, pair in enumerate(pairs)
        ]


def share_out(n_values: Sequence[int], most: int, budget: int) -> int:
    """Return the largest number of functions, from 2 to `most`, with which all columns together keep to the budget."""
    for n in range(most, 2, -1):
        if sum(min(each, n) for each in n_values) <= budget:
            return n
    return 2


class Climb:
    """The rungs of some training rows, whose values are the codes of the columns.

    `pairs` are the surfaces, or how many there are; None for few and many.
    """

    def __init__(self, rows: InMemoryRows, design: Design, pairs: Any) -> None:
        self.rows, self.design, self.pairs = rows, design, pairs
        self.fits: dict[str, Fit] = {}

    def fit(self, rung: str) -> Fit:
        """Return a rung, and fit before it what it starts from."""
        if rung not in self.fits:
            self.fits[rung] = self._fit(rung)
        return self.fits[rung]

    def _fit(self, rung: str) -> Fit:
        if rung == "lines":
            blocks, start = self.design.lines, None
        elif rung == "curves":
            blocks, start = self.design.curves, None
        else:
            start = self.fit("curves")
            pairs = self._choose(rung)
            budget = 16 * len(pairs) if rung == "few pairs" else MAX_FUNCTIONS
            surfaces = self.design.surfaces(pairs, len(start.strengths), budget)
            blocks = [*start.blocks, *surfaces]
        if start is not None and len(blocks) == len(start.blocks):
            return start
        system = make_system(self.rows, blocks, self.design)
        fit = find_strengths(system, start)
        return find_mode_in_shape(system, fit, self.design, ROUGH)[0] if self.design.signs.any() else fit

    def _choose(self, rung: str) -> list[tuple[int, int]]:
        """Return the pairs of a rung: first the pairs of the rung below, then the ones that its terms explain least."""
        if isinstance(self.pairs, list):
            return self.pairs
        below = self.fit("few pairs" if rung == "many pairs" else "curves")
        known = dict.fromkeys((j, k) for j, *others in (block.term.columns for block in below.blocks) for k in others)
        share = FEW if rung == "few pairs" else MANY
        most = min(int(np.ceil(share * len(self.design.columns))), MAX_FUNCTIONS // FEWEST**2)
        n_pairs = most if self.pairs is None else int(self.pairs)
        codes, targets, allowed = self.rows.values(), self.rows.targets, np.flatnonzero(self.design.signs == 0)
        weights = np.ones(len(codes)) if targets.sample_weight is None else targets.sample_weight
        ranked = rank_pairs(codes, targets.positive, weights, self.design.columns, allowed, below.score(codes))
        return [*known, *[pair for pair in ranked if pair not in known][: max(n_pairs - len(known), 0)]]


def make_system(rows: InMemoryRows, blocks: Sequence[Block], design: Design) -> System:
    """Return rows in the coordinates of some terms."""
    most_wide = 1 if design.signs.any() else None  # the quadratic programme eliminates one
    system = System(rows.values(), rows.targets.positive, rows.targets.sample_weight, blocks, most_wide)
    n_bytes = COPIES * 8.0 * (system.n_narrow + 1) * (system.K + 1)
    rows.check_memory(f"A fit of {system.K:,} lines, levels and functions", n_bytes, "drop columns")
    return system


def find_mode_in_shape(system: System, fit: Fit, design: Design, tol: float) -> tuple[Fit, Factor]:
    """Return the terms that maximise the penalised likelihood with the strengths of a fit, under the shapes."""
    if not design.signs.any():
        return find_mode(system, fit, tol, MAX_NEWTON)
    start = [
        np.zeros_like(u) if len(block.term.columns) == 1 and design.signs[block.term.columns[0]] else u
        for block, u in zip(fit.blocks, fit.coordinates, strict=True)
    ]
    solve = constrained(system, design.columns, design.signs)
    return find_mode(system, fit._replace(coordinates=start), tol, MAX_NEWTON, solve)


class Rung(NamedTuple):
    """A rung, judged on held-out rows."""

    terms: str
    auc: HeldOutAUC
    surfaces: float  # with freedom and seconds: the means over the folds
    freedom: float
    seconds: float


class Found(NamedTuple):
    """The rungs, and which was taken."""

    rungs: list[Rung]
    chosen: int
    auc: HeldOutAUC  # of the choice, on held-out rows that had no part in it
    sample: InMemoryRows  # the rows that rungs were compared on
    scores: np.ndarray  # their mean held-out log-odds by the chosen rung; NaN for rows of no test set


def climb(rows: InMemoryRows, design: Design, rungs: Sequence[str], pairs: Any, cv: Any, task: Task) -> Found:
    """Fit and judge the rungs on the folds of some rows, and choose one of them."""
    rounds = make_rounds(cv, rows, 1)
    codes, tests = rows.values(), TestSets(rows.targets, rounds)
    climbs = [Climb(rows.subset(round.parts, split.train), design, pairs) for round in rounds for split in round.splits]
    groups = np.arange(rows.n_rows)
    if rows.targets.groups is not None:
        groups = np.unique(rows.targets.groups, return_inverse=True)[1]
    scores, judged = np.empty((0, tests.edges[-1, 2])), list[Rung]()
    moves, training = list[np.ndarray](), list[float]()
    for rung in rungs:
        with task(rung):
            begun = time.perf_counter()
            fits = [each.fit(rung) for each in climbs]
            seconds = (time.perf_counter() - begun) / len(fits)
            ours = np.concatenate([fit.score(codes[test]) for fit, test in zip(fits, tests.rows, strict=True)])
            scores = np.vstack([scores, np.rint(ours / QUANTUM) * QUANTUM])
            found, freedom = tests.influences(scores[-1], groups)
            moves.append(found)
            auc = float(tests.auc(scores[-1:]).mean())
            training.append(mean_of(training_auc(each, fit) for each, fit in zip(climbs, fits, strict=True)))
            interval = interval_of(auc, found, signal_share(auc, training[-1]), freedom, N_ROLES)
            surfaces = mean_of(sum(len(block.term.columns) > 1 for block in fit.blocks) for fit in fits)
            judged.append(Rung(rung, interval, surfaces, mean_of(fit.freedom.sum() for fit in fits), seconds))
        if rung == "few pairs" and not is_clear(judged, moves):
            break
    aucs, errors = tests.auc(scores), pairwise_errors(moves)
    chosen = choose(aucs.mean(axis=0), errors)
    trained = training[chosen]
    blocks, are_folds = blocks_of(rounds)
    error = float(np.linalg.norm(moves[chosen]))
    signal = signal_share(judged[chosen].auc.auc - 2 * error, trained)
    judges = judges_without(tests, blocks, are_folds, 1 - signal)
    shares = np.eye(len(judged))[[choose(judge @ aucs, errors) for judge in judges]]
    known = np.flatnonzero(judges.any(axis=1) | (len(judged) == 1)).tolist()
    if not known:
        auc_of_choice = HeldOutAUC(np.nan, np.nan, np.nan)
    else:
        found, freedom = tests.influences(tests.blend(scores, shares), groups, known)
        auc = mean_of(aucs[k] @ shares[k] for k in known)
        signal = signal_share(auc - 2 * float(np.linalg.norm(found)), trained)
        auc_of_choice = interval_of(auc, found, signal, freedom, N_ROLES)
    return Found(judged, chosen, auc_of_choice, rows, tests.by_row(scores[chosen], rows.n_rows))


def is_clear(judged: Sequence[Rung], moves: Sequence[np.ndarray]) -> bool:
    """Return whether the last rung is better than all below it by more than a standard error."""
    best = max(range(len(judged) - 1), key=lambda k: judged[k].auc.auc, default=-1)
    return best < 0 or judged[-1].auc.auc - judged[best].auc.auc > float(np.linalg.norm(moves[-1] - moves[best]))


def mean_of(values: Iterable[float]) -> float:
    """Return the mean of some numbers."""
    return float(np.mean([*values]))


def training_auc(climb: Climb, fit: Fit) -> float:
    """Return the AUC of a fit on its training rows."""
    return climb.rows.aucs(fit.score(climb.rows.values()))[0]


def pairwise_errors(moves: Sequence[np.ndarray]) -> np.ndarray:
    """Return the standard errors of the differences of the AUCs of any two rungs."""
    return np.array([[np.linalg.norm(a - b) for a in moves] for b in moves])


def choose(aucs: np.ndarray, errors: np.ndarray) -> int:
    """Return the lowest rung that is within MARGIN standard errors of the best one."""
    best = int(np.argmax(aucs))
    return int(np.argmax(aucs[best] - aucs <= MARGIN * errors[best]))
