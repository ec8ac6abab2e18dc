"""GaussianAUC and GaussianError: global optima of their objectives, functions of the class moments alone."""

import numpy as np
import pytest
from checks import what_is_expected
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime, minimize
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import AUCClassifier, ClassMoments, GaussianAUC, GaussianError, roc_auc
from aucmax.datasets import make_gaussian
from aucmax.papers.gaussian import Weights, center, covariances, error, one_minus_auc, start
from aucmax.solvers.descent import gradient_descent
from aucmax.solvers.square import MomentProblem

ALL = [
    GaussianAUC(),
    GaussianAUC("gradient", alpha=0.1),
    GaussianError(),
    GaussianError("gradient"),
    GaussianError("gradient", fit_intercept=False),
]
slow_descent = pytest.mark.filterwarnings("ignore:Gradient descent stopped:sklearn.exceptions.ConvergenceWarning")
every_estimator = pytest.mark.parametrize("estimator", ALL, ids=str)


@slow_descent
@parametrize_with_checks([GaussianAUC("gradient"), GaussianError("gradient")])  # the rest: test_estimator_checks.py
def test_estimator_check(estimator, check):
    with what_is_expected(check):
        check(estimator)


def make_rows(n=300, d=4, seed=0, ratio=0.3):
    """Rows of two Gaussian classes with different covariances, in columns of different units and origins."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < ratio).astype(int)
    roots = rng.normal(size=(2, d, d))
    X = np.einsum("ni,nij->nj", rng.normal(size=(n, d)), roots[y]) + y[:, None]
    return X * rng.uniform(0.1, 10, d) + rng.uniform(-5, 5, d), y


def make_moments(means, S, priors):
    """Moments that are known: those of very many rows."""
    moments = ClassMoments(len(means[0]))
    moments.weight = 1e12 * np.array(priors)
    moments.mean, moments.scatter = np.array(means, dtype=float), np.array(S) * moments.weight[:, None, None]
    return moments


def random_problem(seed, d=2):
    """Means, covariances and priors: from far to equal means, from even to extreme priors."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, d, d)) * rng.exponential(size=(2, 1, d))
    rare = rng.choice([0.5, 0.2, 0.03])
    priors = rng.permutation([rare, 1 - rare])
    means = rng.normal(size=(2, d)) * rng.choice([0, 0.3, 1, 3])
    return means, roots @ roots.swapaxes(1, 2) + 0.01 * np.eye(d), priors


def auc_of(w, means, S):
    return ndtr(w @ (means[1] - means[0]) / np.sqrt(w @ S[0] @ w + w @ S[1] @ w))


def error_of(w, c, means, S, priors):
    miss, alarm = (c - w @ means[1]) / np.sqrt(w @ S[1] @ w), (w @ means[0] - c) / np.sqrt(w @ S[0] @ w)
    return priors[1] * ndtr(miss) + priors[0] * ndtr(alarm)


# The objectives and the descent


@pytest.mark.parametrize("seed", range(5))
def test_gaussian_gradients_by_finite_differences(seed):
    means, S, priors = random_problem(seed, d=4)
    means = means + np.random.default_rng(seed).normal(size=(2, 4))
    w = np.random.default_rng(seed + 100).normal(size=4)
    for objective in (one_minus_auc(means, S.sum(axis=0)), error(means, S, priors)):
        value, gradient = objective(w)
        assert_allclose(gradient, approx_fprime(w, lambda v, f=objective: f(v)[0], 1e-7), atol=1e-6)
        assert_allclose(gradient @ w, 0, atol=1e-14)  # the length of w does not matter
        assert objective(w - 1e-3 * gradient)[0] < value
    assert one_minus_auc(means, S.sum(axis=0))(w)[0] == pytest.approx(1 - auc_of(w, means, S), abs=1e-14)
    assert error(means, S, priors)(w)[0] == pytest.approx(error_of(w, 0, means, S, priors), abs=1e-14)


def test_gaussian_descent_starts_as_in_the_paper():
    low, high = np.array([1.0, 2.0, 0.0]), np.array([2.0, 0.0, 3.0])
    w = start(np.array([low, high]))
    assert_allclose([w @ low, np.linalg.norm(w)], [0, 1], atol=1e-15)
    assert_allclose(np.cross(w, high - (low @ high) / (low @ low) * low), 0, atol=1e-15)
    assert_allclose(start(np.array([-0.3 * high, high])), high / np.linalg.norm(high), rtol=1e-14)  # centred columns
    assert_array_equal(start(np.zeros((2, 3))), 0)


def test_gaussian_descent_is_the_paper_s():
    """Each step by itself: the first of 1, 1/2, 1/4, ... that lowers F by 1e-4 of the step times the squared norm."""
    means, S = np.array([[8.0, 1, 0], [9, 1, 2]]), np.array([np.eye(3), np.diag([1, 2, 0.5])])
    objective, halved = error(means, S, np.array([0.6, 0.4])), False
    w = start(means)
    for n_steps in range(1, 8):
        with pytest.warns(ConvergenceWarning):
            after, iterations = gradient_descent(Weights(objective), start(means), n_steps, 1e-7, "increase max_iter")
        value, gradient = objective(w)
        step = 1.0
        while objective(w - step * gradient)[0] > value - 1e-4 * step * gradient @ gradient:
            step /= 2
        w, halved = w - step * gradient, halved or step < 1
        assert len(iterations) == n_steps
        assert iterations[-1].step == step
        assert_allclose(after, w, rtol=1e-12)
    assert halved
    # A step that ends as high as it began, here from 1 to -1, is no descent.
    w, iterations = gradient_descent(Weights(lambda w: (w @ w, 2 * w)), np.ones(1), 250, 1e-7)
    assert (w, len(iterations)) == (0, 1)


def test_the_descent_stops_at_tol_or_says_why_not():
    X, y = make_rows()
    clf = GaussianAUC("gradient", tol=1e-3).fit(X, y)
    assert 1 < clf.n_iter_ < 250
    problem = MomentProblem(clf.moments_, standardize=True)
    C = covariances(problem).sum(axis=0) + clf.alpha_ * np.eye(4)
    objective = one_minus_auc(problem.scaled.mean, C)
    first, last = (
        np.linalg.norm(objective(w)[1]) for w in (start(center(problem, True)), clf.coef_[0] * problem.scale)
    )
    assert last <= 1e-3 * first
    message = r"^Gradient descent stopped at max_iter=3 with its gradient at .* \(tol=1e-07\): increase max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message):
        assert GaussianAUC("gradient", max_iter=3).fit(X, y).n_iter_ == 3


# The largest AUC


@pytest.mark.parametrize("seed", range(8))
def test_exact_auc_is_the_largest_of_all_directions(seed):
    means, S, priors = random_problem(seed)
    moments = make_moments(means, S, priors)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    W = np.column_stack([np.cos(angles), np.sin(angles)])
    spread = np.sqrt(np.einsum("ni,ij,nj->n", W, S.sum(axis=0), W))
    largest = ndtr(W @ (means[1] - means[0]) / spread).max()
    for standardize in (True, False):
        clf = GaussianAUC(alpha=0, standardize=standardize).fit_moments(moments)
        assert clf.expected_auc_ == pytest.approx(largest, abs=1e-7)
        if means.any():  # else no direction is better than another, and the weights are 0
            assert clf.expected_auc_ == pytest.approx(auc_of(clf.coef_[0], means, S), abs=1e-12)


@slow_descent
@pytest.mark.parametrize("alpha", [0, 1.0, None])
@pytest.mark.parametrize("seed", range(4))
def test_exact_auc_is_never_below_the_descent(seed, alpha):
    X, y = make_rows(seed=seed, d=6)
    exact, descent = (GaussianAUC(solver, alpha=alpha).fit(X, y) for solver in ("exact", "gradient"))
    assert exact.alpha_ == descent.alpha_
    problem = MomentProblem(exact.moments_, standardize=True)
    ridge = covariances(problem) + 0.5 * exact.alpha_ * np.eye(6)
    best, reached = (auc_of(clf.coef_[0] * problem.scale, problem.scaled.mean, ridge) for clf in (exact, descent))
    assert reached <= best + 1e-14
    assert reached > best - 0.01  # and the descent is worth its name


def test_the_weights_are_those_of_the_pairwise_square_loss():
    X, y = make_rows()
    for alpha in (0.0, 0.3):
        clf = GaussianAUC(alpha=alpha).fit(X, y)
        assert_allclose(clf.coef_, AUCClassifier(alpha=alpha, solver="moments").fit(X, y).coef_, rtol=1e-9)
        # Sherman and Morrison, against the covariances themselves
        C = sum(np.cov(X[y == c], rowvar=False, bias=True) for c in range(2)) + alpha * np.diag(X.var(axis=0))
        w = np.linalg.solve(C, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
        assert_allclose(clf.coef_[0] / np.linalg.norm(clf.coef_), w / np.linalg.norm(w), rtol=1e-9)


def test_gaussian_auc_and_error_are_those_of_gaussian_rows():
    X, y, moments = make_gaussian(n_samples=50_000, n_features=5, ratio=0.2, auc=0.9, train_size=0, random_state=0)
    best = GaussianAUC().fit_moments(moments)
    assert best.expected_auc_ == pytest.approx(0.9, abs=1e-12)
    assert best.score(X, y) == pytest.approx(0.9, abs=0.006)
    for clf in (GaussianError().fit_moments(moments), GaussianError("gradient", max_iter=2000).fit_moments(moments)):
        assert np.mean(clf.predict(X) != y) == pytest.approx(clf.expected_error_, abs=0.004)


@pytest.mark.parametrize("standardize", [True, False])
def test_gaussian_auc_of_more_columns_than_rows_needs_no_tuning(standardize):
    X, y, moments = make_gaussian("data3", n_samples=60, n_features=200, outliers=0, random_state=0)
    X_test, y_test, _ = make_gaussian(moments=moments, n_samples=2000, ratio=0.5, outliers=0, random_state=1)
    untuned = GaussianAUC(standardize=standardize).fit(X, y)
    assert untuned.alpha_ > 0
    assert untuned.score(X_test, y_test) > 0.85
    alone = GaussianAUC(alpha=0, standardize=standardize).fit(X, y)
    assert untuned.score(X_test, y_test) > alone.score(X_test, y_test) - 1e-3
    clf = GaussianError(standardize=standardize).fit(X, y)
    assert np.mean(clf.predict(X_test) == y_test) > 0.75


def test_gaussian_shrinkage_is_for_few_rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3 == 0
    X = rng.standard_normal((60, 8)) + 0.5 * y[:, None]  # spheres: there is nothing to learn but the means
    few, many = (
        GaussianError().fit_moments(ClassMoments(8).update(X, y, np.full(60, weight))) for weight in (1.0, 1e6)
    )
    assert few.shrinkage_ > 0.5
    assert many.shrinkage_ < 1e-5
    alphas = [GaussianAUC().fit(X, y, np.full(60, weight)).alpha_ for weight in (1.0, 1e6)]
    assert alphas[0] > 1 > 1e-4 > alphas[1] >= 0
    # Both shrink alike: the sum of the covariances has the ridge of GaussianAUC.
    levels = np.trace(covariances(MomentProblem(few.moments_, True)), axis1=1, axis2=2) / 8
    assert few.shrinkage_ / (1 - few.shrinkage_) * levels.sum() == pytest.approx(alphas[0])


@pytest.mark.parametrize("shrinkage", [0.3, 1])
def test_covariances_shrink_towards_their_mean_variance(shrinkage):
    means, S, priors = random_problem(4, d=3)
    levels = np.trace(S, axis1=1, axis2=2)[:, None, None] / 3
    shrunk = make_moments(means, (1 - shrinkage) * S + shrinkage * levels * np.eye(3), priors)
    clf = GaussianError(shrinkage=shrinkage, standardize=False).fit_moments(make_moments(means, S, priors))
    assert_same_model(clf, GaussianError(shrinkage=0, standardize=False).fit_moments(shrunk), means)
    assert clf.shrinkage_ == shrinkage


# The least error


def least_error_by_search(means, S, priors):
    """All directions and thresholds of the plane, the best refined; or all rows to the larger class."""
    angles = np.linspace(0, 2 * np.pi, 361)
    W = np.column_stack([np.cos(angles), np.sin(angles)])
    scores = W @ np.asarray(means).T
    spread = np.sqrt(np.einsum("ni,cij,nj->nc", W, S, W))
    cuts = np.linspace((scores - 6 * spread).min(), (scores + 6 * spread).max(), 801)
    errors = priors[0] * ndtr((scores[:, :1] - cuts) / spread[:, :1])
    errors += priors[1] * ndtr((cuts - scores[:, 1:]) / spread[:, 1:])
    i, j = np.unravel_index(errors.argmin(), errors.shape)
    refined = minimize(
        lambda v: error_of(np.array([np.cos(v[0]), np.sin(v[0])]), v[1], means, S, priors),
        [angles[i], cuts[j]],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-15},
    )
    return min(refined.fun, min(priors))


@pytest.mark.parametrize("seed", range(25))
def test_exact_error_is_the_least_of_all_lines(seed):
    means, S, priors = random_problem(seed)
    clf = GaussianError(shrinkage=0, standardize=seed % 2 == 0).fit_moments(make_moments(means, S, priors))
    assert clf.expected_error_ == pytest.approx(least_error_by_search(means, S, priors), abs=1e-9)
    reached = error_of(clf.coef_[0], -clf.intercept_[0], means, S, priors)
    assert clf.expected_error_ == pytest.approx(reached, abs=1e-12)


EYE, LONG = np.eye(2), np.diag([9.0, 1.0])


@pytest.mark.parametrize(
    ("means", "S", "priors"),
    [
        ([[0, 0], [0, 0]], [EYE, LONG], [0.5, 0.5]),  # equal means: a tail of the wider class
        ([[0, 0], [0, 0.1]], [EYE, LONG], [0.5, 0.5]),  # delta has nothing in the direction that has almost all
        ([[0, 0], [0, 1]], [LONG, EYE], [0.5, 0.5]),
        ([[0, 0], [1, 1]], [EYE, EYE], [0.99, 0.01]),  # threshold beyond the mean of the rare class
        ([[0, 0], [1, 1]], [EYE, 3 * EYE], [0.9, 0.1]),  # proportional covariances
        ([[0, 0], [1, 0.2]], [LONG, EYE], [0.2, 0.8]),
    ],
)
def test_exact_error_at_the_ends_of_the_search(means, S, priors):
    means, S = np.array(means, dtype=float), np.array(S)
    clf = GaussianError(shrinkage=0).fit_moments(make_moments(means, S, priors))
    assert clf.expected_error_ == pytest.approx(least_error_by_search(means, S, priors), abs=1e-9)
    assert clf.expected_error_ < min(priors)


def multiplier(clf, means, S):
    """The t of w = (t S_1 + (1 - t) S_0)^-1 delta, checked to be one."""
    w, c = clf.coef_[0], -clf.intercept_[0]
    a, b = (w @ means[1] - c) / (w @ S[1] @ w), (c - w @ means[0]) / (w @ S[0] @ w)
    assert_allclose((a * S[1] + b * S[0]) @ w, means[1] - means[0], atol=1e-7 * np.abs(means).max())
    assert np.linalg.eigvalsh(a * S[1] + b * S[0]).min() > -1e-9
    return a / (a + b)


def test_gaussian_error_multiplier_may_be_outside_0_and_1():
    means, S = np.array([[0.0, 0, 0], [1.5, 1, 0.5]]), np.array([np.diag([1.0, 2, 3]), np.diag([2.0, 1, 1])])
    even = GaussianError(shrinkage=0).fit_moments(make_moments(means, S, [0.5, 0.5]))
    assert 0 < multiplier(even, means, S) < 1
    rare = GaussianError(shrinkage=0).fit_moments(make_moments(means, S, [0.95, 0.05]))
    assert multiplier(rare, means, S) < 0


@slow_descent
@pytest.mark.parametrize("seed", range(6))
def test_exact_error_is_at_most_that_of_the_descent_and_of_lda(seed):
    X, y = make_rows(seed=seed, d=5, ratio=0.2)
    exact = GaussianError(shrinkage=0).fit(X, y)
    descent = GaussianError("gradient", shrinkage=0).fit(X, y)
    letter = GaussianError("gradient", shrinkage=0, fit_intercept=False).fit(X, y)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    S = exact.moments_.scatter / exact.moments_.weight[:, None, None]
    of_lda = error_of(lda.coef_[0], -lda.intercept_[0], exact.moments_.mean, S, exact.priors_)
    assert exact.expected_error_ <= min(descent.expected_error_, letter.expected_error_, of_lda) + 1e-12
    assert descent.expected_error_ < exact.expected_error_ + 0.02


def test_equal_covariances_give_lda():
    rng = np.random.default_rng(0)
    means, A = rng.normal(size=(2, 4)), rng.normal(size=(4, 4))
    S, priors = A @ A.T + np.eye(4), np.array([0.8, 0.2])
    clf = GaussianError().fit_moments(make_moments(means, [S, S], priors))
    w = np.linalg.solve(S, means[1] - means[0])
    assert_allclose(clf.coef_[0], w, rtol=1e-7)
    assert_allclose(clf.intercept_, -w @ means.mean(axis=0) + np.log(0.2 / 0.8), rtol=1e-7)
    x = rng.normal(size=(50, 4))
    density = [np.exp(-0.5 * np.einsum("ni,ij,nj->n", x - m, np.linalg.inv(S), x - m)) for m in means]
    posterior = priors[1] * density[1] / (priors[0] * density[0] + priors[1] * density[1])
    assert_allclose(clf.predict_proba(x)[:, 1], posterior, rtol=1e-6)


def test_the_letter_of_the_paper_has_its_threshold_at_zero():
    X, y = make_rows()
    clf = GaussianError("gradient", fit_intercept=False, tol=1e-2).fit(X, y)
    assert_allclose(clf.decision_function(X.mean(axis=0)[None]), 0, atol=1e-12)
    clf = GaussianError("gradient", fit_intercept=False, standardize=False, tol=0.3).fit(X, y)
    assert_allclose(clf.intercept_, 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"^solver='exact' finds the threshold too: it needs fit_intercept=True\.$"):
        GaussianError(fit_intercept=False).fit(X, y)


@slow_descent
@pytest.mark.parametrize("solver", ["exact", "gradient"])
def test_gaussian_error_predicts_at_a_probability_of_one_half(solver):
    X, y = make_rows(n=2000, ratio=0.1)
    clf = GaussianError(solver).fit(X, y)
    probabilities = clf.predict_proba(X)[:, 1]
    assert_array_equal(clf.predict(X), (probabilities > 0.5).astype(int))
    assert (np.diff(probabilities[np.argsort(clf.decision_function(X))]) >= 0).all()
    assert 0 < np.mean(clf.predict(X)) < np.mean(GaussianAUC().fit(X, y).predict(X))


def test_priors_move_the_threshold():
    X, y = make_rows(n=1000)
    by_weight = GaussianError().fit(X, y)
    assert_allclose(by_weight.priors_, [1 - y.mean(), y.mean()])
    given = GaussianError(priors=by_weight.priors_).fit(X, y)
    assert_allclose(given.decision_function(X), by_weight.decision_function(X), rtol=1e-9, atol=1e-9)
    shares = [np.mean(GaussianError(priors=[100 - p, p]).fit(X, y).predict(X)) for p in (10, 50, 90)]
    assert shares[0] < shares[1] < shares[2]
    S = by_weight.moments_.scatter / by_weight.moments_.weight[:, None, None]
    even = GaussianError(priors=[1, 1], shrinkage=0).fit(X, y)
    expected = error_of(even.coef_[0], -even.intercept_[0], even.moments_.mean, S, [0.5, 0.5])
    assert even.expected_error_ == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rare", [0, 1])
def test_a_rare_class_inside_the_other_is_given_up(rare):
    priors = np.where(np.arange(2) == rare, 0.02, 0.98)
    S = np.where((np.arange(2) == rare)[:, None, None], np.diag([0.5, 0.2]), EYE)
    moments = make_moments([[0, 0], [0.5, 0.5]], S, priors)
    clf = GaussianError().fit_moments(moments)
    assert clf.expected_error_ == pytest.approx(0.02, abs=1e-12)
    X, y, _ = make_gaussian(moments=moments, n_samples=1000, ratio=0.5, train_size=0, random_state=0)
    assert_array_equal(clf.predict(X), 1 - rare)
    assert_allclose(clf.predict_proba(X)[:, rare], 0.02, atol=0.02)
    assert clf.score(X, y) == GaussianAUC().fit_moments(moments).score(X, y) > 0.6  # the order is still there


@every_estimator
def test_gaussian_classifiers_of_columns_without_information(estimator):
    y = np.repeat([0, 1], [30, 10])
    clf = clone(estimator).fit(np.ones((40, 3)), y)
    assert_array_equal(clf.coef_, 0)
    assert_allclose(clf.predict_proba(np.ones((2, 3)))[:, 1], 0.25)
    X, labels = make_rows()
    with_constant = clone(estimator).set_params(tol=0.1).fit(np.column_stack([X, np.full(300, 7.0)]), labels)
    assert with_constant.coef_[0, -1] == 0


@slow_descent
@every_estimator
def test_gaussian_classifiers_of_one_column(estimator):
    X, y = make_rows(d=1)
    X[y == 1] += 10
    clf = clone(estimator).fit(X, y)
    assert clf.coef_[0, 0] > 0
    assert clf.score(X, y) == roc_auc(y, X[:, 0])


# Functions of the moments: streams, weights, units, containers


def assert_same_model(actual, expected, X, rtol=1e-6):
    assert_allclose(actual.coef_, expected.coef_, rtol=rtol, atol=rtol * np.abs(expected.coef_).max())
    scores = expected.decision_function(X)
    assert_allclose(actual.decision_function(X), scores, atol=rtol * np.abs(scores).max())
    assert_allclose(actual.predict_proba(X), expected.predict_proba(X), atol=10 * rtol)


@slow_descent
@every_estimator
def test_gaussian_partial_fit_of_any_stream_is_one_fit(estimator):
    X, y = make_rows()
    whole, stream = clone(estimator).fit(X, y), clone(estimator)
    for block in np.split(np.random.default_rng(0).permutation(300), [5, 40, 41, 250]):
        stream.partial_fit(X[block], y[block], classes=[0, 1])
    assert_same_model(stream, whole, X)
    assert_same_model(clone(estimator).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:]), whole, X)
    moments = [ClassMoments(4).update(X[rows], y[rows]) for rows in (slice(0, 120), slice(120, None))]
    merged = clone(estimator).fit_moments(moments[1].merge(moments[0]))
    assert_same_model(merged, whole, X)
    assert merged.n_features_in_ == 4


def test_partial_fit_predicts_once_both_classes_were_seen():
    X, y = make_rows()
    clf = GaussianError().partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    with pytest.raises(NotFittedError):
        clf.predict(X)
    assert_same_model(clf.partial_fit(X[y == 1], y[y == 1]), GaussianError().fit(X, y), X)


@slow_descent
@every_estimator
def test_integer_weights_are_repeated_rows(estimator):
    X, y = make_rows(n=80)
    weights = np.random.default_rng(1).integers(0, 4, 80)
    repeated = clone(estimator).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert_same_model(clone(estimator).fit(X, y, sample_weight=weights), repeated, X)


@slow_descent
@every_estimator
def test_gaussian_classifiers_ignore_units_and_origins(estimator):
    X, y = make_rows()
    scale, shift = np.array([1e-3, 1.0, 42.0, 1e4]), np.array([0, 100.0, -1.0, 1e3])
    clf, other = clone(estimator).fit(X, y), clone(estimator).fit(X * scale + shift, y)
    assert_allclose(other.coef_ * scale, clf.coef_, rtol=1e-5)
    assert_allclose(other.decision_function(X * scale + shift), clf.decision_function(X), rtol=1e-5, atol=1e-5)


def test_without_shrinkage_columns_need_not_be_standardised():
    X, y = make_rows()
    X *= np.array([1e-5, 1.0, 1e3, 1e5])
    clf, other = (GaussianError(shrinkage=0, standardize=standardize).fit(X, y) for standardize in (True, False))
    assert_allclose(other.coef_, clf.coef_, rtol=1e-6)


@pytest.mark.parametrize("estimator", [GaussianAUC(alpha=0, standardize=False), GaussianError(shrinkage=0)], ids=str)
def test_mixing_the_columns_does_not_matter_without_shrinkage(estimator):
    X, y = make_rows()
    A = np.random.default_rng(1).normal(size=(4, 4))
    clf, mixed = clone(estimator).fit(X, y), clone(estimator).fit(X @ A, y)
    assert_allclose(mixed.coef_ @ A.T, clf.coef_, rtol=1e-5)
    assert_allclose(mixed.decision_function(X @ A), clf.decision_function(X), rtol=1e-5, atol=1e-5)


@slow_descent
@pytest.mark.parametrize("estimator", [GaussianAUC(), GaussianAUC("gradient"), GaussianError()], ids=str)
def test_swapped_labels_reverse_the_scores(estimator):
    X, y = make_rows()
    clf, swapped = clone(estimator).fit(X, y), clone(estimator).fit(X, 1 - y)
    assert_allclose(swapped.coef_, -clf.coef_, rtol=1e-6)
    assert_allclose(swapped.decision_function(X), -clf.decision_function(X), rtol=1e-5, atol=1e-6)
    assert_allclose(swapped.predict_proba(X), clf.predict_proba(X)[:, ::-1], rtol=1e-5, atol=1e-9)


@slow_descent
@every_estimator
def test_gaussian_classifiers_of_sparse_rows_and_text_labels(estimator):
    X, y = make_rows()
    X = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    dense = clone(estimator).fit(X, y)
    assert_same_model(clone(estimator).fit(sparse.csr_array(X), np.array(["ham", "spam"])[y]), dense, X)


# Meeting the rest


def test_gaussian_callbacks_see_the_tasks():
    class Recorder:
        seen = []  # noqa: RUF012

        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_end = setup

        def on_fit_task_begin(self, estimator, context):
            self.seen.append(context.task_name)

    GaussianError().set_callbacks(Recorder()).fit(*make_rows())
    assert Recorder.seen == ["fit", "moments", "solve"]


def test_gaussian_error_is_unchanged_by_a_failed_call():
    X, y = make_rows()
    clf = GaussianError().fit(X, y)
    before = dict(vars(clf))
    failures = [
        lambda: clf.fit(X[:, :2], np.ones(300)),
        lambda: clf.partial_fit(X, y + 1),
        lambda: clf.partial_fit(X[:, :2], y),
        lambda: clf.fit_moments(ClassMoments(3)),
        lambda: clf.set_params(priors=[1, 2, 3]).fit(X[:, :2], y),
    ]
    for failure in failures:
        with pytest.raises(ValueError):  # noqa: PT011
            failure()
        clf.set_params(priors=None)
        assert vars(clf).keys() == before.keys()
        assert all(vars(clf)[name] is value for name, value in before.items())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            GaussianAUC(alpha=-1),
            r"The 'alpha' parameter of GaussianAUC must be a float in the range \[0\.0, inf\) or N",
        ),
        (GaussianAUC("newton"), r"The 'solver' parameter of GaussianAUC must be a str among"),
        (
            GaussianError(shrinkage=2),
            r"The 'shrinkage' parameter of GaussianError must be a float in the range \[0\.0, 1",
        ),
        (
            GaussianError(priors=[1, 0]),
            r"^priors must be two positive numbers, of the negative and .*; got \[1, 0\]\.$",
        ),
        (GaussianError(priors=[0.2, 0.3, 0.5]), r"^priors must be two positive numbers"),
        (GaussianError(priors=["a", "b"]), r"^priors must be two positive numbers"),
        (GaussianError(priors=[1, np.nan]), r"^priors must be two positive numbers"),
    ],
)
def test_gaussian_classifiers_refuse_parameters(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*make_rows(n=40))


def test_gaussian_classifiers_refuse_data():
    X, y = make_rows(n=40)
    for clf in (GaussianAUC(), GaussianError()):
        with pytest.raises(ValueError, match=r"^AUC needs two classes, but y holds only one class: 1\.0\.$"):
            clf.fit(X, np.ones(40))
        with pytest.raises(
            ValueError, match=r"^AUC needs two classes, but class 0 has no row with a weight above 0\.$"
        ):
            clf.fit(X, y, sample_weight=y)
        with pytest.raises(ValueError, match=r"Input X contains NaN"):
            clf.fit(np.where(X > 4, np.nan, X), y)
        with pytest.raises(
            ValueError, match=r"^AUC needs two classes, but y of this first call \(classes=None\) holds"
        ):
            clf.partial_fit(X[y == 1], y[y == 1])
        differ = r"^classes=\[0, 2\] differ from the classes of the first call, \[0, 1\]\.$"
        with pytest.raises(ValueError, match=differ):
            clf.partial_fit(X, y).partial_fit(X, y, classes=[0, 2])
