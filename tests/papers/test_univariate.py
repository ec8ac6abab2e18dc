"""Uni-Squ, Uni-Exp and Uni-Log: derivatives, exact minimisers, and steps that lead there."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from aucmax import AUCClassifier, UniExp, UniLog, UniSqu, roc_auc
from aucmax.papers import univariate
from aucmax.papers.engine.sample import Sample, Scaling
from aucmax.papers.univariate import SQUARE, TERMS, UnivariateObjective, implicit_change, newton
from aucmax.rows.memory import MemoryRows
from aucmax.solvers import problem
from aucmax.solvers.descent import DescentPoint

CLASSES = (UniSqu, UniExp, UniLog)
every_loss = pytest.mark.parametrize("make", CLASSES)
every_kind = pytest.mark.parametrize("loss", range(len(TERMS)))


def make_data(n=200, d=5, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 0.4 * y[:, None] * rng.standard_normal(d) + 2
    return X, y


@pytest.fixture(scope="module")
def data():
    return make_data(seed=7)


def value(make, X, y, alpha, v):
    """Return F(w, c) of v = (w, c), row by row."""
    loss = {
        UniSqu: lambda m: (1 - m) ** 2,
        UniExp: lambda m: np.exp(-m),
        UniLog: lambda m: np.log(1 + np.exp(-m)),
    }[make]
    s = X @ v[:-1] + v[-1]
    return np.mean(loss(s[y == 1])) + np.mean(loss(-s[y == 0])) + alpha / 2 * v[:-1] @ v[:-1]


def best_value(make, X, y, alpha, w):
    """Return F(w, c) with the best c."""
    return optimize.minimize_scalar(lambda c: value(make, X, y, alpha, np.append(w, c))).fun


def objective(make, X, y, alpha, scaling=None):
    rows, scaling = MemoryRows(X, y, np.array([0, 1])), scaling or Scaling.none(X.shape[1])
    sample = Sample.of(X, rows.targets, scaling, rows.column_statistics()[0])
    return UnivariateObjective(make._loss, sample, alpha)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


# Derivatives


@every_kind
def test_derivatives_of_the_losses(loss):
    m, h = np.linspace(-4, 4, 33), 1e-5
    (_, slope, curvature), up, down = (TERMS[loss](at) for at in (m, m + h, m - h))
    np.testing.assert_allclose((up[0] - down[0]) / (2 * h), slope, atol=1e-7)
    np.testing.assert_allclose((up[1] - down[1]) / (2 * h), curvature, atol=1e-7)


@every_loss
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_univariate_objective_gradient_and_curvature_are_the_formula(make, kind):
    X, y = make_data(60, 4)
    X[np.abs(X) < 1] = 0
    scaling = Scaling(np.array([1.0, 0, -2, 3]), np.array([1.0, 0.5, 2, 1]))
    F, Z = objective(make, kind(X), y, 0.3, scaling), (X - scaling.shift) * scaling.unit
    rng = np.random.default_rng(1)
    v, h = 0.3 * rng.standard_normal(5), 1e-5
    margins = F.scores(v)
    np.testing.assert_allclose(margins, np.where(y == 1, 1, -1) * (Z @ v[:4] + v[4]), rtol=1e-10, atol=1e-12)
    assert F.evaluate(v, margins)[0] == pytest.approx(value(make, Z, y, 0.3, v), rel=1e-12)
    for e in np.eye(5):
        up, down = v + h * e, v - h * e
        slope = (value(make, Z, y, 0.3, up) - value(make, Z, y, 0.3, down)) / (2 * h)
        assert DescentPoint(F, v).gradient @ e == pytest.approx(slope, rel=1e-6, abs=1e-7)
        bend = (DescentPoint(F, up).gradient - DescentPoint(F, down).gradient) / (2 * h)
        np.testing.assert_allclose(F.curvature(margins)(e[None])[0], bend, rtol=1e-6, atol=1e-6)


# The exact minimiser


@every_loss
@pytest.mark.parametrize("standardize", [True, False])
def test_the_exact_solver_ends_where_the_gradient_is_zero(make, data, standardize):
    X, y = data
    Z, scale = (standardized(X), X.std(axis=0)) if standardize else (X - X.mean(axis=0), 1.0)
    for alpha in (1e-4, 0.1, 10.0):
        clf = make(alpha=alpha, solver="exact", standardize=standardize).fit(X, y)
        v = np.append(clf.coef_[0] * scale, clf.state_.scalars[-1])
        gradient = optimize.approx_fprime(v, lambda v, alpha=alpha: value(make, Z, y, alpha, v), 1e-7)
        np.testing.assert_allclose(gradient, 0, atol=1e-5)
        F = objective(make, Z, y, alpha)
        np.testing.assert_allclose(DescentPoint(F, v).gradient, 0, atol=1e-8)
        assert clf.convergence_[-1] <= 1e-9
        assert clf.n_iter_ == len(clf.convergence_)


@every_loss
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_paper_variants_have_no_intercept_online_or_exact(make, kind):
    X, y = make_data(80, 3)
    X = standardized(X) / 4 + 0.3
    clf = make(variant="paper", solver="exact", alpha=0.1).fit(kind(X), y)
    w = clf.coef_[0]
    gradient = optimize.approx_fprime(np.append(w, 0.0), lambda v: value(make, X, y, 0.1, v), 1e-7)
    np.testing.assert_allclose(gradient[:-1], 0, atol=1e-6)
    assert abs(gradient[-1]) > 0.01  # an intercept would lower it
    assert clf.state_.scalars[-1] == 0
    online = make(variant="paper", alpha=0.1, eta0=3e-3, average=True, max_iter=1000, random_state=0).fit(kind(X), y)
    np.testing.assert_allclose(online.coef_[0], w, rtol=0, atol=0.03 * np.abs(w).max())


def test_uni_squ_of_the_paper_is_least_squares_with_class_weights(data):
    X, y = data
    share = 1 / np.bincount(y)[y]
    expected = np.linalg.solve((X.T * share) @ X + 0.05 * np.eye(5), (X.T * share) @ (2 * y - 1))
    clf = UniSqu(variant="paper", solver="exact", alpha=0.1).fit(X, y)
    np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-6)


def test_uni_log_is_logistic_regression_with_class_weights(data):
    X, y = data
    scale = X.std(axis=0)
    for alpha in (0.01, 1.0):
        # scikit-learn has C * sum of weighted losses + 1/2 |w|^2
        peer = LogisticRegression(C=1 / alpha, tol=1e-10, solver="newton-cholesky")
        peer.fit(standardized(X), y, sample_weight=1 / np.bincount(y)[y])
        clf = UniLog(alpha=alpha, solver="exact").fit(X, y)
        np.testing.assert_allclose(clf.coef_ * scale, peer.coef_, rtol=1e-6)
        assert clf.state_.scalars[-1] == pytest.approx(peer.intercept_[0], rel=1e-6)


def test_uni_squ_is_ridge_regression_with_class_weights(data):
    X, y = data
    for alpha in (0.01, 1.0):
        # sum of weighted squares + alpha/2 |w|^2
        peer = Ridge(alpha=alpha / 2).fit(standardized(X), 2 * y - 1, sample_weight=1 / np.bincount(y)[y])
        clf = UniSqu(alpha=alpha, solver="exact").fit(X, y)
        np.testing.assert_allclose(clf.coef_[0] * X.std(axis=0), peer.coef_, rtol=1e-8)
        assert clf.state_.scalars[-1] == pytest.approx(peer.intercept_, rel=1e-8)
        assert clf.n_iter_ == 1
        assert clf.convergence_[0] < 1e-13  # without Newton's help


@pytest.mark.parametrize("solver", ["moments", "dual", "cg"])
@pytest.mark.parametrize("standardize", [True, False])
def test_uni_squ_ranks_as_the_pairwise_square_loss_does(data, monkeypatch, solver, standardize):
    X, y = data
    X = np.column_stack([X, np.full(len(y), 3.0)])
    monkeypatch.setattr(problem, "choose_solver", lambda rows: solver)
    for rows in (X, sparse.csr_array(X)):
        w = UniSqu(alpha=0.3, solver="exact", standardize=standardize).fit(rows, y).coef_[0]
        v = AUCClassifier(alpha=0.15, standardize=standardize).fit(X, y).coef_[0]
        np.testing.assert_allclose(w / np.linalg.norm(w), v / np.linalg.norm(v), rtol=1e-7, atol=1e-12)
        assert np.linalg.norm(w) > np.linalg.norm(v)
        assert w[-1] == 0


@every_loss
def test_univariate_loss_bounds_the_share_of_wrong_pairs(make):
    def bound(y, s):
        at_zero = {UniSqu: 1, UniExp: 1, UniLog: np.log(2)}[make]
        return value(make, s[:, None], y, 0.0, np.array([1.0, 0.0])) / (2 * at_zero)

    rng = np.random.default_rng(0)
    for _ in range(100):
        y = rng.permutation(np.arange(30) % 4 == 0).astype(int)
        s = rng.choice([0.3, 1.0, 3.0]) * rng.normal(y, size=30).round(1)  # with ties
        assert 1 - roc_auc(y, s) <= bound(y, s)
    # No smaller one holds: here all pairs are wrong.
    assert bound(np.array([0, 1]), np.array([1e-9, -1e-9])) == pytest.approx(1, rel=1e-6)


def test_uni_exp_without_penalty_is_the_pairwise_exponential_loss(data):
    X, y = data
    Z = standardized(X)
    w = UniExp(alpha=1e-8, solver="exact").fit(X, y).coef_[0] * X.std(axis=0)

    def pairs(w):
        s = Z @ w
        return np.log(np.mean(np.exp(s[y == 0] - s[y == 1][:, None])))

    best = optimize.minimize(pairs, np.zeros(5), tol=1e-12)
    np.testing.assert_allclose(w, best.x, rtol=1e-3, atol=1e-4)


@every_loss
def test_the_exact_solver_does_not_see_shifts_scales_or_zeros(make):
    rng = np.random.default_rng(3)
    y = (rng.random(150) < 0.4).astype(int)
    X = (rng.random((150, 6)) < 0.3) * (1 + rng.random((150, 6))) + (y[:, None] & (rng.random((150, 6)) < 0.2))
    clf = make(solver="exact").fit(X, y)
    np.testing.assert_allclose(make(solver="exact").fit(sparse.csr_array(X), y).coef_, clf.coef_, rtol=1e-7)
    stretch = np.array([1e3, 1, 1e-3, 2, 1e4, 1])
    other = make(solver="exact").fit(X * stretch + 1e4 * stretch, y)
    np.testing.assert_allclose(other.coef_ * stretch, clf.coef_, rtol=1e-5)
    np.testing.assert_allclose(make(solver="exact").fit(X, 1 - y).coef_, -clf.coef_, rtol=1e-7)
    wide = make(solver="exact").fit(np.tile(X[:20], 5), y[:20])
    assert wide.convergence_[-1] <= 1e-9
    np.testing.assert_allclose(wide.coef_[0, :6], wide.coef_[0, 6:12], rtol=1e-6)


@every_loss
def test_rows_a_million_times_longer_than_others_overflow_nothing(make, data):
    X, y = data
    X = X.copy()
    X[:3] *= 1e6
    for alpha in (1e-6, 1e-2):
        clf = make(alpha=alpha, solver="exact", standardize=False).fit(X, y)
        assert clf.convergence_[-1] <= 1e-9
        assert clf.score(X, y) > 0.5


@pytest.mark.slow
@every_loss
def test_where_nothing_can_be_learned_the_weights_are_zero(make):
    X, y = np.ones((10, 2)), np.arange(10) % 2
    for solver in ("exact", "sgd"):
        clf = make(solver=solver).fit(X, y)
        np.testing.assert_array_equal(clf.coef_, 0)


@every_loss
def test_newtons_method_comes_back_from_where_its_full_steps_go_astray(make, data):
    X, y = data
    F = objective(make, standardized(X), y, 0.01)
    best, _ = newton(F, np.zeros(6))
    for far in (-8.0, 8.0):
        v, residuals = newton(F, np.full(6, far))
        assert residuals[-1] <= 1e-9
        np.testing.assert_allclose(v, best, atol=1e-6)


def test_a_newton_method_cut_short_says_so(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(univariate, "MAX_NEWTON", 1)
    message = r"^The exact solver of UniExp stopped where the gradient was .* of the first one \(above 1e-09\): inc"
    with pytest.warns(ConvergenceWarning, match=message):
        clf = UniExp(solver="exact").fit(X, y)
    assert clf.n_iter_ == 1


@every_loss
def test_partial_fit_needs_the_sgd_solver(make, data):
    assert hasattr(make(), "partial_fit")
    exact = make(solver="exact")
    assert not hasattr(exact, "partial_fit")
    with pytest.raises(ValueError, match=rf"^The 'solver' parameter of {make.__name__} must be a str among .*'exact'"):
        make(solver="newton").fit(*data)
    with pytest.raises(
        ValueError, match=rf"^The 'alpha' parameter of {make.__name__} must be a float in the range \(0"
    ):
        make(alpha=0.0).fit(*data)


@every_loss
def test_univariate_sgd_continues_from_the_exact_minimiser(make, data):
    X, y = data
    clf = make(solver="exact", warm_start=True, random_state=0).fit(X, y)
    exact, passes = clf.coef_.copy(), clf.n_iter_
    clf.set_params(solver="sgd", max_iter=1, average=False, eta0=1e-9).fit(X, y)
    assert clf.n_iter_ == passes + 1
    np.testing.assert_allclose(clf.coef_, exact, rtol=1e-4)
    assert np.any(clf.coef_ != exact)


# The steps


@every_kind
def test_an_implicit_step_minimises_loss_plus_squared_distance(loss):
    for m in (-30.0, -3.0, 0.0, 0.9, 5.0):
        for h in (1e-6, 0.1, 1.0, 50.0, 1e4):
            e = implicit_change(loss, m, h)
            assert e == pytest.approx(-h * float(TERMS[loss](np.array([m + e]))[1][0]), rel=1e-9, abs=1e-12)


@every_kind
def test_an_implicit_step_is_finite_and_never_overshoots(loss):
    for m in (-1e8, -1e3, -50.0, 0.0, 40.0, 1e3):
        last = 0.0
        for h in np.logspace(-12, 100, 57):
            e = implicit_change(loss, m, h)
            assert np.isfinite(e)
            assert abs(e) >= last * (1 - 1e-9)  # longer steps change more
            last = abs(e)
        if loss == SQUARE:
            assert m + e == pytest.approx(1)
        elif m < 40:
            assert abs(m + e) < 300 + 1e-9 * abs(m)  # log(h) at most
    assert not np.isfinite(implicit_change(loss, 0.0, np.inf))
    assert np.isnan(implicit_change(loss, np.nan, 1.0))


def steps_of_the_docstring(make, Z, y, alpha, eta0):
    """Take them one by one, with dense vectors, a loss minimised by SciPy and a plain average."""
    h = {UniSqu: 2.0, UniExp: 1.0, UniLog: 0.25}[make]
    w, c, total, mass = np.zeros(Z.shape[1]), 0.0, np.zeros(Z.shape[1]), 0.0
    for t in range(1, len(y) + 1):
        z, sign = Z[t - 1], 2 * y[t - 1] - 1
        seen, labels = Z[:t], y[:t]
        if len(set(labels)) < 2:
            continue
        size = sum(np.mean(np.sum(seen[labels == k] ** 2, axis=1)) for k in (0, 1))
        rho = size / (2 * Z.shape[1])
        gamma = 1 / (2 * h * (size + 2 * rho) * np.sqrt(1 + t / 1000) + alpha * t)
        gamma = eta0 / np.sqrt(t) if eta0 else gamma
        weight = t / np.sum(labels == y[t - 1])
        square = z @ z + rho
        margin = sign * (w @ z + c)

        def excess(e, step=gamma * weight * square, margin=margin):
            return e + step * TERMS[make._loss](np.array([margin + e]))[1][0]

        e = optimize.brentq(excess, -100, 100, xtol=1e-14)
        w, c = (w + e * sign * z / square) / (1 + gamma * alpha), c + rho * e * sign / square
        total, mass = total + t * w, mass + t
    return w, c, total / mass


@every_loss
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("eta0", [None, 0.05])
def test_univariate_kernel_takes_the_steps_of_the_docstring(make, kind, eta0):
    X, y = make_data(60, 4)
    w, c, average = steps_of_the_docstring(make, X, y, 0.2, eta0)
    for result, expected in ((False, w), (True, average)):
        clf = make(alpha=0.2, eta0=eta0, average=result).partial_fit(kind(X), y)
        np.testing.assert_allclose(clf.coef_[0], expected, rtol=1e-7, atol=1e-10)
        assert clf.state_.scalars[-1] == pytest.approx(c, rel=1e-7)
    # `fit` takes them on shifted and scaled columns
    fitted = make(alpha=0.2, eta0=eta0, max_iter=1, shuffle=False).fit(kind(X), y)
    _, _, average = steps_of_the_docstring(make, standardized(X), y, 0.2, eta0)
    np.testing.assert_allclose(fitted.coef_[0] * X.std(axis=0), average, rtol=1e-6, atol=1e-9)


@every_loss
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_univariate_sgd_comes_nearer_to_the_minimum_with_every_pass(make, kind):
    X, y = make_data(1000, 5)
    Z, alpha = standardized(X), 0.1
    exact = make(alpha=alpha, solver="exact").fit(X, y)
    best = best_value(make, Z, y, alpha, exact.coef_[0] * X.std(axis=0))
    excess = []
    for passes in (1, 4, 16, 64):
        clf = make(alpha=alpha, max_iter=passes, random_state=0).fit(kind(X), y)
        excess.append(best_value(make, Z, y, alpha, clf.coef_[0] * X.std(axis=0)) - best)
    assert min(excess) > -1e-10
    assert np.all(np.diff(np.log(np.maximum(excess, 1e-12))) < -0.7)
    assert excess[-1] < 1e-4 * best


@every_loss
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_univariate_defaults_rank_as_well_as_the_minimiser(make, share):
    X, y = make_data(6000, 8, share=share, seed=1)
    X *= np.logspace(-4, 4, 8)
    X[:20] *= 30  # outliers
    train, test = slice(0, 4000), slice(4000, None)
    exact = make(solver="exact").fit(X[train], y[train]).score(X[test], y[test])
    assert make(random_state=0).fit(X[train], y[train]).score(X[test], y[test]) > exact - 0.01


@every_loss
def test_a_stream_with_rows_of_wild_lengths_stays_finite_and_learns(make):
    X, y = make_data(3000, 5, share=0.1, seed=2)
    X -= X.mean(axis=0)
    clean = make().partial_fit(X, y).score(X, y)
    wild = X.copy()
    wild[5::500] *= 1e8
    clf = make().partial_fit(wild, y)
    assert np.isfinite(clf.coef_).all()
    # The long rows shorten the steps of all others from then on, as one column in other units would; so it is a last
    # resort that the order of the plain rows survives.
    assert clf.score(X, y) > 0.5
    rows = np.vstack([X, 30 * X[:20]])
    labels = np.append(y, y[:20])
    assert make().partial_fit(rows, labels).score(X, y) > clean - 0.02
