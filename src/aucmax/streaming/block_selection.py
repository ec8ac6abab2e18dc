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
from scipy import sparse

from ..data.folds import check_folds, count_rounds, deal
from ..data.moments import ClassMoments
from ..data.ranking import sort_distinct
from ..data.threads import map_threads
from ..files import Block
from ..selection.cross_validation import CV_TOL, CrossValidation, Fitting, PathCV, merge
from ..solvers.square import MomentProblem
from .block_rows import CODES, KEPT_SHARE, BlockRows, add_moments, deal_block
from .cells import Cells, count_of_cells
from .passes import Tree

CALIBRATION_CELLS = 1 << 12


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

        @np.errstate(over="ignore", invalid="ignore")  # seen in the end result
        def one(k: int) -> tuple[np.ndarray, np.ndarray, list[float]]:
            problem = fitting.penalised(MomentProblem(merge(parts[:k] + parts[k + 1 :]), fitting.standardize))
            W = problem.path(alphas, CV_TOL)
            return W, problem.midpoint(W), [float(np.sqrt(parts[k].project(w)[1].mean())) for w in W]

        models = cls(*map(np.array, zip(*map_threads(one, range(len(parts))), strict=True)))
        if not np.isfinite(models.weights).all():
            raise ValueError("The weights overflow: multiply the smallest columns of X by a power of ten.")
        return models

    def cells(self, n_cells: int) -> list[Cells]:
        """Return empty cells for the scores of each fold."""
        return [Cells.around(*where, n_cells) for where in zip(self.midpoints, self.spreads, strict=True)]


def scores_of(X: Any, W: np.ndarray) -> np.ndarray:
    """Return X @ W.T, rounded for each row by itself: equal rows have equal scores, in whichever block they are.

    A product of BLAS rounds a row by where it stands among the others, and would break ties.
    """
    if sparse.issparse(X):
        return X @ W.T
    from ..data.kernels import score_rows

    scores = np.empty((len(X), len(W)))
    score_rows(X, np.ascontiguousarray(W), scores)
    return scores


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
        count = rows.rare.shape[0]
        folds = deal(np.arange(count), count, len(models.weights), number)
        self.are_positive = rows.rare_is_positive
        self.sorted = []
        for k, W in enumerate(models.weights):
            scores = scores_of(rows.rare[np.flatnonzero(folds == k)], W)
            self.sorted.append([sort_distinct(column.copy(), None) for column in scores.T])

    def wins(self, k: int, scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """Return for each model twice the number of pairs, of these rows of fold k, that the other class wins."""
        from ..data.kernels import sum_below

        others = ~positive if self.are_positive else positive
        columns = np.ascontiguousarray(scores.T)
        return np.array([sum_below(s, others, None, *few)[0] for s, few in zip(columns, self.sorted[k], strict=True)])

    def auc(self, wins: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the AUC from all wins, of shape (n_folds, n_candidates), and the number of pairs in each fold."""
        share = wins / (2 * pairs[:, None])
        return 1 - share if self.are_positive else share


def score_round(rows: BlockRows, models: FoldModels, number: int, last: bool) -> Tree:
    """Return, of a round, "auc" and "cells" of each fold and, unless it is the last, the "parts" of the next."""
    n_folds, n_candidates = models.midpoints.shape
    rare = None if rows.rare is None else RareScores(rows, models, number)

    def step(tree: Tree, block: Block) -> None:
        X, positive = rows.take(block)
        folds = deal_block(positive, tree["counts"], rows.counts, n_folds, number)
        for k, cells in enumerate(tree["cells"]):
            members = np.flatnonzero(folds == k)
            scores = scores_of(X[members], models.weights[k])
            cells.add(scores, positive[members])
            if rare is not None:
                tree["wins"][k] += rare.wins(k, scores, positive[members])
        if not last:
            add_moments(tree["parts"], X, positive, tree["counts"], rows.counts, number + 1)
        tree["counts"] = tree["counts"] + [np.count_nonzero(~positive), np.count_nonzero(positive)]

    affordable = count_of_cells(models.midpoints.size, rows.memory / KEPT_SHARE)
    start: Tree = {
        "cells": models.cells(affordable if rare is None else min(affordable, CALIBRATION_CELLS)),
        "wins": np.zeros((n_folds, n_candidates), dtype=np.int64),
        "parts": [] if last else [ClassMoments(rows.n_features, CODES) for _ in range(n_folds)],
        "counts": np.zeros(2, dtype=np.int64),
    }
    tree = rows.passes.run(f"held-out scores, round {number + 1}", start, step)
    if "auc" not in tree:
        pairs = np.array([fold.counts[0].sum(axis=1).prod() for fold in tree["cells"]])
        tree["auc"] = np.array([c.auc() for c in tree["cells"]]) if rare is None else rare.auc(tree["wins"], pairs)
    return tree


def mean_scores(rows: BlockRows, models: list[FoldModels], best: int) -> Cells:
    """Return the cells of the mean, over the rounds, of the held-out scores of each row, less its models' midpoints."""

    def step(tree: Tree, block: Block) -> None:
        X, positive = rows.take(block)
        means = np.zeros(len(positive))
        for number, of_round in enumerate(models):
            folds = deal_block(positive, tree["counts"], rows.counts, len(of_round.weights), number)
            for k, W in enumerate(of_round.weights):
                members = np.flatnonzero(folds == k)
                means[members] += (X[members] @ W[best] - of_round.midpoints[k, best]) / len(models)
        tree["cells"].add(means[:, None], positive)
        tree["counts"] = tree["counts"] + [np.count_nonzero(~positive), np.count_nonzero(positive)]

    spread = np.mean([of_round.spreads[:, best] for of_round in models], keepdims=True)[0]
    start: Tree = {"cells": Cells.around(np.zeros(1), spread), "counts": np.zeros(2, dtype=np.int64)}
    return rows.passes.run("mean held-out scores", start, step)["cells"]


def cross_validate_blocks(
    rows: BlockRows, fitting: Fitting, cv: Any, alphas: np.ndarray | None, begin: Callable[[int], Any]
) -> CrossValidation:
    """Do what :func:`aucmax.selection.cross_validation.cross_validate` does, from passes over blocks.

    The calibration is that of scores counted in cells.
    """
    n_folds = check_folds(rows.counts.tolist(), 5 if cv is None else int(cv))
    if n_folds != len(rows.parts):
        rows.gather(n_folds)
    n_rounds = count_rounds(int(rows.counts.min()), min(rows.n_rows, rows.n_features))
    task = begin(n_rounds)
    whole = fitting.penalised(MomentProblem(merge(rows.parts), fitting.standardize))
    alphas = whole.default_alphas() if alphas is None else alphas
    models, aucs = [FoldModels.train(rows.parts, fitting, alphas)], []
    for number in range(n_rounds):
        with task("round"):
            tree = score_round(rows, models[number], number, last=number + 1 == n_rounds)
            aucs.append(tree["auc"])
            if number + 1 < n_rounds:  # what checkpoints need not keep is dropped
                tree["cells"] = []
                if "next" not in tree:
                    parts = [part.relabelled(rows.classes.array()) for part in tree.pop("parts")]
                    tree["next"] = FoldModels.train(parts, fitting, alphas)
                models.append(tree["next"])
    alphas_of, numbers_of, losses_of = fitting.candidates(alphas)
    path = PathCV(alphas_of, np.concatenate(aucs), numbers_of, losses_of)
    best = path.best_index
    if n_rounds == 1:
        cells = Cells.stack([fold.of_model(best) for fold in tree["cells"]])
    else:
        cells = mean_scores(rows, models, best)
    start = np.mean([of_round.weights[:, best] for of_round in models], axis=(0, 1))
    return CrossValidation(alphas, path, whole, start, cells.calibrate)
