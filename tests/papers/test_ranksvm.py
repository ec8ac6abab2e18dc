"""BAM, SVM-perf and SVM-OR: the minima of the papers' own objectives, found over the pairs and by cutting planes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

from aucmax import BAM, LSSVM, SVMOR, AUCClassifier, SVMPerf

ALL = [BAM(C=0.01), SVMPerf(C=0.02), SVMOR(C=3.0), LSSVM(C=3.0)]
LOSS = {BAM: "squared_hinge", SVMPerf: "hinge", SVMOR: "hinge", LSSVM: "squared"}
every_estimator = pytest.mark.parametrize("estimator", ALL, ids=str)
every_class = pytest.mark.parametrize("kind", LOSS)


def make_rows(n=60, d=4, seed=0):
    """Overlapping classes, in columns of different units and origins."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + y[:, None]
    return X * rng.uniform(0.1, 10, d) + rng.uniform(-5, 5, d), y


def differences(X, y):
    """Return x+ - x- of all pairs."""
    return (X[y == 1][:, None] - X[y == 0]).reshape(-1, X.shape[1])


def objective(estimator, w, X, y):
    """Return the paper's objective at w, by the definition."""
    if isinstance(estimator, LSSVM):
        return w @ w / 2 + estimator.C / 2 * np.mean((1 - differences(X, y) @ w) ** 2)
    hinge = np.maximum(0, 1 - differences(X, y) @ w)
    if isinstance(estimator, BAM):
        return w @ w / 2 + estimator.C * np.sum(hinge**2)
    return w @ w / 2 + estimator.C * (100 if isinstance(estimator, SVMPerf) else 1) * np.mean(hinge)


def test_bam_minimises_the_squared_hinge_over_all_pairs():
    X, y = make_rows()
    X = X / X.std(axis=0) * 0.7
    clf = BAM(C=0.01, standardize=False, tol=1e-10).fit(X, y)
    Z = differences(X, y)

    def over_the_pairs(w):
        hinge = np.maximum(0, 1 - Z @ w)
        return w @ w / 2 + 0.01 * np.sum(hinge**2), w - 0.02 * hinge @ Z

    best = minimize(over_the_pairs, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert_allclose(clf.coef_[0], best.x, rtol=1e-6)
    assert clf.alpha_ == pytest.approx(1 / (2 * 0.01 * len(Z)))
    assert not hasattr(clf, "dual_gap_")


def most_violated(w, X, y):
    """Return Psi(y) - Psi(y') and Delta(y') of the constraint that w violates most, by one sort."""
    n = np.bincount(y)
    order = np.argsort(X @ w + np.where(y == 1, -0.5, 0.5))
    label = y[order]
    swaps = np.empty(len(y))  # of each row: positives below a negative, negatives above a positive
    swaps[order] = np.where(label == 1, -(n[0] - np.cumsum(label == 0)), np.cumsum(label == 1))
    share = 100 / n.prod()
    return -share * swaps @ X, share * swaps[y == 0].sum()


def dual(P, loss, C):
    """Return the a >= 0 of sum at most C with the largest a.loss - |a P|^2 / 2."""
    return minimize(
        lambda a: (np.sum((a @ P) ** 2) / 2 - a @ loss, P @ (a @ P) - loss),
        np.full(len(loss), C / len(loss)),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * len(loss),
        constraints={"type": "ineq", "fun": lambda a: C - a.sum(), "jac": lambda a: -np.ones(len(a))},
        options={"ftol": 1e-13, "maxiter": 500},
    ).x


def cutting_plane(X, y, C, epsilon):
    """Return the weights of the 1-slack cutting plane algorithm, and the minimum over its constraints."""
    w, P, loss = np.zeros(X.shape[1]), np.empty((0, X.shape[1])), np.empty(0)
    xi = bound = 0.0
    while True:
        psi, delta = most_violated(w, X, y)
        if delta - w @ psi <= xi + epsilon:
            return w, bound
        P, loss = np.vstack([P, psi]), np.append(loss, delta)
        a = dual(P, loss, C)
        w = a @ P
        xi, bound = max(0.0, np.max(loss - P @ w)), a @ loss - w @ w / 2


def test_the_oracle_of_svm_perf_is_a_hundred_times_the_mean_hinge():
    X, y = make_rows()
    for w in np.random.default_rng(0).standard_normal((20, 4)) / 10:
        psi, delta = most_violated(w, X, y)
        hinge = np.maximum(0, 1 - differences(X, y) @ w)
        assert delta - w @ psi == pytest.approx(100 * hinge.mean(), rel=1e-12)
        assert delta == pytest.approx(100 * np.mean(hinge > 0), rel=1e-12)


@pytest.mark.parametrize("C", [0.001, 0.02])
def test_svm_perf_has_the_minimum_of_the_cutting_plane(C):
    X, y = make_rows()
    X = X / X.std(axis=0)
    epsilon = 1e-3
    w, bound = cutting_plane(X, y, C, epsilon)
    clf = SVMPerf(C=C, standardize=False, tol=1e-8).fit(X, y)
    ours, theirs = (objective(clf, v, X, y) for v in (clf.coef_[0], w))
    assert bound * (1 - 1e-9) <= ours <= theirs * (1 + 1e-8)
    assert theirs - bound <= 2 * C * epsilon
    assert np.linalg.norm(clf.coef_[0] - w) <= np.sqrt(4 * C * epsilon)  # strong convexity


@pytest.mark.parametrize(("n", "d"), [(60, 4), (20, 50)])
def test_ls_svm_is_the_closed_form_over_the_pairs(n, d):
    X, y = make_rows(n, d)
    Z = differences(X, y)
    w = np.linalg.solve(Z.T @ Z / len(Z) + np.eye(d) / 3, Z.mean(axis=0))
    clf = LSSVM(C=3.0, variant="paper").fit(X, y)
    assert_allclose(clf.coef_[0], w, rtol=0, atol=1e-8 * np.abs(w).max())
    assert (clf.alpha_, clf.n_iter_) == (1 / 3, 1)
    assert not hasattr(clf, "dual_gap_")


@every_estimator
def test_the_paper_variant_has_unscaled_columns(estimator):
    X, y = make_rows()
    paper, scaled = (
        clone(estimator).set_params(variant="paper", standardize=given).fit(X, y) for given in (None, True)
    )
    assert_allclose(paper.coef_, clone(estimator).set_params(standardize=False).fit(X, y).coef_, rtol=1e-12)
    assert_allclose(scaled.coef_, clone(estimator).fit(X, y).coef_, rtol=1e-12)


@pytest.mark.parametrize("estimator", ALL[1:3], ids=str)
def test_ranksvm_dual_gap_is_of_the_objective_as_printed(estimator):
    X, y = make_rows()
    X = X / X.std(axis=0)
    loose, tight = (clone(estimator).set_params(standardize=False, tol=tol).fit(X, y) for tol in (1e-2, 1e-8))
    values = [objective(estimator, clf.coef_[0], X, y) for clf in (loose, tight)]
    assert 0 <= tight.dual_gap_ <= 1e-8 * values[1]
    assert 0 < values[0] - values[1] <= loose.dual_gap_ <= 1e-2 * values[0]


def test_svm_perf_is_svm_or_with_a_hundred_times_the_c():
    X, y = make_rows()
    assert_allclose(SVMPerf(C=0.05).fit(X, y).coef_, SVMOR(C=5.0).fit(X, y).coef_, rtol=1e-12)


@every_class
def test_the_defaults_are_the_exact_classifier_at_alpha(kind):
    X, y = make_rows(n=600)
    clf = kind().fit(X, y)
    exact = AUCClassifier(LOSS[kind], alpha=clf.alpha_).fit(X, y)
    for name in ("coef_", "intercept_", "calibration_"):
        assert_allclose(getattr(clf, name), getattr(exact, name), rtol=1e-7)
    assert clf.n_iter_ == exact.n_iter_ >= 1


@every_estimator
def test_ranksvm_sample_weight_repeats_rows(estimator):
    X, y = make_rows()
    times = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = clone(estimator).fit(X, y, times)
    repeated = clone(estimator).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.alpha_ == pytest.approx(repeated.alpha_, rel=1e-12)
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)


@every_estimator
def test_only_bam_counts_the_pairs(estimator):
    X, y = make_rows()
    once = clone(estimator).fit(X, y).alpha_
    twice = clone(estimator).fit(np.tile(X, (2, 1)), np.tile(y, 2)).alpha_
    assert once / twice == pytest.approx(4 if isinstance(estimator, BAM) else 1)


@every_estimator
def test_ranksvm_invariances(estimator):
    X, y = make_rows()
    clf = clone(estimator).fit(X, y)
    scale = np.array([1e-3, 1.0, 1e3, 7.0])
    assert_allclose(clone(clf).fit(X * scale, y).coef_ * scale, clf.coef_, rtol=1e-6)
    assert_allclose(clone(clf).fit(sparse.csr_array(X), y).coef_, clf.coef_, rtol=1e-6)
    assert_allclose(clone(clf).fit(X, 1 - y).coef_, -clf.coef_, rtol=1e-6)


@every_estimator
def test_ranksvm_of_more_columns_than_rows(estimator):
    X, y = make_rows(n=20, d=50)
    X = X / X.std(axis=0)
    clf = clone(estimator).set_params(standardize=False, tol=1e-5).fit(X, y)
    value = objective(clf, clf.coef_[0], X, y)
    rng = np.random.default_rng(0)
    for size in (1.0, 1e-1, 1e-2):
        step = size * rng.standard_normal(50) * np.abs(clf.coef_[0]).max()
        assert objective(clf, clf.coef_[0] + step, X, y) > value


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan])
def test_ranksvm_refuses_a_bad_c(C):
    X, y = make_rows()
    with pytest.raises(ValueError, match="The 'C' parameter of SVMOR must be a float in the range"):
        SVMOR(C=C).fit(X, y)


def test_ranksvm_callbacks_see_the_task():
    class Recorder:
        seen = []  # noqa: RUF012

        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_end = setup

        def on_fit_task_begin(self, estimator, context):
            self.seen.append(context.task_name)

    SVMOR().set_callbacks(Recorder()).fit(*make_rows())
    assert Recorder.seen == ["fit", "solve"]


@every_estimator
def test_ranksvm_is_unchanged_by_a_failed_fit(estimator):
    X, y = make_rows()
    clf = clone(estimator).fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(ValueError, match="class 1 has no row with a weight above 0"):
        clf.fit(X[:, :2], y, (y == 0).astype(float))
    assert vars(clf).keys() == before.keys()
    assert all(vars(clf)[name] is before[name] for name in before)
