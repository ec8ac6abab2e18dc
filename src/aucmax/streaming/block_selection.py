"""Cross-validation of the square loss on a file that is read by blocks.

Folds, rounds, training sets and weights are those of `model_selection`. The AUC of held-out scores is the exact one,
too, as long as the rows of the rarer class fit into their share of the memory: their scores are known before the pass
in which those of the others are looked up among them. Where they do not, scores are counted in cells, which tell apart
AUCs that differ by far less than what counts as a tie (`cells`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..folds import check_folds, count_rounds, deal
from ..metrics import sort_distinct
from ..model_selection import CV_TOL, CrossValidation, Fitting, PathCV, merge
from ..moments import ClassMoments
from ..solvers.squared import MomentProblem
from ..sources import Block
from ..threads import map_threads
from .block_rows import CODES, KEPT_SHARE, BlockRows, add_moments, deal_block
from .cells import Cells, count_of_cells
from .passes import Tree


class FoldModels(NamedTuple):
    """The models of the training sets of one round, and where the scores of the rows they have not seen lie.

    Attributes
    ----------
    weights : ndarray of shape (n_folds, n_candidates, n_features)
        The models.
    midpoints, spreads : ndarray of shape (n_folds, n_candidates)
        Of the scores: half-way between the class means in training, and standard deviation in the fold.
    """

    weights: np.ndarray
    midpoints: np.ndarray
    spreads: np.ndarray

    @classmethod
    def train(cls, parts: list[ClassMoments], fitting: Fitting, alphas: np.ndarray) -> FoldModels:
        """Return the models along the path, of each training set."""

        def one(k: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
            problem = fitting.penalised(MomentProblem(merge(parts[:k] + parts[k + 1 :]), fitting.standardize))
            W = problem.path(alphas, CV_TOL)
            return W, problem.midpoint(W), [float(np.sqrt(parts[k].project(w)[1].mean())) for w in W]

        return cls(*map(np.array, zip(*map_threads(one, range(len(parts))), strict=True)))

    def cells(self, memory: float) -> list[Cells]:
        """Return empty cells for the scores of each fold, as many as so many bytes hold."""
        n_cells = count_of_cells(self.midpoints.size, memory)
        return [Cells.around(*where, n_cells) for where in zip(self.midpoints, self.spreads, strict=True)]


class RareScores:
    """The held-out scores of the rarer class, sorted, which those of the other class are looked up among.

    Parameters
    ----------
    rows : BlockRows
        With rows of the rarer class.
    models : FoldModels
        Of the round.
    number : int
        Of the round.
    """

    def __init__(self, rows: BlockRows, models: FoldModels, number: int) -> None:
        n_folds = len(models.weights)
        folds = deal(0, rows.rare.shape[0], n_folds, number)
        self.few_are_positive = bool(rows.counts[1] <= rows.counts[0])
        self.sorted = []
        for k, W in enumerate(models.weights):
            scores = rows.rare[np.flatnonzero(folds == k)] @ W.T
            self.sorted.append([sort_distinct(column.copy(), None) for column in scores.T])

    def wins(self, k: int, scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """Return for each model twice the number of pairs, of these rows of fold k, that the other class wins."""
        from ..kernels import sum_below

        others = ~positive if self.few_are_positive else positive
        columns = np.ascontiguousarray(scores.T)
        return np.array([sum_below(s, others, None, *few)[0] for s, few in zip(columns, self.sorted[k], strict=True)])

    def auc(self, wins: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the AUC from all wins, of shape (n_folds, n_candidates), and the number of pairs in each fold."""
        share = wins / (2 * pairs[:, None])
        return 1 - share if self.few_are_positive else share


def score_round(
    rows: BlockRows, models: FoldModels, number: int, last: bool
) -> tuple[np.ndarray, list[Cells], list[ClassMoments]]:
    """Return AUCs and cells of each fold of a round and, unless it is the last, the moments of the next."""
    n_folds, n_candidates = models.midpoints.shape
    rare = None if rows.rare is None else RareScores(rows, models, number)

    def step(tree: Tree, block: Block) -> None:
        X, positive = rows.take(block)
        folds = deal_block(positive, tree["counts"], n_folds, number)
        for k, cells in enumerate(tree["cells"]):
            members = np.flatnonzero(folds == k)
            scores = X[members] @ models.weights[k].T
            cells.add(scores, positive[members])
            if rare is not None:
                tree["wins"][k] += rare.wins(k, scores, positive[members])
        if not last:
            add_moments(tree["parts"], X, positive, tree["counts"], number + 1)
        tree["counts"] = tree["counts"] + [np.count_nonzero(~positive), np.count_nonzero(positive)]

    start: Tree = {
        "cells": models.cells(rows.memory / KEPT_SHARE),
        "wins": np.zeros((n_folds, n_candidates), dtype=np.int64),
        "parts": [] if last else [ClassMoments(rows.n_features, CODES) for _ in range(n_folds)],
        "counts": np.zeros(2, dtype=np.int64),
    }
    tree = rows.passes.run(f"folds, round {number + 1}", start, step)
    cells = tree["cells"]
    if rare is None:
        auc = np.array([fold.auc() for fold in cells])
    else:
        auc = rare.auc(tree["wins"], np.array([fold.counts[0].sum(axis=1).prod() for fold in cells]))
    return auc, cells, [part.relabelled(rows.classes.array()) for part in tree["parts"]]


def cross_validate_blocks(
    rows: BlockRows, fitting: Fitting, cv: Any, alphas: np.ndarray | None, begin: Callable[[int], Any]
) -> CrossValidation:
    """Do what :func:`aucmax.model_selection.cross_validate` does, from passes over blocks.

    The calibration is that of scores counted in cells.
    """
    n_folds = check_folds(rows.counts.tolist(), 5 if cv is None else int(cv))
    if n_folds != len(rows.parts):
        rows.gather(n_folds)
    n_rounds = count_rounds(int(rows.counts.min()), min(rows.n_rows, rows.n_features))
    task = begin(n_rounds)
    whole = fitting.penalised(MomentProblem(merge(rows.parts), fitting.standardize))
    alphas = whole.default_alphas() if alphas is None else alphas
    parts, aucs, models, cells = rows.parts, [], [], []
    for number in range(n_rounds):
        with task("round"):
            models.append(FoldModels.train(parts, fitting, alphas))
            auc, scored, parts = score_round(rows, models[-1], number, last=number + 1 == n_rounds)
            aucs.append(auc)
            cells += [fold.of_model for fold in scored]
    alphas_of, numbers_of, losses_of = fitting.candidates(alphas)
    path = PathCV(alphas_of, np.concatenate(aucs), numbers_of, losses_of)
    best = path.best_index
    start = np.mean([round_of.weights[:, best] for round_of in models], axis=(0, 1))
    return CrossValidation(alphas, path, whole, start, Cells.stack([of_model(best) for of_model in cells]).calibrate)
