"""The ladder: lines, curves, few surfaces and many, each with the AUC of its held-out rows.

1. The columns become codes, without labels (`bins.py`): these are the same for all folds.
2. In each fold, every rung is fitted to the training rows from the beginning: strengths and pairs are found there
   (`Climb`). Surfaces are added to the rung below, whose curves keep the functions that these rows say something about.
   The test rows are scored.
3. Many surfaces are tried only if few are better than curves by more than a standard error.
4. The best rung is taken, unless a lower one is within MARGIN standard errors of their paired difference. The choice is
   made again without each fold, and judged on that fold: `cv_auc_` is the mean.
5. The short cards of the rung that was chosen are made in each fold, and judged on its held-out rows (`merging.py`).
   What the card costs whose length they choose is judged as the choice of the rung is.
6. The rung that was chosen is fitted to all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ...rows.protocol import InMemoryRows
from ...search.choice import HeldOutAUC, blocks_of, interval_of, judges_without, signal_share
from ...search.held_out import QUANTUM, TestSets
from ...search.rounds import make_rounds
from ...solvers.descent import MAX_NEWTON
from ..bins import Column
from ..terms import MOST, Block, Functions, curve, functions_of, levels, line, make_surfaces, narrow, show
from .evidence import Factor, Fit, System, find_mode, find_strengths
from .merging import CHUNK, Merging
from .pairs import rank_pairs
from .shapes import constrained

RUNGS = ("lines", "curves", "few pairs", "many pairs")
MAX_CELLS = 640  # coordinates of all curves together
FEW_FUNCTIONS = 8  # of a column, which it has even if there are few rows
MANY_COLUMNS, MOST_COLUMNS = 256, 8192  # with more, there are lines alone; with more, nothing
FEW, MANY = 0.5, 2.0  # surfaces for each column
FEW_COORDINATES, MANY_COORDINATES = 384, 768  # of the surfaces that a rung adds, or as many as rows
MAX_SURFACES = 128
FAINT = 0.2  # the information on a function of a curve, relative to its prior's, below which surfaces take its place
FEWEST = 3  # functions of a curve beside surfaces
ENOUGH_ROWS = 25_000  # of each class, on which strengths and pairs are found and rungs are compared
MARGIN = 0.5  # standard errors of the paired difference by which a higher rung must be better
COPIES = 4  # of the Hessian that a fit holds at once
N_ROLES = 2  # of a row: it trains a model or tests it; see `interval_of`
ROUGH = 1e-3  # the tolerance of shapes in a fold
CARD_LINES = (2, 4, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 128)  # of the cards that are judged, at most
SHORTEST_CARD, LONGEST_CARD = 10, 60  # lines that people check and sign: held-out rows choose among such cards
CARD_MARGIN = 1.0  # standard errors of the paired difference by which a longer card must be better
CARD_POINTS = (1, 2, 5, 10, 20)  # that double the odds on cards that are judged; the last choose

Task = Callable[[str], Any]


class Design:
    """The coordinates of all terms, which need no labels.

    `signs`, of shape (p,), are 1 for a column that is to rise, -1 for one that is to fall, and 0 for the others. Few
    rows have few coordinates.
    """

    def __init__(self, columns: Sequence[Column], signs: np.ndarray, n_rows: int) -> None:
        self.columns, self.signs, self.n_rows = columns, signs, n_rows
        self._functions: dict[int, Functions] = {}
        self._wide: dict[int, Block] = {}

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

    def surfaces(self, pairs: Sequence[tuple[int, int]], first: int, most: int) -> list[Block]:
        """Return the surfaces of pairs; their strengths are numbered from `first`."""
        for j in {column for pair in pairs for column in pair} - self._functions.keys():
            self._functions[j] = functions_of(self.columns[j], MOST)
        return make_surfaces(pairs, self._functions, first, min(most, self.n_rows))

    def narrow(self, block: Block, u: np.ndarray, roughest: float) -> tuple[Block, np.ndarray]:
        """Return a curve without its functions that are rougher, and its coordinates; other terms as they were."""
        j = block.term.columns[0]
        column = self.columns[j]
        if len(block.term.columns) > 1 or column.categorical or self.signs[j] or column.n_values <= FEWEST:
            return block, u
        if block.T is None and j not in self._wide:
            self._wide[j] = curve(j, column, block.strength, column.n_values - 1)
        wide = self._wide.get(j, block)
        n_functions = max(int(np.count_nonzero(wide.S[: wide.size - column.missing] <= roughest)), FEWEST)
        if n_functions + column.missing >= block.size:
            return block, u
        return narrow(wide, column, n_functions, block.values(u))


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
        if rung in ("lines", "curves"):
            system = make_system(self.rows, getattr(self.design, rung), self.design)
            fit = find_strengths(system)
        else:
            below = self.fit("few pairs" if rung == "many pairs" else "curves")
            start = self._add_surfaces(below, rung)
            if start is below:
                return below
            system = make_system(self.rows, start.blocks, self.design)
            fit = find_strengths(system, start)
        return find_mode_in_shape(system, fit, self.design, ROUGH)[0] if self.design.signs.any() else fit

    def _add_surfaces(self, fit: Fit, rung: str) -> Fit:
        """Return a fit with empty surfaces of the pairs that its terms explain least, or that were asked for."""
        rows, design, targets = self.rows, self.design, self.rows.targets
        codes, p = rows.values(), expit(fit.score(rows.values()))
        weights = np.ones(len(codes)) if targets.sample_weight is None else targets.sample_weight
        known = {block.term.columns for block in fit.blocks if len(block.term.columns) > 1}
        if isinstance(self.pairs, list):
            new = self.pairs
        else:
            share, allowed = FEW if rung == "few pairs" else MANY, np.flatnonzero(design.signs == 0)
            most = min(int(np.ceil(share * len(design.columns))), MAX_SURFACES)
            most = most if self.pairs is None else int(self.pairs)
            ranked = rank_pairs(codes, weights * (targets.positive - p), weights * p * (1 - p), design.columns, allowed)
            new = [pair for pair in ranked if pair not in known][: max(most - len(known), 0)]
        if not new:
            return fit
        information = float(weights @ (p * (1 - p)))
        parts = [
            design.narrow(block, u, information / (FAINT * fit.strengths[block.strength]))
            for block, u in zip(fit.blocks, fit.coordinates, strict=True)
        ]
        most = FEW_COORDINATES if rung == "few pairs" else MANY_COORDINATES
        surfaces = design.surfaces(new, len(fit.strengths), most)
        return fit._replace(
            blocks=[block for block, _ in parts] + surfaces,
            coordinates=[u for _, u in parts] + [np.zeros(block.size) for block in surfaces],
            strengths=np.append(fit.strengths, np.ones(len(surfaces))),
        )


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
    cards: dict[str, np.ndarray]  # see `judge_cards`


def climb(rows: InMemoryRows, design: Design, rungs: Sequence[str], pairs: Any, cv: Any, task: Task) -> Found:
    """Fit and judge the rungs on the folds of some rows, and choose one of them."""
    rounds = make_rounds(cv, rows, 1)
    codes, tests = rows.values(), TestSets(rows.targets, rounds)
    climbs = [Climb(rows.subset(round.parts, split.train), design, pairs) for round in rounds for split in round.splits]
    scores, judged = np.empty((0, tests.edges[-1, 2])), list[Rung]()
    moves, training = list[np.ndarray](), list[float]()
    for rung in rungs:
        with task(rung):
            begun = time.perf_counter()
            fits = [each.fit(rung) for each in climbs]
            seconds = (time.perf_counter() - begun) / len(fits)
            ours = np.concatenate([fit.score(codes[test]) for fit, test in zip(fits, tests.rows, strict=True)])
            scores = np.vstack([scores, np.rint(ours / QUANTUM) * QUANTUM])
            found, freedom = tests.influences(scores[-1])
            moves.append(found)
            auc = float(tests.auc(scores[-1:]).mean())
            trained_on = [(each.rows, fit) for each, fit in zip(climbs, fits, strict=True)]
            training.append(mean_of(part.aucs(fit.score(part.values()))[0] for part, fit in trained_on))
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
        found, freedom = tests.influences(tests.blend(scores, shares), known)
        auc = mean_of(aucs[k] @ shares[k] for k in known)
        signal = signal_share(auc - 2 * float(np.linalg.norm(found)), trained)
        auc_of_choice = interval_of(auc, found, signal, freedom, N_ROLES)
    fits = [each.fit(rungs[chosen]) for each in climbs]
    cards = judge_cards([*zip(climbs, fits, strict=True)], codes, tests, scores[chosen], judges)
    return Found(judged, chosen, auc_of_choice, rows, tests.by_row(scores[chosen], rows.n_rows), cards)


def start_card(rows: InMemoryRows, fit: Fit, design: Design, curves: Sequence[np.ndarray] | None = None) -> Merging:
    """Return the lines that short cards of a fit to some rows are merged from; `curves` are its columns as shown."""
    codes, targets = rows.values(), rows.targets
    weights = np.ones(len(codes)) if targets.sample_weight is None else targets.sample_weight
    if curves is None:
        cells = [np.maximum(block.term.cells(codes), 0) for block in fit.blocks]
        masses = [np.bincount(c, weights, b.term.n_cells) for c, b in zip(cells, fit.blocks, strict=True)]
        curves = show(fit.blocks, fit.coordinates, [mass / mass.sum() for mass in masses]).values
    scores = np.concatenate([fit.score(codes[a : a + CHUNK]) for a in range(0, len(codes), CHUNK)])
    return Merging.project(design.columns, design.signs, curves[: len(design.columns)], codes, weights, scores)


def judge_cards(
    fits: Sequence[tuple[Climb, Fit]], codes: np.ndarray, tests: TestSets, scores: np.ndarray, judges: np.ndarray
) -> dict[str, np.ndarray]:
    """Return what short cards cost on held-out rows: the merge is repeated with the rows and the fit of each fold.

    A card has at most so many "lines", and so many "points" double the odds; "auc" is the held-out AUC of its whole
    points, "lost" how much below the AUC of the `scores` it is, and "error" the standard error of this difference: rows
    that train a card move it as much as rows that test it. All CARD_LINES come first, for each of CARD_POINTS. Then
    comes the card that is "chosen", the shortest that is within CARD_MARGIN standard errors of the best one. Its cost
    is NaN if no rows are left to judge the choice.
    """
    points = np.empty((len(CARD_POINTS), len(CARD_LINES), len(scores)))
    for (climb, fit), test, (start, _, stop) in zip(fits, tests.rows, tests.edges, strict=True):
        merging, ours = start_card(climb.rows, fit, climb.design), codes[test]
        for number in range(len(CARD_LINES) - 1, -1, -1):
            merging.to(CARD_LINES[number])
            steps = merging.steps()
            for found, scale in zip(points, CARD_POINTS, strict=True):
                found[number, start:stop] = steps.points(climb.design.columns, ours, scale / np.log(2))
    auto = slice(CARD_LINES.index(SHORTEST_CARD), CARD_LINES.index(LONGEST_CARD) + 1)
    choosing, everywhere = points[-1, auto], [*range(len(judges))]
    errors = pairwise_errors([tests.influences(each)[0] for each in choosing])
    aucs, auc = tests.auc(choosing), tests.auc(scores[None])[:, 0]
    lines = CARD_LINES[auto.start + choose(aucs.mean(axis=0), errors, CARD_MARGIN)]
    shares = np.eye(len(errors))[[choose(judge @ aucs, errors, CARD_MARGIN) for judge in judges]]
    known, cards = np.flatnonzero(judges.any(axis=1)).tolist(), list[tuple[Any, ...]]()
    for sets in filter(len, (everywhere, known)):
        model = tests.influences(scores, sets)[0]
        for scale, found in zip(CARD_POINTS, points, strict=True):
            every = zip(CARD_LINES, found, strict=True)
            for n, ours in every if sets is everywhere else [(lines, tests.blend(found[auto], shares))]:
                mean = float(tests.auc(ours[None])[sets, 0].mean())
                error = N_ROLES**0.5 * float(np.linalg.norm(tests.influences(ours, sets)[0] - model))
                cards.append((n, scale, mean, float(auc[sets].mean()) - mean, error, sets is known))
    if not known:
        cards += [(lines, scale, np.nan, np.nan, np.nan, True) for scale in CARD_POINTS]
    names = "lines", "points", "auc", "lost", "error", "chosen"
    return dict(zip(names, map(np.array, zip(*cards, strict=True)), strict=True))


def is_clear(judged: Sequence[Rung], moves: Sequence[np.ndarray]) -> bool:
    """Return whether the last rung is better than all below it by more than a standard error."""
    best = max(range(len(judged) - 1), key=lambda k: judged[k].auc.auc, default=-1)
    return best < 0 or judged[-1].auc.auc - judged[best].auc.auc > float(np.linalg.norm(moves[-1] - moves[best]))


def mean_of(values: Iterable[float]) -> float:
    """Return the mean of some numbers."""
    return float(np.mean([*values]))


def pairwise_errors(moves: Sequence[np.ndarray]) -> np.ndarray:
    """Return the standard errors of the differences of the AUCs of any two rungs."""
    return np.array([[np.linalg.norm(a - b) for a in moves] for b in moves])


def choose(aucs: np.ndarray, errors: np.ndarray, margin: float = MARGIN) -> int:
    """Return the lowest rung that is within `margin` standard errors of the best one."""
    best = int(np.argmax(aucs))
    return int(np.argmax(aucs[best] - aucs <= margin * errors[best, : len(aucs)]))
