"""The pool of candidates: grids of alphas, what narrows them, and rows that are too wide."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import CLASSES, skewed, wide
from scipy import sparse

from aucmax import AUCClassifier
from aucmax.losses import find_loss
from aucmax.losses.pairwise import Sigmoid
from aucmax.rows.memory import MemoryRows
from aucmax.search import pool
from aucmax.search.held_out import TestSets
from aucmax.search.rounds import make_rounds
from aucmax.solvers.problem import Objective


def test_blend_candidates_are_narrowed_by_parameters():
    X, y = skewed()
    results = AUCClassifier(standardize=False, alphas=[1.0, 0.1]).fit(X, y).cv_results_
    assert not results["param_standardize"].any()
    assert set(results["param_alpha"]) == {1.0, 0.1}
    assert set(results["param_loss"]) == {"squared", "pooled", "balanced_logistic", "smooth_auc"}
    for given in ({"loss": "logistic"}, {"alpha": 0.1}, {"penalty": "l1"}, {"n_nonzero": 2}, {"solver": "moments"}):
        clf = AUCClassifier(**given).fit(X, y)
        assert not hasattr(clf, "blend_")
        assert clf.alpha_ > 0


def test_a_grid_is_extended_where_the_auc_still_rises(monkeypatch):
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(400)
    X = np.column_stack([factor + 0.1 * rng.standard_normal(400), factor])
    y = (X[:, 0] - X[:, 1] + 0.05 * rng.logistic(size=400) > 0).astype(int)  # only the small difference counts
    monkeypatch.setattr(pool, "RISING", 0.0)
    monkeypatch.setattr(pool, "POWERS", (2, 1))
    monkeypatch.setattr(pool, "LOWEST_OF_OTHERS", 1)
    monkeypatch.setattr(pool, "HIGHEST_BESIDE_SQUARES", 2)
    monkeypatch.setattr(pool, "N_BEYOND", 3)
    with pytest.warns(UserWarning, match="still rising there: try smaller ones"):  # it rises beyond these, too
        results = AUCClassifier(standardize=True).fit(X, y).cv_results_
    for loss in ("squared", "balanced_logistic"):
        assert sum(results["param_loss"] == loss) == 5  # three beyond the two of the grid
    monkeypatch.setattr(pool, "N_BEYOND", 0)
    with pytest.warns(UserWarning, match="still rising there: try smaller ones"):
        results = AUCClassifier(standardize=True).fit(X, y).cv_results_
    assert sum(results["param_loss"] == "balanced_logistic") == 2
    for loss in ("squared", "logistic"):
        with pytest.warns(
            UserWarning, match=r"^The cross-validated AUC is highest for the smallest alpha that was tried"
        ):
            assert len(AUCClassifier(loss).fit(X, y).alphas_) == 2
        assert AUCClassifier(loss, alphas=[10.0, 1.0]).fit(X, y).alphas_.tolist() == [10.0, 1.0]  # without a warning


def test_blend_of_few_rows_and_a_signal_in_small_directions():
    """The grid is short if there are few rows, and longer if the AUC is still rising at its end."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((300, 3))
    X = factors @ rng.standard_normal((3, 60)) * 3 + 0.1 * rng.standard_normal((300, 60))
    basis = np.linalg.svd(X - X.mean(axis=0))[2]
    score = X @ basis[3:13].sum(axis=0)
    y = (score + 0.2 * score.std() * rng.standard_normal(300) > np.median(score)).astype(int)
    clf, squared = (AUCClassifier(loss).fit(X[:150], y[:150]).score(X[150:], y[150:]) for loss in ("auto", "squared"))
    assert clf > squared - 0.05


def test_wide_sparse_rows_that_are_too_many_to_rotate(monkeypatch):
    X, y = wide(n=80, d=400)
    X = sparse.csr_array(np.where(np.abs(X - 5) > 2, X - 5, 0.0))
    rotated = AUCClassifier(standardize=True).fit(X, y)
    monkeypatch.setattr(pool, "MAX_ROTATED", 10)
    monkeypatch.setattr(pool, "MAX_COLUMNS", 20)
    clf = AUCClassifier(standardize=True).fit(X, y)
    assert_allclose(clf.cv_auc_, rotated.cv_auc_, atol=0.03)
    cosine = clf.coef_[0] @ rotated.coef_[0] / np.linalg.norm(clf.coef_) / np.linalg.norm(rotated.coef_)
    assert cosine > 0.95


def test_sparse_columns_far_from_zero_are_those_of_dense_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 300)) * (rng.random((600, 300)) < 0.05)
    X[:, 0] = 1e4 + rng.standard_normal(600)
    y = (X[:, :20].sum(axis=1) - 1e4 + rng.logistic(size=600) > 0).astype(int)
    dense, csr = AUCClassifier().fit(X, y), AUCClassifier().fit(sparse.csr_array(X), y)
    assert csr.cv_auc_ == pytest.approx(dense.cv_auc_, abs=1e-3)


def test_the_smooth_auc_by_name_converges():
    X, y = skewed(n=200)
    assert AUCClassifier("smooth_auc", cv=3).fit(X, y).score(X, y) > 0.8  # a warning would be an error


def test_sigmoid_candidates_are_minima_of_a_slope_and_no_worse_than_the_logistic_loss():
    X, y = skewed(n=400)
    rows = MemoryRows(X, y, CLASSES)
    rounds = make_rounds(3, rows, 1)
    view = pool.scale_sample(rows, rounds, (True,))[True]
    trainer = pool.Trainer(view, TestSets(rows.targets, rounds), view.level * np.array([0.1, 0.01]))
    found, logistic = (pool.named_path(trainer, Objective(loss), rows) for loss in ("sigmoid", "logistic"))
    assert (trainer.training_aucs(found.models) >= trainer.training_aucs(logistic.models)).all()
    losses = [find_loss("logistic"), *(Sigmoid(10 ** (power / 2)) for power in range(pool.N_SLOPES))]
    for split, models in zip(rounds[0].splits, found.models, strict=True):
        train = rows.subset(rounds[0].parts, split.train)
        for candidate, w in zip(found.candidates, models, strict=True):
            slopes = [(train.X / view.scale).T @ loss(train, train.scores(w / view.scale)).gradient for loss in losses]
            gradients = np.linalg.norm(np.array(slopes) + candidate.alpha * w, axis=1)
            assert gradients.min() < 0.4 * candidate.alpha * np.linalg.norm(w)
