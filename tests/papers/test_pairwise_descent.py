"""PairwiseDescent and LogisticDescent: every step passes the paper's test, and the steps lead to the known minima."""

import numpy as np
import pytest
from checks import what_is_expected
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import SVMOR, AUCClassifier, LogisticDescent, PairwiseDescent
from aucmax.datasets import make_gaussian
from aucmax.papers import ALGORITHMS
from aucmax.solvers import descent

LOSSES = {"hinge": lambda t: np.maximum(0, 1 - t), "logistic": lambda t: np.logaddexp(0, -t)}
every_loss = pytest.mark.parametrize("loss", LOSSES)
cut_short = pytest.mark.filterwarnings("ignore:Gradient descent stopped:sklearn.exceptions.ConvergenceWarning")


@cut_short
@pytest.mark.slow
@parametrize_with_checks([PairwiseDescent("logistic"), LogisticDescent()])  # the other: test_estimator_checks.py
def test_estimator_check_of_pairwise_descent(estimator, check):
    with what_is_expected(check):
        check(estimator)


def make_rows(n=80, d=4, seed=0):
    """Overlapping classes, in columns of different units and origins."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + y[:, None]
    return X * rng.uniform(0.1, 10, d) + rng.uniform(-5, 5, d), y


def value(loss, w, X, y, alpha, scale=1.0):
    """Return F, by the definition."""
    t = (X[y == 1] @ w)[:, None] - X[y == 0] @ w
    return LOSSES[loss](t).mean() + alpha / 2 * np.sum((scale * w) ** 2)


@pytest.fixture
def steps(monkeypatch):
    """The steps that a fit takes: where from, along which gradient, and where to."""
    taken = []

    def watched(at, direction, *search):
        new = step(at, direction, *search)
        taken.append((at.v, -direction, None if new is None else new.v))
        return new

    step = descent.DescentPoint.step
    monkeypatch.setattr(descent.DescentPoint, "step", watched)
    return taken


@cut_short
@every_loss
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_pairwise_descent_steps_pass_the_test_of_the_paper(loss, alpha, steps):
    X, y = make_rows()
    X *= 5 / X.std(axis=0)  # so steep that the whole gradient is too long a step
    clf = PairwiseDescent(loss, alpha=alpha, standardize=False, max_iter=40).fit(X, y)
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert_allclose(steps[0][0], delta / np.linalg.norm(delta), rtol=1e-9)
    assert clf.n_iter_ == len(steps) > 10
    halved = 0
    for v, gradient, new in steps:
        h = 1e-6
        ahead, behind = (value(loss, v + s * h * gradient, X, y, alpha) for s in (1, -1))
        if loss == "logistic":
            assert (ahead - behind) / (2 * h) == pytest.approx(gradient @ gradient, rel=1e-4, abs=1e-9)
        if new is None:
            continue
        step = np.linalg.norm(new - v) / np.linalg.norm(gradient)
        assert_allclose(new, v - step * gradient, rtol=1e-7, atol=1e-12)
        assert np.log2(step) == pytest.approx(round(np.log2(step)), abs=1e-6)
        before = value(loss, v, X, y, alpha)

        def falls(a, v=v, gradient=gradient, before=before):
            return value(loss, v - a * gradient, X, y, alpha) <= before - 1e-4 * a * gradient @ gradient + 1e-14

        assert falls(step)
        if step < 0.9:
            halved += 1
            assert not falls(2 * step)
    assert halved > 5
    v, _, new = steps[-1]
    assert_allclose(clf.coef_[0], v if new is None else new, rtol=1e-12)


def test_descent_halves_a_step_without_gain():
    class Square:
        def scores(self, v):
            return 3 * v

        def evaluate(self, v, scores):
            assert scores == 3 * v
            return float(v @ v), lambda: 2 * v

    one = np.ones(1)
    at = descent.DescentPoint(Square(), one)
    assert at.step(-2 * one).v == 0  # and not -1, as high as it was at 1
    assert at.step(one, slack=0.0) is None
    assert at.step(one, slack=10.0).v == 2


def test_backtracking_of_several_functions_at_once():
    """(1 - t)^2, (1 - 4 t)^2 and (1 + t)^2, from a length of 1 on: one is short enough, one too long, one rises."""
    rates = np.array([1.0, 4.0, -1.0])
    called = []

    def F(t):
        called.append(t)
        return (1 - rates * t) ** 2

    lengths = descent.backtrack(F, np.ones(3), -2 * rates, np.ones(3), (1, 1 / 4, 1 / 16, 0))
    assert_allclose(lengths, [1, 1 / 4, 0])
    assert_allclose(called[-1], lengths)
    assert descent.backtrack(lambda t: (1 - 4 * t) ** 2, 1.0, -8.0) == 1 / 4


def test_the_logistic_loss_to_its_minimum():
    X, y = make_rows()
    clf = PairwiseDescent("logistic", alpha=0.1).fit(X, y)
    exact = AUCClassifier("logistic", alpha=0.1, tol=1e-10).fit(X, y)
    assert 1 < clf.n_iter_ < 250
    assert_allclose(clf.coef_, exact.coef_, rtol=1e-5)
    assert_allclose(clf.predict_proba(X), exact.predict_proba(X), rtol=1e-4)


def test_pairwise_descent_on_the_hinge_never_rises(steps):
    X, y = make_rows()
    alpha = 0.05
    clf = PairwiseDescent("hinge", alpha=alpha).fit(X, y)
    scale = X.std(axis=0)
    values = [value("hinge", v, X / scale, y, alpha) for v, _, _ in steps]
    assert all(np.diff(values) <= 1e-15)
    best = value("hinge", SVMOR(C=1 / alpha).fit(X, y).coef_[0], X, y, alpha, scale)
    last = value("hinge", clf.coef_[0], X, y, alpha, scale)
    assert best * (1 - 1e-6) <= last <= 1.01 * best
    assert last < values[0] - 10 * (last - best)


def test_rows_that_a_plane_parts_end_the_descent_on_the_hinge_at_zero(steps):
    X, y, _ = make_gaussian("data1", n_samples=60, n_features=20, random_state=0)
    clf = PairwiseDescent(tol=1e-7).fit(X, y)
    assert clf.n_iter_ < 250
    assert value("hinge", clf.coef_[0], X, y, 0) == 0
    assert clf.score(X, y) == 1


def test_a_descent_that_is_cut_short_says_so_where_it_could_converge():
    X, y = make_rows()
    with pytest.warns(ConvergenceWarning, match=r"^Gradient descent stopped at max_iter=3 with its gradient at \d"):
        clf = PairwiseDescent("logistic", max_iter=3).fit(X, y)
    assert clf.n_iter_ == 3
    assert PairwiseDescent(max_iter=3).fit(X, y).n_iter_ == 3  # the hinge: no warning


@cut_short
@every_loss
def test_pairwise_descent_invariances(loss):
    X, y = make_rows()
    clf = PairwiseDescent(loss, alpha=0.1, max_iter=20, tol=1e-3)
    coef = clf.fit(X, y).coef_
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = clf.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).coef_
    assert_allclose(clf.fit(X, y, times).coef_, repeated, rtol=1e-6)
    scale = np.array([1e-3, 1.0, 1e3, 7.0])
    assert_allclose(clf.fit(X * scale, y).coef_ * scale, coef, rtol=1e-6)
    assert_allclose(clf.fit(sparse.csr_array(X), y).coef_, coef, rtol=1e-6)
    assert_allclose(clf.fit(X, 1 - y).coef_, -coef, rtol=1e-6)
    plain = PairwiseDescent(loss, alpha=0.1, max_iter=20, tol=1e-3, standardize=False)
    assert_allclose(plain.fit(X / X.std(axis=0), y).coef_, coef * X.std(axis=0), rtol=1e-6)


def test_pairwise_descent_of_columns_without_information():
    X, y = np.tile(np.arange(4.0)[:, None], (2, 3)), np.repeat([0, 1], 4)
    clf = PairwiseDescent().fit(X, y)
    assert_allclose(clf.coef_, 0)
    assert clf.n_iter_ == 1
    assert clf.score(X, y) == 0.5


def test_the_registry_has_one_for_each_loss():
    made = [ALGORITHMS[name]() for name in ("PairwiseDescent", "PairwiseDescentLog")]
    assert [clf.loss for clf in made] == list(LOSSES)


# The logistic loss of single rows


@pytest.mark.parametrize("standardize", [True, False])
def test_logistic_descent_ends_at_logistic_regression(standardize):
    X, y = make_rows()
    X /= X.std(axis=0)
    clf = LogisticDescent(alpha=0.05, standardize=standardize, max_iter=20_000).fit(X, y)
    exact = LogisticRegression(C=1 / (80 * 0.05), tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(clf.coef_, exact.coef_, rtol=1e-4)
    assert_allclose(clf.intercept_, exact.intercept_, rtol=1e-4)
    assert_allclose(clf.predict_proba(X), exact.predict_proba(X), rtol=1e-4)
    assert_allclose(clf.predict(X), exact.predict(X))
    assert_allclose(clf.priors_, [1 - y.mean(), y.mean()])
    assert np.all(np.diff(clf.history_["value"]) <= 0)
    assert clf.history_["gradient_norm"][-1] <= 1e-7 * clf.history_["gradient_norm"][0] * 10
    assert LogisticDescent(tol=0.1).fit(X, y).alpha_ == 1 / 80


@pytest.mark.parametrize("standardize", [True, False])
def test_logistic_descent_invariances(standardize):
    X, y = make_rows()
    X = X / X.std(axis=0) - X.mean(axis=0) / X.std(axis=0) / 2
    clf = LogisticDescent(alpha=0.1, tol=0.05, standardize=standardize)
    coef, offset = clf.fit(X, y).coef_, clf.intercept_
    times = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = LogisticDescent(tol=0.1).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = LogisticDescent(tol=0.1).fit(X, y, times)
    assert weighted.alpha_ == pytest.approx(1 / times.sum())
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    assert_allclose(clf.fit(sparse.csr_array(X), y).coef_, coef, rtol=1e-6)
    swapped = clf.fit(X, 1 - y)
    assert_allclose(swapped.coef_, -coef, rtol=1e-6)
    assert_allclose(swapped.intercept_, -offset, rtol=1e-6)
    if standardize:  # nothing depends on units and origins
        far = clf.fit(X * [1e-3, 1, 1e3, 7] + [0, 1e9, 5, 0], y)
        assert_allclose(far.coef_ * [1e-3, 1, 1e3, 7], coef, rtol=1e-5)


def test_logistic_descent_that_is_cut_short_says_so():
    X, y = make_rows()
    with pytest.warns(ConvergenceWarning, match=r"^Gradient descent stopped at max_iter=3 .*LogisticRegression"):
        assert LogisticDescent(max_iter=3).fit(X, y).n_iter_ == 3
    assert LogisticDescent(variant="paper", max_iter=3, random_state=0).fit(X, y).n_iter_ == 3  # as in the paper
