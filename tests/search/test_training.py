"""The models of the folds: all training sets at once, against one fit for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import CLASSES, skewed, wide
from scipy.optimize import minimize

from aucmax import AUCClassifier
from aucmax.losses import find_loss
from aucmax.losses.smooth_auc import UnitScores
from aucmax.rows.memory import MemoryRows
from aucmax.search.fold_losses import CURVATURES
from aucmax.search.pool import scale_sample
from aucmax.search.rounds import make_rounds
from aucmax.search.training import FoldRows, FoldTraining
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.problem import Objective


def training_of(X, y, weights=None, cv=3, standardize=True):
    rows = MemoryRows(X, y, CLASSES, weights)
    rounds = make_rounds(cv, rows, 1)
    return rows, rounds, scale_sample(rows, rounds, (True, False))[standardize]


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_rows", [False, True])
def test_square_models_of_the_folds(monkeypatch, pooled, weighted, by_rows):
    X, y = skewed()
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else None
    if by_rows:
        monkeypatch.setattr("aucmax.search.training.MAX_MOMENTS", 0)
        monkeypatch.setattr("aucmax.search.training.ROW_TOL", 1e-6)
    _, rounds, view = training_of(X, y, weights)
    alphas = np.array([1.0, 0.01])
    found = view.training.square(alphas, pooled) / view.scale
    scaled = MemoryRows(X / view.scale, y, CLASSES, weights)
    objective = Objective("pooled" if pooled else "squared", standardize=False, solver="moments")
    for k, split in enumerate(rounds[0].splits):
        expected = objective.problem(scaled.subset(rounds[0].parts, split.train)).path(alphas, 0) / view.scale
        assert_allclose(found[k], expected, rtol=0, atol=(1e-4 if by_rows else 1e-9) * np.abs(expected).max())


@pytest.mark.parametrize("standardize", [True, False])
def test_logistic_models_of_the_folds(standardize):
    X, y = skewed()
    X = X * np.geomspace(0.3, 3, X.shape[1])
    _, rounds, view = training_of(X, y, standardize=standardize)
    alphas = np.array([0.1, 0.01, 0.001])
    found = np.stack(list(view.training.newton_path("balanced_logistic", alphas)), axis=1)
    found = found if standardize else found / view.scale
    scaled = MemoryRows(X / view.scale if standardize else X, y, CLASSES)
    objective = Objective("balanced_logistic", standardize=False, solver="moments")
    for k, split in enumerate(rounds[0].splits):
        problem = objective.problem(scaled.subset(rounds[0].parts, split.train))
        expected = np.array([problem.solve(Candidate(alpha), 1e-8).weights for alpha in alphas])
        assert (np.linalg.norm(found[k] - expected, axis=1) < 0.05 * np.linalg.norm(expected, axis=1)).all()


def test_line_searches_of_the_folds_shorten_what_is_too_long():
    X, y = skewed()
    _, _, view = training_of(X, y)
    training, alpha = view.training, 0.01
    loss = training.loss("balanced_logistic")
    at = training.iterate(loss, np.zeros((3, X.shape[1])))
    directions = -at.gradients(alpha)
    directions[1] *= 100
    directions[2] *= -1
    changes = training.scores(directions[:, :-1]) + directions[:, -1:].astype(np.float32)
    end, lengths = training.line_search(loss, at, directions, changes, alpha, np.ones(3))
    assert lengths[0] == 1
    assert 0 < lengths[1] < 1
    assert lengths[2] == 0  # uphill
    slopes = np.einsum("sj,sj->s", at.gradients(alpha), directions)
    assert (end.values(alpha) <= at.values(alpha) + 1e-4 * lengths * slopes + 1e-6).all()
    assert_allclose(end.W, lengths[:, None] * directions)
    assert_allclose(end.scores, training.scores(end.W[:, :-1]) + end.W[:, -1:], rtol=1e-4, atol=1e-5)


def test_the_smooth_auc_of_the_folds_ends_about_where_the_descent_on_all_rows_does():
    X, y = skewed()
    _, rounds, view = training_of(X, y)
    alpha = 0.01
    start = next(view.training.newton_path("balanced_logistic", np.array([alpha])))
    for split, first, model in zip(rounds[0].splits, start, view.training.smooth_auc(start, alpha), strict=True):
        train = np.isin(rounds[0].parts, split.train)
        rows = MemoryRows(X[train] / view.scale, y[train], CLASSES)
        exact = Objective("smooth_auc", standardize=False).problem(rows).solve(Candidate(alpha), 1e-6).weights
        values = []
        for w in (first, model, exact):
            loss, spread = UnitScores.of(rows, rows.scores(w))
            values.append(loss(rows, rows.scores(w) / spread).value)
        assert values[1] < values[0]
        assert values[1] == pytest.approx(values[2], abs=2e-3)


@pytest.mark.parametrize("data", [skewed(), wide()], ids=["tall", "wide"])
def test_models_of_a_fold_do_not_know_the_labels_of_its_test_rows(data):
    X, y = data
    _, rounds, view = training_of(X, y)
    test = np.isin(rounds[0].parts, rounds[0].splits[0].test)
    flipped = np.where(test, 1 - y, y)
    models = []
    for labels in (y, flipped):
        targets = MemoryRows(X, labels, CLASSES).targets
        training = FoldTraining(FoldRows(view.training.rows.Z, targets, rounds, view.training.rows.variances))
        logistic = list(training.newton_path("balanced_logistic", view.level * np.array([1.0, 0.01, 1e-4])))
        models.append(np.array([training.square(np.array([0.1]), True)[0, 0], *(U[0] for U in logistic)]))
    gaps = np.linalg.norm(models[0] - models[1], axis=1) / np.linalg.norm(models[0], axis=1)
    assert (gaps < 0.02).all()  # training sets stop together, so that one may take a step more


@pytest.mark.parametrize("loss", [loss for loss in CURVATURES if loss not in ("smooth_auc", "sigmoid")])
def test_newton_path_of_the_folds_has_the_directions_of_exact_fits(loss):
    X, y = skewed()
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    _, rounds, view = training_of(X, y, weights)
    alphas = CURVATURES[loss] * view.level * np.array([1.0, 0.1, 0.01])
    found = list(view.training.newton_path(loss, alphas, view.training.square(alphas[:1], False)[:, 0]))
    Z = X / view.scale
    for alpha, models in zip(alphas, found, strict=True):
        exact = AUCClassifier(loss, alpha=alpha, standardize=False)
        for split, model in zip(rounds[0].splits, models, strict=True):
            train = np.isin(rounds[0].parts, split.train)
            w = exact.fit(Z[train], y[train], weights[train]).coef_[0]
            assert w @ model > 0.999 * np.linalg.norm(w) * np.linalg.norm(model)


def test_newton_path_of_the_sigmoid_ends_at_its_minimum():
    X, y = skewed()
    _, rounds, view = training_of(X, y)
    alphas = view.level * np.array([0.01, 0.001])
    start = next(view.training.newton_path("logistic", alphas[:1]))
    for alpha, models in zip(alphas, view.training.newton_path("sigmoid", alphas, start), strict=True):
        for split, model in zip(rounds[0].splits, models, strict=True):
            train = np.isin(rounds[0].parts, split.train)
            rows = MemoryRows(X[train] / view.scale, y[train], CLASSES)
            w = minimize(penalised_loss, model, (rows, find_loss("sigmoid"), alpha), jac=True, tol=1e-10).x
            assert w @ model > 0.999 * np.linalg.norm(w) * np.linalg.norm(model)


def penalised_loss(w, rows, loss, alpha):
    """Return a loss with an L2 penalty, and its gradient."""
    point = loss(rows, rows.scores(w))
    return point.value + alpha / 2 * w @ w, rows.X.T @ point.gradient + alpha * w
