"""The losses that are no sums over pairs: the balanced logistic loss and the smooth AUC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge

from aucmax import AUCClassifier, GaussianAUC, GaussianError, pairwise_loss, roc_auc
from aucmax.losses.rowwise import logistic_terms
from aucmax.losses.smooth_auc import SLOPE, SmoothAUC, UnitScores, fill_fields, pair_sum
from aucmax.rows.memory import MemoryRows, MemorySpace
from aucmax.rows.protocol import Targets
from aucmax.rows.summaries.scores import ScoreMoments
from aucmax.solvers.candidate import Candidate
from aucmax.solvers.problem import Objective


def cloud(n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1)
    return X, (X @ np.ones(d) + 3 * rng.logistic(size=n) > 2).astype(int), rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_balanced_logistic_is_logistic_regression_with_balanced_classes(weighted):
    X, y, weights = cloud()
    weights = weights if weighted else np.ones(len(y))
    alpha = 0.05
    clf = AUCClassifier("balanced_logistic", alpha=alpha, standardize=False, tol=1e-9).fit(X, y, sample_weight=weights)
    balanced = weights * np.where(y, 0.5 / weights[y == 1].sum(), 0.5 / weights[y == 0].sum())
    other = LogisticRegression(C=1 / alpha, tol=1e-12, max_iter=10_000).fit(X, y, sample_weight=balanced)
    assert_allclose(clf.coef_, other.coef_, rtol=1e-6)


def test_derivatives_of_balanced_logistic_by_finite_differences():
    rng = np.random.default_rng(0)
    y, scores, v = np.arange(9) % 3 == 0, rng.standard_normal(9), rng.standard_normal(9)
    point = pairwise_loss(y, scores, "balanced_logistic")
    step = 1e-5
    ahead, behind = (pairwise_loss(y, scores + sign * step * v, "balanced_logistic") for sign in (1, -1))
    assert (ahead.value - behind.value) / (2 * step) == pytest.approx(point.gradient @ v, rel=1e-8)
    assert_allclose((ahead.gradient - behind.gradient) / (2 * step), point.hessian_product(v), atol=1e-9)
    assert point.gradient.sum() == pytest.approx(0, abs=1e-12)
    assert pairwise_loss(y, scores + 50, "balanced_logistic").value == pytest.approx(point.value, rel=1e-10)
    far = pairwise_loss(y, 1e3 * scores, "balanced_logistic")
    assert np.isfinite(far.value)
    assert far.gradient.sum() == pytest.approx(0, abs=1e-9)


def test_pooled_is_the_direction_of_discriminant_analysis_and_ridge_regression():
    X, y, _ = cloud()
    clf = AUCClassifier("pooled", alpha=0.0, standardize=False).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(clf.coef_ / np.linalg.norm(clf.coef_), lda.coef_ / np.linalg.norm(lda.coef_), rtol=1e-8)
    ridge = Ridge(alpha=10.0).fit(X, y).coef_  # M = 2 (covariance of all rows) + a multiple of delta delta'
    clf = AUCClassifier("pooled", alpha=20.0 / len(y), standardize=False).fit(X, y)
    assert_allclose(clf.coef_[0] / np.linalg.norm(clf.coef_), ridge / np.linalg.norm(ridge), rtol=1e-8)


def test_pooled_by_every_solver_penalty_and_from_streams():
    X, y, _ = cloud()
    for given in ({}, {"penalty": "l1"}, {"n_nonzero": 2}):
        fits = [AUCClassifier("pooled", alpha=0.05, solver=s, tol=1e-10, **given).fit(X, y) for s in ("moments", "cg")]
        assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-6, atol=1e-9)
    dual = AUCClassifier("pooled", alpha=0.05, solver="dual").fit(X, y)
    stream = AUCClassifier("pooled", alpha=0.05).partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])
    assert_allclose(dual.coef_, stream.coef_, rtol=1e-9)
    assert not np.allclose(stream.coef_, AUCClassifier("squared", alpha=0.05).fit(X, y).coef_, rtol=1e-3)


def space_of(y, weights=None):
    totals = np.array([np.sum(y == 0), np.sum(y == 1)], dtype=float)
    return MemorySpace(Targets(y == 1, weights, totals))


def test_the_smooth_auc_by_brute_force():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3 == 0
    scores = rng.standard_normal(300) + y
    space = space_of(y)
    loss = SmoothAUC(np.array([0.0, 1.0]))
    brute = expit(-SLOPE * (scores[y][:, None] - scores[~y])).mean()
    point = loss(space, scores)
    assert point.value == pytest.approx(brute, abs=2e-4)
    assert 1 - point.value == pytest.approx(roc_auc(y, scores), abs=0.02)
    v, step = rng.standard_normal(300), 1e-6  # so short that no score crosses a point of the grid
    ahead, behind = (loss(space, scores + sign * step * v).value for sign in (1, -1))
    assert (ahead - behind) / (2 * step) == pytest.approx(point.gradient @ v, rel=1e-3)


def test_sums_over_pairs_of_points_by_brute_force():
    rng = np.random.default_rng(0)
    masses, kernel, n_points = rng.random((2, 7)), rng.standard_normal(13), 7
    pairs = np.array([[kernel[a - b + n_points - 1] for b in range(n_points)] for a in range(n_points)])
    fields = np.empty((2, n_points))
    fill_fields(masses, kernel, fields)
    assert_allclose(fields, [masses[1] @ pairs, pairs @ masses[0]])
    assert pair_sum(masses, kernel) == pytest.approx(masses[1] @ pairs @ masses[0])


def test_blocks_of_the_smooth_auc_add_up():
    rng = np.random.default_rng(0)
    y, scores = np.arange(50) % 2 == 0, rng.standard_normal(50)
    loss = SmoothAUC(np.array([0.0, 0.5]))
    whole, slices = space_of(y), (slice(0, 20), slice(20, 50))
    parts = [MemorySpace(Targets(y[rows], None, whole.totals)) for rows in slices]
    halves = [loss.masses(part, scores[rows]) for part, rows in zip(parts, slices, strict=True)]
    assert_allclose(sum(halves), loss.masses(whole, scores), atol=1e-14)
    assert_allclose(sum(halves).sum(axis=1), 1)


def test_the_descent_lowers_the_smooth_auc():
    X, y, _ = cloud(seed=3)
    rows = MemoryRows(X, y, np.array([0, 1]))
    values = []
    for loss in ("balanced_logistic", "smooth_auc"):
        w = Objective(loss).problem(rows).solve(Candidate(0.01), 1e-8).weights
        smooth, spread = UnitScores.of(rows, X @ w)
        values.append(smooth(rows, X @ w / spread).value)
    assert values[1] < values[0]
    assert AUCClassifier("smooth_auc", alpha=0.01).fit(X * 1e3, y).score(X * 1e3, y) > 0.5


def test_a_few_scores_do_not_move_the_spread_of_all_others():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2 == 0
    space, scores = space_of(y), rng.standard_normal(2000) + y
    spread = ScoreMoments.of(space.targets, scores).spread
    assert UnitScores.of(space, scores).spread == spread  # also of the shortest tails, and of scores mostly equal
    assert UnitScores.of(space, np.sign(scores)).spread == ScoreMoments.of(space.targets, np.sign(scores)).spread
    rare = np.where(np.arange(2000) < 40, scores, 0.0)
    assert UnitScores.of(space, rare).spread == ScoreMoments.of(space.targets, rare).spread
    scores[:4] *= 1e6
    assert UnitScores.of(space, scores).spread == pytest.approx(spread, rel=0.2)
    cauchy = rng.standard_cauchy(2000)
    assert UnitScores.of(space, cauchy).spread < 10 < ScoreMoments.of(space.targets, cauchy).spread
    assert UnitScores.of(space, np.zeros(2000)).spread == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_descent_on_long_tails_does_not_end_below_its_start(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy((600, 3))
    y = (np.arctan(X) @ [1.0, 0.6, 0.2] + 0.7 * rng.logistic(size=600) > 0).astype(int)
    start, end = (AUCClassifier(loss, alpha=1e-3).fit(X, y).score(X, y) for loss in ("balanced_logistic", "smooth_auc"))
    assert end >= start


def test_pooled_gaussians_are_discriminant_analysis():
    X, y, _ = cloud()
    lda = LinearDiscriminantAnalysis().fit(X, y)
    for solver in ("exact", "gradient"):
        clf = GaussianAUC(solver, alpha=0.0, pooled=True, tol=1e-6, max_iter=5000).fit(X, y)
        assert_allclose(clf.coef_ / np.linalg.norm(clf.coef_), lda.coef_ / np.linalg.norm(lda.coef_), rtol=1e-3)
    clf = GaussianError(shrinkage=0.0, pooled=True).fit(X, y)
    # Covariances are divided by the number of rows here, and by two less in scikit-learn.
    assert_allclose(clf.coef_ / np.linalg.norm(clf.coef_), lda.coef_ / np.linalg.norm(lda.coef_), rtol=1e-6)
    assert_allclose(np.linalg.norm(clf.coef_), np.linalg.norm(lda.coef_), rtol=0.02)
    assert GaussianAUC(pooled=True).fit(X, y).alpha_ > 0


def test_logistic_terms_are_exact_at_all_margins():
    t = np.concatenate([np.linspace(-40, 40, 81), [-1e4, -800.0, 800.0, 1e4, 0.0]])
    values, slopes, curvatures = logistic_terms(t)
    assert_allclose(values, np.logaddexp(0, -t), rtol=1e-14)
    assert_allclose(slopes, -expit(-t), rtol=1e-14)
    assert_allclose(curvatures, expit(t) * expit(-t), rtol=1e-14)
    near = t[np.abs(t) < 10]
    assert_allclose(
        (logistic_terms(near + 1e-6)[0] - logistic_terms(near - 1e-6)[0]) / 2e-6, logistic_terms(near)[1], rtol=1e-5
    )
    single = logistic_terms(t.astype(np.float32))
    assert all(part.dtype == np.float32 for part in single)
    assert_allclose(single[0], values, rtol=1e-6)
