"""SPDAM: a true duality gap, step sizes that keep their promise, and the exact minimiser."""

import itertools

import numpy as np
import pytest
from oracles import spdam as oracle
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning

from aucmax import SPDAM, AUCClassifier, ClassMoments
from aucmax.papers.engine.sample import Sample, Scaling
from aucmax.papers.spdam import CentredRows, Steps, duality_gap, solve_in_ball
from aucmax.rows.memory import MemoryRows


def make_data(n=150, d=6, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    y[:2] = 0, 1
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 0.5 * y[:, None] * rng.standard_normal(d) + 3
    return X, y


@pytest.fixture(scope="module")
def data():
    return make_data()


def centred(X, y, scaling=None):
    """Return the rows as SPDAM sees them."""
    rows, scaling = MemoryRows(X, y, np.array([0, 1])), scaling or Scaling.none(X.shape[1])
    return CentredRows.of(Sample.of(X, rows.targets, scaling, rows.column_statistics()[0]))


def plain_rows(X, y):
    """Return x_i = (x_i - m_y) / sqrt(p_y) and b, as in the paper."""
    means = np.array([X[y == c].mean(axis=0) for c in (0, 1)])
    shares = np.array([np.mean(y == 0), np.mean(y == 1)])
    return (X - means[y]) / np.sqrt(shares[y])[:, None], means[0] - means[1]


def objective(X, y, alpha, w):
    """Return f(w)/2 + alpha/2 |w|^2 from all pairs."""
    s = X @ w
    return np.mean((1 - s[y == 1][:, None] + s[y == 0]) ** 2) / 2 + alpha / 2 * w @ w


def with_slots(v):
    return np.append(v, [0.0, 0.0])


# The rows, the gap and the steps


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_centred_rows_are_those_of_the_paper(kind):
    X, y = make_data(40, 4)
    X[np.abs(X) < 1] = 0
    scaling = Scaling(np.array([1.0, 0, -2, 3]), np.array([1.0, 0.5, 2, 1]))
    x, (dense, _) = centred(kind(X), y, scaling), plain_rows((X - scaling.shift) * scaling.unit, y)
    rng = np.random.default_rng(1)
    w, beta = rng.standard_normal(4), rng.standard_normal(40)
    settled = np.append(w, [0.0, w @ (scaling.shift * scaling.unit)])
    np.testing.assert_allclose(x.scores(settled), dense @ w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x.combine(beta)[:4], dense.T @ beta / 40, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(x.norms, np.sum(dense**2, axis=1), rtol=1e-10)
    top = np.linalg.eigvalsh(dense.T @ dense / 40)[-1]
    assert top < x.top < 1.11 * top
    np.testing.assert_allclose(np.mean((dense @ w) ** 2), w @ np.cov(dense.T, bias=True) @ w)


def test_duality_gap_is_primal_minus_dual_by_brute_force():
    X, y = make_data(12, 3, share=0.4)
    x, (dense, b) = centred(X, y), plain_rows(X, y)
    rng = np.random.default_rng(2)
    alpha, w, beta = 0.3, rng.standard_normal(3), rng.standard_normal(12)

    def lagrangian(w, beta):
        g = b @ w + (b @ w) ** 2 / 2 + alpha / 2 * w @ w
        return np.mean(beta * (dense @ w) - beta**2 / 2) + g + 0.5

    primal = -optimize.minimize(lambda beta: -lagrangian(w, beta), beta, tol=1e-12).fun
    dual = optimize.minimize(lambda w: lagrangian(w, beta), w, tol=1e-12).fun
    gap, value = duality_gap(x, alpha, with_slots(w), beta, x.combine(beta))
    assert value == pytest.approx(objective(X, y, alpha, w), rel=1e-12)
    assert value == pytest.approx(primal, rel=1e-6)
    assert gap == pytest.approx(primal - dual, rel=1e-6)


def test_duality_gap_in_a_ball_is_primal_minus_dual_by_brute_force():
    X, y = make_data(12, 3, share=0.4)
    x, (dense, b) = centred(X, y), plain_rows(X, y)
    rng = np.random.default_rng(2)
    for alpha, R in ((0.0, 0.1), (0.3, 0.1), (0.3, 10.0)):
        w, beta = rng.standard_normal(3), rng.standard_normal(12)
        w *= 0.7 * R / np.linalg.norm(w)
        u = dense.T @ beta / 12
        A = np.outer(b, b) + alpha * np.eye(3)
        v = oracle.in_ball(A, -(u + b), R)
        dual = v @ A @ v / 2 + (u + b) @ v - np.mean(beta**2) / 2
        primal = np.mean((dense @ w) ** 2) / 2 + w @ A @ w / 2 + b @ w
        gap, value = duality_gap(x, alpha, with_slots(w), beta, x.combine(beta), R)
        assert value == pytest.approx(primal + 0.5, rel=1e-12)
        assert gap == pytest.approx(primal - dual, rel=1e-9)


def test_the_minimiser_in_a_ball_is_found_for_any_numbers():
    rng = np.random.default_rng(4)
    for a in (0.0, 1e-3, 10.0):
        for R in (1e-3, 1.0, 1e3):
            c, b = rng.standard_normal((2, 4)) * 10 ** rng.uniform(-3, 3, (2, 1))
            v = with_slots(c)
            found = solve_in_ball(v, with_slots(b), a, R)
            w = v[:4]
            assert np.linalg.norm(w) <= R * (1 + 1e-12)
            np.testing.assert_allclose(b * (b @ w) + found * w, c, rtol=0, atol=1e-9 * np.abs(c).max())
            assert found == a or np.linalg.norm(w) == pytest.approx(R, rel=1e-12)
    v = with_slots(np.array([3.0]))  # along b alone: nothing but b b' is left to divide by
    assert solve_in_ball(v, with_slots(np.array([2.0])), 0.0, 5.0) < 1e-99
    assert v[0] == 0.75


def test_spdam_dual_values_stay_below_the_optimum():
    X, y = make_data(30, 4)
    x = centred(X, y)
    best = with_slots(AUCClassifier(alpha=0.2, standardize=False).fit(X, y).coef_[0])
    beta = x.scores(best)
    gap, value = duality_gap(x, 0.2, best, beta, x.combine(beta))
    assert gap < 1e-20
    rng = np.random.default_rng(3)
    for size in (1e-6, 1e-3, 1.0, 10.0):
        other = beta + size * rng.standard_normal(30)
        gap, _ = duality_gap(x, 0.2, best, other, x.combine(other))
        assert gap > 0  # at the best w it is what the dual lacks
        w = best + size * rng.standard_normal(6) * [1, 1, 1, 1, 0, 0]
        gap, value_there = duality_gap(x, 0.2, w, other, x.combine(other))
        assert gap >= value_there - value


@pytest.mark.parametrize("m", [1, 2, 3, 6, 7])
def test_the_mean_over_batches_that_the_steps_rely_on(m):
    X, y = make_data(7, 3, share=0.4, seed=5)
    dense, _ = plain_rows(X, y)
    n, L = 7, np.linalg.eigvalsh(dense.T @ dense / 7)[-1]
    batches = [list(batch) for batch in itertools.combinations(range(n), m)]
    q = n * (m - 1) / (m * (n - 1))
    k = q * L + (1 - q) * np.sum(dense**2, axis=1)
    for c in np.random.default_rng(m).standard_normal((20, n)):
        mean = np.mean([np.sum((c[batch] @ dense[batch]) ** 2) for batch in batches])
        assert mean <= m / n * np.sum(m * k * c**2) * (1 + 1e-12)
    # It is sharp: along the first eigenvector, for rows of one length.
    c = np.linalg.eigh(dense @ dense.T)[1][:, -1]
    exact = m / n * ((1 - q) * m * np.sum(np.sum(dense**2, axis=1) * c**2) + q * m * n * L / n)
    mean = np.mean([np.sum((c[batch] @ dense[batch]) ** 2) for batch in batches])
    assert mean == pytest.approx(exact)


@pytest.mark.parametrize("m", [1, 15, 75, 150])
@pytest.mark.parametrize("alpha", [1e-4, 1e-1, 10.0])
def test_spdam_steps_meet_the_conditions_of_the_proof(data, m, alpha):
    x = centred(*data)
    sigma, tau, theta = Steps.of(x, alpha, m)
    n = 150
    q = n * (m - 1) / (m * (n - 1))
    k = q * x.top + (1 - q) * x.norms
    assert np.all(tau * sigma * (2 - m / n) ** 2 * k <= 1 + 1e-9)
    assert 1 / (2 * tau) == pytest.approx(theta * (alpha + 1 / (2 * tau)))
    dual = (1 + 1 / (2 * sigma)) / m
    assert np.all(dual - 1 / n <= theta * dual * (1 + 1e-9))
    shortest = np.argmin(sigma)
    assert dual[shortest] - 1 / n == pytest.approx(theta * dual[shortest])


def test_the_steps_are_the_corrected_ones_of_the_paper_where_no_batch_helps(data):
    x = centred(*data)
    n, m, alpha, kappa2 = 150, 15, 0.1, x.norms.max()
    equal = x._replace(norms=np.full(n, kappa2), top=kappa2)  # then k_i is the bound of the paper
    r = (2 - m / n) ** 2 / 4  # of the paper's 4
    sigma, tau, theta = Steps.of(equal, alpha, m)
    kappa2 *= r
    root = np.sqrt((n - m) ** 2 + 4 * n * m * kappa2 / alpha)
    np.testing.assert_allclose(sigma, alpha * (n - m + root) / (4 * m * kappa2))
    assert tau == pytest.approx(1 / (4 * sigma[0] * kappa2))
    assert theta == pytest.approx(1 - alpha / (alpha + 2 * sigma[0] * kappa2))


def test_the_printed_sigma_breaks_the_equations_of_the_proof():
    """Eq. (23), as the proof uses it: both sides are equal for the corrected sigma, and far apart for the printed."""
    n, m, kappa = 1000, 100, 3.0
    for lam in (1e-3, 0.1, 10.0):
        sigma, _, theta = oracle.step_sizes(n, m, kappa, lam)
        printed = (n - m + np.sqrt((n - m) ** 2 + 4 * n * kappa**2 * m / lam)) / (8 * m * kappa**2)
        assert printed == pytest.approx(sigma / (2 * lam))
        for value, holds in ((sigma, True), (printed, False)):
            theta = 1 - lam / (lam + 2 * value * kappa**2)
            left, right = 1 + 1 / (2 * value) - m / n, theta * (1 + 1 / (2 * value))
            assert (left == pytest.approx(right, rel=1e-9)) == holds


def test_the_root_of_2p_that_is_printed_halves_the_covariances(data):
    X, y = data
    dense, b = plain_rows(X, y)
    C = sum(np.cov(X[y == c].T, bias=True) for c in (0, 1))
    lam = 0.1
    for printed, share in ((False, 1.0), (True, 0.5)):
        x = dense / np.sqrt(2 if printed else 1)
        np.testing.assert_allclose(x.T @ x / len(y), share * C, atol=1e-12)
        w = np.linalg.solve(share * C + np.outer(b, b) + lam * np.eye(6), -b)
        slope = optimize.approx_fprime(w, lambda w: objective(X, y, lam, w), 1e-7)
        assert (np.abs(slope).max() < 1e-5) != printed


def test_steps_that_are_given_are_taken_and_the_others_follow_from_them(data):
    x = centred(*data)
    for paper in (False, True):
        free = Steps.of(x, 0.1, 15, paper)
        r = 1 / (free.tau * free.sigma)
        for tau in (free.tau / 3, 3 * free.tau):
            steps = Steps.of(x, 0.1, 15, paper, given=(None, tau, None))
            np.testing.assert_allclose(steps.tau * steps.sigma * r, 1)
            assert steps.theta > free.theta
        steps = Steps.of(x, 0.1, 15, paper, given=(0.2, None, None))
        assert np.all(steps.sigma == 0.2)
        assert (steps.tau * steps.sigma * r).max() == pytest.approx(1)
        assert Steps.of(x, 0.1, 15, paper, given=(0.2, 0.3, 0.4))[1:] == (0.3, 0.4)
    assert Steps.of(x, 0.0, 15, radius=2.0).theta == 1


@pytest.mark.parametrize("variant", ["adaptive", "paper"])
def test_steps_beyond_the_proof_are_warned_of(data, variant):
    def fit(**steps):
        SPDAM(variant=variant, tol=None, max_iter=1, random_state=0, **steps).fit(*data)

    clf = SPDAM(variant=variant, tol=None, max_iter=1, random_state=0).fit(*data)
    free = clf._steps(centred(*data, clf._stream.scaling))[0]
    fit(sigma=free.sigma.min(), tau=free.tau, theta=1.0)
    with pytest.warns(RuntimeWarning, match=r"^SPDAM may not converge: sigma and tau have 4 times the largest product"):
        fit(sigma=2 * free.sigma.min(), tau=2 * free.tau)
    with pytest.warns(RuntimeWarning, match=r"^SPDAM may not converge: theta is below 0\.\d+ that the proof allows"):
        fit(theta=free.theta / 2)


def test_the_given_steps_of_the_proof_lead_to_the_exact_minimiser(data):
    exact = AUCClassifier(alpha=0.1).fit(*data).coef_
    for steps in ({"sigma": 0.05}, {"tau": 0.01}, {"theta": 1.0}):
        clf = SPDAM(alpha=0.1, tol=1e-13, random_state=0, **steps).fit(*data)
        np.testing.assert_allclose(clf.coef_, exact, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_kernel_takes_the_steps_of_the_docstring(data, kind):
    X, y = data
    alpha, n, d = 0.3, 150, 6
    x, b = plain_rows(X - X.mean(axis=0), y)
    w, ahead, beta, u = np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(d)
    clf = SPDAM(alpha=alpha, batch_size=40, standardize=False, max_iter=1, tol=None, random_state=0, warm_start=True)
    rng = np.random.RandomState(0)
    bounds = [0, 37, 75, 112, 150]
    for _ in range(2):
        clf.fit(kind(X), y)
        sigma, tau, theta = Steps.of(centred(X, y), alpha, 37)
        order = rng.permutation(n)
        for start, stop in itertools.pairwise(bounds):
            batch = order[start:stop]
            new = (beta[batch] + sigma[batch] * (x[batch] @ ahead)) / (1 + sigma[batch])
            step = (new - beta[batch]) @ x[batch] / n
            beta[batch] = new
            right = w / tau - (u + n / (stop - start) * step) - b
            after = np.linalg.solve(np.outer(b, b) + (alpha + 1 / tau) * np.eye(d), right)
            u, ahead, w = u + step, after + theta * (after - w), after
        np.testing.assert_allclose(clf.coef_[0], w, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(clf.state_.beta, beta, rtol=1e-7, atol=1e-9)


# The fit


@pytest.mark.parametrize("batch_size", [1, 7, 0.1, 0.5, 149, 1.0, 1000])
@pytest.mark.parametrize("standardize", [True, False])
def test_spdam_converges_to_the_exact_minimiser(data, batch_size, standardize):
    X, y = data
    for alpha in (0.02, 1.0):
        exact = AUCClassifier(alpha=alpha, standardize=standardize).fit(X, y)
        clf = SPDAM(alpha=alpha, batch_size=batch_size, standardize=standardize, tol=1e-14, random_state=0).fit(X, y)
        assert clf.convergence_[-1] <= 1e-14
        np.testing.assert_allclose(clf.coef_, exact.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("variant", ["adaptive", "paper"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_spdam_in_a_ball_converges_to_the_minimiser_with_its_norm(data, kind, variant):
    X, y = (data[0] - data[0].mean(axis=0)) / data[0].std(axis=0), data[1]
    for alpha in (0.3, 0.05):
        exact = AUCClassifier(alpha=alpha, standardize=False).fit(X, y).coef_[0]
        R = np.linalg.norm(exact)
        for less, radius in ((0.0, R), (alpha / 2, R), (alpha, 2 * R)):
            clf = SPDAM(variant=variant, alpha=less, radius=radius, tol=1e-12, random_state=0, max_iter=5000)
            w = clf.fit(kind(X), y).coef_[0] / clf._stream.scaling.unit
            assert np.linalg.norm(w) <= radius * (1 + 1e-9)
            np.testing.assert_allclose(clf.coef_[0], exact, rtol=0, atol=1e-5 * R)


@pytest.mark.parametrize("batch_size", [1, 0.1, 1.0])
def test_the_gap_falls_by_a_constant_factor_and_as_fast_as_promised(data, batch_size):
    X, y = data
    clf = SPDAM(alpha=0.02, batch_size=batch_size, tol=1e-12, random_state=0).fit(X, y)
    assert clf.convergence_[-1] <= 1e-8
    log_gap = np.log(clf.convergence_)
    epochs = np.arange(len(log_gap))
    slope, offset = np.polyfit(epochs, log_gap, 1)
    unexplained = np.var(log_gap - slope * epochs - offset) / np.var(log_gap)
    assert unexplained < 0.04
    scaling = clf._stream.scaling
    n_batches = len(clf._cut(len(y))) - 1
    theta = Steps.of(centred(X, y, scaling), 0.02, int(np.diff(clf._cut(len(y))).min())).theta
    assert slope < n_batches * np.log(theta)
    assert slope < -0.1  # and that is worth something


def test_the_gap_bounds_the_distance_from_the_optimum_all_the_way(data):
    X, y = data
    alpha = 0.05
    scale = X.std(axis=0)
    exact = AUCClassifier(alpha=alpha).fit(X, y).coef_[0] * scale
    best = objective(X / scale, y, alpha, exact)
    clf = SPDAM(alpha=alpha, max_iter=1, tol=None, warm_start=True, random_state=0)
    for _ in range(60):
        clf.fit(X, y)
        value = objective(X / scale, y, alpha, clf.coef_[0] * scale)
        excess = value - best
        assert excess <= clf.convergence_[-1] * value + 1e-14
        assert clf.convergence_[-1] >= 0
    assert clf.n_iter_ == len(clf.convergence_) == 60
    assert clf.convergence_[-1] < 1e-8
    assert excess < 1e-9


def test_defaults_converge_on_rows_of_any_length_without_a_warning():
    rng = np.random.default_rng(7)
    X, y = make_data(500, 5, share=0.05)
    X *= rng.pareto(1.2, 500)[:, None]  # lengths without a variance
    lengths = centred(X, y, Scaling(X.mean(axis=0), 1 / X.std(axis=0))).norms
    assert lengths.max() > 1000 * np.median(lengths)
    for rows in (X, sparse.csr_array(X)):
        clf = SPDAM(random_state=0).fit(rows, y)
        assert clf.convergence_[-1] <= 1e-6
        assert clf.n_iter_ < 200


def test_longer_steps_for_shorter_rows_take_fewer_passes(monkeypatch):
    X, y = make_data(500, 5)
    X[np.random.default_rng(0).permutation(500)[:5]] *= 30
    passes = SPDAM(random_state=0).fit(X, y).n_iter_

    def equal(cls, *arguments):
        sigma, tau, theta = plain(*arguments)
        return cls(np.full_like(sigma, sigma.min()), tau, theta)

    plain = Steps.of
    monkeypatch.setattr(Steps, "of", classmethod(equal))
    assert SPDAM(random_state=0).fit(X, y).n_iter_ > 1.3 * passes


def test_csr_rows_and_far_columns_give_the_same_gaps():
    rng = np.random.default_rng(4)
    y = (rng.random(200) < 0.3).astype(int)
    X = (rng.random((200, 8)) < 0.3) * (1 + rng.random((200, 8))) + 0.5 * y[:, None] * (rng.random((200, 8)) < 0.5)
    dense = SPDAM(random_state=0).fit(X, y)
    csr = SPDAM(random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(csr.convergence_, dense.convergence_, rtol=1e-6)
    np.testing.assert_allclose(csr.coef_, dense.coef_, rtol=1e-8)
    far = SPDAM(random_state=0).fit(X * 3 + 1e5, y)
    np.testing.assert_allclose(far.convergence_, dense.convergence_, rtol=1e-4)
    np.testing.assert_allclose(3 * far.coef_, dense.coef_, rtol=1e-6)


def test_a_class_of_one_row_and_more_columns_than_rows():
    rng = np.random.default_rng(6)
    for n, d, n_positive in ((2, 1, 1), (2, 5, 1), (3, 2, 1), (12, 40, 3), (400, 4, 1)):
        y = (np.arange(n) < n_positive).astype(int)
        X = rng.standard_normal((n, d)) + y[:, None]
        exact = AUCClassifier(alpha=0.1).fit(X, y)
        for rows in (X, sparse.csr_array(X)):
            clf = SPDAM(tol=1e-13, random_state=0).fit(rows, y)
            np.testing.assert_allclose(clf.coef_, exact.coef_, rtol=1e-4, atol=1e-6)


def test_batches_are_as_few_and_as_even_as_their_size_allows():
    for n in (2, 7, 10, 101):
        for size in (1, 3, 0.01, 0.1, 0.3, 0.6, 1.0, 5000):
            sizes = np.diff(SPDAM(batch_size=size)._cut(n))
            most = min(size, n) if isinstance(size, int) else max(1, int(size * n))
            assert sizes.sum() == n
            assert sizes.max() <= most
            assert sizes.max() - sizes.min() <= 1
            assert (len(sizes) - 1) * most < n


def test_every_row_is_met_once_in_a_pass(data):
    X, y = data
    clf = SPDAM(max_iter=1, tol=None, random_state=0).fit(X, y)
    assert np.count_nonzero(clf.state_.beta) >= 0.85 * len(y)  # all but those of the first batch, where w~ = 0
    assert np.count_nonzero(clf.state_.beta == 0) == len(y) // 10


def test_a_fit_goes_on_with_other_parameters_or_rows(data):
    X, y = data
    clf = SPDAM(alpha=1.0, random_state=0, warm_start=True, tol=1e-12).fit(X, y)
    passes = clf.n_iter_
    clf.set_params(alpha=0.9, batch_size=0.2).fit(X, y)
    np.testing.assert_allclose(clf.coef_, AUCClassifier(alpha=0.9).fit(X, y).coef_, rtol=1e-4)
    assert clf.n_iter_ < 2 * passes
    clf.fit(X[::-1], y[::-1])  # the dual variables now are those of other rows
    assert clf.convergence_[-1] <= 1e-12
    np.testing.assert_allclose(clf.coef_, AUCClassifier(alpha=0.9).fit(X, y).coef_, rtol=1e-4)
    before = clf.coef_.copy()
    message = (
        r"^With warm_start=True X must have the 150 rows of the last fit, each with its dual variable; it has 149\.$"
    )
    with pytest.raises(ValueError, match=message):
        clf.fit(X[1:], y[1:])
    np.testing.assert_array_equal(clf.coef_, before)
    clf.set_params(warm_start=False).fit(X[1:], y[1:])
    assert len(clf.state_.beta) == 149


def test_spdam_errors_and_warnings(data):
    X, y = data
    with pytest.raises(ValueError, match=r"^alpha=0 needs a radius: without a penalty SPDAM does not converge\.$"):
        SPDAM(alpha=0).fit(X, y)
    message = r"^The steps of SPDAM diverged: lower sigma or tau, or leave them at None\.$"
    with pytest.raises(ValueError, match=message), pytest.warns(RuntimeWarning, match=r"^SPDAM may not converge"):
        SPDAM(sigma=1e3, tau=1e3, theta=1.0, batch_size=1, random_state=0).fit(X, y)
    batch_sizes = [{"batch_size": size} for size in (0, 1.5, 0.0, None)]
    for parameters in (*batch_sizes, {"alpha": -1}, {"radius": 0}, {"sigma": 0}, {"tau": -1}, {"theta": 1.5}):
        ((name, value),) = parameters.items()
        with pytest.raises(ValueError, match=rf"^The '{name}' parameter of SPDAM must be .* Got {value}"):
            SPDAM(**parameters).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"^SPDAM stopped at max_iter=2 at .*, above tol=1e-06: increase"):
        SPDAM(max_iter=2, random_state=0).fit(X, y)
    assert not hasattr(SPDAM(), "partial_fit")


def test_spdam_ranks_as_the_exact_fit_of_the_moments(data):
    X, y = data
    clf = SPDAM(alpha=0.1, tol=1e-13, random_state=0).fit(X, y)
    moments = ClassMoments(X.shape[1]).update(X, y).standardized()
    w = clf.coef_[0] * X.std(axis=0)
    np.testing.assert_allclose(moments.squared_loss_gradient(w) / 2 + 0.1 * w, 0, atol=1e-6)
